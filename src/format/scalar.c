/* format/scalar.c: text -> typed value and back, for all text formats.
 *
 * Idea       fixed-position parsing for the usual form of a timestamp, general parsing only when that fails.
 * Rules      Flink's: 'yyyy-MM-dd HH:mm:ss[.fffffffff]' (SQL) or with T (ISO-8601); TIMESTAMP_LTZ wants a zone at the end (Z; offsets are
 *            taken too); a fraction beyond the column's precision is cut. NaN and Infinity are numbers of FLOAT and DOUBLE.
 * Invariant  no function fails otherwise than by its wr_put; nothing here allocates but base64.                        */
#include "format/parts.h"
#include "format/json_simd.h"
#include "type/bitmap.h"
#include "type/decimal.h"
#include <math.h>

/* ---- numbers ---- */

bool wr_scalar_int(wr_str text, int64_t *out) {
    text = wr_str_trim(text);
    const char *p = text.ptr, *end = text.ptr + text.len;
    bool        negative = false;
    if (p < end && (*p == '-' || *p == '+')) negative = *p++ == '-';
    if (p == end) return false;
    int64_t v = 0;
    for (; p < end; p++) {
        unsigned digit = (unsigned)(uint8_t)*p - '0';
        if (digit > 9) return false;
        if (__builtin_mul_overflow(v, 10, &v) || __builtin_sub_overflow(v, (int64_t)digit, &v)) return false; /* negative: INT64_MIN fits */
    }
    if (!negative && v == INT64_MIN) return false;
    *out = negative ? v : -v;
    return true;
}

static bool number_of(wr_str text, double *out) {
    text = wr_str_trim(text);
    if (!text.len) return false;
    wr_str bare = text;
    if (*bare.ptr == '+' && bare.len > 1 && bare.ptr[1] != '-') bare.ptr++, bare.len--;
    char first = bare.ptr[*bare.ptr == '-' && bare.len > 1];
    if ((first >= '0' && first <= '9') || first == '.') return wr_simd_double(bare.ptr, bare.ptr + bare.len, out);
    if (wr_str_eq(bare, WR_STR("NaN"))) *out = NAN;
    else if (wr_str_eq(bare, WR_STR("Infinity"))) *out = INFINITY;
    else if (wr_str_eq(bare, WR_STR("-Infinity"))) *out = -INFINITY;
    else return false;
    return true;
}

static wr_put put_int(int64_t v, wr_vec *vec, uint32_t row) {
    switch (vec->type.id) {
    case WR_T_TINYINT:
        if (v != (int8_t)v) return WR_PUT_RANGE;
        ((int8_t *)vec->data)[row] = (int8_t)v;
        return WR_PUT_OK;
    case WR_T_SMALLINT:
        if (v != (int16_t)v) return WR_PUT_RANGE;
        ((int16_t *)vec->data)[row] = (int16_t)v;
        return WR_PUT_OK;
    case WR_T_INT:
    case WR_T_INTERVAL_YM:
        if (v != (int32_t)v) return WR_PUT_RANGE;
        ((int32_t *)vec->data)[row] = (int32_t)v;
        return WR_PUT_OK;
    default: ((int64_t *)vec->data)[row] = v; return WR_PUT_OK;
    }
}

/* Is it digits with an optional sign, fraction and exponent? */
static bool looks_number(wr_str t) {
    const char *p = t.ptr, *end = t.ptr + t.len;
    if (p < end && (*p == '-' || *p == '+')) p++;
    const char *digits = p;
    bool        any = false;
    for (; p < end && *p >= '0' && *p <= '9'; p++) any = true;
    if (p < end && *p == '.')
        for (p++; p < end && *p >= '0' && *p <= '9'; p++) any = true;
    if (!any || p == digits) return false;
    if (p < end && (*p == 'e' || *p == 'E')) {
        p++;
        if (p < end && (*p == '-' || *p == '+')) p++;
        if (p == end) return false;
        while (p < end && *p >= '0' && *p <= '9') p++;
    }
    return p == end;
}

static wr_put put_decimal(wr_str text, wr_vec *vec, uint32_t row) {
    int         scale = vec->type.scale, seen = -1;
    const char *p = text.ptr, *end = text.ptr + text.len;
    bool        negative = p < end && *p == '-';
    int64_t     v = 0;
    p += negative;
    if (end - p <= 18) { /* fits an int64 whatever it says */
        const char *q = p;
        for (; q < end; q++) {
            unsigned digit = (unsigned)(uint8_t)*q - '0';
            if (digit <= 9) v = v * 10 + digit, seen += seen >= 0;
            else if (*q == '.' && seen < 0) seen = 0;
            else break;
        }
        if (q == end && seen <= scale && q > p + (seen >= 0)) {
            wr_i128 d = (wr_i128)(negative ? -v : v) * wr_pow10(scale - WR_MAX(seen, 0));
            if (!wr_decimal_fits(d, vec->type.prec)) return WR_PUT_RANGE;
            ((wr_i128 *)vec->data)[row] = d;
            return WR_PUT_OK;
        }
    }
    if (!looks_number(text)) return WR_PUT_TYPE;
    return wr_decimal_parse(text, vec->type.prec, scale, &((wr_i128 *)vec->data)[row]) ? WR_PUT_OK : WR_PUT_RANGE;
}

/* A number with fraction or exponent into an integer column: exact on the digits, so that 9007199254740993.7 does not lose its 3. */
static wr_put put_cut_int(wr_str text, wr_vec *vec, uint32_t row) {
    bool exponent = memchr(text.ptr, 'e', text.len) || memchr(text.ptr, 'E', text.len);
    const char *dot = memchr(text.ptr, '.', text.len);
    int64_t     v;
    if (!exponent) {
        wr_str whole = {text.ptr, dot ? (size_t)(dot - text.ptr) : text.len};
        if (whole.len == 0 || wr_str_eq(whole, WR_STR("-")) || wr_str_eq(whole, WR_STR("+"))) return put_int(0, vec, row);
        return wr_scalar_int(whole, &v) ? put_int(v, vec, row) : WR_PUT_RANGE;
    }
    double x;
    if (!number_of(text, &x)) return WR_PUT_TYPE;
    if (!(x > -9.2233720368547758e18 && x < 9.2233720368547758e18)) return WR_PUT_RANGE;
    return put_int((int64_t)x, vec, row);
}

wr_put wr_scalar_put_number(wr_str text, wr_vec *vec, uint32_t row) {
    double  x;
    int64_t v;
    switch (vec->type.id) {
    case WR_T_TINYINT:
    case WR_T_SMALLINT:
    case WR_T_INT:
    case WR_T_BIGINT:
    case WR_T_INTERVAL_YM:
    case WR_T_INTERVAL_DS:
        if (wr_scalar_int(text, &v)) return put_int(v, vec, row);
        if (!looks_number(text)) return WR_PUT_TYPE;
        return put_cut_int(text, vec, row);
    case WR_T_FLOAT:
        if (!number_of(text, &x)) return WR_PUT_TYPE;
        ((float *)vec->data)[row] = x > 3.4028235677973366e38 ? INFINITY : x < -3.4028235677973366e38 ? -INFINITY : (float)x;
        return WR_PUT_OK;
    case WR_T_DOUBLE:
        if (!number_of(text, &x)) return WR_PUT_TYPE;
        ((double *)vec->data)[row] = x;
        return WR_PUT_OK;
    case WR_T_DECIMAL: return put_decimal(text, vec, row);
    default: return WR_PUT_TYPE;
    }
}

/* ---- times ---- */

WR_INLINE unsigned digits2(const char *p, int32_t *out) {
    unsigned a = (unsigned)(uint8_t)p[0] - '0', b = (unsigned)(uint8_t)p[1] - '0';
    *out = (int32_t)(a * 10 + b);
    return (unsigned)(a <= 9) & (unsigned)(b <= 9); /* a number, so that several are joined without branches */
}

/* "yyyy-MM-dd" at p (10 bytes). */
static bool parse_day(const char *p, int32_t *days) {
    int32_t century, year, month, day;
    if (!(digits2(p, &century) & digits2(p + 2, &year) & digits2(p + 5, &month) & digits2(p + 8, &day))) return false;
    year += century * 100;
    if (p[4] != '-' || p[7] != '-' || !wr_civil_valid(year, month, day)) return false;
    *days = wr_days_from_civil(year, month, day);
    return true;
}

/* Z, +hh:mm, +hhmm, +hh: the whole of text. */
static bool parse_zone(wr_str t, int64_t *offset_s) {
    *offset_s = 0;
    if (t.len == 1 && *t.ptr == 'Z') return true;
    if (t.len < 3 || (*t.ptr != '+' && *t.ptr != '-')) return false;
    int32_t h, m = 0;
    if (!digits2(t.ptr + 1, &h)) return false;
    if (t.len == 6 && t.ptr[3] == ':') {
        if (!digits2(t.ptr + 4, &m)) return false;
    } else if (t.len == 5) {
        if (!digits2(t.ptr + 3, &m)) return false;
    } else if (t.len != 3) {
        return false;
    }
    if (h > 18 || m > 59) return false;
    *offset_s = (*t.ptr == '-' ? -1 : 1) * (h * 3600 + m * 60);
    return true;
}

/* Fraction digits at p, up to nine; returns the end. *nanos has all nine places. */
static const char *parse_fraction(const char *p, const char *end, int64_t *nanos) {
    static const int64_t pow10[] = {1000000000, 100000000, 10000000, 1000000, 100000, 10000, 1000, 100, 10, 1};
    const char *from = p;
    int64_t     v = 0;
    for (; p < end && p - from < 9; p++) {
        unsigned digit = (unsigned)(uint8_t)*p - '0';
        if (digit > 9) break;
        v = v * 10 + digit;
    }
    *nanos = v * pow10[p - from];
    return p;
}

static int64_t cut_nanos(int64_t nanos, int32_t prec) {
    static const int64_t step[] = {1000000000, 100000000, 10000000, 1000000, 100000, 10000, 1000, 100, 10, 1};
    return nanos - nanos % step[prec < 0 ? 0 : prec > 9 ? 9 : prec];
}

static wr_put timestamp_of(wr_str text, wr_type type, char sep, int64_t *ticks) {
    const char *p = text.ptr, *end = text.ptr + text.len;
    int32_t     days, h, m, s;
    int64_t     nanos = 0, offset_s = 0;
    if (text.len < 19) return WR_PUT_TYPE;
    if (!parse_day(p, &days) || p[10] != sep) return WR_PUT_TYPE;
    if (!(digits2(p + 11, &h) & digits2(p + 14, &m) & digits2(p + 17, &s)) || p[13] != ':' || p[16] != ':') return WR_PUT_TYPE;
    if (h > 23 || m > 59 || s > 59) return WR_PUT_TYPE;
    p += 19;
    if (p < end && *p == '.') p = parse_fraction(p + 1, end, &nanos);
    if (type.id == WR_T_TIMESTAMP_LTZ) {
        if (!parse_zone((wr_str){p, (size_t)(end - p)}, &offset_s)) return WR_PUT_TYPE;
    } else if (p != end) {
        return WR_PUT_TYPE;
    }
    int64_t seconds = (int64_t)days * 86400 + h * 3600 + m * 60 + s - offset_s;
    nanos = cut_nanos(nanos, type.prec);
    if (type.prec <= 6) {
        *ticks = seconds * WR_US_PER_SECOND + nanos / 1000;
        return WR_PUT_OK;
    }
    if (__builtin_mul_overflow(seconds, INT64_C(1000000000), ticks) || __builtin_add_overflow(*ticks, nanos, ticks)) return WR_PUT_RANGE;
    return WR_PUT_OK;
}

static wr_put put_time(wr_str text, wr_vec *vec, uint32_t row) {
    int32_t h, m, s;
    int64_t nanos = 0;
    if (text.len < 8 || !(digits2(text.ptr, &h) & digits2(text.ptr + 3, &m) & digits2(text.ptr + 6, &s))) return WR_PUT_TYPE;
    if (text.ptr[2] != ':' || text.ptr[5] != ':' || h > 23 || m > 59 || s > 59) return WR_PUT_TYPE;
    const char *p = text.ptr + 8, *end = text.ptr + text.len;
    if (p < end && *p == '.') p = parse_fraction(p + 1, end, &nanos);
    if (p < end && *p == 'Z') p++; /* Flink writes TIME so in some versions */
    if (p != end) return WR_PUT_TYPE;
    ((int32_t *)vec->data)[row] = (h * 3600 + m * 60 + s) * 1000 + (int32_t)(cut_nanos(nanos, WR_MIN(vec->type.prec, 3)) / 1000000);
    return WR_PUT_OK;
}

/* ---- bytes ---- */

static int base64_value(uint8_t c) {
    if (c >= 'A' && c <= 'Z') return c - 'A';
    if (c >= 'a' && c <= 'z') return c - 'a' + 26;
    if (c >= '0' && c <= '9') return c - '0' + 52;
    return c == '+' ? 62 : c == '/' ? 63 : -1;
}

static wr_put base64_of(wr_str text, wr_mem *mem, wr_sview *out) {
    size_t n = text.len;
    while (n && text.ptr[n - 1] == '=') n--;
    if (text.len - n > 2 || n % 4 == 1 || (text.len != n && text.len % 4)) return WR_PUT_TYPE;
    uint8_t *to = wr_mem_alloc(mem, n / 4 * 3 + 3);
    size_t   len = 0;
    uint32_t bits = 0;
    for (size_t i = 0; i < n; i++) {
        int v = base64_value((uint8_t)text.ptr[i]);
        if (v < 0) return WR_PUT_TYPE;
        bits = bits << 6 | (uint32_t)v;
        if (i % 4 == 3) {
            to[len++] = (uint8_t)(bits >> 16), to[len++] = (uint8_t)(bits >> 8), to[len++] = (uint8_t)bits;
            bits = 0;
        }
    }
    if (n % 4 == 2) to[len++] = (uint8_t)(bits >> 4);
    if (n % 4 == 3) to[len++] = (uint8_t)(bits >> 10), to[len++] = (uint8_t)(bits >> 2);
    *out = wr_sview_borrow((char *)to, len);
    return WR_PUT_OK;
}

void wr_base64(const void *bytes, size_t len, wr_sbuf *out) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const uint8_t *p = bytes;
    for (size_t i = 0; i < len; i += 3) {
        size_t   have = WR_MIN(len - i, 3u);
        uint32_t v = (uint32_t)p[i] << 16 | (have > 1 ? (uint32_t)p[i + 1] << 8 : 0) | (have > 2 ? p[i + 2] : 0u);
        char     four[4] = {digits[v >> 18], digits[v >> 12 & 63], have > 1 ? digits[v >> 6 & 63] : '=', have > 2 ? digits[v & 63] : '='};
        wr_sbuf_add(out, four, 4);
    }
}

bool wr_base64_decode(wr_str text, wr_sbuf *out) {
    wr_mem  *mem = wr_mem_new(text.len);
    wr_sview bytes;
    bool     good = base64_of(text, mem, &bytes) == WR_PUT_OK;
    if (good) wr_sbuf_add_str(out, wr_sview_str(&bytes));
    wr_mem_unref(mem);
    return good;
}

/* ---- any scalar ---- */

wr_put wr_scalar_put(wr_str text, char sep, wr_vec *vec, uint32_t row, wr_mem *mem) {
    wr_str trimmed;
    switch (vec->type.id) {
    case WR_T_CHAR:
    case WR_T_VARCHAR: ((wr_sview *)vec->data)[row] = wr_sview_borrow(text.ptr, text.len); return WR_PUT_OK;
    case WR_T_BINARY:
    case WR_T_VARBINARY: return base64_of(text, mem, &((wr_sview *)vec->data)[row]);
    case WR_T_BITMAP: {
        wr_bitmap b = {0};
        wr_put    put = base64_of(text, mem, &((wr_sview *)vec->data)[row]);
        if (put == WR_PUT_OK && !wr_bitmap_get(&b, wr_sview_str(&((wr_sview *)vec->data)[row]))) put = WR_PUT_TYPE;
        wr_bitmap_clear(&b);
        return put;
    }
    case WR_T_BOOLEAN:
        trimmed = wr_str_trim(text);
        if (wr_str_ieq(trimmed, WR_STR("true"))) ((uint8_t *)vec->data)[row] = 1;
        else if (wr_str_ieq(trimmed, WR_STR("false"))) ((uint8_t *)vec->data)[row] = 0;
        else return WR_PUT_TYPE;
        return WR_PUT_OK;
    case WR_T_TINYINT:
    case WR_T_SMALLINT:
    case WR_T_INT:
    case WR_T_BIGINT:
    case WR_T_INTERVAL_YM:
    case WR_T_INTERVAL_DS: {
        int64_t v;
        trimmed = wr_str_trim(text);
        if (wr_scalar_int(trimmed, &v)) return put_int(v, vec, row);
        return looks_number(trimmed) && !memchr(trimmed.ptr, '.', trimmed.len) ? WR_PUT_RANGE : WR_PUT_TYPE;
    }
    case WR_T_FLOAT:
    case WR_T_DOUBLE:
    case WR_T_DECIMAL: return wr_scalar_put_number(wr_str_trim(text), vec, row);
    case WR_T_DATE: return text.len == 10 && parse_day(text.ptr, &((int32_t *)vec->data)[row]) ? WR_PUT_OK : WR_PUT_TYPE;
    case WR_T_TIME: return put_time(text, vec, row);
    case WR_T_TIMESTAMP:
    case WR_T_TIMESTAMP_LTZ: return timestamp_of(text, vec->type, sep, &((int64_t *)vec->data)[row]);
    default: return WR_PUT_TYPE;
    }
}

void wr_scalar_expected(wr_type type, char sep, wr_sbuf *out) {
    wr_type_text(wr_type_with_null(type, true), out);
    switch (type.id) {
    case WR_T_DATE: wr_sbuf_addz(out, " as 'yyyy-MM-dd'"); break;
    case WR_T_TIME: wr_sbuf_addz(out, " as 'HH:mm:ss'"); break;
    case WR_T_TIMESTAMP: wr_sbuf_printf(out, " as 'yyyy-MM-dd%cHH:mm:ss[.fff]'", sep); break;
    case WR_T_TIMESTAMP_LTZ: wr_sbuf_printf(out, " as 'yyyy-MM-dd%cHH:mm:ss[.fff]Z'", sep); break;
    case WR_T_BITMAP:
    case WR_T_BINARY:
    case WR_T_VARBINARY: wr_sbuf_addz(out, " as base64"); break;
    default: break;
    }
}

void wr_scalar_timestamp_text(int64_t ticks, wr_type type, char sep, wr_sbuf *out) {
    char   text[48];
    size_t n = wr_text_timestamp(ticks, wr_type_prec(type.id, type.prec <= 6 ? 6 : 9), sep, text);
    bool   zone = n && text[n - 1] == 'Z';
    if (zone) n--;
    if (memchr(text, '.', n)) {
        while (n && text[n - 1] == '0') n--;
        if (n && text[n - 1] == '.') n--;
    }
    wr_sbuf_add(out, text, n);
    if (type.id == WR_T_TIMESTAMP_LTZ) wr_sbuf_addc(out, 'Z');
}
