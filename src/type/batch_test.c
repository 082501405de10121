/* type/batch_test.c: gather, compare, hash, set, derive, compact, builder, text, single values.                        */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include "type/testkit.h"
#include "type/value.h"
#include "type/datetime.h"
#include "sys/world.h"

static const uint32_t sizes[] = {1, 2, 63, 64, 65, 127, 128, 1000, WR_BATCH_MAX};

static void gather_takes_the_rows_named(void **state) {
    (void)state;
    wr_rng rng;
    wr_rng_seed(&rng, 7);
    wr_arena *arena = wr_arena_new(NULL);
    for (int round = 0; round < 200; round++) {
        uint32_t  n = sizes[wr_rng_below(&rng, round < 10 ? 9 : 7)], m = 0;
        wr_type   type = kit_type(arena, &rng, 2);
        wr_batch *batch = kit_batch(&rng, &type, 1, n);
        uint16_t *sel = wr_new_n(arena, uint16_t, n);
        uint32_t *rows = wr_new_n(arena, uint32_t, n);
        for (uint32_t i = 0; i < n; i++)
            if (wr_rng_below(&rng, 2)) sel[m++] = (uint16_t)i;
        for (uint32_t i = 0; i < n; i++) rows[i] = wr_rng_below(&rng, 5) ? (uint32_t)wr_rng_below(&rng, n) : UINT32_MAX;
        wr_mem *mem = wr_mem_new(0);
        wr_mem_keep(mem, batch->mem);
        wr_vec some, all, outer;
        wr_vec_gather(&some, &batch->cols[0], sel, m, mem);
        wr_vec_gather(&all, &batch->cols[0], NULL, n, mem);
        wr_vec_gather32(&outer, &batch->cols[0], rows, n, mem);
        const wr_vec *src = &batch->cols[0];
        for (uint32_t i = 0; i < m; i++) assert_true(wr_vec_equal(&some, i, src, sel[i]));
        for (uint32_t i = 0; i < n; i++) {
            assert_true(wr_vec_equal(&all, i, src, i));
            if (rows[i] == UINT32_MAX) assert_true(wr_vec_is_null(&outer, i));
            else assert_true(wr_vec_equal(&outer, i, src, rows[i]));
        }
        wr_batch_unref(batch); /* what was gathered holds its strings */
        for (uint32_t i = 0; i < n; i++) assert_true(wr_vec_equal(&all, i, &all, i));
        wr_mem_unref(mem);
    }
    wr_arena_free(arena);
}

static int sign(int x) { return (x > 0) - (x < 0); }

static void compare_is_an_order_and_hash_agrees(void **state) {
    (void)state;
    wr_rng rng;
    wr_rng_seed(&rng, 8);
    wr_arena *arena = wr_arena_new(NULL);
    for (int round = 0; round < 150; round++) {
        wr_type   type = kit_type(arena, &rng, 2);
        wr_batch *batch = kit_batch(&rng, &type, 1, 40);
        uint64_t  hash[40];
        uint32_t  col = 0, equal = 0;
        wr_vec   *v = &batch->cols[0];
        wr_batch_hash(batch, &col, 1, hash);
        for (uint32_t i = 0; i < 40; i++)
            for (uint32_t j = 0; j < 40; j++) {
                int c = wr_vec_compare(v, i, v, j);
                assert_int_equal(sign(c), -sign(wr_vec_compare(v, j, v, i)));
                assert_true((c == 0) == wr_vec_equal(v, i, v, j));
                if (c == 0) assert_true(hash[i] == hash[j]), equal++;
                uint32_t k = (uint32_t)wr_rng_below(&rng, 40);
                if (c <= 0 && wr_vec_compare(v, j, v, k) <= 0) assert_true(wr_vec_compare(v, i, v, k) <= 0);
                if (wr_vec_is_null(v, i) && !wr_vec_is_null(v, j)) assert_true(c < 0);
            }
        assert_true(equal >= 40);
        wr_batch_unref(batch);
    }
    wr_arena_free(arena);
}

static void special_values_compare_as_sql_wants(void **state) {
    (void)state;
    wr_mem *mem = wr_mem_new(0);
    wr_vec  v;
    wr_vec_init(&v, wr_type_of(WR_T_DOUBLE), 6, true, mem);
    double nan = 0.0 / 0.0, values[] = {nan, -nan, 0.0, -0.0, 1.0 / 0.0, 5};
    memcpy(v.data, values, sizeof values);
    wr_valid_set(v.valid, 5, false);
    assert_int_equal(wr_vec_compare(&v, 0, &v, 1), 0);
    assert_int_equal(wr_vec_compare(&v, 2, &v, 3), 0);
    assert_true(wr_vec_compare(&v, 0, &v, 4) > 0 && wr_vec_compare(&v, 5, &v, 2) < 0 && wr_vec_compare(&v, 5, &v, 5) == 0);
    wr_vec_init(&v, wr_type_string(), 4, false, mem);
    ((wr_sview *)v.data)[0] = wr_sview_copy(mem, "abcdefghijkl", 12);
    ((wr_sview *)v.data)[1] = wr_sview_copy(mem, "abcdefghijklm", 13);
    ((wr_sview *)v.data)[2] = wr_sview_copy(mem, "abcd", 4);
    ((wr_sview *)v.data)[3] = wr_sview_copy(mem, "\xFF", 1);
    assert_true(wr_vec_compare(&v, 0, &v, 1) < 0 && wr_vec_compare(&v, 2, &v, 0) < 0 && wr_vec_compare(&v, 3, &v, 1) > 0);
    assert_false(wr_vec_equal(&v, 0, &v, 1));
    wr_mem_unref(mem);
}

/* Worked out with a few lines of Python from the definitions in hash.h. The key hash decides the key group and is part of every checkpoint: these numbers must never change. */
static void hashes_are_golden(void **state) {
    (void)state;
    wr_batch *batch = wr_batch_new(3, 0);
    batch->n_rows = 2;
    wr_vec_init(&batch->cols[0], wr_type_of(WR_T_BIGINT), 2, true, batch->mem);
    wr_vec_init(&batch->cols[1], wr_type_string(), 2, false, batch->mem);
    wr_vec_init(&batch->cols[2], wr_type_decimal(10, 2), 2, false, batch->mem);
    ((int64_t *)batch->cols[0].data)[0] = 42;
    wr_valid_set(batch->cols[0].valid, 1, false);
    ((wr_sview *)batch->cols[1].data)[0] = wr_sview_copy(batch->mem, "short", 5);
    ((wr_sview *)batch->cols[1].data)[1] = wr_sview_copy(batch->mem, "longer than twelve bytes", 24);
    ((wr_i128 *)batch->cols[2].data)[0] = -1;
    ((wr_i128 *)batch->cols[2].data)[1] = (wr_i128)1 << 90;
    uint64_t h[5][2];
    for (uint32_t c = 0; c < 3; c++) wr_batch_hash(batch, &c, 1, h[c]);
    wr_batch_hash(batch, NULL, 3, h[3]);
    wr_batch_hash(batch, NULL, 0, h[4]);
    assert_true(h[0][0] == UINT64_C(0xbdd732262feb6e95) && h[0][1] == WR_HASH_NULL);
    assert_true(h[1][1] == wr_hash_bytes("longer than twelve bytes", 24));
    assert_true(h[3][0] == wr_hash_mix(wr_hash_mix(h[0][0], h[1][0]), h[2][0]));
    assert_true(h[4][0] == h[4][1]);
    assert_true(h[1][0] == UINT64_C(0xeb0dad1c4240dd28));
    assert_true(h[2][0] == UINT64_C(0x269eb5c3fccb4cdb) && h[2][1] == UINT64_C(0x1218f6a73437831b));
    wr_batch_unref(batch);
}

static void builder_builds(void **state) {
    (void)state;
    wr_field    fields[] = {{WR_STR("a"), wr_type_of(WR_T_INT)}, {WR_STR("b"), wr_type_string()}};
    wr_schema   schema = {2, fields};
    wr_builder *b = wr_builder_new(&schema, 70);
    assert_null(wr_builder_take(b));
    for (int round = 0; round < 3; round++) {
        for (uint32_t i = 0; i < 70; i++) {
            uint32_t row = wr_builder_add(b, round == 1 && i == 5 ? WR_KIND_DELETE : WR_KIND_INSERT);
            assert_int_equal(row, i);
            wr_vec *a = wr_builder_col(b, 0), *s = wr_builder_col(b, 1);
            ((int32_t *)a->data)[row] = (int32_t)i;
            wr_valid_set(a->valid, row, true);
            if (i % 2) ((wr_sview *)s->data)[row] = wr_sview_copy(wr_builder_mem(b), "a string of some length", i % 24), wr_valid_set(s->valid, row, true);
            if (round == 2 && i == 9) wr_builder_set_late(b, row, 777);
        }
        assert_int_equal(wr_builder_rows(b), 70);
        wr_batch *batch = wr_builder_take(b);
        assert_int_equal(wr_builder_rows(b), 0);
        assert_int_equal(batch->n_rows, 70);
        assert_null(batch->cols[0].valid); /* no NULLs: no bitmap */
        assert_non_null(batch->cols[1].valid);
        assert_true((batch->kinds == NULL) == (round != 1) && (batch->row_wm_us != NULL) == (round == 2));
        if (round == 1) assert_int_equal(wr_batch_kind(batch, 5), WR_KIND_DELETE);
        if (round == 2) assert_true(batch->row_wm_us[9] == 777 && batch->row_wm_us[8] == WR_TIME_MIN && batch->row_wm_us[69] == WR_TIME_MIN);
        for (uint32_t i = 0; i < 70; i++) {
            assert_int_equal(((int32_t *)batch->cols[0].data)[i], i);
            assert_true(wr_vec_is_null(&batch->cols[1], i) == (i % 2 == 0));
        }
        assert_true(wr_batch_bytes(batch) >= 70 * 20);
        wr_batch_unref(batch);
    }
    wr_builder_add(b, WR_KIND_INSERT);
    wr_builder_free(b);
}

static void derive_and_compact(void **state) {
    (void)state;
    wr_rng rng;
    wr_rng_seed(&rng, 9);
    wr_arena *arena = wr_arena_new(NULL);
    for (int round = 0; round < 60; round++) {
        wr_type types[3];
        for (int c = 0; c < 3; c++) types[c] = kit_type(arena, &rng, 2);
        wr_batch *parent = kit_batch(&rng, types, 3, 100);
        uint8_t  *kinds = wr_mem_alloc(parent->mem, 100);
        int64_t  *wm = wr_mem_alloc(parent->mem, 800);
        uint64_t *hash = wr_mem_alloc(parent->mem, 800);
        for (uint32_t i = 0; i < 100; i++) kinds[i] = i % 4, wm[i] = i, hash[i] = i * 3;
        parent->kinds = kinds, parent->row_wm_us = wm, parent->hash = hash;
        wr_batch *derived = wr_batch_derive(parent, 3);
        uint16_t *sel = wr_mem_alloc(derived->mem, 200);
        uint32_t  n = 0;
        for (uint32_t i = 0; i < 100; i++)
            if (wr_rng_below(&rng, 3) == 0) sel[n++] = (uint16_t)i;
        derived->sel = sel, derived->n_sel = n;
        wr_batch_ref(parent);
        wr_batch_unref(parent);
        wr_batch *dense = wr_batch_compact(derived), *same = wr_batch_compact(dense);
        assert_ptr_equal(dense, same);
        assert_null(dense->sel);
        assert_int_equal(wr_batch_live(dense), wr_batch_live(derived));
        for (uint32_t i = 0; i < n; i++) {
            uint32_t row = wr_batch_row(derived, i);
            for (uint32_t c = 0; c < 3; c++) assert_true(wr_vec_equal(&dense->cols[c], i, &parent->cols[c], row));
            assert_true(dense->kinds[i] == row % 4 && dense->row_wm_us[i] == row && dense->hash[i] == row * 3);
        }
        wr_batch_unref(derived);
        wr_batch_unref(parent);
        for (uint32_t i = 0; i < n; i++)
            for (uint32_t c = 0; c < 3; c++) assert_true(wr_vec_equal(&dense->cols[c], i, &same->cols[c], i)); /* strings outlive the parent */
        wr_batch_unref(same);
        wr_batch_unref(dense);
    }
    wr_arena_free(arena);
}

static void set_copies_deeply(void **state) {
    (void)state;
    wr_rng rng;
    wr_rng_seed(&rng, 10);
    wr_arena *arena = wr_arena_new(NULL);
    for (int round = 0; round < 100; round++) {
        wr_type   type = kit_type(arena, &rng, 3);
        wr_batch *src = kit_batch(&rng, &type, 1, 30), *twin = wr_batch_new(1, 0);
        wr_mem   *mem = wr_mem_new(0);
        wr_vec    dst;
        wr_vec_init(&dst, type, 30, wr_rng_below(&rng, 2), mem);
        wr_vec_gather(&twin->cols[0], &src->cols[0], NULL, 30, twin->mem);
        wr_mem_keep(twin->mem, src->mem);
        for (uint32_t i = 0; i < 30; i++) wr_vec_set(&dst, i, &src->cols[0], 29 - i, mem);
        for (uint32_t i = 0; i < 30; i++) assert_true(wr_vec_equal(&dst, i, &twin->cols[0], 29 - i));
        wr_batch_unref(src);
        wr_batch_unref(twin);
        for (uint32_t i = 0; i < 30; i++) assert_true(wr_vec_equal(&dst, i, &dst, i)); /* nothing points into src */
        wr_value v = wr_value_from_vec(arena, &dst, 3), w = wr_value_from_vec(arena, &dst, 3);
        wr_mem_unref(mem);
        mem = wr_mem_new(0);
        wr_vec filled;
        wr_value_fill(&v, &filled, 5, mem);
        for (uint32_t i = 0; i < 5; i++) assert_true(wr_vec_equal(&filled, i, &filled, 0) && wr_vec_is_null(&filled, i) == v.null);
        assert_true(wr_value_equal(&v, &w));
        wr_mem_unref(mem);
    }
    wr_arena_free(arena);
}

static void assert_text(const wr_value *v, const wr_tz *tz, const char *want) {
    wr_sbuf out = {0};
    wr_value_text(v, tz, &out);
    assert_string_equal(out.at, want);
    wr_sbuf_free(&out);
}

static void texts_as_cast_to_string(void **state) { /* shared/flink/semantics.md, section 6 */
    (void)state;
    wr_arena    *arena = wr_arena_new(NULL);
    wr_err       err;
    const wr_tz *zurich;
    assert_int_equal(wr_tz_load(wr_world_posix(), WR_STR("Europe/Zurich"), &zurich, &err), WR_OK);
    assert_text(&(wr_value){.type = wr_type_of(WR_T_BOOLEAN), .b = true}, NULL, "TRUE");
    assert_text(&(wr_value){.type = wr_type_of(WR_T_TINYINT), .i = -7}, NULL, "-7");
    assert_text(&(wr_value){.type = wr_type_of(WR_T_DOUBLE), .f = 1e20}, NULL, "1.0E20");
    assert_text(&(wr_value){.type = wr_type_of(WR_T_FLOAT), .f = 0.5}, NULL, "0.5");
    assert_text(&(wr_value){.type = wr_type_decimal(5, 2), .d = 150}, NULL, "1.50");
    assert_text(&(wr_value){.type = wr_type_decimal(5, 2), .d = -5}, NULL, "-0.05");
    assert_text(&(wr_value){.type = wr_type_string(), .s = WR_STR("a b")}, NULL, "a b");
    assert_text(&(wr_value){.type = wr_type_of(WR_T_DATE), .i = 20454}, NULL, "2026-01-01");
    assert_text(&(wr_value){.type = wr_type_prec(WR_T_TIME, 0), .i = 3661000}, NULL, "01:01:01");
    int64_t us = 20454 * WR_US_PER_DAY + 9999000;
    assert_text(&(wr_value){.type = wr_type_prec(WR_T_TIMESTAMP, 3), .i = us}, zurich, "2026-01-01 00:00:09.999");
    assert_text(&(wr_value){.type = wr_type_prec(WR_T_TIMESTAMP_LTZ, 3), .i = us}, zurich, "2026-01-01 01:00:09.999");
    assert_text(&(wr_value){.type = wr_type_prec(WR_T_TIMESTAMP_LTZ, 9), .i = us * 1000 + 1}, zurich, "2026-01-01 01:00:09.999000001");
    assert_text(&(wr_value){.type = wr_type_prec(WR_T_TIMESTAMP_LTZ, 0), .i = us}, NULL, "2026-01-01 00:00:09");
    wr_value null = wr_value_null(wr_type_of(WR_T_INT));
    assert_text(&null, NULL, "NULL");
    wr_mem *mem = wr_mem_new(0);
    wr_type pair[] = {wr_type_of(WR_T_INT), wr_type_string()};
    wr_str  names[] = {WR_STR("i"), WR_STR("s")};
    wr_type row = {.id = WR_T_ROW, .nullable = 1, .n_kids = 2, .kids = pair, .names = names};
    wr_type map_kids[] = {wr_type_string(), wr_type_of(WR_T_INT)};
    wr_type map = {.id = WR_T_MAP, .nullable = 1, .n_kids = 2, .kids = map_kids};
    wr_type array = {.id = WR_T_ARRAY, .nullable = 1, .n_kids = 1, .kids = pair};
    wr_vec  v;
    wr_vec_init(&v, row, 1, true, mem);
    ((int32_t *)v.kids[0].data)[0] = 1;
    ((wr_sview *)v.kids[1].data)[0] = wr_sview_copy(mem, "x", 1);
    wr_sbuf out = {0};
    wr_vec_text(&v, 0, NULL, &out);
    wr_sbuf_addc(&out, ' ');
    wr_vec_init(&v, map, 1, true, mem);
    wr_vec_grow(&v.kids[0], 1, mem), wr_vec_grow(&v.kids[1], 1, mem);
    ((wr_sview *)v.kids[0].data)[0] = wr_sview_copy(mem, "a", 1);
    ((int32_t *)v.kids[1].data)[0] = 1;
    ((wr_list *)v.data)[0] = (wr_list){0, 1};
    wr_vec_text(&v, 0, NULL, &out);
    wr_sbuf_addc(&out, ' ');
    wr_vec_init(&v, array, 1, true, mem);
    wr_vec_grow(&v.kids[0], 3, mem);
    for (int i = 0; i < 3; i++) ((int32_t *)v.kids[0].data)[i] = i + 1;
    wr_vec_set_null(&v.kids[0], 2, mem);
    ((wr_list *)v.data)[0] = (wr_list){0, 3};
    wr_vec_text(&v, 0, NULL, &out);
    assert_string_equal(out.at, "(1, x) {a=1} [1, 2, NULL]");
    wr_sbuf_free(&out);
    wr_mem_unref(mem);
    wr_arena_free(arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gather_takes_the_rows_named), cmocka_unit_test(compare_is_an_order_and_hash_agrees),
        cmocka_unit_test(special_values_compare_as_sql_wants), cmocka_unit_test(hashes_are_golden), cmocka_unit_test(builder_builds),
        cmocka_unit_test(derive_and_compact), cmocka_unit_test(set_copies_deeply), cmocka_unit_test(texts_as_cast_to_string)};
    return cmocka_run_group_tests_name("type.batch", tests, NULL, NULL);
}
