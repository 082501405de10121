/* base/diag_test.c: the printed and the JSON form of diagnostics; limits.                                               */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include "base/diag.h"
#include <string.h>

static void prints_line_and_caret(void **state) {
    (void)state;
    wr_diags diags;
    wr_diags_init(&diags);
    uint32_t file = wr_diags_add_source(&diags, WR_STR("job.sql"), WR_STR("SELECT *\n\tFROM \xC3\xA9t ordres;\r\nx"));
    assert_int_equal(file, 1);
    wr_diags_add(&diags, WR_SEV_ERROR, "42P01", (wr_span){file, 2, 10, 6}, "table '%s' does not exist", "ordres");
    wr_diags_hint(&diags, "did you mean '%s'?", "orders");
    wr_diags_add(&diags, WR_SEV_WARNING, "WR101", (wr_span){file, 3, 1, 9}, "short line");
    wr_diags_detail(&diags, "a sentence");
    wr_diags_add(&diags, WR_SEV_NOTE, "WR102", (wr_span){0}, "no place");
    wr_sbuf out = {0};
    wr_diags_print(&diags, &out);
    assert_string_equal(out.at, "job.sql:2:10: error [42P01] table 'ordres' does not exist\n"
                                "    2 | \tFROM \xC3\xA9t ordres;\n"
                                "      | \t        ^^^^^^\n"
                                "hint:   did you mean 'orders'?\n"
                                "job.sql:3:1: warning [WR101] short line\n"
                                "    3 | x\n"
                                "      | ^\n"
                                "detail: a sentence\n"
                                "note [WR102] no place\n");
    wr_sbuf_clear(&out);
    wr_diags_json(&diags, &out);
    assert_string_equal(out.at, "[{\"severity\":\"error\",\"code\":\"42P01\",\"file\":\"job.sql\",\"line\":2,\"column\":10,\"message\":\"table 'ordres' does not exist\","
                                "\"hint\":\"did you mean 'orders'?\"},{\"severity\":\"warning\",\"code\":\"WR101\",\"file\":\"job.sql\",\"line\":3,\"column\":1,"
                                "\"message\":\"short line\",\"detail\":\"a sentence\"},{\"severity\":\"note\",\"code\":\"WR102\",\"file\":\"\",\"line\":0,\"column\":0,"
                                "\"message\":\"no place\"}]");
    assert_true(diags.n_errors == 1 && diags.n_warnings == 1);
    wr_sbuf_free(&out);
    wr_diags_free(&diags);
}

static void keeps_a_hundred(void **state) {
    (void)state;
    wr_diags diags;
    wr_diags_init(&diags);
    for (int i = 0; i < 150; i++) {
        wr_diags_add(&diags, WR_SEV_ERROR, "42601", (wr_span){0}, "error %d", i);
        wr_diags_hint(&diags, "hint %d", i);
    }
    assert_int_equal(diags.list.n, WR_DIAG_MAX);
    assert_int_equal(diags.n_errors, 150);
    assert_string_equal(diags.list.at[99].hint, "hint 99"); /* not that of a dropped one */
    wr_sbuf out = {0};
    wr_diags_print(&diags, &out);
    assert_non_null(strstr(out.at, "... and 50 more\n"));
    wr_sbuf_free(&out);
    wr_diags_free(&diags);
}

static void spans_at_the_edge(void **state) { /* beyond the line, beyond the file, in a very long line */
    (void)state;
    wr_diags diags;
    char     wide[1000];
    wr_diags_init(&diags);
    memset(wide, 'y', sizeof wide);
    uint32_t empty = wr_diags_add_source(&diags, WR_STR("empty"), WR_STR("")), far = wr_diags_add_source(&diags, WR_STR("wide"), (wr_str){wide, sizeof wide});
    wr_diags_add(&diags, WR_SEV_ERROR, "42601", (wr_span){empty, 7, 9, 3}, "end of input");
    wr_diags_add(&diags, WR_SEV_ERROR, "42601", (wr_span){far, 1, 900, 500}, "far right");
    wr_diags_add(&diags, WR_SEV_ERROR, "42601", (wr_span){99, 1, 1, 1}, "no such file");
    wr_sbuf out = {0};
    wr_diags_print(&diags, &out);
    assert_non_null(strstr(out.at, "empty:7:9: error [42601] end of input\n"));
    assert_true(out.len < 1000);
    wr_sbuf_free(&out);
    wr_span joined = wr_span_join((wr_span){1, 2, 3, 4}, (wr_span){1, 2, 10, 5});
    assert_true(joined.col == 3 && joined.len == 12);
    joined = wr_span_join((wr_span){1, 2, 3, 4}, (wr_span){1, 3, 1, 5});
    assert_int_equal(joined.len, 4);
    wr_diags_free(&diags);
}

static void errors_print_alike(void **state) {
    (void)state;
    wr_err  err;
    wr_sbuf out = {0};
    wr_fail(&err, WR_DATA, "22018", "'abc' is not an INT");
    wr_err_place(&err, "orders.jsonl:12 (byte 345)");
    wr_err_hint(&err, "set 'on-error' = 'skip'");
    wr_err_print(&err, NULL, &out);
    assert_string_equal(out.at, "orders.jsonl:12 (byte 345): error [22018] 'abc' is not an INT\nhint:   set 'on-error' = 'skip'\n");
    wr_sbuf_free(&out);
}

/* A text that is too long is cut behind a whole character, so that reports stay UTF-8. */
static void cut_texts_are_utf8(void **state) {
    (void)state;
    char long_text[2 * sizeof((wr_err *)0)->message];
    for (size_t shift = 0; shift < 3; shift++) {
        memset(long_text, 'x', shift);
        size_t n = shift;
        for (; n + 3 < sizeof long_text; n += 3) memcpy(long_text + n, "\xe6\x97\xa5", 3);
        long_text[n] = 0;
        wr_err err;
        wr_fail(&err, WR_DATA, "22000", "%s", long_text);
        assert_true(wr_utf8_valid(wr_str_of(err.message)));
        assert_true(strlen(err.message) + 4 > sizeof err.message);
    }
    wr_diags diags;
    wr_diags_init(&diags);
    uint32_t file = wr_diags_add_source(&diags, WR_STR("job.sql"), wr_str_of(long_text));
    wr_diags_add(&diags, WR_SEV_ERROR, "42P01", (wr_span){file, 1, 1, 3}, "text");
    wr_sbuf out = {0};
    wr_diags_print(&diags, &out);
    assert_true(wr_utf8_valid(wr_sbuf_str(&out)));
    wr_sbuf_free(&out);
    wr_diags_free(&diags);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(prints_line_and_caret), cmocka_unit_test(keeps_a_hundred), cmocka_unit_test(spans_at_the_edge),
                                       cmocka_unit_test(errors_print_alike), cmocka_unit_test(cut_texts_are_utf8)};
    return cmocka_run_group_tests_name("base.diag", tests, NULL, NULL);
}
