/* run/view.h: the operator at the end of a materialized view, and the cuts at which its rows are published. Private to run/.
 *
 * Idea       the operator finds each row's key in a keyed map (state/state.h) and writes the row into its worker's shard of the view (connect/view/). The map is what a
 *            checkpoint saves, incrementally; its values point to the rows. Cuts are markers that flow with the rows as barriers do, several a second, but
 *            nothing is saved at them: when all instances of all views have one, the version is published.
 * Thread     op: its worker. cut_trigger, cut_consider, views_*: the coordinator. cut_pass: each worker.                                */
#pragma once
#include "connect/view/writer.h"
#include "plan/plan.h"

struct wr_job;
struct node;
struct task;
struct worker;
struct channel;

/* ---- the operator (view.c) ---- */
wr_op    *view_op_new(const wr_p_view *opts, const wr_pinput *input, wr_view *view, bool store_only, wr_op_ctx *ctx);
void      view_op_seal(wr_op *op, uint64_t version, int64_t wm_us);
void      view_op_save_rows(wr_op *op, wr_sbuf *out);           /* all of them, for a job that has ended */
int64_t   view_op_latest(const wr_op *op);                      /* event time of the latest row that came; WR_TIME_MIN */
void      view_op_retain(wr_op *op, int64_t latest_us);         /* at the end of input: what is older than that by the retention goes */
int64_t   view_op_watermark(const wr_op *op);

/* ---- cuts (cut.c) ---- */
wr_status views_open(struct wr_job *job, wr_err *err);          /* before the operators are built */
void      views_restored(struct wr_job *job, bool in_flight);   /* what a checkpoint had is published at once */
void      views_end(struct wr_job *job);                        /* no worker runs: the last version, if the input has ended */
void      views_close(struct wr_job *job);
void      cut_consider(struct wr_job *job);                     /* is a cut due? */
void      cut_give_up(struct wr_job *job);                      /* barriers are about to go out: they must not wait for markers */
bool      cut_pass(struct worker *w);                           /* source chains: true: a marker went out */
bool      cut_holds(const struct wr_job *job, const struct channel *c);
void      cut_take(struct task *t, struct channel *c, uint64_t version);
