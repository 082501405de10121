/* connect/ingest/endpoint.c: requests into the log. See ingest.h.
 *
 * Idea       the server's threads take bodies apart and submit them to the log, each as one unit; then the connection sleeps. One thread syncs all that has been
 *            submitted and answers those that wait: the requests of many clients share one fsync. So a good answer means that the rows are on disk.
 * Once       the request's Idempotency-Key goes into the log with its rows: the same key again is answered with the first one's place, and appends nothing.
 * Bound      the log has at most max_bytes; more is answered with 429 and Retry-After. Room comes from checkpoints: what one that lasts has read is removed, whole
 *            segments at a time. While the log is less than half full, only after idem_us, since the keys of a removed segment are forgotten by the next start.
 * Failure    a sync that failed ends the log's handle: 503 from then on, and the job stops with the reason.
 * Thread     serve, later: the server's threads; run: one of its own; the rest: the source's owner, `consumed` any.                       */
#include "connect/ingest/ingest.h"
#include "sys/net.h"
#include <inttypes.h>
#include <stdio.h>

enum { KEY_MAX = 255, CHORES_US = 200000, MARKS_MAX = 32, SEGMENTS_OF_BOUND = 8, SEGMENT_MIN = 64 << 10, SEGMENT_MAX = 64 << 20, RECORD_ROOM = 64, BODY_MAX = 60 << 20 };

typedef struct pending { struct pending *next; wr_http_in *in; wr_http_out out; } pending;
typedef struct mark { int64_t offset, at_us; } mark; /* below `offset` all was read by then */

struct ingest_endpoint {
    ingest_endpoint *next;          /* of the process */
    wr_world        *world;
    wr_arena        *arena;
    wr_str           table;
    wr_schema        schema;
    const char      *path, *url_path, *token;
    wr_http_server_opts listen;
    wr_log_config    config;
    wr_account      *acct;
    wr_span          at;
    bool             fail;          /* on-error: a request with a bad row is refused */
    bool             keep_all;
    uint64_t         max_body, max_bytes;
    uint64_t         most_waiting;  /* rows in the log and not read; more is not taken ('overload.policy' = 'drop-newest'); 0: as many as the log can hold */
    uint64_t         n_rows_before; /* n_rows when `first_done` was the position, and so many waited */
    uint64_t         first_done, first_waiting;
    _Atomic bool     reads;         /* these are set */
    _Atomic uint64_t done;
    int64_t          idem_us;
    ingest_reader   *reader;
    wr_log          *log;
    wr_http_server  *server;
    wr_http_route    route;
    bool             routed;
    wr_mutex        *lock;          /* of the list, the error */
    pending         *first, **end;
    wr_bell         *bell;
    void            *thread;
    _Atomic bool     stop, is_broken;
    _Atomic int64_t  consumed;
    wr_err           broken;
    mark             marks[MARKS_MAX];
    uint32_t         n_marks;
    int64_t          trimmed;
    _Atomic uint64_t n_requests, n_rows, n_refused, n_full;
};

static ingest_endpoint *endpoints; /* of this process */
static atomic_flag      endpoints_lock = ATOMIC_FLAG_INIT;
static void lock_endpoints(void) { while (atomic_flag_test_and_set(&endpoints_lock)) {} }
static void unlock_endpoints(void) { atomic_flag_clear(&endpoints_lock); }

/* ---- what it says of itself ---- */

static void example_value(wr_type type, wr_sbuf *out) {
    switch (type.id) {
    case WR_T_BOOLEAN: wr_sbuf_addz(out, "true"); break;
    case WR_T_TINYINT: case WR_T_SMALLINT: case WR_T_INT: case WR_T_BIGINT: wr_sbuf_addz(out, "1"); break;
    case WR_T_FLOAT: case WR_T_DOUBLE: case WR_T_DECIMAL: wr_sbuf_addz(out, type.scale || type.id != WR_T_DECIMAL ? "1.5" : "1"); break;
    case WR_T_DATE: wr_sbuf_addz(out, "\"2026-01-31\""); break;
    case WR_T_TIME: wr_sbuf_addz(out, "\"12:00:00\""); break;
    case WR_T_TIMESTAMP: wr_sbuf_addz(out, "\"2026-01-31 12:00:00\""); break;
    case WR_T_TIMESTAMP_LTZ: wr_sbuf_addz(out, "\"2026-01-31 12:00:00Z\""); break;
    case WR_T_ARRAY: case WR_T_MULTISET: wr_sbuf_addz(out, "[]"); break;
    case WR_T_MAP: case WR_T_ROW: wr_sbuf_addz(out, "{}"); break;
    case WR_T_BINARY: case WR_T_VARBINARY: wr_sbuf_addz(out, "\"AAEC\""); break;
    default: wr_sbuf_addz(out, "\"text\""); break;
    }
}

static void describe(void *self, const char *address, wr_sbuf *out) {
    ingest_endpoint *e = self;
    wr_sbuf_printf(out, "  POST: rows for the table %.*s. JSON (an object, or an array of them), application/x-ndjson, text/csv (columns in this order; header=present if named).\n", WR_FMT(e->table));
    for (uint32_t c = 0; c < e->schema.n; c++) {
        wr_sbuf_printf(out, "    %.*s ", WR_FMT(e->schema.fields[c].name));
        wr_type_text(e->schema.fields[c].type, out);
        wr_sbuf_addc(out, '\n');
    }
    wr_sbuf_printf(out, "  curl%s -H 'Content-Type: application/json' -H 'Idempotency-Key: my-1' --data '{", e->token ? " -H 'Authorization: Bearer TOKEN'" : "");
    for (uint32_t c = 0; c < e->schema.n; c++) {
        if (c) wr_sbuf_addz(out, ", ");
        wr_sbuf_add_json(out, e->schema.fields[c].name);
        wr_sbuf_addz(out, ": ");
        example_value(e->schema.fields[c].type, out);
    }
    wr_sbuf_printf(out, "}' %s%s\n", address, e->url_path);
    wr_sbuf_printf(out, "  200: the rows are on disk. The same Idempotency-Key again is answered again and appends nothing. 429: wait as Retry-After says. A body has at most %" PRIu64 " bytes.\n", e->max_body);
}

void ingest_endpoint_describe(const ingest_endpoint *e, wr_sbuf *out) {
    if (e->server) wr_sbuf_printf(out, "POST %s%s", wr_http_server_address(e->server), e->url_path);
    else wr_sbuf_printf(out, "POST %s://%s%s", e->listen.cert_file ? "https" : "http", e->listen.listen, e->url_path);
}

/* ---- requests ---- */

static bool say_full(ingest_endpoint *e, wr_http_out *out) {
    atomic_fetch_add(&e->n_full, 1);
    wr_http_out_error(out, 429, "the log of the table %.*s is full: the job reads slower than rows come", WR_FMT(e->table));
    wr_http_out_header(out, "Retry-After", "1");
    return false;
}

/* More rows than they may be are in the log and have not been read. */
static bool too_many_wait(ingest_endpoint *e) {
    if (!e->most_waiting || !atomic_load(&e->reads)) return false;
    uint64_t came = e->first_waiting + atomic_load(&e->n_rows) - e->n_rows_before, went = atomic_load(&e->done) - e->first_done;
    return came > went && came - went > e->most_waiting;
}

static bool say_overloaded(ingest_endpoint *e, wr_http_out *out) {
    atomic_fetch_add(&e->n_full, 1);
    wr_http_out_error(out, 503, "the table %.*s takes nothing now: more than %" PRIu64 " rows wait for the job", WR_FMT(e->table), e->most_waiting);
    wr_http_out_header(out, "Retry-After", "1");
    return false;
}

static bool admit(void *self, const wr_http_in *in, wr_http_out *out) {
    ingest_endpoint *e = self;
    wr_log_usage     usage;
    const char      *encoding = wr_http_in_header(in, "Content-Encoding"), *key = wr_http_in_header(in, "Idempotency-Key");
    if (!strcmp(in->method, "GET") || !strcmp(in->method, "HEAD")) return true;
    if (strcmp(in->method, "POST") && strcmp(in->method, "PUT")) {
        wr_http_out_error(out, 405, "rows are sent with POST; GET says what is taken");
        wr_http_out_header(out, "Allow", "GET, HEAD, POST, PUT");
        return false;
    }
    if (encoding && strcasecmp(encoding, "identity")) return wr_http_out_error(out, 415, "the body is encoded as '%.60s'; it is taken as it is only", encoding), false;
    if (key && (!*key || strlen(key) > KEY_MAX)) return wr_http_out_error(out, 400, "an Idempotency-Key has 1 to %d bytes", KEY_MAX), false;
    if (atomic_load(&e->is_broken)) return wr_http_out_error(out, 503, "the log cannot be written: the job is about to stop"), false;
    if (too_many_wait(e)) return say_overloaded(e, out);
    wr_log_usage_of(e->log, &usage);
    return usage.bytes + usage.buffered < e->max_bytes ? true : say_full(e, out);
}

static void put_answer(const ingest_rows *rows, const wr_log_appended *at, wr_sbuf *out) {
    wr_sbuf_printf(out, "{\"accepted\":%" PRIu64 ",\"rejected\":%" PRIu64, rows->n_good, rows->n_bad);
    if (at && at->n) wr_sbuf_printf(out, ",\"partition\":%u,\"offset\":%" PRId64, at->partition, at->offset);
    if (at && at->duplicate) wr_sbuf_addz(out, ",\"duplicate\":true");
    for (uint32_t i = 0; i < rows->errors.n; i++) {
        wr_sbuf_printf(out, "%s{\"row\":%" PRIu64 ",\"reason\":", i ? "," : ",\"errors\":[", rows->errors.at[i].row);
        wr_sbuf_add_json(out, wr_str_of(rows->errors.at[i].reason));
        wr_sbuf_addc(out, '}');
    }
    if (rows->errors.n) wr_sbuf_addc(out, ']');
    wr_sbuf_addz(out, "}\n");
}

/* Nothing of it is taken. */
static void refuse_rows(ingest_endpoint *e, ingest_rows *rows, wr_http_out *out) {
    atomic_fetch_add(&e->n_refused, 1);
    rows->n_good = 0;
    out->status = 422;
    put_answer(rows, NULL, &out->body);
}

/* A status of HTTP; 200: it is in the log's hands. */
static bool submit(ingest_endpoint *e, const wr_http_in *in, const ingest_rows *rows, wr_log_appended *at, wr_http_out *out) {
    const char *key = wr_http_in_header(in, "Idempotency-Key");
    wr_err      err = {0};
    wr_status   status = wr_log_submit(e->log, WR_LOG_BY_KEY, rows->records.at, rows->records.n, key ? wr_str_of(key) : (wr_str){NULL, 0}, at, &err);
    if (status == WR_LIMIT) return say_full(e, out);
    if (status == WR_USER) return wr_http_out_error(out, 413, "%s", err.message), false;
    if (status != WR_OK) return wr_http_out_error(out, 503, "the log cannot be written: %s", err.message), false;
    if (at->duplicate && at->n != rows->records.n) {
        wr_http_out_error(out, 409, "this Idempotency-Key was used for another request, of %u rows; this one has %u", at->n, rows->records.n);
        return false;
    }
    return true;
}

static wr_http_when serve(void *self, wr_http_in *in, wr_http_out *out) {
    ingest_endpoint *e = self;
    if (in->method[0] == 'G' || in->method[0] == 'H') {
        out->type = "text/plain; charset=utf-8";
        wr_sbuf_printf(&out->body, "%s\n", e->url_path);
        describe(e, in->address, &out->body);
        return WR_HTTP_NOW;
    }
    ingest_rows     rows = {0};
    wr_log_appended at = {0};
    bool            later = false;
    atomic_fetch_add(&e->n_requests, 1);
    ingest_read(e->reader, wr_http_in_header(in, "Content-Type"), in->body, !e->fail, &rows);
    if (rows.status) {
        atomic_fetch_add(&e->n_refused, 1);
        wr_http_out_error(out, rows.status, "%s", rows.why);
    } else if (rows.n_bad && e->fail) {
        refuse_rows(e, &rows, out);
    } else if (!rows.records.n) {
        put_answer(&rows, NULL, &out->body);
    } else if (submit(e, in, &rows, &at, out)) {
        pending *p = wr_calloc(1, sizeof *p);
        put_answer(&rows, &at, &p->out.body);
        atomic_fetch_add(&e->n_rows, at.duplicate ? 0 : rows.records.n);
        p->in = in;
        in->arg = p;
        later = true;
    }
    ingest_rows_free(&rows);
    return later ? WR_HTTP_LATER : WR_HTTP_NOW;
}

static void later(void *self, wr_http_in *in) {
    ingest_endpoint *e = self;
    pending         *p = in->arg;
    wr_mutex_lock(e->lock);
    *e->end = p;
    e->end = &p->next;
    wr_mutex_unlock(e->lock);
    wr_bell_ring(e->bell);
}

/* ---- the thread that syncs ---- */

static void answer_pending(ingest_endpoint *e) {
    wr_mutex_lock(e->lock);
    pending *p = e->first;
    e->first = NULL;
    e->end = &e->first;
    wr_mutex_unlock(e->lock);
    if (!p) return;
    wr_err    err = {0};
    wr_status status = wr_log_sync(e->log, UINT64_MAX, &err);
    if (status != WR_OK && !atomic_load(&e->is_broken)) {
        wr_mutex_lock(e->lock);
        e->broken = err;
        wr_mutex_unlock(e->lock);
        atomic_store(&e->is_broken, true);
    }
    for (pending *next; p; p = next) {
        next = p->next;
        if (status != WR_OK) wr_http_out_error(&p->out, 503, "the rows could not be written: %s", err.message);
        wr_http_respond(p->in, &p->out);
        wr_free(p);
    }
}

static void add_mark(ingest_endpoint *e, int64_t offset, int64_t now_us) {
    if (e->n_marks && e->marks[e->n_marks - 1].offset == offset) return;
    if (e->n_marks && now_us - e->marks[e->n_marks - 1].at_us < e->idem_us / MARKS_MAX) return; /* the next one comes soon enough */
    if (e->n_marks == MARKS_MAX) memmove(e->marks, e->marks + 1, --e->n_marks * sizeof *e->marks);
    e->marks[e->n_marks++] = (mark){offset, now_us};
}

/* Lets go of what was read and kept long enough, and of what retention says. */
static void trim(ingest_endpoint *e) {
    int64_t      consumed = atomic_load(&e->consumed), now = wr_mono_us(e->world), upto = 0;
    wr_log_usage usage;
    wr_log_cleaned cleaned;
    (void)wr_log_clean(e->log, false, &cleaned, NULL);
    if (e->keep_all || !consumed) return;
    add_mark(e, consumed, now);
    wr_log_usage_of(e->log, &usage);
    if (usage.bytes > e->max_bytes / 2) upto = consumed;
    for (uint32_t i = 0; i < e->n_marks; i++)
        if (now - e->marks[i].at_us >= e->idem_us) upto = WR_MAX(upto, e->marks[i].offset);
    if (upto > e->trimmed && wr_log_trim(e->log, 0, upto, NULL) == WR_OK) e->trimmed = upto;
}

static void run(void *arg) {
    ingest_endpoint *e = arg;
    int64_t          chores = 0;
    while (!atomic_load(&e->stop)) {
        answer_pending(e);
        int64_t now = wr_mono_us(e->world);
        if (now >= chores && !atomic_load(&e->is_broken)) {
            trim(e);
            chores = now + CHORES_US;
        }
        wr_bell_wait(e->bell, CHORES_US);
    }
    answer_pending(e);
}

uint64_t ingest_endpoint_turned_away(const ingest_endpoint *e) { return atomic_load(&e->n_full); }

void ingest_endpoint_read(ingest_endpoint *e, uint64_t done, uint64_t total) {
    if (!atomic_load(&e->reads)) {
        e->n_rows_before = atomic_load(&e->n_rows), e->first_done = done, e->first_waiting = total > done ? total - done : 0;
    }
    atomic_store(&e->done, done);
    atomic_store(&e->reads, true);
}

void ingest_endpoint_consumed(ingest_endpoint *e, int64_t offset) { atomic_store(&e->consumed, offset); }

wr_status ingest_endpoint_broken(ingest_endpoint *e, wr_err *err) {
    if (!atomic_load(&e->is_broken)) return WR_OK;
    wr_mutex_lock(e->lock);
    *err = e->broken;
    wr_mutex_unlock(e->lock);
    wr_err_detail(err, "the table '%.*s' takes rows into it", WR_FMT(e->table));
    return err->status;
}

/* ---- opening ---- */

void ingest_endpoint_close(ingest_endpoint *e) {
    if (!e) return;
    if (e->routed) wr_http_route_remove(e->server, &e->route); /* no callback runs after this; those that wait are answered by the thread */
    atomic_store(&e->stop, true);
    if (e->bell) wr_bell_ring(e->bell);
    if (e->thread) e->world->vt->join(e->world, e->thread);
    wr_http_server_release(e->server);
    wr_log_close(e->log);
    ingest_reader_free(e->reader);
    lock_endpoints();
    for (ingest_endpoint **at = &endpoints; *at; at = &(*at)->next)
        if (*at == e) {
            *at = e->next;
            break;
        }
    unlock_endpoints();
    wr_mutex_free(e->lock);
    wr_bell_free(e->bell);
    wr_arena_free(e->arena);
    wr_free(e);
}

static const char *text_of(ingest_endpoint *e, const wr_table_info *t, const char *key) {
    wr_str text = option_text(t, ingest_specs, key);
    return text.len ? wr_arena_strndup(e->arena, text.ptr, text.len) : NULL;
}

static wr_status read_address(ingest_endpoint *e, const wr_table_info *t, wr_connect_ctx *ctx) {
    wr_http_server_opts *server = &e->listen;
    bool loopback, anonymous;
    server->listen = text_of(e, t, "listen");
    server->cert_file = text_of(e, t, "tls.cert-file");
    server->key_file = text_of(e, t, "tls.key-file");
    e->token = text_of(e, t, "token");
    e->url_path = text_of(e, t, "endpoint");
    if (!e->url_path) e->url_path = wr_arena_printf(e->arena, "/%.*s", WR_FMT(t->name));
    if (e->url_path[0] != '/' || strpbrk(e->url_path, "?#% \"") || !e->url_path[1]) return option_error(ctx, t, "endpoint", "WR121", "'endpoint' is a path such as '/%.*s', without ? # %% and blanks", WR_FMT(t->name));
    if (!wr_option_bool(&t->options, ingest_specs, "anonymous", &anonymous, ctx->diags)) return WR_USER;
    if (!server->listen || !wr_net_listen_ok(wr_str_of(server->listen), &loopback)) {
        wr_status status = option_error(ctx, t, "listen", "WR121", "'listen' is not an address: HOST:PORT with a number as host, or localhost:PORT");
        wr_diags_hint(ctx->diags, "127.0.0.1:8090 for programs of this machine, 0.0.0.0:8090 for all");
        return status;
    }
    if (loopback || e->token || anonymous) return WR_OK;
    wr_status status = option_error(ctx, t, "listen", "WR122", "'listen' = '%s' takes rows from other machines, so it needs 'token'", server->listen);
    wr_diags_hint(ctx->diags, "'token' = '${INGEST_TOKEN}', with --set INGEST_TOKEN=...; or 'anonymous' = 'true' if everybody may write");
    return status;
}

static wr_status read_options(ingest_endpoint *e, const wr_table_info *t, wr_connect_ctx *ctx) {
    wr_log_config *config = &e->config;
    int64_t body, most, retention = 0;
    const wr_options *o = &t->options;
    if (!wr_option_size(o, ingest_specs, "max-body-bytes", &body, ctx->diags) || !wr_option_size(o, ingest_specs, "log.max-bytes", &most, ctx->diags) ||
        !wr_option_duration(o, ingest_specs, "idempotency.keep", &e->idem_us, ctx->diags) ||
        (wr_options_find(o, "log.retention") && !wr_option_duration(o, ingest_specs, "log.retention", &retention, ctx->diags)))
        return WR_USER;
    if (body < 1 || body > BODY_MAX) return option_error(ctx, t, "max-body-bytes", "WR121", "'max-body-bytes' is 1 to %d MiB", BODY_MAX >> 20);
    if (most < SEGMENT_MIN * SEGMENTS_OF_BOUND) return option_error(ctx, t, "log.max-bytes", "WR121", "'log.max-bytes' is at least %d KiB", (SEGMENT_MIN * SEGMENTS_OF_BOUND) >> 10);
    e->max_body = (uint64_t)body, e->max_bytes = (uint64_t)most;
    wr_overload overload;
    if (!wr_overload_read(o, &wr_connector_ingest, &overload, ctx->diags)) return WR_USER;
    if (overload.policy == WR_OVERLOAD_DROP_NEWEST) e->most_waiting = (uint64_t)overload.most;
    e->keep_all = wr_str_ieq(option_text(t, ingest_specs, "log.keep"), WR_STR("all"));
    e->fail = wr_str_ieq(option_text(t, wr_source_specs, "on-error"), WR_STR("fail")) && !wr_options_skip_bad(o);
    wr_log_config_default(config);
    config->segment_bytes = WR_MIN(WR_MAX(e->max_bytes / SEGMENTS_OF_BOUND, (uint64_t)SEGMENT_MIN), (uint64_t)SEGMENT_MAX); /* so that there is something to let go of */
    config->retention_us = retention;
    return WR_OK;
}

static wr_status open_log(ingest_endpoint *e, wr_err *err) {
    const wr_log_opts opts = {.world = e->world, .acct = e->acct, .path = e->path, .create = &e->config, .max_bytes = e->max_bytes, .idem_us = e->idem_us};
    WR_TRY(wr_log_open(&opts, &e->log, err));
    return wr_log_recover(e->log, 0, WR_STR(""), err);
}

static wr_status listen_now(ingest_endpoint *e, wr_err *err) {
    e->route = (wr_http_route){.path = e->url_path, .token = e->token, .max_body = e->max_body, .self = e, .admit = admit, .serve = serve, .later = later, .describe = describe};
    WR_TRY(e->world->vt->spawn(e->world, "ingest", run, e, &e->thread, err));
    WR_TRY(wr_http_server_get(e->world, &e->listen, &e->route, &e->server, err));
    e->routed = true;
    return WR_OK;
}

/* *mine: this one has the path now; else another source of the same table has it already. */
static wr_status claim(ingest_endpoint *e, bool *mine, wr_err *err) {
    wr_status status = WR_OK;
    *mine = true;
    lock_endpoints();
    for (ingest_endpoint *x = endpoints; x && *mine; x = x->next) {
        if (strcmp(x->path, e->path)) continue;
        *mine = false;
        if (!strcmp(x->url_path, e->url_path) && !strcmp(x->listen.listen, e->listen.listen)) continue;
        status = wr_fail(err, WR_USER, "WR372", "the tables '%.*s' and '%.*s' take rows into one log, '%s'", WR_FMT(x->table), WR_FMT(e->table), e->path);
        wr_err_hint(err, "give each table a 'path' of its own, and read both with UNION ALL");
    }
    if (*mine) e->next = endpoints, endpoints = e;
    unlock_endpoints();
    return status;
}

wr_status ingest_endpoint_start(ingest_endpoint *e, bool *mine, wr_err *err) {
    wr_status status = claim(e, mine, err);
    if (status == WR_OK && *mine) status = open_log(e, err);
    if (status == WR_OK && *mine) status = listen_now(e, err);
    if (status != WR_OK && err && !err->at.line) err->at = e->at;
    return status;
}

static wr_status make_log(ingest_endpoint *e, wr_err *err) {
    bool exists;
    WR_TRY(wr_log_exists(e->world, e->path, &exists, err));
    return exists ? WR_OK : wr_log_create(e->world, e->path, &e->config, err);
}

wr_status ingest_endpoint_new(const wr_table_info *t, wr_connect_ctx *ctx, ingest_endpoint **out, wr_err *err) {
    ingest_endpoint *e = wr_calloc(1, sizeof *e);
    *out = NULL;
    *e = (ingest_endpoint){.world = ctx->world, .acct = ctx->acct, .arena = wr_arena_new(NULL), .lock = wr_mutex_new(), .bell = wr_bell_new(), .at = t->at};
    e->end = &e->first;
    e->table = wr_str_dup(e->arena, t->name);
    e->schema = (wr_schema){t->n_physical, t->schema->fields};
    e->path = text_of(e, t, "path");
    wr_status status = e->path ? read_address(e, t, ctx) : option_error(ctx, t, "path", "WR122", "'path' is empty, expected the log's directory");
    if (status == WR_OK) status = read_options(e, t, ctx);
    if (status == WR_OK) status = ingest_reader_new(t, ctx, &e->reader);
    if (status == WR_OK) status = make_log(e, err);
    if (status == WR_OK) *out = e;
    else ingest_endpoint_close(e);
    return status;
}
