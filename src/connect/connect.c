/* connect/connect.c: the table of connectors, and the check of a table's options against it.
 *
 * Idea       every option that is known anywhere (connector, format, every source) stands in a spec; what is in none of them gets the
 *            nearest name. A '#' in a spec's key stands for a column's name (datagen), a '*' at its end for anything (properties.*).
 * Thread     any: entries are only added.                                                                                              */
#define _GNU_SOURCE 1 /* strchrnul */
#include "connect/parts.h"
#include "format/records.h"
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>

#define BUILT_IN                                                                                                                                  \
    &wr_connector_filesystem, &wr_connector_datagen, &wr_connector_nexmark, &wr_connector_ridelo, &wr_connector_sqlite, &wr_connector_print,      \
        &wr_connector_result, &wr_connector_blackhole, &wr_connector_kafka, &wr_connector_upsert_kafka, &wr_connector_log,                       \
        &wr_connector_upsert_log, &wr_connector_jdbc, &wr_connector_postgres_cdc, &wr_connector_http, &wr_connector_ingest, &wr_connector_redis, &wr_connector_nats, &wr_connector_mqtt, &wr_connector_clickhouse, &wr_connector_view
enum { REGISTERED_MAX = 16, N_BUILT_IN = sizeof(const wr_connector *[]){BUILT_IN} / sizeof(wr_connector *) };
static const wr_connector *connectors[N_BUILT_IN + REGISTERED_MAX] = {BUILT_IN};
static _Atomic size_t n_connectors = N_BUILT_IN; /* grows; an entry never changes once counted */

void wr_connector_register(const wr_connector *connector) {
    static atomic_flag lock = ATOMIC_FLAG_INIT;
    while (atomic_flag_test_and_set(&lock)) {}
    size_t n = atomic_load(&n_connectors);
    if (!wr_connector_find(wr_str_of(connector->name)) && n < WR_COUNT_OF(connectors)) {
        connectors[n] = connector;
        atomic_store(&n_connectors, n + 1);
    }
    atomic_flag_clear(&lock);
}

const wr_connector *const *wr_connectors(size_t *n) {
    *n = atomic_load(&n_connectors);
    return connectors;
}

const wr_connector *wr_connector_find(wr_str name) {
    for (size_t i = 0, n = atomic_load(&n_connectors); i < n; i++)
        if (wr_str_eq(name, wr_str_of(connectors[i]->name))) return connectors[i];
    return NULL;
}

const wr_option_spec wr_source_specs[] = {
    {"on-error", "enum:fail|skip|dead-letter", "fail", false, "what a refused record does: stop the job, be skipped and counted, or become a dead letter. Of a sink: a row that it cannot take"},
    {"dead-letter.path", "path", NULL, false, "file for dead letters: one JSON line each, with place, reason and the bytes"},
    {"dead-letter.table", "string", NULL, false, "table of the script for dead letters instead: of any connector that can be written to"},
    {"on-error.max-count", "int", NULL, false, "the job stops when more records than that are refused of one on-error.window"},
    {"on-error.max-rate", "string", NULL, false, "the same as a share of the window, such as '1%'"},
    {"on-error.window", "int", "10000", false, "records that a window has: the first so many of the table, the next so many ..."},
    {"overload.policy", "enum:wait|drop-oldest|drop-newest|sample", "wait", false, "when more comes than can be read: wait (nothing is lost), or leave rows out and count them as shed"},
    {"overload.lag", "string", NULL, false, "how far behind a source is when that begins: '10000 rows', '64 MiB' or '30 s', whichever it knows"},
    {"overload.sample", "string", "10%", false, "overload.policy sample: the share of rows that is kept"},
    {"scan.idle-timeout", "duration", NULL, false, "a partition silent for so long no longer holds back the watermark"},
    {"watermark.future-guard", "duration", NULL, false, "a row dated more than this ahead is refused instead of moving the watermark"},
    {"watermark.late", "enum:pass|dead-letter", "pass", false, "a row behind the watermark goes on, and operators of event time judge it; or it becomes a dead letter at the source"},
    {"watermark.alignment", "duration", NULL, false, "a partition that runs ahead of the slowest by more than this waits"},
    {"max-record-bytes", "size", "16 MiB", false, "longer records are bad records and are passed over"},
    {"stats.rows-per-second", "int", NULL, false, "for the state bill: how fast rows come"},
    {"stats.row-bytes", "size", NULL, false, "for the state bill: the size of a row"},
    {"stats.keys.#", "int", NULL, false, "for the state bill: how many distinct values the column # has"},
    {0}};

const wr_option_spec wr_contract_specs[] = {
    {"contract.name", "string", NULL, false, "the name under which the table is published, where scripts call it otherwise; default: the table's name"},
    {"contract.owner", "string", NULL, false, "who answers for the table"},
    {"contract.freshness", "duration", NULL, false, "promised: a row can be read so long after it happened"},
    {"contract.completeness", "string", NULL, false, "promised: per cent of the rows, such as '99.9 %'"},
    {"contract.retention", "duration", NULL, false, "promised: a row can be read for so long"},
    {"contract.event-time", "string", NULL, false, "the column that says when a row happened; default: that of the WATERMARK, or of the plan"},
    {"contract.lateness", "duration", NULL, false, "promised: a row comes at most so long after later ones; default: the WATERMARK's delay"},
    {"contract.order", "string", NULL, false, "a weaker promise than the plan proves: 'none', 'per partition', 'per key (columns)', 'all rows'"},
    {"contract.delivery", "enum:at least once|once by key|exactly once", NULL, false, "a weaker promise than the plan proves"},
    {"needs.consumer", "string", NULL, false, "who reads the table; default: 'pipeline.name', or the script's name"},
    {"needs.freshness", "duration", NULL, false, "needed: a row can be read so long after it happened"},
    {"needs.completeness", "string", NULL, false, "needed: per cent of the rows"},
    {"needs.retention", "duration", NULL, false, "needed: a row can be read for so long"},
    {"needs.lateness", "duration", NULL, false, "how late rows may come; default: the WATERMARK's delay"},
    {"needs.order", "string", NULL, false, "needed: 'per partition', 'per key', 'per key (columns)', 'all rows'; of changes by key the default is 'per key'"},
    {"needs.delivery", "enum:at least once|once by key|exactly once", NULL, false, "needed: how often a row may come"},
    {0}};

static const wr_option_spec common_specs[] = {
    {"connector", "string", NULL, true, "which connector"}, {"format", "string", NULL, false, "how records are written"}, {0}};

wr_status option_error(wr_connect_ctx *ctx, const wr_table_info *t, const char *key, const char *code, const char *fmt, ...) {
    char    text[600];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    const wr_option *o = wr_options_find(&t->options, key);
    wr_diags_add(ctx->diags, WR_SEV_ERROR, code, o ? o->at : t->at, "table '%.*s': %s", WR_FMT(t->name), text);
    return WR_USER;
}

void point_at_path(const wr_table_info *t, wr_err *err) {
    const wr_option *o = wr_options_find(&t->options, "path");
    if (err && o && !err->at.line) err->at = o->at;
}

int option_choice(const wr_table_info *t, const wr_option_spec *specs, const char *key, const char *const *names, int n) {
    wr_str v = option_text(t, specs, key);
    for (int i = 0; i < n; i++)
        if (wr_str_ieq(v, wr_str_of(names[i]))) return i;
    return 0;
}

wr_str option_text(const wr_table_info *t, const wr_option_spec *specs, const char *key) { return wr_str_trim(wr_option_string(&t->options, specs, key)); }

const wr_format *table_format(const wr_table_info *t, wr_connect_ctx *ctx) {
    const wr_option *o = wr_options_find(&t->options, "format");
    const wr_format *format = o ? wr_format_find(wr_str_trim(o->value)) : NULL;
    if (format) return format;
    if (o) wr_diags_add(ctx->diags, WR_SEV_ERROR, "WR124", o->at, "there is no format '%.*s'", WR_FMT(o->value));
    else wr_diags_add(ctx->diags, WR_SEV_ERROR, "WR122", t->at, "table '%.*s' has no 'format'", WR_FMT(t->name));
    wr_formats_hint(ctx->diags, o ? o->value : WR_STR(""), false);
    return NULL;
}

/* ---- checking ---- */

/* Does a key match a spec's, with '#' for any column name? *column is that name. */
static bool key_matches(const char *spec, wr_str key, wr_str *column) {
    const char *hash = strchr(spec, '#'), *star = strchr(spec, '*');
    *column = (wr_str){"", 0};
    if (star) return key.len > (size_t)(star - spec) && !memcmp(key.ptr, spec, (size_t)(star - spec));
    if (!hash) return wr_str_eq(key, wr_str_of(spec));
    size_t before = (size_t)(hash - spec), after = strlen(hash + 1);
    if (key.len <= before + after || memcmp(key.ptr, spec, before) || memcmp(key.ptr + key.len - after, hash + 1, after)) return false;
    *column = (wr_str){key.ptr + before, key.len - before - after};
    return true;
}

typedef struct spec_sets { const wr_option_spec *at[8]; uint32_t n; } spec_sets;

static const wr_option_spec *find_spec(const spec_sets *sets, wr_str key, wr_str *column) {
    for (uint32_t i = 0; i < sets->n; i++)
        for (const wr_option_spec *s = sets->at[i]; s->key; s++)
            if (key_matches(s->key, key, column)) return s;
    return NULL;
}

/* A table that goes over from Kafka to a log, or back: what takes the option's place. NULL: it is not that. */
static const char *swap_hint(const char *connector, wr_str key) {
    bool log = !strcmp(connector, "log") || !strcmp(connector, "upsert-log"), kafka = !strcmp(connector, "kafka") || !strcmp(connector, "upsert-kafka");
    if (log && wr_str_eq(key, WR_STR("topic"))) return "'path' takes its place: the log's directory";
    if (log && wr_str_starts(key, WR_STR("properties."))) return "a log has no servers: leave it out";
    if (kafka && wr_str_eq(key, WR_STR("path"))) return "'topic' takes its place, and 'properties.bootstrap.servers' says where";
    if (kafka && wr_str_starts(key, WR_STR("log."))) return "leave it out: partitions and retention of a topic are set when it is made (kafka-topics --create)";
    return NULL;
}

static void unknown_option(const wr_table_info *t, const wr_option *o, const spec_sets *sets, const char *what, wr_diags *diags) {
    wr_str  names[128];
    size_t  n = 0;
    wr_sbuf text = {0};
    for (uint32_t i = 0; i < sets->n; i++)
        for (const wr_option_spec *s = sets->at[i]; s->key && n < WR_COUNT_OF(names); s++) {
            names[n++] = wr_str_of(s->key);
            if (sets->at[i] != wr_contract_specs && sets->at[i] != wr_slo_specs) wr_sbuf_printf(&text, "%s%s", text.len ? ", " : "", s->key); /* they would hide the rest */
        }
    wr_diags_add(diags, WR_SEV_ERROR, "WR120", o->at, "table '%.*s': '%s' has no option '%.*s'", WR_FMT(t->name), what, WR_FMT(o->key));
    int         near = wr_nearest(o->key, names, n);
    const char *swap = swap_hint(what, o->key);
    if (swap) wr_diags_hint(diags, "%s", swap);
    else if (near >= 0) wr_diags_hint(diags, "did you mean '%.*s'?", WR_FMT(names[near]));
    else wr_diags_hint(diags, "there are: %s", text.at ? text.at : "none");
    wr_sbuf_free(&text);
}

/* The value against the spec's kind. */
static void check_value(const wr_option *o, const wr_option_spec *spec, wr_diags *diags) {
    wr_options one = {1, o};
    char       key[300];
    bool       b;
    int64_t    v;
    snprintf(key, sizeof key, "%.*s", (int)WR_MIN(o->key.len, sizeof key - 1), o->key.ptr);
    if (!strcmp(spec->kind, "bool")) wr_option_bool(&one, spec, key, &b, diags);
    else if (!strcmp(spec->kind, "int")) wr_option_int(&one, spec, key, &v, diags);
    else if (!strcmp(spec->kind, "duration")) wr_option_duration(&one, spec, key, &v, diags);
    else if (!strcmp(spec->kind, "size")) wr_option_size(&one, spec, key, &v, diags);
    else if (!strcmp(spec->kind, "path") && !wr_str_trim(o->value).len) wr_diags_add(diags, WR_SEV_ERROR, "WR121", o->at, "option '%s' is empty, expected a path", key);
    if (strncmp(spec->kind, "enum:", 5)) return;
    wr_str names[16];
    size_t n = 0;
    for (const char *p = spec->kind + 5; *p && n < WR_COUNT_OF(names);) {
        const char *bar = strchrnul(p, '|');
        names[n] = (wr_str){p, (size_t)(bar - p)};
        if (wr_str_ieq(names[n++], wr_str_trim(o->value))) return;
        p = *bar ? bar + 1 : bar;
    }
    wr_diags_add(diags, WR_SEV_ERROR, "WR121", o->at, "option '%s' is '%.*s', expected one of %s", key, WR_FMT(o->value), spec->kind + 5);
    int near = wr_nearest(o->value, names, n);
    if (near >= 0) wr_diags_hint(diags, "did you mean '%.*s'?", WR_FMT(names[near]));
}

static void check_column(const wr_table_info *t, const wr_option *o, wr_str column, wr_diags *diags) {
    if (!column.len || wr_schema_find(t->schema, column) >= 0) return;
    wr_str *names = wr_malloc((t->schema->n + 1) * sizeof *names);
    for (uint32_t i = 0; i < t->schema->n; i++) names[i] = t->schema->fields[i].name;
    wr_diags_add(diags, WR_SEV_ERROR, "WR120", o->at, "option '%.*s': the table has no column '%.*s'", WR_FMT(o->key), WR_FMT(column));
    int near = wr_nearest(column, names, t->schema->n);
    if (near >= 0) wr_diags_hint(diags, "did you mean '%.*s'?", WR_FMT(names[near]));
    wr_free(names);
}

static const wr_connector *check_connector(const wr_table_info *t, bool as_source, wr_diags *diags) {
    const wr_option    *o = wr_options_find(&t->options, "connector");
    const wr_connector *c = o ? wr_connector_find(wr_str_trim(o->value)) : NULL;
    if (c && (as_source ? c->source_new || c->lookup_new : c->sink_new != NULL)) return c;
    if (c) wr_diags_add(diags, WR_SEV_ERROR, "WR123", o->at, "table '%.*s': the connector '%s' cannot be %s", WR_FMT(t->name), c->name, as_source ? "read" : "written to");
    else if (o) wr_diags_add(diags, WR_SEV_ERROR, "WR123", o->at, "there is no connector '%.*s'", WR_FMT(o->value));
    else wr_diags_add(diags, WR_SEV_ERROR, "WR122", t->at, "table '%.*s' has no 'connector'", WR_FMT(t->name));
    wr_sbuf text = {0};
    wr_str  names[32];
    size_t  n = 0;
    for (size_t i = 0; i < atomic_load(&n_connectors); i++) {
        if (as_source ? !connectors[i]->source_new : !connectors[i]->sink_new) continue;
        if (connectors[i] == &wr_connector_result) continue; /* not for tables */
        names[n++] = wr_str_of(connectors[i]->name);
        wr_sbuf_printf(&text, "%s%s", text.len ? ", " : "", connectors[i]->name);
    }
    int near = o && !c ? wr_nearest(o->value, names, n) : -1;
    if (near >= 0) wr_diags_hint(diags, "did you mean '%.*s'? There are: %s", WR_FMT(names[near]), text.at);
    else wr_diags_hint(diags, "connectors that can be %s: %s", as_source ? "read" : "written to", text.at);
    wr_sbuf_free(&text);
    return NULL;
}

/* 'csv.header' on a table of format json: the option belongs to somebody else. */
static bool other_format(const wr_option *o, const wr_format *mine, const wr_format **owner) {
    size_t                  n;
    const wr_format *const *formats = wr_formats(&n);
    for (size_t i = 0; i < n; i++)
        for (const wr_option_spec *s = formats[i]->specs; s->key; s++)
            if (formats[i] != mine && wr_str_eq(o->key, wr_str_of(s->key))) return *owner = formats[i], true;
    return false;
}

/* 'key.json.ignore-parse-errors': an option of the key's or value's format. */
static const wr_option_spec *find_side_spec(const wr_record_format *f, wr_option *o) {
    const wr_format *side = wr_str_starts(o->key, WR_STR("key.")) ? f->key : wr_str_starts(o->key, WR_STR("value.")) ? f->value : NULL;
    size_t           n = side && side == f->key && o->key.ptr[0] == 'k' ? 4 : 6;
    wr_str           column;
    if (!side) return NULL;
    wr_option       inner = {{o->key.ptr + n, o->key.len - n}, o->value, o->at};
    const spec_sets sets = {{side->specs}, 1};
    const wr_option_spec *spec = find_spec(&sets, inner.key, &column);
    if (spec) *o = inner;
    return spec;
}

/* Of a connector whose records are messages: the formats of both sides. */
static void check_records(const wr_table_info *t, const wr_connector *c, bool as_source, wr_record_format *records, wr_arena *arena, wr_diags *diags) {
    wr_schema physical = {t->n_physical, t->schema->fields};
    wr_record_format_read(records, &physical, t->key, t->n_key, &t->options, t->at, c->upsert, !as_source, arena, diags);
}

static void check_format(const wr_table_info *t, const wr_connector *c, bool as_source, const wr_option *f, const wr_format *format, wr_diags *diags) {
    if (c->needs_format) {
        if (f && !format) wr_diags_add(diags, WR_SEV_ERROR, "WR124", f->at, "there is no format '%.*s'", WR_FMT(f->value)), wr_formats_hint(diags, f->value, !as_source);
        if (!f) wr_diags_add(diags, WR_SEV_ERROR, "WR122", t->at, "table '%.*s' has no 'format'", WR_FMT(t->name)), wr_formats_hint(diags, WR_STR(""), !as_source);
        if (format && !as_source && !format->can_write)
            wr_diags_add(diags, WR_SEV_ERROR, "WR125", f->at, "the format '%s' can only be read", format->name), wr_formats_hint(diags, WR_STR(""), true);
        if (format && format->messages && !(as_source && format->header)) {
            wr_diags_add(diags, WR_SEV_ERROR, "WR125", f->at, format->header ? "files of the format '%s' can only be read" : "the format '%s' is for messages: a file of it would not say where a record ends", format->name);
            wr_diags_hint(diags, "use it with the connectors 'kafka', 'upsert-kafka' and others whose records are messages");
        }
        if (format && as_source && format->changes == WR_FORMAT_UPSERT && !t->n_key)
            wr_diags_add(diags, WR_SEV_ERROR, "WR128", t->at, "the format '%s' needs a PRIMARY KEY (...) NOT ENFORCED: it says which rows replace each other", format->name);
    } else if (f) {
        wr_diags_add(diags, WR_SEV_ERROR, "WR120", f->at, "table '%.*s': the connector '%s' has no format", WR_FMT(t->name), c->name);
    }
}

/* Options that a format cannot do without; of messages with the side in front, too. */
static void check_required(const wr_table_info *t, const wr_format *format, const char *side, wr_diags *diags) {
    for (const wr_option_spec *s = format ? format->specs : NULL; s && s->key; s++) {
        char full[200];
        snprintf(full, sizeof full, "%s%s", side, s->key);
        if (!s->required || wr_options_find(&t->options, s->key) || wr_options_find(&t->options, full)) continue;
        wr_diags_add(diags, WR_SEV_ERROR, "WR122", t->at, "table '%.*s': the format '%s' needs the option '%s'", WR_FMT(t->name), format->name, full);
        wr_diags_hint(diags, "%s", s->doc);
    }
}

static void check_options(const wr_table_info *t, const wr_connector *c, const spec_sets *sets, const wr_record_format *records, const wr_format *format, wr_diags *diags) {
    for (uint32_t i = 0; i < t->options.n; i++) {
        const wr_option      *o = &t->options.at[i];
        wr_option             inner = *o;
        const wr_format      *owner;
        wr_str                column;
        const wr_option_spec *spec = find_spec(sets, o->key, &column);
        if (!spec && c->records && (spec = find_side_spec(records, &inner))) o = &inner;
        for (uint32_t k = 0; k < i; k++)
            if (wr_str_eq(t->options.at[k].key, t->options.at[i].key)) wr_diags_add(diags, WR_SEV_ERROR, "WR120", o->at, "option '%.*s' is given twice", WR_FMT(o->key));
        if (spec) {
            check_column(t, o, column, diags);
            check_value(o, spec, diags);
        } else if ((c->needs_format || c->records) && other_format(o, format, &owner)) {
            wr_diags_add(diags, WR_SEV_ERROR, "WR120", o->at, "table '%.*s': option '%.*s' belongs to the format '%s', this table's is '%s'", WR_FMT(t->name), WR_FMT(o->key), owner->name,
                         format ? format->name : "");
        } else {
            unknown_option(t, o, sets, c->name, diags);
        }
    }
}

/* Formats write VARIANT; reading it is refused here, not for each record. */
static bool holds_variant(wr_type t) {
    if (t.id == WR_T_VARIANT) return true;
    for (uint32_t i = 0; wr_type_is_nested(t) && i < t.n_kids; i++)
        if (holds_variant(t.kids[i])) return true;
    return false;
}
static void check_columns(const wr_table_info *t, const char *format, wr_diags *diags) {
    for (uint32_t i = 0; i < t->n_physical; i++) {
        const wr_field *f = &t->schema->fields[i];
        if (!holds_variant(f->type)) continue;
        wr_diags_add(diags, WR_SEV_ERROR, "WR125", t->at, "table '%.*s': the format '%s' cannot read VARIANT: column '%.*s'", WR_FMT(t->name), format, WR_FMT(f->name));
        wr_diags_hint(diags, "declare it STRING, and write PARSE_JSON(%.*s) in the query", WR_FMT(f->name));
    }
}

static void check_metadata(const wr_table_info *t, const wr_format *format, wr_arena *arena, wr_diags *diags) {
    const wr_schema *columns;
    const wr_str    *keys;
    wr_format_metadata_pick(format, t->schema, t->n_physical, t->metadata_keys, t->at, arena, &columns, &keys, diags);
}

bool wr_table_options_check(const wr_table_info *t, bool as_source, wr_diags *diags) {
    uint32_t            before = diags->n_errors;
    const wr_connector *c = check_connector(t, as_source, diags);
    if (!c) return false;
    spec_sets        sets = {{common_specs, c->specs, wr_source_specs, wr_lookup_specs, wr_contract_specs, wr_slo_specs}, 6}; /* a table may be read and written: source options are never wrong */
    const wr_option *f = wr_options_find(&t->options, "format");
    const wr_format *format = f ? wr_format_find(wr_str_trim(f->value)) : NULL;
    wr_record_format records = {0};
    wr_arena        *arena = wr_arena_new(NULL);
    if (c->records) {
        check_records(t, c, as_source, &records, arena, diags);
        sets.at[sets.n++] = wr_record_specs;
        format = records.value;
    } else {
        check_format(t, c, as_source, f, format, diags);
    }
    if (format) sets.at[sets.n++] = format->specs;
    if (format && as_source) check_columns(t, format->name, diags);
    if (format && as_source) check_metadata(t, format, arena, diags);
    check_options(t, c, &sets, &records, format, diags);
    check_required(t, format, c->records && wr_options_find(&t->options, "value.format") ? "value." : "", diags);
    check_required(t, records.key, "key.", diags);
    wr_arena_free(arena);
    for (const wr_option_spec *s = c->specs; s->key; s++)
        if (s->required && !wr_options_find(&t->options, s->key)) {
            wr_diags_add(diags, WR_SEV_ERROR, "WR122", t->at, "table '%.*s': the connector '%s' needs the option '%s'", WR_FMT(t->name), c->name, s->key);
            wr_diags_hint(diags, "%s", s->doc);
        }
    wr_refusal_policy policy;
    (void)wr_refusal_policy_read(&t->options, &policy, diags);
    wr_overload overload;
    if (as_source) (void)wr_overload_read(&t->options, c, &overload, diags);
    wr_slo_options promised;
    if (diags->n_errors == before) (void)wr_slo_options_read(&t->options, &promised, diags);
    if (as_source && c->changes && c->changes(t) == WR_FORMAT_UPSERT && !t->n_key)
        wr_diags_add(diags, WR_SEV_ERROR, "WR128", t->at, "table '%.*s': upserts need a PRIMARY KEY (...) NOT ENFORCED: it says which rows replace each other", WR_FMT(t->name));
    return diags->n_errors == before;
}
