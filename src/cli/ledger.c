/* cli/ledger.c: `weir ledger`: where every row went, asked of a running job, or read from the newest checkpoint of one that does not run. */
#include "cli.h"
#include "sys/local.h"
#include <getopt.h>
#include <inttypes.h>

/* Does a job answer there? A directory that none runs on has no socket, or a dead one. */
static bool answers(const char *dir) {
    char    sock[4096];
    wr_sbuf text = {0};
    wr_err  ignored;
    snprintf(sock, sizeof sock, "%s/live.sock", dir);
    bool yes = wr_local_ask(sock, "/api", 10000000, 1 << 20, &text, &ignored) == WR_OK;
    wr_sbuf_free(&text);
    return yes;
}

static bool is_dir(const char *target) {
    wr_file_info info;
    wr_err       ignored;
    bool         there = false;
    return wr_world_posix()->vt->stat(wr_world_posix(), target, &info, &there, &ignored) == WR_OK && there && info.is_dir;
}

static int at_rest(const char *dir, bool json, bool windows, wr_sbuf *out) {
    wr_job_status s;
    wr_err        err = {0};
    wr_status     status = wr_ledger_at_rest(wr_world_posix(), dir, &s, &err);
    if (status != WR_OK) {
        print_err(&err, json);
        return exit_code_of(status);
    }
    if (json) {
        wr_job_ledger_report_json(&s, windows, out);
    } else {
        wr_sbuf_printf(out, "checkpoint %" PRIu64 "%s\n", s.checkpoint_epoch, s.finished ? ", after the end of input" : "");
        wr_job_ledger_report(&s, windows, out);
    }
    wr_arena_free(s.arena);
    return CLI_OK;
}

int cmd_ledger(int argc, char **argv) {
    enum { TOKEN = 1000, WINDOW };
    static const struct option options[] = {{"json", no_argument, NULL, OPT_JSON}, {"window", no_argument, NULL, WINDOW}, {"token", required_argument, NULL, TOKEN},
                                            {"help", no_argument, NULL, 'h'}, {0}};
    const char *token = NULL;
    bool        json = false, windows = false;
    opterr = 0;
    optind = 1;
    for (int opt; (opt = getopt_long(argc, argv, ":h", options, NULL)) != -1;) {
        if (opt == 'h') return help_command("ledger", stdout), finish_stdout(CLI_OK);
        if (opt == ':' || opt == '?') return wrong_option("ledger", argv, opt);
        if (opt == OPT_JSON) json = true;
        if (opt == WINDOW) windows = true;
        if (opt == TOKEN) token = optarg;
    }
    if (optind + 1 != argc) return usage_error("ledger", "one state directory, or the address of a running job, is needed");
    const char *target = argv[optind];
    wr_sbuf     out = {0};
    char        path[64];
    snprintf(path, sizeof path, "/api/ledger%s%s%s%s", json && !windows ? "" : "?", windows ? "window=1" : "", windows && !json ? "&" : "", json ? "" : "text=1");
    int code = is_dir(target) && !answers(target) ? at_rest(target, json, windows, &out) : live_get(target, token, path, json, &out);
    if (code == CLI_OK) {
        if (out.len && out.at[out.len - 1] != '\n') wr_sbuf_addc(&out, '\n');
        fwrite(out.at, 1, out.len, stdout);
        if (!json) explain_words((const char *const[]){"ledger", "late", "unmatched", NULL});
        if (memmem(out.at, out.len, json ? "],\"closes\":false" : "THE LEDGER DOES NOT CLOSE", json ? 16 : 25)) code = CLI_FAILED;
    }
    wr_sbuf_free(&out);
    return finish_stdout(code);
}
