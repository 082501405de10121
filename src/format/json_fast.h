/* format/json_fast.h: lines of JSON that look like the lines before them, straight into columns. Private to format/.
 *
 * Idea       most lines of a file differ in their values only: what stands between the values (braces, keys, colons, commas, blanks) is the same, byte for byte. Such a
 *            text is learned from a line: a shape. A line that has it is read in one pass, by comparing what stands between and taking values in their usual form; no
 *            places are collected (json_simd.h), and bytes of columns that nobody needs are only looked at for their end.
 * Surprise   anything else (another key, an escape, a number in an odd form, a nested value, text that is not UTF-8, a record that is too long ...) is left to json_row.c,
 *            which also has all messages. So results are the same with and without this file: json_fast_test.c holds the two against each other.
 * Memory     a few shapes a decoder, in its arena. Thread: the decoder's.                                                             */
#pragma once
#include "format/json_decoder.h"

typedef struct json_fast json_fast;
json_fast *json_fast_new(wr_arena *arena);
/* Lines from `from` on, each to a row, up to `to` (behind a line break) or to the first line that has none of the shapes: returned is where that begins. */
const uint8_t *json_fast_read(json_decoder *d, const uint8_t *from, const uint8_t *to);
uint64_t json_fast_lines(const json_fast *f); /* read so, so far */
/* The line, with its break, is not a surprise the next time, if it can be helped. */
void json_fast_learn(json_decoder *d, const uint8_t *line, const uint8_t *end);
