/* type/rowcodec.h: one row (or some of its columns) as compact bytes, for keyed state, join buffers and checkpoints. (contract)
 *
 * Idea       encode: [null bits][fixed values little-endian][strings: u32 length + bytes][nested: recursive]. Two rows of equal
 *            values (as wr_vec_equal) have equal bytes (floats are normalised: one NaN, +0.0), so bytes serve as a hash-table key.
 * Invariant  decode(encode(row)) == row. The format is part of every checkpoint: change it only with a version.          */
#pragma once
#include "type/batch.h"

typedef struct wr_rowcodec wr_rowcodec; /* the plan for a list of column types; read-only after creation */
wr_rowcodec *wr_rowcodec_new(wr_arena *arena, const wr_type *types, uint32_t n);
/* Appends the encoding of batch columns cols[0..n-1] (cols NULL = 0..n-1) at a physical row. */
void wr_rowcodec_put(const wr_rowcodec *codec, const wr_batch *batch, const uint32_t *cols, uint32_t row, wr_sbuf *out);
/* Decodes one row into rows `row` of dst[0..n-1] (allocated); long strings are copied into mem. False if the bytes are damaged. */
bool wr_rowcodec_get(const wr_rowcodec *codec, wr_str bytes, wr_vec *dst, uint32_t row, wr_mem *mem);
bool wr_rowcodec_is_null(const wr_rowcodec *codec, wr_str row, uint32_t col); /* of an encoded row */
/* Order of two encoded rows on column `col`, as wr_vec_compare. */
int  wr_rowcodec_compare(const wr_rowcodec *codec, wr_str a, wr_str b, uint32_t col);
