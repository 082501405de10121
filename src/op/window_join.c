/* op/window_join.c: joins rows of the same window (equal window_start and window_end) on key, when the window closes.
 *
 * Idea       rows wait per (window_end, window_start, key) on both sides. Windows are a short list ordered by end, each with the slots of its
 *            keys. A window that the watermark has closed (wm >= end - 1 ms) is joined key by key: a nested loop over row references, by
 *            batches, the longer side inside, so that a short side is decoded once per pass; then what had no partner is padded.
 *            Without keys all rows of a window are one such loop, filtered by the residual.
 * Late rows  row_wm_us >= window_end - 1 ms: dropped and counted, on outer sides too (the window has been answered).
 * Order      windows by end; within a window keys in order of arrival. Rows with a NULL key are padded at once: nothing can change them.
 * Watermark  identity: a window's rows come out with the watermark that closes it.
 * Thread     the worker that owns the key group.                                                                          */
#include "op/join_common.h"
#include "op/op_util.h"

typedef struct keyed { wr_join_buf buf[2]; } keyed;
typedef struct window {
    int64_t end_us; /* UTC: when it closes */
    WR_ARR(uint32_t) slots;
} window;
typedef struct window_join {
    wr_join_base  base;
    wr_kmap      *map;        /* key columns: keys, window_end, window_start */
    uint32_t      end_col[2];
    bool          ltz, end_nano[2];
    int64_t       wm_us;
    WR_ARR(window) windows;   /* by end_us */
    uint32_t      last;       /* index of the window used last */
    wr_join_out   o;
    wr_join_probe probe;
    wr_join_misses misses;
    uint16_t      sel[WR_BATCH_MAX];
    /* where firing stands */
    uint32_t      firing; /* the window */
    uint32_t      key_at, i, j, phase; /* i, j: outer and inner row of the loop; phase 0 pairs, 1 left over, 2 right over */
} window_join;

enum { IMAGE_VERSION = 1 };
#define CLOSES_BEFORE_END_US 1000

static int64_t end_us(const window_join *w, uint32_t side, const wr_batch *batch, uint32_t row) {
    int64_t t = ((const int64_t *)batch->cols[w->end_col[side]].data)[row];
    if (w->end_nano[side]) t = wr_floor_div(t, 1000);
    return w->ltz ? wr_tz_to_utc(w->base.op.ctx->tz, t) : t;
}
static bool emits_unmatched(const window_join *w, uint32_t side) {
    return wr_join_pads(w->base.kind, side) || (w->base.kind == WR_JOIN_ANTI && side == 0);
}
static void count(window_join *w, uint32_t side, wr_reason reason) { w->base.op.ctx->ledger->dropped[reason]++, w->base.op.ctx->ledger->lost[side]++; }

static void count_window(window_join *w, int64_t end, uint64_t in, uint64_t late, uint64_t out) {
    wr_window_count *c = w->base.op.ctx->detail ? wr_detail_window(w->base.op.ctx->detail, end) : NULL;
    if (c) c->in += in, c->late += late, c->out += out;
}

static window *window_at(window_join *w, int64_t end) {
    if (w->last < w->windows.n && w->windows.at[w->last].end_us == end) return &w->windows.at[w->last];
    uint32_t from = 0, to = w->windows.n;
    while (from < to) {
        uint32_t mid = (from + to) / 2;
        if (w->windows.at[mid].end_us < end) from = mid + 1;
        else to = mid;
    }
    w->last = from;
    if (from < w->windows.n && w->windows.at[from].end_us == end) return &w->windows.at[from];
    wr_arr_push(&w->windows, (window){0});
    memmove(w->windows.at + from + 1, w->windows.at + from, (w->windows.n - 1 - from) * sizeof *w->windows.at);
    w->windows.at[from] = (window){.end_us = end};
    return &w->windows.at[from];
}
static void window_add(window_join *w, window *win, uint32_t slot) {
    uint32_t cap = win->slots.cap;
    wr_arr_push(&win->slots, slot);
    if (cap != win->slots.cap) wr_account_add(w->base.op.ctx->acct, ((int64_t)win->slots.cap - cap) * 4);
}
static void window_drop(window_join *w, window *win) {
    wr_account_add(w->base.op.ctx->acct, -(int64_t)win->slots.cap * 4);
    wr_arr_free(&win->slots);
}

/* ---- rows come ---- */

/* Takes late rows and rows without a window out of the batch; view gets the rest. */
static void drop_late(window_join *w, uint32_t side, const wr_batch *batch, wr_batch *view) {
    uint32_t live = wr_batch_live(batch), n = 0;
    *view = *batch;
    if (!batch->row_wm_us && !batch->cols[w->end_col[side]].valid) return;
    for (uint32_t i = 0; i < live; i++) {
        uint32_t row = wr_batch_row(batch, i);
        int64_t  wm = batch->row_wm_us ? batch->row_wm_us[row] : WR_TIME_MIN;
        if (wr_vec_is_null(&batch->cols[w->end_col[side]], row)) count(w, side, WR_REASON_NULL_KEY), wr_join_lost(w->base.op.ctx, side, WR_REASON_NULL_KEY, (wr_near){0}, batch, row);
        else if (wm != WR_TIME_MIN && wm >= wr_sat_sub(end_us(w, side, batch, row), CLOSES_BEFORE_END_US)) {
            count(w, side, WR_REASON_LATE), count_window(w, end_us(w, side, batch, row), 0, 1, 0);
            wr_join_lost(w->base.op.ctx, side, WR_REASON_LATE, (wr_near){0}, batch, row);
        } else w->sel[n++] = (uint16_t)row;
    }
    view->sel = w->sel, view->n_sel = n;
}

static wr_status null_keys(window_join *w, uint32_t side, wr_batch *batch, wr_out *out, wr_err *err) {
    wr_join_probe *p = &w->probe;
    wr_join_out_begin(&w->o, (int)side, batch);
    for (uint32_t i = 0; i < p->n_null; i++) {
        if (!emits_unmatched(w, side)) {
            count(w, side, WR_REASON_NULL_KEY);
            wr_join_lost(w->base.op.ctx, side, WR_REASON_NULL_KEY, (wr_near){0}, batch, p->null[i]);
            continue;
        }
        wr_reason reason = side ? WR_REASON_UNMATCHED_RIGHT : WR_REASON_UNMATCHED_LEFT;
        count(w, side, reason);
        wr_join_lost(w->base.op.ctx, side, reason, (wr_near){.why = WR_MISS_NULL_KEY}, batch, p->null[i]);
        wr_join_missed(&w->misses, side, 0, 0, (wr_near){.why = WR_MISS_NULL_KEY});
        wr_join_out_pair(&w->o, p->null[i], NULL, WR_KIND_INSERT, WR_TIME_MIN);
        if (wr_join_out_full(&w->o)) WR_TRY(wr_join_out_emit(&w->o, out, err));
    }
    return wr_join_out_emit(&w->o, out, err);
}

/* The windows of one key would all hash alike: mix the window's end into the low half, which the map's index uses; the high half, which decides
 * the key group, stays. */
static void spread_hash(window_join *w, uint32_t side, const wr_batch *batch) {
    wr_join_probe *p = &w->probe;
    const int64_t *ends = batch->cols[w->end_col[side]].data;
    for (uint32_t i = 0; i < p->n; i++) {
        uint32_t row = p->sel[i];
        uint64_t hash = p->hash[row];
        p->hash_buf[row] = (hash & ~UINT64_C(0xFFFFFFFF)) | (uint32_t)wr_hash_mix(hash, (uint64_t)ends[row]);
    }
    p->hash = p->hash_buf;
}

static wr_status on_batch(wr_op *op, uint32_t side, wr_batch *batch, wr_out *out, wr_err *err) {
    window_join   *w = (window_join *)op;
    wr_join_probe *p = &w->probe;
    wr_batch       view;
    drop_late(w, side, batch, &view);
    wr_join_probe_split(p, &w->base, side, &view, false, false);
    spread_hash(w, side, batch);
    WR_TRY(wr_kmap_find(w->map, &p->view, w->base.side[side].keys, p->hash, true, p->slot, p->created, err));
    int64_t  last_us = WR_TIME_MIN;
    uint64_t n_last = 0;
    for (uint32_t i = 0; i < p->n; i++) {
        uint32_t row = p->sel[i];
        if (p->created[i]) window_add(w, window_at(w, end_us(w, side, batch, row)), p->slot[i]);
        keyed       *k = wr_kmap_value(w->map, p->slot[i]);
        wr_join_row *r = wr_join_store(&w->base, side, batch, row);
        r->time_us = end_us(w, side, batch, row); /* the same for all rows of the key: they stay in order of arrival */
        r->wm_us = WR_TIME_MIN;
        wr_join_buf_add(w->base.heap, &k->buf[side], r->time_us, r);
        w->base.n_rows++;
        op->ctx->ledger->kept[side]++;
        if (r->time_us != last_us) {
            if (n_last) count_window(w, last_us, n_last, 0, 0);
            last_us = r->time_us, n_last = 0;
        }
        n_last++;
    }
    if (n_last) count_window(w, last_us, n_last, 0, 0);
    wr_status s = null_keys(w, side, batch, out, err);
    wr_join_out_reset(&w->o);
    return s;
}

/* ---- a window closes ---- */

static void mark_row(window_join *w, uint32_t side, const wr_join_row *row) {
    if (row->mark & WR_ROW_MATCHED) return;
    ((wr_join_row *)(uintptr_t)row)->mark |= WR_ROW_MATCHED;
    w->base.op.ctx->ledger->matched[side]++, w->base.op.ctx->ledger->kept[side]--;
}

/* Evaluates the pairs collected, marks the rows, emits the pairs (semi and anti: emits nothing yet). */
static wr_status flush_pairs(window_join *w, wr_out *out, wr_err *err) {
    wr_join_out *o = &w->o;
    uint16_t     sel[WR_BATCH_MAX];
    uint32_t     n_sel;
    wr_batch    *built;
    if (!o->n) return WR_OK;
    wr_status s = wr_join_out_filter(o, sel, &n_sel, &built, err);
    for (uint32_t i = 0; i < n_sel && s == WR_OK; i++) mark_row(w, 0, o->row[0][sel[i]]), mark_row(w, 1, o->row[1][sel[i]]);
    if (s == WR_OK && n_sel && !wr_join_left_only(w->base.kind)) {
        if (!built) built = wr_join_out_build(o, false);
        if (n_sel < built->n_rows) {
            built->sel = memcpy(wr_mem_alloc(built->mem, n_sel * sizeof *sel), sel, n_sel * sizeof *sel);
            built->n_sel = n_sel;
            if (n_sel * 4 < built->n_rows) {
                wr_batch *dense = wr_batch_compact(built);
                wr_batch_unref(built);
                built = dense;
            }
        }
        s = wr_emit(out, built, err);
        built = NULL;
    }
    wr_batch_unref(built);
    wr_join_out_reset(o);
    return s;
}

/* Continues the loop over the pairs of one key; *done when through, else downstream asked to pause. */
static wr_status pair_up(window_join *w, keyed *k, wr_out *out, bool *done, wr_err *err) {
    uint32_t     outer = k->buf[0].n <= k->buf[1].n ? 0 : 1;
    wr_join_buf *a = &k->buf[outer], *b = &k->buf[!outer];
    wr_join_ent *rows_a = wr_join_buf_ents(a), *rows_b = wr_join_buf_ents(b);
    *done = false;
    if (wr_join_left_only(w->base.kind) && !w->base.residual) { /* the key alone decides */
        for (uint32_t i = 0; i < a->n && b->n; i++) mark_row(w, outer, rows_a[i].row);
        for (uint32_t i = 0; i < b->n && a->n; i++) mark_row(w, !outer, rows_b[i].row);
        *done = true;
        return WR_OK;
    }
    for (; w->i < a->n; w->i++, w->j = 0) {
        wr_join_row *x = rows_a[w->i].row;
        while (w->j < b->n) {
            wr_join_row *y = rows_b[w->j++].row;
            wr_join_out_stored(&w->o, outer ? y : x, outer ? x : y, WR_KIND_INSERT, WR_TIME_MIN);
            if (!wr_join_out_full(&w->o)) continue;
            WR_TRY(flush_pairs(w, out, err));
            if (out->full(out)) return WR_OK;
        }
    }
    *done = true;
    return WR_OK;
}

static bool semi_match(const window_join *w, uint32_t side, const wr_join_row *row) {
    return w->base.kind == WR_JOIN_SEMI && side == 0 && (row->mark & WR_ROW_MATCHED);
}

/* Rows of the same key in the same window: the rest of ON refused them. Else the key may be in another window that has closed without it, or will. */
static void unmatched(window_join *w, uint32_t side, const keyed *k, const wr_join_row *row) {
    uint64_t hash = wr_kmap_hash(w->map, w->windows.at[w->firing].slots.at[w->key_at]) >> 32; /* of the key alone, see spread_hash */
    wr_reason reason = side ? WR_REASON_UNMATCHED_RIGHT : WR_REASON_UNMATCHED_LEFT;
    count(w, side, reason), w->base.op.ctx->ledger->kept[side]--;
    wr_near near = wr_join_missed(&w->misses, side, hash << 32 | hash, w->windows.at[w->firing].end_us, (wr_near){.why = k->buf[!side].n ? WR_MISS_CONDITION : WR_MISS_NO_PARTNER});
    wr_join_lost_stored(&w->base, side, reason, near, 1, row);
}

/* Pads what had no partner (or emits what semi and anti keep) of one side of one key and counts it. */
static wr_status leftovers(window_join *w, uint32_t side, keyed *k, wr_out *out, bool *done, wr_err *err) {
    wr_join_buf *buf = &k->buf[side];
    *done = false;
    while (w->i < buf->n) {
        wr_join_row *row = wr_join_buf_ents(buf)[w->i++].row;
        bool matched = row->mark & WR_ROW_MATCHED;
        if (!matched) unmatched(w, side, k, row);
        if (!semi_match(w, side, row) && (matched || !emits_unmatched(w, side))) continue;
        wr_join_out_stored(&w->o, side ? NULL : row, side ? row : NULL, WR_KIND_INSERT, WR_TIME_MIN);
        if (!wr_join_out_full(&w->o)) continue;
        WR_TRY(wr_join_out_emit(&w->o, out, err));
        if (out->full(out)) return WR_OK;
    }
    *done = true;
    return WR_OK;
}

/* At the start of each stretch of keys: what waits to go out goes, so that values may leave, and those of the stretch come in one read. */
static wr_status warm_keys(window_join *w, const window *win, wr_out *out, wr_err *err) {
    enum { STRETCH = 256 };
    if (!wr_kmap_has_away(w->map)) return WR_OK;
    if (w->key_at % STRETCH == 0 && !w->i && !w->j) {
        WR_TRY(w->phase == 0 ? flush_pairs(w, out, err) : wr_join_out_emit(&w->o, out, err));
        WR_TRY(wr_kmap_relax(w->map, err));
        WR_TRY(wr_kmap_warm_all(w->map, win->slots.at + w->key_at, WR_MIN(win->slots.n - w->key_at, (uint32_t)STRETCH), err));
    }
    return wr_kmap_warm(w->map, win->slots.at[w->key_at], err);
}

/* Phases go over all keys of the window one after the other, so that full batches come out however small the keys are. */
static wr_status fire(window_join *w, window *win, wr_out *out, bool *done, wr_err *err) {
    for (; w->phase < 3; w->phase++, w->key_at = 0) {
        for (; w->key_at < win->slots.n; w->key_at++, w->i = w->j = 0) {
            WR_TRY(warm_keys(w, win, out, err));
            keyed *k = wr_kmap_value(w->map, win->slots.at[w->key_at]);
            if (w->phase == 0) WR_TRY(pair_up(w, k, out, done, err));
            else WR_TRY(leftovers(w, w->phase - 1, k, out, done, err));
            if (!*done) return WR_OK;
            if (w->phase == 2) w->base.n_rows -= (int64_t)k->buf[0].n + k->buf[1].n;
        }
        if (w->phase == 0) WR_TRY(flush_pairs(w, out, err));
    }
    WR_TRY(wr_join_out_emit(&w->o, out, err));
    for (uint32_t i = 0; i < win->slots.n; i++) wr_kmap_remove(w->map, win->slots.at[i]);
    w->phase = w->key_at = w->i = w->j = 0;
    *done = true;
    return WR_OK;
}

static wr_status on_watermark(wr_op *op, int64_t wm_us, wr_out *out, bool *more, wr_err *err) {
    window_join *w = (window_join *)op;
    uint32_t     n_done = 0;
    wr_status    s = WR_OK;
    *more = false;
    w->wm_us = wm_us;
    wr_join_out_begin(&w->o, -1, NULL);
    while (n_done < w->windows.n && wr_sat_sub(w->windows.at[n_done].end_us, CLOSES_BEFORE_END_US) <= wm_us) {
        bool     done = false;
        uint64_t before = op->ctx->ledger->out;
        w->firing = n_done;
        s = fire(w, &w->windows.at[n_done], out, &done, err);
        if (op->ctx->ledger->out > before) count_window(w, w->windows.at[n_done].end_us, 0, 0, op->ctx->ledger->out - before);
        if (s != WR_OK || !done) break;
        window_drop(w, &w->windows.at[n_done++]);
        *more = n_done < w->windows.n && out->full(out);
        if (*more) break;
    }
    if (s == WR_OK && n_done < w->windows.n && wr_sat_sub(w->windows.at[n_done].end_us, CLOSES_BEFORE_END_US) <= wm_us) *more = true;
    if (n_done) {
        w->windows.n -= n_done;
        memmove(w->windows.at, w->windows.at + n_done, w->windows.n * sizeof *w->windows.at);
        w->last = 0;
    }
    return s;
}

/* ---- the rest ---- */

static void value_free(void *self, void *value) {
    window_join *w = self;
    keyed       *k = value;
    for (uint32_t s = 0; s < 2; s++) wr_join_buf_clear(w->base.heap, &k->buf[s]);
}
static void value_save(void *self, const void *value, wr_sbuf *out) {
    (void)self;
    keyed k = *(const keyed *)value;
    for (uint32_t s = 0; s < 2; s++) wr_join_buf_save(&k.buf[s], out);
}
static bool value_load(void *self, void *value, wr_reader *in) {
    window_join *w = self;
    keyed       *k = value;
    bool         ok = true;
    for (uint32_t s = 0; s < 2 && ok; s++) ok = wr_join_buf_load(&w->base, s, &k->buf[s], in);
    return ok && (k->buf[0].n || k->buf[1].n);
}

/* The window list is made anew: every row knows its window's end. */
static void value_new(void *self, uint32_t slot, void *value) {
    window_join *w = self;
    keyed       *k = value;
    w->base.n_rows += (int64_t)k->buf[0].n + k->buf[1].n;
    window_add(w, window_at(w, wr_join_buf_ents(&k->buf[k->buf[0].n ? 0 : 1])->time_us), slot);
}

static wr_status save(wr_op *op, wr_sbuf *out, wr_err *err) {
    window_join *w = (window_join *)op;
    wr_put_u32(out, IMAGE_VERSION);
    return wr_kmap_save(w->map, out, err);
}

static wr_status load(wr_op *op, wr_reader *in, uint32_t from, uint32_t to, wr_err *err) {
    window_join *w = (window_join *)op;
    if (wr_get_u32(in) != IMAGE_VERSION) return wr_fail(err, WR_CORRUPT, "WR310", "state of a window join has an unknown version");
    return wr_kmap_load(w->map, in, op->ctx->n_key_groups, from, to, err);
}

static void usage(const wr_op *op, wr_op_usage *out) {
    const window_join *w = (const window_join *)op;
    *out = (wr_op_usage){.keys = wr_kmap_count(w->map), .rows = (uint64_t)w->base.n_rows, .oldest_us = w->windows.n ? w->windows.at[0].end_us : WR_TIME_MAX};
    out->state_bytes = wr_kmap_bytes(w->map) + wr_join_heap_bytes(w->base.heap);
    wr_op_map_usage(w->map, out);
    for (uint32_t i = 0; i < w->windows.n; i++) out->state_bytes += (int64_t)w->windows.at[i].slots.cap * 4;
}

static wr_status limit(wr_op *op, int64_t bytes, wr_err *err) { return wr_join_limit(&((window_join *)op)->base, ((window_join *)op)->map, bytes, err); }
static void close_op(wr_op *op) {
    window_join *w = (window_join *)op;
    wr_join_out_free(&w->o);
    wr_join_misses_free(&w->misses);
    wr_kmap_free(w->map);
    for (uint32_t i = 0; i < w->windows.n; i++) window_drop(w, &w->windows.at[i]);
    wr_arr_free(&w->windows);
    wr_join_base_free(&w->base);
    wr_free(w);
}

static const wr_op_vt window_join_vt = {"window_join", on_batch, on_watermark, wr_op_same_watermark, save, load, usage, limit, close_op};

wr_op *wr_window_join_new(const wr_window_join_opts *opts, const wr_schema *left, const wr_schema *right, wr_op_ctx *ctx) {
    window_join *w = wr_calloc(1, sizeof *w);
    w->base.op.vt = &window_join_vt;
    wr_join_base_init(&w->base, opts->kind, &opts->keys, opts->residual, left, right, ctx);
    const uint32_t ends[2] = {opts->left_end, opts->right_end}, starts[2] = {opts->left_start, opts->right_start};
    for (uint32_t s = 0; s < 2; s++) { /* the hash is of the keys alone, the map's key has the window as well */
        wr_join_side *side = &w->base.side[s];
        side->keys[opts->keys.n] = w->end_col[s] = ends[s];
        side->keys[opts->keys.n + 1] = starts[s];
        w->end_nano[s] = side->types[ends[s]].prec > 6;
    }
    w->ltz = opts->ltz;
    w->wm_us = WR_TIME_MIN;
    w->misses.ctx = ctx;
    uint32_t n_keys = opts->keys.n + 2;
    wr_type *key_types = wr_new_n(w->base.arena, wr_type, n_keys);
    for (uint32_t i = 0; i < n_keys; i++) key_types[i] = w->base.side[0].types[w->base.side[0].keys[i]];
    const wr_kmap_opts map = {.name = "window_join", .key_types = key_types, .n_key_types = n_keys, .value_bytes = sizeof(keyed),
                                         .acct = ctx->acct, .self = w, .value_free = value_free, .value_save = value_save, .value_load = value_load,
                              .value_new = value_new, .heap_bytes = wr_join_map_heap};
    w->map = wr_op_map_new(&map, ctx, "window_join", WR_SPILL_VALUE);
    wr_join_out_init(&w->o, &w->base);
    return &w->base.op;
}

double wr_window_join_key_bytes(double key_bytes) { return wr_kmap_entry_bytes(sizeof(keyed), key_bytes) + 4 / 0.75; } /* a place in its window's list */
double wr_window_join_row_bytes(double row_bytes, double per_key) {
    return wr_join_piece_bytes(sizeof(wr_join_row) + row_bytes) + wr_join_array_cap(per_key, 4, true) * sizeof(wr_join_ent) / WR_MAX(per_key, 1.0);
}
