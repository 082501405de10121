/* type/decimal.c: see decimal.h.
 *
 * Idea       a value is sign and 128-bit magnitude; what can exceed that (aligned operands, products, dividends) is a 256-bit
 *            magnitude of four 64-bit limbs, divided by at most two limbs with Knuth's algorithm D.
 * Invariant  every result is checked against its precision once, at the end, by finish(); rounding is half away from zero:
 *            q + (2r >= d).
 * Why two-step division by 10^k is right: floor(floor(x / 10^i) / 10^j) = floor(x / 10^(i+j)), and half-up rounding is a floor of
 *            (x + half) whose half only touches the last j >= 1 digits.                                               */
#include "type/decimal.h"
#include "type/number.h"
#include <math.h>
#include <stdlib.h>

typedef struct u256 { uint64_t limb[4]; } u256; /* little-endian */

wr_i128 wr_pow10(int n) {
    static const uint64_t low[20] = {1u,
                                     10u,
                                     100u,
                                     1000u,
                                     10000u,
                                     100000u,
                                     1000000u,
                                     10000000u,
                                     100000000u,
                                     1000000000u,
                                     10000000000u,
                                     100000000000u,
                                     1000000000000u,
                                     10000000000000u,
                                     100000000000000u,
                                     1000000000000000u,
                                     10000000000000000u,
                                     100000000000000000u,
                                     1000000000000000000u,
                                     10000000000000000000u};
    wr_dassert(n >= 0 && n <= 38);
    return n < 20 ? (wr_i128)low[n] : (wr_i128)low[19] * (wr_i128)low[n - 19];
}

static wr_u128 magnitude(wr_i128 v) { return v < 0 ? -(wr_u128)v : (wr_u128)v; }
static wr_i128 with_sign(wr_u128 m, bool minus) { return minus ? (wr_i128)-m : (wr_i128)m; }

bool wr_decimal_fits(wr_i128 v, int prec) { return magnitude(v) < (wr_u128)wr_pow10(prec); }

/* ---- 256 bits ---- */

static u256 wide(wr_u128 x) { return (u256){{(uint64_t)x, (uint64_t)(x >> 64), 0, 0}}; }
static bool narrow(const u256 *x, wr_u128 *out) {
    *out = (wr_u128)x->limb[1] << 64 | x->limb[0];
    return !(x->limb[2] | x->limb[3]);
}

static u256 multiply(wr_u128 a, wr_u128 b) {
    uint64_t a0 = (uint64_t)a, a1 = (uint64_t)(a >> 64), b0 = (uint64_t)b, b1 = (uint64_t)(b >> 64);
    wr_u128  low = (wr_u128)a0 * b0, mid1 = (wr_u128)a0 * b1, mid2 = (wr_u128)a1 * b0, high = (wr_u128)a1 * b1;
    wr_u128  mid = (low >> 64) + (uint64_t)mid1 + (uint64_t)mid2;
    high += (mid1 >> 64) + (mid2 >> 64) + (mid >> 64);
    return (u256){{(uint64_t)low, (uint64_t)mid, (uint64_t)high, (uint64_t)(high >> 64)}};
}

/* x *= y; false on overflow of 256 bits */
static bool scale_up(u256 *x, wr_u128 y) {
    wr_u128 low = (wr_u128)x->limb[1] << 64 | x->limb[0], high = (wr_u128)x->limb[3] << 64 | x->limb[2];
    u256    a = multiply(low, y), b = multiply(high, y);
    if (b.limb[2] | b.limb[3]) return false;
    wr_u128 top = ((wr_u128)a.limb[3] << 64 | a.limb[2]), add = (wr_u128)b.limb[1] << 64 | b.limb[0];
    if (__builtin_add_overflow(top, add, &top)) return false;
    a.limb[2] = (uint64_t)top;
    a.limb[3] = (uint64_t)(top >> 64);
    *x = a;
    return true;
}

static int compare256(const u256 *a, const u256 *b) {
    for (int i = 3; i >= 0; i--)
        if (a->limb[i] != b->limb[i]) return a->limb[i] > b->limb[i] ? 1 : -1;
    return 0;
}

static bool add256(u256 *a, const u256 *b) { /* false on a carry out */
    unsigned carry = 0;
    for (int i = 0; i < 4; i++) {
        wr_u128 sum = (wr_u128)a->limb[i] + b->limb[i] + carry;
        a->limb[i] = (uint64_t)sum;
        carry = (unsigned)(sum >> 64);
    }
    return !carry;
}

static void sub256(u256 *a, const u256 *b) { /* a >= b */
    uint64_t borrow = 0;
    for (int i = 0; i < 4; i++) {
        wr_u128 take = (wr_u128)b->limb[i] + borrow;
        borrow = a->limb[i] < take;
        a->limb[i] -= (uint64_t)take;
    }
}

/* x /= d for a one-limb d; returns the remainder. */
static uint64_t divide1(u256 *x, uint64_t d) {
    uint64_t rem = 0;
    for (int i = 3; i >= 0; i--) {
        wr_u128 part = (wr_u128)rem << 64 | x->limb[i];
        x->limb[i] = (uint64_t)(part / d);
        rem = (uint64_t)(part % d);
    }
    return rem;
}

/* x /= d; returns the remainder. Knuth, TAOCP 2, 4.3.1, algorithm D, for a divisor of two limbs. */
static wr_u128 divide(u256 *x, wr_u128 d) {
    if (!(x->limb[2] | x->limb[3])) {
        wr_u128 low = (wr_u128)x->limb[1] << 64 | x->limb[0];
        *x = wide(low / d);
        return low % d;
    }
    if (!(d >> 64)) return divide1(x, (uint64_t)d);
    int      shift = __builtin_clzll((uint64_t)(d >> 64));
    wr_u128  v = d << shift;
    uint64_t v1 = (uint64_t)(v >> 64), v0 = (uint64_t)v, u[5];
    u[4] = shift ? x->limb[3] >> (64 - shift) : 0;
    for (int i = 3; i > 0; i--) u[i] = shift ? x->limb[i] << shift | x->limb[i - 1] >> (64 - shift) : x->limb[i];
    u[0] = x->limb[0] << shift;
    x->limb[3] = 0;
    for (int j = 2; j >= 0; j--) {
        wr_u128 top = (wr_u128)u[j + 2] << 64 | u[j + 1], q = top / v1, r = top % v1;
        while (q >> 64 || (wr_u128)(uint64_t)q * v0 > (r << 64 | u[j])) {
            q--;
            r += v1;
            if (r >> 64) break;
        }
        /* u[j..j+2] -= q * v */
        wr_u128  p0 = (wr_u128)(uint64_t)q * v0, p1 = (wr_u128)(uint64_t)q * v1 + (p0 >> 64);
        uint64_t s0 = (uint64_t)p0, s1 = (uint64_t)p1, s2 = (uint64_t)(p1 >> 64), borrow;
        borrow = u[j] < s0;
        u[j] -= s0;
        wr_u128 take = (wr_u128)s1 + borrow;
        borrow = u[j + 1] < take;
        u[j + 1] -= (uint64_t)take;
        take = (wr_u128)s2 + borrow;
        borrow = u[j + 2] < take;
        u[j + 2] -= (uint64_t)take;
        if (borrow) { /* q was one too large */
            q--;
            wr_u128 sum = (wr_u128)u[j] + v0;
            u[j] = (uint64_t)sum;
            sum = (wr_u128)u[j + 1] + v1 + (sum >> 64);
            u[j + 1] = (uint64_t)sum;
            u[j + 2] += (uint64_t)(sum >> 64);
        }
        x->limb[j] = (uint64_t)q;
    }
    return ((wr_u128)u[1] << 64 | u[0]) >> shift;
}

/* x = round-half-up(x / d) */
static void divide_rounded(u256 *x, wr_u128 d) {
    wr_u128 rem = divide(x, d);
    if (rem >= d - rem) {
        u256 one = wide(1);
        add256(x, &one); /* cannot carry out: x was divided, or d = 1 and rem = 0 < 1 */
    }
}

/* A magnitude of the given scale as DECIMAL(prec, scale). */
static bool finish(u256 x, bool minus, int from_scale, int prec, int scale, wr_i128 *out) {
    int down = from_scale - scale;
    while (down > 38) { /* at most twice */
        int step = WR_MIN(down - 38, 38);
        divide(&x, (wr_u128)wr_pow10(step));
        down -= step;
    }
    if (down > 0) divide_rounded(&x, (wr_u128)wr_pow10(down));
    while (down < 0) {
        int step = WR_MIN(-down, 38);
        if (!scale_up(&x, (wr_u128)wr_pow10(step))) return false;
        down += step;
    }
    wr_u128 m;
    if (!narrow(&x, &m) || m >= (wr_u128)wr_pow10(prec)) return false;
    *out = with_sign(m, minus);
    return true;
}

/* ---- the operations ---- */

bool wr_decimal_rescale(wr_i128 v, int from_scale, int to_prec, int to_scale, wr_i128 *out) {
    if (from_scale == to_scale) return *out = v, wr_decimal_fits(v, to_prec);
    return finish(wide(magnitude(v)), v < 0, from_scale, to_prec, to_scale, out);
}

static bool add_signed(wr_i128 a, int sa, wr_i128 b, int sb, int prec, int scale, wr_i128 *out) {
    int     common = WR_MAX(sa, sb);
    wr_i128 x, y, sum;
    if (!__builtin_mul_overflow(a, wr_pow10(common - sa), &x) && !__builtin_mul_overflow(b, wr_pow10(common - sb), &y) &&
        !__builtin_add_overflow(x, y, &sum))
        return wr_decimal_rescale(sum, common, prec, scale, out);
    u256 p = multiply(magnitude(a), (wr_u128)wr_pow10(common - sa)), q = multiply(magnitude(b), (wr_u128)wr_pow10(common - sb));
    bool minus = a < 0;
    if ((a < 0) == (b < 0)) {
        if (!add256(&p, &q)) return false;
    } else if (compare256(&p, &q) >= 0) {
        sub256(&p, &q);
    } else {
        sub256(&q, &p);
        p = q;
        minus = !minus;
    }
    return finish(p, minus, common, prec, scale, out);
}

bool wr_decimal_add(wr_i128 a, int sa, wr_i128 b, int sb, int prec, int scale, wr_i128 *out) {
    return add_signed(a, sa, b, sb, prec, scale, out);
}

bool wr_decimal_sub(wr_i128 a, int sa, wr_i128 b, int sb, int prec, int scale, wr_i128 *out) {
    return add_signed(a, sa, -b, sb, prec, scale, out); /* a decimal's magnitude is below 10^38, so -b is safe */
}

bool wr_decimal_mul(wr_i128 a, int sa, wr_i128 b, int sb, int prec, int scale, wr_i128 *out) {
    wr_i128 product;
    if (!__builtin_mul_overflow(a, b, &product)) return wr_decimal_rescale(product, sa + sb, prec, scale, out);
    return finish(multiply(magnitude(a), magnitude(b)), (a < 0) != (b < 0), sa + sb, prec, scale, out);
}

/* a / 10^sa / (b / 10^sb) at the target scale = a * 10^up / b, up = scale - sa + sb. If a * 10^up needs more than 256 bits, then the
 * quotient by b < 2^127 has more than 38 digits. If up < 0 and b * 10^-up needs more than 128 bits, then it is over 2a: zero. */
bool wr_decimal_div(wr_i128 a, int sa, wr_i128 b, int sb, int prec, int scale, wr_i128 *out) {
    wr_assert(b != 0);
    int     up = scale - sa + sb;
    u256    x = wide(magnitude(a));
    wr_u128 d = magnitude(b);
    bool    minus = (a < 0) != (b < 0);
    while (up > 0) {
        int step = WR_MIN(up, 38);
        if (!scale_up(&x, (wr_u128)wr_pow10(step))) return false;
        up -= step;
    }
    if (up < 0) {
        wr_u128 scaled;
        if (up < -38 || __builtin_mul_overflow(d, (wr_u128)wr_pow10(-up), &scaled)) return *out = 0, true;
        d = scaled;
    }
    divide_rounded(&x, d);
    return finish(x, minus, scale, prec, scale, out);
}

bool wr_decimal_mod(wr_i128 a, int sa, wr_i128 b, int sb, int prec, int scale, wr_i128 *out) {
    wr_assert(b != 0);
    int     common = WR_MAX(sa, sb);
    u256    x = multiply(magnitude(a), (wr_u128)wr_pow10(common - sa)), d = multiply(magnitude(b), (wr_u128)wr_pow10(common - sb));
    wr_u128 divisor;
    /* a divisor beyond 128 bits was scaled, so x was not and is smaller: it is the remainder itself */
    if (narrow(&d, &divisor)) x = wide(divide(&x, divisor));
    return finish(x, a < 0, common, prec, scale, out);
}

int wr_decimal_compare(wr_i128 a, int sa, wr_i128 b, int sb) {
    if (sa == sb || (a < 0) != (b < 0)) return (a > b) - (a < b);
    int  common = WR_MAX(sa, sb);
    u256 x = multiply(magnitude(a), (wr_u128)wr_pow10(common - sa)), y = multiply(magnitude(b), (wr_u128)wr_pow10(common - sb));
    return a < 0 ? compare256(&y, &x) : compare256(&x, &y);
}

/* ---- types of results ---- */

static wr_type adjusted(int prec, int scale, wr_type a, wr_type b) {
    if (prec > 38) { /* whole digits first, but at least 6 of the fraction (or all, if fewer) */
        int whole = prec - scale, least = WR_MIN(scale, 6);
        scale = WR_MAX(38 - whole, least);
        prec = 38;
    }
    return wr_type_with_null(wr_type_decimal(prec, scale), a.nullable || b.nullable);
}

wr_type wr_decimal_add_type(wr_type a, wr_type b) {
    int scale = WR_MAX(a.scale, b.scale);
    return adjusted(WR_MAX(a.prec - a.scale, b.prec - b.scale) + scale + 1, scale, a, b);
}
wr_type wr_decimal_mul_type(wr_type a, wr_type b) { return adjusted(a.prec + b.prec + 1, a.scale + b.scale, a, b); }
wr_type wr_decimal_div_type(wr_type a, wr_type b) {
    int scale = WR_MAX(6, a.scale + b.prec + 1);
    return adjusted(a.prec - a.scale + b.scale + scale, scale, a, b);
}
wr_type wr_decimal_mod_type(wr_type a, wr_type b) {
    int scale = WR_MAX(a.scale, b.scale);
    return adjusted(WR_MAX(WR_MIN(a.prec - a.scale, b.prec - b.scale) + scale, 1), scale, a, b);
}

wr_type wr_decimal_of_integer(wr_type t) {
    int prec = t.id == WR_T_TINYINT ? 3 : t.id == WR_T_SMALLINT ? 5 : t.id == WR_T_INT ? 10 : 20;
    return wr_type_with_null(wr_type_decimal(prec, 0), t.nullable);
}

/* ---- text ---- */

typedef struct number_text { /* sign, digits [from, to) with at most one point among them, power of ten */
    const char *from, *to;
    bool        minus;
    int         n_whole; /* digits before the point */
    int         exp;
} number_text;

static bool scan_number(wr_str text, number_text *num) {
    text = wr_str_trim(text);
    const char *p = text.ptr, *end = p + text.len;
    bool        point = false, exp_minus = false;
    size_t      n_digits = 0, n_whole = 0;
    *num = (number_text){.minus = p < end && *p == '-'};
    if (p < end && (*p == '-' || *p == '+')) p++;
    num->from = p;
    for (; p < end && ((*p >= '0' && *p <= '9') || (*p == '.' && !point)); p++) {
        if (*p == '.') point = true;
        else n_digits++, n_whole += !point;
    }
    num->to = p;
    num->n_whole = (int)WR_MIN(n_whole, (size_t)1000000);
    if (!n_digits || n_whole > 1000000) return false;
    if (p < end && (*p == 'e' || *p == 'E')) {
        p++;
        if (p < end && (*p == '-' || *p == '+')) exp_minus = *p++ == '-';
        if (p == end) return false;
        for (; p < end && *p >= '0' && *p <= '9'; p++) num->exp = WR_MIN(num->exp * 10 + (*p - '0'), 1000000000 / 10);
        if (exp_minus) num->exp = -num->exp;
    }
    return p == end;
}

bool wr_decimal_parse(wr_str text, int prec, int scale, wr_i128 *out) {
    number_text num;
    if (!scan_number(text, &num)) return false;
    int64_t keep = (int64_t)num.n_whole + num.exp + scale; /* digits of the unscaled value, leading zeros counted */
    wr_u128 m = 0;
    int     n = 0; /* significant digits taken */
    bool    round_up = false;
    for (const char *p = num.from; p < num.to; p++) {
        if (*p == '.') continue;
        unsigned digit = (unsigned)(*p - '0');
        if (keep-- <= 0) {
            round_up = keep == -1 && digit >= 5;
            break;
        }
        if (!n && !digit) continue;
        if (++n > 38) return false;
        m = m * 10 + digit;
    }
    for (; m && keep > 0; keep--) {
        if (++n > 38) return false;
        m *= 10;
    }
    m += round_up;
    if (m >= (wr_u128)wr_pow10(prec)) return false;
    *out = with_sign(m, num.minus);
    return true;
}

size_t wr_decimal_text(wr_i128 v, int scale, char out[48]) {
    char    reversed[48];
    int     n = 0;
    wr_u128 m = magnitude(v);
    while (m >> 64) reversed[n++] = (char)('0' + (int)(m % 10)), m /= 10;
    for (uint64_t low = (uint64_t)m; low; low /= 10) reversed[n++] = (char)('0' + (int)(low % 10));
    while (n <= scale) reversed[n++] = '0';
    char *p = out;
    if (v < 0) *p++ = '-';
    while (n > 0) {
        if (n == scale) *p++ = '.';
        *p++ = reversed[--n];
    }
    *p = 0;
    return (size_t)(p - out);
}

double wr_decimal_to_double(wr_i128 v, int scale) {
    static const double pow10[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                   1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    if (scale <= 22 && magnitude(v) <= (wr_u128)1 << 53) return (double)(int64_t)v / pow10[scale]; /* exact operands, one rounding */
    char text[48];
    wr_decimal_text(v, scale, text);
    return strtod(text, NULL);
}

bool wr_decimal_from_double(double x, int prec, int scale, wr_i128 *out) {
    if (!isfinite(x)) return false;
    char text[32]; /* through the shortest text, as BigDecimal.valueOf(double): 1.005 is 1.005, not 1.00499999... */
    return wr_decimal_parse((wr_str){text, wr_text_double(x, text)}, prec, scale, out);
}
