/* type/number.h: numbers to and from text. (contract)
 *
 * Idea       DOUBLE and FLOAT print as Java's Double.toString: the shortest digits that read back to the same number ("1.0E20",
 *            "1.0E7", "0.001", "1.0E-4", "NaN", "-Infinity"); parsing trims white space and takes nothing else around a number. */
#pragma once
#include "base/str.h"

size_t wr_text_double(double x, char out[32]); /* NUL-terminated; returns the length */
size_t wr_text_float(float x, char out[32]);
size_t wr_text_i64(int64_t x, char out[32]);
bool   wr_parse_double(wr_str text, double *out); /* 1, -1.5, .5, 1e3, NaN, Infinity; too large = infinity, as Java */
bool   wr_parse_i64(wr_str text, int64_t *out);   /* digits with an optional sign; false on overflow */
