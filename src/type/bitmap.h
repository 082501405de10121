/* type/bitmap.h: sets of 32-bit numbers: values of the type BITMAP, and what the BITMAP_* aggregates keep.
 *
 * Idea       Roaring: numbers are split by their upper 16 bits into boxes, each a sorted array of at most 4,096 lower halves, or 65,536 bits.
 *            A value of type BITMAP is the portable Roaring format (github.com/RoaringBitmap/RoaringFormatSpec), boxes as runs where that
 *            is shorter, so equal sets have equal bytes.
 * Invariant  boxes ascend by key, none is empty, arrays have at most 4,096 values and bits more; a zeroed struct is the empty set.
 * Memory     malloc through base/mem.h; `bytes` says how much, the owner charges it. One thread.                          */
#pragma once
#include "base/mem.h"
#include "base/str.h"

typedef struct wr_bitmap_box {
    uint16_t  key;
    bool      bits;
    uint32_t  n, cap;   /* values; room in an array */
    void     *data;     /* uint16_t[cap], or uint64_t[1024] */
} wr_bitmap_box;
typedef struct wr_bitmap {
    uint32_t       n, cap;
    int64_t        bytes;
    wr_bitmap_box *box;
} wr_bitmap;
typedef enum wr_bitmap_op { WR_BITMAP_AND, WR_BITMAP_OR, WR_BITMAP_XOR, WR_BITMAP_ANDNOT } wr_bitmap_op;

void     wr_bitmap_clear(wr_bitmap *b);                     /* frees all: the empty set again */
void     wr_bitmap_add(wr_bitmap *b, uint32_t value);
void     wr_bitmap_apply(wr_bitmap *into, wr_bitmap_op op, const wr_bitmap *other);
uint64_t wr_bitmap_count(const wr_bitmap *b);
void     wr_bitmap_values(const wr_bitmap *b, uint32_t *out); /* all, ascending */
void     wr_bitmap_put(const wr_bitmap *b, wr_sbuf *out);   /* appends the bytes of the value */
bool     wr_bitmap_get(wr_bitmap *b, wr_str bytes);         /* into an empty set, run containers too; false: these are no bitmap, and it is empty */
void     wr_bitmap_text(const wr_bitmap *b, wr_sbuf *out);  /* {1,5} */
