/* format/proto_confluent.c: protobuf messages that name their schema: 0, the id in a registry, the message's place in it, then the message.
 *
 * Idea       the writer's schema comes from the registry (registry.h) and is matched with the columns by name, each version for itself; so old and new versions
 *            may be mixed in a topic: a column that a version does not have is NULL. Sinks register a given .proto text or one made of the columns.
 * Thread     one decoder or encoder a worker. Memory: a schema with its plans has an arena of its own; the registry's client bounds their number.      */
#include "format/proto.h"
#include "format/registry.h"
#include <stdio.h>

static const wr_option_spec specs[] = {
    WR_REGISTRY_SPECS("protobuf-confluent"),
    {"protobuf-confluent.schema", "path", NULL, false, "sinks: the .proto file to register; without it one is made of the columns"},
    {"protobuf-confluent.message", "string", NULL, false, "sinks: the message of that file; without it the first"},
    {"protobuf-confluent.ignore-parse-errors", "bool", "false", false, "a field that cannot be read becomes NULL; a record that cannot be read is skipped and counted"},
    {"protobuf-confluent.read-default-values", "bool", "false", false, "a scalar field that is absent is its default, not NULL (in proto3 without 'optional' it always is)"},
    {"protobuf-confluent.write-null-string-literal", "string", "", false, "writing: the text for NULL in a list or map"},
    {0}};
static const char NAME[] = "protobuf-confluent";

/* ---- schemas of the registry ---- */

typedef struct made_row { uint32_t n, path[8]; pb_row *row; char message[200]; } made_row; /* row NULL: message says why */
typedef struct made {
    wr_arena        *arena;
    pb_schema        schema;
    WR_ARR(made_row) rows;
} made;

typedef struct registered { const wr_registry_schema *schema; } registered;

static bool open_registered(void *self, const char *name, wr_str *text) {
    const wr_registry_schema *s = ((registered *)self)->schema;
    if (!strcmp(name, "schema.proto")) return *text = s->text, true;
    for (uint32_t i = 0; i < s->n_references; i++)
        if (wr_str_eq(s->references[i].name, wr_str_of(name))) return *text = s->references[i].text, true;
    return false;
}

typedef struct confluent_decoder {
    wr_decoder      base;
    wr_decoder_opts opts;
    wr_registry    *registry;
    bool            ignore_errors, read_defaults;
} confluent_decoder;

static void free_made(void *self, void *plan) {
    made *m = plan;
    (void)self;
    wr_arr_free(&m->rows);
    wr_arena_free(m->arena);
    wr_free(m);
}

static void *make_schema(void *self, const wr_registry_schema *schema, char message[200]) {
    registered r = {schema};
    wr_sbuf    set = {0};
    wr_err     err = {0};
    made      *m = wr_calloc(1, sizeof *m);
    m->arena = wr_arena_new(NULL);
    bool fine = pb_compile("schema.proto", open_registered, &r, &set, &err) == WR_OK;
    if (!fine) snprintf(message, 200, "%.199s", err.message);
    else fine = pb_schema_read(wr_sbuf_str(&set), m->arena, &m->schema, message);
    wr_sbuf_free(&set);
    if (fine) return m;
    free_made(self, m);
    return NULL;
}

/* ---- reading ---- */

/* The path of indexes in front of the message, zigzag; 0 alone is the first message. */
static bool read_path(pb_reader *in, made_row *out) {
    uint64_t n, v;
    if (!pb_varint(in, &n) || n & 1 || n / 2 > WR_COUNT_OF(out->path)) return false;
    out->n = (uint32_t)(n / 2);
    for (uint32_t i = 0; i < out->n; i++) {
        if (!pb_varint(in, &v) || v & 1 || v / 2 > UINT32_MAX) return false;
        out->path[i] = (uint32_t)(v / 2);
    }
    if (!out->n) out->n = 1, out->path[0] = 0;
    return true;
}

static const made_row *row_of(confluent_decoder *d, made *m, const made_row *wanted) {
    for (uint32_t i = 0; i < m->rows.n; i++)
        if (m->rows.at[i].n == wanted->n && !memcmp(m->rows.at[i].path, wanted->path, wanted->n * sizeof *wanted->path)) return &m->rows.at[i];
    made_row          one = *wanted;
    const pb_message *message = pb_schema_at(&m->schema, one.path, one.n);
    pb_plan_opts      plan = {.schema = d->opts.schema, .needed = d->opts.needed, .read_defaults = d->read_defaults, .lenient = true};
    if (message) one.row = pb_row_new(m->arena, message, &plan, one.message);
    else snprintf(one.message, sizeof one.message, "the registered schema has no message at the place that the record names");
    if (m->rows.n == 100) m->rows.n = 0; /* places are few; whoever makes up others is read again and again */
    wr_arr_push(&m->rows, one);
    return &m->rows.at[m->rows.n - 1];
}

static void one_record(confluent_decoder *d, proto_batch *b, wr_str record, uint32_t line, uint64_t at, wr_decoded *out) {
    char        why[200];
    const char *reason = why;
    int32_t     id;
    void       *plan;
    made_row    place = {0};
    if (!wr_registry_prefix_get(record, &id, why)) {
        wr_bad_add(out, WR_BAD_MALFORMED, line, at, record, why);
        return;
    }
    if ((out->failed = wr_registry_plan(d->registry, id, &plan, &reason, &out->err)) != WR_OK) return;
    pb_reader in = pb_reader_of((wr_str){record.ptr + WR_REGISTRY_PREFIX, record.len - WR_REGISTRY_PREFIX});
    if (!plan) {
        wr_bad_add(out, WR_BAD_MALFORMED, line, at, record, reason);
    } else if (!read_path(&in, &place)) {
        wr_bad_add(out, WR_BAD_MALFORMED, line, at, record, "protobuf: behind the schema's id there is no place of a message in it");
    } else {
        const made_row *found = row_of(d, plan, &place);
        wr_str          message = {(const char *)in.p, (size_t)(in.end - in.p)};
        if (found->row) proto_batch_add(b, found->row, d->ignore_errors, message, record, line, at);
        else wr_bad_add(out, WR_BAD_TYPE, line, at, record, found->message);
    }
}

static void decode_records(wr_decoder *base, wr_mem *mem, const uint8_t *data, const wr_slice *records, uint32_t n, wr_decoded *out) {
    confluent_decoder *d = (confluent_decoder *)base;
    proto_batch        b;
    proto_batch_open(&b, &d->opts, mem, n, out);
    for (uint32_t i = 0; i < n && out->failed == WR_OK; i++) {
        wr_str record = {(const char *)data + records[i].at, records[i].len};
        one_record(d, &b, record, i, records[i].at, out);
    }
    out->n_lines += n;
    proto_batch_close(&b);
}

/* A file of messages without ends is one message. */
static void decode(wr_decoder *base, wr_mem *mem, const uint8_t *data, size_t len, bool first_chunk, wr_decoded *out) {
    const wr_slice all = {0, (uint32_t)len};
    (void)first_chunk;
    if (len) decode_records(base, mem, data, &all, 1, out);
}

static void decoder_free(wr_decoder *base) {
    confluent_decoder *d = (confluent_decoder *)base;
    wr_registry_close(d->registry);
    wr_free(d);
}

static wr_status decoder_new(const wr_decoder_opts *opts, wr_decoder **out, wr_diags *diags) {
    *out = NULL;
    confluent_decoder *d = wr_calloc(1, sizeof *d);
    *d = (confluent_decoder){.base = {.decode = decode, .free = decoder_free, .decode_records = decode_records}, .opts = *opts};
    wr_status status = wr_option_bool(&opts->options, specs, "protobuf-confluent.ignore-parse-errors", &d->ignore_errors, diags) &&
                               wr_option_bool(&opts->options, specs, "protobuf-confluent.read-default-values", &d->read_defaults, diags)
                           ? wr_registry_open(&opts->options, specs, NAME, opts->world, &d->registry, diags)
                           : WR_USER;
    if (status != WR_OK) return decoder_free(&d->base), status;
    const wr_registry_maker maker = {"PROTOBUF", d, make_schema, free_made};
    wr_registry_set_maker(d->registry, &maker);
    *out = &d->base;
    return WR_OK;
}

/* ---- writing: a schema of the columns ---- */


static bool is_name(wr_str s) {
    if (!s.len || (*s.ptr >= '0' && *s.ptr <= '9')) return false;
    for (size_t i = 0; i < s.len; i++) {
        char c = s.ptr[i];
        if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_')) return false;
    }
    return true;
}

static bool put_fields(wr_sbuf *out, const wr_str *names, const wr_type *types, uint32_t n, uint32_t depth, char message[200]);

static const char *scalar_name(wr_type t) {
    switch (t.id) {
    case WR_T_BOOLEAN: return "bool";
    case WR_T_TINYINT:
    case WR_T_SMALLINT:
    case WR_T_INT: return "int32";
    case WR_T_BIGINT: return "int64";
    case WR_T_FLOAT: return "float";
    case WR_T_DOUBLE: return "double";
    case WR_T_TIMESTAMP:
    case WR_T_TIMESTAMP_LTZ: return "google.protobuf.Timestamp";
    default: return wr_type_is_string(t) ? "string" : wr_type_is_binary(t) ? "bytes" : NULL;
    }
}

static bool cannot(char message[200], wr_str name, wr_type t) {
    wr_sbuf text = {.max = 60};
    wr_type_text(t, &text);
    snprintf(message, 200, "column '%.*s': protobuf has no type for %.60s; give a schema with 'protobuf-confluent.schema'", (int)WR_MIN(name.len, 60u), name.ptr, text.at);
    wr_sbuf_free(&text);
    return false;
}

/* The type of a field; a ROW becomes a message of its own in front of it. */
static bool put_type(wr_sbuf *type, wr_sbuf *out, wr_str name, wr_type t, uint32_t depth, char message[200]) {
    const char *scalar = scalar_name(t);
    if (scalar) return wr_sbuf_addz(type, scalar), true;
    if (t.id != WR_T_ROW) return cannot(message, name, t);
    wr_sbuf_printf(type, "%.*s_row", WR_FMT(name));
    wr_sbuf_printf(out, "%*smessage %.*s_row {\n", (int)depth * 2, "", WR_FMT(name));
    if (!put_fields(out, t.names, t.kids, t.n_kids, depth + 1, message)) return false;
    wr_sbuf_printf(out, "%*s}\n", (int)depth * 2, "");
    return true;
}

static bool put_fields(wr_sbuf *out, const wr_str *names, const wr_type *types, uint32_t n, uint32_t depth, char message[200]) {
    for (uint32_t i = 0; i < n; i++) {
        wr_sbuf type = {0};
        wr_type t = types[i];
        bool    fine = is_name(names[i]);
        if (!fine) snprintf(message, 200, "column '%.*s' has no name that protobuf takes; give a schema with 'protobuf-confluent.schema'", (int)WR_MIN(names[i].len, 60u), names[i].ptr);
        if (fine && t.id == WR_T_ARRAY) {
            wr_sbuf_addz(&type, "repeated ");
            fine = put_type(&type, out, names[i], t.kids[0], depth, message);
        } else if (fine && t.id == WR_T_MAP) {
            const char *k = scalar_name(t.kids[0]);
            wr_sbuf_printf(&type, "map<%s, ", k ? k : "");
            fine = k && (wr_type_is_string(t.kids[0]) || !strncmp(k, "int", 3) || !strcmp(k, "bool")) ? put_type(&type, out, names[i], t.kids[1], depth, message) : cannot(message, names[i], t);
            wr_sbuf_addz(&type, ">");
        } else if (fine) {
            if (scalar_name(t) && t.id != WR_T_TIMESTAMP && t.id != WR_T_TIMESTAMP_LTZ) wr_sbuf_addz(&type, "optional ");
            fine = put_type(&type, out, names[i], t, depth, message);
        }
        if (fine) wr_sbuf_printf(out, "%*s%s %.*s = %u;\n", (int)depth * 2, "", type.at, WR_FMT(names[i]), i + 1);
        wr_sbuf_free(&type);
        if (!fine) return false;
    }
    return true;
}

static bool text_of_columns(const wr_schema *schema, wr_sbuf *out, char message[200]) {
    wr_arena *arena = wr_arena_new(NULL);
    wr_str   *names = wr_new_n(arena, wr_str, schema->n + 1);
    wr_type  *types = wr_new_n(arena, wr_type, schema->n + 1);
    for (uint32_t i = 0; i < schema->n; i++) names[i] = schema->fields[i].name, types[i] = schema->fields[i].type;
    wr_sbuf_addz(out, "syntax = \"proto3\";\nimport \"google/protobuf/timestamp.proto\";\nmessage Row {\n");
    bool fine = put_fields(out, names, types, schema->n, 1, message);
    wr_sbuf_addz(out, "}\n");
    wr_arena_free(arena);
    return fine;
}

/* ---- writing ---- */

typedef struct confluent_encoder {
    wr_encoder base;
    wr_arena  *arena;
    pb_row    *row;
    wr_sbuf    head; /* in front of each message */
    wr_str     null_string;
} confluent_encoder;

static void encode(wr_encoder *base, const wr_batch *batch, uint32_t from_live, uint32_t to_live, wr_sbuf *out) {
    confluent_encoder *e = (confluent_encoder *)base;
    pb_encode          to = {out, e->null_string, &base->err};
    for (uint32_t i = from_live; i < to_live; i++) {
        wr_sbuf_add(out, e->head.at, e->head.len);
        if (!pb_row_write(&to, e->row, batch->cols, wr_batch_row(batch, i))) {
            base->failed = base->err.status;
            return;
        }
        wr_sbuf_addc(out, '\n');
    }
}

static void encoder_free(wr_encoder *base) {
    confluent_encoder *e = (confluent_encoder *)base;
    wr_sbuf_free(&e->head);
    wr_arena_free(e->arena);
    wr_free(e);
}

static wr_status tell(wr_diags *diags, const wr_options *options, const char *key, const char *code, const char *message, const char *hint) {
    const wr_option *at = wr_options_find(options, key);
    if (diags) wr_diags_add(diags, WR_SEV_ERROR, code, at ? at->at : (wr_span){0}, "%s", message);
    if (diags && hint && hint[0]) wr_diags_hint(diags, "%s", hint);
    return WR_USER;
}

/* Only the text itself: what it imports would have to be registered before it. */
static bool open_alone(void *self, const char *name, wr_str *text) { return !strcmp(name, "schema.proto") ? *text = *(const wr_str *)self, true : false; }

static wr_status schema_to_write(confluent_encoder *e, const wr_encoder_opts *opts, wr_sbuf *text, uint32_t path[PB_DEPTH_MAX], uint32_t *n, wr_diags *diags) {
    const char *key = "protobuf-confluent.schema";
    wr_str      file = wr_str_trim(wr_option_string(&opts->options, specs, key)), name = wr_str_trim(wr_option_string(&opts->options, specs, "protobuf-confluent.message"));
    char        message[200];
    wr_err      err = {0};
    wr_sbuf     set = {0};
    pb_schema   schema;
    if (!file.len) {
        if (!text_of_columns(opts->schema, text, message)) return tell(diags, &opts->options, key, "WR391", message, NULL);
    } else if (wr_file_read_all(opts->world, wr_arena_strndup(e->arena, file.ptr, file.len), 16 << 20, text, &err) != WR_OK) {
        return tell(diags, &opts->options, key, err.code, err.message, err.hint);
    }
    wr_str    whole = wr_sbuf_str(text);
    wr_status status = pb_compile("schema.proto", open_alone, &whole, &set, &err);
    bool      fine = status == WR_OK && pb_schema_read(wr_sbuf_str(&set), e->arena, &schema, message);
    wr_sbuf_free(&set);
    if (status != WR_OK) return tell(diags, &opts->options, key, err.code, err.message, err.hint);
    const pb_message *m = fine ? pb_schema_find(&schema, name, message) : NULL;
    if (m) e->row = pb_row_new(e->arena, m, &(pb_plan_opts){.schema = opts->schema, .write = true}, message);
    if (!e->row) return tell(diags, &opts->options, key, "WR391", message, NULL);
    *n = pb_schema_path(&schema, m, path);
    return WR_OK;
}

static wr_status encoder_new(const wr_encoder_opts *opts, wr_encoder **out, wr_diags *diags) {
    uint32_t           path[PB_DEPTH_MAX], n = 0;
    int32_t            id;
    wr_sbuf            text = {0}, subject = {0};
    wr_err             err = {0};
    wr_registry       *registry = NULL;
    confluent_encoder *e = wr_calloc(1, sizeof *e);
    *out = NULL;
    *e = (confluent_encoder){.base = {.encode = encode, .free = encoder_free}, .arena = wr_arena_new(NULL)};
    e->null_string = wr_str_dup(e->arena, wr_option_string(&opts->options, specs, "protobuf-confluent.write-null-string-literal"));
    wr_status status = schema_to_write(e, opts, &text, path, &n, diags);
    if (status == WR_OK) status = wr_registry_open(&opts->options, specs, NAME, opts->world, &registry, diags);
    if (status == WR_OK && !wr_registry_subject(opts, specs, NAME, &subject, diags)) status = WR_USER;
    if (status == WR_OK && wr_registry_register(registry, wr_sbuf_str(&subject), "PROTOBUF", wr_sbuf_str(&text), &id, &err) != WR_OK)
        status = tell(diags, &opts->options, "protobuf-confluent.url", err.code, err.message, err.hint);
    if (status == WR_OK) {
        wr_registry_prefix_put(&e->head, id);
        if (n == 1 && !path[0]) wr_sbuf_addc(&e->head, 0);
        else {
            pb_add_varint(&e->head, 2 * (uint64_t)n);
            for (uint32_t i = 0; i < n; i++) pb_add_varint(&e->head, 2 * (uint64_t)path[i]);
        }
        *out = &e->base;
    } else {
        encoder_free(&e->base);
    }
    wr_registry_close(registry);
    wr_sbuf_free(&text);
    wr_sbuf_free(&subject);
    return status;
}

const wr_format wr_format_proto_confluent = {.name = "protobuf-confluent", .specs = specs, .changes = WR_FORMAT_APPEND, .can_write = true, .messages = true,
                                             .decoder_new = decoder_new, .encoder_new = encoder_new};
