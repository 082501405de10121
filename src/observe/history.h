/* observe/history.h: the whole run in a few hundred samples: memory, state of each operator, rows. (contract)
 *
 * Idea       one sample a second at first; when there is no room every second one goes and the time between them doubles, so that a run of a month takes no
 *            more memory than one of ten minutes.
 * Memory     WR_HISTORY_SAMPLES times a word for each operator.
 * Thread     whoever holds its lock (serve/).                                                                              */
#pragma once
#include "run/run.h"

enum { WR_HISTORY_SAMPLES = 360 };
typedef struct wr_history wr_history;
wr_history *wr_history_new(const wr_job_plan *plan);  /* borrows the plan */
void        wr_history_free(wr_history *h);           /* NULL is legal */
bool        wr_history_due(const wr_history *h, int64_t mono_us);
void        wr_history_see(wr_history *h, const wr_job_status *s, int64_t mono_us, int64_t wall_us);
/* {"step_us", "operators": [id], "samples": [{"at_us" (wall clock), "memory_bytes" (with what the process has beside it), "predicted_bytes" (the bill), "rows_in", "rows_out",
 * "state_bytes": [one an operator]}]} */
void        wr_history_json(const wr_history *h, wr_sbuf *out);
