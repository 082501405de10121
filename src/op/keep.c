/* op/keep.c: expressions that come out differently each time (RAND, NOW), over an input that takes rows back: computed once for a row, kept until it goes.
 *
 * Idea       a projection (op/calc.c) whose values that are not determined by the row are remembered by the whole input row (op/kept.h): the retraction
 *            of a row takes back what its insertion gave. Equal rows share the first one's values. A condition that is not determined is such a value too.
 * Ledger     a row that the condition refuses: FILTERED; a retraction of a row that was never seen: RETRACT_UNKNOWN.
 * State      one entry a distinct row that is there: the row, and those values. Bounded by the rows of the input.
 * Thread     the worker that owns the key group.                                                                       */
#include "op/kept.h"

typedef struct keep {
    wr_op        op;
    wr_kept      kept;
    wr_arena    *arena;
    wr_prog     *prog;      /* the columns, then the condition */
    uint32_t     n_exprs, n_keys, n_kept;
    uint32_t    *keys, *kept_cols; /* kept_cols: of the prog's results */
    wr_type     *kept_types;
    wr_rowcodec *codec;     /* of those */
    bool         has_filter;
    wr_sbuf      text;
    uint64_t     hash[WR_BATCH_MAX];
} keep;

static wr_status on_batch(wr_op *op, uint32_t input, wr_batch *batch, wr_out *out, wr_err *err) {
    (void)input;
    keep           *k = (keep *)op;
    uint32_t        n_all = k->n_exprs + k->has_filter, n_sel = 0;
    wr_batch       *b = wr_batch_derive(batch, n_all);
    const uint64_t *hash = wr_op_hash(batch, k->keys, k->n_keys, k->hash);
    uint16_t       *sel = wr_mem_alloc(b->mem, sizeof *sel * WR_MAX(batch->n_rows, 1u));
    wr_vec         *own = wr_mem_calloc(b->mem, sizeof *own * (k->n_kept + 1));
    wr_batch        view = {.n_rows = batch->n_rows, .n_cols = n_all, .cols = b->cols};
    wr_status       s = wr_prog_eval(k->prog, batch, op->ctx->now_us, b->cols, b->mem, err);
    for (uint32_t c = 0; c < k->n_kept && s == WR_OK; c++) wr_vec_init(&own[c], k->kept_types[c], batch->n_rows, true, b->mem);
    for (uint32_t i = 0; i < wr_batch_live(batch) && s == WR_OK; i++) {
        uint32_t       row = wr_batch_row(batch, i), slot;
        bool           adds = wr_kind_adds(wr_batch_kind(batch, row));
        wr_kept_value *v;
        s = wr_kept_find(&k->kept, batch, row, hash[row], adds, &slot, &v, err);
        if (s != WR_OK) break;
        if (!v) {
            op->ctx->ledger->dropped[WR_REASON_RETRACT_UNKNOWN]++;
            continue;
        }
        if (adds && !v->count++) {
            wr_sbuf_clear(&k->text);
            wr_rowcodec_put(k->codec, &view, k->kept_cols, row, &k->text);
            wr_kept_set(&k->kept, v, wr_sbuf_str(&k->text));
        }
        if (!wr_rowcodec_get(k->codec, (wr_str){v->bytes, v->len}, own, row, b->mem)) s = wr_op_damaged("keep", err);
        if (!adds && !--v->count) wr_kmap_remove(k->kept.map, slot);
        sel[n_sel++] = (uint16_t)row;
    }
    for (uint32_t c = 0; c < k->n_kept; c++) b->cols[k->kept_cols[c]] = own[c];
    if (k->has_filter && s == WR_OK) {
        const wr_vec *pass = &b->cols[k->n_exprs];
        uint32_t      n = 0;
        for (uint32_t i = 0; i < n_sel; i++)
            if (!wr_vec_is_null(pass, sel[i]) && ((const uint8_t *)pass->data)[sel[i]]) sel[n++] = sel[i];
        op->ctx->ledger->dropped[WR_REASON_FILTERED] += n_sel - n;
        n_sel = n;
    }
    if (s != WR_OK || !n_sel) {
        wr_batch_unref(b);
        return s;
    }
    b->n_cols = k->n_exprs;
    b->hash = NULL;
    b->sel = sel, b->n_sel = n_sel;
    return wr_op_emit_cut(op->ctx, out, b, err);
}

static wr_status save(wr_op *op, wr_sbuf *out, wr_err *err) {
    wr_op_save_head(out, "keep", 1);
    return wr_kmap_save(((keep *)op)->kept.map, out, err);
}
static wr_status load(wr_op *op, wr_reader *in, uint32_t from, uint32_t to, wr_err *err) {
    WR_TRY(wr_op_load_head(in, "keep", 1, err));
    return wr_kmap_load(((keep *)op)->kept.map, in, op->ctx->n_key_groups, from, to, err);
}
static void usage(const wr_op *op, wr_op_usage *out) {
    *out = (wr_op_usage){.oldest_us = WR_TIME_MAX};
    wr_kept_usage(&((const keep *)op)->kept, out);
}
static wr_status limit(wr_op *op, int64_t bytes, wr_err *err) { return wr_op_limit_map(((keep *)op)->kept.map, bytes, err); }
static void      close_op(wr_op *op) {
    keep *k = (keep *)op;
    wr_kept_free(&k->kept);
    wr_prog_free(k->prog);
    wr_sbuf_free(&k->text);
    wr_arena_free(k->arena);
    wr_free(k);
}

static const wr_op_vt keep_vt = {"keep", on_batch, wr_op_no_watermark, wr_op_same_watermark, save, load, usage, limit, close_op};

wr_op *wr_keep_new(const wr_keep_opts *opts, const wr_schema *input, wr_op_ctx *ctx) {
    keep *k = wr_calloc(1, sizeof *k);
    k->op = (wr_op){.vt = &keep_vt, .ctx = ctx};
    k->arena = wr_arena_new(ctx->acct);
    k->n_exprs = opts->calc.n_exprs;
    k->has_filter = opts->calc.filter != NULL;
    k->n_keys = opts->n_keys;
    k->keys = wr_op_copy_cols(k->arena, opts->keys, opts->n_keys);
    uint32_t  n = k->n_exprs + k->has_filter;
    wr_expr **all = wr_new_n(k->arena, wr_expr *, n + 1);
    for (uint32_t i = 0; i < k->n_exprs; i++) all[i] = opts->calc.exprs[i];
    if (k->has_filter) all[k->n_exprs] = opts->calc.filter;
    k->kept_cols = wr_new_n(k->arena, uint32_t, n + 1);
    k->kept_types = wr_new_n(k->arena, wr_type, n + 1);
    for (uint32_t i = 0; i < n; i++) {
        if (wr_expr_volatility(all[i]) == WR_VOL_PURE) continue;
        k->kept_types[k->n_kept] = all[i]->type;
        k->kept_cols[k->n_kept++] = i;
    }
    k->codec = wr_rowcodec_new(k->arena, k->kept_types, k->n_kept);
    k->prog = wr_prog_new(all, n, ctx->tz, ctx->world);
    wr_prog_names(k->prog, input);
    wr_kept_init(&k->kept, input, ctx, "keep");
    return &k->op;
}
