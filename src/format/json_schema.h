/* format/json_schema.h: does a JSON text hold what a JSON Schema says? Private to format/.
 *
 * Idea       the schema becomes a tree of checks; a text is held against it on the places that stage 1 finds (json_simd.h), in one walk and without a tree.
 * Checked    "type", "required", "properties", "items", "additionalProperties", "enum" of strings, "$ref" inside the schema; of "oneOf" and "anyOf" that one
 *            alternative holds, of "allOf" all. Other keywords say nothing here.
 * Bounds     nesting 64; a schema 20,000 places; a text 1,000,000 steps, since schemas may lead to themselves.
 * Thread     a schema is read-only once made; it lies in the arena.                                                       */
#pragma once
#include "format/json_row.h"

typedef struct json_schema json_schema;
json_schema *json_schema_new(wr_arena *arena, wr_str text, char message[200]); /* text must last as long; NULL: message says why */
/* False: the fault is in the reader. The text is a record of its own. */
bool json_schema_hold(const json_schema *schema, json_reader *r, const uint32_t *ix);
