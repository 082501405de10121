/* cli/story_do.c: the steps of a story that run weir: one command after the other, jobs beside them, and waiting for what they say. See story_teller.h.
 *
 * Idea       all waiting is here, in steps of some milliseconds, in which the pipes of jobs that print are emptied (or not: a reader that takes nothing) and Ctrl-C is seen.
 * Invariant  nothing waits for ever: a command has COMMAND_US, a condition what the story allows. */
#include "story_teller.h"
#include <regex.h>

static const int64_t COMMAND_US = INT64_C(120000000), SLICE_US = 20000, SHOW_AFTER_US = 700000;
enum { OUTPUT_BYTES_MAX = 64 << 20, WORDS_MAX = 100 };
volatile sig_atomic_t story_stopped;

static story_process *job_named(teller *t, wr_str name) {
    for (uint32_t i = 0; i < t->jobs.n; i++)
        if (wr_str_eq(t->jobs.at[i].name, name)) return &t->jobs.at[i];
    return NULL;
}

static void empty_pipe(teller *t, story_process *p) {
    char   buf[65536];
    wr_err ignored;
    if (p->held || !p->drain) return;
    for (size_t n; (n = wr_process_read(p->process, buf, sizeof buf)) > 0;)
        if (t->world->vt->file_write(t->world, p->drain, buf, n, &ignored) != WR_OK) return;
}
static void empty_pipes(teller *t) {
    for (uint32_t i = 0; i < t->jobs.n; i++) empty_pipe(t, &t->jobs.at[i]);
}

/* Words between blanks; 'a b' and "a b" are one. */
static wr_status words_of(teller *t, wr_str text, const char *argv[WORDS_MAX + 1], wr_err *err) {
    size_t n = 0;
    for (size_t i = 0; i < text.len;) {
        wr_sbuf word = {0};
        char    quote = 0;
        if (text.ptr[i] == ' ') { i++; continue; }
        for (; i < text.len && (quote || text.ptr[i] != ' '); i++) {
            char c = text.ptr[i];
            if (quote ? c == quote : c == '\'' || c == '"') quote = quote ? 0 : c;
            else wr_sbuf_addc(&word, c);
        }
        if (n < WORDS_MAX) argv[n] = wr_arena_strndup(t->arena, word.at ? word.at : "", word.len);
        n++;
        wr_sbuf_free(&word);
        if (quote) return wr_fail(err, WR_USER, "WR478", "a %c is missing in the command", quote);
    }
    if (!n || n > WORDS_MAX || strcmp(argv[0], "weir")) return wr_fail(err, WR_USER, "WR478", "a command of a story begins with weir and has up to %d words", WORDS_MAX);
    argv[0] = t->self;
    argv[n] = NULL;
    return WR_OK;
}

static wr_status start(teller *t, wr_str command, bool piped, bool said, story_process *p, wr_err *err) {
    wr_str      text;
    const char *argv[WORDS_MAX + 1];
    WR_TRY(expand(t, command, false, &text, err));
    WR_TRY(words_of(t, text, argv, err));
    if (said) {
        say(t, t->colour ? "\n  \033[1m$\033[0m " : "\n  $ ");
        say_wrapped(t, text, "      ", " \\");
    }
    wr_sbuf_printf(&t->commands, "%.*s\n", WR_FMT(text));
    t->n_runs++;
    snprintf(p->out, sizeof p->out, "%.200s/output/%u.out", t->dir, t->n_runs);
    snprintf(p->err, sizeof p->err, "%.200s/output/%u.err", t->dir, t->n_runs);
    p->command = text;
    return wr_process_start(&(wr_process_opts){.argv = argv, .dir = t->dir, .out = p->out, .err = p->err, .piped = piped}, &p->process, err);
}

/* What it printed becomes the last output. */
static wr_status collect(teller *t, const story_process *p, wr_err *err) {
    wr_sbuf_clear(&t->out);
    wr_sbuf_clear(&t->err);
    WR_TRY(wr_file_read_all(t->world, p->out, OUTPUT_BYTES_MAX, &t->out, err));
    return wr_file_read_all(t->world, p->err, OUTPUT_BYTES_MAX, &t->err, err);
}

static wr_status await_end(teller *t, story_process *p, int *code, wr_err *err) {
    int64_t began = wr_mono_us(t->world), shown = 0;
    while (!wr_process_ended(p->process, SLICE_US, code)) {
        int64_t took = wr_mono_us(t->world) - began;
        empty_pipes(t);
        if (story_stopped) return wr_fail(err, WR_CANCELLED, "WR901", "stopped on request");
        if (took > COMMAND_US) return wr_fail(err, WR_LIMIT, "WR478", "no end of the command within %d s", (int)(COMMAND_US / 1000000));
        if (t->tty && !t->opts->json && took - shown > SHOW_AFTER_US) shown = took, fprintf(stderr, "\r\033[K    ... %.0f s", (double)took / 1e6), fflush(stderr);
    }
    if (shown) fputs("\r\033[K", stderr);
    empty_pipe(t, p);
    return WR_OK;
}

/* The command's own words are what helps most. */
static wr_status failed(teller *t, int code, wr_err *err) {
    wr_sbuf *text = t->err.len ? &t->err : &t->out;
    size_t   from = text->len > 900 ? text->len - 900 : 0;
    wr_fail(err, WR_DATA, "WR478", "the command ended with %d", code);
    wr_err_detail(err, "%.*s", (int)(text->len - from), text->at ? text->at + from : "");
    return WR_DATA;
}

/* "exit=2 quiet weir ...": the words before the command. */
static void flags(wr_str *arg, int *code, bool *quiet) {
    for (wr_str word, rest = *arg; first_word(&rest, &word); *arg = rest) {
        if (wr_str_starts(word, WR_STR("exit="))) *code = word.ptr[5] - '0';
        else if (wr_str_eq(word, WR_STR("quiet"))) *quiet = true;
        else return;
    }
}

wr_status do_run(teller *t, wr_err *err) {
    wr_str        command = t->step->arg;
    int           want = 0, code = 0;
    bool          quiet = false;
    story_process p = {0};
    flags(&command, &want, &quiet);
    WR_TRY(start(t, command, false, !quiet, &p, err));
    wr_status status = await_end(t, &p, &code, err);
    wr_process_free(p.process);
    WR_TRY(status);
    WR_TRY(collect(t, &p, err));
    return code == want ? WR_OK : failed(t, code, err);
}

/* NAME [held] weir ...: goes on beside the story. held: nobody reads what it prints until @release. */
wr_status do_background(teller *t, wr_err *err) {
    wr_str        name, word, command = t->step->arg, rest;
    story_process p = {0};
    if (!first_word(&command, &name)) return wr_fail(err, WR_USER, "WR478", "@background NAME weir ...");
    rest = command;
    if (first_word(&rest, &word) && wr_str_eq(word, WR_STR("held"))) p.held = true, command = rest;
    story_process *before = job_named(t, name);
    if (before && before->process) return wr_fail(err, WR_USER, "WR478", "'%.*s' runs already", WR_FMT(name));
    p.name = name;
    WR_TRY(start(t, command, p.held, true, &p, err));
    if (p.held) WR_TRY(t->world->vt->file_open(t->world, p.out, WR_OPEN_WRITE | WR_OPEN_CREATE | WR_OPEN_TRUNCATE, &p.drain, err));
    if (before) *before = p;
    else wr_arr_push(&t->jobs, p);
    return WR_OK;
}

static wr_status named(teller *t, story_process **out, wr_err *err) {
    *out = job_named(t, t->step->arg);
    return *out && (*out)->process ? WR_OK : wr_fail(err, WR_USER, "WR478", "no '%.*s' runs", WR_FMT(t->step->arg));
}

static wr_status end_job(teller *t, story_process *p, int signal, int want, wr_err *err) {
    int code = 0;
    if (signal) wr_process_signal(p->process, signal);
    wr_status status = await_end(t, p, &code, err);
    p->held = false, empty_pipe(t, p); /* what it had written before it died can still be read */
    wr_process_free(p->process);
    t->world->vt->file_close(t->world, p->drain);
    p->process = NULL, p->drain = NULL;
    WR_TRY(status);
    WR_TRY(collect(t, p, err));
    return code == want ? WR_OK : failed(t, code, err);
}

wr_status do_wait(teller *t, wr_err *err) {
    story_process *p;
    WR_TRY(named(t, &p, err));
    return end_job(t, p, 0, 0, err);
}
wr_status do_stop(teller *t, wr_err *err) {
    story_process *p;
    WR_TRY(named(t, &p, err));
    say(t, "\n  (Ctrl-C)\n");
    return end_job(t, p, SIGTERM, CLI_INTERRUPTED, err);
}
wr_status do_kill(teller *t, wr_err *err) {
    story_process *p;
    WR_TRY(named(t, &p, err));
    say(t, "\n  (kill -9)\n");
    return end_job(t, p, SIGKILL, 128 + SIGKILL, err);
}
wr_status do_release(teller *t, wr_err *err) {
    story_process *p;
    WR_TRY(named(t, &p, err));
    p->held = false;
    return WR_OK;
}

static bool seen(teller *t, const regex_t *re) { return (t->out.at && !regexec(re, t->out.at, 0, NULL, 0)) || (t->err.at && !regexec(re, t->err.at, 0, NULL, 0)); }

/* SECONDS /REGEX/ [quiet] weir ...: again and again until it prints that; its exit code does not count. SECONDS /REGEX/ NAME: until a job of that name has printed it. */
static wr_status until(teller *t, const regex_t *re, int64_t limit_us, wr_str what, wr_err *err) {
    bool quiet = false;
    int  any = 0;
    flags(&what, &any, &quiet);
    int64_t        began = wr_mono_us(t->world);
    story_process *job = job_named(t, what);
    for (bool first = true;; first = false) {
        story_process p = {0};
        int           code;
        if (job) {
            empty_pipes(t);
            WR_TRY(collect(t, job, err));
            if (seen(t, re)) return WR_OK;
            if (job->process && wr_process_ended(job->process, SLICE_US, &code)) limit_us = 0; /* it says nothing more, but it may have: one more look */
        } else {
            size_t kept = t->commands.len;
            wr_status status = start(t, what, false, first && !quiet, &p, err);
            if (!first) t->commands.len = kept, t->commands.at[kept] = '\0';
            if (status == WR_OK) status = await_end(t, &p, &code, err);
            wr_process_free(p.process);
            WR_TRY(status);
            WR_TRY(collect(t, &p, err));
            if (seen(t, re)) return WR_OK;
        }
        if (wr_mono_us(t->world) - began > limit_us) {
            if (job) WR_TRY(collect(t, job, err));
            if (job && seen(t, re)) return WR_OK;
            wr_status status = failed(t, 0, err);
            snprintf(err->message, sizeof err->message, "that was not printed within %d s; the last output:", (int)(limit_us / 1000000));
            return status;
        }
        for (int i = 0; i < 10 && !story_stopped; i++) t->world->vt->sleep_us(t->world, SLICE_US), empty_pipes(t);
        if (story_stopped) return wr_fail(err, WR_CANCELLED, "WR901", "stopped on request");
    }
}

wr_status do_until(teller *t, wr_err *err) {
    wr_str  rest = t->step->arg, seconds, text;
    double  limit;
    regex_t re;
    if (!first_word(&rest, &seconds) || !story_number(seconds, &limit) || !pattern(&rest, &text)) return wr_fail(err, WR_USER, "WR478", "@until SECONDS /REGEX/ weir ...");
    WR_TRY(expand(t, text, false, &text, err));
    if (regcomp(&re, wr_arena_strndup(t->arena, text.ptr, text.len), REG_EXTENDED | REG_NEWLINE)) return wr_fail(err, WR_USER, "WR478", "'%.*s' is no pattern", WR_FMT(text));
    wr_status status = until(t, &re, (int64_t)(limit * 1e6), rest, err);
    regfree(&re);
    return status;
}

void jobs_end(teller *t) {
    for (uint32_t i = 0; i < t->jobs.n; i++) {
        wr_process_free(t->jobs.at[i].process);
        t->world->vt->file_close(t->world, t->jobs.at[i].drain);
    }
    wr_arr_free(&t->jobs);
}
