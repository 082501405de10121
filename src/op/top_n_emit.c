/* op/top_n_emit.c: what a Top-N shows, and the changes from one state to the next. See top_n.c.
 *
 * Without rank    rows leave (-D) and enter (+I); a row that was replaced by another of the same unique key is an update (-U/+U).
 * ROW_NUMBER      with the rank in the output the key is the place: each place whose row changed is an update.
 * RANK with rank  places are shared, so (row, rank) pairs leave and enter.                                                 */
#include "op/top_n.h"
#include <stdlib.h>

enum { ROOM = 256 /* rows of an output batch: changes are few, columns are allocated for all */ };

static bool same_order(const wr_ranked *a, const wr_ranked *b) {
    return a->order_len == b->order_len && memcmp(a->mem, b->mem, a->order_len) == 0;
}
void wr_top_n_shown(wr_top_n *t, const wr_rank_group *g, wr_rank_items *out) {
    if (!g->rows) return;
    uint64_t  rank = 0, index = 0;
    uint32_t  first = out->n;
    wr_pos    p = wr_sorted_first();
    if (t->opts.rank == WR_RANK_ROW_NUMBER) p = wr_sorted_nth(g->rows, index = t->opts.first - 1);
    for (const wr_ranked *before = NULL, *at; (at = wr_sorted_at(g->rows, p)); p = wr_sorted_next(g->rows, p), index++) {
        if (t->opts.rank == WR_RANK_ROW_NUMBER) rank = index + 1;
        else if (!before || !same_order(before, at)) rank = t->opts.rank == WR_RANK_RANK ? index + 1 : rank + 1;
        if (rank > t->opts.last) break;
        if (rank >= t->opts.first) wr_arr_push(out, (wr_rank_item){*at, t->over ? 0 : rank, {NULL, 0}});
        before = at;
    }
    if (t->over && t->bad == WR_OK) t->bad = wr_top_n_over_results(t, out->at + first, out->n - first, t->err);
}

/* ---- building output ---- */

wr_status wr_top_n_flush(wr_top_n *t, wr_out *out, wr_err *err) {
    wr_batch *b = t->batch;
    if (!t->n_rows) return WR_OK;
    b->n_rows = t->n_rows;
    for (uint32_t c = 0; c < b->n_cols; c++) b->cols[c].n = t->n_rows;
    b->kinds = wr_kinds_uniform_insert(t->kinds, t->n_rows) ? NULL : t->kinds;
    t->batch = NULL;
    t->n_rows = 0;
    return wr_emit(out, b, err);
}
wr_status wr_top_n_put(wr_top_n *t, wr_kind kind, const wr_rank_item *item, wr_out *out, wr_err *err) {
    if (!t->batch) {
        t->cap = WR_MIN(t->op.ctx->batch_rows, (uint32_t)ROOM);
        wr_batch *b = t->batch = wr_batch_new(t->n_cols + (t->over ? t->opts.n_fns : t->opts.out_rank), 1024);
        for (uint32_t c = 0; c < t->n_cols; c++) wr_vec_init(&b->cols[c], t->types[c], t->cap, true, b->mem);
        if (t->opts.out_rank) wr_vec_init(&b->cols[t->n_cols], wr_type_not_null(wr_type_of(WR_T_BIGINT)), t->cap, false, b->mem);
        for (uint32_t c = 0; t->over && c < t->opts.n_fns; c++) wr_vec_init(&b->cols[t->n_cols + c], t->over->types[c], t->cap, true, b->mem);
        t->kinds = wr_mem_alloc(b->mem, t->cap);
    }
    bool ok = wr_rowcodec_get(t->codec, wr_ranked_row(&item->row), t->batch->cols, t->n_rows, t->batch->mem);
    wr_assert(ok);
    if (t->over) ok = wr_rowcodec_get(t->over->codec, item->result, t->batch->cols + t->n_cols, t->n_rows, t->batch->mem);
    wr_assert(ok);
    if (t->opts.out_rank) ((int64_t *)t->batch->cols[t->n_cols].data)[t->n_rows] = (int64_t)item->rank;
    t->kinds[t->n_rows++] = (uint8_t)kind;
    return t->n_rows == t->cap ? wr_top_n_flush(t, out, err) : WR_OK;
}
static wr_status put_update(wr_top_n *t, const wr_rank_item *was, const wr_rank_item *is, wr_out *out, wr_err *err) {
    if (t->opts.emit_before) {
        if (t->batch && t->cap > 1 && t->n_rows + 2 > t->cap) WR_TRY(wr_top_n_flush(t, out, err)); /* pairs stay together */
        WR_TRY(wr_top_n_put(t, WR_KIND_UPDATE_BEFORE, was, out, err));
    }
    return wr_top_n_put(t, WR_KIND_UPDATE_AFTER, is, out, err);
}

/* ---- differences ---- */

static bool same_row(const wr_rank_item *a, const wr_rank_item *b) {
    return a->row.seq == b->row.seq || wr_str_eq(wr_ranked_row(&a->row), wr_ranked_row(&b->row));
}
static wr_status changes_by_place(wr_top_n *t, const wr_rank_item *was, uint32_t n_was, const wr_rank_item *is, uint32_t n_is, wr_out *out, wr_err *err) {
    for (uint32_t i = 0; i < WR_MAX(n_was, n_is); i++) {
        if (i >= n_is) WR_TRY(wr_top_n_put(t, WR_KIND_DELETE, &was[i], out, err));
        else if (i >= n_was) WR_TRY(wr_top_n_put(t, WR_KIND_INSERT, &is[i], out, err));
        else if (!same_row(&was[i], &is[i])) WR_TRY(put_update(t, &was[i], &is[i], out, err));
    }
    return WR_OK;
}
static int by_bytes(const void *a, const void *b) {
    const wr_rank_item *x = a, *y = b;
    int order = wr_row_order_compare(x->row.mem, x->row.key_len + x->row.row_len, y->row.mem, y->row.key_len + y->row.row_len);
    return order ? order : (x->rank > y->rank) - (x->rank < y->rank);
}
/* gone = was without is, come = is without was, as multisets of (row, rank if shown). */
static void differences(wr_top_n *t, wr_rank_item *was, uint32_t n_was, wr_rank_item *is, uint32_t n_is) {
    t->gone.n = t->come.n = 0;
    if (!t->opts.out_rank) {
        for (uint32_t i = 0; i < n_was; i++) was[i].rank = 0;
        for (uint32_t i = 0; i < n_is; i++) is[i].rank = 0;
    }
    if (n_was) qsort(was, n_was, sizeof *was, by_bytes);
    if (n_is) qsort(is, n_is, sizeof *is, by_bytes);
    for (uint32_t i = 0, j = 0; i < n_was || j < n_is;) {
        int order = i == n_was ? 1 : j == n_is ? -1 : by_bytes(&was[i], &is[j]);
        if (order < 0) wr_arr_push(&t->gone, was[i++]);
        else if (order > 0) wr_arr_push(&t->come, is[j++]);
        else i++, j++;
    }
}

static int by_row(const void *a, const void *b) {
    const wr_rank_item *x = a, *y = b;
    return wr_row_order_compare(x->row.mem, x->row.key_len + x->row.row_len, y->row.mem, y->row.key_len + y->row.row_len);
}
static int by_row_and_place(const void *a, const void *b) { /* equal rows in their order */
    const wr_rank_item *x = a, *y = b;
    int order = by_row(a, b);
    return order ? order : (x->row.seq > y->row.seq) - (x->row.seq < y->row.seq);
}
/* All rows are shown: each changes its rank or results, or comes, or goes. */
static wr_status changes_of_all(wr_top_n *t, wr_rank_item *was, uint32_t n_was, wr_rank_item *is, uint32_t n_is, wr_out *out, wr_err *err) {
    if (n_was) qsort(was, n_was, sizeof *was, by_row_and_place);
    if (n_is) qsort(is, n_is, sizeof *is, by_row_and_place);
    for (uint32_t i = 0, j = 0; i < n_was || j < n_is;) {
        int order = i == n_was ? 1 : j == n_is ? -1 : by_row(&was[i], &is[j]);
        if (order < 0) WR_TRY(wr_top_n_put(t, WR_KIND_DELETE, &was[i], out, err));
        else if (order > 0) WR_TRY(wr_top_n_put(t, WR_KIND_INSERT, &is[j], out, err));
        else if (was[i].rank != is[j].rank || !wr_str_eq(was[i].result, is[j].result)) WR_TRY(put_update(t, &was[i], &is[j], out, err));
        i += order <= 0, j += order >= 0;
    }
    return WR_OK;
}

wr_status wr_top_n_changes(wr_top_n *t, const wr_rank_item *before, uint32_t n, const wr_rank_group *g, wr_out *out, wr_err *err) {
    t->after.n = 0;
    wr_top_n_shown(t, g, &t->after);
    if (t->bad != WR_OK) return t->bad;
    if (t->over || (t->opts.out_rank && t->opts.last == UINT64_MAX && t->opts.rank != WR_RANK_ROW_NUMBER))
        return changes_of_all(t, (wr_rank_item *)(uintptr_t)before, n, t->after.at, t->after.n, out, err);
    if (t->opts.out_rank && t->opts.rank == WR_RANK_ROW_NUMBER) return changes_by_place(t, before, n, t->after.at, t->after.n, out, err);
    differences(t, (wr_rank_item *)(uintptr_t)before, n, t->after.at, t->after.n);
    for (uint32_t i = 0; i < t->gone.n; i++) {
        uint32_t j = t->opts.n_unique ? 0 : t->come.n;
        while (j < t->come.n && (!t->come.at[j].row.mem || !wr_str_eq(wr_ranked_unique(&t->gone.at[i].row), wr_ranked_unique(&t->come.at[j].row)))) j++;
        if (j < t->come.n) {
            WR_TRY(put_update(t, &t->gone.at[i], &t->come.at[j], out, err));
            t->come.at[j].row.mem = NULL;
        } else {
            WR_TRY(wr_top_n_put(t, WR_KIND_DELETE, &t->gone.at[i], out, err));
        }
    }
    for (uint32_t j = 0; j < t->come.n; j++)
        if (t->come.at[j].row.mem) WR_TRY(wr_top_n_put(t, WR_KIND_INSERT, &t->come.at[j], out, err));
    return WR_OK;
}
