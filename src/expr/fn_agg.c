/* expr/fn_agg.c: PERCENTILE over the values that COLLECT or ARRAY_AGG kept (plan/agg_composed.c makes such calls of PERCENTILE(...)).
 *
 * Idea       values and their numbers of copies are sorted once a row; a share p of n values stands at place p * (n - 1) and lies between
 *            its two neighbours, as in Flink.
 * Memory     one sorted list a step, reused from row to row.                                                          */
#include <math.h>
#include "fn.h"

typedef struct wr_copies { double v; int64_t n; } wr_copies;
typedef struct wr_percentile_state { WR_ARR(wr_copies) values; } wr_percentile_state;

static void state_free(void *p) {
    wr_percentile_state *s = p;
    wr_arr_free(&s->values);
    wr_free(s);
}

static int by_value(const void *a, const void *b) {
    double x = ((const wr_copies *)a)->v, y = ((const wr_copies *)b)->v;
    if (x != x || y != y) return (x != x) - (y != y); /* NaN is the greatest */
    return (x > y) - (x < y);
}

static int64_t integer_at(const wr_vec *v, uint32_t row) {
    switch (wr_type_storage(v->type)) {
    case WR_S_I8: return ((const int8_t *)v->data)[row];
    case WR_S_I16: return ((const int16_t *)v->data)[row];
    case WR_S_I32: return ((const int32_t *)v->data)[row];
    default: return ((const int64_t *)v->data)[row];
    }
}

/* The values of one list, sorted; returns how many there are with their copies. */
static int64_t gather(wr_percentile_state *s, const wr_vec *kid, wr_list l) {
    const bool    rows = kid->type.id == WR_T_ROW; /* (value, copies) */
    const wr_vec *values = rows ? &kid->kids[0] : kid;
    int64_t       total = 0;
    s->values.n = 0;
    for (uint32_t x = l.offset; x < l.offset + l.len; x++) {
        if (wr_vec_is_null(kid, x) || wr_vec_is_null(values, x) || (rows && wr_vec_is_null(&kid->kids[1], x))) continue;
        int64_t n = rows ? integer_at(&kid->kids[1], x) : 1;
        if (n <= 0 || total > INT64_MAX - n) continue;
        wr_arr_push(&s->values, (wr_copies){((const double *)values->data)[x], n});
        total += n;
    }
    if (s->values.n > 1) qsort(s->values.at, s->values.n, sizeof(wr_copies), by_value);
    return total;
}

static double value_at(const wr_percentile_state *s, int64_t place) {
    uint32_t i = 0;
    while (i + 1 < s->values.n && place >= s->values.at[i].n) place -= s->values.at[i++].n;
    return s->values.at[i].v;
}
static double percentile(const wr_percentile_state *s, int64_t total, double share) {
    double at = share * (double)(total - 1), low = floor(at), high = ceil(at);
    double a = value_at(s, (int64_t)low);
    return low == high ? a : (high - at) * a + (at - low) * value_at(s, (int64_t)high);
}

static wr_status bad_share(wr_call *c, uint32_t r, double share) { return call_fail(c, r, "2202H", "PERCENTILE: %g is not a share from 0 to 1", share); }

static wr_status percentile_kernel(wr_call *c) {
    const bool many = c->impl->extra[0];
    if (!*c->state) *c->state = wr_calloc(1, sizeof(wr_percentile_state)), *c->state_free = state_free;
    wr_percentile_state *s = *c->state;
    for ROWS(c, r) {
        int64_t total = gather(s, &c->arg[0].vec->kids[0], ARG(c, 0, wr_list, r));
        if (!many) {
            double share = ARG(c, 1, double, r);
            if (!(share >= 0 && share <= 1)) return bad_share(c, r, share);
            if (total) OUT(c, double)[r] = percentile(s, total, share);
            else call_null(c, r);
            continue;
        }
        wr_list       l = ARG(c, 1, wr_list, r);
        const wr_vec *shares = &c->arg[1].vec->kids[0];
        wr_vec       *out = &c->out->kids[0];
        OUT(c, wr_list)[r] = (wr_list){out->n, total ? l.len : 0};
        if (!total) call_null(c, r);
        for (uint32_t i = 0; total && i < l.len; i++) {
            double share = wr_vec_is_null(shares, l.offset + i) ? NAN : ((const double *)shares->data)[l.offset + i];
            if (!(share >= 0 && share <= 1)) return bad_share(c, r, share);
            uint32_t at = wr_vec_grow(out, 1, c->mem);
            ((double *)out->data)[at] = percentile(s, total, share);
        }
    }
    return WR_OK;
}

static wr_type array_of_doubles(wr_resolve *r, bool nullable) {
    wr_type *kid = wr_new(r->ctx->arena, wr_type);
    *kid = wr_type_with_null(wr_type_of(WR_T_DOUBLE), nullable);
    return (wr_type){.id = WR_T_ARRAY, .nullable = 1, .n_kids = 1, .kids = kid};
}

bool res_percentile_of(wr_resolve *r) {
    if (r->n != 2 || r->args[0]->type.n_kids != 1) return false;
    wr_type kid = r->args[0]->type.kids[0], share = r->args[1]->type;
    if (kid.id == WR_T_ROW && !wr_type_is_integer(kid.kids[1])) return res_error(r, "42804", "the third argument of PERCENTILE is a number of copies: an integer");
    if (wr_type_is_numeric(share)) return res_cast(r, 1, wr_type_of(WR_T_DOUBLE)) && res_set(r, wr_type_of(WR_T_DOUBLE), percentile_kernel, 0);
    if (share.id != WR_T_ARRAY || !wr_type_is_numeric(share.kids[0]) || !res_cast(r, 1, array_of_doubles(r, true))) return false;
    r->extra[0] = 1;
    return res_set(r, array_of_doubles(r, true), percentile_kernel, 0);
}
