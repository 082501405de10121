/* op/spread_test.c: parts of a key lie on workers of their own, a retraction gets the part of its insertion, the kept side is in every part once. */
#include "op/op_testkit.h"

enum { GROUPS = 128, N_KEYS = 200 };
typedef struct taken { uint64_t hash; int32_t key, part; wr_kind kind; } taken;
typedef struct taker { wr_out out; WR_ARR(taken) rows; } taker;

static wr_status take(wr_out *out, wr_batch *b, wr_err *err) {
    taker         *t = (taker *)out;
    const uint32_t keys[] = {0, b->n_cols - 1};
    uint64_t       hash[WR_BATCH_MAX];
    (void)err;
    wr_batch_hash(b, keys, 2, hash);
    for (uint32_t i = 0; i < wr_batch_live(b); i++) {
        uint32_t row = wr_batch_row(b, i);
        wr_arr_push(&t->rows, ((taken){hash[row], ((const int32_t *)b->cols[0].data)[row], ((const int32_t *)b->cols[b->n_cols - 1].data)[row], wr_batch_kind(b, row)}));
    }
    wr_batch_unref(b);
    return WR_OK;
}

static wr_batch *rows_of(tk *t, const wr_schema *s, int32_t key, uint32_t n, wr_kind kind) { /* (key, 0), (key, 1) ... */
    (void)t;
    wr_builder *b = wr_builder_new(s, n);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t row = wr_builder_add(b, kind);
        for (uint32_t c = 0; c < 2; c++) {
            wr_vec *v = wr_builder_col(b, c);
            if (v->valid) wr_valid_set(v->valid, row, true);
            ((int32_t *)v->data)[row] = c ? (int32_t)i : key;
        }
    }
    wr_batch *batch = wr_builder_take(b);
    wr_builder_free(b);
    return batch;
}

static void run(tk *t, const wr_schema *s, const wr_spread_opts *o, taker *to, uint32_t n, wr_kind kind) {
    wr_op *op = wr_spread_new(o, &t->ctx);
    to->out.emit = take;
    for (int32_t key = 0; key < N_KEYS; key++) {
        wr_batch *b = rows_of(t, s, key, n, kind);
        assert_int_equal(op->vt->on_batch(op, 0, b, &to->out, &t->err), WR_OK);
        wr_batch_unref(b);
    }
    op->vt->close(op);
}

/* As many workers as parts: each worker has one part of each key, and the kept side has the same parts as the spread one. */
static void test_parts_apart(void **state) {
    (void)state;
    static const uint32_t KEY[] = {0};
    for (uint32_t ways = 2; ways <= 16; ways *= 2) {
        tk t;
        tk_init(&t, WR_BATCH_MAX);
        t.ctx.n_key_groups = GROUPS;
        const wr_schema *s = tk_schema(&t, "k INT, v INT");
        taker            big = {0}, small = {0};
        run(&t, s, &(wr_spread_opts){.ways = ways, .n_keys = 1, .keys = KEY}, &big, 4 * ways, WR_KIND_INSERT);
        run(&t, s, &(wr_spread_opts){.ways = ways, .replicate = true, .n_keys = 1, .keys = KEY}, &small, 1, WR_KIND_INSERT);
        assert_int_equal(big.rows.n, N_KEYS * 4 * ways);
        assert_int_equal(small.rows.n, N_KEYS * ways);
        uint32_t away = 0;
        for (int32_t key = 0; key < N_KEYS; key++) {
            uint32_t got[16] = {0};
            for (uint32_t i = 0; i < small.rows.n; i++) {
                if (small.rows.at[i].key != key) continue;
                uint32_t rows = 0; /* of the big side that meet this copy */
                for (uint32_t k = 0; k < big.rows.n; k++) rows += big.rows.at[k].key == key && big.rows.at[k].part == small.rows.at[i].part;
                assert_int_equal(rows, 4);
                got[wr_group_worker(wr_key_group(small.rows.at[i].hash, GROUPS), GROUPS, ways)]++;
            }
            for (uint32_t w = 0; w < ways; w++) away += got[w] != 1;
        }
        assert_true(away <= N_KEYS * ways / 100); /* the search gives up once in e^8 */
        wr_arr_free(&big.rows);
        wr_arr_free(&small.rows);
        tk_free(&t);
    }
}

static void test_retraction_meets_insertion(void **state) {
    (void)state;
    static const uint32_t KEY[] = {0}, BY[] = {0, 1};
    tk t;
    tk_init(&t, WR_BATCH_MAX);
    t.ctx.n_key_groups = GROUPS;
    const wr_schema *s = tk_schema(&t, "k INT, v INT");
    taker            adds = {0}, takes = {0};
    wr_spread_opts   o = {.ways = 5, .n_keys = 1, .keys = KEY, .retract_input = true, .n_by = 2, .by = BY};
    run(&t, s, &o, &adds, 50, WR_KIND_INSERT);
    t.ctx.worker = 3; /* wherever it comes from */
    run(&t, s, &o, &takes, 50, WR_KIND_DELETE);
    uint32_t parts = 0;
    for (uint32_t i = 0; i < adds.rows.n; i++) {
        assert_int_equal(adds.rows.at[i].part, takes.rows.at[i].part);
        if (adds.rows.at[i].key == 7) parts |= 1u << adds.rows.at[i].part % 5;
    }
    assert_int_equal(parts, 31);
    wr_arr_free(&adds.rows);
    wr_arr_free(&takes.rows);
    tk_free(&t);
}

/* Keys that are not hot have part 0 and are kept once; kinds and lateness stay, NULL is not hot. */
static void test_hot_keys_only(void **state) {
    (void)state;
    static const uint32_t KEY[] = {0};
    for (uint32_t rows = 1; rows <= 4; rows++) {
        tk t;
        tk_init(&t, rows);
        const wr_schema *s = tk_schema(&t, "k INT, hot BOOLEAN");
        wr_expr         *hot = wr_expr_col(t.arena, 1, wr_type_of(WR_T_BOOLEAN), (wr_span){0});
        wr_op           *op = wr_spread_new(&(wr_spread_opts){.ways = 2, .replicate = true, .n_keys = 1, .keys = KEY, .hot = hot}, &t.ctx);
        t.ctx.n_key_groups = 1; /* part 1 has no stretch of its own: it keeps its number */
        tk_send(&t, op, 0, s, "1 false; -U 2 true !3; +U 3 NULL");
        tk_expect(&t, "+I 1 false 0\n-U 2 true 0 !3\n+U 3 NULL 0\n-U 2 true 1 !3\n");
        op->vt->close(op);
        op = wr_spread_new(&(wr_spread_opts){.ways = 2, .n_keys = 1, .keys = KEY, .hot = hot}, &t.ctx);
        tk_send(&t, op, 0, s, "1 true; 1 false; 1 true; 2 true");
        tk_expect(&t, "+I 1 true 1\n+I 1 false 0\n+I 1 true 0\n+I 2 true 1\n");
        op->vt->close(op);
        tk_free(&t);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_parts_apart), cmocka_unit_test(test_retraction_meets_insertion), cmocka_unit_test(test_hot_keys_only)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
