/* plan/bind_query.c: FROM, joins, subqueries, CTEs, views, set operations, VALUES, ORDER BY and LIMIT -> logical nodes.
 *
 * Idea       each reference gives a node and the names it brings into scope; a join concatenates both. EXISTS and IN subqueries that stand as
 *            conjuncts of WHERE become semi and anti joins whose condition is over left ++ right.
 * Invariant  NULL means that a diagnostic was given (or that a broken object was named, which had its own).
 * Recursion  by the tree's depth (WR_AST_DEPTH_MAX); views nest at most VIEW_DEPTH_MAX deep, and the trees of all views and WITH
 *            queries that are inside of each other are together at most LEVELS_MAX deep.                            */
#include "plan/logical.h"

enum { VIEW_DEPTH_MAX = 32, VIEWS_MAX = 2000, LEVELS_MAX = 2000 };

void pl_add_rel(pl *p, scope *sc, wr_str alias, const lnode *n) {
    srel r = {.alias = alias, .first = sc->n, .n = n->schema.n, .fields = n->schema.fields};
    wr_arr_apush(p->arena, &sc->rels, r);
    sc->n += n->schema.n;
}

lnode *pl_rename_columns(pl *p, lnode *n, const wr_ast_idents *columns, wr_span at) {
    if (!columns->n) return n;
    if (columns->n != n->schema.n)
        return pl_error(p, "42601", at, "%u column names are given, but there are %u columns", columns->n, n->schema.n);
    wr_str *names = pl_names(p, n);
    for (uint32_t i = 0; i < columns->n; i++) names[i] = columns->at[i].text;
    return pl_calc(p, n, NULL, pl_identity(p, n), names, n->schema.n, at);
}

/* ---- tables, views, CTEs ---- */

static bool usable_source(pl *p, const wr_table *t, tinfo *ti, wr_span at) {
    if (ti->bad) return false;
    if (p->ctx->check_options && !p->ctx->check_options(t, true, p->diags)) return ti->bad = true, false;
    if (!p->for_lookup && (!pl_letters(p, ti) || !pl_overload(p, ti))) return ti->bad = true, false;
    if (ti->connector && !ti->connector->is_source && !(p->for_lookup && ti->connector->lookup && ti->connector->lookup(t))) {
        pl_error(p, "0A000", at, "table '%.*s' cannot be read: connector '%.*s' is only a sink", WR_FMT(t->name), WR_FMT(t->connector));
        return false;
    }
    if (ti->changes == 1 && !t->n_key) {
        pl_error(p, "42P16", t->at, "table '%.*s' reads an upsert stream and needs a PRIMARY KEY", WR_FMT(t->name));
        return ti->bad = true, false;
    }
    return true;
}

static lnode *scan(pl *p, const wr_table *t, wr_span at) {
    tinfo *ti = pl_table_info(p, t);
    if (!usable_source(p, t, ti, at)) return NULL;
    lnode *n = pl_node(p, L_SCAN, at, 0, NULL, NULL);
    n->scan.table = t;
    n->scan.cols = wr_new_n(p->arena, uint32_t, t->n_columns);
    for (uint32_t i = 0; i < t->n_columns; i++) n->scan.cols[i] = i;
    n->schema = ti->schema;
    n->label = t->name;
    return n;
}

/* Each use of a view is planned by itself: ten that use the one before twice would be a thousand. */
static bool count_view(pl *p, wr_span at) {
    if (++p->n_views <= VIEWS_MAX) return true;
    if (p->n_views == VIEWS_MAX + 1) pl_error(p, "54001", at, "views and WITH queries are used more than %d times, uses inside of them counted", VIEWS_MAX);
    return false;
}

/* Binds the query of a view or of WITH, in its place. */
static lnode *inside(pl *p, const wr_ast_query *q, pcte *ctes, wr_span at) {
    if (p->levels + q->depth > LEVELS_MAX) return pl_error(p, "54001", at, "views and WITH queries inside of each other are nested more than %d levels deep", LEVELS_MAX);
    p->levels += q->depth;
    lnode *n = pl_bind_query(p, q, ctes, false);
    p->levels -= q->depth;
    return n;
}

static lnode *view(pl *p, const wr_table *v, wr_span at) {
    if (p->view_depth >= VIEW_DEPTH_MAX) return pl_error(p, "54001", at, "views are nested more than %d deep", VIEW_DEPTH_MAX);
    if (!count_view(p, at)) return NULL;
    const wr_ast_hints *hints = p->hints;
    bool for_lookup = p->for_lookup;
    p->view_depth++;
    p->hints = NULL;
    p->for_lookup = false;
    wr_catalog     *c = p->ctx->catalog;
    const wr_space *now = wr_catalog_current(c), *home = wr_catalog_find_space(c, v->home_catalog, v->home_database);
    if (home) wr_catalog_use(c, home);
    lnode *n = inside(p, v->query, NULL, at);
    wr_catalog_use(c, now);
    p->for_lookup = for_lookup;
    p->hints = hints;
    p->view_depth--;
    if (!n) return NULL;
    if (v->n_view_columns && v->n_view_columns != n->schema.n)
        return pl_error(p, "42601", v->at, "view '%.*s' names %u columns, but its query has %u", WR_FMT(v->name), v->n_view_columns, n->schema.n);
    wr_str *names = pl_names(p, n);
    for (uint32_t i = 0; i < v->n_view_columns; i++) names[i] = v->view_columns[i];
    n = pl_calc(p, n, NULL, pl_identity(p, n), names, n->schema.n, at);
    n->label = v->name;
    return n;
}

static lnode *cte(pl *p, pcte *c, wr_span at) {
    if (!count_view(p, at)) return NULL;
    lnode *n = inside(p, c->ast->query, c->next, at);
    if (!n) return NULL;
    n = pl_rename_columns(p, n, &c->ast->columns, c->ast->name.at);
    if (!n) return NULL;
    n = pl_calc(p, n, NULL, pl_identity(p, n), pl_names(p, n), n->schema.n, at);
    n->label = c->ast->name.text;
    return n;
}

static lnode *named(pl *p, const wr_ast_name *name, pcte *ctes) {
    if (name->n == 1)
        for (pcte *c = ctes; c; c = c->next)
            if (wr_str_eq(c->ast->name.text, name->part[0].text)) return cte(p, c, name->at);
    const wr_table *t = pl_find_table(p, name, "table or view");
    if (!t) return NULL;
    return t->is_view ? view(p, t, name->at) : scan(p, t, name->at);
}

/* ---- joins ---- */

scope pl_merge_scopes(pl *p, const scope *l, const scope *r) {
    scope sc = {.n = l->n + r->n};
    for (uint32_t i = 0; i < l->rels.n; i++) wr_arr_apush(p->arena, &sc.rels, l->rels.at[i]);
    for (uint32_t i = 0; i < r->rels.n; i++) {
        srel x = r->rels.at[i];
        x.first += l->n;
        wr_arr_apush(p->arena, &sc.rels, x);
    }
    return sc;
}

static void hide(pl *p, scope *sc, uint32_t col) {
    for (uint32_t i = 0; i < sc->rels.n; i++) {
        srel *r = &sc->rels.at[i];
        if (col < r->first || col >= r->first + r->n) continue;
        if (!r->hidden) r->hidden = wr_new_n(p->arena, bool, r->n);
        r->hidden[col - r->first] = true;
    }
}

/* The columns of USING in a FULL JOIN: whichever side there is. They come first, in front of both tables. */
static lnode *merged_columns(pl *p, lnode *j, scope *sc, wr_expr **cols, const wr_str *merged, uint32_t n_merged) {
    uint32_t  n = j->schema.n;
    wr_expr **all = wr_new_n(p->arena, wr_expr *, n + n_merged);
    wr_str   *names = wr_new_n(p->arena, wr_str, n + n_merged);
    for (uint32_t i = 0; i < n; i++) all[i] = pl_col(p, j, i, j->at), names[i] = j->schema.fields[i].name;
    for (uint32_t i = 0; i < n_merged; i++) {
        wr_expr *l = wr_expr_col(p->arena, cols[2 * i]->col, j->schema.fields[cols[2 * i]->col].type, j->at), *r = wr_expr_col(p->arena, cols[2 * i + 1]->col, j->schema.fields[cols[2 * i + 1]->col].type, j->at);
        if (!(all[n + i] = pl_call(p, "COALESCE", j->at, 2, l, r))) return NULL;
        names[n + i] = merged[i];
    }
    lnode *c = pl_calc(p, j, NULL, all, names, n + n_merged, j->at);
    srel   first = {.alias = WR_STR(""), .first = n, .n = n_merged, .fields = c->schema.fields + n};
    scope  out = {.n = n + n_merged};
    wr_arr_apush(p->arena, &out.rels, first);
    for (uint32_t i = 0; i < sc->rels.n; i++) wr_arr_apush(p->arena, &out.rels, sc->rels.at[i]);
    *sc = out;
    return c;
}

typedef struct using_cols { wr_expr **cols; wr_str *names; uint32_t n; } using_cols; /* of a FULL JOIN: left and right column of each name */

static bool using_column(pl *p, scope *l, scope *r, scope *both, wr_ast_ident name, bool hide_left, wr_expr **cond, using_cols *full) {
    wr_ast_name n = {.part = &name, .n = 1, .at = name.at};
    bind        bl = {.p = p, .sc = l, .clause = "USING"}, br = {.p = p, .sc = r, .clause = "USING"};
    uint32_t    used;
    wr_type     tl, tr;
    int         a = pl_resolve_column(&bl, &n, &used, &tl, true), b = pl_resolve_column(&br, &n, &used, &tr, true);
    if (a < 0 || b < 0) return false;
    wr_expr *eq = pl_call(p, "=", name.at, 2, wr_expr_col(p->arena, (uint32_t)a, tl, name.at), wr_expr_col(p->arena, l->n + (uint32_t)b, tr, name.at));
    if (!eq) return false;
    *cond = pl_and(p, *cond, eq);
    if (full->cols) {
        full->cols[2 * full->n] = wr_expr_col(p->arena, (uint32_t)a, tl, name.at);
        full->cols[2 * full->n + 1] = wr_expr_col(p->arena, l->n + (uint32_t)b, tr, name.at);
        full->names[full->n++] = name.text;
        hide(p, both, (uint32_t)a);
        hide_left = false;
    }
    hide(p, both, hide_left ? (uint32_t)a : l->n + (uint32_t)b);
    return true;
}

static bool using_list(pl *p, const wr_ast_ref *ref, scope *l, scope *r, scope *both, wr_expr **cond, using_cols *full) {
    wr_ast_idents names = ref->join.using;
    if (ref->join.natural) {
        memset(&names, 0, sizeof names);
        for (uint32_t i = 0; i < l->rels.n; i++)
            for (uint32_t k = 0; k < l->rels.at[i].n; k++)
                for (uint32_t j = 0; j < r->rels.n; j++)
                    for (uint32_t m = 0; m < r->rels.at[j].n; m++)
                        if (wr_str_eq(l->rels.at[i].fields[k].name, r->rels.at[j].fields[m].name))
                            wr_arr_apush(p->arena, &names, (wr_ast_ident){.text = l->rels.at[i].fields[k].name, .at = ref->at});
    }
    if (ref->join.kind == WR_AST_JOIN_FULL) full->cols = wr_new_n(p->arena, wr_expr *, 2 * names.n + 1), full->names = wr_new_n(p->arena, wr_str, names.n + 1);
    for (uint32_t i = 0; i < names.n; i++)
        if (!using_column(p, l, r, both, names.at[i], ref->join.kind == WR_AST_JOIN_RIGHT, cond, full)) return false;
    return true;
}

/* STATE_TTL('alias' = '1 d') and SPLIT('alias' = '8') of the SELECT for the sides of a join. */
void pl_join_hints(pl *p, lnode *j, const scope *l, const scope *r) {
    if (!p->hints) return;
    for (uint32_t h = 0; h < p->hints->n; h++) {
        const wr_ast_hint *hint = &p->hints->at[h];
        bool split = wr_str_ieq(hint->name.text, WR_STR("SPLIT")), ttl = wr_str_ieq(hint->name.text, WR_STR("STATE_TTL"));
        for (uint32_t a = 0; (split || ttl) && a < hint->args.n; a++) {
            int64_t us = 0;
            if (ttl && (!hint->args.at[a].value.text.ptr || !wr_parse_duration(hint->args.at[a].value.text, &us))) continue;
            for (uint32_t side = 0; side < 2; side++) {
                const scope *s = side ? r : l;
                for (uint32_t i = 0; i < s->rels.n; i++) {
                    if (!wr_str_eq(s->rels.at[i].alias, hint->args.at[a].key.text)) continue;
                    if (ttl) j->join.ttl_us[side] = us;
                    else pl_split_hint(p, j, side, &hint->args.at[a]);
                }
            }
        }
    }
}

static bool is_processing_time(const wr_expr *t) { return t->type.attr == WR_TIME_PROCTIME || wr_expr_is_call(t, "PROCTIME"); }

static bool temporal(pl *p, lnode *j, const wr_ast_expr *as_of, const wr_expr *t, const lnode *left) {
    if (is_processing_time(t)) {
        j->join.temporal = true;
        if (j->join.kind == WR_JOIN_INNER || j->join.kind == WR_JOIN_LEFT) return true;
        return pl_error(p, "0A000", as_of->at, "a lookup join is INNER or LEFT, not %s", wr_join_kind_name(j->join.kind)), false;
    }
    if (t->kind != WR_E_COL || left->schema.fields[t->col].type.attr != WR_TIME_ROWTIME) {
        pl_error(p, "42804", as_of->at, "FOR SYSTEM_TIME AS OF needs the event-time column of the left side");
        wr_diags_hint(p->diags, "declare a WATERMARK on it; expressions, GROUP BY and regular joins make a time column plain");
        return false;
    }
    if (j->join.kind != WR_JOIN_INNER && j->join.kind != WR_JOIN_LEFT)
        return pl_error(p, "0A000", as_of->at, "a temporal join is INNER or LEFT, not %s", wr_join_kind_name(j->join.kind)), false;
    j->join.temporal = true;
    j->join.as_of = t->col;
    return true;
}

/* A join with what is made from the left row: ON may filter an inner one; a LEFT one says ON TRUE, as in Flink. */
static bool of_left_row(pl *p, const wr_ast_ref *ref, const char *what, wr_join_kind kind, wr_span at) {
    if (kind != WR_JOIN_INNER && kind != WR_JOIN_LEFT) return pl_error(p, "0A000", at, "%s takes CROSS JOIN or LEFT JOIN, not %s JOIN", what, wr_join_kind_name(kind)), false;
    if (ref->join.natural || ref->join.using.n) return pl_error(p, "42601", at, "a join with %s takes ON, not USING or NATURAL", what), false;
    return true;
}

static lnode *on_of_left_row(pl *p, const wr_ast_ref *ref, const char *what, wr_join_kind kind, lnode *n, scope *sc, pcte *ctes) {
    if (!n || !ref->join.on) return n;
    bind     b = {.p = p, .sc = sc, .clause = "ON", .ctes = ctes};
    wr_expr *cond = pl_bind_condition(&b, ref->join.on);
    if (!cond) return NULL;
    if (cond->kind == WR_E_CONST && !cond->value.null && cond->value.b) return n;
    if (kind == WR_JOIN_INNER) return pl_filter(p, n, cond, cond->at);
    pl_error(p, "0A000", cond->at, "LEFT JOIN %s takes ON TRUE only", what);
    wr_diags_hint(p->diags, "filter in WHERE, or INNER JOIN %s with a condition", what);
    return NULL;
}

static lnode *bind_unnest(pl *p, const wr_ast_ref *ref, pcte *ctes, lnode *left, scope *l, wr_join_kind kind, scope *sc) {
    if (!of_left_row(p, ref, "UNNEST", kind, ref->join.op_at.line ? ref->join.op_at : ref->at)) return NULL;
    lnode *n = pl_bind_unnest(p, left, l, ref->join.right, ctes, kind == WR_JOIN_LEFT, sc);
    return on_of_left_row(p, ref, "UNNEST", kind, n, sc, ctes);
}

static bool is_user_table(const pl *p, const wr_ast_ref *ref) { return ref->kind == WR_AST_REF_FUNCTION && pl_user_function(p, &ref->call->call.name); }

static lnode *bind_table_function(pl *p, const wr_ast_ref *ref, pcte *ctes, lnode *left, scope *l, wr_join_kind kind, scope *sc) {
    if (!of_left_row(p, ref, "a table function", kind, ref->join.op_at.line ? ref->join.op_at : ref->at)) return NULL;
    lnode *n = pl_bind_table_function(p, left, l, ref->join.right, ctes, kind == WR_JOIN_LEFT, sc);
    return on_of_left_row(p, ref, "LATERAL TABLE", kind, n, sc, ctes);
}

static lnode *bind_lateral(pl *p, const wr_ast_ref *ref, pcte *ctes, lnode *left, scope *l, wr_join_kind kind, scope *sc) {
    if (!of_left_row(p, ref, "LATERAL", kind, ref->join.op_at.line ? ref->join.op_at : ref->at)) return NULL;
    lnode *n = pl_bind_lateral(p, left, l, ref->join.right, ctes, kind, sc);
    return on_of_left_row(p, ref, "LATERAL", kind, n, sc, ctes);
}

static const wr_ast_expr *as_of_of(const wr_ast_ref *ref) {
    return ref->kind == WR_AST_REF_NAME ? ref->table.as_of : ref->kind == WR_AST_REF_QUERY ? ref->derived.as_of : NULL;
}

static lnode *bind_join(pl *p, const wr_ast_ref *ref, pcte *ctes, scope *sc) {
    static const wr_join_kind KINDS[] = {WR_JOIN_INNER, WR_JOIN_LEFT, WR_JOIN_RIGHT, WR_JOIN_FULL, WR_JOIN_INNER, WR_JOIN_INNER};
    scope              l = {0}, r = {0};
    const wr_ast_expr *as_of = as_of_of(ref->join.right);
    lnode *left = pl_bind_ref(p, ref->join.left, ctes, &l);
    if (left && ref->join.right->kind == WR_AST_REF_UNNEST) return bind_unnest(p, ref, ctes, left, &l, KINDS[ref->join.kind], sc);
    if (left && is_user_table(p, ref->join.right)) return bind_table_function(p, ref, ctes, left, &l, KINDS[ref->join.kind], sc);
    if (left && ref->join.right->kind == WR_AST_REF_QUERY && ref->join.right->lateral) return bind_lateral(p, ref, ctes, left, &l, KINDS[ref->join.kind], sc);
    bind     at = {.p = p, .sc = &l, .clause = "FOR SYSTEM_TIME AS OF"};
    wr_expr *t = left && as_of ? pl_bind_expr(&at, as_of) : NULL;
    if (left && as_of && !t) return NULL;
    bool is_lookup = t && is_processing_time(t);
    p->for_lookup = is_lookup;
    p->joined = ref->join.right;
    lnode *right = pl_bind_ref(p, ref->join.right, ctes, &r);
    p->for_lookup = false;
    if (!left || !right) return NULL;
    if (is_lookup && right->kind != L_SCAN) {
        pl_error(p, "0A000", as_of->at, "FOR SYSTEM_TIME AS OF processing time: '%.*s' must be a table", WR_FMT(pl_label(right)));
        wr_diags_hint(p->diags, "views and subqueries cannot be asked by key: join the table, and write their conditions into ON or WHERE");
        return NULL;
    }
    *sc = pl_merge_scopes(p, &l, &r);
    wr_expr   *cond = NULL;
    using_cols full = {0};
    if (!using_list(p, ref, &l, &r, sc, &cond, &full)) return NULL;
    if (ref->join.on) {
        bind b = {.p = p, .sc = sc, .clause = "ON", .ctes = ctes};
        if (!(cond = pl_bind_condition(&b, ref->join.on))) return NULL;
        if (cond->kind == WR_E_CONST && !cond->value.null && cond->value.b) cond = NULL; /* ON TRUE */
    }
    lnode *j = pl_join(p, left, right, KINDS[ref->join.kind], cond, ref->join.op_at.line ? ref->join.op_at : ref->at);
    pl_join_hints(p, j, &l, &r);
    if (t && !temporal(p, j, as_of, t, left)) return NULL;
    if (is_lookup && !(j->join.lookup = pl_lookup_hint(p, right->scan.table->name, r.rels.at[0].alias))) return NULL;
    if (full.n && !(j = merged_columns(p, j, sc, full.cols, full.names, full.n))) return NULL;
    for (uint32_t i = 0; i < sc->rels.n; i++) sc->rels.at[i].fields = j->schema.fields + sc->rels.at[i].first; /* nullability of outer joins */
    return j;
}

static lnode *hinted(pl *p, const wr_ast_ref *ref) { /* a table with OPTIONS('key' = 'value') behind it */
    const wr_table *t = pl_find_table(p, &ref->table.name, "table");
    if (!t) return NULL;
    if (t->is_view) return pl_error(p, "42809", ref->hints.at[0].name.at, "OPTIONS is for tables, but '%.*s' is a view", WR_FMT(t->name));
    t = pl_table_with(p, t, &ref->hints);
    return t ? scan(p, t, ref->table.name.at) : NULL;
}

lnode *pl_bind_ref(pl *p, const wr_ast_ref *ref, pcte *ctes, scope *sc) {
    lnode *n = NULL;
    wr_str alias = ref->alias.text;
    if (as_of_of(ref) && ref != p->joined) {
        pl_error(p, "0A000", as_of_of(ref)->at, "FOR SYSTEM_TIME AS OF is for the right side of a JOIN: a table alone has no earlier versions to read");
        wr_diags_hint(p->diags, "FROM a JOIN b FOR SYSTEM_TIME AS OF a.ts AS b ON a.k = b.k");
        return NULL;
    }
    switch (ref->kind) {
    case WR_AST_REF_JOIN: return bind_join(p, ref, ctes, sc);
    case WR_AST_REF_NAME:
        n = ref->hints.n ? hinted(p, ref) : named(p, &ref->table.name, ctes);
        if (!alias.ptr) alias = ref->table.name.part[ref->table.name.n - 1].text;
        break;
    case WR_AST_REF_QUERY:
        n = pl_bind_query(p, ref->derived.query, ctes, false);
        break;
    case WR_AST_REF_FUNCTION:
        if (is_user_table(p, ref)) {
            scope none = {0};
            return pl_bind_table_function(p, pl_one_row(p, ref->at), &none, ref, ctes, false, sc);
        }
        n = pl_bind_tvf(p, ref, ctes);
        break;
    case WR_AST_REF_UNNEST: {
        scope none = {0};
        return pl_bind_unnest(p, pl_one_row(p, ref->at), &none, ref, ctes, false, sc);
    }
    case WR_AST_REF_MATCH: n = pl_bind_match(p, ref, ctes); break;
    }
    if (!n) return NULL;
    n = pl_rename_columns(p, n, &ref->columns, ref->at);
    if (!n) return NULL;
    if (!alias.ptr) alias = WR_STR("");
    if (alias.len && !wr_str_eq(alias, n->label)) {
        wr_str was = n->label;
        lnode *copy = wr_new(p->arena, lnode);
        *copy = *n;
        copy->label = was.len && n->kind != L_CALC ? pl_printf(p, "%.*s AS %.*s", WR_FMT(was), WR_FMT(alias)) : alias;
        n = copy;
    }
    pl_add_rel(p, sc, alias, n);
    return n;
}

/* ---- subqueries in WHERE ---- */

bool pl_is_subquery_conjunct(const wr_ast_expr *e, bool *negated, const wr_ast_expr **inner) {
    *negated = false;
    while (e->kind == WR_AST_UNARY && e->unary.op == WR_AST_NOT) *negated = !*negated, e = e->unary.arg;
    *inner = e;
    if (e->kind == WR_AST_IN && e->in.query) return *negated ^= e->in.negated, true;
    return e->kind == WR_AST_EXISTS;
}

static bool can_open(const wr_ast_query *q) {
    return q->kind == WR_AST_QUERY_SELECT && !q->with.n && !q->limit && !q->offset && !q->select.has_group_by && !q->select.having && !q->select.qualify &&
           q->select.from && q->select.items.n >= 1;
}

static bool has_agg(const pl *p, const wr_ast_query *q) {
    for (uint32_t i = 0; i < q->select.items.n; i++) {
        const wr_ast_expr *e = q->select.items.at[i].expr;
        if (pl_is_agg_call(p, e) || pl_is_composed_agg(e) || (e->kind == WR_AST_CALL && e->call.over)) return true;
    }
    return false;
}

bool pl_can_correlate(const wr_ast_query *q) { return can_open(q); }

static bool open_subquery(bind *b, const wr_ast_query *q, subquery *s) {
    s->q = q;
    if (can_open(q) && !has_agg(b->p, q)) return pl_open_subquery(b, q, s);
    return (s->node = pl_bind_query(b->p, q, b->ctes, false)) != NULL;
}

bool pl_open_subquery(bind *b, const wr_ast_query *q, subquery *s) {
    pl *p = b->p;
    s->q = q;
    s->open = true;
    lnode *n = pl_bind_ref(p, q->select.from, b->ctes, &s->sc);
    if (!n) return false;
    s->node = n;
    s->sc.outer = b->sc;
    s->sc.outer_base = s->sc.n;
    if (!q->select.where) return true;
    bind               in = {.p = p, .sc = &s->sc, .clause = "WHERE", .ctes = b->ctes};
    const wr_ast_expr *w = q->select.where;
    uint32_t           n_parts = w->kind == WR_AST_LOGIC && w->logic.op == WR_AST_AND ? w->logic.args.n : 1;
    wr_exprs           own = {0}, correlated = {0};
    for (uint32_t i = 0; i < n_parts; i++) {
        const wr_ast_expr *part = n_parts > 1 ? w->logic.args.at[i] : w, *inner;
        bool               negated;
        if (pl_is_subquery_conjunct(part, &negated, &inner)) {
            scope flat = s->sc;
            flat.outer = NULL;
            bind nested = {.p = p, .sc = &flat, .clause = "WHERE", .ctes = b->ctes};
            if (!(s->node = pl_bind_subquery_conjunct(&nested, s->node, inner, negated))) return false;
            continue;
        }
        wr_expr *e = pl_bind_condition(&in, part);
        if (!e) return false;
        wr_exprs *list = pl_uses(e, s->sc.n, UINT32_MAX) ? &correlated : &own;
        wr_arr_apush(p->arena, list, e);
    }
    s->cond = wr_expr_and(&p->ec, correlated.at, correlated.n);
    s->node = pl_filter(p, s->node, wr_expr_and(&p->ec, own.at, own.n), w->at);
    return true;
}

/* Column i of n of the subquery of x IN (..), over the subquery's node. */
static wr_expr *in_column(bind *b, subquery *s, uint32_t i, uint32_t n, wr_span at) {
    if (!s->open) {
        if (s->node->schema.n != n) return pl_error(b->p, "42601", at, "the subquery of IN must have %u column%s, not %u", n, n == 1 ? "" : "s", s->node->schema.n);
        return pl_col(b->p, s->node, i, at);
    }
    const wr_ast_select *q = &s->q->select;
    if (q->items.n == 1 && q->items.at[0].expr->kind == WR_AST_STAR && s->node->schema.n == n) return pl_col(b->p, s->node, i, at);
    if (q->items.n != n || q->items.at[i].expr->kind == WR_AST_STAR) return pl_error(b->p, "42601", at, "the subquery of IN must have %u column%s", n, n == 1 ? "" : "s");
    bind in = {.p = b->p, .sc = &s->sc, .clause = "SELECT", .ctes = b->ctes};
    return pl_bind_expr(&in, q->items.at[i].expr);
}

/* x = subquery column, for each column of (a, b) IN (SELECT c, d ...). */
static wr_expr *in_condition(bind *b, subquery *s, const wr_ast_expr *e, uint32_t n_inner, uint32_t n_outer) {
    pl                *p = b->p;
    const wr_ast_expr *arg = e->in.arg;
    bool               row = arg->kind == WR_AST_ROW;
    uint32_t           n = row ? arg->row.args.n : 1;
    wr_expr           *cond = NULL;
    for (uint32_t i = 0; i < n; i++) {
        wr_expr *item = in_column(b, s, i, n, e->at), *x = pl_bind_expr(b, row ? arg->row.args.at[i] : arg);
        if (!item || !x) return NULL;
        if (pl_uses(item, n_inner, UINT32_MAX)) return pl_unsupported(p, e->at, "select a column of the subquery's own table", "an outer column in the SELECT of an IN subquery");
        wr_expr *eq = pl_call(p, "=", e->at, 2, x, pl_shift(p, item, n_inner, (int32_t)n_outer));
        if (!eq) return NULL;
        cond = pl_and(p, cond, eq);
    }
    return cond;
}

/* inner ++ outer -> outer ++ inner */
static wr_expr *swap_sides(pl *p, const wr_expr *e, uint32_t n_inner, uint32_t n_outer) {
    uint32_t *map = wr_new_n(p->arena, uint32_t, n_inner + n_outer);
    for (uint32_t i = 0; i < n_inner; i++) map[i] = n_outer + i;
    for (uint32_t i = 0; i < n_outer; i++) map[n_inner + i] = i;
    return wr_expr_remap(p->arena, e, map);
}

/* Over outer ++ inner; what earlier conditions have let through is asked of the nodes. */
static bool can_be_null(const wr_expr *e, const lnode *outer, const lnode *inner) {
    if (e->kind == WR_E_COL) {
        const lnode *n = e->col < outer->schema.n ? outer : inner;
        return n->schema.fields[n == outer ? e->col : e->col - outer->schema.n].type.nullable;
    }
    if (!wr_expr_is_call(e, "=") && !wr_expr_is_call(e, "AND") && !wr_expr_is_call(e, "CAST")) return e->type.nullable;
    bool any = false; /* these are NULL only if an argument is */
    for (uint32_t i = 0; i < e->n_args; i++) any |= can_be_null(e->args[i], outer, inner);
    return any;
}

lnode *pl_bind_subquery_conjunct(bind *b, lnode *in, const wr_ast_expr *e, bool negated) {
    pl      *p = b->p;
    subquery s = {0};
    bool     is_in = e->kind == WR_AST_IN;
    if (!open_subquery(b, is_in ? e->in.query : e->query, &s)) return NULL;
    uint32_t n_inner = s.node->schema.n, n_outer = in->schema.n;
    wr_expr *cond = s.cond ? swap_sides(p, s.cond, n_inner, n_outer) : NULL;
    bool nulls = false;
    if (is_in) {
        wr_expr *eq = in_condition(b, &s, e, n_inner, n_outer);
        if (!eq) return NULL;
        nulls = can_be_null(eq, in, s.node);
        if (negated && nulls && e->in.arg->kind == WR_AST_ROW) return pl_unsupported(p, e->at, "write NOT EXISTS with the columns compared", "NOT IN with several columns that can be NULL");
        cond = pl_and(p, eq, cond);
    }
    lnode *j = pl_join(p, in, s.node, negated ? WR_JOIN_ANTI : WR_JOIN_SEMI, cond, e->at);
    j->join.null_aware = is_in && negated && nulls;
    j->join.is_subquery = true;
    j->label = in->label;
    pl_join_hints(p, j, b->sc, &s.sc);
    return j;
}

/* ---- set operations, VALUES ---- */

static lnode *coerce_columns(pl *p, lnode *n, const wr_type *types, const wr_str *names, wr_span at) {
    wr_expr **exprs = pl_identity(p, n);
    bool      ok = true;
    for (uint32_t i = 0; i < n->schema.n; i++) {
        if (!wr_type_same(n->schema.fields[i].type, types[i])) ok &= (exprs[i] = wr_expr_coerce(&p->ec, exprs[i], types[i], "a branch of UNION")) != NULL;
        else if (exprs[i]->type.attr != types[i].attr) exprs[i]->type.attr = types[i].attr;
    }
    return ok ? pl_calc(p, n, NULL, exprs, names, n->schema.n, at) : NULL;
}

lnode *pl_distinct(pl *p, lnode *in, wr_span at) {
    lnode *a = pl_node(p, L_AGG, at, 1, in, NULL);
    a->agg.n_keys = in->schema.n;
    a->agg.keys = wr_new_n(p->arena, uint32_t, in->schema.n);
    for (uint32_t i = 0; i < in->schema.n; i++) a->agg.keys[i] = i;
    a->agg.is_distinct = true;
    a->agg.ttl_us = -1;
    a->schema = in->schema;
    a->label = in->label;
    return a;
}

/* INTERSECT and EXCEPT: the distinct rows of the left with (without) an equal row on the right, NULL equal to NULL. */
static lnode *distinct_match(pl *p, const wr_ast_query *q, lnode *l, lnode *r) {
    lnode   *d = pl_distinct(p, l, q->set.op_at);
    wr_expr *cond = NULL;
    r = pl_distinct(p, r, q->set.op_at); /* one row a value is enough to keep */
    for (uint32_t i = 0; i < l->schema.n; i++) {
        wr_expr *same = pl_call(p, "IS_NOT_DISTINCT", q->set.op_at, 2, pl_col(p, d, i, q->set.op_at), wr_expr_col(p->arena, l->schema.n + i, r->schema.fields[i].type, q->set.op_at));
        if (!same) return NULL;
        cond = pl_and(p, cond, same);
    }
    lnode *j = pl_join(p, d, r, q->set.op == WR_AST_INTERSECT ? WR_JOIN_SEMI : WR_JOIN_ANTI, cond, q->set.op_at);
    j->join.is_subquery = true;
    j->label = l->label;
    return j;
}

static lnode *bind_set(pl *p, const wr_ast_query *q, pcte *ctes) {
    const char *name = q->set.op == WR_AST_UNION ? "UNION" : q->set.op == WR_AST_INTERSECT ? "INTERSECT" : "EXCEPT";
    lnode *l = pl_bind_query(p, q->left, ctes, false), *r = pl_bind_query(p, q->set.right, ctes, false);
    if (!l || !r) return NULL;
    if (l->schema.n != r->schema.n)
        return pl_error(p, "42601", q->set.op_at, "the branches of %s have %u and %u columns", name, l->schema.n, r->schema.n);
    wr_type  *types = wr_new_n(p->arena, wr_type, l->schema.n);
    wr_field *fields = wr_new_n(p->arena, wr_field, l->schema.n);
    wr_str   *names = pl_names(p, l);
    for (uint32_t i = 0; i < l->schema.n; i++) {
        if (!wr_type_common(l->schema.fields[i].type, r->schema.fields[i].type, &types[i])) {
            wr_sbuf a = {0}, b = {0};
            wr_type_text(l->schema.fields[i].type, &a);
            wr_type_text(r->schema.fields[i].type, &b);
            pl_error(p, "42804", q->set.op_at, "column %u of %s is %.*s on one side and %.*s on the other", i + 1, name, WR_FMT(wr_sbuf_str(&a)), WR_FMT(wr_sbuf_str(&b)));
            wr_sbuf_free(&a);
            wr_sbuf_free(&b);
            return NULL;
        }
        fields[i] = (wr_field){names[i], types[i]};
    }
    l = coerce_columns(p, l, types, names, q->left->at);
    r = coerce_columns(p, r, types, names, q->set.right->at);
    if (!l || !r) return NULL;
    if (q->set.op != WR_AST_UNION) return q->set.all ? pl_match_all(p, q, l, r) : distinct_match(p, q, l, r);
    lnode *u = pl_node(p, L_UNION, q->set.op_at, 2, l, r);
    u->schema = (wr_schema){l->schema.n, fields};
    return q->set.all ? u : pl_distinct(p, u, q->set.op_at);
}

static lnode *bind_values(pl *p, const wr_ast_query *q) {
    uint32_t  n = q->rows.n, width = n ? q->rows.at[0]->row.args.n : 0;
    wr_expr **cells = wr_new_n(p->arena, wr_expr *, n * width);
    scope     sc = {0};
    bind      b = {.p = p, .sc = &sc, .clause = "VALUES"};
    bool      ok = true;
    for (uint32_t r = 0; r < n; r++) {
        const wr_ast_expr *row = q->rows.at[r];
        if (row->row.args.n != width) return pl_error(p, "42601", row->at, "VALUES: this row has %u columns, the first has %u", row->row.args.n, width);
        for (uint32_t c = 0; c < width; c++) ok &= (cells[r * width + c] = pl_bind_expr(&b, row->row.args.at[c])) != NULL;
    }
    if (!ok) return NULL;
    lnode    *v = pl_node(p, L_VALUES, q->at, 0, NULL, NULL);
    wr_field *fields = wr_new_n(p->arena, wr_field, width);
    v->values.n_rows = n;
    v->values.rows = wr_new_n(p->arena, wr_value, n * width);
    for (uint32_t c = 0; c < width; c++) {
        wr_type t = cells[c]->type;
        for (uint32_t r = 1; r < n; r++)
            if (!wr_type_common(t, cells[r * width + c]->type, &t)) return pl_error(p, "42804", cells[r * width + c]->at, "VALUES: column %u has no common type", c + 1);
        fields[c] = (wr_field){pl_printf(p, "EXPR$%u", c), t};
        for (uint32_t r = 0; r < n; r++) {
            wr_expr *e = cells[r * width + c];
            wr_err   err = {0};
            if (!wr_type_same(e->type, t)) e = wr_expr_coerce(&p->ec, e, t, "VALUES");
            if (!e) return NULL;
            if (wr_expr_eval_const(&p->ec, e, &v->values.rows[r * width + c], &err) != WR_OK)
                return pl_error(p, err.code[0] ? err.code : "22000", e->at, "%s", err.message);
            v->values.rows[r * width + c].type = t;
        }
    }
    v->schema = (wr_schema){width, fields};
    v->label = WR_STR("VALUES");
    return v;
}

/* ---- a whole query ---- */

bool pl_constant_count(pl *p, const wr_ast_expr *e, const char *what, uint64_t *out) {
    if (!e) return true;
    if (e->kind == WR_AST_LITERAL && e->lit.kind == WR_LIT_INTEGER && e->lit.text.len < 19) {
        *out = 0;
        for (size_t i = 0; i < e->lit.text.len; i++) *out = *out * 10 + (uint64_t)(e->lit.text.ptr[i] - '0');
        return true;
    }
    pl_error(p, "22023", e->at, "%s must be a whole number", what);
    return false;
}

/* ORDER BY over the output columns of VALUES or a set operation: names, numbers, or expressions, which become hidden columns. */
static bool order_by_output(pl *p, const wr_ast_orders *orders, lnode **node, sel_order *so) {
    lnode       *n = *node;
    wr_sort_key *keys = so->keys;
    uint32_t     width = n->schema.n;
    wr_expr    **exprs = wr_new_n(p->arena, wr_expr *, width + orders->n);
    wr_str      *names = wr_new_n(p->arena, wr_str, width + orders->n);
    scope sc = {0};
    for (uint32_t i = 0; i < width; i++) exprs[i] = pl_col(p, n, i, n->at), names[i] = n->schema.fields[i].name;
    pl_add_rel(p, &sc, WR_STR(""), n);
    bind b = {.p = p, .sc = &sc, .clause = "ORDER BY"};
    for (uint32_t i = 0; i < orders->n; i++) {
        const wr_ast_order *o = &orders->at[i];
        uint64_t            ordinal = 0;
        if (o->expr->kind == WR_AST_LITERAL) {
            if (!pl_constant_count(p, o->expr, "a column number in ORDER BY", &ordinal)) return false;
            if (ordinal < 1 || ordinal > n->schema.n) return pl_error(p, "42P10", o->at, "ORDER BY: there is no column %u", (unsigned)ordinal), false;
            keys[i].col = (uint32_t)ordinal - 1;
        } else {
            wr_expr *e = pl_bind_expr(&b, o->expr);
            if (!e) return false;
            keys[i].col = e->kind == WR_E_COL ? e->col : width + so->n_hidden;
            if (e->kind != WR_E_COL) exprs[keys[i].col] = e, names[keys[i].col] = pl_printf(p, "order %u", i + 1), so->n_hidden++;
        }
        if (!pl_can_order(p, exprs[keys[i].col]->type, o->expr->at)) return false;
        keys[i].desc = o->desc;
        keys[i].nulls_last = o->nulls < 0 ? o->desc : o->nulls == 1;
    }
    if (so->n_hidden) *node = pl_calc(p, n, NULL, exprs, names, width + so->n_hidden, n->at);
    return true;
}

/* The last of a query is ORDER BY and LIMIT; with `sorted` the order is not a step of the plan but the receiver's. */
static lnode *order_and_limit(pl *p, const wr_ast_query *q, lnode *n, const sel_order *so, sorted_query *sorted) {
    uint64_t limit = UINT64_MAX, offset = 0;
    if (!pl_constant_count(p, q->limit, "LIMIT", &limit) || !pl_constant_count(p, q->offset, "OFFSET", &offset)) return NULL;
    bool     cut = q->limit || q->offset;
    uint32_t visible = n->schema.n - so->n_hidden;
    if (sorted) *sorted = (sorted_query){.n_hidden = so->n_hidden, .n_order = q->order_by.n, .order = so->keys};
    if (q->order_by.n && (cut || !sorted)) {
        lnode *s = pl_node(p, cut ? L_TOP_N : L_SORT, q->order_by.at[0].at, 1, n, NULL);
        s->schema = n->schema;
        s->rank.n_order = q->order_by.n;
        s->rank.order = so->keys;
        s->rank.first = offset + 1;
        s->rank.last = limit == UINT64_MAX ? INT64_MAX : offset + limit;
        s->rank.window_end = -1;
        s->rank.time_col = -1;
        n = s;
    } else if (cut) {
        lnode *l = pl_node(p, L_LIMIT, (q->limit ? q->limit : q->offset)->at, 1, n, NULL);
        l->schema = n->schema;
        l->limit.offset = offset;
        l->limit.n = limit;
        n = l;
    }
    if (!so->n_hidden || sorted) return n;
    return pl_calc(p, n, NULL, pl_identity(p, n), pl_names(p, n), visible, q->at);
}

static lnode *bind_query(pl *p, const wr_ast_query *q, pcte *ctes, bool top, sorted_query *sorted) {
    if (q->recursive) return pl_unsupported(p, q->at, NULL, "WITH RECURSIVE");
    for (uint32_t i = 0; i < q->with.n; i++) {
        pcte *c = wr_new(p->arena, pcte);
        c->ast = &q->with.at[i];
        c->next = ctes;
        ctes = c;
    }
    sel_order so = {.orders = &q->order_by, .keys = wr_new_n(p->arena, wr_sort_key, q->order_by.n)};
    lnode    *n = NULL;
    switch (q->kind) {
    case WR_AST_QUERY_SELECT: n = pl_bind_select(p, q, ctes, &so); break;
    case WR_AST_QUERY_VALUES: n = bind_values(p, q); break;
    case WR_AST_QUERY_TABLE: n = named(p, &q->table, ctes); break;
    case WR_AST_QUERY_SET: n = bind_set(p, q, ctes); break;
    case WR_AST_QUERY_NESTED: n = bind_query(p, q->left, ctes, top, q->order_by.n || q->limit || q->offset ? NULL : sorted); break;
    }
    if (!n) return NULL;
    if (q->kind != WR_AST_QUERY_SELECT && !order_by_output(p, &q->order_by, &n, &so)) return NULL;
    if (sorted && q->kind == WR_AST_QUERY_NESTED && !q->order_by.n && !q->limit && !q->offset) return n; /* it said */
    return order_and_limit(p, q, n, &so, sorted);
}

lnode *pl_bind_query(pl *p, const wr_ast_query *q, pcte *ctes, bool top) { return bind_query(p, q, ctes, top, NULL); }

bool pl_bind_sorted(pl *p, const wr_ast_query *q, sorted_query *out) {
    out->root = bind_query(p, q, NULL, true, out);
    return out->root != NULL;
}
