/* type/rowcodec.c: see rowcodec.h.
 *
 * Layout     [ceil(n/8) null bytes][fixed part, constant size][variable columns in order]. A NULL column has its bit set and, if fixed,
 *            zero bytes; if variable, nothing. STR: u32 length, bytes. ROW: the same layout for its children. LIST: u32
 *            count, then for each child all its elements: u8 present, then fixed bytes or the variable form.
 * Invariant  equal rows have equal bytes: floats are normalised, padding bits and the values of NULLs are zero.
 * Damage     get checks every length and count against the bytes left, and that nothing is left over.                  */
#include "type/rowcodec.h"

typedef struct step {
    uint8_t  storage, size; /* size 0 = variable */
    uint32_t offset;        /* in the fixed part */
} step;

struct wr_rowcodec {
    uint32_t        n, null_bytes, fixed_bytes;
    const wr_type  *types;
    const step     *steps;
    wr_rowcodec   **kids; /* per column: codec of its children, NULL if none */
};

wr_rowcodec *wr_rowcodec_new(wr_arena *arena, const wr_type *types, uint32_t n) {
    wr_rowcodec *codec = wr_new(arena, wr_rowcodec);
    wr_type     *own = wr_new_n(arena, wr_type, WR_MAX(n, 1u));
    step        *steps = wr_new_n(arena, step, WR_MAX(n, 1u));
    codec->kids = wr_new_n(arena, wr_rowcodec *, WR_MAX(n, 1u));
    for (uint32_t i = 0; i < n; i++) {
        own[i] = wr_type_copy(arena, types[i]);
        wr_storage s = wr_type_storage(types[i]);
        bool       variable = s == WR_S_STR || s == WR_S_LIST || s == WR_S_ROW;
        steps[i] = (step){.storage = (uint8_t)s, .size = variable ? 0 : (uint8_t)wr_storage_size(s), .offset = codec->fixed_bytes};
        codec->fixed_bytes += steps[i].size;
        if (types[i].n_kids) codec->kids[i] = wr_rowcodec_new(arena, own[i].kids, own[i].n_kids);
    }
    codec->n = n;
    codec->null_bytes = (n + 7) / 8;
    codec->types = own;
    codec->steps = steps;
    return codec;
}

/* ---- encode ---- */

static void put_fixed(char *to, const step *s, const wr_vec *vec, uint32_t row) {
    if (s->storage == WR_S_F32) {
        float x = ((const float *)vec->data)[row] + 0.0f; /* -0.0 becomes 0.0 */
        if (x != x) x = __builtin_nanf("");
        memcpy(to, &x, 4);
    } else if (s->storage == WR_S_F64) {
        double x = ((const double *)vec->data)[row] + 0.0;
        if (x != x) x = __builtin_nan("");
        memcpy(to, &x, 8);
    } else {
        const char *from = (const char *)vec->data + (size_t)row * s->size;
        switch (s->size) { /* constant sizes become plain moves */
        case 1: *to = *from; break;
        case 2: memcpy(to, from, 2); break;
        case 4: memcpy(to, from, 4); break;
        case 8: memcpy(to, from, 8); break;
        case 16: memcpy(to, from, 16); break;
        default: break;
        }
    }
}

/* Room for n bytes at the end of out, or NULL when its bound says no. */
static char *extend(wr_sbuf *out, size_t n) {
    if (out->max && out->len + n > out->max) return out->overflow = true, NULL;
    wr_sbuf_reserve(out, n);
    char *at = out->at + out->len;
    out->len += n;
    out->at[out->len] = 0;
    return at;
}

static void put_columns(const wr_rowcodec *codec, const wr_vec *vecs, const uint32_t *cols, uint32_t row, wr_sbuf *out);

static void put_list(const wr_rowcodec *kids, const wr_vec *vec, uint32_t row, wr_sbuf *out);

static void put_variable(const wr_rowcodec *codec, uint32_t col, const wr_vec *vec, uint32_t row, wr_sbuf *out) {
    switch (codec->steps[col].storage) {
    case WR_S_STR: {
        wr_str s = wr_sview_str((const wr_sview *)vec->data + row);
        char  *to = extend(out, 4 + s.len);
        if (!to) return;
        uint32_t len = (uint32_t)s.len;
        memcpy(to, &len, 4);
        if (len) memcpy(to + 4, s.ptr, len);
        break;
    }
    case WR_S_LIST: put_list(codec->kids[col], vec, row, out); break;
    case WR_S_ROW:
        if (codec->kids[col]) put_columns(codec->kids[col], vec->kids, NULL, row, out);
        break;
    default: break;
    }
}

static void put_list(const wr_rowcodec *kids, const wr_vec *vec, uint32_t row, wr_sbuf *out) {
    wr_list list = ((const wr_list *)vec->data)[row];
    wr_put_u32(out, list.len);
    for (uint32_t k = 0; k < kids->n; k++) {
        const wr_vec *kid = &vec->kids[k];
        for (uint32_t i = list.offset; i < list.offset + list.len; i++) {
            bool null = wr_vec_is_null(kid, i);
            wr_put_u8(out, !null);
            if (null) continue;
            if (kids->steps[k].size) {
                char *to = extend(out, kids->steps[k].size);
                if (to) put_fixed(to, &kids->steps[k], kid, i);
            } else {
                put_variable(kids, k, kid, i, out);
            }
        }
    }
}

static void put_columns(const wr_rowcodec *codec, const wr_vec *vecs, const uint32_t *cols, uint32_t row, wr_sbuf *out) {
    size_t start = out->len, head = codec->null_bytes + codec->fixed_bytes;
    char  *to = extend(out, head);
    if (!to) return;
    memset(to, 0, head);
    bool variable = false;
    for (uint32_t i = 0; i < codec->n; i++) {
        const step   *s = &codec->steps[i];
        const wr_vec *vec = &vecs[cols ? cols[i] : i];
        wr_dassert(wr_type_storage(vec->type) == s->storage);
        if (wr_vec_is_null(vec, row)) to[i / 8] = (char)((unsigned char)to[i / 8] | 1u << i % 8);
        else if (s->size) put_fixed(to + codec->null_bytes + s->offset, s, vec, row);
        else variable = true;
    }
    if (!variable) return;
    for (uint32_t i = 0; i < codec->n; i++) {
        const wr_vec *vec = &vecs[cols ? cols[i] : i];
        if (codec->steps[i].size || (unsigned char)out->at[start + i / 8] >> i % 8 & 1) continue;
        put_variable(codec, i, vec, row, out);
    }
}

void wr_rowcodec_put(const wr_rowcodec *codec, const wr_batch *batch, const uint32_t *cols, uint32_t row, wr_sbuf *out) {
    put_columns(codec, batch->cols, cols, row, out);
}

/* ---- decode ---- */

static bool get_columns(const wr_rowcodec *codec, wr_reader *in, wr_vec *dst, uint32_t row, wr_mem *mem);
static bool get_list(const wr_rowcodec *kids, wr_reader *in, wr_vec *dst, uint32_t row, wr_mem *mem);

static void get_fixed(const step *s, const uint8_t *from, wr_vec *dst, uint32_t row) {
    char *to = (char *)dst->data + (size_t)row * s->size;
    switch (s->size) {
    case 1: *to = (char)*from; break;
    case 2: memcpy(to, from, 2); break;
    case 4: memcpy(to, from, 4); break;
    case 8: memcpy(to, from, 8); break;
    case 16: memcpy(to, from, 16); break;
    default: break;
    }
}

static bool get_variable(const wr_rowcodec *codec, uint32_t col, wr_reader *in, wr_vec *dst, uint32_t row, wr_mem *mem) {
    switch (codec->steps[col].storage) {
    case WR_S_STR: {
        wr_str s = wr_get_bytes(in);
        if (in->bad) return false;
        ((wr_sview *)dst->data)[row] = wr_sview_copy(mem, s.ptr, s.len);
        return true;
    }
    case WR_S_LIST: return get_list(codec->kids[col], in, dst, row, mem);
    case WR_S_ROW: return !codec->kids[col] || get_columns(codec->kids[col], in, dst->kids, row, mem);
    default: return true;
    }
}

static bool get_list(const wr_rowcodec *kids, wr_reader *in, wr_vec *dst, uint32_t row, wr_mem *mem) {
    wr_list list = {0, wr_get_u32(in)};
    if (in->bad || list.len > (size_t)(in->end - in->at)) return false; /* an element takes a byte at least */
    for (uint32_t k = 0; k < kids->n; k++) {
        const step *s = &kids->steps[k];
        wr_vec     *kid = &dst->kids[k];
        list.offset = wr_vec_grow(kid, list.len, mem);
        for (uint32_t i = list.offset; i < list.offset + list.len; i++) {
            uint8_t present = wr_get_u8(in);
            if (in->bad || present > 1) return false;
            if (!present) {
                wr_vec_set_null(kid, i, mem);
            } else if (s->size) {
                if (in->end - in->at < s->size || (s->storage == WR_S_BOOL && *in->at > 1)) return false;
                get_fixed(s, in->at, kid, i);
                in->at += s->size;
            } else if (!get_variable(kids, k, in, kid, i, mem)) {
                return false;
            }
        }
    }
    ((wr_list *)dst->data)[row] = list;
    return true;
}

static bool get_columns(const wr_rowcodec *codec, wr_reader *in, wr_vec *dst, uint32_t row, wr_mem *mem) {
    if ((size_t)(in->end - in->at) < codec->null_bytes + codec->fixed_bytes) return false;
    const uint8_t *nulls = in->at, *fixed = nulls + codec->null_bytes;
    in->at = fixed + codec->fixed_bytes;
    for (uint32_t i = 0; i < codec->n; i++) {
        const step *s = &codec->steps[i];
        if (nulls[i / 8] >> i % 8 & 1) {
            wr_vec_set_null(&dst[i], row, mem);
            continue;
        }
        if (dst[i].valid) wr_valid_set(dst[i].valid, row, true);
        if (s->storage == WR_S_BOOL && fixed[s->offset] > 1) return false;
        if (s->size) get_fixed(s, fixed + s->offset, &dst[i], row);
        else if (!get_variable(codec, i, in, &dst[i], row, mem)) return false;
    }
    return true;
}

bool wr_rowcodec_get(const wr_rowcodec *codec, wr_str bytes, wr_vec *dst, uint32_t row, wr_mem *mem) {
    wr_reader in = {(const uint8_t *)bytes.ptr, (const uint8_t *)bytes.ptr + bytes.len, false};
    return get_columns(codec, &in, dst, row, mem) && in.at == in.end;
}

/* ---- compare ---- */

static bool skip_columns(const wr_rowcodec *codec, wr_reader *in);

static bool skip_variable(const wr_rowcodec *codec, uint32_t col, wr_reader *in) {
    const wr_rowcodec *kids = codec->kids[col];
    switch (codec->steps[col].storage) {
    case WR_S_STR: wr_get_bytes(in); return !in->bad;
    case WR_S_ROW: return !kids || skip_columns(kids, in);
    case WR_S_LIST: {
        uint32_t len = wr_get_u32(in);
        for (uint32_t k = 0; k < kids->n; k++)
            for (uint32_t i = 0; i < len && !in->bad; i++) {
                if (!wr_get_u8(in)) continue;
                size_t size = kids->steps[k].size;
                if (!size) {
                    if (!skip_variable(kids, k, in)) return false;
                } else if ((size_t)(in->end - in->at) < size) {
                    return false;
                } else {
                    in->at += size;
                }
            }
        return !in->bad;
    }
    default: return true;
    }
}

static bool skip_columns(const wr_rowcodec *codec, wr_reader *in) {
    if ((size_t)(in->end - in->at) < codec->null_bytes + codec->fixed_bytes) return false;
    const uint8_t *nulls = in->at;
    in->at += codec->null_bytes + codec->fixed_bytes;
    for (uint32_t i = 0; i < codec->n; i++)
        if (!codec->steps[i].size && !(nulls[i / 8] >> i % 8 & 1) && !skip_variable(codec, i, in)) return false;
    return true;
}

/* Puts `in` at the bytes of a variable column that is not NULL. */
static bool seek_variable(const wr_rowcodec *codec, wr_str bytes, uint32_t col, wr_reader *in) {
    const uint8_t *nulls = (const uint8_t *)bytes.ptr;
    *in = (wr_reader){nulls, nulls + bytes.len, false};
    in->at += codec->null_bytes + codec->fixed_bytes;
    for (uint32_t i = 0; i < col; i++)
        if (!codec->steps[i].size && !(nulls[i / 8] >> i % 8 & 1) && !skip_variable(codec, i, in)) return false;
    return true;
}

static int compare_nested(const wr_rowcodec *codec, wr_reader *a, wr_reader *b, uint32_t col) {
    wr_mem *mem = wr_mem_new(1024);
    wr_vec  x, y;
    wr_vec_init(&x, codec->types[col], 1, true, mem);
    wr_vec_init(&y, codec->types[col], 1, true, mem);
    bool ok = get_variable(codec, col, a, &x, 0, mem) && get_variable(codec, col, b, &y, 0, mem);
    wr_assert(ok); /* rows of ours, checked when they were read */
    int c = wr_vec_compare(&x, 0, &y, 0);
    wr_mem_unref(mem);
    return c;
}

#define COMPARE_AT(T)                                  \
    do {                                               \
        T u, v;                                        \
        memcpy(&u, x, sizeof u), memcpy(&v, y, sizeof v); \
        return (u > v) - (u < v);                      \
    } while (0)

static int compare_double(double u, double v) {
    if (u != u || v != v) return (u != u) - (v != v);
    return (u > v) - (u < v);
}

static int compare_fixed(wr_storage storage, const uint8_t *x, const uint8_t *y) {
    switch (storage) {
    case WR_S_BOOL: return (*x > *y) - (*x < *y);
    case WR_S_I8: COMPARE_AT(int8_t);
    case WR_S_I16: COMPARE_AT(int16_t);
    case WR_S_I32: COMPARE_AT(int32_t);
    case WR_S_I64: COMPARE_AT(int64_t);
    case WR_S_I128: COMPARE_AT(wr_i128);
    case WR_S_F32: {
        float u, v;
        memcpy(&u, x, 4), memcpy(&v, y, 4);
        return compare_double((double)u, (double)v);
    }
    case WR_S_F64: {
        double u, v;
        memcpy(&u, x, 8), memcpy(&v, y, 8);
        return compare_double(u, v);
    }
    default: return 0;
    }
}

bool wr_rowcodec_is_null(const wr_rowcodec *codec, wr_str row, uint32_t col) {
    wr_assert(row.len >= codec->null_bytes);
    return (uint8_t)row.ptr[col / 8] >> col % 8 & 1;
}

int wr_rowcodec_compare(const wr_rowcodec *codec, wr_str a, wr_str b, uint32_t col) {
    const uint8_t *x = (const uint8_t *)a.ptr, *y = (const uint8_t *)b.ptr;
    const step    *s = &codec->steps[col];
    wr_assert(a.len >= codec->null_bytes + codec->fixed_bytes && b.len >= codec->null_bytes + codec->fixed_bytes);
    bool null_x = x[col / 8] >> col % 8 & 1, null_y = y[col / 8] >> col % 8 & 1;
    if (null_x || null_y) return null_y - null_x;
    if (s->size) return compare_fixed((wr_storage)s->storage, x + codec->null_bytes + s->offset, y + codec->null_bytes + s->offset);
    wr_reader ra, rb;
    bool      ok = seek_variable(codec, a, col, &ra) && seek_variable(codec, b, col, &rb);
    wr_assert(ok);
    if (s->storage == WR_S_STR) return wr_str_cmp(wr_get_bytes(&ra), wr_get_bytes(&rb));
    if (s->storage == WR_S_NONE) return 0;
    return compare_nested(codec, &ra, &rb, col);
}
