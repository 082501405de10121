/* type/datetime.c: civil time, the plain SQL forms of dates, times, timestamps and intervals (see datetime.h).
 *
 * Idea       a cursor over the text; digits are read and written by hand, since JSON and CSV bring one timestamp a row.
 * Not here   patterns (pattern.c), durations and sizes (units.c), zones (tz.c).                                         */
#include "type/datetime.h"
#include <stdio.h>

int32_t wr_days_from_civil(int32_t year, int32_t month, int32_t day) {
    int32_t  y = year - (month <= 2), era = (y >= 0 ? y : y - 399) / 400;
    uint32_t yoe = (uint32_t)(y - era * 400), doy = (153 * (uint32_t)(month + (month > 2 ? -3 : 9)) + 2) / 5 + (uint32_t)day - 1;
    uint32_t doe = yoe * 365 + yoe / 4 - yoe / 100 + doy;
    return era * 146097 + (int32_t)doe - 719468;
}

void wr_civil_from_days(int32_t days, int32_t *year, int32_t *month, int32_t *day) {
    int64_t  z = (int64_t)days + 719468, era = (z >= 0 ? z : z - 146096) / 146097;
    uint32_t doe = (uint32_t)(z - era * 146097), yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365;
    uint32_t doy = doe - (365 * yoe + yoe / 4 - yoe / 100), mp = (5 * doy + 2) / 153;
    *day = (int32_t)(doy - (153 * mp + 2) / 5 + 1);
    *month = (int32_t)(mp < 10 ? mp + 3 : mp - 9);
    *year = (int32_t)(yoe + era * 400) + (*month <= 2);
}

static int32_t days_in_month(int32_t year, int32_t month) {
    static const uint8_t days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    return days[month - 1] + (month == 2 && leap);
}

bool wr_civil_valid(int32_t year, int32_t month, int32_t day) {
    return year >= 1 && year <= 9999 && month >= 1 && month <= 12 && day >= 1 && day <= days_in_month(year, month);
}

wr_civil wr_civil_from_us(int64_t us) {
    int64_t  days = wr_floor_div(us, WR_US_PER_DAY), rest = wr_floor_mod(us, WR_US_PER_DAY);
    wr_civil c;
    wr_civil_from_days((int32_t)days, &c.year, &c.month, &c.day);
    int32_t second = (int32_t)(rest / WR_US_PER_SECOND);
    c.nano = (int32_t)(rest % WR_US_PER_SECOND) * 1000;
    c.hour = second / 3600;
    c.minute = second / 60 % 60;
    c.second = second % 60;
    return c;
}

int64_t wr_us_from_civil(const wr_civil *c) {
    return wr_days_from_civil(c->year, c->month, c->day) * WR_US_PER_DAY +
           (c->hour * 3600 + c->minute * 60 + c->second) * WR_US_PER_SECOND + c->nano / 1000;
}

int64_t wr_us_add_months(int64_t us, int32_t months) {
    int64_t days = wr_floor_div(us, WR_US_PER_DAY), rest = wr_floor_mod(us, WR_US_PER_DAY);
    int32_t year, month, day;
    wr_civil_from_days((int32_t)days, &year, &month, &day);
    int64_t count = (int64_t)year * 12 + month - 1 + months;
    year = (int32_t)wr_floor_div(count, 12);
    month = (int32_t)wr_floor_mod(count, 12) + 1;
    day = WR_MIN(day, days_in_month(year, month));
    return wr_days_from_civil(year, month, day) * WR_US_PER_DAY + rest;
}

/* ---- reading ---- */

typedef struct cursor { const char *at, *end; } cursor;

static bool eat(cursor *c, char what) {
    if (c->at == c->end || *c->at != what) return false;
    c->at++;
    return true;
}

static bool eat_number(cursor *c, int least, int most, int32_t *out) { /* most <= 9 digits */
    int32_t x = 0;
    int     n = 0;
    while (n < most && c->at < c->end && *c->at >= '0' && *c->at <= '9') x = x * 10 + (*c->at++ - '0'), n++;
    *out = x;
    return n >= least;
}

static bool eat_date(cursor *c, int32_t *days) {
    int32_t year, month, day;
    if (!eat_number(c, 4, 4, &year) || !eat(c, '-') || !eat_number(c, 1, 2, &month) || !eat(c, '-') || !eat_number(c, 1, 2, &day))
        return false;
    if (!wr_civil_valid(year, month, day)) return false;
    *days = wr_days_from_civil(year, month, day);
    return true;
}

/* HH:mm[:ss[.fffffffff]]: nanoseconds of the day; more than nine digits are cut */
static bool eat_time(cursor *c, int64_t *nanos) {
    static const int32_t scale[] = {1, 100000000, 10000000, 1000000, 100000, 10000, 1000, 100, 10, 1};
    int32_t hour, minute, second = 0, fraction = 0;
    if (!eat_number(c, 1, 2, &hour) || !eat(c, ':') || !eat_number(c, 1, 2, &minute)) return false;
    if (eat(c, ':')) {
        if (!eat_number(c, 1, 2, &second)) return false;
        if (eat(c, '.')) {
            const char *start = c->at;
            if (!eat_number(c, 1, 9, &fraction)) return false;
            fraction *= scale[c->at - start];
            while (c->at < c->end && *c->at >= '0' && *c->at <= '9') c->at++;
        }
    }
    if (hour > 23 || minute > 59 || second > 59) return false;
    *nanos = (hour * 3600 + minute * 60 + second) * INT64_C(1000000000) + fraction;
    return true;
}

/* Z, +hh, +hhmm, +hh:mm: seconds east */
static bool eat_offset(cursor *c, int32_t *seconds) {
    *seconds = 0;
    if (eat(c, 'Z') || eat(c, 'z')) return true;
    bool west = c->at < c->end && *c->at == '-';
    if (!eat(c, '-') && !eat(c, '+')) return false;
    int32_t hour, minute = 0;
    if (!eat_number(c, 2, 2, &hour)) return false;
    if (eat(c, ':')) {
        if (!eat_number(c, 2, 2, &minute)) return false;
    } else if (c->at < c->end && !eat_number(c, 2, 2, &minute)) {
        return false;
    }
    if (hour > 18 || minute > 59) return false;
    *seconds = (hour * 3600 + minute * 60) * (west ? -1 : 1);
    return true;
}

bool wr_parse_timestamp(wr_str text, int64_t *us, int32_t *sub_us_nanos, bool *zoned) {
    text = wr_str_trim(text);
    cursor  c = {text.ptr, text.ptr + text.len};
    int32_t days, east = 0;
    int64_t nanos = 0;
    *zoned = false;
    if (!eat_date(&c, &days)) return false;
    if (c.at < c.end) {
        if (!eat(&c, ' ') && !eat(&c, 'T') && !eat(&c, 't')) return false;
        if (!eat_time(&c, &nanos)) return false;
        if (c.at < c.end) {
            if (!eat_offset(&c, &east) || c.at != c.end) return false;
            *zoned = true;
        }
    }
    *us = days * WR_US_PER_DAY + nanos / 1000 - east * WR_US_PER_SECOND;
    *sub_us_nanos = (int32_t)(nanos % 1000);
    return true;
}

bool wr_parse_date(wr_str text, int32_t *days) {
    text = wr_str_trim(text);
    cursor  c = {text.ptr, text.ptr + text.len};
    int64_t nanos;
    if (!eat_date(&c, days)) return false;
    if (c.at == c.end) return true; /* a timestamp's text is a date too */
    return (eat(&c, ' ') || eat(&c, 'T')) && eat_time(&c, &nanos) && c.at == c.end;
}

bool wr_parse_time(wr_str text, int32_t *ms) {
    text = wr_str_trim(text);
    cursor  c = {text.ptr, text.ptr + text.len};
    int64_t nanos;
    if (!eat_time(&c, &nanos) || c.at != c.end) return false;
    *ms = (int32_t)(nanos / 1000000);
    return true;
}

/* ---- writing ---- */

static char *put2(char *p, int32_t x) { return *p++ = (char)('0' + x / 10), *p++ = (char)('0' + x % 10), p; }

static char *put_date(char *p, int32_t year, int32_t month, int32_t day) {
    if (year >= 0 && year <= 9999) p = put2(put2(p, year / 100), year % 100);
    else p += snprintf(p, 12, "%d", year);
    *p++ = '-';
    p = put2(p, month);
    *p++ = '-';
    return put2(p, day);
}

static char *put_clock(char *p, int32_t second_of_day) {
    p = put2(p, second_of_day / 3600);
    *p++ = ':';
    p = put2(p, second_of_day / 60 % 60);
    *p++ = ':';
    return put2(p, second_of_day % 60);
}

static char *put_fraction(char *p, int32_t nano, int digits) {
    if (digits <= 0) return p;
    *p++ = '.';
    for (int32_t unit = 100000000; digits-- > 0; unit /= 10) *p++ = (char)('0' + nano / unit % 10);
    return p;
}

size_t wr_text_timestamp(int64_t ticks, wr_type type, char sep, char out[40]) {
    int64_t per_second = wr_type_ticks_per_second(type), seconds = wr_floor_div(ticks, per_second);
    int32_t nano = (int32_t)(wr_floor_mod(ticks, per_second) * (INT64_C(1000000000) / per_second));
    int64_t days = wr_floor_div(seconds, 86400);
    int32_t year, month, day;
    wr_civil_from_days((int32_t)days, &year, &month, &day);
    char *p = put_date(out, year, month, day);
    *p++ = sep;
    p = put_clock(p, (int32_t)wr_floor_mod(seconds, 86400));
    p = put_fraction(p, nano, WR_MIN(type.prec, 9));
    *p = 0;
    return (size_t)(p - out);
}

size_t wr_text_date(int32_t days, char out[16]) {
    int32_t year, month, day;
    wr_civil_from_days(days, &year, &month, &day);
    char *p = put_date(out, year, month, day);
    *p = 0;
    return (size_t)(p - out);
}

size_t wr_text_time(int32_t ms, int prec, char out[16]) {
    ms = (int32_t)wr_floor_mod(ms, 86400000);
    char *p = put_clock(out, ms / 1000);
    p = put_fraction(p, ms % 1000 * 1000000, WR_MIN(prec, 3));
    *p = 0;
    return (size_t)(p - out);
}

void wr_text_interval(int64_t value, wr_type type, wr_sbuf *out) {
    uint64_t x = value < 0 ? -(uint64_t)value : (uint64_t)value;
    char     sign = value < 0 ? '-' : '+';
    if (type.id == WR_T_INTERVAL_YM) {
        wr_sbuf_printf(out, "%c%llu-%02llu", sign, (unsigned long long)(x / 12), (unsigned long long)(x % 12));
        return;
    }
    uint64_t second = x / 1000000, fraction = x % 1000000;
    wr_sbuf_printf(out, "%c%llu %02llu:%02llu:%02llu", sign, (unsigned long long)(second / 86400), (unsigned long long)(second / 3600 % 24),
                   (unsigned long long)(second / 60 % 60), (unsigned long long)(second % 60));
    if (fraction % 1000) wr_sbuf_printf(out, ".%06llu", (unsigned long long)fraction); /* finer than Flink's milliseconds */
    else wr_sbuf_printf(out, ".%03llu", (unsigned long long)(fraction / 1000));
}
