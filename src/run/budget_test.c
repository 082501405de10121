/* run/budget_test.c: the sharing out of memory between operators, and the size of batches under a small budget. */
#include "run/internal.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <cmocka.h>

static void room_for_all(void **state) {
    (void)state;
    int64_t bytes[] = {10, 20, 30};
    assert_int_equal(budget_water_level(bytes, 3, 120), 50); /* what is left in three parts on top of the greatest */
    assert_int_equal(budget_water_level(bytes, 3, 60), 30);
    assert_int_equal(budget_water_level(NULL, 0, 100), 100);
}

static void too_little(void **state) {
    (void)state;
    int64_t one_large[] = {5, 1000, 5}, equal[] = {100, 100, 100, 100}, steps[] = {10, 20, 30, 1000};
    assert_int_equal(budget_water_level(one_large, 3, 100), 90); /* small ones keep what they have */
    assert_int_equal(budget_water_level(equal, 4, 100), 25);
    assert_int_equal(budget_water_level(steps, 4, 100), 40);
    assert_int_equal(budget_water_level(steps, 4, 70), 20); /* 10 + 20 + 20 + 20 */
    assert_int_equal(budget_water_level(steps, 4, 0), 0);
    assert_int_equal(budget_water_level(steps, 4, -50), 0);
}

static void sums(void **state) { /* random: what is over the level comes down to it, and the sum is what there is, but for rounding */
    (void)state;
    uint64_t x = 7;
    for (int round = 0; round < 2000; round++) {
        int64_t  bytes[40], sum = 0, kept = 0;
        uint32_t n = 1 + (uint32_t)round % 40;
        for (uint32_t i = 0; i < n; i++) {
            x = x * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
            bytes[i] = (int64_t)(x >> (40 + x % 20));
            sum += bytes[i];
        }
        int64_t all = sum / 3, level = budget_water_level(bytes, n, all);
        for (uint32_t i = 0; i < n; i++) kept += WR_MIN(bytes[i], level);
        assert_true(kept <= all && kept > all - (int64_t)n - 1);
    }
}

static void batches(void **state) {
    (void)state;
    assert_int_equal(budget_batch_rows(0, 2), WR_BATCH_MAX);
    assert_int_equal(budget_batch_rows(INT64_C(256) << 20, 2), WR_BATCH_MAX);
    assert_int_equal(budget_batch_rows(INT64_C(16) << 20, 2), 512);
    assert_int_equal(budget_batch_rows(1 << 20, 64), 256);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(room_for_all), cmocka_unit_test(too_little), cmocka_unit_test(sums), cmocka_unit_test(batches)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
