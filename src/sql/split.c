/* sql/split.c: where a statement ends, for those who read SQL line by line.
 *
 * Idea       the lexer's rules for what hides a ';' (strings, names, comments) and the driver's for STATEMENT SET, without tokens: the text may
 *            stop anywhere, also inside a string.
 * Thread     any; no state.                                                                                              */
#include "sql/sql.h"

typedef struct cut { const char *at, *end; } cut;

static bool is_word(char c) { return c == '_' || c == '$' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (unsigned char)c >= 0x80; }

/* Behind a comment, a string or a quoted name that begins here; false: it does not end. *hit: there was one. */
static bool skip_hidden(cut *c, bool *comment, bool *hit) {
    size_t left = (size_t)(c->end - c->at);
    *comment = *hit = false;
    if (left >= 2 && c->at[0] == '-' && c->at[1] == '-') {
        const char *nl = memchr(c->at, '\n', left);
        *comment = *hit = true;
        c->at = nl ? nl + 1 : c->end;
        return true;
    }
    if (left >= 2 && c->at[0] == '/' && c->at[1] == '*') {
        const char *close = memmem(c->at + 2, left - 2, "*/", 2);
        *comment = *hit = true;
        if (!close) return false;
        c->at = close + 2;
        return true;
    }
    if (*c->at != '\'' && *c->at != '`') return true;
    const char *close = memchr(c->at + 1, *c->at, left - 1); /* a doubled quote is two strings in a row here, which ends at the same place */
    *hit = true;
    if (!close) return false;
    c->at = close + 1;
    return true;
}

/* Which of the words that open and close a STATEMENT SET this is. */
enum { WORD_OTHER, WORD_EXECUTE, WORD_BEGIN, WORD_STATEMENT, WORD_SET, WORD_END };
static int take_word(cut *c) {
    const char *from = c->at;
    while (c->at < c->end && is_word(*c->at)) c->at++;
    wr_str w = {from, (size_t)(c->at - from)};
    return wr_str_ieq(w, WR_STR("EXECUTE")) ? WORD_EXECUTE : wr_str_ieq(w, WR_STR("BEGIN")) ? WORD_BEGIN : wr_str_ieq(w, WR_STR("STATEMENT")) ? WORD_STATEMENT
         : wr_str_ieq(w, WR_STR("SET")) ? WORD_SET : wr_str_ieq(w, WR_STR("END")) ? WORD_END : WORD_OTHER;
}

size_t wr_sql_statement_end(wr_str text, bool *blank) {
    cut  c = {text.ptr, text.ptr + text.len};
    int  words = 0;              /* since the last ';' */
    int  first[3] = {0};
    bool in_set = false;         /* EXECUTE or BEGIN STATEMENT SET was read, its END not */
    bool comment, hit;
    *blank = true;
    while (c.at < c.end) {
        if (!skip_hidden(&c, &comment, &hit)) {
            *blank &= comment;
            return 0;
        }
        if (hit) {
            if (!comment) *blank = false, words = WR_MAX(words, 3);
        } else if (is_word(*c.at)) {
            int w = take_word(&c);
            *blank = false;
            if (words < 3) first[words] = w;
            words++;
            in_set |= words == 3 && (first[0] == WORD_EXECUTE || first[0] == WORD_BEGIN) && first[1] == WORD_STATEMENT && first[2] == WORD_SET;
        } else if (*c.at++ == ';') {
            if (!in_set || (words == 1 && first[0] == WORD_END)) return (size_t)(c.at - text.ptr);
            words = 0;
        } else if (c.at[-1] != ' ' && c.at[-1] != '\t' && c.at[-1] != '\n' && c.at[-1] != '\r') {
            *blank = false;
            words = WR_MAX(words, 3);
        }
    }
    return 0;
}
