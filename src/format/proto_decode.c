/* format/proto_decode.c: a message's bytes to a row; see proto_plan.h.
 *
 * Rules      protobuf's: the last of a singular field counts, of a singular message all pieces are one (read again when it came twice: gather), the last member of a
 *            oneof takes the others away; packed or not is accepted for both; a field of another wire type is an unknown one, and those are passed over.
 * Lists      a field's elements come between others, but nothing else grows its child meanwhile: they stand one after the other.            */
#include "format/proto_plan.h"
#include "type/decimal.h"
#include <stdarg.h>
#include <stdio.h>

WR_COLD WR_PRINTF(3, 4) static bool fault(pb_decode *d, wr_bad_kind kind, const char *fmt, ...) {
    d->kind = kind;
    va_list args;
    va_start(args, fmt);
    vsnprintf(d->message, sizeof d->message, fmt, args);
    va_end(args);
    return false;
}

WR_INLINE void set_valid(wr_vec *vec, uint32_t row) {
    if (WR_UNLIKELY(vec->valid != NULL)) wr_valid_set(vec->valid, row, true);
}

/* A value that does not fit: NULL under ignore-parse-errors. */
WR_COLD static bool misfit(pb_decode *d, const pb_value *v, wr_vec *vec, uint32_t at, const char *what) {
    if (d->ignore_errors && v->to.nullable) {
        wr_vec_set_null(vec, at, d->mem);
        return true;
    }
    wr_sbuf type = {.max = 60};
    wr_type_text(v->to, &type);
    fault(d, WR_BAD_RANGE, "field '%.60s': %.60s does not hold %.60s", v->path, type.at, what);
    wr_sbuf_free(&type);
    return false;
}

static bool put_int(pb_decode *d, const pb_value *v, wr_i128 x, wr_vec *vec, uint32_t at) {
    bool fits = true;
    switch (v->to.id) {
    case WR_T_TINYINT: ((int8_t *)vec->data)[at] = (int8_t)x, fits = x == (int8_t)x; break;
    case WR_T_SMALLINT: ((int16_t *)vec->data)[at] = (int16_t)x, fits = x == (int16_t)x; break;
    case WR_T_INT: ((int32_t *)vec->data)[at] = (int32_t)x, fits = x == (int32_t)x; break;
    case WR_T_BIGINT: ((int64_t *)vec->data)[at] = (int64_t)x, fits = x == (int64_t)x; break;
    default: ((wr_i128 *)vec->data)[at] = x, fits = wr_decimal_fits(x, v->to.prec); break;
    }
    if (WR_LIKELY(fits)) return true;
    char text[48];
    wr_decimal_text(x, 0, text);
    return misfit(d, v, vec, at, text);
}

static void put_text(pb_decode *d, wr_str s, wr_vec *vec, uint32_t at, bool copy) {
    ((wr_sview *)vec->data)[at] = copy ? wr_sview_copy(d->mem, s.ptr, s.len) : wr_sview_borrow(s.ptr, s.len);
}

/* *unknown: an enum of proto2 has no such number, so the value is none. */
static bool put_enum(pb_decode *d, const pb_value *v, int32_t number, wr_vec *vec, uint32_t at, bool *unknown) {
    const pb_enum *e = v->field->enumeration;
    uint32_t       i = 0;
    while (i < e->n && e->numbers[i] != number) i++;
    if (i == e->n && e->closed) return *unknown = true;
    if (!wr_type_is_string(v->to)) return put_int(d, v, number, vec, at);
    char text[16];
    if (i < e->n) put_text(d, e->names[i], vec, at, true);
    else put_text(d, (wr_str){text, (size_t)snprintf(text, sizeof text, "%d", number)}, vec, at, true);
    return true;
}

static uint32_t wire_of(pb_type t) {
    switch (t) {
    case PB_T_DOUBLE:
    case PB_T_FIXED64:
    case PB_T_SFIXED64: return PB_FIXED64;
    case PB_T_FLOAT:
    case PB_T_FIXED32:
    case PB_T_SFIXED32: return PB_FIXED32;
    case PB_T_STRING:
    case PB_T_BYTES:
    case PB_T_MESSAGE: return PB_BYTES;
    default: return PB_VARINT;
    }
}

WR_INLINE int64_t zigzag(uint64_t x) { return (int64_t)(x >> 1) ^ -(int64_t)(x & 1); }

/* A number from its bits. */
static bool put_number(pb_decode *d, const pb_value *v, uint64_t bits, wr_vec *vec, uint32_t at, bool *unknown) {
    float  f;
    double x;
    switch (v->field->type) {
    case PB_T_INT64:
    case PB_T_SFIXED64: return put_int(d, v, (int64_t)bits, vec, at);
    case PB_T_INT32:
    case PB_T_SFIXED32: return put_int(d, v, (int32_t)bits, vec, at);
    case PB_T_SINT32: return put_int(d, v, (int32_t)zigzag((uint32_t)bits), vec, at);
    case PB_T_SINT64: return put_int(d, v, zigzag(bits), vec, at);
    case PB_T_UINT32:
    case PB_T_FIXED32: return put_int(d, v, (uint32_t)bits, vec, at);
    case PB_T_UINT64:
    case PB_T_FIXED64: return put_int(d, v, (wr_i128)bits, vec, at);
    case PB_T_BOOL: return ((uint8_t *)vec->data)[at] = bits != 0, true;
    case PB_T_ENUM: return put_enum(d, v, (int32_t)bits, vec, at, unknown);
    case PB_T_FLOAT: {
        uint32_t low = (uint32_t)bits;
        memcpy(&f, &low, 4);
        if (v->to.id == WR_T_DOUBLE) ((double *)vec->data)[at] = (double)f;
        else ((float *)vec->data)[at] = f;
        return true;
    }
    default:
        memcpy(&x, &bits, 8);
        ((double *)vec->data)[at] = x;
        return true;
    }
}

static bool truncated(pb_decode *d, const pb_value *v) { return fault(d, WR_BAD_MALFORMED, "protobuf: the bytes end inside of field '%.100s'", v->path); }

static bool put_time(pb_decode *d, const pb_value *v, wr_str bytes, wr_vec *vec, uint32_t at) {
    pb_reader in = pb_reader_of(bytes);
    uint32_t  number, wire;
    uint64_t  seconds = 0, nanos = 0, x;
    while (in.p < in.end) {
        if (!pb_tag(&in, &number, &wire)) return truncated(d, v);
        if (number > 2 || wire != PB_VARINT) {
            if (!pb_skip(&in, number, wire)) return truncated(d, v);
        } else {
            if (!pb_varint(&in, &x)) return truncated(d, v);
            *(number == 1 ? &seconds : &nanos) = x;
        }
    }
    int64_t  s = (int64_t)seconds, n = (int32_t)nanos, ticks;
    uint32_t prec = v->to.prec;
    int64_t  per_second = prec > 6 ? 1000000000 : 1000000, fraction = prec > 6 ? n : n / 1000, unit = 1;
    for (uint32_t p = prec; p < (prec > 6 ? 9u : 6u); p++) unit *= 10;
    if (n < 0 || n > 999999999 || __builtin_mul_overflow(s, per_second, &ticks) || __builtin_add_overflow(ticks, fraction - wr_floor_mod(fraction, unit), &ticks)) {
        char text[60];
        snprintf(text, sizeof text, "%lld seconds and %lld nanoseconds", (long long)s, (long long)n);
        return misfit(d, v, vec, at, text);
    }
    ((int64_t *)vec->data)[at] = ticks;
    return true;
}

static bool put_default(pb_decode *d, const pb_value *v, wr_vec *vec, uint32_t at) {
    bool     unknown = false;
    uint64_t bits = (uint64_t)v->fallback;
    set_valid(vec, at);
    switch (v->shape) {
    case PB_ROW: return pb_row_read(d, v->row, WR_STR(""), vec->kids, at);
    case PB_TIME: return put_time(d, v, WR_STR(""), vec, at);
    case PB_WRAPPED: return put_default(d, v->kid, vec, at);
    default: break;
    }
    switch (v->field->type) {
    case PB_T_STRING:
    case PB_T_BYTES: return put_text(d, v->field->fallback.ptr ? v->field->fallback : WR_STR(""), vec, at, true), true;
    case PB_T_FLOAT: {
        float    f = (float)v->fallback_real;
        uint32_t low;
        memcpy(&low, &f, 4);
        bits = low;
        break;
    }
    case PB_T_DOUBLE: memcpy(&bits, &v->fallback_real, 8); break;
    case PB_T_SINT32:
    case PB_T_SINT64: return put_int(d, v, v->fallback, vec, at);
    default: break;
    }
    return put_number(d, v, bits, vec, at, &unknown);
}

static bool put_wrapped(pb_decode *d, const pb_value *v, wr_str bytes, wr_vec *vec, uint32_t at);

/* One value of the right wire type, behind its tag. */
static bool put_single(pb_decode *d, const pb_value *v, pb_reader *in, wr_vec *vec, uint32_t at, bool *unknown) {
    uint64_t bits;
    uint32_t low;
    wr_str   bytes;
    set_valid(vec, at);
    switch (wire_of(v->field->type)) {
    case PB_VARINT:
        if (!pb_varint(in, &bits)) return truncated(d, v);
        return put_number(d, v, bits, vec, at, unknown);
    case PB_FIXED32:
        if (!pb_fixed32(in, &low)) return truncated(d, v);
        return put_number(d, v, low, vec, at, unknown);
    case PB_FIXED64:
        if (!pb_fixed64(in, &bits)) return truncated(d, v);
        return put_number(d, v, bits, vec, at, unknown);
    default: break;
    }
    if (!pb_bytes(in, &bytes)) return truncated(d, v);
    switch (v->shape) {
    case PB_ROW: return pb_row_read(d, v->row, bytes, vec->kids, at);
    case PB_TIME: return put_time(d, v, bytes, vec, at);
    case PB_WRAPPED: return put_wrapped(d, v, bytes, vec, at);
    default: break;
    }
    if (v->field->type == PB_T_STRING && !wr_utf8_valid(bytes)) {
        if (d->ignore_errors && v->to.nullable) return wr_vec_set_null(vec, at, d->mem), true;
        return fault(d, WR_BAD_UTF8, "field '%.100s': not valid UTF-8", v->path);
    }
    put_text(d, bytes, vec, at, false);
    return true;
}

static bool put_wrapped(pb_decode *d, const pb_value *v, wr_str bytes, wr_vec *vec, uint32_t at) {
    pb_reader in = pb_reader_of(bytes);
    uint32_t  number, wire;
    bool      any = false, unknown = false;
    while (in.p < in.end) {
        if (!pb_tag(&in, &number, &wire)) return truncated(d, v);
        if (number != 1 || wire != wire_of(v->kid->field->type)) {
            if (!pb_skip(&in, number, wire)) return truncated(d, v);
        } else {
            if (!put_single(d, v->kid, &in, vec, at, &unknown)) return false;
            any = true;
        }
    }
    return any ? true : put_default(d, v->kid, vec, at);
}

/* ---- lists and maps ---- */

/* Takes the last row of a list's child back. */
static void drop_last(wr_vec *kid) {
    kid->n--;
    for (uint32_t i = 0; kid->type.id == WR_T_ROW && i < kid->type.n_kids; i++) drop_last(&kid->kids[i]);
}

static bool put_element(pb_decode *d, const pb_value *v, pb_reader *in, wr_vec *vec, uint32_t row) {
    wr_vec  *kid = &vec->kids[0];
    bool     unknown = false;
    uint32_t at = wr_vec_grow(kid, 1, d->mem);
    if (!put_single(d, v->kid, in, kid, at, &unknown)) return false;
    if (unknown) drop_last(kid); /* as if it had not come */
    else ((wr_list *)vec->data)[row].len++;
    return true;
}

static bool put_packed(pb_decode *d, const pb_value *v, pb_reader *in, wr_vec *vec, uint32_t row) {
    wr_str bytes;
    if (!pb_bytes(in, &bytes)) return truncated(d, v);
    for (pb_reader inner = pb_reader_of(bytes); inner.p < inner.end;)
        if (!put_element(d, v, &inner, vec, row)) return false;
    return true;
}

enum { MAP_MAX = 10000 };

static bool put_pair(pb_decode *d, const pb_value *v, pb_reader *in, wr_vec *vec, uint32_t row) {
    wr_str   bytes;
    wr_list *list = (wr_list *)vec->data + row;
    if (!pb_bytes(in, &bytes)) return truncated(d, v);
    if (list->len == MAP_MAX) return fault(d, WR_BAD_RANGE, "field '%.60s': a map of more than %d entries", v->path, MAP_MAX);
    wr_vec  *keys = &vec->kids[0];
    uint32_t at = wr_vec_grow(keys, 1, d->mem), same = list->offset;
    wr_vec_grow(&vec->kids[1], 1, d->mem);
    if (!pb_row_read(d, v->row, bytes, vec->kids, at)) return false;
    while (same < at && !wr_vec_equal(keys, same, keys, at)) same++;
    if (same < at) { /* the last value of a key wins */
        wr_vec_set(&vec->kids[1], same, &vec->kids[1], at, d->mem);
        drop_last(keys), drop_last(&vec->kids[1]);
    } else {
        list->len++;
    }
    return true;
}

/* ---- rows ---- */

WR_INLINE const pb_entry *entry_of(const pb_row *row, uint32_t number) {
    if (WR_LIKELY(number < PB_SMALL)) return row->small[number] >= 0 ? &row->entries[row->small[number]] : NULL;
    uint32_t low = 0, high = row->n_entries;
    while (low < high) {
        uint32_t mid = (low + high) / 2;
        if (row->entries[mid].number < number) low = mid + 1;
        else high = mid;
    }
    return low < row->n_entries && row->entries[low].number == number ? &row->entries[low] : NULL;
}

#define BIT(SET, COL) ((SET)[(COL) >> 6] >> ((COL) & 63) & 1)
#define ON(SET, COL) ((SET)[(COL) >> 6] |= UINT64_C(1) << ((COL) & 63))
#define OFF(SET, COL) ((SET)[(COL) >> 6] &= ~(UINT64_C(1) << ((COL) & 63)))

/* Another member of a oneof came. */
static void end_others(pb_row *row, const pb_entry *e, const uint8_t *here) {
    for (uint32_t i = 0; i < row->n_entries; i++) {
        const pb_entry *o = &row->entries[i];
        if (o == e || o->oneof != e->oneof || o->col < 0) continue;
        OFF(row->seen, o->col), OFF(row->twice, o->col);
        row->since[o->col] = here;
    }
}

/* A singular message that came in several pieces: they are one message. */
static bool gather(pb_decode *d, pb_row *row, uint32_t col, wr_str bytes, wr_vec *vec, uint32_t at) {
    const pb_value *v = &row->columns[col].value;
    wr_sbuf         whole = {0};
    pb_reader       in = pb_reader_of(bytes);
    uint32_t        number, wire;
    wr_str          piece;
    while (in.p < in.end && pb_tag(&in, &number, &wire)) {
        if (number == v->field->number && wire == PB_BYTES && pb_bytes(&in, &piece)) {
            if ((const uint8_t *)piece.ptr >= row->since[col]) wr_sbuf_add(&whole, piece.ptr, piece.len);
        } else if (!pb_skip(&in, number, wire)) {
            break;
        }
    }
    char *kept = wr_mem_alloc(d->mem, whole.len + 1); /* strings borrow from it */
    memcpy(kept, wr_sbuf_str(&whole).ptr, whole.len);
    wr_str all = {kept, whole.len};
    wr_sbuf_free(&whole);
    set_valid(vec, at);
    if (v->shape == PB_ROW) return pb_row_read(d, v->row, all, vec->kids, at);
    return v->shape == PB_TIME ? put_time(d, v, all, vec, at) : put_wrapped(d, v, all, vec, at);
}

static bool fill_absent(pb_decode *d, pb_row *row, wr_vec *cols, uint32_t at) {
    for (uint32_t c = 0; c < row->n; c++) {
        const pb_column *column = &row->columns[c];
        if (BIT(row->seen, c) || cols[c].type.id == WR_T_NULL) continue;
        if (column->used && column->absent == PB_DEFAULT) {
            if (!put_default(d, &column->value, &cols[c], at)) return false;
        } else if (column->used && column->absent == PB_EMPTY) {
            set_valid(&cols[c], at);
            ((wr_list *)cols[c].data)[at] = (wr_list){cols[c].kids[0].n, 0};
        } else {
            if (!column->value.to.nullable) return fault(d, WR_BAD_NULL, "field '%.100s' is missing, and its column is NOT NULL", column->value.path);
            wr_vec_set_null(&cols[c], at, d->mem);
        }
    }
    return true;
}

/* The field behind a tag into its column; *unknown: it is passed over as one that is not known. */
static bool put_field(pb_decode *d, pb_row *row, const pb_entry *e, uint32_t wire, pb_reader *in, wr_vec *cols, uint32_t at, bool *unknown) {
    uint32_t        c = (uint32_t)e->col;
    const pb_value *v = &row->columns[c].value;
    wr_vec         *vec = &cols[c];
    bool            list = v->shape == PB_LIST || v->shape == PB_MAP, own = wire == wire_of(v->field->type);
    if (!own && !(v->shape == PB_LIST && wire == PB_BYTES && v->field->type != PB_T_MESSAGE && v->field->type != PB_T_STRING && v->field->type != PB_T_BYTES)) {
        *unknown = true;
        return pb_skip(in, v->field->number, wire) ? true : truncated(d, v);
    }
    if (list && !BIT(row->seen, c)) {
        set_valid(vec, at);
        ((wr_list *)vec->data)[at] = (wr_list){vec->kids[0].n, 0};
    }
    if (v->shape == PB_MAP) return put_pair(d, v, in, vec, at);
    if (list) return own ? put_element(d, v, in, vec, at) : put_packed(d, v, in, vec, at);
    if (v->shape != PB_SCALAR && BIT(row->seen, c)) {
        ON(row->twice, c);
        return pb_skip(in, v->field->number, wire) ? true : truncated(d, v);
    }
    return put_single(d, v, in, vec, at, unknown);
}

bool pb_row_read(pb_decode *d, pb_row *row, wr_str bytes, wr_vec *cols, uint32_t at) {
    pb_reader in = pb_reader_of(bytes);
    bool      twice = false;
    for (uint32_t w = 0; w < row->n_words; w++) row->seen[w] = row->twice[w] = 0;
    memset(row->since, 0, row->n * sizeof *row->since);
    while (in.p < in.end) {
        uint32_t number, wire;
        if (!pb_tag(&in, &number, &wire)) return fault(d, WR_BAD_MALFORMED, "protobuf: byte %td of message %.*s is no field", in.p - (const uint8_t *)bytes.ptr, (int)WR_MIN(row->message->name.len, 80u), row->message->name.ptr);
        const pb_entry *e = entry_of(row, number);
        bool            unknown = false;
        const uint8_t  *here = in.p;
        if (!e || e->col < 0) {
            if (!pb_skip(&in, number, wire)) return fault(d, WR_BAD_MALFORMED, "protobuf: the bytes of field %u of message %.*s are damaged", number, (int)WR_MIN(row->message->name.len, 80u), row->message->name.ptr);
            unknown = !e;
        } else {
            if (!put_field(d, row, e, wire, &in, cols, at, &unknown)) return false;
            if (!unknown) ON(row->seen, e->col);
            twice |= BIT(row->twice, e->col);
        }
        if (e && !unknown && e->oneof >= 0) end_others(row, e, here);
    }
    for (uint32_t c = 0; twice && c < row->n; c++)
        if (BIT(row->twice, c) && !gather(d, row, c, bytes, &cols[c], at)) return false;
    return fill_absent(d, row, cols, at);
}
