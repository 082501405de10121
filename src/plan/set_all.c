/* plan/set_all.c: INTERSECT ALL and EXCEPT ALL: rows counted on both sides, then given as often as the counts say.
 *
 * Idea       both sides are united with a mark of where a row is from, grouped by all columns (NULL equal to NULL) with a count of each mark; the
 *            row comes LEAST(left, right) or left - right times. As in Flink.
 * Memory     the arena of the plan.                                                                                   */
#include "plan/logical.h"

static wr_type count_type(void) { return wr_type_not_null(wr_type_of(WR_T_BIGINT)); }

static lnode *marked(pl *p, lnode *in, int side, wr_span at) { /* its columns, then 1 and NULL, or NULL and 1 */
    uint32_t  n = in->schema.n;
    wr_expr **exprs = wr_new_n(p->arena, wr_expr *, n + 2);
    wr_str   *names = wr_new_n(p->arena, wr_str, n + 2);
    wr_type   t = wr_type_of(WR_T_BIGINT);
    for (uint32_t i = 0; i < n; i++) exprs[i] = pl_col(p, in, i, at), exprs[i]->type.attr = WR_TIME_NONE, names[i] = in->schema.fields[i].name;
    for (int s = 0; s < 2; s++) {
        exprs[n + (uint32_t)s] = wr_expr_const(p->arena, s == side ? wr_value_int(t, 1) : wr_value_null(t), at);
        names[n + (uint32_t)s] = s ? WR_STR("right") : WR_STR("left");
    }
    lnode    *c = pl_calc(p, in, NULL, exprs, names, n + 2, at);
    wr_field *f = wr_new_n(p->arena, wr_field, n + 2);
    for (uint32_t i = 0; i < n + 2; i++) f[i] = c->schema.fields[i], f[i].type.attr = WR_TIME_NONE, f[i].type.nullable |= i >= n;
    c->schema.fields = f;
    return c;
}

static lnode *counted(pl *p, lnode *l, lnode *r, wr_span at) {
    uint32_t  n = l->schema.n;
    lnode    *a = pl_node(p, L_UNION, at, 2, marked(p, l, 0, at), marked(p, r, 1, at)), *g;
    wr_field *f = wr_new_n(p->arena, wr_field, n + 2), *out = wr_new_n(p->arena, wr_field, n + 2);
    for (uint32_t i = 0; i < n + 2; i++) f[i] = a->in[0]->schema.fields[i], f[i].type.nullable |= a->in[1]->schema.fields[i].type.nullable, out[i] = f[i];
    a->schema = (wr_schema){n + 2, f};
    a->label = l->label;
    g = pl_node(p, L_AGG, at, 1, a, NULL);
    g->agg.n_keys = n;
    g->agg.keys = wr_new_n(p->arena, uint32_t, n);
    for (uint32_t i = 0; i < n; i++) g->agg.keys[i] = i;
    g->agg.n_aggs = 2;
    g->agg.aggs = wr_new_n(p->arena, wr_agg, 2);
    for (uint32_t i = 0; i < 2; i++) {
        g->agg.aggs[i] = (wr_agg){.kind = WR_AGG_COUNT, .arg = (int32_t)(n + i), .arg2 = -1, .filter = -1, .arg_type = f[n + i].type, .type = count_type()};
        out[n + i].type = count_type();
    }
    g->agg.ttl_us = -1;
    g->schema = (wr_schema){n + 2, out};
    g->label = l->label;
    return g;
}

lnode *pl_match_all(pl *p, const wr_ast_query *q, lnode *l, lnode *r) {
    wr_span   at = q->set.op_at;
    uint32_t  n = l->schema.n;
    lnode    *g = counted(p, l, r, at);
    wr_expr  *left = pl_col(p, g, n, at), *right = pl_col(p, g, n + 1, at);
    wr_expr  *times = q->set.op == WR_AST_INTERSECT ? pl_call(p, "LEAST", at, 2, left, right) : pl_call(p, "-", at, 2, left, right);
    wr_expr  *some = times ? pl_call(p, ">", at, 2, times, wr_expr_const(p->arena, wr_value_int(count_type(), 0), at)) : NULL;
    if (!some) return NULL;
    wr_expr **exprs = pl_identity(p, g);
    wr_str   *names = pl_names(p, g);
    exprs[n] = times;
    names[n] = WR_STR("copies");
    lnode *c = pl_calc(p, g, some, exprs, names, n + 1, at), *u = pl_node(p, L_UNNEST, at, 1, c, NULL);
    u->unnest.col = n;
    u->unnest.n_pass = n;
    u->unnest.pass = wr_new_n(p->arena, uint32_t, n);
    for (uint32_t i = 0; i < n; i++) u->unnest.pass[i] = i;
    u->schema = (wr_schema){n, c->schema.fields};
    u->label = l->label;
    return u;
}
