/* plan/bill_test.c: how units grow as time passes, and price files; expected values by hand. */
#include "plan/logical.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
/* after the three above */
#include <cmocka.h>

static void close_to(double got, double want, double share) {
    if (fabs(got - want) > share * want) fail_msg("got %g, expected %g", got, want);
}

/* 1,000 draws from 100 keys bring 100 (1 - e^-10) of them, 50 draws 39.3. */
static void test_keys_that_come_again(void **state) {
    (void)state;
    close_to(pl_fit_total(50, 39.35), 100, 0.01);
    close_to(pl_fit_total(1000, 99.995), 100, 0.001);
    wr_units u = {.kind = WR_UNITS_KEYS, .now = 39.35, .seen = 50, .rate = 1, .total = 100};
    close_to(pl_units(&u, 0), 39.35, 0.001);
    close_to(pl_units(&u, 50e6), 63.2, 0.01); /* 100 draws */
    close_to(pl_units(&u, 1e12), 100, 0.001);
}

static void test_keys_that_never_come_again(void **state) {
    (void)state;
    double total = pl_fit_total(1000, 1000);
    assert_true(isinf(total));
    wr_units u = {.kind = WR_UNITS_KEYS, .now = 1000, .seen = 1000, .rate = 10, .total = total};
    close_to(pl_units(&u, 100e6), 2000, 0.001);
}

/* Half the rows had 70 of the 100 keys: a square root, not draws from equally likely keys. */
static void test_keys_of_unequal_shares(void **state) {
    (void)state;
    double total = pl_fit_total(10000, 100), power = pl_fit_power(total, 10000, 100, 5000, 70.7);
    close_to(power, 0.5, 0.01);
    assert_true(pl_fit_power(total, 10000, 100, 5000, 100) == 0);
    wr_units u = {.kind = WR_UNITS_KEYS, .now = 100, .seen = 10000, .rate = 1, .total = total, .power = power};
    close_to(pl_units(&u, 30000e6), sqrt(100 * 200), 0.01); /* between 100 for ever and twice as many after four times the rows */
}

static void test_spans_and_rows(void **state) {
    (void)state;
    wr_units span = {.kind = WR_UNITS_SPAN, .now = 10, .steady = 100, .span_us = 60e6}, rows = {.kind = WR_UNITS_ROWS, .now = 5, .rate = 2}, none = {0};
    close_to(pl_units(&span, 30e6), 55, 0.001);
    close_to(pl_units(&span, 3600e6), 100, 0.001);
    close_to(pl_units(&rows, 10e6), 25, 0.001);
    assert_true(pl_units(&none, 1) < 0);
}

/* 1 MiB now, 1 KiB a second: a budget of 2 MiB with nothing beside it lasts 1,024 s. */
static void test_when_the_budget_is_passed(void **state) {
    (void)state;
    wr_bill_part part = {.bytes = 1024, .units = {.kind = WR_UNITS_ROWS, .now = 1024, .rate = 1}};
    wr_pnode     node = {.bill = {.bound = WR_BOUND_NOTHING, .parts = &part, .n_parts = 1}}, *at[] = {&node};
    wr_job_plan  job = {.nodes = {.at = at, .n = 1, .cap = 1}};
    close_to(pl_bill_passes_us(&job, 2 << 20, 0), 1024e6, 0.001);
    close_to(pl_bill_passes_us(&job, 2 << 20, 512 << 10), 512e6, 0.001);
    assert_true(pl_bill_passes_us(&job, 1 << 20, 1) == 0);
    assert_true(isinf(wr_bill_steady(&node)));
    part.units.rate = 0;
    assert_true(isinf(pl_bill_passes_us(&job, 2 << 20, 0)));
    close_to(wr_bill_steady(&node), 1 << 20, 0.001);
    double full, changed;
    part.saved_bytes = 100, part.units.rate = 3;
    pl_bill_checkpoint(&node, 0, 10e6, &full, &changed);
    close_to(full, 102400, 0.001);
    close_to(changed, 3000, 0.001);
    part.units.kind = WR_UNITS_UNKNOWN;
    assert_true(wr_bill_bytes(&node, 1) < 0 && wr_bill_steady(&node) < 0);
}

static void test_prices(void **state) {
    (void)state;
    wr_prices   p;
    uint32_t    line;
    const char *why;
    assert_true(wr_prices_parse(WR_STR("# a comment\n\n memory.gib-month = 3.5 # a GiB\ncurrency=CHF\nlog.hours = 24"), &p, &line, &why));
    assert_true(p.memory == 3.5 && p.log_hours == 24 && p.disk == 0 && p.checkpoints_kept == 2);
    assert_string_equal(p.currency, "CHF");
    assert_true(wr_prices_parse(WR_STR(""), &p, &line, &why));
    static const char *const bad[] = {"memory.gib-month 3", "memory = 3", "disk.gib-month = much", "disk.gib-month = -1", "disk.gib-month =", "currency = a name of sixteen"};
    for (size_t i = 0; i < WR_COUNT_OF(bad); i++) {
        assert_false(wr_prices_parse(wr_str_of(bad[i]), &p, &line, &why));
        assert_int_equal(line, 1);
        assert_non_null(why);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_keys_that_come_again), cmocka_unit_test(test_keys_that_never_come_again), cmocka_unit_test(test_keys_of_unequal_shares),
        cmocka_unit_test(test_spans_and_rows), cmocka_unit_test(test_when_the_budget_is_passed), cmocka_unit_test(test_prices),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
