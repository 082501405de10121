/* cli/letters.c: `weir replay`: dead letters back into the job of a state directory (api/letters.h).
 *
 * Output     a line for each kind of outcome and the letters that did not go in, with why; --json: one document. --list: the letters as JSON lines, to be edited and
 *            given back with --from.
 * Exit code  0: all of them are in (now or before), or would be; 1: some are not.                                              */
#include "cli.h"
#include "api/letters.h"
#include <getopt.h>
#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

enum { OPT_TABLE = 5000, OPT_REASON, OPT_ID, OPT_SINCE, OPT_UNTIL, OPT_LATE, OPT_OVERWRITE, OPT_DRY, OPT_LIST, OPT_ANY_STATE, SHOWN = 20, TIMEOUT_US = 60000000 };

static const struct option OPTIONS[] = {
    {"state-dir", required_argument, NULL, OPT_STATE_DIR}, {"from", required_argument, NULL, OPT_FROM}, {"table", required_argument, NULL, OPT_TABLE},
    {"reason", required_argument, NULL, OPT_REASON}, {"id", required_argument, NULL, OPT_ID}, {"since", required_argument, NULL, OPT_SINCE},
    {"until", required_argument, NULL, OPT_UNTIL}, {"late", required_argument, NULL, OPT_LATE}, {"overwrite", no_argument, NULL, OPT_OVERWRITE},
    {"any-state", no_argument, NULL, OPT_ANY_STATE}, {"dry-run", no_argument, NULL, OPT_DRY}, {"list", no_argument, NULL, OPT_LIST}, {"json", no_argument, NULL, OPT_JSON},
    {"quiet", no_argument, NULL, 'q'}, {"set", required_argument, NULL, OPT_SET}, {"workers", required_argument, NULL, 'p'}, {"memory", required_argument, NULL, OPT_MEMORY},
    {"execute", required_argument, NULL, 'e'}, {"timeout", required_argument, NULL, OPT_TIMEOUT}, {"help", no_argument, NULL, 'h'}, {0}};

typedef struct replay_args { job_args job; wr_letters_opts letters; bool list; } replay_args;

/* "2h": so long ago; or a timestamp, UTC unless it says otherwise. */
static int take_time(const char *option, const char *text, int64_t *out) {
    int64_t us;
    int32_t nanos;
    bool    zoned;
    if (wr_parse_duration(wr_str_of(text), &us)) *out = wr_wall_us(wr_world_posix()) - us;
    else if (!wr_parse_timestamp(wr_str_trim(wr_str_of(text)), out, &nanos, &zoned)) return usage_error("replay", "%s: expected a time such as '2026-05-01 12:00:00', or a duration such as 2h, got '%s'", option, text);
    return 0;
}

static int take_late(const char *text, bool *enters) {
    *enters = !strcmp(text, "enter");
    return *enters || !strcmp(text, "keep") ? 0 : usage_error("replay", "--late: keep or enter, got '%s'", text);
}

static int parse(int argc, char **argv, replay_args *a) {
    opterr = 0;
    optind = 1;
    for (int opt; (opt = getopt_long(argc, argv, ":p:e:qh", OPTIONS, NULL)) != -1;) {
        int code = 0;
        switch (opt) {
        case 'h': return help_command("replay", stdout), finish_stdout(CLI_OK);
        case ':':
        case '?': return wrong_option("replay", argv, opt);
        case OPT_FROM: a->letters.from = optarg; break;
        case OPT_TABLE: a->letters.table = optarg; break;
        case OPT_REASON: a->letters.reason = optarg; break;
        case OPT_ID: a->letters.id = optarg; break;
        case OPT_SINCE: code = take_time("--since", optarg, &a->letters.since_us); break;
        case OPT_UNTIL: code = take_time("--until", optarg, &a->letters.until_us); break;
        case OPT_LATE: code = take_late(optarg, &a->letters.late_enters); break;
        case OPT_OVERWRITE: a->letters.overwrite = true; break;
        case OPT_ANY_STATE: a->letters.any_state = true; break;
        case OPT_DRY: a->letters.try_only = true; break;
        case OPT_LIST: a->list = true; break;
        case OPT_TIMEOUT:
            if (!wr_parse_duration(wr_str_of(optarg), &a->letters.timeout_us) || a->letters.timeout_us <= 0) code = usage_error("replay", "--timeout: expected a duration such as 60s, got '%s'", optarg);
            break;
        default: job_option(&a->job, "replay", opt, optarg, &code);
        }
        if (code) return code;
    }
    job_files(&a->job, argc, argv, optind);
    if (!a->job.opts.state_dir) return usage_error("replay", "into which job? weir replay FILE --state-dir DIR");
    return -1;
}

/* ---- what is shown ---- */
typedef struct counts { uint32_t of[WR_AGAIN_CANNOT + 1]; } counts;
static counts count(const wr_letters *letters) {
    counts c = {{0}};
    for (uint32_t i = 0; i < letters->list.n; i++) c.of[letters->list.at[i].outcome]++;
    return c;
}

static void tell_json(const wr_letters *letters, const wr_letters_opts *o, wr_sbuf *out) {
    counts c = count(letters);
    wr_sbuf_printf(out, "{\"dry_run\":%s,\"job_ran\":%s,\"read\":%u,\"chosen\":%u,\"of_another_state\":%u,\"unreadable\":%u,\"passed\":%u,\"done_before\":%u,\"refused\":%u,\"late\":%u,\"not_possible\":%u,\"letters\":[",
                   o->try_only ? "true" : "false", letters->running ? "true" : "false", letters->n_read, letters->list.n, letters->n_other_state, letters->n_unreadable, c.of[WR_AGAIN_PASSED],
                   c.of[WR_AGAIN_BEFORE], c.of[WR_AGAIN_REFUSED], c.of[WR_AGAIN_LATE], c.of[WR_AGAIN_CANNOT]);
    for (uint32_t i = 0; i < letters->list.n; i++) {
        if (i) wr_sbuf_addc(out, ',');
        wr_letter_json(&letters->list.at[i], true, out);
    }
    wr_sbuf_addz(out, "]}\n");
}

static void tell_text(const wr_letters *letters, const wr_letters_opts *o, wr_sbuf *out) {
    counts   c = count(letters);
    uint32_t shown = 0, left = c.of[WR_AGAIN_REFUSED] + c.of[WR_AGAIN_LATE] + c.of[WR_AGAIN_CANNOT];
    wr_sbuf_printf(out, "%u dead letter%s, %u chosen: ", letters->n_read, letters->n_read == 1 ? "" : "s", letters->list.n);
    wr_sbuf_printf(out, o->try_only ? "%u would go in" : "%u went in", c.of[WR_AGAIN_PASSED]);
    if (c.of[WR_AGAIN_BEFORE]) wr_sbuf_printf(out, ", %u had been put back before", c.of[WR_AGAIN_BEFORE]);
    if (c.of[WR_AGAIN_REFUSED]) wr_sbuf_printf(out, ", %u refused again", c.of[WR_AGAIN_REFUSED]);
    if (c.of[WR_AGAIN_LATE]) wr_sbuf_printf(out, ", %u late", c.of[WR_AGAIN_LATE]);
    if (c.of[WR_AGAIN_CANNOT]) wr_sbuf_printf(out, ", %u cannot be put back", c.of[WR_AGAIN_CANNOT]);
    wr_sbuf_addc(out, '\n');
    if (letters->n_other_state) wr_sbuf_printf(out, "%u belong to another state, from before the job was begun anew (--any-state takes them too)\n", letters->n_other_state);
    if (letters->n_unreadable) wr_sbuf_printf(out, "%u lines or rows are no dead letters\n", letters->n_unreadable);
    for (uint32_t i = 0; i < letters->list.n && shown < SHOWN; i++) {
        const wr_letter_row *l = &letters->list.at[i];
        if (l->outcome == WR_AGAIN_PASSED || l->outcome == WR_AGAIN_BEFORE) continue;
        wr_sbuf_printf(out, "  %.*s: %s: %.*s\n", WR_FMT(l->id), wr_again_outcome_name(l->outcome), WR_FMT(l->told));
        shown++;
    }
    if (left > shown) wr_sbuf_printf(out, "  and %u more (--json shows all)\n", left - shown);
    if (c.of[WR_AGAIN_LATE]) wr_sbuf_addz(out, "late ones stay dead letters: windows that have closed would leave them out. --late enter puts them in all the same\n");
}

static void progress(void *arg, uint32_t done, uint32_t all) {
    if (!*(const bool *)arg) return;
    fprintf(stderr, "\r%u of %u", done, all);
    if (done >= all) fputs("\r\x1b[K", stderr);
    fflush(stderr);
}

static int replay(wr_session *session, replay_args *a) {
    wr_letters letters = {0};
    wr_err     err = {0};
    wr_sbuf    out = {0};
    bool       live = isatty(STDERR_FILENO) && !a->job.quiet && !a->job.json;
    a->letters.progress = progress, a->letters.arg = &live;
    wr_status status = wr_letters_read(session, &a->letters, &letters, &err);
    if (status == WR_OK && a->list) {
        for (uint32_t i = 0; i < letters.list.n; i++) wr_letter_json(&letters.list.at[i], false, &out), wr_sbuf_addc(&out, '\n');
    } else if (status == WR_OK) {
        status = wr_letters_replay(session, &a->letters, &letters, &err);
        if (status == WR_OK && a->job.json) tell_json(&letters, &a->letters, &out);
        else if (status == WR_OK) tell_text(&letters, &a->letters, &out);
    }
    counts c = count(&letters);
    if (status != WR_OK) print_report(session, &err, a->job.json);
    if (out.len) fwrite(out.at, 1, out.len, stdout);
    wr_sbuf_free(&out);
    wr_letters_free(&letters);
    if (status != WR_OK) return exit_code_of(status);
    return !a->list && c.of[WR_AGAIN_REFUSED] + c.of[WR_AGAIN_LATE] + c.of[WR_AGAIN_CANNOT] ? CLI_FAILED : CLI_OK;
}

int cmd_replay(int argc, char **argv) {
    replay_args a = {.letters = {.since_us = WR_TIME_MIN, .until_us = WR_TIME_MAX, .timeout_us = TIMEOUT_US}};
    int         code = parse(argc, argv, &a);
    if (code < 0) {
        a.job.opts.memory_of_process = true;
        wr_session *session = job_session(&a.job, "replay", &code);
        if (session) {
            catch_signals(session);
            code = wr_session_plan(session) == WR_OK ? replay(session, &a) : (print_report(session, NULL, a.job.json), CLI_REFUSED);
            catch_signals(NULL);
            wr_session_free(session);
        }
    }
    job_args_free(&a.job);
    return finish_stdout(code);
}
