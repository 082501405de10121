/* plan/explain.c: the plan for people and for programs: a tree per sink, then the state bill.
 *
 * Idea       the tree goes from the sink down to the sources; a node that was printed before is named by its id and not repeated. Each line
 *            says what the node does, what kind of changes leave it, and how its input reaches it. The table behind it says what it keeps.
 * Invariant  both forms give the same facts.                                                                          */
#include "plan/logical.h"
#include <stdio.h>

static const char *bound_name(wr_bound b) {
    static const char *const NAMES[] = {"stateless", "keys", "time", "input", "nothing"};
    return NAMES[b];
}

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

/* ---- the bill ---- */

static void bytes_text(double bytes, wr_sbuf *b) {
    if (bytes < 0) wr_sbuf_addz(b, "not known");
    else wr_text_size((int64_t)bytes, b);
}

static void cell(wr_sbuf *b, size_t width, wr_str text) {
    wr_sbuf_add_str(b, text);
    for (size_t i = wr_utf8_chars(text); i < width; i++) wr_sbuf_addc(b, ' ');
    wr_sbuf_addz(b, "  ");
}

static void cell_bytes(wr_sbuf *b, size_t width, double bytes, bool blank_if_zero) {
    wr_sbuf t = {0};
    if (!(blank_if_zero && bytes == 0)) bytes_text(bytes, &t);
    else wr_sbuf_addc(&t, '-');
    cell(b, width, wr_sbuf_str(&t));
    wr_sbuf_free(&t);
}

static double steady(const wr_pnode *n) { return pl_bill_bytes(n, 30 * 86400.0 * 1e6); }

static void bill_table(const wr_job_plan *job, wr_sbuf *b) {
    size_t id_width = 8, keeps = 5, bounded = 10;
    bool   any = false;
    for (uint32_t i = 0; i < job->nodes.n; i++) {
        const wr_pnode *n = job->nodes.at[i];
        if (n->bill.bound == WR_BOUND_STATELESS) continue;
        any = true;
        id_width = WR_MAX(id_width, strlen(n->id));
        keeps = WR_MAX(keeps, strlen(n->bill.keeps));
        bounded = WR_MAX(bounded, strlen(n->bill.bounded_by));
    }
    wr_sbuf_addz(b, "\nState bill: what this job remembers\n");
    if (!any) {
        wr_sbuf_addz(b, "  nothing: every operator is stateless\n");
        return;
    }
    wr_sbuf_addz(b, "  ");
    cell(b, id_width, WR_STR("operator"));
    cell(b, keeps, WR_STR("keeps"));
    cell(b, bounded, WR_STR("bounded by"));
    cell(b, 9, WR_STR("per key"));
    cell(b, 9, WR_STR("per row"));
    cell(b, 10, WR_STR("one hour"));
    cell(b, 10, WR_STR("one day"));
    wr_sbuf_addz(b, "30 days\n");
    double total = 0;
    bool   unknown = false;
    for (uint32_t i = 0; i < job->nodes.n; i++) {
        const wr_pnode *n = job->nodes.at[i];
        if (n->bill.bound == WR_BOUND_STATELESS) continue;
        wr_sbuf_addz(b, "  ");
        cell(b, id_width, wr_str_of(n->id));
        cell(b, keeps, wr_str_of(n->bill.keeps));
        cell(b, bounded, wr_str_of(n->bill.bounded_by));
        cell_bytes(b, 9, n->bill.key_bytes, true);
        cell_bytes(b, 9, n->bill.row_bytes, true);
        cell_bytes(b, 10, pl_bill_bytes(n, 3600e6), false);
        cell_bytes(b, 10, pl_bill_bytes(n, 86400e6), false);
        wr_sbuf t = {0};
        bytes_text(steady(n), &t);
        wr_sbuf_add_str(b, wr_sbuf_str(&t));
        wr_sbuf_addc(b, '\n');
        wr_sbuf_free(&t);
        if (steady(n) < 0) unknown = true;
        else total += steady(n);
    }
    wr_sbuf_addz(b, "  total after 30 days: ");
    bytes_text(total, b);
    wr_sbuf_addz(b, unknown ? " and the operators whose number of keys is not known\n" : "\n");
}

static void assumptions(const wr_job_plan *job, wr_sbuf *b) {
    bool rate = false, nothing = false;
    for (uint32_t i = 0; i < job->nodes.n; i++) {
        const wr_bill *x = &job->nodes.at[i]->bill;
        if (x->bound == WR_BOUND_STATELESS) continue;
        if (x->rate_from && strcmp(x->rate_from, "assumed") == 0) rate = true;
        if (x->bound == WR_BOUND_NOTHING) nothing = true;
    }
    if (rate) wr_sbuf_addz(b, "  Rates that no table declares are assumed: 1,000 rows/s a source. Declare 'stats.rows-per-second' on the table.\n");
    for (uint32_t i = 0; i < job->nodes.n; i++) {
        const wr_pnode *n = job->nodes.at[i];
        if (n->bill.bound != WR_BOUND_KEYS || n->bill.keys > 0) continue;
        wr_sbuf_printf(b, "  %s: %.0f B a key; a million keys are ", n->id, n->bill.key_bytes);
        wr_text_size((int64_t)(n->bill.key_bytes * 1e6), b);
        wr_sbuf_addz(b, ". Declare 'stats.keys.<column>' on the table for a figure.\n");
    }
    if (nothing) wr_sbuf_addz(b, "  An operator bounded by nothing grows for ever: it was accepted, or this job is refused.\n");
}

void wr_plan_explain(const wr_job_plan *job, wr_sbuf *out) {
    bool *seen = wr_calloc(job->nodes.n + 1, sizeof *seen);
    for (uint32_t i = 0; i < job->nodes.n; i++)
        if (job->nodes.at[i]->kind == WR_P_SINK) tree(job->nodes.at[i], NULL, "", "", "", seen, 0, out);
    wr_free(seen);
    bill_table(job, out);
    assumptions(job, out);
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

static void json_bytes(wr_sbuf *b, const char *key, double bytes) {
    if (bytes < 0) wr_sbuf_printf(b, ",\"%s\":null", key);
    else wr_sbuf_printf(b, ",\"%s\":%.0f", key, bytes);
}

static void json_bill(const wr_pnode *n, wr_sbuf *b) {
    const wr_bill *x = &n->bill;
    wr_sbuf_addz(b, ",\"state\":{");
    json_key(b, "bound", bound_name(x->bound), true);
    json_key(b, "keeps", x->keeps, false);
    json_key(b, "bounded_by", x->bounded_by, false);
    wr_sbuf_printf(b, ",\"key_bytes\":%.1f,\"row_bytes\":%.1f,\"retention_us\":%.0f,\"windows\":%.0f,\"rows_per_second\":%.0f,\"keys\":%.0f", x->key_bytes, x->row_bytes,
                   x->retention_us, x->windows, x->rate_rows, x->keys);
    json_key(b, "rate_from", x->rate_from ? x->rate_from : "", false);
    json_key(b, "keys_from", x->keys_from ? x->keys_from : "", false);
    json_bytes(b, "bytes_hour", pl_bill_bytes(n, 3600e6));
    json_bytes(b, "bytes_day", pl_bill_bytes(n, 86400e6));
    json_bytes(b, "bytes_30_days", steady(n));
    wr_sbuf_addc(b, '}');
}

static void json_node(const wr_pnode *n, wr_sbuf *b) {
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
    json_bill(n, b);
    wr_sbuf_addc(b, '}');
}

void wr_plan_explain_json(const wr_job_plan *job, wr_sbuf *out) {
    wr_sbuf_printf(out, "{\"bounded\":%s,\"nodes\":[", job->bounded ? "true" : "false");
    for (uint32_t i = 0; i < job->nodes.n; i++) {
        if (i) wr_sbuf_addc(out, ',');
        json_node(job->nodes.at[i], out);
    }
    wr_sbuf_addz(out, "]}\n");
}
