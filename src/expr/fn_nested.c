/* expr/fn_nested.c: rows, arrays and maps: construction, access, and the functions over their elements.
 *
 * Idea       most results are the argument's child column gathered by a list of element numbers: elements are neither looked at nor
 *            copied by value. Constructors set elements one by one; ROW shares the argument columns.
 * Rules      places count from 1; out of range or an absent key is NULL; of equal keys the last one counts.
 * Memory     children in the batch's memory (c->mem), which the program provides to every nested step.               */
#include "fn.h"

typedef struct wr_u32s { WR_ARR(uint32_t) list; } wr_u32s;

static const wr_list *list_at(const wr_call *c, uint32_t k, uint32_t r) { return &((const wr_list *)c->arg[k].vec->data)[r & c->arg[k].mask]; }
static bool is_list(wr_type t) { return t.id == WR_T_ARRAY || t.id == WR_T_MULTISET; }

static wr_type array_of(wr_resolve *r, wr_type element) {
    wr_type *kid = wr_new(r->ctx->arena, wr_type);
    *kid = element;
    kid->attr = WR_TIME_NONE;
    return (wr_type){.id = WR_T_ARRAY, .nullable = 1, .n_kids = 1, .kids = kid};
}

/* Child column k of the result = elements `rows` of src. */
static void take(wr_call *c, uint32_t k, const wr_vec *src, const wr_u32s *rows) {
    wr_vec *kid = &c->out->kids[k];
    wr_type t = c->out->type.kids[k];
    if (rows->list.n) wr_vec_gather32(kid, src, rows->list.at, rows->list.n, c->mem);
    else wr_vec_init(kid, t, 0, false, c->mem);
    kid->type = t;
    kid->n = rows->list.n;
}

/* The whole result = elements rows[0..n-1] of src, UINT32_MAX = NULL. */
static void take_all(wr_call *c, const wr_vec *src, const uint32_t *rows) {
    wr_type t = c->out->type;
    wr_vec_gather32(c->out, src, rows, c->n, c->mem);
    c->out->type = t;
}
static uint32_t *no_rows(wr_call *c) {
    uint32_t *rows = wr_arena_alloc(c->scratch, sizeof *rows * (c->n ? c->n : 1));
    memset(rows, 0xFF, sizeof *rows * c->n);
    return rows;
}

/* ---- constructors ---- */
static wr_status make_list(wr_call *c, uint32_t n_kids) { /* args in turn go to the children */
    uint32_t per_row = c->n_args / n_kids, total = per_row * c->n;
    for (uint32_t k = 0; k < n_kids; k++) {
        wr_vec *kid = &c->out->kids[k];
        wr_vec_init(kid, c->out->type.kids[k], total, true, c->mem);
        if (wr_type_storage(kid->type) == WR_S_STR || wr_type_storage(kid->type) == WR_S_LIST) memset(kid->data, 0, (size_t)total * wr_storage_size(wr_type_storage(kid->type)));
    }
    for (uint32_t r = 0; r < c->n; r++) OUT(c, wr_list)[r] = (wr_list){r * per_row, per_row};
    for ROWS(c, r)
        for (uint32_t a = 0; a < c->n_args; a++)
            wr_vec_set(&c->out->kids[a % n_kids], r * per_row + a / n_kids, c->arg[a].vec, r & c->arg[a].mask, c->mem);
    return WR_OK;
}
static wr_status array_kernel(wr_call *c) { return make_list(c, 1); }
static wr_status map_kernel(wr_call *c) { return make_list(c, 2); }
bool res_array(wr_resolve *r) {
    wr_type t;
    if (r->n == 0) return res_error(r, "42804", "an empty ARRAY[] has no element type: write CAST(ARRAY[NULL] AS ARRAY<...>) or name an element");
    if (!res_common(r, 0, 1, &t)) return res_error(r, "42804", "the elements of an ARRAY must have a common type");
    return res_set(r, array_of(r, t), array_kernel, 0);
}
bool res_map(wr_resolve *r) {
    wr_type k, v;
    if (r->n < 2 || r->n % 2) return res_error(r, "42804", "MAP[...] needs keys and values in turn");
    if (!res_common(r, 0, 2, &k) || !res_common(r, 1, 2, &v)) return res_error(r, "42804", "the keys and the values of a MAP must each have a common type");
    wr_type *kids = wr_new_n(r->ctx->arena, wr_type, 2);
    kids[0] = k, kids[1] = v;
    return res_set(r, (wr_type){.id = WR_T_MAP, .nullable = 1, .n_kids = 2, .kids = kids}, map_kernel, 0);
}

static wr_status row_kernel(wr_call *c) {
    uint32_t zeros[WR_BATCH_MAX];
    memset(zeros, 0, sizeof *zeros * c->n);
    for (uint32_t k = 0; k < c->n_args; k++) {
        wr_vec *kid = &c->out->kids[k];
        if (c->arg[k].mask == 0 && c->n != 1) wr_vec_gather32(kid, c->arg[k].vec, zeros, c->n, c->mem);
        else *kid = *c->arg[k].vec;
        kid->type = c->out->type.kids[k];
    }
    return WR_OK;
}
bool res_row(wr_resolve *r) {
    if (r->n == 0) return false;
    wr_type *kids = wr_new_n(r->ctx->arena, wr_type, r->n);
    wr_str  *names = wr_new_n(r->ctx->arena, wr_str, r->n);
    for (uint32_t i = 0; i < r->n; i++) {
        if (r->args[i]->type.id == WR_T_NULL && !res_cast(r, i, wr_type_string())) return false;
        kids[i] = r->args[i]->type;
        kids[i].attr = WR_TIME_NONE;
        names[i] = wr_str_of(wr_arena_printf(r->ctx->arena, "EXPR$%u", i));
    }
    return res_set(r, (wr_type){.id = WR_T_ROW, .nullable = 1, .n_kids = r->n, .kids = kids, .names = names}, row_kernel, 0);
}

/* ---- access ---- */
static wr_status field_kernel(wr_call *c) {
    const wr_vec *row = c->arg[0].vec;
    wr_type       t = c->out->type;
    *c->out = row->kids[c->impl->extra[0]];
    c->out->type = t;
    if (!row->valid) return WR_OK;
    uint64_t *valid = wr_mem_alloc(c->mem, wr_valid_bytes(c->n));
    for (uint32_t w = 0; w < (c->n + 63) / 64; w++) valid[w] = row->valid[w] & (c->out->valid ? c->out->valid[w] : UINT64_MAX);
    c->out->valid = valid;
    return WR_OK;
}
static bool set_field(wr_resolve *r, uint32_t i) {
    r->extra[0] = i;
    r->n = 1;
    wr_type t = r->args[0]->type.kids[i];
    if (!t.nullable && !r->args[0]->type.nullable) r->flags = (r->flags & ~(uint32_t)FN_NULLABLE) | FN_NOT_NULL;
    return res_set(r, t, field_kernel, FN_CUSTOM);
}
bool res_field(wr_resolve *r) {
    wr_str name;
    if (r->n != 2 || r->args[0]->type.id != WR_T_ROW || !res_const_str(r, 1, &name)) return false;
    wr_type t = r->args[0]->type;
    for (uint32_t i = 0; i < t.n_kids; i++)
        if (wr_str_eq(t.names[i], name)) return set_field(r, i);
    res_error(r, "42703", "no field '%.*s' in this row", WR_FMT(name));
    int best = wr_nearest(name, t.names, t.n_kids);
    if (best >= 0) wr_diags_hint(r->ctx->diags, "did you mean '%.*s'?", WR_FMT(t.names[best]));
    return false;
}

static wr_status item_array(wr_call *c) {
    uint32_t *rows = no_rows(c);
    for ROWS(c, r) {
        const wr_list *l = list_at(c, 0, r);
        int64_t        i = ARG(c, 1, int64_t, r);
        if (i >= 1 && i <= l->len) rows[r] = l->offset + (uint32_t)i - 1;
    }
    take_all(c, &c->arg[0].vec->kids[0], rows);
    return WR_OK;
}
static wr_status item_map(wr_call *c) {
    uint32_t     *rows = no_rows(c);
    const wr_vec *keys = &c->arg[0].vec->kids[0], *key = c->arg[1].vec;
    for ROWS(c, r) {
        const wr_list *l = list_at(c, 0, r);
        for (uint32_t i = l->len; i-- > 0;)
            if (wr_vec_equal(keys, l->offset + i, key, r & c->arg[1].mask)) {
                rows[r] = l->offset + i;
                break;
            }
    }
    take_all(c, &c->arg[0].vec->kids[1], rows);
    return WR_OK;
}
bool res_item(wr_resolve *r) {
    if (r->n != 2) return false;
    wr_type t = r->args[0]->type;
    if (t.id == WR_T_VARIANT) return res_item_variant(r);
    if (t.id == WR_T_MAP) {
        if (!wr_expr_can_coerce(r->args[1]->type, t.kids[0])) return false;
        return res_cast(r, 1, t.kids[0]) && res_set(r, t.kids[1], item_map, 0);
    }
    if (!wr_type_is_integer(r->args[1]->type) && r->args[1]->type.id != WR_T_NULL) return false;
    if (t.id == WR_T_ROW) {
        const wr_expr *i = r->args[1];
        if (i->kind != WR_E_CONST || i->value.null || i->value.i < 1 || i->value.i > t.n_kids) return res_error(r, "42804", "a field of a row is taken by a constant from 1 to %u", t.n_kids);
        r->fn = wr_fn_get("FIELD");
        r->flags = r->fn->flags;
        return set_field(r, (uint32_t)i->value.i - 1);
    }
    if (!is_list(t)) return false;
    const wr_expr *at = r->args[1];
    if (at->kind == WR_E_CONST && !at->value.null && at->value.i < 1) return res_error(r, "42804", "the elements of an array count from 1, not from %lld", (long long)at->value.i);
    return res_cast(r, 1, wr_type_of(WR_T_BIGINT)) && res_set(r, t.kids[0], item_array, 0);
}

static wr_status cardinality(wr_call *c) {
    for ROWS(c, r) OUT(c, int32_t)[r] = (int32_t)list_at(c, 0, r)->len;
    return WR_OK;
}
bool res_cardinality(wr_resolve *r) {
    return r->n == 1 && (is_list(r->args[0]->type) || r->args[0]->type.id == WR_T_MAP) && res_set(r, wr_type_of(WR_T_INT), cardinality, 0);
}
static wr_status element(wr_call *c) {
    uint32_t *rows = no_rows(c);
    for ROWS(c, r) {
        const wr_list *l = list_at(c, 0, r);
        if (l->len > 1) return call_fail(c, r, "21000", "ELEMENT: the array has %u elements, not one", l->len);
        if (l->len == 1) rows[r] = l->offset;
    }
    take_all(c, &c->arg[0].vec->kids[0], rows);
    return WR_OK;
}
bool res_element(wr_resolve *r) { return r->n == 1 && is_list(r->args[0]->type) && res_set(r, r->args[0]->type.kids[0], element, 0); }

/* ---- searching ---- */
static wr_status contains(wr_call *c) {
    bool          place = c->impl->extra[0];
    const wr_vec *kid = &c->arg[0].vec->kids[0];
    for ROWS(c, r) {
        uint32_t hit = 0;
        if (arg_null(c, 0, r)) {
            call_null(c, r);
        } else {
            const wr_list *l = list_at(c, 0, r);
            for (uint32_t i = 0; i < l->len && !hit; i++)
                if (wr_vec_equal(kid, l->offset + i, c->arg[1].vec, r & c->arg[1].mask)) hit = i + 1;
        }
        if (place) OUT(c, int32_t)[r] = (int32_t)hit;
        else OUT(c, uint8_t)[r] = hit != 0;
    }
    return WR_OK;
}
static bool element_arg(wr_resolve *r, uint32_t i) { /* args[i] as an element of args[0], which widens if it must */
    wr_type t = r->args[0]->type, common;
    if (!is_list(t) || !wr_type_common(t.kids[0], r->args[i]->type, &common)) return false;
    if (!wr_type_same(common, t.kids[0]) && !res_cast(r, 0, array_of(r, common))) return false;
    return res_cast(r, i, common);
}
bool res_array_contains(wr_resolve *r) {
    bool place = strcmp(r->fn->name, "ARRAY_POSITION") == 0;
    if (r->n != 2 || !element_arg(r, 1)) return false;
    r->extra[0] = place;
    return res_set(r, wr_type_of(place ? WR_T_INT : WR_T_BOOLEAN), contains, 0);
}

/* ---- the same elements in another choice or order ---- */
typedef enum wr_rebuild { RB_DISTINCT, RB_REVERSE, RB_SORT, RB_REMOVE, RB_SLICE } wr_rebuild;

typedef struct wr_sort_order { bool desc, nulls_last; } wr_sort_order;
WR_INLINE bool in_order(const wr_vec *kid, uint32_t a, uint32_t b, wr_sort_order o) { /* a may stand before b */
    bool na = wr_vec_is_null(kid, a), nb = wr_vec_is_null(kid, b);
    if (na || nb) return na == nb || (o.nulls_last ? nb : na);
    int d = wr_vec_compare(kid, a, kid, b);
    return o.desc ? d >= 0 : d <= 0;
}
static void sort_rows(const wr_vec *kid, uint32_t *at, uint32_t n, wr_sort_order order) { /* merge sort: stable, n log n whatever the data */
    if (n < 2) return;
    uint32_t *tmp = wr_malloc(n * sizeof *tmp);
    for (uint32_t width = 1; width < n; width *= 2) {
        for (uint32_t lo = 0; lo < n; lo += 2 * width) {
            uint32_t mid = WR_MIN(lo + width, n), hi = WR_MIN(lo + 2 * width, n), a = lo, b = mid;
            for (uint32_t k = lo; k < hi; k++) tmp[k] = b >= hi || (a < mid && in_order(kid, at[a], at[b], order)) ? at[a++] : at[b++];
        }
        memcpy(at, tmp, n * sizeof *tmp);
    }
    wr_free(tmp);
}

static bool seen_before(const wr_vec *kid, const uint32_t *at, uint32_t n, uint32_t x) {
    for (uint32_t i = 0; i < n; i++)
        if (wr_vec_equal(kid, at[i], kid, x)) return true;
    return false;
}

static void slice_bounds(const wr_call *c, uint32_t r, uint32_t len, int64_t *from, int64_t *to) {
    *from = ARG(c, 1, int64_t, r), *to = c->n_args > 2 ? ARG(c, 2, int64_t, r) : len;
    if (*from < 0) *from += (int64_t)len + 1;
    if (*to < 0) *to += (int64_t)len + 1;
    if (*from < 1) *from = 1;
    if (*to > len) *to = len;
}

static wr_status rebuild(wr_call *c) {
    wr_rebuild    what = (wr_rebuild)c->impl->extra[0];
    const wr_vec *kid = &c->arg[0].vec->kids[0];
    wr_u32s       rows = {0};
    for ROWS(c, r) {
        uint32_t first = rows.list.n;
        if (arg_null(c, 0, r)) { /* only REMOVE comes here with NULLs */
            call_null(c, r);
            OUT(c, wr_list)[r] = (wr_list){first, 0};
            continue;
        }
        const wr_list *l = list_at(c, 0, r);
        int64_t        from = 1, to = l->len;
        if (what == RB_SLICE) slice_bounds(c, r, l->len, &from, &to);
        for (int64_t i = from - 1; i < to; i++) {
            uint32_t x = l->offset + (uint32_t)(what == RB_REVERSE ? l->len - 1 - i : i);
            if (what == RB_DISTINCT && seen_before(kid, rows.list.at + first, rows.list.n - first, x)) continue;
            if (what == RB_REMOVE && wr_vec_equal(kid, x, c->arg[1].vec, r & c->arg[1].mask)) continue;
            wr_arr_push(&rows.list, x);
        }
        if (what == RB_SORT) {
            bool desc = c->n_args > 1 && !ARG(c, 1, uint8_t, r);
            sort_rows(kid, rows.list.at + first, rows.list.n - first, (wr_sort_order){desc, c->n_args > 2 ? !ARG(c, 2, uint8_t, r) : desc});
        }
        OUT(c, wr_list)[r] = (wr_list){first, rows.list.n - first};
    }
    take(c, 0, kid, &rows);
    wr_arr_free(&rows.list);
    return WR_OK;
}
static bool elements_have_order(wr_type list) { return list.kids[0].id != WR_T_BITMAP && list.kids[0].id != WR_T_VARIANT; }
bool res_array_rebuild(wr_resolve *r) {
    static const char *const names[] = {"ARRAY_DISTINCT", "ARRAY_REVERSE", "ARRAY_SORT", "ARRAY_REMOVE", "ARRAY_SLICE"};
    int what = 0;
    while (strcmp(names[what], r->fn->name) != 0) what++;
    if (r->n < 1 || !is_list(r->args[0]->type)) return false;
    r->extra[0] = what;
    if (what == RB_REMOVE) {
        if (r->n != 2 || !element_arg(r, 1)) return false;
    } else if (what == RB_SLICE) {
        if (r->n < 2 || r->n > 3) return false;
        for (uint32_t i = 1; i < r->n; i++)
            if (!wr_type_is_integer(r->args[i]->type) || !res_cast(r, i, wr_type_of(WR_T_BIGINT))) return false;
    } else if (what == RB_SORT) {
        if (r->n > 3 || !elements_have_order(r->args[0]->type)) return false;
        for (uint32_t i = 1; i < r->n; i++)
            if (r->args[i]->type.id != WR_T_BOOLEAN) return false;
    } else if (r->n != 1) {
        return false;
    }
    return res_set(r, r->args[0]->type, rebuild, 0);
}

/* ---- several sources: elements are copied ---- */
static void append(wr_vec *kid, const wr_vec *src, uint32_t row, wr_mem *mem) {
    uint32_t at = wr_vec_grow(kid, 1, mem);
    wr_vec_set(kid, at, src, row, mem);
}
static void append_list(wr_call *c, uint32_t k, uint32_t r) {
    const wr_list *l = list_at(c, k, r);
    for (uint32_t i = 0; i < l->len; i++) append(&c->out->kids[0], &c->arg[k].vec->kids[0], l->offset + i, c->mem);
}
static wr_status concat_arrays(wr_call *c) {
    for ROWS(c, r) {
        wr_list row = {c->out->kids[0].n, 0};
        for (uint32_t k = 0; k < c->n_args; k++) append_list(c, k, r);
        row.len = c->out->kids[0].n - row.offset;
        OUT(c, wr_list)[r] = row;
    }
    return WR_OK;
}
bool res_array_concat(wr_resolve *r) {
    wr_type t = wr_type_of(WR_T_NULL);
    for (uint32_t i = 0; i < r->n; i++)
        if (!is_list(r->args[i]->type) || !wr_type_common(t, r->args[i]->type.kids[0], &t)) return false;
    for (uint32_t i = 0; i < r->n; i++)
        if (!res_cast(r, i, array_of(r, t))) return false;
    return r->n > 0 && res_set(r, array_of(r, t), concat_arrays, 0);
}
static wr_status append_kernel(wr_call *c) {
    bool front = c->impl->extra[0];
    for ROWS(c, r) {
        wr_list row = {c->out->kids[0].n, 0};
        if (arg_null(c, 0, r)) {
            call_null(c, r);
        } else {
            if (front) append(&c->out->kids[0], c->arg[1].vec, r & c->arg[1].mask, c->mem);
            append_list(c, 0, r);
            if (!front) append(&c->out->kids[0], c->arg[1].vec, r & c->arg[1].mask, c->mem);
        }
        row.len = c->out->kids[0].n - row.offset;
        OUT(c, wr_list)[r] = row;
    }
    return WR_OK;
}
bool res_array_append(wr_resolve *r) {
    if (r->n != 2 || !element_arg(r, 1)) return false;
    r->extra[0] = strcmp(r->fn->name, "ARRAY_PREPEND") == 0;
    wr_type t = r->args[0]->type.kids[0];
    t.nullable |= r->args[1]->type.nullable;
    return res_set(r, array_of(r, t), append_kernel, 0);
}

/* ARRAY_UNION, ARRAY_INTERSECT, ARRAY_EXCEPT: sets in the order of the first array, each value once. */
static bool list_has(const wr_vec *kid, wr_list l, const wr_vec *x, uint32_t row) {
    for (uint32_t i = 0; i < l.len; i++)
        if (wr_vec_equal(kid, l.offset + i, x, row)) return true;
    return false;
}
static wr_status set_kernel(wr_call *c) {
    char    what = (char)c->impl->extra[0];
    wr_vec *out = &c->out->kids[0];
    for ROWS(c, r) {
        wr_list row = {out->n, 0}, other = *list_at(c, 1, r);
        for (uint32_t k = 0; k < (what == 'U' ? 2u : 1u); k++) {
            const wr_list *l = list_at(c, k, r);
            const wr_vec  *kid = &c->arg[k].vec->kids[0];
            for (uint32_t i = 0; i < l->len; i++) {
                if (what != 'U' && list_has(&c->arg[1].vec->kids[0], other, kid, l->offset + i) != (what == 'I')) continue;
                row.len = out->n - row.offset;
                if (!list_has(out, row, kid, l->offset + i)) append(out, kid, l->offset + i, c->mem);
            }
        }
        row.len = out->n - row.offset;
        OUT(c, wr_list)[r] = row;
    }
    return WR_OK;
}
bool res_array_set(wr_resolve *r) {
    wr_type t;
    if (r->n != 2 || !is_list(r->args[0]->type) || !is_list(r->args[1]->type) || !wr_type_common(r->args[0]->type.kids[0], r->args[1]->type.kids[0], &t)) return false;
    if (!res_cast(r, 0, array_of(r, t)) || !res_cast(r, 1, array_of(r, t))) return false;
    r->extra[0] = r->fn->name[6];
    return res_set(r, array_of(r, t), set_kernel, 0);
}

/* ---- one element or a text ---- */
static wr_status extreme(wr_call *c) {
    int           want = (int)c->impl->extra[0];
    const wr_vec *kid = &c->arg[0].vec->kids[0];
    uint32_t     *rows = no_rows(c);
    for ROWS(c, r) {
        const wr_list *l = list_at(c, 0, r);
        for (uint32_t x = l->offset; x < l->offset + l->len; x++)
            if (!wr_vec_is_null(kid, x) && (rows[r] == UINT32_MAX || wr_vec_compare(kid, x, kid, rows[r]) * want > 0)) rows[r] = x;
    }
    take_all(c, kid, rows);
    return WR_OK;
}
bool res_array_extreme(wr_resolve *r) {
    if (r->n != 1 || !is_list(r->args[0]->type) || !elements_have_order(r->args[0]->type)) return false;
    r->extra[0] = strcmp(r->fn->name, "ARRAY_MAX") == 0 ? 1 : -1;
    return res_set(r, r->args[0]->type.kids[0], extreme, 0);
}
static wr_status join_text(wr_call *c) {
    const wr_vec *kid = &c->arg[0].vec->kids[0];
    wr_sbuf       buf = {0};
    for ROWS(c, r) {
        const wr_list *l = list_at(c, 0, r);
        wr_str         sep = arg_str(c, 1, r);
        bool           any = false;
        wr_sbuf_clear(&buf);
        for (uint32_t x = l->offset; x < l->offset + l->len; x++) {
            bool null = wr_vec_is_null(kid, x);
            if (null && c->n_args < 3) continue;
            if (any) wr_sbuf_add_str(&buf, sep);
            any = true;
            wr_sbuf_add_str(&buf, null ? arg_str(c, 2, r) : wr_sview_str(&((const wr_sview *)kid->data)[x]));
        }
        call_put(c, r, buf.at ? buf.at : "", buf.len);
    }
    wr_sbuf_free(&buf);
    return WR_OK;
}
bool res_array_join(wr_resolve *r) {
    if (r->n < 2 || r->n > 3 || !is_list(r->args[0]->type) || !wr_type_is_string(r->args[0]->type.kids[0])) return false;
    for (uint32_t i = 1; i < r->n; i++) {
        if (r->args[i]->type.id == WR_T_NULL && !res_cast(r, i, wr_type_string())) return false;
        if (!wr_type_is_string(r->args[i]->type)) return false;
    }
    return res_set(r, wr_type_string(), join_text, 0);
}

/* ---- maps ---- */
static wr_status map_part(wr_call *c) { /* the lists are shared, the child is one of the map's */
    wr_type t = c->out->type;
    for ROWS(c, r) OUT(c, wr_list)[r] = *list_at(c, 0, r);
    c->out->kids[0] = c->arg[0].vec->kids[c->impl->extra[0]];
    c->out->kids[0].type = t.kids[0];
    return WR_OK;
}
bool res_map_part(wr_resolve *r) {
    if (r->n != 1 || r->args[0]->type.id != WR_T_MAP) return false;
    r->extra[0] = strcmp(r->fn->name, "MAP_VALUES") == 0;
    return res_set(r, array_of(r, r->args[0]->type.kids[r->extra[0]]), map_part, 0);
}
static wr_status map_entries(wr_call *c) {
    wr_vec *rows = &c->out->kids[0];
    const wr_vec *in = c->arg[0].vec;
    for ROWS(c, r) OUT(c, wr_list)[r] = *list_at(c, 0, r);
    *rows = (wr_vec){.type = c->out->type.kids[0], .n = in->kids[0].n, .kids = wr_mem_calloc(c->mem, 2 * sizeof(wr_vec))};
    for (uint32_t k = 0; k < 2; k++) rows->kids[k] = in->kids[k], rows->kids[k].type = rows->type.kids[k];
    return WR_OK;
}
bool res_map_entries(wr_resolve *r) {
    if (r->n != 1 || r->args[0]->type.id != WR_T_MAP) return false;
    wr_str *names = wr_new_n(r->ctx->arena, wr_str, 2);
    names[0] = WR_STR("key"), names[1] = WR_STR("value");
    wr_type row = {.id = WR_T_ROW, .n_kids = 2, .kids = r->args[0]->type.kids, .names = names};
    return res_set(r, array_of(r, row), map_entries, 0);
}
static wr_status from_arrays(wr_call *c) {
    wr_u32s keys = {0}, values = {0};
    wr_status st = WR_OK;
    for ROWS(c, r) {
        const wr_list *k = list_at(c, 0, r), *v = list_at(c, 1, r);
        if (k->len != v->len) {
            st = call_fail(c, r, "2202E", "MAP_FROM_ARRAYS: %u keys but %u values", k->len, v->len);
            break;
        }
        OUT(c, wr_list)[r] = (wr_list){keys.list.n, k->len};
        for (uint32_t i = 0; i < k->len; i++) {
            wr_arr_push(&keys.list, k->offset + i);
            wr_arr_push(&values.list, v->offset + i);
        }
    }
    take(c, 0, &c->arg[0].vec->kids[0], &keys);
    take(c, 1, &c->arg[1].vec->kids[0], &values);
    wr_arr_free(&keys.list), wr_arr_free(&values.list);
    return st;
}
bool res_map_from_arrays(wr_resolve *r) {
    if (r->n != 2 || !is_list(r->args[0]->type) || !is_list(r->args[1]->type)) return false;
    wr_type *kids = wr_new_n(r->ctx->arena, wr_type, 2);
    kids[0] = r->args[0]->type.kids[0], kids[1] = r->args[1]->type.kids[0];
    return res_set(r, (wr_type){.id = WR_T_MAP, .nullable = 1, .n_kids = 2, .kids = kids}, from_arrays, 0);
}

/* MAP_UNION: an entry stands unless a later map has its key. */
static bool later_has(const wr_call *c, uint32_t k, uint32_t r, uint32_t row) {
    for (uint32_t later = k + 1; later < c->n_args; later++)
        if (list_has(&c->arg[later].vec->kids[0], *list_at(c, later, r), &c->arg[k].vec->kids[0], row)) return true;
    return false;
}
static wr_status map_union(wr_call *c) {
    for ROWS(c, r) {
        wr_list row = {c->out->kids[0].n, 0};
        for (uint32_t k = 0; k < c->n_args; k++) {
            const wr_list *l = list_at(c, k, r);
            for (uint32_t x = l->offset; x < l->offset + l->len; x++) {
                if (later_has(c, k, r, x)) continue;
                for (uint32_t kid = 0; kid < 2; kid++) append(&c->out->kids[kid], &c->arg[k].vec->kids[kid], x, c->mem);
            }
        }
        row.len = c->out->kids[0].n - row.offset;
        OUT(c, wr_list)[r] = row;
    }
    return WR_OK;
}
bool res_map_union(wr_resolve *r) {
    wr_type *kids = wr_new_n(r->ctx->arena, wr_type, 2);
    if (r->n == 0 || r->args[0]->type.id != WR_T_MAP) return false;
    memcpy(kids, r->args[0]->type.kids, 2 * sizeof *kids);
    for (uint32_t i = 1; i < r->n; i++) {
        wr_type t = r->args[i]->type;
        if (t.id != WR_T_MAP || !wr_type_common(kids[0], t.kids[0], &kids[0]) || !wr_type_common(kids[1], t.kids[1], &kids[1])) return false;
    }
    wr_type map = {.id = WR_T_MAP, .nullable = 1, .n_kids = 2, .kids = kids};
    for (uint32_t i = 0; i < r->n; i++)
        if (!res_cast(r, i, map)) return false;
    return res_set(r, map, map_union, 0);
}
