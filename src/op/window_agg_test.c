/* op/window_agg_test.c: Flink's recorded windows (shared/flink/sem/02, 04), public cases, and random streams against a naive reference that
 * enumerates the windows of each row. */
#include "op/op_testkit.h"
#include "base/hash.h"
#include "op/window.h"

/* ev.jsonl; lateness as Flink sees it with a watermark per row (ts - 2 s): rows 6, 8, 12 are behind it. */
static const char ev[] = "1 a 1 1; 2 b 2 4; 3 a 3 9.999; 4 a 4 10; 5 NULL 5 12; 6 a 6 8 !10; 7 b 7 25; 8 a 8 11 !23; 9 a 9 23.5; 10 b 10 40; 11 a NULL 41; 12 b 12 30 !39";
static const char ev_schema[] = "id INT, k STRING, v INT, ts TIMESTAMP(3)*";

static wr_type T(wr_tid id) { return wr_type_of(id); }
static wr_agg agg(wr_agg_kind kind, int32_t arg, wr_type arg_type, wr_type type) {
    return (wr_agg){.kind = kind, .arg = arg, .arg2 = -1, .filter = -1, .arg_type = arg_type, .type = type};
}
static wr_agg count_star(void) { return agg(WR_AGG_COUNT_STAR, -1, T(WR_T_BIGINT), T(WR_T_BIGINT)); }
static wr_agg int_agg(wr_agg_kind kind, int32_t arg) { return agg(kind, arg, T(WR_T_INT), kind == WR_AGG_COUNT ? T(WR_T_BIGINT) : T(WR_T_INT)); }
static wr_window win(wr_window_kind kind, double size, double slide, double offset, uint32_t col) {
    return (wr_window){.kind = kind, .size_us = tk_us(size), .slide_us = tk_us(slide), .offset_us = tk_us(offset), .time_col = col};
}

static void flink(wr_window w, bool with_key, uint32_t n_aggs, bool time, const char *want) {
    tk t;
    for (uint32_t feed = 1; feed <= 12; feed += 11) {
        tk_init(&t, feed == 1 ? 1 : 2048);
        t.feed_rows = feed;
        const wr_schema *in = tk_schema(&t, ev_schema);
        wr_agg aggs[] = {count_star(), int_agg(WR_AGG_SUM, 2)};
        wr_op *op = wr_window_agg_new(&(wr_window_agg_opts){.window = w, .n_keys = with_key, .keys = (uint32_t[]){1}, .n_aggs = n_aggs, .aggs = aggs,
                                                            .out_start = true, .out_end = true, .out_time = time}, in, &t.ctx);
        tk_send(&t, op, 0, in, ev);
        tk_end(&t, op);
        tk_expect_sorted(&t, want);
        op->vt->close(op);
        tk_free(&t);
    }
}
static void test_flink_tumble(void **state) {
    (void)state;
    flink(win(WR_WINDOW_TUMBLE, 10, 10, 0, 3), true, 2, true,
          "+I a 2 4 0 10 9.999\n+I b 1 2 0 10 9.999\n+I a 1 4 10 20 19.999\n+I NULL 1 5 10 20 19.999\n+I b 1 7 20 30 29.999\n+I a 1 9 20 30 29.999\n"
          "+I b 1 12 30 40 39.999\n+I b 1 10 40 50 49.999\n+I a 1 NULL 40 50 49.999\n");
    flink(win(WR_WINDOW_TUMBLE, 10, 10, 3, 3), false, 1, false, "+I 1 -7 3\n+I 5 3 13\n+I 2 23 33\n+I 2 33 43\n");
    flink(win(WR_WINDOW_TUMBLE, 10, 10, -7, 3), false, 1, false, "+I 1 -7 3\n+I 5 3 13\n+I 2 23 33\n+I 2 33 43\n");
}
static void test_flink_hop(void **state) {
    (void)state;
    flink(win(WR_WINDOW_HOP, 10, 5, 0, 3), true, 1, false,
          "+I a 1 -5 5\n+I b 1 -5 5\n+I a 2 0 10\n+I b 1 0 10\n+I a 3 5 15\n+I NULL 1 5 15\n+I a 1 10 20\n+I NULL 1 10 20\n+I a 1 15 25\n+I a 1 20 30\n+I b 1 20 30\n"
          "+I b 1 25 35\n+I b 1 30 40\n+I a 1 35 45\n+I b 1 35 45\n+I a 1 40 50\n+I b 1 40 50\n");
}
static void test_flink_cumulate(void **state) {
    (void)state;
    flink(win(WR_WINDOW_CUMULATE, 15, 5, 0, 3), false, 2, false, "+I 2 3 0 5\n+I 3 6 0 10\n+I 6 21 0 15\n+I 1 9 15 25\n+I 2 16 15 30\n+I 1 12 30 40\n+I 3 22 30 45\n");
}
static void test_flink_session(void **state) {
    (void)state;
    flink(win(WR_WINDOW_SESSION, 5, 0, 0, 3), true, 2, false,
          "+I a 1 1 1 6\n+I b 1 2 4 9\n+I a 3 13 8 15\n+I NULL 1 5 12 17\n+I a 1 9 23.5 28.5\n+I b 1 7 25 30\n+I b 1 10 40 45\n+I a 1 NULL 41 46\n");
}

/* shared/cases: hop-slide-not-divisor (arithmetic), session-bridge, session-gap-exact. */
static void test_cases(void **state) {
    (void)state;
    tk t;
    tk_init(&t, 2048);
    const wr_schema *in = tk_schema(&t, "k STRING, ts TIMESTAMP(3)*");
    wr_agg aggs[] = {count_star()};
    wr_window_agg_opts opts = {.window = win(WR_WINDOW_HOP, 1.6, 0.7, 0, 1), .n_aggs = 1, .aggs = aggs, .out_start = true, .out_end = true};
    wr_op *op = wr_window_agg_new(&opts, in, &t.ctx);
    tk_send(&t, op, 0, in, "a 1712000000.123"); /* 2024-04-01 19:33:20.123 */
    tk_end(&t, op);
    tk_expect(&t, "+I 1 1711999998.8 1712000000.4\n+I 1 1711999999.5 1712000001.1\n");
    op->vt->close(op);
    opts.window = win(WR_WINDOW_SESSION, 10, 0, 0, 1);
    opts.n_keys = 1, opts.keys = (uint32_t[]){0};
    op = wr_window_agg_new(&opts, in, &t.ctx);
    tk_send(&t, op, 0, in, "a 0; a 18; b 9; a 9");
    tk_end(&t, op);
    tk_expect_sorted(&t, "+I a 3 0 28\n+I b 1 9 19\n");
    op->vt->close(op);
    opts.n_keys = 0;
    op = wr_window_agg_new(&opts, in, &t.ctx);
    tk_send(&t, op, 0, in, "a 0; a 10; a 21");
    tk_end(&t, op);
    tk_expect(&t, "+I 2 0 20\n+I 1 21 31\n");
    op->vt->close(op);
    tk_free(&t);
}

/* A window fires at end - 1 ms, not before; rows without a key, empty windows and NULL times. */
static void test_edges(void **state) {
    (void)state;
    tk t;
    tk_init(&t, 2048);
    const wr_schema *in = tk_schema(&t, "k INT, ts TIMESTAMP(3)*");
    wr_agg aggs[] = {count_star()};
    wr_op *op = wr_window_agg_new(&(wr_window_agg_opts){.window = win(WR_WINDOW_TUMBLE, 10, 10, 0, 1), .n_aggs = 1, .aggs = aggs, .out_end = true}, in, &t.ctx);
    tk_send(&t, op, 0, in, "1 3; 1 -0.001; 1 9.999; 1 10");
    tk_watermark(&t, op, 9.998);
    tk_expect(&t, "+I 1 0\n");
    tk_watermark(&t, op, 9.999);
    tk_expect(&t, "+I 2 10\n");
    tk_send(&t, op, 0, in, "1 5 !9.999; 1 15 !9.999");
    assert_int_equal(t.ledger.dropped[WR_REASON_LATE], 1);
    tk_end(&t, op);
    tk_expect(&t, "+I 2 20\n");
    wr_batch *b = tk_batch(in, "1 NULL");
    assert_int_equal(op->vt->on_batch(op, 0, b, &t.out, &t.err), WR_DATA);
    assert_non_null(strstr(t.err.message, "rowtime must not be null"));
    wr_batch_unref(b);
    op->vt->close(op);
    tk_free(&t);
}

/* Input that a TVF has already windowed: grouped by its columns. */
static void test_windowed_input(void **state) {
    (void)state;
    tk t;
    tk_init(&t, 2048);
    const wr_schema *in = tk_schema(&t, "k INT, v INT, ws TIMESTAMP(3), we TIMESTAMP(3)");
    wr_agg aggs[] = {int_agg(WR_AGG_SUM, 1)};
    wr_op *op = wr_window_agg_new(&(wr_window_agg_opts){.window = win(WR_WINDOW_HOP, 10, 5, 0, 3), .n_keys = 1, .keys = (uint32_t[]){0}, .n_aggs = 1, .aggs = aggs,
                                                        .out_start = true, .out_end = true, .out_time = true, .input_is_windowed = true, .in_start = 2, .in_end = 3}, in, &t.ctx);
    tk_send(&t, op, 0, in, "1 5 0 10; 1 6 5 15; 2 7 0 10; 1 8 0 10; 1 9 -5 5 !4.999");
    tk_watermark(&t, op, 12);
    tk_expect_sorted(&t, "+I 1 13 0 10 9.999\n+I 2 7 0 10 9.999\n");
    tk_end(&t, op);
    tk_expect(&t, "+I 1 6 5 15 14.999\n");
    assert_int_equal(t.ledger.dropped[WR_REASON_LATE], 1);
    op->vt->close(op);
    tk_free(&t);
}

/* ---- random streams ---- */

typedef struct row { int k, v; int64_t t, wm; bool minus; } row; /* ms */
typedef struct setup {
    wr_window w;
    bool      retract;
    int       set; /* which aggregates: 0 invertible, 1 with what cannot be subtracted */
    int       keys;
} setup;
enum { KEYS = 5 };

typedef struct cell { long long n, nv, sum; int min, max, first, last, copies[64], distinct; } cell;
static void window_rows(const row *rows, uint32_t n, const setup *s, int64_t start, int64_t end, wr_sbuf *out) {
    for (int k = 0; k < s->keys; k++) {
        cell c = {0};
        for (uint32_t i = 0; i < n; i++) {
            const row *r = &rows[i];
            if (r->k != k || r->t < start || r->t >= end || (r->wm != INT64_MIN && r->wm >= end - 1)) continue;
            int sign = r->minus ? -1 : 1;
            c.n += sign;
            if (r->v < 0) continue;
            if (!c.nv) c.first = r->v;
            c.last = r->v;
            c.nv += sign, c.sum += sign * r->v, c.copies[r->v] += sign;
        }
        if (c.n <= 0) continue;
        c.min = -1, c.max = -1;
        for (int v = 0; v < 64; v++)
            if (c.copies[v]) c.min = c.min < 0 ? v : c.min, c.max = v, c.distinct++;
        char num[7][32] = {"NULL", "NULL", "NULL", "NULL", "NULL", "NULL", "NULL"};
        if (c.nv) {
            snprintf(num[0], 32, "%lld", c.sum), snprintf(num[1], 32, "%lld", c.sum / c.nv), snprintf(num[2], 32, "%d", c.min);
            snprintf(num[3], 32, "%d", c.max), snprintf(num[4], 32, "%d", c.first), snprintf(num[5], 32, "%d", c.last), snprintf(num[6], 32, "%.15g", (double)c.sum / 4);
        }
        wr_sbuf_printf(out, "+I %d %lld %s %s %d", k, c.n, num[0], num[1], c.distinct);
        if (s->set == 1) wr_sbuf_printf(out, " %s %s %s", num[2], num[3], num[6]);
        if (s->set == 1 && !s->retract) wr_sbuf_printf(out, " %s %s", num[4], num[5]);
        wr_sbuf_printf(out, " %g %g\n", (double)start / 1000, (double)end / 1000);
    }
}
static int64_t floor_div(int64_t a, int64_t b) { return a >= 0 ? a / b : -((-a + b - 1) / b); }
static void naive(const row *rows, uint32_t n, const setup *s, wr_sbuf *out) {
    int64_t size = s->w.size_us / 1000, slide = s->w.slide_us / 1000, offset = s->w.offset_us / 1000, lo = INT64_MAX, hi = INT64_MIN;
    for (uint32_t i = 0; i < n; i++) lo = WR_MIN(lo, rows[i].t), hi = WR_MAX(hi, rows[i].t);
    if (s->w.kind == WR_WINDOW_CUMULATE) {
        for (int64_t base = floor_div(lo - offset, size) * size + offset; base <= hi; base += size)
            for (int64_t end = base + slide; end <= base + size; end += slide) window_rows(rows, n, s, base, end, out);
    } else {
        int64_t first = floor_div(lo - size - offset, slide) * slide + offset;
        for (int64_t start = first; start <= hi; start += slide) window_rows(rows, n, s, start, start + size, out);
    }
}

static wr_op *open_op(tk *t, const setup *s, const wr_schema *in) {
    wr_agg aggs[9] = {count_star(), int_agg(WR_AGG_SUM, 1), int_agg(WR_AGG_AVG, 1), int_agg(WR_AGG_COUNT, 1)};
    aggs[3].distinct = true;
    uint32_t n = 4;
    if (s->set == 1) {
        aggs[n++] = int_agg(WR_AGG_MIN, 1);
        aggs[n++] = int_agg(WR_AGG_MAX, 1);
        aggs[n++] = agg(WR_AGG_SUM, 3, T(WR_T_DOUBLE), T(WR_T_DOUBLE));
        if (!s->retract) aggs[n++] = int_agg(WR_AGG_FIRST_VALUE, 1), aggs[n++] = int_agg(WR_AGG_LAST_VALUE, 1);
    }
    return wr_window_agg_new(&(wr_window_agg_opts){.window = s->w, .n_keys = 1, .keys = (uint32_t[]){0}, .n_aggs = n, .aggs = aggs, .retract_input = s->retract,
                                                   .out_start = true, .out_end = true}, in, &t->ctx);
}
static void put_row(wr_sbuf *out, const row *r) {
    wr_sbuf_printf(out, "%s %d ", r->minus ? "-D" : "+I", r->k);
    if (r->v < 0) wr_sbuf_addz(out, "NULL ");
    else wr_sbuf_printf(out, "%d ", r->v);
    wr_sbuf_printf(out, "%s%lld.%03lld ", r->t < 0 ? "-" : "", (long long)llabs(r->t) / 1000, (long long)llabs(r->t) % 1000);
    if (r->v < 0) wr_sbuf_addz(out, "NULL");
    else wr_sbuf_printf(out, "%g", r->v / 4.0);
    if (r->wm != INT64_MIN) wr_sbuf_printf(out, " !%s%lld.%03lld", r->wm < 0 ? "-" : "", (long long)llabs(r->wm) / 1000, (long long)llabs(r->wm) % 1000);
    wr_sbuf_addc(out, '\n');
}
static void check_order(const char *text) { /* window ends never go back */
    double last = -1e18;
    for (const char *at = text; *at;) {
        const char *end = strchr(at, '\n'), *space = end;
        while (space[-1] != ' ') space--;
        double v = strtod(space, NULL);
        if (v < last) fail_msg("a window that ends at %g after one that ends at %g: %.120s", v, last, at > text + 60 ? at - 60 : text);
        last = v;
        at = end + 1;
    }
}
/* wm_every: how often the operator hears of the watermark; lag: by how much it is behind the partition's. */
static void random_run(uint64_t seed, const setup *s, uint32_t feed_rows, uint32_t batch_rows, bool restart) {
    if (tk_spills && seed % 5) return; /* slow */
    tk t;
    tk_init(&t, batch_rows);
    t.feed_rows = feed_rows;
    t.full_every = seed % 3 ? 0 : 1;
    const wr_schema *in = tk_schema(&t, "k INT, v INT, ts TIMESTAMP(3)*, d DOUBLE");
    wr_op *op = open_op(&t, s, in);
    wr_rng rng;
    wr_rng_seed(&rng, seed);
    static row rows[600];
    uint32_t n = 0, total = 100 + (uint32_t)wr_rng_below(&rng, 300), late = 0;
    int64_t  clock = -20000, delay = (int64_t)wr_rng_below(&rng, 6000), wm = INT64_MIN, op_wm = INT64_MIN, max_t = INT64_MIN;
    wr_sbuf  text = {0}, want = {0};
    while (n < total) {
        uint32_t some = 1 + (uint32_t)wr_rng_below(&rng, 30);
        wr_sbuf_clear(&text);
        for (uint32_t i = 0; i < some && n < total; i++) {
            row r = {(int)wr_rng_below(&rng, (uint64_t)s->keys), (int)wr_rng_below(&rng, 30) - 2, clock - (int64_t)wr_rng_below(&rng, 15000), INT64_MIN, false};
            if (wr_rng_below(&rng, 3)) r.t = clock - (int64_t)wr_rng_below(&rng, 3000);
            clock += (int64_t)wr_rng_below(&rng, 500) + (wr_rng_below(&rng, 60) == 0 ? 40000 : 0);
            if (s->retract && n && wr_rng_below(&rng, 3) == 0) {
                row *old = &rows[wr_rng_below(&rng, n)];
                if (!old->minus && old->v > -5) {
                    r = *old;
                    r.minus = true;
                    old->minus = false;
                }
            }
            r.wm = wm != INT64_MIN && r.t <= wm ? wm : INT64_MIN;
            if (r.minus) { /* a row is taken back once: mark it by giving the pair a value of its own */
                bool once = true;
                for (uint32_t j = 0; j < n; j++) once &= !(rows[j].minus && rows[j].k == r.k && rows[j].v == r.v && rows[j].t == r.t);
                if (!once) continue;
            }
            put_row(&text, &r);
            rows[n++] = r;
            late += r.wm != INT64_MIN;
            max_t = WR_MAX(max_t, r.t);
            wm = WR_MAX(wm, max_t - delay);
        }
        if (text.len) tk_send(&t, op, 0, in, text.at);
        int64_t heard = wm - (int64_t)wr_rng_below(&rng, 2) * (int64_t)wr_rng_below(&rng, 4000);
        if (wr_rng_below(&rng, 2) && heard > op_wm) op_wm = heard, tk_watermark_us(&t, op, op_wm * 1000);
        if (restart && wr_rng_below(&rng, 4) == 0) {
            wr_sbuf image = {0}, again[3] = {{0}, {0}, {0}};
            tk_save(op, &image);
            const uint32_t cut[] = {0, 50, 90, 128};
            for (int p = 0; p < 3; p++) {
                wr_op *part = open_op(&t, s, in);
                tk_load(&t, part, &image, cut[p], cut[p + 1]);
                tk_save(part, &again[p]);
                part->vt->close(part);
            }
            op->vt->close(op);
            op = open_op(&t, s, in);
            for (int p = 2; p >= 0; p--) tk_load(&t, op, &again[p], 0, 128), wr_sbuf_free(&again[p]);
            wr_sbuf_free(&image);
        }
    }
    tk_end(&t, op);
    check_order(tk_text(&t));
    naive(rows, n, s, &want);
    char *sorted = wr_strdup(tk_sort_text(&t, want.len ? want.at : ""));
    const char *got = tk_sort_text(&t, tk_text(&t));
    if (strcmp(sorted, got) != 0) {
        const char *x = sorted, *y = got;
        while (*x && *x == *y) x++, y++;
        while (x > sorted && x[-1] != '\n') x--, y--;
        fail_msg("seed %llu kind %d size %g slide %g set %d retract %d restart %d late %u: expected\n%.150s\ngot\n%.150s", (unsigned long long)seed, s->w.kind,
                 (double)s->w.size_us / 1e6, (double)s->w.slide_us / 1e6, s->set, s->retract, restart, late, x, y);
    }
    wr_free(sorted);
    wr_op_usage use;
    op->vt->usage(op, &use);
    op->vt->close(op);
    wr_sbuf_free(&text), wr_sbuf_free(&want);
    tk_free(&t);
}
static void test_random(void **state) {
    (void)state;
    const struct { wr_window_kind kind; double size, slide, offset; } shapes[] = {
        {WR_WINDOW_TUMBLE, 10, 10, 0}, {WR_WINDOW_TUMBLE, 7, 7, -2.5}, {WR_WINDOW_HOP, 10, 5, 0}, {WR_WINDOW_HOP, 12, 2, 1},
        {WR_WINDOW_HOP, 10, 3, 0}, {WR_WINDOW_HOP, 10, 4, -1.5}, {WR_WINDOW_HOP, 5, 5, 2}, {WR_WINDOW_HOP, 3, 5, 0}, {WR_WINDOW_HOP, 30, 1, 0},
        {WR_WINDOW_CUMULATE, 15, 5, 0}, {WR_WINDOW_CUMULATE, 20, 2, 3},
    };
    const uint32_t sizes[] = {1, 3, 2048};
    uint64_t seed = 1;
    for (int rep = 0; rep < 6; rep++)
        for (size_t k = 0; k < WR_COUNT_OF(shapes); k++)
            for (int mode = 0; mode < 4; mode++, seed++) {
                setup s = {win(shapes[k].kind, shapes[k].size, shapes[k].slide, shapes[k].offset, 2), mode & 1, mode >> 1, KEYS};
                random_run(seed, &s, sizes[seed % 3], sizes[seed / 3 % 3], rep & 1);
            }
    for (int rep = 0; rep < 4; rep++) /* keys enough for several parts of an output, which come and go */
        for (size_t k = 0; k < WR_COUNT_OF(shapes); k++)
            for (int mode = 0; mode < 4; mode++, seed++) {
                setup s = {win(shapes[k].kind, shapes[k].size, shapes[k].slide, shapes[k].offset, 2), mode & 1, mode >> 1, 150};
                random_run(seed, &s, sizes[seed % 3], seed % 2 ? 64 : 2048, rep & 1);
            }
}

/* ---- every aggregate: panes against the table function followed by plain windows (no panes, no merging) ---- */

static uint32_t every_agg(wr_agg *aggs, bool retract) {
    static wr_type str, kid, arr, set;
    str = kid = wr_type_string(), arr = T(WR_T_ARRAY), set = T(WR_T_MULTISET);
    arr.n_kids = set.n_kids = 1, arr.kids = set.kids = &kid;
    wr_type dec = wr_type_decimal(30, 2);
    wr_agg list[] = {
        count_star(), agg(WR_AGG_MIN, 4, str, str), agg(WR_AGG_MAX, 4, str, str), agg(WR_AGG_SUM, 5, dec, wr_type_decimal(38, 2)),
        agg(WR_AGG_AVG, 5, dec, wr_type_decimal(38, 6)), agg(WR_AGG_COUNT, 4, str, T(WR_T_BIGINT)), agg(WR_AGG_SUM, 3, T(WR_T_DOUBLE), T(WR_T_DOUBLE)),
        agg(WR_AGG_COLLECT, 4, str, set), agg(WR_AGG_APPROX_COUNT_DISTINCT, 1, T(WR_T_INT), T(WR_T_BIGINT)), agg(WR_AGG_MIN, 3, T(WR_T_DOUBLE), T(WR_T_DOUBLE)),
        agg(WR_AGG_LISTAGG, 4, str, str), agg(WR_AGG_LISTAGG, 4, str, str), agg(WR_AGG_ARRAY_AGG, 4, str, arr), agg(WR_AGG_FIRST_VALUE, 4, str, str),
        agg(WR_AGG_LAST_VALUE, 4, str, str), agg(WR_AGG_MAX, 5, dec, dec), agg(WR_AGG_SUM, 3, T(WR_T_DOUBLE), T(WR_T_DOUBLE)),
    };
    list[5].distinct = list[6].distinct = list[11].distinct = true;
    uint32_t n = retract ? 10 : WR_COUNT_OF(list);
    memcpy(aggs, list, n * sizeof *aggs);
    return n;
}
/* parts: bit i = aggregate i takes part, so that sets with and without subtraction are seen. */
static void differential(uint64_t seed, wr_window w, bool retract, uint32_t parts, bool restart) {
    if (tk_spills && seed % 10) return; /* slow */
    tk t, v;
    tk_init(&t, 2048), tk_init(&v, 2048);
    const wr_schema *in = tk_schema(&t, "k INT, v INT, ts TIMESTAMP(3)*, d DOUBLE, s STRING, c DECIMAL(30,2)");
    const wr_schema *mid = tk_schema(&t, "k INT, v INT, ts TIMESTAMP(3), d DOUBLE, s STRING, c DECIMAL(30,2), ws TIMESTAMP(3), we TIMESTAMP(3), wt TIMESTAMP(3)*");
    wr_agg all[20], aggs[20];
    uint32_t n_all = every_agg(all, retract), n = 0;
    for (uint32_t i = 0; i < n_all; i++)
        if (parts >> i & 1) aggs[n++] = all[i];
    wr_window_agg_opts opts = {.window = w, .n_keys = 1, .keys = (uint32_t[]){0}, .n_aggs = n, .aggs = aggs, .retract_input = retract, .out_start = true, .out_end = true};
    wr_op *op = wr_window_agg_new(&opts, in, &t.ctx), *tvf = wr_window_tvf_new(&w, in, &v.ctx), *plain;
    wr_window_agg_opts flat = opts;
    flat.input_is_windowed = true, flat.in_start = 6, flat.in_end = 7;
    plain = wr_window_agg_new(&flat, mid, &v.ctx);
    wr_rng rng;
    wr_rng_seed(&rng, seed);
    wr_sbuf text = {0}, between = {0};
    row     rows[64];
    int64_t clock = -10000, wm = INT64_MIN, op_wm = INT64_MIN;
    for (int round = 0; round < 25; round++) {
        wr_sbuf_clear(&text);
        uint32_t live = 0;
        for (int i = 1 + (int)wr_rng_below(&rng, 25); i; i--) {
            row r = {(int)wr_rng_below(&rng, 3), (int)wr_rng_below(&rng, 9) - 1, clock - 100 * (int64_t)wr_rng_below(&rng, 120), INT64_MIN, false};
            clock += 100 * (int64_t)wr_rng_below(&rng, 6);
            if (retract && live && wr_rng_below(&rng, 3) == 0) r = rows[--live], r.minus = true; /* takes back a row of this round: never lost to lateness in between */
            r.wm = wm != INT64_MIN && r.t <= wm ? wm : INT64_MIN;
            wr_sbuf line = {0};
            put_row(&line, &r);
            char *late = strchr(line.at, '!'), *end = late ? late : strchr(line.at, '\n');
            wr_sbuf_printf(&text, "%.*s", (int)(end - line.at), line.at);
            if (r.v < 0) wr_sbuf_addz(&text, " NULL NULL ");
            else wr_sbuf_printf(&text, r.v % 2 ? " s%d 123456789012345678.%02d " : " a-longer-string-%d -0.%02d ", r.v, r.v);
            wr_sbuf_addz(&text, late ? late : "\n");
            wr_sbuf_free(&line);
            if (!r.minus) rows[live++] = r;
        }
        tk_send(&t, op, 0, in, text.at);
        tk_send(&v, tvf, 0, in, text.at);
        /* the table function's rows go on to the plain operator */
        wr_sbuf_clear(&between);
        char *kept = wr_strdup(tk_text(&v)), *mark = strstr(kept, "----\n");
        wr_sbuf_addz(&between, mark ? mark + 5 : kept);
        if (mark) mark[0] = 0;
        else kept[0] = 0;
        wr_sbuf_clear(&v.text);
        wr_sbuf_addz(&v.text, kept);
        tk_send(&v, plain, 0, mid, between.at ? between.at : "");
        wr_free(kept);
        wm = WR_MAX(wm, clock - 3000);
        if (wr_rng_below(&rng, 2) && wm - 1000 > op_wm) {
            op_wm = wm - 1000;
            tk_watermark_us(&t, op, op_wm * 1000);
            tk_watermark_us(&v, plain, op_wm * 1000);
        }
        wr_sbuf_addz(&v.text, "----\n");
        if (restart && round % 6 == 5) {
            wr_sbuf image = {0};
            tk_save(op, &image);
            op->vt->close(op);
            op = wr_window_agg_new(&opts, in, &t.ctx);
            tk_load(&t, op, &image, 0, 128);
            wr_sbuf_free(&image);
        }
        char *rest = wr_strdup(tk_text(&v)), *at = rest; /* drop all marks but the last */
        wr_sbuf_clear(&v.text);
        for (char *next; (next = strstr(at, "----\n")); at = next + 5) wr_sbuf_add(&v.text, at, (size_t)(next - at));
        wr_sbuf_addz(&v.text, "----\n");
        wr_free(rest);
    }
    tk_end(&t, op), tk_end(&v, plain);
    char *want = wr_strdup(tk_sort_text(&v, tk_text(&v) + 0));
    char *clean = strstr(want, "----\n");
    if (clean) memmove(clean, clean + 5, strlen(clean + 5) + 1);
    const char *got = tk_sort_text(&t, tk_text(&t));
    if (strcmp(want, got) != 0) {
        const char *x = want, *y = got;
        while (*x && *x == *y) x++, y++;
        while (x > want && x[-1] != '\n') x--, y--;
        fail_msg("seed %llu kind %d retract %d parts %x restart %d: expected\n%.300s\ngot\n%.300s", (unsigned long long)seed, w.kind, retract, parts, restart, x, y);
    }
    wr_free(want);
    op->vt->close(op), tvf->vt->close(tvf), plain->vt->close(plain);
    wr_sbuf_free(&text), wr_sbuf_free(&between);
    tk_free(&t), tk_free(&v);
}
static void test_every_agg(void **state) {
    (void)state;
    const wr_window windows[] = {win(WR_WINDOW_HOP, 10, 2, 0, 2), win(WR_WINDOW_HOP, 9, 4, 1, 2), win(WR_WINDOW_CUMULATE, 12, 3, 0, 2), win(WR_WINDOW_HOP, 40, 1, 0, 2)};
    wr_rng rng;
    wr_rng_seed(&rng, 99);
    for (uint64_t seed = 1; seed <= 60; seed++)
        for (size_t k = 0; k < WR_COUNT_OF(windows); k++) {
            uint32_t parts = seed % 3 == 0 ? UINT32_MAX : seed % 3 == 1 ? 0x3D39u : (uint32_t)wr_rng_next(&rng);
            differential(seed, windows[k], seed % 4 == 3, parts | 1, seed % 5 == 0);
        }
}

/* ---- sessions against a list of intervals kept by hand ---- */

typedef struct ival { int64_t start, end; long long n, sum; } ival;
static void session_run(uint64_t seed, uint32_t feed_rows, uint32_t batch_rows, bool restart) {
    if (tk_spills && seed % 5) return;
    enum { GAP = 4000 };
    tk t;
    tk_init(&t, batch_rows);
    t.feed_rows = feed_rows;
    t.full_every = seed % 2;
    const wr_schema *in = tk_schema(&t, "k INT, v INT, ts TIMESTAMP(3)*, d DOUBLE");
    wr_agg aggs[] = {count_star(), int_agg(WR_AGG_SUM, 1)};
    wr_window_agg_opts opts = {.window = win(WR_WINDOW_SESSION, GAP / 1000.0, 0, 0, 2), .n_keys = 1, .keys = (uint32_t[]){0}, .n_aggs = 2, .aggs = aggs,
                               .out_start = true, .out_end = true};
    wr_op *op = wr_window_agg_new(&opts, in, &t.ctx);
    wr_rng rng;
    wr_rng_seed(&rng, seed);
    static ival list[KEYS][2000];
    uint32_t n[KEYS] = {0}, late = 0;
    int64_t  clock = -30000, wm = INT64_MIN, op_wm = INT64_MIN, max_t = INT64_MIN, delay = 2 * (int64_t)wr_rng_below(&rng, 4000);
    wr_sbuf  text = {0}, want = {0};
    for (int round = 0; round < 40; round++) {
        wr_sbuf_clear(&text);
        for (int i = 1 + (int)wr_rng_below(&rng, 20); i; i--) {
            int k = (int)wr_rng_below(&rng, KEYS), v = (int)wr_rng_below(&rng, 9);
            int64_t x = clock - 2 * (int64_t)wr_rng_below(&rng, 5000);
            clock += 2 * (int64_t)wr_rng_below(&rng, 700);
            row r = {k, v, x, wm != INT64_MIN && x <= wm ? wm : INT64_MIN, false};
            put_row(&text, &r);
            ival s = {x, x + GAP, 1, v};
            bool taken[2000] = {false};
            for (uint32_t j = 0; j < n[k]; j++) {
                ival *o = &list[k][j];
                if (o->end < x || o->start > x + GAP || (r.wm != INT64_MIN && r.wm >= o->end - 1)) continue;
                taken[j] = true;
                s.start = WR_MIN(s.start, o->start), s.end = WR_MAX(s.end, o->end), s.n += o->n, s.sum += o->sum;
            }
            if (r.wm != INT64_MIN && r.wm >= s.end - 1) {
                late++;
            } else {
                uint32_t m = 0;
                for (uint32_t j = 0; j < n[k]; j++)
                    if (!taken[j]) list[k][m++] = list[k][j];
                list[k][m++] = s;
                n[k] = m;
            }
            max_t = WR_MAX(max_t, x);
            wm = WR_MAX(wm, max_t - delay);
        }
        tk_send(&t, op, 0, in, text.at);
        int64_t heard = wm - 2 * (int64_t)wr_rng_below(&rng, 1000);
        if (wr_rng_below(&rng, 2) && heard > op_wm) op_wm = heard, tk_watermark_us(&t, op, op_wm * 1000);
        if (restart && round % 7 == 3) {
            wr_sbuf image = {0}, again[2] = {{0}, {0}};
            tk_save(op, &image);
            for (uint32_t p = 0; p < 2; p++) {
                wr_op *part = wr_window_agg_new(&opts, in, &t.ctx);
                tk_load(&t, part, &image, p * 64, 64 + p * 64);
                tk_save(part, &again[p]);
                part->vt->close(part);
            }
            op->vt->close(op);
            op = wr_window_agg_new(&opts, in, &t.ctx);
            for (int p = 0; p < 2; p++) tk_load(&t, op, &again[p], 0, 128), wr_sbuf_free(&again[p]);
            wr_sbuf_free(&image);
        }
    }
    tk_end(&t, op);
    check_order(tk_text(&t));
    for (int k = 0; k < KEYS; k++)
        for (uint32_t j = 0; j < n[k]; j++)
            wr_sbuf_printf(&want, "+I %d %lld %lld %g %g\n", k, list[k][j].n, list[k][j].sum, (double)list[k][j].start / 1000, (double)list[k][j].end / 1000);
    char *sorted = wr_strdup(tk_sort_text(&t, want.at));
    assert_string_equal(tk_sort_text(&t, tk_text(&t)), sorted);
    assert_int_equal(t.ledger.dropped[WR_REASON_LATE], late);
    wr_free(sorted);
    wr_op_usage use;
    op->vt->usage(op, &use);
    assert_int_equal(use.keys, 0);
    op->vt->close(op);
    wr_sbuf_free(&text), wr_sbuf_free(&want);
    tk_free(&t);
}
static void test_random_sessions(void **state) {
    (void)state;
    const uint32_t sizes[] = {1, 3, 2048};
    for (uint64_t seed = 1; seed <= 60; seed++) session_run(seed, sizes[seed % 3], sizes[seed / 3 % 3], seed & 1);
}

/* shared/cases/dst-autumn-day: a local day of 25 hours; and in spring one of 23 (Los Angeles, 2021). Bounds are local, window_time is an instant. */
static void test_dst(void **state) {
    (void)state;
    tk t;
    tk_init(&t, 2048);
    wr_err err;
    assert_int_equal(wr_tz_load(wr_world_posix(), WR_STR("America/Los_Angeles"), &t.ctx.tz, &err), WR_OK);
    const wr_schema *in = tk_schema(&t, "ts TIMESTAMP_LTZ(3)*");
    wr_agg aggs[] = {count_star()};
    wr_window w = win(WR_WINDOW_TUMBLE, 86400, 86400, 0, 0);
    w.ltz = true;
    wr_op *op = wr_window_agg_new(&(wr_window_agg_opts){.window = w, .n_aggs = 1, .aggs = aggs, .out_start = true, .out_end = true, .out_time = true}, in, &t.ctx);
    tk_send(&t, op, 0, in, "1636268400; 1636273800; 1636277400; 1636358340; 1636358400");
    tk_watermark(&t, op, 1636358399.998);
    tk_expect(&t, "");
    tk_watermark(&t, op, 1636358399.999); /* local midnight is 08:00 UTC after the change */
    tk_expect(&t, "+I 4 1636243200 1636329600 1636358399.999\n");
    tk_send(&t, op, 0, in, "1615708799 !1636358400; 1636400000");
    assert_int_equal(t.ledger.dropped[WR_REASON_LATE], 1);
    tk_end(&t, op);
    tk_expect(&t, "+I 2 1636329600 1636416000 1636444799.999\n");
    op->vt->close(op);
    /* 2021-03-14 has 23 hours: 08:00 UTC to 07:00 UTC the next day */
    op = wr_window_agg_new(&(wr_window_agg_opts){.window = w, .n_aggs = 1, .aggs = aggs, .out_start = true, .out_end = true, .out_time = true}, in, &t.ctx);
    tk_send(&t, op, 0, in, "1615708799; 1615708800; 1615791599; 1615791600");
    tk_end(&t, op);
    tk_expect(&t, "+I 1 1615593600 1615680000 1615708799.999\n+I 2 1615680000 1615766400 1615791599.999\n+I 1 1615766400 1615852800 1615877999.999\n");
    op->vt->close(op);
    /* hours of the autumn night: 01:00-02:00 comes twice and is one window of two hours; it closes after the second */
    w.size_us = w.slide_us = tk_us(3600);
    op = wr_window_agg_new(&(wr_window_agg_opts){.window = w, .n_aggs = 1, .aggs = aggs, .out_start = true, .out_end = true}, in, &t.ctx);
    tk_send(&t, op, 0, in, "1636273800; 1636277400"); /* 01:30 PDT, 01:30 PST */
    tk_watermark(&t, op, 1636279199.998);
    tk_expect(&t, "");
    tk_watermark(&t, op, 1636279199.999);
    tk_expect(&t, "+I 2 1636246800 1636250400\n");
    op->vt->close(op);
    tk_free(&t);
}
int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_flink_tumble), cmocka_unit_test(test_flink_hop), cmocka_unit_test(test_flink_cumulate), cmocka_unit_test(test_edges),
        cmocka_unit_test(test_windowed_input), cmocka_unit_test(test_random), cmocka_unit_test(test_flink_session), cmocka_unit_test(test_cases),
        cmocka_unit_test(test_random_sessions), cmocka_unit_test(test_every_agg), cmocka_unit_test(test_dst),
    };
    return tk_run_tests(tests);
}
