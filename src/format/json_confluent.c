/* format/json_confluent.c: the format json-confluent: JSON messages that name their JSON Schema: 0, the id in a registry, then the text.
 *
 * Idea       rows are read by the format json from the texts laid end to end; before that each message is held against the schema that it names
 *            (json_schema.h). A message that breaks its schema is a bad record. 'validate' = 'none' leaves only the id to be checked.
 * Thread     one decoder or encoder a worker. Memory: a schema's checks have an arena; the registry's client bounds their number.      */
#include "format/json_schema.h"
#include "format/json_simd.h"
#include "format/registry.h"
#include <stdio.h>

static const wr_option_spec specs[] = {
    WR_REGISTRY_SPECS("json-confluent"),
    {"json-confluent.validate", "enum:schema|none", "schema", false, "hold messages against their schema: types, required and unknown fields, enums"},
    {"json-confluent.ignore-parse-errors", "bool", "false", false, "a field that cannot be read becomes NULL; a record that cannot be read is skipped and counted"},
    {"json-confluent.fail-on-missing-field", "bool", "false", false, "a record without a column's field is a bad record (else the field is NULL)"},
    {"json-confluent.timestamp-format.standard", "enum:SQL|ISO-8601", "SQL", false, "SQL: 2026-01-31 12:00:00.123; ISO-8601: 2026-01-31T12:00:00.123"},
    {"json-confluent.encode.ignore-null-fields", "bool", "false", false, "writing: leave NULL fields out"},
    {0}};
static const char NAME[] = "json-confluent";

/* ---- reading ---- */

typedef struct made { wr_arena *arena; json_schema *root; } made;

typedef struct confluent_decoder {
    wr_decoder       base;
    wr_decoder      *inner;
    wr_registry     *registry;
    wr_simd         *simd;
    wr_arena        *arena;  /* the inner one's options */
    bool             validate;
    int64_t          max_record_bytes;
    wr_decoded       rows;   /* of the inner one */
    WR_ARR(uint32_t) record; /* per line of the inner text */
    WR_ARR(wr_bad_record) bad;
} confluent_decoder;

static void free_made(void *self, void *plan) {
    (void)self;
    wr_arena_free(((made *)plan)->arena);
    wr_free(plan);
}

static void *make_schema(void *self, const wr_registry_schema *schema, char message[200]) {
    made *m = wr_calloc(1, sizeof *m);
    m->arena = wr_arena_new(NULL);
    m->root = json_schema_new(m->arena, wr_str_dup(m->arena, schema->text), message);
    if (m->root) return m;
    free_made(self, m);
    return NULL;
}

static bool holds(confluent_decoder *d, const made *schema, wr_str text, wr_bad_record *bad) {
    const uint32_t *ix;
    uint32_t        n;
    json_reader     r = {.data = (const uint8_t *)text.ptr, .end = (uint32_t)text.len};
    if (wr_simd_index(d->simd, r.data, text.len, &ix, &n) != WR_SIMD_OK || !n) return true; /* no JSON: the reader of rows says so */
    if (json_schema_hold(schema->root, &r, ix)) return true;
    bad->kind = r.kind;
    memcpy(bad->message, r.message, sizeof bad->message);
    return false;
}

/* Looks at one message; its text goes to those that are read, or it is a bad one. */
static void take(confluent_decoder *d, wr_sbuf *texts, wr_str message, uint32_t record, uint64_t offset, wr_decoded *out) {
    wr_bad_record bad = {.kind = WR_BAD_MALFORMED, .line = record, .offset = offset, .raw = message};
    const char   *why = NULL;
    int32_t       id;
    void         *plan = NULL;
    bool          fine = wr_registry_prefix_get(message, &id, bad.message);
    wr_str        text = {message.ptr + WR_REGISTRY_PREFIX, message.len - WR_REGISTRY_PREFIX};
    if (fine) {
        if ((out->failed = wr_registry_plan(d->registry, id, &plan, &why, &out->err)) != WR_OK) return;
        if (!plan) snprintf(bad.message, sizeof bad.message, "%.199s", why), fine = false;
    }
    if (fine && (int64_t)message.len > d->max_record_bytes) {
        bad.kind = WR_BAD_TOO_LONG;
        snprintf(bad.message, sizeof bad.message, "a record of %zu bytes, more than max-record-bytes = %lld", message.len, (long long)d->max_record_bytes);
        fine = false;
    }
    if (fine && d->validate) fine = holds(d, plan, text, &bad);
    if (!fine) {
        wr_arr_push(&d->bad, bad);
        return;
    }
    wr_arr_push(&d->record, record);
    size_t at = texts->len;
    wr_sbuf_add(texts, text.ptr, text.len);
    for (char *p = texts->at + at, *end = p + text.len; p < end && (p = memchr(p, '\n', (size_t)(end - p))); p++) *p = '\t'; /* white space between values too, and as wrong inside a string */
    wr_sbuf_addc(texts, '\n');
}

static void decode_records(wr_decoder *base, wr_mem *mem, const uint8_t *data, const wr_slice *records, uint32_t n, wr_decoded *out) {
    confluent_decoder *d = (confluent_decoder *)base;
    wr_sbuf            texts = {0};
    d->record.n = d->bad.n = 0;
    for (uint32_t i = 0; i < n && out->failed == WR_OK; i++) take(d, &texts, (wr_str){(const char *)data + records[i].at, records[i].len}, i, records[i].at, out);
    wr_mem  *copy = wr_mem_new(texts.len + 1024);
    uint8_t *text = wr_mem_alloc(copy, texts.len + 64);
    memcpy(text, wr_sbuf_str(&texts).ptr, texts.len);
    memset(text + texts.len, 0, 64);
    if (mem) wr_mem_keep(copy, mem);
    wr_decoded_clear(&d->rows);
    d->rows.want_lines = true;
    if (texts.len && out->failed == WR_OK) d->inner->decode(d->inner, copy, text, texts.len, false, &d->rows);
    wr_mem_unref(copy); /* batches keep it */
    wr_sbuf_free(&texts);
    uint64_t first = out->n_rows;
    for (uint32_t i = 0; i < d->rows.batches.n; i++) wr_decoded_push(out, d->rows.batches.at[i]);
    d->rows.batches.n = 0;
    /* bad ones of both kinds in the order of the records, each with the rows before it */
    for (uint32_t i = 0; i < d->rows.bad.n; i++) {
        wr_bad_record bad = d->rows.bad.at[i];
        bad.line = d->record.at[bad.line];
        bad.offset = records[bad.line].at;
        bad.raw = (wr_str){(const char *)data + records[bad.line].at, records[bad.line].len};
        wr_arr_push(&d->bad, bad);
        uint32_t k = d->bad.n - 1;
        for (; k && d->bad.at[k - 1].line > bad.line; k--) d->bad.at[k] = d->bad.at[k - 1];
        d->bad.at[k] = bad;
    }
    for (uint32_t i = 0, row = 0; i < d->bad.n; i++) {
        while (row < d->rows.row_lines.n && d->record.at[d->rows.row_lines.at[row]] < d->bad.at[i].line) row++;
        d->bad.at[i].before_row = first + row;
        wr_arr_push(&out->bad, d->bad.at[i]);
    }
    for (uint32_t i = 0; out->want_lines && i < d->rows.row_lines.n; i++) wr_arr_push(&out->row_lines, d->record.at[d->rows.row_lines.at[i]]);
    out->n_rows += d->rows.n_rows;
    out->n_blank += d->rows.n_blank;
    out->n_records += d->rows.n_rows + d->bad.n;
    out->n_lines += n;
}

static void decode(wr_decoder *base, wr_mem *mem, const uint8_t *data, size_t len, bool first_chunk, wr_decoded *out) {
    const wr_slice all = {0, (uint32_t)len};
    (void)first_chunk;
    if (len) decode_records(base, mem, data, &all, 1, out);
}

static void decoder_free(wr_decoder *base) {
    confluent_decoder *d = (confluent_decoder *)base;
    if (d->inner) d->inner->free(d->inner);
    wr_registry_close(d->registry);
    wr_simd_free(d->simd);
    wr_decoded_free(&d->rows);
    wr_arr_free(&d->record);
    wr_arr_free(&d->bad);
    wr_arena_free(d->arena);
    wr_free(d);
}

/* The options of the format json, as this format's say. */
static wr_options json_options(wr_arena *arena, const wr_options *options) {
    wr_option *at = wr_new_n(arena, wr_option, options->n + 1);
    uint32_t   n = 0;
    for (uint32_t i = 0; i < options->n; i++)
        if (wr_str_starts(options->at[i].key, WR_STR("json-confluent."))) {
            wr_str rest = {options->at[i].key.ptr + sizeof NAME, options->at[i].key.len - sizeof NAME};
            at[n] = options->at[i];
            at[n++].key = wr_str_of(wr_arena_printf(arena, "json.%.*s", WR_FMT(rest)));
        }
    return (wr_options){n, at};
}

static wr_status decoder_new(const wr_decoder_opts *opts, wr_decoder **out, wr_diags *diags) {
    *out = NULL;
    confluent_decoder *d = wr_calloc(1, sizeof *d);
    *d = (confluent_decoder){.base = {.decode = decode, .free = decoder_free, .decode_records = decode_records}, .arena = wr_arena_new(NULL), .simd = wr_simd_new(), .max_record_bytes = opts->max_record_bytes > 0 ? opts->max_record_bytes : 16 << 20};
    d->validate = !wr_str_ieq(wr_str_trim(wr_option_string(&opts->options, specs, "json-confluent.validate")), WR_STR("none"));
    wr_decoder_opts inner = *opts;
    inner.options = json_options(d->arena, &opts->options);
    wr_status status = wr_format_json.decoder_new(&inner, &d->inner, diags);
    if (status == WR_OK) status = wr_registry_open(&opts->options, specs, NAME, opts->world, &d->registry, diags);
    if (status != WR_OK) return decoder_free(&d->base), status;
    const wr_registry_maker maker = {"JSON", d, make_schema, free_made};
    wr_registry_set_maker(d->registry, &maker);
    *out = &d->base;
    return WR_OK;
}

/* ---- writing ---- */

typedef struct confluent_encoder {
    wr_encoder  base;
    wr_arena   *arena;
    wr_encoder *inner;
    int32_t     id;
} confluent_encoder;

static void put_schema(wr_type t, wr_sbuf *out);

static void put_properties(const wr_str *names, const wr_type *types, uint32_t n, wr_sbuf *out) {
    bool any = false;
    wr_sbuf_addz(out, ",\"properties\":{");
    for (uint32_t i = 0; i < n; i++) {
        if (i) wr_sbuf_addc(out, ',');
        wr_sbuf_add_json(out, names[i]);
        wr_sbuf_addc(out, ':');
        put_schema(types[i], out);
    }
    wr_sbuf_addc(out, '}');
    for (uint32_t i = 0; i < n; i++) {
        if (types[i].nullable) continue;
        wr_sbuf_addz(out, any ? "," : ",\"required\":[");
        wr_sbuf_add_json(out, names[i]);
        any = true;
    }
    if (any) wr_sbuf_addc(out, ']');
}

static const char *json_type(wr_type t) {
    switch (t.id) {
    case WR_T_BOOLEAN: return "boolean";
    case WR_T_TINYINT:
    case WR_T_SMALLINT:
    case WR_T_INT:
    case WR_T_BIGINT: return "integer";
    case WR_T_FLOAT:
    case WR_T_DOUBLE:
    case WR_T_DECIMAL: return "number";
    case WR_T_ARRAY: return "array";
    case WR_T_MAP:
    case WR_T_ROW: return "object";
    default: return "string";
    }
}

static void put_schema(wr_type t, wr_sbuf *out) {
    const char *type = json_type(t);
    bool        real = t.id == WR_T_FLOAT || t.id == WR_T_DOUBLE; /* NaN and infinities are written as strings */
    if (t.nullable || real) wr_sbuf_printf(out, "{\"type\":[\"%s\"%s%s]", type, real ? ",\"string\"" : "", t.nullable ? ",\"null\"" : "");
    else wr_sbuf_printf(out, "{\"type\":\"%s\"", type);
    if (t.id == WR_T_ARRAY) wr_sbuf_addz(out, ",\"items\":"), put_schema(t.kids[0], out);
    if (t.id == WR_T_MAP) wr_sbuf_addz(out, ",\"additionalProperties\":"), put_schema(t.kids[1], out);
    if (t.id == WR_T_ROW) put_properties(t.names, t.kids, t.n_kids, out);
    wr_sbuf_addc(out, '}');
}

static void encode(wr_encoder *base, const wr_batch *batch, uint32_t from_live, uint32_t to_live, wr_sbuf *out) {
    confluent_encoder *e = (confluent_encoder *)base;
    for (uint32_t i = from_live; i < to_live; i++) {
        wr_registry_prefix_put(out, e->id);
        e->inner->encode(e->inner, batch, i, i + 1, out);
    }
}

static void encoder_free(wr_encoder *base) {
    confluent_encoder *e = (confluent_encoder *)base;
    if (e->inner) e->inner->free(e->inner);
    wr_arena_free(e->arena);
    wr_free(e);
}

static wr_status encoder_new(const wr_encoder_opts *opts, wr_encoder **out, wr_diags *diags) {
    wr_sbuf            text = {0}, subject = {0};
    wr_err             err = {0};
    wr_registry       *registry = NULL;
    confluent_encoder *e = wr_calloc(1, sizeof *e);
    *out = NULL;
    *e = (confluent_encoder){.base = {.encode = encode, .free = encoder_free}, .arena = wr_arena_new(NULL)};
    wr_encoder_opts inner = *opts;
    inner.options = json_options(e->arena, &opts->options);
    wr_status status = wr_format_json.encoder_new(&inner, &e->inner, diags);
    if (status == WR_OK) status = wr_registry_open(&opts->options, specs, NAME, opts->world, &registry, diags);
    if (status == WR_OK && !wr_registry_subject(opts, specs, NAME, &subject, diags)) status = WR_USER;
    if (status == WR_OK) {
        wr_str  *names = wr_new_n(e->arena, wr_str, opts->schema->n + 1);
        wr_type *types = wr_new_n(e->arena, wr_type, opts->schema->n + 1);
        for (uint32_t i = 0; i < opts->schema->n; i++) names[i] = opts->schema->fields[i].name, types[i] = opts->schema->fields[i].type;
        wr_sbuf_addz(&text, "{\"$schema\":\"http://json-schema.org/draft-07/schema#\",\"title\":\"Row\",\"type\":\"object\"");
        put_properties(names, types, opts->schema->n, &text);
        wr_sbuf_addc(&text, '}');
        if (wr_registry_register(registry, wr_sbuf_str(&subject), "JSON", wr_sbuf_str(&text), &e->id, &err) != WR_OK) {
            const wr_option *at = wr_options_find(&opts->options, "json-confluent.url");
            status = WR_USER;
            if (diags) wr_diags_add(diags, WR_SEV_ERROR, err.code, at ? at->at : (wr_span){0}, "%s", err.message);
            if (diags && err.hint[0]) wr_diags_hint(diags, "%s", err.hint);
        }
    }
    wr_registry_close(registry);
    wr_sbuf_free(&text);
    wr_sbuf_free(&subject);
    if (status != WR_OK) return encoder_free(&e->base), status;
    *out = &e->base;
    return WR_OK;
}

const wr_format wr_format_json_confluent = {.name = "json-confluent", .specs = specs, .changes = WR_FORMAT_APPEND, .can_write = true, .messages = true,
                                            .decoder_new = decoder_new, .encoder_new = encoder_new};
