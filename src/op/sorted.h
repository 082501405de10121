/* op/sorted.h: an ordered list of fixed-size elements: what is exact under deletion (multisets of MIN/MAX, values by arrival, Top-N rows).
 *
 * Idea       two levels: an array of chunks, each a sorted array of at most 128 elements. Search is binary at both levels; an insertion moves at
 *            most a chunk, and a chunk that is full splits. A small list is one small array, so a million groups of three values stay cheap.
 * Invariant  no chunk is empty; elements ascend by the caller's comparison. Positions live until the next insert or remove.
 * Thread     owned by one worker. Memory: `bytes` says what it holds; the caller charges it.                                */
#pragma once
#include "base/mem.h"

typedef struct wr_sorted_chunk wr_sorted_chunk;
typedef struct wr_sorted {
    uint32_t          elem_bytes, n_chunks, cap_chunks;
    uint64_t          count;
    int64_t           bytes;
    wr_sorted_chunk **chunks;
} wr_sorted;
typedef struct wr_pos { uint32_t chunk, at; } wr_pos;
typedef int (*wr_sorted_cmp)(const void *self, const void *a, const void *b);

wr_sorted *wr_sorted_new(uint32_t elem_bytes);
void       wr_sorted_free(wr_sorted *s); /* NULL is legal; what elements own is the caller's */
/* First position whose element is not less than key; *equal: it compares equal. */
wr_pos     wr_sorted_seek(const wr_sorted *s, const void *key, wr_sorted_cmp cmp, const void *self, bool *equal);
wr_pos     wr_sorted_first(void);
wr_pos     wr_sorted_last(const wr_sorted *s);  /* of a list that is not empty */
void      *wr_sorted_at(const wr_sorted *s, wr_pos pos); /* NULL at the end */
wr_pos     wr_sorted_next(const wr_sorted *s, wr_pos pos);
bool       wr_sorted_prev(const wr_sorted *s, wr_pos *pos); /* false at the first */
uint64_t   wr_sorted_index(const wr_sorted *s, wr_pos pos);
wr_pos     wr_sorted_nth(const wr_sorted *s, uint64_t index); /* end position if there are fewer */
wr_pos     wr_sorted_insert(wr_sorted *s, wr_pos before, const void *elem); /* returns where it went */
wr_pos     wr_sorted_remove(wr_sorted *s, wr_pos pos); /* returns the position of the element after it */
