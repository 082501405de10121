/* api/weir.c: include/weir.h on top of a session.
 *
 * Idea       a weir is a session, a background thread that runs its steps, and queues of rows between the program and the tables 'push' and
 *            'callback'. The thread owns the session while it runs; other threads touch only the push lists (link.c), the outlets (here), the
 *            stop flag, and the job's status under `lock`.
 * Invariant  `job` is set only between on_start and on_end, under lock. The last status text outlives the job.              */
#include "api/link.h"
#include "type/arrow.h"
#define WEIR_BUILD 1
#include "weir.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

enum { OUTLET_BYTES_MAX = 16 << 20 };

typedef struct ready_batch { wr_batch *batch; const wr_schema *schema; } ready_batch;
typedef struct outlet {          /* a table whose rows the program takes */
    weir      *w;
    char      *table;
    weir_rows  call;             /* NULL: weir_pull */
    void      *arg;
    wr_mutex  *lock;
    wr_bell   *filled, *room;
    WR_ARR(ready_batch) list;    /* list[from..n) wait */
    uint32_t   from;
    size_t     bytes;
} outlet;

struct weir {
    wr_session *session;
    wr_mutex   *lock;
    wr_job     *job;             /* running now */
    char       *last_status;     /* heap; of the job that ended last */
    void       *thread;
    wr_bell    *started;
    _Atomic bool busy, ready;    /* ready: the first job has been built, or none will be */
    wr_status   outcome;
    wr_err      run_err;
    wr_sbuf     error;
    WR_ARR(outlet *) outlets;
};

const char *weir_version(void) { return WEIR_VERSION; }

/* ---- errors ---- */
static weir_result result_of(wr_status status) {
    switch (status) {
    case WR_OK: return WEIR_OK;
    case WR_USER: case WR_UNSUPPORTED: return WEIR_REFUSED;
    case WR_CANCELLED: return WEIR_INTERRUPTED;
    case WR_LIMIT: case WR_IO: case WR_DATA: case WR_CORRUPT: break;
    }
    return WEIR_FAILED;
}

WR_PRINTF(3, 4) static weir_result fail(weir *w, weir_result result, const char *fmt, ...) {
    char    text[1024];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    wr_mutex_lock(w->lock);
    wr_sbuf_clear(&w->error);
    wr_sbuf_addz(&w->error, text);
    wr_mutex_unlock(w->lock);
    return result;
}

static weir_result fail_report(weir *w, wr_status status, const wr_err *err) {
    if (status == WR_OK) return WEIR_OK;
    wr_mutex_lock(w->lock);
    wr_sbuf_clear(&w->error);
    wr_session_report(w->session, err, false, &w->error);
    if (!w->error.len) wr_sbuf_addz(&w->error, wr_status_name(status));
    wr_mutex_unlock(w->lock);
    return result_of(status);
}

const char *weir_error(weir *w) { return w->error.len ? w->error.at : ""; }
void        weir_free(void *text) { wr_free(text); }

static char *owned_text(wr_sbuf *buf) {
    wr_sbuf_reserve(buf, 1);
    buf->at[buf->len] = '\0';
    return buf->at;
}

/* ---- life ---- */
static void on_start(void *arg, const wr_job_plan *plan, wr_job *job);
static void on_end(void *arg, const wr_job_plan *plan, wr_job *job, wr_status status, const wr_err *err);
static void on_text(void *arg, wr_str text) { (void)arg, (void)text; }

weir *weir_open(void) {
    weir *w = wr_calloc(1, sizeof *w);
    wr_session_opts opts = {.arg = w, .on_start = on_start, .on_end = on_end, .on_text = on_text, .pushes = true};
    w->session = wr_session_new(&opts);
    w->lock = wr_mutex_new();
    w->started = wr_bell_new();
    return w;
}

static void outlet_free(outlet *o) {
    for (uint32_t i = o->from; i < o->list.n; i++) wr_batch_unref(o->list.at[i].batch);
    wr_arr_free(&o->list);
    wr_bell_free(o->filled);
    wr_bell_free(o->room);
    wr_mutex_free(o->lock);
    wr_free(o->table);
    wr_free(o);
}

void weir_close(weir *w) {
    if (!w) return;
    if (w->thread) {
        weir_stop(w);
        weir_wait(w);
    }
    wr_session_free(w->session);
    for (uint32_t i = 0; i < w->outlets.n; i++) outlet_free(w->outlets.at[i]);
    wr_arr_free(&w->outlets);
    wr_sbuf_free(&w->error);
    wr_free(w->last_status);
    wr_bell_free(w->started);
    wr_mutex_free(w->lock);
    wr_free(w);
}

/* ---- options ---- */
static bool take_number(const char *text, uint32_t max, uint32_t *out) {
    char         *end;
    unsigned long n = strtoul(text, &end, 10);
    if (end == text || *end || n < 1 || n > max) return false;
    *out = (uint32_t)n;
    return true;
}

weir_result weir_set(weir *w, const char *name, const char *value) {
    wr_session_opts *o = wr_session_opts_of(w->session);
    if (atomic_load(&w->busy)) return fail(w, WEIR_REFUSED, "%s: options cannot change while a job runs", name);
    bool fine = true;
    if (!strcmp(name, "workers")) fine = take_number(value, 64, &o->n_workers);
    else if (!strcmp(name, "batch-rows")) fine = take_number(value, WR_BATCH_MAX, &o->batch_rows);
    else if (!strcmp(name, "memory")) fine = wr_parse_size(wr_str_of(value), &o->memory_bytes) && o->memory_bytes >= 1 << 20;
    else if (!strcmp(name, "checkpoint-every")) fine = wr_parse_duration(wr_str_of(value), &o->checkpoint_interval_us);
    else if (!strcmp(name, "state-dir")) o->state_dir = wr_arena_strndup(w->session->arena, value, strlen(value));
    else if (!strcmp(name, "fresh")) o->fresh = !strcmp(value, "true");
    else {
        wr_sbuf assignment = {0};
        wr_err  err = {0};
        wr_sbuf_printf(&assignment, "%s=%s", name, value);
        wr_status status = wr_session_set(w->session, assignment.at, &err);
        wr_sbuf_free(&assignment);
        return fail_report(w, status, &err);
    }
    return fine ? WEIR_OK : fail(w, WEIR_REFUSED, "option %s: '%s' is no value for it", name, value);
}

/* ---- SQL ---- */
weir_result weir_sql(weir *w, const char *sql) {
    if (atomic_load(&w->busy)) return fail(w, WEIR_REFUSED, "a job is running: weir_wait first");
    wr_session *s = w->session;
    uint32_t    before = s->steps.n;
    wr_session_load_text(s, "sql", wr_str_of(sql));
    wr_status status = wr_session_plan(s);
    if (status != WR_OK) s->steps.n = before;
    return fail_report(w, status, NULL);
}

char *weir_explain(weir *w, int json) {
    if (atomic_load(&w->busy)) return NULL;
    wr_session *s = w->session;
    wr_sbuf     out = {0};
    uint32_t    n = 0;
    if (json) wr_sbuf_addc(&out, '[');
    for (uint32_t i = s->n_run; i < s->steps.n; i++) {
        if (s->steps.at[i].kind != WR_STEP_JOB) continue;
        if (json && n) wr_sbuf_addc(&out, ',');
        if (json) wr_plan_explain_json(s->steps.at[i].job, NULL, &out);
        else wr_plan_explain(s->steps.at[i].job, NULL, &out);
        n++;
    }
    if (json) wr_sbuf_addc(&out, ']');
    if (n) return owned_text(&out);
    wr_sbuf_free(&out);
    return NULL;
}

/* ---- status ---- */
static void status_json(const wr_job_status *now, const char *state, wr_sbuf *out) {
    wr_sbuf_printf(out, "{\"state\":\"%s\",\"rows_in\":%llu,\"rows_out\":%llu,\"running_us\":%lld,\"memory_bytes\":%lld,\"memory_peak_bytes\":%lld,"
                        "\"memory_limit_bytes\":%lld,\"checkpoints\":%llu,\"restored_epoch\":%llu,\"ledger\":",
                   state, (unsigned long long)now->rows_in, (unsigned long long)now->rows_out, (long long)now->running_us, (long long)now->memory_bytes,
                   (long long)now->memory_peak_bytes, (long long)now->memory_limit_bytes, (unsigned long long)now->checkpoints,
                   (unsigned long long)now->restored_epoch);
    wr_job_ledger_json(now, out);
    wr_sbuf_addc(out, '}');
}

static void on_start(void *arg, const wr_job_plan *plan, wr_job *job) {
    (void)plan;
    weir *w = arg;
    wr_mutex_lock(w->lock);
    w->job = job;
    wr_mutex_unlock(w->lock);
    atomic_store(&w->ready, true);
    wr_bell_ring(w->started);
}

static void on_end(void *arg, const wr_job_plan *plan, wr_job *job, wr_status status, const wr_err *err) {
    (void)plan, (void)err;
    weir         *w = arg;
    wr_job_status now;
    wr_sbuf       text = {0};
    wr_job_status_get(job, &now);
    status_json(&now, status == WR_OK ? "done" : status == WR_CANCELLED ? "stopped" : "failed", &text);
    wr_arena_free(now.arena);
    wr_mutex_lock(w->lock);
    w->job = NULL;
    wr_free(w->last_status);
    w->last_status = owned_text(&text);
    wr_mutex_unlock(w->lock);
}

char *weir_status(weir *w) {
    wr_sbuf out = {0};
    wr_mutex_lock(w->lock);
    if (w->job) {
        wr_job_status now;
        wr_job_status_get(w->job, &now);
        status_json(&now, "running", &out);
        wr_arena_free(now.arena);
    } else {
        wr_sbuf_addz(&out, w->last_status ? w->last_status : "{\"state\":\"idle\"}");
    }
    wr_mutex_unlock(w->lock);
    return owned_text(&out);
}

/* ---- running ---- */
static void ring_all(weir *w) {
    for (uint32_t i = 0; i < w->outlets.n; i++) {
        wr_bell_ring(w->outlets.at[i]->filled);
        wr_bell_ring(w->outlets.at[i]->room);
    }
}

static void run_thread(void *arg) {
    weir *w = arg;
    w->outcome = wr_session_run(w->session, &w->run_err);
    for (uint32_t i = 0; i < w->session->pushes.n; i++) push_end(w->session->pushes.at[i]); /* a late pusher is told */
    atomic_store(&w->busy, false);
    atomic_store(&w->ready, true);
    wr_bell_ring(w->started);
    ring_all(w);
}

/* Push lists exist before the job does, so that a push right after weir_start finds its table. */
static void open_pushes(weir *w) {
    wr_session *s = w->session;
    for (uint32_t i = s->n_run; i < s->steps.n; i++)
        if (s->steps.at[i].kind == WR_STEP_JOB) link_plan(s, s->steps.at[i].job);
    for (uint32_t i = 0; i < s->pushes.n; i++) push_reopen(s->pushes.at[i]);
}

weir_result weir_start(weir *w) {
    if (atomic_load(&w->busy)) return fail(w, WEIR_REFUSED, "a job is running already");
    if (w->thread) weir_wait(w);
    if (w->session->n_run == w->session->steps.n) return fail(w, WEIR_REFUSED, "nothing to run: weir_sql first");
    open_pushes(w);
    atomic_store(&w->session->stop, false);
    atomic_store(&w->ready, false);
    atomic_store(&w->busy, true);
    wr_err    err = {0};
    wr_world *world = w->session->world;
    wr_status status = world->vt->spawn(world, "weir", run_thread, w, &w->thread, &err);
    if (status != WR_OK) {
        atomic_store(&w->busy, false);
        w->thread = NULL;
        return fail_report(w, status, &err);
    }
    while (!atomic_load(&w->ready)) wr_bell_wait(w->started, 50000);
    return WEIR_OK;
}

weir_result weir_wait(weir *w) {
    if (w->thread) {
        w->session->world->vt->join(w->session->world, w->thread);
        w->thread = NULL;
        return fail_report(w, w->outcome, &w->run_err);
    }
    return result_of(w->outcome);
}

void weir_stop(weir *w) {
    wr_session_stop(w->session);
    ring_all(w);
}

/* ---- rows in ---- */
static push_table *find_push(weir *w, const char *table) {
    wr_session *s = w->session;
    wr_mutex_lock(s->push_lock);
    push_table *p = push_find(s, wr_str_of(table));
    wr_mutex_unlock(s->push_lock);
    return p;
}

weir_result weir_push(weir *w, const char *table, const struct ArrowSchema *schema, const struct ArrowArray *array) {
    push_table *p = find_push(w, table);
    if (!p) return fail(w, WEIR_REFUSED, "no job that was started reads a 'push' table named '%s'", table);
    uint32_t max = wr_session_opts_of(w->session)->batch_rows;
    if (!max) max = WR_BATCH_MAX;
    for (int64_t at = 0; at < array->length; at += max) {
        struct ArrowArray slice = *array; /* a view: children are shared, only the struct's own range differs */
        slice.offset = array->offset + at;
        slice.length = WR_MIN(array->length - at, (int64_t)max);
        slice.null_count = -1;
        wr_batch *batch = NULL;
        wr_err    err = {0};
        wr_status status = wr_arrow_import(schema, &slice, push_schema(p), &batch, &err);
        if (status != WR_OK) return fail(w, result_of(status), "table %s: %s", table, err.message);
        if (push_add(w->session, p, batch)) continue;
        wr_batch_unref(batch);
        return fail(w, WEIR_INTERRUPTED, "table %s takes no more rows: it was ended, or the job is not running", table);
    }
    return WEIR_OK;
}

weir_result weir_end(weir *w, const char *table) {
    push_table *p = find_push(w, table);
    if (!p) return fail(w, WEIR_REFUSED, "no job that was started reads a 'push' table named '%s'", table);
    push_end(p);
    return WEIR_OK;
}

uint64_t weir_position(weir *w, const char *table) {
    push_table *p = find_push(w, table);
    return p ? push_position(p) : 0;
}

/* ---- rows out ---- */
static wr_status give_to_callback(outlet *o, const wr_schema *schema, wr_batch *batch, wr_err *err) {
    struct ArrowSchema arrow_schema;
    struct ArrowArray  arrow;
    wr_arrow_export_schema(schema, true, &arrow_schema);
    wr_arrow_export(batch, schema, true, &arrow);
    int said = o->call(o->arg, o->table, &arrow_schema, &arrow);
    if (arrow.release) arrow.release(&arrow);
    if (arrow_schema.release) arrow_schema.release(&arrow_schema);
    return said ? wr_fail(err, WR_IO, "58030", "the callback of table %s returned %d", o->table, said) : WR_OK;
}

static wr_status on_rows(void *arg, wr_str table, const wr_schema *schema, const wr_tz *tz, wr_batch *batch, wr_err *err) {
    (void)table, (void)tz;
    outlet *o = arg;
    if (!wr_batch_live(batch)) return WR_OK;
    if (o->call) return give_to_callback(o, schema, batch, err);
    while (true) {
        wr_mutex_lock(o->lock);
        bool room = o->bytes < OUTLET_BYTES_MAX || wr_session_stopped(o->w->session);
        if (room) {
            wr_arr_push(&o->list, (ready_batch){wr_batch_ref(batch), schema});
            o->bytes += wr_batch_bytes(batch);
        }
        wr_mutex_unlock(o->lock);
        if (room) break;
        wr_bell_wait(o->room, 50000);
    }
    wr_bell_ring(o->filled);
    return WR_OK;
}

static outlet *find_outlet(weir *w, const char *table) {
    for (uint32_t i = 0; i < w->outlets.n; i++)
        if (!strcmp(w->outlets.at[i]->table, table)) return w->outlets.at[i];
    return NULL;
}

weir_result weir_subscribe(weir *w, const char *table, weir_rows call, void *arg) {
    if (atomic_load(&w->busy)) return fail(w, WEIR_REFUSED, "table %s: subscribe before weir_start", table);
    if (find_outlet(w, table)) return fail(w, WEIR_REFUSED, "table %s has a receiver already", table);
    outlet *o = wr_calloc(1, sizeof *o);
    *o = (outlet){.w = w, .table = wr_strdup(table), .call = call, .arg = arg, .lock = wr_mutex_new(), .filled = wr_bell_new(), .room = wr_bell_new()};
    wr_arr_push(&w->outlets, o);
    wr_session_subscribe(w->session, table, on_rows, o);
    return WEIR_OK;
}

weir_result weir_listen(weir *w, const char *table) { return weir_subscribe(w, table, NULL, NULL); }

static bool take_ready(outlet *o, ready_batch *out) {
    wr_mutex_lock(o->lock);
    bool any = o->from < o->list.n;
    if (any) {
        *out = o->list.at[o->from++];
        o->bytes -= WR_MIN(wr_batch_bytes(out->batch), o->bytes);
        if (o->from == o->list.n) o->from = o->list.n = 0;
    }
    wr_mutex_unlock(o->lock);
    return any;
}

weir_result weir_pull(weir *w, const char *table, int timeout_ms, struct ArrowSchema *schema, struct ArrowArray *array) {
    outlet *o = find_outlet(w, table);
    if (!o || o->call) return fail(w, WEIR_REFUSED, "table %s: weir_listen before weir_start", table);
    wr_world *world = w->session->world;
    int64_t   until = wr_mono_us(world) + (int64_t)WR_MAX(timeout_ms, 0) * 1000;
    for (;;) {
        bool        busy = atomic_load(&w->busy); /* before the look: rows of a job that has just ended are there */
        ready_batch r;
        if (take_ready(o, &r)) {
            wr_bell_ring(o->room);
            wr_arrow_export_schema(r.schema, true, schema);
            wr_arrow_export(r.batch, r.schema, true, array);
            wr_batch_unref(r.batch);
            return WEIR_OK;
        }
        if (!busy) return WEIR_END;
        int64_t left = until - wr_mono_us(world);
        if (left <= 0) return WEIR_TIMEOUT;
        wr_bell_wait(o->filled, WR_MIN(left, (int64_t)50000));
    }
}
