/* op/op_util.h: small things that several operators of this folder need: output batches by column, saving headers. Private to op/.
 *
 * Idea       an operator fills plain columns of a new batch and hands it on; a batch with more live rows than ctx->batch_rows is cut by
 *            selection vectors over the same columns, so batch size never changes what is computed.
 * Thread     one worker.                                                                                                */
#pragma once
#include "op/op.h"

/* Emits `batch` (takes it) in pieces of at most batch_rows live rows; a -U stays with its +U where batch_rows allows. Empty: freed. */
wr_status wr_op_emit_cut(wr_op_ctx *ctx, wr_out *out, wr_batch *batch, wr_err *err);
/* The hash of the key columns: the exchange's, or computed into room for WR_BATCH_MAX. */
const uint64_t *wr_op_hash(const wr_batch *batch, const uint32_t *keys, uint32_t n_keys, uint64_t *room);
/* Headers of images: a tag and a version, checked on load. */
void      wr_op_save_head(wr_sbuf *out, const char *tag, uint32_t version);
wr_status wr_op_load_head(wr_reader *in, const char *tag, uint32_t version, wr_err *err);
wr_status wr_op_damaged(const char *tag, wr_err *err);
/* Key column types and all column types of a schema, in the arena. */
wr_type  *wr_op_key_types(wr_arena *arena, const wr_schema *schema, const uint32_t *keys, uint32_t n_keys);
wr_type  *wr_op_types(wr_arena *arena, const wr_schema *schema);
/* A map of the operator, with the tier of its context; `name` stands for the operator where it has no id. */
wr_kmap  *wr_op_map_new(const wr_kmap_opts *opts, const wr_op_ctx *ctx, const char *name, wr_spill spill);
/* Adds what a map has in the tier. */
void      wr_op_map_usage(const wr_kmap *map, wr_op_usage *out);
/* Behind the image of a map whose entries may stay unread: how many rows they hold, for the bill. Older images have none. */
void      wr_op_save_rows(wr_sbuf *out, int64_t n_rows);
int64_t   wr_op_load_rows(const wr_kmap *map, wr_reader *in);
/* vt->limit of an operator with one map. */
wr_status wr_op_limit_map(wr_kmap *map, int64_t bytes, wr_err *err);
uint32_t *wr_op_copy_cols(wr_arena *arena, const uint32_t *cols, uint32_t n);
WR_COLD wr_status wr_op_null_time(wr_err *err);
/* Event time of a row in microseconds; WR_DATA if it is NULL. */
WR_INLINE wr_status wr_op_row_time(const wr_vec *vec, uint32_t row, int64_t *us, wr_err *err) {
    if (WR_UNLIKELY(wr_vec_is_null(vec, row))) return wr_op_null_time(err);
    int64_t ticks = ((const int64_t *)vec->data)[row];
    *us = WR_UNLIKELY(vec->type.prec > 6) ? wr_floor_div(ticks, 1000) : ticks;
    return WR_OK;
}
