/* api/pile_test.c: piles: order, equal keys as they came, with and without files, many runs. */
#include "api/pile.h"
#include "base/mem.h"
#include "base/hash.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

/* n records, keys 0..keys-1 in a scrambled order, values their number: each key's values must come back rising, keys too, and all of them. */
static void pile_of(uint32_t n, uint32_t keys, size_t pad) {
    char      dir[] = "/tmp/weir-pile-XXXXXX";
    wr_world *world = wr_world_posix();
    wr_err    err = {0};
    assert_non_null(mkdtemp(dir));
    pile    *p = pile_new(world, dir, 1 << 20);
    char    *value = wr_calloc(pad + 16, 1);
    uint32_t seen = 0, last_key = 0, last_value = 0;
    for (uint32_t i = 0; i < n; i++) {
        char key[16];
        int  len = snprintf(key, sizeof key, "%08u", (uint32_t)(wr_hash_mix(7, i) % keys));
        snprintf(value, pad + 16, "%010u", i);
        assert_int_equal(pile_add(p, (wr_str){key, (size_t)len}, (wr_str){value, pad + 11}, &err), WR_OK);
    }
    assert_int_equal(pile_count(p), n);
    assert_int_equal(pile_sort(p, &err), WR_OK);
    for (bool got = true;;) {
        wr_str k, v;
        assert_int_equal(pile_next(p, &got, &k, &v, &err), WR_OK);
        if (!got) break;
        char     text[16];
        snprintf(text, sizeof text, "%.*s", (int)k.len, k.ptr); /* the value stands right behind it */
        uint32_t key = (uint32_t)strtoul(text, NULL, 10), number = (uint32_t)strtoul(v.ptr, NULL, 10);
        assert_int_equal(v.len, pad + 11);
        if (seen) assert_true(key > last_key || (key == last_key && number > last_value));
        assert_int_equal(key, wr_hash_mix(7, number) % keys);
        last_key = key, last_value = number, seen++;
    }
    assert_int_equal(seen, n);
    pile_free(p);
    wr_free(value);
    assert_int_equal(wr_dir_remove(world, dir, &err), WR_OK);
}
static void empty(void **state) { (void)state; pile_of(0, 1, 0); }
static void in_memory(void **state) { (void)state; pile_of(1000, 10, 3); }
static void in_runs(void **state) { (void)state; pile_of(60000, 5000, 90); }
static void in_many_runs(void **state) { (void)state; pile_of(3000, 70, 40000); } /* 120 MB through a megabyte: runs are merged on the way */

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(empty), cmocka_unit_test(in_memory), cmocka_unit_test(in_runs), cmocka_unit_test(in_many_runs)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
