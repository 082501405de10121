/* op/group_agg.c: GROUP BY without windows, and DISTINCT (no aggregates): one accumulator block per key, updates as a changelog.
 *
 * Idea       a batch touches each of its keys once: the old result row is read before the batch's rows go in, the new one after. Output batches
 *            hold both (row 2i and 2i + 1) and a selection vector picks what is emitted: +I, -U/+U, +U alone, -D or nothing. Key columns
 *            are gathered from the input, so no key is decoded.
 * Invariant  at most one update per key per batch; a group exists while its row count is above 0; unchanged rows are not emitted, except
 *            with a TTL, where they refresh what is downstream (as Flink does). A retraction for a group without rows is counted and ignored.
 * TTL        a group not touched for ttl_us counts as absent at its next access; a sweep over a few slots per call frees the others.
 * Memory     blocks in the map, lists charged once a batch.  Thread: one worker.                                           */
#include "op/agg.h"
#include "op/op_util.h"

enum { VERSION = 1, HALF = WR_BATCH_MAX / 2, SWEEP_SLOTS = 256 };
static const char tag[] = "group_agg";

typedef struct head { /* in front of each accumulator block */
    uint32_t mark;    /* number of the batch that touched it last */
    uint32_t index;   /* in touched[], valid when mark is the current batch */
    int64_t  used_us; /* TTL clock of the last access */
} head;
_Static_assert(sizeof(head) == 16, "blocks stay 16-byte aligned");

typedef struct group_agg {
    wr_op             op;
    wr_group_agg_opts opts;
    wr_arena         *arena;
    wr_aggs          *aggs;
    wr_kmap          *map;
    bool              need_old;
    uint32_t          partial_col; /* when opts.partial */
    uint32_t          batch_no;
    int64_t           wm_us;
    /* scratch of one batch */
    uint64_t hash[WR_BATCH_MAX];
    uint32_t slots[WR_BATCH_MAX], rows[WR_BATCH_MAX];
    uint8_t  created[WR_BATCH_MAX];
    void    *values[WR_BATCH_MAX], *blocks[WR_BATCH_MAX];
    uint32_t n_touched;
    uint32_t touched_slot[WR_BATCH_MAX], touched_row[WR_BATCH_MAX];
    void    *touched_block[WR_BATCH_MAX];
    bool     existed[WR_BATCH_MAX];
    int64_t  n_rows[WR_BATCH_MAX]; /* of the touched group, counting through the batch */
} group_agg;

static void value_free(void *self, void *value) { wr_aggs_drop(((group_agg *)self)->aggs, (char *)value + sizeof(head)); }
static void value_save(void *self, const void *value, wr_sbuf *out) {
    wr_put_i64(out, ((const head *)value)->used_us);
    wr_aggs_save(((group_agg *)self)->aggs, (const char *)value + sizeof(head), out);
}
static bool value_load(void *self, void *value, wr_reader *in) {
    ((head *)value)->used_us = wr_get_i64(in);
    return wr_aggs_load(((group_agg *)self)->aggs, (char *)value + sizeof(head), in);
}

static int64_t clock_us(const group_agg *g) { return g->opts.ttl_event_time ? g->wm_us : g->op.ctx->now_us; }
static bool    expired(const group_agg *g, const head *h, int64_t now_us) {
    return g->opts.ttl_us && now_us != WR_TIME_MIN && now_us != WR_TIME_MAX && h->used_us != WR_TIME_MIN && now_us - h->used_us >= g->opts.ttl_us;
}

static int64_t heap_bytes(void *self) { /* all is charged to the map */
    group_agg *g = self;
    if (g->aggs->has_heap) wr_kmap_charge(g->map, wr_aggs_heap_change(g->aggs));
    return 0;
}
static bool value_expired(void *self, const void *value) { return expired(self, value, clock_us(self)); }
static wr_status sweep(group_agg *g, uint32_t n_slots, wr_err *err) {
    uint64_t removed;
    if (!g->opts.ttl_us) return WR_OK;
    WR_TRY(wr_kmap_sweep(g->map, n_slots, &removed, err));
    g->op.ctx->ledger->dropped[WR_REASON_EXPIRED] += removed;
    return WR_OK;
}

/* Finds the groups, notes each touched one once, and leaves in rows/blocks what is to be aggregated. */
static wr_status touch(group_agg *g, const wr_batch *batch, uint32_t *n_rows, wr_err *err) {
    uint32_t        n = wr_batch_live(batch), m = 0;
    const uint64_t *hash = wr_op_hash(batch, g->opts.keys, g->opts.n_keys, g->hash);
    WR_TRY(wr_kmap_find(g->map, batch, g->opts.keys, hash, true, g->slots, g->created, err));
    wr_kmap_values(g->map, g->slots, n, g->values);
    int64_t now_us = clock_us(g);
    g->batch_no++;
    g->n_touched = 0;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t row = wr_batch_row(batch, i);
        head    *h = g->values[i];
        void    *block = h + 1;
        if (h->mark != g->batch_no) {
            uint32_t t = h->index = g->n_touched++;
            h->mark = g->batch_no;
            bool fresh = g->created[i];
            if (!fresh && g->opts.ttl_us && expired(g, h, now_us)) {
                wr_aggs_drop(g->aggs, block);
                g->op.ctx->ledger->dropped[WR_REASON_EXPIRED]++;
                fresh = true;
            }
            h->used_us = now_us;
            g->touched_slot[t] = g->slots[i];
            g->touched_row[t] = row;
            g->touched_block[t] = block;
            g->n_rows[t] = g->opts.retract_input ? wr_aggs_rows(g->aggs, block) : 1;
            g->existed[t] = !fresh && g->n_rows[t] > 0;
        }
        if (g->opts.retract_input) {
            int64_t *rows = &g->n_rows[h->index], more;
            if (g->opts.partial && wr_aggs_partial_rows(g->aggs, &batch->cols[g->partial_col], row, &more)) {
                if (*rows + more < 0) {
                    g->op.ctx->ledger->dropped[WR_REASON_RETRACT_UNKNOWN] += (uint64_t)-(*rows + more);
                    g->op.ctx->ledger->made += (uint64_t)-(*rows + more) - 1; /* it stands for several */
                    continue;
                }
                *rows += more;
            } else if (wr_kind_adds(wr_batch_kind(batch, row))) {
                ++*rows;
            } else if (*rows > 0) {
                --*rows;
            } else {
                g->op.ctx->ledger->dropped[WR_REASON_RETRACT_UNKNOWN]++;
                continue;
            }
        }
        g->rows[m] = row;
        g->blocks[m++] = block;
    }
    g->op.ctx->ledger->used += m;
    *n_rows = m;
    return WR_OK;
}

/* ---- output ---- */

static wr_batch *output_new(group_agg *g, wr_batch *in, uint32_t from, uint32_t n, uint32_t step) {
    wr_batch *b = wr_batch_new(g->opts.n_keys + g->opts.n_aggs, 64 + (size_t)n * step * 16);
    uint32_t  rows[WR_BATCH_MAX];
    b->n_rows = n * step;
    for (uint32_t i = 0; i < n * step; i++) rows[i] = g->touched_row[from + i / step];
    if (g->opts.n_keys) wr_mem_keep(b->mem, in->mem);
    for (uint32_t k = 0; k < g->opts.n_keys; k++) wr_vec_gather32(&b->cols[k], &in->cols[g->opts.keys[k]], rows, b->n_rows, b->mem);
    for (uint32_t a = 0; a < g->opts.n_aggs; a++) wr_vec_init(&b->cols[g->opts.n_keys + a], g->opts.aggs[a].type, b->n_rows, false, b->mem);
    return b;
}
static void results(group_agg *g, wr_batch *b, uint32_t from, uint32_t n, uint32_t first, uint32_t step) {
    for (uint32_t a = 0; a < g->opts.n_aggs; a++)
        wr_aggs_result(g->aggs, a, g->touched_block + from, n, &b->cols[g->opts.n_keys + a], first, step, b->mem);
}
/* changed[i]: some result column of rows 2i and 2i+1 differs. */
static void compare(const group_agg *g, const wr_batch *b, uint32_t n, bool *changed) {
    memset(changed, 0, n);
    for (uint32_t a = 0; a < g->opts.n_aggs; a++) {
        const wr_vec *vec = &b->cols[g->opts.n_keys + a];
        size_t        size = wr_storage_size(wr_type_storage(vec->type));
        const char   *data = vec->data;
        if (!vec->valid && size == 8) {
            const uint64_t *v = vec->data;
            for (uint32_t i = 0; i < n; i++) changed[i] |= v[2 * i] != v[2 * i + 1];
        } else if (wr_type_storage(vec->type) == WR_S_STR || wr_type_is_nested(vec->type)) {
            for (uint32_t i = 0; i < n; i++) changed[i] = changed[i] || !wr_vec_equal(vec, 2 * i, vec, 2 * i + 1);
        } else {
            for (uint32_t i = 0; i < n; i++) {
                bool x = wr_valid_get(vec->valid, 2 * i), y = wr_valid_get(vec->valid, 2 * i + 1);
                changed[i] = changed[i] || x != y || (x && memcmp(data + 2 * i * size, data + (2 * i + 1) * size, size) != 0);
            }
        }
    }
}

static wr_status emit_chunk(group_agg *g, wr_batch *b, uint32_t from, uint32_t n, uint32_t step, wr_out *out, wr_err *err) {
    bool changed[WR_BATCH_MAX];
    results(g, b, from, n, step - 1, step);
    if (step == 2) compare(g, b, n, changed);
    uint8_t  *kinds = wr_mem_alloc(b->mem, b->n_rows);
    uint16_t *sel = wr_mem_alloc(b->mem, b->n_rows * sizeof *sel);
    uint32_t  m = 0, inserts = 0;
    for (uint32_t i = 0; i < n; i++) {
        bool     was = g->existed[from + i], is = g->n_rows[from + i] > 0;
        uint32_t last = i * step + step - 1;
        kinds[i * step] = was && is ? WR_KIND_UPDATE_BEFORE : WR_KIND_DELETE;
        kinds[last] = was ? WR_KIND_UPDATE_AFTER : WR_KIND_INSERT;
        if (was && is && step == 2 && !changed[i] && !g->opts.ttl_us) continue;
        if (was && (!is || g->opts.emit_before)) sel[m++] = (uint16_t)(i * step);
        if (is) sel[m++] = (uint16_t)last, inserts += !was;
    }
    b->sel = m < b->n_rows ? sel : NULL;
    b->n_sel = m;
    b->kinds = inserts == m ? NULL : kinds;
    return wr_op_emit_cut(g->op.ctx, out, b, err);
}

static wr_status group_agg_on_batch(wr_op *op, uint32_t input, wr_batch *batch, wr_out *out, wr_err *err) {
    group_agg *g = (group_agg *)op;
    (void)input;
    if (!wr_batch_live(batch)) return WR_OK;
    uint32_t m;
    WR_TRY(touch(g, batch, &m, err));
    uint32_t  step = g->need_old ? 2 : 1, max = WR_BATCH_MAX / step, n_chunks = (g->n_touched + max - 1) / max;
    wr_batch *chunks[2] = {0};
    for (uint32_t c = 0; c < n_chunks; c++) {
        uint32_t from = c * max, n = WR_MIN(max, g->n_touched - from);
        chunks[c] = output_new(g, batch, from, n, step);
        if (step == 2) results(g, chunks[c], from, n, 0, 2);
    }
    wr_status s = g->opts.partial ? wr_aggs_take(g->aggs, batch, g->partial_col, g->rows, g->blocks, m, err)
                                  : wr_aggs_update(g->aggs, batch, g->rows, g->blocks, m, err);
    g->aggs->seq += batch->n_rows;
    for (uint32_t c = 0; c < n_chunks; c++) {
        uint32_t from = c * max, n = WR_MIN(max, g->n_touched - from);
        if (s == WR_OK) s = emit_chunk(g, chunks[c], from, n, step, out, err);
        else wr_batch_unref(chunks[c]);
    }
    if (g->opts.retract_input)
        for (uint32_t t = 0; t < g->n_touched; t++)
            if (g->n_rows[t] <= 0) wr_kmap_remove(g->map, g->touched_slot[t]);
    if (s == WR_OK) s = sweep(g, SWEEP_SLOTS, err);
    if (g->aggs->has_heap) wr_kmap_charge(g->map, wr_aggs_heap_change(g->aggs));
    return s;
}

/* What a batch engine says of no rows: COUNT 0, the others NULL. */
static wr_status emit_empty(group_agg *g, wr_out *out, wr_err *err) {
    wr_batch *b = wr_batch_new(g->opts.n_aggs, 64);
    void     *block = wr_calloc(1, g->aggs->bytes + 1);
    b->n_rows = 1;
    for (uint32_t a = 0; a < g->opts.n_aggs; a++) {
        wr_vec_init(&b->cols[a], g->opts.aggs[a].type, 1, false, b->mem);
        wr_aggs_result(g->aggs, a, &block, 1, &b->cols[a], 0, 1, b->mem);
    }
    wr_free(block);
    return wr_emit(out, b, err);
}

static wr_status group_agg_on_watermark(wr_op *op, int64_t wm_us, wr_out *out, bool *more, wr_err *err) {
    group_agg *g = (group_agg *)op;
    bool ended = g->wm_us == WR_TIME_MAX; /* before a restart: the end is said again then */
    *more = false;
    g->wm_us = wm_us;
    wr_status s = sweep(g, SWEEP_SLOTS * 4, err);
    if (s == WR_OK && wm_us == WR_TIME_MAX && !ended && g->opts.row_when_empty && !wr_kmap_count(g->map)) s = emit_empty(g, out, err);
    if (g->aggs->has_heap) wr_kmap_charge(g->map, wr_aggs_heap_change(g->aggs));
    return s;
}

static wr_status group_agg_save(wr_op *op, wr_sbuf *out, wr_err *err) {
    group_agg *g = (group_agg *)op;
    wr_op_save_head(out, tag, VERSION);
    wr_put_u64(out, g->aggs->seq);
    wr_put_i64(out, g->wm_us);
    return wr_kmap_save(g->map, out, err);
}
static wr_status group_agg_load(wr_op *op, wr_reader *in, uint32_t from, uint32_t to, wr_err *err) {
    group_agg *g = (group_agg *)op;
    WR_TRY(wr_op_load_head(in, tag, VERSION, err));
    uint64_t seq = wr_get_u64(in);
    int64_t  wm_us = wr_get_i64(in);
    g->aggs->seq = WR_MAX(g->aggs->seq, seq);
    g->wm_us = WR_MAX(g->wm_us, wm_us);
    WR_TRY(wr_kmap_load(g->map, in, op->ctx->n_key_groups, from, to, err));
    wr_kmap_charge(g->map, wr_aggs_heap_change(g->aggs));
    return WR_OK;
}
static void group_agg_usage(const wr_op *op, wr_op_usage *out) {
    const group_agg *g = (const group_agg *)op;
    *out = (wr_op_usage){.state_bytes = wr_kmap_bytes(g->map), .keys = wr_kmap_count(g->map), .oldest_us = WR_TIME_MAX};
    wr_op_map_usage(g->map, out);
    wr_user_cost(g->aggs, &out->calls);
}
static wr_status group_agg_limit(wr_op *op, int64_t bytes, wr_err *err) { return wr_op_limit_map(((group_agg *)op)->map, bytes, err); }
static void group_agg_close(wr_op *op) {
    group_agg *g = (group_agg *)op;
    wr_kmap_free(g->map);
    wr_aggs_free(g->aggs);
    wr_arena_free(g->arena);
    wr_free(g);
}

static const wr_op_vt group_agg_vt = {
    .name = "group_agg", .on_batch = group_agg_on_batch, .on_watermark = group_agg_on_watermark, .output_watermark = wr_op_same_watermark,
    .save = group_agg_save, .load = group_agg_load, .usage = group_agg_usage, .limit = group_agg_limit, .close = group_agg_close,
};

double wr_group_agg_key_bytes(const wr_group_agg_opts *opts, double key_bytes) {
    double   fixed, per_value;
    wr_aggs *a = wr_aggs_new_of_groups(opts->aggs, opts->n_aggs, opts->retract_input);
    wr_agg_bytes(opts->aggs, opts->n_aggs, opts->retract_input, &fixed, &per_value);
    double bytes = wr_kmap_entry_bytes((uint32_t)sizeof(head) + a->bytes, key_bytes) + fixed - a->bytes;
    wr_aggs_free(a);
    return bytes;
}

wr_op *wr_group_agg_new(const wr_group_agg_opts *opts, const wr_schema *input, wr_op_ctx *ctx) {
    group_agg *g = wr_calloc(1, sizeof *g);
    g->op = (wr_op){.vt = &group_agg_vt, .ctx = ctx};
    g->opts = *opts;
    g->arena = wr_arena_new(ctx->acct);
    g->opts.keys = wr_op_copy_cols(g->arena, opts->keys, opts->n_keys);
    wr_agg *aggs = wr_new_n(g->arena, wr_agg, opts->n_aggs ? opts->n_aggs : 1);
    if (opts->n_aggs) memcpy(aggs, opts->aggs, opts->n_aggs * sizeof *aggs);
    g->opts.aggs = aggs;
    g->aggs = wr_aggs_new_of_groups(aggs, opts->n_aggs, opts->retract_input);
    if (opts->partial) g->partial_col = input->n - 1;
    bool always_changes = false; /* append-only COUNT(*) rises with every row */
    for (uint32_t i = 0; i < opts->n_aggs; i++) always_changes |= aggs[i].kind == WR_AGG_COUNT_STAR && aggs[i].filter < 0;
    g->need_old = opts->emit_before || opts->retract_input || !(always_changes || opts->ttl_us);
    g->wm_us = WR_TIME_MIN;
    const wr_kmap_opts map = {
        .name = "groups", .key_types = wr_op_key_types(g->arena, input, opts->keys, opts->n_keys), .n_key_types = opts->n_keys,
        .value_bytes = (uint32_t)sizeof(head) + g->aggs->bytes, .acct = ctx->acct, .self = g,
        .value_free = g->aggs->has_heap ? value_free : NULL, .value_save = value_save, .value_load = value_load,
        .value_expired = value_expired, .heap_bytes = heap_bytes};
    g->map = wr_op_map_new(&map, ctx, tag, WR_SPILL_ENTRY);
    return &g->op;
}
