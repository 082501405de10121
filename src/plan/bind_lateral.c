/* plan/bind_lateral.c: what stands right of a join and reads the left row: UNNEST, LATERAL (SELECT ...) -> logical nodes.
 *
 * Idea       UNNEST of a column is one node over the left side, not a join: its columns come behind the left ones. An expression is first
 *            computed as a column, which a calc above takes away again.
 *            A LATERAL subquery becomes a join: it is computed once for all values of the inner columns that it compares with the left row, by them
 *            (an aggregation, a Top-N a key), and the join compares.
 * Invariant  NULL means that a diagnostic was given.                                                                  */
#include "plan/logical.h"

lnode *pl_one_row(pl *p, wr_span at) {
    lnode *n = pl_node(p, L_VALUES, at, 0, NULL, NULL);
    n->values.n_rows = 1;
    n->values.rows = wr_new(p->arena, wr_value);
    n->values.rows[0] = (wr_value){.type = wr_type_not_null(wr_type_of(WR_T_BOOLEAN)), .b = true};
    wr_field *f = wr_new(p->arena, wr_field);
    *f = (wr_field){WR_STR("one"), n->values.rows[0].type};
    n->schema = (wr_schema){1, f};
    n->label = WR_STR("one row");
    return n;
}

/* The columns that an element gives, named as in Flink; the alias is the name of a single one. */
static uint32_t element_fields(pl *p, wr_type list, const wr_ast_ref *ref, bool outer, wr_field **out) {
    wr_type   e = list.kids[0];
    uint32_t  n = list.id == WR_T_MAP ? 2 : e.id == WR_T_ROW ? e.n_kids : 1;
    wr_field *f = *out = wr_new_n(p->arena, wr_field, n + 1);
    for (uint32_t i = 0; i < n; i++) {
        if (list.id == WR_T_MAP) f[i] = (wr_field){i ? WR_STR("VALUE") : WR_STR("KEY"), list.kids[i]};
        else if (e.id == WR_T_ROW) f[i] = (wr_field){e.names[i], e.kids[i]}, f[i].type.nullable |= e.nullable;
        else f[i] = (wr_field){ref->alias.text.len && !ref->with_ordinality ? ref->alias.text : WR_STR("EXPR$0"), e};
        f[i].type.nullable |= outer;
    }
    if (ref->with_ordinality) f[n++] = (wr_field){WR_STR("ORDINALITY"), wr_type_with_null(wr_type_of(WR_T_INT), outer)};
    if (ref->columns.n == n)
        for (uint32_t i = 0; i < n; i++) f[i].name = ref->columns.at[i].text;
    return n;
}

static lnode *unnest_node(pl *p, lnode *in, uint32_t col, const wr_ast_ref *ref, bool outer) {
    wr_field *extra;
    uint32_t  n = in->schema.n, more = element_fields(p, in->schema.fields[col].type, ref, outer, &extra);
    if (ref->columns.n && ref->columns.n != more)
        return pl_error(p, "42601", ref->columns.at[0].at, "%u column names are given, but %s gives %u column%s", ref->columns.n,
                        ref->kind == WR_AST_REF_UNNEST ? "UNNEST" : "the function", more, more == 1 ? "" : "s");
    lnode    *u = pl_node(p, L_UNNEST, ref->at, 1, in, NULL);
    wr_field *f = wr_new_n(p->arena, wr_field, n + more);
    u->unnest.col = col;
    u->unnest.outer = outer;
    u->unnest.ordinality = ref->with_ordinality;
    u->unnest.n_pass = n;
    u->unnest.pass = wr_new_n(p->arena, uint32_t, n);
    for (uint32_t i = 0; i < n; i++) u->unnest.pass[i] = i, f[i] = in->schema.fields[i];
    for (uint32_t i = 0; i < more; i++) f[n + i] = extra[i];
    u->schema = (wr_schema){n + more, f};
    u->label = in->label;
    return u;
}

/* Everything of n but column `gone`. */
static lnode *without(pl *p, lnode *n, uint32_t gone, wr_span at) {
    wr_expr **all = pl_identity(p, n);
    wr_str   *names = pl_names(p, n);
    for (uint32_t i = gone; i + 1 < n->schema.n; i++) all[i] = all[i + 1], names[i] = names[i + 1];
    return pl_calc(p, n, NULL, all, names, n->schema.n - 1, at);
}

static lnode *unnest(pl *p, lnode *left, scope *l, wr_expr *e, const wr_ast_ref *ref, bool outer, scope *sc);

lnode *pl_bind_unnest(pl *p, lnode *left, scope *l, const wr_ast_ref *ref, pcte *ctes, bool outer, scope *sc) {
    bind     b = {.p = p, .sc = l, .clause = "UNNEST", .ctes = ctes};
    if (ref->unnest.n != 1) return pl_unsupported(p, ref->at, "UNNEST them one after the other", "UNNEST of several collections");
    wr_expr *e = pl_bind_expr(&b, ref->unnest.at[0]);
    if (!e) return NULL;
    if (e->type.id != WR_T_ARRAY && e->type.id != WR_T_MULTISET && e->type.id != WR_T_MAP) {
        wr_sbuf t = {0};
        wr_type_text(e->type, &t);
        pl_error(p, "42804", e->at, "UNNEST takes an ARRAY, MULTISET or MAP, not %.*s", WR_FMT(wr_sbuf_str(&t)));
        wr_sbuf_free(&t);
        return NULL;
    }
    return unnest(p, left, l, e, ref, outer, sc);
}

/* Its rows are an array of rows, calculated as a column. */
lnode *pl_bind_table_function(pl *p, lnode *left, scope *l, const wr_ast_ref *ref, pcte *ctes, bool outer, scope *sc) {
    bind               b = {.p = p, .sc = l, .clause = "a table function", .ctes = ctes};
    const wr_ast_call *c = &ref->call->call;
    const wr_udf      *u = pl_user_function(p, &c->name);
    wr_expr          **args = wr_new_n(p->arena, wr_expr *, c->args.n + 1), *e;
    bool               ok = true;
    if (u->decl->kind != WEIR_TABLE) {
        pl_error(p, "42809", ref->call->at, "%s is not a table function, but %s", u->name, u->decl->kind == WEIR_SCALAR ? "a scalar one" : "an aggregate");
        return NULL;
    }
    for (uint32_t i = 0; i < c->args.n; i++) ok &= (args[i] = pl_bind_expr(&b, c->args.at[i])) != NULL;
    if (!ok || !(e = wr_udf_call(&p->ec, u, args, c->args.n, ref->call->at))) return NULL;
    return unnest(p, left, l, e, ref, outer, sc);
}

/* The elements of e, each with its row of the left side. */
static lnode *unnest(pl *p, lnode *left, scope *l, wr_expr *e, const wr_ast_ref *ref, bool outer, scope *sc) {
    uint32_t n = left->schema.n;
    bool   computed = e->kind != WR_E_COL;
    lnode *in = left;
    if (computed) {
        wr_expr **all = wr_new_n(p->arena, wr_expr *, n + 1);
        wr_str   *names = wr_new_n(p->arena, wr_str, n + 1);
        wr_sbuf   text = {0};
        for (uint32_t i = 0; i < n; i++) all[i] = pl_col(p, left, i, ref->at), names[i] = left->schema.fields[i].name;
        wr_expr_text(e, &left->schema, &text);
        all[n] = e;
        names[n] = pl_printf(p, "%.*s", (int)WR_MIN(text.len, 60u), text.at);
        wr_sbuf_free(&text);
        in = pl_calc(p, left, NULL, all, names, n + 1, ref->at);
    }
    lnode *u = unnest_node(p, in, computed ? n : e->col, ref, outer);
    if (!u) return NULL;
    if (computed) u = without(p, u, n, ref->at);
    lnode *mine = wr_new(p->arena, lnode); /* its own columns, for the scope */
    *mine = *u;
    mine->schema = (wr_schema){u->schema.n - n, u->schema.fields + n};
    scope r = {0};
    pl_add_rel(p, &r, ref->alias.text.ptr ? ref->alias.text : WR_STR(""), mine);
    scope first = *l;
    first.n = n; /* SELECT without a left side: its one column is nobody's */
    *sc = pl_merge_scopes(p, &first, &r);
    for (uint32_t i = 0; i < l->rels.n; i++) sc->rels.at[i].fields = u->schema.fields + sc->rels.at[i].first;
    return u;
}

/* ---- LATERAL (SELECT ...) ---- */

static bool can_be_lateral(const wr_ast_query *q) { return q->kind == WR_AST_QUERY_SELECT && !q->with.n && q->select.from; }

/* Left columns as they are, then items. */
static lnode *with_items(pl *p, lnode *j, uint32_t n_left, const lateral *x, wr_expr **items, wr_span at) {
    wr_expr **all = wr_new_n(p->arena, wr_expr *, n_left + x->n);
    wr_str   *names = wr_new_n(p->arena, wr_str, n_left + x->n);
    for (uint32_t i = 0; i < n_left; i++) all[i] = pl_col(p, j, i, at), names[i] = j->schema.fields[i].name;
    for (uint32_t i = 0; i < x->n; i++) all[n_left + i] = items[i], names[n_left + i] = x->names[i];
    return pl_calc(p, j, NULL, all, names, n_left + x->n, at);
}

/* A list over a join: inner columns, then `outer_base` + left column -> left columns, then inner ones from `first` on. */
static uint32_t *places(pl *p, uint32_t n_inner, uint32_t outer_base, uint32_t n_left, uint32_t first) {
    uint32_t *map = wr_new_n(p->arena, uint32_t, outer_base + n_left + 1);
    for (uint32_t i = 0; i < n_inner; i++) map[i] = first + i;
    for (uint32_t i = 0; i < n_left; i++) map[outer_base + i] = i;
    return map;
}

static lnode *join_plain(pl *p, lnode *left, subquery *s, lateral *x, wr_join_kind kind, const wr_ast_ref *ref, lnode **joined) {
    uint32_t n_left = left->schema.n, n_inner = s->node->schema.n;
    bool     uses_left = false;
    for (uint32_t i = 0; i < x->n; i++) uses_left |= pl_uses(x->items[i], PL_OUTER, UINT32_MAX);
    if (uses_left && kind == WR_JOIN_LEFT) return pl_unsupported(p, ref->at, "select it in the query around", "a column of the left side in the SELECT of LEFT JOIN LATERAL");
    wr_expr **items = wr_new_n(p->arena, wr_expr *, x->n + n_inner);
    wr_str   *names = wr_new_n(p->arena, wr_str, x->n + n_inner);
    uint32_t  before = uses_left ? 0 : x->n;
    lnode    *right = s->node;
    if (!uses_left) { /* the list below the join: padded as a whole */
        for (uint32_t i = 0; i < x->n; i++) items[i] = x->items[i], names[i] = x->names[i];
        for (uint32_t i = 0; i < n_inner; i++) items[x->n + i] = pl_col(p, right, i, ref->at), names[x->n + i] = right->schema.fields[i].name;
        right = pl_calc(p, right, NULL, items, names, x->n + n_inner, ref->at);
    }
    wr_expr *cond = s->cond ? wr_expr_remap(p->arena, s->cond, places(p, n_inner, s->sc.outer_base, n_left, n_left + before)) : NULL;
    lnode   *j = *joined = pl_join(p, left, right, kind, cond, ref->at);
    wr_expr **list = wr_new_n(p->arena, wr_expr *, x->n);
    uint32_t *map = uses_left ? places(p, n_inner, PL_OUTER, n_left, n_left) : NULL;
    for (uint32_t i = 0; i < x->n; i++) list[i] = uses_left ? wr_expr_remap(p->arena, x->items[i], map) : pl_col(p, j, n_left + i, ref->at);
    return with_items(p, j, n_left, x, list, ref->at);
}

/* Joins left with node on outer[i] = node's column first + i. */
static lnode *join_on_keys(pl *p, lnode *left, lnode *node, uint32_t n_inner, wr_expr **outer, uint32_t first, uint32_t n_keys, wr_join_kind kind, wr_span at) {
    uint32_t  n_left = left->schema.n;
    wr_expr  *cond = NULL;
    uint32_t *map = places(p, 0, n_inner, n_left, 0);
    for (uint32_t i = 0; i < n_keys; i++) {
        wr_expr *eq = pl_call(p, "=", at, 2, wr_expr_remap(p->arena, outer[i], map), wr_expr_col(p->arena, n_left + first + i, node->schema.fields[first + i].type, at));
        if (!eq) return NULL;
        cond = pl_and(p, cond, eq);
    }
    return pl_join(p, left, node, kind, cond, at);
}

/* One row of aggregates for every left row, also where there is nothing to aggregate: then COUNT is 0, the others are NULL. */
static lnode *join_total(pl *p, lnode *j, uint32_t n_left, const lateral *x, wr_span at) {
    const lnode *a = x->node;
    wr_expr    **subst = wr_new_n(p->arena, wr_expr *, a->schema.n + 1), **list = wr_new_n(p->arena, wr_expr *, x->n);
    for (uint32_t i = 0; i < a->schema.n; i++) {
        subst[i] = pl_col(p, j, n_left + i, at);
        if (i < a->agg.n_keys || i >= a->agg.n_keys + a->agg.n_aggs) continue;
        wr_agg_kind k = a->agg.aggs[i - a->agg.n_keys].kind;
        if (k != WR_AGG_COUNT && k != WR_AGG_COUNT_STAR && k != WR_AGG_APPROX_COUNT_DISTINCT) continue;
        subst[i] = pl_call(p, "COALESCE", at, 2, subst[i], wr_expr_const(p->arena, wr_value_int(wr_type_not_null(wr_type_of(WR_T_BIGINT)), 0), at));
        if (!subst[i]) return NULL;
    }
    for (uint32_t i = 0; i < x->n; i++) list[i] = wr_expr_substitute(p->arena, x->items[i], subst);
    return with_items(p, j, n_left, x, list, at);
}

static lnode *join_rows(pl *p, lnode *left, bind *b, const wr_ast_ref *ref, subquery *s, wr_join_kind kind, lnode **joined) {
    const wr_ast_query *q = ref->derived.query;
    wr_expr  *inner[PL_KEYS_MAX], *outer[PL_KEYS_MAX];
    uint32_t  n_keys = 0, n_left = left->schema.n;
    lateral   x;
    bool      lists = !q->select.has_group_by && !q->select.having && !q->select.distinct && !q->limit && !q->offset; /* unless it aggregates */
    if (lists) {
        if (!pl_build_lateral(b, q, s, NULL, 0, &x)) return NULL;
        if (x.plain) return join_plain(p, left, s, &x, kind, ref, joined);
    }
    if (s->cond && !pl_split_equalities(p, s, "a LATERAL that aggregates or has LIMIT,", inner, outer, &n_keys, ref->at)) return NULL;
    if (!pl_build_lateral(b, q, s, inner, n_keys, &x)) return NULL;
    lnode *j = *joined = join_on_keys(p, left, x.node, s->sc.outer_base, outer, x.total ? 0 : x.first_key, n_keys, x.total ? WR_JOIN_LEFT : kind, ref->at);
    if (!j || x.total) return j ? join_total(p, j, n_left, &x, ref->at) : NULL;
    wr_expr **list = wr_new_n(p->arena, wr_expr *, x.n);
    for (uint32_t i = 0; i < x.n; i++) list[i] = pl_col(p, j, n_left + i, ref->at);
    return with_items(p, j, n_left, &x, list, ref->at);
}

lnode *pl_bind_lateral(pl *p, lnode *left, scope *l, const wr_ast_ref *ref, pcte *ctes, wr_join_kind kind, scope *sc) {
    const wr_ast_query *q = ref->derived.query;
    bind     b = {.p = p, .sc = l, .clause = "LATERAL", .ctes = ctes};
    subquery s = {0};
    lnode   *j = NULL, *n;
    uint32_t n_left = left->schema.n;
    if (can_be_lateral(q)) {
        if (!pl_open_subquery(&b, q, &s)) return NULL;
        n = join_rows(p, left, &b, ref, &s, kind, &j);
    } else { /* cannot be correlated */
        lnode *right = pl_bind_query(p, q, ctes, false);
        n = j = right ? pl_join(p, left, right, kind, NULL, ref->at) : NULL;
    }
    if (!n) return NULL;
    lnode *mine = wr_new(p->arena, lnode);
    *mine = *n;
    mine->schema = (wr_schema){n->schema.n - n_left, n->schema.fields + n_left};
    if (!(mine = pl_rename_columns(p, mine, &ref->columns, ref->at))) return NULL;
    scope r = {0};
    pl_add_rel(p, &r, ref->alias.text.ptr ? ref->alias.text : WR_STR(""), mine);
    pl_join_hints(p, j, l, &r);
    *sc = pl_merge_scopes(p, l, &r);
    for (uint32_t i = 0; i < l->rels.n; i++) sc->rels.at[i].fields = n->schema.fields + sc->rels.at[i].first;
    return n;
}
