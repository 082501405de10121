/* connect/view/source.c: 'connector' = 'view': the rows of a materialized view of this process, as a table that ends.
 *
 * Idea       one version is pinned when the source is made (the newest, or the one that the options name) and read in order of its key.
 * Position   run, version, place in the scan: a job that goes on elsewhere reads the same version, or says that it is not kept any more.
 * Thread     next under the turn lock; decode only hands the rows over.                                                          */
#include "connect/parts.h"
#include "connect/view/view.h"

typedef struct view_source {
    wr_source     base;
    wr_view      *view;
    wr_view_cut  *cut;
    wr_view_scan *scan;
    wr_sbuf       after;        /* the place of the scan */
    uint32_t      n_cols, batch_rows;
    uint32_t     *cols;         /* of the view, by column of the table */
    uint64_t      n;            /* rows given */
    bool          done;
} view_source;

static void begin_scan(view_source *s) {
    wr_view_scan_free(s->scan);
    s->scan = wr_view_scan_new(s->cut, &(wr_view_range){.after = wr_sbuf_str(&s->after)});
}

static wr_status next(wr_source *base, const uint64_t *held, wr_chunk *out, wr_next *state, int64_t *retry_us, wr_err *err) {
    view_source *s = (view_source *)base;
    wr_batch    *rows = NULL;
    *out = (wr_chunk){.first = s->n == 0, .offset = s->n};
    if (held && (held[0] & 1)) return *state = WR_NEXT_WAIT, *retry_us = 1000, WR_OK;
    if (!s->done) WR_TRY(wr_view_scan_next(s->scan, s->batch_rows, &rows, err));
    if (!rows) return s->done = true, *state = WR_NEXT_END, WR_OK;
    wr_sbuf_clear(&s->after);
    wr_view_scan_at(s->scan, &s->after);
    s->n += rows->n_rows;
    out->mem = rows->mem; /* the batch lives in it */
    out->data = (const uint8_t *)rows;
    out->len = wr_batch_bytes(rows);
    return *state = WR_NEXT_CHUNK, WR_OK;
}

static wr_status decode(wr_source *base, uint32_t worker, const wr_chunk *chunk, wr_decoded *out, wr_err *err) {
    view_source *s = (view_source *)base;
    wr_batch    *rows = (wr_batch *)(uintptr_t)chunk->data, *b = wr_batch_derive(rows, s->n_cols);
    (void)worker, (void)err;
    for (uint32_t c = 0; c < s->n_cols; c++) b->cols[c] = rows->cols[s->cols[c]];
    wr_arr_push(&out->batches, b);
    out->n_records += b->n_rows, out->n_rows += b->n_rows;
    return WR_OK;
}

static uint32_t  partitions(wr_source *s) { return (void)s, 1; }
static bool      partition_done(wr_source *base, uint32_t i) { return (void)i, ((view_source *)base)->done; }
static bool      bounded(wr_source *s) { return (void)s, true; }
static void      partition_name(wr_source *base, uint32_t i, wr_sbuf *out) { (void)i, wr_sbuf_add_str(out, wr_view_name(((view_source *)base)->view)); }
static void      save(wr_source *base, wr_sbuf *out) {
    const view_source   *s = (const view_source *)base;
    const wr_view_as_of *a = wr_view_cut_as_of(s->cut);
    wr_put_u64(out, a->run), wr_put_u64(out, a->version), wr_put_u64(out, s->n);
    wr_put_bytes(out, s->after.at, s->after.len);
}
static wr_status load(wr_source *base, wr_reader *in, wr_err *err) {
    view_source *s = (view_source *)base;
    uint64_t     run = wr_get_u64(in), version = wr_get_u64(in);
    s->n = wr_get_u64(in);
    wr_str after = wr_get_bytes(in);
    if (in->bad) return wr_fail(err, WR_CORRUPT, "XX001", "the saved position in a view is damaged");
    const wr_view_as_of *a = wr_view_cut_as_of(s->cut);
    if (a->run != run || a->version != version) {
        wr_view_cut *then = wr_view_pin_at(s->view, run, version, err);
        if (!then) return err->status;
        wr_view_scan_free(s->scan), s->scan = NULL;
        wr_view_unpin(s->cut);
        s->cut = then;
    }
    wr_sbuf_clear(&s->after);
    wr_sbuf_add_str(&s->after, after);
    begin_scan(s);
    return WR_OK;
}
static void describe(wr_source *base, wr_sbuf *out) {
    const view_source *s = (const view_source *)base;
    wr_sbuf_printf(out, "version %llu of view %.*s", (unsigned long long)wr_view_cut_as_of(s->cut)->version, WR_FMT(wr_view_name(s->view)));
}
static void progress(wr_source *base, uint64_t *done, uint64_t *total) {
    *done = ((view_source *)base)->n;
    *total = wr_view_cut_as_of(((view_source *)base)->cut)->rows;
}
static void close_source(wr_source *base) {
    view_source *s = (view_source *)base;
    wr_view_scan_free(s->scan);
    wr_view_unpin(s->cut);
    wr_view_unref(s->view);
    wr_sbuf_free(&s->after);
    wr_free(s->cols);
    wr_free(s);
}

static const wr_source_vt vt = {.name = "view", .next = next, .decode = decode, .partitions = partitions, .partition_name = partition_name, .partition_done = partition_done,
                                .save = save, .load = load, .describe = describe, .progress = progress, .bounded = bounded, .close = close_source};

static const wr_option_spec specs[] = {
    {"view", "string", NULL, true, "name of a materialized view of a job that runs, or has run, in this process"},
    {"view.run", "int", NULL, false, "with view.version: read that version, which must still be kept"},
    {"view.version", "int", NULL, false, "see view.run; the newest published one, if it is not given"},
    {0}};

static wr_status map_columns(view_source *s, const wr_table_info *t, wr_connect_ctx *ctx) {
    const wr_schema *v = wr_view_schema(s->view);
    if (t->schema->n > t->n_physical) return option_error(ctx, t, "connector", "WR404", "a view has no metadata columns");
    s->n_cols = t->schema->n;
    s->cols = wr_calloc(s->n_cols + 1, sizeof *s->cols);
    for (uint32_t c = 0; c < s->n_cols; c++) {
        const wr_field *f = &t->schema->fields[c];
        int             at = wr_schema_find(v, f->name);
        if (at < 0) return option_error(ctx, t, "view", "WR404", "view '%.*s' has no column '%.*s'", WR_FMT(wr_view_name(s->view)), WR_FMT(f->name));
        if (!wr_type_same(v->fields[at].type, f->type)) {
            wr_sbuf has = {0};
            wr_type_text(v->fields[at].type, &has);
            wr_status status = option_error(ctx, t, "view", "WR404", "column '%.*s' of view '%.*s' is %s", WR_FMT(f->name), WR_FMT(wr_view_name(s->view)), has.at);
            wr_sbuf_free(&has);
            return status;
        }
        s->cols[c] = (uint32_t)at;
    }
    return WR_OK;
}

static wr_status source_new(const wr_table_info *t, wr_connect_ctx *ctx, wr_source **out, wr_err *err) {
    wr_str       name = wr_option_string(&t->options, specs, "view");
    int64_t      run = 0, version = 0;
    view_source *s = wr_calloc(1, sizeof *s);
    s->base.vt = &vt;
    s->batch_rows = ctx->batch_rows ? ctx->batch_rows : WR_BATCH_MAX;
    s->view = wr_view_find(name);
    wr_status status = s->view ? WR_OK : option_error(ctx, t, "view", "WR404", "there is no materialized view '%.*s' in this process", WR_FMT(name));
    if (status == WR_OK) status = map_columns(s, t, ctx);
    if (status == WR_OK && !(wr_option_int(&t->options, specs, "view.run", &run, ctx->diags) && wr_option_int(&t->options, specs, "view.version", &version, ctx->diags))) status = WR_USER;
    if (status == WR_OK) {
        s->cut = version ? wr_view_pin_at(s->view, (uint64_t)run, (uint64_t)version, err) : wr_view_pin(s->view);
        status = s->cut ? WR_OK : err->status;
    }
    if (status == WR_OK) {
        begin_scan(s);
        *out = &s->base;
    } else {
        close_source(&s->base);
    }
    return status;
}

static bool options_bounded(const wr_table_info *t) { return (void)t, true; }
const wr_connector wr_connector_view = {.name = "view", .doc = "the rows of a materialized view of this process, at one of its versions", .specs = specs, .source_new = source_new, .bounded = options_bounded};
