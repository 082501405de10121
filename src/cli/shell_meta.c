/* cli/shell_meta.c: the \commands of `weir sql`.
 *
 * Idea       one table of names; what SQL can say itself (columns, EXPLAIN) is put into SQL and run, so that there is one place that knows it. */
#include "shell.h"
#include <stdlib.h>
#include <unistd.h>

typedef struct meta { const char *name, *args, *help; bool (*run)(shell *sh, wr_str arg); } meta;

static void list_head(const char *a, const char *b, const char *c, uint32_t wide) {
    printf("%-*s  %-9s  %s\n", (int)wide, a, b, c);
    for (uint32_t i = 0; i < wide; i++) putchar('-');
    printf("  ---------  ----------\n");
}

static bool has(wr_str text, wr_str part) { /* case-blind; part may hold * or % at its ends, which change nothing */
    while (part.len && (*part.ptr == '*' || *part.ptr == '%')) part.ptr++, part.len--;
    while (part.len && (part.ptr[part.len - 1] == '*' || part.ptr[part.len - 1] == '%')) part.len--;
    for (size_t i = 0; i + part.len <= text.len; i++)
        if (wr_str_ieq((wr_str){text.ptr + i, part.len}, part)) return true;
    return false;
}

static const char *kind_of(const wr_table *t) { return !t->is_view ? "table" : t->is_materialized ? "mat. view" : "view"; }

static void where_from(const wr_table *t, wr_sbuf *out) {
    wr_str path = wr_table_option_get(t, "path"), format = t->format;
    wr_sbuf_add_str(out, t->connector);
    if (path.ptr) wr_sbuf_printf(out, " '%.*s'", WR_FMT(path));
    if (format.len) wr_sbuf_printf(out, ", %.*s", WR_FMT(format));
}

static bool list_objects(shell *sh, wr_str pattern, bool tables, bool views) {
    const wr_catalog *c = wr_session_catalog(sh->session);
    uint32_t          wide = 4, n = 0;
    wr_sbuf           from = {0};
    for (uint32_t i = 0; i < wr_catalog_count(c); i++) wide = WR_MAX(wide, (uint32_t)wr_catalog_at(c, i)->name.len);
    for (uint32_t i = 0; i < wr_catalog_count(c); i++) {
        const wr_table *t = wr_catalog_at(c, i);
        if (!(t->is_view ? views : tables) || !has(t->name, pattern)) continue;
        if (!n++) list_head("name", "kind", "from", wide);
        wr_sbuf_clear(&from);
        if (!t->is_view) where_from(t, &from);
        printf("%-*.*s  %-9s  %.*s\n", (int)wide, WR_FMT(t->name), kind_of(t), WR_FMT(wr_sbuf_str(&from)));
    }
    if (!n) puts(views && !tables ? "no views" : "no tables; CREATE TABLE makes one, \\infer FILE writes it for a file");
    wr_sbuf_free(&from);
    return true;
}

static bool run_sql(shell *sh, wr_sbuf *sql) {
    bool timing = sh->timing, ok;
    sh->timing = false;
    ok = shell_statement(sh, "shell", 0, wr_sbuf_str(sql));
    sh->timing = timing;
    wr_sbuf_free(sql);
    return ok;
}

static void ident(wr_sbuf *out, wr_str name) { wr_sql_ident_text((wr_ast_ident){.text = name, .quoted = true}, out); }

static bool describe(shell *sh, wr_str name) {
    const wr_catalog *c = wr_session_catalog(sh->session);
    while (name.len && name.ptr[name.len - 1] == ';') name.len--;
    if (name.len > 2 && *name.ptr == '`' && name.ptr[name.len - 1] == '`') name.ptr++, name.len -= 2;
    const wr_table *t = wr_catalog_find(c, name);
    if (!t) {
        wr_str near = wr_catalog_nearest(c, name);
        if (near.len) return shell_error(sh, "there is no table or view '%.*s'; did you mean '%.*s'?", WR_FMT(name), WR_FMT(near));
        return shell_error(sh, "there is no table or view '%.*s'; \\d lists them", WR_FMT(name));
    }
    wr_sbuf sql = {0}, from = {0};
    printf("%s %.*s\n", kind_of(t), WR_FMT(name));
    wr_sbuf_addz(&sql, "DESCRIBE ");
    ident(&sql, name);
    if (!run_sql(sh, &sql)) return false;
    if (t->n_key) {
        fputs("key: ", stdout);
        for (uint32_t i = 0; i < t->n_key; i++) printf("%s%.*s", i ? ", " : "", WR_FMT(t->columns[t->key[i]].name));
        putchar('\n');
    }
    if (t->watermark_column >= 0) {
        wr_sbuf expr = {0};
        wr_sql_expr_text(t->watermark, &expr);
        printf("watermark: %.*s AS %.*s\n", WR_FMT(t->columns[t->watermark_column].name), WR_FMT(wr_sbuf_str(&expr)));
        wr_sbuf_free(&expr);
    }
    if (!t->is_view) {
        where_from(t, &from);
        printf("connector: %.*s\n", WR_FMT(wr_sbuf_str(&from)));
        for (uint32_t i = 0; i < t->n_options; i++) {
            wr_str key = t->options[i].key;
            if (!wr_str_eq(key, WR_STR("connector")) && !wr_str_eq(key, WR_STR("path")) && !wr_str_eq(key, WR_STR("format")))
                printf("  '%.*s' = '%.*s'\n", WR_FMT(key), WR_FMT(t->options[i].value));
        }
    }
    wr_sbuf_free(&from);
    if (!t->is_view) return true;
    wr_sbuf_clear(&sql);
    wr_sbuf_addz(&sql, "SHOW CREATE VIEW ");
    ident(&sql, name);
    return run_sql(sh, &sql);
}

static bool m_d(shell *sh, wr_str arg) { return arg.len ? describe(sh, arg) : list_objects(sh, arg, true, true); }
static bool m_dt(shell *sh, wr_str arg) { return list_objects(sh, arg, true, false); }
static bool m_dv(shell *sh, wr_str arg) { return list_objects(sh, arg, false, true); }

static bool m_df(shell *sh, wr_str arg) {
    uint32_t n = 0;
    (void)sh;
    for (size_t i = 0; i < wr_fn_count(); i++) {
        wr_str name, kind, signatures, summary;
        wr_fn_describe(i, &name, &kind, &signatures, &summary);
        if (wr_str_eq(kind, WR_STR("operator")) || !has(name, arg)) continue;
        n++;
        printf("%-26.*s  %.*s\n", WR_FMT(name), WR_FMT(summary));
        if (arg.len && signatures.len) printf("%-26s  %.*s\n", "", WR_FMT(signatures));
    }
    for (int k = 0; k < WR_AGG_KIND_COUNT; k++) {
        wr_str name = wr_str_of(wr_agg_name((wr_agg_kind)k));
        if (wr_agg_exists(name) && has(name, arg)) printf("%-26.*s  aggregate\n", WR_FMT(name)), n++;
    }
    static const char *const windows[] = {"TUMBLE", "HOP", "CUMULATE", "SESSION"};
    for (size_t i = 0; i < WR_COUNT_OF(windows); i++)
        if (has(wr_str_of(windows[i]), arg)) printf("%-26s  windows over time: FROM TABLE(%s(TABLE t, DESCRIPTOR(ts), INTERVAL ...))\n", windows[i], windows[i]), n++;
    if (!n) printf("no function has '%.*s' in its name\n", WR_FMT(arg));
    return true;
}

static bool on_off(shell *sh, const char *what, wr_str arg, bool *value) {
    if (!arg.len) *value = !*value;
    else if (wr_str_ieq(arg, WR_STR("on"))) *value = true;
    else if (wr_str_ieq(arg, WR_STR("off"))) *value = false;
    else return shell_error(sh, "\\%s takes on or off, not '%.*s'", what, WR_FMT(arg));
    if (sh->editor) printf("%s is %s\n", what, *value ? "on" : "off");
    return true;
}
static bool m_timing(shell *sh, wr_str arg) { return on_off(sh, "timing", arg, &sh->timing); }
static bool m_changelog(shell *sh, wr_str arg) { return on_off(sh, "changelog", arg, &sh->changelog); }

static bool m_x(shell *sh, wr_str arg) {
    static const char *const names[] = {"off", "on", "auto"};
    if (!arg.len) sh->rows.expanded = sh->rows.expanded == EXPANDED_OFF ? EXPANDED_ON : EXPANDED_OFF;
    else {
        size_t i = 0;
        while (i < WR_COUNT_OF(names) && !wr_str_ieq(arg, wr_str_of(names[i]))) i++;
        if (i == WR_COUNT_OF(names)) return shell_error(sh, "\\x takes on, off or auto, not '%.*s'", WR_FMT(arg));
        sh->rows.expanded = (shell_expanded)i;
    }
    if (sh->editor) printf("one column a line: %s\n", names[sh->rows.expanded]);
    return true;
}

static bool m_format(shell *sh, wr_str arg) {
    static const char *const names[] = {[SHELL_TABLE] = "table", [SHELL_CSV] = "csv", [SHELL_JSON] = "json"};
    for (size_t i = 0; i < WR_COUNT_OF(names); i++)
        if (wr_str_ieq(arg, wr_str_of(names[i])) || (i == SHELL_JSON && wr_str_ieq(arg, WR_STR("jsonl")))) return sh->rows.format = (shell_format)i, true;
    if (arg.len) return shell_error(sh, "\\format takes table, csv or json, not '%.*s'", WR_FMT(arg));
    printf("%s\n", names[sh->rows.format]);
    return true;
}

static char *path_of(wr_str arg) {
    if (arg.len >= 2 && (*arg.ptr == '\'' || *arg.ptr == '"') && arg.ptr[arg.len - 1] == *arg.ptr) arg.ptr++, arg.len -= 2;
    wr_sbuf path = {0};
    wr_sbuf_add_str(&path, arg);
    wr_sbuf_addc(&path, '\0');
    return path.at;
}

static bool m_i(shell *sh, wr_str arg) {
    if (!arg.len) return shell_error(sh, "\\i FILE: which file?");
    char *path = path_of(arg);
    bool  ok = shell_file(sh, path);
    wr_free(path);
    return ok;
}

static bool m_infer(shell *sh, wr_str arg) {
    if (!arg.len) return shell_error(sh, "\\infer FILE: which file? It is one of .csv, .json, .jsonl or .ndjson");
    char *path = path_of(arg);
    bool  ok = infer_is_data(path) ? shell_file(sh, path) : shell_error(sh, "\\infer: %s is not .csv, .json, .jsonl or .ndjson", path);
    wr_free(path);
    return ok;
}

static bool m_explain(shell *sh, wr_str arg) {
    wr_sbuf sql = {0};
    if (!arg.len) arg = wr_sbuf_str(&sh->last);
    if (!arg.len) return shell_error(sh, "\\explain QUERY: which query? Alone it means the last one");
    wr_sbuf_printf(&sql, "EXPLAIN %.*s", WR_FMT(arg));
    return run_sql(sh, &sql);
}

/* The last statement, or a file, in an editor; what comes back is run. */
static bool m_e(shell *sh, wr_str arg) {
    wr_err      err = {0};
    wr_sbuf     command = {0}, text = {0};
    const char *editor = getenv("VISUAL") ? getenv("VISUAL") : getenv("EDITOR") ? getenv("EDITOR") : "vi", *tmp = getenv("TMPDIR");
    char        made[512];
    char       *path = arg.len ? path_of(arg) : NULL;
    if (!sh->editor) return wr_free(path), shell_error(sh, "\\e needs a terminal");
    if (!path) snprintf(made, sizeof made, "%s/weir-sql-%d.sql", tmp && tmp[0] ? tmp : "/tmp", (int)getpid());
    const char *file = path ? path : made;
    bool        ok = path || wr_file_replace(wr_world_posix(), file, wr_sbuf_str(&sh->last), &err) == WR_OK;
    if (ok) {
        wr_sbuf_printf(&command, "%s \"$WEIR_EDIT\"", editor);
        setenv("WEIR_EDIT", file, 1);
        if (system(command.at) != 0) ok = shell_error(sh, "\\e: %s did not end well", editor);
    }
    if (ok) ok = wr_file_read_all(wr_world_posix(), file, WR_SQL_TEXT_BYTES_MAX, &text, &err) == WR_OK;
    if (!path) (void)!wr_world_posix()->vt->remove(wr_world_posix(), made, &(wr_err){0});
    if (err.message[0]) print_err(&err, sh->args.json);
    if (ok) {
        fwrite(text.at ? text.at : "", 1, text.len, stdout);
        line_editor_remember(sh->editor, wr_str_trim(wr_sbuf_str(&text)));
        ok = shell_text(sh, path ? path : "sql", wr_sbuf_str(&text));
    }
    wr_sbuf_free(&command), wr_sbuf_free(&text), wr_free(path);
    return ok;
}

static bool m_set(shell *sh, wr_str arg) {
    wr_err err = {0};
    char  *text = path_of(arg);
    bool   ok = wr_session_set(sh->session, text, &err) == WR_OK;
    wr_free(text);
    if (ok) return true;
    return shell_error(sh, "\\set: %s", err.message);
}

static bool m_q(shell *sh, wr_str arg) { return (void)arg, sh->quit = true; }
static bool m_help(shell *sh, wr_str arg);

static const meta METAS[] = {
    {"d", "[NAME]", "tables and views; or one of them: columns, types, key, watermark, connector", m_d},
    {"dt", "[PART]", "tables (with PART in the name)", m_dt},
    {"dv", "[PART]", "views", m_dv},
    {"df", "[PART]", "functions; with PART also how they are called", m_df},
    {"infer", "FILE", "makes a table for a .csv or .jsonl file and prints its CREATE TABLE", m_infer},
    {"i", "FILE", "runs the statements of a file (or does as \\infer)", m_i},
    {"e", "[FILE]", "the last query, or a file, in $EDITOR; then it runs", m_e},
    {"explain", "[QUERY]", "plan and state bill of a query, or of the last one", m_explain},
    {"timing", "[on|off]", "how long each statement took", m_timing},
    {"x", "[on|off|auto]", "one column a line", m_x},
    {"format", "table|csv|json", "how rows are printed", m_format},
    {"changelog", "[on|off]", "every change (+I -U +U -D) instead of the rows that hold at the end", m_changelog},
    {"set", "NAME=VALUE", "gives ${NAME} in statements a value", m_set},
    {"q", "", "leave (Ctrl-D does too); Ctrl-C stops a query, not the shell", m_q},
    {"?", "", "this", m_help},
};

static bool m_help(shell *sh, wr_str arg) {
    (void)sh, (void)arg;
    puts("Statements end with ';'. CREATE, SELECT, INSERT INTO, SET, RESET, SHOW, DESCRIBE and EXPLAIN run; tables and settings live as long as the shell.\n"
         "A query over files ends with its rows; one over an input without an end runs until Ctrl-C.\n");
    for (size_t i = 0; i < WR_COUNT_OF(METAS); i++) printf("  \\%-9s %-15s %s\n", METAS[i].name, METAS[i].args, METAS[i].help);
    return true;
}

bool shell_meta(shell *sh, wr_str line) {
    wr_str word = {line.ptr + 1, 0};
    while (1 + word.len < line.len && word.ptr[word.len] != ' ' && word.ptr[word.len] != '\t') word.len++;
    wr_str arg = wr_str_trim((wr_str){word.ptr + word.len, line.len - 1 - word.len});
    while (word.len > 1 && word.ptr[word.len - 1] == ';') word.len--;
    while (arg.len && arg.ptr[arg.len - 1] == ';') arg.len--;
    if (word.len > 1 && word.ptr[word.len - 1] == '+') word.len--; /* \d+: everything is told anyway */
    if (wr_str_eq(word, WR_STR("h"))) word = WR_STR("?");
    bool ok = false, known = false;
    for (size_t i = 0; i < WR_COUNT_OF(METAS) && !known; i++)
        if (wr_str_eq(word, wr_str_of(METAS[i].name))) known = true, ok = METAS[i].run(sh, arg);
    if (!known) return shell_error(sh, "there is no command \\%.*s; \\? lists them", WR_FMT(word));
    fflush(stdout);
    return ok;
}
