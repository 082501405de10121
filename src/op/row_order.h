/* op/row_order.h: rows as bytes that compare with memcmp, for Top-N and sorting. Private to op/.
 *
 * Idea       each sort column becomes a marker (NULL below or above by nulls_last, whatever the direction) and big-endian bytes with the
 *            sign flipped, inverted for DESC; text is escaped and ended by two zeros, so that a prefix sorts first. One NaN, greatest; -0.0 = 0.0.
 * Thread     pure.                                                                                                      */
#pragma once
#include "op/op.h"

void wr_row_order_put(const wr_sort_key *keys, uint32_t n, const wr_batch *batch, uint32_t row, wr_sbuf *out);
WR_INLINE int wr_row_order_compare(const char *a, uint32_t a_len, const char *b, uint32_t b_len) {
    int order = memcmp(a, b, WR_MIN(a_len, b_len));
    return order ? order : (a_len > b_len) - (a_len < b_len);
}
