/* format/json_confluent.c: the format json-confluent: JSON messages that name their JSON Schema: 0, the id in a registry, then the text.
 *
 * Idea       rows are read by the format json from the texts laid end to end; before that each message is held against the schema that it names, on the places
 *            that stage 1 finds (json_simd.h), without a tree. A message that breaks its schema is a bad record.
 * Checked    "type", "required", "properties", "items", "additionalProperties": false, "enum" of strings, "$ref" inside the schema; of "oneOf" and "anyOf" that
 *            one alternative holds, of "allOf" all. Other keywords say nothing here. 'validate' = 'none' leaves only the id to be checked.
 * Bounds     nesting DEPTH_MAX; a schema NODES_MAX places.
 * Thread     one decoder or encoder a worker. Memory: a schema's checks have an arena; the registry's client bounds their number.      */
#include "format/json_row.h"
#include "format/json_simd.h"
#include "format/json_tree.h"
#include "format/registry.h"
#include <stdio.h>

enum { DEPTH_MAX = 64, NODES_MAX = 20000 };

static const wr_option_spec specs[] = {
    WR_REGISTRY_SPECS("json-confluent"),
    {"json-confluent.validate", "enum:schema|none", "schema", false, "hold messages against their schema: types, required and unknown fields, enums"},
    {"json-confluent.ignore-parse-errors", "bool", "false", false, "a field that cannot be read becomes NULL; a record that cannot be read is skipped and counted"},
    {"json-confluent.fail-on-missing-field", "bool", "false", false, "a record without a column's field is a bad record (else the field is NULL)"},
    {"json-confluent.timestamp-format.standard", "enum:SQL|ISO-8601", "SQL", false, "SQL: 2026-01-31 12:00:00.123; ISO-8601: 2026-01-31T12:00:00.123"},
    {"json-confluent.encode.ignore-null-fields", "bool", "false", false, "writing: leave NULL fields out"},
    {0}};
static const char NAME[] = "json-confluent";

/* ---- a schema's checks ---- */

enum { T_NULL = 1, T_BOOLEAN = 2, T_INTEGER = 4, T_NUMBER = 8, T_STRING = 16, T_ARRAY = 32, T_OBJECT = 64, T_ANY = 127 };

typedef struct check {
    uint8_t        types;
    bool           never, closed;        /* false as a schema; additionalProperties: false */
    uint32_t       n, n_required, n_enum, n_some, n_all;
    wr_str        *names, *required, *values; /* properties; required ones; enum's strings */
    struct check **kids, **some, **all;       /* properties' checks; oneOf and anyOf; allOf */
    struct check  *items, *also;              /* additionalProperties as a schema */
} check;

typedef struct making {
    wr_arena           *arena;
    const wr_json_node *root;
    uint32_t            n_nodes;
    struct { const wr_json_node *node; check *made; } refs[64]; /* what "$ref" led to: schemas may be recursive */
    uint32_t            n_refs;
    char               *message;
} making;

static uint8_t type_bit(wr_str name) {
    static const char *const names[] = {"null", "boolean", "integer", "number", "string", "array", "object"};
    for (uint32_t i = 0; i < WR_COUNT_OF(names); i++)
        if (wr_str_eq(name, wr_str_of(names[i]))) return (uint8_t)(1 << i);
    return 0;
}

static uint8_t types_of(const wr_json_node *type) {
    uint8_t types = 0;
    if (!type) return T_ANY;
    if (type->kind == WR_JSON_STRING) types = type_bit(type->text);
    else
        for (const wr_json_node *t = type->first; t; t = t->next) types |= t->kind == WR_JSON_STRING ? type_bit(t->text) : 0;
    if (!types) return T_ANY;
    return types & T_NUMBER ? types | T_INTEGER : types;
}

static check *make_check(making *m, const wr_json_node *node, uint32_t depth);

/* "#", "#/definitions/X", "#/$defs/X" */
static check *follow(making *m, wr_str ref, uint32_t depth) {
    const wr_json_node *at = m->root;
    wr_str              part, rest = ref;
    if (!ref.len || *ref.ptr != '#') {
        snprintf(m->message, 200, "JSON Schema: \"$ref\": \"%.*s\" leads out of the schema", (int)WR_MIN(ref.len, 80u), ref.ptr);
        return NULL;
    }
    for (wr_str_next(&rest, '/', &part); at && wr_str_next(&rest, '/', &part);) at = wr_json_get(at, wr_arena_strndup(m->arena, part.ptr, part.len));
    if (!at) {
        snprintf(m->message, 200, "JSON Schema: \"$ref\": \"%.*s\" is not there", (int)WR_MIN(ref.len, 80u), ref.ptr);
        return NULL;
    }
    for (uint32_t i = 0; i < m->n_refs; i++)
        if (m->refs[i].node == at) return m->refs[i].made;
    return make_check(m, at, depth + 1);
}

static bool make_list(making *m, const wr_json_node *list, check ***out, uint32_t *n, uint32_t depth) {
    if (!list || list->kind != WR_JSON_ARRAY) return true;
    check **old = *out;
    *out = wr_new_n(m->arena, check *, *n + list->n + 1);
    if (*n) memcpy(*out, old, *n * sizeof *old);
    for (const wr_json_node *k = list->first; k; k = k->next)
        if (!((*out)[(*n)++] = make_check(m, k, depth + 1))) return false;
    return true;
}

static bool make_object(making *m, check *c, const wr_json_node *node, uint32_t depth) {
    const wr_json_node *properties = wr_json_get(node, "properties"), *required = wr_json_get(node, "required"), *also = wr_json_get(node, "additionalProperties");
    if (properties && properties->kind == WR_JSON_OBJECT) {
        c->names = wr_new_n(m->arena, wr_str, properties->n + 1);
        c->kids = wr_new_n(m->arena, check *, properties->n + 1);
        for (const wr_json_node *p = properties->first; p; p = p->next) {
            c->names[c->n] = p->key;
            if (!(c->kids[c->n++] = make_check(m, p, depth + 1))) return false;
        }
    }
    if (required && required->kind == WR_JSON_ARRAY) {
        c->required = wr_new_n(m->arena, wr_str, required->n + 1);
        for (const wr_json_node *r = required->first; r; r = r->next)
            if (r->kind == WR_JSON_STRING) c->required[c->n_required++] = r->text;
    }
    if (also && also->kind == WR_JSON_OBJECT) return (c->also = make_check(m, also, depth + 1)) != NULL;
    c->closed = also && also->kind == WR_JSON_BOOL && !also->yes;
    return true;
}

static check *make_check(making *m, const wr_json_node *node, uint32_t depth) {
    check *c = wr_new(m->arena, check);
    c->types = T_ANY;
    if (depth > DEPTH_MAX || ++m->n_nodes > NODES_MAX) {
        snprintf(m->message, 200, "JSON Schema: more than %d places, or nested deeper than %d", NODES_MAX, DEPTH_MAX);
        return NULL;
    }
    if (node->kind == WR_JSON_BOOL) return c->never = !node->yes, c;
    if (node->kind != WR_JSON_OBJECT) {
        snprintf(m->message, 200, "JSON Schema: a schema is an object, true or false");
        return NULL;
    }
    if (m->n_refs < WR_COUNT_OF(m->refs)) m->refs[m->n_refs].node = node, m->refs[m->n_refs++].made = c;
    wr_str ref = wr_json_get_string(node, "$ref");
    if (ref.ptr) return follow(m, ref, depth);
    c->types = types_of(wr_json_get(node, "type"));
    const wr_json_node *items = wr_json_get(node, "items"), *values = wr_json_get(node, "enum");
    if (items && items->kind != WR_JSON_ARRAY && !(c->items = make_check(m, items, depth + 1))) return NULL;
    bool strings = values && values->kind == WR_JSON_ARRAY;
    for (const wr_json_node *v = strings ? values->first : NULL; v; v = v->next) strings &= v->kind == WR_JSON_STRING;
    if (strings) {
        c->values = wr_new_n(m->arena, wr_str, values->n + 1);
        for (const wr_json_node *v = values->first; v; v = v->next) c->values[c->n_enum++] = v->text;
    }
    if (!make_object(m, c, node, depth) || !make_list(m, wr_json_get(node, "oneOf"), &c->some, &c->n_some, depth)) return NULL;
    if (!c->n_some && !make_list(m, wr_json_get(node, "anyOf"), &c->some, &c->n_some, depth)) return NULL;
    return make_list(m, wr_json_get(node, "allOf"), &c->all, &c->n_all, depth) ? c : NULL;
}

/* ---- a message against it ---- */

static const uint32_t *hold(json_reader *r, const check *c, const uint32_t *ix, wr_str path, uint32_t depth);

static const uint32_t *broken(json_reader *r, const uint32_t *ix, wr_str path, const char *what, wr_str name) {
    return json_fault(r, WR_BAD_TYPE, *ix, "the message breaks its schema at '%.*s': %s%.*s", (int)WR_MIN(path.len, 60u), path.ptr, what, (int)WR_MIN(name.len, 60u), name.ptr);
}

static uint8_t type_at(const json_reader *r, const uint32_t *ix) {
    const uint8_t *p = r->data + *ix;
    switch (*p) {
    case '{': return T_OBJECT;
    case '[': return T_ARRAY;
    case '"': return T_STRING;
    case 't':
    case 'f': return T_BOOLEAN;
    case 'n': return T_NULL;
    default: break;
    }
    bool whole = true;
    for (; p < r->data + r->end && !strchr(",}] \t\r\n", *p); p++) whole &= (*p >= '0' && *p <= '9') || *p == '-';
    return whole ? T_INTEGER : T_NUMBER;
}

/* The members of an object, each against the property of its name. */
static const uint32_t *hold_object(json_reader *r, const check *c, const uint32_t *ix, wr_str path, uint32_t depth) {
    const uint32_t *start = ix;
    uint64_t        found = 0; /* of the first 64 required ones */
    ix++;
    if (*ix < r->end && r->data[*ix] == '}') ix++;
    else for (;;) {
        wr_str key;
        if (*ix >= r->end || r->data[*ix] != '"' || !json_string_raw(r, ix, &key) || ix[1] >= r->end || r->data[ix[1]] != ':') return json_fault(r, WR_BAD_MALFORMED, *ix, "JSON: expected a key and ':'");
        uint32_t i = 0;
        while (i < c->n && !wr_str_eq(c->names[i], key)) i++;
        if (i == c->n && c->closed) return broken(r, ix, path, "no field is called ", key);
        for (uint32_t k = 0; k < c->n_required && k < 64; k++)
            if (wr_str_eq(c->required[k], key)) found |= UINT64_C(1) << k;
        const check *kid = i < c->n ? c->kids[i] : c->also;
        ix += 2;
        ix = kid ? hold(r, kid, ix, key, depth + 1) : json_skip(r, ix, NULL);
        if (!ix) return NULL;
        uint8_t next = *ix < r->end ? r->data[*ix] : 0;
        ix++;
        if (next == '}') break;
        if (next != ',') return json_fault(r, WR_BAD_MALFORMED, ix[-1], "JSON: expected ',' or '}'");
    }
    for (uint32_t k = 0; k < c->n_required && k < 64; k++)
        if (!(found >> k & 1)) return broken(r, start, path, "there must be a field ", c->required[k]);
    return ix;
}

static const uint32_t *hold_array(json_reader *r, const check *c, const uint32_t *ix, wr_str path, uint32_t depth) {
    ix++;
    if (*ix < r->end && r->data[*ix] == ']') return ix + 1;
    for (;;) {
        ix = c->items ? hold(r, c->items, ix, path, depth + 1) : json_skip(r, ix, NULL);
        if (!ix) return NULL;
        uint8_t next = *ix < r->end ? r->data[*ix] : 0;
        ix++;
        if (next == ']') return ix;
        if (next != ',') return json_fault(r, WR_BAD_MALFORMED, ix[-1], "JSON: expected ',' or ']'");
    }
}

static const uint32_t *hold(json_reader *r, const check *c, const uint32_t *ix, wr_str path, uint32_t depth) {
    if (depth > DEPTH_MAX) return json_fault(r, WR_BAD_MALFORMED, *ix, "JSON: nested deeper than %d", DEPTH_MAX);
    if (*ix >= r->end) return json_fault(r, WR_BAD_MALFORMED, *ix, "JSON: expected a value");
    uint8_t type = type_at(r, ix);
    if (c->never) return broken(r, ix, path, "nothing is allowed here", WR_STR(""));
    if (!(c->types & type)) {
        static const char *const is[] = {"null", "true or false", "a whole number", "a number with a fraction", "a string", "an array", "an object"};
        return broken(r, ix, path, "the type is wrong, it is ", wr_str_of(is[__builtin_ctz(type)]));
    }
    for (uint32_t i = 0; i < c->n_all; i++)
        if (!hold(r, c->all[i], ix, path, depth + 1)) return NULL;
    if (c->n_some) {
        bool one = false;
        for (uint32_t i = 0; i < c->n_some && !one; i++) one = hold(r, c->some[i], ix, path, depth + 1) != NULL;
        if (!one) return c->n_some == 1 ? NULL : broken(r, ix, path, "it is none of the alternatives", WR_STR(""));
    }
    if (type == T_OBJECT) return hold_object(r, c, ix, path, depth);
    if (type == T_ARRAY) return hold_array(r, c, ix, path, depth);
    const uint32_t *next = json_skip(r, ix, NULL);
    wr_str          raw;
    if (next && type == T_STRING && c->n_enum && json_string_raw(r, ix, &raw)) {
        uint32_t i = 0;
        while (i < c->n_enum && !wr_str_eq(c->values[i], raw)) i++;
        if (i == c->n_enum) return broken(r, ix, path, "no such value: ", raw);
    }
    return next;
}

/* ---- reading ---- */

typedef struct made { wr_arena *arena; check *root; } made;

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
    char    why[120];
    made   *out = wr_calloc(1, sizeof *out);
    making *m = wr_calloc(1, sizeof *m);
    out->arena = wr_arena_new(NULL);
    *m = (making){.arena = out->arena, .root = wr_json_parse(out->arena, wr_str_dup(out->arena, schema->text), why), .message = message};
    if (!m->root) snprintf(message, 200, "the registered schema is not JSON: %.120s", why);
    else out->root = make_check(m, m->root, 0);
    wr_free(m);
    if (out->root) return out;
    free_made(self, out);
    return NULL;
}

static bool holds(confluent_decoder *d, const made *schema, wr_str text, wr_bad_record *bad) {
    const uint32_t *ix;
    uint32_t        n;
    json_reader     r = {.data = (const uint8_t *)text.ptr, .end = (uint32_t)text.len};
    if (wr_simd_index(d->simd, r.data, text.len, &ix, &n) != WR_SIMD_OK || !n) return true; /* no JSON: the reader of rows says so */
    if (hold(&r, schema->root, ix, WR_STR("message"), 0)) return true;
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
    *d = (confluent_decoder){.base = {decode, decoder_free, decode_records}, .arena = wr_arena_new(NULL), .simd = wr_simd_new(), .max_record_bytes = opts->max_record_bytes > 0 ? opts->max_record_bytes : 16 << 20};
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
