/* op/agg.c: building accumulator blocks and taking rows in and out of them. See agg.h. */
#include "op/agg.h"
#include "op/value_set.h"
#include "base/hash.h"
#include "type/decimal.h"
#include <math.h>

enum { MALLOC_EXTRA = 16, EXACT_DECIMAL_PREC = 28 /* 10^10 such values cannot leave 38 digits */ };

/* ---- layout ---- */

static wr_cell_class class_of(wr_type t) {
    switch (wr_type_storage(t)) {
    case WR_S_I128: return WR_CELL_I128;
    case WR_S_F32: case WR_S_F64: return WR_CELL_F64;
    case WR_S_STR: return WR_CELL_STR;
    case WR_S_LIST: case WR_S_ROW: return WR_CELL_ROW;
    default: return WR_CELL_INT;
    }
}

bool wr_agg_sum_may_overflow(const wr_agg *agg) { return wr_type_storage(agg->arg_type) == WR_S_I128 && agg->arg_type.prec > EXACT_DECIMAL_PREC; }
static wr_agg_form sum_form(const wr_agg *agg) {
    switch (wr_type_storage(agg->arg_type)) {
    case WR_S_I128: return wr_agg_sum_may_overflow(agg) ? WR_FORM_SUMDEC : WR_FORM_SUM128;
    case WR_S_F32: case WR_S_F64: return WR_FORM_SUMF;
    case WR_S_I64: return agg->kind == WR_AGG_AVG ? WR_FORM_SUM128 : WR_FORM_SUM64;
    default: return WR_FORM_SUM64;
    }
}

static wr_agg_form form_of(const wr_agg *agg, bool retract) {
    wr_cell_class class = class_of(agg->arg_type);
    switch (agg->kind) {
    case WR_AGG_COUNT_STAR: case WR_AGG_COUNT: return WR_FORM_COUNT;
    case WR_AGG_SUM: case WR_AGG_SUM0: case WR_AGG_AVG: return sum_form(agg);
    case WR_AGG_MIN: case WR_AGG_MAX:
        if (retract) return WR_FORM_SET;
        return class == WR_CELL_INT || class == WR_CELL_F64 ? WR_FORM_CELL8 : WR_FORM_CELL;
    case WR_AGG_FIRST_VALUE: case WR_AGG_LAST_VALUE: return retract ? WR_FORM_SEQ : WR_FORM_CELL;
    case WR_AGG_SINGLE_VALUE: return WR_FORM_CELL;
    case WR_AGG_STDDEV_POP: case WR_AGG_STDDEV_SAMP: case WR_AGG_VAR_POP: case WR_AGG_VAR_SAMP: return WR_FORM_VAR;
    case WR_AGG_LISTAGG: case WR_AGG_ARRAY_AGG: return WR_FORM_SEQ;
    case WR_AGG_COLLECT: return WR_FORM_SET;
    case WR_AGG_APPROX_COUNT_DISTINCT: return retract ? WR_FORM_COUNT : WR_FORM_HLL;
    case WR_AGG_USER: return WR_FORM_USER;
    default: return wr_agg_is_bitmap(agg->kind) ? retract ? WR_FORM_SET : WR_FORM_BITMAP : WR_FORM_COUNT;
    }
}
static bool form_invertible(wr_agg_form f, bool distinct) {
    if (f == WR_FORM_SEQ) return !distinct;
    return f == WR_FORM_COUNT || f == WR_FORM_SUM64 || f == WR_FORM_SUM128 || f == WR_FORM_SET;
}
static uint32_t form_bytes(wr_agg_form f) {
    static const uint8_t sizes[] = {
        [WR_FORM_COUNT] = sizeof(wr_acc_count), [WR_FORM_SUM64] = sizeof(wr_acc_sum64), [WR_FORM_SUM128] = sizeof(wr_acc_sum128),
        [WR_FORM_SUMDEC] = sizeof(wr_acc_sum128), [WR_FORM_SUMF] = sizeof(wr_acc_sumf), [WR_FORM_CELL8] = sizeof(wr_acc_cell8),
        [WR_FORM_CELL] = sizeof(wr_acc_cell), [WR_FORM_SET] = sizeof(wr_acc_list), [WR_FORM_SEQ] = sizeof(wr_acc_list),
        [WR_FORM_VAR] = sizeof(wr_acc_var), [WR_FORM_HLL] = sizeof(wr_acc_list), [WR_FORM_USER] = sizeof(wr_acc_user),
        [WR_FORM_BITMAP] = sizeof(wr_acc_list),
    };
    return sizes[f];
}
static bool is_distinct(const wr_agg *agg, bool retract) {
    if (agg->kind == WR_AGG_APPROX_COUNT_DISTINCT) return retract;
    if (!agg->distinct) return false;
    switch (agg->kind) { /* the others do not notice copies */
    case WR_AGG_MIN: case WR_AGG_MAX: case WR_AGG_FIRST_VALUE: case WR_AGG_LAST_VALUE: case WR_AGG_SINGLE_VALUE: return false;
    case WR_AGG_BITMAP_XOR: case WR_AGG_BITMAP_XOR_CARD: return true;
    default: return !wr_agg_is_bitmap(agg->kind);
    }
}
static uint32_t place(uint32_t *at, uint32_t bytes, uint32_t align) {
    *at = (*at + align - 1) / align * align;
    uint32_t here = *at;
    *at += bytes;
    return here;
}
enum { MARKS_MAX = 32 };
/* A value is in the set once; what each aggregate behind it has seen is a bit. */
static bool may_share(const wr_agg_slot *s) { return s->distinct && s->form != WR_FORM_SEQ && s->form != WR_FORM_USER && s->class != WR_CELL_ROW && s->agg.arg >= 0; }
static bool same_values(const wr_agg *x, const wr_agg *y) { return x->arg == y->arg && wr_type_same(x->arg_type, y->arg_type); }
bool wr_agg_values_kept_by_other(const wr_agg *aggs, uint32_t n, uint32_t i, bool retract) {
    bool     found = false;
    wr_aggs *a = wr_aggs_new_of_groups(aggs, n, retract);
    for (uint32_t k = 0; k < n && a->marks && may_share(&a->slots[i]) && !found; k++)
        found = k != i && aggs[k].filter < 0 && (aggs[i].filter >= 0 || k < i) && may_share(&a->slots[k]) && same_values(&aggs[k], &aggs[i]);
    wr_aggs_free(a);
    return found;
}
static void share_set(wr_aggs *a, wr_agg_slot *s) {
    if (!may_share(s)) return;
    for (wr_agg_slot *o = a->slots; o < s; o++) {
        if (!may_share(o) || o->mark != 1 || !same_values(&o->agg, &s->agg)) continue;
        uint32_t n = 1;
        wr_agg_slot *last = o;
        for (; last->next; n++) last = &a->slots[last->next];
        if (n == MARKS_MAX) continue;
        last->next = (uint32_t)(s - a->slots);
        s->mark = UINT32_C(1) << n;
        s->set_at = o->set_at;
        return;
    }
}
static void slot_init(wr_aggs *a, wr_agg_slot *s, const wr_agg *agg, uint32_t *at) {
    *s = (wr_agg_slot){.agg = *agg, .form = form_of(agg, a->retract), .storage = wr_type_storage(agg->arg_type), .class = class_of(agg->arg_type)};
    s->distinct = is_distinct(agg, a->retract);
    s->least = agg->kind == WR_AGG_MIN || agg->kind == WR_AGG_FIRST_VALUE;
    s->by_seq = agg->kind == WR_AGG_FIRST_VALUE || agg->kind == WR_AGG_LAST_VALUE || agg->kind == WR_AGG_SINGLE_VALUE;
    if (s->distinct && s->form == WR_FORM_SET) s->distinct = false; /* COLLECT(DISTINCT): one copy a value is shown */
    if (s->form == WR_FORM_USER) {
        s->user = agg->user->decl->aggregate;
        s->user_nulls = agg->user->udf->decl->flags & WEIR_SEES_NULL;
        s->user_row = agg->user->n_args > 1;
        a->has_heap |= s->user->destroy != NULL;
        if (!a->user) a->user = wr_user_new(a->arena);
    }
    bool wide = s->form == WR_FORM_SUM128 || s->form == WR_FORM_SUMDEC || s->form == WR_FORM_USER;
    s->at = place(at, form_bytes(s->form) + (s->user ? s->user->state_bytes : 0), wide ? 16 : 8);
    s->mark = 1;
    if (a->marks) share_set(a, s);
    if (s->distinct && s->mark == 1) s->set_at = place(at, sizeof(wr_acc_list), 8);
    if (s->class == WR_CELL_ROW) s->codec = wr_rowcodec_new(a->arena, &s->agg.arg_type, 1);
    bool text = s->class == WR_CELL_STR || s->class == WR_CELL_ROW;
    a->has_heap |= s->distinct || s->form == WR_FORM_SET || s->form == WR_FORM_SEQ || s->form == WR_FORM_HLL || s->form == WR_FORM_BITMAP || (s->form == WR_FORM_CELL && text);
    a->invertible &= form_invertible(s->form, s->distinct);
}

static wr_aggs *aggs_new(const wr_agg *aggs, uint32_t n, bool retract, bool count_rows, bool marks) {
    wr_aggs *a = wr_calloc(1, sizeof *a);
    a->marks = marks;
    a->arena = wr_arena_new(NULL);
    a->n = n;
    a->retract = retract;
    a->count_rows = count_rows;
    a->invertible = true;
    a->slots = wr_new_n(a->arena, wr_agg_slot, n ? n : 1);
    a->rows_at = UINT32_MAX;
    uint32_t at = 0;
    for (uint32_t i = 0; i < n; i++) {
        slot_init(a, &a->slots[i], &aggs[i], &at);
        if (aggs[i].kind == WR_AGG_COUNT_STAR && aggs[i].filter < 0) a->rows_at = a->slots[i].at;
    }
    if (count_rows && a->rows_at == UINT32_MAX) {
        a->rows_at = place(&at, 8, 8);
        a->count_rows = true;
    } else {
        a->count_rows = false; /* COUNT(*) is the row count, if one is needed */
    }
    a->bytes = (at + 15) & ~15u;
    a->iota = wr_new_n(a->arena, uint16_t, WR_BATCH_MAX);
    a->pass = wr_new_n(a->arena, uint16_t, WR_BATCH_MAX);
    a->sign = wr_new_n(a->arena, int8_t, WR_BATCH_MAX);
    if (marks) a->mark_of = wr_new_n(a->arena, uint32_t, WR_BATCH_MAX);
    for (uint32_t i = 0; i < WR_BATCH_MAX; i++) a->iota[i] = (uint16_t)i;
    return a;
}
wr_aggs *wr_aggs_new(const wr_agg *aggs, uint32_t n, bool retract, bool count_rows) { return aggs_new(aggs, n, retract, count_rows, false); }
wr_aggs *wr_aggs_new_of_groups(const wr_agg *aggs, uint32_t n, bool retract) {
    wr_aggs *a = aggs_new(aggs, n, retract, retract, !retract);
    a->settle = true;
    return a;
}
void wr_aggs_free(wr_aggs *a) {
    if (!a) return;
    wr_user_free(a->user);
    wr_sbuf_free(&a->scratch);
    wr_arena_free(a->arena);
    wr_free(a);
}
int64_t wr_aggs_heap_change(wr_aggs *a) {
    int64_t change = a->heap_bytes - a->heap_told;
    a->heap_told = a->heap_bytes;
    return change;
}

/* Fixed bytes of a block, without building one; and what one more value costs where values are kept. */
void wr_agg_bytes(const wr_agg *aggs, uint32_t n, bool retract_input, double *fixed, double *per_value) {
    wr_aggs *a = wr_aggs_new(aggs, n, retract_input, retract_input);
    *fixed = a->bytes;
    *per_value = 0;
    for (uint32_t i = 0; i < n; i++) {
        const wr_agg_slot *s = &a->slots[i];
        const double slack = 1 / 0.7; /* a chunk is between half full and full */
        if (s->form == WR_FORM_SET) *per_value += sizeof(wr_set_item) * slack;
        if (s->distinct) *per_value += sizeof(wr_set_item) * 1.2 + 4 / 0.375; /* a third of slack; the index is a quarter to half full */
        if (s->form == WR_FORM_SEQ) *per_value += sizeof(wr_seq_item) * slack * (retract_input || s->distinct ? 2 : 1);
        if (s->form == WR_FORM_SET || s->form == WR_FORM_SEQ || s->distinct)
            *fixed += sizeof(wr_list_acc) + sizeof(wr_sorted) + 2 * MALLOC_EXTRA + 8;
        if (s->form == WR_FORM_BITMAP) *fixed += sizeof(wr_list_acc) + 2 * sizeof(wr_bitmap_box) + 2 * MALLOC_EXTRA, *per_value += 2 / 0.7; /* of numbers near each other */
        if (s->form == WR_FORM_HLL) *fixed += sizeof(wr_list_acc) + sizeof(wr_hll);
        if (s->form == WR_FORM_USER) *fixed += s->user->owned_bytes;
    }
    wr_aggs_free(a);
}

double wr_agg_list_bytes(const wr_agg *aggs, uint32_t n, bool retract_input) {
    double   fixed, per_value;
    wr_aggs *a = wr_aggs_new(aggs, n, retract_input, retract_input);
    wr_agg_bytes(aggs, n, retract_input, &fixed, &per_value);
    fixed -= a->bytes;
    wr_aggs_free(a);
    return fixed;
}

/* ---- cells ---- */

static wr_cell cell_int(int64_t v) { return (wr_cell){{(uint64_t)v, 0}}; }
static wr_cell cell_f64(double v) {
    wr_cell c = {{0, 0}};
    memcpy(c.w, &v, 8);
    return c;
}
WR_INLINE double as_f64(uint64_t w) {
    double v;
    memcpy(&v, &w, 8);
    return v;
}
static wr_cell cell_view(wr_sview v) {
    wr_cell c;
    memcpy(&c, &v, 16);
    return c;
}
static wr_sview as_view(const wr_cell *c) {
    wr_sview v;
    memcpy(&v, c, 16);
    return v;
}

wr_cell wr_cell_get(const wr_agg_slot *s, const wr_vec *vec, uint32_t row, wr_sbuf *scratch) {
    const void *data = vec->data;
    wr_cell     c = {{0, 0}};
    switch (s->storage) {
    case WR_S_BOOL: return cell_int(((const uint8_t *)data)[row]);
    case WR_S_I8: return cell_int(((const int8_t *)data)[row]);
    case WR_S_I16: return cell_int(((const int16_t *)data)[row]);
    case WR_S_I32: return cell_int(((const int32_t *)data)[row]);
    case WR_S_I64: return cell_int(((const int64_t *)data)[row]);
    case WR_S_F32: return cell_f64((double)((const float *)data)[row]);
    case WR_S_F64: return cell_f64(((const double *)data)[row]);
    case WR_S_I128: case WR_S_STR: memcpy(&c, (const char *)data + (size_t)row * 16, 16); return c;
    case WR_S_LIST: case WR_S_ROW: {
        wr_batch one = {.n_rows = vec->n, .n_cols = 1, .cols = (wr_vec *)(uintptr_t)vec};
        wr_sbuf_clear(scratch);
        wr_rowcodec_put(s->codec, &one, NULL, row, scratch);
        return cell_view(wr_sview_borrow(scratch->at, scratch->len));
    }
    default: return c;
    }
}
static bool is_text(const wr_agg_slot *s) { return s->class == WR_CELL_STR || s->class == WR_CELL_ROW; }
wr_cell wr_cell_own(wr_aggs *a, const wr_agg_slot *s, wr_cell v) {
    if (!is_text(s)) return v;
    wr_sview view = as_view(&v);
    if (view.len <= 12) return v;
    char *copy = wr_malloc(view.len);
    memcpy(copy, view.ptr, view.len);
    a->heap_bytes += view.len + MALLOC_EXTRA;
    return cell_view(wr_sview_borrow(copy, view.len));
}
void wr_cell_drop(wr_aggs *a, const wr_agg_slot *s, wr_cell v) {
    if (!is_text(s)) return;
    wr_sview view = as_view(&v);
    if (view.len <= 12) return;
    a->heap_bytes -= view.len + MALLOC_EXTRA;
    wr_free((void *)(uintptr_t)view.ptr);
}
WR_INLINE int compare_f64(double x, double y) { /* NaN greatest, equal to itself */
    if (x < y) return -1;
    if (x > y) return 1;
    return (x != x) - (y != y);
}
int wr_cell_compare(wr_cell_class class, wr_cell a, wr_cell b) {
    switch (class) {
    case WR_CELL_INT: return ((int64_t)a.w[0] > (int64_t)b.w[0]) - ((int64_t)a.w[0] < (int64_t)b.w[0]);
    case WR_CELL_F64: return compare_f64(as_f64(a.w[0]), as_f64(b.w[0]));
    case WR_CELL_I128: {
        wr_i128 x, y;
        memcpy(&x, &a, 16), memcpy(&y, &b, 16);
        return (x > y) - (x < y);
    }
    default: {
        wr_sview x = as_view(&a), y = as_view(&b);
        return wr_str_cmp(wr_sview_str(&x), wr_sview_str(&y));
    }
    }
}
int wr_set_order(const void *slot, const void *a, const void *b) {
    return wr_cell_compare(((const wr_agg_slot *)slot)->class, ((const wr_set_item *)a)->v, ((const wr_set_item *)b)->v);
}
static int seq_only(const void *slot, const void *a, const void *b) {
    uint64_t x = ((const wr_seq_item *)a)->seq, y = ((const wr_seq_item *)b)->seq;
    (void)slot;
    return (x > y) - (x < y);
}
int wr_seq_order(const void *slot, const void *a, const void *b) { /* (NULL first, value, arrival) */
    const wr_seq_item *x = a, *y = b;
    if (x->null != y->null) return x->null ? -1 : 1;
    int order = x->null ? 0 : wr_cell_compare(((const wr_agg_slot *)slot)->class, x->v, y->v);
    return order ? order : seq_only(slot, a, b);
}

/* ---- lists ---- */

wr_list_acc *wr_list_of(wr_aggs *a, const wr_agg_slot *s, wr_acc_list *acc, bool for_distinct) {
    if (acc->list) return acc->list;
    wr_list_acc *l = acc->list = wr_calloc(1, sizeof *l);
    a->heap_bytes += (int64_t)sizeof *l + MALLOC_EXTRA;
    if (for_distinct) {
        l->distinct = wr_value_set_new();
        a->heap_bytes += l->distinct->bytes;
    } else if (s->form == WR_FORM_SET) {
        l->by_value = wr_sorted_new(sizeof(wr_set_item));
    } else if (s->form == WR_FORM_SEQ) {
        l->by_seq = wr_sorted_new(sizeof(wr_seq_item));
        if (a->retract || s->distinct) l->by_value = wr_sorted_new(sizeof(wr_seq_item));
    } else if (s->form == WR_FORM_HLL) {
        l->hll = wr_calloc(1, sizeof *l->hll);
        a->heap_bytes += (int64_t)sizeof *l->hll + MALLOC_EXTRA;
    }
    if (l->by_value) a->heap_bytes += l->by_value->bytes;
    if (l->by_seq) a->heap_bytes += l->by_seq->bytes;
    return l;
}

/* The marks that the value did not have. at: its item, or UINT32_MAX. */
static uint32_t mark_add(wr_aggs *a, const wr_agg_slot *s, wr_value_set *set, uint32_t at, wr_cell v, uint64_t hash, uint32_t marks) {
    if (at != UINT32_MAX) {
        wr_set_item *item = &set->items[at];
        uint32_t     fresh = marks & ~(uint32_t)item->n;
        item->n |= marks;
        return fresh;
    }
    int64_t bytes = set->bytes;
    wr_value_set_add(set, s, (wr_set_item){wr_cell_own(a, s, v), marks}, hash);
    a->heap_bytes += set->bytes - bytes;
    return marks;
}
static bool distinct_add(wr_aggs *a, const wr_agg_slot *s, wr_acc_list *acc, wr_cell v, uint64_t hash, int64_t n) {
    wr_value_set *set = wr_list_of(a, s, acc, true)->distinct;
    uint32_t      at = wr_value_set_find(set, s, v, hash);
    int64_t       bytes = set->bytes;
    if (a->marks) return n > 0 && mark_add(a, s, set, at, v, hash, s->mark);
    if (at == UINT32_MAX) {
        if (!n) return false;
        wr_value_set_add(set, s, (wr_set_item){wr_cell_own(a, s, v), n}, hash);
        a->heap_bytes += set->bytes - bytes;
        return n > 0; /* below 0: a copy that is owed */
    }
    wr_set_item *item = &set->items[at];
    bool         was = item->n > 0;
    item->n += n;
    bool is = item->n > 0;
    if (item->n) return was != is;
    wr_cell text = item->v;
    wr_value_set_remove(set, s, at);
    wr_cell_drop(a, s, text);
    return was != is;
}
bool wr_distinct_add(wr_aggs *a, const wr_agg_slot *s, wr_acc_list *acc, wr_cell v, int64_t n) { return distinct_add(a, s, acc, v, 0, n); }
bool wr_set_add(wr_aggs *a, const wr_agg_slot *s, wr_acc_list *acc, wr_cell v, int64_t n) {
    wr_sorted  *set = wr_list_of(a, s, acc, false)->by_value;
    wr_set_item item = {v, n};
    bool        equal;
    int64_t     before = set->bytes;
    wr_pos      pos = wr_sorted_seek(set, &item, wr_set_order, s, &equal);
    if (equal) {
        wr_set_item *there = wr_sorted_at(set, pos);
        bool         was = there->n > 0;
        there->n += n;
        bool is = there->n > 0;
        if (there->n) return was != is;
        wr_cell_drop(a, s, there->v);
        wr_sorted_remove(set, pos);
        a->heap_bytes += set->bytes - before;
        return was != is;
    }
    if (!n) return false;
    item.v = wr_cell_own(a, s, v);
    wr_sorted_insert(set, pos, &item);
    a->heap_bytes += set->bytes - before;
    return n > 0; /* a copy that is owed: a retraction that came before its row (as Flink keeps it) */
}

void wr_seq_add(wr_aggs *a, const wr_agg_slot *s, wr_acc_list *acc, wr_cell v, bool null, uint64_t seq) {
    wr_list_acc *l = wr_list_of(a, s, acc, false);
    int64_t      before = l->by_seq->bytes + (l->by_value ? l->by_value->bytes : 0);
    wr_seq_item  item = {null ? (wr_cell){{0, 0}} : wr_cell_own(a, s, v), seq, null};
    bool         equal;
    wr_sorted_insert(l->by_seq, wr_sorted_seek(l->by_seq, &item, seq_only, s, &equal), &item);
    if (l->by_value) wr_sorted_insert(l->by_value, wr_sorted_seek(l->by_value, &item, wr_seq_order, s, &equal), &item);
    a->heap_bytes += l->by_seq->bytes + (l->by_value ? l->by_value->bytes : 0) - before;
}
static void seq_remove_item(wr_aggs *a, const wr_agg_slot *s, wr_list_acc *l, wr_seq_item item) {
    int64_t before = l->by_seq->bytes + (l->by_value ? l->by_value->bytes : 0);
    bool    equal;
    wr_pos  pos = wr_sorted_seek(l->by_seq, &item, seq_only, s, &equal);
    if (!equal) return;
    item = *(wr_seq_item *)wr_sorted_at(l->by_seq, pos);
    wr_sorted_remove(l->by_seq, pos);
    if (l->by_value) {
        pos = wr_sorted_seek(l->by_value, &item, wr_seq_order, s, &equal);
        wr_assert(equal);
        wr_sorted_remove(l->by_value, pos);
    }
    if (!item.null) wr_cell_drop(a, s, item.v);
    a->heap_bytes += l->by_seq->bytes + (l->by_value ? l->by_value->bytes : 0) - before;
}
void wr_seq_remove(wr_aggs *a, const wr_agg_slot *s, wr_acc_list *acc, uint64_t seq) {
    seq_remove_item(a, s, wr_list_of(a, s, acc, false), (wr_seq_item){.seq = seq});
}
bool wr_seq_first(const wr_agg_slot *s, const wr_list_acc *l, wr_cell v, bool null, uint64_t *seq) {
    wr_seq_item  key = {v, 0, null};
    bool         equal;
    wr_seq_item *found = wr_sorted_at(l->by_value, wr_sorted_seek(l->by_value, &key, wr_seq_order, s, &equal));
    if (!found || found->null != null || (!null && wr_cell_compare(s->class, found->v, v) != 0)) return false;
    *seq = found->seq;
    return true;
}
/* Takes the first arrival of the value out. */
static void seq_remove_value(wr_aggs *a, const wr_agg_slot *s, wr_acc_list *acc, wr_cell v, bool null) {
    wr_list_acc *l = wr_list_of(a, s, acc, false);
    uint64_t     seq;
    if (wr_seq_first(s, l, v, null, &seq)) seq_remove_item(a, s, l, (wr_seq_item){.seq = seq});
}

/* ---- one value ---- */

void wr_sumf_add(wr_acc_sumf *acc, double x, int sign) {
    acc->n += sign;
    if (WR_UNLIKELY(!isfinite(x))) {
        uint32_t *which = x != x ? &acc->nan : x > 0 ? &acc->pinf : &acc->ninf;
        *which += (uint32_t)sign;
    } else {
        x *= sign;
        double t = acc->sum + x;
        acc->comp += fabs(acc->sum) >= fabs(x) ? (acc->sum - t) + x : (x - t) + acc->sum;
        acc->sum = t;
    }
}
static void sumdec_add(wr_acc_sum128 *acc, wr_i128 v, int sign) {
    wr_i128 sum;
    acc->n += sign;
    acc->has = !__builtin_add_overflow(acc->sum, sign > 0 ? v : -v, &sum) && wr_decimal_fits(sum, WR_DECIMAL_MAX_PREC);
    acc->sum = acc->has ? sum : 0;
}
/* A group without values starts from zero again: no rounding error or overflow outlives it. */
WR_INLINE void sumf_settle(const wr_aggs *a, wr_acc_sumf *acc) { if (a->settle && acc->n == 0) acc->sum = acc->comp = 0; }
WR_INLINE void sumdec_settle(const wr_aggs *a, wr_acc_sum128 *acc) { if (a->settle && acc->n == 0) acc->sum = 0, acc->has = 0; }
static void var_add(wr_acc_var *acc, double x, int sign) {
    if (sign > 0) {
        acc->n++;
        double d = x - acc->mean;
        acc->mean += d / (double)acc->n;
        acc->m2 += d * (x - acc->mean);
    } else if (--acc->n <= 0) {
        acc->mean = acc->m2 = 0;
    } else {
        double d = x - acc->mean;
        acc->mean -= d / (double)acc->n;
        acc->m2 = WR_MAX(acc->m2 - d * (x - acc->mean), 0.0);
    }
}
static double cell_number(const wr_agg_slot *s, wr_cell v) {
    if (s->class == WR_CELL_F64) return as_f64(v.w[0]);
    if (s->class == WR_CELL_INT) return (double)(int64_t)v.w[0];
    wr_i128 d;
    memcpy(&d, &v, 16);
    return wr_decimal_to_double(d, s->agg.arg_type.scale);
}
static void cell_keep(wr_aggs *a, const wr_agg_slot *s, wr_acc_cell *acc, wr_cell v, uint64_t seq) {
    bool better = !acc->n;
    if (!better && s->by_seq) better = s->least ? seq < acc->seq : seq > acc->seq;
    else if (!better) better = s->least ? wr_cell_compare(s->class, v, acc->v) < 0 : wr_cell_compare(s->class, v, acc->v) > 0;
    if (!better) return;
    wr_cell own = wr_cell_own(a, s, v);
    if (acc->n) wr_cell_drop(a, s, acc->v);
    *acc = (wr_acc_cell){own, seq, 1, 0};
}
static wr_status single_value(wr_aggs *a, const wr_agg_slot *s, wr_acc_cell *acc, wr_cell v, bool null, int sign, wr_err *err) {
    if (sign > 0) {
        if (acc->n) return wr_fail(err, WR_DATA, "21000", "a sub-query used as a value returned more than one row");
        *acc = (wr_acc_cell){null ? (wr_cell){{0, 0}} : wr_cell_own(a, s, v), 0, 1, null};
    } else if (acc->n) {
        if (!acc->pad) wr_cell_drop(a, s, acc->v);
        *acc = (wr_acc_cell){{{0, 0}}, 0, 0, 0};
    }
    return WR_OK;
}
uint64_t wr_cell_hash(const wr_agg_slot *s, wr_cell v) {
    if (is_text(s)) {
        wr_sview view = as_view(&v);
        return wr_hash_bytes(wr_sview_ptr(&view), view.len);
    }
    if (s->class == WR_CELL_F64 && as_f64(v.w[0]) == 0) v.w[0] = 0;
    if (s->class == WR_CELL_F64 && as_f64(v.w[0]) != as_f64(v.w[0])) v.w[0] = UINT64_MAX; /* one NaN */
    return wr_hash_mix(wr_hash_u64(v.w[0]), s->class == WR_CELL_I128 ? v.w[1] : 0);
}

wr_status wr_acc_one(wr_aggs *a, const wr_agg_slot *s, void *acc, wr_cell v, bool null, int sign, uint64_t seq, wr_err *err) {
    switch (s->form) {
    case WR_FORM_COUNT: ((wr_acc_count *)acc)->n += sign; break;
    case WR_FORM_SUM64: {
        wr_acc_sum64 *x = acc;
        x->sum += sign > 0 ? v.w[0] : -v.w[0];
        x->n += sign;
        break;
    }
    case WR_FORM_SUM128: case WR_FORM_SUMDEC: {
        wr_i128 d = (int64_t)v.w[0];
        if (s->class == WR_CELL_I128) memcpy(&d, &v, 16);
        wr_acc_sum128 *x = acc;
        if (s->form == WR_FORM_SUMDEC) sumdec_add(x, d, sign), sumdec_settle(a, x);
        else x->sum += sign > 0 ? d : -d, x->n += sign;
        break;
    }
    case WR_FORM_SUMF: wr_sumf_add(acc, as_f64(v.w[0]), sign), sumf_settle(a, acc); break;
    case WR_FORM_CELL8: {
        wr_acc_cell8 *x = acc;
        int order = x->has ? wr_cell_compare(s->class, v, (wr_cell){{x->v, 0}}) : 0;
        if (!x->has || (s->least ? order < 0 : order > 0)) x->v = v.w[0], x->has = 1;
        break;
    }
    case WR_FORM_CELL:
        if (s->agg.kind == WR_AGG_SINGLE_VALUE) return single_value(a, s, acc, v, null, sign, err);
        cell_keep(a, s, acc, v, seq);
        break;
    case WR_FORM_SET: wr_set_add(a, s, acc, v, sign); break;
    case WR_FORM_SEQ:
        if (sign > 0) wr_seq_add(a, s, acc, v, null, seq);
        else seq_remove_value(a, s, acc, v, null);
        break;
    case WR_FORM_VAR: var_add(acc, cell_number(s, v), sign); break;
    case WR_FORM_HLL: wr_hll_add(wr_list_of(a, s, acc, false)->hll, wr_cell_hash(s, v)); break;
    case WR_FORM_USER: return wr_user_one(a, s, acc, v, sign, err);
    case WR_FORM_BITMAP: wr_bitmap_acc_add(a, s, acc, v); break;
    }
    return WR_OK;
}

/* ---- whole batches ---- */

typedef struct feed { /* one aggregate over the rows of a batch */
    const wr_batch *batch;
    const uint32_t *rows;
    void *const    *blocks;
    const int8_t   *sign;   /* by position, NULL = all +1 */
    const uint16_t *pass;   /* positions that count */
    uint32_t        n;
} feed;
#define ACC(T, i) ((T *)(void *)((char *)f->blocks[i] + s->at))
#define SIGN(i) (f->sign ? f->sign[i] : 1)

static void feed_count(const wr_agg_slot *s, const feed *f) {
    if (!f->sign) for (uint32_t k = 0; k < f->n; k++) ACC(wr_acc_count, f->pass[k])->n++;
    else for (uint32_t k = 0; k < f->n; k++) ACC(wr_acc_count, f->pass[k])->n += f->sign[f->pass[k]];
}
#define FEED_SUM64(T)                                                                       \
    for (uint32_t k = 0; k < f->n; k++) {                                                   \
        uint32_t      i = f->pass[k];                                                       \
        wr_acc_sum64 *acc = ACC(wr_acc_sum64, i);                                           \
        uint64_t      v = (uint64_t)(int64_t)((const T *)data)[f->rows[i]];                 \
        int           sign = SIGN(i);                                                       \
        acc->sum += sign > 0 ? v : -v;                                                      \
        acc->n += sign;                                                                     \
    }
static void feed_sum64(const wr_agg_slot *s, const feed *f, const void *data) {
    switch (s->storage) {
    case WR_S_I8: FEED_SUM64(int8_t); break;
    case WR_S_I16: FEED_SUM64(int16_t); break;
    case WR_S_I32: FEED_SUM64(int32_t); break;
    default: FEED_SUM64(int64_t); break;
    }
}
static void feed_sum128(const wr_aggs *a, const wr_agg_slot *s, const feed *f, const void *data) {
    for (uint32_t k = 0; k < f->n; k++) {
        uint32_t       i = f->pass[k], row = f->rows[i];
        wr_acc_sum128 *acc = ACC(wr_acc_sum128, i);
        wr_i128        v = s->storage == WR_S_I64 ? (wr_i128)((const int64_t *)data)[row] : ((const wr_i128 *)data)[row];
        int            sign = SIGN(i);
        if (s->form == WR_FORM_SUMDEC) {
            sumdec_add(acc, v, sign);
            sumdec_settle(a, acc);
            continue;
        }
        acc->sum += sign > 0 ? v : -v;
        acc->n += sign;
    }
}
static void feed_sumf(const wr_aggs *a, const wr_agg_slot *s, const feed *f, const void *data) {
    for (uint32_t k = 0; k < f->n; k++) {
        uint32_t i = f->pass[k], row = f->rows[i];
        wr_acc_sumf *acc = ACC(wr_acc_sumf, i);
        wr_sumf_add(acc, s->storage == WR_S_F32 ? (double)((const float *)data)[row] : ((const double *)data)[row], SIGN(i));
        sumf_settle(a, acc);
    }
}
#define FEED_EXTREME(T)                                                                             \
    for (uint32_t k = 0; k < f->n; k++) {                                                           \
        uint32_t      i = f->pass[k];                                                               \
        wr_acc_cell8 *acc = ACC(wr_acc_cell8, i);                                                   \
        int64_t       v = ((const T *)data)[f->rows[i]], old = (int64_t)acc->v;                     \
        if (!acc->has || (s->least ? v < old : v > old)) acc->v = (uint64_t)v, acc->has = 1;        \
    }
static void feed_extreme(const wr_agg_slot *s, const feed *f, const void *data) {
    switch (s->storage) {
    case WR_S_BOOL: FEED_EXTREME(uint8_t); break;
    case WR_S_I8: FEED_EXTREME(int8_t); break;
    case WR_S_I16: FEED_EXTREME(int16_t); break;
    case WR_S_I32: FEED_EXTREME(int32_t); break;
    default: FEED_EXTREME(int64_t); break;
    }
}
/* LISTAGG's separator is a constant column: taken from the first row of the group. */
static void feed_separator(wr_aggs *a, const wr_agg_slot *s, const feed *f) {
    if (s->agg.kind != WR_AGG_LISTAGG || s->agg.arg2 < 0) return;
    const wr_vec *vec = &f->batch->cols[s->agg.arg2];
    for (uint32_t k = 0; k < f->n; k++) {
        wr_list_acc *l = wr_list_of(a, s, ACC(wr_acc_list, f->pass[k]), false);
        wr_sview     old = as_view(&l->sep);
        if (old.len || wr_vec_is_null(vec, f->rows[f->pass[k]])) continue;
        l->sep = wr_cell_own(a, s, cell_view(((const wr_sview *)vec->data)[f->rows[f->pass[k]]]));
    }
}
static wr_status feed_any(wr_aggs *a, const wr_agg_slot *s, const feed *f, const wr_vec *vec, wr_err *err) {
    for (uint32_t k = 0; k < f->n; k++) {
        uint32_t i = f->pass[k], row = f->rows[i];
        bool     null = vec && wr_vec_is_null(vec, row);
        wr_cell  v = {{0, 0}};
        int      sign = SIGN(i);
        if (vec && !null) v = wr_cell_get(s, vec, row, &a->scratch);
        if (s->distinct && !wr_distinct_add(a, s, (wr_acc_list *)(void *)((char *)f->blocks[i] + s->set_at), v, sign)) continue;
        WR_TRY(wr_acc_one(a, s, ACC(void, i), v, null, sign, a->seq + row, err));
    }
    return WR_OK;
}

/* A value that the aggregates with these marks had not seen. */
static wr_status fresh_value(wr_aggs *a, const wr_agg_slot *s, char *block, wr_cell v, uint32_t fresh, wr_err *err) {
    for (;; s = &a->slots[s->next]) {
        if (fresh & s->mark) {
            if (s->form == WR_FORM_COUNT) ((wr_acc_count *)(void *)(block + s->at))->n++;
            else WR_TRY(wr_acc_one(a, s, block + s->at, v, false, 1, 0, err));
            if (!(fresh &= ~s->mark)) return WR_OK;
        }
        if (!s->next) return WR_OK;
    }
}
#define SET_OF(i) ((wr_acc_list *)(void *)((char *)f->blocks[i] + s->set_at))
static const wr_value_set *set_there(const wr_acc_list *acc) { return acc->list ? acc->list->distinct : NULL; }
/* A value goes through four places that lie all over the memory: list, set, index, item. Those of a block of rows are on their way at the same time. */
static wr_status feed_distinct(wr_aggs *a, const wr_agg_slot *s, const feed *f, const wr_vec *vec, wr_err *err) {
    enum { BLOCK = 32 };
    wr_cell  cell[BLOCK];
    uint64_t hash[BLOCK];
    bool     shared = a->marks && may_share(s);
    for (uint32_t from = 0, n; from < f->n; from += n) {
        const uint16_t *pass = f->pass + from;
        n = WR_MIN(f->n - from, (uint32_t)BLOCK);
        for (uint32_t k = 0; k < n; k++) WR_PREFETCH(SET_OF(pass[k])->list); /* NULL does no harm */
        for (uint32_t k = 0; k < n; k++) {
            WR_PREFETCH(set_there(SET_OF(pass[k])));
            cell[k] = wr_cell_get(s, vec, f->rows[pass[k]], &a->scratch);
        }
        for (uint32_t k = 0; k < n; k++) {
            const wr_value_set *set = set_there(SET_OF(pass[k]));
            hash[k] = set && set->index ? wr_cell_hash(s, cell[k]) : 0;
            if (hash[k]) WR_PREFETCH(&set->index[(uint32_t)hash[k] & (set->index_cap - 1)]);
            else if (set) WR_PREFETCH(set->items);
        }
        for (uint32_t k = 0; k < n; k++) {
            const wr_value_set *set = set_there(SET_OF(pass[k]));
            uint32_t            item = hash[k] ? set->index[(uint32_t)hash[k] & (set->index_cap - 1)] : 0;
            if (item) WR_PREFETCH(&set->items[item - 1]);
        }
        for (uint32_t k = 0; k < n; k++) {
            int sign = SIGN(pass[k]);
            if (shared) {
                wr_value_set *set = wr_list_of(a, s, SET_OF(pass[k]), true)->distinct;
                uint32_t fresh = mark_add(a, s, set, wr_value_set_find(set, s, cell[k], hash[k]), cell[k], hash[k], a->mark_of[pass[k]]);
                if (fresh) WR_TRY(fresh_value(a, s, f->blocks[pass[k]], cell[k], fresh, err));
                continue;
            }
            if (!distinct_add(a, s, SET_OF(pass[k]), cell[k], hash[k], sign)) continue;
            WR_TRY(wr_acc_one(a, s, ACC(void, pass[k]), cell[k], false, sign, a->seq + f->rows[pass[k]], err));
        }
    }
    return WR_OK;
}

static bool no_nulls(const uint64_t *valid, uint32_t n) {
    if (!valid) return true;
    for (uint32_t w = 0; w < n / 64; w++)
        if (~valid[w]) return false;
    return !(n % 64) || !(~valid[n / 64] << (64 - n % 64));
}
/* Positions whose FILTER is true and whose argument is not NULL. */
static const uint16_t *positions(wr_aggs *a, const wr_agg_slot *s, const wr_batch *batch, const uint32_t *rows, uint32_t n, uint32_t *n_pass) {
    const wr_vec *arg = s->agg.arg >= 0 ? &batch->cols[s->agg.arg] : NULL, *filter = s->agg.filter >= 0 ? &batch->cols[s->agg.filter] : NULL;
    bool keeps_null = s->agg.kind == WR_AGG_ARRAY_AGG || s->agg.kind == WR_AGG_SINGLE_VALUE || s->agg.kind == WR_AGG_COUNT_STAR ||
                      s->user_nulls;
    if (keeps_null && !s->distinct) arg = NULL;
    if (arg && arg->type.id != WR_T_NULL && no_nulls(arg->valid, batch->n_rows)) arg = NULL;
    *n_pass = n;
    if (!arg && !filter) return a->iota;
    uint32_t m = 0;
    for (uint32_t i = 0; i < n; i++) {
        bool ok = !arg || !wr_vec_is_null(arg, rows[i]);
        if (filter) ok = ok && !wr_vec_is_null(filter, rows[i]) && ((const uint8_t *)filter->data)[rows[i]];
        a->pass[m] = (uint16_t)i;
        m += ok;
    }
    *n_pass = m;
    return a->pass;
}

/* The positions that one of the aggregates counts that share a set; which of them: mark_of. */
static wr_status feed_shared(wr_aggs *a, const wr_agg_slot *first, feed *f, uint32_t n, wr_err *err) {
    if (!first->next) {
        f->pass = positions(a, first, f->batch, f->rows, n, &f->n);
        for (uint32_t k = 0; k < f->n; k++) a->mark_of[f->pass[k]] = 1;
        return feed_distinct(a, first, f, &f->batch->cols[first->agg.arg], err);
    }
    memset(a->mark_of, 0, n * sizeof *a->mark_of);
    for (const wr_agg_slot *s = first;; s = &a->slots[s->next]) {
        f->pass = positions(a, s, f->batch, f->rows, n, &f->n);
        for (uint32_t k = 0; k < f->n; k++) a->mark_of[f->pass[k]] |= s->mark;
        if (!s->next) break;
    }
    f->n = 0;
    for (uint32_t i = 0; i < n; i++) {
        a->pass[f->n] = (uint16_t)i;
        f->n += a->mark_of[i] != 0;
    }
    f->pass = a->pass;
    return feed_distinct(a, first, f, &f->batch->cols[first->agg.arg], err);
}
static wr_status feed_slot(wr_aggs *a, const wr_agg_slot *s, const feed *f, wr_err *err) {
    const wr_vec *vec = s->agg.arg >= 0 ? &f->batch->cols[s->agg.arg] : NULL;
    if (s->distinct && vec && s->class != WR_CELL_ROW) return feed_distinct(a, s, f, vec, err); /* nested values share one scratch; NULLs have not come so far */
    if (s->distinct) return feed_any(a, s, f, vec, err);
    switch (s->form) {
    case WR_FORM_COUNT: feed_count(s, f); return WR_OK;
    case WR_FORM_SUM64: feed_sum64(s, f, vec->data); return WR_OK;
    case WR_FORM_SUM128: case WR_FORM_SUMDEC: feed_sum128(a, s, f, vec->data); return WR_OK;
    case WR_FORM_SUMF: feed_sumf(a, s, f, vec->data); return WR_OK;
    case WR_FORM_USER: return wr_user_feed(a, s, vec, f->rows, f->blocks, f->sign, f->pass, f->n, err);
    case WR_FORM_CELL8:
        if (s->class == WR_CELL_INT) {
            feed_extreme(s, f, vec->data);
            return WR_OK;
        }
        return feed_any(a, s, f, vec, err);
    default:
        feed_separator(a, s, f);
        return feed_any(a, s, f, vec, err);
    }
}

wr_status wr_aggs_update(wr_aggs *a, const wr_batch *batch, const uint32_t *rows, void *const *blocks, uint32_t n, wr_err *err) {
    wr_dassert(n <= WR_BATCH_MAX);
    feed f = {.batch = batch, .rows = rows, .blocks = blocks};
    if (batch->kinds && a->retract) {
        bool any = false;
        for (uint32_t i = 0; i < n; i++) {
            a->sign[i] = wr_kind_adds(batch->kinds[rows[i]]) ? 1 : -1;
            any |= a->sign[i] < 0;
        }
        if (any) f.sign = a->sign;
    }
    if (a->count_rows)
        for (uint32_t i = 0; i < n; i++) *(int64_t *)(void *)((char *)blocks[i] + a->rows_at) += f.sign ? f.sign[i] : 1;
    for (uint32_t k = 0; k < a->n; k++) {
        if (a->marks && may_share(&a->slots[k])) {
            if (a->slots[k].mark == 1) WR_TRY(feed_shared(a, &a->slots[k], &f, n, err));
            continue;
        }
        f.pass = positions(a, &a->slots[k], batch, rows, n, &f.n);
        WR_TRY(feed_slot(a, &a->slots[k], &f, err));
    }
    return WR_OK;
}
