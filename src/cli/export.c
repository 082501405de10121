/* cli/export.c: `weir export`: the script for Flink, or a table as what Druid or Pinot read it by; on stdout. What differs: stderr. */
#include "cli.h"
#include "api/export.h"
#include "api/export_store.h"
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

static const wr_table *table_of(const wr_session *session, const char *name, int *code) {
    const wr_catalog *catalog = wr_session_catalog(session);
    uint32_t          n;
    const wr_table   *t = NULL;
    for (uint32_t i = 0; name && i < wr_catalog_count(catalog) && !t; i++)
        if (wr_str_ieq(wr_catalog_at(catalog, i)->name, wr_str_of(name))) t = wr_catalog_at(catalog, i);
    if (!name) t = wr_store_only_table(catalog, &n);
    if (t) return t;
    if (name) *code = usage_error("export", "the script has no table '%s'", name);
    else *code = usage_error("export", n ? "the script has %u Kafka tables: say which with --table NAME" : "the script has no Kafka table (%u)", n);
    return NULL;
}

static int export_store(wr_store store, const char *path, const char *name, bool json) {
    job_args args = {.json = json};
    int      code = CLI_OK;
    wr_sbuf  out = {0};
    wr_arr_push(&args.files, path);
    wr_session *session = job_session(&args, "export", &code);
    if (!session) return job_args_free(&args), code;
    wr_status       status = wr_session_plan(session);
    wr_diags       *diags = wr_session_diags(session);
    const wr_table *t = status == WR_OK ? table_of(session, name, &code) : NULL;
    if (t) diags->list.n = 0, status = wr_export_store(store, t, diags, &out); /* of the script's own remarks none is about the spec */
    if (status != WR_OK || t) print_report(session, NULL, json);
    if (t && status == WR_OK) fwrite(out.at, 1, out.len, stdout);
    wr_sbuf_free(&out);
    wr_session_free(session);
    job_args_free(&args);
    return status != WR_OK ? exit_code_of(status) : code;
}

int cmd_export(int argc, char **argv) {
    static const struct option options[] = {{"json", no_argument, NULL, 'j'}, {"table", required_argument, NULL, 't'}, {"help", no_argument, NULL, 'h'}, {0}};
    const char *table = NULL;
    bool json = false;
    opterr = 0;
    optind = 1;
    for (int opt; (opt = getopt_long(argc, argv, ":h", options, NULL)) != -1;) {
        if (opt == 'h') return help_command("export", stdout), finish_stdout(CLI_OK);
        if (opt == 't') table = optarg;
        else if (opt == 'j') json = true;
        else return wrong_option("export", argv, opt);
    }
    if (optind == argc) return usage_error("export", "for which engine? weir export flink FILE");
    bool druid = !strcmp(argv[optind], "druid"), pinot = !strcmp(argv[optind], "pinot");
    if (!druid && !pinot && strcmp(argv[optind], "flink") != 0) return usage_error("export", "'%s' is not known; there are: flink, druid, pinot", argv[optind]);
    if (optind + 2 != argc) return usage_error("export", "which file? '-' is the standard input");
    if (druid || pinot) return finish_stdout(export_store(druid ? WR_STORE_DRUID : WR_STORE_PINOT, argv[optind + 1], table, json));
    return finish_stdout(export_file(argv[optind + 1], json));
}
