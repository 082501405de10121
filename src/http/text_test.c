/* http/text_test.c: URLs and lists of statuses.                                                                               */
#include "http/http.h"
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

static void urls(void **state) {
    (void)state;
    static const char *const good[] = {"http://h", "https://h:1/x?y=z", "http://u:p@h/", "http://[::1]:80/a%20b"};
    static const char *const bad[] = {"", "http://", "http:///x", "ftp://h", "h/x", "http://h/a b", "http://h/\n", "http://:80", "HTTP://h"};
    for (size_t i = 0; i < WR_COUNT_OF(good); i++) assert_true(wr_http_is_url(wr_str_of(good[i])));
    for (size_t i = 0; i < WR_COUNT_OF(bad); i++) assert_false(wr_http_is_url(wr_str_of(bad[i])));
    wr_sbuf b = {0};
    wr_http_show_url(&b, WR_STR("https://me:secret@h:1/x/@y?token=t#f"));
    assert_string_equal(b.at, "https://h:1/x/@y");
    wr_sbuf_clear(&b);
    wr_http_encode(&b, WR_STR("a/b c\xc3\xa9~%"), false);
    assert_string_equal(b.at, "a%2Fb%20c%C3%A9~%25");
    wr_sbuf_clear(&b);
    wr_http_encode(&b, WR_STR("a/b"), true);
    assert_string_equal(b.at, "a/b");
    wr_sbuf_free(&b);
}

static void codes(void **state) {
    (void)state;
    wr_http_codes c;
    assert_true(wr_http_codes_read(WR_STR(" 408, 500-599 "), &c));
    assert_int_equal(c.n, 2);
    assert_true(wr_http_codes_has(&c, 408) && wr_http_codes_has(&c, 500) && wr_http_codes_has(&c, 599));
    assert_false(wr_http_codes_has(&c, 409) || wr_http_codes_has(&c, 0) || wr_http_codes_has(&c, 600));
    assert_true(wr_http_codes_read(WR_STR(""), &c));
    assert_int_equal(c.n, 0);
    static const char *const bad[] = {"4xx", "99", "600", "500-400", "500-", ",", "200 201", "200,201,202,203,204,205,206,207,208,209,210,211,212,213,214,215,216"};
    for (size_t i = 0; i < WR_COUNT_OF(bad); i++) assert_false(wr_http_codes_read(wr_str_of(bad[i]), &c));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(urls), cmocka_unit_test(codes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
