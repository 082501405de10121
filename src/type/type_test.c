/* type/type_test.c: texts as Flink's, least common types, binary form with damage.                                     */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include "type/testkit.h"

static void assert_text(wr_type t, const char *want) {
    wr_sbuf out = {0};
    wr_type_text(t, &out);
    assert_string_equal(out.at, want);
    wr_sbuf_free(&out);
}

static void texts(void **state) {
    (void)state;
    assert_text(wr_type_decimal(10, 2), "DECIMAL(10, 2)");
    assert_text(wr_type_not_null(wr_type_of(WR_T_INT)), "INT NOT NULL");
    assert_text(wr_type_string(), "STRING");
    assert_text(wr_type_prec(WR_T_VARCHAR, 5), "VARCHAR(5)");
    assert_text(wr_type_prec(WR_T_VARBINARY, WR_LENGTH_MAX), "BYTES");
    wr_type ts = wr_type_prec(WR_T_TIMESTAMP, 3);
    ts.attr = WR_TIME_ROWTIME;
    assert_text(ts, "TIMESTAMP(3) *ROWTIME*");
    ts = wr_type_not_null(wr_type_prec(WR_T_TIMESTAMP_LTZ, 3));
    ts.attr = WR_TIME_PROCTIME;
    assert_text(ts, "TIMESTAMP_LTZ(3) NOT NULL *PROCTIME*");
    wr_type kids[] = {wr_type_of(WR_T_INT), wr_type_not_null(wr_type_string())};
    wr_str  names[] = {WR_STR("a"), WR_STR("b`c")};
    wr_type row = {.id = WR_T_ROW, .n_kids = 2, .kids = kids, .names = names};
    assert_text(row, "ROW<`a` INT, `b``c` STRING NOT NULL> NOT NULL");
    assert_text((wr_type){.id = WR_T_MAP, .nullable = 1, .n_kids = 2, .kids = kids}, "MAP<INT, STRING NOT NULL>");
    assert_text((wr_type){.id = WR_T_ARRAY, .nullable = 1, .n_kids = 1, .kids = kids}, "ARRAY<INT>");
    assert_text(wr_type_of(WR_T_INTERVAL_YM), "INTERVAL YEAR TO MONTH");
}

static void assert_common(wr_type a, wr_type b, const char *want) {
    wr_type t, u;
    if (!want) {
        assert_false(wr_type_common(a, b, &t) || wr_type_common(b, a, &t));
        return;
    }
    assert_true(wr_type_common(a, b, &t));
    assert_true(wr_type_common(b, a, &u));
    assert_text(t, want);
    assert_text(u, want);
}

static void common_types(void **state) {
    (void)state;
    wr_type i = wr_type_of(WR_T_INT), big = wr_type_of(WR_T_BIGINT), f = wr_type_of(WR_T_FLOAT), d = wr_type_of(WR_T_DOUBLE), s = wr_type_string();
    assert_common(i, big, "BIGINT");
    assert_common(i, wr_type_of(WR_T_TINYINT), "INT");
    assert_common(i, f, "FLOAT");
    assert_common(d, f, "DOUBLE");
    assert_common(f, wr_type_decimal(5, 2), "DOUBLE");
    assert_common(i, wr_type_decimal(5, 2), "DECIMAL(12, 2)");
    assert_common(wr_type_decimal(38, 10), wr_type_decimal(38, 2), "DECIMAL(38, 2)");
    assert_common(wr_type_decimal(5, 3), wr_type_decimal(6, 1), "DECIMAL(8, 3)");
    assert_common(wr_type_prec(WR_T_CHAR, 1), wr_type_prec(WR_T_CHAR, 3), "VARCHAR(3)");
    assert_common(wr_type_prec(WR_T_CHAR, 3), wr_type_prec(WR_T_CHAR, 3), "CHAR(3)");
    assert_common(wr_type_prec(WR_T_CHAR, 3), s, "STRING");
    assert_common(wr_type_of(WR_T_DATE), wr_type_prec(WR_T_TIMESTAMP, 3), "TIMESTAMP(3)");
    assert_common(wr_type_prec(WR_T_TIMESTAMP, 3), wr_type_prec(WR_T_TIMESTAMP_LTZ, 6), "TIMESTAMP_LTZ(6)");
    assert_common(wr_type_of(WR_T_NULL), wr_type_not_null(i), "INT");
    assert_common(wr_type_not_null(i), wr_type_not_null(big), "BIGINT NOT NULL");
    assert_common(i, s, NULL);
    assert_common(i, wr_type_of(WR_T_BOOLEAN), NULL);
    assert_common(wr_type_of(WR_T_DATE), wr_type_prec(WR_T_TIME, 0), NULL);
    wr_type ints = {.id = WR_T_ARRAY, .nullable = 1, .n_kids = 1, .kids = &i}, bigs = {.id = WR_T_ARRAY, .nullable = 1, .n_kids = 1, .kids = &big};
    wr_type strings = {.id = WR_T_ARRAY, .nullable = 1, .n_kids = 1, .kids = &s};
    assert_common(ints, bigs, "ARRAY<BIGINT>");
    assert_common(ints, strings, NULL);
}

static void binary_form(void **state) {
    (void)state;
    wr_rng rng;
    wr_rng_seed(&rng, 3);
    for (int round = 0; round < 300; round++) {
        wr_arena *arena = wr_arena_new(NULL);
        wr_type   t = kit_type(arena, &rng, 4), copy = wr_type_copy(arena, t);
        wr_sbuf   out = {0};
        assert_true(wr_type_same(t, copy));
        wr_type_save(t, &out);
        wr_reader in = {(uint8_t *)out.at, (uint8_t *)out.at + out.len, false};
        wr_type   back = wr_type_load(arena, &in);
        assert_true(!in.bad && in.at == in.end && wr_type_same(t, back) && back.nullable == t.nullable);
        in = (wr_reader){(uint8_t *)out.at, (uint8_t *)out.at + wr_rng_below(&rng, out.len), false};
        wr_type_load(arena, &in);
        assert_true(in.bad);
        for (int flip = 0; flip < 20; flip++) {
            out.at[wr_rng_below(&rng, out.len)] ^= (char)(1u << wr_rng_below(&rng, 8));
            in = (wr_reader){(uint8_t *)out.at, (uint8_t *)out.at + out.len, false};
            wr_type_load(arena, &in); /* no crash, no huge allocation */
        }
        assert_true(wr_arena_bytes(arena) < 4000000);
        wr_sbuf_free(&out);
        wr_arena_free(arena);
    }
}

static void schemas_and_classes(void **state) {
    (void)state;
    wr_field  fields[] = {{WR_STR("a"), wr_type_of(WR_T_INT)}, {WR_STR("B"), wr_type_string()}};
    wr_schema schema = {2, fields};
    assert_int_equal(wr_schema_find(&schema, WR_STR("B")), 1);
    assert_int_equal(wr_schema_find(&schema, WR_STR("b")), -1);
    assert_true(wr_type_is_numeric(wr_type_decimal(3, 1)) && !wr_type_is_integer(wr_type_decimal(3, 1)) && wr_type_is_string(wr_type_string()));
    assert_true(wr_type_is_time_point(wr_type_of(WR_T_DATE)) && !wr_type_is_time_point(wr_type_of(WR_T_INTERVAL_DS)));
    assert_true(wr_type_ticks_per_second(wr_type_prec(WR_T_TIMESTAMP, 6)) == 1000000 && wr_type_ticks_per_second(wr_type_prec(WR_T_TIMESTAMP, 7)) == 1000000000);
    for (int id = 0; id < WR_T_COUNT; id++) assert_true(strlen(wr_tid_name((wr_tid)id)) > 2);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(texts), cmocka_unit_test(common_types), cmocka_unit_test(binary_form),
                                       cmocka_unit_test(schemas_and_classes)};
    return cmocka_run_group_tests_name("type.type", tests, NULL, NULL);
}
