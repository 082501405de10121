/* op/proctime_test.c: windows, sessions and interval joins by a clock that the test sets; panes of the past after a restore. */
#include "op/op_testkit.h"

static const uint32_t KEY[] = {0};

typedef struct fixture { tk t; const wr_schema *in; wr_window_agg_opts opts; wr_op *op; } fixture;

static wr_op *make(fixture *f) { return wr_proctime_new(wr_window_agg_new(&f->opts, f->in, &f->t.ctx), 2, -1); }
static void open_window(fixture *f, wr_window_kind kind, double size, double slide) {
    static wr_agg aggs[2];
    memset(f, 0, sizeof *f);
    tk_init(&f->t, 2048);
    f->in = tk_schema(&f->t, "k STRING, v INT, p TIMESTAMP_LTZ(3)");
    aggs[0] = (wr_agg){.kind = WR_AGG_COUNT_STAR, .arg = -1, .arg2 = -1, .filter = -1, .type = wr_type_of(WR_T_BIGINT)};
    aggs[1] = (wr_agg){.kind = WR_AGG_SUM, .arg = 1, .arg2 = -1, .filter = -1, .arg_type = wr_type_of(WR_T_INT), .type = wr_type_of(WR_T_INT)};
    f->opts = (wr_window_agg_opts){.window = {.kind = kind, .size_us = tk_us(size), .slide_us = tk_us(slide), .time_col = 2, .proctime = true}, .n_keys = 1, .keys = KEY, .n_aggs = 2,
                                   .aggs = aggs, .out_start = true, .out_end = true, .in_start = -1, .in_end = -1};
    f->op = make(f);
}
static void clock_at(fixture *f, double seconds) {
    f->t.ctx.now_us = tk_us(seconds);
    for (bool moved = true; moved;) {
        moved = false;
        f->t.full = false;
        tk_press(&f->t, f->op);
        tk_ok(&f->t, f->op->on_step(f->op, &f->t.out, &moved, &f->t.err));
        if (!f->t.ctx.stalled) break;
    }
}
static void close_window(fixture *f) {
    f->op->vt->close(f->op);
    tk_free(&f->t);
}

static void tumble(void **state) {
    (void)state;
    fixture f;
    open_window(&f, WR_WINDOW_TUMBLE, 10, 10);
    clock_at(&f, 1);
    tk_send(&f.t, f.op, 0, f.in, "a 1 99; b 2 NULL"); /* what stands in the column does not matter */
    clock_at(&f, 9.9999);
    tk_send(&f.t, f.op, 0, f.in, "a 3 0");
    tk_expect(&f.t, "");
    clock_at(&f, 10);
    tk_expect_sorted(&f.t, "+I a 2 4 0 10\n+I b 1 2 0 10\n");
    tk_send(&f.t, f.op, 0, f.in, "a 5 0");
    clock_at(&f, 4); /* set back: the rows that come are still of the second window */
    tk_send(&f.t, f.op, 0, f.in, "a 6 0 !5");
    clock_at(&f, 20);
    tk_expect(&f.t, "+I a 2 11 10 20\n");
    assert_int_equal(f.t.ledger.dropped[WR_REASON_LATE], 0);
    tk_send(&f.t, f.op, 0, f.in, "a 7 0");
    tk_end(&f.t, f.op); /* what is open gives nothing */
    tk_expect(&f.t, "");
    close_window(&f);
}

static void hop_and_session(void **state) {
    (void)state;
    fixture f;
    open_window(&f, WR_WINDOW_HOP, 10, 5);
    clock_at(&f, 6);
    tk_send(&f.t, f.op, 0, f.in, "a 1 0");
    clock_at(&f, 11);
    tk_expect(&f.t, "+I a 1 1 0 10\n");
    tk_send(&f.t, f.op, 0, f.in, "a 2 0");
    clock_at(&f, 30);
    tk_expect(&f.t, "+I a 2 3 5 15\n+I a 1 2 10 20\n");
    close_window(&f);
    open_window(&f, WR_WINDOW_SESSION, 5, 0);
    clock_at(&f, 1);
    tk_send(&f.t, f.op, 0, f.in, "a 1 0");
    clock_at(&f, 4);
    tk_send(&f.t, f.op, 0, f.in, "a 2 0; b 9 0");
    clock_at(&f, 8.999);
    tk_expect(&f.t, "");
    clock_at(&f, 9);
    tk_expect_sorted(&f.t, "+I a 2 3 1 9\n+I b 1 9 4 9\n");
    close_window(&f);
}

static void the_past_fires_after_a_restore(void **state) {
    (void)state;
    fixture f;
    wr_sbuf image = {0};
    open_window(&f, WR_WINDOW_TUMBLE, 10, 10);
    clock_at(&f, 12);
    tk_send(&f.t, f.op, 0, f.in, "a 1 0; b 2 0");
    tk_save(f.op, &image);
    f.op->vt->close(f.op);
    f.op = make(&f);
    tk_load(&f.t, f.op, &image, 0, WR_KEY_GROUPS_DEFAULT);
    clock_at(&f, 5); /* the clock of this machine is behind: what was closed stays closed */
    tk_send(&f.t, f.op, 0, f.in, "a 3 0");
    tk_expect(&f.t, "");
    clock_at(&f, 100);
    tk_expect_sorted(&f.t, "+I a 2 4 10 20\n+I b 1 2 10 20\n");
    close_window(&f);
    wr_sbuf_free(&image);
}

static void interval(void **state) {
    (void)state;
    tk t;
    tk_init(&t, 2048);
    static const uint32_t keys[] = {0};
    const wr_schema *l = tk_schema(&t, "k STRING, v INT, p TIMESTAMP_LTZ(3)"), *r = tk_schema(&t, "k STRING, w INT, q TIMESTAMP_LTZ(3)");
    const wr_interval_join_opts opts = {.kind = WR_JOIN_LEFT, .keys = {1, keys, keys, NULL}, .left_time = 2, .right_time = 2, .lower_us = 0, .upper_us = tk_us(5), .proctime = true};
    wr_op *op = wr_proctime_new(wr_interval_join_new(&opts, l, r, &t.ctx), 2, 2);
    bool   moved = false;
    t.ctx.now_us = tk_us(1);
    tk_send(&t, op, 0, l, "a 1 0; b 2 0");
    t.ctx.now_us = tk_us(3);
    tk_send(&t, op, 1, r, "a 10 0");
    tk_expect(&t, "+I a 1 1 a 10 3\n");
    t.ctx.now_us = tk_us(7); /* too late for b */
    tk_ok(&t, op->on_step(op, &t.out, &moved, &t.err));
    tk_send(&t, op, 1, r, "b 20 0");
    tk_expect(&t, "+I b 2 1 NULL NULL NULL\n");
    op->vt->close(op);
    tk_free(&t);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(tumble), cmocka_unit_test(hop_and_session), cmocka_unit_test(the_past_fires_after_a_restore), cmocka_unit_test(interval)};
    return tk_run_tests(tests);
}
