/* api/contract_report_show.c: the report of contract_report.c as text, JSON and a picture. */
#include "api/contract_report_parts.h"

#define RULE(name, says) {{name, sizeof name - 1}, says}
const report_rule report_rules[REPORT_RULES] = {
    RULE("errors", "files that cannot be used"), RULE("breaks", "needs that are not met, and promises that became weaker"), RULE("uncovered", "tables without a contract"),
    RULE("orphans", "outputs that nobody reads and nobody promises"), RULE("producers", "tables that several jobs write"), RULE("letters", "dead letters that have waited for a week"),
    RULE("unowned", "contracts without an owner, in nobody's folder"), RULE("unused", "contracts that nobody is known to need"), RULE("unkept", "promises of freshness and completeness that were not kept")};

/* ---- teams ---- */
bool report_new_team(const wr_contract_report *r, uint32_t i) {
    for (uint32_t k = 0; k < i; k++)
        if (wr_str_eq(r->files.at[k].team, r->files.at[i].team)) return false;
    return true;
}

uint32_t report_n_teams(const wr_contract_report *r) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < r->files.n; i++) n += report_new_team(r, i);
    return n;
}

uint32_t report_n_jobs(const wr_contract_report *r) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < r->files.n; i++) n += r->files.at[i].job;
    return n;
}

/* ---- text ---- */
static void far_origins(const wr_contract_report *r, uint32_t output, wr_sbuf *out) {
    wr_report_origins from = {0};
    bool              far = false;
    report_origin_tables(r, output, &from);
    for (uint32_t i = 0; i < from.n; i++) far = far || from.at[i].jobs > 1;
    for (uint32_t i = 0; far && i < from.n; i++) wr_sbuf_printf(out, "%s%.*s (%u job%s)", i ? ", " : "      in the end from ", WR_FMT(from.at[i].need->place), from.at[i].jobs, from.at[i].jobs == 1 ? "" : "s");
    if (far) wr_sbuf_addc(out, '\n');
    wr_arr_free(&from);
}

static void table_line(const wr_contract_report *r, uint32_t output, wr_sbuf *out) {
    const wr_contract *c = &r->jobs.promises.at[output], *promise = report_contract_of(r, c);
    bool               by_folder = false;
    wr_str             owner = promise ? report_owner(r, promise, &by_folder) : WR_STR("");
    wr_sbuf_printf(out, "    %.*s (%.*s)", WR_FMT(c->table), WR_FMT(c->place));
    if (promise) wr_sbuf_printf(out, ", contract %.*s%s%.*s%s", WR_FMT(promise->file), owner.len ? ", owner " : ", NO OWNER", WR_FMT(owner), by_folder ? " (by its folder)" : "");
    else wr_sbuf_addz(out, ", NO CONTRACT");
    if (report_is_orphan(r, c)) wr_sbuf_addz(out, ", ORPHANED");
    if (report_producers(r, c) > 1) wr_sbuf_printf(out, ", WRITTEN BY %u JOBS", report_producers(r, c));
    wr_sbuf_addc(out, '\n');
    far_origins(r, output, out);
    for (uint32_t i = 0; i < r->kept.n; i++)
        if (r->kept.at[i].output == output) wr_sbuf_addz(out, "      "), report_kept_text(&r->kept.at[i], out), wr_sbuf_addc(out, '\n');
    for (uint32_t i = 0; i < r->jobs.needs.n; i++) {
        const wr_contract *n = &r->jobs.needs.at[i];
        wr_str             team = report_team(r, n);
        if (!report_reads(r, n, c) || wr_str_eq(n->file, c->file)) continue;
        wr_sbuf_printf(out, "      read by %.*s/%.*s:", WR_FMT(team), WR_FMT(n->party));
        for (uint32_t k = 0; k < n->n; k++) wr_sbuf_printf(out, "%s %.*s", k ? "," : "", WR_FMT(n->columns[k].name));
        wr_sbuf_addc(out, '\n');
    }
}

static void team_text(const wr_contract_report *r, wr_str team, wr_sbuf *out) {
    uint32_t yes = report_count_kept(r, team, WR_KEPT_YES), no = report_count_kept(r, team, WR_KEPT_NO), unknown = report_count_kept(r, team, WR_KEPT_UNKNOWN);
    wr_sbuf_printf(out, "\n%.*s", WR_FMT(team));
    if (yes + no + unknown) wr_sbuf_printf(out, ": of %u promises %u kept, %u not kept, %u not known", yes + no + unknown, yes, no, unknown);
    wr_sbuf_addc(out, '\n');
    for (uint32_t i = 0; i < r->files.n; i++) {
        const wr_report_file *f = &r->files.at[i];
        if (!wr_str_eq(f->team, team) || !f->job) continue;
        wr_sbuf_printf(out, "  %.*s\n", WR_FMT(f->path));
        for (uint32_t k = f->promises[0]; k < f->promises[1]; k++)
            if (report_is_output(&r->jobs.promises.at[k])) table_line(r, k, out);
    }
    for (uint32_t i = 0; i < r->states.n; i++) {
        const wr_report_state *s = &r->states.at[i];
        if (!wr_str_eq(s->team, team)) continue;
        wr_sbuf_printf(out, "  %.*s: %llu rows in, %llu left out at the sources (%llu refused): %.3f %% complete; %llu late; the ledger %s\n", WR_FMT(s->path), (unsigned long long)s->in, (unsigned long long)s->left_out,
                       (unsigned long long)s->refused, s->in ? 100.0 * (double)(s->in - s->left_out) / (double)s->in : 100.0, (unsigned long long)s->late, s->closes ? "closes" : "DOES NOT CLOSE");
    }
    for (uint32_t i = 0; i < r->letters.n; i++)
        if (wr_str_eq(r->letters.at[i].team, team)) {
            wr_sbuf_printf(out, "  %.*s: ", WR_FMT(r->letters.at[i].path));
            if (r->letters.at[i].n == UINT64_MAX) wr_sbuf_addz(out, "more than 64 MiB of");
            else wr_sbuf_printf(out, "%llu", (unsigned long long)r->letters.at[i].n);
            wr_sbuf_printf(out, " dead letters of %.*s\n", WR_FMT(r->letters.at[i].table));
        }
}

void wr_contract_report_text(const wr_contract_report *r, int64_t now_us, wr_sbuf *out) {
    wr_sbuf_printf(out, "%u teams, %u jobs, %u contracts\n", report_n_teams(r), report_n_jobs(r), r->declared.promises.n);
    for (uint32_t i = 0; i < REPORT_RULES; i++) {
        int64_t n = wr_contract_report_count(r, report_rules[i].name, now_us);
        wr_sbuf_printf(out, "  %-10.*s %5lld  %s\n", WR_FMT(report_rules[i].name), (long long)n, report_rules[i].says);
    }
    for (uint32_t i = 0; i < r->errors.n; i++) wr_sbuf_printf(out, "error: %.*s: %.*s\n", WR_FMT(r->errors.at[i].path), WR_FMT(r->errors.at[i].said));
    for (uint32_t i = 0; i < r->broken.n; i++) {
        const wr_contract_finding *f = &r->broken.at[i];
        wr_str table = f->promise ? f->promise->table : f->need->table;
        wr_sbuf_printf(out, "broken: %.*s (%s): %.*s", WR_FMT(table), f->point.what, WR_FMT(f->point.said));
        if (f->need) wr_sbuf_printf(out, "; '%.*s' needs it (%.*s)", WR_FMT(f->need->party), WR_FMT(f->need->file));
        wr_sbuf_addc(out, '\n');
    }
    for (uint32_t i = 0; i < r->declared.promises.n; i++)
        if (report_is_unused(r, &r->declared.promises.at[i])) wr_sbuf_printf(out, "unused: %.*s (%.*s)\n", WR_FMT(r->declared.promises.at[i].table), WR_FMT(r->declared.promises.at[i].file));
    for (uint32_t i = 0; i < r->files.n; i++)
        if (report_new_team(r, i)) team_text(r, r->files.at[i].team, out);
}

/* ---- JSON ---- */
static void member(const char *name, wr_str value, wr_sbuf *out) { wr_sbuf_printf(out, "\"%s\":", name), wr_sbuf_add_json(out, value); }

static void origins_json(const wr_contract_report *r, uint32_t output, wr_str column, wr_sbuf *out) {
    wr_report_origins from = {0};
    report_origins(r, output, column, &from);
    wr_sbuf_addz(out, ",\"origins\":[");
    for (uint32_t i = 0; i < from.n; i++) {
        wr_sbuf_addz(out, i ? ",{" : "{"), member("table", from.at[i].need->table, out), wr_sbuf_addc(out, ','), member("place", from.at[i].need->place, out), wr_sbuf_addc(out, ',');
        member("column", from.at[i].column, out), wr_sbuf_printf(out, ",\"jobs\":%u}", from.at[i].jobs);
    }
    wr_sbuf_addc(out, ']');
    wr_arr_free(&from);
}

static void table_json(const wr_contract_report *r, uint32_t output, wr_sbuf *out) {
    const wr_contract *c = &r->jobs.promises.at[output], *promise = report_contract_of(r, c);
    bool               by_folder;
    wr_sbuf_addc(out, '{'), member("table", c->table, out), wr_sbuf_addc(out, ','), member("place", c->place, out), wr_sbuf_addc(out, ','), member("team", report_team(r, c), out), wr_sbuf_addc(out, ',');
    member("file", c->file, out), wr_sbuf_printf(out, ",\"contract\":");
    if (promise) wr_sbuf_add_json(out, promise->file), wr_sbuf_addc(out, ','), member("owner", report_owner(r, promise, &by_folder), out), wr_sbuf_printf(out, ",\"owner_by_folder\":%s", by_folder ? "true" : "false");
    else wr_sbuf_addz(out, "null,\"owner\":\"\"");
    wr_sbuf_printf(out, ",\"orphan\":%s,\"producers\":%u,\"columns\":[", report_is_orphan(r, c) ? "true" : "false", report_producers(r, c));
    for (uint32_t k = 0; k < c->n; k++) wr_sbuf_addz(out, k ? ",{" : "{"), member("name", c->columns[k].name, out), wr_sbuf_addc(out, ','), member("from", c->columns[k].from, out), origins_json(r, output, c->columns[k].name, out), wr_sbuf_addc(out, '}');
    wr_sbuf_addz(out, "],\"readers\":[");
    for (uint32_t i = 0, n = 0; i < r->jobs.needs.n; i++) {
        const wr_contract *need = &r->jobs.needs.at[i];
        if (!report_reads(r, need, c) || wr_str_eq(need->file, c->file)) continue;
        wr_sbuf_addz(out, n++ ? ",{" : "{"), member("job", need->party, out), wr_sbuf_addc(out, ','), member("team", report_team(r, need), out), wr_sbuf_addc(out, ','), member("file", need->file, out);
        wr_sbuf_addz(out, ",\"columns\":[");
        for (uint32_t k = 0; k < need->n; k++) wr_sbuf_addz(out, k ? "," : ""), wr_sbuf_add_json(out, need->columns[k].name);
        wr_sbuf_addz(out, "]}");
    }
    wr_sbuf_addz(out, "]}");
}

void wr_contract_report_json(const wr_contract_report *r, int64_t now_us, wr_sbuf *out) {
    wr_sbuf_printf(out, "{\"teams\":%u,\"contracts\":%u,\"counts\":{", report_n_teams(r), r->declared.promises.n);
    for (uint32_t i = 0; i < REPORT_RULES; i++) wr_sbuf_printf(out, "%s\"%.*s\":%lld", i ? "," : "", WR_FMT(report_rules[i].name), (long long)wr_contract_report_count(r, report_rules[i].name, now_us));
    wr_sbuf_addz(out, "},\"errors\":[");
    for (uint32_t i = 0; i < r->errors.n; i++) wr_sbuf_addz(out, i ? ",{" : "{"), member("file", r->errors.at[i].path, out), wr_sbuf_addc(out, ','), member("said", r->errors.at[i].said, out), wr_sbuf_addc(out, '}');
    wr_sbuf_addz(out, "],\"broken\":");
    wr_contract_findings_json(&r->broken, out);
    wr_sbuf_addz(out, ",\"tables\":[");
    for (uint32_t i = 0, n = 0; i < r->jobs.promises.n; i++)
        if (report_is_output(&r->jobs.promises.at[i])) wr_sbuf_addz(out, n++ ? "," : ""), table_json(r, i, out);
    wr_sbuf_addz(out, "],\"states\":[");
    for (uint32_t i = 0; i < r->states.n; i++) {
        const wr_report_state *s = &r->states.at[i];
        wr_sbuf_addz(out, i ? ",{" : "{"), member("team", s->team, out), wr_sbuf_addc(out, ','), member("path", s->path, out);
        wr_sbuf_printf(out, ",\"in\":%llu,\"left_out\":%llu,\"late\":%llu,\"closes\":%s}", (unsigned long long)s->in, (unsigned long long)s->left_out, (unsigned long long)s->late, s->closes ? "true" : "false");
    }
    wr_sbuf_addz(out, "],\"by_team\":[");
    for (uint32_t i = 0, n = 0; i < r->files.n; i++) {
        wr_str team = r->files.at[i].team;
        if (!report_new_team(r, i)) continue;
        wr_sbuf_addz(out, n++ ? ",{" : "{"), member("team", team, out);
        wr_sbuf_printf(out, ",\"kept\":%u,\"not_kept\":%u,\"not_known\":%u}", report_count_kept(r, team, WR_KEPT_YES), report_count_kept(r, team, WR_KEPT_NO), report_count_kept(r, team, WR_KEPT_UNKNOWN));
    }
    wr_sbuf_addz(out, "],\"promises\":[");
    for (uint32_t i = 0; i < r->kept.n; i++) wr_sbuf_addz(out, i ? "," : ""), report_kept_json(r, &r->kept.at[i], out);
    wr_sbuf_addz(out, "],\"letters\":[");
    for (uint32_t i = 0; i < r->letters.n; i++) {
        const wr_report_letters *l = &r->letters.at[i];
        wr_sbuf_addz(out, i ? ",{" : "{"), member("team", l->team, out), wr_sbuf_addc(out, ','), member("path", l->path, out), wr_sbuf_addc(out, ','), member("table", l->table, out);
        wr_sbuf_printf(out, ",\"letters\":%llu,\"waiting_us\":%lld}", (unsigned long long)l->n, (long long)(now_us - l->oldest_us));
    }
    wr_sbuf_addz(out, "]}\n");
}

/* ---- the picture ---- */
enum { ROW = 20, LEFT = 20, JOB_X = 560, WIDTH = 1000 };

void report_xml(wr_str s, wr_sbuf *out) {
    for (size_t i = 0; i < s.len; i++)
        if (s.ptr[i] == '<') wr_sbuf_addz(out, "&lt;");
        else if (s.ptr[i] == '&') wr_sbuf_addz(out, "&amp;");
        else if (s.ptr[i] == '"') wr_sbuf_addz(out, "&quot;");
        else wr_sbuf_addc(out, s.ptr[i]);
}

static void label(uint32_t x, uint32_t y, const char *cls, wr_str text, wr_sbuf *out) {
    wr_sbuf_printf(out, "<text x=\"%u\" y=\"%u\" class=\"%s\">", x, y, cls), report_xml(text, out), wr_sbuf_addz(out, "</text>\n");
}

/* Tables on the left under their teams, jobs on the right under theirs; a line from each table to each job that reads it. */
void wr_contract_report_svg(const wr_contract_report *r, wr_sbuf *out) {
    uint32_t *table_y = wr_calloc(r->jobs.promises.n + 1, sizeof *table_y), *job_y = wr_calloc(r->files.n + 1, sizeof *job_y), left = 40, right = 40;
    wr_sbuf   body = {0};
    for (uint32_t i = 0; i < r->files.n; i++) {
        if (!report_new_team(r, i)) continue;
        wr_str team = r->files.at[i].team;
        label(LEFT, left, "team", team, &body), label(JOB_X, right, "team", team, &body);
        left += ROW, right += ROW;
        for (uint32_t k = i; k < r->files.n; k++) {
            const wr_report_file *f = &r->files.at[k];
            if (!wr_str_eq(f->team, team) || !f->job) continue;
            const char *slash = memrchr(f->path.ptr, '/', f->path.len);
            label(JOB_X + 12, job_y[k] = right, "job", slash ? (wr_str){slash + 1, (size_t)(f->path.ptr + f->path.len - slash - 1)} : f->path, &body), right += ROW;
            for (uint32_t p = f->promises[0]; p < f->promises[1]; p++)
                if (report_is_output(&r->jobs.promises.at[p])) {
                    const wr_contract *c = &r->jobs.promises.at[p];
                    label(LEFT + 12, table_y[p] = left, report_is_orphan(r, c) ? "orphan" : report_contract_of(r, c) ? "table" : "bare", c->place, &body), left += ROW;
                }
        }
        left += ROW / 2, right += ROW / 2;
    }
    wr_sbuf_printf(out, "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %u\" role=\"img\" aria-label=\"tables and the jobs that read them\">\n", WIDTH, WR_MAX(left, right));
    wr_sbuf_addz(out, "<style>text{font:12px sans-serif;fill:#24292f}.team{font-weight:bold}.bare{fill:#9a6700}.orphan{fill:#cf222e}line{stroke:#8c959f;stroke-opacity:.6}"
                      "@media(prefers-color-scheme:dark){text{fill:#e6edf3}.bare{fill:#d29922}.orphan{fill:#ff7b72}}</style>\n");
    label(LEFT, 18, "job", WR_STR("tables: with a contract; without (amber); orphaned (red)"), out), label(JOB_X, 18, "job", WR_STR("jobs that read them"), out);
    for (uint32_t p = 0; p < r->jobs.promises.n; p++)
        for (uint32_t k = 0; table_y[p] && k < r->files.n; k++)
            for (uint32_t n = r->files.at[k].needs[0]; r->files.at[k].job && n < r->files.at[k].needs[1]; n++)
                if (report_reads(r, &r->jobs.needs.at[n], &r->jobs.promises.at[p]))
                    wr_sbuf_printf(out, "<line x1=\"%d\" y1=\"%u\" x2=\"%d\" y2=\"%u\"/>\n", JOB_X - 140, table_y[p] - 4, JOB_X + 6, job_y[k] - 4);
    wr_sbuf_add_str(out, wr_sbuf_str(&body));
    wr_sbuf_addz(out, "</svg>\n");
    wr_sbuf_free(&body);
    wr_free(table_y), wr_free(job_y);
}
