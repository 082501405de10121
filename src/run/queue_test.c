/* run/queue_test.c: order, byte counts, and a producer and a consumer thread at full speed (run it under the thread sanitizer). */
#include "run/internal.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <cmocka.h>

enum { MESSAGES = 100000 };

static void order_and_bytes(void **state) {
    (void)state;
    wr_account acct;
    wr_account_init(&acct, NULL, "q", 0);
    queue *q = queue_new(&acct);
    assert_null(queue_peek(q));
    for (uint64_t i = 0; i < 200; i++) queue_push(q, (msg){.kind = MSG_WATERMARK, .seq = i, .bytes = 10});
    assert_int_equal(queue_bytes(q), 2000);
    assert_int_equal(wr_account_bytes(&acct), 2000);
    for (uint64_t i = 0; i < 200; i++) {
        const msg *m = queue_peek(q);
        assert_non_null(m);
        assert_int_equal(m->seq, i);
        queue_pop(q);
    }
    assert_null(queue_peek(q));
    assert_int_equal(queue_bytes(q), 0);
    queue_push(q, (msg){.kind = MSG_BATCH, .bytes = 7, .batch = wr_batch_new(0, 64)});
    queue_free(q); /* what is left is released */
    assert_int_equal(wr_account_bytes(&acct), 0);
}

static void add_seq(void *arg, const msg *m) {
    if (m->kind != MSG_BARRIER) *(uint64_t *)arg = *(uint64_t *)arg * 3 + m->seq;
}

/* What is in front of a barrier is seen in order, over several segments and past an older barrier, and stays where it is. */
static void in_front_of_a_barrier(void **state) {
    (void)state;
    wr_account acct;
    wr_account_init(&acct, NULL, "q", 0);
    for (uint64_t n = 0; n < 200; n += 7) {
        queue   *q = queue_new(&acct);
        uint64_t want = 0, got = 0;
        for (uint64_t i = 0; i < 31; i++) queue_push(q, (msg){.kind = MSG_WATERMARK, .seq = 99});
        for (uint64_t i = 0; i < 31; i++) queue_pop(q);
        queue_push(q, (msg){.kind = MSG_BARRIER, .seq = 1});
        for (uint64_t i = 0; i < n; i++) {
            queue_push(q, (msg){.kind = MSG_WATERMARK, .seq = i});
            want = want * 3 + i;
        }
        assert_int_equal(queue_barrier(q), 1);
        queue_push(q, (msg){.kind = MSG_BARRIER, .seq = 2});
        queue_push(q, (msg){.kind = MSG_WATERMARK, .seq = 1000});
        assert_int_equal(queue_barrier(q), 2);
        queue_each(q, 2, add_seq, &got);
        assert_int_equal(got, want);
        assert_int_equal(queue_peek(q)->kind, MSG_BARRIER);
        assert_int_equal(queue_peek(q)->seq, 1);
        queue_free(q);
    }
}

static void produce(void *arg) {
    for (uint64_t i = 0; i < MESSAGES; i++) queue_push(arg, (msg){.kind = MSG_WATERMARK, .seq = i, .bytes = 1});
}

static void two_threads(void **state) {
    (void)state;
    wr_account acct;
    wr_account_init(&acct, NULL, "q", 0);
    queue *q = queue_new(&acct);
    void  *thread;
    wr_err err;
    wr_world *w = wr_world_posix();
    assert_int_equal(w->vt->spawn(w, "producer", produce, q, &thread, &err), WR_OK);
    for (uint64_t i = 0; i < MESSAGES;) {
        const msg *m = queue_peek(q);
        if (!m) continue;
        assert_int_equal(m->seq, i);
        queue_pop(q);
        i++;
    }
    w->vt->join(w, thread);
    assert_int_equal(wr_account_bytes(&acct), 0);
    queue_free(q);
}

static void move(queue *q, uint32_t n, uint32_t left) { /* n messages of 10 kB come, all but `left` bytes' worth go */
    for (uint32_t i = 0; i < n; i++) queue_push(q, (msg){.kind = MSG_BATCH, .bytes = 10000});
    while (queue_bytes(q) > left) {
        assert_non_null(queue_peek(q));
        queue_pop(q);
    }
}

static void the_bound_follows_the_consumer(void **state) {
    (void)state;
    wr_account acct;
    wr_account_init(&acct, NULL, "q", 0);
    queue       *q = queue_new(&acct);
    const size_t limit = 8 << 20;
    move(q, 100, 1000000);
    assert_false(queue_full(q, limit));
    queue_adapt(q, limit, 100000); /* nothing taken in 0.1 s: half as much */
    for (int i = 0; i < 3; i++) queue_adapt(q, limit, 100000);
    assert_true(queue_full(q, limit)); /* 8 MiB / 16 < 1 MB */
    for (int i = 0; i < 10; i++) queue_adapt(q, limit, 100000);
    move(q, 0, 60000);
    assert_false(queue_full(q, limit)); /* never below 64 KiB */
    move(q, 100, 0);
    queue_adapt(q, limit, 100000); /* 1.06 MB (and 0.94 MB before) in 0.1 s: 200 ms are some 4 MB */
    move(q, 300, 3000000);
    assert_false(queue_full(q, limit));
    move(q, 200, 5000000);
    assert_true(queue_full(q, limit));
    assert_true(queue_full(q, 1000)); /* the limit of all holds as well */
    move(q, 0, 0);
    queue_free(q);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(order_and_bytes), cmocka_unit_test(in_front_of_a_barrier), cmocka_unit_test(two_threads),
                                       cmocka_unit_test(the_bound_follows_the_consumer)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
