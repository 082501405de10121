/* op/over_test.c: OVER against sums made row by row from the rows themselves; Flink's rules for late rows; images, pauses, the tier. */
#include "op/op_testkit.h"

static const char ev_schema[] = "id INT, k STRING, v INT, ts TIMESTAMP(3)*";
/* Flink's recorded input, each late row with the watermark before it (delay 2 s). */
static const char ev[] = "1 a 1 1; 2 b 2 4; 3 a 3 9.999; 4 a 4 10; 5 NULL 5 12; 6 a 6 8 !10; 7 b 7 25; 8 a 8 11 !23; 9 a 9 23.5; 10 b 10 40; 11 a NULL 41; 12 b 12 30 !38";
static const wr_over_frame so_far = {.unbounded = true}, by_row = {.rows = true, .unbounded = true};

static wr_over_fn agg_of(wr_agg_kind kind, int32_t arg, wr_tid id, wr_over_frame frame) {
    wr_type    t = wr_type_of(id), result = kind == WR_AGG_COUNT || kind == WR_AGG_COUNT_STAR ? wr_type_not_null(wr_type_of(WR_T_BIGINT)) : t;
    wr_over_fn fn = {.kind = WR_OVER_AGG, .frame = frame, .fallback = -1, .agg = {.kind = kind, .arg = arg, .arg2 = -1, .filter = -1, .arg_type = t, .type = result}};
    return fn;
}
static wr_over_fn lag_of(int32_t arg, wr_tid id, uint64_t by) {
    wr_type t = wr_type_of(id);
    return (wr_over_fn){.kind = WR_OVER_LAG, .offset = by, .fallback = -1, .agg = {.arg = arg, .arg2 = -1, .filter = -1, .arg_type = t, .type = t}};
}
static wr_over_fn rank_of(wr_over_kind kind) {
    return (wr_over_fn){.kind = kind, .fallback = -1, .agg = {.arg = -1, .arg2 = -1, .filter = -1, .type = wr_type_not_null(wr_type_of(WR_T_BIGINT))}};
}
static void done(tk *t, wr_op *op) {
    op->vt->close(op);
    tk_free(t);
}

/* Flink 2.3.0, recorded: rows that come out, by function. */
static void flink_late_rows(void **state) {
    (void)state;
    const wr_over_frame rows1 = {.rows = true, .preceding = 1};
    const struct { wr_over_fn fn; const char *want; uint64_t late; } cases[] = {
        {agg_of(WR_AGG_SUM, 2, WR_T_INT, rows1),
         "+I 1 a 1 1 1\n+I 2 b 2 4 2\n+I 3 a 3 9.999 4\n+I 4 a 4 10 7\n+I 8 a 8 11 12 !23\n+I 5 NULL 5 12 5\n+I 9 a 9 23.5 17\n+I 7 b 7 25 9\n+I 12 b 12 30 19 !38\n+I 10 b 10 40 22\n+I 11 a NULL 41 9\n", 1},
        {lag_of(2, WR_T_INT, 1),
         "+I 1 a 1 1 NULL\n+I 2 b 2 4 NULL\n+I 3 a 3 9.999 1\n+I 4 a 4 10 3\n+I 5 NULL 5 12 NULL\n+I 9 a 9 23.5 4\n+I 7 b 7 25 2\n+I 10 b 10 40 7\n+I 11 a NULL 41 9\n", 3},
        {agg_of(WR_AGG_SUM, 2, WR_T_INT, so_far),
         "+I 1 a 1 1 1\n+I 2 b 2 4 2\n+I 3 a 3 9.999 4\n+I 4 a 4 10 8\n+I 5 NULL 5 12 5\n+I 9 a 9 23.5 17\n+I 7 b 7 25 9\n+I 10 b 10 40 19\n+I 11 a NULL 41 17\n", 3},
    };
    for (size_t c = 0; c < WR_COUNT_OF(cases); c++)
        for (int k = 0; k < 4; k++) {
            tk t;
            tk_init(&t, k & 1 ? 1 : 2048);
            t.feed_rows = k & 2 ? 1 : 2048;
            t.full_every = k & 1;
            const wr_schema *in = tk_schema(&t, ev_schema);
            const uint32_t   key = 1;
            wr_op *op = wr_over_new(&(wr_over_opts){.n_keys = 1, .keys = &key, .time_col = 3, .n_fns = 1, .fns = &cases[c].fn}, in, &t.ctx);
            tk_send(&t, op, 0, in, ev);
            tk_end(&t, op);
            tk_expect(&t, cases[c].want);
            assert_int_equal(t.ledger.dropped[WR_REASON_LATE], cases[c].late);
            done(&t, op);
        }
}

/* ---- random rows against row by row ---- */

enum { N = 400 };
typedef struct row { int id, k, v; bool null; double d; int64_t ts; } row; /* ts in seconds */

static wr_over_fn fns[12];
static uint32_t make_fns(void) {
    const wr_over_frame rows3 = {.rows = true, .preceding = 3}, range5 = {.preceding = 5000000}, rows0 = {.rows = true};
    uint32_t n = 0;
    fns[n++] = agg_of(WR_AGG_SUM, 2, WR_T_INT, so_far);
    fns[n++] = agg_of(WR_AGG_COUNT_STAR, -1, WR_T_BIGINT, by_row);
    fns[n++] = agg_of(WR_AGG_MIN, 2, WR_T_INT, rows3);
    fns[n++] = agg_of(WR_AGG_MAX, 2, WR_T_INT, range5);
    fns[n++] = agg_of(WR_AGG_COUNT, 2, WR_T_INT, range5);
    fns[n++] = agg_of(WR_AGG_SUM, 4, WR_T_DOUBLE, rows3);
    fns[n++] = agg_of(WR_AGG_SUM, 4, WR_T_DOUBLE, range5);
    fns[n++] = agg_of(WR_AGG_SUM, 2, WR_T_INT, rows0);
    fns[n++] = lag_of(2, WR_T_INT, 2);
    fns[n++] = rank_of(WR_OVER_RANK);
    fns[n++] = rank_of(WR_OVER_DENSE_RANK);
    fns[n++] = rank_of(WR_OVER_ROW_NUMBER);
    return n;
}

static int by_time(const void *a, const void *b) {
    const row *x = a, *y = b;
    return x->ts != y->ts ? (x->ts < y->ts ? -1 : 1) : x->id - y->id;
}

typedef struct sums { int64_t sum, min, max; int n, all; double d; bool has_d; } sums;
static void add(sums *s, const row *r) {
    s->all++;
    s->d += r->d, s->has_d = true;
    if (r->null) return;
    if (!s->n || r->v < s->min) s->min = r->v;
    if (!s->n || r->v > s->max) s->max = r->v;
    s->sum += r->v;
    s->n++;
}
static void put(wr_sbuf *out, bool has, int64_t v) {
    if (has) wr_sbuf_printf(out, " %lld", (long long)v);
    else wr_sbuf_addz(out, " NULL");
}

static void expect_row(const row *rows, int i, wr_sbuf *out) { /* rows: sorted by time */
    const row *r = &rows[i];
    sums so_far_ = {0}, rows3 = {0}, range5 = {0}, own = {0};
    int  number = 0, rank = 1, dense = 1, taken = 0;
    const row *back2 = NULL;
    int64_t last = INT64_MIN;
    for (int j = 0; j < N; j++) {
        if (rows[j].k != r->k || rows[j].ts > r->ts) continue;
        add(&so_far_, &rows[j]);
        if (rows[j].ts >= r->ts - 5) add(&range5, &rows[j]);
        if (rows[j].ts < r->ts) rank++, dense += rows[j].ts != last, last = rows[j].ts;
        number += j <= i;
    }
    for (int j = i; j >= 0 && taken < 4; j--) {
        if (rows[j].k != r->k) continue;
        if (taken == 2) back2 = &rows[j];
        taken++;
        add(&rows3, &rows[j]);
    }
    add(&own, r);
    wr_sbuf_printf(out, "+I %d %d", r->id, r->k);
    put(out, !r->null, r->v);
    wr_sbuf_printf(out, " %lld %.15g", (long long)r->ts, r->d);
    put(out, so_far_.n, so_far_.sum);
    wr_sbuf_printf(out, " %d", number);
    put(out, rows3.n, rows3.min);
    put(out, range5.n, range5.max);
    wr_sbuf_printf(out, " %d %.15g %.15g", range5.n, rows3.d, range5.d);
    put(out, own.n, own.sum);
    put(out, back2 && !back2->null, back2 ? back2->v : 0);
    wr_sbuf_printf(out, " %d %d %d\n", rank, dense, number);
}

static wr_op *fresh(tk *t, const wr_schema *in, const uint32_t *key, uint32_t n_fns) {
    return wr_over_new(&(wr_over_opts){.n_keys = 1, .keys = key, .time_col = 3, .n_fns = n_fns, .fns = fns}, in, &t->ctx);
}

static wr_op *reload(tk *t, wr_op *op, const wr_schema *in, const uint32_t *key, uint32_t n_fns) {
    wr_sbuf image = {0};
    tk_save(op, &image);
    op->vt->close(op);
    op = fresh(t, in, key, n_fns);
    tk_load(t, op, &image, 0, 128);
    wr_sbuf_free(&image);
    return op;
}

static void random_rows(int seed, int keys, int span, uint32_t batch, uint32_t feed, bool images) {
    tk t;
    tk_init(&t, batch);
    t.feed_rows = feed;
    t.full_every = (uint32_t)seed % 3;
    const wr_schema *in = tk_schema(&t, "id INT, k INT, v INT, ts TIMESTAMP(3)*, d DOUBLE");
    const uint32_t   key = 1, n_fns = make_fns();
    row      rows[N];
    uint64_t x = (uint64_t)seed * 2654435761u + 1;
    for (int i = 0; i < N; i++) {
        x = x * 6364136223846793005u + 1442695040888963407u;
        uint32_t r = (uint32_t)(x >> 33);
        int64_t  ts = (int64_t)i * span / N + (r >> 7) % 6; /* at most 6 s behind the newest */
        rows[i] = (row){i, (int)(r % (uint32_t)keys), (int)(r >> 3) % 100 - 50, (r >> 11) % 7 == 0, (double)((int)(r >> 5) % 1000 - 500) / 8, ts};
    }
    wr_op  *op = fresh(&t, in, &key, n_fns);
    wr_sbuf line = {0};
    for (int i = 0; i < N; i++) {
        wr_sbuf_clear(&line);
        if (rows[i].null) wr_sbuf_printf(&line, "%d %d NULL %lld %.15g", rows[i].id, rows[i].k, (long long)rows[i].ts, rows[i].d);
        else wr_sbuf_printf(&line, "%d %d %d %lld %.15g", rows[i].id, rows[i].k, rows[i].v, (long long)rows[i].ts, rows[i].d);
        wr_sbuf_addc(&line, 0);
        tk_send(&t, op, 0, in, line.at);
        int64_t newest = (int64_t)(i + 1) * span / N;
        if (i % 37 == 36) {
            if (newest > 1) tk_watermark(&t, op, (double)(newest - 1));
            if (images) op = reload(&t, op, in, &key, n_fns);
        }
    }
    tk_end(&t, op);
    wr_sbuf_free(&line);
    if (tk_spills) {
        wr_op_usage u;
        op->vt->usage(op, &u);
        assert_true(u.tier_evictions > 0 && u.tier_loads > 0);
    }
    qsort(rows, N, sizeof *rows, by_time);
    wr_sbuf want = {0};
    for (int i = 0; i < N; i++) expect_row(rows, i, &want);
    wr_sbuf_addc(&want, 0);
    tk_expect_sorted(&t, want.at);
    wr_sbuf_free(&want);
    done(&t, op);
}
static void random_plain(void **state) {
    (void)state;
    for (int seed = 1; seed < 7; seed++) random_rows(seed, seed % 3 * 4 + 1, seed % 2 ? 400 : 60, seed % 2 ? 7 : 2048, seed % 4 ? 2048 : 1, false);
}
static void random_images(void **state) {
    (void)state;
    for (int seed = 1; seed < 7; seed++) random_rows(seed, seed % 3 * 4 + 1, seed % 2 ? 400 : 60, seed % 2 ? 2048 : 5, 2048, true);
}

/* More peers than a batch, and what a sum of doubles forgets: nothing. */
static void many_peers_and_floats(void **state) {
    (void)state;
    tk t;
    tk_init(&t, 2);
    const wr_schema *in = tk_schema(&t, "v DOUBLE, ts TIMESTAMP(3)*");
    const wr_over_frame rows1 = {.rows = true, .preceding = 1};
    wr_over_fn two[2] = {agg_of(WR_AGG_SUM, 0, WR_T_DOUBLE, so_far), agg_of(WR_AGG_SUM, 0, WR_T_DOUBLE, rows1)};
    wr_op *op = wr_over_new(&(wr_over_opts){.time_col = 1, .n_fns = 2, .fns = two}, in, &t.ctx);
    tk_send(&t, op, 0, in, "1 1; 2 1; 3 1; 4 1; 5 1; 1e300 2; 1e-300 3; 2e-300 4");
    tk_end(&t, op);
    tk_expect(&t, "+I 1 1 15 1\n+I 2 1 15 3\n+I 3 1 15 5\n+I 4 1 15 7\n+I 5 1 15 9\n+I 1e+300 2 1e+300 1e+300\n+I 1e-300 3 1e+300 1e+300\n+I 2e-300 4 1e+300 3e-300\n");
    done(&t, op);
}

/* A key is forgotten when its frame is empty, and comes back as new. */
static void forgets_keys(void **state) {
    (void)state;
    tk t;
    tk_init(&t, 2048);
    const wr_schema *in = tk_schema(&t, ev_schema);
    const uint32_t   key = 1;
    wr_over_fn fn = agg_of(WR_AGG_SUM, 2, WR_T_INT, (wr_over_frame){.preceding = 5000000});
    wr_op *op = wr_over_new(&(wr_over_opts){.n_keys = 1, .keys = &key, .time_col = 3, .n_fns = 1, .fns = &fn}, in, &t.ctx);
    wr_op_usage u;
    tk_send(&t, op, 0, in, "1 a 1 1; 2 b 2 2; 3 a 3 4");
    tk_watermark(&t, op, 8);
    tk_expect(&t, "+I 1 a 1 1 1\n+I 2 b 2 2 2\n+I 3 a 3 4 4\n");
    op->vt->usage(op, &u);
    assert_int_equal(u.keys, 1); /* b's frame ended at 7 */
    tk_send(&t, op, 0, in, "4 a 4 9; 5 b 5 9");
    tk_watermark(&t, op, 9);
    tk_expect(&t, "+I 4 a 4 9 7\n+I 5 b 5 9 5\n");
    tk_watermark(&t, op, 100);
    op->vt->usage(op, &u);
    assert_int_equal(u.keys, 0);
    assert_int_equal(u.rows, 0);
    tk_send(&t, op, 0, in, "6 a 6 101");
    tk_end(&t, op);
    tk_expect(&t, "+I 6 a 6 101 6\n");
    done(&t, op);
}

static void null_time_and_damage(void **state) {
    (void)state;
    tk t;
    tk_init(&t, 2048);
    const wr_schema *in = tk_schema(&t, ev_schema);
    const uint32_t   key = 1;
    wr_over_fn fn = agg_of(WR_AGG_SUM, 2, WR_T_INT, (wr_over_frame){.rows = true, .preceding = 2});
    const wr_over_opts opts = {.n_keys = 1, .keys = &key, .time_col = 3, .n_fns = 1, .fns = &fn};
    wr_op *op = wr_over_new(&opts, in, &t.ctx);
    assert_int_equal(tk_try_send(&t, op, 0, in, NULL, 0, "1 a 1 NULL"), WR_DATA);
    tk_send(&t, op, 0, in, "2 a 2 1; 3 a 3 2; 4 b 3 9");
    tk_watermark(&t, op, 5);
    wr_sbuf image = {0};
    tk_save(op, &image);
    for (size_t len = 0; len < image.len; len++) {
        wr_op    *other = wr_over_new(&opts, in, &t.ctx);
        wr_reader r = {(const uint8_t *)image.at, (const uint8_t *)image.at + len, false};
        assert_int_equal(other->vt->load(other, &r, 0, 128, &t.err), WR_CORRUPT);
        other->vt->close(other);
    }
    wr_sbuf_free(&image);
    done(&t, op);
}

/* TTL 10 s: a row so much behind the last one of its key starts anew, whatever the batches; what nobody will see again is freed. */
static void ttl_by_time(void **state) {
    (void)state;
    const wr_over_frame rows2 = {.rows = true, .preceding = 2}, range100 = {.preceding = 100000000};
    const wr_over_fn all[] = {agg_of(WR_AGG_SUM, 2, WR_T_INT, so_far), agg_of(WR_AGG_SUM, 2, WR_T_INT, rows2), agg_of(WR_AGG_MAX, 2, WR_T_INT, range100), lag_of(2, WR_T_INT, 1), rank_of(WR_OVER_ROW_NUMBER)};
    const wr_over_opts opts = {.n_keys = 1, .keys = (const uint32_t[]){1}, .time_col = 3, .n_fns = 5, .fns = all, .ttl_us = 10000000};
    const char *want = "+I 1 a 1 1 1 1 1 NULL 1\n+I 2 a 2 5 3 3 2 1 2\n+I 3 a 4 14.999 7 7 4 2 3\n+I 4 a 8 24.999 24 8 16 NULL 1\n+I 5 a 16 24.999 24 24 16 8 2\n+I 6 b 1 30 1 1 1 NULL 1\n+I 7 a 32 40 32 32 32 NULL 1\n";
    for (uint32_t step = 0; step < 3; step++) { /* everything in one batch; a watermark behind each row; with a load between */
        tk t;
        tk_init(&t, step ? 1 : 2048);
        const wr_schema *in = tk_schema(&t, ev_schema);
        const char      *rows[] = {"1 a 1 1", "2 a 2 5", "3 a 4 14.999", "4 a 8 24.999; 5 a 16 24.999", "6 b 1 30", "7 a 32 40"};
        const double     wm[] = {1, 5, 14.999, 24.999, 30, 40};
        wr_op           *op = wr_over_new(&opts, in, &t.ctx);
        for (uint32_t i = 0; i < 6; i++) {
            tk_send(&t, op, 0, in, rows[i]);
            if (step) tk_watermark(&t, op, wm[i]);
            if (step < 2) continue;
            wr_sbuf image = {0};
            tk_save(op, &image);
            op->vt->close(op);
            op = wr_over_new(&opts, in, &t.ctx);
            wr_reader r = {(const uint8_t *)image.at, (const uint8_t *)image.at + image.len, false};
            assert_int_equal(op->vt->load(op, &r, 0, 128, &t.err), WR_OK);
            wr_sbuf_free(&image);
        }
        tk_watermark(&t, op, 45);
        tk_expect(&t, want);
        tk_watermark(&t, op, 60); /* 20 s behind the last row: nobody sees the keys again */
        wr_op_usage use;
        op->vt->usage(op, &use);
        assert_int_equal(use.keys, 0);
        assert_int_equal(use.rows, 0);
        assert_int_equal(t.ledger.dropped[WR_REASON_EXPIRED], 4);
        done(&t, op);
    }
}

/* By arrival the clock counts; it is part of the image, and an image from before there was a TTL has none: its keys count from their next row. */
static void ttl_by_arrival(void **state) {
    (void)state;
    const wr_over_fn all[] = {agg_of(WR_AGG_SUM, 2, WR_T_INT, by_row)};
    wr_over_opts     opts = {.n_keys = 1, .keys = (const uint32_t[]){1}, .time_col = -1, .n_fns = 1, .fns = all};
    for (uint32_t step = 0; step < 2; step++) {
        tk t;
        tk_init(&t, 2048);
        const wr_schema *in = tk_schema(&t, "id INT, k STRING, v INT");
        opts.ttl_us = step ? 1000000 : 0;
        wr_op *op = wr_over_new(&opts, in, &t.ctx);
        t.ctx.now_us = 5000000;
        tk_send(&t, op, 0, in, "1 a 1; 2 b 1");
        tk_expect(&t, "+I 1 a 1 1\n+I 2 b 1 1\n");
        wr_sbuf image = {0};
        tk_save(op, &image);
        op->vt->close(op);
        opts.ttl_us = 1000000;
        op = wr_over_new(&opts, in, &t.ctx);
        wr_reader r = {(const uint8_t *)image.at, (const uint8_t *)image.at + image.len, false};
        assert_int_equal(op->vt->load(op, &r, 0, 128, &t.err), WR_OK);
        wr_sbuf_free(&image);
        t.ctx.now_us = 5999999;
        tk_send(&t, op, 0, in, "3 a 2");
        tk_expect(&t, "+I 3 a 2 3\n");
        t.ctx.now_us = 6999999;
        tk_send(&t, op, 0, in, "4 a 4; 5 b 4");
        tk_expect(&t, step ? "+I 4 a 4 4\n+I 5 b 4 4\n" : "+I 4 a 4 4\n+I 5 b 4 5\n");
        assert_int_equal(t.ledger.dropped[WR_REASON_EXPIRED], 1 + step);
        done(&t, op);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(flink_late_rows), cmocka_unit_test(random_plain), cmocka_unit_test(random_images), cmocka_unit_test(many_peers_and_floats), cmocka_unit_test(forgets_keys), cmocka_unit_test(null_time_and_damage), cmocka_unit_test(ttl_by_time),
                                       cmocka_unit_test(ttl_by_arrival)};
    return tk_run_tests(tests);
}
