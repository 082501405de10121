/* op/limit.c: LIMIT / OFFSET without ORDER BY: the first rows to arrive. A single instance.
 *
 * Idea       over an append-only input a counter and a selection are enough. Over a changelog a deleted row lets the next arrival move up, so
 *            it is a Top-N ordered by arrival (top_n.c).
 * State      one counter, in key group 0.  Thread: one worker.                                                            */
#include "op/op_util.h"

enum { VERSION = 1 };
static const char tag[] = "limit";
typedef struct limit {
    wr_op         op;
    wr_limit_opts opts;
    uint64_t      seen;
} limit;

static wr_status limit_on_batch(wr_op *op, uint32_t input, wr_batch *batch, wr_out *out, wr_err *err) {
    limit   *l = (limit *)op;
    uint32_t n = wr_batch_live(batch);
    (void)input;
    uint64_t end = l->opts.n > UINT64_MAX - l->opts.offset ? UINT64_MAX : l->opts.offset + l->opts.n;
    uint64_t skip = l->seen < l->opts.offset ? WR_MIN(l->opts.offset - l->seen, (uint64_t)n) : 0;
    uint64_t stop = l->seen < end ? WR_MIN(end - l->seen, (uint64_t)n) : 0;
    uint32_t pass = stop > skip ? (uint32_t)(stop - skip) : 0;
    l->seen += n;
    op->ctx->ledger->dropped[WR_REASON_RANKED_OUT] += n - pass;
    op->ctx->ledger->used += pass;
    if (!pass) return WR_OK;
    wr_batch *next = wr_batch_derive(batch, batch->n_cols);
    next->hash = NULL;
    if (pass < n) {
        uint16_t *sel = wr_mem_alloc(next->mem, pass * sizeof *sel);
        for (uint32_t i = 0; i < pass; i++) sel[i] = (uint16_t)wr_batch_row(batch, (uint32_t)skip + i);
        next->sel = sel;
        next->n_sel = pass;
    }
    return wr_op_emit_cut(op->ctx, out, next, err);
}
static wr_status limit_save(wr_op *op, wr_sbuf *out, wr_err *err) {
    wr_op_save_head(out, tag, VERSION);
    wr_put_u64(out, ((limit *)op)->seen);
    (void)err;
    return WR_OK;
}
static wr_status limit_load(wr_op *op, wr_reader *in, uint32_t from, uint32_t to, wr_err *err) {
    WR_TRY(wr_op_load_head(in, tag, VERSION, err));
    uint64_t seen = wr_get_u64(in);
    if (in->bad) return wr_op_damaged(tag, err);
    if (from == 0 && to > 0) ((limit *)op)->seen += seen;
    return WR_OK;
}
static void limit_close(wr_op *op) { wr_free(op); }
static const wr_op_vt limit_vt = {
    .name = "limit", .on_batch = limit_on_batch, .on_watermark = wr_op_no_watermark, .output_watermark = wr_op_same_watermark, .save = limit_save,
    .load = limit_load, .usage = wr_op_no_usage, .limit = wr_op_no_limit, .close = limit_close,
};
wr_op *wr_limit_new(const wr_limit_opts *opts, const wr_schema *input, wr_op_ctx *ctx) {
    if (opts->retract_input) {
        uint64_t last = opts->n > UINT64_MAX - opts->offset ? UINT64_MAX : opts->offset + opts->n;
        return wr_top_n_new(&(wr_top_n_opts){.first = opts->offset + 1, .last = last, .retract_input = true, .emit_before = true, .window_end = -1}, input, ctx);
    }
    limit *l = wr_calloc(1, sizeof *l);
    l->op = (wr_op){.vt = &limit_vt, .ctx = ctx};
    l->opts = *opts;
    return &l->op;
}
