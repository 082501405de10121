/* type/arrow.h: batches in and out through the Arrow C data interface. (contract)
 *
 * Idea       export hands out fixed-width buffers without a copy (the ArrowArray keeps the batch alive until released); BOOLEAN is
 *            packed to bits and strings become offsets + bytes, which copies. Kinds, if any, become a last int8 column "$kind".
 * Source     the Arrow C data interface specification (the two struct layouts below are its ABI).                      */
#pragma once
#include "type/batch.h"

#ifndef ARROW_C_DATA_INTERFACE
#define ARROW_C_DATA_INTERFACE
struct ArrowSchema {
    const char *format, *name, *metadata;
    int64_t flags, n_children;
    struct ArrowSchema **children, *dictionary;
    void (*release)(struct ArrowSchema *);
    void *private_data;
};
struct ArrowArray {
    int64_t length, null_count, offset, n_buffers, n_children;
    const void **buffers;
    struct ArrowArray **children, *dictionary;
    void (*release)(struct ArrowArray *);
    void *private_data;
};
#endif
void      wr_arrow_export_schema(const wr_schema *schema, bool with_kinds, struct ArrowSchema *out);
void      wr_arrow_export(wr_batch *batch, const wr_schema *schema, bool with_kinds, struct ArrowArray *out); /* (borrows) batch, takes its own reference */
/* Imports a struct array of the schema's columns (same order); copies. WR_USER if formats do not agree. */
wr_status wr_arrow_import(const struct ArrowSchema *in_schema, const struct ArrowArray *in, const wr_schema *schema, wr_batch **out, wr_err *err);
