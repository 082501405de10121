/* base/hash.c: see hash.h. */
#include "base/hash.h"
#define XXH_INLINE_ALL
#include "base/mem.h"
#include <xxhash.h>

uint64_t wr_hash_bytes(const void *bytes, size_t len) { return XXH3_64bits(bytes, len); }

struct wr_hasher { XXH3_state_t state; };
wr_hasher *wr_hasher_new(void) {
    wr_hasher *h = wr_aligned_alloc(64, sizeof *h); /* XXH3_state_t asks for 64 */
    XXH3_64bits_reset(&h->state);
    return h;
}
void     wr_hasher_free(wr_hasher *h) { wr_free(h); }
void     wr_hasher_reset(wr_hasher *h) { XXH3_64bits_reset(&h->state); }
void     wr_hasher_add(wr_hasher *h, const void *bytes, size_t len) { XXH3_64bits_update(&h->state, bytes, len); }
uint64_t wr_hasher_sum(const wr_hasher *h) { return XXH3_64bits_digest(&h->state); }

void wr_rng_seed(wr_rng *rng, uint64_t seed) {
    for (int i = 0; i < 4; i++) rng->s[i] = wr_hash_u64(seed + (uint64_t)i * UINT64_C(0x9E3779B97F4A7C15));
}

static inline uint64_t rotl(uint64_t x, int k) { return x << k | x >> (64 - k); }

uint64_t wr_rng_next(wr_rng *rng) {
    uint64_t *s = rng->s, result = rotl(s[1] * 5, 7) * 9, t = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = rotl(s[3], 45);
    return result;
}

uint64_t wr_rng_below(wr_rng *rng, uint64_t n) { /* Lemire's multiply-shift with rejection */
    wr_assert(n > 0);
    wr_u128  m = (wr_u128)wr_rng_next(rng) * n;
    uint64_t low = (uint64_t)m;
    if (low < n) {
        uint64_t floor = -n % n;
        while (low < floor) m = (wr_u128)wr_rng_next(rng) * n, low = (uint64_t)m;
    }
    return (uint64_t)(m >> 64);
}

double wr_rng_unit(wr_rng *rng) { return (double)(wr_rng_next(rng) >> 11) * 0x1.0p-53; }
