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

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(order_and_bytes), cmocka_unit_test(two_threads)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
