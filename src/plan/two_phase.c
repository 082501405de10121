/* plan/two_phase.c: hot keys: aggregations in two phases, and DISTINCT aggregates as two levels of grouping.
 *
 * Two phases  where every aggregate can be put together from parts with the same result for every split, a local_agg before the exchange combines
 *             the rows of a batch by key (and pane): a key that many rows have costs its worker one row a batch. Where it cannot, the node says
 *             why (one_phase), and explain shows it. 'table.optimizer.agg-phase-strategy' as in Flink: AUTO, ONE_PHASE, TWO_PHASE.
 * DISTINCT    COUNT(DISTINCT x) by k is COUNT(x) by k over the distinct (k, x): the first level spreads a hot k over all workers and
 *             keeps its values as plain keys. Only where all aggregates are distinct on the same column, without FILTER and TTL.
 * Identity    ids look through the local_agg (physical.c make_id): the stored state is that of the aggregation, in one phase or two. */
#include "plan/physical.h"
#include <stdio.h>

static bool setting_is(phys *h, const char *key, const char *value) { return wr_str_ieq(wr_catalog_get(h->p->ctx->catalog, key), wr_str_of(value)); }

/* Why this aggregation must see every row behind the exchange; NULL: it need not. */
static const char *one_phase_reason(phys *h, const wr_pnode *a) {
    bool             windowed = a->kind == WR_P_WINDOW_AGG;
    const wr_agg    *aggs = windowed ? a->window_agg.aggs : a->group_agg.aggs;
    uint32_t         n = windowed ? a->window_agg.n_aggs : a->group_agg.n_aggs;
    bool             retract = windowed ? a->window_agg.retract_input : a->group_agg.retract_input;
    const wr_schema *in = &a->inputs[0].node->schema;
    if (setting_is(h, "table.optimizer.agg-phase-strategy", "ONE_PHASE")) return "table.optimizer.agg-phase-strategy is ONE_PHASE";
    if (windowed && !a->window_agg.input_is_windowed) {
        const wr_window *w = &a->window_agg.window;
        if (w->kind == WR_WINDOW_SESSION) return "a session's bounds are known only when all its rows have met";
        if (w->proctime) return "a row's window is that of the time at which it arrives";
        if (w->slide_us > w->size_us) return "rows between two windows are counted one by one";
    }
    if (retract && ph_may_take_back_unknown(h, a->inputs[0].node)) return "the source may take back rows that it never sent, which is judged row by row";
    for (uint32_t i = 0; i < n; i++) {
        const char *why = wr_agg_one_phase_reason(&aggs[i], retract);
        if (!why) continue;
        wr_str name = aggs[i].arg >= 0 ? in->fields[aggs[i].arg].name : WR_STR("*");
        return pl_printf(h->p, "%s(%s%.*s): %s", wr_agg_title(&aggs[i]), aggs[i].distinct ? "DISTINCT " : "", WR_FMT(name), why).ptr;
    }
    return NULL;
}

/* Rows of a changelog source reach n through nodes that keep nothing: nobody has checked that what goes had come. */
bool ph_may_take_back_unknown(phys *h, const wr_pnode *n) {
    if (n->kind == WR_P_SOURCE) return ph_info(h, n)->updating;
    if (n->kind == WR_P_CALC && n->calc.kinds) return !n->calc.kinds->to;
    if (n->kind != WR_P_CALC && n->kind != WR_P_WINDOW_TVF && n->kind != WR_P_UNION && n->kind != WR_P_UNNEST && n->kind != WR_P_SPREAD) return false;
    for (uint32_t i = 0; i < n->n_inputs; i++)
        if (ph_may_take_back_unknown(h, n->inputs[i].node)) return true;
    for (uint32_t i = 0; i < n->n_union; i++)
        if (ph_may_take_back_unknown(h, n->union_inputs[i].node)) return true;
    return false;
}

static wr_pnode *local_node(phys *h, const wr_pnode *a, wr_pnode *in) {
    uint32_t  n = in->schema.n;
    wr_field *f = wr_new_n(h->p->arena, wr_field, n + 1);
    for (uint32_t i = 0; i < n; i++) f[i] = in->schema.fields[i];
    f[n] = (wr_field){.name = WR_STR("$partial"), .type = wr_type_prec(WR_T_VARBINARY, WR_LENGTH_MAX)};
    wr_pnode *l = ph_new(h, WR_P_LOCAL_AGG, (wr_schema){n + 1, f}, a->at);
    l->n_inputs = 1;
    l->inputs[0] = (wr_pinput){.node = in, .exchange = WR_X_FORWARD};
    wr_local_agg_opts *o = &l->local_agg;
    *o = (wr_local_agg_opts){.partial_type = f[n].type, .always = setting_is(h, "table.optimizer.agg-phase-strategy", "TWO_PHASE"), .in_start = -1, .in_end = -1};
    if (a->kind == WR_P_GROUP_AGG) {
        const wr_group_agg_opts *g = &a->group_agg;
        o->n_keys = g->n_keys, o->keys = g->keys, o->n_aggs = g->n_aggs, o->aggs = g->aggs, o->retract_input = g->retract_input;
    } else {
        const wr_window_agg_opts *w = &a->window_agg;
        o->n_keys = w->n_keys, o->keys = w->keys, o->n_aggs = w->n_aggs, o->aggs = w->aggs, o->retract_input = w->retract_input;
        o->windowed = true, o->window = w->window, o->input_is_windowed = w->input_is_windowed, o->in_start = w->in_start, o->in_end = w->in_end;
    }
    pinfo i = *ph_info(h, in);
    i.has_key = i.by_keys = false;
    i.needs_before = false;
    i.from = NULL;
    return ph_put(h, l, i);
}

/* Puts a local_agg before the exchange of aggregation `a`, whose options and input are complete. */
void ph_two_phases(phys *h, wr_pnode *a) {
    wr_pinput *in = &a->inputs[0];
    if (in->exchange == WR_X_FORWARD) return; /* nothing to spread: the rows are where they belong */
    a->one_phase = one_phase_reason(h, a);
    if (a->one_phase) return;
    in->node = local_node(h, a, in->node);
    if (a->kind == WR_P_GROUP_AGG) a->group_agg.partial = true;
    else a->window_agg.partial = true;
}

/* ---- DISTINCT ---- */

static bool splits(phys *h, const lnode *n, uint32_t *arg) {
    if (n->kind != L_AGG || !n->agg.n_aggs || h->p->ttl_us > 0 || n->agg.ttl_us > 0) return false;
    if (!setting_is(h, "table.optimizer.distinct-agg.split.enabled", "true")) return false;
    for (uint32_t i = 0; i < n->agg.n_aggs; i++) {
        const wr_agg *a = &n->agg.aggs[i];
        bool adds_up = a->kind == WR_AGG_COUNT || a->kind == WR_AGG_SUM || a->kind == WR_AGG_SUM0 || a->kind == WR_AGG_AVG;
        if (!a->distinct || !adds_up || a->filter >= 0 || (i && a->arg != n->agg.aggs[0].arg)) return false;
    }
    *arg = (uint32_t)n->agg.aggs[0].arg;
    for (uint32_t i = 0; i < n->agg.n_keys; i++)
        if (n->agg.keys[i] == *arg) return false;
    return true;
}

/* The same aggregation over the distinct (keys, x); or n itself. */
lnode *ph_split_distinct(phys *h, lnode *n) {
    uint32_t arg, n_keys = n->agg.n_keys;
    if (!splits(h, n, &arg)) return n;
    pl       *p = h->p;
    lnode    *in = n->in[0], *d = pl_node(p, L_AGG, n->at, 1, in, NULL), *top = wr_new(p->arena, lnode);
    wr_field *f = wr_new_n(p->arena, wr_field, n_keys + 1);
    uint32_t *keys = wr_new_n(p->arena, uint32_t, n_keys + 1), *same = wr_new_n(p->arena, uint32_t, n_keys + 1);
    for (uint32_t i = 0; i <= n_keys; i++) {
        keys[i] = i < n_keys ? n->agg.keys[i] : arg;
        same[i] = i;
        f[i] = in->schema.fields[keys[i]];
        f[i].type.attr = WR_TIME_NONE;
    }
    d->label = in->label;
    d->schema = (wr_schema){n_keys + 1, f};
    d->agg.n_keys = n_keys + 1;
    d->agg.keys = keys;
    d->agg.is_distinct = true;
    d->agg.ttl_us = n->agg.ttl_us;
    d->props = (lprops){.updating = in->props.updating, .has_key = true, .n_key = n_keys + 1, .key = same, .bounded = in->props.bounded, .rate = in->props.rate,
                        .rate_declared = in->props.rate_declared, .win = {.start = -1, .end = -1, .time = -1}};
    *top = *n;
    top->in = wr_new_n(p->arena, lnode *, 1);
    top->in[0] = d;
    top->agg.keys = same;
    top->agg.aggs = wr_new_n(p->arena, wr_agg, n->agg.n_aggs);
    for (uint32_t i = 0; i < n->agg.n_aggs; i++) {
        top->agg.aggs[i] = n->agg.aggs[i];
        top->agg.aggs[i].distinct = false;
        top->agg.aggs[i].arg = (int32_t)n_keys;
    }
    return top;
}
