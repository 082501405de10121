/* sql/split_test.c: where statements end, by hand. */
#include "sql/sql.h"
#include <setjmp.h>
#include <stdarg.h>
/* after the three above */
#include <cmocka.h>

static void expect(const char *text, const char *first, bool want_blank) {
    bool   blank;
    size_t n = wr_sql_statement_end(wr_str_of(text), &blank);
    assert_int_equal(n, strlen(first));
    assert_memory_equal(text, first, n);
    assert_int_equal(blank, want_blank);
}

static void ends(void **state) {
    (void)state;
    expect("SELECT 1; SELECT 2;", "SELECT 1;", false);
    expect("SELECT ';' ; x", "SELECT ';' ;", false);
    expect("SELECT 'it''s;' AS `a;b` -- c;\n;", "SELECT 'it''s;' AS `a;b` -- c;\n;", false);
    expect("/* ; */ SELECT /*+ OPTIONS('a'=';') */ 1;", "/* ; */ SELECT /*+ OPTIONS('a'=';') */ 1;", false);
    expect("-- c\n ;", "-- c\n ;", true);
    expect(";", ";", true);
}

static void not_whole(void **state) {
    (void)state;
    expect("", "", true);
    expect("  -- only a comment;", "", true);
    expect("/* open ;", "", true);
    expect("SELECT 1", "", false);
    expect("SELECT 'open ;", "", false);
    expect("SELECT `open ;", "", false);
    expect("SELECT 1 -- ;", "", false);
}

static void statement_sets(void **state) {
    (void)state;
    expect("EXECUTE STATEMENT SET BEGIN INSERT INTO a SELECT 1; INSERT INTO b SELECT CASE WHEN x THEN 1 END; END; SELECT 1;",
           "EXECUTE STATEMENT SET BEGIN INSERT INTO a SELECT 1; INSERT INTO b SELECT CASE WHEN x THEN 1 END; END;", false);
    expect("begin statement set; insert into a select 1; end; x;", "begin statement set; insert into a select 1; end;", false);
    expect("BEGIN STATEMENT SET; INSERT INTO a SELECT 1;", "", false);
    expect("SET 'a' = 'b'; END;", "SET 'a' = 'b';", false);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(ends), cmocka_unit_test(not_whole), cmocka_unit_test(statement_sets)};
    return cmocka_run_group_tests_name("split", tests, NULL, NULL);
}
