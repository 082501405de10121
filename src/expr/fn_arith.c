/* expr/fn_arith.c: + - * / % and the minus sign over numbers, intervals and times.
 *
 * Idea       resolvers bring both sides to one type (integers to the wider one, decimals keep their own scales), kernels are instances
 *            of the shape_*.h templates. Decimal sums and products whose digits cannot exceed 38 are plain 128-bit arithmetic over all
 *            lanes; only the others check row by row (too many digits: NULL, as Flink).
 * Invariant  integers wrap (unsigned arithmetic underneath); dense kernels never trap on garbage lanes.
 * Not here   time + interval kernels (fn_time.c).                                                                   */
#include <math.h>
#include "fn.h"
#include "fn_time.h"

#define K_JOIN_(a, b) a##_##b
#define K_JOIN(a, b) K_JOIN_(a, b)
#define ADD(x, y) ((x) + (y))
#define SUB(x, y) ((x) - (y))
#define MUL(x, y) ((x) * (y))
#define MUL16(x, y) ((uint32_t)(x) * (uint32_t)(y)) /* uint16_t would be promoted to int and overflow */

/* Unsigned types for integers: wrapping without undefined behaviour. */
#define K_NAME add_i8
#define K_A uint8_t
#define K_B uint8_t
#define K_R uint8_t
#define K_OP ADD
#include "shape_binary.h"
#define K_NAME add_i16
#define K_A uint16_t
#define K_B uint16_t
#define K_R uint16_t
#define K_OP ADD
#include "shape_binary.h"
#define K_NAME add_i32
#define K_A uint32_t
#define K_B uint32_t
#define K_R uint32_t
#define K_OP ADD
#include "shape_binary.h"
#define K_NAME add_i64
#define K_A uint64_t
#define K_B uint64_t
#define K_R uint64_t
#define K_OP ADD
#include "shape_binary.h"
#define K_NAME add_f32
#define K_A float
#define K_B float
#define K_R float
#define K_OP ADD
#include "shape_binary.h"
#define K_NAME add_f64
#define K_A double
#define K_B double
#define K_R double
#define K_OP ADD
#include "shape_binary.h"
#define K_NAME sub_i8
#define K_A uint8_t
#define K_B uint8_t
#define K_R uint8_t
#define K_OP SUB
#include "shape_binary.h"
#define K_NAME sub_i16
#define K_A uint16_t
#define K_B uint16_t
#define K_R uint16_t
#define K_OP SUB
#include "shape_binary.h"
#define K_NAME sub_i32
#define K_A uint32_t
#define K_B uint32_t
#define K_R uint32_t
#define K_OP SUB
#include "shape_binary.h"
#define K_NAME sub_i64
#define K_A uint64_t
#define K_B uint64_t
#define K_R uint64_t
#define K_OP SUB
#include "shape_binary.h"
#define K_NAME sub_f32
#define K_A float
#define K_B float
#define K_R float
#define K_OP SUB
#include "shape_binary.h"
#define K_NAME sub_f64
#define K_A double
#define K_B double
#define K_R double
#define K_OP SUB
#include "shape_binary.h"
#define K_NAME mul_i8
#define K_A uint8_t
#define K_B uint8_t
#define K_R uint8_t
#define K_OP MUL
#include "shape_binary.h"
#define K_NAME mul_i16
#define K_A uint16_t
#define K_B uint16_t
#define K_R uint16_t
#define K_OP MUL16
#include "shape_binary.h"
#define K_NAME mul_i32
#define K_A uint32_t
#define K_B uint32_t
#define K_R uint32_t
#define K_OP MUL
#include "shape_binary.h"
#define K_NAME mul_i64
#define K_A uint64_t
#define K_B uint64_t
#define K_R uint64_t
#define K_OP MUL
#include "shape_binary.h"
#define K_NAME mul_f32
#define K_A float
#define K_B float
#define K_R float
#define K_OP MUL
#include "shape_binary.h"
#define K_NAME mul_f64
#define K_A double
#define K_B double
#define K_R double
#define K_OP MUL
#include "shape_binary.h"
#define QUOT(x, y) ((x) / (y))
#define K_NAME div_f32
#define K_A float
#define K_B float
#define K_R float
#define K_OP QUOT
#include "shape_binary.h"
#define K_NAME div_f64
#define K_A double
#define K_B double
#define K_R double
#define K_OP QUOT
#include "shape_binary.h"
#define K_NAME mod_f32
#define K_A float
#define K_B float
#define K_R float
#define K_OP(x, y) fmodf(x, y)
#include "shape_binary.h"
#define K_NAME mod_f64
#define K_A double
#define K_B double
#define K_R double
#define K_OP(x, y) fmod(x, y)
#include "shape_binary.h"

#define K_T int8_t
#define K_U uint8_t
#define K_DIV div_i8
#define K_MOD mod_i8
#include "shape_divide.h"
#define K_T int16_t
#define K_U uint16_t
#define K_DIV div_i16
#define K_MOD mod_i16
#include "shape_divide.h"
#define K_T int32_t
#define K_U uint32_t
#define K_DIV div_i32
#define K_MOD mod_i32
#include "shape_divide.h"
#define K_T int64_t
#define K_U uint64_t
#define K_DIV div_i64_plain
#define K_MOD mod_i64_plain
#include "shape_divide.h"

/* Division of 64-bit magnitudes by a constant as multiplication (Granlund and Montgomery): several times faster than idiv. */
typedef struct wr_magic { uint64_t m; int s1, s2; } wr_magic;
static wr_magic magic_of(uint64_t d) {
    int l = d <= 1 ? 0 : 64 - __builtin_clzll(d - 1);
    wr_u128 m = (((wr_u128)1 << 64) * ((((wr_u128)1) << l) - d)) / d + 1;
    return (wr_magic){(uint64_t)m, l < 1 ? l : 1, l > 1 ? l - 1 : 0};
}
WR_INLINE uint64_t magic_div(uint64_t x, wr_magic k) {
    uint64_t t = (uint64_t)(((wr_u128)k.m * x) >> 64);
    return (t + ((x - t) >> k.s1)) >> k.s2;
}

static wr_status div_i64(wr_call *c) {
    const int64_t *a = c->arg[0].vec->data, *b = c->arg[1].vec->data;
    if (c->arg[1].mask || b[0] == 0 || c->n < 16) return div_i64_plain(c);
    int64_t *r = c->out->data;
    uint64_t d = b[0] < 0 ? 0 - (uint64_t)b[0] : (uint64_t)b[0], sign_d = b[0] < 0 ? UINT64_MAX : 0;
    wr_magic k = magic_of(d);
    uint32_t ma = c->arg[0].mask;
    for (uint32_t i = 0; i < c->n; i++) {
        uint64_t x = (uint64_t)a[i & ma], s = x >> 63 ? UINT64_MAX : 0;
        uint64_t q = magic_div((x ^ s) - s, k);
        s ^= sign_d;
        r[i] = (int64_t)((q ^ s) - s);
    }
    return WR_OK;
}

static wr_status mod_i64(wr_call *c) {
    const int64_t *a = c->arg[0].vec->data, *b = c->arg[1].vec->data;
    if (c->arg[1].mask || b[0] == 0 || c->n < 16) return mod_i64_plain(c);
    int64_t *r = c->out->data;
    uint64_t d = b[0] < 0 ? 0 - (uint64_t)b[0] : (uint64_t)b[0];
    wr_magic k = magic_of(d);
    uint32_t ma = c->arg[0].mask;
    for (uint32_t i = 0; i < c->n; i++) {
        uint64_t x = (uint64_t)a[i & ma], s = x >> 63 ? UINT64_MAX : 0, u = (x ^ s) - s;
        u -= magic_div(u, k) * d;
        r[i] = (int64_t)((u ^ s) - s);
    }
    return WR_OK;
}

/* ---- decimals ---- */
#define K_NAME dec_add_same
#define K_A wr_u128
#define K_B wr_u128
#define K_R wr_u128
#define K_OP ADD
#include "shape_binary.h"
#define K_NAME dec_sub_same
#define K_A wr_u128
#define K_B wr_u128
#define K_R wr_u128
#define K_OP SUB
#include "shape_binary.h"
#define SCALES                                                                                    \
    int     scale = c->out->type.scale;                                                           \
    wr_u128 pa = (wr_u128)wr_pow10(scale - arg_type(c, 0).scale), pb = (wr_u128)wr_pow10(scale - arg_type(c, 1).scale);
#define K_NAME dec_add_scaled
#define K_A wr_u128
#define K_B wr_u128
#define K_R wr_u128
#define K_SETUP SCALES
#define K_OP(x, y) ((x) * pa + (y) * pb)
#include "shape_binary.h"
#define K_NAME dec_sub_scaled
#define K_A wr_u128
#define K_B wr_u128
#define K_R wr_u128
#define K_SETUP SCALES
#define K_OP(x, y) ((x) * pa - (y) * pb)
#include "shape_binary.h"
#define K_NAME dec_mul_wide
#define K_A wr_u128
#define K_B wr_u128
#define K_R wr_u128
#define K_OP MUL
#include "shape_binary.h"
#define K_NAME dec_mul_narrow /* both values fit 64 bits: one multiplication */
#define K_A wr_i128
#define K_B wr_i128
#define K_R wr_i128
#define K_OP(x, y) ((wr_i128)(int64_t)(x) * (int64_t)(y))
#include "shape_binary.h"

typedef bool (*dec_op)(wr_i128 a, int sa, wr_i128 b, int sb, int prec, int scale, wr_i128 *out);
static wr_status dec_checked(wr_call *c, dec_op op, bool divides) {
    int sa = arg_type(c, 0).scale, sb = arg_type(c, 1).scale, prec = c->out->type.prec, scale = c->out->type.scale;
    for ROWS(c, r) {
        wr_i128 a = ARG(c, 0, wr_i128, r), b = ARG(c, 1, wr_i128, r);
        if (divides && b == 0) return call_fail(c, r, "22012", "division by zero");
        if (!op(a, sa, b, sb, prec, scale, &OUT(c, wr_i128)[r])) OUT(c, wr_i128)[r] = 0, call_null(c, r);
    }
    return WR_OK;
}
static wr_status dec_add(wr_call *c) { return dec_checked(c, wr_decimal_add, false); }
static wr_status dec_sub(wr_call *c) { return dec_checked(c, wr_decimal_sub, false); }
static wr_status dec_mul(wr_call *c) { return dec_checked(c, wr_decimal_mul, false); }
/* Quotients whose scaled dividend surely fits 128 bits: |a| < 10^pa, times 10^shift with pa + shift <= 38. */
static wr_status dec_div_short(wr_call *c) {
    wr_type t = c->out->type;
    wr_i128 factor = wr_pow10(t.scale - arg_type(c, 0).scale + arg_type(c, 1).scale), limit = wr_pow10(t.prec);
    for ROWS(c, r) {
        wr_i128 a = ARG(c, 0, wr_i128, r), b = ARG(c, 1, wr_i128, r), q;
        if (WR_UNLIKELY(b == 0)) return call_fail(c, r, "22012", "division by zero");
        bool    minus = (a < 0) != (b < 0);
        wr_u128 x = (wr_u128)(a < 0 ? -a : a) * (wr_u128)factor, y = (wr_u128)(b < 0 ? -b : b), rest;
        if (!(x >> 64) && !(y >> 64)) q = (uint64_t)x / (uint64_t)y, rest = (uint64_t)x % (uint64_t)y;
        else q = (wr_i128)(x / y), rest = x - (wr_u128)q * y;
        q += rest >= y - rest; /* half away from zero */
        if (WR_UNLIKELY(q >= limit)) q = 0, call_null(c, r);
        OUT(c, wr_i128)[r] = minus ? -q : q;
    }
    return WR_OK;
}
static wr_status dec_div(wr_call *c) {
    int shift = c->out->type.scale - arg_type(c, 0).scale + arg_type(c, 1).scale;
    if (shift >= 0 && arg_type(c, 0).prec + shift <= 38) return dec_div_short(c);
    return dec_checked(c, wr_decimal_div, true);
}
static wr_status dec_mod(wr_call *c) { return dec_checked(c, wr_decimal_mod, true); }

/* ---- kernels by storage ---- */
#define BY_STORAGE(op)                                                                                                      \
    static const wr_kernel op##_by[] = {[WR_S_I8] = op##_i8, [WR_S_I16] = op##_i16, [WR_S_I32] = op##_i32, [WR_S_I64] = op##_i64, \
                                        [WR_S_F32] = op##_f32, [WR_S_F64] = op##_f64};
BY_STORAGE(add)
BY_STORAGE(sub)
BY_STORAGE(mul)
BY_STORAGE(div)
BY_STORAGE(mod)

/* ---- resolvers ---- */
static bool is_approx(wr_type t) { return t.id == WR_T_FLOAT || t.id == WR_T_DOUBLE; }
static bool numeric_or_null(wr_type t) { return wr_type_is_numeric(t) || t.id == WR_T_NULL; }

static wr_type arith_type(wr_type a, wr_type b) { /* the type that both operands get; DECIMAL: each its own */
    if (a.id == WR_T_NULL) a = b;
    if (b.id == WR_T_NULL) b = a;
    if (a.id == WR_T_NULL) return wr_type_of(WR_T_INT);
    if (a.id == WR_T_DOUBLE || b.id == WR_T_DOUBLE) return wr_type_of(WR_T_DOUBLE);
    bool dec = a.id == WR_T_DECIMAL || b.id == WR_T_DECIMAL;
    if (is_approx(a) || is_approx(b)) return wr_type_of(dec ? WR_T_DOUBLE : WR_T_FLOAT);
    if (dec) return wr_type_of(WR_T_DECIMAL);
    return wr_type_of(a.id > b.id ? a.id : b.id);
}

static wr_type as_decimal(wr_type t) {
    if (t.id == WR_T_DECIMAL) return t;
    if (t.id == WR_T_BIGINT) return wr_type_decimal(19, 0); /* in arithmetic: DECIMAL(3, 1) + BIGINT is DECIMAL(21, 1) in Flink */
    return t.id == WR_T_NULL ? wr_type_decimal(10, 0) : wr_decimal_of_integer(t);
}

static bool fits64(const wr_expr *e) { /* the unscaled value needs at most 64 bits */
    if (e->type.prec <= 18) return true;
    return e->kind == WR_E_CALL && wr_expr_is_call(e, "CAST") && wr_type_is_integer(e->args[0]->type);
}

static bool resolve_decimal(wr_resolve *r, char op) {
    wr_type a = as_decimal(r->args[0]->type), b = as_decimal(r->args[1]->type), t;
    if (!res_cast(r, 0, a) || !res_cast(r, 1, b)) return false;
    int max_scale = WR_MAX(a.scale, b.scale), digits = WR_MAX(a.prec - a.scale, b.prec - b.scale) + max_scale + 1;
    switch (op) {
    case '+':
    case '-':
        t = wr_decimal_add_type(a, b);
        if (digits > 38 || t.scale != max_scale) return res_set(r, t, op == '+' ? dec_add : dec_sub, FN_NULLABLE);
        if (a.scale == b.scale) return res_set(r, t, op == '+' ? dec_add_same : dec_sub_same, FN_DENSE);
        return res_set(r, t, op == '+' ? dec_add_scaled : dec_sub_scaled, FN_DENSE);
    case '*':
        t = wr_decimal_mul_type(a, b);
        if (a.prec + b.prec > 38 || t.scale != a.scale + b.scale) return res_set(r, t, dec_mul, FN_NULLABLE);
        return res_set(r, t, fits64(r->args[0]) && fits64(r->args[1]) ? dec_mul_narrow : dec_mul_wide, FN_DENSE);
    case '/':
        t = wr_decimal_div_type(a, b);
        return res_set(r, t, dec_div, a.prec - a.scale + b.scale + t.scale > t.prec ? FN_NULLABLE : 0);
    default: return res_set(r, wr_decimal_mod_type(a, b), dec_mod, 0);
    }
}

static bool nonzero_const(const wr_expr *e) {
    if (e->kind != WR_E_CONST || e->value.null) return false;
    if (e->type.id == WR_T_DOUBLE || e->type.id == WR_T_FLOAT) return e->value.f != 0;
    return e->type.id == WR_T_DECIMAL ? e->value.d != 0 : e->value.i != 0;
}

static bool resolve_numeric(wr_resolve *r, char op) {
    wr_type t = arith_type(r->args[0]->type, r->args[1]->type);
    if (t.id == WR_T_DECIMAL) return resolve_decimal(r, op);
    if (!res_cast(r, 0, t) || !res_cast(r, 1, t)) return false;
    wr_storage s = wr_type_storage(t);
    switch (op) {
    case '+': return res_set(r, t, add_by[s], FN_DENSE);
    case '-': return res_set(r, t, sub_by[s], FN_DENSE);
    case '*': return res_set(r, t, mul_by[s], FN_DENSE);
    case '/': return res_set(r, t, div_by[s], is_approx(t) || nonzero_const(r->args[1]) ? FN_DENSE : 0);
    default: return res_set(r, t, mod_by[s], is_approx(t) || nonzero_const(r->args[1]) ? FN_DENSE : 0);
    }
}

static bool is_interval(wr_type t) { return t.id == WR_T_INTERVAL_YM || t.id == WR_T_INTERVAL_DS; }

static bool resolve_time(wr_resolve *r, bool minus) {
    wr_type a = r->args[0]->type, b = r->args[1]->type;
    if (is_interval(a) && (a.id == b.id || b.id == WR_T_NULL)) {
        wr_storage s = wr_type_storage(a);
        return res_cast(r, 1, a) && res_set(r, a, minus ? sub_by[s] : add_by[s], FN_DENSE);
    }
    if (!minus && is_interval(a) && wr_type_is_time_point(b)) {
        wr_expr *e = r->args[0];
        r->args[0] = r->args[1], r->args[1] = e;
        a = r->args[0]->type, b = r->args[1]->type;
    }
    if (wr_type_is_time_point(a) && is_interval(b)) return wr_res_time_add(r, minus ? -1 : 1);
    if (minus && wr_type_is_time_point(a) && wr_type_is_time_point(b)) return wr_res_time_sub(r);
    return false;
}

/* The call as resolved so far, cast to the type that Flink gives it. */
static bool cast_result(wr_resolve *r, wr_type to) {
    wr_type t = r->type;
    t.nullable = r->args[0]->type.nullable || r->args[1]->type.nullable;
    wr_expr *e = expr_make(r->ctx->arena, r->fn, t, (wr_impl){.kernel = r->kernel, .flags = r->flags}, r->args, r->n, r->at);
    r->rewrite = wr_expr_cast(r->ctx, e, to, false, r->at);
    return r->rewrite != NULL;
}

static bool arith(wr_resolve *r, char op) {
    if (r->n != 2) return false;
    if (numeric_or_null(r->args[0]->type) && numeric_or_null(r->args[1]->type)) {
        bool narrow = r->args[0]->type.id == WR_T_FLOAT && r->args[1]->type.id == WR_T_DOUBLE; /* FLOAT + DOUBLE is FLOAT, DOUBLE + FLOAT is DOUBLE */
        return resolve_numeric(r, op) && (!narrow || cast_result(r, wr_type_of(WR_T_FLOAT)));
    }
    return op == '+' || op == '-' ? resolve_time(r, op == '-') : false;
}

bool res_plus(wr_resolve *r) { return arith(r, '+'); }
bool res_minus(wr_resolve *r) { return arith(r, '-'); }

/* INTERVAL by a fraction: in double, rounded to the interval's unit. */
static wr_status interval_mul_f64(wr_call *c) {
    bool ym = c->out->type.id == WR_T_INTERVAL_YM;
    for ROWS(c, r) {
        double x = ym ? ARG(c, 0, int32_t, r) : (double)ARG(c, 0, int64_t, r), v = x * ARG(c, 1, double, r);
        if (!(fabs(v) < 9.2e18) || (ym && fabs(v) > 2147483647.0)) return call_fail(c, r, "22008", "interval out of range");
        if (ym) OUT(c, int32_t)[r] = (int32_t)v;
        else OUT(c, int64_t)[r] = (int64_t)v;
    }
    return WR_OK;
}

bool res_times(wr_resolve *r) {
    if (r->n != 2) return false;
    if (is_interval(r->args[1]->type)) {
        wr_expr *e = r->args[0];
        r->args[0] = r->args[1], r->args[1] = e;
    }
    wr_type a = r->args[0]->type, b = r->args[1]->type;
    if (!is_interval(a)) return arith(r, '*');
    if (!numeric_or_null(b)) return false;
    if (!wr_type_is_integer(b)) return res_cast(r, 1, wr_type_of(WR_T_DOUBLE)) && res_set(r, a, interval_mul_f64, 0);
    bool ym = a.id == WR_T_INTERVAL_YM;
    return res_cast(r, 1, wr_type_of(ym ? WR_T_INT : WR_T_BIGINT)) && res_set(r, a, ym ? mul_i32 : mul_i64, FN_DENSE);
}

bool res_divide(wr_resolve *r) {
    if (r->n != 2) return false;
    wr_type a = r->args[0]->type;
    if (!is_interval(a)) return arith(r, '/');
    if (!wr_type_is_integer(r->args[1]->type)) return false;
    bool ym = a.id == WR_T_INTERVAL_YM;
    return res_cast(r, 1, wr_type_of(ym ? WR_T_INT : WR_T_BIGINT)) && res_set(r, a, ym ? div_i32 : div_i64, 0);
}

/* The remainder of integers has the type of the divisor, as in Calcite: BIGINT % INT is INT. */
bool res_mod(wr_resolve *r) {
    if (r->n != 2) return false;
    wr_type b = r->args[1]->type, a = r->args[0]->type;
    if (!numeric_or_null(a) || !numeric_or_null(b)) return false;
    if (!resolve_numeric(r, '%')) return false;
    if (!wr_type_is_integer(r->type) || !wr_type_is_integer(b) || r->type.id == b.id) return true;
    return cast_result(r, b);
}

#define NEG(x) (0 - (x))
#define K_NAME neg_i8
#define K_A uint8_t
#define K_R uint8_t
#define K_OP NEG
#include "shape_unary.h"
#define K_NAME neg_i16
#define K_A uint16_t
#define K_R uint16_t
#define K_OP NEG
#include "shape_unary.h"
#define K_NAME neg_i32
#define K_A uint32_t
#define K_R uint32_t
#define K_OP NEG
#include "shape_unary.h"
#define K_NAME neg_i64
#define K_A uint64_t
#define K_R uint64_t
#define K_OP NEG
#include "shape_unary.h"
#define K_NAME neg_i128
#define K_A wr_u128
#define K_R wr_u128
#define K_OP NEG
#include "shape_unary.h"
#define K_NAME neg_f32
#define K_A float
#define K_R float
#define K_OP(x) (-(x))
#include "shape_unary.h"
#define K_NAME neg_f64
#define K_A double
#define K_R double
#define K_OP(x) (-(x))
#include "shape_unary.h"

bool res_negate(wr_resolve *r) {
    static const wr_kernel by[] = {[WR_S_I8] = neg_i8, [WR_S_I16] = neg_i16, [WR_S_I32] = neg_i32, [WR_S_I64] = neg_i64,
                                   [WR_S_I128] = neg_i128, [WR_S_F32] = neg_f32, [WR_S_F64] = neg_f64};
    if (r->n != 1) return false;
    if (r->args[0]->type.id == WR_T_NULL && !res_cast(r, 0, wr_type_of(WR_T_INT))) return false;
    wr_type t = r->args[0]->type;
    if (!wr_type_is_numeric(t) && !is_interval(t)) return false;
    t.attr = WR_TIME_NONE;
    return res_set(r, t, by[wr_type_storage(t)], FN_DENSE);
}
