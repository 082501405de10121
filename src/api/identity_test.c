/* api/identity_test.c: plan/identity.h over whole scripts: which edits leave the meaning and the layout of a state alone. */
#include "api/session.h"
#include "plan/identity.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
/* after the three above */
#include <cmocka.h>

static const char TABLES[] =
    "CREATE TABLE o (id BIGINT, u INT, amount INT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts) WITH ('connector'='filesystem','path'='o.jsonl','format'='json');\n"
    "CREATE TABLE p (id BIGINT, o BIGINT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts) WITH ('connector'='filesystem','path'='p.jsonl','format'='json');\n";

typedef struct texts { char meaning[512], bare[512], layout[512]; } texts;

/* Of the one stateful node of kind in the script. */
static texts of(const char *sql, wr_pnode_kind kind) {
    wr_session *s = wr_session_new(&(wr_session_opts){.n_workers = 1});
    wr_session_load_text(s, "t.sql", wr_str_of(TABLES));
    wr_session_load_text(s, "q.sql", wr_str_of(sql));
    if (wr_session_plan(s) != WR_OK) {
        wr_sbuf b = {0};
        wr_session_report(s, NULL, false, &b);
        fail_msg("%s", b.at);
    }
    const wr_job_plan *job = NULL;
    for (uint32_t i = 0; i < wr_session_n_steps(s); i++)
        if (wr_session_step(s, i)->kind == WR_STEP_JOB) job = wr_session_step(s, i)->job;
    assert_non_null(job);
    wr_identities *x = wr_identities_new(job);
    texts          t = {0};
    uint32_t       n = 0;
    for (uint32_t i = 0; i < job->nodes.n; i++) {
        if (job->nodes.at[i]->kind != kind) continue;
        wr_sbuf layout = {0};
        assert_true(wr_identity_layout(x, job->nodes.at[i], &layout));
        snprintf(t.meaning, sizeof t.meaning, "%.*s", WR_FMT(wr_identity_meaning(x, job->nodes.at[i])));
        snprintf(t.bare, sizeof t.bare, "%.*s", WR_FMT(wr_identity_unfiltered(x, job->nodes.at[i])));
        snprintf(t.layout, sizeof t.layout, "%s", layout.at ? layout.at : "");
        wr_sbuf_free(&layout);
        n++;
    }
    assert_int_equal(n, 1);
    wr_identities_free(x);
    wr_session_free(s);
    return t;
}

static void same_state(void **state) {
    (void)state;
    static const struct { const char *a, *b; wr_pnode_kind kind; } pairs[] = {
        {"SELECT u, COUNT(*) AS n FROM o GROUP BY u;", "SELECT COUNT(*) AS orders, u AS person FROM (SELECT u, id FROM o) GROUP BY u;", WR_P_GROUP_AGG},
        {"SELECT u, SUM(amount) FROM o GROUP BY u;", "WITH x AS (SELECT amount AS a, u AS who FROM o) SELECT SUM(a), who FROM x GROUP BY who;", WR_P_GROUP_AGG},
        {"SELECT u, COUNT(*) FROM o GROUP BY u;", "SELECT u, COUNT(*) FROM o GROUP BY u HAVING COUNT(*) > 3;", WR_P_GROUP_AGG},
        {"SELECT o.id FROM o JOIN p ON o.id = p.o AND p.ts BETWEEN o.ts AND o.ts + INTERVAL '1' HOUR;",
         "SELECT x.id AS k FROM o AS x JOIN p AS y ON y.o = x.id AND y.ts BETWEEN x.ts AND x.ts + INTERVAL '60' MINUTE;", WR_P_INTERVAL_JOIN},
    };
    for (size_t i = 0; i < WR_COUNT_OF(pairs); i++) {
        texts a = of(pairs[i].a, pairs[i].kind), b = of(pairs[i].b, pairs[i].kind);
        assert_string_equal(a.meaning, b.meaning);
        assert_string_equal(a.layout, b.layout);
    }
}

static void other_state(void **state) {
    (void)state;
    texts a = of("SELECT u, COUNT(*) FROM o GROUP BY u;", WR_P_GROUP_AGG);
    texts key = of("SELECT id, COUNT(*) FROM o GROUP BY id;", WR_P_GROUP_AGG);
    texts where = of("SELECT u, COUNT(*) FROM o WHERE amount > 5 GROUP BY u;", WR_P_GROUP_AGG);
    texts more = of("SELECT u, COUNT(*), SUM(amount) FROM o GROUP BY u;", WR_P_GROUP_AGG);
    assert_string_not_equal(a.meaning, key.meaning);
    assert_string_not_equal(a.meaning, where.meaning);
    assert_string_equal(a.bare, where.bare); /* only the filter differs */
    assert_string_equal(a.meaning, more.meaning);
    assert_string_not_equal(a.layout, more.layout);
    assert_int_equal(strncmp(more.layout, a.layout, strlen(a.layout)), 0); /* one component more */
    texts hour = of("SELECT u, COUNT(*) FROM TABLE(TUMBLE(TABLE o, DESCRIPTOR(ts), INTERVAL '1' HOUR)) GROUP BY u, window_start, window_end;", WR_P_WINDOW_AGG);
    texts day = of("SELECT u, COUNT(*) FROM TABLE(TUMBLE(TABLE o, DESCRIPTOR(ts), INTERVAL '1' DAY)) GROUP BY u, window_start, window_end;", WR_P_WINDOW_AGG);
    assert_string_not_equal(hour.meaning, day.meaning);
}

static void sides_of_a_self_join(void **state) {
    (void)state;
    texts a = of("SELECT x.u, y.u FROM o x JOIN o y ON x.id = y.id AND y.ts BETWEEN x.ts AND x.ts + INTERVAL '1' HOUR;", WR_P_INTERVAL_JOIN);
    assert_non_null(strstr(a.layout, "0 o.u INT"));
    assert_non_null(strstr(a.layout, "1 o.u INT"));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(same_state), cmocka_unit_test(other_state), cmocka_unit_test(sides_of_a_self_join)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
