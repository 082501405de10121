/* op/lookup_cache.c: see lookup_cache.h. */
#include "op/lookup_cache.h"

typedef struct cached { uint32_t older, newer, len, key_len; char *rows; int64_t written_us, used_us; } cached;
struct wr_lookup_store {
    wr_kmap *map;
    uint32_t oldest, newest;
    int64_t  max_keys, max_bytes, write_us, access_us, used; /* used: of the entries that are there */
    bool     missing;
};

static cached *at(const wr_lookup_store *c, uint32_t slot) { return wr_kmap_value(c->map, slot); }

static void unlink_slot(wr_lookup_store *c, uint32_t slot) {
    const cached *e = at(c, slot);
    if (e->older != WR_SLOT_NONE) at(c, e->older)->newer = e->newer;
    else c->oldest = e->newer;
    if (e->newer != WR_SLOT_NONE) at(c, e->newer)->older = e->older;
    else c->newest = e->older;
}
static void link_newest(wr_lookup_store *c, uint32_t slot) {
    cached *e = at(c, slot);
    e->older = c->newest, e->newer = WR_SLOT_NONE;
    if (c->newest != WR_SLOT_NONE) at(c, c->newest)->newer = slot;
    else c->oldest = slot;
    c->newest = slot;
}
static void value_free(void *self, void *value) {
    wr_lookup_store *c = self;
    cached          *e = value;
    if (!e->rows) return;
    wr_kmap_charge(c->map, -(int64_t)e->len);
    wr_free(e->rows);
    e->rows = NULL;
}
static int64_t cost(const cached *e) { return (int64_t)wr_lookup_cache_entry_bytes(e->key_len, e->len); }
static void forget(wr_lookup_store *c, uint32_t slot) {
    c->used -= cost(at(c, slot));
    unlink_slot(c, slot);
    wr_kmap_remove(c->map, slot);
}

wr_lookup_store *wr_lookup_store_new(const wr_lookup_join_opts *opts, const wr_type *key_types, wr_account *acct) {
    wr_lookup_store *c = wr_calloc(1, sizeof *c);
    *c = (wr_lookup_store){.oldest = WR_SLOT_NONE, .newest = WR_SLOT_NONE, .max_keys = opts->cache_rows, .max_bytes = opts->cache_bytes, .write_us = opts->expire_write_us,
                           .access_us = opts->expire_access_us, .missing = opts->cache_missing};
    c->map = wr_kmap_new(&(wr_kmap_opts){.name = "lookup_cache", .key_types = key_types, .n_key_types = opts->keys.n, .value_bytes = sizeof(cached), .acct = acct, .self = c, .value_free = value_free});
    return c;
}
void wr_lookup_store_free(wr_lookup_store *c) {
    if (!c) return;
    wr_kmap_free(c->map);
    wr_free(c);
}

bool wr_lookup_store_get(wr_lookup_store *c, wr_str key, uint64_t hash, int64_t now_us, wr_str *rows) {
    uint32_t slot;
    if (wr_kmap_find_one(c->map, key, hash, false, &slot, NULL, NULL) != WR_OK || slot == WR_SLOT_NONE) return false;
    cached *e = at(c, slot);
    if ((c->write_us && now_us - e->written_us >= c->write_us) || (c->access_us && now_us - e->used_us >= c->access_us)) {
        forget(c, slot);
        return false;
    }
    e->used_us = now_us;
    *rows = (wr_str){e->rows ? e->rows : "", e->len};
    unlink_slot(c, slot);
    link_newest(c, slot);
    return true;
}

void wr_lookup_store_put(wr_lookup_store *c, wr_str key, uint64_t hash, int64_t now_us, wr_str rows) {
    uint32_t slot;
    bool     created;
    if (!rows.len && !c->missing) return;
    if (wr_kmap_find_one(c->map, key, hash, true, &slot, &created, NULL) != WR_OK || slot == WR_SLOT_NONE) return;
    cached *e = at(c, slot);
    if (!created) c->used -= cost(e), unlink_slot(c, slot);
    value_free(c, e);
    e->written_us = e->used_us = now_us;
    e->len = (uint32_t)rows.len, e->key_len = (uint32_t)key.len;
    c->used += cost(e);
    if (rows.len) {
        e->rows = wr_malloc(rows.len);
        memcpy(e->rows, rows.ptr, rows.len);
        wr_kmap_charge(c->map, (int64_t)rows.len);
    }
    link_newest(c, slot);
    while (c->max_keys && (int64_t)wr_kmap_count(c->map) > c->max_keys) forget(c, c->oldest);
    if (c->max_bytes) wr_lookup_store_shrink(c, c->max_bytes);
}

void wr_lookup_store_shrink(wr_lookup_store *c, int64_t bytes) {
    while (c->used > bytes && c->oldest != WR_SLOT_NONE) forget(c, c->oldest);
    if (c->oldest == WR_SLOT_NONE) wr_kmap_clear(c->map); /* a slab that is not empty keeps its size */
}

int64_t wr_lookup_store_bytes(const wr_lookup_store *c) { return wr_kmap_bytes(c->map); }

double wr_lookup_cache_entry_bytes(double key_bytes, double row_bytes) { return wr_kmap_entry_bytes(sizeof(cached), key_bytes) + row_bytes + 4 + 16; }
