/* expr/json_shim.h: the little of JSON that SQL functions need, over simdjson, as C. (private)
 *
 * Idea       a document is parsed into the parser's own tree; a path of steps is walked; each hit is written as text through callbacks,
 *            so that this header needs nothing of base/ (which is C only).
 * Invariant  no exception leaves the shim.
 * Thread     a parser belongs to one step of one program.                                                            */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif

typedef struct wr_json wr_json;
typedef enum wr_json_step_kind { WR_STEP_KEY, WR_STEP_INDEX, WR_STEP_LAST, WR_STEP_ANY } wr_json_step_kind;
typedef struct wr_json_step { /* .name, [3], [last], [*] or .* */
    wr_json_step_kind kind;
    const char       *key;
    size_t            key_len;
    uint64_t          index;
} wr_json_step;

typedef enum wr_json_what {
    WR_JSON_MISSING, WR_JSON_NULL_VALUE, WR_JSON_TEXT, WR_JSON_NUMBER, WR_JSON_BOOL, WR_JSON_OBJ, WR_JSON_ARR, WR_JSON_BAD
} wr_json_what;
typedef struct wr_json_hits {
    uint32_t     n;     /* values found */
    wr_json_what first; /* kind of the first; MISSING if none, BAD if the text is not JSON */
} wr_json_hits;

typedef struct wr_json_out {
    void  *ctx;
    void (*bytes)(void *ctx, const char *ptr, size_t len);
    void (*quoted)(void *ctx, const char *ptr, size_t len); /* as a JSON string */
    void (*number)(void *ctx, double x);
} wr_json_out;

wr_json *wr_json_new(void); /* NULL: no memory */
void     wr_json_free(wr_json *json);
/* Writes the hits, separated by ','. Objects and arrays as compact JSON; strings unquoted when `scalar`, else as JSON. */
wr_json_hits wr_json_find(wr_json *json, const char *text, size_t len, const wr_json_step *steps, size_t n_steps, bool scalar, const wr_json_out *out);

#ifdef __cplusplus
}
#endif
