/* base/str.h: borrowed strings, growing byte buffers, growable arrays, UTF-8.
 *
 * Idea       wr_str is pointer + length, never owned; wr_sbuf is the one way to build text or bytes piece by piece.
 * Invariant  wr_sbuf.at[len] is always a readable NUL once anything was appended; len never exceeds `max` when max != 0
 *            (appends past it set `overflow` and are dropped).                                                       */
#pragma once
#include "base/mem.h"

typedef struct wr_str {
    const char *ptr;
    size_t      len;
} wr_str;
#define WR_STR(lit) ((wr_str){(lit), sizeof(lit) - 1})
WR_INLINE wr_str wr_str_of(const char *text) { return (wr_str){text, text ? strlen(text) : 0}; }
WR_INLINE bool wr_str_eq(wr_str a, wr_str b) { return a.len == b.len && (a.len == 0 || memcmp(a.ptr, b.ptr, a.len) == 0); }
bool   wr_str_ieq(wr_str a, wr_str b); /* ASCII case-insensitive */
int    wr_str_cmp(wr_str a, wr_str b); /* bytewise, shorter first */
wr_str wr_str_dup(wr_arena *arena, wr_str s);
wr_str wr_str_trim(wr_str s);          /* ASCII white space at both ends */
bool   wr_str_starts(wr_str s, wr_str prefix);
bool   wr_str_next(wr_str *list, char sep, wr_str *item); /* takes the first item, trimmed, from a list with `sep` between; false: it is empty */
#define WR_FMT(s) (int)(s).len, (s).ptr /* for "%.*s" */

/* Damerau-Levenshtein distance, bounded by 8, ASCII case-blind; the base of every did-you-mean. */
unsigned wr_edit_distance(wr_str a, wr_str b);
/* Nearest of n candidates within a third of the length (at least 2); returns its index, or -1. */
int wr_nearest(wr_str name, const wr_str *candidates, size_t n);

typedef struct wr_sbuf {
    char  *at;
    size_t len, cap, max; /* max 0 = bounded only by memory */
    bool   overflow;
} wr_sbuf;
void wr_sbuf_free(wr_sbuf *buf);
void wr_sbuf_reserve(wr_sbuf *buf, size_t extra);
void wr_sbuf_add(wr_sbuf *buf, const void *bytes, size_t len);
void wr_sbuf_add_str(wr_sbuf *buf, wr_str s);
void wr_sbuf_addz(wr_sbuf *buf, const char *text);
void wr_sbuf_addc(wr_sbuf *buf, char c);
WR_PRINTF(2, 3) void wr_sbuf_printf(wr_sbuf *buf, const char *fmt, ...);
void wr_sbuf_add_json(wr_sbuf *buf, wr_str s); /* quoted and escaped; bytes that are not UTF-8 become U+FFFD */
WR_INLINE wr_str wr_sbuf_str(const wr_sbuf *buf) { return (wr_str){buf->at ? buf->at : "", buf->len}; }
WR_INLINE void wr_sbuf_clear(wr_sbuf *buf) { buf->len = 0; buf->overflow = false; }

/* Little-endian binary writer and reader over wr_sbuf / a byte range: the one encoding of everything that weir stores. */
void wr_put_u8(wr_sbuf *buf, uint8_t v);
void wr_put_u32(wr_sbuf *buf, uint32_t v);
void wr_put_u64(wr_sbuf *buf, uint64_t v);
void wr_put_i64(wr_sbuf *buf, int64_t v);
void wr_put_f64(wr_sbuf *buf, double v);
void wr_put_bytes(wr_sbuf *buf, const void *bytes, size_t len); /* u32 length, then bytes */
typedef struct wr_reader {
    const uint8_t *at, *end;
    bool           bad; /* a read past the end was tried; reads then give zeros */
} wr_reader;
uint8_t  wr_get_u8(wr_reader *r);
uint32_t wr_get_u32(wr_reader *r);
uint64_t wr_get_u64(wr_reader *r);
int64_t  wr_get_i64(wr_reader *r);
double   wr_get_f64(wr_reader *r);
wr_str   wr_get_bytes(wr_reader *r); /* borrows from the range */

/* Growable arrays: declare `WR_ARR(T) name;` (zero is empty). Heap form: free with wr_arr_free. Arena form: never freed. */
#define WR_ARR(T) struct { T *at; uint32_t n, cap; }
#define wr_arr_push(arr, ...)                                                                             \
    do {                                                                                                  \
        if ((arr)->n == (arr)->cap) {                                                                     \
            (arr)->cap = (arr)->cap ? (arr)->cap * 2 : 8;                                                 \
            (arr)->at = wr_realloc((arr)->at, (size_t)(arr)->cap * sizeof *(arr)->at);                    \
        }                                                                                                 \
        (arr)->at[(arr)->n++] = (__VA_ARGS__);                                                            \
    } while (0)
#define wr_arr_free(arr) (wr_free((arr)->at), (arr)->at = NULL, (arr)->n = (arr)->cap = 0)
#define wr_arr_apush(arena, arr, ...)                                                                     \
    do {                                                                                                  \
        if ((arr)->n == (arr)->cap) {                                                                     \
            uint32_t cap_ = (arr)->cap ? (arr)->cap * 2 : 8;                                              \
            void *more_ = wr_arena_alloc((arena), (size_t)cap_ * sizeof *(arr)->at);                      \
            if ((arr)->n) memcpy(more_, (arr)->at, (size_t)(arr)->n * sizeof *(arr)->at);                 \
            (arr)->at = more_;                                                                            \
            (arr)->cap = cap_;                                                                            \
        }                                                                                                 \
        (arr)->at[(arr)->n++] = (__VA_ARGS__);                                                            \
    } while (0)

/* UTF-8. Lengths are in bytes unless the name says chars (code points). */
bool   wr_utf8_valid(wr_str s);
size_t wr_utf8_chars(wr_str s);
size_t wr_utf8_offset(wr_str s, size_t chars);           /* byte offset of the chars-th code point, or s.len */
size_t wr_utf8_put(char out[4], uint32_t code_point);    /* returns the number of bytes */
uint32_t wr_utf8_get(const char *at, const char *end, size_t *used); /* U+FFFD, used 1 on a bad byte */
