/* format/json_fast_avx2.c: json_fast_lines.h in steps of 32 bytes, for processors with AVX2 (the build gives this file -mavx2; json_fast.c asks the processor). */
#ifdef __AVX2__
#define JSON_FAST_READ json_fast_read_32
#include "format/json_fast_lines.h"
#else
typedef int nothing_here; /* another kind of processor */
#endif
