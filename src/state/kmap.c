/* state/kmap.c: the keyed hash map of state.h, in memory; what is evicted and saved incrementally is in kmap_tier.c.
 *
 * Idea       an index of 8-byte entries (low half of the hash, slot number + 1), linear probing, at most 60 % full; records in a slab of chunks:
 *            [hash][key][value]. The index alone answers almost every mismatch and is rehashed without touching the slab. A lookup of a
 *            batch goes in blocks of 64 rows: touch the index lines, touch the records, then compare.
 *            Keys come in three shapes: one fixed-width column (8 raw bytes), one string column (20 bytes inline), anything else
 *            (rowcodec bytes, 20 inline). The NULL of a single-column key, and the only key of a global map, is `null_slot`, outside the index.
 * Invariant  index entry <-> live record, except null_slot; removal shifts entries back, so there are no tombstones; a free record keeps
 *            the next free slot in its hash field. What is stored depends on the order of calls only, never on addresses.
 * Memory     `bytes` is what the map holds; the account is told the difference once a call.                                   */
#include "state/kmap_internal.h"

void wr_kmap_tell(wr_kmap *m) {
    int64_t now = m->bytes + m->charged;
    if (now == m->told) return;
    wr_account_add(m->opts.acct, now - m->told);
    m->told = now;
}

static shape shape_of(const wr_kmap_opts *o) {
    if (!o->n_key_types) return SHAPE_GLOBAL;
    if (o->n_key_types > 1) return SHAPE_BYTES;
    switch (wr_type_storage(o->key_types[0])) {
    case WR_S_BOOL: case WR_S_I8: case WR_S_I16: case WR_S_I32: case WR_S_I64: case WR_S_F32: case WR_S_F64: return SHAPE_FIXED;
    case WR_S_STR: return SHAPE_STRING;
    default: return SHAPE_BYTES;
    }
}
static uint32_t value_offset(shape s) { return s == SHAPE_FIXED || s == SHAPE_GLOBAL ? sizeof(fixed_rec) : sizeof(bytes_rec); }

wr_kmap *wr_kmap_new(const wr_kmap_opts *opts) {
    wr_kmap *m = wr_calloc(1, sizeof *m);
    m->opts = *opts;
    m->shape = shape_of(opts);
    m->value_at = value_offset(m->shape);
    m->codec = opts->codec;
    m->stride = m->value_at + ((opts->value_bytes + 15) & ~15u);
    m->slab_chunks = WR_MAX((uint32_t)SLAB_BYTES / (CHUNK * m->stride), 1u);
    m->free_head = m->null_slot = m->sweep_at = WR_SLOT_NONE;
    m->bytes = (int64_t)sizeof *m;
    if (m->shape == SHAPE_FIXED) m->storage = wr_type_storage(opts->key_types[0]);
    m->types = wr_calloc(opts->n_key_types ? opts->n_key_types : 1, sizeof *m->types);
    if (opts->n_key_types) memcpy(m->types, opts->key_types, opts->n_key_types * sizeof *m->types);
    m->opts.key_types = m->types;
    if (opts->tier) {
        m->cut_epoch = wr_tier_epoch(opts->tier); /* its operator may have passed that barrier already */
        m->opts.prefix.ptr = memcpy(wr_malloc(opts->prefix.len + 1), opts->prefix.len ? opts->prefix.ptr : "", opts->prefix.len);
    }
    wr_kmap_tell(m);
    return m;
}

static const wr_rowcodec *codec_of(wr_kmap *m) { /* most maps never need it */
    if (!m->codec) {
        m->arena = wr_arena_new(m->opts.acct);
        m->codec = wr_rowcodec_new(m->arena, m->types, m->opts.n_key_types);
    }
    return m->codec;
}

static void free_values(wr_kmap *m) {
    if (!m->opts.value_free && m->value_at == sizeof(fixed_rec)) return;
    for (uint32_t s = wr_kmap_next(m, WR_SLOT_NONE); s != WR_SLOT_NONE; s = wr_kmap_next(m, s)) {
        char *r = record(m, s);
        if (m->opts.value_free) m->opts.value_free(m->opts.self, r + m->value_at);
        if (m->value_at == sizeof(bytes_rec) && ((bytes_rec *)r)->len > INLINE) wr_free(((bytes_rec *)r)->ptr);
    }
}

static void free_chunks(const wr_kmap *m) {
    for (uint32_t c = 0; c < m->n_chunks; c++)
        if (!chunk_in_slab(m, c)) wr_free(m->chunks[c]);
    wr_free(m->chunks);
}
static void clear_memory(wr_kmap *m) {
    free_values(m);
    free_chunks(m);
    wr_free(m->index);
    wr_free(m->live);
    m->chunks = NULL, m->index = NULL, m->live = NULL;
    m->n_chunks = m->first_cap = m->cap = m->count = m->n_slots = m->live_words = 0;
    m->free_head = m->null_slot = m->sweep_at = WR_SLOT_NONE;
    m->bytes = (int64_t)sizeof *m;
    m->charged = 0;
    wr_kmap_tell(m);
}

void wr_kmap_clear(wr_kmap *m) {
    if (m->tier) wr_kmap_tier_pay_all(m);
    clear_memory(m);
    if (m->tier) wr_kmap_tier_cleared(m);
}

void wr_kmap_free(wr_kmap *m) {
    if (!m) return;
    clear_memory(m);
    if (m->tier) wr_kmap_tier_detach(m);
    if (m->opts.tier) wr_free((char *)(uintptr_t)m->opts.prefix.ptr);
    m->bytes = 0;
    wr_kmap_tell(m);
    wr_arena_free(m->arena);
    wr_sbuf_free(&m->scratch);
    wr_sbuf_free(&m->block);
    wr_free(m->types);
    wr_free(m);
}

/* ---- slab and index ---- */

static void add_slots(wr_kmap *m) {
    uint32_t room = !m->n_chunks ? 0 : m->n_chunks == 1 ? m->first_cap : m->n_chunks * CHUNK;
    if (m->n_slots < room) return;
    if (m->n_chunks <= 1 && m->first_cap < CHUNK) {
        uint32_t cap = m->first_cap ? WR_MIN(m->first_cap * 4, (uint32_t)CHUNK) : WR_MIN((m->opts.expected + 3) & ~3u, (uint32_t)CHUNK);
        if (!cap) cap = 4;
        if (!m->chunks) m->chunks = wr_calloc(1, sizeof *m->chunks), m->n_chunks = 1;
        m->chunks[0] = wr_realloc(m->chunks[0], (size_t)cap * m->stride);
        m->bytes += (int64_t)(cap - m->first_cap) * m->stride;
        m->first_cap = cap;
    } else {
        m->chunks = wr_realloc(m->chunks, (m->n_chunks + 1) * sizeof *m->chunks);
        size_t   bytes = (size_t)CHUNK * m->stride;
        uint32_t c = m->n_chunks++;
        if (chunk_in_slab(m, c)) m->chunks[c] = m->chunks[c - 1] + bytes;
        else m->chunks[c] = c < SLABS_FROM * m->slab_chunks ? wr_malloc(bytes) : wr_malloc_wide(bytes * m->slab_chunks);
        m->bytes += (int64_t)bytes + (int64_t)sizeof *m->chunks;
    }
    room = m->n_chunks == 1 ? m->first_cap : m->n_chunks * CHUNK;
    uint32_t words = (room + 63) / 64;
    if (words > m->live_words) {
        words = WR_MAX(words, m->live_words * 2);
        m->live = wr_realloc(m->live, words * sizeof *m->live);
        memset(m->live + m->live_words, 0, (words - m->live_words) * sizeof *m->live);
        m->bytes += (int64_t)(words - m->live_words) * 8;
        m->live_words = words;
        if (m->tier) wr_kmap_tier_grow(m);
    }
}

static void index_grow(wr_kmap *m) {
    uint32_t cap = m->cap ? m->cap * 2 : 8;
    while (!m->cap && (uint64_t)m->opts.expected * 5 > (uint64_t)cap * 3) cap *= 2;
    uint32_t  mask = cap - 1;
    uint64_t *index = wr_malloc_wide(cap * sizeof *index);
    memset(index, 0, cap * sizeof *index);
    for (uint32_t i = 0; i < m->cap; i++) {
        if (!m->index[i]) continue;
        uint32_t at = (uint32_t)(m->index[i] >> 32) & mask;
        while (index[at]) at = (at + 1) & mask;
        index[at] = m->index[i];
    }
    wr_free(m->index);
    m->bytes += (int64_t)(cap - m->cap) * 8;
    m->index = index;
    m->cap = cap;
    if (m->opts.tier && !m->watched && m->bytes >= wr_tier_attach_bytes(m->opts.tier)) m->watched = true; /* the next find attaches it */
}

/* A new live record with a zeroed value; not yet in the index. */
static uint32_t slot_new(wr_kmap *m, uint64_t hash) {
    uint32_t slot = m->free_head;
    if (slot != WR_SLOT_NONE) {
        m->free_head = (uint32_t)((fixed_rec *)record(m, slot))->hash;
    } else {
        wr_assert(m->n_slots < WR_SLOT_NONE - 1);
        add_slots(m);
        slot = m->n_slots++;
    }
    char *r = record(m, slot);
    memset(r, 0, m->stride);
    ((fixed_rec *)r)->hash = hash;
    m->live[slot >> 6] |= UINT64_C(1) << (slot & 63);
    m->count++;
    if (WR_UNLIKELY(m->tier != NULL)) wr_kmap_tier_created(m, slot, hash);
    return slot;
}

static void index_put(wr_kmap *m, uint64_t hash, uint32_t slot) {
    if ((uint64_t)(m->count + 1) * 5 > (uint64_t)m->cap * 3) index_grow(m);
    uint32_t mask = m->cap - 1, at = (uint32_t)hash & mask;
    while (m->index[at]) at = (at + 1) & mask;
    m->index[at] = hash << 32 | (slot + 1);
}

/* ---- finding: one function a shape, all inlined into the block loop ---- */

static __attribute__((noinline)) uint32_t create_fixed(wr_kmap *m, uint64_t hash, uint64_t key) {
    uint32_t slot = slot_new(m, hash);
    ((fixed_rec *)record(m, slot))->key = key;
    index_put(m, hash, slot);
    return slot;
}
static __attribute__((noinline)) uint32_t create_bytes(wr_kmap *m, uint64_t hash, const char *ptr, uint32_t len) {
    uint32_t   slot = slot_new(m, hash);
    bytes_rec *r = (bytes_rec *)record(m, slot);
    r->len = len;
    if (len <= INLINE) {
        if (len) memcpy((char *)r + 12, ptr, len);
    } else {
        r->ptr = wr_malloc(len);
        memcpy(r->ptr, ptr, len);
        m->bytes += len + MALLOC_EXTRA;
    }
    index_put(m, hash, slot);
    return slot;
}
static uint32_t create_null(wr_kmap *m, uint64_t hash) { return m->null_slot = slot_new(m, hash); }

WR_INLINE uint32_t find_fixed(const wr_kmap *m, uint64_t hash, uint64_t key) {
    if (!m->cap) return WR_SLOT_NONE;
    uint32_t mask = m->cap - 1;
    for (uint32_t at = (uint32_t)hash & mask;; at = (at + 1) & mask) {
        uint64_t e = m->index[at];
        if (!e) return WR_SLOT_NONE;
        if ((uint32_t)(e >> 32) == (uint32_t)hash && ((fixed_rec *)record(m, (uint32_t)e - 1))->key == key) return (uint32_t)e - 1;
    }
}
WR_INLINE bool same_bytes(const wr_kmap *m, uint32_t slot, const char *ptr, uint32_t len) {
    const bytes_rec *r = (const bytes_rec *)record(m, slot);
    return r->len == len && (!len || memcmp(bytes_of(r), ptr, len) == 0);
}
WR_INLINE uint32_t find_bytes(const wr_kmap *m, uint64_t hash, const char *ptr, uint32_t len) {
    if (!m->cap) return WR_SLOT_NONE;
    uint32_t mask = m->cap - 1;
    for (uint32_t at = (uint32_t)hash & mask;; at = (at + 1) & mask) {
        uint64_t e = m->index[at];
        if (!e) return WR_SLOT_NONE;
        if ((uint32_t)(e >> 32) == (uint32_t)hash && same_bytes(m, (uint32_t)e - 1, ptr, len)) return (uint32_t)e - 1;
    }
}

/* The raw 8 bytes of a fixed key; equal values have equal bits (one NaN, no -0.0). */
static uint64_t raw_f64(double x) {
    uint64_t bits;
    if (x != x) return UINT64_C(0x7FF8000000000000);
    if (x == 0) x = 0;
    memcpy(&bits, &x, 8);
    return bits;
}
static uint64_t raw_at(wr_storage s, const void *data, uint32_t row) {
    switch (s) {
    case WR_S_BOOL: return ((const uint8_t *)data)[row];
    case WR_S_I8: return (uint64_t)((const int8_t *)data)[row];
    case WR_S_I16: return (uint64_t)((const int16_t *)data)[row];
    case WR_S_I32: return (uint64_t)((const int32_t *)data)[row];
    case WR_S_I64: return (uint64_t)((const int64_t *)data)[row];
    case WR_S_F32: return raw_f64((double)((const float *)data)[row]);
    default: return raw_f64(((const double *)data)[row]);
    }
}
static void raw_put(wr_storage s, void *data, uint32_t row, uint64_t raw) {
    double x;
    memcpy(&x, &raw, 8);
    switch (s) {
    case WR_S_BOOL: ((uint8_t *)data)[row] = (uint8_t)raw; break;
    case WR_S_I8: ((int8_t *)data)[row] = (int8_t)raw; break;
    case WR_S_I16: ((int16_t *)data)[row] = (int16_t)raw; break;
    case WR_S_I32: ((int32_t *)data)[row] = (int32_t)raw; break;
    case WR_S_I64: ((int64_t *)data)[row] = (int64_t)raw; break;
    case WR_S_F32: ((float *)data)[row] = (float)x; break;
    default: ((double *)data)[row] = x; break;
    }
}

typedef struct block { /* up to BLOCK rows on their way through a find */
    uint32_t n;
    uint32_t row[BLOCK];
    uint64_t hash[BLOCK];
    uint32_t like[BLOCK]; /* 1 + the first slot with the same half of the hash; 0: none, or not looked for */
} block;

/* Of the first places that a hash may have in the index, the entry that is alike; 0: none. Without branches, which could not be foretold: four places are enough for
 * nearly all. An empty place among them does no harm: entries of equal halves stand together. */
WR_INLINE uint64_t alike(const uint64_t *index, uint32_t mask, uint32_t hash) {
    uint64_t a = index[hash & mask], b = index[(hash + 1) & mask], c = index[(hash + 2) & mask], d = index[(hash + 3) & mask], e = 0;
    e = d >> 32 == hash ? d : e;
    e = c >> 32 == hash ? c : e;
    e = b >> 32 == hash ? b : e;
    return a >> 32 == hash ? a : e;
}
/* The whole block's places in the index are on their way before the first is looked at, then the records that they lead to. */
static void seek_block(const wr_kmap *m, block *b) {
    const uint64_t *index = m->index;
    uint32_t        mask = m->cap - 1;
    bool            large = m->count > PREFETCH_FROM;
    for (uint32_t i = 0; large && i < b->n; i++) __builtin_prefetch(&index[(uint32_t)b->hash[i] & mask]);
    for (uint32_t i = 0; i < b->n; i++) b->like[i] = (uint32_t)alike(index, mask, (uint32_t)b->hash[i]);
    for (uint32_t i = 0; large && i < b->n; i++) {
        if (!b->like[i]) continue;
        const char *r = record(m, b->like[i] - 1);
        WR_PREFETCH(r);
        if (m->stride > 48) WR_PREFETCH(r + 64);
    }
}

static __attribute__((noinline)) uint32_t find_fixed_anew(wr_kmap *m, uint64_t hash, uint64_t key, bool create, bool *fresh) {
    uint32_t slot = find_fixed(m, hash, key);
    if (slot != WR_SLOT_NONE || !create) return slot;
    *fresh = true;
    return create_fixed(m, hash, key);
}
static void find_block_fixed(wr_kmap *m, const wr_vec *vec, const block *b, bool create, uint32_t *slots, uint8_t *created) {
    const uint64_t *words = m->storage == WR_S_I64 ? vec->data : NULL, *valid = vec->valid;
    char *const    *chunks = m->chunks;
    size_t          stride = m->stride;
    if (created) memset(created, 0, b->n);
    for (uint32_t i = 0; i < b->n; i++) {
        uint32_t row = b->row[i], like = b->like[i];
        bool     fresh = false;
        if (WR_UNLIKELY(valid && !wr_valid_get(valid, row))) {
            slots[i] = m->null_slot;
            if (m->null_slot == WR_SLOT_NONE && create) slots[i] = create_null(m, b->hash[i]), fresh = true;
        } else {
            uint64_t key = words ? words[row] : raw_at(m->storage, vec->data, row);
            if (WR_LIKELY(like && ((const fixed_rec *)(const void *)(chunks[(like - 1) >> CHUNK_LOG2] + ((like - 1) & (CHUNK - 1)) * stride))->key == key)) {
                slots[i] = like - 1;
                continue;
            }
            slots[i] = find_fixed_anew(m, b->hash[i], key, create, &fresh);
        }
        chunks = m->chunks;
        if (created) created[i] = fresh;
    }
}
static void find_block_string(wr_kmap *m, const wr_vec *vec, const block *b, bool create, uint32_t *slots, uint8_t *created) {
    const wr_sview *views = vec->data;
    for (uint32_t i = 0; i < b->n; i++) {
        uint32_t row = b->row[i], slot;
        bool     fresh = false;
        if (WR_UNLIKELY(vec->valid && !wr_valid_get(vec->valid, row))) {
            slot = m->null_slot;
            if (slot == WR_SLOT_NONE && create) slot = create_null(m, b->hash[i]), fresh = true;
        } else {
            const char *ptr = wr_sview_ptr(&views[row]);
            uint32_t    len = views[row].len;
            if (b->like[i] && same_bytes(m, b->like[i] - 1, ptr, len)) slot = b->like[i] - 1;
            else slot = find_bytes(m, b->hash[i], ptr, len);
            if (slot == WR_SLOT_NONE && create) slot = create_bytes(m, b->hash[i], ptr, len), fresh = true;
        }
        slots[i] = slot;
        if (created) created[i] = fresh;
    }
}
static void find_block_bytes(wr_kmap *m, const wr_batch *batch, const uint32_t *key_cols, const block *b, bool create, uint32_t *slots,
                             uint8_t *created) {
    const wr_rowcodec *codec = codec_of(m);
    size_t ends[BLOCK];
    wr_sbuf_clear(&m->block);
    for (uint32_t i = 0; i < b->n; i++) {
        wr_rowcodec_put(codec, batch, key_cols, b->row[i], &m->block);
        ends[i] = m->block.len;
    }
    for (uint32_t i = 0; i < b->n; i++) {
        size_t      from = i ? ends[i - 1] : 0;
        uint32_t    len = (uint32_t)(ends[i] - from), slot;
        const char *ptr = m->block.at + from;
        if (b->like[i] && same_bytes(m, b->like[i] - 1, ptr, len)) slot = b->like[i] - 1;
        else slot = find_bytes(m, b->hash[i], ptr, len);
        bool        fresh = slot == WR_SLOT_NONE && create;
        if (fresh) slot = create_bytes(m, b->hash[i], ptr, len);
        slots[i] = slot;
        if (created) created[i] = fresh;
    }
}

void wr_kmap_mem_find_batch(wr_kmap *m, const wr_batch *batch, const uint32_t *key_cols, const uint64_t *hash, bool create, uint32_t *slots,
                            uint8_t *created) {
    uint32_t n = wr_batch_live(batch);
    if (m->shape == SHAPE_GLOBAL) {
        bool fresh = n && create && m->null_slot == WR_SLOT_NONE;
        if (fresh) create_null(m, 0);
        for (uint32_t i = 0; i < n; i++) slots[i] = m->null_slot;
        if (created && n) memset(created, 0, n), created[0] = fresh;
        wr_kmap_tell(m);
        return;
    }
    const wr_vec *vec = &batch->cols[key_cols ? key_cols[0] : 0];
    block         b;
    for (uint32_t done = 0; done < n; done += b.n) {
        b.n = WR_MIN(n - done, (uint32_t)BLOCK);
        for (uint32_t i = 0; i < b.n; i++) b.row[i] = wr_batch_row(batch, done + i), b.hash[i] = hash[b.row[i]];
        if (m->cap) seek_block(m, &b);
        else memset(b.like, 0, b.n * sizeof *b.like);
        uint8_t *made = created ? created + done : NULL;
        switch (m->shape) {
        case SHAPE_FIXED: find_block_fixed(m, vec, &b, create, slots + done, made); break;
        case SHAPE_STRING: find_block_string(m, vec, &b, create, slots + done, made); break;
        default: find_block_bytes(m, batch, key_cols, &b, create, slots + done, made); break;
        }
    }
    if (create) wr_kmap_tell(m);
}

wr_status wr_kmap_find(wr_kmap *m, const wr_batch *batch, const uint32_t *key_cols, const uint64_t *hash, bool create, uint32_t *slots,
                       uint8_t *created, wr_err *err) {
    if (WR_UNLIKELY(m->watched)) return wr_kmap_tier_find_batch(m, batch, key_cols, hash, create, slots, created, err);
    wr_kmap_mem_find_batch(m, batch, key_cols, hash, create, slots, created);
    return WR_OK;
}

/* ---- one key ---- */

uint32_t wr_kmap_mem_find(const wr_kmap *m, uint64_t hash, const one_key *k) {
    if (k->null) return m->null_slot;
    return m->shape == SHAPE_FIXED ? find_fixed(m, hash, k->fixed) : find_bytes(m, hash, k->ptr, k->len);
}
uint32_t wr_kmap_mem_create(wr_kmap *m, uint64_t hash, const one_key *k) {
    if (k->null) return create_null(m, hash);
    return m->shape == SHAPE_FIXED ? create_fixed(m, hash, k->fixed) : create_bytes(m, hash, k->ptr, k->len);
}
static wr_status find_raw(wr_kmap *m, uint64_t hash, const one_key *k, bool create, uint32_t *out, bool *created, wr_err *err) {
    if (WR_UNLIKELY(m->watched)) return wr_kmap_tier_find(m, hash, k, create, out, created, err);
    *out = wr_kmap_mem_find(m, hash, k);
    bool fresh = *out == WR_SLOT_NONE && create;
    if (fresh) {
        *out = wr_kmap_mem_create(m, hash, k);
        wr_kmap_tell(m);
    }
    if (created) *created = fresh;
    return WR_OK;
}

wr_status wr_kmap_find_like(wr_kmap *m, const wr_kmap *from, uint32_t slot, bool create, uint32_t *out, bool *created, wr_err *err) {
    wr_dassert(m->shape == from->shape && m->storage == from->storage);
    one_key k = raw_of_slot(from, slot);
    return find_raw(m, wr_kmap_hash(from, slot), &k, create, out, created, err);
}

wr_status wr_kmap_find_one(wr_kmap *m, wr_str key, uint64_t hash, bool create, uint32_t *out, bool *created, wr_err *err) {
    one_key k;
    *out = WR_SLOT_NONE;
    if (created) *created = false;
    if (!wr_kmap_key_parse(m, key, &k)) return WR_OK;
    return find_raw(m, m->shape == SHAPE_GLOBAL ? 0 : hash, &k, create, out, created, err);
}

/* ---- encoded keys: what the row codec makes of them, without a batch for the common shapes ---- */

void wr_kmap_key_put(const wr_kmap *m, const one_key *k, wr_sbuf *out) {
    if (m->shape == SHAPE_GLOBAL) return;
    if (m->shape == SHAPE_BYTES) {
        wr_sbuf_add(out, k->ptr, k->len);
        return;
    }
    char     room[16] = {k->null}; /* the null bits, then the value */
    uint32_t len = k->len;
    size_t   size = m->shape == SHAPE_FIXED ? wr_storage_size(m->storage) : 0;
    if (m->shape == SHAPE_STRING && !k->null) memcpy(room + 1, &len, size = 4);
    if (m->shape == SHAPE_FIXED && !k->null) {
        uint64_t one;
        raw_put(m->storage, &one, 0, k->fixed);
        memcpy(room + 1, &one, size);
    }
    wr_sbuf_add(out, room, 1 + size);
    if (m->shape == SHAPE_STRING && !k->null) wr_sbuf_add(out, k->ptr, k->len);
}

bool wr_kmap_key_parse(const wr_kmap *m, wr_str encoded, one_key *k) {
    *k = (one_key){.ptr = encoded.ptr, .len = (uint32_t)encoded.len};
    if (m->shape == SHAPE_GLOBAL) k->null = true;
    if (m->shape == SHAPE_GLOBAL || m->shape == SHAPE_BYTES) return true;
    if (!encoded.len || (uint8_t)encoded.ptr[0] > 1) return false;
    k->null = encoded.ptr[0];
    if (m->shape == SHAPE_FIXED) {
        uint64_t one = 0;
        size_t   size = wr_storage_size(m->storage);
        if (encoded.len != 1 + size) return false;
        memcpy(&one, encoded.ptr + 1, size);
        if (!k->null) k->fixed = raw_at(m->storage, &one, 0);
        return true;
    }
    if (k->null) return encoded.len == 1;
    if (encoded.len < 5) return false;
    memcpy(&k->len, encoded.ptr + 1, 4);
    k->ptr = encoded.ptr + 5;
    return k->len == encoded.len - 5;
}

void wr_kmap_row_key_put(wr_kmap *m, const wr_batch *batch, const uint32_t *key_cols, uint32_t row, wr_sbuf *out) {
    if (m->shape == SHAPE_GLOBAL) return;
    if (m->shape == SHAPE_BYTES) {
        wr_rowcodec_put(codec_of(m), batch, key_cols, row, out);
        return;
    }
    const wr_vec *vec = &batch->cols[key_cols ? key_cols[0] : 0];
    one_key       k = {.null = wr_vec_is_null(vec, row)};
    if (!k.null && m->shape == SHAPE_FIXED) k.fixed = raw_at(m->storage, vec->data, row);
    if (!k.null && m->shape == SHAPE_STRING) k.ptr = wr_sview_ptr((const wr_sview *)vec->data + row), k.len = ((const wr_sview *)vec->data)[row].len;
    wr_kmap_key_put(m, &k, out);
}

void *wr_kmap_value(wr_kmap *m, uint32_t slot) {
    wr_dassert(slot < m->n_slots && is_live(m, slot) && wr_kmap_is_warm(m, slot));
    if (WR_UNLIKELY(m->tier != NULL)) {
        kmap_marks *k = &m->tier->marks[slot >> 6];
        if (WR_UNLIKELY(k->owed >> (slot & 63) & 1)) wr_kmap_tier_pay_for(m, slot);
        k->dirty |= UINT64_C(1) << (slot & 63);
    }
    return record(m, slot) + m->value_at;
}
const void *wr_kmap_peek(const wr_kmap *m, uint32_t slot) {
    wr_dassert(slot < m->n_slots && is_live(m, slot) && wr_kmap_is_warm(m, slot));
    return record(m, slot) + m->value_at;
}
bool wr_kmap_is_warm(const wr_kmap *m, uint32_t slot) { return !m->tier || !(m->tier->marks[slot >> 6].cold >> (slot & 63) & 1); }
bool wr_kmap_spills(const wr_kmap *m) { return m->opts.tier && m->opts.spill != WR_SPILL_NONE; }
bool wr_kmap_has_away(const wr_kmap *m) { return m->tier && m->tier->n_away; }
void wr_kmap_prefetch(const wr_kmap *m, uint32_t slot) { __builtin_prefetch(record(m, slot)); }
wr_status wr_kmap_warm(wr_kmap *m, uint32_t slot, wr_err *err) {
    return WR_LIKELY(wr_kmap_is_warm(m, slot)) ? WR_OK : wr_kmap_warm_all(m, &slot, 1, err);
}
void wr_kmap_values(const wr_kmap *m, const uint32_t *slots, uint32_t n, void **values) {
    char *const *chunks = m->chunks;
    size_t       stride = m->stride, at = m->value_at;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t slot = slots[i];
        values[i] = slot == WR_SLOT_NONE ? NULL : chunks[slot >> CHUNK_LOG2] + (slot & (CHUNK - 1)) * stride + at;
    }
}
uint64_t wr_kmap_hash(const wr_kmap *m, uint32_t slot) { return ((const fixed_rec *)record(m, slot))->hash; }

void wr_kmap_key_get(const wr_kmap *m, uint32_t slot, wr_vec *dst, uint32_t row, wr_mem *mem) {
    if (m->shape == SHAPE_GLOBAL) return;
    if (slot == m->null_slot) {
        wr_vec_set_null(dst, row, mem);
        return;
    }
    one_key k = raw_of_slot(m, slot);
    if (m->shape == SHAPE_BYTES) {
        bool ok = wr_rowcodec_get(codec_of((wr_kmap *)(uintptr_t)m), (wr_str){k.ptr, k.len}, dst, row, mem);
        wr_assert(ok);
        return;
    }
    if (dst->valid) wr_valid_set(dst->valid, row, true);
    if (m->shape == SHAPE_FIXED) raw_put(m->storage, dst->data, row, k.fixed);
    else ((wr_sview *)dst->data)[row] = wr_sview_copy(mem, k.ptr, k.len);
}

void wr_kmap_keys_get(const wr_kmap *m, const uint32_t *slots, uint32_t n, wr_vec *dst, wr_mem *mem) {
    if (m->shape != SHAPE_FIXED || m->storage != WR_S_I64) {
        for (uint32_t i = 0; i < n; i++) wr_kmap_key_get(m, slots[i], dst, i, mem);
        return;
    }
    int64_t *keys = dst->data;
    for (uint32_t i = 0; i < n; i++) {
        if (WR_UNLIKELY(slots[i] == m->null_slot)) wr_vec_set_null(dst, i, mem);
        else keys[i] = (int64_t)((const fixed_rec *)record(m, slots[i]))->key;
    }
}

wr_str wr_kmap_key(const wr_kmap *map, uint32_t slot) {
    wr_kmap *m = (wr_kmap *)(uintptr_t)map; /* scratch only */
    if (m->shape == SHAPE_GLOBAL) return (wr_str){"", 0};
    one_key k = raw_of_slot(m, slot);
    if (m->shape == SHAPE_BYTES) return (wr_str){k.ptr, k.len};
    wr_sbuf_clear(&m->scratch);
    wr_kmap_key_put(m, &k, &m->scratch);
    return wr_sbuf_str(&m->scratch);
}

static void index_remove(wr_kmap *m, uint64_t hash, uint32_t slot) {
    uint32_t mask = m->cap - 1, at = (uint32_t)hash & mask;
    while ((uint32_t)m->index[at] != slot + 1) at = (at + 1) & mask;
    for (uint32_t next = (at + 1) & mask; m->index[next]; next = (next + 1) & mask) {
        uint32_t home = (uint32_t)(m->index[next] >> 32) & mask;
        if (((next - home) & mask) < ((next - at) & mask)) continue; /* it would move before its home */
        m->index[at] = m->index[next];
        at = next;
    }
    m->index[at] = 0;
}

void wr_kmap_mem_release(wr_kmap *m, uint32_t slot) {
    char *r = record(m, slot);
    if (slot == m->null_slot) {
        m->null_slot = WR_SLOT_NONE;
    } else {
        index_remove(m, ((fixed_rec *)r)->hash, slot);
        if (m->value_at == sizeof(bytes_rec) && ((bytes_rec *)r)->len > INLINE) {
            m->bytes -= ((bytes_rec *)r)->len + MALLOC_EXTRA;
            wr_free(((bytes_rec *)r)->ptr);
            wr_kmap_tell(m);
        }
    }
    ((fixed_rec *)r)->hash = m->free_head;
    m->free_head = slot;
    m->live[slot >> 6] &= ~(UINT64_C(1) << (slot & 63));
    m->count--;
}

void wr_kmap_remove(wr_kmap *m, uint32_t slot) {
    wr_dassert(slot < m->n_slots && is_live(m, slot));
    if (WR_UNLIKELY(m->tier != NULL)) wr_kmap_tier_removed(m, slot);
    if (m->opts.value_free) m->opts.value_free(m->opts.self, record(m, slot) + m->value_at);
    wr_kmap_mem_release(m, slot);
}

/* Moves the live records to the front of a slab and an index made for them. */
void wr_kmap_mem_compact(wr_kmap *m) {
    wr_kmap    old = *m;
    kmap_tier *t = m->tier;
    kmap_marks *marks = t ? t->marks : NULL;
    m->chunks = NULL, m->index = NULL, m->live = NULL;
    m->n_chunks = m->first_cap = m->cap = m->count = m->n_slots = m->live_words = 0;
    m->free_head = m->null_slot = m->sweep_at = WR_SLOT_NONE;
    m->opts.expected = old.count + old.count / 8;
    m->bytes -= (int64_t)old.cap * 8 + (int64_t)old.live_words * 8 + (int64_t)(old.n_chunks == 1 ? old.first_cap : old.n_chunks * CHUNK) * m->stride +
                (int64_t)(old.n_chunks > 1 ? old.n_chunks - 1 : 0) * (int64_t)sizeof *m->chunks;
    if (t) {
        m->bytes -= (int64_t)t->n_words * (int64_t)sizeof *t->marks;
        t->marks = NULL, t->n_words = t->hand = t->owed_at = 0;
    }
    for (uint32_t s = wr_kmap_next(&old, WR_SLOT_NONE); s != WR_SLOT_NONE; s = wr_kmap_next(&old, s)) {
        m->tier = NULL; /* nothing is created */
        uint32_t to = slot_new(m, ((fixed_rec *)record(&old, s))->hash);
        m->tier = t;
        memcpy(record(m, to), record(&old, s), m->stride);
        if (t) wr_kmap_tier_moved(m, marks, s, to);
        if (s == old.null_slot) m->null_slot = to;
        else index_put(m, ((fixed_rec *)record(m, to))->hash, to);
    }
    m->opts.expected = old.opts.expected;
    free_chunks(&old);
    wr_free(old.index), wr_free(old.live), wr_free(marks);
    wr_kmap_tell(m);
}

uint64_t wr_kmap_count(const wr_kmap *m) { return m->count + (m->tier && m->opts.spill == WR_SPILL_ENTRY ? m->tier->n_away : 0); }

uint32_t wr_kmap_next(const wr_kmap *m, uint32_t slot) {
    uint32_t next = slot == WR_SLOT_NONE ? 0 : slot + 1, words = (m->n_slots + 63) / 64;
    for (uint32_t w = next >> 6; w < words; w++) {
        uint64_t bits = m->live[w];
        if (w == next >> 6) bits &= ~UINT64_C(0) << (next & 63);
        if (bits) return w * 64 + (uint32_t)__builtin_ctzll(bits);
    }
    return WR_SLOT_NONE;
}

wr_status wr_kmap_scan(wr_kmap *m, wr_kmap_cursor *cursor, uint32_t *slots, uint32_t max, uint32_t *n, wr_err *err) {
    *n = 0;
    if (WR_UNLIKELY(m->tier != NULL)) return wr_kmap_tier_scan(m, cursor, slots, max, n, err);
    while (*n < max && !cursor->done) { /* cursor->slot: where to go on */
        uint32_t slot = wr_kmap_next(m, cursor->slot - 1); /* 0 - 1 is WR_SLOT_NONE */
        cursor->done = slot == WR_SLOT_NONE;
        if (cursor->done) break;
        slots[(*n)++] = slot;
        cursor->slot = slot + 1;
    }
    return WR_OK;
}

wr_status wr_kmap_sweep(wr_kmap *m, uint32_t n, uint64_t *removed, wr_err *err) {
    *removed = 0;
    if (WR_UNLIKELY(m->tier != NULL)) return wr_kmap_tier_sweep(m, n, removed, err);
    for (uint32_t i = 0; i < n; i++) {
        m->sweep_at = wr_kmap_next(m, m->sweep_at);
        if (m->sweep_at == WR_SLOT_NONE) break;
        if (!m->opts.value_expired(m->opts.self, wr_kmap_peek(m, m->sweep_at))) continue;
        wr_kmap_remove(m, m->sweep_at);
        ++*removed;
    }
    return WR_OK;
}

int64_t wr_kmap_bytes(const wr_kmap *m) { return m->bytes + m->charged; }
void    wr_kmap_charge(wr_kmap *m, int64_t bytes) {
    m->charged += bytes;
    wr_kmap_tell(m);
}

double wr_kmap_entry_bytes(uint32_t value_bytes, double key_bytes) {
    shape  s = key_bytes <= 9 ? SHAPE_FIXED : SHAPE_BYTES; /* 1 byte of null bits + 8 */
    double bytes = value_offset(s) + ((value_bytes + 15) & ~15u);
    bytes += 8 / 0.45 + 1.0 / 8; /* the index is between 30 % and 60 % full */
    if (s == SHAPE_BYTES && key_bytes > INLINE + 5) bytes += key_bytes + MALLOC_EXTRA;
    return bytes;
}

double wr_kmap_map_bytes(double entry_bytes, double count, double expected) {
    const double index_share = 8 / 0.45 + 1.0 / 8;
    double       record = WR_MAX(entry_bytes - index_share, 16.0), cap = count > 0 ? 8 : 0, slots = count > 0 ? 4 : 0;
    while (cap > 0 && count * 5 > cap * 3) cap *= 2;
    if (expected > 0) slots = WR_MIN(expected, (double)CHUNK); /* the first chunk was made for so many */
    while (slots > 0 && slots < count && slots < CHUNK) slots = WR_MIN(slots * 4, (double)CHUNK);
    if (slots < count) slots = count + CHUNK / 2; /* the last chunk is half full, more or less */
    return (double)sizeof(wr_kmap) + slots * (record + 1.0 / 8) + cap * 8;
}

/* ---- checkpoint image ---- */

void wr_kmap_value_put(const wr_kmap *m, const void *value, wr_sbuf *out) {
    if (m->opts.value_save) m->opts.value_save(m->opts.self, value, out);
    else wr_sbuf_add(out, value, m->opts.value_bytes);
}
void wr_kmap_save_head(const wr_kmap *m, uint32_t version, wr_sbuf *out) {
    wr_put_bytes(out, m->opts.name, strlen(m->opts.name));
    wr_put_u32(out, version);
    wr_put_u32(out, m->opts.n_key_types);
}

wr_status wr_kmap_save(wr_kmap *m, wr_sbuf *out, wr_err *err) {
    if (m->opts.tier && wr_kmap_tier_wants_save(m)) return wr_kmap_tier_save(m, out, err);
    if (m->opts.tier) m->cut_epoch = wr_tier_epoch(m->opts.tier);
    wr_kmap_save_head(m, KMAP_INLINE, out);
    wr_put_u32(out, m->count);
    for (uint32_t s = wr_kmap_next(m, WR_SLOT_NONE); s != WR_SLOT_NONE; s = wr_kmap_next(m, s)) {
        wr_str key = wr_kmap_key(m, s);
        wr_put_u64(out, wr_kmap_hash(m, s));
        wr_put_bytes(out, key.ptr, key.len);
        size_t at = out->len;
        wr_put_u32(out, 0);
        wr_kmap_value_put(m, record(m, s) + m->value_at, out);
        wr_sbuf len = {0};
        wr_put_u32(&len, (uint32_t)(out->len - at - 4));
        memcpy(out->at + at, len.at, 4);
        wr_sbuf_free(&len);
    }
    return WR_OK;
}

bool wr_kmap_value_read(wr_kmap *m, void *value, wr_str bytes) {
    if (!m->opts.value_load) {
        if (bytes.len != m->opts.value_bytes) return false;
        if (bytes.len) memcpy(value, bytes.ptr, bytes.len);
        return true;
    }
    wr_reader in = {(const uint8_t *)bytes.ptr, (const uint8_t *)bytes.ptr + bytes.len, false};
    return m->opts.value_load(m->opts.self, value, &in) && !in.bad;
}

static wr_status load_inline(wr_kmap *m, wr_reader *in, uint32_t n_groups, uint32_t from, uint32_t to, wr_err *err) {
    for (uint32_t n = wr_get_u32(in); n && !in->bad; n--) {
        uint64_t hash = wr_get_u64(in);
        wr_str   key = wr_get_bytes(in), value = wr_get_bytes(in);
        if (in->bad) break;
        uint32_t group = wr_key_group(hash, n_groups), slot;
        if (group < from || group >= to) continue;
        bool created = false;
        WR_TRY(wr_kmap_find_one(m, key, hash, true, &slot, &created, err));
        in->bad = !created || !wr_kmap_value_read(m, wr_kmap_value(m, slot), value);
        if (!in->bad && m->opts.value_new) m->opts.value_new(m->opts.self, slot, wr_kmap_value(m, slot));
    }
    wr_kmap_tell(m);
    if (in->bad) return wr_fail(err, WR_CORRUPT, "WR400", "the image of state '%s' is damaged", m->opts.name);
    return WR_OK;
}

bool wr_kmap_is_marker(wr_reader in) {
    (void)wr_get_bytes(&in);
    return wr_get_u32(&in) == KMAP_MARKER && !in.bad;
}
uint64_t wr_kmap_unread_part(const wr_kmap *m, uint64_t total) {
    return m->of_image ? (uint64_t)((double)total * (double)m->unread / (double)m->of_image + 0.5) : 0;
}

wr_status wr_kmap_load(wr_kmap *m, wr_reader *in, uint32_t n_groups, uint32_t from, uint32_t to, wr_err *err) {
    wr_str   name = wr_get_bytes(in);
    uint32_t version = wr_get_u32(in), n_types = wr_get_u32(in);
    if (in->bad || !wr_str_eq(name, wr_str_of(m->opts.name)) || (version != KMAP_INLINE && version != KMAP_MARKER) || n_types != m->opts.n_key_types)
        return wr_fail(err, WR_CORRUPT, "WR400", "state '%s' does not match its image ('%.*s', version %u, %u key columns)", m->opts.name,
                       in->bad ? 0 : (int)WR_MIN(name.len, (size_t)64), in->bad ? "" : name.ptr, version, n_types);
    m->unread = m->of_image = 0;
    m->opts.n_groups = n_groups;
    if (!m->tier) m->opts.group_from = from, m->opts.group_to = to;
    return version == KMAP_MARKER ? wr_kmap_tier_load(m, in, from, to, err) : load_inline(m, in, n_groups, from, to, err);
}
