/* format/json_simd.h: the two things taken from C++ libraries: simdjson's stage 1 and the shortest road from text to double.
 *
 * Idea       stage 1 finds, with SIMD, the place of every structural character, string start and scalar start of a text, and checks
 *            UTF-8 and control characters on the way. What the places mean is decided in C (json_row.c).
 * Invariant  places are ascending offsets; after the last one stand two entries of value len or more.
 * Thread     one wr_simd per worker.                                                                                  */
#pragma once
#include "base/compiler.h"

#ifdef __cplusplus
extern "C" {
#endif
typedef struct wr_simd wr_simd;
typedef enum wr_simd_error { WR_SIMD_OK, WR_SIMD_UTF8, WR_SIMD_STRING, WR_SIMD_CONTROL, WR_SIMD_OTHER } wr_simd_error;
wr_simd *wr_simd_new(void);
void     wr_simd_free(wr_simd *s);
/* data[len .. len+63] must be readable. The places stay valid until the next call. */
wr_simd_error wr_simd_index(wr_simd *s, const uint8_t *data, size_t len, const uint32_t **places, uint32_t *n);
/* Decimal text -> nearest double; the whole range must be used. Out of range gives an infinity or 0. No NaN, no Infinity, no blanks. */
bool wr_simd_double(const char *from, const char *to, double *out);
#ifdef __cplusplus
}
#endif
