/* op/local_agg_test.c: two phases give what one phase gives, for random rows, batch sizes and exchanges that compact; late rows; skipping. */
#include "op/op_testkit.h"
#include "base/hash.h"

typedef struct link { /* local -> (compacted now and then, as queues do) -> the second phase */
    wr_out   out;
    tk      *t;
    wr_op   *next;
    uint32_t n, rows;
    bool     compact;
} link;
static wr_status link_emit(wr_out *out, wr_batch *batch, wr_err *err) {
    link *l = (link *)out;
    if (l->compact && l->n % 2) {
        wr_batch *dense = wr_batch_compact(batch);
        wr_batch_unref(batch);
        batch = dense;
    }
    l->n++;
    l->rows += wr_batch_live(batch);
    wr_status s = l->next->vt->on_batch(l->next, 0, batch, &l->t->out, err);
    wr_batch_unref(batch);
    return s;
}
static bool link_full(wr_out *out) { return !out; }

static wr_type T(wr_tid id) { return wr_type_of(id); }
static wr_type partial_type(void) { return wr_type_prec(WR_T_VARBINARY, WR_LENGTH_MAX); }
static wr_agg agg(wr_agg_kind kind, int32_t arg, wr_type arg_type, wr_type type, int32_t filter) {
    return (wr_agg){.kind = kind, .arg = arg, .arg2 = -1, .filter = filter, .arg_type = arg_type, .type = type};
}
static const wr_schema *widened(tk *t, const wr_schema *in) {
    wr_field *f = wr_new_n(t->arena, wr_field, in->n + 1);
    for (uint32_t i = 0; i < in->n; i++) f[i] = in->fields[i];
    f[in->n] = (wr_field){.name = WR_STR("$partial"), .type = partial_type()};
    wr_schema *s = wr_new(t->arena, wr_schema);
    *s = (wr_schema){in->n + 1, f};
    return s;
}
static void feed(tk *t, link *l, wr_op *local, const wr_schema *in, const char *rows) {
    wr_batch *batch;
    while ((batch = tk_batch_some(in, &rows, t->feed_rows))) {
        wr_status s = local->vt->on_batch(local, 0, batch, &l->out, &t->err);
        wr_batch_unref(batch);
        tk_ok(t, s);
    }
}

#define SCHEMA "k INT, s STRING, v INT, d DOUBLE, m DECIMAL(10,2), f BOOLEAN, ts TIMESTAMP(3)*"
enum { K, S, V, D, M, F, TS };
static uint32_t all_aggs(wr_agg *out, bool retract) {
    uint32_t n = 0;
    out[n++] = agg(WR_AGG_COUNT_STAR, -1, T(WR_T_BIGINT), T(WR_T_BIGINT), -1);
    out[n++] = agg(WR_AGG_COUNT, V, T(WR_T_INT), T(WR_T_BIGINT), F);
    out[n++] = agg(WR_AGG_SUM, V, T(WR_T_INT), T(WR_T_INT), -1);
    out[n++] = agg(WR_AGG_AVG, V, T(WR_T_INT), T(WR_T_INT), -1);
    out[n++] = agg(WR_AGG_SUM, M, wr_type_decimal(10, 2), wr_type_decimal(38, 2), F);
    if (retract) return n;
    out[n++] = agg(WR_AGG_SUM, D, T(WR_T_DOUBLE), T(WR_T_DOUBLE), -1);
    out[n++] = agg(WR_AGG_MIN, V, T(WR_T_INT), T(WR_T_INT), -1);
    out[n++] = agg(WR_AGG_MAX, M, wr_type_decimal(10, 2), wr_type_decimal(10, 2), -1);
    out[n++] = agg(WR_AGG_MAX, S, wr_type_string(), wr_type_string(), F);
    out[n++] = agg(WR_AGG_APPROX_COUNT_DISTINCT, V, T(WR_T_INT), T(WR_T_BIGINT), -1);
    for (uint32_t i = 0; i < n; i++) assert_null(wr_agg_one_phase_reason(&out[i], false));
    return n;
}

/* Random rows, one key with 60 % of them; with retract, some are taken back later. */
static void make_rows(wr_rng *rng, uint32_t n, bool retract, wr_sbuf *out) {
    wr_sbuf row = {0}, old[64] = {0};
    for (uint32_t i = 0; i < n; i++) {
        uint32_t k = wr_rng_below(rng, 10) < 6 ? 7 : (uint32_t)wr_rng_below(rng, 40);
        wr_sbuf_clear(&row);
        if (wr_rng_below(rng, 20)) wr_sbuf_printf(&row, "%u", k);
        else wr_sbuf_addz(&row, "NULL");
        wr_sbuf_printf(&row, " 'a text that is long %u'", (unsigned)wr_rng_below(rng, 9));
        if (wr_rng_below(rng, 6)) wr_sbuf_printf(&row, " %d", (int)wr_rng_below(rng, 2000) - 1000);
        else wr_sbuf_addz(&row, " NULL");
        wr_sbuf_printf(&row, " %u.%02u %u.%02u %s %u.%03u", (unsigned)wr_rng_below(rng, 100), (unsigned)wr_rng_below(rng, 100), (unsigned)wr_rng_below(rng, 100),
                       (unsigned)wr_rng_below(rng, 100), wr_rng_below(rng, 3) ? "true" : "false", i / 50, (unsigned)wr_rng_below(rng, 1000));
        wr_sbuf_printf(out, "%.*s\n", (int)row.len, row.at);
        if (!retract) continue;
        wr_sbuf *o = &old[wr_rng_below(rng, 64)];
        if (o->len) wr_sbuf_printf(out, "%s %.*s\n", wr_rng_below(rng, 2) ? "-D" : "-U", (int)o->len, o->at);
        wr_sbuf_clear(o);
        wr_sbuf_add(o, row.at, row.len);
    }
    wr_sbuf_free(&row);
    for (int i = 0; i < 64; i++) wr_sbuf_free(&old[i]);
}

static void check_group(uint64_t seed, bool retract, uint32_t n_keys, bool no_aggs) {
    wr_rng  rng;
    wr_sbuf rows = {0};
    wr_rng_seed(&rng, seed);
    make_rows(&rng, 3000, retract, &rows);
    tk t;
    tk_init(&t, 2048);
    const wr_schema *in = tk_schema(&t, SCHEMA), *wide = widened(&t, in);
    wr_agg           aggs[16];
    uint32_t         n = no_aggs ? 0 : all_aggs(aggs, retract), keys[] = {K, S};
    wr_group_agg_opts o = {.n_keys = n_keys, .keys = keys, .n_aggs = n, .aggs = aggs, .retract_input = retract, .emit_before = true};
    wr_op *one = wr_group_agg_new(&o, in, &t.ctx);
    tk_send(&t, one, 0, in, rows.at);
    char *want = wr_strdup(tk_fold(&t));
    one->vt->close(one);
    tk_clear(&t);
    assert_true(strlen(want) > 0);
    for (uint32_t round = 0; round < 3; round++) {
        t.feed_rows = (uint32_t[]){1, 37, 2048}[round];
        o.partial = true;
        wr_op *local = wr_local_agg_new(&(wr_local_agg_opts){.n_keys = n_keys, .keys = keys, .n_aggs = n, .aggs = aggs, .retract_input = retract,
                                                             .always = true, .partial_type = partial_type()}, &t.ctx);
        link   l = {.out = {link_emit, link_full}, .t = &t, .next = wr_group_agg_new(&o, wide, &t.ctx), .compact = seed % 2};
        feed(&t, &l, local, in, rows.at);
        assert_string_equal(tk_fold(&t), want);
        assert_int_equal(t.ledger.dropped[WR_REASON_RETRACT_UNKNOWN], 0);
        if (t.feed_rows == 2048) assert_true(l.rows < 1500);
        local->vt->close(local);
        l.next->vt->close(l.next);
        tk_clear(&t);
    }
    wr_free(want);
    wr_sbuf_free(&rows);
    tk_free(&t);
}
static void test_group(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= 6; seed++) {
        check_group(seed, false, (uint32_t)(seed % 3), false);
        check_group(seed, true, (uint32_t)(seed % 3), false);
        check_group(seed, seed % 2, 1, true);
    }
}

/* Windows of each kind, with late rows among the others: same windows, same number of late rows. */
static void test_windows(void **state) {
    (void)state;
    const wr_window windows[] = {
        {.kind = WR_WINDOW_TUMBLE, .size_us = 10000000, .slide_us = 10000000, .time_col = TS},
        {.kind = WR_WINDOW_HOP, .size_us = 10000000, .slide_us = 4000000, .offset_us = 1000000, .time_col = TS},
        {.kind = WR_WINDOW_CUMULATE, .size_us = 12000000, .slide_us = 3000000, .time_col = TS},
    };
    for (uint64_t seed = 1; seed <= 6; seed++) {
        wr_rng  rng;
        wr_sbuf plain = {0}, rows = {0};
        wr_rng_seed(&rng, seed);
        make_rows(&rng, 1500, false, &plain);
        for (const char *at = plain.at, *nl; *at && (nl = strchr(at, '\n')); at = nl + 1) /* some rows come late by a few seconds or many */
            wr_sbuf_printf(&rows, wr_rng_below(&rng, 10) ? "%.*s\n" : "%.*s !%u\n", (int)(nl - at), at, 5 + (unsigned)wr_rng_below(&rng, 40));
        tk t;
        tk_init(&t, 2048);
        const wr_schema *in = tk_schema(&t, SCHEMA), *wide = widened(&t, in);
        wr_agg           aggs[16];
        uint32_t         n = all_aggs(aggs, false), keys[] = {K};
        wr_window_agg_opts o = {.window = windows[seed % 3], .n_keys = seed > 3, .keys = keys, .n_aggs = n, .aggs = aggs, .out_start = true, .out_end = true};
        wr_op *one = wr_window_agg_new(&o, in, &t.ctx);
        tk_send(&t, one, 0, in, rows.at);
        tk_end(&t, one);
        char    *want = wr_strdup(tk_fold(&t));
        uint64_t late = t.ledger.dropped[WR_REASON_LATE];
        one->vt->close(one);
        assert_true(late > 0 && strlen(want) > 0);
        for (uint32_t round = 0; round < 3; round++) {
            t.feed_rows = (uint32_t[]){1, 61, 2048}[round];
            tk_clear(&t);
            t.ledger.dropped[WR_REASON_LATE] = 0;
            o.partial = true;
            wr_op *local = wr_local_agg_new(&(wr_local_agg_opts){.n_keys = o.n_keys, .keys = keys, .n_aggs = n, .aggs = aggs, .always = true, .windowed = true,
                                                                 .window = o.window, .partial_type = partial_type()}, &t.ctx);
            link   l = {.out = {link_emit, link_full}, .t = &t, .next = wr_window_agg_new(&o, wide, &t.ctx), .compact = true};
            feed(&t, &l, local, in, rows.at);
            tk_end(&t, l.next);
            assert_string_equal(tk_fold(&t), want);
            assert_int_equal(t.ledger.dropped[WR_REASON_LATE], late);
            if (t.feed_rows == 2048) assert_true(l.rows < 1200);
            local->vt->close(local);
            l.next->vt->close(l.next);
        }
        wr_free(want);
        wr_sbuf_free(&plain);
        wr_sbuf_free(&rows);
        tk_free(&t);
    }
}

/* Hand: what is combined, what stays alone, and what a batch without repetition does. */
static void test_adaptive(void **state) {
    (void)state;
    tk t;
    tk_init(&t, 2048);
    t.ctx.n_workers = 4;
    const wr_schema *in = tk_schema(&t, "k INT, v INT"), *wide = widened(&t, in);
    wr_agg           sum = agg(WR_AGG_SUM, 1, T(WR_T_INT), T(WR_T_INT), -1);
    uint32_t         keys[] = {0};
    wr_group_agg_opts o = {.n_keys = 1, .keys = keys, .n_aggs = 1, .aggs = &sum, .emit_before = true, .partial = true};
    wr_op *local = wr_local_agg_new(&(wr_local_agg_opts){.n_keys = 1, .keys = keys, .n_aggs = 1, .aggs = &sum, .partial_type = partial_type()}, &t.ctx);
    link   l = {.out = {link_emit, link_full}, .t = &t, .next = wr_group_agg_new(&o, wide, &t.ctx)};
    feed(&t, &l, local, in, "1 10; 2 5; 1 20; 3 7; 1 1; 2 1; 1 4");
    assert_int_equal(l.rows, 4); /* the two rows of key 2 are not worth it */
    assert_string_equal(tk_fold(&t), "1 35\n2 6\n3 7\n");
    l.rows = 0;
    feed(&t, &l, local, in, "4 1; 5 1; 6 1; 7 1; 8 1"); /* nothing to combine: the next batch is not looked at */
    feed(&t, &l, local, in, "1 1; 1 1; 1 1; 1 1");
    assert_int_equal(l.rows, 9);
    feed(&t, &l, local, in, "1 1; 1 1; 1 1; 1 1");
    assert_int_equal(l.rows, 10);
    assert_string_equal(tk_fold(&t), "1 43\n2 6\n3 7\n4 1\n5 1\n6 1\n7 1\n8 1\n");
    local->vt->close(local);
    l.next->vt->close(l.next);
    tk_free(&t);
}

/* Which aggregates stay in one phase. */
static void test_reasons(void **state) {
    (void)state;
    wr_agg sum = agg(WR_AGG_SUM, 0, T(WR_T_INT), T(WR_T_INT), -1), max = agg(WR_AGG_MAX, 0, T(WR_T_INT), T(WR_T_INT), -1);
    wr_agg real = agg(WR_AGG_SUM, 0, T(WR_T_DOUBLE), T(WR_T_DOUBLE), -1), wide = agg(WR_AGG_SUM, 0, wr_type_decimal(38, 2), wr_type_decimal(38, 2), -1);
    assert_null(wr_agg_one_phase_reason(&sum, true));
    assert_null(wr_agg_one_phase_reason(&max, false));
    assert_non_null(wr_agg_one_phase_reason(&max, true));
    assert_null(wr_agg_one_phase_reason(&real, false));
    assert_non_null(wr_agg_one_phase_reason(&real, true));
    assert_non_null(wr_agg_one_phase_reason(&wide, false));
    sum.distinct = true;
    assert_non_null(wr_agg_one_phase_reason(&sum, false));
    const wr_agg_kind never[] = {WR_AGG_FIRST_VALUE, WR_AGG_LAST_VALUE, WR_AGG_LISTAGG, WR_AGG_COLLECT, WR_AGG_ARRAY_AGG, WR_AGG_VAR_POP, WR_AGG_STDDEV_SAMP, WR_AGG_SINGLE_VALUE};
    for (size_t i = 0; i < WR_COUNT_OF(never); i++) {
        wr_agg a = agg(never[i], 0, T(WR_T_DOUBLE), T(WR_T_DOUBLE), -1);
        assert_non_null(wr_agg_one_phase_reason(&a, false));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_group), cmocka_unit_test(test_windows), cmocka_unit_test(test_adaptive), cmocka_unit_test(test_reasons)};
    return tk_run_tests(tests);
}
