/* type/pattern.c: java.time patterns, for DATE_FORMAT, TO_TIMESTAMP(x, fmt) and formats' timestamp patterns (see datetime.h).
 *
 * Idea       one scanner cuts a pattern into items (a field letter with its count, or a literal); printing and parsing each handle one
 *            item. Names are English, weeks of Y and w are those of the US locale (Sunday first, one day is enough), as Flink's.
 * Parsing    resolves as java.time's SMART style: day 29..31 of a shorter month becomes its last day; missing fields are
 *            1970-01-01 00:00:00. Optional sections [..] are tried and skipped if they do not match.                     */
#include "type/datetime.h"

typedef struct item {
    char   letter; /* 0 = literal text */
    int    count;
    wr_str text;
    char   quoted[64];
} item;

static bool is_letter(char c) { return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z'); }

/* Copies up to the closing quote, two quotes inside being one; returns what follows, NULL if it never closes or is too long. */
static const char *quoted(const char *p, const char *end, item *out) {
    size_t n = 0;
    for (; p < end && n < sizeof out->quoted; p++) {
        if (*p == '\'') {
            if (p + 1 == end || p[1] != '\'') return out->text = (wr_str){out->quoted, n}, p + 1;
            p++;
        }
        out->quoted[n++] = *p;
    }
    return NULL;
}

/* Next item; false at the end or on an error (then *bad). Brackets come as literals with letter '[' or ']'. */
static bool next_item(const char **at, const char *end, item *out, bool *bad) {
    const char *p = *at;
    if (p == end) return false;
    char c = *p;
    *out = (item){.text = {p, 1}};
    if (is_letter(c)) {
        while (p < end && *p == c) p++;
        *out = (item){.letter = c, .count = (int)WR_MIN(p - *at, 32)};
    } else if (c == '\'') {
        if (p + 1 < end && p[1] == '\'') { /* '' is one quote */
            p += 2;
        } else if (!(p = quoted(p + 1, end, out))) {
            return *bad = true, false;
        }
    } else if (c == '{' || c == '}' || c == '#') {
        return *bad = true, false; /* reserved by java.time */
    } else {
        if (c == '[' || c == ']') out->letter = c;
        p++;
    }
    *at = p;
    return true;
}

static const char *const months[] = {"January", "February", "March", "April", "May", "June",
                                     "July", "August", "September", "October", "November", "December"};
static const char *const weekdays[] = {"Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"};

/* ---- printing ---- */

typedef struct moment {
    wr_civil     c;
    int32_t      days, day_of_year, weekday; /* Monday 0 */
    int64_t      offset_s;
    const wr_tz *tz;
    bool         has_zone;
} moment;

static void put_number(wr_sbuf *out, int64_t x, int width) {
    if (x < 0) wr_sbuf_printf(out, "-%0*lld", width, (long long)-x);
    else wr_sbuf_printf(out, "%0*lld", width, (long long)x);
}

static bool put_name(wr_sbuf *out, const char *name, int count) { /* 3 short, 4 full, 5 one letter */
    if (count > 5) return false;
    wr_sbuf_add(out, name, count == 4 ? strlen(name) : count == 5 ? 1 : 3);
    return true;
}

static bool put_offset(const moment *m, char letter, int count, wr_sbuf *out) {
    int64_t s = m->offset_s < 0 ? -m->offset_s : m->offset_s;
    int     h = (int)(s / 3600), min = (int)(s / 60 % 60), sec = (int)(s % 60);
    char    sign = m->offset_s < 0 ? '-' : '+';
    if (letter == 'X' && s == 0) return wr_sbuf_addc(out, 'Z'), count <= 5;
    if (letter == 'Z' && count == 5 && s == 0) return wr_sbuf_addc(out, 'Z'), true;
    if (letter == 'O' || (letter == 'Z' && count == 4)) {
        wr_sbuf_addz(out, "GMT");
        if (!s) return true;
        if (letter == 'Z' || count == 4) wr_sbuf_printf(out, "%c%02d:%02d", sign, h, min);
        else if (min) wr_sbuf_printf(out, "%c%d:%02d", sign, h, min);
        else wr_sbuf_printf(out, "%c%d", sign, h);
        return true;
    }
    if (count > 5) return false;
    bool colon = letter == 'Z' ? count == 5 : count == 3 || count == 5;
    wr_sbuf_printf(out, "%c%02d", sign, h);
    if (!(letter != 'Z' && count == 1 && !min)) wr_sbuf_printf(out, "%s%02d", colon ? ":" : "", min);
    if (sec && (count >= 4)) wr_sbuf_printf(out, "%s%02d", colon ? ":" : "", sec);
    return true;
}

/* Week and week-based year of the US locale: weeks start on Sunday, week 1 holds 1 January. */
static void us_week(const moment *m, int32_t *year, int32_t *week) {
    int32_t start = m->days - (m->weekday + 1) % 7, y, mo, d; /* the Sunday on or before */
    wr_civil_from_days(start + 6, &y, &mo, &d);
    int32_t jan1 = wr_days_from_civil(y, 1, 1), first = jan1 - (int32_t)wr_floor_mod(jan1 + 4, 7);
    *year = y;
    *week = (start - first) / 7 + 1;
}

static bool put_year(wr_sbuf *out, int32_t year, int count) {
    if (count == 2) return put_number(out, wr_floor_mod(year, 100), 2), true;
    if (count >= 4 && year > 9999) wr_sbuf_addc(out, '+');
    put_number(out, year, count);
    return true;
}

static bool put_date_field(const moment *m, char letter, int count, wr_sbuf *out) {
    int32_t year, week;
    switch (letter) {
    case 'y':
    case 'u': return put_year(out, m->c.year, count);
    case 'Y': return us_week(m, &year, &week), put_year(out, year, count);
    case 'w': return us_week(m, &year, &week), put_number(out, week, count), count <= 2;
    case 'M':
    case 'L':
        if (count > 2) return put_name(out, months[m->c.month - 1], count);
        return put_number(out, m->c.month, count), true;
    case 'd': return put_number(out, m->c.day, count), count <= 2;
    case 'D': return put_number(out, m->day_of_year, count), count <= 3;
    case 'F': return put_number(out, (m->c.day - 1) % 7 + 1, count), count <= 1;
    case 'Q':
    case 'q':
        if (count == 3) return wr_sbuf_printf(out, "Q%d", (m->c.month + 2) / 3), true;
        if (count > 2) {
            static const char *const nth[] = {"1st", "2nd", "3rd", "4th"};
            return wr_sbuf_printf(out, "%s quarter", nth[(m->c.month - 1) / 3]), count == 4;
        }
        return put_number(out, (m->c.month + 2) / 3, count), true;
    case 'e':
    case 'c':
        if (count <= 2) return put_number(out, (m->weekday + 1) % 7 + 1, count), true;
        return put_name(out, weekdays[m->weekday], count);
    case 'E': return put_name(out, weekdays[m->weekday], WR_MAX(count, 3));
    case 'G': return wr_sbuf_addz(out, count == 4 ? "Anno Domini" : count == 5 ? "A" : "AD"), count <= 5;
    default: return false;
    }
}

static bool put_time_field(const moment *m, char letter, int count, wr_sbuf *out) {
    int64_t nano_of_day = (m->c.hour * 3600 + m->c.minute * 60 + m->c.second) * INT64_C(1000000000) + m->c.nano;
    switch (letter) {
    case 'a': return wr_sbuf_addz(out, m->c.hour < 12 ? "AM" : "PM"), count == 1;
    case 'H': return put_number(out, m->c.hour, count), count <= 2;
    case 'k': return put_number(out, m->c.hour ? m->c.hour : 24, count), count <= 2;
    case 'K': return put_number(out, m->c.hour % 12, count), count <= 2;
    case 'h': return put_number(out, m->c.hour % 12 ? m->c.hour % 12 : 12, count), count <= 2;
    case 'm': return put_number(out, m->c.minute, count), count <= 2;
    case 's': return put_number(out, m->c.second, count), count <= 2;
    case 'S': {
        if (count > 9) return false;
        int32_t x = m->c.nano;
        for (int i = count; i < 9; i++) x /= 10;
        return put_number(out, x, count), true;
    }
    case 'A': return put_number(out, nano_of_day / 1000000, count), true;
    case 'n': return put_number(out, m->c.nano, count), true;
    case 'N': return put_number(out, nano_of_day, count), true;
    case 'V':
        if (count != 2 || !m->has_zone) return false;
        return wr_sbuf_add_str(out, wr_tz_name(m->tz)), true;
    case 'X':
    case 'x':
    case 'Z':
    case 'O': return m->has_zone && put_offset(m, letter, count, out);
    default: return false;
    }
}

bool wr_format_pattern(int64_t us, int32_t sub_us_nanos, wr_str pattern, const wr_tz *tz, wr_sbuf *out) {
    const char *at = pattern.ptr, *end = at + pattern.len;
    int64_t     local = wr_tz_to_local(tz, us);
    moment      m = {.c = wr_civil_from_us(local), .tz = tz, .offset_s = (local - us) / WR_US_PER_SECOND, .has_zone = true};
    m.c.nano += sub_us_nanos;
    m.days = (int32_t)wr_floor_div(local, WR_US_PER_DAY);
    m.day_of_year = m.days - wr_days_from_civil(m.c.year, 1, 1) + 1;
    m.weekday = (int32_t)wr_floor_mod(m.days + 3, 7);
    item it;
    bool bad = false;
    while (next_item(&at, end, &it, &bad)) {
        if (!it.letter) wr_sbuf_add_str(out, it.text);
        else if (it.letter == '[' || it.letter == ']') continue; /* everything optional is known */
        else if (!put_date_field(&m, it.letter, it.count, out) && !put_time_field(&m, it.letter, it.count, out)) return false;
    }
    return !bad;
}

/* ---- parsing ---- */

typedef struct fields {
    int32_t year, month, day, day_of_year, hour, hour12, minute, second, nano, pm; /* -1 = absent */
    int64_t east_s;
    bool    zoned;
} fields;

typedef struct text_cursor { const char *at, *end; } text_cursor;

static bool take_digits(text_cursor *t, int least, int most, int32_t *out) {
    int64_t x = 0;
    int     n = 0;
    while (n < most && t->at < t->end && *t->at >= '0' && *t->at <= '9') {
        x = x * 10 + (*t->at++ - '0');
        if (++n > 9) return false;
    }
    *out = (int32_t)x;
    return n >= least && x <= INT32_MAX;
}

static bool take_name(text_cursor *t, const char *const *names, int n, int count, int32_t *out) { /* ASCII case-blind */
    for (int i = 0; i < n; i++) {
        size_t len = count == 4 ? strlen(names[i]) : 3;
        if ((size_t)(t->end - t->at) < len || !wr_str_ieq((wr_str){t->at, len}, (wr_str){names[i], len})) continue;
        t->at += len;
        *out = i;
        return true;
    }
    return false;
}

static bool take_offset(text_cursor *t, fields *f) {
    f->zoned = true;
    f->east_s = 0;
    if (t->at < t->end && *t->at == 'Z') return t->at++, true;
    if (t->at == t->end || (*t->at != '+' && *t->at != '-')) return false;
    int     sign = *t->at++ == '-' ? -1 : 1;
    int32_t h, m = 0;
    if (!take_digits(t, 2, 2, &h)) return false;
    bool colon = t->at < t->end && *t->at == ':';
    t->at += colon;
    if ((colon || (t->at < t->end && *t->at >= '0' && *t->at <= '9')) && !take_digits(t, 2, 2, &m)) return false;
    if (h > 18 || m > 59) return false;
    f->east_s = sign * (h * 3600 + m * 60);
    return true;
}

static bool take_fraction(text_cursor *t, int count, int32_t *nano) { /* exactly `count` digits */
    if (count > 9 || !take_digits(t, count, count, nano)) return false;
    for (int i = count; i < 9; i++) *nano *= 10;
    return true;
}

/* `adjacent`: the next item is a number too, so this one takes exactly its width. */
static bool take_field(text_cursor *t, char letter, int count, bool adjacent, fields *f) {
    int     wide = count >= 2 || adjacent ? count : 2;
    int32_t x;
    switch (letter) {
    case 'y':
    case 'u':
        if (count == 2) {
            if (!take_digits(t, 2, 2, &x)) return false;
            return f->year = 2000 + x, true;
        }
        return take_digits(t, WR_MIN(count, 9), adjacent || count == 4 ? WR_MAX(count, 4) : 9, &f->year);
    case 'M':
    case 'L':
        if (count > 4) return false;
        if (count > 2) return take_name(t, months, 12, count, &f->month) && ++f->month;
        return take_digits(t, count, wide, &f->month);
    case 'd': return take_digits(t, count, wide, &f->day);
    case 'D': return take_digits(t, count, adjacent ? count : 3, &f->day_of_year);
    case 'E': return count <= 4 && take_name(t, weekdays, 7, count, &x);
    case 'a':
        if (t->end - t->at < 2 || (t->at[1] != 'M' && t->at[1] != 'm')) return false;
        f->pm = *t->at == 'P' || *t->at == 'p';
        if (!f->pm && *t->at != 'A' && *t->at != 'a') return false;
        return t->at += 2, true;
    case 'H': return take_digits(t, count, wide, &f->hour);
    case 'k': return take_digits(t, count, wide, &f->hour) && f->hour >= 1 && f->hour <= 24 && ((f->hour %= 24), true);
    case 'h': return take_digits(t, count, wide, &f->hour12) && f->hour12 >= 1 && f->hour12 <= 12 && ((f->hour12 %= 12), true);
    case 'K': return take_digits(t, count, wide, &f->hour12) && f->hour12 <= 11;
    case 'm': return take_digits(t, count, wide, &f->minute);
    case 's': return take_digits(t, count, wide, &f->second);
    case 'S': return take_fraction(t, count, &f->nano);
    case 'n': return take_digits(t, 1, 9, &f->nano);
    case 'X':
    case 'x':
    case 'Z': return take_offset(t, f);
    default: return false;
    }
}

static bool is_number_item(const item *it) {
    if (!it->letter || it->letter == '[' || it->letter == ']') return false;
    if ((it->letter == 'M' || it->letter == 'L') && it->count > 2) return false;
    return strchr("yuMLdDHkhKmsSn", it->letter) != NULL;
}

static bool resolve(const fields *f, int64_t *us) {
    int32_t year = f->year < 0 ? 1970 : f->year, month = f->month < 0 ? 1 : f->month, day = f->day < 0 ? 1 : f->day;
    int32_t hour = f->hour;
    if (hour < 0) hour = f->hour12 < 0 ? 0 : f->hour12 + (f->pm == 1 ? 12 : 0);
    int32_t minute = WR_MAX(f->minute, 0), second = WR_MAX(f->second, 0), nano = WR_MAX(f->nano, 0);
    if (year < 1 || year > 9999 || month < 1 || month > 12 || day < 1 || day > 31 || hour > 23 || minute > 59 || second > 59) return false;
    while (!wr_civil_valid(year, month, day)) day--; /* SMART: 31 April is 30 April */
    int32_t days = wr_days_from_civil(year, month, day);
    if (f->day_of_year >= 0) {
        days = wr_days_from_civil(year, 1, 1) + f->day_of_year - 1;
        if (f->day_of_year < 1 || days > wr_days_from_civil(year, 12, 31)) return false;
    }
    *us = days * WR_US_PER_DAY + (hour * 3600 + minute * 60 + second - f->east_s) * WR_US_PER_SECOND + nano / 1000;
    return true;
}

/* Skips to behind the ']' that ends the optional section at depth 1. */
static const char *skip_optional(const char *at, const char *end) {
    item it;
    bool bad = false;
    int  depth = 1;
    while (depth && next_item(&at, end, &it, &bad)) depth += it.letter == '[' ? 1 : it.letter == ']' ? -1 : 0;
    return at;
}

bool wr_parse_pattern(wr_str text, wr_str pattern, int64_t *us) {
    enum { NESTED_MAX = 8 };
    struct { text_cursor text; fields f; const char *after; } tries[NESTED_MAX];
    int         n_tries = 0;
    const char *at = pattern.ptr, *end = at + pattern.len;
    text_cursor t = {text.ptr, text.ptr + text.len};
    fields      f = {-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, 0, false};
    item        it, following;
    bool        bad = false, ok = true;
    while (next_item(&at, end, &it, &bad)) {
        if (it.letter == '[') {
            if (n_tries == NESTED_MAX) return false;
            tries[n_tries].text = t;
            tries[n_tries].f = f;
            tries[n_tries++].after = skip_optional(at, end);
            continue;
        }
        if (it.letter == ']') {
            if (!n_tries--) return false;
            continue;
        }
        if (!it.letter) {
            ok = wr_str_starts((wr_str){t.at, (size_t)(t.end - t.at)}, it.text);
            if (ok) t.at += it.text.len;
        } else {
            const char *peek = at;
            bool        bad_next = false;
            bool        adjacent = is_number_item(&it) && next_item(&peek, end, &following, &bad_next) && is_number_item(&following);
            ok = take_field(&t, it.letter, it.count, adjacent, &f);
        }
        if (ok) continue;
        if (!n_tries) return false;
        n_tries--; /* as if the optional section were not there */
        t = tries[n_tries].text;
        f = tries[n_tries].f;
        at = tries[n_tries].after;
    }
    return !bad && !n_tries && t.at == t.end && resolve(&f, us);
}
