/* plan/view.c: CREATE MATERIALIZED VIEW: its options, its key, and the node at the end of its query's path.
 *
 * Key        'key' = 'a, b' as a PRIMARY KEY of a sink would say it; else what the query is known to be updated by; else there is none, and equal rows are counted.
 * Bound      rows go by event time ('retention'), or there is one a key, or the input ends; else the view is refused as any state that grows for ever is.  */
#include "plan/physical.h"
#include "state/versions.h"
#include <stdio.h>

static const char *const OPTIONS[] = {"key", "retention", "retention.column"};

static wr_span option_at(const wr_table *t, const char *key) {
    for (uint32_t i = 0; i < t->n_options; i++)
        if (wr_str_eq(t->options[i].key, wr_str_of(key))) return t->options[i].at;
    return t->at;
}

bool pl_check_view_options(pl *p, const wr_table *t) {
    bool   ok = true, promised = false;
    wr_str names[WR_COUNT_OF(OPTIONS)];
    for (size_t i = 0; i < WR_COUNT_OF(OPTIONS); i++) names[i] = wr_str_of(OPTIONS[i]);
    for (uint32_t i = 0; i < t->n_options; i++) {
        bool known = false;
        for (size_t k = 0; k < WR_COUNT_OF(OPTIONS); k++) known |= wr_str_eq(t->options[i].key, names[k]);
        if (known) continue;
        if (wr_str_starts(t->options[i].key, WR_STR("slo."))) { /* what is promised of it */
            promised = true;
            continue;
        }
        int near = wr_nearest(t->options[i].key, names, WR_COUNT_OF(OPTIONS));
        pl_error(p, "42616", t->options[i].at, "a materialized view has no option '%.*s'", WR_FMT(t->options[i].key));
        if (near >= 0) wr_diags_hint(p->diags, "did you mean '%s'?", OPTIONS[near]);
        else wr_diags_hint(p->diags, "there are 'key', 'retention', 'retention.column' and 'slo.*'");
        ok = false;
    }
    if (promised && p->ctx->check_options) ok = p->ctx->check_options(t, false, p->diags) && ok;
    return ok;
}

static int find_column(pl *p, const wr_table *t, const wr_schema *s, const char *option, wr_str name) {
    int at = wr_schema_find(s, name);
    if (at >= 0) return at;
    wr_str *names = wr_new_n(p->arena, wr_str, s->n + 1);
    for (uint32_t k = 0; k < s->n; k++) names[k] = s->fields[k].name;
    int near = wr_nearest(name, names, s->n);
    pl_error(p, "42703", option_at(t, option), "'%s': view '%.*s' has no column '%.*s'", option, WR_FMT(t->name), WR_FMT(name));
    if (near >= 0) wr_diags_hint(p->diags, "did you mean '%.*s'?", WR_FMT(names[near]));
    return -1;
}

static bool read_key(pl *p, const wr_table *t, const wr_schema *s, uint32_t **key, uint32_t *n_key) {
    wr_str list = wr_table_option_get(t, "key"), name;
    *n_key = 0;
    *key = wr_new_n(p->arena, uint32_t, s->n + 1);
    while (wr_str_next(&list, ',', &name)) {
        int at = find_column(p, t, s, "key", name);
        if (at < 0) return false;
        for (uint32_t i = 0; i < *n_key; i++)
            if ((*key)[i] == (uint32_t)at) return pl_error(p, "42701", option_at(t, "key"), "'key': column '%.*s' is in the list twice", WR_FMT(name)), false;
        if (!pl_can_order(p, s->fields[at].type, option_at(t, "key"))) return false;
        (*key)[(*n_key)++] = (uint32_t)at;
    }
    return true;
}

static bool is_time(wr_type t) { return (t.id == WR_T_TIMESTAMP || t.id == WR_T_TIMESTAMP_LTZ) && t.prec <= 6; }

static bool read_retention(pl *p, const wr_table *t, const wr_pnode *in, wr_p_view *v) {
    wr_str text = wr_table_option_get(t, "retention"), column = wr_table_option_get(t, "retention.column");
    v->time_col = -1;
    if (!text.ptr && column.ptr) return pl_error(p, "22023", option_at(t, "retention.column"), "'retention.column' says nothing without 'retention'"), false;
    if (!text.ptr) return true;
    if (!wr_parse_duration(text, &v->retention_us) || v->retention_us <= 0) return pl_error(p, "22023", option_at(t, "retention"), "'retention' = '%.*s': expected a duration such as '1 d'", WR_FMT(text)), false;
    if (column.ptr) v->time_col = find_column(p, t, &in->schema, "retention.column", column);
    else if (in->rowtime >= 0) v->time_col = in->rowtime;
    else v->time_col = wr_schema_find(&in->schema, WR_STR("window_end"));
    if (v->time_col >= 0 && is_time(in->schema.fields[v->time_col].type)) return true;
    if (column.ptr && v->time_col < 0) return false;
    if (column.ptr) return pl_error(p, "42804", option_at(t, "retention.column"), "'retention.column': '%.*s' is not a TIMESTAMP", WR_FMT(column)), false;
    pl_error(p, "42703", option_at(t, "retention"), "'retention': view '%.*s' has no event-time column", WR_FMT(t->name));
    wr_diags_hint(p->diags, "name one: 'retention.column' = 'ts'");
    return false;
}

static bool same_columns(const uint32_t *a, uint32_t n_a, const uint32_t *b, uint32_t n_b) {
    for (uint32_t i = 0; i < n_a; i++) {
        bool found = false;
        for (uint32_t k = 0; k < n_b; k++) found |= a[i] == b[k];
        if (!found) return false;
    }
    return n_a == n_b;
}

/* Is there never more than one row of a key, not even for a moment? Where rows were exchanged by other columns on their way, the row after a change may come before the one that it
 * replaces is taken back. The operators named here put that right. */
static bool is_firm(phys *h, const wr_pnode *n) {
    if (!ph_info(h, n)->updating) return true;
    if (!ph_by_key(h, n)) return false;
    switch (n->kind) {
    case WR_P_GROUP_AGG: case WR_P_WINDOW_AGG: case WR_P_NORMALIZE: case WR_P_DEDUP: return true;
    case WR_P_TOP_N: return n->top_n.rank == WR_RANK_ROW_NUMBER && n->top_n.last == 1 && same_columns(n->upsert_key, n->n_upsert_key, n->top_n.keys, n->top_n.n_keys);
    case WR_P_CALC: case WR_P_WINDOW_TVF: return is_firm(h, n->inputs[0].node);
    default: return false;
    }
}

void ph_view(phys *h, const lsink *s, wr_pnode *in) {
    pl       *p = h->p;
    wr_p_view v = {.table = s->table};
    uint32_t *key, n_key, *all = wr_new_n(p->arena, uint32_t, in->schema.n + 1);
    if (!read_key(p, s->table, &in->schema, &key, &n_key) || !read_retention(p, s->table, in, &v)) return;
    const pinfo *f = ph_info(h, in);
    bool         known = f->has_key && in->n_upsert_key, same = known && (!n_key || same_columns(in->upsert_key, in->n_upsert_key, key, n_key));
    if (!n_key && known) key = (uint32_t *)(uintptr_t)in->upsert_key, n_key = in->n_upsert_key;
    if (n_key && f->updating && !(same && is_firm(h, in))) in = ph_normalize(h, in, key, n_key, true, s->at);
    f = ph_info(h, in);
    for (uint32_t i = 0; i < in->schema.n; i++) all[i] = i;
    v.n_key = n_key, v.key = key;
    const uint32_t *by = n_key ? key : all;
    uint32_t        n_by = n_key ? n_key : in->schema.n;
    if (f->dist == DIST_HASH && same_columns(f->dist_cols, f->n_dist, by, n_by)) by = f->dist_cols;
    wr_sbuf text = {0};
    wr_sql_format_query(s->table->query, &text);
    v.query = wr_str_dup(p->arena, wr_sbuf_str(&text));
    wr_sbuf_free(&text);
    wr_pnode *n = ph_new(h, WR_P_VIEW, in->schema, s->at);
    n->n_inputs = 1;
    n->single = f->dist == DIST_SINGLE;
    if (n->single) ph_input(h, &n->inputs[0], in, NULL, 0), n->inputs[0].n_keys = n_by, n->inputs[0].keys = by;
    else ph_input(h, &n->inputs[0], in, by, n_by);
    n->view = v;
    n->n_upsert_key = n_key, n->upsert_key = key;
    pinfo i = *f;
    i.from = NULL;
    i.needs_before = !n_key;
    ph_put(h, n, i);
}

void ph_view_bounds(phys *h, const wr_pnode *n) {
    pl          *p = h->p;
    const pinfo *f = ph_info(h, n->inputs[0].node);
    if (n->view.time_col >= 0 || f->bounded || f->by_keys || (f->updating && f->has_key)) return;
    if (wr_table_option_get(n->view.table, "key").ptr) return;
    double  r = f->rate > 0 ? f->rate : 1000, bytes = n->bill.key_bytes > 0 ? n->bill.key_bytes : wr_versions_row_bytes(8, pl_row_bytes(&n->schema));
    wr_sbuf detail = {0};
    wr_sbuf_printf(&detail, "%.0f rows/s x %.0f B = ", r, bytes);
    wr_text_size((int64_t)(r * bytes * 86400), &detail);
    wr_sbuf_addz(&detail, f->rate_declared ? " a day" : " a day (rate assumed: 1,000 rows/s; declare 'stats.rows-per-second' on the table)");
    pl_error(p, "WR101", n->at, "nothing bounds the memory of materialized view '%.*s': it keeps every row for ever", WR_FMT(n->view.table->name));
    wr_diags_detail(p->diags, "%.*s", WR_FMT(wr_sbuf_str(&detail)));
    wr_diags_hint(p->diags, "WITH ('retention' = '1 d') before AS forgets rows by event time; WITH ('key' = 'id') keeps the last row of each; or aggregate; or accept the growth: "
                            "SET 'state.unbounded' = 'accepted'");
    wr_sbuf_free(&detail);
}
