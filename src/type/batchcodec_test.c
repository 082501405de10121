/* type/batchcodec_test.c: random batches come back value for value, bit for bit where values have no unique form; damage is refused.  */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include "type/batchcodec.h"
#include "type/testkit.h"

enum { ROWS = 40, COLS_MAX = 5 };

static wr_batch *random_batch(wr_rng *rng, const wr_type *types, uint32_t n_cols) {
    wr_batch *b = kit_batch(rng, types, n_cols, ROWS);
    if (wr_rng_below(rng, 2)) {
        uint8_t *kinds = wr_mem_alloc(b->mem, ROWS);
        for (uint32_t i = 0; i < ROWS; i++) kinds[i] = (uint8_t)wr_rng_below(rng, 4);
        b->kinds = kinds;
    }
    if (wr_rng_below(rng, 2)) {
        int64_t *late = wr_mem_alloc(b->mem, ROWS * sizeof *late);
        for (uint32_t i = 0; i < ROWS; i++) late[i] = wr_rng_below(rng, 2) ? WR_TIME_MIN : (int64_t)i * 1000;
        b->row_wm_us = late;
    }
    if (wr_rng_below(rng, 2)) {
        uint16_t *sel = wr_mem_alloc(b->mem, ROWS * sizeof *sel);
        for (uint16_t i = 0; i < ROWS; i++)
            if (wr_rng_below(rng, 3)) sel[b->n_sel++] = i;
        b->sel = sel;
    }
    return b;
}

static void check_same(const wr_batch *a, const wr_batch *b) {
    assert_int_equal(b->n_rows, wr_batch_live(a));
    assert_null(b->sel);
    for (uint32_t i = 0; i < b->n_rows; i++) {
        uint32_t row = wr_batch_row(a, i);
        assert_int_equal(wr_batch_kind(a, row), wr_batch_kind(b, i));
        assert_int_equal(a->row_wm_us != NULL, b->row_wm_us != NULL);
        if (a->row_wm_us) assert_int_equal(a->row_wm_us[row], b->row_wm_us[i]);
        for (uint32_t c = 0; c < a->n_cols; c++) assert_true(wr_vec_equal(&a->cols[c], row, &b->cols[c], i));
    }
}

static void check_damage(const wr_schema *schema, wr_str bytes, wr_rng *rng) {
    char *copy = wr_malloc(bytes.len + 1);
    for (int round = 0; round < 10; round++) {
        memcpy(copy, bytes.ptr, bytes.len);
        size_t    len = round ? bytes.len : wr_rng_below(rng, bytes.len);
        if (round) copy[wr_rng_below(rng, len)] ^= (char)(1u << wr_rng_below(rng, 8)); /* an answer or a refusal, but never a crash */
        wr_reader in = {(const uint8_t *)copy, (const uint8_t *)copy + len, false};
        wr_batch *b = wr_batch_get(schema, &in);
        assert_true(b == NULL ? in.bad : round > 0);
        wr_batch_unref(b);
    }
    wr_free(copy);
}

static void random_batches(void **state) {
    (void)state;
    wr_rng rng;
    wr_rng_seed(&rng, 23);
    for (int round = 0; round < 300; round++) {
        wr_arena *arena = wr_arena_new(NULL);
        uint32_t  n = 1 + (uint32_t)wr_rng_below(&rng, COLS_MAX);
        wr_type   types[COLS_MAX];
        wr_field  fields[COLS_MAX] = {0};
        for (uint32_t c = 0; c < n; c++) fields[c].type = types[c] = kit_type(arena, &rng, 3);
        wr_schema schema = {n, fields};
        wr_batch *batch = random_batch(&rng, types, n);
        wr_sbuf   bytes = {0}, again = {0};
        wr_batch_put(batch, &bytes);
        wr_reader in = {(const uint8_t *)bytes.at, (const uint8_t *)bytes.at + bytes.len, false};
        wr_batch *back = wr_batch_get(&schema, &in);
        assert_non_null(back);
        assert_ptr_equal(in.at, in.end);
        check_same(batch, back);
        wr_batch_put(back, &again);
        assert_true(wr_str_eq(wr_sbuf_str(&bytes), wr_sbuf_str(&again))); /* also what wr_vec_equal does not tell apart: -0.0 */
        check_damage(&schema, wr_sbuf_str(&bytes), &rng);
        wr_batch_unref(batch);
        wr_batch_unref(back);
        wr_sbuf_free(&bytes);
        wr_sbuf_free(&again);
        wr_arena_free(arena);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(random_batches)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
