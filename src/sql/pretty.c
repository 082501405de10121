/* sql/pretty.c: a script laid out anew: `weir fmt`. Works on tokens, so that comments stay and nothing can change its meaning.
 *
 * Idea       a run of tokens at one depth of parentheses is printed flat if it fits the rest of the line and holds no comment, else broken: a statement
 *            at its clauses, a clause at its commas or at AND / OR, and what is still too long inside its longest parentheses
 *            (Oppen's fit-or-break, without look-behind). Reserved words become upper case; names and everything else stay as written.
 * Invariant  the tokens of the result are those of the input (reserved words aside), comments included: wr_sql_pretty checks it.
 *            Formatting the result again changes nothing.
 * Depth      parentheses deeper than DEPTH_MAX are printed flat.                                                          */
#include "parse.h"
#include "grammar.h"
#include <ctype.h>

enum { WIDTH = 100, STEP = 2, DEPTH_MAX = 64 };

typedef struct piece {              /* a token or a comment */
    uint32_t begin, end;
    uint16_t code;                  /* 0: comment */
    bool     reserved, own_line;    /* comment: it stands on a line of its own */
    bool     blank_before;          /* an empty line came before it */
    uint32_t match;                 /* of an opening parenthesis: index of the closing one; else 0 */
} piece;

typedef struct printer {
    const char *text;
    WR_ARR(piece) at;
    wr_sbuf    *out;
    uint32_t    col;
    bool        pending_break;      /* a line comment was printed: the next piece must begin a line */
    uint32_t    depth;
} printer;

/* ---- pieces ---- */

static void add_comments(printer *p, uint32_t from, uint32_t to) {
    bool own = from == 0 || p->at.n == 0, blank = false;
    for (uint32_t i = from; i < to;) {
        char c = p->text[i];
        if (c == '\n') {
            blank |= own && i > from;
            own = true;
            i++;
            continue;
        }
        if (isspace((unsigned char)c)) {
            i++;
            continue;
        }
        uint32_t end = i;
        if (c == '/' && i + 1 < to && p->text[i + 1] == '*') {
            end = i + 2;
            while (end + 1 < to && !(p->text[end] == '*' && p->text[end + 1] == '/')) end++;
            end = WR_MIN(end + 2, to);
        } else {
            while (end < to && p->text[end] != '\n') end++;
        }
        uint32_t stop = end;
        while (stop > i && isspace((unsigned char)p->text[stop - 1])) stop--;
        if (stop > i && c != '\xEF') wr_arr_push(&p->at, (piece){.begin = i, .end = stop, .own_line = own, .blank_before = blank});
        i = end;
        own = blank = false;
    }
    uint32_t lines = 0;
    for (uint32_t i = to; i > from && isspace((unsigned char)p->text[i - 1]); i--) lines += p->text[i - 1] == '\n';
    p->pending_break = lines > 1;   /* while collecting: the next token had an empty line before it */
}

static bool collect(printer *p, uint32_t file, wr_str text, wr_diags *diags) {
    wr_lexer lex;
    wr_token t;
    uint32_t last = 0;
    WR_ARR(uint32_t) open = {0};
    wr_lexer_init(&lex, file, text.ptr, text.len, diags);
    while (wr_lexer_next(&lex, &t)) {
        add_comments(p, last, t.begin);
        piece x = {.begin = t.begin, .end = t.end, .code = t.code, .reserved = t.mode == WR_KW_RESERVED || t.mode == WR_KW_JOIN, .blank_before = p->pending_break};
        if (t.code == TK_LP || t.code == TK_LB) wr_arr_push(&open, p->at.n);
        if ((t.code == TK_RP || t.code == TK_RB) && open.n) p->at.at[open.at[--open.n]].match = p->at.n;
        if (t.code == TK_SEMI) open.n = 0;
        wr_arr_push(&p->at, x);
        last = t.end;
    }
    add_comments(p, last, (uint32_t)text.len);
    p->pending_break = false;
    wr_arr_free(&open);
    return lex.n_errors == 0;
}

/* ---- text of a piece, space between two ---- */

static bool tight_left(uint16_t c) { return c == TK_COMMA || c == TK_SEMI || c == TK_RP || c == TK_RB || c == TK_DOT; }
static bool tight_right(uint16_t c) { return c == TK_LP || c == TK_LB || c == TK_DOT || c == TK_DOLLAR; }

static bool ends_operand(const piece *x) { /* so that a sign behind it is an operator between two */
    switch (x->code) {
    case TK_ID: case TK_INTEGER: case TK_DECIMAL: case TK_APPROX: case TK_STRING: case TK_RP: case TK_RB: return true;
    default: return false;
    }
}

static bool space_between(const printer *p, uint32_t a, uint32_t b) {
    const piece *x = &p->at.at[a], *y = &p->at.at[b];
    if (!x->code || !y->code) return true;
    if (y->code == TK_LB && x->reserved) return true;
    if (tight_left(y->code) || tight_right(x->code)) return false;
    if (y->code == TK_LP || y->code == TK_LB) return x->code != TK_TABLE && (x->reserved || x->end != y->begin || x->code == TK_COMMA); /* f(x), but IN (x), AS (x) */
    if (x->end == y->begin) { /* written together: keep signs, type parameters and ${NAME} as they are */
        bool sign = (x->code == TK_MINUS || x->code == TK_PLUS) && (a == 0 || !ends_operand(&p->at.at[a - 1]));
        if (sign || x->code == TK_LT || y->code == TK_GT || y->code == TK_LT || x->code == TK_LBRACE || y->code == TK_RBRACE || y->code == TK_LBRACE || y->code == TK_QUESTION || y->code == TK_STAR || y->code == TK_PLUS)
            return x->code == TK_GT && y->code == TK_ID;
    }
    return true;
}

static void put_text(printer *p, const piece *x) {
    for (uint32_t i = x->begin; i < x->end; i++) wr_sbuf_addc(p->out, x->code && x->reserved ? (char)toupper((unsigned char)p->text[i]) : p->text[i]);
    p->col += (uint32_t)wr_utf8_chars((wr_str){p->text + x->begin, x->end - x->begin});
    const char *nl = memrchr(p->text + x->begin, '\n', x->end - x->begin);
    if (nl) p->col = (uint32_t)(p->text + x->end - nl);
}
static void new_line(printer *p, uint32_t indent) {
    while (p->out->len && p->out->at[p->out->len - 1] == ' ') p->out->at[--p->out->len] = 0;
    if (p->out->len && p->out->at[p->out->len - 1] != '\n') wr_sbuf_addc(p->out, '\n');
    for (uint32_t i = 0; i < indent; i++) wr_sbuf_addc(p->out, ' ');
    p->col = indent;
    p->pending_break = false;
}
static bool line_comment(const printer *p, const piece *x) { return !x->code && p->text[x->begin] != '/' ? true : !x->code && p->text[x->begin + 1] == '/'; }

/* One piece in its place: at a line's beginning, or behind `before`. */
static void put(printer *p, uint32_t i, uint32_t before, bool begins, uint32_t indent) {
    const piece *x = &p->at.at[i];
    if (!x->code && x->own_line) begins = false, new_line(p, indent);
    else if (p->pending_break) begins = false, new_line(p, indent);
    else if (!begins && !x->code) wr_sbuf_addz(p->out, "  "), p->col += 2, begins = true;
    else if (!begins && before != UINT32_MAX && space_between(p, before, i)) wr_sbuf_addc(p->out, ' '), p->col++;
    put_text(p, x);
    if (line_comment(p, x) || (!x->code && x->own_line)) p->pending_break = true;
}

/* ---- widths and breaks ---- */

static bool flat_width(const printer *p, uint32_t from, uint32_t to, uint32_t *width) { /* false: cannot be flat */
    uint32_t w = 0;
    for (uint32_t i = from; i < to; i++) {
        const piece *x = &p->at.at[i];
        if (!x->code || (memchr(p->text + x->begin, '\n', x->end - x->begin))) return false;
        if (i > from && space_between(p, i - 1, i)) w++;
        w += (uint32_t)wr_utf8_chars((wr_str){p->text + x->begin, x->end - x->begin});
        if (w > WIDTH) return false;
    }
    *width = w;
    return true;
}
static bool fits(const printer *p, uint32_t from, uint32_t to, uint32_t col) {
    uint32_t w;
    return flat_width(p, from, to, &w) && col + w <= WIDTH;
}

static bool word_is(const printer *p, uint32_t i, const char *word) {
    const piece *x = &p->at.at[i];
    return x->code && wr_str_ieq((wr_str){p->text + x->begin, x->end - x->begin}, wr_str_of(word));
}

/* Does a new clause begin with piece i of a run that began at `from`? */
static bool clause_begins(const printer *p, uint32_t from, uint32_t i) {
    static const char *const JOIN_WORDS[] = {"LEFT", "RIGHT", "FULL", "INNER", "CROSS", "NATURAL"};
    const piece *x = &p->at.at[i];
    if (i == from) return true;
    switch (x->code) {
    case TK_FROM: return !word_is(p, i - 1, "DISTINCT");
    case TK_SELECT: case TK_WHERE: case TK_HAVING: case TK_UNION: case TK_INTERSECT: case TK_EXCEPT: case TK_VALUES: case TK_LIMIT: return true;
    default: break;
    }
    bool by = i + 1 < p->at.n && word_is(p, i + 1, "BY");
    if ((word_is(p, i, "GROUP") || word_is(p, i, "ORDER") || word_is(p, i, "PARTITION") || word_is(p, i, "PARTITIONED")) && by) return true;
    for (size_t k = 0; k < WR_COUNT_OF(JOIN_WORDS); k++)
        if (word_is(p, i, JOIN_WORDS[k]) && x->reserved && p->at.at[i + 1 < p->at.n ? i + 1 : i].code != TK_LP) return true;
    if (word_is(p, i, "JOIN")) {
        if (word_is(p, i - 1, "OUTER") || word_is(p, i - 1, "SEMI") || word_is(p, i - 1, "ANTI")) return false;
        for (size_t k = 0; k < WR_COUNT_OF(JOIN_WORDS); k++)
            if (word_is(p, i - 1, JOIN_WORDS[k])) return false;
        return true;
    }
    return (word_is(p, i, "MEASURES") || word_is(p, i, "DEFINE") || word_is(p, i, "PATTERN")) && from > 0;
}

static uint32_t skip_group(const printer *p, uint32_t i) { return p->at.at[i].match > i ? p->at.at[i].match : i; }

static void print_run(printer *p, uint32_t from, uint32_t to, uint32_t indent, bool begins);

static void print_flat(printer *p, uint32_t from, uint32_t to, uint32_t indent, bool begins) {
    for (uint32_t i = from; i < to; i++) put(p, i, i ? i - 1 : UINT32_MAX, begins && i == from, indent);
}

/* Pieces that have no break of their own: parentheses that do not fit are opened. */
static void print_open(printer *p, uint32_t from, uint32_t to, uint32_t indent, bool begins) {
    for (uint32_t i = from; i < to; i++) {
        uint32_t close = skip_group(p, i);
        put(p, i, i ? i - 1 : UINT32_MAX, begins && i == from, indent);
        if (close == i || close >= to || close == i + 1) continue;
        if ((fits(p, i + 1, close + 1, p->col) && !p->pending_break) || p->depth >= DEPTH_MAX) {
            for (uint32_t k = i + 1; k <= close; k++) put(p, k, k - 1, false, indent);
        } else {
            p->depth++;
            new_line(p, indent + STEP);
            print_run(p, i + 1, close, indent + STEP, true);
            p->depth--;
            new_line(p, indent);
            put(p, close, close - 1, true, indent);
        }
        i = close;
    }
}

/* Where an item of a clause may begin: behind a comma, or at AND / OR that do not belong to BETWEEN or CASE. */
static bool item_begins(const printer *p, uint32_t i, bool commas, uint32_t *between, uint32_t *cases) {
    const piece *x = &p->at.at[i];
    if (commas) {
        const piece *before = &p->at.at[i - 1];
        if (!x->code && !x->own_line) return false; /* a comment on the line of what it is about */
        if (!before->code && !before->own_line && i > 1) before--;
        return before->code == TK_COMMA;
    }
    if (word_is(p, i, "BETWEEN")) ++*between;
    if (word_is(p, i, "CASE")) ++*cases;
    if (word_is(p, i, "END") && *cases) --*cases;
    if (word_is(p, i, "AND") && *between) return --*between, false;
    return !*cases && (word_is(p, i, "AND") || word_is(p, i, "OR"));
}

static void print_items(printer *p, uint32_t from, uint32_t to, uint32_t indent, bool commas, bool begins) {
    uint32_t start = from, between = 0, cases = 0;
    for (uint32_t i = from; i <= to; i++) {
        bool end = i == to;
        if (!end && (i == from || !item_begins(p, i, commas, &between, &cases))) {
            i = skip_group(p, i);
            if (i >= to) i = to - 1;
            continue;
        }
        bool first = start == from;
        if (!first || !begins) new_line(p, indent);
        if (fits(p, start, i, p->col)) print_flat(p, start, i, indent, true);
        else print_open(p, start, i, indent, true);
        start = i;
        if (!end) i = skip_group(p, i);
        if (i >= to && !end) i = to - 1;
    }
}

static bool has_top(const printer *p, uint32_t from, uint32_t to, bool commas) {
    uint32_t between = 0, cases = 0;
    for (uint32_t i = from + 1; i < to; i = skip_group(p, i) + 1)
        if (item_begins(p, i, commas, &between, &cases)) return true;
    return false;
}

/* Words that stay on the line of the clause's head: SELECT DISTINCT, GROUP BY, LEFT JOIN ... */
static uint32_t head_end(const printer *p, uint32_t from, uint32_t to) {
    uint32_t i = from + 1;
    if (i < to && (word_is(p, i, "BY") || word_is(p, i, "DISTINCT") || (p->at.at[from].code == TK_SELECT && word_is(p, i, "ALL")))) i++;
    return i;
}

static void print_clause(printer *p, uint32_t from, uint32_t to, uint32_t indent, bool begins) {
    if (fits(p, from, to, p->col)) {
        print_flat(p, from, to, indent, begins);
        return;
    }
    const piece *head = &p->at.at[from];
    uint32_t     body = head_end(p, from, to);
    bool list = head->code == TK_SELECT || head->code == TK_VALUES || word_is(p, from, "GROUP") || word_is(p, from, "ORDER") || word_is(p, from, "MEASURES") || word_is(p, from, "DEFINE");
    bool conditions = head->code == TK_WHERE || head->code == TK_HAVING;
    if (body < to && ((list && has_top(p, body, to, true)) || (conditions && has_top(p, body, to, false)))) {
        print_flat(p, from, body, indent, begins);
        print_items(p, body, to, indent + STEP, list, false);
        return;
    }
    print_open(p, from, to, indent, begins);
}

/* A run at one depth: a statement, or what stands between parentheses. */
static void print_run(printer *p, uint32_t from, uint32_t to, uint32_t indent, bool begins) {
    bool clauses = false;
    for (uint32_t i = from + 1; i < to && !clauses; i = skip_group(p, i) + 1) clauses = clause_begins(p, from, i);
    if (!clauses && has_top(p, from, to, true)) {
        print_items(p, from, to, indent, true, begins);
        return;
    }
    if (!clauses && !p->at.at[from].reserved && has_top(p, from, to, false)) {
        print_items(p, from, to, indent, false, begins);
        return;
    }
    uint32_t start = from;
    for (uint32_t i = from + 1; i <= to; i++) {
        if (i < to && !clause_begins(p, from, i)) {
            i = skip_group(p, i);
            if (i >= to) i = to - 1;
            continue;
        }
        if (start != from) new_line(p, indent);
        print_clause(p, start, i, indent, start != from || begins);
        start = i;
    }
}

static void print_statement(printer *p, uint32_t from, uint32_t to) { /* with its semicolon and a comment behind it */
    while (from < to && !p->at.at[from].code) { /* comments before it */
        if (p->at.at[from].blank_before && p->out->len) wr_sbuf_addc(p->out, '\n');
        new_line(p, 0);
        put_text(p, &p->at.at[from++]);
        wr_sbuf_addc(p->out, '\n');
        p->col = 0;
        if (from < to && p->at.at[from].code && p->at.at[from].blank_before) wr_sbuf_addc(p->out, '\n');
    }
    if (from == to) return;
    p->pending_break = false;
    if (fits(p, from, to, 0)) print_flat(p, from, to, 0, true);
    else print_run(p, from, to, 0, true);
    p->pending_break = false;
    wr_sbuf_addc(p->out, '\n');
    p->col = 0;
}

/* ---- the check ---- */

static wr_str piece_text(const printer *p, uint32_t i) { return (wr_str){p->text + p->at.at[i].begin, p->at.at[i].end - p->at.at[i].begin}; }

static bool same_pieces(const printer *a, const printer *b) {
    if (a->at.n != b->at.n) return false;
    for (uint32_t i = 0; i < a->at.n; i++) {
        if (a->at.at[i].code != b->at.at[i].code) return false;
        if (a->at.at[i].reserved ? !wr_str_ieq(piece_text(a, i), piece_text(b, i)) : !wr_str_eq(piece_text(a, i), piece_text(b, i))) return false;
    }
    return true;
}

wr_status wr_sql_pretty(uint32_t file, wr_str text, wr_diags *diags, wr_sbuf *out) {
    wr_sbuf copy = {0}; /* the lexer wants a 0 at the end */
    wr_sbuf_add(&copy, text.ptr, text.len);
    printer   p = {.text = wr_sbuf_str(&copy).ptr, .out = out}, again = {0};
    size_t    begin = out->len;
    wr_status status = collect(&p, file, wr_sbuf_str(&copy), diags) ? WR_OK : WR_USER;
    for (uint32_t from = 0, i = 0; status == WR_OK && i < p.at.n; i++) {
        bool end = p.at.at[i].code == TK_SEMI || i + 1 == p.at.n;
        if (!end) continue;
        while (i + 1 < p.at.n && !p.at.at[i + 1].code && !p.at.at[i + 1].own_line) i++; /* a comment on the line of the semicolon */
        if (from && (p.at.at[from].blank_before || p.at.at[from].code)) {
            bool together = p.at.at[from].code && !p.at.at[from].blank_before;
            if (!together && p.at.at[from].code) wr_sbuf_addc(out, '\n');
        }
        print_statement(&p, from, i + 1);
        from = i + 1;
    }
    if (status == WR_OK) {
        wr_str   made = {out->at ? out->at + begin : "", out->len - begin};
        wr_diags quiet;
        wr_diags_init(&quiet);
        again.text = made.ptr;
        bool same = collect(&again, file, made, &quiet) && same_pieces(&p, &again);
        wr_diags_free(&quiet);
        wr_dassert(same);
        if (!same) { /* it would have changed the script: left as it was */
            out->len = begin;
            wr_sbuf_add_str(out, text);
        }
    }
    wr_arr_free(&p.at), wr_arr_free(&again.at);
    wr_sbuf_free(&copy);
    return status;
}
