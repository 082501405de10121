/* cli/export.c: `weir export flink`: the script for Flink on stdout, what differs on stderr. */
#include "cli.h"
#include "api/export.h"
#include <getopt.h>

static void tell(const char *path, const wr_export_notes *notes, bool json) {
    wr_sbuf out = {0};
    if (json) wr_sbuf_addz(&out, "{\"differences\":[");
    for (uint32_t i = 0; i < notes->n; i++) {
        if (json) {
            wr_sbuf_printf(&out, "%s{\"line\":%u,\"text\":", i ? "," : "", notes->at[i].line);
            wr_sbuf_add_json(&out, wr_str_of(notes->at[i].text));
            wr_sbuf_addc(&out, '}');
        } else {
            wr_sbuf_printf(&out, "%s:%u: differs: %s\n", path, notes->at[i].line, notes->at[i].text);
        }
    }
    if (json) wr_sbuf_addz(&out, "]}\n");
    else if (!notes->n) wr_sbuf_addz(&out, "nothing differs\n");
    fputs(out.at ? out.at : "", stderr);
    wr_sbuf_free(&out);
}

static int export_file(const char *path, bool json) {
    wr_err          err = {0};
    wr_sbuf         text = {0}, made = {0};
    wr_diags        diags;
    wr_export_notes notes = {0};
    int             code = CLI_OK;
    wr_diags_init(&diags);
    wr_status status = read_script(path, &text, &err);
    if (status != WR_OK) {
        print_err(&err, json);
        code = CLI_REFUSED;
    } else if (wr_export_flink(wr_diags_add_source(&diags, wr_str_of(path), wr_sbuf_str(&text)), wr_sbuf_str(&text), &diags, &made, &notes) != WR_OK) {
        wr_sbuf report = {0};
        if (json) wr_diags_json(&diags, &report), wr_sbuf_addc(&report, '\n');
        else wr_diags_print(&diags, &report);
        fputs(report.at ? report.at : "", stderr);
        wr_sbuf_free(&report);
        code = CLI_REFUSED;
    } else {
        fwrite(made.at ? made.at : "", 1, made.len, stdout);
        tell(path, &notes, json);
    }
    wr_arr_free(&notes);
    wr_diags_free(&diags);
    wr_sbuf_free(&text), wr_sbuf_free(&made);
    return code;
}

int cmd_export(int argc, char **argv) {
    static const struct option options[] = {{"json", no_argument, NULL, 'j'}, {"help", no_argument, NULL, 'h'}, {0}};
    bool json = false;
    opterr = 0;
    optind = 1;
    for (int opt; (opt = getopt_long(argc, argv, ":h", options, NULL)) != -1;) {
        if (opt == 'h') return help_command("export", stdout), finish_stdout(CLI_OK);
        if (opt != 'j') return wrong_option("export", argv, opt);
        json = true;
    }
    if (optind == argc) return usage_error("export", "for which engine? weir export flink FILE");
    if (strcmp(argv[optind], "flink") != 0) return usage_error("export", "'%s' is not known; there is: flink", argv[optind]);
    if (optind + 2 != argc) return usage_error("export", "which file? '-' is the standard input");
    return finish_stdout(export_file(argv[optind + 1], json));
}
