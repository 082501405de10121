/* api/text.c: ${NAME} in scripts.
 *
 * Idea       one walk over the text that knows just enough of SQL's lexis: comments are left alone, and inside a 'literal' a quote in the value is
 *            doubled, so that a value can never end the literal it stands in. A name that nobody gave is an error with its place.
 * Memory     the result in the caller's buffer.                                                                          */
#include "api/internal.h"

typedef enum lex_state { PLAIN, LITERAL, QUOTED_NAME, LINE_COMMENT, BLOCK_COMMENT } lex_state;

static lex_state next_state(lex_state state, const char *at, const char *end, size_t *skip) {
    char c = *at, d = at + 1 < end ? at[1] : '\0';
    *skip = 1;
    switch (state) {
    case PLAIN:
        if (c == '\'') return LITERAL;
        if (c == '`') return QUOTED_NAME;
        if (c == '-' && d == '-') return *skip = 2, LINE_COMMENT;
        if (c == '/' && d == '*') return *skip = 2, BLOCK_COMMENT;
        return PLAIN;
    case LITERAL: return c == '\'' ? PLAIN : LITERAL; /* '' leaves and enters again */
    case QUOTED_NAME: return c == '`' ? PLAIN : QUOTED_NAME;
    case LINE_COMMENT: return c == '\n' ? PLAIN : LINE_COMMENT;
    case BLOCK_COMMENT:
        if (c == '*' && d == '/') return *skip = 2, PLAIN;
        return BLOCK_COMMENT;
    }
    return PLAIN;
}

static bool name_char(char c) { return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_'; }

/* The NAME of ${NAME} at `at`; ptr NULL if it is not one. */
static wr_str reference(const char *at, const char *end) {
    if (end - at < 4 || at[0] != '$' || at[1] != '{') return (wr_str){0};
    const char *from = at + 2, *to = from;
    while (to < end && name_char(*to)) to++;
    if (to == from || to == end || *to != '}') return (wr_str){0};
    return (wr_str){from, (size_t)(to - from)};
}

static variable *find(wr_session *s, wr_str name) {
    for (uint32_t i = 0; i < s->variables.n; i++)
        if (wr_str_eq(s->variables.at[i].name, name)) return &s->variables.at[i];
    return NULL;
}

static void add_value(wr_sbuf *out, wr_str value, lex_state state) {
    if (state != LITERAL && state != QUOTED_NAME) {
        wr_sbuf_add_str(out, value);
        return;
    }
    char quote = state == LITERAL ? '\'' : '`';
    for (size_t i = 0; i < value.len; i++) {
        if (value.ptr[i] == quote) wr_sbuf_addc(out, quote);
        wr_sbuf_addc(out, value.ptr[i]);
    }
}

static void missing(wr_session *s, wr_str name, wr_span at) {
    wr_diags_add(&s->diags, WR_SEV_ERROR, "WR105", at, "${%.*s} has no value", WR_FMT(name));
    WR_ARR(wr_str) names = {0};
    for (uint32_t i = 0; i < s->variables.n; i++) wr_arr_push(&names, s->variables.at[i].name);
    int near = wr_nearest(name, names.at, names.n);
    if (near >= 0) wr_diags_hint(&s->diags, "--set %.*s=... is given; did you mean ${%.*s}?", WR_FMT(names.at[near]), WR_FMT(names.at[near]));
    else wr_diags_hint(&s->diags, "give it on the command line: --set %.*s=VALUE", WR_FMT(name));
    wr_arr_free(&names);
}

/* file 0: substitute into out; else report what is missing at its place. Returns the number of references (missing ones when reporting). */
static uint32_t walk(wr_session *s, wr_str text, uint32_t file, wr_sbuf *out) {
    const char *at = text.ptr, *end = text.ptr + text.len;
    lex_state   state = PLAIN;
    uint32_t    line = 1, col = 1, n = 0;
    while (at < end) {
        bool   comment = state == LINE_COMMENT || state == BLOCK_COMMENT;
        wr_str name = comment ? (wr_str){0} : reference(at, end);
        if (name.ptr) {
            size_t    len = name.len + 3;
            variable *v = find(s, name);
            if (out) {
                n++;
                if (v) v->used = true, add_value(out, v->value, state);
                else wr_sbuf_add(out, at, len);
            } else if (!v) {
                n++;
                missing(s, name, (wr_span){file, line, col, (uint32_t)len});
            }
            at += len, col += (uint32_t)len;
            continue;
        }
        size_t skip;
        state = next_state(state, at, end, &skip);
        for (size_t i = 0; i < skip; i++, at++) {
            if (out) wr_sbuf_addc(out, *at);
            if (*at == '\n') line++, col = 1;
            else col++;
        }
    }
    return n;
}

bool     text_substitute(wr_session *s, wr_str text, wr_sbuf *out) { return walk(s, text, 0, out) > 0; }
uint32_t text_report_missing(wr_session *s, uint32_t file, wr_str text) { return walk(s, text, file, NULL); }
