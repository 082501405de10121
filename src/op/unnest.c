/* op/unnest.c: CROSS JOIN / LEFT JOIN UNNEST: each row once per element of its array, multiset or map; or as often as a BIGINT column says.
 *
 * Idea       gathers pairs of row numbers first (the row, the element among the list's children), then whole columns, in pieces of at most
 *            batch_rows rows. An element that is a ROW gives one column per field, a NULL one gives NULLs.
 * Changelog  each copy has the kind of its row, as Flink: a list is taken back element by element. No state.
 * Ledger     a row without elements is unmatched, whether it is dropped (CROSS) or padded (LEFT).
 * Thread     one worker.                                                                                               */
#include "op/op_util.h"

typedef struct unnest {
    wr_op          op;
    wr_unnest_opts opts;
    uint32_t       n_new;  /* columns of an element, without the position */
    bool           fields; /* elements are rows */
    bool           counts; /* the column is a number of copies */
    uint32_t       n;      /* rows of the piece being built */
    uint16_t       rows[WR_BATCH_MAX];
    uint32_t       elements[WR_BATCH_MAX]; /* UINT32_MAX: padded */
    int32_t        places[WR_BATCH_MAX];
} unnest;

static void element_columns(const unnest *u, const wr_vec *list, wr_vec *out, wr_mem *mem) {
    const wr_vec *kid = list->kids;
    if (!u->fields) {
        for (uint32_t c = 0; c < u->n_new; c++) wr_vec_gather32(&out[c], &list->kids[c], u->elements, u->n, mem);
        return;
    }
    uint32_t *present = wr_mem_alloc(mem, u->n * sizeof *present);
    for (uint32_t i = 0; i < u->n; i++) present[i] = u->elements[i] == UINT32_MAX || wr_vec_is_null(kid, u->elements[i]) ? UINT32_MAX : u->elements[i];
    wr_vec none = {0}; /* no list of the batch has an element: there are no columns to gather from */
    for (uint32_t c = 0; c < u->n_new; c++) {
        if (!kid->kids) none.type = wr_type_with_null(list->type.kids[0].kids[c], true);
        wr_vec_gather32(&out[c], kid->kids ? &kid->kids[c] : &none, present, u->n, mem);
    }
}

static void place_column(const unnest *u, wr_vec *out, wr_mem *mem) {
    wr_vec_init(out, wr_type_with_null(wr_type_of(WR_T_INT), u->opts.outer), u->n, u->opts.outer, mem);
    int32_t *place = out->data;
    for (uint32_t i = 0; i < u->n; i++) {
        place[i] = u->places[i];
        if (u->elements[i] == UINT32_MAX) wr_valid_set(out->valid, i, false);
    }
}

static wr_status flush(unnest *u, wr_batch *in, wr_out *out, wr_err *err) {
    if (!u->n) return WR_OK;
    uint32_t  n_pass = u->opts.n_pass, width = n_pass + u->n_new + u->opts.ordinality;
    wr_batch *b = wr_batch_new(width, 1024 + (size_t)u->n * 16 * width);
    wr_mem_keep(b->mem, in->mem);
    b->n_rows = u->n;
    for (uint32_t c = 0; c < n_pass; c++) wr_vec_gather(&b->cols[c], &in->cols[u->opts.pass[c]], u->rows, u->n, b->mem);
    element_columns(u, &in->cols[u->opts.col], &b->cols[n_pass], b->mem);
    if (u->opts.ordinality) place_column(u, &b->cols[n_pass + u->n_new], b->mem);
    if (in->kinds) {
        uint8_t *kinds = wr_mem_alloc(b->mem, u->n);
        for (uint32_t i = 0; i < u->n; i++) kinds[i] = in->kinds[u->rows[i]];
        b->kinds = kinds;
    }
    if (in->row_wm_us) {
        int64_t *late = wr_mem_alloc(b->mem, u->n * sizeof *late);
        for (uint32_t i = 0; i < u->n; i++) late[i] = in->row_wm_us[u->rows[i]];
        b->row_wm_us = late;
    }
    u->n = 0;
    return wr_emit(out, b, err);
}

static wr_status put(unnest *u, wr_batch *in, uint32_t row, uint32_t element, int32_t place, wr_out *out, wr_err *err) {
    u->rows[u->n] = (uint16_t)row;
    u->elements[u->n] = element;
    u->places[u->n++] = place;
    return u->n == u->op.ctx->batch_rows ? flush(u, in, out, err) : WR_OK;
}

/* What a row became; `reason` counts rows without an element, which are lost unless they are padded. */
static void count_copies(wr_ledger *l, int64_t n, wr_reason reason, bool lost) {
    if (n > 1) l->made += (uint64_t)n - 1;
    if (n > 0) return;
    l->dropped[reason]++;
    if (lost) l->lost[0]++;
}

static wr_status unnest_on_batch(wr_op *op, uint32_t input, wr_batch *batch, wr_out *out, wr_err *err) {
    unnest       *u = (unnest *)op;
    const wr_vec *list = &batch->cols[u->opts.col];
    (void)input;
    for (uint32_t i = 0; i < wr_batch_live(batch); i++) {
        uint32_t row = wr_batch_row(batch, i);
        wr_list  l = {0};
        if (u->counts) {
            int64_t n = wr_vec_is_null(list, row) ? 0 : ((const int64_t *)list->data)[row];
            for (int64_t k = 0; k < n; k++) WR_TRY(put(u, batch, row, 0, 0, out, err));
            count_copies(op->ctx->ledger, n, WR_REASON_FILTERED, true);
            continue;
        }
        if (!wr_vec_is_null(list, row)) l = ((const wr_list *)list->data)[row];
        count_copies(op->ctx->ledger, (int64_t)l.len, WR_REASON_UNMATCHED_LEFT, !u->opts.outer);
        if (!l.len && u->opts.outer) WR_TRY(put(u, batch, row, UINT32_MAX, 0, out, err));
        for (uint32_t k = 0; k < l.len; k++) WR_TRY(put(u, batch, row, l.offset + k, (int32_t)k + 1, out, err));
    }
    return flush(u, batch, out, err);
}
static void unnest_close(wr_op *op) { wr_free(op); }
static const wr_op_vt unnest_vt = {
    .name = "unnest", .on_batch = unnest_on_batch, .on_watermark = wr_op_no_watermark, .output_watermark = wr_op_same_watermark, .save = wr_op_no_save,
    .load = wr_op_no_load, .usage = wr_op_no_usage, .limit = wr_op_no_limit, .close = unnest_close,
};
wr_op *wr_unnest_new(const wr_unnest_opts *opts, const wr_schema *input, wr_op_ctx *ctx) {
    unnest       *u = wr_calloc(1, sizeof *u);
    const wr_type list = input->fields[opts->col].type;
    u->op = (wr_op){.vt = &unnest_vt, .ctx = ctx};
    u->opts = *opts;
    u->counts = list.id == WR_T_BIGINT;
    u->fields = !u->counts && list.id != WR_T_MAP && list.kids[0].id == WR_T_ROW;
    u->n_new = u->counts ? 0 : list.id == WR_T_MAP ? 2 : u->fields ? list.kids[0].n_kids : 1;
    return &u->op;
}
