/* type/bitmap_test.c: sets against a plain table of bits, and bytes that RoaringBitmap 1.x (Java) wrote. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include "type/bitmap.h"

static void check_bytes(const uint32_t *values, uint32_t n, const uint8_t *want, size_t len) {
    wr_bitmap b = {0}, back = {0};
    wr_sbuf   out = {0}, again = {0};
    for (uint32_t i = 0; i < n; i++) wr_bitmap_add(&b, values[i]);
    wr_bitmap_put(&b, &out);
    assert_int_equal(out.len, len);
    assert_memory_equal(out.at, want, len);
    assert_true(wr_bitmap_get(&back, wr_sbuf_str(&out)));
    wr_bitmap_put(&back, &again);
    assert_true(wr_str_eq(wr_sbuf_str(&out), wr_sbuf_str(&again)));
    assert_int_equal(wr_bitmap_count(&back), wr_bitmap_count(&b));
    wr_bitmap_clear(&b), wr_bitmap_clear(&back);
    assert_int_equal(b.bytes, 0);
    wr_sbuf_free(&out), wr_sbuf_free(&again);
}

static void test_bytes(void **state) { /* answers of org.apache.flink.types.bitmap.Bitmap.toBytes, Flink 2.3.0 */
    (void)state;
    check_bytes(NULL, 0, (const uint8_t[]){58, 48, 0, 0, 0, 0, 0, 0}, 8);
    check_bytes((const uint32_t[]){3, 1}, 2, (const uint8_t[]){58, 48, 0, 0, 1, 0, 0, 0, 0, 0, 1, 0, 16, 0, 0, 0, 1, 0, 3, 0}, 20);
    check_bytes((const uint32_t[]){1, 2, 3}, 3, (const uint8_t[]){58, 48, 0, 0, 1, 0, 0, 0, 0, 0, 2, 0, 16, 0, 0, 0, 1, 0, 2, 0, 3, 0}, 22);
    check_bytes((const uint32_t[]){4, 3, 2, 1}, 4, (const uint8_t[]){59, 48, 0, 0, 1, 0, 0, 3, 0, 1, 0, 1, 0, 3, 0}, 15);
    check_bytes((const uint32_t[]){1, 2, 3, 70000, 70001, 70002, 70003}, 7,
                (const uint8_t[]){59, 48, 1, 0, 2, 0, 0, 2, 0, 1, 0, 3, 0, 1, 0, 2, 0, 3, 0, 1, 0, 112, 17, 3, 0}, 25);
    check_bytes((const uint32_t[]){1, 2, 3, 4, 5, 70000, 200000, 300000}, 8,
                (const uint8_t[]){59, 48, 3, 0, 1, 0, 0, 4, 0, 1, 0, 0, 0, 3, 0, 0, 0, 4, 0, 0, 0, 37, 0, 0, 0, 43, 0, 0, 0, 45, 0, 0, 0, 47, 0, 0, 0, 1, 0, 1, 0, 4, 0, 112, 17, 64, 13, 224, 147}, 49);
    uint32_t every_second[5000];
    wr_bitmap b = {0};
    wr_sbuf   out = {0};
    for (uint32_t i = 0; i < 5000; i++) wr_bitmap_add(&b, every_second[i] = i * 2);
    wr_bitmap_put(&b, &out);
    assert_int_equal(out.len, 8208);
    wr_bitmap_clear(&b);
    wr_sbuf_free(&out);
}

static void test_damaged(void **state) {
    (void)state;
    static const struct { const char *bytes; size_t len; } bad[] = {
        {"", 0}, {"\0", 1}, {"\x3a\x30\0\0\1\0\0\0", 8}, {"\x3a\x30\0\0\1\0\0\0\0\0\1\0\x10\0\0\0\3\0\1\0", 20}, {"\x3a\x30\0\0\1\0\0\0\0\0\1\0\x10\0\0\0\1\0\1\0", 20},
        {"\x3b\x30\0\0\1\0\0\3\0\1\0\xff\xff\3\0", 15}, {"\x3b\x30\0\0\1\0\0\4\0\1\0\1\0\3\0", 15}, {"\x3a\x30\0\0\xff\xff\xff\x7f", 8},
    };
    for (size_t i = 0; i < WR_COUNT_OF(bad); i++) {
        wr_bitmap b = {0};
        assert_false(wr_bitmap_get(&b, (wr_str){bad[i].bytes, bad[i].len}));
        assert_int_equal(b.n + b.cap, 0);
    }
}

enum { SPACE = 300000 };

static void check_against(const wr_bitmap *b, const uint8_t *bits) {
    uint64_t  n = 0, at = 0;
    for (uint32_t v = 0; v < SPACE; v++) n += bits[v];
    assert_int_equal(wr_bitmap_count(b), n);
    uint32_t *all = wr_malloc((n + 1) * sizeof *all);
    wr_bitmap_values(b, all);
    for (uint32_t v = 0; v < SPACE; v++)
        if (bits[v]) assert_int_equal(all[at++], v);
    wr_free(all);
    int64_t bytes = (int64_t)(b->cap * sizeof *b->box);
    for (uint32_t i = 0; i < b->n; i++) bytes += b->box[i].bits ? 8192 : b->box[i].cap * 2;
    assert_int_equal(b->bytes, bytes);
}

static void test_random(void **state) {
    (void)state;
    static uint8_t x[SPACE], y[SPACE];
    srand(5);
    for (int round = 0; round < 12; round++) {
        wr_bitmap a = {0}, b = {0}, back = {0};
        wr_sbuf   out = {0};
        memset(x, 0, sizeof x), memset(y, 0, sizeof y);
        for (int i = 0; i < (round % 3 == 0 ? 300 : 60000); i++) {
            uint32_t v = (uint32_t)(rand() % SPACE), w = (uint32_t)(rand() % (round % 2 ? SPACE : 5000));
            x[v] = 1, wr_bitmap_add(&a, v);
            y[w] = 1, wr_bitmap_add(&b, w);
        }
        wr_bitmap_op op = (wr_bitmap_op)(round % 4);
        wr_bitmap_apply(&a, op, &b);
        for (uint32_t v = 0; v < SPACE; v++) x[v] = op == WR_BITMAP_AND ? x[v] & y[v] : op == WR_BITMAP_OR ? x[v] | y[v] : op == WR_BITMAP_XOR ? x[v] ^ y[v] : x[v] & !y[v];
        check_against(&a, x);
        check_against(&b, y);
        wr_bitmap_put(&a, &out);
        assert_true(wr_bitmap_get(&back, wr_sbuf_str(&out)));
        check_against(&back, x);
        wr_bitmap_clear(&a), wr_bitmap_clear(&b), wr_bitmap_clear(&back);
        wr_sbuf_free(&out);
    }
}

static void test_text(void **state) {
    (void)state;
    wr_bitmap b = {0};
    wr_sbuf   out = {0};
    wr_bitmap_text(&b, &out);
    assert_string_equal(out.at, "{}");
    wr_sbuf_clear(&out);
    wr_bitmap_add(&b, 0xffffffffu), wr_bitmap_add(&b, 5), wr_bitmap_add(&b, 0x80000000u), wr_bitmap_add(&b, 5);
    wr_bitmap_text(&b, &out);
    assert_string_equal(out.at, "{5,2147483648,4294967295}");
    wr_bitmap_clear(&b);
    wr_sbuf_free(&out);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_bytes), cmocka_unit_test(test_damaged), cmocka_unit_test(test_random), cmocka_unit_test(test_text)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
