/* connect/ridelo/ridelo_test.c: same seed same bytes, stated rates and shares, segments, counts recounted from the rows alone.
 *
 * Idea       expected figures are the configuration's own (shares, rates, the tenfold peak), within sampling error; whether the answers
 *            of the job are certain is checked by examples/ridelo/truth.py, which looks at every late row.                  */
#include "connect/ridelo/ridelo.h"
#include "base/hash.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

enum { HOUR_MS = 3600000, FILES_MAX = 64 };
#define GOLDEN 0x4ba225206717b8eeull /* of all files of the first test, mixed in order */

typedef struct sinks {
    wr_sbuf file[FILES_MAX];
    int     calls_until_refusal; /* 0: never refuses */
} sinks;

static wr_status collect(void *arg, int file, const char *bytes, size_t len, wr_err *err) {
    sinks *s = arg;
    if (s->calls_until_refusal && --s->calls_until_refusal == 0) return wr_fail(err, WR_IO, "58030", "disk full");
    assert_in_range(file, 0, FILES_MAX - 1);
    wr_sbuf_add(&s->file[file], bytes, len);
    return WR_OK;
}
static void sinks_free(sinks *s) {
    for (int i = 0; i < FILES_MAX; i++) wr_sbuf_free(&s->file[i]);
}
static wr_ridelo_config small(uint64_t seed) {
    wr_ridelo_config config;
    wr_ridelo_config_default(&config);
    config.seed = seed;
    config.orders_per_day = 20000;
    config.n_restaurants = 300;
    config.n_users = 3000;
    return config;
}
static wr_ridelo *make(const wr_ridelo_config *config) {
    wr_err     err;
    wr_ridelo *gen;
    assert_int_equal(wr_ridelo_new(config, &gen, &err), WR_OK);
    return gen;
}
static uint64_t hash_all(const wr_ridelo_config *config) {
    wr_ridelo *gen = make(config);
    sinks      s = {0};
    uint64_t   hash = 0;
    assert_int_equal(wr_ridelo_write(gen, collect, &s, NULL), WR_OK);
    for (int i = 0; i < wr_ridelo_n_files(gen); i++) hash = wr_hash_mix(hash, wr_hash_bytes(s.file[i].at, s.file[i].len));
    sinks_free(&s);
    wr_ridelo_free(gen);
    return hash;
}

static void test_same_seed_same_bytes(void **state) {
    (void)state;
    wr_ridelo_config config = small(7);
    config.duration_ms = 2 * HOUR_MS;
    config.start_ms += 11 * HOUR_MS;
    uint64_t first = hash_all(&config);
    if (first != GOLDEN) print_message("golden: 0x%llx\n", (unsigned long long)first);
    assert_true(first == GOLDEN);
    assert_true(hash_all(&config) == first);
    config.seed = 8;
    assert_true(hash_all(&config) != first);
}

static void near(double value, double want, double tolerance) {
    if (value < want - tolerance || value > want + tolerance) print_message("%g, want %g +- %g\n", value, want, tolerance);
    assert_true(value >= want - tolerance && value <= want + tolerance);
}

/* Counts again, from nothing but the rows as they come, what wr_ridelo_counts_of states. */
static void recount(const wr_ridelo *gen, wr_ridelo_stream stream) {
    wr_ridelo_counts stated = wr_ridelo_counts_of(gen, stream), n = {0};
    int64_t          newest = INT64_MIN, arrival = INT64_MIN;
    bool            *seen = wr_calloc(stated.lines + 1, sizeof *seen); /* by id; ids count up from 1 */
    for (uint64_t i = 0; i < stated.lines; i++) {
        wr_ridelo_event e;
        wr_ridelo_event_at(gen, stream, i, &e);
        assert_true(e.arrival_ms >= arrival);
        arrival = e.arrival_ms;
        n.lines++;
        if (e.damage) {
            n.malformed++;
            continue;
        }
        if (newest != INT64_MIN && e.ts_ms > newest + WR_RIDELO_FUTURE_GUARD_MS) {
            n.future++;
            continue;
        }
        n.accepted++;
        assert_true(e.ts_ms <= e.arrival_ms);
        int64_t id = e.order.order_id; /* every kind of row begins with its id */
        assert_in_range(id, 1, stated.lines);
        n.duplicates += seen[id];
        seen[id] = true;
        if (newest != INT64_MIN && e.ts_ms <= newest - wr_ridelo_watermark_delay_ms(stream)) n.late++;
        else if (e.ts_ms < newest) n.out_of_order++;
        if (e.ts_ms > newest) newest = e.ts_ms;
    }
    assert_memory_equal(&n, &stated, sizeof n);
    wr_free(seen);
}

static void test_rates(void **state) {
    (void)state;
    wr_ridelo_config config = small(1);
    config.orders_per_day = 100000;
    config.malformed_ppm = 5000;
    config.future_ppm = 2000;
    wr_ridelo *gen = make(&config);
    for (int s = 0; s < WR_RIDELO_STREAMS; s++) recount(gen, (wr_ridelo_stream)s);
    static const wr_ridelo_stream dense[] = {WR_RIDELO_ORDERS, WR_RIDELO_PAYMENTS, WR_RIDELO_PINGS};
    for (size_t i = 0; i < WR_COUNT_OF(dense); i++) {
        wr_ridelo_counts n = wr_ridelo_counts_of(gen, dense[i]);
        double           all = (double)n.accepted;
        near((double)n.malformed / all, 0.005, 0.001);
        near((double)n.future / all, 0.002, 0.0006);
        near((double)n.duplicates / all, 0.005, 0.001);
        near((double)n.late / all, 0.008, 0.004);          /* late ones and late copies */
        near((double)n.out_of_order / all, 0.05, 0.006);
    }
    wr_ridelo_free(gen);
}

static void test_story(void **state) {
    (void)state;
    wr_ridelo_config config = small(1);
    config.orders_per_day = 200000;
    wr_ridelo       *gen = make(&config);
    wr_ridelo_counts n = wr_ridelo_counts_of(gen, WR_RIDELO_ORDERS);
    uint64_t         hot = 0, lunch = 0, plain = 0, total = 0;
    for (uint64_t i = 0; i < n.lines; i++) {
        wr_ridelo_event e;
        wr_ridelo_event_at(gen, WR_RIDELO_ORDERS, i, &e);
        double hour = (double)(e.ts_ms - config.start_ms) / HOUR_MS;
        hot += e.order.restaurant_id == 1;
        lunch += hour >= 12 && hour < 13.5;
        plain += hour >= 7 && hour < 11.5;
    }
    near((double)hot / (double)n.lines, 0.30, 0.01);
    near(((double)lunch / 1.5) / ((double)plain / 4.5), 10, 0.4);
    near((double)n.accepted, 201500, 1500);
    for (int s = 0; s < WR_RIDELO_STREAMS; s++) total += wr_ridelo_counts_of(gen, (wr_ridelo_stream)s).lines;
    assert_true(total > 1000000); /* so 24 h at the default 400,000 orders are more than 2 M */
    wr_ridelo_free(gen);
}

static void test_clean_log_is_in_order(void **state) {
    (void)state;
    wr_ridelo_config config = small(2);
    config.out_of_order_ppm = config.late_ppm = config.duplicate_ppm = config.malformed_ppm = config.future_ppm = 0;
    wr_ridelo *gen = make(&config);
    for (int s = 0; s < WR_RIDELO_STREAMS; s++) {
        wr_ridelo_counts n = wr_ridelo_counts_of(gen, (wr_ridelo_stream)s);
        assert_true(n.lines > 0);
        assert_memory_equal(&n, (&(wr_ridelo_counts){.lines = n.lines, .accepted = n.lines}), sizeof n);
    }
    wr_ridelo_free(gen);
}

static void test_segments_are_one_log(void **state) {
    (void)state;
    wr_ridelo_config config = small(3);
    config.duration_ms = 6 * HOUR_MS;
    wr_ridelo *one = make(&config);
    config.n_segments = 3;
    wr_ridelo *three = make(&config);
    sinks      a = {0}, b = {0};
    wr_sbuf    name = {0};
    assert_int_equal(wr_ridelo_write(one, collect, &a, NULL), WR_OK);
    assert_int_equal(wr_ridelo_write(three, collect, &b, NULL), WR_OK);
    assert_int_equal(wr_ridelo_n_files(one), 7);
    assert_int_equal(wr_ridelo_n_files(three), 19);
    for (int s = 0; s < WR_RIDELO_STREAMS; s++) {
        for (int k = 1; k < 3; k++) wr_sbuf_add_str(&b.file[s * 3], wr_sbuf_str(&b.file[s * 3 + k]));
        assert_true(wr_str_eq(wr_sbuf_str(&a.file[s]), wr_sbuf_str(&b.file[s * 3])));
    }
    wr_ridelo_file(one, 4, &name);
    assert_string_equal(name.at, "courier_pings.jsonl");
    wr_ridelo_file(three, 2, &name);
    assert_string_equal(name.at, "orders/orders-00002.jsonl");
    wr_ridelo_file(three, 18, &name);
    assert_string_equal(name.at, "truth.json");
    wr_sbuf_free(&name);
    sinks_free(&a);
    sinks_free(&b);
    wr_ridelo_free(one);
    wr_ridelo_free(three);
}

static void test_json(void **state) {
    (void)state;
    static const char *const want[] = {
        "{\"order_id\":1,\"user_id\":2,\"restaurant_id\":3,\"courier_id\":4,\"amount\":12.05,\"ts\":\"2026-06-01 12:34:56.007\"}\n",
        "{\"order_id\":1,\"user_id\":2,\"restaurant_id\":3,\"courier_id\":4,\"amount\":12.05,\"t\n",
        "{\"order_id\":\"x1\",\"user_id\":2,\"restaurant_id\":3,\"courier_id\":4,\"amount\":12.05,\"ts\":\"2026-06-01 12:34:56.007\"}\n",
        "{\"order_id\":1,\"user_id\":2,\"restaurant_id\":3,\"courier_id\":4,\"amount\":12.05,\"ts\":\"2026-13-45 99:00:00.000\"}\n",
        "<!doctype html><title>502</title>\n",
    };
    wr_ridelo_event e = {.stream = WR_RIDELO_ORDERS, .ts_ms = 1780317296007, .order = {1, 2, 3, 4, 1205}};
    wr_sbuf         buf = {0};
    for (int damage = 0; damage < 5; damage++) {
        wr_sbuf_clear(&buf);
        e.damage = (wr_ridelo_damage)damage;
        wr_ridelo_json(&e, &buf);
        if (damage == WR_RIDELO_TORN) { /* cut somewhere before the end: a prefix of the whole */
            assert_true(buf.len < strlen(want[0]) - 2 && !memcmp(buf.at, want[0], buf.len - 1) && buf.at[buf.len - 1] == '\n');
            continue;
        }
        assert_string_equal(buf.at, want[damage]);
    }
    wr_sbuf_clear(&buf);
    e = (wr_ridelo_event){.stream = WR_RIDELO_PINGS, .ts_ms = 0, .ping = {9, 8, 7, 52000001, -13}};
    wr_ridelo_json(&e, &buf);
    assert_string_equal(buf.at, "{\"ping_id\":9,\"courier_id\":8,\"order_id\":7,\"lat\":52.000001,\"lon\":-0.000013,"
                                "\"ts\":\"1970-01-01 00:00:00.000\"}\n");
    wr_sbuf_free(&buf);
}

static void test_tiny_spans(void **state) {
    (void)state;
    static const struct { uint32_t per_day; int64_t minutes; } spans[] = {{1, 1}, {1, 1440}, {500, 7}, {100, 4320}};
    for (size_t i = 0; i < WR_COUNT_OF(spans); i++) {
        wr_ridelo_config config = small(i);
        config.orders_per_day = spans[i].per_day;
        config.duration_ms = spans[i].minutes * 60000;
        config.n_restaurants = 20;
        config.late_ppm = config.duplicate_ppm = config.out_of_order_ppm = 300000;
        wr_ridelo *gen = make(&config);
        sinks      s = {0};
        for (int k = 0; k < WR_RIDELO_STREAMS; k++) recount(gen, (wr_ridelo_stream)k);
        assert_int_equal(wr_ridelo_write(gen, collect, &s, NULL), WR_OK);
        assert_true(wr_ridelo_counts_of(gen, WR_RIDELO_CHANGES).lines >= 20);
        sinks_free(&s);
        wr_ridelo_free(gen);
    }
}

static void test_errors(void **state) {
    (void)state;
    wr_ridelo_config config = small(1);
    wr_ridelo       *gen;
    wr_err           err;
    config.n_restaurants = 3;
    assert_int_equal(wr_ridelo_new(&config, &gen, &err), WR_USER);
    assert_non_null(strstr(err.message, "n_restaurants"));
    assert_null(gen);
    config = small(1);
    config.duration_ms = HOUR_MS;
    gen = make(&config);
    for (int at = 1; at <= 8; at++) { /* refuse the at-th call; there are seven */
        sinks s = {.calls_until_refusal = at};
        assert_int_equal(wr_ridelo_write(gen, collect, &s, &err), at <= 7 ? WR_IO : WR_OK);
        sinks_free(&s);
    }
    wr_ridelo_free(gen);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same_seed_same_bytes), cmocka_unit_test(test_rates),
        cmocka_unit_test(test_story),                cmocka_unit_test(test_clean_log_is_in_order),
        cmocka_unit_test(test_segments_are_one_log), cmocka_unit_test(test_json),
        cmocka_unit_test(test_tiny_spans),           cmocka_unit_test(test_errors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
