/* op/join_test.c: the regular join: Flink's recorded changelogs (shared/flink/sem/05_joins.out), shared/cases, and random changes against a batch join. */
#include "op/join_testing.h"

typedef struct fixture {
    tk               t;
    const wr_schema *left, *right;
    wr_join_opts     opts;
    wr_op           *op;
} fixture;
static const uint32_t KEY[] = {1};
static const bool     SAFE[] = {true};

static wr_op *make(void *self) {
    fixture *f = self;
    return wr_join_new(&f->opts, f->left, f->right, &f->t.ctx);
}
static void open_join(fixture *f, wr_join_kind kind, uint32_t batch_rows) {
    memset(f, 0, sizeof *f);
    tk_init(&f->t, batch_rows);
    f->left = tk_schema(&f->t, "id INT, k STRING");
    f->right = tk_schema(&f->t, "rid INT, k STRING");
    f->opts = (wr_join_opts){.kind = kind, .keys = {1, KEY, KEY, NULL}};
    f->op = make(f);
}
static void close_join(fixture *f) {
    f->op->vt->close(f->op);
    tk_free(&f->t);
}
static const char *const l_rows = "1 a; 2 NULL; 3 c; 4 a", *const r_rows = "10 a; 11 a; 12 NULL; 13 d";

static void flink_inner(void **state) {
    (void)state;
    fixture f;
    open_join(&f, WR_JOIN_INNER, 2048);
    tk_send(&f.t, f.op, 1, f.right, r_rows);
    tk_send(&f.t, f.op, 0, f.left, l_rows);
    tk_expect(&f.t, "+I 1 a 10 a\n+I 1 a 11 a\n+I 4 a 10 a\n+I 4 a 11 a\n");
    tk_end(&f.t, f.op);
    assert_int_equal(f.t.ledger.matched[0], 2);
    assert_int_equal(dropped(&f.t, WR_REASON_UNMATCHED_LEFT), 1);
    assert_int_equal(dropped(&f.t, WR_REASON_UNMATCHED_RIGHT), 1);
    assert_int_equal(dropped(&f.t, WR_REASON_NULL_KEY), 2);
    assert_accounted(&f.t);
    close_join(&f);
}
static void flink_left(void **state) {
    (void)state;
    fixture f;
    open_join(&f, WR_JOIN_LEFT, 2048);
    tk_send(&f.t, f.op, 1, f.right, r_rows);
    tk_send(&f.t, f.op, 0, f.left, l_rows);
    tk_expect(&f.t, "+I 1 a 10 a\n+I 1 a 11 a\n+I 2 NULL NULL NULL\n+I 3 c NULL NULL\n+I 4 a 10 a\n+I 4 a 11 a\n");
    close_join(&f);
}
static void flink_full(void **state) {
    (void)state;
    fixture f;
    open_join(&f, WR_JOIN_FULL, 2048);
    tk_send(&f.t, f.op, 1, f.right, r_rows);
    tk_expect(&f.t, "+I NULL NULL 10 a\n+I NULL NULL 11 a\n+I NULL NULL 12 NULL\n+I NULL NULL 13 d\n");
    tk_send(&f.t, f.op, 0, f.left, l_rows);
    tk_expect(&f.t, "-D NULL NULL 10 a\n+I 1 a 10 a\n-D NULL NULL 11 a\n+I 1 a 11 a\n+I 2 NULL NULL NULL\n+I 3 c NULL NULL\n+I 4 a 10 a\n+I 4 a 11 a\n");
    /* the last partner goes: the pair first, then the padded row again (pitfalls 35) */
    tk_send(&f.t, f.op, 0, f.left, "-D 4 a; -D 1 a");
    tk_expect(&f.t, "-D 4 a 10 a\n-D 4 a 11 a\n-D 1 a 10 a\n+I NULL NULL 10 a\n-D 1 a 11 a\n+I NULL NULL 11 a\n");
    tk_end(&f.t, f.op);
    assert_accounted(&f.t);
    close_join(&f);
}
static void flink_not_distinct(void **state) {
    (void)state;
    fixture f;
    open_join(&f, WR_JOIN_INNER, 2048);
    f.op->vt->close(f.op);
    f.opts.keys.null_safe = SAFE;
    f.op = make(&f);
    tk_send(&f.t, f.op, 0, f.left, l_rows);
    tk_send(&f.t, f.op, 1, f.right, r_rows);
    tk_expect_sorted(&f.t, "+I 1 a 10 a\n+I 1 a 11 a\n+I 2 NULL 12 NULL\n+I 4 a 10 a\n+I 4 a 11 a\n");
    close_join(&f);
}
static void flink_exists(void **state) {
    (void)state;
    fixture f;
    open_join(&f, WR_JOIN_ANTI, 2048);
    tk_send(&f.t, f.op, 0, f.left, "1 a");
    tk_send(&f.t, f.op, 1, f.right, r_rows);
    tk_send(&f.t, f.op, 0, f.left, "2 NULL; 3 c; 4 a");
    tk_expect(&f.t, "+I 1 a\n-D 1 a\n+I 2 NULL\n+I 3 c\n");
    tk_end(&f.t, f.op);
    assert_accounted(&f.t);
    close_join(&f);
    open_join(&f, WR_JOIN_SEMI, 2048);
    tk_send(&f.t, f.op, 0, f.left, l_rows);
    tk_send(&f.t, f.op, 1, f.right, r_rows);
    tk_expect(&f.t, "+I 1 a\n+I 4 a\n");
    close_join(&f);
}
/* NOT IN: one NULL on the right and nothing is left; a NULL on the left only passes against an empty set (pitfalls 39). */
static void flink_not_in(void **state) {
    (void)state;
    fixture f;
    open_join(&f, WR_JOIN_ANTI, 2048);
    f.op->vt->close(f.op);
    f.opts.null_aware_anti = true;
    f.op = make(&f);
    tk_send(&f.t, f.op, 0, f.left, l_rows);
    tk_expect(&f.t, "+I 1 a\n+I 2 NULL\n+I 3 c\n+I 4 a\n");
    tk_send(&f.t, f.op, 1, f.right, "13 d");
    tk_expect(&f.t, "-D 2 NULL\n");
    tk_send(&f.t, f.op, 1, f.right, "12 NULL");
    tk_expect_sorted(&f.t, "-D 1 a\n-D 3 c\n-D 4 a\n");
    tk_send(&f.t, f.op, 1, f.right, "-D 12 NULL");
    tk_expect_sorted(&f.t, "+I 1 a\n+I 3 c\n+I 4 a\n");
    tk_send(&f.t, f.op, 1, f.right, "10 a; -D 13 d; -D 10 a");
    assert_string_equal(tk_sort_text(&f.t, tk_text(&f.t)), "+I 1 a\n+I 2 NULL\n+I 4 a\n-D 1 a\n-D 4 a\n");
    tk_clear(&f.t);
    wr_sbuf image = {0}; /* the place of the NULL key is found again */
    tk_send(&f.t, f.op, 1, f.right, "9 NULL");
    tk_clear(&f.t);
    tk_save(f.op, &image);
    f.op->vt->close(f.op);
    f.op = make(&f);
    tk_load(&f.t, f.op, &image, 0, WR_KEY_GROUPS_DEFAULT);
    wr_sbuf_free(&image);
    tk_send(&f.t, f.op, 0, f.left, "5 z");
    tk_expect(&f.t, "");
    tk_send(&f.t, f.op, 1, f.right, "-D 9 NULL");
    tk_expect_sorted(&f.t, "+I 1 a\n+I 2 NULL\n+I 3 c\n+I 4 a\n+I 5 z\n");
    close_join(&f);
}

/* shared/cases/semi-anti-join: two matches, one goes: still there; the last goes: out. */
static void case_semi_anti(void **state) {
    (void)state;
    static const char *const want[2] = {"2 NULL\n", "1 NULL\n3 NULL\n"};
    for (int anti = 0; anti < 2; anti++) {
        fixture f;
        open_join(&f, anti ? WR_JOIN_ANTI : WR_JOIN_SEMI, 2048);
        f.op->vt->close(f.op);
        static const uint32_t l_key[] = {0}, r_key[] = {0};
        f.opts.keys = (wr_join_keys){1, l_key, r_key, NULL};
        f.op = make(&f);
        tk_send(&f.t, f.op, 0, f.left, "1 NULL; 2 NULL; 3 NULL");
        tk_send(&f.t, f.op, 1, f.right, "2 x; 2 y; 3 z; -D 2 x; -D 3 z");
        assert_string_equal(tk_fold(&f.t), want[anti]);
        close_join(&f);
    }
}

/* Two equal left rows and three right ones give six; deletes remove one copy at a time (pitfalls 36). */
static void copies(void **state) {
    (void)state;
    fixture f;
    open_join(&f, WR_JOIN_INNER, 2);
    tk_send(&f.t, f.op, 0, f.left, "1 a; 1 a");
    tk_send(&f.t, f.op, 1, f.right, "7 a; 7 a; 8 a");
    tk_expect(&f.t, "+I 1 a 7 a\n+I 1 a 7 a\n+I 1 a 7 a\n+I 1 a 7 a\n+I 1 a 8 a\n+I 1 a 8 a\n");
    tk_send(&f.t, f.op, 1, f.right, "-D 7 a; -D 9 a");
    tk_expect(&f.t, "-D 1 a 7 a\n-D 1 a 7 a\n");
    assert_int_equal(dropped(&f.t, WR_REASON_RETRACT_UNKNOWN), 1);
    tk_end(&f.t, f.op);
    assert_accounted(&f.t);
    close_join(&f);
}

static void ttl(void **state) {
    (void)state;
    fixture f;
    open_join(&f, WR_JOIN_INNER, 2048);
    f.op->vt->close(f.op);
    f.opts.ttl_us[0] = 1000;
    f.op = make(&f);
    f.t.ctx.now_us = 5000;
    tk_send(&f.t, f.op, 0, f.left, "1 a; 2 b");
    f.t.ctx.now_us = 5999;
    tk_send(&f.t, f.op, 1, f.right, "7 a");
    tk_expect(&f.t, "+I 1 a 7 a\n");
    f.t.ctx.now_us = 6200;
    tk_send(&f.t, f.op, 1, f.right, "8 a");
    tk_expect(&f.t, "");
    assert_int_equal(dropped(&f.t, WR_REASON_EXPIRED), 1); /* row 2; row 1 had matched */
    wr_op_usage u;
    f.op->vt->usage(f.op, &u);
    assert_int_equal(u.rows, 2);
    tk_end(&f.t, f.op);
    assert_accounted(&f.t);
    close_join(&f);
}

static void wide_fan_out(void **state) {
    (void)state;
    fixture f;
    open_join(&f, WR_JOIN_LEFT, 100);
    f.op->vt->close(f.op);
    f.opts.keys = (wr_join_keys){0}; /* cross join */
    f.op = make(&f);
    wr_sbuf rows = {0};
    for (int i = 0; i < 500; i++) wr_sbuf_printf(&rows, "%d x\n", i);
    tk_send(&f.t, f.op, 0, f.left, rows.at);
    tk_send(&f.t, f.op, 1, f.right, "1 y; 2 z");
    assert_int_equal(f.t.ledger.out_kind[WR_KIND_INSERT], 500 + 1000);
    assert_int_equal(f.t.ledger.out_kind[WR_KIND_DELETE], 500);
    assert_true(f.t.n_batches >= 20);
    wr_sbuf_free(&rows);
    close_join(&f);
}

/* ---- random changes against the batch join of what is left ---- */

typedef struct row { int id, k; } row; /* k 0 = NULL */
typedef struct bag { row at[400]; int n; } bag;

static void put_row(const row *r, wr_sbuf *out) {
    char k[4] = {(char)('a' + r->k), 0};
    wr_sbuf_printf(out, "%d %s", r->id, r->k ? k : "NULL");
}
static bool matches(const fixture *f, bool less, const row *l, const row *r) {
    if (less && l->id >= r->id) return false;
    if (f->opts.null_aware_anti) return !l->k || !r->k || l->k == r->k;
    if (f->opts.keys.null_safe) return l->k == r->k;
    return l->k && l->k == r->k;
}
static void batch_join(const fixture *f, bool less, const bag *side, wr_sbuf *out) {
    wr_join_kind kind = f->opts.kind;
    bool hit[400] = {false};
    for (int i = 0; i < side[0].n; i++) {
        bool any = false;
        for (int j = 0; j < side[1].n; j++) {
            if (!matches(f, less, &side[0].at[i], &side[1].at[j])) continue;
            any = hit[j] = true;
            if (kind >= WR_JOIN_SEMI) continue;
            put_row(&side[0].at[i], out), wr_sbuf_addc(out, ' '), put_row(&side[1].at[j], out), wr_sbuf_addc(out, '\n');
        }
        if (kind == WR_JOIN_SEMI ? !any : any || (kind != WR_JOIN_LEFT && kind != WR_JOIN_FULL && kind != WR_JOIN_ANTI)) continue;
        put_row(&side[0].at[i], out), wr_sbuf_addz(out, kind < WR_JOIN_SEMI ? " NULL NULL\n" : "\n");
    }
    for (int j = 0; j < side[1].n && (kind == WR_JOIN_RIGHT || kind == WR_JOIN_FULL); j++)
        if (!hit[j]) wr_sbuf_addz(out, "NULL NULL "), put_row(&side[1].at[j], out), wr_sbuf_addc(out, '\n');
}

/* One random change of a side as text: an insertion, a deletion, an update (-U, +U), or a deletion of what is not there. */
static void random_change(bag *b, wr_rng *rng, int ids, wr_sbuf *text) {
    row  r = {(int)wr_rng_below(rng, (uint64_t)ids), (int)wr_rng_below(rng, 5)};
    int  what = (int)wr_rng_below(rng, 10);
    if (what < 5 || !b->n) {
        if (b->n == 400) return;
        b->at[b->n++] = r;
        put_row(&r, text), wr_sbuf_addc(text, '\n');
        return;
    }
    int at = (int)wr_rng_below(rng, (uint64_t)b->n);
    if (what == 9) {
        wr_sbuf_addz(text, r.k ? "-D 9999 b\n" : "");
        return;
    }
    wr_sbuf_addz(text, what < 8 ? "-D " : "-U ");
    put_row(&b->at[at], text), wr_sbuf_addc(text, '\n');
    if (what < 8) {
        b->at[at] = b->at[--b->n];
        return;
    }
    b->at[at] = r;
    wr_sbuf_addz(text, "+U "), put_row(&r, text), wr_sbuf_addc(text, '\n');
}

static void random_changes(void **state) {
    (void)state;
    wr_rng rng;
    wr_rng_seed(&rng, 7);
    for (int round = 0; round < 210; round++) {
        static const uint32_t sizes[] = {1, 3, 2048};
        fixture f;
        bool    less = wr_rng_below(&rng, 2);
        open_join(&f, (wr_join_kind)(round % 6), sizes[round / 6 % 3]);
        f.op->vt->close(f.op);
        f.opts.residual = less_than(&f.t, f.left, f.right, less ? 0 : -1, 2);
        f.opts.null_aware_anti = f.opts.kind == WR_JOIN_ANTI && round / 18 % 2;
        if (round / 18 % 3 == 1 && !f.opts.null_aware_anti) f.opts.keys.null_safe = SAFE;
        f.t.feed_rows = sizes[wr_rng_below(&rng, 3)];
        parts p;
        parts_init(&p, &f.t, make(&f));
        bag side[2] = {{.n = 0}, {.n = 0}};
        wr_sbuf text = {0}, want = {0};
        int ids = wr_rng_below(&rng, 2) ? 4 : 40;
        for (int turn = 0; turn < 40; turn++) {
            uint32_t s = (uint32_t)wr_rng_below(&rng, 2);
            wr_sbuf_clear(&text);
            for (uint64_t n = wr_rng_below(&rng, 12); n > 0; n--) random_change(&side[s], &rng, ids, &text);
            if (text.len) parts_send(&p, s, s ? f.right : f.left, KEY, 1, text.at);
            if (turn == 20 && round % 4 == 0 && !f.opts.null_aware_anti) parts_split(&p, make, &f);
            if (turn % 13 != 0) continue;
            wr_sbuf_clear(&want);
            wr_sbuf_addz(&want, "");
            batch_join(&f, less, side, &want);
            char *sorted = wr_strdup(tk_sort_text(&f.t, want.at));
            assert_string_equal(tk_fold(&f.t), sorted);
            wr_free(sorted);
        }
        parts_watermark(&p, WR_TIME_MAX);
        assert_accounted(&f.t);
        parts_close(&p);
        wr_sbuf_free(&text);
        wr_sbuf_free(&want);
        tk_free(&f.t);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(flink_inner),    cmocka_unit_test(flink_left),         cmocka_unit_test(flink_full),
                                       cmocka_unit_test(flink_not_distinct), cmocka_unit_test(flink_exists),   cmocka_unit_test(flink_not_in),
                                       cmocka_unit_test(case_semi_anti), cmocka_unit_test(copies),             cmocka_unit_test(ttl),
                                       cmocka_unit_test(wide_fan_out),   cmocka_unit_test(random_changes)};
    return tk_run_tests(tests);
}
