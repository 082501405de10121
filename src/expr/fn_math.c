/* expr/fn_math.c: ABS, SIGN, ROUND, FLOOR/CEIL of numbers, the functions of libm, random numbers, BIN and HEX, IPv4 addresses.
 *
 * Rules      ROUND is half away from zero on the decimal digits that a DOUBLE prints (ROUND(2.675, 2) = 2.68, as Flink);
 *            ROUND(DECIMAL(p, s), n) is DECIMAL(p - s + n + 1, n).                                                    */
#include <math.h>
#include "base/hash.h"
#include "fn.h"
#include "fn_time.h"

/* ---- libm ---- */
#define MATH1(id, expr)                                                             \
    wr_status fn_##id(wr_call *c) {                                                 \
        const double *a = c->arg[0].vec->data;                                      \
        double       *out = c->out->data;                                           \
        for (uint32_t i = 0; i < c->n; i++) {                                       \
            double x = a[i & c->arg[0].mask];                                       \
            out[i] = (expr);                                                        \
        }                                                                           \
        return WR_OK;                                                               \
    }
#define MATH2(id, expr)                                                             \
    wr_status fn_##id(wr_call *c) {                                                 \
        const double *a = c->arg[0].vec->data, *b = c->arg[1].vec->data;            \
        double       *out = c->out->data;                                           \
        for (uint32_t i = 0; i < c->n; i++) {                                       \
            double x = a[i & c->arg[0].mask], y = b[i & c->arg[1].mask];            \
            out[i] = (expr);                                                        \
        }                                                                           \
        return WR_OK;                                                               \
    }
MATH1(sqrt, sqrt(x))
MATH1(ln, log(x))
MATH1(log10, log10(x))
MATH1(log2, log2(x))
MATH1(exp, exp(x))
MATH1(sin, sin(x))
MATH1(cos, cos(x))
MATH1(tan, tan(x))
MATH1(cot, 1.0 / tan(x))
MATH1(asin, asin(x))
MATH1(acos, acos(x))
MATH1(atan, atan(x))
MATH1(sinh, sinh(x))
MATH1(cosh, cosh(x))
MATH1(tanh, tanh(x))
MATH1(degrees, x * (180.0 / M_PI))
MATH1(radians, x / 180.0 * M_PI)
MATH2(power, pow(x, y))
MATH2(atan2, atan2(x, y))
static wr_status fn_log_base(wr_call *c);
MATH2(log_base, log(y) / log(x))
wr_status fn_log(wr_call *c) { return c->n_args == 1 ? fn_ln(c) : fn_log_base(c); }
wr_status fn_pi(wr_call *c) {
    for ROWS(c, r) OUT(c, double)[r] = M_PI;
    return WR_OK;
}
wr_status fn_e(wr_call *c) {
    for ROWS(c, r) OUT(c, double)[r] = M_E;
    return WR_OK;
}

/* ---- ABS, SIGN ---- */
#define ABS_U(T, U) for (uint32_t i = 0; i < c->n; i++) { U v = (U)((const T *)in)[i & m]; ((U *)out)[i] = ((const T *)in)[i & m] < 0 ? (U)(0 - v) : v; }
static wr_status abs_any(wr_call *c) {
    const void *in = c->arg[0].vec->data;
    void       *out = c->out->data;
    uint32_t    m = c->arg[0].mask;
    switch (wr_type_storage(c->out->type)) {
    case WR_S_I8: ABS_U(int8_t, uint8_t) break;
    case WR_S_I16: ABS_U(int16_t, uint16_t) break;
    case WR_S_I32: ABS_U(int32_t, uint32_t) break;
    case WR_S_I64: ABS_U(int64_t, uint64_t) break;
    case WR_S_I128: ABS_U(wr_i128, wr_u128) break;
    case WR_S_F32:
        for (uint32_t i = 0; i < c->n; i++) ((float *)out)[i] = fabsf(((const float *)in)[i & m]);
        break;
    default:
        for (uint32_t i = 0; i < c->n; i++) ((double *)out)[i] = fabs(((const double *)in)[i & m]);
    }
    return WR_OK;
}
#define SIGN_OF(T, ONE) for (uint32_t i = 0; i < c->n; i++) { T v = ((const T *)in)[i & m]; ((T *)out)[i] = (T)(v > 0 ? (ONE) : v < 0 ? -(ONE) : v); }
static wr_status sign_any(wr_call *c) {
    const void *in = c->arg[0].vec->data;
    void       *out = c->out->data;
    uint32_t    m = c->arg[0].mask;
    switch (wr_type_storage(c->out->type)) {
    case WR_S_I8: SIGN_OF(int8_t, 1) break;
    case WR_S_I16: SIGN_OF(int16_t, 1) break;
    case WR_S_I32: SIGN_OF(int32_t, 1) break;
    case WR_S_I64: SIGN_OF(int64_t, 1) break;
    case WR_S_I128: SIGN_OF(wr_i128, wr_pow10(c->out->type.scale)) break;
    case WR_S_F32: SIGN_OF(float, 1.0f) break;
    default: SIGN_OF(double, 1.0)
    }
    return WR_OK;
}
static bool number_arg(wr_resolve *r, uint32_t i) {
    if (i >= r->n) return false;
    if (r->args[i]->type.id == WR_T_NULL) return res_cast(r, i, wr_type_of(WR_T_INT));
    return wr_type_is_numeric(r->args[i]->type);
}
bool res_abs(wr_resolve *r) { return r->n == 1 && number_arg(r, 0) && res_set(r, r->args[0]->type, abs_any, FN_DENSE); }
bool res_sign(wr_resolve *r) { return r->n == 1 && number_arg(r, 0) && res_set(r, r->args[0]->type, sign_any, FN_DENSE); }

/* ---- ROUND, TRUNCATE ---- */
static wr_i128 round_unit(wr_i128 v, wr_i128 unit, bool cut) { /* to a multiple of unit */
    wr_i128 rest = v % unit;
    v -= rest;
    if (!cut && rest > 0 && rest >= unit - rest) v += unit;
    if (!cut && rest < 0 && -rest >= unit + rest) v -= unit;
    return v;
}
static double round_double(double x, int64_t n, bool cut) {
    wr_i128 v;
    if (!(fabs(x) < 1e18) || n > 18) return x; /* no decimals to lose; NaN and infinity too */
    if (n < -18) return 0;
    if (!wr_decimal_from_double(x, 38, 18, &v)) return x;
    return wr_decimal_to_double(round_unit(v, wr_pow10((int)(18 - n)), cut), 18);
}
static wr_status round_any(wr_call *c) {
    bool cut = c->impl->extra[0];
    for ROWS(c, r) {
        int64_t n = c->n_args > 1 ? ARG(c, 1, int64_t, r) : 0;
        wr_i128 unit = n < 0 ? wr_pow10((int)WR_MIN(-n, 38)) : 1;
        switch (wr_type_storage(c->out->type)) {
        case WR_S_I8: OUT(c, int8_t)[r] = (int8_t)round_unit(ARG(c, 0, int8_t, r), unit, cut); break;
        case WR_S_I16: OUT(c, int16_t)[r] = (int16_t)round_unit(ARG(c, 0, int16_t, r), unit, cut); break;
        case WR_S_I32: OUT(c, int32_t)[r] = (int32_t)round_unit(ARG(c, 0, int32_t, r), unit, cut); break;
        case WR_S_I64: OUT(c, int64_t)[r] = (int64_t)round_unit(ARG(c, 0, int64_t, r), unit, cut); break;
        case WR_S_F32: OUT(c, float)[r] = (float)round_double(ARG(c, 0, float, r), n, cut); break;
        case WR_S_F64: OUT(c, double)[r] = round_double(ARG(c, 0, double, r), n, cut); break;
        default: {
            wr_i128 v = ARG(c, 0, wr_i128, r);
            int     from = arg_type(c, 0).scale, to = c->out->type.scale;
            if (n < from) v = round_unit(v, from - n > 38 ? wr_pow10(38) : wr_pow10((int)(from - n)), cut);
            if (!wr_decimal_rescale(v, from, c->out->type.prec, to, &OUT(c, wr_i128)[r])) OUT(c, wr_i128)[r] = 0, call_null(c, r);
        }
        }
    }
    return WR_OK;
}
bool res_round(wr_resolve *r) {
    if (r->n < 1 || r->n > 2 || !number_arg(r, 0)) return false;
    wr_type t = r->args[0]->type;
    bool    is_const = r->n == 1;
    int64_t n = 0;
    if (r->n == 2) {
        if (!wr_type_is_integer(r->args[1]->type) && r->args[1]->type.id != WR_T_NULL) return false;
        if (!res_cast(r, 1, wr_type_of(WR_T_BIGINT))) return false;
        const wr_expr *e = r->args[1];
        bool negative = wr_expr_is_call(e, "CAST") && wr_expr_is_call(e->args[0], "NEGATE"); /* -1 is NEGATE(1) until it is folded */
        if (negative) e = r->args[1] = wr_expr_fold(r->ctx, r->args[1]);
        if (e->kind == WR_E_CONST && !e->value.null) is_const = true, n = e->value.i;
    }
    if (t.id == WR_T_DECIMAL && is_const) {
        int p = t.prec, s = t.scale;
        if (n < 0) t = wr_type_decimal(WR_MIN(38, 1 + p - s), 0);
        else if (n < s) t = wr_type_decimal(WR_MIN(38, 1 + p - s + (int)n), (int)n);
    }
    r->extra[0] = r->fn->name[0] == 'T';
    return res_set(r, t, round_any, 0);
}

/* ---- FLOOR, CEIL ---- */
static wr_status floor_number(wr_call *c) {
    bool up = c->impl->extra[0];
    for ROWS(c, r) {
        switch (wr_type_storage(arg_type(c, 0))) {
        case WR_S_F32: OUT(c, float)[r] = up ? ceilf(ARG(c, 0, float, r)) : floorf(ARG(c, 0, float, r)); break;
        case WR_S_F64: OUT(c, double)[r] = up ? ceil(ARG(c, 0, double, r)) : floor(ARG(c, 0, double, r)); break;
        default: {
            wr_i128 unit = wr_pow10(arg_type(c, 0).scale), v = ARG(c, 0, wr_i128, r), q = v / unit, rest = v % unit;
            OUT(c, wr_i128)[r] = q + (up ? rest > 0 : -(rest < 0));
        }
        }
    }
    return WR_OK;
}
bool res_floor(wr_resolve *r) {
    bool up = r->fn->name[0] == 'C';
    if (r->n == 2) return wr_res_time_floor(r, up);
    if (r->n != 1 || !number_arg(r, 0)) return false;
    wr_type t = r->args[0]->type;
    if (wr_type_is_integer(t)) return r->rewrite = r->args[0], true;
    if (t.id == WR_T_DECIMAL) t.scale = 0;
    r->extra[0] = up;
    return res_set(r, t, floor_number, 0);
}

/* ---- random ---- */
static void plain_free(void *p) { wr_free(p); }
static wr_rng *seeded(wr_call *c, int64_t seed) {
    if (!*c->state) {
        wr_rng *rng = wr_malloc(sizeof *rng);
        wr_rng_seed(rng, (uint64_t)seed);
        *c->state = rng, *c->state_free = plain_free;
    }
    return *c->state;
}
wr_status fn_rand(wr_call *c) {
    for ROWS(c, r) {
        uint64_t x = c->n_args ? wr_rng_next(seeded(c, ARG(c, 0, int64_t, r))) : c->random(c);
        OUT(c, double)[r] = (double)(x >> 11) * 0x1p-53;
    }
    return WR_OK;
}
wr_status fn_rand_integer(wr_call *c) {
    uint32_t last = c->n_args - 1;
    for ROWS(c, r) {
        int64_t bound = ARG(c, last, int64_t, r);
        if (bound <= 0) return call_fail(c, r, "2201G", "the bound of RAND_INTEGER must be above 0, not %lld", (long long)bound);
        uint64_t x = last ? wr_rng_next(seeded(c, ARG(c, 0, int64_t, r))) : c->random(c);
        OUT(c, int32_t)[r] = (int32_t)(((wr_u128)x * (uint64_t)bound) >> 64);
    }
    return WR_OK;
}
wr_status fn_uuid(wr_call *c) {
    for ROWS(c, r) {
        uint64_t a = (c->random(c) & ~UINT64_C(0xF000)) | 0x4000, b = (c->random(c) & (UINT64_MAX >> 2)) | (UINT64_C(2) << 62);
        char     text[40];
        snprintf(text, sizeof text, "%08x-%04x-%04x-%04x-%012llx", (unsigned)(a >> 32), (unsigned)(a >> 16 & 0xFFFF), (unsigned)(a & 0xFFFF),
                 (unsigned)(b >> 48), (unsigned long long)(b & UINT64_C(0xFFFFFFFFFFFF)));
        call_put(c, r, text, 36);
    }
    return WR_OK;
}

/* ---- digits ---- */
wr_status fn_bin(wr_call *c) {
    for ROWS(c, r) {
        uint64_t v = (uint64_t)ARG(c, 0, int64_t, r);
        char     text[64];
        int      n = v ? 64 - __builtin_clzll(v) : 1;
        for (int i = 0; i < n; i++) text[i] = (char)('0' + (v >> (n - 1 - i) & 1));
        call_put(c, r, text, (size_t)n);
    }
    return WR_OK;
}
wr_status fn_hex(wr_call *c) {
    static const char digits[] = "0123456789ABCDEF";
    for ROWS(c, r) {
        if (wr_type_is_integer(arg_type(c, 0))) {
            char text[24];
            int  n = snprintf(text, sizeof text, "%llX", (unsigned long long)ARG(c, 0, int64_t, r));
            call_put(c, r, text, (size_t)n);
            continue;
        }
        wr_str s = arg_str(c, 0, r);
        char  *p = call_text(c, s.len * 2);
        for (size_t i = 0; i < s.len; i++) p[2 * i] = digits[(unsigned char)s.ptr[i] >> 4], p[2 * i + 1] = digits[s.ptr[i] & 15];
        call_view(c, r, p, s.len * 2);
    }
    return WR_OK;
}
static int hex_digit(char ch) {
    if (ch >= '0' && ch <= '9') return ch - '0';
    ch |= 32;
    return ch >= 'a' && ch <= 'f' ? ch - 'a' + 10 : -1;
}
wr_status fn_unhex(wr_call *c) {
    for ROWS(c, r) {
        wr_str s = arg_str(c, 0, r);
        size_t odd = s.len & 1, n = s.len / 2 + odd;
        char  *p = call_text(c, n);
        bool   ok = true;
        for (size_t i = 0; i < n; i++) {
            if (i == 0 && odd) { /* as Flink: the first digit is dropped, and a byte 0 comes first */
                p[i] = 0;
                continue;
            }
            int high = hex_digit(s.ptr[2 * i - odd]), low = hex_digit(s.ptr[2 * i + 1 - odd]);
            ok &= high >= 0 && low >= 0;
            p[i] = (char)((high & 15) << 4 | (low & 15));
        }
        if (ok) call_view(c, r, p, n);
        else call_null(c, r);
    }
    return WR_OK;
}

/* ---- IPv4 addresses ---- */
/* One to four numbers from 0 to 255: the last is the lowest byte, those before it are the highest; recorded from Flink 2.3.0. */
static bool inet_parse(wr_str s, uint32_t *out) {
    uint32_t part[4] = {0}, n = 0;
    bool     digits = false;
    for (size_t i = 0; i < s.len; i++) {
        if (s.ptr[i] == '.') {
            if (!digits || ++n > 3) return false;
            digits = false;
        } else {
            if (!ch_digit((unsigned char)s.ptr[i])) return false;
            digits = true;
            part[n] = part[n] * 10 + (uint32_t)(s.ptr[i] - '0');
            if (part[n] > 255) return false;
        }
    }
    *out = part[n];
    for (uint32_t i = 0; i < n; i++) *out |= part[i] << (24 - 8 * i);
    return digits;
}
wr_status fn_inet_aton(wr_call *c) {
    for ROWS(c, r) {
        uint32_t v;
        if (inet_parse(arg_str(c, 0, r), &v)) OUT(c, int64_t)[r] = v;
        else call_null(c, r);
    }
    return WR_OK;
}
wr_status fn_inet_ntoa(wr_call *c) {
    for ROWS(c, r) {
        int64_t v = ARG(c, 0, int64_t, r);
        char    text[16];
        if (v < 0 || v > INT64_C(0xFFFFFFFF)) call_null(c, r);
        else call_put(c, r, text, (size_t)snprintf(text, sizeof text, "%d.%d.%d.%d", (int)(v >> 24), (int)(v >> 16 & 255), (int)(v >> 8 & 255), (int)(v & 255)));
    }
    return WR_OK;
}
