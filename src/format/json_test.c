/* format/json_test.c: the json decoder against Flink's recorded behaviour and the cases of public bug reports.                 */
#include "format/testing.h"

#define INT_ wr_type_of(WR_T_INT)
#define STR_ wr_type_string()

static void coercions_are_flinks(void **state) {
    (void)state;
    wr_field   f[] = {FIELD("a", INT_), FIELD("s", STR_)};
    test_table t = TABLE("json", f);
    EXPECT(&t, "{\"a\":\"2\",\"s\":3}\n{\"a\":2.7,\"s\":{\"x\": [1, 2], \"y\" : null}}\n{\"a\":-2.7,\"s\":true}\n{\"s\":\"x\"}\n{\"a\":null,\"A\":5,\"zz\":{\"a\":9}}\n",
           "+I[2, 3]\n+I[2, {\"x\":[1,2],\"y\":null}]\n+I[-2, true]\n+I[NULL, x]\n+I[NULL, NULL]\n");
    EXPECT(&t, "{\"a\":1e3,\"s\":1.50}\n", "+I[1000, 1.50]\n");
}

static void last_duplicate_wins(void **state) {
    (void)state;
    wr_field   f[] = {FIELD("id", INT_), FIELD("v", STR_)};
    test_table t = TABLE("json", f);
    EXPECT(&t, "{\"id\":1,\"v\":\"first\",\"v\":\"last\"}\n{\"id\":2,\"v\":\"only\"}\n{\"id\":3,\"v\":\"x\",\"v\":null}\n", "+I[1, last]\n+I[2, only]\n+I[3, NULL]\n");
}

static void line_endings(void **state) {
    (void)state;
    wr_field   f[] = {FIELD("id", INT_)};
    test_table t = TABLE("json", f);
    wr_decoded n;
    const char text[] = "\xEF\xBB\xBF{\"id\":1}\r\n\r\n  \t\n{\"id\":2}\n{\"id\":3}";
    char *got = test_decode(&t, text, sizeof text - 1, &n);
    assert_string_equal(got, "+I[1]\n+I[2]\n+I[3]\n");
    wr_free(got);
    assert_int_equal(n.n_lines, 5);
    assert_int_equal(n.n_blank, 2);
    assert_int_equal(n.n_records, 3);
    assert_int_equal(n.n_rows, 3);
    EXPECT(&t, "", "");
    EXPECT(&t, "\n\n", "");
}

static void a_bad_line_is_alone(void **state) {
    (void)state;
    wr_field   f[] = {FIELD("id", INT_), FIELD("v", INT_)};
    test_table t = TABLE("json", f);
    EXPECT(&t, "{\"id\":1,\"v\":10}\n{\"id\":2,\"v\":\n{\"id\":3,\"v\":30}\n",
           "+I[1, 10]\n!malformed 1:16 JSON: expected the value of field 'v', got end of line\n+I[3, 30]\n");
    EXPECT(&t, "{\"id\":1,\"v\":\"x}\n{\"id\":2,\"v\":1}\n{\"id\":\"\xFF\"}\n{\"id\":4,\"v\":1}\n",
           "!malformed 0:0 JSON: a string is not closed at the end of the line\n+I[2, 1]\n!invalid UTF-8 2:31 byte 7 of the line (0xFF) is not valid UTF-8\n+I[4, 1]\n");
    EXPECT(&t, "{\"id\":1}}\n{\"id\":2},{\"id\":3}\n{\"id\":3}\n[1]\n7\nnull\n{\"id\" 4}\n{id:4}\n{\"id\":4,}\n{,}\n{}\n",
           "!malformed 0:0 JSON: text after the end of the record\n!malformed 1:10 JSON: text after the end of the record\n+I[3, NULL]\n"
           "!malformed 3:37 JSON: expected an object, got an array\n!malformed 4:41 JSON: expected an object, got 7\n!malformed 5:43 JSON: expected an object, got null\n"
           "!malformed 6:48 JSON: expected ':' after the key, got 4\n!malformed 7:57 JSON: expected a key or '}', got id:4\n"
           "!malformed 8:64 JSON: expected a key or '}', got }\n!malformed 9:74 JSON: expected a key or '}', got ,\n+I[NULL, NULL]\n");
}

static void numbers_out_of_range(void **state) {
    (void)state;
    wr_field f[] = {FIELD("t", wr_type_of(WR_T_TINYINT)), FIELD("i", INT_), FIELD("b", wr_type_of(WR_T_BIGINT)), FIELD("d", wr_type_decimal(38, 3)), FIELD("e", wr_type_decimal(5, 2))};
    test_table t = TABLE("json", f);
    EXPECT(&t, "{\"t\":127,\"i\":-2147483648,\"b\":9223372036854775807,\"d\":12345678901234567890123456789012345.678,\"e\":999.994}\n",
           "+I[127, -2147483648, 9223372036854775807, 12345678901234567890123456789012345.678, 999.99]\n");
    EXPECT(&t, "{\"b\":-9223372036854775808,\"d\":\"0.1\",\"e\":-1}\n", "+I[NULL, NULL, -9223372036854775808, 0.100, -1.00]\n");
    EXPECT(&t, "{\"t\":128}\n{\"i\":2147483648}\n{\"b\":9223372036854775808}\n{\"e\":999.995}\n{\"i\":\"3000000000\"}\n{\"i\":1e30}\n",
           "!out of range 0:0 field 't': TINYINT does not hold 128\n!out of range 1:10 field 'i': INT does not hold 2147483648\n"
           "!out of range 2:27 field 'b': BIGINT does not hold 9223372036854775808\n!out of range 3:53 field 'e': DECIMAL(5, 2) does not hold 999.995\n"
           "!out of range 4:67 field 'i': INT does not hold \"3000000000\"\n!out of range 5:86 field 'i': INT does not hold 1e30\n");
    EXPECT(&t, "{\"i\":01}\n{\"i\":-}\n{\"i\":1.}\n{\"i\":.5}\n{\"i\":+1}\n{\"i\":1x}\n{\"i\":nul}\n{\"i\":NaN}\n",
           "!malformed 0:0 JSON: expected a value of field 'i', got 01\n!malformed 1:9 JSON: expected a value of field 'i', got -\n"
           "!malformed 2:17 JSON: expected a value of field 'i', got 1.\n!malformed 3:26 JSON: expected a value of field 'i', got .5\n"
           "!malformed 4:35 JSON: expected a value of field 'i', got +1\n!malformed 5:44 JSON: expected a value of field 'i', got 1x\n"
           "!malformed 6:53 JSON: expected a value of field 'i', got nul\n!malformed 7:63 JSON: expected a value of field 'i', got NaN\n");
}

static void doubles(void **state) {
    (void)state;
    wr_field   f[] = {FIELD("v", wr_type_of(WR_T_DOUBLE))};
    test_table t = TABLE("json", f);
    EXPECT(&t, "{\"v\":\"NaN\"}\n{\"v\":1.5}\n{\"v\":\"Infinity\"}\n{\"v\":\"-Infinity\"}\n{\"v\":-0.25}\n{\"v\":1e7}\n{\"v\":0.1}\n{\"v\":123456789012345678}\n{\"v\":3}\n",
           "+I[NaN]\n+I[1.5]\n+I[Infinity]\n+I[-Infinity]\n+I[-0.25]\n+I[1.0E7]\n+I[0.1]\n+I[1.2345678901234568E17]\n+I[3.0]\n");
    EXPECT(&t, "{\"v\":\"x\"}\n{\"v\":true}\n", "!wrong type 0:0 field 'v': expected DOUBLE, got \"x\"\n!wrong type 1:10 field 'v': expected DOUBLE, got true\n");
    /* digits enough for every rounding: Python's repr(float(...)) of the same text */
    EXPECT(&t, "{\"v\":2.2250738585072011e-308}\n{\"v\":9007199254740993}\n{\"v\":1e400}\n{\"v\":1e-400}\n", "+I[2.225073858507201E-308]\n+I[9.007199254740992E15]\n+I[Infinity]\n+I[0.0]\n");
}

static void timestamps(void **state) {
    (void)state;
    wr_field   f[] = {FIELD("id", INT_), FIELD("ts", wr_type_prec(WR_T_TIMESTAMP, 3))};
    test_table t = TABLE("json", f);
    EXPECT(&t, "{\"id\":1,\"ts\":\"0044-03-15 00:00:00\"}\n{\"id\":2,\"ts\":\"1600-02-29 12:00:00\"}\n{\"id\":3,\"ts\":\"9999-12-31 23:59:59.999\"}\n{\"id\":4,\"ts\":\"2026-01-01 00:00:00.123999\"}\n",
           "+I[1, 0044-03-15 00:00:00.000]\n+I[2, 1600-02-29 12:00:00.000]\n+I[3, 9999-12-31 23:59:59.999]\n+I[4, 2026-01-01 00:00:00.123]\n");
    EXPECT(&t, "{\"ts\":\"2026-02-29 00:00:00\"}\n{\"ts\":\"2026-01-01T00:00:00\"}\n{\"ts\":1700000000}\n{\"ts\":\"2026-01-01 24:00:00\"}\n",
           "!wrong type 0:0 field 'ts': expected TIMESTAMP(3) as 'yyyy-MM-dd HH:mm:ss[.fff]', got \"2026-02-29 00:00:00\"\n"
           "!wrong type 1:29 field 'ts': expected TIMESTAMP(3) as 'yyyy-MM-dd HH:mm:ss[.fff]', got \"2026-01-01T00:00:00\"\n"
           "!wrong type 2:58 field 'ts': expected TIMESTAMP(3) as 'yyyy-MM-dd HH:mm:ss[.fff]', got 1700000000\n"
           "!wrong type 3:76 field 'ts': expected TIMESTAMP(3) as 'yyyy-MM-dd HH:mm:ss[.fff]', got \"2026-01-01 24:00:00\"\n");
    wr_option  iso[] = {OPTION("json.timestamp-format.standard", "ISO-8601")};
    wr_field   g[] = {FIELD("id", INT_), FIELD("ts", wr_type_prec(WR_T_TIMESTAMP_LTZ, 3))};
    test_table u = TABLE("json", g);
    u.options = iso, u.n_options = 1;
    wr_decoded n;
    const char text[] = "{\"id\": 1, \"ts\": \"2024-05-01T10:00:00Z\"}\n{\"id\": 2, \"ts\": \"2024-05-01T10:00:00.999999999Z\"}\n{\"id\": 3, \"ts\": \"2024-05-01T12:00:00+02:00\"}\n"
                        "{\"id\": 4, \"ts\": \"2024-05-01T10:00:00\"}\n{\"id\": 5, \"ts\": \"2024-05-01T10:00-07:00\"}\n";
    char *got = test_decode(&u, text, sizeof text - 1, &n);
    assert_non_null(strstr(got, "+I[1, 2024-05-01 10:00:00.000"));
    assert_non_null(strstr(got, "+I[2, 2024-05-01 10:00:00.999"));
    assert_non_null(strstr(got, "+I[3, 2024-05-01 10:00:00.000"));
    assert_null(strstr(got, "+I[4"));
    assert_null(strstr(got, "+I[5"));
    assert_int_equal(n.n_rows, 3);
    wr_free(got);
    wr_field   h[] = {FIELD("d", wr_type_of(WR_T_DATE)), FIELD("t", wr_type_prec(WR_T_TIME, 3)), FIELD("n", wr_type_prec(WR_T_TIMESTAMP, 9))};
    test_table v = TABLE("json", h);
    EXPECT(&v, "{\"d\":\"1969-12-31\",\"t\":\"23:59:59.5\",\"n\":\"1969-12-31 23:59:59.999999999\"}\n", "+I[1969-12-31, 23:59:59.500, 1969-12-31 23:59:59.999999999]\n");
    EXPECT(&v, "{\"n\":\"9999-12-31 00:00:00\"}\n", "!out of range 0:0 field 'n': TIMESTAMP(9) as 'yyyy-MM-dd HH:mm:ss[.fff]' does not hold \"9999-12-31 00:00:00\"\n");
}

static void strings_and_escapes(void **state) {
    (void)state;
    wr_field   f[] = {FIELD("s", STR_), FIELD("b", wr_type_prec(WR_T_VARBINARY, WR_LENGTH_MAX)), FIELD("o", wr_type_of(WR_T_BOOLEAN))};
    test_table t = TABLE("json", f);
    EXPECT(&t, "{\"s\":\"a\\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e9\\uD83D\\uDE00z\"}\n", "+I[a\"\\/\b\f\n\r\t\xC3\xA9\xF0\x9F\x98\x80z, NULL, NULL]\n");
    EXPECT(&t, "{\"\\u0073\":\"by an escaped key, long enough\",\"b\":\"aGVsbG8=\",\"o\":true}\n", "+I[by an escaped key, long enough, hello, TRUE]\n");
    EXPECT(&t, "{\"s\":\"\\ud800x\"}\n{\"s\":\"\\q\"}\n{\"s\":\"\\u12\"}\n{\"b\":\"a\"}\n{\"o\":\"FALSE\"}\n{\"o\":1}\n{\"s\":\"tab\there\"}\n{\"s\":\"\"}\n",
           "!invalid UTF-8 0:0 JSON: field 's': half a surrogate pair (\\ud800..\\udfff) in the string\n!malformed 1:16 JSON: field 's': a bad escape in the string\n"
           "!malformed 2:27 JSON: field 's': a bad escape in the string\n!wrong type 3:40 field 'b': expected BYTES as base64, got \"a\"\n+I[NULL, NULL, FALSE]\n"
           "!wrong type 5:64 field 'o': expected BOOLEAN, got 1\n!malformed 6:72 JSON: a control character (below 0x20) inside a string\n+I[, NULL, NULL]\n");
}

static void nested(void **state) {
    (void)state;
    wr_type    int_ = INT_, str = STR_, map_kids[] = {str, int_}, row_kids[] = {int_, str};
    wr_str     row_names[] = {WR_STR("x"), WR_STR("y")};
    wr_type    array = {.id = WR_T_ARRAY, .nullable = 1, .n_kids = 1, .kids = &int_}, map = {.id = WR_T_MAP, .nullable = 1, .n_kids = 2, .kids = map_kids};
    wr_type    row = {.id = WR_T_ROW, .nullable = 1, .n_kids = 2, .kids = row_kids, .names = row_names}, rows = {.id = WR_T_ARRAY, .nullable = 1, .n_kids = 1, .kids = &row};
    wr_field   f[] = {FIELD("a", array), FIELD("m", map), FIELD("r", row), FIELD("ar", rows)};
    test_table t = TABLE("json", f);
    EXPECT(&t, "{\"a\":[1, null ,\"3\"],\"m\":{\"k\":1,\"l\":null,\"k\":2},\"r\":{\"y\":\"s\",\"z\":[{}]},\"ar\":[{\"x\":1},null,{\"y\":\"q\",\"x\":3}]}\n{\"a\":[],\"m\":{},\"r\":{},\"ar\":null}\n{}\n",
           "+I[[1, NULL, 3], {k=2, l=NULL}, (NULL, s), [(1, NULL), NULL, (3, q)]]\n+I[[], {}, (NULL, NULL), NULL]\n+I[NULL, NULL, NULL, NULL]\n");
    EXPECT(&t, "{\"a\":{}}\n{\"m\":[]}\n{\"r\":7}\n{\"a\":[1,\"x\"]}\n{\"r\":{\"x\":\"q\"}}\n{\"a\":[1}\n{\"a\":[1,]}\n{\"ar\":[{\"x\":1},{\"x\":2}]}\n",
           "!wrong type 0:0 field 'a': expected ARRAY<INT>, got an object\n!wrong type 1:9 field 'm': expected MAP<STRING, INT>, got an array\n"
           "!wrong type 2:18 field 'r': expected ROW<`x` INT, `y` STRING>, got 7\n!wrong type 3:26 field 'a[]': expected INT, got \"x\"\n"
           "!wrong type 4:40 field 'r.x': expected INT, got \"q\"\n!malformed 5:56 JSON: expected ',' or ']' in the array of field 'a', got }\n"
           "!malformed 6:65 JSON: expected a value of field 'a[]', got ]\n+I[NULL, NULL, NULL, [(1, NULL), (2, NULL)]]\n");
    wr_sbuf deep = {0};
    wr_sbuf_addz(&deep, "{\"zz\":");
    for (int i = 0; i < 300; i++) wr_sbuf_addc(&deep, '[');
    for (int i = 0; i < 300; i++) wr_sbuf_addc(&deep, ']');
    wr_sbuf_addz(&deep, "}\n{\"a\":[7]}\n");
    EXPECT(&t, deep.at, "!malformed 0:0 JSON: nested deeper than 256\n+I[[7], NULL, NULL, NULL]\n");
    wr_sbuf_free(&deep);
}

static void options(void **state) {
    (void)state;
    wr_field   f[] = {FIELD("a", INT_), FIELD("s", STR_)};
    test_table t = TABLE("json", f);
    wr_option  ignore[] = {OPTION("json.ignore-parse-errors", "true")}, fail[] = {OPTION("json.fail-on-missing-field", "true")};
    t.options = ignore, t.n_options = 1;
    EXPECT(&t, "{\"a\":\"abc\",\"s\":\"x\"}\n{\"a\":[1],\"s\":\"\\q\"}\nnot json\n{\"a\":99999999999}\n", "+I[NULL, x]\n+I[NULL, NULL]\n!malformed 2:39 JSON: expected an object, got not\n+I[NULL, NULL]\n");
    assert_true(wr_options_skip_bad(&(wr_options){1, ignore}));
    assert_false(wr_options_skip_bad(&(wr_options){1, fail}));
    wr_option side[] = {OPTION("value.canal-json.ignore-parse-errors", " TRUE"), OPTION("key.json.ignore-parse-errors", "true"), OPTION("value.json.ignore-parse-errors", "false")};
    assert_true(wr_options_skip_bad(&(wr_options){1, side}));
    assert_false(wr_options_skip_bad(&(wr_options){2, side + 1})); /* keys that cannot be read are no reason to pass over values */
    t.options = fail;
    EXPECT(&t, "{\"a\":1}\n{\"a\":1,\"s\":null}\n", "!missing field 0:0 field 's' is missing\n+I[1, NULL]\n");
    wr_option   both[] = {OPTION("json.ignore-parse-errors", "true"), OPTION("json.fail-on-missing-field", "true")};
    wr_diags    diags;
    wr_decoder *d;
    wr_diags_init(&diags);
    wr_decoder_opts opts = {.schema = &t.schema, .options = {2, both}, .batch_rows = 10, .max_record_bytes = 1000};
    assert_int_equal(wr_format_json.decoder_new(&opts, &d, &diags), WR_USER);
    assert_int_equal(diags.n_errors, 1);
    wr_diags_free(&diags);
}

static void not_null_needed_and_long(void **state) {
    (void)state;
    wr_field      f[] = {FIELD("a", wr_type_not_null(INT_)), FIELD("s", STR_), FIELD("u", INT_)};
    const uint8_t needed[] = {1, 1, 0};
    test_table    t = TABLE("json", f);
    t.needed = needed;
    t.max_record_bytes = 40;
    EXPECT(&t, "{\"s\":\"x\"}\n{\"a\":null}\n{\"a\":1,\"u\":\"never read\"}\n{\"a\":2,\"s\":\"0123456789012345678901234567890123456789\"}\n{\"a\":3}\n",
           "!NULL in NOT NULL column 0:0 field 'a' is missing, and its column is NOT NULL\n!NULL in NOT NULL column 1:10 field 'a' is null, and its column is NOT NULL\n"
           "+I[1, NULL, NULL]\n!over-long 3:46 a record of 54 bytes, more than max-record-bytes = 40; its first 200 bytes are shown\n+I[3, NULL, NULL]\n");
}

/* A made-up log with every kind of trouble, cut into two chunks at every line: the same rows; and batches of one row. */
static void chunks_and_batches_do_not_matter(void **state) {
    (void)state;
    wr_field    f[] = {FIELD("a", INT_), FIELD("s", STR_), FIELD("d", wr_type_of(WR_T_DOUBLE))};
    test_table  t = TABLE("json", f);
    const char *lines[] = {"{\"a\":1,\"s\":\"a string that is longer than twelve bytes\",\"d\":1.25}\n", "{\"s\":\"b\",\"a\":2}\n", "\n", "{\"a\":\"x\n", "{\"a\":3,\"s\":\"\\u0041 escaped and longer than twelve\"}\n",
                           "\xFF\xFE\n", "{\"a\":4,\"d\":\"NaN\"}\r\n", "{\"a\":5}}\n", "{\"a\":6,\"zzz\":{\"a\":[1,2,{\"b\":\"c\"}]},\"s\":\"after\"}\n", "{\"a\":7}"};
    wr_sbuf all = {0}, whole = {0};
    for (size_t i = 0; i < WR_COUNT_OF(lines); i++) wr_sbuf_addz(&all, lines[i]);
    wr_decoded out = {0};
    wr_decoder *d = test_decoder(&t);
    test_chunk(d, all.at, all.len, true, &out);
    assert_int_equal(out.n_rows, 6);
    assert_int_equal(out.bad.n, 3);
    out.bad.n = 0;
    dump_decoded(&out, &whole);
    t.batch_rows = 1;
    wr_decoder *e = test_decoder(&t);
    for (size_t cut = 0; cut <= all.len; cut++) {
        if (cut && cut < all.len && all.at[cut - 1] != '\n') continue;
        wr_decoded parts = {0};
        wr_sbuf    dump = {0};
        test_chunk(e, all.at, cut, true, &parts);
        test_chunk(e, all.at + cut, all.len - cut, false, &parts);
        assert_int_equal(parts.bad.n, 3);
        assert_int_equal(parts.n_lines, 10);
        assert_int_equal(parts.n_records, 9);
        parts.bad.n = 0;
        for (uint32_t i = 0; i < parts.batches.n; i++) assert_int_equal(parts.batches.at[i]->n_rows, 1);
        dump_decoded(&parts, &dump);
        assert_string_equal(dump.at, whole.at);
        wr_sbuf_free(&dump);
        wr_arr_free(&parts.batches);
        wr_arr_free(&parts.bad);
    }
    d->free(d);
    e->free(e);
    wr_sbuf_free(&all);
    wr_sbuf_free(&whole);
    wr_arr_free(&out.batches);
    wr_arr_free(&out.bad);
}

/* Blocks of stage 1 (128 KiB) with damaged lines here and there: every other line survives, places are exact. */
static void damage_in_big_chunks(void **state) {
    (void)state;
    wr_field   f[] = {FIELD("a", INT_), FIELD("s", STR_)};
    test_table t = TABLE("json", f);
    wr_sbuf    text = {0};
    uint64_t   offsets[20000], n_bad = 0, n = 20000;
    for (uint64_t i = 0; i < n; i++) {
        offsets[i] = text.len;
        if (i % 997 == 5) wr_sbuf_printf(&text, "{\"a\":%llu,\"s\":\"torn %llu\n", (unsigned long long)i, (unsigned long long)i), n_bad++;
        else if (i % 1499 == 7) wr_sbuf_printf(&text, "{\"a\":%llu,\"s\":\"\xC3\"}\n", (unsigned long long)i), n_bad++;
        else wr_sbuf_printf(&text, "{\"a\":%llu,\"s\":\"row %llu\"}\n", (unsigned long long)i, (unsigned long long)i);
    }
    wr_decoder *d = test_decoder(&t);
    wr_decoded  out = {0};
    test_chunk(d, text.at, text.len, true, &out);
    assert_int_equal(out.bad.n, n_bad);
    assert_int_equal(out.n_rows, n - n_bad);
    for (uint32_t i = 0; i < out.bad.n; i++) {
        assert_int_equal(out.bad.at[i].offset, offsets[out.bad.at[i].line]);
        assert_int_equal(out.bad.at[i].before_row, out.bad.at[i].line - i);
    }
    uint32_t next = 0;
    for (uint32_t b = 0; b < out.batches.n; b++) {
        for (uint32_t i = 0; i < out.batches.at[b]->n_rows; i++, next++) {
            while (next % 997 == 5 || next % 1499 == 7) next++;
            assert_int_equal(((int32_t *)out.batches.at[b]->cols[0].data)[i], next);
        }
        wr_batch_unref(out.batches.at[b]);
    }
    d->free(d);
    wr_arr_free(&out.batches);
    wr_arr_free(&out.bad);
    wr_sbuf_free(&text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(coercions_are_flinks), cmocka_unit_test(last_duplicate_wins), cmocka_unit_test(line_endings), cmocka_unit_test(a_bad_line_is_alone),
        cmocka_unit_test(numbers_out_of_range), cmocka_unit_test(doubles), cmocka_unit_test(timestamps), cmocka_unit_test(strings_and_escapes), cmocka_unit_test(nested),
        cmocka_unit_test(options), cmocka_unit_test(not_null_needed_and_long), cmocka_unit_test(chunks_and_batches_do_not_matter), cmocka_unit_test(damage_in_big_chunks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
