/* cli/sql.c: `weir sql`: statements from a terminal, a pipe, files or -c, run one after the other in one session.
 *
 * Idea       a text is cut at its ';' (wr_sql_statement_end); each statement is planned and run before the next one is looked at, so tables, views and
 *            settings live as long as the shell. A query whose input ends is run as a batch engine would (wr_plan_ctx.batch) and shown at the end;
 *            one that does not end is shown while it runs.
 * Signals    SIGINT stops the running statement, or gives up the line. SIGTERM stops and ends. A closed stdout ends without a word.
 * Errors     said where they are; on a terminal the shell goes on, else it ends with exit code 1 (--keep-going: at the end).                */
#include "shell.h"
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <unistd.h>

enum { PROGRESS_AFTER_US = 1000000, PROGRESS_EVERY_US = 250000, DEPTH_MAX = 16 };

/* ---- signals ---- */
static _Atomic(wr_session *) running;
static volatile sig_atomic_t interrupted, terminated;

bool shell_interrupted(void) { return interrupted || terminated; }

static void on_signal(int sig) {
    if (sig == SIGTERM) terminated = 1;
    interrupted = 1;
    wr_session *session = atomic_load(&running);
    if (session) wr_session_stop(session);
}

static void catch_all(void) {
    struct sigaction stop = {.sa_handler = on_signal}; /* no SA_RESTART: reading a line ends */
    sigaction(SIGINT, &stop, NULL);
    sigaction(SIGTERM, &stop, NULL);
    signal(SIGPIPE, SIG_IGN);
}

/* ---- messages ---- */
static bool fail(shell *sh) {
    sh->failed = true;
    sh->code = WR_MAX(sh->code, (int)CLI_FAILED);
    return false;
}

bool shell_error(shell *sh, const char *fmt, ...) {
    wr_err  err = {.status = WR_USER, .code = "WR140"};
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(err.message, sizeof err.message, fmt, ap);
    va_end(ap);
    if (!sh->editor) snprintf(err.place, sizeof err.place, "%.*s:%u", WR_FMT(sh->source), sh->line);
    print_err(&err, sh->args.json);
    return fail(sh);
}

/* ---- what runs ---- */
typedef struct progress { int64_t started_us, next_us; bool on, drawn, said; uint64_t rows_out; } progress;
static progress the_progress;

static void clear_progress(void) {
    if (the_progress.drawn) fputs("\r\033[K", stderr);
    the_progress.drawn = false;
}

static void on_tick(void *arg, wr_job *job) {
    shell  *sh = arg;
    int64_t now = wr_mono_us(wr_world_posix());
    if (sh->rows.live) rows_draw(&sh->rows);
    if (!the_progress.on || now - the_progress.started_us < PROGRESS_AFTER_US || now < the_progress.next_us) return;
    wr_job_status s;
    wr_sbuf       out = {0};
    uint64_t      done = 0, total = 0;
    the_progress.next_us = now + PROGRESS_EVERY_US;
    wr_job_status_get(job, &s);
    for (uint32_t i = 0; i < s.n_sources; i++) done += s.sources[i].done, total += s.sources[i].total;
    wr_sbuf_addz(&out, "\r\033[K");
    if (total) wr_sbuf_printf(&out, "%2.0f %%, ", 100.0 * WR_MIN((double)done / (double)total, 1.0));
    add_count(&out, s.rows_in);
    wr_sbuf_addz(&out, " rows read");
    fwrite(out.at, 1, out.len, stderr);
    the_progress.drawn = true;
    wr_arena_free(s.arena);
    wr_sbuf_free(&out);
}

/* Rows that the result does not hold though a reader might think so. */
static void say_left_out(const wr_job_status *s) {
    static const wr_reason told[] = {WR_REASON_LATE, WR_REASON_MALFORMED, WR_REASON_FUTURE, WR_REASON_DEAD_LETTER, WR_REASON_EXPIRED, WR_REASON_RETRACT_UNKNOWN};
    wr_sbuf out = {0};
    for (size_t i = 0; i < WR_COUNT_OF(told); i++) {
        uint64_t n = 0;
        for (uint32_t k = 0; k < s->n_nodes; k++) n += s->nodes[k].ledger.dropped[told[i]];
        if (!n) continue;
        wr_sbuf_addz(&out, out.len ? ", " : "note: rows left out: ");
        add_count(&out, n);
        wr_sbuf_printf(&out, " %s", wr_reason_name(told[i]));
    }
    if (out.len) fprintf(stderr, "%.*s\n", WR_FMT(wr_sbuf_str(&out)));
    wr_sbuf_free(&out);
}

static void on_end(void *arg, const wr_job_plan *plan, wr_job *job, wr_status status, const wr_err *err) {
    shell        *sh = arg;
    wr_job_status s;
    (void)plan, (void)err;
    clear_progress();
    wr_job_status_get(job, &s);
    the_progress.rows_out = s.rows_out;
    if (status == WR_OK && !sh->args.quiet && !sh->args.json) say_left_out(&s);
    wr_arena_free(s.arena);
}

static wr_status on_rows(void *arg, wr_str table, const wr_schema *schema, const wr_tz *tz, wr_batch *batch, wr_err *err) {
    return rows_take(&((shell *)arg)->rows, table, schema, tz, batch, err);
}

static bool is_select(const wr_job_plan *plan, bool *append) {
    for (uint32_t i = 0; i < plan->nodes.n; i++) {
        const wr_pnode *p = plan->nodes.at[i];
        if (p->kind != WR_P_SINK || !p->sink.is_result) continue;
        *append = p->inputs[0].node->changes == WR_CHANGES_APPEND;
        return true;
    }
    return false;
}

static bool run_job(shell *sh, uint32_t index, wr_err *err, wr_status *status) {
    const wr_job_plan *plan = wr_session_step(sh->session, index)->job;
    wr_session_opts   *o = wr_session_opts_of(sh->session);
    bool               append = false, select = is_select(plan, &append), ends = (plan->bounded || o->force_bounded) && !o->force_tail;
    bool               live = select && !ends && !append && sh->rows.terminal && sh->rows.format == SHELL_TABLE && !sh->changelog;
    bool               lines = append && sh->rows.format != SHELL_TABLE;
    bool               own = select && ((ends && !sh->changelog) || live || (lines && !sh->changelog)); /* else the result connector prints change by change */
    static const char *const styles[] = {[SHELL_TABLE] = "table", [SHELL_CSV] = "changelog-csv", [SHELL_JSON] = "changelog-jsonl"};
    o->on_rows = own ? on_rows : NULL;
    o->print_style = styles[sh->rows.format];
    the_progress = (progress){.started_us = wr_mono_us(wr_world_posix()), .on = isatty(STDERR_FILENO) && !sh->args.quiet && (select ? own && ends && !lines : true)};
    if (own) rows_begin(&sh->rows, plan, live);
    *status = wr_session_run_step(sh->session, index, err);
    clear_progress();
    if (own) rows_end(&sh->rows, *status == WR_OK);
    if (!select && *status == WR_OK && sh->editor) {
        wr_sbuf out = {0};
        add_count(&out, the_progress.rows_out);
        printf("%.*s row%s written\n", WR_FMT(wr_sbuf_str(&out)), the_progress.rows_out == 1 ? "" : "s");
        wr_sbuf_free(&out);
    }
    return *status == WR_OK;
}

static bool run_steps(shell *sh, uint32_t from) {
    wr_err    err = {0};
    wr_status status = WR_OK;
    uint32_t  before = wr_session_diags(sh->session)->list.n;
    for (uint32_t i = from; i < wr_session_n_steps(sh->session) && status == WR_OK && !shell_interrupted(); i++) {
        if (wr_session_step(sh->session, i)->kind == WR_STEP_JOB) run_job(sh, i, &err, &status);
        else status = wr_session_run_step(sh->session, i, &err);
    }
    if (status == WR_OK && shell_interrupted()) status = WR_CANCELLED;
    if (status == WR_IO && !strcmp(err.code, "08006") && strstr(err.message, "standard output")) { /* nobody reads any more */
        sh->quit = true;
        sh->code = CLI_INTERRUPTED;
        return false;
    }
    if (status == WR_CANCELLED) {
        if (!sh->args.quiet && !sh->args.json) fputs("stopped\n", stderr);
        if (!sh->editor) sh->quit = true, sh->code = CLI_INTERRUPTED;
        return false;
    }
    if (status == WR_OK && wr_session_diags(sh->session)->list.n == before) return true;
    print_report(sh->session, status == WR_OK ? NULL : &err, sh->args.json);
    return status == WR_OK || fail(sh);
}

bool shell_statement(shell *sh, const char *name, uint32_t lines_before, wr_str text) {
    wr_session *s = sh->session;
    uint32_t    from = wr_session_n_steps(s);
    int64_t     started_us = wr_mono_us(wr_world_posix());
    bool        ok;
    interrupted = 0;
    wr_session_rearm(s);
    atomic_store(&running, s);
    wr_session_load_part(s, name, lines_before, text);
    wr_status planned = wr_session_plan(s);
    if (planned != WR_OK || (wr_session_diags(s)->n_warnings && !sh->args.quiet)) print_report(s, NULL, sh->args.json);
    ok = planned == WR_OK ? run_steps(sh, from) : fail(sh);
    atomic_store(&running, NULL);
    interrupted = 0;
    if (terminated) sh->quit = true;
    bool has_rows = false, append;
    for (uint32_t i = from; i < wr_session_n_steps(s); i++) has_rows |= wr_session_step(s, i)->kind == WR_STEP_JOB && is_select(wr_session_step(s, i)->job, &append);
    if (has_rows) wr_sbuf_clear(&sh->last), wr_sbuf_add_str(&sh->last, wr_str_trim(text));
    if (sh->editor && ok && wr_session_n_steps(s) == from) puts("ok");
    if (sh->timing && ok) fprintf(stderr, "time: %.3f ms\n", (double)(wr_mono_us(wr_world_posix()) - started_us) / 1000);
    fflush(stdout);
    return ok;
}

/* ---- texts ---- */

/* Behind white space and comments; what stands there begins a statement or a command. */
static size_t skip_blank(wr_str text, size_t at) {
    while (at < text.len) {
        const char *p = text.ptr + at;
        size_t      left = text.len - at;
        if (*p == ' ' || *p == '\t' || *p == '\n' || *p == '\r') at++;
        else if (left >= 2 && p[0] == '-' && p[1] == '-') {
            const char *nl = memchr(p, '\n', left);
            at = nl ? (size_t)(nl - text.ptr) : text.len;
        } else if (left >= 2 && p[0] == '/' && p[1] == '*' && !(left > 2 && p[2] == '+')) {
            const char *close = memmem(p + 2, left - 2, "*/", 2);
            if (!close) return at;
            at = (size_t)(close - text.ptr) + 2;
        } else break;
    }
    return at;
}

static uint32_t count_lines(wr_str text, size_t from, size_t to) {
    uint32_t n = 0;
    for (size_t i = from; i < to; i++) n += text.ptr[i] == '\n';
    return n;
}

/* A statement with what stands before it on its line as blanks, so that columns are those of the file. */
static bool run_part(shell *sh, const char *name, uint32_t line, wr_str text, size_t from, size_t to) {
    size_t  start = from;
    wr_sbuf part = {0};
    while (start && text.ptr[start - 1] != '\n') start--;
    for (size_t i = start; i < from; i++)
        if (((unsigned char)text.ptr[i] & 0xC0) != 0x80) wr_sbuf_addc(&part, text.ptr[i] == '\t' ? '\t' : ' ');
    wr_sbuf_add(&part, text.ptr + from, to - from);
    bool ok = shell_statement(sh, name, line, wr_sbuf_str(&part));
    wr_sbuf_free(&part);
    return ok;
}

/* Runs what is whole in the text from *at on and moves *at behind it; last: the text ends here. False: stop. */
static bool run_whole(shell *sh, const char *name, wr_str text, size_t *at, uint32_t *line, bool last) {
    while (!sh->quit) {
        size_t from = skip_blank(text, *at);
        *line += count_lines(text, *at, from);
        *at = from;
        if (from == text.len) return true;
        sh->source = wr_str_of(name), sh->line = *line + 1;
        wr_str rest = {text.ptr + from, text.len - from};
        bool   blank, ok;
        size_t len;
        if (rest.ptr[0] == '\\') {
            const char *nl = memchr(rest.ptr, '\n', rest.len);
            if (!nl && !last) return true;
            len = nl ? (size_t)(nl - rest.ptr) : rest.len;
            ok = shell_meta(sh, wr_str_trim((wr_str){rest.ptr, len}));
        } else {
            len = wr_sql_statement_end(rest, &blank);
            if (!len && !last) return true;
            if (!len) len = rest.len;
            ok = (blank && len < rest.len) || run_part(sh, name, *line, text, from, from + len);
        }
        *line += count_lines(text, from, from + len);
        *at = from + len;
        if (!ok && !sh->keep_going && !sh->editor) return false;
    }
    return true;
}

bool shell_text(shell *sh, const char *name, wr_str text) {
    size_t   at = 0;
    uint32_t line = 0;
    return run_whole(sh, name, text, &at, &line, true);
}

bool shell_file(shell *sh, const char *path) {
    wr_err   err = {0};
    wr_sbuf  text = {0};
    wr_str   source = sh->source;
    uint32_t line = sh->line;
    bool     ok;
    if (sh->depth >= DEPTH_MAX) return shell_error(sh, "\\i: files include each other more than %d deep", DEPTH_MAX);
    sh->depth++;
    if (infer_is_data(path)) {
        ok = infer_table(path, &text, &err) == WR_OK;
        if (ok && !sh->args.quiet) fprintf(stderr, "%.*s", WR_FMT(wr_sbuf_str(&text)));
        ok = ok && shell_text(sh, path, wr_sbuf_str(&text));
    } else {
        ok = read_script(path, &text, &err) == WR_OK;
        ok = ok && shell_text(sh, !strcmp(path, "-") ? "standard input" : path, wr_sbuf_str(&text));
    }
    if (err.message[0]) print_err(&err, sh->args.json), fail(sh);
    sh->depth--;
    sh->source = source, sh->line = line;
    wr_sbuf_free(&text);
    return ok;
}

/* A pipe: each statement runs as soon as it is there. */
static void from_pipe(shell *sh) {
    wr_sbuf  text = {0};
    size_t   at = 0;
    uint32_t line = 0;
    char     buf[65536];
    for (ssize_t n; !sh->quit && (n = read(STDIN_FILENO, buf, sizeof buf)) != 0;) {
        if (n < 0 && errno == EINTR && !shell_interrupted()) continue;
        if (n < 0 && errno == EINTR) sh->quit = true, sh->code = CLI_INTERRUPTED;
        else if (n < 0) shell_error(sh, "cannot read standard input: %s", strerror(errno));
        if (n < 0) break;
        wr_sbuf_add(&text, buf, (size_t)n);
        if (text.len > WR_SQL_TEXT_BYTES_MAX && !shell_error(sh, "a statement on standard input is longer than 64 MiB")) break;
        if (!memchr(buf, ';', (size_t)n) && !memchr(buf, '\n', (size_t)n)) continue;
        if (!run_whole(sh, "standard input", wr_sbuf_str(&text), &at, &line, false)) goto done;
        size_t keep = at;
        while (keep && text.at[keep - 1] != '\n') keep--; /* the line that the next statement begins on */
        memmove(text.at, text.at + keep, text.len - keep);
        text.len -= keep, at -= keep;
    }
    if (!sh->quit) run_whole(sh, "standard input", wr_sbuf_str(&text), &at, &line, true);
done:
    wr_sbuf_free(&text);
}

static bool is_word_alone(wr_str line, const char *word) {
    line = wr_str_trim(line);
    while (line.len && line.ptr[line.len - 1] == ';') line.len--;
    return wr_str_ieq(wr_str_trim(line), wr_str_of(word));
}

/* One line from the terminal has come. */
static void take_line(shell *sh, wr_sbuf *text, wr_str line) {
    bool blank, first = !text->len;
    if (first && (is_word_alone(line, "quit") || is_word_alone(line, "exit"))) {
        sh->quit = true;
        return;
    }
    if (first && is_word_alone(line, "help")) line = WR_STR("\\?");
    if (first && !wr_str_trim(line).len) return;
    wr_sbuf_add_str(text, line);
    wr_sbuf_addc(text, '\n');
    wr_str whole = wr_sbuf_str(text);
    size_t begins = skip_blank(whole, 0);
    bool   command = begins < whole.len && whole.ptr[begins] == '\\';
    if (!command && !wr_sql_statement_end(whole, &blank)) return;
    line_editor_remember(sh->editor, wr_str_trim(whole));
    size_t   at = 0;
    uint32_t number = 0;
    run_whole(sh, "sql", whole, &at, &number, command);
    at = skip_blank(whole, at);
    memmove(text->at, text->at + at, text->len - at);
    text->len -= at;
}

static void from_terminal(shell *sh) {
    wr_sbuf text = {0}, line = {0};
    sh->editor = line_editor_new(sh);
    if (!sh->args.quiet) puts("weir: streaming SQL. \\? for help, \\q to leave; a statement ends with ;");
    while (!sh->quit) {
        wr_sbuf_clear(&line);
        interrupted = 0;
        line_read got = line_editor_read(sh->editor, text.len ? "  ... " : "weir> ", &line);
        if (terminated) break;
        if (got == LINE_END) {
            putchar('\n');
            break;
        }
        if (got == LINE_INTERRUPTED) wr_sbuf_clear(&text);
        else take_line(sh, &text, wr_sbuf_str(&line));
    }
    line_editor_free(sh->editor);
    sh->editor = NULL;
    sh->code = CLI_OK;
    wr_sbuf_free(&text), wr_sbuf_free(&line);
}

/* ---- options ---- */
enum { OPT_CSV = OPT_GEN_FIRST, OPT_TABLE, OPT_TIMING, OPT_KEEP_GOING };
static const struct option OPTIONS[] = {
    {"command", required_argument, NULL, 'c'}, {"execute", required_argument, NULL, 'e'}, {"json", no_argument, NULL, OPT_JSON}, {"csv", no_argument, NULL, OPT_CSV},
    {"table", no_argument, NULL, OPT_TABLE},   {"timing", no_argument, NULL, OPT_TIMING}, {"changelog", no_argument, NULL, OPT_CHANGELOG},
    {"keep-going", no_argument, NULL, OPT_KEEP_GOING}, {"workers", required_argument, NULL, 'p'}, {"parallelism", required_argument, NULL, 'p'},
    {"memory", required_argument, NULL, OPT_MEMORY}, {"set", required_argument, NULL, OPT_SET}, {"batch-rows", required_argument, NULL, OPT_BATCH_ROWS},
    {"bounded", no_argument, NULL, OPT_BOUNDED}, {"until-idle", required_argument, NULL, OPT_UNTIL_IDLE}, {"quiet", no_argument, NULL, 'q'}, {"help", no_argument, NULL, 'h'}, {0}};

static int parse(int argc, char **argv, shell *sh) {
    opterr = 0;
    optind = 1;
    for (int opt; (opt = getopt_long(argc, argv, ":c:e:p:qh", OPTIONS, NULL)) != -1;) {
        int code = 0;
        if (opt == 'h') return help_command("sql", stdout), finish_stdout(CLI_OK);
        if (opt == ':' || opt == '?') return wrong_option("sql", argv, opt);
        if (opt == 'c') wr_arr_push(&sh->args.texts, optarg);
        else if (opt == OPT_CSV) sh->rows.format = SHELL_CSV;
        else if (opt == OPT_TABLE) sh->rows.format = SHELL_TABLE;
        else if (opt == OPT_TIMING) sh->timing = true;
        else if (opt == OPT_CHANGELOG) sh->changelog = true;
        else if (opt == OPT_KEEP_GOING) sh->keep_going = true;
        else job_option(&sh->args, "sql", opt, optarg, &code);
        if (opt == OPT_JSON) sh->rows.format = SHELL_JSON;
        if (code) return code;
    }
    job_files(&sh->args, argc, argv, optind);
    return -1;
}

static int run_all(shell *sh) {
    wr_err err = {0};
    bool   ok = true;
    for (uint32_t i = 0; i < sh->args.sets.n; i++)
        if (wr_session_set(sh->session, sh->args.sets.at[i], &err) != WR_OK) return print_err(&err, sh->args.json), CLI_REFUSED;
    for (uint32_t i = 0; i < sh->args.files.n && !sh->quit && (ok || sh->keep_going); i++) ok = shell_file(sh, sh->args.files.at[i]);
    for (uint32_t i = 0; i < sh->args.texts.n && !sh->quit && (ok || sh->keep_going); i++) {
        char name[16];
        snprintf(name, sizeof name, sh->args.texts.n > 1 ? "-c#%u" : "-c", i + 1);
        ok = shell_text(sh, name, wr_str_of(sh->args.texts.at[i]));
    }
    if (sh->quit || sh->args.texts.n) return sh->code;
    if (isatty(STDIN_FILENO)) from_terminal(sh);
    else if (!sh->args.files.n) from_pipe(sh);
    return sh->code;
}

int cmd_sql(int argc, char **argv) {
    shell sh = {.rows.terminal = isatty(STDOUT_FILENO), .rows.expanded = EXPANDED_OFF};
    int   code = parse(argc, argv, &sh);
    if (code < 0) {
        sh.args.opts.arg = &sh;
        sh.args.opts.memory_of_process = true;
        sh.args.opts.batch_selects = true;
        sh.args.opts.on_tick = on_tick, sh.args.opts.on_end = on_end;
        sh.session = wr_session_new(&sh.args.opts);
        catch_all();
        code = run_all(&sh);
        wr_session_free(sh.session);
        wr_sbuf_free(&sh.last);
        if (code != CLI_INTERRUPTED) code = finish_stdout(code);
    }
    job_args_free(&sh.args);
    return code;
}
