/* connect/http/json_lines.c: the values of a JSON text, one a line. See target.h.
 *
 * Idea       one pass over the bytes that only knows strings and brackets: where a value ends. Whether it is right JSON is the decoder's to say.
 * Bounds     nesting to DEPTH_MAX, kept as bits.                                                                             */
#include "connect/http/target.h"

enum { DEPTH_MAX = 256 };

typedef struct scan { const char *at, *end; const char *why; } scan;

static void skip_space(scan *s) {
    while (s->at < s->end && (*s->at == ' ' || *s->at == '\n' || *s->at == '\r' || *s->at == '\t')) s->at++;
}

static bool fail(scan *s, const char *why) { return s->why = why, false; }

/* A string, with its quotes. */
static bool take_string(scan *s, wr_str *out) {
    const char *from = s->at++;
    for (; s->at < s->end; s->at++) {
        if (*s->at == '\\' && s->at + 1 < s->end) s->at++;
        else if (*s->at == '"') return *out = (wr_str){from, (size_t)(++s->at - from)}, true;
        if (*s->at == '\n') return fail(s, "a string is not closed in its line");
    }
    return fail(s, "a string is not closed");
}

/* One value; its bytes without white space between them go to `out`, if there is one. */
static bool take_value(scan *s, wr_sbuf *out) {
    uint32_t depth = 0;
    char     kinds[DEPTH_MAX];
    bool     any = false;
    for (;;) {
        skip_space(s);
        if (s->at == s->end) return fail(s, any ? "a value is not closed" : "a value is missing");
        char        c = *s->at;
        const char *from = s->at;
        wr_str      text;
        if (!any && (c == ',' || c == ':' || c == ']' || c == '}')) return fail(s, "a value is missing");
        if (c == '"') {
            if (!take_string(s, &text)) return false;
        } else if (c == '{' || c == '[') {
            if (depth == DEPTH_MAX) return fail(s, "it is nested deeper than 256");
            kinds[depth++] = c == '{' ? '}' : ']';
            s->at++;
        } else if (c == '}' || c == ']') {
            if (!depth || kinds[depth - 1] != c) return fail(s, "brackets do not match");
            depth--, s->at++;
        } else if (c == ',' || c == ':') {
            s->at++;
        } else {
            while (s->at < s->end && !strchr(" \n\r\t,:{}[]\"", *s->at)) s->at++;
            if (s->at == from) return fail(s, "there is a NUL byte");
        }
        if (out) wr_sbuf_add(out, from, (size_t)(s->at - from));
        any = true;
        if (!depth) return true;
    }
}

/* Goes to the value of the member; s stands at an object. *found false: it has none. */
static bool find_member(scan *s, wr_str name, bool *found) {
    *found = false;
    skip_space(s);
    if (s->at == s->end || *s->at != '{') return fail(s, "it is not an object");
    s->at++;
    for (skip_space(s); s->at < s->end && *s->at != '}'; skip_space(s)) {
        wr_str key;
        if (*s->at != '"') return fail(s, "a key is not a string");
        if (!take_string(s, &key)) return false;
        skip_space(s);
        if (s->at == s->end || *s->at++ != ':') return fail(s, "a colon is missing");
        *found = key.len == name.len + 2 && !memcmp(key.ptr + 1, name.ptr, name.len);
        if (*found) return true;
        if (!take_value(s, NULL)) return false;
        skip_space(s);
        if (s->at < s->end && *s->at == ',') s->at++;
    }
    return true;
}

static bool put_value(scan *s, wr_sbuf *out, uint64_t *n) {
    size_t before = out->len;
    bool   ok = take_value(s, out), null = ok && out->len - before == 4 && !memcmp(out->at + before, "null", 4);
    if (!ok || null) {
        out->len = before;
        if (out->at) out->at[before] = 0;
        return ok;
    }
    wr_sbuf_addc(out, '\n');
    ++*n;
    return true;
}

static bool put_array(scan *s, wr_sbuf *out, uint64_t *n) {
    s->at++;
    skip_space(s);
    if (s->at < s->end && *s->at == ']') return s->at++, true;
    for (;;) {
        if (!put_value(s, out, n)) return false;
        skip_space(s);
        if (s->at == s->end) return fail(s, "an array is not closed");
        char c = *s->at++;
        if (c == ']') return true;
        if (c != ',') return fail(s, "a comma is missing between the values of an array");
    }
}

bool json_lines(wr_str text, wr_str path, wr_sbuf *out, uint64_t *n, const char **why) {
    scan s = {text.ptr, text.ptr + text.len, NULL};
    if (text.len >= 3 && !memcmp(text.ptr, "\xef\xbb\xbf", 3)) s.at += 3;
    *n = 0;
    bool inner = path.len > 0;
    for (wr_str name; wr_str_next(&path, '.', &name);) {
        bool found;
        if (!find_member(&s, name, &found)) return *why = s.why, false;
        if (!found) return true;
        skip_space(&s);
    }
    for (skip_space(&s); s.at < s.end; skip_space(&s)) {
        bool ok = *s.at == '[' ? put_array(&s, out, n) : put_value(&s, out, n);
        if (!ok) return *why = s.why, false;
        if (inner) break; /* what stands behind it belongs to the outer object */
    }
    return true;
}
