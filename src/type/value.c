/* type/value.c: single values and the text of any value (see value.h and wr_vec_text in batch.h).
 *
 * Idea       text follows Flink's CAST(x AS STRING): TRUE, 1.50, 1.0E7, 2026-01-01 00:00:09.999, [1, 2], {a=1}, (1, x); NULL inside and
 *            out is "NULL". Strings are not quoted, bytes are taken as UTF-8.                                            */
#include "type/value.h"
#include "type/bitmap.h"
#include "type/datetime.h"
#include "type/decimal.h"
#include "type/number.h"

/* ---- text ---- */

static void list_text(const wr_vec *vec, uint32_t row, const wr_tz *tz, wr_sbuf *out) {
    wr_list list = ((const wr_list *)vec->data)[row];
    bool    map = vec->type.id == WR_T_MAP;
    wr_sbuf_addc(out, map ? '{' : '[');
    for (uint32_t i = 0; i < list.len; i++) {
        if (i) wr_sbuf_addz(out, ", ");
        wr_vec_text(&vec->kids[0], list.offset + i, tz, out);
        if (!map) continue;
        wr_sbuf_addc(out, '=');
        wr_vec_text(&vec->kids[1], list.offset + i, tz, out);
    }
    wr_sbuf_addc(out, map ? '}' : ']');
}

static void row_text(const wr_vec *vec, uint32_t row, const wr_tz *tz, wr_sbuf *out) {
    wr_sbuf_addc(out, '(');
    for (uint32_t k = 0; k < vec->type.n_kids; k++) {
        if (k) wr_sbuf_addz(out, ", ");
        wr_vec_text(&vec->kids[k], row, tz, out);
    }
    wr_sbuf_addc(out, ')');
}

static int64_t ticks_local(const wr_tz *tz, int64_t ticks, wr_type type) {
    if (!tz) return ticks;
    if (wr_type_ticks_per_second(type) == WR_US_PER_SECOND) return wr_tz_to_local(tz, ticks);
    int64_t us = wr_floor_div(ticks, 1000), local;
    if (__builtin_mul_overflow(wr_tz_to_local(tz, us) - us, 1000, &local) || __builtin_add_overflow(ticks, local, &local)) return ticks;
    return local;
}

static int64_t int_at(const wr_vec *vec, uint32_t row) {
    switch (wr_type_storage(vec->type)) {
    case WR_S_BOOL: return ((const uint8_t *)vec->data)[row];
    case WR_S_I8: return ((const int8_t *)vec->data)[row];
    case WR_S_I16: return ((const int16_t *)vec->data)[row];
    case WR_S_I32: return ((const int32_t *)vec->data)[row];
    default: return ((const int64_t *)vec->data)[row];
    }
}

/* A VARIANT's text with its DOUBLEs, the numbers that have an exponent, as CAST writes them: 1.5E3 as 1500.0. */
static void variant_text(wr_str s, wr_sbuf *out) {
    for (size_t i = 0, end; i < s.len; i = end) {
        end = i + 1;
        if (s.ptr[i] == '"') {
            while (end < s.len && s.ptr[end] != '"') end += s.ptr[end] == '\\' ? 2 : 1;
            end = WR_MIN(end + 1, s.len);
        } else if (s.ptr[i] == '-' || (s.ptr[i] >= '0' && s.ptr[i] <= '9')) {
            char   text[32];
            double x;
            while (end < s.len && strchr("0123456789.E-+", s.ptr[end])) end++;
            if (memchr(s.ptr + i, 'E', end - i) && wr_parse_double((wr_str){s.ptr + i, end - i}, &x)) {
                wr_sbuf_add(out, text, wr_text_double(x, text));
                continue;
            }
        }
        wr_sbuf_add(out, s.ptr + i, end - i);
    }
}

void wr_vec_text(const wr_vec *vec, uint32_t row, const struct wr_tz *tz, wr_sbuf *out) {
    char   text[64];
    size_t len = 0;
    if (wr_vec_is_null(vec, row)) {
        wr_sbuf_addz(out, "NULL");
        return;
    }
    switch ((wr_tid)vec->type.id) {
    case WR_T_NULL:
    case WR_T_COUNT: return;
    case WR_T_BOOLEAN: wr_sbuf_addz(out, ((const uint8_t *)vec->data)[row] ? "TRUE" : "FALSE"); return;
    case WR_T_TINYINT:
    case WR_T_SMALLINT:
    case WR_T_INT:
    case WR_T_BIGINT: len = wr_text_i64(int_at(vec, row), text); break;
    case WR_T_FLOAT: len = wr_text_float(((const float *)vec->data)[row], text); break;
    case WR_T_DOUBLE: len = wr_text_double(((const double *)vec->data)[row], text); break;
    case WR_T_DECIMAL: len = wr_decimal_text(((const wr_i128 *)vec->data)[row], vec->type.scale, text); break;
    case WR_T_CHAR:
    case WR_T_VARCHAR:
    case WR_T_BINARY:
    case WR_T_VARBINARY: wr_sbuf_add_str(out, wr_sview_str((const wr_sview *)vec->data + row)); return;
    case WR_T_VARIANT: variant_text(wr_sview_str((const wr_sview *)vec->data + row), out); return;
    case WR_T_BITMAP: {
        wr_bitmap b = {0};
        if (wr_bitmap_get(&b, wr_sview_str((const wr_sview *)vec->data + row))) wr_bitmap_text(&b, out);
        wr_bitmap_clear(&b);
        return;
    }
    case WR_T_DATE: len = wr_text_date(((const int32_t *)vec->data)[row], text); break;
    case WR_T_TIME: len = wr_text_time(((const int32_t *)vec->data)[row], vec->type.prec, text); break;
    case WR_T_TIMESTAMP: len = wr_text_timestamp(((const int64_t *)vec->data)[row], vec->type, ' ', text); break;
    case WR_T_TIMESTAMP_LTZ:
        len = wr_text_timestamp(ticks_local(tz, ((const int64_t *)vec->data)[row], vec->type), vec->type, ' ', text);
        break;
    case WR_T_INTERVAL_YM:
    case WR_T_INTERVAL_DS: wr_text_interval(int_at(vec, row), vec->type, out); return;
    case WR_T_ARRAY:
    case WR_T_MULTISET:
    case WR_T_MAP: list_text(vec, row, tz, out); return;
    case WR_T_ROW: row_text(vec, row, tz, out); return;
    }
    wr_sbuf_add(out, text, len);
}

/* ---- values as columns ---- */

#define FILL(T, X)                                           \
    do {                                                     \
        T *d_ = vec->data, x_ = (T)(X);                      \
        for (uint32_t i = 0; i < n; i++) d_[i] = x_;         \
    } while (0)

static void fill_nested(const wr_value *v, wr_vec *vec, uint32_t n, wr_mem *mem) {
    uint32_t *rows = wr_calloc(n, sizeof *rows);
    wr_vec_gather32(vec, v->nested, rows, n, mem);
    wr_free(rows);
    vec->type = v->type;
}

void wr_value_fill(const wr_value *v, wr_vec *vec, uint32_t n, wr_mem *mem) {
    wr_storage s = wr_type_storage(v->type);
    if (!v->null && (s == WR_S_LIST || s == WR_S_ROW)) {
        fill_nested(v, vec, n, mem);
        return;
    }
    wr_vec_init(vec, v->type, n, v->null, mem);
    if (v->null) {
        size_t size = wr_storage_size(s);
        if (size) memset(vec->data, 0, size * n);
        if (s == WR_S_ROW)
            for (uint32_t i = 0; i < n; i++) wr_vec_set_null(vec, i, mem);
        else if (vec->valid) memset(vec->valid, 0, wr_valid_bytes(n));
        return;
    }
    switch (s) {
    case WR_S_BOOL: FILL(uint8_t, v->b); break;
    case WR_S_I8: FILL(int8_t, v->i); break;
    case WR_S_I16: FILL(int16_t, v->i); break;
    case WR_S_I32: FILL(int32_t, v->i); break;
    case WR_S_I64: FILL(int64_t, v->i); break;
    case WR_S_I128: FILL(wr_i128, v->d); break;
    case WR_S_F32: FILL(float, v->f); break;
    case WR_S_F64: FILL(double, v->f); break;
    case WR_S_STR: {
        wr_sview view = wr_sview_copy(mem, v->s.ptr, v->s.len), *to = vec->data;
        for (uint32_t i = 0; i < n; i++) to[i] = view;
        break;
    }
    default: break;
    }
}

/* A column of src's given rows, all of it in the arena; only ever read. The type is the caller's copy of src's. */
static wr_vec rows_in_arena(wr_arena *arena, const wr_vec *src, wr_type type, const uint32_t *rows, uint32_t n) {
    wr_storage s = wr_type_storage(src->type);
    size_t     size = wr_storage_size(s);
    wr_vec     vec = {.type = type, .n = n};
    if (size) vec.data = wr_arena_calloc(arena, size * WR_MAX(n, 1u));
    vec.valid = wr_arena_calloc(arena, wr_valid_bytes(n) + 8);
    if (src->type.n_kids) vec.kids = wr_new_n(arena, wr_vec, src->type.n_kids);
    uint32_t n_elements = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (wr_vec_is_null(src, rows[i])) continue;
        wr_valid_set(vec.valid, i, true);
        if (s == WR_S_STR) {
            wr_str text = wr_sview_str((const wr_sview *)src->data + rows[i]);
            if (text.len > 12) text = wr_str_dup(arena, text);
            ((wr_sview *)vec.data)[i] = wr_sview_borrow(text.ptr, text.len);
        } else if (s == WR_S_LIST) {
            uint32_t len = ((const wr_list *)src->data)[rows[i]].len;
            ((wr_list *)vec.data)[i] = (wr_list){n_elements, len};
            n_elements += len;
        } else if (size) {
            memcpy((char *)vec.data + i * size, (const char *)src->data + rows[i] * size, size);
        }
    }
    if (s == WR_S_ROW) {
        for (uint32_t k = 0; k < src->type.n_kids; k++) vec.kids[k] = rows_in_arena(arena, &src->kids[k], type.kids[k], rows, n);
    } else if (s == WR_S_LIST) {
        uint32_t *elements = wr_new_n(arena, uint32_t, WR_MAX(n_elements, 1u)), at = 0;
        for (uint32_t i = 0; i < n; i++)
            for (uint32_t j = 0; wr_valid_get(vec.valid, i) && j < ((const wr_list *)vec.data)[i].len; j++)
                elements[at++] = ((const wr_list *)src->data)[rows[i]].offset + j;
        for (uint32_t k = 0; k < src->type.n_kids; k++) vec.kids[k] = rows_in_arena(arena, &src->kids[k], type.kids[k], elements, n_elements);
    }
    return vec;
}

wr_value wr_value_from_vec(wr_arena *arena, const wr_vec *vec, uint32_t row) {
    wr_value v = {.type = vec->type};
    if (wr_vec_is_null(vec, row)) return wr_value_null(vec->type);
    switch (wr_type_storage(vec->type)) {
    case WR_S_NONE: return wr_value_null(vec->type);
    case WR_S_BOOL: v.b = ((const uint8_t *)vec->data)[row]; break;
    case WR_S_I8:
    case WR_S_I16:
    case WR_S_I32:
    case WR_S_I64: v.i = int_at(vec, row); break;
    case WR_S_I128: v.d = ((const wr_i128 *)vec->data)[row]; break;
    case WR_S_F32: v.f = (double)((const float *)vec->data)[row]; break;
    case WR_S_F64: v.f = ((const double *)vec->data)[row]; break;
    case WR_S_STR: v.s = wr_str_dup(arena, wr_sview_str((const wr_sview *)vec->data + row)); break;
    case WR_S_LIST:
    case WR_S_ROW: {
        wr_vec *copy = wr_new(arena, wr_vec);
        *copy = rows_in_arena(arena, vec, wr_type_copy(arena, vec->type), &row, 1);
        v.type = copy->type;
        v.nested = copy;
        break;
    }
    }
    return v;
}

/* The value as a one-row column in mem. */
static wr_vec one_row(const wr_value *v, wr_mem *mem) {
    wr_vec vec;
    wr_value_fill(v, &vec, 1, mem);
    return vec;
}

void wr_value_text(const wr_value *v, const struct wr_tz *tz, wr_sbuf *out) {
    wr_mem *mem = wr_mem_new(0);
    wr_vec  vec = one_row(v, mem);
    wr_vec_text(&vec, 0, tz, out);
    wr_mem_unref(mem);
}

bool wr_value_equal(const wr_value *a, const wr_value *b) {
    if (!wr_type_same(a->type, b->type)) return false;
    if (a->null || b->null) return a->null == b->null;
    switch (wr_type_storage(a->type)) { /* the planner compares many constants: no columns are made for what is a number */
    case WR_S_BOOL: return a->b == b->b;
    case WR_S_I8: case WR_S_I16: case WR_S_I32: case WR_S_I64: return a->i == b->i;
    case WR_S_I128: return a->d == b->d;
    case WR_S_STR: return wr_str_eq(a->s, b->s);
    default: break;
    }
    wr_mem *mem = wr_mem_new(0);
    wr_vec  x = one_row(a, mem), y = one_row(b, mem);
    bool    equal = wr_vec_equal(&x, 0, &y, 0);
    wr_mem_unref(mem);
    return equal;
}
