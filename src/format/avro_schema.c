/* format/avro_schema.c: Avro schemas from JSON, and the schema that a table's columns have. See avro.h.
 *
 * Rules      Avro 1.12: a logical type that does not fit its type is none. Kafka Connect's and Debezium's names for times ("connect.name") count as logical types.
 * Bounds     recursion is that of the JSON text, 100 levels; a name ends it.                                                          */
#define _GNU_SOURCE 1
#include "format/avro.h"
#include "type/decimal.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct parsing {
    wr_arena   *arena;
    avro_names *names;
    char       *message;
    bool        failed;
} parsing;

static const char *const kind_names[] = {"null", "boolean", "int", "long", "float", "double", "bytes", "string", "record", "enum", "array", "map", "union", "fixed"};

WR_COLD WR_PRINTF(2, 3) static avro_schema *fail(parsing *p, const char *fmt, ...) {
    va_list args;
    if (!p->failed) {
        va_start(args, fmt);
        vsnprintf(p->message, 200, fmt, args);
        va_end(args);
    }
    p->failed = true;
    return NULL;
}

static avro_schema *parse(parsing *p, const wr_json_node *node, wr_str space);

/* ---- names ---- */

static wr_str full_name(parsing *p, wr_str name, wr_str space) {
    if (!space.len || memchr(name.ptr, '.', name.len)) return name;
    const char *full = wr_arena_printf(p->arena, "%.*s.%.*s", WR_FMT(space), WR_FMT(name));
    return wr_str_of(full);
}

static wr_str space_of(wr_str full) {
    const char *dot = full.len ? memrchr(full.ptr, '.', full.len) : NULL;
    return (wr_str){full.ptr, dot ? (size_t)(dot - full.ptr) : 0};
}

static avro_schema *find_name(const parsing *p, wr_str full) {
    for (uint32_t i = 0; i < p->names->list.n; i++)
        if (wr_str_eq(p->names->list.at[i]->name, full)) return p->names->list.at[i];
    return NULL;
}

static bool define(parsing *p, avro_schema *s, const wr_json_node *node, wr_str *space) {
    wr_str name = wr_json_get_string(node, "name"), own = wr_json_get_string(node, "namespace");
    if (!name.len) return fail(p, "the schema has a %s without a name", kind_names[s->kind]), false;
    s->name = full_name(p, name, own.ptr ? own : *space);
    *space = space_of(s->name);
    if (find_name(p, s->name)) return fail(p, "the schema has two types of the name %.*s", (int)WR_MIN(s->name.len, 100u), s->name.ptr), false;
    wr_arr_apush(p->arena, &p->names->list, s);
    return true;
}

/* ---- logical types ---- */

static void set_time(avro_schema *s, avro_logical logical, int64_t per_second) { s->logical = (uint8_t)logical, s->per_second = per_second; }

static void set_decimal(avro_schema *s, const wr_json_node *node) {
    int64_t precision = 0, scale = 0;
    if (!wr_json_get_int(node, "precision", &precision)) { /* Kafka Connect's: scale as text, no precision where it is not known */
        wr_str inner = wr_json_get_string(wr_json_get(node, "connect.parameters"), "scale");
        if (inner.len && wr_scalar_int(inner, &scale)) precision = WR_DECIMAL_MAX_PREC;
    }
    wr_json_get_int(node, "scale", &scale);
    if (precision < 1 || scale < 0 || scale > precision || precision > 1000) return;
    s->logical = AVRO_DECIMAL;
    s->precision = (int32_t)precision, s->scale = (int32_t)scale;
}

static void set_logical(avro_schema *s, const wr_json_node *node) {
    static const struct { const char *name; uint8_t kind, logical; int64_t per_second; } known[] = {
        {"date", AVRO_INT, AVRO_DATE, 0}, {"time-millis", AVRO_INT, AVRO_TIME, 1000}, {"time-micros", AVRO_LONG, AVRO_TIME, 1000000},
        {"timestamp-millis", AVRO_LONG, AVRO_TIMESTAMP, 1000}, {"timestamp-micros", AVRO_LONG, AVRO_TIMESTAMP, 1000000}, {"timestamp-nanos", AVRO_LONG, AVRO_TIMESTAMP, 1000000000},
        {"local-timestamp-millis", AVRO_LONG, AVRO_TIMESTAMP, 1000}, {"local-timestamp-micros", AVRO_LONG, AVRO_TIMESTAMP, 1000000},
        {"local-timestamp-nanos", AVRO_LONG, AVRO_TIMESTAMP, 1000000000},
        {"io.debezium.time.Date", AVRO_INT, AVRO_DATE, 0}, {"io.debezium.time.Time", AVRO_INT, AVRO_TIME, 1000}, {"io.debezium.time.MicroTime", AVRO_LONG, AVRO_TIME, 1000000},
        {"io.debezium.time.NanoTime", AVRO_LONG, AVRO_TIME, 1000000000}, {"io.debezium.time.Timestamp", AVRO_LONG, AVRO_TIMESTAMP, 1000},
        {"io.debezium.time.MicroTimestamp", AVRO_LONG, AVRO_TIMESTAMP, 1000000}, {"io.debezium.time.NanoTimestamp", AVRO_LONG, AVRO_TIMESTAMP, 1000000000},
        {"org.apache.kafka.connect.data.Date", AVRO_INT, AVRO_DATE, 0}, {"org.apache.kafka.connect.data.Time", AVRO_INT, AVRO_TIME, 1000},
        {"org.apache.kafka.connect.data.Timestamp", AVRO_LONG, AVRO_TIMESTAMP, 1000},
    };
    wr_str logical = wr_json_get_string(node, "logicalType"), connect = wr_json_get_string(node, "connect.name");
    for (size_t i = 0; i < WR_COUNT_OF(known); i++)
        if (s->kind == known[i].kind && (wr_str_eq(logical, wr_str_of(known[i].name)) || (!logical.len && wr_str_eq(connect, wr_str_of(known[i].name)))))
            set_time(s, known[i].logical, known[i].per_second);
    bool bytes = s->kind == AVRO_BYTES || s->kind == AVRO_FIXED;
    if (bytes && (wr_str_eq(logical, WR_STR("decimal")) || wr_str_eq(connect, WR_STR("org.apache.kafka.connect.data.Decimal")))) set_decimal(s, node);
    if (wr_str_eq(logical, WR_STR("uuid")) && (s->kind == AVRO_STRING || (s->kind == AVRO_FIXED && s->size == 16))) s->logical = AVRO_UUID;
    if (wr_str_eq(logical, WR_STR("duration")) && s->kind == AVRO_FIXED && s->size == 12) s->logical = AVRO_DURATION;
}

/* ---- kinds ---- */

static const wr_str *strings(parsing *p, const wr_json_node *list, uint32_t *n) {
    uint32_t count = list && list->kind == WR_JSON_ARRAY ? list->n : 0;
    wr_str  *out = wr_new_n(p->arena, wr_str, count + 1);
    *n = 0;
    for (const wr_json_node *k = count ? list->first : NULL; k; k = k->next)
        if (k->kind == WR_JSON_STRING) out[(*n)++] = k->text;
    return out;
}

static bool parse_record(parsing *p, avro_schema *s, const wr_json_node *node, wr_str space) {
    const wr_json_node *fields = wr_json_get(node, "fields");
    if (!define(p, s, node, &space)) return false;
    if (!fields || fields->kind != WR_JSON_ARRAY) return fail(p, "the record %.*s has no fields", (int)WR_MIN(s->name.len, 100u), s->name.ptr), false;
    s->fields = wr_new_n(p->arena, avro_field, fields->n + 1);
    s->empty = true;
    for (const wr_json_node *f = fields->first; f; f = f->next) {
        avro_field *field = &s->fields[s->n++];
        field->name = wr_json_get_string(f, "name");
        field->aliases = strings(p, wr_json_get(f, "aliases"), &field->n_aliases);
        field->fallback = wr_json_get(f, "default");
        if (!field->name.len) return fail(p, "the record %.*s has a field without a name", (int)WR_MIN(s->name.len, 100u), s->name.ptr), false;
        for (uint32_t i = 0; i + 1 < s->n; i++)
            if (wr_str_eq(s->fields[i].name, field->name)) return fail(p, "a record has two fields '%.*s'", (int)WR_MIN(field->name.len, 100u), field->name.ptr), false;
        const wr_json_node *type = wr_json_get(f, "type");
        if (!type) return fail(p, "the field '%.*s' has no type", (int)WR_MIN(field->name.len, 100u), field->name.ptr), false;
        if (!(field->schema = parse(p, type, space))) return false;
        s->empty &= field->schema->empty;
    }
    return true;
}

static bool parse_enum(parsing *p, avro_schema *s, const wr_json_node *node, wr_str space) {
    if (!define(p, s, node, &space)) return false;
    s->symbols = (wr_str *)(uintptr_t)strings(p, wr_json_get(node, "symbols"), &s->n);
    if (!s->n) return fail(p, "the enum %.*s has no symbols", (int)WR_MIN(s->name.len, 100u), s->name.ptr), false;
    return true;
}

static bool parse_fixed(parsing *p, avro_schema *s, const wr_json_node *node, wr_str space) {
    int64_t size = -1;
    if (!define(p, s, node, &space)) return false;
    if (!wr_json_get_int(node, "size", &size) || size < 0 || size > INT32_MAX) return fail(p, "the fixed %.*s has no size", (int)WR_MIN(s->name.len, 100u), s->name.ptr), false;
    s->size = (uint32_t)size;
    s->empty = !size;
    return true;
}

static bool parse_kid(parsing *p, avro_schema *s, const wr_json_node *node, const char *member, wr_str space) {
    const wr_json_node *kid = wr_json_get(node, member);
    if (!kid) return fail(p, "the schema has a type '%s' without '%s'", kind_names[s->kind], member), false;
    s->kids = wr_new_n(p->arena, avro_schema *, 1);
    s->n = 1;
    return (s->kids[0] = parse(p, kid, space)) != NULL;
}

static avro_schema *parse_union(parsing *p, const wr_json_node *node, wr_str space) {
    avro_schema *s = wr_new(p->arena, avro_schema);
    s->kind = AVRO_UNION;
    if (!node->n) return fail(p, "the schema has a union of nothing");
    s->kids = wr_new_n(p->arena, avro_schema *, node->n);
    for (const wr_json_node *k = node->first; k; k = k->next) {
        if (!(s->kids[s->n++] = parse(p, k, space))) return NULL;
        if (s->kids[s->n - 1]->kind == AVRO_UNION) return fail(p, "the schema has a union in a union");
    }
    return s;
}

static avro_schema *parse_object(parsing *p, const wr_json_node *node, wr_str space) {
    const wr_json_node *type = wr_json_get(node, "type");
    if (!type) return fail(p, "the schema has an object without 'type'");
    if (type->kind != WR_JSON_STRING) return parse(p, type, space); /* {"type": {"type": ...}} */
    uint32_t kind = 0;
    while (kind < WR_COUNT_OF(kind_names) && !wr_str_eq(type->text, wr_str_of(kind_names[kind]))) kind++;
    if (wr_str_eq(type->text, WR_STR("error"))) kind = AVRO_RECORD;
    if (kind == WR_COUNT_OF(kind_names) || kind == AVRO_UNION) return parse(p, type, space); /* a name */
    avro_schema *s = wr_new(p->arena, avro_schema);
    s->kind = (uint8_t)kind;
    s->empty = kind == AVRO_NULL;
    bool ok = true;
    switch (kind) {
    case AVRO_RECORD: ok = parse_record(p, s, node, space); break;
    case AVRO_ENUM: ok = parse_enum(p, s, node, space); break;
    case AVRO_FIXED: ok = parse_fixed(p, s, node, space); break;
    case AVRO_ARRAY: ok = parse_kid(p, s, node, "items", space); break;
    case AVRO_MAP: ok = parse_kid(p, s, node, "values", space); break;
    default: break;
    }
    if (!ok) return NULL;
    set_logical(s, node);
    return s;
}

static avro_schema *parse(parsing *p, const wr_json_node *node, wr_str space) {
    if (node->kind == WR_JSON_ARRAY) return parse_union(p, node, space);
    if (node->kind == WR_JSON_OBJECT) return parse_object(p, node, space);
    if (node->kind != WR_JSON_STRING) return fail(p, "a schema is a name, an object or a list");
    for (uint32_t kind = 0; kind <= AVRO_STRING; kind++) {
        if (!wr_str_eq(node->text, wr_str_of(kind_names[kind]))) continue;
        avro_schema *s = wr_new(p->arena, avro_schema);
        s->kind = (uint8_t)kind;
        s->empty = kind == AVRO_NULL;
        return s;
    }
    avro_schema *s = find_name(p, full_name(p, node->text, space));
    if (!s) s = find_name(p, node->text);
    return s ? s : fail(p, "the schema has no type '%.*s'", (int)WR_MIN(node->text.len, 100u), node->text.ptr);
}

avro_schema *avro_schema_parse(wr_arena *arena, wr_str text, avro_names *names, char message[200]) {
    char    why[120];
    parsing p = {.arena = arena, .names = names, .message = message};
    const wr_json_node *tree = wr_json_parse(arena, text, why);
    if (!tree) {
        text = wr_str_trim(text);
        wr_json_node *name = wr_new(arena, wr_json_node); /* a bare word: string */
        *name = (wr_json_node){.kind = WR_JSON_STRING, .text = text};
        bool word = text.len > 0 && text.len < 256;
        for (size_t i = 0; i < text.len && word; i++) word = (text.ptr[i] >= 'a' && text.ptr[i] <= 'z') || text.ptr[i] == '_' || text.ptr[i] == '.';
        if (!word) return fail(&p, "the schema is not JSON: %s", why);
        tree = name;
    }
    return parse(&p, tree, (wr_str){"", 0});
}

void avro_schema_text(const avro_schema *s, wr_sbuf *out) {
    static const char *const logical[] = {"", "decimal", "uuid", "date", "time", "timestamp", "duration"};
    wr_sbuf_addz(out, kind_names[s->kind]);
    if (s->logical) {
        wr_sbuf_printf(out, " (%s", logical[s->logical]);
        if (s->logical == AVRO_DECIMAL) wr_sbuf_printf(out, " %d, %d", s->precision, s->scale);
        if (s->per_second) wr_sbuf_printf(out, " in %s", s->per_second == 1000 ? "milliseconds" : s->per_second == 1000000 ? "microseconds" : "nanoseconds");
        wr_sbuf_addc(out, ')');
    } else if (s->name.len) {
        wr_sbuf_printf(out, " %.*s", (int)WR_MIN(s->name.len, 80u), s->name.ptr);
    }
    for (uint32_t i = 0; s->kind == AVRO_UNION && i < s->n; i++) {
        wr_sbuf_addz(out, i ? " and " : " of ");
        if (i == 5) { wr_sbuf_addz(out, "others"); break; }
        avro_schema_text(s->kids[i], out);
    }
}

/* ---- the schema of columns ---- */

typedef struct deriving {
    bool        legacy;
    const char *format;
    wr_sbuf    *out;
    wr_diags   *diags;
} deriving;

static bool is_name(wr_str s) {
    for (size_t i = 0; i < s.len; i++) {
        char c = s.ptr[i];
        bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
        if (!letter && (i == 0 || c < '0' || c > '9')) return false;
    }
    return s.len > 0;
}

WR_COLD static bool no_type(const deriving *d, wr_type type, wr_str path, const char *hint) {
    wr_sbuf text = {0};
    wr_type_text(type, &text);
    if (d->diags) {
        wr_diags_add(d->diags, WR_SEV_ERROR, "WR125", (wr_span){0}, "the format '%s' has no type for the column '%.*s' %s", d->format, WR_FMT(path), text.at);
        wr_diags_hint(d->diags, hint, d->format);
    }
    wr_sbuf_free(&text);
    return false;
}

static bool put_type(const deriving *d, wr_type type, wr_str name, wr_str path);

static bool put_fields(const deriving *d, uint32_t n, const wr_str *names, const wr_type *types, wr_str record, wr_str path) {
    for (uint32_t i = 0; i < n; i++) {
        wr_sbuf inner = {0}, inner_path = {0};
        if (!is_name(names[i])) {
            if (d->diags) {
                wr_diags_add(d->diags, WR_SEV_ERROR, "WR125", (wr_span){0}, "the format '%s': a field cannot be called '%.*s'", d->format, WR_FMT(names[i]));
                wr_diags_hint(d->diags, "Avro's names are letters, digits and _, and begin with no digit");
            }
            return false;
        }
        wr_sbuf_printf(&inner, "%.*s_%.*s", WR_FMT(record), WR_FMT(names[i]));
        wr_sbuf_printf(&inner_path, "%.*s%s%.*s", WR_FMT(path), path.len ? "." : "", WR_FMT(names[i]));
        wr_sbuf_printf(d->out, "%s{\"name\":\"%.*s\",\"type\":", i ? "," : "", WR_FMT(names[i]));
        bool ok = put_type(d, types[i], wr_sbuf_str(&inner), wr_sbuf_str(&inner_path));
        wr_sbuf_printf(d->out, "%s}", types[i].nullable ? ",\"default\":null" : "");
        wr_sbuf_free(&inner);
        wr_sbuf_free(&inner_path);
        if (!ok) return false;
    }
    return true;
}

static bool put_timestamp(const deriving *d, wr_type type, wr_str path) {
    const char *unit = type.prec <= 3 ? "millis" : type.prec <= 6 ? "micros" : "nanos";
    bool        local = type.id == WR_T_TIMESTAMP;
    if (d->legacy && (!local || type.prec > 3))
        return no_type(d, type, path, "'%s.timestamp_mapping.legacy' = 'false' writes TIMESTAMP as local-timestamp and TIMESTAMP_LTZ as timestamp, with all digits; Flink's default has TIMESTAMP(3) only");
    wr_sbuf_printf(d->out, "{\"type\":\"long\",\"logicalType\":\"%stimestamp-%s\"}", local && !d->legacy ? "local-" : "", unit);
    return true;
}

static bool put_bare_type(const deriving *d, wr_type type, wr_str name, wr_str path) {
    switch (type.id) {
    case WR_T_BOOLEAN: wr_sbuf_addz(d->out, "\"boolean\""); return true;
    case WR_T_TINYINT:
    case WR_T_SMALLINT:
    case WR_T_INT: wr_sbuf_addz(d->out, "\"int\""); return true;
    case WR_T_BIGINT: wr_sbuf_addz(d->out, "\"long\""); return true;
    case WR_T_FLOAT: wr_sbuf_addz(d->out, "\"float\""); return true;
    case WR_T_DOUBLE: wr_sbuf_addz(d->out, "\"double\""); return true;
    case WR_T_CHAR:
    case WR_T_VARCHAR: wr_sbuf_addz(d->out, "\"string\""); return true;
    case WR_T_BINARY:
    case WR_T_VARBINARY: wr_sbuf_addz(d->out, "\"bytes\""); return true;
    case WR_T_DATE: wr_sbuf_addz(d->out, "{\"type\":\"int\",\"logicalType\":\"date\"}"); return true;
    case WR_T_TIME: wr_sbuf_addz(d->out, "{\"type\":\"int\",\"logicalType\":\"time-millis\"}"); return true;
    case WR_T_TIMESTAMP:
    case WR_T_TIMESTAMP_LTZ: return put_timestamp(d, type, path);
    case WR_T_DECIMAL: wr_sbuf_printf(d->out, "{\"type\":\"bytes\",\"logicalType\":\"decimal\",\"precision\":%d,\"scale\":%d}", type.prec, type.scale); return true;
    case WR_T_ROW: {
        wr_str space = space_of(name);
        bool   top = wr_str_eq(name, WR_STR("org.apache.flink.avro.generated.record"));
        wr_sbuf_printf(d->out, "{\"type\":\"record\",\"name\":\"%.*s\",", (int)(name.len - space.len - 1), name.ptr + space.len + 1);
        if (top) wr_sbuf_printf(d->out, "\"namespace\":\"%.*s\",", WR_FMT(space));
        wr_sbuf_addz(d->out, "\"fields\":[");
        bool ok = put_fields(d, type.n_kids, type.names, type.kids, name, path);
        wr_sbuf_addz(d->out, "]}");
        return ok;
    }
    case WR_T_ARRAY:
    case WR_T_MAP: {
        bool map = type.id == WR_T_MAP;
        if (map && !wr_type_is_string(type.kids[0])) return no_type(d, type, path, "the keys of a map are STRING in '%s'");
        wr_sbuf_addz(d->out, map ? "{\"type\":\"map\",\"values\":" : "{\"type\":\"array\",\"items\":");
        bool ok = put_type(d, type.kids[map], name, path);
        wr_sbuf_addc(d->out, '}');
        return ok;
    }
    default: return no_type(d, type, path, "'%s' has BOOLEAN, numbers, STRING, BYTES, DATE, TIME, TIMESTAMP, ARRAY, MAP and ROW");
    }
}

static bool put_type(const deriving *d, wr_type type, wr_str name, wr_str path) {
    if (type.nullable) wr_sbuf_addz(d->out, "[\"null\",");
    bool ok = put_bare_type(d, type, name, path);
    if (type.nullable) wr_sbuf_addc(d->out, ']');
    return ok;
}

bool avro_schema_of_columns(const wr_schema *schema, bool legacy, bool changes, const char *format, wr_sbuf *out, wr_diags *diags) {
    deriving d = {legacy, format, out, diags};
    wr_str  *names = wr_calloc(schema->n + 1, sizeof *names);
    wr_type *types = wr_calloc(schema->n + 1, sizeof *types);
    for (uint32_t i = 0; i < schema->n; i++) names[i] = schema->fields[i].name, types[i] = schema->fields[i].type;
    wr_type row = {.id = WR_T_ROW, .n_kids = schema->n, .kids = types, .names = names}, envelope[3], whole = row;
    static const wr_str envelope_names[] = {{"before", 6}, {"after", 5}, {"op", 2}};
    if (changes) {
        envelope[0] = envelope[1] = wr_type_with_null(row, true);
        envelope[2] = wr_type_string();
        whole = (wr_type){.id = WR_T_ROW, .n_kids = 3, .kids = envelope, .names = envelope_names};
    }
    bool ok = put_type(&d, whole, WR_STR("org.apache.flink.avro.generated.record"), (wr_str){"", 0});
    wr_free(names);
    wr_free(types);
    return ok;
}

/* ---- defaults ---- */

void avro_put_long(wr_sbuf *out, int64_t v) {
    uint64_t u = ((uint64_t)v << 1) ^ (uint64_t)(v >> 63);
    char     bytes[10];
    size_t   n = 0;
    for (; u >= 0x80; u >>= 7) bytes[n++] = (char)(u | 0x80);
    bytes[n++] = (char)u;
    wr_sbuf_add(out, bytes, n);
}

static bool put_float(wr_sbuf *out, wr_str text, bool wide) { /* doubles are little-endian in Avro, as here */
    double x = strtod(text.ptr, NULL);
    float  f = (float)x;
    wr_sbuf_add(out, wide ? (const void *)&x : (const void *)&f, wide ? 8 : 4);
    return true;
}

/* Bytes in JSON are text whose characters U+0000..U+00FF are the bytes. */
static bool put_latin(wr_sbuf *out, wr_str text) {
    for (size_t i = 0, used; i < text.len; i += used) {
        uint32_t c = wr_utf8_get(text.ptr + i, text.ptr + text.len, &used);
        if (c > 0xFF) return false;
        wr_sbuf_addc(out, (char)c);
    }
    return true;
}

static bool put_default(const avro_schema *s, const wr_json_node *v, int depth, wr_sbuf *out);

static bool put_default_list(const avro_schema *s, const wr_json_node *v, int depth, wr_sbuf *out) {
    if (v->n) avro_put_long(out, v->n);
    for (const wr_json_node *k = v->first; k; k = k->next) {
        if (s->kind == AVRO_MAP) avro_put_long(out, (int64_t)k->key.len), wr_sbuf_add_str(out, k->key);
        if (!put_default(s->kids[0], k, depth, out)) return false;
    }
    avro_put_long(out, 0);
    return true;
}

static bool put_default_record(const avro_schema *s, const wr_json_node *v, int depth, wr_sbuf *out) {
    for (uint32_t i = 0; i < s->n; i++) {
        const wr_json_node *k = v->first;
        while (k && !wr_str_eq(k->key, s->fields[i].name)) k = k->next;
        if (!k) k = s->fields[i].fallback;
        if (!k || !put_default(s->fields[i].schema, k, depth, out)) return false;
    }
    return true;
}

static bool put_default(const avro_schema *s, const wr_json_node *v, int depth, wr_sbuf *out) {
    if (depth > AVRO_DEPTH_MAX || out->len > 1 << 20) return false; /* defaults of records in their own defaults */
    int64_t i;
    wr_sbuf bytes = {0};
    bool    ok;
    switch ((avro_kind)s->kind) {
    case AVRO_NULL: return v->kind == WR_JSON_NULL;
    case AVRO_BOOLEAN: return wr_sbuf_addc(out, v->yes), v->kind == WR_JSON_BOOL;
    case AVRO_INT:
    case AVRO_LONG:
        if (v->kind != WR_JSON_NUMBER || !wr_scalar_int(v->text, &i) || (s->kind == AVRO_INT && i != (int32_t)i)) return false;
        return avro_put_long(out, i), true;
    case AVRO_FLOAT:
    case AVRO_DOUBLE: return v->kind == WR_JSON_NUMBER && put_float(out, v->text, s->kind == AVRO_DOUBLE);
    case AVRO_STRING:
        if (v->kind != WR_JSON_STRING) return false;
        return avro_put_long(out, (int64_t)v->text.len), wr_sbuf_add_str(out, v->text), true;
    case AVRO_BYTES:
    case AVRO_FIXED:
        ok = v->kind == WR_JSON_STRING && put_latin(&bytes, v->text) && (s->kind == AVRO_BYTES || bytes.len == s->size);
        if (ok && s->kind == AVRO_BYTES) avro_put_long(out, (int64_t)bytes.len);
        if (ok) wr_sbuf_add_str(out, wr_sbuf_str(&bytes));
        wr_sbuf_free(&bytes);
        return ok;
    case AVRO_ENUM:
        for (uint32_t k = 0; v->kind == WR_JSON_STRING && k < s->n; k++)
            if (wr_str_eq(s->symbols[k], v->text)) return avro_put_long(out, k), true;
        return false;
    case AVRO_ARRAY: return v->kind == WR_JSON_ARRAY && put_default_list(s, v, depth + 1, out);
    case AVRO_MAP: return v->kind == WR_JSON_OBJECT && put_default_list(s, v, depth + 1, out);
    case AVRO_RECORD: return v->kind == WR_JSON_OBJECT && put_default_record(s, v, depth + 1, out);
    case AVRO_UNION: /* the first branch; a later one is taken too where it fits (Avro 1.12) */
        for (uint32_t k = 0; k < s->n; k++) {
            size_t before = out->len;
            avro_put_long(out, k);
            if (put_default(s->kids[k], v, depth + 1, out)) return true;
            out->len = before;
        }
        return false;
    }
    return false;
}

bool avro_default_bytes(const avro_schema *s, const wr_json_node *value, wr_sbuf *out) { return put_default(s, value, 0, out); }
