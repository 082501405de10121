/* op/dedup.c: one row per key of an append-only input: the first or the last, by arrival or by event time.
 *
 * Idea       keep first by arrival is a set of keys: rows that create an entry pass, as a selection of the input. Keep last remembers the kept
 *            row only if its old values are needed (-U) and emits at most one update per key per batch. Keep first by event time holds
 *            the earliest row of a key back until the watermark has passed it, because only then no earlier one can come; so its
 *            output is append-only.
 * Late rows  matter only for keep first by event time, where they could be earlier than a row already emitted: dropped as late.
 * Ties       keep last: equal time replaces. Keep first: the first arrival stays.
 * TTL        from the last write of the key; an expired entry counts as absent, a sweep frees it.
 * Memory     map plus encoded rows, charged once a batch.  Thread: one worker.                                             */
#include "op/op_util.h"

enum { VERSION = 1, SWEEP_SLOTS = 256, MALLOC_EXTRA = 16 };
static const char tag[] = "dedup";
typedef enum entry_state { ENTRY_NEW, ENTRY_HELD /* waits for the watermark */, ENTRY_OUT } entry_state;

typedef struct entry {
    int64_t  used_us, time_us;
    char    *row;  /* encoded; NULL when it is not needed */
    uint32_t len, state, mark, index;
} entry;

typedef struct dedup {
    wr_op         op;
    wr_dedup_opts opts;
    wr_arena     *arena;
    wr_rowcodec  *codec;
    wr_type      *types;
    uint32_t      n_cols;
    bool          holds;     /* keep first by event time */
    bool          keeps_row; /* the kept row is needed later */
    wr_kmap      *map;
    wr_timers    *timers;    /* held rows by time; payload = slot */
    int64_t       wm_us, heap_bytes, heap_told;
    uint32_t      batch_no;
    wr_sbuf       scratch;
    uint64_t      hash[WR_BATCH_MAX];
    uint32_t      slots[WR_BATCH_MAX];
    uint8_t       created[WR_BATCH_MAX];
    void         *values[WR_BATCH_MAX];
    uint32_t      n_touched, touched_row[WR_BATCH_MAX];
    bool          existed[WR_BATCH_MAX], won[WR_BATCH_MAX];
    entry        *touched[WR_BATCH_MAX];
} dedup;

static void row_set(dedup *d, entry *e, wr_str bytes) {
    if (e->row) {
        d->heap_bytes -= e->len + MALLOC_EXTRA;
        wr_free(e->row);
    }
    e->row = NULL;
    e->len = (uint32_t)bytes.len;
    if (!bytes.ptr) return;
    e->row = memcpy(wr_malloc(bytes.len), bytes.ptr, bytes.len);
    d->heap_bytes += e->len + MALLOC_EXTRA;
}
static void row_encode(dedup *d, entry *e, const wr_batch *batch, uint32_t row) {
    wr_sbuf_clear(&d->scratch);
    wr_rowcodec_put(d->codec, batch, NULL, row, &d->scratch);
    row_set(d, e, wr_sbuf_str(&d->scratch));
}
static void value_free(void *self, void *value) { row_set(self, value, (wr_str){0}); }
static void value_save(void *self, const void *value, wr_sbuf *out) {
    const entry *e = value;
    (void)self;
    wr_put_i64(out, e->used_us);
    wr_put_i64(out, e->time_us);
    wr_put_u8(out, (uint8_t)e->state);
    wr_put_u8(out, e->row != NULL);
    if (e->row) wr_put_bytes(out, e->row, e->len);
}
static bool value_load(void *self, void *value, wr_reader *in) {
    entry *e = value;
    e->used_us = wr_get_i64(in);
    e->time_us = wr_get_i64(in);
    e->state = wr_get_u8(in);
    if (wr_get_u8(in)) {
        wr_str row = wr_get_bytes(in);
        if (!in->bad) row_set(self, e, row);
    }
    return !in->bad && e->state <= ENTRY_OUT && (e->row || e->state != ENTRY_HELD);
}
static void charge(dedup *d) {
    if (d->heap_bytes != d->heap_told) wr_kmap_charge(d->map, d->heap_bytes - d->heap_told);
    d->heap_told = d->heap_bytes;
}

static int64_t heap_bytes(void *self) { /* all is charged to the map */
    charge(self);
    return 0;
}
static void value_new(void *self, uint32_t slot, void *value) {
    const entry *e = value;
    if (e->state == ENTRY_HELD) wr_timers_add(((dedup *)self)->timers, e->time_us, slot);
}

static int64_t clock_us(const dedup *d) { return d->opts.ttl_event_time ? d->wm_us : d->op.ctx->now_us; }
static bool    expired(const dedup *d, const entry *e, int64_t now_us) {
    return d->opts.ttl_us && now_us != WR_TIME_MIN && now_us != WR_TIME_MAX && e->state == ENTRY_OUT && e->used_us != WR_TIME_MIN && now_us - e->used_us >= d->opts.ttl_us;
}
static bool value_expired(void *self, const void *value) { return expired(self, value, clock_us(self)); }
static wr_status sweep(dedup *d, wr_err *err) {
    uint64_t removed;
    if (!d->opts.ttl_us) return WR_OK;
    WR_TRY(wr_kmap_sweep(d->map, SWEEP_SLOTS, &removed, err));
    d->op.ctx->ledger->dropped[WR_REASON_EXPIRED] += removed;
    return WR_OK;
}
static wr_status find(dedup *d, const wr_batch *batch, uint32_t *n_rows, wr_err *err) {
    uint32_t        n = wr_batch_live(batch);
    const uint64_t *hash = wr_op_hash(batch, d->opts.keys, d->opts.n_keys, d->hash);
    WR_TRY(wr_kmap_find(d->map, batch, d->opts.keys, hash, true, d->slots, d->created, err));
    wr_kmap_values(d->map, d->slots, n, d->values);
    d->batch_no++;
    *n_rows = n;
    return WR_OK;
}
/* An entry whose time is over starts again. */
static void renew(dedup *d, entry *e, int64_t now_us) {
    if (!expired(d, e, now_us)) return;
    row_set(d, e, (wr_str){0});
    e->state = ENTRY_NEW;
    d->op.ctx->ledger->dropped[WR_REASON_EXPIRED]++;
}

/* ---- keep first by arrival ---- */

static wr_status pass_first(dedup *d, wr_batch *batch, wr_out *out, wr_err *err) {
    uint32_t n, m = 0;
    WR_TRY(find(d, batch, &n, err));
    int64_t   now_us = clock_us(d);
    wr_batch *next = wr_batch_derive(batch, batch->n_cols);
    uint16_t *sel = wr_mem_alloc(next->mem, n * sizeof *sel);
    for (uint32_t i = 0; i < n; i++) {
        entry *e = d->values[i];
        bool   fresh = d->created[i];
        if (d->opts.ttl_us) { /* without, entries are keys only */
            renew(d, e, now_us);
            fresh = e->state == ENTRY_NEW;
            if (fresh) e->state = ENTRY_OUT, e->used_us = now_us;
        }
        if (!fresh) {
            d->op.ctx->ledger->dropped[WR_REASON_DUPLICATE]++;
            continue;
        }
        sel[m++] = (uint16_t)wr_batch_row(batch, i);
    }
    next->hash = NULL;
    if (m < n) next->sel = sel, next->n_sel = m;
    if (m) return wr_op_emit_cut(d->op.ctx, out, next, err);
    wr_batch_unref(next);
    return WR_OK;
}

/* ---- keep first by event time ---- */

static wr_status hold_first(dedup *d, wr_batch *batch, wr_err *err) {
    uint32_t n;
    WR_TRY(find(d, batch, &n, err));
    int64_t       now_us = clock_us(d), time_us = 0;
    const wr_vec *times = &batch->cols[d->opts.time_col];
    for (uint32_t i = 0; i < n; i++) {
        uint32_t row = wr_batch_row(batch, i);
        entry   *e = d->values[i];
        WR_TRY(wr_op_row_time(times, row, &time_us, err));
        bool late = batch->row_wm_us && batch->row_wm_us[row] != WR_TIME_MIN && time_us <= batch->row_wm_us[row];
        if (!late) renew(d, e, now_us);
        if (late || e->state == ENTRY_OUT || (e->state == ENTRY_HELD && e->time_us <= time_us)) {
            d->op.ctx->ledger->dropped[late ? WR_REASON_LATE : WR_REASON_DUPLICATE]++;
            continue;
        }
        if (e->state == ENTRY_HELD) d->op.ctx->ledger->dropped[WR_REASON_DUPLICATE]++;
        else d->op.ctx->ledger->kept[0]++;
        e->state = ENTRY_HELD;
        e->time_us = time_us;
        row_encode(d, e, batch, row);
        wr_timers_add(d->timers, time_us, d->slots[i]);
    }
    /* a late row of a key never seen leaves no entry behind */
    for (uint32_t i = 0; i < n; i++)
        if (d->created[i] && ((entry *)d->values[i])->state == ENTRY_NEW) wr_kmap_remove(d->map, d->slots[i]);
    return WR_OK;
}
static wr_status release_held(dedup *d, int64_t wm_us, wr_out *out, bool *more, wr_err *err) {
    while (wr_timers_first(d->timers) <= wm_us && wr_timers_count(d->timers)) {
        if (out->full(out)) {
            *more = true;
            return WR_OK;
        }
        uint32_t  n = 0, max = d->op.ctx->batch_rows;
        wr_batch *b = wr_batch_new(d->n_cols, 1024 + (size_t)max * 16);
        for (uint32_t c = 0; c < d->n_cols; c++) wr_vec_init(&b->cols[c], d->types[c], max, true, b->mem);
        int64_t  deadline;
        uint64_t slot;
        uint32_t n_due = 0;
        while (n_due < max && wr_timers_pop(d->timers, wm_us, &deadline, &slot)) d->slots[n_due++] = (uint32_t)slot;
        wr_status s = wr_kmap_relax(d->map, err);
        if (s == WR_OK) s = wr_kmap_warm_all(d->map, d->slots, n_due, err);
        for (uint32_t i = 0; i < n_due && s == WR_OK; i++) {
            entry *e = wr_kmap_value(d->map, d->slots[i]);
            if (e->state != ENTRY_HELD || e->time_us > wm_us) continue; /* an earlier row took its place */
            bool ok = wr_rowcodec_get(d->codec, (wr_str){e->row, e->len}, b->cols, n++, b->mem);
            wr_assert(ok);
            e->state = ENTRY_OUT;
            e->used_us = clock_us(d);
            row_set(d, e, (wr_str){0});
        }
        b->n_rows = n;
        d->op.ctx->ledger->kept[0] -= n;
        for (uint32_t c = 0; c < d->n_cols; c++) b->cols[c].n = n;
        if (n && s == WR_OK) s = wr_emit(out, b, err);
        else wr_batch_unref(b);
        WR_TRY(s);
    }
    return WR_OK;
}

/* ---- keep last ---- */

static wr_status touch_last(dedup *d, const wr_batch *batch, uint32_t n, wr_err *err) {
    int64_t now_us = clock_us(d);
    d->n_touched = 0;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t row = wr_batch_row(batch, i);
        entry   *e = d->values[i];
        int64_t  time_us = 0;
        if (d->opts.time_col >= 0) WR_TRY(wr_op_row_time(&batch->cols[d->opts.time_col], row, &time_us, err));
        if (e->mark != d->batch_no) {
            renew(d, e, now_us);
            e->mark = d->batch_no;
            e->index = d->n_touched++;
            d->touched[e->index] = e;
            d->existed[e->index] = e->state == ENTRY_OUT;
            d->won[e->index] = false;
        }
        bool has = d->existed[e->index] || d->won[e->index];
        if (has && time_us < e->time_us) {
            d->op.ctx->ledger->dropped[WR_REASON_DUPLICATE]++;
            continue;
        }
        if (d->won[e->index]) d->op.ctx->ledger->dropped[WR_REASON_DUPLICATE]++; /* the row that it replaces within the batch */
        d->won[e->index] = true;
        d->touched_row[e->index] = row;
        e->time_us = time_us;
        e->used_us = now_us;
        e->state = ENTRY_OUT;
    }
    return WR_OK;
}
static wr_status pass_last(dedup *d, wr_batch *batch, wr_out *out, wr_err *err) { /* +I/+U only: rows of the input as they are */
    uint32_t n_rows;
    WR_TRY(find(d, batch, &n_rows, err));
    WR_TRY(touch_last(d, batch, n_rows, err));
    wr_batch *next = wr_batch_derive(batch, batch->n_cols);
    uint8_t  *kinds = wr_mem_calloc(next->mem, batch->n_rows);
    bool     *keep = wr_mem_calloc(next->mem, batch->n_rows);
    uint16_t *sel = wr_mem_alloc(next->mem, batch->n_rows * sizeof *sel);
    uint32_t  m = 0;
    for (uint32_t t = 0; t < d->n_touched; t++) {
        if (!d->won[t]) continue;
        kinds[d->touched_row[t]] = d->existed[t] ? WR_KIND_UPDATE_AFTER : WR_KIND_INSERT;
        keep[d->touched_row[t]] = true;
    }
    for (uint32_t r = 0; r < batch->n_rows; r++)
        if (keep[r]) sel[m++] = (uint16_t)r;
    next->hash = NULL;
    next->kinds = kinds;
    next->sel = sel;
    next->n_sel = m;
    return wr_op_emit_cut(d->op.ctx, out, next, err);
}
static wr_status change_last(dedup *d, wr_batch *batch, wr_out *out, wr_err *err) { /* with -U: the old rows are decoded */
    uint32_t n_rows;
    WR_TRY(find(d, batch, &n_rows, err));
    WR_TRY(touch_last(d, batch, n_rows, err));
    for (uint32_t from = 0, n; from < d->n_touched; from += n) {
        n = WR_MIN(d->n_touched - from, WR_BATCH_MAX / 2u);
        wr_batch *b = wr_batch_new(d->n_cols, 1024 + (size_t)n * 32);
        for (uint32_t c = 0; c < d->n_cols; c++) wr_vec_init(&b->cols[c], d->types[c], 2 * n, true, b->mem);
        uint8_t *kinds = wr_mem_alloc(b->mem, 2 * n);
        uint32_t m = 0;
        for (uint32_t t = from; t < from + n; t++) {
            entry *e = d->touched[t];
            if (!d->won[t]) continue;
            wr_sbuf_clear(&d->scratch);
            wr_rowcodec_put(d->codec, batch, NULL, d->touched_row[t], &d->scratch);
            wr_str fresh = wr_sbuf_str(&d->scratch), old = {e->row, e->len};
            if (d->existed[t] && wr_str_eq(fresh, old) && !d->opts.ttl_us) {
                d->op.ctx->ledger->dropped[WR_REASON_NO_CHANGE]++;
                continue;
            }
            bool ok = true;
            if (d->existed[t]) {
                kinds[m] = WR_KIND_UPDATE_BEFORE;
                ok = wr_rowcodec_get(d->codec, old, b->cols, m++, b->mem);
            }
            kinds[m] = d->existed[t] ? WR_KIND_UPDATE_AFTER : WR_KIND_INSERT;
            ok = ok && wr_rowcodec_get(d->codec, fresh, b->cols, m++, b->mem);
            wr_assert(ok);
            row_set(d, e, fresh);
        }
        b->n_rows = m;
        for (uint32_t c = 0; c < d->n_cols; c++) b->cols[c].n = m;
        b->kinds = kinds;
        WR_TRY(wr_op_emit_cut(d->op.ctx, out, b, err));
    }
    return WR_OK;
}

/* ---- the operator ---- */

static wr_status dedup_on_batch(wr_op *op, uint32_t input, wr_batch *batch, wr_out *out, wr_err *err) {
    dedup    *d = (dedup *)op;
    wr_status s = WR_OK;
    (void)input;
    if (!wr_batch_live(batch)) return WR_OK;
    if (d->holds) s = hold_first(d, batch, err);
    else if (!d->opts.keep_last) s = pass_first(d, batch, out, err);
    else s = d->keeps_row ? change_last(d, batch, out, err) : pass_last(d, batch, out, err);
    if (s == WR_OK) s = sweep(d, err);
    charge(d);
    return s;
}
static wr_status dedup_on_watermark(wr_op *op, int64_t wm_us, wr_out *out, bool *more, wr_err *err) {
    dedup *d = (dedup *)op;
    *more = false;
    d->wm_us = wm_us;
    wr_status s = d->holds ? release_held(d, wm_us, out, more, err) : WR_OK;
    if (s == WR_OK) s = sweep(d, err);
    charge(d);
    return s;
}
static wr_status dedup_save(wr_op *op, wr_sbuf *out, wr_err *err) {
    wr_op_save_head(out, tag, VERSION);
    wr_put_i64(out, ((dedup *)op)->wm_us);
    return wr_kmap_save(((dedup *)op)->map, out, err);
}
static wr_status dedup_load(wr_op *op, wr_reader *in, uint32_t from, uint32_t to, wr_err *err) {
    dedup *d = (dedup *)op;
    WR_TRY(wr_op_load_head(in, tag, VERSION, err));
    int64_t wm_us = wr_get_i64(in);
    d->wm_us = WR_MAX(d->wm_us, wm_us);
    wr_status s = wr_kmap_load(d->map, in, op->ctx->n_key_groups, from, to, err);
    charge(d);
    return s;
}
static void dedup_usage(const wr_op *op, wr_op_usage *out) {
    const dedup *d = (const dedup *)op;
    *out = (wr_op_usage){.state_bytes = wr_kmap_bytes(d->map), .keys = wr_kmap_count(d->map), .oldest_us = WR_TIME_MAX};
    wr_op_map_usage(d->map, out);
    if (!d->timers) return;
    out->rows = wr_timers_count(d->timers);
    out->oldest_us = wr_timers_first(d->timers);
}
static wr_status dedup_limit(wr_op *op, int64_t bytes, wr_err *err) { return wr_op_limit_map(((dedup *)op)->map, bytes, err); }
static void dedup_close(wr_op *op) {
    dedup *d = (dedup *)op;
    wr_kmap_free(d->map);
    wr_timers_free(d->timers);
    wr_sbuf_free(&d->scratch);
    wr_arena_free(d->arena);
    wr_free(d);
}
static const wr_op_vt dedup_vt = {
    .name = "dedup", .on_batch = dedup_on_batch, .on_watermark = dedup_on_watermark, .output_watermark = wr_op_same_watermark, .save = dedup_save,
    .load = dedup_load, .usage = dedup_usage, .limit = dedup_limit, .close = dedup_close,
};
double wr_dedup_key_bytes(const wr_dedup_opts *opts, double key_bytes, double row_bytes) {
    bool plain = !opts->keep_last && opts->time_col < 0 && !opts->ttl_us, row = opts->keep_last && opts->emit_before;
    return wr_kmap_entry_bytes(plain ? 0 : sizeof(entry), key_bytes) + (row ? row_bytes + MALLOC_EXTRA : 0);
}
wr_op *wr_dedup_new(const wr_dedup_opts *opts, const wr_schema *input, wr_op_ctx *ctx) {
    dedup *d = wr_calloc(1, sizeof *d);
    d->op = (wr_op){.vt = &dedup_vt, .ctx = ctx};
    d->opts = *opts;
    d->arena = wr_arena_new(ctx->acct);
    d->opts.keys = wr_op_copy_cols(d->arena, opts->keys, opts->n_keys);
    d->types = wr_op_types(d->arena, input);
    d->n_cols = input->n;
    d->codec = wr_rowcodec_new(d->arena, d->types, input->n);
    d->holds = !opts->keep_last && opts->time_col >= 0;
    d->keeps_row = opts->keep_last && opts->emit_before;
    d->wm_us = WR_TIME_MIN;
    if (d->holds) d->timers = wr_timers_new(ctx->acct);
    bool plain = !d->holds && !opts->keep_last && !opts->ttl_us;
    const wr_kmap_opts map = {.name = "keys", .key_types = wr_op_key_types(d->arena, input, opts->keys, opts->n_keys), .n_key_types = opts->n_keys,
                                         .value_bytes = plain ? 0 : sizeof(entry), .acct = ctx->acct, .self = d, .value_free = plain ? NULL : value_free,
                                         .value_save = plain ? NULL : value_save, .value_load = plain ? NULL : value_load,
                                         .value_new = d->holds ? value_new : NULL, .value_expired = value_expired, .heap_bytes = heap_bytes};
    d->map = wr_op_map_new(&map, ctx, tag, d->holds ? WR_SPILL_VALUE : WR_SPILL_ENTRY);
    return &d->op;
}
