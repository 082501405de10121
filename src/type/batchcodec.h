/* type/batchcodec.h: a whole batch as bytes and back, for rows that are between two operators when a checkpoint is taken.
 *
 * Idea       column by column: null bits, then the values of the live rows one after the other. Other than in rowcodec.h nothing is normalised: a row
 *            comes back bit for bit (-0.0 stays -0.0), with its kind and its late mark. The key hash is not kept: it is computed again.
 * Invariant  the same live rows give the same bytes. The format is part of checkpoints: change it only with a version.          */
#pragma once
#include "type/batch.h"

void      wr_batch_put(const wr_batch *batch, wr_sbuf *out);
/* A batch of these columns, dense; NULL if the bytes are damaged. */
wr_batch *wr_batch_get(const wr_schema *schema, wr_reader *in);
