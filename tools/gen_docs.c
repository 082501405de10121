/* tools/gen_docs.c: prints one generated part of the documents, taken from the tables that the program itself works with.
 *
 * Usage      gen_docs parity LIST | functions | aggregates | connector NAME | source | lookup | contract | letters | format NAME | settings | names
 * Idea       tools/gen-docs puts what this prints between marks in docs/ and compares it there, so an option, a function or a setting cannot
 *            be added, renamed or removed without its line. `names` lists the parts, so that a connector without a place is an error.
 *            `parity` tries every line of docs/sql/flink.list: what weir answers is computed, not claimed.
 * Memory     a short-lived program: nothing is freed.                                                                   */
#include "catalog/letter.h"
#include "api/session.h"
#include "catalog/catalog.h"
#include "connect/connect.h"
#include "format/records.h"
#include "expr/expr.h"
#include "format/format.h"
#include "op/op.h"
#include "serve/serve.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void cell(wr_str text) {
    for (size_t i = 0; i < text.len; i++) {
        if (text.ptr[i] == '|') putchar('\\');
        if (text.ptr[i] == '\n') fputs("<br>", stdout);
        else if (text.ptr[i] == '<') fputs("&lt;", stdout);
        else putchar(text.ptr[i]);
    }
}

static void code_lines(wr_str text) {
    const char *at = text.ptr, *end = text.ptr + text.len;
    for (bool first = true; at < end; first = false) {
        const char *nl = memchr(at, '\n', (size_t)(end - at)), *to = nl ? nl : end;
        if (!first) fputs("<br>", stdout);
        putchar('`');
        for (const char *c = at; c < to; c++) {
            if (*c == '|') putchar('\\');
            putchar(*c);
        }
        putchar('`');
        at = to + 1;
    }
}

static void functions(void) {
    wr_str kinds[64];
    size_t n_kinds = 0, n = wr_fn_count();
    for (size_t i = 0; i < n; i++) {
        wr_str name, kind, signatures, summary;
        wr_fn_describe(i, &name, &kind, &signatures, &summary);
        size_t k = 0;
        if (wr_str_eq(kind, WR_STR("aggregate parts"))) continue; /* with the aggregates */
        while (k < n_kinds && !wr_str_eq(kinds[k], kind)) k++;
        if (k == n_kinds && n_kinds < WR_COUNT_OF(kinds)) kinds[n_kinds++] = kind;
    }
    for (size_t k = 0; k < n_kinds; k++) {
        printf("\n## %c%.*s\n\n| name | forms | what it gives |\n|---|---|---|\n", kinds[k].ptr[0] - 'a' + 'A', (int)kinds[k].len - 1, kinds[k].ptr + 1);
        for (size_t i = 0; i < n; i++) {
            wr_str name, kind, signatures, summary;
            wr_fn_describe(i, &name, &kind, &signatures, &summary);
            if (!wr_str_eq(kind, kinds[k])) continue;
            fputs("| ", stdout), cell(name), fputs(" | ", stdout), code_lines(signatures), fputs(" | ", stdout), cell(summary), puts(" |");
        }
    }
}

/* ---- aggregates ---- */
static const char *const AGGREGATES[] = {"COUNT", "SUM", "SUM0", "AVG", "MIN", "MAX", "FIRST_VALUE", "LAST_VALUE", "STDDEV_POP", "STDDEV_SAMP", "STDDEV", "VAR_POP",
                                         "VAR_SAMP", "VARIANCE", "LISTAGG", "COLLECT", "ARRAY_AGG", "APPROX_COUNT_DISTINCT", "SINGLE_VALUE"};

static bool resolve(wr_expr_ctx *ctx, const char *name, const wr_type *arg, wr_agg *out) { return wr_agg_resolve(ctx, wr_str_of(name), arg, 1, false, (wr_span){0}, out); }

static void result_types(wr_expr_ctx *ctx, const char *name) {
    const wr_type args[] = {wr_type_of(WR_T_INT), wr_type_decimal(10, 2), wr_type_of(WR_T_DOUBLE), wr_type_string()};
    const char   *sep = "";
    for (size_t i = 0; i < WR_COUNT_OF(args); i++) {
        wr_agg  agg;
        wr_sbuf a = {0}, r = {0};
        if (!resolve(ctx, name, &args[i], &agg)) continue;
        wr_type_text(args[i], &a), wr_type_text(agg.type, &r);
        printf("%s%.*s -> %.*s", sep, (int)a.len, a.at, (int)r.len, r.at);
        sep = "<br>";
    }
}

static void aggregates(void) {
    wr_diags diags;
    wr_diags_init(&diags);
    wr_expr_ctx ctx = {.arena = wr_arena_new(NULL), .diags = &diags};
    puts("| forms | result for an argument | when rows are taken back it |\n|---|---|---|");
    for (size_t i = 0; i < WR_COUNT_OF(AGGREGATES); i++) {
        wr_type none[3] = {wr_type_of(WR_T_NULL), wr_type_of(WR_T_NULL), wr_type_of(WR_T_NULL)}, args[] = {wr_type_of(WR_T_INT), wr_type_string()};
        wr_agg  agg;
        wr_agg_resolve(&ctx, wr_str_of(AGGREGATES[i]), none, 3, false, (wr_span){0}, &agg); /* refused: its hint is the signature */
        const char *hint = diags.list.n ? diags.list.at[diags.list.n - 1].hint : "", *forms = hint && strstr(hint, ": ") ? strstr(hint, ": ") + 2 : AGGREGATES[i];
        fputs("| ", stdout), code_lines(wr_str_of(forms)), fputs(" | ", stdout);
        result_types(&ctx, AGGREGATES[i]);
        const char *cost = resolve(&ctx, AGGREGATES[i], &args[0], &agg) || resolve(&ctx, AGGREGATES[i], &args[1], &agg) ? wr_agg_describe(&agg, true).retract_cost : "";
        fputs(" | ", stdout), cell(wr_str_of(cost && cost[0] ? cost : "needs nothing more")), puts(" |");
    }
    for (size_t i = 0, n = wr_fn_count(); i < n; i++) { /* those made of another aggregate and a function */
        wr_str name, kind, signatures, summary;
        wr_fn_describe(i, &name, &kind, &signatures, &summary);
        if (!wr_str_eq(kind, WR_STR("aggregate parts"))) continue;
        fputs("| ", stdout), code_lines(signatures), fputs(" | ", stdout), cell(summary), puts(" | keeps every value of the group |");
    }
}

/* ---- connectors, formats, settings ---- */
static void kind_cell(const char *kind) {
    if (strncmp(kind, "enum:", 5)) {
        fputs(kind, stdout);
        return;
    }
    for (const char *c = kind + 5; *c; c++) *c == '|' ? fputs(", ", stdout) : putchar(*c);
}

static void option_rows(const wr_option_spec *s) {
    for (; s->key; s++) {
        printf("| `%s` | ", s->key);
        kind_cell(s->kind);
        if (s->required) fputs(" | required | ", stdout);
        else if (s->fallback && s->fallback[0]) printf(" | `%s` | ", s->fallback);
        else fputs(" | | ", stdout);
        cell(wr_str_of(s->doc ? s->doc : "")), puts(" |");
    }
}

static void options(const wr_option_spec *s) {
    if (!s || !s->key) {
        puts("No options of its own.");
        return;
    }
    puts("| option | value | default | |\n|---|---|---|---|");
    option_rows(s);
}

static bool connector(const char *name) {
    const wr_connector *c = wr_connector_find(wr_str_of(name));
    if (!c) return false;
    printf("%s. %s%s%s.\n\n", c->doc ? c->doc : name, c->source_new ? "Source" : "", c->source_new && c->sink_new ? " and sink" : "", !c->source_new ? "Sink" : "");
    options(c->specs);
    if (c->records) option_rows(wr_record_specs);
    if (c->metadata && c->metadata[0]) {
        fputs("\nMetadata columns:", stdout);
        for (size_t i = 0; c->metadata[i]; i++) printf("%s `%s`", i ? "," : "", c->metadata[i]);
        puts(".");
    }
    return true;
}

static bool format(const char *name) {
    static const char *const CHANGES[] = {"inserts only", "upserts by PRIMARY KEY", "all changes"};
    const wr_format *f = wr_format_find(wr_str_of(name));
    if (!f) return false;
    printf("Reads%s; a table of this format gives %s.\n\n", f->can_write ? " and writes" : "", CHANGES[f->changes]);
    options(f->specs);
    if (f->metadata) {
        puts("\n| metadata | type | |\n|---|---|---|");
        for (const wr_format_metadata *m = f->metadata; m->key; m++) printf("| `value.%s` | `%s` | %s |\n", m->key, m->type, m->doc);
    }
    return true;
}

static void settings(void) {
    size_t n;
    const wr_setting_info *all = wr_settings(&n);
    puts("| setting | default | |\n|---|---|---|");
    for (size_t i = 0; i < n; i++) {
        printf("| `%s` | ", all[i].key);
        if (all[i].fallback[0]) printf("`%s`", all[i].fallback);
        fputs(" | ", stdout), cell(wr_str_of(all[i].doc)), puts(" |");
    }
}

/* ---- the parity table: docs/sql/flink.list, tried line by line ---- */
typedef struct parity_row {
    wr_str kind, name, sql, flink, note;
    bool   value; /* the answer is compared, not only the plan */
    char  *got;   /* weir's answer; NULL: none */
    bool   yes;
} parity_row;
typedef struct parity_list { WR_ARR(parity_row) rows; wr_sbuf setup; } parity_list;

typedef struct parity_answers { WR_ARR(char *) texts; } parity_answers;

static wr_status parity_rows(void *arg, wr_str table, const wr_schema *schema, const wr_tz *tz, wr_batch *batch, wr_err *err) {
    (void)table, (void)schema, (void)err;
    parity_answers *got = arg;
    for (uint32_t i = 0; i < wr_batch_live(batch); i++) {
        uint32_t row = wr_batch_row(batch, i), at = got->texts.n;
        wr_sbuf  text = {0};
        wr_vec_text(&batch->cols[0], row, tz, &text);
        char *t = strdup(text.at ? text.at : "");
        wr_sbuf_free(&text);
        if (wr_kind_adds(wr_batch_kind(batch, row))) {
            wr_arr_push(&got->texts, t);
            continue;
        }
        while (at > 0 && strcmp(got->texts.at[at - 1], t)) at--;
        if (at == 0) continue;
        memmove(got->texts.at + at - 1, got->texts.at + at, (got->texts.n - at) * sizeof t);
        got->texts.n--;
    }
    return WR_OK;
}

static void parity_try(parity_row *row, wr_str setup) {
    parity_answers   got = {0};
    wr_session_opts opts = {.n_workers = 1, .accept_unbounded = true, .arg = &got, .on_rows = parity_rows};
    wr_session     *s = wr_session_new(&opts);
    wr_err          err = {0};
    wr_sbuf         sql = {0};
    wr_session_set(s, "table.local-time-zone=UTC", &err);
    if (getenv("GEN_DOCS_LIB")) {
        char lib[1024];
        snprintf(lib, sizeof lib, "LIB=%s", getenv("GEN_DOCS_LIB"));
        wr_session_set(s, lib, &err);
    }
    wr_session_load_text(s, "setup", setup);
    wr_session_plan(s); /* a table that weir does not have fails the lines that read it */
    if (!row->value || wr_str_starts(row->sql, WR_STR("SELECT "))) wr_sbuf_add_str(&sql, row->sql);
    else wr_sbuf_printf(&sql, "SELECT CAST(%.*s AS STRING)", WR_FMT(row->sql));
    wr_session_load_text(s, "line", wr_sbuf_str(&sql));
    row->yes = wr_session_plan(s) == WR_OK && wr_session_diags(s)->n_errors == 0;
    if (row->yes && row->value) {
        row->yes = wr_session_run(s, &err) == WR_OK && got.texts.n;
        if (row->yes) row->got = got.texts.at[got.texts.n - 1]; /* the last row that stands */
        row->yes = row->yes && (wr_str_eq(row->flink, WR_STR("*")) || wr_str_eq(wr_str_of(row->got), row->flink));
    }
    wr_session_free(s);
}

static wr_str next_part(wr_str *line) {
    const char *at = memmem(line->ptr, line->len, " :: ", 4);
    wr_str part = {line->ptr, at ? (size_t)(at - line->ptr) : line->len};
    size_t used = part.len + (at ? 4 : 0);
    *line = (wr_str){line->ptr + used, line->len - used};
    return part;
}

static bool parity_read(const char *path, parity_list *list) {
    FILE *f = fopen(path, "r");
    if (!f) return false;
    wr_str kind = {0};
    bool   value = false;
    char  *text = NULL;
    size_t room = 0;
    for (ssize_t n; (n = getline(&text, &room, f)) >= 0;) {
        if (n && text[n - 1] == '\n') n--;
        wr_str line = {strndup(text, (size_t)n), (size_t)n};
        if (n == 0 || line.ptr[0] == '#') continue;
        if (line.ptr[0] == '[') {
            value = wr_str_starts(line, WR_STR("[value "));
            const char *from = strchr(line.ptr, ' ') + 1;
            kind = (wr_str){from, strlen(from) - 1};
        } else if (line.ptr[0] == '$') {
            wr_sbuf_printf(&list->setup, "%s;\n", line.ptr + 1);
        } else {
            parity_row row = {.kind = kind, .value = value, .name = next_part(&line), .sql = next_part(&line)};
            row.flink = value ? next_part(&line) : (wr_str){0};
            row.note = line;
            wr_arr_push(&list->rows, row);
        }
    }
    fclose(f);
    free(text);
    return list->rows.n != 0;
}

static void parity_answer(const parity_row *r) { /* how it differs */
    if (r->value && !r->yes && r->got) fputs("gives `", stdout), cell(wr_str_of(r->got)), fputs(r->note.len ? "`: " : "`", stdout);
    cell(r->note);
}

static bool parity(const char *path) {
    parity_list list = {0};
    if (!parity_read(path, &list)) return false;
    size_t n = list.rows.n, all_yes = 0;
    for (size_t i = 0; i < n; i++) parity_try(&list.rows.at[i], wr_sbuf_str(&list.setup)), all_yes += list.rows.at[i].yes;
    printf("**%zu of %zu: %.1f %%**\n\n| kind | yes | of | |\n|---|---|---|---|\n", all_yes, n, 100.0 * (double)all_yes / (double)n);
    for (size_t i = 0, end; i < n; i = end) {
        size_t yes = 0;
        for (end = i; end < n && wr_str_eq(list.rows.at[end].kind, list.rows.at[i].kind); end++) yes += list.rows.at[end].yes;
        printf("| %.*s | %zu | %zu | %.0f %% |\n", WR_FMT(list.rows.at[i].kind), yes, end - i, 100.0 * (double)yes / (double)(end - i));
    }
    for (size_t i = 0; i < n; i++) {
        const parity_row *r = &list.rows.at[i];
        if (i == 0 || !wr_str_eq(r->kind, r[-1].kind))
            printf("\n## %.*s\n\n| | tried | %sweir | differs how |\n|---|---|---|%s\n", WR_FMT(r->kind), r->value ? "Flink | " : "", r->value ? "---|---|" : "---|");
        fputs("| ", stdout), cell(r->name), fputs(" | ", stdout), code_lines(r->sql), fputs(" | ", stdout);
        if (r->value) cell(r->flink), fputs(" | ", stdout);
        fputs(r->yes ? "yes | " : "no | ", stdout), parity_answer(r), puts(" |");
    }
    return true;
}

static void letters(void) {
    printf("| column | type | |\n|---|---|---|\n");
    for (int i = 0; i < WR_LETTER_FIELDS; i++) {
        const wr_letter_column *c = &wr_letter_columns[i];
        bool bytes = i == WR_LETTER_RAW || i == WR_LETTER_KEY;
        printf("| `%s` | %s | %s |\n", c->name, c->type == WR_T_BIGINT ? "BIGINT" : c->type == WR_T_TIMESTAMP_LTZ ? "TIMESTAMP_LTZ(3)" : bytes ? "STRING or BYTES" : "STRING", c->doc);
    }
}

static void metrics(void) {
    puts("| name | type | labels beside `job` | |\n|---|---|---|---|\n| `weir_build_info` | gauge | `version`, without `job` | 1; the version |");
    for (size_t i = 0; wr_serve_metric(i); i++) {
        const wr_metric *m = wr_serve_metric(i);
        printf("| `%s` | %s | %s | %s |\n", m->name, m->type, m->labels, m->help);
    }
}

static void names(void) {
    size_t n;
    puts("functions\naggregates\nsettings\nsource\nlookup\ncontract\nslo\nmetrics\nparity docs/sql/flink.list");
    const wr_connector *const *c = wr_connectors(&n);
    for (size_t i = 0; i < n; i++)
        if (strcmp(c[i]->name, "result")) printf("connector %s\n", c[i]->name);
    const wr_format *const *f = wr_formats(&n);
    for (size_t i = 0; i < n; i++) printf("format %s\n", f[i]->name);
}

int main(int argc, char **argv) {
    wr_session_free(wr_session_new(NULL)); /* registers the connectors of api/ */
    const char *what = argc > 1 ? argv[1] : "";
    if (!strcmp(what, "functions")) functions();
    else if (!strcmp(what, "aggregates")) aggregates();
    else if (!strcmp(what, "settings")) settings();
    else if (!strcmp(what, "source")) options(wr_source_specs);
    else if (!strcmp(what, "lookup")) options(wr_lookup_specs);
    else if (!strcmp(what, "contract")) options(wr_contract_specs);
    else if (!strcmp(what, "slo")) options(wr_slo_specs);
    else if (!strcmp(what, "metrics")) metrics();
    else if (!strcmp(what, "letters")) letters();
    else if (!strcmp(what, "names")) names();
    else if (!strcmp(what, "parity") && argc > 2) return parity(argv[2]) ? 0 : 2;
    else if (!(argc > 2 && ((!strcmp(what, "connector") && connector(argv[2])) || (!strcmp(what, "format") && format(argv[2]))))) {
        fprintf(stderr, "usage: gen_docs parity LIST|functions|aggregates|connector NAME|source|lookup|contract|slo|metrics|letters|format NAME|settings|names\n");
        return 2;
    }
    return 0;
}
