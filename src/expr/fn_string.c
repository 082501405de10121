/* expr/fn_string.c: functions over text, by characters (code points) of UTF-8.
 *
 * Idea       a part of an argument is returned as a view of it, without a copy; new text is built in one piece of exactly its size.
 *            Text that is pure ASCII is recognised by length (characters = bytes) once a row and takes the direct way.
 * Rules      Flink's: positions from 1, SUBSTRING start 0 acts as 1 and negative counts from the end, LPAD cuts, SPLIT_INDEX from 0.
 * Bounds     results above WR_TEXT_MAX bytes fail (REPEAT, LPAD and REPLACE can multiply).                             */
#include <utf8proc.h>
#include "type/number.h"
#include "fn.h"

#define WR_TEXT_MAX ((size_t)64 << 20)

static wr_status too_long(wr_call *c, uint32_t r) { return call_fail(c, r, "54000", "the text would be longer than %zu bytes", WR_TEXT_MAX); }

/* ---- joining ---- */
wr_status fn_concat(wr_call *c) {
    for ROWS(c, r) {
        size_t len = 0;
        for (uint32_t k = 0; k < c->n_args; k++) len += ARG(c, k, wr_sview, r).len;
        if (len > WR_TEXT_MAX) return too_long(c, r);
        char *p = call_text(c, len), *at = p;
        for (uint32_t k = 0; k < c->n_args; k++) {
            wr_str s = arg_str(c, k, r);
            if (s.len) memcpy(at, s.ptr, s.len);
            at += s.len;
        }
        call_view(c, r, p, len);
    }
    return WR_OK;
}
wr_status fn_concat_ws(wr_call *c) {
    for ROWS(c, r) {
        if (arg_null(c, 0, r)) {
            call_null(c, r);
            continue;
        }
        wr_str sep = arg_str(c, 0, r);
        size_t len = 0, n = 0;
        for (uint32_t k = 1; k < c->n_args; k++)
            if (!arg_null(c, k, r)) len += ARG(c, k, wr_sview, r).len + (n++ ? sep.len : 0);
        if (len > WR_TEXT_MAX) return too_long(c, r);
        char *p = call_text(c, len), *at = p;
        n = 0;
        for (uint32_t k = 1; k < c->n_args; k++) {
            if (arg_null(c, k, r)) continue;
            wr_str s = arg_str(c, k, r);
            if (n++ && sep.len) memcpy(at, sep.ptr, sep.len), at += sep.len;
            if (s.len) memcpy(at, s.ptr, s.len);
            at += s.len;
        }
        call_view(c, r, p, len);
    }
    return WR_OK;
}
wr_status fn_repeat(wr_call *c) {
    for ROWS(c, r) {
        wr_str  s = arg_str(c, 0, r);
        int64_t n = WR_MAX(ARG(c, 1, int64_t, r), 0);
        if (s.len && (uint64_t)n > WR_TEXT_MAX / s.len) return too_long(c, r);
        char *p = call_text(c, s.len * (size_t)n);
        for (int64_t i = 0; i < n && s.len; i++) memcpy(p + (size_t)i * s.len, s.ptr, s.len);
        call_view(c, r, p, s.len * (size_t)n);
    }
    return WR_OK;
}

/* ---- case ---- */
static bool is_ascii(wr_str s) {
    uint8_t any = 0;
    for (size_t i = 0; i < s.len; i++) any |= (uint8_t)s.ptr[i];
    return any < 0x80;
}
static char ascii_upper(char ch) { return (unsigned char)(ch - 'a') < 26 ? (char)(ch - 32) : ch; }
static char ascii_lower(char ch) { return (unsigned char)(ch - 'A') < 26 ? (char)(ch + 32) : ch; }

static void put_case(wr_sbuf *buf, uint32_t cp, bool upper) {
    char text[4];
    if (upper && cp == 0xDF) { /* the one letter of Latin-1 whose upper case is two letters */
        wr_sbuf_addz(buf, "SS");
        return;
    }
    cp = (uint32_t)(upper ? utf8proc_toupper((utf8proc_int32_t)cp) : utf8proc_tolower((utf8proc_int32_t)cp));
    size_t n = wr_utf8_put(text, cp);
    wr_sbuf_add(buf, text, n);
}
static wr_status change_case(wr_call *c, bool upper) {
    wr_sbuf buf = {0};
    for ROWS(c, r) {
        wr_str s = arg_str(c, 0, r);
        if (is_ascii(s)) {
            char *p = call_text(c, s.len);
            for (size_t i = 0; i < s.len; i++) p[i] = upper ? ascii_upper(s.ptr[i]) : ascii_lower(s.ptr[i]);
            call_view(c, r, p, s.len);
            continue;
        }
        wr_sbuf_clear(&buf);
        for (const char *at = s.ptr, *end = s.ptr + s.len; at < end;) {
            size_t   used;
            uint32_t cp = wr_utf8_get(at, end, &used);
            put_case(&buf, cp, upper);
            at += used;
        }
        call_put(c, r, buf.at, buf.len);
    }
    wr_sbuf_free(&buf);
    return WR_OK;
}
wr_status fn_upper(wr_call *c) { return change_case(c, true); }
wr_status fn_lower(wr_call *c) { return change_case(c, false); }
wr_status fn_initcap(wr_call *c) {
    wr_sbuf buf = {0};
    for ROWS(c, r) {
        wr_str s = arg_str(c, 0, r);
        bool   start = true;
        wr_sbuf_clear(&buf);
        for (const char *at = s.ptr, *end = s.ptr + s.len; at < end;) {
            size_t   used;
            uint32_t cp = wr_utf8_get(at, end, &used);
            bool     letter = cp < 128 ? (cp | 32) - 'a' < 26u || cp - '0' < 10u : true;
            put_case(&buf, cp, start && letter);
            start = !letter;
            at += used;
        }
        call_put(c, r, buf.at, buf.len);
    }
    wr_sbuf_free(&buf);
    return WR_OK;
}

/* ---- lengths and parts ---- */
wr_status fn_char_length(wr_call *c) {
    for ROWS(c, r) OUT(c, int32_t)[r] = (int32_t)wr_utf8_chars(arg_str(c, 0, r));
    return WR_OK;
}
wr_status fn_octet_length(wr_call *c) {
    for ROWS(c, r) OUT(c, int32_t)[r] = (int32_t)ARG(c, 0, wr_sview, r).len;
    return WR_OK;
}

static wr_str chars_of(wr_str s, size_t from, size_t n) { /* n characters after the first `from` */
    size_t a = wr_utf8_offset(s, from);
    wr_str rest = {s.ptr + a, s.len - a};
    rest.len = wr_utf8_offset(rest, n);
    return rest;
}
wr_status fn_substring(wr_call *c) {
    for ROWS(c, r) {
        wr_str  s = arg_str(c, 0, r);
        int64_t start = ARG(c, 1, int64_t, r), n = c->n_args > 2 ? ARG(c, 2, int64_t, r) : INT32_MAX;
        if (n < 0) {
            call_null(c, r);
            continue;
        }
        if (start < 0) {
            int64_t have = (int64_t)wr_utf8_chars(s);
            start += have;
            if (start < 0) n = 0, start = 0; /* begins before the text: empty, as Flink */
        } else if (start > 0) {
            start--;
        }
        wr_str part = chars_of(s, (size_t)start, (size_t)n);
        call_view(c, r, part.ptr, part.len);
    }
    return WR_OK;
}
wr_status fn_left(wr_call *c) {
    for ROWS(c, r) {
        int64_t n = ARG(c, 1, int64_t, r);
        wr_str  part = chars_of(arg_str(c, 0, r), 0, n < 0 ? 0 : (size_t)n);
        call_view(c, r, part.ptr, part.len);
    }
    return WR_OK;
}
wr_status fn_right(wr_call *c) {
    for ROWS(c, r) {
        wr_str  s = arg_str(c, 0, r);
        int64_t n = WR_MAX(ARG(c, 1, int64_t, r), 0), have = (int64_t)wr_utf8_chars(s);
        size_t  from = wr_utf8_offset(s, (size_t)(n >= have ? 0 : have - n));
        call_view(c, r, s.ptr + from, s.len - from);
    }
    return WR_OK;
}

/* ---- trimming: a set of characters ---- */
static bool set_has(wr_str set, const char *at, size_t len) {
    for (size_t i = 0; i < set.len;) {
        size_t used;
        wr_utf8_get(set.ptr + i, set.ptr + set.len, &used);
        if (used == len && memcmp(set.ptr + i, at, len) == 0) return true;
        i += used;
    }
    return false;
}
static wr_str trim_set(wr_str s, wr_str set, bool left, bool right) {
    while (left && s.len) {
        size_t used;
        wr_utf8_get(s.ptr, s.ptr + s.len, &used);
        if (!set_has(set, s.ptr, used)) break;
        s.ptr += used, s.len -= used;
    }
    while (right && s.len) {
        size_t n = 1;
        while (n < s.len && n < 4 && ((unsigned char)s.ptr[s.len - n] & 0xC0) == 0x80) n++;
        if (!set_has(set, s.ptr + s.len - n, n)) break;
        s.len -= n;
    }
    return s;
}
static wr_status trim_by(wr_call *c, uint32_t text, int chars, bool left, bool right) {
    for ROWS(c, r) {
        wr_str s = trim_set(arg_str(c, text, r), chars >= 0 ? arg_str(c, (uint32_t)chars, r) : WR_STR(" "), left, right);
        call_view(c, r, s.ptr, s.len);
    }
    return WR_OK;
}
wr_status fn_trim(wr_call *c) {
    if (c->n_args == 1) return trim_by(c, 0, -1, true, true);
    wr_str where = arg_str(c, 0, c->rows && c->n_rows ? c->rows[0] : 0);
    return trim_by(c, 2, 1, !wr_str_ieq(where, WR_STR("TRAILING")), !wr_str_ieq(where, WR_STR("LEADING")));
}
wr_status fn_ltrim(wr_call *c) { return trim_by(c, 0, c->n_args > 1 ? 1 : -1, true, false); }
wr_status fn_rtrim(wr_call *c) { return trim_by(c, 0, c->n_args > 1 ? 1 : -1, false, true); }
wr_status fn_btrim(wr_call *c) { return trim_by(c, 0, c->n_args > 1 ? 1 : -1, true, true); }

/* ---- padding ---- */
static wr_status pad(wr_call *c, bool left) {
    for ROWS(c, r) {
        wr_str  s = arg_str(c, 0, r), fill = arg_str(c, 2, r);
        int64_t want = ARG(c, 1, int64_t, r), have = (int64_t)wr_utf8_chars(s);
        if (want < 0 || fill.len == 0) {
            call_null(c, r);
            continue;
        }
        if (want <= have) {
            call_view(c, r, s.ptr, wr_utf8_offset(s, (size_t)want));
            continue;
        }
        if ((uint64_t)want > WR_TEXT_MAX / 4) return too_long(c, r);
        size_t fill_chars = wr_utf8_chars(fill), missing = (size_t)(want - have), rest = missing % fill_chars;
        size_t part = wr_utf8_offset(fill, rest), bytes = missing / fill_chars * fill.len + part;
        char  *p = call_text(c, s.len + bytes), *at = left ? p : p + s.len;
        memcpy(left ? p + bytes : p, s.ptr, s.len);
        for (size_t i = 0; i < missing / fill_chars; i++) memcpy(at, fill.ptr, fill.len), at += fill.len;
        memcpy(at, fill.ptr, part);
        call_view(c, r, p, s.len + bytes);
    }
    return WR_OK;
}
wr_status fn_lpad(wr_call *c) { return pad(c, true); }
wr_status fn_rpad(wr_call *c) { return pad(c, false); }

/* ---- searching ---- */
static const char *find(wr_str s, wr_str part, size_t from) {
    if (from > s.len || part.len > s.len - from) return NULL;
    return part.len ? memmem(s.ptr + from, s.len - from, part.ptr, part.len) : s.ptr + from;
}
/* The nth occurrence from the end, of those that end at or before the place -from_char counted from the end; they may overlap. */
static int32_t char_place_back(wr_str s, wr_str part, int64_t from_char, int64_t nth) {
    size_t  chars = wr_utf8_chars(s), width = wr_utf8_chars(part);
    int64_t at = (int64_t)chars + from_char + 2 - (int64_t)width; /* the last place where it may begin, from 1 */
    for (; at >= 1 && nth > 0; at--) {
        size_t from = wr_utf8_offset(s, (size_t)at - 1);
        if (s.len - from < part.len || (part.len && memcmp(s.ptr + from, part.ptr, part.len) != 0)) continue;
        if (--nth == 0) return (int32_t)at;
    }
    return 0;
}
static int32_t char_place(wr_str s, wr_str part, int64_t from_char, int64_t nth) {
    if (from_char < 0) return char_place_back(s, part, from_char, nth);
    if (from_char == 0) return 0;
    size_t from = wr_utf8_offset(s, (size_t)from_char - 1);
    for (; nth > 0; nth--) {
        const char *hit = find(s, part, from);
        if (!hit) return 0;
        if (nth == 1) return (int32_t)wr_utf8_chars((wr_str){s.ptr, (size_t)(hit - s.ptr)}) + 1;
        from = (size_t)(hit - s.ptr) + 1;
    }
    return 0;
}
wr_status fn_position(wr_call *c) {
    for ROWS(c, r) OUT(c, int32_t)[r] = char_place(arg_str(c, 1, r), arg_str(c, 0, r), 1, 1);
    return WR_OK;
}
wr_status fn_locate(wr_call *c) {
    for ROWS(c, r) OUT(c, int32_t)[r] = char_place(arg_str(c, 1, r), arg_str(c, 0, r), c->n_args > 2 ? WR_MAX(ARG(c, 2, int64_t, r), (int64_t)1) : 1, 1);
    return WR_OK;
}
wr_status fn_instr(wr_call *c) {
    for ROWS(c, r)
        OUT(c, int32_t)[r] = char_place(arg_str(c, 0, r), arg_str(c, 1, r), c->n_args > 2 ? ARG(c, 2, int64_t, r) : 1, c->n_args > 3 ? ARG(c, 3, int64_t, r) : 1);
    return WR_OK;
}
static wr_status affix(wr_call *c, bool end) {
    for ROWS(c, r) {
        wr_str s = arg_str(c, 0, r), part = arg_str(c, 1, r);
        OUT(c, uint8_t)[r] = part.len <= s.len && (part.len == 0 || memcmp(end ? s.ptr + s.len - part.len : s.ptr, part.ptr, part.len) == 0);
    }
    return WR_OK;
}
wr_status fn_startswith(wr_call *c) { return affix(c, false); }
wr_status fn_endswith(wr_call *c) { return affix(c, true); }

/* ---- replacing ---- */
wr_status fn_replace(wr_call *c) {
    for ROWS(c, r) {
        wr_str s = arg_str(c, 0, r), part = arg_str(c, 1, r), with = arg_str(c, 2, r);
        size_t n = 0;
        const char *hit;
        if (part.len == 0) { /* Java: before each character and at the end */
            size_t chars = wr_utf8_chars(s);
            if (with.len && chars + 1 > WR_TEXT_MAX / with.len) return too_long(c, r);
            char *p = call_text(c, s.len + (chars + 1) * with.len), *to = p;
            for (size_t i = 0, used; i <= s.len; i += used) {
                if (with.len) memcpy(to, with.ptr, with.len), to += with.len;
                used = 1;
                if (i < s.len) wr_utf8_get(s.ptr + i, s.ptr + s.len, &used), memcpy(to, s.ptr + i, used), to += used;
            }
            call_view(c, r, p, (size_t)(to - p));
            continue;
        }
        if (part.len)
            for (size_t at = 0; (hit = find(s, part, at)); at = (size_t)(hit - s.ptr) + part.len) n++;
        if (n == 0) {
            call_view(c, r, s.ptr, s.len);
            continue;
        }
        if (with.len && n > WR_TEXT_MAX / with.len) return too_long(c, r);
        size_t len = s.len - n * part.len + n * with.len, at = 0;
        char  *p = call_text(c, len), *to = p;
        while ((hit = find(s, part, at))) {
            size_t keep = (size_t)(hit - s.ptr) - at;
            memcpy(to, s.ptr + at, keep), to += keep;
            if (with.len) memcpy(to, with.ptr, with.len), to += with.len;
            at += keep + part.len;
        }
        memcpy(to, s.ptr + at, s.len - at);
        call_view(c, r, p, len);
    }
    return WR_OK;
}
wr_status fn_translate(wr_call *c) {
    for ROWS(c, r) {
        wr_str s = arg_str(c, 0, r), from = arg_str(c, 1, r), to = arg_str(c, 2, r);
        char  *p = call_text(c, s.len * 4 + 4), *at = p;
        for (size_t i = 0; i < s.len;) {
            size_t   used, u, k = 0, j = 0;
            uint32_t cp = wr_utf8_get(s.ptr + i, s.ptr + s.len, &used);
            for (; j < from.len; j += u, k++)
                if (wr_utf8_get(from.ptr + j, from.ptr + from.len, &u) == cp) break;
            if (j >= from.len) {
                memcpy(at, s.ptr + i, used), at += used;
            } else {
                wr_str x = chars_of(to, k, 1); /* no counterpart: dropped */
                memcpy(at, x.ptr, x.len), at += x.len;
            }
            i += used;
        }
        call_view(c, r, p, (size_t)(at - p));
    }
    return WR_OK;
}
wr_status fn_reverse(wr_call *c) {
    for ROWS(c, r) {
        wr_str s = arg_str(c, 0, r);
        char  *p = call_text(c, s.len);
        for (size_t i = 0; i < s.len;) {
            size_t used;
            wr_utf8_get(s.ptr + i, s.ptr + s.len, &used);
            memcpy(p + s.len - i - used, s.ptr + i, used);
            i += used;
        }
        call_view(c, r, p, s.len);
    }
    return WR_OK;
}
wr_status fn_overlay(wr_call *c) {
    for ROWS(c, r) {
        wr_str  s = arg_str(c, 0, r), with = arg_str(c, 1, r);
        int64_t start = ARG(c, 2, int64_t, r), n = c->n_args > 3 ? ARG(c, 3, int64_t, r) : (int64_t)wr_utf8_chars(with);
        int64_t have = (int64_t)wr_utf8_chars(s);
        if (start <= 0 || start > have) { /* Flink: unchanged */
            call_view(c, r, s.ptr, s.len);
            continue;
        }
        size_t head = wr_utf8_offset(s, (size_t)start - 1);
        size_t tail = n <= 0 || start - 1 + n >= have ? s.len : wr_utf8_offset(s, (size_t)(start - 1 + n)); /* n <= 0: the rest is dropped, as Flink */
        size_t len = head + with.len + s.len - tail;
        char  *p = call_text(c, len);
        memcpy(p, s.ptr, head);
        memcpy(p + head, with.ptr, with.len);
        memcpy(p + head + with.len, s.ptr + tail, s.len - tail);
        call_view(c, r, p, len);
    }
    return WR_OK;
}

/* ---- characters ---- */
wr_status fn_ascii(wr_call *c) {
    for ROWS(c, r) {
        wr_str s = arg_str(c, 0, r);
        OUT(c, int32_t)[r] = s.len ? (int8_t)s.ptr[0] : 0; /* of the first byte, signed, as Flink */
    }
    return WR_OK;
}
wr_status fn_chr(wr_call *c) {
    for ROWS(c, r) {
        int64_t v = ARG(c, 0, int64_t, r);
        char    text[4];
        if (v < 0) call_view(c, r, "", 0);
        else call_put(c, r, text, wr_utf8_put(text, (uint32_t)(v & 255)));
    }
    return WR_OK;
}
wr_status fn_split_index(wr_call *c) {
    bool by_code = wr_type_is_integer(arg_type(c, 1));
    for ROWS(c, r) {
        wr_str  s = arg_str(c, 0, r), sep;
        int64_t want = ARG(c, 2, int64_t, r);
        char    text[4];
        if (by_code) sep = (wr_str){text, wr_utf8_put(text, (uint32_t)(ARG(c, 1, int64_t, r) & 255))};
        else sep = arg_str(c, 1, r);
        if (want < 0 || s.len == 0) { /* an empty text has no parts */
            call_null(c, r);
            continue;
        }
        size_t      at = 0;
        const char *hit = NULL;
        if (sep.len == 0) { /* divided at white space, as Flink */
            size_t end = 0, from = 0;
            for (;; end++) {
                bool stop = end == s.len || strchr(" \t\n\r\f\v", s.ptr[end]) != NULL;
                if (stop && want-- == 0) break;
                if (end == s.len) break;
                if (stop) from = end + 1;
            }
            if (want < 0) call_view(c, r, s.ptr + from, end - from);
            else call_null(c, r);
            continue;
        }
        for (; want > 0 && (hit = find(s, sep, at)); want--) at = (size_t)(hit - s.ptr) + sep.len;
        if (want > 0) {
            call_null(c, r);
            continue;
        }
        hit = find(s, sep, at);
        call_view(c, r, s.ptr + at, hit ? (size_t)(hit - s.ptr) - at : s.len - at);
    }
    return WR_OK;
}
wr_status fn_elt(wr_call *c) {
    for ROWS(c, r) {
        int64_t k = arg_null(c, 0, r) ? 0 : ARG(c, 0, int64_t, r);
        if (k < 1 || k >= c->n_args || arg_null(c, (uint32_t)k, r)) {
            call_null(c, r);
            continue;
        }
        wr_str s = arg_str(c, (uint32_t)k, r);
        call_view(c, r, s.ptr, s.len);
    }
    return WR_OK;
}
wr_status fn_levenshtein(wr_call *c) {
    for ROWS(c, r) {
        wr_str   a = arg_str(c, 0, r), b = arg_str(c, 1, r);
        if (a.len > 4096 || b.len > 4096) return call_fail(c, r, "54000", "LEVENSHTEIN takes texts of at most 4096 bytes");
        size_t   n = wr_utf8_chars(b), i = 0;
        int32_t *row = wr_arena_alloc(c->scratch, (n + 1) * sizeof *row);
        for (size_t j = 0; j <= n; j++) row[j] = (int32_t)j;
        for (size_t pa = 0, ua; pa < a.len; pa += ua) {
            uint32_t x = wr_utf8_get(a.ptr + pa, a.ptr + a.len, &ua);
            int32_t  diagonal = row[0];
            row[0] = (int32_t)++i;
            size_t pb = 0, ub;
            for (size_t j = 1; j <= n; j++, pb += ub) {
                int32_t cost = diagonal + (wr_utf8_get(b.ptr + pb, b.ptr + b.len, &ub) != x);
                diagonal = row[j];
                row[j] = WR_MIN(cost, WR_MIN(row[j], row[j - 1]) + 1);
            }
        }
        OUT(c, int32_t)[r] = row[n];
    }
    return WR_OK;
}

/* ---- PRINTF ---- */
static bool format_one(const wr_call *c, uint32_t k, uint32_t r, wr_str spec, char conv, wr_sbuf *out) {
    char fmt[32];
    if (spec.len + 3 >= sizeof fmt) return false;
    memcpy(fmt, spec.ptr, spec.len); /* "%-05.2" */
    wr_type    t = arg_type(c, k);
    uint32_t   row = r & c->arg[k].mask;
    const void *data = c->arg[k].vec->data;
    if (conv == 's' || arg_null(c, k, r)) {
        wr_sbuf text = {0};
        if (arg_null(c, k, r)) wr_sbuf_addz(&text, "null");
        else wr_vec_text(c->arg[k].vec, row, c->tz, &text);
        fmt[spec.len] = 's', fmt[spec.len + 1] = 0;
        wr_sbuf_printf(out, fmt, text.at ? text.at : "");
        wr_sbuf_free(&text);
        return true;
    }
    int64_t i = 0;
    double  d = 0;
    switch (wr_type_storage(t)) {
    case WR_S_I8: i = ((const int8_t *)data)[row]; break;
    case WR_S_I16: i = ((const int16_t *)data)[row]; break;
    case WR_S_I32: i = ((const int32_t *)data)[row]; break;
    case WR_S_I64: i = ((const int64_t *)data)[row]; break;
    case WR_S_F32: d = ((const float *)data)[row]; break;
    case WR_S_F64: d = ((const double *)data)[row]; break;
    case WR_S_I128: d = wr_decimal_to_double(((const wr_i128 *)data)[row], t.scale); break;
    default: return false;
    }
    bool whole = wr_type_is_integer(t);
    if (conv == 'd' || conv == 'x' || conv == 'X' || conv == 'o') {
        if (!whole) return false;
        memcpy(fmt + spec.len, "ll", 2), fmt[spec.len + 2] = conv, fmt[spec.len + 3] = 0;
        wr_sbuf_printf(out, fmt, (long long)i);
    } else if (conv == 'f' || conv == 'e' || conv == 'g') {
        if (whole) return false;
        fmt[spec.len] = conv, fmt[spec.len + 1] = 0;
        wr_sbuf_printf(out, fmt, d);
    } else if (conv == 'c' && whole) {
        char text[4];
        wr_sbuf_add(out, text, wr_utf8_put(text, (uint32_t)i));
    } else {
        return false;
    }
    return true;
}
static bool format_all(const wr_call *c, uint32_t r, wr_sbuf *out) {
    wr_str   f = arg_str(c, 0, r);
    uint32_t next = 1;
    for (size_t i = 0; i < f.len; i++) {
        if (f.ptr[i] != '%') {
            wr_sbuf_addc(out, f.ptr[i]);
            continue;
        }
        size_t from = i++;
        int    digits = 0;
        while (i < f.len && strchr("-+ 0123456789.,", f.ptr[i])) digits += f.ptr[i] >= '0' && f.ptr[i] <= '9', i++;
        if (i >= f.len || digits > 4) return false;
        if (f.ptr[i] == '%') wr_sbuf_addc(out, '%');
        else if (f.ptr[i] == 'n') wr_sbuf_addc(out, '\n');
        else if (next >= c->n_args || !format_one(c, next++, r, (wr_str){f.ptr + from, i - from}, f.ptr[i], out)) return false;
    }
    return true;
}
wr_status fn_printf(wr_call *c) {
    wr_sbuf buf = {0};
    for ROWS(c, r) {
        wr_sbuf_clear(&buf);
        if (!arg_null(c, 0, r) && format_all(c, r, &buf)) call_put(c, r, buf.at ? buf.at : "", buf.len);
        else call_null(c, r);
    }
    wr_sbuf_free(&buf);
    return WR_OK;
}

wr_status fn_current_database(wr_call *c) { /* there is one */
    for ROWS(c, r) call_view(c, r, "default_database", 16);
    return WR_OK;
}
