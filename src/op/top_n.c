/* op/top_n.c: ROW_NUMBER / RANK / DENSE_RANK ... <= n per key: taking rows in, window Top-N, checkpoints. Changes go out in top_n_emit.c;
 * top_n_over.c: aggregates over the ordered rows instead of a rank.
 *
 * Idea       a row is kept once as [order bytes][unique bytes][encoded row]; order bytes compare with memcmp (row_order.h). Per key an ordered list.
 *            An append-only input keeps only rows that can still be shown: a row behind the last one is refused after one comparison.
 *            A retracting input keeps all, so that a deletion pulls the next row up. What a key showed before a batch is compared with what
 *            it shows after it: at most one change per shown row and batch.
 * Ties       by the unique columns, if the input has a key, else by arrival.
 * Updates    with unique columns a +U (or a -D that carries only the key) finds its old row by them; else, and where the changes of a key may come out of
 *            order (by_row), by the whole row.
 * Windows    window_end >= 0: nothing goes out before the watermark closes the window; then its rows, append-only, and the group is freed.
 * TTL        by processing time since the key's last row; an expired key counts as absent, a sweep frees it.
 * Memory     map, lists and rows charged once a batch.  Thread: one worker.                                                 */
#include "op/top_n.h"

enum { VERSION = 1, MALLOC_EXTRA = 16, SWEEP_SLOTS = 256 };
static const char tag[] = "top_n";

static int by_key(const void *self, const void *a, const void *b) {
    const wr_ranked *x = a, *y = b;
    (void)self;
    int order = wr_row_order_compare(x->mem, x->key_len, y->mem, y->key_len);
    return order ? order : (x->seq > y->seq) - (x->seq < y->seq);
}
static int by_unique(const void *self, const void *a, const void *b) {
    const wr_ranked *x = a, *y = b;
    (void)self;
    return wr_row_order_compare(x->mem + x->order_len, x->key_len - x->order_len, y->mem + y->order_len, y->key_len - y->order_len);
}
static bool same_order(const wr_ranked *a, const wr_ranked *b) {
    return a->order_len == b->order_len && memcmp(a->mem, b->mem, a->order_len) == 0;
}

/* ---- the list of a group ---- */

/* Rows are found by their unique columns: a second list. */
static bool has_unique_list(const wr_top_n_opts *opts) { return opts->retract_input && opts->n_unique && !opts->by_row; }

static void group_open(wr_top_n *t, wr_rank_group *g) {
    if (g->rows) return;
    g->rows = wr_sorted_new(sizeof(wr_ranked));
    t->heap_bytes += g->rows->bytes;
    if (!has_unique_list(&t->opts)) return;
    g->by_unique = wr_sorted_new(sizeof(wr_ranked));
    t->heap_bytes += g->by_unique->bytes;
}
static void group_clear(wr_top_n *t, wr_rank_group *g) {
    if (!g->rows) return;
    for (wr_pos p = wr_sorted_first(); wr_sorted_at(g->rows, p); p = wr_sorted_next(g->rows, p)) {
        wr_ranked *r = wr_sorted_at(g->rows, p);
        t->heap_bytes -= r->key_len + r->row_len + MALLOC_EXTRA;
        wr_free(r->mem);
    }
    t->heap_bytes -= g->rows->bytes + (g->by_unique ? g->by_unique->bytes : 0);
    wr_sorted_free(g->rows);
    wr_sorted_free(g->by_unique);
    g->rows = g->by_unique = NULL;
}
static void list_insert(wr_top_n *t, wr_sorted *list, const wr_ranked *r, wr_sorted_cmp cmp) {
    int64_t before = list->bytes;
    bool    equal;
    wr_sorted_insert(list, wr_sorted_seek(list, r, cmp, NULL, &equal), r);
    t->heap_bytes += list->bytes - before;
}
static void list_remove(wr_top_n *t, wr_sorted *list, wr_pos pos) {
    int64_t before = list->bytes;
    wr_sorted_remove(list, pos);
    t->heap_bytes += list->bytes - before;
}
static void keep(wr_top_n *t, wr_rank_group *g, wr_ranked r) { /* takes a copy of the bytes in r.mem */
    r.mem = memcpy(wr_malloc(r.key_len + r.row_len), r.mem, r.key_len + r.row_len);
    t->heap_bytes += r.key_len + r.row_len + MALLOC_EXTRA;
    list_insert(t, g->rows, &r, by_key);
    if (g->by_unique) list_insert(t, g->by_unique, &r, by_unique);
}
static void count_kept(wr_top_n *t, int64_t n) { t->n_kept += n, t->op.ctx->ledger->kept[0] += (uint64_t)n; }
static void discard(wr_top_n *t, wr_rank_group *g, wr_pos pos) {
    wr_ranked r = *(wr_ranked *)wr_sorted_at(g->rows, pos);
    bool      equal;
    list_remove(t, g->rows, pos);
    if (g->by_unique) {
        wr_pos u = wr_sorted_seek(g->by_unique, &r, by_unique, NULL, &equal);
        if (equal) list_remove(t, g->by_unique, u);
    }
    t->heap_bytes -= r.key_len + r.row_len + MALLOC_EXTRA;
    count_kept(t, -1);
    wr_arr_push(&t->graves, r.mem);
}

/* ---- rows in ---- */

/* The row as a wr_ranked over scratch bytes. */
static wr_ranked describe(wr_top_n *t, const wr_batch *batch, uint32_t row) {
    wr_ranked r = {.seq = t->seq + row};
    wr_sbuf_clear(&t->scratch);
    wr_row_order_put(t->opts.order, t->opts.n_order, batch, row, &t->scratch);
    r.order_len = (uint32_t)t->scratch.len;
    wr_row_order_put(t->unique_order, t->opts.n_unique, batch, row, &t->scratch);
    r.key_len = (uint32_t)t->scratch.len;
    r.mem = t->scratch.at;
    return r;
}
static void describe_row(wr_top_n *t, const wr_batch *batch, uint32_t row, wr_ranked *r) {
    wr_rowcodec_put(t->codec, batch, NULL, row, &t->scratch);
    r->row_len = (uint32_t)t->scratch.len - r->key_len;
    r->mem = t->scratch.at;
}
static void touch(wr_top_n *t, wr_rank_group *g, uint32_t slot) {
    if (g->mark == t->batch_no) return;
    g->mark = t->batch_no;
    g->index = t->n_touched++;
    t->touched[g->index] = g;
    t->touched_slot[g->index] = slot;
    if (t->opts.window_end < 0) wr_top_n_shown(t, g, &t->before);
    t->before_end[g->index] = t->before.n;
}

/* Append-only: can the row be shown? Compares with the last row that is, when the list is full. */
static bool is_behind(const wr_top_n *t, const wr_rank_group *g, const wr_ranked *r) {
    if (!t->opts.last) return true;                  /* WHERE rn <= 0 */
    if (g->rows->count < t->opts.last) return false; /* ranks never exceed the number of rows */
    const wr_ranked *last = wr_sorted_at(g->rows, wr_sorted_last(g->rows));
    if (t->opts.rank == WR_RANK_ROW_NUMBER) return by_key(NULL, r, last) > 0;
    int order = wr_row_order_compare(r->mem, r->order_len, last->mem, last->order_len);
    if (order <= 0) return false;
    if (t->opts.rank == WR_RANK_RANK) return true; /* rank = rows before it + 1 > last */
    uint64_t distinct = 1;
    wr_pos   p = wr_sorted_first();
    for (const wr_ranked *before = wr_sorted_at(g->rows, p), *at; (at = wr_sorted_at(g->rows, p)); p = wr_sorted_next(g->rows, p)) {
        distinct += !same_order(before, at);
        before = at;
    }
    return distinct >= t->opts.last;
}
/* Append-only: drops what fell behind the last rank. */
static void trim(wr_top_n *t, wr_rank_group *g) {
    uint64_t dropped = 0;
    if (g->rows->count <= t->opts.last) return;
    if (t->opts.rank == WR_RANK_ROW_NUMBER) {
        while (g->rows->count > t->opts.last) discard(t, g, wr_sorted_last(g->rows)), dropped++;
    } else {
        uint64_t rank = 0, index = 0, keep_n = 0;
        wr_pos   p = wr_sorted_first();
        for (const wr_ranked *before = NULL, *at; (at = wr_sorted_at(g->rows, p)); p = wr_sorted_next(g->rows, p), index++) {
            if (!before || !same_order(before, at)) rank = t->opts.rank == WR_RANK_RANK ? index + 1 : rank + 1;
            if (rank > t->opts.last) break;
            before = at;
            keep_n++;
        }
        while (g->rows->count > keep_n) discard(t, g, wr_sorted_last(g->rows)), dropped++;
    }
    t->op.ctx->ledger->dropped[WR_REASON_RANKED_OUT] += dropped;
}

static void add_append_only(wr_top_n *t, wr_rank_group *g, uint32_t slot, const wr_batch *batch, uint32_t row) {
    wr_ranked r = describe(t, batch, row);
    if (is_behind(t, g, &r)) {
        t->op.ctx->ledger->dropped[WR_REASON_RANKED_OUT]++;
        return;
    }
    touch(t, g, slot);
    describe_row(t, batch, row, &r);
    keep(t, g, r);
    count_kept(t, 1);
    trim(t, g);
}

/* Where the row that a change means is; false if there is none. */
static bool locate(wr_top_n *t, wr_rank_group *g, const wr_ranked *r, bool exact, wr_pos *pos) {
    bool equal;
    if (g->by_unique) {
        wr_pos u = wr_sorted_seek(g->by_unique, r, by_unique, NULL, &equal);
        if (!equal) return false;
        const wr_ranked *there = wr_sorted_at(g->by_unique, u);
        if (exact && !wr_str_eq(wr_ranked_row(there), wr_ranked_row(r))) return false; /* its row has been replaced already */
        *pos = wr_sorted_seek(g->rows, there, by_key, NULL, &equal);
        return equal;
    }
    wr_ranked from = *r;
    from.seq = 0;
    (void)t;
    for (wr_pos p = wr_sorted_seek(g->rows, &from, by_key, NULL, &equal); wr_sorted_at(g->rows, p); p = wr_sorted_next(g->rows, p)) {
        const wr_ranked *there = wr_sorted_at(g->rows, p);
        if (there->key_len != r->key_len || memcmp(there->mem, r->mem, r->key_len) != 0) return false;
        if (!wr_str_eq(wr_ranked_row(there), wr_ranked_row(r))) continue;
        *pos = p;
        return true;
    }
    return false;
}
static void change(wr_top_n *t, wr_rank_group *g, uint32_t slot, const wr_batch *batch, uint32_t row) {
    wr_kind   kind = wr_batch_kind(batch, row);
    wr_ranked r = describe(t, batch, row);
    wr_pos    pos;
    describe_row(t, batch, row, &r);
    touch(t, g, slot);
    if (wr_kind_adds(kind)) {
        if (g->by_unique && locate(t, g, &r, false, &pos)) discard(t, g, pos), t->op.ctx->ledger->used++;
        keep(t, g, r);
        count_kept(t, 1);
    } else if (locate(t, g, &r, kind == WR_KIND_UPDATE_BEFORE, &pos)) {
        discard(t, g, pos);
        t->op.ctx->ledger->used += 2; /* the row and what takes it back */
    } else {
        t->op.ctx->ledger->dropped[WR_REASON_RETRACT_UNKNOWN]++;
    }
}

static void charge(wr_top_n *t) {
    if (t->heap_bytes != t->heap_told) wr_kmap_charge(t->map, t->heap_bytes - t->heap_told);
    t->heap_told = t->heap_bytes;
}
static void count_window(wr_top_n *t, const wr_batch *batch, uint32_t row, bool late) {
    wr_detail *d = t->op.ctx->detail;
    int64_t    end = 0;
    wr_err     ignored;
    if (!d || wr_op_row_time(&batch->cols[t->opts.window_end], row, &end, &ignored) != WR_OK) return;
    wr_window_count *c = wr_detail_window(d, wr_win_instant(&t->win, end));
    if (c) c->in += !late, c->late += late;
}
/* False: the row is late. Sets the time at which a new group closes. */
static wr_status window_of(wr_top_n *t, wr_rank_group *g, uint32_t slot, const wr_batch *batch, uint32_t row, bool *late, wr_err *err) {
    int64_t end = 0;
    WR_TRY(wr_op_row_time(&batch->cols[t->opts.window_end], row, &end, err));
    end = wr_win_instant(&t->win, end);
    *late = batch->row_wm_us && batch->row_wm_us[row] != WR_TIME_MIN && wr_win_closed(batch->row_wm_us[row], end);
    if (*late || g->rows) return WR_OK;
    g->end_us = end;
    wr_timers_add(t->timers, end, slot);
    return WR_OK;
}

static wr_status emit_touched(wr_top_n *t, wr_out *out, wr_err *err) {
    wr_status s = t->bad;
    for (uint32_t k = 0; k < t->n_touched && s == WR_OK && t->opts.window_end < 0; k++) {
        uint32_t from = k ? t->before_end[k - 1] : 0;
        s = wr_top_n_changes(t, t->before.at ? t->before.at + from : NULL, t->before_end[k] - from, t->touched[k], out, err);
    }
    if (s == WR_OK) s = wr_top_n_flush(t, out, err);
    for (uint32_t k = 0; k < t->n_touched; k++)
        if (t->touched[k]->rows && !t->touched[k]->rows->count && t->opts.window_end < 0) wr_kmap_remove(t->map, t->touched_slot[k]);
    for (uint32_t i = 0; i < t->graves.n; i++) wr_free(t->graves.at[i]);
    t->graves.n = t->before.n = 0;
    if (t->over) wr_arena_reset(t->over->results);
    return s;
}

/* ---- time to live ---- */

/* A key that no row has touched for so long; its rows are not taken back, as in Flink. */
static bool group_expired(const wr_top_n *t, const wr_rank_group *g) { return t->opts.ttl_us && g->rows && t->op.ctx->now_us - g->used_us >= t->opts.ttl_us; }
static void count_expired(wr_top_n *t, const wr_rank_group *g) {
    t->op.ctx->ledger->dropped[WR_REASON_EXPIRED] += g->rows->count;
    count_kept(t, -(int64_t)g->rows->count);
}
static bool value_expired(void *self, const void *value) {
    if (!group_expired(self, value)) return false;
    count_expired(self, value);
    return true;
}
static wr_status sweep(wr_top_n *t, uint32_t n, wr_err *err) {
    uint64_t removed;
    return t->opts.ttl_us ? wr_kmap_sweep(t->map, n, &removed, err) : WR_OK;
}

static wr_status top_n_on_batch(wr_op *op, uint32_t input, wr_batch *batch, wr_out *out, wr_err *err) {
    wr_top_n *t = (wr_top_n *)op;
    uint32_t  n = wr_batch_live(batch);
    (void)input;
    if (!n) return WR_OK;
    const uint64_t *hash = wr_op_hash(batch, t->opts.keys, t->opts.n_keys, t->hash);
    WR_TRY(wr_kmap_find(t->map, batch, t->opts.keys, hash, true, t->slots, t->created, err));
    wr_kmap_values(t->map, t->slots, n, t->values);
    t->batch_no++;
    t->n_touched = 0;
    t->err = err;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t       row = wr_batch_row(batch, i);
        wr_rank_group *g = t->values[i];
        if (t->opts.window_end >= 0) {
            bool late;
            WR_TRY(window_of(t, g, t->slots[i], batch, row, &late, err));
            count_window(t, batch, row, late);
            if (late) {
                op->ctx->ledger->dropped[WR_REASON_LATE]++;
                continue;
            }
        } else if (g->mark != t->batch_no && group_expired(t, g)) {
            count_expired(t, g);
            group_clear(t, g);
        }
        group_open(t, g);
        g->used_us = op->ctx->now_us;
        if (t->opts.retract_input) change(t, g, t->slots[i], batch, row);
        else add_append_only(t, g, t->slots[i], batch, row);
    }
    for (uint32_t i = 0; i < n; i++) /* late rows leave no empty group behind */
        if (t->created[i] && !((wr_rank_group *)t->values[i])->rows) wr_kmap_remove(t->map, t->slots[i]);
    t->seq += batch->n_rows;
    wr_status s = emit_touched(t, out, err);
    if (s == WR_OK) s = sweep(t, SWEEP_SLOTS, err);
    charge(t);
    return s;
}

/* ---- window Top-N at the watermark ---- */

static wr_status emit_group(wr_top_n *t, wr_out *out, bool *paused, wr_err *err) {
    *paused = false;
    WR_TRY(wr_kmap_warm(t->map, t->emit_slot, err));
    wr_rank_group *g = wr_kmap_value(t->map, t->emit_slot);
    t->after.n = 0;
    wr_top_n_shown(t, g, &t->after);
    for (; t->emit_at < t->after.n; t->emit_at++) {
        if (!t->n_rows && out->full(out)) {
            *paused = true;
            return WR_OK;
        }
        WR_TRY(wr_top_n_put(t, WR_KIND_INSERT, &t->after.at[t->emit_at], out, err));
    }
    wr_window_count *c = t->op.ctx->detail ? wr_detail_window(t->op.ctx->detail, g->end_us) : NULL;
    if (c) c->out += t->after.n;
    count_kept(t, -(int64_t)g->rows->count);
    t->op.ctx->ledger->used += g->rows->count;
    wr_kmap_remove(t->map, t->emit_slot);
    t->emit_slot = WR_SLOT_NONE;
    return WR_OK;
}
static wr_status top_n_on_watermark(wr_op *op, int64_t wm_us, wr_out *out, bool *more, wr_err *err) {
    wr_top_n *t = (wr_top_n *)op;
    int64_t   deadline;
    uint64_t  slot;
    *more = false;
    if (t->opts.window_end < 0) {
        wr_status s = sweep(t, SWEEP_SLOTS * 4, err);
        charge(t);
        return s;
    }
    for (;;) {
        if (t->emit_slot == WR_SLOT_NONE) {
            if (!wr_timers_pop(t->timers, wm_us > WR_TIME_MAX - 1000 ? WR_TIME_MAX : wm_us + 1000, &deadline, &slot)) break;
            t->emit_slot = (uint32_t)slot;
            t->emit_at = 0;
        }
        WR_TRY(emit_group(t, out, more, err));
        if (*more) break;
    }
    WR_TRY(wr_top_n_flush(t, out, err));
    charge(t);
    return WR_OK;
}

/* ---- checkpoint ---- */

static void value_free(void *self, void *value) { group_clear(self, value); }
static void value_save(void *self, const void *value, wr_sbuf *out) {
    const wr_rank_group *g = value;
    (void)self;
    wr_put_i64(out, g->end_us);
    wr_put_i64(out, g->used_us);
    wr_put_u64(out, g->rows ? g->rows->count : 0);
    for (wr_pos p = wr_sorted_first(); g->rows && wr_sorted_at(g->rows, p); p = wr_sorted_next(g->rows, p)) {
        const wr_ranked *r = wr_sorted_at(g->rows, p);
        wr_put_u64(out, r->seq);
        wr_put_u32(out, r->order_len);
        wr_put_u32(out, r->key_len);
        wr_put_bytes(out, r->mem, r->key_len + r->row_len);
    }
}
static bool value_load(void *self, void *value, wr_reader *in) {
    wr_rank_group *g = value;
    g->end_us = wr_get_i64(in);
    g->used_us = wr_get_i64(in);
    group_open(self, g);
    for (uint64_t n = wr_get_u64(in); n && !in->bad; n--) {
        wr_ranked r = {.seq = wr_get_u64(in)};
        r.order_len = wr_get_u32(in);
        r.key_len = wr_get_u32(in);
        wr_str bytes = wr_get_bytes(in);
        if (in->bad || r.order_len > r.key_len || r.key_len > bytes.len) return false;
        r.row_len = (uint32_t)bytes.len - r.key_len;
        r.mem = (char *)(uintptr_t)bytes.ptr;
        keep(self, g, r);
    }
    return !in->bad;
}
static void value_new(void *self, uint32_t slot, void *value) {
    wr_top_n            *t = self;
    const wr_rank_group *g = value;
    t->n_kept += (int64_t)g->rows->count;
    if (t->timers) wr_timers_add(t->timers, g->end_us, slot);
}
static int64_t heap_bytes(void *self) { /* all is charged to the map */
    charge(self);
    return 0;
}
static wr_status top_n_save(wr_op *op, wr_sbuf *out, wr_err *err) {
    wr_assert(((wr_top_n *)op)->emit_slot == WR_SLOT_NONE);
    wr_op_save_head(out, tag, VERSION);
    wr_put_u64(out, ((wr_top_n *)op)->seq);
    WR_TRY(wr_kmap_save(((wr_top_n *)op)->map, out, err));
    wr_op_save_rows(out, ((wr_top_n *)op)->n_kept);
    return WR_OK;
}
static wr_status top_n_load(wr_op *op, wr_reader *in, uint32_t from, uint32_t to, wr_err *err) {
    wr_top_n *t = (wr_top_n *)op;
    WR_TRY(wr_op_load_head(in, tag, VERSION, err));
    uint64_t seq = wr_get_u64(in);
    t->seq = WR_MAX(t->seq, seq);
    wr_status s = wr_kmap_load(t->map, in, op->ctx->n_key_groups, from, to, err);
    if (s == WR_OK) t->n_kept += wr_op_load_rows(t->map, in);
    charge(t);
    return s;
}
static void top_n_usage(const wr_op *op, wr_op_usage *out) {
    const wr_top_n *t = (const wr_top_n *)op;
    *out = (wr_op_usage){.state_bytes = wr_kmap_bytes(t->map), .keys = wr_kmap_count(t->map), .oldest_us = t->timers ? wr_timers_first(t->timers) : WR_TIME_MAX};
    out->rows = (uint64_t)WR_MAX(t->n_kept, 0);
    wr_op_map_usage(t->map, out);
}
static wr_status top_n_limit(wr_op *op, int64_t bytes, wr_err *err) { return wr_op_limit_map(((wr_top_n *)op)->map, bytes, err); }
static void top_n_close(wr_op *op) {
    wr_top_n *t = (wr_top_n *)op;
    wr_kmap_free(t->map);
    wr_timers_free(t->timers);
    wr_batch_unref(t->batch);
    wr_top_n_over_close(t);
    for (uint32_t i = 0; i < t->graves.n; i++) wr_free(t->graves.at[i]);
    wr_arr_free(&t->before), wr_arr_free(&t->after), wr_arr_free(&t->gone), wr_arr_free(&t->come), wr_arr_free(&t->graves);
    wr_sbuf_free(&t->scratch);
    wr_arena_free(t->arena);
    wr_free(t);
}
static const wr_op_vt top_n_vt = {
    .name = "top_n", .on_batch = top_n_on_batch, .on_watermark = top_n_on_watermark, .output_watermark = wr_op_same_watermark, .save = top_n_save,
    .load = top_n_load, .usage = top_n_usage, .limit = top_n_limit, .close = top_n_close,
};

double wr_top_n_key_bytes(const wr_top_n_opts *opts, double key_bytes) {
    double list = sizeof(wr_sorted) + 2 * MALLOC_EXTRA + 8; /* without its rows */
    return wr_kmap_entry_bytes(sizeof(wr_rank_group), key_bytes) + (has_unique_list(opts) ? 2 : 1) * list;
}
double wr_top_n_row_bytes(const wr_top_n_opts *opts, double row_bytes, double order_bytes) {
    const double slack = 1 / 0.7; /* a chunk is between half full and full */
    return (has_unique_list(opts) ? 2 : 1) * sizeof(wr_ranked) * slack + row_bytes + order_bytes + MALLOC_EXTRA;
}

wr_op *wr_top_n_new(const wr_top_n_opts *opts, const wr_schema *input, wr_op_ctx *ctx) {
    wr_top_n *t = wr_calloc(1, sizeof *t);
    t->op = (wr_op){.vt = &top_n_vt, .ctx = ctx};
    t->opts = *opts;
    t->arena = wr_arena_new(ctx->acct);
    t->opts.keys = wr_op_copy_cols(t->arena, opts->keys, opts->n_keys);
    t->opts.unique = wr_op_copy_cols(t->arena, opts->unique, opts->n_unique);
    wr_sort_key *order = wr_new_n(t->arena, wr_sort_key, opts->n_order ? opts->n_order : 1);
    if (opts->n_order) memcpy(order, opts->order, opts->n_order * sizeof *order);
    t->opts.order = order;
    wr_over_fn *fns = wr_new_n(t->arena, wr_over_fn, opts->n_fns ? opts->n_fns : 1);
    if (opts->n_fns) memcpy(fns, opts->fns, opts->n_fns * sizeof *fns);
    t->opts.fns = fns;
    t->unique_order = wr_new_n(t->arena, wr_sort_key, opts->n_unique ? opts->n_unique : 1);
    for (uint32_t i = 0; i < opts->n_unique; i++) t->unique_order[i].col = opts->unique[i];
    if (!t->opts.first) t->opts.first = 1;
    t->types = wr_op_types(t->arena, input);
    t->n_cols = input->n;
    t->codec = wr_rowcodec_new(t->arena, t->types, input->n);
    t->emit_slot = WR_SLOT_NONE;
    t->win = (wr_win){.tz = opts->ltz ? ctx->tz : NULL};
    if (opts->n_fns) wr_top_n_over_open(t);
    if (opts->window_end >= 0) t->timers = wr_timers_new(ctx->acct);
    const wr_kmap_opts map = {.name = "ranked", .key_types = wr_op_key_types(t->arena, input, opts->keys, opts->n_keys), .n_key_types = opts->n_keys,
                                         .value_bytes = sizeof(wr_rank_group), .acct = ctx->acct, .self = t, .value_free = value_free,
                                         .value_save = value_save, .value_load = value_load, .value_new = value_new, .value_expired = value_expired, .heap_bytes = heap_bytes};
    t->map = wr_op_map_new(&map, ctx, tag, opts->window_end >= 0 ? WR_SPILL_VALUE : WR_SPILL_ENTRY);
    return &t->op;
}
