/* connect/lookup_test.c: tables that are asked by key: SQLite by key and as a whole, files as a whole, what has changed, trouble.   */
#include "connect/testing.h"
#include <sqlite3.h>

#define TABLE(r, fields, ...) table_of((r), fields, WR_COUNT_OF(fields), __VA_ARGS__, (char *)NULL)
static const wr_type INT = {.id = WR_T_INT, .nullable = 1}, TEXT = {.id = WR_T_VARCHAR, .prec = WR_LENGTH_MAX, .nullable = 1};

static void exec(rig *r, const char *sql) {
    sqlite3 *db;
    assert_int_equal(sqlite3_open(in_dir(r, "t.db"), &db), SQLITE_OK);
    char *message = NULL;
    if (sqlite3_exec(db, sql, NULL, NULL, &message) != SQLITE_OK) fail_msg("%s", message);
    sqlite3_close(db);
}

/* The answer as sorted lines; the status of the question. */
static wr_status ask(rig *r, wr_lookup *l, const wr_batch *keys, char *out, size_t size) {
    wr_lookup_rows rows = {0};
    wr_status      s = l->vt->get(l, keys, &rows, &r->err);
    wr_sbuf        text = {0};
    for (uint32_t b = 0; b < rows.batches.n; b++) {
        for (uint32_t i = 0; i < rows.batches.at[b]->n_rows && s == WR_OK; i++) {
            for (uint32_t c = 0; c < rows.batches.at[b]->n_cols; c++) {
                if (c) wr_sbuf_addc(&text, '|');
                wr_vec_text(&rows.batches.at[b]->cols[c], i, NULL, &text);
            }
            wr_sbuf_addc(&text, '\n');
        }
        wr_batch_unref(rows.batches.at[b]);
    }
    snprintf(out, size, "%s", text.at ? text.at : "");
    wr_sbuf_free(&text);
    wr_arr_free(&rows.batches);
    return s;
}
static wr_batch *int_keys(const int32_t *keys, uint32_t n) {
    wr_batch *b = wr_batch_new(1, 256);
    wr_vec_init(&b->cols[0], INT, n, false, b->mem);
    memcpy(b->cols[0].data, keys, n * sizeof *keys);
    b->n_rows = n;
    return b;
}

static void sqlite_by_key(void **state) {
    (void)state;
    rig            r;
    char           out[1000];
    const uint32_t key[] = {0};
    const int32_t  keys[] = {2, 7, 1};
    const wr_field fields[] = {{WR_STR("k"), INT},
                               {WR_STR("name"), TEXT},
                               {WR_STR("price"), {.id = WR_T_DECIMAL, .prec = 10, .scale = 2, .nullable = 1}},
                               {WR_STR("ok"), {.id = WR_T_BOOLEAN, .nullable = 1}},
                               {WR_STR("ts"), {.id = WR_T_TIMESTAMP, .prec = 3, .nullable = 1}},
                               {WR_STR("f"), {.id = WR_T_DOUBLE, .nullable = 1}},
                               {WR_STR("raw"), {.id = WR_T_VARBINARY, .prec = WR_LENGTH_MAX, .nullable = 1}}};
    rig_open(&r);
    exec(&r, "CREATE TABLE \"o\"\"dd\" (k INTEGER, name TEXT, price TEXT, ok INTEGER, ts TEXT, f REAL, raw BLOB);"
             "INSERT INTO \"o\"\"dd\" VALUES (1, 'one with a long name', '1.50', 1, '2026-01-01 00:00:00.250', 1.5, x'4142'), (2, 'two', 7, 0, NULL, 2, NULL), (2, NULL, NULL, NULL, NULL, NULL, NULL), (3, 'x', '1', 1, NULL, 0, NULL)");
    wr_table_info t = TABLE(&r, fields, "connector", "sqlite", "path", in_dir(&r, "t.db"), "table", "o\"dd");
    wr_lookup    *l = NULL;
    assert_int_equal(wr_lookup_open(&t, key, 1, false, &r.ctx, &l, &r.err), WR_OK);
    wr_batch *b = int_keys(keys, 3);
    assert_int_equal(ask(&r, l, b, out, sizeof out), WR_OK);
    assert_string_equal(out, "2|two|7.00|FALSE|NULL|2.0|NULL\n2|NULL|NULL|NULL|NULL|NULL|NULL\n1|one with a long name|1.50|TRUE|2026-01-01 00:00:00.250|1.5|AB\n");
    exec(&r, "DELETE FROM \"o\"\"dd\" WHERE k < 3"); /* each question sees the table as it is then */
    assert_int_equal(ask(&r, l, b, out, sizeof out), WR_OK);
    assert_string_equal(out, "");
    assert_int_equal(ask(&r, l, NULL, out, sizeof out), WR_OK);
    assert_string_equal(out, "3|x|1.00|TRUE|NULL|0.0|NULL\n");
    exec(&r, "INSERT INTO \"o\"\"dd\" (k, price) VALUES (1, 'much')");
    assert_int_equal(ask(&r, l, b, out, sizeof out), WR_DATA);
    assert_non_null(strstr(r.err.message, "'much' in column 'price', expected DECIMAL(10, 2)"));
    wr_batch_unref(b);
    l->vt->close(l);
    rig_close(&r);
}

static void sqlite_trouble(void **state) {
    (void)state;
    rig            r;
    const uint32_t key[] = {0};
    const wr_field fields[] = {{WR_STR("k"), INT}, {WR_STR("name"), TEXT}};
    const wr_field nested[] = {{WR_STR("k"), INT}, {WR_STR("a"), {.id = WR_T_ARRAY, .n_kids = 1, .kids = &INT, .nullable = 1}}};
    wr_lookup     *l = NULL;
    rig_open(&r);
    wr_table_info t = TABLE(&r, fields, "connector", "sqlite", "path", in_dir(&r, "t.db"));
    assert_int_equal(wr_lookup_open(&t, key, 1, false, &r.ctx, &l, &r.err), WR_IO);
    assert_non_null(strstr(r.err.hint, "must be there before the job starts"));
    exec(&r, "CREATE TABLE t (k INTEGER)");
    assert_int_equal(wr_lookup_open(&t, key, 1, false, &r.ctx, &l, &r.err), WR_IO);
    assert_non_null(strstr(r.err.message, "no such column: t.name"));
    t = TABLE(&r, nested, "connector", "sqlite", "path", in_dir(&r, "t.db"));
    assert_int_equal(wr_lookup_open(&t, key, 1, false, &r.ctx, &l, &r.err), WR_UNSUPPORTED);
    t = TABLE(&r, fields, "connector", "datagen");
    assert_int_equal(wr_lookup_open(&t, key, 1, true, &r.ctx, &l, &r.err), WR_UNSUPPORTED);
    rig_close(&r);
}

static void versions(void **state) {
    (void)state;
    rig            r;
    uint64_t       a, b;
    const wr_field fields[] = {{WR_STR("k"), INT}};
    rig_open(&r);
    PUT(&r, "a.jsonl", "{\"k\":1}\n");
    wr_table_info       t = TABLE(&r, fields, "connector", "filesystem", "format", "json", "path", in_dir(&r, "a.jsonl"));
    const wr_connector *c = wr_connector_find(WR_STR("filesystem"));
    assert_int_equal(wr_lookup_way_of(c, &t), WR_LOOKUP_WHOLE);
    assert_int_equal(c->version(&t, &r.ctx, &a, &r.err), WR_OK);
    assert_int_equal(c->version(&t, &r.ctx, &b, &r.err), WR_OK);
    assert_true(a == b);
    APPEND(&r, "a.jsonl", "{\"k\":2}\n");
    assert_int_equal(c->version(&t, &r.ctx, &b, &r.err), WR_OK);
    assert_true(a != b);
    t = TABLE(&r, fields, "connector", "filesystem", "format", "json", "path", in_dir(&r, "a.jsonl"), "source.mode", "tail");
    assert_int_equal(wr_lookup_way_of(c, &t), WR_LOOKUP_NOT); /* it never ends */
    exec(&r, "CREATE TABLE t (k INTEGER)");
    c = wr_connector_find(WR_STR("sqlite"));
    t = TABLE(&r, fields, "connector", "sqlite", "path", in_dir(&r, "t.db"));
    assert_int_equal(wr_lookup_way_of(c, &t), WR_LOOKUP_BY_KEY);
    assert_int_equal(c->version(&t, &r.ctx, &a, &r.err), WR_OK);
    exec(&r, "CREATE TABLE u (k INTEGER)");
    assert_int_equal(c->version(&t, &r.ctx, &b, &r.err), WR_OK);
    assert_true(a != b);
    rig_close(&r);
}

static void files_as_a_whole(void **state) {
    (void)state;
    rig            r;
    char           out[1000];
    const uint32_t key[] = {0};
    const wr_field fields[] = {{WR_STR("k"), INT}, {WR_STR("name"), TEXT}};
    wr_lookup     *l = NULL;
    rig_open(&r);
    PUT(&r, "a.csv", "1,one\n2,two\n");
    wr_table_info t = TABLE(&r, fields, "connector", "filesystem", "format", "csv", "path", in_dir(&r, "a.csv"));
    assert_int_equal(wr_lookup_open(&t, key, 1, true, &r.ctx, &l, &r.err), WR_OK);
    assert_int_equal(ask(&r, l, NULL, out, sizeof out), WR_OK);
    assert_string_equal(out, "1|one\n2|two\n");
    PUT(&r, "a.csv", "3,three\nx,y\n"); /* each question reads it anew */
    assert_int_equal(ask(&r, l, NULL, out, sizeof out), WR_DATA);
    assert_non_null(strstr(r.err.message, "expected INT"));
    l->vt->close(l);
    t = TABLE(&r, fields, "connector", "filesystem", "format", "csv", "path", in_dir(&r, "a.csv"), "on-error", "skip");
    assert_int_equal(wr_lookup_open(&t, key, 1, true, &r.ctx, &l, &r.err), WR_OK);
    assert_int_equal(ask(&r, l, NULL, out, sizeof out), WR_OK);
    assert_string_equal(out, "3|three\n");
    l->vt->close(l);
    rig_close(&r);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(sqlite_by_key), cmocka_unit_test(sqlite_trouble), cmocka_unit_test(versions), cmocka_unit_test(files_as_a_whole)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
