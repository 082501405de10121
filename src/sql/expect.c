/* sql/expect.c: what to say when the grammar refuses a token.
 *
 * Idea       the expected tokens are asked of the parser's state stack (a trial run for every token code), then folded into words a
 *            person uses: "an expression", "an operator", "a time unit". A misspelt keyword is often first read as a name (FROM t WEHRE x):
 *            so the last few names are tried again with each keyword near them; if the text then goes on, that is the mistake.
 * Invariant  adds exactly one error.                                                                                 */
#include "driver.h"
#include "grammar.h"
#include <stdio.h>

enum { CODES_MAX = 320, SHOWN_MAX = 8 };

typedef struct expected {
    bool     has[CODES_MAX];
    bool     end; /* the statement may end here */
    uint32_t n;
} expected;

static bool in_set(const expected *x, int code) { return code > 0 && code < CODES_MAX && x->has[code]; }

static void drop(expected *x, int code) {
    if (in_set(x, code)) x->has[code] = false, x->n--;
}

static void ask(const wr_sql_states *states, expected *x) {
    memset(x, 0, sizeof *x);
    int max = wr_sql_token_code_max();
    wr_assert(max < CODES_MAX);
    for (int code = 1; code <= max; code++) {
        if (code == TK_SEMI || code == TK_ENTER_EXPR || code == TK_ENTER_QUERY || code == TK_ENTER_TYPE) continue;
        if (code == TK_WITH_ZONE || code == TK_WITHOUT_ZONE) continue;
        if (wr_sql_states_accept(states, code)) x->has[code] = true, x->n++;
    }
    x->end = wr_sql_states_accept(states, 0);
}

static bool is_word(const char *name) { return name && name[0] >= 'A' && name[0] <= 'Z'; }

/* ---- folding ---- */

static const int OPERATORS[] = {
    TK_EQ, TK_NE, TK_LT, TK_LE, TK_GT, TK_GE, TK_PLUS, TK_MINUS, TK_STAR, TK_SLASH, TK_PERCENT, TK_CONCAT, TK_AND, TK_OR, TK_IS, TK_IN,
    TK_LIKE, TK_ILIKE, TK_SIMILAR, TK_BETWEEN, TK_NOT, TK_OVERLAPS, TK_LB, TK_DOT, TK_OVER, TK_FILTER, TK_WITHIN, TK_IGNORE, TK_RESPECT,
};
static const int UNITS[] = {TK_YEAR, TK_QUARTER, TK_MONTH, TK_WEEK, TK_DAY, TK_HOUR, TK_MINUTE, TK_SECOND};
static const int EXPR_STARTS[] = {
    TK_INTEGER, TK_DECIMAL, TK_APPROX, TK_STRING, TK_BINARY, TK_NULL, TK_TRUE, TK_FALSE, TK_UNKNOWN, TK_DATE, TK_TIME, TK_TIMESTAMP,
    TK_INTERVAL, TK_NOT, TK_PLUS, TK_MINUS, TK_LP, TK_ID, TK_CASE, TK_CAST, TK_TRY_CAST, TK_ROW, TK_ARRAY, TK_MAP, TK_MULTISET, TK_EXISTS,
    TK_EXTRACT, TK_FLOOR, TK_POSITION, TK_SUBSTRING, TK_OVERLAY, TK_TRIM, TK_JSON_LIST, TK_JSON_PAIRS, TK_NILADIC, TK_RUNNING, TK_FINAL,
};
static const int CALL_WORDS[] = {TK_RUNNING, TK_FINAL, TK_EXTRACT, TK_FLOOR, TK_POSITION, TK_SUBSTRING, TK_OVERLAY, TK_TRIM};
static const int TYPE_STARTS[] = {TK_ID, TK_ARRAY, TK_MAP, TK_MULTISET, TK_ROW, TK_INTERVAL};
static const int QUERY_STARTS[] = {TK_SELECT, TK_VALUES, TK_TABLE, TK_WITH, TK_LP};

typedef struct folded { bool expression, operators, unit, type, query; } folded;

static void drop_all(expected *x, const int *codes, size_t n) {
    for (size_t i = 0; i < n; i++) drop(x, codes[i]);
}

static folded fold(expected *x) {
    folded f = {0};
    if (in_set(x, TK_RP)) drop(x, TK_IGNORE), drop(x, TK_RESPECT); /* right, but never what was forgotten */
    if (in_set(x, TK_PLUS) && in_set(x, TK_SLASH)) {
        f.operators = true;
        drop_all(x, OPERATORS, WR_COUNT_OF(OPERATORS));
    }
    if (in_set(x, TK_SELECT) && in_set(x, TK_VALUES)) {
        f.query = !in_set(x, TK_CREATE) && !in_set(x, TK_STRING); /* not at the start of a statement, not where "(" says enough */
        if (f.query) drop_all(x, QUERY_STARTS, WR_COUNT_OF(QUERY_STARTS));
        else if (!in_set(x, TK_CREATE)) drop_all(x, QUERY_STARTS + 1, 3);
    }
    if (in_set(x, TK_INTEGER) && in_set(x, TK_CASE) && in_set(x, TK_STRING)) {
        f.expression = true;
        drop_all(x, EXPR_STARTS, WR_COUNT_OF(EXPR_STARTS));
        drop(x, TK_SELECT);
        drop(x, TK_LP);
    }
    if (in_set(x, TK_EXTRACT) && in_set(x, TK_ID)) drop_all(x, CALL_WORDS, WR_COUNT_OF(CALL_WORDS));
    if (in_set(x, TK_YEAR) && in_set(x, TK_SECOND)) {
        f.unit = true;
        drop_all(x, UNITS, WR_COUNT_OF(UNITS));
    }
    if (in_set(x, TK_ARRAY) && in_set(x, TK_MAP) && in_set(x, TK_ID)) {
        f.type = true;
        drop_all(x, TYPE_STARTS, WR_COUNT_OF(TYPE_STARTS));
    }
    return f;
}

/* The likeliest first; what is not named here follows in the order of the grammar. */
static const int BEST_FIRST[] = {
    TK_FROM, TK_RP, TK_COMMA, TK_ID, TK_AS, TK_SELECT, TK_INSERT, TK_CREATE, TK_TABLE, TK_VIEW, TK_WHERE, TK_GROUP, TK_BY, TK_ON, TK_USING,
    TK_JOIN, TK_INTO, TK_EQ, TK_STRING, TK_INTEGER, TK_WHEN, TK_THEN, TK_ELSE, TK_END, TK_HAVING, TK_ORDER, TK_LIMIT, TK_UNION, TK_WITH, TK_SET,
    TK_EXPLAIN, TK_DROP, TK_SHOW, TK_DESCRIBE, TK_LEFT, TK_INNER, TK_CROSS, TK_RB, TK_GT,
};

typedef struct words { const char *at[64]; uint32_t n; } words;

static void add_word(words *w, const char *text) {
    if (!text || w->n == WR_COUNT_OF(w->at)) return;
    for (uint32_t i = 0; i < w->n; i++) {
        if (strcmp(w->at[i], text) == 0) return;
    }
    w->at[w->n++] = text;
}

static void list_expected(expected *x, const char *first, wr_sbuf *out) {
    words  w = {.n = 0};
    bool   end = x->end;
    folded f = fold(x);
    add_word(&w, first);
    if (f.expression) add_word(&w, "an expression");
    if (f.type) add_word(&w, "a data type");
    if (f.unit) add_word(&w, "a time unit (YEAR, MONTH, DAY, HOUR, MINUTE, SECOND ...)");
    if (f.query) add_word(&w, "a query (SELECT, VALUES, WITH, TABLE)");
    uint32_t late = w.n + 5; /* the end and operators are shown before the list gets long */
    for (size_t i = 0; i < WR_COUNT_OF(BEST_FIRST); i++) {
        if (w.n == late) {
            if (end) add_word(&w, ";");
            if (f.operators) add_word(&w, "an operator");
        }
        if (in_set(x, BEST_FIRST[i])) add_word(&w, wr_sql_token_name(BEST_FIRST[i]));
    }
    if (end) add_word(&w, ";");
    if (f.operators) add_word(&w, "an operator");
    for (int code = 1; code < CODES_MAX; code++) {
        if (x->has[code]) add_word(&w, wr_sql_token_name(code));
    }
    uint32_t shown = WR_MIN(w.n, (uint32_t)SHOWN_MAX);
    for (uint32_t i = 0; i < shown; i++) {
        const char *sep = i == 0 ? "" : i + 1 == w.n ? " or " : ", ";
        bool        letters = (w.at[i][0] >= 'a' && w.at[i][0] <= 'z') || is_word(w.at[i]);
        wr_sbuf_printf(out, letters ? "%s%s" : "%s'%s'", sep, w.at[i]);
    }
    if (w.n > shown) wr_sbuf_addz(out, " ...");
}

/* ---- did you mean ---- */

static bool near(wr_str word, const char *keyword, unsigned *distance) {
    size_t   len = strlen(keyword);
    unsigned limit = len <= 4 ? 1 : 2;
    if (len < 2 || word.len < 2 || (word.len > len ? word.len - len : len - word.len) > limit) return false;
    *distance = wr_edit_distance(word, wr_str_of(keyword));
    return *distance <= limit && *distance > 0;
}

/* Would tokens [from, to] be taken after `states`? The last one may be the end. */
static bool goes_on(const wr_driver *d, wr_sql_states *states, uint32_t from, uint32_t to) {
    for (uint32_t i = from; i <= to; i++) {
        if (i >= d->tokens.n) return wr_sql_states_accept(states, 0);
        int code = d->tokens.at[i].code;
        if (wr_sql_states_push(states, code)) continue;
        if (d->tokens.at[i].mode == WR_KW_NOT || d->tokens.at[i].mode == WR_KW_RESERVED || !wr_sql_states_push(states, TK_ID)) return false;
    }
    return true;
}

/* The nearest keyword that the stack takes instead of token `word`; of two as near, the one with which tokens up to `to` are taken.
 * NULL if none, or if `must` and the text does not go on with it. */
static const char *nearest_keyword(const wr_driver *d, const wr_sql_states *states, uint32_t word, uint32_t to, bool must) {
    const char    *best = NULL;
    unsigned       best_score = 99;
    wr_sql_states *copy = wr_malloc(sizeof *copy);
    wr_str         text = wr_token_text(&d->ctx, &d->tokens.at[word]);
    for (int code = 1; code <= wr_sql_token_code_max(); code++) {
        const char *name = wr_sql_token_name(code);
        unsigned    distance;
        if (!is_word(name) || !near(text, name, &distance) || distance * 4 >= best_score) continue;
        memcpy(copy, states, offsetof(wr_sql_states, state) + states->n * sizeof copy->state[0]);
        if (!wr_sql_states_push(copy, code)) continue;
        bool     on = goes_on(d, copy, word + 1, to);
        unsigned score = distance * 4 + (on ? 0 : 2) + (strlen(name) < text.len); /* letters are left out more often than put in */
        if (((must || strlen(name) <= 3) && !on) || score >= best_score) continue;
        best = name, best_score = score;
    }
    wr_free(copy);
    return best;
}

/* Looks back for a keyword that was read as a name. */
static const char *misread(const wr_driver *d, uint32_t i, const wr_sql_states **states_out, uint32_t *index_out) {
    for (uint32_t back = 1; back <= WR_LOOK_BACK && back <= i; back++) {
        for (uint32_t k = 0; k < WR_LOOK_BACK; k++) {
            if (d->before_index[k] != i - back + 1) continue;
            const char *name = nearest_keyword(d, d->before[k], i - back, i, true);
            if (!name) continue;
            *states_out = d->before[k], *index_out = i - back;
            return name;
        }
    }
    return NULL;
}

/* ---- the message ---- */

static void quote_token(const wr_driver *d, const wr_token *t, wr_sbuf *out) {
    wr_str s = wr_token_text(&d->ctx, t);
    size_t shown = wr_utf8_offset(s, 40);
    for (size_t i = 0; i < shown; i++) {
        if (s.ptr[i] == '\n') shown = i;
    }
    if (s.ptr[0] == '\'') wr_sbuf_printf(out, "%.*s%s", (int)shown, s.ptr, shown < s.len ? "..." : "");
    else wr_sbuf_printf(out, "\"%.*s%s\"", (int)shown, s.ptr, shown < s.len ? "..." : "");
}

static bool starts_statement(int code) {
    return code == TK_SELECT || code == TK_INSERT || code == TK_CREATE || code == TK_WITH || code == TK_DROP || code == TK_SET ||
           code == TK_EXPLAIN || code == TK_ALTER || code == TK_USE || code == TK_SHOW || code == TK_DESCRIBE;
}

static int code_at(const wr_driver *d, uint32_t i) { return i < d->tokens.n ? d->tokens.at[i].code : 0; }

/* A reserved word that stands where a name would be right, and that somebody may well have meant as a name. */
static bool meant_as_name(const wr_driver *d, uint32_t i) {
    static const int WORDS[] = {TK_ORDER, TK_GROUP, TK_TABLE, TK_LIMIT, TK_VALUES, TK_ROW, TK_ALL, TK_LEFT, TK_RIGHT, TK_LIKE, TK_END,
                                TK_DISTINCT, TK_USING, TK_FOR, TK_CASE, TK_CROSS, TK_CREATE};
    int code = code_at(d, i), next = code_at(d, i + 1);
    if (d->tokens.at[i].mode == WR_KW_NOT || next == TK_BY || next == TK_JOIN || next == TK_OUTER) return false;
    if (i && d->tokens.at[i - 1].code == TK_AS) return true;
    for (size_t k = 0; k < WR_COUNT_OF(WORDS); k++) {
        if (WORDS[k] == code) return true;
    }
    return false;
}

static bool hint_reserved(wr_driver *d, const wr_sql_states *states, uint32_t i) {
    if (i == d->tokens.n || !meant_as_name(d, i) || !wr_sql_states_accept(states, TK_ID)) {
        int before = i ? d->tokens.at[i - 1].code : 0; /* SELECT a order FROM: seen only at the next word */
        if (before != TK_ORDER && before != TK_GROUP && before != TK_TABLE) return false;
        if (code_at(d, i) == TK_ID || code_at(d, i) == TK_INTEGER) return false; /* ORDER a: there BY is what is missing */
        if (i == 1 || (before == TK_TABLE && d->tokens.at[i - 2].code != TK_FROM && d->tokens.at[i - 2].code != TK_JOIN)) return false;
        i--;
    }
    wr_str text = wr_token_text(&d->ctx, &d->tokens.at[i]);
    wr_diags_hint(d->ctx.diags, "%.*s is a reserved word: to use it as a name, write `%.*s`", WR_FMT(text), WR_FMT(text));
    return true;
}

/* A string over several lines just before: likelier a ' that was forgotten. */
static const wr_token *long_string(const wr_driver *d, uint32_t i) {
    for (uint32_t back = 0; back < 3 && back <= i; back++) {
        const wr_token *t = &d->tokens.at[i - back];
        wr_str          s = wr_token_text(&d->ctx, t);
        if (t->code == TK_STRING && memchr(s.ptr, '\n', s.len)) return t;
    }
    return NULL;
}

static bool comma_missing(wr_driver *d, const wr_sql_states *states, uint32_t i) {
    wr_sql_states *copy = wr_malloc(sizeof *copy);
    memcpy(copy, states, offsetof(wr_sql_states, state) + states->n * sizeof copy->state[0]);
    bool missing = wr_sql_states_push(copy, TK_COMMA) && goes_on(d, copy, i, i);
    wr_free(copy);
    return missing;
}

static void add_hint(wr_driver *d, const wr_sql_states *states, uint32_t i) {
    if (i == d->tokens.n) {
        hint_reserved(d, states, i);
        return;
    }
    const wr_token *t = &d->tokens.at[i], *before = i ? t - 1 : NULL;
    wr_str          text = wr_token_text(&d->ctx, t);
    bool            word = !t->quoted && (t->code == TK_ID || (t->mode != WR_KW_NOT && t->mode != WR_KW_RESERVED && t->mode != WR_KW_END));
    const char     *name = word ? nearest_keyword(d, states, i, i + 1, false) : NULL;
    if (name) {
        wr_diags_hint(d->ctx.diags, "did you mean %s?", name);
    } else if (before && t->line > before->line && starts_statement(t->code) && wr_sql_states_accept(states, 0)) {
        wr_diags_hint(d->ctx.diags, "a statement ends with ';': is one missing before %.*s?", WR_FMT(text));
    } else if (long_string(d, i)) {
        wr_diags_hint(d->ctx.diags, "the string that starts on line %u goes on over the line's end: is its closing ' missing?", long_string(d, i)->line);
    } else if (before && before->code == TK_COMMA && (t->code == TK_FROM || t->code == TK_RP || t->code == TK_WHERE)) {
        wr_diags_hint(d->ctx.diags, "there is a comma too many before it");
    } else if (t->code == TK_STRING && before && (before->code == TK_FROM || before->code == TK_JOIN)) {
        wr_diags_hint(d->ctx.diags, "a table has a name, without quotes; for a file it is made by CREATE TABLE, which 'weir sql FILE' writes");
    } else if (before && before->code == TK_STRING && i > 1 && d->tokens.at[i - 2].code == TK_INTERVAL) {
        wr_diags_hint(d->ctx.diags, "the unit stands behind the quotes: INTERVAL '1' MINUTE");
    } else if (before && t->code == TK_INTEGER && wr_str_ieq(wr_token_text(&d->ctx, before), WR_STR("TOP"))) {
        wr_diags_hint(d->ctx.diags, "TOP n is written at the end: ORDER BY x LIMIT n");
    } else if (t->code == TK_QUESTION) {
        wr_diags_hint(d->ctx.diags, "there are no parameters: write the value itself");
    } else if (d->tokens.at[0].code == TK_SET && i < 3) {
        wr_diags_hint(d->ctx.diags, "write SET 'key' = 'value', both in quotes");
    } else if (!hint_reserved(d, states, i) && comma_missing(d, states, i)) {
        wr_diags_hint(d->ctx.diags, "is a comma missing before it?");
    }
}

void wr_driver_syntax_error(wr_driver *d, uint32_t i) {
    if (d->ctx.failed) return;
    d->ctx.failed = true;
    if (d->ctx.diags->n_errors >= WR_DIAG_MAX) { /* counted, not shown: no need for the words */
        wr_diags_add(d->ctx.diags, WR_SEV_ERROR, "42601", d->ctx.at, "syntax error");
        return;
    }
    wr_sql_states       *now = wr_malloc(sizeof *now);
    const wr_sql_states *states = now;
    uint32_t             at = i;
    wr_sql_states_copy(d->grammar, now);
    const char *meant = misread(d, i, &states, &at);
    wr_sbuf     what = {0}, list = {0};
    expected    x;
    wr_span     span;
    if (at < d->tokens.n) {
        const wr_token *t = &d->tokens.at[at];
        wr_sbuf_addz(&what, "syntax error at ");
        quote_token(d, t, &what);
        span = wr_token_span(&d->ctx, t);
    } else if (d->tokens.n) {
        const wr_token *t = &d->tokens.at[d->tokens.n - 1];
        wr_sbuf_addz(&what, "syntax error: unexpected end after ");
        quote_token(d, t, &what);
        span = wr_token_span(&d->ctx, t);
    } else {
        wr_sbuf_addz(&what, "syntax error: nothing here");
        span = (wr_span){d->ctx.file, 1, 1, 1};
    }
    ask(states, &x);
    list_expected(&x, meant, &list);
    wr_diags_add(d->ctx.diags, WR_SEV_ERROR, "42601", span, "%s", wr_sbuf_str(&what).ptr);
    if (list.len) wr_diags_detail(d->ctx.diags, "expected %s", wr_sbuf_str(&list).ptr);
    if (meant) wr_diags_hint(d->ctx.diags, "did you mean %s?", meant);
    else if (d->tokens.n) add_hint(d, states, at);
    wr_sbuf_free(&what);
    wr_sbuf_free(&list);
    wr_free(now);
}
