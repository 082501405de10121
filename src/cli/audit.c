/* cli/audit.c: `weir audit FILE... [--from T1 --to T2]`: options and the report for people around api/audit.h.
 *
 * Exit codes 0 equal, 1 something differs, 5 nothing differs but an output cannot be read back, 6 the audit could not be made (input, output, a limit); 2 and 3 as
 *            everywhere. */
#include "api/audit.h"
#include "cli.h"
#include <getopt.h>
#include <inttypes.h>
#include <unistd.h>

enum { OPT_TO = OPT_GEN_FIRST, OPT_TIME_COLUMN, OPT_LIMIT, OPT_ACCEPT, SHOWN_DEFAULT = 20, SHOWN_MAX = 1000000 };

static const struct option OPTIONS[] = {
    {"workers", required_argument, NULL, 'p'},     {"parallelism", required_argument, NULL, 'p'}, {"memory", required_argument, NULL, OPT_MEMORY}, {"set", required_argument, NULL, OPT_SET},
    {"json", no_argument, NULL, OPT_JSON},         {"from", required_argument, NULL, OPT_FROM},   {"to", required_argument, NULL, OPT_TO},         {"output", required_argument, NULL, OPT_OUTPUTS},
    {"outputs", required_argument, NULL, OPT_OUTPUTS}, {"time-column", required_argument, NULL, OPT_TIME_COLUMN}, {"limit", required_argument, NULL, OPT_LIMIT}, {"accept", required_argument, NULL, OPT_ACCEPT},
    {"batch-rows", required_argument, NULL, OPT_BATCH_ROWS}, {"execute", required_argument, NULL, 'e'}, {"quiet", no_argument, NULL, 'q'}, {"help", no_argument, NULL, 'h'}, {0}};

static int accept(const char *list, wr_audit_opts *o) {
    wr_str names[WR_AUDIT_REASONS];
    for (int k = 0; k < WR_AUDIT_REASONS; k++) names[k] = wr_str_of(wr_audit_reason_name(k));
    for (const char *p = list; p && *p;) {
        const char *comma = strchr(p, ',');
        wr_str      one = wr_str_trim((wr_str){p, comma ? (size_t)(comma - p) : strlen(p)});
        int         k = 0;
        while (k < WR_AUDIT_REASONS && !wr_str_eq(names[k], one)) k++;
        if (k == WR_AUDIT_REASONS) {
            wr_sbuf all = {0};
            for (k = 0; k < WR_AUDIT_REASONS; k++) wr_sbuf_printf(&all, "%s%.*s", k ? ", " : "", WR_FMT(names[k]));
            int code = usage_error("audit", "--accept: '%.*s' is no reason; there are %.*s", WR_FMT(one), WR_FMT(wr_sbuf_str(&all)));
            wr_sbuf_free(&all);
            return code;
        }
        o->accepted |= 1u << k;
        p = comma ? comma + 1 : NULL;
    }
    return 0;
}

static int parse(int argc, char **argv, job_args *args, wr_audit_opts *o) {
    opterr = 0;
    optind = 1;
    for (int opt; (opt = getopt_long(argc, argv, ":p:e:qh", OPTIONS, NULL)) != -1;) {
        int      code = 0;
        uint64_t n;
        if (opt == 'h') return help_command("audit", stdout), finish_stdout(CLI_OK);
        if (opt == ':' || opt == '?') return wrong_option("audit", argv, opt);
        if (opt == OPT_FROM) o->from = optarg;
        else if (opt == OPT_TO) o->to = optarg;
        else if (opt == OPT_OUTPUTS) o->outputs = optarg;
        else if (opt == OPT_TIME_COLUMN) o->time_column = optarg;
        else if (opt == OPT_ACCEPT) code = accept(optarg, o);
        else if (opt == OPT_LIMIT) {
            if (!parse_count(optarg, &n) || !n || n > SHOWN_MAX) return usage_error("audit", "--limit: expected a number from 1 to %d, got '%s'", SHOWN_MAX, optarg);
            o->limit = (uint32_t)n;
        } else job_option(args, "audit", opt, optarg, &code);
        if (code) return code;
    }
    job_files(args, argc, argv, optind);
    if (o->time_column && !o->from && !o->to) return usage_error("audit", "--time-column tells which rows belong to a period: it needs --from, --to or both");
    return -1;
}

static void say(void *arg, wr_str line) {
    const job_args *args = arg;
    wr_sbuf out = {0};
    if (args->quiet) return;
    if (args->json) wr_sbuf_addz(&out, "{\"event\":\"audit\",\"what\":"), wr_sbuf_add_json(&out, line), wr_sbuf_addz(&out, "}\n");
    else wr_sbuf_printf(&out, "%.*s\n", WR_FMT(line));
    fwrite(out.at, 1, out.len, stderr);
    wr_sbuf_free(&out);
}

/* ---- for people ---- */
static const char *plural(uint64_t n) { return n == 1 ? "" : "s"; }
static void add_time(wr_sbuf *out, int64_t us) {
    char text[40];
    wr_sbuf_add(out, text, wr_text_timestamp(us, wr_type_prec(WR_T_TIMESTAMP, us % 1000000 ? 3 : 0), ' ', text));
}
static void add_more(wr_sbuf *out, uint64_t all, uint64_t shown) {
    if (all > shown) wr_sbuf_addz(out, "    ... and "), add_count(out, all - shown), wr_sbuf_addz(out, " more (--limit)\n");
}

static void add_read(wr_sbuf *out, const wr_audit_read *r) {
    wr_sbuf_printf(out, "  reads %.*s ", WR_FMT(r->table));
    if (r->from_us == WR_TIME_MIN) wr_sbuf_addz(out, "from its beginning");
    else wr_sbuf_addz(out, "from "), add_time(out, r->from_us);
    if (r->to_us != WR_TIME_MAX) wr_sbuf_addz(out, " to "), add_time(out, r->to_us);
    if (r->why.len) wr_sbuf_printf(out, ": %.*s", WR_FMT(r->why));
    wr_sbuf_addc(out, '\n');
}

static void add_diff(wr_sbuf *out, const wr_audit_diff *d) {
    wr_str row = d->kind == WR_AUDIT_MISSING && d->expected.ptr ? d->expected : d->kind == WR_AUDIT_EXTRA && d->published.ptr ? d->published : d->key;
    wr_sbuf_printf(out, "    %-9s %-17s %.*s", wr_audit_kind_name(d->kind), wr_audit_reason_name(d->reason), WR_FMT(row));
    if (d->count > 1) wr_sbuf_printf(out, " (%" PRIu64 " times)", d->count);
    if (d->because.len) wr_sbuf_printf(out, "\n              %.*s", WR_FMT(d->because));
    wr_sbuf_addc(out, '\n');
}

static void add_output(wr_sbuf *out, const wr_audit_output *o) {
    wr_sbuf_printf(out, "%.*s", WR_FMT(o->name));
    if (o->unreadable.ptr) {
        wr_sbuf_printf(out, ": cannot be read back: %.*s\n", WR_FMT(o->unreadable));
        return;
    }
    if (o->time_column.ptr) wr_sbuf_printf(out, " (by %.*s)", WR_FMT(o->time_column));
    wr_sbuf_addz(out, ": "), add_count(out, o->expected), wr_sbuf_addz(out, " expected, "), add_count(out, o->published), wr_sbuf_addz(out, " published, "), add_count(out, o->equal), wr_sbuf_addz(out, " equal");
    uint64_t all = 0;
    for (int k = 0; k < WR_AUDIT_KINDS; k++) {
        all += o->kinds[k];
        if (o->kinds[k]) wr_sbuf_addz(out, ", "), add_count(out, o->kinds[k]), wr_sbuf_printf(out, " %s", wr_audit_kind_name(k));
    }
    wr_sbuf_addc(out, '\n');
    if (!all) return;
    wr_sbuf_addz(out, "  put down to:");
    for (int k = 0, n = 0; k < WR_AUDIT_REASONS; k++)
        if (o->reasons[k]) wr_sbuf_addz(out, n++ ? ", " : " "), add_count(out, o->reasons[k]), wr_sbuf_printf(out, " %s", wr_audit_reason_name(k));
    wr_sbuf_addc(out, '\n');
    uint64_t shown = 0;
    for (uint32_t i = 0; i < o->diffs.n; i++) add_diff(out, &o->diffs.at[i]), shown += o->diffs.at[i].count;
    add_more(out, all, shown);
}

static void add_row(wr_sbuf *out, const wr_audit_row *r) {
    wr_sbuf_printf(out, "    %.*s", WR_FMT(r->table));
    if (r->partition.len) wr_sbuf_printf(out, " %.*s", WR_FMT(r->partition));
    if (r->line >= 0) wr_sbuf_printf(out, " line %" PRId64, r->line);
    else if (r->offset >= 0) wr_sbuf_printf(out, " offset %" PRId64, r->offset);
    if (r->number) wr_sbuf_printf(out, ": dead letter %" PRIu64 ": %.*s: %.*s", r->number, WR_FMT(r->code), WR_FMT(r->reason));
    else if (r->behind_us || !r->reason.len) wr_sbuf_addz(out, ": late by "), wr_text_duration(WR_MAX(r->behind_us, (int64_t)1000), out);
    else wr_sbuf_printf(out, ": %.*s", WR_FMT(r->reason));
    wr_sbuf_printf(out, ": %.*s\n", (int)WR_MIN(r->row.len, (size_t)200), r->row.ptr);
}
static void add_rows(wr_sbuf *out, uint64_t n, const wr_audit_rows *rows, const char *what) {
    if (!n) return;
    wr_sbuf_addz(out, "  "), add_count(out, n), wr_sbuf_printf(out, what, plural(n)), wr_sbuf_addz(out, ":\n");
    for (uint32_t i = 0; i < rows->n; i++) add_row(out, &rows->at[i]);
    add_more(out, n, rows->n);
}

static void add_text(const wr_audit_report *r, wr_sbuf *out) {
    if (r->from.ptr || r->to.ptr)
        wr_sbuf_printf(out, "audit of %.*s to %.*s\n", WR_FMT(r->from.ptr ? r->from : WR_STR("the beginning")), WR_FMT(r->to.ptr ? r->to : WR_STR("the end of the log")));
    for (uint32_t i = 0; i < r->reads.n; i++) add_read(out, &r->reads.at[i]);
    for (uint32_t i = 0; i < r->notes.n; i++) wr_sbuf_printf(out, "  note: %.*s\n", WR_FMT(r->notes.at[i]));
    for (uint32_t i = 0; i < r->outputs.n; i++) add_output(out, &r->outputs.at[i]);
    if (r->n_late + r->n_refused + r->n_unmatched) wr_sbuf_addz(out, "rows of the log:\n");
    add_rows(out, r->n_late, &r->late, " row%s came behind the watermark");
    add_rows(out, r->n_refused, &r->refused, " record%s refused, which no output has");
    add_rows(out, r->n_unmatched, &r->unmatched, " row%s of a join without a partner, which no output has");
    wr_sbuf_addz(out, r->equal ? r->n_unreadable ? "equal, as far as the outputs can be read back" : "equal" : "not equal");
    wr_sbuf_addz(out, ": "), add_count(out, r->rows_read), wr_sbuf_printf(out, " rows read, %u run%s, ", r->runs, plural(r->runs)), wr_text_duration(r->took_us, out), wr_sbuf_addc(out, '\n');
}

static int run_it(wr_session *session, const job_args *args, const wr_audit_opts *o) {
    wr_audit_report report;
    wr_err          err = {0};
    wr_sbuf         out = {0};
    wr_status       planned = wr_session_plan(session);
    if (planned != WR_OK || (wr_session_diags(session)->n_warnings && !args->quiet && planned != WR_OK)) print_report(session, NULL, args->json);
    if (planned != WR_OK) return exit_code_of(planned);
    catch_signals(session);
    wr_status status = wr_session_audit(session, o, &report, &err);
    catch_signals(NULL);
    if (status == WR_OK && args->json) wr_sbuf_addz(&out, "{\"audit\":"), wr_audit_json(&report, &out), wr_sbuf_addz(&out, "}\n");
    else if (status == WR_OK) add_text(&report, &out);
    else print_report(session, &err, args->json);
    if (out.len) fwrite(out.at, 1, out.len, stdout);
    wr_sbuf_free(&out);
    int code = status != WR_OK ? exit_code_of(status) : !report.equal ? CLI_FAILED : report.n_unreadable ? CLI_UNREAD : CLI_OK;
    if (status != WR_OK && code == CLI_FAILED) code = CLI_NO_AUDIT;
    wr_arena_free(report.arena);
    return finish_stdout(code);
}

int cmd_audit(int argc, char **argv) {
    job_args      args = {0};
    wr_audit_opts o = {.limit = SHOWN_DEFAULT, .say = say, .arg = &args};
    int           code = parse(argc, argv, &args, &o);
    if (code < 0) {
        wr_session *session = job_session(&args, "audit", &code);
        if (session) {
            code = run_it(session, &args, &o);
            wr_session_free(session);
        }
    }
    job_args_free(&args);
    return code;
}
