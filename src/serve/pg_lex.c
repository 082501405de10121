/* serve/pg_lex.c: see pg_lex.h. One pass, no recursion.                                                                           */
#include "serve/pg_lex.h"
#include <stdlib.h>

typedef struct lexer { const char *start, *at, *end; } lexer;

static bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
static bool is_digit(char c) { return c >= '0' && c <= '9'; }
static bool is_word(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (unsigned char)c >= 0x80; }
static bool is_op(char c) { return c && strchr("+-*/<>=~!@#%^&|`?", c); }

/* Past blanks and comments; false: a comment does not end. */
static bool skip(lexer *l) {
    while (l->at < l->end) {
        if (is_space(*l->at)) {
            l->at++;
        } else if (l->end - l->at > 1 && l->at[0] == '-' && l->at[1] == '-') {
            while (l->at < l->end && *l->at != '\n') l->at++;
        } else if (l->end - l->at > 1 && l->at[0] == '/' && l->at[1] == '*') {
            uint32_t depth = 1;
            const char *at = l->at + 2;
            for (; at < l->end && depth; at++) {
                if (l->end - at > 1 && at[0] == '/' && at[1] == '*') depth++, at++;
                else if (l->end - at > 1 && at[0] == '*' && at[1] == '/') depth--, at++;
            }
            if (depth) return false;
            l->at = at;
        } else {
            break;
        }
    }
    return true;
}

/* Behind the closing quote of what opens at `at`, or NULL. */
static const char *quoted(const lexer *l, const char *at, bool escapes) {
    char quote = *at++;
    for (; at < l->end; at++) {
        if (escapes && *at == '\\' && l->end - at > 1) at++;
        else if (*at == quote && l->end - at > 1 && at[1] == quote) at++;
        else if (*at == quote) return at + 1;
    }
    return NULL;
}

/* $tag$ ... $tag$; NULL: it does not begin so, or has no end (*bad). */
static const char *dollars(const lexer *l, bool *bad) {
    const char *tag = l->at + 1;
    while (tag < l->end && (is_word(*tag) || (tag > l->at + 1 && is_digit(*tag)))) tag++;
    if (tag >= l->end || *tag != '$') return NULL;
    size_t      n = (size_t)(tag + 1 - l->at);
    const char *end = memmem(tag + 1, (size_t)(l->end - tag - 1), l->at, n);
    *bad = !end;
    return end ? end + n : NULL;
}

static const char *number(const lexer *l) {
    const char *at = l->at;
    while (at < l->end && is_digit(*at)) at++;
    if (at < l->end && *at == '.' && !(l->end - at > 1 && at[1] == '.')) {
        at++;
        while (at < l->end && is_digit(*at)) at++;
    }
    if (at < l->end && (*at == 'e' || *at == 'E')) {
        const char *e = at + 1;
        if (e < l->end && (*e == '+' || *e == '-')) e++;
        if (e < l->end && is_digit(*e)) {
            while (e < l->end && is_digit(*e)) e++;
            at = e;
        }
    }
    return at;
}

static const char *operator_end(const lexer *l) {
    const char *at = l->at;
    bool        special = false;
    while (at < l->end && is_op(*at)) {
        if (at > l->at && l->end - at > 1 && ((at[0] == '-' && at[1] == '-') || (at[0] == '/' && at[1] == '*'))) break;
        special |= strchr("~!@#%^&|`?", *at) != NULL;
        at++;
    }
    while (!special && at - l->at > 1 && (at[-1] == '+' || at[-1] == '-')) at--;
    return at;
}

static const char *one(lexer *l, pg_tok *t, bool *bad) {
    char c = *l->at, next = l->end - l->at > 1 ? l->at[1] : 0;
    const char *at = l->at;
    *bad = false;
    if (c == '\'' || c == '"' || ((c == 'e' || c == 'E' || c == 'x' || c == 'X' || c == 'b' || c == 'B' || c == 'n' || c == 'N') && next == '\'')) {
        bool prefixed = c != '\'' && c != '"', e = (c | 32) == 'e';
        t->kind = c == '"' ? PG_QUOTED : !prefixed || (c | 32) == 'n' ? PG_STRING : e ? PG_ESTRING : PG_BITS;
        at = quoted(l, l->at + prefixed, e);
        *bad = !at;
        return at;
    }
    if (is_word(c)) {
        while (at < l->end && (is_word(*at) || is_digit(*at) || *at == '$')) at++;
        t->kind = PG_WORD;
        return at;
    }
    if (is_digit(c) || (c == '.' && is_digit(next))) return t->kind = PG_NUMBER, number(l);
    if (c == '$' && is_digit(next)) {
        for (at++; at < l->end && is_digit(*at); at++) t->param = t->param < 100000 ? t->param * 10 + (uint32_t)(*at - '0') : t->param;
        t->kind = PG_PARAM;
        return at;
    }
    if (c == '$' && (at = dollars(l, bad))) return t->kind = PG_DOLLAR, at;
    if (*bad) return NULL;
    if (c == ':' && (next == ':' || next == '=')) return t->kind = PG_OP, l->at + 2;
    if (is_op(c)) return t->kind = PG_OP, operator_end(l);
    t->kind = PG_CHAR;
    return l->at + 1;
}

wr_status pg_lex(wr_arena *arena, wr_str sql, pg_toks *out, uint32_t *at, wr_err *err) {
    lexer l = {sql.ptr, sql.ptr, sql.ptr + sql.len};
    *out = (pg_toks){0};
    *at = 0;
    if (!wr_utf8_valid(sql)) return wr_fail(err, WR_USER, "22021", "invalid byte sequence for encoding \"UTF8\" in the statement");
    for (;;) {
        const char *before = l.at;
        bool        ok = skip(&l), bad;
        *at = (uint32_t)(l.at - l.start);
        if (!ok) return wr_fail(err, WR_USER, "42601", "unterminated /* comment");
        pg_tok t = {.at = *at, .glued = before == l.at && before > l.start};
        if (l.at >= l.end) {
            for (int i = 0; i <= PG_LEX_SPARE; i++) wr_arr_apush(arena, &out->list, t);
            out->list.n -= PG_LEX_SPARE;
            return WR_OK;
        }
        const char *end = one(&l, &t, &bad);
        if (!end) return wr_fail(err, WR_USER, "42601", "unterminated quoted %s", t.kind == PG_QUOTED ? "identifier" : "string");
        t.text = (wr_str){l.at, (size_t)(end - l.at)};
        l.at = end;
        wr_arr_apush(arena, &out->list, t);
    }
}

bool pg_is(const pg_tok *t, const char *word) { return t->kind == PG_WORD && wr_str_ieq(t->text, wr_str_of(word)); }
bool pg_is_char(const pg_tok *t, char c) { return t->kind == PG_CHAR && t->text.ptr[0] == c; }
bool pg_is_op(const pg_tok *t, const char *op) { return t->kind == PG_OP && wr_str_eq(t->text, wr_str_of(op)); }
bool pg_is_name(const pg_tok *t) { return t->kind == PG_WORD || t->kind == PG_QUOTED; }
bool pg_is_text(const pg_tok *t) { return t->kind == PG_STRING || t->kind == PG_ESTRING || t->kind == PG_DOLLAR; }

/* What stands between quotes, doubled ones made single. */
static wr_str undouble(wr_arena *arena, wr_str in, char quote) {
    char  *out = wr_arena_alloc(arena, in.len + 1);
    size_t n = 0;
    for (size_t i = 0; i < in.len; i++) {
        out[n++] = in.ptr[i];
        if (in.ptr[i] == quote && i + 1 < in.len) i++;
    }
    out[n] = 0;
    return (wr_str){out, n};
}

wr_str pg_name(wr_arena *arena, const pg_tok *t) {
    if (t->kind == PG_QUOTED) return undouble(arena, (wr_str){t->text.ptr + 1, t->text.len - 2}, '"');
    char *out = wr_arena_strndup(arena, t->text.ptr, t->text.len);
    for (char *c = out; *c; c++)
        if (*c >= 'A' && *c <= 'Z') *c = (char)(*c + 32);
    return (wr_str){out, t->text.len};
}

static unsigned digits(const char **at, const char *end, unsigned base, unsigned most) {
    unsigned v = 0;
    for (unsigned i = 0; i < most && *at < end; i++, (*at)++) {
        char     c = (char)(**at | 32);
        unsigned d = c >= '0' && c <= '9' ? (unsigned)(**at - '0') : c >= 'a' && c <= 'f' ? (unsigned)(c - 'a' + 10) : 99;
        if (d >= base) break;
        v = v * base + d;
    }
    return v;
}

static wr_str unescape(wr_arena *arena, wr_str in) {
    char       *out = wr_arena_alloc(arena, in.len * 2 + 5);
    size_t      n = 0;
    const char *at = in.ptr, *end = in.ptr + in.len;
    while (at < end) {
        char c = *at++;
        if (c == '\'') {
            out[n++] = '\'';
            if (at < end) at++;
            continue;
        }
        if (c != '\\' || at == end) {
            out[n++] = c;
            continue;
        }
        c = *at++;
        if (c >= '0' && c <= '7') at--, out[n++] = (char)digits(&at, end, 8, 3);
        else if (c == 'x') out[n++] = (char)digits(&at, end, 16, 2);
        else if (c == 'u' || c == 'U') n += wr_utf8_put(out + n, digits(&at, end, 16, c == 'u' ? 4 : 8));
        else out[n++] = c == 'n' ? '\n' : c == 't' ? '\t' : c == 'r' ? '\r' : c == 'b' ? '\b' : c == 'f' ? '\f' : c;
    }
    out[n] = 0;
    return (wr_str){out, n};
}

wr_str pg_text(wr_arena *arena, const pg_tok *t) {
    if (t->kind == PG_ESTRING) return unescape(arena, (wr_str){t->text.ptr + 2, t->text.len - 3});
    if (t->kind == PG_DOLLAR) {
        size_t tag = (size_t)((const char *)memchr(t->text.ptr + 1, '$', t->text.len - 1) - t->text.ptr) + 1;
        return (wr_str){t->text.ptr + tag, t->text.len - 2 * tag};
    }
    size_t prefix = t->text.ptr[0] == '\'' ? 1 : 2;
    return undouble(arena, (wr_str){t->text.ptr + prefix, t->text.len - prefix - 1}, '\'');
}
