/* format/json_change.c: JSON records that say what changed: debezium-json, canal-json, maxwell-json, ogg-json.
 *
 * Idea       one scan finds the record's parts by name (parts_of), then its rows are read in place. Debezium and OGG: one row with both images. Canal and
 *            Maxwell: the new rows in "data" (Canal: an array), and in "old" only the fields that were others; the rest of the old image is copied from
 *            the new one (json_reader.partial), per row.
 * Ignored    DDL (tables made or altered), a bootstrap's begin and end, other databases and tables: no row, counted as blank. DDL that takes rows away
 *            without naming them (TRUNCATE, DROP) is a bad record: to ignore it would keep rows that are gone.
 * Invariant  a record is taken as a whole or not at all, also if its rows were spread over batches (take_back).
 * Metadata   columns behind the row's, read once per row from the same parts.                                           */
#define PCRE2_CODE_UNIT_WIDTH 8
#include "format/json_decoder.h"
#include <pcre2.h>

enum { PARTS_MAX = 10 };
typedef enum meta_kind { META_VALUE, META_MILLIS, META_TIME } meta_kind;
typedef struct meta_part { uint8_t part; meta_kind kind; const char *inner; } meta_part; /* as wr_format_metadata, by the same index; inner: field of an object */

/* The first four are those that the forms read their rows from. */
static const char *const debezium_parts[] = {"before", "after", "op", "payload", "source", "ts_ms", "schema", NULL};
static const char *const canal_parts[] = {"data", "old", "type", "isDdl", "database", "table", "sqlType", "pkNames", "ts", "es", NULL};
static const char *const maxwell_parts[] = {"data", "old", "type", "database", "table", "primary_key_columns", "ts", NULL};
static const char *const ogg_parts[] = {"before", "after", "op_type", "table", "primary_keys", "current_ts", "op_ts", NULL};
enum { DEBEZIUM_PAYLOAD = 3, DEBEZIUM_SCHEMA = 6, CANAL_DDL = 3, CANAL_DATABASE = 4, CANAL_TABLE = 5 };

const wr_format_metadata json_debezium_metadata[] = {
    {"schema", "STRING", "the record's schema as JSON text, if it has one"},
    {"ingestion-timestamp", "TIMESTAMP_LTZ", "when the connector took the change"},
    {"source.timestamp", "TIMESTAMP_LTZ", "when the source made the change"},
    {"source.database", "STRING", "the database it comes from"},
    {"source.schema", "STRING", "the schema it comes from"},
    {"source.table", "STRING", "the table it comes from"},
    {"source.properties", "MAP<STRING, STRING>", "all that the record says of its source"},
    {0}};
static const meta_part debezium_meta[] = {{6, META_VALUE, NULL}, {5, META_MILLIS, NULL}, {4, META_MILLIS, "ts_ms"}, {4, META_VALUE, "db"}, {4, META_VALUE, "schema"}, {4, META_VALUE, "table"}, {4, META_VALUE, NULL}};

const wr_format_metadata json_canal_metadata[] = {
    {"database", "STRING", "the database it comes from"},
    {"table", "STRING", "the table it comes from"},
    {"sql-type", "MAP<STRING, INT>", "the columns' types, as numbers of java.sql.Types"},
    {"pk-names", "ARRAY<STRING>", "the columns of the primary key"},
    {"ingestion-timestamp", "TIMESTAMP_LTZ", "when the connector took the change"},
    {"event-timestamp", "TIMESTAMP_LTZ", "when the database made the change"},
    {0}};
static const meta_part canal_meta[] = {{4, META_VALUE, NULL}, {5, META_VALUE, NULL}, {6, META_VALUE, NULL}, {7, META_VALUE, NULL}, {8, META_MILLIS, NULL}, {9, META_MILLIS, NULL}};

const wr_format_metadata json_maxwell_metadata[] = {
    {"database", "STRING", "the database it comes from"},
    {"table", "STRING", "the table it comes from"},
    {"primary-key-columns", "ARRAY<STRING>", "the columns of the primary key"},
    {"ingestion-timestamp", "TIMESTAMP_LTZ", "the record's \"ts\", taken as milliseconds, as Flink does"},
    {0}};
static const meta_part maxwell_meta[] = {{3, META_VALUE, NULL}, {4, META_VALUE, NULL}, {5, META_VALUE, NULL}, {6, META_MILLIS, NULL}};

const wr_format_metadata json_ogg_metadata[] = {
    {"table", "STRING", "the table it comes from, with its schema"},
    {"primary-keys", "ARRAY<STRING>", "the columns of the primary key"},
    {"ingestion-timestamp", "TIMESTAMP_LTZ", "when the connector took the change"},
    {"event-timestamp", "TIMESTAMP_LTZ", "when the database made the change"},
    {0}};
static const meta_part ogg_meta[] = {{3, META_VALUE, NULL}, {4, META_VALUE, NULL}, {5, META_TIME, NULL}, {6, META_TIME, NULL}};

typedef struct meta_column {
    meta_part   part;
    const char *key;
    uint32_t    col; /* of the batch */
    json_plan   plan;
} meta_column;

typedef struct json_change {
    const char *const *parts;
    uint32_t     n_parts, n_meta;
    meta_column *meta;            /* those that are needed */
    pcre2_code  *database, *table; /* Canal: which records are taken; NULL: all */
    pcre2_match_data *match;
} json_change;

/* ---- metadata ---- */

static const uint32_t *field_of(json_reader *r, const uint32_t *ix, const char *name) {
    const uint32_t *found = NULL;
    if (*ix >= r->end || r->data[*ix] != '{') return NULL;
    return json_scan_object(r, ix, &name, &found, 1) ? found : NULL;
}

static bool read_time(json_reader *r, const meta_column *m, const uint32_t *ix, wr_vec *vec, uint32_t row, bool *null) {
    wr_str raw;
    if (r->data[*ix] != '"' || !json_string_raw(r, ix, &raw)) return json_value_read(r, &m->plan, ix, vec, row, null) != NULL;
    wr_vec as = *vec; /* without a zone in the text: the time is UTC */
    as.type = wr_type_prec(WR_T_TIMESTAMP, vec->type.prec);
    if (wr_scalar_put(raw, ' ', &as, row, r->mem) == WR_PUT_OK || wr_scalar_put(raw, 'T', &as, row, r->mem) == WR_PUT_OK) return true;
    json_fault(r, WR_BAD_TYPE, *ix, "metadata '%.60s': not a timestamp: \"%.*s\"", m->key, (int)WR_MIN(raw.len, 60u), raw.ptr);
    return false;
}

static bool read_millis(json_reader *r, const meta_column *m, const uint32_t *ix, wr_vec *vec, uint32_t row, bool *null) {
    wr_vec   as = *vec;
    as.type = wr_type_of(WR_T_BIGINT);
    const json_plan plan = {.type = as.type, .path = m->key};
    if (!json_value_read(r, &plan, ix, &as, row, null)) return false;
    int64_t *value = (int64_t *)vec->data + row;
    if (*null) return true;
    uint32_t scale = vec->type.prec > 6 ? 1000000 : 1000; /* ticks are nanoseconds or microseconds */
    if (__builtin_mul_overflow(*value, (int64_t)scale, value))
        return json_fault(r, WR_BAD_RANGE, *ix, "metadata '%.60s': the time is out of range", m->key) != NULL;
    if (vec->type.prec < 3) *value -= wr_floor_mod(*value, 1000000);
    return true;
}

static bool put_meta(json_decoder *d, json_reader *r, const uint32_t *const *v, uint32_t row) {
    for (uint32_t i = 0; i < d->change->n_meta; i++) {
        const meta_column *m = &d->change->meta[i];
        const uint32_t    *ix = v[m->part.part];
        wr_vec            *vec = &d->batch->cols[m->col];
        bool               null = false, fine = true;
        if (ix && m->part.inner) ix = field_of(r, ix, m->part.inner);
        if (!ix) null = true;
        else if (m->part.kind == META_MILLIS) fine = read_millis(r, m, ix, vec, row, &null);
        else if (m->part.kind == META_TIME) fine = read_time(r, m, ix, vec, row, &null);
        else fine = json_value_read(r, &m->plan, ix, vec, row, &null) != NULL;
        if (!fine) return false;
        if (!null) continue;
        if (!m->plan.type.nullable) return json_fault(r, WR_BAD_NULL, 0, "metadata '%.60s' is missing, and its column is NOT NULL", m->key) != NULL;
        wr_vec_set_null(vec, row, d->batch->mem);
    }
    return true;
}

/* ---- rows ---- */

typedef struct mark { wr_batch *batch; uint32_t n_rows, n_batches, n_lines; uint64_t all_rows; } mark;

static mark mark_of(json_decoder *d) {
    json_need_rows(d, 2);
    return (mark){d->batch, d->n_rows, d->out->batches.n, d->out->row_lines.n, d->out->n_rows};
}

/* Takes back the rows since the mark. */
WR_COLD static const uint32_t *take_back(json_decoder *d, const mark *m) {
    wr_decoded *out = d->out;
    if (d->batch == m->batch) {
        d->n_rows = m->n_rows;
    } else { /* the marked batch was full and is in the list; what is behind it has rows of this record only */
        d->n_rows = 0;
        json_close_batch(d);
        while (out->batches.n > m->n_batches + (m->n_rows > 0)) wr_batch_unref(out->batches.at[--out->batches.n]);
        if (m->n_rows) wr_rows_close(m->batch, m->n_rows);
    }
    out->row_lines.n = m->n_lines;
    out->n_rows = m->all_rows;
    return NULL;
}

/* The image at ix into a row with its metadata. old: the columns' NOT NULL is not asked. */
static bool read_image(json_decoder *d, json_reader *r, const uint32_t *ix, const uint32_t *const *v, bool old, uint32_t row) {
    r->allow_null = old;
    r->mem = d->batch->mem;
    return put_meta(d, r, v, row) && json_read_row(d, r, ix, row);
}

/* Records with both images: before, after. */
static const uint32_t *two_images(json_decoder *d, json_reader *r, const uint32_t *ix, const uint32_t *const *v, wr_kind kind, const char *what) {
    bool old = kind != WR_KIND_INSERT, new = kind != WR_KIND_DELETE;
    if (old && (!v[0] || json_is_null(r, v[0])))
        return json_fault(r, WR_BAD_MISSING, v[0] ? *v[0] : 0, "%s without \"before\": the source table needs %s, so that the old row is in the log", what,
                          d->form == FORM_OGG ? "supplemental logging of all columns" : "REPLICA IDENTITY FULL");
    if (new && (!v[1] || json_is_null(r, v[1]))) return json_fault(r, WR_BAD_MISSING, v[1] ? *v[1] : 0, "%s without \"after\"", what);
    json_need_rows(d, 2);
    uint32_t row = d->n_rows;
    if (old && !read_image(d, r, v[0], v, true, row)) return NULL;
    if (new && !read_image(d, r, v[1], v, false, row + old)) return NULL;
    if (old) json_add_row(d, new ? WR_KIND_UPDATE_BEFORE : WR_KIND_DELETE);
    if (new) json_add_row(d, old ? WR_KIND_UPDATE_AFTER : WR_KIND_INSERT);
    return ix;
}

/* One row of Canal or Maxwell; `old`: the fields that were others, for updates. */
static bool one_row(json_decoder *d, json_reader *r, const uint32_t *data, const uint32_t *old, const uint32_t *const *v, wr_kind kind) {
    json_need_rows(d, 2);
    uint32_t row = d->n_rows;
    if (kind != WR_KIND_UPDATE_AFTER) {
        if (!read_image(d, r, data, v, kind == WR_KIND_DELETE, row)) return false;
        json_add_row(d, kind);
        return true;
    }
    if (!read_image(d, r, data, v, false, row + 1)) return false;
    r->partial = d->row;
    r->partial_row = row + 1;
    bool fine = read_image(d, r, old, v, true, row);
    r->partial = NULL;
    if (!fine) return false;
    json_add_row(d, WR_KIND_UPDATE_BEFORE);
    json_add_row(d, WR_KIND_UPDATE_AFTER);
    return true;
}

/* The next element of an array: its place, and *ix behind it. NULL at the end, or with a fault. */
static const uint32_t *next_element(json_reader *r, const uint32_t **ix, bool *fault) {
    const uint32_t *at = *ix;
    *fault = false;
    if (*at < r->end && r->data[*at] == ']') return NULL;
    const uint32_t *next = json_skip(r, at, NULL);
    uint8_t         c = next && *next < r->end ? r->data[*next] : 0;
    if (c == ',') *ix = next + 1;
    else if (c == ']') *ix = next;
    else {
        *fault = true;
        if (next) json_fault(r, WR_BAD_MALFORMED, *next, "JSON: expected ',' or ']' in the array of rows");
        return NULL;
    }
    return at;
}

static bool is_array(const json_reader *r, const uint32_t *ix) { return ix && *ix < r->end && r->data[*ix] == '['; }

static bool many_rows(json_decoder *d, json_reader *r, const uint32_t *const *v, wr_kind kind) {
    bool update = kind == WR_KIND_UPDATE_AFTER, fault, old_fault = false;
    if (!is_array(r, v[0])) return json_fault(r, WR_BAD_MISSING, v[0] ? *v[0] : 0, "no \"data\" that is an array of rows") != NULL;
    if (update && !is_array(r, v[1])) return json_fault(r, WR_BAD_MISSING, v[1] ? *v[1] : 0, "an UPDATE without \"old\", the array of what the rows were") != NULL;
    const uint32_t *data = v[0] + 1, *old = update ? v[1] + 1 : NULL, *at, *was = NULL;
    while ((at = next_element(r, &data, &fault))) {
        if (update && !(was = next_element(r, &old, &old_fault)))
            return old_fault ? false : json_fault(r, WR_BAD_MISSING, *v[1], "\"old\" has fewer rows than \"data\"") != NULL;
        if (!one_row(d, r, at, was, v, kind)) return false;
    }
    return !fault;
}

/* ---- the forms ---- */

static const uint32_t *pass_over(json_decoder *d, const uint32_t *next) {
    d->out->n_blank++, d->out->n_records++;
    return next;
}

/* The text at part 2: what happened. */
static bool what_happened(json_decoder *d, json_reader *r, const uint32_t *ix, const uint32_t *const *v, wr_str *what) {
    if (v[2] && r->data[*v[2]] == '"' && json_string_raw(r, v[2], what)) return true;
    json_fault(r, WR_BAD_MISSING, v[2] ? *v[2] : *ix, "no \"%s\" that says what happened: not a record of this format", d->change->parts[2]);
    return false;
}

static const uint32_t *unknown(json_reader *r, const json_decoder *d, const uint32_t *at, wr_str what, const char *known) {
    return json_fault(r, WR_BAD_MALFORMED, *at, "\"%s\" is \"%.*s\"; only %s are known", d->change->parts[2], (int)WR_MIN(what.len, 40u), what.ptr, known);
}

static const uint32_t *read_debezium(json_decoder *d, json_reader *r, const uint32_t *ix, const uint32_t *next, const uint32_t **v) {
    wr_str op;
    char   what[] = "op \"c\"";
    if (!v[2] && v[DEBEZIUM_PAYLOAD]) { /* {"schema": ..., "payload": {...}} */
        const uint32_t *schema = v[DEBEZIUM_SCHEMA];
        if (json_is_null(r, v[DEBEZIUM_PAYLOAD])) {
            d->out->n_tombstones++, d->out->n_records++;
            return next;
        }
        if (!json_scan_object(r, v[DEBEZIUM_PAYLOAD], d->change->parts, v, d->change->n_parts)) return NULL;
        v[DEBEZIUM_SCHEMA] = schema;
    }
    if (!v[2] || r->data[*v[2]] != '"' || !json_string_raw(r, v[2], &op) || op.len != 1)
        return json_fault(r, WR_BAD_MISSING, v[2] ? *v[2] : *ix, "no \"op\" that is \"c\", \"r\", \"u\" or \"d\": not a Debezium record");
    what[4] = *op.ptr;
    switch (*op.ptr) {
    case 'c':
    case 'r': return two_images(d, r, next, v, WR_KIND_INSERT, what);
    case 'u': return two_images(d, r, next, v, WR_KIND_UPDATE_AFTER, what);
    case 'd': return two_images(d, r, next, v, WR_KIND_DELETE, what);
    default: return unknown(r, d, v[2], op, "\"c\", \"r\", \"u\" and \"d\"");
    }
}

static const uint32_t *read_ogg(json_decoder *d, json_reader *r, const uint32_t *ix, const uint32_t *next, const uint32_t **v) {
    wr_str op;
    if (!what_happened(d, r, ix, v, &op)) return NULL;
    if (wr_str_eq(op, WR_STR("I"))) return two_images(d, r, next, v, WR_KIND_INSERT, "op_type \"I\"");
    if (wr_str_eq(op, WR_STR("U"))) return two_images(d, r, next, v, WR_KIND_UPDATE_AFTER, "op_type \"U\"");
    if (wr_str_eq(op, WR_STR("D"))) return two_images(d, r, next, v, WR_KIND_DELETE, "op_type \"D\"");
    return unknown(r, d, v[2], op, "\"I\", \"U\" and \"D\"");
}

static bool one_of(wr_str what, const char *const *list) {
    for (; *list; list++)
        if (wr_str_eq(what, wr_str_of(*list))) return true;
    return false;
}

/* Does the whole name match? False also for a record without it. */
static bool passes(const json_change *c, pcre2_code *regex, json_reader *r, const uint32_t *ix, const char *name, bool *fault) {
    wr_str raw;
    if (!regex) return true;
    if (!ix || r->data[*ix] != '"' || !json_string_raw(r, ix, &raw)) {
        json_fault(r, WR_BAD_MISSING, ix ? *ix : 0, "no \"%s\", which 'canal-json.%s.include' asks for", name, name);
        *fault = true;
        return false;
    }
    return pcre2_match(regex, (PCRE2_SPTR)raw.ptr, raw.len, 0, PCRE2_ANCHORED | PCRE2_ENDANCHORED, c->match, NULL) >= 0;
}

static const uint32_t *read_canal(json_decoder *d, json_reader *r, const uint32_t *ix, const uint32_t *next, const uint32_t **v) {
    static const char *const takes_rows[] = {"TRUNCATE", "ERASE", NULL};
    const json_change *c = d->change;
    wr_str             type;
    bool               fault = false;
    if (!passes(c, c->database, r, v[CANAL_DATABASE], "database", &fault) || !passes(c, c->table, r, v[CANAL_TABLE], "table", &fault)) return fault ? NULL : pass_over(d, next);
    if (!what_happened(d, r, ix, v, &type)) return NULL;
    bool ddl = v[CANAL_DDL] && r->data[*v[CANAL_DDL]] == 't';
    if (wr_str_eq(type, WR_STR("CREATE")) || (ddl && !one_of(type, takes_rows))) return pass_over(d, next);
    wr_kind kind;
    if (wr_str_eq(type, WR_STR("INSERT"))) kind = WR_KIND_INSERT;
    else if (wr_str_eq(type, WR_STR("UPDATE"))) kind = WR_KIND_UPDATE_AFTER;
    else if (wr_str_eq(type, WR_STR("DELETE"))) kind = WR_KIND_DELETE;
    else if (one_of(type, takes_rows)) return json_fault(r, WR_BAD_MALFORMED, *v[2], "%.*s takes rows away without naming them", WR_FMT(type));
    else return unknown(r, d, v[2], type, "\"INSERT\", \"UPDATE\", \"DELETE\" and DDL");
    mark m = mark_of(d);
    return many_rows(d, r, v, kind) ? next : take_back(d, &m);
}

static const uint32_t *read_maxwell(json_decoder *d, json_reader *r, const uint32_t *ix, const uint32_t *next, const uint32_t **v) {
    static const char *const nothing[] = {"table-create", "table-alter", "database-create", "database-alter", "bootstrap-start", "bootstrap-complete", NULL};
    static const char *const takes_rows[] = {"table-drop", "database-drop", NULL};
    wr_str  type;
    wr_kind kind;
    if (!what_happened(d, r, ix, v, &type)) return NULL;
    if (one_of(type, nothing)) return pass_over(d, next);
    if (wr_str_eq(type, WR_STR("insert")) || wr_str_eq(type, WR_STR("bootstrap-insert"))) kind = WR_KIND_INSERT;
    else if (wr_str_eq(type, WR_STR("update"))) kind = WR_KIND_UPDATE_AFTER;
    else if (wr_str_eq(type, WR_STR("delete"))) kind = WR_KIND_DELETE;
    else if (one_of(type, takes_rows)) return json_fault(r, WR_BAD_MALFORMED, *v[2], "%.*s takes rows away without naming them", WR_FMT(type));
    else return unknown(r, d, v[2], type, "\"insert\", \"update\", \"delete\", a bootstrap's and DDL");
    if (!v[0] || json_is_null(r, v[0])) return json_fault(r, WR_BAD_MISSING, v[0] ? *v[0] : 0, "no \"data\"");
    if (kind == WR_KIND_UPDATE_AFTER && (!v[1] || json_is_null(r, v[1]))) return json_fault(r, WR_BAD_MISSING, v[1] ? *v[1] : 0, "an update without \"old\", what the row was");
    return one_row(d, r, v[0], v[1], v, kind) ? next : NULL;
}

const uint32_t *json_change_read(json_decoder *d, json_reader *r, const uint32_t *ix) {
    const uint32_t *v[PARTS_MAX];
    if (json_is_null(r, ix)) {
        if (!json_record_done(r, ix + 1)) return NULL;
        d->out->n_tombstones++, d->out->n_records++;
        return ix + 1;
    }
    const uint32_t *next = json_scan_object(r, ix, d->change->parts, v, d->change->n_parts), *done;
    if (!next || !json_record_done(r, next)) return NULL;
    uint64_t passed = d->out->n_blank + d->out->n_tombstones, rows = d->out->n_rows;
    switch (d->form) {
    case FORM_CANAL: done = read_canal(d, r, ix, next, v); break;
    case FORM_MAXWELL: done = read_maxwell(d, r, ix, next, v); break;
    case FORM_OGG: done = read_ogg(d, r, ix, next, v); break;
    default: done = read_debezium(d, r, ix, next, v); break;
    }
    if (done && passed == d->out->n_blank + d->out->n_tombstones) {
        d->out->n_records++;
        d->out->n_blank += rows == d->out->n_rows; /* an empty array of rows */
    }
    return done;
}

/* ---- making one ---- */

static wr_status include_regex(json_decoder *d, const wr_format *format, const char *key, pcre2_code **out, wr_diags *diags) {
    wr_str text = wr_option_string(&d->opts.options, format->specs, key);
    if (!text.len) return WR_OK;
    int        code;
    PCRE2_SIZE at;
    *out = pcre2_compile((PCRE2_SPTR)text.ptr, text.len, PCRE2_UTF | PCRE2_NEVER_BACKSLASH_C, &code, &at, NULL);
    if (*out) return WR_OK;
    if (diags) {
        PCRE2_UCHAR      why[200];
        const wr_option *o = wr_options_find(&d->opts.options, key);
        pcre2_get_error_message(code, why, sizeof why);
        wr_diags_add(diags, WR_SEV_ERROR, "WR121", o ? o->at : (wr_span){0}, "option '%s' is not a pattern: %s at character %zu", key, (const char *)why, (size_t)at + 1);
    }
    return WR_USER;
}

static void add_columns(json_decoder *d, const wr_format *format, const meta_part *parts) {
    const wr_schema *extra = d->opts.metadata, *row = d->opts.schema;
    json_change     *c = d->change;
    if (!extra || !extra->n) return;
    wr_field    *fields = wr_new_n(d->arena, wr_field, row->n + extra->n);
    memcpy(fields, row->fields, row->n * sizeof *fields);
    memcpy(fields + row->n, extra->fields, extra->n * sizeof *fields);
    d->all = (wr_schema){row->n + extra->n, fields};
    c->meta = wr_new_n(d->arena, meta_column, extra->n);
    json_object *plans = json_object_new(d->arena, extra, NULL);
    for (uint32_t i = 0; i < extra->n; i++) {
        if (d->opts.needed && !d->opts.needed[row->n + i]) continue;
        for (uint32_t k = 0; format->metadata[k].key; k++)
            if (wr_str_eq(d->opts.metadata_keys[i], wr_str_of(format->metadata[k].key)))
                c->meta[c->n_meta++] = (meta_column){.part = parts[k], .key = format->metadata[k].key, .col = row->n + i, .plan = plans->plans[i]};
    }
}

wr_status json_change_new(json_decoder *d, const wr_format *format, wr_diags *diags) {
    static const struct { const char *const *parts; const meta_part *meta; } forms[] = {
        [FORM_DEBEZIUM] = {debezium_parts, debezium_meta}, [FORM_CANAL] = {canal_parts, canal_meta}, [FORM_MAXWELL] = {maxwell_parts, maxwell_meta}, [FORM_OGG] = {ogg_parts, ogg_meta}};
    json_change *c = d->change = wr_new(d->arena, json_change);
    c->parts = forms[d->form].parts;
    while (c->parts[c->n_parts]) c->n_parts++;
    add_columns(d, format, forms[d->form].meta);
    if (d->form != FORM_CANAL) return WR_OK;
    WR_TRY(include_regex(d, format, "canal-json.database.include", &c->database, diags));
    WR_TRY(include_regex(d, format, "canal-json.table.include", &c->table, diags));
    c->match = pcre2_match_data_create(1, NULL);
    return WR_OK;
}

void json_change_free(json_decoder *d) {
    if (!d->change) return;
    pcre2_code_free(d->change->database);
    pcre2_code_free(d->change->table);
    pcre2_match_data_free(d->change->match);
}
