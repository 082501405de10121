/* op/agg_state.c: what is done with whole accumulator blocks: merge, results, dropping, checkpoint images. See agg.h. */
#include "op/agg.h"
#include "op/value_set.h"
#include "type/decimal.h"
#include <math.h>

enum { MALLOC_EXTRA = 16 };
#define AT(T, block, s) ((T *)(void *)((char *)(uintptr_t)(block) + (s)->at))
#define SET_AT(block, s) ((wr_acc_list *)(void *)((char *)(uintptr_t)(block) + (s)->set_at))

/* ---- merge ---- */

static void merge_sumf(wr_acc_sumf *into, const wr_acc_sumf *from) { /* sums are finite: what is not is counted apart */
    double x = into->sum, y = from->sum, t = x + y;
    into->comp += (fabs(x) >= fabs(y) ? (x - t) + y : (y - t) + x) + from->comp;
    into->sum = t;
    into->n += from->n;
    into->nan += from->nan, into->pinf += from->pinf, into->ninf += from->ninf;
}
static void merge_cell8(const wr_agg_slot *s, wr_acc_cell8 *into, const wr_acc_cell8 *from) {
    if (!from->has) return;
    int order = into->has ? wr_cell_compare(s->class, (wr_cell){{from->v, 0}}, (wr_cell){{into->v, 0}}) : 0;
    if (!into->has || (s->least ? order < 0 : order > 0)) *into = *from;
}
static void merge_var(wr_acc_var *into, const wr_acc_var *from) { /* Chan et al. */
    if (!from->n) return;
    if (!into->n) {
        *into = *from;
        return;
    }
    double n = (double)(into->n + from->n), d = from->mean - into->mean;
    into->m2 += from->m2 + d * d * (double)into->n * (double)from->n / n;
    into->mean += d * (double)from->n / n;
    into->n += from->n;
}
static void merge_set(wr_aggs *a, const wr_agg_slot *s, wr_acc_list *into, const wr_acc_list *from, int sign) {
    if (!from->list) return;
    wr_sorted *set = from->list->by_value;
    for (wr_pos p = wr_sorted_first(); wr_sorted_at(set, p); p = wr_sorted_next(set, p)) {
        const wr_set_item *item = wr_sorted_at(set, p);
        wr_set_add(a, s, into, item->v, sign * item->n);
    }
}
/* inner: the accumulator behind, which hears of first and last copies; NULL if it is merged in another way. */
static void merge_distinct(wr_aggs *a, const wr_agg_slot *s, wr_acc_list *into, const wr_acc_list *from, void *inner, int sign) {
    for (uint32_t i = 0; from->list && i < from->list->distinct->n; i++) {
        const wr_set_item *item = &from->list->distinct->items[i];
        int64_t            n = sign * wr_distinct_copies(a, s, item);
        if (wr_distinct_add(a, s, into, item->v, n) && inner) (void)wr_acc_one(a, s, inner, item->v, false, n > 0 ? 1 : -1, 0, NULL);
    }
}
static void merge_seq(wr_aggs *a, const wr_agg_slot *s, void *into, const void *from, int sign) {
    const wr_acc_list *src = AT(wr_acc_list, from, s);
    wr_acc_list       *dst = AT(wr_acc_list, into, s);
    if (!src->list) return;
    wr_sorted *list = src->list->by_seq;
    wr_list_acc *l = wr_list_of(a, s, dst, false);
    wr_sview sep, old;
    memcpy(&sep, &src->list->sep, 16), memcpy(&old, &l->sep, 16);
    if (sep.len && !old.len) l->sep = wr_cell_own(a, s, src->list->sep);
    for (wr_pos p = wr_sorted_first(); wr_sorted_at(list, p); p = wr_sorted_next(list, p)) {
        const wr_seq_item *item = wr_sorted_at(list, p);
        if (sign > 0) {
            uint64_t there;
            if (s->distinct && wr_seq_first(s, l, item->v, item->null, &there)) { /* the earlier arrival stays */
                if (there <= item->seq) continue;
                wr_seq_remove(a, s, dst, there);
            }
            wr_seq_add(a, s, dst, item->v, item->null, item->seq);
        } else {
            wr_seq_remove(a, s, dst, item->seq);
        }
    }
}
static void merge_slot(wr_aggs *a, const wr_agg_slot *s, void *into, const void *from) {
    void       *x = AT(char, into, s);
    const void *y = AT(char, from, s);
    if (s->distinct) {
        if (s->form == WR_FORM_SEQ) {
            merge_seq(a, s, into, from, 1);
            merge_distinct(a, s, SET_AT(into, s), SET_AT(from, s), NULL, 1);
        } else {
            merge_distinct(a, s, SET_AT(into, s), SET_AT(from, s), x, 1);
        }
        return;
    }
    switch (s->form) {
    case WR_FORM_COUNT: ((wr_acc_count *)x)->n += ((const wr_acc_count *)y)->n; break;
    case WR_FORM_SUM64:
        ((wr_acc_sum64 *)x)->sum += ((const wr_acc_sum64 *)y)->sum;
        ((wr_acc_sum64 *)x)->n += ((const wr_acc_sum64 *)y)->n;
        break;
    case WR_FORM_SUM128:
        ((wr_acc_sum128 *)x)->sum += ((const wr_acc_sum128 *)y)->sum;
        ((wr_acc_sum128 *)x)->n += ((const wr_acc_sum128 *)y)->n;
        break;
    case WR_FORM_SUMDEC: {
        wr_acc_sum128       *p = x;
        const wr_acc_sum128 *q = y;
        wr_i128              sum;
        p->n += q->n;
        if (!q->has) break;
        p->has = !__builtin_add_overflow(p->sum, q->sum, &sum) && wr_decimal_fits(sum, WR_DECIMAL_MAX_PREC);
        p->sum = p->has ? sum : 0;
        break;
    }
    case WR_FORM_SUMF: merge_sumf(x, y); break;
    case WR_FORM_CELL8: merge_cell8(s, x, y); break;
    case WR_FORM_CELL:
        if (((const wr_acc_cell *)y)->n) (void)wr_acc_one(a, s, x, ((const wr_acc_cell *)y)->v, ((const wr_acc_cell *)y)->pad, 1, ((const wr_acc_cell *)y)->seq, NULL);
        break;
    case WR_FORM_SET: merge_set(a, s, x, y, 1); break;
    case WR_FORM_SEQ: merge_seq(a, s, into, from, 1); break;
    case WR_FORM_VAR: merge_var(x, y); break;
    case WR_FORM_HLL:
        if (((const wr_acc_list *)y)->list) wr_hll_merge(wr_list_of(a, s, x, false)->hll, ((const wr_acc_list *)y)->list->hll);
        break;
    case WR_FORM_USER: {
        void *of = (void *)(uintptr_t)from;
        wr_user_merge(a, s, &into, &of, 1);
        break;
    }
    case WR_FORM_BITMAP: wr_bitmap_acc_merge(a, s, x, y); break;
    }
}
static void unmerge_slot(wr_aggs *a, const wr_agg_slot *s, void *into, const void *from) {
    void       *x = AT(char, into, s);
    const void *y = AT(char, from, s);
    if (s->distinct) {
        merge_distinct(a, s, SET_AT(into, s), SET_AT(from, s), x, -1);
        return;
    }
    switch (s->form) {
    case WR_FORM_COUNT: ((wr_acc_count *)x)->n -= ((const wr_acc_count *)y)->n; break;
    case WR_FORM_SUM64:
        ((wr_acc_sum64 *)x)->sum -= ((const wr_acc_sum64 *)y)->sum;
        ((wr_acc_sum64 *)x)->n -= ((const wr_acc_sum64 *)y)->n;
        break;
    case WR_FORM_SUM128:
        ((wr_acc_sum128 *)x)->sum -= ((const wr_acc_sum128 *)y)->sum;
        ((wr_acc_sum128 *)x)->n -= ((const wr_acc_sum128 *)y)->n;
        break;
    case WR_FORM_SET: merge_set(a, s, x, y, -1); break;
    case WR_FORM_SEQ: merge_seq(a, s, into, from, -1); break;
    default: wr_assert(!"an accumulator that cannot be subtracted");
    }
}
static void merge_rows(const wr_aggs *a, void *into, const void *from, int sign) {
    if (a->count_rows) *(int64_t *)(void *)((char *)into + a->rows_at) += sign * *(const int64_t *)(const void *)((const char *)from + a->rows_at);
}
void wr_aggs_merge(wr_aggs *a, void *into, const void *from) {
    merge_rows(a, into, from, 1);
    for (uint32_t i = 0; i < a->n; i++) merge_slot(a, &a->slots[i], into, from);
}

#define MERGE_EACH(T, ...)                                                       \
    for (uint32_t k = 0; k < n; k++) {                                           \
        T       *x = AT(T, into[k], s);                                          \
        const T *y = AT(T, from[k], s);                                          \
        __VA_ARGS__;                                                             \
    }
void wr_aggs_merge_all(wr_aggs *a, void *const *into, void *const *from, uint32_t n, int sign) {
    wr_dassert(sign > 0 || a->invertible);
    for (uint32_t k = 0; k < n && a->count_rows; k++) merge_rows(a, into[k], from[k], sign);
    for (uint32_t i = 0; i < a->n; i++) {
        const wr_agg_slot *s = &a->slots[i];
        if (!s->distinct && s->form == WR_FORM_COUNT) {
            MERGE_EACH(wr_acc_count, x->n += sign * y->n)
        } else if (!s->distinct && s->form == WR_FORM_SUM64) {
            MERGE_EACH(wr_acc_sum64, x->sum += sign > 0 ? y->sum : -y->sum, x->n += sign * y->n)
        } else if (!s->distinct && s->form == WR_FORM_SUM128) {
            MERGE_EACH(wr_acc_sum128, x->sum += sign > 0 ? y->sum : -y->sum, x->n += sign * y->n)
        } else if (!s->distinct && s->form == WR_FORM_SUMF) {
            MERGE_EACH(wr_acc_sumf, merge_sumf(x, y))
        } else if (!s->distinct && s->form == WR_FORM_CELL8) {
            MERGE_EACH(wr_acc_cell8, merge_cell8(s, x, y))
        } else if (!s->distinct && s->form == WR_FORM_USER) {
            wr_user_merge(a, s, into, from, n);
        } else if (sign > 0) {
            for (uint32_t k = 0; k < n; k++) merge_slot(a, s, into[k], from[k]);
        } else {
            for (uint32_t k = 0; k < n; k++) unmerge_slot(a, s, into[k], from[k]);
        }
    }
}

void wr_aggs_copy(wr_aggs *a, void *into, const void *from) {
    if (!a->has_heap) {
        memcpy(into, from, a->bytes);
        return;
    }
    memset(into, 0, a->bytes);
    wr_aggs_merge(a, into, from);
}

/* ---- dropping ---- */

static void drop_list(wr_aggs *a, const wr_agg_slot *s, wr_acc_list *acc) {
    wr_list_acc *l = acc->list;
    if (!l) return;
    if (l->distinct) {
        for (uint32_t i = 0; i < l->distinct->n; i++) wr_cell_drop(a, s, l->distinct->items[i].v);
        a->heap_bytes -= l->distinct->bytes;
        wr_value_set_free(l->distinct);
    } else if (s->form == WR_FORM_SET) {
        for (wr_pos p = wr_sorted_first(); wr_sorted_at(l->by_value, p); p = wr_sorted_next(l->by_value, p))
            wr_cell_drop(a, s, ((wr_set_item *)wr_sorted_at(l->by_value, p))->v);
    } else if (l->by_seq) {
        for (wr_pos p = wr_sorted_first(); wr_sorted_at(l->by_seq, p); p = wr_sorted_next(l->by_seq, p)) {
            wr_seq_item *item = wr_sorted_at(l->by_seq, p);
            if (!item->null) wr_cell_drop(a, s, item->v);
        }
    }
    wr_sview sep;
    memcpy(&sep, &l->sep, 16);
    if (sep.len) wr_cell_drop(a, s, l->sep);
    if (l->by_value) a->heap_bytes -= l->by_value->bytes;
    if (l->by_seq) a->heap_bytes -= l->by_seq->bytes;
    if (l->hll) a->heap_bytes -= (int64_t)sizeof *l->hll + MALLOC_EXTRA;
    a->heap_bytes -= (int64_t)sizeof *l + MALLOC_EXTRA;
    a->heap_bytes -= l->bitmap.bytes;
    wr_sorted_free(l->by_value);
    wr_sorted_free(l->by_seq);
    wr_bitmap_clear(&l->bitmap);
    wr_free(l->hll);
    wr_free(l);
    acc->list = NULL;
}
void wr_aggs_drop(wr_aggs *a, void *block) {
    for (uint32_t i = 0; i < a->n && a->has_heap; i++) {
        const wr_agg_slot *s = &a->slots[i];
        if (s->distinct) drop_list(a, s, SET_AT(block, s));
        if (s->form == WR_FORM_USER) wr_user_drop(a, s, AT(wr_acc_user, block, s));
        if (s->form == WR_FORM_SET || s->form == WR_FORM_SEQ || s->form == WR_FORM_HLL || s->form == WR_FORM_BITMAP) drop_list(a, s, AT(wr_acc_list, block, s));
        else if (s->form == WR_FORM_CELL && AT(wr_acc_cell, block, s)->n && !AT(wr_acc_cell, block, s)->pad) wr_cell_drop(a, s, AT(wr_acc_cell, block, s)->v);
    }
    memset(block, 0, a->bytes);
}

/* ---- results ---- */

static void put_int(wr_vec *dst, uint32_t row, int64_t v) {
    switch (wr_type_storage(dst->type)) {
    case WR_S_BOOL: ((uint8_t *)dst->data)[row] = (uint8_t)v; break;
    case WR_S_I8: ((int8_t *)dst->data)[row] = (int8_t)v; break;
    case WR_S_I16: ((int16_t *)dst->data)[row] = (int16_t)v; break;
    case WR_S_I32: ((int32_t *)dst->data)[row] = (int32_t)v; break;
    case WR_S_I64: ((int64_t *)dst->data)[row] = v; break;
    case WR_S_I128: ((wr_i128 *)dst->data)[row] = v; break;
    case WR_S_F32: ((float *)dst->data)[row] = (float)v; break;
    default: ((double *)dst->data)[row] = (double)v; break;
    }
}
static void put_number(wr_vec *dst, uint32_t row, double v, wr_mem *mem) {
    wr_i128 d;
    switch (wr_type_storage(dst->type)) {
    case WR_S_F32: ((float *)dst->data)[row] = (float)v; break;
    case WR_S_F64: ((double *)dst->data)[row] = v; break;
    case WR_S_I128:
        if (wr_decimal_from_double(v, dst->type.prec, dst->type.scale, &d)) ((wr_i128 *)dst->data)[row] = d;
        else wr_vec_set_null(dst, row, mem);
        break;
    default: put_int(dst, row, v >= 9.2e18 ? INT64_MAX : v <= -9.2e18 ? INT64_MIN : v != v ? 0 : (int64_t)v);
    }
}
void wr_cell_put(const wr_agg_slot *s, wr_cell v, wr_vec *dst, uint32_t row, wr_mem *mem) {
    switch (s->class) {
    case WR_CELL_INT: put_int(dst, row, (int64_t)v.w[0]); break;
    case WR_CELL_F64: {
        double x;
        memcpy(&x, &v, 8);
        put_number(dst, row, x, mem);
        break;
    }
    case WR_CELL_I128: memcpy((char *)dst->data + (size_t)row * 16, &v, 16); break;
    case WR_CELL_STR: {
        wr_sview view;
        memcpy(&view, &v, 16);
        ((wr_sview *)dst->data)[row] = wr_sview_copy(mem, wr_sview_ptr(&view), view.len);
        break;
    }
    case WR_CELL_ROW: {
        wr_sview view;
        memcpy(&view, &v, 16);
        bool ok = wr_rowcodec_get(s->codec, wr_sview_str(&view), dst, row, mem);
        wr_assert(ok);
        break;
    }
    }
}
static double sumf_value(const wr_acc_sumf *x) {
    double sum = x->sum + x->comp;
    if (!isfinite(sum)) sum = x->sum;
    if (WR_UNLIKELY(x->nan | x->pinf | x->ninf)) sum = x->nan || (x->pinf && x->ninf) ? NAN : x->pinf ? INFINITY : -INFINITY;
    return sum;
}
static bool put_sum(const wr_agg_slot *s, const void *acc, wr_vec *dst, uint32_t row, wr_mem *mem) {
    bool avg = s->agg.kind == WR_AGG_AVG;
    if (s->form == WR_FORM_SUM64) {
        const wr_acc_sum64 *x = acc;
        if (x->n <= 0) return false;
        put_int(dst, row, avg ? (int64_t)x->sum / x->n : (int64_t)x->sum);
        return true;
    }
    if (s->form == WR_FORM_SUMF) {
        const wr_acc_sumf *x = acc;
        if (x->n <= 0) return false;
        put_number(dst, row, avg ? sumf_value(x) / (double)x->n : sumf_value(x), mem);
        return true;
    }
    const wr_acc_sum128 *x = acc;
    if (x->n <= 0 || (s->form == WR_FORM_SUMDEC && !x->has)) return false;
    if (s->class != WR_CELL_I128) {
        put_int(dst, row, (int64_t)(avg ? x->sum / x->n : x->sum));
        return true;
    }
    wr_i128 v = x->sum;
    int     scale = s->agg.arg_type.scale;
    if (avg && !wr_decimal_div(x->sum, scale, x->n, 0, dst->type.prec, dst->type.scale, &v)) return false;
    if (!avg && dst->type.scale != scale && !wr_decimal_rescale(x->sum, scale, dst->type.prec, dst->type.scale, &v)) return false;
    ((wr_i128 *)dst->data)[row] = v;
    return true;
}
static bool put_var(const wr_agg_slot *s, const wr_acc_var *x, wr_vec *dst, uint32_t row, wr_mem *mem) {
    bool samp = s->agg.kind == WR_AGG_STDDEV_SAMP || s->agg.kind == WR_AGG_VAR_SAMP;
    bool root = s->agg.kind == WR_AGG_STDDEV_SAMP || s->agg.kind == WR_AGG_STDDEV_POP;
    if (x->n <= (samp ? 1 : 0)) return false;
    double v = x->m2 / (double)(x->n - samp);
    put_number(dst, row, root ? sqrt(v) : v, mem);
    return true;
}
static bool put_array(const wr_agg_slot *s, const wr_list_acc *l, wr_vec *dst, uint32_t row, wr_mem *mem) {
    if (!l || !l->by_seq->count) return false;
    wr_vec  *kid = &dst->kids[0];
    uint32_t first = wr_vec_grow(kid, (uint32_t)l->by_seq->count, mem), at = first;
    for (wr_pos p = wr_sorted_first(); wr_sorted_at(l->by_seq, p); p = wr_sorted_next(l->by_seq, p), at++) {
        const wr_seq_item *item = wr_sorted_at(l->by_seq, p);
        if (item->null) wr_vec_set_null(kid, at, mem);
        else wr_cell_put(s, item->v, kid, at, mem);
    }
    ((wr_list *)dst->data)[row] = (wr_list){first, at - first};
    return true;
}
static int64_t shown(const wr_agg_slot *s, const wr_set_item *item) { return item->n <= 0 ? 0 : s->agg.distinct ? 1 : item->n; }
static bool put_multiset(const wr_agg_slot *s, const wr_list_acc *l, wr_vec *dst, uint32_t row, wr_mem *mem) {
    if (!l || !l->by_value->count) return false;
    wr_vec  *kid = &dst->kids[0];
    uint64_t n = 0;
    for (wr_pos p = wr_sorted_first(); wr_sorted_at(l->by_value, p); p = wr_sorted_next(l->by_value, p))
        n += (uint64_t)shown(s, wr_sorted_at(l->by_value, p));
    if (!n) return false;
    wr_assert(n <= INT32_MAX);
    uint32_t first = wr_vec_grow(kid, (uint32_t)n, mem), at = first;
    for (wr_pos p = wr_sorted_first(); wr_sorted_at(l->by_value, p); p = wr_sorted_next(l->by_value, p)) {
        const wr_set_item *item = wr_sorted_at(l->by_value, p);
        for (int64_t i = shown(s, item); i > 0; i--) wr_cell_put(s, item->v, kid, at++, mem);
    }
    ((wr_list *)dst->data)[row] = (wr_list){first, (uint32_t)n};
    return true;
}
static bool put_listagg(wr_aggs *a, const wr_list_acc *l, wr_vec *dst, uint32_t row, wr_mem *mem) {
    if (!l || !l->by_seq->count) return false;
    wr_sview sep;
    memcpy(&sep, &l->sep, 16);
    wr_sbuf_clear(&a->scratch);
    for (wr_pos p = wr_sorted_first(); wr_sorted_at(l->by_seq, p); p = wr_sorted_next(l->by_seq, p)) {
        wr_sview v;
        memcpy(&v, &((wr_seq_item *)wr_sorted_at(l->by_seq, p))->v, 16);
        if (p.chunk || p.at) wr_sbuf_add_str(&a->scratch, sep.len ? wr_sview_str(&sep) : WR_STR(","));
        wr_sbuf_add_str(&a->scratch, wr_sview_str(&v));
    }
    ((wr_sview *)dst->data)[row] = wr_sview_copy(mem, a->scratch.at ? a->scratch.at : "", a->scratch.len);
    return true;
}
static bool put_list(wr_aggs *a, const wr_agg_slot *s, const wr_list_acc *l, wr_vec *dst, uint32_t row, wr_mem *mem) {
    switch (s->agg.kind) {
    case WR_AGG_LISTAGG: return put_listagg(a, l, dst, row, mem);
    case WR_AGG_ARRAY_AGG: return put_array(s, l, dst, row, mem);
    case WR_AGG_COLLECT: return put_multiset(s, l, dst, row, mem);
    default: break;
    }
    if (wr_agg_is_bitmap(s->agg.kind)) return wr_bitmap_acc_put(a, s, l, dst, row, mem);
    if (s->form == WR_FORM_SET) {
        if (!l || !l->by_value->count) return false;
        wr_pos p = s->least ? wr_sorted_first() : wr_sorted_last(l->by_value);
        while (((wr_set_item *)wr_sorted_at(l->by_value, p))->n <= 0) { /* owed copies are not there */
            if (!s->least && !wr_sorted_prev(l->by_value, &p)) return false;
            if (s->least && !wr_sorted_at(l->by_value, p = wr_sorted_next(l->by_value, p))) return false;
        }
        wr_cell_put(s, ((wr_set_item *)wr_sorted_at(l->by_value, p))->v, dst, row, mem);
        return true;
    }
    if (!l || !l->by_seq->count) return false;
    wr_pos p = s->least ? wr_sorted_first() : wr_sorted_last(l->by_seq);
    wr_cell_put(s, ((wr_seq_item *)wr_sorted_at(l->by_seq, p))->v, dst, row, mem);
    return true;
}
static bool put_one(wr_aggs *a, const wr_agg_slot *s, const void *acc, wr_vec *dst, uint32_t row, wr_mem *mem) {
    switch (s->form) {
    case WR_FORM_COUNT: put_int(dst, row, ((const wr_acc_count *)acc)->n); return true;
    case WR_FORM_SUM64: case WR_FORM_SUM128: case WR_FORM_SUMDEC: case WR_FORM_SUMF:
        if (put_sum(s, acc, dst, row, mem)) return true;
        if (s->agg.kind != WR_AGG_SUM0) return false;
        put_int(dst, row, 0);
        return true;
    case WR_FORM_CELL8:
        if (!((const wr_acc_cell8 *)acc)->has) return false;
        wr_cell_put(s, (wr_cell){{((const wr_acc_cell8 *)acc)->v, 0}}, dst, row, mem);
        return true;
    case WR_FORM_CELL:
        if (!((const wr_acc_cell *)acc)->n || ((const wr_acc_cell *)acc)->pad) return false;
        wr_cell_put(s, ((const wr_acc_cell *)acc)->v, dst, row, mem);
        return true;
    case WR_FORM_SET: case WR_FORM_SEQ: case WR_FORM_BITMAP: return put_list(a, s, ((const wr_acc_list *)acc)->list, dst, row, mem);
    case WR_FORM_VAR: return put_var(s, acc, dst, row, mem);
    case WR_FORM_HLL: {
        const wr_list_acc *l = ((const wr_acc_list *)acc)->list;
        put_int(dst, row, l ? (int64_t)llround(wr_hll_count(l->hll)) : 0);
        return true;
    }
    case WR_FORM_USER: break; /* wr_user_result: whole batches */
    }
    return false;
}

/* ---- results by column: the forms that are plain numbers. Rows without a value are looked for once a column, not once a row. ---- */

typedef struct result { /* where the results of one aggregate go */
    void *const *blocks;
    wr_vec      *dst;
    uint32_t     n, first, step;
} result;
#define RESULT_EACH(ACC, T, HAS, ...)                                             \
    {                                                                             \
        T *data = r->dst->data;                                                   \
        for (uint32_t k = 0; k < r->n; k++) {                                     \
            const ACC *x = AT(ACC, r->blocks[k], s);                              \
            all &= (HAS);                                                         \
            data[r->first + k * r->step] = (T)(__VA_ARGS__);                      \
        }                                                                         \
        *complete = all;                                                          \
        return true;                                                              \
    }
#define RESULT_INTS(ACC, HAS, ...)                                                \
    switch (to) {                                                                 \
    case WR_S_I8: RESULT_EACH(ACC, int8_t, HAS, __VA_ARGS__)                      \
    case WR_S_I16: RESULT_EACH(ACC, int16_t, HAS, __VA_ARGS__)                    \
    case WR_S_I32: RESULT_EACH(ACC, int32_t, HAS, __VA_ARGS__)                    \
    case WR_S_I64: RESULT_EACH(ACC, int64_t, HAS, __VA_ARGS__)                    \
    default: return false;                                                        \
    }
static int64_t avg128(const wr_acc_sum128 *x) {
    if (x->n <= 0) return 0;
    return (int64_t)x->sum == x->sum ? (int64_t)x->sum / x->n : (int64_t)(x->sum / x->n);
}
/* False: not one of these. *complete: every row has a value; else those without hold rubbish. */
static bool result_column(const wr_agg_slot *s, const result *r, bool *complete) {
    bool       avg = s->agg.kind == WR_AGG_AVG, all = true;
    wr_storage to = wr_type_storage(r->dst->type);
    switch (s->form) {
    case WR_FORM_COUNT: RESULT_INTS(wr_acc_count, true, x->n)
    case WR_FORM_SUM64:
        if (!avg) RESULT_INTS(wr_acc_sum64, x->n > 0, x->sum)
        RESULT_INTS(wr_acc_sum64, x->n > 0, (int64_t)x->sum / WR_MAX(x->n, INT64_C(1)))
    case WR_FORM_SUM128:
        if (s->class != WR_CELL_I128 && avg) RESULT_INTS(wr_acc_sum128, x->n > 0, avg128(x))
        if (s->class != WR_CELL_I128 || avg || to != WR_S_I128 || r->dst->type.scale != s->agg.arg_type.scale) return false;
        RESULT_EACH(wr_acc_sum128, wr_i128, x->n > 0, x->sum)
    case WR_FORM_SUMF:
        if (to != WR_S_F64) return false;
        if (!avg) RESULT_EACH(wr_acc_sumf, double, x->n > 0, sumf_value(x))
        RESULT_EACH(wr_acc_sumf, double, x->n > 0, sumf_value(x) / (double)x->n)
    case WR_FORM_CELL8:
        if (s->class == WR_CELL_INT) RESULT_INTS(wr_acc_cell8, x->has != 0, x->v)
        if (to != WR_S_F64) return false;
        RESULT_EACH(wr_acc_cell8, uint64_t, x->has != 0, x->v)
    default: return false;
    }
}
void wr_aggs_result(wr_aggs *a, uint32_t i, void *const *blocks, uint32_t n, wr_vec *dst, uint32_t first, uint32_t step, wr_mem *mem) {
    const wr_agg_slot *s = &a->slots[i];
    bool               complete = false;
    if (s->form == WR_FORM_USER) {
        wr_user_result(a, s, blocks, n, dst, first, step, mem);
        return;
    }
    if (result_column(s, &(result){blocks, dst, n, first, step}, &complete) && complete) return;
    for (uint32_t k = 0; k < n; k++)
        if (!put_one(a, s, AT(char, blocks[k], s), dst, first + k * step, mem)) wr_vec_set_null(dst, first + k * step, mem);
}

/* ---- images ---- */

static void save_cell(const wr_agg_slot *s, wr_cell v, wr_sbuf *out) {
    if (s->class == WR_CELL_STR || s->class == WR_CELL_ROW) {
        wr_sview view;
        memcpy(&view, &v, 16);
        wr_put_bytes(out, wr_sview_ptr(&view), view.len);
    } else {
        wr_put_u64(out, v.w[0]);
        if (s->class == WR_CELL_I128) wr_put_u64(out, v.w[1]);
    }
}
static wr_cell load_cell(const wr_agg_slot *s, wr_reader *in) { /* borrows text from the image */
    wr_cell v = {{0, 0}};
    if (s->class == WR_CELL_STR || s->class == WR_CELL_ROW) {
        wr_str   text = wr_get_bytes(in);
        wr_sview view = wr_sview_borrow(text.ptr, text.len);
        memcpy(&v, &view, 16);
        return v;
    }
    v.w[0] = wr_get_u64(in);
    if (s->class == WR_CELL_I128) v.w[1] = wr_get_u64(in);
    return v;
}
static void save_distinct(const wr_aggs *a, const wr_agg_slot *s, const wr_list_acc *l, wr_sbuf *out) { /* each aggregate its own values, also of a shared set */
    uint64_t n = 0;
    for (uint32_t i = 0; l && i < l->distinct->n; i++) n += wr_distinct_copies(a, s, &l->distinct->items[i]) != 0;
    wr_put_u64(out, n);
    for (uint32_t i = 0; l && i < l->distinct->n; i++) {
        int64_t copies = wr_distinct_copies(a, s, &l->distinct->items[i]);
        if (!copies) continue;
        save_cell(s, l->distinct->items[i].v, out);
        wr_put_i64(out, copies);
    }
}
static bool load_distinct(wr_aggs *a, const wr_agg_slot *s, wr_acc_list *acc, wr_reader *in) {
    for (uint64_t n = wr_get_u64(in); n && !in->bad; n--) {
        wr_cell v = load_cell(s, in);
        int64_t copies = wr_get_i64(in);
        if (!in->bad) wr_distinct_add(a, s, acc, v, copies);
    }
    return !in->bad;
}
static void save_list(const wr_agg_slot *s, const wr_list_acc *l, wr_sbuf *out) {
    wr_put_u8(out, l != NULL);
    if (!l) return;
    if (l->hll) {
        wr_put_bytes(out, l->hll->reg, sizeof l->hll->reg);
        return;
    }
    if (s->form == WR_FORM_BITMAP) {
        wr_sbuf bytes = {0};
        wr_bitmap_put(&l->bitmap, &bytes);
        wr_put_bytes(out, bytes.at, bytes.len);
        wr_sbuf_free(&bytes);
        return;
    }
    bool             is_set = s->form == WR_FORM_SET;
    const wr_sorted *list = is_set ? l->by_value : l->by_seq;
    if (!is_set) {
        wr_sview sep;
        memcpy(&sep, &l->sep, 16);
        wr_put_bytes(out, wr_sview_ptr(&sep), sep.len);
    }
    wr_put_u64(out, list->count);
    for (wr_pos p = wr_sorted_first(); wr_sorted_at(list, p); p = wr_sorted_next(list, p)) {
        if (is_set) {
            const wr_set_item *item = wr_sorted_at(list, p);
            save_cell(s, item->v, out);
            wr_put_i64(out, item->n);
        } else {
            const wr_seq_item *item = wr_sorted_at(list, p);
            wr_put_u8(out, (uint8_t)item->null);
            if (!item->null) save_cell(s, item->v, out);
            wr_put_u64(out, item->seq);
        }
    }
}
static bool load_list(wr_aggs *a, const wr_agg_slot *s, wr_acc_list *acc, wr_reader *in) {
    if (!wr_get_u8(in) || in->bad) return !in->bad;
    if (s->form == WR_FORM_HLL) {
        wr_str reg = wr_get_bytes(in);
        if (reg.len != sizeof(wr_hll)) return false;
        memcpy(wr_list_of(a, s, acc, false)->hll, reg.ptr, reg.len);
        return true;
    }
    if (s->form == WR_FORM_BITMAP) return wr_bitmap_acc_load(a, s, acc, wr_get_bytes(in));
    wr_list_acc *l = wr_list_of(a, s, acc, false);
    if (s->form == WR_FORM_SEQ) {
        wr_str   sep = wr_get_bytes(in);
        wr_sview view = wr_sview_borrow(sep.ptr, sep.len);
        wr_cell  cell;
        memcpy(&cell, &view, 16);
        if (sep.len) l->sep = wr_cell_own(a, s, cell);
    }
    for (uint64_t n = wr_get_u64(in); n && !in->bad; n--) {
        if (s->form == WR_FORM_SET) {
            wr_cell v = load_cell(s, in);
            int64_t copies = wr_get_i64(in);
            if (!in->bad) wr_set_add(a, s, acc, v, copies);
        } else {
            bool     null = wr_get_u8(in);
            wr_cell  v = null ? (wr_cell){{0, 0}} : load_cell(s, in);
            uint64_t seq = wr_get_u64(in);
            if (!in->bad) wr_seq_add(a, s, acc, v, null, seq);
        }
    }
    return !in->bad;
}

void wr_aggs_save(wr_aggs *a, const void *block, wr_sbuf *out) {
    if (a->count_rows) wr_put_i64(out, wr_aggs_rows(a, block));
    for (uint32_t i = 0; i < a->n; i++) {
        const wr_agg_slot *s = &a->slots[i];
        const void        *acc = AT(char, block, s);
        if (s->distinct) save_distinct(a, s, SET_AT(block, s)->list, out);
        switch (s->form) {
        case WR_FORM_CELL: {
            const wr_acc_cell *x = acc;
            wr_put_u8(out, (uint8_t)(x->n ? 1 + x->pad : 0));
            if (!x->n) break;
            wr_put_u64(out, x->seq);
            save_cell(s, x->v, out);
            break;
        }
        case WR_FORM_SET: case WR_FORM_SEQ: case WR_FORM_HLL: case WR_FORM_BITMAP: save_list(s, ((const wr_acc_list *)acc)->list, out); break;
        case WR_FORM_COUNT: wr_put_i64(out, ((const wr_acc_count *)acc)->n); break;
        case WR_FORM_SUM64: wr_put_u64(out, ((const wr_acc_sum64 *)acc)->sum), wr_put_i64(out, ((const wr_acc_sum64 *)acc)->n); break;
        case WR_FORM_SUM128: case WR_FORM_SUMDEC: {
            const wr_acc_sum128 *x = acc;
            wr_put_u64(out, (uint64_t)x->sum), wr_put_u64(out, (uint64_t)(x->sum >> 64));
            wr_put_i64(out, x->n), wr_put_u8(out, (uint8_t)x->has);
            break;
        }
        case WR_FORM_SUMF: {
            const wr_acc_sumf *x = acc;
            wr_put_f64(out, x->sum), wr_put_f64(out, x->comp), wr_put_i64(out, x->n);
            wr_put_u32(out, x->nan), wr_put_u32(out, x->pinf), wr_put_u32(out, x->ninf);
            break;
        }
        case WR_FORM_CELL8: wr_put_u64(out, ((const wr_acc_cell8 *)acc)->v), wr_put_u8(out, (uint8_t)((const wr_acc_cell8 *)acc)->has); break;
        case WR_FORM_VAR: {
            const wr_acc_var *x = acc;
            wr_put_i64(out, x->n), wr_put_f64(out, x->mean), wr_put_f64(out, x->m2);
            break;
        }
        case WR_FORM_USER: wr_user_save(a, s, acc, out); break;
        }
    }
}

static bool load_slot(wr_aggs *a, const wr_agg_slot *s, void *acc, wr_reader *in) {
    switch (s->form) {
    case WR_FORM_CELL: {
        uint8_t has = wr_get_u8(in);
        if (!has) return true;
        uint64_t seq = wr_get_u64(in);
        wr_cell  v = load_cell(s, in);
        if (in->bad) return false;
        *(wr_acc_cell *)acc = (wr_acc_cell){has == 2 ? v : wr_cell_own(a, s, v), seq, 1, has == 2};
        return true;
    }
    case WR_FORM_SET: case WR_FORM_SEQ: case WR_FORM_HLL: case WR_FORM_BITMAP: return load_list(a, s, acc, in);
    case WR_FORM_COUNT: ((wr_acc_count *)acc)->n = wr_get_i64(in); return true;
    case WR_FORM_SUM64: *(wr_acc_sum64 *)acc = (wr_acc_sum64){.sum = wr_get_u64(in)}, ((wr_acc_sum64 *)acc)->n = wr_get_i64(in); return true;
    case WR_FORM_SUM128: case WR_FORM_SUMDEC: {
        wr_acc_sum128 *x = acc;
        wr_u128        low = wr_get_u64(in);
        x->sum = (wr_i128)(low | (wr_u128)wr_get_u64(in) << 64);
        x->n = wr_get_i64(in), x->has = wr_get_u8(in);
        return true;
    }
    case WR_FORM_SUMF: {
        wr_acc_sumf *x = acc;
        x->sum = wr_get_f64(in), x->comp = wr_get_f64(in), x->n = wr_get_i64(in);
        x->nan = wr_get_u32(in), x->pinf = wr_get_u32(in), x->ninf = wr_get_u32(in);
        return true;
    }
    case WR_FORM_CELL8: ((wr_acc_cell8 *)acc)->v = wr_get_u64(in), ((wr_acc_cell8 *)acc)->has = wr_get_u8(in); return true;
    case WR_FORM_VAR: ((wr_acc_var *)acc)->n = wr_get_i64(in), ((wr_acc_var *)acc)->mean = wr_get_f64(in), ((wr_acc_var *)acc)->m2 = wr_get_f64(in); return true;
    case WR_FORM_USER: return wr_user_load(a, s, acc, in);
    }
    return false;
}
bool wr_aggs_load(wr_aggs *a, void *block, wr_reader *in) {
    if (a->count_rows) *(int64_t *)(void *)((char *)block + a->rows_at) = wr_get_i64(in);
    for (uint32_t i = 0; i < a->n; i++) {
        const wr_agg_slot *s = &a->slots[i];
        if (s->distinct && !load_distinct(a, s, SET_AT(block, s), in)) return false;
        if (!load_slot(a, s, AT(char, block, s), in)) return false;
    }
    return !in->bad;
}
