/* api/contract_report_html.c: the report as one page for people who have no weir at hand: counts, teams with what they promise and keep, tables with owners, columns and readers, and the picture.
 *
 * Invariant  the page loads nothing, runs nothing, and has the same facts as the text; every text of the tree is escaped.      */
#include "api/contract_report_parts.h"

static void put(wr_sbuf *out, const char *before, wr_str text, const char *after) { wr_sbuf_addz(out, before), report_xml(text, out), wr_sbuf_addz(out, after); }

static const char head[] =
    "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width\"><title>contracts</title>\n"
    "<style>:root{color-scheme:light dark}body{font:15px/1.5 system-ui,sans-serif;max-width:70rem;margin:2rem auto;padding:0 1rem}table{border-collapse:collapse;margin:.5rem 0}"
    "td,th{padding:.15rem .8rem .15rem 0;text-align:left;vertical-align:top;border-bottom:1px solid #8884}.n{text-align:right;font-variant-numeric:tabular-nums}.bad{color:#cf222e}.good{color:#1a7f37}"
    "@media(prefers-color-scheme:dark){.bad{color:#ff7b72}.good{color:#3fb950}}h2{margin-top:2rem}summary{cursor:pointer}code{font-size:.93em}svg{width:100%;height:auto}</style></head>\n<body>\n";

static void counts(const wr_contract_report *r, int64_t now_us, wr_sbuf *out) {
    wr_sbuf_printf(out, "<h1>%u teams, %u jobs, %u contracts</h1>\n<table>\n", report_n_teams(r), report_n_jobs(r), r->declared.promises.n);
    for (uint32_t i = 0; i < REPORT_RULES; i++) {
        int64_t n = wr_contract_report_count(r, report_rules[i].name, now_us);
        wr_sbuf_printf(out, "<tr><td>%.*s</td><td class=\"n%s\">%lld</td><td>%s</td></tr>\n", WR_FMT(report_rules[i].name), n ? " bad" : "", (long long)n, report_rules[i].says);
    }
    wr_sbuf_addz(out, "</table>\n");
    for (uint32_t i = 0; i < r->errors.n; i++) put(out, "<p class=\"bad\"><code>", r->errors.at[i].path, "</code>: "), put(out, "", r->errors.at[i].said, "</p>\n");
    for (uint32_t i = 0; i < r->broken.n; i++) {
        const wr_contract_finding *f = &r->broken.at[i];
        put(out, "<p class=\"bad\">broken: <code>", f->promise ? f->promise->table : f->need->table, "</code> "), put(out, "(", wr_str_of(f->point.what), "): "), put(out, "", f->point.said, "");
        if (f->need) put(out, "; ", f->need->party, " needs it ("), put(out, "<code>", f->need->file, "</code>)");
        wr_sbuf_addz(out, "</p>\n");
    }
}

static void teams(const wr_contract_report *r, wr_sbuf *out) {
    wr_sbuf_addz(out, "<h2>Promises of freshness and completeness</h2>\n<table>\n<tr><th>team</th><th>kept</th><th>not kept</th><th>not known</th></tr>\n");
    for (uint32_t i = 0; i < r->files.n; i++) {
        wr_str   team = r->files.at[i].team;
        uint32_t no = report_count_kept(r, team, WR_KEPT_NO);
        if (!report_new_team(r, i)) continue;
        put(out, "<tr><td>", team, "</td>");
        wr_sbuf_printf(out, "<td class=\"n\">%u</td><td class=\"n%s\">%u</td><td class=\"n\">%u</td></tr>\n", report_count_kept(r, team, WR_KEPT_YES), no ? " bad" : "", no, report_count_kept(r, team, WR_KEPT_UNKNOWN));
    }
    wr_sbuf_addz(out, "</table>\n");
}

static void columns(const wr_contract_report *r, uint32_t output, wr_sbuf *out) {
    const wr_contract *c = &r->jobs.promises.at[output];
    wr_report_origins  from = {0};
    wr_sbuf_addz(out, "<details><summary>columns</summary><table>\n<tr><th>column</th><th>made from</th><th>in the end from</th></tr>\n");
    for (uint32_t k = 0; k < c->n; k++) {
        put(out, "<tr><td><code>", c->columns[k].name, "</code></td>"), put(out, "<td><code>", c->columns[k].from, "</code></td><td>");
        report_origins(r, output, c->columns[k].name, &from);
        for (uint32_t i = 0; i < from.n; i++) {
            put(out, i ? ", <code>" : "<code>", from.at[i].need->place, "."), put(out, "", from.at[i].column, "</code>");
            if (from.at[i].jobs > 1) wr_sbuf_printf(out, " (%u jobs)", from.at[i].jobs);
        }
        wr_sbuf_addz(out, "</td></tr>\n");
    }
    wr_sbuf_addz(out, "</table></details>\n");
    wr_arr_free(&from);
}

static void table(const wr_contract_report *r, uint32_t output, wr_sbuf *out) {
    const wr_contract *c = &r->jobs.promises.at[output], *promise = report_contract_of(r, c);
    bool               by_folder = false;
    wr_str             owner = promise ? report_owner(r, promise, &by_folder) : WR_STR("");
    put(out, "<p><b>", c->table, "</b> "), put(out, "(<code>", c->place, "</code>)");
    if (!promise) wr_sbuf_addz(out, ", <span class=\"bad\">no contract</span>");
    else if (owner.len) put(out, ", owner ", owner, by_folder ? " (by its folder)" : "");
    else wr_sbuf_addz(out, ", <span class=\"bad\">no owner</span>");
    if (report_is_orphan(r, c)) wr_sbuf_addz(out, ", <span class=\"bad\">orphaned</span>");
    if (report_producers(r, c) > 1) wr_sbuf_printf(out, ", <span class=\"bad\">written by %u jobs</span>", report_producers(r, c));
    for (uint32_t i = 0; i < r->kept.n; i++) {
        const wr_report_kept *k = &r->kept.at[i];
        wr_sbuf               text = {0};
        if (k->output != output) continue;
        report_kept_text(k, &text);
        put(out, k->verdict == WR_KEPT_NO ? "<br><span class=\"bad\">" : k->verdict == WR_KEPT_YES ? "<br><span class=\"good\">" : "<br><span>", wr_sbuf_str(&text), "</span>");
        wr_sbuf_free(&text);
    }
    for (uint32_t i = 0; i < r->jobs.needs.n; i++) {
        const wr_contract *n = &r->jobs.needs.at[i];
        if (!report_reads(r, n, c) || wr_str_eq(n->file, c->file)) continue;
        put(out, "<br>read by ", report_team(r, n), "/"), put(out, "", n->party, ":");
        for (uint32_t k = 0; k < n->n; k++) put(out, k ? ", <code>" : " <code>", n->columns[k].name, "</code>");
    }
    wr_sbuf_addz(out, "</p>\n");
    columns(r, output, out);
}

static void team(const wr_contract_report *r, wr_str name, wr_sbuf *out) {
    put(out, "<h2>", name, "</h2>\n");
    for (uint32_t i = 0; i < r->files.n; i++) {
        const wr_report_file *f = &r->files.at[i];
        if (!wr_str_eq(f->team, name)) continue;
        put(out, "<h3><code>", f->path, "</code></h3>\n");
        for (uint32_t k = f->promises[0]; f->job && k < f->promises[1]; k++)
            if (report_is_output(&r->jobs.promises.at[k])) table(r, k, out);
    }
    for (uint32_t i = 0; i < r->states.n; i++) {
        const wr_report_state *s = &r->states.at[i];
        if (!wr_str_eq(s->team, name)) continue;
        put(out, "<p><code>", s->path, "</code>: ");
        wr_sbuf_printf(out, "%llu rows in, %llu left out at the sources, %llu late; the ledger %s</p>\n", (unsigned long long)s->in, (unsigned long long)s->left_out, (unsigned long long)s->late,
                       s->closes ? "closes" : "<span class=\"bad\">does not close</span>");
    }
    for (uint32_t i = 0; i < r->letters.n; i++) {
        const wr_report_letters *l = &r->letters.at[i];
        if (!wr_str_eq(l->team, name)) continue;
        put(out, "<p><code>", l->path, "</code>: ");
        if (l->n == UINT64_MAX) wr_sbuf_addz(out, "more than 64 MiB of");
        else wr_sbuf_printf(out, "%llu", (unsigned long long)l->n);
        put(out, " dead letters of ", l->table, "</p>\n");
    }
}

void wr_contract_report_html(const wr_contract_report *r, int64_t now_us, wr_sbuf *out) {
    wr_sbuf_addz(out, head);
    counts(r, now_us, out);
    teams(r, out);
    wr_sbuf_addz(out, "<h2>Who reads what</h2>\n");
    wr_contract_report_svg(r, out);
    for (uint32_t i = 0; i < r->files.n; i++)
        if (report_new_team(r, i)) team(r, r->files.at[i].team, out);
    wr_sbuf_addz(out, "</body></html>\n");
}
