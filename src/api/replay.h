/* api/replay.h: does a job give the same answer however it is run? Many runs with other workers, batches, crashes and restores, compared.
 *
 * Idea       every run is stepped by the seeded scheduler in this thread, from the script's real inputs; its outputs go to collectors in memory, never
 *            to the tables' connectors. Checkpoints lie in a temporary directory. Run 1 is undisturbed; the others must end with the same rows.
 * Thread     one; wr_session_stop ends it.                                                                                  */
#pragma once
#include "api/session.h"

typedef struct wr_replay_opts {
    uint32_t runs;       /* 0: 50 */
    uint64_t seed;
    void   (*progress)(void *arg, uint32_t run, uint32_t runs); /* before each run; may be NULL */
    void    *arg;
} wr_replay_opts;

typedef struct wr_replay_output { wr_str name; uint64_t rows; } wr_replay_output;
typedef struct wr_replay_report {
    wr_arena *arena;     /* owns the rest; wr_arena_free */
    uint32_t  runs, crashes, workers_max; /* done; crashes, each followed by a restore */
    bool      equal;
    WR_ARR(wr_replay_output) outputs;     /* of run 1, all jobs of the script */
    /* the first difference */
    uint32_t  other_run, other_workers, other_batch, other_crashes;
    wr_str    output, only_first, only_other; /* a row that only one of them has; "" if it is the other's */
    uint64_t  n_only_first, n_only_other;
    WR_ARR(wr_str) suspects;              /* "line 4: RAND() gives other values at each run": what in the plans may differ from run to run */
} wr_replay_report;

/* After wr_session_plan. WR_USER: an input has no end, or an option is wrong; WR_LIMIT: the outputs need more memory than the budget;
 * WR_CANCELLED: stopped. A difference is WR_OK with report->equal == false. */
wr_status wr_session_replay(wr_session *session, const wr_replay_opts *opts, wr_replay_report *report, wr_err *err);
