/* cli/users.c: `weir users NAME [reader|admin]`: a line for the file of --users, with a verifier of the secret that is read from standard input. */
#include "cli.h"
#include "serve/users.h"
#include <getopt.h>
#include <stdio.h>
#include <termios.h>
#include <unistd.h>

/* The first line of standard input; a terminal does not show it. */
static bool read_secret(char *out, size_t size) {
    struct termios before, quiet;
    bool           tty = isatty(STDIN_FILENO) && tcgetattr(STDIN_FILENO, &before) == 0;
    if (tty) {
        quiet = before;
        quiet.c_lflag &= ~(tcflag_t)ECHO;
        fputs("secret: ", stderr);
        tcsetattr(STDIN_FILENO, TCSAFLUSH, &quiet);
    }
    bool ok = fgets(out, (int)size, stdin) != NULL;
    if (tty) tcsetattr(STDIN_FILENO, TCSAFLUSH, &before), fputc('\n', stderr);
    if (ok) out[strcspn(out, "\r\n")] = 0;
    return ok && out[0] && !out[strcspn(out, " \t")];
}

int cmd_users(int argc, char **argv) {
    char        secret[1024];
    static const struct option OPTIONS[] = {{"help", no_argument, NULL, 'h'}, {0}};
    opterr = 0;
    optind = 1;
    for (int opt; (opt = getopt_long(argc, argv, ":h", OPTIONS, NULL)) != -1;) {
        if (opt == 'h') return help_command("users", stdout), finish_stdout(CLI_OK);
        return wrong_option("users", argv, opt);
    }
    argc -= optind, argv += optind;
    const char *name = argc > 0 ? argv[0] : NULL, *role = argc > 1 ? argv[1] : "reader";
    if (!name || argc > 2 || name[strcspn(name, " \t#")] || (strcmp(role, "reader") && strcmp(role, "admin"))) return usage_error("users", "expected: weir users NAME [reader|admin]");
    if (!read_secret(secret, sizeof secret)) return usage_error("users", "the secret is a line of standard input without blanks");
    wr_scram scram;
    wr_sbuf  text = {0};
    wr_scram_make(wr_world_posix(), wr_str_of(secret), &scram);
    wr_scram_text(&scram, &text);
    printf("%s %s %.*s\n", name, role, WR_FMT(wr_sbuf_str(&text)));
    wr_sbuf_free(&text);
    return finish_stdout(CLI_OK);
}
