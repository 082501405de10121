/* plan/rewrite.c: predicates go down to where they cost least; bounds on a rank turn the ranking into a Top-N.
 *
 * Idea       pl_push(n, preds) gives a node equal to "n filtered by preds". A calc passes predicates on by putting its expressions into them,
 *            a join deals them out to its sides as its kind allows, what cannot go further becomes a filter right above.
 * Invariant  a predicate never crosses: an outer join to the side that is padded, a temporal join to the versions, a session, a limit or a
 *            rank whose partition it does not respect, a random function.
 * Memory     nodes are changed in place: binding made a tree that nobody else holds.                                  */
#include "plan/logical.h"

static lnode *above(pl *p, lnode *n, const wr_exprs *preds) {
    wr_expr *f = wr_expr_and(&p->ec, preds->at, preds->n);
    return pl_filter(p, n, f, f ? f->at : n->at);
}

static void add(pl *p, wr_exprs *list, wr_expr *e) { wr_arr_apush(p->arena, list, e); }

static void add_conjuncts(pl *p, wr_exprs *list, wr_expr *e) {
    wr_expr **parts = NULL;
    uint32_t  n = 0;
    pl_push_conjuncts(p, e, &parts, &n);
    for (uint32_t i = 0; i < n; i++) {
        wr_expr *x = wr_expr_fold(&p->ec, parts[i]);
        if (x->kind == WR_E_CONST && !x->value.null && x->value.b) continue; /* TRUE */
        add(p, list, x);
    }
}

static bool uses_random(const wr_expr *pred, const lnode *calc) {
    if (pred->kind == WR_E_COL) return wr_expr_volatility(calc->calc.exprs[pred->col]) == WR_VOL_RANDOM;
    for (uint32_t i = 0; i < pred->n_args; i++)
        if (uses_random(pred->args[i], calc)) return true;
    return false;
}

static lnode *push_calc(pl *p, lnode *n, wr_exprs preds) {
    wr_exprs down = {0}, stay = {0};
    for (uint32_t i = 0; i < preds.n; i++) {
        if (uses_random(preds.at[i], n)) add(p, &stay, preds.at[i]);
        else add_conjuncts(p, &down, wr_expr_substitute(p->arena, preds.at[i], n->calc.exprs));
    }
    if (n->calc.filter) add_conjuncts(p, &down, n->calc.filter);
    n->calc.filter = NULL;
    n->in[0] = pl_push(p, n->in[0], down);
    return above(p, n, &stay);
}

/* ---- joins ---- */

typedef enum side { SIDE_NONE, SIDE_LEFT, SIDE_RIGHT, SIDE_BOTH } side;
static side side_of(const wr_expr *e, uint32_t n_left) {
    bool l = pl_uses(e, 0, n_left), r = pl_uses(e, n_left, UINT32_MAX);
    return l && r ? SIDE_BOTH : l ? SIDE_LEFT : r ? SIDE_RIGHT : SIDE_NONE;
}

/* What NULLs on the padded side can never satisfy: comparisons with a column of it. */
static bool rejects_null(const wr_expr *e, uint32_t from, uint32_t to) {
    static const char *const NAMES[] = {"=", "<>", "<", "<=", ">", ">=", "IS_NOT_NULL", "LIKE"};
    for (size_t i = 0; i < WR_COUNT_OF(NAMES); i++)
        if (wr_expr_is_call(e, NAMES[i]))
            for (uint32_t a = 0; a < e->n_args; a++)
                if (e->args[a]->kind == WR_E_COL && e->args[a]->col >= from && e->args[a]->col < to) return true;
    return false;
}

static void weaken_outer(lnode *n, const wr_exprs *preds) {
    uint32_t nl = n->in[0]->schema.n, all = n->schema.n;
    bool     no_pad_right = false, no_pad_left = false;
    for (uint32_t i = 0; i < preds->n; i++) {
        no_pad_right |= rejects_null(preds->at[i], nl, all);
        no_pad_left |= rejects_null(preds->at[i], 0, nl);
    }
    wr_join_kind k = n->join.kind;
    if (k == WR_JOIN_LEFT && no_pad_right) k = WR_JOIN_INNER;
    if (k == WR_JOIN_RIGHT && no_pad_left) k = WR_JOIN_INNER;
    if (k == WR_JOIN_FULL && no_pad_right && no_pad_left) k = WR_JOIN_INNER;
    else if (k == WR_JOIN_FULL && no_pad_right) k = WR_JOIN_RIGHT;
    else if (k == WR_JOIN_FULL && no_pad_left) k = WR_JOIN_LEFT;
    n->join.kind = k;
}

static lnode *push_join(pl *p, lnode *n, wr_exprs preds) {
    uint32_t nl = n->in[0]->schema.n, nr = n->in[1]->schema.n;
    wr_exprs left = {0}, right = {0}, cond = {0}, stay = {0}, on = {0};
    if (!n->join.temporal) weaken_outer(n, &preds);
    wr_join_kind k = n->join.kind;
    bool         semi = k == WR_JOIN_SEMI || k == WR_JOIN_ANTI;
    for (uint32_t i = 0; i < preds.n; i++) { /* WHERE above the join */
        side s = side_of(preds.at[i], nl);
        bool to_left = (s == SIDE_LEFT || s == SIDE_NONE) && (semi || k == WR_JOIN_INNER || k == WR_JOIN_LEFT);
        bool to_right = s == SIDE_RIGHT && (k == WR_JOIN_INNER || k == WR_JOIN_RIGHT) && !n->join.temporal;
        if (to_left) add(p, &left, preds.at[i]);
        else if (to_right) add(p, &right, pl_shift(p, preds.at[i], nl + nr, -(int32_t)nl));
        else if (k == WR_JOIN_INNER) add(p, &cond, preds.at[i]);
        else add(p, &stay, preds.at[i]);
    }
    if (n->join.cond) add_conjuncts(p, &on, n->join.cond);
    for (uint32_t i = 0; i < on.n; i++) {
        side s = side_of(on.at[i], nl);
        bool to_left = s == SIDE_LEFT && (k == WR_JOIN_INNER || k == WR_JOIN_RIGHT || k == WR_JOIN_SEMI);
        bool to_right = s == SIDE_RIGHT && (k == WR_JOIN_INNER || k == WR_JOIN_LEFT || semi) && !n->join.temporal;
        if (to_left) add(p, &left, on.at[i]);
        else if (to_right) add(p, &right, pl_shift(p, on.at[i], nl + nr, -(int32_t)nl));
        else add(p, &cond, on.at[i]);
    }
    n->join.cond = wr_expr_and(&p->ec, cond.at, cond.n);
    n->in[0] = pl_push(p, n->in[0], left);
    n->in[1] = pl_push(p, n->in[1], right);
    return above(p, n, &stay);
}

/* ---- aggregation, ranking ---- */

static bool only_keys(const wr_expr *e, const uint32_t *keys, uint32_t n_keys) {
    if (e->kind == WR_E_COL) {
        for (uint32_t i = 0; i < n_keys; i++)
            if (keys[i] == e->col) return true;
        return false;
    }
    for (uint32_t i = 0; i < e->n_args; i++)
        if (!only_keys(e->args[i], keys, n_keys)) return false;
    return true;
}

static bool is_window_column(const lnode *in, uint32_t col) {
    const lnode *n = pl_trace(in, &col);
    return (n->kind == L_TVF && col >= n->in[0]->schema.n) || n->kind == L_AGG; /* of an inner window: leave it */
}

static bool pushable_to_keys(const lnode *a, const wr_expr *e) {
    if (e->kind == WR_E_COL) return e->col < a->agg.n_keys && !is_window_column(a->in[0], a->agg.keys[e->col]);
    for (uint32_t i = 0; i < e->n_args; i++)
        if (!pushable_to_keys(a, e->args[i])) return false;
    return true;
}

static lnode *push_agg(pl *p, lnode *n, wr_exprs preds) {
    wr_exprs down = {0}, stay = {0};
    uint32_t *map = wr_new_n(p->arena, uint32_t, n->schema.n + 1);
    for (uint32_t i = 0; i < n->agg.n_keys; i++) map[i] = n->agg.keys[i];
    for (uint32_t i = 0; i < preds.n; i++) {
        if (n->agg.n_keys && pl_max_col(preds.at[i]) && pushable_to_keys(n, preds.at[i])) add(p, &down, wr_expr_remap(p->arena, preds.at[i], map));
        else add(p, &stay, preds.at[i]);
    }
    n->in[0] = pl_push(p, n->in[0], down);
    return above(p, n, &stay);
}

/* rank op constant, either way round; *op as if the rank stood left. */
static bool rank_bound(const wr_expr *e, uint32_t rank_col, char op[3], int64_t *value) {
    static const char *const OPS[] = {"=", "<", "<=", ">", ">="}, *const FLIPPED[] = {"=", ">", ">=", "<", "<="};
    for (size_t i = 0; i < WR_COUNT_OF(OPS); i++) {
        if (!wr_expr_is_call(e, OPS[i]) || e->n_args != 2) continue;
        for (int flip = 0; flip < 2; flip++) {
            const wr_expr *r = e->args[flip], *c = e->args[!flip];
            if (r->kind != WR_E_COL || r->col != rank_col || c->kind != WR_E_CONST || c->value.null || !wr_type_is_integer(c->type)) continue;
            memcpy(op, flip ? FLIPPED[i] : OPS[i], strlen(flip ? FLIPPED[i] : OPS[i]) + 1);
            *value = c->value.i;
            return true;
        }
    }
    return false;
}

static lnode *push_rank(pl *p, lnode *n, wr_exprs preds) {
    wr_exprs down = {0}, stay = {0};
    int64_t  first = 1, last = INT64_MAX;
    for (uint32_t i = 0; i < preds.n; i++) {
        char    op[3];
        int64_t v;
        if (rank_bound(preds.at[i], n->schema.n - 1, op, &v)) {
            if (op[0] == '=' || op[0] == '<') last = WR_MIN(last, op[0] == '<' && !op[1] ? v - 1 : v);
            if (op[0] == '=' || op[0] == '>') first = WR_MAX(first, op[0] == '>' && !op[1] ? v + 1 : v);
        } else if (pl_max_col(preds.at[i]) && only_keys(preds.at[i], n->rank.keys, n->rank.n_keys)) {
            add(p, &down, preds.at[i]);
        } else {
            add(p, &stay, preds.at[i]);
        }
    }
    if (last < INT64_MAX) {
        n->kind = L_TOP_N;
        n->rank.first = (uint64_t)first;
        n->rank.last = last < first ? (uint64_t)first - 1 : (uint64_t)last;
    } else {
        n->rank.first = (uint64_t)first;
        n->rank.last = INT64_MAX;
    }
    n->in[0] = pl_push(p, n->in[0], down);
    return above(p, n, &stay);
}

/* Rows of other partitions have no part in a result: what asks for whole partitions goes down. */
static lnode *push_over(pl *p, lnode *n, wr_exprs preds) {
    wr_exprs down = {0}, stay = {0};
    for (uint32_t i = 0; i < preds.n; i++) add(p, pl_max_col(preds.at[i]) && only_keys(preds.at[i], n->over.keys, n->over.n_keys) ? &down : &stay, preds.at[i]);
    n->in[0] = pl_push(p, n->in[0], down);
    return above(p, n, &stay);
}

static lnode *push_tvf(pl *p, lnode *n, wr_exprs preds) {
    wr_exprs down = {0}, stay = {0};
    for (uint32_t i = 0; i < preds.n; i++) {
        bool plain = pl_max_col(preds.at[i]) <= n->in[0]->schema.n && n->tvf.window.kind != WR_WINDOW_SESSION;
        bool of_session = n->tvf.window.kind == WR_WINDOW_SESSION && pl_max_col(preds.at[i]) && only_keys(preds.at[i], n->tvf.part, n->tvf.n_part);
        add(p, plain || of_session ? &down : &stay, preds.at[i]);
    }
    n->in[0] = pl_push(p, n->in[0], down);
    return above(p, n, &stay);
}

static lnode *push_unnest(pl *p, lnode *n, wr_exprs preds) { /* what asks about the left row only is asked before it is copied */
    wr_exprs down = {0}, stay = {0};
    for (uint32_t i = 0; i < preds.n; i++) {
        if (pl_max_col(preds.at[i]) <= n->unnest.n_pass && wr_expr_volatility(preds.at[i]) != WR_VOL_RANDOM) add(p, &down, wr_expr_remap(p->arena, preds.at[i], n->unnest.pass));
        else add(p, &stay, preds.at[i]);
    }
    n->in[0] = pl_push(p, n->in[0], down);
    return above(p, n, &stay);
}

/* Partitions of ASSIGN have nothing to do with each other: what asks for whole ones is asked of the rows before. */
static lnode *push_assign(pl *p, lnode *n, wr_exprs preds) {
    wr_exprs down[2] = {{0}, {0}}, stay = {0};
    for (uint32_t i = 0; i < preds.n; i++) {
        wr_expr *e = preds.at[i];
        bool     whole = pl_max_col(e) && pl_max_col(e) <= n->assign.n_keys && wr_expr_volatility(e) == WR_VOL_PURE, same = true;
        if (!whole) {
            add(p, &stay, e);
            continue;
        }
        for (uint32_t k = 0; k < n->assign.n_keys; k++)
            same &= n->in[0]->schema.fields[n->assign.side[0].keys[k]].type.nullable == n->in[1]->schema.fields[n->assign.side[1].keys[k]].type.nullable;
        for (uint32_t s = 0; s < 2; s++) /* orders without couriers, couriers without orders: either is enough */
            if (!s || same) add(p, &down[s], wr_expr_remap(p->arena, e, n->assign.side[s].keys));
    }
    for (uint32_t s = 0; s < 2; s++) n->in[s] = pl_push(p, n->in[s], down[s]);
    return above(p, n, &stay);
}

lnode *pl_push(pl *p, lnode *n, wr_exprs preds) {
    switch (n->kind) {
    case L_CALC: return push_calc(p, n, preds);
    case L_JOIN: return push_join(p, n, preds);
    case L_AGG: return push_agg(p, n, preds);
    case L_RANK: return push_rank(p, n, preds);
    case L_OVER: return push_over(p, n, preds);
    case L_TVF: return push_tvf(p, n, preds);
    case L_UNNEST: return push_unnest(p, n, preds);
    case L_ASSIGN: return push_assign(p, n, preds);
    case L_UNION:
        for (uint32_t i = 0; i < n->n_in; i++) n->in[i] = pl_push(p, n->in[i], preds);
        return n;
    default: {
        wr_exprs none = {0};
        for (uint32_t i = 0; i < n->n_in; i++) n->in[i] = pl_push(p, n->in[i], none);
        return above(p, n, &preds);
    }
    }
}

/* What is fine inside a pattern but cannot run on its own. */
static bool all_run(pl *p, const lnode *n) {
    bool ok = true;
    for (uint32_t i = 0; i < n->n_in; i++) ok &= all_run(p, n->in[i]);
    if (n->kind != L_TVF || n->tvf.window.kind != WR_WINDOW_SESSION) return ok;
    pl_unsupported(p, n->at, "group right above it by its PARTITION BY columns, window_start and window_end", "SESSION without an aggregation");
    return false;
}

lnode *pl_optimize(pl *p, lnode *n) {
    wr_exprs none = {0};
    n = pl_convert(p, pl_push(p, n, none));
    if (!n || !all_run(p, n)) return NULL;
    bool     *need = wr_new_n(p->arena, bool, n->schema.n);
    uint32_t *map = wr_new_n(p->arena, uint32_t, n->schema.n);
    for (uint32_t i = 0; i < n->schema.n; i++) need[i] = true;
    lnode    *pruned = pl_prune(p, n, need, map);
    bool      same = pruned->schema.n == n->schema.n;
    wr_expr **exprs = wr_new_n(p->arena, wr_expr *, n->schema.n);
    for (uint32_t i = 0; i < n->schema.n; i++) {
        same &= map[i] == i;
        exprs[i] = pl_col(p, pruned, map[i], n->at);
    }
    if (same) return pruned;
    lprops props = n->props;
    lnode *c = pl_calc(p, pruned, NULL, exprs, pl_names(p, n), n->schema.n, n->at);
    c->props = props;
    return c;
}
