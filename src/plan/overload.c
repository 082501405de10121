/* plan/overload.c: sources that leave rows out when more comes than can be worked on ('overload.policy'): what a plan says of them.
 *
 * Idea       which rows are left out depends on how fast the machine is, so the results of such a source are neither complete nor the same in every run; everything
 *            that promises something about results says so. A changelog cannot be thinned out: later rows take back what earlier ones said.                */
#include "plan/logical.h"

wr_str pl_sheds(const wr_pnode *n) {
    if (n->kind != WR_P_SOURCE) return WR_STR("");
    wr_str policy = wr_str_trim(pl_table_option(n->source.table, "overload.policy"));
    return wr_str_ieq(policy, WR_STR("wait")) ? WR_STR("") : policy;
}

const wr_pnode *pl_shedding(const wr_pnode *n) {
    uint32_t         n_in = n->kind == WR_P_UNION ? n->n_union : n->n_inputs;
    const wr_pinput *in = n->kind == WR_P_UNION ? n->union_inputs : n->inputs;
    const wr_pnode  *found = pl_sheds(n).len ? n : NULL;
    for (uint32_t i = 0; i < n_in && !found; i++) found = pl_shedding(in[i].node);
    return found;
}

static wr_span place_of(const wr_table *t) {
    for (uint32_t i = 0; i < t->n_options; i++)
        if (wr_str_eq(t->options[i].key, WR_STR("overload.policy"))) return t->options[i].at;
    return t->at;
}

bool pl_overload(pl *p, tinfo *ti) {
    wr_str policy = wr_str_trim(pl_table_option(ti->table, "overload.policy"));
    if (!policy.len || wr_str_ieq(policy, WR_STR("wait"))) return true;
    if (ti->changes) {
        pl_error(p, "WR441", place_of(ti->table), "'overload.policy' = '%.*s': '%.*s' is a table of changes, and one that is left out makes the rest wrong", WR_FMT(policy), WR_FMT(ti->table->name));
        wr_diags_hint(p->diags, "leave it out: the source waits until the job has room");
        return false;
    }
    if (ti->bounded) {
        pl_error(p, "WR442", place_of(ti->table), "'overload.policy' = '%.*s': '%.*s' ends, so it can wait", WR_FMT(policy), WR_FMT(ti->table->name));
        wr_diags_hint(p->diags, "it is for inputs that go on: a topic, a log, files with 'source.mode' = 'tail'");
        return false;
    }
    return true;
}

void pl_check_overload(const wr_pnode *n, wr_diags *diags) {
    wr_str policy = pl_sheds(n);
    if (!policy.len) return;
    wr_diags_add(diags, WR_SEV_WARNING, "WR443", place_of(n->source.table), "'%.*s' leaves rows out when it is further behind than %.*s ('%.*s'): its results are not complete then, and a second run gives others",
                 WR_FMT(n->source.table->name), WR_FMT(wr_str_trim(pl_table_option(n->source.table, "overload.lag"))), WR_FMT(policy));
    wr_diags_hint(diags, "they are counted as 'shed' in the ledger; 'overload.policy' = 'wait' loses nothing");
}

void pl_overload_text(const wr_job_plan *job, wr_sbuf *out) {
    bool any = false;
    for (uint32_t i = 0; i < job->nodes.n; i++) {
        const wr_pnode *n = job->nodes.at[i];
        wr_str          policy = pl_sheds(n);
        if (!policy.len) continue;
        if (!any) wr_sbuf_addz(out, "When more comes than can be worked on (results are not complete then; the ledger counts 'shed'):\n");
        any = true;
        wr_sbuf_printf(out, "  %.*s: %.*s, from %.*s behind\n", WR_FMT(n->source.table->name), WR_FMT(policy), WR_FMT(wr_str_trim(pl_table_option(n->source.table, "overload.lag"))));
    }
}

void pl_overload_json(const wr_job_plan *job, wr_sbuf *out) {
    const char *sep = "";
    wr_sbuf_addz(out, ",\"overload\":[");
    for (uint32_t i = 0; i < job->nodes.n; i++) {
        const wr_pnode *n = job->nodes.at[i];
        wr_str          policy = pl_sheds(n);
        if (!policy.len) continue;
        wr_sbuf_printf(out, "%s{\"table\":", sep), wr_sbuf_add_json(out, n->source.table->name);
        wr_sbuf_addz(out, ",\"policy\":"), wr_sbuf_add_json(out, policy);
        wr_sbuf_addz(out, ",\"lag\":"), wr_sbuf_add_json(out, wr_str_trim(pl_table_option(n->source.table, "overload.lag")));
        wr_sbuf_addc(out, '}');
        sep = ",";
    }
    wr_sbuf_addc(out, ']');
}
