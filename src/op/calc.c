/* op/calc.c: filter and projection in one stateless operator.
 *
 * Idea       the filter only makes a selection vector; a pure filter shares all columns of its input. A projection is evaluated over the selected
 *            rows only, so that an expression that the filter guards is never evaluated for the others.
 * Invariant  kinds and lateness of a row stay with it. The exchange's hash does not: what follows may have other keys.
 * Thread     one worker.                                                                                                */
#include "op/op_util.h"

typedef struct calc {
    wr_op        op;
    wr_calc_opts opts;
    wr_prog     *filter, *exprs;
} calc;

static wr_status calc_on_batch(wr_op *op, uint32_t input, wr_batch *batch, wr_out *out, wr_err *err) {
    calc    *c = (calc *)op;
    uint32_t live = wr_batch_live(batch), n_sel = live;
    (void)input;
    if (!live) return WR_OK;
    wr_batch *next = wr_batch_derive(batch, c->opts.pass ? batch->n_cols : WR_MAX(c->opts.n_exprs, batch->n_cols));
    wr_status s = WR_OK;
    next->hash = NULL;
    if (c->filter) {
        uint16_t *sel = wr_mem_alloc(next->mem, WR_MAX(batch->n_rows, 1u) * sizeof *sel);
        s = wr_prog_filter(c->filter, batch, op->ctx->now_us, sel, &n_sel, err);
        if (s != WR_OK || !n_sel) goto out;
        op->ctx->ledger->dropped[WR_REASON_FILTERED] += live - n_sel;
        if (n_sel < live) next->sel = sel, next->n_sel = n_sel;
    }
    if (!c->opts.pass) {
        wr_batch view = *batch;
        view.sel = next->sel, view.n_sel = next->n_sel;
        wr_vec *cols = wr_mem_calloc(next->mem, WR_MAX(c->opts.n_exprs, 1u) * sizeof *cols);
        if (c->exprs) s = wr_prog_eval(c->exprs, &view, op->ctx->now_us, cols, next->mem, err);
        if (s != WR_OK) goto out;
        next->cols = cols;
        next->n_cols = c->opts.n_exprs;
    }
    return wr_op_emit_cut(op->ctx, out, next, err);
out:
    if (s == WR_OK) op->ctx->ledger->dropped[WR_REASON_FILTERED] += live;
    wr_batch_unref(next);
    return s;
}
static void calc_usage(const wr_op *op, wr_op_usage *out) {
    const calc *c = (const calc *)op;
    *out = (wr_op_usage){.oldest_us = WR_TIME_MAX};
    if (c->filter) wr_prog_cost_add(c->filter, &out->calls);
    if (c->exprs) wr_prog_cost_add(c->exprs, &out->calls);
}
static void calc_close(wr_op *op) {
    calc *c = (calc *)op;
    if (c->filter) wr_prog_free(c->filter);
    if (c->exprs) wr_prog_free(c->exprs);
    wr_free(c);
}
static const wr_op_vt calc_vt = {
    .name = "calc", .on_batch = calc_on_batch, .on_watermark = wr_op_no_watermark, .output_watermark = wr_op_same_watermark, .save = wr_op_no_save,
    .load = wr_op_no_load, .usage = calc_usage, .limit = wr_op_no_limit, .close = calc_close,
};
wr_op *wr_calc_new(const wr_calc_opts *opts, wr_op_ctx *ctx) {
    calc *c = wr_calloc(1, sizeof *c);
    c->op = (wr_op){.vt = &calc_vt, .ctx = ctx};
    c->opts = *opts;
    if (opts->filter) c->filter = wr_prog_new(&opts->filter, 1, ctx->tz, ctx->world);
    if (c->filter && opts->input) wr_prog_names(c->filter, opts->input);
    if (!opts->pass && opts->n_exprs) c->exprs = wr_prog_new(opts->exprs, opts->n_exprs, ctx->tz, ctx->world);
    if (c->exprs && opts->input) wr_prog_names(c->exprs, opts->input);
    return &c->op;
}
