/* format/json.c: the formats json, debezium-json and upsert-json: lines of a chunk to rows.
 *
 * Idea       stage 1 (json_simd.h) runs over blocks of whole lines, not over single lines. If it refuses a block (a string that is not
 *            closed, bytes that are not UTF-8), the block is halved at a line's end until the damaged line stands alone: its neighbours
 *            never notice. A block that passes cannot have a line break inside a string, so lines are independent in it too.
 * Changelog  debezium-json: c and r give +I, u gives -U +U, d gives -D. upsert-json: a value gives +U, a null value -D with the key only.
 * Envelope   a line is {partition, offset, key, value}; the value, text or object, is decoded as a record of its own.
 * Invariant  rows and bad records come out in the order of the lines. Strings are borrowed from the chunk; the batch keeps it.
 * Thread     one decoder a worker. Memory: plans in an arena, stage 1's places (4 bytes per byte of a block).          */
#define _GNU_SOURCE 1 /* memrchr, memmem */
#include "format/json_fast.h"
#include <stdio.h>

enum { BLOCK_BYTES = 128 * 1024, RAW_SHOWN = 200 };

/* ---- the batch being filled ---- */

void json_close_batch(json_decoder *d) {
    if (!d->batch) return;
    if (d->n_rows) {
        wr_rows_close(d->batch, d->n_rows);
        wr_decoded_push(d->out, d->batch);
    } else {
        wr_batch_unref(d->batch);
    }
    d->batch = NULL;
    d->n_rows = 0;
}

void json_need_rows(json_decoder *d, uint32_t rows) {
    if (d->batch && d->n_rows + rows > d->capacity) json_close_batch(d);
    if (d->batch) return;
    d->capacity = WR_MAX(d->capacity, rows);
    d->batch = wr_rows_open(&d->all, d->all_needed, d->capacity, d->form != FORM_PLAIN);
    d->kinds = (uint8_t *)(uintptr_t)d->batch->kinds;
    if (d->chunk_mem) wr_mem_keep(d->batch->mem, d->chunk_mem);
}

/* ---- records ----
 * Each handler reads the record at ix and returns the place after it, or NULL with the fault in r. */

static const uint32_t *record_plain(json_decoder *d, json_reader *r, const uint32_t *ix) {
    json_need_rows(d, 1);
    ix = json_read_row(d, r, ix, d->n_rows);
    if (WR_UNLIKELY(!ix || !json_record_done(r, ix))) return NULL;
    json_add_row(d, WR_KIND_INSERT);
    return ix;
}

const uint32_t *json_scan_object(json_reader *r, const uint32_t *ix, const char *const *names, const uint32_t **values, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) values[i] = NULL;
    if (*ix >= r->end || r->data[*ix] != '{') return json_fault(r, WR_BAD_MALFORMED, *ix, "JSON: expected an object");
    ix++;
    if (*ix < r->end && r->data[*ix] == '}') return ix + 1;
    for (;;) {
        wr_str key;
        if (*ix >= r->end || r->data[*ix] != '"' || !json_string_raw(r, ix, &key)) return json_fault(r, WR_BAD_MALFORMED, *ix, "JSON: expected a key");
        if (ix[1] >= r->end || r->data[ix[1]] != ':') return json_fault(r, WR_BAD_MALFORMED, ix[1], "JSON: expected ':' after the key \"%.*s\"", (int)WR_MIN(key.len, 60u), key.ptr);
        ix += 2;
        for (uint32_t i = 0; i < n; i++)
            if (wr_str_eq(key, wr_str_of(names[i]))) values[i] = ix;
        ix = json_skip(r, ix, NULL);
        if (!ix) return NULL;
        uint8_t c = *ix < r->end ? r->data[*ix] : 0;
        ix++;
        if (c == '}') return ix;
        if (c != ',') return json_fault(r, WR_BAD_MALFORMED, ix[-1], "JSON: expected ',' or '}' after the value of \"%.*s\"", (int)WR_MIN(key.len, 60u), key.ptr);
    }
}

/* ---- the envelope ---- */

/* The text of a string value with escapes decoded, in the batch's memory with padding; other values as they are. */
static bool value_text(json_decoder *d, json_reader *r, const uint32_t *ix, const char *what, wr_str *text) {
    if (r->data[*ix] != '"') {
        const uint32_t *next = json_skip(r, ix, what);
        if (!next) return false;
        uint32_t from = *ix, to = *next < r->end ? *next : r->end; /* up to the next place, less blanks */
        while (to > from && strchr(" \t\r\n", r->data[to - 1])) to--;
        *text = (wr_str){(const char *)r->data + from, to - from};
        return true;
    }
    wr_str raw;
    if (!json_string_raw(r, ix, &raw)) return json_fault(r, WR_BAD_MALFORMED, *ix, "JSON: the string \"%s\" is not closed", what);
    char *to = wr_mem_alloc(d->batch->mem, raw.len + 64);
    bool  lone;
    text->ptr = to;
    if (!json_unescape(raw, to, &text->len, &lone)) return json_fault(r, WR_BAD_MALFORMED, *ix, "JSON: a bad escape in \"%s\"", what);
    memset(to + text->len, 0, 64);
    return true;
}

static bool index_inner(json_decoder *d, json_reader *r, json_reader *inner, wr_str text, const char *what, const uint32_t **ix) {
    uint32_t n;
    *inner = d->proto;
    inner->data = (const uint8_t *)text.ptr;
    inner->end = (uint32_t)text.len;
    inner->escapes = memchr(text.ptr, '\\', text.len) != NULL;
    inner->mem = d->batch->mem;
    wr_simd_error error = wr_simd_index(d->inner_simd, inner->data, text.len, ix, &n);
    if (error != WR_SIMD_OK)
        return json_fault(r, error == WR_SIMD_UTF8 ? WR_BAD_UTF8 : WR_BAD_MALFORMED, 0, "JSON: \"%s\" is not a JSON text: %s", what,
                          error == WR_SIMD_UTF8 ? "not UTF-8" : error == WR_SIMD_STRING ? "a string is not closed" : "a control character in a string");
    return true;
}

/* A null value: the row of this key goes. */
static bool delete_key(json_decoder *d, json_reader *r, const uint32_t *key) {
    if (!key || json_is_null(r, key)) return json_fault(r, WR_BAD_MISSING, key ? *key : 0, "a null value without \"key\": there is nothing to delete");
    wr_str   text;
    uint32_t row = d->n_rows;
    if (!value_text(d, r, key, "key", &text)) return false;
    for (uint32_t i = 0; i < d->opts.schema->n; i++)
        if (d->batch->cols[i].type.id != WR_T_NULL) wr_vec_set_null(&d->batch->cols[i], row, d->batch->mem);
    if (text.len && *text.ptr == '{') {
        json_reader     inner;
        const uint32_t *ix;
        if (!index_inner(d, r, &inner, text, "key", &ix)) return false;
        if (json_row_read(&inner, d->key_row, ix, d->batch->cols, row)) return true;
        return json_fault(r, inner.kind, *key, "\"key\": %.180s", inner.message);
    }
    if (d->key_col < 0) return json_fault(r, WR_BAD_TYPE, *key, "\"key\" is one value, but the PRIMARY KEY has several columns: expected an object with them");
    wr_vec *vec = &d->batch->cols[d->key_col];
    if (vec->type.id == WR_T_NULL) return true; /* not needed */
    if (vec->valid) wr_valid_set(vec->valid, row, true);
    if (wr_scalar_put(text, r->sep, vec, row, d->batch->mem) == WR_PUT_OK) return true;
    return json_fault(r, WR_BAD_TYPE, *key, "\"key\" %.60s does not fit the column '%.60s'", text.ptr, d->row->plans[d->key_col].path);
}

static const uint32_t *record_envelope(json_decoder *d, json_reader *r, const uint32_t *ix) {
    static const char *const names[] = {"partition", "offset", "key", "value"};
    const uint32_t          *v[4];
    const uint32_t          *next = json_scan_object(r, ix, names, v, 4);
    if (!next || !json_record_done(r, next)) return NULL;
    if (!v[3]) return json_fault(r, WR_BAD_MISSING, *ix, "no \"value\": the lines must be {\"partition\", \"offset\", \"key\", \"value\"}");
    json_need_rows(d, 2);
    if (json_is_null(r, v[3])) {
        if (d->form == FORM_UPSERT) {
            if (!delete_key(d, r, v[2])) return NULL;
            json_add_row(d, WR_KIND_DELETE);
        }
        d->out->n_tombstones++, d->out->n_records++;
        return next;
    }
    wr_str          text;
    json_reader     inner;
    const uint32_t *at;
    if (!value_text(d, r, v[3], "value", &text) || !index_inner(d, r, &inner, text, "value", &at)) return NULL;
    if (*at >= inner.end) {
        d->out->n_blank++, d->out->n_records++;
        return next;
    }
    const uint32_t *done;
    if (d->change) {
        done = json_change_read(d, &inner, at);
    } else {
        done = json_read_row(d, &inner, at, d->n_rows);
        if (done) done = json_record_done(&inner, done);
        if (done) json_add_row(d, d->form == FORM_UPSERT ? WR_KIND_UPDATE_AFTER : WR_KIND_INSERT), d->out->n_records++;
    }
    return done ? next : json_fault(r, inner.kind, *v[3], "%s", inner.message);
}

/* ---- lines ---- */

WR_COLD static void bad_line(json_decoder *d, const uint8_t *from, const uint8_t *to, wr_bad_kind kind, const char *message) {
    if (to > from && to[-1] == '\r') to--;
    wr_bad_add(d->out, kind, d->line, (uint64_t)(from - d->data), (wr_str){(const char *)from, (size_t)(to - from)}, message);
}

/* One line that is not blank, its places from ix on. */
static void read_line(json_decoder *d, json_reader *r, const uint32_t *ix, const uint8_t *from, const uint8_t *to) {
    r->message[0] = 0;
    r->allow_null = false;
    const uint32_t *next;
    if (d->opts.envelope) {
        if (*from == WR_ENVELOPE_OLD) {
            d->out->n_redelivered++, d->out->n_records++;
            return;
        }
        next = record_envelope(d, r, ix);
    } else if (d->change) {
        next = json_change_read(d, r, ix);
    } else {
        next = record_plain(d, r, ix);
        d->out->n_records += next != NULL;
    }
    if (WR_UNLIKELY(!next)) bad_line(d, from, to, r->kind, r->message);
}

static void read_lines(json_decoder *d, const uint8_t *from, const uint8_t *to, const uint32_t *ix) {
    json_reader r = d->proto;
    r.data = from;
    uint32_t size = (uint32_t)(to - from);
    for (const uint8_t *p = from; p < to;) {
        const uint8_t *nl = memchr(p, '\n', (size_t)(to - p)), *end = nl ? nl : to;
        r.end = (uint32_t)(end - from);
        if (*ix >= r.end) { /* nothing but blanks: a line, not a record */
            d->out->n_blank++;
        } else if (WR_UNLIKELY(end - p > d->opts.max_record_bytes)) {
            char message[160];
            snprintf(message, sizeof message, "a record of %td bytes, more than max-record-bytes = %lld; its first 200 bytes are shown", end - p, (long long)d->opts.max_record_bytes);
            bad_line(d, p, p + WR_MIN(end - p, RAW_SHOWN), WR_BAD_TOO_LONG, message);
        } else {
            r.escapes = memchr(p, '\\', (size_t)(end - p)) != NULL;
            read_line(d, &r, ix, p, end);
        }
        while (*ix < r.end && *ix < size) ix++;
        d->line++;
        d->out->n_lines++;
        p = end + 1;
    }
}

WR_COLD static void bad_text(json_decoder *d, const uint8_t *from, const uint8_t *to, wr_simd_error error) {
    char message[160];
    if (to - from > d->opts.max_record_bytes) {
        snprintf(message, sizeof message, "a record of %td bytes, more than max-record-bytes = %lld; its first 200 bytes are shown", to - from, (long long)d->opts.max_record_bytes);
        bad_line(d, from, from + WR_MIN(to - from, RAW_SHOWN), WR_BAD_TOO_LONG, message);
        return;
    }
    const char *p = (const char *)from, *end = (const char *)to;
    switch (error) {
    case WR_SIMD_UTF8:
        for (size_t used; p < end; p += used)
            if (wr_utf8_get(p, end, &used) == 0xFFFD && used == 1) break;
        snprintf(message, sizeof message, "byte %td of the line (0x%02X) is not valid UTF-8", p - (const char *)from, p < end ? (uint8_t)*p : 0);
        break;
    case WR_SIMD_STRING: snprintf(message, sizeof message, "JSON: a string is not closed at the end of the line"); break;
    case WR_SIMD_CONTROL: snprintf(message, sizeof message, "JSON: a control character (below 0x20) inside a string"); break;
    default: snprintf(message, sizeof message, "JSON: cannot be read"); break;
    }
    bad_line(d, from, to, error == WR_SIMD_UTF8 ? WR_BAD_UTF8 : WR_BAD_MALFORMED, message);
}

/* A line break nearest to the middle of whole lines [from, to); the returned pointer is where the second half begins, or NULL. */
static const uint8_t *middle(const uint8_t *from, const uint8_t *to) {
    const uint8_t *mid = from + (to - from) / 2, *before = memrchr(from, '\n', (size_t)(mid - from));
    const uint8_t *after = memchr(mid, '\n', (size_t)(to - mid));
    if (after && after + 1 == to) after = NULL;
    if (!before && !after) return NULL;
    if (before && after) return mid - before <= after - mid ? before + 1 : after + 1;
    return before ? before + 1 : after + 1;
}

static void read_block(json_decoder *d, const uint8_t *from, const uint8_t *to) {
    const uint32_t *ix;
    uint32_t        n;
    for (;;) {
        if (from == to) return;
        const uint8_t *one = memchr(from, '\n', (size_t)(to - from));
        bool           single = !one || one + 1 == to;
        if (d->opts.envelope && *from == WR_ENVELOPE_OLD && single) { /* the mark itself is no JSON: that is fine */
            d->out->n_redelivered++, d->out->n_records++, d->out->n_lines++, d->line++;
            return;
        }
        wr_simd_error error = wr_simd_index(d->simd, from, (size_t)(to - from), &ix, &n);
        if (error == WR_SIMD_OK) {
            read_lines(d, from, to, ix);
            return;
        }
        if (single) {
            bad_text(d, from, one ? one : to, error);
            d->line++;
            d->out->n_lines++;
            return;
        }
        const uint8_t *half = middle(from, to);
        if (!half) return;
        read_block(d, from, half); /* depth: at most the logarithm of the block, and of the lines beyond */
        from = half;
    }
}

/* Lines of a known shape the fast way; a surprise and, while nothing but surprises comes, more and more lines after it go the general way. */
static void read_fast(json_decoder *d, const uint8_t *from, const uint8_t *to) {
    enum { LINES_FAST = 8, LINES_MOST = 1024 };
    const uint8_t *nl = from < to ? memrchr(from, '\n', (size_t)(to - from)) : NULL, *whole = nl ? nl + 1 : from;
    while (from < whole) {
        uint64_t       before = d->line;
        const uint8_t *end = json_fast_read(d, from, whole), *last = end;
        if (end == whole) break;
        d->slow_lines = d->line - before >= LINES_FAST || !d->slow_lines ? 1 : WR_MIN(d->slow_lines * 2, (uint32_t)LINES_MOST);
        from = end;
        for (uint32_t i = 0; i < d->slow_lines && end < whole; i++) end = (const uint8_t *)memchr(last = end, '\n', (size_t)(whole - end)) + 1;
        read_block(d, from, end);
        json_fast_learn(d, last, end);
        from = end;
    }
    if (whole < to) read_block(d, whole, to); /* a last line without line break */
}

static uint32_t rows_expected(const json_decoder *d, const uint8_t *data, size_t len) {
    uint32_t most = d->opts.batch_rows;
    if (len >= 64 * 1024) return most;
    uint32_t n = 1;
    for (const uint8_t *p = data, *end = data + len; n < most && (p = memchr(p, '\n', (size_t)(end - p))); p++) n++;
    return WR_MIN(d->change ? n * 2 : n, most);
}

static void decode(wr_decoder *base, wr_mem *mem, const uint8_t *data, size_t len, bool first_chunk, wr_decoded *out) {
    json_decoder *d = (json_decoder *)base;
    d->chunk_mem = mem;
    d->data = data;
    d->out = out;
    d->line = 0;
    d->capacity = rows_expected(d, data, len);
    const uint8_t *from = data, *to = data + len;
    if (first_chunk && len >= 3 && !memcmp(data, "\xEF\xBB\xBF", 3)) from += 3;
    while (from < to) {
        const uint8_t *end = to;
        if (to - from > BLOCK_BYTES) {
            const uint8_t *nl = memrchr(from, '\n', BLOCK_BYTES);
            if (!nl) nl = memchr(from + BLOCK_BYTES, '\n', (size_t)(to - from - BLOCK_BYTES));
            if (nl) end = nl + 1;
        }
        if (d->fast) read_fast(d, from, end);
        else read_block(d, from, end);
        from = end;
    }
    json_close_batch(d);
    d->chunk_mem = NULL;
}

/* ---- making one ---- */

static void decoder_free(wr_decoder *base) {
    json_decoder *d = (json_decoder *)base;
    json_change_free(d);
    wr_simd_free(d->simd);
    wr_simd_free(d->inner_simd);
    wr_arena_free(d->arena);
    wr_free(d);
}

/* Option "<format>.<name>". */
static const char *key_of(char out[80], const char *format, const char *name) {
    snprintf(out, 80, "%s.%s", format, name);
    return out;
}

bool wr_json_sep(const wr_options *options, const wr_option_spec *specs, const char *format, char *sep, wr_diags *diags) {
    char   key[80];
    wr_str standard = wr_option_string(options, specs, key_of(key, format, "timestamp-format.standard"));
    *sep = ' ';
    if (wr_str_ieq(standard, WR_STR("ISO-8601"))) *sep = 'T';
    else if (!wr_str_ieq(standard, WR_STR("SQL"))) {
        const wr_option *at = wr_options_find(options, key);
        if (diags) wr_diags_add(diags, WR_SEV_ERROR, "WR121", at ? at->at : (wr_span){0}, "option '%s' is '%.*s', expected 'SQL' or 'ISO-8601'", key, WR_FMT(standard));
        return false;
    }
    return true;
}

static wr_status decoder_new(const wr_decoder_opts *opts, const wr_format *format, record_form form, wr_decoder **out, wr_diags *diags) {
    *out = NULL;
    json_reader proto = {0};
    char        key[80];
    if (!wr_option_bool(&opts->options, format->specs, key_of(key, format->name, "ignore-parse-errors"), &proto.ignore_errors, diags)) return WR_USER;
    if (form == FORM_PLAIN && !wr_option_bool(&opts->options, format->specs, "json.fail-on-missing-field", &proto.fail_missing, diags)) return WR_USER;
    if (!wr_json_sep(&opts->options, format->specs, format->name, &proto.sep, diags)) return WR_USER;
    if (proto.fail_missing && proto.ignore_errors) {
        const wr_option *at = wr_options_find(&opts->options, "json.fail-on-missing-field");
        if (diags) wr_diags_add(diags, WR_SEV_ERROR, "WR121", at ? at->at : (wr_span){0}, "'json.fail-on-missing-field' and 'json.ignore-parse-errors' cannot both be 'true'");
        return WR_USER;
    }
    json_decoder *d = wr_calloc(1, sizeof *d);
    d->base.decode = decode;
    d->base.free = decoder_free;
    d->arena = wr_arena_new(NULL);
    d->opts = *opts;
    if (!d->opts.batch_rows || d->opts.batch_rows > WR_BATCH_MAX) d->opts.batch_rows = WR_BATCH_MAX;
    if (d->opts.max_record_bytes <= 0) d->opts.max_record_bytes = 16 << 20;
    d->form = form;
    d->proto = proto;
    d->simd = wr_simd_new();
    d->key_col = -1;
    d->row = json_object_new(d->arena, opts->schema, opts->needed);
    d->all = *opts->schema;
    d->all_needed = opts->needed;
    if (form == FORM_UPSERT) {
        uint8_t *needed = wr_arena_calloc(d->arena, opts->schema->n + 1);
        uint32_t n_key = 0;
        for (uint32_t i = 0; i < opts->schema->n; i++) {
            bool is_key = opts->key && opts->key[i];
            needed[i] = is_key && (!opts->needed || opts->needed[i]);
            if (is_key) d->key_col = n_key++ ? -1 : (int32_t)i;
        }
        d->key_row = json_object_new(d->arena, opts->schema, needed);
        d->opts.envelope = true;
    }
    if (d->opts.envelope) d->inner_simd = wr_simd_new();
    if (form == FORM_PLAIN && !d->opts.envelope) d->fast = json_fast_new(d->arena);
    if (form >= FORM_DEBEZIUM) {
        wr_status status = json_change_new(d, format, diags);
        if (status != WR_OK) {
            decoder_free(&d->base);
            return status;
        }
    }
    *out = &d->base;
    return WR_OK;
}

static wr_status json_decoder_new(const wr_decoder_opts *opts, wr_decoder **out, wr_diags *diags) {
    return decoder_new(opts, &wr_format_json, FORM_PLAIN, out, diags);
}
static wr_status debezium_decoder_new(const wr_decoder_opts *opts, wr_decoder **out, wr_diags *diags) {
    return decoder_new(opts, &wr_format_debezium, FORM_DEBEZIUM, out, diags);
}
static wr_status canal_decoder_new(const wr_decoder_opts *opts, wr_decoder **out, wr_diags *diags) {
    return decoder_new(opts, &wr_format_canal, FORM_CANAL, out, diags);
}
static wr_status maxwell_decoder_new(const wr_decoder_opts *opts, wr_decoder **out, wr_diags *diags) {
    return decoder_new(opts, &wr_format_maxwell, FORM_MAXWELL, out, diags);
}
static wr_status ogg_decoder_new(const wr_decoder_opts *opts, wr_decoder **out, wr_diags *diags) {
    return decoder_new(opts, &wr_format_ogg, FORM_OGG, out, diags);
}
static wr_status upsert_decoder_new(const wr_decoder_opts *opts, wr_decoder **out, wr_diags *diags) {
    return decoder_new(opts, &wr_format_upsert, FORM_UPSERT, out, diags);
}

/* ---- offsets of envelopes, for sources ---- */

static bool find_int(const char *line, size_t len, const char *key, int64_t *out) {
    const char *p = memmem(line, len, key, strlen(key)), *end = line + len;
    if (!p) return false;
    p += strlen(key);
    while (p < end && (*p == ' ' || *p == ':' || *p == '\t')) p++;
    const char *q = p;
    while (q < end && (*q == '-' || (*q >= '0' && *q <= '9'))) q++;
    return wr_scalar_int((wr_str){p, (size_t)(q - p)}, out);
}

uint64_t wr_envelope_mark(uint8_t *data, size_t len, wr_envelope_seen *seen) {
    uint64_t n_old = 0;
    for (uint8_t *p = data, *end = data + len; p < end;) {
        uint8_t *nl = memchr(p, '\n', (size_t)(end - p)), *stop = nl ? nl : end;
        int64_t  partition, offset;
        size_t   size = (size_t)(stop - p);
        /* inside "key" and "value" quotes are escaped, so the first unescaped match is the envelope's own unless those are objects
         * and come first; the usual order is partition, offset, key, value */
        if (find_int((const char *)p, size, "\"partition\"", &partition) && find_int((const char *)p, size, "\"offset\"", &offset)) {
            uint32_t i = 0;
            while (i < seen->list.n && seen->list.at[i].partition != partition) i++;
            if (i == seen->list.n) wr_arr_push(&seen->list, (wr_envelope_pos){partition, offset});
            else if (offset > seen->list.at[i].offset) seen->list.at[i].offset = offset;
            else *p = WR_ENVELOPE_OLD, n_old++;
        }
        p = stop + 1;
    }
    return n_old;
}

/* ---- the table's lines ---- */

#define TEXT_SPECS(NAME)                                                                                                                       \
    {NAME ".ignore-parse-errors", "bool", "false", false, "a field that cannot be read becomes NULL; a record that cannot be read is skipped and counted"}, \
        {NAME ".map-null-key.mode", "enum:DROP|LITERAL", "LITERAL", false, "writing a MAP's NULL key: DROP its entry, or write LITERAL"},                    \
        {NAME ".map-null-key.literal", "string", "null", false, "writing: the key that stands for NULL"},                                                         \
        {NAME ".encode.decimal-as-plain-number", "bool", "true", false, "writing: DECIMAL is always written as plain digits; accepted for Flink's sake"},         \
        {NAME ".timestamp-format.standard", "enum:SQL|ISO-8601", "SQL", false, "SQL: 2026-01-31 12:00:00.123; ISO-8601: 2026-01-31T12:00:00.123"},          \
        {NAME ".encode.ignore-null-fields", "bool", "false", false, "writing: leave NULL fields out"}

static const wr_option_spec json_specs[] = {
    TEXT_SPECS("json"),
    {"json.fail-on-missing-field", "bool", "false", false, "a record without a column's field is a bad record (else the field is NULL)"},
    {0}};
static const wr_option_spec debezium_specs[] = {
    TEXT_SPECS("debezium-json"),
    {"debezium-json.schema-include", "bool", "false", false, "records with \"schema\" and \"payload\" are recognised by themselves; accepted for Flink's sake"},
    {0}};
static const wr_option_spec canal_specs[] = {
    TEXT_SPECS("canal-json"),
    {"canal-json.database.include", "string", NULL, false, "regular expression: records of databases whose whole name does not match are passed over"},
    {"canal-json.table.include", "string", NULL, false, "regular expression: records of tables whose whole name does not match are passed over"},
    {0}};
static const wr_option_spec maxwell_specs[] = {TEXT_SPECS("maxwell-json"), {0}};
static const wr_option_spec ogg_specs[] = {TEXT_SPECS("ogg-json"), {0}};
static const wr_option_spec upsert_specs[] = {TEXT_SPECS("upsert-json"), {0}};

const wr_format wr_format_json = {.name = "json", .specs = json_specs, .changes = WR_FORMAT_APPEND, .can_write = true, .decoder_new = json_decoder_new, .encoder_new = wr_json_encoder_new};
const wr_format wr_format_debezium = {.name = "debezium-json", .specs = debezium_specs, .changes = WR_FORMAT_RETRACT, .metadata = json_debezium_metadata, .can_write = true,
                                      .decoder_new = debezium_decoder_new, .encoder_new = wr_debezium_encoder_new};
const wr_format wr_format_canal = {.name = "canal-json", .specs = canal_specs, .changes = WR_FORMAT_RETRACT, .metadata = json_canal_metadata, .can_write = true,
                                   .decoder_new = canal_decoder_new, .encoder_new = wr_canal_encoder_new};
const wr_format wr_format_maxwell = {.name = "maxwell-json", .specs = maxwell_specs, .changes = WR_FORMAT_RETRACT, .metadata = json_maxwell_metadata, .can_write = true,
                                     .decoder_new = maxwell_decoder_new, .encoder_new = wr_maxwell_encoder_new};
const wr_format wr_format_ogg = {.name = "ogg-json", .specs = ogg_specs, .changes = WR_FORMAT_RETRACT, .metadata = json_ogg_metadata, .can_write = true,
                                 .decoder_new = ogg_decoder_new, .encoder_new = wr_ogg_encoder_new};
const wr_format wr_format_upsert = {.name = "upsert-json", .specs = upsert_specs, .changes = WR_FORMAT_UPSERT, .decoder_new = upsert_decoder_new};
