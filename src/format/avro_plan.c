/* format/avro_plan.c: what is read of a datum into the columns, decided once for each pair of schemas. See avro.h.
 *
 * Idea       compile() goes down the writer's schema and the column's type together. What cannot be read at all (a string into INT) makes no plan, with the reason;
 *            in a union only that branch is refused, and a record is bad when it has it.
 * Bounds     recursion is along the column's type.                                                                       */
#define _GNU_SOURCE 1
#include "format/avro.h"
#include "type/decimal.h"
#include <stdio.h>

typedef struct planning {
    wr_arena *arena;
    wr_mem   *constants;
    char     *message;
} planning;

static bool compile(planning *p, avro_plan *plan, const avro_schema *writer, wr_type type, const avro_schema *reader, const char *path);

WR_COLD static bool refuse(planning *p, const char *path, const avro_schema *writer, wr_type type) {
    wr_sbuf from = {0}, to = {0};
    avro_schema_text(writer, &from);
    wr_type_text(wr_type_with_null(type, true), &to);
    snprintf(p->message, 200, "field '%.50s': Avro's %.70s cannot be read as %.40s", path, from.at, to.at);
    wr_sbuf_free(&from);
    wr_sbuf_free(&to);
    return false;
}

/* ---- scalars ---- */

/* Powers of ten or their inverse between the schema's unit and the column's; what lies below the column's precision is cut. */
static void set_units(avro_plan *plan, int64_t from_per_second, int64_t to_per_second) {
    plan->times = to_per_second > from_per_second ? to_per_second / from_per_second : 1;
    plan->by = from_per_second > to_per_second ? from_per_second / to_per_second : 1;
    plan->cut = 1;
    if (plan->type.id == WR_T_TIME) return;
    for (int64_t unit = to_per_second, digits = 0; unit > 1; unit /= 10, digits++)
        if (digits == plan->type.prec) plan->cut = unit;
}

static int op_of_number(const avro_schema *w, wr_type type) {
    bool whole = w->kind == AVRO_INT || w->kind == AVRO_LONG, narrow = w->kind == AVRO_INT;
    switch (type.id) {
    case WR_T_TINYINT: return narrow ? AVRO_OP_INT8 : -1;
    case WR_T_SMALLINT: return narrow ? AVRO_OP_INT16 : -1;
    case WR_T_INT: return narrow ? AVRO_OP_INT32 : -1;
    case WR_T_BIGINT: return whole ? AVRO_OP_INT64 : -1;
    case WR_T_FLOAT: return whole ? AVRO_OP_LONG_FLOAT : w->kind == AVRO_FLOAT ? AVRO_OP_FLOAT : -1;
    case WR_T_DOUBLE: return whole ? AVRO_OP_LONG_DOUBLE : w->kind == AVRO_FLOAT ? AVRO_OP_FLOAT_DOUBLE : w->kind == AVRO_DOUBLE ? AVRO_OP_DOUBLE : -1;
    case WR_T_DECIMAL: return whole ? AVRO_OP_LONG_DECIMAL : -1;
    default: return -1;
    }
}

static int op_of_time(avro_plan *plan, const avro_schema *w, wr_type type) {
    bool narrow = w->kind == AVRO_INT, plain = w->logical == AVRO_PLAIN;
    switch (type.id) {
    case WR_T_DATE: return narrow && (plain || w->logical == AVRO_DATE) ? AVRO_OP_DATE : -1;
    case WR_T_TIME:
        if (w->logical != AVRO_TIME && !(narrow && plain)) return -1;
        set_units(plan, plain ? 1000 : w->per_second, 1000);
        return AVRO_OP_TIME;
    default: /* a long without a logical type counts in the unit that the table's own schema would have */
        if (w->kind != AVRO_LONG || (w->logical != AVRO_TIMESTAMP && !plain)) return -1;
        set_units(plan, plain ? (type.prec <= 3 ? 1000 : type.prec <= 6 ? 1000000 : 1000000000) : w->per_second, wr_type_ticks_per_second(type));
        return AVRO_OP_TIMESTAMP;
    }
}

static int op_of_scalar(avro_plan *plan, const avro_schema *w, wr_type type) {
    bool bytes = w->kind == AVRO_BYTES || w->kind == AVRO_FIXED;
    if (wr_type_is_string(type)) {
        if (w->kind == AVRO_ENUM) return AVRO_OP_ENUM;
        if (w->kind == AVRO_FIXED) return w->logical == AVRO_UUID ? AVRO_OP_UUID_FIXED : -1;
        return w->kind == AVRO_STRING || (w->kind == AVRO_BYTES && w->logical == AVRO_PLAIN) ? AVRO_OP_STRING : -1;
    }
    if (wr_type_is_binary(type)) return w->kind == AVRO_FIXED ? AVRO_OP_FIXED : w->kind == AVRO_BYTES || w->kind == AVRO_STRING ? AVRO_OP_BYTES : -1;
    if (type.id == WR_T_BOOLEAN) return w->kind == AVRO_BOOLEAN ? AVRO_OP_BOOLEAN : -1;
    if (wr_type_is_time_point(type) || type.id == WR_T_TIME) return w->kind == AVRO_STRING ? AVRO_OP_TEXT : op_of_time(plan, w, type);
    if (type.id == WR_T_DECIMAL && w->kind == AVRO_STRING) return AVRO_OP_TEXT;
    if (type.id == WR_T_DECIMAL && bytes) return w->logical != AVRO_DECIMAL ? -1 : w->kind == AVRO_FIXED ? AVRO_OP_FIXED_DECIMAL : AVRO_OP_BYTES_DECIMAL;
    return op_of_number(w, type);
}

/* ---- nested ---- */

/* Of a schema of the table's own: the branch that a ROW, ARRAY or MAP column has. */
static const avro_schema *branch_of(const avro_schema *reader, avro_kind kind) {
    if (!reader || reader->kind == kind) return reader;
    for (uint32_t i = 0; reader->kind == AVRO_UNION && i < reader->n; i++)
        if (reader->kids[i]->kind == kind) return reader->kids[i];
    return NULL;
}

static const avro_field *field_named(const avro_schema *s, wr_str name) {
    for (uint32_t i = 0; s && i < s->n; i++)
        if (wr_str_eq(s->fields[i].name, name)) return &s->fields[i];
    return NULL;
}

static bool has_alias(const avro_field *f, wr_str name) {
    for (uint32_t i = 0; i < f->n_aliases; i++)
        if (wr_str_eq(f->aliases[i], name)) return true;
    return false;
}

/* The writer's field for a column: its name, then the old names that the table's own schema gives it, then a field that says it was called so. */
static int32_t field_for(const avro_schema *writer, wr_str column, const avro_field *own) {
    for (uint32_t i = 0; i < writer->n; i++)
        if (wr_str_eq(writer->fields[i].name, column)) return (int32_t)i;
    for (uint32_t i = 0; own && i < writer->n; i++)
        if (has_alias(own, writer->fields[i].name)) return (int32_t)i;
    for (uint32_t i = 0; i < writer->n; i++)
        if (has_alias(&writer->fields[i], column)) return (int32_t)i;
    return -1;
}

/* The default of a column that the writer does not have, as a column of one row. */
static bool make_default(planning *p, const avro_field *own, wr_type type, const char *path, const wr_vec **out) {
    wr_sbuf   bytes = {0};
    avro_plan plan = {0};
    bool      ok = avro_default_bytes(own->schema, own->fallback, &bytes);
    if (!ok) snprintf(p->message, 200, "field '%.100s': its default is none of its type", path);
    ok = ok && compile(p, &plan, own->schema, type, own->schema, path);
    if (ok) {
        uint8_t *kept = wr_mem_alloc(p->constants, bytes.len + 64);
        if (bytes.len) memcpy(kept, bytes.at, bytes.len);
        wr_vec *vec = wr_mem_calloc(p->constants, sizeof *vec);
        wr_vec_init(vec, type, 1, true, p->constants);
        avro_reader r = {.end = kept + bytes.len, .mem = p->constants};
        avro_plan   row = {.op = AVRO_OP_RECORD, .n = 1, .kids = &plan};
        plan.col = 0;
        ok = avro_read_row(&r, &row, kept, vec, 0) != NULL;
        if (!ok) memcpy(p->message, r.message, sizeof r.message);
        *out = vec;
    }
    wr_sbuf_free(&bytes);
    return ok;
}

typedef struct columns { uint32_t n; const wr_str *names; const wr_type *types; const uint8_t *needed; } columns;

static bool compile_record(planning *p, avro_plan *plan, const avro_schema *writer, const columns *cols, const avro_schema *reader, const char *path) {
    plan->op = AVRO_OP_RECORD;
    plan->n = writer->n;
    plan->kids = wr_new_n(p->arena, avro_plan, writer->n + 1);
    plan->absent = wr_new_n(p->arena, avro_absent, cols->n + 1);
    reader = branch_of(reader, AVRO_RECORD);
    for (uint32_t i = 0; i < writer->n; i++) plan->kids[i] = (avro_plan){.op = AVRO_OP_SKIP, .col = -1, .writer = writer->fields[i].schema};
    for (uint32_t c = 0; c < cols->n; c++) {
        if (cols->needed && !cols->needed[c]) continue;
        const avro_field *own = field_named(reader, cols->names[c]);
        const char       *inner = wr_arena_printf(p->arena, "%s%s%.*s", path, *path ? "." : "", WR_FMT(cols->names[c]));
        int32_t           i = field_for(writer, cols->names[c], own);
        if (i >= 0 && plan->kids[i].col >= 0) i = -1; /* one field is one column's */
        if (i >= 0) {
            if (!compile(p, &plan->kids[i], writer->fields[i].schema, cols->types[c], own ? own->schema : NULL, inner)) return false;
            plan->kids[i].col = (int32_t)c;
            continue;
        }
        avro_absent *absent = &plan->absent[plan->n_absent++];
        absent->col = c;
        if (own && own->fallback) {
            if (!make_default(p, own, cols->types[c], inner, &absent->value)) return false;
        } else if (!cols->types[c].nullable) {
            snprintf(p->message, 200, "field '%.100s' is missing, and its column is NOT NULL", inner);
            return false;
        }
    }
    return true;
}

static bool compile_nested(planning *p, avro_plan *plan, const avro_schema *writer, wr_type type, const avro_schema *reader, const char *path) {
    if (type.id == WR_T_ROW && writer->kind == AVRO_RECORD) {
        const columns cols = {type.n_kids, type.names, type.kids, NULL};
        return compile_record(p, plan, writer, &cols, reader, path);
    }
    bool map = type.id == WR_T_MAP && writer->kind == AVRO_MAP && wr_type_is_string(type.kids[0]);
    if (!map && !(type.id == WR_T_ARRAY && writer->kind == AVRO_ARRAY)) return refuse(p, path, writer, type);
    reader = branch_of(reader, (avro_kind)writer->kind);
    plan->op = map ? AVRO_OP_MAP : AVRO_OP_ARRAY;
    plan->n = 1;
    plan->kids = wr_new_n(p->arena, avro_plan, 1);
    return compile(p, &plan->kids[0], writer->kids[0], type.kids[map], reader ? reader->kids[0] : NULL, wr_arena_printf(p->arena, "%s[]", path));
}

static bool compile_union(planning *p, avro_plan *plan, const avro_schema *writer, wr_type type, const avro_schema *reader, const char *path) {
    bool any = false;
    plan->op = AVRO_OP_UNION;
    plan->n = writer->n;
    plan->kids = wr_new_n(p->arena, avro_plan, writer->n);
    for (uint32_t i = 0; i < writer->n; i++) {
        avro_plan *kid = &plan->kids[i];
        if (compile(p, kid, writer->kids[i], type, reader, path)) {
            any |= kid->op != AVRO_OP_NULL;
            continue;
        }
        *kid = (avro_plan){.op = AVRO_OP_REFUSE, .writer = writer->kids[i], .type = type, .path = path, .why = wr_arena_printf(p->arena, "%s", p->message)};
    }
    return any || (writer->n == 1 && plan->kids[0].op == AVRO_OP_NULL) || refuse(p, path, writer, type);
}

static bool compile(planning *p, avro_plan *plan, const avro_schema *writer, wr_type type, const avro_schema *reader, const char *path) {
    *plan = (avro_plan){.nullable = type.nullable, .col = -1, .type = type, .writer = writer, .path = path};
    if (writer->kind == AVRO_UNION) return compile_union(p, plan, writer, type, reader, path);
    if (writer->kind == AVRO_NULL) return plan->op = AVRO_OP_NULL, true;
    if (wr_type_is_nested(type)) return compile_nested(p, plan, writer, type, reader, path);
    int op = op_of_scalar(plan, writer, type);
    if (op < 0) return refuse(p, path, writer, type);
    plan->op = (uint8_t)op;
    return true;
}

avro_plan *avro_plan_new(wr_arena *arena, const avro_schema *writer, const wr_schema *schema, const uint8_t *needed, const avro_schema *reader, wr_mem *constants, char message[200]) {
    planning   p = {arena, constants, message};
    wr_str    *names = wr_new_n(arena, wr_str, schema->n + 1);
    wr_type   *types = wr_new_n(arena, wr_type, schema->n + 1);
    avro_plan *plan = wr_new(arena, avro_plan);
    const columns cols = {schema->n, names, types, needed};
    for (uint32_t i = 0; i < schema->n; i++) names[i] = schema->fields[i].name, types[i] = schema->fields[i].type;
    plan->writer = writer;
    if (writer->kind == AVRO_RECORD) return compile_record(&p, plan, writer, &cols, reader, "") ? plan : NULL;
    if (schema->n != 1) { /* a key is often one value without a record around it */
        wr_sbuf text = {0};
        avro_schema_text(writer, &text);
        snprintf(message, 200, "the schema is %.80s; a table of several columns needs a record", text.at);
        wr_sbuf_free(&text);
        return NULL;
    }
    plan->op = AVRO_OP_RECORD, plan->n = 1;
    plan->kids = wr_new_n(arena, avro_plan, 1);
    plan->kids[0] = (avro_plan){.op = AVRO_OP_SKIP, .col = -1, .writer = writer};
    if (needed && !needed[0]) return plan;
    const char *path = wr_arena_strndup(arena, names[0].ptr, names[0].len);
    if (!compile(&p, &plan->kids[0], writer, types[0], reader, path)) return NULL;
    plan->kids[0].col = 0;
    return plan;
}
