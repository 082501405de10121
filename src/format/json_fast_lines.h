/* format/json_fast_lines.h: the part of json_fast.c that looks at every byte: compiled once for each width of a step (json_fast.c, json_fast_avx2.c). JSON_FAST_READ: the name
 * of what comes out.
 *
 * Bounds     lines end with a line break, and no part of a shape, no string and no number has one: so nothing goes beyond it, whatever stands behind, and no step asks for
 *            the end. What is looked at beyond it is one step of a scan, or what a number or time may have: at most 48 bytes, of the 64 behind a chunk.    */
#include "format/json_fast.h"
#ifdef __SSE2__
#include <immintrin.h>
#endif

enum { SHAPES = 4, FIELDS_MAX = 128, TEXT_MAX = 4096, NUMBER_MAX = 40, BETWEEN_MAX = 48 };

typedef const uint8_t *json_fast_reader(json_decoder *d, const uint8_t *from, const uint8_t *to);
json_fast_reader json_fast_read_16; /* what a step of a scan reads, in bytes */
#ifdef __x86_64__
json_fast_reader json_fast_read_32;
#endif

typedef enum field_kind { F_SKIP, F_STRING, F_BIGINT, F_INT, F_SMALLINT, F_TINYINT, F_DOUBLE, F_TIMESTAMP, F_OTHER } field_kind;
typedef struct between { /* the bytes in front of a value, or behind the last one */
    uint64_t word[2], mask[2];
    uint32_t len, at; /* at: in the shape's text */
} between;
typedef struct field {
    between    before;
    field_kind kind;
    uint32_t   col;
    uint32_t   len;       /* F_TIMESTAMP: of the text */
} field;
typedef struct shape {
    uint32_t n, n_absent, text_len;
    between  end;
    uint32_t *absent;     /* columns that are wanted and not there: NULL */
    field    fields[FIELDS_MAX];
    char     text[TEXT_MAX];
} shape;
struct json_fast {
    wr_arena *arena;
    json_fast_reader *read;
    uint32_t  n, next;    /* shapes; the one that the next line is tried with first */
    uint32_t  replaced;   /* the one whose place was taken last */
    shape    *shapes[SHAPES], *spare;
    uint64_t  lines;
    char      day[8], month_day[8]; /* the ten bytes of the last date, in two words that overlap */
    int64_t   day_us;
};

WR_INLINE uint64_t load64(const void *p) {
    uint64_t v;
    memcpy(&v, p, 8);
    return v;
}

/* ---- strings ---- */

/* The end of a string without escapes that begins behind its quote at p; NULL: it has some, or is none. */
WR_INLINE const uint8_t *string_end(const uint8_t *p) {
    const uint8_t *from = p;
    bool           high = false;
#if defined(__AVX2__)
    const __m256i quote = _mm256_set1_epi8('"'), escape = _mm256_set1_epi8('\\'), control = _mm256_set1_epi8(0x1F);
    for (;; p += 32) {
        __m256i  v = _mm256_loadu_si256((const __m256i *)(const void *)p);
        __m256i  special = _mm256_or_si256(_mm256_or_si256(_mm256_cmpeq_epi8(v, quote), _mm256_cmpeq_epi8(v, escape)), _mm256_cmpeq_epi8(_mm256_min_epu8(v, control), v));
        uint32_t stop = (uint32_t)_mm256_movemask_epi8(special), top = (uint32_t)_mm256_movemask_epi8(v);
        if (!stop) {
            high |= top != 0;
            continue;
        }
        high |= (top & (stop - 1) & ~stop) != 0;
        p += __builtin_ctz(stop);
        break;
    }
#elif defined(__SSE2__)
    const __m128i quote = _mm_set1_epi8('"'), escape = _mm_set1_epi8('\\'), control = _mm_set1_epi8(0x1F);
    for (;; p += 16) {
        __m128i  v = _mm_loadu_si128((const __m128i *)(const void *)p);
        __m128i  special = _mm_or_si128(_mm_or_si128(_mm_cmpeq_epi8(v, quote), _mm_cmpeq_epi8(v, escape)), _mm_cmpeq_epi8(_mm_min_epu8(v, control), v));
        uint32_t stop = (uint32_t)_mm_movemask_epi8(special), top = (uint32_t)_mm_movemask_epi8(v);
        if (!stop) {
            high |= top != 0;
            continue;
        }
        high |= (top & (stop - 1) & ~stop) != 0;
        p += __builtin_ctz(stop);
        break;
    }
#else
    for (;; p++) {
        if (*p == '"' || *p == '\\' || *p < 0x20) break;
        high |= *p >= 0x80;
    }
#endif
    if (WR_UNLIKELY(*p != '"')) return NULL;
    return WR_LIKELY(!high) || wr_utf8_valid((wr_str){(const char *)from, (size_t)(p - from)}) ? p : NULL;
}

/* As wr_sview_borrow, for text with 16 readable bytes. */
WR_INLINE void put_view(wr_sview *to, const uint8_t *p, size_t len) {
    static const uint32_t keep4[] = {0, 0xFF, 0xFFFF, 0xFFFFFF, 0xFFFFFFFF, 0xFFFFFFFF, 0xFFFFFFFF, 0xFFFFFFFF, 0xFFFFFFFF, 0xFFFFFFFF, 0xFFFFFFFF, 0xFFFFFFFF, 0xFFFFFFFF};
    static const uint64_t keep8[] = {0, 0, 0, 0, 0, 0xFF, 0xFFFF, 0xFFFFFF, 0xFFFFFFFF, 0xFFFFFFFFFF, 0xFFFFFFFFFFFF, 0xFFFFFFFFFFFFFF, UINT64_MAX};
    uint32_t first;
    memcpy(&first, p, 4);
    uint64_t rest = load64(p + 4);
    wr_sview v = {.len = (uint32_t)len};
    if (len <= 12) first &= keep4[len], rest &= keep8[len];
    else rest = (uint64_t)(uintptr_t)p;
    memcpy(v.prefix, &first, 4);
    memcpy(v.rest, &rest, 8);
    *to = v;
}

/* ---- numbers ---- */
WR_INLINE bool is_digit(uint8_t c) { return (unsigned)c - '0' <= 9; }

/* Bytes of eight digits, the first one lowest, each less '0': pairs, fours, eights. */
WR_INLINE uint64_t eight_digits(uint64_t v) {
    v = v * 10 + (v >> 8);
    return ((v & UINT64_C(0x000000FF000000FF)) * UINT64_C(0x000F424000000064) + (v >> 16 & UINT64_C(0x000000FF000000FF)) * UINT64_C(0x0000271000000001)) >> 32;
}

/* Up to 15 digits, as JSON writes a whole number, eight at once; longer ones are rare. */
WR_INLINE const uint8_t *int_end(const uint8_t *p, int64_t *out) {
    static const uint64_t power[] = {1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000};
    bool                  negative = *p == '-';
    const uint8_t        *first = p += negative;
    uint64_t              v = 0;
    for (uint32_t n = 8; n == 8; p += n) {
        uint64_t chunk = load64(p) ^ UINT64_C(0x3030303030303030), rest = (chunk | (chunk + UINT64_C(0x0606060606060606))) & UINT64_C(0xF0F0F0F0F0F0F0F0);
        if (!rest) { /* all are digits */
            if (p != first) return NULL;
            v = eight_digits(chunk);
            continue;
        }
        n = (uint32_t)__builtin_ctzll(rest) / 8;
        if (n) v = v * power[n] + eight_digits(chunk << (64 - 8 * n));
    }
    if (WR_UNLIKELY(p == first || (*first == '0' && p - first > 1))) return NULL;
    *out = negative ? -(int64_t)v : (int64_t)v;
    return p;
}

/* The usual form of a number: sign, digits, fraction. */
WR_INLINE const uint8_t *number_end(const uint8_t *p) {
    const uint8_t *from = p, *first = p += *p == '-';
    while (is_digit(*p) && p - from < NUMBER_MAX) p++;
    if (p == first || (*first == '0' && p - first > 1)) return NULL;
    if (*p != '.') return p - from < NUMBER_MAX ? p : NULL;
    const uint8_t *dot = p++;
    while (is_digit(*p) && p - from < NUMBER_MAX) p++;
    return p - dot > 1 && p - from < NUMBER_MAX ? p : NULL;
}

/* The same, and most numbers in one step: up to seven digits and no fraction. */
WR_INLINE const uint8_t *number_over(const uint8_t *p) {
    const uint8_t *first = p + (*p == '-');
    uint64_t       chunk = load64(first) ^ UINT64_C(0x3030303030303030), rest = (chunk | (chunk + UINT64_C(0x0606060606060606))) & UINT64_C(0xF0F0F0F0F0F0F0F0);
    const uint8_t *end = first + (rest ? (uint32_t)__builtin_ctzll(rest) / 8 : 8);
    if (WR_UNLIKELY(!rest || *end == '.' || end == first)) return number_end(p);
    return *first == '0' && end - first > 1 ? NULL : end;
}

/* At most 15 digits with a fraction: mantissa and power of ten are exact, so one division rounds right (Clinger's fast path). */
WR_INLINE const uint8_t *double_end(const uint8_t *p, double *out) {
    static const double power[] = {1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15};
    const uint8_t *end = number_end(p);
    if (!end || end - p > 16) return NULL;
    bool     negative = *p == '-';
    uint64_t v = 0;
    int      fraction = 0;
    for (p += negative; p < end && *p != '.'; p++) v = v * 10 + (unsigned)(*p - '0');
    for (p += p < end; p < end; p++, fraction++) v = v * 10 + (unsigned)(*p - '0');
    if (v >= UINT64_C(1000000000000000)) return NULL;
    double x = (double)v / power[fraction];
    *out = negative ? -x : x;
    return end;
}

/* ---- times ---- */
/* Two digits at p; joined: anything but zero when one of them is none. */
WR_INLINE uint32_t two(const uint8_t *p, uint32_t *wrong) {
    uint32_t a = (uint32_t)p[0] - '0', b = (uint32_t)p[1] - '0';
    *wrong |= (uint32_t)(a > 9) | (uint32_t)(b > 9);
    return a * 10 + b;
}

/* "yyyy-MM-dd HH:mm:ss[.fff]" with its quotes, of a known length, no finer than microseconds; rows that follow each other mostly have the same day. */
static const uint8_t *timestamp_end(json_fast *f, const uint8_t *p, uint32_t len, wr_type type, char sep, int64_t *out) {
    static const uint32_t power[] = {1, 10, 100, 1000, 10000, 100000, 1000000};
    if (*p != '"' || p[1 + len] != '"') return NULL;
    uint32_t       wrong = 0;
    const uint8_t *t = ++p + 10;
    if (load64(p) != load64(f->day) || load64(p + 2) != load64(f->month_day)) {
        uint32_t year = two(p, &wrong) * 100 + two(p + 2, &wrong), month = two(p + 5, &wrong), day = two(p + 8, &wrong);
        if (wrong || p[4] != '-' || p[7] != '-' || !wr_civil_valid((int32_t)year, (int32_t)month, (int32_t)day)) return NULL;
        f->day_us = (int64_t)wr_days_from_civil((int32_t)year, (int32_t)month, (int32_t)day) * 86400 * WR_US_PER_SECOND;
        memcpy(f->day, p, 8);
        memcpy(f->month_day, p + 2, 8);
    }
    uint64_t clock = load64(t + 1) ^ UINT64_C(0x30303A30303A3030); /* "00:00:00": digits are left, and nothing of the colons */
    uint64_t odd = (clock | (clock + UINT64_C(0x0606000606000606))) & UINT64_C(0xF0F0FFF0F0FFF0F0);
    clock = clock * 10 + (clock >> 8);
    uint32_t h = clock & 0xFF, m = clock >> 24 & 0xFF, s = clock >> 48 & 0xFF, us = 0;
    wrong |= (uint32_t)(*t != (uint8_t)sep) | (uint32_t)(odd != 0) | (uint32_t)(h > 23) | (uint32_t)(m > 59) | (uint32_t)(s > 59);
    if (len > 19) {
        uint32_t n = len - 20;
        wrong |= (uint32_t)(t[9] != '.');
        for (uint32_t i = 0; i < n; i++) {
            uint32_t digit = (uint32_t)t[10 + i] - '0';
            wrong |= (uint32_t)(digit > 9);
            us = us * 10 + digit;
        }
        us *= power[6 - n];
        if (WR_UNLIKELY((int32_t)n > type.prec)) us -= us % power[6 - type.prec]; /* what the column does not hold is cut */
    }
    if (WR_UNLIKELY(wrong)) return NULL;
    *out = f->day_us + (int64_t)(h * 3600 + m * 60 + s) * WR_US_PER_SECOND + us;
    return p + len + 1;
}

/* ---- values ---- */
static const uint8_t *skip_value(const uint8_t *p) {
    if (*p == '"') {
        p = string_end(p + 1);
        return p ? p + 1 : NULL;
    }
    if (is_digit(*p) || *p == '-') return number_over(p);
    if (!memcmp(p, "true", 4) || !memcmp(p, "null", 4)) return p + 4;
    return memcmp(p, "false", 5) ? NULL : p + 5;
}

/* Whatever a column may hold beside its usual form: null, a text that the room's scalars take, a number, true or false. */
static const uint8_t *put_other(json_decoder *d, const field *f, const uint8_t *p, wr_vec *vec, uint32_t row) {
    const json_plan *plan = &d->row->plans[f->col];
    if (*p == 'n') {
        if (memcmp(p, "null", 4) || !plan->type.nullable) return NULL;
        wr_vec_set_null(vec, row, d->batch->mem);
        return p + 4;
    }
    if (vec->valid) wr_valid_set(vec->valid, row, true);
    if (*p == '"') {
        const uint8_t *end = string_end(p + 1);
        return end && wr_scalar_put((wr_str){(const char *)p + 1, (size_t)(end - p - 1)}, d->proto.sep, vec, row, d->batch->mem) == WR_PUT_OK ? end + 1 : NULL;
    }
    if (plan->type.id == WR_T_BOOLEAN) {
        bool yes = !memcmp(p, "true", 4);
        ((uint8_t *)vec->data)[row] = yes;
        return yes ? p + 4 : memcmp(p, "false", 5) ? NULL : p + 5;
    }
    if (wr_type_is_string(plan->type)) return NULL;
    const uint8_t *end = number_end(p);
    return end && wr_scalar_put_number((wr_str){(const char *)p, (size_t)(end - p)}, vec, row) == WR_PUT_OK ? end : NULL;
}

/* The value at p into its column: the byte behind it, or NULL. */
WR_INLINE const uint8_t *put_value(json_decoder *d, const field *f, const uint8_t *p, wr_vec *vec, uint32_t row) {
    const uint8_t *end;
    int64_t        v;
    if (WR_UNLIKELY(vec->valid != NULL)) wr_valid_set(vec->valid, row, true);
    switch (f->kind) {
    case F_STRING:
        if (*p == '"' && (end = string_end(p + 1))) return put_view((wr_sview *)vec->data + row, p + 1, (size_t)(end - p - 1)), end + 1;
        break;
    case F_BIGINT:
        if ((end = int_end(p, (int64_t *)vec->data + row))) return end;
        break;
    case F_INT:
        if ((end = int_end(p, &v)) && v == (int32_t)v) return ((int32_t *)vec->data)[row] = (int32_t)v, end;
        break;
    case F_SMALLINT:
        if ((end = int_end(p, &v)) && v == (int16_t)v) return ((int16_t *)vec->data)[row] = (int16_t)v, end;
        break;
    case F_TINYINT:
        if ((end = int_end(p, &v)) && v == (int8_t)v) return ((int8_t *)vec->data)[row] = (int8_t)v, end;
        break;
    case F_DOUBLE:
        if ((end = double_end(p, (double *)vec->data + row))) return end;
        break;
    case F_TIMESTAMP:
        if ((end = timestamp_end(d->fast, p, f->len, vec->type, d->proto.sep, (int64_t *)vec->data + row))) return end;
        break;
    default: break;
    }
    return put_other(d, f, p, vec, row);
}

/* ---- lines ---- */
WR_INLINE bool holds(const shape *s, const between *b, const uint8_t *p) {
    if (((load64(p) & b->mask[0]) ^ b->word[0]) | ((load64(p + 8) & b->mask[1]) ^ b->word[1])) return false;
    return b->len <= 16 || !memcmp(p + 16, s->text + b->at + 16, b->len - 16);
}

/* One line of the shape: the byte behind its last brace, or NULL. */
static const uint8_t *read_line(json_decoder *d, const shape *s, const uint8_t *p) {
    wr_vec  *cols = d->batch->cols;
    uint32_t row = d->n_rows;
    for (const field *f = s->fields, *end = f + s->n; f < end; f++) {
        if (WR_UNLIKELY(!holds(s, &f->before, p))) return NULL;
        p += f->before.len;
        p = f->kind == F_SKIP ? skip_value(p) : put_value(d, f, p, &cols[f->col], row);
        if (WR_UNLIKELY(!p)) return NULL;
    }
    if (WR_UNLIKELY(!holds(s, &s->end, p))) return NULL;
    for (uint32_t i = 0; i < s->n_absent; i++) wr_vec_set_null(&cols[s->absent[i]], row, d->batch->mem);
    return p + s->end.len;
}

/* Another shape, or NULL: the line is a surprise. */
static const uint8_t *read_other(json_decoder *d, const uint8_t *from) {
    json_fast     *fast = d->fast;
    const uint8_t *p = NULL;
    for (uint32_t i = 1; i < fast->n && !p; i++) {
        fast->next = fast->next + 1 == fast->n ? 0 : fast->next + 1;
        p = read_line(d, fast->shapes[fast->next], from);
    }
    if (!p) fast->next = fast->next + 1 == fast->n ? 0 : fast->next + 1;
    return p;
}

const uint8_t *JSON_FAST_READ(json_decoder *d, const uint8_t *from, const uint8_t *to) {
    json_fast *fast = d->fast;
    uint64_t   before = d->line;
    while (from < to && fast->n) {
        if (WR_UNLIKELY(!d->batch || d->n_rows == d->capacity)) json_need_rows(d, 1);
        const uint8_t *p = read_line(d, fast->shapes[fast->next], from);
        if (WR_UNLIKELY(!p) && !(p = read_other(d, from))) break;
        p += *p == '\r';
        if (WR_UNLIKELY(*p != '\n' || p - from > d->opts.max_record_bytes)) break;
        json_add_row(d, WR_KIND_INSERT);
        d->line++;
        from = p + 1;
    }
    uint64_t lines = d->line - before;
    d->out->n_records += lines;
    d->out->n_lines += lines;
    fast->lines += lines;
    return from;
}
