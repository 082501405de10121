/* format/proto_encode.c: a row to a message's bytes; see proto_plan.h.
 *
 * Rules      fields by number; NULL and, without presence, defaults are not written; of a oneof the last column that is not NULL; repeated numbers packed as the
 *            schema says. NULL in a list or as a map's key or value is the default there ('write-null-string-literal' for STRING): protobuf has no NULL.
 *            A value that the field cannot hold fails the job: it would be another value else.                                  */
#include "format/proto_plan.h"
#include <stdio.h>

static bool no_room(pb_encode *e, const pb_value *v, const wr_vec *vec, uint32_t at) {
    wr_sbuf text = {.max = 80};
    wr_vec_text(vec, at, NULL, &text);
    if (e->err) wr_fail(e->err, WR_DATA, "WR392", "protobuf: the field '%.*s' of column '%s' does not hold %s", WR_FMT(v->field->name), v->path, text.at ? text.at : "");
    wr_sbuf_free(&text);
    return false;
}

static wr_i128 int_of(const wr_vec *vec, uint32_t at) {
    switch (vec->type.id) {
    case WR_T_TINYINT: return ((const int8_t *)vec->data)[at];
    case WR_T_SMALLINT: return ((const int16_t *)vec->data)[at];
    case WR_T_INT: return ((const int32_t *)vec->data)[at];
    case WR_T_BIGINT: return ((const int64_t *)vec->data)[at];
    default: return ((const wr_i128 *)vec->data)[at];
    }
}

static wr_str text_of(const wr_vec *vec, uint32_t at) { return wr_sview_str((const wr_sview *)vec->data + at); }

static bool enum_number(const pb_value *v, wr_str name, wr_i128 *out) {
    const pb_enum *e = v->field->enumeration;
    int64_t        number;
    for (uint32_t i = 0; i < e->n; i++)
        if (wr_str_eq(e->names[i], name)) return *out = e->numbers[i], true;
    if (e->closed || !wr_scalar_int(name, &number) || number != (int32_t)number) return false;
    return *out = number, true;
}

WR_INLINE uint64_t to_zigzag(int64_t x) { return (uint64_t)x << 1 ^ (uint64_t)(x >> 63); }

typedef struct bits { uint64_t v; uint32_t wire; } bits; /* of a number: as a varint or as fixed bytes */

/* False: it does not fit. null: the default. */
static bool int_bits(const pb_value *v, const wr_vec *vec, uint32_t at, bool null, bits *out) {
    wr_i128 x = 0, low = INT64_MIN, high = INT64_MAX;
    pb_type t = v->field->type;
    if (t == PB_T_ENUM && null) x = v->fallback;
    else if (null) x = 0;
    else if (vec->type.id == WR_T_BOOLEAN) x = ((const uint8_t *)vec->data)[at];
    else if (wr_type_is_string(vec->type)) {
        if (!enum_number(v, text_of(vec, at), &x)) return false;
    } else {
        x = int_of(vec, at);
    }
    if (t == PB_T_INT32 || t == PB_T_SINT32 || t == PB_T_SFIXED32 || t == PB_T_ENUM) low = INT32_MIN, high = INT32_MAX;
    else if (t == PB_T_UINT32 || t == PB_T_FIXED32) low = 0, high = UINT32_MAX;
    else if (t == PB_T_UINT64 || t == PB_T_FIXED64) low = 0, high = UINT64_MAX;
    if (x < low || x > high) return false;
    out->v = t == PB_T_SINT32 || t == PB_T_SINT64 ? to_zigzag((int64_t)x) : (uint64_t)x;
    out->wire = t == PB_T_FIXED32 || t == PB_T_SFIXED32 ? PB_FIXED32 : t == PB_T_FIXED64 || t == PB_T_SFIXED64 ? PB_FIXED64 : PB_VARINT;
    return true;
}

static bool number_bits(const pb_value *v, const wr_vec *vec, uint32_t at, bool null, bits *out) {
    if (v->field->type == PB_T_FLOAT) {
        float    f = null ? 0 : vec->type.id == WR_T_DOUBLE ? (float)((const double *)vec->data)[at] : ((const float *)vec->data)[at];
        uint32_t low;
        memcpy(&low, &f, 4);
        *out = (bits){low, PB_FIXED32};
        return true;
    }
    if (v->field->type == PB_T_DOUBLE) {
        double x = null ? 0 : ((const double *)vec->data)[at];
        out->wire = PB_FIXED64;
        memcpy(&out->v, &x, 8);
        return true;
    }
    return int_bits(v, vec, at, null, out);
}

static void put_bits(pb_encode *e, bits b) {
    if (b.wire == PB_VARINT) pb_add_varint(e->out, b.v);
    else wr_sbuf_add(e->out, &b.v, b.wire == PB_FIXED32 ? 4 : 8); /* both ends are little-endian */
}

static void put_time(pb_encode *e, const wr_vec *vec, uint32_t at) {
    int64_t ticks = ((const int64_t *)vec->data)[at], per_second = vec->type.prec > 6 ? 1000000000 : 1000000;
    int64_t fraction = wr_floor_mod(ticks, per_second), seconds = (ticks - fraction) / per_second, nanos = vec->type.prec > 6 ? fraction : fraction * 1000;
    if (seconds) pb_add_tag(e->out, 1, PB_VARINT), pb_add_varint(e->out, (uint64_t)seconds);
    if (nanos) pb_add_tag(e->out, 2, PB_VARINT), pb_add_varint(e->out, (uint64_t)nanos);
}

static bool put_field(pb_encode *e, const pb_value *v, const wr_vec *vec, uint32_t at, bool implicit);

/* What is inside of a message, a string or bytes. */
static bool put_inside(pb_encode *e, const pb_value *v, const wr_vec *vec, uint32_t at, bool null) {
    switch (v->shape) {
    case PB_ROW: return null ? true : pb_row_write(e, v->row, vec->kids, at);
    case PB_TIME: return null ? true : (put_time(e, vec, at), true);
    case PB_WRAPPED: return null ? true : put_field(e, v->kid, vec, at, true);
    default: break;
    }
    wr_str s = !null ? text_of(vec, at) : v->field->type == PB_T_STRING ? e->null_string : WR_STR("");
    wr_sbuf_add(e->out, s.ptr, s.len);
    return true;
}

/* One value with its tag. implicit: nothing if it is the default. */
static bool put_one(pb_encode *e, const pb_value *v, const wr_vec *vec, uint32_t at, bool null, bool implicit) {
    bits     b;
    uint32_t number = v->field->number;
    if (v->field->type != PB_T_STRING && v->field->type != PB_T_BYTES && v->field->type != PB_T_MESSAGE) {
        if (!number_bits(v, vec, at, null, &b)) return no_room(e, v, vec, at);
        if (implicit && !b.v) return true;
        pb_add_tag(e->out, number, b.wire);
        put_bits(e, b);
        return true;
    }
    if (implicit && v->shape == PB_SCALAR && !null && !text_of(vec, at).len) return true;
    pb_add_tag(e->out, number, PB_BYTES);
    size_t from = e->out->len;
    if (!put_inside(e, v, vec, at, null)) return false;
    pb_close_bytes(e->out, from);
    return true;
}

static bool put_list(pb_encode *e, const pb_value *v, const wr_vec *vec, uint32_t at) {
    wr_list       list = ((const wr_list *)vec->data)[at];
    const wr_vec *kid = &vec->kids[0];
    if (!v->field->packed) {
        for (uint32_t i = list.offset; i < list.offset + list.len; i++)
            if (!put_one(e, v->kid, kid, i, wr_vec_is_null(kid, i), false)) return false;
        return true;
    }
    if (!list.len) return true;
    pb_add_tag(e->out, v->field->number, PB_BYTES);
    size_t from = e->out->len;
    for (uint32_t i = list.offset; i < list.offset + list.len; i++) {
        bits b;
        if (!number_bits(v->kid, kid, i, wr_vec_is_null(kid, i), &b)) return no_room(e, v, kid, i);
        put_bits(e, b);
    }
    pb_close_bytes(e->out, from);
    return true;
}

static bool put_map(pb_encode *e, const pb_value *v, const wr_vec *vec, uint32_t at) {
    wr_list list = ((const wr_list *)vec->data)[at];
    for (uint32_t i = list.offset; i < list.offset + list.len; i++) {
        pb_add_tag(e->out, v->field->number, PB_BYTES);
        size_t from = e->out->len;
        for (uint32_t k = 0; k < 2; k++) {
            const pb_value *side = &v->row->columns[k].value;
            if (!put_one(e, side, &vec->kids[k], i, wr_vec_is_null(&vec->kids[k], i), false)) return false;
        }
        pb_close_bytes(e->out, from);
    }
    return true;
}

static bool put_field(pb_encode *e, const pb_value *v, const wr_vec *vec, uint32_t at, bool implicit) {
    if (v->shape == PB_LIST) return put_list(e, v, vec, at);
    if (v->shape == PB_MAP) return put_map(e, v, vec, at);
    return put_one(e, v, vec, at, false, implicit);
}

static bool is_last_of_oneof(const pb_row *row, const pb_entry *entry, const wr_vec *cols, uint32_t at) {
    for (uint32_t i = 0; i < row->n_entries; i++) {
        const pb_entry *o = &row->entries[i];
        if (o->oneof == entry->oneof && o->col > entry->col && !wr_vec_is_null(&cols[o->col], at)) return false;
    }
    return true;
}

bool pb_row_write(pb_encode *e, const pb_row *row, const wr_vec *cols, uint32_t at) {
    for (uint32_t i = 0; i < row->n_entries; i++) {
        const pb_entry *entry = &row->entries[i];
        if (entry->col < 0) continue;
        const pb_column *c = &row->columns[entry->col];
        if (wr_vec_is_null(&cols[entry->col], at)) {
            if (!c->value.field->required) continue;
            if (e->err) wr_fail(e->err, WR_DATA, "WR392", "protobuf: the field '%.*s' is required, and column '%s' is NULL", WR_FMT(c->value.field->name), c->value.path);
            return false;
        }
        if (entry->oneof >= 0 && !is_last_of_oneof(row, entry, cols, at)) continue;
        if (!put_field(e, &c->value, &cols[entry->col], at, c->implicit)) return false;
    }
    return true;
}
