/* op/proctime.c: runs an operator of event time by processing time: windows, interval joins.
 *
 * Idea       the operator inside sees rows whose time column is the clock when they came, and a watermark that is the clock: what is over by the clock
 *            is over for it. The clock is read once a step of the worker (ctx->now_us), in whole milliseconds, and never goes back, also not over a restart.
 *            So no row is late.
 * End        of the input: what is open stays open and gives nothing, as in Flink: its time has not come.
 * Watermark  that of the input passes through: the rows carry no event time any more.
 * Restore    windows whose end has passed meanwhile fire in the first step.
 * Thread     one worker.                                                                                                */
#include "op/op_util.h"

typedef struct proctime {
    wr_op    op;
    wr_op   *inner;
    int32_t  cols[2];   /* time column of each input */
    int64_t  clock_us;  /* of the last step; WR_TIME_MIN before the first */
    int64_t  told_us;   /* the watermark that the operator inside has seen */
    bool     draining;  /* it said *more */
} proctime;

enum { VERSION = 1 };
static const char tag[] = "proctime";

static int64_t tick(proctime *p) {
    int64_t now = wr_floor_div(p->op.ctx->now_us, (int64_t)1000) * 1000;
    return p->clock_us = WR_MAX(p->clock_us, now);
}

/* What is over by now. */
static wr_status advance(proctime *p, wr_out *out, bool *moved, wr_err *err) {
    int64_t wm = p->draining ? p->told_us : p->clock_us - 1000; /* the unit of event time before it */
    bool    more = false;
    if (!p->draining && wm <= p->told_us) return WR_OK;
    p->told_us = wm;
    WR_TRY(p->inner->vt->on_watermark(p->inner, wm, out, &more, err));
    *moved |= more || p->draining;
    p->draining = p->op.ctx->stalled = more;
    return WR_OK;
}

static wr_status on_step(wr_op *op, wr_out *out, bool *moved, wr_err *err) {
    proctime *p = (proctime *)op;
    tick(p);
    return advance(p, out, moved, err);
}

static wr_status on_batch(wr_op *op, uint32_t input, wr_batch *batch, wr_out *out, wr_err *err) {
    proctime *p = (proctime *)op;
    int64_t   now = tick(p);
    wr_batch *b = wr_batch_derive(batch, batch->n_cols);
    for (uint32_t c = 0; c < batch->n_cols; c++) b->cols[c] = batch->cols[c];
    wr_vec *time = &b->cols[p->cols[input]];
    wr_vec_init(time, time->type, batch->n_rows, false, b->mem);
    for (uint32_t i = 0; i < batch->n_rows; i++) ((int64_t *)time->data)[i] = now;
    b->row_wm_us = NULL;
    wr_status s = p->inner->vt->on_batch(p->inner, input, b, out, err);
    wr_batch_unref(b);
    return s;
}

static wr_status on_watermark(wr_op *op, int64_t wm_us, wr_out *out, bool *more, wr_err *err) {
    (void)op, (void)wm_us, (void)out, (void)more, (void)err;
    return WR_OK;
}

static wr_status save(wr_op *op, wr_sbuf *out, wr_err *err) {
    proctime *p = (proctime *)op;
    wr_op_save_head(out, tag, VERSION);
    wr_put_i64(out, p->clock_us);
    return p->inner->vt->save(p->inner, out, err);
}
static wr_status load(wr_op *op, wr_reader *in, uint32_t from, uint32_t to, wr_err *err) {
    proctime *p = (proctime *)op;
    WR_TRY(wr_op_load_head(in, tag, VERSION, err));
    int64_t clock_us = wr_get_i64(in);
    p->clock_us = WR_MAX(p->clock_us, clock_us);
    return p->inner->vt->load(p->inner, in, from, to, err);
}
static void      usage(const wr_op *op, wr_op_usage *out) { ((const proctime *)op)->inner->vt->usage(((const proctime *)op)->inner, out); }
static wr_status limit(wr_op *op, int64_t bytes, wr_err *err) { return ((proctime *)op)->inner->vt->limit(((proctime *)op)->inner, bytes, err); }
static void      close_op(wr_op *op) {
    ((proctime *)op)->inner->vt->close(((proctime *)op)->inner);
    wr_free(op);
}

static const wr_op_vt proctime_vt = {"proctime", on_batch, on_watermark, wr_op_same_watermark, save, load, usage, limit, close_op};

wr_op *wr_proctime_new(wr_op *inner, int32_t left_col, int32_t right_col) {
    proctime *p = wr_calloc(1, sizeof *p);
    p->op = (wr_op){.vt = &proctime_vt, .ctx = inner->ctx, .on_step = on_step};
    p->inner = inner;
    inner->ctx->ledger->stays = true;
    p->cols[0] = left_col, p->cols[1] = right_col;
    p->clock_us = p->told_us = WR_TIME_MIN;
    return &p->op;
}
