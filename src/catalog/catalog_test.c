/* catalog/catalog_test.c: names, order, settings, types as written. */
#include "catalog/catalog.h"
#include <setjmp.h>
#include <stdarg.h>
/* after the headers it needs */
#include <cmocka.h>

static void test_tables(void **state) {
    (void)state;
    wr_arena   *arena = wr_arena_new(NULL);
    wr_catalog *c = wr_catalog_new(arena);
    wr_table    orders = {.name = WR_STR("orders")}, again = {.name = WR_STR("orders")}, users = {.name = WR_STR("users")};
    assert_true(wr_catalog_add(c, &orders));
    assert_true(wr_catalog_add(c, &users));
    assert_false(wr_catalog_add(c, &again));
    assert_ptr_equal(wr_catalog_find(c, WR_STR("orders")), &orders);
    assert_null(wr_catalog_find(c, WR_STR("Orders"))); /* names keep their case */
    assert_true(wr_str_eq(wr_catalog_nearest(c, WR_STR("ordres")), WR_STR("orders")));
    assert_int_equal(wr_catalog_nearest(c, WR_STR("something_else")).len, 0);
    assert_true(wr_catalog_drop(c, WR_STR("orders")));
    assert_false(wr_catalog_drop(c, WR_STR("orders")));
    assert_int_equal(wr_catalog_count(c), 1);
    assert_ptr_equal(wr_catalog_at(c, 0), &users);
    wr_arena_free(arena);
}

static void test_settings(void **state) {
    (void)state;
    wr_arena   *arena = wr_arena_new(NULL);
    wr_catalog *c = wr_catalog_new(arena);
    assert_true(wr_str_eq(wr_catalog_get(c, "table.local-time-zone"), WR_STR("UTC")));
    assert_true(wr_catalog_set(c, WR_STR("table.local-time-zone"), WR_STR("Europe/Zurich")));
    assert_true(wr_str_eq(wr_catalog_get(c, "table.local-time-zone"), WR_STR("Europe/Zurich")));
    assert_true(wr_catalog_set(c, WR_STR("table.local-time-zone"), (wr_str){NULL, 0})); /* RESET */
    assert_true(wr_str_eq(wr_catalog_get(c, "table.local-time-zone"), WR_STR("UTC")));
    assert_false(wr_catalog_set(c, WR_STR("table.local-time-zome"), WR_STR("x")));
    assert_true(wr_str_eq(wr_setting_nearest(WR_STR("table.local-time-zome")), WR_STR("table.local-time-zone")));
    assert_true(wr_catalog_set(c, WR_STR("sql-client.execution.result-mode"), WR_STR("table")));
    assert_int_equal(wr_catalog_get(c, "nothing.like.this").len, 0);
    wr_arena_free(arena);
}

static void check_type(const char *text, const char *want) {
    wr_arena *arena = wr_arena_new(NULL);
    wr_diags  diags;
    wr_diags_init(&diags);
    wr_ast_type *ast = NULL;
    wr_str       sql = wr_str_of(text);
    uint32_t     file = wr_diags_add_source(&diags, WR_STR("t"), sql);
    wr_type type;
    wr_sbuf got = {0};
    bool    ok = wr_sql_parse_type(arena, file, sql, &diags, &ast) == WR_OK && wr_catalog_type(arena, ast, &diags, &type);
    if (ok) wr_type_text(type, &got);
    else wr_sbuf_printf(&got, "error: %s", diags.list.at[0].message);
    assert_string_equal(got.at, want);
    wr_sbuf_free(&got);
    wr_diags_free(&diags);
    wr_arena_free(arena);
}

static void test_types(void **state) { /* texts as Flink prints them */
    (void)state;
    check_type("INT", "INT");
    check_type("DECIMAL", "DECIMAL(10, 0)");
    check_type("DECIMAL(5)", "DECIMAL(5, 0)");
    check_type("NUMERIC(7, 3) NOT NULL", "DECIMAL(7, 3) NOT NULL");
    check_type("TIMESTAMP", "TIMESTAMP(6)");
    check_type("TIMESTAMP(3) WITH LOCAL TIME ZONE", "TIMESTAMP_LTZ(3)");
    check_type("CHAR", "CHAR(1)");
    check_type("VARCHAR", "STRING");
    check_type("BYTES", "BYTES");
    check_type("ARRAY<INT NOT NULL>", "ARRAY<INT NOT NULL>");
    check_type("MAP<STRING, ROW<a INT, b DOUBLE>>", "MAP<STRING, ROW<`a` INT, `b` DOUBLE>>");
    check_type("DECIMAL(39, 1)", "error: precision of DECIMAL is from 1 to 38, not 39"); /* said by the parser already */
    check_type("TIME(9)", "TIME(3)");
    check_type("STRNG", "error: type 'STRNG' not found; did you mean STRING?");
    check_type("TIMESTAMP(3) WITH TIME ZONE", "error: type TIMESTAMP WITH TIME ZONE is not supported");
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_tables), cmocka_unit_test(test_settings), cmocka_unit_test(test_types)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
