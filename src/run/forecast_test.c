/* run/forecast_test.c: a line is found with its slope; level state, saws of known and of unknown life, noise and the first filling give none. */
#include "run/forecast.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <cmocka.h>

#define SECOND INT64_C(1000000)
#define HOUR (3600 * SECOND)
#define MIB (1024.0 * 1024)
static const int64_t START = INT64_C(1700000000) * SECOND;

static void line(void **state) {
    (void)state;
    forecast f;
    forecast_init(&f, 0, 5 * SECOND);
    for (int64_t s = 0; s < 20; s++) forecast_add(&f, START + s * SECOND, INT64_MIN, 100 * MIB + (double)s * 12 * MIB / 3600);
    assert_false(forecast_get(&f).known); /* too little was seen */
    for (int64_t s = 20; s < 3 * 3600; s++) forecast_add(&f, START + s * SECOND, INT64_MIN, 100 * MIB + (double)s * 12 * MIB / 3600);
    forecast_growth g = forecast_get(&f);
    assert_true(g.known);
    assert_true(fabs(g.bytes_per_hour - 12 * MIB) < 0.01 * MIB);
}

static void growth_that_ended(void **state) { /* distinct keys run out: only the last ten minutes count */
    (void)state;
    forecast f;
    forecast_init(&f, 0, 5 * SECOND);
    for (int64_t s = 0; s < 600; s++) forecast_add(&f, START + s * SECOND, INT64_MIN, (double)s * MIB);
    assert_true(forecast_get(&f).known);
    for (int64_t s = 600; s < 1300; s++) forecast_add(&f, START + s * SECOND, INT64_MIN, 600 * MIB);
    assert_false(forecast_get(&f).known);
}

static void saw_of_unknown_life(void **state) { /* fills for 40 s, empties at once, over and over */
    (void)state;
    forecast f;
    forecast_init(&f, 0, 5 * SECOND);
    for (int64_t s = 0; s < 1200; s++) {
        forecast_add(&f, START + s * SECOND, INT64_MIN, (double)(s % 40) * MIB);
        if (s > 300) assert_false(forecast_get(&f).known);
    }
}

static void windows(void **state) { /* hourly windows in event time that runs 60 times faster than the clock; each hour is as full as the last */
    (void)state;
    forecast f;
    forecast_init(&f, HOUR, 5 * SECOND);
    for (int64_t s = 0; s < 1200; s++) {
        forecast_add(&f, START + s * SECOND, START + s * 60 * SECOND, (double)(s % 60) * MIB);
        assert_false(forecast_get(&f).known);
    }
}

static void windows_that_grow(void **state) { /* each hour holds 10 MiB more than the one before: 10 MiB a minute by the clock */
    (void)state;
    forecast f;
    forecast_init(&f, HOUR, 5 * SECOND);
    for (int64_t s = 0; s < 1200; s++) forecast_add(&f, START + s * SECOND, s * 60 * SECOND, (double)(s % 60) / 59 * (double)(100 + s / 60 * 10) * MIB);
    forecast_growth g = forecast_get(&f);
    assert_true(g.known);
    assert_true(fabs(g.bytes_per_hour - 600 * MIB) < 6 * MIB);
}

static void filling_of_an_interval(void **state) { /* rows stay an hour: an hour of filling is no growth */
    (void)state;
    forecast f;
    forecast_init(&f, HOUR, 5 * SECOND);
    for (int64_t s = 0; s < 8 * 3600; s++) {
        forecast_add(&f, START + s * SECOND, START + s * SECOND, (double)WR_MIN(s, (int64_t)3600) * MIB);
        assert_false(forecast_get(&f).known);
    }
}

static void noise(void **state) {
    (void)state;
    forecast f;
    forecast_init(&f, 0, SECOND);
    uint64_t x = 1;
    uint32_t alarms = 0;
    for (int64_t s = 0; s < 5000; s++) {
        x = x * UINT64_C(6364136223846793005) + 1442695040888963407u;
        forecast_add(&f, START + s * SECOND, INT64_MIN, (100 + (double)(x >> 40) / (1 << 24)) * MIB);
        alarms += forecast_get(&f).known;
    }
    assert_true(alarms < 500); /* a slope above twice its error comes by chance in 2.5 % of looks, and lasts a while */
}

static void many_points(void **state) { /* more periods than there is room for */
    (void)state;
    forecast f;
    forecast_init(&f, SECOND, SECOND);
    for (int64_t s = 0; s < 3000; s++) forecast_add(&f, START + s * SECOND, s * SECOND, (double)s * MIB);
    forecast_growth g = forecast_get(&f);
    assert_true(g.known);
    assert_true(fabs(g.bytes_per_hour - 3600 * MIB) < 36 * MIB);
    forecast_add(&f, START + 3000 * SECOND, INT64_MAX, 0); /* the end of input empties everything: not a point */
    assert_true(forecast_get(&f).known);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(line), cmocka_unit_test(growth_that_ended), cmocka_unit_test(saw_of_unknown_life), cmocka_unit_test(windows),
                                       cmocka_unit_test(windows_that_grow), cmocka_unit_test(filling_of_an_interval), cmocka_unit_test(noise), cmocka_unit_test(many_points)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
