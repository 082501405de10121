/* plan/check.c: what `weir check` says beyond errors: guarantees, non-determinism, state that only keys bound, order.
 *
 * Idea       walks the finished job; every remark names a place in the script and, where there is one, a way out.
 * Invariant  adds warnings and notes only.                                                                            */
#include "plan/logical.h"

static void note(wr_diags *d, wr_severity s, wr_span at, const char *code, const char *text, const char *hint) {
    wr_diags_add(d, s, code, at, "%s", text);
    if (hint) wr_diags_hint(d, "%s", hint);
}

static wr_volatility volatility(const wr_expr *e) { return e ? wr_expr_volatility(e) : WR_VOL_PURE; }

static void check_calc(const wr_pnode *n, const wr_calc_opts *o, wr_diags *d) {
    wr_volatility v = volatility(o->filter);
    for (uint32_t i = 0; i < o->n_exprs; i++) v = WR_MAX(v, volatility(o->exprs[i]));
    if (v == WR_VOL_RANDOM)
        note(d, WR_SEV_WARNING, n->at, "WR110", "this uses a random function: a replay after a crash gives other values", "make the value from the row (a hash of its key) if it must be the same");
    if (v == WR_VOL_QUERY)
        note(d, WR_SEV_WARNING, n->at, "WR111", "this reads the wall clock: a replay after a crash gives other values", "use the event-time column, or CURRENT_WATERMARK");
}

/* The plan has refused it already, at the same place. */
static bool refused_for_state(const wr_pnode *n, const wr_diags *d) {
    for (uint32_t i = 0; i < d->list.n; i++) {
        const wr_diag *one = &d->list.at[i];
        if (one->severity == WR_SEV_ERROR && !strcmp(one->code, "WR101") && one->at.file == n->at.file && one->at.line == n->at.line && one->at.col == n->at.col) return true;
    }
    return false;
}

static void check_state(const wr_pnode *n, wr_diags *d) {
    if (n->bill.bound == WR_BOUND_NOTHING && !refused_for_state(n, d)) {
        wr_diags_add(d, WR_SEV_WARNING, "WR101", n->at, "%s: nothing bounds its memory (accepted)", n->title);
        wr_diags_hint(d, "a time bound in ON, or 'table.exec.state.ttl'");
    }
    if (n->bill.bound != WR_BOUND_KEYS || n->kind == WR_P_TEMPORAL_JOIN) return;
    wr_diags_add(d, WR_SEV_NOTE, "WR104", n->at, "%s: memory is bounded by the %s only, %.0f B each", n->title, n->bill.bounded_by, n->bill.key_bytes);
}

static void check_sink(const wr_pnode *n, wr_diags *d) {
    if (n->sink.is_result) return;
    static const char *const SAYS[] = {"at least once: rows may come twice after a crash", "idempotent: after a crash rows are written again under the same key", "exactly once"};
    int g = n->sink.connector && n->sink.connector->guarantee ? n->sink.connector->guarantee(n->sink.table) : 0;
    wr_diags_add(d, g ? WR_SEV_NOTE : WR_SEV_WARNING, "WR112", n->at, "sink '%.*s' (%.*s), with checkpoints: %s", WR_FMT(n->sink.table->name), WR_FMT(n->sink.table->connector), SAYS[g]);
}

static void check_refused(const wr_pnode *n, wr_diags *d) {
    static const char *const SAYS[] = {"at least once: a letter may come twice after a crash", "idempotent", "each once"};
    const wr_table *of, *letters;
    wr_str          to, policy = pl_refused(n, &of, &to, &letters);
    const char     *what = n->kind == WR_P_SOURCE ? "records that the source" : "rows that the sink";
    if (!policy.len) return;
    if (!to.len) {
        wr_diags_add(d, WR_SEV_NOTE, "WR115", of->at, "%s '%.*s' refuses are skipped: counted, and gone", what, WR_FMT(of->name));
    } else if (!letters) {
        wr_diags_add(d, WR_SEV_NOTE, "WR115", of->at, "%s '%.*s' refuses go to the file '%.*s', with checkpoints each once", what, WR_FMT(of->name), WR_FMT(to));
    } else {
        const wr_connector_ref *c = n->kind == WR_P_SOURCE ? n->source.letters_connector : n->sink.letters_connector;
        int                     g = c && c->guarantee ? c->guarantee(letters) : 0;
        wr_diags_add(d, WR_SEV_NOTE, "WR115", of->at, "%s '%.*s' refuses go to the table '%.*s' (%.*s), with checkpoints %s", what, WR_FMT(of->name), WR_FMT(to), WR_FMT(letters->connector), SAYS[g]);
    }
}

/* ---- from source to sink ---- */
static bool fed_by_push(const wr_pnode *n) {
    uint32_t         n_in = n->kind == WR_P_UNION ? n->n_union : n->n_inputs;
    const wr_pinput *in = n->kind == WR_P_UNION ? n->union_inputs : n->inputs;
    if (n->kind == WR_P_SOURCE && wr_str_eq(n->source.table->connector, WR_STR("push"))) return true;
    for (uint32_t i = 0; i < n_in; i++)
        if (fed_by_push(in[i].node)) return true;
    return false;
}

/* The other links hold in every job: positions of sources are part of a checkpoint, and so is the state of operators; a restart computes the rows since
 * then again and exchanges do not lose or double any. So it is the sink that decides, unless the input cannot be read again. */
const char *wr_plan_guarantee(const wr_pnode *sink, wr_sbuf *why) {
    wr_str name = sink->sink.table->name, connector = sink->sink.table->connector;
    int    g = sink->sink.connector && sink->sink.connector->guarantee ? sink->sink.connector->guarantee(sink->sink.table) : 0;
    if (fed_by_push(sink)) {
        wr_sbuf_addz(why, "weakest link: the program that pushes rows must give those since the last checkpoint again");
        return "no more than the program gives";
    }
    const wr_pnode *sheds = g ? pl_shedding(sink) : NULL;
    if (sheds) {
        wr_sbuf_printf(why, "weakest link: the source %.*s leaves rows out when it is too far behind, and after a crash others than before ('overload.policy' = '%.*s')", WR_FMT(sheds->source.table->name), WR_FMT(pl_sheds(sheds)));
        return g == 2 ? "exactly once, but for rows that are shed" : "exactly once in what the key holds in the end, but for rows that are shed";
    }
    if (g == 2) {
        wr_sbuf_printf(why, "sources go back to their positions in the checkpoint, and %.*s takes the rows of a checkpoint as one", WR_FMT(name));
        return "exactly once";
    }
    if (g == 1) {
        wr_sbuf_printf(why, "weakest link: the sink %.*s (%.*s) writes rows again under the same key after a crash", WR_FMT(name), WR_FMT(connector));
        return "exactly once in what the key holds in the end";
    }
    wr_sbuf_printf(why, "weakest link: the sink %.*s (%.*s) has no transactions: rows since the last checkpoint may come twice after a crash", WR_FMT(name), WR_FMT(connector));
    return "at least once";
}

void wr_plan_check(const wr_job_plan *job, wr_diags *d) {
    for (uint32_t i = 0; i < job->nodes.n; i++) {
        const wr_pnode *n = job->nodes.at[i];
        if (n->kind == WR_P_CALC) check_calc(n, &n->calc, d);
        if (n->kind == WR_P_KEEP) check_calc(n, &n->keep.calc, d);
        if (n->kind == WR_P_LOOKUP_JOIN)
            wr_diags_add(d, WR_SEV_NOTE, "WR114", n->at, "%.*s is asked when a row comes: a replay finds what it holds then", WR_FMT(n->lookup.from.table->name));
        check_state(n, d);
        if (n->kind == WR_P_SOURCE) pl_retention_check(job, n, d);
        if (n->kind == WR_P_SINK) check_sink(n, d);
        if (n->kind == WR_P_VIEW) wr_diags_add(d, WR_SEV_NOTE, "WR112", n->at, "materialized view '%.*s', with checkpoints: exactly once", WR_FMT(n->view.table->name));
        check_refused(n, d);
        pl_check_overload(n, d);
        if (n->kind == WR_P_LIMIT) note(d, WR_SEV_NOTE, n->at, "WR113", "LIMIT without ORDER BY keeps the first rows that arrive: which ones depends on timing between partitions", NULL);
    }
}
