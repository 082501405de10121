/* expr/fn_regex.c: LIKE, SIMILAR TO and the REGEXP functions.
 *
 * Idea       a pattern is compiled when it is first seen and again only when it changes (in practice: once a step). LIKE has its own
 *            matcher with the common forms (x, x%, %x, %x%) told apart when compiled; the others are PCRE2 with JIT.
 * Bounds     PCRE2 runs with match, depth and heap limits: a pattern that explodes fails the job with a clear message.
 * Rules      as Flink: a bad regular expression gives NULL (REGEXP: FALSE); no match of REGEXP_EXTRACT gives NULL.  */
#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <utf8proc.h>
#include "fn.h"

/* ---- LIKE ---- */
typedef enum wr_like_form { LIKE_EQUAL, LIKE_PREFIX, LIKE_SUFFIX, LIKE_CONTAINS, LIKE_GENERAL } wr_like_form;
typedef struct wr_like {
    wr_sbuf      pattern, escape; /* as given: the key of the cache */
    bool         ready, ok;
    wr_like_form form;
    wr_sbuf      text;    /* pattern without escapes; for GENERAL the bytes */
    wr_sbuf      special; /* GENERAL: per byte of text '%', '_' or 0 */
} wr_like;

static void like_free(void *p) {
    wr_like *l = p;
    wr_sbuf_free(&l->pattern), wr_sbuf_free(&l->escape), wr_sbuf_free(&l->text), wr_sbuf_free(&l->special);
    wr_free(l);
}

static bool like_compile(wr_like *l, wr_str pattern, wr_str escape) {
    wr_sbuf_clear(&l->pattern), wr_sbuf_clear(&l->escape), wr_sbuf_clear(&l->text), wr_sbuf_clear(&l->special);
    wr_sbuf_add_str(&l->pattern, pattern), wr_sbuf_add_str(&l->escape, escape);
    l->ready = true;
    size_t wild = 0, single = 0;
    for (size_t i = 0; i < pattern.len;) {
        if (escape.len && pattern.len - i >= escape.len && memcmp(pattern.ptr + i, escape.ptr, escape.len) == 0) {
            i += escape.len;
            bool self = pattern.len - i >= escape.len && memcmp(pattern.ptr + i, escape.ptr, escape.len) == 0;
            if (i >= pattern.len || (!self && pattern.ptr[i] != '%' && pattern.ptr[i] != '_')) return false;
            for (size_t k = self ? escape.len : 1; k > 0; k--) wr_sbuf_addc(&l->text, pattern.ptr[i++]), wr_sbuf_addc(&l->special, 0);
            continue;
        }
        char ch = pattern.ptr[i++], s = ch == '%' || ch == '_' ? ch : 0;
        wild += s == '%', single += s == '_';
        wr_sbuf_addc(&l->text, ch), wr_sbuf_addc(&l->special, s);
    }
    size_t n = l->text.len;
    bool   first = n && l->special.at[0] == '%', last = n && l->special.at[n - 1] == '%';
    l->form = LIKE_GENERAL;
    if (single) return true;
    if (wild == 0) l->form = LIKE_EQUAL;
    else if (wild == 1 && last) l->form = LIKE_PREFIX, l->text.len--;
    else if (wild == 1 && first) l->form = LIKE_SUFFIX, memmove(l->text.at, l->text.at + 1, --l->text.len);
    else if (wild == 2 && first && last && n >= 2) l->form = LIKE_CONTAINS, l->text.len -= 2, memmove(l->text.at, l->text.at + 1, l->text.len);
    return true;
}

static bool like_general(wr_str s, const char *p, const char *special, size_t n) { /* greedy, backing up to the last % only: O(len * n) */
    size_t i = 0, j = 0, star = SIZE_MAX, from = 0;
    while (i < s.len) {
        if (j < n && special[j] == '%') {
            star = j++, from = i;
        } else if (j < n && special[j] == '_') {
            size_t used;
            wr_utf8_get(s.ptr + i, s.ptr + s.len, &used);
            i += used, j++;
        } else if (j < n && p[j] == s.ptr[i]) {
            i++, j++;
        } else if (star != SIZE_MAX) {
            size_t used;
            wr_utf8_get(s.ptr + from, s.ptr + s.len, &used);
            j = star + 1, i = from += used;
        } else {
            return false;
        }
    }
    while (j < n && special[j] == '%') j++;
    return j == n;
}

static bool like_match(const wr_like *l, wr_str s) {
    wr_str p = wr_sbuf_str(&l->text);
    switch (l->form) {
    case LIKE_EQUAL: return wr_str_eq(s, p);
    case LIKE_PREFIX: return s.len >= p.len && (p.len == 0 || memcmp(s.ptr, p.ptr, p.len) == 0);
    case LIKE_SUFFIX: return s.len >= p.len && (p.len == 0 || memcmp(s.ptr + s.len - p.len, p.ptr, p.len) == 0);
    case LIKE_CONTAINS: return p.len == 0 || (s.len >= p.len && memmem(s.ptr, s.len, p.ptr, p.len));
    default: return like_general(s, p.ptr, l->special.at, p.len);
    }
}

static wr_str folded(wr_str s, wr_sbuf *buf) {
    wr_sbuf_clear(buf);
    for (size_t i = 0, used; i < s.len; i += used) {
        char     text[4];
        uint32_t cp = wr_utf8_get(s.ptr + i, s.ptr + s.len, &used);
        wr_sbuf_add(buf, text, wr_utf8_put(text, (uint32_t)utf8proc_tolower((utf8proc_int32_t)cp)));
    }
    return wr_sbuf_str(buf);
}

static wr_status like(wr_call *c, bool fold) {
    if (!*c->state) *c->state = wr_calloc(1, sizeof(wr_like)), *c->state_free = like_free;
    wr_like  *l = *c->state;
    wr_sbuf   a = {0}, b = {0};
    wr_status st = WR_OK;
    for ROWS(c, r) {
        wr_str pattern = arg_str(c, 1, r), escape = c->n_args > 2 ? arg_str(c, 2, r) : (wr_str){"", 0}, s = arg_str(c, 0, r);
        if (fold) pattern = folded(pattern, &a);
        if (!l->ready || !wr_str_eq(pattern, wr_sbuf_str(&l->pattern)) || !wr_str_eq(escape, wr_sbuf_str(&l->escape))) l->ok = like_compile(l, pattern, escape);
        if (!l->ok || wr_utf8_chars(escape) > 1) {
            st = call_fail(c, r, "22025", "the LIKE pattern '%.*s' is not valid with the escape character '%.*s': it must stand before %%, _ or itself", WR_FMT(pattern), WR_FMT(escape));
            break;
        }
        OUT(c, uint8_t)[r] = like_match(l, fold ? folded(s, &b) : s);
    }
    wr_sbuf_free(&a), wr_sbuf_free(&b);
    return st;
}
wr_status fn_like(wr_call *c) { return like(c, false); }
wr_status fn_ilike(wr_call *c) { return like(c, true); }

/* ---- compiled regular expressions ---- */
typedef struct wr_regex {
    wr_sbuf                source;
    bool                   ready;
    pcre2_code            *code; /* NULL: the pattern is bad */
    pcre2_match_data      *match;
    pcre2_match_context   *limits;
} wr_regex;

static void regex_free(void *p) {
    wr_regex *x = p;
    wr_sbuf_free(&x->source);
    if (x->code) pcre2_code_free(x->code);
    if (x->match) pcre2_match_data_free(x->match);
    if (x->limits) pcre2_match_context_free(x->limits);
    wr_free(x);
}

static void regex_compile(wr_regex *x, wr_str source, uint32_t options) {
    int        error;
    PCRE2_SIZE at;
    if (x->code) pcre2_code_free(x->code);
    if (x->match) pcre2_match_data_free(x->match);
    x->match = NULL;
    x->code = pcre2_compile((PCRE2_SPTR)source.ptr, source.len, PCRE2_UTF | PCRE2_MATCH_INVALID_UTF | options, &error, &at, NULL);
    if (!x->code) return;
    pcre2_jit_compile(x->code, PCRE2_JIT_COMPLETE);
    x->match = pcre2_match_data_create_from_pattern(x->code, NULL);
    if (!x->limits) {
        x->limits = pcre2_match_context_create(NULL);
        pcre2_set_match_limit(x->limits, 1000000);
        pcre2_set_depth_limit(x->limits, 10000);
        pcre2_set_heap_limit(x->limits, 20000);
    }
}

/* The expression compiled; with `similar` translated from SQL's form first. false: SIMILAR's escape is bad. */
static bool similar_source(wr_str p, wr_str escape, wr_sbuf *out);
static wr_regex *regex_of(wr_call *c, wr_str source, bool similar, wr_str escape) {
    if (!*c->state) *c->state = wr_calloc(1, sizeof(wr_regex)), *c->state_free = regex_free;
    wr_regex *x = *c->state;
    if (x->ready && wr_str_eq(source, wr_sbuf_str(&x->source))) return x;
    wr_sbuf_clear(&x->source);
    wr_sbuf_add_str(&x->source, source);
    x->ready = true;
    if (!similar) {
        regex_compile(x, source, 0);
        return x;
    }
    wr_sbuf text = {0};
    bool    ok = similar_source(source, escape, &text);
    if (ok) regex_compile(x, wr_sbuf_str(&text), PCRE2_DOTALL);
    else if (x->code) pcre2_code_free(x->code), x->code = NULL;
    wr_sbuf_free(&text);
    return x;
}

/* > 0: groups, 0: no match, -1: a limit was hit. */
static int regex_match(wr_regex *x, wr_str s, size_t from) {
    int rc = pcre2_match(x->code, (PCRE2_SPTR)(s.ptr ? s.ptr : ""), s.len, from, 0, x->match, x->limits);
    if (rc == PCRE2_ERROR_JIT_STACKLIMIT) /* a long text: the interpreter has its own, larger limit */
        rc = pcre2_match(x->code, (PCRE2_SPTR)(s.ptr ? s.ptr : ""), s.len, from, PCRE2_NO_JIT, x->match, x->limits);
    if (rc == PCRE2_ERROR_NOMATCH || rc == PCRE2_ERROR_BADUTFOFFSET) return 0;
    return rc < 0 ? -1 : rc;
}
static wr_status hit_limit(wr_call *c, uint32_t r, const wr_regex *x) {
    wr_str s = wr_sbuf_str(&x->source);
    return call_fail(c, r, "54001", "the regular expression '%.*s' needs too many steps on this text", (int)WR_MIN(s.len, (size_t)100), s.ptr);
}
#define MATCH(x, s, from, rc)                                                    \
    int rc = regex_match((x), (s), (from));                                      \
    if (rc < 0) return hit_limit(c, r, (x));

/* ---- SIMILAR TO ---- */
static bool similar_source(wr_str p, wr_str escape, wr_sbuf *out) {
    wr_sbuf_addz(out, "\\A(?:");
    bool in_class = false;
    for (size_t i = 0; i < p.len; i++) {
        char ch = p.ptr[i];
        if (escape.len && ch == escape.ptr[0]) {
            if (++i >= p.len) return false;
            wr_sbuf_printf(out, "\\%c", p.ptr[i]);
        } else if (in_class) {
            if (ch == '\\') wr_sbuf_addc(out, '\\');
            wr_sbuf_addc(out, ch);
            in_class = ch != ']' || (i && p.ptr[i - 1] == ':');
        } else if (ch == '%') {
            wr_sbuf_addz(out, ".*");
        } else if (ch == '_') {
            wr_sbuf_addc(out, '.');
        } else if (ch == '[') {
            in_class = true;
            wr_sbuf_addc(out, ch);
        } else if (strchr(".^$\\", ch)) {
            wr_sbuf_printf(out, "\\%c", ch);
        } else {
            wr_sbuf_addc(out, ch);
        }
    }
    wr_sbuf_addz(out, ")\\z");
    return !in_class;
}
wr_status fn_similar(wr_call *c) {
    for ROWS(c, r) {
        wr_str    p = arg_str(c, 1, r);
        wr_regex *x = regex_of(c, p, true, c->n_args > 2 ? arg_str(c, 2, r) : (wr_str){0});
        if (!x->code) return call_fail(c, r, "2201B", "the SIMILAR TO pattern '%.*s' is not valid", (int)WR_MIN(p.len, (size_t)100), p.ptr);
        MATCH(x, arg_str(c, 0, r), 0, rc)
        OUT(c, uint8_t)[r] = rc > 0;
    }
    return WR_OK;
}

/* ---- REGEXP functions ---- */
wr_status fn_regexp(wr_call *c) {
    for ROWS(c, r) {
        wr_str    p = arg_str(c, 1, r);
        wr_regex *x = regex_of(c, p, false, (wr_str){0});
        OUT(c, uint8_t)[r] = 0;
        if (!x->code || p.len == 0) continue;
        MATCH(x, arg_str(c, 0, r), 0, rc)
        OUT(c, uint8_t)[r] = rc > 0;
    }
    return WR_OK;
}
static bool group_text(const wr_regex *x, wr_str s, int64_t group, wr_str *out) {
    const PCRE2_SIZE *ov = pcre2_get_ovector_pointer(x->match);
    if (group < 0 || group >= (int64_t)pcre2_get_ovector_count(x->match)) return false;
    PCRE2_SIZE a = ov[2 * group], b = ov[2 * group + 1];
    if (a == PCRE2_UNSET || b < a) return false;
    *out = (wr_str){s.ptr + a, b - a};
    return true;
}
static wr_status extract_group(wr_call *c, bool has_group) {
    for ROWS(c, r) {
        wr_str    s = arg_str(c, 0, r), part;
        wr_regex *x = regex_of(c, arg_str(c, 1, r), false, (wr_str){0});
        if (!x->code) {
            call_null(c, r);
            continue;
        }
        MATCH(x, s, 0, rc)
        if (rc > 0 && group_text(x, s, has_group ? ARG(c, 2, int64_t, r) : 0, &part)) call_view(c, r, part.ptr, part.len);
        else call_null(c, r);
    }
    return WR_OK;
}
wr_status fn_regexp_extract(wr_call *c) { return extract_group(c, c->n_args > 2); }
wr_status fn_regexp_substr(wr_call *c) { return extract_group(c, false); }

/* Where the next search starts after a match at [a, b): one character on after an empty match. */
static size_t next_start(wr_str s, size_t a, size_t b) {
    if (b > a) return b;
    if (b >= s.len) return s.len + 1;
    size_t used;
    wr_utf8_get(s.ptr + b, s.ptr + s.len, &used);
    return b + used;
}

wr_status fn_regexp_replace(wr_call *c) {
    wr_sbuf   buf = {.max = (size_t)64 << 20};
    wr_status st = WR_OK;
    for ROWS(c, r) {
        wr_str    s = arg_str(c, 0, r), with = arg_str(c, 2, r);
        wr_regex *x = regex_of(c, arg_str(c, 1, r), false, (wr_str){0});
        bool      ok = x->code != NULL;
        wr_sbuf_clear(&buf);
        size_t at = 0, from = 0;
        while (ok && from <= s.len) {
            int rc = regex_match(x, s, from);
            if (rc < 0) st = hit_limit(c, r, x);
            if (rc <= 0) break;
            const PCRE2_SIZE *ov = pcre2_get_ovector_pointer(x->match);
            size_t a = ov[0], b = ov[1];
            wr_sbuf_add(&buf, s.ptr + at, a - at);
            wr_sbuf_add_str(&buf, with); /* $1 has no meaning: Flink quotes the replacement */
            at = b;
            from = next_start(s, a, b);
        }
        if (st != WR_OK) break;
        if (ok) wr_sbuf_add(&buf, s.ptr + at, s.len - at);
        if (ok && !buf.overflow) call_put(c, r, buf.at ? buf.at : "", buf.len);
        else call_null(c, r);
    }
    wr_sbuf_free(&buf);
    return st;
}
wr_status fn_regexp_count(wr_call *c) {
    for ROWS(c, r) {
        wr_str    s = arg_str(c, 0, r);
        wr_regex *x = regex_of(c, arg_str(c, 1, r), false, (wr_str){0});
        int32_t   n = 0;
        if (!x->code) {
            call_null(c, r);
            continue;
        }
        for (size_t from = 0; from <= s.len;) {
            MATCH(x, s, from, rc)
            if (rc == 0) break;
            const PCRE2_SIZE *ov = pcre2_get_ovector_pointer(x->match);
            n++;
            from = next_start(s, ov[0], ov[1]);
        }
        OUT(c, int32_t)[r] = n;
    }
    return WR_OK;
}
wr_status fn_regexp_instr(wr_call *c) {
    for ROWS(c, r) {
        wr_str    s = arg_str(c, 0, r);
        wr_regex *x = regex_of(c, arg_str(c, 1, r), false, (wr_str){0});
        if (!x->code) {
            call_null(c, r);
            continue;
        }
        MATCH(x, s, 0, rc)
        OUT(c, int32_t)[r] = rc == 0 ? 0 : (int32_t)wr_utf8_chars((wr_str){s.ptr, pcre2_get_ovector_pointer(x->match)[0]}) + 1;
    }
    return WR_OK;
}

/* ---- text -> array of text ---- */
typedef struct wr_texts { WR_ARR(wr_sview) list; } wr_texts;
static void texts_done(wr_call *c, wr_texts *t) { /* the collected elements become the child column */
    wr_vec *kid = &c->out->kids[0];
    wr_vec_init(kid, c->out->type.kids[0], t->list.n ? t->list.n : 1, false, c->mem);
    if (t->list.n) memcpy(kid->data, t->list.at, t->list.n * sizeof(wr_sview));
    else memset(kid->data, 0, sizeof(wr_sview));
    kid->n = t->list.n;
    wr_arr_free(&t->list);
}
static wr_status extract_all(wr_call *c) {
    wr_texts  t = {0};
    wr_status st = WR_OK;
    for ROWS(c, r) {
        wr_str    s = arg_str(c, 0, r), part;
        int64_t   group = c->n_args > 2 ? ARG(c, 2, int64_t, r) : 1;
        wr_regex *x = regex_of(c, arg_str(c, 1, r), false, (wr_str){0});
        wr_list   row = {t.list.n, 0};
        bool      ok = x->code && group >= 0 && group < (int64_t)pcre2_get_ovector_count(x->match);
        for (size_t from = 0; ok && from <= s.len;) {
            int rc = regex_match(x, s, from);
            if (rc < 0) st = hit_limit(c, r, x);
            if (rc <= 0) break;
            const PCRE2_SIZE *ov = pcre2_get_ovector_pointer(x->match);
            if (group_text(x, s, group, &part)) wr_arr_push(&t.list, wr_sview_borrow(part.ptr, part.len));
            from = next_start(s, ov[0], ov[1]);
        }
        row.len = t.list.n - row.offset;
        OUT(c, wr_list)[r] = row;
        if (!ok) call_null(c, r);
        if (st != WR_OK) break;
    }
    texts_done(c, &t);
    return st;
}
static wr_type text_array(wr_resolve *r) {
    wr_type *kid = wr_new(r->ctx->arena, wr_type);
    *kid = wr_type_string();
    return (wr_type){.id = WR_T_ARRAY, .nullable = 1, .n_kids = 1, .kids = kid};
}
static bool all_text(wr_resolve *r, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) {
        if (r->args[i]->type.id == WR_T_NULL && !res_cast(r, i, wr_type_string())) return false;
        if (!wr_type_is_string(r->args[i]->type)) return false;
    }
    return true;
}
bool res_regexp_extract_all(wr_resolve *r) {
    if (r->n < 2 || r->n > 3 || !all_text(r, 2)) return false;
    if (r->n == 3 && (!wr_type_is_integer(r->args[2]->type) || !res_cast(r, 2, wr_type_of(WR_T_BIGINT)))) return false;
    return res_set(r, text_array(r), extract_all, FN_NULLABLE);
}
static wr_status split(wr_call *c) {
    wr_texts t = {0};
    for ROWS(c, r) {
        wr_str  s = arg_str(c, 0, r), sep = arg_str(c, 1, r);
        wr_list row = {t.list.n, 0};
        size_t  at = 0;
        while (sep.len) {
            const char *hit = s.len - at >= sep.len ? memmem(s.ptr + at, s.len - at, sep.ptr, sep.len) : NULL;
            size_t      end = hit ? (size_t)(hit - s.ptr) : s.len;
            wr_arr_push(&t.list, wr_sview_borrow(s.ptr + at, end - at));
            if (!hit) break;
            at = end + sep.len;
        }
        for (size_t used; sep.len == 0 && at < s.len; at += used) { /* every character is a part */
            wr_utf8_get(s.ptr + at, s.ptr + s.len, &used);
            wr_arr_push(&t.list, wr_sview_borrow(s.ptr + at, used));
        }
        row.len = t.list.n - row.offset;
        OUT(c, wr_list)[r] = row;
    }
    texts_done(c, &t);
    return WR_OK;
}
bool res_split(wr_resolve *r) { return r->n == 2 && all_text(r, 2) && res_set(r, text_array(r), split, 0); }

/* ---- STR_TO_MAP ---- */
static const char *find_part(wr_str s, size_t at, wr_str sep, size_t *len) {
    *len = sep.len;
    return sep.len && s.len - at >= sep.len ? memmem(s.ptr + at, s.len - at, sep.ptr, sep.len) : NULL;
}
static wr_status str_to_map(wr_call *c) {
    wr_texts keys = {0}, values = {0};
    WR_ARR(uint8_t) present = {0};
    for ROWS(c, r) {
        wr_str  s = arg_str(c, 0, r), pair = c->n_args > 1 ? arg_str(c, 1, r) : WR_STR(","), eq = c->n_args > 1 ? arg_str(c, 2, r) : WR_STR("=");
        wr_list row = {keys.list.n, 0};
        for (size_t at = 0; at <= s.len && s.len;) {
            size_t      skip, eq_len;
            const char *end = find_part(s, at, pair, &skip);
            size_t      stop = end ? (size_t)(end - s.ptr) : s.len;
            const char *mid = find_part((wr_str){s.ptr, stop}, at, eq, &eq_len);
            size_t      key_end = mid ? (size_t)(mid - s.ptr) : stop;
            wr_sview    key = wr_sview_borrow(s.ptr + at, key_end - at), value = {0};
            if (mid) value = wr_sview_borrow(mid + eq_len, stop - key_end - eq_len);
            uint32_t k = row.offset;
            while (k < keys.list.n && !wr_sview_eq(&keys.list.at[k], &key)) k++; /* the last of equal keys wins */
            if (k < keys.list.n) values.list.at[k] = value, present.at[k] = mid != NULL;
            else {
                wr_arr_push(&keys.list, key);
                wr_arr_push(&values.list, value);
                wr_arr_push(&present, mid != NULL);
            }
            if (!end) break;
            at = stop + skip;
        }
        row.len = keys.list.n - row.offset;
        OUT(c, wr_list)[r] = row;
    }
    uint32_t n = keys.list.n;
    for (uint32_t k = 0; k < 2; k++) {
        wr_texts *t = k ? &values : &keys;
        wr_vec   *kid = &c->out->kids[k];
        wr_vec_init(kid, c->out->type.kids[k], n ? n : 1, k == 1, c->mem);
        memset(kid->data, 0, sizeof(wr_sview));
        if (n) memcpy(kid->data, t->list.at, n * sizeof(wr_sview));
        kid->n = n;
        for (uint32_t i = 0; i < n && k; i++) wr_valid_set(kid->valid, i, present.at[i]);
        wr_arr_free(&t->list);
    }
    wr_arr_free(&present);
    return WR_OK;
}
bool res_str_to_map(wr_resolve *r) {
    if ((r->n != 1 && r->n != 3) || !all_text(r, r->n)) return false;
    wr_type *kids = wr_new_n(r->ctx->arena, wr_type, 2);
    kids[0] = kids[1] = wr_type_string();
    return res_set(r, (wr_type){.id = WR_T_MAP, .nullable = 1, .n_kids = 2, .kids = kids}, str_to_map, 0);
}
