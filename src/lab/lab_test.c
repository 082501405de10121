/* lab/lab_test.c: numbers, parameters, tables and plots as text, SVG that escapes. The labs themselves: tests/labs/run. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include "lab/lab.h"
#include <math.h>


static void numbers_are_short(void **state) {
    (void)state;
    static const struct { double value; wr_lab_unit unit; const char *text; } cases[] = {
        {0, WR_LAB_PLAIN, "0"}, {7, WR_LAB_PLAIN, "7"}, {2.5, WR_LAB_PLAIN, "2.50"}, {1500, WR_LAB_PLAIN, "1.50 k"}, {2e6, WR_LAB_PLAIN, "2 M"}, {1e20, WR_LAB_PLAIN, "1e+20"}, {1.5e-9, WR_LAB_PLAIN, "1.5e-09"},
        {100, WR_LAB_BYTES, "100 B"}, {1536, WR_LAB_BYTES, "1.50 KiB"}, {8589934592.0, WR_LAB_BYTES, "8 GiB"}, {0, WR_LAB_SECONDS, "0 s"}, {600, WR_LAB_SECONDS, "600 s"}, {0.004, WR_LAB_SECONDS, "4 ms"},
        {1.32, WR_LAB_SECONDS, "1.32 s"}, {2.4e-5, WR_LAB_SECONDS, "24 us"}, {2.4e-8, WR_LAB_SECONDS, "24 ns"}};
    for (size_t i = 0; i < WR_COUNT_OF(cases); i++) {
        wr_sbuf b = {0};
        wr_lab_number(cases[i].value, cases[i].unit, &b);
        assert_string_equal(b.at, cases[i].text);
        wr_sbuf_free(&b);
    }
}

static void parameters_are_checked(void **state) {
    (void)state;
    wr_err        err = {0};
    wr_lab_run    run;
    const wr_lab *lab = wr_lab_find(WR_STR("remember"), &err);
    assert_non_null(lab);
    wr_lab_run_open(&run, lab, NULL, 1, false);
    assert_int_equal(wr_lab_run_set(&run, "memory=4MiB", &err), WR_OK);
    assert_int_equal(wr_lab_run_set(&run, "users=20k", &err), WR_OK);
    for (uint32_t i = 0; i < wr_lab_n_params(lab); i++) {
        if (!strcmp(lab->params[i].name, "memory")) assert_true(run.values[i] == 4194304);
        if (!strcmp(lab->params[i].name, "users")) assert_true(run.values[i] == 20000);
    }
    static const char *const bad[] = {"users", "users=", "users=many", "users=1", "users=20kk", "user=20", "rate=nan", "rate=inf"};
    for (size_t i = 0; i < WR_COUNT_OF(bad); i++) {
        assert_int_equal(wr_lab_run_set(&run, bad[i], &err), WR_USER);
        assert_string_equal(err.code, "WR476");
    }
    assert_null(wr_lab_find(WR_STR("remembr"), &err));
    assert_non_null(strstr(err.hint, "'remember'"));
    wr_lab_run_close(&run);
}

/* Every lab's parameters: quick and fallback lie within the range. */
static void fallbacks_are_legal(void **state) {
    (void)state;
    uint32_t n;
    const wr_lab *const *all = wr_labs(&n);
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t k = 0; k < wr_lab_n_params(all[i]); k++) {
            const wr_lab_param *p = &all[i]->params[k];
            assert_true(p->least <= p->fallback && p->fallback <= p->most && p->least <= p->quick && p->quick <= p->most);
        }
}

static wr_lab_report small_report(wr_arena *arena) {
    wr_lab_report  r = {.arena = arena};
    wr_lab_table  *t = wr_lab_add_table(&r, "title", "what|rows");
    wr_lab_plot   *p = wr_lab_add_plot(&r, "a < b & \"c\"", "x", WR_LAB_PLAIN, "y", WR_LAB_PLAIN);
    wr_lab_series *measured = wr_lab_add_series(&r, p, WR_LAB_MEASURED, "measured"), *line = wr_lab_add_series(&r, p, WR_LAB_PREDICTED, "line");
    wr_lab_row(&r, t, "one|%d", 5);
    wr_lab_row(&r, t, "two|%d", 12345);
    for (int i = 0; i <= 10; i++) wr_lab_add_point(&r, measured, i, i);
    wr_lab_add_point(&r, line, 0, 0), wr_lab_add_point(&r, line, 10, 10);
    wr_lab_add_point(&r, line, 11, (double)NAN); /* left out */
    wr_lab_relate(&r, true, "one is below two");
    return r;
}

static void text_has_all_parts(void **state) {
    (void)state;
    wr_err        err = {0};
    wr_lab_run    run;
    wr_sbuf       out = {0};
    wr_lab_run_open(&run, wr_lab_find(WR_STR("remember"), &err), NULL, 1, true);
    wr_lab_report r = small_report(run.arena);
    wr_lab_text   how = {.width = 60};
    wr_lab_show(&run, &r, &how, &out);
    assert_non_null(strstr(out.at, "what   rows\n-----------\none       5\ntwo   12345\n"));
    assert_non_null(strstr(out.at, "        10 |"));
    assert_non_null(strstr(out.at, "held    one is below two\n"));
    assert_true(wr_lab_held(&r));
    for (size_t i = 0; i < out.len; i++) assert_true((unsigned char)out.at[i] < 0x80); /* without UTF-8 */
    wr_lab_relate(&r, false, "two is below one");
    assert_false(wr_lab_held(&r));
    wr_sbuf_clear(&out);
    how = (wr_lab_text){.width = 200, .utf8 = true};
    wr_lab_show(&run, &r, &how, &out);
    assert_non_null(strstr(out.at, "BROKEN  two is below one\n"));
    assert_non_null(strstr(out.at, "●"));
    wr_sbuf_clear(&out);
    wr_lab_svg(&r, 0, 1, &out);
    assert_non_null(strstr(out.at, "a &lt; b &amp; &quot;c&quot;"));
    assert_null(strstr(out.at, "nan"));
    wr_sbuf_free(&out);
    wr_lab_run_close(&run);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(numbers_are_short), cmocka_unit_test(parameters_are_checked), cmocka_unit_test(fallbacks_are_legal), cmocka_unit_test(text_has_all_parts)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
