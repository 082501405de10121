/* cli/watch.h: what a running job tells people on stderr; private to cli/ (see watch.c). */
#pragma once
#include "cli.h"
#include "observe/observe.h"

typedef struct watch {
    wr_session *session;
    bool        json, quiet, tty, progress; /* progress: a line that is drawn over, only on a terminal that gets no results */
    bool        drawn;                      /* such a line is on the screen */
    bool        started_said, recalled;
    int64_t     started_us, next_us, next_line_us;
    const char *name;                       /* of the job, if the script gives none */
    uint64_t    first_rows_in;              /* of the restored ledger */
    uint64_t    last_rows_in, last_rows_out;
    int64_t     last_rows_us, last_out_us;
    uint32_t    budget_warned;              /* how near the limit was when it was said last: 1 week, 2 day, 3 hour */
    double      rate;
    uint64_t    last_behind;                /* catching up: what there was to read, when, and how fast it gets less, a second */
    int64_t     last_behind_us;
    double      catch_up_rate;
    char        silence[512];               /* said last */
    int64_t     silence_said_us;
    uint64_t    epoch_said;                 /* --json: newest checkpoint that was told */
    uint32_t    n_hot_said;
    uint64_t    hot_said[32];               /* keys and operators, hashed */
    bool        stopped_clean;              /* the last job was stopped with its state saved */
    uint64_t    stop_epoch;
    wr_observer *observer;                  /* of the last job */
    bool        ledger_open;                /* some ledger did not close */
} watch;

void watch_start(void *watch, const wr_job_plan *plan, wr_job *job);
void watch_tick(void *watch, wr_job *job);
void watch_end(void *watch, const wr_job_plan *plan, wr_job *job, wr_status status, const wr_err *err);
