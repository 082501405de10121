/* type/number_test.c: text of doubles and floats against tools/gen-type-cases; strict parsing.                        */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include "type/number.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static void texts_match_the_table(void **state) {
    (void)state;
    FILE *f = fopen("src/type/testdata/double.txt", "r");
    assert_non_null(f);
    char line[256], kind, want[128], got[32];
    int  n = 0;
    while (fgets(line, sizeof line, f)) {
        uint64_t bits;
        if (*line == '#') continue;
        assert_int_equal(sscanf(line, "%c %" SCNx64 " %127s", &kind, &bits, want), 3);
        if (kind == 'd') {
            double x, back;
            memcpy(&x, &bits, 8);
            size_t len = wr_text_double(x, got);
        assert_int_equal(len, strlen(got));
            assert_true(wr_parse_double(wr_str_of(got), &back) && back == x);
        } else {
            uint32_t bits32 = (uint32_t)bits;
            float    x;
            memcpy(&x, &bits32, 4);
            size_t len = wr_text_float(x, got);
        assert_int_equal(len, strlen(got));
            assert_true(strtof(got, NULL) == x);
        }
        assert_string_equal(got, want);
        n++;
    }
    fclose(f);
    assert_true(n > 1500);
}

static void special_doubles(void **state) {
    (void)state;
    static const struct { double x; const char *text; } cases[] = {
        {0.0, "0.0"}, {-0.0, "-0.0"}, {1.0, "1.0"}, {-1.5, "-1.5"}, {1e7, "1.0E7"}, {1e20, "1.0E20"}, {0.001, "0.001"}, {1e-4, "1.0E-4"},
        {9999999.0, "9999999.0"}, {123456.75, "123456.75"}, {5e-324, "4.9E-324"}, {(double)NAN, "NaN"}, {(double)INFINITY, "Infinity"},
        {-(double)INFINITY, "-Infinity"}, {1.0 / 3, "0.3333333333333333"}, {100, "100.0"}};
    char got[32];
    for (size_t i = 0; i < WR_COUNT_OF(cases); i++) {
        wr_text_double(cases[i].x, got);
        assert_string_equal(got, cases[i].text);
    }
    wr_text_float(1.1f, got);
    assert_string_equal(got, "1.1");
}

static void parses_doubles_strictly(void **state) {
    (void)state;
    static const struct { const char *text; double x; } good[] = {
        {"1", 1}, {" -2.5 ", -2.5}, {".5", 0.5}, {"5.", 5}, {"1e3", 1000}, {"1E-2", 0.01}, {"+7", 7}, {"0.1", 0.1}, {"123456789012345678901234567890", 123456789012345678901234567890.0},
        {"1e400", (double)INFINITY}, {"-1e400", -(double)INFINITY}, {"1e-400", 0}, {"Infinity", (double)INFINITY}, {"-infinity", -(double)INFINITY},
        {"179769313486231570000000000000000000000e270", 1.7976931348623157e308}, {"2.2250738585072011e-308", 2.2250738585072011e-308},
        {"9007199254740993", 9007199254740992.0}, {"0.000000000000000000000000000000000000001e39", 1}};
    static const char *bad[] = {"", " ", "-", ".", "e5", "1e", "1e+", "1x", "0x10", "1 2", "1.2.3", "1d", "--1", "nano", "1,5"};
    double x;
    for (size_t i = 0; i < WR_COUNT_OF(good); i++) {
        assert_true(wr_parse_double(wr_str_of(good[i].text), &x));
        assert_true(x == good[i].x);
    }
    for (size_t i = 0; i < WR_COUNT_OF(bad); i++) assert_false(wr_parse_double(wr_str_of(bad[i]), &x));
    assert_true(wr_parse_double(WR_STR("NaN"), &x) && x != x);
    char wide[400] = "1.";
    memset(wide + 2, '3', 390);
    assert_true(wr_parse_double(wr_str_of(wide), &x) && fabs(x - 4.0 / 3) < 1e-9);
}

static void parses_integers_strictly(void **state) {
    (void)state;
    static const struct { const char *text; int64_t x; } good[] = {
        {"0", 0}, {"-0", 0}, {" 12 ", 12}, {"+5", 5}, {"9223372036854775807", INT64_MAX}, {"-9223372036854775808", INT64_MIN}, {"007", 7}};
    static const char *bad[] = {"", "-", "1.5", "9223372036854775808", "-9223372036854775809", "1e3", "12a", "99999999999999999999", "1 2"};
    int64_t x;
    char    text[32];
    for (size_t i = 0; i < WR_COUNT_OF(good); i++) {
        assert_true(wr_parse_i64(wr_str_of(good[i].text), &x));
        assert_true(x == good[i].x);
    }
    for (size_t i = 0; i < WR_COUNT_OF(bad); i++) assert_false(wr_parse_i64(wr_str_of(bad[i]), &x));
    assert_int_equal(wr_text_i64(INT64_MIN, text), 20);
    assert_string_equal(text, "-9223372036854775808");
    wr_text_i64(0, text);
    assert_string_equal(text, "0");
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(texts_match_the_table), cmocka_unit_test(special_doubles),
                                       cmocka_unit_test(parses_doubles_strictly), cmocka_unit_test(parses_integers_strictly)};
    return cmocka_run_group_tests_name("type.number", tests, NULL, NULL);
}
