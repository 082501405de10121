/* base/str.c: see str.h. */
#include "base/str.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

static inline unsigned char lower(unsigned char c) { return c >= 'A' && c <= 'Z' ? (unsigned char)(c + 32) : c; }

bool wr_str_ieq(wr_str a, wr_str b) {
    if (a.len != b.len) return false;
    for (size_t i = 0; i < a.len; i++)
        if (lower((unsigned char)a.ptr[i]) != lower((unsigned char)b.ptr[i])) return false;
    return true;
}

int wr_str_cmp(wr_str a, wr_str b) {
    size_t n = WR_MIN(a.len, b.len);
    int    c = n ? memcmp(a.ptr, b.ptr, n) : 0;
    return c ? c : (a.len > b.len) - (a.len < b.len);
}

wr_str wr_str_dup(wr_arena *arena, wr_str s) { return (wr_str){wr_arena_strndup(arena, s.ptr, s.len), s.len}; }

wr_str wr_str_trim(wr_str s) {
    while (s.len && (unsigned char)s.ptr[0] <= ' ') s.ptr++, s.len--;
    while (s.len && (unsigned char)s.ptr[s.len - 1] <= ' ') s.len--;
    return s;
}

bool wr_str_starts(wr_str s, wr_str prefix) {
    return s.len >= prefix.len && (prefix.len == 0 || memcmp(s.ptr, prefix.ptr, prefix.len) == 0);
}

bool wr_str_next(wr_str *list, char sep, wr_str *item) {
    if (!list->len) return false;
    const char *end = list->ptr + list->len, *found = memchr(list->ptr, sep, list->len), *stop = found ? found : end;
    *item = wr_str_trim((wr_str){list->ptr, (size_t)(stop - list->ptr)});
    list->ptr = found ? found + 1 : end;
    list->len = (size_t)(end - list->ptr);
    return true;
}

enum { NAME_MAX_COMPARED = 64, FAR = 8 };

unsigned wr_edit_distance(wr_str a, wr_str b) {
    if (a.len > NAME_MAX_COMPARED || b.len > NAME_MAX_COMPARED) return FAR;
    unsigned rows[3][NAME_MAX_COMPARED + 1];
    unsigned *before = rows[0], *last = rows[1], *row = rows[2];
    for (unsigned j = 0; j <= b.len; j++) last[j] = j;
    for (size_t i = 1; i <= a.len; i++) {
        row[0] = (unsigned)i;
        for (size_t j = 1; j <= b.len; j++) {
            unsigned char ca = lower((unsigned char)a.ptr[i - 1]), cb = lower((unsigned char)b.ptr[j - 1]);
            unsigned      best = last[j - 1] + (ca != cb);
            best = WR_MIN(best, last[j] + 1);
            best = WR_MIN(best, row[j - 1] + 1);
            if (i > 1 && j > 1 && ca == lower((unsigned char)b.ptr[j - 2]) && cb == lower((unsigned char)a.ptr[i - 2]))
                best = WR_MIN(best, before[j - 2] + 1);
            row[j] = best;
        }
        unsigned *oldest = before;
        before = last;
        last = row;
        row = oldest;
    }
    return WR_MIN(last[b.len], (unsigned)FAR);
}

int wr_nearest(wr_str name, const wr_str *candidates, size_t n) {
    unsigned best = (unsigned)WR_MAX((size_t)2, name.len / 3) + 1;
    int      found = -1;
    for (size_t i = 0; i < n; i++) {
        unsigned d = wr_edit_distance(name, candidates[i]);
        if (d < best && d < FAR && d < candidates[i].len) best = d, found = (int)i;
    }
    return found;
}

void wr_sbuf_free(wr_sbuf *buf) {
    wr_free(buf->at);
    *buf = (wr_sbuf){.max = buf->max};
}

void wr_sbuf_reserve(wr_sbuf *buf, size_t extra) {
    size_t need = buf->len + extra + 1;
    if (need <= buf->cap) return;
    size_t cap = buf->cap ? buf->cap : 64;
    while (cap < need) cap *= 2;
    buf->at = wr_realloc(buf->at, cap);
    buf->cap = cap;
}

void wr_sbuf_add(wr_sbuf *buf, const void *bytes, size_t len) {
    if (buf->max && buf->len + len > buf->max) {
        buf->overflow = true;
        return;
    }
    wr_sbuf_reserve(buf, len);
    if (len) memcpy(buf->at + buf->len, bytes, len);
    buf->len += len;
    buf->at[buf->len] = 0;
}

void wr_sbuf_add_str(wr_sbuf *buf, wr_str s) { wr_sbuf_add(buf, s.ptr, s.len); }
void wr_sbuf_addz(wr_sbuf *buf, const char *text) { wr_sbuf_add(buf, text, strlen(text)); }
void wr_sbuf_addc(wr_sbuf *buf, char c) { wr_sbuf_add(buf, &c, 1); }

void wr_sbuf_printf(wr_sbuf *buf, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    int len = vsnprintf(NULL, 0, fmt, ap);
    va_end(ap);
    wr_assert(len >= 0);
    if (buf->max && buf->len + (size_t)len > buf->max) {
        buf->overflow = true;
        return;
    }
    wr_sbuf_reserve(buf, (size_t)len);
    va_start(ap, fmt);
    vsnprintf(buf->at + buf->len, (size_t)len + 1, fmt, ap);
    va_end(ap);
    buf->len += (size_t)len;
}

void wr_sbuf_add_json(wr_sbuf *buf, wr_str s) {
    wr_sbuf_addc(buf, '"');
    const char *at = s.ptr, *end = s.ptr + s.len, *plain = at;
    while (at < end) {
        unsigned char c = (unsigned char)*at;
        if (c >= 0x20 && c != '"' && c != '\\' && c < 0x80) {
            at++;
            continue;
        }
        size_t   used = 1;
        uint32_t cp = c;
        if (c >= 0x80) {
            cp = wr_utf8_get(at, end, &used);
            if (cp != 0xFFFD || used == 3) {
                at += used;
                continue;
            }
        }
        wr_sbuf_add(buf, plain, (size_t)(at - plain));
        switch (cp) {
        case '"': wr_sbuf_addz(buf, "\\\""); break;
        case '\\': wr_sbuf_addz(buf, "\\\\"); break;
        case '\n': wr_sbuf_addz(buf, "\\n"); break;
        case '\r': wr_sbuf_addz(buf, "\\r"); break;
        case '\t': wr_sbuf_addz(buf, "\\t"); break;
        case 0xFFFD: wr_sbuf_addz(buf, "\xEF\xBF\xBD"); break;
        default: wr_sbuf_printf(buf, "\\u%04x", (unsigned)cp);
        }
        at += used;
        plain = at;
    }
    wr_sbuf_add(buf, plain, (size_t)(at - plain));
    wr_sbuf_addc(buf, '"');
}

void wr_put_u8(wr_sbuf *buf, uint8_t v) { wr_sbuf_add(buf, &v, 1); }
void wr_put_u32(wr_sbuf *buf, uint32_t v) { wr_sbuf_add(buf, &v, 4); } /* x86-64 and arm64: little-endian in memory */
void wr_put_u64(wr_sbuf *buf, uint64_t v) { wr_sbuf_add(buf, &v, 8); }
void wr_put_i64(wr_sbuf *buf, int64_t v) { wr_sbuf_add(buf, &v, 8); }
void wr_put_f64(wr_sbuf *buf, double v) { wr_sbuf_add(buf, &v, 8); }
void wr_put_bytes(wr_sbuf *buf, const void *bytes, size_t len) {
    wr_assert(len <= UINT32_MAX);
    wr_put_u32(buf, (uint32_t)len);
    wr_sbuf_add(buf, bytes, len);
}
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "stored formats are little-endian");

static void take(wr_reader *r, void *out, size_t len) {
    if ((size_t)(r->end - r->at) < len) {
        r->bad = true;
        memset(out, 0, len);
        return;
    }
    memcpy(out, r->at, len);
    r->at += len;
}

uint8_t wr_get_u8(wr_reader *r) { uint8_t v; take(r, &v, 1); return v; }
uint32_t wr_get_u32(wr_reader *r) { uint32_t v; take(r, &v, 4); return v; }
uint64_t wr_get_u64(wr_reader *r) { uint64_t v; take(r, &v, 8); return v; }
int64_t wr_get_i64(wr_reader *r) { int64_t v; take(r, &v, 8); return v; }
double wr_get_f64(wr_reader *r) { double v; take(r, &v, 8); return v; }
wr_str wr_get_bytes(wr_reader *r) {
    uint32_t len = wr_get_u32(r);
    if ((size_t)(r->end - r->at) < len) {
        r->bad = true;
        return (wr_str){"", 0};
    }
    wr_str s = {(const char *)r->at, len};
    r->at += len;
    return s;
}

/* Decodes one code point strictly (no overlong forms, no surrogates, at most U+10FFFF). */
uint32_t wr_utf8_get(const char *at, const char *end, size_t *used) {
    const unsigned char *p = (const unsigned char *)at;
    size_t               left = (size_t)(end - at);
    *used = 1;
    if (p[0] < 0x80) return p[0];
    unsigned need = p[0] >= 0xF0 && p[0] <= 0xF4 ? 3 : p[0] >= 0xE0 && p[0] < 0xF0 ? 2 : p[0] >= 0xC2 && p[0] < 0xE0 ? 1 : 0;
    if (!need || left <= need) return 0xFFFD;
    uint32_t cp = p[0] & (0x3Fu >> need);
    for (unsigned i = 1; i <= need; i++) {
        if ((p[i] & 0xC0) != 0x80) return 0xFFFD;
        cp = cp << 6 | (p[i] & 0x3Fu);
    }
    static const uint32_t least[] = {0, 0x80, 0x800, 0x10000};
    if (cp < least[need] || cp > 0x10FFFF || (cp >= 0xD800 && cp <= 0xDFFF)) return 0xFFFD;
    *used = need + 1;
    return cp;
}

bool wr_utf8_valid(wr_str s) {
    const char *at = s.ptr, *end = s.ptr + s.len;
    while (at < end) {
        uint64_t word;
        if (end - at >= 8 && (memcpy(&word, at, 8), !(word & 0x8080808080808080ull))) {
            at += 8;
            continue;
        }
        size_t   used;
        uint32_t cp = wr_utf8_get(at, end, &used);
        if (cp == 0xFFFD && used == 1) return false;
        at += used;
    }
    return true;
}

size_t wr_utf8_chars(wr_str s) {
    size_t n = 0;
    for (size_t i = 0; i < s.len; i++) n += ((unsigned char)s.ptr[i] & 0xC0) != 0x80;
    return n;
}

size_t wr_utf8_offset(wr_str s, size_t chars) {
    for (size_t i = 0; i < s.len; i++)
        if (((unsigned char)s.ptr[i] & 0xC0) != 0x80 && chars-- == 0) return i;
    return s.len;
}

size_t wr_utf8_put(char out[4], uint32_t cp) {
    if (cp < 0x80) return out[0] = (char)cp, 1;
    if (cp < 0x800) return out[0] = (char)(0xC0 | cp >> 6), out[1] = (char)(0x80 | (cp & 0x3F)), 2;
    if (cp < 0x10000)
        return out[0] = (char)(0xE0 | cp >> 12), out[1] = (char)(0x80 | (cp >> 6 & 0x3F)), out[2] = (char)(0x80 | (cp & 0x3F)), 3;
    return out[0] = (char)(0xF0 | cp >> 18), out[1] = (char)(0x80 | (cp >> 12 & 0x3F)), out[2] = (char)(0x80 | (cp >> 6 & 0x3F)),
           out[3] = (char)(0x80 | (cp & 0x3F)), 4;
}
