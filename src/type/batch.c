/* type/batch.c: columns, batches and the builder of batch.h.
 *
 * Idea       every operation decides by storage first and loops over rows inside, on plain arrays.
 * Invariant  wr_vec_init and wr_vec_grow give room for room_for(n) rows, a function of n alone: so a list's child can grow in place
 *            without a capacity field in wr_vec. Strings and lists start zeroed, so that a NULL row can be read without harm.
 * Thread     the owner of the batch. Memory: the batch's wr_mem.                                                      */
#include "type/batch.h"
#include "base/hash.h"

const char *wr_kind_text(wr_kind kind) {
    static const char *const texts[] = {"+I", "-U", "+U", "-D"};
    return (unsigned)kind < WR_COUNT_OF(texts) ? texts[kind] : "??";
}

wr_sview wr_sview_copy(wr_mem *mem, const char *ptr, size_t len) {
    wr_assert(len <= WR_LENGTH_MAX);
    if (len <= 12) return wr_sview_borrow(ptr, len);
    char *copy = wr_mem_alloc(mem, len);
    memcpy(copy, ptr, len);
    return wr_sview_borrow(copy, len);
}

/* ---- allocation ---- */

static uint32_t room_for(uint32_t n) {
    if (n <= 16) return 16;
    wr_assert(n <= UINT32_C(1) << 31);
    return UINT32_C(1) << (32 - __builtin_clz(n - 1));
}

static void *new_data(wr_storage s, uint32_t room, wr_mem *mem) {
    size_t bytes = wr_storage_size(s) * room;
    if (!bytes) return NULL;
    return s == WR_S_STR || s == WR_S_LIST ? wr_mem_calloc(mem, bytes) : wr_mem_alloc(mem, bytes);
}

static uint64_t *new_valid(uint32_t room, bool on, wr_mem *mem) {
    size_t bytes = wr_valid_bytes(room);
    return memset(wr_mem_alloc(mem, bytes), on ? 0xFF : 0, bytes);
}

void wr_vec_init(wr_vec *vec, wr_type type, uint32_t n, bool nulls, wr_mem *mem) {
    wr_storage s = wr_type_storage(type);
    uint32_t   room = room_for(n);
    *vec = (wr_vec){.type = type, .n = n};
    vec->data = new_data(s, room, mem);
    if (nulls && s != WR_S_NONE) vec->valid = new_valid(room, true, mem);
    if (!type.n_kids) return;
    vec->kids = wr_mem_calloc(mem, type.n_kids * sizeof(wr_vec));
    for (uint32_t i = 0; i < type.n_kids; i++) {
        if (s == WR_S_ROW) wr_vec_init(&vec->kids[i], type.kids[i], n, nulls, mem);
        else vec->kids[i].type = type.kids[i];
    }
}

/* Makes `valid` present (all ones) if it was NULL. */
static void need_valid(wr_vec *vec, wr_mem *mem) {
    if (!vec->valid && vec->type.id != WR_T_NULL) vec->valid = new_valid(room_for(vec->n), true, mem);
}

uint32_t wr_vec_grow(wr_vec *vec, uint32_t extra, wr_mem *mem) {
    uint32_t   first = vec->n, n;
    wr_storage s = wr_type_storage(vec->type);
    wr_assert(!__builtin_add_overflow(first, extra, &n));
    if (s == WR_S_ROW || s == WR_S_LIST) {
        if (!vec->kids && vec->type.n_kids) {
            vec->kids = wr_mem_calloc(mem, vec->type.n_kids * sizeof(wr_vec));
            for (uint32_t i = 0; i < vec->type.n_kids; i++) vec->kids[i].type = vec->type.kids[i];
        }
        if (s == WR_S_ROW)
            for (uint32_t i = 0; i < vec->type.n_kids; i++) wr_vec_grow(&vec->kids[i], extra, mem);
    }
    if (!extra) return first;
    uint32_t room = room_for(n);
    if (first == 0 || room != room_for(first)) {
        void *data = new_data(s, room, mem);
        if (first && data) memcpy(data, vec->data, wr_storage_size(s) * first);
        vec->data = data;
        uint64_t *valid = vec->valid && first ? new_valid(room, true, mem) : NULL;
        if (valid) memcpy(valid, vec->valid, wr_valid_bytes(first));
        vec->valid = valid;
    }
    vec->n = n;
    if (vec->valid)
        for (uint32_t i = first; i < n; i++) wr_valid_set(vec->valid, i, true);
    return first;
}

/* ---- gather ---- */

#define NO_ROW UINT32_MAX
#define GATHER(T, IDX, idx)                                                                  \
    do {                                                                                     \
        const T *restrict s_ = src->data;                                                    \
        T *restrict       d_ = dst->data;                                                    \
        const IDX *restrict i_ = (idx);                                                      \
        for (uint32_t i = 0; i < n; i++) d_[i] = s_[i_[i]];                                  \
    } while (0)
#define GATHER_BY_SIZE(IDX, idx)                                                             \
    switch (wr_storage_size(wr_type_storage(src->type))) {                                   \
    case 1: GATHER(uint8_t, IDX, idx); break;                                                \
    case 2: GATHER(uint16_t, IDX, idx); break;                                               \
    case 4: GATHER(uint32_t, IDX, idx); break;                                               \
    case 8: GATHER(uint64_t, IDX, idx); break;                                               \
    case 16: GATHER(wr_u128, IDX, idx); break;                                               \
    default: break;                                                                          \
    }
#define GATHER_BITS(IDX, idx)                                                                \
    do {                                                                                     \
        const IDX *restrict i_ = (idx);                                                      \
        for (uint32_t w = 0; w * 64 < n; w++) {                                              \
            uint64_t bits = 0;                                                               \
            uint32_t end = WR_MIN(64u, n - w * 64);                                          \
            for (uint32_t b = 0; b < end; b++) {                                             \
                uint32_t r = i_[w * 64 + b];                                                 \
                bits |= (from[r >> 6] >> (r & 63) & 1) << b;                                 \
            }                                                                                \
            to[w] = bits;                                                                    \
        }                                                                                    \
    } while (0)

static void gather_bits16(uint64_t *restrict to, const uint64_t *restrict from, const uint16_t *sel, uint32_t n) { GATHER_BITS(uint16_t, sel); }
static void gather_bits32(uint64_t *restrict to, const uint64_t *restrict from, const uint32_t *rows, uint32_t n) { GATHER_BITS(uint32_t, rows); }
static void gather_data16(wr_vec *dst, const wr_vec *src, const uint16_t *sel, uint32_t n) { GATHER_BY_SIZE(uint16_t, sel) }
static void gather_data32(wr_vec *dst, const wr_vec *src, const uint32_t *rows, uint32_t n) { GATHER_BY_SIZE(uint32_t, rows) }

/* Makes dst's children dense: dst->data holds src's ranges; NULL rows become empty. */
static void gather_lists(wr_vec *dst, const wr_vec *src, uint32_t n, wr_mem *mem) {
    wr_list *lists = dst->data;
    uint64_t sum = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (wr_vec_is_null(dst, i)) lists[i] = (wr_list){0, 0};
        sum += lists[i].len;
    }
    wr_assert(sum <= UINT32_C(1) << 31);
    uint32_t *rows = wr_malloc(sum * sizeof *rows), at = 0;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t offset = at;
        for (uint32_t j = 0; j < lists[i].len; j++) rows[at++] = lists[i].offset + j;
        lists[i].offset = offset;
    }
    for (uint32_t k = 0; k < src->type.n_kids; k++) {
        if (sum) wr_vec_gather32(&dst->kids[k], &src->kids[k], rows, (uint32_t)sum, mem);
        else dst->kids[k] = (wr_vec){.type = src->type.kids[k]};
    }
    wr_free(rows);
}

void wr_vec_gather(wr_vec *dst, const wr_vec *src, const uint16_t *sel, uint32_t n, wr_mem *mem) {
    wr_storage s = wr_type_storage(src->type);
    uint32_t   room = room_for(n);
    *dst = (wr_vec){.type = src->type, .n = n};
    if (src->type.n_kids) dst->kids = wr_mem_calloc(mem, src->type.n_kids * sizeof(wr_vec));
    if (src->valid) {
        dst->valid = new_valid(room, true, mem);
        if (sel) gather_bits16(dst->valid, src->valid, sel, n);
        else memcpy(dst->valid, src->valid, wr_valid_bytes(n));
    }
    size_t size = wr_storage_size(s);
    if (size) {
        dst->data = wr_mem_alloc(mem, size * room);
        if (sel) gather_data16(dst, src, sel, n);
        else if (n) memcpy(dst->data, src->data, size * n);
    }
    if (s == WR_S_LIST) gather_lists(dst, src, n, mem);
    else if (s == WR_S_ROW)
        for (uint32_t k = 0; k < src->type.n_kids; k++) wr_vec_gather(&dst->kids[k], &src->kids[k], sel, n, mem);
}

/* With rows that may be NO_ROW. */
static void gather32_outer(wr_vec *dst, const wr_vec *src, const uint32_t *rows, uint32_t n, wr_mem *mem) {
    wr_storage s = wr_type_storage(src->type);
    size_t     size = wr_storage_size(s);
    char      *to = dst->data;
    dst->valid = new_valid(room_for(n), true, mem);
    for (uint32_t i = 0; i < n; i++) {
        bool there = rows[i] != NO_ROW;
        wr_valid_set(dst->valid, i, there && wr_valid_get(src->valid, rows[i]));
        if (!size) continue;
        if (there) memcpy(to + i * size, (const char *)src->data + rows[i] * size, size);
        else memset(to + i * size, 0, size);
    }
}

void wr_vec_gather32(wr_vec *dst, const wr_vec *src, const uint32_t *rows, uint32_t n, wr_mem *mem) {
    wr_storage s = wr_type_storage(src->type);
    size_t     size = wr_storage_size(s);
    *dst = (wr_vec){.type = src->type, .n = n};
    if (s == WR_S_NONE) return;
    if (src->type.n_kids) dst->kids = wr_mem_calloc(mem, src->type.n_kids * sizeof(wr_vec));
    if (size) dst->data = wr_mem_alloc(mem, size * room_for(n));
    uint32_t greatest = 0;
    for (uint32_t i = 0; i < n; i++) greatest = WR_MAX(greatest, rows[i]);
    if (n && greatest == NO_ROW) {
        gather32_outer(dst, src, rows, n, mem);
    } else {
        if (src->valid) {
            dst->valid = new_valid(room_for(n), true, mem);
            gather_bits32(dst->valid, src->valid, rows, n);
        }
        if (size) gather_data32(dst, src, rows, n);
    }
    if (s == WR_S_LIST) gather_lists(dst, src, n, mem);
    else if (s == WR_S_ROW)
        for (uint32_t k = 0; k < src->type.n_kids; k++) wr_vec_gather32(&dst->kids[k], &src->kids[k], rows, n, mem);
}

/* ---- compare ---- */

static int compare_double(double a, double b) {
    if (WR_UNLIKELY(a != a || b != b)) return (a != a) - (b != b);
    return (a > b) - (a < b);
}

static int compare_list(const wr_vec *a, uint32_t row_a, const wr_vec *b, uint32_t row_b) {
    wr_list x = ((const wr_list *)a->data)[row_a], y = ((const wr_list *)b->data)[row_b];
    for (uint32_t i = 0; i < x.len && i < y.len; i++)
        for (uint32_t k = 0; k < a->type.n_kids; k++) {
            int c = wr_vec_compare(&a->kids[k], x.offset + i, &b->kids[k], y.offset + i);
            if (c) return c;
        }
    return (x.len > y.len) - (x.len < y.len);
}

static int compare_row(const wr_vec *a, uint32_t row_a, const wr_vec *b, uint32_t row_b) {
    for (uint32_t k = 0; k < a->type.n_kids; k++) {
        int c = wr_vec_compare(&a->kids[k], row_a, &b->kids[k], row_b);
        if (c) return c;
    }
    return 0;
}

#define COMPARE_AS(T)                                                          \
    do {                                                                       \
        T x = ((const T *)a->data)[row_a], y = ((const T *)b->data)[row_b];    \
        return (x > y) - (x < y);                                              \
    } while (0)

int wr_vec_compare(const wr_vec *a, uint32_t row_a, const wr_vec *b, uint32_t row_b) {
    bool null_a = wr_vec_is_null(a, row_a), null_b = wr_vec_is_null(b, row_b);
    if (null_a || null_b) return null_b - null_a;
    wr_dassert(wr_type_storage(a->type) == wr_type_storage(b->type));
    switch (wr_type_storage(a->type)) {
    case WR_S_NONE: return 0;
    case WR_S_BOOL: COMPARE_AS(uint8_t);
    case WR_S_I8: COMPARE_AS(int8_t);
    case WR_S_I16: COMPARE_AS(int16_t);
    case WR_S_I32: COMPARE_AS(int32_t);
    case WR_S_I64: COMPARE_AS(int64_t);
    case WR_S_I128: COMPARE_AS(wr_i128);
    case WR_S_F32: return compare_double(((const float *)a->data)[row_a], ((const float *)b->data)[row_b]);
    case WR_S_F64: return compare_double(((const double *)a->data)[row_a], ((const double *)b->data)[row_b]);
    case WR_S_STR: {
        const wr_sview *x = (const wr_sview *)a->data + row_a, *y = (const wr_sview *)b->data + row_b;
        return wr_str_cmp(wr_sview_str(x), wr_sview_str(y));
    }
    case WR_S_LIST: return compare_list(a, row_a, b, row_b);
    case WR_S_ROW: return compare_row(a, row_a, b, row_b);
    }
    return 0;
}

bool wr_vec_equal(const wr_vec *a, uint32_t row_a, const wr_vec *b, uint32_t row_b) {
    if (wr_type_storage(a->type) == WR_S_STR && wr_type_storage(b->type) == WR_S_STR) {
        bool null_a = !wr_valid_get(a->valid, row_a), null_b = !wr_valid_get(b->valid, row_b);
        if (null_a || null_b) return null_a == null_b;
        return wr_sview_eq((const wr_sview *)a->data + row_a, (const wr_sview *)b->data + row_b);
    }
    return wr_vec_compare(a, row_a, b, row_b) == 0;
}

/* ---- single values ---- */

void wr_vec_set_null(wr_vec *dst, uint32_t row, wr_mem *mem) {
    if (dst->type.id == WR_T_NULL) return;
    need_valid(dst, mem);
    wr_valid_set(dst->valid, row, false);
    if (dst->type.id == WR_T_ROW)
        for (uint32_t k = 0; k < dst->type.n_kids; k++) wr_vec_set_null(&dst->kids[k], row, mem);
}

static void set_list(wr_vec *dst, uint32_t row, const wr_vec *src, uint32_t src_row, wr_mem *mem) {
    wr_list from = ((const wr_list *)src->data)[src_row], to = {0, from.len};
    for (uint32_t k = 0; k < dst->type.n_kids; k++) {
        to.offset = wr_vec_grow(&dst->kids[k], from.len, mem);
        for (uint32_t i = 0; i < from.len; i++) wr_vec_set(&dst->kids[k], to.offset + i, &src->kids[k], from.offset + i, mem);
    }
    ((wr_list *)dst->data)[row] = to;
}

void wr_vec_set(wr_vec *dst, uint32_t row, const wr_vec *src, uint32_t src_row, wr_mem *mem) {
    if (wr_vec_is_null(src, src_row)) {
        wr_vec_set_null(dst, row, mem);
        return;
    }
    wr_dassert(wr_type_storage(dst->type) == wr_type_storage(src->type));
    if (dst->valid) wr_valid_set(dst->valid, row, true);
    switch (wr_type_storage(dst->type)) {
    case WR_S_NONE: break;
    case WR_S_BOOL:
    case WR_S_I8: ((uint8_t *)dst->data)[row] = ((const uint8_t *)src->data)[src_row]; break;
    case WR_S_I16: ((uint16_t *)dst->data)[row] = ((const uint16_t *)src->data)[src_row]; break;
    case WR_S_F32:
    case WR_S_I32: ((uint32_t *)dst->data)[row] = ((const uint32_t *)src->data)[src_row]; break;
    case WR_S_F64:
    case WR_S_I64: ((uint64_t *)dst->data)[row] = ((const uint64_t *)src->data)[src_row]; break;
    case WR_S_I128: ((wr_i128 *)dst->data)[row] = ((const wr_i128 *)src->data)[src_row]; break;
    case WR_S_STR: {
        const wr_sview *v = (const wr_sview *)src->data + src_row;
        ((wr_sview *)dst->data)[row] = v->len <= 12 ? *v : wr_sview_copy(mem, v->ptr, v->len);
        break;
    }
    case WR_S_LIST: set_list(dst, row, src, src_row, mem); break;
    case WR_S_ROW:
        for (uint32_t k = 0; k < dst->type.n_kids; k++) wr_vec_set(&dst->kids[k], row, &src->kids[k], src_row, mem);
        break;
    }
}

/* ---- hash ---- */

WR_INLINE uint64_t hash_double(double x) {
    if (x != x) return wr_hash_u64(UINT64_C(0x7FF8000000000000));
    uint64_t bits;
    x += 0.0; /* -0.0 becomes 0.0 */
    memcpy(&bits, &x, 8);
    return wr_hash_u64(bits);
}
WR_INLINE uint64_t hash_i128(wr_i128 x) { return wr_hash_mix(wr_hash_u64((uint64_t)x), (uint64_t)(x >> 64)); }
WR_INLINE uint64_t hash_str(const wr_sview *v) {
    if (v->len > 12) return wr_hash_bytes(v->ptr, v->len);
    uint64_t head, tail; /* a short string is its view: length and all bytes, zero-filled */
    memcpy(&head, v, 8), memcpy(&tail, (const char *)v + 8, 8);
    return wr_hash_mix(wr_hash_u64(head), tail);
}

static uint64_t hash_value(const wr_vec *vec, uint32_t row) {
    if (wr_vec_is_null(vec, row)) return WR_HASH_NULL;
    switch (wr_type_storage(vec->type)) {
    case WR_S_NONE: return WR_HASH_NULL;
    case WR_S_BOOL: return wr_hash_u64(((const uint8_t *)vec->data)[row]);
    case WR_S_I8: return wr_hash_u64((uint64_t)(int64_t)((const int8_t *)vec->data)[row]);
    case WR_S_I16: return wr_hash_u64((uint64_t)(int64_t)((const int16_t *)vec->data)[row]);
    case WR_S_I32: return wr_hash_u64((uint64_t)(int64_t)((const int32_t *)vec->data)[row]);
    case WR_S_I64: return wr_hash_u64((uint64_t)((const int64_t *)vec->data)[row]);
    case WR_S_I128: return hash_i128(((const wr_i128 *)vec->data)[row]);
    case WR_S_F32: return hash_double(((const float *)vec->data)[row]);
    case WR_S_F64: return hash_double(((const double *)vec->data)[row]);
    case WR_S_STR: return hash_str((const wr_sview *)vec->data + row);
    case WR_S_LIST: {
        wr_list  list = ((const wr_list *)vec->data)[row];
        uint64_t h = wr_hash_u64(list.len);
        for (uint32_t i = 0; i < list.len; i++)
            for (uint32_t k = 0; k < vec->type.n_kids; k++) h = wr_hash_mix(h, hash_value(&vec->kids[k], list.offset + i));
        return h;
    }
    case WR_S_ROW: {
        uint64_t h = wr_hash_u64(vec->type.n_kids);
        for (uint32_t k = 0; k < vec->type.n_kids; k++) h = wr_hash_mix(h, hash_value(&vec->kids[k], row));
        return h;
    }
    }
    return 0;
}

#define HASH_LOOP(T, EXPR)                                                                          \
    do {                                                                                            \
        const T *restrict x_ = vec->data;                                                           \
        if (!vec->valid)                                                                            \
            for (uint32_t i = 0; i < n; i++) { const T *x = x_ + i; out[i] = (EXPR); }              \
        else                                                                                        \
            for (uint32_t i = 0; i < n; i++) {                                                      \
                const T *x = x_ + i;                                                                \
                out[i] = wr_valid_get(vec->valid, i) ? (EXPR) : WR_HASH_NULL;                       \
            }                                                                                       \
    } while (0)

static void hash_column(const wr_vec *vec, uint32_t n, uint64_t *restrict out) {
    switch (wr_type_storage(vec->type)) {
    case WR_S_BOOL: HASH_LOOP(uint8_t, wr_hash_u64(*x)); break;
    case WR_S_I8: HASH_LOOP(int8_t, wr_hash_u64((uint64_t)(int64_t)*x)); break;
    case WR_S_I16: HASH_LOOP(int16_t, wr_hash_u64((uint64_t)(int64_t)*x)); break;
    case WR_S_I32: HASH_LOOP(int32_t, wr_hash_u64((uint64_t)(int64_t)*x)); break;
    case WR_S_I64: HASH_LOOP(int64_t, wr_hash_u64((uint64_t)*x)); break;
    case WR_S_I128: HASH_LOOP(wr_i128, hash_i128(*x)); break;
    case WR_S_F32: HASH_LOOP(float, hash_double((double)*x)); break;
    case WR_S_F64: HASH_LOOP(double, hash_double(*x)); break;
    case WR_S_STR: HASH_LOOP(wr_sview, hash_str(x)); break;
    default:
        for (uint32_t i = 0; i < n; i++) out[i] = hash_value(vec, i);
    }
}

void wr_batch_hash(const wr_batch *batch, const uint32_t *cols, uint32_t n_cols, uint64_t *hash) {
    uint32_t n = batch->n_rows;
    uint64_t one[WR_BATCH_MAX];
    wr_assert(n <= WR_BATCH_MAX);
    if (!n_cols)
        for (uint32_t i = 0; i < n; i++) hash[i] = wr_hash_u64(0);
    for (uint32_t c = 0; c < n_cols; c++) {
        const wr_vec *vec = &batch->cols[cols ? cols[c] : c];
        hash_column(vec, n, c ? one : hash);
        if (c)
            for (uint32_t i = 0; i < n; i++) hash[i] = wr_hash_mix(hash[i], one[i]);
    }
}

/* ---- batches ---- */

wr_batch *wr_batch_new(uint32_t n_cols, size_t hint_bytes) {
    wr_mem   *mem = wr_mem_new(sizeof(wr_batch) + n_cols * sizeof(wr_vec) + hint_bytes);
    wr_batch *batch = wr_mem_calloc(mem, sizeof *batch);
    batch->mem = mem;
    batch->n_cols = n_cols;
    batch->cols = wr_mem_calloc(mem, WR_MAX(n_cols, 1u) * sizeof(wr_vec));
    return batch;
}

wr_batch *wr_batch_derive(wr_batch *parent, uint32_t n_cols) {
    wr_batch *batch = wr_batch_new(n_cols, 0);
    wr_mem_keep(batch->mem, parent->mem);
    batch->n_rows = parent->n_rows;
    batch->n_sel = parent->n_sel;
    batch->sel = parent->sel;
    batch->kinds = parent->kinds;
    batch->row_wm_us = parent->row_wm_us;
    batch->hash = parent->hash;
    uint32_t shared = WR_MIN(n_cols, parent->n_cols);
    if (shared) memcpy(batch->cols, parent->cols, shared * sizeof(wr_vec));
    return batch;
}

wr_batch *wr_batch_compact(wr_batch *batch) {
    if (!batch->sel) return wr_batch_ref(batch);
    uint32_t n = batch->n_sel;
    wr_batch *out = wr_batch_new(batch->n_cols, (size_t)room_for(n) * (batch->n_cols * 16 + 8));
    out->n_rows = n;
    bool shares = false; /* only long strings point into the old batch */
    for (uint32_t c = 0; c < batch->n_cols; c++) {
        wr_vec_gather(&out->cols[c], &batch->cols[c], batch->sel, n, out->mem);
        shares |= wr_type_storage(batch->cols[c].type) == WR_S_STR || wr_type_is_nested(batch->cols[c].type);
    }
    if (shares) wr_mem_keep(out->mem, batch->mem);
    if (batch->kinds) {
        uint8_t *kinds = wr_mem_alloc(out->mem, n);
        for (uint32_t i = 0; i < n; i++) kinds[i] = batch->kinds[batch->sel[i]];
        out->kinds = kinds;
    }
    if (batch->row_wm_us) {
        int64_t *wm = wr_mem_alloc(out->mem, n * sizeof *wm);
        for (uint32_t i = 0; i < n; i++) wm[i] = batch->row_wm_us[batch->sel[i]];
        out->row_wm_us = wm;
    }
    if (batch->hash) {
        uint64_t *hash = wr_mem_alloc(out->mem, n * sizeof *hash);
        for (uint32_t i = 0; i < n; i++) hash[i] = batch->hash[batch->sel[i]];
        out->hash = hash;
    }
    return out;
}

/* ---- builder ---- */

struct wr_builder {
    wr_schema schema; /* fields are borrowed */
    uint32_t  capacity;
    size_t    hint_bytes;
    wr_batch *batch; /* NULL between take and the next use */
    uint8_t  *kinds;
    int64_t  *row_wm_us;
};

static size_t row_bytes(wr_type t) {
    size_t bytes = wr_storage_size(wr_type_storage(t)) + 1;
    if (t.id == WR_T_ROW)
        for (uint32_t i = 0; i < t.n_kids; i++) bytes += row_bytes(t.kids[i]);
    return bytes;
}

wr_builder *wr_builder_new(const wr_schema *schema, uint32_t capacity) {
    wr_assert(capacity > 0 && capacity <= WR_BATCH_MAX);
    wr_builder *b = wr_calloc(1, sizeof *b);
    b->schema = *schema;
    b->capacity = capacity;
    for (uint32_t i = 0; i < schema->n; i++) b->hint_bytes += row_bytes(schema->fields[i].type) * room_for(capacity) + 128;
    b->hint_bytes += capacity + 256;
    return b;
}

void wr_builder_free(wr_builder *b) {
    if (!b) return;
    wr_batch_unref(b->batch);
    wr_free(b);
}

static void clear_valid(wr_vec *vec) {
    if (vec->valid) memset(vec->valid, 0, wr_valid_bytes(room_for(vec->n)));
    if (vec->type.id == WR_T_ROW)
        for (uint32_t k = 0; k < vec->type.n_kids; k++) clear_valid(&vec->kids[k]);
}

static wr_batch *open_batch(wr_builder *b) {
    if (b->batch) return b->batch;
    b->batch = wr_batch_new(b->schema.n, b->hint_bytes);
    for (uint32_t i = 0; i < b->schema.n; i++) {
        wr_vec_init(&b->batch->cols[i], b->schema.fields[i].type, b->capacity, true, b->batch->mem);
        clear_valid(&b->batch->cols[i]); /* all rows start NULL, so adding a row costs nothing per column */
    }
    b->kinds = wr_mem_alloc(b->batch->mem, b->capacity);
    b->row_wm_us = NULL;
    return b->batch;
}

uint32_t wr_builder_rows(const wr_builder *b) { return b->batch ? b->batch->n_rows : 0; }
wr_mem  *wr_builder_mem(wr_builder *b) { return open_batch(b)->mem; }
wr_vec  *wr_builder_col(wr_builder *b, uint32_t col) { return &open_batch(b)->cols[col]; }

uint32_t wr_builder_add(wr_builder *b, wr_kind kind) {
    wr_batch *batch = open_batch(b);
    wr_assert(batch->n_rows < b->capacity);
    uint32_t row = batch->n_rows++;
    b->kinds[row] = (uint8_t)kind;
    if (b->row_wm_us) b->row_wm_us[row] = WR_TIME_MIN;
    return row;
}

void wr_builder_set_late(wr_builder *b, uint32_t row, int64_t row_wm_us) {
    wr_assert(row < wr_builder_rows(b));
    if (!b->row_wm_us) {
        b->row_wm_us = wr_mem_alloc(b->batch->mem, b->capacity * sizeof(int64_t));
        for (uint32_t i = 0; i < b->batch->n_rows; i++) b->row_wm_us[i] = WR_TIME_MIN;
    }
    b->row_wm_us[row] = row_wm_us;
}

/* Sets the number of rows and drops a validity bitmap that says nothing. */
static void finish_vec(wr_vec *vec, uint32_t n) {
    vec->n = n;
    if (vec->type.id == WR_T_ROW)
        for (uint32_t k = 0; k < vec->type.n_kids; k++) finish_vec(&vec->kids[k], n);
    if (!vec->valid) return;
    for (uint32_t w = 0; w < n / 64; w++)
        if (vec->valid[w] != UINT64_MAX) return;
    uint64_t rest = n % 64 ? (UINT64_C(1) << n % 64) - 1 : 0;
    if (rest && (vec->valid[n / 64] & rest) != rest) return;
    vec->valid = NULL;
}

wr_batch *wr_builder_take(wr_builder *b) {
    wr_batch *batch = b->batch;
    if (!batch || !batch->n_rows) return NULL;
    for (uint32_t i = 0; i < batch->n_cols; i++) finish_vec(&batch->cols[i], batch->n_rows);
    batch->kinds = wr_kinds_uniform_insert(b->kinds, batch->n_rows) ? NULL : b->kinds;
    batch->row_wm_us = b->row_wm_us;
    b->batch = NULL;
    return batch;
}
