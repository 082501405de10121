/* state/kmap_internal.h: what kmap.c (memory) and kmap_tier.c (entries in the tier) share. Private to state/. See kmap.c. */
#pragma once
#include "base/hash.h"
#include "state/state.h"

enum { CHUNK_LOG2 = 10, CHUNK = 1 << CHUNK_LOG2, BLOCK = 64, INLINE = 20, MALLOC_EXTRA = 16, PREFETCH_FROM = 2048, SLAB_BYTES = 2 << 20, SLABS_FROM = 4 };
typedef enum shape { SHAPE_GLOBAL, SHAPE_FIXED, SHAPE_STRING, SHAPE_BYTES } shape;

typedef struct kmap_marks { /* of 64 slots */
    uint64_t dirty;   /* the tier does not have it, or not as it is */
    uint64_t stored;  /* the tier, or what is staged for it, has some version of it */
    uint64_t touched; /* found since the clock passed last */
    uint64_t cold;    /* WR_SPILL_VALUE: the value is in the tier only */
    uint64_t staged;  /* its last version is in the image that is being made: not readable from the tier yet */
    uint64_t owed;    /* of those: not even in a batch yet; what is in memory is the version of the image */
} kmap_marks;
typedef struct kmap_tier { /* of an attached map */
    uint16_t       table;
    char          *table_name;
    bool           wrote;        /* the tier may have something of this map */
    bool           ranged;       /* the batch deletes all that the tier has of it; nothing there counts */
    bool           has_staged;   /* some staged bits may be set */
    bool           owes;         /* some owed bits may be set, or the batch `paid` waits */
    uint32_t       owed_at;      /* word of marks: none before it are owed */
    wr_tier_batch *paid;         /* entries of the image on their way to wr_tier_stage */
    uint32_t       open_scans, hand, patience;
    wr_tier_batch *batch;        /* what is not written yet; reads look through it */
    kmap_marks    *marks;
    uint32_t       n_words;
    uint64_t      *group_count;  /* all entries of each group from opts.group_from on */
    uint64_t       n_away;       /* ENTRY: in the tier only; VALUE: cold */
    uint64_t       loads, evictions, asked, read_ns, write_ns;
    wr_sbuf        keys, found, one, value; /* scratch */
    wr_sbuf        sweep_key;    /* of the tier's entry that a sweep looked at last; empty: the sweep is in memory */
    WR_ARR(uint32_t) cold;       /* scratch: slots to be warmed */
} kmap_tier;

struct wr_kmap {
    wr_kmap_opts opts;
    shape        shape;
    wr_storage   storage;          /* SHAPE_FIXED */
    uint32_t     value_at, stride; /* of a record */
    uint64_t    *index;
    uint32_t     cap, count;       /* cap: index entries, power of two; count: live records with null_slot */
    char       **chunks;
    uint32_t     n_chunks, first_cap; /* slots in chunk 0, which grows; the others hold CHUNK */
    uint32_t     slab_chunks;      /* chunks to SLAB_BYTES: after SLABS_FROM times so many they are allocated together (huge pages) */
    uint32_t     n_slots, free_head, null_slot;
    uint64_t    *live;             /* bitmap over slots */
    uint32_t     live_words;
    int64_t      bytes, charged, told;
    wr_arena    *arena;
    wr_type     *types;
    const wr_rowcodec *codec;
    wr_sbuf      scratch;          /* an encoded key */
    wr_sbuf      block;            /* the encoded keys of one block */
    int64_t      limit;            /* wr_kmap_limit */
    uint32_t     sweep_at;         /* the slot that wr_kmap_sweep looked at last */
    bool         watched;          /* attached or limited: finds take the slow way */
    uint64_t     cut_epoch;        /* barriers of epochs up to this one have passed this map: no writes to the tier until their image is made */
    kmap_tier   *tier;             /* attached */
    uint64_t     unread, of_image; /* entries of the image loaded last: left in the tier, all of its */
};

typedef struct one_key { /* the raw form of a key */
    bool        null;
    uint64_t    fixed;
    const char *ptr;
    uint32_t    len;
} one_key;

typedef struct fixed_rec { uint64_t hash, key; } fixed_rec;
typedef struct bytes_rec {
    uint64_t hash;
    uint32_t len;
    char     first[4]; /* inline: 4 + 16 bytes from here */
    union { char rest[16]; char *ptr; };
} bytes_rec;
_Static_assert(sizeof(fixed_rec) == 16 && sizeof(bytes_rec) == 32, "record headers");

/* Is chunk c part of the allocation that an earlier one began? */
WR_INLINE bool chunk_in_slab(const wr_kmap *m, uint32_t c) { return c >= SLABS_FROM * m->slab_chunks && c % m->slab_chunks; }
WR_INLINE char *record(const wr_kmap *m, uint32_t slot) { return m->chunks[slot >> CHUNK_LOG2] + (size_t)(slot & (CHUNK - 1)) * m->stride; }
WR_INLINE const char *bytes_of(const bytes_rec *r) { return r->len <= INLINE ? (const char *)r + 12 : r->ptr; }
WR_INLINE bool is_live(const wr_kmap *m, uint32_t slot) { return m->live[slot >> 6] >> (slot & 63) & 1; }
WR_INLINE one_key raw_of_slot(const wr_kmap *m, uint32_t slot) {
    const char *r = record(m, slot);
    if (slot == m->null_slot) return (one_key){.null = true};
    if (m->shape == SHAPE_FIXED) return (one_key){.fixed = ((const fixed_rec *)r)->key};
    return (one_key){.ptr = bytes_of((const bytes_rec *)r), .len = ((const bytes_rec *)r)->len};
}

/* ---- kmap.c: memory only ---- */
void     wr_kmap_tell(wr_kmap *m);                                               /* the account */
uint32_t wr_kmap_mem_find(const wr_kmap *m, uint64_t hash, const one_key *k);
uint32_t wr_kmap_mem_create(wr_kmap *m, uint64_t hash, const one_key *k);
void     wr_kmap_mem_find_batch(wr_kmap *m, const wr_batch *batch, const uint32_t *key_cols, const uint64_t *hash, bool create, uint32_t *slots,
                                uint8_t *created);
void     wr_kmap_mem_release(wr_kmap *m, uint32_t slot);                         /* without its value */
void     wr_kmap_mem_compact(wr_kmap *m);                                        /* new slot numbers */
void     wr_kmap_key_put(const wr_kmap *m, const one_key *k, wr_sbuf *out);      /* as the row codec does */
bool     wr_kmap_key_parse(const wr_kmap *m, wr_str encoded, one_key *k);        /* points into encoded; false: damaged */
void     wr_kmap_row_key_put(wr_kmap *m, const wr_batch *batch, const uint32_t *key_cols, uint32_t row, wr_sbuf *out);
void     wr_kmap_value_put(const wr_kmap *m, const void *value, wr_sbuf *out);
bool     wr_kmap_value_read(wr_kmap *m, void *value, wr_str bytes);
void     wr_kmap_save_head(const wr_kmap *m, uint32_t version, wr_sbuf *out);
enum { KMAP_INLINE = 1, KMAP_MARKER = 2 }; /* versions of an image */

/* ---- kmap_tier.c: of maps that are watched ---- */
void      wr_kmap_tier_grow(wr_kmap *m);                                         /* there are more live words */
void      wr_kmap_tier_created(wr_kmap *m, uint32_t slot, uint64_t hash);
void      wr_kmap_tier_removed(wr_kmap *m, uint32_t slot);                       /* before it goes */
void      wr_kmap_tier_pay_for(wr_kmap *m, uint32_t slot);                       /* it is owed, and about to change */
void      wr_kmap_tier_pay_all(wr_kmap *m);                                      /* before all goes */
void      wr_kmap_tier_cleared(wr_kmap *m);                                      /* all entries are gone from memory */
void      wr_kmap_tier_moved(wr_kmap *m, const kmap_marks *old, uint32_t from, uint32_t to); /* compaction: bits of one slot */
void      wr_kmap_tier_detach(wr_kmap *m);                                       /* frees; the tier keeps what it has */
wr_status wr_kmap_tier_find_batch(wr_kmap *m, const wr_batch *batch, const uint32_t *key_cols, const uint64_t *hash, bool create, uint32_t *slots,
                                  uint8_t *created, wr_err *err);
wr_status wr_kmap_tier_find(wr_kmap *m, uint64_t hash, const one_key *k, bool create, uint32_t *out, bool *created, wr_err *err);
bool      wr_kmap_tier_wants_save(wr_kmap *m);                                   /* incrementally */
wr_status wr_kmap_tier_save(wr_kmap *m, wr_sbuf *out, wr_err *err);
wr_status wr_kmap_tier_load(wr_kmap *m, wr_reader *in, uint32_t from, uint32_t to, wr_err *err);
wr_status wr_kmap_tier_scan(wr_kmap *m, wr_kmap_cursor *cursor, uint32_t *slots, uint32_t max, uint32_t *n, wr_err *err);
wr_status wr_kmap_tier_sweep(wr_kmap *m, uint32_t n, uint64_t *removed, wr_err *err);
