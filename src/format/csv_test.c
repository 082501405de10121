/* format/csv_test.c: csv (RFC 4180 and Flink's options), raw, and options of tables.                                             */
#include "format/testing.h"

#define INT_ wr_type_of(WR_T_INT)
#define STR_ wr_type_string()

static void rfc4180(void **state) { /* case csv-rfc4180 */
    (void)state;
    wr_field   f[] = {FIELD("id", INT_), FIELD("note", STR_), FIELD("v", INT_)};
    test_table t = TABLE("csv", f);
    wr_decoded n;
    const char text[] = "\xEF\xBB\xBF\"1\",\"he said \"\"hi\"\", twice\",10\r\n2,\"line one\nline two\",20\n3,,30";
    char *got = test_decode(&t, text, sizeof text - 1, &n);
    assert_string_equal(got, "+I[1, he said \"hi\", twice, 10]\n+I[2, line one\nline two, 20]\n+I[3, , 30]\n");
    wr_free(got);
    assert_int_equal(n.n_lines, 4);
    assert_int_equal(n.n_rows, 3);
}

static void empty_fields_and_trouble(void **state) {
    (void)state;
    wr_field   f[] = {FIELD("a", INT_), FIELD("s", STR_), FIELD("t", wr_type_prec(WR_T_TIMESTAMP, 3))};
    test_table t = TABLE("csv", f);
    EXPECT(&t, ",,2026-01-01 00:00:00\n\n1,x,\n1,x\n1,x,2026-01-01 00:00:00,y\n1,\"x\"y,z\nq,x,2026-01-01 00:00:00\n2,\xFF,2026-01-01 00:00:00\n3,\"q\"\"q\",2026-01-01 00:00:00.5\n",
           "+I[NULL, , 2026-01-01 00:00:00.000]\n!wrong type 2:23 field 't': expected TIMESTAMP(3) as 'yyyy-MM-dd HH:mm:ss[.fff]', got ''\n!missing field 3:28 CSV: 2 fields, the table has 3\n"
           "!malformed 4:32 CSV: more than the 3 fields of the table\n!malformed 5:58 CSV: text after the closing quote of a field: 'y'\n!wrong type 6:67 field 'a': expected INT, got 'q'\n"
           "!invalid UTF-8 7:91 the record is not valid UTF-8\n+I[3, q\"q, 2026-01-01 00:00:00.500]\n");
    EXPECT(&t, "1,\"never closed,\n2,x,2026-01-01 00:00:00\n", "!malformed 0:0 CSV: the quote at byte 0 of the record is not closed\n+I[2, x, 2026-01-01 00:00:00.000]\n");
}

static void csv_options(void **state) {
    (void)state;
    wr_type    int_ = INT_, array = {.id = WR_T_ARRAY, .nullable = 1, .n_kids = 1, .kids = &int_};
    wr_field   f[] = {FIELD("a", INT_), FIELD("s", STR_), FIELD("l", array)};
    test_table t = TABLE("csv", f);
    wr_option  o[] = {OPTION("csv.field-delimiter", "\\t"), OPTION("csv.null-literal", "n/a"), OPTION("csv.allow-comments", "true"), OPTION("csv.quote-character", "'"),
                      OPTION("csv.escape-character", "\\"), OPTION("csv.header", "true")};
    t.options = o, t.n_options = 6;
    EXPECT(&t, "# made by hand\na\ts\tl\n1\t'x''y'\t1;2\nn/a\tn/a\tn/a\n2\ta\\\tb\t\n", "+I[1, x'y, [1, 2]]\n+I[NULL, NULL, NULL]\n+I[2, a\tb, []]\n");
    EXPECT(&t, "a\tx\tl\n1\tq\t\n", "!malformed 0:0 CSV header: field 2 is 'x', the table's column there is 's'\n+I[1, q, []]\n");
    wr_option ignore[] = {OPTION("csv.ignore-parse-errors", "true"), OPTION("csv.disable-quote-character", "true")};
    t.options = ignore, t.n_options = 2;
    EXPECT(&t, "x,\"q\n1\n1,2,3;4,5\n", "+I[NULL, \"q, []]\n+I[1, , []]\n+I[1, 2, [3, 4]]\n");
}

static void split_agrees_with_the_decoder(void **state) {
    (void)state;
    wr_field   f[] = {FIELD("a", INT_), FIELD("s", STR_)};
    test_table t = TABLE("csv", f);
    const char text[] = "1,\"x\ny\"\n2,a\"b\n3,\"q\"\"\n\"\"\"\n4,z\n";
    wr_decoder *d = test_decoder(&t), *e = test_decoder(&t);
    wr_decoded  out = {0};
    wr_sbuf     whole = {0};
    test_chunk(d, text, sizeof text - 1, true, &out);
    assert_int_equal(out.bad.n, 0);
    dump_decoded(&out, &whole);
    assert_string_equal(whole.at, "+I[1, x\ny]\n+I[2, a\"b]\n+I[3, q\"\n\"]\n+I[4, z]\n");
    for (size_t have = 0; have < sizeof text; have++) { /* as a source does: cut what is there, then the rest */
        uint64_t   quoting = 0;
        wr_options none = {0};
        size_t     n = wr_format_csv.split((const uint8_t *)text, have, &none, &quoting);
        assert_true(n <= have);
        wr_decoded parts = {0};
        wr_sbuf    dump = {0};
        test_chunk(e, text, n, true, &parts);
        test_chunk(e, text + n, sizeof text - 1 - n, n == 0, &parts);
        assert_int_equal(parts.bad.n, 0);
        dump_decoded(&parts, &dump);
        assert_string_equal(dump.at, whole.at);
        wr_sbuf_free(&dump);
        wr_arr_free(&parts.batches);
    }
    d->free(d);
    e->free(e);
    wr_sbuf_free(&whole);
    wr_arr_free(&out.batches);
}

static void csv_written_is_csv_read(void **state) {
    (void)state;
    wr_field   f[] = {FIELD("a", INT_), FIELD("s", STR_), FIELD("t", wr_type_prec(WR_T_TIMESTAMP, 3)), FIELD("o", wr_type_of(WR_T_BOOLEAN))};
    test_table t = TABLE("csv", f);
    wr_decoder *d = test_decoder(&t);
    wr_decoded  out = {0};
    const char  text[] = "1,\"a,\"\"b\n\",2026-01-01 00:00:00.5,true\n,plain,2026-01-01 00:00:00,false\n3,\"\",2026-01-01 00:00:00,\n";
    test_chunk(d, text, sizeof text - 1, true, &out);
    wr_encoder *e;
    wr_sbuf     written = {0};
    wr_encoder_opts opts = {.schema = &t.schema};
    assert_int_equal(wr_format_csv.encoder_new(&opts, &e, NULL), WR_OK);
    e->encode(e, out.batches.at[0], 0, 3, &written);
    assert_string_equal(written.at, text);
    e->free(e);
    d->free(d);
    wr_batch_unref(out.batches.at[0]);
    wr_arr_free(&out.batches);
    wr_sbuf_free(&written);
}

static void raw_lines(void **state) {
    (void)state;
    wr_field   f[] = {FIELD("line", STR_)}, g[] = {FIELD("a", INT_)};
    test_table t = TABLE("raw", f);
    EXPECT(&t, "a line that is longer than twelve\r\n\n\xFF\nlast", "+I[a line that is longer than twelve]\n+I[]\n!invalid UTF-8 2:36 the line is not valid UTF-8; a BYTES column takes any bytes\n+I[last]\n");
    wr_schema       wrong = {1, g};
    wr_decoder_opts opts = {.schema = &wrong, .batch_rows = 10, .max_record_bytes = 100};
    wr_decoder     *d;
    wr_diags        diags;
    wr_diags_init(&diags);
    assert_int_equal(wr_format_raw.decoder_new(&opts, &d, &diags), WR_USER);
    assert_int_equal(diags.n_errors, 1);
    wr_diags_free(&diags);
}

static void option_values(void **state) {
    (void)state;
    static const wr_option_spec specs[] = {{"n", "int", "7", false, ""}, {"b", "bool", "true", false, ""}, {"d", "duration", "200 ms", false, ""}, {"z", "size", "16 MiB", false, ""}, {"e", "int", NULL, false, ""}, {0}};
    wr_option  set[] = {OPTION("n", " 12 "), OPTION("b", "FALSE"), OPTION("d", "x"), OPTION("z", "1g")};
    wr_options none = {0}, some = {4, set};
    wr_diags   diags;
    int64_t    v;
    bool       b;
    wr_diags_init(&diags);
    assert_true(wr_option_int(&none, specs, "n", &v, &diags));
    assert_int_equal(v, 7);
    assert_true(wr_option_int(&some, specs, "n", &v, &diags));
    assert_int_equal(v, 12);
    assert_true(wr_option_int(&some, specs, "e", &v, &diags));
    assert_int_equal(v, 0);
    assert_true(wr_option_bool(&none, specs, "b", &b, &diags));
    assert_true(b);
    assert_true(wr_option_bool(&some, specs, "b", &b, &diags));
    assert_false(b);
    assert_true(wr_option_duration(&none, specs, "d", &v, &diags));
    assert_int_equal(v, 200000);
    assert_int_equal(diags.n_errors, 0);
    assert_false(wr_option_duration(&some, specs, "d", &v, &diags));
    assert_int_equal(diags.n_errors, 1);
    assert_true(wr_option_size(&some, specs, "z", &v, &diags));
    assert_int_equal(v, 1 << 30);
    wr_diags_free(&diags);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rfc4180), cmocka_unit_test(empty_fields_and_trouble), cmocka_unit_test(csv_options), cmocka_unit_test(split_agrees_with_the_decoder),
        cmocka_unit_test(csv_written_is_csv_read), cmocka_unit_test(raw_lines), cmocka_unit_test(option_values),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
