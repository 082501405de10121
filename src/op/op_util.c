/* op/op_util.c: see op_util.h. */
#include "op/op_util.h"

static wr_batch *cut(wr_batch *batch, const uint16_t *live, uint32_t from, uint32_t to) {
    wr_batch *piece = wr_batch_derive(batch, batch->n_cols);
    uint16_t *sel = wr_mem_alloc(piece->mem, (to - from) * sizeof *sel);
    for (uint32_t i = from; i < to; i++) sel[i - from] = live[i];
    piece->sel = sel;
    piece->n_sel = to - from;
    return piece;
}

wr_status wr_op_emit_cut(wr_op_ctx *ctx, wr_out *out, wr_batch *batch, wr_err *err) {
    uint32_t n = wr_batch_live(batch), max = ctx->batch_rows;
    if (!n) {
        wr_batch_unref(batch);
        return WR_OK;
    }
    if (n <= max) return wr_emit(out, batch, err);
    uint16_t live[WR_BATCH_MAX];
    for (uint32_t i = 0; i < n; i++) live[i] = (uint16_t)wr_batch_row(batch, i);
    wr_status s = WR_OK;
    for (uint32_t from = 0, to; from < n && s == WR_OK; from = to) {
        to = WR_MIN(n, from + max);
        if (to < n && to - from > 1 && wr_batch_kind(batch, live[to - 1]) == WR_KIND_UPDATE_BEFORE && wr_batch_kind(batch, live[to]) == WR_KIND_UPDATE_AFTER) to--;
        s = wr_emit(out, cut(batch, live, from, to), err);
    }
    wr_batch_unref(batch);
    return s;
}

const uint64_t *wr_op_hash(const wr_batch *batch, const uint32_t *keys, uint32_t n_keys, uint64_t *room) {
    if (!n_keys) {
        memset(room, 0, batch->n_rows * sizeof *room);
        return room;
    }
#ifdef WR_DEBUG
    if (batch->hash) { /* it must be of these columns: a hash of others would split groups without a sound */
        wr_batch_hash(batch, keys, n_keys, room);
        for (uint32_t i = 0; i < wr_batch_live(batch); i++) wr_assert(room[wr_batch_row(batch, i)] == batch->hash[wr_batch_row(batch, i)]);
    }
#endif
    if (batch->hash) return batch->hash;
    wr_batch_hash(batch, keys, n_keys, room);
    return room;
}

void wr_op_save_head(wr_sbuf *out, const char *tag, uint32_t version) {
    wr_put_bytes(out, tag, strlen(tag));
    wr_put_u32(out, version);
}
wr_status wr_op_load_head(wr_reader *in, const char *tag, uint32_t version, wr_err *err) {
    wr_str   got = wr_get_bytes(in);
    uint32_t v = wr_get_u32(in);
    if (in->bad || !wr_str_eq(got, wr_str_of(tag))) return wr_op_damaged(tag, err);
    if (v != version) return wr_fail(err, WR_CORRUPT, "WR401", "the state of '%s' has version %u; this weir reads version %u", tag, v, version);
    return WR_OK;
}
wr_status wr_op_damaged(const char *tag, wr_err *err) { return wr_fail(err, WR_CORRUPT, "WR400", "the saved state of '%s' is damaged", tag); }

wr_type *wr_op_key_types(wr_arena *arena, const wr_schema *schema, const uint32_t *keys, uint32_t n_keys) {
    wr_type *types = wr_new_n(arena, wr_type, n_keys ? n_keys : 1);
    for (uint32_t i = 0; i < n_keys; i++) types[i] = schema->fields[keys[i]].type;
    return types;
}
wr_type *wr_op_types(wr_arena *arena, const wr_schema *schema) {
    wr_type *types = wr_new_n(arena, wr_type, schema->n ? schema->n : 1);
    for (uint32_t i = 0; i < schema->n; i++) types[i] = schema->fields[i].type;
    return types;
}
uint32_t *wr_op_copy_cols(wr_arena *arena, const uint32_t *cols, uint32_t n) {
    uint32_t *copy = wr_new_n(arena, uint32_t, n ? n : 1);
    if (n) memcpy(copy, cols, n * sizeof *copy);
    return copy;
}
wr_status wr_op_null_time(wr_err *err) {
    return wr_fail(err, WR_DATA, "22004", "rowtime must not be null: a row has NULL in the time attribute column");
}

wr_status wr_op_limit_map(wr_kmap *map, int64_t bytes, wr_err *err) {
    wr_kmap_limit(map, bytes);
    return bytes ? wr_kmap_shrink(map, bytes, err) : WR_OK;
}

wr_kmap *wr_op_map_new(const wr_kmap_opts *opts, const wr_op_ctx *ctx, const char *name, wr_spill spill) {
    wr_kmap_opts o = *opts;
    o.tier = ctx->tier;
    o.table = ctx->id ? ctx->id : name;
    o.spill = spill;
    o.n_groups = ctx->n_key_groups, o.group_from = ctx->group_from, o.group_to = ctx->group_to;
    return wr_kmap_new(&o);
}
void wr_op_map_usage(const wr_kmap *map, wr_op_usage *out) {
    wr_kmap_tier_usage u;
    wr_kmap_tier_usage_get(map, &u);
    out->tier_keys += u.entries, out->tier_loads += u.loads, out->tier_evictions += u.evictions;
    out->tier_asked += u.asked, out->tier_read_ns += u.read_ns, out->tier_write_ns += u.write_ns;
    out->spills |= wr_kmap_spills(map);
}
void wr_op_save_rows(wr_sbuf *out, int64_t n_rows) { wr_put_u64(out, (uint64_t)WR_MAX(n_rows, 0)); }
int64_t wr_op_load_rows(const wr_kmap *map, wr_reader *in) {
    return in->bad || in->at == in->end ? 0 : (int64_t)wr_kmap_unread_part(map, wr_get_u64(in));
}
