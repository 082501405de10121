/* observe/observe.h: what a running job is told to be like: its status as JSON, and its figures over time. (contract)
 *
 * Idea       run/ counts; an observer looks now and then (wr_observer_see) and keeps, for every operator and source, a short history: rates and growth come
 *            from there, so that all reports (why, top, SLOs, metrics, the dashboard) show the same figures.
 * Memory     WR_OBSERVE_SAMPLES samples of a few words per node, and the last WR_OBSERVE_FRAMES statuses as they were; nothing else grows.
 * Thread     an observer belongs to whoever holds its lock: serve/ has one for each job and takes its own mutex around it.                        */
#pragma once
#include "run/run.h"

enum { WR_OBSERVE_SAMPLES = 240, WR_OBSERVE_EVERY_US = 500000 }; /* two minutes */
enum { WR_OBSERVE_FRAMES = 7, WR_OBSERVE_SPAN_MIN_US = 1200000 }; /* three seconds; less than SPAN_MIN says nothing yet */

typedef struct wr_observed {             /* an operator at one moment */
    uint64_t in, out, steps, blocked_steps;
    int64_t  state_bytes, watermark_us;
} wr_observed;
enum { WR_OBSERVE_LATENCIES = 7 };       /* histograms of a sink, one each ten seconds */
typedef struct wr_observer wr_observer;
wr_observer *wr_observer_new(const wr_job_plan *plan);   /* borrows the plan */
void         wr_observer_free(wr_observer *o);           /* NULL is legal */
bool         wr_observer_due(const wr_observer *o, int64_t now_us); /* have WR_OBSERVE_EVERY_US passed since the last sample? */
void         wr_observer_see(wr_observer *o, wr_job_status *s /* (takes) its arena */, int64_t now_us);
/* The newest sample of a node and the one about span_us before it; returns the time between them, 0: there are no two yet. */
int64_t      wr_observer_span(const wr_observer *o, uint32_t node, int64_t span_us, wr_observed *before, wr_observed *now);

/* How long rows took to a sink in the last minute or so. False: none came, or it is no sink. */
bool         wr_observer_latency(const wr_observer *o, uint32_t node, wr_hist *out);
/* The last status, and one of some seconds before it; false: they are not far enough apart yet. */
bool         wr_observer_window(const wr_observer *o, const wr_job_status **before, const wr_job_status **now);
const wr_job_status *wr_observer_last(const wr_observer *o); /* NULL: none yet */

/* What an operator was doing within that window. */
typedef struct wr_op_figures {
    double   share[WR_SPENT_COUNT];      /* of the time of the instance that had most to do; waiting of a chained one: its head's */
    double   busy, load;                 /* of that instance: work; with its waiting for its other end and for answers while rows wait for it */
    double   fill;                       /* of its fullest input queue, or of that of its chain: the mean; 1: who sends to it waits */
    double   load_all, load_second;      /* summed over instances; of the one that had most to do after it */
    uint32_t worker, n_instances;
    double   in_per_s[2], out_per_s, dropped_per_s[WR_REASON_COUNT];
    double   taken_bytes_per_s;          /* out of its queues */
    int64_t  watermark_us, event_lag_us; /* WR_TIME_MIN; -1: not known */
    int64_t  lag_us;                     /* processing: how long a row takes to it from its source, in queues; -1: not known */
    const wr_source_status *holder;      /* the source that its watermark comes from */
} wr_op_figures;
const wr_op_figures *wr_observer_figures(const wr_observer *o, uint32_t node); /* NULL: no window yet */

/* Everything of a status, as one object: job, operators (with inputs, ledger, state, watermark, predicted state), sources, budget, checkpoints, hot keys,
 * exchanges. `o` may be NULL: then there are no rates. */
void         wr_observe_status_json(const wr_job_plan *plan, const wr_job_status *s, const wr_observer *o, wr_sbuf *out);
void         wr_observe_sources_json(const wr_job_status *s, wr_sbuf *out);  /* an array */
void         wr_observe_budget_json(const wr_budget_status *b, wr_sbuf *out); /* an object */
