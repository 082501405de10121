/* op/interval_join_test.c: hand arithmetic, Flink's recorded answers (shared/flink/sem/05_joins.out), and random streams against a nested loop. */
#include "op/join_testing.h"

typedef struct fixture {
    tk               t;
    const wr_schema *left, *right;
    wr_interval_join_opts opts;
    wr_op           *op;
} fixture;
static const uint32_t KEY[] = {1};
static bool           safe_key[1];

static wr_op *make(void *self) {
    fixture *f = self;
    return wr_interval_join_new(&f->opts, f->left, f->right, &f->t.ctx);
}
static void open_join(fixture *f, wr_join_kind kind, double lower, double upper, uint32_t batch_rows) {
    tk_init(&f->t, batch_rows);
    f->left = tk_schema(&f->t, "id INT, k STRING, ts TIMESTAMP(3)*, v INT");
    f->right = tk_schema(&f->t, "rid INT, k STRING, ts TIMESTAMP(3)*, v INT");
    f->opts = (wr_interval_join_opts){.kind = kind, .keys = {1, KEY, KEY, safe_key}, .left_time = 2, .right_time = 2,
                                      .lower_us = tk_us(lower), .upper_us = tk_us(upper)};
    f->op = make(f);
}
static void close_join(fixture *f) {
    f->op->vt->close(f->op);
    tk_free(&f->t);
}
static const char *const l_rows = "1 a 1 0; 2 NULL 2 0; 3 c 3 0; 4 a 30 0", *const r_rows = "10 a 2 0; 11 a 4 0; 12 NULL 5 0; 13 d 31 0";

/* Why rows had no partner: a's is 2 s beyond the bound and held, c's comes only when c has gone, b has none; f's is before the interval. */
static void says_why(void **state) {
    (void)state;
    static wr_detail d;
    fixture          f;
    memset(&d, 0, sizeof d);
    open_join(&f, WR_JOIN_INNER, 0, 10, 2048);
    f.t.ctx.detail = &d;
    tk_send(&f.t, f.op, 0, f.left, "1 a 0 0; 2 b 0 0; 3 c 0 0; 4 f 5 0; 5 NULL 6 0");
    tk_send(&f.t, f.op, 1, f.right, "10 a 12 0; 12 f 4 0");
    tk_watermark(&f.t, f.op, 20);
    tk_send(&f.t, f.op, 1, f.right, "11 c 21 0");
    tk_end(&f.t, f.op);
    tk_expect(&f.t, "");
    assert_int_equal(d.misses[0][WR_MISS_OUTSIDE], 3);
    assert_int_equal(d.misses[0][WR_MISS_NO_PARTNER], 1);
    assert_int_equal(d.misses[1][WR_MISS_OUTSIDE], 3);
    assert_int_equal(d.outside[0][0].n, 2);
    assert_int_equal(d.outside[0][0].least_us, tk_us(2));
    assert_int_equal(d.outside[0][0].most_us, tk_us(11));
    assert_int_equal(d.outside[0][1].n, 1);
    assert_int_equal(d.outside[0][1].least_us, tk_us(1));
    assert_int_equal(d.outside[1][1].least_us, tk_us(1));
    assert_int_equal(dropped(&f.t, WR_REASON_UNMATCHED_LEFT), 4);
    assert_int_equal(dropped(&f.t, WR_REASON_NULL_KEY), 1);
    assert_int_equal(f.t.ledger.lost[0], 5);
    assert_int_equal(f.t.ledger.kept[0] + f.t.ledger.kept[1], 0);
    close_join(&f);
}

static void flink_inner(void **state) {
    (void)state;
    fixture f;
    open_join(&f, WR_JOIN_INNER, -2, 2, 2048);
    tk_send(&f.t, f.op, 0, f.left, l_rows);
    tk_send(&f.t, f.op, 1, f.right, r_rows);
    tk_end(&f.t, f.op);
    tk_expect_sorted(&f.t, "+I 1 a 1 0 10 a 2 0\n");
    assert_int_equal(dropped(&f.t, WR_REASON_NULL_KEY), 2);
    assert_int_equal(dropped(&f.t, WR_REASON_UNMATCHED_LEFT), 2);
    assert_int_equal(dropped(&f.t, WR_REASON_UNMATCHED_RIGHT), 2);
    assert_int_equal(f.t.ledger.matched[0], 1);
    assert_accounted(&f.t);
    close_join(&f);
}
static void flink_left(void **state) {
    (void)state;
    fixture f;
    open_join(&f, WR_JOIN_LEFT, -2, 2, 2048);
    tk_send(&f.t, f.op, 1, f.right, r_rows);
    tk_send(&f.t, f.op, 0, f.left, l_rows);
    tk_end(&f.t, f.op);
    tk_expect_sorted(&f.t, "+I 1 a 1 0 10 a 2 0\n+I 2 NULL 2 0 NULL NULL NULL NULL\n+I 3 c 3 0 NULL NULL NULL NULL\n+I 4 a 30 0 NULL NULL NULL NULL\n");
    assert_int_equal(dropped(&f.t, WR_REASON_NULL_KEY), 1); /* the right one */
    assert_accounted(&f.t);
    close_join(&f);
}

/* shared/cases/interval-join-inclusive-bounds: both ends belong to the interval; padding waits for the watermark and comes once. */
static void bounds_and_padding(void **state) {
    (void)state;
    fixture f;
    open_join(&f, WR_JOIN_LEFT, 0, 300, 2048);
    tk_send(&f.t, f.op, 0, f.left, "1 a 0 0; 2 b 0 0");
    tk_watermark(&f.t, f.op, -1);
    tk_send(&f.t, f.op, 1, f.right, "1 a 300 0; 2 b 300.001 0; 3 c 1200 0");
    tk_expect(&f.t, "+I 1 a 0 0 1 a 300 0\n");
    tk_watermark(&f.t, f.op, 300);
    tk_expect(&f.t, "");
    tk_watermark(&f.t, f.op, 300.001);
    tk_expect(&f.t, "+I 2 b 0 0 NULL NULL NULL NULL\n");
    wr_op_usage u;
    f.op->vt->usage(f.op, &u);
    assert_int_equal(u.rows, 2); /* right rows 300.001 and 1200 */
    assert_int_equal(u.oldest_us, tk_us(300.001));
    assert_true(u.state_bytes > 0);
    tk_end(&f.t, f.op);
    tk_expect(&f.t, "");
    assert_int_equal(f.t.ledger.matched[0], 1);
    assert_int_equal(f.t.ledger.matched[1], 1);
    assert_int_equal(dropped(&f.t, WR_REASON_UNMATCHED_LEFT), 1);
    assert_int_equal(dropped(&f.t, WR_REASON_UNMATCHED_RIGHT), 2);
    f.op->vt->usage(f.op, &u);
    assert_int_equal(u.rows, 0);
    assert_int_equal(u.keys, 0);
    close_join(&f);
}

static void empty_interval(void **state) {
    (void)state;
    fixture f;
    open_join(&f, WR_JOIN_FULL, 1, 0, 2048);
    tk_send(&f.t, f.op, 0, f.left, "1 a 1 0");
    tk_send(&f.t, f.op, 1, f.right, "2 a 1 0");
    tk_expect(&f.t, "+I 1 a 1 0 NULL NULL NULL NULL\n+I NULL NULL NULL NULL 2 a 1 0\n");
    tk_end(&f.t, f.op);
    tk_expect(&f.t, "");
    assert_accounted(&f.t);
    close_join(&f);
}

static void semi_and_anti(void **state) {
    (void)state;
    fixture f;
    open_join(&f, WR_JOIN_SEMI, -1, 1, 2048);
    tk_send(&f.t, f.op, 0, f.left, "1 a 1 0; 2 b 1 0");
    tk_send(&f.t, f.op, 1, f.right, "8 a 1 0; 9 a 2 0");
    tk_expect(&f.t, "+I 1 a 1 0\n");
    tk_send(&f.t, f.op, 0, f.left, "3 a 2 0");
    tk_expect(&f.t, "+I 3 a 2 0\n");
    tk_end(&f.t, f.op);
    tk_expect(&f.t, "");
    close_join(&f);
    open_join(&f, WR_JOIN_ANTI, -1, 1, 2048);
    tk_send(&f.t, f.op, 0, f.left, "1 a 1 0; 2 b 1 0; 3 NULL 1 0");
    tk_send(&f.t, f.op, 1, f.right, "8 a 1 0");
    tk_expect(&f.t, "+I 3 NULL 1 0\n");
    tk_watermark(&f.t, f.op, 2);
    tk_expect(&f.t, "");
    tk_watermark(&f.t, f.op, 2.001);
    tk_expect(&f.t, "+I 2 b 1 0\n");
    close_join(&f);
}

static void null_safe_key(void **state) {
    (void)state;
    fixture f;
    safe_key[0] = true;
    open_join(&f, WR_JOIN_INNER, -10, 10, 2048);
    safe_key[0] = false;
    tk_send(&f.t, f.op, 0, f.left, l_rows);
    tk_send(&f.t, f.op, 1, f.right, r_rows);
    tk_expect_sorted(&f.t, "+I 1 a 1 0 10 a 2 0\n+I 1 a 1 0 11 a 4 0\n+I 2 NULL 2 0 12 NULL 5 0\n");
    close_join(&f);
}

/* No key at all, nanoseconds on one side, a residual. */
static void no_key_nanoseconds(void **state) {
    (void)state;
    fixture f;
    open_join(&f, WR_JOIN_FULL, 0, 1, 2048);
    f.op->vt->close(f.op);
    f.right = tk_schema(&f.t, "rid INT, k STRING, ts TIMESTAMP(9), v INT");
    f.opts.keys = (wr_join_keys){0};
    f.opts.residual = less_than(&f.t, f.left, f.right, 3, 7);
    f.op = make(&f);
    tk_send(&f.t, f.op, 0, f.left, "1 a 1 5; 2 b -2.5 1");
    tk_send(&f.t, f.op, 1, f.right, "3 x 2.000000999 6; 4 y -1.5 7; 5 z 1.5 5");
    tk_expect(&f.t, "+I 1 a 1 5 3 x 2.000000999 6\n+I 2 b -2.5 1 4 y -1.5 7\n");
    tk_end(&f.t, f.op);
    tk_expect(&f.t, "+I NULL NULL NULL NULL 5 z 1.5 5\n");
    assert_accounted(&f.t);
    close_join(&f);
}

/* A pause after every batch must neither lose nor repeat a padded row. */
static void pauses(void **state) {
    (void)state;
    fixture f;
    open_join(&f, WR_JOIN_LEFT, 0, 1, 2);
    f.t.full_every = 1;
    tk_send(&f.t, f.op, 0, f.left, "1 a 1 0; 2 a 2 0; 3 a 3 0; 4 b 1 0; 5 c 1 0");
    tk_end(&f.t, f.op);
    assert_int_equal(f.t.ledger.out, 5);
    assert_int_equal(f.t.n_batches, 3);
    close_join(&f);
}

/* ---- random streams ---- */

typedef struct row { int id, k, v; int64_t t, w; bool matched; } row; /* times in seconds; k 0 = NULL; w INT64_MIN: not late */
typedef struct step { bool is_wm; int64_t wm; row *r; } step;
enum { N_STEPS = 60 };
typedef struct stream { row rows[N_STEPS]; step steps[N_STEPS]; } stream;
typedef struct trial {
    fixture f;
    stream  s[2];
    int64_t lower, upper, delay_us, out_wm_us;
    bool    residual;
    wr_status (*emit)(wr_out *, wr_batch *, wr_err *);
} trial;

static void random_stream(stream *s, wr_rng *rng, int first_id) {
    int64_t wm = 0;
    for (int i = 0; i < N_STEPS; i++) {
        row *r = &s->rows[i];
        if (wr_rng_below(rng, 4) == 0) {
            wm += (int64_t)wr_rng_below(rng, 8);
            s->steps[i] = (step){.is_wm = true, .wm = wm};
            continue;
        }
        *r = (row){.id = first_id + i, .k = (int)wr_rng_below(rng, 4), .v = (int)wr_rng_below(rng, 4)};
        r->t = wm - 6 + (int64_t)wr_rng_below(rng, 20);
        r->w = r->t <= wm ? wm : INT64_MIN;
        s->steps[i] = (step){.r = r};
    }
}
static void row_text(const row *r, wr_sbuf *out) {
    char k[4] = {(char)('a' + r->k), 0};
    wr_sbuf_printf(out, "%d %s %lld %d", r->id, r->k ? k : "NULL", (long long)r->t, r->v);
}
static void mark_text(const trial *x, int64_t w, int64_t t, wr_sbuf *out) {
    if (w != INT64_MIN && t * 1000000 <= w * 1000000 - x->delay_us) wr_sbuf_printf(out, " !%g", (double)(w * 1000000 - x->delay_us) / 1e6);
    wr_sbuf_addc(out, '\n');
}
static bool pair_matches(const trial *x, const row *l, const row *r) {
    if (!l->k || l->k != r->k || (x->residual && l->v >= r->v)) return false;
    if (r->t < l->t + x->lower || r->t > l->t + x->upper) return false;
    if (l->w != INT64_MIN && r->t - x->lower < l->w) return false;
    return r->w == INT64_MIN || l->t + x->upper >= r->w;
}
/* The nested loop: what must come out, with the marks of late rows. */
static void expect_all(trial *x, wr_join_kind kind, wr_sbuf *out) {
    for (int i = 0; i < N_STEPS; i++) {
        row *l = x->s[0].steps[i].r;
        if (!l) continue;
        for (int j = 0; j < N_STEPS; j++) {
            row *r = x->s[1].steps[j].r;
            if (!r || !pair_matches(x, l, r)) continue;
            l->matched = r->matched = true;
            if (kind >= WR_JOIN_SEMI) continue;
            wr_sbuf_addz(out, "+I ");
            row_text(l, out), wr_sbuf_addc(out, ' '), row_text(r, out);
            mark_text(x, WR_MAX(l->w, r->w), WR_MIN(l->t, r->t), out);
        }
    }
    for (int s = 0; s < 2; s++) {
        for (int i = 0; i < N_STEPS; i++) {
            row *r = x->s[s].steps[i].r;
            bool padded = kind == WR_JOIN_FULL || kind == (s ? WR_JOIN_RIGHT : WR_JOIN_LEFT);
            if (!r || !(s == 0 && kind == WR_JOIN_SEMI ? r->matched : !r->matched && (padded || (s == 0 && kind == WR_JOIN_ANTI)))) continue;
            wr_sbuf_addz(out, "+I ");
            if (s) wr_sbuf_addz(out, "NULL NULL NULL NULL ");
            row_text(r, out);
            if (!s && kind < WR_JOIN_SEMI) wr_sbuf_addz(out, " NULL NULL NULL NULL");
            mark_text(x, r->w, r->t, out);
        }
    }
}

/* No row that is not marked late may be older than what downstream was told. */
static wr_status checking_emit(wr_out *out, wr_batch *batch, wr_err *err) {
    trial *x = (trial *)((char *)out - offsetof(trial, f.t.out));
    for (uint32_t i = 0; i < wr_batch_live(batch); i++) {
        uint32_t at = wr_batch_row(batch, i);
        for (uint32_t c = 2; c < batch->n_cols; c += 4) {
            if (wr_vec_is_null(&batch->cols[c], at) || (batch->row_wm_us && batch->row_wm_us[at] != WR_TIME_MIN)) continue;
            if (((int64_t *)batch->cols[c].data)[at] <= x->out_wm_us) {
                wr_sbuf text = {0};
                tk_batch_text(batch, &text);
                fail_msg("row behind %lld (%s, %lld..%lld, row %u): %s", (long long)x->out_wm_us, wr_join_kind_name(x->f.opts.kind), (long long)x->lower,
                         (long long)x->upper, at, text.at);
            }
        }
    }
    return x->emit(out, batch, err);
}

static void run_trial(trial *x, wr_rng *rng, wr_join_kind kind, uint32_t batch_rows, bool split, wr_sbuf *text) {
    fixture *f = &x->f;
    open_join(f, kind, (double)x->lower, (double)x->upper, batch_rows);
    f->op->vt->close(f->op);
    f->opts.residual = less_than(&f->t, f->left, f->right, x->residual ? 3 : -1, 7);
    x->emit = f->t.out.emit;
    f->t.out.emit = checking_emit;
    f->t.full_every = (uint32_t)wr_rng_below(rng, 3);
    f->t.feed_rows = batch_rows;
    parts    p;
    int      at[2] = {0, 0};
    int64_t  wm[2] = {0, 0}, told = INT64_MIN;
    wr_sbuf  rows[2] = {{0}, {0}};
    parts_init(&p, &f->t, make(f));
    x->out_wm_us = WR_TIME_MIN;
    while (at[0] < N_STEPS || at[1] < N_STEPS) {
        uint32_t s = at[0] == N_STEPS ? 1 : at[1] == N_STEPS ? 0 : (uint32_t)wr_rng_below(rng, 2);
        if (split && p.n == 1 && at[0] + at[1] > N_STEPS) parts_split(&p, make, f);
        for (uint64_t n = 1 + wr_rng_below(rng, 8); n > 0 && at[s] < N_STEPS; n--) {
            step *e = &x->s[s].steps[at[s]++];
            if (!e->is_wm) {
                row_text(e->r, &rows[s]);
                if (e->r->w != INT64_MIN) wr_sbuf_printf(&rows[s], " !%lld", (long long)e->r->w);
                wr_sbuf_addc(&rows[s], '\n');
                continue;
            }
            if (rows[s].len) parts_send(&p, s, s ? f->right : f->left, KEY, 1, rows[s].at);
            wr_sbuf_clear(&rows[s]);
            wm[s] = e->wm;
            int64_t both = WR_MIN(wm[0], wm[1]);
            if (both <= told) continue;
            told = both;
            parts_watermark(&p, both * 1000000);
            x->out_wm_us = p.op[0]->vt->output_watermark(p.op[0], both * 1000000);
        }
        if (rows[s].len) parts_send(&p, s, s ? f->right : f->left, KEY, 1, rows[s].at);
        wr_sbuf_clear(&rows[s]);
    }
    parts_watermark(&p, WR_TIME_MAX);
    wr_sbuf_addz(text, tk_sort_text(&f->t, tk_text(&f->t)));
    assert_accounted(&f->t);
    wr_op_usage u;
    p.op[0]->vt->usage(p.op[0], &u);
    assert_int_equal(u.rows + u.keys, 0);
    parts_close(&p);
    for (int s = 0; s < 2; s++) wr_sbuf_free(&rows[s]);
}

static void random_streams(void **state) {
    (void)state;
    static trial x;
    wr_rng rng;
    wr_rng_seed(&rng, 20261130);
    static const int bounds[][2] = {{-2, 2}, {0, 5}, {-10, -3}, {4, 9}, {-7, 0}, {0, 0}};
    for (int round = 0; round < 200; round++) {
        wr_join_kind kind = (wr_join_kind)(round % 6);
        x.lower = bounds[round / 6 % 6][0], x.upper = bounds[round / 6 % 6][1];
        x.residual = wr_rng_below(&rng, 3) == 0;
        x.delay_us = WR_MAX(WR_MAX(x.upper, -x.lower), 0) * 1000000 + (kind != WR_JOIN_INNER);
        random_stream(&x.s[0], &rng, 0);
        random_stream(&x.s[1], &rng, 1000);
        wr_sbuf want = {0}, sorted = {0};
        expect_all(&x, kind, &want);
        static const uint32_t sizes[] = {1, 3, 2048, 2};
        for (int v = 0; v < 4; v++) {
            wr_sbuf got = {0};
            run_trial(&x, &rng, kind, sizes[v], v == 3, &got);
            wr_sbuf_clear(&sorted);
            wr_sbuf_addz(&sorted, tk_sort_text(&x.f.t, want.at ? want.at : ""));
            if (strcmp(sorted.at, got.at ? got.at : "") != 0) print_message("round %d kind %s size %u\n", round, wr_join_kind_name(kind), sizes[v]);
            assert_string_equal(sorted.at, got.at ? got.at : "");
            tk_free(&x.f.t);
            wr_sbuf_free(&got);
        }
        wr_sbuf_free(&want);
        wr_sbuf_free(&sorted);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(says_why), cmocka_unit_test(flink_inner),   cmocka_unit_test(flink_left),    cmocka_unit_test(bounds_and_padding),
                                       cmocka_unit_test(empty_interval), cmocka_unit_test(semi_and_anti), cmocka_unit_test(null_safe_key),
                                       cmocka_unit_test(pauses),        cmocka_unit_test(no_key_nanoseconds), cmocka_unit_test(random_streams)};
    return tk_run_tests(tests);
}
