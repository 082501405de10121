/* plan/patterns.c: from what was written to what can run: which window aggregation, which join, which ranking; properties bottom-up.
 *
 * Idea       pl_convert goes up from the leaves. For each node it derives the properties of its rows (do they change, what identifies one,
 *            which columns are the bounds of a window, is there an end) and picks the operator that needs the least memory.
 * Joins      join_patterns.c.
 * Invariant  NULL only after a diagnostic.                                                                            */
#include "plan/patterns.h"

static bool key_subset(const lprops *in, const uint32_t *cols, uint32_t n) { /* every key column is among cols */
    if (!in->has_key) return false;
    for (uint32_t i = 0; i < in->n_key; i++)
        if (!pl_contains(cols, n, in->key[i])) return false;
    return true;
}

bool pl_contains(const uint32_t *cols, uint32_t n, uint32_t col) {
    for (uint32_t i = 0; i < n; i++)
        if (cols[i] == col) return true;
    return false;
}

void pl_set_key(pl *p, lnode *n, const uint32_t *cols, uint32_t count) {
    n->props.has_key = true;
    n->props.n_key = count;
    n->props.key = wr_new_n(p->arena, uint32_t, count);
    for (uint32_t i = 0; i < count; i++) n->props.key[i] = cols[i];
}

/* Properties of a node that only renames, drops and adds columns: new_col[i] = place of input column i, -1 gone. */
static void map_props(pl *p, lnode *n, const lprops *in, const int32_t *new_col) {
    n->props = *in;
    n->props.has_key = in->has_key;
    n->props.key = wr_new_n(p->arena, uint32_t, in->n_key);
    for (uint32_t i = 0; i < in->n_key && n->props.has_key; i++) {
        if (new_col[in->key[i]] < 0) n->props.has_key = false;
        else n->props.key[i] = (uint32_t)new_col[in->key[i]];
    }
    lwin *w = &n->props.win;
    if (w->start >= 0) w->start = new_col[w->start];
    if (w->end >= 0) w->end = new_col[w->end];
    if (w->time >= 0) w->time = new_col[w->time];
    if (w->on && w->start < 0 && w->end < 0 && w->time < 0) w->on = false;
}

void pl_calc_props(pl *p, lnode *n) {
    const lnode *in = n->in[0];
    int32_t     *at = wr_new_n(p->arena, int32_t, in->schema.n + 1);
    memset(at, 0xff, sizeof *at * (in->schema.n + 1));
    for (uint32_t i = n->schema.n; i-- > 0;)
        if (n->calc.exprs[i]->kind == WR_E_COL) at[n->calc.exprs[i]->col] = (int32_t)i;
    map_props(p, n, &in->props, at);
}

/* A calc's types follow its input's: time attributes may have been lost below. */
static void retype(pl *p, lnode *n) {
    wr_field *f = wr_new_n(p->arena, wr_field, n->schema.n);
    for (uint32_t i = 0; i < n->schema.n; i++) {
        f[i] = n->schema.fields[i];
        if (n->calc.exprs[i]->kind == WR_E_COL) f[i].type = n->in[0]->schema.fields[n->calc.exprs[i]->col].type;
    }
    n->schema.fields = f;
}

lnode *pl_project(pl *p, lnode *in, wr_expr **exprs, const wr_str *names, uint32_t n, wr_span at) {
    lnode *c = pl_calc(p, in, NULL, exprs, names, n, at);
    pl_calc_props(p, c);
    return c;
}

static void strip_time(pl *p, lnode *n, int32_t keep) { /* all event-time columns become plain, except `keep` */
    wr_field *f = wr_new_n(p->arena, wr_field, n->schema.n);
    for (uint32_t i = 0; i < n->schema.n; i++) {
        f[i] = n->schema.fields[i];
        if ((int32_t)i != keep && f[i].type.attr == WR_TIME_ROWTIME) f[i].type.attr = WR_TIME_NONE;
    }
    n->schema.fields = f;
}

int32_t pl_rowtime(const wr_schema *s) {
    for (uint32_t i = 0; i < s->n; i++)
        if (s->fields[i].type.attr == WR_TIME_ROWTIME) return (int32_t)i;
    return -1;
}

/* ---- leaves ---- */

static lnode *convert_scan(pl *p, lnode *n) {
    tinfo *ti = pl_table_info(p, n->scan.table);
    n->props = (lprops){.updating = ti->changes != 0, .bounded = ti->bounded, .rate = ti->rate, .rate_declared = ti->rate_declared, .row_bytes = ti->row_bytes};
    n->props.win.start = n->props.win.end = n->props.win.time = -1;
    if (n->scan.table->n_key) pl_set_key(p, n, n->scan.table->key, n->scan.table->n_key);
    return n;
}

/* ---- aggregation ---- */

/* The node under the projections of an aggregation's input; *exprs = its input columns over that node. */
static lnode *below_calcs(pl *p, lnode *agg_in, wr_expr ***exprs) {
    uint32_t n = agg_in->schema.n;
    lnode   *in = agg_in;
    *exprs = pl_identity(p, in);
    while (in->kind == L_CALC && !in->calc.filter) {
        for (uint32_t i = 0; i < n; i++) (*exprs)[i] = wr_expr_substitute(p->arena, (*exprs)[i], in->calc.exprs);
        in = in->in[0];
    }
    return in;
}

/* Output of a window aggregation back in the order of GROUP BY keys, then aggregates (then bounds for the old form). */
static lnode *window_agg_node(pl *p, lnode *a, lnode *in, wr_window window, const uint32_t *keys, uint32_t n_keys, const wr_agg *aggs, int32_t in_start, int32_t in_end,
                              wr_type time_type, const int8_t *role) {
    if (window.proctime && in->props.updating) {
        pl_error(p, "0A000", a->at, "a window of processing time takes only inserts, but '%.*s' changes rows: a retraction would come in another window than its row", WR_FMT(pl_label(in)));
        return NULL;
    }
    lnode *w = pl_node(p, L_WINDOW_AGG, a->at, 1, in, NULL);
    w->label = a->label;
    w->agg = a->agg;
    w->agg.n_keys = n_keys;
    w->agg.keys = (uint32_t *)(uintptr_t)keys;
    w->agg.aggs = (wr_agg *)(uintptr_t)aggs;
    w->agg.window = window;
    w->agg.has_window = w->agg.out_start = w->agg.out_end = w->agg.out_time = true;
    w->agg.windowed_input = in_start >= 0;
    w->agg.in_start = in_start;
    w->agg.in_end = in_end;
    uint32_t  na = a->agg.n_aggs, n = n_keys + na + 3;
    wr_field *f = wr_new_n(p->arena, wr_field, n);
    for (uint32_t i = 0; i < n_keys; i++) {
        f[i] = in->schema.fields[keys[i]];
        if (f[i].type.attr == WR_TIME_ROWTIME) f[i].type.attr = WR_TIME_NONE;
    }
    for (uint32_t i = 0; i < na; i++) f[n_keys + i] = a->schema.fields[a->agg.n_keys + i];
    wr_type bound = wr_type_not_null(wr_type_prec(WR_T_TIMESTAMP, 3));
    f[n - 3] = (wr_field){WR_STR("window_start"), bound};
    f[n - 2] = (wr_field){WR_STR("window_end"), bound};
    f[n - 1] = (wr_field){WR_STR("window_time"), time_type};
    w->schema = (wr_schema){n, f};
    w->props = (lprops){.bounded = in->props.bounded, .rate = in->props.rate, .rate_declared = in->props.rate_declared};
    uint32_t *key = wr_new_n(p->arena, uint32_t, n_keys + 2);
    for (uint32_t i = 0; i < n_keys; i++) key[i] = i;
    key[n_keys] = n - 3;
    key[n_keys + 1] = n - 2;
    pl_set_key(p, w, key, n_keys + 2);
    w->props.win = (lwin){true, (int32_t)n - 3, (int32_t)n - 2, (int32_t)n - 1, window, window.ltz};
    /* back to the order that was asked for; role: -1 plain key, else 0 start, 1 end, 2 time */
    wr_expr **exprs = wr_new_n(p->arena, wr_expr *, a->schema.n);
    uint32_t  plain = 0;
    for (uint32_t i = 0; i < a->agg.n_keys; i++) exprs[i] = pl_col(p, w, role && role[i] >= 0 ? n - 3 + (uint32_t)role[i] : plain++, a->at);
    for (uint32_t i = a->agg.n_keys; i < a->schema.n; i++) exprs[i] = pl_col(p, w, n_keys + i - a->agg.n_keys, a->at);
    return pl_project(p, w, exprs, pl_names(p, a), a->schema.n, a->at);
}

static wr_type window_time_type(const wr_field *time) {
    wr_type t = wr_type_not_null(time->type);
    t.prec = 3;
    t.attr = time->type.attr == WR_TIME_PROCTIME ? WR_TIME_PROCTIME : WR_TIME_ROWTIME;
    return t;
}

static lnode *legacy_window(pl *p, lnode *a) {
    const wr_field *time = &a->in[0]->schema.fields[a->agg.window.time_col];
    return window_agg_node(p, a, a->in[0], a->agg.window, a->agg.keys, a->agg.n_keys, a->agg.aggs, -1, -1, window_time_type(time), NULL);
}

/* GROUP BY over a TVF with nothing but projections between: the TVF goes into the aggregation. NULL if that is not so. */
static lnode *fuse_tvf(pl *p, lnode *a, const int8_t *role) {
    wr_expr **exprs;
    lnode    *t = below_calcs(p, a->in[0], &exprs);
    if (t->kind != L_TVF) return NULL;
    uint32_t n_in = t->in[0]->schema.n, n = 0, n_keys = 0, width = a->in[0]->schema.n;
    uint32_t *at = wr_new_n(p->arena, uint32_t, width), *keys = wr_new_n(p->arena, uint32_t, a->agg.n_keys);
    wr_expr **below = wr_new_n(p->arena, wr_expr *, width + 1);
    wr_str   *names = wr_new_n(p->arena, wr_str, width + 1);
    bool     *used = wr_new_n(p->arena, bool, width);
    for (uint32_t i = 0; i < a->agg.n_keys; i++)
        if (role[i] < 0) used[a->agg.keys[i]] = true;
    for (uint32_t i = 0; i < a->agg.n_aggs; i++) {
        const wr_agg *g = &a->agg.aggs[i];
        if (g->arg >= 0) used[g->arg] = true;
        if (g->arg2 >= 0) used[g->arg2] = true;
        if (g->filter >= 0) used[g->filter] = true;
    }
    for (uint32_t i = 0; i < width; i++) {
        if (!used[i]) continue;
        if (pl_uses(exprs[i], n_in, UINT32_MAX)) return NULL; /* MAX(window_start) and the like */
        at[i] = n;
        names[n] = a->in[0]->schema.fields[i].name;
        below[n++] = exprs[i];
    }
    wr_window window = t->tvf.window;
    uint32_t  time_col = window.time_col;
    window.time_col = n;
    names[n] = t->in[0]->schema.fields[time_col].name;
    below[n] = pl_col(p, t->in[0], time_col, t->at);
    for (uint32_t i = 0; i < n; i++)
        if (below[i]->kind == WR_E_COL && below[i]->col == time_col) window.time_col = i, below[i] = below[n];
    if (window.time_col == n) n++;
    for (uint32_t i = 0; i < a->agg.n_keys; i++)
        if (role[i] < 0) keys[n_keys++] = at[a->agg.keys[i]];
    if (window.kind == WR_WINDOW_SESSION) {
        bool same = n_keys == t->tvf.n_part;
        for (uint32_t i = 0; i < n_keys && same; i++) same = below[keys[i]]->kind == WR_E_COL && pl_contains(t->tvf.part, t->tvf.n_part, below[keys[i]]->col);
        if (!same) return NULL;
    }
    wr_agg *aggs = wr_new_n(p->arena, wr_agg, a->agg.n_aggs);
    for (uint32_t i = 0; i < a->agg.n_aggs; i++) {
        aggs[i] = a->agg.aggs[i];
        if (aggs[i].arg >= 0) aggs[i].arg = (int32_t)at[aggs[i].arg];
        if (aggs[i].arg2 >= 0) aggs[i].arg2 = (int32_t)at[aggs[i].arg2];
        if (aggs[i].filter >= 0) aggs[i].filter = (int32_t)at[aggs[i].filter];
    }
    lnode *calc = pl_project(p, t->in[0], below, names, n, a->at);
    wr_type time = window_time_type(&t->in[0]->schema.fields[time_col]);
    return window_agg_node(p, a, calc, window, keys, n_keys, aggs, -1, -1, time, role);
}

static lnode *windowed_group(pl *p, lnode *a, const int8_t *role) {
    lnode *fused = fuse_tvf(p, a, role);
    if (fused) return fused;
    const lnode *in = a->in[0];
    if (in->props.win.window.kind == WR_WINDOW_SESSION) {
        wr_expr **exprs;
        lnode    *t = below_calcs(p, a->in[0], &exprs);
        if (t->kind == L_TVF)
            return pl_unsupported(p, a->at, "group by exactly the PARTITION BY columns and the window bounds, and filter before SESSION", "SESSION with other GROUP BY columns than its PARTITION BY");
    }
    uint32_t *keys = wr_new_n(p->arena, uint32_t, a->agg.n_keys), n_keys = 0;
    for (uint32_t i = 0; i < a->agg.n_keys; i++)
        if (role[i] < 0) keys[n_keys++] = a->agg.keys[i];
    const lwin *w = &in->props.win;
    if (w->window.proctime)
        return pl_unsupported(p, a->at, "group right above the window function, with nothing but projections and filters below", "this GROUP BY of a window of processing time");
    wr_type     time = wr_type_not_null(wr_type_prec(w->ltz ? WR_T_TIMESTAMP_LTZ : WR_T_TIMESTAMP, 3));
    time.attr = WR_TIME_ROWTIME;
    return window_agg_node(p, a, a->in[0], w->window, keys, n_keys, a->agg.aggs, w->start, w->end, time, role);
}

static void warn_group_keys(pl *p, const lnode *a) {
    const lnode *in = a->in[0];
    if (in->props.bounded) return;
    for (uint32_t i = 0; i < a->agg.n_keys; i++) {
        const wr_field *f = &in->schema.fields[a->agg.keys[i]];
        if (f->type.attr != WR_TIME_ROWTIME) continue;
        wr_diags_add(p->diags, WR_SEV_WARNING, "WR102", a->at, "GROUP BY '%.*s' keeps an entry for every distinct event time, for ever", WR_FMT(f->name));
        wr_diags_hint(p->diags, "group by the bounds of a window instead: TABLE(TUMBLE(TABLE ..., DESCRIPTOR(%.*s), INTERVAL '1' MINUTE))", WR_FMT(f->name));
        return;
    }
    if (!in->props.updating && in->props.n_key && key_subset(&in->props, a->agg.keys, a->agg.n_keys)) {
        wr_diags_add(p->diags, WR_SEV_WARNING, "WR102", a->at, "GROUP BY holds a unique key of its input: one entry is kept for every row, for ever");
        wr_diags_hint(p->diags, "every group has one row, so the aggregation is not needed; or set 'table.exec.state.ttl'");
    }
}

static lnode *convert_agg(pl *p, lnode *a) {
    if (a->agg.has_window) return legacy_window(p, a);
    const lwin *w = &a->in[0]->props.win;
    int8_t     *role = wr_new_n(p->arena, int8_t, a->agg.n_keys + 1);
    bool        start = false, end = false;
    for (uint32_t i = 0; i < a->agg.n_keys; i++) {
        int32_t c = (int32_t)a->agg.keys[i];
        role[i] = !w->on ? -1 : c == w->start ? 0 : c == w->end ? 1 : c == w->time ? 2 : -1;
        start |= role[i] == 0;
        end |= role[i] == 1;
    }
    if (w->on && start && end) return windowed_group(p, a, role);
    if (w->on && (start || end) && !(start && end)) {
        wr_diags_add(p->diags, WR_SEV_WARNING, "WR103", a->at, "GROUP BY has %s without %s: this is an updating aggregation that keeps every window for ever",
                     start ? "window_start" : "window_end", start ? "window_end" : "window_start");
        wr_diags_hint(p->diags, "group by window_start and window_end: then each window is emitted once, when it is over");
    }
    warn_group_keys(p, a);
    lprops in = a->in[0]->props;
    a->props = (lprops){.updating = true, .bounded = in.bounded, .rate = in.rate, .rate_declared = in.rate_declared};
    a->props.win.start = a->props.win.end = a->props.win.time = -1;
    if (a->agg.is_distinct && !in.updating && (a->agg.ttl_us >= 0 ? a->agg.ttl_us : p->ttl_us) == 0) a->props.updating = false; /* first occurrence of each: never changes */
    uint32_t *key = wr_new_n(p->arena, uint32_t, a->agg.n_keys + 1);
    for (uint32_t i = 0; i < a->agg.n_keys; i++) key[i] = i;
    pl_set_key(p, a, key, a->agg.n_keys);
    strip_time(p, a, -1);
    return a;
}

/* ---- ranking ---- */

static lnode *drop_rank(pl *p, lnode *n, lnode *was) { /* a node without rank column in place of one with it: the rank is 1 */
    wr_expr **exprs = wr_new_n(p->arena, wr_expr *, was->schema.n);
    for (uint32_t i = 0; i < n->schema.n; i++) exprs[i] = pl_col(p, n, i, was->at);
    exprs[n->schema.n] = wr_expr_const(p->arena, wr_value_int(wr_type_not_null(wr_type_of(WR_T_BIGINT)), 1), was->at);
    return pl_project(p, n, exprs, pl_names(p, was), was->schema.n, was->at);
}

static lnode *dedup(pl *p, lnode *n) {
    lnode *in = n->in[0], *d = pl_node(p, L_DEDUP, n->at, 1, in, NULL);
    d->label = n->label;
    d->rank = n->rank;
    d->rank.out_rank = false;
    d->rank.n_order = 0; /* only the time counts */
    d->rank.keep_last = n->rank.order[0].desc;
    uint32_t col = n->rank.order[0].col;
    d->rank.time_col = in->schema.fields[col].type.attr == WR_TIME_ROWTIME ? (int32_t)col : -1;
    d->schema = in->schema;
    d->props = in->props;
    d->props.updating = d->rank.keep_last;
    d->props.win = (lwin){.start = -1, .end = -1, .time = -1};
    pl_set_key(p, d, n->rank.keys, n->rank.n_keys);
    return n->rank.out_rank ? drop_rank(p, d, n) : d;
}

static lnode *convert_top_n(pl *p, lnode *n) {
    lnode      *in = n->in[0];
    const lwin *w = &in->props.win;
    uint8_t     attr = n->rank.n_order ? in->schema.fields[n->rank.order[0].col].type.attr : WR_TIME_NONE;
    bool        first_only = n->rank.first == 1 && n->rank.last == 1 && n->rank.rank == WR_RANK_ROW_NUMBER && n->rank.n_order == 1;
    if (first_only && !in->props.updating && attr != WR_TIME_NONE && n->rank.n_keys) return dedup(p, n);
    bool windowed = !n->rank.n_fns && w->on && !in->props.updating && w->start >= 0 && w->end >= 0 && pl_contains(n->rank.keys, n->rank.n_keys, (uint32_t)w->start) &&
                    pl_contains(n->rank.keys, n->rank.n_keys, (uint32_t)w->end);
    windowed = windowed && !w->window.proctime; /* kept up to date instead: the rows' windows are not over by a watermark */
    n->rank.window_end = windowed ? w->end : -1;
    lprops ip = in->props;
    if (ip.updating && ip.has_key) n->rank.n_unique = ip.n_key, n->rank.unique = ip.key;
    if (n->rank.out_rank || n->rank.n_fns) {
        wr_field *f = wr_new_n(p->arena, wr_field, n->schema.n);
        memcpy(f, in->schema.fields, sizeof *f * in->schema.n);
        for (uint32_t i = in->schema.n; i < n->schema.n; i++) f[i] = n->schema.fields[i];
        n->schema.fields = f;
    } else {
        n->schema = in->schema;
    }
    n->props = ip;
    n->props.updating = !windowed;
    if (!windowed) n->props.win = (lwin){.start = -1, .end = -1, .time = -1};
    strip_time(p, n, windowed ? w->time : -1);
    if (n->rank.rank == WR_RANK_ROW_NUMBER && n->rank.out_rank) {
        uint32_t *key = wr_new_n(p->arena, uint32_t, n->rank.n_keys + 1);
        for (uint32_t i = 0; i < n->rank.n_keys; i++) key[i] = n->rank.keys[i];
        key[n->rank.n_keys] = in->schema.n;
        pl_set_key(p, n, key, n->rank.n_keys + 1);
        if (n->rank.first == n->rank.last) pl_set_key(p, n, n->rank.keys, n->rank.n_keys);
        if (ip.has_key && ip.n_key < n->props.n_key) pl_set_key(p, n, ip.key, ip.n_key);
    } else if (n->rank.rank == WR_RANK_ROW_NUMBER && n->rank.first == n->rank.last) {
        pl_set_key(p, n, n->rank.keys, n->rank.n_keys);
    }
    return n;
}

static lnode *convert_sort(pl *p, lnode *n) {
    lnode *in = n->in[0];
    bool   by_time = in->schema.fields[n->rank.order[0].col].type.attr == WR_TIME_ROWTIME && !n->rank.order[0].desc;
    if (!by_time) {
        pl_error(p, "0A000", n->at, "ORDER BY needs a LIMIT here: sorting by something other than the event time, ascending, would have to wait for the end of the input");
        wr_diags_hint(p->diags, "add LIMIT n: then it is a Top-N that is kept up to date; or ORDER BY the event-time column; 'weir run --final' prints final rows");
        return NULL;
    }
    if (in->props.updating) return pl_error(p, "0A000", n->at, "ORDER BY event time takes only inserts, but '%.*s' changes rows", WR_FMT(pl_label(in)));
    n->kind = L_TIME_SORT;
    n->rank.time_col = (int32_t)n->rank.order[0].col;
    n->schema = in->schema;
    n->props = in->props;
    return n;
}

static lnode *convert_union(pl *p, lnode *n) {
    wr_field *f = wr_new_n(p->arena, wr_field, n->schema.n);
    n->props = (lprops){.bounded = true, .win = {.start = -1, .end = -1, .time = -1}, .rate_declared = true};
    for (uint32_t c = 0; c < n->schema.n; c++) f[c] = n->schema.fields[c];
    for (uint32_t i = 0; i < n->n_in; i++) {
        const lprops *ip = &n->in[i]->props;
        n->props.updating |= ip->updating;
        n->props.bounded &= ip->bounded;
        n->props.rate += ip->rate;
        n->props.rate_declared &= ip->rate_declared;
        for (uint32_t c = 0; c < n->schema.n; c++)
            if (n->in[i]->schema.fields[c].type.attr != f[c].type.attr) f[c].type.attr = WR_TIME_NONE;
    }
    n->schema.fields = f;
    return n;
}

static lnode *convert_tvf(pl *p, lnode *n) {
    lnode   *in = n->in[0];
    uint32_t width = in->schema.n;
    if (in->schema.fields[n->tvf.window.time_col].type.attr != (n->tvf.window.proctime ? WR_TIME_PROCTIME : WR_TIME_ROWTIME)) {
        pl_error(p, "42804", n->at, "%s needs an event-time column, but '%.*s' lost that property below (a regular join or an aggregation makes it plain)", n->tvf.name,
                 WR_FMT(in->schema.fields[n->tvf.window.time_col].name));
        return NULL;
    }
    n->props = in->props;
    n->props.win = (lwin){true, (int32_t)width, (int32_t)width + 1, (int32_t)width + 2, n->tvf.window, n->tvf.window.ltz};
    if (n->tvf.window.kind != WR_WINDOW_TUMBLE && n->props.has_key) { /* several rows from one: told apart by the window */
        uint32_t *key = wr_new_n(p->arena, uint32_t, n->props.n_key + 1);
        for (uint32_t i = 0; i < n->props.n_key; i++) key[i] = n->props.key[i];
        key[n->props.n_key] = width + 1;
        pl_set_key(p, n, key, n->props.n_key + 1);
    }
    return n;
}

static lnode *convert_unnest(pl *p, lnode *n) {
    lnode    *in = n->in[0];
    uint32_t  w = n->unnest.n_pass;
    wr_field *f = wr_new_n(p->arena, wr_field, n->schema.n);
    for (uint32_t i = 0; i < n->schema.n; i++) f[i] = i < w ? in->schema.fields[n->unnest.pass[i]] : n->schema.fields[i];
    n->schema.fields = f;
    n->props = in->props; /* every column passes so far, in place */
    n->props.row_bytes = 0;
    n->props.has_key = false;
    if (in->props.has_key && n->unnest.ordinality) { /* the position tells the copies of a row apart */
        uint32_t *key = wr_new_n(p->arena, uint32_t, in->props.n_key + 1);
        for (uint32_t i = 0; i < in->props.n_key; i++) key[i] = in->props.key[i];
        key[in->props.n_key] = n->schema.n - 1;
        pl_set_key(p, n, key, in->props.n_key + 1);
    }
    return n;
}

static lnode *convert_changelog(pl *p, lnode *n) {
    lprops in = n->in[0]->props;
    bool   plain = n->kinds->to && !in.updating; /* of inserts: times stay what they are */
    n->props = (lprops){.updating = !n->kinds->to, .bounded = in.bounded, .rate = in.rate, .rate_declared = in.rate_declared, .win = {.start = -1, .end = -1, .time = -1}};
    wr_field *f = wr_new_n(p->arena, wr_field, n->schema.n);
    for (uint32_t i = 0, k = n->kinds->to; i < n->in[0]->schema.n; i++)
        if (n->kinds->to || i != n->kinds->col) f[k++] = n->in[0]->schema.fields[i];
    if (n->kinds->to) f[0] = n->schema.fields[0];
    n->schema.fields = f;
    if (!plain) strip_time(p, n, -1);
    return n;
}

/* ---- OVER ---- */

static bool over_order(pl *p, const lnode *n, const wr_sort_key *order) {
    const lnode *in = n->in[0];
    wr_str       name = in->schema.fields[order->col].name;
    uint8_t      attr = in->schema.fields[order->col].type.attr;
    if (order->desc) return pl_unsupported(p, n->at, attr == WR_TIME_NONE ? "order by the negative value" : "rows come out in order of time", "OVER (ORDER BY %.*s DESC)", WR_FMT(name)), false;
    return true;
}

/* In the order of another column, or over rows that change: every row is kept, and all behind a new one change. */
static lnode *over_all_rows(pl *p, lnode *n) {
    for (uint32_t i = 0; i < n->over.n_fns; i++) {
        const wr_over_fn *fn = &n->over.fns[i];
        wr_str            name = n->in[0]->schema.fields[n->over.order.col].name;
        if (fn->kind == WR_OVER_AGG && fn->frame.unbounded) continue;
        pl_error(p, "0A000", n->at, "a bounded frame and LAG must be in order of time, of rows that do not change; '%.*s' is not that", WR_FMT(name));
        wr_diags_hint(p->diags, "ORDER BY the column that has the WATERMARK; a regular join or an aggregation below makes it a plain column; or a frame from UNBOUNDED PRECEDING");
        return NULL;
    }
    lnode       *t = pl_node(p, L_TOP_N, n->at, 1, n->in[0], NULL);
    wr_sort_key *order = wr_new(p->arena, wr_sort_key);
    *order = n->over.order;
    t->label = n->label;
    t->schema = n->schema;
    t->rank.rank = WR_RANK_ROW_NUMBER, t->rank.first = 1, t->rank.last = UINT64_MAX, t->rank.time_col = -1;
    t->rank.n_keys = n->over.n_keys, t->rank.keys = n->over.keys, t->rank.n_order = 1, t->rank.order = order;
    t->rank.n_fns = n->over.n_fns, t->rank.fns = n->over.fns;
    t->rank.ttl_us = n->over.ttl_us;
    return convert_top_n(p, t);
}

static lnode *convert_over(pl *p, lnode *n) {
    lnode    *in = n->in[0];
    wr_field *f = wr_new_n(p->arena, wr_field, n->schema.n);
    if (!over_order(p, n, &n->over.order)) return NULL;
    if (in->props.updating || in->schema.fields[n->over.order.col].type.attr == WR_TIME_NONE) return over_all_rows(p, n);
    n->over.by_arrival = in->schema.fields[n->over.order.col].type.attr == WR_TIME_PROCTIME;
    for (uint32_t i = 0; i < n->over.n_fns && n->over.by_arrival; i++) { /* each row has a time of its own */
        wr_over_frame *frame = &n->over.fns[i].frame;
        if (n->over.fns[i].kind != WR_OVER_AGG || frame->rows) continue;
        if (!frame->unbounded) return pl_unsupported(p, n->at, "ROWS n PRECEDING works, and RANGE in order of event time", "OVER with a RANGE INTERVAL of processing time");
        frame->rows = true;
    }
    for (uint32_t i = 0; i < n->schema.n; i++) f[i] = i < in->schema.n ? in->schema.fields[i] : n->schema.fields[i];
    n->schema.fields = f;
    n->props = in->props;
    return n;
}

/* A rank that nothing bounds: of rows in order of time it never changes, else it is a Top-N of all rows. */
static lnode *convert_rank(pl *p, lnode *n) {
    const lnode *in = n->in[0];
    uint8_t      attr = n->rank.n_order == 1 && !n->rank.order[0].desc ? in->schema.fields[n->rank.order[0].col].type.attr : WR_TIME_NONE;
    if (attr == WR_TIME_NONE || in->props.updating) {
        n->kind = L_TOP_N;
        n->rank.first = 1, n->rank.last = UINT64_MAX;
        return convert_top_n(p, n);
    }
    static const wr_over_kind KINDS[] = {[WR_RANK_ROW_NUMBER] = WR_OVER_ROW_NUMBER, [WR_RANK_RANK] = WR_OVER_RANK, [WR_RANK_DENSE_RANK] = WR_OVER_DENSE_RANK};
    lnode      *o = pl_node(p, L_OVER, n->at, 1, n->in[0], NULL);
    wr_over_fn *fn = wr_new(p->arena, wr_over_fn);
    *fn = (wr_over_fn){.kind = KINDS[n->rank.rank], .fallback = -1, .agg = {.arg = -1, .arg2 = -1, .filter = -1, .type = n->schema.fields[n->schema.n - 1].type}};
    o->label = n->label;
    o->schema = n->schema;
    o->over.n_keys = n->rank.n_keys, o->over.keys = n->rank.keys, o->over.order = n->rank.order[0];
    o->over.n_fns = 1, o->over.fns = fn;
    o->over.ttl_us = n->rank.ttl_us;
    return convert_over(p, o);
}

static lnode *convert_match(pl *p, lnode *n) {
    lnode   *in = n->in[0];
    wr_type  time = in->schema.fields[n->match.time_col].type;
    if (in->props.updating) {
        pl_error(p, "0A000", n->at, "MATCH_RECOGNIZE takes only inserts, but '%.*s' changes rows", WR_FMT(pl_label(in)));
        return NULL;
    }
    if (time.attr != WR_TIME_ROWTIME) {
        pl_error(p, "42804", n->at, "MATCH_RECOGNIZE needs an event-time column, but '%.*s' lost that property below (a regular join or an aggregation makes it plain)",
                 WR_FMT(in->schema.fields[n->match.time_col].name));
        return NULL;
    }
    n->props = (lprops){.bounded = in->props.bounded, .win = {.start = -1, .end = -1, .time = -1}, .rate = in->props.rate};
    return n;
}

static lnode *convert_node(pl *p, lnode *n) {
    switch (n->kind) {
    case L_SCAN: return convert_scan(p, n);
    case L_VALUES:
        n->props = (lprops){.bounded = true, .win = {.start = -1, .end = -1, .time = -1}};
        return n;
    case L_CALC:
        retype(p, n);
        pl_calc_props(p, n);
        return n;
    case L_TVF: return convert_tvf(p, n);
    case L_AGG: return convert_agg(p, n);
    case L_JOIN: return pl_convert_join(p, n);
    case L_RANK: return convert_rank(p, n);
    case L_OVER: return convert_over(p, n);
    case L_TOP_N: return convert_top_n(p, n);
    case L_SORT: return convert_sort(p, n);
    case L_LIMIT:
        n->schema = n->in[0]->schema;
        n->props = n->in[0]->props;
        n->props.win.on = false;
        return n;
    case L_UNION: return convert_union(p, n);
    case L_MATCH: return convert_match(p, n);
    case L_ASSIGN: return pl_convert_assign(p, n);
    case L_UNNEST: return convert_unnest(p, n);
    case L_CHANGELOG: return convert_changelog(p, n);
    default: return n;
    }
}

lnode *pl_convert(pl *p, lnode *n) {
    bool ok = true;
    for (uint32_t i = 0; i < n->n_in; i++) ok &= (n->in[i] = pl_convert(p, n->in[i])) != NULL;
    return ok ? convert_node(p, n) : NULL;
}
