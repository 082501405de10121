/* format/json_row.c: see json_row.h.                                                                                   */
#define _GNU_SOURCE 1 /* memrchr, memmem */
#include "format/json_row.h"
#include "format/json_simd.h"
#include <stdarg.h>
#include <stdio.h>

/* ---- faults ---- */

const uint32_t *json_fault(json_reader *r, wr_bad_kind kind, uint32_t at, const char *fmt, ...) {
    r->kind = kind;
    r->at = at;
    va_list args;
    va_start(args, fmt);
    vsnprintf(r->message, sizeof r->message, fmt, args);
    va_end(args);
    return NULL;
}

/* What stands at a place, in a few words. */
WR_COLD static const char *found_text(const json_reader *r, uint32_t at, char out[40]) {
    if (at >= r->end) return "end of line";
    const uint8_t *p = r->data + at;
    uint32_t       n = 0, max = WR_MIN(r->end - at, 24u);
    if (*p == '{') return "an object";
    if (*p == '[') return "an array";
    char *q = out;
    if (*p == '"') {
        *q++ = *p++;
        for (max--; n < max && *p != '"'; n++) *q++ = (char)*p++;
        if (n < max) *q++ = '"';
        else q = stpcpy(q, "...");
    } else {
        for (; n < max && !strchr(",}] \t\r\n", *p); n++) *q++ = (char)*p++;
        if (!n) *q++ = (char)*p;
    }
    *q = 0;
    return out;
}

WR_COLD static const uint32_t *fault_syntax(json_reader *r, uint32_t at, const char *expected, const char *where) {
    char found[40];
    return json_fault(r, WR_BAD_MALFORMED, at, "JSON: expected %s%s%.60s%s, got %s", expected, where ? " of field '" : "", where ? where : "",
                      where ? "'" : "", found_text(r, at, found));
}

WR_COLD static const uint32_t *fault_value(json_reader *r, const json_plan *plan, uint32_t at, wr_put put) {
    char    found[40];
    wr_sbuf expected = {0};
    wr_scalar_expected(plan->type, r->sep, &expected);
    json_fault(r, put == WR_PUT_RANGE ? WR_BAD_RANGE : WR_BAD_TYPE, at, put == WR_PUT_RANGE ? "field '%.60s': %.60s does not hold %s" : "field '%.60s': expected %.60s, got %s",
               plan->path, expected.at, found_text(r, at, found));
    wr_sbuf_free(&expected);
    return NULL;
}

/* ---- tokens ---- */

static const bool ends_value[256] = {[','] = 1, ['}'] = 1, [']'] = 1, [' '] = 1, ['\t'] = 1, ['\r'] = 1, ['\n'] = 1};

bool json_string_raw(const json_reader *r, const uint32_t *ix, wr_str *raw) {
    const uint8_t *p = r->data + ix[0] + 1, *q = r->data + ix[1];
    if (ix[1] > r->end) q = r->data + r->end;
    do q--;
    while (q > p && (*q == ' ' || *q == '\t' || *q == '\r' || *q == '\n'));
    if (q < p || *q != '"') return false;
    *raw = (wr_str){(const char *)p, (size_t)(q - p)};
    return true;
}

static int hex4(const char *p) {
    int v = 0;
    for (int i = 0; i < 4; i++) {
        int c = (uint8_t)p[i], d = c >= '0' && c <= '9' ? c - '0' : (c | 32) >= 'a' && (c | 32) <= 'f' ? (c | 32) - 'a' + 10 : -1;
        if (d < 0) return -1;
        v = v * 16 + d;
    }
    return v;
}

/* The code point of \uXXXX (and its second half) at p, which points at 'u'; advances past it. -1: bad, -2: lone surrogate. */
static int32_t unicode_escape(const char **p, const char *end) {
    if (end - *p < 5) return -1;
    int high = hex4(*p + 1);
    *p += 5;
    if (high < 0) return -1;
    if (high < 0xD800 || high > 0xDFFF) return high;
    if (high > 0xDBFF || end - *p < 6 || (*p)[0] != '\\' || (*p)[1] != 'u') return -2;
    int low = hex4(*p + 2);
    if (low < 0xDC00 || low > 0xDFFF) return -2;
    *p += 6;
    return 0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00);
}

bool json_unescape(wr_str raw, char *to, size_t *len, bool *lone_surrogate) {
    const char *p = raw.ptr, *end = raw.ptr + raw.len;
    char       *q = to;
    *lone_surrogate = false;
    while (p < end) {
        const char *stop = memchr(p, '\\', (size_t)(end - p));
        if (!stop) stop = end;
        memcpy(q, p, (size_t)(stop - p));
        q += stop - p;
        if (stop == end) break;
        p = stop + 1;
        if (p == end) return false;
        if (*p == 'u') {
            int32_t code = unicode_escape(&p, end);
            if (code < 0) return *lone_surrogate = code == -2, false;
            q += wr_utf8_put(q, (uint32_t)code);
            continue;
        }
        static const char from[] = "\"\\/bfnrt", into[] = "\"\\/\b\f\n\r\t";
        const char *which = memchr(from, *p, 8);
        if (!which) return false;
        *q++ = into[which - from];
        p++;
    }
    *len = (size_t)(q - to);
    return true;
}

WR_INLINE bool is_digit(uint8_t c) { return (unsigned)c - '0' <= 9; }

/* End of a number by JSON's grammar, or NULL. */
static const uint8_t *number_end(const uint8_t *p, const uint8_t *end) {
    if (p < end && *p == '-') p++;
    if (p == end || !is_digit(*p)) return NULL;
    if (*p == '0') p++;
    else while (p < end && is_digit(*p)) p++;
    if (p < end && *p == '.') {
        if (++p == end || !is_digit(*p)) return NULL;
        while (p < end && is_digit(*p)) p++;
    }
    if (p < end && (*p | 32) == 'e') {
        p++;
        if (p < end && (*p == '-' || *p == '+')) p++;
        if (p == end || !is_digit(*p)) return NULL;
        while (p < end && is_digit(*p)) p++;
    }
    return p == end || ends_value[*p] ? p : NULL;
}

WR_INLINE bool is_word(const json_reader *r, uint32_t at, const char *word, uint32_t len) {
    return r->end - at >= len && !memcmp(r->data + at, word, len) && (r->end - at == len || ends_value[r->data[at + len]]);
}

/* A scalar token that is well formed, and its text. */
static bool scalar_text(const json_reader *r, uint32_t at, wr_str *text) {
    const uint8_t *p = r->data + at;
    *text = (wr_str){(const char *)p, 4};
    if (*p == 't') return is_word(r, at, "true", 4);
    if (*p == 'n') return is_word(r, at, "null", 4);
    if (*p == 'f') return text->len = 5, is_word(r, at, "false", 5);
    const uint8_t *end = number_end(p, r->data + r->end);
    if (!end) return false;
    text->len = (size_t)(end - p);
    return true;
}

/* ---- skipping, with the structure checked ---- */

static const uint32_t *skip_nested(json_reader *r, const uint32_t *ix, const char *what) {
    uint64_t is_object[JSON_DEPTH_MAX / 64] = {0};
    uint32_t depth = 0;
    wr_str   text;
    enum { VALUE, FIRST_VALUE, FIRST_KEY, KEY, AFTER } state = VALUE;
    for (;;) {
        uint32_t at = *ix;
        if (at >= r->end) return fault_syntax(r, at, "the rest of the value", what);
        uint8_t c = r->data[at];
        if (state == AFTER) {
            bool object = is_object[(depth - 1) >> 6] >> ((depth - 1) & 63) & 1;
            ix++;
            if (c == ',') state = object ? KEY : VALUE;
            else if (c != (object ? '}' : ']')) return fault_syntax(r, at, object ? "',' or '}' in the value" : "',' or ']' in the value", what);
            else if (--depth == 0) return ix;
            continue;
        }
        if ((state == FIRST_VALUE && c == ']') || (state == FIRST_KEY && c == '}')) {
            ix++;
            if (--depth == 0) return ix;
            state = AFTER;
            continue;
        }
        if (state == FIRST_KEY || state == KEY) {
            if (c != '"' || !json_string_raw(r, ix, &text)) return fault_syntax(r, at, "a key in the value", what);
            if (ix[1] >= r->end || r->data[ix[1]] != ':') return fault_syntax(r, ix[1], "':' in the value", what);
            ix += 2;
            state = VALUE;
            continue;
        }
        if (c == '{' || c == '[') {
            if (depth == JSON_DEPTH_MAX) return json_fault(r, WR_BAD_MALFORMED, at, "JSON: nested deeper than %d", JSON_DEPTH_MAX);
            uint64_t bit = UINT64_C(1) << (depth & 63);
            is_object[depth >> 6] = c == '{' ? is_object[depth >> 6] | bit : is_object[depth >> 6] & ~bit;
            depth++;
            state = c == '{' ? FIRST_KEY : FIRST_VALUE;
        } else {
            if (c == '"' ? !json_string_raw(r, ix, &text) : !scalar_text(r, at, &text)) return fault_syntax(r, at, "a value inside the value", what);
            state = AFTER;
        }
        ix++;
    }
}

const uint32_t *json_skip(json_reader *r, const uint32_t *ix, const char *what) {
    uint32_t at = *ix;
    wr_str   text;
    if (at >= r->end) return fault_syntax(r, at, "the value", what);
    switch (r->data[at]) {
    case '{':
    case '[': return skip_nested(r, ix, what);
    case '"': return json_string_raw(r, ix, &text) ? ix + 1 : fault_syntax(r, at, "the value", what);
    default: return scalar_text(r, at, &text) ? ix + 1 : fault_syntax(r, at, "a value", what);
    }
}

/* The text of an object or array without the blanks between its tokens. */
static wr_sview nested_text(json_reader *r, const uint32_t *from, const uint32_t *to) {
    size_t max = to[-1] + 1 - from[0], len = 0;
    char  *out = wr_mem_alloc(r->mem, max);
    for (const uint32_t *ix = from; ix < to; ix++) {
        const char *p = (const char *)r->data + *ix;
        wr_str      text = {p, 1};
        if (*p == '"') {
            if (json_string_raw(r, ix, &text)) text.ptr--, text.len += 2;
        } else if (!strchr("{}[],:", *p)) {
            scalar_text(r, *ix, &text);
        }
        memcpy(out + len, text.ptr, text.len);
        len += text.len;
    }
    return wr_sview_borrow(out, len);
}

/* ---- values ---- */

WR_INLINE void set_valid(wr_vec *vec, uint32_t row) {
    if (WR_UNLIKELY(vec->valid != NULL)) wr_valid_set(vec->valid, row, true);
}

/* Up to 18 digits that end like a value; false leaves the work to the general way. */
WR_INLINE bool quick_int(const uint8_t *p, int64_t *out) {
    bool negative = *p == '-';
    p += negative;
    uint64_t v = 0;
    unsigned digit = (unsigned)*p - '0';
    if (digit > 9 || (digit == 0 && (unsigned)p[1] - '0' <= 9)) return false;
    for (int n = 0; n < 18; n++) {
        digit = (unsigned)*p - '0';
        if (digit > 9) break;
        v = v * 10 + digit;
        p++;
    }
    *out = negative ? -(int64_t)v : (int64_t)v;
    return ends_value[*p];
}

/* Digits with a fraction, at most 15 of them: mantissa and power of ten are exact, so one division rounds right (Clinger's fast path). */
WR_INLINE bool quick_double(const uint8_t *p, double *out) {
    static const double power[] = {1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15};
    bool negative = *p == '-';
    p += negative;
    uint64_t v = 0;
    int      n = 0, fraction = 0;
    unsigned digit = (unsigned)*p - '0';
    if (digit > 9 || (digit == 0 && (unsigned)p[1] - '0' <= 9)) return false;
    for (; n < 15 && (digit = (unsigned)*p - '0') <= 9; n++, p++) v = v * 10 + digit;
    if (*p == '.') {
        p++;
        if ((unsigned)*p - '0' > 9) return false;
        for (; n < 15 && (digit = (unsigned)*p - '0') <= 9; n++, p++, fraction++) v = v * 10 + digit;
    }
    double x = (double)v / power[fraction];
    *out = negative ? -x : x;
    return ends_value[*p];
}

/* A string into any column that is not nested. */
static wr_put put_string(json_reader *r, const json_plan *plan, wr_str raw, wr_vec *vec, uint32_t row) {
    if (WR_UNLIKELY(r->escapes) && memchr(raw.ptr, '\\', raw.len)) {
        char  *to = wr_mem_alloc(r->mem, raw.len);
        bool   lone;
        size_t len;
        if (!json_unescape(raw, to, &len, &lone)) {
            json_fault(r, lone ? WR_BAD_UTF8 : WR_BAD_MALFORMED, (uint32_t)((const uint8_t *)raw.ptr - 1 - r->data), "JSON: field '%.60s': %s in the string",
                       plan->path, lone ? "half a surrogate pair (\\ud800..\\udfff)" : "a bad escape");
            return WR_PUT_TYPE;
        }
        raw = (wr_str){to, len};
    }
    return wr_scalar_put(raw, r->sep, vec, row, r->mem);
}

/* After a value that does not fit: a fault, or NULL under ignore-parse-errors. */
WR_COLD static const uint32_t *misfit(json_reader *r, const json_plan *plan, const uint32_t *ix, wr_put put, bool *null) {
    if (r->ignore_errors) {
        *null = true;
        r->message[0] = 0;
        return json_skip(r, ix, plan->path);
    }
    if (!r->message[0]) fault_value(r, plan, *ix, put);
    return NULL;
}

/* Numbers, true and false; *ix is known to be inside the record. */
static const uint32_t *read_scalar(json_reader *r, const json_plan *plan, const uint32_t *ix, wr_vec *vec, uint32_t row, bool *null) {
    wr_str text;
    if (!scalar_text(r, *ix, &text)) return fault_syntax(r, *ix, "a value", plan->path);
    wr_put put = WR_PUT_TYPE;
    bool   word = *text.ptr == 't' || *text.ptr == 'f';
    if (wr_type_is_string(plan->type)) {
        ((wr_sview *)vec->data)[row] = wr_sview_borrow(text.ptr, text.len);
        put = WR_PUT_OK;
    } else if (plan->type.id == WR_T_BOOLEAN) {
        ((uint8_t *)vec->data)[row] = *text.ptr == 't';
        if (word) put = WR_PUT_OK;
    } else if (!word) {
        put = wr_scalar_put_number(text, vec, row);
    }
    return put == WR_PUT_OK ? ix + 1 : misfit(r, plan, ix, put, null);
}

static const uint32_t *read_array(json_reader *r, const json_plan *plan, const uint32_t *ix, wr_vec *vec, uint32_t row, bool *null) {
    const json_plan *kid = &plan->kids[0];
    if (r->data[*ix] != '[') return misfit(r, plan, ix, WR_PUT_TYPE, null);
    wr_list list = {vec->kids[0].n, 0};
    ix++;
    if (*ix < r->end && r->data[*ix] == ']') {
        ((wr_list *)vec->data)[row] = list;
        return ix + 1;
    }
    for (;;) {
        bool     is_null = false;
        uint32_t at = wr_vec_grow(&vec->kids[0], 1, r->mem);
        ix = json_value_read(r, kid, ix, &vec->kids[0], at, &is_null);
        if (!ix) return NULL;
        if (is_null) wr_vec_set_null(&vec->kids[0], at, r->mem);
        list.len++;
        if (*ix >= r->end) return fault_syntax(r, *ix, "',' or ']' in the array", plan->path);
        uint8_t c = r->data[*ix++];
        if (c == ']') break;
        if (c != ',') return fault_syntax(r, ix[-1], "',' or ']' in the array", plan->path);
    }
    ((wr_list *)vec->data)[row] = list;
    return ix;
}

static const uint32_t *read_map(json_reader *r, const json_plan *plan, const uint32_t *ix, wr_vec *vec, uint32_t row, bool *null) {
    if (r->data[*ix] != '{') return misfit(r, plan, ix, WR_PUT_TYPE, null);
    bool     multiset = plan->type.id == WR_T_MULTISET;
    wr_list  list = {vec->kids[0].n, 0};
    wr_vec  *keys = &vec->kids[0], *values = multiset ? NULL : &vec->kids[1];
    if (multiset) return json_fault(r, WR_BAD_TYPE, *ix, "field '%.60s': MULTISET columns cannot be read from JSON", plan->path);
    ix++;
    if (*ix < r->end && r->data[*ix] == '}') ix++;
    else for (;;) {
        wr_str raw;
        if (*ix >= r->end || r->data[*ix] != '"' || !json_string_raw(r, ix, &raw)) return fault_syntax(r, *ix, "a key in the map", plan->path);
        if (list.len == JSON_MAP_MAX) return json_fault(r, WR_BAD_RANGE, *ix, "field '%.60s': a map of more than %d entries", plan->path, JSON_MAP_MAX);
        uint32_t at = wr_vec_grow(keys, 1, r->mem), same = list.offset;
        wr_put   put = put_string(r, &plan->kids[0], raw, keys, at);
        if (put != WR_PUT_OK) return r->message[0] ? NULL : fault_value(r, &plan->kids[0], *ix, put);
        while (same < at && !wr_vec_equal(keys, same, keys, at)) same++;
        if (same < at) keys->n--; /* seen before: the last value wins */
        else wr_vec_grow(values, 1, r->mem), list.len++;
        if (ix[1] >= r->end || r->data[ix[1]] != ':') return fault_syntax(r, ix[1], "':' in the map", plan->path);
        bool is_null = false;
        ix = json_value_read(r, &plan->kids[1], ix + 2, values, same, &is_null);
        if (!ix) return NULL;
        if (is_null) wr_vec_set_null(values, same, r->mem);
        if (*ix >= r->end) return fault_syntax(r, *ix, "',' or '}' in the map", plan->path);
        uint8_t c = r->data[*ix++];
        if (c == '}') break;
        if (c != ',') return fault_syntax(r, ix[-1], "',' or '}' in the map", plan->path);
    }
    ((wr_list *)vec->data)[row] = list;
    return ix;
}

const uint32_t *json_value_read(json_reader *r, const json_plan *plan, const uint32_t *ix, wr_vec *vec, uint32_t row, bool *null) {
    uint32_t at = *ix;
    if (WR_UNLIKELY(at >= r->end)) return fault_syntax(r, at, "the value", plan->path);
    const uint8_t *p = r->data + at;
    wr_str         raw;
    set_valid(vec, row);
    if (*p == '"') {
        if (!json_string_raw(r, ix, &raw)) return fault_syntax(r, at, "the value", plan->path);
        if (plan->type.id == WR_T_VARCHAR && !r->escapes) {
            ((wr_sview *)vec->data)[row] = wr_sview_borrow(raw.ptr, raw.len);
            return ix + 1;
        }
        wr_put put = put_string(r, plan, raw, vec, row);
        return put == WR_PUT_OK ? ix + 1 : misfit(r, plan, ix, put, null);
    }
    if (*p == 'n') {
        if (!is_word(r, at, "null", 4)) return fault_syntax(r, at, "a value", plan->path);
        *null = true;
        return ix + 1;
    }
    int64_t v;
    switch (plan->type.id) {
    case WR_T_BIGINT:
        if (quick_int(p, (int64_t *)vec->data + row)) return ix + 1;
        break;
    case WR_T_INT:
        if (quick_int(p, &v) && v == (int32_t)v) return ((int32_t *)vec->data)[row] = (int32_t)v, ix + 1;
        break;
    case WR_T_DOUBLE:
        if (quick_double(p, (double *)vec->data + row)) return ix + 1;
        break;
    case WR_T_ROW:
        if (*p != '{') return misfit(r, plan, ix, WR_PUT_TYPE, null);
        return json_row_read(r, plan->object, ix, vec->kids, row);
    case WR_T_ARRAY: return read_array(r, plan, ix, vec, row, null);
    case WR_T_MAP:
    case WR_T_MULTISET: return read_map(r, plan, ix, vec, row, null);
    default: break;
    }
    if (*p != '{' && *p != '[') return read_scalar(r, plan, ix, vec, row, null);
    if (!wr_type_is_string(plan->type)) return misfit(r, plan, ix, WR_PUT_TYPE, null);
    const uint32_t *next = json_skip(r, ix, plan->path);
    if (next) ((wr_sview *)vec->data)[row] = nested_text(r, ix, next);
    return next;
}

/* ---- rows ---- */

bool json_key_is(const json_reader *r, const uint32_t *ix, const char *name, size_t len) {
    wr_str raw;
    if (r->data[*ix] != '"' || !json_string_raw(r, ix, &raw)) return false;
    return raw.len == len && !memcmp(raw.ptr, name, len);
}

static int32_t find_column(const json_object *o, wr_str name) {
    for (uint32_t i = 0; i < o->n; i++)
        if (!o->plans[i].skip && wr_str_eq(o->names[i], name)) return (int32_t)i;
    return -1;
}

/* The k-th key is another one than last time: looks it up and remembers it. -2 with a fault when it is no key. */
static int32_t learn_key(json_reader *r, json_object *o, const uint32_t *ix, uint32_t k) {
    wr_str raw;
    char   small[256];
    size_t len;
    bool   lone;
    if (r->data[*ix] != '"' || !json_string_raw(r, ix, &raw)) {
        fault_syntax(r, *ix, "a key or '}'", NULL);
        return -2;
    }
    bool escaped = r->escapes && memchr(raw.ptr, '\\', raw.len);
    if (escaped && raw.len <= sizeof small && json_unescape(raw, small, &len, &lone)) return find_column(o, (wr_str){small, len});
    if (escaped) return -1;
    int32_t col = find_column(o, raw);
    if (k >= JSON_GUESS_MAX || raw.len + 2 > JSON_KEY_MAX) return col;
    json_guess *g = &o->guess[k];
    *g = (json_guess){.len = (uint32_t)raw.len + 2, .col = col};
    memcpy(g->text, raw.ptr - 1, g->len);
    for (uint32_t i = 0; i < 16 && i < g->len; i++) g->mask[i / 8] |= UINT64_C(0xFF) << (i % 8 * 8);
    memcpy(g->word, g->text, sizeof g->word);
    for (int i = 0; i < 2; i++) g->word[i] &= g->mask[i];
    o->n_guess = WR_MAX(o->n_guess, k + 1);
    return col;
}

WR_INLINE bool guess_holds(const json_guess *g, const uint8_t *p) {
    uint64_t a, b;
    memcpy(&a, p, 8), memcpy(&b, p + 8, 8);
    if (((a & g->mask[0]) ^ g->word[0]) | ((b & g->mask[1]) ^ g->word[1])) return false;
    return g->len <= 16 || !memcmp(p + 16, g->text + 16, g->len - 16);
}

/* Columns that were wanted and did not come, or came as null. */
static bool fill_missing(json_reader *r, json_object *o, uint32_t at, const uint64_t *came, wr_vec *cols, uint32_t row) {
    for (uint32_t w = 0; w < o->n_words; w++) {
        for (uint64_t left = o->wanted[w] & ~o->seen[w]; left; left &= left - 1) {
            uint32_t         i = w * 64 + (uint32_t)__builtin_ctzll(left);
            const json_plan *plan = &o->plans[i];
            bool             absent = !(came[w] >> (i & 63) & 1);
            if (absent && r->partial == o) {
                wr_vec_set(&cols[i], row, &cols[i], r->partial_row, r->mem);
                continue;
            }
            if (absent && r->fail_missing) return json_fault(r, WR_BAD_MISSING, at, "field '%.100s' is missing", plan->path);
            if (!plan->type.nullable && !r->allow_null)
                return json_fault(r, WR_BAD_NULL, at, "field '%.100s' is %s, and its column is NOT NULL", plan->path, absent ? "missing" : "null");
            wr_vec_set_null(&cols[i], row, r->mem);
        }
    }
    return true;
}

enum { WORDS_FAST = 4 }; /* bitmaps of up to 256 columns are on the stack */

const uint32_t *json_row_read(json_reader *r, json_object *o, const uint32_t *ix, wr_vec *cols, uint32_t row) {
    const uint8_t *data = r->data;
    uint32_t       start = *ix, k = 0;
    uint64_t       bits[2 * WORDS_FAST], *came = o->n_words <= WORDS_FAST ? bits : o->wide, *have = came + o->n_words; /* in the record; and not null */
    if (WR_UNLIKELY(start >= r->end || data[start] != '{')) return fault_syntax(r, start, "an object", NULL);
    for (uint32_t w = 0; w < o->n_words; w++) came[w] = have[w] = 0;
    ix++;
    if (*ix < r->end && data[*ix] == '}') {
        ix++;
    } else for (;; k++) {
        uint32_t at = *ix;
        if (WR_UNLIKELY(at >= r->end)) return fault_syntax(r, at, "a key", NULL);
        int32_t col;
        if (WR_LIKELY(k < o->n_guess && guess_holds(&o->guess[k], data + at))) col = o->guess[k].col;
        else if ((col = learn_key(r, o, ix, k)) == -2) return NULL;
        if (WR_UNLIKELY(ix[1] >= r->end || data[ix[1]] != ':')) return fault_syntax(r, ix[1], "':' after the key", NULL);
        ix += 2;
        if (col < 0) {
            uint32_t next = ix[1];
            bool     string = *ix < r->end && data[*ix] == '"' && next <= r->end && next - *ix > 1 && data[next - 1] == '"'; /* the usual case */
            ix = string ? ix + 1 : json_skip(r, ix, NULL);
        } else {
            bool null = false;
            ix = json_value_read(r, &o->plans[col], ix, &cols[col], row, &null);
            uint64_t bit = UINT64_C(1) << (col & 63);
            came[col >> 6] |= bit;
            have[col >> 6] = null ? have[col >> 6] & ~bit : have[col >> 6] | bit; /* the last one wins */
        }
        if (WR_UNLIKELY(!ix)) return NULL;
        if (WR_UNLIKELY(*ix >= r->end)) return fault_syntax(r, *ix, "',' or '}' after the value", col >= 0 ? o->plans[col].path : NULL);
        uint8_t c = data[*ix++];
        if (c == '}') break;
        if (WR_UNLIKELY(c != ',')) return fault_syntax(r, ix[-1], "',' or '}' after the value", col >= 0 ? o->plans[col].path : NULL);
    }
    uint64_t missing = 0;
    for (uint32_t w = 0; w < o->n_words; w++) missing |= o->wanted[w] & ~have[w];
    if (WR_UNLIKELY(missing)) {
        memcpy(o->seen, have, o->n_words * sizeof *have);
        if (!fill_missing(r, o, start, came, cols, row)) return NULL;
    }
    return ix;
}

/* ---- plans ---- */

static void plan_value(wr_arena *arena, json_plan *plan, wr_type type, const char *path);

static json_object *object_new(wr_arena *arena, uint32_t n) {
    json_object *o = wr_new(arena, json_object);
    o->n = n;
    o->plans = wr_new_n(arena, json_plan, n);
    o->names = wr_new_n(arena, wr_str, n);
    o->n_words = (n + 63) / 64;
    o->wanted = wr_new_n(arena, uint64_t, o->n_words + 1);
    o->seen = wr_new_n(arena, uint64_t, o->n_words + 1);
    if (o->n_words > WORDS_FAST) o->wide = wr_new_n(arena, uint64_t, 2 * o->n_words);
    return o;
}

static void plan_value(wr_arena *arena, json_plan *plan, wr_type type, const char *path) {
    plan->type = type;
    plan->path = path;
    if (type.id == WR_T_ROW) {
        plan->object = object_new(arena, type.n_kids);
        for (uint32_t i = 0; i < type.n_kids; i++) {
            plan->object->names[i] = type.names[i];
            plan->object->wanted[i / 64] |= UINT64_C(1) << (i % 64);
            plan_value(arena, &plan->object->plans[i], type.kids[i], wr_arena_printf(arena, "%s.%.*s", path, WR_FMT(type.names[i])));
        }
    } else if (type.n_kids) {
        plan->kids = wr_new_n(arena, json_plan, type.n_kids);
        for (uint32_t i = 0; i < type.n_kids; i++) plan_value(arena, &plan->kids[i], type.kids[i], wr_arena_printf(arena, "%s[]", path));
    }
}

json_object *json_object_new(wr_arena *arena, const wr_schema *schema, const uint8_t *needed) {
    json_object *o = object_new(arena, schema->n);
    for (uint32_t i = 0; i < schema->n; i++) {
        o->names[i] = wr_str_dup(arena, schema->fields[i].name);
        plan_value(arena, &o->plans[i], schema->fields[i].type, wr_arena_strndup(arena, o->names[i].ptr, o->names[i].len));
        o->plans[i].skip = needed && !needed[i];
        if (!o->plans[i].skip) o->wanted[i / 64] |= UINT64_C(1) << (i % 64);
    }
    return o;
}
