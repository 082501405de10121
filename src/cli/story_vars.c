/* cli/story_vars.c: what a story knows by name; sums over it. See story.h. */
#include "story.h"
#include <ctype.h>
#include <math.h>
#include <stdlib.h>

void story_set(story_vars *vars, wr_str name, wr_str text) {
    text = wr_str_dup(vars->arena, text);
    for (uint32_t i = 0; i < vars->at.n; i++)
        if (wr_str_eq(vars->at.at[i].name, name)) {
            vars->at.at[i].text = text;
            return;
        }
    wr_arr_apush(vars->arena, &vars->at, (story_var){wr_str_dup(vars->arena, name), text});
}

void story_set_number(story_vars *vars, wr_str name, double value) { story_set(vars, name, wr_str_of(wr_arena_printf(vars->arena, "%.15g", value))); }

/* ---- expressions ---- */
enum { DEPTH_MAX = 40 };
typedef struct sum { const char *at, *end; int depth; bool bad; } sum;
static double add_up(sum *s);
static void blanks(sum *s) { while (s->at < s->end && isspace((unsigned char)*s->at)) s->at++; }
static bool take_char(sum *s, char c) {
    blanks(s);
    if (s->at >= s->end || *s->at != c) return false;
    s->at++;
    return true;
}
static double factor(sum *s) {
    if (++s->depth > DEPTH_MAX) s->bad = true;
    double v = 0;
    if (s->bad) return 0;
    blanks(s);
    if (take_char(s, '(')) {
        v = add_up(s);
        if (!take_char(s, ')')) s->bad = true;
    } else if (s->end - s->at > 3 && !memcmp(s->at, "up(", 3)) {
        s->at += 2;
        v = ceil(factor(s));
    } else if (take_char(s, '-')) {
        v = -factor(s);
    } else {
        char   text[64], *stop;
        size_t n = 0;
        blanks(s);
        while (s->at + n < s->end && n < sizeof text - 1 && (isdigit((unsigned char)s->at[n]) || s->at[n] == '.' || (n && s->at[n] == 'e') || (n && s->at[n - 1] == 'e' && strchr("+-", s->at[n])))) n++;
        memcpy(text, s->at, n);
        text[n] = '\0';
        v = strtod(text, &stop);
        if (!n || *stop) s->bad = true;
        s->at += n;
    }
    s->depth--;
    return v;
}
static double product(sum *s) {
    double v = factor(s);
    for (;;) {
        if (take_char(s, '*')) v *= factor(s);
        else if (take_char(s, '/')) v /= factor(s);
        else return v;
        if (s->bad) return 0;
    }
}
static double add_up(sum *s) {
    double v = product(s);
    for (;;) {
        if (take_char(s, '+')) v += product(s);
        else if (take_char(s, '-')) v -= product(s);
        else return v;
        if (s->bad) return 0;
    }
}
bool story_number(wr_str text, double *out) {
    sum s = {.at = text.ptr, .end = text.ptr + text.len};
    *out = add_up(&s);
    blanks(&s);
    return !s.bad && s.at == s.end && isfinite(*out);
}

/* ---- $name ---- */
static void add_for_people(wr_sbuf *out, wr_str text, wr_str *rest) {
    double value;
    bool   is_number = story_number(text, &value) && text.len && !memchr(text.ptr, ' ', text.len);
    if (is_number && wr_str_starts(*rest, WR_STR(":size"))) {
        wr_text_size((int64_t)value, out);
        rest->ptr += 5, rest->len -= 5;
    } else if (is_number && rest->len > 1 && rest->ptr[0] == ':' && isdigit((unsigned char)rest->ptr[1])) {
        wr_sbuf_printf(out, "%.*f", rest->ptr[1] - '0', value);
        rest->ptr += 2, rest->len -= 2;
    } else if (is_number && value >= 0 && value < 1e15 && value == floor(value)) {
        add_count(out, (uint64_t)value);
    } else if (is_number && value >= 1000 && value < 1e15) {
        add_count(out, (uint64_t)llround(value));
    } else if (is_number) {
        wr_sbuf_printf(out, "%.3g", value);
    } else {
        wr_sbuf_add_str(out, text);
    }
}

wr_status story_expand(const story_vars *vars, wr_str text, bool people, wr_sbuf *out, wr_err *err) {
    while (text.len) {
        const char *dollar = memchr(text.ptr, '$', text.len);
        size_t      before = dollar ? (size_t)(dollar - text.ptr) : text.len, skip = 1, n = 0;
        wr_sbuf_add(out, text.ptr, before);
        text.ptr += before, text.len -= before;
        if (!text.len) break;
        bool braces = text.len > 1 && text.ptr[1] == '{';
        if (braces) skip = 2;
        while (skip + n < text.len && (isalnum((unsigned char)text.ptr[skip + n]) || text.ptr[skip + n] == '_')) n++;
        wr_str name = {text.ptr + skip, n};
        if (!n || isdigit((unsigned char)*name.ptr)) { /* $ alone, $.path */
            wr_sbuf_addc(out, '$');
            text.ptr++, text.len--;
            continue;
        }
        const wr_str *found = NULL;
        for (uint32_t i = 0; i < vars->at.n; i++)
            if (wr_str_eq(vars->at.at[i].name, name)) found = &vars->at.at[i].text;
        if (!found) return wr_fail(err, WR_USER, "WR478", "there is no $%.*s yet", WR_FMT(name));
        skip += n + (braces ? 1 : 0);
        if (skip > text.len) return wr_fail(err, WR_USER, "WR478", "a '}' is missing behind $%.*s", WR_FMT(name));
        text.ptr += skip, text.len -= skip;
        if (people) add_for_people(out, *found, &text);
        else wr_sbuf_add_str(out, *found);
    }
    return WR_OK;
}
