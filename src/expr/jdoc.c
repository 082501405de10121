/* expr/jdoc.c: see jdoc.h.                                                                                           */
#include "jdoc.h"
#include <stdio.h>
#include <stdlib.h>

/* ---- parsing ---- */
typedef struct parser {
    wr_jdoc    *doc;
    const char *at, *end;
} parser;

static void skip_space(parser *p) {
    while (p->at < p->end && (*p->at == ' ' || *p->at == '\t' || *p->at == '\n' || *p->at == '\r')) p->at++;
}
static bool take(parser *p, char ch) {
    skip_space(p);
    return p->at < p->end && *p->at == ch ? p->at++, true : false;
}
static bool hex4(const char *at, uint32_t *out) {
    *out = 0;
    for (int i = 0; i < 4; i++) {
        char c = at[i];
        int  d = c >= '0' && c <= '9' ? c - '0' : (c | 32) >= 'a' && (c | 32) <= 'f' ? (c | 32) - 'a' + 10 : -1;
        if (d < 0) return false;
        *out = *out << 4 | (uint32_t)d;
    }
    return true;
}
static bool parse_string(parser *p, wr_str *out, bool *escaped) { /* at the opening quote */
    const char *from = ++p->at;
    *escaped = false;
    for (; p->at < p->end && *p->at != '"'; p->at++) {
        if ((unsigned char)*p->at < 0x20) return false;
        if (*p->at != '\\') continue;
        *escaped = true;
        uint32_t u;
        if (++p->at >= p->end) return false;
        if (*p->at == 'u') {
            if (p->end - p->at < 5 || !hex4(p->at + 1, &u)) return false;
            p->at += 4;
        } else if (!strchr("\"\\/bfnrt", *p->at)) {
            return false;
        }
    }
    if (p->at >= p->end) return false;
    *out = (wr_str){from, (size_t)(p->at - from)};
    p->at++;
    return true;
}
static bool digits(parser *p) {
    const char *from = p->at;
    while (p->at < p->end && *p->at >= '0' && *p->at <= '9') p->at++;
    return p->at > from;
}
static bool parse_number(parser *p, wr_str *out) {
    const char *from = p->at;
    if (*p->at == '-') p->at++;
    if (p->at < p->end && *p->at == '0') p->at++;
    else if (!digits(p)) return false;
    if (p->at < p->end && *p->at == '.' && (p->at++, !digits(p))) return false;
    if (p->at < p->end && (*p->at == 'e' || *p->at == 'E')) {
        p->at++;
        if (p->at < p->end && (*p->at == '+' || *p->at == '-')) p->at++;
        if (!digits(p)) return false;
    }
    *out = (wr_str){from, (size_t)(p->at - from)};
    return true;
}
static bool word(parser *p, const char *w) {
    size_t n = strlen(w);
    if ((size_t)(p->end - p->at) < n || memcmp(p->at, w, n) != 0) return false;
    p->at += n;
    return true;
}

static bool parse_value(parser *p, wr_str key, bool key_escaped, int depth);

static bool parse_members(parser *p, uint32_t self, bool object, int depth) {
    char     close = object ? '}' : ']';
    uint32_t last = 0;
    p->at++;
    if (take(p, close)) return true;
    do {
        wr_str   key = {0};
        bool     escaped = false;
        skip_space(p);
        if (object && (p->at >= p->end || *p->at != '"' || !parse_string(p, &key, &escaped) || !take(p, ':'))) return false;
        uint32_t child = p->doc->nodes.n;
        if (!parse_value(p, key, escaped, depth + 1)) return false;
        if (last) p->doc->nodes.at[last].next = child;
        last = child;
        p->doc->nodes.at[self].n++;
    } while (take(p, ','));
    return take(p, close);
}

static bool parse_value(parser *p, wr_str key, bool key_escaped, int depth) {
    skip_space(p);
    if (p->at >= p->end || depth > JDOC_DEPTH_MAX) return false;
    wr_jnode node = {.key = key, .key_escaped = key_escaped};
    const char *from = p->at;
    bool        ok = true;
    switch (*p->at) {
    case '{': node.kind = WR_J_OBJECT; break;
    case '[': node.kind = WR_J_ARRAY; break;
    case '"': node.kind = WR_J_STRING, ok = parse_string(p, &node.text, &node.escaped); break;
    case 't': node.kind = WR_J_BOOL, ok = word(p, "true"), node.text = (wr_str){from, 4}; break;
    case 'f': node.kind = WR_J_BOOL, ok = word(p, "false"), node.text = (wr_str){from, 5}; break;
    case 'n': node.kind = WR_J_NULL, ok = word(p, "null"), node.text = (wr_str){from, 4}; break;
    default: node.kind = WR_J_NUMBER, ok = parse_number(p, &node.text);
    }
    if (!ok) return false;
    uint32_t self = p->doc->nodes.n;
    wr_arr_push(&p->doc->nodes, node);
    return node.kind < WR_J_OBJECT || parse_members(p, self, node.kind == WR_J_OBJECT, depth);
}

bool wr_jdoc_parse(wr_jdoc *doc, wr_str text) {
    parser p = {doc, text.ptr, text.ptr + text.len};
    doc->nodes.n = 0;
    if (text.len == 0 || !parse_value(&p, (wr_str){0}, false, 0)) return false;
    skip_space(&p);
    return p.at == p.end && wr_utf8_valid(text);
}
void wr_jdoc_free(wr_jdoc *doc) { wr_arr_free(&doc->nodes); }

/* ---- printing ---- */
static void unescape(wr_str s, bool escaped, wr_sbuf *out) {
    if (!escaped) {
        wr_sbuf_add_str(out, s);
        return;
    }
    for (size_t i = 0; i < s.len; i++) {
        if (s.ptr[i] != '\\') {
            wr_sbuf_addc(out, s.ptr[i]);
            continue;
        }
        char ch = s.ptr[++i];
        if (ch != 'u') {
            const char *from = "bfnrt", *to = "\b\f\n\r\t", *hit = strchr(from, ch);
            wr_sbuf_addc(out, hit ? to[hit - from] : ch);
            continue;
        }
        uint32_t u = 0, low;
        hex4(s.ptr + i + 1, &u);
        i += 4;
        if (u >= 0xD800 && u < 0xDC00 && i + 6 < s.len && s.ptr[i + 1] == '\\' && s.ptr[i + 2] == 'u' && hex4(s.ptr + i + 3, &low) && low >= 0xDC00 && low < 0xE000) {
            u = 0x10000 + ((u - 0xD800) << 10) + (low - 0xDC00);
            i += 6;
        }
        char text[4];
        wr_sbuf_add(out, text, wr_utf8_put(text, u >= 0xD800 && u < 0xE000 ? 0xFFFD : u));
    }
}

static void print_string(wr_str s, bool escaped, bool scalar, wr_sbuf *out) {
    if (scalar) {
        unescape(s, escaped, out);
    } else if (!escaped) {
        wr_sbuf_add_json(out, s);
    } else {
        wr_sbuf text = {0};
        unescape(s, true, &text);
        wr_sbuf_add_json(out, wr_sbuf_str(&text));
        wr_sbuf_free(&text);
    }
}

/* BigDecimal.toString of the literal: digits x 10^-scale, plain unless the exponent says otherwise. */
static void print_number(wr_str s, wr_sbuf *out) {
    wr_sbuf d = {0}; /* the digits without leading zeros */
    bool    minus = s.ptr[0] == '-', point = false, special = false, zero = true;
    int64_t scale = 0;
    size_t  i = minus;
    for (; i < s.len && s.ptr[i] != 'e' && s.ptr[i] != 'E'; i++) {
        if (s.ptr[i] == '.') {
            point = true;
            continue;
        }
        zero &= s.ptr[i] == '0';
        if (d.len || s.ptr[i] != '0') wr_sbuf_addc(&d, s.ptr[i]);
        scale += point;
    }
    if (i < s.len) special = true, scale -= strtol(s.ptr + i + 1, NULL, 10);
    if (d.len == 0) wr_sbuf_addc(&d, '0');
    int64_t adjusted = (int64_t)d.len - 1 - scale;
    if (minus && !zero) wr_sbuf_addc(out, '-');
    if (!special && adjusted >= -6) { /* as written */
        wr_sbuf_add(out, s.ptr + minus, s.len - minus);
    } else if (scale >= 0 && adjusted >= -6) {
        if ((int64_t)d.len <= scale) {
            wr_sbuf_addz(out, "0.");
            for (int64_t k = (int64_t)d.len; k < scale; k++) wr_sbuf_addc(out, '0');
            wr_sbuf_add_str(out, wr_sbuf_str(&d));
        } else {
            wr_sbuf_add(out, d.at, d.len - (size_t)scale);
            if (scale) wr_sbuf_addc(out, '.'), wr_sbuf_add(out, d.at + d.len - scale, (size_t)scale);
        }
    } else {
        wr_sbuf_addc(out, d.at[0]);
        if (d.len > 1) wr_sbuf_addc(out, '.'), wr_sbuf_add(out, d.at + 1, d.len - 1);
        if (adjusted) wr_sbuf_printf(out, "E%+lld", (long long)adjusted);
    }
    wr_sbuf_free(&d);
}

void wr_jdoc_key(const wr_jdoc *doc, uint32_t node, wr_sbuf *out) { unescape(doc->nodes.at[node].key, doc->nodes.at[node].key_escaped, out); }

typedef struct member { wr_sbuf key; uint32_t node; } member;
static int by_key(const void *a, const void *b) {
    const member *x = a, *y = b;
    int d = wr_str_cmp(wr_sbuf_str(&x->key), wr_sbuf_str(&y->key));
    return d ? d : (x->node > y->node) - (x->node < y->node);
}
static void print_object(const wr_jdoc *doc, uint32_t node, wr_sbuf *out) {
    uint32_t n = doc->nodes.at[node].n, k = 0;
    member  *list = wr_calloc(n ? n : 1, sizeof *list);
    for (uint32_t c = n ? node + 1 : 0; c; c = doc->nodes.at[c].next, k++) {
        list[k].node = c;
        wr_jdoc_key(doc, c, &list[k].key);
    }
    qsort(list, n, sizeof *list, by_key);
    bool any = false;
    wr_sbuf_addc(out, '{');
    for (k = 0; k < n; k++) {
        if (k + 1 < n && wr_str_eq(wr_sbuf_str(&list[k].key), wr_sbuf_str(&list[k + 1].key))) continue; /* the last of equal keys counts */
        if (any) wr_sbuf_addc(out, ',');
        any = true;
        wr_sbuf_add_json(out, wr_sbuf_str(&list[k].key));
        wr_sbuf_addc(out, ':');
        wr_jdoc_print(doc, list[k].node, false, out);
    }
    wr_sbuf_addc(out, '}');
    for (k = 0; k < n; k++) wr_sbuf_free(&list[k].key);
    wr_free(list);
}

void wr_jdoc_print(const wr_jdoc *doc, uint32_t node, bool scalar, wr_sbuf *out) { /* depth: bounded by the parser */
    const wr_jnode *x = &doc->nodes.at[node];
    switch (x->kind) {
    case WR_J_STRING: print_string(x->text, x->escaped, scalar, out); break;
    case WR_J_NUMBER: print_number(x->text, out); break;
    case WR_J_OBJECT: print_object(doc, node, out); break;
    case WR_J_ARRAY:
        wr_sbuf_addc(out, '[');
        for (uint32_t c = x->n ? node + 1 : 0; c; c = doc->nodes.at[c].next) {
            if (c != node + 1) wr_sbuf_addc(out, ',');
            wr_jdoc_print(doc, c, false, out);
        }
        wr_sbuf_addc(out, ']');
        break;
    default: wr_sbuf_add_str(out, x->text);
    }
}

/* ---- paths ---- */
static bool name_char(char ch) { return (ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z') || (ch >= '0' && ch <= '9') || ch == '_' || ch == '-' || (unsigned char)ch >= 0x80; }

static bool bracket_step(wr_str in, wr_jstep *step) { /* what stands between [ and ] */
    in = wr_str_trim(in);
    if (in.len >= 2 && (in.ptr[0] == '\'' || in.ptr[0] == '"')) {
        step->key = (wr_str){in.ptr + 1, in.len - 2};
        return in.ptr[in.len - 1] == in.ptr[0];
    }
    if (wr_str_eq(in, WR_STR("*"))) return step->kind = WR_STEP_ANY, true;
    if (wr_str_eq(in, WR_STR("last"))) return step->kind = WR_STEP_LAST, true;
    step->kind = WR_STEP_INDEX;
    for (size_t i = 0; i < in.len; i++) {
        if (in.ptr[i] < '0' || in.ptr[i] > '9' || i > 15) return false;
        step->index = step->index * 10 + (uint64_t)(in.ptr[i] - '0');
    }
    return in.len > 0;
}

static bool parse_step(wr_str s, size_t *i, wr_jpath *p) {
    wr_jstep step = {.kind = WR_STEP_KEY};
    if (s.ptr[*i] == '.') {
        size_t from = ++*i;
        if (from < s.len && s.ptr[from] == '*') {
            ++*i;
            step.kind = WR_STEP_ANY;
        } else {
            while (*i < s.len && name_char(s.ptr[*i])) ++*i;
            if (*i == from) return false;
            step.key = (wr_str){s.ptr + from, *i - from};
        }
    } else if (s.ptr[*i] == '[') {
        const char *from = s.ptr + *i + 1, *end = *i + 1 < s.len ? memchr(from, ']', s.len - *i - 1) : NULL;
        if (!end || !bracket_step((wr_str){from, (size_t)(end - from)}, &step)) return false;
        *i = (size_t)(end - s.ptr) + 1;
    } else {
        return false;
    }
    wr_arr_push(&p->steps, step);
    return true;
}

bool wr_jpath_parse(wr_str s, wr_jpath *p) {
    *p = (wr_jpath){0};
    s = wr_str_trim(s);
    if (wr_str_starts(s, WR_STR("lax "))) s = wr_str_trim((wr_str){s.ptr + 4, s.len - 4}), p->lax = true;
    else if (wr_str_starts(s, WR_STR("strict "))) s = wr_str_trim((wr_str){s.ptr + 7, s.len - 7});
    bool   ok = s.len > 0 && s.ptr[0] == '$';
    size_t i = 1;
    while (ok && i < s.len) ok = parse_step(s, &i, p);
    if (!ok) wr_jpath_free(p);
    return ok;
}
void wr_jpath_free(wr_jpath *p) { wr_arr_free(&p->steps); }

static bool key_is(const wr_jnode *x, wr_str key) {
    if (!x->key_escaped) return wr_str_eq(x->key, key);
    wr_sbuf text = {0};
    unescape(x->key, true, &text);
    bool same = wr_str_eq(wr_sbuf_str(&text), key);
    wr_sbuf_free(&text);
    return same;
}

static void walk(const wr_jpath *p, const wr_jdoc *doc, uint32_t node, uint32_t i, wr_jhits *hits) { /* depth: that of the path or the document */
    if (i == p->steps.n) {
        wr_arr_push(&hits->nodes, node);
        return;
    }
    const wr_jnode *x = &doc->nodes.at[node];
    const wr_jstep *s = &p->steps.at[i];
    if (x->kind < WR_J_OBJECT || x->n == 0 || (s->kind != WR_STEP_ANY && (s->kind == WR_STEP_KEY) != (x->kind == WR_J_OBJECT))) return;
    uint64_t at = 0, want = s->kind == WR_STEP_LAST ? x->n - 1 : s->index;
    uint32_t found = 0;
    for (uint32_t c = node + 1; c; c = doc->nodes.at[c].next, at++) {
        if (s->kind == WR_STEP_ANY) walk(p, doc, c, i + 1, hits);
        else if (s->kind == WR_STEP_KEY ? key_is(&doc->nodes.at[c], s->key) : at == want) found = c; /* the last of equal keys */
    }
    if (found) walk(p, doc, found, i + 1, hits);
}

void wr_jpath_find(const wr_jpath *path, const wr_jdoc *doc, wr_jhits *hits) {
    hits->nodes.n = 0;
    if (doc->nodes.n) walk(path, doc, 0, 0, hits);
}
