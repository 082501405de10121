/* observe/why_test.c: verdicts over windows that are written down here: what waits is never accused, what works with rows waiting for it is. */
#include "observe/why.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <cmocka.h>

enum { SOURCE, CALC, AGG, SINK, N, WORKERS = 2 };
typedef struct fixture {
    wr_pnode     nodes[N];
    wr_job_plan  plan;
    wr_table     table;
    wr_observer *o;
    uint64_t     spent[N][WORKERS][WR_SPENT_COUNT], in[N], out[N];
    double       fill[N];
    wr_prog_cost calls[N];
    bool         hot, ended;
    int64_t      now_us;
} fixture;

static void set_up(fixture *f) {
    static const wr_pnode_kind kinds[N] = {WR_P_SOURCE, WR_P_UNNEST, WR_P_GROUP_AGG, WR_P_SINK};
    static const char *const   ids[N] = {"source", "unnest", "agg", "sink"};
    *f = (fixture){.now_us = 1000000, .table = {.name = WR_STR("orders"), .connector = WR_STR("blackhole")}};
    for (uint32_t i = 0; i < N; i++) {
        wr_pnode *p = &f->nodes[i];
        p->kind = kinds[i], p->index = i;
        snprintf(p->id, sizeof p->id, "%s", ids[i]);
        snprintf(p->title, sizeof p->title, "the %s", ids[i]);
        if (i) p->n_inputs = 1, p->inputs[0].node = &f->nodes[i - 1], p->inputs[0].exchange = i == AGG ? WR_X_HASH : WR_X_FORWARD;
        wr_arr_push(&f->plan.nodes, p);
    }
    f->nodes[SOURCE].source.table = &f->table;
    f->nodes[SINK].sink.table = &f->table;
    f->o = wr_observer_new(&f->plan);
}

static void tear_down(fixture *f) {
    wr_observer_free(f->o);
    wr_arr_free(&f->plan.nodes);
}

/* One look at the job as it stands in the fixture. */
static void see(fixture *f) {
    wr_job_status s = {.arena = wr_arena_new(NULL), .n_nodes = N, .n_sources = 1, .n_workers = WORKERS, .cost_ns = (uint64_t)f->now_us * 1000, .running_us = f->now_us};
    s.nodes = wr_new_n(s.arena, wr_node_status, N);
    s.sources = wr_new_n(s.arena, wr_source_status, 1);
    s.workers = wr_new_n(s.arena, wr_worker_status, WORKERS);
    s.hot = wr_new_n(s.arena, wr_hot_key, 1);
    s.sources[0] = (wr_source_status){.node = &f->nodes[SOURCE], .watermark_us = WR_TIME_MIN, .ended = f->ended};
    if (f->hot) s.hot[s.n_hot++] = (wr_hot_key){.node = &f->nodes[AGG], .key = "k=7", .share = 0.9, .fair_share = 0.5, .n_workers = WORKERS};
    for (uint32_t i = 0; i < N; i++) {
        wr_node_status *n = &s.nodes[i];
        *n = (wr_node_status){.node = &f->nodes[i], .lives = i == SINK ? 1 : 3, .chained = i == CALC, .queue_fill = f->fill[i], .queued_bytes = f->fill[i] > 0 ? 1000 : 0, .watermark_us = WR_TIME_MIN};
        n->on = wr_new_n(s.arena, wr_instance_status, WORKERS);
        n->ledger.in[0] = f->in[i], n->ledger.out = f->out[i], n->usage.calls = f->calls[i];
        for (uint32_t k = 0; k < WORKERS; k++) memcpy(n->on[k].spent_ns, f->spent[i][k], sizeof n->on[k].spent_ns);
    }
    for (uint32_t k = 0; k < WORKERS; k++) { /* asleep, when none of them works */
        uint64_t busy = 0;
        for (uint32_t i = 0; i < N; i++)
            for (uint32_t what = 0; what < WR_SPENT_BUSY; what++) busy += f->spent[i][k][what];
        s.workers[k].idle_ns = s.cost_ns - WR_MIN(busy, s.cost_ns);
    }
    wr_observer_see(f->o, &s, f->now_us);
}

/* Two seconds of it, in four looks: rows of each operator, and what the test says that time goes to: in per cent of each worker's. */
typedef struct part { uint32_t node; wr_spent what; uint32_t percent[WORKERS]; } part;
static void pass(fixture *f, const part *parts, uint32_t n, uint64_t rows) {
    for (uint32_t step = 0; step < 5; step++) {
        if (step) {
            f->now_us += 500000;
            for (uint32_t i = 0; i < n; i++)
                for (uint32_t k = 0; k < WORKERS; k++) f->spent[parts[i].node][k][parts[i].what] += (uint64_t)parts[i].percent[k] * 5000000;
            for (uint32_t i = 0; i < N; i++) f->in[i] += rows, f->out[i] += rows;
        }
        see(f);
    }
}
#define PASS(f, rows, ...) pass(f, (const part[]){__VA_ARGS__}, sizeof (const part[]){__VA_ARGS__} / sizeof(part), rows)

static void expect(const fixture *f, wr_why_class is, int node) {
    wr_why why;
    wr_why_decide(f->o, &why);
    if (why.is.is != is) fail_msg("%s: %s", wr_why_class_name(why.is.is), why.is.sentence);
    assert_ptr_equal(why.is.node, node < 0 ? NULL : &f->nodes[node]);
}

static void test_waiting_accuses_nobody(void **state) {
    (void)state;
    fixture f;
    set_up(&f);
    expect(&f, WR_WHY_MEASURING, -1);
    PASS(&f, 1000, {SOURCE, WR_WAIT_INPUT, {90, 92}}, {CALC, WR_SPENT_WORK, {5, 4}}, {AGG, WR_SPENT_WORK, {3, 3}}, {SINK, WR_WAIT_OUTSIDE, {99, 0}});
    expect(&f, WR_WHY_NOTHING, -1); /* the sink always has a request under way, but no rows wait for it */
    tear_down(&f);
    set_up(&f);
    PASS(&f, 0, {SOURCE, WR_WAIT_INPUT, {100, 100}});
    expect(&f, WR_WHY_NO_INPUT, SOURCE);
    tear_down(&f);
}

/* A worker that works on something else does not wait, although the source had nothing when it looked last. */
static void test_a_busy_worker_waits_for_no_input(void **state) {
    (void)state;
    fixture f;
    set_up(&f);
    f.hot = true, f.fill[AGG] = 1;
    PASS(&f, 100, {SOURCE, WR_WAIT_INPUT, {97, 0}}, {SOURCE, WR_WAIT_ROOM, {0, 97}}, {AGG, WR_SPENT_WORK, {98, 2}});
    expect(&f, WR_WHY_HOT_KEY, AGG);
    tear_down(&f);
}

/* The input has ended, and what was read lies in front of the sink. */
static void test_after_the_end_of_input(void **state) {
    (void)state;
    fixture f;
    set_up(&f);
    f.ended = true, f.fill[SINK] = 1;
    PASS(&f, 100, {AGG, WR_WAIT_ROOM, {97, 97}}, {SINK, WR_WAIT_OUTSIDE, {98, 0}});
    expect(&f, WR_WHY_SINK, SINK);
    tear_down(&f);
}

static void test_the_sink_and_not_who_waits_for_it(void **state) {
    (void)state;
    fixture f;
    set_up(&f);
    f.fill[SINK] = f.fill[AGG] = 1;
    PASS(&f, 100, {SOURCE, WR_WAIT_ROOM, {97, 98}}, {CALC, WR_SPENT_WORK, {1, 1}}, {AGG, WR_WAIT_ROOM, {97, 97}}, {AGG, WR_SPENT_WORK, {2, 2}}, {SINK, WR_WAIT_OUTSIDE, {96, 0}}, {SINK, WR_SPENT_WRITE, {2, 0}});
    expect(&f, WR_WHY_SINK, SINK);
    tear_down(&f);
    set_up(&f); /* one write since before the window: no rows are counted, and its queue is full */
    f.fill[SINK] = 1;
    PASS(&f, 0, {SOURCE, WR_WAIT_ROOM, {100, 100}}, {SINK, WR_SPENT_WRITE, {100, 0}});
    expect(&f, WR_WHY_SINK, SINK);
    tear_down(&f);
}

static void test_operator_function_fan_out(void **state) {
    (void)state;
    fixture f;
    set_up(&f);
    PASS(&f, 1000, {SOURCE, WR_WAIT_ROOM, {50, 50}}, {AGG, WR_SPENT_WORK, {90, 88}}, {CALC, WR_SPENT_WORK, {5, 5}});
    expect(&f, WR_WHY_OPERATOR, AGG);
    f.calls[AGG] = (wr_prog_cost){.all_ns = 1, .most_ns = 1, .most = "F", .user = true};
    see(&f);
    f.calls[AGG].most_ns = f.calls[AGG].all_ns = 5000000000;
    PASS(&f, 1000, {SOURCE, WR_WAIT_ROOM, {50, 50}}, {AGG, WR_SPENT_WORK, {90, 88}});
    expect(&f, WR_WHY_FUNCTION, AGG);
    for (uint32_t step = 0; step < 4; step++) {
        f.now_us += 500000;
        f.in[CALC] += 10, f.out[CALC] += 10000;
        for (uint32_t k = 0; k < WORKERS; k++) f.spent[SOURCE][k][WR_WAIT_ROOM] += 400000000, f.spent[AGG][k][WR_SPENT_WORK] += 450000000;
        see(&f);
    }
    expect(&f, WR_WHY_FAN_OUT, CALC);
    tear_down(&f);
}

static void test_one_key(void **state) {
    (void)state;
    fixture f;
    set_up(&f);
    f.hot = true;
    PASS(&f, 1000, {SOURCE, WR_WAIT_ROOM, {50, 90}}, {AGG, WR_SPENT_WORK, {95, 10}});
    expect(&f, WR_WHY_HOT_KEY, AGG);
    tear_down(&f);
    set_up(&f);
    f.hot = true; /* a hot key does no harm where both workers have as much to do */
    PASS(&f, 1000, {SOURCE, WR_WAIT_ROOM, {50, 50}}, {AGG, WR_SPENT_WORK, {95, 90}});
    expect(&f, WR_WHY_OPERATOR, AGG);
    tear_down(&f);
    set_up(&f);
    PASS(&f, 1000, {SOURCE, WR_WAIT_ROOM, {50, 90}}, {AGG, WR_SPENT_WORK, {95, 10}});
    expect(&f, WR_WHY_SKEW, AGG);
    tear_down(&f);
}

static void test_reports(void **state) {
    (void)state;
    fixture f;
    wr_why  why;
    wr_sbuf out = {0};
    set_up(&f);
    f.fill[SINK] = 1;
    PASS(&f, 100, {SOURCE, WR_WAIT_ROOM, {97, 98}}, {SINK, WR_SPENT_FLUSH, {96, 0}});
    wr_why_decide(f.o, &why);
    wr_why_json(&why, &out);
    assert_non_null(strstr(out.at, "\"class\":\"slow-sink\",\"operator\":\"sink\""));
    wr_sbuf_clear(&out);
    wr_why_text(&why, &out);
    assert_non_null(strstr(out.at, "96 % in flushes"));
    assert_non_null(strstr(out.at, "to change: "));
    wr_sbuf_clear(&out);
    wr_top_text(f.o, &why, "job", 100, false, &out);
    assert_non_null(strstr(out.at, "> the sink"));
    assert_null(strchr(out.at, '\033'));
    wr_sbuf_free(&out);
    tear_down(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_waiting_accuses_nobody), cmocka_unit_test(test_after_the_end_of_input), cmocka_unit_test(test_a_busy_worker_waits_for_no_input), cmocka_unit_test(test_the_sink_and_not_who_waits_for_it), cmocka_unit_test(test_operator_function_fan_out),
                                       cmocka_unit_test(test_one_key), cmocka_unit_test(test_reports)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
