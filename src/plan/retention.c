/* plan/retention.c: what a job needs of the logs that it reads, beside what these keep: the lines of `weir explain`, `weir check` and `weir size`.
 *
 * Idea       state can be built anew as far back as the log reaches; an audit of a period (`weir run --audit-every`) needs the period, its lag, and what the state before it was made from.
 * Invariant  both forms give the same facts; what a log keeps and nobody declared is said not to be known, never taken for enough.
 * Thread     any.                                                                                                              */
#include "plan/logical.h"
#include "plan/size.h"

bool wr_log_need_of(const wr_job_plan *job, const wr_pnode *source, double audit_us, wr_log_need *out) {
    wr_size_load load;
    bool         rate, bytes;
    if (!wr_size_of_source(source, &load, &rate, &bytes)) return false;
    *out = (wr_log_need){.source = source};
    out->needed_us = wr_size_needed_us(job, source, &out->by);
    out->audit_us = audit_us <= 0 ? 0 : out->needed_us < 0 ? -1 : audit_us + out->needed_us;
    out->kept_us = wr_size_kept_us(source, &out->kept_by);
    out->most_us = out->needed_us < 0 ? -1 : WR_MAX(out->needed_us, out->audit_us);
    return true;
}

/* ---- words ---- */
static void span(double us, wr_sbuf *b) {
    if (us < 0) wr_sbuf_addz(b, "all of it");
    else wr_text_duration((int64_t)us, b);
}

void wr_log_need_text(const wr_log_need *n, wr_sbuf *b) {
    if (!n->by) wr_sbuf_addz(b, "nothing behind its position: it remembers no rows of it");
    else span(n->needed_us, b), wr_sbuf_printf(b, "%s, to build %s anew%s", n->needed_us < 0 ? "" : " of it", n->by->title, n->needed_us < 0 ? ": what its keys were is not bounded by time" : "");
    if (n->audit_us > 0) wr_sbuf_addz(b, "; an audit needs "), span(n->audit_us, b);
}

void pl_retention_text(const wr_job_plan *job, const wr_bill_env *env, wr_sbuf *out) {
    bool any = false;
    for (uint32_t i = 0; i < job->nodes.n; i++) {
        wr_log_need n;
        if (!wr_log_need_of(job, job->nodes.at[i], env ? env->audit_us : 0, &n)) continue;
        if (!any) wr_sbuf_addz(out, "What the job needs of its logs, and what they keep:\n");
        any = true;
        const wr_table *t = n.source->source.table;
        wr_sbuf_printf(out, "  %.*s (%.*s): ", WR_FMT(t->name), WR_FMT(t->connector));
        wr_log_need_text(&n, out);
        if (n.kept_us >= 0) wr_sbuf_addz(out, "; the log keeps "), span(n.kept_us, out), wr_sbuf_printf(out, " ('%s')", n.kept_by);
        if (wr_log_need_short(&n)) {
            wr_sbuf_addz(out, n.most_us < 0 ? ": NOT ENOUGH" : ": TOO SHORT BY ");
            if (n.most_us >= 0) span(n.most_us - n.kept_us, out);
        }
        if (n.kept_us < 0 && n.most_us) wr_sbuf_addz(out, "; what the log keeps is not declared ('log.retention', 'contract.retention')");
        wr_sbuf_addc(out, '\n');
    }
}

/* ---- JSON ---- */
static void number(wr_sbuf *b, const char *key, double us) {
    if (us < 0) wr_sbuf_printf(b, ",\"%s\":null", key);
    else wr_sbuf_printf(b, ",\"%s\":%.0f", key, us);
}

void wr_log_need_json(const wr_log_need *n, wr_sbuf *b) {
    wr_sbuf_printf(b, "\"needs_all\":%s", n->needed_us < 0 ? "true" : "false");
    number(b, "needed_us", n->needed_us), number(b, "audit_us", n->audit_us), number(b, "kept_us", n->kept_us);
    wr_sbuf_addz(b, ",\"needed_by\":");
    if (n->by) wr_sbuf_add_json(b, wr_str_of(n->by->id));
    else wr_sbuf_addz(b, "null");
    wr_sbuf_addz(b, ",\"kept_by\":");
    if (n->kept_by) wr_sbuf_add_json(b, wr_str_of(n->kept_by));
    else wr_sbuf_addz(b, "null");
    wr_sbuf_printf(b, ",\"enough\":%s", !n->most_us ? "true" : n->kept_us < 0 ? "null" : wr_log_need_short(n) ? "false" : "true");
}

void pl_retention_json(const wr_job_plan *job, const wr_bill_env *env, wr_sbuf *out) {
    wr_sbuf_addz(out, ",\"logs\":[");
    for (uint32_t i = 0, written = 0; i < job->nodes.n; i++) {
        wr_log_need n;
        if (!wr_log_need_of(job, job->nodes.at[i], env ? env->audit_us : 0, &n)) continue;
        wr_sbuf_addz(out, written++ ? ",{\"source\":" : "{\"source\":"), wr_sbuf_add_json(out, wr_str_of(n.source->id));
        wr_sbuf_addz(out, ",\"table\":"), wr_sbuf_add_json(out, n.source->source.table->name);
        wr_sbuf_addc(out, ','), wr_log_need_json(&n, out);
        wr_sbuf_addc(out, '}');
    }
    wr_sbuf_addc(out, ']');
}

/* ---- weir check ---- */
void pl_retention_check(const wr_job_plan *job, const wr_pnode *source, wr_diags *d) {
    wr_log_need n;
    wr_sbuf     has = {0}, wants = {0};
    n.kept_us = wr_size_kept_us(source, &n.kept_by), n.needed_us = n.most_us = wr_size_needed_us(job, source, &n.by); /* any source that says so, not only a queue */
    if (!wr_log_need_short(&n)) return;
    span(n.kept_us, &has);
    if (n.needed_us < 0) wr_sbuf_addz(&wants, "all");
    else span(n.needed_us, &wants);
    wr_diags_add(d, WR_SEV_WARNING, "WR461", source->at, "to build the state of %s anew (a backfill, an upgrade that rebuilds, an audit) %s of '%.*s' is needed; the log keeps %s", n.by->title, wants.at,
                 WR_FMT(source->source.table->name), has.at);
    wr_diags_hint(d, "keep the log for longer ('weir size' says what that costs), or keep savepoints: what is in them need not be read again");
    wr_sbuf_free(&has), wr_sbuf_free(&wants);
}
