/* op/calc_test.c: filter and projection: three-valued filters, guarding, kinds and lateness, counts. */
#include "op/op_testkit.h"

typedef struct env { tk t; wr_diags diags; wr_expr_ctx ctx; const wr_schema *in; } env;
static void env_open(env *e, uint32_t batch_rows) {
    tk_init(&e->t, batch_rows);
    e->t.ctx.world = wr_world_posix();
    wr_diags_init(&e->diags);
    e->ctx = (wr_expr_ctx){.arena = e->t.arena, .diags = &e->diags, .world = e->t.ctx.world};
    e->in = tk_schema(&e->t, "a INT, b INT, s STRING");
}
static void env_close(env *e, wr_op *op) {
    op->vt->close(op);
    wr_diags_free(&e->diags);
    tk_free(&e->t);
}
static wr_expr *col(env *e, uint32_t c) { return wr_expr_col(e->t.arena, c, e->in->fields[c].type, (wr_span){0}); }
static wr_expr *num(env *e, int v) { return wr_expr_const(e->t.arena, wr_value_int(wr_type_not_null(wr_type_of(WR_T_INT)), v), (wr_span){0}); }
static wr_expr *call(env *e, const char *name, wr_expr *x, wr_expr *y) {
    wr_expr **args = wr_new_n(e->t.arena, wr_expr *, 2);
    args[0] = x, args[1] = y;
    wr_expr *r = wr_expr_call(&e->ctx, wr_str_of(name), args, 2, (wr_span){0});
    assert_non_null(r);
    return r;
}

/* b / a is never evaluated where the filter a <> 0 is not true. */
static void test_filter_guards(void **state) {
    (void)state;
    for (uint32_t feed = 1; feed <= 4; feed++) {
        env e;
        env_open(&e, feed);
        e.t.feed_rows = feed;
        wr_expr *exprs[] = {col(&e, 2), call(&e, "/", col(&e, 1), col(&e, 0))};
        wr_op *op = wr_calc_new(&(wr_calc_opts){.filter = call(&e, "<>", col(&e, 0), num(&e, 0)), .n_exprs = 2, .exprs = exprs}, &e.t.ctx);
        tk_send(&e.t, op, 0, e.in, "2 7 x; 0 1 y; NULL 3 z; 3 -7 w !5; -D 2 NULL v");
        tk_expect(&e.t, "+I x 3\n+I w -2 !5\n-D v NULL\n");
        assert_int_equal(e.t.ledger.dropped[WR_REASON_FILTERED], 2);
        assert_int_equal(e.t.ledger.in[0], e.t.ledger.out + e.t.ledger.dropped[WR_REASON_FILTERED]);
        env_close(&e, op);
    }
}
/* A pure filter shares its input; a batch without a passing row gives none; -U and +U part where one of them passes. */
static void test_pure_filter(void **state) {
    (void)state;
    env e;
    env_open(&e, 2048);
    wr_op *op = wr_calc_new(&(wr_calc_opts){.filter = call(&e, ">", col(&e, 0), num(&e, 2)), .pass = true}, &e.t.ctx);
    tk_send(&e.t, op, 0, e.in, "1 1 x; 2 2 y");
    assert_int_equal(e.t.n_batches, 0);
    tk_send(&e.t, op, 0, e.in, "-U 2 2 y; +U 3 2 y; -U 3 2 y; +U 4 2 y");
    tk_expect(&e.t, "+U 3 2 y\n-U 3 2 y\n+U 4 2 y\n");
    assert_int_equal(e.t.ledger.dropped[WR_REASON_FILTERED], 3);
    env_close(&e, op);
}
/* More columns than the input has; more rows than batch_rows; a row that fails stops the job. */
static void test_project(void **state) {
    (void)state;
    env e;
    env_open(&e, 2);
    wr_expr *exprs[] = {col(&e, 1), col(&e, 1), num(&e, 9), call(&e, "+", col(&e, 0), col(&e, 1)), call(&e, "/", num(&e, 6), col(&e, 0))};
    wr_op *op = wr_calc_new(&(wr_calc_opts){.n_exprs = 5, .exprs = exprs}, &e.t.ctx);
    tk_send(&e.t, op, 0, e.in, "1 1 x; 2 NULL y; 3 3 z");
    tk_expect(&e.t, "+I 1 1 9 2 6\n+I NULL NULL 9 NULL 3\n+I 3 3 9 6 2\n");
    assert_int_equal(tk_try_send(&e.t, op, 0, e.in, NULL, 0, "0 1 x"), WR_DATA);
    env_close(&e, op);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_filter_guards), cmocka_unit_test(test_pure_filter), cmocka_unit_test(test_project)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
