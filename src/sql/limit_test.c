/* sql/limit_test.c: long, deep and many: an answer in time, or a clear error with a place; never a crash. */
#include "sql/sql.h"
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
#include <time.h>

typedef struct run { wr_arena *arena; wr_diags diags; wr_script *script; wr_status status; double seconds; } run;

static run parse(wr_str text) {
    run r = {.arena = wr_arena_new(NULL)};
    wr_diags_init(&r.diags);
    uint32_t file = wr_diags_add_source(&r.diags, WR_STR("x"), text);
    clock_t  start = clock();
    r.status = wr_sql_parse(r.arena, file, text, &r.diags, &r.script);
    r.seconds = (double)(clock() - start) / CLOCKS_PER_SEC;
    return r;
}

static void done(run *r) {
    wr_diags_free(&r->diags);
    wr_arena_free(r->arena);
}

static void repeat(wr_sbuf *out, const char *text, int n) {
    for (int i = 0; i < n; i++) wr_sbuf_addz(out, text);
}

static void test_deep(void **state) {
    (void)state;
    static const struct { const char *before, *open, *middle, *close, *after; } DEEP[] = {
        {"SELECT ", "(", "1", ")", ""},
        {"SELECT ", "f(", "1", ")", ""},
        {"SELECT ", "(1 + ", "1", ")", ""},
        {"SELECT ", "- ", "1", "", ""},
        {"SELECT ", "NOT ", "a", "", ""},
        {"SELECT ", "a[", "1", "]", ""},
        {"SELECT ", "CASE WHEN a THEN ", "1", " END", ""},
        {"SELECT ", "CAST(", "1", " AS INT)", ""},
        {"SELECT ", "ARRAY[", "1", "]", ""},
        {"SELECT ", "a IN (", "1", ")", ""},
        {"SELECT ", "EXISTS (SELECT ", "1", ")", ""},
        {"SELECT ", "(SELECT ", "1", ")", ""},
        {"", "(", "SELECT 1", ")", ""},
        {"", "SELECT * FROM (", "SELECT 1", ")", ""},
        {"SELECT * FROM ", "(", "t", ")", ""},
        {"SELECT * FROM ", "(a CROSS JOIN ", "t", ")", ""},
        {"", "WITH x AS (", "SELECT 1", ") SELECT 1", ""},
        {"SELECT CAST(a AS ", "ARRAY<", "INT", ">", ")"},
        {"SELECT CAST(a AS ", "ROW<b ", "INT", ">", ")"},
        {"SELECT a FROM t GROUP BY ", "GROUPING SETS (", "a", ")", ""},
        {"SELECT * FROM t MATCH_RECOGNIZE (PATTERN (", "(", "A", ")", ") DEFINE A AS TRUE)"},
        {"SELECT * FROM t MATCH_RECOGNIZE (PATTERN (", "(A | ", "A", ")+", ") DEFINE A AS TRUE)"},
        {"SELECT SUM(a) OVER (ORDER BY ", "SUM(a) OVER (ORDER BY ", "b", ")", ")"},
    };
    static const int DEPTHS[] = {10, 100, 400, 600, 10000, 100000};
    for (size_t i = 0; i < WR_COUNT_OF(DEEP); i++) {
        for (size_t k = 0; k < WR_COUNT_OF(DEPTHS); k++) {
            wr_sbuf text = {0}, out = {0};
            wr_sbuf_addz(&text, DEEP[i].before);
            repeat(&text, DEEP[i].open, DEPTHS[k]);
            wr_sbuf_addz(&text, DEEP[i].middle);
            repeat(&text, DEEP[i].close, DEPTHS[k]);
            wr_sbuf_addz(&text, DEEP[i].after);
            run r = parse(wr_sbuf_str(&text));
            if (DEPTHS[k] <= 100 && r.status != WR_OK) fail_msg("%s x %d: %s", DEEP[i].open, DEPTHS[k], r.diags.list.at[0].message);
            if (DEPTHS[k] >= 10000 && r.status != WR_USER) fail_msg("%s x %d was taken", DEEP[i].open, DEPTHS[k]);
            if (r.status == WR_OK) { /* and the printer walks it */
                wr_sql_format(r.script->stmts.at[0], &out);
            } else {
                const wr_diag *d = &r.diags.list.at[0];
                assert_int_equal(r.diags.n_errors, 1);
                if (!strstr(d->message, "nested too deeply")) fail_msg("%s x %d: %s", DEEP[i].open, DEPTHS[k], d->message);
                assert_int_equal(d->at.line, 1);
                assert_true(d->at.col > 1);
            }
            wr_sbuf_free(&text);
            wr_sbuf_free(&out);
            done(&r);
        }
    }
}

/* Long but not deep: AND, OR, lists, statements. */
static void test_long(void **state) {
    (void)state;
    static const struct { const char *before, *part, *after; } LONG[] = {
        {"SELECT a FROM t WHERE a = 0", " OR a = 12345", ""},
        {"SELECT a FROM t WHERE a = 0", " AND b <> 'xyz'", ""},
        {"SELECT a FROM t WHERE a IN (0", ", 12345", ")"},
        {"SELECT a", ", a + b AS c", " FROM t"},
        {"INSERT INTO t VALUES (1, 'x')", ", (2, 'yy')", ""},
        {"SELECT f(1", ", 2", ")"},
        {"CREATE TABLE t (a INT", ", b STRING COMMENT 'x'", ")"},
        {"SELECT '", "long text ", "'"},
        {"SELECT a", " -- comment\n", ""},
        {"SELECT 1;", "SELECT a, b FROM t WHERE c > 1;\n", ""},
        {"SELECT CASE WHEN a THEN 1", " WHEN b = 2 THEN 3", " END"},
        {"SELECT * FROM a", ", b", ""},
    };
    for (size_t i = 0; i < WR_COUNT_OF(LONG); i++) {
        wr_sbuf text = {0};
        int     n = (1 << 20) / (int)strlen(LONG[i].part);
        bool    chain = i + 1 == WR_COUNT_OF(LONG); /* a comma join nests to the left */
        wr_sbuf_addz(&text, LONG[i].before);
        repeat(&text, LONG[i].part, chain ? 400 : n);
        wr_sbuf_addz(&text, LONG[i].after);
        run r = parse(wr_sbuf_str(&text));
        if (r.status != WR_OK) fail_msg("%s: %s", LONG[i].part, r.diags.list.at[0].message);
        if (r.seconds > 10) fail_msg("%s: %.1f s for 1 MiB", LONG[i].part, r.seconds); /* sanitizer builds are ten times slower */
        done(&r);
        wr_sbuf_free(&text);
    }
}

static void test_chain_limit(void **state) {
    (void)state;
    wr_sbuf text = {0};
    wr_sbuf_addz(&text, "SELECT 1");
    repeat(&text, " + 1", 5000);
    run r = parse(wr_sbuf_str(&text));
    assert_int_equal(r.status, WR_USER);
    assert_string_equal(r.diags.list.at[0].code, "54001");
    assert_string_equal(r.diags.list.at[0].message, "nested too deeply: more than 500 levels");
    done(&r);
    wr_sbuf_free(&text);
}

static void test_many_errors(void **state) {
    (void)state;
    wr_sbuf text = {0};
    repeat(&text, "SELCT a FROM t;\n", 50000);
    wr_sbuf_addz(&text, "SELECT 1");
    run r = parse(wr_sbuf_str(&text));
    assert_int_equal(r.status, WR_USER);
    assert_int_equal(r.diags.n_errors, 50000);
    assert_int_equal(r.diags.list.n, WR_DIAG_MAX);
    assert_int_equal(r.script->n_bad, 50000);
    assert_int_equal(r.script->stmts.n, 1);
    assert_int_equal(r.script->stmts.at[0]->at.line, 50001);
    if (r.seconds > 10) fail_msg("%.1f s", r.seconds);
    done(&r);
    wr_sbuf_free(&text);
}

static void test_too_long(void **state) {
    (void)state;
    size_t  n = (size_t)WR_SQL_TEXT_BYTES_MAX + 1;
    char   *text = wr_malloc(n);
    memset(text, ' ', n);
    run r = parse((wr_str){text, n});
    assert_int_equal(r.status, WR_USER);
    assert_string_equal(r.diags.list.at[0].code, "54000");
    done(&r);
    wr_free(text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_deep), cmocka_unit_test(test_long), cmocka_unit_test(test_chain_limit), cmocka_unit_test(test_many_errors), cmocka_unit_test(test_too_long),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
