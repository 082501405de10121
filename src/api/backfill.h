/* api/backfill.h: new versions of a job's outputs are computed from history by a changed script while the job goes on, then take their place: `weir backfill`.
 *
 * Phases     1. passes: the new script reads history up to where the job's newest checkpoint stands, at full speed, in a state directory of its own; its
 *               sinks write new versions (connect.h: wr_output). Again, as long as the job got far ahead meanwhile.
 *            2. the job is asked to stop behind a last checkpoint; one more pass reads up to that.
 *            3. the swap (run/swap.h): outputs and state in one step that a crash cannot tear.
 * Crash      in phases 1 and 2: the same command goes on from the backfill's own checkpoint; the job's outputs and state are untouched. In phase 3, once
 *            it is decided: whoever takes the state directory next finishes it.
 * Layout     STATE_DIR/backfill/: lock, about (which outputs), state/ (checkpoints), install/ (the manifest to come); STATE_DIR/before-backfill/: savepoint
 *            of the state that was replaced.
 * Thread     one; wr_session_stop from anywhere.                                                                           */
#pragma once
#include "api/session.h"

typedef struct wr_backfill_opts {
    const char *state_dir;       /* of the job; the session's options must name none */
    const char *outputs;         /* names with commas; NULL: all. The others go on as they are */
    bool        fresh;           /* forget a backfill that was begun */
    int64_t     timeout_us;      /* how long to wait for the job's checkpoints and its stop */
    void      (*say)(void *arg, wr_str line); /* what happens now; may be NULL */
    void       *arg;
} wr_backfill_opts;
typedef struct wr_backfill_result {
    uint64_t epoch;              /* of the state that is in place now */
    uint32_t passes, n_outputs;
    bool     stopped;            /* a running job was stopped */
    bool     repaired;           /* a swap that an earlier call had begun was finished: nothing else was done */
    int64_t  pause_us;           /* from the stop until the swap was done */
} wr_backfill_result;
/* The session has planned its texts: one job. */
wr_status wr_session_backfill(wr_session *session, const wr_backfill_opts *opts, wr_backfill_result *out, wr_err *err);
