/* op/interval_join.c: joins two append-only streams on key and right.time in [left.time + lower, left.time + upper].
 *
 * Idea       per key and side a time-ordered buffer; a batch probes the other side's range, then is stored. One due time per key and
 *            side in a radix wheel, so that a watermark costs what it evicts.
 * Life       a left row can meet a partner while wm <= left.time + upper, a right row while wm <= right.time - lower ("deadline"); when the
 *            watermark passes it the row goes, padded once if its side is an outer one and it never matched.
 * Late rows  l (watermark of its own source w_l) and r match iff they are in range, deadline(r) >= w_l and deadline(l) >= w_r, with w =
 *            -infinity for rows that are not late. This is symmetric, and the operator's watermark never exceeds a row's own w when
 *            it arrives, so whatever was evicted could not have matched: the answer depends on neither batch size nor arrival
 *            order between the inputs. A late row of a side that is not padded and that finds no partner counts as LATE, else as UNMATCHED.
 * Watermark  an emitted row may be older than the watermark cw by `delay`:
 *            - a right row arrives (right.time > cw): left.time >= right.time - upper > cw - upper;
 *            - a left row arrives (left.time > cw): right.time >= left.time + lower > cw + lower;
 *            - a padded left row was kept while cw <= left.time + upper, so left.time >= cw - upper; right: right.time >= cw + lower:
 *              not strictly greater, hence one microsecond more for outer and anti joins; also for semi joins, whose left row may be
 *              brought out by a late right row (deadline(left) >= w_r >= cw).
 *            delay = max(0, upper, -lower) (+ 1). A late row's output carries row_wm_us = its w - delay when it is at or behind that.
 * State      a row costs its encoding + 24 bytes, a key 80 bytes + the map's entry; rows x (upper - lower + watermark lag).
 * Thread     the worker that owns the key group.                                                                          */
#include "op/join_common.h"
#include "op/op_util.h"

typedef struct keyed { wr_join_buf buf[2]; } keyed; /* value of a key */
typedef struct interval_join {
    wr_join_base  base;
    wr_kmap      *map;
    int64_t       lower_us, upper_us, delay_us;
    int64_t       wm_us;
    bool          empty;      /* lower > upper: nothing ever matches */
    wr_join_wheel wheel[2];
    wr_join_dues  due;        /* being worked off for wm_us */
    uint32_t      due_at;
    bool          draining;
    wr_join_out   o;
    wr_join_probe probe;
    wr_join_misses misses;
    keyed        *at[WR_BATCH_MAX];
    uint8_t       hit[WR_BATCH_MAX]; /* WR_ROW_ bits by physical row of the batch being probed */
} interval_join;

enum { IMAGE_VERSION = 1 };

static int64_t deadline(const interval_join *j, uint32_t side, int64_t time_us) {
    return side ? wr_sat_sub(time_us, j->lower_us) : wr_sat_add(time_us, j->upper_us);
}
/* row_wm_us of an output row whose oldest time is t and whose late inputs saw watermark w. */
static int64_t late_mark(const interval_join *j, int64_t w, int64_t t) {
    if (w == WR_TIME_MIN) return w;
    int64_t seen = wr_sat_sub(w, j->delay_us);
    return t <= seen ? seen : WR_TIME_MIN;
}
static bool emits_unmatched(const interval_join *j, uint32_t side) {
    return wr_join_pads(j->base.kind, side) || (j->base.kind == WR_JOIN_ANTI && side == 0);
}
/* stored: NULL: it is `row` of the batch that probes. */
static void count_unmatched(interval_join *j, uint32_t side, bool late, uint64_t hash, int64_t t, wr_near near, const wr_join_row *stored, uint32_t row) {
    wr_reason reason = side ? WR_REASON_UNMATCHED_RIGHT : WR_REASON_UNMATCHED_LEFT;
    if (late && !emits_unmatched(j, side)) reason = WR_REASON_LATE;
    j->base.op.ctx->ledger->dropped[reason]++, j->base.op.ctx->ledger->lost[side]++;
    if (reason != WR_REASON_LATE) near = wr_join_missed(&j->misses, side, hash, t, near);
    if (stored) wr_join_lost_stored(&j->base, side, reason, near, 1, stored);
    else wr_join_lost(j->base.op.ctx, side, reason, near, j->o.batch, row);
}

/* ---- probing ---- */

/* Marks both rows of a pair; true if the left row has its first partner (what a semi join emits). */
static bool mark_pair(interval_join *j, uint32_t side, uint32_t row, wr_join_row *stored) {
    uint64_t *matched = j->base.op.ctx->ledger->matched;
    bool first_probe = !(j->hit[row] & WR_ROW_MATCHED), first_stored = !(stored->mark & WR_ROW_MATCHED);
    if (first_probe) j->hit[row] |= WR_ROW_MATCHED, matched[side]++;
    if (first_stored) stored->mark |= WR_ROW_MATCHED, matched[!side]++, j->base.op.ctx->ledger->kept[!side]--;
    return side ? first_stored : first_probe;
}

/* Pairs that the residual refused. */
static void mark_refused(interval_join *j, uint32_t side, const uint16_t *sel, uint32_t n_sel) {
    wr_join_out *o = &j->o;
    for (uint32_t i = 0, k = 0; i < o->n; i++) {
        if (k < n_sel && sel[k] == i) {
            k++;
            continue;
        }
        j->hit[o->probe[i]] |= WR_ROW_REFUSED;
        ((wr_join_row *)(uintptr_t)o->row[!side][i])->mark |= WR_ROW_REFUSED;
    }
}

/* Evaluates the collected candidates, marks those that match and emits them. */
static wr_status flush_pairs(interval_join *j, uint32_t side, wr_out *out, wr_err *err) {
    wr_join_out *o = &j->o;
    uint16_t     sel[WR_BATCH_MAX];
    uint32_t     n_sel, n = 0;
    wr_batch    *built;
    if (!o->n) return WR_OK;
    wr_status s = wr_join_out_filter(o, sel, &n_sel, &built, err);
    if (s != WR_OK) goto done;
    bool left_only = wr_join_left_only(j->base.kind);
    if (n_sel < o->n) mark_refused(j, side, sel, n_sel);
    for (uint32_t i = 0; i < n_sel; i++) {
        uint32_t at = sel[i];
        bool     first = mark_pair(j, side, o->probe[at], (wr_join_row *)(uintptr_t)o->row[!side][at]);
        if (!left_only || (first && j->base.kind == WR_JOIN_SEMI)) sel[n++] = (uint16_t)at;
    }
    if (!n) goto done;
    if (!built || left_only) {
        wr_batch_unref(built);
        built = wr_join_out_build(o, left_only);
    }
    if (n < built->n_rows) {
        uint16_t *kept = wr_mem_alloc(built->mem, n * sizeof *kept);
        memcpy(kept, sel, n * sizeof *kept);
        built->sel = kept, built->n_sel = n;
        if (n * 4 < built->n_rows) { /* do not hold much memory for few rows */
            wr_batch *dense = wr_batch_compact(built);
            wr_batch_unref(built);
            built = dense;
        }
    }
    s = wr_emit(out, built, err);
    built = NULL;
done:
    wr_batch_unref(built);
    wr_join_out_reset(o);
    return s;
}

static wr_status probe_row(interval_join *j, uint32_t side, uint32_t row, int64_t t, int64_t w, wr_join_buf *other, wr_out *out, wr_err *err) {
    int64_t from = side ? wr_sat_sub(t, j->upper_us) : wr_sat_add(t, j->lower_us);
    int64_t to = side ? wr_sat_sub(t, j->lower_us) : wr_sat_add(t, j->upper_us);
    int64_t mine = deadline(j, side, t);
    bool    left_only = wr_join_left_only(j->base.kind);
    wr_join_ent *ents = wr_join_buf_ents(other);
    for (uint32_t i = wr_join_buf_lower(other, from); i < other->n && ents[i].time_us <= to; i++) {
        wr_join_row *r = ents[i].row;
        if ((w != WR_TIME_MIN && deadline(j, !side, ents[i].time_us) < w) || (r->wm_us != WR_TIME_MIN && mine < r->wm_us)) {
            r->mark |= WR_ROW_LATE_PARTNER, j->hit[row] |= WR_ROW_LATE_PARTNER;
            continue;
        }
        int64_t mark;
        if (!left_only) mark = late_mark(j, WR_MAX(w, r->wm_us), WR_MIN(t, ents[i].time_us));
        else mark = side ? late_mark(j, r->wm_us, ents[i].time_us) : late_mark(j, w, t); /* the same whichever partner came first */
        wr_join_out_pair(&j->o, row, r, WR_KIND_INSERT, mark);
        if (wr_join_out_full(&j->o)) WR_TRY(flush_pairs(j, side, out, err));
    }
    return WR_OK;
}

/* ---- the nearest partner ---- */

static wr_near near_one(const interval_join *j, uint32_t side, int64_t t, int64_t u) {
    wr_near near = wr_near_between(side, t, u, j->lower_us, j->upper_us);
    return near.why == WR_MISS_OUTSIDE ? near : (wr_near){0}; /* inside: what stood in the way is marked already */
}
/* Of what is held of the other side, when a row goes. */
static wr_near near_held(const interval_join *j, uint32_t side, wr_join_buf *other, int64_t t) {
    int64_t      from = side ? wr_sat_sub(t, j->upper_us) : wr_sat_add(t, j->lower_us), to = side ? wr_sat_sub(t, j->lower_us) : wr_sat_add(t, j->upper_us);
    wr_join_ent *ents = wr_join_buf_ents(other);
    uint32_t     before = wr_join_buf_lower(other, from), after = to < WR_TIME_MAX ? wr_join_buf_lower(other, to + 1) : other->n;
    wr_near      near = {0};
    if (before) near = near_one(j, side, t, ents[before - 1].time_us);
    if (after < other->n) near = wr_near_of(near, near_one(j, side, t, ents[after].time_us));
    return near;
}
/* When one comes that has no partner yet: only the oldest and the newest are looked at, and what has gone. */
static uint32_t near_mark(interval_join *j, uint32_t side, wr_join_buf *other, uint64_t hash, int64_t t) {
    wr_near near = {0};
    if (!j->misses.ctx->detail) return 0;
    if (other->n) {
        wr_join_ent *ents = wr_join_buf_ents(other);
        near = wr_near_of(near_one(j, side, t, ents[0].time_us), near_one(j, side, t, ents[other->n - 1].time_us));
    }
    if (j->misses.gone) near = wr_near_of(near, wr_join_gone_near(&j->misses, side, hash, t));
    return near.why == WR_MISS_LATE_PARTNER ? (uint32_t)WR_ROW_LATE_PARTNER : wr_near_mark(near);
}

/* ---- storing ---- */

static void arm(interval_join *j, uint32_t side, wr_join_buf *buf, uint32_t slot) {
    int64_t at = deadline(j, side, wr_join_buf_ents(buf)->time_us);
    if (buf->n_armed && buf->armed_us <= at) return;
    wr_join_wheel_add(&j->wheel[side], at, (uint64_t)slot * 2 + side);
    buf->armed_us = at;
    buf->n_armed++;
}

static void store_row(interval_join *j, uint32_t side, const wr_batch *batch, uint32_t row, int64_t t, int64_t w, keyed *k, uint32_t slot) {
    wr_join_row *r = wr_join_store(&j->base, side, batch, row);
    r->time_us = t, r->wm_us = w;
    r->mark = j->hit[row];
    if (!(r->mark & WR_ROW_MATCHED)) {
        j->base.op.ctx->ledger->kept[side]++;
        r->mark |= near_mark(j, side, &k->buf[!side], wr_kmap_hash(j->map, slot), t);
    }
    wr_join_buf_add(j->base.heap, &k->buf[side], t, r);
    j->base.n_rows++;
    arm(j, side, &k->buf[side], slot);
}

/* A row that can meet nobody (any more): padded or counted at once. */
static wr_status finish_row(interval_join *j, uint32_t side, uint32_t row, int64_t t, int64_t w, wr_join_buf *other /* NULL: the key is NULL */, wr_out *out, wr_err *err) {
    if (j->hit[row] & WR_ROW_MATCHED) return WR_OK;
    bool    null_key = !other;
    wr_near near = null_key ? (wr_near){.why = WR_MISS_NULL_KEY} : wr_near_of(wr_near_marked(j->hit[row]), near_held(j, side, other, t));
    if (!emits_unmatched(j, side)) {
        if (null_key) j->base.op.ctx->ledger->dropped[WR_REASON_NULL_KEY]++, j->base.op.ctx->ledger->lost[side]++, wr_join_lost(j->base.op.ctx, side, WR_REASON_NULL_KEY, near, j->o.batch, row);
        else count_unmatched(j, side, w != WR_TIME_MIN, j->probe.hash[row], t, near, NULL, row);
        return WR_OK;
    }
    count_unmatched(j, side, false, null_key ? 0 : j->probe.hash[row], t, near, NULL, row);
    wr_join_out_pair(&j->o, row, NULL, WR_KIND_INSERT, late_mark(j, w, t));
    return wr_join_out_full(&j->o) ? wr_join_out_emit(&j->o, out, err) : WR_OK;
}

static bool key_is_idle(const keyed *k) { return !k->buf[0].n && !k->buf[1].n && !k->buf[0].n_armed && !k->buf[1].n_armed; }

static int64_t row_wm(const wr_batch *batch, uint32_t row) { return batch->row_wm_us ? batch->row_wm_us[row] : WR_TIME_MIN; }

static wr_status without_partner(interval_join *j, uint32_t side, wr_batch *batch, wr_out *out, wr_err *err) {
    const wr_join_side *in = &j->base.side[side];
    wr_join_probe      *p = &j->probe;
    for (uint32_t i = 0; i < p->n_null; i++) {
        uint32_t row = p->null[i];
        int64_t  t = wr_vec_is_null(&batch->cols[in->time_col], row) ? WR_TIME_MAX : wr_join_time(in, batch, row);
        WR_TRY(finish_row(j, side, row, t, row_wm(batch, row), NULL, out, err));
    }
    wr_join_buf nobody = {0};
    for (uint32_t i = 0; i < p->n && j->empty; i++)
        WR_TRY(finish_row(j, side, p->sel[i], wr_join_time(in, batch, p->sel[i]), row_wm(batch, p->sel[i]), &nobody, out, err));
    return WR_OK;
}

static wr_status find_keys(interval_join *j, uint32_t side, wr_err *err) {
    wr_join_probe *p = &j->probe;
    WR_TRY(wr_kmap_find(j->map, &p->view, j->base.side[side].keys, p->hash, true, p->slot, p->created, err));
    for (uint32_t i = 0; i < p->n; i++) j->at[i] = wr_kmap_value(j->map, p->slot[i]);
    for (uint32_t i = 0; i < p->n; i++) {
        wr_join_buf *other = &j->at[i]->buf[!side];
        if (other->n) __builtin_prefetch(wr_join_buf_ents(other)->row);
    }
    return WR_OK;
}

static void drop_idle_keys(interval_join *j) { /* keys that the look-up created for rows that were not kept */
    wr_join_probe *p = &j->probe;
    for (uint32_t i = 0; i < p->n; i++)
        if (p->created[i] && key_is_idle(j->at[i])) wr_kmap_remove(j->map, p->slot[i]);
}

static wr_status join_batch(interval_join *j, uint32_t side, wr_batch *batch, wr_out *out, wr_err *err) {
    const wr_join_side *in = &j->base.side[side];
    wr_join_probe      *p = &j->probe;
    wr_join_probe_split(p, &j->base, side, batch, true, false);
    wr_join_out_begin(&j->o, (int)side, batch);
    memset(j->hit, 0, batch->n_rows);
    if (p->n && !j->empty) {
        WR_TRY(find_keys(j, side, err));
        for (uint32_t i = 0; i < p->n; i++) {
            wr_join_buf *other = &j->at[i]->buf[!side];
            if (!other->n) continue;
            uint32_t row = p->sel[i];
            WR_TRY(probe_row(j, side, row, wr_join_time(in, batch, row), row_wm(batch, row), other, out, err));
        }
        WR_TRY(flush_pairs(j, side, out, err));
        for (uint32_t i = 0; i < p->n; i++) {
            uint32_t row = p->sel[i];
            int64_t  t = wr_join_time(in, batch, row), w = row_wm(batch, row);
            if (deadline(j, side, t) >= j->wm_us && j->wm_us != WR_TIME_MAX) store_row(j, side, batch, row, t, w, j->at[i], p->slot[i]);
            else WR_TRY(finish_row(j, side, row, t, w, &j->at[i]->buf[!side], out, err));
        }
        drop_idle_keys(j);
    }
    WR_TRY(without_partner(j, side, batch, out, err));
    return wr_join_out_emit(&j->o, out, err);
}

static wr_status on_batch(wr_op *op, uint32_t side, wr_batch *batch, wr_out *out, wr_err *err) {
    interval_join *j = (interval_join *)op;
    for (uint32_t i = 0; batch->kinds && i < wr_batch_live(batch); i++) wr_dassert(batch->kinds[wr_batch_row(batch, i)] == WR_KIND_INSERT);
    wr_status s = join_batch(j, side, batch, out, err);
    wr_join_out_reset(&j->o);
    return s;
}

/* ---- watermark ---- */

/* Evicts what is due of one buffer; false when downstream asked to pause. */
static wr_status evict(interval_join *j, uint32_t side, keyed *k, uint32_t slot, wr_out *out, bool *pause, wr_err *err) {
    wr_join_buf *buf = &k->buf[side];
    while (buf->n) {
        wr_join_ent ent = *wr_join_buf_ents(buf);
        if (j->wm_us != WR_TIME_MAX && deadline(j, side, ent.time_us) >= j->wm_us) break;
        wr_join_row *row = ent.row;
        wr_join_buf_pop(j->base.heap, buf, 1);
        j->base.n_rows--;
        if (row->mark & WR_ROW_MATCHED) {
            wr_join_row_free(j->base.heap, row);
            continue;
        }
        j->base.op.ctx->ledger->kept[side]--;
        wr_near near = wr_near_of(wr_near_marked(row->mark), near_held(j, side, &k->buf[!side], row->time_us));
        count_unmatched(j, side, row->wm_us != WR_TIME_MIN, wr_kmap_hash(j->map, slot), row->time_us, near, row, 0);
        if (!emits_unmatched(j, side)) {
            wr_join_row_free(j->base.heap, row);
            continue;
        }
        wr_join_out_stored(&j->o, side ? NULL : row, side ? row : NULL, WR_KIND_INSERT, late_mark(j, row->wm_us, row->time_us));
        wr_join_out_drop(&j->o, row);
        if (!wr_join_out_full(&j->o)) continue;
        WR_TRY(wr_join_out_emit(&j->o, out, err));
        if (out->full(out)) {
            *pause = true;
            return WR_OK;
        }
    }
    return WR_OK;
}

static wr_status on_watermark(wr_op *op, int64_t wm_us, wr_out *out, bool *more, wr_err *err) {
    interval_join *j = (interval_join *)op;
    *more = false;
    if (!j->draining) {
        j->draining = true;
        j->wm_us = wm_us;
        int64_t past = wm_us == WR_TIME_MAX ? wm_us : wr_sat_sub(wm_us, 1);
        for (uint32_t s = 0; s < 2; s++) wr_join_wheel_advance(&j->wheel[s], past, &j->due);
        wr_join_out_begin(&j->o, -1, NULL);
    }
    for (; j->due_at < j->due.n; j->due_at++) {
        WR_TRY(wr_join_warm_due(j->map, &j->due, j->due_at, 1, err)); /* what waits to go out has left the buffers */
        if (j->due_at + 8 < j->due.n) wr_kmap_prefetch(j->map, (uint32_t)(j->due.at[j->due_at + 8].what / 2));
        uint64_t     what = j->due.at[j->due_at].what;
        uint32_t     slot = (uint32_t)(what / 2), side = (uint32_t)(what & 1);
        WR_TRY(wr_kmap_warm(j->map, slot, err));
        keyed       *k = wr_kmap_value(j->map, slot);
        wr_join_buf *buf = &k->buf[side];
        WR_TRY(evict(j, side, k, slot, out, more, err));
        if (*more) return WR_OK;
        buf->n_armed--;
        buf->armed_us = WR_TIME_MAX; /* what else is armed comes later than this one, we do not know when */
        if (buf->n) arm(j, side, buf, slot);
        if (key_is_idle(k)) wr_kmap_remove(j->map, slot);
    }
    j->draining = false;
    j->due.n = j->due_at = 0;
    if (j->due.cap > 65536) wr_arr_free(&j->due);
    return wr_join_out_emit(&j->o, out, err);
}

static int64_t output_watermark(const wr_op *op, int64_t wm_us) {
    const interval_join *j = (const interval_join *)op;
    return wm_us == WR_TIME_MAX || wm_us == WR_TIME_MIN ? wm_us : wr_sat_sub(wm_us, j->delay_us);
}

/* ---- the rest ---- */

static void value_free(void *self, void *value) {
    interval_join *j = self;
    keyed         *k = value;
    for (uint32_t s = 0; s < 2; s++) wr_join_buf_clear(j->base.heap, &k->buf[s]);
}
static void value_save(void *self, const void *value, wr_sbuf *out) {
    (void)self;
    keyed k = *(const keyed *)value;
    for (uint32_t s = 0; s < 2; s++) wr_join_buf_save(&k.buf[s], out);
}
static bool value_load(void *self, void *value, wr_reader *in) {
    interval_join *j = self;
    keyed         *k = value;
    bool           ok = true;
    for (uint32_t s = 0; s < 2 && ok; s++) ok = wr_join_buf_load(&j->base, s, &k->buf[s], in);
    return ok;
}

static void value_new(void *self, uint32_t slot, void *value) {
    interval_join *j = self;
    keyed         *k = value;
    for (uint32_t s = 0; s < 2; s++) {
        j->base.n_rows += k->buf[s].n;
        if (k->buf[s].n) arm(j, s, &k->buf[s], slot);
    }
}

static wr_status save(wr_op *op, wr_sbuf *out, wr_err *err) {
    interval_join *j = (interval_join *)op;
    wr_put_u32(out, IMAGE_VERSION);
    return wr_kmap_save(j->map, out, err);
}

static wr_status load(wr_op *op, wr_reader *in, uint32_t from, uint32_t to, wr_err *err) {
    interval_join *j = (interval_join *)op;
    if (wr_get_u32(in) != IMAGE_VERSION) return wr_fail(err, WR_CORRUPT, "WR310", "state of an interval join has an unknown version");
    return wr_kmap_load(j->map, in, op->ctx->n_key_groups, from, to, err);
}

static void usage(const wr_op *op, wr_op_usage *out) {
    const interval_join *j = (const interval_join *)op;
    *out = (wr_op_usage){.keys = wr_kmap_count(j->map), .rows = (uint64_t)j->base.n_rows, .oldest_us = WR_TIME_MAX};
    out->state_bytes = wr_kmap_bytes(j->map) + wr_join_heap_bytes(j->base.heap);
    wr_op_map_usage(j->map, out);
    for (uint32_t s = 0; s < 2; s++) {
        out->state_bytes += wr_join_wheel_bytes(&j->wheel[s]);
        int64_t first = wr_join_wheel_first(&j->wheel[s]); /* a deadline: time + upper or time - lower */
        if (first != WR_TIME_MAX) out->oldest_us = WR_MIN(out->oldest_us, s ? wr_sat_add(first, j->lower_us) : wr_sat_sub(first, j->upper_us));
    }
}

static wr_status limit(wr_op *op, int64_t bytes, wr_err *err) { return wr_join_limit(&((interval_join *)op)->base, ((interval_join *)op)->map, bytes, err); }
static void close_op(wr_op *op) {
    interval_join *j = (interval_join *)op;
    wr_join_out_free(&j->o);
    wr_join_misses_free(&j->misses);
    wr_kmap_free(j->map);
    for (uint32_t s = 0; s < 2; s++) wr_join_wheel_free(&j->wheel[s]);
    wr_arr_free(&j->due);
    wr_join_base_free(&j->base);
    wr_free(j);
}

static const wr_op_vt interval_join_vt = {"interval_join", on_batch, on_watermark, output_watermark, save, load, usage, limit, close_op};

wr_op *wr_interval_join_new(const wr_interval_join_opts *opts, const wr_schema *left, const wr_schema *right, wr_op_ctx *ctx) {
    interval_join *j = wr_calloc(1, sizeof *j);
    j->base.op.vt = &interval_join_vt;
    wr_join_base_init(&j->base, opts->kind, &opts->keys, opts->residual, left, right, ctx);
    wr_join_side_time(&j->base.side[0], opts->left_time);
    wr_join_side_time(&j->base.side[1], opts->right_time);
    j->lower_us = opts->lower_us, j->upper_us = opts->upper_us;
    j->misses = (wr_join_misses){.ctx = ctx, .lower_us = opts->lower_us, .upper_us = opts->upper_us};
    j->empty = opts->lower_us > opts->upper_us;
    j->delay_us = WR_MAX(WR_MAX(opts->upper_us, wr_sat_sub(0, opts->lower_us)), 0);
    if (opts->kind != WR_JOIN_INNER) j->delay_us = wr_sat_add(j->delay_us, 1);
    if (j->empty) j->delay_us = 0; /* every row leaves when it comes */
    j->wm_us = WR_TIME_MIN;
    wr_type *key_types = wr_new_n(j->base.arena, wr_type, opts->keys.n + 1);
    for (uint32_t i = 0; i < opts->keys.n; i++) key_types[i] = j->base.side[0].types[opts->keys.left[i]];
    const wr_kmap_opts map = {.name = "interval_join", .key_types = key_types, .n_key_types = opts->keys.n, .value_bytes = sizeof(keyed),
                                         .acct = ctx->acct, .self = j, .value_free = value_free, .value_save = value_save, .value_load = value_load,
                              .value_new = value_new, .heap_bytes = wr_join_map_heap};
    j->map = wr_op_map_new(&map, ctx, "interval_join", WR_SPILL_VALUE);
    for (uint32_t s = 0; s < 2; s++) wr_join_wheel_init(&j->wheel[s], ctx->acct);
    wr_join_out_init(&j->o, &j->base);
    return &j->base.op;
}

double wr_interval_join_key_bytes(double key_bytes) { return wr_kmap_entry_bytes(sizeof(keyed), key_bytes); }
double wr_interval_join_row_bytes(double row_bytes, double per_key) {
    double cap = wr_join_array_cap(per_key, 4, true);
    return wr_join_piece_bytes(sizeof(wr_join_row) + row_bytes) + cap * sizeof(wr_join_ent) / WR_MAX(per_key, 1.0);
}
