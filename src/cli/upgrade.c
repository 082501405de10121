/* cli/upgrade.c: `weir upgrade STATE_DIR FILE...`: what an edited script means for the state there; with --apply the checkpoint is carried over. */
#include "cli.h"
#include "run/upgrade.h"
#include <getopt.h>

enum { ROWS_PER_SECOND = 1000000, BYTES_PER_SECOND = 200 << 20 }; /* for estimates: a worker's reading, and loading state */
enum { OPT_APPLY = 4096 };

static void add_cost(const wr_upgrade *u, const wr_upgrade_cost *cost, uint32_t workers, wr_sbuf *out) {
    if (u->rebuild) {
        wr_sbuf_addz(out, "the rebuild reads ");
        add_count(out, cost->log_rows);
        wr_sbuf_addz(out, " rows again: about ");
        wr_text_duration((int64_t)((double)cost->log_rows / ROWS_PER_SECOND / workers + 1) * 1000000, out);
        wr_sbuf_addz(out, " with the job stopped\n");
    } else {
        wr_sbuf_addz(out, "the pause is the restart: about ");
        wr_text_duration((cost->state_bytes / BYTES_PER_SECOND + 1) * 1000000, out);
        wr_sbuf_addz(out, "\n");
    }
}

static void tell(const wr_upgrade *u, const wr_upgrade_cost *cost, uint32_t workers, bool json) {
    wr_sbuf out = {0};
    if (json) {
        wr_sbuf_printf(&out, "{\"checkpoint\":%llu,\"state_bytes\":%lld,\"log_rows\":%llu,\"changed\":%s,\"rebuild\":%s,\"operators\":", (unsigned long long)cost->epoch,
                       (long long)cost->state_bytes, (unsigned long long)cost->log_rows, u->changed ? "true" : "false", u->rebuild ? "true" : "false");
        wr_upgrade_json(u, &out);
        wr_sbuf_addz(&out, "}\n");
    } else {
        wr_sbuf_printf(&out, "checkpoint %llu, ", (unsigned long long)cost->epoch);
        wr_text_size(cost->state_bytes, &out);
        wr_sbuf_addz(&out, ":\n");
        wr_upgrade_text(u, &out);
        if (u->changed) add_cost(u, cost, workers, &out);
        else wr_sbuf_addz(&out, "the state fits the script as it is\n");
    }
    fputs(out.at ? out.at : "", stdout);
    wr_sbuf_free(&out);
}

/* Every job of the script. */
static wr_status upgrade_all(wr_session *session, bool apply, bool json, wr_err *err) {
    for (uint32_t i = 0; i < wr_session_n_steps(session); i++) {
        if (wr_session_step(session, i)->kind != WR_STEP_JOB) continue;
        wr_upgrade      u;
        wr_upgrade_cost cost;
        WR_TRY(wr_session_upgrade_look(session, i, &u, &cost, err));
        tell(&u, &cost, wr_session_workers(session), json);
        wr_status status = apply && u.changed ? wr_session_upgrade_apply(session, i, &u, err) : WR_OK;
        if (status == WR_OK && apply && u.changed && !json) puts("done: the job goes on from it with 'weir run'");
        wr_upgrade_free(&u);
        WR_TRY(status);
    }
    return WR_OK;
}

static int run_upgrade(job_args *args, bool apply) {
    int         code;
    wr_session *session = job_session(args, "upgrade", &code);
    if (!session) return code;
    wr_err err = {0};
    if (wr_session_plan(session) != WR_OK) {
        print_report(session, NULL, args->json);
        code = CLI_REFUSED;
    } else {
        wr_status status = upgrade_all(session, apply, args->json, &err);
        if (status != WR_OK) print_report(session, &err, args->json);
        code = exit_code_of(status);
    }
    wr_session_free(session);
    return code;
}

int cmd_upgrade(int argc, char **argv) {
    static const struct option options[] = {
        {"workers", required_argument, NULL, 'p'}, {"memory", required_argument, NULL, OPT_MEMORY}, {"set", required_argument, NULL, OPT_SET},
        {"execute", required_argument, NULL, 'e'}, {"accept-older", no_argument, NULL, OPT_ACCEPT_OLDER}, {"json", no_argument, NULL, OPT_JSON},
        {"apply", no_argument, NULL, OPT_APPLY}, {"help", no_argument, NULL, 'h'}, {0}};
    job_args args = {0};
    bool     apply = false;
    int      code = CLI_OK;
    opterr = 0;
    optind = 1;
    for (int opt; (opt = getopt_long(argc, argv, ":p:e:h", options, NULL)) != -1;) {
        if (opt == 'h') return help_command("upgrade", stdout), finish_stdout(CLI_OK);
        if (opt == ':' || opt == '?') return wrong_option("upgrade", argv, opt);
        if (opt == OPT_APPLY) apply = true;
        else job_option(&args, "upgrade", opt, optarg, &code);
        if (code) return code;
    }
    if (optind == argc) code = usage_error("upgrade", "which state directory? weir upgrade STATE_DIR FILE...");
    else no_object_store("upgrade", argv[optind], &code);
    if (!code) {
        args.opts.state_dir = argv[optind++];
        job_files(&args, argc, argv, optind);
        code = run_upgrade(&args, apply);
    }
    job_args_free(&args);
    return finish_stdout(code);
}
