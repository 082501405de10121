/* op/detail_test.c: histograms of spans and counts by window, alone, summed and through a checkpoint. Right answers: by hand, and a sorted array. */
#include "op/detail.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

static int by_size(const void *a, const void *b) { return (*(const int64_t *)a > *(const int64_t *)b) - (*(const int64_t *)a < *(const int64_t *)b); }

static void spans_cover(void **state) {
    (void)state;
    enum { N = 5000 };
    static int64_t  all[N];
    static wr_spans s;
    srand(7);
    for (uint32_t i = 0; i < N; i++) wr_spans_add(&s, all[i] = (int64_t)rand() % (1 << (1 + rand() % 30)));
    qsort(all, N, sizeof *all, by_size);
    assert_int_equal(s.least_us, all[0]);
    assert_int_equal(s.most_us, all[N - 1]);
    for (uint64_t beyond = 0; beyond < N; beyond += 97) {
        int64_t exact = all[N - 1 - beyond], got = wr_spans_covering(&s, beyond);
        assert_true(got >= exact && got <= exact + exact / 8 + 1);
    }
    assert_int_equal(wr_spans_covering(&s, N), 0);
    for (int64_t us = 0; us < 100000; us++) {
        uint32_t b = wr_span_bucket(us);
        assert_true(us <= wr_span_of_bucket(b) && (!b || us > wr_span_of_bucket(b - 1)));
    }
    assert_int_equal(wr_span_bucket(INT64_MAX), WR_SPAN_BUCKETS - 1);
    wr_spans_add(&s, INT64_MAX);
    assert_true(wr_spans_covering(&s, 0) == INT64_MAX);
    wr_spans_take(&s, INT64_MAX);
    assert_int_equal(s.n, N);
}

static void windows_newest(void **state) {
    (void)state;
    static wr_detail a, b, sum, back;
    for (int64_t w = 0; w < 200; w++) { /* in any order */
        wr_window_count *c = wr_detail_window(&a, (w * 37 % 200) * 10);
        if (c) c->in++;
    }
    assert_int_equal(a.n_windows, WR_DETAIL_WINDOWS);
    for (uint32_t i = 0; i < WR_DETAIL_WINDOWS; i++) assert_int_equal(a.windows[i].end_us, (200 - WR_DETAIL_WINDOWS + i) * 10);
    assert_null(wr_detail_window(&a, 5));
    for (int64_t w = 150; w < 170; w++) wr_detail_window(&b, w * 10)->out += 2;
    wr_detail_add(&sum, &b), wr_detail_add(&sum, &a);
    assert_int_equal(sum.n_windows, WR_DETAIL_WINDOWS);
    assert_int_equal(wr_detail_window(&sum, 1600)->in, 1);
    assert_int_equal(wr_detail_window(&sum, 1600)->out, 2);
    assert_int_equal(wr_detail_window(&sum, 1990)->out, 0);
    sum.misses[1][WR_MISS_OUTSIDE] = 3;
    wr_spans_add(&sum.outside[1][0], 12345), wr_spans_add(&sum.late, 7);
    wr_sbuf buf = {0};
    wr_detail_save(&sum, &buf);
    wr_reader in = {(const uint8_t *)buf.at, (const uint8_t *)buf.at + buf.len, false};
    wr_detail_load(&back, &in);
    assert_true(!in.bad && in.at == in.end);
    assert_memory_equal(&back, &sum, sizeof sum);
    in = (wr_reader){(const uint8_t *)buf.at, (const uint8_t *)buf.at + buf.len / 2, false};
    wr_detail_load(&back, &in);
    assert_true(in.bad);
    wr_sbuf_free(&buf);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(spans_cover), cmocka_unit_test(windows_newest)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
