/* cli/auditor.h: audits of closed periods while a job runs (`weir run --audit-every 1h`); private to cli/ (see auditor.c). */
#pragma once
#include "cli.h"
#include "serve/serve.h"

typedef struct auditor auditor;
typedef struct auditor_opts {
    int64_t     every_us, lag_us;
    wr_session *(*script)(void *arg);  /* the job's script once more, loaded and not planned */
    void       *script_arg;
    int64_t     memory_bytes;          /* of the process: an audit takes a part of it */
    bool        json, quiet, checkpoints; /* checkpoints: outputs count when one has them */
} auditor_opts;
enum { AUDIT_LAG_US = 60000000 }; /* the default */
auditor *auditor_new(const auditor_opts *opts);
void     auditor_tick(auditor *a, const wr_job_plan *plan, wr_job *job, wr_serve *serve); /* NULL is legal, as below */
void     auditor_free(auditor *a);     /* an audit that is under way is stopped */
