/* connect/nexmark/nexmark_test.c: proportions, hot keys and sizes of the published model; same seed same bytes; event i alone.
 *
 * Idea       expected figures are those of the Nexmark paper and its Beam and Flink editions, within sampling error.       */
#include "connect/nexmark/nexmark.h"
#include "base/hash.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

typedef struct sinks { wr_sbuf stream[WR_NEXMARK_STREAMS]; } sinks;

static wr_status collect(void *arg, int stream, const char *bytes, size_t len, wr_err *err) {
    (void)err;
    wr_sbuf_add(&((sinks *)arg)->stream[stream], bytes, len);
    return WR_OK;
}
static void sinks_free(sinks *s) {
    for (int i = 0; i < WR_NEXMARK_STREAMS; i++) wr_sbuf_free(&s->stream[i]);
}
static wr_nexmark *make(uint64_t seed) {
    wr_nexmark_config config;
    wr_err            err;
    wr_nexmark       *gen;
    wr_nexmark_config_default(&config);
    config.seed = seed;
    assert_int_equal(wr_nexmark_new(&config, &gen, &err), WR_OK);
    return gen;
}

static void test_same_seed_same_bytes(void **state) {
    (void)state;
    static const uint64_t golden[WR_NEXMARK_STREAMS] = {0xf375256fd8f5273e, 0xa923bd8a1001f6f0, 0xb83d653842b32445};
    for (int round = 0; round < 2; round++) {
        wr_nexmark *gen = make(7);
        sinks       s = {0};
        wr_err      err;
        assert_int_equal(wr_nexmark_write(gen, 0, 5000, collect, &s, &err), WR_OK);
        for (int i = 0; i < WR_NEXMARK_STREAMS; i++) {
            uint64_t hash = wr_hash_bytes(s.stream[i].at, s.stream[i].len);
            if (hash != golden[i]) print_message("stream %d: 0x%llx\n", i, (unsigned long long)hash);
            assert_true(hash == golden[i]);
        }
        sinks_free(&s);
        wr_nexmark_free(gen);
    }
    wr_nexmark *gen = make(8);
    sinks       s = {0};
    assert_int_equal(wr_nexmark_write(gen, 0, 5000, collect, &s, NULL), WR_OK);
    assert_true(wr_hash_bytes(s.stream[2].at, s.stream[2].len) != golden[2]);
    sinks_free(&s);
    wr_nexmark_free(gen);
}

static void test_ranges_add_up(void **state) {
    (void)state;
    wr_nexmark *gen = make(3), *other = make(3);
    sinks       whole = {0}, parts = {0};
    uint64_t    cuts[] = {0, 1, 49, 50, 777, 9999, 20000};
    assert_int_equal(wr_nexmark_write(gen, 0, 20000, collect, &whole, NULL), WR_OK);
    for (size_t i = 0; i + 1 < WR_COUNT_OF(cuts); i++)
        assert_int_equal(wr_nexmark_write(i & 1 ? gen : other, cuts[i], cuts[i + 1] - cuts[i], collect, &parts, NULL), WR_OK);
    for (int s = 0; s < WR_NEXMARK_STREAMS; s++)
        assert_true(wr_str_eq(wr_sbuf_str(&whole.stream[s]), wr_sbuf_str(&parts.stream[s])));
    sinks_free(&whole);
    sinks_free(&parts);
    wr_nexmark_free(gen);
    wr_nexmark_free(other);
}

static void test_model(void **state) {
    (void)state;
    wr_nexmark *gen = make(1);
    uint64_t    n = 500000, kinds[3] = {0}, hot_auction = 0, hot_bidder = 0, hot_seller = 0, hot_channel = 0, price_low = 0;
    uint64_t    bid_extra = 0, next_id[2] = {WR_NEXMARK_FIRST_ID, WR_NEXMARK_FIRST_ID};
    for (uint64_t i = 0; i < n; i++) {
        wr_nexmark_event e;
        wr_nexmark_event_at(gen, i, &e);
        kinds[e.kind]++;
        assert_int_equal(e.kind, wr_nexmark_kind_of(gen, i));
        assert_true(e.date_time_ms == 1436918400000 + (int64_t)i / 10); /* 10,000 a second */
        if (e.kind == WR_NEXMARK_PERSON) assert_true(e.person.id == (int64_t)next_id[0]++);
        if (e.kind == WR_NEXMARK_AUCTION) {
            assert_true(e.auction.id == (int64_t)next_id[1]++);
            assert_true(e.auction.category >= 10 && e.auction.category < 15);
            assert_true(e.auction.reserve > e.auction.initial_bid && e.auction.expires_ms > e.date_time_ms);
            assert_true(e.auction.seller < (int64_t)next_id[0] + 10);
            hot_seller += e.auction.seller % 100 == 0;
        }
        if (e.kind != WR_NEXMARK_BID) continue;
        assert_true(e.bid.auction >= 1000 && e.bid.auction < (int64_t)next_id[1] + 10);
        assert_true(e.bid.bidder >= 1000 && e.bid.bidder <= (int64_t)next_id[0] + 100);
        assert_true(e.bid.price >= 100 && e.bid.price <= 100000000);
        hot_auction += e.bid.auction % 100 == 0;
        hot_bidder += e.bid.bidder % 100 == 1;
        hot_channel += e.bid.channel.ptr[0] != 'c';
        price_low += e.bid.price < 100000;
        bid_extra += e.bid.extra.len;
    }
    assert_int_equal(kinds[0], n / 50);
    assert_int_equal(kinds[1], n / 50 * 3);
    assert_int_equal(kinds[2], n / 50 * 46);
    double bids = (double)kinds[2];
    assert_true((double)hot_auction / bids > 0.49 && (double)hot_auction / bids < 0.53);
    assert_true((double)hot_bidder / bids > 0.74 && (double)hot_bidder / bids < 0.77);
    assert_true((double)hot_seller / (double)kinds[1] > 0.73 && (double)hot_seller / (double)kinds[1] < 0.78);
    assert_true((double)hot_channel / bids > 0.49 && (double)hot_channel / bids < 0.51);
    assert_true((double)price_low / bids > 0.49 && (double)price_low / bids < 0.51); /* half below 1,000.00: even on the logarithm */
    assert_true((double)bid_extra / bids > 66.5 && (double)bid_extra / bids < 69.5); /* 100 - 32 bytes */
    wr_nexmark_free(gen);
}

static void test_json(void **state) {
    (void)state;
    wr_nexmark_event e = {.kind = WR_NEXMARK_BID, .date_time_ms = 1436918400000 + 86399999};
    e.bid = (wr_nexmark_bid){1005, 2001, 12345, WR_STR("Apple"), WR_STR("https://x/"), WR_STR("abc")};
    wr_sbuf buf = {0};
    wr_nexmark_json(&e, &buf);
    assert_string_equal(buf.at, "{\"auction\":1005,\"bidder\":2001,\"price\":12345,\"channel\":\"Apple\",\"url\":\"https://x/\","
                                "\"dateTime\":\"2015-07-15 23:59:59.999\",\"extra\":\"abc\"}\n");
    wr_sbuf_clear(&buf);
    e = (wr_nexmark_event){.kind = WR_NEXMARK_PERSON, .date_time_ms = 951782400000}; /* a leap day */
    e.person = (wr_nexmark_person){1, WR_STR("A B"), WR_STR("a@b.com"), WR_STR("1 2"), WR_STR("Kent"), WR_STR("WA"), WR_STR("")};
    wr_nexmark_json(&e, &buf);
    assert_string_equal(buf.at, "{\"id\":1,\"name\":\"A B\",\"emailAddress\":\"a@b.com\",\"creditCard\":\"1 2\",\"city\":\"Kent\","
                                "\"state\":\"WA\",\"dateTime\":\"2000-02-29 00:00:00.000\",\"extra\":\"\"}\n");
    wr_sbuf_clear(&buf);
    e = (wr_nexmark_event){.kind = WR_NEXMARK_AUCTION, .date_time_ms = -1};
    e.auction = (wr_nexmark_auction){1, 2, 3, 0, 4, 10, WR_STR("i"), WR_STR("d"), WR_STR("x")};
    wr_nexmark_json(&e, &buf);
    assert_string_equal(buf.at, "{\"id\":1,\"itemName\":\"i\",\"description\":\"d\",\"initialBid\":2,\"reserve\":3,"
                                "\"dateTime\":\"1969-12-31 23:59:59.999\",\"expires\":\"1970-01-01 00:00:00.000\",\"seller\":4,"
                                "\"category\":10,\"extra\":\"x\"}\n");
    wr_sbuf_free(&buf);
}

static void test_out_of_order(void **state) {
    (void)state;
    wr_nexmark_config config;
    wr_nexmark       *gen;
    wr_nexmark_config_default(&config);
    config.out_of_order_group = 100;
    config.events_per_s = 1000;
    assert_int_equal(wr_nexmark_new(&config, &gen, NULL), WR_OK);
    unsigned char seen[1000] = {0};
    unsigned      back = 0;
    int64_t       before = 0;
    for (uint64_t i = 0; i < 1000; i++) { /* one event a millisecond: every millisecond once, none further than its group */
        wr_nexmark_event e;
        wr_nexmark_event_at(gen, i, &e);
        int64_t at = e.date_time_ms - config.base_time_ms;
        assert_true(at / 100 == (int64_t)i / 100);
        seen[at]++;
        back += at < before;
        before = at;
    }
    for (int i = 0; i < 1000; i++) assert_int_equal(seen[i], 1);
    assert_true(back > 100);
    wr_nexmark_free(gen);
}

static void test_bad_config(void **state) {
    (void)state;
    wr_nexmark_config config;
    wr_nexmark       *gen;
    wr_err            err;
    wr_nexmark_config_default(&config);
    config.hot_auction_ratio = 0;
    assert_int_equal(wr_nexmark_new(&config, &gen, &err), WR_USER);
    assert_non_null(strstr(err.message, "hot_auction_ratio"));
    assert_null(gen);
}

static wr_status refuse(void *arg, int stream, const char *bytes, size_t len, wr_err *err) {
    (void)stream, (void)bytes, (void)len;
    ++*(int *)arg;
    return wr_fail(err, WR_IO, "58030", "disk full");
}
static void test_emit_failure_stops(void **state) {
    (void)state;
    wr_nexmark *gen = make(1);
    wr_err      err;
    int         calls = 0;
    assert_int_equal(wr_nexmark_write(gen, 0, 50000, refuse, &calls, &err), WR_IO);
    assert_int_equal(calls, 1);
    assert_string_equal(err.message, "disk full");
    wr_nexmark_free(gen);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same_seed_same_bytes), cmocka_unit_test(test_ranges_add_up),
        cmocka_unit_test(test_model),                cmocka_unit_test(test_json),
        cmocka_unit_test(test_out_of_order),         cmocka_unit_test(test_bad_config),
        cmocka_unit_test(test_emit_failure_stops),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
