/* type/batchcodec.c: batches as bytes (batchcodec.h).
 *
 * Idea       a column is written for a list of its rows: the live ones of the batch, or the elements that lists refer to. So nothing is compacted first.
 * Invariant  values of NULL rows are written as zeros: what memory held there does not matter.
 * Thread     any; the batch is frozen. Memory: a decoded batch's own.                                                        */
#include "type/batchcodec.h"

enum { HAS_NULLS = 1, HAS_KINDS = 1, HAS_LATE = 2, NULLS_MAX = 1 << 20 };

static bool any_null(const wr_vec *v, const uint32_t *rows, uint32_t n) {
    for (uint32_t i = 0; i < n; i++)
        if (wr_vec_is_null(v, rows[i])) return true;
    return false;
}

static void put_nulls(const wr_vec *v, const uint32_t *rows, uint32_t n, wr_sbuf *out) {
    bool nulls = any_null(v, rows, n);
    wr_put_u8(out, nulls ? HAS_NULLS : 0);
    for (uint32_t i = 0; nulls && i < n; i += 8) {
        uint8_t bits = 0;
        for (uint32_t b = 0; b < 8 && i + b < n; b++) bits |= (uint8_t)(!wr_vec_is_null(v, rows[i + b]) << b);
        wr_put_u8(out, bits);
    }
}

static void put_fixed(const wr_vec *v, const uint32_t *rows, uint32_t n, size_t size, wr_sbuf *out) {
    static const uint8_t zero[16];
    wr_sbuf_reserve(out, size * n);
    for (uint32_t i = 0; i < n; i++)
        wr_sbuf_add(out, wr_vec_is_null(v, rows[i]) ? zero : (const uint8_t *)v->data + size * rows[i], size);
}

static void put_strings(const wr_vec *v, const uint32_t *rows, uint32_t n, wr_sbuf *out) {
    for (uint32_t i = 0; i < n; i++) {
        wr_str s = wr_vec_is_null(v, rows[i]) ? (wr_str){"", 0} : wr_sview_str((const wr_sview *)v->data + rows[i]);
        wr_put_bytes(out, s.ptr, s.len);
    }
}

static void put_vec(const wr_vec *v, const uint32_t *rows, uint32_t n, wr_sbuf *out);

/* Children of a column without rows may never have been made. */
static void put_kids(const wr_vec *v, const uint32_t *rows, uint32_t n, wr_sbuf *out) {
    for (uint32_t k = 0; k < v->type.n_kids; k++) {
        wr_vec none = {.type = v->type.kids[k]};
        put_vec(v->kids ? &v->kids[k] : &none, rows, n, out);
    }
}

static void put_lists(const wr_vec *v, const uint32_t *rows, uint32_t n, wr_sbuf *out) {
    const wr_list *lists = v->data;
    WR_ARR(uint32_t) elements = {0};
    for (uint32_t i = 0; i < n; i++) {
        wr_list l = wr_vec_is_null(v, rows[i]) ? (wr_list){0} : lists[rows[i]];
        wr_put_u32(out, l.len);
        for (uint32_t k = 0; k < l.len; k++) wr_arr_push(&elements, l.offset + k);
    }
    put_kids(v, elements.at, elements.n, out);
    wr_arr_free(&elements);
}

static void put_vec(const wr_vec *v, const uint32_t *rows, uint32_t n, wr_sbuf *out) {
    wr_storage s = wr_type_storage(v->type);
    wr_put_u8(out, (uint8_t)s);
    if (s == WR_S_NONE) return;
    put_nulls(v, rows, n, out);
    if (s == WR_S_STR) put_strings(v, rows, n, out);
    else if (s == WR_S_LIST) put_lists(v, rows, n, out);
    else if (s != WR_S_ROW) put_fixed(v, rows, n, wr_storage_size(s), out);
    else put_kids(v, rows, n, out);
}

void wr_batch_put(const wr_batch *batch, wr_sbuf *out) {
    uint32_t n = wr_batch_live(batch), rows[WR_BATCH_MAX];
    for (uint32_t i = 0; i < n; i++) rows[i] = wr_batch_row(batch, i);
    wr_put_u32(out, n);
    wr_put_u32(out, batch->n_cols);
    wr_put_u8(out, (uint8_t)((batch->kinds ? HAS_KINDS : 0) | (batch->row_wm_us ? HAS_LATE : 0)));
    for (uint32_t i = 0; batch->kinds && i < n; i++) wr_put_u8(out, batch->kinds[rows[i]]);
    for (uint32_t i = 0; batch->row_wm_us && i < n; i++) wr_put_i64(out, batch->row_wm_us[rows[i]]);
    for (uint32_t c = 0; c < batch->n_cols; c++) put_vec(&batch->cols[c], rows, n, out);
}

/* ---- reading ---- */
static const uint8_t *take(wr_reader *in, size_t bytes) {
    if (in->bad || (size_t)(in->end - in->at) < bytes) {
        in->bad = true;
        return NULL;
    }
    const uint8_t *at = in->at;
    in->at += bytes;
    return at;
}

static void get_nulls(wr_vec *v, uint32_t n, wr_reader *in, wr_mem *mem) {
    if (!(wr_get_u8(in) & HAS_NULLS)) return;
    const uint8_t *bits = take(in, (n + 7) / 8);
    for (uint32_t i = 0; bits && i < n; i++)
        if (!(bits[i >> 3] >> (i & 7) & 1)) wr_vec_set_null(v, i, mem);
}

static void get_vec(wr_type type, uint32_t n, wr_reader *in, wr_vec *v, wr_mem *mem);

static void get_lists(wr_vec *v, uint32_t n, wr_reader *in, wr_mem *mem) {
    wr_list *lists = v->data;
    uint64_t sum = 0;
    for (uint32_t i = 0; i < n; i++) {
        lists[i] = (wr_list){(uint32_t)sum, wr_get_u32(in)};
        sum += lists[i].len;
        if (in->bad || sum > UINT32_C(1) << 30) {
            in->bad = true;
            return;
        }
    }
    for (uint32_t k = 0; k < v->type.n_kids && !in->bad; k++) get_vec(v->type.kids[k], (uint32_t)sum, in, &v->kids[k], mem);
}

/* Damaged lengths allocate no more than the bytes that are there, or so many rows without values. */
static void get_vec(wr_type type, uint32_t n, wr_reader *in, wr_vec *v, wr_mem *mem) {
    wr_storage s = wr_type_storage(type), stored = wr_get_u8(in);
    size_t     size = wr_storage_size(s);
    if (stored == WR_S_NONE && !in->bad && n <= NULLS_MAX) { /* a bare NULL */
        wr_vec_init(v, type, n, true, mem);
        for (uint32_t i = 0; i < n; i++) wr_vec_set_null(v, i, mem);
        return;
    }
    size_t least = s == WR_S_STR || s == WR_S_LIST ? 4 : size;
    if (stored != s || (size_t)(in->end - in->at) < least * n || (!least && n > NULLS_MAX)) in->bad = true;
    if (in->bad) return;
    wr_vec_init(v, type, n, false, mem);
    get_nulls(v, n, in, mem);
    if (s == WR_S_STR) {
        for (uint32_t i = 0; i < n && !in->bad; i++) {
            wr_str text = wr_get_bytes(in);
            if (!in->bad) ((wr_sview *)v->data)[i] = wr_sview_copy(mem, text.ptr, text.len);
        }
    } else if (s == WR_S_LIST) {
        get_lists(v, n, in, mem);
    } else if (s != WR_S_ROW) {
        const uint8_t *values = take(in, size * n);
        if (values && n) memcpy(v->data, values, size * n);
    } else {
        for (uint32_t k = 0; k < type.n_kids && !in->bad; k++) get_vec(type.kids[k], n, in, &v->kids[k], mem);
    }
}

wr_batch *wr_batch_get(const wr_schema *schema, wr_reader *in) {
    uint32_t n = wr_get_u32(in), n_cols = wr_get_u32(in);
    uint8_t  flags = wr_get_u8(in);
    if (in->bad || n > WR_BATCH_MAX || n_cols != schema->n) {
        in->bad = true;
        return NULL;
    }
    wr_batch *b = wr_batch_new(n_cols, 4096);
    b->n_rows = n;
    const uint8_t *kinds = flags & HAS_KINDS ? take(in, n) : NULL;
    if (kinds) b->kinds = memcpy(wr_mem_alloc(b->mem, WR_MAX(n, 1u)), kinds, n);
    int64_t *late = flags & HAS_LATE ? wr_mem_alloc(b->mem, sizeof *late * WR_MAX(n, 1u)) : NULL;
    for (uint32_t i = 0; late && i < n; i++) late[i] = wr_get_i64(in);
    b->row_wm_us = late;
    for (uint32_t i = 0; kinds && i < n; i++) in->bad = in->bad || kinds[i] > WR_KIND_DELETE;
    for (uint32_t c = 0; c < n_cols && !in->bad; c++) get_vec(schema->fields[c].type, n, in, &b->cols[c], b->mem);
    if (!in->bad) return b;
    wr_batch_unref(b);
    return NULL;
}
