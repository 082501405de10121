/* examples/nexmark/count_char.c: q14's function: how often a character is in a text.
 *
 *     gcc -shared -fPIC -O2 -I ../../include -o libcount_char.so count_char.c */
#include "weir_udf.h"
#include <string.h>

static int count(weir_call *call, const weir_column *args, weir_column *out) {
    int64_t *counts = out->data;
    for (uint32_t i = 0; i < call->n_rows; i++) {
        size_t      n, n_char;
        const char *text = weir_text(&args[0], i, &n), *what = weir_text(&args[1], i, &n_char);
        if (n_char != 1) {
            call->fail(call, i, "one character of ASCII is counted");
            return 1;
        }
        counts[i] = 0;
        for (const char *at = text, *end = text + n; (at = memchr(at, what[0], (size_t)(end - at))); at++) counts[i]++;
    }
    return 0;
}
static const weir_signature count_char_signatures[] = {{.args = "STRING, STRING", .result = "BIGINT", .eval = count}};
WEIR_UDF_EXPORT const weir_function count_char = {WEIR_UDF_HEAD(WEIR_SCALAR), .summary = "how often a character is in a text", WEIR_UDF_SIGNATURES(count_char_signatures)};
