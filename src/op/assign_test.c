/* op/assign_test.c: rounds of ASSIGN, by hand for each rule, and against a reference that steps through every single round. */
#include "op/op_testkit.h"
#include "base/hash.h"

typedef struct fix { tk t; const wr_schema *orders, *couriers, *output; wr_assign_opts o; uint32_t keys[1]; wr_op *op; } fix;
enum { REGION, ID, X, Y, TO_X, TO_Y, STATUS, TIME, C_STATUS = 4, C_TIME };

static void fix_init(fix *f, uint32_t batch_rows, double every) {
    memset(f, 0, sizeof *f);
    tk_init(&f->t, batch_rows);
    f->orders = tk_schema(&f->t, "r STRING, id BIGINT, x DOUBLE, y DOUBLE, to_x DOUBLE, to_y DOUBLE, st STRING, ts TIMESTAMP(3)*");
    f->couriers = tk_schema(&f->t, "r STRING, id STRING, x DOUBLE, y DOUBLE, st STRING, ts TIMESTAMP(3)*");
    f->output = tk_schema(&f->t, "r STRING, id BIGINT, courier STRING, distance DOUBLE, waited BIGINT, attempt INT, stop INT, rowtime TIMESTAMP(3)*");
    f->o = (wr_assign_opts){.n_keys = 1, .every_us = tk_us(every), .max_wait_us = tk_us(1800), .timeout_us = tk_us(600), .hold_us = tk_us(30), .output = *f->output,
                            .how.wait_weight = 0.001 /* among equally near ones the older */};
    f->o.side[0] = (wr_assign_side){.keys = f->keys, .id = ID, .x = X, .y = Y, .to_x = TO_X, .to_y = TO_Y, .status = STATUS, .time = TIME};
    f->o.side[1] = (wr_assign_side){.keys = f->keys, .id = ID, .x = X, .y = Y, .to_x = -1, .to_y = -1, .status = C_STATUS, .time = C_TIME};
}
static wr_op *new_op(fix *f) {
    const wr_schema *in[2] = {f->orders, f->couriers};
    return wr_op_check(wr_assign_new(&f->o, f->orders, f->couriers, &f->t.ctx), in, 2, f->output, true);
}
static void order(fix *f, const char *rows) { tk_send(&f->t, f->op, 0, f->orders, rows); }
static void courier(fix *f, const char *rows) { tk_send(&f->t, f->op, 1, f->couriers, rows); }
static uint64_t dropped(const fix *f) {
    uint64_t n = 0;
    for (int i = 0; i < WR_REASON_COUNT; i++) n += f->t.ledger.dropped[i];
    return n;
}
static void assert_closes(const fix *f) {
    const wr_ledger *l = &f->t.ledger;
    assert_int_equal(l->in[0] + l->in[1], l->used + dropped(f) + l->kept[0] + l->kept[1]);
}
/* After the end of input: nothing is left. */
static void close_empty(fix *f) {
    assert_closes(f);
    assert_int_equal(f->t.ledger.kept[0] + f->t.ledger.kept[1], 0);
    wr_op_usage u;
    f->op->vt->usage(f->op, &u);
    assert_int_equal(u.rows, 0);
    assert_int_equal(u.keys, 0);
    f->op->vt->close(f->op);
    tk_free(&f->t);
}

static void done(fix *f, const char *want) {
    tk_end(&f->t, f->op);
    tk_expect(&f->t, want);
    close_empty(f);
}

/* Round 5 takes what is before 5 and runs when the watermark is at 4.999. Partitions do not see each other. 3-4-5 triangle. */
static void test_round(void **state) {
    (void)state;
    for (uint32_t rows = 1; rows <= 2048; rows += 2047) {
        fix f;
        fix_init(&f, rows, 5);
        f.op = new_op(&f);
        order(&f, "a 1 0 0 9 9 open 1; b 2 0 0 9 9 NULL 4.999; a 3 0 0 9 9 new 5");
        courier(&f, "a c1 3 4 free 2; b c2 6 8 Available 3.5; a c3 1 0 idle 5.5");
        assert_int_equal(f.t.ledger.kept[0], 3);
        tk_watermark(&f.t, f.op, 4.998);
        tk_expect(&f.t, "");
        tk_watermark(&f.t, f.op, 4.999);
        tk_expect_sorted(&f.t, "+I a 1 c1 5 4000 1 1 4.999\n+I b 2 c2 10 1 1 1 4.999\n");
        assert_int_equal(f.t.ledger.kept[0], 1);
        tk_watermark(&f.t, f.op, 9.999);
        tk_expect(&f.t, "+I a 3 c3 1 5000 1 1 9.999\n");
        done(&f, "");
    }
}

/* The oldest first in the output; among orders of one time the one with the lesser id. As many as possible, then the least sum: 1 and 3 apart, not 0 and 4. */
static void test_best(void **state) {
    (void)state;
    fix f;
    fix_init(&f, 2048, 5);
    f.op = new_op(&f);
    courier(&f, "a c1 0 0 free 1; a c2 5 0 free 1");
    order(&f, "a 12 3 0 0 0 open 2; a 3 1 0 0 0 open 2; a 7 4 0 0 0 open 1");
    tk_watermark(&f.t, f.op, 5);
    tk_expect(&f.t, "+I a 7 c2 1 4000 1 1 4.999\n+I a 3 c1 1 3000 1 1 4.999\n");
    done(&f, "+I a 12 NULL NULL 1803000 1 NULL 1804.999\n");
}

/* Late is what the row's own watermark says about its round, not about its time; a row behind the watermark whose round is open counts. */
static void test_late(void **state) {
    (void)state;
    fix f;
    fix_init(&f, 2048, 5);
    f.op = new_op(&f);
    courier(&f, "a c1 0 0 free 6; a c2 1 1 free 6");
    tk_watermark(&f.t, f.op, 7);
    order(&f, "a 1 0 0 0 0 open 4.999 !7; a 2 0 0 0 0 open 5 !7; a 3 1 1 0 0 open 6.5 !9.998; a 4 0 0 0 0 open 6.5 !9.999");
    assert_int_equal(f.t.ledger.dropped[WR_REASON_LATE], 2);
    tk_watermark(&f.t, f.op, 10);
    tk_expect(&f.t, "+I a 2 c1 0 5000 1 1 9.999\n+I a 3 c2 0 3500 1 1 9.999\n");
    done(&f, "");
}

/* What cannot be used is dropped and counted: ids, coordinates where they are needed, words. A courier that is away needs no place. */
static void test_malformed(void **state) {
    (void)state;
    fix f;
    fix_init(&f, 2048, 5);
    f.op = new_op(&f);
    order(&f, "a NULL 0 0 0 0 open 1; a 1 NULL 0 0 0 open 1; a 2 0 nan 0 0 open 1; a 3 inf 0 0 0 NULL 1; a 4 0 0 0 0 lost 1; a 5 0 0 NULL 0 open 1; a 6 NULL NULL NULL NULL DONE 1");
    courier(&f, "a NULL 0 0 free 1; a c1 0 NULL free 1; a c2 0 0 free 1; a c2 NULL NULL break 2; a c3 0 0 NULL 1");
    assert_int_equal(f.t.ledger.dropped[WR_REASON_NULL_KEY], 2);
    assert_int_equal(f.t.ledger.dropped[WR_REASON_MALFORMED], 5);
    tk_watermark(&f.t, f.op, 5);
    tk_expect(&f.t, "");
    wr_op_usage u;
    f.op->vt->usage(f.op, &u);
    assert_int_equal(u.rows, 1); /* order 5: who is away and has nothing to do is not remembered */
    done(&f, "+I a 5 NULL NULL 1804000 1 NULL 1804.999\n");

    fix_init(&f, 2048, 5);
    f.o.how.batch_share = 0.1; /* now the way to the drop-off is needed, of new orders */
    f.op = new_op(&f);
    order(&f, "a 1 0 0 NULL 0 open 1; a 2 0 0 0 nan open 1; a 3 0 0 NULL NULL done 1");
    assert_int_equal(f.t.ledger.dropped[WR_REASON_MALFORMED], 2);
    done(&f, "");

    fix_init(&f, 2048, 5);
    f.op = new_op(&f);
    assert_int_equal(tk_try_send(&f.t, f.op, 0, f.orders, NULL, 0, "a 1 0 0 0 0 open NULL"), WR_DATA);
    f.op->vt->close(f.op);
    tk_free(&f.t);
}

/* Without status columns each row is a new order (or its place again) and a free courier. No partition columns: one partition. */
static void test_no_status(void **state) {
    (void)state;
    fix f;
    fix_init(&f, 2048, 5);
    f.o.n_keys = 0;
    f.o.side[0].status = f.o.side[1].status = -1;
    const wr_field *rest = f.output->fields;
    f.o.output = (wr_schema){f.output->n - 1, rest + 1};
    f.output = &f.o.output;
    f.op = new_op(&f);
    order(&f, "a 1 50 0 0 0 done 1; b 1 7 0 0 0 x 2");
    courier(&f, "c c1 0 0 x 3; d c1 10 0 away 4");
    tk_watermark(&f.t, f.op, 4.999);
    tk_expect(&f.t, "+I 1 c1 3 4000 1 1 4.999\n"); /* its first time, its last place */
    done(&f, "");
}

/* Orders: the second open row moves it; closed before a round it was never there; closed and opened again it is another one. */
static void test_orders(void **state) {
    (void)state;
    fix f;
    fix_init(&f, 2048, 5);
    f.op = new_op(&f);
    order(&f, "a 1 100 0 0 0 open 1; a 2 0 0 0 0 open 1; a 2 0 0 0 0 picked_up 3; a 1 5 0 0 0 created 3; a 3 7 0 0 0 open 1; a 3 0 0 0 0 Cancelled 2; a 3 9 0 0 0 open 4; a 9 0 0 0 0 delivered 3");
    courier(&f, "a c1 0 0 free 2; a c2 9 0 free 2");
    tk_watermark(&f.t, f.op, 5);
    tk_expect(&f.t, "+I a 1 c1 5 4000 1 1 4.999\n+I a 3 c2 0 1000 1 1 4.999\n");
    order(&f, "a 1 0 0 0 0 rejected 6"); /* without `reassign` nobody remembers it */
    tk_watermark(&f.t, f.op, 10);
    assert_int_equal(f.t.ledger.dropped[WR_REASON_RETRACT_UNKNOWN], 1);
    done(&f, "");
}

/* A courier is taken until it says another status and then free, or free when the time to hold is over. */
static void test_hold(void **state) {
    (void)state;
    fix f;
    fix_init(&f, 2048, 5);
    f.op = new_op(&f);
    order(&f, "a 1 0 0 0 0 open 1; a 2 0 0 0 0 open 2; a 3 0 0 0 0 open 3; a 4 0 0 0 0 open 4");
    courier(&f, "a c1 0 0 free 1");
    tk_watermark(&f.t, f.op, 5);
    tk_expect(&f.t, "+I a 1 c1 0 4000 1 1 4.999\n");
    courier(&f, "a c1 1 0 free 34.999"); /* before 5 + 30: not believed */
    tk_watermark(&f.t, f.op, 45);
    tk_expect(&f.t, "");
    courier(&f, "a c1 2 0 free 46"); /* believed */
    tk_watermark(&f.t, f.op, 50);
    tk_expect(&f.t, "+I a 2 c1 2 48000 1 1 49.999\n");
    courier(&f, "a c1 0 0 riding 51; a c1 4 0 free 52"); /* it has been away: believed though soon */
    tk_watermark(&f.t, f.op, 55);
    tk_expect(&f.t, "+I a 3 c1 4 52000 1 1 54.999\n");
    courier(&f, "a c1 0 0 free 56"); /* that it was away before does not count */
    tk_watermark(&f.t, f.op, 60);
    tk_expect(&f.t, "");
    courier(&f, "a c1 6 0 free 85"); /* 55 + 30 */
    tk_watermark(&f.t, f.op, 90);
    tk_expect(&f.t, "+I a 4 c1 6 86000 1 1 89.999\n");
    done(&f, "");
}

/* A refused order goes to somebody else and never to the same courier again; after the last time it leaves without one. */
static void test_reassign(void **state) {
    (void)state;
    fix f;
    fix_init(&f, 2048, 5);
    f.o.reassign = 2;
    f.op = new_op(&f);
    order(&f, "a 1 0 0 0 0 open 1");
    courier(&f, "a c1 1 0 free 1; a c2 2 0 free 1");
    tk_watermark(&f.t, f.op, 5);
    tk_expect(&f.t, "+I a 1 c1 1 4000 1 1 4.999\n");
    order(&f, "a 1 7 0 0 0 open 6"); /* only its place */
    tk_watermark(&f.t, f.op, 10);
    tk_expect(&f.t, "");
    order(&f, "a 1 0 0 0 0 rejected 11; a 1 0 0 0 0 Timed_Out 12; a 5 0 0 0 0 rejected 12"); /* the second one and that of order 5 mean nothing */
    tk_watermark(&f.t, f.op, 15);
    tk_expect(&f.t, "+I a 1 c2 5 14000 2 1 14.999\n");
    assert_int_equal(f.t.ledger.dropped[WR_REASON_RETRACT_UNKNOWN], 2);
    order(&f, "a 1 0 0 0 0 timed_out 16");
    tk_watermark(&f.t, f.op, 25); /* c1 and c2 are free, by what they last said, and are not asked again */
    tk_expect(&f.t, "");
    courier(&f, "a c0 7 1 free 26");
    tk_watermark(&f.t, f.op, 30);
    tk_expect(&f.t, "+I a 1 c0 1 29000 3 1 29.999\n");
    order(&f, "a 1 0 0 0 0 rejected 31; a 1 3 0 0 0 open 32; a 2 0 0 0 0 open 32"); /* it leaves; opened again it is another one */
    tk_watermark(&f.t, f.op, 35);
    tk_expect(&f.t, "+I a 1 NULL NULL 34000 3 NULL 34.999\n+I a 1 c2 1 3000 1 1 34.999\n+I a 2 c1 1 3000 1 1 34.999\n");
    order(&f, "a 2 0 0 0 0 cancelled 36; a 7 0 0 0 0 open 36"); /* c1 is free again at once */
    courier(&f, "a c0 0 0 away 36");
    tk_watermark(&f.t, f.op, 40);
    tk_expect(&f.t, "+I a 7 c1 1 4000 1 1 39.999\n");
    order(&f, "a 7 0 0 0 0 done 41; a 8 0 0 0 0 open 41"); /* done does not make it free: it will say so */
    tk_watermark(&f.t, f.op, 100);
    tk_expect(&f.t, "");
    courier(&f, "a c1 3 0 free 101");
    tk_watermark(&f.t, f.op, 105);
    tk_expect(&f.t, "+I a 8 c1 3 64000 1 1 104.999\n");
    done(&f, "");
}

/* A refusal releases the courier only from what it is about: c1 was away and free again meanwhile and has another order. And what it last said holds. */
static void test_release(void **state) {
    (void)state;
    fix f;
    fix_init(&f, 2048, 5);
    f.o.reassign = 1;
    f.op = new_op(&f);
    courier(&f, "a c1 0 0 free 1");
    order(&f, "a 1 0 0 0 0 open 1");
    tk_watermark(&f.t, f.op, 5);
    tk_expect(&f.t, "+I a 1 c1 0 4000 1 1 4.999\n");
    courier(&f, "a c1 0 0 busy 6; a c1 0 0 free 7");
    order(&f, "a 2 0 0 0 0 open 8");
    tk_watermark(&f.t, f.op, 10);
    tk_expect(&f.t, "+I a 2 c1 0 2000 1 1 9.999\n");
    order(&f, "a 1 0 0 0 0 cancelled 11; a 3 0 0 0 0 open 11"); /* c1 still has order 2 */
    tk_watermark(&f.t, f.op, 15);
    tk_expect(&f.t, "");
    courier(&f, "a c1 0 0 busy 16");
    order(&f, "a 2 0 0 0 0 cancelled 17"); /* it last said busy */
    tk_watermark(&f.t, f.op, 20);
    tk_expect(&f.t, "");
    wr_op_usage u;
    f.op->vt->usage(f.op, &u);
    assert_int_equal(u.rows, 1); /* order 3 */
    courier(&f, "a c1 0 0 free 21");
    tk_watermark(&f.t, f.op, 25);
    tk_expect(&f.t, "+I a 3 c1 0 14000 1 1 24.999\n");
    done(&f, "");
}

/* An order may be given away in rounds up to its time + max_wait, and leaves in the next one. A courier counts in rounds up to its last row + timeout. */
static void test_running_out(void **state) {
    (void)state;
    fix f;
    fix_init(&f, 2048, 5);
    f.o.max_wait_us = tk_us(10), f.o.timeout_us = tk_us(20), f.o.reassign = 1;
    f.op = new_op(&f);
    order(&f, "a 1 0 0 0 0 open 5; a 2 0 0 0 0 open 4.999");
    tk_watermark(&f.t, f.op, 14.999); /* round 15: 4.999 + 10 is over */
    tk_expect(&f.t, "+I a 2 NULL NULL 10001 1 NULL 14.999\n");
    courier(&f, "a c1 0 0 free 15; a c1 0 0 free 16");
    tk_watermark(&f.t, f.op, 19.999);
    tk_expect(&f.t, "+I a 1 NULL NULL 15000 1 NULL 19.999\n");
    order(&f, "a 3 0 0 0 0 open 30; a 4 0 0 0 0 open 34.5");
    tk_watermark(&f.t, f.op, 34.999); /* round 35: 16 + 20 is not over */
    tk_expect(&f.t, "+I a 3 c1 0 5000 1 1 34.999\n");
    order(&f, "a 3 0 0 0 0 rejected 36; a 5 0 0 0 0 open 36"); /* 3 waits for another one; c1 is free, but not there any more in round 40 */
    tk_watermark(&f.t, f.op, 41);
    tk_expect(&f.t, "");
    done(&f, "+I a 3 NULL NULL 15000 2 NULL 44.999\n+I a 4 NULL NULL 10500 1 NULL 44.999\n+I a 5 NULL NULL 14000 1 NULL 49.999\n");

    fix_init(&f, 2048, 5);
    f.o.max_wait_us = tk_us(10), f.o.reassign = 1;
    f.op = new_op(&f);
    order(&f, "a 1 0 0 0 0 open 1");
    courier(&f, "a c1 0 0 free 1; a c2 9 0 free 1");
    tk_watermark(&f.t, f.op, 5);
    tk_expect(&f.t, "+I a 1 c1 0 4000 1 1 4.999\n");
    tk_watermark(&f.t, f.op, 19);
    order(&f, "a 1 0 0 0 0 rejected 19"); /* forgotten in round 15, though nothing came in between */
    tk_watermark(&f.t, f.op, 20);
    assert_int_equal(f.t.ledger.dropped[WR_REASON_RETRACT_UNKNOWN], 1);
    done(&f, "");
}

/* Rounds of a second over thousands of years: only those in which something happens run. */
static void test_years(void **state) {
    (void)state;
    fix f;
    fix_init(&f, 2048, 1);
    f.o.max_wait_us = tk_us(100e9), f.o.how.max_distance = 5; /* three thousand years */
    f.op = new_op(&f);
    order(&f, "a 1 0 0 0 0 open -60000000000; a 2 0 0 0 0 open 0.5");
    courier(&f, "a far 9 9 free 0; a c1 3 4 free 39999999999.5");
    tk_watermark(&f.t, f.op, 50e9);
    tk_expect(&f.t, "+I a 1 c1 5 100000000000000 1 1 39999999999.999\n");
    done(&f, "+I a 2 NULL NULL 100000000000500 1 NULL 100000000000.999\n");
}

/* Two orders on one way for one courier: 0 -> 1 (pick) -> 2 (pick) -> 10 (drop) -> 11 (drop). Released when both are cancelled. */
static void test_batch(void **state) {
    (void)state;
    fix f;
    fix_init(&f, 2048, 5);
    f.o.how.batch_share = 0.25, f.o.reassign = 1;
    f.op = new_op(&f);
    courier(&f, "a c1 0 0 free 1");
    order(&f, "a 1 1 0 10 0 open 1; a 2 2 0 11 0 open 2; a 3 90 0 -90 0 open 3");
    tk_watermark(&f.t, f.op, 5);
    tk_expect(&f.t, "+I a 1 c1 1 4000 1 1 4.999\n+I a 2 c1 1 3000 1 2 4.999\n");
    order(&f, "a 1 0 0 0 0 cancelled 6");
    tk_watermark(&f.t, f.op, 10); /* it still has order 2 */
    tk_expect(&f.t, "");
    order(&f, "a 2 0 0 0 0 cancelled 11");
    tk_watermark(&f.t, f.op, 15);
    tk_expect(&f.t, "+I a 3 c1 90 12000 1 1 14.999\n");
    done(&f, "");
}

/* Of more orders than a round solves the youngest are served greedily, and counted: here the one that only c2 can reach. */
static void test_many(void **state) {
    (void)state;
    fix f;
    fix_init(&f, 2048, 5);
    f.o.how.max_distance = 1;
    f.op = new_op(&f);
    wr_sbuf text = {0};
    for (int i = 1; i <= WR_ASSIGN_SIDE_MAX; i++) wr_sbuf_printf(&text, "a %d 0 0 0 0 open 1;", i);
    order(&f, text.at);
    order(&f, "a 9999 100 0 0 0 open 2");
    courier(&f, "a c1 0 1 free 1; a c2 100 1 free 1");
    tk_watermark(&f.t, f.op, 5);
    wr_op_usage u;
    f.op->vt->usage(f.op, &u);
    assert_int_equal(u.greedy, 1);
    assert_int_equal(u.rows, WR_ASSIGN_SIDE_MAX - 1 + 2);
    assert_non_null(strstr(tk_text(&f.t), "+I a 9999 c2 1 3000 1 1 4.999\n"));
    tk_end(&f.t, f.op);
    tk_clear(&f.t);
    close_empty(&f);
    wr_sbuf_free(&text);
}

/* What is allocated is what the bill says, within a fifth. */
static void test_bytes(void **state) {
    (void)state;
    enum { N = 1000, ID_BYTES = 9 /* BIGINT */ , NAME_BYTES = 9 /* four letters */ };
    fix f;
    fix_init(&f, 2048, 5);
    f.o.reassign = 1, f.o.how.greedy = true;
    f.op = new_op(&f);
    wr_sbuf text = {0};
    wr_op_usage u;
    for (int i = 0; i < N; i++) wr_sbuf_printf(&text, "a %d 0 0 0 0 open 1;", i);
    order(&f, text.at);
    f.op->vt->usage(f.op, &u);
    if (!tk_spills) assert_in_range(u.state_bytes, (int64_t)(0.8 * N * wr_assign_row_bytes(ID_BYTES)), (int64_t)(1.2 * N * wr_assign_row_bytes(ID_BYTES)));
    tk_watermark(&f.t, f.op, 5);
    f.op->vt->usage(f.op, &u);
    if (!tk_spills) assert_in_range(u.state_bytes, (int64_t)(0.8 * N * wr_assign_order_bytes(ID_BYTES, 0)), (int64_t)(1.2 * N * wr_assign_order_bytes(ID_BYTES, 0)));
    wr_sbuf_clear(&text);
    for (int i = 0; i < N; i++) wr_sbuf_printf(&text, "a %d 0 0 free 6;", 1000 + i);
    courier(&f, text.at);
    tk_watermark(&f.t, f.op, 10);
    f.op->vt->usage(f.op, &u);
    double want = N * (wr_assign_order_bytes(ID_BYTES, 1) + wr_assign_courier_bytes(NAME_BYTES));
    if (!tk_spills) assert_in_range(u.state_bytes, (int64_t)(0.8 * want), (int64_t)(1.2 * want));
    assert_int_equal(u.rows, 2 * N);
    tk_clear(&f.t);
    wr_sbuf_free(&text);
    done(&f, "");
}

/* ---- against every single round ---- */

enum { N_ROWS = 260, N_REGIONS = 2, N_IDS = 12, LIST_MAX = 64 };
typedef struct row { int input, region, id, no; int64_t ts, wm; /* ms; wm of late ones, else INT64_MIN */ int x, y, to_x, to_y; const char *status; } row;
typedef struct ref_order { int id, n_given, given[8], x, y, to_x, to_y; int64_t ts, given_at; bool open; } ref_order;
typedef struct ref_courier { int id, x, y, n_orders; int64_t seen, taken; bool says_free, away; } ref_courier;
typedef struct ref { const wr_assign_opts *o; int region; int64_t every; ref_order orders[LIST_MAX]; ref_courier couriers[LIST_MAX]; int n_orders, n_couriers; ref_order left[LIST_MAX]; int n_left; uint64_t unknown; } ref;

static int row_order(const void *l, const void *r) {
    const row *a = l, *b = r;
    return a->ts != b->ts ? (a->ts < b->ts ? -1 : 1) : a->input != b->input ? a->input - b->input : a->no - b->no;
}
static int age_order(const void *l, const void *r) {
    const ref_order *a = l, *b = r;
    return a->ts != b->ts ? (a->ts < b->ts ? -1 : 1) : a->id - b->id;
}
static int name_order(const void *l, const void *r) {
    char a[16], b[16];
    snprintf(a, sizeof a, "c%d", ((const ref_courier *)l)->id), snprintf(b, sizeof b, "c%d", ((const ref_courier *)r)->id);
    return strcmp(a, b);
}
static void ref_release(ref *f, const ref_order *o) {
    for (int i = 0; i < f->n_couriers; i++) {
        ref_courier *c = &f->couriers[i];
        if (c->id == o->given[o->n_given - 1] && c->taken == o->given_at && !--c->n_orders) c->taken = INT64_MIN;
    }
}
static void ref_apply_order(ref *f, const row *r) {
    int  at = 0;
    bool refused = !strcmp(r->status, "rejected") || !strcmp(r->status, "timed_out"), cancelled = !strcmp(r->status, "cancelled"), opens = !strcmp(r->status, "open");
    while (at < f->n_orders && f->orders[at].id != r->id) at++;
    ref_order *o = &f->orders[at];
    if (at == f->n_orders) {
        if (opens) *o = (ref_order){.id = r->id, .ts = r->ts, .open = true}, f->n_orders++;
        else f->unknown += refused;
    } else if (refused && o->open) {
        f->unknown++;
    } else if (!opens) {
        if ((refused || cancelled) && !o->open) ref_release(f, o);
        o->open = true;
        if (refused && o->n_given <= (int)f->o->reassign) return;
        if (refused) f->left[f->n_left++] = *o;
        *o = f->orders[--f->n_orders];
    }
    if (opens) o->x = r->x, o->y = r->y, o->to_x = r->to_x, o->to_y = r->to_y;
}
static void ref_apply_courier(ref *f, const row *r) {
    int at = 0;
    while (at < f->n_couriers && f->couriers[at].id != r->id) at++;
    ref_courier *c = &f->couriers[at];
    if (at == f->n_couriers) *c = (ref_courier){.id = r->id, .taken = INT64_MIN}, f->n_couriers++;
    c->seen = r->ts, c->x = r->x, c->y = r->y;
    c->says_free = !strcmp(r->status, "free");
    if (!c->says_free) c->away = true;
    if (c->says_free && c->taken != INT64_MIN && (c->away || r->ts >= c->taken + f->o->hold_us / 1000)) c->taken = INT64_MIN;
}
static void ref_line(ref *f, int64_t round, const ref_order *o, const ref_courier *c, const wr_assign_pick *pick, wr_sbuf *out) {
    int attempt = o->n_given + 1 <= (int)f->o->reassign + 1 ? o->n_given + 1 : (int)f->o->reassign + 1;
    wr_sbuf_printf(out, "+I r%d %d ", f->region, o->id);
    if (c) wr_sbuf_printf(out, "c%d %.15g %lld %d %u ", c->id, pick->distance, (long long)(round - o->ts), attempt, pick->stop);
    else wr_sbuf_printf(out, "NULL NULL %lld %d NULL ", (long long)(round - o->ts), attempt);
    wr_vec at = {.type = wr_type_prec(WR_T_TIMESTAMP, 3), .data = &(int64_t){(round - 1) * 1000}, .n = 1};
    tk_value_text(&at, 0, out);
    wr_sbuf_addc(out, '\n');
}
static void ref_match(ref *f, int64_t round, wr_sbuf *out) {
    wr_assign_order   orders[LIST_MAX];
    wr_assign_courier couriers[LIST_MAX];
    wr_assign_pick    picks[LIST_MAX];
    wr_assign_sum     sum;
    uint32_t          barred[LIST_MAX][LIST_MAX], n_orders = 0, n_couriers = 0;
    int               order_at[LIST_MAX], courier_at[LIST_MAX];
    qsort(f->orders, (size_t)f->n_orders, sizeof *f->orders, age_order);
    qsort(f->couriers, (size_t)f->n_couriers, sizeof *f->couriers, name_order);
    for (int i = 0; i < f->n_couriers; i++) {
        ref_courier *c = &f->couriers[i];
        if (c->says_free && c->taken == INT64_MIN) courier_at[n_couriers] = i, couriers[n_couriers++] = (wr_assign_courier){c->x, c->y};
    }
    for (int i = 0; i < f->n_orders; i++) {
        ref_order *o = &f->orders[i];
        if (!o->open) continue;
        wr_assign_order *w = &orders[n_orders];
        *w = (wr_assign_order){.x = o->x, .y = o->y, .to_x = o->to_x, .to_y = o->to_y, .waited_us = (round - o->ts) * 1000, .barred = barred[n_orders]};
        for (uint32_t k = 0; k < n_couriers; k++)
            for (int g = 0; g < o->n_given; g++)
                if (o->given[g] == f->couriers[courier_at[k]].id) barred[n_orders][w->n_barred++] = k;
        order_at[n_orders++] = i;
    }
    if (!n_orders || !n_couriers) return;
    assert_int_equal(wr_assign_solve(&f->o->how, orders, n_orders, couriers, n_couriers, picks, &sum, NULL), WR_OK);
    for (uint32_t i = 0; i < n_orders; i++) {
        if (picks[i].courier == WR_ASSIGN_NOBODY) continue;
        ref_order   *o = &f->orders[order_at[i]];
        ref_courier *c = &f->couriers[courier_at[picks[i].courier]];
        ref_line(f, round, o, c, &picks[i], out);
        if (c->taken != round) c->taken = round, c->n_orders = 0, c->away = false;
        c->n_orders++;
        o->given[o->n_given++] = c->id, o->given_at = round, o->open = false;
    }
    for (int i = 0; !f->o->reassign && i < f->n_orders;)
        if (f->orders[i].open) i++;
        else f->orders[i] = f->orders[--f->n_orders];
}
static void ref_run(ref *f, const row *rows, int n, int64_t until, wr_sbuf *out) {
    int at = 0;
    for (int64_t round = f->every; round <= until; round += f->every) {
        for (; at < n && rows[at].ts < round; at++) {
            if (rows[at].region != f->region) continue;
            if (rows[at].input) ref_apply_courier(f, &rows[at]);
            else ref_apply_order(f, &rows[at]);
        }
        for (int i = 0; i < f->n_couriers;)
            if (f->couriers[i].seen + f->o->timeout_us / 1000 < round) f->couriers[i] = f->couriers[--f->n_couriers];
            else i++;
        for (int i = 0; i < f->n_orders;) {
            if (f->orders[i].ts + f->o->max_wait_us / 1000 >= round) {
                i++;
                continue;
            }
            if (f->orders[i].open) f->left[f->n_left++] = f->orders[i];
            f->orders[i] = f->orders[--f->n_orders];
        }
        for (int i = 0; i < f->n_left; i++) ref_line(f, round, &f->left[i], NULL, NULL, out);
        f->n_left = 0;
        ref_match(f, round, out);
    }
    assert_int_equal(at, n);
    assert_int_equal(f->n_orders + f->n_couriers, 0);
}

static int below(wr_rng *rng, int n) { return (int)wr_rng_below(rng, (uint32_t)n); }
/* Rows by arrival; now and then a long silence. */
static void make_rows(wr_rng *rng, row *rows) {
    static const char *const ORDERS[] = {"open", "open", "open", "open", "rejected", "rejected", "timed_out", "cancelled", "done"};
    static const char *const COURIERS[] = {"free", "free", "free", "free", "away"};
    int64_t clock = 1000;
    for (int i = 0; i < N_ROWS; i++) {
        clock += below(rng, 40) ? below(rng, 1500) : 20000 + below(rng, 80000);
        row *r = &rows[i];
        *r = (row){.input = below(rng, 2), .region = below(rng, N_REGIONS), .id = below(rng, N_IDS), .no = i, .ts = clock + below(rng, 4) * 700, .wm = INT64_MIN,
                   .x = below(rng, 30), .y = below(rng, 30), .to_x = below(rng, 30), .to_y = below(rng, 30)};
        r->status = r->input ? COURIERS[below(rng, WR_COUNT_OF(COURIERS))] : ORDERS[below(rng, WR_COUNT_OF(ORDERS))];
    }
}
/* What the sources say before row `at`: everything that comes from there on is behind it, but for late rows. */
static int64_t bound(const row *rows, int at) {
    int64_t least = INT64_MAX;
    for (int i = at; i < N_ROWS; i++)
        if (rows[i].wm == INT64_MIN) least = WR_MIN(least, rows[i].ts);
    return least == INT64_MAX ? INT64_MAX : least - 1;
}
static void send_row(fix *f, const row *r) {
    char text[200], late[40] = "";
    if (r->wm != INT64_MIN) snprintf(late, sizeof late, "!%lld.%03d", (long long)(r->wm / 1000), (int)(r->wm % 1000));
    if (r->input) snprintf(text, sizeof text, "r%d c%d %d %d %s %lld.%03d %s", r->region, r->id, r->x, r->y, r->status, (long long)(r->ts / 1000), (int)(r->ts % 1000), late);
    else snprintf(text, sizeof text, "r%d %d %d %d %d %d %s %lld.%03d %s", r->region, r->id, r->x, r->y, r->to_x, r->to_y, r->status, (long long)(r->ts / 1000), (int)(r->ts % 1000), late);
    if (r->input) courier(f, text);
    else order(f, text);
}
/* Through images: the instance is cut into two by key groups, and both into one again. */
static void restore(fix *f) {
    wr_sbuf image = {0}, again[2] = {{0}, {0}};
    tk_save(f->op, &image);
    for (uint32_t p = 0; p < 2; p++) {
        wr_op *part = new_op(f);
        tk_load(&f->t, part, &image, p * 50, p ? 128 : 50);
        tk_save(part, &again[p]);
        part->vt->close(part);
    }
    f->op->vt->close(f->op);
    f->op = new_op(f);
    for (int p = 0; p < 2; p++) tk_load(&f->t, f->op, &again[p], 0, 128), wr_sbuf_free(&again[p]);
    wr_sbuf_free(&image);
}
static void set_rules(fix *f, wr_rng *rng) {
    f->o.every_us = tk_us(1 + below(rng, 5)), f->o.max_wait_us = tk_us(3 + below(rng, 60)), f->o.timeout_us = tk_us(2 + below(rng, 50)), f->o.hold_us = tk_us(below(rng, 20));
    f->o.reassign = (uint32_t)below(rng, 4);
    f->o.how = (wr_assign_how){.greedy = below(rng, 3) == 0, .max_distance = below(rng, 3) ? 12 : 0, .wait_weight = below(rng, 2) ? 0.5 : 0, .batch_share = below(rng, 3) ? 0 : 0.1};
}
/* One feeding of the rows: pieces between watermarks in any size, each input of a piece by itself in either order. */
static void feed(fix *f, wr_rng *rng, const row *rows) {
    int spacing = 1 + below(rng, 60), saves = below(rng, 3);
    int64_t wm = INT64_MIN;
    for (int at = 0; at < N_ROWS;) {
        int to = at + 1 + below(rng, spacing), first = below(rng, 2);
        to = WR_MIN(to, N_ROWS);
        for (int k = 0; k < 2; k++)
            for (int i = at; i < to; i++)
                if (rows[i].input == (k ^ first)) send_row(f, &rows[i]);
        at = to;
        int64_t now = bound(rows, at);
        if (now > wm && now != INT64_MAX) tk_watermark_us(&f->t, f->op, (wm = now) * 1000);
        assert_closes(f);
        if (saves && below(rng, 8) == 0) restore(f);
    }
    tk_end(&f->t, f->op);
}
static void test_random(void **state) {
    (void)state;
    wr_rng rng;
    wr_rng_seed(&rng, 20);
    for (int seed = 0; seed < (tk_spills ? 3 : 40); seed++) {
        row rows[N_ROWS], sorted[N_ROWS];
        fix rules;
        fix_init(&rules, 1, 1);
        set_rules(&rules, &rng);
        make_rows(&rng, rows);
        int64_t every = rules.o.every_us / 1000;
        int     n = 0, n_late = 0;
        for (int i = 10; i < N_ROWS - 1; i++) rows[i].wm = below(&rng, 10) ? INT64_MIN : 0;
        for (int i = 0; i < N_ROWS; i++) {
            int64_t late_by = below(&rng, (int)every);
            if (rows[i].wm != INT64_MIN) rows[i].wm = bound(rows, i), rows[i].ts = WR_MAX(rows[i].wm - late_by, 0);
            if (rows[i].wm != INT64_MIN && rows[i].wm >= (rows[i].ts / every + 1) * every - 1) n_late++;
            else sorted[n++] = rows[i];
        }
        qsort(sorted, (size_t)n, sizeof *sorted, row_order);
        wr_sbuf  want = {0};
        uint64_t unknown = 0;
        for (int region = 0; region < N_REGIONS; region++) {
            ref *r = wr_calloc(1, sizeof *r);
            *r = (ref){.o = &rules.o, .region = region, .every = every};
            ref_run(r, sorted, n, sorted[n - 1].ts + 200000, &want);
            unknown += r->unknown;
            wr_free(r);
        }
        char *lines = wr_strdup(tk_sort_text(&rules.t, want.at));
        for (int way = 0; way < 3; way++) {
            fix f;
            fix_init(&f, way ? (uint32_t)(1 + below(&rng, 5)) : 2048, 1);
            f.o = rules.o;
            f.o.side[0].keys = f.o.side[1].keys = f.keys;
            f.t.full_every = way == 2 ? 2 : 0;
            f.op = new_op(&f);
            feed(&f, &rng, rows);
            assert_string_equal(tk_sort_text(&f.t, tk_text(&f.t)), lines);
            assert_int_equal(f.t.ledger.dropped[WR_REASON_LATE], n_late);
            assert_int_equal(f.t.ledger.dropped[WR_REASON_RETRACT_UNKNOWN], unknown);
            close_empty(&f);
        }
        wr_free(lines);
        wr_sbuf_free(&want);
        tk_free(&rules.t);
    }
}

/* A damaged image is refused, or loads something; nothing leaks or crashes. */
static void test_damage(void **state) {
    (void)state;
    if (tk_spills) return;
    fix f;
    fix_init(&f, 2048, 5);
    f.o.reassign = 1;
    f.op = new_op(&f);
    order(&f, "a 1 0 0 0 0 open 1; a 2 0 0 0 0 open 1; b 3 0 0 0 0 open 7");
    courier(&f, "a c1 0 0 free 1; a 'a courier with a long name' 100 0 free 7");
    tk_watermark(&f.t, f.op, 5);
    wr_sbuf image = {0};
    tk_save(f.op, &image);
    for (size_t cut = 0; cut < image.len; cut++) {
        fix d;
        fix_init(&d, 2048, 5);
        wr_op    *bad = wr_assign_new(&d.o, d.orders, d.couriers, &d.t.ctx);
        wr_reader in = {.at = (const uint8_t *)image.at, .end = (const uint8_t *)image.at + cut};
        assert_int_not_equal(bad->vt->load(bad, &in, 0, d.t.ctx.n_key_groups, &d.t.err), WR_OK);
        bad->vt->close(bad);
        tk_free(&d.t);
    }
    wr_sbuf_free(&image);
    tk_clear(&f.t);
    tk_end(&f.t, f.op);
    f.op->vt->close(f.op);
    tk_free(&f.t);
}

static int forget_kits(void **state) { /* of a test that failed */
    (void)state;
    tk_all = NULL;
    return 0;
}
#define TEST(f) cmocka_unit_test_setup(f, forget_kits)
int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_round), TEST(test_best), TEST(test_late), TEST(test_malformed), TEST(test_no_status),
        TEST(test_orders), TEST(test_hold), TEST(test_reassign), TEST(test_release), TEST(test_running_out),
        TEST(test_years), TEST(test_batch), TEST(test_many), TEST(test_bytes), TEST(test_random), TEST(test_damage),
    };
    return tk_run_tests(tests);
}
