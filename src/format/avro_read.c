/* format/avro_read.c: a datum's bytes into a row of columns, by its plan. See avro.h.
 *
 * Idea       every function takes the place of a value and returns the place behind it, NULL with a fault. Text and bytes are borrowed from the record.
 * Invariant  nothing is read behind r->end; each value that is not NULL sets its row valid, since a record that failed may have left it otherwise.
 * Bounds     skipping goes down the data to AVRO_DEPTH_MAX (recursive types), reading along the columns' types. Elements take a byte each, or are counted.    */
#include "format/avro.h"
#include "type/datetime.h"
#include "type/decimal.h"
#include <stdarg.h>
#include <stdio.h>

const uint8_t *avro_fault(avro_reader *r, wr_bad_kind kind, const char *fmt, ...) {
    va_list args;
    r->kind = kind;
    va_start(args, fmt);
    vsnprintf(r->message, sizeof r->message, fmt, args);
    va_end(args);
    return NULL;
}

WR_COLD static const uint8_t *cut_off(avro_reader *r, const char *path) {
    return avro_fault(r, WR_BAD_MALFORMED, "Avro: the record ends%s%.80s%s", path ? " inside field '" : " too early", path ? path : "", path ? "'" : "");
}

/* ---- numbers ---- */

WR_COLD static const uint8_t *long_long(const uint8_t *p, const uint8_t *end, int64_t *out) {
    uint64_t v = 0;
    for (unsigned shift = 0; p < end && shift < 64; shift += 7) {
        uint8_t b = *p++;
        if (shift == 63 && b > 1) return NULL;
        v |= (uint64_t)(b & 0x7F) << shift;
        if (b < 0x80) {
            *out = (int64_t)(v >> 1) ^ -(int64_t)(v & 1);
            return p;
        }
    }
    return NULL;
}

WR_INLINE const uint8_t *get_long(const uint8_t *p, const uint8_t *end, int64_t *out) {
    if (WR_LIKELY(end - p >= 3)) { /* most numbers have one to three bytes */
        uint32_t a = p[0], v;
        if (a < 0x80) return *out = (int64_t)(a >> 1) ^ -(int64_t)(a & 1), p + 1;
        v = (a & 0x7F) | (uint32_t)p[1] << 7;
        if (p[1] < 0x80) return *out = (int64_t)(v >> 1) ^ -(int64_t)(v & 1), p + 2;
        v = (v & 0x3FFF) | (uint32_t)p[2] << 14;
        if (p[2] < 0x80) return *out = (int64_t)(v >> 1) ^ -(int64_t)(v & 1), p + 3;
    }
    return long_long(p, end, out);
}

const uint8_t *avro_get_long(const uint8_t *at, const uint8_t *end, int64_t *out) { return get_long(at, end, out); }

/* Length and bytes of text, bytes and map keys. */
WR_INLINE const uint8_t *get_bytes(const uint8_t *p, const uint8_t *end, wr_str *out) {
    int64_t len;
    p = get_long(p, end, &len);
    if (WR_UNLIKELY(!p || len < 0 || len > end - p)) return NULL;
    *out = (wr_str){(const char *)p, (size_t)len};
    return p + len;
}

/* ---- skipping ---- */

/* A block's number of elements; blocks with their size in bytes are skipped whole if `whole`: then *n is 0 and *more true. */
static const uint8_t *get_block(avro_reader *r, const uint8_t *at, bool whole, int64_t *n, bool *more) {
    int64_t bytes;
    *more = true;
    if (!(at = get_long(at, r->end, n))) return NULL;
    if (*n == 0) return *more = false, at;
    if (*n > 0) return at;
    if (*n == INT64_MIN || !(at = get_long(at, r->end, &bytes)) || bytes < 0 || bytes > r->end - at) return NULL;
    *n = -*n;
    if (whole) return *n = 0, at + bytes;
    return at;
}

static const uint8_t *skip_blocks(avro_reader *r, const avro_schema *s, const uint8_t *at, int depth) {
    int64_t n, all = 0;
    wr_str  key;
    for (bool more = true; more;) {
        if (!(at = get_block(r, at, true, &n, &more))) return cut_off(r, NULL);
        if (s->kind == AVRO_ARRAY && s->kids[0]->empty && (n > AVRO_EMPTY_MAX || (all += n) > AVRO_EMPTY_MAX))
            return avro_fault(r, WR_BAD_RANGE, "Avro: an array of more than %d elements without bytes", AVRO_EMPTY_MAX);
        for (; n > 0; n--) {
            if (s->kind == AVRO_MAP && !(at = get_bytes(at, r->end, &key))) return cut_off(r, NULL);
            if (!(at = avro_skip(r, s->kids[0], at, depth + 1))) return NULL;
        }
    }
    return at;
}

static const uint8_t *skip_bytes(avro_reader *r, const uint8_t *at, int64_t n) { return n <= r->end - at ? at + n : cut_off(r, NULL); }

const uint8_t *avro_skip(avro_reader *r, const avro_schema *s, const uint8_t *at, int depth) {
    int64_t v;
    wr_str  bytes;
    if (depth > AVRO_DEPTH_MAX) return avro_fault(r, WR_BAD_MALFORMED, "Avro: the record is nested deeper than %d levels", AVRO_DEPTH_MAX);
    switch ((avro_kind)s->kind) {
    case AVRO_NULL: return at;
    case AVRO_BOOLEAN: return skip_bytes(r, at, 1);
    case AVRO_INT:
    case AVRO_LONG:
    case AVRO_ENUM: return (at = get_long(at, r->end, &v)) ? at : cut_off(r, NULL);
    case AVRO_FLOAT: return skip_bytes(r, at, 4);
    case AVRO_DOUBLE: return skip_bytes(r, at, 8);
    case AVRO_FIXED: return skip_bytes(r, at, s->size);
    case AVRO_BYTES:
    case AVRO_STRING: return (at = get_bytes(at, r->end, &bytes)) ? at : cut_off(r, NULL);
    case AVRO_RECORD:
        for (uint32_t i = 0; i < s->n; i++)
            if (!(at = avro_skip(r, s->fields[i].schema, at, depth + 1))) return NULL;
        return at;
    case AVRO_ARRAY:
    case AVRO_MAP: return skip_blocks(r, s, at, depth);
    case AVRO_UNION:
        if (!(at = get_long(at, r->end, &v))) return cut_off(r, NULL);
        if (v < 0 || v >= s->n) return avro_fault(r, WR_BAD_MALFORMED, "Avro: branch %lld of a union of %u", (long long)v, s->n);
        return avro_skip(r, s->kids[v], at, depth + 1);
    }
    return cut_off(r, NULL);
}

/* ---- values ---- */

WR_INLINE void set_valid(wr_vec *vec, uint32_t row) {
    if (WR_UNLIKELY(vec->valid != NULL)) wr_valid_set(vec->valid, row, true);
}

WR_COLD static const uint8_t *out_of_range(avro_reader *r, const avro_plan *p) {
    wr_sbuf type = {0};
    wr_type_text(wr_type_with_null(p->type, true), &type);
    avro_fault(r, WR_BAD_RANGE, "field '%.80s': %.40s does not hold the value", p->path, type.at);
    wr_sbuf_free(&type);
    return NULL;
}

static bool is_text(wr_str s) {
    size_t   i = 0;
    uint64_t high = 0;
    for (; i + 8 <= s.len; i += 8) {
        uint64_t word;
        memcpy(&word, s.ptr + i, 8);
        high |= word;
    }
    for (; i < s.len; i++) high |= (uint8_t)s.ptr[i];
    return !(high & UINT64_C(0x8080808080808080)) || wr_utf8_valid(s);
}

static bool get_decimal(wr_str bytes, const avro_plan *p, wr_i128 *out) {
    const uint8_t *b = (const uint8_t *)bytes.ptr;
    uint8_t        sign = bytes.len && b[0] & 0x80 ? 0xFF : 0;
    while (bytes.len > 16 && b[0] == sign) b++, bytes.len--;
    if (bytes.len > 16 || (bytes.len == 16 && (b[0] ^ sign) & 0x80)) return false;
    unsigned __int128 v = sign ? ~(unsigned __int128)0 : 0;
    for (size_t i = 0; i < bytes.len; i++) v = v << 8 | b[i];
    wr_i128 exact, d = (wr_i128)v;
    int     from = p->writer->scale, to = p->type.scale;
    if (from > to) { /* only zeros may go */
        if (from - to > WR_DECIMAL_MAX_PREC) return *out = 0, d == 0;
        exact = wr_pow10(from - to);
        if (d % exact) return false;
        *out = d / exact;
    } else {
        if (!wr_decimal_fits(d, WR_DECIMAL_MAX_PREC - (to - from))) return false;
        *out = d * wr_pow10(to - from);
    }
    return wr_decimal_fits(*out, p->type.prec);
}

static void put_uuid(const uint8_t *b, wr_mem *mem, wr_sview *out) {
    static const char hex[] = "0123456789abcdef";
    char  *text = wr_mem_alloc(mem, 36);
    size_t n = 0;
    for (int i = 0; i < 16; i++) {
        if (i == 4 || i == 6 || i == 8 || i == 10) text[n++] = '-';
        text[n++] = hex[b[i] >> 4];
        text[n++] = hex[b[i] & 15];
    }
    *out = wr_sview_borrow(text, n);
}

static const uint8_t *read_time(avro_reader *r, const avro_plan *p, const uint8_t *at, wr_vec *vec, uint32_t row) {
    static const int64_t first_day = -719162, last_day = 2932896; /* 0001-01-01 and 9999-12-31 */
    int64_t v;
    if (!(at = get_long(at, r->end, &v))) return cut_off(r, p->path);
    if (p->op == AVRO_OP_DATE) {
        if (v < first_day || v > last_day) return out_of_range(r, p);
        ((int32_t *)vec->data)[row] = (int32_t)v;
        return at;
    }
    if (p->by > 1) v = wr_floor_div(v, p->by);
    if (p->op == AVRO_OP_TIME) {
        if (v < 0 || v >= 86400000) return out_of_range(r, p);
        ((int32_t *)vec->data)[row] = (int32_t)v;
        return at;
    }
    int64_t second = wr_type_ticks_per_second(p->type), first, last;
    if (__builtin_mul_overflow(v, p->times, &v)) return out_of_range(r, p);
    if (__builtin_mul_overflow(first_day * 86400, second, &first)) first = INT64_MIN; /* nanoseconds hold less than these years */
    if (__builtin_mul_overflow((last_day + 1) * 86400, second, &last)) last = INT64_MAX;
    if (v < first || v >= last) return out_of_range(r, p);
    ((int64_t *)vec->data)[row] = p->cut > 1 ? v - wr_floor_mod(v, p->cut) : v;
    return at;
}

WR_COLD static const uint8_t *bad_text(avro_reader *r, const avro_plan *p, wr_put put, wr_str text) {
    wr_sbuf expected = {0};
    wr_scalar_expected(p->type, 'T', &expected);
    avro_fault(r, put == WR_PUT_RANGE ? WR_BAD_RANGE : WR_BAD_TYPE, "field '%.60s': expected %.60s, got \"%.*s\"", p->path, expected.at, (int)WR_MIN(text.len, 24u), text.ptr);
    wr_sbuf_free(&expected);
    return NULL;
}

/* Text, bytes and what is written in them. */
static const uint8_t *read_bytes(avro_reader *r, const avro_plan *p, const uint8_t *at, wr_vec *vec, uint32_t row) {
    wr_sview *view = (wr_sview *)vec->data + row;
    wr_str    s = {(const char *)at, p->writer->size};
    wr_put    put;
    if (p->writer->kind == AVRO_FIXED) at = (int64_t)p->writer->size <= r->end - at ? at + p->writer->size : NULL;
    else at = get_bytes(at, r->end, &s);
    if (WR_UNLIKELY(!at)) return cut_off(r, p->path);
    switch ((avro_op)p->op) {
    case AVRO_OP_STRING:
        if (WR_UNLIKELY(!is_text(s))) return avro_fault(r, WR_BAD_UTF8, "field '%.80s': the text is not valid UTF-8; a BYTES column takes any bytes", p->path);
        *view = wr_sview_borrow(s.ptr, s.len);
        return at;
    case AVRO_OP_UUID_FIXED: return put_uuid((const uint8_t *)s.ptr, r->mem, view), at;
    case AVRO_OP_BYTES_DECIMAL:
    case AVRO_OP_FIXED_DECIMAL: return get_decimal(s, p, (wr_i128 *)vec->data + row) ? at : out_of_range(r, p);
    case AVRO_OP_TEXT:
        put = p->type.id == WR_T_DECIMAL ? wr_scalar_put_number(s, vec, row) : wr_scalar_put(s, s.len > 10 && s.ptr[10] == 'T' ? 'T' : ' ', vec, row, r->mem);
        return put == WR_PUT_OK ? at : bad_text(r, p, put, s);
    default: *view = wr_sview_borrow(s.ptr, s.len); return at;
    }
}

static const uint8_t *read_value(avro_reader *r, const avro_plan *p, const uint8_t *at, wr_vec *vec, uint32_t row);

static const uint8_t *read_list(avro_reader *r, const avro_plan *p, const uint8_t *at, wr_vec *vec, uint32_t row) {
    bool    map = p->op == AVRO_OP_MAP;
    wr_vec *values = &vec->kids[map], *keys = &vec->kids[0];
    wr_list list = {values->n, 0};
    int64_t n;
    wr_str  key;
    for (bool more = true; more;) {
        if (!(at = get_block(r, at, false, &n, &more))) return cut_off(r, p->path);
        if (n > (!map && p->kids[0].writer->empty ? AVRO_EMPTY_MAX - (int64_t)list.len : r->end - at)) return avro_fault(r, WR_BAD_MALFORMED, "field '%.80s': more elements than there can be", p->path);
        for (; n > 0; n--) {
            uint32_t to = values->n;
            if (map) {
                if (!(at = get_bytes(at, r->end, &key))) return cut_off(r, p->path);
                if (!is_text(key)) return avro_fault(r, WR_BAD_UTF8, "field '%.80s': a key of the map is not valid UTF-8", p->path);
                if (list.len == AVRO_MAP_MAX) return avro_fault(r, WR_BAD_RANGE, "field '%.80s': a map of more than %d entries", p->path, AVRO_MAP_MAX);
                wr_sview view = wr_sview_borrow(key.ptr, key.len);
                const wr_sview *have = keys->data;
                for (to = list.offset; to < values->n && !wr_sview_eq(&have[to], &view);) to++; /* seen before: the last value wins */
                if (to == values->n) {
                    wr_vec_grow(keys, 1, r->mem);
                    ((wr_sview *)keys->data)[to] = view;
                }
            }
            if (to == values->n) wr_vec_grow(values, 1, r->mem), list.len++;
            if (!(at = read_value(r, &p->kids[0], at, values, to))) return NULL;
        }
    }
    ((wr_list *)vec->data)[row] = list;
    return at;
}

static const uint8_t *read_enum(avro_reader *r, const avro_plan *p, const uint8_t *at, wr_vec *vec, uint32_t row) {
    int64_t v;
    if (!(at = get_long(at, r->end, &v))) return cut_off(r, p->path);
    if (v < 0 || v >= p->writer->n) return avro_fault(r, WR_BAD_MALFORMED, "field '%.80s': symbol %lld of an enum of %u", p->path, (long long)v, p->writer->n);
    ((wr_sview *)vec->data)[row] = wr_sview_copy(r->mem, p->writer->symbols[v].ptr, p->writer->symbols[v].len); /* the schema may go before the batch */
    return at;
}

/* Longs, and all that is written as one; those with a range of their own are checked. */
static const uint8_t *read_long(avro_reader *r, const avro_plan *p, const uint8_t *at, wr_vec *vec, uint32_t row) {
    int64_t v;
    if (WR_UNLIKELY(!(at = get_long(at, r->end, &v)))) return cut_off(r, p->path);
    switch ((avro_op)p->op) {
    case AVRO_OP_INT8:
        ((int8_t *)vec->data)[row] = (int8_t)v;
        return v == (int8_t)v ? at : out_of_range(r, p);
    case AVRO_OP_INT16:
        ((int16_t *)vec->data)[row] = (int16_t)v;
        return v == (int16_t)v ? at : out_of_range(r, p);
    case AVRO_OP_INT32:
        ((int32_t *)vec->data)[row] = (int32_t)v;
        return v == (int32_t)v ? at : out_of_range(r, p);
    case AVRO_OP_LONG_FLOAT: ((float *)vec->data)[row] = (float)v; return at;
    case AVRO_OP_LONG_DOUBLE: ((double *)vec->data)[row] = (double)v; return at;
    case AVRO_OP_LONG_DECIMAL: {
        wr_i128 d = (wr_i128)v;
        if (!wr_decimal_fits(d, p->type.prec - p->type.scale)) return out_of_range(r, p);
        ((wr_i128 *)vec->data)[row] = d * wr_pow10(p->type.scale);
        return at;
    }
    default: ((int64_t *)vec->data)[row] = v; return at;
    }
}

static const uint8_t *read_float(avro_reader *r, const avro_plan *p, const uint8_t *at, wr_vec *vec, uint32_t row) {
    size_t size = p->op == AVRO_OP_DOUBLE ? 8 : 4; /* little-endian, as here */
    float  f;
    if (WR_UNLIKELY((size_t)(r->end - at) < size)) return cut_off(r, p->path);
    if (p->op == AVRO_OP_DOUBLE) {
        memcpy((double *)vec->data + row, at, 8);
    } else {
        memcpy(&f, at, 4);
        if (p->op == AVRO_OP_FLOAT) ((float *)vec->data)[row] = f;
        else ((double *)vec->data)[row] = f;
    }
    return at + size;
}

static const uint8_t *read_null(avro_reader *r, const avro_plan *p, const uint8_t *at, wr_vec *vec, uint32_t row) {
    if (!p->nullable && !r->allow_null) return avro_fault(r, WR_BAD_NULL, "field '%.100s' is null, and its column is NOT NULL", p->path);
    wr_vec_set_null(vec, row, r->mem);
    return at;
}

static const uint8_t *read_value(avro_reader *r, const avro_plan *p, const uint8_t *at, wr_vec *vec, uint32_t row) {
    if (p->op == AVRO_OP_UNION) {
        int64_t branch;
        if (WR_UNLIKELY(!(at = get_long(at, r->end, &branch)))) return cut_off(r, p->path);
        if (WR_UNLIKELY(branch < 0 || branch >= p->n)) return avro_fault(r, WR_BAD_MALFORMED, "field '%.80s': branch %lld of a union of %u", p->path, (long long)branch, p->n);
        p = &p->kids[branch];
    }
    set_valid(vec, row);
    switch ((avro_op)p->op) {
    case AVRO_OP_NULL: return read_null(r, p, at, vec, row);
    case AVRO_OP_REFUSE: return avro_fault(r, WR_BAD_TYPE, "%.199s", p->why);
    case AVRO_OP_BOOLEAN:
        if (at == r->end) return cut_off(r, p->path);
        if (*at > 1) return avro_fault(r, WR_BAD_MALFORMED, "field '%.80s': a boolean is the byte 0 or 1, not %u", p->path, *at);
        ((uint8_t *)vec->data)[row] = *at;
        return at + 1;
    case AVRO_OP_FLOAT:
    case AVRO_OP_FLOAT_DOUBLE:
    case AVRO_OP_DOUBLE: return read_float(r, p, at, vec, row);
    case AVRO_OP_STRING:
    case AVRO_OP_BYTES:
    case AVRO_OP_FIXED:
    case AVRO_OP_UUID_FIXED:
    case AVRO_OP_TEXT:
    case AVRO_OP_BYTES_DECIMAL:
    case AVRO_OP_FIXED_DECIMAL: return read_bytes(r, p, at, vec, row);
    case AVRO_OP_ENUM: return read_enum(r, p, at, vec, row);
    case AVRO_OP_DATE:
    case AVRO_OP_TIME:
    case AVRO_OP_TIMESTAMP: return read_time(r, p, at, vec, row);
    case AVRO_OP_RECORD: return avro_read_row(r, p, at, vec->kids, row);
    case AVRO_OP_ARRAY:
    case AVRO_OP_MAP: return read_list(r, p, at, vec, row);
    default: return read_long(r, p, at, vec, row);
    }
}

const uint8_t *avro_read_row(avro_reader *r, const avro_plan *p, const uint8_t *at, wr_vec *cols, uint32_t row) {
    for (uint32_t i = 0; i < p->n; i++) {
        const avro_plan *f = &p->kids[i];
        at = f->col < 0 ? avro_skip(r, f->writer, at, 0) : read_value(r, f, at, &cols[f->col], row);
        if (WR_UNLIKELY(!at)) return NULL;
    }
    for (uint32_t i = 0; i < p->n_absent; i++) {
        const avro_absent *a = &p->absent[i];
        if (a->value) wr_vec_set(&cols[a->col], row, a->value, 0, r->mem);
        else wr_vec_set_null(&cols[a->col], row, r->mem);
    }
    return at;
}
