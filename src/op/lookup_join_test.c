/* op/lookup_join_test.c: lookup joins against a table in the test that answers when it is told to: order, watermark, retractions, cache, errors, checkpoints. */
#include "op/op_testkit.h"

#define wr_lookup_join_new(...) (tk_next_op(), wr_lookup_join_new(__VA_ARGS__))

typedef struct fixture {
    wr_asker            asker; /* first: cast back */
    tk                  t;
    const wr_schema    *left, *right;
    wr_lookup_join_opts opts;
    wr_op              *op;
    const char         *table;   /* what it holds now */
    WR_ARR(wr_ask *)    asks;    /* not answered */
    wr_sbuf             asked;   /* keys, a line a question */
    wr_status           fails;
} fixture;
static const uint32_t LEFT[] = {1}, RIGHT[] = {0};

static void fake_ask(wr_asker *asker, wr_ask *ask) {
    fixture *f = (fixture *)asker;
    for (uint32_t i = 0; i < ask->keys->n_rows; i++) wr_sbuf_printf(&f->asked, "%s%d", i ? " " : "", ((int32_t *)ask->keys->cols[0].data)[i]);
    wr_sbuf_addc(&f->asked, '\n');
    wr_arr_push(&f->asks, ask);
}
static void    fake_step(wr_asker *asker) { (void)asker; }
static int64_t fake_bytes(wr_asker *asker) { return (void)asker, 0; }
static void    fake_close(wr_asker *asker) { wr_arr_free(&((fixture *)asker)->asks), wr_sbuf_free(&((fixture *)asker)->asked); }

static void open_with(fixture *f, wr_lookup_join_opts opts, uint32_t batch_rows) {
    memset(f, 0, sizeof *f);
    tk_init(&f->t, batch_rows);
    f->asker = (wr_asker){fake_ask, fake_step, fake_bytes, fake_close};
    f->left = tk_schema(&f->t, "id INT, k INT");
    f->right = tk_schema(&f->t, "k INT, v STRING");
    f->opts = opts;
    f->opts.keys = (wr_join_keys){1, LEFT, RIGHT, NULL};
    if (!f->opts.capacity) f->opts.capacity = 4;
    f->t.ctx.now_us = 1000000;
    f->op = wr_lookup_join_new(&f->opts, f->left, f->right, &f->asker, &f->t.ctx);
    f->table = "1 one; 2 two; 3 three; 3 drei";
}
static void close_op(fixture *f) {
    f->op->vt->close(f->op);
    tk_free(&f->t);
}
static void step(fixture *f) {
    bool moved = false;
    tk_press(&f->t, f->op);
    tk_ok(&f->t, f->op->on_step(f->op, &f->t.out, &moved, &f->t.err));
}
/* Question i is answered with what the table holds now: all of it, more than was asked for. */
static void answer(fixture *f, uint32_t i) {
    wr_ask   *ask = f->asks.at[i];
    wr_batch *rows = tk_batch(f->right, f->table);
    if (rows) wr_arr_push(&ask->rows, rows);
    ask->status = f->fails;
    if (f->fails) wr_fail(&ask->err, f->fails, "58030", "the table is away");
    memmove(f->asks.at + i, f->asks.at + i + 1, (f->asks.n - i - 1) * sizeof *f->asks.at);
    f->asks.n--;
    atomic_store(&ask->done, true);
    step(f);
}
static uint64_t dropped(const fixture *f, wr_reason r) { return f->t.ledger.dropped[r]; }
#define expect_asked(f, text)                              \
    do {                                                   \
        assert_string_equal((f)->asked.len ? (f)->asked.at : "", text); \
        wr_sbuf_clear(&(f)->asked);                        \
    } while (0)

static void inner_and_left(void **state) {
    (void)state;
    fixture f;
    open_with(&f, (wr_lookup_join_opts){.kind = WR_JOIN_INNER, .ordered = true}, 2048);
    tk_send(&f.t, f.op, 0, f.left, "1 1; 2 9; 3 3; 4 1; 5 NULL");
    expect_asked(&f, "1 9 3\n"); /* each key once */
    tk_expect(&f.t, "");
    answer(&f, 0);
    tk_expect(&f.t, "+I 1 1 1 one\n+I 3 3 3 three\n+I 3 3 3 drei\n+I 4 1 1 one\n");
    assert_int_equal(dropped(&f, WR_REASON_UNMATCHED_LEFT), 1);
    assert_int_equal(dropped(&f, WR_REASON_NULL_KEY), 1);
    assert_int_equal(f.t.ledger.matched[0], 3);
    close_op(&f);
    open_with(&f, (wr_lookup_join_opts){.kind = WR_JOIN_LEFT, .ordered = true}, 1);
    f.t.feed_rows = 1;
    tk_send(&f.t, f.op, 0, f.left, "1 9; 2 3; 3 NULL");
    expect_asked(&f, "9\n3\n"); /* nothing is asked for NULL */
    answer(&f, 0), answer(&f, 0);
    tk_expect(&f.t, "+I 1 9 NULL NULL\n+I 2 3 3 three\n+I 2 3 3 drei\n+I 3 NULL NULL NULL\n");
    close_op(&f);
}

static void order(void **state) {
    (void)state;
    for (int ordered = 0; ordered < 2; ordered++) {
        fixture f;
        open_with(&f, (wr_lookup_join_opts){.kind = WR_JOIN_INNER, .ordered = ordered}, 2048);
        f.t.feed_rows = 1;
        tk_send(&f.t, f.op, 0, f.left, "1 1; 2 2; 3 1");
        answer(&f, 1);
        tk_expect(&f.t, ordered ? "" : "+I 2 2 2 two\n");
        answer(&f, 1);
        tk_expect(&f.t, ordered ? "" : "+I 3 1 1 one\n");
        answer(&f, 0);
        tk_expect(&f.t, ordered ? "+I 1 1 1 one\n+I 2 2 2 two\n+I 3 1 1 one\n" : "+I 1 1 1 one\n");
        close_op(&f);
    }
}

/* What downstream may assume never passes a row that is under way; the end of input waits for it. */
static void watermark(void **state) {
    (void)state;
    fixture f;
    bool    more = false;
    open_with(&f, (wr_lookup_join_opts){.kind = WR_JOIN_INNER}, 2048);
    tk_watermark(&f.t, f.op, 5);
    assert_int_equal(f.op->vt->output_watermark(f.op, tk_us(5)), tk_us(5));
    tk_send(&f.t, f.op, 0, f.left, "1 1");
    tk_watermark(&f.t, f.op, 7);
    tk_send(&f.t, f.op, 0, f.left, "2 2");
    tk_watermark(&f.t, f.op, 9);
    assert_int_equal(f.op->vt->output_watermark(f.op, tk_us(9)), tk_us(5));
    answer(&f, 1);
    assert_int_equal(f.op->vt->output_watermark(f.op, tk_us(9)), tk_us(5));
    assert_true(f.t.ctx.waiting);
    tk_ok(&f.t, f.op->vt->on_watermark(f.op, WR_TIME_MAX, &f.t.out, &more, &f.t.err));
    assert_true(more);
    answer(&f, 0);
    assert_int_equal(f.op->vt->output_watermark(f.op, tk_us(9)), tk_us(9));
    assert_false(f.t.ctx.waiting);
    tk_end(&f.t, f.op);
    tk_expect(&f.t, "+I 2 2 2 two\n+I 1 1 1 one\n");
    close_op(&f);
}

/* No more than `capacity` questions: then the operator asks for no more rows. */
static void capacity(void **state) {
    (void)state;
    fixture f;
    open_with(&f, (wr_lookup_join_opts){.kind = WR_JOIN_INNER, .capacity = 2}, 2048);
    tk_send(&f.t, f.op, 0, f.left, "1 1");
    assert_false(f.t.ctx.stalled);
    tk_send(&f.t, f.op, 0, f.left, "2 2");
    assert_true(f.t.ctx.stalled);
    answer(&f, 0);
    assert_false(f.t.ctx.stalled);
    answer(&f, 0);
    close_op(&f);
}

/* The table changes; what was given is what is taken back. Equal rows share what the first of them got. */
static void retractions(void **state) {
    (void)state;
    fixture f;
    open_with(&f, (wr_lookup_join_opts){.kind = WR_JOIN_LEFT, .kept = true}, 2048);
    tk_send(&f.t, f.op, 0, f.left, "1 1; 2 9");
    answer(&f, 0);
    tk_expect(&f.t, "+I 1 1 1 one\n+I 2 9 NULL NULL\n");
    f.table = "1 uno; 9 nine";
    tk_send(&f.t, f.op, 0, f.left, "1 1"); /* again */
    answer(&f, 0);
    tk_expect(&f.t, "+I 1 1 1 one\n");
    wr_sbuf_clear(&f.asked);
    tk_send(&f.t, f.op, 0, f.left, "-U 1 1; +U 1 9; -D 2 9; -D 7 7");
    expect_asked(&f, "9\n"); /* nothing is asked for a row that goes */
    answer(&f, 0);
    tk_expect(&f.t, "-U 1 1 1 one\n+U 1 9 9 nine\n-D 2 9 NULL NULL\n");
    assert_int_equal(dropped(&f, WR_REASON_RETRACT_UNKNOWN), 1);
    tk_send(&f.t, f.op, 0, f.left, "-D 1 1");
    tk_expect(&f.t, "-D 1 1 1 one\n");
    tk_send(&f.t, f.op, 0, f.left, "1 1");
    answer(&f, 0);
    tk_expect(&f.t, "+I 1 1 1 uno\n"); /* the last one went: a new one looks anew */
    wr_op_usage u;
    f.op->vt->usage(f.op, &u);
    assert_int_equal(u.keys, 2);
    close_op(&f);
}

static void batches_are_bounded(void **state) {
    (void)state;
    for (int kept = 0; kept < 2; kept++) {
        fixture f;
        open_with(&f, (wr_lookup_join_opts){.kind = WR_JOIN_INNER, .kept = kept}, 2);
        f.table = "3 a; 3 b; 3 c; 3 d; 3 e";
        tk_send(&f.t, f.op, 0, f.left, "1 3; 2 3");
        f.t.full_every = 1;
        answer(&f, 0);
        for (int i = 0; i < 20 && f.t.ctx.waiting; i++) f.t.full = false, step(&f);
        tk_expect(&f.t, "+I 1 3 3 a\n+I 1 3 3 b\n+I 1 3 3 c\n+I 1 3 3 d\n+I 1 3 3 e\n+I 2 3 3 a\n+I 2 3 3 b\n+I 2 3 3 c\n+I 2 3 3 d\n+I 2 3 3 e\n");
        f.t.full_every = 0, f.t.full = false;
        if (kept) {
            tk_send(&f.t, f.op, 0, f.left, "-D 2 3");
            tk_expect(&f.t, "-D 2 3 3 a\n-D 2 3 3 b\n-D 2 3 3 c\n-D 2 3 3 d\n-D 2 3 3 e\n");
        }
        close_op(&f);
    }
}

static void cache(void **state) {
    (void)state;
    fixture f;
    open_with(&f, (wr_lookup_join_opts){.kind = WR_JOIN_LEFT, .cache = WR_LOOKUP_CACHE_PARTIAL, .cache_rows = 2, .cache_missing = true, .expire_write_us = 10000000}, 2048);
    tk_send(&f.t, f.op, 0, f.left, "1 1; 2 9");
    answer(&f, 0);
    expect_asked(&f, "1 9\n");
    if (tk_spills) { /* a limit of one byte takes the cache away */
        tk_send(&f.t, f.op, 0, f.left, "3 1");
        expect_asked(&f, "1\n");
        close_op(&f);
        return;
    }
    tk_send(&f.t, f.op, 0, f.left, "3 1; 4 9"); /* also that there is nothing */
    expect_asked(&f, "");
    tk_expect(&f.t, "+I 1 1 1 one\n+I 2 9 NULL NULL\n+I 3 1 1 one\n+I 4 9 NULL NULL\n");
    tk_send(&f.t, f.op, 0, f.left, "5 2; 6 1"); /* 9 was used longest ago, then 1 is found, 2 comes: 9 goes */
    answer(&f, 0);
    expect_asked(&f, "2\n");
    tk_send(&f.t, f.op, 0, f.left, "7 9");
    expect_asked(&f, "9\n");
    answer(&f, 0);
    wr_op_usage u;
    f.op->vt->usage(f.op, &u);
    assert_int_equal(u.lookup_hits, 3);
    assert_int_equal(u.lookup_asked, 4);
    assert_true(u.cache_bytes > 0);
    f.t.ctx.now_us += 10000000; /* too old */
    tk_send(&f.t, f.op, 0, f.left, "8 9");
    expect_asked(&f, "9\n");
    answer(&f, 0);
    close_op(&f);
    open_with(&f, (wr_lookup_join_opts){.kind = WR_JOIN_LEFT, .cache = WR_LOOKUP_CACHE_PARTIAL, .cache_bytes = 2000, .expire_access_us = 5000000}, 2048);
    for (int i = 0; i < 100; i++) {
        char row[32];
        snprintf(row, sizeof row, "1 %d", i);
        char table[32];
        snprintf(table, sizeof table, "%d name%d", i, i);
        f.table = table;
        tk_send(&f.t, f.op, 0, f.left, row);
        answer(&f, 0);
    }
    wr_sbuf_clear(&f.asked);
    tk_send(&f.t, f.op, 0, f.left, "1 99; 2 0"); /* the newest is there, the oldest is not */
    expect_asked(&f, "0\n");
    f.table = "";
    answer(&f, 0);
    tk_send(&f.t, f.op, 0, f.left, "2 0"); /* that there is nothing was not remembered */
    expect_asked(&f, "0\n");
    answer(&f, 0);
    f.t.ctx.now_us += 5000000;
    tk_send(&f.t, f.op, 0, f.left, "1 99"); /* nobody wanted it for so long */
    expect_asked(&f, "99\n");
    answer(&f, 0);
    close_op(&f);
}

static void misses_are_asked_again(void **state) {
    (void)state;
    fixture f;
    open_with(&f, (wr_lookup_join_opts){.kind = WR_JOIN_LEFT, .ordered = true, .retry_miss = true, .attempts = 3, .retry_delay_us = 1000000}, 2048);
    tk_send(&f.t, f.op, 0, f.left, "1 1; 2 8; 3 9");
    answer(&f, 0);
    expect_asked(&f, "1 8 9\n");
    step(&f);
    expect_asked(&f, "");
    f.t.ctx.now_us += 1000000;
    step(&f);
    expect_asked(&f, "8 9\n");
    f.table = "8 eight";
    answer(&f, 0);
    f.t.ctx.now_us += 1000000;
    step(&f);
    expect_asked(&f, "9\n");
    tk_expect(&f.t, "");
    answer(&f, 0); /* the last attempt */
    tk_expect(&f.t, "+I 1 1 1 one\n+I 2 8 8 eight\n+I 3 9 NULL NULL\n");
    wr_op_usage u;
    f.op->vt->usage(f.op, &u);
    assert_int_equal(u.lookup_retries, 3);
    close_op(&f);
}

static void errors(void **state) {
    (void)state;
    fixture f;
    bool    moved;
    open_with(&f, (wr_lookup_join_opts){.kind = WR_JOIN_INNER, .timeout_us = 5000000}, 2048);
    tk_send(&f.t, f.op, 0, f.left, "1 1; 2 7");
    f.t.ctx.now_us += 3600000000; /* the clock is set: nobody waited for an hour */
    step(&f);
    for (int i = 0; i < 4; i++) f.t.ctx.now_us += 1000000, step(&f);
    f.t.ctx.now_us += 1000000;
    assert_int_equal(f.op->on_step(f.op, &f.t.out, &moved, &f.t.err), WR_IO);
    assert_string_equal(f.t.err.code, "57014");
    assert_non_null(strstr(f.t.err.place, "2 keys, the first is (1)"));
    wr_ask *ask = f.asks.at[0];
    f.fails = WR_IO;
    wr_fail(&ask->err, WR_IO, "58030", "the table is away");
    ask->status = WR_IO;
    atomic_store(&ask->done, true);
    f.t.err = (wr_err){0};
    assert_int_equal(f.op->on_step(f.op, &f.t.out, &moved, &f.t.err), WR_IO);
    assert_string_equal(f.t.err.message, "the table is away");
    tk_expect(&f.t, "");
    close_op(&f);
}

/* Rows under way are in the image, by key group; so is what was kept. */
static void checkpoints(void **state) {
    (void)state;
    for (int kept = 0; kept < 2; kept++) {
        fixture f;
        wr_sbuf image = {0};
        open_with(&f, (wr_lookup_join_opts){.kind = WR_JOIN_LEFT, .kept = kept}, 2048);
        tk_send(&f.t, f.op, 0, f.left, "1 1; 2 2");
        answer(&f, 0);
        tk_send(&f.t, f.op, 0, f.left, kept ? "-U 1 1; +U 1 3; 4 9 !2.5" : "5 1; 1 3; 4 9 !2.5");
        tk_clear(&f.t);
        tk_save(f.op, &image);
        f.op->vt->close(f.op);
        for (uint32_t half = 0; half < 2; half++) { /* one after the other in one context */
            f.op = wr_lookup_join_new(&f.opts, f.left, f.right, &f.asker, &f.t.ctx);
            f.table = "1 changed; 3 three; 9 nine";
            tk_load(&f.t, f.op, &image, half ? 64 : 0, half ? 128 : 64);
            while (f.asks.n) answer(&f, 0);
            step(&f);
            if (!half) f.op->vt->close(f.op);
        }
        tk_expect_sorted(&f.t, kept ? "+I 4 9 9 nine !2.5\n+U 1 3 3 three\n-U 1 1 1 one\n" : "+I 1 3 3 three\n+I 4 9 9 nine !2.5\n+I 5 1 1 changed\n");
        close_op(&f);
        wr_sbuf_free(&image);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(inner_and_left), cmocka_unit_test(order), cmocka_unit_test(watermark), cmocka_unit_test(capacity), cmocka_unit_test(retractions),
        cmocka_unit_test(batches_are_bounded), cmocka_unit_test(cache), cmocka_unit_test(misses_are_asked_again), cmocka_unit_test(errors), cmocka_unit_test(checkpoints),
    };
    return tk_run_tests(tests);
}
