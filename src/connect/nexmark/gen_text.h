/* connect/nexmark/gen_text.h: what both event generators write JSON lines with.
 *
 * Idea       a row is written through a bare pointer into room that was reserved once for the longest possible row; integers,
 *            cents, micro-degrees and timestamps are formatted by hand, because printf would cost more than the event itself.
 * Invariant  every put_* writes at the pointer it is given and returns the first byte after it; none of them checks room.
 * Thread     pure functions; wr_gen_rng is a plain value.                                                             */
#pragma once
#include "base/hash.h"
#include "base/str.h"
#include <string.h>

/* splitmix64: the state is a counter, so a stream can start anywhere from (seed, index) at no cost. */
typedef struct wr_gen_rng { uint64_t s; } wr_gen_rng;
WR_INLINE wr_gen_rng gen_rng_at(uint64_t seed, uint64_t index) { return (wr_gen_rng){wr_hash_mix(seed, index)}; }
WR_INLINE uint64_t gen_next(wr_gen_rng *rng) {
    uint64_t out = wr_hash_u64(rng->s);
    rng->s += 0x9E3779B97F4A7C15ull;
    return out;
}
/* [0, n); multiply-shift, whose bias (n / 2^64) nobody can measure. n > 0. */
WR_INLINE uint64_t gen_below(wr_gen_rng *rng, uint64_t n) { return (uint64_t)(((wr_u128)gen_next(rng) * n) >> 64); }
WR_INLINE int64_t  gen_between(wr_gen_rng *rng, int64_t low, int64_t high) { /* both ends included */
    return low + (int64_t)gen_below(rng, (uint64_t)(high - low) + 1);
}
WR_INLINE bool gen_chance(wr_gen_rng *rng, uint32_t per_million) { return gen_below(rng, 1000000) < per_million; }

WR_INLINE char *put_bytes(char *p, const char *at, size_t len) { memcpy(p, at, len); return p + len; }
#define put_lit(p, lit) put_bytes((p), (lit), sizeof(lit) - 1)
WR_INLINE char *put_str(char *p, wr_str s) { return put_bytes(p, s.ptr, s.len); }

WR_INLINE char *put_2(char *p, uint32_t v) {
    p[0] = (char)('0' + v / 10);
    p[1] = (char)('0' + v % 10);
    return p + 2;
}
WR_INLINE char *put_u64(char *p, uint64_t v) {
    char     tmp[20];
    unsigned n = 20;
    do {
        tmp[--n] = (char)('0' + v % 10);
        v /= 10;
    } while (v);
    return put_bytes(p, tmp + n, 20 - n);
}
/* v in units of 10^-digits as a decimal number: put_fixed(p, 1205, 2) writes 12.05 */
WR_INLINE char *put_fixed(char *p, int64_t v, unsigned digits) {
    uint64_t u = v < 0 ? 0 - (uint64_t)v : (uint64_t)v, unit = 1;
    for (unsigned i = 0; i < digits; i++) unit *= 10;
    if (v < 0) *p++ = '-';
    p = put_u64(p, u / unit);
    *p++ = '.';
    for (uint64_t rest = u % unit, at = unit / 10; at; at /= 10) *p++ = (char)('0' + rest / at % 10);
    return p;
}
/* 'yyyy-MM-dd HH:mm:ss.SSS', quoted. Days to civil date by the 400-year cycle that starts on 1 March of year 0. */
WR_INLINE char *put_timestamp(char *p, int64_t ms) {
    int64_t  day = ms / 86400000 - (ms % 86400000 < 0);
    uint32_t in_day = (uint32_t)(ms - day * 86400000);
    int64_t  z = day + 719468, era = (z >= 0 ? z : z - 146096) / 146097;
    uint32_t doe = (uint32_t)(z - era * 146097);
    uint32_t yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365;
    uint32_t doy = doe - (365 * yoe + yoe / 4 - yoe / 100), mp = (5 * doy + 2) / 153;
    uint32_t d = doy - (153 * mp + 2) / 5 + 1, m = mp < 10 ? mp + 3 : mp - 9;
    uint32_t y = (uint32_t)((int64_t)yoe + era * 400 + (m <= 2)), s = in_day / 1000, f = in_day % 1000;
    *p++ = '"';
    p = put_2(put_2(p, y / 100), y % 100);
    *p++ = '-';
    p = put_2(p, m);
    *p++ = '-';
    p = put_2(p, d);
    *p++ = ' ';
    p = put_2(p, s / 3600);
    *p++ = ':';
    p = put_2(p, s / 60 % 60);
    *p++ = ':';
    p = put_2(p, s % 60);
    *p++ = '.';
    *p++ = (char)('0' + f / 100);
    p = put_2(p, f % 100);
    *p++ = '"';
    return p;
}

/* Room for `room` more bytes; write there, then gen_done with the end pointer. */
WR_INLINE char *gen_room(wr_sbuf *buf, size_t room) {
    wr_sbuf_reserve(buf, room + 1);
    return buf->at + buf->len;
}
WR_INLINE void gen_done(wr_sbuf *buf, char *end) {
    *end = 0;
    buf->len = (size_t)(end - buf->at);
    wr_dassert(buf->len < buf->cap);
}
