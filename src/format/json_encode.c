/* format/json_encode.c: rows to JSON lines, as Flink's JSON format writes them.
 *
 * Rules      DECIMAL plain digits; FLOAT and DOUBLE Java's text, NaN and Infinity as strings; timestamps SQL or ISO without trailing zeros;
 *            BYTES base64; MAP and ROW objects. A NULL map key is written as "null". INTERVALs are numbers (months, milliseconds).
 * Exact      wr_json_style.exact is for people's tools: DECIMAL as a string with its scale, timestamps with all their digits.
 * Thread     one encoder a worker.                                                                                     */
#include "format/parts.h"
#include "type/decimal.h"
#include <stdio.h>

static void put_text(const wr_vec *vec, uint32_t row, wr_sbuf *out) {
    wr_sbuf text = {0};
    wr_vec_text(vec, row, NULL, &text);
    wr_sbuf_add_json(out, wr_sbuf_str(&text));
    wr_sbuf_free(&text);
}

static void put_int(int64_t v, wr_sbuf *out) {
    char     digits[24], *p = digits + sizeof digits;
    uint64_t u = v < 0 ? 0 - (uint64_t)v : (uint64_t)v;
    do *--p = (char)('0' + u % 10);
    while (u /= 10);
    if (v < 0) *--p = '-';
    wr_sbuf_add(out, p, (size_t)(digits + sizeof digits - p));
}

static void put_timestamp(const wr_vec *vec, uint32_t row, const wr_json_style *style, wr_sbuf *out) {
    int64_t ticks = ((const int64_t *)vec->data)[row];
    wr_sbuf_addc(out, '"');
    if (style->exact) {
        char   text[48];
        size_t n = wr_text_timestamp(ticks, vec->type, style->sep, text);
        wr_sbuf_add(out, text, n);
        if (vec->type.id == WR_T_TIMESTAMP_LTZ && (!n || text[n - 1] != 'Z')) wr_sbuf_addc(out, 'Z');
    } else {
        wr_scalar_timestamp_text(ticks, vec->type, style->sep, out);
    }
    wr_sbuf_addc(out, '"');
}

/* Is any of eight bytes below 0x20, above 0x7E, a quote or a backslash? (exact for ASCII, and any byte with its high bit says yes) */
WR_INLINE uint64_t needs_escape(uint64_t x) {
    const uint64_t ones = UINT64_C(0x0101010101010101), high = ones << 7;
    uint64_t       quote = x ^ ones * '"', slash = x ^ ones * '\\', del = x ^ ones * 0x7F;
    return (x | (x - ones * 0x20) | (quote - ones) | (slash - ones) | (del - ones)) & high;
}

/* Strings are the bulk of most output: those without anything to escape are copied whole. */
static void put_string(wr_str s, wr_sbuf *out) {
    uint64_t found = 0, x;
    size_t   i = 0;
    for (; i + 8 <= s.len; i += 8) {
        memcpy(&x, s.ptr + i, 8);
        found |= needs_escape(x);
    }
    x = UINT64_C(0x0101010101010101) * 'a';
    memcpy(&x, s.ptr + i, s.len - i);
    if ((found | needs_escape(x)) || out->max) {
        wr_sbuf_add_json(out, s);
        return;
    }
    wr_sbuf_reserve(out, s.len + 3);
    char *to = out->at + out->len;
    *to++ = '"';
    memcpy(to, s.ptr, s.len);
    to[s.len] = '"';
    to[s.len + 1] = 0;
    out->len += s.len + 2;
}


static void put_map(const wr_vec *vec, uint32_t row, const wr_json_style *style, wr_sbuf *out) {
    wr_list       list = ((const wr_list *)vec->data)[row];
    const wr_vec *keys = &vec->kids[0];
    wr_sbuf_addc(out, '{');
    for (uint32_t i = 0; i < list.len; i++) {
        uint32_t at = list.offset + i;
        if (i) wr_sbuf_addc(out, ',');
        if (wr_vec_is_null(keys, at)) wr_sbuf_addz(out, "\"null\"");
        else put_text(keys, at, out);
        wr_sbuf_addc(out, ':');
        if (vec->type.n_kids > 1) wr_json_value(&vec->kids[1], at, style, out);
        else wr_sbuf_addc(out, '1');
    }
    wr_sbuf_addc(out, '}');
}

static void put_fields(const wr_vec *cols, const wr_str *names, uint32_t n, uint32_t row, bool comma, const wr_json_style *style, wr_sbuf *out) {
    for (uint32_t i = 0; i < n; i++) {
        if (style->skip_nulls && wr_vec_is_null(&cols[i], row)) continue;
        if (comma) wr_sbuf_addc(out, ',');
        comma = true;
        put_string(names[i], out);
        wr_sbuf_addc(out, ':');
        wr_json_value(&cols[i], row, style, out);
    }
}

void wr_json_value(const wr_vec *vec, uint32_t row, const wr_json_style *style, wr_sbuf *out) {
    if (wr_vec_is_null(vec, row)) {
        wr_sbuf_addz(out, "null");
        return;
    }
    char text[64];
    switch (vec->type.id) {
    case WR_T_BOOLEAN: wr_sbuf_addz(out, ((const uint8_t *)vec->data)[row] ? "true" : "false"); break;
    case WR_T_TINYINT: put_int(((const int8_t *)vec->data)[row], out); break;
    case WR_T_SMALLINT: put_int(((const int16_t *)vec->data)[row], out); break;
    case WR_T_INT:
    case WR_T_INTERVAL_YM: put_int(((const int32_t *)vec->data)[row], out); break;
    case WR_T_BIGINT: put_int(((const int64_t *)vec->data)[row], out); break;
    case WR_T_INTERVAL_DS: put_int(wr_floor_div(((const int64_t *)vec->data)[row], 1000), out); break;
    case WR_T_FLOAT:
    case WR_T_DOUBLE: {
        double x = vec->type.id == WR_T_FLOAT ? (double)((const float *)vec->data)[row] : ((const double *)vec->data)[row];
        if (__builtin_isfinite(x)) wr_vec_text(vec, row, NULL, out);
        else put_text(vec, row, out);
        break;
    }
    case WR_T_DECIMAL: {
        size_t n = wr_decimal_text(((const wr_i128 *)vec->data)[row], vec->type.scale, text);
        if (style->exact) wr_sbuf_addc(out, '"');
        wr_sbuf_add(out, text, n);
        if (style->exact) wr_sbuf_addc(out, '"');
        break;
    }
    case WR_T_CHAR:
    case WR_T_VARCHAR: put_string(wr_sview_str((const wr_sview *)vec->data + row), out); break;
    case WR_T_VARIANT: wr_vec_text(vec, row, NULL, out); break;
    case WR_T_BITMAP:
    case WR_T_BINARY:
    case WR_T_VARBINARY: {
        wr_str bytes = wr_sview_str((const wr_sview *)vec->data + row);
        wr_sbuf_addc(out, '"');
        wr_base64(bytes.ptr, bytes.len, out);
        wr_sbuf_addc(out, '"');
        break;
    }
    case WR_T_TIMESTAMP:
    case WR_T_TIMESTAMP_LTZ: put_timestamp(vec, row, style, out); break;
    case WR_T_ARRAY: {
        wr_list list = ((const wr_list *)vec->data)[row];
        wr_sbuf_addc(out, '[');
        for (uint32_t i = 0; i < list.len; i++) {
            if (i) wr_sbuf_addc(out, ',');
            wr_json_value(&vec->kids[0], list.offset + i, style, out);
        }
        wr_sbuf_addc(out, ']');
        break;
    }
    case WR_T_MAP:
    case WR_T_MULTISET: put_map(vec, row, style, out); break;
    case WR_T_ROW:
        wr_sbuf_addc(out, '{');
        put_fields(vec->kids, vec->type.names, vec->type.n_kids, row, false, style, out);
        wr_sbuf_addc(out, '}');
        break;
    default: put_text(vec, row, out);
    }
}

void wr_json_row(const wr_schema *schema, const wr_batch *batch, uint32_t row, const char *op, const wr_json_style *style, wr_sbuf *out) {
    bool comma = op != NULL;
    wr_sbuf_addc(out, '{');
    if (op) wr_sbuf_printf(out, "\"op\":\"%s\"", op);
    for (uint32_t i = 0; i < schema->n; i++) {
        if (style->skip_nulls && wr_vec_is_null(&batch->cols[i], row)) continue;
        if (comma) wr_sbuf_addc(out, ',');
        comma = true;
        put_string(schema->fields[i].name, out);
        wr_sbuf_addc(out, ':');
        wr_json_value(&batch->cols[i], row, style, out);
    }
    wr_sbuf_addc(out, '}');
}

typedef struct json_encoder {
    wr_encoder       base;
    const wr_schema *schema;
    wr_json_style    style;
    bool             debezium;
} json_encoder;

static void encode(wr_encoder *base, const wr_batch *batch, uint32_t from_live, uint32_t to_live, wr_sbuf *out) {
    json_encoder *e = (json_encoder *)base;
    for (uint32_t i = from_live; i < to_live; i++) {
        uint32_t row = wr_batch_row(batch, i);
        bool     adds = wr_kind_adds(wr_batch_kind(batch, row));
        if (e->debezium) wr_sbuf_addz(out, adds ? "{\"before\":null,\"after\":" : "{\"before\":");
        wr_json_row(e->schema, batch, row, NULL, &e->style, out);
        if (e->debezium) wr_sbuf_addz(out, adds ? ",\"op\":\"c\"}" : ",\"after\":null,\"op\":\"d\"}");
        wr_sbuf_addc(out, '\n');
    }
}

static void encoder_free(wr_encoder *base) { wr_free(base); }

static wr_status encoder_new(const wr_format *format, const wr_encoder_opts *opts, bool debezium, wr_encoder **out, wr_diags *diags) {
    wr_json_style style = {0};
    char          key[80];
    *out = NULL;
    snprintf(key, sizeof key, "%s.encode.ignore-null-fields", format->name);
    if (!wr_json_sep(&opts->options, format->specs, format->name, &style.sep, diags)) return WR_USER;
    if (!wr_option_bool(&opts->options, format->specs, key, &style.skip_nulls, diags)) return WR_USER;
    json_encoder *e = wr_calloc(1, sizeof *e);
    *e = (json_encoder){.base = {encode, encoder_free}, .schema = opts->schema, .style = style, .debezium = debezium};
    *out = &e->base;
    return WR_OK;
}

wr_status wr_json_encoder_new(const wr_encoder_opts *opts, wr_encoder **out, wr_diags *diags) { /* LTZ is written in UTC with Z: no use for a time zone */
    return encoder_new(&wr_format_json, opts, false, out, diags);
}

wr_status wr_debezium_encoder_new(const wr_encoder_opts *opts, wr_encoder **out, wr_diags *diags) {
    return encoder_new(&wr_format_debezium, opts, true, out, diags);
}
