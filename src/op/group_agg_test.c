/* op/group_agg_test.c: hand arithmetic, Flink's recorded changelogs (shared/flink/sem/06), and random changelogs against a naive reference. */
#include "op/op_testkit.h"
#include "base/hash.h"

static const char ev[] = "1 a 1; 2 b 2; 3 a 3; 4 a 4; 5 NULL 5; 6 a 6; 7 b 7; 8 a 8; 9 a 9; 10 b 10; 11 a NULL; 12 b 12";

static wr_agg agg(wr_agg_kind kind, int32_t arg, wr_type arg_type, wr_type type) {
    return (wr_agg){.kind = kind, .arg = arg, .arg2 = -1, .filter = -1, .arg_type = arg_type, .type = type};
}
static wr_agg distinct(wr_agg a) { a.distinct = true; return a; }
static wr_type T(wr_tid id) { return wr_type_of(id); }
static wr_agg count_star(void) { return agg(WR_AGG_COUNT_STAR, -1, T(WR_T_BIGINT), T(WR_T_BIGINT)); }
static wr_agg int_agg(wr_agg_kind kind, int32_t arg) {
    return agg(kind, arg, T(WR_T_INT), kind == WR_AGG_COUNT ? T(WR_T_BIGINT) : T(WR_T_INT));
}
static wr_op *group(tk *t, const wr_schema *in, uint32_t n_keys, const uint32_t *keys, uint32_t n_aggs, const wr_agg *aggs, bool retract, bool before) {
    return wr_group_agg_new(&(wr_group_agg_opts){.n_keys = n_keys, .keys = keys, .n_aggs = n_aggs, .aggs = aggs, .retract_input = retract,
                                                 .emit_before = before}, in, &t->ctx);
}
static void done(tk *t, wr_op *op) {
    op->vt->close(op);
    tk_free(t);
}

/* Flink, 06_topn_dedup_over.out: SELECT COUNT(DISTINCT k), COUNT(k), COUNT(*) FROM ev, row by row. */
static void test_flink_counts(void **state) {
    (void)state;
    tk t;
    tk_init(&t, 2048);
    t.feed_rows = 1;
    const wr_schema *in = tk_schema(&t, "id INT, k STRING, v INT");
    wr_agg aggs[] = {distinct(agg(WR_AGG_COUNT, 1, wr_type_string(), T(WR_T_BIGINT))), agg(WR_AGG_COUNT, 1, wr_type_string(), T(WR_T_BIGINT)), count_star()};
    wr_op *op = group(&t, in, 0, NULL, 3, aggs, false, true);
    tk_end(&t, op);
    tk_expect(&t, ""); /* nothing before the first row */
    tk_send(&t, op, 0, in, ev);
    tk_expect(&t, "+I 1 1 1\n-U 1 1 1\n+U 2 2 2\n-U 2 2 2\n+U 2 3 3\n-U 2 3 3\n+U 2 4 4\n-U 2 4 4\n+U 2 4 5\n-U 2 4 5\n+U 2 5 6\n-U 2 5 6\n+U 2 6 7\n"
                  "-U 2 6 7\n+U 2 7 8\n-U 2 7 8\n+U 2 8 9\n-U 2 8 9\n+U 2 9 10\n-U 2 9 10\n+U 2 10 11\n-U 2 10 11\n+U 2 11 12\n");
    done(&t, op);
}

/* Flink, same file: SELECT k, FIRST_VALUE(v), LAST_VALUE(v) GROUP BY k: row 11 (NULL) changes nothing and is not emitted. */
static void test_flink_first_last(void **state) {
    (void)state;
    for (int retract = 0; retract < 2; retract++) {
        tk t;
        tk_init(&t, 2048);
        t.feed_rows = 1;
        const wr_schema *in = tk_schema(&t, "id INT, k STRING, v INT");
        wr_agg aggs[] = {int_agg(WR_AGG_FIRST_VALUE, 2), int_agg(WR_AGG_LAST_VALUE, 2)};
        wr_op *op = group(&t, in, 1, (uint32_t[]){1}, 2, aggs, retract, true);
        tk_send(&t, op, 0, in, ev);
        tk_expect(&t, "+I a 1 1\n+I b 2 2\n-U a 1 1\n+U a 1 3\n-U a 1 3\n+U a 1 4\n+I NULL 5 5\n-U a 1 4\n+U a 1 6\n-U b 2 2\n+U b 2 7\n-U a 1 6\n+U a 1 8\n"
                      "-U a 1 8\n+U a 1 9\n-U b 2 7\n+U b 2 10\n-U b 2 10\n+U b 2 12\n");
        done(&t, op);
    }
}

static void test_distinct_rows(void **state) {
    (void)state;
    tk t;
    tk_init(&t, 2048);
    const wr_schema *in = tk_schema(&t, "id INT, k STRING, v INT");
    wr_op *op = group(&t, in, 1, (uint32_t[]){1}, 0, NULL, false, true);
    tk_send(&t, op, 0, in, ev);
    tk_expect(&t, "+I a\n+I b\n+I NULL\n");
    tk_send(&t, op, 0, in, ev);
    tk_expect(&t, "");
    done(&t, op);
}

/* One update per key and batch; with batch_rows 1 the pair is in two batches; without emit_before only +U. */
static void test_batching(void **state) {
    (void)state;
    for (uint32_t batch_rows = 1; batch_rows <= 4; batch_rows++)
        for (int before = 0; before < 2; before++) {
            tk t;
            tk_init(&t, batch_rows);
            const wr_schema *in = tk_schema(&t, "k INT, v INT");
            wr_agg aggs[] = {count_star(), int_agg(WR_AGG_SUM, 1)};
            wr_op *op = group(&t, in, 1, (uint32_t[]){0}, 2, aggs, false, before);
            tk_send(&t, op, 0, in, "1 10; 2 20; 1 30; NULL 1");
            tk_expect(&t, "+I 1 2 40\n+I 2 1 20\n+I NULL 1 1\n");
            tk_send(&t, op, 0, in, "2 5; 2 5; 3 1");
            tk_expect(&t, before ? "-U 2 1 20\n+U 2 3 30\n+I 3 1 1\n" : "+U 2 3 30\n+I 3 1 1\n");
            done(&t, op);
        }
}

/* Groups that empty are deleted, and start again; retractions of the unknown are counted and ignored. */
static void test_retraction(void **state) {
    (void)state;
    tk t;
    tk_init(&t, 2048);
    const wr_schema *in = tk_schema(&t, "k STRING, v INT");
    wr_agg aggs[] = {int_agg(WR_AGG_MAX, 1), int_agg(WR_AGG_SUM, 1), distinct(int_agg(WR_AGG_COUNT, 1))};
    wr_op *op = group(&t, in, 1, (uint32_t[]){0}, 3, aggs, true, true);
    tk_send(&t, op, 0, in, "a 5; a 9; a 9; b NULL");
    tk_expect(&t, "+I a 9 23 2\n+I b NULL NULL 0\n");
    tk_send(&t, op, 0, in, "-D a 9");
    tk_expect(&t, "-U a 9 23 2\n+U a 9 14 2\n");
    tk_send(&t, op, 0, in, "-D a 9");
    tk_expect(&t, "-U a 9 14 2\n+U a 5 5 1\n");
    tk_send(&t, op, 0, in, "-D a 5; -D b NULL; -D c 1; +I d 1; -D d 1");
    tk_expect(&t, "-D a 5 5 1\n-D b NULL NULL 0\n");
    assert_int_equal(t.ledger.dropped[WR_REASON_RETRACT_UNKNOWN], 1);
    tk_send(&t, op, 0, in, "a 3; -D a 4");
    tk_expect(&t, ""); /* rows that add up to none: the group was never there */
    done(&t, op);
}

/* COUNT, SUM(INT) wraps, AVG(INT) truncates to zero, SUM0, AVG(BIGINT) does not overflow. */
static void test_numbers(void **state) {
    (void)state;
    tk t;
    tk_init(&t, 2048);
    const wr_schema *in = tk_schema(&t, "v INT, b BIGINT, d DECIMAL(10,2), f DOUBLE");
    wr_type dec = in->fields[2].type;
    wr_agg aggs[] = {
        int_agg(WR_AGG_SUM, 0), int_agg(WR_AGG_AVG, 0), agg(WR_AGG_AVG, 1, T(WR_T_BIGINT), T(WR_T_BIGINT)),
        agg(WR_AGG_SUM, 2, dec, wr_type_decimal(38, 2)), agg(WR_AGG_AVG, 2, dec, wr_type_decimal(38, 6)), agg(WR_AGG_SUM, 3, T(WR_T_DOUBLE), T(WR_T_DOUBLE)),
        agg(WR_AGG_VAR_POP, 3, T(WR_T_DOUBLE), T(WR_T_DOUBLE)), agg(WR_AGG_STDDEV_SAMP, 3, T(WR_T_DOUBLE), T(WR_T_DOUBLE)),
        agg(WR_AGG_MIN, 3, T(WR_T_DOUBLE), T(WR_T_DOUBLE)), agg(WR_AGG_MAX, 2, dec, dec), int_agg(WR_AGG_SUM0, 0),
    };
    wr_op *op = group(&t, in, 0, NULL, WR_COUNT_OF(aggs), aggs, false, false);
    tk_send(&t, op, 0, in, "4 9223372036854775807 1.00 2; 2 9223372036854775807 0.01 4; 5 9223372036854775807 -7.5 9");
    /* (2+4+9) = 15, variance (9 + 1 + 16) / 3 = 26/3; AVG(dec) = -6.49/3 = -2.163333 */
    tk_expect(&t, "+I 11 3 9223372036854775807 -6.49 -2.163333 15 8.66666666666667 3.60555127546399 2 1.00 11\n");
    tk_send(&t, op, 0, in, "2147483647 0 0 1e300");
    assert_non_null(strstr(tk_text(&t), "+U -2147483638 536870914 "));
    done(&t, op);
}

/* shared/cases/decimal-sum-restarts: an overflowing DECIMAL sum is NULL and the next value starts again. */
static void test_decimal_overflow(void **state) {
    (void)state;
    tk t;
    tk_init(&t, 2048);
    t.feed_rows = 1;
    const wr_schema *in = tk_schema(&t, "d DECIMAL(38,3)");
    wr_agg aggs[] = {agg(WR_AGG_SUM, 0, in->fields[0].type, wr_type_decimal(38, 3))};
    wr_op *op = group(&t, in, 0, NULL, 1, aggs, false, true);
    tk_send(&t, op, 0, in, "70000000000000000000000000000000000.500; 80000000000000000000000000000000000.125; 4.250");
    tk_expect(&t, "+I 70000000000000000000000000000000000.500\n-U 70000000000000000000000000000000000.500\n+U NULL\n-U NULL\n+U 4.250\n");
    done(&t, op);
}

/* Infinity and NaN come and go; what is left is exact (Neumaier, special values counted apart). */
static void test_double_retraction(void **state) {
    (void)state;
    tk t;
    tk_init(&t, 2048);
    const wr_schema *in = tk_schema(&t, "f DOUBLE");
    wr_agg aggs[] = {agg(WR_AGG_SUM, 0, T(WR_T_DOUBLE), T(WR_T_DOUBLE)), agg(WR_AGG_MAX, 0, T(WR_T_DOUBLE), T(WR_T_DOUBLE)), count_star()};
    wr_op *op = group(&t, in, 0, NULL, 3, aggs, true, false);
    tk_send(&t, op, 0, in, "0.1; 1e100; inf");
    tk_expect(&t, "+I inf inf 3\n");
    tk_send(&t, op, 0, in, "nan");
    tk_expect(&t, "+U nan nan 4\n");
    tk_send(&t, op, 0, in, "-D inf; -D nan; -D 1e100");
    tk_expect(&t, "+U 0.1 0.1 1\n");
    tk_send(&t, op, 0, in, "-D 0.1");
    tk_expect(&t, "-D 0.1 0.1 1\n");
    done(&t, op);
}

static void test_text_and_lists(void **state) {
    (void)state;
    for (int retract = 0; retract < 2; retract++) {
        tk t;
        tk_init(&t, 2048);
        const wr_schema *in = tk_schema(&t, "k INT, s STRING, sep STRING, keep BOOLEAN");
        wr_type str = wr_type_string(), kid = str, arr = T(WR_T_ARRAY), set = T(WR_T_MULTISET);
        arr.n_kids = set.n_kids = 1, arr.kids = set.kids = &kid;
        wr_agg listagg = agg(WR_AGG_LISTAGG, 1, str, str), kept = agg(WR_AGG_COUNT, 1, str, T(WR_T_BIGINT));
        listagg.arg2 = 2;
        kept.filter = 3;
        wr_agg aggs[] = {agg(WR_AGG_MIN, 1, str, str), agg(WR_AGG_MAX, 1, str, str), agg(WR_AGG_LAST_VALUE, 1, str, str), listagg,
                         distinct(agg(WR_AGG_LISTAGG, 1, str, str)), agg(WR_AGG_ARRAY_AGG, 1, str, arr), agg(WR_AGG_COLLECT, 1, str, set), kept};
        wr_op *op = group(&t, in, 1, (uint32_t[]){0}, 8, aggs, retract, true);
        tk_send(&t, op, 0, in, "1 pear | true; 1 a-long-name-of-an-apple | false; 1 NULL | true; 1 pear | NULL");
        tk_expect(&t, "+I 1 a-long-name-of-an-apple pear pear pear|a-long-name-of-an-apple|pear pear,a-long-name-of-an-apple "
                      "[pear,a-long-name-of-an-apple,NULL,pear] [a-long-name-of-an-apple,pear,pear] 1\n");
        tk_clear(&t);
        if (retract) {
            tk_send(&t, op, 0, in, "-D 1 pear | true; -D 1 a-long-name-of-an-apple | false");
            assert_non_null(strstr(tk_text(&t), "+U 1 pear pear pear pear pear [NULL,pear] [pear] 0\n"));
        }
        done(&t, op);
    }
}

/* Variance under retraction (values from Python's statistics), approximate counts, and a sub-query's single value. */
static void test_rare(void **state) {
    (void)state;
    tk t;
    tk_init(&t, 2048);
    const wr_schema *in = tk_schema(&t, "f DOUBLE, i INT");
    wr_agg aggs[] = {agg(WR_AGG_VAR_SAMP, 0, T(WR_T_DOUBLE), T(WR_T_DOUBLE)), agg(WR_AGG_STDDEV_POP, 0, T(WR_T_DOUBLE), T(WR_T_DOUBLE)), int_agg(WR_AGG_VAR_POP, 1),
                     agg(WR_AGG_APPROX_COUNT_DISTINCT, 1, T(WR_T_INT), T(WR_T_BIGINT)), count_star()};
    wr_op *op = group(&t, in, 0, NULL, 5, aggs, true, false);
    tk_send(&t, op, 0, in, "2.5 1; 100 2; 3.25 7; 9.5 2; -D 100 2");
    double var, dev; /* of 2.5, 3.25, 9.5 */
    assert_int_equal(sscanf(tk_text(&t), "+I %lf %lf 6 3 3\n", &var, &dev), 2); /* VAR_POP(INT) of 1, 7, 2 = 62/9, truncated */
    assert_true(var > 14.7708333333 && var < 14.7708333334 && dev > 3.1380283972 && dev < 3.1380283973);
    tk_clear(&t);
    tk_send(&t, op, 0, in, "-D 2.5 1; -D 9.5 2");
    tk_expect(&t, "+U NULL 0 0 1 1\n");
    op->vt->close(op);
    wr_agg approx[] = {agg(WR_AGG_APPROX_COUNT_DISTINCT, 1, T(WR_T_INT), T(WR_T_BIGINT))};
    op = group(&t, in, 0, NULL, 1, approx, false, false);
    wr_sbuf rows = {0};
    for (int i = 0; i < 3000; i++) wr_sbuf_printf(&rows, "1 %d\n", i % 1000);
    tk_send(&t, op, 0, in, rows.at);
    long n = strtol(strrchr(tk_text(&t), ' '), NULL, 10);
    assert_true(n > 940 && n < 1060);
    wr_sbuf_free(&rows);
    op->vt->close(op);
    tk_clear(&t);
    wr_agg single[] = {int_agg(WR_AGG_SINGLE_VALUE, 1)};
    op = group(&t, in, 0, NULL, 1, single, true, true);
    tk_send(&t, op, 0, in, "1 5");
    tk_send(&t, op, 0, in, "-U 1 5; +U 1 NULL");
    tk_expect(&t, "+I 5\n-U 5\n+U NULL\n");
    assert_int_equal(tk_try_send(&t, op, 0, in, NULL, 0, "1 6"), WR_DATA);
    assert_non_null(strstr(t.err.message, "more than one row"));
    done(&t, op);
}

/* After ttl without access a group counts as absent: later rows look like inserts; the sweep frees it. */
static void test_ttl(void **state) {
    (void)state;
    tk t;
    tk_init(&t, 2048);
    const wr_schema *in = tk_schema(&t, "k STRING");
    wr_agg aggs[] = {count_star()};
    wr_op *op = wr_group_agg_new(&(wr_group_agg_opts){.n_keys = 1, .keys = (uint32_t[]){0}, .n_aggs = 1, .aggs = aggs, .retract_input = true, .ttl_us = 1000000}, in, &t.ctx);
    tk_send(&t, op, 0, in, "a; b");
    t.ctx.now_us = 999999;
    tk_send(&t, op, 0, in, "a");
    t.ctx.now_us = 1500000;
    tk_clear(&t);
    tk_send(&t, op, 0, in, "a; -D b");
    tk_expect(&t, "+U a 3\n");
    assert_int_equal(t.ledger.dropped[WR_REASON_EXPIRED], 1);
    assert_int_equal(t.ledger.dropped[WR_REASON_RETRACT_UNKNOWN], 1);
    t.ctx.now_us = 3000000;
    tk_send(&t, op, 0, in, "c");
    wr_op_usage use;
    op->vt->usage(op, &use);
    assert_int_equal(use.keys, 1);
    done(&t, op);
}

/* ---- random changelogs against the survivors ---- */

typedef struct row { int k, v, s; } row; /* v, s < 0: NULL */
static void row_text(wr_sbuf *out, const char *kind, row r) {
    wr_sbuf_printf(out, "%s %d ", kind, r.k);
    if (r.v < 0) wr_sbuf_addz(out, "NULL ");
    else wr_sbuf_printf(out, "%d ", r.v);
    if (r.s < 0) wr_sbuf_addz(out, "NULL\n");
    else wr_sbuf_printf(out, r.s % 2 ? "s%d\n" : "a-rather-long-string-%d\n", r.s);
}
static void s_text(wr_sbuf *out, int s) {
    if (s < 0) wr_sbuf_addz(out, " NULL");
    else wr_sbuf_printf(out, s % 2 ? " s%d" : " a-rather-long-string-%d", s);
}
static int s_order(int a, int b) { /* even ones are longer and start with 'a' */
    char x[40], y[40];
    snprintf(x, 40, a % 2 ? "s%d" : "a-rather-long-string-%d", a);
    snprintf(y, 40, b % 2 ? "s%d" : "a-rather-long-string-%d", b);
    return strcmp(x, y);
}
static void num_text(wr_sbuf *out, bool null, long long v) {
    if (null) wr_sbuf_addz(out, " NULL");
    else wr_sbuf_printf(out, " %lld", v);
}
/* k, COUNT(*), COUNT(v), SUM, AVG, MIN, MAX, COUNT(DISTINCT v), SUM(DISTINCT v), FIRST(v), LAST(v), MIN(s), MAX(s) of the rows of each key. */
static void naive(const row *rows, uint32_t n, wr_sbuf *out) {
    for (int k = 0; k < 12; k++) {
        long long count = 0, nv = 0, sum = 0, min = 0, max = 0, nd = 0, sd = 0, first = 0, last = 0;
        int  smin = -1, smax = -1;
        bool seen[64] = {0};
        for (uint32_t i = 0; i < n; i++) {
            if (rows[i].k != k) continue;
            count++;
            if (rows[i].s >= 0) {
                if (smin < 0 || s_order(rows[i].s, smin) < 0) smin = rows[i].s;
                if (smax < 0 || s_order(rows[i].s, smax) > 0) smax = rows[i].s;
            }
            if (rows[i].v < 0) continue;
            int v = rows[i].v;
            if (!nv) first = min = max = v;
            last = v, min = WR_MIN(min, v), max = WR_MAX(max, v);
            nv++, sum += v;
            if (!seen[v]) seen[v] = true, nd++, sd += v;
        }
        if (!count) continue;
        wr_sbuf_printf(out, "%d %lld %lld", k, count, nv);
        num_text(out, !nv, sum), num_text(out, !nv, nv ? sum / nv : 0), num_text(out, !nv, min), num_text(out, !nv, max);
        wr_sbuf_printf(out, " %lld", nd);
        num_text(out, !nv, sd), num_text(out, !nv, first), num_text(out, !nv, last);
        s_text(out, smin), s_text(out, smax);
        wr_sbuf_addc(out, '\n');
    }
}
static const wr_agg *all_aggs(uint32_t *n) {
    static wr_agg aggs[12];
    wr_type str = wr_type_string();
    wr_agg list[] = {count_star(), int_agg(WR_AGG_COUNT, 1), int_agg(WR_AGG_SUM, 1), int_agg(WR_AGG_AVG, 1), int_agg(WR_AGG_MIN, 1), int_agg(WR_AGG_MAX, 1),
                     distinct(int_agg(WR_AGG_COUNT, 1)), distinct(int_agg(WR_AGG_SUM, 1)), int_agg(WR_AGG_FIRST_VALUE, 1), int_agg(WR_AGG_LAST_VALUE, 1),
                     agg(WR_AGG_MIN, 2, str, str), agg(WR_AGG_MAX, 2, str, str)};
    memcpy(aggs, list, sizeof list);
    *n = 12;
    return aggs;
}
/* Removes the earliest row that is equal; so FIRST and LAST lose their earliest equal value, as Flink's. Values equal over different s: avoided by s = f(v). */
static void random_run(uint64_t seed, bool retract, uint32_t feed_rows, uint32_t batch_rows) {
    tk t;
    tk_init(&t, batch_rows);
    t.feed_rows = feed_rows;
    const wr_schema *in = tk_schema(&t, "k INT, v INT, s STRING");
    uint32_t n_aggs;
    const wr_agg *aggs = all_aggs(&n_aggs);
    wr_op *op = group(&t, in, 1, (uint32_t[]){0}, n_aggs, aggs, retract, true);
    wr_rng rng;
    wr_rng_seed(&rng, seed);
    static row rows[4000];
    uint32_t n = 0;
    wr_sbuf  log = {0}, text = {0}, want = {0};
    for (int round = 0; round < 12; round++) {
        wr_sbuf_clear(&text);
        uint32_t steps = 1 + (uint32_t)wr_rng_below(&rng, 120);
        for (uint32_t i = 0; i < steps; i++) {
            bool remove = retract && n && wr_rng_below(&rng, 100) < (round % 4 == 3 ? 75u : 40u);
            if (remove) {
                row victim = rows[wr_rng_below(&rng, n)];
                uint32_t at = 0;
                while (memcmp(&rows[at], &victim, sizeof victim) != 0) at++;
                row_text(&text, wr_rng_below(&rng, 2) ? "-D" : "-U", victim);
                memmove(rows + at, rows + at + 1, (n - at - 1) * sizeof *rows);
                n--;
            } else {
                int v = (int)wr_rng_below(&rng, 20) - 1;
                rows[n] = (row){(int)wr_rng_below(&rng, 12), v, v % 7 == 0 ? -1 : v};
                row_text(&text, retract && wr_rng_below(&rng, 2) ? "+U" : "+I", rows[n]);
                n++;
            }
        }
        tk_send(&t, op, 0, in, text.at);
        wr_sbuf_add_str(&log, wr_sbuf_str(&t.text));
        tk_clear(&t);
        if (round == 5) { /* through an image, split over three workers and put together again */
            wr_sbuf image = {0}, again[3] = {{0}, {0}, {0}};
            tk_save(op, &image);
            const uint32_t cut[] = {0, 30, 77, 128};
            for (int p = 0; p < 3; p++) {
                wr_op *part = group(&t, in, 1, (uint32_t[]){0}, n_aggs, aggs, retract, true);
                tk_load(&t, part, &image, cut[p], cut[p + 1]);
                tk_save(part, &again[p]);
                part->vt->close(part);
            }
            op->vt->close(op);
            op = group(&t, in, 1, (uint32_t[]){0}, n_aggs, aggs, retract, true);
            for (int p = 0; p < 3; p++) tk_load(&t, op, &again[p], 0, 128), wr_sbuf_free(&again[p]);
            wr_sbuf_free(&image);
        }
        wr_sbuf_clear(&want);
        naive(rows, n, &want);
        wr_sbuf_addz(&want, "");
        char *sorted = wr_strdup(tk_sort_text(&t, want.len ? want.at : ""));
        assert_string_equal(tk_fold_text(&t, log.at ? log.at : ""), sorted);
        wr_free(sorted);
    }
    assert_int_equal(t.ledger.dropped[WR_REASON_RETRACT_UNKNOWN], 0);
    wr_sbuf_free(&log), wr_sbuf_free(&text), wr_sbuf_free(&want);
    done(&t, op);
}
static void test_random(void **state) {
    (void)state;
    const uint32_t sizes[] = {1, 3, 2048};
    for (uint64_t seed = 1; seed <= 25; seed++)
        for (int s = 0; s < 3; s++)
            for (int retract = 0; retract < 2; retract++) random_run(seed, retract, sizes[s], sizes[(s + seed) % 3]);
}

/* Several DISTINCT of one argument behind different FILTERs, before and after a restart, against a plain count; with retraction each has its own set. */
static void test_shared_values(void **state) {
    (void)state;
    for (int retract = 0; retract < 2; retract++) {
        tk t;
        tk_init(&t, 2048);
        const wr_schema *in = tk_schema(&t, "v INT, s STRING, a BOOLEAN, b BOOLEAN");
        wr_agg count = distinct(agg(WR_AGG_COUNT, 0, T(WR_T_INT), T(WR_T_BIGINT))), sum = distinct(int_agg(WR_AGG_SUM, 0)), text = distinct(agg(WR_AGG_COUNT, 1, wr_type_string(), T(WR_T_BIGINT)));
        wr_agg aggs[] = {count, count, sum, text, text, count};
        aggs[0].filter = 2, aggs[2].filter = 3, aggs[4].filter = 3;
        wr_op *op = group(&t, in, 0, NULL, 6, aggs, retract, false);
        bool    seen[3][500] = {{false}};
        int     n_all = 0, n_a = 0, n_b = 0, sum_b = 0;
        wr_sbuf rows = {0};
        for (int part = 0; part < 4; part++) {
            wr_sbuf_clear(&rows);
            for (int i = 0; i < 40 + part * 300; i++) {
                int  v = i * i % (10 + part * 150), a = i % 3 == part % 3, b = i % 5 < 2;
                bool was_a = seen[1][v], was_b = seen[2][v];
                wr_sbuf_printf(&rows, "%d text-that-is-longer-than-12-%d %s %s\n", v, v, i % 7 ? a ? "true" : "false" : "NULL", b ? "true" : "false");
                n_all += !seen[0][v], seen[0][v] = true;
                if (a && i % 7) n_a += !was_a, seen[1][v] = true;
                if (b) n_b += !was_b, sum_b += was_b ? 0 : v, seen[2][v] = true;
            }
            tk_clear(&t);
            tk_send(&t, op, 0, in, rows.at);
            char want[120];
            snprintf(want, sizeof want, " %d %d %d %d %d %d\n", n_a, n_all, sum_b, n_all, n_b, n_all);
            assert_non_null(strstr(tk_text(&t), want));
            wr_sbuf image = {0};
            tk_save(op, &image);
            op->vt->close(op);
            op = group(&t, in, 0, NULL, 6, aggs, retract, false);
            wr_reader r = {(uint8_t *)image.at, (uint8_t *)image.at + image.len, false};
            assert_int_equal(op->vt->load(op, &r, 0, 128, &t.err), WR_OK);
            wr_sbuf_free(&image);
        }
        wr_sbuf_free(&rows);
        done(&t, op);
    }
}

/* More keys than a batch has rows, and more touched keys than one output batch holds. */
static void test_many_keys(void **state) {
    (void)state;
    tk t;
    tk_init(&t, 2048);
    const wr_schema *in = tk_schema(&t, "k BIGINT");
    wr_agg aggs[] = {count_star()};
    wr_op *op = group(&t, in, 1, (uint32_t[]){0}, 1, aggs, false, true);
    wr_sbuf text = {0};
    for (int rep = 0; rep < 3; rep++) {
        wr_sbuf_clear(&text);
        for (int k = 0; k < 5000; k++) wr_sbuf_printf(&text, "%d\n", k);
        tk_send(&t, op, 0, in, text.at);
    }
    assert_int_equal(t.ledger.out_kind[WR_KIND_INSERT], 5000);
    assert_int_equal(t.ledger.out_kind[WR_KIND_UPDATE_BEFORE], 10000);
    assert_int_equal(t.ledger.out_kind[WR_KIND_UPDATE_AFTER], 10000);
    wr_op_usage use;
    op->vt->usage(op, &use);
    assert_int_equal(use.keys, 5000);
    if (tk_spills) assert_true(use.state_bytes < 5000 * 40 && use.tier_keys > 3000 && use.tier_loads > 3000 && use.spills);
    else assert_true(use.state_bytes > 5000 * 40 && use.state_bytes < 5000 * 140);
    wr_sbuf_free(&text);
    done(&t, op);
}

static void test_damaged_image(void **state) {
    (void)state;
    tk t;
    tk_init(&t, 2048);
    const wr_schema *in = tk_schema(&t, "k INT, v INT, s STRING");
    uint32_t n_aggs;
    const wr_agg *aggs = all_aggs(&n_aggs);
    wr_op *op = group(&t, in, 1, (uint32_t[]){0}, n_aggs, aggs, true, true);
    tk_send(&t, op, 0, in, "1 2 x; 1 3 y; 2 4 a-string-that-is-long; 3 NULL NULL");
    wr_sbuf image = {0};
    tk_save(op, &image);
    for (size_t len = 0; len < image.len; len += 3) {
        wr_op *other = group(&t, in, 1, (uint32_t[]){0}, n_aggs, aggs, true, true);
        wr_reader r = {(uint8_t *)image.at, (uint8_t *)image.at + len, false};
        assert_int_equal(other->vt->load(other, &r, 0, 128, &t.err), WR_CORRUPT);
        other->vt->close(other);
    }
    wr_sbuf_free(&image);
    done(&t, op);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_flink_counts), cmocka_unit_test(test_flink_first_last), cmocka_unit_test(test_distinct_rows), cmocka_unit_test(test_batching),
        cmocka_unit_test(test_retraction), cmocka_unit_test(test_numbers), cmocka_unit_test(test_decimal_overflow), cmocka_unit_test(test_double_retraction),
        cmocka_unit_test(test_text_and_lists), cmocka_unit_test(test_rare), cmocka_unit_test(test_ttl), cmocka_unit_test(test_many_keys), cmocka_unit_test(test_shared_values), cmocka_unit_test(test_damaged_image),
        cmocka_unit_test(test_random),
    };
    return tk_run_tests(tests);
}
