/* cli/run.c: `weir run`: options, signals, the run, the exit code; and `weir check`.
 *
 * Signals    the first SIGINT or SIGTERM asks the session to stop (checkpoint, if there is a state directory, then a clean end); the second
 *            ends the process at once. A write to a closed pipe on stdout stops the job without a word.
 * Thread     the job is coordinated on the main thread; handlers only set atomics.                                          */
#include "auditor.h"
#include "cli.h"
#include "watch.h"
#include "http/http.h"
#include "plan/order.h"
#include "serve/serve.h"
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <unistd.h>

/* Read by the allocator (jemalloc) when the process starts: freed pages go back within a second, and no thread keeps much for itself, so that the
 * resident size follows what is in use. */
extern const char *malloc_conf;
const char *malloc_conf = "background_thread:true,dirty_decay_ms:500,muzzy_decay_ms:0,percpu_arena:percpu,abort_conf:false";

enum { KEEP_SERVING_US = 50000 };

static _Atomic(wr_session *) running;
static volatile sig_atomic_t pipe_closed, signals_seen;

static void on_signal(int sig) {
    (void)sig;
    if (signals_seen++) {
        static const char text[] = "\nended at once; a second signal does not wait for the checkpoint\n";
        ssize_t ignored = write(STDERR_FILENO, text, sizeof text - 1);
        (void)ignored;
        _exit(CLI_INTERRUPTED);
    }
    wr_session *session = atomic_load(&running);
    if (session) wr_session_stop(session);
}

static void on_pipe(int sig) {
    (void)sig;
    pipe_closed = 1;
    wr_session *session = atomic_load(&running);
    if (session) wr_session_stop(session);
}

void catch_signals(wr_session *session) {
    atomic_store(&running, session);
    if (!session) return;
    struct sigaction stop = {.sa_handler = on_signal, .sa_flags = SA_RESTART}, closed = {.sa_handler = on_pipe, .sa_flags = SA_RESTART};
    sigaction(SIGINT, &stop, NULL);
    sigaction(SIGTERM, &stop, NULL);
    sigaction(SIGPIPE, &closed, NULL);
}

static const struct option OPTIONS[] = {
    {"workers", required_argument, NULL, 'p'},     {"parallelism", required_argument, NULL, 'p'},
    {"memory", required_argument, NULL, OPT_MEMORY}, {"state-dir", required_argument, NULL, OPT_STATE_DIR},
    {"fresh", no_argument, NULL, OPT_FRESH},       {"accept-older", no_argument, NULL, OPT_ACCEPT_OLDER},
    {"set", required_argument, NULL, OPT_SET},     {"format", required_argument, NULL, OPT_FORMAT},
    {"final", no_argument, NULL, OPT_FINAL},       {"changelog", no_argument, NULL, OPT_CHANGELOG},
    {"json", no_argument, NULL, OPT_JSON},         {"batch-rows", required_argument, NULL, OPT_BATCH_ROWS},
    {"until-idle", required_argument, NULL, OPT_UNTIL_IDLE}, {"bounded", no_argument, NULL, OPT_BOUNDED},
    {"tail", no_argument, NULL, OPT_TAIL},         {"checkpoint-every", required_argument, NULL, OPT_CHECKPOINT},
    {"execute", required_argument, NULL, 'e'},     {"quiet", no_argument, NULL, 'q'},
    {"restore", required_argument, NULL, OPT_RESTORE}, {"from", required_argument, NULL, OPT_FROM}, {"catch-up-rate", required_argument, NULL, OPT_CATCH_UP},
    {"replay", no_argument, NULL, OPT_REPLAY},     {"runs", required_argument, NULL, OPT_RUNS},
    {"seed", required_argument, NULL, OPT_SEED},   {"checkpoint-to", required_argument, NULL, OPT_CHECKPOINT_TO},
    {"contracts", required_argument, NULL, OPT_CONTRACTS}, {"strict", no_argument, NULL, OPT_STRICT},
    {"ui", required_argument, NULL, OPT_UI},       {"slo", required_argument, NULL, OPT_SLO},
    {"alert-webhook", required_argument, NULL, OPT_WEBHOOK}, {"otel", required_argument, NULL, OPT_OTEL},
    {"audit-every", required_argument, NULL, OPT_AUDIT_EVERY}, {"audit-lag", required_argument, NULL, OPT_AUDIT_LAG},
    {"keep-serving", no_argument, NULL, OPT_KEEP_SERVING},
    {"pg", required_argument, NULL, OPT_PG}, {"pg-cert", required_argument, NULL, OPT_PG_CERT}, {"pg-key", required_argument, NULL, OPT_PG_KEY}, {"users", required_argument, NULL, OPT_USERS_FILE},
    {"help", no_argument, NULL, 'h'},              {0},
};

typedef struct run_flags { bool final_rows, changelog, jsonl, replay, strict, keep_serving; uint64_t runs, seed; const char *contracts, *ui, *pg, *pg_cert, *pg_key, *users; watch_flags watch; int64_t audit_every_us, audit_lag_us; } run_flags;

typedef struct runner { watch watch; wr_serve *serve; watch_kept kept; bool keep_serving; auditor *audits; const wr_job_plan *plan; } runner; /* who hears of the job */

static int take_format(const char *value, run_flags *flags) {
    if (!strcmp(value, "table")) flags->jsonl = false;
    else if (!strcmp(value, "jsonl")) flags->jsonl = true;
    else return usage_error("run", "--format: table or jsonl, got '%s'", value);
    return 0;
}

/* The options of check --contracts. */
static int take_contracts(const char *command, int opt, const char *value, run_flags *flags) {
    if (strcmp(command, "check") != 0) return usage_error(command, "--contracts and --strict go with 'weir check'");
    if (opt == OPT_STRICT) flags->strict = true;
    else flags->contracts = value;
    return 0;
}

/* The options of check --replay. */
static int take_replay(const char *command, int opt, const char *value, run_flags *flags) {
    if (strcmp(command, "check") != 0) return usage_error(command, "--replay, --runs and --seed go with 'weir check'");
    if (opt == OPT_REPLAY) return flags->replay = true, 0;
    if (opt == OPT_RUNS && (!parse_count(value, &flags->runs) || flags->runs < 2 || flags->runs > 1000000)) return usage_error(command, "--runs: expected a number from 2 to 1000000, got '%s'", value);
    if (opt == OPT_SEED && !parse_count(value, &flags->seed)) return usage_error(command, "--seed: expected a number, got '%s'", value);
    return 0;
}

/* Who watches, and who is told. */
static int take_watch(const char *command, int opt, const char *value, watch_flags *flags) {
    if (strcmp(command, "run") != 0) return usage_error(command, "--slo, --alert-webhook and --otel go with 'weir run'");
    if (opt == OPT_SLO) flags->slo = value;
    else if (!wr_http_is_url(wr_str_of(value))) return usage_error(command, "'%s' is not a URL: http://... or https://...", value);
    else if (opt == OPT_WEBHOOK) flags->webhook = value;
    else flags->otel = value;
    return 0;
}

/* What of a running job can be asked, and by whom. */
static int take_serving(const char *command, int opt, const char *value, run_flags *flags) {
    if (strcmp(command, "run")) return usage_error(command, "--ui, --pg and --users go with 'weir run'");
    *(opt == OPT_UI ? &flags->ui : opt == OPT_PG ? &flags->pg : opt == OPT_PG_CERT ? &flags->pg_cert : opt == OPT_PG_KEY ? &flags->pg_key : &flags->users) = value;
    return 0;
}

static int take_audit(const char *command, int opt, const char *value, run_flags *flags) {
    int code = 0;
    if (strcmp(command, "run") != 0) return usage_error(command, "--audit-every and --audit-lag go with 'weir run'");
    (void)take_duration(command, opt == OPT_AUDIT_EVERY ? "--audit-every" : "--audit-lag", value, opt == OPT_AUDIT_EVERY ? &flags->audit_every_us : &flags->audit_lag_us, &code);
    return code;
}

/* -1: go on; else the exit code. */
static int parse(int argc, char **argv, const char *command, job_args *args, run_flags *flags) {
    opterr = 0;
    optind = 1;
    for (int opt; (opt = getopt_long(argc, argv, ":p:e:qh", OPTIONS, NULL)) != -1;) {
        int code = 0;
        if (opt == 'h') return help_command(command, stdout), finish_stdout(CLI_OK);
        if (opt == ':' || opt == '?') return wrong_option(command, argv, opt);
        if (opt == OPT_FORMAT) code = take_format(optarg, flags);
        else if (opt == OPT_UI || opt == OPT_PG || opt == OPT_PG_CERT || opt == OPT_PG_KEY || opt == OPT_USERS_FILE) code = take_serving(command, opt, optarg, flags);
        else if (opt == OPT_SLO || opt == OPT_WEBHOOK || opt == OPT_OTEL) code = take_watch(command, opt, optarg, &flags->watch);
        else if (opt == OPT_KEEP_SERVING && strcmp(command, "run")) code = usage_error(command, "--keep-serving goes with 'weir run'");
        else if (opt == OPT_KEEP_SERVING) flags->keep_serving = true;
        else if (opt == OPT_AUDIT_EVERY || opt == OPT_AUDIT_LAG) code = take_audit(command, opt, optarg, flags);
        else if (opt == OPT_FINAL) flags->final_rows = true;
        else if (opt == OPT_CHANGELOG) flags->changelog = true;
        else if (opt == OPT_REPLAY || opt == OPT_RUNS || opt == OPT_SEED) code = take_replay(command, opt, optarg, flags);
        else if (opt == OPT_CONTRACTS || opt == OPT_STRICT) code = take_contracts(command, opt, optarg, flags);
        else job_option(args, command, opt, optarg, &code);
        if (code) return code;
    }
    job_files(args, argc, argv, optind);
    if (flags->strict && !flags->contracts) return usage_error(command, "--strict goes with --contracts");
    if (flags->replay && flags->contracts) return usage_error(command, "--replay and --contracts exclude each other");
    if (flags->final_rows && flags->changelog) return usage_error(command, "--final and --changelog exclude each other");
    if (flags->keep_serving && !flags->ui && !flags->pg) return usage_error(command, "--keep-serving goes with --ui or --pg");
    if (args->opts.force_bounded && args->opts.force_tail) return usage_error(command, "--bounded and --tail exclude each other");
    if (args->opts.restore_from && !args->opts.state_dir) return usage_error(command, "--restore goes with --state-dir");
    if (args->opts.checkpoint_to && !args->opts.state_dir) return usage_error(command, "--checkpoint-to goes with --state-dir");
    if ((flags->runs || flags->seed) && !flags->replay) return usage_error(command, "--runs and --seed go with --replay");
    if ((flags->pg_cert || flags->pg_key) && !flags->pg) return usage_error(command, "--pg-cert and --pg-key go with --pg");
    if (flags->users && !flags->pg && !flags->ui) return usage_error(command, "--users goes with --ui or --pg");
    if (flags->audit_lag_us && !flags->audit_every_us) return usage_error(command, "--audit-lag goes with --audit-every");
    if (args->opts.fresh && !args->opts.state_dir) return usage_error(command, "--fresh goes with --state-dir");
    return -1;
}

/* ---- run ---- */
static void add_shell_word(wr_sbuf *out, const char *word) {
    bool plain = word[0] && !word[strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./=:,@%+")];
    if (plain) {
        wr_sbuf_addz(out, word);
        return;
    }
    wr_sbuf_addc(out, '\'');
    for (const char *c = word; *c; c++)
        if (*c == '\'') wr_sbuf_addz(out, "'\\''");
        else wr_sbuf_addc(out, *c);
    wr_sbuf_addc(out, '\'');
}

/* After a clean stop: how to go on. */
static void say_resume(int argc, char **argv, const watch *w, const job_args *args) {
    if (args->json || args->quiet || pipe_closed) return;
    if (!args->opts.state_dir) {
        fputs("nothing is kept: the next run begins anew (--state-dir DIR keeps the state)\n", stderr);
        return;
    }
    wr_sbuf out = {0};
    wr_sbuf_printf(&out, "the state is in %s, checkpoint %llu; to go on:\n  weir", args->opts.state_dir, (unsigned long long)w->stop_epoch);
    for (int i = 0; i < argc; i++) {
        if (!strcmp(argv[i], "--fresh")) continue;
        if (!strcmp(argv[i], "--restore") && ++i) continue;
        wr_sbuf_addc(&out, ' ');
        add_shell_word(&out, argv[i]);
    }
    fprintf(stderr, "%.*s\n", WR_FMT(wr_sbuf_str(&out)));
    wr_sbuf_free(&out);
}

static bool prints_rows(const wr_session *session) {
    for (uint32_t i = 0; i < wr_session_n_steps(session); i++) {
        const wr_step *step = wr_session_step(session, i);
        if (step->kind != WR_STEP_JOB) continue;
        for (uint32_t k = 0; k < step->job->nodes.n; k++) {
            const wr_pnode *p = step->job->nodes.at[k];
            if (p->kind == WR_P_SINK && (p->sink.is_result || wr_str_eq(p->sink.table->connector, WR_STR("print")))) return true;
        }
    }
    return false;
}

/* Its rows are kept, and nobody can ask for them. */
static void note_unread_view(const wr_session *session, const job_args *args) {
    for (uint32_t i = 0; i < wr_session_n_steps(session); i++) {
        const wr_step *step = wr_session_step(session, i);
        for (uint32_t k = 0; step->kind == WR_STEP_JOB && k < step->job->nodes.n; k++) {
            const wr_pnode *p = step->job->nodes.at[k];
            if (p->kind != WR_P_VIEW) continue;
            if (!args->json) fprintf(stderr, "note: nobody can read the materialized view '%.*s' of this run: --ui HOST:PORT serves it over HTTP, --pg HOST:PORT to PostgreSQL clients\n", WR_FMT(p->view.table->name));
            return;
        }
    }
}

static int run_session(wr_session *session, runner *r, job_args *args, const run_flags *flags, int argc, char **argv) {
    watch    *w = &r->watch;
    wr_status planned = wr_session_plan(session);
    if (planned != WR_OK || wr_session_diags(session)->n_warnings) {
        bool only_warnings = planned == WR_OK;
        if (!(only_warnings && args->quiet)) print_report(session, NULL, args->json);
    }
    if (planned != WR_OK) return exit_code_of(planned);
    if (!flags->ui && !flags->pg && !args->quiet) note_unread_view(session, args);
    int code = watch_open(r->serve, session, &flags->watch, args->json, &r->kept);
    if (code) return code;
    w->tty = isatty(STDERR_FILENO);
    w->progress = w->tty && !(isatty(STDOUT_FILENO) && prints_rows(session));
    uint32_t  before = wr_session_diags(session)->list.n;
    wr_err    err = {0};
    wr_status status = wr_session_run(session, &err);
    fflush(stdout);
    if (status == WR_IO && !strcmp(err.code, "08006") && strstr(err.message, "standard output")) pipe_closed = 1; /* workers block signals */
    if (pipe_closed) return CLI_INTERRUPTED;
    if (status == WR_CANCELLED) say_resume(argc, argv, w, args);
    else if (status != WR_OK || wr_session_diags(session)->list.n > before) print_report(session, status != WR_OK ? &err : NULL, args->json);
    if (status == WR_OK && w->ledger_open) return CLI_FAILED;
    return exit_code_of(status);
}

static const char *base_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return !strcmp(path, "-") ? "job" : slash ? slash + 1 : path;
}

/* The same script once more, for who looks at the job from outside. */
static wr_session *script_again(void *arg) {
    job_args args = *(const job_args *)arg;
    int      code;
    args.opts.arg = NULL, args.opts.on_start = NULL, args.opts.on_tick = NULL, args.opts.on_end = NULL;
    return job_session(&args, "run", &code);
}

/* Where it answers, now that it does. */
static void say_address(const char *event, const char *before, const char *address, const char *after, const watch *w) {
    if (!address) return;
    if (w->json) fprintf(stderr, "{\"event\":\"%s\",\"address\":\"%s\"}\n", event, address);
    else if (!w->quiet) fprintf(stderr, "at %s%s%s\n", before, address, after);
}

static void on_start(void *arg, const wr_job_plan *plan, wr_job *job) {
    runner *r = arg;
    watch_start(&r->watch, plan, job);
    wr_serve_start(r->serve, plan, job);
    if (!r->plan) {
        say_address("ui", "", wr_serve_address(r->serve), "", &r->watch);
        say_address("pg", "postgresql://", wr_serve_pg_address(r->serve), "/", &r->watch);
    }
    r->plan = plan;
}

static void on_tick(void *arg, wr_job *job) {
    runner *r = arg;
    watch_tick(&r->watch, job);
    wr_serve_tick(r->serve, job);
    auditor_tick(r->audits, r->plan, job, r->serve);
}

static bool is_last(const wr_session *session, const wr_job_plan *plan) {
    const wr_job_plan *last = NULL;
    for (uint32_t i = 0; i < wr_session_n_steps(session); i++)
        if (wr_session_step(session, i)->kind == WR_STEP_JOB) last = wr_session_step(session, i)->job;
    return plan == last;
}

/* The job has ended; its views and reports can be asked until somebody stops it. */
static void keep_serving(runner *r, wr_job *job) {
    wr_world *world = wr_world_posix();
    const char *address = wr_serve_address(r->serve) ? wr_serve_address(r->serve) : wr_serve_pg_address(r->serve);
    fflush(stdout);
    if (r->watch.json) fprintf(stderr, "{\"event\":\"serving\",\"address\":\"%s\"}\n", address);
    else if (!r->watch.quiet) fprintf(stderr, "the input has ended; views and reports stay at %s until Ctrl-C\n", address);
    while (!wr_session_stopped(r->watch.session)) {
        wr_serve_tick(r->serve, job);
        world->vt->sleep_us(world, KEEP_SERVING_US);
    }
}

static void on_end(void *arg, const wr_job_plan *plan, wr_job *job, wr_status status, const wr_err *err) {
    runner *r = arg;
    if (status != WR_OK && status != WR_CANCELLED) wr_serve_failed(r->serve, err);
    bool    stay = r->keep_serving && status == WR_OK && is_last(r->watch.session, plan);
    if (!stay) wr_serve_end(r->serve, job);
    watch_end(&r->watch, plan, job, status, err);
    if (!stay) return;
    keep_serving(r, job);
    wr_serve_end(r->serve, job);
}

/* Opens what others ask the job through. 0, or the exit code: it was said why not. */
static int open_serve(runner *r, job_args *args, const run_flags *flags) {
    wr_err err = {0};
    wr_serve_opts opts = {.world = wr_world_posix(), .name = r->watch.name, .listen = flags->ui, .state_dir = args->opts.state_dir, .users_file = flags->users, .pg = flags->pg, .pg_cert = flags->pg_cert, .pg_key = flags->pg_key, .script = script_again, .script_arg = args,
                          .query_memory_bytes = WR_MIN(WR_MAX(wr_session_memory(r->watch.session) / 8, INT64_C(8) << 20), INT64_C(128) << 20)};
    wr_status status = wr_serve_open(&opts, &r->serve, &err);
    if (status != WR_OK) return print_err(&err, args->json), exit_code_of(status);
    return CLI_OK;
}

int cmd_run(int argc, char **argv) {
    job_args  args = {0};
    run_flags flags = {0};
    runner    r = {0};
    watch    *w = &r.watch;
    int       code = parse(argc, argv, "run", &args, &flags);
    if (code < 0) {
        w->json = args.json, w->quiet = args.quiet;
        w->name = args.files.n ? base_name(args.files.at[0]) : "job";
        r.keep_serving = flags.keep_serving;
        args.opts.final_rows = flags.final_rows;
        args.opts.print_style = !flags.jsonl ? "table" : flags.changelog ? "changelog-jsonl" : "jsonl";
        args.opts.arg = &r;
        args.opts.memory_of_process = true;
        args.opts.on_start = on_start, args.opts.on_tick = on_tick, args.opts.on_end = on_end;
        wr_session *session = job_session(&args, "run", &code);
        w->session = session;
        if (session && !(code = open_serve(&r, &args, &flags))) {
            auditor_opts audits = {.every_us = flags.audit_every_us, .lag_us = flags.audit_lag_us ? flags.audit_lag_us : AUDIT_LAG_US, .script = script_again, .script_arg = &args,
                                   .memory_bytes = wr_session_memory(session), .json = args.json, .quiet = args.quiet, .checkpoints = args.opts.state_dir != NULL};
            if (audits.every_us) r.audits = auditor_new(&audits);
            catch_signals(session);
            code = run_session(session, &r, &args, &flags, argc, argv);
            atomic_store(&running, NULL);
        }
        auditor_free(r.audits);
        wr_serve_close(r.serve);
        wr_observer_free(w->observer);
        watch_close(&r.kept);
        wr_session_free(session);
    }
    job_args_free(&args);
    return pipe_closed ? code : finish_stdout(code);
}

/* ---- check ---- */
static uint32_t n_jobs(const wr_session *session) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < wr_session_n_steps(session); i++) n += wr_session_step(session, i)->kind == WR_STEP_JOB;
    return n;
}

static int check_session(wr_session *session, const job_args *args, const run_flags *flags) {
    wr_diags *diags = wr_session_diags(session);
    wr_sbuf   out = {0}, contracts = {0};
    int       code;
    if (flags->contracts && !diags->n_errors && !check_contracts(session, args, flags->contracts, flags->strict, &contracts, &code)) return code;
    for (uint32_t i = 0; i < wr_session_n_steps(session); i++)
        if (wr_session_step(session, i)->kind == WR_STEP_JOB) wr_plan_check(wr_session_step(session, i)->job, diags);
    wr_order_proofs proofs = {0};
    wr_arena       *arena = wr_arena_new(NULL);
    WR_ARR(const wr_job_plan *) jobs = {0};
    for (uint32_t i = 0; !diags->n_errors && i < wr_session_n_steps(session); i++)
        if (wr_session_step(session, i)->kind == WR_STEP_JOB) wr_arr_push(&jobs, wr_session_step(session, i)->job);
    for (uint32_t i = 0; i < jobs.n; i++) wr_order_prove(jobs.at[i], jobs.at, jobs.n, arena, &proofs);
    wr_arr_free(&jobs);
    if (args->json) { /* one document on stdout */
        wr_sbuf_addz(&out, "{\"diagnostics\":");
        wr_diags_json(diags, &out);
        wr_sbuf_addz(&out, ",\"order\":"), wr_order_json(&proofs, diags, &out);
        if (contracts.len) wr_sbuf_printf(&out, ",\"contracts\":%.*s", WR_FMT(wr_sbuf_str(&contracts)));
        wr_sbuf_addz(&out, "}\n");
    } else if (!diags->n_errors) {
        wr_sbuf_printf(&out, "%s: can run, %u job%s", args->files.n ? args->files.at[0] : "-e", n_jobs(session), n_jobs(session) == 1 ? "" : "s");
        if (diags->n_warnings) wr_sbuf_printf(&out, ", %u warning%s", diags->n_warnings, diags->n_warnings == 1 ? "" : "s");
        wr_sbuf_addc(&out, '\n');
        wr_order_text(&proofs, diags, &out);
    }
    wr_arena_free(arena);
    if (!args->json) print_report(session, NULL, false);
    if (out.len) fwrite(out.at, 1, out.len, stdout);
    wr_sbuf_free(&out);
    wr_sbuf_free(&contracts);
    return diags->n_errors ? CLI_REFUSED : CLI_OK;
}

int cmd_check(int argc, char **argv) {
    job_args  args = {0};
    run_flags flags = {0};
    int       code = parse(argc, argv, "check", &args, &flags);
    if (code >= 0) return job_args_free(&args), code;
    signal(SIGPIPE, SIG_IGN);
    wr_session *session = job_session(&args, "check", &code);
    if (!session) return job_args_free(&args), code;
    wr_status status = wr_session_plan(session);
    if (flags.replay && status == WR_OK) {
        catch_signals(session);
        code = replay_session(session, args.files.n ? args.files.at[0] : "-e", args.json, args.quiet, flags.runs, flags.seed);
        atomic_store(&running, NULL);
    } else {
        code = check_session(session, &args, &flags);
        if (status != WR_OK) code = exit_code_of(status);
    }
    wr_session_free(session);
    job_args_free(&args);
    return finish_stdout(code);
}
