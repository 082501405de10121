/* api/replay_test.c: replays tell equal jobs from those that differ, name why, touch no sink, and leave nothing behind. */
#include "api/replay.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <cmocka.h>

#define ROWS "CREATE TABLE g (id BIGINT, k INT, v INT) WITH ('connector'='datagen','number-of-rows'='3000','rows-per-second'='0'," \
             "'fields.id.kind'='sequence','fields.id.start'='1','fields.id.end'='3000','fields.k.min'='1','fields.k.max'='9');\n"

static wr_session *planned(const char *sql) {
    wr_session_opts opts = {0};
    wr_session     *s = wr_session_new(&opts);
    wr_session_load_text(s, "test.sql", wr_str_of(sql));
    assert_int_equal(wr_session_plan(s), WR_OK);
    return s;
}

static bool suspected(const wr_replay_report *r, const char *part) {
    for (uint32_t i = 0; i < r->suspects.n; i++)
        if (strstr(r->suspects.at[i].ptr, part)) return true;
    return false;
}

static void equal_runs_and_no_sink(void **state) {
    (void)state;
    char dir[] = "/tmp/weir-replay-test-XXXXXX", path[64], sql[1024];
    assert_non_null(mkdtemp(dir));
    snprintf(path, sizeof path, "%s/o.jsonl", dir);
    snprintf(sql, sizeof sql, "%sCREATE TABLE o (id BIGINT) WITH ('connector'='filesystem','path'='%s','format'='json');\n"
             "CREATE TABLE u (k INT, n BIGINT, PRIMARY KEY (k) NOT ENFORCED) WITH ('connector'='sqlite','path'='%s/u.db','table'='u');\n"
             "EXECUTE STATEMENT SET BEGIN INSERT INTO o SELECT id FROM g WHERE k = 3; INSERT INTO u SELECT k, COUNT(*) FROM g GROUP BY k; END;", ROWS, path, dir);
    wr_session      *s = planned(sql);
    wr_replay_report r;
    wr_err           err;
    assert_int_equal(wr_session_replay(s, &(wr_replay_opts){.runs = 12, .seed = 5}, &r, &err), WR_OK);
    assert_true(r.equal);
    assert_int_equal(r.runs, 12);
    assert_true(r.crashes > 0);
    assert_int_equal(r.outputs.n, 2);
    for (uint32_t i = 0; i < 2; i++)
        if (wr_str_eq(r.outputs.at[i].name, WR_STR("u"))) assert_int_equal(r.outputs.at[i].rows, 9);
    assert_int_equal(r.suspects.n, 0);
    assert_int_equal(access(path, F_OK), -1);
    assert_int_equal(rmdir(dir), 0);
    wr_arena_free(r.arena);
    wr_session_free(s);
}

static void differences_are_named(void **state) {
    (void)state;
    wr_session      *s = planned(ROWS "SELECT id, RAND() AS x FROM g WHERE id < 50;");
    wr_replay_report r;
    wr_err           err;
    assert_int_equal(wr_session_replay(s, &(wr_replay_opts){.runs = 5}, &r, &err), WR_OK);
    assert_false(r.equal);
    assert_int_equal(r.other_run, 2);
    assert_string_equal(r.output.ptr, "result");
    assert_int_equal(r.n_only_first, 49);
    assert_int_equal(r.n_only_other, 49);
    assert_true(r.only_first.len > 0 && r.only_other.len > 0);
    assert_true(suspected(&r, "RAND() is random"));
    wr_arena_free(r.arena);
    wr_session_free(s);
}

static void inputs_must_end(void **state) {
    (void)state;
    wr_session      *s = planned("CREATE TABLE e (id BIGINT) WITH ('connector'='datagen'); SELECT COUNT(*) FROM e;");
    wr_replay_report r;
    wr_err           err;
    assert_int_equal(wr_session_replay(s, &(wr_replay_opts){.runs = 2}, &r, &err), WR_USER);
    assert_string_equal(err.code, "WR129");
    assert_non_null(strstr(err.message, "table e has no end"));
    assert_non_null(strstr(err.hint, "number-of-rows"));
    wr_arena_free(r.arena);
    wr_session_free(s);
}

static void the_clock_is_named_though_equal(void **state) {
    (void)state;
    wr_session      *s = planned(ROWS "SELECT COUNT(*) AS n FROM g WHERE NOW() > TIMESTAMP '2020-01-01 00:00:00';");
    wr_replay_report r;
    wr_err           err;
    assert_int_equal(wr_session_replay(s, &(wr_replay_opts){.runs = 3}, &r, &err), WR_OK);
    assert_true(r.equal);
    assert_true(suspected(&r, "reads the clock"));
    wr_arena_free(r.arena);
    wr_session_free(s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_runs_and_no_sink),
        cmocka_unit_test(differences_are_named),
        cmocka_unit_test(inputs_must_end),
        cmocka_unit_test(the_clock_is_named_though_equal),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
