/* serve/alerts_test.c: each condition over made-up statuses: raised, taken back, never more than there is room for.                   */
#include "serve/internal.h"
#include <setjmp.h>
#include <stdio.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#define S INT64_C(1000000)
typedef struct rig { wr_table table; wr_pnode source; wr_node_status node; wr_source_status from; wr_job_status s; alerts *a; } rig;

static void open_rig(rig *r) {
    *r = (rig){.table = {.name = WR_STR("orders \"x\"")}, .a = alerts_new(NULL, 10 * S)};
    r->source = (wr_pnode){.kind = WR_P_SOURCE, .id = "source-orders", .title = "orders"};
    r->source.source.table = &r->table;
    r->node.node = r->from.node = &r->source;
    r->s = (wr_job_status){.n_nodes = 1, .nodes = &r->node, .n_sources = 1, .sources = &r->from, .wall_us = INT64_C(1700000000) * S, .mono_us = S, .budget.reach_us = -1};
}

static void look(rig *r, int64_t later_us, const wr_err *failed, bool last) {
    r->s.wall_us += later_us, r->s.mono_us += later_us;
    alerts_look(r->a, NULL, WR_STR("job"), &r->s, failed, last);
}

/* Names of what fires, each with a space. */
static const char *firing(rig *r) {
    static char names[400];
    wr_sbuf     out = {0};
    names[0] = 0;
    alerts_json(r->a, &out);
    assert_true(out.len > 2 && out.at[0] == '{' && out.at[out.len - 1] == '}');
    for (const char *at = out.at; (at = strstr(at, "\"alert\":\"")); at++)
        strncat(names, at + 9, strcspn(at + 9, "\"")), strcat(names, " ");
    wr_sbuf_free(&out);
    return names;
}

static void conditions(void **state) {
    (void)state;
    rig r;
    open_rig(&r);
    look(&r, S, NULL, false);
    assert_string_equal(firing(&r), "");
    r.s.budget.reach_us = INT64_C(25) * 3600 * S, r.s.budget.grows = &r.source;
    look(&r, S, NULL, false);
    assert_string_equal(firing(&r), "");
    r.s.budget.reach_us = INT64_C(23) * 3600 * S;
    r.s.checkpoints_failed = 1;
    look(&r, S, NULL, false);
    assert_string_equal(firing(&r), "budget checkpoints ");
    r.s.budget.reach_us = -1;
    look(&r, 2 * S, NULL, false);
    assert_string_equal(firing(&r), "checkpoints ");
    r.s.checkpoints = 1; /* one succeeded */
    look(&r, S, NULL, false);
    assert_string_equal(firing(&r), "");
    r.node.ledger.in[0] = 10, r.node.ledger.out = 6, r.node.ledger.dropped[WR_REASON_DEAD_LETTER] = 4;
    look(&r, S, NULL, false);
    assert_string_equal(firing(&r), "dead-letters ");
    look(&r, 301 * S, NULL, false);
    assert_string_equal(firing(&r), "");
    r.node.ledger.out = 8; /* twelve out of ten */
    look(&r, S, NULL, false), look(&r, S, NULL, false);
    assert_string_equal(firing(&r), "");
    look(&r, S, NULL, false);
    assert_string_equal(firing(&r), "ledger ");
    r.node.ledger.out = 6;
    wr_err err = {0};
    wr_fail(&err, WR_DATA, "22000", "no more");
    look(&r, S, &err, true);
    assert_string_equal(firing(&r), "job-failed ");
    alerts_free(r.a);
}

static void a_silent_source(void **state) {
    (void)state;
    rig r;
    open_rig(&r);
    r.from.waiting = true, r.from.done = 5;
    look(&r, S, NULL, false), look(&r, 9 * S, NULL, false);
    assert_string_equal(firing(&r), "");
    look(&r, S, NULL, false);
    assert_string_equal(firing(&r), "source-silent ");
    r.from.done = 6;
    look(&r, S, NULL, false);
    assert_string_equal(firing(&r), "");
    look(&r, 20 * S, NULL, false);
    assert_string_equal(firing(&r), "source-silent ");
    r.from.ended = true;
    look(&r, S, NULL, false);
    assert_string_equal(firing(&r), "");
    alerts_free(r.a);
}

static void count_one(void *arg, const char *name, const char *severity, wr_str subject) {
    (void)name, (void)severity, (void)subject;
    ++*(uint32_t *)arg;
}

static void more_than_there_is_room_for(void **state) {
    (void)state;
    enum { MANY = 300 };
    rig              r;
    wr_source_status from[MANY];
    wr_table         tables[MANY];
    wr_pnode         nodes[MANY];
    char             names[MANY][16];
    uint32_t         n = 0;
    open_rig(&r);
    for (int i = 0; i < MANY; i++) {
        snprintf(names[i], sizeof names[i], "t%d", i);
        tables[i] = (wr_table){.name = wr_str_of(names[i])};
        nodes[i] = r.source;
        nodes[i].source.table = &tables[i];
        from[i] = (wr_source_status){.node = &nodes[i], .waiting = true};
    }
    r.s.sources = from, r.s.n_sources = MANY;
    look(&r, S, NULL, false), look(&r, 60 * S, NULL, false), look(&r, 60 * S, NULL, false);
    alerts_each(r.a, count_one, &n);
    assert_int_equal(n, 256);
    r.s.n_sources = 0;
    look(&r, S, NULL, false), look(&r, S, NULL, false), look(&r, S, NULL, false);
    assert_string_equal(firing(&r), "");
    alerts_free(r.a);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(conditions), cmocka_unit_test(a_silent_source), cmocka_unit_test(more_than_there_is_room_for)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
