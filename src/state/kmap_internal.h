/* state/kmap_internal.h: what kmap.c (memory) and kmap_tier.c (entries in the tier) share. Private to state/. See kmap.c. */
#pragma once
#include "base/hash.h"
#include "state/state.h"

enum { CHUNK_LOG2 = 10, CHUNK = 1 << CHUNK_LOG2, BLOCK = 64, INLINE = 20, MALLOC_EXTRA = 16, PREFETCH_FROM = 2048 };
typedef enum shape { SHAPE_GLOBAL, SHAPE_FIXED, SHAPE_STRING, SHAPE_BYTES } shape;

struct wr_kmap {
    wr_kmap_opts opts;
    shape        shape;
    wr_storage   storage;          /* SHAPE_FIXED */
    uint32_t     value_at, stride; /* of a record */
    uint64_t    *index;
    uint32_t     cap, count;       /* cap: index entries, power of two; count: live records with null_slot */
    char       **chunks;
    uint32_t     n_chunks, first_cap; /* slots in chunk 0, which grows; the others hold CHUNK */
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
};

typedef struct fixed_rec { uint64_t hash, key; } fixed_rec;
typedef struct bytes_rec {
    uint64_t hash;
    uint32_t len;
    char     first[4]; /* inline: 4 + 16 bytes from here */
    union { char rest[16]; char *ptr; };
} bytes_rec;
_Static_assert(sizeof(fixed_rec) == 16 && sizeof(bytes_rec) == 32, "record headers");

WR_INLINE char *record(const wr_kmap *m, uint32_t slot) { return m->chunks[slot >> CHUNK_LOG2] + (size_t)(slot & (CHUNK - 1)) * m->stride; }
WR_INLINE const char *bytes_of(const bytes_rec *r) { return r->len <= INLINE ? (const char *)r + 12 : r->ptr; }
WR_INLINE bool is_live(const wr_kmap *m, uint32_t slot) { return m->live[slot >> 6] >> (slot & 63) & 1; }
