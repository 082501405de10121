/* connect/ingest/body.c: JSON, NDJSON and CSV bodies as records: one line of JSON each. See ingest.h.
 *
 * Idea       what the log keeps is what the table's format reads later: JSON as it was sent, one value a line; rows of CSV are decoded and written as JSON. All is
 *            decoded here once to find what cannot be read, so that the sender hears of it: row number (from 1) and reason.
 * Kept bad   records that cannot be read stand in the log as they came, between the others: the table's source finds them again, counts them and puts them where
 *            'on-error' says, with its bytes.
 * Thread     decoders are not shared: whoever reads takes a set from the list, or makes one.                                              */
#include "connect/http/target.h"
#include "connect/ingest/ingest.h"
#include <stdio.h>

enum { PADDING = 64 };

typedef struct tools {
    struct tools *next;
    wr_decoder   *json, *csv, *csv_header;
    wr_encoder   *encoder;
} tools;

struct ingest_reader {
    wr_arena       *arena;
    wr_schema       schema;
    wr_options      options, csv, csv_header;
    const wr_tz    *tz;
    wr_world       *world;
    int64_t         max_record_bytes;
    wr_mutex       *lock;
    tools          *spare;
};

void ingest_rows_free(ingest_rows *rows) {
    wr_sbuf_free(&rows->text);
    wr_arr_free(&rows->records);
    wr_arr_free(&rows->errors);
}

/* ---- decoders ---- */

static void free_tools(tools *t) {
    if (t->json) t->json->free(t->json);
    if (t->csv) t->csv->free(t->csv);
    if (t->csv_header) t->csv_header->free(t->csv_header);
    if (t->encoder) t->encoder->free(t->encoder);
    wr_free(t);
}

static tools *make_tools(ingest_reader *r, wr_diags *diags) {
    const wr_format *json = wr_format_find(WR_STR("json")), *csv = wr_format_find(WR_STR("csv"));
    wr_decoder_opts  opts = {.schema = &r->schema, .options = r->options, .tz = r->tz, .world = r->world, .batch_rows = WR_BATCH_MAX, .max_record_bytes = r->max_record_bytes};
    wr_encoder_opts  out = {.schema = &r->schema, .options = r->options, .tz = r->tz, .world = r->world};
    tools           *t = wr_calloc(1, sizeof *t);
    bool             ok = json->decoder_new(&opts, &t->json, diags) == WR_OK;
    opts.options = r->csv;
    ok = ok && csv->decoder_new(&opts, &t->csv, diags) == WR_OK;
    opts.options = r->csv_header;
    ok = ok && csv->decoder_new(&opts, &t->csv_header, diags) == WR_OK && json->encoder_new(&out, &t->encoder, diags) == WR_OK;
    if (ok) return t;
    free_tools(t);
    return NULL;
}

wr_status ingest_reader_new(const wr_table_info *t, wr_connect_ctx *ctx, ingest_reader **out) {
    ingest_reader *r = wr_calloc(1, sizeof *r);
    *r = (ingest_reader){.arena = wr_arena_new(NULL), .schema = {t->n_physical, t->schema->fields}, .options = t->options, .tz = ctx->tz, .world = ctx->world, .lock = wr_mutex_new()};
    wr_option *csv = wr_new_n(r->arena, wr_option, 2); /* an empty field is NULL, also for times and texts */
    csv[0] = (wr_option){WR_STR("csv.null-literal"), WR_STR(""), {0}}, csv[1] = (wr_option){WR_STR("csv.header"), WR_STR("true"), {0}};
    r->csv = (wr_options){1, csv}, r->csv_header = (wr_options){2, csv};
    *out = NULL;
    bool ok = wr_option_size(&t->options, wr_source_specs, "max-record-bytes", &r->max_record_bytes, ctx->diags);
    if (ok) ok = (r->spare = make_tools(r, ctx->diags)) != NULL;
    if (ok) *out = r;
    else ingest_reader_free(r);
    return ok ? WR_OK : WR_USER;
}

void ingest_reader_free(ingest_reader *r) {
    if (!r) return;
    for (tools *t; (t = r->spare);) {
        r->spare = t->next;
        free_tools(t);
    }
    wr_mutex_free(r->lock);
    wr_arena_free(r->arena);
    wr_free(r);
}

static tools *take(ingest_reader *r) {
    wr_mutex_lock(r->lock);
    tools *t = r->spare;
    if (t) r->spare = t->next;
    wr_mutex_unlock(r->lock);
    if (t) return t;
    wr_diags diags;
    wr_diags_init(&diags);
    t = make_tools(r, &diags); /* as the first set was made, so it can be */
    wr_diags_free(&diags);
    wr_assert(t);
    return t;
}
static void give(ingest_reader *r, tools *t) {
    wr_mutex_lock(r->lock);
    t->next = r->spare;
    r->spare = t;
    wr_mutex_unlock(r->lock);
}

/* ---- taking apart ---- */

static bool is_type(const char *type, const char *name) {
    size_t n = strlen(name);
    return type && !strncasecmp(type, name, n) && (!type[n] || strchr("; \t", type[n]));
}

static bool has_header(const char *type) { /* RFC 4180: text/csv; header=present */
    for (const char *p = type; (p = strchr(p, ';'));) {
        p += 1 + strspn(p + 1, " \t");
        if (!strncasecmp(p, "header=present", 14)) return true;
    }
    return false;
}

static void add_error(ingest_rows *out, uint64_t row, const wr_bad_record *bad) {
    out->n_bad++;
    if (out->errors.n == INGEST_ERRORS_SHOWN) return;
    ingest_error e = {.row = row};
    snprintf(e.reason, sizeof e.reason, "%s: %s", wr_bad_kind_name(bad->kind), bad->message);
    wr_arr_push(&out->errors, e);
}

static void add_record(ingest_rows *out, size_t from, size_t to) { /* places; they become pointers when the text is complete */
    wr_log_record record = {.time_ms = WR_LOG_NO_TIME, .value = {(const char *)(uintptr_t)from, to - from}};
    wr_arr_push(&out->records, record);
}
static void set_pointers(ingest_rows *out) {
    for (uint32_t i = 0; i < out->records.n; i++) out->records.at[i].value.ptr = out->text.at + (uintptr_t)out->records.at[i].value.ptr;
}

/* Lines without blank ones. */
static void split_lines(wr_str body, wr_sbuf *out) {
    if (body.len >= 3 && !memcmp(body.ptr, "\xef\xbb\xbf", 3)) body = (wr_str){body.ptr + 3, body.len - 3};
    for (const char *at = body.ptr, *end = body.ptr + body.len; at < end;) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        wr_str      line = wr_str_trim((wr_str){at, (size_t)((stop ? stop : end) - at)});
        if (line.len) wr_sbuf_add_str(out, line), wr_sbuf_addc(out, '\n');
        at = stop ? stop + 1 : end;
    }
}

static void decode(wr_decoder *decoder, wr_str text, wr_decoded *d, wr_mem **mem) {
    *mem = wr_mem_new(text.len + PADDING);
    uint8_t *data = wr_mem_alloc(*mem, text.len + PADDING);
    if (text.len) memcpy(data, text.ptr, text.len);
    memset(data + text.len, 0, PADDING);
    decoder->decode(decoder, *mem, data, text.len, true, d);
}

/* One record a line of out->text. */
static void judge_lines(tools *t, bool keep_bad, ingest_rows *out) {
    static const wr_bad_record nothing = {.kind = WR_BAD_MALFORMED, .message = "there is no value"}; /* what a decoder passes over as blank */
    wr_decoded d = {.want_lines = true};
    wr_mem    *mem;
    uint64_t   row = 0;
    uint32_t   bad = 0, good = 0;
    decode(t->json, wr_sbuf_str(&out->text), &d, &mem);
    for (size_t at = 0; at < out->text.len; row++) {
        const char *stop = memchr(out->text.at + at, '\n', out->text.len - at);
        size_t      end = (size_t)(stop - out->text.at);
        bool        is_good = good < d.row_lines.n && d.row_lines.at[good] == row;
        while (good < d.row_lines.n && d.row_lines.at[good] == row) good++;
        const wr_bad_record *why = bad < d.bad.n && d.bad.at[bad].line == row ? &d.bad.at[bad++] : &nothing;
        if (is_good) out->n_good++;
        else add_error(out, row + 1, why);
        if (is_good || keep_bad) add_record(out, at, end);
        at = end + 1;
    }
    wr_decoded_free(&d);
    wr_mem_unref(mem);
}

static void add_bad_csv(ingest_rows *out, const wr_bad_record *bad, bool keep_bad) {
    add_error(out, out->n_good + out->n_bad + 1, bad);
    if (!keep_bad) return;
    size_t from = out->text.len;
    wr_sbuf_add_str(&out->text, wr_str_trim(bad->raw));
    add_record(out, from, out->text.len);
}

static void read_csv(tools *t, wr_decoder *decoder, wr_str body, bool keep_bad, ingest_rows *out) {
    wr_decoded d = {0};
    wr_mem    *mem;
    wr_sbuf    closed = {0};
    uint32_t   bad = 0;
    if (body.len && body.ptr[body.len - 1] != '\n') { /* the last line too is one */
        wr_sbuf_add_str(&closed, body);
        wr_sbuf_addc(&closed, '\n');
        body = wr_sbuf_str(&closed);
    }
    decode(decoder, body, &d, &mem);
    for (uint32_t b = 0; b < d.batches.n; b++) {
        const wr_batch *batch = d.batches.at[b];
        for (uint32_t i = 0; i < wr_batch_live(batch); i++) {
            while (bad < d.bad.n && d.bad.at[bad].before_row <= out->n_good) add_bad_csv(out, &d.bad.at[bad++], keep_bad);
            size_t from = out->text.len;
            t->encoder->encode(t->encoder, batch, i, i + 1, &out->text);
            add_record(out, from, out->text.len - 1);
            out->n_good++;
        }
    }
    while (bad < d.bad.n) add_bad_csv(out, &d.bad.at[bad++], keep_bad);
    wr_decoded_free(&d);
    wr_mem_unref(mem);
    wr_sbuf_free(&closed);
}

static void refuse(ingest_rows *out, int status, const char *fmt, const char *what) {
    out->status = status;
    snprintf(out->why, sizeof out->why, fmt, what);
}

void ingest_read(ingest_reader *r, const char *type, wr_str body, bool keep_bad, ingest_rows *out) {
    tools      *t = take(r);
    uint64_t    n;
    const char *why;
    if (is_type(type, "text/csv")) {
        read_csv(t, has_header(type) ? t->csv_header : t->csv, body, keep_bad, out);
    } else if (is_type(type, "application/x-ndjson") || is_type(type, "application/ndjson") || is_type(type, "application/jsonl") || is_type(type, "application/jsonlines")) {
        split_lines(body, &out->text);
        judge_lines(t, keep_bad, out);
    } else if (is_type(type, "multipart/form-data") || is_type(type, "application/octet-stream") || is_type(type, "application/xml") || is_type(type, "text/html")) {
        refuse(out, 415, "the body is '%.100s'; rows are taken as application/json, application/x-ndjson and text/csv", type);
    } else if (json_lines(body, WR_STR(""), &out->text, &n, &why)) { /* curl says application/x-www-form-urlencoded of whatever it sends */
        judge_lines(t, keep_bad, out);
    } else {
        refuse(out, 400, "the body is not JSON: %s", why);
    }
    give(r, t);
    set_pointers(out);
}
