/* base/histogram_test.c: quantiles against those of the sorted values; merging, subtracting, the ends of the range.                 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include "base/hash.h"
#include "base/histogram.h"
#include "base/mem.h"
#include <math.h>
#include <stdlib.h>

static int compare(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* Values of many sizes: the exponent is drawn first. */
static uint64_t draw(uint64_t *seed, uint32_t most_bits) {
    *seed = wr_hash_u64(*seed + 1);
    uint64_t bits = *seed % most_bits;
    return (wr_hash_u64(*seed) & ((UINT64_C(2) << bits) - 1)) | UINT64_C(1) << bits;
}

static void check_quantiles(const wr_hist *h, uint64_t *values, size_t n) {
    static const double qs[] = {0.001, 0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.999, 1};
    qsort(values, n, sizeof *values, compare);
    for (size_t i = 0; i < WR_COUNT_OF(qs); i++) {
        double   exact = (double)values[(size_t)ceil(qs[i] * (double)n) - 1], got = (double)wr_hist_quantile(h, qs[i]);
        assert_true(fabs(got - exact) <= exact / 64 + 0.5);
    }
    assert_int_equal(wr_hist_quantile(h, 1), values[n - 1]);
}

static void quantiles_are_near_the_exact_ones(void **state) {
    (void)state;
    enum { N = 20000 };
    static wr_hist h, half[2], merged;
    uint64_t *values = wr_calloc(N, sizeof *values), seed = 7;
    for (uint32_t most = 1; most <= 40; most += 3) {
        memset(&h, 0, sizeof h), memset(half, 0, sizeof half), memset(&merged, 0, sizeof merged);
        for (size_t i = 0; i < N; i++) {
            values[i] = draw(&seed, most);
            wr_hist_add(&h, values[i], 1);
            wr_hist_add(&half[i & 1], values[i], 1);
        }
        check_quantiles(&h, values, N);
        wr_hist_merge(&merged, &half[0]), wr_hist_merge(&merged, &half[1]);
        assert_memory_equal(&merged, &h, sizeof h);
        for (uint64_t i = 0; i < N; i += 997) { /* counted to a bucket's width */
            uint64_t near = wr_hist_count_up_to(&h, values[i]);
            assert_true(near >= i + 1);
            assert_true(near == N || values[near] > values[i]);
            assert_true(near == 0 || (double)values[near - 1] <= (double)values[i] * (1 + 1.0 / 32));
        }
    }
    wr_free(values);
}

static void what_came_since(void **state) {
    (void)state;
    static wr_hist before, now, since;
    memset(&before, 0, sizeof before);
    for (uint64_t v = 1; v <= 100000; v += 7) wr_hist_add(&before, v, 3);
    now = before;
    for (uint64_t v = 5000; v < 5100; v++) wr_hist_add(&now, v, 2);
    wr_hist_since(&now, &before, &since);
    assert_int_equal(since.n, 200);
    assert_int_equal(since.sum, 2 * (5000 + 5099) * 50);
    assert_in_range(since.max, 5099, 5099 + 5099 / 32);
    assert_in_range(wr_hist_quantile(&since, 0.5), 5050 - 80, 5050 + 80);
    wr_hist_since(&now, NULL, &since);
    assert_memory_equal(&since, &now, sizeof now);
}

static void the_ends_of_the_range(void **state) {
    (void)state;
    static wr_hist h;
    assert_int_equal(wr_hist_quantile(&h, 0.5), 0);
    for (uint64_t v = 0; v < 32; v++) wr_hist_add(&h, v, 1);
    for (uint64_t v = 0; v < 32; v++) assert_int_equal(wr_hist_quantile(&h, ((double)v + 1) / 32), v);
    wr_hist_add(&h, UINT64_MAX, 1);
    wr_hist_add(&h, 5, 0);
    assert_int_equal(h.n, 33);
    assert_int_equal(wr_hist_quantile(&h, 1), WR_HIST_MAX);
    assert_int_equal(wr_hist_count_up_to(&h, UINT64_MAX), 33);
    assert_int_equal(wr_hist_count_up_to(&h, 31), 32);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(quantiles_are_near_the_exact_ones), cmocka_unit_test(what_came_since), cmocka_unit_test(the_ends_of_the_range)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
