/* type/rowcodec_fuzz.c: a damaged type, then a damaged row of it: read or refused; what is read has one encoding.       */
#include "type/rowcodec.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    wr_arena *arena = wr_arena_new(NULL);
    wr_reader in = {data, data + size, false};
    wr_type   type = wr_type_load(arena, &in);
    if (!in.bad && size < 4096) {
        wr_rowcodec *codec = wr_rowcodec_new(arena, &type, 1);
        wr_batch    *batch = wr_batch_new(1, 0), *again = wr_batch_new(1, 0);
        wr_sbuf      out = {0}, twice = {0};
        batch->n_rows = again->n_rows = 1;
        wr_vec_init(&batch->cols[0], type, 1, true, batch->mem);
        wr_vec_init(&again->cols[0], type, 1, true, again->mem);
        if (wr_rowcodec_get(codec, (wr_str){(const char *)in.at, (size_t)(in.end - in.at)}, batch->cols, 0, batch->mem)) {
            wr_rowcodec_put(codec, batch, NULL, 0, &out);
            bool ok = wr_rowcodec_get(codec, wr_sbuf_str(&out), again->cols, 0, again->mem);
            wr_assert(ok && wr_vec_equal(&batch->cols[0], 0, &again->cols[0], 0));
            wr_rowcodec_put(codec, again, NULL, 0, &twice);
            wr_assert(wr_str_eq(wr_sbuf_str(&out), wr_sbuf_str(&twice)));
            wr_assert(wr_rowcodec_compare(codec, wr_sbuf_str(&out), wr_sbuf_str(&twice), 0) == 0);
        }
        wr_sbuf_free(&out);
        wr_sbuf_free(&twice);
        wr_batch_unref(batch);
        wr_batch_unref(again);
    }
    wr_arena_free(arena);
    return 0;
}
