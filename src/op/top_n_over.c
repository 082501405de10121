/* op/top_n_over.c: aggregates OVER (ORDER BY any column): a Top-N of all rows whose "rank" is what the rows up to each of them add up to.
 *
 * Idea       what a key shows is worked out anew from its ordered rows: they are decoded by the batch and fed to one block of accumulators,
 *            peer by peer (RANGE) or row by row (ROWS). The results are kept encoded for as long as a batch lasts, beside the rows.
 * Cost       a batch that touches a key costs all its rows, twice: what it showed and what it shows.
 * Thread     one worker. Memory: the accumulators are empty between calls; results live in an arena until the changes are out. */
#include "op/top_n.h"

void wr_top_n_over_open(wr_top_n *t) {
    wr_agg  *aggs[2] = {wr_new_n(t->arena, wr_agg, t->opts.n_fns), wr_new_n(t->arena, wr_agg, t->opts.n_fns)};
    uint32_t n[2] = {0};
    wr_type *types = wr_new_n(t->arena, wr_type, t->opts.n_fns);
    t->over = wr_arena_calloc(t->arena, sizeof *t->over);
    for (uint32_t i = 0; i < t->opts.n_fns; i++) {
        const wr_over_fn *fn = &t->opts.fns[i];
        bool              rows = fn->frame.rows;
        if (!t->over->col[rows]) t->over->col[rows] = wr_new_n(t->arena, uint32_t, t->opts.n_fns);
        t->over->col[rows][n[rows]] = i;
        aggs[rows][n[rows]++] = fn->agg;
        types[i] = fn->agg.type;
    }
    for (int rows = 0; rows < 2; rows++) {
        if (!n[rows]) continue;
        wr_aggs *a = t->over->aggs[rows] = wr_aggs_new(aggs[rows], n[rows], false, false);
        a->settle = true;
        t->over->block[rows] = wr_arena_calloc(t->arena, a->bytes);
    }
    t->over->types = types;
    t->over->codec = wr_rowcodec_new(t->arena, types, t->opts.n_fns);
    t->over->results = wr_arena_new(t->op.ctx->acct);
}

void wr_top_n_over_close(wr_top_n *t) {
    if (!t->over) return;
    for (int rows = 0; rows < 2; rows++)
        if (t->over->aggs[rows]) wr_aggs_free(t->over->aggs[rows]);
    wr_arena_free(t->over->results);
    wr_sbuf_free(&t->over->scratch);
}

static bool peers(const wr_ranked *a, const wr_ranked *b) { return a->order_len == b->order_len && memcmp(a->mem, b->mem, a->order_len) == 0; }

/* The rows [from, to) of the batch, peers or one row, into the accumulators, and what they add up to then. */
static wr_status feed(wr_top_n *t, const wr_batch *in, wr_batch *out, uint32_t from, uint32_t to, bool rows, wr_err *err) {
    wr_aggs *a = t->over->aggs[rows];
    uint32_t at[WR_BATCH_MAX];
    void    *blocks[WR_BATCH_MAX];
    for (uint32_t i = 0; i < WR_MIN(to - from, (uint32_t)WR_BATCH_MAX); i++) blocks[i] = t->over->block[rows];
    for (uint32_t i = from, n; i < to; i += n) {
        n = WR_MIN(to - i, (uint32_t)WR_BATCH_MAX);
        for (uint32_t k = 0; k < n; k++) at[k] = i + k;
        WR_TRY(wr_aggs_update(a, in, at, blocks, n, err));
        a->seq += n;
    }
    for (uint32_t i = from, n; i < to; i += n) {
        n = WR_MIN(to - i, (uint32_t)WR_BATCH_MAX);
        for (uint32_t k = 0; k < a->n; k++) wr_aggs_result(a, k, blocks, n, &out->cols[t->over->col[rows][k]], i, 1, out->mem);
    }
    return WR_OK;
}

/* items [0, n): rows in order that are worked on together; all peers of each of them. */
static wr_status work(wr_top_n *t, wr_rank_item *items, uint32_t n, wr_err *err) {
    wr_batch *in = wr_batch_new(t->n_cols, 1024), *out = wr_batch_new(t->opts.n_fns, 1024);
    wr_status s = WR_OK;
    for (uint32_t c = 0; c < t->n_cols; c++) wr_vec_init(&in->cols[c], t->types[c], n, true, in->mem);
    for (uint32_t c = 0; c < t->opts.n_fns; c++) wr_vec_init(&out->cols[c], t->over->types[c], n, true, out->mem);
    in->n_rows = out->n_rows = n;
    for (uint32_t i = 0; i < n; i++) {
        bool ok = wr_rowcodec_get(t->codec, wr_ranked_row(&items[i].row), in->cols, i, in->mem);
        wr_assert(ok);
    }
    for (uint32_t i = 0, end; i < n && s == WR_OK; i = end) {
        for (end = i + 1; end < n && peers(&items[i].row, &items[end].row); end++) continue;
        if (t->over->aggs[0]) s = feed(t, in, out, i, end, false, err);
        for (uint32_t k = i; k < end && t->over->aggs[1] && s == WR_OK; k++) s = feed(t, in, out, k, k + 1, true, err);
    }
    for (uint32_t i = 0; i < n && s == WR_OK; i++) {
        wr_sbuf_clear(&t->over->scratch);
        wr_rowcodec_put(t->over->codec, out, NULL, i, &t->over->scratch);
        items[i].result = wr_str_dup(t->over->results, wr_sbuf_str(&t->over->scratch));
    }
    wr_batch_unref(in);
    wr_batch_unref(out);
    return s;
}

/* Where a stretch that begins at `from` ends: about a batch, and never between peers. */
static uint32_t stretch(const wr_rank_item *items, uint32_t from, uint32_t n) {
    if (n - from <= WR_BATCH_MAX) return n;
    uint32_t to = from + WR_BATCH_MAX;
    while (to > from + 1 && peers(&items[to - 1].row, &items[to].row)) to--;
    if (to > from + 1) return to;
    for (to = from + WR_BATCH_MAX; to < n && peers(&items[to - 1].row, &items[to].row); to++) continue;
    return to;
}

wr_status wr_top_n_over_results(wr_top_n *t, wr_rank_item *items, uint32_t n, wr_err *err) {
    wr_status s = WR_OK;
    for (uint32_t at = 0; at < n && s == WR_OK;) {
        uint32_t end = stretch(items, at, n);
        s = work(t, items + at, end - at, err);
        at = end;
    }
    for (int rows = 0; rows < 2; rows++)
        if (t->over->aggs[rows]) wr_aggs_drop(t->over->aggs[rows], t->over->block[rows]);
    return s;
}
