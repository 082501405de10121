/* serve/query_session.c: a SELECT over views as a job of its own: it reads a pinned version of each, and ends.
 *
 * Idea       a session whose catalog has a table for each view that the statement names, with the connector 'pinned', which hands out the rows of a cut. The
 *            cut is found by its number in a list of this process. Rows that come are added up in a set (type/row_set.h) and sorted as ORDER BY says.
 * Describing plans with NULL for each parameter and does not run.
 * Bounds     one worker; memory is the session's budget and, for the rows of the answer, an account of the same size; time is looked at by the session's tick.
 * Safe       only what translates to one statement that gives rows (or a text: EXPLAIN) is run; the session's catalog has nothing but the views.         */
#include "api/session.h"
#include "connect/connect.h"
#include "serve/catalog.h"
#include "serve/query_parts.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { KEY_GROUPS = 1 };

/* ---- cuts by number ---- */
typedef struct pinned_cut { uint64_t number; wr_view_cut *cut; struct pinned_cut *next; } pinned_cut;
static struct { atomic_flag lock; pinned_cut *first; uint64_t last; } cuts = {.lock = ATOMIC_FLAG_INIT};

static void cuts_lock(void) { while (atomic_flag_test_and_set_explicit(&cuts.lock, memory_order_acquire)) {} }
static void cuts_unlock(void) { atomic_flag_clear_explicit(&cuts.lock, memory_order_release); }

static void cuts_add(pinned_cut *c) {
    cuts_lock();
    c->number = ++cuts.last, c->next = cuts.first;
    cuts.first = c;
    cuts_unlock();
}
static void cuts_remove(pinned_cut *c) {
    cuts_lock();
    for (pinned_cut **at = &cuts.first; *at; at = &(*at)->next)
        if (*at == c) {
            *at = c->next;
            break;
        }
    cuts_unlock();
}
static wr_view_cut *cuts_find(uint64_t number) {
    wr_view_cut *found = NULL;
    cuts_lock();
    for (pinned_cut *c = cuts.first; c; c = c->next)
        if (c->number == number) found = c->cut;
    cuts_unlock();
    return found;
}

/* ---- the connector 'pinned' ---- */
typedef struct pinned { wr_source base; wr_view_scan *scan; const wr_view *view; uint64_t rows, total; bool done; } pinned;

static wr_status pinned_next(wr_source *s, const uint64_t *held, wr_chunk *out, wr_next *state, int64_t *retry_us, wr_err *err) {
    pinned   *p = (pinned *)s;
    wr_batch *b = NULL;
    (void)held, (void)retry_us;
    if (!p->done) WR_TRY(wr_view_scan_next(p->scan, WR_BATCH_MAX, &b, err));
    p->done |= !b;
    *state = b ? WR_NEXT_CHUNK : WR_NEXT_END;
    *out = (wr_chunk){.partition = UINT32_MAX};
    if (!b) return WR_OK;
    uint32_t n = wr_batch_live(b);
    *out = (wr_chunk){.first = p->rows == 0, .offset = p->rows, .mem = b->mem, .data = (const uint8_t *)b, .len = wr_batch_bytes(b), .rows_from = p->rows, .rows_to = p->rows + n};
    p->rows += n;
    return WR_OK;
}

static wr_status pinned_decode(wr_source *s, uint32_t worker, const wr_chunk *chunk, wr_decoded *out, wr_err *err) {
    (void)s, (void)worker, (void)err;
    wr_batch *dense = wr_batch_compact((wr_batch *)(uintptr_t)chunk->data);
    out->n_records = out->n_rows = out->n_lines = dense->n_rows;
    wr_arr_push(&out->batches, dense);
    return WR_OK;
}
static uint32_t pinned_partitions(wr_source *s) { (void)s; return 1; }
static void     pinned_partition_name(wr_source *s, uint32_t partition, wr_sbuf *out) { (void)partition, wr_sbuf_add_str(out, wr_view_name(((pinned *)s)->view)); }
static bool     pinned_partition_done(wr_source *s, uint32_t partition) { (void)partition; return ((pinned *)s)->done; }
static void     pinned_save(wr_source *s, wr_sbuf *out) { wr_put_u64(out, ((pinned *)s)->rows); }
static wr_status pinned_load(wr_source *s, wr_reader *in, wr_err *err) { (void)s, (void)in; return wr_fail(err, WR_UNSUPPORTED, "0A000", "a query has no checkpoints"); }
static void pinned_describe(wr_source *s, wr_sbuf *out) { wr_sbuf_printf(out, "%" PRIu64 " rows of a view", ((pinned *)s)->total); }
static void pinned_progress(wr_source *s, uint64_t *done, uint64_t *total) { *done = ((pinned *)s)->rows, *total = ((pinned *)s)->total; }
static bool pinned_bounded(wr_source *s) { (void)s; return true; }
static void pinned_close(wr_source *s) {
    wr_view_scan_free(((pinned *)s)->scan);
    wr_free(s);
}
static const wr_source_vt pinned_vt = {
    .name = "pinned", .next = pinned_next, .decode = pinned_decode, .partitions = pinned_partitions, .partition_name = pinned_partition_name, .partition_done = pinned_partition_done,
    .save = pinned_save, .load = pinned_load, .describe = pinned_describe, .progress = pinned_progress, .bounded = pinned_bounded, .close = pinned_close,
};

static wr_status pinned_new(const wr_table_info *info, wr_connect_ctx *ctx, wr_source **out, wr_err *err) {
    const wr_option *o = wr_options_find(&info->options, "cut");
    wr_view_cut     *cut = cuts_find(o ? strtoull(o->value.ptr, NULL, 10) : 0);
    (void)ctx;
    if (!cut) return wr_fail(err, WR_USER, "WR413", "the connector 'pinned' is for queries of views only");
    pinned *p = wr_calloc(1, sizeof *p);
    *p = (pinned){.base = {&pinned_vt}, .view = wr_view_cut_view(cut), .total = wr_view_cut_as_of(cut)->rows, .scan = wr_view_scan_new(cut, &(wr_view_range){.to_inclusive = false})};
    *out = &p->base;
    return WR_OK;
}
static bool pinned_is_bounded(const wr_table_info *info) { (void)info; return true; }
static const wr_option_spec pinned_specs[] = {{.key = "cut", .kind = "int", .required = true, .doc = "number of a pinned version in this process"}, {0}};
static const wr_connector   pinned_connector = {.name = "pinned", .doc = "a pinned version of a materialized view", .specs = pinned_specs, .source_new = pinned_new, .bounded = pinned_is_bounded};

/* ---- the session ---- */
typedef struct run {
    const query   *q;
    wr_arena      *arena;
    wr_session    *session;
    wr_world      *world;
    query_stop    *stop;
    wr_account     acct;
    query_limits   limits;
    const wr_pnode *sink;
    wr_row_set    *set;
    bool           append, over;
    wr_sbuf        text;              /* of EXPLAIN */
    wr_schema      text_schema;
    pinned_cut    *pins;
    wr_view_cut  **owned;             /* unpinned at the end */
    uint32_t       n_owned;
} run;

static void create_table(const wr_view *v, uint64_t cut, wr_sbuf *out) {
    const wr_schema *s = wr_view_schema(v);
    wr_str           name = wr_view_name(v);
    wr_sbuf_addz(out, "CREATE TABLE `");
    for (size_t i = 0; i < name.len; i++) wr_sbuf_addc(out, name.ptr[i]), name.ptr[i] == '`' ? wr_sbuf_addc(out, '`') : (void)0;
    wr_sbuf_addz(out, "` (");
    for (uint32_t c = 0; c < s->n; c++) {
        wr_type t = s->fields[c].type;
        t.attr = WR_TIME_NONE;
        wr_sbuf_addz(out, c ? ", `" : "`");
        for (size_t i = 0; i < s->fields[c].name.len; i++) wr_sbuf_addc(out, s->fields[c].name.ptr[i]), s->fields[c].name.ptr[i] == '`' ? wr_sbuf_addc(out, '`') : (void)0;
        wr_sbuf_addz(out, "` ");
        wr_type_text(t, out);
    }
    uint32_t        n_key;
    const uint32_t *key = wr_view_key(v, &n_key);
    bool            whole = n_key > 0;
    for (uint32_t i = 0; i < n_key; i++) whole &= !s->fields[key[i]].type.nullable;
    for (uint32_t i = 0; whole && i < n_key; i++) wr_sbuf_printf(out, "%s`%.*s`", i ? ", " : ", PRIMARY KEY (", WR_FMT(s->fields[key[i]].name));
    wr_sbuf_printf(out, "%s) WITH ('connector' = 'pinned', 'cut' = '%" PRIu64 "');\n", whole ? ") NOT ENFORCED" : "", cut);
}

static void on_text(void *arg, wr_str text) { wr_sbuf_add_str(&((run *)arg)->text, text); }

static wr_status on_rows(void *arg, wr_str table, const wr_schema *schema, const wr_tz *tz, wr_batch *batch, wr_err *err) {
    run *r = arg;
    (void)table, (void)schema, (void)tz;
    if (r->append) wr_row_set_append(r->set, batch);
    else wr_row_set_change(r->set, batch);
    if (wr_account_over(&r->acct)) return r->over = true, wr_fail(err, WR_LIMIT, "53200", "the answer is larger than the %" PRId64 " bytes that a query may have in memory", r->limits.memory_bytes);
    if (r->append && r->limits.rows && wr_row_set_rows(r->set) > r->limits.rows) return r->over = true, wr_fail(err, WR_LIMIT, "54000", "the answer has more than the %" PRIu64 " rows that may be asked for at a time", r->limits.rows);
    return WR_OK;
}

static void on_tick(void *arg, wr_job *job) {
    run *r = arg;
    (void)job;
    if (!r->stop || !r->stop->until_us || wr_mono_us(r->world) < r->stop->until_us) return;
    r->stop->timed_out = true;
    wr_session_stop(r->session);
}

static void on_start(void *arg, const wr_job_plan *plan, wr_job *job) {
    (void)plan;
    on_tick(arg, job);
}

void query_stop_ask(query_stop *stop) {
    wr_mutex_lock(stop->lock);
    stop->asked = true;
    if (stop->session) wr_session_stop(stop->session);
    wr_mutex_unlock(stop->lock);
}

static void attach(run *r, wr_session *session) {
    if (!r->stop) return;
    wr_mutex_lock(r->stop->lock);
    r->stop->session = session;
    if (session && r->stop->asked) wr_session_stop(session);
    wr_mutex_unlock(r->stop->lock);
}

static void run_free(run *r) {
    attach(r, NULL);
    wr_session_free(r->session);
    wr_row_set_free(r->set);
    for (uint32_t i = 0; i < r->q->n_views && r->pins; i++)
        if (r->pins[i].number) cuts_remove(&r->pins[i]);
    for (uint32_t i = 0; i < r->n_owned; i++) wr_view_unpin(r->owned[i]);
    wr_sbuf_free(&r->text);
    wr_arena_free(r->arena);
    wr_free(r);
}

static run *run_new(const query *q, const query_limits *limits, query_stop *stop, const wr_tz *tz) {
    run *r = wr_calloc(1, sizeof *r);
    *r = (run){.q = q, .arena = wr_arena_new(NULL), .world = q->db->world, .stop = stop, .limits = *limits};
    wr_account_init(&r->acct, NULL, "query", limits->memory_bytes);
    wr_connector_register(&pinned_connector);
    wr_session_opts opts = {.world = q->db->world, .n_workers = 1, .n_key_groups = KEY_GROUPS, .memory_bytes = limits->memory_bytes, .batch_selects = true, .arg = r, .accept_unbounded = true,
                            .on_text = on_text, .on_rows = on_rows, .on_tick = on_tick, .on_start = on_start};
    r->session = wr_session_new(&opts);
    if (!tz && q->n_views) tz = wr_view_tz(q->views[0]);
    if (tz) {
        wr_err ignored;
        (void)!wr_session_set(r->session, wr_arena_printf(r->arena, "table.local-time-zone=%.*s", WR_FMT(wr_tz_name(tz))), &ignored);
    }
    attach(r, r->session);
    return r;
}

/* The cuts: of the snapshot, or all of them now. */
static void pin(run *r, const query_snapshot *snapshot) {
    uint32_t     n = r->q->n_views, n_now = 0;
    wr_view    **now = wr_new_n(r->arena, wr_view *, n + 1);
    r->pins = wr_new_n(r->arena, pinned_cut, n + 1);
    r->owned = wr_new_n(r->arena, wr_view_cut *, n + 1);
    for (uint32_t i = 0; i < n; i++)
        if (!(r->pins[i].cut = query_snapshot_cut(snapshot, r->q->views[i]))) now[n_now++] = r->q->views[i];
    if (n_now) wr_view_pin_all(now, n_now, r->owned);
    r->n_owned = n_now;
    for (uint32_t i = 0, k = 0; i < n; i++) {
        if (!r->pins[i].cut) r->pins[i].cut = r->owned[k++];
        cuts_add(&r->pins[i]);
    }
}

/* The first error of the diagnostics, at its place in what the client sent. */
static wr_status take_diags(run *r, const text_places *places, wr_str text, wr_err *err) {
    const wr_diags *diags = wr_session_diags(r->session);
    for (uint32_t i = 0; i < diags->list.n; i++) {
        const wr_diag *d = &diags->list.at[i];
        if (d->severity != WR_SEV_ERROR) continue;
        wr_fail(err, WR_USER, d->code[0] ? d->code : "42601", "%s", d->message);
        if (d->detail) wr_err_detail(err, "%s", d->detail);
        if (d->hint) wr_err_hint(err, "%s", d->hint);
        uint32_t at = d->at.col ? d->at.col - 1 : 0; /* the translation is one line, but for strings with line ends in them */
        for (uint32_t line = d->at.line; line > 1; line--) {
            const char *nl = memchr(text.ptr, '\n', text.len);
            if (!nl) break;
            at += (uint32_t)(nl + 1 - text.ptr);
            text.len -= (size_t)(nl + 1 - text.ptr), text.ptr = nl + 1;
        }
        if (d->at.line) err->at.col = text_place_of(places, at) + 1;
        return WR_USER;
    }
    return wr_fail(err, WR_USER, "42601", "the statement cannot be planned");
}

/* Plans; the step is the last one. With cuts (pinned before), or only to see what comes. */
static wr_status plan(run *r, const wr_value *params, uint32_t n_params, wr_err *err) {
    wr_sbuf     tables = {0}, text = {0};
    text_places places = {0};
    for (uint32_t i = 0; i < r->q->n_views; i++) create_table(r->q->views[i], r->pins ? r->pins[i].number : 0, &tables);
    wr_session_load_text(r->session, "views", wr_sbuf_str(&tables));
    wr_status status = wr_session_plan(r->session) == WR_OK ? WR_OK : take_diags(r, &places, wr_sbuf_str(&tables), err);
    uint32_t  before = wr_session_n_steps(r->session);
    if (status == WR_OK) status = text_translate(r->q, params, n_params, r->arena, &text, &places, err);
    if (status == WR_OK) {
        wr_session_load_text(r->session, "query", wr_sbuf_str(&text));
        if (wr_session_plan(r->session) != WR_OK) status = take_diags(r, &places, wr_sbuf_str(&text), err);
    }
    if (status == WR_OK && wr_session_n_steps(r->session) != before + 1) status = wr_fail(err, WR_USER, "42601", "one statement that gives rows is expected");
    if (status == WR_OK) {
        const wr_step *step = wr_session_step(r->session, before);
        for (uint32_t i = 0; step->kind == WR_STEP_JOB && i < step->job->nodes.n; i++) {
            const wr_pnode *p = step->job->nodes.at[i];
            if (p->kind == WR_P_SINK && p->sink.is_result) r->sink = p;
            else if (p->kind == WR_P_SINK) status = wr_fail(err, WR_USER, "25006", "views are read only");
        }
    }
    wr_sbuf_free(&tables), wr_sbuf_free(&text);
    return status;
}

/* Columns without a name are called as PostgreSQL calls them. */
static void columns_of(query *q, const wr_schema *s, uint32_t n) {
    catalog_rewritten items = catalog_items(q->arena, &q->toks);
    q->n_cols = n;
    q->cols = wr_new_n(q->arena, query_col, n + 1);
    for (uint32_t i = 0; i < n; i++) {
        wr_type t = wr_type_copy(q->arena, s->fields[i].type);
        wr_str name = s->fields[i].name;
        if (items.n_items == n && items.names[i].ptr && wr_str_starts(name, WR_STR("EXPR$"))) name = items.names[i];
        q->cols[i] = (query_col){wr_str_dup(q->arena, name), t, pg_oid_of(t), pg_typmod_of(t)};
    }
}

static wr_schema text_schema(wr_arena *arena) {
    wr_field *f = wr_new_n(arena, wr_field, 1);
    f[0] = (wr_field){WR_STR("QUERY PLAN"), wr_type_string()};
    return (wr_schema){1, f};
}

static void take_columns(query *q, run *r) {
    wr_schema s = text_schema(r->arena);
    if (r->sink) columns_of(q, &r->sink->sink.write_schema, r->sink->sink.write_schema.n - r->sink->sink.n_hidden);
    else columns_of(q, &s, 1);
    q->described = true;
}

wr_status session_describe(query *q, wr_err *err) {
    static const query_limits limits = {.memory_bytes = 64 << 20};
    run      *r = run_new(q, &limits, NULL, NULL);
    wr_value *params = wr_new_n(r->arena, wr_value, q->n_params + 1);
    for (uint32_t i = 0; i < q->n_params; i++) params[i] = wr_value_null(q->params[i].type);
    wr_status status = plan(r, params, q->n_params, err);
    if (status == WR_OK) take_columns(q, r);
    run_free(r);
    return status;
}

static void sort(run *r) {
    uint32_t    n = r->sink->sink.n_order;
    wr_row_key *keys = wr_new_n(r->arena, wr_row_key, n + 1);
    for (uint32_t i = 0; i < n; i++) {
        const wr_sort_key *k = &r->sink->sink.order[i];
        keys[i] = (wr_row_key){k->col, k->desc, k->nulls_last};
    }
    if (n) wr_row_set_sort(r->set, keys, n);
}

/* EXPLAIN and the like: a row a line. */
static void rows_of_text(run *r) {
    r->text_schema = text_schema(r->arena);
    r->set = wr_row_set_new(&r->text_schema, NULL);
    wr_builder *b = wr_builder_new(&r->text_schema, WR_BATCH_MAX);
    wr_str      rest = wr_sbuf_str(&r->text), line;
    while (rest.len) {
        const char *nl = memchr(rest.ptr, '\n', rest.len);
        line = (wr_str){rest.ptr, nl ? (size_t)(nl - rest.ptr) : rest.len};
        rest.ptr += line.len + (nl != NULL), rest.len -= line.len + (nl != NULL);
        uint32_t row = wr_builder_add(b, WR_KIND_INSERT);
        wr_vec  *col = wr_builder_col(b, 0);
        wr_valid_set(col->valid, row, true);
        ((wr_sview *)col->data)[row] = wr_sview_copy(wr_builder_mem(b), line.ptr, line.len);
        if (wr_builder_rows(b) < WR_BATCH_MAX && rest.len) continue;
        wr_batch *batch = wr_builder_take(b);
        wr_row_set_append(r->set, batch);
        wr_batch_unref(batch);
    }
    wr_builder_free(b);
}

static void done(void *arg) { run_free(arg); }

static wr_status outcome(run *r, wr_status status, wr_err *err) {
    if (r->stop && r->stop->timed_out) return wr_fail(err, WR_LIMIT, "57014", "canceling statement due to statement timeout");
    if (r->stop && r->stop->asked) return wr_fail(err, WR_CANCELLED, "57014", "canceling statement due to user request");
    if (status == WR_OK) return WR_OK;
    text_places none = {0};
    if (!err->code[0]) return take_diags(r, &none, (wr_str){0}, err);
    return status;
}

wr_status session_run(query *q, const query_args *args, query_rows **out, wr_err *err) {
    run *r = run_new(q, &args->limits, args->stop, args->tz);
    pin(r, args->snapshot);
    wr_status status = plan(r, args->params, args->n, err);
    if (status == WR_OK) {
        if (!q->described) take_columns(q, r);
        if (r->sink) {
            r->set = wr_row_set_new(&r->sink->sink.write_schema, &r->acct);
            r->append = r->sink->inputs[0].node->changes == WR_CHANGES_APPEND;
        }
        status = outcome(r, wr_session_run(r->session, err), err);
    }
    if (status == WR_OK && r->sink && args->limits.rows && wr_row_set_rows(r->set) > args->limits.rows)
        status = wr_fail(err, WR_LIMIT, "54000", "the answer has more than the %" PRIu64 " rows that may be asked for at a time", args->limits.rows);
    if (status != WR_OK) {
        if (!strcmp(err->code, "54000")) wr_err_hint(err, "LIMIT, or a condition");
        run_free(r);
        return status;
    }
    if (r->sink) sort(r);
    else rows_of_text(r);
    wr_row_set *set = r->set;
    r->set = NULL;
    attach(r, NULL);
    const wr_tz *tz = r->sink && q->n_views ? wr_view_tz(q->views[0]) : NULL;
    *out = query_rows_of_set(set, tz, q->n_cols, done, r);
    return WR_OK;
}
