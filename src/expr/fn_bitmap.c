/* expr/fn_bitmap.c: functions of BITMAP values (type/bitmap.h).
 *
 * Idea       a value is its bytes; each call reads its arguments into sets and writes the answer. Numbers are INT bit patterns: -1 is the
 *            greatest. BITMAP_TO_BYTES is the value itself.
 * Invariant  a value of type BITMAP can be read: BITMAP_FROM_BYTES and decoders check.                                  */
#include "fn.h"
#include "type/bitmap.h"

static wr_bitmap read_arg(const wr_call *c, uint32_t k, uint32_t r) {
    wr_bitmap b = {0};
    bool      ok = wr_bitmap_get(&b, arg_str(c, k, r));
    wr_assert(ok);
    return b;
}

static void put(wr_call *c, uint32_t r, wr_bitmap *b) { /* takes b */
    wr_sbuf out = {0};
    wr_bitmap_put(b, &out);
    call_put(c, r, out.at, out.len);
    wr_sbuf_free(&out);
    wr_bitmap_clear(b);
}

static uint32_t number_at(const wr_vec *v, uint32_t row) {
    switch (wr_type_storage(v->type)) {
    case WR_S_I8: return (uint32_t)((const int8_t *)v->data)[row];
    case WR_S_I16: return (uint32_t)((const int16_t *)v->data)[row];
    default: return (uint32_t)((const int32_t *)v->data)[row];
    }
}

static wr_status bitmap_build(wr_call *c) {
    const wr_vec *kid = &c->arg[0].vec->kids[0];
    for ROWS(c, r) {
        wr_list   list = ARG(c, 0, wr_list, r);
        wr_bitmap b = {0};
        for (uint32_t i = list.offset; i < list.offset + list.len; i++)
            if (!wr_vec_is_null(kid, i)) wr_bitmap_add(&b, number_at(kid, i));
        put(c, r, &b);
    }
    return WR_OK;
}
bool res_bitmap_build(wr_resolve *r) {
    if (r->n != 1) return false;
    wr_type t = r->args[0]->type;
    if (t.id != WR_T_ARRAY || (t.kids[0].id != WR_T_NULL && (t.kids[0].id < WR_T_TINYINT || t.kids[0].id > WR_T_INT))) return false;
    return res_set(r, wr_type_of(WR_T_BITMAP), bitmap_build, 0);
}

static wr_status bitmap_to_array(wr_call *c) {
    uint32_t *all = NULL, used = 0;
    for ROWS(c, r) {
        wr_bitmap b = read_arg(c, 0, r);
        uint32_t  n = (uint32_t)wr_bitmap_count(&b);
        all = wr_realloc(all, ((size_t)used + n + 1) * sizeof *all);
        wr_bitmap_values(&b, all + used);
        OUT(c, wr_list)[r] = (wr_list){used, n};
        used += n;
        wr_bitmap_clear(&b);
    }
    wr_vec *kid = &c->out->kids[0];
    wr_vec_init(kid, c->out->type.kids[0], used ? used : 1, false, c->mem);
    if (used) memcpy(kid->data, all, used * sizeof *all);
    kid->n = used;
    wr_free(all);
    return WR_OK;
}
bool res_bitmap_to_array(wr_resolve *r) {
    if (r->n != 1 || (r->args[0]->type.id != WR_T_BITMAP && r->args[0]->type.id != WR_T_NULL) || !res_cast(r, 0, wr_type_of(WR_T_BITMAP))) return false;
    wr_type *kid = wr_new(r->ctx->arena, wr_type);
    *kid = wr_type_of(WR_T_INT);
    return res_set(r, (wr_type){.id = WR_T_ARRAY, .nullable = 1, .n_kids = 1, .kids = kid}, bitmap_to_array, 0);
}

wr_status fn_bitmap_cardinality(wr_call *c) {
    for ROWS(c, r) {
        wr_bitmap b = read_arg(c, 0, r);
        OUT(c, int64_t)[r] = (int64_t)wr_bitmap_count(&b);
        wr_bitmap_clear(&b);
    }
    return WR_OK;
}

wr_status fn_bitmap_to_string(wr_call *c) {
    wr_sbuf text = {0};
    for ROWS(c, r) {
        wr_bitmap b = read_arg(c, 0, r);
        wr_sbuf_clear(&text);
        wr_bitmap_text(&b, &text);
        call_put(c, r, text.at, text.len);
        wr_bitmap_clear(&b);
    }
    wr_sbuf_free(&text);
    return WR_OK;
}

wr_status fn_bitmap_to_bytes(wr_call *c) {
    for ROWS(c, r) {
        wr_str s = arg_str(c, 0, r);
        call_put(c, r, s.ptr, s.len);
    }
    return WR_OK;
}

wr_status fn_bitmap_from_bytes(wr_call *c) {
    for ROWS(c, r) {
        wr_bitmap b = {0};
        if (wr_bitmap_get(&b, arg_str(c, 0, r))) put(c, r, &b);
        else WR_TRY(call_fail(c, r, "22P03", "these bytes are no bitmap in the portable Roaring format"));
    }
    return WR_OK;
}

static wr_status two(wr_call *c, wr_bitmap_op op) {
    for ROWS(c, r) {
        wr_bitmap a = read_arg(c, 0, r), b = read_arg(c, 1, r);
        wr_bitmap_apply(&a, op, &b);
        wr_bitmap_clear(&b);
        put(c, r, &a);
    }
    return WR_OK;
}
wr_status fn_bitmap_and(wr_call *c) { return two(c, WR_BITMAP_AND); }
wr_status fn_bitmap_or(wr_call *c) { return two(c, WR_BITMAP_OR); }
wr_status fn_bitmap_xor(wr_call *c) { return two(c, WR_BITMAP_XOR); }
wr_status fn_bitmap_andnot(wr_call *c) { return two(c, WR_BITMAP_ANDNOT); }
