/* api/session_test.c: variables, settings, errors that do not stick, rows through callbacks, and the library's push, pull and restore. */
#include "api/internal.h"
#include "weir.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <cmocka.h>

/* ---- helpers ---- */
typedef struct seen { int64_t sum; int rows; uint32_t n_cols; } seen;

static wr_status add_rows(void *arg, wr_str table, const wr_schema *schema, const wr_tz *tz, wr_batch *batch, wr_err *err) {
    (void)table, (void)tz, (void)err;
    seen *s = arg;
    s->n_cols = schema->n;
    for (uint32_t i = 0; i < wr_batch_live(batch); i++) {
        uint32_t row = wr_batch_row(batch, i);
        s->sum += ((const int32_t *)batch->cols[0].data)[row];
        s->rows++;
    }
    return WR_OK;
}

static wr_session *open_session(seen *s) {
    wr_session_opts opts = {.n_workers = 2, .arg = s, .on_rows = s ? add_rows : NULL};
    return wr_session_new(&opts);
}

static wr_status exec(wr_session *s, const char *sql) {
    wr_err err;
    return wr_session_exec(s, "test.sql", wr_str_of(sql), &err);
}

static bool reported(wr_session *s, const char *part) {
    wr_sbuf out = {0};
    wr_session_report(s, NULL, false, &out);
    bool found = out.at && strstr(out.at, part);
    if (!found) printf("no '%s' in: %s\n", part, out.at ? out.at : "");
    wr_sbuf_free(&out);
    return found;
}

/* ---- variables ---- */
static void variables_stand_for_their_values(void **state) {
    (void)state;
    wr_session *s = open_session(NULL);
    wr_err      err = {0};
    assert_int_equal(wr_session_set(s, "A=it's", &err), WR_OK);
    assert_int_equal(wr_session_set(s, "N=3", &err), WR_OK);
    wr_sbuf out = {0};
    assert_true(text_substitute(s, WR_STR("SELECT ${N}, '${A}', ${B} -- ${N}\n/* ${A} */ `${A}` 'x''${A}'"), &out));
    assert_string_equal(out.at, "SELECT 3, 'it''s', ${B} -- ${N}\n/* ${A} */ `it's` 'x''it''s'");
    wr_sbuf_free(&out);
    wr_session_free(s);
}

static void missing_variables_are_named_with_their_place(void **state) {
    (void)state;
    wr_session *s = open_session(NULL);
    wr_err      err = {0};
    assert_int_equal(wr_session_set(s, "OUTPUT=1", &err), WR_OK);
    assert_int_equal(exec(s, "SELECT 1;\nSELECT '${OUTPUTS}', ${X}"), WR_USER);
    assert_true(reported(s, "test.sql:2:9: error [WR105] ${OUTPUTS} has no value"));
    assert_true(reported(s, "did you mean ${OUTPUT}?"));
    assert_true(reported(s, "test.sql:2:22: error [WR105] ${X} has no value"));
    wr_session_free(s);
}

static void settings_are_checked(void **state) {
    (void)state;
    wr_session *s = open_session(NULL);
    wr_err      err = {0};
    assert_int_equal(wr_session_set(s, "parallelism.default=3", &err), WR_OK);
    assert_int_equal(wr_session_workers(s), 2); /* the option is stronger */
    wr_session_opts_of(s)->n_workers = 0;
    assert_int_equal(wr_session_workers(s), 3);
    assert_int_equal(wr_session_set(s, "table.local-timezone=UTC", &err), WR_USER);
    assert_non_null(strstr(err.hint, "table.local-time-zone"));
    assert_int_equal(wr_session_set(s, "nothing", &err), WR_USER);
    assert_int_equal(wr_session_set(s, "a b=1", &err), WR_USER);
    wr_session_free(s);
}

/* ---- rows ---- */
static void rows_of_a_bare_select_come_by_callback(void **state) {
    (void)state;
    seen        got = {0};
    wr_session *s = open_session(&got);
    assert_int_equal(exec(s, "CREATE VIEW v AS SELECT * FROM (VALUES (1, 'a'), (2, 'b'), (4, 'c')) AS t (n, x); SELECT n, x FROM v WHERE n > 1"), WR_OK);
    assert_int_equal(got.rows, 2);
    assert_int_equal(got.sum, 6);
    assert_int_equal(got.n_cols, 2);
    assert_int_equal(exec(s, "SELECT n FROM v"), WR_OK); /* the view is still there */
    assert_int_equal(got.sum, 13);
    wr_session_free(s);
}

static void an_error_does_not_stick(void **state) {
    (void)state;
    seen        got = {0};
    wr_session *s = open_session(&got);
    assert_int_equal(exec(s, "SELECT n FROM nowhere"), WR_USER);
    assert_true(reported(s, "test.sql:1:15"));
    assert_int_equal(exec(s, "SELEC 1"), WR_USER);
    assert_int_equal(exec(s, "SELECT 5 AS n"), WR_OK);
    assert_int_equal(got.sum, 5);
    wr_session_free(s);
}

static void push_needs_a_program(void **state) {
    (void)state;
    seen        got = {0};
    wr_session *s = open_session(&got);
    wr_err      err;
    assert_int_equal(wr_session_exec(s, "test.sql", WR_STR("CREATE TABLE t (n INT) WITH ('connector' = 'push'); SELECT n FROM t"), &err), WR_USER);
    assert_non_null(strstr(err.message, "libweir"));
    wr_session_free(s);
}

/* ---- the library ---- */
static void no_release_schema(struct ArrowSchema *schema) { schema->release = NULL; }
static void no_release_array(struct ArrowArray *array) { array->release = NULL; }

static weir_result push_numbers(weir *w, const char *table, const int64_t *values, int64_t n) {
    struct ArrowSchema column = {.format = "l", .name = "n", .release = no_release_schema}, *columns = &column;
    struct ArrowSchema schema = {.format = "+s", .name = "", .n_children = 1, .children = &columns, .release = no_release_schema};
    const void        *buffers[2] = {NULL, values}, *none[1] = {NULL};
    struct ArrowArray  numbers = {.length = n, .n_buffers = 2, .buffers = buffers, .release = no_release_array}, *arrays = &numbers;
    struct ArrowArray  array = {.length = n, .n_buffers = 1, .buffers = none, .n_children = 1, .children = &arrays, .release = no_release_array};
    return weir_push(w, table, &schema, &array);
}

/* Sum of the first column over all rows that can be pulled, by kind: an insert or update adds, the others take away. */
static weir_result pull_all(weir *w, const char *table, int64_t *sum, int *rows) {
    for (;;) {
        struct ArrowSchema schema;
        struct ArrowArray  array;
        weir_result result = weir_pull(w, table, 10000, &schema, &array);
        if (result != WEIR_OK) return result;
        const int64_t *values = array.children[0]->buffers[1];
        const int8_t  *kinds = array.children[array.n_children - 1]->buffers[1];
        for (int64_t i = 0; i < array.length; i++) {
            *sum += kinds[i] == 0 || kinds[i] == 2 ? values[i] : -values[i];
            ++*rows;
        }
        schema.release(&schema);
        array.release(&array);
    }
}

static void pushed_rows_are_pulled(void **state) {
    (void)state;
    enum { N = 10000 };
    static int64_t values[N];
    int64_t        want = 0, sum = 0;
    int            rows = 0;
    for (int i = 0; i < N; i++) want += values[i] = i;
    weir *w = weir_open();
    assert_int_equal(weir_set(w, "workers", "2"), WEIR_OK);
    assert_int_equal(weir_set(w, "workers", "none"), WEIR_REFUSED);
    assert_int_equal(weir_sql(w, "CREATE TABLE t (n BIGINT) WITH ('connector' = 'push'); SELECT n * 2 AS n FROM t"), WEIR_OK);
    assert_int_equal(push_numbers(w, "t", values, 1), WEIR_REFUSED); /* not started */
    assert_non_null(strstr(weir_error(w), "started"));
    assert_int_equal(weir_listen(w, "result"), WEIR_OK);
    assert_int_equal(weir_start(w), WEIR_OK);
    assert_int_equal(weir_start(w), WEIR_REFUSED);
    assert_int_equal(push_numbers(w, "t", values, N), WEIR_OK);
    assert_int_equal(weir_end(w, "t"), WEIR_OK);
    assert_int_equal(push_numbers(w, "t", values, 1), WEIR_INTERRUPTED);
    assert_int_equal(pull_all(w, "result", &sum, &rows), WEIR_END);
    assert_int_equal(rows, N);
    assert_int_equal(sum, 2 * want);
    assert_int_equal(weir_wait(w), WEIR_OK);
    char *status = weir_status(w);
    assert_non_null(strstr(status, "\"state\":\"done\",\"rows_in\":10000,\"rows_out\":10000"));
    weir_free(status);
    weir_close(w);
}

static void refused_sql_leaves_the_rest_alone(void **state) {
    (void)state;
    weir *w = weir_open();
    assert_int_equal(weir_start(w), WEIR_REFUSED);
    assert_int_equal(weir_sql(w, "CREATE TABLE t (n BIGINT) WITH ('connector' = 'pusch')"), WEIR_REFUSED);
    assert_non_null(strstr(weir_error(w), "push"));
    assert_int_equal(weir_sql(w, "CREATE TABLE t (n BIGINT) WITH ('connector' = 'push'); SELECT m FROM t"), WEIR_REFUSED);
    assert_null(weir_explain(w, 0));
    assert_int_equal(weir_sql(w, "SELECT n FROM t"), WEIR_OK);
    char *plan = weir_explain(w, 1);
    assert_non_null(plan);
    weir_free(plan);
    weir_close(w);
}

static void remove_dir(const char *dir) {
    wr_sbuf command = {0};
    wr_sbuf_printf(&command, "rm -rf '%s'", dir);
    assert_int_equal(system(command.at), 0);
    wr_sbuf_free(&command);
}

static weir *open_counting(const char *dir) {
    weir *w = weir_open();
    assert_int_equal(weir_set(w, "state-dir", dir), WEIR_OK);
    assert_int_equal(weir_set(w, "workers", "2"), WEIR_OK);
    assert_int_equal(weir_set(w, "state.unbounded", "accepted"), WEIR_OK);
    assert_int_equal(weir_sql(w, "CREATE TABLE t (n BIGINT) WITH ('connector' = 'push'); SELECT SUM(n) AS s FROM t"), WEIR_OK);
    assert_int_equal(weir_listen(w, "result"), WEIR_OK);
    assert_int_equal(weir_start(w), WEIR_OK);
    return w;
}

static void a_stopped_job_goes_on(void **state) {
    (void)state;
    char dir[] = "/tmp/weir-api-XXXXXX";
    assert_non_null(mkdtemp(dir));
    static const int64_t first[] = {1, 2, 3}, second[] = {10, 20};
    weir   *w = open_counting(dir);
    int64_t sum = 0;
    int     rows = 0;
    assert_int_equal(weir_position(w, "t"), 0);
    assert_int_equal(push_numbers(w, "t", first, 3), WEIR_OK);
    struct ArrowSchema schema;
    struct ArrowArray  array;
    assert_int_equal(weir_pull(w, "result", 20000, &schema, &array), WEIR_OK); /* the rows are through */
    schema.release(&schema), array.release(&array);
    weir_stop(w);
    assert_int_equal(weir_wait(w), WEIR_INTERRUPTED);
    weir_close(w);
    w = open_counting(dir);
    assert_int_equal(weir_position(w, "t"), 3);
    assert_int_equal(push_numbers(w, "t", second, 2), WEIR_OK);
    assert_int_equal(weir_end(w, "t"), WEIR_OK);
    assert_int_equal(pull_all(w, "result", &sum, &rows), WEIR_END);
    assert_int_equal(weir_wait(w), WEIR_OK);
    assert_int_equal(sum, 36 - 6); /* changes from 6 to 36 */
    weir_close(w);
    remove_dir(dir);
}

static int refuse_rows(void *arg, const char *table, struct ArrowSchema *schema, struct ArrowArray *array) {
    (void)arg, (void)table, (void)schema, (void)array;
    return 7;
}

static void a_callback_can_fail_the_job(void **state) {
    (void)state;
    weir *w = weir_open();
    assert_int_equal(weir_sql(w, "SELECT 1 AS n"), WEIR_OK);
    assert_int_equal(weir_subscribe(w, "result", refuse_rows, NULL), WEIR_OK);
    assert_int_equal(weir_subscribe(w, "result", refuse_rows, NULL), WEIR_REFUSED);
    assert_int_equal(weir_start(w), WEIR_OK);
    assert_int_equal(weir_wait(w), WEIR_FAILED);
    assert_non_null(strstr(weir_error(w), "returned 7"));
    weir_close(w);
}

static void closing_stops_what_runs(void **state) {
    (void)state;
    weir *w = weir_open();
    assert_int_equal(weir_sql(w, "CREATE TABLE t (n BIGINT) WITH ('connector' = 'push'); SELECT n FROM t"), WEIR_OK);
    assert_int_equal(weir_listen(w, "result"), WEIR_OK);
    assert_int_equal(weir_start(w), WEIR_OK);
    weir_close(w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(variables_stand_for_their_values), cmocka_unit_test(missing_variables_are_named_with_their_place),
        cmocka_unit_test(settings_are_checked), cmocka_unit_test(rows_of_a_bare_select_come_by_callback),
        cmocka_unit_test(an_error_does_not_stick), cmocka_unit_test(push_needs_a_program), cmocka_unit_test(pushed_rows_are_pulled),
        cmocka_unit_test(refused_sql_leaves_the_rest_alone), cmocka_unit_test(a_stopped_job_goes_on),
        cmocka_unit_test(a_callback_can_fail_the_job), cmocka_unit_test(closing_stops_what_runs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
