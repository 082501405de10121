/* serve/pg_value.c: see pg_value.h.                                                                                              */
#include "serve/pg_value.h"
#include "format/format.h"
#include "type/decimal.h"
#include "type/number.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

static const int64_t EPOCH_US = INT64_C(946684800) * 1000000; /* 2000-01-01 */
enum { EPOCH_DAYS = 10957 };
static const struct { uint32_t oid, array; int16_t size; } TYPES[] = {
    {PG_BOOL, 1000, 1}, {PG_BYTEA, 1001, -1}, {PG_CHAR1, 1002, 1}, {PG_NAME, 1003, 64}, {PG_INT2, 1005, 2}, {PG_INT4, 1007, 4}, {PG_TEXT, 1009, -1}, {PG_BPCHAR, 1014, -1}, {PG_VARCHAR, 1015, -1},
    {PG_INT8, 1016, 8}, {PG_FLOAT4, 1021, 4}, {PG_FLOAT8, 1022, 8}, {PG_OID, 1028, 4}, {PG_TIMESTAMP, 1115, 8}, {PG_DATE, 1182, 4}, {PG_TIME, 1183, 8}, {PG_TIMESTAMPTZ, 1185, 8},
    {PG_INTERVAL, 1187, 16}, {PG_NUMERIC, 1231, -1}, {PG_JSON, 199, -1}, {PG_REGPROC, 1008, 4},
};

uint32_t pg_array_of(uint32_t oid) {
    for (size_t i = 0; i < WR_COUNT_OF(TYPES); i++)
        if (TYPES[i].oid == oid) return TYPES[i].array;
    return 0;
}

int16_t pg_size_of(uint32_t oid) {
    for (size_t i = 0; i < WR_COUNT_OF(TYPES); i++)
        if (TYPES[i].oid == oid) return TYPES[i].size;
    return -1;
}

uint32_t pg_oid_of(wr_type t) {
    switch ((wr_tid)t.id) {
    case WR_T_BOOLEAN: return PG_BOOL;
    case WR_T_TINYINT:
    case WR_T_SMALLINT: return PG_INT2;
    case WR_T_INT: return PG_INT4;
    case WR_T_BIGINT: return PG_INT8;
    case WR_T_FLOAT: return PG_FLOAT4;
    case WR_T_DOUBLE: return PG_FLOAT8;
    case WR_T_DECIMAL: return PG_NUMERIC;
    case WR_T_CHAR: return PG_BPCHAR;
    case WR_T_VARCHAR: return t.prec == WR_LENGTH_MAX ? PG_TEXT : PG_VARCHAR;
    case WR_T_BINARY:
    case WR_T_VARBINARY:
    case WR_T_BITMAP: return PG_BYTEA;
    case WR_T_DATE: return PG_DATE;
    case WR_T_TIME: return PG_TIME;
    case WR_T_TIMESTAMP: return PG_TIMESTAMP;
    case WR_T_TIMESTAMP_LTZ: return PG_TIMESTAMPTZ;
    case WR_T_INTERVAL_YM:
    case WR_T_INTERVAL_DS: return PG_INTERVAL;
    case WR_T_ARRAY: {
        uint32_t of = wr_type_is_nested(t.kids[0]) || t.kids[0].id == WR_T_VARIANT ? 0 : pg_array_of(pg_oid_of(t.kids[0]));
        return of ? of : PG_JSON;
    }
    case WR_T_MULTISET:
    case WR_T_MAP:
    case WR_T_ROW:
    case WR_T_VARIANT: return PG_JSON;
    case WR_T_NULL:
    case WR_T_COUNT: break;
    }
    return PG_TEXT;
}

int32_t pg_typmod_of(wr_type t) {
    if (t.id == WR_T_DECIMAL) return (int32_t)(((uint32_t)t.prec << 16) | t.scale) + 4;
    if (t.id == WR_T_CHAR || (t.id == WR_T_VARCHAR && t.prec != WR_LENGTH_MAX)) return t.prec + 4;
    if (t.id == WR_T_TIMESTAMP || t.id == WR_T_TIMESTAMP_LTZ) return t.prec < 6 ? t.prec : -1;
    return -1;
}

bool pg_type_of(uint32_t oid, wr_type *out) {
    switch (oid) {
    case PG_BOOL: *out = wr_type_of(WR_T_BOOLEAN); return true;
    case PG_INT2: *out = wr_type_of(WR_T_SMALLINT); return true;
    case PG_INT4: *out = wr_type_of(WR_T_INT); return true;
    case PG_INT8:
    case PG_OID: *out = wr_type_of(WR_T_BIGINT); return true;
    case PG_FLOAT4: *out = wr_type_of(WR_T_FLOAT); return true;
    case PG_FLOAT8: *out = wr_type_of(WR_T_DOUBLE); return true;
    case PG_NUMERIC: *out = wr_type_decimal(38, 12); return true;
    case PG_TEXT:
    case PG_VARCHAR:
    case PG_BPCHAR:
    case PG_NAME:
    case PG_CHAR1:
    case PG_UNKNOWN:
    case PG_JSON: *out = wr_type_string(); return true;
    case PG_BYTEA: *out = wr_type_prec(WR_T_VARBINARY, WR_LENGTH_MAX); return true;
    case PG_DATE: *out = wr_type_of(WR_T_DATE); return true;
    case PG_TIME: *out = wr_type_prec(WR_T_TIME, 3); return true;
    case PG_TIMESTAMP: *out = wr_type_prec(WR_T_TIMESTAMP, 6); return true;
    case PG_TIMESTAMPTZ: *out = wr_type_prec(WR_T_TIMESTAMP_LTZ, 6); return true;
    default: return false;
    }
}

/* ---- numbers of the protocol ---- */
void pg_put_i16(wr_sbuf *out, int16_t v) {
    uint16_t u = __builtin_bswap16((uint16_t)v);
    wr_sbuf_add(out, &u, sizeof u);
}
void pg_put_i32(wr_sbuf *out, int32_t v) {
    uint32_t u = __builtin_bswap32((uint32_t)v);
    wr_sbuf_add(out, &u, sizeof u);
}
void pg_put_i64(wr_sbuf *out, int64_t v) {
    uint64_t u = __builtin_bswap64((uint64_t)v);
    wr_sbuf_add(out, &u, sizeof u);
}

static int64_t integer_at(const wr_vec *vec, uint32_t row) {
    switch (wr_type_storage(vec->type)) {
    case WR_S_BOOL: return ((const uint8_t *)vec->data)[row];
    case WR_S_I8: return ((const int8_t *)vec->data)[row];
    case WR_S_I16: return ((const int16_t *)vec->data)[row];
    case WR_S_I32: return ((const int32_t *)vec->data)[row];
    default: return ((const int64_t *)vec->data)[row];
    }
}

static int64_t micros(wr_type t, int64_t ticks) { return wr_type_ticks_per_second(t) == 1000000 ? ticks : wr_floor_div(ticks, 1000); }

/* ---- text ---- */
static void put_double(double x, bool is_float, wr_sbuf *out) {
    if (isnan(x) || isinf(x)) {
        wr_sbuf_addz(out, isnan(x) ? "NaN" : x > 0 ? "Infinity" : "-Infinity");
        return;
    }
    char text[40];
    for (int digits = is_float ? 6 : 15;; digits++) { /* the least that reads back as the same */
        snprintf(text, sizeof text, "%.*g", digits, x);
        double back = 0;
        (void)wr_parse_double(wr_str_of(text), &back);
        if (digits >= (is_float ? 9 : 17) || (is_float ? (float)back == (float)x : back == x)) break;
    }
    wr_sbuf_addz(out, text);
}

static void put_fraction(int32_t us, wr_sbuf *out) {
    if (!us) return;
    char text[16];
    int  n = snprintf(text, sizeof text, ".%06d", us);
    while (text[n - 1] == '0') n--;
    wr_sbuf_add(out, text, (size_t)n);
}

static void put_timestamp(int64_t us, wr_sbuf *out) {
    wr_civil c = wr_civil_from_us(us);
    wr_sbuf_printf(out, "%04d-%02d-%02d %02d:%02d:%02d", c.year, c.month, c.day, c.hour, c.minute, c.second);
    put_fraction((int32_t)wr_floor_mod(us, 1000000), out);
}

static void put_timestamptz(int64_t us, const wr_tz *tz, wr_sbuf *out) {
    int64_t local = tz ? wr_tz_to_local(tz, us) : us, off = (local - us) / 60000000, a = off < 0 ? -off : off;
    put_timestamp(local, out);
    wr_sbuf_printf(out, "%c%02d", off < 0 ? '-' : '+', (int)(a / 60));
    if (a % 60) wr_sbuf_printf(out, ":%02d", (int)(a % 60));
}

static void put_interval(int64_t months, int64_t us, wr_sbuf *out) {
    int64_t     year = months / 12, mon = months % 12, days = us / WR_US_PER_DAY, rest = us % WR_US_PER_DAY;
    const char *sep = "";
    if (year) wr_sbuf_printf(out, "%" PRId64 " year%s", year, year == 1 ? "" : "s"), sep = " ";
    if (mon) wr_sbuf_printf(out, "%s%" PRId64 " mon%s", sep, mon, mon == 1 ? "" : "s"), sep = " ";
    if (days) wr_sbuf_printf(out, "%s%" PRId64 " day%s", sep, days, days == 1 ? "" : "s"), sep = " ";
    if (!rest && *sep) return;
    int64_t a = rest < 0 ? -rest : rest, s = a / 1000000;
    wr_sbuf_printf(out, "%s%s%02d:%02d:%02d", sep, rest < 0 ? "-" : "", (int)(s / 3600), (int)(s / 60 % 60), (int)(s % 60));
    put_fraction((int32_t)(a % 1000000), out);
}

static void put_bytea(wr_str s, wr_sbuf *out) {
    static const char hex[] = "0123456789abcdef";
    wr_sbuf_addz(out, "\\x");
    for (size_t i = 0; i < s.len; i++) wr_sbuf_addc(out, hex[(uint8_t)s.ptr[i] >> 4]), wr_sbuf_addc(out, hex[s.ptr[i] & 15]);
}

static void put_array(const wr_vec *vec, uint32_t row, const wr_tz *tz, wr_sbuf *out) {
    wr_list l = ((const wr_list *)vec->data)[row];
    wr_sbuf item = {0};
    wr_sbuf_addc(out, '{');
    for (uint32_t i = 0; i < l.len; i++) {
        if (i) wr_sbuf_addc(out, ',');
        if (wr_vec_is_null(&vec->kids[0], l.offset + i)) {
            wr_sbuf_addz(out, "NULL");
            continue;
        }
        wr_sbuf_clear(&item);
        pg_put_text(&vec->kids[0], l.offset + i, tz, &item);
        wr_str s = wr_sbuf_str(&item);
        bool   quote = !s.len || wr_str_ieq(s, WR_STR("null"));
        for (size_t k = 0; k < s.len && !quote; k++) quote = strchr("{},\"\\ \t\n\r\v\f", s.ptr[k]) != NULL;
        if (!quote) {
            wr_sbuf_add_str(out, s);
            continue;
        }
        wr_sbuf_addc(out, '"');
        for (size_t k = 0; k < s.len; k++) {
            if (s.ptr[k] == '"' || s.ptr[k] == '\\') wr_sbuf_addc(out, '\\');
            wr_sbuf_addc(out, s.ptr[k]);
        }
        wr_sbuf_addc(out, '"');
    }
    wr_sbuf_addc(out, '}');
    wr_sbuf_free(&item);
}

static void put_json(const wr_vec *vec, uint32_t row, wr_sbuf *out) {
    static const wr_json_style style = {.sep = ' ', .exact = true};
    wr_json_value(vec, row, &style, out);
}

void pg_put_text(const wr_vec *vec, uint32_t row, const wr_tz *tz, wr_sbuf *out) {
    char text[64];
    switch (pg_oid_of(vec->type)) {
    case PG_BOOL: wr_sbuf_addc(out, ((const uint8_t *)vec->data)[row] ? 't' : 'f'); return;
    case PG_INT2:
    case PG_INT4:
    case PG_INT8: wr_sbuf_add(out, text, wr_text_i64(integer_at(vec, row), text)); return;
    case PG_FLOAT4: put_double((double)((const float *)vec->data)[row], true, out); return;
    case PG_FLOAT8: put_double(((const double *)vec->data)[row], false, out); return;
    case PG_NUMERIC: wr_sbuf_add(out, text, wr_decimal_text(((const wr_i128 *)vec->data)[row], vec->type.scale, text)); return;
    case PG_BYTEA: put_bytea(wr_sview_str(&((const wr_sview *)vec->data)[row]), out); return;
    case PG_DATE: wr_sbuf_add(out, text, wr_text_date(((const int32_t *)vec->data)[row], text)); return;
    case PG_TIME: {
        int64_t ms = integer_at(vec, row), s = ms / 1000;
        wr_sbuf_printf(out, "%02d:%02d:%02d", (int)(s / 3600), (int)(s / 60 % 60), (int)(s % 60));
        put_fraction((int32_t)(ms % 1000) * 1000, out);
        return;
    }
    case PG_TIMESTAMP: put_timestamp(micros(vec->type, integer_at(vec, row)), out); return;
    case PG_TIMESTAMPTZ: put_timestamptz(micros(vec->type, integer_at(vec, row)), tz, out); return;
    case PG_INTERVAL: put_interval(vec->type.id == WR_T_INTERVAL_YM ? integer_at(vec, row) : 0, vec->type.id == WR_T_INTERVAL_DS ? integer_at(vec, row) : 0, out); return;
    case PG_JSON: put_json(vec, row, out); return;
    default: break;
    }
    if (vec->type.id == WR_T_ARRAY) put_array(vec, row, tz, out);
    else wr_vec_text(vec, row, tz, out);
}

/* ---- binary ---- */
/* Digits to the base of 10,000: weight of the first, sign, scale. */
static void put_numeric(wr_i128 v, int scale, wr_sbuf *out) {
    int16_t digits[16];
    int     n = 0, frac = (scale + 3) / 4;
    wr_u128 u = v < 0 ? -(wr_u128)v : (wr_u128)v, whole = u / (wr_u128)wr_pow10(scale), part = u % (wr_u128)wr_pow10(scale);
    int16_t back[12];
    int     n_whole = 0;
    for (; whole; whole /= 10000) back[n_whole++] = (int16_t)(whole % 10000);
    while (n_whole > n) digits[n] = back[n_whole - 1 - n], n++;
    for (int i = 0, left = scale; i < frac; i++, left -= 4) { /* four digits a time from the left */
        wr_u128 unit = left > 4 ? (wr_u128)wr_pow10(left - 4) : 1;
        uint32_t d = (uint32_t)(part / unit);
        part %= unit;
        if (left < 4) d *= (uint32_t)wr_pow10(4 - left), part = 0;
        digits[n++] = (int16_t)d;
    }
    int from = 0, weight = n_whole - 1;
    while (from < n && !digits[from]) from++, weight--;
    while (n > from && !digits[n - 1]) n--;
    if (from == n) weight = 0;
    pg_put_i16(out, (int16_t)(n - from));
    pg_put_i16(out, (int16_t)weight);
    pg_put_i16(out, v < 0 ? 0x4000 : 0);
    pg_put_i16(out, (int16_t)scale);
    for (int i = from; i < n; i++) pg_put_i16(out, digits[i]);
}

static void put_array_binary(const wr_vec *vec, uint32_t row, wr_sbuf *out) {
    wr_list       l = ((const wr_list *)vec->data)[row];
    const wr_vec *kid = &vec->kids[0];
    bool          nulls = false;
    for (uint32_t i = 0; i < l.len; i++) nulls |= wr_vec_is_null(kid, l.offset + i);
    pg_put_i32(out, l.len ? 1 : 0);
    pg_put_i32(out, nulls);
    pg_put_i32(out, (int32_t)pg_oid_of(kid->type));
    if (l.len) pg_put_i32(out, (int32_t)l.len), pg_put_i32(out, 1);
    for (uint32_t i = 0; i < l.len; i++) {
        if (wr_vec_is_null(kid, l.offset + i)) {
            pg_put_i32(out, -1);
            continue;
        }
        size_t at = out->len;
        pg_put_i32(out, 0);
        pg_put_binary(kid, l.offset + i, out);
        uint32_t len = __builtin_bswap32((uint32_t)(out->len - at - 4));
        memcpy(out->at + at, &len, 4);
    }
}

void pg_put_binary(const wr_vec *vec, uint32_t row, wr_sbuf *out) {
    uint32_t oid = pg_oid_of(vec->type);
    switch (oid) {
    case PG_BOOL: wr_sbuf_addc(out, (char)(((const uint8_t *)vec->data)[row] != 0)); return;
    case PG_INT2: pg_put_i16(out, (int16_t)integer_at(vec, row)); return;
    case PG_INT4: pg_put_i32(out, (int32_t)integer_at(vec, row)); return;
    case PG_INT8: pg_put_i64(out, integer_at(vec, row)); return;
    case PG_FLOAT4: {
        int32_t bits;
        memcpy(&bits, (const float *)vec->data + row, 4);
        pg_put_i32(out, bits);
        return;
    }
    case PG_FLOAT8: {
        int64_t bits;
        memcpy(&bits, (const double *)vec->data + row, 8);
        pg_put_i64(out, bits);
        return;
    }
    case PG_NUMERIC: put_numeric(((const wr_i128 *)vec->data)[row], vec->type.scale, out); return;
    case PG_DATE: pg_put_i32(out, ((const int32_t *)vec->data)[row] - EPOCH_DAYS); return;
    case PG_TIME: pg_put_i64(out, integer_at(vec, row) * 1000); return;
    case PG_TIMESTAMP:
    case PG_TIMESTAMPTZ: pg_put_i64(out, micros(vec->type, integer_at(vec, row)) - EPOCH_US); return;
    case PG_INTERVAL: {
        int64_t v = integer_at(vec, row);
        bool    ym = vec->type.id == WR_T_INTERVAL_YM;
        pg_put_i64(out, ym ? 0 : v % WR_US_PER_DAY);
        pg_put_i32(out, ym ? 0 : (int32_t)(v / WR_US_PER_DAY));
        pg_put_i32(out, ym ? (int32_t)v : 0);
        return;
    }
    case PG_JSON: put_json(vec, row, out); return;
    default: break;
    }
    if (vec->type.id == WR_T_ARRAY) put_array_binary(vec, row, out);
    else if (wr_type_storage(vec->type) == WR_S_STR) wr_sbuf_add_str(out, wr_sview_str(&((const wr_sview *)vec->data)[row]));
    else wr_vec_text(vec, row, NULL, out);
}

/* ---- values that clients send ---- */
static wr_status bad_text(wr_type t, wr_str text, wr_err *err) {
    wr_sbuf name = {0};
    wr_type_text(wr_type_with_null(t, true), &name);
    wr_fail(err, WR_DATA, "22P02", "invalid input for %.*s: \"%.*s\"", WR_FMT(wr_sbuf_str(&name)), (int)WR_MIN(text.len, (size_t)100), text.ptr);
    wr_sbuf_free(&name);
    return WR_DATA;
}

static bool parse_bool(wr_str t, bool *out) {
    static const char *const yes[] = {"t", "true", "y", "yes", "on", "1"}, *const no[] = {"f", "false", "n", "no", "off", "0"};
    for (size_t i = 0; i < WR_COUNT_OF(yes); i++) {
        if (wr_str_ieq(t, wr_str_of(yes[i]))) return *out = true, true;
        if (wr_str_ieq(t, wr_str_of(no[i]))) return *out = false, true;
    }
    return false;
}

static int hex(char c) { return c >= '0' && c <= '9' ? c - '0' : (c | 32) >= 'a' && (c | 32) <= 'f' ? (c | 32) - 'a' + 10 : -1; }

static bool parse_bytea(wr_arena *arena, wr_str t, wr_str *out) {
    if (t.len < 2 || t.ptr[0] != '\\' || t.ptr[1] != 'x') return *out = wr_str_dup(arena, t), true;
    char  *bytes = wr_arena_alloc(arena, t.len);
    size_t n = 0;
    for (size_t i = 2; i + 1 < t.len; i += 2) {
        if (hex(t.ptr[i]) < 0 || hex(t.ptr[i + 1]) < 0) return false;
        bytes[n++] = (char)(hex(t.ptr[i]) * 16 + hex(t.ptr[i + 1]));
    }
    *out = (wr_str){bytes, n};
    return t.len % 2 == 0;
}

static bool parse_ticks(wr_type type, wr_str t, const wr_tz *tz, int64_t *out) {
    int64_t us;
    int32_t nanos;
    bool    zoned;
    char    text[64];
    if (t.len >= sizeof text) return false;
    snprintf(text, sizeof text, "%.*s", WR_FMT(t));
    if (!wr_parse_timestamp(wr_str_of(text), &us, &nanos, &zoned)) return false;
    if (type.id == WR_T_TIMESTAMP_LTZ && !zoned) us = tz ? wr_tz_to_utc(tz, us) : us;
    *out = wr_type_ticks_per_second(type) == 1000000 ? us : us * 1000 + nanos;
    return true;
}

static bool integer_fits(wr_type t, int64_t v) {
    int64_t most = t.id == WR_T_TINYINT ? INT8_MAX : t.id == WR_T_SMALLINT ? INT16_MAX : t.id == WR_T_INT ? INT32_MAX : INT64_MAX;
    return v <= most && v >= -most - 1;
}

bool pg_decimal_digits(wr_str t, int *whole, int *frac) {
    enum { FAR = 100000 };
    size_t at = t.len && (t.ptr[0] == '-' || t.ptr[0] == '+');
    int    n = 0, point = -1, first = -1, last = -1, e = 0;
    for (; at < t.len && n < FAR; at++) {
        if (t.ptr[at] == '.' && point < 0) {
            point = n;
            continue;
        }
        if (t.ptr[at] < '0' || t.ptr[at] > '9') break;
        if (t.ptr[at] != '0') last = n, first = first < 0 ? n : first;
        n++;
    }
    if (!n || n == FAR) return false;
    if (at < t.len && (t.ptr[at] | 32) == 'e') {
        bool down = ++at < t.len && t.ptr[at] == '-';
        at += at < t.len && (down || t.ptr[at] == '+');
        if (at == t.len) return false;
        for (; at < t.len && t.ptr[at] >= '0' && t.ptr[at] <= '9'; at++) e = WR_MIN(e * 10 + t.ptr[at] - '0', (int)FAR);
        if (down) e = -e;
    }
    if (at != t.len) return false;
    if (point < 0) point = n;
    *whole = first < 0 ? 0 : WR_MAX(point + e - first, 0);
    *frac = first < 0 ? 0 : WR_MAX(last + 1 - point - e, 0);
    return true;
}

/* With as many digits as its text has: a constant that was rounded would compare otherwise. */
static bool parse_decimal(wr_str t, wr_value *out) {
    enum { MOST = 38 };
    int whole, frac;
    if (!pg_decimal_digits(t, &whole, &frac) || whole + frac > MOST) return false;
    if (frac > out->type.scale || whole > out->type.prec - out->type.scale) {
        bool nullable = out->type.nullable;
        out->type = wr_type_with_null(wr_type_decimal(MOST, frac), nullable);
    }
    return wr_decimal_parse(t, out->type.prec, out->type.scale, &out->d);
}

wr_status pg_parse_text(wr_arena *arena, wr_type type, wr_str text, const wr_tz *tz, wr_value *out, wr_err *err) {
    wr_str  t = wr_str_trim(text);
    int32_t part;
    bool    ok = false;
    *out = (wr_value){.type = type};
    switch ((wr_tid)type.id) {
    case WR_T_BOOLEAN: ok = parse_bool(t, &out->b); break;
    case WR_T_TINYINT:
    case WR_T_SMALLINT:
    case WR_T_INT:
    case WR_T_BIGINT: ok = wr_parse_i64(t, &out->i) && integer_fits(type, out->i); break;
    case WR_T_FLOAT:
    case WR_T_DOUBLE: ok = wr_parse_double(t, &out->f); break;
    case WR_T_DECIMAL: ok = parse_decimal(t, out); break;
    case WR_T_CHAR:
    case WR_T_VARCHAR: out->s = wr_str_dup(arena, text), ok = wr_utf8_valid(text); break;
    case WR_T_BINARY:
    case WR_T_VARBINARY: ok = parse_bytea(arena, t, &out->s); break;
    case WR_T_DATE:
        ok = wr_parse_date(t.len > 10 ? (wr_str){t.ptr, 10} : t, &part);
        out->i = part;
        break;
    case WR_T_TIME:
        ok = wr_parse_time(t, &part);
        out->i = part;
        break;
    case WR_T_TIMESTAMP:
    case WR_T_TIMESTAMP_LTZ: ok = parse_ticks(type, t, tz, &out->i); break;
    default: return wr_fail(err, WR_UNSUPPORTED, "0A000", "a value of type %s cannot be given as a parameter", wr_tid_name((wr_tid)type.id));
    }
    return ok ? WR_OK : bad_text(type, text, err);
}

static int64_t get_int(wr_str b) {
    uint64_t v = 0;
    for (size_t i = 0; i < b.len; i++) v = v << 8 | (uint8_t)b.ptr[i];
    if (b.len && b.len < 8 && (b.ptr[0] & 0x80)) v |= ~UINT64_C(0) << (b.len * 8);
    return (int64_t)v;
}

/* Text of a numeric in binary. */
static bool numeric_text(wr_str b, wr_sbuf *out) {
    if (b.len < 8) return false;
    int64_t n = get_int((wr_str){b.ptr, 2}), weight = get_int((wr_str){b.ptr + 2, 2}), sign = get_int((wr_str){b.ptr + 4, 2}), scale = get_int((wr_str){b.ptr + 6, 2});
    if (n < 0 || (size_t)(8 + 2 * n) != b.len || (sign != 0 && sign != 0x4000) || weight > 12 || weight < -12 || scale < 0 || scale > 60) return false;
    if (sign) wr_sbuf_addc(out, '-');
    wr_sbuf_addc(out, '0');
    for (int64_t i = WR_MIN(weight, (int64_t)0); i <= weight || i < n; i++) {
        int64_t at = i, d = at >= 0 && at < n ? get_int((wr_str){b.ptr + 8 + 2 * at, 2}) : 0;
        if (d < 0 || d > 9999) return false;
        if (i < 0) continue;
        if (i == weight + 1 || (weight < 0 && i == 0)) {
            wr_sbuf_addc(out, '.');
            for (int64_t z = weight < 0 ? weight + 1 : 0; z < 0; z++) wr_sbuf_addz(out, "0000");
        }
        wr_sbuf_printf(out, "%04d", (int)d);
    }
    return true;
}

wr_status pg_parse_binary(wr_arena *arena, uint32_t oid, wr_str b, wr_value *out, wr_err *err) {
    wr_type type;
    if (!pg_type_of(oid, &type)) return wr_fail(err, WR_UNSUPPORTED, "0A000", "a parameter of the type with OID %u cannot be given in binary", oid);
    int16_t size = pg_size_of(oid);
    *out = (wr_value){.type = type};
    bool ok = oid == PG_NAME || size < 0 || (size_t)size == b.len;
    switch ((wr_tid)type.id) {
    case WR_T_BOOLEAN: out->b = ok && b.ptr[0] != 0; break;
    case WR_T_FLOAT: {
        uint32_t bits = (uint32_t)get_int(b);
        float    f;
        memcpy(&f, &bits, 4);
        out->f = (double)f;
        break;
    }
    case WR_T_DOUBLE: {
        uint64_t bits = (uint64_t)get_int(b);
        memcpy(&out->f, &bits, 8);
        break;
    }
    case WR_T_DECIMAL: {
        wr_sbuf text = {0};
        ok = numeric_text(b, &text) && parse_decimal(wr_sbuf_str(&text), out);
        wr_sbuf_free(&text);
        break;
    }
    case WR_T_VARCHAR: out->s = wr_str_dup(arena, b), ok = wr_utf8_valid(b); break;
    case WR_T_VARBINARY: out->s = wr_str_dup(arena, b); break;
    case WR_T_DATE: out->i = get_int(b) + EPOCH_DAYS; break;
    case WR_T_TIME: out->i = get_int(b) / 1000; break;
    case WR_T_TIMESTAMP:
    case WR_T_TIMESTAMP_LTZ: ok = ok && !__builtin_add_overflow(get_int(b), EPOCH_US, &out->i); break;
    default: out->i = oid == PG_OID ? (int64_t)(uint32_t)get_int(b) : get_int(b); break;
    }
    return ok ? WR_OK : wr_fail(err, WR_DATA, "22P03", "a binary parameter has the wrong form for the type with OID %u", oid);
}

static void put_quoted(wr_str s, wr_sbuf *out) {
    wr_sbuf_addc(out, '\'');
    for (size_t i = 0; i < s.len; i++) {
        if (s.ptr[i] == '\'') wr_sbuf_addc(out, '\'');
        wr_sbuf_addc(out, s.ptr[i]);
    }
    wr_sbuf_addc(out, '\'');
}

void pg_put_literal(const wr_value *v, wr_sbuf *out) {
    wr_sbuf text = {0};
    wr_type plain = wr_type_with_null(v->type, true);
    if (v->null) {
        wr_sbuf_addz(out, "CAST(NULL AS ");
        wr_type_text(plain, out);
        wr_sbuf_addc(out, ')');
        return;
    }
    switch ((wr_tid)v->type.id) {
    case WR_T_BOOLEAN: wr_sbuf_addz(out, v->b ? "TRUE" : "FALSE"); return;
    case WR_T_VARCHAR:
    case WR_T_CHAR: put_quoted(v->s, out); return;
    case WR_T_VARBINARY:
    case WR_T_BINARY:
        put_bytea(v->s, &text);
        wr_sbuf_printf(out, "X'%.*s'", (int)text.len - 2, text.at + 2);
        break;
    case WR_T_INT:
        if (v->i >= 0) {
            wr_sbuf_printf(out, "%" PRId64, v->i);
            return;
        }
        /* fall through */
    default: /* the engine's own reading of its own text */
        wr_value_text(v, NULL, &text);
        wr_sbuf_addz(out, "CAST(");
        put_quoted(wr_sbuf_str(&text), out);
        wr_sbuf_addz(out, " AS ");
        wr_type_text(plain, out);
        wr_sbuf_addc(out, ')');
        break;
    }
    wr_sbuf_free(&text);
}
