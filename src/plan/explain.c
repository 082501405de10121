/* plan/explain.c: the plan for people and for programs: a tree per sink, then the state bill.
 *
 * Idea       the tree goes from the sink down to the sources; a node that was printed before is named by its id and not repeated. Each line
 *            says what the node does, what kind of changes leave it, and how its input reaches it. The table behind it says what it keeps.
 * Invariant  both forms give the same facts.                                                                          */
#include "plan/logical.h"
#include <stdio.h>

static void changes_text(const wr_pnode *n, wr_sbuf *b) {
    if (n->changes == WR_CHANGES_APPEND) wr_sbuf_addz(b, "append");
    if (n->changes == WR_CHANGES_RETRACT) wr_sbuf_addz(b, "retract");
    if (n->changes == WR_CHANGES_UPSERT) {
        wr_sbuf_addz(b, "upsert(");
        for (uint32_t i = 0; i < n->n_upsert_key; i++) wr_sbuf_printf(b, "%s%.*s", i ? ", " : "", WR_FMT(n->schema.fields[n->upsert_key[i]].name));
        wr_sbuf_addc(b, ')');
    }
}

static void exchange_text(const wr_pinput *in, wr_sbuf *b) {
    if (in->exchange == WR_X_FORWARD) return;
    if (in->exchange == WR_X_GATHER) {
        wr_sbuf_addz(b, " <- gathered on one worker");
        return;
    }
    wr_sbuf_addz(b, " <- by hash of (");
    for (uint32_t i = 0; i < in->n_keys; i++) wr_sbuf_printf(b, "%s%.*s", i ? ", " : "", WR_FMT(in->node->schema.fields[in->keys[i]].name));
    wr_sbuf_addc(b, ')');
}

static void node_line(const wr_pnode *n, const wr_pinput *via, const char *stem, const char *branch, wr_sbuf *b) {
    wr_sbuf line = {0};
    wr_sbuf_printf(&line, "%s%s%s: %s", stem, branch, wr_pnode_kind_name(n->kind), n->title);
    wr_sbuf_add_str(b, wr_sbuf_str(&line));
    size_t width = wr_utf8_chars(wr_sbuf_str(&line));
    for (size_t i = width; i < 72; i++) wr_sbuf_addc(b, ' ');
    wr_sbuf_addz(b, "  [");
    changes_text(n, b);
    wr_sbuf_addc(b, ']');
    if (n->rowtime >= 0) wr_sbuf_printf(b, " time=%.*s", WR_FMT(n->schema.fields[n->rowtime].name));
    wr_sbuf_printf(b, " #%s", n->id);
    if (n->single && n->kind != WR_P_SINK) wr_sbuf_addz(b, " (one instance)");
    if (n->one_phase) wr_sbuf_printf(b, " (one phase: %s)", n->one_phase);
    if (via) {
        wr_sbuf x = {0};
        exchange_text(via, &x);
        if (x.len) wr_sbuf_printf(b, " ->%.*s", (int)(x.len - 3), x.at + 3);
        wr_sbuf_free(&x);
    }
    wr_sbuf_addc(b, '\n');
    wr_sbuf_free(&line);
}

static void tree(const wr_pnode *n, const wr_pinput *via, const char *stem, const char *branch, const char *under, bool *seen, int depth, wr_sbuf *b) {
    if (seen[n->index] && n->kind != WR_P_SINK) {
        wr_sbuf_printf(b, "%s%s%s #%s: see above\n", stem, branch, wr_pnode_kind_name(n->kind), n->id);
        return;
    }
    seen[n->index] = true;
    node_line(n, via, stem, branch, b);
    wr_sbuf below = {0};
    wr_sbuf_printf(&below, "%s%s", stem, under);
    uint32_t count = n->n_inputs + n->n_union;
    if (depth > 400) wr_sbuf_printf(b, "%s...\n", below.at);
    for (uint32_t i = 0; i < count && depth <= 400; i++) {
        const wr_pinput *in = i < n->n_inputs ? &n->inputs[i] : &n->union_inputs[i - n->n_inputs];
        bool             last = i + 1 == count;
        tree(in->node, in, below.at ? below.at : "", last ? "└─ " : "├─ ", last ? "   " : "│  ", seen, depth + 1, b);
    }
    wr_sbuf_free(&below);
}

static void guarantees(const wr_job_plan *job, wr_sbuf *b) {
    bool any = false;
    for (uint32_t i = 0; i < job->nodes.n; i++) {
        const wr_pnode *n = job->nodes.at[i];
        if (n->kind == WR_P_VIEW) {
            wr_sbuf_printf(b, "%s  %.*s: exactly once (the rows of a materialized view are part of the checkpoint)\n", any ? "" : "With a state directory, from sources to sinks:\n", WR_FMT(n->view.table->name));
            any = true;
        }
        if (n->kind != WR_P_SINK || n->sink.is_result || !n->sink.table) continue;
        wr_sbuf why = {0};
        const char *what = wr_plan_guarantee(n, &why);
        if (!any) wr_sbuf_addz(b, "With a state directory, from sources to sinks:\n");
        wr_sbuf_printf(b, "  %.*s: %s (%s)\n", WR_FMT(n->sink.table->name), what, why.at);
        wr_sbuf_free(&why);
        any = true;
    }
}

static void refused(const wr_job_plan *job, wr_sbuf *b) {
    bool any = false;
    for (uint32_t i = 0; i < job->nodes.n; i++) {
        const wr_table *of, *letters;
        wr_str          to, policy = pl_refused(job->nodes.at[i], &of, &to, &letters);
        if (!policy.len) continue;
        if (!any) wr_sbuf_addz(b, "Records that are refused:\n");
        any = true;
        wr_sbuf_printf(b, "  %.*s (%s): ", WR_FMT(of->name), job->nodes.at[i]->kind == WR_P_SOURCE ? "source" : "sink");
        if (letters) wr_sbuf_printf(b, "dead letters in the table %.*s (%.*s)\n", WR_FMT(to), WR_FMT(letters->connector));
        else if (to.len) wr_sbuf_printf(b, "dead letters in the file %.*s\n", WR_FMT(to));
        else wr_sbuf_addz(b, "skipped and counted\n");
    }
    if (job->unmatched_path.len) wr_sbuf_printf(b, "Rows that leave a join without a partner: letters in the file %.*s\n", WR_FMT(job->unmatched_path));
    if (job->unmatched) wr_sbuf_printf(b, "Rows that leave a join without a partner: letters in the table %.*s (%.*s)\n", WR_FMT(job->unmatched->name), WR_FMT(job->unmatched->connector));
}

void wr_plan_explain(const wr_job_plan *job, const wr_bill_env *env, wr_sbuf *out) {
    bool *seen = wr_calloc(job->nodes.n + 1, sizeof *seen);
    for (uint32_t i = 0; i < job->nodes.n; i++)
        if (job->nodes.at[i]->kind == WR_P_SINK || job->nodes.at[i]->kind == WR_P_VIEW) tree(job->nodes.at[i], NULL, "", "", "", seen, 0, out);
    wr_free(seen);
    pl_bill_text(job, env, out);
    guarantees(job, out);
    refused(job, out);
    pl_overload_text(job, out);
    pl_retention_text(job, env, out);
}

/* ---- JSON ---- */

static void json_key(wr_sbuf *b, const char *key, const char *value, bool first) {
    wr_sbuf_printf(b, "%s\"%s\":", first ? "" : ",", key);
    wr_sbuf_add_json(b, wr_str_of(value));
}

static void json_input(const wr_pinput *in, wr_sbuf *b) {
    static const char *const X[] = {"forward", "hash", "gather"};
    wr_sbuf_addc(b, '{');
    json_key(b, "id", in->node->id, true);
    json_key(b, "exchange", X[in->exchange], false);
    wr_sbuf_addz(b, ",\"keys\":[");
    for (uint32_t i = 0; i < in->n_keys; i++) {
        if (i) wr_sbuf_addc(b, ',');
        wr_sbuf_add_json(b, in->node->schema.fields[in->keys[i]].name);
    }
    wr_sbuf_addz(b, "]}");
}

static void json_node(const wr_pnode *n, const wr_bill_env *env, wr_sbuf *b) {
    static const char *const C[] = {"append", "upsert", "retract"};
    wr_sbuf_addc(b, '{');
    json_key(b, "id", n->id, true);
    json_key(b, "kind", wr_pnode_kind_name(n->kind), false);
    json_key(b, "title", n->title, false);
    wr_sbuf_printf(b, ",\"line\":%u,\"column\":%u", n->at.line, n->at.col);
    json_key(b, "changes", C[n->changes], false);
    wr_sbuf_addz(b, ",\"upsert_key\":[");
    for (uint32_t i = 0; i < n->n_upsert_key; i++) {
        if (i) wr_sbuf_addc(b, ',');
        wr_sbuf_add_json(b, n->schema.fields[n->upsert_key[i]].name);
    }
    wr_sbuf_addz(b, "],\"rowtime\":");
    if (n->rowtime >= 0) wr_sbuf_add_json(b, n->schema.fields[n->rowtime].name);
    else wr_sbuf_addz(b, "null");
    wr_sbuf_printf(b, ",\"single\":%s,\"schema\":[", n->single ? "true" : "false");
    wr_sbuf type = {0};
    for (uint32_t i = 0; i < n->schema.n; i++) {
        wr_sbuf_clear(&type);
        wr_type_text(n->schema.fields[i].type, &type);
        wr_sbuf_addz(b, i ? ",{\"name\":" : "{\"name\":");
        wr_sbuf_add_json(b, n->schema.fields[i].name);
        wr_sbuf_addz(b, ",\"type\":");
        wr_sbuf_add_json(b, wr_sbuf_str(&type));
        wr_sbuf_addc(b, '}');
    }
    wr_sbuf_free(&type);
    wr_sbuf_addz(b, "],\"inputs\":[");
    for (uint32_t i = 0; i < n->n_inputs + n->n_union; i++) {
        if (i) wr_sbuf_addc(b, ',');
        json_input(i < n->n_inputs ? &n->inputs[i] : &n->union_inputs[i - n->n_inputs], b);
    }
    wr_sbuf_addc(b, ']');
    if (n->one_phase) json_key(b, "one_phase", n->one_phase, false);
    pl_bill_node_json(n, env, b);
    wr_sbuf_addc(b, '}');
}

void wr_plan_explain_json(const wr_job_plan *job, const wr_bill_env *env, wr_sbuf *out) {
    wr_sbuf_printf(out, "{\"bounded\":%s,\"nodes\":[", job->bounded ? "true" : "false");
    for (uint32_t i = 0; i < job->nodes.n; i++) {
        if (i) wr_sbuf_addc(out, ',');
        json_node(job->nodes.at[i], env, out);
    }
    wr_sbuf_addz(out, "],\"bill\":");
    pl_bill_json(job, env, out);
    wr_sbuf_addz(out, ",\"guarantees\":[");
    for (uint32_t i = 0, n = 0; i < job->nodes.n; i++) {
        const wr_pnode *p = job->nodes.at[i];
        if (p->kind != WR_P_SINK || p->sink.is_result || !p->sink.table) continue;
        wr_sbuf     why = {0};
        const char *what = wr_plan_guarantee(p, &why);
        wr_sbuf_addz(out, n++ ? ",{\"sink\":" : "{\"sink\":"), wr_sbuf_add_json(out, p->sink.table->name);
        json_key(out, "guarantee", what, false);
        json_key(out, "why", why.at, false);
        wr_sbuf_addc(out, '}');
        wr_sbuf_free(&why);
    }
    wr_sbuf_addz(out, "],\"refused\":[");
    for (uint32_t i = 0, n = 0; i < job->nodes.n; i++) {
        const wr_table *of, *letters;
        wr_str          to, policy = pl_refused(job->nodes.at[i], &of, &to, &letters);
        if (!policy.len) continue;
        wr_sbuf_addz(out, n++ ? ",{\"table\":" : "{\"table\":"), wr_sbuf_add_json(out, of->name);
        json_key(out, "as", job->nodes.at[i]->kind == WR_P_SOURCE ? "source" : "sink", false);
        wr_sbuf_addz(out, ",\"on_error\":"), wr_sbuf_add_json(out, policy);
        if (to.len) wr_sbuf_printf(out, ",\"%s\":", letters ? "to_table" : "to_file"), wr_sbuf_add_json(out, to);
        wr_sbuf_addc(out, '}');
    }
    wr_sbuf_addz(out, "],\"unmatched\":");
    if (job->unmatched) wr_sbuf_addz(out, "{\"to_table\":"), wr_sbuf_add_json(out, job->unmatched->name), wr_sbuf_addc(out, '}');
    else if (job->unmatched_path.len) wr_sbuf_addz(out, "{\"to_file\":"), wr_sbuf_add_json(out, job->unmatched_path), wr_sbuf_addc(out, '}');
    else wr_sbuf_addz(out, "null");
    pl_overload_json(job, out);
    pl_retention_json(job, env, out);
    wr_sbuf_addz(out, "}\n");
}
