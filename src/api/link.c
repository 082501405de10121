/* api/link.c: the two connectors of a program that embeds weir: 'push' (rows come from the program) and 'callback' (rows go to it).
 *
 * Idea       connectors are found by name and know only their table. A sink gets the session through the run's result_arg; a source has no
 *            such way, so a plan that is about to run gets the session's number as one more option on its 'push' tables ('api.session').
 * Push       batches wait in a list with a byte bound; a pusher waits when it is reached (backpressure). A chunk is one batch: the batch is
 *            the chunk's memory, decode only hands it on. Position = rows handed out.
 * Thread     push_add and push_end from any thread, next under the job's turn lock: the list has a lock of its own. A session must not be
 *            freed while a job of it runs.                                                                               */
#include "api/link.h"
#include <stdio.h>

enum { PUSH_BYTES_MAX = 16 << 20, PUSH_RETRY_US = 1000 };

/* ---- sessions by number ---- */
static struct { atomic_flag lock; WR_ARR(wr_session *) list; uint64_t last_id; } sessions = {.lock = ATOMIC_FLAG_INIT};

static void sessions_lock(void) { while (atomic_flag_test_and_set_explicit(&sessions.lock, memory_order_acquire)) {} }
static void sessions_unlock(void) { atomic_flag_clear_explicit(&sessions.lock, memory_order_release); }

static wr_session *session_of(const wr_table_info *info) {
    const wr_option *o = wr_options_find(&info->options, "api.session");
    uint64_t         id = 0;
    for (size_t i = 0; o && i < o->value.len; i++) id = id * 10 + (uint64_t)(o->value.ptr[i] - '0');
    wr_session *found = NULL;
    sessions_lock();
    for (uint32_t i = 0; i < sessions.list.n; i++)
        if (id && sessions.list.at[i]->id == id) found = sessions.list.at[i];
    sessions_unlock();
    return found;
}

/* ---- push: the list that the program fills ---- */
struct push_table {
    wr_str            name;
    const wr_schema  *schema;        /* physical columns */
    wr_bell          *room;
    wr_mutex         *lock;
    WR_ARR(wr_batch *) list;         /* list[from..n) wait */
    uint32_t          from;
    size_t            bytes;
    uint64_t          rows_in, rows_out, rows_restored;
    bool              ended;
};

push_table *push_find(wr_session *s, wr_str name) {
    for (uint32_t i = 0; i < s->pushes.n; i++)
        if (wr_str_eq(s->pushes.at[i]->name, name)) return s->pushes.at[i];
    return NULL;
}

const wr_schema *push_schema(const push_table *p) { return p->schema; }

static push_table *push_new(wr_session *s, const wr_table *table) {
    wr_field *fields = wr_new_n(s->arena, wr_field, table->n_columns + 1);
    uint32_t  n = 0;
    for (uint32_t i = 0; i < table->n_columns; i++)
        if (table->columns[i].kind == WR_COLUMN_PHYSICAL) fields[n++] = (wr_field){table->columns[i].name, table->columns[i].type};
    wr_schema *schema = wr_new(s->arena, wr_schema);
    *schema = (wr_schema){n, fields};
    push_table *p = wr_calloc(1, sizeof *p);
    *p = (push_table){.name = table->name, .schema = schema, .room = wr_bell_new(), .lock = wr_mutex_new()};
    return p;
}

push_table *push_open(wr_session *s, const wr_table *table) {
    wr_mutex_lock(s->push_lock);
    push_table *p = push_find(s, table->name);
    if (!p) {
        p = push_new(s, table);
        wr_arr_push(&s->pushes, p);
    }
    wr_mutex_unlock(s->push_lock);
    return p;
}

static void push_free(push_table *p) {
    for (uint32_t i = p->from; i < p->list.n; i++) wr_batch_unref(p->list.at[i]);
    wr_arr_free(&p->list);
    wr_bell_free(p->room);
    wr_mutex_free(p->lock);
    wr_free(p);
}

bool push_add(wr_session *s, push_table *p, wr_batch *batch) {
    for (;;) {
        wr_mutex_lock(p->lock);
        bool closed = p->ended || wr_session_stopped(s);
        if (closed || p->bytes < PUSH_BYTES_MAX) {
            if (!closed) {
                wr_arr_push(&p->list, batch);
                p->bytes += wr_batch_bytes(batch);
                p->rows_in += batch->n_rows;
            }
            wr_mutex_unlock(p->lock);
            return !closed;
        }
        wr_mutex_unlock(p->lock);
        wr_bell_wait(p->room, 50000);
    }
}

void push_end(push_table *p) {
    wr_mutex_lock(p->lock);
    p->ended = true;
    wr_mutex_unlock(p->lock);
}

void push_reopen(push_table *p) {
    wr_mutex_lock(p->lock);
    for (uint32_t i = p->from; i < p->list.n; i++) wr_batch_unref(p->list.at[i]); /* what a stopped job left */
    p->list.n = p->from = 0;
    p->bytes = 0;
    p->rows_in = p->rows_out = p->rows_restored = 0;
    p->ended = false;
    wr_mutex_unlock(p->lock);
}

uint64_t push_position(push_table *p) {
    wr_mutex_lock(p->lock);
    uint64_t rows = p->rows_restored;
    wr_mutex_unlock(p->lock);
    return rows;
}

static push_table *find_locked(wr_session *s, const char *table) {
    wr_mutex_lock(s->push_lock);
    push_table *p = push_find(s, wr_str_of(table));
    wr_mutex_unlock(s->push_lock);
    return p;
}
const wr_schema *wr_session_push_schema(wr_session *s, const char *table) {
    push_table *p = find_locked(s, table);
    return p ? push_schema(p) : NULL;
}
bool wr_session_push(wr_session *s, const char *table, wr_batch *batch) {
    push_table *p = find_locked(s, table);
    if (p && push_add(s, p, batch)) return true;
    wr_batch_unref(batch);
    return false;
}
void wr_session_push_end(wr_session *s, const char *table) {
    push_table *p = find_locked(s, table);
    if (p) push_end(p);
}

/* ---- push: the source ---- */
typedef struct push_source { wr_source base; push_table *table; } push_source;
static push_table *table_of(wr_source *s) { return ((push_source *)s)->table; }

static wr_status push_next(wr_source *s, const uint64_t *held, wr_chunk *out, wr_next *state, int64_t *retry_us, wr_err *err) {
    (void)held, (void)err;
    push_table *p = table_of(s);
    wr_mutex_lock(p->lock);
    if (p->from < p->list.n) {
        wr_batch *batch = p->list.at[p->from++];
        size_t    bytes = wr_batch_bytes(batch);
        *out = (wr_chunk){.first = p->rows_out == 0, .offset = p->rows_out, .mem = batch->mem, .data = (const uint8_t *)batch, .len = bytes,
                          .rows_from = p->rows_out, .rows_to = p->rows_out + batch->n_rows};
        p->rows_out += batch->n_rows;
        p->bytes -= WR_MIN(bytes, p->bytes);
        if (p->from == p->list.n) p->from = p->list.n = 0;
        *state = WR_NEXT_CHUNK;
        wr_bell_ring(p->room);
    } else if (p->ended) {
        *out = (wr_chunk){.partition = UINT32_MAX};
        *state = WR_NEXT_END;
    } else {
        *state = WR_NEXT_WAIT;
        *retry_us = PUSH_RETRY_US;
    }
    wr_mutex_unlock(p->lock);
    return WR_OK;
}

static wr_status push_decode(wr_source *s, uint32_t worker, const wr_chunk *chunk, wr_decoded *out, wr_err *err) {
    (void)s, (void)worker, (void)err;
    wr_batch *batch = (wr_batch *)(uintptr_t)chunk->data;
    out->n_records = out->n_rows = out->n_lines = batch->n_rows;
    wr_arr_push(&out->batches, wr_batch_ref(batch));
    return WR_OK;
}

static uint32_t push_partitions(wr_source *s) { (void)s; return 1; }
static void     push_partition_name(wr_source *s, uint32_t partition, wr_sbuf *out) {
    (void)partition;
    wr_sbuf_add_str(out, table_of(s)->name);
}
static bool push_partition_done(wr_source *s, uint32_t partition) {
    (void)partition;
    push_table *p = table_of(s);
    wr_mutex_lock(p->lock);
    bool done = p->ended && p->from == p->list.n;
    wr_mutex_unlock(p->lock);
    return done;
}
static void push_save(wr_source *s, wr_sbuf *out) { wr_put_u64(out, table_of(s)->rows_out); }
static wr_status push_load(wr_source *s, wr_reader *in, wr_err *err) {
    push_table *p = table_of(s);
    uint64_t    rows = wr_get_u64(in);
    if (in->bad) return wr_fail(err, WR_CORRUPT, "WR303", "the saved position of table %.*s is damaged", WR_FMT(p->name));
    wr_mutex_lock(p->lock);
    p->rows_restored = p->rows_out = rows;
    wr_mutex_unlock(p->lock);
    return WR_OK;
}
static void push_describe(wr_source *s, wr_sbuf *out) {
    wr_sbuf_printf(out, "rows from the program, from row %llu", (unsigned long long)table_of(s)->rows_restored);
}
static void push_progress(wr_source *s, uint64_t *done, uint64_t *total) {
    push_table *p = table_of(s);
    wr_mutex_lock(p->lock);
    *done = p->rows_out;
    *total = p->ended ? p->rows_restored + p->rows_in : 0;
    wr_mutex_unlock(p->lock);
}
static bool push_bounded(wr_source *s) { (void)s; return false; }
static void push_close(wr_source *s) { wr_free(s); }

static const wr_source_vt push_vt = {
    .name = "push", .next = push_next, .decode = push_decode, .partitions = push_partitions, .partition_name = push_partition_name,
    .partition_done = push_partition_done, .save = push_save, .load = push_load, .describe = push_describe, .progress = push_progress,
    .bounded = push_bounded, .close = push_close,
};

static wr_status no_program(const wr_table_info *info, const char *connector, const char *call, wr_err *err) {
    wr_fail(err, WR_USER, "WR108", "table %.*s: connector '%s' needs a program that embeds libweir", WR_FMT(info->name), connector);
    wr_err_hint(err, "%s in weir.h; on the command line use 'filesystem' or 'print'", call);
    err->at = info->at;
    return WR_USER;
}

static wr_status push_source_new(const wr_table_info *info, wr_connect_ctx *ctx, wr_source **out, wr_err *err) {
    (void)ctx;
    wr_session *s = session_of(info);
    if (!s || !s->opts.pushes) return no_program(info, "push", "weir_push()", err);
    push_table *p = push_find(s, info->name);
    if (!p) return no_program(info, "push", "weir_push()", err);
    push_source *source = wr_calloc(1, sizeof *source);
    *source = (push_source){.base = {&push_vt}, .table = p};
    *out = &source->base;
    return WR_OK;
}

/* ---- callback: the sink ---- */
typedef struct callback_sink {
    wr_sink         base;
    wr_str          table;
    const wr_schema *schema;
    const wr_tz    *tz;
    wr_session_rows call;
    void           *arg;
} callback_sink;

static wr_status callback_write(wr_sink *sink, const wr_batch *batch, wr_err *err) {
    callback_sink *c = (callback_sink *)sink;
    return c->call(c->arg, c->table, c->schema, c->tz, (wr_batch *)(uintptr_t)batch, err);
}
static wr_status callback_flush(wr_sink *sink, wr_err *err) { (void)sink, (void)err; return WR_OK; }
static wr_status callback_prepare(wr_sink *sink, uint64_t epoch, wr_sbuf *staged, wr_err *err) { (void)sink, (void)epoch, (void)staged, (void)err; return WR_OK; }
static wr_status callback_commit(wr_sink *sink, uint64_t epoch, wr_str staged, wr_err *err) { (void)sink, (void)epoch, (void)staged, (void)err; return WR_OK; }
static wr_status callback_close(wr_sink *sink, bool ok, wr_err *err) {
    (void)ok, (void)err;
    wr_free(sink);
    return WR_OK;
}
static const wr_sink_vt callback_vt = {
    .name = "callback", .write = callback_write, .flush = callback_flush, .prepare = callback_prepare, .commit = callback_commit,
    .recover = callback_commit, .close = callback_close,
};

static wr_status callback_sink_new(const wr_table_info *info, wr_connect_ctx *ctx, wr_sink **out, wr_err *err) {
    wr_session    *s = ctx->result_arg;
    callback_sink *c = wr_calloc(1, sizeof *c);
    *c = (callback_sink){.base = {&callback_vt}, .table = info->name, .schema = info->schema, .tz = ctx->tz};
    for (uint32_t i = 0; s && i < s->subscribers.n; i++)
        if (wr_str_eq(s->subscribers.at[i].table, info->name)) c->call = s->subscribers.at[i].call, c->arg = s->subscribers.at[i].arg;
    if (!c->call && s && s->opts.on_rows && wr_str_eq(info->name, WR_STR("result"))) c->call = s->opts.on_rows, c->arg = s->opts.arg;
    if (!c->call) {
        wr_free(c);
        return no_program(info, "callback", "weir_subscribe() or weir_listen()", err);
    }
    *out = &c->base;
    return WR_OK;
}

static wr_sink_takes callback_takes(const wr_table_info *info) { (void)info; return WR_SINK_ALL; }
static wr_guarantee  callback_guarantee(const wr_table_info *info) { (void)info; return WR_AT_LEAST_ONCE; }
static bool          push_is_bounded(const wr_table_info *info) { (void)info; return false; }

static const wr_option_spec no_specs[] = {{0}};
static const wr_connector push_connector = {.name = "push", .doc = "rows from the program that embeds libweir", .specs = no_specs,
                                            .source_new = push_source_new, .bounded = push_is_bounded};
static const wr_connector callback_connector = {.name = "callback", .doc = "rows to the program that embeds libweir", .specs = no_specs,
                                                .sink_new = callback_sink_new, .takes = callback_takes, .guarantee = callback_guarantee};

/* ---- the session's side ---- */
void link_open(wr_session *s) {
    s->push_lock = wr_mutex_new();
    wr_connector_register(&push_connector);
    wr_connector_register(&callback_connector);
    sessions_lock();
    s->id = ++sessions.last_id;
    wr_arr_push(&sessions.list, s);
    sessions_unlock();
}

void link_close(wr_session *s) {
    sessions_lock();
    for (uint32_t i = 0; i < sessions.list.n; i++)
        if (sessions.list.at[i] == s) sessions.list.at[i] = sessions.list.at[--sessions.list.n];
    if (!sessions.list.n) wr_arr_free(&sessions.list);
    sessions_unlock();
    for (uint32_t i = 0; i < s->pushes.n; i++) push_free(s->pushes.at[i]);
    wr_arr_free(&s->pushes);
    wr_mutex_free(s->push_lock);
}

static const wr_table *with_session(wr_session *s, const wr_table *table) {
    wr_str key = WR_STR("api.session");
    if (wr_table_option_get(table, key.ptr).ptr) return table;
    wr_table        *copy = wr_new(s->arena, wr_table);
    wr_table_option *options = wr_new_n(s->arena, wr_table_option, table->n_options + 1);
    if (table->n_options) memcpy(options, table->options, sizeof *options * table->n_options);
    options[table->n_options] = (wr_table_option){key, wr_str_of(wr_arena_printf(s->arena, "%llu", (unsigned long long)s->id)), {0}};
    *copy = *table;
    copy->options = options;
    copy->n_options++;
    return copy;
}

const wr_connector *link_result(const wr_session *s) {
    if (s->opts.on_rows) return &callback_connector;
    for (uint32_t i = 0; i < s->subscribers.n; i++)
        if (wr_str_eq(s->subscribers.at[i].table, WR_STR("result"))) return &callback_connector;
    return NULL;
}

void link_plan(wr_session *s, const wr_job_plan *plan) {
    for (uint32_t i = 0; i < plan->nodes.n; i++) {
        wr_pnode *p = plan->nodes.at[i];
        if (p->kind != WR_P_SOURCE || !wr_str_eq(p->source.table->connector, WR_STR("push"))) continue;
        push_open(s, p->source.table);
        p->source.table = with_session(s, p->source.table);
    }
}
