/* op/keep_test.c: values that are not determined by the row, over rows that go: by hand, and random streams whose every retraction must equal an earlier row. */
#include "base/hash.h"
#include "op/op_testkit.h"

#define wr_keep_new(...) (tk_next_op(), wr_keep_new(__VA_ARGS__))
static const uint32_t KEY[] = {0};

typedef struct fixture { tk t; wr_expr_ctx ec; wr_diags diags; const wr_schema *in; wr_keep_opts opts; wr_op *op; wr_expr *exprs[3]; } fixture;

static wr_expr *call(fixture *f, const char *name) { return wr_expr_calln(&f->ec, name, (wr_span){0}, 0); }
static void open_op(fixture *f, uint32_t batch_rows, bool filter) {
    memset(f, 0, sizeof *f);
    tk_init(&f->t, batch_rows);
    f->t.ctx.world = wr_world_posix();
    wr_diags_init(&f->diags);
    f->ec = (wr_expr_ctx){.arena = f->t.arena, .diags = &f->diags, .world = wr_world_posix()};
    f->in = tk_schema(&f->t, "k STRING, v INT");
    f->exprs[0] = wr_expr_col(f->t.arena, 0, f->in->fields[0].type, (wr_span){0});
    f->exprs[1] = wr_expr_col(f->t.arena, 1, f->in->fields[1].type, (wr_span){0});
    f->exprs[2] = call(f, filter ? "RAND" : "UUID");
    f->opts = (wr_keep_opts){.calc = {.n_exprs = 3, .exprs = f->exprs}, .n_keys = 1, .keys = KEY};
    if (filter)
        f->opts.calc.filter = wr_expr_calln(&f->ec, "<", (wr_span){0}, 2, call(f, "RAND"), wr_expr_const(f->t.arena, (wr_value){.type = wr_type_of(WR_T_DOUBLE), .f = 0.5}, (wr_span){0}));
    assert_true(f->exprs[2] && (!filter || f->opts.calc.filter));
    f->op = wr_keep_new(&f->opts, f->in, &f->t.ctx);
}
static void close_op(fixture *f) {
    f->op->vt->close(f->op);
    wr_diags_free(&f->diags);
    tk_free(&f->t);
}

static void retractions_take_back_what_came(void **state) {
    (void)state;
    fixture f;
    open_op(&f, 2048, false);
    tk_send(&f.t, f.op, 0, f.in, "a 1; b 2; a 1; NULL NULL");
    assert_int_equal(f.t.ledger.out, 4);
    tk_send(&f.t, f.op, 0, f.in, "-U a 1; +U a 3; -D NULL NULL; -D c 9; -D a 1");
    assert_int_equal(f.t.ledger.dropped[WR_REASON_RETRACT_UNKNOWN], 1);
    wr_str left = wr_str_of(tk_fold(&f.t)); /* fails if what goes had not come */
    assert_true(wr_str_starts(left, WR_STR("a 3 ")));
    assert_non_null(strstr(left.ptr, "\nb 2 "));
    wr_op_usage u;
    f.op->vt->usage(f.op, &u);
    assert_int_equal(u.keys, 2);
    close_op(&f);
}

static void random_streams(void **state) {
    (void)state;
    for (uint64_t seed = 0; seed < 40; seed++) {
        fixture f;
        wr_rng  rng;
        wr_sbuf rows = {0}, image = {0};
        int     there[60] = {0};
        wr_rng_seed(&rng, seed);
        open_op(&f, 1 + (uint32_t)wr_rng_below(&rng, 5), seed % 2);
        f.t.feed_rows = 1 + (uint32_t)wr_rng_below(&rng, 7);
        for (int i = 0; i < 300; i++) {
            uint32_t r = (uint32_t)wr_rng_below(&rng, 60);
            bool     goes = there[r] > 0 && wr_rng_below(&rng, 2);
            there[r] += goes ? -1 : 1;
            wr_sbuf_printf(&rows, "%s k%u %u\n", goes ? "-D" : "+I", r % 7, r);
        }
        const char *at = rows.at, *middle = strchr(rows.at + rows.len / 2, '\n') + 1;
        char       *first = wr_arena_strndup(f.t.arena, at, (size_t)(middle - at));
        tk_send(&f.t, f.op, 0, f.in, first);
        tk_save(f.op, &image);
        f.op->vt->close(f.op);
        f.op = wr_keep_new(&f.opts, f.in, &f.t.ctx);
        tk_load(&f.t, f.op, &image, 0, WR_KEY_GROUPS_DEFAULT);
        tk_send(&f.t, f.op, 0, f.in, middle);
        (void)tk_fold(&f.t); /* each retraction equals an earlier row */
        assert_int_equal(f.t.ledger.dropped[WR_REASON_RETRACT_UNKNOWN], 0);
        uint64_t left = 0;
        for (int r = 0; r < 60; r++) left += there[r] > 0;
        wr_op_usage u;
        f.op->vt->usage(f.op, &u);
        assert_int_equal(u.keys, left);
        for (int r = 0; r < 60; r++) /* all go: nothing is left */
            for (wr_sbuf_clear(&rows); there[r] > 0; there[r]--) {
                wr_sbuf_clear(&rows);
                wr_sbuf_printf(&rows, "-D k%d %d", r % 7, r);
                tk_send(&f.t, f.op, 0, f.in, rows.at);
            }
        assert_string_equal(tk_fold(&f.t), "");
        close_op(&f);
        wr_sbuf_free(&rows);
        wr_sbuf_free(&image);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(retractions_take_back_what_came), cmocka_unit_test(random_streams)};
    return tk_run_tests(tests);
}
