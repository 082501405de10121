/* serve/serve.c: the table of paths and the two ways to ask. See serve.h.                                                           */
#include "serve/internal.h"
#include "sys/net.h"
#include <stdio.h>
#include <stdlib.h>

typedef struct served { const char *path; void (*answer)(const serve_ask *ask, wr_http_out *out); const char *what; bool posts; } served; /* posts: POST is answered too; a path that ends with / has all that begin so */
static const served PATHS[] = {
    {"/api/query", serve_query_get, "rows of views: POST {\"sql\": \"SELECT ...\"}", true},
    {"/api/status", serve_status, "all that is known of the job", false},
    {"/api/audit", serve_audit, "audits of closed periods (--audit-every), and the last report", false},
    {"/api/ledger", serve_ledger, "where every row went; ?window=1: by window; ?text=1: as text", false},
    {"/api/history", serve_history, "memory, state and rows since the run began", false},
    {"/api/letters", serve_letters, "dead letters, the newest first", false},
    {"/api/replay", serve_replay, "what became of letters that POST asked to put back", true},
    {"/api/slo", serve_slo, "what is promised of tables, and whether it is kept", false},
    {"/api/alerts", serve_alerts, "what is firing", false},
    {"/metrics", serve_metrics, "figures in Prometheus' text form, or OpenMetrics", false},
    {"/api/views", serve_views_list, "the materialized views: columns, key, size, version", false},
    {"/api/views/", serve_view, "NAME: rows of one, ?COLUMN=, key=, from=, to=, limit=, after=; NAME/changes: as they change", false},
    {"/api/why", serve_why, "what limits it, and what to change (?text=1: in words)", false},
    {"/api/top", serve_top, "its operators as text for a terminal (?width=120&colour=1)", false},
};

bool serve_look(wr_serve *s, wr_job_status *status, wr_http_out *out) {
    wr_mutex_lock(s->lock);
    if (s->job) {
        wr_job_status_get(s->job, status);
        return true;
    }
    wr_mutex_unlock(s->lock);
    wr_http_out_error(out, 503, "no job runs here now");
    return false;
}

void serve_unlook(wr_serve *s, wr_job_status *status) {
    wr_arena_free(status->arena);
    wr_mutex_unlock(s->lock);
}

void serve_status(const serve_ask *ask, wr_http_out *out) {
    wr_job_status s;
    if (!serve_look(ask->serve, &s, out)) return;
    wr_observe_status_json(ask->serve->plan, &s, ask->serve->observer, &out->body);
    serve_unlook(ask->serve, &s);
}

/* ---- questions ---- */
static int hex(char c) { return c >= '0' && c <= '9' ? c - '0' : (c | 32) >= 'a' && (c | 32) <= 'f' ? (c | 32) - 'a' + 10 : -1; }

const char *serve_param(const serve_ask *ask, const char *name, char *buf, size_t size) {
    if (ask->http) {
        const char *value = wr_http_in_query(ask->http, name);
        if (!value) return NULL;
        snprintf(buf, size, "%s", value);
        return buf;
    }
    size_t len = strlen(name);
    for (const char *at = ask->query; at && *at; at = strchr(at, '&') ? strchr(at, '&') + 1 : NULL) {
        if (strncmp(at, name, len) != 0 || at[len] != '=') continue;
        size_t n = 0;
        for (const char *c = at + len + 1; *c && *c != '&' && n + 1 < size; c++) {
            bool coded = *c == '%' && hex(c[1]) >= 0 && hex(c[2]) >= 0;
            buf[n++] = (char)(coded ? hex(c[1]) * 16 + hex(c[2]) : *c == '+' ? ' ' : *c);
            if (coded) c += 2;
        }
        buf[n] = '\0';
        return buf;
    }
    return NULL;
}

/* A page of another site cannot send this without being asked first, and nobody answers that question. */
static bool says_json(const wr_http_in *in) {
    const char *type = wr_http_in_header(in, "Content-Type");
    return type && !strncasecmp(type, "application/json", 16);
}

static void answer(const serve_ask *ask, const char *method, wr_http_out *out) {
    for (size_t i = 0; i < WR_COUNT_OF(PATHS); i++) {
        size_t len = strlen(PATHS[i].path);
        if (PATHS[i].path[len - 1] == '/' ? strncmp(PATHS[i].path, ask->path, len) : strcmp(PATHS[i].path, ask->path)) continue;
        bool post = !strcmp(method, "POST");
        if (strcmp(method, "GET") && strcmp(method, "HEAD") && !(post && PATHS[i].posts)) wr_http_out_error(out, 405, "%s is read with GET", ask->path);
        else if (post && !says_json(ask->http)) wr_http_out_error(out, 415, "the body has to be JSON, with Content-Type: application/json");
        else PATHS[i].answer(ask, out);
        return;
    }
    wr_http_out_error(out, 404, "nothing is at %s; GET / says what there is", ask->path);
}

/* ---- over HTTP ---- */
static wr_http_when on_http(void *self, wr_http_in *in, wr_http_out *out) {
    serve_ask ask = {.serve = self, .path = in->path, .http = in};
    if (!strcmp(in->path, "/api/query") && !strcmp(in->method, "POST") && says_json(in)) return serve_query_begin(self, in, out);
    answer(&ask, in->method, out);
    return WR_HTTP_NOW;
}

static void describe(void *self, const char *address, wr_sbuf *out) {
    (void)self;
    for (size_t i = 0; i < WR_COUNT_OF(PATHS); i++) wr_sbuf_printf(out, "  GET %s%s   %s\n", address, PATHS[i].path, PATHS[i].what);
}

static void nothing_more(void *self, const char *address, wr_sbuf *out) { (void)self, (void)address, (void)out; } /* describe has it */

static wr_status open_http(wr_serve *s, wr_err *err) {
    const wr_serve_opts *o = &s->opts;
    bool                 loopback;
    if (!wr_net_listen_ok(wr_str_of(o->listen), &loopback)) {
        wr_fail(err, WR_USER, "WR375", "'%s' is not an address to listen on", o->listen);
        wr_err_hint(err, "HOST:PORT with a number as host, such as --ui 127.0.0.1:8080");
        return WR_USER;
    }
    if (!loopback && !o->token && !serve_has_users(s)) {
        wr_fail(err, WR_USER, "WR401", "%s can be reached from other machines, and nobody would be asked who they are", o->listen);
        wr_err_hint(err, "--users FILE with a token, or --ui 127.0.0.1:PORT");
        return WR_USER;
    }
    s->api = (wr_http_route){.path = "/api/", .prefix = true, .token = o->token, .max_body = 1 << 20, .self = s, .admit = serve_admit, .serve = on_http, .later = serve_query_later, .describe = describe};
    WR_TRY(wr_http_server_get(o->world, &(wr_http_server_opts){.listen = o->listen}, &s->api, &s->http, err));
    s->metrics = (wr_http_route){.path = "/metrics", .token = o->token, .self = s, .admit = serve_admit, .serve = on_http, .describe = nothing_more};
    WR_TRY(wr_http_route_add(s->http, &s->metrics, err));
    return serve_ui_open(s, err);
}

/* ---- through the socket ---- */
static void answer_local(wr_serve *s) {
    char question[WR_LOCAL_ASK_MAX];
    for (int peer; s->local && wr_local_next(s->local, question, &peer);) {
        wr_http_out out = {0};
        char       *query = strchr(question, '?');
        if (query) *query++ = '\0';
        serve_ask ask = {.serve = s, .path = question, .query = query};
        answer(&ask, "GET", &out);
        wr_sbuf text = {0}; /* the status, a line; then the body */
        wr_sbuf_printf(&text, "%d\n%.*s", out.status ? out.status : 200, WR_FMT(wr_sbuf_str(&out.body)));
        wr_local_answer(peer, wr_sbuf_str(&text));
        wr_sbuf_free(&text);
        wr_sbuf_free(&out.body);
    }
}

static void open_local(wr_serve *s, const char *dir) {
    char   at[4096];
    wr_err ignored;
    snprintf(at, sizeof at, "%s/live.sock", dir);
    (void)!wr_local_listen(at, &s->local, &ignored); /* a file system without sockets: the job runs all the same, and whoever asks is told */
}

/* ---- life ---- */
wr_status wr_serve_open(const wr_serve_opts *opts, wr_serve **out, wr_err *err) {
    wr_serve *s = wr_calloc(1, sizeof *s);
    *s = (wr_serve){.opts = *opts, .lock = wr_mutex_new(), .views = serve_views_new(opts->world)};
    wr_status status = serve_asks_open(s, err);
    if (status == WR_OK && opts->listen) status = open_http(s, err);
    if (status == WR_OK) *out = s;
    else wr_serve_close(s), *out = NULL;
    return status;
}

void wr_serve_close(wr_serve *s) {
    if (!s) return;
    if (s->http) wr_http_route_remove(s->http, &s->root), wr_http_route_remove(s->http, &s->api), wr_http_route_remove(s->http, &s->metrics);
    serve_asks_close(s);
    wr_http_server_release(s->http);
    wr_local_close(s->local);
    watching_close(s);
    serve_views_free(s->views);
    wr_observer_free(s->observer);
    wr_history_free(s->history);
    serve_replays_free(s);
    wr_sbuf_free(&s->audit);
    wr_mutex_free(s->lock);
    wr_free(s);
}

const char *wr_serve_address(const wr_serve *s) { return s && s->http ? wr_http_server_address(s->http) : NULL; }

bool serve_runs(wr_serve *s) {
    wr_mutex_lock(s->lock);
    bool runs = s->job != NULL;
    wr_mutex_unlock(s->lock);
    return runs;
}

void wr_serve_start(wr_serve *s, const wr_job_plan *plan, wr_job *job) {
    if (!s) return;
    wr_mutex_lock(s->lock);
    wr_observer_free(s->observer);
    s->observer = wr_observer_new(plan);
    wr_history_free(s->history);
    s->history = wr_history_new(plan);
    s->plan = plan, s->job = job, s->failed = false;
    watching_start(s, plan);
    wr_mutex_unlock(s->lock);
    serve_asks_start(s);
    if (s->opts.state_dir && !s->local) open_local(s, s->opts.state_dir); /* the directory is there and ours by now */
}

/* Does anybody want to know? */
static bool watching(const wr_serve *s) { return s->http || s->local || s->webhook || s->otlp || wr_slos_count(s->slos); }

void wr_serve_tick(wr_serve *s, wr_job *job) {
    if (!s || !watching(s)) return;
    wr_job_status status;
    wr_mutex_lock(s->lock);
    int64_t now = wr_mono_us(s->opts.world);
    if (wr_observer_due(s->observer, now)) {
        wr_job_status_get(job, &status);
        if (wr_history_due(s->history, now)) wr_history_see(s->history, &status, now, wr_wall_us(s->opts.world));
        wr_observer_see(s->observer, &status, now);
        watching_see(s, &status, NULL, false);
    }
    wr_mutex_unlock(s->lock);
    serve_views_tick(s->views, now);
    answer_local(s);
}

void wr_serve_failed(wr_serve *s, const wr_err *err) {
    if (s) s->failed = true, s->err = *err;
}

void wr_serve_end(wr_serve *s, wr_job *job) {
    if (!s) return;
    wr_mutex_lock(s->lock);
    if (s->job && watching(s)) {
        wr_job_status status;
        wr_job_status_get(job, &status);
        wr_observer_see(s->observer, &status, status.mono_us);
        watching_see(s, &status, s->failed ? &s->err : NULL, true);
    }
    watching_end(s);
    s->plan = NULL, s->job = NULL;
    wr_mutex_unlock(s->lock);
}
