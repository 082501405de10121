/* op/window_tvf.c: TUMBLE, HOP and CUMULATE as table functions: each row once per window it lies in, with window_start, window_end, window_time.
 *
 * Idea       TUMBLE shares all columns and adds three. HOP and CUMULATE gather row numbers first, then whole columns, in pieces of at most
 *            batch_rows rows. HOP gives the latest window first, CUMULATE the earliest (as Flink).
 * Late rows  nothing is dropped here: rows keep their mark, and who groups by the window decides. A row between two hops has no window: filtered.
 * Thread     one worker. No state.                                                                                      */
#include "op/op_util.h"
#include "op/window.h"

typedef struct window_tvf {
    wr_op    op;
    wr_win   win;
    uint32_t n_cols;
    uint32_t n; /* rows of the piece being built */
    uint16_t rows[WR_BATCH_MAX];
    int64_t  ends[WR_BATCH_MAX];
} window_tvf;

static void add_columns(const window_tvf *w, wr_batch *b, uint32_t n, const int64_t *ends) {
    wr_vec *cols = b->cols + w->n_cols;
    wr_vec_init(&cols[0], wr_win_bound_type(), n, false, b->mem);
    wr_vec_init(&cols[1], wr_win_bound_type(), n, false, b->mem);
    wr_vec_init(&cols[2], wr_win_time_type(&w->win), n, false, b->mem);
    int64_t *start = cols[0].data, *end = cols[1].data, *time = cols[2].data, last = 0, last_time = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (!i || ends[i] != last) last = ends[i], last_time = wr_win_instant(&w->win, last) - 1000;
        start[i] = wr_win_start(&w->win, ends[i]);
        end[i] = ends[i];
        time[i] = last_time;
    }
}
static wr_status flush(window_tvf *w, wr_batch *in, wr_out *out, wr_err *err) {
    if (!w->n) return WR_OK;
    wr_batch *b = wr_batch_new(w->n_cols + 3, 1024 + (size_t)w->n * 16 * (w->n_cols + 3));
    wr_mem_keep(b->mem, in->mem);
    b->n_rows = w->n;
    for (uint32_t c = 0; c < w->n_cols; c++) wr_vec_gather(&b->cols[c], &in->cols[c], w->rows, w->n, b->mem);
    if (in->kinds) {
        uint8_t *kinds = wr_mem_alloc(b->mem, w->n);
        for (uint32_t i = 0; i < w->n; i++) kinds[i] = in->kinds[w->rows[i]];
        b->kinds = kinds;
    }
    if (in->row_wm_us) {
        int64_t *late = wr_mem_alloc(b->mem, w->n * sizeof *late);
        for (uint32_t i = 0; i < w->n; i++) late[i] = in->row_wm_us[w->rows[i]];
        b->row_wm_us = late;
    }
    add_columns(w, b, w->n, w->ends);
    w->n = 0;
    return wr_emit(out, b, err);
}
static wr_status put(window_tvf *w, wr_batch *in, uint32_t row, int64_t end, wr_out *out, wr_err *err) {
    w->rows[w->n] = (uint16_t)row;
    w->ends[w->n++] = end;
    return w->n == w->op.ctx->batch_rows ? flush(w, in, out, err) : WR_OK;
}

static wr_status tumble(window_tvf *w, wr_batch *batch, wr_out *out, wr_err *err) {
    memset(w->ends, 0, batch->n_rows * sizeof *w->ends);
    for (uint32_t i = 0; i < wr_batch_live(batch); i++) {
        uint32_t row = wr_batch_row(batch, i);
        int64_t  us;
        WR_TRY(wr_op_row_time(&batch->cols[w->win.w.time_col], row, &us, err));
        w->ends[row] = wr_win_last_end(&w->win, wr_win_time(&w->win, us));
    }
    wr_batch *b = wr_batch_derive(batch, w->n_cols + 3);
    b->hash = NULL;
    add_columns(w, b, batch->n_rows, w->ends);
    return wr_op_emit_cut(w->op.ctx, out, b, err);
}
static wr_status window_tvf_on_batch(wr_op *op, uint32_t input, wr_batch *batch, wr_out *out, wr_err *err) {
    window_tvf *w = (window_tvf *)op;
    (void)input;
    if (!wr_batch_live(batch)) return WR_OK;
    if (w->win.w.kind == WR_WINDOW_TUMBLE) return tumble(w, batch, out, err);
    for (uint32_t i = 0; i < wr_batch_live(batch); i++) {
        uint32_t row = wr_batch_row(batch, i);
        int64_t  us;
        WR_TRY(wr_op_row_time(&batch->cols[w->win.w.time_col], row, &us, err));
        int64_t t = wr_win_time(&w->win, us), first = wr_win_first_end(&w->win, t), last = wr_win_last_end(&w->win, t);
        if (last == WR_TIME_MIN) {
            op->ctx->ledger->dropped[WR_REASON_FILTERED]++;
            continue;
        }
        if (w->win.w.kind == WR_WINDOW_HOP)
            for (int64_t end = last; end >= first; end -= w->win.w.slide_us, op->ctx->ledger->made += end >= first) WR_TRY(put(w, batch, row, end, out, err));
        else
            for (int64_t end = first;; end = wr_win_next_end(&w->win, end)) {
                WR_TRY(put(w, batch, row, end, out, err));
                if (end >= last) break;
                op->ctx->ledger->made++;
            }
    }
    return flush(w, batch, out, err);
}
static void window_tvf_close(wr_op *op) { wr_free(op); }
static const wr_op_vt window_tvf_vt = {
    .name = "window_tvf", .on_batch = window_tvf_on_batch, .on_watermark = wr_op_no_watermark, .output_watermark = wr_op_same_watermark,
    .save = wr_op_no_save, .load = wr_op_no_load, .usage = wr_op_no_usage, .limit = wr_op_no_limit, .close = window_tvf_close,
};
wr_op *wr_window_tvf_new(const wr_window *window, const wr_schema *input, wr_op_ctx *ctx) {
    if (window->kind == WR_WINDOW_SESSION) return NULL; /* sessions exist only under an aggregation: the planner says so by name */
    window_tvf *w = wr_calloc(1, sizeof *w);
    w->op = (wr_op){.vt = &window_tvf_vt, .ctx = ctx};
    w->win = wr_win_of(window, ctx->tz);
    w->n_cols = input->n;
    return &w->op;
}
