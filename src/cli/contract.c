/* cli/contract.c: `weir contract` and `weir check --contracts`. See api/contract.h.
 *
 * Output     contracts, findings: stdout; what is wrong with a script or a contract file: stderr. */
#include "cli.h"
#include "api/contract_report.h"
#include <getopt.h>
#include <signal.h>

enum { OPT_AGAINST = OPT_GEN_FIRST, OPT_FAIL_ON, OPT_SVG, OPT_HTML };
static struct { const char *against, *fail_on, *svg, *html; } report_args; /* of `contract report` */
static const struct option OPTIONS[] = {
    {"set", required_argument, NULL, OPT_SET}, {"json", no_argument, NULL, OPT_JSON}, {"quiet", no_argument, NULL, 'q'}, {"against", required_argument, NULL, OPT_AGAINST}, {"fail-on", required_argument, NULL, OPT_FAIL_ON},
    {"svg", required_argument, NULL, OPT_SVG}, {"html", required_argument, NULL, OPT_HTML}, {"help", no_argument, NULL, 'h'}, {0},
};

/* -1: go on; else the exit code. */
static int parse(int argc, char **argv, job_args *args) {
    static const char command[] = "contract";
    opterr = 0;
    optind = 1;
    for (int opt; (opt = getopt_long(argc, argv, ":qh", OPTIONS, NULL)) != -1;) {
        int code = 0;
        if (opt == 'h') return help_command(command, stdout), finish_stdout(CLI_OK);
        if (opt == ':' || opt == '?') return wrong_option(command, argv, opt);
        if (opt == OPT_AGAINST) report_args.against = optarg;
        else if (opt == OPT_FAIL_ON) report_args.fail_on = optarg;
        else if (opt == OPT_SVG) report_args.svg = optarg;
        else if (opt == OPT_HTML) report_args.html = optarg;
        else job_option(args, command, opt, optarg, &code);
        if (code) return code;
    }
    job_files(args, argc, argv, optind);
    return -1;
}

static int refuse(const wr_sbuf *report, const wr_err *err, bool json) {
    if (report->len) fwrite(report->at, 1, report->len, stderr);
    print_err(err, json);
    return exit_code_of(err->status);
}

/* ---- check --contracts ---- */

static const char *or_nobody(wr_str party, char buf[200]) {
    if (!party.len) return "";
    snprintf(buf, 200, " (owner: %.*s)", WR_FMT(party));
    return buf;
}

static void add_finding(wr_diags *d, const wr_contract_finding *f, bool strict) {
    char   owner[200];
    wr_str table = f->promise ? f->promise->table : f->need->table, said = f->point.said;
    switch (f->verdict) {
    case WR_VERDICT_BREAKS:
        wr_diags_add(d, WR_SEV_ERROR, "WR345", f->promise->at, "this breaks what '%.*s' needs of '%.*s' (%s): %.*s", WR_FMT(f->need->party), WR_FMT(table), f->point.what, WR_FMT(said));
        wr_diags_detail(d, "what it needs is in %.*s", WR_FMT(f->need->file));
        wr_diags_hint(d, "keep the old form beside the new one until '%.*s' has changed, and agree with them first", WR_FMT(f->need->party));
        break;
    case WR_VERDICT_WEAKER:
        wr_diags_add(d, strict ? WR_SEV_ERROR : WR_SEV_WARNING, "WR346", f->promise->at, "'%.*s' promises less than its contract (%s): %.*s", WR_FMT(table), f->point.what, WR_FMT(said));
        wr_diags_hint(d, "no reader is known who needs it; if that is so: weir contract FILE %.*s > %.*s.contract", WR_FMT(table), WR_FMT(table));
        break;
    case WR_VERDICT_CHANGED:
        wr_diags_add(d, WR_SEV_NOTE, "WR346", f->promise->at, "'%.*s' differs from its contract, and no reader has to mind (%s): %.*s", WR_FMT(table), f->point.what, WR_FMT(said));
        break;
    case WR_VERDICT_LACKS:
        wr_diags_add(d, WR_SEV_ERROR, "WR347", f->need->at, "this needs more of '%.*s' than its contract promises%s (%s): %.*s", WR_FMT(table), or_nobody(f->promise->party, owner), f->point.what, WR_FMT(said));
        wr_diags_detail(d, "the contract is %.*s", WR_FMT(f->promise->file));
        break;
    case WR_VERDICT_ORPHAN: break;
    }
}

bool check_contracts(wr_session *session, const job_args *args, const char *dir, bool strict, wr_sbuf *json, int *code) {
    wr_contract_book     book = {0}, now = {0};
    wr_contract_findings found = {0};
    wr_sbuf              report = {0};
    wr_err               err = {0};
    bool                 ok = wr_contract_book_load(&book, dir, args->sets.at, args->sets.n, &report, &err) == WR_OK;
    if (ok) {
        const char *path = args->files.n ? args->files.at[args->files.n - 1] : "-e";
        wr_contract_book_take(&now, session, path);
        wr_contract_judge(&book, &now, wr_contract_publisher(session, path), &found);
        for (uint32_t i = 0; i < found.n; i++) add_finding(wr_session_diags(session), &found.at[i], strict);
        wr_contract_findings_json(&found, json);
    } else {
        *code = refuse(&report, &err, args->json);
    }
    wr_sbuf_free(&report);
    wr_contract_book_free(&now);
    wr_contract_book_free(&book);
    return ok;
}

/* ---- contract FILE, contract needs FILE ---- */

static bool wanted(const job_args *args, uint32_t first_table, wr_str table) {
    for (uint32_t i = first_table; i < args->files.n; i++)
        if (wr_str_eq(table, wr_str_of(args->files.at[i]))) return true;
    return args->files.n == first_table;
}

static bool no_such_table(const job_args *args, uint32_t first_table, const wr_contracts *all, bool needs) {
    for (uint32_t i = first_table; i < args->files.n; i++) {
        bool found = false;
        for (uint32_t k = 0; k < all->n; k++) found |= wr_str_eq(all->at[k].table, wr_str_of(args->files.at[i]));
        if (found) continue;
        fprintf(stderr, "weir contract: the script %s no table '%s'", needs ? "reads" : "writes", args->files.at[i]);
        for (uint32_t k = 0; k < all->n; k++) fprintf(stderr, "%s'%.*s'", k ? ", " : "; there are: ", WR_FMT(all->at[k].table));
        fputc('\n', stderr);
        return true;
    }
    return false;
}

static void print_contracts(const job_args *args, const wr_contracts *all, uint32_t first_table, bool needs, const char *path, wr_sbuf *out) {
    uint32_t n = 0;
    if (args->json) wr_sbuf_addz(out, "{\"contracts\":[");
    else wr_sbuf_printf(out, "-- %s %s. Made by: weir contract %s%s\n", needs ? "What is needed by" : "What is promised by", path, needs ? "needs " : "", path);
    for (uint32_t i = 0; i < all->n; i++) {
        if (!wanted(args, first_table, all->at[i].table)) continue;
        if (args->json && n++) wr_sbuf_addc(out, ',');
        if (args->json) wr_contract_json(&all->at[i], out);
        else wr_sbuf_addc(out, '\n'), wr_contract_text(&all->at[i], out);
    }
    if (args->json) wr_sbuf_addz(out, "]}\n");
}

static int make(job_args *args, bool needs) {
    uint32_t         first = needs ? 1 : 0;
    wr_contract_book book = {0};
    wr_sbuf          out = {0};
    int              code = CLI_OK;
    if (args->files.n <= first) return usage_error("contract", "which script?");
    job_args only = *args; /* the tables behind it are no scripts */
    only.files.at += first, only.files.n = 1;
    wr_session *session = job_session(&only, "contract", &code);
    if (!session) return code;
    wr_status status = wr_session_plan(session);
    if (status == WR_OK) wr_contract_book_take(&book, session, args->files.at[first]);
    const wr_contracts *all = needs ? &book.needs : &book.promises;
    if (status != WR_OK || wr_session_diags(session)->n_errors) {
        print_report(session, NULL, args->json);
        code = CLI_REFUSED;
    } else if (no_such_table(args, first + 1, all, needs)) {
        code = CLI_REFUSED;
    } else if (!all->n && !args->json) {
        fprintf(stderr, "weir contract: the script %s no table\n", needs ? "reads" : "writes");
        code = CLI_REFUSED;
    } else {
        print_contracts(args, all, first + 1, needs, args->files.at[first], &out);
        fwrite(out.at, 1, out.len, stdout);
    }
    wr_sbuf_free(&out);
    wr_contract_book_free(&book);
    wr_session_free(session);
    return code;
}

/* ---- contract check DIR ---- */

static void finding_line(const wr_contract_finding *f, wr_sbuf *out) {
    wr_str table = f->promise ? f->promise->table : f->need->table;
    if (f->verdict == WR_VERDICT_ORPHAN) wr_sbuf_printf(out, "%.*s: '%.*s' reads it, and nobody promises it (%.*s)\n", WR_FMT(table), WR_FMT(f->need->party), WR_FMT(f->need->file));
    else if (f->need) wr_sbuf_printf(out, "%.*s: breaks what '%.*s' needs (%s): %.*s (%.*s)\n", WR_FMT(table), WR_FMT(f->need->party), f->point.what, WR_FMT(f->point.said), WR_FMT(f->need->file));
    else wr_sbuf_printf(out, "%.*s: %s (%s): %.*s\n", WR_FMT(table), f->point.weaker ? "weaker" : "compatible", f->point.what, WR_FMT(f->point.said));
}

static int print_findings(const job_args *args, const wr_contract_book *book, const wr_contract_findings *found) {
    wr_sbuf  out = {0};
    uint32_t bad = 0;
    for (uint32_t i = 0; i < found->n; i++) bad += found->at[i].verdict == WR_VERDICT_BREAKS || found->at[i].verdict == WR_VERDICT_WEAKER;
    if (args->json) {
        wr_sbuf_printf(&out, "{\"contracts\":%u,\"needs\":%u,\"broken\":%u,\"findings\":", book->promises.n, book->needs.n, bad);
        wr_contract_findings_json(found, &out);
        wr_sbuf_addz(&out, "}\n");
    } else {
        for (uint32_t i = 0; i < found->n; i++) finding_line(&found->at[i], &out);
    }
    if (out.len) fwrite(out.at, 1, out.len, stdout);
    wr_sbuf_free(&out);
    return bad ? CLI_REFUSED : CLI_OK;
}

static int check(const job_args *args) {
    wr_contract_book     book = {0};
    wr_contract_findings found = {0};
    wr_sbuf              report = {0};
    wr_err               err = {0};
    int                  code;
    if (args->files.n != 2) return usage_error("contract", "check takes one directory");
    if (wr_contract_book_load(&book, args->files.at[1], args->sets.at, args->sets.n, &report, &err) != WR_OK) {
        code = refuse(&report, &err, args->json);
    } else {
        wr_contract_judge_all(&book, &found);
        code = print_findings(args, &book, &found);
        if (!args->json) printf("%u contract%s, %u need%s: %s\n", book.promises.n, book.promises.n == 1 ? "" : "s", book.needs.n, book.needs.n == 1 ? "" : "s", code ? "not all are covered" : "all that is promised is kept");
    }
    wr_sbuf_free(&report);
    wr_contract_book_free(&book);
    return code;
}

/* ---- contract diff OLD NEW ---- */

static int diff(const job_args *args) {
    wr_contract_book     book[2] = {{0}};
    wr_contract_findings found = {0};
    wr_sbuf              report = {0};
    wr_err               err = {0};
    wr_status            status = WR_OK;
    int                  code;
    if (args->files.n != 3) return usage_error("contract", "diff takes two contract files");
    for (int i = 0; i < 2 && status == WR_OK; i++) status = wr_contract_book_add(&book[i], args->files.at[i + 1], args->sets.at, args->sets.n, &report, &err);
    if (status != WR_OK) {
        code = refuse(&report, &err, args->json);
    } else {
        wr_contract_judge(&book[0], &book[1], WR_STR(""), &found);
        code = print_findings(args, &book[1], &found);
        if (!args->json && !found.n) puts("no difference");
    }
    wr_sbuf_free(&report);
    wr_contract_book_free(&book[1]);
    wr_contract_book_free(&book[0]);
    return code;
}

/* ---- contract report DIR ---- */

/* --fail-on errors,breaks: CLI_FAILED if one of them is there. */
static int judge_report(const wr_contract_report *r, int64_t now_us) {
    wr_str list = wr_str_of(report_args.fail_on ? report_args.fail_on : ""), rule;
    int    code = CLI_OK;
    while (wr_str_next(&list, ',', &rule)) {
        int64_t n = wr_contract_report_count(r, rule, now_us);
        if (n < 0) return usage_error("contract", "--fail-on %.*s: there are errors, breaks, uncovered, orphans, producers, letters, unowned, unused, unkept", WR_FMT(rule));
        if (n) code = CLI_FAILED;
    }
    return code;
}

static int report(const job_args *args) {
    wr_contract_report r;
    wr_err             err = {0};
    wr_sbuf            out = {0}, picture = {0};
    if (args->files.n != 2) return usage_error("contract", "report takes one directory");
    int64_t   now_us = wr_wall_us(wr_world_posix());
    wr_status status = wr_contract_report_make(args->files.at[1], report_args.against, args->sets.at, args->sets.n, &r, &err);
    int       code = status == WR_OK ? judge_report(&r, now_us) : CLI_REFUSED;
    if (status == WR_OK && code != CLI_REFUSED) {
        if (args->json) wr_contract_report_json(&r, now_us, &out);
        else wr_contract_report_text(&r, now_us, &out);
        fwrite(out.at, 1, out.len, stdout);
        if (report_args.svg) wr_contract_report_svg(&r, &picture), status = wr_file_replace(wr_world_posix(), report_args.svg, wr_sbuf_str(&picture), &err);
        wr_sbuf_clear(&picture);
        if (report_args.html && status == WR_OK) wr_contract_report_html(&r, now_us, &picture), status = wr_file_replace(wr_world_posix(), report_args.html, wr_sbuf_str(&picture), &err);
    }
    if (status != WR_OK) print_err(&err, args->json), code = exit_code_of(status);
    wr_sbuf_free(&out), wr_sbuf_free(&picture);
    wr_contract_report_free(&r);
    return code;
}

int cmd_contract(int argc, char **argv) {
    job_args args = {0};
    int      code = parse(argc, argv, &args);
    if (code < 0) {
        const char *what = args.files.n ? args.files.at[0] : "";
        signal(SIGPIPE, SIG_IGN);
        if (!strcmp(what, "check")) code = check(&args);
        else if (!strcmp(what, "diff")) code = diff(&args);
        else if (!strcmp(what, "report")) code = report(&args);
        else code = make(&args, !strcmp(what, "needs"));
        code = finish_stdout(code);
    }
    job_args_free(&args);
    return code;
}
