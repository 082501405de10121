/* format/raw.c: a line is a value: one column of STRING or BYTES, for logs and for looking at bad files.
 *
 * Rules      the line break (and a carriage return before it) does not belong to the value; an empty line is an empty value, not blank.
 * Thread     one decoder a worker.                                                                                     */
#include "format/parts.h"
#include <stdio.h>

typedef struct raw_decoder {
    wr_decoder      base;
    wr_decoder_opts opts;
} raw_decoder;

static void decode(wr_decoder *base, wr_mem *mem, const uint8_t *data, size_t len, bool first_chunk, wr_decoded *out) {
    raw_decoder *d = (raw_decoder *)base;
    (void)first_chunk;
    bool      text = wr_type_is_string(d->opts.schema->fields[0].type);
    wr_batch *batch = NULL;
    uint32_t  n = 0, capacity = len + 1 < d->opts.batch_rows ? (uint32_t)len + 1 : d->opts.batch_rows;
    for (const uint8_t *p = data, *end = data + len; p < end;) {
        const uint8_t *nl = memchr(p, '\n', (size_t)(end - p)), *stop = nl ? nl : end, *from = p;
        p = stop + 1;
        if (stop > from && stop[-1] == '\r') stop--;
        wr_str value = {(const char *)from, (size_t)(stop - from)};
        char   message[160];
        if ((int64_t)value.len > d->opts.max_record_bytes) {
            snprintf(message, sizeof message, "a record of %zu bytes, more than max-record-bytes = %lld; its first 200 bytes are shown", value.len, (long long)d->opts.max_record_bytes);
            wr_bad_add(out, WR_BAD_TOO_LONG, out->n_lines, (uint64_t)(from - data), (wr_str){value.ptr, WR_MIN(value.len, 200u)}, message);
        } else if (text && !wr_utf8_valid(value)) {
            wr_bad_add(out, WR_BAD_UTF8, out->n_lines, (uint64_t)(from - data), value, "the line is not valid UTF-8; a BYTES column takes any bytes");
        } else {
            if (!batch) {
                batch = wr_rows_open(d->opts.schema, d->opts.needed, capacity, false);
                if (mem) wr_mem_keep(batch->mem, mem);
            }
            if (batch->cols[0].type.id != WR_T_NULL) ((wr_sview *)batch->cols[0].data)[n] = wr_sview_borrow(value.ptr, value.len);
            n++, out->n_rows++, out->n_records++;
            if (n == capacity) {
                wr_rows_close(batch, n);
                wr_decoded_push(out, batch);
                batch = NULL;
                n = 0;
            }
        }
        out->n_lines++;
    }
    if (batch) {
        wr_rows_close(batch, n);
        wr_decoded_push(out, batch);
    }
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
    *d = (raw_decoder){.base = {decode, decoder_free}, .opts = *opts};
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

static wr_status encoder_new(const wr_schema *schema, const wr_options *options, const wr_tz *tz, wr_encoder **out, wr_diags *diags) {
    (void)options, (void)tz;
    *out = NULL;
    if (!one_column(schema, diags)) return WR_USER;
    *out = wr_calloc(1, sizeof **out);
    **out = (wr_encoder){encode, encoder_free};
    return WR_OK;
}

static const wr_option_spec specs[] = {{0}};
const wr_format wr_format_raw = {.name = "raw", .specs = specs, .changes = WR_FORMAT_APPEND, .can_write = true, .decoder_new = decoder_new, .encoder_new = encoder_new};
