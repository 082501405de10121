/* remote/s3_test.c: what is refused before anything is sent. Requests themselves: tests/remote/run, against a server. */
#include "remote/remote.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

static wr_remote *open_url(const char *url, const char *want_code) {
    wr_remote *r = NULL;
    wr_err     err = {0};
    wr_status  status = wr_remote_open(wr_world_posix(), url, &r, &err);
    assert_string_equal(err.code, want_code);
    assert_int_equal(status, want_code[0] ? WR_USER : WR_OK);
    assert_int_equal(r != NULL, status == WR_OK);
    return r;
}

static void credentials(const char *key, const char *secret, const char *endpoint) {
    setenv("AWS_ACCESS_KEY_ID", key, 1), setenv("AWS_SECRET_ACCESS_KEY", secret, 1), setenv("AWS_ENDPOINT_URL", endpoint, 1);
}

static void urls_are_recognized(void **state) {
    (void)state;
    assert_true(wr_remote_is_url("s3://bucket/x") && wr_remote_is_url("gs://bucket"));
    assert_false(wr_remote_is_url("dir") || wr_remote_is_url("/a/b") || wr_remote_is_url("./s3://x") || wr_remote_is_url("://x") || wr_remote_is_url("s3:/x"));
}

static void urls_are_cleaned(void **state) {
    static const char *const cases[][2] = {{"s3://bucket", "s3://bucket"}, {"s3://bucket/", "s3://bucket"}, {"s3://bucket//", "s3://bucket"},
                                           {"s3://bucket/a", "s3://bucket/a"}, {"s3://bucket/a/", "s3://bucket/a"}, {"s3://bucket//a///b/c/", "s3://bucket/a/b/c"}};
    (void)state;
    credentials("key", "secret", "http://127.0.0.1:1/");
    for (size_t i = 0; i < WR_COUNT_OF(cases); i++) {
        wr_remote *r = open_url(cases[i][0], "");
        assert_string_equal(wr_remote_url(r), cases[i][1]);
        wr_remote_close(r);
    }
}

static void what_cannot_be_is_refused(void **state) {
    static const char *const urls[] = {"gs://bucket/x", "s3://", "s3:///x", "dir", "", "s3://bucket/a b", "s3://bucket/a?b", "s3://bucket/a#b", "s3://bucket/a%20b"};
    (void)state;
    credentials("key", "secret", "");
    for (size_t i = 0; i < WR_COUNT_OF(urls); i++) open_url(urls[i], "WR331");
    credentials("", "secret", "");
    open_url("s3://bucket/x", "WR331");
    credentials("key", "", "");
    open_url("s3://bucket/x", "WR331");
    credentials("key", "secret", "ftp://host");
    open_url("s3://bucket/x", "WR331");
    wr_remote_close(NULL);
}

static void a_cancelled_one_sends_nothing(void **state) {
    wr_err err = {0};
    (void)state;
    credentials("key", "secret", "http://127.0.0.1:1");
    wr_remote *r = open_url("s3://bucket/x", "");
    wr_remote_cancel(r);
    assert_int_equal(wr_remote_put(r, "a", WR_STR("b"), &err), WR_CANCELLED);
    assert_non_null(strstr(err.message, "s3://bucket/x/a"));
    wr_remote_close(r);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(urls_are_recognized), cmocka_unit_test(urls_are_cleaned), cmocka_unit_test(what_cannot_be_is_refused),
                                       cmocka_unit_test(a_cancelled_one_sends_nothing)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
