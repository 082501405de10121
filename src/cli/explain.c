/* cli/explain.c: `weir explain`: the plan and the state bill, from hints, a sample or the last run, with budget and prices.
 *
 * Output     stdout; with --json one document. stderr: diagnostics.                                    */
#include "auditor.h"
#include <getopt.h>
#include <signal.h>

enum { PRICES_BYTES_MAX = 1 << 16, CHECKPOINT_EVERY_US = 10000000 };

typedef struct explain_args {
    job_args    job;
    int64_t     sample_us, audit_every_us, audit_lag_us;
    const char *prices;
} explain_args;

static const struct option OPTIONS[] = {
    {"workers", required_argument, NULL, 'p'},       {"parallelism", required_argument, NULL, 'p'},
    {"memory", required_argument, NULL, OPT_MEMORY}, {"state-dir", required_argument, NULL, OPT_STATE_DIR},
    {"set", required_argument, NULL, OPT_SET},       {"json", no_argument, NULL, OPT_JSON},
    {"execute", required_argument, NULL, 'e'},       {"checkpoint-every", required_argument, NULL, OPT_CHECKPOINT},
    {"bounded", no_argument, NULL, OPT_BOUNDED},     {"until-idle", required_argument, NULL, OPT_UNTIL_IDLE},
    {"quiet", no_argument, NULL, 'q'},               {"sample", required_argument, NULL, OPT_SAMPLE},
    {"audit-every", required_argument, NULL, OPT_AUDIT_EVERY}, {"audit-lag", required_argument, NULL, OPT_AUDIT_LAG},
    {"prices", required_argument, NULL, OPT_PRICES}, {"help", no_argument, NULL, 'h'}, {0},
};

/* -1: go on; else the exit code. */
static int parse(int argc, char **argv, explain_args *args) {
    static const char command[] = "explain";
    opterr = 0;
    optind = 1;
    for (int opt; (opt = getopt_long(argc, argv, ":p:e:qh", OPTIONS, NULL)) != -1;) {
        int code = 0;
        if (opt == 'h') return help_command(command, stdout), finish_stdout(CLI_OK);
        if (opt == ':' || opt == '?') return wrong_option(command, argv, opt);
        if (opt == OPT_SAMPLE) take_duration(command, "--sample", optarg, &args->sample_us, &code);
        else if (opt == OPT_AUDIT_EVERY) take_duration(command, "--audit-every", optarg, &args->audit_every_us, &code);
        else if (opt == OPT_AUDIT_LAG) take_duration(command, "--audit-lag", optarg, &args->audit_lag_us, &code);
        else if (opt == OPT_PRICES) args->prices = optarg;
        else job_option(&args->job, command, opt, optarg, &code);
        if (code) return code;
    }
    if (args->audit_lag_us && !args->audit_every_us) return usage_error(command, "--audit-lag goes with --audit-every");
    job_files(&args->job, argc, argv, optind);
    return -1;
}

static uint32_t n_jobs(const wr_session *session) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < wr_session_n_steps(session); i++) n += wr_session_step(session, i)->kind == WR_STEP_JOB;
    return n;
}

wr_status load_prices(const char *path, wr_prices *prices, wr_err *err) {
    wr_sbuf     text = {0};
    uint32_t    line;
    const char *why = "";
    wr_status   status = wr_file_read_all(wr_world_posix(), path, PRICES_BYTES_MAX, &text, err);
    if (status == WR_OK && !wr_prices_parse(wr_sbuf_str(&text), prices, &line, &why)) {
        status = wr_fail(err, WR_USER, "WR130", "%s:%u: %s", path, line, why);
        wr_err_hint(err, "examples/prices.conf is such a file");
    }
    wr_sbuf_free(&text);
    return status;
}

/* Facts for one job: a sample that was asked for, else the last run of the state directory, else none. */
static wr_status facts_of(wr_session *session, const explain_args *args, uint32_t step, const wr_bill_facts **out, wr_err *err) {
    wr_bill_facts *facts = NULL;
    *out = NULL;
    if (args->sample_us) WR_TRY(wr_session_sample(session, step, args->sample_us, &facts, err));
    else if (args->job.opts.state_dir) facts = wr_session_last_run(session, step);
    *out = facts;
    return WR_OK;
}

static wr_status explain_jobs(wr_session *session, const explain_args *args, wr_sbuf *out, wr_err *err) {
    uint32_t  nth = 0, jobs = n_jobs(session);
    bool      json = args->job.json;
    wr_prices prices;
    if (args->prices) WR_TRY(load_prices(args->prices, &prices, err));
    int64_t     every = args->job.opts.checkpoint_interval_us;
    wr_bill_env env = {.budget_bytes = (double)wr_session_memory(session), .tier_bytes = (double)wr_tier_share_bytes(wr_session_memory(session)), .interval_us = (double)(every ? every : CHECKPOINT_EVERY_US),
                       .workers = wr_session_workers(session), .prices = args->prices ? &prices : NULL,
                       .audit_us = (double)(args->audit_every_us ? args->audit_every_us + (args->audit_lag_us ? args->audit_lag_us : AUDIT_LAG_US) : 0)};
    if (json) wr_sbuf_addz(out, "{\"jobs\":[");
    for (uint32_t i = 0; i < wr_session_n_steps(session); i++) {
        const wr_step *step = wr_session_step(session, i);
        if (step->kind != WR_STEP_JOB) continue;
        WR_TRY(facts_of(session, args, i, &env.facts, err));
        nth++;
        if (json) {
            if (nth > 1) wr_sbuf_addc(out, ',');
            wr_plan_explain_json(step->job, &env, out);
        } else {
            if (jobs > 1) wr_sbuf_printf(out, "%sjob %u of %u\n", nth > 1 ? "\n" : "", nth, jobs);
            wr_plan_explain(step->job, &env, out);
        }
    }
    if (!json && !jobs) wr_sbuf_addz(out, "no job: the script only declares\n");
    return WR_OK;
}

static int answer(wr_session *session, const explain_args *args) {
    wr_status status = wr_session_plan(session), failed = WR_OK;
    wr_diags *diags = wr_session_diags(session);
    wr_sbuf   out = {0};
    wr_err    err = {0};
    bool      json = args->job.json;
    if (status == WR_OK || n_jobs(session)) failed = explain_jobs(session, args, &out, &err);
    else if (json) wr_sbuf_addz(&out, "{\"jobs\":[");
    if (failed != WR_OK) { /* of the sample or the price file: no half an answer */
        print_report(session, &err, json);
        wr_sbuf_free(&out);
        return exit_code_of(failed);
    }
    if (json) { /* one document on stdout */
        wr_sbuf_addz(&out, "],\"diagnostics\":");
        wr_diags_json(diags, &out);
        wr_sbuf_addz(&out, "}\n");
    } else {
        print_report(session, NULL, false);
    }
    if (out.len) fwrite(out.at, 1, out.len, stdout);
    if (!json) explain_words((const char *const[]){"state bill", "pane", "watermark", "TTL", NULL});
    wr_sbuf_free(&out);
    return exit_code_of(diags->n_errors && status == WR_OK ? WR_USER : status);
}

int cmd_explain(int argc, char **argv) {
    explain_args args = {0};
    int          code = parse(argc, argv, &args);
    if (code >= 0) return job_args_free(&args.job), code;
    signal(SIGPIPE, SIG_IGN);
    wr_session *session = job_session(&args.job, "explain", &code);
    if (session) code = answer(session, &args);
    wr_session_free(session);
    job_args_free(&args.job);
    return finish_stdout(code);
}
