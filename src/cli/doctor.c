/* cli/doctor.c: `weir doctor`: what each job of a script would find outside, as one table or one JSON document. See run/doctor.h.
 *
 * Output     stdout; diagnostics of the script on stderr. */
#include "cli.h"
#include <getopt.h>
#include <signal.h>

typedef struct doctor_args { job_args job; int64_t timeout_us; } doctor_args;

static const struct option OPTIONS[] = {
    {"workers", required_argument, NULL, 'p'},         {"parallelism", required_argument, NULL, 'p'},
    {"memory", required_argument, NULL, OPT_MEMORY},   {"state-dir", required_argument, NULL, OPT_STATE_DIR},
    {"set", required_argument, NULL, OPT_SET},         {"json", no_argument, NULL, OPT_JSON},
    {"execute", required_argument, NULL, 'e'},         {"checkpoint-every", required_argument, NULL, OPT_CHECKPOINT},
    {"checkpoint-to", required_argument, NULL, OPT_CHECKPOINT_TO}, {"bounded", no_argument, NULL, OPT_BOUNDED},
    {"tail", no_argument, NULL, OPT_TAIL},             {"timeout", required_argument, NULL, OPT_TIMEOUT},
    {"quiet", no_argument, NULL, 'q'},                 {"help", no_argument, NULL, 'h'}, {0},
};

/* -1: go on; else the exit code. */
static int parse(int argc, char **argv, doctor_args *args) {
    static const char command[] = "doctor";
    opterr = 0;
    optind = 1;
    for (int opt; (opt = getopt_long(argc, argv, ":p:e:qh", OPTIONS, NULL)) != -1;) {
        int code = 0;
        if (opt == 'h') return help_command(command, stdout), finish_stdout(CLI_OK);
        if (opt == ':' || opt == '?') return wrong_option(command, argv, opt);
        if (opt == OPT_TIMEOUT) take_duration(command, "--timeout", optarg, &args->timeout_us, &code);
        else job_option(&args->job, command, opt, optarg, &code);
        if (code) return code;
    }
    job_files(&args->job, argc, argv, optind);
    return -1;
}

/* Only what is not well. */
static void leave_out_fine(wr_findings *f) {
    uint32_t kept = 0;
    for (uint32_t i = 0; i < f->list.n; i++)
        if (f->list.at[i].found >= WR_FOUND_WARNING) f->list.at[kept++] = f->list.at[i];
    f->list.n = kept;
}

/* Several jobs of a script: what was said of one is not said again (this machine, tables that both read). */
static void leave_out_repeats(wr_findings *f) {
    uint32_t kept = 0;
    for (uint32_t i = 0; i < f->list.n; i++) {
        const wr_finding *a = &f->list.at[i];
        bool              again = false;
        for (uint32_t k = 0; k < kept; k++) again |= wr_str_eq(a->subject, f->list.at[k].subject) && !strcmp(a->what, f->list.at[k].what) && wr_str_eq(a->said, f->list.at[k].said);
        if (!again) f->list.at[kept++] = *a;
    }
    f->list.n = kept;
}

static int answer(wr_session *session, const doctor_args *args) {
    wr_status   status = wr_session_plan(session);
    wr_findings found = {.arena = wr_arena_new(NULL)};
    wr_sbuf     out = {0};
    wr_err      err = {0};
    uint32_t    jobs = 0;
    bool        json = args->job.json;
    for (uint32_t i = 0; i < wr_session_n_steps(session) && status == WR_OK; i++) {
        if (wr_session_step(session, i)->kind != WR_STEP_JOB) continue;
        jobs++;
        status = wr_session_doctor(session, i, args->timeout_us, &found, &err);
    }
    leave_out_repeats(&found);
    uint32_t faults = wr_findings_count(&found, WR_FOUND_FAULT);
    if (args->job.quiet) leave_out_fine(&found);
    if (status != WR_OK) {
        print_report(session, err.message[0] ? &err : NULL, json);
    } else if (json) {
        wr_sbuf_printf(&out, "{\"faults\":%u,\"warnings\":%u,\"findings\":", faults, wr_findings_count(&found, WR_FOUND_WARNING));
        wr_findings_json(&found, &out);
        wr_sbuf_addz(&out, "}\n");
    } else if (!jobs) {
        wr_sbuf_addz(&out, "no job: the script only declares\n");
    } else if (found.list.n || !args->job.quiet) {
        wr_findings_text(&found, &out);
    }
    if (out.len) fwrite(out.at, 1, out.len, stdout);
    wr_sbuf_free(&out);
    wr_arena_free(found.arena);
    return status != WR_OK ? exit_code_of(status) : faults ? CLI_FAILED : CLI_OK;
}

int cmd_doctor(int argc, char **argv) {
    doctor_args args = {.timeout_us = 5000000};
    int         code = parse(argc, argv, &args);
    if (code >= 0) return job_args_free(&args.job), code;
    signal(SIGPIPE, SIG_IGN);
    args.job.opts.memory_of_process = true;
    wr_session *session = job_session(&args.job, "doctor", &code);
    if (session) code = answer(session, &args);
    wr_session_free(session);
    job_args_free(&args.job);
    return finish_stdout(code);
}
