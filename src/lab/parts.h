/* lab/parts.h: what labs share; private to lab/.
 *
 * Idea       lab_job plans a script and runs its job once; looks at it are taken while it runs, and its last status is kept for the lab to read. */
#pragma once
#include "lab/lab.h"

extern const wr_lab wr_lab_remember, wr_lab_hot_key, wr_lab_panes, wr_lab_barriers, wr_lab_replay, wr_lab_dispatch;

double lab_value(const wr_lab_run *run, const char *name); /* of a parameter; the name is one of the lab's */

/* A job of a lab. Zeroed, then what is wanted. */
typedef struct lab_job {
    wr_lab_run     *run;
    const char     *sql;
    uint32_t        workers, batch_rows;  /* workers 0: one */
    bool            threads;              /* not in simulation */
    bool            accept_unbounded;
    bool            pushes;               /* 'push' tables are fed: wr_session_push, on ticks */
    void          (*tick)(void *arg, const wr_job_status *status); /* every tick of the engine; NULL */
    const char     *state_dir;
    uint64_t        crash_after_steps, checkpoint_every_steps, seed;
    wr_world       *world;                /* NULL: the run's */
    const char     *tables[4];            /* 'callback' tables whose rows go to on_rows; none: bare SELECTs go there */
    wr_session_rows on_rows;              /* NULL: rows are thrown away */
    void          (*look)(void *arg, const wr_job_plan *plan, const wr_job_status *status); /* a few times while it runs, and at the end; NULL */
    int64_t         look_every_us;        /* of event time; 0: as often as the engine ticks */
    void           *arg;                  /* of on_rows, look and tick */
    /* what it came to */
    wr_session     *session;
    const wr_job_plan *plan;
    wr_job_status   last;                 /* when it ended */
    int64_t         cpu_us;               /* of the process, while it ran */
    uint64_t        steps_seen;           /* ticks of the engine, 64 steps each in simulation */
    int64_t         looked_us;
} lab_job;
wr_status lab_job_plan(lab_job *job, wr_err *err);   /* opens the session */
wr_status lab_job_run(lab_job *job, wr_err *err);    /* plans if need be; WR_CANCELLED: crashed or stopped */
void      lab_job_close(lab_job *job);
const wr_node_status *lab_node(const wr_job_status *status, wr_pnode_kind kind, uint32_t nth); /* NULL: there is none */
int64_t   lab_event_us(const wr_job_status *status);  /* the least event time of the sources; WR_TIME_MIN: none yet */
void      lab_progress(wr_lab_run *run, const char *what);
const char *lab_text(wr_lab_run *run, double value, wr_lab_unit unit); /* wr_lab_number in the arena */
