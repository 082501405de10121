/* format/json_encode.c: rows to JSON lines, as Flink's JSON format writes them.
 *
 * Rules      DECIMAL plain digits; FLOAT and DOUBLE Java's text, NaN and Infinity as strings; timestamps SQL or ISO without trailing zeros;
 *            BYTES base64; MAP and ROW objects. A NULL map key is written as "null" unless options say otherwise. INTERVALs are numbers (months, milliseconds).
 * Exact      wr_json_style.exact is for people's tools: DECIMAL as a string with its scale, timestamps with all their digits.
 * Thread     one encoder a worker.                                                                                     */
#include "format/parts.h"
#include "type/decimal.h"
#include <stdio.h>

typedef enum json_form { FRAME_PLAIN, FRAME_DEBEZIUM, FRAME_CANAL, FRAME_MAXWELL, FRAME_OGG } json_form;

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
    bool          comma = false;
    wr_sbuf_addc(out, '{');
    for (uint32_t i = 0; i < list.len; i++) {
        uint32_t at = list.offset + i;
        bool     null = wr_vec_is_null(keys, at);
        if (null && style->drop_null_keys) continue;
        if (comma) wr_sbuf_addc(out, ',');
        comma = true;
        if (null) wr_sbuf_addz(out, style->null_key ? style->null_key : "\"null\"");
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

/* What stands around the row: of a row that comes, and of one that goes. */
typedef struct json_frame { const char *adds[2], *takes[2], *adds_short[2], *takes_short[2]; } json_frame; /* short: NULL fields are left out here too */
static const json_frame frames[] = {
    [FRAME_PLAIN] = {{"", ""}, {"", ""}, {"", ""}, {"", ""}},
    [FRAME_DEBEZIUM] = {{"{\"before\":null,\"after\":", ",\"op\":\"c\"}"}, {"{\"before\":", ",\"after\":null,\"op\":\"d\"}"},
                          {"{\"after\":", ",\"op\":\"c\"}"}, {"{\"before\":", ",\"op\":\"d\"}"}},
    [FRAME_OGG] = {{"{\"before\":null,\"after\":", ",\"op_type\":\"I\"}"}, {"{\"before\":", ",\"after\":null,\"op_type\":\"D\"}"},
                     {"{\"after\":", ",\"op_type\":\"I\"}"}, {"{\"before\":", ",\"op_type\":\"D\"}"}},
    [FRAME_CANAL] = {{"{\"data\":[", "],\"type\":\"INSERT\"}"}, {"{\"data\":[", "],\"type\":\"DELETE\"}"},
                       {"{\"data\":[", "],\"type\":\"INSERT\"}"}, {"{\"data\":[", "],\"type\":\"DELETE\"}"}},
    [FRAME_MAXWELL] = {{"{\"data\":", ",\"type\":\"insert\"}"}, {"{\"data\":", ",\"type\":\"delete\"}"},
                         {"{\"data\":", ",\"type\":\"insert\"}"}, {"{\"data\":", ",\"type\":\"delete\"}"}}};

typedef struct json_encoder {
    wr_encoder         base;
    const wr_schema   *schema;
    wr_json_style      style;
    wr_sbuf            null_key; /* style.null_key's bytes */
    const char *const *adds, *const *takes;
} json_encoder;

static void encode(wr_encoder *base, const wr_batch *batch, uint32_t from_live, uint32_t to_live, wr_sbuf *out) {
    json_encoder *e = (json_encoder *)base;
    for (uint32_t i = from_live; i < to_live; i++) {
        uint32_t           row = wr_batch_row(batch, i);
        const char *const *around = wr_kind_adds(wr_batch_kind(batch, row)) ? e->adds : e->takes;
        wr_sbuf_addz(out, around[0]);
        wr_json_row(e->schema, batch, row, NULL, &e->style, out);
        wr_sbuf_addz(out, around[1]);
        wr_sbuf_addc(out, '\n');
    }
}

static void encoder_free(wr_encoder *base) {
    json_encoder *e = (json_encoder *)base;
    wr_sbuf_free(&e->null_key);
    wr_free(e);
}

static const char *key_of(char out[80], const char *format, const char *name) {
    snprintf(out, 80, "%s.%s", format, name);
    return out;
}

static wr_status encoder_new(const wr_format *format, const wr_encoder_opts *opts, json_form form, wr_encoder **out, wr_diags *diags) {
    wr_json_style style = {0};
    char          key[80];
    *out = NULL;
    if (!wr_json_sep(&opts->options, format->specs, format->name, &style.sep, diags)) return WR_USER;
    if (!wr_option_bool(&opts->options, format->specs, key_of(key, format->name, "encode.ignore-null-fields"), &style.skip_nulls, diags)) return WR_USER;
    wr_str mode = wr_str_trim(wr_option_string(&opts->options, format->specs, key_of(key, format->name, "map-null-key.mode")));
    if (!wr_str_ieq(mode, WR_STR("DROP")) && !wr_str_ieq(mode, WR_STR("LITERAL"))) {
        const wr_option *at = wr_options_find(&opts->options, key);
        if (diags) wr_diags_add(diags, WR_SEV_ERROR, "WR121", at ? at->at : (wr_span){0}, "option '%s' is '%.*s', expected 'DROP' or 'LITERAL'", key, WR_FMT(mode));
        return WR_USER;
    }
    json_encoder *e = wr_calloc(1, sizeof *e);
    *e = (json_encoder){.base = {.encode = encode, .free = encoder_free}, .schema = opts->schema, .style = style};
    e->adds = style.skip_nulls ? frames[form].adds_short : frames[form].adds;
    e->takes = style.skip_nulls ? frames[form].takes_short : frames[form].takes;
    e->style.drop_null_keys = wr_str_ieq(mode, WR_STR("DROP"));
    wr_str literal = wr_option_string(&opts->options, format->specs, key_of(key, format->name, "map-null-key.literal"));
    wr_sbuf_add_json(&e->null_key, literal);
    e->style.null_key = e->null_key.at;
    *out = &e->base;
    return WR_OK;
}

/* LTZ is written in UTC with Z, so the zone says nothing here. */
wr_status wr_json_encoder_new(const wr_encoder_opts *opts, wr_encoder **out, wr_diags *diags) {
    return encoder_new(&wr_format_json, opts, FRAME_PLAIN, out, diags);
}
wr_status wr_debezium_encoder_new(const wr_encoder_opts *opts, wr_encoder **out, wr_diags *diags) {
    bool with_schema = false;
    *out = NULL;
    if (!wr_option_bool(&opts->options, wr_format_debezium.specs, "debezium-json.schema-include", &with_schema, diags)) return WR_USER;
    if (with_schema) {
        if (diags) wr_diags_add(diags, WR_SEV_ERROR, "WR125", wr_options_find(&opts->options, "debezium-json.schema-include")->at, "'debezium-json.schema-include' is for reading: records are written without a schema");
        return WR_USER;
    }
    return encoder_new(&wr_format_debezium, opts, FRAME_DEBEZIUM, out, diags);
}
wr_status wr_canal_encoder_new(const wr_encoder_opts *opts, wr_encoder **out, wr_diags *diags) {
    return encoder_new(&wr_format_canal, opts, FRAME_CANAL, out, diags);
}
wr_status wr_maxwell_encoder_new(const wr_encoder_opts *opts, wr_encoder **out, wr_diags *diags) {
    return encoder_new(&wr_format_maxwell, opts, FRAME_MAXWELL, out, diags);
}
wr_status wr_ogg_encoder_new(const wr_encoder_opts *opts, wr_encoder **out, wr_diags *diags) {
    return encoder_new(&wr_format_ogg, opts, FRAME_OGG, out, diags);
}
