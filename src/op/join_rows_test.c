/* op/join_rows_test.c: the heap gives back what it took, the wheel gives out what is due and no more, the set finds rows by value. */
#include "op/join_set.h"
#include "op/op_testkit.h"

static void heap(void **state) {
    (void)state;
    wr_account acct;
    wr_account_init(&acct, NULL, "heap", 0);
    wr_join_heap *h = wr_join_heap_new(&acct);
    wr_rng rng;
    wr_rng_seed(&rng, 1);
    enum { N = 2000 };
    static struct { unsigned char *at; size_t bytes; } live[N];
    for (int turn = 0; turn < 40000; turn++) {
        uint32_t i = (uint32_t)wr_rng_below(&rng, N);
        if (live[i].at) {
            for (size_t b = 0; b < live[i].bytes; b++) assert_int_equal(live[i].at[b], i & 255);
            wr_join_heap_give(h, live[i].at, live[i].bytes);
            live[i].at = NULL;
        } else {
            live[i].bytes = 1 + (size_t)(wr_rng_below(&rng, 50) ? wr_rng_below(&rng, 600) : wr_rng_below(&rng, 40000));
            live[i].at = wr_join_heap_take(h, live[i].bytes);
            assert_int_equal((uintptr_t)live[i].at % 16, 0);
            memset(live[i].at, (int)(i & 255), live[i].bytes);
        }
    }
    assert_int_equal(wr_account_bytes(&acct), wr_join_heap_bytes(h));
    for (uint32_t i = 0; i < N; i++) wr_join_heap_give(h, live[i].at, live[i].at ? live[i].bytes : 0);
    assert_true(wr_join_heap_bytes(h) < 20000); /* a burst does not pin memory */
    wr_join_heap_free(h);
    assert_int_equal(wr_account_bytes(&acct), 0);
}

static void wheel(void **state) {
    (void)state;
    wr_account acct;
    wr_account_init(&acct, NULL, "wheel", 0);
    wr_join_wheel w;
    wr_join_wheel_init(&w, &acct);
    wr_join_dues due = {0};
    wr_rng rng;
    wr_rng_seed(&rng, 2);
    enum { N = 3000 };
    static int64_t at[N];
    static bool    out[N];
    int64_t  now = -1000000;
    uint32_t n = 0;
    assert_int_equal(wr_join_wheel_first(&w), WR_TIME_MAX);
    while (n < N || w.n) {
        for (uint64_t k = wr_rng_below(&rng, 40); k > 0 && n < N; k--) {
            at[n] = now - 50 + (int64_t)wr_rng_below(&rng, wr_rng_below(&rng, 2) ? 200 : 100000);
            wr_join_wheel_add(&w, at[n], n);
            n++;
        }
        int64_t first = WR_TIME_MAX;
        for (uint32_t i = 0; i < n; i++)
            if (!out[i]) first = WR_MIN(first, at[i]);
        assert_int_equal(wr_join_wheel_first(&w), first);
        now += (int64_t)wr_rng_below(&rng, 1000);
        due.n = 0;
        wr_join_wheel_advance(&w, now, &due);
        for (uint32_t i = 0; i < due.n; i++) {
            uint64_t k = due.at[i].what;
            assert_true(!out[k] && at[k] == due.at[i].at_us && at[k] <= now);
            out[k] = true;
        }
        for (uint32_t i = 0; i < n; i++) assert_true(out[i] == (at[i] <= now));
        assert_int_equal(wr_account_bytes(&acct), wr_join_wheel_bytes(&w));
    }
    wr_join_wheel_add(&w, WR_TIME_MAX, 1);
    wr_join_wheel_add(&w, WR_TIME_MIN, 2);
    due.n = 0;
    wr_join_wheel_advance(&w, WR_TIME_MAX, &due);
    assert_int_equal(due.n, 2);
    wr_join_wheel_free(&w);
    wr_arr_free(&due);
    assert_int_equal(wr_account_bytes(&acct), 0);
}

static void buffer_and_set(void **state) {
    (void)state;
    wr_join_heap *h = wr_join_heap_new(NULL);
    wr_join_buf   buf = {0};
    wr_join_set   set = {0};
    wr_rng rng;
    wr_rng_seed(&rng, 4);
    static const int64_t times[] = {5, 3, 9, 3, 5, 1, 9, 7};
    for (uint32_t i = 0; i < WR_COUNT_OF(times); i++) {
        wr_join_row *row = wr_join_row_new(h, (wr_str){"x", 1});
        row->mark = i;
        wr_join_buf_add(h, &buf, times[i], row);
    }
    static const uint32_t order[] = {5, 1, 3, 0, 4, 7, 2, 6}; /* equal times by arrival */
    for (uint32_t i = 0; i < WR_COUNT_OF(times); i++) assert_int_equal(wr_join_buf_ents(&buf)[i].row->mark, order[i]);
    assert_int_equal(wr_join_buf_lower(&buf, 5), 3);
    assert_int_equal(wr_join_buf_lower(&buf, 10), 8);
    wr_join_buf_clear(h, &buf);
    enum { N = 500 };
    static wr_join_row *rows[N];
    for (int turn = 0; turn < 20000; turn++) {
        uint32_t i = (uint32_t)wr_rng_below(&rng, turn / 5000 % 2 ? 20 : N), key = i * 7;
        wr_str   bytes = {(const char *)&key, 4};
        uint32_t hash = wr_join_set_hash(bytes) & 0xFF; /* many equal hashes */
        assert_ptr_equal(wr_join_set_find(&set, bytes, hash), rows[i]);
        if (rows[i]) {
            wr_join_set_remove(h, &set, rows[i], hash);
            wr_join_row_free(h, rows[i]);
            rows[i] = NULL;
        } else {
            rows[i] = wr_join_row_new(h, bytes);
            wr_join_set_add(h, &set, rows[i], hash);
        }
    }
    wr_join_set_clear(h, &set);
    wr_join_heap_free(h);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(heap), cmocka_unit_test(wheel), cmocka_unit_test(buffer_and_set)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
