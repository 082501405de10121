/* plan/contract_test.c: which types fit into which, by the widenings that docs/operations.md states (by hand).         */
#include "plan/contract.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

static bool fits(wr_type from, wr_type into) { return wr_contract_type_fits(from, into); }
static wr_type of(wr_tid id) { return wr_type_of(id); }

static void numbers(void **state) {
    (void)state;
    wr_type ladder[] = {of(WR_T_TINYINT), of(WR_T_SMALLINT), of(WR_T_INT), of(WR_T_BIGINT)};
    for (int i = 0; i < 4; i++)
        for (int k = 0; k < 4; k++) assert_int_equal(fits(ladder[i], ladder[k]), i <= k);
    assert_true(fits(of(WR_T_INT), wr_type_decimal(10, 0)) && fits(of(WR_T_INT), wr_type_decimal(12, 2)));
    assert_false(fits(of(WR_T_INT), wr_type_decimal(9, 0)) || fits(of(WR_T_INT), wr_type_decimal(10, 2)) || fits(of(WR_T_BIGINT), wr_type_decimal(18, 0)));
    assert_true(fits(of(WR_T_SMALLINT), of(WR_T_FLOAT)) && fits(of(WR_T_INT), of(WR_T_DOUBLE)) && fits(of(WR_T_FLOAT), of(WR_T_DOUBLE)));
    assert_false(fits(of(WR_T_INT), of(WR_T_FLOAT)) || fits(of(WR_T_BIGINT), of(WR_T_DOUBLE)) || fits(of(WR_T_DOUBLE), of(WR_T_FLOAT)) || fits(of(WR_T_DOUBLE), of(WR_T_BIGINT)));
    assert_true(fits(wr_type_decimal(10, 2), wr_type_decimal(10, 2)) && fits(wr_type_decimal(10, 2), wr_type_decimal(12, 4)));
    assert_false(fits(wr_type_decimal(10, 2), wr_type_decimal(12, 5)) || fits(wr_type_decimal(10, 2), wr_type_decimal(10, 1)) || fits(wr_type_decimal(10, 0), of(WR_T_BIGINT)));
}

static void texts_and_times(void **state) {
    (void)state;
    assert_true(fits(wr_type_prec(WR_T_VARCHAR, 10), wr_type_string()) && fits(wr_type_prec(WR_T_CHAR, 5), wr_type_prec(WR_T_VARCHAR, 5)));
    assert_false(fits(wr_type_string(), wr_type_prec(WR_T_VARCHAR, 10)) || fits(wr_type_prec(WR_T_CHAR, 5), wr_type_prec(WR_T_CHAR, 6)) || fits(of(WR_T_INT), wr_type_string()));
    assert_true(fits(wr_type_prec(WR_T_TIMESTAMP, 3), wr_type_prec(WR_T_TIMESTAMP, 6)) && fits(of(WR_T_DATE), of(WR_T_DATE)));
    assert_false(fits(wr_type_prec(WR_T_TIMESTAMP, 6), wr_type_prec(WR_T_TIMESTAMP, 3)) || fits(wr_type_prec(WR_T_TIMESTAMP, 3), wr_type_prec(WR_T_TIMESTAMP_LTZ, 3)) || fits(of(WR_T_DATE), wr_type_prec(WR_T_TIMESTAMP, 3)));
}

static void nested(void **state) {
    (void)state;
    wr_type one[] = {of(WR_T_INT)}, must[] = {wr_type_not_null(of(WR_T_INT))}, wide[] = {of(WR_T_BIGINT)}, two[] = {of(WR_T_INT), wr_type_string()}, swapped[] = {wr_type_string(), of(WR_T_INT)};
    wr_str  a[] = {WR_STR("a"), WR_STR("b")}, b[] = {WR_STR("b"), WR_STR("a")};
    wr_type list = {.id = WR_T_ARRAY, .n_kids = 1, .kids = one}, list_must = {.id = WR_T_ARRAY, .n_kids = 1, .kids = must}, list_wide = {.id = WR_T_ARRAY, .n_kids = 1, .kids = wide};
    wr_type row1 = {.id = WR_T_ROW, .n_kids = 1, .kids = one, .names = a}, row2 = {.id = WR_T_ROW, .n_kids = 2, .kids = two, .names = a}, row3 = {.id = WR_T_ROW, .n_kids = 2, .kids = swapped, .names = b};
    assert_true(fits(list, list_wide) && fits(list_must, list) && fits(row2, row1) && fits(row2, row3) && fits(row3, row2));
    assert_false(fits(list_wide, list) || fits(list, list_must) || fits(row1, row2) || fits(list, row1));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(numbers), cmocka_unit_test(texts_and_times), cmocka_unit_test(nested)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
