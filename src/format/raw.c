/* format/raw.c: a line is a value: one column of STRING or BYTES, for logs and for looking at bad files.
 *
 * Rules      the line break (and a carriage return before it) does not belong to the value; an empty line is an empty value, not blank.
 * Thread     one decoder a worker.                                                                                     */
#include "format/parts.h"
#include <stdio.h>

typedef struct raw_decoder {
    wr_decoder      base;
    wr_decoder_opts opts;
    bool            text;
    wr_batch       *batch; /* being filled, with n of capacity rows */
    uint32_t        n, capacity;
} raw_decoder;

static void close_batch(raw_decoder *d, wr_decoded *out) {
    if (!d->batch) return;
    wr_rows_close(d->batch, d->n);
    wr_decoded_push(out, d->batch);
    d->batch = NULL;
    d->n = 0;
}

static void add_value(raw_decoder *d, wr_mem *mem, uint64_t line, uint64_t at, wr_str value, wr_decoded *out) {
    char message[160];
    if ((int64_t)value.len > d->opts.max_record_bytes) {
        snprintf(message, sizeof message, "a record of %zu bytes, more than max-record-bytes = %lld; its first 200 bytes are shown", value.len, (long long)d->opts.max_record_bytes);
        wr_bad_add(out, WR_BAD_TOO_LONG, line, at, (wr_str){value.ptr, WR_MIN(value.len, 200u)}, message);
        return;
    }
    if (d->text && !wr_utf8_valid(value)) {
        wr_bad_add(out, WR_BAD_UTF8, line, at, value, "the line is not valid UTF-8; a BYTES column takes any bytes");
        return;
    }
    if (!d->batch) {
        d->batch = wr_rows_open(d->opts.schema, d->opts.needed, d->capacity, false);
        if (mem) wr_mem_keep(d->batch->mem, mem);
    }
    if (d->batch->cols[0].type.id != WR_T_NULL) ((wr_sview *)d->batch->cols[0].data)[d->n] = wr_sview_borrow(value.ptr, value.len);
    if (out->want_lines) wr_arr_push(&out->row_lines, (uint32_t)line);
    d->n++, out->n_rows++, out->n_records++;
    if (d->n == d->capacity) close_batch(d, out);
}

static void decode(wr_decoder *base, wr_mem *mem, const uint8_t *data, size_t len, bool first_chunk, wr_decoded *out) {
    raw_decoder *d = (raw_decoder *)base;
    (void)first_chunk;
    d->capacity = len + 1 < d->opts.batch_rows ? (uint32_t)len + 1 : d->opts.batch_rows;
    for (const uint8_t *p = data, *end = data + len; p < end;) {
        const uint8_t *nl = memchr(p, '\n', (size_t)(end - p)), *stop = nl ? nl : end, *from = p;
        p = stop + 1;
        if (stop > from && stop[-1] == '\r') stop--;
        add_value(d, mem, out->n_lines, (uint64_t)(from - data), (wr_str){(const char *)from, (size_t)(stop - from)}, out);
        out->n_lines++;
    }
    close_batch(d, out);
}

static void decode_records(wr_decoder *base, wr_mem *mem, const uint8_t *data, const wr_slice *records, uint32_t n, wr_decoded *out) {
    raw_decoder *d = (raw_decoder *)base;
    d->capacity = WR_MIN(n + 1, d->opts.batch_rows);
    for (uint32_t i = 0; i < n; i++) add_value(d, mem, i, records[i].at, (wr_str){(const char *)data + records[i].at, records[i].len}, out);
    out->n_lines += n;
    close_batch(d, out);
}

static void decoder_free(wr_decoder *base) { wr_free(base); }

static bool one_column(const wr_schema *schema, wr_diags *diags) {
    if (schema->n == 1 && (wr_type_is_string(schema->fields[0].type) || wr_type_is_binary(schema->fields[0].type))) return true;
    if (diags) {
        wr_diags_add(diags, WR_SEV_ERROR, "WR125", (wr_span){0}, "the format 'raw' has one column of STRING or BYTES, the table has %u column%s", schema->n, schema->n == 1 ? " of another type" : "s");
        wr_diags_hint(diags, "metadata columns (METADATA FROM 'file.path') may be added");
    }
    return false;
}

static wr_status decoder_new(const wr_decoder_opts *opts, wr_decoder **out, wr_diags *diags) {
    *out = NULL;
    if (!one_column(opts->schema, diags)) return WR_USER;
    raw_decoder *d = wr_calloc(1, sizeof *d);
    *d = (raw_decoder){.base = {.decode = decode, .free = decoder_free, .decode_records = decode_records}, .opts = *opts, .text = wr_type_is_string(opts->schema->fields[0].type)};
    if (!d->opts.batch_rows || d->opts.batch_rows > WR_BATCH_MAX) d->opts.batch_rows = WR_BATCH_MAX;
    if (d->opts.max_record_bytes <= 0) d->opts.max_record_bytes = 16 << 20;
    *out = &d->base;
    return WR_OK;
}

static void encode(wr_encoder *e, const wr_batch *batch, uint32_t from_live, uint32_t to_live, wr_sbuf *out) {
    (void)e;
    for (uint32_t i = from_live; i < to_live; i++) {
        uint32_t row = wr_batch_row(batch, i);
        if (!wr_vec_is_null(&batch->cols[0], row)) wr_sbuf_add_str(out, wr_sview_str((const wr_sview *)batch->cols[0].data + row));
        wr_sbuf_addc(out, '\n');
    }
}

static void encoder_free(wr_encoder *e) { wr_free(e); }

static wr_status encoder_new(const wr_encoder_opts *opts, wr_encoder **out, wr_diags *diags) {
    *out = NULL;
    if (!one_column(opts->schema, diags)) return WR_USER;
    *out = wr_calloc(1, sizeof **out);
    **out = (wr_encoder){.encode = encode, .free = encoder_free};
    return WR_OK;
}

static const wr_option_spec specs[] = {{0}};
const wr_format wr_format_raw = {.name = "raw", .specs = specs, .changes = WR_FORMAT_APPEND, .can_write = true, .decoder_new = decoder_new, .encoder_new = encoder_new};
