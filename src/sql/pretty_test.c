/* sql/pretty_test.c: layouts by hand; and for every script of the project: laid out twice is laid out once, and it parses to the same. */
#include "sql/sql.h"
#include <glob.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
/* after the three above */
#include <cmocka.h>

static void expect(const char *sql, const char *want) {
    wr_diags diags;
    wr_sbuf  out = {0};
    wr_diags_init(&diags);
    uint32_t file = wr_diags_add_source(&diags, WR_STR("t.sql"), wr_str_of(sql));
    assert_int_equal(wr_sql_pretty(file, wr_str_of(sql), &diags, &out), WR_OK);
    assert_string_equal(out.at ? out.at : "", want);
    wr_sbuf_free(&out);
    wr_diags_free(&diags);
}

static void short_ones(void **state) {
    (void)state;
    expect("", "");
    expect("select a,b from t where x=1 ;", "SELECT a, b FROM t WHERE x = 1;\n");
}

static void layouts(void **state) {
    (void)state;
    expect("SELECT  a ,b\nFROM t;", "SELECT a, b FROM t;\n");
    expect("select f( x ) from t where a in(1,2) and b=-1", "SELECT f(x) FROM t WHERE a IN (1, 2) AND b = -1\n");
    expect("-- first\nSELECT 1; -- why\n\n\n/* second */ SELECT 2;\n", "-- first\nSELECT 1;  -- why\n\n/* second */\nSELECT 2;\n");
    expect("SELECT alpha_alpha_alpha, beta_beta_beta_beta, gamma_gamma_gamma, delta_delta_delta FROM some_long_table WHERE alpha_alpha_alpha BETWEEN 1 AND 2 AND beta_beta_beta_beta = 'x'",
           "SELECT alpha_alpha_alpha, beta_beta_beta_beta, gamma_gamma_gamma, delta_delta_delta\n"
           "FROM some_long_table\n"
           "WHERE alpha_alpha_alpha BETWEEN 1 AND 2 AND beta_beta_beta_beta = 'x'\n");
    expect("CREATE TABLE t (id BIGINT, name STRING, -- as they call it\n ts TIMESTAMP(3)) WITH ('connector'='filesystem','path'='x.jsonl')",
           "CREATE TABLE t (\n"
           "  id BIGINT,\n"
           "  name STRING,  -- as they call it\n"
           "  ts TIMESTAMP(3)\n"
           ") WITH ('connector' = 'filesystem', 'path' = 'x.jsonl')\n");
}

static void lexical_errors(void **state) {
    (void)state;
    wr_diags diags;
    wr_sbuf  out = {0};
    wr_diags_init(&diags);
    wr_str   sql = WR_STR("SELECT 'open");
    uint32_t file = wr_diags_add_source(&diags, WR_STR("t.sql"), sql);
    assert_int_equal(wr_sql_pretty(file, sql, &diags, &out), WR_USER);
    wr_sbuf_free(&out);
    wr_diags_free(&diags);
}

/* The statements of a script as the AST formatter writes them. */
static void canonical(wr_str sql, wr_sbuf *out) {
    wr_arena  *arena = wr_arena_new(NULL);
    wr_diags   diags;
    wr_script *script;
    wr_diags_init(&diags);
    uint32_t  file = wr_diags_add_source(&diags, WR_STR("t.sql"), sql);
    wr_status status = wr_sql_parse(arena, file, sql, &diags, &script);
    (void)status; /* scripts with mistakes: what parsed counts */
    for (uint32_t i = 0; i < script->stmts.n; i++) wr_sql_format(script->stmts.at[i], out), wr_sbuf_addc(out, '\n');
    wr_diags_free(&diags);
    wr_arena_free(arena);
}

static void read_file(const char *path, wr_sbuf *out) {
    FILE *f = fopen(path, "r");
    char  buf[4096];
    assert_non_null(f);
    for (size_t n; (n = fread(buf, 1, sizeof buf, f)) > 0;) wr_sbuf_add(out, buf, n);
    fclose(f);
}

static void all_scripts(void **state) {
    (void)state;
    static const char *const patterns[] = {"examples/*/*.sql", "tests/cases/*/*.sql", "../shared/cases/*/case.sql"};
    uint32_t n = 0;
    for (size_t k = 0; k < WR_COUNT_OF(patterns); k++) {
        glob_t found;
        if (glob(patterns[k], 0, NULL, &found) != 0) continue;
        for (size_t i = 0; i < found.gl_pathc; i++) {
            wr_sbuf  text = {0}, once = {0}, twice = {0}, before = {0}, after = {0};
            wr_diags diags;
            wr_diags_init(&diags);
            read_file(found.gl_pathv[i], &text);
            if (wr_sql_pretty(wr_diags_add_source(&diags, WR_STR("a"), wr_sbuf_str(&text)), wr_sbuf_str(&text), &diags, &once) == WR_OK) {
                assert_int_equal(wr_sql_pretty(wr_diags_add_source(&diags, WR_STR("b"), wr_sbuf_str(&once)), wr_sbuf_str(&once), &diags, &twice), WR_OK);
                if (strcmp(once.at, twice.at)) fail_msg("%s: laid out again it is another:\n%s\n----\n%s", found.gl_pathv[i], once.at, twice.at);
                canonical(wr_sbuf_str(&text), &before), canonical(wr_sbuf_str(&once), &after);
                assert_string_equal(before.at ? before.at : "", after.at ? after.at : "");
                n++;
            }
            wr_sbuf_free(&text), wr_sbuf_free(&once), wr_sbuf_free(&twice), wr_sbuf_free(&before), wr_sbuf_free(&after);
            wr_diags_free(&diags);
        }
        globfree(&found);
    }
    assert_true(n >= 8);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(short_ones), cmocka_unit_test(layouts), cmocka_unit_test(lexical_errors), cmocka_unit_test(all_scripts)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
