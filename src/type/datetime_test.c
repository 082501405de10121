/* type/datetime_test.c: civil dates against counting and Python, texts, patterns, durations, sizes; zones against zoneinfo. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include "type/datetime.h"
#include "base/hash.h"
#include "sys/world.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static bool is_leap(int y) { return y % 4 == 0 && (y % 100 != 0 || y % 400 == 0); }

static void every_day_of_the_range(void **state) {
    (void)state;
    static const int lengths[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    int32_t days = -719162; /* 0001-01-01, counted from there day by day */
    for (int32_t y = 1; y <= 9999; y++)
        for (int32_t m = 1; m <= 12; m++) {
            int last = lengths[m - 1] + (m == 2 && is_leap(y));
            for (int32_t d = 1; d <= last; d++, days++) {
                int32_t yy, mm, dd;
                wr_civil_from_days(days, &yy, &mm, &dd);
                if (wr_days_from_civil(y, m, d) != days || yy != y || mm != m || dd != d) fail_msg("%04d-%02d-%02d", y, m, d);
            }
            assert_true(wr_civil_valid(y, m, last) && !wr_civil_valid(y, m, last + 1));
        }
    assert_int_equal(wr_days_from_civil(1970, 1, 1), 0);
    assert_false(wr_civil_valid(0, 1, 1) || wr_civil_valid(10000, 1, 1) || wr_civil_valid(2000, 13, 1) || wr_civil_valid(2000, 0, 1));
}

static void civil_agrees_with_python(void **state) {
    (void)state;
    FILE *f = fopen("src/type/testdata/civil.txt", "r");
    assert_non_null(f);
    char line[256];
    int  n = 0;
    while (fgets(line, sizeof line, f)) {
        int32_t days, day_of_year, months;
        char    date[32], weekday[16], month[8], moved[32], text[64];
        if (*line == '#') continue;
        assert_int_equal(sscanf(line, "%d %31s %15s %d %7s %d %31s", &days, date, weekday, &day_of_year, month, &months, moved), 7);
        wr_text_date(days, text);
        assert_string_equal(text, date);
        int32_t back;
        assert_true(wr_parse_date(wr_str_of(date), &back) && back == days);
        wr_sbuf out = {0};
        int64_t us = days * WR_US_PER_DAY + 12345678;
        assert_true(wr_format_pattern(us, 0, WR_STR("yyyy-MM-dd EEEE D MMM"), NULL, &out));
        snprintf(text, sizeof text, "%s %s %d %s", date, weekday, day_of_year, month);
        assert_string_equal(out.at, text);
        wr_sbuf_free(&out);
        if (*moved != '-' || moved[1]) assert_true(wr_us_add_months(us, months) == atoll(moved) * WR_US_PER_DAY + 12345678);
        n++;
    }
    fclose(f);
    assert_int_equal(n, 400);
}

static void months_clamp(void **state) {
    (void)state;
    int64_t jan31 = wr_days_from_civil(2026, 1, 31) * WR_US_PER_DAY + 5;
    assert_true(wr_us_add_months(jan31, 1) == wr_days_from_civil(2026, 2, 28) * WR_US_PER_DAY + 5);
    assert_true(wr_us_add_months(jan31, 25) == wr_days_from_civil(2028, 2, 29) * WR_US_PER_DAY + 5);
    assert_true(wr_us_add_months(jan31, -2) == wr_days_from_civil(2025, 11, 30) * WR_US_PER_DAY + 5);
    wr_civil c = wr_civil_from_us(-1);
    assert_true(c.year == 1969 && c.month == 12 && c.day == 31 && c.hour == 23 && c.minute == 59 && c.second == 59 && c.nano == 999999000);
    assert_true(wr_us_from_civil(&c) == -1);
}

static void parses_timestamps(void **state) {
    (void)state;
    int64_t base = wr_days_from_civil(2026, 1, 2) * WR_US_PER_DAY;
    const struct { const char *text; int64_t us; int32_t sub; bool zoned; } good[] = {
        {"2026-01-02", base, 0, false},
        {"2026-01-02 03:04", base + 11040000000, 0, false},
        {"2026-01-02T03:04:05", base + 11045000000, 0, false},
        {" 2026-01-02 03:04:05.5 ", base + 11045500000, 0, false},
        {"2026-01-02 03:04:05.123456789", base + 11045123456, 789, false},
        {"2026-1-2 3:4:5", base + 11045000000, 0, false},
        {"2026-01-02T03:04:05Z", base + 11045000000, 0, true},
        {"2026-01-02T03:04:05.25+02:00", base + 11045250000 - 7200000000, 0, true},
        {"2026-01-02T03:04:05-0330", base + 11045000000 + 12600000000, 0, true},
        {"2026-01-02T03:04:05+05", base + 11045000000 - 18000000000, 0, true},
        {"0001-01-01 00:00:00", INT64_C(-62135596800000000), 0, false},
        {"9999-12-31 23:59:59.999999", INT64_C(253402300799999999), 0, false}};
    static const char *bad[] = {"", "x", "2026-13-01", "2026-02-29", "2026-01-02 24:00:00", "2026-01-02 03", "2026-01-02 03:04:60", "2026-01-02X03:04",
                                "2026-01-02 03:04:05.", "2026-01-02 03:04:05 UTC", "20260102", "2026-01-02T03:04:05+2", "0000-01-01", "12026-01-01",
                                "2026-01-02 03:04:05Zx", "2026-01-02 03:04:05+25:00", "-2026-01-02"};
    int64_t us;
    int32_t sub;
    bool    zoned;
    for (size_t i = 0; i < WR_COUNT_OF(good); i++) {
        if (!wr_parse_timestamp(wr_str_of(good[i].text), &us, &sub, &zoned)) fail_msg("%s", good[i].text);
        assert_true(us == good[i].us && sub == good[i].sub && zoned == good[i].zoned);
    }
    for (size_t i = 0; i < WR_COUNT_OF(bad); i++)
        if (wr_parse_timestamp(wr_str_of(bad[i]), &us, &sub, &zoned)) fail_msg("%s", bad[i]);
    int32_t ms, days;
    assert_true(wr_parse_time(WR_STR("12:34:56.789"), &ms) && ms == 45296789);
    assert_true(wr_parse_time(WR_STR("00:01"), &ms) && ms == 60000);
    assert_false(wr_parse_time(WR_STR("25:00"), &ms) || wr_parse_time(WR_STR("12"), &ms));
    assert_true(wr_parse_date(WR_STR("2026-01-02 03:04:05"), &days) && days == base / WR_US_PER_DAY);
    assert_false(wr_parse_date(WR_STR("2026-02-30"), &days) || wr_parse_date(WR_STR("2026-01"), &days));
}

static void prints_timestamps(void **state) {
    (void)state;
    char    text[40];
    int64_t us = wr_days_from_civil(2026, 1, 1) * WR_US_PER_DAY + 9999000;
    static const struct { int prec; const char *text; } cases[] = {
        {0, "2026-01-01 00:00:09"}, {1, "2026-01-01 00:00:09.9"}, {3, "2026-01-01 00:00:09.999"}, {6, "2026-01-01 00:00:09.999000"}};
    for (size_t i = 0; i < WR_COUNT_OF(cases); i++) {
        size_t len = wr_text_timestamp(us, wr_type_prec(WR_T_TIMESTAMP, cases[i].prec), ' ', text);
        assert_int_equal(len, strlen(text));
        assert_string_equal(text, cases[i].text);
    }
    wr_text_timestamp(us * 1000 + 7, wr_type_prec(WR_T_TIMESTAMP, 9), 'T', text);
    assert_string_equal(text, "2026-01-01T00:00:09.999000007");
    wr_text_timestamp(-1, wr_type_prec(WR_T_TIMESTAMP, 6), ' ', text);
    assert_string_equal(text, "1969-12-31 23:59:59.999999");
    wr_text_timestamp(INT64_MIN, wr_type_prec(WR_T_TIMESTAMP, 6), ' ', text); /* outside of the years, but no crash */
    wr_text_timestamp(INT64_MAX, wr_type_prec(WR_T_TIMESTAMP, 6), ' ', text);
    wr_text_time(45296789, 3, text);
    assert_string_equal(text, "12:34:56.789");
    wr_text_time(45296789, 0, text);
    assert_string_equal(text, "12:34:56");
    wr_sbuf out = {0};
    wr_text_interval(14, wr_type_of(WR_T_INTERVAL_YM), &out);
    wr_sbuf_addc(&out, ' ');
    wr_text_interval(-1, wr_type_of(WR_T_INTERVAL_YM), &out);
    wr_sbuf_addc(&out, ' ');
    wr_text_interval(WR_US_PER_DAY + 7384500000, wr_type_of(WR_T_INTERVAL_DS), &out);
    wr_sbuf_addc(&out, ' ');
    wr_text_interval(-1000000, wr_type_of(WR_T_INTERVAL_DS), &out);
    assert_string_equal(out.at, "+1-02 -0-01 +1 02:03:04.500 -0 00:00:01.000");
    wr_sbuf_free(&out);
}

static void assert_format(int64_t us, const char *pattern, const wr_tz *tz, const char *want) {
    wr_sbuf out = {0};
    bool    ok = wr_format_pattern(us, 789, wr_str_of(pattern), tz, &out);
    if (!want) {
        assert_false(ok);
    } else {
        assert_true(ok);
        assert_string_equal(out.at ? out.at : "", want);
    }
    wr_sbuf_free(&out);
}

static void prints_patterns(void **state) { /* right answers: the documentation of java.time's DateTimeFormatter */
    (void)state;
    int64_t us = wr_days_from_civil(2026, 3, 5) * WR_US_PER_DAY + ((15 * 60 + 4) * 60 + 9) * WR_US_PER_SECOND + 123456; /* a Thursday */
    assert_format(us, "yyyy-MM-dd HH:mm:ss.SSS", NULL, "2026-03-05 15:04:09.123");
    assert_format(us, "yyyyMMddHHmmssSSSSSSSSS", NULL, "20260305150409123456789");
    assert_format(us, "yy/M/d h:m:s a", NULL, "26/3/5 3:4:9 PM");
    assert_format(us, "EEE, dd MMM yyyy", NULL, "Thu, 05 Mar 2026");
    assert_format(us, "EEEE MMMM MMMMM EEEEE", NULL, "Thursday March M T");
    assert_format(us, "D DDD Q QQQ e k K", NULL, "64 064 1 Q1 5 15 3");
    assert_format(us, "'at' HH 'o''clock' ''", NULL, "at 15 o'clock '");
    assert_format(us, "'a'''", NULL, "a'");
    assert_format(us, "uuuu[-MM]", NULL, "2026-03");
    assert_format(us, "Y w", NULL, "2026 10");
    assert_format(wr_days_from_civil(2026, 12, 30) * WR_US_PER_DAY, "Y w", NULL, "2027 1");
    assert_format(us, "XXX x Z", NULL, "Z +00 +0000");
    assert_format(us, "yyyy-'x", NULL, NULL);
    assert_format(us, "yyyy-bb", NULL, NULL);
    assert_format(us, "{", NULL, NULL);
    wr_err       err;
    const wr_tz *zurich;
    assert_int_equal(wr_tz_load(wr_world_posix(), WR_STR("Europe/Zurich"), &zurich, &err), WR_OK);
    assert_format(us, "HH:mm XXX x VV O", zurich, "16:04 +01:00 +01 Europe/Zurich GMT+1");
}

static void parses_patterns(void **state) {
    (void)state;
    int64_t day = wr_days_from_civil(2026, 3, 5) * WR_US_PER_DAY, at = day + ((15 * 60 + 4) * 60 + 9) * WR_US_PER_SECOND;
    const struct { const char *text, *pattern; int64_t us; } good[] = {
        {"2026-03-05 15:04:09", "yyyy-MM-dd HH:mm:ss", at},
        {"20260305150409", "yyyyMMddHHmmss", at},
        {"20260305150409123", "yyyyMMddHHmmssSSS", at + 123000},
        {"5/3/2026", "d/M/yyyy", day},
        {"05-Mar-26 03:04:09 PM", "dd-MMM-yy hh:mm:ss a", at},
        {"12:00 AM 2026-03-05", "hh:mm a yyyy-MM-dd", day},
        {"2026-03-05T15:04:09+02:00", "yyyy-MM-dd'T'HH:mm:ssXXX", at - 7200 * WR_US_PER_SECOND},
        {"Thursday, March 5 2026", "EEEE, MMMM d yyyy", day},
        {"2026-03-05", "yyyy-MM-dd[ HH:mm]", day},
        {"2026-03-05 00:01", "yyyy-MM-dd[ HH:mm]", day + 60 * WR_US_PER_SECOND},
        {"2026-02-31", "yyyy-MM-dd", wr_days_from_civil(2026, 2, 28) * WR_US_PER_DAY}, /* SMART */
        {"2026 064", "yyyy DDD", day},
        {"it's 2026", "'it''s' yyyy", wr_days_from_civil(2026, 1, 1) * WR_US_PER_DAY}};
    const struct { const char *text, *pattern; } bad[] = {{"bad", "yyyy-MM-dd"}, {"2026-13-05", "yyyy-MM-dd"}, {"2026-3-5", "yyyy-MM-dd"},
        {"2026-03-05x", "yyyy-MM-dd"}, {"2026-03", "yyyy-MM-dd"}, {"2026-03-32", "yyyy-MM-dd"}, {"25:00", "HH:mm"}, {"2026", "'yyyy"}, {"13 PM", "hh a"},
        {"", "yyyy"}, {"2026 366", "yyyy DDD"}, {"2026", "yyyy["}};
    int64_t us;
    for (size_t i = 0; i < WR_COUNT_OF(good); i++) {
        if (!wr_parse_pattern(wr_str_of(good[i].text), wr_str_of(good[i].pattern), &us)) fail_msg("%s", good[i].text);
        if (us != good[i].us) fail_msg("%s by %s: %" PRId64, good[i].text, good[i].pattern, us);
    }
    for (size_t i = 0; i < WR_COUNT_OF(bad); i++)
        if (wr_parse_pattern(wr_str_of(bad[i].text), wr_str_of(bad[i].pattern), &us)) fail_msg("%s by %s", bad[i].text, bad[i].pattern);
}

static void durations_and_sizes(void **state) {
    (void)state;
    static const struct { const char *text; int64_t us; } good[] = {
        {"5 s", 5000000}, {"100 ms", 100000}, {"1 min", 60000000}, {"2 h", 7200000000}, {"1 d", 86400000000}, {"1 day 2 hours", 93600000000}, {"10", 10000},
        {"10s", 10000000}, {"1.5 s", 1500000}, {"0", 0}, {"7 DAYS", 604800000000}, {"250 us", 250}, {"1h30m", 5400000000}};
    static const char *bad[] = {"", "s", "5 parsecs", "-1 s", "1 s 5", "5 5", "99999999999 d", "1..5 s", "."};
    int64_t x;
    for (size_t i = 0; i < WR_COUNT_OF(good); i++) {
        assert_true(wr_parse_duration(wr_str_of(good[i].text), &x));
        assert_true(x == good[i].us);
    }
    for (size_t i = 0; i < WR_COUNT_OF(bad); i++)
        if (wr_parse_duration(wr_str_of(bad[i]), &x)) fail_msg("%s", bad[i]);
    static const struct { const char *text; int64_t bytes; } sizes[] = {
        {"512MiB", INT64_C(512) << 20}, {"64 mb", INT64_C(64) << 20}, {"1g", INT64_C(1) << 30}, {"10", 10}, {"3 kb", 3072}, {"1.5 GiB", INT64_C(3) << 29}, {"2 bytes", 2}};
    for (size_t i = 0; i < WR_COUNT_OF(sizes); i++) {
        assert_true(wr_parse_size(wr_str_of(sizes[i].text), &x));
        assert_true(x == sizes[i].bytes);
    }
    assert_false(wr_parse_size(WR_STR("1 furlong"), &x) || wr_parse_size(WR_STR(""), &x) || wr_parse_size(WR_STR("-5"), &x) || wr_parse_size(WR_STR("1 k 2"), &x));
    static const struct { int64_t us; const char *text; } durations[] = {
        {0, "0 s"}, {12, "12 us"}, {250000, "250 ms"}, {1500000, "1.5 s"}, {60000000, "1 min"}, {200000000, "3 min 20 s"}, {532800000000, "6 d 4 h"}, {-1500, "-1.5 ms"}};
    static const struct { int64_t bytes; const char *text; } size_texts[] = {
        {0, "0 B"}, {1023, "1023 B"}, {1024, "1.0 KiB"}, {194195456, "185.2 MiB"}, {INT64_C(1) << 40, "1.0 TiB"}, {1048575, "1.0 MiB"}};
    wr_sbuf out = {0};
    for (size_t i = 0; i < WR_COUNT_OF(durations); i++) {
        wr_sbuf_clear(&out);
        wr_text_duration(durations[i].us, &out);
        assert_string_equal(out.at, durations[i].text);
    }
    for (size_t i = 0; i < WR_COUNT_OF(size_texts); i++) {
        wr_sbuf_clear(&out);
        wr_text_size(size_texts[i].bytes, &out);
        assert_string_equal(out.at, size_texts[i].text);
    }
    wr_sbuf_free(&out);
}

static void zones_agree_with_zoneinfo(void **state) {
    (void)state;
    FILE *f = fopen("src/type/testdata/tz.txt", "r");
    assert_non_null(f);
    char line[256], zone[64];
    int  n = 0;
    while (fgets(line, sizeof line, f)) {
        char         way;
        int64_t      in, want;
        const wr_tz *tz;
        wr_err       err;
        if (*line == '#') continue;
        assert_int_equal(sscanf(line, "%c %63s %" SCNd64 " %" SCNd64, &way, zone, &in, &want), 4);
        assert_int_equal(wr_tz_load(wr_world_posix(), wr_str_of(zone), &tz, &err), WR_OK);
        int64_t got = way == 'u' ? wr_tz_to_local(tz, in) : wr_tz_to_utc(tz, in);
        if (got != want) fail_msg("got %" PRId64 " for %s", got, line);
        n++;
    }
    fclose(f);
    assert_true(n > 3000);
}

static void fixed_and_unknown_zones(void **state) {
    (void)state;
    static const struct { const char *name; int64_t seconds; } fixed[] = {
        {"UTC", 0}, {"GMT", 0}, {"Z", 0}, {"GMT+02:00", 7200}, {"+02:00", 7200}, {"-0530", -19800}, {"UTC-3", -10800}, {"UTC+14:00", 50400}, {"GMT-08:00", -28800}};
    static const char *unknown[] = {"Europe/Zurch", "", "../etc/passwd", "/etc/localtime", "Europe", "GMT+25:00", "+2:0", "Mars/Base", "zone1970.tab", "GMT+123"};
    const wr_tz *tz, *again;
    wr_err       err;
    for (size_t i = 0; i < WR_COUNT_OF(fixed); i++) {
        assert_int_equal(wr_tz_load(wr_world_posix(), wr_str_of(fixed[i].name), &tz, &err), WR_OK);
        assert_true(wr_tz_to_local(tz, 1000) == 1000 + fixed[i].seconds * WR_US_PER_SECOND);
        assert_true(wr_tz_to_utc(tz, wr_tz_to_local(tz, 1000)) == 1000);
        assert_true(wr_str_eq(wr_tz_name(tz), wr_str_of(fixed[i].name)));
        assert_int_equal(wr_tz_load(wr_world_posix(), wr_str_of(fixed[i].name), &again, &err), WR_OK);
        assert_ptr_equal(tz, again);
    }
    for (size_t i = 0; i < WR_COUNT_OF(unknown); i++) {
        if (wr_tz_load(wr_world_posix(), wr_str_of(unknown[i]), &tz, &err) != WR_USER) fail_msg("%s", unknown[i]);
        assert_null(tz);
    }
    wr_tz_load(wr_world_posix(), WR_STR("Europe/Zurch"), &tz, &err);
    assert_string_equal(err.hint, "did you mean 'Europe/Zurich'?");
    assert_true(wr_tz_to_local(NULL, 5) == 5 && wr_tz_to_utc(NULL, 5) == 5);
    assert_int_equal(wr_tz_load(wr_world_posix(), WR_STR("Europe/Zurich"), &tz, &err), WR_OK);
    assert_true(wr_tz_to_local(tz, INT64_MAX) > 0 && wr_tz_to_local(tz, INT64_MIN) < 0);
}

/* ---- a world whose only file is a damaged zone ---- */

static wr_sbuf zone_bytes;

static wr_status fake_stat(wr_world *world, const char *path, wr_file_info *out, bool *exists, wr_err *err) {
    (void)world, (void)path, (void)err;
    memset(out, 0, sizeof *out);
    *exists = true;
    return WR_OK;
}
static wr_status fake_open(wr_world *world, const char *path, int flags, wr_file **out, wr_err *err) {
    (void)world, (void)path, (void)flags, (void)err;
    *out = (wr_file *)&zone_bytes;
    return WR_OK;
}
static void fake_close(wr_world *world, wr_file *f) { (void)world, (void)f; }
static wr_status fake_pread(wr_world *world, wr_file *f, void *buf, size_t len, uint64_t offset, size_t *got, wr_err *err) {
    (void)world, (void)f, (void)err;
    *got = offset >= zone_bytes.len ? 0 : WR_MIN(len, zone_bytes.len - offset);
    memcpy(buf, zone_bytes.at + offset, *got);
    return WR_OK;
}

static void damaged_zone_files(void **state) {
    (void)state;
    static const wr_world_vt vt = {.stat = fake_stat, .file_open = fake_open, .file_close = fake_close, .file_pread = fake_pread};
    wr_world     world = {&vt};
    wr_sbuf      good = {0};
    wr_err       err;
    wr_rng       rng;
    const wr_tz *tz;
    int          refused = 0;
    wr_rng_seed(&rng, 4);
    assert_int_equal(wr_file_read_all(wr_world_posix(), "/usr/share/zoneinfo/America/New_York", 1 << 20, &good, &err), WR_OK);
    for (int i = 0; i < 600; i++) {
        char name[32];
        snprintf(name, sizeof name, "Damaged/%d", i);
        wr_sbuf_clear(&zone_bytes);
        wr_sbuf_add(&zone_bytes, good.at, i % 3 == 0 ? wr_rng_below(&rng, good.len) : good.len);
        for (int j = 0; i % 3 != 0 && zone_bytes.len && j < 1 + i % 5; j++) { /* headers and footer are the places that matter */
            size_t at = wr_rng_below(&rng, 3) ? wr_rng_below(&rng, good.len) : wr_rng_below(&rng, 2) ? wr_rng_below(&rng, 44) : good.len - 1 - wr_rng_below(&rng, 20);
            zone_bytes.at[at] ^= (char)(1u << wr_rng_below(&rng, 8));
        }
        if (wr_tz_load(&world, wr_str_of(name), &tz, &err) == WR_OK) {
            for (int64_t us = -4000000000000000; us < 40000000000000000; us += 700000000000000) assert_true(wr_tz_to_local(tz, us) - us < 2 * WR_US_PER_DAY);
        } else {
            refused++;
            assert_int_equal(err.status, WR_USER);
        }
    }
    assert_true(refused > 100);
    wr_sbuf_free(&good);
    wr_sbuf_free(&zone_bytes);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_day_of_the_range), cmocka_unit_test(civil_agrees_with_python), cmocka_unit_test(months_clamp),
        cmocka_unit_test(parses_timestamps),      cmocka_unit_test(prints_timestamps),        cmocka_unit_test(prints_patterns),
        cmocka_unit_test(parses_patterns),        cmocka_unit_test(durations_and_sizes),      cmocka_unit_test(zones_agree_with_zoneinfo),
        cmocka_unit_test(fixed_and_unknown_zones), cmocka_unit_test(damaged_zone_files)};
    return cmocka_run_group_tests_name("type.datetime", tests, NULL, NULL);
}
