/* op/kept.h: what was computed once for an input row, kept until the row is taken back. Private to op/.
 *
 * Idea       values that would come out differently the second time (a look-up, RAND, NOW) cannot be computed again when their row is retracted: the
 *            first ones are kept by the whole input row. Equal rows share one entry with a count, and its values.
 * Key group  the upper half of an entry's hash is that of the exchange's key, so that groups move as everywhere; the lower half is of the row.
 * Memory     one entry a distinct row that is there; bytes charge the operator's account and spill to the tier.
 * Thread     one worker.                                                                                                */
#pragma once
#include "op/op_util.h"

typedef struct wr_kept_value { uint32_t count, len; char *bytes; } wr_kept_value; /* count: rows that are there; bytes: the operator's */
typedef struct wr_kept {
    wr_kmap     *map;
    wr_arena    *arena;
    wr_rowcodec *codec;  /* of the whole row */
    wr_sbuf      key;
    uint32_t     n_cols;
} wr_kept;
void      wr_kept_init(wr_kept *k, const wr_schema *input, wr_op_ctx *ctx, const char *name);
void      wr_kept_free(wr_kept *k);
/* The entry of a row; *slot WR_SLOT_NONE: there is none. Valid until the next find. group_hash: of the exchange's key. */
wr_status wr_kept_find(wr_kept *k, const wr_batch *batch, uint32_t row, uint64_t group_hash, bool create, uint32_t *slot, wr_kept_value **value, wr_err *err);
void      wr_kept_set(wr_kept *k, wr_kept_value *value, wr_str bytes);
void      wr_kept_usage(const wr_kept *k, wr_op_usage *out);
