/* cli/cli.h: the command line: one function a command, and what they share. Private to cli/.
 *
 * Output     results and reports that were asked for go to stdout; everything about the run (start, progress, silence, summary, errors) to
 *            stderr, as lines for people or, with --json, as one JSON object a line.
 * Exit codes EXIT_*; `weir help exit-codes` explains them. */
#pragma once
#include "api/session.h"
#include <stdio.h>

enum {
    CLI_OK = 0,
    CLI_FAILED = 1,      /* the job failed: data, input or output, a limit */
    CLI_REFUSED = 2,     /* usage, or SQL that is refused before anything is read */
    CLI_INTERRUPTED = 3, /* stopped on request: Ctrl-C, SIGTERM, or the reader of the output went away */
    CLI_NOT_YET = 4,     /* a command that this version does not have */
    CLI_UNREAD = 5,      /* audit: nothing differs, but an output cannot be read back */
    CLI_NO_AUDIT = 6,    /* audit: it failed itself, so it is not known whether something differs */
};

int cmd_run(int argc, char **argv);
int cmd_explain(int argc, char **argv);
int cmd_check(int argc, char **argv);
int cmd_gen(int argc, char **argv);
int cmd_fmt(int argc, char **argv);
int cmd_upgrade(int argc, char **argv);
int cmd_audit(int argc, char **argv);
int cmd_replay(int argc, char **argv);
int cmd_export(int argc, char **argv);
int cmd_backfill(int argc, char **argv);
int cmd_sql(int argc, char **argv);
int cmd_savepoint(int argc, char **argv);
int cmd_state(int argc, char **argv);
int cmd_ledger(int argc, char **argv);
int cmd_log(int argc, char **argv);
int cmd_users(int argc, char **argv);
int cmd_doctor(int argc, char **argv);
int cmd_contract(int argc, char **argv);
int cmd_size(int argc, char **argv);
int cmd_slo(int argc, char **argv);
int cmd_story(int argc, char **argv);
int cmd_lab(int argc, char **argv);
int cmd_why(int argc, char **argv);
int cmd_top(int argc, char **argv);
int cmd_help(int argc, char **argv);

/* help.c */
void help_command(const char *command, FILE *to);              /* usage of one command; the overview for an unknown one */
WR_PRINTF(2, 3) int usage_error(const char *command, const char *fmt, ...); /* one line, where to read on; returns CLI_REFUSED */
int  not_yet(const char *command);                             /* -1: not a planned command either */

/* words.c: prints what a word of the glossary or a code means; false: there is none, and the nearest were named if so wished. */
bool help_word(wr_str wanted, bool or_nearest);
void explain_words(const char *const *terms); /* on a terminal, behind a report: which words 'weir help' explains; NULL ends them */
void explain_code(const char *code);          /* on a terminal, behind an error */

struct job_args;
/* run.c: the signals of a running session; NULL: none runs (any more) */
void catch_signals(wr_session *session);

/* replay.c: weir check --replay, after the script was planned; returns the exit code */
int replay_session(wr_session *session, const char *name, bool json, bool quiet, uint64_t runs, uint64_t seed);

/* contract.c: weir check --contracts DIR: adds diagnostics to the planned session; *json gets the findings. False: an error was printed, *code set. */
bool check_contracts(wr_session *session, const struct job_args *args, const char *dir, bool strict, wr_sbuf *json, int *code);

bool infer_is_data(const char *path);                             /* infer.c: by its name: .csv, .json, .jsonl ... */

/* live.c: asks a running job for `path` ("/api/status?x=y"). target: its state directory, or HOST:PORT or http://... of its --ui; token: NULL = none.
 * 0: the answer, JSON, is in `out`; else it was said why there is none, and this is the exit code. */
int live_get(const char *target, const char *token, const char *path, bool json, wr_sbuf *out);

/* slo.c: what `weir run` is to watch for, once the script is planned; 0, or the exit code: it was said why not. */
struct wr_serve;
typedef struct watch_flags { const char *slo, *webhook, *otel; } watch_flags;
typedef struct watch_kept { struct wr_slo_file *file; wr_sbuf webhook, otlp, headers; } watch_kept; /* for as long as the job runs */
int  watch_open(struct wr_serve *serve, wr_session *session, const watch_flags *flags, bool json, watch_kept *kept);
void watch_close(watch_kept *kept);

wr_status load_prices(const char *path, wr_prices *prices, wr_err *err); /* explain.c: --prices FILE */

/* common.c */
typedef struct job_args {            /* options that run, explain and check share */
    wr_session_opts opts;
    bool            json, quiet;
    WR_ARR(const char *) sets;
    WR_ARR(const char *) texts;      /* -e */
    WR_ARR(const char *) files;
} job_args;
/* getopt values above any character. */
enum { OPT_MEMORY = 256, OPT_STATE_DIR, OPT_FRESH, OPT_ACCEPT_OLDER, OPT_SET, OPT_FORMAT, OPT_FINAL, OPT_CHANGELOG, OPT_JSON, OPT_BATCH_ROWS,
       OPT_UNTIL_IDLE, OPT_BOUNDED, OPT_TAIL, OPT_CHECKPOINT, OPT_SEED, OPT_RESTORE, OPT_FROM, OPT_CATCH_UP, OPT_OUTPUTS, OPT_TIMEOUT, OPT_REPLAY, OPT_RUNS, OPT_SAMPLE, OPT_PRICES, OPT_CHECKPOINT_TO, OPT_CONTRACTS, OPT_STRICT, OPT_UI, OPT_AUDIT_EVERY, OPT_AUDIT_LAG, OPT_KEEP_SERVING, OPT_PG, OPT_PG_CERT, OPT_PG_KEY, OPT_USERS_FILE, OPT_SLO, OPT_WEBHOOK, OPT_OTEL, OPT_GEN_FIRST };
/* Makes the session, sets and loads everything; NULL after an error was printed (*code says which). */
wr_session *job_session(job_args *args, const char *command, int *code);
void        job_args_free(job_args *args);
/* Takes one option that all three commands know; false if it is none of them. *code != 0: it was wrong and that has been said. */
bool        job_option(job_args *args, const char *command, int opt, const char *value, int *code);
bool        take_duration(const char *command, const char *option, const char *value, int64_t *out, int *code); /* true; *code as above */
int         wrong_option(const char *command, char **argv, int opt); /* what getopt_long answered with ':' or '?'; returns CLI_REFUSED */
void        job_files(job_args *args, int argc, char **argv, int from);
/* Diagnostics and error to stderr (JSON: one line). */
void        print_report(wr_session *session, const wr_err *err, bool json);
void        print_err(const wr_err *err, bool json);
bool        no_object_store(const char *command, const char *dir, int *code); /* s3://...: said what to write instead, *code set */
int         exit_code_of(wr_status status);
void        add_count(wr_sbuf *out, uint64_t n);               /* 2,427,000 */
void        add_rate(wr_sbuf *out, double per_second);         /* 1.25 M */
bool        parse_count(const char *text, uint64_t *n);        /* 1000000, 10M, 50k, 1_000_000 */
wr_status   read_script(const char *path, wr_sbuf *text, wr_err *err); /* whole; "-" is standard input */
int         finish_stdout(int code);                           /* a full disk behind stdout is a failure, not silence */
