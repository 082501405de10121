/* tools/gen_docs.c: prints one generated part of the documents, taken from the tables that the program itself works with.
 *
 * Usage      gen_docs functions | aggregates | connector NAME | source | format NAME | settings | names
 * Idea       tools/gen-docs puts what this prints between marks in docs/ and compares it there, so an option, a function or a setting cannot
 *            be added, renamed or removed without its line. `names` lists the parts, so that a connector without a place is an error.
 * Memory     a short-lived program: nothing is freed.                                                                   */
#include "api/session.h"
#include "catalog/catalog.h"
#include "connect/connect.h"
#include "expr/expr.h"
#include "format/format.h"
#include "op/op.h"
#include <stdio.h>
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
}

/* ---- connectors, formats, settings ---- */
static void kind_cell(const char *kind) {
    if (strncmp(kind, "enum:", 5)) {
        fputs(kind, stdout);
        return;
    }
    for (const char *c = kind + 5; *c; c++) *c == '|' ? fputs(", ", stdout) : putchar(*c);
}

static void options(const wr_option_spec *s) {
    if (!s || !s->key) {
        puts("No options of its own.");
        return;
    }
    puts("| option | value | default | |\n|---|---|---|---|");
    for (; s->key; s++) {
        printf("| `%s` | ", s->key);
        kind_cell(s->kind);
        if (s->required) fputs(" | required | ", stdout);
        else if (s->fallback && s->fallback[0]) printf(" | `%s` | ", s->fallback);
        else fputs(" | | ", stdout);
        cell(wr_str_of(s->doc ? s->doc : "")), puts(" |");
    }
}

static bool connector(const char *name) {
    const wr_connector *c = wr_connector_find(wr_str_of(name));
    if (!c) return false;
    printf("%s. %s%s%s.\n\n", c->doc ? c->doc : name, c->source_new ? "Source" : "", c->source_new && c->sink_new ? " and sink" : "", !c->source_new ? "Sink" : "");
    options(c->specs);
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

static void names(void) {
    size_t n;
    puts("functions\naggregates\nsettings\nsource");
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
    else if (!strcmp(what, "names")) names();
    else if (!(argc > 2 && ((!strcmp(what, "connector") && connector(argv[2])) || (!strcmp(what, "format") && format(argv[2]))))) {
        fprintf(stderr, "usage: gen_docs functions|aggregates|connector NAME|source|format NAME|settings|names\n");
        return 2;
    }
    return 0;
}
