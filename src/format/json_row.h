/* format/json_row.h: from the places of a JSON text (json_simd.h) to columns. Private to format/.
 *
 * Idea       one walk over the places, no tree: a key is compared with the key that came at this place in the last record, its value goes
 *            straight into its column. The end of a string is the byte before the next place, so no byte is looked at twice.
 * Invariants every step forward checks that the place is before `end`, and behind the last place stand two of value len: the walk never
 *            leaves them. A record that fails leaves its row as it was or half written; the caller does not count the row.
 * Bounds     nesting to 256; recursion only along the column's type.                                                    */
#pragma once
#include "format/parts.h"

enum { JSON_DEPTH_MAX = 256, JSON_GUESS_MAX = 64, JSON_KEY_MAX = 48, JSON_MAP_MAX = 10000 };

struct json_object;
typedef struct json_plan { /* how to read one value */
    wr_type             type;
    bool                skip;   /* not needed */
    const char         *path;   /* for messages: v, address.city */
    struct json_object *object; /* ROW */
    struct json_plan   *kids;   /* ARRAY: element; MAP and MULTISET: key, value */
} json_plan;

typedef struct json_guess { /* the key that came k-th in the last record, with its quotes */
    uint64_t word[2], mask[2];
    uint32_t len;
    int32_t  col; /* -1: not a needed column */
    char     text[JSON_KEY_MAX];
} json_guess;

typedef struct json_object { /* how to read one ROW */
    uint32_t   n;       /* columns */
    json_plan *plans;
    wr_str    *names;
    uint32_t   n_words; /* of bitmaps over columns */
    uint64_t  *wanted;  /* columns to read */
    uint64_t  *seen;    /* scratch */
    uint64_t  *wide;    /* scratch: two bitmaps, for objects of very many columns */
    uint32_t   n_guess;
    json_guess guess[JSON_GUESS_MAX];
} json_object;

typedef struct json_reader {
    const uint8_t  *data;
    uint32_t        end;          /* of the record: places at or behind it are not its own */
    bool            escapes;      /* there is a backslash in the record */
    bool            allow_null;   /* NOT NULL is not checked: images of deleted rows */
    bool            fail_missing, ignore_errors;
    char            sep;          /* of timestamps */
    wr_mem         *mem;          /* of the batch */
    const struct json_object *partial; /* fields of this object that do not come have the value that they have in the row */
    uint32_t        partial_row;
    wr_bad_kind     kind;         /* of the fault */
    uint32_t        at;           /* its place */
    char            message[200];
} json_reader;

json_object *json_object_new(wr_arena *arena, const wr_schema *schema, const uint8_t *needed);
/* The object at *ix into row `row` of cols. Returns the place after it, or NULL with the fault in r. */
const uint32_t *json_row_read(json_reader *r, json_object *o, const uint32_t *ix, wr_vec *cols, uint32_t row);
const uint32_t *json_skip(json_reader *r, const uint32_t *ix, const char *what);
/* One value of any type. *null: it was null. */
const uint32_t *json_value_read(json_reader *r, const json_plan *plan, const uint32_t *ix, wr_vec *vec, uint32_t row, bool *null);
WR_COLD WR_PRINTF(4, 5) const uint32_t *json_fault(json_reader *r, wr_bad_kind kind, uint32_t at, const char *fmt, ...);
/* Text between the quotes of the string at ix; false if the string is not closed before the next place. */
bool   json_string_raw(const json_reader *r, const uint32_t *ix, wr_str *raw);
/* Decodes escapes into `to` (raw.len bytes are enough). False: bad escape. */
bool   json_unescape(wr_str raw, char *to, size_t *len, bool *lone_surrogate);
/* A JSON string or number token as text for fields that are small: key of an envelope and the like. */
bool   json_key_is(const json_reader *r, const uint32_t *ix, const char *name, size_t len);
