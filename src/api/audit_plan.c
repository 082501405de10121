/* api/audit_plan.c: what a plan says about an audit: which source column a column is, what is another value each time, how far before and behind a period
 * its rows lie.
 *
 * Idea       one pass from the sources on for columns, one from an output back for times. Both sides of a join's equality are the same column.
 * Invariant  what is not known: no source column; everything is read.                                              */
#include "api/audit_parts.h"
#include <stdio.h>
#include <stdlib.h>

typedef struct looker { const wr_job_plan *plan; wr_arena *arena; audit_node *nodes; } looker;

static audit_col *col_of(const looker *x, const wr_pnode *n, uint32_t col) { return &x->nodes[n->index].cols[col]; }

/* ---- columns ---- */
static void pass(const looker *x, const wr_pnode *n, uint32_t out, const wr_pnode *in, uint32_t col) {
    if (out < n->schema.n && col < in->schema.n) *col_of(x, n, out) = *col_of(x, in, col);
}

static void add_ids(const looker *x, audit_col *to, const audit_col *from) {
    uint32_t *ids = wr_new_n(x->arena, uint32_t, to->n_ids + from->n_ids + 1);
    for (uint32_t i = 0; i < to->n_ids; i++) ids[i] = to->ids[i];
    for (uint32_t i = 0; i < from->n_ids; i++) ids[to->n_ids + i] = from->ids[i];
    to->ids = ids, to->n_ids += from->n_ids;
}

static const char *of_expr(const looker *x, const wr_expr *e, const wr_schema *schema, wr_span at) {
    wr_volatility v = e ? wr_expr_volatility(e) : WR_VOL_PURE;
    if (v == WR_VOL_PURE) return NULL;
    wr_sbuf text = {0};
    wr_expr_text(e, schema, &text);
    const char *why = wr_arena_printf(x->arena, "line %u: %.*s %s", at.line, (int)WR_MIN(text.len, (size_t)120), text.at, v == WR_VOL_RANDOM ? "is random" : "reads the clock");
    wr_sbuf_free(&text);
    return why;
}

/* A volatile part of it, or a column that is unsteady itself. */
static const char *unsteady_expr(const looker *x, const wr_pnode *n, const wr_expr *e, const wr_pnode *in) {
    const char *why = of_expr(x, e, &in->schema, n->at);
    uint64_t   *read = wr_arena_calloc(x->arena, sizeof *read * (in->schema.n / 64 + 1));
    if (e) wr_expr_columns(e, read);
    for (uint32_t c = 0; c < in->schema.n && !why; c++)
        if (read[c >> 6] >> (c & 63) & 1) why = col_of(x, in, c)->unsteady;
    return why;
}

static void look_calc(const looker *x, const wr_pnode *n, const wr_calc_opts *o) {
    const wr_pnode *in = n->inputs[0].node;
    audit_node     *me = &x->nodes[n->index];
    if (!me->unsteady && o->filter) me->unsteady = unsteady_expr(x, n, o->filter, in);
    for (uint32_t i = 0; i < n->schema.n; i++) {
        if (o->kinds) {
            if (!o->kinds->to || i) pass(x, n, i, in, o->kinds->to ? i - 1 : i + (i >= o->kinds->col));
            continue;
        }
        const wr_expr *e = o->pass ? NULL : o->exprs[i];
        while (e && wr_expr_is_call(e, "CAST")) e = e->args[0];
        if (o->pass) pass(x, n, i, in, i);
        else if (e->kind == WR_E_COL) {
            pass(x, n, i, in, e->col);
            wr_tid to = o->exprs[i]->type.id;
            bool   same = to == e->type.id || ((to == WR_T_TIMESTAMP || to == WR_T_TIMESTAMP_LTZ) && (e->type.id == WR_T_TIMESTAMP || e->type.id == WR_T_TIMESTAMP_LTZ));
            if (!same) me->cols[i].event_time = false, me->cols[i].window = AUDIT_NO_WINDOW; /* of a DATE: another one */
        } else me->cols[i].unsteady = unsteady_expr(x, n, o->exprs[i], in);
    }
}

static void look_source(const looker *x, const wr_pnode *n) {
    audit_node *me = &x->nodes[n->index];
    for (uint32_t i = 0; i < n->schema.n; i++) {
        uint32_t *id = wr_new(x->arena, uint32_t);
        *id = n->index << 16 | i;
        me->cols[i] = (audit_col){.n_ids = 1, .ids = id, .event_time = n->kind == WR_P_SOURCE && (int32_t)i == n->source.rowtime_out};
        if (n->kind == WR_P_SOURCE && i < n->source.n_exprs) me->cols[i].unsteady = of_expr(x, n->source.exprs[i], &n->source.decoded, n->at);
    }
}

static void window_col(const looker *x, const wr_pnode *n, uint32_t out, const wr_window *w, audit_window which) {
    if (out < n->schema.n) *col_of(x, n, out) = (audit_col){.window = which, .session = w->kind == WR_WINDOW_SESSION, .size_us = w->size_us,
                                                               .least_us = w->kind == WR_WINDOW_CUMULATE ? w->slide_us : w->size_us, .event_time = !w->proctime};
}

static void look_aggregates(const looker *x, const wr_pnode *n, const uint32_t *keys, uint32_t n_keys, const wr_agg *aggs, uint32_t n_aggs) {
    const wr_pnode *in = n->inputs[0].node;
    for (uint32_t k = 0; k < n_keys; k++) pass(x, n, k, in, keys[k]);
    for (uint32_t i = 0; i < n_aggs && n_keys + i < n->schema.n; i++) {
        int32_t from[3] = {aggs[i].arg, aggs[i].arg2, aggs[i].filter};
        for (int k = 0; k < 3; k++)
            if (from[k] >= 0 && (uint32_t)from[k] < in->schema.n && col_of(x, in, (uint32_t)from[k])->unsteady) col_of(x, n, n_keys + i)->unsteady = col_of(x, in, (uint32_t)from[k])->unsteady;
    }
}

static void look_window_agg(const looker *x, const wr_pnode *n) {
    const wr_window_agg_opts *o = &n->window_agg;
    uint32_t out = o->n_keys + o->n_aggs;
    look_aggregates(x, n, o->keys, o->n_keys, o->aggs, o->n_aggs);
    if (o->input_is_windowed) {
        const wr_pnode *in = n->inputs[0].node;
        if (o->out_start) pass(x, n, out++, in, (uint32_t)o->in_start);
        if (o->out_end) pass(x, n, out++, in, (uint32_t)o->in_end);
        if (o->out_time) pass(x, n, out++, in, (uint32_t)o->in_end);
        return;
    }
    if (o->out_start) window_col(x, n, out++, &o->window, AUDIT_WINDOW_START);
    if (o->out_end) window_col(x, n, out++, &o->window, AUDIT_WINDOW_END);
    if (o->out_time) window_col(x, n, out++, &o->window, AUDIT_WINDOW_END);
    if (o->window.proctime) x->nodes[n->index].unsteady = wr_arena_printf(x->arena, "line %u: windows by processing time", n->at.line);
}

static void look_join(const looker *x, const wr_pnode *n, const wr_join_keys *keys, wr_join_kind kind) {
    const wr_pnode *left = n->inputs[0].node, *right = n->inputs[1].node;
    for (uint32_t i = 0; i < n->schema.n; i++) pass(x, n, i, i < left->schema.n ? left : right, i < left->schema.n ? i : i - left->schema.n);
    for (uint32_t k = 0; k < keys->n; k++) {
        uint32_t l = keys->left[k], r = left->schema.n + keys->right[k];
        add_ids(x, col_of(x, n, l), col_of(x, right, keys->right[k]));
        if (r < n->schema.n && kind != WR_JOIN_SEMI && kind != WR_JOIN_ANTI) add_ids(x, col_of(x, n, r), col_of(x, left, l));
    }
}

static void look_lookup(const looker *x, const wr_pnode *n) {
    const wr_pnode *in = n->inputs[0].node;
    const char     *why = wr_arena_printf(x->arena, "line %u: table %.*s was asked when the row came, and may have changed", n->at.line, WR_FMT(n->lookup.from.table->name));
    for (uint32_t i = 0; i < n->schema.n; i++) {
        if (i < in->schema.n) pass(x, n, i, in, i);
        else col_of(x, n, i)->unsteady = why;
    }
    if (n->lookup.opts.kind == WR_JOIN_INNER && !x->nodes[n->index].unsteady) x->nodes[n->index].unsteady = why;
}

static const char *ttl_text(const looker *x, const wr_pnode *n, int64_t ttl_us, bool event_time) {
    wr_sbuf text = {0};
    wr_text_duration(ttl_us, &text);
    const char *out = wr_arena_printf(x->arena, "line %u: %s forgets what no row touched for %.*s%s", n->at.line, wr_pnode_kind_name(n->kind), WR_FMT(wr_sbuf_str(&text)), event_time ? "" : ", by the wall clock");
    wr_sbuf_free(&text);
    return out;
}

/* All columns of the first input; what the node adds stays as it is. */
static void pass_all(const looker *x, const wr_pnode *n) {
    for (uint32_t i = 0; i < n->schema.n; i++) pass(x, n, i, n->inputs[0].node, i);
}

static void look_rows(const looker *x, const wr_pnode *n) {
    switch (n->kind) {
    case WR_P_SOURCE: case WR_P_VALUES: look_source(x, n); return;
    case WR_P_CALC: look_calc(x, n, &n->calc); return;
    case WR_P_KEEP: look_calc(x, n, &n->keep.calc); return;
    case WR_P_WINDOW_AGG: look_window_agg(x, n); return;
    case WR_P_GROUP_AGG: look_aggregates(x, n, n->group_agg.keys, n->group_agg.n_keys, n->group_agg.aggs, n->group_agg.n_aggs); return;
    case WR_P_INTERVAL_JOIN: look_join(x, n, &n->interval_join.keys, n->interval_join.kind); return;
    case WR_P_TEMPORAL_JOIN: look_join(x, n, &n->temporal_join.keys, n->temporal_join.kind); return;
    case WR_P_JOIN: look_join(x, n, &n->join.keys, n->join.kind); return;
    case WR_P_WINDOW_JOIN: look_join(x, n, &n->window_join.keys, n->window_join.kind); return;
    case WR_P_LOOKUP_JOIN: look_lookup(x, n); return;
    case WR_P_WINDOW_TVF: {
        uint32_t at = n->inputs[0].node->schema.n;
        pass_all(x, n);
        window_col(x, n, at, &n->window_tvf, AUDIT_WINDOW_START), window_col(x, n, at + 1, &n->window_tvf, AUDIT_WINDOW_END), window_col(x, n, at + 2, &n->window_tvf, AUDIT_WINDOW_END);
        return;
    }
    case WR_P_MATCH:
        for (uint32_t k = 0; k < n->match.n_keys; k++) pass(x, n, k, n->inputs[0].node, n->match.keys[k]);
        return;
    case WR_P_ASSIGN: { /* partition, order, ..., the time of the round */
        const wr_assign_opts *o = &n->assign;
        for (uint32_t k = 0; k < o->n_keys; k++) {
            pass(x, n, k, n->inputs[0].node, o->side[0].keys[k]);
            add_ids(x, col_of(x, n, k), col_of(x, n->inputs[1].node, o->side[1].keys[k]));
        }
        pass(x, n, o->n_keys, n->inputs[0].node, o->side[0].id);
        col_of(x, n, n->schema.n - 1)->event_time = true;
        return;
    }
    case WR_P_UNNEST:
        for (uint32_t i = 0; i < n->unnest.n_pass; i++) pass(x, n, i, n->inputs[0].node, n->unnest.pass[i]);
        return;
    case WR_P_UNION:
        for (uint32_t i = 0; i < n->schema.n; i++) {
            pass(x, n, i, n->union_inputs[0].node, i);
            for (uint32_t k = 1; k < n->n_union; k++) add_ids(x, col_of(x, n, i), col_of(x, n->union_inputs[k].node, i));
            for (uint32_t k = 1; k < n->n_union; k++)
                if (col_of(x, n->union_inputs[k].node, i)->unsteady) col_of(x, n, i)->unsteady = col_of(x, n->union_inputs[k].node, i)->unsteady;
        }
        return;
    case WR_P_TOP_N: case WR_P_OVER: case WR_P_DEDUP: case WR_P_NORMALIZE: case WR_P_LIMIT: case WR_P_TIME_SORT: case WR_P_SINK: case WR_P_VIEW: case WR_P_LOCAL_AGG: case WR_P_SPREAD:
        pass_all(x, n);
        return;
    }
}

/* What identifies a row of an aggregation still does behind nodes that neither add rows nor mix them with others. */
static void look_keys(const looker *x, const wr_pnode *n) {
    audit_node *me = &x->nodes[n->index];
    uint32_t    keys = n->kind == WR_P_WINDOW_AGG ? n->window_agg.n_keys : n->kind == WR_P_GROUP_AGG ? n->group_agg.n_keys : 0;
    switch (n->kind) {
    case WR_P_CALC: case WR_P_KEEP: case WR_P_SINK: case WR_P_TIME_SORT: case WR_P_LIMIT: case WR_P_DEDUP: case WR_P_NORMALIZE: case WR_P_TOP_N: case WR_P_OVER: return;
    default: break;
    }
    for (uint32_t i = 0; i < n->schema.n; i++) {
        audit_col *c = &me->cols[i];
        c->key_of = c->key_no = 0;
        if (n->kind != WR_P_WINDOW_AGG && n->kind != WR_P_GROUP_AGG) continue;
        if (i < keys) c->key_of = n->index + 1, c->key_no = i + 1;
        if (i >= keys && c->window != AUDIT_NO_WINDOW) c->key_of = n->index + 1, c->key_no = AUDIT_KEY_WINDOW;
    }
}

/* Which rows there are depends on the order of arrival, or on the clock. */
static void look_steadiness(const looker *x, const wr_pnode *n) {
    audit_node *me = &x->nodes[n->index];
    const char *arrival = NULL;
    wr_str      overload = n->kind == WR_P_SOURCE ? wr_table_option_get(n->source.table, "overload.policy") : (wr_str){0};
    int64_t     ttl = 0;
    bool        event_time = false;
    switch (n->kind) {
    case WR_P_LIMIT: arrival = "keeps the rows that arrive first"; break;
    case WR_P_DEDUP:
        if (n->dedup.time_col < 0) arrival = "goes by the order of arrival";
        ttl = n->dedup.ttl_us, event_time = n->dedup.ttl_event_time;
        break;
    case WR_P_INTERVAL_JOIN: if (n->interval_join.proctime) arrival = "goes by processing time"; break;
    case WR_P_OVER:
        if (n->over.time_col < 0) arrival = "goes by the order of arrival";
        ttl = n->over.ttl_us, event_time = n->over.time_col >= 0;
        break;
    case WR_P_GROUP_AGG: ttl = n->group_agg.ttl_us, event_time = n->group_agg.ttl_event_time; break;
    case WR_P_TOP_N: ttl = n->top_n.ttl_us; break;
    case WR_P_JOIN: ttl = WR_MAX(n->join.ttl_us[0], n->join.ttl_us[1]); break;
    case WR_P_MATCH: if (n->match.within_is_ttl) ttl = n->match.within_us, event_time = true; break;
    default: break;
    }
    if (overload.len && !wr_str_ieq(overload, WR_STR("wait")))
        me->sheds = wr_arena_printf(x->arena, "table %.*s leaves rows out under overload ('overload.policy' = '%.*s')", WR_FMT(n->source.table->name), WR_FMT(overload));
    if (arrival && !me->unsteady) me->unsteady = wr_arena_printf(x->arena, "line %u: %s %s", n->at.line, wr_pnode_kind_name(n->kind), arrival);
    if (ttl && !me->forgets) me->forgets = ttl_text(x, n, ttl, event_time);
}

audit_node *audit_plan_look(const wr_job_plan *plan, wr_arena *arena) {
    looker x = {plan, arena, wr_new_n(arena, audit_node, plan->nodes.n + 1)};
    for (uint32_t i = 0; i < plan->nodes.n; i++) {
        const wr_pnode *n = plan->nodes.at[i];
        audit_node     *me = &x.nodes[i];
        *me = (audit_node){.cols = wr_new_n(arena, audit_col, n->schema.n + 1)};
        memset(me->cols, 0, sizeof *me->cols * (n->schema.n + 1));
        for (uint32_t k = 0; k < n->n_inputs + n->n_union; k++) {
            const wr_pnode   *input = k < n->n_inputs ? n->inputs[k].node : n->union_inputs[k - n->n_inputs].node;
            const audit_node *in = &x.nodes[input->index];
            if (in->unsteady && !me->unsteady) me->unsteady = in->unsteady;
            if (in->forgets && !me->forgets) me->forgets = in->forgets;
            if (in->sheds && !me->sheds) me->sheds = in->sheds;
        }
        look_rows(&x, n);
        look_keys(&x, n);
        look_steadiness(&x, n);
    }
    return x.nodes;
}

/* ---- times ---- */
typedef struct reach { int64_t back_us, ahead_us; const char *why; } reach;
static const reach ALL = {WR_TIME_MAX, WR_TIME_MAX, NULL};
static reach all(const char *why) { reach r = ALL; r.why = why; return r; }
static reach both(int64_t us, const char *why) { return (reach){us, us, why}; }

static bool keyed_by_time(const audit_node *nodes, const wr_pnode *in, const uint32_t *keys, uint32_t n) {
    for (uint32_t k = 0; k < n; k++)
        if (keys[k] < in->schema.n && nodes[in->index].cols[keys[k]].event_time) return true;
    return false;
}

static reach of_window(const wr_window *w, bool by_start) {
    if (w->kind != WR_WINDOW_SESSION) return both(w->size_us, "a window");
    if (by_start) return (reach){w->size_us, WR_TIME_MAX, "the gap of a session"};
    return all("a session may have begun at any time before");
}

static reach of_over(const wr_pnode *n) {
    int64_t most = 0;
    for (uint32_t i = 0; i < n->over.n_fns; i++) {
        const wr_over_fn *f = &n->over.fns[i];
        if (f->kind != WR_OVER_AGG || f->frame.rows || f->frame.unbounded) return all("OVER looks back over rows, however old");
        most = WR_MAX(most, f->frame.preceding);
    }
    return (reach){most, 0, "an OVER range"};
}

/* What a node needs of input k beside what is needed of itself. */
static reach reach_of(const audit_node *nodes, const wr_pnode *n, uint32_t k, bool by_start) {
    const wr_pnode *in = n->n_inputs ? n->inputs[0].node : NULL;
    switch (n->kind) {
    case WR_P_WINDOW_TVF: return of_window(&n->window_tvf, by_start);
    case WR_P_WINDOW_AGG: return n->window_agg.input_is_windowed ? both(0, NULL) : of_window(&n->window_agg.window, by_start);
    case WR_P_GROUP_AGG: return keyed_by_time(nodes, in, n->group_agg.keys, n->group_agg.n_keys) ? both(0, NULL) : all("a running aggregate counts from the beginning");
    case WR_P_INTERVAL_JOIN: return both(WR_MAX(llabs(n->interval_join.lower_us), llabs(n->interval_join.upper_us)), "an interval join");
    case WR_P_TEMPORAL_JOIN: return k ? (reach){WR_TIME_MAX, 0, "the version that was valid may be of any age"} : both(0, NULL);
    case WR_P_JOIN: return keyed_by_time(nodes, in, n->join.keys.left, n->join.keys.n) ? both(0, NULL) : all("a join without a bound in time");
    case WR_P_TOP_N: return n->top_n.window_end >= 0 || keyed_by_time(nodes, in, n->top_n.keys, n->top_n.n_keys) ? both(0, NULL) : all("a ranking over all rows");
    case WR_P_DEDUP: return keyed_by_time(nodes, in, n->dedup.keys, n->dedup.n_keys) ? both(0, NULL) : all("the first or last row of a key may be of any age");
    case WR_P_NORMALIZE: return keyed_by_time(nodes, in, n->normalize.keys, n->normalize.n_keys) ? both(0, NULL) : all("the row of a key may be of any age");
    case WR_P_OVER: return keyed_by_time(nodes, in, n->over.keys, n->over.n_keys) ? both(0, NULL) : of_over(n);
    case WR_P_MATCH: return n->match.within_us && !n->match.within_is_ttl ? both(n->match.within_us, "a pattern's WITHIN") : all("a pattern without WITHIN");
    case WR_P_ASSIGN: return all("whom ASSIGN finds free depends on all that it has assigned before");
    case WR_P_LIMIT: return all("LIMIT counts from the first row");
    default: return both(0, NULL);
    }
}

static int64_t more(int64_t a, int64_t b) { return a == WR_TIME_MAX || b == WR_TIME_MAX ? WR_TIME_MAX : a + b; }

void audit_plan_reach(const wr_job_plan *plan, audit_node *nodes, const wr_pnode *sink, int time_col, bool whole, wr_arena *arena) {
    audit_node *own = wr_new_n(arena, audit_node, plan->nodes.n + 1);
    bool        by_start = time_col >= 0 && nodes[sink->index].cols[time_col].window == AUDIT_WINDOW_START;
    memset(own, 0, sizeof *own * (plan->nodes.n + 1));
    own[sink->index] = (audit_node){.reached = true, .back_us = whole ? WR_TIME_MAX : 0, .ahead_us = whole ? WR_TIME_MAX : 0, .why = whole ? WR_STR("the output is compared as a whole") : (wr_str){"", 0}};
    for (uint32_t i = sink->index + 1; i-- > 0;) {
        const wr_pnode *n = plan->nodes.at[i];
        if (!own[i].reached) continue;
        for (uint32_t k = 0; k < n->n_inputs + n->n_union; k++) {
            audit_node *in = &own[(k < n->n_inputs ? n->inputs[k].node : n->union_inputs[k - n->n_inputs].node)->index];
            reach       r = reach_of(nodes, n, k, by_start);
            int64_t     back = more(own[i].back_us, r.back_us), ahead = more(own[i].ahead_us, r.ahead_us);
            wr_str      why = own[i].why;
            if (r.why && (r.back_us || r.ahead_us) && own[i].back_us != WR_TIME_MAX)
                why = wr_str_of(wr_arena_printf(arena, "%.*s%sline %u: %s", WR_FMT(why), why.len ? "; " : "", n->at.line, r.why));
            if (!in->reached || back > in->back_us) in->why = why, in->back_us = back;
            in->ahead_us = in->reached ? WR_MAX(in->ahead_us, ahead) : ahead;
            in->reached = true;
        }
    }
    for (uint32_t i = 0; i < plan->nodes.n; i++) {
        if (!own[i].reached) continue;
        if (!nodes[i].reached || own[i].back_us > nodes[i].back_us) nodes[i].why = own[i].why, nodes[i].back_us = own[i].back_us;
        nodes[i].ahead_us = nodes[i].reached ? WR_MAX(nodes[i].ahead_us, own[i].ahead_us) : own[i].ahead_us;
        nodes[i].reached = true;
    }
}

/* ---- times to live ---- */
enum { TTLS_MAX = 2 };
static uint32_t ttls_of(wr_pnode *n, int64_t **out) {
    switch (n->kind) {
    case WR_P_GROUP_AGG: out[0] = &n->group_agg.ttl_us; return 1;
    case WR_P_TOP_N: out[0] = &n->top_n.ttl_us; return 1;
    case WR_P_DEDUP: out[0] = &n->dedup.ttl_us; return 1;
    case WR_P_OVER: out[0] = &n->over.ttl_us; return 1;
    case WR_P_JOIN: out[0] = &n->join.ttl_us[0], out[1] = &n->join.ttl_us[1]; return 2;
    case WR_P_MATCH: out[0] = &n->match.within_us; return n->match.within_is_ttl;
    default: return 0;
    }
}
bool audit_plan_forgets(const wr_job_plan *plan) {
    int64_t *at[TTLS_MAX];
    for (uint32_t i = 0; i < plan->nodes.n; i++)
        for (uint32_t k = ttls_of(plan->nodes.at[i], at); k-- > 0;)
            if (*at[k]) return true;
    return false;
}
void audit_plan_keep_all(const wr_job_plan *plan, audit_ttls *was) {
    int64_t *at[TTLS_MAX];
    for (uint32_t i = 0; i < plan->nodes.n; i++)
        for (uint32_t k = ttls_of(plan->nodes.at[i], at); k-- > 0;) {
            wr_arr_push(&was->was, *at[k]);
            *at[k] = 0;
        }
}
void audit_plan_restore(const wr_job_plan *plan, audit_ttls *was) {
    int64_t *at[TTLS_MAX];
    uint32_t next = 0;
    for (uint32_t i = 0; i < plan->nodes.n && was->was.n; i++)
        for (uint32_t k = ttls_of(plan->nodes.at[i], at); k-- > 0;) *at[k] = was->was.at[next++];
    wr_arr_free(&was->was);
}
