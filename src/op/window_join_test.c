/* op/window_join_test.c: Flink's recorded answer (shared/flink/sem/05_joins.out), Nexmark q5's shape, and random rows against a nested loop. */
#include "op/join_testing.h"

typedef struct fixture {
    tk               t;
    const wr_schema *left, *right;
    wr_window_join_opts opts;
    wr_op           *op;
} fixture;
static const uint32_t KEY[] = {1};

static wr_op *make(void *self) {
    fixture *f = self;
    return wr_window_join_new(&f->opts, f->left, f->right, &f->t.ctx);
}
static void open_join(fixture *f, wr_join_kind kind, uint32_t n_keys, uint32_t batch_rows) {
    memset(f, 0, sizeof *f);
    tk_init(&f->t, batch_rows);
    f->left = tk_schema(&f->t, "id INT, k STRING, ws TIMESTAMP(3), we TIMESTAMP(3)");
    f->right = tk_schema(&f->t, "rid INT, k STRING, ws TIMESTAMP(3), we TIMESTAMP(3)");
    f->opts = (wr_window_join_opts){.kind = kind, .keys = {n_keys, KEY, KEY, NULL}, .left_end = 3, .right_end = 3, .left_start = 2, .right_start = 2};
    f->op = make(f);
}
static void close_join(fixture *f) {
    f->op->vt->close(f->op);
    tk_free(&f->t);
}

static void flink_left(void **state) {
    (void)state;
    fixture f;
    open_join(&f, WR_JOIN_LEFT, 1, 2048);
    tk_send(&f.t, f.op, 0, f.left, "1 a 0 10; 2 NULL 0 10; 3 c 0 10; 4 a 30 40");
    tk_send(&f.t, f.op, 1, f.right, "10 a 0 10; 11 a 0 10; 12 NULL 0 10; 13 d 30 40");
    tk_expect(&f.t, "+I 2 NULL 0 10 NULL NULL NULL NULL\n");
    tk_watermark(&f.t, f.op, 9.998);
    tk_expect(&f.t, "");
    tk_watermark(&f.t, f.op, 9.999);
    tk_expect(&f.t, "+I 1 a 0 10 10 a 0 10\n+I 1 a 0 10 11 a 0 10\n+I 3 c 0 10 NULL NULL NULL NULL\n");
    wr_op_usage u;
    f.op->vt->usage(f.op, &u);
    assert_int_equal(u.rows, 2);
    assert_int_equal(u.oldest_us, tk_us(40));
    tk_send(&f.t, f.op, 0, f.left, "5 a 0 10 !9.999; 6 a 0 10 !9.998");
    assert_int_equal(dropped(&f.t, WR_REASON_LATE), 1); /* the other cannot come in a real stream, but it is not late */
    tk_end(&f.t, f.op);
    tk_expect(&f.t, "+I 6 a 0 10 NULL NULL NULL NULL\n+I 4 a 30 40 NULL NULL NULL NULL\n");
    assert_int_equal(f.t.ledger.matched[0], 1);
    assert_int_equal(f.t.ledger.matched[1], 2);
    assert_accounted(&f.t);
    close_join(&f);
}

/* Equal ends are not enough: HOP windows of two sizes meet at the end. */
static void start_counts(void **state) {
    (void)state;
    fixture f;
    open_join(&f, WR_JOIN_FULL, 1, 2048);
    tk_send(&f.t, f.op, 0, f.left, "1 a 0 10");
    tk_send(&f.t, f.op, 1, f.right, "2 a 5 10");
    tk_end(&f.t, f.op);
    tk_expect(&f.t, "+I 1 a 0 10 NULL NULL NULL NULL\n+I NULL NULL NULL NULL 2 a 5 10\n");
    close_join(&f);
}

/* Nexmark q5: counts per auction and window against the window's maximum, no key, the residual decides. */
static void no_keys(void **state) {
    (void)state;
    fixture f;
    open_join(&f, WR_JOIN_INNER, 0, 64);
    f.op->vt->close(f.op);
    f.opts.residual = less_than(&f.t, f.left, f.right, 4, 0); /* rid < id */
    f.op = make(&f);
    f.t.full_every = 1;
    wr_sbuf rows = {0};
    for (int w = 0; w < 3; w++)
        for (int i = 0; i < 1000; i++) wr_sbuf_printf(&rows, "%d x %d %d\n", i, w * 10, w * 10 + 10);
    tk_send(&f.t, f.op, 0, f.left, rows.at);
    tk_send(&f.t, f.op, 1, f.right, "997 m 0 10; 998 m 10 20; 5000 m 20 30");
    tk_end(&f.t, f.op);
    tk_expect(&f.t, "+I 998 x 0 10 997 m 0 10\n+I 999 x 0 10 997 m 0 10\n+I 999 x 10 20 998 m 10 20\n");
    assert_int_equal(f.t.ledger.matched[0], 3);
    assert_int_equal(dropped(&f.t, WR_REASON_UNMATCHED_LEFT), 2997);
    assert_int_equal(dropped(&f.t, WR_REASON_UNMATCHED_RIGHT), 1);
    wr_sbuf_free(&rows);
    close_join(&f);
}

typedef struct row { int id, k, w; } row;
enum { N_ROWS = 80, N_WINDOWS = 6 };

static void row_text(const row *r, wr_sbuf *out) {
    char k[4] = {(char)('a' + r->k), 0};
    wr_sbuf_printf(out, "%d %s %d %d", r->id, r->k ? k : "NULL", r->w * 10, r->w * 10 + 10);
}
static void nested_loop(const fixture *f, bool less, const row *l, const row *r, wr_sbuf *out) {
    wr_join_kind kind = f->opts.kind;
    bool hit[N_ROWS] = {false};
    for (int i = 0; i < N_ROWS; i++) {
        bool any = false;
        for (int j = 0; j < N_ROWS; j++) {
            bool key = !f->opts.keys.n || (l[i].k && l[i].k == r[j].k);
            if (!key || l[i].w != r[j].w || (less && l[i].id >= r[j].id)) continue;
            any = hit[j] = true;
            if (kind >= WR_JOIN_SEMI) continue;
            wr_sbuf_addz(out, "+I "), row_text(&l[i], out), wr_sbuf_addc(out, ' '), row_text(&r[j], out), wr_sbuf_addc(out, '\n');
        }
        if (kind == WR_JOIN_SEMI ? !any : any || (kind != WR_JOIN_LEFT && kind != WR_JOIN_FULL && kind != WR_JOIN_ANTI)) continue;
        wr_sbuf_addz(out, "+I "), row_text(&l[i], out), wr_sbuf_addz(out, kind < WR_JOIN_SEMI ? " NULL NULL NULL NULL\n" : "\n");
    }
    for (int j = 0; j < N_ROWS && (kind == WR_JOIN_RIGHT || kind == WR_JOIN_FULL); j++)
        if (!hit[j]) wr_sbuf_addz(out, "+I NULL NULL NULL NULL "), row_text(&r[j], out), wr_sbuf_addc(out, '\n');
}

static void random_rows(void **state) {
    (void)state;
    wr_rng rng;
    wr_rng_seed(&rng, 5);
    for (int round = 0; round < 144; round++) {
        static const uint32_t sizes[] = {1, 3, 2048};
        row     rows[2][N_ROWS];
        bool    less = round % 5 < 2;
        fixture f;
        open_join(&f, (wr_join_kind)(round % 6), round / 6 % 4 ? 1 : 0, sizes[round / 6 % 3]);
        f.op->vt->close(f.op);
        f.opts.residual = less_than(&f.t, f.left, f.right, less ? 0 : -1, 4);
        f.t.full_every = (uint32_t)wr_rng_below(&rng, 3);
        f.t.feed_rows = sizes[wr_rng_below(&rng, 3)];
        parts p;
        parts_init(&p, &f.t, make(&f));
        for (int s = 0; s < 2; s++)
            for (int i = 0; i < N_ROWS; i++)
                rows[s][i] = (row){(int)wr_rng_below(&rng, 20), (int)wr_rng_below(&rng, 4), WR_MIN(i * N_WINDOWS / N_ROWS + (int)wr_rng_below(&rng, 2), N_WINDOWS)};
        int at[2] = {0, 0};
        while (at[0] < N_ROWS || at[1] < N_ROWS) {
            uint32_t s = at[0] == N_ROWS ? 1 : at[1] == N_ROWS ? 0 : (uint32_t)wr_rng_below(&rng, 2);
            wr_sbuf  text = {0};
            for (uint64_t n = 1 + wr_rng_below(&rng, 10); n > 0 && at[s] < N_ROWS; n--) row_text(&rows[s][at[s]++], &text), wr_sbuf_addc(&text, '\n');
            parts_send(&p, s, s ? f.right : f.left, KEY, f.opts.keys.n, text.at);
            wr_sbuf_free(&text);
            if (p.n == 1 && round % 3 == 0 && at[0] + at[1] > N_ROWS) parts_split(&p, make, &f);
            int64_t oldest = WR_MIN(at[0], at[1]) * N_WINDOWS / N_ROWS; /* windows before it get no more rows */
            static int64_t told;
            if (at[0] + at[1] < 12) told = 0;
            if (oldest > told && oldest < N_WINDOWS) parts_watermark(&p, (told = oldest) * 10000000);
        }
        parts_watermark(&p, WR_TIME_MAX);
        wr_sbuf want = {0};
        wr_sbuf_addz(&want, "");
        nested_loop(&f, less, rows[0], rows[1], &want);
        tk_expect_sorted(&f.t, want.at);
        assert_accounted(&f.t);
        wr_sbuf_free(&want);
        parts_close(&p);
        tk_free(&f.t);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(flink_left), cmocka_unit_test(start_counts), cmocka_unit_test(no_keys), cmocka_unit_test(random_rows)};
    return tk_run_tests(tests);
}
