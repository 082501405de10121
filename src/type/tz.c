/* type/tz.c: time zones from the system's TZif files (see datetime.h).
 *
 * Idea       a zone is a sorted list of transitions: from this UTC second on, this offset. Rules of the POSIX footer are laid out as
 *            transitions for 400 years after the last listed one; the Gregorian calendar repeats after exactly 400 years
 *            (146,097 days, whole weeks), so later moments are looked up 400 * k years earlier. A look-up is one binary search.
 * Local time before the transition's offset stays in force until local time has passed both clocks: so a gap moves forward by its
 *            length and an overlap takes the earlier instant, as java.time does.
 * Source     RFC 8536 (TZif 1-3), POSIX TZ strings.
 * Thread     zones are immutable; the list of loaded ones is only ever added to, by compare-exchange, and never freed.  */
#include "type/datetime.h"
#include "sys/world.h"
#include <stdatomic.h>

typedef struct transition {
    int64_t at;          /* UTC seconds */
    int64_t local_until; /* local seconds from which `after` holds */
    int32_t before, after;
} transition;

struct wr_tz {
    struct wr_tz *next;
    char          name[64];
    uint32_t      n;
    int32_t       first; /* offset before the first transition, seconds east */
    bool          cyclic;
    int64_t       cycle_end; /* if cyclic: UTC second past which look-ups go back by whole cycles */
    transition    list[];
};

static const int64_t CYCLE_S = INT64_C(146097) * 86400;
enum { FILE_MAX = 1 << 20, OFFSET_MAX_S = 26 * 3600 };

static _Atomic(wr_tz *) loaded;

/* ---- look-ups ---- */

static int64_t back_into_cycle(const wr_tz *tz, int64_t s) {
    if (!tz->cyclic || s < tz->cycle_end) return s;
    return s - ((s - tz->cycle_end) / CYCLE_S + 1) * CYCLE_S;
}

static int32_t offset_at(const wr_tz *tz, int64_t s, bool local) {
    s = back_into_cycle(tz, s);
    uint32_t low = 0, high = tz->n; /* the first transition that is later than s */
    while (low < high) {
        uint32_t mid = (low + high) / 2;
        if ((local ? tz->list[mid].local_until : tz->list[mid].at) <= s) low = mid + 1;
        else high = mid;
    }
    return low ? tz->list[low - 1].after : tz->first;
}

int64_t wr_tz_to_local(const wr_tz *tz, int64_t utc_us) {
    int64_t us;
    if (!tz) return utc_us;
    int64_t shift = offset_at(tz, wr_floor_div(utc_us, WR_US_PER_SECOND), false) * WR_US_PER_SECOND;
    return __builtin_add_overflow(utc_us, shift, &us) ? utc_us : us; /* the ends of time stay where they are */
}

int64_t wr_tz_to_utc(const wr_tz *tz, int64_t local_us) {
    int64_t us;
    if (!tz) return local_us;
    int64_t shift = offset_at(tz, wr_floor_div(local_us, WR_US_PER_SECOND), true) * WR_US_PER_SECOND;
    return __builtin_sub_overflow(local_us, shift, &us) ? local_us : us;
}

wr_str wr_tz_name(const wr_tz *tz) { return tz ? wr_str_of(tz->name) : WR_STR("UTC"); }

/* ---- POSIX rules ---- */

typedef struct rule { /* when a change happens in a year */
    char    kind;     /* 'M' month.week.weekday, 'J' 1..365 without 29 Feb, 'n' 0..365 */
    int32_t month, week, day, time_s;
} rule;
typedef struct posix {
    int32_t std_s, dst_s; /* seconds east */
    bool    has_dst;
    rule    to_dst, to_std;
} posix;

static bool number(const char **p, int most, int32_t *out) {
    if (**p < '0' || **p > '9') return false;
    for (*out = 0; **p >= '0' && **p <= '9'; ++*p)
        if ((*out = *out * 10 + (**p - '0')) > most) return false;
    return true;
}

static bool zone_abbreviation(const char **p) {
    const char *start = *p;
    if (**p == '<') {
        while (**p && **p != '>') ++*p;
        return *(*p)++ == '>';
    }
    while ((**p >= 'A' && **p <= 'Z') || (**p >= 'a' && **p <= 'z')) ++*p;
    return *p - start >= 3;
}

static bool signed_time(const char **p, int32_t *seconds) { /* [+-]hh[:mm[:ss]], hours up to 167 */
    int32_t h, m = 0, s = 0, sign = 1;
    if (**p == '-' || **p == '+') sign = *(*p)++ == '-' ? -1 : 1;
    if (!number(p, 167, &h)) return false;
    if (**p == ':' && (++*p, !number(p, 59, &m))) return false;
    if (**p == ':' && (++*p, !number(p, 59, &s))) return false;
    *seconds = sign * (h * 3600 + m * 60 + s);
    return true;
}

static bool parse_rule(const char **p, rule *r) {
    if (*(*p)++ != ',') return false;
    *r = (rule){.kind = 'n', .time_s = 7200};
    if (**p == 'M') {
        r->kind = *(*p)++;
        if (!number(p, 12, &r->month) || *(*p)++ != '.' || !number(p, 5, &r->week) || *(*p)++ != '.' || !number(p, 6, &r->day)) return false;
        if (!r->month || !r->week) return false;
    } else {
        if (**p == 'J') r->kind = *(*p)++;
        if (!number(p, 365, &r->day) || (r->kind == 'J' && !r->day)) return false;
    }
    return **p != '/' || (++*p, signed_time(p, &r->time_s));
}

static bool parse_posix(const char *p, posix *out) {
    *out = (posix){0};
    if (!zone_abbreviation(&p) || !signed_time(&p, &out->std_s)) return false;
    out->std_s = -out->std_s; /* POSIX counts west */
    if (!*p) return true;
    if (!zone_abbreviation(&p)) return false;
    out->dst_s = out->std_s + 3600;
    if (*p && *p != ',') {
        if (!signed_time(&p, &out->dst_s)) return false;
        out->dst_s = -out->dst_s;
    }
    out->has_dst = true;
    return parse_rule(&p, &out->to_dst) && parse_rule(&p, &out->to_std) && !*p;
}

static int64_t rule_local_s(const rule *r, int32_t year) {
    int64_t jan1 = wr_days_from_civil(year, 1, 1), days;
    if (r->kind == 'M') {
        int32_t first = wr_days_from_civil(year, r->month, 1), weekday = (int32_t)wr_floor_mod(first + 4, 7); /* Sunday 0 */
        int32_t next = r->month == 12 ? wr_days_from_civil(year + 1, 1, 1) : wr_days_from_civil(year, r->month + 1, 1);
        days = first + (r->day - weekday + 7) % 7 + (r->week - 1) * 7;
        if (days >= next) days -= 7; /* week 5 is the last one */
    } else {
        bool leap = wr_days_from_civil(year, 12, 31) - jan1 == 365;
        days = jan1 + (r->kind == 'J' ? r->day - 1 + (leap && r->day >= 60) : r->day);
    }
    return days * 86400 + r->time_s;
}

/* ---- building ---- */

typedef struct build {
    WR_ARR(transition) list;
    int32_t first;
    bool    cyclic;
    int64_t cycle_end;
} build;

static int32_t last_offset(const build *b) { return b->list.n ? b->list.at[b->list.n - 1].after : b->first; }

static void add_transition(build *b, int64_t at, int32_t after) {
    int32_t before = last_offset(b);
    if (before == after) return; /* only the name or the DST flag changes */
    int64_t until = at + WR_MAX(before, after);
    if (b->list.n) until = WR_MAX(until, b->list.at[b->list.n - 1].local_until); /* keeps the search valid */
    wr_arr_push(&b->list, ((transition){.at = at, .local_until = until, .before = before, .after = after}));
}

static void add_rules(build *b, const posix *px) {
    int64_t last = b->list.n ? b->list.at[b->list.n - 1].at : 0;
    int32_t year, month, day;
    if (!px->has_dst) {
        if (b->list.n == 0) b->first = px->std_s;
        return; /* the listed transitions already end in standard time */
    }
    wr_civil_from_days((int32_t)wr_floor_div(last, 86400), &year, &month, &day);
    for (int32_t y = year; y <= year + 402; y++) {
        int64_t dst = rule_local_s(&px->to_dst, y) - px->std_s, std = rule_local_s(&px->to_std, y) - px->dst_s;
        bool    dst_first = dst < std;
        for (int i = 0; i < 2; i++) {
            bool    is_dst = (i == 0) == dst_first;
            int64_t at = is_dst ? dst : std;
            if (at > last || !b->list.n) add_transition(b, at, is_dst ? px->dst_s : px->std_s);
        }
    }
    b->cyclic = true;
    b->cycle_end = wr_days_from_civil(year + 401, 1, 1) * INT64_C(86400);
}

static int64_t big_endian(const uint8_t *p, int bytes) {
    uint64_t x = 0;
    for (int i = 0; i < bytes; i++) x = x << 8 | p[i];
    return bytes == 4 ? (int64_t)(int32_t)(uint32_t)x : (int64_t)x;
}

typedef struct header { uint32_t n_isut, n_isstd, n_leap, n_time, n_type, n_char; } header;
enum { HEADER_BYTES = 44 };

static bool read_header(wr_str data, header *h) {
    if (data.len < HEADER_BYTES || memcmp(data.ptr, "TZif", 4)) return false;
    uint32_t *fields[] = {&h->n_isut, &h->n_isstd, &h->n_leap, &h->n_time, &h->n_type, &h->n_char};
    for (int i = 0; i < 6; i++) {
        *fields[i] = (uint32_t)big_endian((const uint8_t *)data.ptr + 20 + 4 * i, 4);
        if (*fields[i] > 100000) return false;
    }
    return h->n_type > 0;
}

static size_t body_bytes(const header *h, size_t time_size) {
    return h->n_time * (time_size + 1) + (size_t)h->n_type * 6 + h->n_char + h->n_leap * (time_size + 4) + h->n_isstd + h->n_isut;
}

static bool read_body(wr_str data, const header *h, int time_size, build *b) {
    const uint8_t *times = (const uint8_t *)data.ptr + HEADER_BYTES, *indexes = times + (size_t)h->n_time * (size_t)time_size;
    const uint8_t *types = indexes + h->n_time;
    if (data.len < HEADER_BYTES + body_bytes(h, (size_t)time_size)) return false;
    b->first = (int32_t)big_endian(types, 4);
    for (uint32_t i = 0; i < h->n_time; i++) {
        if (indexes[i] >= h->n_type) return false;
        int64_t at = big_endian(times + (size_t)i * (size_t)time_size, time_size);
        int32_t after = (int32_t)big_endian(types + (size_t)indexes[i] * 6, 4);
        if (after > OFFSET_MAX_S || after < -OFFSET_MAX_S || (b->list.n && at <= b->list.at[b->list.n - 1].at)) return false;
        if (at < INT64_C(-100000000000)) { /* "since ever": before any year that has a name here */
            b->first = after;
            continue;
        }
        add_transition(b, at, after);
    }
    return b->first <= OFFSET_MAX_S && b->first >= -OFFSET_MAX_S;
}

static bool read_tzif(wr_str data, build *b) {
    header h;
    if (!read_header(data, &h)) return false;
    if (data.ptr[4] == 0) return read_body(data, &h, 4, b); /* version 1: no 64-bit part, no footer */
    size_t skip = HEADER_BYTES + body_bytes(&h, 4);
    if (data.len < skip) return false;
    data = (wr_str){data.ptr + skip, data.len - skip};
    if (!read_header(data, &h) || !read_body(data, &h, 8, b)) return false;
    size_t at = HEADER_BYTES + body_bytes(&h, 8);
    if (data.len <= at || data.ptr[at] != '\n') return false;
    const char *start = data.ptr + at + 1, *stop = memchr(start, '\n', data.len - at - 1);
    char        footer[128];
    if (!stop || (size_t)(stop - start) >= sizeof footer) return false;
    memcpy(footer, start, (size_t)(stop - start));
    footer[stop - start] = 0;
    posix px;
    if (!*footer) return true;
    if (!parse_posix(footer, &px)) return false;
    add_rules(b, &px);
    return true;
}

static wr_tz *zone_from(const build *b, wr_str name) {
    size_t bytes = sizeof(wr_tz) + b->list.n * sizeof(transition);
    wr_tz *tz = wr_calloc(1, bytes);
    memcpy(tz->name, name.ptr, name.len);
    tz->first = b->first;
    tz->n = b->list.n;
    tz->cyclic = b->cyclic;
    tz->cycle_end = b->cycle_end;
    if (b->list.n) memcpy(tz->list, b->list.at, b->list.n * sizeof(transition));
    return tz;
}

/* ---- names ---- */

/* 'UTC', 'GMT', 'Z', 'GMT+02:00', 'UTC-3', '+0530', '+02:00'. */
static bool fixed_offset(wr_str name, int32_t *seconds) {
    char text[16];
    if (!name.len || name.len >= sizeof text) return false;
    memcpy(text, name.ptr, name.len);
    text[name.len] = 0;
    const char *p = text;
    bool        named = !strncmp(p, "UTC", 3) || !strncmp(p, "GMT", 3);
    *seconds = 0;
    if (named) p += 3;
    else if (p[0] == 'U' && p[1] == 'T') named = true, p += 2;
    else if (!strcmp(p, "Z")) return true;
    if (!*p) return named;
    if (*p != '+' && *p != '-') return false;
    int32_t sign = *p++ == '-' ? -1 : 1, h = 0, m = 0;
    size_t  digits = strspn(p, "0123456789");
    if (!digits || digits > 4 || digits == 3) return false;
    for (size_t i = 0; i < digits; i++) {
        int32_t *part = digits == 4 && i >= 2 ? &m : &h;
        *part = *part * 10 + (p[i] - '0');
    }
    p += digits;
    if (*p == ':') {
        if (digits > 2 || strspn(p + 1, "0123456789") != 2 || p[3]) return false;
        m = (p[1] - '0') * 10 + (p[2] - '0');
        p += 3;
    }
    if (*p || h > 18 || m > 59) return false;
    *seconds = sign * (h * 3600 + m * 60);
    return true;
}

static bool safe_name(wr_str name) { /* a path below the zone directory and nothing else */
    if (!name.len || name.len > 60 || name.ptr[0] == '/') return false;
    for (size_t i = 0; i < name.len; i++) {
        char c = name.ptr[i];
        bool fine = (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '-' || c == '+' || c == '/';
        if (!fine) return false;
    }
    return true;
}

/* The nearest name of the system's table of zones, as a hint. */
WR_COLD static void hint_nearest(wr_world *world, wr_str name, wr_err *err) {
    wr_sbuf table = {0};
    WR_ARR(wr_str) names = {0};
    if (wr_file_read_all(world, "/usr/share/zoneinfo/zone1970.tab", FILE_MAX, &table, NULL) == WR_OK) {
        for (char *line = table.at; line && *line;) {
            char *stop = strchr(line, '\n'), *field = line;
            if (stop) *stop = 0;
            for (int i = 0; field && i < 2; i++) field = (field = strchr(field, '\t')) ? field + 1 : NULL;
            if (*line != '#' && field) wr_arr_push(&names, ((wr_str){field, strcspn(field, "\t")}));
            line = stop ? stop + 1 : NULL;
        }
    }
    int best = names.n ? wr_nearest(name, names.at, names.n) : -1;
    if (best >= 0) wr_err_hint(err, "did you mean '%.*s'?", WR_FMT(names.at[best]));
    else wr_err_hint(err, "use a name such as 'Europe/Zurich', 'UTC' or 'GMT+02:00'");
    wr_arr_free(&names);
    wr_sbuf_free(&table);
}

static wr_status read_zone(wr_world *world, wr_str name, build *b, wr_err *err) {
    wr_sbuf      path = {0}, data = {0};
    wr_file_info info;
    bool         exists = false;
    wr_status    status = WR_OK;
    if (safe_name(name)) {
        wr_sbuf_printf(&path, "/usr/share/zoneinfo/%.*s", WR_FMT(name));
        status = world->vt->stat(world, path.at, &info, &exists, err);
    }
    if (status == WR_OK && (!exists || info.is_dir)) {
        status = wr_fail(err, WR_USER, "22009", "unknown time zone '%.*s'", WR_FMT(name));
        hint_nearest(world, name, err);
    } else if (status == WR_OK) {
        status = wr_file_read_all(world, path.at, FILE_MAX, &data, err);
        if (status == WR_OK && !read_tzif(wr_sbuf_str(&data), b))
            status = wr_fail(err, WR_USER, "22009", "'%s' is not a time zone file", path.at);
    }
    wr_sbuf_free(&path);
    wr_sbuf_free(&data);
    return status;
}

static const wr_tz *find_loaded(const wr_tz *from, wr_str name) {
    for (; from; from = from->next)
        if (wr_str_eq(wr_str_of(from->name), name)) return from;
    return NULL;
}

wr_status wr_tz_load(struct wr_world *world, wr_str name, const wr_tz **out, wr_err *err) {
    name = wr_str_trim(name);
    wr_tz *head = atomic_load_explicit(&loaded, memory_order_acquire);
    *out = find_loaded(head, name);
    if (*out) return WR_OK;
    build     b = {0};
    wr_status status = WR_OK;
    if (!fixed_offset(name, &b.first)) status = read_zone(world, name, &b, err);
    if (status == WR_OK) {
        wr_tz *tz = zone_from(&b, name);
        do {
            const wr_tz *other = find_loaded(head, name); /* somebody may have been faster */
            if (other) {
                wr_free(tz);
                *out = other;
                break;
            }
            tz->next = head;
            *out = tz;
        } while (!atomic_compare_exchange_weak_explicit(&loaded, &head, tz, memory_order_acq_rel, memory_order_acquire));
    }
    wr_arr_free(&b.list);
    return status;
}
