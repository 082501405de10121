/* base/hash.h: the one hash of the engine (XXH3, seed fixed) and the one random generator.
 *
 * Idea       the key hash decides the key group, so it is part of every stored format: never change function or seed.
 * Source     xxHash (XXH3), splitmix64 finaliser, xoshiro256** (Blackman, Vigna).
 * Invariant  wr_hash_* are pure; golden values stand in hash_test.c.                                              */
#pragma once
#include "base/compiler.h"

uint64_t wr_hash_bytes(const void *bytes, size_t len);
typedef struct wr_hasher wr_hasher; /* the same, of bytes that come in pieces; zero pieces: the hash of nothing */
wr_hasher *wr_hasher_new(void);
void     wr_hasher_free(wr_hasher *hasher);  /* NULL is legal */
void     wr_hasher_reset(wr_hasher *hasher);
void     wr_hasher_add(wr_hasher *hasher, const void *bytes, size_t len);
uint64_t wr_hasher_sum(const wr_hasher *hasher);
WR_INLINE uint64_t wr_hash_u64(uint64_t x) { /* splitmix64 finaliser */
    x += 0x9E3779B97F4A7C15ull;
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ull;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBull;
    return x ^ (x >> 31);
}
WR_INLINE uint64_t wr_hash_mix(uint64_t a, uint64_t b) { /* order matters */
    return wr_hash_u64(a ^ (b + 0x9E3779B97F4A7C15ull + (a << 6) + (a >> 2)));
}
#define WR_HASH_NULL 0x6E756C6C6E756C6Cull /* what a NULL contributes */

typedef struct wr_rng { uint64_t s[4]; } wr_rng;
void     wr_rng_seed(wr_rng *rng, uint64_t seed);
uint64_t wr_rng_next(wr_rng *rng);
uint64_t wr_rng_below(wr_rng *rng, uint64_t n); /* uniform in [0, n), n > 0; unbiased */
double   wr_rng_unit(wr_rng *rng);              /* [0, 1) */
