/* state/hll.c: HyperLogLog of state.h.
 *
 * Idea       the top 12 bits of the hash choose a register, which keeps the greatest rank (leading zeros + 1) of the rest; the harmonic mean
 *            of 2^rank estimates the count; below 2.5 m with empty registers, linear counting is better.
 * Source     Flajolet et al. 2007; 64-bit hashes as Heule et al. 2013, so no large-range correction.                       */
#include "state/state.h"
#include <math.h>

enum { BITS = 12, M = 1 << BITS };

void wr_hll_add(wr_hll *h, uint64_t hash) {
    uint32_t at = (uint32_t)(hash >> (64 - BITS));
    uint64_t rest = hash << BITS | UINT64_C(1) << (BITS - 1); /* the sentinel bounds the rank */
    uint8_t  rank = (uint8_t)(__builtin_clzll(rest) + 1);
    if (rank > h->reg[at]) h->reg[at] = rank;
}
void wr_hll_merge(wr_hll *into, const wr_hll *from) {
    for (uint32_t i = 0; i < M; i++) into->reg[i] = WR_MAX(into->reg[i], from->reg[i]);
}
double wr_hll_count(const wr_hll *h) {
    double   sum = 0;
    uint32_t empty = 0;
    for (uint32_t i = 0; i < M; i++) sum += ldexp(1.0, -(int)h->reg[i]), empty += !h->reg[i];
    double raw = 0.7213 / (1 + 1.079 / M) * M * (double)M / sum;
    if (raw <= 2.5 * M && empty) return M * log((double)M / empty);
    return raw;
}
