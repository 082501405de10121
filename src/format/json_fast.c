/* format/json_fast.c: see json_fast.h. Here: shapes are learned; reading is in json_fast_lines.h. */
#define JSON_FAST_READ json_fast_read_16
#include "format/json_fast_lines.h"

json_fast *json_fast_new(wr_arena *arena) {
    json_fast *f = wr_new(arena, json_fast);
    f->arena = arena;
    f->read = json_fast_read_16;
#ifdef __x86_64__
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2")) f->read = json_fast_read_32;
#endif
    memcpy(f->day, "1970-01-", 8);
    memcpy(f->month_day, "70-01-01", 8);
    return f;
}

uint64_t json_fast_lines(const json_fast *f) { return f->lines; }

const uint8_t *json_fast_read(json_decoder *d, const uint8_t *from, const uint8_t *to) { return d->fast->read(d, from, to); }

/* ---- learning ---- */
static const uint8_t *blanks(const uint8_t *p, const uint8_t *end) {
    while (p < end && (*p == ' ' || *p == '\t')) p++;
    return p;
}

static bool note_between(shape *s, between *b, const uint8_t *from, const uint8_t *to) {
    size_t len = (size_t)(to - from);
    if (len > BETWEEN_MAX || s->text_len + len > TEXT_MAX) return false;
    *b = (between){.len = (uint32_t)len, .at = s->text_len};
    memcpy(s->text + s->text_len, from, len);
    s->text_len += (uint32_t)len;
    for (size_t i = 0; i < 16 && i < len; i++) {
        b->mask[i / 8] |= UINT64_C(0xFF) << (i % 8 * 8);
        b->word[i / 8] |= (uint64_t)from[i] << (i % 8 * 8);
    }
    return true;
}

/* A value that is not nested, escapes and all: its end, or NULL. */
static const uint8_t *value_end(const uint8_t *p, const uint8_t *end) {
    if (p == end || *p == '{' || *p == '[') return NULL;
    if (*p != '"') {
        while (p < end && !memchr(",} \t", *p, 4)) p++;
        return p;
    }
    for (p++; p < end && *p != '"'; p++) p += *p == '\\';
    return p < end ? p + 1 : NULL;
}

static bool kind_of(const json_decoder *d, field *f, const uint8_t *p, const uint8_t *end) {
    wr_type type = d->row->plans[f->col].type;
    size_t  len = (size_t)(end - p);
    f->kind = F_OTHER;
    switch (type.id) {
    case WR_T_ROW: case WR_T_ARRAY: case WR_T_MAP: case WR_T_MULTISET: return false;
    case WR_T_CHAR: case WR_T_VARCHAR: f->kind = F_STRING; break;
    case WR_T_BIGINT: f->kind = F_BIGINT; break;
    case WR_T_INT: f->kind = F_INT; break;
    case WR_T_SMALLINT: f->kind = F_SMALLINT; break;
    case WR_T_TINYINT: f->kind = F_TINYINT; break;
    case WR_T_DOUBLE: f->kind = F_DOUBLE; break;
    case WR_T_TIMESTAMP:
        f->len = (uint32_t)len - 2;
        if (*p == '"' && (len == 21 || (len > 22 && len <= 28)) && type.prec >= 0 && type.prec <= 6) f->kind = F_TIMESTAMP;
        break;
    default: break;
    }
    return true;
}

/* The column of a key; *wanted. False: it came before. */
static bool column_of(const json_decoder *d, shape *s, field *f, wr_str key) {
    const json_object *o = d->row;
    f->kind = F_SKIP;
    for (uint32_t i = 0; i < o->n; i++) {
        if (o->plans[i].skip || !wr_str_eq(o->names[i], key)) continue;
        f->kind = F_OTHER;
        f->col = i;
        for (uint32_t k = 0; k < s->n; k++)
            if (s->fields[k].kind != F_SKIP && s->fields[k].col == i) return false;
        return true;
    }
    return true;
}

static bool note_absent(const json_decoder *d, shape *s) {
    const json_object *o = d->row;
    for (uint32_t i = 0; i < o->n; i++) {
        bool there = o->plans[i].skip;
        for (uint32_t k = 0; k < s->n && !there; k++) there = s->fields[k].kind != F_SKIP && s->fields[k].col == i;
        if (there) continue;
        if (d->proto.fail_missing || !o->plans[i].type.nullable) return false; /* such a record is a bad one */
        s->absent[s->n_absent++] = i;
    }
    return true;
}

static bool learn(const json_decoder *d, shape *s, const uint8_t *line, const uint8_t *end) {
    const uint8_t *from = line, *p = blanks(line, end);
    s->n = s->n_absent = s->text_len = 0;
    if (p == end || *p++ != '{') return false;
    for (;; s->n++, p++) {
        field *f = &s->fields[s->n];
        p = blanks(p, end);
        if (s->n == FIELDS_MAX || p == end || *p != '"') return false;
        const uint8_t *key = p + 1, *close = string_end(key);
        if (!close || close >= end) return false;
        p = blanks(close + 1, end);
        if (p == end || *p != ':') return false;
        p = blanks(p + 1, end);
        if (!note_between(s, &f->before, from, p) || !column_of(d, s, f, (wr_str){(const char *)key, (size_t)(close - key)})) return false;
        from = value_end(p, end);
        if (!from || from == p || (f->kind != F_SKIP && !kind_of(d, f, p, from))) return false;
        p = blanks(from, end);
        if (p == end || (*p != ',' && *p != '}')) return false;
        if (*p == '}') break;
    }
    s->n++;
    return p + 1 == end && note_between(s, &s->end, from, p + 1) && note_absent(d, s);
}

/* Known shapes are found again after values that were a surprise. */
static bool is_known(const json_fast *f, const shape *s) {
    for (uint32_t i = 0; i < f->n; i++)
        if (f->shapes[i]->n == s->n && f->shapes[i]->text_len == s->text_len && !memcmp(f->shapes[i]->text, s->text, s->text_len)) return true;
    return false;
}

void json_fast_learn(json_decoder *d, const uint8_t *line, const uint8_t *end) {
    json_fast *f = d->fast;
    end--;
    if (end > line && end[-1] == '\r') end--;
    if (!f->spare) {
        f->spare = wr_new(f->arena, shape);
        f->spare->absent = wr_new_n(f->arena, uint32_t, d->row->n + 1);
    }
    if (!learn(d, f->spare, line, end) || is_known(f, f->spare)) return;
    if (f->n < SHAPES) {
        f->shapes[f->next = f->n++] = f->spare;
        f->spare = NULL;
        return;
    }
    shape *old = f->shapes[f->next = f->replaced = (f->replaced + 1) % SHAPES];
    f->shapes[f->replaced] = f->spare;
    f->spare = old;
}
