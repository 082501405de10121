/* op/op_misc_test.c: window table functions, LIMIT, ORDER BY rowtime, the stream checker, the ordered list, row order, names. */
#include "op/op_testkit.h"
#include "base/hash.h"
#include "op/agg.h"
#include "op/row_order.h"
#include "op/sorted.h"
#include "op/value_set.h"

static const char ev[] = "1 a 1 1; 2 b 2 4; 3 a 3 9.999; 4 a 4 10; 5 NULL 5 12; 6 a 6 8 !10; 7 b 7 25; 8 a 8 11 !23; 9 a 9 23.5; 10 b 10 40; 11 a NULL 41; 12 b 12 30 !39";
static const char ev_schema[] = "id INT, k STRING, v INT, ts TIMESTAMP(3)*";
static wr_window win(wr_window_kind kind, double size, double slide, double offset, uint32_t col) {
    return (wr_window){.kind = kind, .size_us = tk_us(size), .slide_us = tk_us(slide), .offset_us = tk_us(offset), .time_col = col};
}
static void done(tk *t, wr_op *op) {
    op->vt->close(op);
    tk_free(t);
}

/* ---- window_tvf: Flink 02 and 04: nothing dropped, latest window first ---- */

static void test_tvf(void **state) {
    (void)state;
    for (uint32_t batch_rows = 1; batch_rows <= 3; batch_rows++) {
        tk t;
        tk_init(&t, batch_rows);
        const wr_schema *in = tk_schema(&t, "id INT, ts TIMESTAMP(3)*");
        wr_window w = win(WR_WINDOW_HOP, 10, 5, 0, 1);
        wr_op *op = wr_window_tvf_new(&w, in, &t.ctx);
        tk_send(&t, op, 0, in, "1 1; 2 4; 3 9.999 !8");
        tk_expect(&t, "+I 1 1 0 10 9.999\n+I 1 1 -5 5 4.999\n+I 2 4 0 10 9.999\n+I 2 4 -5 5 4.999\n+I 3 9.999 5 15 14.999 !8\n+I 3 9.999 0 10 9.999 !8\n");
        op->vt->close(op);
        w = win(WR_WINDOW_TUMBLE, 10, 10, 3, 1);
        op = wr_window_tvf_new(&w, in, &t.ctx);
        tk_send(&t, op, 0, in, "1 1; 2 3; -D 3 -7.5; 4 12.999");
        tk_expect(&t, "+I 1 1 -7 3 2.999\n+I 2 3 3 13 12.999\n-D 3 -7.5 -17 -7 -7.001\n+I 4 12.999 3 13 12.999\n");
        op->vt->close(op);
        w = win(WR_WINDOW_CUMULATE, 15, 5, 0, 1);
        op = wr_window_tvf_new(&w, in, &t.ctx);
        tk_send(&t, op, 0, in, "1 6; 2 14");
        tk_expect(&t, "+I 1 6 0 10 9.999\n+I 1 6 0 15 14.999\n+I 2 14 0 15 14.999\n");
        op->vt->close(op);
        w = win(WR_WINDOW_HOP, 2, 5, 0, 1);
        op = wr_window_tvf_new(&w, in, &t.ctx);
        tk_send(&t, op, 0, in, "1 1; 2 3; 3 5");
        tk_expect(&t, "+I 1 1 0 2 1.999\n+I 3 5 5 7 6.999\n");
        assert_int_equal(t.ledger.dropped[WR_REASON_FILTERED], 1);
        wr_batch *b = tk_batch(in, "1 NULL");
        assert_int_equal(op->vt->on_batch(op, 0, b, &t.out, &t.err), WR_DATA);
        wr_batch_unref(b);
        done(&t, op);
    }
}

/* ---- limit ---- */

static void test_limit(void **state) {
    (void)state;
    for (uint32_t feed = 1; feed <= 3; feed++) {
        tk t;
        tk_init(&t, feed);
        t.feed_rows = feed;
        const wr_schema *in = tk_schema(&t, "id INT");
        wr_limit_opts opts = {.offset = 1, .n = 3};
        wr_op *op = wr_limit_new(&opts, in, &t.ctx);
        tk_send(&t, op, 0, in, "1; 2; 3");
        wr_sbuf image = {0};
        tk_save(op, &image);
        op->vt->close(op);
        op = wr_limit_new(&opts, in, &t.ctx);
        tk_load(&t, op, &image, 64, 128); /* the counter is in group 0: not ours */
        tk_load(&t, op, &image, 0, 64);
        wr_sbuf_free(&image);
        tk_send(&t, op, 0, in, "4; 5; 6");
        tk_expect(&t, "+I 2\n+I 3\n+I 4\n");
        assert_int_equal(t.ledger.dropped[WR_REASON_RANKED_OUT], 3);
        op->vt->close(op);
        opts.retract_input = true;
        op = wr_limit_new(&opts, in, &t.ctx);
        tk_send(&t, op, 0, in, "1; 2; 3; 4; 5");
        tk_clear(&t);
        tk_send(&t, op, 0, in, "-D 1; -D 5");
        tk_expect(&t, feed == 1 ? "-D 2\n+I 5\n-D 5\n" : "-D 2\n");
        done(&t, op);
    }
}

/* ---- time_sort: Flink 06: SELECT * FROM ev ORDER BY ts: rows 6 and 8 vanish, 12 stays ---- */

static void test_time_sort(void **state) {
    (void)state;
    const uint32_t sizes[] = {1, 3, 2048};
    for (int k = 0; k < 9; k++) {
        tk t;
        tk_init(&t, sizes[k % 3]);
        t.feed_rows = sizes[k / 3];
        t.full_every = k % 2;
        const wr_schema *in = tk_schema(&t, ev_schema);
        wr_time_sort_opts opts = {.time_col = 3};
        wr_op *op = wr_time_sort_new(&opts, in, &t.ctx);
        tk_send(&t, op, 0, in, ev);
        if (k % 2) {
            tk_watermark(&t, op, 11);
            assert_string_equal(tk_text(&t), "+I 1 a 1 1\n+I 2 b 2 4\n+I 3 a 3 9.999\n+I 4 a 4 10\n");
            wr_sbuf image = {0};
            tk_save(op, &image);
            op->vt->close(op);
            op = wr_time_sort_new(&opts, in, &t.ctx);
            tk_load(&t, op, &image, 64, 128);
            tk_load(&t, op, &image, 0, 64);
            wr_sbuf_free(&image);
        }
        tk_end(&t, op);
        tk_expect(&t, "+I 1 a 1 1\n+I 2 b 2 4\n+I 3 a 3 9.999\n+I 4 a 4 10\n+I 5 NULL 5 12\n+I 9 a 9 23.5\n+I 7 b 7 25\n+I 12 b 12 30 !39\n+I 10 b 10 40\n+I 11 a NULL 41\n");
        assert_int_equal(t.ledger.dropped[WR_REASON_LATE], 2);
        done(&t, op);
    }
    tk t; /* further columns; arrival breaks ties */
    tk_init(&t, 2048);
    const wr_schema *in = tk_schema(&t, "id INT, ts TIMESTAMP(3)*");
    wr_sort_key desc = {.col = 0, .desc = true, .nulls_last = true};
    wr_op *op = wr_time_sort_new(&(wr_time_sort_opts){.time_col = 1, .n_order = 1, .order = &desc}, in, &t.ctx);
    tk_send(&t, op, 0, in, "1 5; NULL 5; 3 5; 2 4");
    tk_end(&t, op);
    tk_expect(&t, "+I 2 4\n+I 3 5\n+I 1 5\n+I NULL 5\n");
    done(&t, op);
}

/* ---- check: each breach is an error that names the operator ---- */

typedef struct fake { wr_op op; wr_batch *next; int64_t sent; bool more; } fake;
static wr_status fake_on_batch(wr_op *op, uint32_t input, wr_batch *batch, wr_out *out, wr_err *err) {
    fake *f = (fake *)op;
    (void)input, (void)batch;
    wr_batch *b = f->next;
    f->next = NULL;
    return wr_emit(out, b, err);
}
static wr_status fake_on_watermark(wr_op *op, int64_t wm_us, wr_out *out, bool *more, wr_err *err) {
    (void)wm_us;
    *more = ((fake *)op)->more;
    return fake_on_batch(op, 0, NULL, out, err);
}
static int64_t fake_output_watermark(const wr_op *op, int64_t wm_us) { return ((const fake *)op)->sent ? ((const fake *)op)->sent : wm_us; }
static void    fake_close(wr_op *op) { (void)op; }
static const wr_op_vt fake_vt = {.name = "fake", .on_batch = fake_on_batch, .on_watermark = fake_on_watermark, .output_watermark = fake_output_watermark,
                                 .save = wr_op_no_save, .load = wr_op_no_load, .usage = wr_op_no_usage, .limit = wr_op_no_limit, .close = fake_close};
typedef struct bench { tk t; fake f; wr_op *op; const wr_schema *s; } bench;
static void bench_open(bench *b, bool append) {
    tk_init(&b->t, 2048);
    b->s = tk_schema(&b->t, "id INT, ts TIMESTAMP(3)*");
    b->f = (fake){.op = {&fake_vt, &b->t.ctx}};
    b->op = wr_op_check(&b->f.op, &b->s, 1, b->s, append);
}
static void bench_close(bench *b) {
    b->op->vt->close(b->op);
    tk_free(&b->t);
}
static wr_status through(bench *b, wr_batch *emitted) {
    wr_batch *in = tk_batch(b->s, "1 1");
    b->f.next = emitted;
    wr_status s = b->op->vt->on_batch(b->op, 0, in, &b->t.out, &b->t.err);
    wr_batch_unref(in);
    return s;
}
static void test_check(void **state) {
    (void)state;
    bench b;
    bool  more = false;
    bench_open(&b, true);
    assert_string_equal(b.op->vt->name, "fake");
    assert_int_equal(through(&b, tk_batch(b.s, "1 1; 2 2")), WR_OK);
    assert_int_equal(through(&b, tk_batch(b.s, "-D 1 1")), WR_CORRUPT); /* append-only */
    assert_non_null(strstr(b.t.err.message, "fake: row 0 of an append-only output is -D"));
    const wr_schema *other = tk_schema(&b.t, "id BIGINT, ts TIMESTAMP(3)"), *fewer = tk_schema(&b.t, "id INT");
    assert_int_equal(through(&b, tk_batch(other, "1 1")), WR_CORRUPT);
    assert_non_null(strstr(b.t.err.message, "column 0 (id)"));
    assert_int_equal(through(&b, tk_batch(fewer, "1")), WR_CORRUPT);
    assert_int_equal(b.op->vt->on_watermark(b.op, 5000000, &b.t.out, &more, &b.t.err), WR_OK);
    assert_int_equal(b.op->vt->on_watermark(b.op, 5000000, &b.t.out, &more, &b.t.err), WR_CORRUPT);
    assert_int_equal(through(&b, tk_batch(b.s, "1 5")), WR_CORRUPT); /* behind the watermark */
    assert_int_equal(through(&b, tk_batch(b.s, "1 5 !5; 2 5.001")), WR_OK);
    wr_batch *unordered = tk_batch(b.s, "1 6; 2 7");
    static const uint16_t sel[] = {1, 0};
    unordered->sel = sel, unordered->n_sel = 2;
    assert_int_equal(through(&b, unordered), WR_CORRUPT);
    b.f.more = true;
    assert_int_equal(b.op->vt->on_watermark(b.op, 6000000, &b.t.out, &more, &b.t.err), WR_OK);
    assert_int_equal(through(&b, NULL), WR_CORRUPT); /* a batch while there is more */
    b.f.more = false;
    assert_int_equal(b.op->vt->on_watermark(b.op, 6000000, &b.t.out, &more, &b.t.err), WR_OK);
    b.f.sent = 1;
    assert_int_equal(b.op->vt->on_watermark(b.op, 7000000, &b.t.out, &more, &b.t.err), WR_CORRUPT); /* goes back */
    b.f.sent = 0;
    assert_int_equal(b.op->vt->on_watermark(b.op, WR_TIME_MAX, &b.t.out, &more, &b.t.err), WR_OK);
    assert_int_equal(through(&b, NULL), WR_CORRUPT);
    tk_clear(&b.t);
    bench_close(&b);
    bench_open(&b, false);
    assert_int_equal(through(&b, tk_batch(b.s, "-U 1 1; +U 1 2; -U 2 2; +I 4 4")), WR_OK);
    assert_int_equal(through(&b, tk_batch(b.s, "-U 1 1; +I 9 9; +U 1 2")), WR_CORRUPT);
    b.t.ctx.batch_rows = 1;
    assert_int_equal(through(&b, tk_batch(b.s, "1 1; 2 2")), WR_CORRUPT);
    bench_close(&b);
}

/* ---- the ordered list ---- */

static int int_order(const void *self, const void *a, const void *b) {
    (void)self;
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}
static void test_sorted(void **state) {
    (void)state;
    wr_rng rng;
    wr_rng_seed(&rng, 3);
    wr_sorted *s = wr_sorted_new(8);
    static int64_t model[6000];
    uint32_t n = 0;
    for (int step = 0; step < 20000; step++) {
        int64_t v = (int64_t)wr_rng_below(&rng, 5000);
        bool    equal, there = false;
        uint32_t at = 0;
        while (at < n && model[at] < v) at++;
        there = at < n && model[at] == v;
        wr_pos pos = wr_sorted_seek(s, &v, int_order, NULL, &equal);
        assert_int_equal(equal, there);
        assert_int_equal(wr_sorted_index(s, pos), at);
        if (there) {
            pos = wr_sorted_remove(s, pos);
            memmove(model + at, model + at + 1, (n-- - at - 1) * sizeof *model);
            const int64_t *next = wr_sorted_at(s, pos);
            assert_true(at == n ? next == NULL : *next == model[at]);
        } else {
            wr_sorted_insert(s, pos, &v);
            memmove(model + at + 1, model + at, (n++ - at) * sizeof *model);
            model[at] = v;
        }
    }
    uint32_t i = 0;
    for (wr_pos p = wr_sorted_first(); wr_sorted_at(s, p); p = wr_sorted_next(s, p), i++) {
        assert_int_equal(*(int64_t *)wr_sorted_at(s, p), model[i]);
        assert_int_equal(*(int64_t *)wr_sorted_at(s, wr_sorted_nth(s, i)), model[i]);
    }
    assert_int_equal(i, n);
    assert_null(wr_sorted_at(s, wr_sorted_nth(s, n)));
    wr_sorted_free(s);
}

static void test_value_set(void **state) {
    (void)state;
    wr_rng rng;
    wr_rng_seed(&rng, 11);
    wr_agg_slot   slot = {.class = WR_CELL_INT, .storage = WR_S_I64};
    wr_value_set *s = wr_value_set_new();
    static int64_t model[700];
    for (int step = 0; step < 60000; step++) {
        uint64_t range = step < 20000 ? 12 : 700;
        wr_cell  v = {{wr_rng_below(&rng, range), 0}};
        uint32_t at = wr_value_set_find(s, &slot, v, step & 1 ? wr_cell_hash(&slot, v) : 0);
        assert_int_equal(at != UINT32_MAX, model[v.w[0]] > 0);
        if (at != UINT32_MAX) assert_int_equal(s->items[at].n, model[v.w[0]]);
        if (at == UINT32_MAX) {
            model[v.w[0]] = step + 1;
            wr_value_set_add(s, &slot, (wr_set_item){v, step + 1}, step & 2 ? wr_cell_hash(&slot, v) : 0);
        } else if (wr_rng_below(&rng, 2)) {
            model[v.w[0]] = 0;
            wr_value_set_remove(s, &slot, at);
        }
    }
    wr_value_set_free(s);
}

/* Bytes compare as the values do, in both directions and with NULLs at either end. */
static void test_row_order(void **state) {
    (void)state;
    static const struct { const char *type, *ascending; } cases[] = {
        {"INT", "-2147483648 -5 0 7 2147483647"}, {"BIGINT", "-9223372036854775808 -1 0 3 9223372036854775807"}, {"TINYINT", "-128 -1 0 127"},
        {"SMALLINT", "-300 -1 0 300"}, {"BOOLEAN", "false true"}, {"DOUBLE", "-inf -1e300 -2.5 0 1e-300 3 inf nan"}, {"FLOAT", "-inf -2.5 0 3 inf nan"},
        {"DECIMAL(38,2)", "-99999999999999999999999999999999.01 -0.01 0.00 0.01 99999999999999999999999999999999.02"}, {"STRING", "'' A a aa ab b"},
        {"TIMESTAMP(3)", "-1.5 0 0.001 9"}, {"DATE", "-3 0 7"},
    };
    for (size_t k = 0; k < WR_COUNT_OF(cases); k++)
        for (int mode = 0; mode < 4; mode++) {
            tk t;
            tk_init(&t, 2048);
            char columns[64], rows[256] = "NULL;";
            snprintf(columns, sizeof columns, "x %s", cases[k].type);
            strcat(rows, cases[k].ascending);
            for (char *at = rows; *at; at++)
                if (*at == ' ') *at = ';';
            const wr_schema *s = tk_schema(&t, columns);
            wr_batch   *b = tk_batch(s, rows);
            wr_sort_key key = {.col = 0, .desc = mode & 1, .nulls_last = mode & 2};
            for (uint32_t i = 0; i < b->n_rows; i++)
                for (uint32_t j = 0; j < b->n_rows; j++) {
                    wr_sbuf x = {0}, y = {0};
                    wr_row_order_put(&key, 1, b, i, &x), wr_row_order_put(&key, 1, b, j, &y);
                    int got = wr_row_order_compare(x.at, (uint32_t)x.len, y.at, (uint32_t)y.len), want = (i > j) - (i < j);
                    if (i && j && key.desc) want = -want;
                    if ((!i || !j) && i != j && key.nulls_last) want = -want;
                    assert_int_equal((got > 0) - (got < 0), want);
                    wr_sbuf_free(&x), wr_sbuf_free(&y);
                }
            wr_batch_unref(b);
            tk_free(&t);
        }
}

/* ---- names, ledger, aggregates for the planner ---- */

static void test_names(void **state) {
    (void)state;
    for (int r = 0; r < WR_REASON_COUNT; r++) assert_true(strlen(wr_reason_name((wr_reason)r)) > 3);
    wr_ledger a = {.in = {1, 2}, .out = 3, .out_kind = {1, 1, 1, 0}}, b = a;
    a.dropped[WR_REASON_LATE] = 4;
    wr_ledger_add(&b, &a);
    assert_int_equal(b.in[1], 4);
    assert_int_equal(b.dropped[WR_REASON_LATE], 4);
    for (int k = 1; k < WR_AGG_KIND_COUNT; k++) assert_true(wr_agg_exists(wr_str_of(wr_agg_name((wr_agg_kind)k))));
    assert_false(wr_agg_exists(WR_STR("UPPER")));
}
static void test_resolve(void **state) {
    (void)state;
    wr_diags diags;
    wr_diags_init(&diags);
    wr_arena   *arena = wr_arena_new(NULL);
    wr_expr_ctx ctx = {.arena = arena, .diags = &diags};
    wr_agg      agg;
    wr_type i = wr_type_of(WR_T_INT), d = wr_type_decimal(10, 2), s = wr_type_string();
    assert_true(wr_agg_resolve(&ctx, WR_STR("count"), NULL, 0, false, (wr_span){0}, &agg));
    assert_true(agg.kind == WR_AGG_COUNT_STAR && agg.type.id == WR_T_BIGINT && !agg.type.nullable);
    assert_true(wr_agg_resolve(&ctx, WR_STR("Sum"), &i, 1, true, (wr_span){0}, &agg));
    assert_true(agg.kind == WR_AGG_SUM && agg.distinct && agg.type.id == WR_T_INT);
    assert_true(wr_agg_resolve(&ctx, WR_STR("SUM"), &d, 1, false, (wr_span){0}, &agg));
    assert_true(agg.type.prec == 38 && agg.type.scale == 2);
    assert_true(wr_agg_resolve(&ctx, WR_STR("AVG"), &d, 1, false, (wr_span){0}, &agg));
    assert_true(agg.type.prec == 38 && agg.type.scale == 6);
    assert_true(wr_agg_resolve(&ctx, WR_STR("LISTAGG"), (wr_type[]){s, s}, 2, false, (wr_span){0}, &agg));
    assert_int_equal(diags.n_errors, 0);
    assert_false(wr_agg_resolve(&ctx, WR_STR("SUM"), &s, 1, false, (wr_span){0}, &agg));
    assert_false(wr_agg_resolve(&ctx, WR_STR("SUMM"), &i, 1, false, (wr_span){0}, &agg));
    assert_int_equal(diags.n_errors, 2);
    assert_non_null(strstr(diags.list.at[0].hint, "SUM([DISTINCT] number)"));
    assert_non_null(strstr(diags.list.at[1].hint, "SUM"));
    assert_true(wr_agg_resolve(&ctx, WR_STR("MAX"), &i, 1, false, (wr_span){0}, &agg));
    double fixed, per_value;
    wr_agg_bytes(&agg, 1, false, &fixed, &per_value);
    assert_true(fixed == 16 && per_value == 0);
    wr_agg_bytes(&agg, 1, true, &fixed, &per_value);
    assert_true(per_value > 24);
    assert_true(wr_agg_describe(&agg, false).mergeable && !wr_agg_describe(&agg, true).invertible);
    assert_true(strlen(wr_agg_describe(&agg, true).retract_cost) > 0 && !*wr_agg_describe(&agg, false).retract_cost);
    wr_diags_free(&diags);
    wr_arena_free(arena);
}

/* The bill's arithmetic against what the operators charge, within 25 %. */
static void close_to(double predicted, double actual) {
    if (predicted < actual * 0.75 || predicted > actual * 1.25) fail_msg("predicted %.1f, actual %.1f bytes", predicted, actual);
}
static double charged(tk *t, wr_op *op, const wr_schema *in, int n) {
    wr_op_usage use;
    wr_sbuf rows = {0};
    for (int i = 0; i < n; i++) wr_sbuf_printf(&rows, "key-%d-of-many %d %d.5 1\n", i % 20000, i, i);
    int64_t before = wr_account_bytes(&t->acct);
    tk_send(t, op, 0, in, rows.at);
    op->vt->usage(op, &use);
    double bytes = (double)(wr_account_bytes(&t->acct) - before);
    close_to((double)use.state_bytes, bytes);
    op->vt->close(op);
    wr_sbuf_free(&rows);
    tk_clear(t);
    return bytes;
}
static void test_bill(void **state) {
    (void)state;
    tk t;
    tk_init(&t, 2048);
    const wr_schema *in = tk_schema(&t, "k STRING, v INT, d DOUBLE, ts TIMESTAMP(3)*");
    wr_type i = wr_type_of(WR_T_INT), d = wr_type_of(WR_T_DOUBLE);
    wr_agg  aggs[] = {{.kind = WR_AGG_SUM, .arg = 1, .arg2 = -1, .filter = -1, .arg_type = i, .type = i}, {.kind = WR_AGG_AVG, .arg = 2, .arg2 = -1, .filter = -1, .arg_type = d, .type = d}};
    double  key = 1 + 4 + 17, row = 1 + key + 4 + 8 + 8, fixed, per_value;
    wr_group_agg_opts g = {.n_keys = 1, .keys = (uint32_t[]){0}, .n_aggs = 2, .aggs = aggs};
    close_to(wr_group_agg_key_bytes(&g, key), charged(&t, wr_group_agg_new(&g, in, &t.ctx), in, 20000) / 20000);
    g.retract_input = true;
    wr_agg most[] = {{.kind = WR_AGG_MAX, .arg = 1, .arg2 = -1, .filter = -1, .arg_type = i, .type = i}, {.kind = WR_AGG_COUNT, .distinct = true, .arg = 1, .arg2 = -1, .filter = -1, .arg_type = i, .type = wr_type_of(WR_T_BIGINT)}};
    g.aggs = most;
    wr_agg_bytes(most, 2, true, &fixed, &per_value);
    close_to(wr_group_agg_key_bytes(&g, key) + 8 * per_value, charged(&t, wr_group_agg_new(&g, in, &t.ctx), in, 160000) / 20000);
    wr_window_agg_opts w = {.window = win(WR_WINDOW_HOP, 20, 10, 0, 3), .n_keys = 1, .keys = g.keys, .n_aggs = 1, .aggs = aggs};
    close_to(wr_window_agg_key_bytes(&w, key), charged(&t, wr_window_agg_new(&w, in, &t.ctx), in, 20000) / 20000);
    w.n_aggs = 2; /* AVG(DOUBLE) cannot be subtracted */
    close_to(wr_window_agg_key_bytes(&w, key), charged(&t, wr_window_agg_new(&w, in, &t.ctx), in, 20000) / 20000);
    wr_sort_key order = {.col = 2};
    wr_top_n_opts n = {.n_keys = 1, .keys = g.keys, .n_order = 1, .order = &order, .first = 1, .last = 5, .window_end = -1};
    close_to(wr_top_n_key_bytes(&n, key) + 5 * wr_top_n_row_bytes(&n, row, 9), charged(&t, wr_top_n_new(&n, in, &t.ctx), in, 160000) / 20000);
    for (int mode = 0; mode < 3; mode++) {
        wr_dedup_opts k = {.n_keys = 1, .keys = g.keys, .time_col = mode ? 3 : -1, .keep_last = mode, .emit_before = mode == 2};
        close_to(wr_dedup_key_bytes(&k, key, row), charged(&t, wr_dedup_new(&k, in, &t.ctx), in, 20000) / 20000);
    }
    tk_free(&t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tvf), cmocka_unit_test(test_limit), cmocka_unit_test(test_time_sort), cmocka_unit_test(test_check), cmocka_unit_test(test_sorted), cmocka_unit_test(test_value_set),
        cmocka_unit_test(test_row_order), cmocka_unit_test(test_bill), cmocka_unit_test(test_names), cmocka_unit_test(test_resolve),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
