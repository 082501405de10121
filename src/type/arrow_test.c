/* type/arrow_test.c: export and import agree; fixed buffers are not copied; arrays outlive batches; wrong ones are refused. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include "type/arrow.h"
#include "type/testkit.h"

static void there_and_back(void **state) {
    (void)state;
    wr_rng rng;
    wr_rng_seed(&rng, 21);
    for (int round = 0; round < 300; round++) {
        wr_arena *arena = wr_arena_new(NULL);
        wr_type   types[3];
        wr_field  fields[3];
        for (int c = 0; c < 3; c++) {
            types[c] = kit_type(arena, &rng, 3);
            if (types[c].id == WR_T_DECIMAL) types[c] = wr_type_decimal(38, 4);
            fields[c] = (wr_field){wr_str_of(wr_arena_printf(arena, "c%d", c)), types[c]};
        }
        wr_schema schema = {3, fields};
        uint32_t  n = (uint32_t)wr_rng_below(&rng, 80), m = 0;
        wr_batch *batch = kit_batch(&rng, types, 3, n), *back;
        uint8_t  *kinds = wr_mem_alloc(batch->mem, n + 1);
        uint16_t *sel = wr_mem_alloc(batch->mem, 2 * n + 2);
        for (uint32_t i = 0; i < n; i++) kinds[i] = (uint8_t)wr_rng_below(&rng, 4);
        for (uint32_t i = 0; i < n; i++)
            if (wr_rng_below(&rng, 2)) sel[m++] = (uint16_t)i;
        batch->kinds = wr_rng_below(&rng, 2) ? kinds : NULL;
        if (wr_rng_below(&rng, 2)) batch->sel = sel, batch->n_sel = m;
        struct ArrowSchema out_schema;
        struct ArrowArray  out;
        wr_err             err;
        wr_arrow_export_schema(&schema, true, &out_schema);
        wr_arrow_export(batch, &schema, true, &out);
        wr_batch *live = wr_batch_compact(batch);
        wr_batch_unref(batch); /* the array keeps what it needs */
        assert_int_equal(wr_arrow_import(&out_schema, &out, &schema, &back, &err), WR_OK);
        assert_int_equal(back->n_rows, live->n_rows);
        for (uint32_t i = 0; i < live->n_rows; i++) {
            assert_int_equal(wr_batch_kind(back, i), wr_batch_kind(live, i));
            for (int c = 0; c < 3; c++) assert_true(wr_vec_equal(&back->cols[c], i, &live->cols[c], i));
        }
        if (out.length > 10) { /* a slice, as consumers make them */
            wr_batch *slice;
            out.offset = 5;
            out.length -= 7;
            assert_int_equal(wr_arrow_import(&out_schema, &out, &schema, &slice, &err), WR_OK);
            for (uint32_t i = 0; i < slice->n_rows; i++)
                for (int c = 0; c < 3; c++) assert_true(wr_vec_equal(&slice->cols[c], i, &live->cols[c], i + 5));
            wr_batch_unref(slice);
        }
        out.release(&out);
        out_schema.release(&out_schema);
        assert_true(!out.release && !out_schema.release);
        for (uint32_t i = 0; i < live->n_rows; i++)
            for (int c = 0; c < 3; c++) assert_true(wr_vec_equal(&back->cols[c], i, &live->cols[c], i)); /* import copies */
        wr_batch_unref(live);
        wr_batch_unref(back);
        wr_arena_free(arena);
    }
}

static void fixed_buffers_are_shared(void **state) {
    (void)state;
    wr_field  fields[] = {{WR_STR("i"), wr_type_not_null(wr_type_of(WR_T_BIGINT))}, {WR_STR("s"), wr_type_string()}, {WR_STR("t"), wr_type_prec(WR_T_TIMESTAMP_LTZ, 3)}};
    wr_schema schema = {3, fields};
    wr_type   types[] = {fields[0].type, fields[1].type, fields[2].type};
    wr_rng    rng;
    wr_rng_seed(&rng, 5);
    wr_batch *batch = kit_batch(&rng, types, 3, 50);
    struct ArrowSchema s;
    struct ArrowArray  a;
    wr_arrow_export_schema(&schema, false, &s);
    wr_arrow_export(batch, &schema, false, &a);
    assert_int_equal(a.n_children, 3);
    assert_ptr_equal(a.children[0]->buffers[1], batch->cols[0].data);
    assert_string_equal(s.format, "+s");
    assert_string_equal(s.children[0]->format, "l");
    assert_string_equal(s.children[1]->format, "u");
    assert_string_equal(s.children[2]->format, "tsu:UTC");
    assert_string_equal(s.children[1]->name, "s");
    assert_true(s.children[0]->flags == 0 && s.children[1]->flags == 2);
    struct ArrowArray moved = *a.children[1]; /* a consumer may move a child away */
    a.children[1]->release = NULL;
    a.release(&a);
    wr_batch_unref(batch);
    assert_true(((const int32_t *)moved.buffers[1])[0] == 0);
    moved.release(&moved);
    s.release(&s);
}

static void wrong_arrays_are_refused(void **state) {
    (void)state;
    wr_field  ints[] = {{WR_STR("i"), wr_type_of(WR_T_INT)}}, strings[] = {{WR_STR("i"), wr_type_string()}}, strict[] = {{WR_STR("i"), wr_type_not_null(wr_type_of(WR_T_INT))}};
    wr_schema int_schema = {1, ints}, string_schema = {1, strings}, strict_schema = {1, strict};
    wr_batch *batch = wr_batch_new(1, 0), *back;
    wr_err    err;
    batch->n_rows = 3;
    wr_vec_init(&batch->cols[0], ints[0].type, 3, true, batch->mem);
    memset(batch->cols[0].data, 0, 12);
    wr_vec_set_null(&batch->cols[0], 1, batch->mem);
    struct ArrowSchema s;
    struct ArrowArray  a;
    wr_arrow_export_schema(&int_schema, false, &s);
    wr_arrow_export(batch, &int_schema, false, &a);
    assert_int_equal(wr_arrow_import(&s, &a, &string_schema, &back, &err), WR_USER);
    assert_string_equal(err.message, "column 'i' is STRING, but the Arrow format given is 'i'");
    assert_int_equal(wr_arrow_import(&s, &a, &strict_schema, &back, &err), WR_DATA);
    a.length = 5000;
    assert_int_equal(wr_arrow_import(&s, &a, &int_schema, &back, &err), WR_LIMIT);
    a.length = 4;
    assert_int_equal(wr_arrow_import(&s, &a, &int_schema, &back, &err), WR_DATA);
    a.length = 3;
    wr_schema none = {0, ints};
    assert_int_equal(wr_arrow_import(&s, &a, &none, &back, &err), WR_USER);
    assert_null(back);
    a.release(&a);
    s.release(&s);
    wr_arrow_export_schema(&string_schema, false, &s);
    wr_batch_unref(batch);
    batch = wr_batch_new(1, 0);
    batch->n_rows = 2;
    wr_vec_init(&batch->cols[0], strings[0].type, 2, false, batch->mem);
    ((wr_sview *)batch->cols[0].data)[0] = wr_sview_copy(batch->mem, "\xC3(", 2);
    wr_arrow_export(batch, &string_schema, false, &a);
    assert_int_equal(wr_arrow_import(&s, &a, &string_schema, &back, &err), WR_DATA);
    ((int32_t *)(uintptr_t)a.children[0]->buffers[1])[1] = -4;
    assert_int_equal(wr_arrow_import(&s, &a, &string_schema, &back, &err), WR_DATA);
    a.release(&a);
    s.release(&s);
    wr_batch_unref(batch);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(there_and_back), cmocka_unit_test(fixed_buffers_are_shared),
                                       cmocka_unit_test(wrong_arrays_are_refused)};
    return cmocka_run_group_tests_name("type.arrow", tests, NULL, NULL);
}
