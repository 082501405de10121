/* observe/observe.h: what a running job is told to be like: its status as JSON, and its figures over time. (contract)
 *
 * Idea       run/ counts; an observer looks now and then (wr_observer_see) and keeps, for every operator and source, a short history: rates and growth come
 *            from there, so that all reports (why, top, SLOs, metrics, the dashboard) show the same figures.
 * Memory     WR_OBSERVE_SAMPLES samples of a few words per node; nothing else grows.
 * Thread     an observer belongs to whoever holds its lock: serve/ has one for each job and takes its own mutex around it.                        */
#pragma once
#include "run/run.h"

enum { WR_OBSERVE_SAMPLES = 240, WR_OBSERVE_EVERY_US = 500000 }; /* two minutes */

typedef struct wr_observed {             /* an operator at one moment */
    uint64_t in, out, steps, blocked_steps;
    int64_t  state_bytes, watermark_us;
} wr_observed;
enum { WR_OBSERVE_LATENCIES = 7 };       /* histograms of a sink, one each ten seconds */
typedef struct wr_observer wr_observer;
wr_observer *wr_observer_new(const wr_job_plan *plan);   /* borrows the plan */
void         wr_observer_free(wr_observer *o);           /* NULL is legal */
bool         wr_observer_due(const wr_observer *o, int64_t now_us); /* have WR_OBSERVE_EVERY_US passed since the last sample? */
void         wr_observer_see(wr_observer *o, const wr_job_status *s, int64_t now_us);
/* The newest sample of a node and the one about span_us before it; returns the time between them, 0: there are no two yet. */
int64_t      wr_observer_span(const wr_observer *o, uint32_t node, int64_t span_us, wr_observed *before, wr_observed *now);

/* How long rows took to a sink in the last minute or so. False: none came, or it is no sink. */
bool         wr_observer_latency(const wr_observer *o, uint32_t node, wr_hist *out);

/* Everything of a status, as one object: job, operators (with inputs, ledger, state, watermark, predicted state), sources, budget, checkpoints, hot keys,
 * exchanges. `o` may be NULL: then there are no rates. */
void         wr_observe_status_json(const wr_job_plan *plan, const wr_job_status *s, const wr_observer *o, wr_sbuf *out);
void         wr_observe_sources_json(const wr_job_status *s, wr_sbuf *out);  /* an array */
void         wr_observe_budget_json(const wr_budget_status *b, wr_sbuf *out); /* an object */
