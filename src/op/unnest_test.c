/* op/unnest_test.c: copies by a count: kinds and lateness stay with each copy, batches stay within their bound. Lists: tests/sql/unnest.test. */
#include "op/op_testkit.h"

static void test_copies(void **state) {
    (void)state;
    for (uint32_t rows = 1; rows <= 5; rows++) {
        tk t;
        tk_init(&t, rows);
        const wr_schema *in = tk_schema(&t, "k STRING, n BIGINT, v INT");
        uint32_t         pass[] = {2, 0};
        wr_op           *op = wr_unnest_new(&(wr_unnest_opts){.col = 1, .n_pass = 2, .pass = pass}, in, &t.ctx);
        tk_send(&t, op, 0, in, "a 2 7; b 0 8; c NULL 9; -U a 2 7; +U a 1 6; -D d 1 5 !3");
        tk_expect(&t, "+I 7 a\n+I 7 a\n-U 7 a\n-U 7 a\n+U 6 a\n-D 5 d !3\n");
        tk_watermark(&t, op, 10);
        assert_true(t.n_batches >= (6 + rows - 1) / rows);
        op->vt->close(op);
        tk_free(&t);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_copies)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
