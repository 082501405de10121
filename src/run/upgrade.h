/* run/upgrade.h: an edited script meets the state of the earlier one: what happens to every operator's state, said before anything stops, then done.
 *
 * Idea       a checkpoint holds, beside the images, what each node's state means and keeps (plan/identity.h). Comparing these texts with those of
 *            the new plan decides: kept (same meaning, same layout, same id), moved (the same under another id), rebuilt (the meaning or layout is
 *            another one, or new: computed anew from the logs up to the checkpoint's positions), dropped.
 * Invariant  after an upgrade every state is what the new script would have made of the logs from the start: what cannot be carried over exactly is
 *            rebuilt. Rows that outputs got before stay as they are.                                                     */
#pragma once
#include "run/run.h"

typedef enum wr_fate { WR_FATE_KEPT, WR_FATE_MOVED, WR_FATE_CHANGED /* outputs: other rows from here on */, WR_FATE_REBUILT, WR_FATE_DROPPED } wr_fate;
const char *wr_fate_name(wr_fate fate); /* "kept" ... */

typedef struct wr_upgrade_line {
    wr_fate         fate;
    const wr_pnode *node;      /* of the new plan; NULL: dropped */
    char            old_id[48], title[160]; /* old_id "": there was none */
    char            why[256];  /* a sentence without its full stop */
    bool            sink;      /* an output, not a state: kept = goes on; rebuilt = new, filled from the logs */
} wr_upgrade_line;
typedef struct wr_upgrade {
    WR_ARR(wr_upgrade_line) lines; /* new plan's order, then what is dropped */
    bool changed;              /* something is not simply kept */
    bool rebuild;              /* something has to be rebuilt */
} wr_upgrade;

/* The plan section of a checkpoint. */
void      wr_upgrade_put_plan(const wr_job_plan *plan, wr_sbuf *out);
/* Compares. WR_CORRUPT: the section does not decode. Free with wr_upgrade_free. */
wr_status wr_upgrade_compare(const wr_job_plan *plan, wr_str old_plan, wr_upgrade *out, wr_err *err);
/* The same with the newest checkpoint of opts->state_dir, whose owner may be running. WR_USER: there is none, or its job has ended. */
typedef struct wr_upgrade_cost { uint64_t epoch, log_rows /* read so far: a rebuild reads them again */; int64_t state_bytes; } wr_upgrade_cost;
wr_status wr_upgrade_look(const wr_job_plan *plan, const wr_run_opts *opts, wr_upgrade *out, wr_upgrade_cost *cost, wr_err *err);
/* Carries the checkpoint over, so that a run of `plan` with this state directory goes on from it. Takes as long as the rebuild. */
wr_status wr_upgrade_apply(const wr_job_plan *plan, const wr_run_opts *opts, const wr_upgrade *upgrade, wr_err *err);
void      wr_upgrade_free(wr_upgrade *upgrade);
void      wr_upgrade_text(const wr_upgrade *upgrade, wr_sbuf *out);
void      wr_upgrade_json(const wr_upgrade *upgrade, wr_sbuf *out); /* an array */
