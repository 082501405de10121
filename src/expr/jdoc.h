/* expr/jdoc.h: one JSON document as a flat list of nodes, and the SQL/JSON paths that lead into it. (private)
 *
 * Idea       strict RFC 8259 parsing into an array (children follow their parent, linked by `next`), reused from row to row. Number
 *            texts are kept, since SQL shows 1.50 as 1.50 (Java's BigDecimal); objects print with sorted keys, as Flink does.
 * Bounds     JDOC_DEPTH_MAX levels, 2^31 nodes. Memory: the document borrows the text. Thread: one.                  */
#pragma once
#include "base/str.h"

enum { JDOC_DEPTH_MAX = 500 };
typedef enum wr_jkind { WR_J_NULL, WR_J_STRING, WR_J_NUMBER, WR_J_BOOL, WR_J_OBJECT, WR_J_ARRAY } wr_jkind;
typedef struct wr_jnode {
    wr_jkind kind;
    bool     key_escaped, escaped;
    wr_str   key;   /* of a member, without quotes */
    wr_str   text;  /* scalars: raw, strings without quotes */
    uint32_t n, next; /* containers: number of children (the first is the node after this one); next sibling or 0 */
} wr_jnode;
typedef struct wr_jdoc { WR_ARR(wr_jnode) nodes; } wr_jdoc;

bool wr_jdoc_parse(wr_jdoc *doc, wr_str text); /* false: not JSON */
void wr_jdoc_free(wr_jdoc *doc);
void wr_jdoc_key(const wr_jdoc *doc, uint32_t node, wr_sbuf *out); /* appends the name of a member, as it is */
void wr_jdoc_print(const wr_jdoc *doc, uint32_t node, bool scalar, wr_sbuf *out); /* scalar: a string without quotes */

typedef enum wr_jstep_kind { WR_STEP_KEY, WR_STEP_INDEX, WR_STEP_LAST, WR_STEP_ANY } wr_jstep_kind;
typedef struct wr_jstep { /* .name, [3], [last], [*] or .* */
    wr_jstep_kind kind;
    wr_str        key;
    uint64_t      index;
} wr_jstep;
typedef struct wr_jpath {
    WR_ARR(wr_jstep) steps; /* keys borrow from the path's text */
    bool lax;               /* said so; the default is strict, as in Flink */
} wr_jpath;
bool wr_jpath_parse(wr_str text, wr_jpath *path);
void wr_jpath_free(wr_jpath *path);

typedef struct wr_jhits { WR_ARR(uint32_t) nodes; } wr_jhits;
void wr_jpath_find(const wr_jpath *path, const wr_jdoc *doc, wr_jhits *hits); /* clears hits first */
