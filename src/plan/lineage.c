/* plan/lineage.c: see lineage.h.
 *
 * Idea       one pass over the graph, inputs first. Every column of a source is a bit; a column of a node is the union of the columns that its value is made of.
 *            Beside it: is it a column of the input as it is? That is enough to carry keys, and so the order by key, through projections.
 * Invariant  what is not known counts as more sources and less order.
 * Memory     an arena of its own.                                                                                       */
#include "plan/lineage.h"
#include "plan/logical.h"

typedef struct base { const wr_pnode *node; wr_str table; const wr_schema *decoded; } base; /* a table's columns: bits from `first` */
typedef struct of_node {
    uint64_t  *from;     /* per column: n_words */
    int32_t   *same[2];  /* per column: the column of input 0 / 1 that it is; -1 */
    uint32_t   first;    /* sources and look-ups: their first bit */
    wr_arrival arrival;
} of_node;
struct wr_lineage {
    wr_arena          *arena;
    const wr_job_plan *job;
    of_node           *of;
    uint32_t           n_words, n_bits;
};

static uint64_t *bits_of(const wr_lineage *x, const wr_pnode *n, uint32_t col) { return x->of[n->index].from + (size_t)col * x->n_words; }
static void      set_bit(uint64_t *bits, uint32_t i) { bits[i >> 6] |= UINT64_C(1) << (i & 63); }
static bool      has_bit(const uint64_t *bits, uint32_t i) { return bits[i >> 6] >> (i & 63) & 1; }

static void add(const wr_lineage *x, uint64_t *to, const wr_pnode *in, int32_t col) {
    if (col < 0 || (uint32_t)col >= in->schema.n) return;
    const uint64_t *from = bits_of(x, in, (uint32_t)col);
    for (uint32_t w = 0; w < x->n_words; w++) to[w] |= from[w];
}

/* The columns that an expression reads, over the inputs of n side by side; or over the decoded columns of a table. */
static void add_expr(const wr_lineage *x, uint64_t *to, const wr_pnode *n, const wr_expr *e, bool decoded) {
    uint32_t        width = 0, left = !decoded && n->n_inputs ? n->inputs[0].node->schema.n : 0;
    const wr_schema *own = n->kind == WR_P_LOOKUP_JOIN ? &n->lookup.from.decoded : n->kind == WR_P_SOURCE ? &n->source.decoded : NULL;
    width = decoded ? own->n : left + (n->n_inputs > 1 ? n->inputs[1].node->schema.n : 0);
    uint64_t *read = wr_arena_calloc(x->arena, sizeof *read * (width / 64 + 1));
    wr_expr_columns(e, read);
    for (uint32_t c = 0; c < width; c++) {
        if (!has_bit(read, c)) continue;
        if (decoded) set_bit(to, x->of[n->index].first + c);
        else if (c < left) add(x, to, n->inputs[0].node, (int32_t)c);
        else add(x, to, n->inputs[1].node, (int32_t)(c - left));
    }
}

static void pass(const wr_lineage *x, const wr_pnode *n, uint32_t out, uint32_t input, uint32_t col) {
    add(x, bits_of(x, n, out), n->inputs[input].node, (int32_t)col);
    x->of[n->index].same[input][out] = (int32_t)col;
}

static void from_calc(const wr_lineage *x, const wr_pnode *n, const wr_calc_opts *o) {
    const wr_pnode *in = n->inputs[0].node;
    for (uint32_t i = 0; i < n->schema.n; i++) {
        if (o->kinds) { /* the kind is put in front, or taken out */
            uint32_t c = o->kinds->to ? i - 1 : i + (i >= o->kinds->col);
            if ((o->kinds->to && !i) || c >= in->schema.n) continue;
            pass(x, n, i, 0, c);
        } else if (o->pass) pass(x, n, i, 0, i);
        else if (o->exprs[i]->kind == WR_E_COL) pass(x, n, i, 0, o->exprs[i]->col);
        else add_expr(x, bits_of(x, n, i), n, o->exprs[i], false);
    }
}

static void from_agg(const wr_lineage *x, uint64_t *to, const wr_pnode *in, const wr_agg *a) {
    add(x, to, in, a->arg), add(x, to, in, a->arg2), add(x, to, in, a->filter);
}

static void from_aggregation(const wr_lineage *x, const wr_pnode *n, const uint32_t *keys, uint32_t n_keys, const wr_agg *aggs, uint32_t n_aggs, int32_t time_col) {
    for (uint32_t i = 0; i < n->schema.n; i++) {
        if (i < n_keys) pass(x, n, i, 0, keys[i]);
        else if (i < n_keys + n_aggs) from_agg(x, bits_of(x, n, i), n->inputs[0].node, &aggs[i - n_keys]);
        else add(x, bits_of(x, n, i), n->inputs[0].node, time_col);
    }
}

static void from_functions(const wr_lineage *x, const wr_pnode *n, const wr_over_fn *fns, uint32_t n_fns) {
    uint32_t width = n->inputs[0].node->schema.n;
    for (uint32_t i = 0; i < n->schema.n; i++) {
        if (i < width) pass(x, n, i, 0, i);
        else if (i - width < n_fns) from_agg(x, bits_of(x, n, i), n->inputs[0].node, &fns[i - width].agg), add(x, bits_of(x, n, i), n->inputs[0].node, fns[i - width].fallback);
    }
}

static void from_both(const wr_lineage *x, const wr_pnode *n) {
    uint32_t left = n->inputs[0].node->schema.n;
    for (uint32_t i = 0; i < n->schema.n; i++) pass(x, n, i, i >= left, i < left ? i : i - left);
}

static void from_table(const wr_lineage *x, const wr_pnode *n, const wr_p_source *s, uint32_t first_out) {
    for (uint32_t i = first_out; i < n->schema.n && i - first_out < s->n_exprs; i++) add_expr(x, bits_of(x, n, i), n, s->exprs[i - first_out], true);
}

static void from_match(const wr_lineage *x, const wr_pnode *n) { /* a measure reads rows of any variable: all columns that the pattern's input has may go into it */
    for (uint32_t i = 0; i < n->schema.n; i++) {
        if (i < n->match.n_keys) pass(x, n, i, 0, n->match.keys[i]);
        else
            for (uint32_t c = 0; c < n->inputs[0].node->schema.n; c++) add(x, bits_of(x, n, i), n->inputs[0].node, (int32_t)c);
    }
}

static void from_assign(const wr_lineage *x, const wr_pnode *n) { /* who gets an order depends on all that both sides say */
    const wr_assign_opts *o = &n->assign;
    for (uint32_t i = 0; i < n->schema.n; i++) {
        if (i < o->n_keys) pass(x, n, i, 0, o->side[0].keys[i]);
        else if (i == o->n_keys) pass(x, n, i, 0, o->side[0].id);
        else
            for (uint32_t k = 0; k < 2; k++)
                for (uint32_t c = 0; c < n->inputs[k].node->schema.n; c++) add(x, bits_of(x, n, i), n->inputs[k].node, (int32_t)c);
    }
}

/* The input's columns in front; what the node adds is from `extra`. */
static void from_input(const wr_lineage *x, const wr_pnode *n, int32_t extra) {
    for (uint32_t i = 0; i < n->schema.n; i++) {
        if (i < n->inputs[0].node->schema.n) pass(x, n, i, 0, i);
        else add(x, bits_of(x, n, i), n->inputs[0].node, extra);
    }
}

static void find_columns(const wr_lineage *x, const wr_pnode *n) {
    const wr_pnode *in = n->n_inputs ? n->inputs[0].node : NULL;
    switch (n->kind) {
    case WR_P_VALUES: return;
    case WR_P_SOURCE: from_table(x, n, &n->source, 0); return;
    case WR_P_CALC: from_calc(x, n, &n->calc); return;
    case WR_P_KEEP: from_calc(x, n, &n->keep.calc); return;
    case WR_P_WINDOW_AGG: from_aggregation(x, n, n->window_agg.keys, n->window_agg.n_keys, n->window_agg.aggs, n->window_agg.n_aggs, n->window_agg.input_is_windowed ? n->window_agg.in_end : (int32_t)n->window_agg.window.time_col); return;
    case WR_P_GROUP_AGG: from_aggregation(x, n, n->group_agg.keys, n->group_agg.n_keys, n->group_agg.aggs, n->group_agg.n_aggs, -1); return;
    case WR_P_INTERVAL_JOIN: case WR_P_TEMPORAL_JOIN: case WR_P_JOIN: case WR_P_WINDOW_JOIN: from_both(x, n); return;
    case WR_P_LOOKUP_JOIN: from_input(x, n, -1), from_table(x, n, &n->lookup.from, in->schema.n); return;
    case WR_P_TOP_N: from_functions(x, n, n->top_n.fns, n->top_n.n_fns); return;
    case WR_P_OVER: from_functions(x, n, n->over.fns, n->over.n_fns); return;
    case WR_P_MATCH: from_match(x, n); return;
    case WR_P_ASSIGN: from_assign(x, n); return;
    case WR_P_UNNEST:
        for (uint32_t i = 0; i < n->schema.n; i++) {
            if (i < n->unnest.n_pass) pass(x, n, i, 0, n->unnest.pass[i]);
            else add(x, bits_of(x, n, i), in, (int32_t)n->unnest.col);
        }
        return;
    case WR_P_UNION:
        for (uint32_t k = 0; k < n->n_union; k++)
            for (uint32_t i = 0; i < n->schema.n; i++) add(x, bits_of(x, n, i), n->union_inputs[k].node, (int32_t)i);
        return;
    case WR_P_WINDOW_TVF: from_input(x, n, (int32_t)n->window_tvf.time_col); return;
    case WR_P_DEDUP: case WR_P_NORMALIZE: case WR_P_LIMIT: case WR_P_TIME_SORT: case WR_P_SINK: case WR_P_VIEW: case WR_P_LOCAL_AGG: case WR_P_SPREAD: from_input(x, n, -1); return;
    }
}

/* ---- order ---- */

/* Columns of an input as columns of the output; false: one of them is not in it. */
static bool carry(const wr_lineage *x, const wr_pnode *n, uint32_t input, const uint32_t *cols, uint32_t n_cols, wr_arrival *out) {
    uint32_t *key = wr_new_n(x->arena, uint32_t, n_cols + 1);
    for (uint32_t k = 0; k < n_cols; k++) {
        bool found = false;
        for (uint32_t i = 0; i < n->schema.n && !found; i++)
            if (x->of[n->index].same[input][i] == (int32_t)cols[k]) key[k] = i, found = true;
        if (!found) return false;
    }
    *out = (wr_arrival){.order = WR_ORDER_KEY, .n_key = n_cols, .key = key};
    return true;
}

static bool same_arrival(wr_arrival a, wr_arrival b) {
    if (a.order != b.order || a.n_key != b.n_key) return false;
    for (uint32_t i = 0; i < a.n_key; i++)
        if (a.key[i] != b.key[i]) return false;
    return true;
}

static wr_arrival lost(const wr_pnode *at, const char *why) { return (wr_arrival){.at = at, .lost = why}; }

static wr_arrival union_order(const wr_lineage *x, const wr_pnode *n) { /* partitions stay partitions; one key may come from both sides at once */
    wr_arrival a = n->n_union ? x->of[n->union_inputs[0].node->index].arrival : (wr_arrival){0};
    for (uint32_t k = 0; k < n->n_union; k++) {
        wr_arrival b = x->of[n->union_inputs[k].node->index].arrival;
        if (b.order == WR_ORDER_NONE) return b;
        if (n->union_inputs[k].exchange != WR_X_FORWARD || !same_arrival(a, b) || b.order != WR_ORDER_PARTITION) return lost(n, "rows of its inputs come together as they are ready, so what happens to one key in one of them may overtake what happens to it in another");
    }
    return a;
}

static bool all_in(const uint32_t *some, uint32_t n_some, const uint32_t *all, uint32_t n_all) {
    for (uint32_t i = 0; i < n_some; i++) {
        bool found = false;
        for (uint32_t k = 0; k < n_all; k++) found |= some[i] == all[k];
        if (!found) return false;
    }
    return true;
}

static wr_arrival order_of(const wr_lineage *x, const wr_pnode *n) {
    wr_arrival out = {0};
    if (n->kind == WR_P_SOURCE) return (wr_arrival){.order = WR_ORDER_PARTITION};
    if (n->kind == WR_P_VALUES) return (wr_arrival){.order = WR_ORDER_ALL};
    if (n->kind == WR_P_UNION) return union_order(x, n);
    const wr_pinput *in = &n->inputs[0];
    wr_arrival       was = x->of[in->node->index].arrival;
    if (n->kind == WR_P_SINK || n->kind == WR_P_VIEW) return was; /* whatever way: rows of one worker stay in order */
    if (n->kind == WR_P_SPREAD) return lost(n, "a hot key is split: several workers have a part of its rows");
    if (n->kind == WR_P_LOOKUP_JOIN && !n->lookup.opts.ordered) return lost(n, "rows go on as their answers come: 'table.exec.async-lookup.output-mode' lets them overtake each other");
    bool padded = n->kind == WR_P_INTERVAL_JOIN && n->interval_join.kind != WR_JOIN_INNER && n->interval_join.kind != WR_JOIN_SEMI;
    if (padded) return lost(n, "a row without a partner comes when the watermark says that there will be none, behind later rows that had one");
    if (in->exchange == WR_X_GATHER || n->single) return (wr_arrival){.order = WR_ORDER_ALL, .at = n};
    bool last_wins = n->kind == WR_P_KEEP || n->kind == WR_P_NORMALIZE; /* what came last of a key stays: nothing is put right that came the wrong way round */
    if (last_wins && was.order == WR_ORDER_NONE) return was;
    if (last_wins && was.order == WR_ORDER_KEY && in->exchange == WR_X_HASH && !all_in(was.key, was.n_key, in->keys, in->n_keys)) return lost(n, "rows of one key come from several workers, which had other keys");
    if (in->exchange == WR_X_HASH) {
        if (!carry(x, n, 0, in->keys, in->n_keys, &out)) return lost(n, "rows are spread over the workers by a key that is not among its columns afterwards");
        out.at = n;
        out.if_partitioned = last_wins && (was.order == WR_ORDER_PARTITION || was.if_partitioned);
        return out;
    }
    if (was.order != WR_ORDER_KEY) return was;
    if (!carry(x, n, 0, was.key, was.n_key, &out)) return lost(n, "the columns that rows are spread by are left out here, or changed");
    out.at = was.at, out.if_partitioned = was.if_partitioned;
    return out;
}

/* ---- public ---- */

wr_lineage *wr_lineage_new(const wr_job_plan *job) {
    wr_lineage *x = wr_calloc(1, sizeof *x);
    x->arena = wr_arena_new(NULL);
    x->job = job;
    x->of = wr_new_n(x->arena, of_node, job->nodes.n + 1);
    for (uint32_t i = 0; i < job->nodes.n; i++) {
        const wr_pnode *n = job->nodes.at[i];
        x->of[i].first = x->n_bits;
        if (n->kind == WR_P_SOURCE) x->n_bits += n->source.decoded.n;
        if (n->kind == WR_P_LOOKUP_JOIN) x->n_bits += n->lookup.from.decoded.n;
    }
    x->n_words = x->n_bits / 64 + 1;
    for (uint32_t i = 0; i < job->nodes.n; i++) {
        const wr_pnode *n = job->nodes.at[i];
        x->of[i].from = wr_new_n(x->arena, uint64_t, (size_t)(n->schema.n + 1) * x->n_words);
        for (int k = 0; k < 2; k++) {
            x->of[i].same[k] = wr_new_n(x->arena, int32_t, n->schema.n + 1);
            for (uint32_t c = 0; c < n->schema.n; c++) x->of[i].same[k][c] = -1;
        }
        find_columns(x, n);
        x->of[i].arrival = order_of(x, n);
    }
    return x;
}

void wr_lineage_free(wr_lineage *x) {
    if (!x) return;
    wr_arena_free(x->arena);
    wr_free(x);
}

wr_arrival wr_lineage_order(const wr_lineage *x, const wr_pnode *node) { return x->of[node->index].arrival; }

static bool said(wr_str all, wr_str one) {
    for (wr_str item; wr_str_next(&all, ',', &item);)
        if (wr_str_eq(item, one)) return true;
    return false;
}

void wr_lineage_text(const wr_lineage *x, const wr_pnode *node, uint32_t col, wr_sbuf *out) {
    const uint64_t *bits = bits_of(x, node, col);
    wr_sbuf         name = {0};
    for (uint32_t i = 0; i < x->job->nodes.n; i++) {
        const wr_pnode    *n = x->job->nodes.at[i];
        const wr_p_source *s = n->kind == WR_P_SOURCE ? &n->source : n->kind == WR_P_LOOKUP_JOIN ? &n->lookup.from : NULL;
        for (uint32_t c = 0; s && c < s->decoded.n; c++) {
            if (!has_bit(bits, x->of[i].first + c)) continue;
            wr_sbuf_clear(&name);
            wr_sbuf_printf(&name, "%.*s.%.*s", WR_FMT(s->table->name), WR_FMT(s->decoded.fields[c].name));
            if (!said(wr_sbuf_str(out), wr_sbuf_str(&name))) wr_sbuf_printf(out, "%s%.*s", out->len ? ", " : "", WR_FMT(wr_sbuf_str(&name)));
        }
    }
    wr_sbuf_free(&name);
}

bool wr_lineage_same(const wr_lineage *x, const wr_pnode *node, uint32_t col, const wr_pnode **source, uint32_t *decoded) {
    while (node->kind != WR_P_SOURCE) {
        const of_node *o = &x->of[node->index];
        int            input = o->same[0][col] >= 0 ? 0 : o->same[1][col] >= 0 ? 1 : -1;
        if (input < 0 || node->kind == WR_P_UNION) return false;
        col = (uint32_t)o->same[input][col];
        node = node->inputs[input].node;
    }
    const wr_expr *e = node->source.exprs[col];
    if (e->kind != WR_E_COL) return false;
    *source = node, *decoded = e->col;
    return true;
}
