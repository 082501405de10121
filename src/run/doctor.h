/* run/doctor.h: would this job find all that it needs? See doctor.c. */
#pragma once
#include "connect/probe.h"
#include "run/run.h"

/* Looks at the tables of the plan, the state directory and the store of checkpoints of opts, and at this machine; adds to out. timeout_us: how long one answer
 * of a server may take. An error: the job cannot even be built. */
wr_status wr_job_doctor(const wr_job_plan *plan, const wr_run_opts *opts, int64_t timeout_us, wr_findings *out, wr_err *err);
