/* connect/nats/nats_test.c: subjects against patterns, and what a reply subject says of a message. With a server: tests/nats/run.   */
#include "connect/nats/lib.h"
#include "connect/testing.h"

static void patterns(void **state) {
    (void)state;
    static const struct { const char *pattern, *subject; bool match; } cases[] = { /* by the rules of NATS: * is one token, > one or more at the end */
        {"a", "a", true}, {"a", "b", false}, {"a", "ab", false}, {"ab", "a", false}, {"a.b", "a.b", true}, {"a.b", "a", false}, {"a", "a.b", false}, {"*", "a", true}, {"*", "a.b", false}, {"a.*", "a.b", true},
        {"a.*", "a", false}, {"a.*", "a.b.c", false}, {"*.b", "a.b", true}, {"*.b", "a.c", false}, {">", "a.b.c", true}, {"a.>", "a.b.c", true}, {"a.>", "a", false}, {"a.>", "b.c", false}, {"a.*.c", "a.b.c", true},
        {"a*", "ab", false}, {"a", "", false}, {"*", "", false}, {">", "", false}, {"a.*", "a.", false}};
    for (size_t i = 0; i < WR_COUNT_OF(cases); i++)
        if (nats_matches(cases[i].pattern, cases[i].subject) != cases[i].match) fail_msg("%s %s", cases[i].pattern, cases[i].subject);
}

static void replies(void **state) {
    (void)state;
    nats_message m = {0};
    uint64_t     count = 0, pending = 0;
    assert_true(nats_parse_reply("$JS.ACK.ORDERS.cons.1.42.7.1700000000123456789.5", &m, &count, &pending));
    assert_int_equal(m.sequence, 42);
    assert_int_equal(count, 7);
    assert_int_equal(m.timestamp_ns, 1700000000123456789);
    assert_int_equal(pending, 5);
    assert_true(nats_parse_reply("$JS.ACK.hub.ACCOUNT.ORDERS.cons.1.43.8.1700000000123456790.0.token", &m, &count, &pending)); /* with domain and account */
    assert_int_equal(m.sequence, 43);
    assert_int_equal(count, 8);
    assert_int_equal(pending, 0);
    static const char *const others[] = {NULL, "", "_INBOX.x", "$JS.ACK.", "$JS.ACK.a.b.1.2.3.4", "$JS.ACK.a.b.1.2.3.4.5.6", "$JS.ACK.a.b.1.x.3.4.5"};
    for (size_t i = 0; i < WR_COUNT_OF(others); i++) assert_false(nats_parse_reply(others[i], &m, &count, &pending));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(patterns), cmocka_unit_test(replies)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
