/* serve/ask_test.c: which names of this machine a request may say when nobody has to say who they are.                                 */
#include "serve/internal.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

static void hosts(void **state) {
    (void)state;
    static const char *const good[] = {"127.0.0.1", "127.0.0.1:8080", "localhost", "LocalHost:1", "[::1]", "[::1]:8080", "[::ffff:127.0.0.1]:1", "192.168.1.5:80"};
    static const char *const bad[] = {"", ":80", "evil.example", "evil.example:8080", "127.0.0.1.evil.example", "localhost.evil.example", "localhost:80.evil.example", "127.0.0.1:80@evil", "[::1", "[evil]", "[::1]evil", "1e7", "xlocalhost"};
    assert_true(serve_host_ok(NULL));
    for (size_t i = 0; i < WR_COUNT_OF(good); i++) assert_true(serve_host_ok(good[i]));
    for (size_t i = 0; i < WR_COUNT_OF(bad); i++) assert_false(serve_host_ok(bad[i]));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(hosts)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
