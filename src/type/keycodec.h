/* type/keycodec.h: values as bytes that sort as the values do, so that an ordered index compares with memcmp.
 *
 * Idea       [0 for NULL, else 1][value]: integers big-endian with the sign bit turned round, floats by their bits likewise (-0 as 0, one NaN, greatest), text with 0 as 0 255 and
 *            ended by 0 1, lists element by element. The encodings of several columns one behind the other sort like the columns; the beginning of a key is
 *            the key of its first columns.
 * Invariant  memcmp order is that of wr_vec_compare; equal values have equal bytes. MAP and MULTISET have some order.  Thread: any.                      */
#pragma once
#include "type/batch.h"

void wr_keycodec_put(const wr_vec *vec, uint32_t row, wr_sbuf *out);
/* The least bytes behind everything that begins with these, in place; false: there are none. */
bool wr_keycodec_behind(wr_sbuf *key);
