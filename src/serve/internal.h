/* serve/internal.h: the parts of serve/ among themselves. Private to serve/.                                                        */
#pragma once
#include "http/server.h"
#include "observe/history.h"
#include "observe/slo.h"
#include "serve/poster.h"
#include "serve/serve.h"
#include "sys/local.h"

typedef struct alerts alerts;
struct wr_serve {
    wr_serve_opts      opts;
    wr_http_server    *http;
    wr_http_route      api, metrics, root;
    wr_local          *local;
    wr_mutex          *lock;           /* of what follows */
    const wr_job_plan *plan;           /* NULL: no job runs */
    wr_job            *job;
    wr_observer       *observer;
    wr_history        *history;
    struct serve_asks *asks;           /* ask.c */
    struct replays    *replays;        /* ui_api.c */
    wr_sbuf            audit;          /* audit.c */
    /* watching.c */
    wr_serve_watch_opts watch;
    poster            *webhook, *otlp; /* NULL: not wanted */
    wr_slos           *slos;           /* of the running job, as the alerts */
    alerts            *alerts;
    int64_t            saved_us;
    uint64_t           traced;         /* the last checkpoint of which a trace was handed over */
    bool               failed;         /* it ended so */
    wr_err             err;
    struct serve_views *views;         /* views.c */
};

/* A question, whichever way it came. */
typedef struct serve_ask {
    wr_serve         *serve;
    const char       *path;            /* "/api/status" */
    const wr_http_in *http;            /* NULL: through the socket */
    const char       *query;           /* of the socket: "a=b&c=d"; may be NULL */
} serve_ask;
/* The value of a parameter, decoded; NULL: it is not there. Into `buf`. */
const char *serve_param(const serve_ask *ask, const char *name, char *buf, size_t size);
/* The job's status, taken under the lock that stays held until serve_unlook: false (not locked, a 503 in out) when no job runs. */
bool serve_look(wr_serve *serve, wr_job_status *status, wr_http_out *out);
bool serve_runs(wr_serve *serve);                          /* a job does, or did and is still answered for */
void serve_unlook(wr_serve *serve, wr_job_status *status);

/* ask.c: users, queries, the PostgreSQL protocol. */
wr_status    serve_asks_open(wr_serve *serve, wr_err *err);
void         serve_asks_start(wr_serve *serve);          /* the job is there, and its views */
void         serve_asks_close(wr_serve *serve);
bool         serve_has_users(const wr_serve *serve);
bool         serve_admit(void *serve, const wr_http_in *in, wr_http_out *out); /* wr_http_route.admit: is it a user, and may they? */
bool         serve_host_ok(const char *host); /* is the header Host a number or localhost, with a port or without? NULL: it is not there */
wr_http_when serve_query_begin(wr_serve *serve, const wr_http_in *in, wr_http_out *out);
void         serve_query_later(void *serve, wr_http_in *in);
void         serve_query_get(const serve_ask *ask, wr_http_out *out);

/* The dashboard at "/" of the server that is open. */
wr_status serve_ui_open(wr_serve *serve, wr_err *err);
/* Promises, alerts, traces; with the lock held (watching.c, alerts.c, traces.c). */
wr_str  serve_job_name(const wr_serve *serve);
void    watching_start(wr_serve *serve, const wr_job_plan *plan);
void    watching_see(wr_serve *serve, const wr_job_status *status, const wr_err *failed, bool last);
void    watching_end(wr_serve *serve);
void    watching_close(wr_serve *serve);              /* without the lock: what is left is sent */
alerts *alerts_new(poster *to, int64_t silent_us);    /* to: NULL, they are only shown */
void    alerts_free(alerts *a);
void    alerts_look(alerts *a, const wr_slos *slos, wr_str job, const wr_job_status *s, const wr_err *failed, bool last); /* failed: NULL; last: the job ends */
void    alerts_each(alerts *a, void (*visit)(void *arg, const char *name, const char *severity, wr_str subject), void *arg); /* that are firing */
void    alerts_json(const alerts *a, wr_sbuf *out);
void    traces_look(wr_serve *serve, const wr_job_status *s);

/* One answer a path; they are listed in serve.c. */
void serve_audit(const serve_ask *ask, wr_http_out *out);
void serve_history(const serve_ask *ask, wr_http_out *out);
void serve_letters(const serve_ask *ask, wr_http_out *out);
void serve_replay(const serve_ask *ask, wr_http_out *out);       /* POST asks, GET tells what became of it */
void serve_replays_free(wr_serve *serve);
void serve_status(const serve_ask *ask, wr_http_out *out);
void serve_ledger(const serve_ask *ask, wr_http_out *out);
void serve_slo(const serve_ask *ask, wr_http_out *out);
void serve_alerts(const serve_ask *ask, wr_http_out *out);
void serve_metrics(const serve_ask *ask, wr_http_out *out);
void serve_views_list(const serve_ask *ask, wr_http_out *out);
void serve_view(const serve_ask *ask, wr_http_out *out);
typedef struct serve_views serve_views;
serve_views *serve_views_new(wr_world *world);
void         serve_views_free(serve_views *views); /* NULL is legal; no stream is open */
void         serve_views_tick(serve_views *views, int64_t now_us);
void serve_why(const serve_ask *ask, wr_http_out *out);
void serve_top(const serve_ask *ask, wr_http_out *out);
