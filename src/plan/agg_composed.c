/* plan/agg_composed.c: aggregates that are a function of what another aggregate keeps.
 *
 * Idea       PERCENTILE(v, p) is PERCENTILE_OF(COLLECT(0e0 + v), p), with a number of copies PERCENTILE_OF(ARRAY_AGG(ROW(0e0 + v, n)), p);
 *            JSON_ARRAYAGG(x) is JSON_ARRAY_OF(ARRAY_AGG(x), ...), JSON_OBJECTAGG(KEY k VALUE v) JSON_OBJECT_OF(ARRAY_AGG(ROW(k, v)), ...). So
 *            state, retraction, checkpoints, windows and the bill are those of the inner aggregate. FILTER and DISTINCT go to it.
 * Memory     the trees are made in the planner's arena.                                                                */
#include "plan/logical.h"

static bool is(const wr_ast_call *c, const char *name) { return wr_str_ieq(c->name.part[0].text, wr_str_of(name)); }

bool pl_is_composed_agg(const wr_ast_expr *e) {
    if (e->kind != WR_AST_CALL || e->call.over || e->call.name.n != 1) return false;
    return is(&e->call, "PERCENTILE") || is(&e->call, "JSON_ARRAYAGG") || is(&e->call, "JSON_OBJECTAGG");
}

static wr_ast_exprs list_of(pl *p, uint32_t n, wr_ast_expr *a, wr_ast_expr *b) {
    wr_ast_exprs list = {0};
    wr_arr_apush(p->arena, &list, a);
    if (n > 1) wr_arr_apush(p->arena, &list, b);
    return list;
}
static wr_ast_expr *row_of(pl *p, const wr_ast_expr *at, wr_ast_expr *a, wr_ast_expr *b) {
    wr_ast_expr *row = wr_new(p->arena, wr_ast_expr);
    *row = (wr_ast_expr){.kind = WR_AST_ROW, .depth = at->depth, .at = at->at, .row = {.args = list_of(p, 2, a, b), .keyword = true}};
    return row;
}
static wr_ast_expr *as_double(pl *p, wr_ast_expr *e) { /* 0e0 + e */
    wr_ast_expr *zero = wr_new(p->arena, wr_ast_expr), *sum = wr_new(p->arena, wr_ast_expr);
    *zero = (wr_ast_expr){.kind = WR_AST_LITERAL, .at = e->at, .lit = {.kind = WR_LIT_APPROX, .text = WR_STR("0e0")}};
    *sum = (wr_ast_expr){.kind = WR_AST_BINARY, .depth = e->depth, .at = e->at, .binary = {.op = WR_AST_ADD, .left = zero, .right = e, .op_at = e->at}};
    return sum;
}
static wr_expr *kept(bind *b, const wr_ast_expr *e, const char *name, wr_ast_expr *arg) { /* the inner aggregate */
    wr_ast_expr  *inner = wr_new(b->p->arena, wr_ast_expr);
    wr_ast_ident *ident = wr_new(b->p->arena, wr_ast_ident);
    *inner = *e;
    *ident = (wr_ast_ident){.text = wr_str_of(name), .at = e->at};
    inner->call.name = (wr_ast_name){.part = ident, .n = 1, .at = e->at};
    inner->call.args = list_of(b->p, 1, arg, NULL);
    inner->call.json = NULL;
    return pl_bind_expr(b, inner);
}

static bool is_json(const wr_ast_expr *e) {
    if (e->kind != WR_AST_CALL || e->call.name.n != 1) return false;
    return is(&e->call, "JSON_OBJECT") || is(&e->call, "JSON_ARRAY") || is(&e->call, "JSON_QUERY") || is(&e->call, "JSON") || is(&e->call, "JSON_ARRAYAGG") ||
           is(&e->call, "JSON_OBJECTAGG");
}
static wr_expr *boolean(bind *b, bool v, wr_span at) { return wr_expr_const(b->p->arena, (wr_value){.type = wr_type_not_null(wr_type_of(WR_T_BOOLEAN)), .b = v}, at); }

wr_expr *pl_bind_composed_agg(bind *b, const wr_ast_expr *e) {
    const wr_ast_call *c = &e->call;
    wr_ast_expr *const *arg = c->args.at;
    if (is(c, "PERCENTILE")) {
        if (c->args.n < 2 || c->args.n > 3) {
            pl_error(b->p, "42883", e->at, "PERCENTILE takes 2 or 3 arguments, not %u", c->args.n);
            wr_diags_hint(b->p->diags, "PERCENTILE(value, share [, copies]), the share from 0 to 1 or an array of such");
            return NULL;
        }
        wr_expr *list = c->args.n == 2 ? kept(b, e, "COLLECT", as_double(b->p, arg[0])) : kept(b, e, "ARRAY_AGG", row_of(b->p, e, as_double(b->p, arg[0]), arg[2]));
        wr_expr *share = list ? pl_bind_expr(b, arg[1]) : NULL;
        return share ? pl_call(b->p, "PERCENTILE_OF", e->at, 2, list, share) : NULL;
    }
    const bool object = is(c, "JSON_OBJECTAGG");
    if (c->args.n != (object ? 2u : 1u)) return pl_error(b->p, "42883", e->at, "%s", object ? "JSON_OBJECTAGG takes KEY key VALUE value" : "JSON_ARRAYAGG takes one value");
    wr_ast_json_on on_null = c->json ? c->json->on_null : WR_JSON_ON_UNSAID;
    bool           absent = on_null == WR_JSON_ON_UNSAID ? !object : on_null == WR_JSON_ON_ABSENT;
    wr_expr       *list = kept(b, e, "ARRAY_AGG", object ? row_of(b->p, e, arg[0], arg[1]) : arg[0]);
    if (!list) return NULL;
    return pl_call(b->p, object ? "JSON_OBJECT_OF" : "JSON_ARRAY_OF", e->at, 3, list, boolean(b, absent, e->at), boolean(b, is_json(arg[object]), e->at));
}
