/* sql/build_query.c: builders of queries, FROM, grouping and MATCH_RECOGNIZE.
 *
 * Idea       as build.c. A query in parentheses keeps no node of its own unless WITH, ORDER BY or LIMIT stand both inside and outside
 *            (WR_AST_QUERY_NESTED).
 * Invariant  depth of a query or ref is above that of everything in it.                                              */
#include "parse.h"

static void deepen_expr(wr_parse *ctx, uint16_t *depth, wr_span at, const wr_ast_expr *e) {
    if (e) wr_mk_deepen(ctx, depth, at, e->depth);
}

wr_ast_ref *wr_mk_ref(wr_parse *ctx, wr_ast_ref_kind kind, wr_span at, unsigned child_depth) {
    wr_ast_ref *r = wr_new(ctx->arena, wr_ast_ref);
    r->kind = kind;
    r->depth = 1;
    r->at = at;
    wr_mk_deepen(ctx, &r->depth, at, child_depth);
    return r;
}

wr_ast_ref *wr_mk_join(wr_parse *ctx, wr_ast_join kind, bool natural, const wr_token *op, wr_ast_ref *left, wr_ast_ref *right,
                       wr_ast_expr *on, wr_ast_idents *using) {
    wr_ast_ref *r = wr_mk_ref(ctx, WR_AST_REF_JOIN, left->at, WR_MAX(left->depth, right->depth));
    r->join.kind = kind;
    r->join.natural = natural;
    r->join.left = left;
    r->join.right = right;
    r->join.on = on;
    if (using) r->join.using = *using;
    r->join.op_at = wr_token_span(ctx, op);
    deepen_expr(ctx, &r->depth, r->at, on);
    return r;
}

wr_ast_ref *wr_mk_ref_alias(wr_ast_ref *ref, const wr_mk_alias *alias) {
    if (!alias) return ref;
    ref->alias = alias->name;
    ref->columns = alias->columns;
    return ref;
}

wr_ast_ref *wr_mk_match(wr_parse *ctx, wr_ast_ref *input, wr_ast_match *match, wr_span at) {
    wr_ast_ref *r = wr_mk_ref(ctx, WR_AST_REF_MATCH, at, input->depth);
    r->match = match;
    match->input = input;
    for (uint32_t i = 0; i < match->partition_by.n; i++) deepen_expr(ctx, &r->depth, at, match->partition_by.at[i]);
    for (uint32_t i = 0; i < match->measures.n; i++) deepen_expr(ctx, &r->depth, at, match->measures.at[i].expr);
    for (uint32_t i = 0; i < match->defines.n; i++) deepen_expr(ctx, &r->depth, at, match->defines.at[i].expr);
    wr_mk_deepen(ctx, &r->depth, at, wr_mk_orders_depth(&match->order_by));
    deepen_expr(ctx, &r->depth, at, match->within);
    wr_mk_deepen(ctx, &r->depth, at, match->pattern->depth);
    return r;
}

wr_ast_query *wr_mk_query(wr_parse *ctx, wr_ast_query_kind kind, wr_span at) {
    wr_ast_query *q = wr_new(ctx->arena, wr_ast_query);
    q->kind = kind;
    q->depth = 1;
    q->at = at;
    return q;
}

static void deepen_window(wr_parse *ctx, wr_ast_query *q, const wr_ast_window *w) {
    for (uint32_t i = 0; i < w->partition_by.n; i++) deepen_expr(ctx, &q->depth, q->at, w->partition_by.at[i]);
    wr_mk_deepen(ctx, &q->depth, q->at, wr_mk_orders_depth(&w->order_by));
    deepen_expr(ctx, &q->depth, q->at, w->start.offset);
    deepen_expr(ctx, &q->depth, q->at, w->end.offset);
}

/* All parts are in: computes the depth. */
wr_ast_query *wr_mk_select(wr_parse *ctx, wr_ast_query *q) {
    wr_ast_select *s = &q->select;
    for (uint32_t i = 0; i < s->items.n; i++) deepen_expr(ctx, &q->depth, q->at, s->items.at[i].expr);
    if (s->from) wr_mk_deepen(ctx, &q->depth, q->at, s->from->depth);
    deepen_expr(ctx, &q->depth, q->at, s->where);
    deepen_expr(ctx, &q->depth, q->at, s->having);
    deepen_expr(ctx, &q->depth, q->at, s->qualify);
    for (uint32_t i = 0; i < s->group_by.n; i++) wr_mk_deepen(ctx, &q->depth, q->at, s->group_by.at[i]->depth);
    for (uint32_t i = 0; i < s->windows.n; i++) deepen_window(ctx, q, s->windows.at[i].window);
    return q;
}

wr_ast_query *wr_mk_set_query(wr_parse *ctx, wr_ast_set_op op, bool all, const wr_token *token, wr_ast_query *left, wr_ast_query *right) {
    wr_ast_query *q = wr_mk_query(ctx, WR_AST_QUERY_SET, left->at);
    q->set.op = op;
    q->set.all = all;
    q->set.op_at = wr_token_span(ctx, token);
    q->set.right = right;
    q->left = left;
    wr_mk_deepen(ctx, &q->depth, q->at, left->depth);
    wr_mk_deepen(ctx, &q->depth, q->at, right->depth);
    return q;
}

static bool has_tail(const wr_ast_query *q) { return q->order_by.n || q->limit || q->offset; }

wr_ast_query *wr_mk_wrap(wr_parse *ctx, wr_ast_query *query) {
    if (!query->with.n && !has_tail(query)) return query;
    wr_ast_query *q = wr_mk_query(ctx, WR_AST_QUERY_NESTED, query->at);
    q->left = query;
    wr_mk_deepen(ctx, &q->depth, q->at, query->depth);
    return q;
}

wr_ast_query *wr_mk_tail_on(wr_parse *ctx, wr_ast_query *query, const wr_mk_tail *tail) {
    if (!tail->order_by && !tail->limit && !tail->offset) { /* LIMIT ALL says nothing, and is no reason for a node */
        return query->kind == WR_AST_QUERY_NESTED && !query->with.n ? query->left : query;
    }
    if (tail->order_by) query->order_by = *tail->order_by;
    query->limit = tail->limit;
    query->offset = tail->offset;
    wr_mk_deepen(ctx, &query->depth, query->at, wr_mk_orders_depth(&query->order_by));
    deepen_expr(ctx, &query->depth, query->at, query->limit);
    deepen_expr(ctx, &query->depth, query->at, query->offset);
    return query;
}

wr_ast_query *wr_mk_with_on(wr_parse *ctx, wr_ast_query *query, wr_ast_query *with, wr_span at) {
    query->with.at = with->with.at;
    query->with.n = with->with.n;
    query->with.cap = with->with.cap;
    query->recursive = with->recursive;
    query->at = at;
    wr_mk_deepen(ctx, &query->depth, at, with->depth - 1u);
    return query;
}

void wr_mk_query_row(wr_parse *ctx, wr_ast_query *query, wr_ast_expr *row) {
    wr_ast_expr *r = row;
    if (row->kind != WR_AST_ROW) {
        r = wr_mk_expr(ctx, WR_AST_ROW, row->at);
        LIST_ADD(ctx, &r->row.args, row);
        wr_mk_deepen(ctx, &r->depth, r->at, row->depth);
    }
    LIST_ADD(ctx, &query->rows, r);
    wr_mk_deepen(ctx, &query->depth, query->at, r->depth);
}

wr_ast_group *wr_mk_group(wr_parse *ctx, wr_ast_group_kind kind, wr_span at, wr_ast_groups *items) {
    wr_ast_group *g = wr_new(ctx->arena, wr_ast_group);
    g->kind = kind;
    g->depth = 1;
    g->at = at;
    for (uint32_t i = 0; items && i < items->n; i++) {
        wr_ast_group *item = items->at[i];
        if (kind != WR_GROUP_SETS && item->kind != WR_GROUP_EXPR && item->kind != WR_GROUP_SET) {
            wr_parse_fail(ctx, "42601", item->at, "ROLLUP and CUBE take columns, not grouping sets");
        }
        LIST_ADD(ctx, &g->items, item);
        wr_mk_deepen(ctx, &g->depth, at, item->depth);
    }
    return g;
}

wr_ast_group *wr_mk_group_expr(wr_parse *ctx, wr_ast_expr *expr) {
    bool          set = expr->kind == WR_AST_ROW && !expr->row.keyword;
    wr_ast_group *g = wr_mk_group(ctx, set ? WR_GROUP_SET : WR_GROUP_EXPR, expr->at, NULL);
    if (set) g->exprs = expr->row.args;
    else LIST_ADD(ctx, &g->exprs, expr);
    wr_mk_deepen(ctx, &g->depth, g->at, expr->depth);
    return g;
}

wr_ast_pattern *wr_mk_pattern(wr_parse *ctx, wr_ast_pattern_kind kind, wr_span at) {
    wr_ast_pattern *p = wr_new(ctx->arena, wr_ast_pattern);
    p->kind = kind;
    p->depth = 1;
    p->at = at;
    return p;
}

/* left followed by right, or left | right: flat lists, as AND and OR are. */
wr_ast_pattern *wr_mk_pattern_add(wr_parse *ctx, wr_ast_pattern_kind kind, wr_ast_pattern *left, wr_ast_pattern *right) {
    wr_ast_pattern *p = left;
    if (left->kind != kind) {
        p = wr_mk_pattern(ctx, kind, left->at);
        LIST_ADD(ctx, &p->parts, left);
        wr_mk_deepen(ctx, &p->depth, p->at, left->depth);
    }
    LIST_ADD(ctx, &p->parts, right);
    wr_mk_deepen(ctx, &p->depth, p->at, right->depth);
    return p;
}
