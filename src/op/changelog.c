/* op/changelog.c: TO_CHANGELOG and FROM_CHANGELOG: kinds of change as texts in a column, and back. Options: wr_calc_opts.kinds.
 *
 * Idea       TO: the rows become inserts, with the text of their kind in front; kinds without a text are left out. FROM: the text of a column,
 *            which goes, says the kind. All other columns are shared with the input.
 * Invariant  FROM: a -U is directly followed by its +U in the batch, else they are -D and +I, which mean the same.
 * Thread     one worker.                                                                                                */
#include "op/op_util.h"

typedef struct changelog {
    wr_op         op;
    wr_calc_kinds kinds;
} changelog;

static void others(const changelog *c, const wr_batch *in, wr_batch *out) { /* all columns but FROM's own */
    wr_vec  *cols = wr_mem_calloc(out->mem, (in->n_cols + 1) * sizeof *cols);
    uint32_t n = c->kinds.to;
    for (uint32_t i = 0; i < in->n_cols; i++)
        if (c->kinds.to || i != c->kinds.col) cols[n++] = in->cols[i];
    out->cols = cols;
    out->n_cols = n;
}

static wr_status to_texts(changelog *c, const wr_batch *in, wr_batch *out) {
    uint16_t *sel = wr_mem_alloc(out->mem, WR_MAX(in->n_rows, 1u) * sizeof *sel);
    uint32_t  n = 0, live = wr_batch_live(in);
    wr_vec_init(&out->cols[0], wr_type_not_null(wr_type_string()), in->n_rows, false, out->mem);
    memset(out->cols[0].data, 0, in->n_rows * sizeof(wr_sview));
    for (uint32_t i = 0; i < live; i++) {
        uint32_t row = wr_batch_row(in, i);
        wr_str   text = c->kinds.text[wr_batch_kind(in, row)];
        if (!text.ptr) continue;
        ((wr_sview *)out->cols[0].data)[row] = wr_sview_copy(out->mem, text.ptr, text.len);
        sel[n++] = (uint16_t)row;
    }
    c->op.ctx->ledger->dropped[WR_REASON_FILTERED] += live - n;
    out->sel = sel, out->n_sel = n;
    out->kinds = NULL;
    return WR_OK;
}

static wr_status kind_of(const changelog *c, const wr_vec *codes, uint32_t row, uint8_t *kind, wr_err *err) {
    if (wr_vec_is_null(codes, row)) return wr_fail(err, WR_DATA, "22004", "FROM_CHANGELOG: the operation code is NULL; every row must carry one");
    wr_str code = wr_sview_str(&((const wr_sview *)codes->data)[row]);
    for (uint32_t k = 0; k < c->kinds.n_codes; k++) {
        if (!wr_str_eq(c->kinds.codes[k].text, code)) continue;
        *kind = c->kinds.codes[k].kind;
        return WR_OK;
    }
    return wr_fail(err, WR_DATA, "22023", "FROM_CHANGELOG: '%.*s' is no operation code of its mapping", (int)WR_MIN(code.len, 80u), code.ptr);
}

static wr_status from_texts(changelog *c, const wr_batch *in, wr_batch *out, wr_err *err) {
    uint8_t *kinds = wr_mem_calloc(out->mem, WR_MAX(in->n_rows, 1u));
    uint32_t live = wr_batch_live(in);
    for (uint32_t i = 0; i < live; i++) WR_TRY(kind_of(c, &in->cols[c->kinds.col], wr_batch_row(in, i), &kinds[wr_batch_row(in, i)], err));
    for (uint32_t i = 0; i < live; i++) {
        uint8_t *one = &kinds[wr_batch_row(in, i)], *next = i + 1 < live ? &kinds[wr_batch_row(in, i + 1)] : NULL;
        if (*one == WR_KIND_UPDATE_BEFORE && next && *next == WR_KIND_UPDATE_AFTER) i++;
        else if (*one == WR_KIND_UPDATE_BEFORE) *one = WR_KIND_DELETE;
        else if (*one == WR_KIND_UPDATE_AFTER) *one = WR_KIND_INSERT;
    }
    out->kinds = kinds;
    return WR_OK;
}

static wr_status changelog_on_batch(wr_op *op, uint32_t input, wr_batch *batch, wr_out *out, wr_err *err) {
    changelog *c = (changelog *)op;
    (void)input;
    if (!wr_batch_live(batch)) return WR_OK;
    wr_batch *next = wr_batch_derive(batch, batch->n_cols + 1);
    next->hash = NULL;
    others(c, batch, next);
    wr_status s = c->kinds.to ? to_texts(c, batch, next) : from_texts(c, batch, next, err);
    if (s == WR_OK && wr_batch_live(next)) return wr_op_emit_cut(op->ctx, out, next, err);
    wr_batch_unref(next);
    return s;
}
static void changelog_close(wr_op *op) { wr_free(op); }
static const wr_op_vt changelog_vt = {
    .name = "changelog", .on_batch = changelog_on_batch, .on_watermark = wr_op_no_watermark, .output_watermark = wr_op_same_watermark, .save = wr_op_no_save,
    .load = wr_op_no_load, .usage = wr_op_no_usage, .limit = wr_op_no_limit, .close = changelog_close,
};
wr_op *wr_changelog_new(const wr_calc_kinds *kinds, wr_op_ctx *ctx) {
    changelog *c = wr_calloc(1, sizeof *c);
    c->op = (wr_op){.vt = &changelog_vt, .ctx = ctx};
    c->kinds = *kinds;
    return &c->op;
}
