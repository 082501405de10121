/* plan/titles.c: what a physical node does, in a few words for people: "group by user_id: COUNT(*), SUM(amount)".
 *
 * Idea       the title is also what a node's id is made from, so it names columns, never positions.
 * Invariant  at most 159 bytes; a longer one is cut with "..." by wr_sbuf's own bound.                                 */
#include "plan/physical.h"
#include <stdio.h>

const char *wr_pnode_kind_name(wr_pnode_kind kind) {
    static const char *const NAMES[] = {"source", "values", "calc", "window_tvf", "window_agg", "group_agg", "interval_join", "temporal_join", "join",
                                        "window_join", "top_n", "dedup", "normalize", "limit", "time_sort", "union", "sink", "local_agg", "unnest", "over", "match",
                                        "spread", "lookup_join", "keep", "view", "assign"};
    return NAMES[kind];
}

static void cols(wr_sbuf *b, const wr_schema *s, const uint32_t *c, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) wr_sbuf_printf(b, "%s%.*s", i ? ", " : "", WR_FMT(s->fields[c[i]].name));
}

static void duration(wr_sbuf *b, int64_t us) {
    if (us < 0) wr_sbuf_addc(b, '-');
    wr_text_duration(us < 0 ? -us : us, b);
}

static void window(wr_sbuf *b, const wr_window *w) {
    static const char *const NAMES[] = {"TUMBLE", "HOP", "CUMULATE", "SESSION"};
    wr_sbuf_printf(b, "%s ", NAMES[w->kind]);
    duration(b, w->size_us);
    if (w->kind == WR_WINDOW_HOP || w->kind == WR_WINDOW_CUMULATE) wr_sbuf_addz(b, w->kind == WR_WINDOW_HOP ? " every " : " step "), duration(b, w->slide_us);
    if (w->offset_us) wr_sbuf_addz(b, " offset "), duration(b, w->offset_us);
    if (w->proctime) wr_sbuf_addz(b, " of processing time");
}

static void agg_list(wr_sbuf *b, const wr_schema *in, const wr_agg *a, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) {
        wr_sbuf_addz(b, i ? ", " : "");
        if (a[i].kind == WR_AGG_COUNT_STAR) wr_sbuf_addz(b, "COUNT(*)");
        else wr_sbuf_printf(b, "%s(%s%.*s)", wr_agg_title(&a[i]), a[i].distinct ? "DISTINCT " : "", WR_FMT(in->fields[a[i].arg].name));
        if (a[i].filter >= 0) wr_sbuf_printf(b, " FILTER(%.*s)", WR_FMT(in->fields[a[i].filter].name));
    }
}

static const wr_schema *right_of(const wr_pnode *n) { return n->kind == WR_P_LOOKUP_JOIN ? &n->lookup.right : &n->inputs[1].node->schema; }

static void keys_text(wr_sbuf *b, const wr_pnode *n, const wr_join_keys *k) {
    const wr_schema *l = &n->inputs[0].node->schema, *r = right_of(n);
    uint32_t         n_keys = k->n - ph_is_split(n); /* the last one says which part of the key */
    if (!n_keys) wr_sbuf_addz(b, "every pair");
    for (uint32_t i = 0; i < n_keys; i++)
        wr_sbuf_printf(b, "%s%.*s %s %.*s", i ? " AND " : "", WR_FMT(l->fields[k->left[i]].name), k->null_safe && k->null_safe[i] ? "IS NOT DISTINCT FROM" : "=",
                       WR_FMT(r->fields[k->right[i]].name));
}

static void residual(wr_sbuf *b, const wr_pnode *n, const wr_expr *e) {
    if (!e) return;
    const wr_schema *l = &n->inputs[0].node->schema, *r = right_of(n);
    wr_field        *f = wr_malloc(sizeof *f * (l->n + r->n + 1));
    for (uint32_t i = 0; i < l->n; i++) f[i] = l->fields[i];
    for (uint32_t i = 0; i < r->n; i++) f[l->n + i] = r->fields[i];
    wr_schema both = {l->n + r->n, f};
    wr_sbuf_addz(b, " AND ");
    wr_expr_text(e, &both, b);
    wr_free(f);
}

static void join_title(wr_sbuf *b, const wr_pnode *n, const char *what, wr_join_kind kind, const wr_join_keys *k, const wr_expr *rest) {
    wr_sbuf_printf(b, "%s%s on ", wr_join_kind_name(kind), what);
    keys_text(b, n, k);
    residual(b, n, rest);
    if (ph_is_split(n)) wr_sbuf_printf(b, ", split in %u", n->inputs[0].node->spread.ways);
}

static void spread_title(wr_sbuf *b, const wr_pnode *n, const wr_schema *in) {
    const wr_spread_opts *o = &n->spread;
    if (o->replicate) wr_sbuf_printf(b, "to each of %u parts of ", o->ways);
    else wr_sbuf_printf(b, "over %u parts of ", o->ways);
    if (o->n_keys) cols(b, in, o->keys, o->n_keys);
    else wr_sbuf_addz(b, "all rows");
    if (!o->hot) return;
    wr_sbuf_addz(b, " where ");
    wr_expr_text(o->hot, in, b);
}

static void calc_title(wr_sbuf *b, const wr_pnode *n, const wr_calc_opts *o) {
    const wr_schema *in = &n->inputs[0].node->schema;
    if (o->filter) {
        wr_sbuf_addz(b, "where ");
        wr_expr_text(o->filter, in, b);
        if (o->pass) return;
        wr_sbuf_addz(b, "; ");
    }
    for (uint32_t i = 0; i < o->n_exprs; i++) {
        const wr_expr *e = o->exprs[i];
        wr_sbuf_addz(b, i ? ", " : "");
        wr_expr_text(e, in, b);
        bool renamed = e->kind != WR_E_COL || !wr_str_eq(in->fields[e->col].name, n->schema.fields[i].name);
        if (renamed) wr_sbuf_printf(b, " AS %.*s", WR_FMT(n->schema.fields[i].name));
    }
}

static void order_text(wr_sbuf *b, const wr_schema *s, const wr_sort_key *o, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) wr_sbuf_printf(b, "%s%.*s%s", i ? ", " : "", WR_FMT(s->fields[o[i].col].name), o[i].desc ? " DESC" : "");
}

static void over_fns(wr_sbuf *b, const wr_schema *in, const wr_over_fn *fns, uint32_t n) {
    static const char *const NAMES[] = {[WR_OVER_LAG] = "LAG", [WR_OVER_ROW_NUMBER] = "ROW_NUMBER", [WR_OVER_RANK] = "RANK", [WR_OVER_DENSE_RANK] = "DENSE_RANK"};
    for (uint32_t i = 0; i < n; i++) {
        const wr_over_fn *fn = &fns[i];
        wr_sbuf_addz(b, i ? ", " : "");
        if (fn->kind != WR_OVER_AGG) {
            wr_sbuf_printf(b, "%s(", NAMES[fn->kind]);
            if (fn->kind == WR_OVER_LAG) wr_sbuf_printf(b, "%.*s, %llu", WR_FMT(in->fields[fn->agg.arg].name), (unsigned long long)fn->offset);
            wr_sbuf_addc(b, ')');
            continue;
        }
        agg_list(b, in, &fn->agg, 1);
        if (fn->frame.unbounded) {
            if (fn->frame.rows) wr_sbuf_addz(b, " so far, by row");
            else wr_sbuf_addz(b, " so far");
            continue;
        }
        wr_sbuf_addz(b, " of the last ");
        if (fn->frame.rows) wr_sbuf_printf(b, "%lld rows", (long long)fn->frame.preceding + 1);
        else duration(b, fn->frame.preceding);
    }
}

static void top_n_title(wr_sbuf *b, const wr_pnode *n) {
    const wr_schema     *in = &n->inputs[0].node->schema;
    const wr_top_n_opts *o = &n->top_n;
    if (o->n_fns) over_fns(b, in, o->fns, o->n_fns);
    else if (o->last == UINT64_MAX && o->first == 1) wr_sbuf_addz(b, o->rank == WR_RANK_ROW_NUMBER ? "numbers of rows" : "ranks");
    else if (o->last >= INT64_MAX) wr_sbuf_printf(b, "rows from %llu", (unsigned long long)o->first);
    else if (o->first == 1) wr_sbuf_printf(b, "top %llu", (unsigned long long)o->last);
    else wr_sbuf_printf(b, "ranks %llu to %llu", (unsigned long long)o->first, (unsigned long long)o->last);
    if (o->rank != WR_RANK_ROW_NUMBER) wr_sbuf_addz(b, o->rank == WR_RANK_RANK ? " (RANK)" : " (DENSE_RANK)");
    if (o->n_keys) wr_sbuf_addz(b, " by "), cols(b, in, o->keys, o->n_keys);
    wr_sbuf_addz(b, " order by ");
    order_text(b, in, o->order, o->n_order);
    if (o->window_end >= 0) wr_sbuf_addz(b, ", at window end");
}

static void over_title(wr_sbuf *b, const wr_schema *in, const wr_over_opts *o) {
    over_fns(b, in, o->fns, o->n_fns);
    if (o->n_keys) wr_sbuf_addz(b, " over "), cols(b, in, o->keys, o->n_keys);
    if (o->time_col < 0) wr_sbuf_addz(b, " by arrival");
    else wr_sbuf_printf(b, " in order of %.*s", WR_FMT(in->fields[o->time_col].name));
}

static void match_title(wr_sbuf *b, const wr_pnode *n) {
    const wr_schema     *in = &n->inputs[0].node->schema;
    const wr_match_opts *o = &n->match;
    wr_arena            *arena = wr_arena_new(NULL);
    wr_schema            refs = pl_match_refs(arena, o);
    wr_sbuf_addc(b, '(');
    pl_match_text(o, b);
    wr_sbuf_addc(b, ')');
    if (o->n_keys) wr_sbuf_addz(b, " by "), cols(b, in, o->keys, o->n_keys);
    wr_sbuf_printf(b, " in order of %.*s", WR_FMT(in->fields[o->time_col].name));
    if (o->within_us) wr_sbuf_addz(b, " within "), duration(b, o->within_us);
    for (uint32_t i = 0, shown = 0; i < o->n_vars; i++) {
        if (!o->vars[i].cond) continue;
        wr_sbuf_printf(b, "%s%.*s: ", shown++ ? ", " : " where ", WR_FMT(o->vars[i].name));
        wr_expr_text(o->vars[i].cond, &refs, b);
    }
    wr_arena_free(arena);
}

static void assign_title(wr_sbuf *b, const wr_pnode *n) {
    const wr_assign_opts *o = &n->assign;
    const wr_schema      *l = &n->inputs[0].node->schema, *r = &n->inputs[1].node->schema;
    wr_sbuf_printf(b, "%.*s to %.*s", WR_FMT(l->fields[o->side[0].id].name), WR_FMT(r->fields[o->side[1].id].name));
    if (o->n_keys) wr_sbuf_addz(b, " by "), cols(b, l, o->side[0].keys, o->n_keys);
    wr_sbuf_addz(b, ", every "), duration(b, o->every_us);
    wr_sbuf_addz(b, o->how.greedy ? ", greedy" : ", optimal");
    if (o->how.earth) wr_sbuf_addz(b, " on earth");
    if (o->how.max_distance > 0) wr_sbuf_printf(b, " within %g", o->how.max_distance);
    if (o->how.wait_weight > 0) wr_sbuf_printf(b, ", a second of waiting worth %g", o->how.wait_weight);
    if (o->how.batch_share > 0) wr_sbuf_printf(b, ", two at a time if %g shorter", o->how.batch_share);
}

static void title(const wr_pnode *n, wr_sbuf *b) {
    const wr_schema *in = n->n_inputs ? &n->inputs[0].node->schema : &n->schema;
    switch (n->kind) {
    case WR_P_SOURCE: wr_sbuf_printf(b, "%.*s (%.*s)", WR_FMT(n->source.table->name), WR_FMT(n->source.table->connector)); break;
    case WR_P_VALUES: wr_sbuf_printf(b, "%u rows", n->values.n_rows); break;
    case WR_P_CALC:
        if (!n->calc.kinds) calc_title(b, n, &n->calc);
        else if (n->calc.kinds->to) wr_sbuf_printf(b, "each change as a row, its kind in %.*s", WR_FMT(n->schema.fields[0].name));
        else wr_sbuf_printf(b, "changes by the kind in %.*s", WR_FMT(in->fields[n->calc.kinds->col].name));
        break;
    case WR_P_KEEP: calc_title(b, n, &n->keep.calc); break;
    case WR_P_WINDOW_TVF: window(b, &n->window_tvf); break;
    case WR_P_WINDOW_AGG:
        if (n->window_agg.input_is_windowed) wr_sbuf_addz(b, "by window of the input");
        else window(b, &n->window_agg.window);
        if (n->window_agg.n_keys) wr_sbuf_addz(b, " by "), cols(b, in, n->window_agg.keys, n->window_agg.n_keys);
        if (n->window_agg.n_aggs) wr_sbuf_addz(b, ": "), agg_list(b, in, n->window_agg.aggs, n->window_agg.n_aggs);
        break;
    case WR_P_GROUP_AGG:
        if (!n->group_agg.n_aggs) wr_sbuf_addz(b, "distinct ");
        else wr_sbuf_addz(b, n->group_agg.n_keys ? "group by " : "all rows");
        cols(b, in, n->group_agg.keys, n->group_agg.n_keys);
        if (n->group_agg.n_aggs) wr_sbuf_addz(b, ": "), agg_list(b, in, n->group_agg.aggs, n->group_agg.n_aggs);
        break;
    case WR_P_LOCAL_AGG:
        wr_sbuf_addz(b, n->local_agg.n_keys ? "combine by " : "combine");
        cols(b, in, n->local_agg.keys, n->local_agg.n_keys);
        if (n->local_agg.windowed) wr_sbuf_addz(b, n->local_agg.n_keys ? " and pane" : " by pane");
        break;
    case WR_P_INTERVAL_JOIN:
        join_title(b, n, " interval join", n->interval_join.kind, &n->interval_join.keys, n->interval_join.residual);
        wr_sbuf_printf(b, ", %.*s - %.*s in [", WR_FMT(n->inputs[1].node->schema.fields[n->interval_join.right_time].name), WR_FMT(in->fields[n->interval_join.left_time].name));
        duration(b, n->interval_join.lower_us);
        wr_sbuf_addz(b, ", ");
        duration(b, n->interval_join.upper_us);
        wr_sbuf_addc(b, ']');
        break;
    case WR_P_TEMPORAL_JOIN:
        join_title(b, n, " join", n->temporal_join.kind, &n->temporal_join.keys, n->temporal_join.residual);
        wr_sbuf_printf(b, " as of %.*s", WR_FMT(in->fields[n->temporal_join.left_time].name));
        break;
    case WR_P_JOIN: join_title(b, n, " join", n->join.kind, &n->join.keys, n->join.residual); break;
    case WR_P_WINDOW_JOIN: join_title(b, n, " join in the same window", n->window_join.kind, &n->window_join.keys, n->window_join.residual); break;
    case WR_P_TOP_N: top_n_title(b, n); break;
    case WR_P_DEDUP:
        wr_sbuf_printf(b, "%s row by ", n->dedup.keep_last ? "last" : "first");
        cols(b, in, n->dedup.keys, n->dedup.n_keys);
        if (n->dedup.time_col >= 0) wr_sbuf_printf(b, " in order of %.*s", WR_FMT(in->fields[n->dedup.time_col].name));
        else wr_sbuf_addz(b, " by arrival");
        break;
    case WR_P_NORMALIZE:
        wr_sbuf_addz(b, n->normalize.materialize ? "rows by sink key " : "last row by ");
        cols(b, in, n->normalize.keys, n->normalize.n_keys);
        break;
    case WR_P_LIMIT:
        wr_sbuf_printf(b, "first %llu rows", (unsigned long long)n->limit.n);
        if (n->limit.offset) wr_sbuf_printf(b, " after %llu", (unsigned long long)n->limit.offset);
        break;
    case WR_P_TIME_SORT:
        wr_sbuf_addz(b, "order by ");
        order_text(b, in, n->time_sort.order, n->time_sort.n_order);
        break;
    case WR_P_UNNEST:
        wr_sbuf_printf(b, "%s %.*s%s%s", in->fields[n->unnest.col].type.id == WR_T_BIGINT ? "as often as" : "each element of", WR_FMT(in->fields[n->unnest.col].name), n->unnest.ordinality ? " with its position" : "", n->unnest.outer ? ", or NULL" : "");
        break;
    case WR_P_SPREAD: spread_title(b, n, in); break;
    case WR_P_LOOKUP_JOIN:
        join_title(b, n, " lookup join", n->lookup.opts.kind, &n->lookup.opts.keys, n->lookup.opts.residual);
        wr_sbuf_printf(b, " in %.*s (%.*s)", WR_FMT(n->lookup.from.table->name), WR_FMT(n->lookup.from.table->connector));
        break;
    case WR_P_OVER: over_title(b, in, &n->over); break;
    case WR_P_MATCH: match_title(b, n); break;
    case WR_P_ASSIGN: assign_title(b, n); break;
    case WR_P_UNION: wr_sbuf_printf(b, "%u inputs", n->n_union); break;
    case WR_P_VIEW:
        wr_sbuf_printf(b, "%.*s, rows by ", WR_FMT(n->view.table->name));
        if (n->view.n_key) cols(b, in, n->view.key, n->view.n_key);
        else wr_sbuf_addz(b, "all columns");
        if (n->view.time_col < 0) break;
        wr_sbuf_addz(b, ", for ");
        duration(b, n->view.retention_us);
        break;
    case WR_P_SINK:
        if (n->sink.is_result) wr_sbuf_addz(b, "result of SELECT");
        else wr_sbuf_printf(b, "%.*s (%.*s)", WR_FMT(n->sink.table->name), WR_FMT(n->sink.table->connector));
        break;
    }
}

void ph_title(const wr_pnode *n, char out[160]) {
    wr_sbuf b = {0};
    title(n, &b);
    snprintf(out, 160, "%.*s", (int)b.len, b.at ? b.at : "");
    if (b.len >= 160) {
        size_t cut = 156;
        while (cut && ((unsigned char)out[cut] & 0xC0) == 0x80) cut--; /* not inside a character */
        memcpy(out + cut, "...", 4);
    }
    wr_sbuf_free(&b);
}
