/* cli/backfill.c: `weir backfill STATE_DIR FILE...`: options and reports around api/backfill.h.
 *
 * Signals    SIGINT, SIGTERM: the pass stops behind a checkpoint; the same command goes on from there. */
#include "api/backfill.h"
#include "cli.h"
#include "watch.h"
#include <getopt.h>
#include <inttypes.h>
#include <unistd.h>

enum { TIMEOUT_US = 60000000 };

static const struct option OPTIONS[] = {
    {"workers", required_argument, NULL, 'p'},       {"parallelism", required_argument, NULL, 'p'}, {"memory", required_argument, NULL, OPT_MEMORY},
    {"fresh", no_argument, NULL, OPT_FRESH},         {"set", required_argument, NULL, OPT_SET},     {"json", no_argument, NULL, OPT_JSON},
    {"from", required_argument, NULL, OPT_FROM}, {"catch-up-rate", required_argument, NULL, OPT_CATCH_UP},     {"outputs", required_argument, NULL, OPT_OUTPUTS}, {"batch-rows", required_argument, NULL, OPT_BATCH_ROWS},
    {"checkpoint-every", required_argument, NULL, OPT_CHECKPOINT}, {"timeout", required_argument, NULL, OPT_TIMEOUT},
    {"execute", required_argument, NULL, 'e'},       {"quiet", no_argument, NULL, 'q'},             {"help", no_argument, NULL, 'h'}, {0}};

typedef struct reporter { watch w; bool json, quiet; } reporter;

static int parse(int argc, char **argv, job_args *args, wr_backfill_opts *o) {
    opterr = 0;
    optind = 1;
    for (int opt; (opt = getopt_long(argc, argv, ":p:e:qh", OPTIONS, NULL)) != -1;) {
        int code = 0;
        if (opt == 'h') return help_command("backfill", stdout), finish_stdout(CLI_OK);
        if (opt == ':' || opt == '?') return wrong_option("backfill", argv, opt);
        if (opt == OPT_OUTPUTS) o->outputs = optarg;
        else if (opt == OPT_FRESH) o->fresh = true;
        else if (opt == OPT_TIMEOUT) {
            if (!wr_parse_duration(wr_str_of(optarg), &o->timeout_us) || o->timeout_us <= 0) return usage_error("backfill", "--timeout: expected a duration such as 60s, got '%s'", optarg);
        } else job_option(args, "backfill", opt, optarg, &code);
        if (code) return code;
    }
    int code;
    if (optind >= argc) return usage_error("backfill", "a state directory and a script are needed");
    o->state_dir = argv[optind++];
    if (no_object_store("backfill", o->state_dir, &code)) return code;
    job_files(args, argc, argv, optind);
    return -1;
}

static void say(void *arg, wr_str line) {
    reporter *r = arg;
    wr_sbuf   out = {0};
    if (r->quiet) return;
    if (r->w.drawn) fputs("\r\033[K", stderr);
    r->w.drawn = false;
    if (r->json) wr_sbuf_addz(&out, "{\"event\":\"backfill\",\"what\":"), wr_sbuf_add_json(&out, line), wr_sbuf_addz(&out, "}\n");
    else wr_sbuf_printf(&out, "%.*s\n", WR_FMT(line));
    fwrite(out.at, 1, out.len, stderr);
    wr_sbuf_free(&out);
}

static void tick(void *arg, wr_job *job) { watch_tick(&((reporter *)arg)->w, job); }
static void started(void *arg, const wr_job_plan *plan, wr_job *job) {
    reporter *r = arg;
    bool      quiet = r->w.quiet;
    r->w.quiet = true; /* counts from here; the lines of a run are not said for each pass */
    watch_start(&r->w, plan, job);
    r->w.quiet = quiet;
}

static void report(const wr_backfill_result *res, const wr_backfill_opts *o, const job_args *args) {
    wr_sbuf out = {0};
    if (args->json) {
        wr_sbuf_printf(&out, "{\"backfill\":{\"epoch\":%" PRIu64 ",\"outputs\":%u,\"passes\":%u,\"stopped\":%s,\"repaired\":%s,\"pause_us\":%" PRIi64 "}}\n", res->epoch, res->n_outputs,
                       res->passes, res->stopped ? "true" : "false", res->repaired ? "true" : "false", res->pause_us);
    } else {
        if (res->repaired) wr_sbuf_addz(&out, "the swap that was interrupted is finished");
        else wr_sbuf_printf(&out, "%u output%s replaced", res->n_outputs, res->n_outputs == 1 ? "" : "s");
        if (!res->repaired) wr_sbuf_printf(&out, " after %u pass%s", res->passes, res->passes == 1 ? "" : "es");
        if (res->stopped) wr_sbuf_addz(&out, "; the job stood still for "), wr_text_duration(res->pause_us, &out);
        wr_sbuf_printf(&out, "\nthe state in %s is checkpoint %" PRIu64 " of the new script, the one before is a savepoint in %s/before-backfill; to go on:\n  weir run", o->state_dir, res->epoch, o->state_dir);
        for (uint32_t i = 0; i < args->files.n; i++) wr_sbuf_printf(&out, " %s", args->files.at[i]);
        for (uint32_t i = 0; i < args->sets.n; i++) wr_sbuf_printf(&out, " --set '%s'", args->sets.at[i]);
        wr_sbuf_printf(&out, " --state-dir %s\n", o->state_dir);
    }
    fwrite(out.at, 1, out.len, stdout);
    wr_sbuf_free(&out);
}

static int run_it(wr_session *session, reporter *r, const job_args *args, wr_backfill_opts *o) {
    wr_status planned = wr_session_plan(session);
    if (planned != WR_OK || (wr_session_diags(session)->n_warnings && !args->quiet)) print_report(session, NULL, args->json);
    if (planned != WR_OK) return exit_code_of(planned);
    r->w.session = session;
    r->w.tty = r->w.progress = isatty(STDERR_FILENO);
    uint32_t           before = wr_session_diags(session)->list.n;
    wr_err             err = {0};
    wr_backfill_result res;
    catch_signals(session);
    wr_status status = wr_session_backfill(session, o, &res, &err);
    catch_signals(NULL);
    if (status == WR_OK) return report(&res, o, args), finish_stdout(CLI_OK);
    if (status == WR_CANCELLED && !args->quiet && !args->json)
        fprintf(stderr, "stopped; nothing of the job has changed%s. The same command goes on from here\n", res.stopped ? ", but it was asked to stop and does not run" : "");
    else if (status != WR_CANCELLED || wr_session_diags(session)->list.n > before) print_report(session, &err, args->json);
    return exit_code_of(status);
}

int cmd_backfill(int argc, char **argv) {
    job_args         args = {0};
    reporter         r = {0};
    wr_backfill_opts o = {.timeout_us = TIMEOUT_US, .say = say, .arg = &r};
    int              code = parse(argc, argv, &args, &o);
    if (code < 0) {
        r.w.json = r.json = args.json, r.w.quiet = r.quiet = args.quiet;
        r.w.name = "backfill";
        args.opts.arg = &r;
        args.opts.memory_of_process = true;
        args.opts.on_start = started, args.opts.on_tick = tick;
        wr_session *session = job_session(&args, "backfill", &code);
        if (session) {
            code = run_it(session, &r, &args, &o);
            wr_observer_free(r.w.observer);
            wr_session_free(session);
        }
    }
    job_args_free(&args);
    return code;
}
