/* plan/join_patterns.c: which join a condition asks for: temporal, window, interval, or the regular one that keeps both sides.
 *
 * Idea       the condition is split into equality keys, conjuncts on the two event times of the form right.t <op> left.t + constant (any
 *            arrangement of + and -), and a rest. Two time bounds make an interval join; equality of both window bounds makes a window
 *            join. window_end counts as window_time + 1 ms, so a range on it bounds the state as well.
 * Invariant  bounds are inclusive; a strict one is moved by 1 ms, the unit of event time (as Flink).
 * Memory     the arena of the plan.                                                                                   */
#include "plan/patterns.h"

enum { MS = 1000 };

typedef struct jx { /* a join while it is taken apart */
    pl      *p;
    lnode   *j;
    lnode   *in[2];
    uint32_t nl;
    WR_ARR(uint32_t) key[2]; /* columns of each side, after computed keys were added */
    WR_ARR(bool) null_safe;
    wr_exprs rest;
    wr_exprs extra[2]; /* computed keys to add to a side, over that side */
} jx;

static int side_of(const jx *x, const wr_expr *e) { /* 0, 1, or -1 none or both */
    bool l = pl_uses(e, 0, x->nl), r = pl_uses(e, x->nl, UINT32_MAX);
    return l && !r ? 0 : r && !l ? 1 : -1;
}

static uint32_t key_column(jx *x, int side, wr_expr *e) {
    if (e->kind == WR_E_COL) return side ? e->col - x->nl : e->col;
    wr_expr *own = side ? pl_shift(x->p, e, x->nl + x->in[1]->schema.n, -(int32_t)x->nl) : e;
    for (uint32_t i = 0; i < x->extra[side].n; i++)
        if (wr_expr_equal(x->extra[side].at[i], own)) return x->in[side]->schema.n + i;
    wr_arr_apush(x->p->arena, &x->extra[side], own);
    return x->in[side]->schema.n + x->extra[side].n - 1;
}

static bool take_key(jx *x, wr_expr *e) {
    bool eq = wr_expr_is_call(e, "="), nd = wr_expr_is_call(e, "IS_NOT_DISTINCT");
    if ((!eq && !nd) || e->n_args != 2 || wr_expr_volatility(e) != WR_VOL_PURE) return false;
    int a = side_of(x, e->args[0]), b = side_of(x, e->args[1]);
    if (a < 0 || b < 0 || a == b) return false;
    wr_expr *sides[2] = {e->args[a == 0 ? 0 : 1], e->args[a == 0 ? 1 : 0]};
    if (!wr_type_same(sides[0]->type, sides[1]->type)) { /* texts of different lengths compare as they are */
        if (!wr_type_is_string(sides[0]->type) || !wr_type_is_string(sides[1]->type)) return false;
        for (int i = 0; i < 2; i++) {
            wr_type text = wr_type_with_null(wr_type_string(), sides[i]->type.nullable);
            if (!wr_type_same(sides[i]->type, text) && !(sides[i] = wr_expr_cast(&x->p->ec, sides[i], text, false, e->at))) return false;
        }
    }
    uint32_t l = key_column(x, 0, sides[0]), r = key_column(x, 1, sides[1]);
    wr_arr_apush(x->p->arena, &x->key[0], l);
    wr_arr_apush(x->p->arena, &x->key[1], r);
    wr_arr_apush(x->p->arena, &x->null_safe, nd);
    return true;
}

/* ---- time ranges ---- */

typedef struct linear { int side; uint32_t col; int64_t plus_us; } linear; /* event time column of a side, plus a constant */

static bool time_column(const jx *x, int side, uint32_t col, linear *out) {
    const lnode *in = x->in[side];
    if (in->schema.fields[col].type.attr != WR_TIME_NONE) return *out = (linear){side, col, 0}, true;
    const lwin *w = &in->props.win; /* window_end = window_time + 1 ms; window_start = window_end - size */
    if (!w->on || w->ltz || w->time < 0 || in->schema.fields[w->time].type.attr != WR_TIME_ROWTIME) return false;
    if ((int32_t)col == w->end) return *out = (linear){side, (uint32_t)w->time, MS}, true;
    bool fixed = w->window.kind == WR_WINDOW_TUMBLE || w->window.kind == WR_WINDOW_HOP;
    if ((int32_t)col == w->start && fixed) return *out = (linear){side, (uint32_t)w->time, MS - w->window.size_us}, true;
    return false;
}

static bool linearize(jx *x, const wr_expr *e, linear *out) {
    int64_t us;
    if (e->kind == WR_E_COL) {
        int side = e->col >= x->nl;
        return time_column(x, side, side ? e->col - x->nl : e->col, out);
    }
    if (wr_expr_is_call(e, "CAST") && e->n_args >= 1 && e->type.id == e->args[0]->type.id && e->type.prec >= 3) return linearize(x, e->args[0], out);
    bool plus = wr_expr_is_call(e, "+"), minus = wr_expr_is_call(e, "-");
    if ((!plus && !minus) || e->n_args != 2) return false;
    const wr_expr *t = e->args[0], *c = e->args[1];
    if (plus && pl_interval_const(x->p, t, &us)) t = e->args[1], c = e->args[0];
    c = wr_expr_fold(&x->p->ec, (wr_expr *)(uintptr_t)c);
    if (!pl_interval_const(x->p, c, &us) || !linearize(x, t, out)) return false;
    out->plus_us += plus ? us : -us;
    return true;
}

typedef struct range { bool has_low, has_high; uint32_t left, right; bool fixed; int64_t low, high; } range;

/* One conjunct as low or high bound of right.t - left.t. */
static bool take_bound(jx *x, const wr_expr *e, range *r) {
    static const char *const OPS[] = {"<", "<=", ">", ">=", "="};
    int op = -1;
    for (int i = 0; i < 5; i++)
        if (wr_expr_is_call(e, OPS[i])) op = i;
    linear a, b;
    if (op < 0 || e->n_args != 2 || !linearize(x, e->args[0], &a) || !linearize(x, e->args[1], &b) || a.side == b.side) return false;
    /* a.t + a.c  op  b.t + b.c; turn so that right stands left: right op left + d */
    if (a.side == 0) {
        linear t = a;
        a = b, b = t;
        if (op < 4) op = op < 2 ? op + 2 : op - 2;
    }
    if (r->fixed && (r->left != b.col || r->right != a.col)) return false;
    r->left = b.col, r->right = a.col, r->fixed = true;
    int64_t d = b.plus_us - a.plus_us;
    if (op == 4 || op <= 1) {
        int64_t high = op == 0 ? d - MS : d;
        r->high = r->has_high ? WR_MIN(r->high, high) : high;
        r->has_high = true;
    }
    if (op >= 2) {
        int64_t low = op == 2 ? d + MS : d;
        r->low = r->has_low ? WR_MAX(r->low, low) : low;
        r->has_low = true;
    }
    return true;
}

/* ---- making the node ---- */

static wr_str key_name(pl *p, const lnode *in, const wr_expr *e) {
    wr_sbuf b = {0};
    wr_expr_text(e, &in->schema, &b);
    wr_str name = pl_printf(p, "%.*s", (int)WR_MIN(b.len, 60u), b.at);
    wr_sbuf_free(&b);
    return name;
}

static lnode *extend(pl *p, lnode *in, const wr_exprs *extra) {
    if (!extra->n) return in;
    uint32_t  n = in->schema.n;
    wr_expr **exprs = wr_new_n(p->arena, wr_expr *, n + extra->n);
    wr_str   *names = wr_new_n(p->arena, wr_str, n + extra->n);
    for (uint32_t i = 0; i < n; i++) exprs[i] = pl_col(p, in, i, in->at), names[i] = in->schema.fields[i].name;
    for (uint32_t i = 0; i < extra->n; i++) exprs[n + i] = extra->at[i], names[n + i] = key_name(p, in, extra->at[i]);
    lnode *c = pl_project(p, in, exprs, names, n + extra->n, in->at);
    c->label = in->label;
    return c;
}

static void join_props(pl *p, lnode *j, bool updating) {
    const lprops *l = &j->in[0]->props, *r = &j->in[1]->props;
    uint32_t      nl = j->in[0]->schema.n;
    bool          semi = j->join.kind == WR_JOIN_SEMI || j->join.kind == WR_JOIN_ANTI;
    j->props = (lprops){.updating = updating, .bounded = l->bounded && r->bounded, .rate = WR_MAX(l->rate, r->rate), .rate_declared = l->rate_declared && r->rate_declared};
    if (j->kind == L_LOOKUP_JOIN) j->props.bounded = l->bounded, j->props.rate = l->rate, j->props.rate_declared = l->rate_declared;
    j->props.win = (lwin){.start = -1, .end = -1, .time = -1};
    if (semi) {
        if (l->has_key) pl_set_key(p, j, l->key, l->n_key);
        return;
    }
    if (!l->has_key || !r->has_key) return;
    bool right_unique = true, left_unique = true; /* the equality covers the other side's key */
    for (uint32_t i = 0; i < r->n_key; i++) right_unique &= pl_contains(j->join.right_keys, j->join.n_keys, r->key[i]);
    for (uint32_t i = 0; i < l->n_key; i++) left_unique &= pl_contains(j->join.left_keys, j->join.n_keys, l->key[i]);
    uint32_t *key = wr_new_n(p->arena, uint32_t, l->n_key + r->n_key), n = 0;
    bool      take_left = !(left_unique && !right_unique) || j->join.kind == WR_JOIN_LEFT || j->join.kind == WR_JOIN_FULL;
    bool      take_right = !right_unique || j->join.kind == WR_JOIN_RIGHT || j->join.kind == WR_JOIN_FULL;
    for (uint32_t i = 0; take_left && i < l->n_key; i++) key[n++] = l->key[i];
    for (uint32_t i = 0; take_right && i < r->n_key; i++) key[n++] = nl + r->key[i];
    pl_set_key(p, j, key, n);
}

/* Puts keys and rest into the node, drops the columns that were added for computed keys. */
static lnode *finish(jx *x, lkind kind, bool updating, int32_t keep_left_time, int32_t keep_right_time) {
    pl      *p = x->p;
    lnode   *j = x->j;
    uint32_t n0 = x->in[0]->schema.n, n1 = x->in[1]->schema.n, added = x->extra[0].n;
    bool     semi = j->join.kind == WR_JOIN_SEMI || j->join.kind == WR_JOIN_ANTI;
    lnode   *l = extend(p, x->in[0], &x->extra[0]), *r = extend(p, x->in[1], &x->extra[1]);
    lnode   *n = pl_join(p, l, r, j->join.kind, NULL, j->at);
    n->kind = kind;
    n->label = j->label;
    wr_join_kind k = j->join.kind;
    n->join = j->join;
    n->join.kind = k;
    n->join.n_keys = x->key[0].n;
    n->join.left_keys = x->key[0].at;
    n->join.right_keys = x->key[1].at;
    bool any = false;
    for (uint32_t i = 0; i < x->null_safe.n; i++) any |= x->null_safe.at[i];
    n->join.null_safe = any ? x->null_safe.at : NULL;
    uint32_t *map = wr_new_n(p->arena, uint32_t, n0 + n1 + 1);
    for (uint32_t i = 0; i < n0 + n1; i++) map[i] = i < n0 ? i : i + added;
    wr_expr *rest = wr_expr_and(&p->ec, x->rest.at, x->rest.n);
    n->join.residual = rest ? wr_expr_remap(p->arena, rest, map) : NULL;
    n->join.cond = NULL;
    join_props(p, n, updating);
    wr_field *f = wr_new_n(p->arena, wr_field, n->schema.n);
    for (uint32_t i = 0; i < n->schema.n; i++) {
        f[i] = n->schema.fields[i];
        bool keep = i < l->schema.n ? (int32_t)i == keep_left_time : (int32_t)(i - l->schema.n) == keep_right_time;
        if (f[i].type.attr == WR_TIME_ROWTIME && !keep) f[i].type.attr = WR_TIME_NONE;
    }
    n->schema.fields = f;
    if (kind == L_WINDOW_JOIN) {
        const lwin *w = &l->props.win, *v = &r->props.win;
        n->props.win = *w;
        if (k == WR_JOIN_RIGHT && !semi) { /* the left bounds may be padded */
            int32_t off = (int32_t)l->schema.n;
            n->props.win = *v;
            n->props.win.start = v->start >= 0 ? v->start + off : -1;
            n->props.win.end = v->end >= 0 ? v->end + off : -1;
            n->props.win.time = v->time >= 0 ? v->time + off : -1;
        }
        if (k == WR_JOIN_FULL) n->props.win = (lwin){.start = -1, .end = -1, .time = -1};
    }
    if (!x->extra[0].n && !x->extra[1].n) return n;
    uint32_t  width = semi ? n0 : n0 + n1;
    wr_expr **exprs = wr_new_n(p->arena, wr_expr *, width);
    wr_str   *names = wr_new_n(p->arena, wr_str, width);
    for (uint32_t i = 0; i < width; i++) {
        exprs[i] = pl_col(p, n, map[i], j->at);
        names[i] = n->schema.fields[map[i]].name;
    }
    return pl_project(p, n, exprs, names, width, j->at);
}

/* ---- the kinds ---- */

static lnode *refuse_updating(jx *x, const char *what, int side) {
    pl_error(x->p, "0A000", x->j->join.op_at, "%s needs an input of inserts only on the %s, but '%.*s' changes rows", what, side ? "right" : "left",
             WR_FMT(pl_label(x->in[side])));
    return NULL;
}

/* A versioned view keeps the last row a key; the temporal join wants every version, each at its time, and orders them itself: so it reads
 * what the deduplication reads. NULL if the input is not such a view. */
static lnode *all_versions(pl *p, const lnode *n) {
    lnode *c = wr_new(p->arena, lnode);
    if (n->kind == L_DEDUP && n->rank.keep_last && n->rank.time_col >= 0) {
        *c = *n->in[0];
        c->label = n->label;
        pl_set_key(p, c, n->rank.keys, n->rank.n_keys);
        return c;
    }
    if (n->kind != L_CALC || n->calc.filter) return NULL;
    lnode *in = all_versions(p, n->in[0]);
    if (!in) return NULL;
    *c = *n;
    c->in = wr_new_n(p->arena, lnode *, 1);
    c->in[0] = in;
    pl_calc_props(p, c);
    return c;
}

static lnode *temporal_join(jx *x) {
    pl    *p = x->p;
    lnode *r = all_versions(p, x->in[1]);
    if (r) x->in[1] = r;
    else r = x->in[1];
    int32_t rt = pl_rowtime(&r->schema);
    if (x->in[0]->props.updating) return refuse_updating(x, "a temporal join", 0);
    if (rt < 0) {
        pl_error(p, "42804", x->j->join.op_at, "FOR SYSTEM_TIME AS OF: '%.*s' is not a versioned table: it has no event-time column", WR_FMT(pl_label(r)));
        wr_diags_hint(p->diags, "give the table a WATERMARK and a PRIMARY KEY, or make a view: ROW_NUMBER() OVER (PARTITION BY key ORDER BY ts DESC) = 1 that also selects ts");
        return NULL;
    }
    if (!r->props.has_key || !r->props.n_key) {
        pl_error(p, "42804", x->j->join.op_at, "FOR SYSTEM_TIME AS OF: '%.*s' is not a versioned table: nothing says which column identifies a row", WR_FMT(pl_label(r)));
        wr_diags_hint(p->diags, "add PRIMARY KEY (...) NOT ENFORCED to the table");
        return NULL;
    }
    for (uint32_t i = 0; i < r->props.n_key; i++)
        if (!pl_contains(x->key[1].at, x->key[1].n, r->props.key[i])) {
            wr_str k = r->schema.fields[r->props.key[i]].name;
            return pl_error(p, "42804", x->j->join.op_at, "a temporal join must compare the whole key of '%.*s': '%.*s' is missing in ON", WR_FMT(pl_label(r)), WR_FMT(k));
        }
    x->j->join.left_time = x->j->join.as_of;
    x->j->join.right_time = (uint32_t)rt;
    return finish(x, L_TEMPORAL_JOIN, false, (int32_t)x->j->join.as_of, -1);
}

/* right column = something of the left row: a key that the table is asked for. */
static bool take_lookup_key(jx *x, wr_expr *e) {
    if (!wr_expr_is_call(e, "=") || e->n_args != 2 || x->key[0].n == 64) return false;
    tinfo *ti = pl_table_info(x->p, x->in[1]->scan.table);
    for (int i = 0; i < 2; i++) {
        const wr_expr *r = e->args[i];
        wr_expr       *l = e->args[1 - i];
        if (r->kind != WR_E_COL || r->col < x->nl || pl_uses(l, x->nl, UINT32_MAX) || wr_expr_volatility(l) != WR_VOL_PURE) continue;
        if (ti->exprs[x->in[1]->scan.cols[r->col - x->nl]]->kind != WR_E_COL) continue; /* a computed column */
        if (!wr_type_same(l->type, r->type)) {
            if (!wr_type_is_string(l->type) || !wr_type_is_string(r->type)) continue;
            wr_type text = wr_type_with_null(wr_type_string(), l->type.nullable);
            if (!wr_type_same(l->type, text) && !(l = wr_expr_cast(&x->p->ec, l, text, false, e->at))) continue;
            l = wr_expr_fold(&x->p->ec, l);
        }
        uint32_t lc = key_column(x, 0, l), rc = r->col - x->nl;
        wr_arr_apush(x->p->arena, &x->key[0], lc);
        wr_arr_apush(x->p->arena, &x->key[1], rc);
        wr_arr_apush(x->p->arena, &x->null_safe, false);
        return true;
    }
    return false;
}

static lnode *lookup_join(jx *x, const wr_exprs *conjuncts) {
    pl   *p = x->p;
    jx    y = {.p = p, .j = x->j, .in = {x->in[0], x->in[1]}, .nl = x->nl};
    wr_span at = x->j->join.op_at;
    if (y.in[1]->kind != L_SCAN) return pl_unsupported(p, at, "join the table itself", "a lookup join with '%.*s', which is not a plain table,", WR_FMT(pl_label(y.in[1])));
    for (uint32_t i = 0; i < conjuncts->n; i++)
        if (!take_lookup_key(&y, conjuncts->at[i])) wr_arr_apush(p->arena, &y.rest, conjuncts->at[i]);
    if (!y.key[0].n) {
        pl_error(p, "0A000", at, "a lookup join needs a condition in ON that says which rows of '%.*s' to ask for: a column of it = something of the left row", WR_FMT(pl_label(y.in[1])));
        wr_diags_hint(p->diags, "the types must be the same: cast the left side, not the column of the table");
        return NULL;
    }
    for (uint32_t i = 0; i < y.rest.n && y.in[0]->props.updating; i++)
        if (wr_expr_volatility(y.rest.at[i]) != WR_VOL_PURE) {
            pl_error(p, "0A000", y.rest.at[i]->at, "this condition comes out differently each time, but the left side takes rows back: a retraction would not find its row");
            wr_diags_hint(p->diags, "compute the value in the left table (a column), or leave it out of ON");
            return NULL;
        }
    if (!pl_lookup_table(p, y.in[1], at, x->j->join.lookup)) return NULL;
    return finish(&y, L_LOOKUP_JOIN, y.in[0]->props.updating, pl_rowtime(&y.in[0]->schema), -1);
}

static bool same_window(const lwin *a, const lwin *b) {
    return a->window.kind == b->window.kind && a->window.size_us == b->window.size_us && a->window.slide_us == b->window.slide_us &&
           a->window.offset_us == b->window.offset_us && !a->window.proctime && !b->window.proctime && a->ltz == b->ltz && a->window.kind != WR_WINDOW_SESSION;
}

static lnode *window_join(jx *x) {
    const lwin *l = &x->in[0]->props.win, *r = &x->in[1]->props.win;
    if (!l->on || !r->on || x->in[0]->props.updating || x->in[1]->props.updating || l->start < 0 || l->end < 0 || r->start < 0 || r->end < 0 || !same_window(l, r)) return NULL;
    int start = -1, end = -1;
    for (uint32_t i = 0; i < x->key[0].n; i++) {
        if (x->null_safe.at[i]) continue;
        if (x->key[0].at[i] == (uint32_t)l->start && x->key[1].at[i] == (uint32_t)r->start) start = (int)i;
        if (x->key[0].at[i] == (uint32_t)l->end && x->key[1].at[i] == (uint32_t)r->end) end = (int)i;
    }
    if (start < 0 || end < 0) return NULL;
    uint32_t n = 0;
    for (uint32_t i = 0; i < x->key[0].n; i++) {
        bool bound = (x->key[0].at[i] == (uint32_t)l->start && x->key[1].at[i] == (uint32_t)r->start) || (x->key[0].at[i] == (uint32_t)l->end && x->key[1].at[i] == (uint32_t)r->end);
        if (bound) continue;
        x->key[0].at[n] = x->key[0].at[i], x->key[1].at[n] = x->key[1].at[i], x->null_safe.at[n] = x->null_safe.at[i];
        n++;
    }
    x->key[0].n = x->key[1].n = x->null_safe.n = n;
    x->j->join.left_start = (uint32_t)l->start, x->j->join.left_end = (uint32_t)l->end;
    x->j->join.right_start = (uint32_t)r->start, x->j->join.right_end = (uint32_t)r->end;
    bool pads_left = x->j->join.kind == WR_JOIN_RIGHT || x->j->join.kind == WR_JOIN_FULL, pads_right = x->j->join.kind == WR_JOIN_LEFT || x->j->join.kind == WR_JOIN_FULL;
    return finish(x, L_WINDOW_JOIN, false, pads_left ? -1 : l->time, pads_right || x->j->join.kind == WR_JOIN_SEMI ? -1 : r->time);
}

static lnode *interval_join(jx *x, const wr_exprs *conjuncts) {
    if (x->in[0]->props.updating || x->in[1]->props.updating || x->j->join.kind == WR_JOIN_SEMI || x->j->join.kind == WR_JOIN_ANTI) return NULL;
    range r = {0};
    jx    y = *x;
    memset(&y.rest, 0, sizeof y.rest);
    memset(&y.key, 0, sizeof y.key);
    memset(&y.null_safe, 0, sizeof y.null_safe);
    memset(&y.extra, 0, sizeof y.extra);
    for (uint32_t i = 0; i < conjuncts->n; i++) {
        if (take_bound(&y, conjuncts->at[i], &r)) continue;
        if (!take_key(&y, conjuncts->at[i])) wr_arr_apush(x->p->arena, &y.rest, conjuncts->at[i]);
    }
    if (!r.has_low || !r.has_high) return NULL;
    const wr_type *lt = &x->in[0]->schema.fields[r.left].type, *rt = &x->in[1]->schema.fields[r.right].type;
    if (lt->id != rt->id || lt->attr != rt->attr) return NULL;
    y.j->join.proctime = lt->attr == WR_TIME_PROCTIME;
    y.j->join.left_time = r.left, y.j->join.right_time = r.right;
    y.j->join.lower_us = r.low, y.j->join.upper_us = r.high;
    return finish(&y, L_INTERVAL_JOIN, false, (int32_t)r.left, (int32_t)r.right);
}

/* A window's time may have been projected away below though a bound of the window is compared: bring it back. */
static lnode *expose_window_time(pl *p, lnode *n) {
    const lwin *w = &n->props.win;
    if (n->kind != L_CALC || !w->on || w->ltz || w->time >= 0 || (w->end < 0 && w->start < 0)) return n;
    lnode      *in = expose_window_time(p, n->in[0]);
    const lwin *v = &in->props.win;
    if (!v->on || v->time < 0) return n;
    uint32_t  width = n->schema.n;
    wr_expr **exprs = wr_new_n(p->arena, wr_expr *, width + 1);
    wr_str   *names = wr_new_n(p->arena, wr_str, width + 1);
    for (uint32_t i = 0; i < width; i++) exprs[i] = n->calc.exprs[i], names[i] = n->schema.fields[i].name;
    exprs[width] = pl_col(p, in, (uint32_t)v->time, n->at);
    names[width] = WR_STR("window_time");
    lnode *c = pl_calc(p, in, n->calc.filter, exprs, names, width + 1, n->at);
    c->label = n->label;
    pl_calc_props(p, c);
    return c;
}

static lnode *narrow(pl *p, lnode *n, uint32_t n0, uint32_t n1, uint32_t extra0) { /* back to the columns that the join was asked for */
    wr_expr **exprs = wr_new_n(p->arena, wr_expr *, n0 + n1);
    wr_str   *names = wr_new_n(p->arena, wr_str, n0 + n1);
    for (uint32_t i = 0; i < n0 + n1; i++) {
        exprs[i] = pl_col(p, n, i < n0 ? i : i + extra0, n->at);
        names[i] = n->schema.fields[i < n0 ? i : i + extra0].name;
    }
    return pl_project(p, n, exprs, names, n0 + n1, n->at);
}

static lnode *try_interval(jx *x, const wr_exprs *conjuncts) {
    pl      *p = x->p;
    uint32_t n0 = x->in[0]->schema.n, n1 = x->in[1]->schema.n;
    lnode   *l = expose_window_time(p, x->in[0]), *r = expose_window_time(p, x->in[1]);
    uint32_t e0 = l->schema.n - n0, e1 = r->schema.n - n1;
    if (!e0 && !e1) return interval_join(x, conjuncts);
    jx y = *x;
    y.in[0] = l, y.in[1] = r, y.nl = l->schema.n;
    uint32_t *map = wr_new_n(p->arena, uint32_t, n0 + n1 + 1);
    for (uint32_t i = 0; i < n0 + n1; i++) map[i] = i < n0 ? i : i + e0;
    wr_exprs moved = {0};
    for (uint32_t i = 0; i < conjuncts->n; i++) wr_arr_apush(p->arena, &moved, wr_expr_remap(p->arena, conjuncts->at[i], map));
    lnode *n = interval_join(&y, &moved);
    return n ? narrow(p, n, n0, n1, e0) : NULL;
}

lnode *pl_convert_join(pl *p, lnode *j) {
    jx       x = {.p = p, .j = j, .in = {j->in[0], j->in[1]}, .nl = j->in[0]->schema.n};
    wr_exprs all = {0};
    wr_expr **parts = NULL;
    uint32_t  n = 0;
    pl_push_conjuncts(p, j->join.cond, &parts, &n);
    for (uint32_t i = 0; i < n; i++) wr_arr_apush(p->arena, &all, wr_expr_fold(&p->ec, parts[i]));
    if (j->join.lookup) return lookup_join(&x, &all);
    for (uint32_t i = 0; i < all.n; i++)
        if (!take_key(&x, all.at[i])) wr_arr_apush(p->arena, &x.rest, all.at[i]);
    if (j->join.temporal) return temporal_join(&x);
    lnode *out = window_join(&x);
    if (out) return out;
    out = try_interval(&x, &all);
    if (out) return out;
    bool append = !x.in[0]->props.updating && !x.in[1]->props.updating;
    bool inserts_only = append && (j->join.kind == WR_JOIN_INNER || j->join.kind == WR_JOIN_SEMI);
    if (j->join.null_aware && x.key[0].n == 0) return pl_unsupported(p, j->at, "write NOT EXISTS", "this NOT IN condition");
    return finish(&x, L_JOIN, !inserts_only, -1, -1);
}
