/* type/units.c: durations and sizes, as options take them and as people read them (see datetime.h).                    */
#include "type/datetime.h"
#include <stdio.h>

typedef struct unit {
    const char *names; /* lower case, separated by blanks, with one at both ends */
    int64_t     factor;
} unit;

static bool unit_named(const unit *u, wr_str word) {
    char name[24];
    if (!word.len || word.len > 16) return false;
    name[0] = ' ';
    for (size_t i = 0; i < word.len; i++) {
        char c = word.ptr[i];
        name[i + 1] = c >= 'A' && c <= 'Z' ? (char)(c + 32) : c;
    }
    name[word.len + 1] = ' ';
    name[word.len + 2] = 0;
    return strstr(u->names, name) != NULL;
}

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

/* One "12", "1.5 h", "64mb" off the front: value = digits * 10^-fraction_digits. */
static bool eat_amount(wr_str *text, int64_t *digits, int *fraction_digits, wr_str *word) {
    const char *p = text->ptr, *end = p + text->len;
    bool        point = false, any = false;
    *digits = 0;
    *fraction_digits = 0;
    for (; p < end && (is_digit(*p) || (*p == '.' && !point)); p++) {
        if (*p == '.') {
            point = true;
            continue;
        }
        any = true;
        if (point && ++*fraction_digits > 9) return false;
        if (__builtin_mul_overflow(*digits, 10, digits) || __builtin_add_overflow(*digits, *p - '0', digits)) return false;
    }
    while (p < end && *p == ' ') p++;
    word->ptr = p;
    while (p < end && !is_digit(*p) && *p != ' ') p++;
    word->len = (size_t)(p - word->ptr);
    while (p < end && *p == ' ') p++;
    *text = (wr_str){p, (size_t)(end - p)};
    return any;
}

static bool scaled(int64_t digits, int fraction_digits, int64_t factor, int64_t divisor, int64_t *out) {
    wr_i128 x = (wr_i128)digits * factor;
    for (; fraction_digits > 0; fraction_digits--) x /= 10;
    x /= divisor;
    if (x > INT64_MAX) return false;
    *out = (int64_t)x;
    return true;
}

bool wr_parse_duration(wr_str text, int64_t *us) {
    static const unit units[] = {/* in nanoseconds */
                                 {" d day days ", INT64_C(86400000000000)},
                                 {" h hour hours ", INT64_C(3600000000000)},
                                 {" min m minute minutes ", INT64_C(60000000000)},
                                 {" s sec secs second seconds ", INT64_C(1000000000)},
                                 {" ms milli millis millisecond milliseconds ", INT64_C(1000000)},
                                 {" us \xC2\xB5s micro micros microsecond microseconds ", INT64_C(1000)},
                                 {" ns nano nanos nanosecond nanoseconds ", INT64_C(1)}};
    text = wr_str_trim(text);
    int64_t sum = 0, digits, part;
    int     fraction_digits;
    wr_str  word;
    bool    first = true;
    if (!text.len) return false;
    for (; text.len; first = false) {
        if (!eat_amount(&text, &digits, &fraction_digits, &word)) return false;
        const unit *found = NULL;
        if (!word.len) { /* a bare number is milliseconds, and then it stands alone */
            if (!first || text.len || fraction_digits) return false;
            found = &units[4];
        }
        for (size_t i = 0; !found && i < WR_COUNT_OF(units); i++)
            if (unit_named(&units[i], word)) found = &units[i];
        if (!found || !scaled(digits, fraction_digits, found->factor, 1000, &part) || __builtin_add_overflow(sum, part, &sum)) return false;
    }
    *us = sum;
    return true;
}

bool wr_parse_count(wr_str text, int64_t *rows) {
    int64_t n = 0;
    size_t  i = 0;
    text = wr_str_trim(text);
    for (; i < text.len && ((text.ptr[i] >= '0' && text.ptr[i] <= '9') || (i && text.ptr[i] == '_')); i++) {
        if (n > INT64_MAX / 10000000000) return false;
        if (text.ptr[i] != '_') n = n * 10 + (text.ptr[i] - '0');
    }
    int64_t times = 1;
    if (i && i + 1 == text.len) times = text.ptr[i] == 'k' || text.ptr[i] == 'K' ? 1000 : text.ptr[i] == 'M' ? 1000000 : 0;
    else if (i < text.len) times = 0;
    *rows = n * times;
    return *rows > 0;
}

bool wr_parse_size(wr_str text, int64_t *bytes) {
    static const unit units[] = {{" b byte bytes ", 1},
                                 {" k kb kib kibibytes ", INT64_C(1) << 10},
                                 {" m mb mib mebibytes ", INT64_C(1) << 20},
                                 {" g gb gib gibibytes ", INT64_C(1) << 30},
                                 {" t tb tib tebibytes ", INT64_C(1) << 40}};
    text = wr_str_trim(text);
    int64_t digits;
    int     fraction_digits;
    wr_str  word;
    if (!eat_amount(&text, &digits, &fraction_digits, &word) || text.len) return false;
    if (!word.len) return !fraction_digits && scaled(digits, 0, 1, 1, bytes);
    for (size_t i = 0; i < WR_COUNT_OF(units); i++)
        if (unit_named(&units[i], word)) return scaled(digits, fraction_digits, units[i].factor, 1, bytes);
    return false;
}

/* value / unit with at most `places` decimals, trailing zeros cut */
static void put_short(uint64_t value, uint64_t unit_size, int places, const char *name, wr_sbuf *out) {
    uint64_t scale = 1;
    for (int i = 0; i < places; i++) scale *= 10;
    uint64_t whole = value / unit_size, part = (uint64_t)((wr_u128)(value % unit_size) * scale / unit_size);
    wr_sbuf_printf(out, "%llu", (unsigned long long)whole);
    if (part) {
        char text[24];
        int  n = snprintf(text, sizeof text, ".%0*llu", places, (unsigned long long)part);
        while (text[n - 1] == '0') n--;
        wr_sbuf_add(out, text, (size_t)n);
    }
    wr_sbuf_addz(out, name);
}

void wr_text_duration(int64_t us, wr_sbuf *out) {
    static const struct { const char *name; uint64_t us; } big[] = {{"d", 86400000000u}, {"h", 3600000000u}, {"min", 60000000u}, {"s", 1000000u}};
    uint64_t x = us < 0 ? -(uint64_t)us : (uint64_t)us;
    if (us < 0) wr_sbuf_addc(out, '-');
    if (!x) { wr_sbuf_addz(out, "0 s"); return; }
    if (x < 1000) { wr_sbuf_printf(out, "%llu us", (unsigned long long)x); return; }
    if (x < 1000000) { put_short(x, 1000, 3, " ms", out); return; }
    if (x < 60000000) { put_short(x, 1000000, 3, " s", out); return; }
    for (int i = 0; i < 3; i++) {
        if (x < big[i].us) continue;
        uint64_t second = x % big[i].us / big[i + 1].us;
        wr_sbuf_printf(out, "%llu %s", (unsigned long long)(x / big[i].us), big[i].name);
        if (second) wr_sbuf_printf(out, " %llu %s", (unsigned long long)second, big[i + 1].name);
        return;
    }
}

void wr_text_size(int64_t bytes, wr_sbuf *out) {
    static const char *const names[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    if (bytes > -1024 && bytes < 1024) {
        wr_sbuf_printf(out, "%lld B", (long long)bytes);
        return;
    }
    double x = (double)bytes / 1024;
    int    i = 0;
    while ((x >= 1023.95 || x <= -1023.95) && i < 5) x /= 1024, i++;
    wr_sbuf_printf(out, "%.1f %s", x, names[i]);
}
