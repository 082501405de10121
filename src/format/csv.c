/* format/csv.c: RFC 4180 records, with Flink's options.
 *
 * Idea       one scanner finds a record's end by the rules of quoting; split() (where may a chunk be cut?) and the decoder share it, so
 *            they cannot disagree. Fields are views into the chunk unless a doubled quote or an escape has to be taken out.
 * Rules      a quote opens a quoted field only at the field's start; inside, a doubled quote is one, and line breaks belong to the text.
 *            An empty field is '' for strings and NULL for numbers and booleans; 'csv.null-literal' is NULL everywhere.
 * Bad data   a record that fails is skipped to its end; after a quote that is never closed reading goes on at the next line.
 * Thread     one decoder a worker.                                                                                     */
#define _GNU_SOURCE 1 /* memrchr */
#include "format/parts.h"
#include "type/decimal.h"
#include <stdarg.h>
#include <stdio.h>

typedef struct csv_style {
    char   delimiter, quote, escape, element; /* quote and escape 0: none */
    bool   comments, header, ignore_errors, has_null;
    wr_str null_text;
} csv_style;

static const wr_option_spec specs[] = {
    {"csv.field-delimiter", "string", ",", false, "one character between fields; \\t is a tabulator"},
    {"csv.quote-character", "string", "\"", false, "encloses fields that hold delimiters, quotes or line breaks"},
    {"csv.disable-quote-character", "bool", "false", false, "quotes are ordinary characters"},
    {"csv.escape-character", "string", NULL, false, "takes the special meaning from the next character"},
    {"csv.null-literal", "string", NULL, false, "this text is NULL in any column"},
    {"csv.array-element-delimiter", "string", ";", false, "between the elements of an ARRAY"},
    {"csv.allow-comments", "bool", "false", false, "lines that begin with # are skipped"},
    {"csv.ignore-parse-errors", "bool", "false", false, "a field that cannot be read becomes NULL; a record that cannot be read is skipped and counted"},
    {"csv.header", "bool", "false", false, "the first line of each file names the columns: it is checked against the table's and skipped"},
    {0}};

static bool one_char(const wr_options *o, const char *key, char *out, wr_diags *diags) {
    wr_str text = wr_option_string(o, specs, key);
    if (wr_str_eq(text, WR_STR("\\t"))) return *out = '\t', true;
    if (text.len == 1) return *out = *text.ptr, true;
    if (!text.len) return *out = 0, true;
    const wr_option *at = wr_options_find(o, key);
    if (diags) wr_diags_add(diags, WR_SEV_ERROR, "WR121", at ? at->at : (wr_span){0}, "option '%s' is '%.*s', expected one ASCII character", key, WR_FMT(text));
    return false;
}

static bool style_read(const wr_options *o, csv_style *s, wr_diags *diags) {
    bool no_quote;
    *s = (csv_style){0};
    if (!one_char(o, "csv.field-delimiter", &s->delimiter, diags) || !one_char(o, "csv.quote-character", &s->quote, diags) ||
        !one_char(o, "csv.escape-character", &s->escape, diags) || !one_char(o, "csv.array-element-delimiter", &s->element, diags) ||
        !wr_option_bool(o, specs, "csv.disable-quote-character", &no_quote, diags) || !wr_option_bool(o, specs, "csv.allow-comments", &s->comments, diags) ||
        !wr_option_bool(o, specs, "csv.ignore-parse-errors", &s->ignore_errors, diags) || !wr_option_bool(o, specs, "csv.header", &s->header, diags))
        return false;
    if (no_quote) s->quote = 0;
    if (!s->delimiter) s->delimiter = ',';
    const wr_option *null = wr_options_find(o, "csv.null-literal");
    s->has_null = null != NULL;
    if (null) s->null_text = null->value;
    return true;
}

/* ---- records ---- */

/* The byte after the record's line break; NULL if the data ends before. *end_text: end of the text, without the line break. */
static const uint8_t *record_end(const csv_style *s, const uint8_t *p, const uint8_t *end, const uint8_t **end_text) {
    bool start = true, quoted = false;
    if (s->comments && p < end && *p == '#') {
        const uint8_t *nl = memchr(p, '\n', (size_t)(end - p));
        *end_text = nl ? nl : end;
        return nl ? nl + 1 : NULL;
    }
    if (!s->escape) { /* most records have no quote: their line is all of them */
        const uint8_t *nl = memchr(p, '\n', (size_t)(end - p)), *stop = nl ? nl : end;
        if (!s->quote || !memchr(p, s->quote, (size_t)(stop - p))) {
            *end_text = stop;
            return nl ? nl + 1 : NULL;
        }
    }
    for (; p < end; p++) {
        char c = (char)*p;
        if (s->escape && c == s->escape) {
            p++;
            start = false;
        } else if (quoted) {
            if (c != s->quote) continue;
            if (p + 1 < end && (char)p[1] == s->quote) p++;
            else quoted = false;
        } else if (c == '\n') {
            *end_text = p;
            return p + 1;
        } else if (start && s->quote && c == s->quote) {
            quoted = true;
            start = false;
        } else {
            start = c == s->delimiter;
        }
    }
    *end_text = end;
    return NULL;
}

static size_t split(const uint8_t *data, size_t len, const wr_options *options, uint64_t *state) {
    (void)state; /* data always begins at a record's start */
    csv_style s;
    if (!style_read(options, &s, NULL)) return len;
    if (!s.escape && (!s.quote || !memchr(data, s.quote, len))) {
        const uint8_t *nl = memrchr(data, '\n', len);
        return nl ? (size_t)(nl + 1 - data) : 0;
    }
    const uint8_t *p = data, *text;
    for (const uint8_t *next; (next = record_end(&s, p, data + len, &text));) p = next;
    return (size_t)(p - data);
}

typedef struct csv_decoder {
    wr_decoder      base;
    wr_decoder_opts opts;
    csv_style       style;
    wr_decoded     *out;
    wr_batch       *batch;
    uint32_t        n_rows, capacity;
    wr_bad_kind     kind; /* of the fault */
    bool            unclosed;
    char            message[200];
} csv_decoder;

WR_COLD WR_PRINTF(3, 4) static bool fault(csv_decoder *d, wr_bad_kind kind, const char *fmt, ...) {
    d->kind = kind;
    va_list args;
    va_start(args, fmt);
    vsnprintf(d->message, sizeof d->message, fmt, args);
    va_end(args);
    return false;
}

/* Takes doubled quotes and escapes out of [p, q). */
static wr_str cleaned(csv_decoder *d, const char *p, const char *q, bool quoted) {
    char *out = wr_mem_alloc(d->batch->mem, (size_t)(q - p) + 1), *to = out;
    for (; p < q; p++) {
        if (d->style.escape && *p == d->style.escape && p + 1 < q) p++;
        else if (quoted && *p == d->style.quote && p + 1 < q) p++;
        *to++ = *p;
    }
    return (wr_str){out, (size_t)(to - out)};
}

/* The field at *at; *at moves to its delimiter or to the end. */
static bool next_field(csv_decoder *d, const char **at, const char *end, wr_str *field) {
    const csv_style *s = &d->style;
    const char      *p = *at, *from = p;
    bool             clean = true;
    if (p < end && s->quote && *p == s->quote) {
        for (from = ++p;; p++) {
            if (p >= end) return d->unclosed = true, fault(d, WR_BAD_MALFORMED, "CSV: the quote at byte %td of the record is not closed", from - 1 - *at);
            if (s->escape && *p == s->escape && p + 1 < end) clean = false, p++;
            else if (*p == s->quote) {
                if (p + 1 >= end || p[1] != s->quote) break;
                clean = false;
                p++;
            }
        }
        *field = clean ? (wr_str){from, (size_t)(p - from)} : cleaned(d, from, p, true);
        for (p++; p < end && *p == ' '; p++) {}
        if (p < end && *p != s->delimiter) return fault(d, WR_BAD_MALFORMED, "CSV: text after the closing quote of a field: '%c'", *p);
        *at = p;
        return true;
    }
    for (; p < end && *p != s->delimiter; p++)
        if (s->escape && *p == s->escape && p + 1 < end) clean = false, p++;
    *field = clean ? (wr_str){from, (size_t)(p - from)} : cleaned(d, from, p, false);
    *at = p;
    return true;
}

static bool empty_is_null(const wr_vec *vec) {
    return vec->type.id != WR_T_NULL && !wr_type_is_string(vec->type) && !wr_type_is_binary(vec->type) && !wr_type_is_time_point(vec->type) && !wr_type_is_nested(vec->type);
}

static wr_put put_array(csv_decoder *d, wr_str text, wr_vec *vec, uint32_t row) {
    wr_list list = {vec->kids[0].n, 0};
    for (const char *p = text.ptr, *end = p + text.len; text.len;) {
        const char *stop = memchr(p, d->style.element, (size_t)(end - p));
        if (!stop) stop = end;
        uint32_t at = wr_vec_grow(&vec->kids[0], 1, d->batch->mem);
        wr_str   item = {p, (size_t)(stop - p)};
        list.len++;
        if ((d->style.has_null && wr_str_eq(item, d->style.null_text)) || (!item.len && empty_is_null(&vec->kids[0]))) {
            wr_vec_set_null(&vec->kids[0], at, d->batch->mem);
        } else {
            wr_put put = wr_scalar_put(item, ' ', &vec->kids[0], at, d->batch->mem);
            if (put != WR_PUT_OK) return put;
        }
        if (stop == end) break;
        p = stop + 1;
    }
    ((wr_list *)vec->data)[row] = list;
    return WR_PUT_OK;
}

static bool put_field(csv_decoder *d, uint32_t col, wr_str text, uint32_t row) {
    wr_vec         *vec = &d->batch->cols[col];
    const wr_field *f = &d->opts.schema->fields[col];
    if (vec->type.id == WR_T_NULL) return true;
    bool null = (d->style.has_null && wr_str_eq(text, d->style.null_text)) || (empty_is_null(vec) && !wr_str_trim(text).len);
    if (!null) {
        if (vec->valid) wr_valid_set(vec->valid, row, true);
        wr_put put = vec->type.id == WR_T_ARRAY ? put_array(d, text, vec, row) : wr_scalar_put(text, ' ', vec, row, d->batch->mem);
        if (put == WR_PUT_OK) return true;
        if (!d->style.ignore_errors) {
            wr_sbuf expected = {0};
            wr_scalar_expected(f->type, ' ', &expected);
            fault(d, put == WR_PUT_RANGE ? WR_BAD_RANGE : WR_BAD_TYPE, put == WR_PUT_RANGE ? "field '%.*s': %.60s does not hold '%.*s'" : "field '%.*s': expected %.60s, got '%.*s'",
                  (int)WR_MIN(f->name.len, 60u), f->name.ptr, expected.at, (int)WR_MIN(text.len, 40u), text.ptr);
            wr_sbuf_free(&expected);
            return false;
        }
    }
    if (!f->type.nullable) return fault(d, WR_BAD_NULL, "field '%.*s' is empty, and its column is NOT NULL", (int)WR_MIN(f->name.len, 100u), f->name.ptr);
    wr_vec_set_null(vec, row, d->batch->mem);
    return true;
}

static bool read_record(csv_decoder *d, const char *p, const char *end) {
    uint32_t n = d->opts.schema->n, i = 0;
    wr_str   field;
    if (!wr_utf8_valid((wr_str){p, (size_t)(end - p)})) return fault(d, WR_BAD_UTF8, "the record is not valid UTF-8");
    for (;; i++, p++) {
        if (!next_field(d, &p, end, &field)) return false;
        if (i < n) {
            if (!put_field(d, i, field, d->n_rows)) return false;
        } else if (!d->style.ignore_errors) {
            return fault(d, WR_BAD_MALFORMED, "CSV: more than the %u fields of the table", n);
        }
        if (p >= end) break;
    }
    if (++i >= n) return true;
    if (!d->style.ignore_errors) return fault(d, WR_BAD_MISSING, "CSV: %u fields, the table has %u", i, n);
    for (; i < n; i++)
        if (!put_field(d, i, d->style.has_null ? d->style.null_text : WR_STR(""), d->n_rows)) return false;
    return true;
}

/* The names in a header line must be the table's, in order. */
static bool check_header(csv_decoder *d, const char *p, const char *end) {
    wr_str field;
    for (uint32_t i = 0; i < d->opts.schema->n; i++, p++) {
        wr_str name = d->opts.schema->fields[i].name;
        if (p > end || !next_field(d, &p, end, &field)) return fault(d, WR_BAD_MISSING, "CSV header: the column '%.*s' is not in it", (int)WR_MIN(name.len, 80u), name.ptr);
        if (!wr_str_ieq(wr_str_trim(field), wr_str_trim(name)))
            return fault(d, WR_BAD_MALFORMED, "CSV header: field %u is '%.*s', the table's column there is '%.*s'", i + 1, (int)WR_MIN(field.len, 60u), field.ptr, (int)WR_MIN(name.len, 60u), name.ptr);
    }
    return true;
}

static void open_batch(csv_decoder *d, wr_mem *mem) {
    if (d->batch) return;
    d->batch = wr_rows_open(d->opts.schema, d->opts.needed, d->capacity, false);
    if (mem) wr_mem_keep(d->batch->mem, mem);
}

static void close_batch(csv_decoder *d) {
    if (d->batch && d->n_rows) {
        wr_rows_close(d->batch, d->n_rows);
        wr_decoded_push(d->out, d->batch);
    } else {
        wr_batch_unref(d->batch);
    }
    d->batch = NULL;
    d->n_rows = 0;
}

static void decode(wr_decoder *base, wr_mem *mem, const uint8_t *data, size_t len, bool first_chunk, wr_decoded *out) {
    csv_decoder *d = (csv_decoder *)base;
    uint64_t     line = 0;
    bool         header = first_chunk && d->style.header;
    d->out = out;
    d->capacity = len / 2 + 1 < d->opts.batch_rows ? (uint32_t)(len / 2 + 1) : d->opts.batch_rows;
    const uint8_t *p = data, *end = data + len;
    if (first_chunk && len >= 3 && !memcmp(data, "\xEF\xBB\xBF", 3)) p += 3;
    while (p < end) {
        const uint8_t *text, *next = record_end(&d->style, p, end, &text), *from = p;
        if (text > p && text[-1] == '\r') text--;
        p = next ? next : end;
        d->unclosed = false;
        bool ok = true, blank = text == from || (d->style.comments && *from == '#');
        open_batch(d, mem);
        if (blank) {
            out->n_blank++; /* a line, not a record */
        } else if (text - from > d->opts.max_record_bytes) {
            ok = fault(d, WR_BAD_TOO_LONG, "a record of %td bytes, more than max-record-bytes = %lld; its first 200 bytes are shown", text - from, (long long)d->opts.max_record_bytes);
            text = from + WR_MIN(text - from, 200);
        } else if (header) {
            ok = check_header(d, (const char *)from, (const char *)text);
            if (ok) out->n_blank++;
        } else if ((ok = read_record(d, (const char *)from, (const char *)text))) {
            d->n_rows++, out->n_rows++, out->n_records++;
            if (out->want_lines) wr_arr_push(&out->row_lines, (uint32_t)line);
            if (d->n_rows == d->capacity) close_batch(d);
        }
        if (!blank) header = false;
        if (!ok) {
            if (d->unclosed) { /* what looked like one record may be all the rest: give up one line of it only */
                const uint8_t *nl = memchr(from, '\n', (size_t)(p - from));
                if (nl) text = nl, p = nl + 1;
            }
            wr_bad_add(out, d->kind, line, (uint64_t)(from - data), (wr_str){(const char *)from, (size_t)(text - from)}, d->message);
        }
        uint64_t lines = 0;
        for (const uint8_t *q = from; q < p && (q = memchr(q, '\n', (size_t)(p - q))); q++) lines++;
        if (p == end && p > from && p[-1] != '\n') lines++;
        line += lines;
        out->n_lines += lines;
    }
    close_batch(d);
}

static void decoder_free(wr_decoder *base) { wr_free(base); }

static bool flat_columns(const wr_schema *schema, wr_diags *diags) {
    for (uint32_t i = 0; i < schema->n; i++) {
        wr_type t = schema->fields[i].type;
        if (!wr_type_is_nested(t) || (t.id == WR_T_ARRAY && !wr_type_is_nested(t.kids[0]))) continue;
        if (diags) wr_diags_add(diags, WR_SEV_ERROR, "WR125", (wr_span){0}, "the format 'csv' has no %s: column '%.*s'; use 'json', or STRING", wr_tid_name(t.id), WR_FMT(schema->fields[i].name));
        return false;
    }
    return true;
}

static wr_status decoder_new(const wr_decoder_opts *opts, wr_decoder **out, wr_diags *diags) {
    csv_style style;
    *out = NULL;
    if (!style_read(&opts->options, &style, diags)) return WR_USER;
    if (!flat_columns(opts->schema, diags)) return WR_UNSUPPORTED;
    csv_decoder *d = wr_calloc(1, sizeof *d);
    d->base = (wr_decoder){.decode = decode, .free = decoder_free};
    d->opts = *opts;
    d->style = style;
    if (!d->opts.batch_rows || d->opts.batch_rows > WR_BATCH_MAX) d->opts.batch_rows = WR_BATCH_MAX;
    if (d->opts.max_record_bytes <= 0) d->opts.max_record_bytes = 16 << 20;
    *out = &d->base;
    return WR_OK;
}

/* ---- writing ---- */

typedef struct csv_encoder {
    wr_encoder       base;
    const wr_schema *schema;
    csv_style        style;
} csv_encoder;

static void put_quoted(const csv_style *s, wr_str text, wr_sbuf *out) {
    bool quote = !text.len || *text.ptr == ' ' || text.ptr[text.len - 1] == ' ' || (s->comments && *text.ptr == '#') || (s->has_null && wr_str_eq(text, s->null_text));
    for (size_t i = 0; i < text.len && !quote; i++) {
        char c = text.ptr[i];
        quote = c == s->delimiter || c == '\n' || c == '\r' || (s->quote && c == s->quote);
    }
    if (!s->quote || !quote) {
        wr_sbuf_add_str(out, text);
        return;
    }
    wr_sbuf_addc(out, s->quote);
    for (size_t i = 0; i < text.len; i++) {
        if (text.ptr[i] == s->quote) wr_sbuf_addc(out, s->quote);
        wr_sbuf_addc(out, text.ptr[i]);
    }
    wr_sbuf_addc(out, s->quote);
}

static void put_cell(const csv_encoder *e, const wr_vec *vec, uint32_t row, wr_sbuf *out) {
    if (wr_vec_is_null(vec, row)) {
        wr_sbuf_add_str(out, e->style.null_text);
        return;
    }
    wr_sbuf text = {0};
    if (wr_type_is_binary(vec->type) || vec->type.id == WR_T_BITMAP) {
        wr_str bytes = wr_sview_str((const wr_sview *)vec->data + row);
        wr_base64(bytes.ptr, bytes.len, &text);
    } else if (vec->type.id == WR_T_TIMESTAMP || vec->type.id == WR_T_TIMESTAMP_LTZ) {
        wr_scalar_timestamp_text(((const int64_t *)vec->data)[row], vec->type, ' ', &text);
    } else if (vec->type.id == WR_T_BOOLEAN) {
        wr_sbuf_addz(&text, ((const uint8_t *)vec->data)[row] ? "true" : "false");
    } else if (vec->type.id == WR_T_ARRAY) {
        wr_list list = ((const wr_list *)vec->data)[row];
        for (uint32_t i = 0; i < list.len; i++) {
            if (i) wr_sbuf_addc(&text, e->style.element);
            if (wr_vec_is_null(&vec->kids[0], list.offset + i)) wr_sbuf_add_str(&text, e->style.null_text);
            else wr_vec_text(&vec->kids[0], list.offset + i, NULL, &text);
        }
    } else if (wr_type_is_string(vec->type)) {
        put_quoted(&e->style, wr_sview_str((const wr_sview *)vec->data + row), out);
        return;
    } else {
        wr_vec_text(vec, row, NULL, &text);
    }
    put_quoted(&e->style, wr_sbuf_str(&text), out);
    wr_sbuf_free(&text);
}

static void encode(wr_encoder *base, const wr_batch *batch, uint32_t from_live, uint32_t to_live, wr_sbuf *out) {
    const csv_encoder *e = (const csv_encoder *)base;
    for (uint32_t i = from_live; i < to_live; i++) {
        for (uint32_t c = 0; c < e->schema->n; c++) {
            if (c) wr_sbuf_addc(out, e->style.delimiter);
            put_cell(e, &batch->cols[c], wr_batch_row(batch, i), out);
        }
        wr_sbuf_addc(out, '\n');
    }
}

static void encoder_free(wr_encoder *base) { wr_free(base); }

static wr_status encoder_new(const wr_encoder_opts *opts, wr_encoder **out, wr_diags *diags) {
    csv_style style;
    *out = NULL;
    if (!style_read(&opts->options, &style, diags)) return WR_USER;
    if (style.header) { /* a file that is cut back and written on after a crash would get a second one */
        const wr_option *at = wr_options_find(&opts->options, "csv.header");
        if (diags) wr_diags_add(diags, WR_SEV_ERROR, "WR125", at ? at->at : (wr_span){0}, "'csv.header' is for reading; writing a header line is not supported");
        return WR_UNSUPPORTED;
    }
    if (!flat_columns(opts->schema, diags)) return WR_UNSUPPORTED;
    csv_encoder *e = wr_calloc(1, sizeof *e);
    *e = (csv_encoder){.base = {.encode = encode, .free = encoder_free}, .schema = opts->schema, .style = style};
    *out = &e->base;
    return WR_OK;
}

const wr_format wr_format_csv = {.name = "csv", .specs = specs, .changes = WR_FORMAT_APPEND, .can_write = true, .newline_in_record = true,
                                 .decoder_new = decoder_new, .encoder_new = encoder_new, .split = split};

/* ---- rows for people and spreadsheets ---- */
static void put_text(wr_str text, wr_sbuf *out) {
    bool plain = text.len > 0;
    for (size_t i = 0; i < text.len && plain; i++) plain = text.ptr[i] != ',' && text.ptr[i] != '"' && text.ptr[i] != '\n' && text.ptr[i] != '\r';
    if (plain && text.ptr[0] != ' ' && text.ptr[text.len - 1] != ' ') {
        wr_sbuf_add_str(out, text);
        return;
    }
    wr_sbuf_addc(out, '"');
    for (size_t i = 0; i < text.len; i++) {
        if (text.ptr[i] == '"') wr_sbuf_addc(out, '"');
        wr_sbuf_addc(out, text.ptr[i]);
    }
    wr_sbuf_addc(out, '"');
}

void wr_csv_header(const wr_schema *schema, bool op, wr_sbuf *out) {
    if (op) wr_sbuf_addz(out, "op");
    for (uint32_t c = 0; c < schema->n; c++) {
        if (c || op) wr_sbuf_addc(out, ',');
        put_text(schema->fields[c].name, out);
    }
    wr_sbuf_addc(out, '\n');
}

void wr_csv_row(const wr_batch *batch, uint32_t row, const char *op, const struct wr_tz *tz, wr_sbuf *out) {
    wr_sbuf cell = {0};
    if (op) wr_sbuf_addz(out, op);
    for (uint32_t c = 0; c < batch->n_cols; c++) {
        if (c || op) wr_sbuf_addc(out, ',');
        if (wr_vec_is_null(&batch->cols[c], row)) continue;
        wr_sbuf_clear(&cell);
        wr_vec_text(&batch->cols[c], row, tz, &cell);
        put_text(wr_sbuf_str(&cell), out);
    }
    wr_sbuf_free(&cell);
    wr_sbuf_addc(out, '\n');
}
