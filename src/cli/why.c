/* cli/why.c: `weir why` and `weir top`: what limits a running job, in words; and its picture, drawn over each second.
 *
 * top        on a terminal the picture takes the alternate screen until Ctrl-C; else, or with --once, it is printed once.      */
#include "cli.h"
#include "sys/world.h"
#include <getopt.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { OPT_TOKEN = OPT_GEN_FIRST + 200, OPT_ONCE };
static const struct option OPTIONS[] = {
    {"json", no_argument, NULL, OPT_JSON}, {"token", required_argument, NULL, OPT_TOKEN}, {"once", no_argument, NULL, OPT_ONCE}, {"help", no_argument, NULL, 'h'}, {0},
};
typedef struct ask { const char *target, *token; bool json, once; } ask;

static volatile sig_atomic_t over;
static void on_signal(int sig) {
    (void)sig;
    over = 1;
}

/* -1: go on; else the exit code. */
static int parse(int argc, char **argv, const char *command, ask *a) {
    opterr = 0;
    optind = 1;
    for (int opt; (opt = getopt_long(argc, argv, ":h", OPTIONS, NULL)) != -1;) {
        if (opt == 'h') return help_command(command, stdout), finish_stdout(CLI_OK);
        if (opt == ':' || opt == '?' || (opt == OPT_ONCE && strcmp(command, "top"))) return wrong_option(command, argv, opt == OPT_ONCE ? '?' : opt);
        if (opt == OPT_JSON) a->json = true;
        if (opt == OPT_ONCE) a->once = true;
        if (opt == OPT_TOKEN) a->token = optarg;
    }
    if (argc - optind != 1) return usage_error(command, "give the state directory of a running job, or the address of its --ui");
    a->target = argv[optind];
    return -1;
}

static int print_answer(const ask *a, const char *path) {
    wr_sbuf out = {0};
    int     code = live_get(a->target, a->token, path, a->json, &out);
    if (code == CLI_OK) {
        fwrite(out.at, 1, out.len, stdout);
        if (out.len && out.at[out.len - 1] != '\n') fputc('\n', stdout);
    }
    wr_sbuf_free(&out);
    return finish_stdout(code);
}

int cmd_why(int argc, char **argv) {
    ask a = {0};
    int code = parse(argc, argv, "why", &a);
    if (code >= 0) return code;
    code = print_answer(&a, a.json ? "/api/why" : "/api/why?text=1");
    if (code == CLI_OK && !a.json) explain_words((const char *const[]){"backpressure", "hot key", "watermark", NULL});
    return code;
}

static void path_of(char *out, size_t size) {
    struct winsize w = {0};
    bool           tty = isatty(STDOUT_FILENO);
    if (!tty || ioctl(STDOUT_FILENO, TIOCGWINSZ, &w) || !w.ws_col) w.ws_col = 120;
    snprintf(out, size, "/api/top?width=%u%s", w.ws_col, tty && !getenv("NO_COLOR") ? "&colour=1" : "");
}

int cmd_top(int argc, char **argv) {
    ask  a = {0};
    char path[64];
    int  code = parse(argc, argv, "top", &a);
    if (code >= 0) return code;
    if (a.json) return print_answer(&a, "/api/status");
    path_of(path, sizeof path);
    if (a.once || !isatty(STDOUT_FILENO)) return print_answer(&a, path);
    struct sigaction act = {.sa_handler = on_signal};
    sigaction(SIGINT, &act, NULL);
    sigaction(SIGTERM, &act, NULL);
    fputs("\033[?1049h\033[?25l", stdout);
    code = CLI_OK;
    while (!over && code == CLI_OK) {
        wr_sbuf out = {0};
        path_of(path, sizeof path);
        code = live_get(a.target, a.token, path, false, &out);
        if (code == CLI_OK) fputs("\033[H", stdout);
        for (const char *at = out.at, *end = out.at + out.len; code == CLI_OK && at < end;) { /* what was longer before is wiped out line by line */
            const char *nl = memchr(at, '\n', (size_t)(end - at));
            fprintf(stdout, "%.*s\033[K\n", (int)((nl ? nl : end) - at), at);
            at = nl ? nl + 1 : end;
        }
        if (code == CLI_OK) fputs("\033[J", stdout), fflush(stdout);
        wr_sbuf_free(&out);
        if (!over && code == CLI_OK) wr_world_posix()->vt->sleep_us(wr_world_posix(), 1000000);
    }
    fputs("\033[?25h\033[?1049l", stdout);
    return finish_stdout(code);
}
