/* op/local_agg.c: the first phase of an aggregation: rows of one batch with the same key (and pane) are combined before the exchange.
 *
 * Idea       a hot key then costs its receiver one row a batch, not thousands. The output is the input's own batch: the first row of a group
 *            stands for it and carries the group's accumulators as bytes in one more column; rows that are alone in their group pass as they
 *            are, with NULL in that column. So there is no second schema, nothing is copied, and a batch in which little can be combined
 *            passes through as it is.
 * Nothing is held back: what a batch gave is out before the next call, so watermarks, barriers and turns need no care here.
 * Late rows  pass as they are: only the operator behind the exchange judges and counts them. Rows that it would drop or refuse too.
 * Invariant  both phases lay out accumulators alike (wr_aggs_new with the same arguments); only aggregates for which
 *            wr_agg_one_phase_reason is NULL come here, so the split into batches never shows in a result.
 * Adaptive   unless `always`: where combining takes away less than a quarter of the rows and no key has more than a worker's share, the next
 *            batches (1, 3, 7 ... 63) pass unlooked at. Decided from the rows alone, no clock.
 * Thread     one worker. Memory: fixed scratch; accumulators live in the emitted batch.                                            */
#include "op/agg.h"
#include "op/op_util.h"
#include "op/window.h"
#include "base/hash.h"

enum { TABLE = 2 * WR_BATCH_MAX, NO_GROUP = 0xffff, SKIP_MAX = 63, ROWS_MIN = 4 /* a partial costs about three rows */, HLL_ROWS_MIN = 64 /* a sketch is 4 KiB */ };

typedef struct local_agg {
    wr_op             op;
    wr_local_agg_opts opts;
    wr_win            win;
    wr_arena         *arena;
    wr_aggs          *aggs;
    bool              idle;       /* one worker: there is nothing to spread */
    uint32_t          least;      /* a group of fewer rows is not combined */
    uint32_t          skip, skip_next;
    wr_sbuf           image;
    /* scratch of one batch */
    uint64_t hash[WR_BATCH_MAX];
    int64_t  pane[WR_BATCH_MAX];     /* by position; not set without windows */
    uint16_t row[WR_BATCH_MAX], group[WR_BATCH_MAX];
    uint16_t table[TABLE];           /* group + 1 */
    uint64_t group_hash[WR_BATCH_MAX];
    uint16_t first[WR_BATCH_MAX];    /* position of the group's first row */
    uint32_t size[WR_BATCH_MAX];     /* rows of the group */
    void    *block_of[WR_BATCH_MAX]; /* by group, NULL: passes as it is */
    uint32_t rows[WR_BATCH_MAX];
    void    *blocks[WR_BATCH_MAX];
} local_agg;

const char *wr_agg_one_phase_reason(const wr_agg *agg, bool retract_input) {
    wr_storage storage = wr_type_storage(agg->arg_type);
    switch (agg->kind) {
    case WR_AGG_COUNT_STAR: return NULL;
    case WR_AGG_COUNT: return agg->distinct ? "all its distinct values would have to be sent" : NULL;
    case WR_AGG_SUM: case WR_AGG_SUM0: case WR_AGG_AVG:
        if (agg->distinct) return "all its distinct values would have to be sent";
        if (storage == WR_S_I128 && wr_agg_sum_may_overflow(agg)) return "when a sum of so many digits overflows depends on the order of rows";
        if (retract_input && (storage == WR_S_F32 || storage == WR_S_F64)) return "taking floating-point values back rounds differently in another order";
        return NULL;
    case WR_AGG_MIN: case WR_AGG_MAX: return retract_input ? "rows can be taken back, so it keeps every value" : NULL;
    case WR_AGG_APPROX_COUNT_DISTINCT: return retract_input ? "rows can be taken back, so it keeps every value" : NULL;
    case WR_AGG_FIRST_VALUE: case WR_AGG_LAST_VALUE: return "it needs the order of arrival";
    case WR_AGG_LISTAGG: case WR_AGG_COLLECT: case WR_AGG_ARRAY_AGG: return "it keeps every value";
    case WR_AGG_STDDEV_POP: case WR_AGG_STDDEV_SAMP: case WR_AGG_VAR_POP: case WR_AGG_VAR_SAMP: return "partial variances do not add up exactly";
    case WR_AGG_USER:
        if (agg->distinct) return "all its distinct values would have to be sent";
        if (wr_agg_lacks(agg, false, true)) return "it has no merge";
        return agg->user->udf->decl->flags & WEIR_ANY_ORDER ? NULL : "it does not declare that its result is the same for every order of rows (WEIR_ANY_ORDER)";
    default: break;
    }
    if (!wr_agg_is_bitmap(agg->kind)) return "it must see every row";
    return retract_input || agg->distinct ? "rows can be taken back, so it keeps every value" : NULL;
}

/* ---- groups of a batch ---- */

/* The pane of each position: rows of a group share it. Rows that only the second phase can judge get no group. */
static void place_rows(local_agg *l, const wr_batch *batch, uint32_t n) {
    const wr_local_agg_opts *o = &l->opts;
    int64_t from = 0, to = 0;
    for (uint32_t i = 0; i < n; i++) l->row[i] = (uint16_t)wr_batch_row(batch, i);
    memset(l->group, 0, n * sizeof *l->group);
    if (!o->windowed) return;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t row = l->row[i];
        l->pane[i] = 0;
        if (batch->row_wm_us && batch->row_wm_us[row] != WR_TIME_MIN) {
            l->group[i] = NO_GROUP;
            continue;
        }
        const wr_vec *time = &batch->cols[o->input_is_windowed ? (uint32_t)o->in_start : o->window.time_col];
        const wr_vec *end = o->input_is_windowed ? &batch->cols[o->in_end] : time;
        if (wr_vec_is_null(time, row) || wr_vec_is_null(end, row)) {
            l->group[i] = NO_GROUP;
            continue;
        }
        if (o->input_is_windowed) { /* compared column by column below, as a key is */
            l->pane[i] = (int64_t)wr_hash_mix((uint64_t)((const int64_t *)time->data)[row], (uint64_t)((const int64_t *)end->data)[row]);
            continue;
        }
        int64_t us = ((const int64_t *)time->data)[row];
        if (time->type.prec > 6) us = wr_floor_div(us, 1000);
        int64_t t = wr_win_time(&l->win, us);
        if (t < from || t >= to) {
            from = wr_win_pane(&l->win, t);
            to = from + l->win.pane_us;
        }
        l->pane[i] = from;
    }
}

/* Groups by hash alone; returns how many. */
static uint32_t group_rows(local_agg *l, const uint64_t *hash, uint32_t n) {
    uint32_t n_groups = 0;
    memset(l->table, 0, sizeof l->table);
    for (uint32_t i = 0; i < n; i++) {
        if (l->group[i] == NO_GROUP) continue;
        uint64_t h = l->opts.windowed ? wr_hash_mix(hash[l->row[i]], (uint64_t)l->pane[i]) : hash[l->row[i]];
        uint32_t at = (uint32_t)(h ^ h >> 32) & (TABLE - 1), g;
        for (; (g = l->table[at]) && l->group_hash[g - 1] != h; at = (at + 1) & (TABLE - 1)) {}
        if (!g) {
            g = ++n_groups;
            l->table[at] = (uint16_t)g;
            l->group_hash[g - 1] = h;
            l->first[g - 1] = (uint16_t)i;
            l->size[g - 1] = 0;
        }
        l->size[g - 1]++;
        l->group[i] = (uint16_t)(g - 1);
    }
    return n_groups;
}

static void leave_group(local_agg *l, uint32_t i) {
    l->size[l->group[i]]--;
    l->group[i] = NO_GROUP;
}
#define SAME_VALUES(T)                                                                                                 \
    for (uint32_t i = 0; i < n; i++)                                                                                   \
        if (l->group[i] != NO_GROUP && ((const T *)vec->data)[l->row[i]] != ((const T *)vec->data)[l->row[l->first[l->group[i]]]]) leave_group(l, i);
/* Equal hashes are not yet equal keys: a row whose column differs from that of its group's first row goes alone. */
static void check_column(local_agg *l, const wr_vec *vec, uint32_t n) {
    if (!vec->valid && vec->type.id != WR_T_NULL) {
        switch (wr_type_storage(vec->type)) {
        case WR_S_I32: SAME_VALUES(int32_t); return;
        case WR_S_I64: SAME_VALUES(int64_t); return;
        case WR_S_STR:
            for (uint32_t i = 0; i < n; i++) {
                const wr_sview *v = vec->data;
                if (l->group[i] != NO_GROUP && !wr_sview_eq(&v[l->row[i]], &v[l->row[l->first[l->group[i]]]])) leave_group(l, i);
            }
            return;
        default: break;
        }
    }
    for (uint32_t i = 0; i < n; i++)
        if (l->group[i] != NO_GROUP && !wr_vec_equal(vec, l->row[i], vec, l->row[l->first[l->group[i]]])) leave_group(l, i);
}
static void check_groups(local_agg *l, const wr_batch *batch, uint32_t n) {
    for (uint32_t k = 0; k < l->opts.n_keys; k++) check_column(l, &batch->cols[l->opts.keys[k]], n);
    if (l->opts.windowed && l->opts.input_is_windowed) {
        check_column(l, &batch->cols[l->opts.in_start], n);
        check_column(l, &batch->cols[l->opts.in_end], n);
    } else if (l->opts.windowed) {
        for (uint32_t i = 0; i < n; i++)
            if (l->group[i] != NO_GROUP && l->pane[i] != l->pane[l->first[l->group[i]]]) leave_group(l, i);
    }
}

/* ---- output ---- */

/* The added column of a batch that passes as it is: all NULL; never written. */
static wr_sview nothing[WR_BATCH_MAX];
static uint64_t none_valid[WR_BATCH_MAX / 64];

/* The input's columns and one more: every row stands for itself. */
static wr_batch *widened(const local_agg *l, wr_batch *batch) {
    wr_batch *b = wr_batch_derive(batch, batch->n_cols + 1);
    memcpy(b->cols, batch->cols, batch->n_cols * sizeof *b->cols);
    b->cols[batch->n_cols] = (wr_vec){.type = l->opts.partial_type, .data = nothing, .valid = none_valid, .n = batch->n_rows};
    return b;
}
/* A group may swallow one row of an update pair: each row says by itself whether it adds or takes away. */
static void settle_kinds(const local_agg *l, wr_batch *b, uint32_t n) {
    if (!b->kinds) return;
    uint8_t *kinds = wr_mem_alloc(b->mem, b->n_rows);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t row = l->row[i];
        bool     combined = l->group[i] != NO_GROUP && l->block_of[l->group[i]];
        kinds[row] = combined || wr_kind_adds(b->kinds[row]) ? WR_KIND_INSERT : WR_KIND_DELETE;
    }
    b->kinds = kinds;
}
static wr_sview image_of(local_agg *l, void *block, wr_mem *mem) {
    if (!l->aggs->has_heap) return wr_sview_borrow(block, l->aggs->bytes);
    wr_sbuf_clear(&l->image);
    wr_aggs_save(l->aggs, block, &l->image);
    wr_aggs_drop(l->aggs, block);
    return wr_sview_copy(mem, l->image.at ? l->image.at : "", l->image.len);
}

static wr_status combine(local_agg *l, wr_batch *batch, uint32_t n, uint32_t n_groups, wr_out *out, wr_err *err) {
    wr_sview *views = NULL;
    wr_batch *b = widened(l, batch);
    uint32_t  n_combined = 0, m = 0, n_sel = 0;
    for (uint32_t g = 0; g < n_groups; g++) n_combined += l->size[g] >= l->least;
    size_t room = WR_MAX(l->aggs->bytes, 16u);
    char  *blocks = wr_mem_calloc(b->mem, WR_MAX(n_combined, 1u) * room);
    for (uint32_t g = 0, k = 0; g < n_groups; g++) l->block_of[g] = l->size[g] >= l->least ? blocks + room * k++ : NULL;
    uint16_t *sel = wr_mem_alloc(b->mem, n * sizeof *sel);
    for (uint32_t i = 0; i < n; i++) {
        void *block = l->group[i] == NO_GROUP ? NULL : l->block_of[l->group[i]];
        sel[n_sel] = l->row[i]; /* without branches: nobody could foretell them */
        n_sel += !block || l->first[l->group[i]] == i;
        l->rows[m] = l->row[i];
        l->blocks[m] = block;
        m += block != NULL;
    }
    wr_status s = l->aggs->bytes ? wr_aggs_update(l->aggs, batch, l->rows, l->blocks, m, err) : WR_OK;
    for (uint32_t g = 0; g < n_groups && l->aggs->bytes; g++) {
        if (!l->block_of[g]) continue;
        if (!views) {
            views = b->cols[batch->n_cols].data = wr_mem_alloc(b->mem, batch->n_rows * sizeof *views);
            b->cols[batch->n_cols].valid = wr_mem_calloc(b->mem, wr_valid_bytes(batch->n_rows));
        }
        uint32_t row = l->row[l->first[g]];
        views[row] = image_of(l, l->block_of[g], b->mem);
        wr_valid_set(b->cols[batch->n_cols].valid, row, true);
    }
    settle_kinds(l, b, n);
    l->op.ctx->ledger->used += n - n_sel;
    if (n_sel < b->n_rows) b->sel = sel, b->n_sel = n_sel;
    if (s == WR_OK) return wr_emit(out, b, err);
    wr_batch_unref(b);
    return s;
}

static bool worth_it(local_agg *l, uint32_t n, uint32_t n_groups) {
    if (l->opts.always) return true;
    uint32_t most = 0, gone = 0;
    for (uint32_t g = 0; g < n_groups; g++) {
        most = WR_MAX(most, l->size[g]);
        if (l->size[g] >= l->least) gone += l->size[g] - 1;
    }
    if (gone * 4 >= n || (gone && most * l->op.ctx->n_workers > n)) {
        l->skip_next = 1;
        return true;
    }
    l->skip = l->skip_next;
    l->skip_next = WR_MIN(2 * l->skip_next + 1, (uint32_t)SKIP_MAX);
    return false;
}

static wr_status local_agg_on_batch(wr_op *op, uint32_t input, wr_batch *batch, wr_out *out, wr_err *err) {
    local_agg *l = (local_agg *)op;
    uint32_t   n = wr_batch_live(batch);
    (void)input;
    if (l->idle || n < 2) return wr_emit(out, widened(l, batch), err);
    if (l->skip) {
        l->skip--;
        return wr_emit(out, widened(l, batch), err);
    }
    const uint64_t *hash = wr_op_hash(batch, l->opts.keys, l->opts.n_keys, l->hash);
    place_rows(l, batch, n);
    uint32_t n_groups = group_rows(l, hash, n);
    if (!worth_it(l, n, n_groups)) return wr_emit(out, widened(l, batch), err);
    check_groups(l, batch, n);
    return combine(l, batch, n, n_groups, out, err);
}

static void local_agg_close(wr_op *op) {
    local_agg *l = (local_agg *)op;
    wr_sbuf_free(&l->image);
    wr_aggs_free(l->aggs);
    wr_arena_free(l->arena);
    wr_free(l);
}
static const wr_op_vt local_agg_vt = {
    .name = "local_agg", .on_batch = local_agg_on_batch, .on_watermark = wr_op_no_watermark, .output_watermark = wr_op_same_watermark,
    .save = wr_op_no_save, .load = wr_op_no_load, .usage = wr_op_no_usage, .limit = wr_op_no_limit, .close = local_agg_close,
};

wr_op *wr_local_agg_new(const wr_local_agg_opts *opts, wr_op_ctx *ctx) {
    local_agg *l = wr_calloc(1, sizeof *l);
    l->op = (wr_op){.vt = &local_agg_vt, .ctx = ctx};
    l->opts = *opts;
    l->arena = wr_arena_new(ctx->acct);
    l->opts.keys = wr_op_copy_cols(l->arena, opts->keys, opts->n_keys);
    bool hop = false;
    if (opts->windowed) {
        l->win = wr_win_of(&opts->window, ctx->tz);
        hop = !opts->input_is_windowed && opts->window.kind == WR_WINDOW_HOP && opts->window.slide_us != opts->window.size_us;
    }
    l->aggs = wr_aggs_new(opts->aggs, opts->n_aggs, opts->retract_input, opts->retract_input || hop);
    l->idle = ctx->n_workers == 1 && !opts->always;
    l->skip_next = 1;
    l->least = opts->always ? 2 : ROWS_MIN;
    for (uint32_t i = 0; i < opts->n_aggs && !opts->always; i++)
        if (l->aggs->slots[i].form == WR_FORM_HLL) l->least = HLL_ROWS_MIN;
    return &l->op;
}

/* ---- the second phase's side ---- */

WR_INLINE const wr_sview *partial_at(const wr_vec *partials, uint32_t row) { /* NULL: the row stands for itself */
    return wr_valid_get(partials->valid, row) ? &((const wr_sview *)partials->data)[row] : NULL;
}

bool wr_aggs_partial_rows(const wr_aggs *a, const wr_vec *partials, uint32_t row, int64_t *n) {
    const wr_sview *v = partial_at(partials, row);
    if (!v) return false;
    wr_dassert(!a->has_heap);
    memcpy(n, wr_sview_ptr(v) + a->rows_at, sizeof *n);
    return true;
}

static bool merge_image(wr_aggs *a, void *block, const wr_sview *v) {
    _Alignas(16) char small[256];
    if (!a->has_heap && a->bytes <= sizeof small) {
        if (v->len != a->bytes) return false;
        memcpy(small, wr_sview_ptr(v), v->len);
        wr_aggs_merge(a, block, small);
        return true;
    }
    char *part = wr_calloc(1, a->bytes); /* more than a dozen aggregates, or strings: no hurry */
    bool  ok = true;
    if (!a->has_heap) {
        memcpy(part, wr_sview_ptr(v), WR_MIN(v->len, a->bytes));
    } else {
        wr_reader in = {.at = (const uint8_t *)wr_sview_ptr(v), .end = (const uint8_t *)wr_sview_ptr(v) + v->len};
        ok = wr_aggs_load(a, part, &in);
    }
    if (ok) wr_aggs_merge(a, block, part);
    wr_aggs_drop(a, part);
    wr_free(part);
    return ok;
}

wr_status wr_aggs_take(wr_aggs *a, const wr_batch *batch, uint32_t partial_col, uint32_t *rows, void **blocks, uint32_t n, wr_err *err) {
    const wr_vec *partials = &batch->cols[partial_col];
    uint32_t      m = 0;
    if (partials->valid == none_valid) return wr_aggs_update(a, batch, rows, blocks, n, err);
    for (uint32_t i = 0; i < n; i++) {
        const wr_sview *v = partial_at(partials, rows[i]);
        if (v) {
            if (!merge_image(a, blocks[i], v)) return wr_fail(err, WR_CORRUPT, "WR900", "a partial aggregate of %u bytes does not fit its accumulators", v->len);
            continue;
        }
        rows[m] = rows[i];
        blocks[m++] = blocks[i];
    }
    return wr_aggs_update(a, batch, rows, blocks, m, err);
}
