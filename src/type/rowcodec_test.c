/* type/rowcodec_test.c: random types and rows: decode(encode) = row, equal rows <=> equal bytes, order, damage.        */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include "type/rowcodec.h"
#include "type/testkit.h"

enum { ROWS = 24, COLS_MAX = 5 };

static bool rows_equal(const wr_batch *batch, uint32_t a, uint32_t b) {
    for (uint32_t c = 0; c < batch->n_cols; c++)
        if (!wr_vec_equal(&batch->cols[c], a, &batch->cols[c], b)) return false;
    return true;
}

static void check_pairs(const wr_rowcodec *codec, const wr_batch *batch, const wr_str *bytes) {
    for (uint32_t i = 0; i < ROWS; i++)
        for (uint32_t j = 0; j < ROWS; j++) {
            assert_true(rows_equal(batch, i, j) == wr_str_eq(bytes[i], bytes[j]));
            for (uint32_t c = 0; c < batch->n_cols; c++) {
                int want = wr_vec_compare(&batch->cols[c], i, &batch->cols[c], j), got = wr_rowcodec_compare(codec, bytes[i], bytes[j], c);
                assert_true((want > 0) - (want < 0) == (got > 0) - (got < 0));
            }
        }
}

static void check_damage(const wr_rowcodec *codec, const wr_type *types, uint32_t n, wr_str bytes, wr_rng *rng) {
    char     copy[4096];
    uint64_t cut = wr_rng_below(rng, bytes.len + 1);
    if (bytes.len > sizeof copy) return;
    for (int round = 0; round < 20; round++) {
        wr_mem *mem = wr_mem_new(0);
        wr_vec  dst[COLS_MAX];
        for (uint32_t c = 0; c < n; c++) wr_vec_init(&dst[c], types[c], 1, true, mem);
        if (bytes.len) memcpy(copy, bytes.ptr, bytes.len);
        size_t len = bytes.len;
        if (round == 0) {
            len = cut;
            assert_true(wr_rowcodec_get(codec, (wr_str){copy, len}, dst, 0, mem) == (cut == bytes.len));
        } else if (len) { /* flipped bits: an answer or a refusal, but never a crash */
            copy[wr_rng_below(rng, len)] ^= (char)(1u << wr_rng_below(rng, 8));
            wr_rowcodec_get(codec, (wr_str){copy, len}, dst, 0, mem);
        }
        wr_mem_unref(mem);
    }
}

static void random_rows(void **state) {
    (void)state;
    wr_rng rng;
    wr_rng_seed(&rng, 11);
    for (int round = 0; round < 300; round++) {
        wr_arena *arena = wr_arena_new(NULL);
        uint32_t  n = (uint32_t)wr_rng_below(&rng, COLS_MAX + 1);
        wr_type   types[COLS_MAX];
        for (uint32_t c = 0; c < n; c++) types[c] = kit_type(arena, &rng, 3);
        wr_batch    *batch = kit_batch(&rng, types, n, ROWS), *back = wr_batch_new(n, 0);
        wr_rowcodec *codec = wr_rowcodec_new(arena, types, n);
        wr_str       bytes[ROWS];
        for (uint32_t c = 0; c < n; c++) wr_vec_init(&back->cols[c], types[c], ROWS, wr_rng_below(&rng, 2), back->mem);
        for (uint32_t i = 0; i < ROWS; i++) {
            wr_sbuf out = {0};
            wr_rowcodec_put(codec, batch, NULL, i, &out);
            bytes[i] = wr_str_dup(arena, wr_sbuf_str(&out));
            wr_sbuf_free(&out);
            assert_true(wr_rowcodec_get(codec, bytes[i], back->cols, i, back->mem));
        }
        for (uint32_t i = 0; i < ROWS; i++)
            for (uint32_t c = 0; c < n; c++) assert_true(wr_vec_equal(&batch->cols[c], i, &back->cols[c], i));
        check_pairs(codec, batch, bytes);
        check_damage(codec, types, n, bytes[wr_rng_below(&rng, ROWS)], &rng);
        wr_batch_unref(batch);
        wr_batch_unref(back);
        wr_arena_free(arena);
    }
}

static void layout_is_fixed(void **state) { /* part of every checkpoint */
    (void)state;
    wr_arena *arena = wr_arena_new(NULL);
    wr_type   types[] = {wr_type_of(WR_T_INT), wr_type_string(), wr_type_of(WR_T_BOOLEAN)};
    wr_batch *batch = wr_batch_new(3, 0);
    batch->n_rows = 1;
    for (uint32_t c = 0; c < 3; c++) wr_vec_init(&batch->cols[c], types[c], 1, true, batch->mem);
    ((int32_t *)batch->cols[0].data)[0] = 258;
    ((wr_sview *)batch->cols[1].data)[0] = wr_sview_copy(batch->mem, "hi", 2);
    wr_valid_set(batch->cols[2].valid, 0, false);
    ((uint8_t *)batch->cols[2].data)[0] = 1; /* the value of a NULL does not matter */
    wr_rowcodec *codec = wr_rowcodec_new(arena, types, 3);
    wr_sbuf      out = {0};
    wr_rowcodec_put(codec, batch, NULL, 0, &out);
    assert_int_equal(out.len, 12);
    assert_memory_equal(out.at, "\x04\x02\x01\x00\x00\x00\x02\x00\x00\x00hi", 12);
    uint32_t picked[] = {1};
    codec = wr_rowcodec_new(arena, &types[1], 1);
    wr_sbuf_clear(&out);
    wr_rowcodec_put(codec, batch, picked, 0, &out);
    assert_int_equal(out.len, 7);
    assert_memory_equal(out.at, "\x00\x02\x00\x00\x00hi", 7);
    wr_sbuf small = {.max = 6};
    wr_rowcodec_put(codec, batch, picked, 0, &small);
    assert_true(small.overflow);
    wr_sbuf_free(&small);
    wr_sbuf_free(&out);
    wr_batch_unref(batch);
    wr_arena_free(arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(random_rows), cmocka_unit_test(layout_is_fixed)};
    return cmocka_run_group_tests_name("type.rowcodec", tests, NULL, NULL);
}
