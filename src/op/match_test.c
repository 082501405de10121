/* op/match_test.c: runs, skipping, WITHIN, waiting rows and images of the pattern operator, rows by hand. */
#include "op/op_testkit.h"

typedef struct fix { tk t; const wr_schema *in; wr_match_opts o; wr_match_var vars[3]; wr_match_step steps[3]; wr_match_ref refs[3]; wr_expr *measures[3]; uint32_t keys[1]; } fix;

/* Columns: key, value, time, then whether the row may be A, B, C. Measures: A.v of its first row, B.v of its last, C.v. */
static void fix_init(fix *f, uint32_t batch_rows, wr_match_step a, wr_match_step b, wr_match_step c, uint32_t n) {
    memset(f, 0, sizeof *f);
    tk_init(&f->t, batch_rows);
    f->in = tk_schema(&f->t, "k STRING, v INT, ts TIMESTAMP(3)*, a BOOLEAN, b BOOLEAN, c BOOLEAN");
    f->steps[0] = a, f->steps[1] = b, f->steps[2] = c;
    static const char *const NAMES[] = {"A", "B", "C"};
    for (uint32_t i = 0; i < 3; i++) {
        f->vars[i] = (wr_match_var){.name = wr_str_of(NAMES[i]), .given = (int32_t)(3 + i)};
        f->refs[i] = (wr_match_ref){.kind = i ? WR_MATCH_REF_LAST : WR_MATCH_REF_FIRST, .var = (int32_t)i, .col = 1, .type = wr_type_of(WR_T_INT), .name = wr_str_of(NAMES[i])};
        f->measures[i] = wr_expr_col(f->t.arena, i, f->refs[i].type, (wr_span){0});
    }
    f->o = (wr_match_opts){.n_keys = 1, .keys = f->keys, .n_vars = 3, .vars = f->vars, .n_steps = n, .steps = f->steps, .n_refs = 3, .refs = f->refs, .n_measures = 3,
                           .measures = f->measures, .time_col = 2, .skip = WR_MATCH_PAST_LAST_ROW};
}
static wr_match_step one(uint32_t var) { return (wr_match_step){var, 1, 1, true}; }
static wr_op *open_op(fix *f) { return wr_match_new(&f->o, f->in, &f->t.ctx); }
static void done(fix *f, wr_op *op) {
    op->vt->close(op);
    assert_int_equal(wr_account_bytes(&f->t.acct), 0);
    tk_free(&f->t);
}

/* Rows wait for the watermark and are taken in time order; keys do not see each other. */
static void test_order(void **state) {
    (void)state;
    for (uint32_t rows = 1; rows <= 2048; rows += 2047) {
        fix f;
        fix_init(&f, rows, one(0), (wr_match_step){1, 0, UINT32_MAX, true}, one(2), 3);
        wr_op *op = open_op(&f);
        tk_send(&f.t, op, 0, f.in, "x 3 3 false true false; x 1 1 true false false; y 9 2 true true true; x 2 2 false true false");
        tk_expect(&f.t, "");
        tk_watermark(&f.t, op, 3);
        tk_expect(&f.t, "");
        tk_send(&f.t, op, 0, f.in, "x 0 2.5 true true true !3; x 4 4 false false true");
        assert_int_equal(f.t.ledger.dropped[WR_REASON_LATE], 1);
        tk_watermark(&f.t, op, 4);
        tk_expect(&f.t, "+I x 1 3 4\n"); /* B is 2 and 3 */
        wr_op_usage u;
        op->vt->usage(op, &u);
        assert_int_equal(u.rows, 1); /* of y */
        tk_end(&f.t, op);
        tk_expect(&f.t, "");
        done(&f, op);
    }
}

/* A B C over five rows that may all be anything: NEXT ROW finds 3, PAST LAST ROW 1, TO LAST B 3 (each goes on at its B). */
static void test_skip(void **state) {
    (void)state;
    static const char rows[] = "x 1 1 true true true; x 2 2 true true true; x 3 3 true true true; x 4 4 true true true; x 5 5 true true true";
    static const struct { wr_match_skip skip; uint32_t var; const char *want; } CASES[] = {
        {WR_MATCH_TO_NEXT_ROW, 0, "+I x 1 2 3\n+I x 2 3 4\n+I x 3 4 5\n"}, {WR_MATCH_PAST_LAST_ROW, 0, "+I x 1 2 3\n"},
        {WR_MATCH_TO_LAST, 1, "+I x 1 2 3\n+I x 2 3 4\n+I x 3 4 5\n"}, {WR_MATCH_TO_FIRST, 2, "+I x 1 2 3\n+I x 3 4 5\n"},
    };
    for (size_t i = 0; i < WR_COUNT_OF(CASES); i++) {
        fix f;
        fix_init(&f, 2, one(0), one(1), one(2), 3);
        f.o.skip = CASES[i].skip, f.o.skip_var = CASES[i].var;
        wr_op *op = open_op(&f);
        tk_send(&f.t, op, 0, f.in, rows);
        tk_end(&f.t, op);
        tk_expect(&f.t, CASES[i].want);
        done(&f, op);
    }
}

/* WITHIN ends a run when the watermark reaches its first row + 10 s, and its rows and its key go. */
static void test_within(void **state) {
    (void)state;
    fix f;
    fix_init(&f, 2048, one(0), (wr_match_step){1, 0, UINT32_MAX, false}, one(2), 3);
    f.o.within_us = tk_us(10);
    wr_op *op = open_op(&f);
    tk_send(&f.t, op, 0, f.in, "x 1 1 true false false; x 2 2 false true false");
    tk_watermark(&f.t, op, 10.999);
    tk_expect(&f.t, "");
    assert_int_equal(f.t.ledger.dropped[WR_REASON_EXPIRED], 0);
    tk_watermark(&f.t, op, 11);
    assert_int_equal(f.t.ledger.dropped[WR_REASON_EXPIRED], 1);
    wr_op_usage u;
    op->vt->usage(op, &u);
    assert_int_equal(u.rows, 0);
    assert_int_equal(u.keys, 0);
    done(&f, op);
}

/* Skipping to the first row of the match, or to a variable without a row, stops the job with a sentence. */
static void test_bad_skip(void **state) {
    (void)state;
    for (int i = 0; i < 2; i++) {
        fix f;
        fix_init(&f, 2048, one(0), (wr_match_step){1, 0, 1, true}, one(2), 3);
        f.o.skip = WR_MATCH_TO_FIRST, f.o.skip_var = (uint32_t)i;
        wr_op *op = open_op(&f);
        tk_send(&f.t, op, 0, f.in, "x 1 1 true false false; x 2 2 false false true");
        bool more;
        assert_int_equal(op->vt->on_watermark(op, tk_us(5), &f.t.out, &more, &f.t.err), WR_DATA);
        assert_non_null(strstr(f.t.err.message, i ? "no row of B" : "found again for ever"));
        op->vt->close(op);
        tk_free(&f.t);
    }
}

/* An image in the middle of a match: rows that wait, shared chains and completed matches come back, in two halves of the key groups. */
static void test_image(void **state) {
    (void)state;
    fix f, g[2];
    fix_init(&f, 2048, one(0), (wr_match_step){1, 1, UINT32_MAX, false}, one(2), 3);
    f.o.skip = WR_MATCH_TO_NEXT_ROW;
    wr_op *op = open_op(&f);
    for (int k = 0; k < 8; k++) {
        char rows[400];
        snprintf(rows, sizeof rows, "k%d 1 1 true true false; k%d 2 2 true true false; k%d 3 3 false true false; k%d 4 9 false false true", k, k, k, k);
        tk_send(&f.t, op, 0, f.in, rows);
    }
    tk_watermark(&f.t, op, 5);
    wr_sbuf image = {0};
    tk_ok(&f.t, op->vt->save(op, &image, &f.t.err));
    tk_end(&f.t, op);
    char *want = wr_strdup(tk_sort_text(&f.t, tk_text(&f.t)));
    assert_non_null(strstr(want, "+I k0 1 3 4\n"));
    assert_non_null(strstr(want, "+I k7 2 3 4\n"));
    wr_sbuf both = {0};
    for (uint32_t h = 0; h < 2; h++) {
        fix_init(&g[h], 2048, one(0), (wr_match_step){1, 1, UINT32_MAX, false}, one(2), 3);
        g[h].o.skip = WR_MATCH_TO_NEXT_ROW;
        wr_op    *half = open_op(&g[h]);
        uint32_t  n = g[h].t.ctx.n_key_groups;
        wr_reader in = {.at = (const uint8_t *)image.at, .end = (const uint8_t *)image.at + image.len};
        tk_ok(&g[h].t, half->vt->load(half, &in, h ? n / 2 : 0, h ? n : n / 2, &g[h].t.err));
        tk_end(&g[h].t, half);
        wr_sbuf_addz(&both, tk_text(&g[h].t));
        done(&g[h], half);
    }
    assert_string_equal(tk_sort_text(&f.t, both.at), want);
    for (size_t cut = 0; cut < image.len; cut += 7) { /* a damaged image is refused, or loads something; nothing leaks or crashes */
        fix d;
        fix_init(&d, 2048, one(0), (wr_match_step){1, 1, UINT32_MAX, false}, one(2), 3);
        wr_op    *bad = open_op(&d);
        wr_reader in = {.at = (const uint8_t *)image.at, .end = (const uint8_t *)image.at + cut};
        assert_int_not_equal(bad->vt->load(bad, &in, 0, d.t.ctx.n_key_groups, &d.t.err), WR_OK);
        bad->vt->close(bad);
        tk_free(&d.t);
    }
    wr_free(want);
    wr_sbuf_free(&image), wr_sbuf_free(&both);
    done(&f, op);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_order), cmocka_unit_test(test_skip), cmocka_unit_test(test_within), cmocka_unit_test(test_bad_skip),
                                       cmocka_unit_test(test_image)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
