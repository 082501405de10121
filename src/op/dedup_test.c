/* op/dedup_test.c: Flink's recorded changelogs of ROW_NUMBER() ... = 1 (shared/flink/sem/06), held rows, TTL, random streams. */
#include "op/op_testkit.h"
#include "base/hash.h"

static const char ev[] = "1 a 1 1; 2 b 2 4; 3 a 3 9.999; 4 a 4 10; 5 NULL 5 12; 6 a 6 8 !10; 7 b 7 25; 8 a 8 11 !23; 9 a 9 23.5; 10 b 10 40; 11 a NULL 41; 12 b 12 30 !39";
static const char columns[] = "id INT, k STRING, v INT, ts TIMESTAMP(3)*";
static wr_op *open_op(tk *t, const wr_schema *in, int time_col, bool last, bool before, int64_t ttl_us) {
    return wr_dedup_new(&(wr_dedup_opts){.n_keys = 1, .keys = (uint32_t[]){1}, .time_col = time_col, .keep_last = last, .emit_before = before, .ttl_us = ttl_us}, in, &t->ctx);
}
static void done(tk *t, wr_op *op) {
    op->vt->close(op);
    tk_free(t);
}

/* Flink: ORDER BY ts DESC ... rn = 1 over ev.jsonl, one row at a time: older rows do nothing. */
static void test_flink_keep_last(void **state) {
    (void)state;
    tk t;
    tk_init(&t, 2048);
    t.feed_rows = 1;
    const wr_schema *in = tk_schema(&t, columns);
    wr_op *op = open_op(&t, in, 3, true, true, 0);
    tk_send(&t, op, 0, in, ev);
    tk_expect(&t, "+I 1 a 1 1\n+I 2 b 2 4\n-U 1 a 1 1\n+U 3 a 3 9.999\n-U 3 a 3 9.999\n+U 4 a 4 10\n+I 5 NULL 5 12\n-U 2 b 2 4\n+U 7 b 7 25\n-U 4 a 4 10\n+U 8 a 8 11\n"
                  "-U 8 a 8 11\n+U 9 a 9 23.5\n-U 7 b 7 25\n+U 10 b 10 40\n-U 9 a 9 23.5\n+U 11 a NULL 41\n");
    assert_int_equal(t.ledger.dropped[WR_REASON_DUPLICATE], 2); /* rows 6 and 12 */
    done(&t, op);
}
/* Without -U the rows pass as they are; several rows of a key in one batch give one update; equal time replaces. */
static void test_keep_last_batch(void **state) {
    (void)state;
    for (int before = 0; before < 2; before++) {
        tk t;
        tk_init(&t, 2048);
        const wr_schema *in = tk_schema(&t, columns);
        wr_op *op = open_op(&t, in, 3, true, before, 0);
        tk_send(&t, op, 0, in, "1 a 1 5; 2 a 2 5; 3 a 3 4; 4 b 4 1");
        tk_expect_sorted(&t, "+I 2 a 2 5\n+I 4 b 4 1\n");
        tk_send(&t, op, 0, in, "5 b 5 0; 6 a 6 5");
        tk_expect(&t, before ? "-U 2 a 2 5\n+U 6 a 6 5\n" : "+U 6 a 6 5\n");
        assert_int_equal(t.ledger.dropped[WR_REASON_DUPLICATE], 3);
        if (before) {
            tk_send(&t, op, 0, in, "6 a 6 5"); /* the same row again: nothing */
            tk_expect(&t, "");
            assert_int_equal(t.ledger.dropped[WR_REASON_NO_CHANGE], 1);
        }
        done(&t, op);
    }
}
static void test_keep_first_by_arrival(void **state) {
    (void)state;
    for (uint32_t feed = 1; feed <= 12; feed += 11) {
        tk t;
        tk_init(&t, feed);
        t.feed_rows = feed;
        const wr_schema *in = tk_schema(&t, "id INT, k STRING, v INT");
        wr_op *op = open_op(&t, in, -1, false, false, 0);
        tk_send(&t, op, 0, in, "1 a 1; 2 b 2; 3 a 3; 4 NULL 4; 5 NULL 5");
        tk_expect(&t, "+I 1 a 1\n+I 2 b 2\n+I 4 NULL 4\n");
        assert_int_equal(t.ledger.dropped[WR_REASON_DUPLICATE], 2);
        done(&t, op);
    }
}
static void test_keep_last_by_arrival(void **state) {
    (void)state;
    tk t;
    tk_init(&t, 1);
    const wr_schema *in = tk_schema(&t, "id INT, k STRING, v INT");
    wr_op *op = open_op(&t, in, -1, true, true, 0);
    tk_send(&t, op, 0, in, "1 a 1; 2 b 2");
    tk_send(&t, op, 0, in, "3 a 3; 4 a 4");
    tk_expect(&t, "+I 1 a 1\n+I 2 b 2\n-U 1 a 1\n+U 4 a 4\n");
    done(&t, op);
}

/* Flink: ORDER BY ts ASC, rn = 1: rows 1, 2, 5; held until the watermark has passed them, the earliest wins, late ones are dropped. */
static void test_keep_first_by_time(void **state) {
    (void)state;
    tk t;
    tk_init(&t, 2048);
    const wr_schema *in = tk_schema(&t, columns);
    wr_op *op = open_op(&t, in, 3, false, false, 0);
    tk_send(&t, op, 0, in, ev);
    tk_expect(&t, "");
    tk_watermark(&t, op, 3);
    tk_expect(&t, "+I 1 a 1 1\n");
    tk_end(&t, op);
    tk_expect(&t, "+I 2 b 2 4\n+I 5 NULL 5 12\n");
    assert_int_equal(t.ledger.dropped[WR_REASON_LATE], 3);
    assert_int_equal(t.ledger.dropped[WR_REASON_DUPLICATE], 6);
    done(&t, op);

    tk_init(&t, 1);
    t.full_every = 1;
    in = tk_schema(&t, columns);
    op = open_op(&t, in, 3, false, false, 0);
    tk_send(&t, op, 0, in, "1 a 1 9; 2 a 2 5; 3 a 3 5; 4 b 4 7; 5 c 5 2 !3");
    wr_op_usage use;
    op->vt->usage(op, &use);
    assert_int_equal(use.keys, 2);
    tk_watermark(&t, op, 8);
    tk_expect(&t, "+I 2 a 2 5\n+I 4 b 4 7\n");
    tk_send(&t, op, 0, in, "6 a 6 12");
    tk_end(&t, op);
    tk_expect(&t, "");
    assert_int_equal(t.ledger.in[0], 2 + t.ledger.dropped[WR_REASON_LATE] + t.ledger.dropped[WR_REASON_DUPLICATE]);
    wr_batch *b = tk_batch(in, "1 a 1 NULL");
    assert_int_equal(op->vt->on_batch(op, 0, b, &t.out, &t.err), WR_DATA);
    wr_batch_unref(b);
    done(&t, op);
}
static void test_ttl(void **state) {
    (void)state;
    tk t;
    tk_init(&t, 2048);
    const wr_schema *in = tk_schema(&t, "id INT, k STRING, v INT");
    wr_op *op = open_op(&t, in, -1, false, false, 1000000);
    tk_send(&t, op, 0, in, "1 a 1");
    t.ctx.now_us = 900000;
    tk_send(&t, op, 0, in, "2 a 1");
    t.ctx.now_us = 1000000; /* since the write, not since the last read */
    tk_send(&t, op, 0, in, "3 a 1");
    tk_expect(&t, "+I 1 a 1\n+I 3 a 1\n");
    assert_int_equal(t.ledger.dropped[WR_REASON_EXPIRED], 1);
    done(&t, op);
}

/* Random rows in every mode, with a restart over three workers; compared with one pass over all rows. */
static void random_run(uint64_t seed, bool by_time, bool last, uint32_t feed, uint32_t batch_rows) {
    tk t;
    tk_init(&t, batch_rows);
    t.feed_rows = feed;
    const wr_schema *in = tk_schema(&t, columns);
    wr_op *op = open_op(&t, in, by_time ? 3 : -1, last, last, 0);
    wr_rng rng;
    wr_rng_seed(&rng, seed);
    struct { int id, ts; bool there; } best[8] = {0};
    wr_sbuf text = {0}, log = {0}, want = {0};
    int wm = -1, clock = 0, id = 0;
    for (int round = 0; round < 20; round++) {
        wr_sbuf_clear(&text);
        for (int i = 1 + (int)wr_rng_below(&rng, 20); i; i--, id++) {
            int  k = (int)wr_rng_below(&rng, 8), ts = clock + (int)wr_rng_below(&rng, 30);
            bool late = by_time && wm >= 0 && ts <= wm;
            wr_sbuf_printf(&text, "%d k%d %d %d", id, k, id % 3, ts);
            if (late) wr_sbuf_printf(&text, " !%d", wm);
            wr_sbuf_addc(&text, '\n');
            if (late && !last) continue;
            bool better = !best[k].there || (by_time ? (last ? ts >= best[k].ts : ts < best[k].ts) : last);
            if (better) best[k].id = id, best[k].ts = ts, best[k].there = true;
        }
        tk_send(&t, op, 0, in, text.at);
        clock += (int)wr_rng_below(&rng, 20);
        if (clock - 5 > wm && wr_rng_below(&rng, 2)) wm = clock - 5, tk_watermark(&t, op, wm);
        if (round == 9) {
            wr_sbuf image = {0}, again[2] = {{0}, {0}};
            tk_save(op, &image);
            for (uint32_t p = 0; p < 2; p++) {
                wr_op *part = open_op(&t, in, by_time ? 3 : -1, last, last, 0);
                tk_load(&t, part, &image, p * 60, p ? 128 : 60);
                tk_save(part, &again[p]);
                part->vt->close(part);
            }
            op->vt->close(op);
            op = open_op(&t, in, by_time ? 3 : -1, last, last, 0);
            for (int p = 0; p < 2; p++) tk_load(&t, op, &again[p], 0, 128), wr_sbuf_free(&again[p]);
            wr_sbuf_free(&image);
        }
    }
    tk_end(&t, op);
    for (int k = 0; k < 8; k++)
        if (best[k].there) wr_sbuf_printf(&want, "%d k%d %d %d\n", best[k].id, k, best[k].id % 3, best[k].ts);
    char *sorted = wr_strdup(tk_sort_text(&t, want.at));
    assert_string_equal(tk_fold(&t), sorted);
    if (!last) assert_int_equal(t.ledger.in[0], t.ledger.out + t.ledger.dropped[WR_REASON_LATE] + t.ledger.dropped[WR_REASON_DUPLICATE]);
    wr_free(sorted);
    wr_sbuf_free(&text), wr_sbuf_free(&log), wr_sbuf_free(&want);
    done(&t, op);
}
static void test_random(void **state) {
    (void)state;
    const uint32_t sizes[] = {1, 3, 2048};
    for (uint64_t seed = 1; seed <= 60; seed++)
        for (int mode = 0; mode < 4; mode++) random_run(seed, mode & 1, mode & 2, sizes[seed % 3], sizes[seed / 3 % 3]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_flink_keep_last), cmocka_unit_test(test_keep_last_batch), cmocka_unit_test(test_keep_first_by_arrival),
        cmocka_unit_test(test_keep_last_by_arrival), cmocka_unit_test(test_keep_first_by_time), cmocka_unit_test(test_ttl), cmocka_unit_test(test_random),
    };
    return tk_run_tests(tests);
}
