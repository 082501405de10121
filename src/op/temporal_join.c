/* op/temporal_join.c: joins each left row with the version of the right side that was valid at the left row's time (FOR SYSTEM_TIME AS OF).
 *
 * Idea       left rows wait per key, with one entry each in a wheel of due times, until the watermark reaches them; then, in time order, each
 *            looks up the last version <= its time. Right rows become versions per key, ordered by time; -D (and a -U whose +U does not
 *            follow) is a deleted version. Behind the watermark only the last version of a key is kept, and no deleted one.
 * Late rows  a left row with row_wm_us = w is joined once the watermark has reached w (s = max(time, w)), and matches the version valid at its
 *            time only if that version is still the current one at w: older ones may be gone. A late version with row_wm_us = v is
 *            visible to left rows with s > v only. Both rules depend on the rows alone, so the answer does not depend on timing.
 *            (One exception: a late version of a key whose deletion has been compacted away brings the key back, as we keep no deletions.)
 * -U         the -U of a changelog may carry the old row with the old time (Top-1 views) or the time of the change (CDC). Directly before its
 *            +U it is skipped; at the end of a batch it hides the version until the key's next row says what it was.
 * Ledger     right rows: matched, unmatched (replaced, compacted, deletions), NO_CHANGE (skipped -U), NULL_KEY.
 * Watermark  identity: a row that is not late is emitted by the watermark that reaches it.
 * Thread     the worker that owns the key group.                                                                          */
#include "op/join_common.h"
#include "op/op_util.h"

enum undo { UNDO_NONE, UNDO_SHOW, UNDO_REMOVE };
typedef struct keyed {
    wr_join_buf versions, waiting; /* waiting: by s, not by time */
    int64_t     undo_us;           /* the version that a -U hid or made */
    uint32_t    undo;
} keyed;
typedef struct temporal_join {
    wr_join_base  base;
    wr_kmap      *map;
    int64_t       wm_us;
    wr_join_wheel left, old;  /* left rows to join; keys to compact */
    wr_join_dues  due, merged;
    uint32_t      due_at;
    bool          draining;
    uint64_t      n_versions;
    keyed        *at[WR_BATCH_MAX];
    wr_join_out   o;
    wr_join_probe probe;
    wr_join_misses misses; /* of left rows; versions that nobody asked for are not looked at closely */
} temporal_join;

enum { IMAGE_VERSION = 1 };

static void count(temporal_join *j, uint32_t side, wr_reason reason) {
    j->base.op.ctx->ledger->dropped[reason]++, j->base.op.ctx->ledger->lost[side]++;
    if (reason == WR_REASON_UNMATCHED_RIGHT && j->misses.ctx->detail) j->misses.ctx->detail->misses[1][WR_MISS_NO_PARTNER]++;
}
/* A version that is there and has not been used, or is no longer such a one. */
static void count_open(temporal_join *j, int n) { j->base.op.ctx->ledger->kept[1] += (uint64_t)(int64_t)n; }
static int64_t row_wm(const wr_batch *batch, uint32_t row) { return batch->row_wm_us ? batch->row_wm_us[row] : WR_TIME_MIN; }
static int64_t joins_at(const wr_join_row *row) { return WR_MAX(row->time_us, row->wm_us); }
static bool    is_idle(const keyed *k) { return !k->versions.n && !k->waiting.n && !k->versions.n_armed; }

/* ---- left ---- */

static void drop_idle_keys(temporal_join *j) {
    wr_join_probe *p = &j->probe;
    for (uint32_t i = 0; i < p->n; i++)
        if (p->created[i] && is_idle(wr_kmap_value(j->map, p->slot[i]))) wr_kmap_remove(j->map, p->slot[i]);
}

static wr_status find_keys(temporal_join *j, uint32_t side, wr_err *err) {
    wr_join_probe *p = &j->probe;
    WR_TRY(wr_kmap_find(j->map, &p->view, j->base.side[side].keys, p->hash, true, p->slot, p->created, err));
    for (uint32_t i = 0; i < p->n; i++) {
        j->at[i] = wr_kmap_value(j->map, p->slot[i]);
        wr_join_buf *buf = side ? &j->at[i]->versions : &j->at[i]->waiting;
        if (buf->cap) __builtin_prefetch(buf->at + buf->head + buf->n);
    }
    return WR_OK;
}

static wr_status left_batch(temporal_join *j, wr_batch *batch, wr_err *err) {
    const wr_join_side *in = &j->base.side[0];
    wr_join_probe      *p = &j->probe;
    /* A padded row with a NULL key waits for its turn like any other, under the key NULL, which has no versions. */
    wr_join_probe_split(p, &j->base, 0, batch, false, j->base.kind == WR_JOIN_LEFT);
    for (uint32_t i = 0; i < p->n_null; i++) count(j, 0, WR_REASON_NULL_KEY), wr_join_lost(j->base.op.ctx, 0, WR_REASON_NULL_KEY, (wr_near){0}, batch, p->null[i]);
    WR_TRY(find_keys(j, 0, err));
    for (uint32_t i = 0; i < p->n; i++) {
        uint32_t row = p->sel[i];
        bool     no_time = wr_vec_is_null(&batch->cols[in->time_col], row);
        if (no_time && j->base.kind != WR_JOIN_LEFT) {
            count(j, 0, WR_REASON_NULL_KEY), wr_join_lost(j->base.op.ctx, 0, WR_REASON_NULL_KEY, (wr_near){0}, batch, row);
            continue;
        }
        keyed       *k = j->at[i];
        wr_join_row *r = wr_join_store(&j->base, 0, batch, row);
        r->time_us = no_time ? WR_TIME_MIN : wr_join_time(in, batch, row); /* before every version */
        r->wm_us = row_wm(batch, row);
        wr_join_buf_add(j->base.heap, &k->waiting, joins_at(r), r);
        wr_join_wheel_add(&j->left, joins_at(r), p->slot[i]);
        j->base.n_rows++;
        j->base.op.ctx->ledger->kept[0]++;
    }
    drop_idle_keys(j);
    return WR_OK;
}

/* ---- right ---- */

/* From when on an entry makes all before it useless. */
static int64_t settles_at(const wr_join_row *row) { return row->wm_us == WR_TIME_MIN ? row->time_us : WR_MAX(row->time_us, wr_sat_add(row->wm_us, 1)); }

static void arm(temporal_join *j, keyed *k, uint32_t slot) {
    wr_join_buf *v = &k->versions;
    wr_join_ent *ents = wr_join_buf_ents(v);
    int64_t      at;
    if (v->n >= 2) at = settles_at(ents[1].row);
    else if (v->n == 1 && (ents[0].row->mark & WR_ROW_DELETED)) at = settles_at(ents[0].row);
    else return;
    if (v->n_armed && v->armed_us <= at) return;
    wr_join_wheel_add(&j->old, at, slot);
    v->armed_us = at;
    v->n_armed++;
}

static void forget_version(temporal_join *j, wr_join_row *row) {
    if (!(row->mark & (WR_ROW_MATCHED | WR_ROW_DELETED))) count(j, 1, WR_REASON_UNMATCHED_RIGHT), count_open(j, -1);
    wr_join_row_free(j->base.heap, row);
    j->n_versions--;
}

static int32_t version_at(wr_join_buf *v, int64_t time_us) { /* the last of that time, or -1 */
    wr_join_ent *ents = wr_join_buf_ents(v);
    uint32_t     at = wr_join_buf_lower(v, time_us);
    int32_t      found = -1;
    for (; at < v->n && ents[at].time_us == time_us; at++) found = (int32_t)at;
    return found;
}

static void remove_version(temporal_join *j, wr_join_buf *v, uint32_t at) {
    wr_join_ent *ents = wr_join_buf_ents(v);
    forget_version(j, ents[at].row);
    memmove(ents + 1, ents, at * sizeof *ents);
    wr_join_buf_pop(j->base.heap, v, 1);
}

static void add_version(temporal_join *j, keyed *k, wr_join_row *row) {
    wr_join_buf *v = &k->versions;
    j->n_versions++;
    if (!(row->mark & WR_ROW_DELETED)) count_open(j, 1);
    int32_t same = version_at(v, row->time_us);
    if (same >= 0) {
        wr_join_ent *ent = &wr_join_buf_ents(v)[same];
        if (row->wm_us == WR_TIME_MIN || row->wm_us == ent->row->wm_us) {
            forget_version(j, ent->row);
            ent->row = row;
            return;
        }
    }
    wr_join_buf_add(j->base.heap, v, row->time_us, row);
}

static wr_join_row *new_version(temporal_join *j, const wr_batch *batch, uint32_t row, uint32_t mark) {
    wr_join_row *r = wr_join_store(&j->base, 1, batch, row);
    r->time_us = wr_join_time(&j->base.side[1], batch, row);
    r->wm_us = row_wm(batch, row);
    r->mark = mark;
    return r;
}

/* A -U whose +U may come with the next batch. */
static void hide_version(temporal_join *j, keyed *k, const wr_batch *batch, uint32_t row) {
    int64_t time_us = wr_join_time(&j->base.side[1], batch, row);
    int32_t at = version_at(&k->versions, time_us);
    k->undo_us = time_us;
    if (at >= 0) {
        wr_join_row *r = wr_join_buf_ents(&k->versions)[at].row;
        k->undo = r->mark & WR_ROW_DELETED ? UNDO_NONE : UNDO_SHOW;
        if (k->undo && !(r->mark & WR_ROW_MATCHED)) count(j, 1, WR_REASON_UNMATCHED_RIGHT), count_open(j, -1); /* taken back if it shows again */
        r->mark |= WR_ROW_DELETED;
    } else {
        add_version(j, k, new_version(j, batch, row, WR_ROW_DELETED));
        k->undo = UNDO_REMOVE;
    }
}

static void uncount(temporal_join *j) {
    j->base.op.ctx->ledger->dropped[WR_REASON_UNMATCHED_RIGHT]--, j->base.op.ctx->ledger->lost[1]--;
    if (j->misses.ctx->detail) j->misses.ctx->detail->misses[1][WR_MISS_NO_PARTNER]--;
}

static void undo_hide(temporal_join *j, keyed *k) {
    int32_t at = k->undo == UNDO_NONE ? -1 : version_at(&k->versions, k->undo_us);
    if (at >= 0) {
        wr_join_row *r = wr_join_buf_ents(&k->versions)[at].row;
        if (k->undo == UNDO_SHOW && (r->mark & WR_ROW_DELETED)) {
            r->mark &= ~(uint32_t)WR_ROW_DELETED;
            if (!(r->mark & WR_ROW_MATCHED)) uncount(j), count_open(j, 1);
        } else if (k->undo == UNDO_REMOVE && (r->mark & WR_ROW_DELETED)) {
            remove_version(j, &k->versions, (uint32_t)at);
        }
    }
    k->undo = UNDO_NONE;
}

static wr_status right_batch(temporal_join *j, wr_batch *batch, wr_err *err) {
    wr_join_probe *p = &j->probe;
    wr_join_probe_split(p, &j->base, 1, batch, true, false);
    for (uint32_t i = 0; i < p->n_null; i++) count(j, 1, WR_REASON_NULL_KEY);
    WR_TRY(find_keys(j, 1, err));
    for (uint32_t i = 0; i < p->n; i++) {
        uint32_t row = p->sel[i];
        uint8_t  kind = wr_batch_kind(batch, row);
        keyed   *k = j->at[i];
        if (kind == WR_KIND_UPDATE_BEFORE) {
            if (i + 1 < p->n && p->slot[i + 1] == p->slot[i] && wr_batch_kind(batch, p->sel[i + 1]) == WR_KIND_UPDATE_AFTER) {
                count(j, 1, WR_REASON_NO_CHANGE);
                continue;
            }
            k->undo = UNDO_NONE;
            hide_version(j, k, batch, row);
            count(j, 1, WR_REASON_UNMATCHED_RIGHT);
        } else {
            if (kind == WR_KIND_UPDATE_AFTER) undo_hide(j, k);
            k->undo = UNDO_NONE;
            bool adds = wr_kind_adds(kind);
            if (!adds) count(j, 1, WR_REASON_UNMATCHED_RIGHT);
            add_version(j, k, new_version(j, batch, row, adds ? 0 : WR_ROW_DELETED));
            if (adds && j->misses.gone) (void)wr_join_gone_near(&j->misses, 1, wr_kmap_hash(j->map, p->slot[i]), wr_join_time(&j->base.side[1], batch, row));
        }
        arm(j, k, p->slot[i]);
    }
    drop_idle_keys(j);
    return WR_OK;
}

static wr_status on_batch(wr_op *op, uint32_t side, wr_batch *batch, wr_out *out, wr_err *err) {
    (void)out;
    temporal_join *j = (temporal_join *)op;
    return side ? right_batch(j, batch, err) : left_batch(j, batch, err);
}

/* ---- watermark ---- */

static wr_join_row *version_for(keyed *k, const wr_join_row *left) {
    wr_join_ent *ents = wr_join_buf_ents(&k->versions);
    int64_t      s = joins_at(left);
    uint32_t     at = s == WR_TIME_MAX ? k->versions.n : wr_join_buf_lower(&k->versions, s + 1);
    while (at > 0 && ents[at - 1].row->wm_us != WR_TIME_MIN && ents[at - 1].row->wm_us >= s) at--; /* not visible */
    if (!at || ents[at - 1].time_us > left->time_us || (ents[at - 1].row->mark & WR_ROW_DELETED)) return NULL;
    return ents[at - 1].row;
}

static bool is_late(const temporal_join *j, const wr_join_row *left) { return j->base.kind == WR_JOIN_INNER && left->wm_us != WR_TIME_MIN; }
static wr_reason left_reason(const temporal_join *j, const wr_join_row *left) { return is_late(j, left) ? WR_REASON_LATE : WR_REASON_UNMATCHED_LEFT; }
static void left_unmatched(temporal_join *j, const wr_join_row *left) { count(j, 0, left_reason(j, left)); }
/* Why there was no version for it: deleted; not visible, as it came too late; the first one is later; or none is known. */
static void why_unmatched(temporal_join *j, keyed *k, uint32_t slot, const wr_join_row *left) {
    wr_join_ent *ents = wr_join_buf_ents(&k->versions);
    uint32_t     at = left->time_us == WR_TIME_MAX ? k->versions.n : wr_join_buf_lower(&k->versions, left->time_us + 1);
    wr_near      near = {0};
    if (is_late(j, left)) {
        wr_join_lost_stored(&j->base, 0, WR_REASON_LATE, near, 1, left);
        return;
    }
    if (at) near.why = ents[at - 1].row->mark & WR_ROW_DELETED ? WR_MISS_DELETED : WR_MISS_LATE_PARTNER;
    else if (k->versions.n && left->time_us != WR_TIME_MIN) near = (wr_near){WR_MISS_OUTSIDE, 0, wr_sat_sub(ents[0].time_us, left->time_us)};
    near = wr_join_missed(&j->misses, 0, wr_kmap_hash(j->map, slot), left->time_us, near);
    wr_join_lost_stored(&j->base, 0, WR_REASON_UNMATCHED_LEFT, near, 1, left);
}

/* Pads or drops the pairs that the residual refuses; keep[] gets the rows to emit. */
static uint32_t judge_pairs(temporal_join *j, wr_batch *built, const uint8_t *pass, uint16_t *keep) {
    wr_join_out *o = &j->o;
    uint64_t    *matched = j->base.op.ctx->ledger->matched;
    uint32_t     n = 0, n_left = j->base.side[0].n_cols;
    for (uint32_t i = 0; i < o->n; i++) {
        wr_join_row *version = (wr_join_row *)(uintptr_t)o->row[1][i];
        if (version && pass[i]) {
            matched[0]++;
            if (!(version->mark & WR_ROW_MATCHED)) version->mark |= WR_ROW_MATCHED, matched[1]++, count_open(j, -1);
        } else {
            left_unmatched(j, o->row[0][i]);
            if (version) wr_join_lost_stored(&j->base, 0, left_reason(j, o->row[0][i]), (wr_near){.why = WR_MISS_CONDITION}, 1, o->row[0][i]);
            if (version && !is_late(j, o->row[0][i]) && j->misses.ctx->detail) j->misses.ctx->detail->misses[0][WR_MISS_CONDITION]++;
            if (j->base.kind != WR_JOIN_LEFT) continue;
            if (version)
                for (uint32_t c = n_left; c < built->n_cols; c++) wr_vec_set_null(&built->cols[c], i, built->mem);
        }
        keep[n++] = (uint16_t)i;
    }
    return n;
}

static wr_status flush_pairs(temporal_join *j, wr_out *out, wr_err *err) {
    wr_join_out *o = &j->o;
    if (!o->n) return WR_OK;
    wr_batch *built = wr_join_out_build(o, false);
    uint8_t   pass[WR_BATCH_MAX];
    uint16_t  sel[WR_BATCH_MAX];
    uint32_t  n_sel = 0;
    wr_status s = WR_OK;
    memset(pass, j->base.residual ? 0 : 1, o->n);
    for (uint32_t i = 0; i < o->n && j->base.residual; i++)
        if (o->row[1][i]) sel[n_sel++] = (uint16_t)i;
    if (n_sel) {
        wr_batch view = *built;
        view.sel = memcpy(wr_mem_alloc(built->mem, n_sel * sizeof *sel), sel, n_sel * sizeof *sel);
        view.n_sel = n_sel;
        s = wr_prog_filter(j->base.residual, &view, j->base.op.ctx->now_us, sel, &n_sel, err);
        for (uint32_t i = 0; i < n_sel && s == WR_OK; i++) pass[sel[i]] = 1;
    }
    uint32_t n = s == WR_OK ? judge_pairs(j, built, pass, sel) : 0;
    if (n && n < built->n_rows) built->sel = memcpy(wr_mem_alloc(built->mem, n * sizeof *sel), sel, n * sizeof *sel), built->n_sel = n;
    if (n) s = wr_emit(out, built, err);
    else wr_batch_unref(built);
    wr_join_out_reset(o);
    return s;
}

/* Stable by time: equal times stay in order of arrival. */
static void sort_due(temporal_join *j) {
    wr_join_dues *a = &j->due, *b = &j->merged;
    bool sorted = true;
    for (uint32_t i = 1; i < a->n && sorted; i++) sorted = a->at[i - 1].at_us <= a->at[i].at_us;
    if (sorted) return;
    if (b->cap < a->n) b->at = wr_realloc(b->at, a->n * sizeof *b->at), b->cap = a->n;
    wr_join_due *from = a->at, *to = b->at;
    for (uint64_t width = 1; width < a->n; width *= 2) {
        for (uint64_t start = 0; start < a->n; start += 2 * width) {
            uint64_t mid = WR_MIN(start + width, (uint64_t)a->n), end = WR_MIN(start + 2 * width, (uint64_t)a->n);
            for (uint64_t l = start, r = mid, at = start; at < end; at++)
                to[at] = l < mid && (r >= end || from[l].at_us <= from[r].at_us) ? from[l++] : from[r++];
        }
        wr_join_due *swap = from;
        from = to, to = swap;
    }
    if (from != a->at) memcpy(a->at, from, a->n * sizeof *from);
}

static void compact_key(temporal_join *j, keyed *k) {
    wr_join_buf *v = &k->versions;
    wr_join_ent *ents = wr_join_buf_ents(v);
    uint32_t     keep = 0; /* the last entry that every later look-up sees */
    for (uint32_t i = 0; i < v->n && ents[i].time_us <= j->wm_us; i++)
        if (settles_at(ents[i].row) <= j->wm_us) keep = i;
    uint32_t n = keep;
    if (n < v->n && (ents[n].row->mark & WR_ROW_DELETED) && settles_at(ents[n].row) <= j->wm_us) n++;
    for (uint32_t i = 0; i < n; i++) forget_version(j, ents[i].row);
    wr_join_buf_pop(j->base.heap, v, n);
}

static wr_status compact(temporal_join *j, wr_err *err) {
    j->due.n = 0;
    wr_join_wheel_advance(&j->old, j->wm_us, &j->due);
    for (uint32_t i = 0; i < j->due.n; i++) {
        uint32_t slot = (uint32_t)j->due.at[i].what;
        WR_TRY(wr_join_warm_due(j->map, &j->due, i, 0, err));
        WR_TRY(wr_kmap_warm(j->map, slot, err));
        keyed   *k = wr_kmap_value(j->map, slot);
        k->versions.n_armed--;
        k->versions.armed_us = WR_TIME_MAX; /* what else is armed comes later than this one, we do not know when */
        compact_key(j, k);
        arm(j, k, slot);
        if (is_idle(k)) wr_kmap_remove(j->map, slot);
    }
    return WR_OK;
}

/* Only looked at: what is in the tier goes with the map. */
static wr_status end_of_input(temporal_join *j, wr_err *err) {
    wr_kmap_cursor c = {0};
    uint32_t       n = 1;
    wr_status      s = WR_OK;
    while (n && s == WR_OK) {
        s = wr_kmap_scan(j->map, &c, j->probe.slot, WR_BATCH_MAX, &n, err);
        for (uint32_t at = 0; at < n && s == WR_OK; at++) {
            wr_join_buf  v = ((const keyed *)wr_kmap_peek(j->map, j->probe.slot[at]))->versions;
            wr_join_ent *ents = wr_join_buf_ents(&v);
            for (uint32_t i = 0; i < v.n; i++)
                if (!(ents[i].row->mark & (WR_ROW_MATCHED | WR_ROW_DELETED))) count(j, 1, WR_REASON_UNMATCHED_RIGHT), count_open(j, -1);
        }
    }
    wr_kmap_scan_end(j->map, &c);
    j->n_versions = 0;
    if (s == WR_OK) wr_kmap_clear(j->map);
    return s;
}

/* Keys come in time order, that is at random places: ask for the key 16 rows ahead, for its rows 8 ahead. */
static void prefetch_due(const temporal_join *j) {
    uint32_t at = j->due_at, n = j->due.n;
    if (at + 16 < n) wr_kmap_prefetch(j->map, (uint32_t)j->due.at[at + 16].what);
    if (at + 8 >= n || !wr_kmap_is_warm(j->map, (uint32_t)j->due.at[at + 8].what)) return;
    const keyed *k = wr_kmap_peek(j->map, (uint32_t)j->due.at[at + 8].what);
    wr_join_buf  waiting = k->waiting, versions = k->versions;
    if (waiting.cap) __builtin_prefetch(wr_join_buf_ents(&waiting));
    if (versions.cap) __builtin_prefetch(wr_join_buf_ents(&versions) + versions.n / 2);
}

static wr_status on_watermark(wr_op *op, int64_t wm_us, wr_out *out, bool *more, wr_err *err) {
    temporal_join *j = (temporal_join *)op;
    *more = false;
    if (!j->draining) {
        j->draining = true;
        j->wm_us = wm_us;
        j->due.n = j->due_at = 0;
        wr_join_wheel_advance(&j->left, wm_us, &j->due);
        sort_due(j);
        wr_join_out_begin(&j->o, -1, NULL);
    }
    while (j->due_at < j->due.n) {
        prefetch_due(j);
        if (wr_kmap_has_away(j->map)) {
            if (j->due_at % 256 == 0) WR_TRY(flush_pairs(j, out, err)); /* its versions may leave now */
            WR_TRY(wr_join_warm_due(j->map, &j->due, j->due_at, 0, err));
        }
        uint32_t slot = (uint32_t)j->due.at[j->due_at].what;
        WR_TRY(wr_kmap_warm(j->map, slot, err));
        j->due_at++;
        keyed       *k = wr_kmap_value(j->map, slot);
        wr_join_row *left = wr_join_buf_ents(&k->waiting)->row, *version = version_for(k, left);
        wr_join_buf_pop(j->base.heap, &k->waiting, 1);
        j->base.n_rows--;
        j->base.op.ctx->ledger->kept[0]--;
        if (!version) why_unmatched(j, k, slot, left);
        if (version || j->base.kind == WR_JOIN_LEFT) wr_join_out_stored(&j->o, left, version, WR_KIND_INSERT, left->wm_us);
        else left_unmatched(j, left);
        wr_join_out_drop(&j->o, left);
        if (is_idle(k)) wr_kmap_remove(j->map, slot);
        if (!wr_join_out_full(&j->o)) continue;
        WR_TRY(flush_pairs(j, out, err));
        if (j->due_at < j->due.n && out->full(out)) {
            *more = true;
            return WR_OK;
        }
    }
    WR_TRY(flush_pairs(j, out, err));
    wr_join_out_reset(&j->o);
    WR_TRY(compact(j, err));
    if (wm_us == WR_TIME_MAX) WR_TRY(end_of_input(j, err));
    j->draining = false;
    j->due.n = j->due_at = 0;
    return WR_OK;
}

/* ---- the rest ---- */

static void value_free(void *self, void *value) {
    temporal_join *j = self;
    keyed         *k = value;
    wr_join_buf_clear(j->base.heap, &k->versions);
    wr_join_buf_clear(j->base.heap, &k->waiting);
}
static void value_save(void *self, const void *value, wr_sbuf *out) {
    (void)self;
    keyed k = *(const keyed *)value;
    wr_join_buf_save(&k.versions, out);
    wr_join_buf_save(&k.waiting, out);
    wr_put_i64(out, k.undo_us);
    wr_put_u8(out, (uint8_t)k.undo);
}
static bool value_load(void *self, void *value, wr_reader *in) {
    temporal_join *j = self;
    keyed         *k = value;
    if (!wr_join_buf_load(&j->base, 1, &k->versions, in)) return false;
    uint32_t n = wr_get_u32(in);
    for (uint32_t i = 0; i < n; i++) {
        wr_join_row *row = wr_join_row_load(&j->base, 0, in);
        if (!row) return false;
        wr_join_buf_add(j->base.heap, &k->waiting, joins_at(row), row);
    }
    k->undo_us = wr_get_i64(in);
    k->undo = wr_get_u8(in);
    return !in->bad && k->undo <= UNDO_REMOVE;
}

static void value_new(void *self, uint32_t slot, void *value) {
    temporal_join *j = self;
    keyed         *k = value;
    j->base.n_rows += k->waiting.n, j->n_versions += k->versions.n;
    wr_join_ent *ents = wr_join_buf_ents(&k->waiting);
    for (uint32_t i = 0; i < k->waiting.n; i++) wr_join_wheel_add(&j->left, ents[i].time_us, slot);
    arm(j, k, slot);
}

static wr_status save(wr_op *op, wr_sbuf *out, wr_err *err) {
    temporal_join *j = (temporal_join *)op;
    wr_put_u32(out, IMAGE_VERSION);
    return wr_kmap_save(j->map, out, err);
}

static wr_status load(wr_op *op, wr_reader *in, uint32_t from, uint32_t to, wr_err *err) {
    temporal_join *j = (temporal_join *)op;
    if (wr_get_u32(in) != IMAGE_VERSION) return wr_fail(err, WR_CORRUPT, "WR310", "state of a temporal join has an unknown version");
    return wr_kmap_load(j->map, in, op->ctx->n_key_groups, from, to, err);
}

static void usage(const wr_op *op, wr_op_usage *out) {
    const temporal_join *j = (const temporal_join *)op;
    *out = (wr_op_usage){.keys = wr_kmap_count(j->map), .rows = (uint64_t)j->base.n_rows + j->n_versions, .oldest_us = wr_join_wheel_first(&j->left)};
    out->state_bytes = wr_kmap_bytes(j->map) + wr_join_heap_bytes(j->base.heap) + wr_join_wheel_bytes(&j->left) + wr_join_wheel_bytes(&j->old);
    wr_op_map_usage(j->map, out);
}

static wr_status limit(wr_op *op, int64_t bytes, wr_err *err) { return wr_join_limit(&((temporal_join *)op)->base, ((temporal_join *)op)->map, bytes, err); }
static void close_op(wr_op *op) {
    temporal_join *j = (temporal_join *)op;
    wr_join_out_free(&j->o);
    wr_join_misses_free(&j->misses);
    wr_kmap_free(j->map);
    wr_join_wheel_free(&j->left);
    wr_join_wheel_free(&j->old);
    wr_arr_free(&j->due);
    wr_arr_free(&j->merged);
    wr_join_base_free(&j->base);
    wr_free(j);
}

static const wr_op_vt temporal_join_vt = {"temporal_join", on_batch, on_watermark, wr_op_same_watermark, save, load, usage, limit, close_op};

wr_op *wr_temporal_join_new(const wr_temporal_join_opts *opts, const wr_schema *left, const wr_schema *right, wr_op_ctx *ctx) {
    wr_assert(opts->kind == WR_JOIN_INNER || opts->kind == WR_JOIN_LEFT);
    temporal_join *j = wr_calloc(1, sizeof *j);
    j->base.op.vt = &temporal_join_vt;
    wr_join_base_init(&j->base, opts->kind, &opts->keys, opts->residual, left, right, ctx);
    wr_join_side_time(&j->base.side[0], opts->left_time);
    wr_join_side_time(&j->base.side[1], opts->right_time);
    j->misses = (wr_join_misses){.ctx = ctx, .lower_us = WR_TIME_MIN, .upper_us = 0}; /* a version is at its row's time or before */
    j->wm_us = WR_TIME_MIN;
    wr_type *key_types = wr_new_n(j->base.arena, wr_type, opts->keys.n + 1);
    for (uint32_t i = 0; i < opts->keys.n; i++) key_types[i] = j->base.side[0].types[opts->keys.left[i]];
    const wr_kmap_opts map = {.name = "temporal_join", .key_types = key_types, .n_key_types = opts->keys.n, .value_bytes = sizeof(keyed),
                                         .acct = ctx->acct, .self = j, .value_free = value_free, .value_save = value_save, .value_load = value_load,
                              .value_new = value_new, .heap_bytes = wr_join_map_heap};
    j->map = wr_op_map_new(&map, ctx, "temporal_join", WR_SPILL_VALUE);
    wr_join_wheel_init(&j->left, ctx->acct);
    wr_join_wheel_init(&j->old, ctx->acct);
    wr_join_out_init(&j->o, &j->base);
    return &j->base.op;
}

double wr_temporal_join_key_bytes(double key_bytes, bool replaced) { /* two versions at a time once: the array stays */
    return wr_kmap_entry_bytes(sizeof(keyed), key_bytes) + (replaced ? 4 * sizeof(wr_join_ent) : 0);
}
double wr_temporal_join_row_bytes(double row_bytes, double per_key) {
    double cap = wr_join_array_cap(per_key, 4, true);
    return wr_join_piece_bytes(sizeof(wr_join_row) + row_bytes) + cap * sizeof(wr_join_ent) / WR_MAX(per_key, 1.0);
}
