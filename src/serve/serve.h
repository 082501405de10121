/* serve/serve.h: a running job answers: reports, metrics, views, the dashboard. (contract)
 *
 * Idea       one table of paths (serve.c: PATHS), each with a function that writes an answer; two ways to ask: HTTP at the address of --ui, and a socket in the
 *            state directory ('live.sock'), which `weir why | top | ledger DIR` use and which only the job's own user can open. The session's callbacks say
 *            when a job begins, goes on and ends; questions in between look at it under a lock.
 * Cost       nothing on the path of a row; without --ui no thread and no library: the socket is looked at by the coordinator's tick.
 * Errors     WR_IO, WR_USER: the address, WR375; the socket, WR400.
 * Thread     open, start, tick, end, close: the coordinating thread. Answers: the server's threads, several at once, or tick.                   */
#pragma once
#include "api/session.h"

typedef struct wr_serve wr_serve;
typedef struct wr_serve_opts {
    wr_world   *world;
    const char *name;                  /* of the job, if the script gives none */
    const char *listen;                /* 127.0.0.1:8080; NULL: no HTTP */
    const char *token;                 /* asked of every request for figures over HTTP; NULL: none, which an address of this machine only may have */
    const char *state_dir;             /* NULL: no socket */
    const char *users_file;            /* users.h; NULL: nobody is asked */
    const char *pg, *pg_cert, *pg_key; /* the PostgreSQL protocol: HOST:PORT, NULL: not; PEM files for TLS, NULL: none */
    int64_t     query_memory_bytes;    /* of one query on the views, which is not part of the job's budget; 0: 128 MiB */
    wr_session *(*script)(void *arg);  /* the job's script once more, loaded and not planned: dead letters are read with it. NULL, or it returns NULL: they are not */
    void       *script_arg;
} wr_serve_opts;
wr_status   wr_serve_open(const wr_serve_opts *opts, wr_serve **out, wr_err *err); /* copies the struct, borrows the strings */
/* What is watched and who is told, when the script was planned. WR_IO, WR330: libcurl is not there. */
typedef struct wr_serve_watch_opts {
    const struct wr_slo_file *slo_file; /* promises beside those of the tables; NULL: none */
    const char *webhook;               /* alerts are posted there; NULL: nowhere */
    const char *otlp, *otlp_headers, *service; /* traces of checkpoints: the whole URL, headers as lines, service.name; NULL: none */
    int64_t     source_silent_us;      /* alert: a source without anything new for so long; 0: five minutes */
    bool        fresh;                 /* what an earlier run counted is forgotten */
} wr_serve_watch_opts;
wr_status   wr_serve_watch(wr_serve *serve, const wr_serve_watch_opts *opts, wr_err *err); /* once, before the first start; copies the struct, borrows the rest */
void        wr_serve_close(wr_serve *serve);              /* NULL is legal, as in all of these */
const char *wr_serve_address(const wr_serve *serve);      /* "http://127.0.0.1:8080"; NULL: no HTTP */
const char *wr_serve_pg_address(const wr_serve *serve);   /* "127.0.0.1:5432"; NULL: not there */
void        wr_serve_start(wr_serve *serve, const wr_job_plan *plan, wr_job *job);
void        wr_serve_tick(wr_serve *serve, wr_job *job);
void        wr_serve_failed(wr_serve *serve, const wr_err *err); /* before the end: why */
void        wr_serve_end(wr_serve *serve, wr_job *job);   /* no answer looks at the job when this returns */

void        wr_serve_audit(wr_serve *serve, wr_str json); /* what /api/audit answers from now on */

typedef struct wr_metric { const char *name, *type, *labels, *help; } wr_metric;
const wr_metric *wr_serve_metric(size_t i);              /* the families of /metrics but weir_build_info, for the documents; NULL: behind the last */
