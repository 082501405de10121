/* run/swap.h: the last step of a backfill: new versions of outputs and the state that belongs to them take the place of those of the job, all or
 * nothing.
 *
 * Protocol   wr_swap_begin writes STATE_DIR/swap.journal, which decides: before it nothing of the job has changed, after it the rest is done, by this
 *            process or by the next one that takes the state directory (wr_swap_finish): outputs (connect.h: wr_outputs_swap), then the
 *            checkpoint, then backfill/ and the journal are removed. Every step may be done again.
 * Layout     STATE_DIR/backfill/state/files/: the tier's files; STATE_DIR/backfill/install/: the manifest that will be the job's.
 * Thread     one, which holds the state directory's lock.                                                                 */
#pragma once
#include "checkpoint/checkpoint.h"
#include "connect/connect.h"

/* `epoch` of the manifest in install/, beyond those of the job, whose last one is `was`. */
wr_status wr_swap_begin(wr_world *world, const char *state_dir, const wr_output *outputs, uint32_t n, uint64_t epoch, uint64_t was, wr_err *err);
wr_status wr_swap_finish(wr_world *world, const char *state_dir, wr_err *err); /* nothing without a journal */
bool      wr_swap_pending(wr_world *world, const char *state_dir);
/* Writes `from` as checkpoint `epoch` of `dir`, with the sections of `sinks` (owners; may be empty) taken from `live`; others of `dir` are removed. */
wr_status wr_swap_checkpoint(wr_world *world, const char *dir, const wr_checkpoint *from, uint64_t epoch, const wr_str *sinks, uint32_t n_sinks, const wr_checkpoint *live, wr_err *err);
