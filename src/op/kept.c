/* op/kept.c: see kept.h. */
#include "op/kept.h"
#include "base/hash.h"

static void value_free(void *self, void *value) {
    wr_kept       *k = self;
    wr_kept_value *v = value;
    if (!v->bytes) return;
    wr_kmap_charge(k->map, -(int64_t)v->len);
    wr_free(v->bytes);
    v->bytes = NULL;
}
static void value_save(void *self, const void *value, wr_sbuf *out) {
    (void)self;
    const wr_kept_value *v = value;
    wr_put_u32(out, v->count);
    wr_put_bytes(out, v->bytes ? v->bytes : "", v->len);
}
static bool value_load(void *self, void *value, wr_reader *in) {
    wr_kept_value *v = value;
    v->count = wr_get_u32(in);
    wr_str bytes = wr_get_bytes(in);
    if (in->bad) return false;
    wr_kept_set(self, v, bytes);
    return true;
}

void wr_kept_init(wr_kept *k, const wr_schema *input, wr_op_ctx *ctx, const char *name) {
    k->arena = wr_arena_new(ctx->acct);
    k->n_cols = input->n;
    wr_type *types = wr_op_types(k->arena, input);
    k->codec = wr_rowcodec_new(k->arena, types, input->n);
    const wr_kmap_opts map = {.name = "kept", .key_types = types, .n_key_types = input->n, .value_bytes = sizeof(wr_kept_value), .acct = ctx->acct, .self = k,
                              .value_free = value_free, .value_save = value_save, .value_load = value_load, .codec = k->codec};
    k->map = wr_op_map_new(&map, ctx, name, WR_SPILL_ENTRY);
}
void wr_kept_free(wr_kept *k) {
    wr_kmap_free(k->map);
    wr_sbuf_free(&k->key);
    wr_arena_free(k->arena);
}

wr_status wr_kept_find(wr_kept *k, const wr_batch *batch, uint32_t row, uint64_t group_hash, bool create, uint32_t *slot, wr_kept_value **value, wr_err *err) {
    wr_sbuf_clear(&k->key);
    wr_rowcodec_put(k->codec, batch, NULL, row, &k->key);
    uint64_t hash = (group_hash & ~(uint64_t)UINT32_MAX) | (wr_hash_bytes(k->key.at, k->key.len) & UINT32_MAX);
    WR_TRY(wr_kmap_find_one(k->map, wr_sbuf_str(&k->key), hash, create, slot, NULL, err));
    *value = *slot == WR_SLOT_NONE ? NULL : wr_kmap_value(k->map, *slot);
    return WR_OK;
}

void wr_kept_set(wr_kept *k, wr_kept_value *v, wr_str bytes) {
    value_free(k, v);
    v->len = (uint32_t)bytes.len;
    if (!bytes.len) return;
    v->bytes = wr_malloc(bytes.len);
    memcpy(v->bytes, bytes.ptr, bytes.len);
    wr_kmap_charge(k->map, (int64_t)bytes.len);
}

void wr_kept_usage(const wr_kept *k, wr_op_usage *out) {
    out->state_bytes += wr_kmap_bytes(k->map);
    out->keys += wr_kmap_count(k->map);
    out->rows += wr_kmap_count(k->map);
    wr_op_map_usage(k->map, out);
}

double wr_kept_row_bytes(double row_bytes, double kept_bytes) { return wr_kmap_entry_bytes(sizeof(wr_kept_value), row_bytes) + kept_bytes + (kept_bytes > 0 ? 16 : 0); }
