/* cli/fmt.c: `weir fmt`: scripts laid out in one style; comments stay, only white space and the case of reserved words change.
 *
 * Invariant  a file is replaced whole or not at all (wr_file_replace); one with lexical errors is left alone.                  */
#include "cli.h"
#include "sql/sql.h"
#include <getopt.h>

typedef struct fmt_args { bool write, check; uint32_t n_unformatted; } fmt_args;

static int format_one(const char *path, fmt_args *args) {
    wr_err   err = {0};
    wr_sbuf  text = {0}, made = {0};
    wr_diags diags;
    wr_diags_init(&diags);
    int code = CLI_OK;
    if (read_script(path, &text, &err) != WR_OK) print_err(&err, false), code = CLI_FAILED;
    if (code == CLI_OK) {
        uint32_t file = wr_diags_add_source(&diags, wr_str_of(path), wr_sbuf_str(&text));
        if (wr_sql_pretty(file, wr_sbuf_str(&text), &diags, &made) != WR_OK) {
            wr_sbuf report = {0};
            wr_diags_print(&diags, &report);
            fputs(report.at ? report.at : "", stderr);
            wr_sbuf_free(&report);
            code = CLI_REFUSED;
        }
    }
    bool same = wr_str_eq(wr_sbuf_str(&text), wr_sbuf_str(&made));
    if (code == CLI_OK && args->check && !same) {
        printf("%s\n", path);
        args->n_unformatted++;
    } else if (code == CLI_OK && args->write && !same) {
        if (wr_file_replace(wr_world_posix(), path, wr_sbuf_str(&made), &err) != WR_OK) print_err(&err, false), code = CLI_FAILED;
    } else if (code == CLI_OK && !args->check && !args->write) {
        fwrite(made.at ? made.at : "", 1, made.len, stdout);
    }
    wr_diags_free(&diags);
    wr_sbuf_free(&text), wr_sbuf_free(&made);
    return code;
}

int cmd_fmt(int argc, char **argv) {
    static const struct option options[] = {{"write", no_argument, NULL, 'w'}, {"check", no_argument, NULL, 'c'}, {"help", no_argument, NULL, 'h'}, {0}};
    fmt_args args = {0};
    opterr = 0;
    optind = 1;
    for (int opt; (opt = getopt_long(argc, argv, ":wch", options, NULL)) != -1;) {
        if (opt == 'h') return help_command("fmt", stdout), finish_stdout(CLI_OK);
        if (opt == 'w') args.write = true;
        else if (opt == 'c') args.check = true;
        else return wrong_option("fmt", argv, opt);
    }
    if (args.write && args.check) return usage_error("fmt", "--write and --check exclude each other");
    if (optind == argc) return usage_error("fmt", "which files? '-' is the standard input");
    int code = CLI_OK;
    for (int i = optind; i < argc; i++) {
        if (args.write && !strcmp(argv[i], "-")) return usage_error("fmt", "--write needs a file, not '-'");
        int one = format_one(argv[i], &args);
        code = WR_MAX(code, one);
    }
    if (code == CLI_OK && args.n_unformatted) code = CLI_FAILED;
    return finish_stdout(code);
}
