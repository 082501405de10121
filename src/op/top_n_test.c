/* op/top_n_test.c: Flink's recorded Top-N changelogs (shared/flink/sem/06), window Top-N, and random changelogs against sorting. */
#include "op/op_testkit.h"
#include "base/hash.h"

static const char ev[] = "1 a 1; 2 b 2; 3 a 3; 4 a 4; 5 NULL 5; 6 a 6; 7 b 7; 8 a 8; 9 a 9; 10 b 10; 11 a NULL; 12 b 12";

static void test_flink_without_rank(void **state) {
    (void)state;
    tk t;
    tk_init(&t, 2048);
    t.feed_rows = 1;
    const wr_schema *in = tk_schema(&t, "id INT, k STRING, v INT");
    wr_sort_key order = {.col = 2, .desc = true, .nulls_last = true};
    wr_op *op = wr_top_n_new(&(wr_top_n_opts){.n_keys = 1, .keys = (uint32_t[]){1}, .n_order = 1, .order = &order, .first = 1, .last = 2, .emit_before = true,
                                              .window_end = -1}, in, &t.ctx);
    tk_send(&t, op, 0, in, ev);
    tk_expect(&t, "+I 1 a 1\n+I 2 b 2\n+I 3 a 3\n-D 1 a 1\n+I 4 a 4\n+I 5 NULL 5\n-D 3 a 3\n+I 6 a 6\n+I 7 b 7\n-D 4 a 4\n+I 8 a 8\n-D 6 a 6\n+I 9 a 9\n"
                  "-D 2 b 2\n+I 10 b 10\n-D 7 b 7\n+I 12 b 12\n");
    /* 12 rows in = 5 shown + 7 out of the first two */
    assert_int_equal(t.ledger.dropped[WR_REASON_RANKED_OUT], 7);
    op->vt->close(op);
    tk_free(&t);
}
static void test_flink_with_rank(void **state) {
    (void)state;
    for (int retract = 0; retract < 2; retract++) {
        tk t;
        tk_init(&t, 2048);
        t.feed_rows = 1;
        const wr_schema *in = tk_schema(&t, "id INT, k STRING, v INT");
        wr_sort_key order = {.col = 2, .desc = true, .nulls_last = true};
        wr_op *op = wr_top_n_new(&(wr_top_n_opts){.n_keys = 1, .keys = (uint32_t[]){1}, .n_order = 1, .order = &order, .first = 1, .last = 2, .out_rank = true,
                                                  .emit_before = true, .retract_input = retract, .window_end = -1}, in, &t.ctx);
        tk_send(&t, op, 0, in, ev);
        tk_expect(&t, "+I 1 a 1 1\n+I 2 b 2 1\n-U 1 a 1 1\n+U 3 a 3 1\n+I 1 a 1 2\n-U 3 a 3 1\n+U 4 a 4 1\n-U 1 a 1 2\n+U 3 a 3 2\n+I 5 NULL 5 1\n-U 4 a 4 1\n"
                      "+U 6 a 6 1\n-U 3 a 3 2\n+U 4 a 4 2\n-U 2 b 2 1\n+U 7 b 7 1\n+I 2 b 2 2\n-U 6 a 6 1\n+U 8 a 8 1\n-U 4 a 4 2\n+U 6 a 6 2\n-U 8 a 8 1\n+U 9 a 9 1\n"
                      "-U 6 a 6 2\n+U 8 a 8 2\n-U 7 b 7 1\n+U 10 b 10 1\n-U 2 b 2 2\n+U 7 b 7 2\n-U 10 b 10 1\n+U 12 b 12 1\n-U 7 b 7 2\n+U 10 b 10 2\n");
        op->vt->close(op);
        tk_free(&t);
    }
}
/* SELECT id FROM ev ORDER BY v LIMIT 2: NULL is the smallest; rows 1 and 2, then -D 2, +I 11. */
static void test_flink_global(void **state) {
    (void)state;
    tk t;
    tk_init(&t, 2048);
    t.feed_rows = 1;
    const wr_schema *in = tk_schema(&t, "id INT, k STRING, v INT");
    wr_sort_key order = {.col = 2};
    wr_op *op = wr_top_n_new(&(wr_top_n_opts){.n_order = 1, .order = &order, .first = 1, .last = 2, .emit_before = true, .window_end = -1}, in, &t.ctx);
    tk_send(&t, op, 0, in, ev);
    tk_expect(&t, "+I 1 a 1\n+I 2 b 2\n-D 2 b 2\n+I 11 a NULL\n");
    op->vt->close(op);
    tk_free(&t);
}

/* Updates by unique key: +U without -U finds its old row; -D may carry only the key; a stale -U is ignored; ties go by the key. */
static void test_unique(void **state) {
    (void)state;
    tk t;
    tk_init(&t, 2048);
    const wr_schema *in = tk_schema(&t, "id INT, v INT");
    wr_sort_key order = {.col = 1, .desc = true, .nulls_last = true};
    wr_op *op = wr_top_n_new(&(wr_top_n_opts){.n_order = 1, .order = &order, .first = 1, .last = 2, .retract_input = true, .emit_before = true, .n_unique = 1,
                                              .unique = (uint32_t[]){0}, .window_end = -1}, in, &t.ctx);
    tk_send(&t, op, 0, in, "9 5; 3 5; 4 5; 1 1");
    tk_expect(&t, "+I 3 5\n+I 4 5\n");
    tk_send(&t, op, 0, in, "+U 1 7");
    tk_expect(&t, "-D 4 5\n+I 1 7\n");
    tk_send(&t, op, 0, in, "-U 1 7; +U 1 8");
    tk_expect(&t, "-U 1 7\n+U 1 8\n");
    tk_send(&t, op, 0, in, "-U 1 7; -D 77 1");
    tk_expect(&t, "");
    assert_int_equal(t.ledger.dropped[WR_REASON_RETRACT_UNKNOWN], 2);
    tk_send(&t, op, 0, in, "-D 3 NULL");
    tk_expect(&t, "-D 3 5\n+I 4 5\n");
    tk_send(&t, op, 0, in, "-D 1 8; -D 4 5; -D 9 5");
    tk_expect(&t, "-D 1 8\n-D 4 5\n");
    op->vt->close(op);
    tk_free(&t);
}

/* Window Top-N, Flink 06: first by v in 10 s windows, emitted when each closes. */
static void test_window(void **state) {
    (void)state;
    for (uint32_t full = 0; full < 2; full++) {
        tk t;
        tk_init(&t, full ? 1 : 2048);
        t.full_every = full;
        const wr_schema *in = tk_schema(&t, "id INT, v INT, we TIMESTAMP(3)");
        wr_sort_key order = {.col = 1, .desc = true, .nulls_last = true};
        wr_op *op = wr_top_n_new(&(wr_top_n_opts){.n_keys = 1, .keys = (uint32_t[]){2}, .n_order = 1, .order = &order, .first = 1, .last = 2, .out_rank = true,
                                                  .window_end = 2}, in, &t.ctx);
        tk_send(&t, op, 0, in, "1 1 10; 2 2 10; 3 3 10; 4 4 20; 9 9 30");
        tk_expect(&t, "");
        tk_watermark(&t, op, 9.998);
        tk_expect(&t, "");
        tk_watermark(&t, op, 9.999);
        tk_expect(&t, "+I 3 3 10 1\n+I 2 2 10 2\n");
        tk_send(&t, op, 0, in, "6 6 10 !9.999; 5 5 20; 7 9 30");
        assert_int_equal(t.ledger.dropped[WR_REASON_LATE], 1);
        tk_end(&t, op);
        tk_expect(&t, "+I 5 5 20 1\n+I 4 4 20 2\n+I 9 9 30 1\n+I 7 9 30 2\n");
        wr_op_usage use;
        op->vt->usage(op, &use);
        assert_int_equal(use.keys, 0);
        op->vt->close(op);
        tk_free(&t);
    }
}

/* ---- random ---- */

typedef struct row { int id, k, v; uint32_t seq; bool live; } row;
typedef struct setup { wr_rank_kind rank; int first, last; bool out_rank, retract, unique, desc; } setup;
static const setup *current;
static int row_order(const void *a, const void *b) {
    const row *x = *(row *const *)a, *y = *(row *const *)b;
    int vx = x->v, vy = y->v, order = (vx > vy) - (vx < vy); /* NULL is -1: lowest */
    if (order) return current->desc ? -order : order;
    if (current->unique) return (x->id > y->id) - (x->id < y->id);
    return (x->seq > y->seq) - (x->seq < y->seq);
}
static void naive(row *rows, uint32_t n, const setup *s, wr_sbuf *out) {
    row *list[3000];
    current = s;
    for (int k = 0; k < 4; k++) {
        uint32_t m = 0;
        for (uint32_t i = 0; i < n; i++)
            if (rows[i].live && rows[i].k == k) list[m++] = &rows[i];
        qsort(list, m, sizeof *list, row_order);
        int rank = 0, dense = 0;
        for (uint32_t i = 0; i < m; i++) {
            bool peer = i && list[i]->v == list[i - 1]->v;
            if (!peer) rank = (int)i + 1, dense++;
            int r = s->rank == WR_RANK_ROW_NUMBER ? (int)i + 1 : s->rank == WR_RANK_RANK ? rank : dense;
            if (r < s->first || r > s->last) continue;
            wr_sbuf_printf(out, "%d %d ", list[i]->id, k);
            if (list[i]->v < 0) wr_sbuf_addz(out, "NULL");
            else wr_sbuf_printf(out, "%d", list[i]->v);
            if (s->out_rank) wr_sbuf_printf(out, " %d", r);
            wr_sbuf_addc(out, '\n');
        }
    }
}
static wr_op *open_op(tk *t, const setup *s, const wr_schema *in) {
    static wr_sort_key order;
    order = (wr_sort_key){.col = 2, .desc = s->desc, .nulls_last = s->desc};
    static const uint32_t keys[] = {1}, unique[] = {0};
    return wr_top_n_new(&(wr_top_n_opts){.rank = s->rank, .n_keys = 1, .keys = keys, .n_order = 1, .order = &order, .first = (uint64_t)s->first, .last = (uint64_t)s->last,
                                         .out_rank = s->out_rank, .retract_input = s->retract, .emit_before = true, .n_unique = s->unique, .unique = unique,
                                         .window_end = -1}, in, &t->ctx);
}
static void put(wr_sbuf *out, const char *kind, const row *r) {
    wr_sbuf_printf(out, "%s %d %d ", kind, r->id, r->k);
    if (r->v < 0) wr_sbuf_addz(out, "NULL\n");
    else wr_sbuf_printf(out, "%d\n", r->v);
}
static void random_run(uint64_t seed, const setup *s, uint32_t feed, uint32_t batch_rows) {
    tk t;
    tk_init(&t, batch_rows);
    t.feed_rows = feed;
    const wr_schema *in = tk_schema(&t, "id INT, k INT, v INT");
    wr_op *op = open_op(&t, s, in);
    static row rows[3000];
    uint32_t n = 0;
    wr_rng   rng;
    wr_rng_seed(&rng, seed);
    wr_sbuf log = {0}, text = {0}, want = {0};
    for (int round = 0; round < 8; round++) {
        wr_sbuf_clear(&text);
        for (uint32_t i = 1 + (uint32_t)wr_rng_below(&rng, 60); i; i--) {
            uint32_t at = n ? (uint32_t)wr_rng_below(&rng, n) : 0;
            if (s->retract && n && rows[at].live && wr_rng_below(&rng, 2)) {
                for (uint32_t j = 0; j < at; j++) /* the earliest of equal rows */
                    if (rows[j].live && rows[j].id == rows[at].id && rows[j].k == rows[at].k && rows[j].v == rows[at].v) at = j;
                rows[at].live = false;
                put(&text, wr_rng_below(&rng, 2) ? "-D" : "-U", &rows[at]);
                if (wr_rng_below(&rng, 2)) { /* an update */
                    rows[n] = (row){rows[at].id, rows[at].k, (int)wr_rng_below(&rng, 12) - 1, n, true};
                    put(&text, "+U", &rows[n]);
                    n++;
                }
                continue;
            }
            rows[n] = (row){(int)n, (int)wr_rng_below(&rng, 4), (int)wr_rng_below(&rng, 12) - 1, n, true};
            put(&text, "+I", &rows[n]);
            n++;
        }
        tk_send(&t, op, 0, in, text.at);
        wr_sbuf_add_str(&log, wr_sbuf_str(&t.text));
        tk_clear(&t);
        if (round == 4) {
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
            for (int p = 0; p < 3; p++) tk_load(&t, op, &again[p], 0, 128), wr_sbuf_free(&again[p]);
            wr_sbuf_free(&image);
        }
        wr_sbuf_clear(&want);
        wr_sbuf_addz(&want, "");
        naive(rows, n, s, &want);
        char *sorted = wr_strdup(tk_sort_text(&t, want.len ? want.at : ""));
        const char *got = tk_fold_text(&t, log.at ? log.at : "");
        if (strcmp(got, sorted) != 0) print_error("seed %llu rank %d %d..%d out %d retract %d unique %d round %d\n", (unsigned long long)seed, s->rank, s->first, s->last, s->out_rank, s->retract, s->unique, round);
        assert_string_equal(got, sorted);
        wr_free(sorted);
    }
    if (!s->retract) { /* in = shown or ranked out, for append-only input */
        wr_op_usage use;
        op->vt->usage(op, &use);
        uint64_t known = use.rows + t.ledger.dropped[WR_REASON_RANKED_OUT], slack = tk_spills ? 40 : 0; /* rows left unread by a load are estimated */
        assert_true(known + slack >= t.ledger.in[0] && known <= t.ledger.in[0] + slack);
    }
    wr_sbuf_free(&log), wr_sbuf_free(&text), wr_sbuf_free(&want);
    op->vt->close(op);
    tk_free(&t);
}
static void test_random(void **state) {
    (void)state;
    const uint32_t sizes[] = {1, 3, 2048};
    const int limits[][2] = {{1, 1}, {1, 3}, {2, 4}, {1, 100}, {3, 3}};
    uint64_t seed = 1;
    for (int rank = 0; rank < 3; rank++)
        for (size_t l = 0; l < WR_COUNT_OF(limits); l++)
            for (int mode = 0; mode < 16; mode++, seed++) {
                setup s = {(wr_rank_kind)rank, limits[l][0], limits[l][1], mode & 1, mode & 2, mode & 4, mode & 8};
                random_run(seed, &s, sizes[seed % 3], sizes[seed / 3 % 3]);
            }
}

/* A key that no row touched for the TTL counts as absent, and is freed though no row of it comes again. */
static void test_ttl(void **state) {
    (void)state;
    for (int retract = 0; retract < 2; retract++) {
        tk t;
        tk_init(&t, 2048);
        const wr_schema  *in = tk_schema(&t, "k STRING, v INT");
        const wr_sort_key order = {.col = 1};
        wr_op *op = wr_top_n_new(&(wr_top_n_opts){.n_keys = 1, .keys = (uint32_t[]){0}, .n_order = 1, .order = &order, .first = 1, .last = 2, .retract_input = retract,
                                                  .window_end = -1, .ttl_us = 1000000}, in, &t.ctx);
        tk_send(&t, op, 0, in, "a 1; a 2; b 1; c 5");
        t.ctx.now_us = 999999;
        tk_send(&t, op, 0, in, "a 3");
        t.ctx.now_us = 1500000;
        tk_clear(&t);
        tk_send(&t, op, 0, in, "b 7; a 0"); /* b starts anew: 1 is forgotten, not taken back */
        assert_non_null(strstr(tk_text(&t), "+I b 7"));
        assert_null(strstr(tk_text(&t), "b 1"));
        tk_watermark(&t, op, 1);
        wr_op_usage use;
        op->vt->usage(op, &use);
        assert_int_equal(use.keys, 2); /* c is gone */
        assert_int_equal(use.rows, retract ? 5 : 3);
        assert_int_equal(t.ledger.dropped[WR_REASON_EXPIRED], 2);
        t.ctx.now_us = 4000000;
        tk_watermark(&t, op, 2);
        op->vt->usage(op, &use);
        assert_int_equal(use.keys, 0);
        assert_int_equal(use.rows, 0);
        op->vt->close(op);
        tk_free(&t);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_flink_without_rank), cmocka_unit_test(test_flink_with_rank), cmocka_unit_test(test_flink_global), cmocka_unit_test(test_unique),
        cmocka_unit_test(test_window), cmocka_unit_test(test_random), cmocka_unit_test(test_ttl),
    };
    return tk_run_tests(tests);
}
