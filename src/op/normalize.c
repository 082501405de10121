/* op/normalize.c: an upsert stream (+I/+U/-D by key, -D may carry only the key) becomes a full changelog; with `materialize` the rows of a retract
 * changelog that share a key become an upsert stream by that key (Flink's SinkUpsertMaterializer).
 *
 * Idea       per key the rows present, oldest first; the last is the visible one. Every input row (a -U with its +U: together) changes the list, and
 *            what comes out is the change of the visible row: +I, -D, or [-U] +U; nothing when it stays equal (NO_CHANGE).
 *            Plain mode keeps one row a key: an addition replaces it, a deletion clears it. Materialize keeps all, removes the first equal one.
 *            Rows with columns that the source could not know (opts.unchanged) take them from the row of their key before they count.
 * Ledger     a deletion of what is not there: RETRACT_UNKNOWN, nothing emitted.
 * State      per key 48 bytes + the map's entry, per row its encoding + 24 bytes; bounded by the keys alive.
 * Thread     the worker that owns the key group.                                                                          */
#include "op/join_common.h"
#include "op/op_util.h"

typedef struct keyed { wr_join_buf buf; } keyed; /* n_armed marks a key for removal after the batch */
typedef struct normalize {
    wr_join_base  base;   /* side 0 only */
    wr_kmap      *map;
    bool          emit_before, materialize;
    uint32_t      n_cols;     /* stored and given */
    const uint64_t *unchanged;
    wr_join_out   o;
    wr_join_probe probe;
} normalize;

enum { IMAGE_VERSION = 1 };

static void count(normalize *z, wr_reason reason) { z->base.op.ctx->ledger->dropped[reason]++; }
static wr_join_row *visible(keyed *k) { return k->buf.n ? wr_join_buf_ents(&k->buf)[k->buf.n - 1].row : NULL; }

static wr_join_row *take_out(normalize *z, keyed *k, uint32_t at) {
    wr_join_ent *ents = wr_join_buf_ents(&k->buf);
    wr_join_row *row = ents[at].row;
    memmove(ents + 1, ents, at * sizeof *ents);
    wr_join_buf_pop(z->base.heap, &k->buf, 1);
    z->base.n_rows--;
    return row;
}

/* The row that a deletion removes, or NULL. */
static wr_join_row *remove_row(normalize *z, keyed *k, const wr_batch *batch, uint32_t row) {
    if (!k->buf.n) return NULL;
    if (!z->materialize) return take_out(z, k, 0);
    wr_sbuf_clear(&z->base.scratch);
    wr_rowcodec_put(z->base.side[0].codec, batch, NULL, row, &z->base.scratch);
    wr_join_ent *ents = wr_join_buf_ents(&k->buf);
    for (uint32_t i = 0; i < k->buf.n; i++)
        if (wr_str_eq(wr_join_row_bytes(ents[i].row), wr_sbuf_str(&z->base.scratch))) return take_out(z, k, i);
    return NULL;
}

static void add_row(normalize *z, keyed *k, const wr_batch *batch, uint32_t row) {
    wr_join_row *r = wr_join_store(&z->base, 0, batch, row);
    r->wm_us = WR_TIME_MIN;
    wr_join_buf_add(z->base.heap, &k->buf, 0, r);
    z->base.n_rows++;
}

/* Emits the difference between two visible rows. A -U and its +U go into one batch. */
static wr_status emit_change(normalize *z, const wr_join_row *before, const wr_join_row *after, int64_t late_us, wr_out *out, wr_err *err) {
    wr_join_out *o = &z->o;
    bool same = before && after && wr_str_eq(wr_join_row_bytes(before), wr_join_row_bytes(after));
    if (same || (!before && !after)) {
        count(z, WR_REASON_NO_CHANGE);
        z->base.op.ctx->ledger->used--;
        return WR_OK;
    }
    bool two = before && after && z->emit_before;
    if (wr_join_out_full(o) || (two && o->n && o->n + 2 > o->cap)) WR_TRY(wr_join_out_emit(o, out, err));
    if (two) {
        wr_join_out_stored(o, before, NULL, WR_KIND_UPDATE_BEFORE, late_us);
        if (wr_join_out_full(o)) WR_TRY(wr_join_out_emit(o, out, err)); /* batches of one row */
    }
    if (!after) wr_join_out_stored(o, before, NULL, WR_KIND_DELETE, late_us);
    else wr_join_out_stored(o, after, NULL, before ? WR_KIND_UPDATE_AFTER : WR_KIND_INSERT, late_us);
    return WR_OK;
}

static wr_status unknown_value(const char *why, wr_err *err) {
    wr_fail(err, WR_DATA, "WR384", "a large value that an update did not touch was not sent, and %s", why);
    wr_err_hint(err, "ALTER TABLE ... REPLICA IDENTITY FULL on the server: then the old row comes with every update");
    return WR_DATA;
}

/* The row with what it leaves out taken from the one before it: a batch of its own, NULL if the row is whole. Rare: large values that an update left alone. */
static wr_status fill_row(normalize *z, keyed *k, wr_batch *batch, uint32_t row, wr_batch **out, wr_err *err) {
    const wr_vec *bits = &batch->cols[z->n_cols];
    *out = NULL;
    if (wr_vec_is_null(bits, row)) return WR_OK;
    uint64_t           missing = (uint64_t)((const int64_t *)bits->data)[row];
    const wr_join_row *before = visible(k);
    const wr_join_side *side = &z->base.side[0];
    if (!before) return unknown_value("no row of its key came before", err);
    wr_batch *whole = wr_batch_new(z->n_cols, 4096);
    wr_mem_keep(whole->mem, batch->mem);
    whole->n_rows = 1;
    for (uint32_t c = 0; c < z->n_cols; c++) wr_vec_init(&whole->cols[c], side->types[c], 1, true, whole->mem);
    bool fine = wr_rowcodec_get(side->codec, wr_join_row_bytes(before), whole->cols, 0, whole->mem);
    for (uint32_t c = 0; c < z->n_cols && fine; c++) {
        uint64_t of = z->unchanged[c];
        if (of & missing && of & ~missing) {
            wr_batch_unref(whole);
            return unknown_value("a computed column is made from it and from others", err);
        }
        if (!(of & missing)) wr_vec_gather(&whole->cols[c], &batch->cols[c], &(uint16_t){(uint16_t)row}, 1, whole->mem);
    }
    if (batch->row_wm_us) {
        int64_t *late = wr_mem_alloc(whole->mem, sizeof *late);
        *late = batch->row_wm_us[row];
        whole->row_wm_us = late;
    }
    if (fine) *out = whole;
    else wr_batch_unref(whole);
    return fine ? WR_OK : wr_fail(err, WR_CORRUPT, "WR310", "a row of a normalization is damaged");
}

/* One input row, or a -U (row) and its +U (paired). */
static wr_status apply(normalize *z, keyed *k, const wr_batch *batch, uint32_t row, int64_t paired, wr_out *out, wr_err *err) {
    wr_join_row *before = visible(k), *gone = NULL;
    bool         adds = wr_kind_adds(wr_batch_kind(batch, row));
    uint32_t     last = paired >= 0 ? (uint32_t)paired : row;
    if (!adds || !z->materialize) gone = remove_row(z, k, batch, row);
    if (!adds && !gone) {
        if (paired < 0 || z->materialize) count(z, WR_REASON_RETRACT_UNKNOWN);
        if (paired < 0) return WR_OK;
    }
    if (adds || paired >= 0) add_row(z, k, batch, last);
    z->base.op.ctx->ledger->used += 1 + (paired >= 0);
    if (!adds && !gone && z->materialize) z->base.op.ctx->ledger->used--; /* its -U was unknown */
    wr_status s = emit_change(z, before, visible(k), batch->row_wm_us ? batch->row_wm_us[last] : WR_TIME_MIN, out, err);
    if (gone) wr_join_out_drop(&z->o, gone);
    return s;
}

static wr_status on_batch(wr_op *op, uint32_t input, wr_batch *batch, wr_out *out, wr_err *err) {
    normalize     *z = (normalize *)op;
    wr_join_probe *p = &z->probe;
    wr_status      s = WR_OK;
    (void)input;
    wr_join_out_begin(&z->o, -1, NULL);
    wr_join_probe_split(p, &z->base, 0, batch, false, true);
    WR_TRY(wr_kmap_find(z->map, &p->view, z->base.side[0].keys, p->hash, true, p->slot, p->created, err));
    for (uint32_t i = 0; i < p->n && s == WR_OK; i++) {
        keyed  *k = wr_kmap_value(z->map, p->slot[i]);
        int64_t paired = -1;
        if (wr_batch_kind(batch, p->sel[i]) == WR_KIND_UPDATE_BEFORE && i + 1 < p->n && p->slot[i + 1] == p->slot[i] &&
            wr_batch_kind(batch, p->sel[i + 1]) == WR_KIND_UPDATE_AFTER)
            paired = p->sel[i + 1];
        wr_batch *whole = NULL;
        if (z->unchanged && paired < 0 && wr_kind_adds(wr_batch_kind(batch, p->sel[i]))) s = fill_row(z, k, batch, p->sel[i], &whole, err);
        if (whole) s = apply(z, k, whole, 0, -1, out, err), wr_batch_unref(whole);
        else if (s == WR_OK) s = apply(z, k, batch, p->sel[i], paired, out, err);
        if (paired >= 0) p->slot[++i] = WR_SLOT_NONE;
    }
    uint32_t n = 0;
    for (uint32_t i = 0; i < p->n; i++) {
        keyed *k = p->slot[i] == WR_SLOT_NONE ? NULL : wr_kmap_value(z->map, p->slot[i]);
        if (!k || k->buf.n || k->buf.n_armed) continue;
        k->buf.n_armed = 1;
        p->slot[n++] = p->slot[i];
    }
    if (s == WR_OK) s = wr_join_out_emit(&z->o, out, err);
    for (uint32_t i = 0; i < n; i++) wr_kmap_remove(z->map, p->slot[i]);
    wr_join_out_reset(&z->o);
    return s;
}

static void value_free(void *self, void *value) { wr_join_buf_clear(((normalize *)self)->base.heap, &((keyed *)value)->buf); }
static void value_save(void *self, const void *value, wr_sbuf *out) {
    (void)self;
    keyed k = *(const keyed *)value;
    wr_join_buf_save(&k.buf, out);
}
static bool value_load(void *self, void *value, wr_reader *in) {
    normalize *z = self;
    keyed     *k = value;
    return wr_join_buf_load(&z->base, 0, &k->buf, in);
}
static void value_new(void *self, uint32_t slot, void *value) {
    (void)slot;
    ((normalize *)self)->base.n_rows += ((keyed *)value)->buf.n;
}
static wr_status save(wr_op *op, wr_sbuf *out, wr_err *err) {
    wr_put_u32(out, IMAGE_VERSION);
    WR_TRY(wr_kmap_save(((normalize *)op)->map, out, err));
    wr_op_save_rows(out, ((normalize *)op)->base.n_rows);
    return WR_OK;
}
static wr_status load(wr_op *op, wr_reader *in, uint32_t from, uint32_t to, wr_err *err) {
    normalize *z = (normalize *)op;
    if (wr_get_u32(in) != IMAGE_VERSION) return wr_fail(err, WR_CORRUPT, "WR310", "state of a normalization has an unknown version");
    WR_TRY(wr_kmap_load(z->map, in, op->ctx->n_key_groups, from, to, err));
    z->base.n_rows += wr_op_load_rows(z->map, in);
    return WR_OK;
}
static void usage(const wr_op *op, wr_op_usage *out) {
    const normalize *z = (const normalize *)op;
    *out = (wr_op_usage){.state_bytes = wr_kmap_bytes(z->map) + wr_join_heap_bytes(z->base.heap), .keys = wr_kmap_count(z->map),
                         .rows = (uint64_t)WR_MAX(z->base.n_rows, 0), .oldest_us = WR_TIME_MAX};
    wr_op_map_usage(z->map, out);
}
static wr_status limit(wr_op *op, int64_t bytes, wr_err *err) { return wr_join_limit(&((normalize *)op)->base, ((normalize *)op)->map, bytes, err); }
static void close_op(wr_op *op) {
    normalize *z = (normalize *)op;
    wr_join_out_free(&z->o);
    wr_kmap_free(z->map);
    wr_join_base_free(&z->base);
    wr_free(z);
}

static const wr_op_vt normalize_vt = {"normalize", on_batch, wr_op_no_watermark, wr_op_same_watermark, save, load, usage, limit, close_op};

wr_op *wr_normalize_new(const wr_normalize_opts *opts, const wr_schema *input, wr_op_ctx *ctx) {
    normalize *z = wr_calloc(1, sizeof *z);
    z->base.op.vt = &normalize_vt;
    const wr_schema none = {0};
    const wr_join_keys keys = {.n = opts->n_keys, .left = opts->keys, .right = opts->keys};
    z->n_cols = input->n - (opts->unchanged != NULL);
    z->unchanged = opts->unchanged;
    const wr_schema stored = {z->n_cols, input->fields};
    wr_join_base_init(&z->base, WR_JOIN_SEMI, &keys, NULL, &stored, &none, ctx); /* a join with nothing: only side 0 is output */
    z->emit_before = opts->emit_before;
    z->materialize = opts->materialize;
    wr_type *key_types = wr_new_n(z->base.arena, wr_type, opts->n_keys + 1);
    for (uint32_t i = 0; i < opts->n_keys; i++) key_types[i] = z->base.side[0].types[opts->keys[i]];
    const wr_kmap_opts map = {.name = "normalize", .key_types = key_types, .n_key_types = opts->n_keys, .value_bytes = sizeof(keyed),
                                         .acct = ctx->acct, .self = z, .value_free = value_free, .value_save = value_save, .value_load = value_load,
                              .value_new = value_new, .heap_bytes = wr_join_map_heap};
    z->map = wr_op_map_new(&map, ctx, "normalize", WR_SPILL_ENTRY);
    wr_join_out_init(&z->o, &z->base);
    return &z->base.op;
}

double wr_normalize_key_bytes(double key_bytes) { return wr_kmap_entry_bytes(sizeof(keyed), key_bytes); }
double wr_normalize_row_bytes(double row_bytes, double per_key) {
    return wr_join_piece_bytes(sizeof(wr_join_row) + row_bytes) + wr_join_array_cap(per_key, 4, true) * sizeof(wr_join_ent) / WR_MAX(per_key, 1.0);
}
