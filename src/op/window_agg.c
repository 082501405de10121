/* op/window_agg.c: aggregation by TUMBLE, HOP and CUMULATE windows: taking rows into panes, checkpoints. Firing is in window_fire.c, output in window_emit.c.
 *
 * Idea       a row goes into exactly one pane (the stretch between two window bounds), which is a map from key to accumulator block: the cost
 *            of a row does not depend on size / slide. A window is the merge of its panes, kept as a running window: firing costs the
 *            keys of the pane that enters, of the one that leaves, and the rows that come out.
 * Late       a row behind its partition's watermark W is late for the windows that end by W + 1 ms. Late for all: dropped, counted. Late for
 *            some: it goes to a late pane (pane, first window end that still takes it), which joins its pane when that window fires; so the answer does
 *            not depend on how far the operator's own clock was.
 * Invariant  panes are sorted by (end, start); every pane still belongs to a window that has not fired. fired_end never goes back.
 * Memory     every map charges itself; pane structs are charged as they come and go.  Thread: one worker.                      */
#include "op/window_agg.h"

enum { VERSION = 1, PIECE_ROWS = 256 };
#define EXPECTED_MAX 65536u /* a wrong guess must not cost much */
static const char tag[] = "window_agg";

/* ---- values of the maps ---- */

static void pane_value_free(void *self, void *value) {
    wr_window_agg *a = self;
    wr_aggs_drop(a->aggs, value);
    if (a->two_stacks) wr_aggs_drop(a->aggs, wr_pane_suffix_at(a, value));
}
static void run_value_free(void *self, void *value) { wr_aggs_drop(((wr_window_agg *)self)->aggs, value); }
static void value_save(void *self, const void *value, wr_sbuf *out) { wr_aggs_save(((wr_window_agg *)self)->aggs, value, out); }
static bool value_load(void *self, void *value, wr_reader *in) { return wr_aggs_load(((wr_window_agg *)self)->aggs, value, in); }

/* Of panes and of the running window. */
static uint32_t value_bytes(const wr_window_agg *a) { return a->two_stacks ? 2 * a->aggs->bytes + (uint32_t)sizeof(wr_pane_link) : a->aggs->bytes; }
static int64_t heap_bytes(void *self) { /* all is charged to the maps */
    wr_window_agg *a = self;
    if (a->charging && a->aggs->has_heap) wr_kmap_charge(a->charging, wr_aggs_heap_change(a->aggs));
    return 0;
}
static wr_kmap_opts map_opts(wr_window_agg *a, const char *name, uint32_t value_bytes, uint32_t expected, void (*drop)(void *, void *)) {
    return (wr_kmap_opts){.name = name, .expected = expected, .key_types = a->key_types, .n_key_types = a->opts.n_keys, .value_bytes = value_bytes,
                          .acct = a->op.ctx->acct, .codec = a->codec, .self = a, .value_free = a->aggs->has_heap ? drop : NULL,
                          .value_save = value_save, .value_load = value_load, .heap_bytes = heap_bytes};
}
static wr_kmap *map_new(wr_window_agg *a, const char *name, uint32_t value_bytes, uint32_t expected, void (*drop)(void *, void *)) { /* in memory */
    const wr_kmap_opts opts = map_opts(a, name, value_bytes, expected, drop);
    return wr_kmap_new(&opts);
}
wr_status wr_window_scan(wr_window_agg *a, wr_kmap *map, wr_kmap_cursor *cursor, uint32_t *slots, uint32_t max, uint32_t *n, wr_err *err) {
    wr_status s = wr_kmap_scan(map, cursor, slots, max, n, err);
    if (a->aggs->has_heap) wr_kmap_charge(map, wr_aggs_heap_change(a->aggs));
    return s;
}

/* ---- panes ---- */

static int pane_order(const wr_pane *p, int64_t first, int64_t start) { /* first: end, or from_end of a late pane */
    int64_t key = p->from_end != WR_TIME_MIN ? p->from_end : p->end;
    if (key != first) return key < first ? -1 : 1;
    return (p->start > start) - (p->start < start);
}
/* A pane is likely to get as many keys as the one before it. */
static uint32_t expected_keys(const wr_window_agg *a, uint32_t at) {
    uint64_t n = at ? wr_kmap_count(a->panes.at[at - 1]->map) : a->last_count;
    return (uint32_t)WR_MIN(n, (uint64_t)EXPECTED_MAX);
}
static wr_pane *pane_new(wr_window_agg *a, int64_t start, int64_t end, int64_t from_end, uint32_t expected) {
    wr_pane *p = wr_calloc(1, sizeof *p);
    bool     late = from_end != WR_TIME_MIN;
    wr_account_add(a->op.ctx->acct, (int64_t)sizeof *p);
    *p = (wr_pane){.start = start, .end = end, .from_end = from_end};
    const int64_t id[3] = {start, end, from_end};
    for (int i = 0; i < 3; i++) p->prefix[i] = (int64_t)__builtin_bswap64((uint64_t)id[i]);
    wr_kmap_opts opts = map_opts(a, "pane", late ? a->aggs->bytes : value_bytes(a), late ? 0 : expected, late ? run_value_free : pane_value_free);
    opts.prefix = (wr_str){(const char *)p->prefix, sizeof p->prefix};
    p->map = wr_op_map_new(&opts, a->op.ctx, tag, a->two_stacks ? WR_SPILL_NONE : WR_SPILL_ENTRY); /* links of panes hold slots */
    return p;
}
static void pane_release(wr_window_agg *a, wr_pane *p) {
    if (a->charging == p->map) a->charging = NULL;
    wr_kmap_free(p->map);
    wr_account_add(a->op.ctx->acct, -(int64_t)sizeof *p);
    wr_free(p);
}
/* A pane of the same name that is over, but of which the tier still has entries. */
static wr_pane *revive(wr_window_agg *a, int64_t start, int64_t end, int64_t from_end) {
    for (uint32_t i = 0; i < a->dead.n; i++) {
        wr_pane *p = a->dead.at[i];
        if (p->start != start || p->end != end || p->from_end != from_end) continue;
        a->dead.at[i] = a->dead.at[--a->dead.n];
        p->place = WR_PANE_FRESH, p->mark = 0;
        return p;
    }
    return NULL;
}
static void bury(wr_window_agg *a) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < a->dead.n; i++) {
        if (wr_kmap_settle(a->dead.at[i]->map)) pane_release(a, a->dead.at[i]);
        else a->dead.at[n++] = a->dead.at[i];
    }
    a->dead.n = n;
}
/* What the running window does not need is shared by the panes. */
static int64_t pane_limit(const wr_window_agg *a) {
    int64_t rest = a->limit_bytes - a->parts_bytes;
    if (a->run) rest -= wr_kmap_bytes(a->run);
    return a->limit_bytes ? WR_MAX(rest / WR_MAX(a->panes.n + a->late.n, 1u), 1) : 0;
}
static void set_limits(wr_window_agg *a) {
    int64_t bytes = pane_limit(a);
    a->n_limited = a->panes.n + a->late.n;
    for (uint32_t i = 0; i < a->panes.n; i++) wr_kmap_limit(a->panes.at[i]->map, bytes);
    for (uint32_t i = 0; i < a->late.n; i++) wr_kmap_limit(a->late.at[i]->map, bytes);
}
wr_pane *wr_window_pane_get(wr_window_agg *a, int64_t start, int64_t end, int64_t from_end) {
    bool      late = from_end != WR_TIME_MIN;
    wr_pane **list = late ? a->late.at : a->panes.at;
    uint32_t  lo = 0, hi = late ? a->late.n : a->panes.n;
    int64_t   first = late ? from_end : end;
    if (hi && pane_order(list[hi - 1], first, start) < 0) lo = hi;
    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        if (pane_order(list[mid], first, start) < 0) lo = mid + 1;
        else hi = mid;
    }
    uint32_t n = late ? a->late.n : a->panes.n;
    if (lo < n && pane_order(list[lo], first, start) == 0) return list[lo];
    wr_pane *p = revive(a, start, end, from_end);
    if (!p) p = pane_new(a, start, end, from_end, late ? 0 : expected_keys(a, lo));
    if (late) {
        wr_arr_push(&a->late, p);
        memmove(a->late.at + lo + 1, a->late.at + lo, (n - lo) * sizeof(wr_pane *));
        a->late.at[lo] = p;
    } else {
        wr_arr_push(&a->panes, p);
        memmove(a->panes.at + lo + 1, a->panes.at + lo, (n - lo) * sizeof(wr_pane *));
        a->panes.at[lo] = p;
    }
    if (a->limit_bytes) wr_kmap_limit(p->map, pane_limit(a)); /* the others: with the next batch */
    return p;
}
void wr_window_pane_free(wr_window_agg *a, wr_pane *p) {
    if (a->last == p) a->last = NULL;
    if (p->from_end == WR_TIME_MIN) a->last_count = wr_kmap_count(p->map);
    wr_kmap_clear(p->map);
    if (wr_kmap_settle(p->map)) pane_release(a, p);
    else wr_arr_push(&a->dead, p);
}

/* ---- rows in ---- */

static void count_in(wr_window_agg *a, int64_t end, uint64_t in, uint64_t late) {
    wr_detail       *d = a->op.ctx->detail;
    wr_window_count *c = d ? wr_detail_window(d, wr_win_instant(&a->win, end)) : NULL;
    if (d) d->window_us = a->win.pane_us;
    if (c) c->in += in, c->late += late;
}

/* The pane of a row that comes with a watermark of its own; NULL when it is late for every window. */
static wr_pane *late_pane(wr_window_agg *a, int64_t t, int64_t start, int64_t row_wm_us) {
    int64_t last = wr_win_last_end(&a->win, t), end = wr_win_first_end(&a->win, t);
    if (wr_win_closed(row_wm_us, wr_win_instant(&a->win, last))) return NULL;
    if (!wr_win_closed(row_wm_us, wr_win_instant(&a->win, end))) return wr_window_pane_get(a, start, start + a->win.pane_us, WR_TIME_MIN);
    if (!a->win.tz && a->win.w.kind == WR_WINDOW_HOP) end += wr_floor_div(row_wm_us + 1000 - end, a->win.w.slide_us) * a->win.w.slide_us; /* the last closed one */
    while (wr_win_closed(row_wm_us, wr_win_instant(&a->win, end)) || end <= a->fired_end) end = wr_win_next_end(&a->win, end);
    if (end > last) return NULL;
    return wr_window_pane_get(a, start, start + a->win.pane_us, end);
}
static wr_status place_row(wr_window_agg *a, const wr_batch *batch, uint32_t row, wr_pane **out, wr_err *err) {
    int64_t us, t;
    int64_t row_wm_us = batch->row_wm_us ? batch->row_wm_us[row] : WR_TIME_MIN;
    WR_TRY(wr_op_row_time(&batch->cols[a->opts.window.time_col], row, &us, err));
    t = wr_win_time(&a->win, us);
    if (WR_LIKELY(row_wm_us == WR_TIME_MIN && a->last && t >= a->last->start && t < a->last->end)) {
        *out = a->last;
        return WR_OK;
    }
    if (a->win.w.slide_us > a->win.w.size_us && wr_win_last_end(&a->win, t) == WR_TIME_MIN) { /* between two hops */
        a->op.ctx->ledger->dropped[WR_REASON_FILTERED]++;
        *out = NULL;
        return WR_OK;
    }
    int64_t start = wr_win_pane(&a->win, t);
    if (row_wm_us != WR_TIME_MIN) {
        *out = late_pane(a, t, start, row_wm_us);
        if (!*out) a->op.ctx->ledger->dropped[WR_REASON_LATE]++, count_in(a, start + a->win.pane_us, 0, 1);
        return WR_OK;
    }
    *out = a->last = wr_window_pane_get(a, start, start + a->win.pane_us, WR_TIME_MIN);
    return WR_OK;
}
static wr_status place_windowed_row(wr_window_agg *a, const wr_batch *batch, uint32_t row, wr_pane **out, wr_err *err) {
    int64_t start, end;
    WR_TRY(wr_op_row_time(&batch->cols[a->opts.in_start], row, &start, err));
    WR_TRY(wr_op_row_time(&batch->cols[a->opts.in_end], row, &end, err));
    int64_t row_wm_us = batch->row_wm_us ? batch->row_wm_us[row] : WR_TIME_MIN;
    if (row_wm_us != WR_TIME_MIN && wr_win_closed(row_wm_us, wr_win_instant(&a->win, end))) {
        a->op.ctx->ledger->dropped[WR_REASON_LATE]++;
        count_in(a, end, 0, 1);
        *out = NULL;
        return WR_OK;
    }
    if (!a->last || a->last->start != start || a->last->end != end) a->last = wr_window_pane_get(a, start, end, WR_TIME_MIN);
    *out = a->last;
    return WR_OK;
}

static wr_status feed_piece(wr_window_agg *a, const wr_batch *batch, const uint64_t *hash, wr_pane *p, const uint16_t *rows, uint32_t n, wr_err *err) {
    wr_batch view = *batch;
    view.sel = rows;
    view.n_sel = n;
    WR_TRY(wr_kmap_find(p->map, &view, a->opts.keys, hash, true, a->slots, NULL, err));
    wr_kmap_values(p->map, a->slots, n, a->blocks);
    for (uint32_t i = 0; i < n; i++) a->rows[i] = rows[i];
    return a->opts.partial ? wr_aggs_take(a->aggs, batch, batch->n_cols - 1, a->rows, a->blocks, n, err)
                           : wr_aggs_update(a->aggs, batch, a->rows, a->blocks, n, err);
}
/* In pieces whose accumulators stay in the nearest cache between being found and being changed. */
static wr_status feed_pane(wr_window_agg *a, const wr_batch *batch, const uint64_t *hash, wr_pane *p, const uint16_t *rows, uint32_t n, wr_err *err) {
    wr_status s = WR_OK;
    a->charging = p->map;
    for (uint32_t from = 0; from < n && s == WR_OK; from += PIECE_ROWS) s = feed_piece(a, batch, hash, p, rows + from, WR_MIN(n - from, (uint32_t)PIECE_ROWS), err);
    if (a->aggs->has_heap) wr_kmap_charge(p->map, wr_aggs_heap_change(a->aggs));
    return s;
}

static void begin_stretch(wr_window_agg *a, wr_pane *p, uint32_t from) {
    if (p->mark != a->batch_no) {
        p->mark = a->batch_no;
        p->index = a->n_touched++;
        a->touched[p->index] = p;
        a->count[p->index] = 0;
    }
    a->stretches[a->n_stretches++] = (wr_stretch){.pane = p, .from = from};
}
static void end_stretch(wr_window_agg *a, uint32_t to) {
    if (!a->n_stretches) return;
    wr_stretch *s = &a->stretches[a->n_stretches - 1];
    s->n = to - s->from;
    a->count[s->pane->index] += s->n;
}
/* Whatever rows there may be: each is judged by itself. */
static wr_status place_each(wr_window_agg *a, const wr_batch *batch, wr_err *err) {
    uint32_t n = wr_batch_live(batch), m = 0;
    wr_pane *was = NULL;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t row = wr_batch_row(batch, i);
        wr_pane *p;
        WR_TRY(a->opts.input_is_windowed ? place_windowed_row(a, batch, row, &p, err) : place_row(a, batch, row, &p, err));
        if (!p) continue;
        if (p != was) end_stretch(a, m), begin_stretch(a, was = p, m);
        a->row_of[m++] = (uint16_t)row;
    }
    end_stretch(a, m);
    a->n_placed = m;
    return WR_OK;
}
/* Times without NULLs in microseconds, no late row, no gaps between windows, days of 24 hours: nothing can happen to a row but that another pane begins. */
static bool is_plain(const wr_window_agg *a, const wr_batch *batch) {
    if (a->opts.input_is_windowed || batch->row_wm_us || a->win.tz || a->win.w.slide_us > a->win.w.size_us) return false;
    const wr_vec *time = &batch->cols[a->opts.window.time_col];
    return !time->valid && time->type.id != WR_T_NULL && time->type.prec <= 6;
}
static void place_plain(wr_window_agg *a, const wr_batch *batch) {
    const int64_t *times = batch->cols[a->opts.window.time_col].data;
    uint32_t n = wr_batch_live(batch);
    int64_t  start = a->last ? a->last->start : 0;
    uint64_t length = a->last ? (uint64_t)a->win.pane_us : 0; /* 0: the first row looks for its pane */
    for (uint32_t i = 0; i < n; i++) {
        uint32_t row = wr_batch_row(batch, i);
        bool     stays = (uint64_t)times[row] - (uint64_t)start < length;
        if (WR_UNLIKELY(!stays)) {
            start = wr_win_pane(&a->win, times[row]), length = (uint64_t)a->win.pane_us;
            a->last = wr_window_pane_get(a, start, start + a->win.pane_us, WR_TIME_MIN);
        }
        if (WR_UNLIKELY(!stays || !i)) end_stretch(a, i), begin_stretch(a, a->last, i);
        a->row_of[i] = (uint16_t)row;
    }
    end_stretch(a, n);
    a->n_placed = n;
}
/* The placed rows by pane, each pane's in their order; count becomes the end of each pane's. Mostly time goes one way, and they are that already. */
static const uint16_t *by_pane(wr_window_agg *a) {
    uint32_t at = 0;
    bool     ordered = a->n_stretches == a->n_touched;
    for (uint32_t k = 0; k < a->n_touched; k++) {
        uint32_t c = a->count[k];
        a->count[k] = ordered ? at + c : at;
        at += c;
    }
    for (uint32_t i = 0; i < a->n_stretches && !ordered; i++) {
        const wr_stretch *s = &a->stretches[i];
        memcpy(a->sorted + a->count[s->pane->index], a->row_of + s->from, s->n * sizeof *a->sorted);
        a->count[s->pane->index] += s->n;
    }
    return ordered ? a->row_of : a->sorted;
}

static wr_status window_agg_on_batch(wr_op *op, uint32_t input, wr_batch *batch, wr_out *out, wr_err *err) {
    wr_window_agg *a = (wr_window_agg *)op;
    (void)input, (void)out;
    a->batch_no++;
    a->n_touched = a->n_stretches = a->n_placed = 0;
    if (WR_UNLIKELY(a->dead.n)) bury(a);
    if (WR_UNLIKELY(a->limit_bytes && a->n_limited != a->panes.n + a->late.n)) set_limits(a);
    if (is_plain(a, batch)) place_plain(a, batch);
    else WR_TRY(place_each(a, batch, err));
    const uint16_t *rows = by_pane(a);
    op->ctx->ledger->used += a->n_placed;
    const uint64_t *hash = a->n_placed ? wr_op_hash(batch, a->opts.keys, a->opts.n_keys, a->hash) : NULL;
    for (uint32_t k = 0; k < a->n_touched; k++) {
        uint32_t from = k ? a->count[k - 1] : 0;
        count_in(a, a->touched[k]->end, a->count[k] - from, 0);
        WR_TRY(feed_pane(a, batch, hash, a->touched[k], rows + from, a->count[k] - from, err));
    }
    a->aggs->seq += batch->n_rows;
    return WR_OK;
}

static wr_status window_agg_on_watermark(wr_op *op, int64_t wm_us, wr_out *out, bool *more, wr_err *err) {
    wr_window_agg *a = (wr_window_agg *)op;
    a->wm_us = wm_us;
    return wr_window_fire(a, wm_us, out, more, err);
}

/* ---- checkpoint ---- */

static wr_status save_pane(int64_t start, int64_t end, int64_t from_end, wr_kmap *map, wr_sbuf *out, wr_err *err) {
    wr_put_i64(out, start);
    wr_put_i64(out, end);
    wr_put_i64(out, from_end);
    return wr_kmap_save(map, out, err);
}
static wr_status window_agg_save(wr_op *op, wr_sbuf *out, wr_err *err) {
    wr_window_agg *a = (wr_window_agg *)op;
    bool cumulating = a->win.w.kind == WR_WINDOW_CUMULATE && !a->direct && a->run_base != WR_TIME_MIN;
    wr_assert(!a->emitting);
    bury(a);
    wr_op_save_head(out, tag, VERSION);
    wr_put_i64(out, a->fired_end);
    wr_put_u64(out, a->aggs->seq);
    wr_put_u32(out, a->panes.n + a->late.n + cumulating);
    for (uint32_t i = 0; i < a->panes.n; i++)
        WR_TRY(save_pane(a->panes.at[i]->start, a->panes.at[i]->end, WR_TIME_MIN, a->panes.at[i]->map, out, err));
    for (uint32_t i = 0; i < a->late.n; i++)
        WR_TRY(save_pane(a->late.at[i]->start, a->late.at[i]->end, a->late.at[i]->from_end, a->late.at[i]->map, out, err));
    /* What is running of a CUMULATE counts from the base on, in every later step: it is saved as a pane that joins at the next one. */
    if (cumulating) WR_TRY(save_pane(a->run_base, a->run_base + a->win.pane_us, wr_win_next_end(&a->win, a->fired_end), a->run, out, err));
    return WR_OK;
}
/* An image of a pane in memory may stand beside another of the same name (what is running of a CUMULATE), so it is merged in; what is in the tier, once
 * for each key group, belongs to the pane's own map. */
static wr_status load_pane(wr_window_agg *a, int64_t start, int64_t end, int64_t from_end, wr_reader *in, uint32_t from, uint32_t to, wr_err *err) {
    if (wr_kmap_is_marker(*in)) {
        wr_pane *p = wr_window_pane_get(a, start, end, from_end);
        a->charging = p->map;
        WR_TRY(wr_kmap_load(p->map, in, a->op.ctx->n_key_groups, from, to, err));
        if (a->aggs->has_heap) wr_kmap_charge(p->map, wr_aggs_heap_change(a->aggs));
        return WR_OK;
    }
    wr_kmap *part = map_new(a, "pane", a->aggs->bytes, 0, run_value_free);
    a->charging = NULL;
    wr_status s = wr_kmap_load(part, in, a->op.ctx->n_key_groups, from, to, err);
    if (a->aggs->has_heap) wr_kmap_charge(part, wr_aggs_heap_change(a->aggs));
    if (s == WR_OK && wr_kmap_count(part)) {
        wr_pane *p = wr_window_pane_get(a, start, end, from_end);
        a->charging = p->map;
        for (uint32_t slot = wr_kmap_next(part, WR_SLOT_NONE); slot != WR_SLOT_NONE && s == WR_OK; slot = wr_kmap_next(part, slot)) {
            uint32_t to_slot;
            s = wr_kmap_find_like(p->map, part, slot, true, &to_slot, NULL, err);
            if (s == WR_OK) wr_aggs_merge(a->aggs, wr_kmap_value(p->map, to_slot), wr_kmap_peek(part, slot));
        }
        if (a->aggs->has_heap) wr_kmap_charge(p->map, wr_aggs_heap_change(a->aggs));
    }
    wr_kmap_free(part);
    (void)wr_aggs_heap_change(a->aggs);
    return s;
}
static wr_status window_agg_load(wr_op *op, wr_reader *in, uint32_t from, uint32_t to, wr_err *err) {
    wr_window_agg *a = (wr_window_agg *)op;
    WR_TRY(wr_op_load_head(in, tag, VERSION, err));
    int64_t  fired_end = wr_get_i64(in);
    uint64_t seq = wr_get_u64(in);
    uint32_t n = wr_get_u32(in);
    a->fired_end = WR_MAX(a->fired_end, fired_end);
    a->aggs->seq = WR_MAX(a->aggs->seq, seq);
    for (uint32_t i = 0; i < n && !in->bad; i++) {
        int64_t start = wr_get_i64(in), end = wr_get_i64(in), from_end = wr_get_i64(in);
        if (in->bad) break;
        WR_TRY(load_pane(a, start, end, from_end, in, from, to, err));
    }
    return in->bad ? wr_op_damaged(tag, err) : WR_OK;
}

static void window_agg_usage(const wr_op *op, wr_op_usage *out) {
    const wr_window_agg *a = (const wr_window_agg *)op;
    *out = (wr_op_usage){.oldest_us = WR_TIME_MAX};
    for (uint32_t i = 0; i < a->panes.n + a->late.n; i++) {
        const wr_pane *p = i < a->panes.n ? a->panes.at[i] : a->late.at[i - a->panes.n];
        out->state_bytes += wr_kmap_bytes(p->map) + (int64_t)sizeof *p;
        out->keys += wr_kmap_count(p->map);
        out->oldest_us = WR_MIN(out->oldest_us, p->start);
        wr_op_map_usage(p->map, out);
    }
    out->spills = a->op.ctx->tier && !a->two_stacks;
    wr_user_cost(a->aggs, &out->calls);
    if (a->run) out->state_bytes += wr_kmap_bytes(a->run), out->keys += wr_kmap_count(a->run);
    out->state_bytes += a->parts_bytes;
    if (a->run_base != WR_TIME_MIN) out->oldest_us = WR_MIN(out->oldest_us, a->run_base);
    if (a->win.tz && out->oldest_us != WR_TIME_MAX) out->oldest_us = wr_tz_to_utc(a->win.tz, out->oldest_us);
}
static wr_status window_agg_limit(wr_op *op, int64_t bytes, wr_err *err) {
    wr_window_agg *a = (wr_window_agg *)op;
    a->limit_bytes = bytes;
    set_limits(a);
    if (bytes && a->parts_bytes > bytes / 8) wr_window_parts_drop(a);
    if (!bytes || a->emitting) return WR_OK; /* a window that is coming out keeps its place */
    for (uint32_t i = 0; i < a->panes.n + a->late.n; i++) {
        wr_pane *p = i < a->panes.n ? a->panes.at[i] : a->late.at[i - a->panes.n];
        a->charging = p->map;
        WR_TRY(wr_kmap_shrink(p->map, pane_limit(a), err));
    }
    return WR_OK;
}
static void window_agg_close(wr_op *op) {
    wr_window_agg *a = (wr_window_agg *)op;
    if (a->emit_map) wr_kmap_scan_end(a->emit_map, &a->emit_cursor);
    for (uint32_t i = 0; i < a->panes.n; i++) pane_release(a, a->panes.at[i]);
    for (uint32_t i = 0; i < a->late.n; i++) pane_release(a, a->late.at[i]);
    for (uint32_t i = 0; i < a->dead.n; i++) pane_release(a, a->dead.at[i]);
    wr_arr_free(&a->dead);
    wr_arr_free(&a->panes);
    wr_arr_free(&a->late);
    wr_window_run_clear(a);
    wr_kmap_free(a->run);
    wr_aggs_free(a->aggs);
    wr_arena_free(a->arena);
    wr_free(a);
}

static const wr_op_vt window_agg_vt = {
    .name = "window_agg", .on_batch = window_agg_on_batch, .on_watermark = window_agg_on_watermark, .output_watermark = wr_op_same_watermark,
    .save = window_agg_save, .load = window_agg_load, .usage = window_agg_usage, .limit = window_agg_limit, .close = window_agg_close,
};

double wr_window_agg_key_bytes(const wr_window_agg_opts *opts, double key_bytes) {
    double   fixed, per_value;
    bool     hop = !opts->input_is_windowed && opts->window.kind == WR_WINDOW_HOP && opts->window.slide_us != opts->window.size_us;
    wr_aggs *a = wr_aggs_new(opts->aggs, opts->n_aggs, opts->retract_input, opts->retract_input || hop);
    wr_agg_bytes(opts->aggs, opts->n_aggs, opts->retract_input, &fixed, &per_value);
    double   lists = WR_MAX(fixed - a->bytes, 0.0);
    uint32_t value = hop && !a->invertible ? 2 * a->bytes + (uint32_t)sizeof(wr_pane_link) : a->bytes;
    if (!a->has_heap) lists = 0;
    wr_aggs_free(a);
    return wr_kmap_entry_bytes(value, key_bytes) + lists;
}

wr_op *wr_window_agg_new(const wr_window_agg_opts *opts, const wr_schema *input, wr_op_ctx *ctx) {
    if (opts->window.kind == WR_WINDOW_SESSION && !opts->input_is_windowed) return wr_session_agg_new(opts, input, ctx);
    wr_window_agg *a = wr_calloc(1, sizeof *a);
    a->op = (wr_op){.vt = &window_agg_vt, .ctx = ctx};
    a->opts = *opts;
    a->arena = wr_arena_new(ctx->acct);
    a->opts.keys = wr_op_copy_cols(a->arena, opts->keys, opts->n_keys);
    wr_agg *aggs = wr_new_n(a->arena, wr_agg, opts->n_aggs ? opts->n_aggs : 1);
    if (opts->n_aggs) memcpy(aggs, opts->aggs, opts->n_aggs * sizeof *aggs);
    a->opts.aggs = aggs;
    a->win = wr_win_of(&opts->window, ctx->tz);
    a->start_type = a->end_type = wr_win_bound_type();
    if (opts->input_is_windowed) a->start_type = input->fields[opts->in_start].type, a->end_type = input->fields[opts->in_end].type;
    a->direct = opts->input_is_windowed || opts->window.kind == WR_WINDOW_TUMBLE || (opts->window.kind == WR_WINDOW_HOP && a->win.w.slide_us == a->win.w.size_us);
    bool hop = !a->direct && opts->window.kind == WR_WINDOW_HOP;
    a->aggs = wr_aggs_new(aggs, opts->n_aggs, opts->retract_input, opts->retract_input || hop);
    a->two_stacks = hop && !a->aggs->invertible;
    a->key_types = wr_op_key_types(a->arena, input, opts->keys, opts->n_keys);
    a->codec = wr_rowcodec_new(a->arena, a->key_types, opts->n_keys);
    a->run_base = a->fired_end = a->wm_us = WR_TIME_MIN;
    if (!a->direct) a->run = map_new(a, "pane", value_bytes(a), 0, a->two_stacks ? pane_value_free : run_value_free);
    return &a->op;
}
