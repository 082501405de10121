/* expr/cast.c: CAST and TRY_CAST over Flink's table of conversions.
 *
 * Idea       wr_cast_kernel(from, to) picks a kernel; numbers go by dense templates (shape_cast.h), time points by one kernel over
 *            (microseconds, nanoseconds), anything to text by the column printer of type/, nested values element by element.
 * Rules      integers wrap; DOUBLE to integer saturates as in Java; to DECIMAL rounds half up, NULL if the digits do not fit; text that
 *            is not a value fails the job (TRY_CAST: NULL); CHAR(n) pads and cuts, VARCHAR(n) cuts.
 * Not here   which conversions happen without being written (resolve.c: wr_expr_can_coerce).                       */
#include <math.h>
#include "type/number.h"
#include "fn.h"
#include "fn_time.h"

#define K_JOIN_(a, b) a##_##b
#define K_JOIN(a, b) K_JOIN_(a, b)

WR_INLINE int64_t java_i64(double x) {
    if (x != x) return 0;
    if (x >= 9223372036854775808.0) return INT64_MAX;
    if (x < -9223372036854775808.0) return INT64_MIN;
    return (int64_t)x;
}
WR_INLINE int32_t java_i32(double x) {
    if (x != x) return 0;
    if (x >= 2147483647.0) return INT32_MAX;
    if (x <= -2147483648.0) return INT32_MIN;
    return (int32_t)x;
}
#define WRAP32(x) ((int32_t)(x))
#define WRAP64(x) ((int64_t)(x))
#define K_T uint8_t
#define K_TAG u8
#define K_I32 WRAP32
#define K_I64 WRAP64
#include "shape_cast.h"
#define K_T int8_t
#define K_TAG i8
#define K_I32 WRAP32
#define K_I64 WRAP64
#include "shape_cast.h"
#define K_T int16_t
#define K_TAG i16
#define K_I32 WRAP32
#define K_I64 WRAP64
#include "shape_cast.h"
#define K_T int32_t
#define K_TAG i32
#define K_I32 WRAP32
#define K_I64 WRAP64
#include "shape_cast.h"
#define K_T int64_t
#define K_TAG i64
#define K_I32 WRAP32
#define K_I64 WRAP64
#include "shape_cast.h"
#define K_T float
#define K_TAG f32
#define K_I32 java_i32
#define K_I64 java_i64
#include "shape_cast.h"
#define K_T double
#define K_TAG f64
#define K_I32 java_i32
#define K_I64 java_i64
#include "shape_cast.h"

/* ---- DECIMAL ---- */
static int64_t int_at(wr_storage s, const void *data, uint32_t row) {
    switch (s) {
    case WR_S_BOOL: return ((const uint8_t *)data)[row];
    case WR_S_I8: return ((const int8_t *)data)[row];
    case WR_S_I16: return ((const int16_t *)data)[row];
    case WR_S_I32: return ((const int32_t *)data)[row];
    default: return ((const int64_t *)data)[row];
    }
}

#define TIMES_SCALE wr_u128 factor = (wr_u128)wr_pow10(c->out->type.scale);
#define SCALED(x) ((wr_u128)(wr_i128)(x) * factor)
#define K_NAME i32_dec
#define K_A int32_t
#define K_R wr_u128
#define K_SETUP TIMES_SCALE
#define K_OP SCALED
#include "shape_unary.h"
#define K_NAME i64_dec
#define K_A int64_t
#define K_R wr_u128
#define K_SETUP TIMES_SCALE
#define K_OP SCALED
#include "shape_unary.h"
#define K_NAME i64_dec0
#define K_A int64_t
#define K_R wr_i128
#define K_OP(x) (x)
#include "shape_unary.h"
#define K_NAME i16_dec
#define K_A int16_t
#define K_R wr_u128
#define K_SETUP TIMES_SCALE
#define K_OP SCALED
#include "shape_unary.h"
#define K_NAME i8_dec
#define K_A int8_t
#define K_R wr_u128
#define K_SETUP TIMES_SCALE
#define K_OP SCALED
#include "shape_unary.h"
#define K_NAME dec_up /* to a larger scale, room for all digits */
#define K_A wr_u128
#define K_R wr_u128
#define K_SETUP wr_u128 factor = (wr_u128)wr_pow10(c->out->type.scale - arg_type(c, 0).scale);
#define K_OP(x) ((x) * factor)
#include "shape_unary.h"
#define K_NAME dec_bool
#define K_A wr_i128
#define K_R uint8_t
#define K_OP(x) ((x) != 0)
#include "shape_unary.h"

static wr_status int_dec_checked(wr_call *c) {
    wr_storage s = wr_type_storage(arg_type(c, 0));
    wr_type    t = c->out->type;
    for ROWS(c, r)
        if (!wr_decimal_rescale(int_at(s, c->arg[0].vec->data, r & c->arg[0].mask), 0, t.prec, t.scale, &OUT(c, wr_i128)[r])) OUT(c, wr_i128)[r] = 0, call_null(c, r);
    return WR_OK;
}
static wr_status dec_dec(wr_call *c) {
    wr_type t = c->out->type;
    int     from = arg_type(c, 0).scale;
    for ROWS(c, r)
        if (!wr_decimal_rescale(ARG(c, 0, wr_i128, r), from, t.prec, t.scale, &OUT(c, wr_i128)[r])) OUT(c, wr_i128)[r] = 0, call_null(c, r);
    return WR_OK;
}
static wr_status float_dec(wr_call *c) {
    wr_type t = c->out->type;
    bool    f32 = arg_type(c, 0).id == WR_T_FLOAT;
    for ROWS(c, r) {
        double x;
        if (f32) { /* by its own shortest digits: 0.1 as FLOAT is 0.1, not 0.10000000149 */
            char text[32];
            size_t len = wr_text_float(ARG(c, 0, float, r), text);
            if (!wr_parse_double((wr_str){text, len}, &x)) x = NAN;
        } else {
            x = ARG(c, 0, double, r);
        }
        if (!wr_decimal_from_double(x, t.prec, t.scale, &OUT(c, wr_i128)[r])) OUT(c, wr_i128)[r] = 0, call_null(c, r);
    }
    return WR_OK;
}
static wr_status dec_number(wr_call *c) {
    int        scale = arg_type(c, 0).scale;
    wr_i128    unit = wr_pow10(scale);
    wr_storage s = wr_type_storage(c->out->type);
    for ROWS(c, r) {
        wr_i128 v = ARG(c, 0, wr_i128, r);
        int64_t i = (int64_t)(v / unit);
        switch (s) {
        case WR_S_I8: OUT(c, int8_t)[r] = (int8_t)i; break;
        case WR_S_I16: OUT(c, int16_t)[r] = (int16_t)i; break;
        case WR_S_I32: OUT(c, int32_t)[r] = (int32_t)i; break;
        case WR_S_I64: OUT(c, int64_t)[r] = i; break;
        case WR_S_F32: OUT(c, float)[r] = (float)wr_decimal_to_double(v, scale); break;
        default: OUT(c, double)[r] = wr_decimal_to_double(v, scale); break;
        }
    }
    return WR_OK;
}

/* ---- text to values ---- */
static wr_status bad_text(wr_call *c, uint32_t row, wr_str s) {
    wr_sbuf t = {0};
    wr_type type = c->out->type;
    type.nullable = 1;
    wr_type_text(type, &t);
    wr_status st = call_fail(c, row, "22018", "cannot cast '%.*s%s' to %s", (int)WR_MIN(s.len, (size_t)60), s.ptr, s.len > 60 ? "..." : "", t.at);
    wr_sbuf_free(&t);
    return st;
}

/* Digits with a sign; a fraction of digits is cut off, as Flink does. */
static bool parse_integer(wr_str s, int64_t min, int64_t max, int64_t *out) {
    s = wr_str_trim(s);
    size_t i = 0;
    bool   minus = s.len && s.ptr[0] == '-';
    if (s.len && (s.ptr[0] == '-' || s.ptr[0] == '+')) i++;
    if (i == s.len) return false;
    uint64_t v = 0, limit = minus ? 0 - (uint64_t)min : (uint64_t)max;
    size_t   first = i;
    for (; i < s.len && s.ptr[i] != '.'; i++) {
        unsigned d = (unsigned)(s.ptr[i] - '0');
        if (d > 9 || v > (limit - d) / 10) return false;
        v = v * 10 + d;
    }
    if (i == first && s.len == i + 1) return false; /* "." or "-." */
    for (i++; i < s.len; i++)
        if ((unsigned)(s.ptr[i] - '0') > 9) return false;
    *out = (int64_t)(minus ? 0 - v : v);
    return true;
}

static wr_status str_int(wr_call *c) {
    static const int64_t lows[] = {[WR_S_I8] = INT8_MIN, [WR_S_I16] = INT16_MIN, [WR_S_I32] = INT32_MIN, [WR_S_I64] = INT64_MIN};
    wr_storage           s = wr_type_storage(c->out->type);
    int64_t              min = lows[s], max = -(min + 1), v;
    for ROWS(c, r) {
        wr_str text = arg_str(c, 0, r);
        if (!parse_integer(text, min, max, &v)) {
            WR_TRY(bad_text(c, r, text));
            v = 0;
        }
        switch (s) {
        case WR_S_I8: OUT(c, int8_t)[r] = (int8_t)v; break;
        case WR_S_I16: OUT(c, int16_t)[r] = (int16_t)v; break;
        case WR_S_I32: OUT(c, int32_t)[r] = (int32_t)v; break;
        default: OUT(c, int64_t)[r] = v; break;
        }
    }
    return WR_OK;
}
static wr_status str_float(wr_call *c) {
    bool f32 = c->out->type.id == WR_T_FLOAT;
    for ROWS(c, r) {
        double x;
        wr_str text = arg_str(c, 0, r);
        if (!wr_parse_double(text, &x)) {
            WR_TRY(bad_text(c, r, text));
            x = 0;
        }
        if (f32) OUT(c, float)[r] = (float)x;
        else OUT(c, double)[r] = x;
    }
    return WR_OK;
}
static wr_status str_dec(wr_call *c) {
    wr_type t = c->out->type;
    for ROWS(c, r) {
        double x;
        wr_str text = wr_str_trim(arg_str(c, 0, r));
        if (wr_decimal_parse(text, t.prec, t.scale, &OUT(c, wr_i128)[r])) continue;
        OUT(c, wr_i128)[r] = 0;
        if (wr_parse_double(text, &x) && x - x == 0) call_null(c, r); /* a number with too many digits */
        else WR_TRY(bad_text(c, r, text));
    }
    return WR_OK;
}
static wr_status str_bool(wr_call *c) {
    static const char *const yes[] = {"t", "true", "y", "yes", "1"}, *const no[] = {"f", "false", "n", "no", "0"};
    for ROWS(c, r) {
        wr_str s = wr_str_trim(arg_str(c, 0, r));
        int    v = -1;
        for (int i = 0; i < 5 && v < 0; i++) {
            if (wr_str_ieq(s, wr_str_of(yes[i]))) v = 1;
            if (wr_str_ieq(s, wr_str_of(no[i]))) v = 0;
        }
        if (v < 0) WR_TRY(bad_text(c, r, s));
        OUT(c, uint8_t)[r] = v == 1;
    }
    return WR_OK;
}
/* '2026' and '2026-5' are dates, '12' is a time: as Flink. */
static bool short_number(wr_str s, size_t max, int32_t *out) {
    *out = 0;
    for (size_t i = 0; i < s.len; i++) {
        if (!ch_digit((unsigned char)s.ptr[i])) return false;
        *out = *out * 10 + (s.ptr[i] - '0');
        if (i >= max) return false;
    }
    return s.len > 0;
}
static bool short_date(wr_str s, int32_t *days) {
    const char *dash = s.len ? memchr(s.ptr, '-', s.len) : NULL;
    wr_str      year = {s.ptr, dash ? (size_t)(dash - s.ptr) : s.len};
    int32_t     y, m = 1;
    if (!short_number(year, 4, &y) || (dash && !short_number((wr_str){dash + 1, s.len - year.len - 1}, 2, &m)) || m < 1 || m > 12) return false;
    *days = wr_days_from_civil(y, m, 1);
    return true;
}
static bool short_time(wr_str s, int32_t *ms) {
    int32_t hour;
    if (!short_number(s, 2, &hour) || hour > 23) return false;
    *ms = hour * 3600000;
    return true;
}
static wr_status str_time(wr_call *c) {
    wr_type t = c->out->type;
    for ROWS(c, r) {
        wr_str  s = wr_str_trim(arg_str(c, 0, r));
        int64_t us = 0;
        int32_t v = 0, nanos = 0;
        bool    zoned = false, ok;
        if (s.len && memchr(s.ptr, 'T', s.len)) ok = false; /* CAST takes the SQL form only */
        else if (t.id == WR_T_DATE) ok = wr_parse_date(s, &v) || short_date(s, &v);
        else if (t.id == WR_T_TIME) ok = wr_parse_time(s, &v) || short_time(s, &v);
        else ok = wr_parse_timestamp(s, &us, &nanos, &zoned);
        if (!ok) WR_TRY(bad_text(c, r, s));
        if (t.id == WR_T_DATE || t.id == WR_T_TIME) {
            OUT(c, int32_t)[r] = v;
        } else {
            if (t.id == WR_T_TIMESTAMP_LTZ && !zoned && ok) us = wr_tz_to_utc(c->tz, us);
            OUT(c, int64_t)[r] = wr_time_ticks(t, us, nanos);
        }
    }
    return WR_OK;
}

/* ---- values to text ---- */
static void put_length(wr_call *c, uint32_t r, wr_str s, bool is_view) { /* pads and cuts to the type's length */
    wr_type t = c->out->type;
    size_t  want = (size_t)t.prec;
    bool    bytes = wr_type_is_binary(t);
    if (t.prec < WR_LENGTH_MAX && s.len > want) { /* fewer bytes than characters wanted: nothing to cut */
        size_t cut = bytes ? want : wr_utf8_offset(s, want);
        if (cut < s.len) s.len = cut;
    }
    if (t.id == WR_T_CHAR || t.id == WR_T_BINARY) {
        size_t have = bytes ? s.len : wr_utf8_chars(s);
        if (have < want) {
            char *p = call_text(c, s.len + want - have);
            memcpy(p, s.ptr, s.len);
            memset(p + s.len, bytes ? 0 : ' ', want - have);
            call_view(c, r, p, s.len + want - have);
            return;
        }
    }
    if (is_view) call_view(c, r, s.ptr, s.len);
    else call_put(c, r, s.ptr, s.len);
}

static wr_status str_str(wr_call *c) {
    for ROWS(c, r) {
        const wr_sview *v = &((const wr_sview *)c->arg[0].vec->data)[r & c->arg[0].mask];
        put_length(c, r, wr_sview_str(v), true);
    }
    return WR_OK;
}
static wr_status int_str(wr_call *c) {
    wr_storage s = wr_type_storage(arg_type(c, 0));
    char       text[32];
    for ROWS(c, r) {
        size_t len = wr_text_i64(int_at(s, c->arg[0].vec->data, r & c->arg[0].mask), text);
        put_length(c, r, (wr_str){text, len}, false);
    }
    return WR_OK;
}
static wr_status any_str(wr_call *c) {
    wr_sbuf buf = {0};
    for ROWS(c, r) {
        wr_sbuf_clear(&buf);
        wr_vec_text(c->arg[0].vec, r & c->arg[0].mask, c->tz, &buf);
        put_length(c, r, wr_sbuf_str(&buf), false);
    }
    wr_sbuf_free(&buf);
    return WR_OK;
}

/* ---- time points and intervals ---- */
static wr_status time_time(wr_call *c) {
    wr_type from = arg_type(c, 0), to = c->out->type;
    bool    from_ltz = from.id == WR_T_TIMESTAMP_LTZ, to_ltz = to.id == WR_T_TIMESTAMP_LTZ;
    for ROWS(c, r) {
        int32_t nanos = 0;
        int64_t us;
        if (from.id == WR_T_TIME) us = (int64_t)ARG(c, 0, int32_t, r) * 1000;
        else us = wr_time_us(from, c->arg[0].vec->data, r & c->arg[0].mask, c->tz, !to_ltz, &nanos);
        if (to_ltz && !from_ltz) us = wr_tz_to_utc(c->tz, us);
        if (to.id == WR_T_DATE) OUT(c, int32_t)[r] = (int32_t)wr_floor_div(us, WR_US_PER_DAY);
        else if (to.id == WR_T_TIME) OUT(c, int32_t)[r] = (int32_t)(wr_floor_mod(us, WR_US_PER_DAY) / 1000);
        else OUT(c, int64_t)[r] = wr_time_ticks(to, us, nanos);
    }
    return WR_OK;
}
static wr_status ds_int(wr_call *c) { /* milliseconds */
    wr_storage s = wr_type_storage(c->out->type);
    for ROWS(c, r) {
        int64_t ms = ARG(c, 0, int64_t, r) / 1000;
        if (s == WR_S_I64) OUT(c, int64_t)[r] = ms;
        else OUT(c, int32_t)[r] = (int32_t)ms;
    }
    return WR_OK;
}

/* ---- nested: the children by the same rules ---- */
static wr_vec shifted(const wr_vec *v, uint32_t base, uint32_t n) {
    wr_vec s = *v;
    s.n = n;
    if (s.valid) s.valid += base / 64;
    size_t w = wr_storage_size(wr_type_storage(v->type));
    if (w) s.data = (char *)s.data + (size_t)base * w;
    return s;
}

static wr_status cast_child(wr_call *c, const wr_vec *in, wr_vec *out, wr_type to, uint32_t n);

static wr_status cast_slice(wr_call *c, const wr_vec *in, wr_vec *out, wr_kernel kernel, uint32_t flags) {
    uint16_t rows[WR_BATCH_MAX];
    uint64_t valid[WR_BATCH_MAX / 64];
    wr_arg   arg = {in, UINT32_MAX};
    wr_call  sub = *c;
    sub.arg = &arg, sub.n_args = 1, sub.out = out, sub.n = in->n, sub.n_rows = in->n, sub.rows = NULL, sub.in = NULL, sub.valid_buf = valid;
    wr_impl impl = {.kernel = kernel, .flags = flags};
    sub.impl = &impl;
    if (in->valid && !(flags & FN_DENSE)) {
        sub.rows = rows, sub.n_rows = 0;
        for (uint32_t i = 0; i < in->n; i++)
            if (wr_valid_get(in->valid, i)) rows[sub.n_rows++] = (uint16_t)i;
    }
    return kernel(&sub);
}

static wr_status nested_nested(wr_call *c) {
    wr_vec in = *c->arg[0].vec, out;
    uint32_t n = c->n;
    WR_TRY(cast_child(c, &in, &out, c->out->type, n));
    *c->out = out;
    return WR_OK;
}

static wr_status cast_child(wr_call *c, const wr_vec *in, wr_vec *out, wr_type to, uint32_t n) {
    uint32_t  flags = 0;
    wr_kernel kernel = wr_cast_kernel(in->type, to, &flags);
    if (flags & FN_SAME || wr_type_same(in->type, to)) {
        *out = *in;
        out->type = to;
        return WR_OK;
    }
    if (kernel == nested_nested) {
        *out = (wr_vec){.type = to, .valid = in->valid, .data = in->data, .n = n};
        out->kids = wr_mem_calloc(c->mem, sizeof(wr_vec) * to.n_kids);
        for (uint32_t k = 0; k < to.n_kids; k++) WR_TRY(cast_child(c, &in->kids[k], &out->kids[k], to.kids[k], in->type.id == WR_T_ROW ? n : in->kids[k].n));
        return WR_OK;
    }
    wr_vec_init(out, to, n, true, c->mem);
    if (wr_type_storage(to) == WR_S_STR) memset(out->data, 0, (size_t)n * sizeof(wr_sview));
    if (in->type.id == WR_T_NULL) memset(out->valid, 0, wr_valid_bytes(n));
    else if (in->valid) memcpy(out->valid, in->valid, wr_valid_bytes(n));
    for (uint32_t base = 0; base < n && in->type.id != WR_T_NULL; base += WR_BATCH_MAX) {
        uint32_t part = WR_MIN(n - base, (uint32_t)WR_BATCH_MAX);
        wr_vec   a = shifted(in, base, part), b = shifted(out, base, part);
        WR_TRY(cast_slice(c, &a, &b, kernel, flags));
    }
    return WR_OK;
}

/* ---- the table ---- */
static wr_kernel number_kernel(wr_storage from, wr_storage to) {
#define ROW_OF(tag) {[WR_S_BOOL] = tag##_u8, [WR_S_I8] = tag##_i8, [WR_S_I16] = tag##_i16, [WR_S_I32] = tag##_i32, [WR_S_I64] = tag##_i64, [WR_S_F32] = tag##_f32, [WR_S_F64] = tag##_f64}
    static const wr_kernel by[][WR_S_F64 + 1] = {[WR_S_BOOL] = ROW_OF(u8), [WR_S_I8] = ROW_OF(i8), [WR_S_I16] = ROW_OF(i16), [WR_S_I32] = ROW_OF(i32),
                                                 [WR_S_I64] = ROW_OF(i64), [WR_S_F32] = ROW_OF(f32), [WR_S_F64] = ROW_OF(f64)};
    return by[from][to];
}

static wr_kernel to_decimal(wr_type from, wr_type to, uint32_t *flags) {
    if (from.id == WR_T_FLOAT || from.id == WR_T_DOUBLE) return *flags |= FN_NULLABLE, float_dec;
    if (wr_type_is_string(from)) return *flags |= FN_NULLABLE, str_dec;
    if (from.id == WR_T_BOOLEAN) return *flags |= to.prec == to.scale ? FN_NULLABLE : 0, int_dec_checked;
    if (from.id == WR_T_DECIMAL) {
        bool room = to.prec - to.scale >= from.prec - from.scale;
        if (room && to.scale == from.scale) return *flags |= FN_SAME, NULL;
        if (room && to.scale > from.scale) return *flags |= FN_DENSE, dec_up;
        if (to.prec - to.scale <= from.prec - from.scale) *flags |= FN_NULLABLE; /* rounding may add a digit */
        return dec_dec;
    }
    if (!wr_type_is_integer(from)) return NULL;
    static const int digits[] = {[WR_T_TINYINT] = 3, [WR_T_SMALLINT] = 5, [WR_T_INT] = 10, [WR_T_BIGINT] = 19};
    if (to.prec - to.scale < digits[from.id]) return *flags |= FN_NULLABLE, int_dec_checked;
    *flags |= FN_DENSE;
    switch (from.id) {
    case WR_T_TINYINT: return i8_dec;
    case WR_T_SMALLINT: return i16_dec;
    case WR_T_INT: return i32_dec;
    default: return to.scale ? i64_dec : i64_dec0;
    }
}

static wr_kernel to_text(wr_type from, wr_type to, uint32_t *flags) {
    bool both_text = wr_type_is_string(from) || wr_type_is_binary(from);
    bool grows = to.id == WR_T_VARCHAR || to.id == WR_T_VARBINARY;
    if (wr_type_is_binary(to) && from.id == WR_T_BITMAP) {
        if (to.prec != WR_LENGTH_MAX || !grows) return str_str;
        *flags |= FN_SAME;
        return NULL;
    }
    if (wr_type_is_binary(to) && !both_text) return NULL;
    if (both_text) {
        bool same_unit = wr_type_is_binary(from) == wr_type_is_binary(to);
        if (grows && (to.prec == WR_LENGTH_MAX || (same_unit && from.prec <= to.prec))) return *flags |= FN_SAME, NULL;
        if (same_unit && from.id == to.id && from.prec == to.prec) return *flags |= FN_SAME, NULL;
        return str_str;
    }
    return wr_type_is_integer(from) ? int_str : any_str;
}

static wr_kernel to_time(wr_type from, wr_type to, uint32_t *flags) {
    if (wr_type_is_string(from)) return str_time;
    if (!wr_type_is_time_point(from)) return NULL;
    if (from.id == to.id && (from.id == WR_T_DATE || from.id == WR_T_TIME)) return *flags |= FN_SAME, NULL;
    if (from.id == to.id && from.prec <= to.prec && wr_type_ticks_per_second(from) == wr_type_ticks_per_second(to)) return *flags |= FN_SAME, NULL;
    if (from.id == WR_T_DATE && to.id == WR_T_TIME) return NULL;
    if (from.id == WR_T_TIME && to.id == WR_T_DATE) return NULL;
    return time_time;
}

static wr_kernel to_nested(wr_type from, wr_type to, uint32_t *flags) {
    if (from.id != to.id || from.n_kids != to.n_kids) return NULL;
    bool all_same = true;
    for (uint32_t i = 0; i < from.n_kids; i++) {
        uint32_t sub = 0;
        if (wr_type_same(from.kids[i], to.kids[i])) continue;
        if (from.kids[i].id != WR_T_NULL && !wr_cast_kernel(from.kids[i], to.kids[i], &sub) && !(sub & FN_SAME)) return NULL;
        all_same = false;
    }
    if (all_same) return *flags |= FN_SAME, NULL;
    return nested_nested;
}

wr_kernel wr_cast_kernel(wr_type from, wr_type to, uint32_t *flags) {
    switch (to.id) {
    case WR_T_BOOLEAN:
    case WR_T_TINYINT:
    case WR_T_SMALLINT:
    case WR_T_INT:
    case WR_T_BIGINT:
    case WR_T_FLOAT:
    case WR_T_DOUBLE:
        if (from.id == to.id) return *flags |= FN_SAME, NULL;
        if (wr_type_is_string(from)) return to.id == WR_T_BOOLEAN ? str_bool : to.id >= WR_T_FLOAT ? str_float : str_int;
        if (from.id == WR_T_DECIMAL) {
            if (to.id != WR_T_BOOLEAN) return dec_number;
            return *flags |= FN_DENSE, dec_bool;
        }
        if (from.id == WR_T_INTERVAL_YM && (to.id == WR_T_INT || to.id == WR_T_BIGINT)) return *flags |= FN_DENSE, to.id == WR_T_INT ? i32_i32 : i32_i64;
        if (from.id == WR_T_INTERVAL_DS && (to.id == WR_T_INT || to.id == WR_T_BIGINT)) return ds_int;
        if (from.id != WR_T_BOOLEAN && !wr_type_is_numeric(from)) return NULL;
        return *flags |= FN_DENSE, number_kernel(wr_type_storage(from), wr_type_storage(to));
    case WR_T_DECIMAL: return to_decimal(from, to, flags);
    case WR_T_CHAR:
    case WR_T_VARCHAR:
    case WR_T_BINARY:
    case WR_T_VARBINARY: return to_text(from, to, flags);
    case WR_T_DATE:
    case WR_T_TIME:
    case WR_T_TIMESTAMP:
    case WR_T_TIMESTAMP_LTZ: return to_time(from, to, flags);
    case WR_T_INTERVAL_YM:
    case WR_T_INTERVAL_DS:
        if (from.id == to.id) *flags |= FN_SAME;
        return NULL;
    default: return to_nested(from, to, flags);
    }
}
