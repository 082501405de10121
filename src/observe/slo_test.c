/* observe/slo_test.c: promises over made-up statuses: values, breaches, burn rates by hand arithmetic, windows of completeness, the file, restarts. */
#include "observe/slo.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#define S INT64_C(1000000)
#define HOUR (3600 * S)
static const int64_t START = INT64_C(1700000000) * S; /* in the middle of a minute: 20 s */

typedef struct rig {
    wr_arena       *arena;
    wr_pnode        source, sink;
    wr_table        in, out;
    wr_job_plan     plan;
    wr_pnode       *nodes[2];
    wr_node_status  status[2];
    wr_source_status from;
    wr_hist         hist;
    wr_job_status   s;
    wr_observer    *observer;
    wr_slos        *slos;
} rig;

/* Options: key, value, ..., NULL */
static void open_rig(rig *r, const wr_slo_file *file, ...) {
    *r = (rig){.arena = wr_arena_new(NULL)};
    va_list args;
    va_start(args, file);
    wr_table_option *o = wr_new_n(r->arena, wr_table_option, 16);
    uint32_t         n = 0;
    for (const char *key; (key = va_arg(args, const char *));) o[n].key = wr_str_of(key), o[n++].value = wr_str_of(va_arg(args, const char *));
    va_end(args);
    r->in.name = WR_STR("orders"), r->out.name = WR_STR("charges");
    r->out.options = o, r->out.n_options = n;
    r->source = (wr_pnode){.kind = WR_P_SOURCE, .id = "source-orders", .index = 0};
    r->source.source.table = &r->in;
    r->sink = (wr_pnode){.kind = WR_P_SINK, .id = "sink-charges", .index = 1, .n_inputs = 1, .inputs[0].node = &r->source};
    r->sink.sink.table = &r->out;
    r->nodes[0] = &r->source, r->nodes[1] = &r->sink;
    r->plan.nodes.at = r->nodes, r->plan.nodes.n = 2;
    r->status[0].node = &r->source, r->status[1].node = &r->sink, r->status[1].latency = &r->hist;
    r->status[1].watermark_us = WR_TIME_MIN;
    r->from.node = &r->source;
    r->s = (wr_job_status){.n_nodes = 2, .nodes = r->status, .n_sources = 1, .sources = &r->from, .wall_us = START, .mono_us = S};
    r->observer = wr_observer_new(&r->plan);
    r->slos = wr_slos_new(&r->plan, file);
}

static void close_rig(rig *r) {
    wr_slos_free(r->slos);
    wr_observer_free(r->observer);
    wr_arena_free(r->arena);
}

static void look(rig *r, int64_t later_us) {
    r->s.wall_us += later_us, r->s.mono_us += later_us;
    wr_observer_see(r->observer, &r->s, r->s.mono_us);
    wr_slos_see(r->slos, &r->s, r->observer, false);
}

static void lag(rig *r, uint64_t behind, int64_t for_us) {
    r->from.behind = behind;
    for (int64_t t = 0; t < for_us; t += S / 2) look(r, S / 2);
}

static void a_breach_comes_after_a_while_and_goes_so(void **state) {
    (void)state;
    rig r;
    open_rig(&r, NULL, "slo.lag", "1k", "slo.for", "10 s", NULL);
    const wr_slo_state *q = wr_slos_at(r.slos, 0);
    assert_int_equal(wr_slos_count(r.slos), 1);
    lag(&r, 1000, 20 * S);
    assert_true(q->kept && q->known && q->value == 1000 && q->alert == WR_SLO_FINE);
    lag(&r, 1001, 5 * S);
    assert_true(!q->kept && q->alert == WR_SLO_FINE);
    lag(&r, 1001, 6 * S);
    assert_int_equal(q->alert, WR_SLO_BREACH);
    lag(&r, 0, 5 * S);
    assert_true(q->kept && q->alert == WR_SLO_BREACH);
    lag(&r, 0, 6 * S);
    assert_int_equal(q->alert, WR_SLO_FINE);
    close_rig(&r);
}

/* 99 %: of 60 minutes 9 bad ones are 15 %, which is a burn rate of 15. */
static void which_windows(void **state) {
    (void)state;
    rig r;
    open_rig(&r, NULL, "slo.lag", "10", "slo.for", "1 d", NULL);
    const wr_slo_state *q = wr_slos_at(r.slos, 0);
    lag(&r, 0, 7 * HOUR);
    lag(&r, 11, 8 * 60 * S + 20 * S); /* the minutes of the windows are whole ones */
    assert_int_equal(q->alert, WR_SLO_FINE); /* 1 h: 8.3 of 60 = 13.9 */
    assert_true(fabs(q->burn[2] - 100 * 8.33 / 60) < 0.3 && fabs(q->burn[0] - 100) < 0.1);
    lag(&r, 11, 60 * S);
    assert_int_equal(q->alert, WR_SLO_PAGE); /* 9.3 of 60 = 15.5 */
    lag(&r, 0, 5 * 60 * S);
    assert_int_equal(q->alert, WR_SLO_FINE); /* the five minutes are over; 6 h: 9.3 of 360 = 2.6 */
    lag(&r, 11, 25 * 60 * S);
    lag(&r, 0, 6 * 60 * S);
    assert_int_equal(q->alert, WR_SLO_TICKET); /* 6 h: 34 of 360 = 9.5; 5 min: 0 */
    assert_true(fabs(q->budget_left - (1 - 34.33 * 60 / (0.01 * 30 * 86400))) < 0.001);
    close_rig(&r);
}

static void rows(rig *r, uint64_t in, uint64_t late) {
    r->status[0].ledger.in[0] += in;
    r->status[0].ledger.dropped[WR_REASON_LATE] += late;
}

static void completeness_fires_within_a_window(void **state) {
    (void)state;
    rig r;
    open_rig(&r, NULL, "slo.completeness", "99.9 %", "slo.completeness.window", "10 s", NULL);
    const wr_slo_state *q = wr_slos_at(r.slos, 0);
    for (int i = 0; i < 60; i++) rows(&r, 1000, i % 2), look(&r, S / 2); /* 1 of 2000 */
    assert_true(q->known && q->kept && q->alert == WR_SLO_FINE);
    assert_true(fabs(q->value - 0.9995) < 1e-4);
    int looks = 0;
    while (q->alert == WR_SLO_FINE && looks < 100) rows(&r, 1000, 2), look(&r, S / 2), looks++;
    assert_true(looks <= 21);
    assert_int_equal(q->alert, WR_SLO_BREACH);
    for (int i = 0; i < 21; i++) rows(&r, 1000, 0), look(&r, S / 2);
    assert_int_equal(q->alert, WR_SLO_FINE);
    rows(&r, 10, 10);
    wr_slos_see(r.slos, &r.s, r.observer, true); /* the end closes the window */
    assert_false(q->kept);
    close_rig(&r);
}

static void what_counts_against_completeness(void **state) {
    (void)state;
    rig r;
    open_rig(&r, NULL, "slo.completeness", "0.9", "slo.completeness.except", "late, null-key", NULL);
    const wr_slo_state *q = wr_slos_at(r.slos, 0);
    rows(&r, 100, 50);
    r.status[0].ledger.dropped[WR_REASON_BLANK] = r.status[0].ledger.dropped[WR_REASON_NULL_KEY] = r.status[0].ledger.dropped[WR_REASON_FILTERED] = 20;
    r.status[0].ledger.dropped[WR_REASON_MALFORMED] = 3;
    r.status[1].ledger.dropped[WR_REASON_DEAD_LETTER] = 4;
    wr_slos_see(r.slos, &r.s, r.observer, true);
    assert_true(q->known && q->kept && fabs(q->value - 0.93) < 1e-9);
    close_rig(&r);
}

static void freshness_by_event_time(void **state) {
    (void)state;
    rig r;
    wr_prog *some = (wr_prog *)(uintptr_t)&r; /* that there is a watermark is all that is looked at */
    open_rig(&r, NULL, "slo.freshness", "10 s", NULL);
    memcpy(&r.source.source.watermark, &some, sizeof some);
    const wr_slo_state *q = wr_slos_at(r.slos, 0);
    r.status[1].watermark_us = START - 3 * S;
    look(&r, 0);
    assert_true(q->known && q->kept && q->value == 3e6);
    look(&r, 8 * S);
    assert_true(!q->kept && q->value == 11e6);
    r.status[1].watermark_us = WR_TIME_MAX; /* it ends */
    look(&r, S);
    assert_false(q->known);
    close_rig(&r);
}

static void latency_of_the_last_minute(void **state) {
    (void)state;
    rig r;
    open_rig(&r, NULL, "slo.latency.p99", "500ms", "slo.latency.p50", "1 s", NULL);
    look(&r, S);
    assert_false(wr_slos_at(r.slos, 0)->known);
    for (int i = 0; i < 100; i++) wr_hist_add(&r.hist, 2000000, 1), look(&r, S / 2);
    for (int i = 0; i < 2; i++) assert_true(wr_slos_at(r.slos, (uint32_t)i)->known && !wr_slos_at(r.slos, (uint32_t)i)->kept);
    for (int i = 0; i < 200; i++) wr_hist_add(&r.hist, 1000, 100), look(&r, S / 2);
    assert_true(wr_slos_at(r.slos, 0)->kept && wr_slos_at(r.slos, 0)->value < 1100); /* the slow ones are over */
    r.status[1].taken_us = r.s.mono_us, r.from.read_us = r.s.mono_us + S; /* read, and not taken */
    look(&r, 3 * S);
    assert_true(!wr_slos_at(r.slos, 0)->kept && wr_slos_at(r.slos, 0)->value == 2e6);
    close_rig(&r);
}

static void the_file_wins(void **state) {
    (void)state;
    rig          r;
    wr_slo_file *file;
    wr_err       err = {0};
    assert_int_equal(wr_slo_file_read(WR_STR("# ours\n\ncharges.slo.lag = '20'\r\norders.slo.lag=10 MiB\n"), "x.slo", &file, &err), WR_OK);
    open_rig(&r, file, "slo.lag", "10", NULL);
    const wr_job_plan *plans[] = {&r.plan};
    assert_int_equal(wr_slo_file_check(file, plans, 1, &err), WR_OK);
    assert_int_equal(wr_slos_count(r.slos), 2);
    assert_true(wr_slos_at(r.slos, 0)->target.limit == 10 << 20 && wr_slos_at(r.slos, 1)->target.limit == 20);
    wr_slo_file_free(file);
    close_rig(&r);
    static const struct { const char *text, *says; } bad[] = {
        {"charges.slo.lag 10", "x.slo:1: there is no '='"}, {"\nslo.lag = 10", "x.slo:2: not a name"}, {"charges.slo.lags = 10", "not a name"},
        {"charges.slo.lag = much", "expected a number"}, {"charges.slo.completeness = 101 %", "expected a share"}, {"charges.slo.freshness = soon", "'slo.freshness'"}};
    for (size_t i = 0; i < WR_COUNT_OF(bad); i++) {
        assert_int_equal(wr_slo_file_read(wr_str_of(bad[i].text), "x.slo", &file, &err), WR_USER);
        assert_non_null(strstr(err.message, bad[i].says));
        assert_string_equal(err.code, "WR420");
    }
    assert_int_equal(wr_slo_file_read(WR_STR("payments.slo.lag = 1"), "x.slo", &file, &err), WR_OK);
    open_rig(&r, file, NULL);
    assert_int_equal(wr_slo_file_check(file, plans, 1, &err), WR_USER);
    assert_string_equal(err.code, "WR421");
    assert_int_equal(wr_slos_count(r.slos), 0);
    wr_slo_file_free(file);
    close_rig(&r);
}

static void what_was_counted_outlives_a_restart(void **state) {
    (void)state;
    rig     r, again;
    wr_sbuf text = {0};
    open_rig(&r, NULL, "slo.lag", "10", "slo.completeness", "99 %", NULL);
    rows(&r, 1000, 5);
    lag(&r, 0, 1800 * S), lag(&r, 11, 1800 * S);
    wr_slos_save(r.slos, &text);
    open_rig(&again, NULL, "slo.lag", "10", "slo.completeness", "99 %", NULL);
    again.s.wall_us = r.s.wall_us;
    wr_slos_load(again.slos, wr_sbuf_str(&text));
    look(&again, 0);
    for (uint32_t i = 0; i < 2; i++) {
        const wr_slo_state *a = wr_slos_at(r.slos, i), *b = wr_slos_at(again.slos, i);
        assert_true(a->since_us == b->since_us && fabs(a->budget_left - b->budget_left) < 1e-9);
        for (uint32_t w = 0; w < WR_SLO_WINDOWS; w++) assert_true(fabs(a->burn[w] - b->burn[w]) < 1e-9);
    }
    static const char *const rubbish[] = {"", "slo", "m 1 2 3\n", "slo lag x charges\nm 1 1 1\nm -5 1 1\nm 1 nan 1\nh 9 1e999 0\nq\n\n", "slo lag 5 nobody\nm 1 1 1\n"};
    for (size_t i = 0; i < WR_COUNT_OF(rubbish); i++) wr_slos_load(again.slos, wr_str_of(rubbish[i]));
    look(&again, 0);
    assert_true(fabs(wr_slos_at(again.slos, 0)->burn[2] - wr_slos_at(r.slos, 0)->burn[2]) < 1e-9);
    wr_sbuf_free(&text);
    close_rig(&r), close_rig(&again);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_breach_comes_after_a_while_and_goes_so), cmocka_unit_test(which_windows), cmocka_unit_test(completeness_fires_within_a_window),
        cmocka_unit_test(what_counts_against_completeness), cmocka_unit_test(freshness_by_event_time), cmocka_unit_test(latency_of_the_last_minute), cmocka_unit_test(the_file_wins),
        cmocka_unit_test(what_was_counted_outlives_a_restart)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
