/* format/avro_encode.c: rows of a batch as data of a schema. See avro.h.
 *
 * Idea       the schema (the table's own, or the one that is given) and the columns are walked together once, into a node per value; what might not fit is refused then,
 *            so that writing cannot fail.
 * Thread     one writer per encoder. Memory: an arena.                                                                    */
#include "format/avro.h"
#include "type/datetime.h"
#include "type/decimal.h"

typedef enum put_op { PUT_BOOLEAN, PUT_LONG, PUT_FLOAT, PUT_DOUBLE, PUT_BYTES, PUT_DECIMAL, PUT_RECORD, PUT_ARRAY, PUT_MAP, PUT_CONSTANT } put_op;

typedef struct put_plan {
    uint8_t  op;
    int16_t  branch, null_branch; /* of a union; -1: there is none */
    int32_t  col;                 /* as a field of a record; CONSTANT: -1 */
    int64_t  times, by;           /* LONG that is a time */
    wr_i128  power;               /* DECIMAL: to the schema's scale */
    uint32_t fixed;               /* DECIMAL: bytes, 0 = as many as are needed */
    uint32_t n;
    struct put_plan *kids;
    wr_str   bytes;               /* CONSTANT */
} put_plan;

struct avro_writer {
    wr_arena *arena;
    put_plan  row;
    bool      changes;
    int       order[3];           /* of before, after, op in the envelope */
    int16_t   branch[3], null_branch[3];
};

typedef struct planning {
    wr_arena *arena;
    wr_span   at;
    wr_diags *diags;
} planning;

WR_COLD static bool refuse(const planning *p, wr_str column, wr_type type, const avro_schema *s, const char *why) {
    wr_sbuf from = {0}, to = {0};
    if (p->diags) {
        wr_type_text(type, &from);
        avro_schema_text(s, &to);
        wr_diags_add(p->diags, WR_SEV_ERROR, "WR125", p->at, "column '%.*s' %s cannot be written as Avro's %s%s", WR_FMT(column), from.at, to.at, why);
        wr_sbuf_free(&from);
        wr_sbuf_free(&to);
    }
    return false;
}

static bool plan_value(const planning *p, put_plan *out, const avro_schema *s, wr_type type, wr_str column);

/* ---- scalars ---- */

static bool plan_time(put_plan *out, const avro_schema *s, wr_type type) {
    int     digits = s->per_second == 1000 ? 3 : s->per_second == 1000000 ? 6 : 9;
    int64_t from = type.id == WR_T_TIME ? 1000 : wr_type_ticks_per_second(type);
    bool    time = type.id == WR_T_TIME;
    if (s->logical != (time ? AVRO_TIME : AVRO_TIMESTAMP) || type.prec > digits || s->per_second > WR_MAX(from, 1000000)) return false; /* years that nanoseconds do not hold */
    out->op = PUT_LONG;
    out->times = s->per_second > from ? s->per_second / from : 1;
    out->by = from > s->per_second ? from / s->per_second : 1;
    return true;
}

static bool plan_decimal(put_plan *out, const avro_schema *s, wr_type type) {
    if (s->logical != AVRO_DECIMAL || s->scale < type.scale || s->precision - s->scale < type.prec - type.scale || s->precision > WR_DECIMAL_MAX_PREC) return false;
    out->op = PUT_DECIMAL;
    out->power = wr_pow10(s->scale - type.scale);
    out->fixed = s->kind == AVRO_FIXED ? s->size : 0;
    wr_i128 most = wr_pow10(s->precision) - 1;
    return s->kind != AVRO_FIXED || s->size >= 16 || most >> (8 * s->size - 1) == 0;
}

static bool plan_scalar(put_plan *out, const avro_schema *s, wr_type type) {
    bool whole = s->kind == AVRO_INT || s->kind == AVRO_LONG;
    out->times = out->by = 1;
    switch (type.id) {
    case WR_T_BOOLEAN: out->op = PUT_BOOLEAN; return s->kind == AVRO_BOOLEAN;
    case WR_T_TINYINT:
    case WR_T_SMALLINT:
    case WR_T_INT: out->op = PUT_LONG; return whole && s->logical == AVRO_PLAIN;
    case WR_T_BIGINT: out->op = PUT_LONG; return s->kind == AVRO_LONG && s->logical == AVRO_PLAIN;
    case WR_T_DATE: out->op = PUT_LONG; return s->kind == AVRO_INT && s->logical == AVRO_DATE;
    case WR_T_FLOAT: out->op = s->kind == AVRO_DOUBLE ? PUT_DOUBLE : PUT_FLOAT; return s->kind == AVRO_FLOAT || s->kind == AVRO_DOUBLE;
    case WR_T_DOUBLE: out->op = PUT_DOUBLE; return s->kind == AVRO_DOUBLE;
    case WR_T_CHAR:
    case WR_T_VARCHAR: out->op = PUT_BYTES; return s->kind == AVRO_STRING || (s->kind == AVRO_BYTES && s->logical == AVRO_PLAIN);
    case WR_T_BINARY:
    case WR_T_VARBINARY: out->op = PUT_BYTES; return s->kind == AVRO_BYTES && s->logical == AVRO_PLAIN;
    case WR_T_DECIMAL: return plan_decimal(out, s, type);
    case WR_T_TIME:
    case WR_T_TIMESTAMP:
    case WR_T_TIMESTAMP_LTZ: return plan_time(out, s, type);
    default: return false;
    }
}

/* ---- nested ---- */

/* A field that no column has: its default, else NULL. */
static bool plan_constant(const planning *p, put_plan *out, const avro_field *f) {
    static const wr_json_node null = {.kind = WR_JSON_NULL};
    wr_sbuf bytes = {0};
    bool    ok = avro_default_bytes(f->schema, f->fallback ? f->fallback : &null, &bytes);
    *out = (put_plan){.op = PUT_CONSTANT, .branch = -1, .null_branch = -1, .col = -1, .bytes = wr_str_dup(p->arena, wr_sbuf_str(&bytes))};
    wr_sbuf_free(&bytes);
    if (!ok && p->diags)
        wr_diags_add(p->diags, WR_SEV_ERROR, "WR125", p->at, "the schema's field '%.*s' has no column, no default, and is not a union with null", WR_FMT(f->name));
    return ok;
}

static bool plan_record(const planning *p, put_plan *out, const avro_schema *s, uint32_t n, const wr_str *names, const wr_type *types) {
    out->op = PUT_RECORD;
    out->n = s->n;
    out->kids = wr_new_n(p->arena, put_plan, s->n + 1);
    for (uint32_t c = 0; c < n; c++) {
        bool found = false;
        for (uint32_t i = 0; i < s->n; i++) found |= wr_str_eq(s->fields[i].name, names[c]);
        if (found) continue;
        if (p->diags) wr_diags_add(p->diags, WR_SEV_ERROR, "WR125", p->at, "the schema has no field for the column '%.*s'", WR_FMT(names[c]));
        return false;
    }
    for (uint32_t i = 0; i < s->n; i++) {
        uint32_t c = 0;
        while (c < n && !wr_str_eq(s->fields[i].name, names[c])) c++;
        if (c == n ? !plan_constant(p, &out->kids[i], &s->fields[i]) : !plan_value(p, &out->kids[i], s->fields[i].schema, types[c], names[c])) return false;
        out->kids[i].col = c == n ? -1 : (int32_t)c;
    }
    return true;
}

static bool plan_branch(const planning *p, put_plan *out, const avro_schema *s, wr_type type, wr_str column) {
    if (type.id == WR_T_ROW && s->kind == AVRO_RECORD) return plan_record(p, out, s, type.n_kids, type.names, type.kids);
    bool map = type.id == WR_T_MAP && s->kind == AVRO_MAP && wr_type_is_string(type.kids[0]);
    if (map || (type.id == WR_T_ARRAY && s->kind == AVRO_ARRAY)) {
        out->op = map ? PUT_MAP : PUT_ARRAY;
        out->n = 1;
        out->kids = wr_new_n(p->arena, put_plan, 1);
        return plan_value(p, out->kids, s->kids[0], type.kids[map], column);
    }
    return plan_scalar(out, s, type) || refuse(p, column, type, s, "");
}

static bool plan_value(const planning *p, put_plan *out, const avro_schema *s, wr_type type, wr_str column) {
    *out = (put_plan){.branch = -1, .null_branch = -1};
    if (s->kind != AVRO_UNION) {
        if (type.nullable) return refuse(p, column, type, s, ": it may be NULL, and the schema has no union with null here");
        return plan_branch(p, out, s, type, column);
    }
    const planning quiet = {p->arena, p->at, NULL};
    put_plan       found = {0};
    int            branch = -1, null_branch = -1;
    for (uint32_t i = 0; i < s->n && i < INT16_MAX; i++) {
        put_plan one = {0};
        if (s->kids[i]->kind == AVRO_NULL) null_branch = (int)i;
        else if (branch < 0 && plan_branch(&quiet, &one, s->kids[i], type, column)) branch = (int)i, found = one;
    }
    if (branch < 0) return refuse(p, column, type, s, "");
    if (type.nullable && null_branch < 0) return refuse(p, column, type, s, ": it may be NULL, and the union has no null");
    *out = found;
    out->branch = (int16_t)branch, out->null_branch = (int16_t)null_branch;
    return true;
}

/* ---- writers ---- */

/* before, after and op of Debezium's envelope. *row: the record in before and after. */
static bool plan_envelope(const planning *p, avro_writer *w, const avro_schema *s, const avro_schema **row) {
    static const char *const names[] = {"before", "after", "op"};
    bool ok = s->kind == AVRO_RECORD && s->n == 3;
    for (int k = 0; k < 3 && ok; k++) {
        int i = 0;
        while (i < 3 && !wr_str_eq(s->fields[i].name, wr_str_of(names[k]))) i++;
        w->branch[k] = w->null_branch[k] = -1;
        if (!(ok = i < 3)) break;
        w->order[i] = k;
        const avro_schema *f = s->fields[i].schema;
        for (uint32_t b = 0; f->kind == AVRO_UNION && b < f->n; b++) {
            if (f->kids[b]->kind == AVRO_NULL) w->null_branch[k] = (int16_t)b;
            else if (f->kids[b]->kind == (k < 2 ? AVRO_RECORD : AVRO_STRING)) w->branch[k] = (int16_t)b;
        }
        ok = k < 2 ? w->branch[k] >= 0 && w->null_branch[k] >= 0 : f->kind == AVRO_STRING || w->branch[k] >= 0;
        if (ok && k < 2) *row = f->kids[w->branch[k]];
    }
    if (!ok && p->diags) wr_diags_add(p->diags, WR_SEV_ERROR, "WR125", p->at, "the schema is no envelope of 'before' and 'after' (unions of null and a record) and 'op' (a string)");
    return ok;
}

avro_writer *avro_writer_new(const avro_schema *schema, const wr_schema *columns, bool changes, wr_span at, wr_diags *diags) {
    avro_writer *w = wr_calloc(1, sizeof *w);
    w->arena = wr_arena_new(NULL);
    w->changes = changes;
    planning p = {w->arena, at, diags};
    wr_str  *names = wr_new_n(w->arena, wr_str, columns->n + 1);
    wr_type *types = wr_new_n(w->arena, wr_type, columns->n + 1);
    for (uint32_t i = 0; i < columns->n; i++) names[i] = columns->fields[i].name, types[i] = columns->fields[i].type;
    bool ok = !changes || plan_envelope(&p, w, schema, &schema);
    w->row = (put_plan){.branch = -1, .null_branch = -1};
    if (ok && schema->kind == AVRO_RECORD) {
        ok = plan_record(&p, &w->row, schema, columns->n, names, types);
    } else if (ok && columns->n == 1) { /* a key: one value without a record around it */
        w->row.op = PUT_RECORD, w->row.n = 1;
        w->row.kids = wr_new_n(w->arena, put_plan, 1);
        ok = plan_value(&p, w->row.kids, schema, types[0], names[0]);
    } else if (ok) {
        ok = false;
        if (diags) wr_diags_add(diags, WR_SEV_ERROR, "WR125", at, "the schema is no record; a table of several columns needs one");
    }
    if (!ok) avro_writer_free(w), w = NULL;
    return w;
}

void avro_writer_free(avro_writer *w) {
    if (!w) return;
    wr_arena_free(w->arena);
    wr_free(w);
}

/* ---- writing ---- */

static int64_t long_of(const put_plan *p, const wr_vec *vec, uint32_t row) {
    int64_t v;
    switch (wr_type_storage(vec->type)) {
    case WR_S_I8: return ((const int8_t *)vec->data)[row];
    case WR_S_I16: return ((const int16_t *)vec->data)[row];
    case WR_S_I32: v = ((const int32_t *)vec->data)[row]; break;
    default: v = ((const int64_t *)vec->data)[row]; break;
    }
    return p->by > 1 ? wr_floor_div(v, p->by) : v * p->times;
}

static void put_float(const put_plan *p, const wr_vec *vec, uint32_t row, wr_sbuf *out) { /* little-endian, as here */
    bool   narrow = vec->type.id == WR_T_FLOAT;
    float  f = narrow ? ((const float *)vec->data)[row] : 0;
    double x = narrow ? (double)f : ((const double *)vec->data)[row];
    wr_sbuf_add(out, p->op == PUT_DOUBLE ? (const void *)&x : (const void *)&f, p->op == PUT_DOUBLE ? 8 : 4);
}

/* The fewest bytes of two's complement, the highest first; FIXED: all of them. */
static void put_decimal(const put_plan *p, wr_i128 v, wr_sbuf *out) {
    uint8_t bytes[16];
    v *= p->power;
    for (int i = 15; i >= 0; i--) bytes[i] = (uint8_t)v, v >>= 8;
    size_t from = 0;
    while (from < 15 && ((bytes[from] == 0 && !(bytes[from + 1] & 0x80)) || (bytes[from] == 0xFF && bytes[from + 1] & 0x80))) from++;
    if (!p->fixed) {
        avro_put_long(out, (int64_t)(16 - from));
    } else {
        for (uint32_t i = 16; i < p->fixed; i++) wr_sbuf_addc(out, (char)(bytes[0] & 0x80 ? 0xFF : 0));
        from = p->fixed < 16 ? 16 - p->fixed : 0;
    }
    wr_sbuf_add(out, bytes + from, 16 - from);
}

static void put_record(const put_plan *p, const wr_vec *cols, uint32_t row, wr_sbuf *out);

static void put_value(const put_plan *p, const wr_vec *vec, uint32_t row, wr_sbuf *out) {
    if (p->branch >= 0) {
        bool null = wr_vec_is_null(vec, row) && p->null_branch >= 0;
        avro_put_long(out, null ? p->null_branch : p->branch);
        if (null) return;
    }
    wr_str text;
    switch ((put_op)p->op) {
    case PUT_BOOLEAN: wr_sbuf_addc(out, (char)(((const uint8_t *)vec->data)[row] != 0)); break;
    case PUT_LONG: avro_put_long(out, long_of(p, vec, row)); break;
    case PUT_FLOAT:
    case PUT_DOUBLE: put_float(p, vec, row, out); break;
    case PUT_DECIMAL: put_decimal(p, ((const wr_i128 *)vec->data)[row], out); break;
    case PUT_BYTES:
        text = wr_sview_str((const wr_sview *)vec->data + row);
        avro_put_long(out, (int64_t)text.len);
        wr_sbuf_add_str(out, text);
        break;
    case PUT_RECORD: put_record(p, vec->kids, row, out); break;
    case PUT_ARRAY:
    case PUT_MAP: {
        wr_list list = ((const wr_list *)vec->data)[row];
        if (list.len) avro_put_long(out, list.len);
        for (uint32_t i = list.offset; i < list.offset + list.len; i++) {
            if (p->op == PUT_MAP) {
                text = wr_sview_str((const wr_sview *)vec->kids[0].data + i);
                avro_put_long(out, (int64_t)text.len);
                wr_sbuf_add_str(out, text);
            }
            put_value(p->kids, &vec->kids[p->op == PUT_MAP], i, out);
        }
        avro_put_long(out, 0);
        break;
    }
    case PUT_CONSTANT: wr_sbuf_add_str(out, p->bytes); break;
    }
}

static void put_record(const put_plan *p, const wr_vec *cols, uint32_t row, wr_sbuf *out) {
    for (uint32_t i = 0; i < p->n; i++) {
        const put_plan *f = &p->kids[i];
        if (f->op == PUT_CONSTANT) wr_sbuf_add_str(out, f->bytes);
        else put_value(f, &cols[f->col], row, out);
    }
}

void avro_write_row(const avro_writer *w, const wr_batch *batch, uint32_t row, wr_sbuf *out) {
    if (!w->changes) {
        put_record(&w->row, batch->cols, row, out);
        return;
    }
    bool adds = wr_kind_adds(wr_batch_kind(batch, row));
    for (int i = 0; i < 3; i++) {
        int  k = w->order[i];
        bool here = k == 2 || (k == 1) == adds;
        if (w->branch[k] >= 0) avro_put_long(out, here ? w->branch[k] : w->null_branch[k]);
        if (k == 2) avro_put_long(out, 1), wr_sbuf_addc(out, adds ? 'c' : 'd');
        else if (here) put_record(&w->row, batch->cols, row, out);
    }
}
