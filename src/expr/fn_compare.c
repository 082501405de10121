/* expr/fn_compare.c: comparisons, IS DISTINCT, IN, the tests for NULL and truth values.
 *
 * Idea       both sides are brought to one type; fixed-width storages compare as plain numbers over all lanes (shape_compare.h),
 *            decimals of equal scale as 128-bit integers. Strings compare bytewise, which is code-point order in UTF-8.
 * Rules      a string beside a time value is cast to it; a string beside a number is refused, as Flink does.         */
#include "base/hash.h"
#include "fn.h"

#define K_JOIN_(a, b) a##_##b
#define K_JOIN(a, b) K_JOIN_(a, b)
#define K_T uint8_t
#define K_TAG u8
#include "shape_compare.h"
#define K_T int8_t
#define K_TAG i8
#include "shape_compare.h"
#define K_T int16_t
#define K_TAG i16
#include "shape_compare.h"
#define K_T int32_t
#define K_TAG i32
#include "shape_compare.h"
#define K_T int64_t
#define K_TAG i64
#include "shape_compare.h"
#define K_T wr_i128
#define K_TAG i128
#include "shape_compare.h"
#define K_T float
#define K_TAG f32
#include "shape_compare.h"
#define K_T double
#define K_TAG f64
#include "shape_compare.h"

/* ---- strings ---- */
static wr_status str_equal(wr_call *c, bool want) {
    const wr_sview *a = c->arg[0].vec->data, *b = c->arg[1].vec->data;
    uint32_t        ma = c->arg[0].mask, mb = c->arg[1].mask;
    uint8_t        *out = c->out->data;
    if (!mb && b[0].len <= 12 && !c->rows) { /* a short constant: two words a row, no pointer followed */
        uint64_t k0, k1, x0, x1;
        memcpy(&k0, b, 8), memcpy(&k1, (const char *)b + 8, 8);
        for (uint32_t i = 0; i < c->n_rows; i++) {
            memcpy(&x0, &a[i & ma], 8), memcpy(&x1, (const char *)&a[i & ma] + 8, 8);
            out[i] = (x0 == k0 && x1 == k1) == want;
        }
        return WR_OK;
    }
    for ROWS(c, r) out[r] = wr_sview_eq(&a[r & ma], &b[r & mb]) == want;
    return WR_OK;
}

WR_INLINE int sview_cmp(const wr_sview *a, const wr_sview *b) {
    uint32_t pa, pb;
    memcpy(&pa, a->prefix, 4), memcpy(&pb, b->prefix, 4);
    if (pa != pb && a->len >= 4 && b->len >= 4) return __builtin_bswap32(pa) < __builtin_bswap32(pb) ? -1 : 1;
    return wr_str_cmp(wr_sview_str(a), wr_sview_str(b));
}

#define STR_KERNEL(name, test)                                                                     \
    static wr_status name(wr_call *c) {                                                            \
        const wr_sview *a = c->arg[0].vec->data, *b = c->arg[1].vec->data;                         \
        uint32_t        ma = c->arg[0].mask, mb = c->arg[1].mask;                                  \
        for ROWS(c, r) OUT(c, uint8_t)[r] = sview_cmp(&a[r & ma], &b[r & mb]) test 0;              \
        return WR_OK;                                                                              \
    }
static wr_status eq_str(wr_call *c) { return str_equal(c, true); }
static wr_status ne_str(wr_call *c) { return str_equal(c, false); }
STR_KERNEL(lt_str, <)
STR_KERNEL(le_str, <=)
STR_KERNEL(gt_str, >)
STR_KERNEL(ge_str, >=)

/* ---- nested values and decimals of different scales: by the engine's own compare ---- */
static bool test_order(int op, int d) {
    switch (op) {
    case 0: return d == 0;
    case 1: return d != 0;
    case 2: return d < 0;
    case 3: return d <= 0;
    case 4: return d > 0;
    default: return d >= 0;
    }
}
static wr_status cmp_any(wr_call *c) {
    int op = (int)c->impl->extra[0];
    for ROWS(c, r)
        OUT(c, uint8_t)[r] = test_order(op, wr_vec_compare(c->arg[0].vec, r & c->arg[0].mask, c->arg[1].vec, r & c->arg[1].mask));
    return WR_OK;
}
static wr_status cmp_scales(wr_call *c) {
    int op = (int)c->impl->extra[0], sa = arg_type(c, 0).scale, sb = arg_type(c, 1).scale;
    for ROWS(c, r) OUT(c, uint8_t)[r] = test_order(op, wr_decimal_compare(ARG(c, 0, wr_i128, r), sa, ARG(c, 1, wr_i128, r), sb));
    return WR_OK;
}

static wr_kernel compare_kernel(int op, wr_storage s, uint32_t *flags) {
#define SIX(tag) {eq_##tag, ne_##tag, lt_##tag, le_##tag, gt_##tag, ge_##tag}
    static const wr_kernel by[][6] = {[WR_S_BOOL] = SIX(u8), [WR_S_I8] = SIX(i8), [WR_S_I16] = SIX(i16), [WR_S_I32] = SIX(i32), [WR_S_I64] = SIX(i64),
                                      [WR_S_I128] = SIX(i128), [WR_S_F32] = SIX(f32), [WR_S_F64] = SIX(f64), [WR_S_STR] = SIX(str)};
    if (s == WR_S_LIST || s == WR_S_ROW || s == WR_S_NONE) return cmp_any;
    if (s != WR_S_STR) *flags |= FN_DENSE;
    return by[s][op];
}

/* ---- the common type of a comparison ---- */
static bool refuse_pair(wr_resolve *r, wr_type a, wr_type b) {
    wr_str na = wr_str_of(a.id == WR_T_INT ? "INTEGER" : wr_tid_name(a.id)), nb = wr_str_of(b.id == WR_T_INT ? "INTEGER" : wr_tid_name(b.id));
    res_error(r, "42804", "implicit type conversion between %.*s and %.*s is not supported now", WR_FMT(na), WR_FMT(nb));
    wr_diags_hint(r->ctx->diags, "cast one side: CAST(... AS ...)");
    return false;
}

static bool decimal_pair(wr_resolve *r, wr_type a, wr_type b, bool *scales_differ) {
    if (a.id != WR_T_DECIMAL) a = wr_decimal_of_integer(a);
    if (b.id != WR_T_DECIMAL) b = wr_decimal_of_integer(b);
    int scale = WR_MAX(a.scale, b.scale), digits = WR_MAX(a.prec - a.scale, b.prec - b.scale) + scale;
    if (a.scale != b.scale && digits <= 38) a = b = wr_type_decimal(digits, scale);
    *scales_differ = a.scale != b.scale;
    return res_cast(r, 0, a) && res_cast(r, 1, b);
}

static bool same_types(wr_resolve *r, bool *scales_differ) {
    wr_type a = r->args[0]->type, b = r->args[1]->type, t;
    *scales_differ = false;
    if (wr_type_is_string(a) && wr_type_is_string(b)) return true; /* one storage */
    if (wr_type_is_binary(a) && wr_type_is_binary(b)) return true;
    if (wr_type_is_string(a) && wr_type_is_time_point(b)) return res_cast(r, 0, b);
    if (wr_type_is_string(b) && wr_type_is_time_point(a)) return res_cast(r, 1, a);
    bool na = wr_type_is_numeric(a), nb = wr_type_is_numeric(b);
    if (na && nb && (a.id == WR_T_DECIMAL || b.id == WR_T_DECIMAL) && a.id != WR_T_FLOAT && a.id != WR_T_DOUBLE && b.id != WR_T_FLOAT && b.id != WR_T_DOUBLE)
        return decimal_pair(r, a, b, scales_differ);
    if (na && nb && (a.id == WR_T_DECIMAL || b.id == WR_T_DECIMAL)) return res_cast(r, 0, wr_type_of(WR_T_DOUBLE)) && res_cast(r, 1, wr_type_of(WR_T_DOUBLE));
    if ((na && wr_type_is_string(b)) || (nb && wr_type_is_string(a)) || (a.id == WR_T_BOOLEAN && wr_type_is_string(b)) || (b.id == WR_T_BOOLEAN && wr_type_is_string(a)))
        return refuse_pair(r, a, b);
    if (a.id == WR_T_TIMESTAMP && b.id == WR_T_TIMESTAMP_LTZ) return res_cast(r, 0, wr_type_prec(WR_T_TIMESTAMP_LTZ, WR_MAX(a.prec, b.prec))) &&
                                                                     res_cast(r, 1, wr_type_prec(WR_T_TIMESTAMP_LTZ, WR_MAX(a.prec, b.prec)));
    if (b.id == WR_T_TIMESTAMP && a.id == WR_T_TIMESTAMP_LTZ) return res_cast(r, 1, wr_type_prec(WR_T_TIMESTAMP_LTZ, WR_MAX(a.prec, b.prec))) &&
                                                                     res_cast(r, 0, wr_type_prec(WR_T_TIMESTAMP_LTZ, WR_MAX(a.prec, b.prec)));
    if (a.id == WR_T_DATE && (b.id == WR_T_TIMESTAMP || b.id == WR_T_TIMESTAMP_LTZ)) return res_cast(r, 0, b);
    if (b.id == WR_T_DATE && (a.id == WR_T_TIMESTAMP || a.id == WR_T_TIMESTAMP_LTZ)) return res_cast(r, 1, a);
    if (!wr_type_common(a, b, &t)) return refuse_pair(r, a, b);
    if (t.id == WR_T_NULL) t = wr_type_of(WR_T_INT);
    return res_cast(r, 0, t) && res_cast(r, 1, t);
}

bool res_compare(wr_resolve *r) {
    static const char *const ops[] = {"=", "<>", "<", "<=", ">", ">="};
    if (r->n != 2) return false;
    int op = 0;
    while (strcmp(ops[op], r->fn->name) != 0) op++;
    bool scales_differ;
    if (!same_types(r, &scales_differ)) return false;
    wr_type t = r->args[0]->type;
    if (op > 1 && (t.id == WR_T_BITMAP || t.id == WR_T_VARIANT)) return res_error(r, "42804", "values of this type have no order: only = and <> are defined for them");
    if (op > 1 && wr_type_is_nested(t)) return res_error(r, "42804", "nested values have no order: only = and <> are defined for them");
    uint32_t  flags = 0;
    wr_kernel k = compare_kernel(op, wr_type_storage(t), &flags);
    if (scales_differ) k = cmp_scales, flags = 0;
    r->extra[0] = op;
    return res_set(r, wr_type_of(WR_T_BOOLEAN), k, flags);
}

/* ---- IS [NOT] DISTINCT FROM ---- */
static wr_status distinct(wr_call *c) {
    bool want = c->impl->extra[0]; /* 1: IS DISTINCT */
    const wr_vec *a = c->arg[0].vec, *b = c->arg[1].vec;
    if (!a->valid && !b->valid && a->type.id == b->type.id && a->type.scale == b->type.scale) {
        uint32_t  flags = 0;
        wr_kernel k = compare_kernel(want, wr_type_storage(a->type), &flags);
        if (k != cmp_any) return k(c);
    }
    for ROWS(c, r) {
        uint32_t ra = r & c->arg[0].mask, rb = r & c->arg[1].mask;
        bool     na = wr_vec_is_null(a, ra), nb = wr_vec_is_null(b, rb), equal;
        if (na || nb) equal = na && nb;
        else if (a->type.id == WR_T_DECIMAL) equal = wr_decimal_compare(((const wr_i128 *)a->data)[ra], a->type.scale, ((const wr_i128 *)b->data)[rb], b->type.scale) == 0;
        else equal = wr_vec_equal(a, ra, b, rb);
        OUT(c, uint8_t)[r] = equal != want;
    }
    return WR_OK;
}
bool res_distinct(wr_resolve *r) {
    bool scales_differ;
    if (r->n != 2 || !same_types(r, &scales_differ)) return false;
    r->extra[0] = strcmp(r->fn->name, "IS_DISTINCT") == 0;
    return res_set(r, wr_type_of(WR_T_BOOLEAN), distinct, FN_CUSTOM | FN_NOT_NULL);
}

bool res_between(wr_resolve *r) {
    if (r->n != 3) return false;
    wr_expr *x = r->args[0], *low = r->args[1], *high = r->args[2];
    bool     symmetric = strcmp(r->fn->name, "BETWEEN_SYMMETRIC") == 0;
    wr_expr *e = wr_expr_calln(r->ctx, "AND", r->at, 2, wr_expr_calln(r->ctx, ">=", r->at, 2, x, low), wr_expr_calln(r->ctx, "<=", r->at, 2, x, high));
    if (symmetric && e) {
        wr_expr *swapped = wr_expr_calln(r->ctx, "AND", r->at, 2, wr_expr_calln(r->ctx, ">=", r->at, 2, x, high), wr_expr_calln(r->ctx, "<=", r->at, 2, x, low));
        e = wr_expr_calln(r->ctx, "OR", r->at, 2, e, swapped);
    }
    if (!e) r->reported = true;
    return r->rewrite = e, e != NULL;
}

/* (s1, e1) OVERLAPS (s2, e2), ends in any order or as intervals: greatest end >= least start, both ways. */
bool res_overlaps(wr_resolve *r) {
    if (r->n != 4) return false;
    wr_expr *low[2], *high[2];
    for (uint32_t i = 0; i < 2; i++) {
        wr_expr *s = r->args[2 * i], *e = r->args[2 * i + 1];
        if (e->type.id == WR_T_INTERVAL_DS || e->type.id == WR_T_INTERVAL_YM) e = wr_expr_calln(r->ctx, "+", r->at, 2, s, e);
        low[i] = e ? wr_expr_calln(r->ctx, "LEAST", r->at, 2, s, e) : NULL;
        high[i] = low[i] ? wr_expr_calln(r->ctx, "GREATEST", r->at, 2, s, e) : NULL;
        if (!high[i]) return r->reported = true, false;
    }
    wr_expr *a = wr_expr_calln(r->ctx, ">=", r->at, 2, high[1], low[0]), *b = a ? wr_expr_calln(r->ctx, ">=", r->at, 2, high[0], low[1]) : NULL;
    r->rewrite = b ? wr_expr_calln(r->ctx, "AND", r->at, 2, a, b) : NULL;
    return r->reported = true, r->rewrite != NULL;
}

/* ---- IN ---- */
typedef struct wr_in_set { /* open addressing over the constants; rows of the list by index + 1 */
    uint32_t  mask, n;
    uint32_t *slot;
    uint64_t *hash;
    bool      has_null;
} wr_in_set;

static void in_set_free(void *p) {
    wr_in_set *set = p;
    wr_free(set->slot), wr_free(set->hash), wr_free(set);
}

static uint64_t in_hash(const wr_vec *v, uint32_t row) {
    switch (wr_type_storage(v->type)) {
    case WR_S_BOOL:
    case WR_S_I8: return wr_hash_u64((uint64_t)((const int8_t *)v->data)[row]);
    case WR_S_I16: return wr_hash_u64((uint64_t)((const int16_t *)v->data)[row]);
    case WR_S_I32: return wr_hash_u64((uint64_t)((const int32_t *)v->data)[row]);
    case WR_S_I64: return wr_hash_u64((uint64_t)((const int64_t *)v->data)[row]);
    case WR_S_STR: {
        wr_str s = wr_sview_str(&((const wr_sview *)v->data)[row]);
        return wr_hash_bytes(s.ptr, s.len);
    }
    default: return 0; /* decimals, floats, nested: one chain */
    }
}

static wr_in_set *in_set_make(const wr_call *c) {
    wr_in_set *set = wr_calloc(1, sizeof *set);
    uint32_t   cap = 8;
    while (cap < c->n_args * 2) cap *= 2;
    set->mask = cap - 1;
    set->slot = wr_calloc(cap, sizeof *set->slot);
    set->hash = wr_calloc(cap, sizeof *set->hash);
    for (uint32_t k = 1; k < c->n_args; k++) {
        if (wr_vec_is_null(c->arg[k].vec, 0)) {
            set->has_null = true;
            continue;
        }
        uint64_t h = in_hash(c->arg[k].vec, 0);
        uint32_t at = (uint32_t)h & set->mask;
        while (set->slot[at]) at = (at + 1) & set->mask;
        set->slot[at] = k, set->hash[at] = h;
    }
    return set;
}

WR_INLINE bool in_equal(const wr_call *c, uint32_t row, uint32_t k) {
    const wr_vec *x = c->arg[0].vec, *y = c->arg[k].vec;
    if (wr_type_storage(x->type) == WR_S_STR) return wr_sview_eq(&((const wr_sview *)x->data)[row], y->data);
    return wr_vec_equal(x, row, y, 0);
}

/* Up to eight whole numbers: each compared with all rows, without a branch. */
enum { IN_DENSE_MAX = 8 };
static bool in_dense(wr_call *c) {
    wr_storage s = wr_type_storage(arg_type(c, 0));
    uint8_t   *out = c->out->data;
    if (c->n_args - 1 > IN_DENSE_MAX || (s != WR_S_I32 && s != WR_S_I64) || c->arg[0].mask == 0 || c->arg[0].vec->valid) return false;
    for (uint32_t k = 1; k < c->n_args; k++)
        if (wr_vec_is_null(c->arg[k].vec, 0)) return false;
    memset(out, 0, c->n);
    for (uint32_t k = 1; k < c->n_args; k++) {
        if (s == WR_S_I64) {
            const int64_t *restrict x = c->arg[0].vec->data, y = *(const int64_t *)c->arg[k].vec->data;
            for (uint32_t i = 0; i < c->n; i++) out[i] |= x[i] == y;
        } else {
            const int32_t *restrict x = c->arg[0].vec->data, y = *(const int32_t *)c->arg[k].vec->data;
            for (uint32_t i = 0; i < c->n; i++) out[i] |= x[i] == y;
        }
    }
    return true;
}

static wr_status in_consts(wr_call *c) {
    if (in_dense(c)) return WR_OK;
    if (!*c->state) *c->state = in_set_make(c), *c->state_free = in_set_free;
    const wr_in_set *set = *c->state;
    for ROWS(c, r) {
        uint32_t rx = r & c->arg[0].mask;
        bool     found = false;
        if (wr_vec_is_null(c->arg[0].vec, rx)) {
            OUT(c, uint8_t)[r] = 0, call_null(c, r);
            continue;
        }
        uint64_t h = in_hash(c->arg[0].vec, rx);
        for (uint32_t at = (uint32_t)h & set->mask; set->slot[at] && !found; at = (at + 1) & set->mask)
            found = set->hash[at] == h && in_equal(c, rx, set->slot[at]);
        OUT(c, uint8_t)[r] = found;
        if (!found && set->has_null) call_null(c, r);
    }
    return WR_OK;
}

bool res_in(wr_resolve *r) {
    if (r->n < 2) return false;
    bool all_const = true;
    for (uint32_t i = 1; i < r->n; i++) all_const &= r->args[i]->kind == WR_E_CONST;
    wr_expr *x = r->args[0];
    if (all_const && r->n > 2) {
        bool ok = true; /* each pair must be comparable, in one type for all */
        wr_type t = x->type, u;
        for (uint32_t i = 1; i < r->n && ok; i++) {
            wr_type y = r->args[i]->type;
            if (wr_type_is_string(y) && wr_type_is_time_point(x->type)) y = x->type;
            ok = wr_type_common(t, y, &u);
            if (ok) t = u;
        }
        if (ok && t.id != WR_T_NULL && !wr_type_is_nested(t)) {
            for (uint32_t i = 0; i < r->n; i++)
                if (!res_cast(r, i, t)) return false;
            bool folded = true;
            for (uint32_t i = 1; i < r->n; i++) folded &= r->args[i]->kind == WR_E_CONST;
            if (folded) return res_set(r, wr_type_of(WR_T_BOOLEAN), in_consts, 0);
        }
    }
    wr_expr **list = wr_new_n(r->ctx->arena, wr_expr *, r->n);
    for (uint32_t i = 1; i < r->n; i++) {
        list[i - 1] = wr_expr_calln(r->ctx, "=", r->at, 2, x, r->args[i]);
        if (!list[i - 1]) return r->reported = true, false;
    }
    r->rewrite = r->n == 2 ? list[0] : wr_expr_call(r->ctx, WR_STR("OR"), list, r->n - 1, r->at);
    return r->rewrite != NULL;
}

/* ---- tests for NULL and truth ---- */
wr_status fn_is_null(wr_call *c) {
    uint8_t *out = c->out->data;
    const wr_vec *v = c->arg[0].vec;
    if (v->type.id == WR_T_NULL) return memset(out, 1, c->n), WR_OK;
    if (!v->valid) return memset(out, 0, c->n), WR_OK;
    for (uint32_t i = 0; i < c->n; i++) out[i] = !(v->valid[i >> 6] >> (i & 63) & 1);
    return WR_OK;
}
wr_status fn_is_not_null(wr_call *c) {
    fn_is_null(c);
    uint8_t *out = c->out->data;
    for (uint32_t i = 0; i < c->n; i++) out[i] ^= 1;
    return WR_OK;
}
static wr_status truth(wr_call *c, bool value, bool negate) {
    uint8_t       *out = c->out->data;
    const wr_vec  *v = c->arg[0].vec;
    const uint8_t *x = v->data;
    for (uint32_t i = 0; i < c->n; i++) out[i] = (wr_valid_get(v->valid, i) && (x[i] & 1) == value) != negate;
    return WR_OK;
}
wr_status fn_is_true(wr_call *c) { return truth(c, true, false); }
wr_status fn_is_false(wr_call *c) { return truth(c, false, false); }
wr_status fn_is_not_true(wr_call *c) { return truth(c, true, true); }
wr_status fn_is_not_false(wr_call *c) { return truth(c, false, true); }
#define K_NAME not_dense
#define K_A uint8_t
#define K_R uint8_t
#define K_OP(x) ((x) ^ 1)
#include "shape_unary.h"
wr_status fn_not(wr_call *c) { return not_dense(c); }
