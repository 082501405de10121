/* cli/story_tell.c: a story step by step: text, guess, what commands printed, figures, checks, edits, the rule. See story_teller.h. */
#include "base/hash.h"
#include "story_teller.h"
#include <ctype.h>
#include <inttypes.h>
#include <regex.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { WIDTH = 100, FILE_BYTES_MAX = 256 << 20, BAR = 50 };

void say(teller *t, const char *fmt, ...) {
    va_list args;
    if (t->opts->json) return;
    va_start(args, fmt);
    vfprintf(stdout, fmt, args);
    va_end(args);
}

void say_wrapped(teller *t, wr_str text, const char *indent, const char *turn) {
    size_t at = strlen(indent), width = (size_t)t->width - strlen(turn);
    bool   begun = false;
    for (wr_str word; first_word(&text, &word); begun = true) {
        size_t chars = wr_utf8_chars(word);
        if (begun && at + 1 + chars > width) say(t, "%s\n%s", turn, indent), at = strlen(indent), begun = false;
        say(t, "%s%.*s", begun ? " " : "", WR_FMT(word));
        at += chars + begun;
    }
    say(t, "\n");
}

wr_status expand(teller *t, wr_str text, bool people, wr_str *out, wr_err *err) {
    wr_sbuf   buf = {0};
    wr_status status = story_expand(&t->vars, text, people, &buf, err);
    *out = wr_str_dup(t->arena, wr_sbuf_str(&buf));
    wr_sbuf_free(&buf);
    return status;
}

bool first_word(wr_str *text, wr_str *word) {
    *text = wr_str_trim(*text);
    size_t n = 0;
    while (n < text->len && text->ptr[n] != ' ') n++;
    *word = (wr_str){text->ptr, n};
    *text = wr_str_trim((wr_str){text->ptr + n, text->len - n});
    return n > 0;
}

bool pattern(wr_str *text, wr_str *regex) {
    if (text->len < 2 || text->ptr[0] != '/') return false;
    const char *end = memchr(text->ptr + 1, '/', text->len - 1);
    if (!end) return false;
    *regex = (wr_str){text->ptr + 1, (size_t)(end - text->ptr) - 1};
    *text = wr_str_trim((wr_str){end + 1, text->len - (size_t)(end + 1 - text->ptr)});
    return true;
}

static wr_status path_of(teller *t, wr_str name, wr_sbuf *path, wr_err *err) {
    if (!name.len || memmem(name.ptr, name.len, "..", 2) || name.ptr[0] == '/') return wr_fail(err, WR_USER, "WR478", "'%.*s' is no file of the story", WR_FMT(name));
    wr_sbuf_printf(path, "%s/%.*s", t->dir, WR_FMT(name));
    return WR_OK;
}
wr_status lines_of(teller *t, wr_str name, wr_sbuf *text, wr_err *err) {
    wr_sbuf   path = {0};
    wr_status status = path_of(t, name, &path, err);
    if (status == WR_OK) status = wr_file_read_all(t->world, path.at, FILE_BYTES_MAX, text, err);
    wr_sbuf_free(&path);
    return status;
}

static bool next_line(wr_str *text, wr_str *line) {
    if (!text->len) return false;
    const char *nl = memchr(text->ptr, '\n', text->len);
    *line = (wr_str){text->ptr, nl ? (size_t)(nl - text->ptr) : text->len};
    text->ptr += line->len + (nl ? 1 : 0), text->len -= line->len + (nl ? 1 : 0);
    return true;
}

/* ---- what is said ---- */
static wr_status do_title(teller *t, wr_err *err) {
    (void)err;
    say(t, t->colour ? "\033[1m%u  %.*s\033[0m\n" : "%u  %.*s\n", t->story->number, WR_FMT(t->step->arg));
    return WR_OK;
}
static wr_status do_part(teller *t, wr_err *err) {
    wr_str text;
    WR_TRY(expand(t, t->step->arg, true, &text, err));
    say(t, t->colour ? "\n\033[1m-- %.*s\033[0m\n" : "\n-- %.*s\n", WR_FMT(text));
    return WR_OK;
}
static wr_status do_paragraph(teller *t, wr_err *err) {
    wr_str text;
    bool   as_it_is = wr_str_starts(t->step->arg, WR_STR("  "));
    WR_TRY(expand(t, t->step->arg, true, &text, err));
    if (as_it_is) say(t, "%.*s\n", WR_FMT(text));
    else say(t, "\n"), say_wrapped(t, text, "", "");
    return WR_OK;
}
static wr_status do_rule(teller *t, wr_err *err) {
    WR_TRY(expand(t, t->step->arg, true, &t->rule, err));
    say(t, t->colour ? "\n\033[1mThe rule\033[0m\n" : "\nThe rule\n");
    say_wrapped(t, t->rule, "", "");
    return WR_OK;
}

/* @guess LETTER QUESTION, below it the answers; @answer TEXT later. */
static wr_status do_guess(teller *t, wr_err *err) {
    wr_str letter, question = t->step->arg;
    if (!first_word(&question, &letter) || letter.len != 1) return wr_fail(err, WR_USER, "WR478", "@guess LETTER QUESTION");
    WR_TRY(expand(t, question, true, &question, err));
    say(t, "\n"), say_wrapped(t, question, "", "");
    for (uint32_t i = 0; i < t->step->body.n; i++) say(t, "  %.*s\n", WR_FMT(t->step->body.at[i]));
    if (t->opts->yes || t->opts->json || !isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO)) return WR_OK;
    char line[64];
    say(t, "Your guess (a letter; Enter: none): ");
    fflush(stdout);
    if (fgets(line, sizeof line, stdin) && isalpha((unsigned char)line[0])) t->guess = (char)tolower((unsigned char)line[0]);
    return story_stopped ? wr_fail(err, WR_CANCELLED, "WR901", "stopped on request") : WR_OK;
}
static wr_status do_answer(teller *t, wr_err *err) {
    wr_str text, right = {0};
    for (uint32_t i = 0; i < t->story->steps.n; i++)
        if (wr_str_eq(t->story->steps.at[i].word, WR_STR("guess"))) right = (wr_str){t->story->steps.at[i].arg.ptr, 1};
    WR_TRY(expand(t, t->step->arg, true, &text, err));
    if (!right.len) return wr_fail(err, WR_USER, "WR478", "@answer without @guess");
    say(t, "\n");
    if (t->guess && t->guess == right.ptr[0]) text = wr_str_of(wr_arena_printf(t->arena, "You guessed %c, and so it is: %.*s", t->guess, WR_FMT(text)));
    else if (t->guess) text = wr_str_of(wr_arena_printf(t->arena, "You guessed %c; it is %c: %.*s", t->guess, right.ptr[0], WR_FMT(text)));
    else text = wr_str_of(wr_arena_printf(t->arena, "It is %c: %.*s", right.ptr[0], WR_FMT(text)));
    say_wrapped(t, text, "", "");
    return WR_OK;
}

/* ---- what commands and files say ---- */
static wr_status compile(teller *t, wr_str text, regex_t *re, wr_err *err) {
    WR_TRY(expand(t, text, false, &text, err));
    if (regcomp(re, wr_arena_strndup(t->arena, text.ptr, text.len), REG_EXTENDED | REG_NEWLINE)) return wr_fail(err, WR_USER, "WR478", "'%.*s' is no pattern", WR_FMT(text));
    return WR_OK;
}

static int show_lines(teller *t, const wr_sbuf *from, const regex_t *re, bool on, int left) {
    bool   begun = false;
    wr_str text = wr_sbuf_str(from), line;
    while (left > 0 && next_line(&text, &line)) {
        char *z = wr_arena_strndup(t->arena, line.ptr, line.len);
        if (!(on && begun) && regexec(re, z, 0, NULL, 0)) continue;
        begun = true, left--;
        say(t, "    %s\n", z);
    }
    return left;
}

/* [N] /REGEX/ [and on]: lines of the last command's output that match; "and on": from the first one. */
static wr_status do_show(teller *t, wr_err *err) {
    wr_str  rest = t->step->arg, text, count;
    double  n = 100;
    regex_t re;
    if (rest.len && isdigit((unsigned char)*rest.ptr) && first_word(&rest, &count)) story_number(count, &n);
    if (!pattern(&rest, &text)) return wr_fail(err, WR_USER, "WR478", "@show [N] /REGEX/ [and on]");
    WR_TRY(compile(t, text, &re, err));
    bool on = wr_str_eq(rest, WR_STR("and on"));
    int  left = show_lines(t, &t->out, &re, on, (int)n);
    if (left == (int)n || !on) left = show_lines(t, &t->err, &re, on, left);
    regfree(&re);
    return left < (int)n ? WR_OK : wr_fail(err, WR_DATA, "WR478", "the command printed no line with /%.*s/:\n%.*s", WR_FMT(text), 300, t->out.len ? t->out.at : t->err.at ? t->err.at : "");
}

static wr_status do_cat(teller *t, wr_err *err) {
    wr_sbuf text = {0};
    wr_str  line, rest = t->step->arg, name, count;
    double  n = 1000;
    if (!first_word(&rest, &name)) return wr_fail(err, WR_USER, "WR478", "@cat FILE [N]");
    if (first_word(&rest, &count)) story_number(count, &n);
    wr_status status = lines_of(t, name, &text, err);
    say(t, "\n  %.*s\n", WR_FMT(name));
    rest = wr_sbuf_str(&text);
    while (status == WR_OK && n-- > 0 && next_line(&rest, &line)) say(t, "    %.*s\n", WR_FMT(line));
    wr_sbuf_free(&text);
    return status;
}

static wr_status do_save(teller *t, wr_err *err) {
    wr_sbuf   path = {0};
    wr_status status = path_of(t, t->step->arg, &path, err);
    if (status == WR_OK) status = wr_file_replace(t->world, path.at, wr_sbuf_str(&t->out), err);
    wr_sbuf_free(&path);
    return status;
}

static int by_text(const void *a, const void *b) { return wr_str_cmp(*(const wr_str *)a, *(const wr_str *)b); }
typedef WR_ARR(wr_str) str_list;
static void sorted(wr_str text, str_list *out) {
    for (wr_str line; next_line(&text, &line);) wr_arr_push(out, line);
    if (out->n) qsort(out->at, out->n, sizeof *out->at, by_text);
}
/* Lines that are in one of the two files only, as often as they are. */
static double differing(wr_str a, wr_str b) {
    str_list x = {0}, y = {0};
    uint32_t i = 0, j = 0, n = 0;
    sorted(a, &x), sorted(b, &y);
    while (i < x.n || j < y.n) {
        int c = i == x.n ? 1 : j == y.n ? -1 : wr_str_cmp(x.at[i], y.at[j]);
        if (c) n++;
        if (c <= 0) i++;
        if (c >= 0) j++;
    }
    wr_arr_free(&x), wr_arr_free(&y);
    return n;
}

static wr_status of_files(teller *t, wr_str kind, wr_str files, double *value, wr_err *err) {
    wr_sbuf   a = {0}, b = {0};
    wr_str    first, second;
    wr_status status = first_word(&files, &first) ? lines_of(t, first, &a, err) : wr_fail(err, WR_USER, "WR478", "a file is missing");
    if (status == WR_OK && wr_str_eq(kind, WR_STR("differ")))
        status = first_word(&files, &second) ? lines_of(t, second, &b, err) : wr_fail(err, WR_USER, "WR478", "differ takes two files");
    wr_str text = wr_sbuf_str(&a), line;
    *value = 0;
    if (wr_str_eq(kind, WR_STR("differ"))) *value = status == WR_OK ? differing(text, wr_sbuf_str(&b)) : 0;
    else if (wr_str_eq(kind, WR_STR("bytes"))) *value = (double)a.len;
    else while (next_line(&text, &line)) *value += 1;
    wr_sbuf_free(&a), wr_sbuf_free(&b);
    return status;
}

static bool taken(teller *t, const wr_sbuf *from, const regex_t *re, wr_str *out) {
    regmatch_t m[2];
    if (!from->at || regexec(re, from->at, 2, m, 0) || m[1].rm_so < 0) return false;
    wr_str got = {from->at + m[1].rm_so, (size_t)(m[1].rm_eo - m[1].rm_so)};
    char  *copy = wr_arena_strndup(t->arena, got.ptr, got.len);
    if (strspn(copy, "0123456789,.") == got.len) { /* 1,234 is a number */
        size_t n = 0;
        for (size_t i = 0; i < got.len; i++)
            if (copy[i] != ',') copy[n++] = copy[i];
        got.len = n;
    }
    *out = (wr_str){copy, got.len};
    return true;
}

/* NAME $.json.path | /REGEX with (one) group/ | lines FILE | bytes FILE | differ FILE FILE */
static wr_status do_take(teller *t, wr_err *err) {
    wr_str name, rest = t->step->arg, text, value = {0}, kind;
    if (!first_word(&rest, &name) || !rest.len) return wr_fail(err, WR_USER, "WR478", "@take NAME FROM");
    if (rest.ptr[0] == '$') {
        wr_sbuf got = {0};
        wr_str  doc = wr_str_trim(wr_sbuf_str(&t->out)), path;
        for (wr_str line, all = wr_sbuf_str(&t->err); next_line(&all, &line);)
            if (wr_str_starts(line, WR_STR("{\"event\":"))) doc = line; /* the last one, of a run with --json */
        wr_status status = expand(t, rest, false, &path, err);
        if (status == WR_OK) status = story_json(doc, path, &got, err);
        if (status == WR_OK) story_set(&t->vars, name, wr_sbuf_str(&got));
        wr_sbuf_free(&got);
        return status;
    }
    if (pattern(&rest, &text)) {
        regex_t re;
        WR_TRY(compile(t, text, &re, err));
        bool found = taken(t, &t->out, &re, &value) || taken(t, &t->err, &re, &value);
        regfree(&re);
        if (!found) return wr_fail(err, WR_DATA, "WR478", "the command printed nothing like /%.*s/", WR_FMT(text));
        story_set(&t->vars, name, value);
        return WR_OK;
    }
    double number;
    if (!first_word(&rest, &kind) || !(wr_str_eq(kind, WR_STR("lines")) || wr_str_eq(kind, WR_STR("bytes")) || wr_str_eq(kind, WR_STR("differ"))))
        return wr_fail(err, WR_USER, "WR478", "@take NAME: a JSON path, a /pattern/, lines, bytes or differ");
    WR_TRY(of_files(t, kind, rest, &number, err));
    story_set_number(&t->vars, name, number);
    return WR_OK;
}

/* NAME = EXPRESSION, or text */
static wr_status do_let(teller *t, wr_err *err) {
    wr_str name, equals, rest = t->step->arg;
    double value;
    if (!first_word(&rest, &name) || !first_word(&rest, &equals) || !wr_str_eq(equals, WR_STR("="))) return wr_fail(err, WR_USER, "WR478", "@let NAME = EXPRESSION");
    WR_TRY(expand(t, rest, false, &rest, err));
    if (story_number(rest, &value)) story_set_number(&t->vars, name, value);
    else story_set(&t->vars, name, rest);
    return WR_OK;
}

/* NAME FROM TO [quick FROM TO]: whole numbers, drawn from the seed. */
static wr_status do_size(teller *t, wr_err *err) {
    wr_str name, rest = t->step->arg, word;
    double at[4] = {0};
    int    n = 0;
    bool   ok = first_word(&rest, &name);
    while (ok && n < 4 && first_word(&rest, &word)) {
        if (n == 2 && wr_str_eq(word, WR_STR("quick"))) continue;
        ok = story_number(word, &at[n++]);
    }
    if (!ok || (n != 2 && n != 4)) return wr_fail(err, WR_USER, "WR478", "@size NAME FROM TO [quick FROM TO]");
    int    i = t->opts->quick && n == 4 ? 2 : 0;
    wr_rng rng;
    wr_rng_seed(&rng, wr_hash_mix(t->opts->seed, wr_hash_bytes(name.ptr, name.len)));
    story_set_number(&t->vars, name, at[i] + (double)wr_rng_below(&rng, (uint64_t)(at[i + 1] - at[i]) + 1));
    return WR_OK;
}

/* ---- what must hold ---- */
static bool holds(wr_str a, wr_str relation, wr_str b) {
    double x, y;
    bool   numbers = story_number(a, &x) && story_number(b, &y);
    int    c = numbers ? (x > y) - (x < y) : wr_str_cmp(a, b);
    if (wr_str_eq(relation, WR_STR("="))) return c == 0;
    if (wr_str_eq(relation, WR_STR("!="))) return c != 0;
    if (wr_str_eq(relation, WR_STR("<"))) return numbers && c < 0;
    if (wr_str_eq(relation, WR_STR(">"))) return numbers && c > 0;
    if (wr_str_eq(relation, WR_STR("<="))) return numbers && c <= 0;
    return numbers && c >= 0;
}

static wr_status people(teller *t, wr_str text, wr_str *out, wr_err *err) { /* a side of a relation: its value if it is a sum */
    wr_str raw;
    double value;
    WR_TRY(expand(t, text, false, &raw, err));
    if (!story_number(raw, &value)) return expand(t, text, true, out, err);
    story_vars one = {.arena = t->arena};
    wr_sbuf    buf = {0};
    story_set_number(&one, WR_STR("v"), value);
    wr_status status = story_expand(&one, WR_STR("$v"), true, &buf, err);
    *out = wr_str_dup(t->arena, wr_sbuf_str(&buf));
    wr_sbuf_free(&buf);
    return status;
}

/* TEXT: SIDE RELATION SIDE */
static wr_status do_check(teller *t, wr_err *err) {
    static const char *const relations[] = {" <= ", " >= ", " != ", " = ", " < ", " > "};
    wr_str arg = t->step->arg, left, right, a, b;
    size_t colon = arg.len;
    while (colon > 1 && !(arg.ptr[colon - 1] == ':' && colon < arg.len && arg.ptr[colon] == ' ')) colon--;
    wr_str      claim = {arg.ptr + colon, arg.len - colon};
    story_check c = {0};
    const char *at = NULL;
    for (size_t i = 0; !at && colon > 1 && i < WR_COUNT_OF(relations); i++)
        if ((at = memmem(claim.ptr, claim.len, relations[i], strlen(relations[i])))) c.relation = wr_str_trim(wr_str_of(relations[i]));
    if (!at) return wr_fail(err, WR_USER, "WR478", "@check TEXT: SIDE RELATION SIDE");
    left = wr_str_trim((wr_str){claim.ptr, (size_t)(at - claim.ptr)});
    right = wr_str_trim((wr_str){at + c.relation.len + 2, claim.len - (size_t)(at + c.relation.len + 2 - claim.ptr)});
    WR_TRY(expand(t, (wr_str){arg.ptr, colon - 1}, true, &c.said, err));
    WR_TRY(expand(t, left, false, &a, err));
    WR_TRY(expand(t, right, false, &b, err));
    WR_TRY(people(t, left, &c.left, err));
    WR_TRY(people(t, right, &c.right, err));
    c.held = holds(a, c.relation, b);
    wr_arr_apush(t->arena, &t->checks, c);
    say(t, "\n  %s%s%s  %.*s  (%.*s %.*s %.*s)\n", t->colour ? c.held ? "\033[32m" : "\033[31m" : "", c.held ? "held  " : "BROKEN", t->colour ? "\033[0m" : "", WR_FMT(c.said),
        WR_FMT(c.left), WR_FMT(c.relation), WR_FMT(c.right));
    return WR_OK;
}

/* TITLE; below it LABEL = EXPRESSION lines: a picture of them. */
static wr_status do_bars(teller *t, wr_err *err) {
    double greatest = 0;
    int    widest = 0;
    for (int pass = 0; pass < 2; pass++) {
        wr_str title;
        WR_TRY(expand(t, t->step->arg, true, &title, err));
        if (pass) say(t, "\n  %.*s\n", WR_FMT(title));
        for (uint32_t i = 0; i < t->step->body.n; i++) {
            wr_str      line = t->step->body.at[i], raw, text;
            const char *eq = memmem(line.ptr, line.len, " = ", 3);
            double      value;
            if (!eq) return wr_fail(err, WR_USER, "WR478", "@bars: LABEL = EXPRESSION");
            wr_str label, side = {eq + 3, line.len - (size_t)(eq + 3 - line.ptr)};
            WR_TRY(expand(t, wr_str_trim((wr_str){line.ptr, (size_t)(eq - line.ptr)}), true, &label, err));
            WR_TRY(expand(t, side, false, &raw, err));
            if (!story_number((wr_str){raw.ptr, strcspn(raw.ptr, ":")}, &value)) return wr_fail(err, WR_USER, "WR478", "'%.*s' is no number", WR_FMT(raw));
            greatest = WR_MAX(greatest, value), widest = WR_MAX(widest, (int)wr_utf8_chars(label));
            if (!pass) continue;
            int n = greatest > 0 ? (int)(value / greatest * BAR + 0.5) : 0;
            if (memchr(side.ptr, ':', side.len)) WR_TRY(expand(t, side, true, &text, err));
            else WR_TRY(people(t, side, &text, err));
            say(t, "    %.*s%*s  ", WR_FMT(label), widest - (int)wr_utf8_chars(label), "");
            for (int k = 0; k < n || k < 1; k++) say(t, "#");
            say(t, " %.*s\n", WR_FMT(text));
        }
    }
    return WR_OK;
}

/* ---- edits ---- */
/* The only place at which `old` lines stand one after the other; UINT32_MAX: none, or several. */
static uint32_t find_lines(const str_list *lines, const wr_str *old, uint32_t n) {
    uint32_t found = UINT32_MAX;
    for (uint32_t i = 0; i + n <= lines->n; i++) {
        uint32_t k = 0;
        while (k < n && wr_str_eq(wr_str_trim(lines->at[i + k]), wr_str_trim(old[k]))) k++;
        if (k < n) continue;
        if (found != UINT32_MAX) return UINT32_MAX;
        found = i;
    }
    return found;
}

static wr_status edit_lines(teller *t, str_list *lines, wr_sbuf *out, wr_err *err) {
    const story_step *s = t->step;
    uint32_t          done = 0;
    for (uint32_t i = 0; i < s->body.n;) {
        str_list old = {0};
        while (i < s->body.n && s->body.at[i].ptr[0] == '-') {
            wr_str text;
            WR_TRY(expand(t, (wr_str){s->body.at[i].ptr + 1, s->body.at[i].len - 1}, false, &text, err));
            say(t, t->colour ? "    \033[31m-%.*s\033[0m\n" : "    -%.*s\n", WR_FMT(text));
            wr_arr_apush(t->arena, &old, text);
            i++;
        }
        uint32_t at = old.n ? find_lines(lines, old.at, old.n) : done;
        if (at == UINT32_MAX || at < done) return wr_fail(err, WR_USER, "WR478", "the lines that go away are not in the file, or more than once");
        while (done < at) wr_sbuf_add_str(out, lines->at[done++]), wr_sbuf_addc(out, '\n');
        done += old.n;
        uint32_t before = i;
        for (; i < s->body.n && s->body.at[i].ptr[0] == '+'; i++) {
            wr_str text;
            WR_TRY(expand(t, (wr_str){s->body.at[i].ptr + 1, s->body.at[i].len - 1}, false, &text, err));
            say(t, t->colour ? "    \033[32m+%.*s\033[0m\n" : "    +%.*s\n", WR_FMT(text));
            wr_sbuf_add_str(out, text), wr_sbuf_addc(out, '\n');
        }
        if (!old.n && i == before) return wr_fail(err, WR_USER, "WR478", "@edit: lines that begin with - or +");
    }
    while (done < lines->n) wr_sbuf_add_str(out, lines->at[done++]), wr_sbuf_addc(out, '\n');
    return WR_OK;
}

/* FILE [as NEW] */
static wr_status do_edit(teller *t, wr_err *err) {
    wr_str   rest = t->step->arg, name, word, to;
    wr_sbuf  text = {0}, out = {0}, path = {0};
    str_list lines = {0};
    if (!first_word(&rest, &name)) return wr_fail(err, WR_USER, "WR478", "@edit FILE [as NEW]");
    to = first_word(&rest, &word) && rest.len ? rest : name;
    wr_status status = lines_of(t, name, &text, err);
    rest = wr_sbuf_str(&text);
    for (wr_str line; status == WR_OK && next_line(&rest, &line);) wr_arr_push(&lines, line);
    if (status == WR_OK) say(t, wr_str_eq(to, name) ? "\n  edit %.*s\n" : "\n  edit %.*s, as %.*s\n", WR_FMT(name), WR_FMT(to)), status = edit_lines(t, &lines, &out, err);
    if (status == WR_OK) status = path_of(t, to, &path, err);
    if (status == WR_OK) status = wr_file_replace(t->world, path.at, wr_sbuf_str(&out), err);
    wr_arr_free(&lines);
    wr_sbuf_free(&text), wr_sbuf_free(&out), wr_sbuf_free(&path);
    return status;
}

/* FILE, below it its lines, with $names */
static wr_status do_write(teller *t, wr_err *err) {
    wr_sbuf text = {0}, path = {0};
    WR_TRY(path_of(t, t->step->arg, &path, err));
    wr_status status = WR_OK;
    for (uint32_t i = 0; status == WR_OK && i < t->step->body.n; i++) {
        wr_str line;
        status = expand(t, t->step->body.at[i], false, &line, err);
        wr_sbuf_printf(&text, "%.*s\n", WR_FMT(line));
    }
    if (status == WR_OK) status = wr_file_replace(t->world, path.at, wr_sbuf_str(&text), err);
    wr_sbuf_free(&text), wr_sbuf_free(&path);
    return status;
}

/* ---- all of it ---- */
static const struct { const char *word; step_fn *run; } STEPS[] = {
    {"", do_paragraph}, {"title", do_title}, {"part", do_part}, {"rule", do_rule}, {"guess", do_guess}, {"answer", do_answer}, {"run", do_run}, {"background", do_background},
    {"until", do_until}, {"wait", do_wait}, {"stop", do_stop}, {"kill", do_kill}, {"release", do_release}, {"show", do_show}, {"cat", do_cat}, {"save", do_save}, {"take", do_take}, {"let", do_let},
    {"size", do_size}, {"check", do_check}, {"bars", do_bars}, {"edit", do_edit}, {"write", do_write},
};

static wr_status play(teller *t, wr_err *err) {
    for (uint32_t i = 0; i < t->story->steps.n; i++) {
        wr_status status = wr_fail(err, WR_USER, "WR478", "there is no @%.*s", WR_FMT(t->story->steps.at[i].word));
        t->step = &t->story->steps.at[i];
        for (size_t k = 0; k < WR_COUNT_OF(STEPS); k++)
            if (wr_str_eq(t->step->word, wr_str_of(STEPS[k].word))) *err = (wr_err){0}, status = STEPS[k].run(t, err);
        if (story_stopped && status == WR_OK) status = wr_fail(err, WR_CANCELLED, "WR901", "stopped on request");
        if (status != WR_OK) wr_err_place(err, "%.*s/story.txt:%u", WR_FMT(t->story->name), t->step->line);
        WR_TRY(status);
        if (!t->opts->json) fflush(stdout);
    }
    return WR_OK;
}

static wr_status scratch(teller *t, wr_err *err) {
    const char *temp = getenv("TMPDIR");
    wr_sbuf     path = {0};
    if (t->opts->keep) {
        char here[2048];
        bool there = false;
        wr_file_info info;
        if (!getcwd(here, sizeof here)) here[0] = '\0';
        snprintf(t->dir, sizeof t->dir, "%s%s%s", t->opts->keep[0] == '/' ? "" : here, t->opts->keep[0] == '/' ? "" : "/", t->opts->keep);
        WR_TRY(t->world->vt->stat(t->world, t->dir, &info, &there, err));
        if (there) return wr_fail(err, WR_USER, "WR479", "'%s' is there already: --keep makes a directory of its own", t->opts->keep);
    } else {
        snprintf(t->dir, sizeof t->dir, "%.2000s/weir-story-%08" PRIx64, temp && *temp ? temp : "/tmp", t->world->vt->random(t->world) & 0xffffffff);
    }
    wr_sbuf_printf(&path, "%s/output", t->dir);
    wr_status status = t->world->vt->make_dirs(t->world, path.at, err);
    for (uint32_t i = 0; status == WR_OK && i < t->story->files.n; i++) {
        wr_sbuf_clear(&path);
        wr_sbuf_printf(&path, "%s/%.*s", t->dir, WR_FMT(t->story->files.at[i].name));
        status = wr_file_replace(t->world, path.at, t->story->files.at[i].bytes, err);
    }
    wr_sbuf_free(&path);
    return status;
}

static void leave(teller *t) {
    wr_err  ignored;
    wr_sbuf path = {0};
    if (!t->opts->keep) {
        wr_dir_remove(t->world, t->dir, &ignored);
        return;
    }
    wr_sbuf_printf(&path, "%s/commands.sh", t->dir);
    wr_file_replace(t->world, path.at, wr_sbuf_str(&t->commands), &ignored);
    say(t, "\nEverything is in %s: scripts, data, state, what each command printed (output/), and the commands (commands.sh).\n", t->opts->keep);
    wr_sbuf_free(&path);
}

static void report(teller *t, double seconds, uint32_t broken, const wr_err *err) {
    wr_sbuf out = {0};
    wr_sbuf_printf(&out, "{\"story\":%u,\"title\":", t->story->number), wr_sbuf_add_json(&out, t->story->title);
    wr_sbuf_printf(&out, ",\"seed\":%" PRIu64 ",\"seconds\":%.1f,\"held\":%s,\"checks\":[", t->opts->seed, seconds, broken || err->code[0] ? "false" : "true");
    for (uint32_t i = 0; i < t->checks.n; i++) {
        const story_check *c = &t->checks.at[i];
        const wr_str       text[] = {c->said, c->left, c->relation, c->right};
        const char *const  names[] = {"said", "left", "relation", "right"};
        wr_sbuf_addz(&out, i ? ",{" : "{");
        for (int k = 0; k < 4; k++) wr_sbuf_printf(&out, "\"%s\":", names[k]), wr_sbuf_add_json(&out, text[k]), wr_sbuf_addc(&out, ',');
        wr_sbuf_printf(&out, "\"held\":%s}", c->held ? "true" : "false");
    }
    wr_sbuf_addz(&out, "],\"values\":{");
    for (uint32_t i = 0; i < t->vars.at.n; i++) {
        double value;
        wr_sbuf_addz(&out, i ? "," : ""), wr_sbuf_add_json(&out, t->vars.at.at[i].name), wr_sbuf_addc(&out, ':');
        if (story_number(t->vars.at.at[i].text, &value)) wr_sbuf_printf(&out, "%.15g", value);
        else wr_sbuf_add_json(&out, t->vars.at.at[i].text);
    }
    wr_sbuf_addz(&out, "},\"rule\":"), wr_sbuf_add_json(&out, t->rule), wr_sbuf_addz(&out, "}\n");
    fwrite(out.at, 1, out.len, stdout);
    wr_sbuf_free(&out);
}

int story_tell(const story *s, const story_opts *opts) {
    struct winsize w = {0};
    teller t = {.story = s, .opts = opts, .world = wr_world_posix(), .arena = s->arena, .vars.arena = s->arena, .colour = isatty(STDOUT_FILENO) && !getenv("NO_COLOR"), .tty = isatty(STDERR_FILENO)};
    wr_err err = {0};
    int64_t began = wr_mono_us(t.world);
    t.width = isatty(STDOUT_FILENO) && !ioctl(STDOUT_FILENO, TIOCGWINSZ, &w) && w.ws_col >= 40 && w.ws_col < WIDTH ? w.ws_col : WIDTH;
    wr_status status = wr_process_self(t.self) ? scratch(&t, &err) : wr_fail(&err, WR_IO, "WR479", "it is not known which program this is: /proc/self/exe cannot be read");
    bool made = status == WR_OK;
    story_set_number(&t.vars, WR_STR("seed"), (double)opts->seed);
    if (made) status = play(&t, &err);
    jobs_end(&t);
    uint32_t broken = 0;
    for (uint32_t i = 0; i < t.checks.n; i++) broken += !t.checks.at[i].held;
    double seconds = (double)(wr_mono_us(t.world) - began) / 1e6;
    if (status != WR_OK) print_err(&err, opts->json);
    else say(&t, "\n%u %s held, %u broken; %.0f s.\n", t.checks.n - broken, t.checks.n - broken == 1 ? "check" : "checks", broken, seconds);
    if (made) leave(&t);
    if (opts->json) report(&t, seconds, broken, &err);
    wr_sbuf_free(&t.out), wr_sbuf_free(&t.err), wr_sbuf_free(&t.commands);
    if (status == WR_CANCELLED) return CLI_INTERRUPTED;
    if (status != WR_OK) return !made && status == WR_USER ? CLI_REFUSED : CLI_FAILED;
    return broken ? CLI_FAILED : CLI_OK;
}
