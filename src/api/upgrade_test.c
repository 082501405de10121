/* api/upgrade_test.c: run/upgrade.h over pairs of scripts: which states are kept, moved or rebuilt, and what the report says.               */
#include "api/session.h"
#include "run/upgrade.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
/* after the three above */
#include <cmocka.h>

static const char TABLES[] =
    "CREATE TABLE o (id BIGINT, u INT, amount INT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts) WITH ('connector'='filesystem','path'='o.jsonl','format'='json');\n"
    "CREATE TABLE s1 (u INT, n BIGINT, PRIMARY KEY (u) NOT ENFORCED) WITH ('connector'='sqlite','path'='x.db','table'='s1');\n"
    "CREATE TABLE s2 (u INT, n BIGINT, PRIMARY KEY (u) NOT ENFORCED) WITH ('connector'='sqlite','path'='x.db','table'='s2');\n"
    "CREATE TABLE s3 (u INT, n BIGINT, a BIGINT, PRIMARY KEY (u) NOT ENFORCED) WITH ('connector'='sqlite','path'='x.db','table'='s3');\n";

static wr_session *planned(const char *sql, const wr_job_plan **job) {
    wr_session *s = wr_session_new(&(wr_session_opts){.n_workers = 1});
    wr_session_load_text(s, "t.sql", wr_str_of(TABLES));
    wr_session_load_text(s, "q.sql", wr_str_of(sql));
    if (wr_session_plan(s) != WR_OK) {
        wr_sbuf b = {0};
        wr_session_report(s, NULL, false, &b);
        fail_msg("%s", b.at);
    }
    for (uint32_t i = 0; i < wr_session_n_steps(s); i++)
        if (wr_session_step(s, i)->kind == WR_STEP_JOB) *job = wr_session_step(s, i)->job;
    assert_non_null(*job);
    return s;
}

/* fates in the order of the report, by their first letters; outputs in capitals. */
static void fates(const char *from, const char *to, char *out, wr_sbuf *text) {
    const wr_job_plan *a = NULL, *b = NULL;
    wr_session        *sa = planned(from, &a), *sb = planned(to, &b);
    wr_sbuf            plan = {0}, json = {0};
    wr_upgrade         u;
    wr_err             err = {0};
    wr_upgrade_put_plan(a, &plan);
    assert_int_equal(wr_upgrade_compare(b, wr_sbuf_str(&plan), &u, &err), WR_OK);
    uint32_t n = 0;
    for (; n < u.lines.n; n++) {
        char c = wr_fate_name(u.lines.at[n].fate)[0];
        out[n] = u.lines.at[n].sink ? (char)(c - 'a' + 'A') : c;
    }
    out[n] = 0;
    wr_upgrade_text(&u, text);
    wr_upgrade_json(&u, &json);
    assert_int_equal(json.at[json.len - 1], ']');
    for (size_t cut = 0; cut + 1 < plan.len; cut += 7) { /* a cut-off section is damaged, never a crash */
        wr_upgrade bad;
        assert_int_equal(wr_upgrade_compare(b, (wr_str){plan.at, cut}, &bad, &err), WR_CORRUPT);
    }
    wr_upgrade_free(&u);
    wr_sbuf_free(&plan), wr_sbuf_free(&json);
    wr_session_free(sa), wr_session_free(sb);
}

static void edits(void **state) {
    (void)state;
    static const char base[] = "INSERT INTO s1 SELECT u, COUNT(*) FROM o GROUP BY u;";
    static const struct { const char *to, *fates, *says; } cases[] = {
        {"INSERT INTO s1 SELECT u, COUNT(*) FROM o GROUP BY u;", "kK", "nothing about it has changed"},
        {"INSERT INTO s1 SELECT who, COUNT(*) AS n FROM (SELECT u AS who FROM o) GROUP BY who;", "mK", "only names around it have changed; it was group_agg-"},
        {"INSERT INTO s1 SELECT u, COUNT(*) FROM o GROUP BY u HAVING COUNT(*) > 2;", "kC", "what was written before stays"},
        {"INSERT INTO s1 SELECT u, COUNT(*) FROM o WHERE amount > 3 GROUP BY u;", "rC", "a condition before it has changed"},
        {"INSERT INTO s1 SELECT u, SUM(amount) FROM o GROUP BY u;", "rC", "it keeps more than before: SUM(o.amount) INT -> INT"},
        {"INSERT INTO s1 SELECT id AS u, COUNT(*) FROM (SELECT CAST(id AS INT) AS id FROM o) GROUP BY id;", "rCd", "the earlier job had no such state"},
        {"INSERT INTO s2 SELECT u, COUNT(*) FROM o GROUP BY u;", "kRD", "the new script does not write it"},
        {"INSERT INTO s3 SELECT u, COUNT(*), SUM(amount) FROM o GROUP BY u;", "rRD", "it keeps more than before: SUM(o.amount)"},
    };
    for (size_t i = 0; i < WR_COUNT_OF(cases); i++) {
        char    got[32];
        wr_sbuf text = {0};
        fates(base, cases[i].to, got, &text);
        if (strcmp(got, cases[i].fates) || !strstr(text.at, cases[i].says)) fail_msg("%s\ngave %s, expected %s with '%s':\n%s", cases[i].to, got, cases[i].fates, cases[i].says, text.at);
        wr_sbuf_free(&text);
    }
}

static void one_output_more(void **state) {
    (void)state;
    char    got[32];
    wr_sbuf text = {0};
    fates("INSERT INTO s1 SELECT u, COUNT(*) FROM o GROUP BY u;",
          "EXECUTE STATEMENT SET BEGIN INSERT INTO s1 SELECT u, COUNT(*) FROM o GROUP BY u; INSERT INTO s2 SELECT u, COUNT(*) FROM o GROUP BY u; END;", got, &text);
    assert_string_equal(got, "kKR");
    assert_non_null(strstr(text.at, "it is new: filled from the logs"));
    wr_sbuf_free(&text);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(edits), cmocka_unit_test(one_output_more)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
