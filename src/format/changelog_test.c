/* format/changelog_test.c: debezium-json, upsert-json and envelopes (the Kafka cases), and what the encoders write.                */
#include "format/testing.h"

#define INT_ wr_type_of(WR_T_INT)
#define STR_ wr_type_string()

static void debezium_ops(void **state) {
    (void)state;
    wr_field   f[] = {FIELD("id", wr_type_not_null(INT_)), FIELD("v", STR_)};
    test_table t = TABLE("debezium-json", f);
    wr_decoded n;
    const char text[] = "{\"before\":null,\"after\":{\"id\":1,\"v\":\"a\"},\"op\":\"c\"}\n"
                        "{\"op\":\"u\",\"before\":{\"id\":1,\"v\":\"a\"},\"after\":{\"id\":1,\"v\":\"b\"},\"source\":{\"db\":\"x\"},\"ts_ms\":5}\n"
                        "{\"schema\":{\"type\":\"struct\"},\"payload\":{\"before\":{\"id\":1,\"v\":\"b\"},\"after\":null,\"op\":\"d\"}}\n"
                        "null\n\n{\"after\":{\"id\":2},\"op\":\"r\"}\n";
    char *got = test_decode(&t, text, sizeof text - 1, &n);
    assert_string_equal(got, "+I[1, a]\n-U[1, a]\n+U[1, b]\n-D[1, b]\n+I[2, NULL]\n");
    wr_free(got);
    assert_int_equal(n.n_records, 5); /* the blank line is none */
    assert_int_equal(n.n_rows, 5);
    assert_int_equal(n.n_tombstones, 1);
    assert_int_equal(n.n_blank, 1);
}

static void debezium_trouble(void **state) {
    (void)state;
    wr_field   f[] = {FIELD("id", wr_type_not_null(INT_)), FIELD("v", STR_)};
    test_table t = TABLE("debezium-json", f);
    EXPECT(&t, "{\"before\":null,\"after\":{\"id\":1},\"op\":\"u\"}\n{\"after\":{\"id\":1},\"op\":\"c\"}\n{\"op\":\"d\"}\n{\"op\":\"x\",\"after\":{}}\n{\"id\":1}\n{\"before\":{\"id\":1},\"after\":{\"id\":\"q\"},\"op\":\"u\"}\n",
           "!missing field 0:0 op \"u\" without \"before\": the source table needs REPLICA IDENTITY FULL, so that the old row is in the log\n+I[1, NULL]\n"
           "!missing field 2:70 op \"d\" without \"before\": the source table needs REPLICA IDENTITY FULL, so that the old row is in the log\n"
           "!malformed 3:81 \"op\" is \"x\"; only \"c\", \"r\", \"u\" and \"d\" are known\n!missing field 4:103 no \"op\" that is \"c\", \"r\", \"u\" or \"d\": not a Debezium record\n"
           "!wrong type 5:112 field 'id': expected INT, got \"q\"\n");
}

static void debezium_in_an_envelope(void **state) { /* case debezium-key-change */
    (void)state;
    wr_field   f[] = {FIELD("k", INT_)};
    test_table t = TABLE("debezium-json", f);
    t.envelope = true;
    wr_decoded n;
    const char text[] = "{\"partition\": 0, \"offset\": 0, \"key\": \"71\", \"value\": \"{\\\"before\\\": null, \\\"after\\\": {\\\"k\\\": 71}, \\\"op\\\": \\\"c\\\"}\"}\n"
                        "{\"partition\": 0, \"offset\": 1, \"key\": \"71\", \"value\": \"{\\\"before\\\": {\\\"k\\\": 71}, \\\"after\\\": null, \\\"op\\\": \\\"d\\\"}\"}\n"
                        "{\"partition\": 0, \"offset\": 2, \"key\": \"71\", \"value\": null}\n"
                        "{\"partition\": 0, \"offset\": 3, \"key\": \"7100\", \"value\": {\"before\": null, \"after\": {\"k\": 7100}, \"op\": \"c\"}}\n";
    char *got = test_decode(&t, text, sizeof text - 1, &n);
    assert_string_equal(got, "+I[71]\n-D[71]\n+I[7100]\n");
    wr_free(got);
    assert_int_equal(n.n_records, 4);
    assert_int_equal(n.n_tombstones, 1);
}

static void upserts(void **state) { /* case tombstone-deletes-row */
    (void)state;
    wr_field   f[] = {FIELD("k", wr_type_not_null(STR_)), FIELD("region", STR_), FIELD("n", wr_type_not_null(INT_))};
    const bool key[] = {true, false, false};
    test_table t = TABLE("upsert-json", f);
    t.key = key;
    wr_decoded n;
    const char text[] = "{\"partition\":0,\"offset\":0,\"key\":\"a key of more than twelve bytes\",\"value\":\"{\\\"k\\\": \\\"a key of more than twelve bytes\\\", \\\"region\\\": \\\"north\\\", \\\"n\\\":1}\"}\n"
                        "{\"partition\":0,\"offset\":1,\"key\":\"a key of more than twelve bytes\",\"value\":null}\n"
                        "{\"partition\":0,\"offset\":2,\"key\":\"{\\\"k\\\":\\\"d9\\\"}\",\"value\":null}\n"
                        "{\"partition\":0,\"offset\":3,\"key\":{\"k\":\"d8\"},\"value\":null}\n"
                        "{\"partition\":0,\"offset\":4,\"key\":null,\"value\":null}\n"
                        "{\"partition\":0,\"offset\":5,\"key\":\"{}\",\"value\":null}\n";
    char *got = test_decode(&t, text, sizeof text - 1, &n);
    assert_string_equal(got, "+U[a key of more than twelve bytes, north, 1]\n-D[a key of more than twelve bytes, NULL, NULL]\n-D[d9, NULL, NULL]\n-D[d8, NULL, NULL]\n"
                             "!missing field 4:354 a null value without \"key\": there is nothing to delete\n"
                             "!NULL in NOT NULL column 5:405 \"key\": field 'k' is missing, and its column is NOT NULL\n");
    wr_free(got);
    assert_int_equal(n.n_tombstones, 3);
    assert_int_equal(n.n_records, 6);
}

static void redelivered_and_empty(void **state) { /* cases redelivered-offsets, kafka-empty-value */
    (void)state;
    wr_field   f[] = {FIELD("id", INT_)};
    test_table t = TABLE("json", f);
    t.envelope = true;
    char text[] = "{\"partition\": 0, \"offset\": 0, \"key\": null, \"value\": \"{\\\"id\\\": 1}\"}\n{\"partition\": 0, \"offset\": 3, \"key\": null, \"value\": \"{\\\"id\\\": 8}\"}\n"
                  "{\"partition\": 0, \"offset\": 3, \"key\": null, \"value\": \"{\\\"id\\\": 8}\"}\n{\"partition\": 1, \"offset\": 2, \"key\": null, \"value\": \"\"}\n"
                  "{\"partition\": 0, \"offset\": 2, \"key\": null, \"value\": \"{\\\"id\\\": 4}\"}\n{\"partition\": 1, \"offset\": 3, \"key\": null, \"value\": \"{\\\"id\\\": \"}\n";
    wr_envelope_seen seen = {0};
    assert_int_equal(wr_envelope_mark((uint8_t *)text, sizeof text - 1, &seen), 2);
    assert_int_equal(seen.list.n, 2);
    wr_decoded n;
    char *got = test_decode(&t, text, sizeof text - 1, &n);
    assert_string_equal(got, "+I[1]\n+I[8]\n!malformed 5:324 JSON: expected the value of field 'id', got end of line\n");
    wr_free(got);
    assert_int_equal(n.n_redelivered, 2);
    assert_int_equal(n.n_blank, 1);
    assert_int_equal(n.n_records, 6);
    wr_arr_free(&seen.list);
}

/* ---- writing ---- */

static wr_batch *decode_one(const test_table *t, const char *text) {
    wr_decoder *d = test_decoder(t);
    wr_decoded  out = {0};
    test_chunk(d, text, strlen(text), true, &out);
    d->free(d);
    assert_int_equal(out.bad.n, 0);
    assert_int_equal(out.batches.n, 1);
    wr_batch *batch = out.batches.at[0];
    wr_arr_free(&out.batches);
    return batch;
}

static char *encode(const char *format, const test_table *t, wr_batch *batch, const wr_option *options, uint32_t n) {
    wr_encoder *e;
    wr_encoder_opts o = {.schema = &t->schema, .options = {n, options}};
    wr_sbuf     out = {0};
    assert_int_equal(wr_format_find(wr_str_of(format))->encoder_new(&o, &e, NULL), WR_OK);
    e->encode(e, batch, 0, wr_batch_live(batch), &out);
    e->free(e);
    return out.at;
}

static void json_written_is_json_read(void **state) {
    (void)state;
    wr_type    int_ = INT_, map_kids[] = {STR_, INT_};
    wr_type    array = {.id = WR_T_ARRAY, .nullable = 1, .n_kids = 1, .kids = &int_}, map = {.id = WR_T_MAP, .nullable = 1, .n_kids = 2, .kids = map_kids};
    wr_field   f[] = {FIELD("i", INT_), FIELD("s", STR_), FIELD("d", wr_type_decimal(10, 2)), FIELD("f", wr_type_of(WR_T_DOUBLE)), FIELD("t", wr_type_prec(WR_T_TIMESTAMP, 3)), FIELD("a", array), FIELD("m", map),
                      FIELD("y", wr_type_prec(WR_T_VARBINARY, WR_LENGTH_MAX)), FIELD("b", wr_type_of(WR_T_BOOLEAN)), FIELD("l", wr_type_prec(WR_T_TIMESTAMP_LTZ, 3))};
    test_table t = TABLE("json", f);
    const char text[] = "{\"i\":-1,\"s\":\"q\\\"\\n\xC3\xA9\",\"d\":1.50,\"f\":0.1,\"t\":\"2026-01-01 00:00:00.5\",\"a\":[1,null],\"m\":{\"k\":2},\"y\":\"aGVsbG8=\",\"b\":true,\"l\":\"2026-01-01 00:00:00Z\"}\n"
                        "{\"i\":null,\"s\":null,\"d\":null,\"f\":\"NaN\",\"t\":null,\"a\":null,\"m\":null,\"y\":null,\"b\":null,\"l\":null}\n";
    wr_batch *batch = decode_one(&t, text);
    char     *got = encode("json", &t, batch, NULL, 0);
    assert_string_equal(got, text);
    wr_free(got);
    wr_option short_[] = {OPTION("json.encode.ignore-null-fields", "true"), OPTION("json.timestamp-format.standard", "ISO-8601")};
    got = encode("json", &t, batch, short_, 2);
    assert_non_null(strstr(got, "\"t\":\"2026-01-01T00:00:00.5\""));
    assert_non_null(strstr(got, "\n{\"f\":\"NaN\"}\n"));
    wr_free(got);
    wr_sbuf       exact = {0};
    wr_json_style style = {.sep = ' ', .exact = true};
    wr_json_row(&t.schema, batch, 0, "+I", &style, &exact);
    assert_non_null(strstr(exact.at, "{\"op\":\"+I\",\"i\":-1,"));
    assert_non_null(strstr(exact.at, "\"d\":\"1.50\""));
    assert_non_null(strstr(exact.at, "\"t\":\"2026-01-01 00:00:00.500\""));
    assert_non_null(strstr(exact.at, "\"l\":\"2026-01-01 00:00:00.000Z\""));
    wr_sbuf_free(&exact);
    wr_batch_unref(batch);
}

static void debezium_written(void **state) {
    (void)state;
    wr_field   f[] = {FIELD("id", INT_)};
    test_table t = TABLE("debezium-json", f);
    wr_batch  *batch = decode_one(&t, "{\"before\":{\"id\":1},\"after\":{\"id\":2},\"op\":\"u\"}\n");
    char      *got = encode("debezium-json", &t, batch, NULL, 0);
    assert_string_equal(got, "{\"before\":{\"id\":1},\"after\":null,\"op\":\"d\"}\n{\"before\":null,\"after\":{\"id\":2},\"op\":\"c\"}\n");
    wr_free(got);
    wr_batch_unref(batch);
}

static void canal_rows(void **state) { /* batches of rows, partial old images per row, DDL, nothing at all */
    (void)state;
    wr_field   f[] = {FIELD("id", wr_type_not_null(INT_)), FIELD("v", STR_), FIELD("w", STR_)};
    test_table t = TABLE("canal-json", f);
    wr_decoded n;
    const char text[] = "{\"data\":[{\"id\":\"1\",\"v\":\"a\",\"w\":\"p\"},{\"id\":2,\"v\":\"b\",\"w\":\"q\"}],\"old\":null,\"type\":\"INSERT\"}\n"
                        "{\"data\":[{\"id\":1,\"v\":\"c\",\"w\":\"p\"},{\"id\":2,\"v\":\"b\",\"w\":\"r\"}],\"old\":[{\"v\":\"a\"},{\"w\":null}],\"type\":\"UPDATE\"}\n"
                        "{\"data\":null,\"isDdl\":true,\"sql\":\"ALTER TABLE x\",\"type\":\"ALTER\"}\n{\"type\":\"CREATE\"}\n{\"data\":[],\"type\":\"INSERT\"}\nnull\n"
                        "{\"type\":\"DELETE\",\"data\":[{\"v\":\"b\"}]}\n";
    for (t.batch_rows = 1; t.batch_rows < 5; t.batch_rows++) {
        char *got = test_decode(&t, text, sizeof text - 1, &n);
        assert_string_equal(got, "+I[1, a, p]\n+I[2, b, q]\n-U[1, a, p]\n+U[1, c, p]\n-U[2, b, NULL]\n+U[2, b, r]\n-D[NULL, b, NULL]\n");
        wr_free(got);
        assert_int_equal(n.n_records, 7);
        assert_int_equal(n.n_blank, 3);
        assert_int_equal(n.n_tombstones, 1);
    }
}

static void canal_records_are_whole(void **state) { /* the last row of a record is wrong: none of its rows is taken, whatever the size of batches */
    (void)state;
    wr_field   f[] = {FIELD("id", INT_)};
    test_table t = TABLE("canal-json", f);
    const char text[] = "{\"data\":[{\"id\":1}],\"type\":\"INSERT\"}\n{\"data\":[{\"id\":2},{\"id\":3},{\"id\":4},{\"id\":5},{\"id\":\"x\"}],\"type\":\"INSERT\"}\n"
                        "{\"data\":[{\"id\":6},{\"id\":7}],\"old\":[{\"id\":5}],\"type\":\"UPDATE\"}\n{\"data\":[{\"id\":8},7],\"type\":\"INSERT\"}\n{\"data\":[{\"id\":9}],\"type\":\"INSERT\"}\n";
    for (t.batch_rows = 1; t.batch_rows < 8; t.batch_rows++)
        EXPECT(&t, text, "+I[1]\n!wrong type 1:36 field 'id': expected INT, got \"x\"\n!missing field 2:110 \"old\" has fewer rows than \"data\"\n!malformed 3:172 JSON: expected an object, got 7\n+I[9]\n");
}

static void canal_trouble(void **state) {
    (void)state;
    wr_field        f[] = {FIELD("id", INT_)};
    const wr_option only[] = {OPTION("canal-json.table.include", "t\\d+"), OPTION("canal-json.database.include", "d|e")};
    test_table      t = TABLE("canal-json", f);
    EXPECT(&t, "{\"type\":\"TRUNCATE\",\"isDdl\":true}\n{\"type\":\"UPDATE\",\"data\":[{\"id\":1}]}\n{\"type\":\"INSERT\"}\n{\"id\":1}\n{\"type\":\"insert\",\"data\":[]}\n",
           "!malformed 0:0 TRUNCATE takes rows away without naming them\n!missing field 1:33 an UPDATE without \"old\", the array of what the rows were\n"
           "!missing field 2:69 no \"data\" that is an array of rows\n!missing field 3:87 no \"type\" that says what happened: not a record of this format\n"
           "!malformed 4:96 \"type\" is \"insert\"; only \"INSERT\", \"UPDATE\", \"DELETE\" and DDL are known\n");
    t.options = only, t.n_options = 2;
    EXPECT(&t, "{\"database\":\"d\",\"table\":\"t12\",\"type\":\"INSERT\",\"data\":[{\"id\":1}]}\n{\"database\":\"d\",\"table\":\"t12x\",\"type\":\"INSERT\",\"data\":[{\"id\":2}]}\n"
               "{\"database\":\"dd\",\"table\":\"t1\",\"type\":\"what\"}\n{\"database\":\"e\",\"type\":\"INSERT\",\"data\":[{\"id\":3}]}\n",
           "+I[1]\n!missing field 3:176 no \"table\", which 'canal-json.table.include' asks for\n");
    const wr_option wrong[] = {OPTION("canal-json.table.include", "(")};
    wr_decoder_opts opts = {.schema = &t.schema, .options = {1, wrong}};
    wr_diags        diags;
    wr_decoder     *d;
    wr_diags_init(&diags);
    assert_int_equal(wr_format_canal.decoder_new(&opts, &d, &diags), WR_USER);
    assert_int_equal(diags.n_errors, 1);
    wr_diags_free(&diags);
}

static void maxwell_and_ogg(void **state) {
    (void)state;
    wr_field   f[] = {FIELD("id", INT_), FIELD("v", STR_)};
    test_table m = TABLE("maxwell-json", f), o = TABLE("ogg-json", f);
    EXPECT(&m, "{\"type\":\"bootstrap-start\",\"data\":{}}\n{\"type\":\"bootstrap-insert\",\"data\":{\"id\":1,\"v\":\"a\"}}\n{\"type\":\"update\",\"data\":{\"id\":1,\"v\":\"b\"},\"old\":{\"v\":\"a\"}}\n"
               "{\"type\":\"update\",\"data\":{\"id\":1,\"v\":\"b\"}}\n{\"type\":\"table-alter\"}\n{\"type\":\"table-drop\"}\n{\"type\":\"delete\",\"data\":{\"id\":1,\"v\":\"b\"}}\n{\"type\":\"update\",\"data\":{\"id\":1},\"old\":{\"id\":\"x\"}}\n",
           "+I[1, a]\n-U[1, a]\n+U[1, b]\n!missing field 3:147 an update without \"old\", what the row was\n!malformed 5:212 table-drop takes rows away without naming them\n-D[1, b]\n"
           "!wrong type 7:276 field 'id': expected INT, got \"x\"\n");
    EXPECT(&o, "{\"op_type\":\"I\",\"after\":{\"id\":1,\"v\":\"a\"}}\n{\"op_type\":\"U\",\"before\":{\"id\":1,\"v\":\"a\"},\"after\":{\"id\":1,\"v\":\"b\"}}\n{\"op_type\":\"D\",\"before\":{\"id\":1}}\n{\"op_type\":\"U\",\"after\":{\"id\":1}}\n{\"op_type\":\"T\"}\n",
           "+I[1, a]\n-U[1, a]\n+U[1, b]\n-D[1, NULL]\n!missing field 3:142 op_type \"U\" without \"before\": the source table needs supplemental logging of all columns, so that the old row is in the log\n"
           "!malformed 4:175 \"op_type\" is \"T\"; only \"I\", \"U\" and \"D\" are known\n");
}

static void debezium_metadata(void **state) {
    (void)state;
    static wr_type pair[2];
    pair[0] = pair[1] = STR_;
    wr_type    map = {.id = WR_T_MAP, .nullable = 1, .n_kids = 2, .kids = pair};
    wr_field   f[] = {FIELD("id", INT_)};
    wr_field   m[] = {FIELD("t", wr_type_prec(WR_T_TIMESTAMP_LTZ, 3)), FIELD("s", wr_type_prec(WR_T_TIMESTAMP_LTZ, 9)), FIELD("db", wr_type_not_null(STR_)), FIELD("p", map), FIELD("schema", STR_)};
    wr_str     keys[] = {WR_STR("ingestion-timestamp"), WR_STR("source.timestamp"), WR_STR("source.database"), WR_STR("source.properties"), WR_STR("schema")};
    test_table t = TABLE("debezium-json", f);
    t.metadata = (wr_schema){5, m};
    t.metadata_keys = keys;
    EXPECT(&t, "{\"schema\":{\"a\": [1]},\"payload\":{\"after\":{\"id\":1},\"op\":\"c\",\"ts_ms\":1589373515477,\"source\":{\"ts_ms\":\"1\",\"db\":\"inv\"}}}\n{\"after\":{\"id\":2},\"op\":\"r\",\"source\":{\"db\":\"x\",\"n\":{\"k\":1},\"z\":null}}\n"
               "{\"after\":{\"id\":3},\"op\":\"c\"}\n{\"after\":{\"id\":3},\"op\":\"c\",\"ts_ms\":\"soon\",\"source\":{\"db\":\"x\"}}\n",
           "+I[1, 2020-05-13 12:38:35.477, 1970-01-01 00:00:00.001000000, inv, {ts_ms=1, db=inv}, {\"a\":[1]}]\n+I[2, NULL, NULL, x, {db=x, n={\"k\":1}, z=NULL}, NULL]\n"
           "!NULL in NOT NULL column 2:185 metadata 'source.database' is missing, and its column is NOT NULL\n!wrong type 3:213 field 'ingestion-timestamp': expected BIGINT, got \"soon\"\n");
}

static void forms_written(void **state) {
    (void)state;
    static const struct { const char *format, *expected, *short_expected; } cases[] = {
        {"canal-json", "{\"data\":[{\"a\":1,\"b\":null}],\"type\":\"INSERT\"}\n{\"data\":[{\"a\":2,\"b\":null}],\"type\":\"DELETE\"}\n", "{\"data\":[{\"a\":1}],\"type\":\"INSERT\"}\n{\"data\":[{\"a\":2}],\"type\":\"DELETE\"}\n"},
        {"maxwell-json", "{\"data\":{\"a\":1,\"b\":null},\"type\":\"insert\"}\n{\"data\":{\"a\":2,\"b\":null},\"type\":\"delete\"}\n", "{\"data\":{\"a\":1},\"type\":\"insert\"}\n{\"data\":{\"a\":2},\"type\":\"delete\"}\n"},
        {"ogg-json", "{\"before\":null,\"after\":{\"a\":1,\"b\":null},\"op_type\":\"I\"}\n{\"before\":{\"a\":2,\"b\":null},\"after\":null,\"op_type\":\"D\"}\n", "{\"after\":{\"a\":1},\"op_type\":\"I\"}\n{\"before\":{\"a\":2},\"op_type\":\"D\"}\n"},
        {"debezium-json", "{\"before\":null,\"after\":{\"a\":1,\"b\":null},\"op\":\"c\"}\n{\"before\":{\"a\":2,\"b\":null},\"after\":null,\"op\":\"d\"}\n", "{\"after\":{\"a\":1},\"op\":\"c\"}\n{\"before\":{\"a\":2},\"op\":\"d\"}\n"}};
    wr_field   f[] = {FIELD("a", INT_), FIELD("b", STR_)};
    test_table t = TABLE("debezium-json", f);
    wr_batch  *rows = decode_one(&t, "{\"after\":{\"a\":1},\"op\":\"c\"}\n{\"before\":{\"a\":2},\"op\":\"d\"}\n");
    for (size_t i = 0; i < WR_COUNT_OF(cases); i++)
        for (uint32_t left_out = 0; left_out < 2; left_out++) {
            char key[80];
            snprintf(key, sizeof key, "%s.encode.ignore-null-fields", cases[i].format);
            wr_option option = {wr_str_of(key), WR_STR("true"), {0}};
            char     *got = encode(cases[i].format, &t, rows, &option, left_out);
            assert_string_equal(got, left_out ? cases[i].short_expected : cases[i].expected);
            wr_free(got);
        }
    wr_batch_unref(rows);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(debezium_ops), cmocka_unit_test(canal_rows), cmocka_unit_test(canal_records_are_whole), cmocka_unit_test(canal_trouble), cmocka_unit_test(maxwell_and_ogg),
        cmocka_unit_test(debezium_metadata), cmocka_unit_test(forms_written), cmocka_unit_test(debezium_trouble), cmocka_unit_test(debezium_in_an_envelope), cmocka_unit_test(upserts),
        cmocka_unit_test(redelivered_and_empty), cmocka_unit_test(json_written_is_json_read), cmocka_unit_test(debezium_written),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
