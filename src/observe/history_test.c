/* observe/history_test.c: a long run is thinned, keeps its beginning, and its samples lie evenly. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include "observe/history.h"
#include <stdlib.h>

static void test_thins_by_halves(void **state) {
    (void)state;
    wr_job_plan   plan = {0};
    wr_job_status s = {0};
    wr_history   *h = wr_history_new(&plan);
    wr_sbuf       out = {0};
    for (int64_t t = 0; t < 5000; t++) { /* seconds, looked at twice each */
        for (int half = 0; half < 2; half++) {
            int64_t us = t * 1000000 + half * 500000;
            s.rows_in = (uint64_t)t;
            if (wr_history_due(h, us)) wr_history_see(h, &s, us, us);
        }
    }
    wr_history_json(h, &out);
    wr_sbuf_addc(&out, '\0');
    assert_non_null(strstr(out.at, "\"step_us\":16000000")); /* 5000 s into 360 samples: 16 s apart */
    int64_t  before = -1;
    uint32_t n = 0;
    for (const char *at = out.at; (at = strstr(at, "\"rows_in\":")) != NULL; n++) {
        at += strlen("\"rows_in\":");
        int64_t row = strtoll(at, NULL, 10);
        assert_int_equal(row - before, before < 0 ? 1 : 16);
        before = row;
    }
    assert_in_range(n, 180, WR_HISTORY_SAMPLES);
    assert_in_range(before, 5000 - 17, 4999);
    wr_sbuf_free(&out);
    wr_history_free(h);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_thins_by_halves)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
