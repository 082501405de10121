/* state/kmap_test.c: the keyed map against a plain array of the same keys, timers against sorting, HyperLogLog against true counts. */
#include "base/hash.h"
#include "state/state.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

typedef struct fix { wr_account acct; wr_kmap *map; } fix;
static void fix_open(fix *f, const wr_type *types, uint32_t n, uint32_t value_bytes) {
    wr_account_init(&f->acct, NULL, "t", 0);
    f->map = wr_kmap_new(&(wr_kmap_opts){.name = "test", .key_types = types, .n_key_types = n, .value_bytes = value_bytes, .acct = &f->acct});
}
static void find_ok(wr_kmap *map, const wr_batch *batch, const uint32_t *cols, const uint64_t *hash, bool create, uint32_t *slots, uint8_t *created) {
    assert_int_equal(wr_kmap_find(map, batch, cols, hash, create, slots, created, NULL), WR_OK);
}
static uint32_t like_ok(wr_kmap *map, const wr_kmap *from, uint32_t slot, bool create, bool *created) {
    uint32_t out = WR_SLOT_NONE;
    assert_int_equal(wr_kmap_find_like(map, from, slot, create, &out, created, NULL), WR_OK);
    return out;
}
static uint32_t one_ok(wr_kmap *map, wr_str key, uint64_t hash, bool create, bool *created) {
    uint32_t out = WR_SLOT_NONE;
    assert_int_equal(wr_kmap_find_one(map, key, hash, create, &out, created, NULL), WR_OK);
    return out;
}
static void fix_close(fix *f) {
    assert_int_equal(wr_account_bytes(&f->acct) >= wr_kmap_bytes(f->map), 1);
    wr_kmap_free(f->map);
    assert_int_equal(wr_account_bytes(&f->acct), 0);
}
static wr_batch *int_batch(wr_type type, const int64_t *keys, uint32_t n, int64_t null_key) {
    wr_batch *b = wr_batch_new(1, 1024);
    wr_vec_init(&b->cols[0], type, n, true, b->mem);
    b->n_rows = n;
    for (uint32_t i = 0; i < n; i++) {
        if (type.id == WR_T_BIGINT) ((int64_t *)b->cols[0].data)[i] = keys[i];
        else if (type.id == WR_T_INT) ((int32_t *)b->cols[0].data)[i] = (int32_t)keys[i];
        else {
            char text[40];
            int  len = snprintf(text, sizeof text, keys[i] % 3 ? "k%lld" : "a-long-key-number-%lld-padded", (long long)keys[i]);
            ((wr_sview *)b->cols[0].data)[i] = wr_sview_copy(b->mem, text, (size_t)len);
        }
        if (keys[i] == null_key) wr_valid_set(b->cols[0].valid, i, false);
    }
    uint64_t *hash = wr_mem_alloc(b->mem, n * sizeof *hash);
    wr_batch_hash(b, (uint32_t[]){0}, 1, hash);
    b->hash = hash;
    return b;
}

enum { KEYS = 5000 };
/* Random finds, creates and removes on [0, KEYS); value = how often it was seen since the last removal. */
static void random_ops(wr_type type, uint64_t seed) {
    fix f;
    fix_open(&f, &type, 1, 8);
    int64_t *seen = calloc(KEYS, sizeof *seen);
    wr_rng   rng;
    wr_rng_seed(&rng, seed);
    for (int round = 0; round < 60; round++) {
        int64_t  keys[777];
        uint32_t slots[777], n = 1 + (uint32_t)wr_rng_below(&rng, 777), range = round < 20 ? 50 : KEYS;
        uint8_t  created[777];
        for (uint32_t i = 0; i < n; i++) keys[i] = (int64_t)wr_rng_below(&rng, range);
        wr_batch *b = int_batch(type, keys, n, 7);
        bool create = wr_rng_below(&rng, 4) != 0;
        find_ok(f.map, b, (uint32_t[]){0}, b->hash, create, slots, created);
        for (uint32_t i = 0; i < n; i++) {
            if (!create) {
                assert_int_equal(slots[i] != WR_SLOT_NONE, seen[keys[i]] > 0);
                continue;
            }
            assert_int_equal(created[i], seen[keys[i]] == 0);
            int64_t *value = wr_kmap_value(f.map, slots[i]);
            assert_int_equal(*value, seen[keys[i]]);
            ++*value, ++seen[keys[i]];
            assert_true(wr_kmap_hash(f.map, slots[i]) == b->hash[i]);
        }
        for (uint32_t i = 0; i < n && create; i += 1 + (uint32_t)wr_rng_below(&rng, 5)) {
            if (!seen[keys[i]]) continue;
            wr_kmap_remove(f.map, slots[i]);
            seen[keys[i]] = 0;
        }
        uint32_t live = 0, walked = 0;
        for (int k = 0; k < KEYS; k++) live += seen[k] > 0;
        for (uint32_t s = wr_kmap_next(f.map, WR_SLOT_NONE); s != WR_SLOT_NONE; s = wr_kmap_next(f.map, s)) walked++;
        assert_int_equal(wr_kmap_count(f.map), live);
        assert_int_equal(walked, live);
        wr_batch_unref(b);
    }
    free(seen);
    fix_close(&f);
}
static void test_random(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed < 6; seed++) {
        random_ops(wr_type_of(WR_T_BIGINT), seed);
        random_ops(wr_type_of(WR_T_INT), seed);
        random_ops(wr_type_string(), seed);
    }
}

static void test_keys_come_back(void **state) {
    (void)state;
    const wr_tid ids[] = {WR_T_BIGINT, WR_T_INT, WR_T_VARCHAR};
    for (int t = 0; t < 3; t++) {
        wr_type type = ids[t] == WR_T_VARCHAR ? wr_type_string() : wr_type_of(ids[t]);
        fix     f, g;
        fix_open(&f, &type, 1, 16);
        fix_open(&g, &type, 1, 16);
        int64_t keys[300];
        for (int i = 0; i < 300; i++) keys[i] = i - 150;
        uint32_t  slots[300];
        wr_batch *b = int_batch(type, keys, 300, 4);
        find_ok(f.map, b, NULL, b->hash, true, slots, NULL);
        wr_vec back;
        wr_vec_init(&back, type, 300, true, b->mem);
        for (uint32_t i = 0; i < 300; i++) {
            bool created;
            wr_kmap_key_get(f.map, slots[i], &back, i, b->mem);
            uint32_t other = like_ok(g.map, f.map, slots[i], true, &created);
            assert_true(created);
            assert_int_equal(like_ok(f.map, g.map, other, false, NULL), slots[i]);
            assert_true(wr_vec_equal(&back, i, &b->cols[0], i));
        }
        void *values[300];
        wr_kmap_values(f.map, slots, 300, values);
        assert_ptr_equal(values[17], wr_kmap_value(f.map, slots[17]));
        wr_batch_unref(b);
        fix_close(&f);
        fix_close(&g);
    }
}

static void add_value(wr_kmap *map, uint32_t slot, int64_t v) { *(int64_t *)wr_kmap_value(map, slot) = v; }

/* An image split over three ranges of key groups gives every key to exactly one of them, with its value. */
static void test_save_load_split(void **state) {
    (void)state;
    const wr_type shapes[3][2] = {{wr_type_of(WR_T_BIGINT)}, {wr_type_string()}, {wr_type_string(), wr_type_of(WR_T_INT)}};
    for (int t = 0; t < 3; t++) {
        uint32_t n_types = t == 2 ? 2 : 1;
        fix      f, part[3];
        fix_open(&f, shapes[t], n_types, 8);
        int64_t keys[500];
        for (int i = 0; i < 500; i++) keys[i] = i;
        wr_batch *b = int_batch(shapes[t][0], keys, 500, 3);
        if (n_types == 2) {
            wr_vec *cols = wr_mem_calloc(b->mem, 2 * sizeof *cols);
            cols[0] = b->cols[0];
            wr_vec_init(&cols[1], shapes[t][1], 500, true, b->mem);
            for (int i = 0; i < 500; i++) ((int32_t *)cols[1].data)[i] = i % 5;
            b->cols = cols, b->n_cols = 2;
        }
        uint64_t hash[500];
        uint32_t slots[500], cols[2] = {0, 1};
        wr_batch_hash(b, cols, n_types, hash);
        find_ok(f.map, b, cols, hash, true, slots, NULL);
        for (uint32_t i = 0; i < 500; i++) add_value(f.map, slots[i], i * 10);
        wr_sbuf image = {0};
        assert_int_equal(wr_kmap_save(f.map, &image, NULL), WR_OK);
        const uint32_t cut[4] = {0, 40, 90, WR_KEY_GROUPS_DEFAULT};
        uint32_t sum = 0;
        for (int p = 0; p < 3; p++) {
            fix_open(&part[p], shapes[t], n_types, 8);
            wr_reader in = {(uint8_t *)image.at, (uint8_t *)image.at + image.len, false};
            wr_err err;
            assert_int_equal(wr_kmap_load(part[p].map, &in, WR_KEY_GROUPS_DEFAULT, cut[p], cut[p + 1], &err), WR_OK);
            sum += wr_kmap_count(part[p].map);
        }
        assert_int_equal(sum, 500);
        for (uint32_t i = 0; i < 500; i++) {
            uint32_t group = wr_key_group(hash[i], WR_KEY_GROUPS_DEFAULT);
            int p = group < 40 ? 0 : group < 90 ? 1 : 2;
            uint32_t slot = like_ok(part[p].map, f.map, slots[i], false, NULL);
            assert_true(slot != WR_SLOT_NONE);
            assert_int_equal(*(int64_t *)wr_kmap_value(part[p].map, slot), i * 10);
            assert_int_equal(one_ok(part[p].map, wr_kmap_key(f.map, slots[i]), hash[i], false, NULL), slot);
        }
        /* Damage is an error, never a crash. */
        wr_err err;
        for (size_t len = 0; len < image.len; len += 97) {
            fix d;
            fix_open(&d, shapes[t], n_types, 8);
            wr_reader in = {(uint8_t *)image.at, (uint8_t *)image.at + len, false};
            assert_int_equal(wr_kmap_load(d.map, &in, WR_KEY_GROUPS_DEFAULT, 0, WR_KEY_GROUPS_DEFAULT, &err), WR_CORRUPT);
            fix_close(&d);
        }
        for (int p = 0; p < 3; p++) fix_close(&part[p]);
        wr_sbuf_free(&image);
        wr_batch_unref(b);
        fix_close(&f);
    }
}

static void test_global(void **state) {
    (void)state;
    fix f;
    fix_open(&f, NULL, 0, 8);
    int64_t   keys[10] = {0};
    uint32_t  slots[10];
    uint8_t   created[10];
    wr_batch *b = int_batch(wr_type_of(WR_T_BIGINT), keys, 10, -1);
    find_ok(f.map, b, NULL, NULL, false, slots, NULL);
    assert_int_equal(slots[9], WR_SLOT_NONE);
    find_ok(f.map, b, NULL, NULL, true, slots, created);
    assert_int_equal(created[0] + created[1] + created[9], 1);
    assert_int_equal(wr_key_group(wr_kmap_hash(f.map, slots[0]), 128), 0);
    assert_int_equal(wr_kmap_count(f.map), 1);
    wr_kmap_remove(f.map, slots[0]);
    assert_int_equal(wr_kmap_count(f.map), 0);
    wr_batch_unref(b);
    fix_close(&f);
}

/* The bill's arithmetic against what the account says. */
static void test_entry_bytes(void **state) {
    (void)state;
    wr_type type = wr_type_of(WR_T_BIGINT);
    double  sum = 0, n = 0;
    fix     f;
    fix_open(&f, &type, 1, 32);
    int64_t keys[1000];
    for (int64_t k = 0; k < 60000; k += 1000) {
        for (int i = 0; i < 1000; i++) keys[i] = k + i;
        uint32_t  slots[1000];
        wr_batch *b = int_batch(type, keys, 1000, -1);
        find_ok(f.map, b, NULL, b->hash, true, slots, NULL);
        wr_batch_unref(b);
        if (k >= 10000) sum += (double)wr_kmap_bytes(f.map) / (double)(k + 1000), n++;
    }
    double predicted = wr_kmap_entry_bytes(32, 9), actual = sum / n;
    assert_true(predicted > actual * 0.85 && predicted < actual * 1.15);
    fix_close(&f);
}

static void test_timers(void **state) {
    (void)state;
    wr_account acct;
    wr_account_init(&acct, NULL, "t", 0);
    wr_timers *t = wr_timers_new(&acct);
    wr_rng     rng;
    wr_rng_seed(&rng, 5);
    assert_true(wr_timers_first(t) == WR_TIME_MAX);
    for (uint32_t i = 0; i < 3000; i++) wr_timers_add(t, (int64_t)wr_rng_below(&rng, 100), i);
    int64_t  last = -1, deadline;
    uint64_t last_payload = 0, payload;
    uint32_t n = 0;
    assert_int_equal(wr_timers_count(t), 3000);
    for (int64_t now = 0; now < 200; now += 7)
        while (wr_timers_pop(t, now, &deadline, &payload)) {
            assert_true(deadline <= now && deadline >= last);
            if (deadline == last) assert_true(payload > last_payload);
            last = deadline, last_payload = payload, n++;
        }
    assert_int_equal(n, 3000);
    wr_timers_free(t);
    assert_int_equal(wr_account_bytes(&acct), 0);
}

static void test_hll(void **state) {
    (void)state;
    const uint32_t sizes[] = {1, 100, 5000, 20000, 300000};
    for (size_t k = 0; k < WR_COUNT_OF(sizes); k++) {
        static wr_hll a, b;
        memset(&a, 0, sizeof a), memset(&b, 0, sizeof b);
        for (uint32_t i = 0; i < sizes[k]; i++) wr_hll_add(i % 2 ? &a : &b, wr_hash_u64(i)), wr_hll_add(&a, wr_hash_u64(i / 2));
        wr_hll_merge(&a, &b);
        double error = wr_hll_count(&a) / sizes[k] - 1;
        assert_true(error > -0.06 && error < 0.06);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random), cmocka_unit_test(test_keys_come_back), cmocka_unit_test(test_global),
        cmocka_unit_test(test_entry_bytes), cmocka_unit_test(test_timers), cmocka_unit_test(test_hll), cmocka_unit_test(test_save_load_split),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
