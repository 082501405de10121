/* plan/size_test.c: the sizes of a log against arithmetic by hand. */
#include "plan/size.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <math.h>

static void near(double got, double want) {
    if (!(fabs(got - want) <= fabs(want) * 1e-6)) fail_msg("%.9g instead of %.9g", got, want);
}

/* 20,000 rows/s of 500 bytes: 10 MB/s. */
static wr_size_load load_of_ten_mb(void) {
    wr_size_load l;
    wr_size_defaults(&l);
    l.rows_per_s = 20000, l.row_bytes = 500;
    return l;
}

static void test_plain(void **state) {
    (void)state;
    wr_size_load l = load_of_ten_mb();
    wr_size      s;
    wr_prices    p = {.log = 0.1, .object = 0.02, .cross_zone = 0.01};
    wr_size_compute(&l, &p, &s);
    near(s.in_bytes_per_s, 1e7);
    near(s.partitions, 1);                               /* 10 MB/s over 10 MB/s */
    near(s.local_bytes, 1e7 * 7 * 86400 * 3);            /* 18.144 TB */
    near(s.brokers, 13);                                 /* 18.144 / (2 x 0.75) = 12.096 */
    assert_int_equal(s.brokers_why, WR_SIZE_DISK);
    near(s.net_in, 3e7 / 13);
    near(s.net_out, 1e7 * (2 + 1) / 13);
    near(s.cross_zone_bytes, 1e7 * 730 * 3600 * (2.0 / 3 + 2 + 2.0 / 3));
    near(s.cache_bytes, 3e7 * 600 / 13);
    near(s.disk_money, 18.144e12 / 1073741824 * 0.1);
    near(s.object_money + 1, 1);
    near(s.replay_bytes, 864e9);
    assert_true(s.replay_kept);
}

static void test_tiered_and_followers(void **state) {
    (void)state;
    wr_size_load l = load_of_ten_mb();
    wr_size      s;
    l.zones = 2, l.consumers = 0;
    wr_size_compute(&l, NULL, &s);
    near(s.cross_zone_bytes, 1e7 * 730 * 3600 * (0.5 + 4.0 / 3)); /* two replicas in one zone, one in the other: 2/3 x 1 + 1/3 x 2 */
    l.zones = 1;
    wr_size_compute(&l, NULL, &s);
    near(s.cross_zone_bytes + 1, 1);
    l.zones = 3;
    l.local_s = 86400, l.follower_fetch = true, l.consumers = 4;
    wr_size_compute(&l, NULL, &s);
    near(s.local_bytes, 1e7 * 86400 * 3);                /* 2.592 TB */
    near(s.remote_bytes, 1e7 * 7 * 86400);
    near(s.brokers, 3);                                  /* 2.592 / 1.5 = 1.7: the replicas are more */
    near(s.cross_zone_bytes, 1e7 * 730 * 3600 * (2.0 / 3 + 2));
    near(s.net_out, 1e7 * (2 + 4 + 1) / 3);
    near(s.disk_money, -1);
}

static void test_replay(void **state) {
    (void)state;
    wr_size_load l = load_of_ten_mb();
    wr_size      s;
    l.replay_s = 3 * 86400.0, l.consume_rows_per_s = 100000;
    wr_size_compute(&l, NULL, &s);
    assert_int_equal(s.replay_why, WR_SIZE_CONSUMER);
    near(s.replay_read_bytes_per_s, 5e7);                /* 100,000 x 500 */
    near(s.replay_us, 2.592e12 / 5e7 * 1e6);             /* 14.4 h */
    near(s.catch_up_us, 2.592e12 / 4e7 * 1e6);           /* 18 h: what arrives meanwhile as well */
    l.consume_rows_per_s = 20000;
    wr_size_compute(&l, NULL, &s);
    near(s.catch_up_us, -1);                             /* as fast as rows come: never */
    l.replay_s = 8 * 86400.0;
    wr_size_compute(&l, NULL, &s);
    assert_false(s.replay_kept);
}

static void test_partitions(void **state) {
    (void)state;
    wr_size_load l = load_of_ten_mb();
    wr_size      s;
    l.rows_per_s = 100000, l.ratio = 0.5;                /* 25 MB/s on the wire and the disk */
    wr_size_compute(&l, NULL, &s);
    near(s.partitions, 3);
    l.parallel = 8;
    wr_size_compute(&l, NULL, &s);
    near(s.partitions, 8);
    assert_int_equal(s.partitions_why, WR_SIZE_PARALLEL);
    l.partitions = 12, l.brokers = 5;
    wr_size_compute(&l, NULL, &s);
    near(s.partitions, 12), near(s.brokers, 5);
    assert_int_equal(s.brokers_why, WR_SIZE_GIVEN);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_plain), cmocka_unit_test(test_tiered_and_followers), cmocka_unit_test(test_replay), cmocka_unit_test(test_partitions)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
