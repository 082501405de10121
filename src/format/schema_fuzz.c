/* format/schema_fuzz.c: any bytes as a JSON Schema and, behind a zero byte, a text that is held against it.                     */
#include "format/fuzzing.h"
#include "format/json_schema.h"
#include "format/json_simd.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len) {
    static wr_simd *simd;
    if (!simd) simd = wr_simd_new();
    const uint8_t *zero = len ? memchr(bytes, 0, len) : NULL;
    if (!zero) return 0;
    size_t    n_schema = (size_t)(zero - bytes), n = len - n_schema - 1;
    wr_arena *arena = wr_arena_new(NULL);
    char      message[200];
    uint8_t  *text = wr_malloc(n + 65);
    memcpy(text, zero + 1, n);
    memset(text + n, '"', 64);
    json_schema    *schema = json_schema_new(arena, wr_str_dup(arena, (wr_str){(const char *)bytes, n_schema}), message);
    const uint32_t *ix;
    uint32_t        n_ix;
    json_reader     r = {.data = text, .end = (uint32_t)n};
    if (schema && wr_simd_index(simd, text, n, &ix, &n_ix) == WR_SIMD_OK && n_ix && !json_schema_hold(schema, &r, ix)) wr_assert(r.message[0] && strnlen(r.message, sizeof r.message) < sizeof r.message);
    wr_free(text);
    wr_arena_free(arena);
    return 0;
}
