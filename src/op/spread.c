/* op/spread.c: before the exchange of a join whose hot keys are split: adds the column that says which of `ways` parts of its key a row belongs to.
 *
 * Idea       the big side's rows of a key go to one part each, the small side's to every part, so each pair of rows meets exactly once. The part is
 *            a column of the join's key from here on: exchange, state, checkpoint and rescale know nothing of splitting.
 * Parts      part w of a key must not sit beside another one: key groups are cut into `ways` stretches, and the number of a part is searched for until
 *            (key, number) hashes into stretch w. Workers own stretches of groups, so no worker gets more than its share. The number is
 *            a multiple of ways plus w: parts never share one, whether or not the search finds a good place.
 * Choice     rows that are never taken back go round; others by the hash of what identifies them, so that a retraction meets its insertion.
 * Ledger     out = in for the big side; in times its parts for the small one.
 * Thread     one worker. No state: with inserts only, any part will do after a restart.                                     */
#include "op/op_util.h"
#include "base/hash.h"

enum { TRIES_A_WAY = 8 }; /* a part without a good place: one in e^8 */

typedef struct spread {
    wr_op          op;
    wr_spread_opts opts;
    wr_prog       *hot;
    uint32_t       turn;
    uint64_t       key_hash[WR_BATCH_MAX], row_hash[WR_BATCH_MAX];
} spread;

static int32_t number_of(const spread *s, uint64_t key_hash, uint32_t way) {
    uint32_t ways = s->opts.ways, n_groups = s->op.ctx->n_key_groups, last = TRIES_A_WAY * ways;
    bool     alone = !s->opts.n_keys; /* the number is the whole key */
    for (uint32_t k = 0; k < last; k++) {
        uint64_t number = wr_hash_u64(k * ways + way), hash = alone ? number : wr_hash_mix(key_hash, number);
        if (wr_key_group(hash, n_groups) * ways / n_groups == way) return (int32_t)(k * ways + way);
    }
    return (int32_t)way;
}

/* *is: TRUE where the row's key is split; NULL: all are. */
static wr_status which_are_hot(spread *s, wr_batch *batch, wr_batch *next, const wr_vec **is, wr_err *err) {
    *is = NULL;
    if (!s->hot) return WR_OK;
    wr_vec *vec = wr_mem_calloc(next->mem, sizeof *vec);
    *is = vec;
    return wr_prog_eval(s->hot, batch, s->op.ctx->now_us, vec, next->mem, err);
}
static bool is_split(const wr_vec *hot, uint32_t row) { return !hot || (!wr_vec_is_null(hot, row) && ((const uint8_t *)hot->data)[row]); }

/* The batch's last column, zeros so far; its hash was of other columns. */
static int32_t *number_column(wr_batch *b) {
    wr_vec *vec = &b->cols[b->n_cols - 1];
    wr_vec_init(vec, wr_spread_type(), b->n_rows, false, b->mem);
    b->hash = NULL;
    return memset(vec->data, 0, sizeof(int32_t) * b->n_rows);
}

static void one_part_each(spread *s, const wr_batch *batch, const wr_vec *hot, int32_t *number) {
    uint32_t ways = s->opts.ways;
    if (s->opts.retract_input) wr_batch_hash(batch, s->opts.by, s->opts.n_by, s->row_hash);
    for (uint32_t i = 0; i < wr_batch_live(batch); i++) {
        uint32_t row = wr_batch_row(batch, i), way;
        if (!is_split(hot, row)) continue;
        if (s->opts.retract_input) way = (uint32_t)((wr_hash_u64(s->row_hash[row]) >> 32) * ways >> 32); /* mixed again: the key's own hash may be the same */
        else way = s->turn = s->turn + 1 == ways ? 0 : s->turn + 1;
        number[row] = number_of(s, s->key_hash[row], way);
    }
}

/* Part `way` of the small side: all rows for the first one, those of split keys for the others. */
static wr_status emit_part(spread *s, wr_batch *batch, const wr_vec *hot, uint32_t way, wr_out *out, wr_err *err) {
    wr_batch *b = wr_batch_derive(batch, batch->n_cols + 1);
    uint32_t  live = wr_batch_live(batch), n = 0;
    uint16_t *sel = wr_mem_alloc(b->mem, sizeof *sel * WR_MAX(live, 1u));
    int32_t  *number = number_column(b);
    for (uint32_t i = 0; i < live; i++) {
        uint32_t row = wr_batch_row(batch, i);
        bool     split = is_split(hot, row);
        if (way && !split) continue;
        sel[n++] = (uint16_t)row;
        if (split) number[row] = number_of(s, s->key_hash[row], way);
    }
    if (n < b->n_rows) b->sel = sel, b->n_sel = n;
    if (way) s->op.ctx->ledger->made += n;
    return wr_op_emit_cut(s->op.ctx, out, b, err);
}

static wr_status spread_on_batch(wr_op *op, uint32_t input, wr_batch *batch, wr_out *out, wr_err *err) {
    spread       *s = (spread *)op;
    const wr_vec *hot;
    (void)input;
    if (!wr_batch_live(batch)) return WR_OK;
    wr_batch_hash(batch, s->opts.keys, s->opts.n_keys, s->key_hash);
    wr_batch *next = wr_batch_derive(batch, batch->n_cols + 1);
    wr_status status = which_are_hot(s, batch, next, &hot, err);
    if (status == WR_OK && !s->opts.replicate) {
        one_part_each(s, batch, hot, number_column(next));
        return wr_op_emit_cut(op->ctx, out, next, err);
    }
    for (uint32_t way = 0; way < s->opts.ways && status == WR_OK; way++) status = emit_part(s, batch, hot, way, out, err);
    wr_batch_unref(next);
    return status;
}

static void spread_close(wr_op *op) {
    spread *s = (spread *)op;
    if (s->hot) wr_prog_free(s->hot);
    wr_free(s);
}
static const wr_op_vt spread_vt = {
    .name = "spread", .on_batch = spread_on_batch, .on_watermark = wr_op_no_watermark, .output_watermark = wr_op_same_watermark, .save = wr_op_no_save,
    .load = wr_op_no_load, .usage = wr_op_no_usage, .limit = wr_op_no_limit, .close = spread_close,
};
wr_type wr_spread_type(void) { return wr_type_with_null(wr_type_of(WR_T_INT), false); }
wr_op *wr_spread_new(const wr_spread_opts *opts, wr_op_ctx *ctx) {
    spread *s = wr_calloc(1, sizeof *s);
    wr_assert(opts->ways >= 2 && opts->ways <= WR_SPREAD_WAYS_MAX);
    s->op = (wr_op){.vt = &spread_vt, .ctx = ctx};
    s->opts = *opts;
    s->turn = ctx->worker % opts->ways;
    if (opts->hot) s->hot = wr_prog_new(&opts->hot, 1, ctx->tz, ctx->world);
    return &s->op;
}
