/* state/sketch_test.c: Space-Saving against exact counts. */
#include "base/hash.h"
#include "state/state.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
/* after the three above */
#include <cmocka.h>

enum { KEYS = 5000, ROWS = 200000 };

/* Bounds hold for every counter, and every key above 1/64 has one: whatever the distribution. */
static void test_bounds(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= 8; seed++) {
        wr_rng rng;
        wr_rng_seed(&rng, seed);
        wr_sketch s = {0};
        uint32_t *exact = calloc(KEYS, sizeof *exact);
        for (uint32_t i = 0; i < ROWS; i++) {
            uint64_t r = wr_rng_below(&rng, 100), k = r < seed * 4 ? 3 : r < seed * 6 ? 4 : wr_rng_below(&rng, KEYS);
            bool     fresh;
            exact[k]++;
            uint32_t at = wr_sketch_add(&s, wr_hash_u64(k), &fresh);
            assert_true(s.hash[at] == wr_hash_u64(k));
        }
        assert_int_equal(s.total, ROWS);
        uint32_t frequent = 0, found = 0;
        for (uint64_t k = 0; k < KEYS; k++) {
            if (exact[k] > ROWS / WR_SKETCH_COUNTERS) frequent++;
            for (uint32_t i = 0; i < s.n; i++) {
                if (s.hash[i] != wr_hash_u64(k)) continue;
                assert_true(s.count[i] >= exact[k] && s.count[i] - s.error[i] <= exact[k]);
                if (exact[k] > ROWS / WR_SKETCH_COUNTERS) found++;
            }
        }
        assert_true(frequent > 0);
        assert_int_equal(found, frequent);
        free(exact);
    }
}

/* Many equal keys: none is frequent for sure. After halving, the bounds still hold. */
static void test_uniform_and_halving(void **state) {
    (void)state;
    wr_sketch s = {0};
    bool      fresh;
    for (uint32_t i = 0; i < ROWS; i++) (void)wr_sketch_add(&s, wr_hash_u64(i % KEYS), &fresh);
    for (uint32_t i = 0; i < s.n; i++) assert_true((s.count[i] - s.error[i]) * 64 < s.total);
    s = (wr_sketch){0};
    for (uint32_t i = 0; i < 1001; i++) (void)wr_sketch_add(&s, wr_hash_u64(i % 10 < 6 ? 1 : i), &fresh);
    wr_sketch_halve(&s);
    assert_int_equal(s.total, 500);
    for (uint32_t i = 0; i < s.n; i++)
        if (s.hash[i] == wr_hash_u64(1)) assert_int_equal(s.count[i], 301); /* 601 / 2, up */
    for (uint32_t i = 0; i < s.n; i++) assert_true(s.count[i] > 0 && s.error[i] <= s.count[i]);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_bounds), cmocka_unit_test(test_uniform_and_halving)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
