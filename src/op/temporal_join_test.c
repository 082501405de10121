/* op/temporal_join_test.c: Flink's recorded answer (shared/flink/sem/08_more.out), hand arithmetic, and random versions against a plain search. */
#include "op/join_testing.h"

typedef struct fixture {
    tk               t;
    const wr_schema *left, *right;
    wr_temporal_join_opts opts;
    wr_op           *op;
} fixture;
static const uint32_t KEY[] = {1};

static wr_op *make(void *self) {
    fixture *f = self;
    return wr_temporal_join_new(&f->opts, f->left, f->right, &f->t.ctx);
}
static void open_join(fixture *f, wr_join_kind kind, uint32_t batch_rows) {
    memset(f, 0, sizeof *f);
    tk_init(&f->t, batch_rows);
    f->left = tk_schema(&f->t, "id INT, cur STRING, ts TIMESTAMP(3)*");
    f->right = tk_schema(&f->t, "rate INT, cur STRING, ts TIMESTAMP(3)*");
    f->opts = (wr_temporal_join_opts){.kind = kind, .keys = {1, KEY, KEY, NULL}, .left_time = 2, .right_time = 2};
    f->op = make(f);
}
static void close_join(fixture *f) {
    f->op->vt->close(f->op);
    tk_free(&f->t);
}

static void flink_left(void **state) {
    (void)state;
    fixture f;
    open_join(&f, WR_JOIN_LEFT, 2048);
    tk_send(&f.t, f.op, 0, f.left, "4 EUR 25; 1 EUR 5; 2 EUR 15; 3 USD 16");
    tk_send(&f.t, f.op, 1, f.right, "2 EUR 1; 3 EUR 10; 4 EUR 20");
    tk_expect(&f.t, "");
    tk_watermark(&f.t, f.op, 16);
    tk_expect(&f.t, "+I 1 EUR 5 2 EUR 1\n+I 2 EUR 15 3 EUR 10\n+I 3 USD 16 NULL NULL NULL\n");
    tk_end(&f.t, f.op);
    tk_expect(&f.t, "+I 4 EUR 25 4 EUR 20\n");
    assert_int_equal(f.t.ledger.matched[0], 3);
    assert_int_equal(f.t.ledger.matched[1], 3);
    assert_accounted(&f.t);
    close_join(&f);
}

/* The version of exactly the row's time counts; before the first one inner drops; a row waits for the watermark. */
static void edges(void **state) {
    (void)state;
    fixture f;
    open_join(&f, WR_JOIN_INNER, 2048);
    tk_send(&f.t, f.op, 0, f.left, "1 a 9; 2 a 10; 3 a 11; 4 NULL 11");
    tk_watermark(&f.t, f.op, 8.999);
    tk_send(&f.t, f.op, 1, f.right, "1 a 10; 5 NULL 9");
    tk_watermark(&f.t, f.op, 10.999);
    tk_expect(&f.t, "+I 2 a 10 1 a 10\n");
    tk_end(&f.t, f.op);
    tk_expect(&f.t, "+I 3 a 11 1 a 10\n");
    assert_int_equal(dropped(&f.t, WR_REASON_UNMATCHED_LEFT), 1);
    assert_int_equal(dropped(&f.t, WR_REASON_NULL_KEY), 2);
    assert_accounted(&f.t);
    close_join(&f);
}

/* Top-1 view: -U with the old row's time. CDC: -U with the time of the change. Together or in two batches. */
static void update_forms(void **state) {
    (void)state;
    for (uint32_t feed = 1; feed <= 2; feed++) {
        fixture f;
        open_join(&f, WR_JOIN_LEFT, 2048);
        f.t.feed_rows = feed;
        tk_send(&f.t, f.op, 1, f.right, "1 a 1");
        tk_send(&f.t, f.op, 1, f.right, "-U 1 a 1; +U 2 a 10; -U 2 a 20; +U 3 a 20");
        tk_send(&f.t, f.op, 1, f.right, "-D 3 a 30");
        tk_send(&f.t, f.op, 0, f.left, "1 a 5; 2 a 15; 3 a 25; 4 a 30; 5 a 35");
        tk_end(&f.t, f.op);
        tk_expect(&f.t, "+I 1 a 5 1 a 1\n+I 2 a 15 2 a 10\n+I 3 a 25 3 a 20\n+I 4 a 30 NULL NULL NULL\n+I 5 a 35 NULL NULL NULL\n");
        assert_accounted(&f.t);
        close_join(&f);
    }
}

static void compaction(void **state) {
    (void)state;
    fixture f;
    open_join(&f, WR_JOIN_LEFT, 2048);
    tk_send(&f.t, f.op, 1, f.right, "1 a 1; 2 a 2; 3 a 3; 4 a 4; 9 b 1; -D 9 b 2; 7 c 1");
    wr_op_usage u;
    f.op->vt->usage(f.op, &u);
    assert_int_equal(u.rows, 7);
    tk_watermark(&f.t, f.op, 3);
    f.op->vt->usage(f.op, &u);
    assert_int_equal(u.rows, 3); /* a: 3 and 4; b: nothing; c: 1 */
    assert_int_equal(u.keys, 2);
    tk_send(&f.t, f.op, 0, f.left, "1 a 3.5; 2 c 3.5; 3 b 3.5");
    tk_watermark(&f.t, f.op, 4);
    tk_expect(&f.t, "+I 1 a 3.5 3 a 3\n+I 2 c 3.5 7 c 1\n+I 3 b 3.5 NULL NULL NULL\n");
    /* a late row finds the version that is still current at its watermark, and none that was replaced before */
    tk_send(&f.t, f.op, 0, f.left, "4 a 4 !4; 5 a 3.5 !4; 6 c 2 !4");
    tk_watermark(&f.t, f.op, 5);
    tk_expect(&f.t, "+I 4 a 4 4 a 4 !4\n+I 5 a 3.5 NULL NULL NULL !4\n+I 6 c 2 7 c 1 !4\n");
    close_join(&f);
}

static void pauses(void **state) {
    (void)state;
    fixture f;
    open_join(&f, WR_JOIN_LEFT, 2);
    f.t.full_every = 1;
    tk_send(&f.t, f.op, 0, f.left, "1 a 1; 2 a 2; 3 b 3; 4 a 4; 5 c 5");
    tk_send(&f.t, f.op, 1, f.right, "1 a 2");
    tk_end(&f.t, f.op);
    tk_expect(&f.t, "+I 1 a 1 NULL NULL NULL\n+I 2 a 2 1 a 2\n+I 3 b 3 NULL NULL NULL\n+I 4 a 4 1 a 2\n+I 5 c 5 NULL NULL NULL\n");
    close_join(&f);
}

/* ---- random: left rows and versions, on time and late ---- */

typedef struct row { int id, k, kind; int64_t t, w; } row; /* seconds; kind of a right row: 0 adds, 3 deletes; w INT64_MIN: not late */
enum { N_ROWS = 60 };
typedef struct step { bool is_wm; int64_t wm; row r; } step;

/* Versions: either some are late or some are deletions, see temporal_join.c on late versions of a deleted key. */
static void random_steps(step *steps, wr_rng *rng, bool deletes, bool late) {
    int64_t wm = 0;
    for (int i = 0; i < N_ROWS; i++) {
        if (wr_rng_below(rng, 4) == 0) {
            wm += (int64_t)wr_rng_below(rng, 6);
            steps[i] = (step){.is_wm = true, .wm = wm};
            continue;
        }
        row r = {.id = i, .k = (int)wr_rng_below(rng, 4), .kind = deletes && wr_rng_below(rng, 5) == 0 ? 3 : 0};
        r.t = late ? wm - 4 + (int64_t)wr_rng_below(rng, 12) : wm + 1 + (int64_t)wr_rng_below(rng, 8);
        r.w = r.t <= wm ? wm : INT64_MIN;
        steps[i] = (step){.r = r};
    }
}
static void row_text(const row *r, bool with_kind, wr_sbuf *out) {
    char k[4] = {(char)('a' + r->k), 0};
    wr_sbuf_printf(out, "%s%d %s %lld", with_kind && r->kind ? "-D " : "", r->id, r->k ? k : "NULL", (long long)r->t);
}
/* The rule of temporal_join.c, by searching all versions. */
static const row *version_of(const row *l, const step *right) {
    int64_t    s = WR_MAX(l->t, l->w);
    const row *best = NULL;
    for (int i = 0; i < N_ROWS; i++) {
        const row *r = &right[i].r;
        if (right[i].is_wm || !r->k || r->k != l->k || r->t > s || (r->w != INT64_MIN && r->w >= s)) continue;
        if (!best || r->t >= best->t) best = r;
    }
    return best && best->t <= l->t && best->kind == 0 ? best : NULL;
}

static void random_versions(void **state) {
    (void)state;
    wr_rng rng;
    wr_rng_seed(&rng, 99);
    for (int round = 0; round < 200; round++) {
        step steps[2][N_ROWS];
        random_steps(steps[0], &rng, false, true);
        random_steps(steps[1], &rng, round & 4, !(round & 4));
        wr_join_kind kind = round % 2 ? WR_JOIN_LEFT : WR_JOIN_INNER;
        bool         less = round % 3 == 0;
        wr_sbuf      want = {0};
        wr_sbuf_addz(&want, "");
        for (int i = 0; i < N_ROWS; i++) {
            const row *l = &steps[0][i].r, *v = steps[0][i].is_wm ? NULL : version_of(l, steps[1]);
            if (v && less && l->id >= v->id) v = NULL;
            if (steps[0][i].is_wm || (!v && kind == WR_JOIN_INNER)) continue;
            wr_sbuf_addz(&want, "+I "), row_text(l, false, &want);
            if (v) wr_sbuf_addc(&want, ' '), row_text(v, false, &want);
            else wr_sbuf_addz(&want, " NULL NULL NULL");
            if (l->w != INT64_MIN) wr_sbuf_printf(&want, " !%lld", (long long)l->w);
            wr_sbuf_addc(&want, '\n');
        }
        for (int v = 0; v < 4; v++) {
            static const uint32_t sizes[] = {1, 3, 2048, 2};
            fixture f;
            open_join(&f, kind, sizes[v]);
            f.op->vt->close(f.op);
            f.opts.residual = less_than(&f.t, f.left, f.right, less ? 0 : -1, 3);
            f.t.full_every = (uint32_t)wr_rng_below(&rng, 3);
            f.t.feed_rows = sizes[v];
            parts p;
            parts_init(&p, &f.t, make(&f));
            int     at[2] = {0, 0};
            int64_t wm[2] = {0, 0}, told = INT64_MIN;
            while (at[0] < N_ROWS || at[1] < N_ROWS) {
                uint32_t s = at[0] == N_ROWS ? 1 : at[1] == N_ROWS ? 0 : (uint32_t)wr_rng_below(&rng, 2);
                if (v == 3 && p.n == 1 && at[0] + at[1] > N_ROWS) parts_split(&p, make, &f);
                wr_sbuf rows = {0};
                for (uint64_t n = 1 + wr_rng_below(&rng, 6); n > 0 && at[s] < N_ROWS && !steps[s][at[s]].is_wm; n--) {
                    const row *r = &steps[s][at[s]++].r;
                    row_text(r, true, &rows);
                    if (r->w != INT64_MIN) wr_sbuf_printf(&rows, " !%lld", (long long)r->w);
                    wr_sbuf_addc(&rows, '\n');
                }
                if (rows.len) parts_send(&p, s, s ? f.right : f.left, KEY, 1, rows.at);
                wr_sbuf_free(&rows);
                if (at[s] == N_ROWS || !steps[s][at[s]].is_wm) continue;
                wm[s] = steps[s][at[s]++].wm;
                int64_t both = WR_MIN(wm[0], wm[1]);
                if (both > told) parts_watermark(&p, (told = both) * 1000000);
            }
            parts_watermark(&p, WR_TIME_MAX);
            char *sorted = wr_strdup(tk_sort_text(&f.t, want.at));
            if (strcmp(sorted, tk_sort_text(&f.t, tk_text(&f.t))) != 0) print_message("round %d size %u\n", round, sizes[v]);
            assert_string_equal(sorted, tk_sort_text(&f.t, tk_text(&f.t)));
            wr_free(sorted);
            assert_accounted(&f.t);
            parts_close(&p);
            tk_free(&f.t);
        }
        wr_sbuf_free(&want);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(flink_left), cmocka_unit_test(edges),  cmocka_unit_test(update_forms),
                                       cmocka_unit_test(compaction), cmocka_unit_test(pauses), cmocka_unit_test(random_versions)};
    return tk_run_tests(tests);
}
