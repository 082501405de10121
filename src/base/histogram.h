/* base/histogram.h: how often values of each size came, for percentiles: log-linear, in fixed memory. (contract)
 *
 * Idea       each power of two is cut into WR_HIST_STEPS buckets of equal width (as HdrHistogram does), so that a bucket is never wider than a fixed part of
 *            its values. Histograms of several workers, or of several times, are added and subtracted bucket by bucket.
 * Error      a quantile is within 1/64 (1.6 %) of the exact one, and exact below 32; values above WR_HIST_MAX count as that.
 * Cost       adding is a few instructions without a branch on data; about 10 KiB each.
 * Thread     none of its own.                                                                                                 */
#pragma once
#include "base/compiler.h"

enum { WR_HIST_STEP_BITS = 5, WR_HIST_STEPS = 1 << WR_HIST_STEP_BITS, WR_HIST_OCTAVES = 37, WR_HIST_BUCKETS = WR_HIST_STEPS * (WR_HIST_OCTAVES + 1) };
#define WR_HIST_MAX ((UINT64_C(1) << (WR_HIST_STEP_BITS + WR_HIST_OCTAVES)) - 1) /* in microseconds: 50 days */

typedef struct wr_hist { /* zero is empty */
    uint64_t n, sum, max;
    uint64_t buckets[WR_HIST_BUCKETS];
} wr_hist;
void     wr_hist_add(wr_hist *h, uint64_t value, uint64_t times);
void     wr_hist_merge(wr_hist *into, const wr_hist *from);
/* What came between two states of the same histogram; `before` may be NULL. max is the upper end of the greatest bucket that grew. */
void     wr_hist_since(const wr_hist *now, const wr_hist *before, wr_hist *out);
uint64_t wr_hist_quantile(const wr_hist *h, double q);           /* 0 < q <= 1: the least value that so large a share does not exceed; 0 when empty */
uint64_t wr_hist_count_up_to(const wr_hist *h, uint64_t value);  /* values <= that, to the bucket's width */
