/* op/join_set.h: a multiset of stored rows of one key and side, found by value: state of the regular join.
 *
 * Idea       a plain array of (row, hash of its bytes), each distinct row once with its number of copies; above 16 rows an index of places
 *            (open addressing, backward shift). Removing moves the last entry into the gap.
 * Memory     the operator's heap. Thread: one worker.                                                                      */
#pragma once
#include "op/join_common.h"

typedef struct wr_join_set_ent {
    wr_join_row *row;
    uint32_t     hash, unused;
} wr_join_set_ent;
typedef struct wr_join_set {
    wr_join_set_ent *at;
    uint32_t        *index; /* place + 1, 0 = free */
    uint32_t         n, cap, index_cap, n_armed;
} wr_join_set;
WR_INLINE uint32_t wr_join_set_hash(wr_str bytes) { return (uint32_t)wr_hash_bytes(bytes.ptr, bytes.len); }
wr_join_row *wr_join_set_find(const wr_join_set *set, wr_str bytes, uint32_t hash);
void         wr_join_set_add(wr_join_heap *heap, wr_join_set *set, wr_join_row *row, uint32_t hash); /* not yet in it */
void         wr_join_set_remove(wr_join_heap *heap, wr_join_set *set, wr_join_row *row, uint32_t hash); /* forgets it; the row is the caller's */
void         wr_join_set_clear(wr_join_heap *heap, wr_join_set *set);                                 /* frees the rows */
