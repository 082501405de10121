/* format/json_tree.h: a small JSON text as a tree: schemas and a registry's answers, never rows.
 *
 * Idea       nodes in an arena, children as a list. Numbers stay the text they were written as, so that no digit is lost.
 * Bounds     nesting to 100.
 * Thread     any; a tree is read-only once made.                                                                       */
#pragma once
#include "base/str.h"

typedef enum wr_json_kind { WR_JSON_NULL, WR_JSON_BOOL, WR_JSON_NUMBER, WR_JSON_STRING, WR_JSON_ARRAY, WR_JSON_OBJECT } wr_json_kind;
typedef struct wr_json_node {
    wr_json_kind kind;
    bool         yes;            /* BOOL */
    wr_str       text;           /* STRING: unescaped, with a NUL behind it; NUMBER: as written */
    wr_str       key;            /* of a member */
    uint32_t     n;              /* ARRAY, OBJECT */
    struct wr_json_node *first, *next;
} wr_json_node;
/* NULL: the text is not JSON; why says what is wrong. */
const wr_json_node *wr_json_parse(wr_arena *arena, wr_str text, char why[120]);
const wr_json_node *wr_json_get(const wr_json_node *object, const char *key);                  /* NULL: no object, or no such member */
wr_str              wr_json_get_string(const wr_json_node *object, const char *key);           /* ptr NULL: no such member, or no string */
bool                wr_json_get_int(const wr_json_node *object, const char *key, int64_t *out); /* false: no such member, or no whole number */
