/* base/histogram.c: see histogram.h. Bucket b < STEPS holds the value b; the others hold an octave's values by their first STEP_BITS + 1 bits.  */
#include "base/histogram.h"
#include <math.h>

static uint32_t bucket_of(uint64_t v) {
    if (v < WR_HIST_STEPS) return (uint32_t)v;
    uint32_t shift = 63 - (uint32_t)__builtin_clzll(v) - WR_HIST_STEP_BITS;
    return (shift << WR_HIST_STEP_BITS) + (uint32_t)(v >> shift);
}

static uint64_t lowest(uint32_t bucket) {
    if (bucket < WR_HIST_STEPS) return bucket;
    uint32_t shift = (bucket >> WR_HIST_STEP_BITS) - 1;
    return (uint64_t)(bucket - (shift << WR_HIST_STEP_BITS)) << shift;
}

static uint64_t highest(uint32_t bucket) { return bucket + 1 < WR_HIST_BUCKETS ? lowest(bucket + 1) - 1 : WR_HIST_MAX; }

void wr_hist_add(wr_hist *h, uint64_t value, uint64_t times) {
    if (value > WR_HIST_MAX) value = WR_HIST_MAX;
    if (!times) return;
    h->n += times;
    h->sum += value * times;
    if (value > h->max) h->max = value;
    h->buckets[bucket_of(value)] += times;
}

void wr_hist_merge(wr_hist *into, const wr_hist *from) {
    into->n += from->n;
    into->sum += from->sum;
    if (from->max > into->max) into->max = from->max;
    for (uint32_t i = 0; i < WR_HIST_BUCKETS; i++) into->buckets[i] += from->buckets[i];
}

void wr_hist_since(const wr_hist *now, const wr_hist *before, wr_hist *out) {
    *out = *now;
    if (!before || !before->n) return;
    out->n -= before->n;
    out->sum -= before->sum;
    out->max = 0;
    for (uint32_t i = 0; i < WR_HIST_BUCKETS; i++) {
        out->buckets[i] -= before->buckets[i];
        if (out->buckets[i]) out->max = highest(i) < now->max ? highest(i) : now->max;
    }
}

uint64_t wr_hist_quantile(const wr_hist *h, double q) {
    if (!h->n) return 0;
    double   exact = ceil(q * (double)h->n);
    uint64_t rank = exact < 1 ? 1 : exact >= (double)h->n ? h->n : (uint64_t)exact, seen = 0;
    if (rank == h->n) return h->max;
    for (uint32_t i = 0; i < WR_HIST_BUCKETS; i++) {
        seen += h->buckets[i];
        if (seen < rank) continue;
        uint64_t middle = lowest(i) + (highest(i) - lowest(i)) / 2;
        return middle < h->max ? middle : h->max;
    }
    return h->max;
}

uint64_t wr_hist_count_up_to(const wr_hist *h, uint64_t value) {
    uint64_t n = 0;
    if (value >= h->max) return h->n;
    for (uint32_t i = 0, last = bucket_of(value); i <= last; i++) n += h->buckets[i];
    return n;
}
