/* type/number.c: see number.h.
 *
 * Idea       numbers such as 12.34 are found by scaling with a power of ten. Else: a decimal of at most 15 digits survives the way
 *            through a double, so "%.15g" without its trailing zeros is the shortest text whenever it reads back; else 16
 *            digits, else 17 (6, 7, 8, 9 for float). Subnormals have fewer safe digits: there all lengths are tried. At a power
 *            of two the interval that reads back is lopsided, so the neighbours of the last digit are tried too before a
 *            digit is added. Reading: Clinger's exact fast path, else strtod.                                          */
#include "type/number.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { DIGITS_MAX = 20 };
typedef struct digits { /* 0.d1d2d3... * 10^exp */
    char text[DIGITS_MAX];
    int  n, exp;
} digits;

static bool reads_back(const digits *d, double x, bool is_float) {
    char text[48] = "0.", *p = text + 2;
    memcpy(p, d->text, (size_t)d->n);
    p += d->n;
    *p++ = 'e';
    wr_text_i64(d->exp, p);
    return is_float ? (double)strtof(text, NULL) == x : strtod(text, NULL) == x;
}

static void digits_of(double x, int n, digits *d) { /* the n digits nearest to x > 0 */
    char text[48];
    snprintf(text, sizeof text, "%.*e", n - 1, x); /* d.ddde[+-]xx */
    d->n = 0;
    char *p = text;
    for (; *p && *p != 'e'; p++)
        if (*p != '.') d->text[d->n++] = *p;
    d->exp = (int)strtol(p + 1, NULL, 10) + 1;
}

static bool step_last(digits *d, int by) { /* false on a carry out of the last digit: that would be a shorter number */
    char *last = &d->text[d->n - 1];
    if (by > 0 ? *last == '9' : *last == '0') return false;
    *last = (char)(*last + by);
    return true;
}

static void drop_zeros(digits *d) {
    while (d->n > 1 && d->text[d->n - 1] == '0') d->n--;
}

/* 12.34 and its like: the least k for which x = m / 10^k exactly as rounded, m below 10^15 (10^6 for float). */
static bool few_digits(double x, bool is_float, digits *d) {
    static const double pow10[] = {1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9};
    if (x >= (is_float ? 1e6 : 1e15) || x < 1e-3) return false;
    for (int k = 0; k < (int)WR_COUNT_OF(pow10); k++) {
        double scaled = x * pow10[k];
        if (scaled >= (is_float ? 1e6 : 1e15)) return false;
        int64_t m = (int64_t)(scaled + 0.5);
        double back = is_float ? (double)((float)m / (float)pow10[k]) : (double)m / pow10[k]; /* exact operands, one rounding */
        if (back != x) continue;
        char text[32];
        d->n = (int)wr_text_i64(m, text);
        memcpy(d->text, text, (size_t)d->n);
        d->exp = d->n - k;
        drop_zeros(d);
        return true;
    }
    return false;
}

static void shortest(double x, bool is_float, digits *d) {
    if (few_digits(x, is_float, d)) return;
    int  safe = is_float ? 6 : 15, most = is_float ? 9 : 17;
    bool subnormal = x < (is_float ? 1.1754943508222875e-38 : 2.2250738585072014e-308);
    int  exp2;
    bool lopsided = frexp(x, &exp2) == 0.5; /* a power of two */
    for (int n = subnormal ? 2 : safe; n <= most; n++) {
        digits_of(x, n, d);
        if (reads_back(d, x, is_float)) break;
        if (!lopsided) continue;
        digits up = *d, down = *d;
        if (step_last(&up, 1) && reads_back(&up, x, is_float)) { *d = up; break; }
        if (step_last(&down, -1) && reads_back(&down, x, is_float)) { *d = down; break; }
    }
    drop_zeros(d);
}

static size_t text_java(double x, bool is_float, char out[32]) {
    if (x != x) return memcpy(out, "NaN", 4), 3;
    char *p = out;
    if (signbit(x)) *p++ = '-', x = -x;
    if (isinf(x)) return memcpy(p, "Infinity", 9), (size_t)(p - out) + 8;
    if (x == 0) return memcpy(p, "0.0", 4), (size_t)(p - out) + 3;
    if (x < 1e7 && x == (double)(int64_t)x) return (size_t)(p - out) + (size_t)snprintf(p, 24, "%lld.0", (long long)x);
    digits d;
    shortest(x, is_float, &d);
    if (d.exp > 7 || d.exp < -2) { /* scientific: one digit before the point */
        *p++ = d.text[0];
        *p++ = '.';
        if (d.n == 1) *p++ = '0';
        for (int i = 1; i < d.n; i++) *p++ = d.text[i];
        return (size_t)(p - out) + (size_t)snprintf(p, 8, "E%d", d.exp - 1);
    }
    if (d.exp <= 0) {
        *p++ = '0', *p++ = '.';
        for (int i = d.exp; i < 0; i++) *p++ = '0';
        for (int i = 0; i < d.n; i++) *p++ = d.text[i];
    } else {
        for (int i = 0; i < d.exp; i++) *p++ = i < d.n ? d.text[i] : '0';
        *p++ = '.';
        if (d.n <= d.exp) *p++ = '0';
        for (int i = d.exp; i < d.n; i++) *p++ = d.text[i];
    }
    *p = 0;
    return (size_t)(p - out);
}

size_t wr_text_double(double x, char out[32]) { return text_java(x, false, out); }
size_t wr_text_float(float x, char out[32]) { return text_java((double)x, true, out); }

size_t wr_text_i64(int64_t x, char out[32]) {
    char     text[24], *p = text + sizeof text;
    uint64_t left = x < 0 ? -(uint64_t)x : (uint64_t)x;
    do *--p = (char)('0' + left % 10), left /= 10;
    while (left);
    if (x < 0) *--p = '-';
    size_t len = (size_t)(text + sizeof text - p);
    memcpy(out, p, len);
    out[len] = 0;
    return len;
}

bool wr_parse_i64(wr_str text, int64_t *out) {
    text = wr_str_trim(text);
    const char *p = text.ptr, *end = p + text.len;
    bool        minus = p < end && *p == '-';
    if (p < end && (*p == '-' || *p == '+')) p++;
    if (p == end) return false;
    uint64_t x = 0, limit = minus ? UINT64_C(1) << 63 : INT64_MAX;
    for (; p < end; p++) {
        unsigned digit = (unsigned char)*p - (unsigned)'0';
        if (digit > 9 || x > (limit - digit) / 10) return false;
        x = x * 10 + digit;
    }
    *out = (int64_t)(minus ? -x : x);
    return true;
}

static bool parse_slow(wr_str text, double *out) { /* text was checked to be a number that strtod takes as a whole */
    char  small[128], *copy = text.len < sizeof small ? small : wr_malloc(text.len + 1);
    memcpy(copy, text.ptr, text.len);
    copy[text.len] = 0;
    char *stop;
    *out = strtod(copy, &stop);
    bool whole = stop == copy + text.len;
    if (copy != small) wr_free(copy);
    return whole;
}

static bool parse_word(const char *p, const char *end, bool minus, double *out) {
    wr_str word = {p, (size_t)(end - p)};
    if (wr_str_ieq(word, WR_STR("nan"))) return *out = (double)NAN, true;
    if (!wr_str_ieq(word, WR_STR("infinity")) && !wr_str_ieq(word, WR_STR("inf"))) return false;
    return *out = minus ? -(double)INFINITY : (double)INFINITY, true;
}

bool wr_parse_double(wr_str text, double *out) {
    static const double pow10[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                   1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    text = wr_str_trim(text);
    const char *p = text.ptr, *end = p + text.len;
    bool        minus = p < end && *p == '-', exp_minus = false;
    if (p < end && (*p == '-' || *p == '+')) p++;
    if (p == end) return false;
    if (*p != '.' && (*p < '0' || *p > '9')) return parse_word(p, end, minus, out);
    uint64_t x = 0;
    int      n_digits = 0, significant = 0, fraction = 0, exp = 0;
    bool     point = false;
    for (; p < end; p++) {
        unsigned digit = (unsigned char)*p - (unsigned)'0';
        if (*p == '.' && !point) { point = true; continue; }
        if (digit > 9) break;
        n_digits = 1;
        if (point && fraction < 100000) fraction++;
        if (significant || digit) significant = WR_MIN(significant + 1, 100);
        if (significant <= 19) x = x * 10 + digit;
    }
    if (!n_digits) return false;
    if (p < end && (*p == 'e' || *p == 'E')) {
        p++;
        if (p < end && (*p == '-' || *p == '+')) exp_minus = *p++ == '-';
        if (p == end) return false;
        for (; p < end && *p >= '0' && *p <= '9'; p++) exp = WR_MIN(exp * 10 + (*p - '0'), 100000);
    }
    if (p != end) return false;
    int power = (exp_minus ? -exp : exp) - fraction;
    if (significant <= 19 && x <= UINT64_C(1) << 53 && power >= -22 && power <= 22) { /* both factors exact: one rounding */
        double value = power < 0 ? (double)x / pow10[-power] : (double)x * pow10[power];
        *out = minus ? -value : value;
        return true;
    }
    return parse_slow(text, out);
}
