/* plan/prune.c: every node keeps only the columns that something above reads; neighbouring calcs become one.
 *
 * Idea       pl_prune(n, need, map) gives a node with at least the needed columns; map[i] = new place of old column i. What an operator
 *            stores is what flows into it, so this is what makes join and Top-N state small.
 * Invariant  a node keeps at least one column, so that a batch always has rows.                                       */
#include "plan/patterns.h"

static void need_expr(const wr_expr *e, bool *need) {
    if (e->kind == WR_E_COL) need[e->col] = true;
    for (uint32_t i = 0; e->kind == WR_E_CALL && i < e->n_args; i++) need_expr(e->args[i], need);
}

static uint32_t cheapest(const wr_schema *s) { /* a column to keep when none is needed */
    for (uint32_t i = 0; i < s->n; i++) {
        wr_storage st = wr_type_storage(s->fields[i].type);
        if (st != WR_S_STR && st != WR_S_LIST && st != WR_S_ROW) return i;
    }
    return 0;
}

static lnode *copy_node(pl *p, const lnode *n) {
    lnode *c = wr_new(p->arena, lnode);
    *c = *n;
    c->in = wr_new_n(p->arena, lnode *, WR_MAX(n->n_in, 1u));
    for (uint32_t i = 0; i < n->n_in; i++) c->in[i] = n->in[i];
    return c;
}

typedef struct part { lnode *n; uint32_t *map; bool *need; } part;

static part start(pl *p, const lnode *in) {
    return (part){.n = (lnode *)(uintptr_t)in, .map = wr_new_n(p->arena, uint32_t, in->schema.n + 1), .need = wr_new_n(p->arena, bool, in->schema.n + 1)};
}

static void run(pl *p, part *x) {
    bool any = false;
    for (uint32_t i = 0; i < x->n->schema.n; i++) any |= x->need[i];
    if (!any) x->need[cheapest(&x->n->schema)] = true;
    x->n = pl_prune(p, x->n, x->need, x->map);
}

static uint32_t *remap_cols(pl *p, const uint32_t *cols, uint32_t n, const uint32_t *map) {
    uint32_t *out = wr_new_n(p->arena, uint32_t, n);
    for (uint32_t i = 0; i < n; i++) out[i] = map[cols[i]];
    return out;
}

static void need_cols(const uint32_t *cols, uint32_t n, bool *need) {
    for (uint32_t i = 0; i < n; i++) need[cols[i]] = true;
}

/* New properties of a node whose columns moved by map (UINT32_MAX gone). */
static void move_props(pl *p, lnode *n, const lprops *was, const uint32_t *map) {
    n->props = *was;
    n->props.key = wr_new_n(p->arena, uint32_t, was->n_key);
    for (uint32_t i = 0; i < was->n_key && n->props.has_key; i++) {
        if (map[was->key[i]] == UINT32_MAX) n->props.has_key = false;
        else n->props.key[i] = map[was->key[i]];
    }
    lwin *w = &n->props.win;
    if (w->start >= 0) w->start = (int32_t)map[w->start];
    if (w->end >= 0) w->end = (int32_t)map[w->end];
    if (w->time >= 0) w->time = (int32_t)map[w->time];
}

/* Keeps the marked columns of a leaf or of an output made by the node itself. */
static void keep_fields(pl *p, lnode *n, const wr_schema *old, const bool *keep, uint32_t *map) {
    wr_field *f = wr_new_n(p->arena, wr_field, old->n);
    uint32_t  k = 0;
    for (uint32_t i = 0; i < old->n; i++) {
        map[i] = keep[i] ? k : UINT32_MAX;
        if (keep[i]) f[k++] = old->fields[i];
    }
    n->schema = (wr_schema){k, f};
}

static lnode *prune_scan(pl *p, lnode *n, const bool *need, uint32_t *map) {
    lnode *c = copy_node(p, n);
    c->scan.cols = wr_new_n(p->arena, uint32_t, n->schema.n);
    uint32_t k = 0;
    for (uint32_t i = 0; i < n->schema.n; i++)
        if (need[i]) c->scan.cols[k++] = n->scan.cols[i];
    keep_fields(p, c, &n->schema, need, map);
    move_props(p, c, &n->props, map);
    return c;
}

static lnode *prune_values(pl *p, lnode *n, const bool *need, uint32_t *map) {
    lnode *c = copy_node(p, n);
    keep_fields(p, c, &n->schema, need, map);
    c->values.rows = wr_new_n(p->arena, wr_value, (size_t)n->values.n_rows * c->schema.n);
    for (uint32_t r = 0; r < n->values.n_rows; r++)
        for (uint32_t i = 0; i < n->schema.n; i++)
            if (need[i]) c->values.rows[r * c->schema.n + map[i]] = n->values.rows[r * n->schema.n + i];
    move_props(p, c, &n->props, map);
    return c;
}

/* ---- calc ---- */

/* Each computed expression of the lower calc is used at most once, or is cheap: then both calcs may become one. */
static void count_uses(const wr_expr *e, uint32_t *uses) {
    if (e->kind == WR_E_COL) uses[e->col]++;
    for (uint32_t i = 0; e->kind == WR_E_CALL && i < e->n_args; i++) count_uses(e->args[i], uses);
}

static bool can_merge(pl *p, const lnode *upper, const lnode *lower) {
    uint32_t *uses = wr_new_n(p->arena, uint32_t, lower->schema.n + 1);
    for (uint32_t i = 0; i < upper->schema.n; i++) count_uses(upper->calc.exprs[i], uses);
    if (upper->calc.filter) count_uses(upper->calc.filter, uses);
    for (uint32_t i = 0; i < lower->schema.n; i++) {
        const wr_expr *e = lower->calc.exprs[i];
        if (e->kind == WR_E_CALL && uses[i] > 1) return false;
        if (uses[i] && wr_expr_volatility(e) == WR_VOL_RANDOM) return false;
    }
    return true;
}

static lnode *merge(pl *p, lnode *upper) {
    while (upper->in[0]->kind == L_CALC && can_merge(p, upper, upper->in[0])) {
        lnode   *lower = upper->in[0], *c = copy_node(p, upper);
        c->calc.exprs = wr_new_n(p->arena, wr_expr *, upper->schema.n);
        for (uint32_t i = 0; i < upper->schema.n; i++) c->calc.exprs[i] = wr_expr_substitute(p->arena, upper->calc.exprs[i], lower->calc.exprs);
        wr_expr *f = upper->calc.filter ? wr_expr_substitute(p->arena, upper->calc.filter, lower->calc.exprs) : NULL;
        c->calc.filter = pl_and(p, lower->calc.filter, f);
        c->in[0] = lower->in[0];
        upper = c;
    }
    return upper;
}

/* A calc that only renames or reorders all columns of its input: the input itself, under the calc's names. */
static lnode *elide(pl *p, lnode *c, const uint32_t *map_in, uint32_t n_old, uint32_t *map) {
    lnode *in = c->in[0];
    if (c->calc.filter || c->schema.n != in->schema.n || in->kind == L_SCAN) return NULL;
    bool *seen = wr_new_n(p->arena, bool, in->schema.n + 1);
    for (uint32_t i = 0; i < c->schema.n; i++) {
        const wr_expr *e = c->calc.exprs[i];
        if (e->kind != WR_E_COL || seen[e->col] || c->schema.fields[i].type.attr != in->schema.fields[e->col].type.attr) return NULL;
        seen[e->col] = true;
    }
    lnode    *n = copy_node(p, in);
    if (c->label.len) n->label = c->label;
    wr_field *f = wr_new_n(p->arena, wr_field, in->schema.n);
    for (uint32_t i = 0; i < in->schema.n; i++) f[i] = in->schema.fields[i];
    for (uint32_t i = 0; i < c->schema.n; i++) f[c->calc.exprs[i]->col].name = c->schema.fields[i].name;
    n->schema.fields = f;
    (void)map_in;
    for (uint32_t i = 0; i < n_old; i++)
        if (map[i] != UINT32_MAX) map[i] = c->calc.exprs[map[i]]->col;
    return n;
}

static lnode *prune_calc(pl *p, lnode *n, const bool *need, uint32_t *map) {
    part x = start(p, n->in[0]);
    for (uint32_t i = 0; i < n->schema.n; i++)
        if (need[i]) need_expr(n->calc.exprs[i], x.need);
    if (n->calc.filter) need_expr(n->calc.filter, x.need);
    run(p, &x);
    lnode *c = copy_node(p, n);
    keep_fields(p, c, &n->schema, need, map);
    c->in[0] = x.n;
    c->calc.exprs = wr_new_n(p->arena, wr_expr *, c->schema.n);
    for (uint32_t i = 0; i < n->schema.n; i++)
        if (need[i]) c->calc.exprs[map[i]] = wr_expr_fold(&p->ec, wr_expr_remap(p->arena, n->calc.exprs[i], x.map));
    c->calc.filter = n->calc.filter ? wr_expr_fold(&p->ec, wr_expr_remap(p->arena, n->calc.filter, x.map)) : NULL;
    move_props(p, c, &n->props, map);
    c = merge(p, c);
    lnode *less = elide(p, c, x.map, n->schema.n, map);
    if (!less) return c;
    move_props(p, less, &n->props, map);
    return less;
}

/* ---- aggregation ---- */

static lnode *prune_agg(pl *p, lnode *n, const bool *need, uint32_t *map) {
    bool     window = n->kind == L_WINDOW_AGG;
    uint32_t nk = n->agg.n_keys, na = n->agg.n_aggs, kept = 0;
    part     x = start(p, n->in[0]);
    bool    *keep = wr_new_n(p->arena, bool, n->schema.n + 1);
    lnode   *c = copy_node(p, n);
    need_cols(n->agg.keys, nk, x.need);
    c->agg.aggs = wr_new_n(p->arena, wr_agg, na);
    for (uint32_t i = 0; i < n->schema.n; i++) keep[i] = i < nk || need[i];
    for (uint32_t i = 0; i < na; i++) {
        const wr_agg *g = &n->agg.aggs[i];
        if (!keep[nk + i]) continue;
        if (g->arg >= 0) x.need[g->arg] = true;
        if (g->arg2 >= 0) x.need[g->arg2] = true;
        if (g->filter >= 0) x.need[g->filter] = true;
        c->agg.aggs[kept++] = *g;
    }
    c->agg.n_aggs = kept;
    if (window) {
        uint32_t at = nk + na;
        c->agg.out_start = keep[at], c->agg.out_end = keep[at + 1], c->agg.out_time = keep[at + 2];
        if (n->agg.windowed_input) x.need[n->agg.in_start] = x.need[n->agg.in_end] = true;
        else x.need[n->agg.window.time_col] = true;
    }
    run(p, &x);
    c->in[0] = x.n;
    c->agg.keys = remap_cols(p, n->agg.keys, nk, x.map);
    for (uint32_t i = 0; i < kept; i++) {
        wr_agg *g = &c->agg.aggs[i];
        if (g->arg >= 0) g->arg = (int32_t)x.map[g->arg];
        if (g->arg2 >= 0) g->arg2 = (int32_t)x.map[g->arg2];
        if (g->filter >= 0) g->filter = (int32_t)x.map[g->filter];
    }
    if (window && n->agg.windowed_input) c->agg.in_start = (int32_t)x.map[n->agg.in_start], c->agg.in_end = (int32_t)x.map[n->agg.in_end];
    else if (window) c->agg.window.time_col = x.map[n->agg.window.time_col];
    keep_fields(p, c, &n->schema, keep, map);
    move_props(p, c, &n->props, map);
    return c;
}

static lnode *prune_tvf(pl *p, lnode *n, const bool *need, uint32_t *map) {
    part     x = start(p, n->in[0]);
    uint32_t w = n->in[0]->schema.n;
    for (uint32_t i = 0; i < w; i++) x.need[i] = need[i];
    x.need[n->tvf.window.time_col] = true;
    need_cols(n->tvf.part, n->tvf.n_part, x.need);
    run(p, &x);
    lnode *c = copy_node(p, n);
    c->in[0] = x.n;
    c->tvf.window.time_col = x.map[n->tvf.window.time_col];
    c->tvf.part = remap_cols(p, n->tvf.part, n->tvf.n_part, x.map);
    wr_field *f = wr_new_n(p->arena, wr_field, x.n->schema.n + 3);
    for (uint32_t i = 0; i < x.n->schema.n; i++) {
        f[i] = x.n->schema.fields[i];
        if (f[i].type.attr == WR_TIME_ROWTIME) f[i].type.attr = WR_TIME_NONE;
    }
    for (uint32_t i = 0; i < 3; i++) f[x.n->schema.n + i] = n->schema.fields[w + i];
    c->schema = (wr_schema){x.n->schema.n + 3, f};
    for (uint32_t i = 0; i < w; i++) map[i] = x.need[i] ? x.map[i] : UINT32_MAX;
    for (uint32_t i = 0; i < 3; i++) map[w + i] = x.n->schema.n + i;
    move_props(p, c, &n->props, map);
    return c;
}

/* ---- joins ---- */

static void need_join_cols(const lnode *n, part side[2], uint32_t nl) {
    need_cols(n->join.left_keys, n->join.n_keys, side[0].need);
    need_cols(n->join.right_keys, n->join.n_keys, side[1].need);
    if (n->join.residual) {
        bool *both = side[0].need; /* residual is over left ++ right */
        for (uint32_t i = 0; i < nl; i++)
            if (pl_uses(n->join.residual, i, i + 1)) both[i] = true;
        for (uint32_t i = 0; i < side[1].n->schema.n; i++)
            if (pl_uses(n->join.residual, nl + i, nl + i + 1)) side[1].need[i] = true;
    }
    if (n->kind == L_INTERVAL_JOIN || n->kind == L_TEMPORAL_JOIN) side[0].need[n->join.left_time] = side[1].need[n->join.right_time] = true;
    if (n->kind == L_WINDOW_JOIN)
        side[0].need[n->join.left_start] = side[0].need[n->join.left_end] = side[1].need[n->join.right_start] = side[1].need[n->join.right_end] = true;
    if (n->kind == L_TEMPORAL_JOIN && n->in[1]->props.has_key) need_cols(n->in[1]->props.key, n->in[1]->props.n_key, side[1].need);
}

static lnode *prune_join(pl *p, lnode *n, const bool *need, uint32_t *map) {
    bool     semi = n->join.kind == WR_JOIN_SEMI || n->join.kind == WR_JOIN_ANTI;
    uint32_t nl = n->in[0]->schema.n, nr = n->in[1]->schema.n;
    part     side[2] = {start(p, n->in[0]), start(p, n->in[1])};
    for (uint32_t i = 0; i < nl; i++) side[0].need[i] = need[i];
    for (uint32_t i = 0; !semi && i < nr; i++) side[1].need[i] = need[nl + i];
    need_join_cols(n, side, nl);
    run(p, &side[0]);
    run(p, &side[1]);
    lnode   *c = copy_node(p, n);
    uint32_t pl_n = side[0].n->schema.n, pr_n = side[1].n->schema.n;
    c->in[0] = side[0].n, c->in[1] = side[1].n;
    c->join.left_keys = remap_cols(p, n->join.left_keys, n->join.n_keys, side[0].map);
    c->join.right_keys = remap_cols(p, n->join.right_keys, n->join.n_keys, side[1].map);
    uint32_t *both = wr_new_n(p->arena, uint32_t, nl + nr + 1);
    for (uint32_t i = 0; i < nl; i++) both[i] = side[0].map[i];
    for (uint32_t i = 0; i < nr; i++) both[nl + i] = side[1].map[i] == UINT32_MAX ? UINT32_MAX : pl_n + side[1].map[i];
    if (n->join.residual) c->join.residual = wr_expr_remap(p->arena, n->join.residual, both);
    if (n->kind == L_INTERVAL_JOIN || n->kind == L_TEMPORAL_JOIN) c->join.left_time = side[0].map[n->join.left_time], c->join.right_time = side[1].map[n->join.right_time];
    if (n->kind == L_WINDOW_JOIN) {
        c->join.left_start = side[0].map[n->join.left_start], c->join.left_end = side[0].map[n->join.left_end];
        c->join.right_start = side[1].map[n->join.right_start], c->join.right_end = side[1].map[n->join.right_end];
    }
    wr_field *f = wr_new_n(p->arena, wr_field, pl_n + pr_n);
    for (uint32_t i = 0; i < n->schema.n; i++) {
        map[i] = both[i];
        if (both[i] != UINT32_MAX) f[both[i]] = n->schema.fields[i];
    }
    uint32_t width = semi ? pl_n : pl_n + pr_n;
    for (uint32_t i = 0; i < width; i++) /* columns that a side brought though nobody asked */
        if (!f[i].name.ptr) f[i] = i < pl_n ? side[0].n->schema.fields[i] : side[1].n->schema.fields[i - pl_n], f[i].type.attr = WR_TIME_NONE, f[i].type.nullable = 1;
    c->schema = (wr_schema){width, f};
    move_props(p, c, &n->props, map);
    return c;
}

/* ---- ranking and the rest: input columns pass through ---- */

/* Columns that functions of OVER read; map NULL: they are needed, else: they are renamed. */
static void over_columns(wr_over_fn *fn, bool *need, const uint32_t *map) {
    int32_t *cols[] = {&fn->agg.arg, &fn->agg.arg2, &fn->agg.filter, &fn->fallback};
    for (size_t k = 0; k < WR_COUNT_OF(cols); k++) {
        if (*cols[k] < 0) continue;
        if (map) *cols[k] = (int32_t)map[*cols[k]];
        else need[*cols[k]] = true;
    }
}

/* The functions whose columns (from w on) are needed; map says where they are among those. */
static wr_over_fn *needed_fns(pl *p, const wr_over_fn *fns, uint32_t n, const bool *need, uint32_t w, bool *below, uint32_t *map, uint32_t *kept) {
    wr_over_fn *out = wr_new_n(p->arena, wr_over_fn, n + 1);
    *kept = 0;
    for (uint32_t i = 0; i < n; i++) {
        map[w + i] = UINT32_MAX;
        if (!need[w + i]) continue;
        out[*kept] = fns[i];
        over_columns(&out[*kept], below, NULL);
        map[w + i] = (*kept)++;
    }
    return out;
}

static lnode *prune_pass(pl *p, lnode *n, const bool *need, uint32_t *map) {
    lnode   *in = n->in[0], *c = copy_node(p, n);
    part     x = start(p, in);
    bool     ranked = n->kind == L_TOP_N || n->kind == L_DEDUP || n->kind == L_TIME_SORT;
    uint32_t w = in->schema.n;
    for (uint32_t i = 0; i < w; i++) x.need[i] = need[i];
    if (ranked) {
        need_cols(n->rank.keys, n->rank.n_keys, x.need);
        for (uint32_t i = 0; i < n->rank.n_order; i++) x.need[n->rank.order[i].col] = true;
        need_cols(n->rank.unique, n->rank.n_unique, x.need);
        if (n->rank.window_end >= 0) x.need[n->rank.window_end] = true;
        if (n->rank.time_col >= 0) x.need[n->rank.time_col] = true;
        c->rank.fns = needed_fns(p, n->rank.fns, n->rank.n_fns, need, w, x.need, map, &c->rank.n_fns);
    }
    run(p, &x);
    if (ranked && n->rank.n_fns && !c->rank.n_fns) { /* all rows, and nothing of OVER */
        for (uint32_t i = 0; i < w; i++) map[i] = x.need[i] ? x.map[i] : UINT32_MAX;
        return x.n;
    }
    c->in[0] = x.n;
    uint32_t  nw = x.n->schema.n;
    wr_field *f = wr_new_n(p->arena, wr_field, nw + 1 + (ranked ? n->rank.n_fns : 0));
    for (uint32_t i = 0; i < nw; i++) {
        f[i] = x.n->schema.fields[i];
        if (f[i].type.attr == WR_TIME_ROWTIME && n->kind == L_TOP_N) f[i].type.attr = WR_TIME_NONE;
    }
    for (uint32_t i = 0; i < w; i++) {
        map[i] = x.need[i] ? x.map[i] : UINT32_MAX;
        if (x.need[i]) f[x.map[i]].type.attr = n->schema.fields[i].type.attr;
    }
    if (ranked) {
        c->rank.keys = remap_cols(p, n->rank.keys, n->rank.n_keys, x.map);
        c->rank.unique = remap_cols(p, n->rank.unique, n->rank.n_unique, x.map);
        c->rank.order = wr_new_n(p->arena, wr_sort_key, n->rank.n_order);
        for (uint32_t i = 0; i < n->rank.n_order; i++) c->rank.order[i] = n->rank.order[i], c->rank.order[i].col = x.map[n->rank.order[i].col];
        if (n->rank.window_end >= 0) c->rank.window_end = (int32_t)x.map[n->rank.window_end];
        if (n->rank.time_col >= 0) c->rank.time_col = (int32_t)x.map[n->rank.time_col];
    }
    c->schema = (wr_schema){nw, f};
    for (uint32_t i = 0; ranked && i < n->rank.n_fns; i++) {
        if (map[w + i] == UINT32_MAX) continue;
        over_columns(&c->rank.fns[map[w + i]], NULL, x.map);
        f[nw + map[w + i]] = n->schema.fields[w + i], map[w + i] += nw, c->schema.n++;
    }
    if (n->kind == L_TOP_N && n->rank.out_rank) {
        c->rank.out_rank = need[w];
        map[w] = need[w] ? nw : UINT32_MAX;
        if (need[w]) f[nw] = n->schema.fields[w], c->schema.n++;
    }
    move_props(p, c, &n->props, map);
    return c;
}

static lnode *prune_over(pl *p, lnode *n, const bool *need, uint32_t *map) {
    uint32_t w = n->in[0]->schema.n, kept = 0;
    lnode   *c = copy_node(p, n);
    part     x = start(p, n->in[0]);
    for (uint32_t i = 0; i < w; i++) x.need[i] = need[i];
    c->over.fns = needed_fns(p, n->over.fns, n->over.n_fns, need, w, x.need, map, &kept);
    if (kept) {
        need_cols(n->over.keys, n->over.n_keys, x.need);
        if (!n->over.by_arrival) x.need[n->over.order.col] = true;
    }
    run(p, &x);
    for (uint32_t i = 0; i < w; i++) map[i] = x.need[i] ? x.map[i] : UINT32_MAX;
    if (!kept) return x.n;
    c->in[0] = x.n;
    uint32_t  nw = x.n->schema.n;
    wr_field *f = wr_new_n(p->arena, wr_field, nw + kept);
    for (uint32_t i = 0; i < nw; i++) f[i] = x.n->schema.fields[i];
    for (uint32_t i = 0; i < n->over.n_fns; i++)
        if (map[w + i] != UINT32_MAX) f[nw + map[w + i]] = n->schema.fields[w + i], map[w + i] += nw;
    for (uint32_t i = 0; i < kept; i++) over_columns(&c->over.fns[i], NULL, x.map);
    c->over.n_fns = kept;
    c->over.keys = remap_cols(p, n->over.keys, n->over.n_keys, x.map);
    if (!n->over.by_arrival) c->over.order.col = x.map[n->over.order.col];
    c->schema = (wr_schema){nw + kept, f};
    move_props(p, c, &n->props, map);
    return c;
}

static lnode *prune_union(pl *p, lnode *n, const bool *need, uint32_t *map) {
    lnode *c = copy_node(p, n);
    keep_fields(p, c, &n->schema, need, map);
    for (uint32_t i = 0; i < n->n_in; i++) {
        part x = start(p, n->in[i]);
        for (uint32_t k = 0; k < n->schema.n; k++) x.need[k] = need[k];
        run(p, &x);
        bool same = x.n->schema.n == c->schema.n;
        for (uint32_t k = 0; k < n->schema.n; k++) same &= !need[k] || x.map[k] == map[k];
        c->in[i] = x.n;
        if (same) continue;
        wr_expr **exprs = wr_new_n(p->arena, wr_expr *, c->schema.n);
        wr_str   *names = wr_new_n(p->arena, wr_str, c->schema.n);
        for (uint32_t k = 0; k < n->schema.n; k++)
            if (need[k]) exprs[map[k]] = pl_col(p, x.n, x.map[k], n->at), names[map[k]] = n->schema.fields[k].name;
        c->in[i] = merge(p, pl_project(p, x.n, exprs, names, c->schema.n, n->at));
    }
    move_props(p, c, &n->props, map);
    return c;
}

static lnode *prune_unnest(pl *p, lnode *n, const bool *need, uint32_t *map) {
    uint32_t w = n->unnest.n_pass, kept = 0, more = n->schema.n - w;
    part     x = start(p, n->in[0]);
    for (uint32_t i = 0; i < w; i++)
        if (need[i]) x.need[n->unnest.pass[i]] = true;
    x.need[n->unnest.col] = true;
    run(p, &x);
    lnode    *c = copy_node(p, n);
    wr_field *f = wr_new_n(p->arena, wr_field, n->schema.n);
    c->in[0] = x.n;
    c->unnest.col = x.map[n->unnest.col];
    c->unnest.pass = wr_new_n(p->arena, uint32_t, w);
    for (uint32_t i = 0; i < w; i++) {
        map[i] = need[i] ? kept : UINT32_MAX;
        if (!need[i]) continue;
        f[kept] = n->schema.fields[i];
        c->unnest.pass[kept++] = x.map[n->unnest.pass[i]];
    }
    c->unnest.n_pass = kept;
    for (uint32_t i = 0; i < more; i++) map[w + i] = kept + i, f[kept + i] = n->schema.fields[w + i];
    c->schema = (wr_schema){kept + more, f};
    move_props(p, c, &n->props, map);
    return c;
}

static lnode *prune_changelog(pl *p, lnode *n, const bool *need, uint32_t *map) {
    bool     to = n->kinds->to;
    uint32_t w = n->in[0]->schema.n, col = n->kinds->col, kept = to;
    lnode   *c = copy_node(p, n);
    part     x = start(p, n->in[0]);
    for (uint32_t i = 0, k = to; i < w; i++) x.need[i] = to || i != col ? need[k++] : true;
    run(p, &x);
    c->in[0] = x.n;
    wr_calc_kinds *kinds = wr_new(p->arena, wr_calc_kinds);
    *kinds = *n->kinds;
    if (!to) kinds->col = x.map[col];
    c->kinds = kinds;
    wr_field *f = wr_new_n(p->arena, wr_field, x.n->schema.n + 1);
    uint32_t *back = wr_new_n(p->arena, uint32_t, x.n->schema.n + 1); /* of the new input's columns: old output column + 1 */
    for (uint32_t i = 0, k = to; i < w; i++) {
        if (!to && i == col) continue;
        map[k] = UINT32_MAX;
        if (x.need[i]) back[x.map[i]] = k + 1;
        k++;
    }
    for (uint32_t i = 0; i < x.n->schema.n; i++) {
        if (!to && i == kinds->col) continue;
        f[kept] = x.n->schema.fields[i];
        if (back[i]) f[kept].type.attr = n->schema.fields[back[i] - 1].type.attr, map[back[i] - 1] = kept;
        else if (f[kept].type.attr == WR_TIME_ROWTIME) f[kept].type.attr = WR_TIME_NONE;
        kept++;
    }
    if (to) f[0] = n->schema.fields[0], map[0] = 0;
    c->schema = (wr_schema){kept, f};
    move_props(p, c, &n->props, map);
    return c;
}

/* ---- MATCH_RECOGNIZE: keys stay, measures that nobody reads go, and with them the values that only they are over ---- */

static lnode *prune_match(pl *p, lnode *n, const bool *need, uint32_t *map) {
    const wr_match_opts *o = &n->match;
    part      x = start(p, n->in[0]);
    lnode    *c = copy_node(p, n);
    bool     *keep = wr_new_n(p->arena, bool, n->schema.n + 1), *used = wr_new_n(p->arena, bool, o->n_refs + 1);
    uint32_t *ref_map = wr_new_n(p->arena, uint32_t, o->n_refs + 1), n_refs = 0, n_measures = 0;
    for (uint32_t i = 0; i < n->schema.n; i++) keep[i] = i < o->n_keys || need[i];
    for (uint32_t i = 0; i < o->n_measures; i++)
        if (keep[o->n_keys + i]) need_expr(o->measures[i], used);
    for (uint32_t i = 0; i < o->n_vars; i++) {
        if (o->vars[i].cond) need_expr(o->vars[i].cond, used);
        if (o->vars[i].given >= 0) x.need[o->vars[i].given] = true;
    }
    need_cols(o->keys, o->n_keys, x.need);
    x.need[o->time_col] = true;
    for (uint32_t i = 0; i < o->n_order; i++) x.need[o->order[i].col] = true;
    for (uint32_t i = 0; i < o->n_refs; i++) {
        const wr_match_ref *r = &o->refs[i];
        if (used[i] && r->kind == WR_MATCH_REF_AGG && r->agg.arg >= 0) x.need[r->agg.arg] = true;
        else if (used[i] && (r->kind == WR_MATCH_REF_FIRST || r->kind == WR_MATCH_REF_LAST)) x.need[r->col] = true;
    }
    run(p, &x);
    c->in[0] = x.n;
    wr_match_ref *refs = wr_new_n(p->arena, wr_match_ref, o->n_refs + 1);
    for (uint32_t i = 0; i < o->n_refs; i++) {
        ref_map[i] = used[i] ? n_refs : UINT32_MAX;
        if (!used[i]) continue;
        wr_match_ref *r = &refs[n_refs++];
        *r = o->refs[i];
        if (r->kind == WR_MATCH_REF_AGG) r->agg.arg = r->agg.arg >= 0 ? (int32_t)x.map[r->agg.arg] : -1;
        else if (r->kind != WR_MATCH_REF_TIME) r->col = x.map[r->col];
    }
    wr_match_var *vars = wr_new_n(p->arena, wr_match_var, o->n_vars);
    for (uint32_t i = 0; i < o->n_vars; i++) {
        vars[i] = o->vars[i];
        if (vars[i].given >= 0) vars[i].given = (int32_t)x.map[vars[i].given];
        if (vars[i].cond) vars[i].cond = wr_expr_remap(p->arena, vars[i].cond, ref_map);
    }
    wr_sort_key *order = wr_new_n(p->arena, wr_sort_key, o->n_order + 1);
    for (uint32_t i = 0; i < o->n_order; i++) order[i] = o->order[i], order[i].col = x.map[order[i].col];
    c->match.measures = wr_new_n(p->arena, wr_expr *, o->n_measures + 1);
    for (uint32_t i = 0; i < o->n_measures; i++)
        if (keep[o->n_keys + i]) c->match.measures[n_measures++] = wr_expr_remap(p->arena, o->measures[i], ref_map);
    c->match.keys = remap_cols(p, o->keys, o->n_keys, x.map);
    c->match.time_col = x.map[o->time_col];
    c->match.order = order, c->match.vars = vars, c->match.refs = refs, c->match.n_refs = n_refs, c->match.n_measures = n_measures;
    keep_fields(p, c, &n->schema, keep, map);
    move_props(p, c, &n->props, map);
    return c;
}

/* ---- ASSIGN: its columns are few and always made ---- */

static lnode *prune_assign(pl *p, lnode *n, uint32_t *map) {
    lnode *c = copy_node(p, n);
    for (int s = 0; s < 2; s++) {
        part x = start(p, n->in[s]);
        pl_assign_need(&n->assign, s, x.need);
        run(p, &x);
        c->in[s] = x.n;
        pl_assign_remap(p, &c->assign, s, x.map);
    }
    for (uint32_t i = 0; i < n->schema.n; i++) map[i] = i;
    return c;
}

lnode *pl_prune(pl *p, lnode *n, const bool *asked, uint32_t *map) {
    bool *need = wr_new_n(p->arena, bool, n->schema.n + 1), any = false;
    for (uint32_t i = 0; i < n->schema.n; i++) any |= need[i] = asked[i];
    if (!any) need[cheapest(&n->schema)] = true;
    switch (n->kind) {
    case L_SCAN: return prune_scan(p, n, need, map);
    case L_VALUES: return prune_values(p, n, need, map);
    case L_CALC: return prune_calc(p, n, need, map);
    case L_TVF: return prune_tvf(p, n, need, map);
    case L_AGG:
    case L_WINDOW_AGG: return prune_agg(p, n, need, map);
    case L_JOIN:
    case L_INTERVAL_JOIN:
    case L_TEMPORAL_JOIN:
    case L_LOOKUP_JOIN:
    case L_WINDOW_JOIN: return prune_join(p, n, need, map);
    case L_UNNEST: return prune_unnest(p, n, need, map);
    case L_CHANGELOG: return prune_changelog(p, n, need, map);
    case L_OVER: return prune_over(p, n, need, map);
    case L_UNION: return prune_union(p, n, need, map);
    case L_MATCH: return prune_match(p, n, need, map);
    case L_ASSIGN: return prune_assign(p, n, map);
    default: return prune_pass(p, n, need, map);
    }
}
