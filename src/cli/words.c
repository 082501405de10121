/* cli/words.c: `weir help TERM` and `weir help WR101`: the glossary, and what the codes of errors mean.
 *
 * Idea       docs/GLOSSARY.md and the table of codes in docs/operations.md are part of the binary, so that a terminal tells what the pages tell. An entry is a
 *            paragraph that begins with its terms in bold; a code is a row of a table whose first cell is the code. Links become the names of their pages.
 * Finding    case, hyphens and a plural's last s do not count; of a term that is not there the nearest ones are named.
 * Memory     constants; what is printed is built in one buffer.                                                                                       */
#include "base/embed.h"
#include "cli/cli.h"
#include <ctype.h>
#include <string.h>
#include <unistd.h>

/* WR_DOCS: the directory, from CMakeLists.txt. */
WR_EMBED(glossary_text, WR_DOCS "/GLOSSARY.md");
WR_EMBED(operations_text, WR_DOCS "/operations.md");

enum { CODE_LEN = 5, TERM_MAX = 64, TERMS_MAX = 512, COLUMNS = 100 };

static wr_str next_line(wr_str *rest) {
    const char *nl = memchr(rest->ptr, '\n', rest->len);
    wr_str      line = {rest->ptr, nl ? (size_t)(nl - rest->ptr) : rest->len};
    size_t      taken = line.len + (nl ? 1 : 0);
    *rest = (wr_str){rest->ptr + taken, rest->len - taken};
    return line;
}

/* What is compared of a term: letters in lower case and digits; a last s is left out. */
static size_t plain(wr_str term, char out[TERM_MAX]) {
    size_t n = 0;
    for (size_t i = 0; i < term.len && n < TERM_MAX - 1; i++)
        if (isalnum((unsigned char)term.ptr[i])) out[n++] = (char)tolower((unsigned char)term.ptr[i]);
    if (n > 3 && out[n - 1] == 's' && out[n - 2] != 's') n--;
    out[n] = 0;
    return n;
}

typedef struct entry { wr_str terms, text; } entry; /* "sink, source"; what follows, to the end of the paragraph */

static bool next_entry(wr_str *rest, entry *out) {
    while (rest->len) {
        wr_str line = next_line(rest);
        if (!wr_str_starts(line, WR_STR("**"))) continue;
        const char *close = memmem(line.ptr + 2, line.len - 2, "**", 2);
        if (!close) continue;
        out->terms = (wr_str){line.ptr + 2, (size_t)(close - line.ptr) - 2};
        if (out->terms.len && out->terms.ptr[out->terms.len - 1] == '.') out->terms.len--;
        wr_str last = line;
        while (rest->len && rest->ptr[0] != '\n') last = next_line(rest);
        out->text = (wr_str){close + 2, (size_t)(last.ptr + last.len - close) - 2};
        return true;
    }
    return false;
}

static bool has_term(const entry *e, const char *wanted) {
    wr_str terms = e->terms, one;
    char   name[TERM_MAX];
    while (wr_str_next(&terms, ',', &one))
        if (plain(one, name), !strcmp(name, wanted)) return true;
    return false;
}

/* Markdown to words for a terminal: [text](page.md#place) is the text, and the page if the text is not its name; marks of emphasis and code go. */
static void add_plain(wr_str md, wr_sbuf *out) {
    bool code = false;
    for (size_t i = 0; i < md.len; i++) {
        char c = md.ptr[i];
        code ^= c == '`';
        if (c == '`' || (c == '*' && !code)) continue;
        const char *close = c == '[' && !code ? memmem(md.ptr + i, md.len - i, "](", 2) : NULL, *end = close ? memchr(close, ')', (size_t)(md.ptr + md.len - close)) : NULL;
        if (!end) {
            wr_sbuf_addc(out, c == '\n' ? ' ' : c);
            continue;
        }
        wr_sbuf_printf(out, "%.*s (docs/%.*s)", (int)(close - md.ptr - i - 1), md.ptr + i + 1, (int)(end - close - 2), close + 2);
        i = (size_t)(end - md.ptr);
    }
}

/* Words of `text` in lines of COLUMNS, each begun with `indent` spaces. */
static void wrap(wr_str text, int indent, FILE *to) {
    size_t at = 0;
    int    column = 0;
    for (size_t i = 0; i <= text.len; i++) {
        if (i < text.len && text.ptr[i] != ' ') continue;
        int n = (int)(i - at);
        if (n && column && column + 1 + n > COLUMNS) fputc('\n', to), column = 0;
        if (n) {
            if (!column) fprintf(to, "%*s", indent, ""), column = indent;
            else fputc(' ', to), column++;
            fwrite(text.ptr + at, 1, (size_t)n, to), column += n;
        }
        at = i + 1;
    }
    if (column) fputc('\n', to);
}

static void print_entry(const entry *e, FILE *to) {
    wr_sbuf text = {0};
    add_plain(e->text, &text);
    const char *more = text.len ? memmem(text.at, text.len, " -> ", 4) : NULL;
    wr_str      said = {text.at, more ? (size_t)(more - text.at) : text.len};
    fprintf(to, "%.*s\n", WR_FMT(e->terms));
    wrap(said, 2, to);
    if (more) fputs("more:\n", to), wrap((wr_str){more + 4, (size_t)(text.at + text.len - more) - 4}, 2, to);
    wr_sbuf_free(&text);
}

static wr_str glossary(void) { return (wr_str){glossary_text, (size_t)(glossary_text_end - glossary_text)}; }

static bool print_term(const char *wanted, FILE *to) {
    wr_str rest = glossary();
    entry  e;
    while (next_entry(&rest, &e))
        if (has_term(&e, wanted)) return print_entry(&e, to), true;
    return false;
}

/* "| `WR101` | meaning | what to do |" */
static bool print_code(const char *code, FILE *to) {
    wr_str rest = {operations_text, (size_t)(operations_text_end - operations_text)};
    char   begin[TERM_MAX];
    int    n_begin = snprintf(begin, sizeof begin, "| `%.16s` | ", code);
    while (rest.len) {
        wr_str line = next_line(&rest);
        if (!wr_str_starts(line, (wr_str){begin, (size_t)n_begin})) continue;
        const char *at = line.ptr + n_begin, *bar = memmem(at, (size_t)(line.ptr + line.len - at), " | ", 3);
        wr_str      what = {at, (size_t)((bar ? bar : line.ptr + line.len) - at)}, todo = bar ? (wr_str){bar + 3, (size_t)(line.ptr + line.len - bar) - 3} : WR_STR("");
        if (todo.len && todo.ptr[todo.len - 1] == '|') todo.len--;
        wr_sbuf text = {0};
        add_plain(what, &text);
        fprintf(to, "%s\n", code);
        wrap((wr_str){text.at, text.len}, 2, to);
        text.len = 0;
        add_plain(todo, &text);
        if (todo.len > 1) fputs("what to do:\n", to), wrap((wr_str){text.at, text.len}, 2, to);
        wr_sbuf_free(&text);
        return true;
    }
    return false;
}

static void name_nearest(wr_str wanted, FILE *to) {
    wr_str rest = glossary(), names[TERMS_MAX];
    size_t n = 0;
    entry  e;
    while (n < TERMS_MAX && next_entry(&rest, &e)) names[n++] = e.terms;
    int near = wr_nearest(wanted, names, n);
    fprintf(to, "weir help: there is no command and no word '%.*s'", WR_FMT(wanted));
    if (near >= 0) fprintf(to, "; did you mean '%.*s'?", WR_FMT(names[near]));
    fputs("\n'weir help' lists the commands, 'weir help glossary' the words\n", to);
}

static void list_words(FILE *to) {
    wr_str rest = glossary();
    entry  e;
    while (next_entry(&rest, &e)) print_entry(&e, to), fputc('\n', to);
}

static bool print_word(wr_str wanted, FILE *to) {
    char name[TERM_MAX], code[CODE_LEN + 1] = "";
    plain(wanted, name);
    if (!strcmp(name, "glossary")) return list_words(to), true;
    for (size_t i = 0; wanted.len == CODE_LEN && i < CODE_LEN; i++) code[i] = (char)toupper((unsigned char)wanted.ptr[i]);
    return (code[0] && print_code(code, to)) || print_term(name, to);
}

bool help_word(wr_str wanted, bool or_nearest) {
    bool found = print_word(wanted, stdout);
    if (!found && or_nearest) name_nearest(wanted, stderr);
    return found;
}

void explain_words(const char *const *terms) {
    if (!isatty(STDOUT_FILENO)) return;
    fputs("\nwhat the words mean:", stdout);
    for (size_t i = 0; terms[i]; i++) printf("%s weir help %s", i ? "," : "", terms[i]);
    fputc('\n', stdout);
}

void explain_code(const char *code) {
    if (isatty(STDERR_FILENO) && wr_str_starts(wr_str_of(code), WR_STR("WR"))) fprintf(stderr, "more:   weir help %s\n", code);
}
