/* api/lookup_test.c: lookup joins in running jobs while the table changes: files read again, SQLite asked anew or from the cache, retractions that fit. */
#include "weir.h"
#include <setjmp.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static char dir[64];

static void no_release_array(struct ArrowArray *a) { a->release = NULL; }
static void no_release_schema(struct ArrowSchema *s) { s->release = NULL; }

static void push_one(weir *w, int64_t value) {
    struct ArrowSchema n = {.format = "l", .name = "n", .flags = 2, .release = no_release_schema}, *fields = &n;
    struct ArrowSchema schema = {.format = "+s", .name = "", .n_children = 1, .children = &fields, .release = no_release_schema};
    const void        *buffers[2] = {NULL, &value}, *none[1] = {NULL};
    struct ArrowArray  numbers = {.length = 1, .n_buffers = 2, .buffers = buffers, .release = no_release_array}, *arrays = &numbers;
    struct ArrowArray  array = {.length = 1, .n_buffers = 1, .buffers = none, .n_children = 1, .children = &arrays, .release = no_release_array};
    assert_int_equal(weir_push(w, "t", &schema, &array), WEIR_OK);
}
/* The next row: its first column, with the sign of its kind. */
static int64_t pull_one(weir *w) {
    static struct ArrowSchema schema;
    static struct ArrowArray  array;
    static int64_t            at;
    if (!array.release || at == array.length) {
        if (array.release) schema.release(&schema), array.release(&array);
        array.release = NULL, at = 0;
        weir_result result = weir_pull(w, "result", 20000, &schema, &array);
        if (result == WEIR_END) return 0;
        if (result != WEIR_OK) fail_msg("pull: %d %s", (int)result, weir_error(w));
    }
    const int64_t *values = array.children[0]->buffers[1];
    const int8_t  *kinds = array.children[array.n_children - 1]->buffers[1];
    int64_t        v = kinds[at] == 0 || kinds[at] == 2 ? values[at] : -values[at];
    at++;
    return v;
}
static void put_file(const char *text) {
    char path[200];
    snprintf(path, sizeof path, "%s/d.jsonl", dir);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}
static void exec(const char *sql) {
    char     path[200];
    sqlite3 *db;
    snprintf(path, sizeof path, "%s/d.db", dir);
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
}
static weir *start(const char *table_options, const char *query) {
    char  sql[2000];
    weir *w = weir_open();
    assert_int_equal(weir_set(w, "workers", "2"), WEIR_OK);
    snprintf(sql, sizeof sql, "CREATE TABLE t (n BIGINT, p AS PROCTIME()) WITH ('connector' = 'push'); CREATE TABLE d (k BIGINT, v BIGINT) WITH (%s); %s", table_options, query);
    if (weir_sql(w, sql) != WEIR_OK) fail_msg("%s", weir_error(w));
    assert_int_equal(weir_listen(w, "result"), WEIR_OK);
    assert_int_equal(weir_start(w), WEIR_OK);
    return w;
}
static void finish(weir *w) {
    assert_int_equal(weir_end(w, "t"), WEIR_OK);
    assert_int_equal(pull_one(w), 0);
    if (weir_wait(w) != WEIR_OK) fail_msg("%s", weir_error(w));
    weir_close(w);
}

static const char *const JOIN = "SELECT d.v FROM t JOIN d FOR SYSTEM_TIME AS OF t.p AS d ON t.n = d.k";

static void a_file_that_changes_is_read_again(void **state) {
    (void)state;
    char options[300];
    put_file("{\"k\":1,\"v\":10}\n");
    snprintf(options, sizeof options, "'connector' = 'filesystem', 'format' = 'json', 'path' = '%s/d.jsonl', 'lookup.full-cache.change-check.interval' = '0 s'", dir);
    weir *w = start(options, JOIN);
    push_one(w, 1);
    assert_int_equal(pull_one(w), 10);
    put_file("{\"k\":1,\"v\":2000}\n{\"k\":2,\"v\":30}\n");
    push_one(w, 1);
    assert_int_equal(pull_one(w), 2000);
    push_one(w, 2);
    assert_int_equal(pull_one(w), 30);
    finish(w);
}

static void sqlite_is_asked_each_time_without_a_cache(void **state) {
    (void)state;
    char options[300];
    exec("CREATE TABLE d (k INTEGER PRIMARY KEY, v INTEGER); INSERT INTO d VALUES (1, 10)");
    snprintf(options, sizeof options, "'connector' = 'sqlite', 'path' = '%s/d.db'", dir);
    weir *w = start(options, JOIN);
    push_one(w, 1);
    assert_int_equal(pull_one(w), 10);
    exec("UPDATE d SET v = 11");
    push_one(w, 1);
    assert_int_equal(pull_one(w), 11);
    finish(w);
    snprintf(options, sizeof options, "'connector' = 'sqlite', 'path' = '%s/d.db', 'lookup.cache' = 'PARTIAL', 'lookup.partial-cache.max-rows' = '10'", dir);
    w = start(options, JOIN);
    push_one(w, 1);
    assert_int_equal(pull_one(w), 11);
    exec("UPDATE d SET v = 12");
    push_one(w, 1);
    assert_int_equal(pull_one(w), 11); /* from the cache */
    assert_int_equal(weir_end(w, "t"), WEIR_OK);
    assert_int_equal(pull_one(w), 0);
    assert_int_equal(weir_wait(w), WEIR_OK);
    char *status = weir_status(w);
    assert_non_null(strstr(status, "\"lookup\":{\"hits\":1,\"asked\":1,"));
    weir_free(status);
    weir_close(w);
    exec("DROP TABLE d");
}

/* The count of a key changes, and so has the table: what was given is what is taken back. */
static void retractions_fit(void **state) {
    (void)state;
    char    options[300];
    int64_t sum = 0, v;
    exec("CREATE TABLE d (k INTEGER PRIMARY KEY, v INTEGER); INSERT INTO d VALUES (1, 10)");
    snprintf(options, sizeof options, "'connector' = 'sqlite', 'path' = '%s/d.db'", dir);
    weir *w = start(options, "SELECT d.v * 100 + a.c FROM (SELECT n, COUNT(*) AS c FROM t GROUP BY n) AS a JOIN d FOR SYSTEM_TIME AS OF PROCTIME() AS d ON a.n = d.k");
    push_one(w, 1);
    assert_int_equal(pull_one(w), 1001);
    exec("UPDATE d SET v = 20");
    push_one(w, 1);
    assert_int_equal(pull_one(w), -1001);
    assert_int_equal(pull_one(w), 2002);
    exec("DELETE FROM d");
    push_one(w, 1);
    assert_int_equal(pull_one(w), -2002);
    assert_int_equal(weir_end(w, "t"), WEIR_OK);
    while ((v = pull_one(w))) sum += v;
    assert_int_equal(sum, 0); /* nothing is there for the last count */
    assert_int_equal(weir_wait(w), WEIR_OK);
    weir_close(w);
    exec("DROP TABLE d");
}

static void a_table_that_goes_away_stops_the_job(void **state) {
    (void)state;
    char options[300];
    exec("CREATE TABLE d (k INTEGER PRIMARY KEY, v INTEGER); INSERT INTO d VALUES (1, 10)");
    snprintf(options, sizeof options, "'connector' = 'sqlite', 'path' = '%s/d.db', 'lookup.max-retries' = '1'", dir);
    weir *w = start(options, JOIN);
    push_one(w, 1);
    assert_int_equal(pull_one(w), 10);
    exec("DROP TABLE d");
    push_one(w, 1);
    assert_int_equal(weir_wait(w), WEIR_FAILED);
    assert_non_null(strstr(weir_error(w), "no such table"));
    assert_non_null(strstr(weir_error(w), "the first is (1)"));
    weir_close(w);
}

static int make_dir(void **state) {
    (void)state;
    snprintf(dir, sizeof dir, "/tmp/weir-lookup-XXXXXX");
    return mkdtemp(dir) ? 0 : -1;
}
static int remove_dir(void **state) {
    (void)state;
    char command[100];
    snprintf(command, sizeof command, "rm -rf %s", dir);
    return system(command);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_file_that_changes_is_read_again), cmocka_unit_test(sqlite_is_asked_each_time_without_a_cache), cmocka_unit_test(retractions_fit),
                                       cmocka_unit_test(a_table_that_goes_away_stops_the_job)};
    return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
