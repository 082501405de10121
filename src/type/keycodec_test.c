/* type/keycodec_test.c: bytes sort as values do, for random values of all types.                                                 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include "type/keycodec.h"
#include "type/testkit.h"

static bool has_map(wr_type t) {
    if (t.id == WR_T_MAP || t.id == WR_T_MULTISET) return true;
    for (uint32_t i = 0; i < t.n_kids; i++)
        if (has_map(t.kids[i])) return true;
    return false;
}

static int sign(int x) { return (x > 0) - (x < 0); }

static void order(void **state) {
    (void)state;
    wr_rng rng;
    wr_rng_seed(&rng, 7);
    for (int round = 0; round < 300; round++) {
        wr_arena *arena = wr_arena_new(NULL);
        wr_type   t = kit_type(arena, &rng, 2);
        wr_mem   *mem = wr_mem_new(1024);
        wr_vec    vec;
        wr_vec_init(&vec, t, 12, true, mem);
        for (uint32_t i = 0; i < 12; i++) kit_random(&rng, &vec, i, mem);
        for (uint32_t a = 0; a < 12; a++)
            for (uint32_t b = 0; b < 12; b++) {
                wr_sbuf x = {0}, y = {0};
                wr_keycodec_put(&vec, a, &x), wr_keycodec_put(&vec, b, &y);
                int got = sign(wr_str_cmp(wr_sbuf_str(&x), wr_sbuf_str(&y)));
                if (has_map(t)) assert_int_equal(got == 0, wr_vec_equal(&vec, a, &vec, b));
                else assert_int_equal(got, sign(wr_vec_compare(&vec, a, &vec, b)));
                wr_sbuf_free(&x), wr_sbuf_free(&y);
            }
        wr_mem_unref(mem);
        wr_arena_free(arena);
    }
}

static void behind(void **state) {
    (void)state;
    wr_sbuf b = {0};
    wr_sbuf_add(&b, "a\377\377", 3);
    assert_true(wr_keycodec_behind(&b));
    assert_int_equal(b.len, 1);
    assert_string_equal(b.at, "b");
    wr_sbuf_clear(&b);
    wr_sbuf_add(&b, "\377", 1);
    assert_false(wr_keycodec_behind(&b));
    wr_sbuf_free(&b);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(order), cmocka_unit_test(behind)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
