/* base/str_test.c: UTF-8 over all code points and bad bytes, comparisons, did-you-mean, buffers, JSON escapes, binary form. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include "base/str.h"

static void utf8_every_code_point(void **state) {
    (void)state;
    for (uint32_t cp = 1; cp <= 0x10FFFF; cp++) {
        if (cp >= 0xD800 && cp <= 0xDFFF) continue;
        char     text[4];
        size_t   len = wr_utf8_put(text, cp), used;
        assert_int_equal(len, cp < 0x80 ? 1 : cp < 0x800 ? 2 : cp < 0x10000 ? 3 : 4);
        assert_int_equal(wr_utf8_get(text, text + len, &used), cp);
        assert_int_equal(used, len);
        assert_true(wr_utf8_valid((wr_str){text, len}));
        assert_int_equal(wr_utf8_chars((wr_str){text, len}), 1);
        for (size_t cut = 1; cut < len; cut++) assert_false(wr_utf8_valid((wr_str){text, cut}));
    }
}

static void utf8_refuses_what_it_must(void **state) { /* from the Unicode standard, table 3-7 and section 3.9 */
    (void)state;
    static const char *bad[] = {"\x80", "\xBF", "\xC0\x80", "\xC1\xBF", "\xE0\x80\x80", "\xE0\x9F\xBF", "\xED\xA0\x80", "\xED\xBF\xBF", "\xF0\x80\x80\x80",
                                "\xF0\x8F\xBF\xBF", "\xF4\x90\x80\x80", "\xF5\x80\x80\x80", "\xFF", "\xFE", "\xC3(", "\xE2\x82(", "abcdefgh\xC3", "abcdefghijklmnop\xFFq"};
    for (size_t i = 0; i < WR_COUNT_OF(bad); i++) assert_false(wr_utf8_valid(wr_str_of(bad[i])));
    static const char *good[] = {"", "plain ascii of some length", "\xC3\xA9", "\xEF\xBF\xBD", "\xED\x9F\xBF", "\xEE\x80\x80", "\xF4\x8F\xBF\xBF", "12345678\xE2\x82\xAC"};
    for (size_t i = 0; i < WR_COUNT_OF(good); i++) assert_true(wr_utf8_valid(wr_str_of(good[i])));
    size_t used;
    const char *bytes = "\xC3(";
    assert_int_equal(wr_utf8_get(bytes, bytes + 2, &used), 0xFFFD);
    assert_int_equal(used, 1);
}

static void utf8_counts_and_offsets(void **state) {
    (void)state;
    wr_str s = WR_STR("a\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80z");
    assert_int_equal(wr_utf8_chars(s), 5);
    static const size_t offsets[] = {0, 1, 3, 6, 10, 11, 11};
    for (size_t i = 0; i < WR_COUNT_OF(offsets); i++) assert_int_equal(wr_utf8_offset(s, i), offsets[i]);
}

static void comparisons(void **state) {
    (void)state;
    assert_true(wr_str_eq(WR_STR("ab"), WR_STR("ab")) && !wr_str_eq(WR_STR("ab"), WR_STR("abc")) && wr_str_eq((wr_str){NULL, 0}, WR_STR("")));
    assert_true(wr_str_ieq(WR_STR("SELECT"), WR_STR("select")) && !wr_str_ieq(WR_STR("[a"), WR_STR("{a")));
    assert_true(wr_str_cmp(WR_STR("a"), WR_STR("ab")) < 0 && wr_str_cmp(WR_STR("b"), WR_STR("ab")) > 0 && wr_str_cmp(WR_STR(""), WR_STR("")) == 0);
    assert_true(wr_str_cmp(WR_STR("\xFF"), WR_STR("a")) > 0);
    assert_true(wr_str_eq(wr_str_trim(WR_STR(" \t a b \n")), WR_STR("a b")) && wr_str_trim(WR_STR("  ")).len == 0);
    assert_true(wr_str_starts(WR_STR("abc"), WR_STR("ab")) && wr_str_starts(WR_STR("abc"), WR_STR("")) && !wr_str_starts(WR_STR("a"), WR_STR("ab")));
}

static void did_you_mean(void **state) {
    (void)state;
    static const struct { const char *a, *b; unsigned d; } pairs[] = {
        {"", "", 0}, {"abc", "abc", 0}, {"ABC", "abc", 0}, {"abc", "abd", 1}, {"abc", "acb", 1}, {"kitten", "sitting", 3}, {"ab", "", 2}, {"filesytem", "filesystem", 1},
        {"abcdefghijkl", "zyxwvutsrqpo", 8}};
    for (size_t i = 0; i < WR_COUNT_OF(pairs); i++) {
        assert_int_equal(wr_edit_distance(wr_str_of(pairs[i].a), wr_str_of(pairs[i].b)), pairs[i].d);
        assert_int_equal(wr_edit_distance(wr_str_of(pairs[i].b), wr_str_of(pairs[i].a)), pairs[i].d);
    }
    wr_str names[] = {WR_STR("restaurant_id"), WR_STR("order_id"), WR_STR("amount"), WR_STR("id")};
    assert_int_equal(wr_nearest(WR_STR("restaurent_id"), names, 4), 0);
    assert_int_equal(wr_nearest(WR_STR("oder_id"), names, 4), 1);
    assert_int_equal(wr_nearest(WR_STR("AMOUNT"), names, 4), 2);
    assert_int_equal(wr_nearest(WR_STR("completely_else"), names, 4), -1);
    assert_int_equal(wr_nearest(WR_STR("zq"), names, 4), -1);
    char wide[200];
    memset(wide, 'x', sizeof wide);
    assert_int_equal(wr_nearest((wr_str){wide, sizeof wide}, names, 4), -1);
}

static void buffers_grow_and_stop(void **state) {
    (void)state;
    wr_sbuf buf = {0};
    assert_string_equal(wr_sbuf_str(&buf).ptr, "");
    for (int i = 0; i < 10000; i++) wr_sbuf_printf(&buf, "%d,", i);
    assert_int_equal(buf.len, 10 * 2 + 90 * 3 + 900 * 4 + 9000 * 5);
    assert_int_equal(buf.at[buf.len], 0);
    wr_sbuf_free(&buf);
    wr_sbuf small = {.max = 5};
    wr_sbuf_addz(&small, "abc");
    wr_sbuf_addz(&small, "def");
    assert_true(small.overflow && small.len == 3);
    wr_sbuf_printf(&small, "%d", 12345);
    assert_int_equal(small.len, 3);
    wr_sbuf_addz(&small, "de");
    assert_string_equal(small.at, "abcde");
    wr_sbuf_clear(&small);
    assert_true(!small.overflow && small.len == 0);
    wr_sbuf_free(&small);
}

static void json_is_escaped(void **state) {
    (void)state;
    static const struct { const char *text, *json; } cases[] = {
        {"", "\"\""}, {"plain", "\"plain\""}, {"a\"b\\c", "\"a\\\"b\\\\c\""}, {"\n\r\t\x01", "\"\\n\\r\\t\\u0001\""},
        {"\xC3\xA9\xF0\x9F\x98\x80", "\"\xC3\xA9\xF0\x9F\x98\x80\""}, {"x\xFFy\xC3", "\"x\xEF\xBF\xBDy\xEF\xBF\xBD\""}, {"\xEF\xBF\xBD", "\"\xEF\xBF\xBD\""}};
    for (size_t i = 0; i < WR_COUNT_OF(cases); i++) {
        wr_sbuf out = {0};
        wr_sbuf_add_json(&out, wr_str_of(cases[i].text));
        assert_string_equal(out.at, cases[i].json);
        wr_sbuf_free(&out);
    }
}

static void binary_form(void **state) {
    (void)state;
    wr_sbuf buf = {0};
    wr_put_u8(&buf, 200);
    wr_put_u32(&buf, 0x01020304);
    wr_put_u64(&buf, UINT64_MAX - 1);
    wr_put_i64(&buf, -5);
    wr_put_f64(&buf, 1.5);
    wr_put_bytes(&buf, "hello", 5);
    assert_memory_equal(buf.at, "\xC8\x04\x03\x02\x01\xFE", 6);
    for (size_t len = 0; len <= buf.len; len++) {
        wr_reader r = {(uint8_t *)buf.at, (uint8_t *)buf.at + len, false};
        uint8_t   a = wr_get_u8(&r);
        uint32_t  b = wr_get_u32(&r);
        uint64_t  c = wr_get_u64(&r);
        int64_t   d = wr_get_i64(&r);
        double    e = wr_get_f64(&r);
        wr_str    f = wr_get_bytes(&r);
        assert_true(r.bad == (len < buf.len));
        if (r.bad) continue;
        assert_true(a == 200 && b == 0x01020304 && c == UINT64_MAX - 1 && d == -5 && e == 1.5 && wr_str_eq(f, WR_STR("hello")));
        wr_get_u8(&r);
        assert_true(r.bad);
    }
    wr_sbuf_free(&buf);
}

static void arrays_grow(void **state) {
    (void)state;
    WR_ARR(int) arr = {0};
    for (int i = 0; i < 1000; i++) wr_arr_push(&arr, i);
    for (int i = 0; i < 1000; i++) assert_int_equal(arr.at[i], i);
    wr_arr_free(&arr);
    assert_true(arr.n == 0 && !arr.at);
}

static void lists_are_walked(void **state) {
    (void)state;
    static const struct { const char *list, *items; } cases[] = {{"", ""}, {"a", "[a]"}, {" a ;b;", "[a][b]"}, {";;c", "[][][c]"}, {" ", "[]"}};
    for (size_t i = 0; i < WR_COUNT_OF(cases); i++) {
        wr_sbuf out = {0};
        wr_str  list = wr_str_of(cases[i].list), item;
        wr_sbuf_addz(&out, "");
        while (wr_str_next(&list, ';', &item)) wr_sbuf_printf(&out, "[%.*s]", WR_FMT(item));
        assert_string_equal(out.at, cases[i].items);
        wr_sbuf_free(&out);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(utf8_every_code_point), cmocka_unit_test(utf8_refuses_what_it_must), cmocka_unit_test(utf8_counts_and_offsets),
        cmocka_unit_test(comparisons), cmocka_unit_test(did_you_mean), cmocka_unit_test(buffers_grow_and_stop), cmocka_unit_test(json_is_escaped),
        cmocka_unit_test(binary_form), cmocka_unit_test(arrays_grow), cmocka_unit_test(lists_are_walked)};
    return cmocka_run_group_tests_name("base.str", tests, NULL, NULL);
}
