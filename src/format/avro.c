/* format/avro.c: the formats avro, avro-confluent and debezium-avro-confluent: messages that are data of a schema. See avro.h.
 *
 * avro       a bare datum of the schema that the table's columns have (Flink's), or of 'avro.schema'.
 * avro-confluent  five bytes name the schema of whoever wrote, which comes from a registry and is resolved to the columns; so versions may be mixed in a topic.
 *            Sinks register the table's schema when they start, after asking whether it goes with what is there.
 * debezium-avro-confluent  the same around Debezium's envelope: c and r give +I, u gives -U +U, d gives -D. Sinks write c and d, as Flink does.
 * Thread     one decoder or encoder a worker. Memory: plans, bounded by the registry's client.                                 */
#include "format/avro.h"
#include "format/registry.h"
#include <stdio.h>

typedef enum form { FORM_PLAIN, FORM_REGISTRY, FORM_DEBEZIUM } form;
static const char *const names[] = {"avro", "avro-confluent", "debezium-avro-confluent"};
static const wr_option_spec *const all_specs[];

typedef struct made { /* of one schema of a writer */
    wr_arena          *arena;
    wr_mem            *constants;
    const avro_schema *writer;
    avro_plan         *row;
    int32_t            before, after, op; /* Debezium: fields of the envelope; before -1: it has none */
    avro_plan         *rows[2];           /* of before and after */
} made;

typedef struct avro_decoder {
    wr_decoder         base;
    wr_decoder_opts    opts;
    form               form;
    wr_arena          *arena;
    const avro_schema *reader;            /* of the table's own; NULL: the columns are all there is */
    made              *plain;             /* FORM_PLAIN: of messages */
    wr_sbuf            header;            /* of the file that the chunk at hand comes from, with what was made of it */
    avro_file          file;
    made              *of_file;           /* NULL: file_why */
    char               file_why[200];
    wr_registry       *registry;
    wr_batch          *batch;             /* being filled, with n of capacity rows */
    uint8_t           *kinds;
    uint32_t           n, capacity;
} avro_decoder;

/* ---- the batch being filled ---- */

static void close_batch(avro_decoder *d, wr_decoded *out) {
    if (!d->batch) return;
    if (d->n) {
        wr_rows_close(d->batch, d->n);
        wr_decoded_push(out, d->batch);
    } else {
        wr_batch_unref(d->batch);
    }
    d->batch = NULL;
    d->n = 0;
}

static void need_rows(avro_decoder *d, uint32_t rows, wr_mem *mem, wr_decoded *out) {
    if (d->batch && d->n + rows > d->capacity) close_batch(d, out);
    if (d->batch) return;
    d->batch = wr_rows_open(d->opts.schema, d->opts.needed, WR_MAX(d->capacity, rows), d->form == FORM_DEBEZIUM);
    d->kinds = (uint8_t *)(uintptr_t)d->batch->kinds;
    if (mem) wr_mem_keep(d->batch->mem, mem);
}

static void add_row(avro_decoder *d, uint32_t line, wr_kind kind, wr_decoded *out) {
    if (d->kinds) d->kinds[d->n] = (uint8_t)kind;
    if (out->want_lines) wr_arr_push(&out->row_lines, line);
    d->n++, out->n_rows++;
}

/* ---- plans of writers' schemas ---- */

static void free_made(void *self, void *plan) {
    made *m = plan;
    (void)self;
    if (!m) return;
    wr_mem_unref(m->constants);
    wr_arena_free(m->arena);
    wr_free(m);
}

static const avro_schema *record_in(const avro_schema *s) {
    if (s->kind == AVRO_RECORD) return s;
    for (uint32_t i = 0; s->kind == AVRO_UNION && i < s->n; i++)
        if (s->kids[i]->kind == AVRO_RECORD) return s->kids[i];
    return NULL;
}

static bool make_envelope(const avro_decoder *d, made *m, char message[200]) {
    const avro_schema *w = m->writer;
    m->before = m->after = m->op = -1;
    for (uint32_t i = 0; w->kind == AVRO_RECORD && i < w->n; i++) {
        const avro_field *f = &w->fields[i];
        if (wr_str_eq(f->name, WR_STR("before")) && record_in(f->schema)) m->before = (int32_t)i;
        if (wr_str_eq(f->name, WR_STR("after")) && record_in(f->schema)) m->after = (int32_t)i;
        if (wr_str_eq(f->name, WR_STR("op"))) m->op = (int32_t)i;
    }
    if (m->after < 0 || m->op < 0) return snprintf(message, 200, "it is no envelope of Debezium: 'after' (a record) and 'op' are missing"), false;
    for (int k = 0; k < 2; k++) {
        int32_t field = k ? m->after : m->before;
        if (field < 0) continue;
        m->rows[k] = avro_plan_new(m->arena, record_in(w->fields[field].schema), d->opts.schema, d->opts.needed, d->reader, m->constants, message);
        if (!m->rows[k]) return false;
    }
    return true;
}

static made *make(avro_decoder *d, wr_str text, uint32_t n_references, const wr_registry_schema *references, char message[200]) {
    made      *m = wr_calloc(1, sizeof *m);
    avro_names known = {0};
    m->arena = wr_arena_new(NULL);
    m->constants = wr_mem_new(0);
    bool ok = true;
    for (uint32_t i = 0; i < n_references && ok; i++) ok = avro_schema_parse(m->arena, wr_str_dup(m->arena, references[i].text), &known, message) != NULL;
    ok = ok && (m->writer = avro_schema_parse(m->arena, wr_str_dup(m->arena, text), &known, message)) != NULL;
    if (ok && d->form == FORM_DEBEZIUM) ok = make_envelope(d, m, message);
    else if (ok) ok = (m->row = avro_plan_new(m->arena, m->writer, d->opts.schema, d->opts.needed, d->reader, m->constants, message)) != NULL;
    if (!ok) free_made(NULL, m), m = NULL;
    return m;
}

static void *make_registered(void *self, const wr_registry_schema *schema, char message[200]) {
    return make(self, schema->text, schema->n_references, schema->references, message);
}

/* ---- records ---- */

static bool at_end(avro_reader *r, const uint8_t *at) {
    if (!at || at == r->end) return at != NULL;
    return avro_fault(r, WR_BAD_MALFORMED, "Avro: %td more byte%s behind the record", r->end - at, r->end - at == 1 ? "" : "s") != NULL;
}

/* *at: of the field in the record, or NULL. A union's branch that is null counts as no value. */
static const uint8_t *record_at(avro_reader *r, const avro_schema *s, const uint8_t *at) {
    int64_t branch;
    if (!at || s->kind != AVRO_UNION) return at;
    const uint8_t *next = avro_get_long(at, r->end, &branch); /* it was skipped before, so it is there */
    return next && s->kids[branch]->kind == AVRO_RECORD ? next : NULL;
}

static bool old_and_new(avro_decoder *d, avro_reader *r, const made *m, const uint8_t *const at[2], char op, uint32_t line, wr_decoded *out) {
    bool has_old = op == 'u' || op == 'd', has_new = op != 'd';
    if (has_old && !at[0])
        return avro_fault(r, WR_BAD_MISSING, "op \"%c\" without \"before\": the source table needs REPLICA IDENTITY FULL, so that the old row is in the log", op) != NULL;
    if (has_new && !at[1]) return avro_fault(r, WR_BAD_MISSING, "op \"%c\" without \"after\"", op) != NULL;
    uint32_t row = d->n;
    r->allow_null = true;
    if (has_old && !avro_read_row(r, m->rows[0], at[0], d->batch->cols, row++)) return false;
    r->allow_null = false;
    if (has_new && !avro_read_row(r, m->rows[1], at[1], d->batch->cols, row)) return false;
    if (has_old) add_row(d, line, has_new ? WR_KIND_UPDATE_BEFORE : WR_KIND_DELETE, out);
    if (has_new) add_row(d, line, has_old ? WR_KIND_UPDATE_AFTER : WR_KIND_INSERT, out);
    return true;
}

static bool read_envelope(avro_decoder *d, avro_reader *r, const made *m, const uint8_t *at, uint32_t line, wr_decoded *out) {
    const avro_schema *w = m->writer;
    const uint8_t     *fields[3] = {0}; /* before, after, op */
    for (uint32_t i = 0; i < w->n; i++) {
        if ((int32_t)i == m->before) fields[0] = at;
        if ((int32_t)i == m->after) fields[1] = at;
        if ((int32_t)i == m->op) fields[2] = at;
        if (!(at = avro_skip(r, w->fields[i].schema, at, 0))) return false;
    }
    if (!at_end(r, at)) return false;
    const avro_schema *op = w->fields[m->op].schema;
    int64_t            branch = 0, len = 0;
    if (op->kind == AVRO_UNION) fields[2] = avro_get_long(fields[2], r->end, &branch), op = op->kids[branch];
    if (op->kind == AVRO_STRING) fields[2] = avro_get_long(fields[2], r->end, &len);
    char c = len == 1 ? (char)*fields[2] : 0;
    if (!c || !strchr("crud", c)) return avro_fault(r, WR_BAD_MALFORMED, "\"op\" is \"%.*s\"; only \"c\", \"r\", \"u\" and \"d\" are known", (int)WR_MIN(len, 20), (const char *)fields[2]) != NULL;
    const uint8_t *rows[2] = {m->before < 0 ? NULL : record_at(r, w->fields[m->before].schema, fields[0]), record_at(r, w->fields[m->after].schema, fields[1])};
    return old_and_new(d, r, m, rows, c, line, out);
}

/* The plan for a message, and where its datum begins. False: the record is bad, or out->failed. */
static bool plan_of(avro_decoder *d, avro_reader *r, wr_str message, const made **m, wr_decoded *out) {
    int32_t     id;
    void       *plan;
    const char *why;
    *m = d->plain;
    if (d->form == FORM_PLAIN) return true;
    r->kind = WR_BAD_MALFORMED;
    if (!wr_registry_prefix_get(message, &id, r->message)) return false;
    if ((out->failed = wr_registry_plan(d->registry, id, &plan, &why, &out->err)) != WR_OK) return false;
    *m = plan;
    return plan || avro_fault(r, WR_BAD_TYPE, "%.199s", why);
}

static bool read_record(avro_decoder *d, wr_mem *mem, wr_str message, uint32_t line, avro_reader *r, wr_decoded *out) {
    const made *m;
    if ((int64_t)message.len > d->opts.max_record_bytes)
        return avro_fault(r, WR_BAD_TOO_LONG, "a record of %zu bytes, more than max-record-bytes = %lld", message.len, (long long)d->opts.max_record_bytes) != NULL;
    if (!plan_of(d, r, message, &m, out)) return false;
    const uint8_t *at = (const uint8_t *)message.ptr + (d->form == FORM_PLAIN ? 0 : WR_REGISTRY_PREFIX);
    need_rows(d, d->form == FORM_DEBEZIUM ? 2 : 1, mem, out); /* not one more: keys of a whole chunk are one batch */
    *r = (avro_reader){.end = (const uint8_t *)message.ptr + message.len, .mem = d->batch->mem};
    if (d->form == FORM_DEBEZIUM) return read_envelope(d, r, m, at, line, out);
    if (!at_end(r, avro_read_row(r, m->row, at, d->batch->cols, d->n))) return false;
    add_row(d, line, WR_KIND_INSERT, out);
    return true;
}

static void decode_records(wr_decoder *base, wr_mem *mem, const uint8_t *data, const wr_slice *records, uint32_t n, wr_decoded *out) {
    avro_decoder *d = (avro_decoder *)base;
    d->capacity = WR_MIN(d->form == FORM_DEBEZIUM ? 2 * n : n + 1, d->opts.batch_rows);
    for (uint32_t i = 0; i < n && out->failed == WR_OK; i++) {
        wr_str      message = {(const char *)data + records[i].at, records[i].len};
        avro_reader r = {0};
        if (read_record(d, mem, message, i, &r, out)) out->n_records++;
        else if (out->failed == WR_OK) wr_bad_add(out, r.kind, i, records[i].at, message, r.message);
    }
    out->n_lines += n;
    close_batch(d, out);
}

/* ---- files ---- */

static void file_header(wr_decoder *base, wr_str header) {
    avro_decoder *d = (avro_decoder *)base;
    if ((d->of_file || d->file_why[0]) && wr_str_eq(header, wr_sbuf_str(&d->header))) return;
    free_made(NULL, d->of_file);
    d->of_file = NULL;
    d->file_why[0] = 0;
    wr_sbuf_clear(&d->header);
    wr_sbuf_add_str(&d->header, header);
    size_t n = header.len ? avro_file_header((const uint8_t *)d->header.at, header.len, &d->file) : 0;
    if (!n || n == SIZE_MAX) snprintf(d->file_why, sizeof d->file_why, "it is no Avro file: it does not begin with Obj, 1, and a header with a schema");
    else if (strcmp(d->file.codec, "null") && !d->file.deflate && !d->file.zstd) snprintf(d->file_why, sizeof d->file_why, "the file's codec is %s; null, deflate and zstandard are known", d->file.codec);
    else d->of_file = make(d, d->file.schema, 0, NULL, d->file_why);
}

/* The records of one block; the first bad one costs those behind it, since only it says where they begin. */
static void read_block(avro_decoder *d, wr_mem *mem, const avro_block *b, uint64_t offset, wr_decoded *out) {
    const uint8_t *at = (const uint8_t *)b->data.ptr, *end = at + b->data.len;
    for (int64_t i = 0; i < b->n; i++) {
        need_rows(d, 1, mem, out);
        avro_reader    r = {.end = end, .mem = d->batch->mem};
        const uint8_t *next = d->of_file->writer->empty && b->n > AVRO_EMPTY_MAX ? avro_fault(&r, WR_BAD_RANGE, "a block of more than %d records without bytes", AVRO_EMPTY_MAX)
                                                                                  : avro_read_row(&r, d->of_file->row, at, d->batch->cols, d->n);
        if (!next) {
            char message[200];
            snprintf(message, sizeof message, "%.130s%s", r.message, i + 1 < b->n ? "; the rest of its block cannot be read either" : "");
            wr_bad_add(out, r.kind, out->n_lines++, offset, (wr_str){(const char *)at, (size_t)(end - at)}, message);
            return;
        }
        add_row(d, (uint32_t)out->n_lines, WR_KIND_INSERT, out);
        out->n_records++, out->n_lines++;
        at = next;
    }
    if (at != end) wr_bad_add(out, WR_BAD_MALFORMED, out->n_lines++, offset, (wr_str){(const char *)at, (size_t)(end - at)}, "there are bytes behind the last record of the block");
}

/* A chunk of a file: whole blocks. A record counts as a line. */
static void decode(wr_decoder *base, wr_mem *mem, const uint8_t *data, size_t len, bool first_chunk, wr_decoded *out) {
    avro_decoder *d = (avro_decoder *)base;
    size_t        most = (size_t)WR_MAX(d->opts.max_record_bytes, 16 << 20) * 4;
    if (!len) return;
    if (!d->opts.files) { /* all of it is one message */
        const wr_slice all = {0, (uint32_t)len};
        decode_records(base, mem, data, &all, 1, out);
        return;
    }
    if (!d->of_file) {
        wr_bad_add(out, WR_BAD_MALFORMED, out->n_lines++, 0, (wr_str){(const char *)data, len}, d->file_why);
        return;
    }
    d->capacity = d->opts.batch_rows;
    for (size_t at = first_chunk ? WR_MIN(d->file.len, len) : 0; at < len;) {
        avro_block  b = {0};
        const char *why = avro_file_block(&d->file, data + at, len - at, most, mem, &b);
        if (why) wr_bad_add(out, WR_BAD_MALFORMED, out->n_lines++, at, (wr_str){(const char *)data + at, b.raw_len}, why);
        else read_block(d, mem, &b, at, out);
        at += b.raw_len;
    }
    close_batch(d, out);
}

static void decoder_free(wr_decoder *base) {
    avro_decoder *d = (avro_decoder *)base;
    wr_registry_close(d->registry);
    free_made(NULL, d->plain);
    free_made(NULL, d->of_file);
    wr_sbuf_free(&d->header);
    wr_arena_free(d->arena);
    wr_free(d);
}

/* ---- options ---- */

static wr_str option(const wr_options *o, form f, const char *key, wr_span *at) {
    char full[128];
    snprintf(full, sizeof full, "%s.%s", names[f], key);
    const wr_option *found = wr_options_find(o, full);
    if (at) *at = found ? found->at : (wr_span){0};
    return wr_str_trim(wr_option_string(o, all_specs[f], full));
}

static bool is_legacy(const wr_options *o, form f, bool *out, wr_diags *diags) {
    char full[128];
    snprintf(full, sizeof full, "%s.timestamp_mapping.legacy", names[f]);
    return wr_option_bool(o, all_specs[f], full, out, diags);
}

/* 'schema': of the table's own. NULL with ok: there is none. */
static const avro_schema *own_schema(wr_arena *arena, const wr_options *o, form f, bool *ok, wr_diags *diags) {
    avro_names known = {0};
    wr_span    at;
    char       message[200];
    wr_str     text = option(o, f, "schema", &at);
    *ok = true;
    if (!text.len) return NULL;
    const avro_schema *s = avro_schema_parse(arena, wr_str_dup(arena, text), &known, message);
    if (!s) {
        *ok = false;
        if (diags) wr_diags_add(diags, WR_SEV_ERROR, "WR121", at, "option '%s.schema': %s", names[f], message);
    }
    return s;
}

WR_COLD static wr_status tell(wr_diags *diags, wr_span at, const wr_err *err) {
    if (diags) {
        wr_diags_add(diags, WR_SEV_ERROR, err->code, at, "%s", err->message);
        if (err->detail[0]) wr_diags_detail(diags, "%s", err->detail);
        if (err->hint[0]) wr_diags_hint(diags, "%s", err->hint);
    }
    return WR_USER;
}

/* 'reader-schema' = 'latest': the subject's newest schema gives aliases and defaults. */
static wr_status latest_schema(avro_decoder *d, wr_diags *diags) {
    wr_span            at;
    wr_err             err = {0};
    wr_registry_schema latest;
    avro_names         known = {0};
    bool               found;
    char               message[200] = "the schema registry has no such subject";
    if (!wr_str_ieq(option(&d->opts.options, d->form, "reader-schema", &at), WR_STR("latest"))) return WR_OK;
    wr_str subject = option(&d->opts.options, d->form, "subject", NULL);
    if (!subject.len || d->reader) {
        if (diags) wr_diags_add(diags, WR_SEV_ERROR, "WR122", at, "'%s.reader-schema' = 'latest' needs '%s.subject', and no '%s.schema'", names[d->form], names[d->form], names[d->form]);
        return WR_USER;
    }
    if (wr_registry_latest(d->registry, subject, d->arena, &latest, &found, &err) != WR_OK) return tell(diags, at, &err);
    for (uint32_t i = 0; found && i < latest.n_references; i++)
        if (!avro_schema_parse(d->arena, latest.references[i].text, &known, message)) found = false;
    if (found) d->reader = avro_schema_parse(d->arena, latest.text, &known, message);
    if (d->reader) return WR_OK;
    if (diags) wr_diags_add(diags, WR_SEV_ERROR, "WR121", at, "the latest schema of the subject '%.*s': %s", WR_FMT(subject), message);
    return WR_USER;
}

/* Flink's 'schema' is the envelope's; the columns are those of 'after'. */
static const avro_schema *row_of_envelope(const avro_schema *s) {
    for (uint32_t i = 0; s->kind == AVRO_RECORD && i < s->n; i++)
        if (wr_str_eq(s->fields[i].name, WR_STR("after")) && record_in(s->fields[i].schema)) return record_in(s->fields[i].schema);
    return s;
}

/* ---- making them ---- */

static wr_status open_plain(avro_decoder *d, wr_diags *diags) {
    wr_sbuf text = {0};
    bool    legacy;
    char    message[200];
    wr_str  own = option(&d->opts.options, FORM_PLAIN, "schema", NULL);
    if (!is_legacy(&d->opts.options, FORM_PLAIN, &legacy, diags)) return WR_USER;
    if (!own.len && !avro_schema_of_columns(d->opts.schema, legacy, false, names[FORM_PLAIN], &text, diags)) return wr_sbuf_free(&text), WR_USER;
    d->plain = make(d, own.len ? own : wr_sbuf_str(&text), 0, NULL, message);
    wr_sbuf_free(&text);
    if (d->plain) return WR_OK;
    if (diags) wr_diags_add(diags, WR_SEV_ERROR, "WR125", (wr_span){0}, "the format 'avro': %s", message);
    return WR_USER;
}

static wr_status decoder_new(const wr_decoder_opts *opts, form f, wr_decoder **out, wr_diags *diags) {
    *out = NULL;
    avro_decoder *d = wr_calloc(1, sizeof *d);
    *d = (avro_decoder){.base = {.decode = decode, .free = decoder_free, .decode_records = decode_records, .file_header = file_header}, .opts = *opts, .form = f, .arena = wr_arena_new(NULL)};
    if (!d->opts.batch_rows || d->opts.batch_rows > WR_BATCH_MAX) d->opts.batch_rows = WR_BATCH_MAX;
    if (d->opts.max_record_bytes <= 0) d->opts.max_record_bytes = 16 << 20;
    bool ok;
    d->reader = own_schema(d->arena, &opts->options, f, &ok, diags);
    if (d->reader && f == FORM_DEBEZIUM) d->reader = row_of_envelope(d->reader);
    wr_status status = ok ? WR_OK : WR_USER;
    if (status == WR_OK && f == FORM_PLAIN && !opts->files) status = open_plain(d, diags);
    if (status == WR_OK && f != FORM_PLAIN) status = wr_registry_open(&opts->options, all_specs[f], names[f], opts->world, &d->registry, diags);
    if (status == WR_OK && f != FORM_PLAIN) {
        const wr_registry_maker maker = {"AVRO", d, make_registered, free_made};
        wr_registry_set_maker(d->registry, &maker);
        status = latest_schema(d, diags);
    }
    if (status != WR_OK) return decoder_free(&d->base), status;
    *out = &d->base;
    return WR_OK;
}

typedef struct avro_encoder {
    wr_encoder   base;
    wr_arena    *arena;
    avro_writer *writer;
    int32_t      id;   /* of the schema */
    bool         prefix;
} avro_encoder;

static void encode(wr_encoder *base, const wr_batch *batch, uint32_t from_live, uint32_t to_live, wr_sbuf *out) {
    avro_encoder *e = (avro_encoder *)base;
    for (uint32_t i = from_live; i < to_live; i++) {
        if (e->prefix) wr_registry_prefix_put(out, e->id);
        avro_write_row(e->writer, batch, wr_batch_row(batch, i), out);
        wr_sbuf_addc(out, '\n');
    }
}

static void encoder_free(wr_encoder *base) {
    avro_encoder *e = (avro_encoder *)base;
    avro_writer_free(e->writer);
    wr_arena_free(e->arena);
    wr_free(e);
}

/* The writer, and the schema's text. */
static wr_status prepare(avro_encoder *e, const wr_encoder_opts *opts, form f, wr_sbuf *text, wr_diags *diags) {
    avro_names known = {0};
    wr_span    at;
    char       message[200];
    bool       ok, legacy;
    wr_str     own = option(&opts->options, f, "schema", &at);
    const avro_schema *schema = own_schema(e->arena, &opts->options, f, &ok, diags);
    if (!ok || !is_legacy(&opts->options, f, &legacy, diags)) return WR_USER;
    if (schema) wr_sbuf_add_str(text, own);
    else if (!avro_schema_of_columns(opts->schema, legacy, f == FORM_DEBEZIUM, names[f], text, diags)) return WR_USER;
    if (!schema) schema = avro_schema_parse(e->arena, wr_sbuf_str(text), &known, message);
    if (schema) e->writer = avro_writer_new(schema, opts->schema, f == FORM_DEBEZIUM, at, diags);
    return e->writer ? WR_OK : WR_USER;
}

static wr_status register_schema(avro_encoder *e, const wr_encoder_opts *opts, form f, wr_str text, wr_diags *diags) {
    wr_registry *registry;
    wr_sbuf      subject = {0};
    wr_span      at;
    wr_err       err = {0};
    option(&opts->options, f, "url", &at);
    wr_status status = wr_registry_open(&opts->options, all_specs[f], names[f], opts->world, &registry, diags);
    if (status == WR_OK && !wr_registry_subject(opts, all_specs[f], names[f], &subject, diags)) status = WR_USER;
    if (status == WR_OK && wr_registry_register(registry, wr_sbuf_str(&subject), "AVRO", text, &e->id, &err) != WR_OK) status = tell(diags, at, &err);
    wr_registry_close(registry);
    wr_sbuf_free(&subject);
    return status;
}

static wr_status encoder_new(const wr_encoder_opts *opts, form f, wr_encoder **out, wr_diags *diags) {
    avro_encoder *e = wr_calloc(1, sizeof *e);
    *e = (avro_encoder){.base = {.encode = encode, .free = encoder_free}, .arena = wr_arena_new(NULL), .prefix = f != FORM_PLAIN};
    wr_sbuf text = {0};
    *out = NULL;
    wr_status status = prepare(e, opts, f, &text, diags);
    if (status == WR_OK && f != FORM_PLAIN) status = register_schema(e, opts, f, wr_sbuf_str(&text), diags);
    wr_sbuf_free(&text);
    if (status != WR_OK) return encoder_free(&e->base), status;
    *out = &e->base;
    return WR_OK;
}

/* What a job with this table would ask of the registry when it starts. */
static wr_status probe(const wr_encoder_opts *opts, form f, bool for_write, wr_sbuf *said, wr_diags *diags, wr_err *err) {
    avro_encoder e = {.arena = wr_arena_new(NULL)};
    wr_registry *registry = NULL;
    wr_sbuf      text = {0}, subject = {0};
    wr_status    status = wr_registry_open(&opts->options, all_specs[f], names[f], opts->world, &registry, diags);
    if (status == WR_OK && for_write) status = prepare(&e, opts, f, &text, diags);
    bool named = status == WR_OK && wr_registry_subject(opts, all_specs[f], names[f], &subject, for_write ? diags : NULL); /* sources may do without */
    if (status == WR_OK && for_write && !named) status = WR_USER;
    if (status == WR_OK) status = wr_registry_look(registry, wr_sbuf_str(&subject), "AVRO", for_write ? wr_sbuf_str(&text) : (wr_str){0}, said, err);
    wr_registry_close(registry);
    avro_writer_free(e.writer);
    wr_arena_free(e.arena);
    wr_sbuf_free(&text);
    wr_sbuf_free(&subject);
    return status;
}

/* ---- the formats ---- */

#define FORM_SPECS(NAME)                                                                                                                                                  \
    {NAME ".schema", "string", NULL, false, "the table's own schema: sources take aliases and defaults from it, sinks write it; without it the one that the columns have"}, \
    {NAME ".timestamp_mapping.legacy", "bool", "true", false, "true: TIMESTAMP(3) is written as timestamp-millis, as in Flink; false: TIMESTAMP is local-timestamp, TIMESTAMP_LTZ is timestamp"}
#define REGISTRY_FORM_SPECS(NAME)                                                                                                    \
    WR_REGISTRY_SPECS(NAME), FORM_SPECS(NAME),                                                                                       \
        {NAME ".reader-schema", "enum:table|latest", "table", false, "sources: latest: the subject's newest schema gives aliases and defaults"}, {0}

static const wr_option_spec plain_specs[] = {
    {"avro.encoding", "enum:binary", "binary", false, "Flink's json encoding is not supported"}, FORM_SPECS("avro"), {0}};
static const wr_option_spec confluent_specs[] = {REGISTRY_FORM_SPECS("avro-confluent")};
static const wr_option_spec debezium_specs[] = {REGISTRY_FORM_SPECS("debezium-avro-confluent")};
static const wr_option_spec *const all_specs[] = {plain_specs, confluent_specs, debezium_specs};

static size_t avro_file_header_length(const uint8_t *data, size_t len) {
    avro_file f;
    return avro_file_header(data, len, &f);
}

static wr_status plain_decoder_new(const wr_decoder_opts *o, wr_decoder **out, wr_diags *d) { return decoder_new(o, FORM_PLAIN, out, d); }
static wr_status confluent_decoder_new(const wr_decoder_opts *o, wr_decoder **out, wr_diags *d) { return decoder_new(o, FORM_REGISTRY, out, d); }
static wr_status debezium_decoder_new(const wr_decoder_opts *o, wr_decoder **out, wr_diags *d) { return decoder_new(o, FORM_DEBEZIUM, out, d); }
static wr_status plain_encoder_new(const wr_encoder_opts *o, wr_encoder **out, wr_diags *d) { return encoder_new(o, FORM_PLAIN, out, d); }
static wr_status confluent_encoder_new(const wr_encoder_opts *o, wr_encoder **out, wr_diags *d) { return encoder_new(o, FORM_REGISTRY, out, d); }
static wr_status debezium_encoder_new(const wr_encoder_opts *o, wr_encoder **out, wr_diags *d) { return encoder_new(o, FORM_DEBEZIUM, out, d); }
static wr_status confluent_probe(const wr_encoder_opts *o, bool write, wr_sbuf *said, wr_diags *d, wr_err *err) { return probe(o, FORM_REGISTRY, write, said, d, err); }
static wr_status debezium_probe(const wr_encoder_opts *o, bool write, wr_sbuf *said, wr_diags *d, wr_err *err) { return probe(o, FORM_DEBEZIUM, write, said, d, err); }

const wr_format wr_format_avro = {.name = "avro", .specs = plain_specs, .changes = WR_FORMAT_APPEND, .can_write = true, .messages = true,
                                  .decoder_new = plain_decoder_new, .encoder_new = plain_encoder_new, .split = avro_file_split, .header = avro_file_header_length};
const wr_format wr_format_avro_confluent = {.name = "avro-confluent", .specs = confluent_specs, .changes = WR_FORMAT_APPEND, .can_write = true, .messages = true,
                                            .decoder_new = confluent_decoder_new, .encoder_new = confluent_encoder_new, .probe = confluent_probe};
const wr_format wr_format_debezium_avro = {.name = "debezium-avro-confluent", .specs = debezium_specs, .changes = WR_FORMAT_RETRACT, .can_write = true, .messages = true,
                                           .decoder_new = debezium_decoder_new, .encoder_new = debezium_encoder_new, .probe = debezium_probe};
