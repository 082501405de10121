/* type/decimal_test.c: arithmetic, rounding and text against Python's decimal (tools/gen-type-cases); result types as Flink's. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include "type/decimal.h"
#include <stdio.h>
#include <stdlib.h>

static wr_i128 i128(const char *text) { /* independent of the code under test */
    bool    minus = *text == '-';
    wr_i128 x = 0;
    for (text += minus; *text; text++) x = x * 10 + (*text - '0');
    return minus ? -x : x;
}

static void print_i128(wr_i128 x, char out[48]) {
    char  text[48], *p = text + 47;
    bool  minus = x < 0;
    *p = 0;
    do *--p = (char)('0' + (int)(x % 10 < 0 ? -(x % 10) : x % 10)), x /= 10;
    while (x);
    if (minus) *--p = '-';
    strcpy(out, p);
}

typedef struct fields { char op[16], a[128], b[64], want[128]; int sa, sb, prec, scale; } fields;

static void check_result(const fields *c, const char *line, bool ok, wr_i128 got) {
    char text[48] = "null";
    if (ok) print_i128(got, text);
    if (strcmp(text, c->want)) print_error("got %s for %s", text, line);
    assert_string_equal(text, c->want);
}

static void check_case(const fields *c, const char *line) {
    wr_i128 a = i128(c->a), b = i128(c->b), got = 0;
    bool    ok;
    if (!strcmp(c->op, "add")) ok = wr_decimal_add(a, c->sa, b, c->sb, c->prec, c->scale, &got);
    else if (!strcmp(c->op, "sub")) ok = wr_decimal_sub(a, c->sa, b, c->sb, c->prec, c->scale, &got);
    else if (!strcmp(c->op, "mul")) ok = wr_decimal_mul(a, c->sa, b, c->sb, c->prec, c->scale, &got);
    else if (!strcmp(c->op, "div")) ok = wr_decimal_div(a, c->sa, b, c->sb, c->prec, c->scale, &got);
    else if (!strcmp(c->op, "mod")) ok = wr_decimal_mod(a, c->sa, b, c->sb, c->prec, c->scale, &got);
    else if (!strcmp(c->op, "cmp")) ok = true, got = wr_decimal_compare(a, c->sa, b, c->sb);
    else ok = wr_decimal_rescale(a, c->sa, c->prec, c->scale, &got);
    check_result(c, line, ok, got);
}

static void check_text_case(const fields *c, const char *line) { /* the second and third fields are prec and scale, or scale */
    wr_i128 got = 0;
    char    text[48];
    if (!strcmp(c->op, "parse")) {
        bool ok = wr_decimal_parse(wr_str_of(c->a), c->sa, atoi(c->b), &got);
        check_result(c, line, ok, got);
    } else if (!strcmp(c->op, "fromdouble")) {
        bool ok = wr_decimal_from_double(strtod(c->a, NULL), c->sa, atoi(c->b), &got);
        check_result(c, line, ok, got);
    } else if (!strcmp(c->op, "text")) {
        size_t len = wr_decimal_text(i128(c->a), c->sa, text);
        assert_int_equal(len, strlen(text));
        if (strcmp(text, c->want)) print_error("got %s for %s", text, line);
        assert_string_equal(text, c->want);
    } else {
        assert_true(wr_decimal_to_double(i128(c->a), c->sa) == strtod(c->want, NULL));
    }
}

static void agrees_with_python(void **state) {
    (void)state;
    FILE *f = fopen("src/type/testdata/decimal.txt", "r");
    assert_non_null(f);
    char line[512];
    int  n = 0;
    while (fgets(line, sizeof line, f)) {
        if (*line == '#') continue;
        fields c;
        assert_int_equal(sscanf(line, "%15s %127s %d %63s %d %d %d %127s", c.op, c.a, &c.sa, c.b, &c.sb, &c.prec, &c.scale, c.want), 8);
        bool text = !strcmp(c.op, "parse") || !strcmp(c.op, "fromdouble") || !strcmp(c.op, "text") || !strcmp(c.op, "todouble");
        if (text) check_text_case(&c, line);
        else check_case(&c, line);
        n++;
    }
    fclose(f);
    assert_true(n > 3000);
}

static void parse_is_strict(void **state) {
    (void)state;
    static const char *bad[] = {"", "-", ".", "1e", "abc", "1.2.3", "0x1", "1 2", "NaN", "1e+", "e1"};
    wr_i128 v;
    for (size_t i = 0; i < WR_COUNT_OF(bad); i++) assert_false(wr_decimal_parse(wr_str_of(bad[i]), 38, 2, &v));
    assert_true(wr_decimal_parse(WR_STR(" 1.005 "), 10, 2, &v) && v == 101); /* half up */
    assert_true(wr_decimal_parse(WR_STR("-1.005"), 10, 2, &v) && v == -101);
    assert_true(wr_decimal_parse(WR_STR("0.0049999999999999999999999999999999999999999999999999"), 10, 2, &v) && v == 0);
    assert_true(wr_decimal_parse(WR_STR("1e-999999999999"), 10, 2, &v) && v == 0);
    assert_true(wr_decimal_parse(WR_STR("0e999999999999"), 10, 2, &v) && v == 0);
    assert_false(wr_decimal_parse(WR_STR("1e999999999999"), 38, 0, &v));
    assert_false(wr_decimal_parse(WR_STR("99.995"), 4, 2, &v)); /* rounds to 100.00 */
    assert_true(wr_decimal_parse(WR_STR("99.994"), 4, 2, &v) && v == 9999);
    assert_false(wr_decimal_from_double(1.0 / 0.0, 38, 2, &v));
    assert_true(wr_decimal_from_double(1.005, 10, 2, &v) && v == 101);
}

static void assert_type(wr_type t, int prec, int scale) {
    assert_int_equal(t.prec, prec);
    assert_int_equal(t.scale, scale);
}

static void types_as_flink_measured(void **state) { /* shared/flink/semantics.md, section 6 */
    (void)state;
    wr_type big = wr_decimal_of_integer(wr_type_of(WR_T_BIGINT));
    assert_type(big, 20, 0);
    assert_type(wr_decimal_mul_type(wr_type_decimal(3, 3), big), 24, 3);
    assert_type(wr_decimal_div_type(wr_type_decimal(10, 2), wr_type_decimal(5, 1)), 17, 8);
    assert_type(wr_decimal_mul_type(wr_type_decimal(10, 2), wr_type_decimal(5, 1)), 16, 3);
    assert_type(wr_decimal_add_type(wr_type_decimal(38, 10), wr_type_decimal(38, 2)), 38, 6);
    assert_type(wr_decimal_div_type(wr_type_decimal(2, 1), wr_type_decimal(2, 1)), 8, 6);
    assert_type(wr_decimal_mod_type(wr_type_decimal(10, 2), wr_type_decimal(5, 1)), 6, 2);
    assert_false(wr_decimal_add_type(wr_type_not_null(wr_type_decimal(5, 1)), wr_type_not_null(wr_type_decimal(5, 1))).nullable);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(agrees_with_python), cmocka_unit_test(parse_is_strict),
                                       cmocka_unit_test(types_as_flink_measured)};
    return cmocka_run_group_tests_name("type.decimal", tests, NULL, NULL);
}
