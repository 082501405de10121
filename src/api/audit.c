/* api/audit.c: an audit from its options to its report: which outputs and which period, the runs, reading the outputs back. See audit.h.
 *
 * Sides      rows of the outputs and of each run go into one pile, by output and key, each with its side; audit_compare.c walks over it.
 * Errors     callbacks of the job that cannot fail note the first error in `failed`; the tick stops the job, and the run says it.      */
#include "api/audit_parts.h"
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

enum { ATTEMPTS_MAX = 3, LIMIT_DEFAULT = 100 };
static const int64_t HELD_US = INT64_C(1) << 61; /* a watermark that is so far behind never comes */

WR_PRINTF(2, 3) static void say(const audit *a, const char *fmt, ...) {
    char    line[512];
    va_list args;
    if (!a->o->say) return;
    va_start(args, fmt);
    vsnprintf(line, sizeof line, fmt, args);
    va_end(args);
    a->o->say(a->o->arg, wr_str_of(line));
}
void audit_note(const audit *a, const char *fmt, ...) {
    char    line[600];
    va_list args;
    va_start(args, fmt);
    vsnprintf(line, sizeof line, fmt, args);
    va_end(args);
    wr_str text = wr_str_of(line);
    for (uint32_t i = 0; i < a->report->notes.n; i++)
        if (wr_str_eq(a->report->notes.at[i], text)) return;
    wr_arr_apush(a->report->arena, &a->report->notes, wr_str_dup(a->report->arena, text));
}

/* ---- rows ---- */
static void put_cell(const wr_vec *vec, uint32_t row, const wr_tz *tz, wr_sbuf *out) {
    if (wr_vec_is_null(vec, row)) {
        wr_sbuf_addz(out, "\\N");
        return;
    }
    size_t from = out->len;
    wr_vec_text(vec, row, tz, out);
    wr_str text = {out->at + from, out->len - from};
    bool   plain = true;
    for (size_t i = 0; i < text.len && plain; i++) plain = text.ptr[i] != '\\' && text.ptr[i] != '\t';
    if (plain) return;
    wr_sbuf copy = {0};
    wr_sbuf_add_str(&copy, text);
    out->len = from;
    for (size_t i = 0; i < copy.len; i++) {
        if (copy.at[i] == '\\' || copy.at[i] == '\t') wr_sbuf_addc(out, '\\');
        wr_sbuf_addc(out, copy.at[i] == '\t' ? 't' : copy.at[i]);
    }
    wr_sbuf_free(&copy);
}

void audit_cells(const wr_batch *batch, uint32_t row, uint32_t n, const wr_tz *tz, wr_sbuf *out) {
    for (uint32_t i = 0; i < n; i++) {
        if (i) wr_sbuf_addc(out, '\t');
        put_cell(&batch->cols[i], row, tz, out);
    }
}

/* Microseconds of a TIMESTAMP, an instant or a DATE; false: NULL. */
bool audit_time_of(const wr_vec *vec, uint32_t row, int64_t *us) {
    if (wr_vec_is_null(vec, row)) return false;
    if (vec->type.id == WR_T_DATE) *us = (int64_t)((const int32_t *)vec->data)[row] * INT64_C(86400000000);
    else *us = ((const int64_t *)vec->data)[row];
    if (vec->type.id != WR_T_DATE && vec->type.prec > 6) *us = wr_floor_div(*us, 1000);
    return true;
}

wr_status audit_add(audit *a, uint32_t output, audit_side side, const wr_batch *batch, uint32_t row, const uint32_t *column, bool adds, wr_err *err) {
    const audit_output *o = &a->outputs.at[output];
    wr_sbuf *key = &a->key, *value = &a->value;
    int64_t  us;
    if (o->time_col >= 0 && (adds || !o->by_key)) {
        uint32_t at = column ? column[o->time_col] : (uint32_t)o->time_col;
        if (!audit_time_of(&batch->cols[at], row, &us) || us < o->from_us || us >= o->to_us) return WR_OK;
    }
    wr_sbuf_clear(key), wr_sbuf_clear(value);
    for (int i = 3; i >= 0; i--) wr_sbuf_addc(key, (char)(output >> (i * 8)));
    for (uint32_t k = 0; k < o->n_key; k++) {
        if (k) wr_sbuf_addc(key, '\t');
        put_cell(&batch->cols[column ? column[o->key[k]] : o->key[k]], row, a->plan->tz, key);
    }
    wr_sbuf_addc(value, a->mark[side]);
    wr_sbuf_addc(value, adds ? '+' : '-');
    for (uint32_t k = 0; k < o->n_value && (adds || !o->by_key); k++) {
        if (k) wr_sbuf_addc(value, '\t');
        put_cell(&batch->cols[column ? column[o->value[k]] : o->value[k]], row, a->plan->tz, value);
    }
    return pile_add(a->rows, wr_sbuf_str(key), wr_sbuf_str(value), err);
}

static bool is_number(wr_type type) {
    return type.id == WR_T_TINYINT || type.id == WR_T_SMALLINT || type.id == WR_T_INT || type.id == WR_T_BIGINT || type.id == WR_T_FLOAT || type.id == WR_T_DOUBLE || type.id == WR_T_DECIMAL;
}
void audit_row_json(const wr_field *fields, const uint32_t *which, uint32_t n, wr_str cells, wr_sbuf *out) {
    const char *at = cells.ptr, *end = cells.ptr + cells.len;
    for (uint32_t i = 0; i < n; i++) {
        const wr_field *f = &fields[which ? which[i] : i];
        wr_sbuf         text = {0};
        bool            null = end - at >= 2 && at[0] == '\\' && at[1] == 'N';
        for (; at < end && *at != '\t'; at++) {
            if (*at == '\\' && at + 1 < end) at++, wr_sbuf_addc(&text, *at == 't' ? '\t' : *at);
            else wr_sbuf_addc(&text, *at);
        }
        at++;
        if (out->len && out->at[out->len - 1] != '{') wr_sbuf_addc(out, ',');
        wr_sbuf_add_json(out, f->name);
        wr_sbuf_addc(out, ':');
        bool bare = (is_number(f->type) && text.len && (text.at[0] == '-' || (text.at[0] >= '0' && text.at[0] <= '9'))) || f->type.id == WR_T_BOOLEAN;
        if (null) wr_sbuf_addz(out, "null");
        else if (bare && f->type.id == WR_T_BOOLEAN) wr_sbuf_addz(out, text.len && (text.at[0] == 't' || text.at[0] == 'T') ? "true" : "false");
        else if (bare) wr_sbuf_add_str(out, wr_sbuf_str(&text));
        else wr_sbuf_add_json(out, wr_sbuf_str(&text));
        wr_sbuf_free(&text);
    }
}

/* ---- the sink of the runs ---- */
typedef struct collect_sink { wr_sink base; audit *a; uint32_t output; } collect_sink;
static wr_status collect_write(wr_sink *sink, const wr_batch *batch, wr_err *err) {
    collect_sink       *s = (collect_sink *)sink;
    const audit_output *o = &s->a->outputs.at[s->output];
    wr_mutex_lock(s->a->lock); /* outputs may be written by several workers */
    wr_status status = WR_OK;
    for (uint32_t i = 0; i < wr_batch_live(batch) && status == WR_OK; i++) {
        uint32_t row = wr_batch_row(batch, i);
        uint8_t  kind = wr_batch_kind(batch, row);
        if (o->by_key && kind == WR_KIND_UPDATE_BEFORE) continue;
        status = audit_add(s->a, s->output, s->a->side, batch, row, o->column, wr_kind_adds(kind), err);
    }
    wr_mutex_unlock(s->a->lock);
    return status;
}
static wr_status collect_flush(wr_sink *sink, wr_err *err) { return (void)sink, (void)err, WR_OK; }
static wr_status collect_prepare(wr_sink *sink, uint64_t epoch, wr_sbuf *staged, wr_err *err) { return (void)sink, (void)epoch, (void)staged, (void)err, WR_OK; }
static wr_status collect_commit(wr_sink *sink, uint64_t epoch, wr_str staged, wr_err *err) { return (void)sink, (void)epoch, (void)staged, (void)err, WR_OK; }
static wr_status collect_close(wr_sink *sink, bool ok, wr_err *err) { return (void)ok, (void)err, wr_free(sink), WR_OK; }
static const wr_sink_vt collect_vt = {.name = "audit", .write = collect_write, .flush = collect_flush, .prepare = collect_prepare, .commit = collect_commit, .recover = collect_commit, .close = collect_close};
static wr_status collect_new(const wr_table_info *info, wr_connect_ctx *ctx, wr_sink **out, wr_err *err) {
    audit   *a = ctx->result_arg;
    uint32_t i = 0;
    (void)err;
    while (i < a->outputs.n && !wr_str_eq(a->outputs.at[i].table->name, info->name)) i++;
    wr_assert(i < a->outputs.n); /* the others are muted */
    collect_sink *s = wr_calloc(1, sizeof *s);
    *s = (collect_sink){.base.vt = &collect_vt, .a = a, .output = i};
    *out = &s->base;
    return WR_OK;
}
static wr_guarantee  collect_guarantee(const wr_table_info *info) { return (void)info, WR_EXACTLY_ONCE; }
static wr_sink_takes collect_takes(const wr_table_info *info) { return (void)info, WR_SINK_ALL; }
static const wr_option_spec no_specs[] = {{0}};
static const wr_connector collect_connector = {.name = "audit", .doc = "", .specs = no_specs, .sink_new = collect_new, .takes = collect_takes, .guarantee = collect_guarantee};

/* ---- which outputs ---- */
static bool named(const char *list, wr_str name) {
    for (const char *p = list; p && *p;) {
        const char *comma = strchr(p, ',');
        if (wr_str_ieq(wr_str_trim((wr_str){p, comma ? (size_t)(comma - p) : strlen(p)}), name)) return true;
        p = comma ? comma + 1 : NULL;
    }
    return !list;
}

static void table_info(const audit *a, const audit_output *o, wr_options options, wr_table_info *info) {
    uint32_t *key = wr_new_n(a->report->arena, uint32_t, o->table->n_key + 1);
    *info = (wr_table_info){.name = o->table->name, .schema = &o->schema, .n_physical = o->schema.n, .options = options, .at = o->table->at};
    for (uint32_t k = 0; k < o->table->n_key; k++) {
        int col = wr_schema_find(&o->schema, o->table->columns[o->table->key[k]].name);
        if (col >= 0) key[info->n_key++] = (uint32_t)col;
    }
    info->key = key;
}
static wr_options own_options(const wr_table *t) { return (wr_options){t->n_options, (const wr_option *)(const void *)t->options}; }

/* The keys of the aggregation that made the rows, if all of them are written: then a row with another count is a different row, not one missing and one extra. */
static void by_plan_key(const audit *a, const audit_output *o, bool *is_key) {
    bool          *mine = wr_calloc(o->schema.n + 1, sizeof *mine);
    const wr_pnode *from = NULL;
    uint32_t        found = 0, window = 0, keys;
    for (uint32_t i = 0; i < o->schema.n && !from; i++)
        if (o->cols[i].key_of) from = a->plan->nodes.at[o->cols[i].key_of - 1];
    keys = !from ? 0 : from->kind == WR_P_WINDOW_AGG ? from->window_agg.n_keys : from->group_agg.n_keys;
    for (uint32_t k = 1; from && k <= keys; k++)
        for (uint32_t i = 0; i < o->schema.n; i++)
            if (o->cols[i].key_of == from->index + 1 && o->cols[i].key_no == k && is_key[i]) {
                mine[i] = true, found++;
                break;
            }
    for (uint32_t i = 0; i < o->schema.n; i++)
        if (from && o->cols[i].key_of == from->index + 1 && o->cols[i].key_no == AUDIT_KEY_WINDOW) mine[i] = true, window++;
    if (from && found == keys && (window || (from->kind == WR_P_GROUP_AGG && keys))) memcpy(is_key, mine, o->schema.n * sizeof *mine);
    wr_free(mine);
}

/* The columns that identify a row, and those that are its value: of a bag the latter are those that need not be equal to the last digit, or cannot be. */
static void split_columns(const audit *a, audit_output *o) {
    const wr_connector *c = wr_connector_find(o->table->connector);
    wr_table_info       info;
    bool               *is_key = wr_new_n(a->report->arena, bool, o->schema.n + 1);
    table_info(a, o, own_options(o->table), &info);
    o->by_key = info.n_key && c && c->takes && c->takes(&info) == WR_SINK_UPSERT;
    o->key = wr_new_n(a->report->arena, uint32_t, o->schema.n + 1);
    o->value = wr_new_n(a->report->arena, uint32_t, o->schema.n + 1);
    for (uint32_t i = 0; i < o->schema.n; i++) {
        wr_tid id = o->schema.fields[i].type.id;
        is_key[i] = !o->by_key && id != WR_T_FLOAT && id != WR_T_DOUBLE && !o->cols[i].unsteady;
    }
    for (uint32_t k = 0; o->by_key && k < info.n_key; k++) is_key[info.key[k]] = true;
    if (!o->by_key) by_plan_key(a, o, is_key);
    for (uint32_t i = 0; i < o->schema.n; i++) {
        if (is_key[i]) o->key[o->n_key++] = i;
        else o->value[o->n_value++] = i;
    }
}

static void mark_inputs(const audit *a, const wr_pnode *sink, bool *from) {
    from[sink->index] = true;
    for (uint32_t i = sink->index + 1; i-- > 0;) {
        const wr_pnode *n = a->plan->nodes.at[i];
        for (uint32_t k = 0; from[i] && k < n->n_inputs; k++) from[n->inputs[k].node->index] = true;
        for (uint32_t k = 0; from[i] && k < n->n_union; k++) from[n->union_inputs[k].node->index] = true;
    }
}

static void add_output(audit *a, const wr_pnode *sink) {
    wr_arena        *arena = a->report->arena;
    const wr_table  *t = sink->sink.table;
    const wr_schema *w = &sink->sink.write_schema;
    const audit_node *from = &a->nodes[sink->index];
    audit_output     o = {.table = t, .sink = sink, .time_col = -1, .from_us = WR_TIME_MIN, .to_us = WR_TIME_MAX, .unsteady = from->unsteady, .forgets = from->forgets, .sheds = from->sheds, .report = a->report->outputs.n};
    for (uint32_t i = 0; i < a->outputs.n; i++) {
        if (a->outputs.at[i].table != t) continue;
        mark_inputs(a, sink, a->outputs.at[i].from);
        if (!a->outputs.at[i].unsteady) a->outputs.at[i].unsteady = o.unsteady; /* another INSERT into the same table */
        return;
    }
    wr_field *fields = wr_new_n(arena, wr_field, t->n_columns + 1);
    o.column = wr_new_n(arena, uint32_t, t->n_columns + 1);
    o.cols = wr_new_n(arena, audit_col, t->n_columns + 1);
    o.from = wr_arena_calloc(arena, a->plan->nodes.n + 1);
    mark_inputs(a, sink, o.from);
    for (uint32_t i = 0; i < t->n_columns; i++) {
        int at = t->columns[i].kind == WR_COLUMN_PHYSICAL ? wr_schema_find(w, t->columns[i].name) : -1;
        if (at < 0) continue;
        o.column[o.schema.n] = (uint32_t)at;
        o.cols[o.schema.n] = from->cols[at];
        fields[o.schema.n++] = w->fields[at];
    }
    o.schema.fields = fields;
    split_columns(a, &o);
    wr_arr_push(&a->outputs, o);
    wr_arr_apush(arena, &a->report->outputs, (wr_audit_output){.name = t->name, .connector = t->connector, .by_key = o.by_key});
}

static wr_status find_outputs(audit *a, bool *muted, wr_err *err) {
    for (uint32_t i = 0; i < a->plan->nodes.n; i++) {
        const wr_pnode *n = a->plan->nodes.at[i];
        muted[i] = n->kind == WR_P_SINK;
        if (n->kind != WR_P_SINK || n->sink.is_result || !named(a->o->outputs, n->sink.table->name)) continue;
        if (n->sink.write_schema.n > n->schema.n) return wr_fail(err, WR_UNSUPPORTED, "0A000", "the output '%.*s' has columns that the plan does not", WR_FMT(n->sink.table->name));
        add_output(a, n);
        muted[i] = false;
    }
    return WR_OK;
}

/* ---- the period ---- */
wr_status audit_time(const audit *a, const char *option, const char *text, wr_type type, int64_t *out, wr_err *err) {
    int32_t nanos;
    bool    zoned, instant = type.id == WR_T_TIMESTAMP_LTZ;
    if (!wr_parse_timestamp(wr_str_trim(wr_str_of(text)), out, &nanos, &zoned)) {
        wr_fail(err, WR_USER, "WR425", "%s '%s' is no timestamp", option, text);
        wr_err_hint(err, "such as '2024-05-01 00:00:00', in table.local-time-zone, or '2024-05-01T00:00:00Z'");
        return WR_USER;
    }
    if (instant && !zoned) *out = wr_tz_to_utc(a->plan->tz, *out);
    if (!instant && zoned) *out = wr_tz_to_local(a->plan->tz, *out);
    return WR_OK;
}

static bool holds_time(wr_type t) { return t.id == WR_T_TIMESTAMP || t.id == WR_T_TIMESTAMP_LTZ || t.id == WR_T_DATE; }

static int find_time(const audit_output *o) { /* a window's start, the event time, a window's end */
    int best = -1, rank = 0;
    for (uint32_t i = 0; i < o->schema.n; i++) {
        const audit_col *c = &o->cols[i];
        int r = !c->event_time || !holds_time(o->schema.fields[i].type) ? 0 : c->window == AUDIT_WINDOW_START ? 3 : c->window == AUDIT_NO_WINDOW ? 2 : 1;
        if (r > rank) rank = r, best = (int)i;
    }
    return best;
}

static wr_status no_time(const audit_output *o, const char *asked, wr_err *err) {
    wr_str *names = wr_calloc(o->schema.n + 1, sizeof *names);
    wr_sbuf list = {0};
    for (uint32_t i = 0; i < o->schema.n; i++) {
        names[i] = o->schema.fields[i].name;
        if (holds_time(o->schema.fields[i].type)) wr_sbuf_printf(&list, "%s%.*s", list.len ? ", " : "", WR_FMT(names[i]));
    }
    if (asked) wr_fail(err, WR_USER, "WR425", "--time-column: the output '%.*s' has no column '%s' with a time", WR_FMT(o->table->name), asked);
    else wr_fail(err, WR_USER, "WR425", "the output '%.*s' has no column that the plan knows to be an event time, so its rows of a period cannot be told", WR_FMT(o->table->name));
    if (list.len) wr_err_hint(err, "--time-column takes one of %.*s; without --from and --to the output is compared as a whole", WR_FMT(wr_sbuf_str(&list)));
    else wr_err_hint(err, "without --from and --to the output is compared as a whole; --output chooses others");
    err->at = o->table->at;
    wr_sbuf_free(&list);
    wr_free(names);
    return WR_USER;
}

static void leave_untimed(audit *a, bool *muted) {
    uint32_t kept = 0;
    if (!a->o->only_timed || (!a->o->from && !a->o->to)) return;
    for (uint32_t i = 0; i < a->outputs.n; i++) {
        audit_output o = a->outputs.at[i];
        if (find_time(&o) < 0) {
            audit_note(a, "output %.*s has no time column and is left out", WR_FMT(o.table->name));
            for (uint32_t k = 0; k < a->plan->nodes.n; k++) muted[k] |= a->plan->nodes.at[k]->kind == WR_P_SINK && a->plan->nodes.at[k]->sink.table == o.table;
            continue;
        }
        a->report->outputs.at[kept] = a->report->outputs.at[o.report];
        o.report = kept;
        a->outputs.at[kept++] = o;
    }
    a->outputs.n = a->report->outputs.n = kept;
}

static wr_status find_period(audit *a, audit_output *o, wr_err *err) {
    const wr_audit_opts *q = a->o;
    if (!q->from && !q->to) return WR_OK;
    if (q->time_column) {
        o->time_col = wr_schema_find(&o->schema, wr_str_of(q->time_column));
        if (o->time_col < 0 || !holds_time(o->schema.fields[o->time_col].type)) return no_time(o, q->time_column, err);
    } else if ((o->time_col = find_time(o)) < 0) {
        return no_time(o, NULL, err);
    }
    wr_type type = o->schema.fields[o->time_col].type;
    if (q->from) WR_TRY(audit_time(a, "--from", q->from, type, &o->from_us, err));
    if (q->to) WR_TRY(audit_time(a, "--to", q->to, type, &o->to_us, err));
    if (o->from_us >= o->to_us) return wr_fail(err, WR_USER, "WR425", "--from %s is not before --to %s", q->from, q->to);
    a->report->outputs.at[o->report].time_column = o->schema.fields[o->time_col].name;
    return WR_OK;
}

/* ---- what is read ---- */
static int64_t plus(int64_t us, int64_t by) {
    int64_t sum;
    if (us == WR_TIME_MIN || us == WR_TIME_MAX) return us;
    return __builtin_add_overflow(us, by, &sum) ? (by < 0 ? WR_TIME_MIN : WR_TIME_MAX) : sum;
}

static wr_status must_end(const wr_session *s, const wr_pnode *n, wr_err *err) {
    static const char *const endless[] = {"datagen", "nexmark", "ridelo", "push"};
    if (n->source.bounded) return WR_OK;
    for (size_t i = 0; i < WR_COUNT_OF(endless); i++) {
        if (!wr_str_eq(n->source.table->connector, wr_str_of(endless[i]))) continue;
        (void)s;
        wr_fail(err, WR_USER, "WR427", "table '%.*s' ('connector' = '%s') keeps no log that could be read again", WR_FMT(n->source.table->name), endless[i]);
        wr_err_hint(err, "an audit needs inputs that were kept: files, 'log', 'kafka'; of generators those with 'number-of-rows'");
        err->at = n->at;
        return WR_USER;
    }
    return WR_OK;
}

static bool has_option(const wr_connector *c, const char *key) {
    for (const wr_option_spec *o = c ? c->specs : NULL; o && o->key; o++)
        if (!strcmp(o->key, key)) return true;
    return false;
}

/* The table with other options: of a queue, from its first message on, unless it says a place that is the same each time. */
static const wr_table *from_its_start(audit *a, const wr_table *t) {
    const wr_connector *c = wr_connector_find(t->connector);
    wr_str mode = wr_table_option_get(t, "scan.startup.mode");
    if (!has_option(c, "scan.startup.mode") || wr_str_eq(mode, WR_STR("earliest-offset"))) return t;
    if (wr_str_eq(mode, WR_STR("timestamp")) || wr_str_eq(mode, WR_STR("specific-offsets"))) {
        audit_note(a, "table %.*s is read from where its options say; what lies before is not in the recount", WR_FMT(t->name));
        return t;
    }
    wr_table        *copy = wr_new(a->report->arena, wr_table);
    wr_table_option *o = wr_new_n(a->report->arena, wr_table_option, t->n_options + 1);
    *copy = *t;
    copy->n_options = 0;
    for (uint32_t i = 0; i < t->n_options; i++)
        if (!wr_str_starts(t->options[i].key, WR_STR("scan.startup."))) o[copy->n_options++] = t->options[i];
    o[copy->n_options++] = (wr_table_option){WR_STR("scan.startup.mode"), WR_STR("earliest-offset"), t->at};
    copy->options = o;
    audit_note(a, "table %.*s is read from its first message on; a job that began at its end has not seen those before", WR_FMT(t->name));
    return copy;
}

static wr_status find_ranges(audit *a, wr_err *err) {
    uint32_t n_nodes = a->plan->nodes.n;
    for (uint32_t i = 0; i < a->outputs.n; i++) {
        const audit_output *o = &a->outputs.at[i];
        for (uint32_t k = 0; k < n_nodes; k++) {
            const wr_pnode *n = a->plan->nodes.at[k];
            if (n->kind != WR_P_SINK || n->sink.is_result || n->sink.table != o->table) continue;
            audit_plan_reach(a->plan, a->nodes, n, o->time_col >= 0 ? (int)o->column[o->time_col] : -1, o->time_col < 0 || !o->cols[o->time_col].event_time, a->report->arena);
        }
    }
    for (uint32_t i = 0; i < n_nodes; i++) {
        wr_pnode         *n = a->plan->nodes.at[i];
        const audit_node *need = &a->nodes[i];
        wr_source_range  *r = &a->ranges[i];
        a->periods[i] = *r = (wr_source_range){WR_TIME_MIN, WR_TIME_MAX, 0};
        if (n->kind != WR_P_SOURCE || !need->reached) continue;
        WR_TRY(must_end(a->s, n, err));
        n->source.table = from_its_start(a, n->source.table);
        bool timed = n->source.rowtime && n->changes == WR_CHANGES_APPEND;
        if (n->source.rowtime && a->o->from) WR_TRY(audit_time(a, "--from", a->o->from, n->source.rowtime->type, &a->periods[i].from_us, err));
        if (n->source.rowtime && a->o->to) WR_TRY(audit_time(a, "--to", a->o->to, n->source.rowtime->type, &a->periods[i].to_us, err));
        if (timed && need->back_us != WR_TIME_MAX) r->from_us = plus(a->periods[i].from_us, -need->back_us);
        if (timed && need->ahead_us != WR_TIME_MAX) r->to_us = plus(a->periods[i].to_us, need->ahead_us);
        wr_str why = n->changes != WR_CHANGES_APPEND ? WR_STR("its later rows build on the earlier ones") : !n->source.rowtime ? WR_STR("it has no event time") : need->why;
        wr_arr_apush(a->report->arena, &a->report->reads, (wr_audit_read){n->source.table->name, r->from_us, r->to_us, why});
    }
    return WR_OK;
}

/* ---- the runs ---- */
static void tick(void *arg, wr_job *job) {
    audit *a = arg;
    wr_mutex_lock(a->lock);
    bool over = a->failed.status != WR_OK;
    wr_mutex_unlock(a->lock);
    if (over || wr_session_stopped(a->s)) wr_job_stop(job);
}

static void note_dropped(audit *a, wr_job *job) {
    wr_job_status now;
    wr_job_status_get(job, &now);
    memset(a->report->dropped, 0, sizeof a->report->dropped);
    for (uint32_t i = 0; i < now.n_nodes; i++)
        for (int r = 0; r < WR_REASON_COUNT; r++) a->report->dropped[r] += now.nodes[i].ledger.dropped[r];
    if (!a->report->runs) a->report->rows_read = now.rows_in;
    wr_arena_free(now.arena);
}

static wr_status run_once(audit *a, audit_side side, const bool *muted, wr_err *err) {
    wr_session     *s = a->s;
    wr_source_watch watch;
    wr_probe        probe;
    wr_job         *job = NULL;
    a->side = side;
    for (uint32_t i = 0; side == SIDE_AS_RUN && i < a->plan->nodes.n; i++) a->most_behind[i] = -1;
    WR_TRY(audit_rows_begin(a, err));
    audit_watch(a, &watch, &probe);
    wr_account_init(&s->acct, NULL, "weir", wr_session_memory(s) / 2);
    wr_run_opts ro = {.world = s->world, .acct = &s->acct, .diags = &s->diags, .n_workers = wr_session_workers(s), .n_key_groups = s->opts.n_key_groups, .batch_rows = s->opts.batch_rows,
                      .force_bounded = true, .redirect = true, .result = &collect_connector, .result_arg = a, .muted = muted, .from = "earliest", .tick = tick, .tick_arg = a, .watch = &watch, .probe = &probe};
    wr_status status = wr_job_new(a->plan, &ro, &job, err);
    if (status == WR_OK) status = wr_job_run(job, err);
    if (a->failed.status != WR_OK) status = (*err = a->failed).status;
    else if (status == WR_OK && wr_session_stopped(s)) status = wr_fail(err, WR_CANCELLED, "WR901", "stopped on request");
    if (status == WR_OK) {
        note_dropped(a, job);
        a->has[side] = true;
        a->report->runs++;
    }
    wr_job_free(job);
    return status;
}

/* Watermarks are held back by what the latest row was late by. Where the order of reading differs a row may be later still: once more, and at last with
 * watermarks that never come. Rows of a run that does not count carry a mark that nobody looks for. */
static wr_status run_truth(audit *a, const bool *muted, wr_err *err) {
    for (int attempt = 1;; attempt++) {
        for (uint32_t i = 0; i < a->plan->nodes.n; i++)
            if (a->most_behind[i] >= 0) a->ranges[i].slack_us = attempt == ATTEMPTS_MAX || a->most_behind[i] > HELD_US / 4 ? HELD_US : 2 * a->most_behind[i] + 1000000;
        a->mark[SIDE_TRUTH] = (char)('0' + attempt);
        WR_TRY(run_once(a, SIDE_TRUTH, muted, err));
        if (!a->n_late || attempt == ATTEMPTS_MAX) return WR_OK;
    }
}

static wr_status run_sides(audit *a, const bool *muted, wr_err *err) {
    audit_ttls ttls = {0};
    bool       forgets = audit_plan_forgets(a->plan);
    say(a, "counts again what the log has, as the job ran");
    WR_TRY(run_once(a, SIDE_AS_RUN, muted, err));
    bool late = a->late_any = a->n_late > 0;
    if (!late && !forgets) return WR_OK;
    if (late) say(a, "%" PRIu64 " rows came late: counts again with them", a->n_late);
    else say(a, "counts again with nothing forgotten");
    audit_plan_keep_all(a->plan, &ttls);
    wr_status status = WR_OK;
    if (late && forgets) status = run_once(a, SIDE_LATE_ONLY, muted, err);
    if (status == WR_OK) status = run_truth(a, muted, err);
    audit_plan_restore(a->plan, &ttls);
    return status;
}

/* ---- what was published ---- */
static wr_options read_options(const audit *a, const audit_output *o) {
    static const struct { const char *key; wr_str value; } queue[] = {{"scan.startup.mode", {"earliest-offset", 15}}, {"scan.bounded.mode", {"latest-offset", 13}}};
    const wr_table     *t = o->table;
    const wr_connector *c = wr_connector_find(t->connector);
    wr_option *list = wr_new_n(a->report->arena, wr_option, t->n_options + 4);
    uint32_t   n = 0;
    for (uint32_t i = 0; i < t->n_options; i++) {
        wr_str key = t->options[i].key;
        if (wr_str_starts(key, WR_STR("scan.startup.")) || wr_str_starts(key, WR_STR("scan.bounded.")) || wr_str_starts(key, WR_STR("dead-letter.")) || wr_str_eq(key, WR_STR("on-error"))) continue;
        list[n++] = (wr_option){key, t->options[i].value, t->options[i].at};
    }
    for (size_t i = 0; i < WR_COUNT_OF(queue); i++)
        if (has_option(c, queue[i].key)) list[n++] = (wr_option){wr_str_of(queue[i].key), queue[i].value, t->at};
    return (wr_options){n, list};
}

typedef struct reader { audit *a; uint32_t output; } reader;
static wr_status take(void *arg, wr_batch *batch, wr_err *err) {
    reader   *r = arg;
    bool      by_key = r->a->outputs.at[r->output].by_key;
    wr_status status = wr_session_stopped(r->a->s) ? wr_fail(err, WR_CANCELLED, "WR901", "stopped on request") : WR_OK;
    for (uint32_t i = 0; i < wr_batch_live(batch) && status == WR_OK; i++) {
        uint32_t row = wr_batch_row(batch, i);
        uint8_t  kind = wr_batch_kind(batch, row);
        if (by_key && kind == WR_KIND_UPDATE_BEFORE) continue;
        status = audit_add(r->a, r->output, SIDE_PUBLISHED, batch, row, NULL, wr_kind_adds(kind), err);
    }
    wr_batch_unref(batch);
    return status;
}

/* A file that was never written is an output without rows. */
static wr_status nothing_there(const audit *a, const audit_output *o, bool *nothing, wr_err *err) {
    wr_str       path = wr_table_option_get(o->table, "path");
    wr_file_info fi;
    bool         there = true;
    bool         file = wr_str_eq(o->table->connector, WR_STR("filesystem")) && path.len && !memchr(path.ptr, '*', path.len) && !memchr(path.ptr, ',', path.len);
    *nothing = false;
    if (!file) return WR_OK;
    if (wr_str_starts(path, WR_STR("file://"))) path.ptr += 7, path.len -= 7;
    WR_TRY(a->s->world->vt->stat(a->s->world, wr_arena_strndup(a->report->arena, path.ptr, path.len), &fi, &there, err));
    *nothing = !there;
    if (there && fi.is_dir) {
        wr_file_info *list;
        size_t        n, seen = 0;
        WR_TRY(a->s->world->vt->list(a->s->world, wr_arena_strndup(a->report->arena, path.ptr, path.len), &list, &n, err));
        for (size_t i = 0; i < n; i++) seen += list[i].name[0] != '.' && list[i].name[0] != '_';
        wr_free(list);
        *nothing = !seen;
    }
    return WR_OK;
}

static wr_status read_table(audit *a, uint32_t output, wr_str *unreadable, wr_err *err) {
    audit_output       *o = &a->outputs.at[output];
    const wr_connector *c = wr_connector_find(o->table->connector);
    uint8_t            *needed = wr_arena_calloc(a->report->arena, o->schema.n + 1);
    reader              r = {a, output};
    wr_lookup_rows      rows = {.take = take, .arg = &r};
    wr_lookup          *lookup = NULL;
    wr_table_info       info;
    wr_diags            diags;
    bool                nothing;
    if (!c || (!c->source_new && !c->lookup_new)) {
        *unreadable = wr_str_of(wr_arena_printf(a->report->arena, "weir can write to 'connector' = '%.*s', not read it", WR_FMT(o->table->connector)));
        return WR_OK;
    }
    WR_TRY(nothing_there(a, o, &nothing, err));
    if (nothing) return WR_OK;
    memset(needed, 1, o->schema.n);
    table_info(a, o, read_options(a, o), &info);
    info.needed = needed;
    wr_diags_init(&diags);
    wr_connect_ctx ctx = {.world = a->s->world, .arena = a->report->arena, .acct = &a->s->acct, .diags = &diags, .tz = a->plan->tz, .n_workers = 1, .batch_rows = 1024, .bounded_override = true};
    wr_status status = wr_lookup_open(&info, NULL, 0, true, &ctx, &lookup, err);
    if (status == WR_USER || status == WR_UNSUPPORTED) {
        wr_str why = diags.list.n ? wr_str_of(diags.list.at[0].message) : wr_str_of(err->message);
        *unreadable = wr_str_dup(a->report->arena, why);
        *err = (wr_err){0};
        status = WR_OK;
    }
    if (lookup) {
        status = lookup->vt->get(lookup, NULL, &rows, err);
        if (status == WR_OK) status = wr_lookup_rows_pass(&rows, err);
        for (uint32_t i = 0; i < rows.batches.n; i++) wr_batch_unref(rows.batches.at[i]);
        lookup->vt->close(lookup);
    }
    wr_arr_free(&rows.batches);
    if (rows.n_bad) audit_note(a, "%" PRIu64 " records of output %.*s cannot be read and count as not there", rows.n_bad, WR_FMT(o->table->name));
    wr_diags_free(&diags);
    return status;
}

static wr_status read_outputs(audit *a, wr_err *err) {
    say(a, "reads what was published");
    wr_account_init(&a->s->acct, NULL, "weir", wr_session_memory(a->s) / 2);
    for (uint32_t i = 0; i < a->outputs.n; i++) {
        wr_audit_output *r = &a->report->outputs.at[a->outputs.at[i].report];
        WR_TRY(read_table(a, i, &r->unreadable, err));
        a->report->n_unreadable += r->unreadable.ptr != NULL;
    }
    return WR_OK;
}

/* ---- all of it ---- */
static wr_status audit_steps(audit *a, bool *muted, wr_err *err) {
    WR_TRY(find_outputs(a, muted, err));
    if (!a->outputs.n) return WR_OK;
    leave_untimed(a, muted);
    if (!a->outputs.n) return WR_OK;
    for (uint32_t i = 0; i < a->outputs.n; i++) WR_TRY(find_period(a, &a->outputs.at[i], err));
    WR_TRY(find_ranges(a, err));
    WR_TRY(run_sides(a, muted, err));
    WR_TRY(read_outputs(a, err));
    say(a, "compares %" PRIu64 " rows", pile_count(a->rows));
    WR_TRY(pile_sort(a->rows, err));
    WR_TRY(audit_compare(a, err));
    return audit_rows_report(a, err);
}

static wr_status audit_job(wr_session *s, const wr_job_plan *plan, const wr_audit_opts *o, const char *dir, wr_audit_report *report, wr_err *err) {
    wr_arena *arena = report->arena;
    audit     a = {.s = s, .o = o, .report = report, .plan = plan, .dir = dir, .lock = wr_mutex_new(), .mark = {'p', 'r', 't', 'l'}};
    a.nodes = audit_plan_look(plan, arena);
    a.rows = pile_new(s->world, dir, (size_t)wr_session_memory(s) / 4);
    a.ranges = wr_new_n(arena, wr_source_range, plan->nodes.n + 1);
    a.periods = wr_new_n(arena, wr_source_range, plan->nodes.n + 1);
    a.most_behind = wr_new_n(arena, int64_t, plan->nodes.n + 1);
    const wr_table **tables = wr_new_n(arena, const wr_table *, plan->nodes.n + 1);
    bool            *muted = wr_new_n(arena, bool, plan->nodes.n + 1);
    for (uint32_t i = 0; i < plan->nodes.n; i++) tables[i] = plan->nodes.at[i]->kind == WR_P_SOURCE ? plan->nodes.at[i]->source.table : NULL;
    wr_status status = audit_steps(&a, muted, err);
    for (uint32_t i = 0; i < plan->nodes.n; i++)
        if (tables[i]) plan->nodes.at[i]->source.table = tables[i];
    audit_rows_end(&a);
    pile_free(a.rows);
    wr_arr_free(&a.outputs);
    wr_arr_free(&a.shown);
    wr_sbuf_free(&a.key);
    wr_sbuf_free(&a.value);
    wr_mutex_free(a.lock);
    return status;
}

static wr_status check_names(const wr_session *s, const wr_audit_opts *o, wr_err *err) {
    WR_ARR(wr_str) known = {0};
    wr_status status = WR_OK;
    for (uint32_t i = 0; i < s->steps.n; i++)
        for (uint32_t k = 0; s->steps.at[i].kind == WR_STEP_JOB && k < s->steps.at[i].job->nodes.n; k++) {
            const wr_pnode *n = s->steps.at[i].job->nodes.at[k];
            if (n->kind == WR_P_SINK && !n->sink.is_result) wr_arr_push(&known, n->sink.table->name);
        }
    if (!known.n) status = wr_fail(err, WR_USER, "WR425", "the script writes no table, so there is nothing that an audit could look at");
    for (const char *p = o->outputs; p && *p && status == WR_OK;) {
        const char *comma = strchr(p, ',');
        wr_str      one = wr_str_trim((wr_str){p, comma ? (size_t)(comma - p) : strlen(p)});
        bool        found = false;
        for (uint32_t i = 0; i < known.n; i++) found |= wr_str_ieq(known.at[i], one);
        if (!found) {
            int near = wr_nearest(one, known.at, known.n);
            status = wr_fail(err, WR_USER, "WR425", "--output: the script writes no table '%.*s'", WR_FMT(one));
            if (near >= 0) wr_err_hint(err, "did you mean '%.*s'?", WR_FMT(known.at[near]));
        }
        p = comma ? comma + 1 : NULL;
    }
    wr_arr_free(&known);
    return status;
}

wr_status wr_session_audit(wr_session *s, const wr_audit_opts *asked, wr_audit_report *report, wr_err *err) {
    wr_audit_opts o = *asked;
    const char   *tmp = getenv("TMPDIR");
    char          dir[512];
    int64_t       begun = wr_mono_us(s->world);
    if (!o.limit) o.limit = LIMIT_DEFAULT;
    memset(err, 0, sizeof *err);
    *report = (wr_audit_report){.arena = wr_arena_new(NULL), .equal = true, .from_us = WR_TIME_MIN, .to_us = WR_TIME_MAX};
    if (o.from) report->from = wr_str_dup(report->arena, wr_str_of(o.from));
    if (o.to) report->to = wr_str_dup(report->arena, wr_str_of(o.to));
    WR_TRY(check_names(s, &o, err));
    snprintf(dir, sizeof dir, "%.400s/weir-audit-%016llx", tmp && *tmp ? tmp : "/tmp", (unsigned long long)s->world->vt->random(s->world));
    WR_TRY(s->world->vt->make_dirs(s->world, dir, err));
    wr_status status = WR_OK;
    for (uint32_t i = 0; i < s->steps.n && status == WR_OK; i++) {
        if (s->steps.at[i].kind != WR_STEP_JOB) continue;
        link_plan(s, s->steps.at[i].job);
        status = audit_job(s, s->steps.at[i].job, &o, dir, report, err);
    }
    wr_err spare;
    wr_dir_remove(s->world, dir, &spare);
    report->took_us = wr_mono_us(s->world) - begun;
    return status;
}
