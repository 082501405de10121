/* format/proto.h: what the formats share whose values are protobuf. Private to format/.                                    */
#pragma once
#include "format/proto_plan.h"

typedef struct proto_batch { /* rows being decoded out of a chunk */
    const wr_decoder_opts *opts;
    wr_mem                *mem;
    wr_decoded            *out;
    wr_batch              *batch;
    uint32_t               n, capacity;
} proto_batch;
void proto_batch_open(proto_batch *b, const wr_decoder_opts *opts, wr_mem *mem, uint32_t n_records, wr_decoded *out);
/* A message as a row, or as a bad record whose bytes are `raw`. */
void proto_batch_add(proto_batch *b, pb_row *row, bool ignore_errors, wr_str message, wr_str raw, uint64_t line, uint64_t offset);
void proto_batch_close(proto_batch *b);
