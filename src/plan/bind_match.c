/* plan/bind_match.c: MATCH_RECOGNIZE as written -> one node: variables, values of a match ("refs"), conditions and measures over them.
 *
 * Idea       below stands a calc: the input's columns, then what can be computed from a row alone: arguments of aggregates and conditions of
 *            DEFINE that read nothing but the row at hand. Everything else of DEFINE and MEASURES is an expression whose columns are refs:
 *            FIRST/LAST of a variable so many rows on or back, an aggregate over its rows, the time of the match.
 * Flink      what it refuses is refused here with the same meaning: groups, alternation, a greedy quantifier at the end, ALL ROWS, SUBSET, PREV ...
 * Invariant  NULL means that a diagnostic was given.                                                                     */
#include "plan/logical.h"

struct match_env {
    const wr_ast_match *ast;
    wr_schema           input;
    WR_ARR(wr_match_var)  vars;
    WR_ARR(wr_match_step) steps;
    WR_ARR(wr_match_ref)  refs;
    WR_ARR(wr_expr *)     extra;   /* columns behind the input's, over the input */
    wr_type   time;                /* of the event-time column */
    bool      of_row;              /* inside an aggregate: columns are those of the input */
    bool      in_define;
    int32_t   row_var;             /* the variable of the aggregate; NO_VAR: none yet */
    bool      mixed;
    bool      nav;                 /* inside FIRST or LAST */
    wr_match_ref_kind nav_kind;
    uint32_t  nav_offset;
};
enum { ANY_VAR = -1, NO_VAR = -2 };

static int32_t find_var(const match_env *m, wr_str name) {
    for (uint32_t i = 0; i < m->vars.n; i++)
        if (wr_str_eq(m->vars.at[i].name, name)) return (int32_t)i;
    return NO_VAR;
}
static wr_expr *ref_column(bind *b, wr_match_ref r, wr_span at) {
    match_env *m = b->match;
    for (uint32_t i = 0; i < m->refs.n; i++)
        if (wr_str_eq(m->refs.at[i].name, r.name)) return wr_expr_col(b->p->arena, i, m->refs.at[i].type, at);
    wr_arr_apush(b->p->arena, &m->refs, r);
    return wr_expr_col(b->p->arena, m->refs.n - 1, r.type, at);
}

/* A.x, or x: of the last row whatever it is. *used: parts of the name that were taken. */
wr_expr *pl_match_column(bind *b, const wr_ast_expr *e, uint32_t *used) {
    match_env  *m = b->match;
    int32_t     var = e->name.n > 1 ? find_var(m, e->name.part[0].text) : ANY_VAR;
    uint32_t    skip = var >= 0 ? 1 : 0, ignored = 0;
    wr_type     type;
    if (e->name.n > 1 && var == NO_VAR) var = ANY_VAR;
    wr_ast_name name = {.part = e->name.part + skip, .n = skip ? 1 : e->name.n, .at = e->name.at};
    bind        in = *b;
    in.match = NULL;
    int col = pl_resolve_column(&in, &name, &ignored, &type, true);
    if (col < 0) return NULL;
    *used = skip ? 2 : ignored;
    if (m->of_row) {
        m->mixed |= m->row_var != NO_VAR && m->row_var != var;
        m->row_var = var;
        return wr_expr_col(b->p->arena, (uint32_t)col, type, e->at);
    }
    type.attr = WR_TIME_NONE;
    type.nullable = 1; /* the variable may have no row */
    wr_match_ref r = {.kind = m->nav ? m->nav_kind : WR_MATCH_REF_LAST, .var = var, .offset = m->nav ? m->nav_offset : 0, .col = (uint32_t)col, .type = type};
    wr_str       v = var >= 0 ? m->vars.at[var].name : WR_STR("*"), c = m->input.fields[col].name;
    if (r.kind == WR_MATCH_REF_LAST && !r.offset) r.name = pl_printf(b->p, "%.*s.%.*s", WR_FMT(v), WR_FMT(c));
    else r.name = pl_printf(b->p, "%s(%.*s.%.*s, %u)", r.kind == WR_MATCH_REF_FIRST ? "FIRST" : "LAST", WR_FMT(v), WR_FMT(c), r.offset);
    return ref_column(b, r, e->at);
}

static wr_expr *navigate(bind *b, const wr_ast_expr *e, wr_match_ref_kind kind) {
    match_env         *m = b->match;
    const wr_ast_call *c = &e->call;
    const char        *name = kind == WR_MATCH_REF_FIRST ? "FIRST" : "LAST";
    if (m->of_row) return pl_error(b->p, "42803", e->at, "%s does not go inside an aggregate", name);
    if (m->nav) return pl_unsupported(b->p, e->at, NULL, "FIRST or LAST inside another");
    if (c->args.n < 1 || c->args.n > 2) return pl_error(b->p, "42883", e->at, "%s takes a value and, if wanted, a number of rows", name);
    uint32_t offset = 0;
    if (c->args.n == 2) {
        bind     plain = {.p = b->p, .sc = b->sc, .clause = b->clause};
        wr_expr *n = pl_bind_expr(&plain, c->args.at[1]);
        if (!n) return NULL;
        if (n->kind != WR_E_CONST || n->value.null || !wr_type_is_integer(n->type) || n->value.i < 0 || n->value.i > INT32_MAX)
            return pl_error(b->p, "42804", c->args.at[1]->at, "the second argument of %s is a number of rows: a literal, 0 or more", name);
        offset = (uint32_t)n->value.i;
    }
    m->nav = true, m->nav_kind = kind, m->nav_offset = offset;
    wr_expr *x = pl_bind_expr(b, c->args.at[0]);
    m->nav = false;
    return x;
}

static wr_expr *match_aggregate(bind *b, const wr_ast_expr *e) {
    match_env         *m = b->match;
    pl                *p = b->p;
    const wr_ast_call *c = &e->call;
    wr_str             name = c->name.part[0].text;
    if (m->of_row || m->nav) return pl_error(p, "42803", e->at, "aggregate %.*s is not allowed inside %s", WR_FMT(name), m->nav ? "FIRST or LAST" : "another aggregate");
    if (pl_user_function(p, &c->name)) return pl_unsupported(p, e->at, NULL, "an aggregate of the user in MATCH_RECOGNIZE (%.*s)", WR_FMT(name));
    if (c->distinct || c->filter || c->within_group.n) return pl_unsupported(p, e->at, NULL, "DISTINCT, FILTER and WITHIN GROUP in MATCH_RECOGNIZE");
    bool     star = c->args.n == 1 && c->args.at[0]->kind == WR_AST_STAR;
    uint32_t n = star ? 0 : c->args.n;
    if (star && c->args.at[0]->name.n) return pl_error(p, "42703", e->at, "COUNT(A.*) does not exist: count a column of the variable");
    if (n > 1) return pl_unsupported(p, e->at, NULL, "an aggregate of two arguments in MATCH_RECOGNIZE");
    wr_expr *arg = NULL;
    m->of_row = true, m->row_var = NO_VAR, m->mixed = false;
    if (n) arg = pl_bind_expr(b, c->args.at[0]);
    m->of_row = false;
    if (n && !arg) return NULL;
    if (m->mixed) return pl_error(p, "42803", e->at, "an aggregate takes columns of one pattern variable");
    wr_match_ref r = {.kind = WR_MATCH_REF_AGG, .var = m->row_var == NO_VAR ? ANY_VAR : m->row_var};
    wr_type      type = arg ? arg->type : wr_type_of(WR_T_NULL);
    type.attr = WR_TIME_NONE;
    if (!wr_agg_resolve(&p->ec, name, &type, n, false, e->at, &r.agg)) return NULL;
    r.agg.arg = r.agg.arg2 = r.agg.filter = -1;
    wr_sbuf text = {0};
    wr_sql_expr_text(e, &text);
    r.name = wr_str_dup(p->arena, wr_sbuf_str(&text));
    wr_sbuf_free(&text);
    r.type = r.agg.type;
    if (r.agg.kind != WR_AGG_COUNT && r.agg.kind != WR_AGG_COUNT_STAR) r.type.nullable = 1; /* of no row */
    if (arg && r.agg.kind != WR_AGG_COUNT_STAR) {
        if (r.agg.arg_type.id != WR_T_NULL && !wr_type_same(arg->type, r.agg.arg_type)) arg = wr_expr_cast(&p->ec, arg, r.agg.arg_type, false, e->at);
        if (!arg) return NULL;
        r.agg.arg = (int32_t)(m->input.n + m->extra.n);
        if (arg->kind == WR_E_COL) r.agg.arg = (int32_t)arg->col;
        else wr_arr_apush(p->arena, &m->extra, arg);
        r.col = (uint32_t)r.agg.arg;
    }
    return ref_column(b, r, e->at);
}

/* Calls that mean something of their own here; false: an ordinary function. */
bool pl_match_call(bind *b, const wr_ast_expr *e, wr_expr **out) {
    const wr_ast_call *c = &e->call;
    pl                *p = b->p;
    *out = NULL;
    if (c->running == 1) return pl_unsupported(p, e->at, "with one row a match all values are final", "RUNNING"), true;
    if (pl_is_agg_call(p, e)) return *out = match_aggregate(b, e), true;
    if (c->name.n != 1) return false;
    wr_str name = c->name.part[0].text;
    if (wr_str_ieq(name, WR_STR("FIRST"))) return *out = navigate(b, e, WR_MATCH_REF_FIRST), true;
    if (wr_str_ieq(name, WR_STR("LAST"))) return *out = navigate(b, e, WR_MATCH_REF_LAST), true;
    if (wr_str_ieq(name, WR_STR("FINAL")) && c->args.n == 1) return *out = pl_bind_expr(b, c->args.at[0]), true;
    if (wr_str_ieq(name, WR_STR("PREV")) || wr_str_ieq(name, WR_STR("NEXT")))
        return pl_unsupported(p, e->at, "LAST(A.x, 1) is the row of A before its last one", "%.*s: physical offsets within a partition", WR_FMT(name)), true;
    if (wr_str_ieq(name, WR_STR("CLASSIFIER")) || wr_str_ieq(name, WR_STR("MATCH_NUMBER")) || wr_str_ieq(name, WR_STR("MATCH_PROCTIME")))
        return pl_unsupported(p, e->at, NULL, "%.*s()", WR_FMT(name)), true;
    if (!wr_str_ieq(name, WR_STR("MATCH_ROWTIME"))) return false;
    if (b->match->in_define) return pl_unsupported(p, e->at, "name the event-time column of the row", "MATCH_ROWTIME() in DEFINE"), true;
    if (c->args.n) return pl_unsupported(p, e->at, "MATCH_ROWTIME() without arguments", "MATCH_ROWTIME of a column"), true;
    wr_match_ref r = {.kind = WR_MATCH_REF_TIME, .var = ANY_VAR, .name = WR_STR("MATCH_ROWTIME()"), .type = b->match->time};
    r.type.nullable = 0;
    r.type.attr = WR_TIME_ROWTIME;
    return *out = ref_column(b, r, e->at), true;
}

/* ---- PATTERN ---- */

static bool add_step(pl *p, match_env *m, const wr_ast_pattern *a, uint32_t min, uint32_t max, bool greedy) {
    if (find_var(m, a->symbol.text) != NO_VAR)
        return pl_unsupported(p, a->symbol.at, "give the second one a name and a condition of its own", "a pattern variable that stands twice in PATTERN ('%.*s')", WR_FMT(a->symbol.text)), false;
    if (m->vars.n == WR_MATCH_VARS_MAX) return pl_error(p, "54001", a->at, "a pattern has more than %d variables", WR_MATCH_VARS_MAX), false;
    wr_match_var v = {.name = a->symbol.text, .given = -1};
    wr_arr_apush(p->arena, &m->vars, v);
    wr_match_step s = {m->vars.n - 1, min, max, greedy};
    wr_arr_apush(p->arena, &m->steps, s);
    return true;
}
static bool add_repeat(pl *p, match_env *m, const wr_ast_pattern *a) {
    const wr_ast_pattern *of = a->parts.at[0];
    uint32_t              max = a->max < 0 ? UINT32_MAX : (uint32_t)a->max;
    if (of->kind != WR_PAT_SYMBOL) return pl_unsupported(p, of->at, "a quantifier stands after one variable", "a group in PATTERN"), false;
    if (!max || a->min > a->max + (a->max < 0 ? INT32_MAX : 0) || a->min < 0) return pl_error(p, "42601", a->at, "a quantifier needs 0 <= n <= m and m > 0"), false;
    if (a->reluctant && a->min == 0 && a->max == 1) return pl_unsupported(p, a->at, NULL, "a reluctant optional variable (%.*s?\?)", WR_FMT(of->symbol.text)), false;
    if (WR_MAX((uint32_t)a->min, max == UINT32_MAX ? 0 : max) > WR_MATCH_STATES_MAX / WR_MATCH_VARS_MAX * 16) return pl_error(p, "54001", a->at, "a quantifier goes up to %d", WR_MATCH_STATES_MAX / WR_MATCH_VARS_MAX * 16), false;
    return add_step(p, m, of, (uint32_t)a->min, max, !a->reluctant);
}
static bool add_pattern(pl *p, match_env *m, const wr_ast_pattern *a) {
    switch (a->kind) {
    case WR_PAT_SYMBOL: return add_step(p, m, a, 1, 1, true);
    case WR_PAT_REPEAT: return add_repeat(p, m, a);
    case WR_PAT_CONCAT: {
        bool ok = true;
        for (uint32_t i = 0; i < a->parts.n && ok; i++) ok = add_pattern(p, m, a->parts.at[i]);
        return ok;
    }
    case WR_PAT_ALT: return pl_unsupported(p, a->at, "two queries and UNION ALL", "alternation (|) in PATTERN"), false;
    case WR_PAT_PERMUTE: return pl_unsupported(p, a->at, NULL, "PERMUTE in PATTERN"), false;
    case WR_PAT_EXCLUDE: return pl_unsupported(p, a->at, NULL, "{- -} in PATTERN"), false;
    case WR_PAT_EMPTY: return pl_unsupported(p, a->at, NULL, "an empty group in PATTERN"), false;
    case WR_PAT_START:
    case WR_PAT_END: return pl_unsupported(p, a->at, NULL, "%s in PATTERN", a->kind == WR_PAT_START ? "^" : "$"), false;
    }
    return false;
}
static bool check_pattern(pl *p, match_env *m) {
    uint64_t states = 0;
    for (uint32_t i = 0; i < m->steps.n; i++) states += (m->steps.at[i].max == UINT32_MAX ? m->steps.at[i].min + 1 : m->steps.at[i].max) + 1;
    if (states > WR_MATCH_STATES_MAX) return pl_error(p, "54001", m->ast->pattern->at, "the quantifiers of this pattern add up to more than %d rows", WR_MATCH_STATES_MAX), false;
    const wr_match_step *s = &m->steps.at[m->steps.n - 1];
    if (!s->greedy || s->min == s->max || (s->min == 0 && s->max == 1)) return true;
    wr_str name = m->vars.at[s->var].name;
    pl_error(p, "0A000", m->ast->pattern->at, "a greedy quantifier (on %.*s) is not allowed at the end of a pattern: the match would never be known to be over", WR_FMT(name));
    wr_diags_hint(p->diags, "end with a variable that takes one row, or make the quantifier reluctant: %.*s+?", WR_FMT(name));
    return false;
}

/* ---- DEFINE ---- */

static bool is_plain_call(const wr_expr *e) { /* cannot fail, whatever the row: may be computed for rows that the pattern never asks about */
    static const char *const NAMES[] = {"=", "<>", "<", "<=", ">", ">=", "AND", "OR", "NOT", "IS_NULL", "IS_NOT_NULL", "IS_TRUE", "IS_FALSE", "IS_NOT_TRUE", "IS_NOT_FALSE",
                                        "BETWEEN", "IN", "LIKE", "+", "-", "*", "UPPER", "LOWER", "IS_DISTINCT", "IS_NOT_DISTINCT"};
    for (size_t i = 0; i < WR_COUNT_OF(NAMES); i++)
        if (wr_expr_is_call(e, NAMES[i])) return true;
    bool to_wider = e->type.id == WR_T_BIGINT || e->type.id == WR_T_DOUBLE || e->type.id == WR_T_DECIMAL || e->type.id == WR_T_VARCHAR;
    return wr_expr_is_call(e, "CAST") && to_wider && (wr_type_is_integer(e->args[0]->type) || e->args[0]->type.id == e->type.id || e->args[0]->type.id == WR_T_CHAR) &&
           (e->type.id != WR_T_DECIMAL || wr_type_is_integer(e->args[0]->type)) && (e->type.id == WR_T_VARCHAR || e->args[0]->type.id != WR_T_CHAR);
}
static bool of_row_alone(const match_env *m, const wr_expr *e, int32_t self) {
    if (e->kind == WR_E_COL) {
        const wr_match_ref *r = &m->refs.at[e->col];
        return r->kind == WR_MATCH_REF_LAST && !r->offset && (r->var == self || r->var == ANY_VAR);
    }
    if (e->kind == WR_E_CALL && !is_plain_call(e)) return false;
    for (uint32_t i = 0; e->kind == WR_E_CALL && i < e->n_args; i++)
        if (!of_row_alone(m, e->args[i], self)) return false;
    return true;
}
static bool bind_defines(bind *b) {
    match_env *m = b->match;
    pl        *p = b->p;
    m->in_define = true;
    b->clause = "DEFINE";
    for (uint32_t i = 0; i < m->ast->defines.n; i++) {
        const wr_ast_define *d = &m->ast->defines.at[i];
        int32_t              var = find_var(m, d->symbol.text);
        if (var < 0) continue; /* not in the pattern: as Flink, it says nothing */
        wr_expr *c = pl_bind_condition(b, d->expr);
        if (!c) return false;
        if (m->vars.at[var].cond || m->vars.at[var].given >= 0) return pl_error(p, "42712", d->symbol.at, "'%.*s' is defined twice", WR_FMT(d->symbol.text)), false;
        c = wr_expr_fold(&p->ec, c);
        if (!of_row_alone(m, c, var)) {
            m->vars.at[var].cond = c;
            continue;
        }
        wr_expr **cols = wr_new_n(p->arena, wr_expr *, m->refs.n + 1);
        for (uint32_t r = 0; r < m->refs.n; r++) {
            uint32_t col = m->refs.at[r].kind == WR_MATCH_REF_AGG ? 0 : m->refs.at[r].col;
            cols[r] = wr_expr_col(p->arena, col, m->input.fields[col].type, d->expr->at);
        }
        m->vars.at[var].given = (int32_t)(m->input.n + m->extra.n);
        wr_arr_apush(p->arena, &m->extra, wr_expr_substitute(p->arena, c, cols));
    }
    m->in_define = false;
    return true;
}

/* ---- the whole ---- */

static bool bind_keys(bind *b, wr_match_opts *o) {
    const wr_ast_match *a = b->match->ast;
    bind                in = *b;
    in.match = NULL, in.clause = "PARTITION BY";
    uint32_t *keys = wr_new_n(b->p->arena, uint32_t, a->partition_by.n + 1);
    for (uint32_t i = 0; i < a->partition_by.n; i++) {
        wr_expr *k = pl_bind_expr(&in, a->partition_by.at[i]);
        if (!k) return false;
        if (k->kind != WR_E_COL) return pl_unsupported(b->p, a->partition_by.at[i]->at, "compute it in a subquery below", "an expression in PARTITION BY of MATCH_RECOGNIZE"), false;
        keys[o->n_keys++] = k->col;
    }
    o->keys = keys;
    return true;
}
static bool bind_order(bind *b, wr_match_opts *o) {
    const wr_ast_match *a = b->match->ast;
    pl                 *p = b->p;
    bind                in = *b;
    in.match = NULL, in.clause = "ORDER BY";
    if (!a->order_by.n) return pl_error(p, "42601", b->match->ast->pattern->at, "MATCH_RECOGNIZE needs ORDER BY the event-time column"), false;
    wr_sort_key *order = wr_new_n(p->arena, wr_sort_key, a->order_by.n);
    for (uint32_t i = 0; i < a->order_by.n; i++) {
        const wr_ast_order *x = &a->order_by.at[i];
        wr_expr            *e = pl_bind_expr(&in, x->expr);
        if (!e) return false;
        if (e->kind != WR_E_COL) return pl_unsupported(p, x->expr->at, "compute it in a subquery below", "an expression in ORDER BY of MATCH_RECOGNIZE"), false;
        if (i && !pl_can_order(p, e->type, x->expr->at)) return false;
        if (i == 0 && e->type.attr != WR_TIME_ROWTIME) {
            pl_error(p, "42804", x->expr->at, "MATCH_RECOGNIZE is ordered by the event-time column first");
            wr_diags_hint(p->diags, "declare a WATERMARK on it; expressions, GROUP BY and regular joins make a time column plain");
            return false;
        }
        if (i == 0 && x->desc) return pl_error(p, "0A000", x->expr->at, "MATCH_RECOGNIZE goes through event time ascending"), false;
        bool nulls_last = x->nulls < 0 ? x->desc : x->nulls == 1;
        if (i == 0) o->time_col = e->col;
        else order[o->n_order++] = (wr_sort_key){e->col, x->desc, nulls_last};
    }
    o->order = order;
    return true;
}
static bool bind_skip(pl *p, match_env *m, wr_match_opts *o) {
    static const wr_match_skip SKIP[] = {[WR_AFTER_UNSAID] = WR_MATCH_TO_NEXT_ROW /* so Flink 2.3 does it */, [WR_AFTER_PAST_LAST_ROW] = WR_MATCH_PAST_LAST_ROW,
                                         [WR_AFTER_NEXT_ROW] = WR_MATCH_TO_NEXT_ROW, [WR_AFTER_FIRST] = WR_MATCH_TO_FIRST, [WR_AFTER_LAST] = WR_MATCH_TO_LAST};
    o->skip = SKIP[m->ast->after];
    if (m->ast->after != WR_AFTER_FIRST && m->ast->after != WR_AFTER_LAST) return true;
    int32_t var = find_var(m, m->ast->after_symbol.text);
    if (var < 0) return pl_error(p, "42703", m->ast->after_symbol.at, "AFTER MATCH SKIP: pattern variable '%.*s' not found", WR_FMT(m->ast->after_symbol.text)), false;
    o->skip_var = (uint32_t)var;
    return true;
}
static bool supported(pl *p, const wr_ast_match *a, wr_span at) {
    if (a->all_rows == 1) return pl_unsupported(p, at, "ONE ROW PER MATCH", "ALL ROWS PER MATCH"), false;
    if (a->subsets.n) return pl_unsupported(p, a->subsets.at[0].name.at, NULL, "SUBSET"), false;
    if (!a->measures.n) return pl_error(p, "42601", at, "MATCH_RECOGNIZE needs MEASURES"), false;
    return true;
}
static lnode *below(pl *p, match_env *m, lnode *in) { /* the input, then what a row alone decides */
    if (!m->extra.n) return in;
    uint32_t  n = in->schema.n + m->extra.n;
    wr_expr **exprs = wr_new_n(p->arena, wr_expr *, n), **same = pl_identity(p, in);
    wr_str   *names = wr_new_n(p->arena, wr_str, n);
    for (uint32_t i = 0; i < n; i++) {
        exprs[i] = i < in->schema.n ? same[i] : m->extra.at[i - in->schema.n];
        names[i] = i < in->schema.n ? in->schema.fields[i].name : pl_printf(p, "$row%u", i - in->schema.n);
    }
    return pl_calc(p, in, NULL, exprs, names, n, in->at);
}

lnode *pl_bind_match(pl *p, const wr_ast_ref *ref, pcte *ctes) {
    const wr_ast_match *a = ref->match;
    scope               sc = {0};
    lnode              *in = pl_bind_ref(p, a->input, ctes, &sc);
    if (!in || !supported(p, a, ref->at)) return NULL;
    match_env     m = {.ast = a, .input = in->schema};
    bind          b = {.p = p, .sc = &sc, .ctes = ctes, .match = &m};
    wr_match_opts o = {0};
    if (!bind_keys(&b, &o) || !bind_order(&b, &o) || !add_pattern(p, &m, a->pattern) || !check_pattern(p, &m) || !bind_skip(p, &m, &o)) return NULL;
    bind plain = {.p = p, .sc = &sc, .clause = "WITHIN"};
    if (a->within && !pl_const_interval(&plain, a->within, "WITHIN", &o.within_us)) return NULL;
    if (a->within && o.within_us <= 0) return pl_error(p, "22023", a->within->at, "WITHIN must be longer than nothing");
    m.time = in->schema.fields[o.time_col].type;
    if (!bind_defines(&b)) return NULL;
    b.clause = "MEASURES";
    wr_field *f = wr_new_n(p->arena, wr_field, o.n_keys + a->measures.n);
    for (uint32_t k = 0; k < o.n_keys; k++) f[k] = in->schema.fields[o.keys[k]], f[k].type.attr = WR_TIME_NONE;
    o.measures = wr_new_n(p->arena, wr_expr *, a->measures.n);
    o.n_measures = a->measures.n;
    for (uint32_t i = 0; i < a->measures.n; i++) {
        wr_expr *e = pl_bind_expr(&b, a->measures.at[i].expr);
        if (!e) return NULL;
        o.measures[i] = wr_expr_fold(&p->ec, e);
        wr_field *out = &f[o.n_keys + i];
        *out = (wr_field){a->measures.at[i].alias.text, o.measures[i]->type};
        if (e->kind != WR_E_COL) out->type.attr = WR_TIME_NONE;
    }
    o.n_vars = m.vars.n, o.vars = m.vars.at, o.n_steps = m.steps.n, o.steps = m.steps.at, o.n_refs = m.refs.n, o.refs = m.refs.at;
    lnode *n = pl_node(p, L_MATCH, ref->at, 1, below(p, &m, in), NULL);
    n->match = o;
    n->schema = (wr_schema){o.n_keys + o.n_measures, f};
    n->label = pl_label(in);
    return n;
}

/* ---- for titles, identities, the bill ---- */

void pl_match_text(const wr_match_opts *o, wr_sbuf *out) {
    for (uint32_t i = 0; i < o->n_steps; i++) {
        const wr_match_step *s = &o->steps[i];
        wr_sbuf_printf(out, "%s%.*s", i ? " " : "", WR_FMT(o->vars[s->var].name));
        if (s->min == 1 && s->max == 1) continue;
        if (s->max == UINT32_MAX && s->min <= 1) wr_sbuf_addc(out, s->min ? '+' : '*');
        else if (s->min == 0 && s->max == 1) wr_sbuf_addc(out, '?');
        else if (s->max == UINT32_MAX) wr_sbuf_printf(out, "{%u,}", s->min);
        else if (s->min == s->max) wr_sbuf_printf(out, "{%u}", s->min);
        else wr_sbuf_printf(out, "{%u,%u}", s->min, s->max);
        if (!s->greedy) wr_sbuf_addc(out, '?');
    }
}
wr_schema pl_match_refs(wr_arena *arena, const wr_match_opts *o) {
    wr_field *f = wr_new_n(arena, wr_field, o->n_refs + 1);
    for (uint32_t i = 0; i < o->n_refs; i++) f[i] = (wr_field){o->refs[i].name, o->refs[i].type};
    return (wr_schema){o->n_refs, f};
}
bool pl_match_endless(const wr_match_opts *o) {
    for (uint32_t i = 0; i < o->n_steps; i++)
        if (o->steps[i].max == UINT32_MAX) return true;
    return false;
}
