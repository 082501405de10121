/* serve/internal.h: the parts of serve/ among themselves. Private to serve/.                                                        */
#pragma once
#include "http/server.h"
#include "observe/history.h"
#include "observe/observe.h"
#include "serve/serve.h"
#include "sys/local.h"

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
    struct replays    *replays;        /* ui_api.c */
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
void serve_unlook(wr_serve *serve, wr_job_status *status);

/* The dashboard at "/" of the server that is open. */
wr_status serve_ui_open(wr_serve *serve, wr_err *err);
/* One answer a path; they are listed in serve.c. */
void serve_history(const serve_ask *ask, wr_http_out *out);
void serve_letters(const serve_ask *ask, wr_http_out *out);
void serve_replay(const serve_ask *ask, wr_http_out *out);       /* POST asks, GET tells what became of it */
void serve_replays_free(wr_serve *serve);
void serve_status(const serve_ask *ask, wr_http_out *out);
