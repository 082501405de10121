/* plan/contract_plan.c: contracts of a job, from its plan. See contract.h.
 *
 * Idea       what the plan proves (schema, key, kinds of changes, order, delivery, event time, what goes into a column) is never taken from an option; an option
 *            may promise less, and adds what no plan can know (freshness, completeness, retention, owner).                              */
#include "plan/contract.h"
#include "plan/logical.h"
#include <stdio.h>
#include <stdlib.h>

/* Queues: what is written is spread over partitions, and read as a table of changes under another connector's name. */
static bool is_upsert_queue(const wr_table *t) { return wr_str_eq(t->connector, WR_STR("upsert-kafka")) || wr_str_eq(t->connector, WR_STR("upsert-log")); }
bool pl_is_queue(const wr_table *t) { return is_upsert_queue(t) || wr_str_eq(t->connector, WR_STR("kafka")) || wr_str_eq(t->connector, WR_STR("log")); }

/* ---- the place ---- */

static wr_str place_of(const wr_table *t, wr_arena *arena) {
    static const char *const keys[] = {"url", "path", "topic", "topic-pattern", "subject", "stream", "table-name", "table"};
    wr_str  connector = t->connector;
    if (is_upsert_queue(t)) connector.ptr += 7, connector.len -= 7;
    wr_sbuf out = {0};
    wr_sbuf_add_str(&out, connector);
    for (size_t i = 0; i < WR_COUNT_OF(keys); i++) {
        wr_str value = wr_table_option_get(t, keys[i]);
        if (!value.ptr) continue;
        const char *query = memchr(value.ptr, '?', value.len); /* a password may stand behind it */
        if (query && !strcmp(keys[i], "url")) value.len = (size_t)(query - value.ptr);
        wr_sbuf_printf(&out, " %.*s", WR_FMT(value));
    }
    wr_str place = wr_str_dup(arena, wr_sbuf_str(&out));
    wr_sbuf_free(&out);
    return place;
}

/* ---- event time ---- */

/* t - INTERVAL '5' SECOND, as written; -1: another form. */
static int64_t delay_of_ast(const wr_ast_expr *e) {
    if (!e) return -1;
    if (e->kind == WR_AST_COLUMN) return 0;
    if (e->kind != WR_AST_BINARY || e->binary.op != WR_AST_SUB || e->binary.right->kind != WR_AST_LITERAL || e->binary.right->lit.kind != WR_LIT_INTERVAL) return -1;
    const wr_ast_expr *i = e->binary.right;
    char               text[40], *end;
    snprintf(text, sizeof text, "%.*s", (int)WR_MIN(i->lit.text.len, sizeof text - 1), i->lit.text.ptr);
    double  n = strtod(text, &end);
    int64_t unit = i->lit.unit_from == WR_UNIT_SECOND ? 1000000 : i->lit.unit_from == WR_UNIT_MINUTE ? 60000000 : i->lit.unit_from == WR_UNIT_HOUR ? INT64_C(3600000000) : i->lit.unit_from == WR_UNIT_DAY ? INT64_C(86400000000) : 0;
    return *end || !unit || i->lit.unit_to != WR_UNIT_NONE || i->lit.negative ? -1 : (int64_t)(n * (double)unit + 0.5);
}

static int64_t delay_of(const wr_expr *watermark) {
    if (!watermark) return -1;
    if (watermark->kind == WR_E_COL) return 0;
    if (!wr_expr_is_call(watermark, "-")) return -1;
    const wr_expr *d = watermark->args[1];
    return d->kind == WR_E_CONST && !d->value.null && d->type.id == WR_T_INTERVAL_DS ? d->value.i : -1;
}

static void event_time_of(const wr_pnode *sink, const wr_lineage *lineage, wr_contract *c) {
    const wr_table *t = sink->sink.table;
    const wr_pnode *in = sink->inputs[0].node, *source;
    uint32_t        decoded;
    wr_str          given = wr_table_option_get(t, "contract.event-time");
    if (given.ptr) c->event_time = wr_str_trim(given);
    else if (t->watermark_column >= 0) c->event_time = t->columns[t->watermark_column].name, c->lateness_us = delay_of_ast(t->watermark);
    else if (in->rowtime >= 0 && (uint32_t)in->rowtime < sink->sink.write_schema.n) c->event_time = sink->sink.write_schema.fields[in->rowtime].name;
    /* As late as they came in, where nothing waits on the way. */
    if (c->lateness_us >= 0 || given.ptr || in->rowtime < 0 || wr_lineage_order(lineage, sink).order != WR_ORDER_PARTITION) return;
    if (wr_lineage_same(lineage, in, (uint32_t)in->rowtime, &source, &decoded)) c->lateness_us = delay_of(source->source.watermark);
}

/* ---- promises ---- */

static bool option_is(const wr_table *t, const char *key, const char *value) { return wr_str_ieq(wr_str_trim(wr_table_option_get(t, key)), wr_str_of(value)); }

/* A queue spreads its messages over partitions: what stays in order there is what has one key. */
static void order_in_queue(const wr_table *t, wr_arena *arena, wr_contract *c) {
    wr_str   keys = wr_table_option_get(t, "key.fields");
    bool     upsert = is_upsert_queue(t);
    wr_str  *names = wr_new_n(arena, wr_str, t->n_key + keys.len + 1);
    uint32_t n = 0, missing = 0;
    if (!pl_is_queue(t) || option_is(t, "sink.partitioner", "fixed") || option_is(t, "log.partitions", "1")) return; /* all to one */
    for (uint32_t i = 0; upsert && i < t->n_key; i++) names[n++] = t->columns[t->key[i]].name;
    for (wr_str name; !upsert && keys.ptr && wr_str_next(&keys, ';', &name);) names[n++] = name;
    for (uint32_t i = 0; i < c->n_order; i++) {
        bool found = false;
        for (uint32_t k = 0; k < n; k++) found |= wr_str_eq(names[k], c->order_key[i]);
        missing += !found;
    }
    bool by_key = n && (c->order == WR_ORDER_ALL || (c->order == WR_ORDER_KEY && !missing));
    if (by_key) c->order = WR_ORDER_KEY, c->n_order = n, c->order_key = names;
    else if (!n || c->order == WR_ORDER_KEY) c->order = WR_ORDER_NONE, c->n_order = 0;
}

static void order_of(const wr_pnode *sink, const wr_lineage *lineage, wr_arena *arena, wr_contract *c) {
    wr_arrival a = wr_lineage_order(lineage, sink);
    c->order = a.order;
    c->order_key = wr_new_n(arena, wr_str, a.n_key + 1);
    for (uint32_t i = 0; i < a.n_key; i++) {
        if (a.key[i] >= sink->sink.write_schema.n) c->order = WR_ORDER_NONE;
        else c->order_key[c->n_order++] = sink->sink.write_schema.fields[a.key[i]].name;
    }
    if (c->order == WR_ORDER_NONE) c->n_order = 0;
    order_in_queue(sink->sink.table, arena, c);
}

static int changes_of(const wr_pnode *sink) {
    if (sink->inputs[0].node->changes == WR_CHANGES_APPEND) return WR_CHANGES_APPEND;
    const wr_connector_ref *c = sink->sink.connector;
    return c && c->sink_takes && c->sink_takes(sink->sink.table) == 1 ? WR_CHANGES_UPSERT : WR_CHANGES_RETRACT;
}

static int delivery_of(const wr_pnode *sink) {
    wr_sbuf why = {0};
    const char *said = wr_plan_guarantee(sink, &why);
    wr_sbuf_free(&why);
    wr_str text = wr_str_of(said);
    return wr_str_starts(text, WR_STR("exactly once in ")) ? 1 : wr_str_starts(text, WR_STR("exactly once")) ? 2 : 0; /* that rows are shed is a matter of completeness */
}

static wr_span option_at(const wr_table *t, const char *key) {
    for (uint32_t i = 0; i < t->n_options; i++)
        if (wr_str_eq(t->options[i].key, wr_str_of(key))) return t->options[i].at;
    return t->at;
}

/* More than the plan proves cannot be promised. */
static void check_order(const wr_table *t, const wr_contract *proved, wr_contract *c, wr_diags *diags) {
    wr_contract_points points = {0};
    wr_arena          *arena = wr_arena_new(NULL);
    wr_contract        want = {.needs = true, .lateness_us = -1, .changes = -1, .delivery = c->delivery, .freshness_us = -1, .completeness = -1, .retention_us = -1, .order = c->order, .n_order = c->n_order, .order_key = c->order_key};
    wr_contract_breaks(proved, &want, arena, &points);
    for (uint32_t i = 0; i < points.n; i++) {
        const char *key = strcmp(points.at[i].what, "order") ? "contract.delivery" : "contract.order";
        wr_diags_add(diags, WR_SEV_ERROR, "WR348", option_at(t, key), "table '%.*s': '%s' promises more than the job holds", WR_FMT(t->name), key);
        wr_diags_detail(diags, "%.*s", WR_FMT(points.at[i].said));
        wr_diags_hint(diags, "without the option the contract has what the plan proves");
    }
    wr_arena_free(arena);
}

/* May this node leave rows out for what they are, not for what the query says? *why. */
static bool leaves_out(const wr_pnode *n, wr_sbuf *why) {
    if (n->kind == WR_P_SOURCE) {
        const wr_table *t = n->source.table;
        wr_str          policy = wr_str_trim(wr_table_option_get(t, "on-error"));
        if (policy.len && !wr_str_ieq(policy, WR_STR("fail"))) wr_sbuf_printf(why, "bad records of '%.*s' are left out ('on-error' = '%.*s')", WR_FMT(t->name), WR_FMT(policy));
        else if (pl_sheds(n).len) wr_sbuf_printf(why, "rows of '%.*s' are left out when more comes than can be worked on ('overload.policy' = '%.*s')", WR_FMT(t->name), WR_FMT(pl_sheds(n)));
        else if (n->source.late_letters) wr_sbuf_printf(why, "late rows of '%.*s' become dead letters ('watermark.late')", WR_FMT(t->name));
        else if (n->source.future_guard_us) wr_sbuf_printf(why, "rows of '%.*s' dated far ahead are left out ('watermark.future-guard')", WR_FMT(t->name));
        return why->len != 0;
    }
    bool waits = n->kind == WR_P_WINDOW_AGG || n->kind == WR_P_INTERVAL_JOIN || n->kind == WR_P_WINDOW_JOIN || n->kind == WR_P_MATCH || n->kind == WR_P_ASSIGN || n->kind == WR_P_TIME_SORT || (n->kind == WR_P_OVER && n->over.time_col >= 0);
    bool clock = (n->kind == WR_P_WINDOW_AGG && n->window_agg.window.proctime) || (n->kind == WR_P_INTERVAL_JOIN && n->interval_join.proctime);
    if (waits && !clock) wr_sbuf_printf(why, "rows that come behind the watermark are left out at %u:%u (%s)", n->at.line, n->at.col, wr_pnode_kind_name(n->kind));
    return why->len != 0;
}

/* A log forgets by itself. */
static void check_retention(const wr_table *t, wr_contract *c, wr_diags *diags) {
    int64_t kept = -1;
    if (!pl_is_queue(t) || !wr_parse_duration(wr_str_trim(wr_table_option_get(t, "log.retention")), &kept)) return;
    if (c->retention_us > kept) {
        wr_diags_add(diags, WR_SEV_ERROR, "WR348", option_at(t, "contract.retention"), "table '%.*s': 'contract.retention' promises more than 'log.retention' keeps", WR_FMT(c->table));
        wr_diags_hint(diags, "raise 'log.retention', or promise less");
    } else if (c->retention_us < 0) c->retention_us = kept;
}

static void check_completeness(const wr_job_plan *job, const wr_pnode *sink, const wr_contract *c, wr_diags *diags) {
    wr_sbuf why = {0};
    bool   *on_way = wr_calloc(job->nodes.n + 1, sizeof *on_way); /* inputs come first in the plan */
    on_way[sink->index] = c->completeness >= 100;
    for (uint32_t i = sink->index + 1; i-- > 0 && !why.len;) {
        const wr_pnode *n = job->nodes.at[i];
        if (!on_way[i] || leaves_out(n, &why)) continue;
        for (uint32_t k = 0; k < n->n_inputs; k++) on_way[n->inputs[k].node->index] = true;
        for (uint32_t k = 0; k < n->n_union; k++) on_way[n->union_inputs[k].node->index] = true;
    }
    if (why.len) {
        wr_diags_add(diags, WR_SEV_ERROR, "WR348", option_at(sink->sink.table, "contract.completeness"), "table '%.*s': 'contract.completeness' promises more than the job holds", WR_FMT(c->table));
        wr_diags_detail(diags, "%s", why.at);
        wr_diags_hint(diags, "promise less than 100 %%; the ledger of a run says how many there are");
    }
    wr_free(on_way);
    wr_sbuf_free(&why);
}

static void promise_of(const wr_job_plan *job, const wr_pnode *sink, const wr_lineage *lineage, wr_str name, wr_str file, wr_arena *arena, wr_diags *diags, wr_contract *c) {
    const wr_table  *t = sink->sink.table;
    const wr_schema *s = &sink->sink.write_schema;
    *c = (wr_contract){.table = t->name, .publisher = name, .file = file, .at = sink->at, .place = place_of(t, arena), .lateness_us = -1, .changes = changes_of(sink), .delivery = delivery_of(sink), .freshness_us = -1,
                       .completeness = -1, .retention_us = -1};
    c->columns = wr_new_n(arena, wr_contract_column, s->n + 1);
    for (uint32_t i = 0; i < s->n; i++) {
        bool stored = true;
        for (uint32_t k = 0; k < t->n_columns; k++)
            if (wr_str_eq(t->columns[k].name, s->fields[i].name)) stored = t->columns[k].kind == WR_COLUMN_PHYSICAL;
        if (!stored) continue;
        wr_sbuf from = {0};
        wr_lineage_text(lineage, sink->inputs[0].node, i, &from);
        c->columns[c->n++] = (wr_contract_column){s->fields[i].name, s->fields[i].type, wr_str_dup(arena, wr_sbuf_str(&from))};
        wr_sbuf_free(&from);
    }
    c->key = wr_new_n(arena, wr_str, t->n_key + 1);
    for (uint32_t i = 0; i < t->n_key; i++) c->key[c->n_key++] = t->columns[t->key[i]].name;
    event_time_of(sink, lineage, c);
    order_of(sink, lineage, arena, c);
    wr_contract proved = *c;
    wr_contract_options(t, arena, diags, c);
    check_order(t, &proved, c, diags);
    check_completeness(job, sink, c, diags);
    check_retention(t, c, diags);
}

/* Several INSERTs into one table: what holds for all of them. What one of them does to a key may come before or after what another does. */
static void join_promises(wr_contract *a, const wr_contract *b, wr_arena *arena) {
    for (uint32_t i = 0; i < a->n && i < b->n; i++) {
        wr_sbuf from = {0};
        wr_sbuf_printf(&from, "%.*s%s%.*s", WR_FMT(a->columns[i].from), a->columns[i].from.len && b->columns[i].from.len ? ", " : "", WR_FMT(b->columns[i].from));
        if (!wr_str_eq(a->columns[i].from, b->columns[i].from)) a->columns[i].from = wr_str_dup(arena, wr_sbuf_str(&from));
        wr_sbuf_free(&from);
    }
    a->changes = WR_MAX(a->changes, b->changes);
    a->delivery = WR_MIN(a->delivery, b->delivery);
    if (a->order != WR_ORDER_PARTITION || b->order != WR_ORDER_PARTITION) a->order = WR_ORDER_NONE, a->n_order = 0;
    if (!wr_str_eq(a->event_time, b->event_time)) a->event_time = WR_STR("");
    a->lateness_us = a->event_time.len && a->lateness_us >= 0 && b->lateness_us >= 0 ? WR_MAX(a->lateness_us, b->lateness_us) : -1;
}

static wr_contract *same_table(wr_contracts *all, wr_str table) {
    for (uint32_t i = 0; i < all->n; i++)
        if (wr_str_eq(all->at[i].table, table)) return &all->at[i];
    return NULL;
}

/* ---- needs ---- */

static bool has_column(const wr_contract *c, wr_str name) {
    for (uint32_t i = 0; i < c->n; i++)
        if (wr_str_eq(c->columns[i].name, name)) return true;
    return false;
}

static void need_columns(const wr_p_source *s, wr_arena *arena, wr_contract *c) {
    wr_contract_column *all = wr_new_n(arena, wr_contract_column, c->n + s->n_physical + 1);
    if (c->n) memcpy(all, c->columns, sizeof *all * c->n);
    c->columns = all;
    for (uint32_t i = 0; i < s->n_physical; i++)
        if (s->needed[i] && !has_column(c, s->decoded.fields[i].name)) all[c->n++] = (wr_contract_column){s->decoded.fields[i].name, s->decoded.fields[i].type, WR_STR("")};
}

static void need_of(const wr_pnode *n, const wr_p_source *s, wr_str reader, wr_str file, wr_arena *arena, wr_diags *diags, wr_contract *c) {
    const wr_table *t = s->table;
    bool            source = n->kind == WR_P_SOURCE, append = source && n->changes == WR_CHANGES_APPEND;
    *c = (wr_contract){.needs = true, .table = t->name, .party = reader, .file = file, .at = t->at, .place = place_of(t, arena), .lateness_us = -1, .changes = append ? WR_CHANGES_APPEND : -1, .delivery = -1,
                       .freshness_us = -1, .completeness = -1, .retention_us = -1};
    c->key = wr_new_n(arena, wr_str, t->n_key + 1);
    for (uint32_t i = 0; i < t->n_key; i++) c->key[c->n_key++] = t->columns[t->key[i]].name;
    if (source && t->watermark_column >= 0 && t->columns[t->watermark_column].kind == WR_COLUMN_PHYSICAL) {
        c->event_time = t->columns[t->watermark_column].name;
        c->lateness_us = delay_of(s->watermark);
    }
    if (source && !append) c->order = WR_ORDER_KEY, c->order_key = c->key, c->n_order = c->n_key; /* which change of a key is the last one? */
    wr_contract_options(t, arena, diags, c);
}

void wr_contracts_of(const wr_job_plan *job, wr_str name, wr_str file, wr_arena *arena, wr_diags *diags, wr_contracts *promises, wr_contracts *needs) {
    wr_lineage *lineage = wr_lineage_new(job);
    for (uint32_t i = 0; i < job->nodes.n; i++) {
        const wr_pnode    *n = job->nodes.at[i];
        const wr_p_source *s = n->kind == WR_P_SOURCE ? &n->source : n->kind == WR_P_LOOKUP_JOIN ? &n->lookup.from : NULL;
        wr_contract        c;
        if (n->kind == WR_P_SINK && !n->sink.is_result) {
            promise_of(job, n, lineage, name, file, arena, diags, &c);
            wr_contract *other = same_table(promises, c.table);
            if (other) join_promises(other, &c, arena);
            else wr_arr_apush(arena, promises, c);
        }
        if (!s) continue;
        need_of(n, s, name, file, arena, diags, &c);
        wr_contract *same = NULL; /* read twice, or by two jobs of one script */
        for (uint32_t k = 0; k < needs->n; k++)
            if (wr_str_eq(needs->at[k].table, c.table) && wr_str_eq(needs->at[k].party, c.party) && !same) same = &needs->at[k];
        if (!same) {
            wr_arr_apush(arena, needs, c);
            same = &needs->at[needs->n - 1];
        }
        if (c.changes >= 0) same->changes = c.changes;
        need_columns(s, arena, same);
    }
    wr_lineage_free(lineage);
}
