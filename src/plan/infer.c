/* plan/infer.c: which kinds of change flow on each edge, and who must say -U.
 *
 * Idea       going up from the sinks, each consumer says whether it needs the row before a change; an operator that can leave it out does,
 *            when nobody asks. Going down again, the kinds follow: append, upsert by key (no -U), retract.
 * Invariant  UPSERT only where the rows are identified by upsert_key; a filter on other columns than the key asks for -U, since a row that
 *            no longer passes must be taken back.                                                                     */
#include "plan/physical.h"

static bool only_key_columns(const wr_expr *e, const wr_pnode *in) {
    if (e->kind == WR_E_COL) {
        for (uint32_t i = 0; i < in->n_upsert_key; i++)
            if (in->upsert_key[i] == e->col) return true;
        return false;
    }
    for (uint32_t i = 0; e->kind == WR_E_CALL && i < e->n_args; i++)
        if (!only_key_columns(e->args[i], in)) return false;
    return true;
}

/* Does consumer c need -U from its input, given whether its own output must have them? */
static bool asks(phys *h, const wr_pnode *c, uint32_t input) {
    const wr_pnode *in = c->inputs[input].node;
    const pinfo    *ci = ph_info(h, c);
    switch (c->kind) {
    case WR_P_CALC: return c->calc.kinds || ci->needs_before || !ci->has_key || (c->calc.filter && !only_key_columns(c->calc.filter, in));
    case WR_P_KEEP: return ci->needs_before || !ci->has_key || (c->keep.calc.filter && !only_key_columns(c->keep.calc.filter, in));
    case WR_P_SINK:
    case WR_P_VIEW:
    case WR_P_SPREAD: return ci->needs_before;
    case WR_P_NORMALIZE: return c->normalize.materialize;
    case WR_P_TEMPORAL_JOIN: return false;
    default: return true;
    }
}

static void mark_needs(phys *h) {
    for (uint32_t i = h->job->nodes.n; i-- > 0;) { /* consumers stand behind their inputs */
        wr_pnode *c = h->job->nodes.at[i];
        for (uint32_t k = 0; k < c->n_inputs; k++)
            if (asks(h, c, k)) ph_info(h, c->inputs[k].node)->needs_before = true;
        for (uint32_t k = 0; k < c->n_union; k++) ph_info(h, c->union_inputs[k].node)->needs_before = true;
    }
}

static wr_changes of_inputs(const wr_pnode *n) {
    wr_changes c = WR_CHANGES_APPEND;
    for (uint32_t i = 0; i < n->n_inputs; i++) c = WR_MAX(c, n->inputs[i].node->changes);
    for (uint32_t i = 0; i < n->n_union; i++) c = WR_MAX(c, n->union_inputs[i].node->changes);
    return c;
}

static void set_changes(phys *h, wr_pnode *n) {
    const pinfo *i = ph_info(h, n);
    bool         before = i->needs_before || !i->has_key;
    switch (n->kind) {
    case WR_P_CALC:
        n->changes = !i->updating ? WR_CHANGES_APPEND : n->calc.kinds ? WR_CHANGES_RETRACT : of_inputs(n);
        return;
    case WR_P_SOURCE: n->changes = !i->updating ? WR_CHANGES_APPEND : pl_table_info(h->p, n->source.table)->changes == 1 ? WR_CHANGES_UPSERT : WR_CHANGES_RETRACT; return;
    case WR_P_GROUP_AGG: n->group_agg.emit_before = before && i->updating; break;
    case WR_P_TOP_N: n->top_n.emit_before = before && i->updating; break;
    case WR_P_DEDUP: n->dedup.emit_before = before && i->updating; break;
    case WR_P_NORMALIZE: n->normalize.emit_before = before; break;
    case WR_P_KEEP: /* rows replaced by key: the last values count, and nobody asks for those before */
        n->keep.plain = !before && !n->keep.calc.filter && of_inputs(n) == WR_CHANGES_UPSERT;
        n->changes = of_inputs(n);
        return;
    case WR_P_WINDOW_TVF:
    case WR_P_UNION:
    case WR_P_LIMIT:
    case WR_P_UNNEST:
    case WR_P_SPREAD:
    case WR_P_VIEW:
    case WR_P_SINK: n->changes = i->updating ? of_inputs(n) : WR_CHANGES_APPEND; return;
    default: before = true; break;
    }
    n->changes = !i->updating ? WR_CHANGES_APPEND : before ? WR_CHANGES_RETRACT : WR_CHANGES_UPSERT;
}

void ph_infer(phys *h) {
    mark_needs(h);
    for (uint32_t i = 0; i < h->job->nodes.n; i++) set_changes(h, h->job->nodes.at[i]);
}
