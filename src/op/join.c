/* op/join.c: the regular join: both sides kept, any changelog on both inputs, the output retracts where it must.
 *
 * Idea       per key and side a multiset of rows, each with its copies and the number of matching copies on the other side ("partners"). The rows
 *            of a batch probe the other side, whose membership they do not change: candidates of many rows are collected, judged by the
 *            residual in one go, then applied in order (Flink's StreamingJoinOperator, batch-wise).
 * Output     a row that adds gives +I, a row that takes away gives -D. LEFT/RIGHT/FULL: -D of the padded row when the first partner comes, +I again when
 *            the last one goes. SEMI/ANTI: the left row when it gains its first or loses its last partner.
 * NOT IN     null-aware anti join (one key, one instance): a NULL on either side counts as a match of everything on the other.
 * TTL        by processing time since a row's last addition, per side; expired rows vanish silently (as Flink's), counted when they had never matched.
 * Ledger     in = matched + unmatched + NULL_KEY + EXPIRED + RETRACT_UNKNOWN, rows that retract included, once the input has ended.
 * State      a row costs its encoding + 24 + 16 bytes (+ 8 to 16 of index above 16 rows), a key 64 bytes + the map's entry; never shrinks by itself
 *            without TTL.
 * Thread     the worker that owns the key group.                                                                          */
#include "op/join_set.h"
#include "op/op_util.h"

typedef struct keyed { wr_join_set set[2]; } keyed;
typedef struct join {
    wr_join_base  base;
    wr_kmap      *map;
    bool          null_aware;
    uint32_t      null_slot;   /* null-aware: the key NULL, or WR_SLOT_NONE */
    int64_t       ttl_us[2];
    wr_join_wheel wheel[2];    /* expiry, by key */
    wr_join_dues  due;
    wr_join_out   cand, emit;  /* candidates; output of outer, semi and anti joins */
    wr_join_probe probe;
    /* the batch being worked on, in row order */
    uint32_t      side, n_items;
    uint16_t      item_row[WR_BATCH_MAX];
    uint32_t      item_slot[WR_BATCH_MAX]; /* WR_SLOT_NONE: NULL key, no partners */
    uint16_t      cand_item[WR_BATCH_MAX];
    /* the row being applied */
    uint32_t      cur;         /* UINT32_MAX: none begun */
    bool          adds, skip;
    uint32_t      partners, hash;
    wr_join_row  *own, *prev;
    wr_join_row  *bereft;      /* partner that lost its last match: padded again after the -D of its pairs */
    wr_out       *out;
    wr_batch     *batch;
} join;

enum { IMAGE_VERSION = 1 };

static void count(join *j, uint32_t side, wr_reason reason, uint64_t n) { j->base.op.ctx->ledger->dropped[reason] += n, j->base.op.ctx->ledger->lost[side] += n; }
static void count_unmatched(join *j, uint32_t side, uint64_t n) { count(j, side, side ? WR_REASON_UNMATCHED_RIGHT : WR_REASON_UNMATCHED_LEFT, n); }
/* Copies of a stored row that have found their first partner. */
static void count_matched(join *j, uint32_t side, uint64_t n) { j->base.op.ctx->ledger->matched[side] += n, j->base.op.ctx->ledger->kept[side] -= n; }
static bool is_idle(const keyed *k) { return !k->set[0].n && !k->set[1].n && !k->set[0].n_armed && !k->set[1].n_armed; }
static void drop_key(join *j, uint32_t slot) {
    if (slot == j->null_slot) j->null_slot = WR_SLOT_NONE;
    wr_kmap_remove(j->map, slot);
}

/* ---- output rows of outer, semi and anti joins ---- */

static wr_status emit_pair(join *j, uint32_t probe, const wr_join_row *stored, bool adds, wr_err *err) {
    wr_join_out_pair(&j->emit, probe, stored, adds ? WR_KIND_INSERT : WR_KIND_DELETE, WR_TIME_MIN);
    return wr_join_out_full(&j->emit) ? wr_join_out_emit(&j->emit, j->out, err) : WR_OK;
}
static wr_status emit_copies(join *j, const wr_join_row *stored, bool adds, wr_err *err) {
    for (uint32_t c = 0; c < stored->count; c++) WR_TRY(emit_pair(j, WR_PROBE_NONE, stored, adds, err));
    return WR_OK;
}
static wr_status settle_bereft(join *j, wr_err *err) {
    wr_join_row *row = j->bereft;
    j->bereft = NULL;
    return row ? emit_copies(j, row, true, err) : WR_OK;
}

/* ---- applying one row ---- */

static wr_status begin_item(join *j, uint32_t item) {
    uint32_t row = j->item_row[item], slot = j->item_slot[item];
    j->cur = item;
    j->adds = wr_kind_adds(wr_batch_kind(j->batch, row));
    j->skip = false;
    j->partners = 0;
    j->own = j->prev = j->bereft = NULL;
    if (slot == WR_SLOT_NONE) return WR_OK;
    wr_sbuf_clear(&j->base.scratch);
    wr_rowcodec_put(j->base.side[j->side].codec, j->batch, NULL, row, &j->base.scratch);
    wr_str bytes = wr_sbuf_str(&j->base.scratch);
    j->hash = wr_join_set_hash(bytes);
    keyed *k = wr_kmap_value(j->map, slot);
    j->own = wr_join_set_find(&k->set[j->side], bytes, j->hash);
    if (!j->adds && !j->own) {
        j->skip = true;
        count(j, j->side, WR_REASON_RETRACT_UNKNOWN, 1);
    }
    return WR_OK;
}

/* A partner that passed the residual; called once per copy of it, one after the other. */
static wr_status apply_pair(join *j, uint32_t item, wr_join_row *partner, wr_err *err) {
    uint32_t other = !j->side;
    bool     left_only = wr_join_left_only(j->base.kind);
    if (partner != j->prev) {
        WR_TRY(settle_bereft(j, err));
        j->prev = partner;
        j->partners += partner->count;
        if (j->adds && partner->mark < partner->count) {
            count_matched(j, other, partner->count - partner->mark);
            partner->mark = partner->count;
        }
        uint32_t before = partner->partners;
        if (j->adds) partner->partners++;
        else if (before) partner->partners--;
        bool gained = j->adds && !before, lost = !j->adds && before == 1;
        if (gained && wr_join_pads(j->base.kind, other)) WR_TRY(emit_copies(j, partner, false, err));
        if (lost && wr_join_pads(j->base.kind, other)) j->bereft = partner;
        if ((gained || lost) && left_only && other == 0) WR_TRY(emit_copies(j, partner, gained == (j->base.kind == WR_JOIN_SEMI), err));
    }
    if (left_only || j->base.kind == WR_JOIN_INNER) return WR_OK;
    return emit_pair(j, j->item_row[item], partner, j->adds, err);
}

static void arm_ttl(join *j, uint32_t side, wr_join_set *set, uint32_t slot, int64_t at_us) {
    if (!j->ttl_us[side] || set->n_armed) return;
    wr_join_wheel_add(&j->wheel[side], at_us, slot);
    set->n_armed++;
}

static void store_own(join *j, uint32_t slot) {
    keyed       *k = wr_kmap_value(j->map, slot);
    wr_join_row *row = j->own;
    int64_t      now = j->base.op.ctx->now_us;
    if (!row) {
        row = wr_join_row_new(j->base.heap, wr_sbuf_str(&j->base.scratch));
        row->count = row->partners = 0;
        wr_join_set_add(j->base.heap, &k->set[j->side], row, j->hash);
        j->base.n_rows++;
    }
    wr_assert(row->count < UINT32_MAX);
    row->count++;
    j->base.op.ctx->ledger->kept[j->side]++;
    row->partners = j->partners;
    row->time_us = now;
    if (j->partners) {
        count_matched(j, j->side, row->count - row->mark);
        row->mark = row->count;
    }
    arm_ttl(j, j->side, &k->set[j->side], slot, wr_sat_add(now, j->ttl_us[j->side]));
}

static void remove_own(join *j, uint32_t slot) {
    wr_join_row *row = j->own;
    if (j->partners) j->base.op.ctx->ledger->matched[j->side]++;
    else count_unmatched(j, j->side, 1);
    if (row->mark == row->count) row->mark--;
    else count_unmatched(j, j->side, 1), j->base.op.ctx->ledger->kept[j->side]--; /* a copy that never had a partner */
    if (--row->count) return;
    keyed *k = wr_kmap_value(j->map, slot);
    wr_join_set_remove(j->base.heap, &k->set[j->side], row, j->hash);
    wr_join_row_free(j->base.heap, row);
    j->base.n_rows--;
}

static wr_status end_item(join *j, wr_err *err) {
    uint32_t item = j->cur, row = j->item_row[item], slot = j->item_slot[item];
    j->cur = UINT32_MAX;
    if (j->skip) return WR_OK;
    WR_TRY(settle_bereft(j, err));
    bool alone = j->partners == 0, left = j->side == 0;
    if (!j->adds && j->own && wr_join_left_only(j->base.kind)) alone = j->own->partners == 0; /* what was emitted, even if partners expired since */
    bool emits = (wr_join_pads(j->base.kind, j->side) && alone) || (left && j->base.kind == WR_JOIN_SEMI && !alone) ||
                 (left && j->base.kind == WR_JOIN_ANTI && alone);
    if (emits) WR_TRY(emit_pair(j, row, NULL, j->adds, err));
    if (slot == WR_SLOT_NONE) {
        if (emits) count_unmatched(j, j->side, 1);
        else count(j, j->side, WR_REASON_NULL_KEY, 1);
        wr_join_lost(j->base.op.ctx, j->side, emits ? (j->side ? WR_REASON_UNMATCHED_RIGHT : WR_REASON_UNMATCHED_LEFT) : WR_REASON_NULL_KEY, (wr_near){.why = WR_MISS_NULL_KEY}, j->batch, row);
    } else if (j->adds) {
        store_own(j, slot);
    } else {
        remove_own(j, slot);
    }
    return WR_OK;
}

/* Ends the row begun and walks on to `item`, which is begun; n_items: to the end. */
static wr_status walk_to(join *j, uint32_t *next, uint32_t item, wr_err *err) {
    if (j->cur == item && item < j->n_items) return WR_OK;
    if (j->cur != UINT32_MAX) WR_TRY(end_item(j, err));
    for (; *next < item; ++*next) {
        WR_TRY(begin_item(j, *next));
        WR_TRY(end_item(j, err));
    }
    if (item == j->n_items) return WR_OK;
    *next = item + 1;
    return begin_item(j, item);
}

/* ---- candidates ---- */

static wr_status apply_candidates(join *j, uint32_t *next, wr_err *err) {
    wr_join_out *c = &j->cand;
    uint16_t     sel[WR_BATCH_MAX];
    uint32_t     n_sel, n = 0;
    wr_batch    *built;
    if (!c->n) return WR_OK;
    wr_status s = wr_join_out_filter(c, sel, &n_sel, &built, err);
    for (uint32_t i = 0; i < n_sel && s == WR_OK; i++) {
        uint32_t at = sel[i], item = j->cand_item[at];
        s = walk_to(j, next, item, err);
        if (s != WR_OK || j->skip) continue;
        s = apply_pair(j, item, (wr_join_row *)(uintptr_t)c->row[!j->side][at], err);
        sel[n++] = (uint16_t)at;
    }
    if (s == WR_OK && n && j->base.kind == WR_JOIN_INNER) { /* the candidates are the output */
        if (!built) built = wr_join_out_build(c, false);
        if (n < built->n_rows) {
            built->sel = memcpy(wr_mem_alloc(built->mem, n * sizeof *sel), sel, n * sizeof *sel);
            built->n_sel = n;
        }
        s = wr_emit(j->out, built, err);
        built = NULL;
    }
    wr_batch_unref(built);
    wr_join_out_reset(c);
    return s;
}

static wr_status add_candidates(join *j, uint32_t item, const wr_join_set *set, uint32_t *next, wr_err *err) {
    bool    copies = !wr_join_left_only(j->base.kind);
    wr_kind kind = wr_kind_adds(wr_batch_kind(j->batch, j->item_row[item])) ? WR_KIND_INSERT : WR_KIND_DELETE;
    for (uint32_t i = 0; i < set->n; i++) {
        for (uint32_t c = copies ? set->at[i].row->count : 1; c > 0; c--) {
            j->cand_item[j->cand.n] = (uint16_t)item;
            wr_join_out_pair(&j->cand, j->item_row[item], set->at[i].row, kind, WR_TIME_MIN);
            if (wr_join_out_full(&j->cand)) WR_TRY(apply_candidates(j, next, err));
        }
    }
    return WR_OK;
}

static wr_status candidates_of(join *j, uint32_t item, uint32_t *next, wr_err *err) {
    uint32_t slot = j->item_slot[item], other = !j->side;
    if (slot == WR_SLOT_NONE) return WR_OK;
    if (j->null_aware && slot == j->null_slot) { /* NULL against everything */
        for (uint32_t s = wr_kmap_next(j->map, WR_SLOT_NONE); s != WR_SLOT_NONE; s = wr_kmap_next(j->map, s))
            WR_TRY(add_candidates(j, item, &((keyed *)wr_kmap_value(j->map, s))->set[other], next, err));
        return WR_OK;
    }
    WR_TRY(add_candidates(j, item, &((keyed *)wr_kmap_value(j->map, slot))->set[other], next, err));
    if (j->null_slot != WR_SLOT_NONE) WR_TRY(add_candidates(j, item, &((keyed *)wr_kmap_value(j->map, j->null_slot))->set[other], next, err));
    return WR_OK;
}

/* ---- expiry ---- */

static wr_status expire_key(join *j, uint32_t side, uint32_t slot, wr_err *err) {
    WR_TRY(wr_kmap_warm(j->map, slot, err));
    keyed       *k = wr_kmap_value(j->map, slot);
    wr_join_set *set = &k->set[side];
    int64_t      now = j->base.op.ctx->now_us, ttl = j->ttl_us[side], first = WR_TIME_MAX;
    set->n_armed--;
    for (uint32_t i = 0; i < set->n;) {
        wr_join_row *row = set->at[i].row;
        if (wr_sat_add(row->time_us, ttl) > now) {
            first = WR_MIN(first, row->time_us);
            i++;
            continue;
        }
        count(j, side, WR_REASON_EXPIRED, row->count - row->mark);
        wr_join_lost_stored(&j->base, side, WR_REASON_EXPIRED, (wr_near){0}, row->count - row->mark, row);
        j->base.op.ctx->ledger->kept[side] -= row->count - row->mark;
        wr_join_set_remove(j->base.heap, set, row, set->at[i].hash); /* moves the last one here */
        wr_join_row_free(j->base.heap, row);
        j->base.n_rows--;
    }
    /* Not for every row of a big key: the next look is an eighth of the TTL away at the earliest. */
    if (set->n) arm_ttl(j, side, set, slot, WR_MAX(wr_sat_add(first, ttl), wr_sat_add(now, ttl / 8)));
    if (is_idle(k)) drop_key(j, slot);
    return WR_OK;
}
static wr_status expire(join *j, wr_err *err) {
    for (uint32_t s = 0; s < 2; s++) {
        if (!j->ttl_us[s] || !j->wheel[s].n) continue;
        j->due.n = 0;
        wr_join_wheel_advance(&j->wheel[s], j->base.op.ctx->now_us, &j->due);
        for (uint32_t i = 0; i < j->due.n; i++) {
            WR_TRY(wr_join_warm_due(j->map, &j->due, i, 0, err));
            WR_TRY(expire_key(j, s, (uint32_t)j->due.at[i].what, err));
        }
    }
    return WR_OK;
}

/* ---- batches ---- */

static wr_status list_items(join *j, uint32_t side, wr_batch *batch, wr_err *err) {
    wr_join_probe *p = &j->probe;
    wr_join_probe_split(p, &j->base, side, batch, false, j->null_aware);
    WR_TRY(wr_kmap_find(j->map, &p->view, j->base.side[side].keys, p->hash, true, p->slot, p->created, err));
    uint32_t n = 0, a = 0, b = 0;
    while (a < p->n || b < p->n_null) {
        bool key = b >= p->n_null || (a < p->n && p->sel[a] < p->null[b]);
        j->item_row[n] = key ? p->sel[a] : p->null[b];
        j->item_slot[n++] = key ? p->slot[a] : WR_SLOT_NONE;
        a += key, b += !key;
    }
    j->n_items = n;
    j->side = side;
    if (!j->null_aware) return WR_OK;
    const wr_vec *vec = &batch->cols[j->base.side[side].keys[0]];
    for (uint32_t i = 0; i < n; i++)
        if (wr_vec_is_null(vec, j->item_row[i])) j->null_slot = j->item_slot[i];
    return WR_OK;
}

static wr_status join_batch(join *j, wr_err *err) {
    uint32_t next = 0;
    for (uint32_t i = 0; i < j->n_items; i++) WR_TRY(candidates_of(j, i, &next, err));
    WR_TRY(apply_candidates(j, &next, err));
    WR_TRY(walk_to(j, &next, j->n_items, err));
    return wr_join_out_emit(&j->emit, j->out, err);
}

/* Keys of the batch that are empty now. A key may stand there more than once: armed, it does not look idle a second time. */
static void drop_idle_keys(join *j) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < j->n_items; i++) {
        if (j->item_slot[i] == WR_SLOT_NONE) continue;
        keyed *k = wr_kmap_value(j->map, j->item_slot[i]);
        if (!is_idle(k)) continue;
        k->set[0].n_armed = 1;
        j->item_slot[n++] = j->item_slot[i];
    }
    for (uint32_t i = 0; i < n; i++) drop_key(j, j->item_slot[i]);
}

static wr_status on_batch(wr_op *op, uint32_t side, wr_batch *batch, wr_out *out, wr_err *err) {
    join *j = (join *)op;
    WR_TRY(expire(j, err));
    j->out = out, j->batch = batch, j->cur = UINT32_MAX;
    wr_join_out_begin(&j->cand, (int)side, batch);
    wr_join_out_begin(&j->emit, (int)side, batch);
    WR_TRY(list_items(j, side, batch, err));
    wr_status s = join_batch(j, err);
    wr_join_out_reset(&j->cand);
    wr_join_out_reset(&j->emit);
    drop_idle_keys(j);
    return s;
}

/* What never had a partner is known now. */
static wr_status end_of_input(join *j, wr_err *err) {
    wr_kmap_cursor c = {0};
    uint32_t       n = 1;
    wr_status      status = WR_OK;
    while (n && status == WR_OK) {
        status = wr_kmap_scan(j->map, &c, j->item_slot, WR_BATCH_MAX, &n, err);
        for (uint32_t at = 0; at < n && status == WR_OK; at++) {
            keyed *k = wr_kmap_value(j->map, j->item_slot[at]);
            for (uint32_t s = 0; s < 2; s++) {
                for (uint32_t i = 0; i < k->set[s].n; i++) {
                    wr_join_row *row = k->set[s].at[i].row;
                    count_unmatched(j, s, row->count - row->mark);
                    wr_join_lost_stored(&j->base, s, s ? WR_REASON_UNMATCHED_RIGHT : WR_REASON_UNMATCHED_LEFT, (wr_near){0}, row->count - row->mark, row);
                    j->base.op.ctx->ledger->kept[s] -= row->count - row->mark;
                    row->mark = row->count;
                }
            }
        }
    }
    wr_kmap_scan_end(j->map, &c);
    return status;
}
static wr_status on_watermark(wr_op *op, int64_t wm_us, wr_out *out, bool *more, wr_err *err) {
    (void)out;
    join *j = (join *)op;
    *more = false;
    WR_TRY(expire(j, err));
    return wm_us == WR_TIME_MAX ? end_of_input(j, err) : WR_OK;
}

/* ---- the rest ---- */

static void value_free(void *self, void *value) {
    join  *j = self;
    keyed *k = value;
    for (uint32_t s = 0; s < 2; s++) wr_join_set_clear(j->base.heap, &k->set[s]);
}
static void value_save(void *self, const void *value, wr_sbuf *out) {
    (void)self;
    const keyed *k = value;
    for (uint32_t s = 0; s < 2; s++) {
        wr_put_u32(out, k->set[s].n);
        for (uint32_t i = 0; i < k->set[s].n; i++) wr_join_row_save(k->set[s].at[i].row, out);
    }
}
static bool value_load(void *self, void *value, wr_reader *in) {
    join  *j = self;
    keyed *k = value;
    for (uint32_t s = 0; s < 2; s++) {
        uint32_t n = wr_get_u32(in);
        for (uint32_t i = 0; i < n; i++) {
            wr_join_row *row = wr_join_row_load(&j->base, s, in);
            if (!row) return false;
            wr_str   bytes = wr_join_row_bytes(row);
            uint32_t hash = wr_join_set_hash(bytes);
            bool     ok = row->count && row->mark <= row->count && !wr_join_set_find(&k->set[s], bytes, hash);
            wr_join_set_add(j->base.heap, &k->set[s], row, hash);
            if (!ok) return false;
        }
    }
    return !in->bad;
}

static void value_new(void *self, uint32_t slot, void *value) {
    join  *j = self;
    keyed *k = value;
    for (uint32_t s = 0; s < 2; s++) {
        j->base.n_rows += k->set[s].n;
        if (k->set[s].n) arm_ttl(j, s, &k->set[s], slot, 0); /* looked at with the next batch */
    }
}
static wr_status save(wr_op *op, wr_sbuf *out, wr_err *err) {
    join *j = (join *)op;
    wr_put_u32(out, IMAGE_VERSION);
    WR_TRY(wr_kmap_save(j->map, out, err));
    wr_op_save_rows(out, j->base.n_rows);
    return WR_OK;
}

static wr_status find_null_slot(join *j, wr_err *err) {
    wr_batch *one = wr_batch_new(1, 1024); /* the key NULL as a batch */
    uint64_t  hash;
    const uint32_t key = 0;
    wr_vec_init(&one->cols[0], j->base.side[0].types[j->base.side[0].keys[0]], 1, true, one->mem);
    wr_vec_set_null(&one->cols[0], 0, one->mem);
    one->n_rows = 1;
    wr_batch_hash(one, &key, 1, &hash);
    wr_status s = wr_kmap_find(j->map, one, &key, &hash, false, &j->null_slot, NULL, err);
    wr_batch_unref(one);
    return s;
}

static wr_status load(wr_op *op, wr_reader *in, uint32_t from, uint32_t to, wr_err *err) {
    join *j = (join *)op;
    if (wr_get_u32(in) != IMAGE_VERSION) return wr_fail(err, WR_CORRUPT, "WR310", "state of a join has an unknown version");
    WR_TRY(wr_kmap_load(j->map, in, op->ctx->n_key_groups, from, to, err));
    j->base.n_rows += wr_op_load_rows(j->map, in);
    return j->null_aware ? find_null_slot(j, err) : WR_OK;
}

static void usage(const wr_op *op, wr_op_usage *out) {
    const join *j = (const join *)op;
    *out = (wr_op_usage){.keys = wr_kmap_count(j->map), .rows = (uint64_t)WR_MAX(j->base.n_rows, 0), .oldest_us = WR_TIME_MAX};
    out->state_bytes = wr_kmap_bytes(j->map) + wr_join_heap_bytes(j->base.heap);
    for (uint32_t s = 0; s < 2; s++) out->state_bytes += wr_join_wheel_bytes(&j->wheel[s]);
    wr_op_map_usage(j->map, out);
}

static wr_status limit(wr_op *op, int64_t bytes, wr_err *err) { return wr_join_limit(&((join *)op)->base, ((join *)op)->map, bytes, err); }
static void close_op(wr_op *op) {
    join *j = (join *)op;
    wr_join_out_free(&j->cand);
    wr_join_out_free(&j->emit);
    wr_kmap_free(j->map);
    for (uint32_t s = 0; s < 2; s++) wr_join_wheel_free(&j->wheel[s]);
    wr_arr_free(&j->due);
    wr_join_base_free(&j->base);
    wr_free(j);
}

static const wr_op_vt join_vt = {"join", on_batch, on_watermark, wr_op_same_watermark, save, load, usage, limit, close_op};

wr_op *wr_join_new(const wr_join_opts *opts, const wr_schema *left, const wr_schema *right, wr_op_ctx *ctx) {
    join *j = wr_calloc(1, sizeof *j);
    j->base.op.vt = &join_vt;
    wr_join_base_init(&j->base, opts->kind, &opts->keys, opts->residual, left, right, ctx);
    j->null_aware = opts->null_aware_anti;
    wr_assert(!j->null_aware || (opts->kind == WR_JOIN_ANTI && opts->keys.n == 1));
    j->null_slot = WR_SLOT_NONE;
    wr_type *key_types = wr_new_n(j->base.arena, wr_type, opts->keys.n + 1);
    for (uint32_t i = 0; i < opts->keys.n; i++) key_types[i] = j->base.side[0].types[opts->keys.left[i]];
    const wr_kmap_opts map = {.name = "join", .key_types = key_types, .n_key_types = opts->keys.n, .value_bytes = sizeof(keyed),
                                         .acct = ctx->acct, .self = j, .value_free = value_free, .value_save = value_save, .value_load = value_load,
                              .value_new = value_new, .heap_bytes = wr_join_map_heap};
    wr_spill spill = opts->ttl_us[0] || opts->ttl_us[1] ? WR_SPILL_VALUE : WR_SPILL_ENTRY; /* the wheel holds slots */
    j->map = wr_op_map_new(&map, ctx, "join", j->null_aware ? WR_SPILL_NONE : spill);
    for (uint32_t s = 0; s < 2; s++) {
        j->ttl_us[s] = opts->ttl_us[s];
        wr_join_wheel_init(&j->wheel[s], ctx->acct);
    }
    wr_join_out_init(&j->cand, &j->base);
    wr_join_out_init(&j->emit, &j->base);
    return &j->base.op;
}

double wr_join_key_bytes(const wr_join_opts *opts, double key_bytes) {
    uint32_t timed = (opts->ttl_us[0] > 0) + (opts->ttl_us[1] > 0);
    return wr_kmap_entry_bytes(sizeof(keyed), key_bytes) + timed * sizeof(wr_join_due) / 0.75;
}
double wr_join_side_row_bytes(double row_bytes, double per_key) {
    double cap = wr_join_array_cap(per_key, 1, false), index = per_key > 16 ? 3 * sizeof(uint32_t) : 0; /* places: a quarter to half full */
    return wr_join_piece_bytes(sizeof(wr_join_row) + row_bytes) + cap * sizeof(wr_join_set_ent) / WR_MAX(per_key, 1.0) + index;
}
