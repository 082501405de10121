/* type/batchcodec_fuzz.c: a damaged type, then a damaged batch of it: read or refused; what is read has one encoding.       */
#include "type/batchcodec.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    wr_arena *arena = wr_arena_new(NULL);
    wr_reader in = {data, data + size, false};
    wr_field  field = {.type = wr_type_load(arena, &in)};
    wr_schema schema = {1, &field};
    wr_batch *batch = !in.bad && size < 4096 ? wr_batch_get(&schema, &in) : NULL;
    if (batch) {
        wr_sbuf out = {0}, twice = {0};
        wr_batch_put(batch, &out);
        wr_reader second = {(const uint8_t *)out.at, (const uint8_t *)out.at + out.len, false};
        wr_batch *again = wr_batch_get(&schema, &second);
        wr_assert(again);
        wr_batch_put(again, &twice);
        wr_assert(wr_str_eq(wr_sbuf_str(&out), wr_sbuf_str(&twice)));
        wr_batch_unref(again);
        wr_sbuf_free(&out);
        wr_sbuf_free(&twice);
    }
    wr_batch_unref(batch);
    wr_arena_free(arena);
    return 0;
}
