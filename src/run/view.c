/* run/view.c: the operator of a materialized view. See view.h.
 *
 * Batch      keys are found in the map for all rows at once, keys and rows are encoded, and then written under the shard's lock, some rows a time.
 * Map        value: where the row is in the shard, and its time. Its bytes in a checkpoint: count and row; the key follows from the row. Nothing of it leaves memory.
 * Retention  a timer a row and time; when it rings the row goes, if it has not got a later time since. A row that comes too late is not taken.
 * Ledger     out: rows written; a row behind the retention: EXPIRED; a deletion of what is not there: RETRACT_UNKNOWN.
 * Thread     the worker that owns the key group.                                                                            */
#include "run/view.h"
#include "op/op_util.h"
#include "type/keycodec.h"

enum { IMAGE_VERSION = 1, FORM_MAP = 0, FORM_ROWS = 1, PIECE = 64 };
#define ARMED INT64_MIN /* as a time: the entry goes at the end of the batch */

typedef struct held { wr_vrow *row; int64_t time_us; } held;

typedef struct view_op {
    wr_op          op;
    wr_arena      *arena;
    const wr_p_view *opts;
    const wr_schema *schema;
    wr_view       *view;
    wr_view_shard *shard;
    wr_kmap       *map;          /* NULL: the job has ended, its rows are only kept */
    wr_rowcodec   *codec;
    wr_timers     *timers;
    uint32_t       n_by;
    const uint32_t *by;          /* columns of the exchange: the map's key */
    int64_t        wm_us, latest_us, charged;
    bool           any_gone;     /* in this batch, maybe */
    wr_sbuf        text;
    uint32_t       key_at[WR_BATCH_MAX + 1], row_at[WR_BATCH_MAX + 1]; /* in text */
    uint32_t       slots[WR_BATCH_MAX];
    uint64_t       hash[WR_BATCH_MAX];
} view_op;

static view_op *of(wr_op *op) { return (view_op *)op; }

static void charge(view_op *v) {
    int64_t now = wr_view_shard_bytes(v->shard);
    wr_account_add(v->op.ctx->acct, now - v->charged);
    v->charged = now;
}

static int64_t row_time(const view_op *v, const wr_vec *cols, uint32_t row) {
    const wr_vec *t = v->opts->time_col >= 0 ? &cols[v->opts->time_col] : NULL;
    return !t || wr_vec_is_null(t, row) ? WR_TIME_MAX : ((const int64_t *)t->data)[row];
}

static bool is_over(const view_op *v, int64_t time_us, int64_t now_us) { return time_us != WR_TIME_MAX && time_us != ARMED && now_us != WR_TIME_MIN && time_us <= now_us - v->opts->retention_us; }

static void arm(view_op *v, uint32_t slot, int64_t time_us) {
    if (v->opts->time_col >= 0 && time_us != WR_TIME_MAX) wr_timers_add(v->timers, time_us + v->opts->retention_us, slot);
}

/* ---- rows come ---- */
static void encode(view_op *v, const wr_batch *batch) {
    uint32_t live = wr_batch_live(batch);
    wr_sbuf_clear(&v->text);
    for (uint32_t i = 0; i < live; i++) {
        v->key_at[i] = (uint32_t)v->text.len;
        wr_view_key_put_row(v->view, batch, wr_batch_row(batch, i), &v->text);
        v->row_at[i] = (uint32_t)v->text.len;
        wr_rowcodec_put(v->codec, batch, NULL, wr_batch_row(batch, i), &v->text);
    }
    v->key_at[live] = (uint32_t)v->text.len;
}

/* How often the row is there behind this change; -1: it changes nothing. */
static int64_t count_after(view_op *v, const held *h, bool adds, int64_t time_us) {
    uint32_t   now = h->row ? wr_vrow_newest(h->row)->count : 0;
    wr_ledger *ledger = v->op.ctx->ledger;
    if (is_over(v, time_us, v->wm_us)) {
        ledger->dropped[WR_REASON_EXPIRED]++;
        return v->opts->n_key && now ? 0 : -1;
    }
    if (!adds && !now) {
        ledger->dropped[WR_REASON_RETRACT_UNKNOWN]++;
        return -1;
    }
    ledger->out++;
    return !adds ? (int64_t)now - 1 : v->opts->n_key ? 1 : (int64_t)now + 1;
}

/* The rows of a piece are far apart in memory: they are asked for together. */
static void prefetch(const view_op *v, uint32_t from, uint32_t to) {
    for (uint32_t i = from; i < to; i++) {
        const held *h = wr_kmap_peek(v->map, v->slots[i]);
        if (h->row) __builtin_prefetch(h->row);
    }
    for (uint32_t i = from; i < to; i++) {
        const held *h = wr_kmap_peek(v->map, v->slots[i]);
        if (h->row) __builtin_prefetch(wr_vrow_newest(h->row));
    }
}

static void write_rows(view_op *v, const wr_batch *batch, uint32_t from, uint32_t to) {
    uint64_t     now;
    prefetch(v, from, to);
    wr_versions *rows = wr_view_shard_lock(v->shard, &now);
    for (uint32_t i = from; i < to; i++) {
        uint32_t row = wr_batch_row(batch, i);
        held    *h = wr_kmap_value(v->map, v->slots[i]);
        int64_t  time_us = row_time(v, batch->cols, row), count = count_after(v, h, wr_kind_adds(wr_batch_kind(batch, row)), time_us);
        if (count <= 0) v->any_gone = true;
        if (count < 0) continue;
        wr_str key = {v->text.at + v->key_at[i], v->row_at[i] - v->key_at[i]}, bytes = {v->text.at + v->row_at[i], v->key_at[i + 1] - v->row_at[i]};
        bool   fresh = !h->row || h->time_us != time_us;
        h->row = wr_versions_set(rows, h->row, key, now, bytes, (uint32_t)WR_MIN(count, (int64_t)UINT32_MAX));
        h->time_us = time_us;
        if (count && fresh) arm(v, v->slots[i], time_us);
        if (time_us != WR_TIME_MAX) v->latest_us = WR_MAX(v->latest_us, time_us);
    }
    wr_view_shard_unlock(v->shard);
}

/* Entries whose rows are gone. A slot may stand in the batch several times. */
static void forget_gone(view_op *v, uint32_t live) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < live; i++) {
        const held *h = wr_kmap_peek(v->map, v->slots[i]);
        if (h->time_us == ARMED || (h->row && wr_vrow_newest(h->row)->count)) continue;
        ((held *)wr_kmap_value(v->map, v->slots[i]))->time_us = ARMED;
        v->slots[n++] = v->slots[i];
    }
    for (uint32_t i = 0; i < n; i++) wr_kmap_remove(v->map, v->slots[i]);
}

static wr_status on_batch(wr_op *op, uint32_t input, wr_batch *batch, wr_out *out, wr_err *err) {
    view_op        *v = of(op);
    uint32_t        live = wr_batch_live(batch);
    const uint64_t *hash = wr_op_hash(batch, v->by, v->n_by, v->hash);
    (void)input, (void)out;
    WR_TRY(wr_kmap_find(v->map, batch, v->by, hash, true, v->slots, NULL, err));
    encode(v, batch);
    for (uint32_t i = 0; i < live; i += PIECE) write_rows(v, batch, i, WR_MIN(i + PIECE, live));
    if (v->any_gone) forget_gone(v, live);
    v->any_gone = false;
    charge(v);
    return WR_OK;
}

/* ---- rows go ---- */
static bool is_live(const view_op *v, uint32_t slot) { return wr_kmap_next(v->map, slot ? slot - 1 : WR_SLOT_NONE) == slot; }

static void expire(view_op *v, int64_t now_us) {
    int64_t  deadline;
    uint64_t slot, version;
    if (!v->timers) return;
    for (bool more = true; more;) {
        wr_versions *rows = wr_view_shard_lock(v->shard, &version);
        for (uint32_t n = 0; n < PIECE && (more = wr_timers_pop(v->timers, now_us, &deadline, &slot)); n++) {
            if (!is_live(v, (uint32_t)slot)) continue;
            held *h = wr_kmap_value(v->map, (uint32_t)slot);
            if (!h->row || !is_over(v, h->time_us, now_us)) continue;
            (void)wr_versions_set(rows, h->row, wr_vrow_key(h->row), version, (wr_str){NULL, 0}, 0);
            wr_kmap_remove(v->map, (uint32_t)slot);
        }
        wr_view_shard_unlock(v->shard);
    }
}

static wr_status on_watermark(wr_op *op, int64_t wm_us, wr_out *out, bool *more, wr_err *err) {
    (void)out, (void)err;
    *more = false;
    if (wm_us == WR_TIME_MAX) return WR_OK; /* nothing gets older at the end; see view_op_retain */
    of(op)->wm_us = wm_us;
    expire(of(op), wm_us);
    return WR_OK;
}

/* ---- the coordinator's and the cut's ---- */
void view_op_seal(wr_op *op, uint64_t version, int64_t wm_us) {
    view_op *v = of(op);
    wr_view_seal(v->shard, version, wm_us);
    charge(v);
}
int64_t view_op_latest(const wr_op *op) { return ((const view_op *)op)->latest_us; }
int64_t view_op_watermark(const wr_op *op) { return ((const view_op *)op)->wm_us; }
void    view_op_retain(wr_op *op, int64_t latest_us) {
    view_op *v = of(op);
    if (v->map && v->opts->time_col >= 0 && latest_us != WR_TIME_MIN) expire(v, latest_us);
}

/* ---- images ---- */
static void put_value(const wr_vrow *row, wr_sbuf *out) {
    const wr_version *at = wr_vrow_newest(row);
    wr_put_u32(out, at->count);
    wr_put_bytes(out, at->bytes, at->len);
}

static void value_save(void *self, const void *value, wr_sbuf *out) {
    (void)self;
    put_value(((const held *)value)->row, out);
}

/* A row of an image into the shard. False: damaged. */
static bool take_row(view_op *v, wr_reader *in, held *h) {
    uint32_t count = wr_get_u32(in);
    wr_str   bytes = wr_get_bytes(in);
    if (in->bad || !count) return false;
    wr_batch *b = wr_batch_new(v->schema->n, 1024);
    b->n_rows = 1;
    for (uint32_t c = 0; c < v->schema->n; c++) wr_vec_init(&b->cols[c], v->schema->fields[c].type, 1, true, b->mem);
    bool fine = wr_rowcodec_get(v->codec, bytes, b->cols, 0, b->mem);
    if (fine) {
        uint64_t version;
        wr_sbuf_clear(&v->text);
        wr_view_key_put_row(v->view, b, 0, &v->text);
        wr_versions *rows = wr_view_shard_lock(v->shard, &version);
        h->row = wr_versions_set(rows, NULL, wr_sbuf_str(&v->text), version, bytes, count);
        wr_view_shard_unlock(v->shard);
        h->time_us = row_time(v, b->cols, 0);
        if (h->time_us != WR_TIME_MAX) v->latest_us = WR_MAX(v->latest_us, h->time_us);
    }
    wr_batch_unref(b);
    return fine;
}
static bool value_load(void *self, void *value, wr_reader *in) { return take_row(self, in, value); }
static void value_new(void *self, uint32_t slot, void *value) { arm(self, slot, ((held *)value)->time_us); }

static void put_head(const view_op *v, uint8_t form, wr_sbuf *out) {
    wr_op_save_head(out, "view", IMAGE_VERSION);
    wr_put_u8(out, form);
    wr_put_i64(out, v->wm_us), wr_put_i64(out, v->latest_us);
}

static wr_status save(wr_op *op, wr_sbuf *out, wr_err *err) {
    put_head(of(op), FORM_MAP, out);
    return wr_kmap_save(of(op)->map, out, err);
}

void view_op_save_rows(wr_op *op, wr_sbuf *out) {
    view_op *v = of(op);
    wr_put_i64(out, v->wm_us);
    put_head(v, FORM_ROWS, out);
    if (!v->map) {
        wr_put_u64(out, 0);
        return;
    }
    wr_put_u64(out, wr_kmap_count(v->map));
    for (uint32_t slot = wr_kmap_next(v->map, WR_SLOT_NONE); slot != WR_SLOT_NONE; slot = wr_kmap_next(v->map, slot)) {
        wr_put_u64(out, wr_kmap_hash(v->map, slot));
        put_value(((const held *)wr_kmap_peek(v->map, slot))->row, out);
    }
}

static wr_status load_rows(view_op *v, wr_reader *in, uint32_t from, uint32_t to, wr_err *err) {
    for (uint64_t n = wr_get_u64(in); n && !in->bad; n--) {
        held     ignored;
        uint32_t group = wr_key_group(wr_get_u64(in), v->op.ctx->n_key_groups);
        if (group >= from && group < to) in->bad |= !take_row(v, in, &ignored);
        else (void)wr_get_u32(in), (void)wr_get_bytes(in);
    }
    charge(v);
    return in->bad || v->map ? wr_op_damaged("view", err) : WR_OK;
}

static wr_status load(wr_op *op, wr_reader *in, uint32_t from, uint32_t to, wr_err *err) {
    view_op *v = of(op);
    WR_TRY(wr_op_load_head(in, "view", IMAGE_VERSION, err));
    uint8_t form = wr_get_u8(in);
    int64_t wm = wr_get_i64(in), latest = wr_get_i64(in);
    v->wm_us = WR_MAX(v->wm_us, wm), v->latest_us = WR_MAX(v->latest_us, latest);
    if (form == FORM_ROWS) return load_rows(v, in, from, to, err);
    if (!v->map) return wr_op_damaged("view", err);
    WR_TRY(wr_kmap_load(v->map, in, op->ctx->n_key_groups, from, to, err));
    charge(v);
    return WR_OK;
}

static void usage(const wr_op *op, wr_op_usage *out) {
    const view_op *v = (const view_op *)op;
    *out = (wr_op_usage){.state_bytes = v->charged + (v->map ? wr_kmap_bytes(v->map) : 0), .keys = v->map ? wr_kmap_count(v->map) : 0, .rows = wr_view_shard_rows(v->shard), .oldest_us = WR_TIME_MAX};
    if (v->map) wr_op_map_usage(v->map, out);
}

static void close_op(wr_op *op) {
    view_op *v = of(op);
    wr_account_add(op->ctx->acct, -v->charged);
    wr_kmap_free(v->map);
    if (v->timers) wr_timers_free(v->timers);
    wr_sbuf_free(&v->text);
    wr_arena_free(v->arena);
    wr_free(v);
}

static const wr_op_vt view_vt = {"view", on_batch, on_watermark, wr_op_same_watermark, save, load, usage, wr_op_no_limit, close_op};

wr_op *view_op_new(const wr_p_view *opts, const wr_pinput *input, wr_view *view, bool store_only, wr_op_ctx *ctx) {
    view_op         *v = wr_calloc(1, sizeof *v);
    const wr_schema *s = &input->node->schema;
    v->op = (wr_op){.vt = &view_vt, .ctx = ctx};
    v->arena = wr_arena_new(ctx->acct);
    v->opts = opts, v->schema = s, v->view = view, v->shard = wr_view_shard_of(view, ctx->worker);
    v->n_by = input->n_keys, v->by = input->keys;
    v->wm_us = v->latest_us = WR_TIME_MIN;
    wr_type *types = wr_new_n(v->arena, wr_type, s->n + 1), *key_types = wr_new_n(v->arena, wr_type, v->n_by + 1);
    for (uint32_t i = 0; i < s->n; i++) types[i] = s->fields[i].type;
    for (uint32_t i = 0; i < v->n_by; i++) key_types[i] = types[v->by[i]];
    v->codec = wr_rowcodec_new(v->arena, types, s->n);
    if (opts->time_col >= 0) v->timers = wr_timers_new(ctx->acct);
    const wr_kmap_opts o = {.name = "view", .key_types = key_types, .n_key_types = v->n_by, .value_bytes = sizeof(held), .acct = ctx->acct, .self = v,
                            .value_save = value_save, .value_load = value_load, .value_new = value_new};
    if (!store_only) v->map = wr_op_map_new(&o, ctx, "view", WR_SPILL_NONE);
    charge(v);
    return &v->op;
}
