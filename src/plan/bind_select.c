/* plan/bind_select.c: one SELECT: WHERE, GROUP BY, HAVING, OVER, QUALIFY, the list, DISTINCT -> logical nodes.
 *
 * Idea       every expression is bound once over the FROM columns; aggregates, OVER calls and TUMBLE_START and the like become placeholder
 *            columns behind them (agg_env). After grouping, `regroup` rewrites each bound tree: a sub-tree equal to a group key becomes
 *            the key's column, a placeholder its column; any other input column is "not being grouped".
 * Invariant  what is not a plain column is computed in a calc below the aggregation or the ranking.
 * Memory     the arena of the plan.                                                                                   */
#include "plan/logical.h"

typedef struct sel {
    pl      *p;
    const wr_ast_select *s;
    const wr_ast_query  *q;
    scope    sc;
    agg_env  env;
    bind     b;
    lnode   *node;         /* built so far */
    bool     is_agg;
    int64_t  ttl_us;       /* STATE_TTL of a SELECT that does not aggregate: for its OVER and DISTINCT; -1 = none */
    WR_ARR(wr_expr *) items; /* bound select list, stars expanded; then hidden ORDER BY expressions */
    WR_ARR(wr_str) names;
    uint32_t n_visible;
    wr_expr *having, *qualify;
    wr_expr **group;       /* bound keys */
    uint32_t n_group;
    wr_window window;      /* legacy group window */
    wr_expr *window_time;
    uint32_t *ph_col;      /* column of each placeholder, once known */
} sel;

static bool join_scalars(sel *x) {
    if (x->s->where && !pl_join_scalars(&x->b, &x->node, x->s->where, x->s)) return false;
    for (uint32_t i = 0; i < x->s->items.n; i++)
        if (!pl_join_scalars(&x->b, &x->node, x->s->items.at[i].expr, x->s)) return false;
    return !x->s->having || pl_join_scalars(&x->b, &x->node, x->s->having, x->s);
}

static bool bind_from_where(sel *x, pcte *ctes) {
    pl *p = x->p;
    if (x->s->from) {
        x->node = pl_bind_ref(p, x->s->from, ctes, &x->sc);
    } else {
        x->node = pl_one_row(p, x->q->at);
        x->sc.n = 1;
    }
    if (!x->node) return false;
    x->b = (bind){.p = p, .sc = &x->sc, .clause = "WHERE", .ctes = ctes};
    if (!join_scalars(x)) return false;
    const wr_ast_expr *w = x->s->where;
    if (!w) return true;
    uint32_t n = w->kind == WR_AST_LOGIC && w->logic.op == WR_AST_AND ? w->logic.args.n : 1;
    wr_exprs plain = {0};
    bool     ok = true;
    for (int pass = 0; pass < 2; pass++) { /* plain conditions first: they make the semi joins smaller */
        for (uint32_t i = 0; i < n; i++) {
            const wr_ast_expr *part = n > 1 ? w->logic.args.at[i] : w, *inner;
            bool               negated, is_sub = pl_is_subquery_conjunct(part, &negated, &inner);
            if (is_sub != (pass == 1)) continue;
            if (is_sub) {
                lnode *j = pl_bind_subquery_conjunct(&x->b, x->node, inner, negated);
                if (!j) return false;
                x->node = j;
            } else {
                wr_expr *e = pl_bind_condition(&x->b, part);
                if (e) wr_arr_apush(p->arena, &plain, e);
                else ok = false;
            }
        }
        if (pass == 0) x->node = pl_filter(p, x->node, wr_expr_and(&p->ec, plain.at, plain.n), w->at); /* one filter: a chain of 50,000 is no tower of nodes */
    }
    return ok;
}

static bool is_group_window(const wr_ast_expr *e) {
    if (e->kind != WR_AST_CALL || e->call.name.n != 1) return false;
    wr_str n = e->call.name.part[0].text;
    return wr_str_ieq(n, WR_STR("TUMBLE")) || wr_str_ieq(n, WR_STR("HOP")) || wr_str_ieq(n, WR_STR("SESSION"));
}

static bool bind_key(sel *x, const wr_ast_expr *e, wr_exprs *keys) {
    if (is_group_window(e)) {
        if (x->env.group_window == e) return true; /* of another grouping */
        if (x->env.group_window) return pl_error(x->p, "42803", e->at, "only one group window is possible in a GROUP BY"), false;
        x->env.group_window = e;
        return pl_group_window(&x->b, e, &x->window, &x->env.window_time_type, &x->window_time);
    }
    wr_expr *bound = pl_bind_expr(&x->b, e);
    if (!bound) return false;
    for (uint32_t m = 0; m < keys->n; m++)
        if (wr_expr_equal(keys->at[m], bound)) return true;
    wr_arr_apush(x->p->arena, keys, bound);
    return true;
}

/* The keys of this grouping, and those that only other groupings have. */
static bool bind_group_by(sel *x, const groupings *sets, uint32_t which) {
    wr_exprs keys = {0}, all = {0}, absent = {0};
    bool     ok = true;
    x->b.clause = "GROUP BY";
    if (!sets->n)
        for (uint32_t i = 0; i < x->s->group_by.n; i++)
            for (uint32_t k = 0; k < x->s->group_by.at[i]->exprs.n; k++) ok &= bind_key(x, x->s->group_by.at[i]->exprs.at[k], &keys);
    for (uint32_t k = 0; sets->n && k < sets->at[which].n; k++) ok &= bind_key(x, sets->at[which].at[k], &keys);
    for (uint32_t i = 0; i < sets->n && ok; i++)
        for (uint32_t k = 0; k < sets->at[i].n; k++) ok &= bind_key(x, sets->at[i].at[k], &all);
    for (uint32_t i = 0; i < all.n; i++) {
        bool mine = false;
        for (uint32_t k = 0; k < keys.n; k++) mine |= wr_expr_equal(all.at[i], keys.at[k]);
        if (!mine) wr_arr_apush(x->p->arena, &absent, all.at[i]);
    }
    x->env.keys = x->group = keys.at;
    x->env.n_keys = x->n_group = keys.n;
    x->env.absent = absent.at;
    x->env.n_absent = absent.n;
    return ok;
}

/* t.r.*: the fields of a ROW. False: the name is no column. */
static bool add_fields(sel *x, const wr_ast_expr *e, bool *ok) {
    uint32_t used;
    wr_type  type;
    if (pl_resolve_column(&x->b, &e->name, &used, &type, false) < 0) return false;
    wr_ast_expr column = {.kind = WR_AST_COLUMN, .depth = 1, .at = e->at, .name = e->name};
    wr_expr    *row = pl_bind_expr(&x->b, &column);
    *ok = row != NULL;
    if (row && row->type.id != WR_T_ROW) *ok = pl_error(x->p, "42809", e->at, "'%.*s.*' needs a ROW", WR_FMT(e->name.part[e->name.n - 1].text));
    for (uint32_t i = 0; *ok && i < row->type.n_kids; i++) {
        wr_value name = {.type = wr_type_not_null(wr_type_prec(WR_T_CHAR, (int32_t)wr_utf8_chars(row->type.names[i]))), .s = row->type.names[i]};
        wr_expr *field = pl_call(x->p, "FIELD", e->at, 2, row, wr_expr_const(x->p->arena, name, e->at));
        if (!field) return *ok = false, true;
        wr_arr_apush(x->p->arena, &x->items, field);
        wr_arr_apush(x->p->arena, &x->names, row->type.names[i]);
    }
    return true;
}

static bool is_alias(const sel *x, wr_str name) {
    for (uint32_t r = 0; r < x->sc.rels.n; r++)
        if (wr_str_eq(x->sc.rels.at[r].alias, name)) return true;
    return false;
}

static bool add_star(sel *x, const wr_ast_expr *e) {
    uint32_t before = x->items.n;
    bool     ok;
    if (e->name.n && !(e->name.n == 1 && is_alias(x, e->name.part[0].text)) && add_fields(x, e, &ok)) return ok;
    for (uint32_t r = 0; r < x->sc.rels.n; r++) {
        const srel *rel = &x->sc.rels.at[r];
        if (e->name.n && !wr_str_eq(e->name.part[e->name.n - 1].text, rel->alias)) continue;
        for (uint32_t i = 0; i < rel->n; i++) {
            if (!e->name.n && rel->hidden && rel->hidden[i]) continue;
            wr_arr_apush(x->p->arena, &x->items, wr_expr_col(x->p->arena, rel->first + i, rel->fields[i].type, e->at));
            wr_arr_apush(x->p->arena, &x->names, rel->fields[i].name);
        }
    }
    if (x->items.n > before) return true;
    if (e->name.n) {
        pl_error(x->p, "42P01", e->at, "table '%.*s' is not in FROM", WR_FMT(e->name.part[e->name.n - 1].text));
    } else {
        pl_error(x->p, "42601", e->at, "SELECT * needs a FROM");
    }
    return false;
}

static wr_str item_name(sel *x, const wr_ast_item *item, uint32_t at) {
    if (item->alias.text.ptr) return item->alias.text;
    if (item->expr->kind == WR_AST_COLUMN) return item->expr->name.part[item->expr->name.n - 1].text;
    if (item->expr->kind == WR_AST_FIELD) return item->expr->field.name.text;
    return pl_printf(x->p, "EXPR$%u", at);
}

static bool bind_items(sel *x) {
    bool ok = true;
    x->b.agg = &x->env;
    x->b.clause = "SELECT";
    x->env.allow_agg = x->env.allow_over = true;
    for (uint32_t i = 0; i < x->s->items.n; i++) {
        const wr_ast_item *item = &x->s->items.at[i];
        if (item->expr->kind == WR_AST_STAR) {
            ok &= add_star(x, item->expr);
            continue;
        }
        wr_expr *e = pl_bind_expr(&x->b, item->expr);
        if (!e) {
            ok = false;
            continue;
        }
        wr_arr_apush(x->p->arena, &x->items, e);
        wr_arr_apush(x->p->arena, &x->names, item_name(x, item, i));
    }
    x->n_visible = x->items.n;
    x->b.clause = "HAVING";
    x->env.allow_over = false;
    if (x->s->having) ok &= (x->having = pl_bind_condition(&x->b, x->s->having)) != NULL;
    x->b.clause = "QUALIFY";
    x->env.allow_over = true;
    return ok;
}

/* A name in QUALIFY or ORDER BY that is an alias of the list; -1 if not. Aliases win in ORDER BY. */
static int find_alias(const sel *x, const wr_ast_expr *e) {
    if (e->kind != WR_AST_COLUMN || e->name.n != 1) return -1;
    for (uint32_t i = 0; i < x->n_visible; i++)
        if (wr_str_eq(x->names.at[i], e->name.part[0].text)) return (int)i;
    return -1;
}

/* QUALIFY may use the names of the list: they are put into scope behind the columns of FROM, as columns, then replaced by their expressions. */
static bool bind_qualify(sel *x) {
    if (!x->s->qualify) return true;
    scope    with = {.n = x->sc.n};
    for (uint32_t i = 0; i < x->sc.rels.n; i++) wr_arr_apush(x->p->arena, &with.rels, x->sc.rels.at[i]);
    uint32_t first = 1u << 20; /* far behind placeholders */
    wr_field *f = wr_new_n(x->p->arena, wr_field, x->n_visible);
    bool     *hidden = wr_new_n(x->p->arena, bool, x->n_visible);
    for (uint32_t i = 0; i < x->n_visible; i++) {
        f[i] = (wr_field){x->names.at[i], x->items.at[i]->type};
        hidden[i] = x->items.at[i]->kind == WR_E_COL && x->items.at[i]->col < x->env.base; /* plain columns are in scope already */
    }
    wr_arr_apush(x->p->arena, &with.rels, (srel){.alias = WR_STR(""), .first = first, .n = x->n_visible, .fields = f, .hidden = hidden});
    scope *was = x->b.sc;
    x->b.sc = &with;
    wr_expr *e = pl_bind_condition(&x->b, x->s->qualify);
    x->b.sc = was;
    if (!e) return false;
    uint32_t  n = first + x->n_visible;
    wr_expr **subst = wr_new_n(x->p->arena, wr_expr *, n);
    uint32_t  max = x->env.base + x->env.phs.n;
    for (uint32_t i = 0; i < max; i++)
        subst[i] = wr_expr_col(x->p->arena, i, i < x->env.base ? x->node->schema.fields[i].type : x->env.phs.at[i - x->env.base].type, e->at);
    for (uint32_t i = 0; i < x->n_visible; i++) subst[first + i] = x->items.at[i];
    x->qualify = wr_expr_substitute(x->p->arena, e, subst);
    return true;
}

static bool bind_order(sel *x, sel_order *so) {
    bool ok = true;
    x->b.clause = "ORDER BY";
    for (uint32_t i = 0; i < so->orders->n; i++) {
        const wr_ast_order *o = &so->orders->at[i];
        int                 at = find_alias(x, o->expr);
        so->keys[i] = (wr_sort_key){.desc = o->desc, .nulls_last = o->nulls < 0 ? o->desc : o->nulls == 1};
        if (at < 0 && o->expr->kind == WR_AST_LITERAL && o->expr->lit.kind == WR_LIT_INTEGER) {
            uint32_t v = 0;
            for (size_t k = 0; k < o->expr->lit.text.len && v < 100000; k++) v = v * 10 + (uint32_t)(o->expr->lit.text.ptr[k] - '0');
            if (v < 1 || v > x->n_visible) {
                pl_error(x->p, "42P10", o->at, "ORDER BY: there is no column %u", v);
                ok = false;
                continue;
            }
            at = (int)v - 1;
        }
        if (at < 0) {
            wr_expr *e = pl_bind_expr(&x->b, o->expr);
            if (!e) {
                ok = false;
                continue;
            }
            for (uint32_t k = 0; k < x->items.n && at < 0; k++)
                if (wr_expr_equal(x->items.at[k], e)) at = (int)k;
            if (at < 0 && x->s->distinct) {
                pl_error(x->p, "42P10", o->at, "ORDER BY of a SELECT DISTINCT must be in its list");
                ok = false;
                continue;
            }
            if (at < 0) {
                wr_arr_apush(x->p->arena, &x->items, e);
                wr_arr_apush(x->p->arena, &x->names, pl_printf(x->p, "order %u", i + 1));
                at = (int)x->items.n - 1;
                so->n_hidden++;
            }
        }
        so->keys[i].col = (uint32_t)at;
        ok &= pl_can_order(x->p, x->items.at[at]->type, o->expr->at);
    }
    return ok;
}

/* ---- grouping ---- */

/* The place of e in a list of expressions to compute below; added if new. */
static uint32_t intern(pl *p, wr_exprs *list, wr_expr *e) {
    for (uint32_t i = 0; i < list->n; i++)
        if (wr_expr_equal(list->at[i], e) && list->at[i]->type.attr == e->type.attr) return i;
    wr_arr_apush(p->arena, list, e);
    return list->n - 1;
}

/* A name for people (and for ids, which are made from names): the column's, else the expression itself. */
static wr_str expr_name(pl *p, const lnode *in, const wr_expr *e) {
    if (e->kind == WR_E_COL) return in->schema.fields[e->col].name;
    wr_sbuf b = {0};
    wr_expr_text(e, &in->schema, &b);
    wr_str name = pl_printf(p, "%.*s%s", (int)WR_MIN(b.len, 60u), b.at, b.len > 60 ? "..." : "");
    wr_sbuf_free(&b);
    return name;
}

static wr_str agg_name(pl *p, const wr_agg *a, const lnode *in) {
    if (a->arg < 0) return WR_STR("COUNT(*)");
    return pl_printf(p, "%s(%s%.*s)", wr_agg_title(a), a->distinct ? "DISTINCT " : "", WR_FMT(in->schema.fields[a->arg].name));
}

static bool is_time_column(const lnode *n, const wr_expr *e) { return e->kind == WR_E_COL && n->schema.fields[e->col].type.attr == WR_TIME_ROWTIME; }

static int64_t select_ttl(sel *x) { /* STATE_TTL hint that names one of the tables of FROM, or none */
    int64_t ttl = -1, us;
    for (uint32_t h = 0; h < x->s->hints.n; h++) {
        const wr_ast_hint *hint = &x->s->hints.at[h];
        if (wr_str_ieq(hint->name.text, WR_STR("LOOKUP"))) continue;
        if (wr_str_ieq(hint->name.text, WR_STR("SPLIT"))) {
            for (uint32_t a = 0; a < hint->args.n; a++) pl_split_unused(x->p, &hint->args.at[a]);
            continue;
        }
        if (!wr_str_ieq(hint->name.text, WR_STR("STATE_TTL"))) {
            wr_diags_add(x->p->diags, WR_SEV_WARNING, "01000", hint->name.at, "hint %.*s is not known and has no effect", WR_FMT(hint->name.text));
            continue;
        }
        for (uint32_t a = 0; a < hint->args.n; a++) {
            const wr_ast_hint_arg *arg = &hint->args.at[a];
            bool                   found = false;
            if (!arg->value.text.ptr || !wr_parse_duration(arg->value.text, &us)) {
                pl_error(x->p, "22023", arg->key.at, "STATE_TTL('table or alias' = 'duration'): '%.*s' is not a duration", (int)arg->value.text.len,
                         arg->value.text.ptr ? arg->value.text.ptr : "");
                continue;
            }
            for (uint32_t r = 0; r < x->sc.rels.n; r++) found |= wr_str_eq(x->sc.rels.at[r].alias, arg->key.text);
            if (found) ttl = x->sc.rels.n == 1 ? us : ttl; /* of several tables: it is meant for that side of the join */
            else pl_error(x->p, "42P01", arg->key.at, "STATE_TTL: '%.*s' is no table or alias of this SELECT", WR_FMT(arg->key.text));
        }
    }
    return ttl;
}

static bool build_agg(sel *x) {
    pl      *p = x->p;
    wr_exprs below = {0};
    uint32_t nk = x->n_group, na = x->env.aggs.n;
    lnode   *a = pl_node(p, L_AGG, x->s->group_by.n ? x->s->group_by.at[0]->at : x->q->at, 1, NULL, NULL);
    a->agg.n_keys = nk;
    a->agg.keys = wr_new_n(p->arena, uint32_t, nk);
    a->agg.n_aggs = na;
    a->agg.aggs = wr_new_n(p->arena, wr_agg, na);
    a->agg.ttl_us = select_ttl(x);
    for (uint32_t i = 0; i < nk; i++) a->agg.keys[i] = intern(p, &below, x->group[i]);
    for (uint32_t i = 0; i < na; i++) {
        agg_call *c = &x->env.aggs.at[i];
        a->agg.aggs[i] = c->agg;
        a->agg.aggs[i].arg = c->arg ? (int32_t)intern(p, &below, c->arg) : -1;
        a->agg.aggs[i].arg2 = c->arg2 ? (int32_t)intern(p, &below, c->arg2) : -1;
        a->agg.aggs[i].filter = c->filter ? (int32_t)intern(p, &below, c->filter) : -1;
    }
    if (x->env.group_window) {
        a->agg.has_window = a->agg.out_start = a->agg.out_end = a->agg.out_time = true;
        a->agg.window = x->window;
        a->agg.window.time_col = intern(p, &below, x->window_time);
    }
    if (!below.n) wr_arr_apush(p->arena, &below, pl_col(p, x->node, 0, a->at)); /* COUNT(*) alone: any column */
    wr_str *names = wr_new_n(p->arena, wr_str, below.n);
    for (uint32_t i = 0; i < below.n; i++) names[i] = expr_name(p, x->node, below.at[i]);
    lnode *calc = pl_calc(p, x->node, NULL, below.at, names, below.n, a->at);
    a->in[0] = calc;
    uint32_t  n = nk + na + (a->agg.has_window ? 3 : 0);
    wr_field *f = wr_new_n(p->arena, wr_field, n);
    for (uint32_t i = 0; i < nk; i++) {
        f[i] = calc->schema.fields[a->agg.keys[i]];
        f[i].type = x->group[i]->type;
        if (!is_time_column(x->node, x->group[i])) f[i].type.attr = WR_TIME_NONE;
    }
    for (uint32_t i = 0; i < na; i++) f[nk + i] = (wr_field){agg_name(p, &a->agg.aggs[i], calc), a->agg.aggs[i].type};
    if (a->agg.has_window) {
        wr_type bound = wr_type_not_null(wr_type_prec(WR_T_TIMESTAMP, 3));
        f[nk + na] = (wr_field){WR_STR("window_start"), bound};
        f[nk + na + 1] = (wr_field){WR_STR("window_end"), bound};
        f[nk + na + 2] = (wr_field){WR_STR("window_time"), x->env.window_time_type};
    }
    a->schema = (wr_schema){n, f};
    a->label = x->node->label;
    x->node = a;
    return true;
}

/* e over FROM columns and placeholders -> over the current node (see the file's head). */
static wr_expr *regroup(sel *x, wr_expr *e, const lnode *from) {
    pl *p = x->p;
    if (x->is_agg)
        for (uint32_t i = 0; i < x->n_group; i++)
            if (wr_expr_equal(x->group[i], e)) return wr_expr_col(p->arena, i, x->node->schema.fields[i].type, e->at);
    for (uint32_t i = 0; x->is_agg && i < x->env.n_absent; i++)
        if (wr_expr_equal(x->env.absent[i], e)) return wr_expr_const(p->arena, wr_value_null(e->type), e->at);
    if (e->kind == WR_E_CONST) return e;
    if (e->kind == WR_E_COL && e->col >= x->env.base) {
        uint32_t i = e->col - x->env.base;
        wr_assert(i < x->env.phs.n && x->ph_col[i] != UINT32_MAX);
        return wr_expr_col(p->arena, x->ph_col[i], x->node->schema.fields[x->ph_col[i]].type, e->at);
    }
    if (e->kind == WR_E_COL && !x->is_agg) return wr_expr_col(p->arena, e->col, x->node->schema.fields[e->col].type, e->at);
    if (e->kind == WR_E_COL) {
        wr_str name = from->schema.fields[e->col].name;
        pl_error(p, "42803", e->at, "column '%.*s' is neither in GROUP BY nor inside an aggregate", WR_FMT(name));
        wr_diags_hint(p->diags, "add it to GROUP BY, or take MAX(%.*s), LAST_VALUE(%.*s) ...", WR_FMT(name), WR_FMT(name));
        return NULL;
    }
    wr_expr *copy = wr_new(p->arena, wr_expr);
    *copy = *e;
    copy->args = wr_new_n(p->arena, wr_expr *, e->n_args);
    for (uint32_t i = 0; i < e->n_args; i++)
        if (!(copy->args[i] = regroup(x, e->args[i], from))) return NULL;
    return copy;
}

/* ---- ranking ---- */

static bool intern_over(sel *x, wr_exprs *below, wr_expr *e, const lnode *from, int32_t *col) {
    *col = -1;
    if (!e) return true;
    wr_expr *r = regroup(x, e, from);
    if (r) *col = (int32_t)intern(x->p, below, r);
    return r != NULL;
}
static bool intern_keys(sel *x, wr_exprs *below, const over_call *o, const lnode *from, uint32_t *keys, wr_sort_key *order) {
    int32_t col;
    for (uint32_t i = 0; i < o->n_keys; i++) {
        if (!intern_over(x, below, o->keys[i], from, &col)) return false;
        keys[i] = (uint32_t)col;
    }
    for (uint32_t i = 0; i < o->n_order; i++) {
        if (!intern_over(x, below, o->order[i], from, &col)) return false;
        order[i] = o->sort[i];
        order[i].col = (uint32_t)col;
    }
    return true;
}
/* Puts node r above the columns of `below`, with n_more columns of its own; returns where these start. */
static uint32_t stand_on(sel *x, lnode *r, const wr_exprs *below, const wr_field *more, uint32_t n_more) {
    pl     *p = x->p;
    lnode  *in = x->node;
    wr_str *names = wr_new_n(p->arena, wr_str, below->n);
    for (uint32_t i = 0; i < below->n; i++) names[i] = expr_name(p, in, below->at[i]);
    lnode    *calc = below->n > in->schema.n ? pl_calc(p, in, NULL, below->at, names, below->n, r->at) : in;
    wr_field *f = wr_new_n(p->arena, wr_field, below->n + n_more);
    for (uint32_t i = 0; i < below->n; i++) f[i] = calc->schema.fields[i];
    for (uint32_t i = 0; i < n_more; i++) f[below->n + i] = more[i];
    r->in[0] = calc;
    r->schema = (wr_schema){below->n + n_more, f};
    r->label = in->label;
    x->node = r;
    return below->n;
}
static void over_column(sel *x, uint32_t which, uint32_t col) {
    x->env.overs.at[which].built = true;
    for (uint32_t i = 0; i < x->env.phs.n; i++)
        if (x->env.phs.at[i].kind == PH_OVER && x->env.phs.at[i].i == which) x->ph_col[i] = col;
}
static wr_exprs columns_of(pl *p, const lnode *in, wr_span at) {
    wr_exprs below = {0};
    for (uint32_t i = 0; i < in->schema.n; i++) wr_arr_apush(p->arena, &below, pl_col(p, in, i, at));
    return below;
}

/* STATE_TTL of a SELECT that aggregates is for the aggregation; 0 = not said, -1 = for ever. */
static int64_t over_ttl(const sel *x) { return x->is_agg || x->ttl_us < 0 ? 0 : x->ttl_us ? x->ttl_us : -1; }

static bool build_rank(sel *x, uint32_t which, const lnode *from) {
    pl        *p = x->p;
    over_call *o = &x->env.overs.at[which];
    wr_exprs   below = columns_of(p, x->node, o->at);
    lnode     *r = pl_node(p, L_RANK, o->at, 1, NULL, NULL);
    r->rank.rank = o->rank;
    r->rank.n_keys = o->n_keys;
    r->rank.keys = wr_new_n(p->arena, uint32_t, o->n_keys);
    r->rank.n_order = o->n_order;
    r->rank.order = wr_new_n(p->arena, wr_sort_key, o->n_order);
    r->rank.window_end = r->rank.time_col = -1;
    r->rank.out_rank = true;
    r->rank.ttl_us = over_ttl(x);
    if (!intern_keys(x, &below, o, from, r->rank.keys, r->rank.order)) return false;
    over_column(x, which, stand_on(x, r, &below, &(wr_field){WR_STR("rank"), wr_type_not_null(wr_type_of(WR_T_BIGINT))}, 1));
    return true;
}

static bool same_window(const over_call *a, const over_call *b) {
    if (a->is_rank || b->is_rank || a->n_keys != b->n_keys || a->n_order != b->n_order) return false;
    for (uint32_t i = 0; i < a->n_keys; i++)
        if (!wr_expr_equal(a->keys[i], b->keys[i])) return false;
    for (uint32_t i = 0; i < a->n_order; i++)
        if (!wr_expr_equal(a->order[i], b->order[i]) || a->sort[i].desc != b->sort[i].desc) return false;
    return true;
}

/* All functions with the partition and order of `which`, in one node. */
static bool build_over(sel *x, uint32_t which, const lnode *from) {
    pl        *p = x->p;
    over_call *o = &x->env.overs.at[which];
    wr_exprs   below = columns_of(p, x->node, o->at);
    lnode     *r = pl_node(p, L_OVER, o->at, 1, NULL, NULL);
    uint32_t   most = x->env.overs.n, *of = wr_new_n(p->arena, uint32_t, most);
    wr_field  *f = wr_new_n(p->arena, wr_field, most);
    r->over.fns = wr_new_n(p->arena, wr_over_fn, most);
    r->over.n_keys = o->n_keys;
    r->over.ttl_us = over_ttl(x);
    r->over.keys = wr_new_n(p->arena, uint32_t, o->n_keys);
    if (o->n_order > 1) return pl_unsupported(p, o->order[1]->at, "order by the event-time column alone", "OVER (ORDER BY ...) of more than one column"), false;
    if (!intern_keys(x, &below, o, from, r->over.keys, &r->over.order)) return false;
    for (uint32_t i = which; i < most; i++) {
        const over_call *c = &x->env.overs.at[i];
        wr_over_fn       fn = c->fn;
        if (c->built || !same_window(o, c)) continue;
        if (!intern_over(x, &below, c->arg, from, &fn.agg.arg) || !intern_over(x, &below, c->arg2, from, &fn.agg.arg2) ||
            !intern_over(x, &below, c->filter, from, &fn.agg.filter) || !intern_over(x, &below, c->fallback, from, &fn.fallback))
            return false;
        of[r->over.n_fns] = i;
        const char *name = fn.kind == WR_OVER_LAG ? "LAG" : wr_agg_title(&fn.agg);
        wr_str      arg = fn.agg.arg < 0 ? WR_STR("*") : expr_name(p, x->node, below.at[fn.agg.arg]);
        f[r->over.n_fns] = (wr_field){pl_printf(p, "%s(%s%.*s) OVER", name, fn.agg.distinct ? "DISTINCT " : "", WR_FMT(arg)), fn.agg.type};
        r->over.fns[r->over.n_fns++] = fn;
    }
    uint32_t at = stand_on(x, r, &below, f, r->over.n_fns);
    for (uint32_t i = 0; i < r->over.n_fns; i++) over_column(x, of[i], at + i);
    return true;
}

static lnode *build(sel *x) {
    pl          *p = x->p;
    const lnode *from = x->node;
    x->ph_col = wr_new_n(p->arena, uint32_t, x->env.phs.n + 1);
    memset(x->ph_col, 0xff, sizeof *x->ph_col * (x->env.phs.n + 1));
    if (x->is_agg) {
        build_agg(x);
        for (uint32_t i = 0; i < x->env.phs.n; i++) {
            if (x->env.phs.at[i].kind == PH_AGG) x->ph_col[i] = x->n_group + x->env.phs.at[i].i;
            if (x->env.phs.at[i].kind == PH_WINDOW) x->ph_col[i] = x->n_group + x->env.aggs.n + x->env.phs.at[i].i;
        }
    } else {
        x->ttl_us = select_ttl(x);
    }
    if (x->having) {
        wr_expr *h = regroup(x, x->having, from);
        if (!h) return NULL;
        x->node = pl_filter(p, x->node, h, h->at);
    }
    for (uint32_t i = 0; i < x->env.overs.n; i++)
        if (!x->env.overs.at[i].built && !(x->env.overs.at[i].is_rank ? build_rank(x, i, from) : build_over(x, i, from))) return NULL;
    if (x->qualify) {
        wr_expr *e = regroup(x, x->qualify, from);
        if (!e) return NULL;
        x->node = pl_filter(p, x->node, e, e->at);
    }
    bool ok = true;
    for (uint32_t i = 0; i < x->items.n; i++) ok &= (x->items.at[i] = regroup(x, x->items.at[i], from)) != NULL;
    if (!ok) return NULL;
    wr_str label = x->node->label;
    lnode *n = pl_calc(p, x->node, NULL, x->items.at, x->names.at, x->items.n, x->q->at);
    n->label = label;
    return n;
}

/* In a grouped query a scalar subquery without correlation is the same for all rows: it joins the keys where it is used. */
static void group_by_scalars(sel *x, uint32_t first) {
    for (uint32_t i = first; i < x->p->scalars.n; i++) {
        wr_expr *e = x->p->scalars.at[i].expr;
        if (x->p->scalars.at[i].owner != x->s || x->p->scalars.at[i].correlated || e->kind != WR_E_COL) continue;
        bool used = x->having && pl_uses(x->having, e->col, e->col + 1);
        for (uint32_t k = 0; k < x->items.n && !used; k++) used = pl_uses(x->items.at[k], e->col, e->col + 1);
        if (!used) continue;
        wr_exprs more = {0};
        for (uint32_t k = 0; k < x->n_group; k++) wr_arr_apush(x->p->arena, &more, x->group[k]);
        wr_arr_apush(x->p->arena, &more, e);
        x->group = more.at;
        x->n_group = more.n;
    }
}

/* A correlated scalar subquery: its aggregate, then the keys that are compared, one row a key. */
lnode *pl_build_grouped(pl *p, const wr_ast_query *q, lnode *node, const scope *sc, pcte *ctes, wr_expr **keys, uint32_t n_keys, bool *is_count) {
    sel x = {.p = p, .s = &q->select, .q = q, .sc = *sc, .node = node};
    x.sc.outer = NULL;
    x.env.base = node->schema.n;
    x.env.select = x.s;
    x.b = (bind){.p = p, .sc = &x.sc, .ctes = ctes};
    x.group = keys;
    x.n_group = n_keys;
    if (!bind_items(&x)) return NULL;
    if (x.items.n != 1) return pl_error(p, "42601", q->at, "a scalar subquery must have one column, not %u", x.items.n);
    if (!x.env.aggs.n) return pl_unsupported(p, q->at, "take MAX or another aggregate of the column, or join", "a correlated scalar subquery without an aggregate");
    const wr_expr *item = x.items.at[0];
    if (item->kind == WR_E_COL) *is_count = x.env.aggs.at[x.env.phs.at[item->col - x.env.base].i].agg.kind <= WR_AGG_COUNT;
    for (uint32_t i = 0; i < n_keys; i++) {
        wr_arr_apush(p->arena, &x.items, keys[i]);
        wr_arr_apush(p->arena, &x.names, pl_printf(p, "key %u", i + 1));
    }
    x.is_agg = true;
    return build(&x);
}

/* ---- LATERAL ---- */

static bool is_plain(const sel *x, const wr_ast_query *q) {
    return !x->s->has_group_by && !x->env.aggs.n && !x->having && !x->s->distinct && !q->limit && !q->offset;
}

static bool may_be_lateral(sel *x, const wr_ast_query *q, bool total) {
    pl *p = x->p;
    if (x->env.overs.n || x->s->qualify) return pl_unsupported(p, q->at, "write ORDER BY and LIMIT", "OVER in a LATERAL subquery"), false;
    if (total && (x->having || q->limit || q->offset || x->s->distinct)) return pl_unsupported(p, q->at, "GROUP BY in it, or filter in the query around", "HAVING, DISTINCT or LIMIT of one aggregated row in LATERAL"), false;
    if ((q->limit || q->offset) && !q->order_by.n) return pl_unsupported(p, q->at, "say ORDER BY, so that it is a Top-N", "LIMIT without ORDER BY in LATERAL"), false;
    for (uint32_t i = 0; i < x->items.n; i++)
        if (pl_uses(x->items.at[i], PL_OUTER, UINT32_MAX))
            return pl_unsupported(p, q->at, "select it in the query around", "a column of the left side in the SELECT of a LATERAL that aggregates or has LIMIT"), false;
    return true;
}

/* ORDER BY and LIMIT of each key: a Top-N by the keys. */
static lnode *limit_a_key(pl *p, const wr_ast_query *q, lnode *n, const sel_order *so, uint32_t first_key, uint32_t n_keys) {
    uint64_t limit = UINT64_MAX, offset = 0;
    if (!pl_constant_count(p, q->limit, "LIMIT", &limit) || !pl_constant_count(p, q->offset, "OFFSET", &offset)) return NULL;
    lnode *t = pl_node(p, L_TOP_N, q->order_by.at[0].at, 1, n, NULL);
    t->schema = n->schema;
    t->label = n->label;
    t->rank.n_keys = n_keys;
    t->rank.keys = wr_new_n(p->arena, uint32_t, n_keys);
    for (uint32_t i = 0; i < n_keys; i++) t->rank.keys[i] = first_key + i;
    t->rank.n_order = q->order_by.n;
    t->rank.order = so->keys;
    t->rank.first = offset + 1;
    t->rank.last = limit == UINT64_MAX ? INT64_MAX : offset + limit;
    t->rank.window_end = t->rank.time_col = -1;
    return t;
}

bool pl_build_lateral(bind *b, const wr_ast_query *q, subquery *s, wr_expr **keys, uint32_t n_keys, lateral *out) {
    pl       *p = b->p;
    sel       x = {.p = p, .s = &q->select, .q = q, .sc = s->sc, .node = s->node, .ttl_us = -1};
    groupings sets;
    x.sc.outer_base = PL_OUTER;
    x.env.base = s->node->schema.n;
    x.env.select = x.s;
    x.b = (bind){.p = p, .sc = &x.sc, .ctes = b->ctes};
    if (!pl_groupings(p, x.s, &sets)) return false;
    if (sets.n > 1) return pl_unsupported(p, q->at, "GROUP BY a list", "GROUPING SETS in LATERAL"), false;
    if (!bind_group_by(&x, &sets, 0)) return false;
    if (x.env.group_window) return pl_unsupported(p, q->at, "TABLE(TUMBLE(...)) in the query around", "a group window in LATERAL"), false;
    if (!bind_items(&x)) return false;
    *out = (lateral){.plain = is_plain(&x, q), .total = !x.s->has_group_by && (x.env.aggs.n || x.having), .n = x.items.n, .names = x.names.at, .items = x.items.at};
    if (out->plain && !x.env.overs.n && !x.s->qualify) return true;
    sel_order so = {.orders = &q->order_by, .keys = wr_new_n(p->arena, wr_sort_key, q->order_by.n)};
    x.sc.outer = NULL;
    if ((q->limit || q->offset) && !bind_order(&x, &so)) return false;
    if (!may_be_lateral(&x, q, out->total)) return false;
    wr_exprs group = {0};
    for (uint32_t i = 0; i < n_keys; i++) wr_arr_apush(p->arena, &group, keys[i]);
    for (uint32_t i = 0; i < x.n_group; i++) wr_arr_apush(p->arena, &group, x.group[i]);
    x.group = group.at;
    x.n_group = group.n;
    x.is_agg = x.s->has_group_by || out->total;
    out->first_key = x.items.n;
    for (uint32_t i = 0; i < n_keys && !out->total; i++) {
        wr_arr_apush(p->arena, &x.items, keys[i]);
        wr_arr_apush(p->arena, &x.names, pl_printf(p, "key %u", i + 1));
    }
    if (!(out->node = build(&x))) return false;
    if (out->total) out->items = out->node->calc.exprs, out->node = out->node->in[0];
    if (x.s->distinct) out->node = pl_distinct(p, out->node, q->at);
    if (q->limit || q->offset) out->node = limit_a_key(p, q, out->node, &so, out->first_key, n_keys);
    return out->node != NULL;
}

static lnode *bind_grouping(pl *p, const wr_ast_query *q, pcte *ctes, sel_order *so, const groupings *sets, uint32_t which, int64_t *ttl_us) {
    sel      x = {.p = p, .s = &q->select, .q = q};
    uint32_t first_scalar = p->scalars.n;
    const wr_ast_hints *hints = p->hints;
    p->hints = &q->select.hints;
    bool ok = bind_from_where(&x, ctes);
    p->hints = hints;
    if (!x.node) return NULL;
    if (!which) pl_lookup_unused(p, &q->select.hints);
    x.env.base = x.node->schema.n;
    x.env.select = x.s;
    ok &= bind_group_by(&x, sets, which);
    if (x.env.group_window && !ok) return NULL; /* its properties could not be bound */
    ok &= bind_items(&x);
    if (ok) ok = bind_qualify(&x);
    if (ok) ok = bind_order(&x, so);
    if (!ok) return NULL;
    x.is_agg = x.s->has_group_by || x.env.aggs.n > 0 || x.having != NULL;
    if (x.is_agg) group_by_scalars(&x, first_scalar);
    x.ttl_us = -1;
    lnode *n = build(&x);
    *ttl_us = x.ttl_us;
    return n;
}

static lnode *unite(pl *p, lnode **branches, uint32_t n, wr_span at) {
    lnode    *u = pl_node(p, L_UNION, at, n, branches[0], n > 1 ? branches[1] : NULL);
    wr_field *f = wr_new_n(p->arena, wr_field, branches[0]->schema.n);
    for (uint32_t c = 0; c < branches[0]->schema.n; c++) {
        f[c] = branches[0]->schema.fields[c];
        for (uint32_t i = 0; i < n; i++) f[c].type.nullable |= branches[i]->schema.fields[c].type.nullable;
    }
    for (uint32_t i = 0; i < n; i++) u->in[i] = branches[i];
    u->schema = (wr_schema){branches[0]->schema.n, f};
    u->label = branches[0]->label;
    return u;
}

lnode *pl_bind_select(pl *p, const wr_ast_query *q, pcte *ctes, sel_order *so) {
    groupings sets;
    lnode    *n;
    int64_t   ttl_us = -1;
    if (!pl_groupings(p, &q->select, &sets)) return NULL;
    if (sets.n <= 1) {
        n = bind_grouping(p, q, ctes, so, &sets, 0, &ttl_us);
    } else {
        lnode **branches = wr_new_n(p->arena, lnode *, sets.n);
        for (uint32_t i = 0; i < sets.n; i++) {
            so->n_hidden = 0;
            if (!(branches[i] = bind_grouping(p, q, ctes, so, &sets, i, &ttl_us))) return NULL;
        }
        n = unite(p, branches, sets.n, q->select.group_by.at[0]->at);
    }
    if (!n || !q->select.distinct) return n;
    lnode *d = pl_distinct(p, n, q->at);
    d->agg.ttl_us = ttl_us;
    return d;
}
