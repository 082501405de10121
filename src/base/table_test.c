/* base/table_test.c: random inserts, finds and removals against a plain array as model; bad hashes; batches.            */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include "base/hash.h"

struct pair_row {
    uint64_t hash;
    uint32_t key, value;
};
#define WR_TABLE_NAME pairs
#define WR_TABLE_ROW struct pair_row
#define WR_TABLE_KEY uint32_t
#define WR_TABLE_EQUAL(row, wanted) ((row)->key == *(wanted))
#include "base/table.h"

enum { KEYS = 3000 };

/* kind 0: a good hash; 1: few values, so long runs that wrap around; 2: all equal */
static uint64_t hash_of(uint32_t key, int kind) {
    return kind == 0 ? wr_hash_u64(key) : kind == 1 ? wr_hash_u64(key % 7) : UINT64_MAX;
}

static void check_all(const pairs *t, const uint32_t *model, int kind) {
    uint64_t n = 0, cursor = 0, seen = 0;
    for (uint32_t key = 0; key < KEYS; key++) {
        struct pair_row *row = pairs_find(t, hash_of(key, kind), &key);
        assert_true((row != NULL) == (model[key] != 0));
        if (row) assert_true(row->key == key && row->value == model[key] && row->hash == hash_of(key, kind)), n++;
    }
    assert_int_equal(t->n, n);
    for (struct pair_row *row; (row = pairs_each(t, &cursor));) seen++, assert_true(model[row->key] == row->value);
    assert_int_equal(seen, n);
}

static void behaves_as_the_model(void **state) {
    (void)state;
    static uint32_t model[KEYS];
    for (int kind = 0; kind < 3; kind++) {
        pairs  t = {0};
        wr_rng rng;
        wr_rng_seed(&rng, 77 + (uint64_t)kind);
        memset(model, 0, sizeof model);
        uint32_t range = kind == 0 ? KEYS : 200;
        assert_null(pairs_find(&t, 1, &(uint32_t){1}));
        for (int step = 0; step < 30000; step++) {
            uint32_t key = (uint32_t)wr_rng_below(&rng, range);
            bool     grow = step / 5000 % 2 == 0;
            if (wr_rng_below(&rng, 10) < (grow ? 8 : 3)) {
                bool             is_new;
                struct pair_row *row = pairs_insert(&t, hash_of(key, kind), &key, &is_new);
                assert_true(is_new == !model[key]);
                if (is_new) assert_true(row->key == 0 && row->value == 0);
                row->key = key;
                row->value = model[key] = (uint32_t)step + 1;
            } else {
                struct pair_row *row = pairs_find(&t, hash_of(key, kind), &key);
                if (row) pairs_remove(&t, row);
                model[key] = 0;
            }
            if (step % 3000 == 0) check_all(&t, model, kind);
            assert_true(t.n * 10 <= t.n_slots * 7);
        }
        check_all(&t, model, kind);
        uint64_t cursor = 0;
        for (struct pair_row *row; cursor = 0, (row = pairs_each(&t, &cursor));) pairs_remove(&t, row);
        assert_int_equal(t.n, 0);
        for (uint64_t i = 0; i < t.n_slots; i++) assert_int_equal(t.slots[i], 0);
        assert_true(pairs_bytes(&t) >= t.n_slots * 8);
        pairs_free(&t);
    }
}

static void batches_and_reserve(void **state) {
    (void)state;
    pairs            t = {0};
    static uint32_t  keys[1000];
    static uint64_t  hash[1000];
    struct pair_row *rows[1000];
    for (uint32_t i = 0; i < 1000; i++) keys[i] = i * 3, hash[i] = wr_hash_u64(keys[i]);
    pairs_find_batch(&t, hash, keys, 1000, rows);
    for (int i = 0; i < 1000; i++) assert_null(rows[i]);
    pairs_reserve(&t, 500);
    const uint64_t *slots = t.slots;
    const struct pair_row *slab = t.rows;
    for (uint32_t i = 0; i < 1000; i += 2) {
        bool is_new;
        pairs_insert(&t, hash[i], &keys[i], &is_new)->key = keys[i];
    }
    assert_true(t.slots == slots && t.rows == slab); /* nothing grew */
    pairs_find_batch(&t, hash, keys, 1000, rows);
    for (int i = 0; i < 1000; i++) {
        assert_true((rows[i] != NULL) == (i % 2 == 0));
        if (rows[i]) assert_int_equal(rows[i]->key, keys[i]);
    }
    pairs_free(&t);
    assert_int_equal(pairs_bytes(&t), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(behaves_as_the_model), cmocka_unit_test(batches_and_reserve)};
    return cmocka_run_group_tests_name("base.table", tests, NULL, NULL);
}
