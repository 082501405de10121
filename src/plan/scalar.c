/* plan/scalar.c: scalar subqueries: x > (SELECT AVG(v) FROM t), SELECT (SELECT MAX(w) FROM r WHERE r.k = l.k).
 *
 * Idea       each scalar subquery of a SELECT is left-joined to its FROM before anything else is bound, and stands for a column then. Without
 *            correlation it is one row (SINGLE_VALUE makes sure); with it, the aggregate is grouped by the columns that are compared.
 * Invariant  COUNT of nothing is 0, every other aggregate of nothing is NULL.
 * Recursion  by the depth of the tree.                                                                                */
#include "plan/logical.h"

static void find(const wr_ast_expr *e, wr_ast_exprs *out, wr_arena *arena);

static void find_all(const wr_ast_exprs *list, wr_ast_exprs *out, wr_arena *arena) {
    for (uint32_t i = 0; i < list->n; i++) find(list->at[i], out, arena);
}

static void find(const wr_ast_expr *e, wr_ast_exprs *out, wr_arena *arena) {
    if (!e) return;
    switch (e->kind) {
    case WR_AST_SUBQUERY: wr_arr_apush(arena, out, (wr_ast_expr *)(uintptr_t)e); return;
    case WR_AST_CALL:
        find_all(&e->call.args, out, arena);
        find(e->call.filter, out, arena);
        return;
    case WR_AST_UNARY: find(e->unary.arg, out, arena); return;
    case WR_AST_BINARY: find(e->binary.left, out, arena), find(e->binary.right, out, arena); return;
    case WR_AST_LOGIC: find_all(&e->logic.args, out, arena); return;
    case WR_AST_BETWEEN: find(e->between.arg, out, arena), find(e->between.low, out, arena), find(e->between.high, out, arena); return;
    case WR_AST_IN: find(e->in.arg, out, arena), find_all(&e->in.list, out, arena); return;
    case WR_AST_LIKE: find(e->like.arg, out, arena), find(e->like.pattern, out, arena); return;
    case WR_AST_IS: find(e->is.arg, out, arena), find(e->is.other, out, arena); return;
    case WR_AST_CASE:
        find(e->cases.arg, out, arena);
        for (uint32_t i = 0; i < e->cases.whens.n; i++) find(e->cases.whens.at[i].when, out, arena), find(e->cases.whens.at[i].then, out, arena);
        find(e->cases.otherwise, out, arena);
        return;
    case WR_AST_CAST: find(e->cast.arg, out, arena); return;
    case WR_AST_ROW:
    case WR_AST_ARRAY:
    case WR_AST_MAP: find_all(&e->row.args, out, arena); return;
    case WR_AST_INDEX: find(e->index.arg, out, arena), find(e->index.index, out, arena); return;
    case WR_AST_FIELD: find(e->field.arg, out, arena); return;
    default: return;
    }
}

/* At most one row: an aggregate without GROUP BY is that already, anything else goes through SINGLE_VALUE. */
static lnode *one_row(pl *p, lnode *n, wr_span at) {
    uint32_t     col = 0;
    const lnode *below = n;
    while (below->kind == L_CALC && !below->calc.filter) below = below->in[0];
    if (below->kind == L_AGG && !below->agg.n_keys && !below->agg.has_window) return n;
    lnode *a = pl_node(p, L_AGG, at, 1, n, NULL);
    a->agg.n_aggs = 1;
    a->agg.aggs = wr_new(p->arena, wr_agg);
    a->agg.ttl_us = -1;
    a->agg.keys = wr_new_n(p->arena, uint32_t, 1);
    wr_type t = wr_type_with_null(n->schema.fields[col].type, true);
    t.attr = WR_TIME_NONE;
    a->agg.aggs[0] = (wr_agg){.kind = WR_AGG_SINGLE_VALUE, .arg = 0, .arg2 = -1, .filter = -1, .arg_type = t, .type = t};
    wr_field *f = wr_new(p->arena, wr_field);
    *f = (wr_field){n->schema.fields[col].name, t};
    a->schema = (wr_schema){1, f};
    a->label = n->label;
    return a;
}

static bool join_plain(pl *p, lnode **node, const wr_ast_expr *e, pcte *ctes, wr_expr **out) {
    lnode *q = pl_bind_query(p, e->query, ctes, false);
    if (!q) return false;
    if (q->schema.n != 1) return pl_error(p, "42601", e->at, "a scalar subquery must have one column, not %u", q->schema.n), false;
    uint32_t n = (*node)->schema.n;
    lnode   *j = pl_join(p, *node, one_row(p, q, e->at), WR_JOIN_LEFT, NULL, e->at);
    j->label = (*node)->label;
    j->join.is_subquery = true;
    *node = j;
    *out = pl_col(p, j, n, e->at);
    return true;
}

/* Conjuncts inner expression = outer expression. Inner columns come first, then outer_base + column. */
bool pl_split_equalities(pl *p, const subquery *s, const char *what, wr_expr **inner, wr_expr **outer, uint32_t *n, wr_span at) {
    wr_expr **parts = NULL;
    uint32_t  count = 0, n_inner = s->node->schema.n;
    pl_push_conjuncts(p, s->cond, &parts, &count);
    *n = 0;
    if (count > PL_KEYS_MAX) return pl_error(p, "54001", at, "%s compares more than %d columns", what, PL_KEYS_MAX), false;
    for (uint32_t i = 0; i < count; i++) {
        wr_expr *e = parts[i];
        int      in = -1;
        if (wr_expr_is_call(e, "="))
            for (int k = 0; k < 2; k++)
                if (!pl_uses(e->args[k], n_inner, UINT32_MAX) && !pl_uses(e->args[!k], 0, n_inner)) in = k;
        if (in < 0) {
            pl_unsupported(p, e->at.line ? e->at : at, "compare with = only, or join with a GROUP BY subquery", "%s with another condition than equality", what);
            return false;
        }
        inner[*n] = e->args[in];
        outer[(*n)++] = e->args[!in];
    }
    return true;
}

static bool join_correlated(pl *p, lnode **node, bind *b, const wr_ast_expr *e, subquery *s, wr_expr **out) {
    wr_expr *inner[PL_KEYS_MAX], *outer[PL_KEYS_MAX];
    uint32_t n_keys, n = (*node)->schema.n, n_inner = s->node->schema.n;
    if (!pl_split_equalities(p, s, "a correlated scalar subquery", inner, outer, &n_keys, e->at)) return false;
    bool   is_count = false;
    lnode *g = pl_build_grouped(p, e->query, s->node, &s->sc, b->ctes, inner, n_keys, &is_count);
    if (!g) return false;
    uint32_t *back = wr_new_n(p->arena, uint32_t, n_inner + n + 1);
    for (uint32_t i = 0; i < n; i++) back[n_inner + i] = i;
    wr_expr *cond = NULL;
    for (uint32_t i = 0; i < n_keys; i++) {
        wr_expr *l = wr_expr_remap(p->arena, outer[i], back), *r = wr_expr_col(p->arena, n + 1 + i, g->schema.fields[1 + i].type, e->at);
        wr_expr *eq = pl_call(p, "=", e->at, 2, l, r);
        if (!eq) return false;
        cond = pl_and(p, cond, eq);
    }
    lnode *j = pl_join(p, *node, g, WR_JOIN_LEFT, cond, e->at);
    j->label = (*node)->label;
    j->join.is_subquery = true;
    *node = j;
    *out = pl_col(p, j, n, e->at);
    if (is_count) *out = pl_call(p, "COALESCE", e->at, 2, *out, wr_expr_const(p->arena, wr_value_int(wr_type_not_null(wr_type_of(WR_T_BIGINT)), 0), e->at));
    return *out != NULL;
}

bool pl_join_scalars(bind *b, lnode **node, const wr_ast_expr *e, const wr_ast_select *owner) {
    pl          *p = b->p;
    wr_ast_exprs found = {0};
    find(e, &found, p->arena);
    for (uint32_t i = 0; i < found.n; i++) {
        const wr_ast_expr *q = found.at[i];
        subquery           s = {0};
        scalar             sc = {.ast = q, .owner = owner};
        bool               grouped = pl_can_correlate(q->query);
        if (grouped && !pl_open_subquery(b, q->query, &s)) return false;
        if (grouped && s.cond) {
            if (!join_correlated(p, node, b, q, &s, &sc.expr)) return false;
            sc.correlated = true;
        } else if (!join_plain(p, node, q, b->ctes, &sc.expr)) {
            return false;
        }
        wr_arr_apush(p->arena, &p->scalars, sc);
    }
    return true;
}
