/* serve/ask.c: who asks (users), SQL over HTTP (POST /api/query) and the PostgreSQL protocol (--pg), opened and closed with the rest. See serve.h.
 *
 * Queries    may take their time, so the connection sleeps and a few threads answer: the server's own go on with the dashboard. At most WAITING_MAX wait.
 * Users      with a file, every request for /api/ says who it is from: Authorization: Bearer TOKEN. POST needs the role admin, but for queries, which only read.
 * Names      without users and token, whoever reaches the port may ask; then it must be asked for by number or as localhost. A page of another site whose name was made
 *            to point here afterwards (DNS rebinding) says that name, and is refused.
 * Closing    the route is gone before the threads end, so nothing is put into the queue behind them.                                    */
#include "serve/internal.h"
#include "serve/pg.h"
#include "format/json_tree.h"
#include <stdio.h>

enum { THREADS = 2, WAITING_MAX = 64, ROWS = 10000 };
static const query_limits LIMITS = {.rows = ROWS, .bytes = 32 << 20, .memory_bytes = 128 << 20, .time_us = 30000000};

typedef struct serve_query { wr_http_in *in; const wr_user *user; struct serve_query *next; } serve_query; /* user: NULL without a file of them */
struct serve_asks {
    wr_world    *world;
    wr_users    *users;
    query_db    *db;
    pg_server   *pg;
    query_limits limits;
    wr_mutex    *lock;                 /* of what follows */
    serve_query *first, **last;
    uint32_t     n_waiting, n_threads;
    uint32_t    *of_user;              /* by user: waiting and running */
    bool         stopping;
    query_stop  *running[THREADS];
    wr_bell     *bell;
    void        *threads[THREADS];
};

/* ---- who asks ---- */
static const char *token_of(const wr_http_in *in) {
    const char *given = wr_http_in_header(in, "Authorization");
    return given && !strncasecmp(given, "Bearer ", 7) ? given + 7 + strspn(given + 7, " ") : NULL;
}

static const wr_user *user_of(struct serve_asks *a, const wr_http_in *in) {
    const char *token = a->users ? token_of(in) : NULL;
    return token ? wr_users_by_token(a->users, wr_str_of(token)) : NULL;
}

bool serve_host_ok(const char *host) {
    if (!host) return true; /* no browser */
    bool   six = host[0] == '[';
    size_t len = six ? strcspn(host, "]") + 1 : strcspn(host, ":");
    if (six ? strlen(host) < len : !len) return false;
    if (host[len] && (host[len] != ':' || host[len + 1 + strspn(host + len + 1, "0123456789")])) return false;
    if (six) return strspn(host + 1, "0123456789abcdefABCDEF:.") == len - 2;
    if (len == 9 && !strncasecmp(host, "localhost", 9)) return true;
    return strspn(host, "0123456789.") == len;
}

bool serve_admit(void *self, const wr_http_in *in, wr_http_out *out) {
    wr_serve *s = self;
    if (!s->asks || !s->asks->users) {
        const char *host = wr_http_in_header(in, "Host");
        if (s->opts.token || serve_host_ok(host)) return true;
        wr_http_out_error(out, 403, "'%.100s' is not a name of this machine: ask for %s, or start with --users FILE, then any name is taken", host, in->address);
        return false;
    }
    const wr_user *user = user_of(s->asks, in);
    bool           reads = !strcmp(in->method, "GET") || !strcmp(in->method, "HEAD") || !strcmp(in->path, "/api/query");
    if (user && (reads || user->role == WR_USER_ADMIN)) return true;
    if (user) {
        wr_http_out_error(out, 403, "%s may only read; this needs the role admin", user->name);
    } else {
        wr_http_out_error(out, 401, "this needs the header Authorization: Bearer TOKEN with the token of a user");
        wr_http_out_header(out, "WWW-Authenticate", "Bearer");
    }
    return false;
}

/* ---- the text of a question: {"sql": "..."} ---- */
/* False: the body is not such an object. sql: in the arena. */
static bool json_text(wr_arena *arena, wr_str body, wr_str *sql) {
    char why[120];
    *sql = wr_json_get_string(wr_json_parse(arena, body, why), "sql");
    return sql->ptr != NULL;
}

static void put_error(const wr_err *err, wr_http_out *out) {
    out->status = err->status == WR_LIMIT ? 413 : err->status == WR_IO ? 503 : err->status == WR_CANCELLED ? 503 : 400;
    wr_sbuf_clear(&out->body);
    wr_sbuf_addz(&out->body, "{\"error\":");
    wr_sbuf_add_json(&out->body, wr_str_of(err->message));
    wr_sbuf_printf(&out->body, ",\"code\":\"%s\"", err->code);
    if (err->hint[0]) wr_sbuf_addz(&out->body, ",\"hint\":"), wr_sbuf_add_json(&out->body, wr_str_of(err->hint));
    if (err->at.col) wr_sbuf_printf(&out->body, ",\"position\":%u", err->at.col);
    wr_sbuf_addz(&out->body, "}\n");
}

/* What everybody may ask for at a time; a user's own limits go before. */
static query_limits limits_of(const struct serve_asks *a, const wr_user *user) {
    query_limits l = a->limits;
    if (user && user->limits.rows) l.rows = user->limits.rows;
    if (user && user->limits.bytes) l.bytes = user->limits.bytes;
    if (user && user->limits.time_us) l.time_us = user->limits.time_us;
    return l;
}

static void answer(struct serve_asks *a, serve_query *q, query_stop *stop) {
    wr_http_out     out = {0};
    wr_err          err = {0};
    wr_arena       *arena = wr_arena_new(NULL);
    wr_str          sql;
    query_limits    limits = limits_of(a, q->user);
    query_snapshot *snapshot = query_snapshot_new(); /* so that what is said of the version is that of the rows */
    stop->until_us = wr_mono_us(a->world) + limits.time_us;
    query_args args = {.snapshot = snapshot, .limits = limits, .stop = stop, .user = q->user ? q->user->name : "http"};
    if (!json_text(arena, q->in->body, &sql)) wr_http_out_error(&out, 400, "the body is not {\"sql\": \"SELECT ...\"}");
    else if (query_json(a->db, sql, &args, &out.body, &err) != WR_OK) put_error(&err, &out);
    query_snapshot_free(snapshot);
    wr_arena_free(arena);
    wr_http_respond(q->in, &out);
    wr_sbuf_free(&out.body);
}

static void leave(struct serve_asks *a, const wr_user *user) {
    wr_mutex_lock(a->lock);
    a->of_user[user - wr_users_at(a->users, 0)]--;
    wr_mutex_unlock(a->lock);
}

static void run(void *arg) {
    struct serve_asks *a = arg;
    query_stop         stop;
    uint32_t           me = UINT32_MAX;
    query_stop_init(&stop);
    for (;;) {
        wr_mutex_lock(a->lock);
        for (uint32_t i = 0; me == UINT32_MAX && i < THREADS; i++)
            if (!a->running[i]) a->running[me = i] = &stop;
        serve_query *q = a->first;
        if (q && !(a->first = q->next)) a->last = &a->first;
        a->n_waiting -= q != NULL;
        bool more = a->first != NULL, end = !q && a->stopping;
        if (q) atomic_store(&stop.asked, a->stopping), atomic_store(&stop.timed_out, false);
        wr_mutex_unlock(a->lock);
        if (more || end) wr_bell_ring(a->bell);
        if (end) break;
        if (!q) {
            wr_bell_wait(a->bell, 1000000);
            continue;
        }
        answer(a, q, &stop);
        if (q->user) leave(a, q->user);
        wr_free(q);
    }
    wr_mutex_lock(a->lock);
    a->running[me] = NULL;
    wr_mutex_unlock(a->lock);
    query_stop_free(&stop);
}

wr_http_when serve_query_begin(wr_serve *s, const wr_http_in *in, wr_http_out *out) {
    struct serve_asks *a = s->asks;
    const wr_user     *user = user_of(a, in);
    uint32_t           most = user ? user->limits.queries : 0, *mine = user ? &a->of_user[user - wr_users_at(a->users, 0)] : NULL;
    wr_mutex_lock(a->lock);
    bool room = a->n_waiting < WAITING_MAX && !a->stopping, many = most && *mine >= most;
    wr_err err = {0};
    room &= !many;
    while (room && a->n_threads < THREADS && a->world->vt->spawn(a->world, "query", run, a, &a->threads[a->n_threads], &err) == WR_OK) a->n_threads++;
    room &= a->n_threads > 0;
    if (room) a->n_waiting++;
    if (room && mine) ++*mine;
    wr_mutex_unlock(a->lock);
    if (room) return WR_HTTP_LATER;
    if (many) wr_http_out_error(out, 429, "%s may run %u queries at a time", user->name, most);
    else wr_http_out_error(out, 503, "too many queries wait; try again");
    wr_http_out_header(out, "Retry-After", "1");
    return WR_HTTP_NOW;
}

void serve_query_later(void *self, wr_http_in *in) {
    struct serve_asks *a = ((wr_serve *)self)->asks;
    serve_query       *q = wr_calloc(1, sizeof *q);
    q->in = in, q->user = user_of(a, in);
    wr_mutex_lock(a->lock);
    *a->last = q, a->last = &q->next;
    wr_mutex_unlock(a->lock);
    wr_bell_ring(a->bell);
}

void serve_query_get(const serve_ask *ask, wr_http_out *out) { wr_http_out_error(out, 405, "%s takes POST with {\"sql\": \"SELECT ...\"}", ask->path); }

/* ---- life ---- */
wr_status serve_asks_open(wr_serve *s, wr_err *err) {
    const wr_serve_opts *o = &s->opts;
    struct serve_asks   *a = wr_calloc(1, sizeof *a);
    *a = (struct serve_asks){.world = o->world, .lock = wr_mutex_new(), .bell = wr_bell_new(), .last = &a->first, .limits = LIMITS};
    if (o->query_memory_bytes) a->limits.memory_bytes = o->query_memory_bytes;
    s->asks = a;
    if (o->users_file) WR_TRY(wr_users_load(o->world, o->users_file, &a->users, err));
    a->of_user = wr_calloc(a->users ? wr_users_count(a->users) : 1, sizeof *a->of_user);
    a->db = query_db_new(o->world, o->name ? o->name : "weir");
    if (!o->pg) return WR_OK;
    pg_opts pg = {.world = o->world, .listen = o->pg, .database = o->name ? o->name : "weir", .cert_file = o->pg_cert, .key_file = o->pg_key, .users = a->users, .db = a->db, .limits.memory_bytes = o->query_memory_bytes, .starting = true};
    return pg_server_open(&pg, &a->pg, err);
}

void serve_asks_start(wr_serve *s) {
    if (s->asks && s->asks->pg) pg_server_start(s->asks->pg);
}

void serve_asks_close(wr_serve *s) {
    struct serve_asks *a = s->asks;
    if (!a) return;
    pg_server_close(a->pg);
    wr_mutex_lock(a->lock);
    a->stopping = true;
    for (uint32_t i = 0; i < THREADS; i++)
        if (a->running[i]) query_stop_ask(a->running[i]);
    wr_mutex_unlock(a->lock);
    wr_bell_ring(a->bell);
    for (uint32_t i = 0; i < a->n_threads; i++) a->world->vt->join(a->world, a->threads[i]);
    query_db_free(a->db);
    wr_users_free(a->users);
    wr_free(a->of_user);
    wr_bell_free(a->bell);
    wr_mutex_free(a->lock);
    wr_free(a);
    s->asks = NULL;
}

bool        serve_has_users(const wr_serve *s) { return s->asks && s->asks->users; }
const char *wr_serve_pg_address(const wr_serve *s) { return s && s->asks && s->asks->pg ? pg_server_address(s->asks->pg) : NULL; }
