/* cli/lab.c: `weir lab`: the question, a guess, the run, and what came out, as text, JSON and SVG. The labs: lab/lab.h.
 *
 * Output     stdout: question and report, or with --json one document; stderr: progress on a terminal. A guess is asked for on a terminal only.   */
#include "cli.h"
#include "lab/lab.h"
#include <getopt.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { OPT_SVG = OPT_GEN_FIRST + 300, OPT_QUICK, GUESS_MAX = 256 };
static const struct option OPTIONS[] = {
    {"set", required_argument, NULL, OPT_SET}, {"seed", required_argument, NULL, OPT_SEED}, {"json", no_argument, NULL, OPT_JSON}, {"svg", required_argument, NULL, OPT_SVG},
    {"quick", no_argument, NULL, OPT_QUICK},   {"yes", no_argument, NULL, 'y'},             {"quiet", no_argument, NULL, 'q'},     {"help", no_argument, NULL, 'h'}, {0},
};
typedef struct lab_args {
    const char *name, *svg;
    uint64_t    seed;
    bool        json, quick, yes, quiet;
    WR_ARR(const char *) sets;
} lab_args;

static wr_lab_run *running; /* for the signal handler */
static void on_signal(int sig) {
    (void)sig;
    if (running) wr_lab_run_stop(running);
}

/* -1: go on; else the exit code. */
static int parse(int argc, char **argv, lab_args *a) {
    opterr = 0;
    optind = 1;
    for (int opt; (opt = getopt_long(argc, argv, ":yqh", OPTIONS, NULL)) != -1;) {
        if (opt == 'h') return help_command("lab", stdout), finish_stdout(CLI_OK);
        if (opt == ':' || opt == '?') return wrong_option("lab", argv, opt);
        if (opt == OPT_SET) wr_arr_push(&a->sets, optarg);
        if (opt == OPT_SEED && !parse_count(optarg, &a->seed)) return usage_error("lab", "--seed takes a number, not '%s'", optarg);
        if (opt == OPT_SVG) a->svg = optarg;
        a->json |= opt == OPT_JSON, a->quick |= opt == OPT_QUICK, a->yes |= opt == 'y', a->quiet |= opt == 'q';
    }
    if (argc - optind > 1) return usage_error("lab", "one lab at a time");
    a->name = optind < argc ? argv[optind] : NULL;
    return -1;
}

static void print(wr_sbuf *out) {
    if (out->len) fwrite(out->at, 1, out->len, stdout);
    fflush(stdout);
    wr_sbuf_free(out);
}

static void show_progress(void *arg, const char *what) {
    (void)arg;
    fprintf(stderr, "\r\033[K%s ...", what);
    fflush(stderr);
}

static wr_lab_text text_of_terminal(void) {
    struct winsize w = {0};
    if (!isatty(STDOUT_FILENO) || ioctl(STDOUT_FILENO, TIOCGWINSZ, &w) || !w.ws_col) w.ws_col = 100;
    const char *names[] = {getenv("LC_ALL"), getenv("LC_CTYPE"), getenv("LANG")}, *locale = "";
    for (size_t i = WR_COUNT_OF(names); i-- > 0;)
        if (names[i] && *names[i]) locale = names[i];
    return (wr_lab_text){.width = w.ws_col, .utf8 = strcasestr(locale, "UTF-8") || strcasestr(locale, "utf8")};
}

/* Waits for Enter; what was typed before it is the guess. */
static const char *ask_guess(const wr_lab_run *run, const lab_args *a, const wr_lab_text *how, char guess[GUESS_MAX]) {
    wr_sbuf out = {0};
    wr_lab_ask(run, how, &out);
    if (a->json) wr_sbuf_clear(&out);
    print(&out);
    if (a->json) return NULL;
    if (a->yes || !isatty(STDIN_FILENO)) return putchar('\n'), NULL;
    fputs("Your guess, then Enter (Enter alone runs the lab): ", stdout);
    fflush(stdout);
    if (!fgets(guess, GUESS_MAX, stdin)) return putchar('\n'), NULL;
    guess[strcspn(guess, "\n")] = 0;
    putchar('\n');
    return guess[0] ? guess : NULL;
}

static wr_status write_svg(const wr_lab_run *run, const wr_lab_report *r, const char *path, wr_err *err) {
    size_t  len = strlen(path);
    wr_sbuf out = {0}, name = {0};
    bool    one = len > 4 && !strcmp(path + len - 4, ".svg");
    wr_status status = one ? WR_OK : run->world->vt->make_dirs(run->world, path, err);
    for (uint32_t i = 0; i < (one ? 1 : r->plots.n) && status == WR_OK; i++) {
        wr_sbuf_clear(&out), wr_sbuf_clear(&name);
        wr_lab_svg(r, i, one ? r->plots.n : 1, &out);
        if (one) wr_sbuf_addz(&name, path);
        else wr_sbuf_printf(&name, "%s/%s-%u.svg", path, run->lab->name, i + 1);
        status = wr_file_replace(run->world, name.at, wr_sbuf_str(&out), err);
    }
    wr_sbuf_free(&out), wr_sbuf_free(&name);
    return status;
}

static int run_lab(const wr_lab *lab, const lab_args *a) {
    wr_lab_run    run;
    wr_lab_report report = {0};
    wr_err        err = {0};
    wr_status     status = WR_OK;
    char          typed[GUESS_MAX] = "";
    wr_lab_run_open(&run, lab, NULL, a->seed, a->quick);
    for (uint32_t i = 0; i < a->sets.n && status == WR_OK; i++) status = wr_lab_run_set(&run, a->sets.at[i], &err);
    if (status == WR_OK) {
        wr_lab_text how = text_of_terminal();
        const char *guess = ask_guess(&run, a, &how, typed);
        bool        show = !a->json && !a->quiet && isatty(STDERR_FILENO);
        wr_sbuf     out = {0};
        if (show) run.progress = show_progress;
        running = &run;
        signal(SIGINT, on_signal), signal(SIGTERM, on_signal);
        status = wr_lab_run_do(&run, &report, &err);
        running = NULL;
        if (show) fputs("\r\033[K", stderr);
        if (status == WR_OK && a->svg) status = write_svg(&run, &report, a->svg, &err);
        if (status == WR_OK && a->json) wr_lab_show_json(&run, &report, guess, &out);
        else if (status == WR_OK) wr_lab_show(&run, &report, &how, &out);
        if (status == WR_OK && guess && !a->json) printf("You guessed: %s\n\n", guess);
        print(&out);
    }
    if (status != WR_OK) print_err(&err, a->json);
    int code = status == WR_OK && !wr_lab_held(&report) ? CLI_FAILED : exit_code_of(status);
    wr_lab_run_close(&run);
    return code;
}

int cmd_lab(int argc, char **argv) {
    lab_args a = {.seed = 1};
    int      code = parse(argc, argv, &a);
    wr_err   err = {0};
    wr_sbuf  out = {0};
    if (code < 0 && !a.name) {
        if (a.json) wr_lab_list_json(&out);
        else wr_lab_list(&out);
        print(&out);
        code = CLI_OK;
    } else if (code < 0) {
        signal(SIGPIPE, SIG_IGN);
        const wr_lab *lab = wr_lab_find(wr_str_of(a.name), &err);
        code = lab ? run_lab(lab, &a) : (print_err(&err, a.json), CLI_REFUSED);
    }
    wr_arr_free(&a.sets);
    return finish_stdout(code);
}
