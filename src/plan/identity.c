/* plan/identity.c: what a node's state means, in words that survive edits of the script: the base of `weir upgrade` and of state addressing.
 *
 * Idea       every output column gets a canonical text traced down to the tables ("orders.amount * 2"), every node a text of the rows that
 *            pass it ("orders where orders.amount > 0"). Aliases, positions, column order, views and CTEs leave no trace in them. The *meaning* of a
 *            stateful node is which rows it remembers by which key; the *layout* is what it keeps of them, one component a line. Two plans
 *            with equal meaning keep the same state; with equal layout even byte for byte.
 * Invariant  depends on nothing but the plan graph; equal texts for equal graphs. Texts longer than LONG are folded to a hash.
 * Memory     an arena of its own, freed with the identities.                                                            */
#include "plan/identity.h"
#include "plan/logical.h"
#include "base/hash.h"
#include <stdio.h>

enum { LONG = 400 };

typedef struct facts { wr_str rows, bare; wr_field *cols; } facts; /* bare: rows without the filters; cols: canonical name and type of each output column */
struct wr_identities {
    wr_arena *arena;
    facts    *of;          /* by plan index */
};

static wr_str keep(wr_identities *x, wr_sbuf *b) { /* folds what is long; empties b */
    wr_str s = wr_sbuf_str(b);
    char   folded[32];
    if (s.len > LONG) {
        int n = snprintf(folded, sizeof folded, "#%016llx", (unsigned long long)wr_hash_bytes(s.ptr, s.len));
        s = (wr_str){folded, (size_t)n};
    }
    s = wr_str_dup(x->arena, s);
    wr_sbuf_clear(b);
    return s;
}

static const facts *input(const wr_identities *x, const wr_pnode *n, uint32_t i) { return &x->of[n->inputs[i].node->index]; }
static uint32_t     width(const wr_pnode *n, uint32_t i) { return n->inputs[i].node->schema.n; }

static void put_cols(wr_sbuf *b, const facts *f, const uint32_t *cols, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) wr_sbuf_printf(b, "%s%.*s", i ? ", " : "", WR_FMT(f->cols[cols[i]].name));
}

static void put_window(wr_sbuf *b, const wr_window *w, const facts *in, bool windowed) {
    static const char *const NAMES[] = {"TUMBLE", "HOP", "CUMULATE", "SESSION"};
    wr_sbuf_printf(b, "%s(%lld, %lld, %lld", NAMES[w->kind], (long long)w->size_us, (long long)w->slide_us, (long long)w->offset_us);
    if (!windowed) wr_sbuf_printf(b, " by %.*s", WR_FMT(in->cols[w->time_col].name));
    wr_sbuf_addc(b, ')');
}

static void put_agg(wr_sbuf *b, const wr_agg *a, const facts *in) {
    if (a->kind == WR_AGG_COUNT_STAR) wr_sbuf_addz(b, "COUNT(*)");
    else wr_sbuf_printf(b, "%s(%s%.*s", wr_agg_title(a), a->distinct ? "DISTINCT " : "", WR_FMT(in->cols[a->arg].name));
    if (a->kind != WR_AGG_COUNT_STAR && a->arg2 >= 0) wr_sbuf_printf(b, ", %.*s", WR_FMT(in->cols[a->arg2].name));
    if (a->kind != WR_AGG_COUNT_STAR) wr_sbuf_addc(b, ')');
    if (a->user && a->user->decl->aggregate->state_version) wr_sbuf_printf(b, " v%u", a->user->decl->aggregate->state_version);
    if (a->filter >= 0) wr_sbuf_printf(b, " FILTER(%.*s)", WR_FMT(in->cols[a->filter].name));
}

static void put_join(wr_sbuf *b, const wr_identities *x, const wr_pnode *n, wr_join_kind kind, const wr_join_keys *k, const wr_expr *residual, bool bare) {
    const facts *l = input(x, n, 0), *r = input(x, n, 1);
    wr_sbuf_printf(b, "(%.*s) %s (%.*s) on ", WR_FMT(bare ? l->bare : l->rows), wr_join_kind_name(kind), WR_FMT(bare ? r->bare : r->rows));
    for (uint32_t i = 0; i < k->n; i++)
        wr_sbuf_printf(b, "%s%.*s %s %.*s", i ? " and " : "", WR_FMT(l->cols[k->left[i]].name), k->null_safe && k->null_safe[i] ? "is" : "=",
                       WR_FMT(r->cols[k->right[i]].name));
    if (!residual) return;
    uint32_t  nl = width(n, 0), nr = width(n, 1);
    wr_field *both = wr_arena_alloc(x->arena, sizeof *both * (nl + nr));
    memcpy(both, l->cols, sizeof *both * nl);
    memcpy(both + nl, r->cols, sizeof *both * nr);
    wr_schema s = {nl + nr, both};
    wr_sbuf_addz(b, " where ");
    wr_expr_text(residual, &s, b);
}

static void put_order(wr_sbuf *b, const facts *in, const wr_sort_key *o, uint32_t n) {
    for (uint32_t i = 0; i < n; i++)
        wr_sbuf_printf(b, "%s%.*s%s%s", i ? ", " : "", WR_FMT(in->cols[o[i].col].name), o[i].desc ? " desc" : "", o[i].nulls_last ? " nulls last" : "");
}

static void put_over_fn(wr_sbuf *b, const wr_over_fn *fn, const facts *in) {
    static const char *const NAMES[] = {[WR_OVER_LAG] = "LAG", [WR_OVER_ROW_NUMBER] = "ROW_NUMBER", [WR_OVER_RANK] = "RANK", [WR_OVER_DENSE_RANK] = "DENSE_RANK"};
    if (fn->kind == WR_OVER_AGG) put_agg(b, &fn->agg, in);
    else wr_sbuf_addz(b, NAMES[fn->kind]);
    if (fn->kind == WR_OVER_LAG) wr_sbuf_printf(b, "(%.*s, %llu", WR_FMT(in->cols[fn->agg.arg].name), (unsigned long long)fn->offset);
    if (fn->kind == WR_OVER_LAG && fn->fallback >= 0) wr_sbuf_printf(b, ", %.*s", WR_FMT(in->cols[fn->fallback].name));
    if (fn->kind == WR_OVER_LAG) wr_sbuf_addc(b, ')');
    if (fn->kind != WR_OVER_AGG) return;
    wr_sbuf_printf(b, " %s ", fn->frame.rows ? "rows" : "range");
    if (fn->frame.unbounded) wr_sbuf_addz(b, "unbounded");
    else wr_sbuf_printf(b, "%lld", (long long)fn->frame.preceding);
}

static void put_match(wr_sbuf *b, const wr_identities *x, const wr_pnode *n, const facts *in) {
    const wr_match_opts *o = &n->match;
    wr_schema            refs = pl_match_refs(x->arena, o);
    pl_match_text(o, b);
    wr_sbuf_addz(b, " by "), put_cols(b, in, o->keys, o->n_keys);
    wr_sbuf_printf(b, " order %.*s, ", WR_FMT(in->cols[o->time_col].name)), put_order(b, in, o->order, o->n_order);
    wr_sbuf_printf(b, " skip %d %u within %lld", (int)o->skip, o->skip_var, (long long)o->within_us);
    for (uint32_t i = 0; i < o->n_vars; i++) {
        wr_sbuf_printf(b, " %.*s: ", WR_FMT(o->vars[i].name));
        if (o->vars[i].given >= 0) wr_sbuf_printf(b, "%.*s", WR_FMT(in->cols[o->vars[i].given].name));
        if (o->vars[i].cond) wr_expr_text(o->vars[i].cond, &refs, b);
    }
}

/* Columns that the output has from an input: partition, order, courier; -1: made here. */
static int32_t assign_col(const wr_assign_opts *o, uint32_t out, uint32_t *input) {
    *input = out == o->n_keys + 1;
    return out < o->n_keys ? (int32_t)o->side[0].keys[out] : out < o->n_keys + 2 ? (int32_t)o->side[*input].id : -1;
}

static void put_assign(wr_sbuf *b, const wr_identities *x, const wr_pnode *n, bool bare) {
    const wr_assign_opts *o = &n->assign;
    const wr_assign_how  *h = &o->how;
    for (uint32_t i = 0; i < 2; i++) {
        const wr_assign_side *s = &o->side[i];
        const facts          *in = input(x, n, i);
        const int32_t         cols[] = {(int32_t)s->id, (int32_t)s->x, (int32_t)s->y, (int32_t)s->time, s->to_x, s->to_y, s->status};
        wr_sbuf_printf(b, "%s(%.*s) by ", i ? " to " : "", WR_FMT(bare ? in->bare : in->rows)), put_cols(b, in, s->keys, o->n_keys);
        for (size_t c = 0; c < WR_COUNT_OF(cols); c++)
            if (cols[c] < 0) wr_sbuf_addz(b, ", -");
            else wr_sbuf_printf(b, ", %.*s", WR_FMT(in->cols[cols[c]].name));
    }
    wr_sbuf_printf(b, " every %lld wait %lld timeout %lld hold %lld again %u %d%d %.17g %.17g %.17g", (long long)o->every_us, (long long)o->max_wait_us, (long long)o->timeout_us,
                   (long long)o->hold_us, o->reassign, h->greedy, h->earth, h->max_distance, h->wait_weight, h->batch_share);
}

/* Which rows a keyed or windowed node remembers, and by what; without what it keeps of them. */
static void put_meaning(wr_sbuf *b, const wr_identities *x, const wr_pnode *n, bool bare) {
    const facts *in = n->n_inputs ? input(x, n, 0) : NULL;
    wr_str       rows = !in ? (wr_str){"", 0} : bare ? in->bare : in->rows;
    wr_sbuf_printf(b, "%s ", wr_pnode_kind_name(n->kind));
    switch (n->kind) {
    case WR_P_WINDOW_AGG:
        put_window(b, &n->window_agg.window, in, n->window_agg.input_is_windowed);
        wr_sbuf_addz(b, " by "), put_cols(b, in, n->window_agg.keys, n->window_agg.n_keys);
        break;
    case WR_P_GROUP_AGG: wr_sbuf_addz(b, "by "), put_cols(b, in, n->group_agg.keys, n->group_agg.n_keys); break;
    case WR_P_INTERVAL_JOIN:
        put_join(b, x, n, n->interval_join.kind, &n->interval_join.keys, n->interval_join.residual, bare);
        wr_sbuf_printf(b, " within [%lld, %lld]", (long long)n->interval_join.lower_us, (long long)n->interval_join.upper_us);
        return;
    case WR_P_TEMPORAL_JOIN: put_join(b, x, n, n->temporal_join.kind, &n->temporal_join.keys, n->temporal_join.residual, bare); return;
    case WR_P_JOIN: put_join(b, x, n, n->join.kind, &n->join.keys, n->join.residual, bare); return;
    case WR_P_ASSIGN: put_assign(b, x, n, bare); return;
    case WR_P_WINDOW_JOIN: put_join(b, x, n, n->window_join.kind, &n->window_join.keys, n->window_join.residual, bare); return;
    case WR_P_TOP_N:
        wr_sbuf_printf(b, "%d %llu-%llu by ", (int)n->top_n.rank, (unsigned long long)n->top_n.first, (unsigned long long)n->top_n.last);
        put_cols(b, in, n->top_n.keys, n->top_n.n_keys);
        wr_sbuf_addz(b, " order "), put_order(b, in, n->top_n.order, n->top_n.n_order);
        for (uint32_t i = 0; i < n->top_n.n_fns; i++) wr_sbuf_addc(b, ' '), put_over_fn(b, &n->top_n.fns[i], in);
        break;
    case WR_P_DEDUP:
        wr_sbuf_addz(b, n->dedup.keep_last ? "last by " : "first by "), put_cols(b, in, n->dedup.keys, n->dedup.n_keys);
        if (n->dedup.time_col >= 0) wr_sbuf_printf(b, " order %.*s", WR_FMT(in->cols[n->dedup.time_col].name));
        break;
    case WR_P_NORMALIZE: wr_sbuf_addz(b, n->normalize.materialize ? "materialized by " : "by "), put_cols(b, in, n->normalize.keys, n->normalize.n_keys); break;
    case WR_P_LIMIT: wr_sbuf_printf(b, "%llu %llu", (unsigned long long)n->limit.offset, (unsigned long long)n->limit.n); break;
    case WR_P_TIME_SORT: put_order(b, in, n->time_sort.order, n->time_sort.n_order); break;
    case WR_P_MATCH: put_match(b, x, n, in); break;
    case WR_P_OVER:
        wr_sbuf_addz(b, "by "), put_cols(b, in, n->over.keys, n->over.n_keys);
        if (n->over.time_col >= 0) wr_sbuf_printf(b, " order %.*s", WR_FMT(in->cols[n->over.time_col].name));
        else wr_sbuf_addz(b, " order of arrival");
        break;
    case WR_P_LOOKUP_JOIN:
        wr_sbuf_printf(b, "%s %.*s by ", wr_join_kind_name(n->lookup.opts.kind), WR_FMT(n->lookup.from.table->name));
        for (uint32_t i = 0; i < n->lookup.opts.keys.n; i++)
            wr_sbuf_printf(b, "%s%.*s = %.*s", i ? ", " : "", WR_FMT(in->cols[n->lookup.opts.keys.left[i]].name), WR_FMT(n->lookup.right.fields[n->lookup.opts.keys.right[i]].name));
        break;
    case WR_P_WINDOW_TVF: put_window(b, &n->window_tvf, in, false); break;
    case WR_P_UNNEST: wr_sbuf_printf(b, "%.*s%s", WR_FMT(in->cols[n->unnest.col].name), n->unnest.outer ? " or null" : ""); break;
    case WR_P_VIEW:
        wr_sbuf_printf(b, "%.*s by ", WR_FMT(n->view.table->name)), put_cols(b, in, n->view.key, n->view.n_key);
        if (n->view.time_col >= 0) wr_sbuf_printf(b, " until %.*s", WR_FMT(in->cols[n->view.time_col].name));
        break;
    case WR_P_SOURCE: case WR_P_VALUES: case WR_P_CALC: case WR_P_UNION: case WR_P_SINK: case WR_P_LOCAL_AGG: case WR_P_SPREAD: case WR_P_KEEP: break;
    }
    wr_sbuf_printf(b, " of (%.*s)", WR_FMT(rows));
}

static wr_field column(wr_identities *x, wr_sbuf *b, wr_type type) {
    wr_field f = {keep(x, b), type};
    return f;
}

static void source_facts(wr_identities *x, const wr_pnode *n, facts *f, wr_sbuf *b) {
    wr_str    table = n->source.table->name;
    wr_schema in = {n->source.decoded.n, wr_arena_alloc(x->arena, sizeof(wr_field) * (n->source.decoded.n + 1))};
    for (uint32_t i = 0; i < in.n; i++) {
        wr_sbuf_printf(b, "%.*s.%.*s", WR_FMT(table), WR_FMT(n->source.decoded.fields[i].name));
        ((wr_field *)(uintptr_t)in.fields)[i] = column(x, b, n->source.decoded.fields[i].type);
    }
    for (uint32_t i = 0; i < n->source.n_exprs; i++) {
        wr_expr_text(n->source.exprs[i], &in, b);
        f->cols[i] = column(x, b, n->schema.fields[i].type);
    }
    f->rows = f->bare = table;
}

static void calc_facts(wr_identities *x, const wr_pnode *n, const wr_calc_opts *o, facts *f, wr_sbuf *b) {
    const facts *in = input(x, n, 0);
    wr_schema    s = {width(n, 0), in->cols};
    f->rows = in->rows, f->bare = in->bare;
    if (o->filter) {
        wr_sbuf_printf(b, "%.*s where ", WR_FMT(in->rows));
        wr_expr_text(o->filter, &s, b);
        f->rows = keep(x, b);
    }
    if (n->calc.kinds) {
        wr_sbuf_printf(b, "%s changelog of (%.*s)", n->calc.kinds->to ? "to" : "from", WR_FMT(in->rows));
        f->rows = f->bare = keep(x, b);
    }
    for (uint32_t i = 0; i < n->schema.n; i++) {
        if (o->pass) {
            f->cols[i] = in->cols[i];
            continue;
        }
        wr_expr_text(o->exprs[i], &s, b);
        f->cols[i] = column(x, b, n->schema.fields[i].type);
    }
}

static void agg_facts(wr_identities *x, const wr_pnode *n, facts *f, wr_sbuf *b, const uint32_t *keys, uint32_t n_keys, const wr_agg *aggs, uint32_t n_aggs) {
    const facts *in = input(x, n, 0);
    for (uint32_t i = 0; i < n->schema.n; i++) {
        if (i < n_keys) f->cols[i] = in->cols[keys[i]];
        else if (i < n_keys + n_aggs) put_agg(b, &aggs[i - n_keys], in), f->cols[i] = column(x, b, n->schema.fields[i].type);
        else wr_sbuf_printf(b, "window.%u", i - n_keys - n_aggs), f->cols[i] = column(x, b, n->schema.fields[i].type);
    }
}

static void join_facts(wr_identities *x, const wr_pnode *n, facts *f, wr_sbuf *b) {
    const facts *l = input(x, n, 0), *r = input(x, n, 1);
    uint32_t     nl = width(n, 0);
    bool         same = wr_str_eq(l->rows, r->rows); /* a table joined with itself: the sides are told apart */
    for (uint32_t i = 0; i < n->schema.n; i++) {
        const wr_field *c = i < nl ? &l->cols[i] : &r->cols[i - nl];
        wr_sbuf_printf(b, "%s%.*s", !same ? "" : i < nl ? "left:" : "right:", WR_FMT(c->name));
        f->cols[i] = column(x, b, n->schema.fields[i].type);
    }
}

static void match_facts(wr_identities *x, const wr_pnode *n, facts *f, wr_sbuf *b) {
    wr_schema refs = pl_match_refs(x->arena, &n->match);
    for (uint32_t i = 0; i < n->schema.n; i++) {
        if (i < n->match.n_keys) {
            f->cols[i] = input(x, n, 0)->cols[n->match.keys[i]];
            continue;
        }
        wr_expr_text(n->match.measures[i - n->match.n_keys], &refs, b);
        f->cols[i] = column(x, b, n->schema.fields[i].type);
    }
}

static void assign_facts(wr_identities *x, const wr_pnode *n, facts *f, wr_sbuf *b) {
    for (uint32_t i = 0, k; i < n->schema.n; i++) {
        int32_t c = assign_col(&n->assign, i, &k);
        if (c >= 0) wr_sbuf_addz(b, k ? "given:" : ""), wr_sbuf_add(b, input(x, n, k)->cols[c].name.ptr, input(x, n, k)->cols[c].name.len);
        else wr_sbuf_printf(b, "assign.%u", i - n->assign.n_keys);
        f->cols[i] = column(x, b, n->schema.fields[i].type);
    }
}

static void other_facts(wr_identities *x, const wr_pnode *n, facts *f, wr_sbuf *b) { /* the input's columns, then what the node adds */
    const wr_pnode *from = n->n_inputs ? n->inputs[0].node : n->n_union ? n->union_inputs[0].node : NULL;
    for (uint32_t i = 0; i < n->schema.n; i++) {
        if (from && i < from->schema.n) {
            f->cols[i] = x->of[from->index].cols[i];
            continue;
        }
        if (n->kind == WR_P_TOP_N && n->top_n.n_fns) put_over_fn(b, &n->top_n.fns[i - from->schema.n], &x->of[from->index]);
        else wr_sbuf_printf(b, "%s.%u", wr_pnode_kind_name(n->kind), i - (from ? from->schema.n : 0));
        f->cols[i] = column(x, b, n->schema.fields[i].type);
    }
}

static void unnest_facts(wr_identities *x, const wr_pnode *n, facts *f, wr_sbuf *b) {
    const facts *in = input(x, n, 0);
    for (uint32_t i = 0; i < n->schema.n; i++) {
        if (i < n->unnest.n_pass) {
            f->cols[i] = in->cols[n->unnest.pass[i]];
            continue;
        }
        wr_sbuf_printf(b, "element(%.*s).%u", WR_FMT(in->cols[n->unnest.col].name), i - n->unnest.n_pass);
        f->cols[i] = column(x, b, n->schema.fields[i].type);
    }
}

static void lookup_facts(wr_identities *x, const wr_pnode *n, facts *f, wr_sbuf *b) {
    wr_str    table = n->lookup.from.table->name;
    wr_schema in = {n->lookup.from.decoded.n, wr_arena_alloc(x->arena, sizeof(wr_field) * (n->lookup.from.decoded.n + 1))};
    for (uint32_t i = 0; i < in.n; i++) {
        wr_sbuf_printf(b, "%.*s.%.*s", WR_FMT(table), WR_FMT(n->lookup.from.decoded.fields[i].name));
        ((wr_field *)(uintptr_t)in.fields)[i] = column(x, b, n->lookup.from.decoded.fields[i].type);
    }
    for (uint32_t i = 0; i < n->schema.n; i++) {
        if (i < width(n, 0)) {
            f->cols[i] = input(x, n, 0)->cols[i];
            continue;
        }
        wr_expr_text(n->lookup.from.exprs[i - width(n, 0)], &in, b);
        f->cols[i] = column(x, b, n->schema.fields[i].type);
    }
}

static void over_facts(wr_identities *x, const wr_pnode *n, facts *f, wr_sbuf *b) {
    const facts *in = input(x, n, 0);
    for (uint32_t i = 0; i < n->schema.n; i++) {
        if (i < width(n, 0)) {
            f->cols[i] = in->cols[i];
            continue;
        }
        put_over_fn(b, &n->over.fns[i - width(n, 0)], in);
        wr_sbuf_addz(b, " over "), put_cols(b, in, n->over.keys, n->over.n_keys);
        f->cols[i] = column(x, b, n->schema.fields[i].type);
    }
}

/* The same rows; the part of its key that each belongs to becomes part of the key: state split otherwise is other state. */
static void spread_facts(wr_identities *x, const wr_pnode *n, facts *f, wr_sbuf *b) {
    const facts *in = input(x, n, 0);
    wr_schema    s = {width(n, 0), in->cols};
    other_facts(x, n, f, b);
    wr_sbuf_printf(b, "part of %u", n->spread.ways);
    if (n->spread.hot) wr_sbuf_addz(b, " where "), wr_expr_text(n->spread.hot, &s, b);
    f->cols[n->schema.n - 1] = column(x, b, n->schema.fields[n->schema.n - 1].type);
    f->rows = in->rows, f->bare = in->bare;
}

static void union_rows(wr_identities *x, const wr_pnode *n, facts *f, wr_sbuf *b) {
    for (uint32_t i = 0; i < n->n_union; i++) wr_sbuf_printf(b, "%s(%.*s)", i ? " + " : "", WR_FMT(x->of[n->union_inputs[i].node->index].rows));
    f->rows = keep(x, b);
    for (uint32_t i = 0; i < n->n_union; i++) wr_sbuf_printf(b, "%s(%.*s)", i ? " + " : "", WR_FMT(x->of[n->union_inputs[i].node->index].bare));
    f->bare = keep(x, b);
}

static void find_facts(wr_identities *x, const wr_pnode *n, wr_sbuf *b) {
    facts *f = &x->of[n->index];
    f->cols = wr_arena_calloc(x->arena, sizeof *f->cols * (n->schema.n + 1));
    switch (n->kind) {
    case WR_P_SOURCE: source_facts(x, n, f, b); return;
    case WR_P_CALC: calc_facts(x, n, &n->calc, f, b); return;
    case WR_P_KEEP: calc_facts(x, n, &n->keep.calc, f, b); return;
    case WR_P_UNION: other_facts(x, n, f, b), union_rows(x, n, f, b); return;
    case WR_P_LOCAL_AGG: /* the same rows, some of them combined: the aggregation keeps the same */
        other_facts(x, n, f, b);
        f->rows = input(x, n, 0)->rows, f->bare = input(x, n, 0)->bare;
        return;
    case WR_P_SPREAD: spread_facts(x, n, f, b); return;
    case WR_P_VALUES:
        other_facts(x, n, f, b);
        wr_sbuf_printf(b, "values at %u:%u", n->at.line, n->at.col);
        f->rows = f->bare = keep(x, b);
        return;
    case WR_P_SINK:
        f->rows = f->bare = n->sink.is_result ? WR_STR("result") : n->sink.table->name;
        return;
    case WR_P_WINDOW_AGG: agg_facts(x, n, f, b, n->window_agg.keys, n->window_agg.n_keys, n->window_agg.aggs, n->window_agg.n_aggs); break;
    case WR_P_GROUP_AGG: agg_facts(x, n, f, b, n->group_agg.keys, n->group_agg.n_keys, n->group_agg.aggs, n->group_agg.n_aggs); break;
    case WR_P_INTERVAL_JOIN: case WR_P_TEMPORAL_JOIN: case WR_P_JOIN: case WR_P_WINDOW_JOIN: join_facts(x, n, f, b); break;
    case WR_P_UNNEST: unnest_facts(x, n, f, b); break;
    case WR_P_OVER: over_facts(x, n, f, b); break;
    case WR_P_LOOKUP_JOIN: lookup_facts(x, n, f, b); break;
    case WR_P_MATCH: match_facts(x, n, f, b); break;
    case WR_P_ASSIGN: assign_facts(x, n, f, b); break;
    default: other_facts(x, n, f, b); break;
    }
    put_meaning(b, x, n, false);
    f->rows = keep(x, b);
    put_meaning(b, x, n, true);
    f->bare = keep(x, b);
}

/* ---- public ---- */

wr_identities *wr_identities_new(const wr_job_plan *job) {
    wr_identities *x = wr_calloc(1, sizeof *x);
    x->arena = wr_arena_new(NULL);
    x->of = wr_arena_calloc(x->arena, sizeof *x->of * (job->nodes.n + 1));
    wr_sbuf b = {0};
    for (uint32_t i = 0; i < job->nodes.n; i++) find_facts(x, job->nodes.at[i], &b);
    wr_sbuf_free(&b);
    return x;
}
void wr_identities_free(wr_identities *x) {
    if (!x) return;
    wr_arena_free(x->arena);
    wr_free(x);
}

wr_str wr_identity_meaning(const wr_identities *x, const wr_pnode *n) { return x->of[n->index].rows; }
wr_str wr_identity_unfiltered(const wr_identities *x, const wr_pnode *n) { return x->of[n->index].bare; }

static void layout_rows(const wr_identities *x, const wr_pnode *n, wr_sbuf *out) { /* whole rows of each input are kept */
    for (uint32_t k = 0; k < n->n_inputs; k++)
        for (uint32_t i = 0; i < width(n, k); i++) {
            wr_sbuf_printf(out, "%u %.*s ", k, WR_FMT(input(x, n, k)->cols[i].name));
            wr_type_text(n->inputs[k].node->schema.fields[i].type, out);
            wr_sbuf_addc(out, '\n');
        }
}
static void layout_aggs(const wr_identities *x, const wr_pnode *n, const wr_agg *aggs, uint32_t n_aggs, bool retract, wr_sbuf *out) {
    for (uint32_t i = 0; i < n_aggs; i++) {
        put_agg(out, &aggs[i], input(x, n, 0));
        wr_sbuf_addc(out, ' ');
        if (aggs[i].arg >= 0) wr_type_text(aggs[i].arg_type, out);
        wr_sbuf_addz(out, " -> ");
        wr_type_text(aggs[i].type, out);
        wr_sbuf_addz(out, retract ? " retractable\n" : "\n");
    }
}

bool wr_identity_layout(const wr_identities *x, const wr_pnode *n, wr_sbuf *out) {
    switch (n->kind) {
    case WR_P_GROUP_AGG: layout_aggs(x, n, n->group_agg.aggs, n->group_agg.n_aggs, n->group_agg.retract_input, out); return true;
    case WR_P_WINDOW_AGG: layout_aggs(x, n, n->window_agg.aggs, n->window_agg.n_aggs, n->window_agg.retract_input, out); return true;
    case WR_P_INTERVAL_JOIN: case WR_P_TEMPORAL_JOIN: case WR_P_JOIN: case WR_P_WINDOW_JOIN: case WR_P_TOP_N: case WR_P_DEDUP: case WR_P_NORMALIZE:
    case WR_P_TIME_SORT: case WR_P_LIMIT: case WR_P_MATCH: case WR_P_VIEW: case WR_P_ASSIGN:
        layout_rows(x, n, out);
        return true;
    case WR_P_OVER: /* whole rows wait; what functions keep of those that came out depends on the functions and their order */
        layout_rows(x, n, out);
        for (uint32_t i = 0; i < n->over.n_fns; i++) {
            put_over_fn(out, &n->over.fns[i], input(x, n, 0));
            wr_sbuf_addc(out, ' ');
            if (n->over.fns[i].agg.arg >= 0) wr_type_text(n->over.fns[i].agg.arg_type, out);
            wr_sbuf_addz(out, " -> ");
            wr_type_text(n->over.fns[i].agg.type, out);
            wr_sbuf_addc(out, '\n');
        }
        return true;
    case WR_P_KEEP:
        if (n->keep.plain) return false;
        layout_rows(x, n, out);
        for (uint32_t i = 0; i < n->schema.n; i++) wr_sbuf_printf(out, "kept %.*s\n", WR_FMT(x->of[n->index].cols[i].name));
        return true;
    case WR_P_LOOKUP_JOIN: /* rows under way; with rows that are taken back also what was found for them */
        layout_rows(x, n, out);
        for (uint32_t i = width(n, 0); n->lookup.opts.kept && i < n->schema.n; i++) {
            wr_sbuf_printf(out, "kept %.*s ", WR_FMT(x->of[n->index].cols[i].name));
            wr_type_text(n->schema.fields[i].type, out);
            wr_sbuf_addc(out, '\n');
        }
        return true;
    case WR_P_SINK: /* not a state: what is written */
        wr_sbuf_printf(out, "%.*s\n", WR_FMT(input(x, n, 0)->rows));
        layout_rows(x, n, out);
        return false;
    case WR_P_SOURCE: case WR_P_VALUES: case WR_P_CALC: case WR_P_WINDOW_TVF: case WR_P_UNION: case WR_P_LOCAL_AGG: case WR_P_UNNEST: case WR_P_SPREAD: return false;
    }
    return false;
}
