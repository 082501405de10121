/* connect/ingest/body_test.c: bodies as records: what is taken, what is refused and why, and which bytes stand in the log.                     */
#include "connect/ingest/ingest.h"
#include "connect/testing.h"


typedef struct body { rig r; ingest_reader *reader; } body;

static void open_body(body *b) {
    static const wr_field fields[] = {{WR_STR("id"), {.id = WR_T_INT}}, {WR_STR("v"), {.id = WR_T_VARCHAR, .prec = WR_LENGTH_MAX, .nullable = 1}}, {WR_STR("d"), {.id = WR_T_DATE, .nullable = 1}}};
    rig_open(&b->r);
    wr_table_info t = table_of(&b->r, fields, 3, "connector", "http-ingest", "format", "json", (char *)NULL);
    assert_int_equal(ingest_reader_new(&t, &b->r.ctx, &b->reader), WR_OK);
}
static void close_body(body *b) {
    ingest_reader_free(b->reader);
    rig_close(&b->r);
}

/* The records, one a line; "2!" for a bad row 2 behind them; "400 why". */
static void expect_of(body *b, const char *type, wr_str text, bool keep_bad, const char *want) {
    ingest_rows rows = {0};
    wr_sbuf     got = {0};
    ingest_read(b->reader, type, text, keep_bad, &rows);
    if (rows.status) wr_sbuf_printf(&got, "%d %s", rows.status, rows.why);
    for (uint32_t i = 0; i < rows.records.n; i++) wr_sbuf_printf(&got, "%.*s\n", WR_FMT(rows.records.at[i].value));
    for (uint32_t i = 0; i < rows.errors.n; i++) wr_sbuf_printf(&got, "%llu!", (unsigned long long)rows.errors.at[i].row);
    assert_string_equal(got.at ? got.at : "", want);
    assert_int_equal(rows.records.n, rows.n_good + (keep_bad ? rows.n_bad : 0));
    wr_sbuf_free(&got);
    ingest_rows_free(&rows);
}
#define EXPECT(type, text, keep_bad, want) expect_of(&b, (type), WR_STR(text), (keep_bad), (want))

static void json(void **state) {
    (void)state;
    body b;
    open_body(&b);
    EXPECT("application/json", "", false, "");
    EXPECT(NULL, " {\"id\": 1,\n\"v\": \"a b\"}\n", false, "{\"id\":1,\"v\":\"a b\"}\n");
    EXPECT("application/json; charset=utf-8", "[{\"id\":1},{\"id\":\"x\"},5,{\"id\":2,\"d\":\"2026-02-30\"},{\"id\":3}]", false, "{\"id\":1}\n{\"id\":3}\n2!3!4!");
    EXPECT("application/x-www-form-urlencoded", "[{\"id\":1},{\"id\":null},{\"v\":1}]", true, "{\"id\":1}\n{\"id\":null}\n{\"v\":1}\n2!3!");
    EXPECT("application/json", "[{\"id\":1}", false, "400 the body is not JSON: an array is not closed");
    EXPECT("application/x-ndjson", "\r\n{\"id\": 1}\r\n\r\n{oops\r\n{\"id\":2}", true, "{\"id\": 1}\n{oops\n{\"id\":2}\n2!");
    EXPECT("application/X-NDJSON ", "\xef\xbb\xbf{\"id\":1}\n{\"id\":2,\"v\":\"\xff\"}", false, "{\"id\":1}\n2!");
    EXPECT("multipart/form-data; boundary=x", "a", false, "415 the body is 'multipart/form-data; boundary=x'; rows are taken as application/json, application/x-ndjson and text/csv");
    close_body(&b);
}

static void csv(void **state) {
    (void)state;
    body b;
    open_body(&b);
    EXPECT("text/csv", "", false, "");
    EXPECT("text/csv", "1,a,2026-01-31\r\n2,,\n3,\"x\n\"\"y\"\"\",", false, "{\"id\":1,\"v\":\"a\",\"d\":\"2026-01-31\"}\n{\"id\":2,\"v\":null,\"d\":null}\n{\"id\":3,\"v\":\"x\\n\\\"y\\\"\",\"d\":null}\n");
    EXPECT("text/csv", "x,a,\n1,b,\n2,c,2026-99-01\n3,d,\n4\n", false, "{\"id\":1,\"v\":\"b\",\"d\":null}\n{\"id\":3,\"v\":\"d\",\"d\":null}\n1!3!5!");
    EXPECT("text/csv", "x,a,\n1,b,\n2,c,zzz\n", true, "x,a,\n{\"id\":1,\"v\":\"b\",\"d\":null}\n2,c,zzz\n1!3!");
    EXPECT("text/csv;charset=utf-8; header=present", "id,v,d\n1,a,\n", false, "{\"id\":1,\"v\":\"a\",\"d\":null}\n");
    close_body(&b);
}

/* The first hundred are told, all are counted. */
static void many_errors(void **state) {
    (void)state;
    body        b;
    wr_sbuf     text = {0};
    ingest_rows rows = {0};
    open_body(&b);
    for (int i = 0; i < 5000; i++) wr_sbuf_addz(&text, i % 2 ? "{\"id\":1}\n" : "{}\n");
    ingest_read(b.reader, "application/x-ndjson", wr_sbuf_str(&text), false, &rows);
    assert_int_equal(rows.n_good, 2500);
    assert_int_equal(rows.n_bad, 2500);
    assert_int_equal(rows.errors.n, INGEST_ERRORS_SHOWN);
    assert_int_equal(rows.errors.at[99].row, 199);
    assert_string_equal(rows.errors.at[0].reason, "NULL in NOT NULL column: field 'id' is missing, and its column is NOT NULL");
    ingest_rows_free(&rows);
    wr_sbuf_free(&text);
    close_body(&b);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(json), cmocka_unit_test(csv), cmocka_unit_test(many_errors)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
