/* format/proto_plan.c: plans of rows and messages; see proto_plan.h.                                                      */
#include "format/proto_plan.h"
#include <stdio.h>
#include <stdlib.h>

typedef struct planning {
    wr_arena           *arena;
    const pb_plan_opts *opts;
    char               *message;
} planning;

static const char *const type_names[] = {"", "double", "float", "int64", "uint64", "int32", "fixed64", "fixed32", "bool", "string", "group", "message", "bytes", "uint32", "enum", "sfixed32", "sfixed64", "sint32", "sint64"};

static const char *field_type(const pb_field *f, char out[100]) {
    const char *name = f->type <= PB_T_SINT64 ? type_names[f->type] : "";
    if (f->message) snprintf(out, 100, "%s%.*s", f->repeated && !f->message->map_entry ? "repeated " : f->message->map_entry ? "map " : "", (int)WR_MIN(f->message->name.len, 60u), f->message->name.ptr);
    else snprintf(out, 100, "%s%s", f->repeated ? "repeated " : "", name);
    return out;
}

static bool no_fit(const planning *p, const pb_value *v) {
    char    field[100];
    wr_sbuf type = {.max = 60};
    wr_type_text(v->to, &type);
    snprintf(p->message, 200, "column '%.40s': %.50s does not go with the field's type %.60s", v->path, type.at, field_type(v->field, field));
    wr_sbuf_free(&type);
    return false;
}

static bool is_integer(pb_type t) { return t != PB_T_DOUBLE && t != PB_T_FLOAT && t != PB_T_BOOL && t != PB_T_STRING && t != PB_T_BYTES && t != PB_T_MESSAGE && t != PB_T_GROUP; }

static bool scalar_fits(const pb_field *f, wr_type to) {
    if (is_integer(f->type)) {
        if (to.id == WR_T_DECIMAL) return f->type != PB_T_ENUM && to.scale == 0;
        if (f->type == PB_T_ENUM && wr_type_is_string(to)) return true;
        return to.id == WR_T_TINYINT || to.id == WR_T_SMALLINT || to.id == WR_T_INT || to.id == WR_T_BIGINT;
    }
    switch (f->type) {
    case PB_T_FLOAT: return to.id == WR_T_FLOAT || to.id == WR_T_DOUBLE;
    case PB_T_DOUBLE: return to.id == WR_T_DOUBLE;
    case PB_T_BOOL: return to.id == WR_T_BOOLEAN;
    case PB_T_STRING: return wr_type_is_string(to);
    case PB_T_BYTES: return wr_type_is_binary(to);
    default: return false;
    }
}

static bool is_named(const pb_message *m, const char *name) { return wr_str_eq(m->name, wr_str_of(name)); }

static bool is_wrapper(const pb_message *m) {
    static const char *const names[] = {"DoubleValue", "FloatValue", "Int64Value", "UInt64Value", "Int32Value", "UInt32Value", "BoolValue", "StringValue", "BytesValue"};
    const wr_str             package = WR_STR("google.protobuf.");
    if (!wr_str_starts(m->name, package) || m->n != 1) return false;
    for (size_t i = 0; i < WR_COUNT_OF(names); i++)
        if (!strcmp(m->name.ptr + package.len, names[i])) return true;
    return false;
}

static void set_fallback(pb_value *v) {
    const pb_field *f = v->field;
    wr_str          text = f->fallback;
    if (f->enumeration) {
        v->fallback = f->enumeration->numbers[0];
        for (uint32_t i = 0; text.ptr && i < f->enumeration->n; i++)
            if (wr_str_eq(f->enumeration->names[i], text)) v->fallback = f->enumeration->numbers[i];
        return;
    }
    if (!text.ptr) return;
    if (f->type == PB_T_BOOL) v->fallback = wr_str_eq(text, WR_STR("true"));
    else if (f->type == PB_T_FLOAT || f->type == PB_T_DOUBLE) v->fallback_real = strtod(text.ptr, NULL);
    else if (f->type == PB_T_UINT64 || f->type == PB_T_FIXED64) v->fallback = (int64_t)strtoull(text.ptr, NULL, 10);
    else if (is_integer(f->type)) v->fallback = strtoll(text.ptr, NULL, 10);
}

static pb_row *row_of_type(planning *p, const pb_message *m, wr_type type, const char *path);

/* One value, not the list of them. */
static bool plan_single(planning *p, pb_value *v) {
    const pb_field *f = v->field;
    v->shape = PB_SCALAR;
    set_fallback(v);
    if (f->type != PB_T_MESSAGE) return scalar_fits(f, v->to) ? true : no_fit(p, v);
    if (is_named(f->message, "google.protobuf.Timestamp") && (v->to.id == WR_T_TIMESTAMP || v->to.id == WR_T_TIMESTAMP_LTZ)) {
        v->shape = PB_TIME;
        return true;
    }
    if (v->to.id == WR_T_ROW) {
        v->shape = PB_ROW;
        v->row = row_of_type(p, f->message, v->to, v->path);
        return v->row != NULL;
    }
    if (!is_wrapper(f->message)) return no_fit(p, v);
    v->shape = PB_WRAPPED;
    v->kid = wr_new(p->arena, pb_value);
    *v->kid = (pb_value){.to = v->to, .path = v->path, .field = &f->message->fields[0]};
    return plan_single(p, v->kid);
}

static bool plan_value(planning *p, pb_value *v) {
    const pb_field *f = v->field;
    if (!f->repeated) return plan_single(p, v);
    if (f->type == PB_T_MESSAGE && f->message->map_entry) {
        if (v->to.id != WR_T_MAP) return no_fit(p, v);
        static wr_str names[] = {{"key", 3}, {"value", 5}};
        wr_type       pair = {.id = WR_T_ROW, .n_kids = 2, .kids = v->to.kids, .names = names};
        v->shape = PB_MAP;
        v->row = row_of_type(p, f->message, pair, v->path);
        if (!v->row) return false;
        for (int i = 0; i < 2; i++) { /* an entry's absent key or value is the default; a message: an empty one */
            v->row->columns[i].absent = PB_DEFAULT;
            v->row->columns[i].implicit = false; /* written always */
        }
        return true;
    }
    if (v->to.id != WR_T_ARRAY) return no_fit(p, v);
    v->shape = PB_LIST;
    v->kid = wr_new(p->arena, pb_value);
    *v->kid = (pb_value){.to = v->to.kids[0], .path = wr_arena_printf(p->arena, "%s[]", v->path), .field = f};
    return plan_single(p, v->kid);
}

static int by_number(const void *a, const void *b) {
    uint32_t x = ((const pb_entry *)a)->number, y = ((const pb_entry *)b)->number;
    return x < y ? -1 : x > y;
}

static void plan_entries(planning *p, pb_row *row, const int32_t *col_of) {
    const pb_message *m = row->message;
    row->entries = wr_new_n(p->arena, pb_entry, m->n + 1);
    for (uint32_t i = 0; i < m->n; i++)
        if (col_of[i] >= 0 || m->fields[i].oneof >= 0) row->entries[row->n_entries++] = (pb_entry){m->fields[i].number, col_of[i], m->fields[i].oneof};
    if (row->n_entries) qsort(row->entries, row->n_entries, sizeof *row->entries, by_number);
    memset(row->small, 0xff, sizeof row->small);
    for (uint32_t i = 0; i < row->n_entries && i < INT16_MAX; i++)
        if (row->entries[i].number < PB_SMALL) row->small[row->entries[i].number] = (int16_t)i;
}

static bool plan_column(planning *p, const pb_message *m, pb_column *c, wr_str name, wr_type type, const char *path, bool needed, int32_t *field) {
    const pb_field *f = pb_message_field(m, name);
    *field = -1;
    c->value = (pb_value){.to = type, .path = path, .field = f};
    c->absent = PB_NULL;
    if (!f) {
        if (p->opts->lenient) return true;
        wr_str *names = wr_new_n(p->arena, wr_str, m->n + 1);
        for (uint32_t i = 0; i < m->n; i++) names[i] = m->fields[i].name;
        int near = wr_nearest(name, names, m->n);
        snprintf(p->message, 200, "column '%.60s': the message %.*s has no such field%s%.*s%s", path, (int)WR_MIN(m->name.len, 60u), m->name.ptr, near >= 0 ? "; did you mean '" : "",
                 near >= 0 ? (int)WR_MIN(names[near].len, 40u) : 0, near >= 0 ? names[near].ptr : "", near >= 0 ? "'?" : "");
        return false;
    }
    if (!plan_value(p, &c->value)) return false;
    c->used = needed;
    c->implicit = !f->presence && !f->repeated;
    if (f->repeated) c->absent = m->proto3 || p->opts->read_defaults ? PB_EMPTY : PB_NULL;
    else if (c->value.shape == PB_SCALAR && (c->implicit || p->opts->read_defaults)) c->absent = PB_DEFAULT;
    if (needed) *field = (int32_t)(f - m->fields);
    return true;
}

/* columns by name and type */
static pb_row *plan_row(planning *p, const pb_message *m, uint32_t n, const wr_str *names, const wr_type *types, const uint8_t *needed, const char *path) {
    pb_row  *row = wr_new(p->arena, pb_row);
    int32_t *col_of = wr_new_n(p->arena, int32_t, m->n + 1);
    row->message = m;
    row->n = n;
    row->columns = wr_new_n(p->arena, pb_column, n + 1);
    row->n_words = (n + 63) / 64;
    row->seen = wr_new_n(p->arena, uint64_t, row->n_words + 1);
    row->twice = wr_new_n(p->arena, uint64_t, row->n_words + 1);
    row->since = wr_new_n(p->arena, const uint8_t *, n + 1);
    memset(col_of, 0xff, (m->n + 1) * sizeof *col_of);
    for (uint32_t i = 0; i < n; i++) {
        int32_t     field;
        const char *at = path ? wr_arena_printf(p->arena, "%s.%.*s", path, WR_FMT(names[i])) : wr_arena_strndup(p->arena, names[i].ptr, names[i].len);
        if (!plan_column(p, m, &row->columns[i], names[i], types[i], at, !needed || needed[i], &field)) return NULL;
        if (field < 0) continue;
        if (col_of[field] >= 0) {
            snprintf(p->message, 200, "the columns '%.60s' and '%.60s' are the same field", row->columns[col_of[field]].value.path, at);
            return NULL;
        }
        col_of[field] = (int32_t)i;
    }
    for (uint32_t i = 0; p->opts->write && i < m->n; i++)
        if (m->fields[i].required && col_of[i] < 0) {
            snprintf(p->message, 200, "the message %.*s requires the field '%.*s', and the table has no such column", (int)WR_MIN(m->name.len, 60u), m->name.ptr, (int)WR_MIN(m->fields[i].name.len, 60u), m->fields[i].name.ptr);
            return NULL;
        }
    plan_entries(p, row, col_of);
    return row;
}

static pb_row *row_of_type(planning *p, const pb_message *m, wr_type type, const char *path) { return plan_row(p, m, type.n_kids, type.names, type.kids, NULL, path); }

pb_row *pb_row_new(wr_arena *arena, const pb_message *m, const pb_plan_opts *opts, char message[200]) {
    planning p = {arena, opts, message};
    wr_str  *names = wr_new_n(arena, wr_str, opts->schema->n + 1);
    wr_type *types = wr_new_n(arena, wr_type, opts->schema->n + 1);
    for (uint32_t i = 0; i < opts->schema->n; i++) names[i] = opts->schema->fields[i].name, types[i] = opts->schema->fields[i].type;
    return plan_row(&p, m, opts->schema->n, names, types, opts->needed, NULL);
}
