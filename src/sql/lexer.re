/* sql/lexer.re: text to tokens (re2c).
 *
 * Idea       one call, one token. What is wrong inside a token (open string, bad character, malformed number) is reported here, at its
 *            place, with what to write instead; the token is skipped and the driver drops the statement.
 * Invariant  the text is valid UTF-8 and text[len] == 0; line and col count code points from 1 and are carried forward, never recomputed
 *            from the start.
 * Not here   keyword or name: decided in parse.c, which sees the neighbours.                                             */
#include "parse.h"
#include "grammar.h"

void wr_lexer_init(wr_lexer *lex, uint32_t file, const char *text, size_t len, wr_diags *diags) {
    *lex = (wr_lexer){.text = text, .at = text, .end = text + len, .counted = text, .file = file, .line = 1, .col = 1, .diags = diags};
    if (len >= 3 && memcmp(text, "\xEF\xBB\xBF", 3) == 0) lex->at = lex->counted = text + 3; /* byte order mark */
}

/* Carries line and col forward to `to`. */
static void count_to(wr_lexer *lex, const char *to) {
    const char *at = lex->counted;
    uint32_t    line = lex->line, col = lex->col;
    for (; at < to; at++) {
        unsigned char c = (unsigned char)*at;
        if (c == '\n') line++, col = 1;
        else col += (c & 0xC0) != 0x80;
    }
    lex->counted = at;
    lex->line = line;
    lex->col = col;
}

/* Code points in [from, to), up to the end of the line. */
static uint32_t chars_in(const char *from, const char *to) {
    uint32_t n = 0;
    for (; from < to && *from != '\n'; from++) n += ((unsigned char)*from & 0xC0) != 0x80;
    return n;
}

static void fill(wr_lexer *lex, wr_token *out, int code, const char *from, const char *to) {
    count_to(lex, from);
    out->code = (uint16_t)code;
    out->mode = WR_KW_NOT;
    out->quoted = false;
    out->begin = (uint32_t)(from - lex->text);
    out->end = (uint32_t)(to - lex->text);
    out->line = lex->line;
    out->col = lex->col;
    out->chars = chars_in(from, to);
}

static wr_span span_of(wr_lexer *lex, const char *from, const char *to) {
    count_to(lex, from);
    return (wr_span){lex->file, lex->line, lex->col, chars_in(from, to)};
}

#define ERROR(from, to, ...) (lex->n_errors++, wr_diags_add(lex->diags, WR_SEV_ERROR, "42601", span_of(lex, (from), (to)), __VA_ARGS__))
#define HINT(...) wr_diags_hint(lex->diags, __VA_ARGS__)

static void bad_character(wr_lexer *lex, const char *from, const char *to) {
    size_t   used;
    uint32_t c = wr_utf8_get(from, to, &used);
    if (c < 0x20 || c == 0x7F || c == 0xA0 || (c >= 0x2000 && c <= 0x200F) || c == 0xFEFF || c == 0x3000) {
        ERROR(from, to, "invisible character U+%04X", c);
        HINT("delete it, or replace it by a plain space");
        return;
    }
    ERROR(from, to, "unexpected character \"%.*s\"", (int)(to - from), from);
    if (c == 0x2018 || c == 0x2019 || c == 0x201C || c == 0x201D || c == 0xB4) HINT("typographic quote: write ' around text, ` around names");
    if (c == '!') HINT("write NOT");
    if (c == '&') HINT("write AND");
    if (c == '@' || c == '#' || c == '\\' || c == '~') HINT("names with special characters go in backticks: `a%.*sb`", (int)(to - from), from);
    if (c == 0x2013 || c == 0x2014 || c == 0x2212) HINT("dash: write -");
}

/* "...": one error for the whole of it. */
static const char *double_quoted(wr_lexer *lex, const char *from) {
    const char *to = from + 1;
    while (to < lex->end && *to != '"' && *to != '\n') to++;
    bool closed = to < lex->end && *to == '"';
    if (closed) to++;
    ERROR(from, to, "double quotes mean nothing here");
    if (closed && to - from > 2 && to - from < 100) {
        HINT("a string is written '%.*s', a name `%.*s`", (int)(to - from - 2), from + 1, (int)(to - from - 2), from + 1);
    } else {
        HINT("strings are written in '...', names in `...`");
    }
    return to;
}

static void open_string(wr_lexer *lex, const char *from) {
    const char *nl = memchr(from, '\n', (size_t)(lex->end - from));
    ERROR(from, nl ? nl : lex->end, "string is not closed: no ' up to the end of the text");
    if (lex->long_string) HINT("the string that starts on line %u goes on over the line's end: is its closing ' missing?", lex->long_string);
    else HINT("a ' inside a string is written twice: 'it''s'");
}

static bool hex_ok(const char *from, const char *to) {
    for (; from < to; from++) {
        char c = *from;
        if (!((c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'))) return false;
    }
    return true;
}

/* X'0A1F' */
static bool binary_ok(wr_lexer *lex, const char *from, const char *to) {
    if (!hex_ok(from + 2, to - 1)) {
        ERROR(from, to, "binary literal holds something that is not a hexadecimal digit");
        return false;
    }
    if ((to - from - 3) % 2) {
        ERROR(from, to, "binary literal has an odd number of hexadecimal digits");
        return false;
    }
    return true;
}

/* U&'\0041 \+01F600 \\' */
static bool unicode_ok(wr_lexer *lex, const char *from, const char *to) {
    const char *at = from + 3, *end = to - 1;
    while (at < end) {
        if (*at != '\\') {
            at++;
            continue;
        }
        size_t n = at + 1 < end && at[1] == '\\' ? 2 : at + 1 < end && at[1] == '+' ? 8 : 5, skip = n == 8 ? 2 : 1;
        bool   ok = n == 2 || ((size_t)(end - at) >= n && hex_ok(at + skip, at + n));
        if (ok && n > 2) {
            uint32_t c = 0;
            for (const char *h = at + skip; h < at + n; h++) c = c * 16 + (uint32_t)(*h <= '9' ? *h - '0' : (*h | 32) - 'a' + 10);
            ok = c <= 0x10FFFF && !(c >= 0xD800 && c <= 0xDFFF) && c != 0;
        }
        if (!ok) {
            ERROR(at, at + WR_MIN(n, (size_t)(end - at)), "bad escape in a U&'...' string");
            HINT("\\XXXX or \\+XXXXXX with hexadecimal digits, \\\\ for a backslash");
            return false;
        }
        at += n;
    }
    return true;
}

static const char *skip_comment(wr_lexer *lex, const char *from) {
    const char *at = from + 2;
    for (;; at++) {
        at = at < lex->end ? memchr(at, '*', (size_t)(lex->end - at)) : NULL;
        if (!at) break;
        if (at + 1 < lex->end && at[1] == '/') return at + 2;
    }
    const char *nl = memchr(from, '\n', (size_t)(lex->end - from));
    ERROR(from, nl ? nl : lex->end, "comment is not closed: no */ up to the end of the text");
    return lex->end;
}

static void word(wr_lexer *lex, wr_token *out, const char *from, const char *to) {
    fill(lex, out, TK_ID, from, to);
    const wr_keyword *k = wr_sql_keyword((wr_str){from, (size_t)(to - from)});
    if (!k) return;
    out->code = k->code;
    out->mode = k->mode;
}

#define TOKEN(c)                                \
    do {                                        \
        fill(lex, out, (c), from, YYCURSOR);    \
        lex->at = YYCURSOR;                     \
        return true;                            \
    } while (0)

bool wr_lexer_next(wr_lexer *lex, wr_token *out) {
    const char *YYCURSOR = lex->at, *YYMARKER = NULL, *YYLIMIT = lex->end, *from;
    (void)YYMARKER;
again:
    from = YYCURSOR;
    /*!re2c
    re2c:define:YYCTYPE = "unsigned char";
    re2c:yyfill:enable = 0;
    re2c:eof = 0;
    re2c:flags:unsafe = 0;

    digit  = [0-9];
    letter = [A-Za-z_] | [\u00aa\u00b5\u00ba\u00c0-\u1fff\u2c00-\u2dff\u3005-\ud7ff\uf900-\ufdcf\ufe70-\ufefc\uff21-\uff3a\uff41-\uff5a\uff66-\uffdc]
           | [\U00010000-\U000fffff];
    more   = letter | digit | "$";
    expo   = [eE] [+-]? digit+;
    number = digit+ | digit+ "." digit* | "." digit+ | (digit+ | digit+ "." digit* | "." digit+) expo;

    $                      { lex->at = YYCURSOR; return false; }
    [ \t\r\n\f\v]+         { goto again; }
    ("--" | "//") [^\n]*   { goto again; }
    "/*+"                  { lex->in_hint = true; TOKEN(TK_HINT_BEGIN); }
    "/*"                   { YYCURSOR = skip_comment(lex, from); goto again; }
    "*" "/"                { if (lex->in_hint) { lex->in_hint = false; TOKEN(TK_HINT_END); }
                             YYCURSOR = from + 1; TOKEN(TK_STAR); }

    letter more*           { word(lex, out, from, YYCURSOR); lex->at = YYCURSOR; return true; }
    "`" ([^`\r\n] | "``")+ "`" { fill(lex, out, TK_ID, from, YYCURSOR); out->quoted = true; lex->at = YYCURSOR; return true; }
    "``"                   { ERROR(from, YYCURSOR, "empty name"); goto again; }
    "`" ([^`\r\n] | "``")* { ERROR(from, YYCURSOR, "name is not closed: no ` up to the end of the line"); goto again; }
    "'" ([^'] | "''")* "'" { fill(lex, out, TK_STRING, from, YYCURSOR);
                             if (memchr(from, '\n', (size_t)(YYCURSOR - from))) lex->long_string = out->line;
                             lex->at = YYCURSOR; return true; }
    "'" ([^'] | "''")*     { open_string(lex, from); YYCURSOR = lex->end; goto again; }
    'n' "'" ([^'] | "''")* "'" { TOKEN(TK_STRING); }
    'x' "'" [^']* "'"      { if (binary_ok(lex, from, YYCURSOR)) TOKEN(TK_BINARY); goto again; }
    'u&' "'" ([^'] | "''")* "'" { if (unicode_ok(lex, from, YYCURSOR)) TOKEN(TK_STRING); goto again; }
    ("n" | "N" | "x" | "X" | "u&" | "U&") "'" ([^'] | "''")* { open_string(lex, from); YYCURSOR = lex->end; goto again; }
    "\""                   { YYCURSOR = double_quoted(lex, from); goto again; }

    digit+                 { TOKEN(TK_INTEGER); }
    digit+ "." digit* | "." digit+ { TOKEN(TK_DECIMAL); }
    (digit+ | digit+ "." digit* | "." digit+) expo { TOKEN(TK_APPROX); }
    number letter more*    { ERROR(from, YYCURSOR, "malformed number \"%.*s\"", (int)WR_MIN(YYCURSOR - from, 60), from);
                             HINT("a name that starts with a digit goes in backticks"); goto again; }

    ","  { TOKEN(TK_COMMA); }
    ";"  { lex->in_hint = false; TOKEN(TK_SEMI); }
    "("  { TOKEN(TK_LP); }
    ")"  { TOKEN(TK_RP); }
    "["  { TOKEN(TK_LB); }
    "]"  { TOKEN(TK_RB); }
    "{-" { TOKEN(TK_LBRACE_MINUS); }
    "-}" { TOKEN(TK_MINUS_RBRACE); }
    "{"  { TOKEN(TK_LBRACE); }
    "}"  { TOKEN(TK_RBRACE); }
    "."  { TOKEN(TK_DOT); }
    "+"  { TOKEN(TK_PLUS); }
    "-"  { TOKEN(TK_MINUS); }
    "*"  { TOKEN(TK_STAR); }
    "/"  { TOKEN(TK_SLASH); }
    "%"  { TOKEN(TK_PERCENT); }
    "||" { TOKEN(TK_CONCAT); }
    "|"  { TOKEN(TK_PIPE); }
    "="  { TOKEN(TK_EQ); }
    "=>" { TOKEN(TK_ARROW); }
    "<>" | "!=" { TOKEN(TK_NE); }
    "<"  { TOKEN(TK_LT); }
    "<=" { TOKEN(TK_LE); }
    ">"  { TOKEN(TK_GT); }
    ">=" { TOKEN(TK_GE); }
    "?"  { TOKEN(TK_QUESTION); }
    "^"  { TOKEN(TK_CARET); }
    "$"  { TOKEN(TK_DOLLAR); }
    "==" { ERROR(from, YYCURSOR, "unexpected \"==\""); HINT("equality is written ="); goto again; }
    "&&" { ERROR(from, YYCURSOR, "unexpected \"&&\""); HINT("write AND"); goto again; }
    "::" { ERROR(from, YYCURSOR, "unexpected \"::\""); HINT("a cast is written CAST(x AS type)"); goto again; }
    [^]  { bad_character(lex, from, YYCURSOR); goto again; }
    *    { bad_character(lex, from, YYCURSOR); goto again; }
    */
}
