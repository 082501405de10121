/* type/row_set_test.c: random changes against a plain list of counts; order, NULLs, rows that come back.                */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include "base/hash.h"
#include "type/row_set.h"

static wr_batch *one(const wr_schema *schema, int64_t value, bool null, wr_kind kind) {
    wr_builder *b = wr_builder_new(schema, 4);
    uint32_t    row = wr_builder_add(b, kind);
    if (null) wr_vec_set_null(wr_builder_col(b, 0), row, wr_builder_mem(b));
    else {
        ((int64_t *)wr_builder_col(b, 0)->data)[row] = value;
        wr_valid_set(wr_builder_col(b, 0)->valid, row, true);
    }
    wr_batch *batch = wr_builder_take(b);
    wr_builder_free(b);
    return batch;
}

static void change(wr_row_set *set, const wr_schema *schema, int64_t value, bool null, wr_kind kind) {
    wr_batch *b = one(schema, value, null, kind);
    wr_row_set_change(set, b);
    wr_batch_unref(b);
}

/* "3 1 NULL": the rows in order. */
static void expect(wr_row_set *set, uint64_t most, const char *want) {
    wr_sbuf   out = {0};
    wr_row_at at = {0};
    uint64_t  n = 0;
    for (wr_batch *b; (b = wr_row_set_next(set, &at, most));) {
        for (uint32_t i = 0; i < b->n_rows; i++) {
            if (n++) wr_sbuf_addc(&out, ' ');
            wr_vec_text(&b->cols[0], i, NULL, &out);
        }
        wr_batch_unref(b);
    }
    wr_sbuf_addc(&out, '\0');
    assert_string_equal(out.at, want);
    assert_int_equal(n, wr_row_set_rows(set));
    wr_sbuf_free(&out);
}

static const wr_field  FIELDS[] = {{.name = {"n", 1}, .type = {.id = WR_T_BIGINT, .nullable = true}}};
static const wr_schema SCHEMA = {1, (wr_field *)(uintptr_t)FIELDS};

static void order(void **state) {
    (void)state;
    wr_row_set *set = wr_row_set_new(&SCHEMA, NULL);
    expect(set, 9, "");
    change(set, &SCHEMA, 3, false, WR_KIND_INSERT);
    change(set, &SCHEMA, 1, false, WR_KIND_INSERT);
    change(set, &SCHEMA, 0, true, WR_KIND_INSERT);
    change(set, &SCHEMA, 3, false, WR_KIND_UPDATE_AFTER);
    expect(set, 9, "3 3 1 NULL");
    expect(set, 1, "3 3 1 NULL"); /* one row a batch, two copies of one */
    wr_row_set_sort(set, &(wr_row_key){.col = 0}, 1);
    expect(set, 9, "NULL 1 3 3");
    wr_row_set_sort(set, &(wr_row_key){.col = 0, .desc = true}, 1);
    expect(set, 2, "NULL 3 3 1"); /* nulls_last not said */
    wr_row_set_sort(set, &(wr_row_key){.col = 0, .desc = true, .nulls_last = true}, 1);
    expect(set, 9, "3 3 1 NULL");
    change(set, &SCHEMA, 1, false, WR_KIND_DELETE); /* found after the sorting */
    change(set, &SCHEMA, 3, false, WR_KIND_UPDATE_BEFORE);
    expect(set, 9, "3 NULL");
    change(set, &SCHEMA, 1, false, WR_KIND_INSERT);
    expect(set, 9, "3 NULL 1"); /* it comes back at the end */
    wr_row_set_free(set);
}

static void retraction_first(void **state) {
    (void)state;
    wr_row_set *set = wr_row_set_new(&SCHEMA, NULL);
    change(set, &SCHEMA, 5, false, WR_KIND_DELETE);
    expect(set, 9, "");
    change(set, &SCHEMA, 6, false, WR_KIND_INSERT);
    expect(set, 9, "6");
    change(set, &SCHEMA, 5, false, WR_KIND_INSERT);
    expect(set, 9, "6");
    change(set, &SCHEMA, 5, false, WR_KIND_INSERT);
    expect(set, 9, "6 5");
    wr_row_set_free(set);
}

enum { VALUES = 1500, ROUNDS = 60000 };

static void random_changes(void **state) {
    (void)state;
    static int32_t counts[VALUES];
    wr_rng     rng;
    wr_account acct;
    wr_account_init(&acct, NULL, "test", 0);
    wr_row_set *set = wr_row_set_new(&SCHEMA, &acct);
    wr_rng_seed(&rng, 7);
    for (int i = 0; i < ROUNDS; i++) {
        uint32_t v = (uint32_t)wr_rng_below(&rng, VALUES);
        bool     add = counts[v] <= 0 || wr_rng_below(&rng, 2);
        if (!add && wr_rng_below(&rng, 40) == 0) add = true;
        counts[v] += add ? 1 : -1;
        change(set, &SCHEMA, v, false, add ? WR_KIND_INSERT : WR_KIND_DELETE);
    }
    wr_row_set_sort(set, &(wr_row_key){.col = 0}, 1);
    wr_row_at at = {0};
    uint32_t  v = 0;
    for (wr_batch *b; (b = wr_row_set_next(set, &at, 100));) {
        for (uint32_t i = 0; i < b->n_rows; i++) {
            while (v < VALUES && counts[v] <= 0) v++;
            assert_int_equal(((const int64_t *)b->cols[0].data)[i], v);
            counts[v]--;
        }
        wr_batch_unref(b);
    }
    while (v < VALUES && counts[v] <= 0) v++;
    assert_int_equal(v, VALUES);
    assert_true(wr_account_bytes(&acct) > 0);
    wr_row_set_free(set);
    assert_int_equal(wr_account_bytes(&acct), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(order), cmocka_unit_test(retraction_first), cmocka_unit_test(random_changes)};
    return cmocka_run_group_tests_name("row_set", tests, NULL, NULL);
}
