/* op/normalize_test.c: upsert stream to changelog, and the upsert materialiser, by hand and against a map. */
#include "op/join_testing.h"

typedef struct fixture {
    tk               t;
    const wr_schema *in;
    wr_normalize_opts opts;
    wr_op           *op;
} fixture;
static const uint32_t KEY[] = {0};

static wr_op *make(void *self) {
    fixture *f = self;
    return wr_normalize_new(&f->opts, f->in, &f->t.ctx);
}
static void open_op(fixture *f, bool emit_before, bool materialize, uint32_t batch_rows) {
    memset(f, 0, sizeof *f);
    tk_init(&f->t, batch_rows);
    f->in = tk_schema(&f->t, "k STRING, v INT");
    f->opts = (wr_normalize_opts){.n_keys = 1, .keys = KEY, .emit_before = emit_before, .materialize = materialize};
    f->op = make(f);
}
static void close_op(fixture *f) {
    f->op->vt->close(f->op);
    tk_free(&f->t);
}

static void upserts(void **state) {
    (void)state;
    fixture f;
    open_op(&f, true, false, 2048);
    tk_send(&f.t, f.op, 0, f.in, "a 1; +U b 2; +U a 3; +U a 3; -D c NULL; -D a NULL; a 4; NULL 7; +U NULL 8");
    tk_expect(&f.t, "+I a 1\n+I b 2\n-U a 1\n+U a 3\n-D a 3\n+I a 4\n+I NULL 7\n-U NULL 7\n+U NULL 8\n");
    assert_int_equal(dropped(&f.t, WR_REASON_NO_CHANGE), 1);
    assert_int_equal(dropped(&f.t, WR_REASON_RETRACT_UNKNOWN), 1);
    tk_send(&f.t, f.op, 0, f.in, "-U a 4; +U a 5; -D a 5; -D b 2; -D NULL 8");
    tk_expect(&f.t, "-U a 4\n+U a 5\n-D a 5\n-D b 2\n-D NULL 8\n");
    wr_op_usage u;
    f.op->vt->usage(f.op, &u);
    assert_int_equal(u.keys, 0);
    assert_int_equal(u.rows, 0);
    close_op(&f);
    open_op(&f, false, false, 1);
    tk_send(&f.t, f.op, 0, f.in, "a 1; a 2; a 2; -D a NULL");
    tk_expect(&f.t, "+I a 1\n+U a 2\n-D a 2\n");
    close_op(&f);
}

/* Updates that leave columns out take them from the row before; what cannot be known is an error, not a NULL. */
static void unchanged_columns(void **state) {
    (void)state;
    static const uint64_t of[] = {1, 2, 4, 6}; /* d is made from v and w */
    fixture f;
    memset(&f, 0, sizeof f);
    tk_init(&f.t, 2048);
    f.in = tk_schema(&f.t, "k STRING, v INT, w STRING, d STRING, m BIGINT");
    f.opts = (wr_normalize_opts){.n_keys = 1, .keys = KEY, .emit_before = true, .unchanged = of};
    f.op = make(&f);
    tk_send(&f.t, f.op, 0, f.in, "a 1 x 1x NULL; +U a 2 x 2x NULL; +U a 9 NULL NULL 6");
    tk_expect(&f.t, "+I a 1 x 1x\n-U a 1 x 1x\n+U a 2 x 2x\n"); /* nothing but unknown values: as it was */
    assert_int_equal(dropped(&f.t, WR_REASON_NO_CHANGE), 1);
    assert_int_equal(tk_try_send(&f.t, f.op, 0, f.in, NULL, 0, "+U a 3 NULL NULL 4"), WR_DATA);
    assert_int_equal(tk_try_send(&f.t, f.op, 0, f.in, NULL, 0, "+U b 3 NULL NULL 6"), WR_DATA);
    close_op(&f);
    static const uint64_t plain[] = {1, 2, 4, 8};
    memset(&f, 0, sizeof f);
    tk_init(&f.t, 1);
    f.in = tk_schema(&f.t, "k STRING, v INT, w STRING, d STRING, m BIGINT");
    f.opts = (wr_normalize_opts){.n_keys = 1, .keys = KEY, .emit_before = true, .unchanged = plain};
    f.op = make(&f);
    tk_send(&f.t, f.op, 0, f.in, "a 1 a_text_that_is_long NULL NULL; +U a 2 NULL NULL 12; b 1 y z NULL; +U b 2 NULL q 4; -D a NULL NULL NULL NULL");
    tk_expect(&f.t, "+I a 1 a_text_that_is_long NULL\n-U a 1 a_text_that_is_long NULL\n+U a 2 a_text_that_is_long NULL\n+I b 1 y z\n-U b 1 y z\n+U b 2 y q\n-D a 2 a_text_that_is_long NULL\n");
    close_op(&f);
}

/* Several rows share a sink's key; the last one counts, and when it goes the one before shows again (Flink's SinkUpsertMaterializer). */
static void materialize(void **state) {
    (void)state;
    fixture f;
    open_op(&f, false, true, 2048);
    tk_send(&f.t, f.op, 0, f.in, "a 1; a 2; a 3");
    tk_expect(&f.t, "+I a 1\n+U a 2\n+U a 3\n");
    tk_send(&f.t, f.op, 0, f.in, "-D a 2"); /* not the visible one */
    tk_expect(&f.t, "");
    tk_send(&f.t, f.op, 0, f.in, "-D a 3");
    tk_expect(&f.t, "+U a 1\n");
    tk_send(&f.t, f.op, 0, f.in, "-U a 1; +U a 9; -D a 7");
    tk_expect(&f.t, "+U a 9\n");
    assert_int_equal(dropped(&f.t, WR_REASON_RETRACT_UNKNOWN), 1);
    tk_send(&f.t, f.op, 0, f.in, "-D a 9");
    tk_expect(&f.t, "-D a 9\n");
    tk_send(&f.t, f.op, 0, f.in, "a 1; a 1; -D a 1");
    tk_expect(&f.t, "+I a 1\n");
    tk_send(&f.t, f.op, 0, f.in, "-D a 1");
    tk_expect(&f.t, "-D a 1\n");
    close_op(&f);
}

static void random_upserts(void **state) {
    (void)state;
    wr_rng rng;
    wr_rng_seed(&rng, 3);
    for (int round = 0; round < 60; round++) {
        static const uint32_t sizes[] = {1, 3, 2048};
        fixture f;
        open_op(&f, true, false, sizes[round % 3]);
        f.t.feed_rows = sizes[round / 3 % 3];
        parts p;
        parts_init(&p, &f.t, f.op);
        int now[8];
        for (int i = 0; i < 8; i++) now[i] = -1;
        for (int turn = 0; turn < 30; turn++) {
            wr_sbuf text = {0};
            wr_sbuf_addz(&text, "");
            for (uint64_t n = wr_rng_below(&rng, 20); n > 0; n--) {
                int k = (int)wr_rng_below(&rng, 8), v = (int)wr_rng_below(&rng, 5);
                bool del = wr_rng_below(&rng, 3) == 0;
                wr_sbuf_printf(&text, "%s %c %d\n", del ? "-D" : "+U", 'a' + k, v);
                now[k] = del ? -1 : v;
            }
            parts_send(&p, 0, f.in, KEY, 1, text.at);
            wr_sbuf_clear(&text);
            wr_sbuf_addz(&text, "");
            for (int k = 0; k < 8; k++)
                if (now[k] >= 0) wr_sbuf_printf(&text, "%c %d\n", 'a' + k, now[k]);
            assert_string_equal(tk_fold(&f.t), text.at);
            if (turn == 15 && round % 2) parts_split(&p, make, &f);
            wr_sbuf_free(&text);
        }
        assert_true(f.t.ledger.out_kind[WR_KIND_UPDATE_BEFORE] == f.t.ledger.out_kind[WR_KIND_UPDATE_AFTER]);
        parts_close(&p);
        tk_free(&f.t);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(upserts), cmocka_unit_test(unchanged_columns), cmocka_unit_test(materialize), cmocka_unit_test(random_upserts)};
    return tk_run_tests(tests);
}
