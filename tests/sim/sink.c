/* tests/sim/sink.c: the connector 'capture', and all outputs of a job as one canonical text.
 *
 * Store      what a transactional database would hold: rows and the number of the epoch that brought them, in one step. It is not part of the
 *            machine that fails.                                                                                            */
#include "sim.h"
#include "connect/log/log.h"
#include <stdio.h>
#include <stdlib.h>

typedef struct capture_sink {
    wr_sink      base;
    sim_store   *store;
    sim_table   *to;
    wr_sbuf      open, held;        /* held: of the batch that is under way; some take a few steps */
    uint32_t     n_batches, n_drained;
    const wr_tz *tz;
} capture_sink;

static wr_status capture_write(wr_sink *sink, const wr_batch *batch, wr_err *err) {
    (void)err;
    capture_sink *s = (capture_sink *)sink;
    for (uint32_t i = 0; i < wr_batch_live(batch); i++) {
        uint32_t row = wr_batch_row(batch, i);
        wr_kind  kind = (wr_kind)wr_batch_kind(batch, row);
        wr_sbuf_addc(&s->held, wr_kind_text(kind)[0]);
        for (uint32_t c = 0; c < batch->n_cols; c++) {
            if (c) wr_sbuf_addz(&s->held, " | ");
            wr_vec_text(&batch->cols[c], row, s->tz, &s->held);
        }
        wr_sbuf_addc(&s->held, '\n');
    }
    s->n_batches++;
    s->n_drained = 0;
    return WR_OK;
}
static wr_status capture_drain(wr_sink *sink, int64_t wait_us, bool *busy, wr_err *err) {
    (void)wait_us, (void)err;
    capture_sink *s = (capture_sink *)sink;
    *busy = s->n_batches % 8 == 0 && s->n_drained++ < s->n_batches / 8 % 4;
    if (*busy) return WR_OK;
    wr_sbuf_add_str(&s->open, wr_sbuf_str(&s->held));
    wr_sbuf_clear(&s->held);
    return WR_OK;
}
static wr_status capture_flush(wr_sink *sink, wr_err *err) { /* without checkpoints only: the undisturbed run */
    (void)err;
    capture_sink *s = (capture_sink *)sink;
    wr_sbuf_add_str(&s->to->changes, wr_sbuf_str(&s->open));
    wr_sbuf_clear(&s->open);
    return WR_OK;
}
static wr_status capture_prepare(wr_sink *sink, uint64_t epoch, wr_sbuf *staged, wr_err *err) {
    (void)epoch, (void)err;
    capture_sink *s = (capture_sink *)sink;
    wr_sbuf_add_str(staged, wr_sbuf_str(&s->open));
    wr_sbuf_clear(&s->open);
    return WR_OK;
}
static wr_status capture_commit(wr_sink *sink, uint64_t epoch, wr_str staged, wr_err *err) {
    capture_sink *s = (capture_sink *)sink;
    if (s->store->world->off) return wr_fail(err, WR_IO, "58030", "the machine is off");
    if (epoch <= s->to->epoch) return WR_OK;
    wr_sbuf_add_str(&s->to->changes, staged);
    s->to->epoch = epoch;
    return WR_OK;
}
static wr_status capture_close(wr_sink *sink, bool ok, wr_err *err) {
    (void)err, (void)ok;
    wr_sbuf_free(&((capture_sink *)sink)->open);
    wr_sbuf_free(&((capture_sink *)sink)->held);
    wr_free(sink);
    return WR_OK;
}
static const wr_sink_vt capture_vt = {.name = "capture", .write = capture_write, .flush = capture_flush, .prepare = capture_prepare,
                                      .commit = capture_commit, .recover = capture_commit, .close = capture_close, .drain = capture_drain};

static sim_table *table_of(sim_store *store, wr_str name) {
    for (uint32_t i = 0; i < store->tables.n; i++)
        if (wr_str_eq(wr_str_of(store->tables.at[i]->name), name)) return store->tables.at[i];
    sim_table *t = wr_calloc(1, sizeof *t);
    t->name = wr_calloc(name.len + 1, 1);
    memcpy(t->name, name.ptr, name.len);
    wr_arr_push(&store->tables, t);
    return t;
}
static wr_status capture_new(const wr_table_info *info, wr_connect_ctx *ctx, wr_sink **out, wr_err *err) {
    (void)err;
    capture_sink *s = wr_calloc(1, sizeof *s);
    *s = (capture_sink){.base.vt = &capture_vt, .store = ctx->result_arg, .tz = ctx->tz};
    s->to = table_of(s->store, info->name);
    *out = &s->base;
    return WR_OK;
}
static wr_guarantee capture_guarantee(const wr_table_info *info) { (void)info; return WR_EXACTLY_ONCE; }
static wr_sink_takes capture_takes(const wr_table_info *info) { (void)info; return WR_SINK_ALL; }
static const wr_option_spec no_specs[] = {{0}};
const wr_connector sim_capture = {.name = "capture", .doc = "", .specs = no_specs, .sink_new = capture_new, .takes = capture_takes,
                                  .guarantee = capture_guarantee};

void sim_store_free(sim_store *store) {
    for (uint32_t i = 0; i < store->tables.n; i++) {
        wr_free(store->tables.at[i]->name);
        wr_sbuf_free(&store->tables.at[i]->changes);
        wr_free(store->tables.at[i]);
    }
    wr_arr_free(&store->tables);
}

/* ---- canonical text ---- */
typedef struct signed_row { wr_str text; int sign; } signed_row;
typedef WR_ARR(signed_row) signed_rows;

static int by_text(const void *a, const void *b) { return wr_str_cmp(((const signed_row *)a)->text, ((const signed_row *)b)->text); }

/* Rows with what is left of them: a row that was taken back more often than given stays visible with a minus. */
static void add_folded(signed_rows *rows, wr_sbuf *out) {
    if (rows->n) qsort(rows->at, rows->n, sizeof *rows->at, by_text);
    for (uint32_t i = 0, k; i < rows->n; i = k) {
        int sum = 0;
        for (k = i; k < rows->n && wr_str_eq(rows->at[k].text, rows->at[i].text); k++) sum += rows->at[k].sign;
        for (int n = 0; n < abs(sum); n++) wr_sbuf_printf(out, "%s%.*s\n", sum < 0 ? "- " : "", WR_FMT(rows->at[i].text));
    }
    wr_arr_free(rows);
}

/* {"before":X,"after":Y,"op":".."}: X is taken away, Y is given. */
static bool add_debezium(wr_str line, signed_rows *rows) {
    static const char before[] = "{\"before\":", after[] = ",\"after\":", op[] = ",\"op\":";
    if (!wr_str_starts(line, WR_STR(before))) return false;
    const char *a = memmem(line.ptr, line.len, after, sizeof after - 1), *o = memmem(line.ptr, line.len, op, sizeof op - 1);
    if (!a || !o || o < a) return false;
    wr_str x = {line.ptr + sizeof before - 1, (size_t)(a - line.ptr) - (sizeof before - 1)}, y = {a + sizeof after - 1, (size_t)(o - a) - (sizeof after - 1)};
    if (!wr_str_eq(x, WR_STR("null"))) wr_arr_push(rows, (signed_row){x, -1});
    if (!wr_str_eq(y, WR_STR("null"))) wr_arr_push(rows, (signed_row){y, 1});
    return true;
}

static void add_lines(wr_str text, bool changes, signed_rows *rows) {
    for (const char *at = text.ptr, *end = text.ptr + text.len; at < end;) {
        const char *nl = memchr(at, '\n', (size_t)(end - at));
        wr_str      line = {at, (size_t)((nl ? nl : end) - at)};
        at = nl ? nl + 1 : end;
        if (changes) wr_arr_push(rows, (signed_row){{line.ptr + 1, line.len - 1}, line.ptr[0] == '-' ? -1 : 1});
        else if (!nl) wr_arr_push(rows, (signed_row){line, 2}); /* a torn last line must not look like a whole one */
        else if (!add_debezium(line, rows)) wr_arr_push(rows, (signed_row){line, 1});
    }
}

typedef struct files { wr_sbuf *out; wr_str dir; signed_rows rows; } files;
static void end_dir(files *f) {
    if (!f->dir.len) return;
    wr_sbuf_printf(f->out, "== %.*s\n", WR_FMT(f->dir));
    add_folded(&f->rows, f->out);
}
/* What readers of the embedded log see, each record with its key: all there, whole, and each partition without a gap. */
#define LOG_PATH "/out/log"
static void read_log(sim_world *w, wr_sbuf *out) {
    wr_log_view *view;
    wr_err       err = {0};
    bool         exists = false;
    signed_rows  rows = {0};
    wr_sbuf      text = {0};
    sim_faults   faults = w->faults;
    w->faults = (sim_faults){0}; /* this is not the job's reading */
    if (wr_log_exists(&w->base, LOG_PATH, &exists, &err) == WR_OK && exists && wr_log_view_open(&w->base, LOG_PATH, &view, &err) == WR_OK) {
        for (uint32_t p = 0; p < wr_log_view_config(view)->partitions; p++) {
            wr_log_cursor *c = wr_log_cursor_new(view, p, 0);
            wr_log_batch   batch = {0};
            wr_log_piece   piece;
            int64_t        next = 0;
            while (wr_log_cursor_peek(c, &piece, &err) == WR_OK && piece.len && wr_log_batch_open(&batch, piece.bytes, piece.len) == WR_OK) {
                for (wr_log_record r; wr_log_batch_next(&batch, &r); next++) {
                    if (r.offset != next) wr_sbuf_addz(&text, "a gap before ");
                    if (r.key.ptr) wr_sbuf_printf(&text, "%u %.*s ", p, WR_FMT(r.key));
                    wr_sbuf_printf(&text, "%.*s\n", WR_FMT(r.value));
                }
                wr_log_cursor_take(c, &piece);
            }
            if (next != wr_log_view_end(view, p)) wr_sbuf_printf(&text, "partition %u ends early\n", p);
            wr_log_batch_free(&batch);
            wr_log_cursor_free(c);
        }
        wr_log_view_close(view);
    }
    if (err.message[0]) wr_sbuf_printf(&text, "%s\n", err.message);
    if (text.len) {
        wr_sbuf_addz(out, "== log\n");
        add_lines(wr_sbuf_str(&text), false, &rows);
        add_folded(&rows, out);
    }
    wr_sbuf_free(&text); /* rows borrowed from it */
    w->faults = faults;
}

static void visit(void *arg, const char *path, wr_str content) { /* /out/TABLE/part or /out/file */
    files      *f = arg;
    const char *name = path + strlen("/out/"), *slash = strchr(name, '/');
    wr_str      dir = slash ? (wr_str){name, (size_t)(slash - name)} : wr_str_of(name);
    if ((slash ? slash[1] : name[0]) == '.') return; /* hidden */
    if (!strncmp(path, LOG_PATH "/", sizeof LOG_PATH)) return; /* read_log */
    if (!wr_str_eq(dir, f->dir)) end_dir(f);
    f->dir = dir;
    add_lines(content, false, &f->rows);
}

static int by_name(const void *a, const void *b) { return strcmp((*(sim_table *const *)a)->name, (*(sim_table *const *)b)->name); }
void sim_outputs(sim_world *w, sim_store *store, wr_sbuf *out) {
    wr_sbuf_clear(out);
    files f = {.out = out};
    sim_world_each(w, "/out/", visit, &f);
    end_dir(&f);
    read_log(w, out);
    if (store->tables.n) qsort(store->tables.at, store->tables.n, sizeof *store->tables.at, by_name);
    for (uint32_t i = 0; i < store->tables.n; i++) {
        signed_rows rows = {0};
        wr_sbuf_printf(out, "== %s\n", store->tables.at[i]->name);
        add_lines(wr_sbuf_str(&store->tables.at[i]->changes), true, &rows);
        add_folded(&rows, out);
    }
}
