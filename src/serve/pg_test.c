/* serve/pg_test.c: words of PostgreSQL's SQL, values in its forms, passwords, the rewriting of catalogue queries. Expected bytes are PostgreSQL 15's; the exchange
 * of SCRAM is that of RFC 7677, section 3.                                                                                        */
#include "serve/catalog.h"
#include "serve/pg_value.h"
#include "serve/users.h"
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
#include <stdio.h>

static void words(void **state) {
    (void)state;
    wr_arena *arena = wr_arena_new(NULL);
    pg_toks   t;
    uint32_t  at;
    wr_err    err;
    assert_int_equal(pg_lex(arena, WR_STR("SELECT \"A\"\"b\", E'x\\n\\'', $$q'$$, $12::int /* a /* b */ */ -- c\n a=-1 $x$;$x$"), &t, &at, &err), WR_OK);
    static const pg_kind kinds[] = {PG_WORD, PG_QUOTED, PG_CHAR, PG_ESTRING, PG_CHAR, PG_DOLLAR, PG_CHAR, PG_PARAM, PG_OP, PG_WORD, PG_WORD, PG_OP, PG_OP, PG_NUMBER, PG_DOLLAR, PG_END};
    assert_int_equal(t.list.n, WR_COUNT_OF(kinds));
    for (uint32_t i = 0; i < t.list.n; i++) assert_int_equal(t.list.at[i].kind, kinds[i]);
    assert_true(wr_str_eq(pg_name(arena, &t.list.at[1]), WR_STR("A\"b")));
    assert_true(wr_str_eq(pg_text(arena, &t.list.at[3]), WR_STR("x\n'")));
    assert_true(wr_str_eq(pg_text(arena, &t.list.at[5]), WR_STR("q'")));
    assert_int_equal(t.list.at[7].param, 12);
    assert_true(wr_str_eq(pg_text(arena, &t.list.at[14]), WR_STR(";")));
    assert_int_equal(pg_lex(arena, WR_STR("a 'b"), &t, &at, &err), WR_USER);
    assert_int_equal(at, 2);
    assert_int_equal(pg_lex(arena, WR_STR("/* a"), &t, &at, &err), WR_USER);
    assert_int_equal(pg_lex(arena, WR_STR("'\xED\xA0\x80'"), &t, &at, &err), WR_USER); /* half a surrogate pair */
    assert_string_equal(err.code, "22021");
    wr_arena_free(arena);
}

static void check(wr_type type, wr_value v, const char *text, const char *bytes, size_t n) {
    wr_mem *mem = wr_mem_new(0);
    wr_vec  vec;
    wr_sbuf out = {0};
    v.type = type;
    wr_value_fill(&v, &vec, 1, mem);
    pg_put_text(&vec, 0, NULL, &out);
    assert_string_equal(out.at, text);
    wr_sbuf_clear(&out);
    pg_put_binary(&vec, 0, &out);
    assert_int_equal(out.len, n);
    assert_memory_equal(out.at, bytes, n);
    wr_sbuf_free(&out);
    wr_mem_unref(mem);
}

static void values(void **state) {
    (void)state;
    check(wr_type_of(WR_T_BOOLEAN), (wr_value){.b = true}, "t", "\1", 1);
    check(wr_type_of(WR_T_INT), (wr_value){.i = -2}, "-2", "\xFF\xFF\xFF\xFE", 4);
    check(wr_type_of(WR_T_DOUBLE), (wr_value){.f = 1e20}, "1e+20", "\x44\x15\xAF\x1D\x78\xB5\x8C\x40", 8);
    check(wr_type_of(WR_T_DOUBLE), (wr_value){.f = 0.1}, "0.1", "\x3F\xB9\x99\x99\x99\x99\x99\x9A", 8);
    check(wr_type_decimal(10, 2), (wr_value){.d = -1234567}, "-12345.67", "\0\3\0\1\x40\0\0\2\0\1\x09\x29\x1A\x2C", 14);
    check(wr_type_decimal(10, 2), (wr_value){.d = 0}, "0.00", "\0\0\0\0\0\0\0\2", 8);
    check(wr_type_decimal(10, 5), (wr_value){.d = 3}, "0.00003", "\0\1\xFF\xFE\0\0\0\5\x0B\xB8", 10);
    check(wr_type_of(WR_T_DATE), (wr_value){.i = 10957 + 31}, "2000-02-01", "\0\0\0\x1F", 4);
    check(wr_type_prec(WR_T_TIMESTAMP, 3), (wr_value){.i = INT64_C(946684800500000)}, "2000-01-01 00:00:00.5", "\0\0\0\0\0\7\xA1\x20", 8);
    check(wr_type_prec(WR_T_TIMESTAMP_LTZ, 3), (wr_value){.i = INT64_C(946684800000000)}, "2000-01-01 00:00:00+00", "\0\0\0\0\0\0\0\0", 8);
    check(wr_type_prec(WR_T_VARBINARY, WR_LENGTH_MAX), (wr_value){.s = WR_STR("\1\xFF")}, "\\x01ff", "\1\xFF", 2);
    wr_arena *arena = wr_arena_new(NULL);
    wr_value  v;
    wr_err    err;
    static const struct { const char *bytes; size_t n; const char *text; } numerics[] = {
        {"\0\3\0\1\x40\0\0\2\0\1\x09\x29\x1A\x2C", 14, "-12345.670000000000"}, {"\0\1\xFF\xFE\0\0\0\5\x0B\xB8", 10, "0.000030000000"}, {"\0\1\0\1\0\0\0\0\0\2", 10, "20000.000000000000"}, {"\0\0\0\0\0\0\0\0", 8, "0.000000000000"}};
    for (size_t i = 0; i < WR_COUNT_OF(numerics); i++) {
        wr_sbuf text = {0};
        assert_int_equal(pg_parse_binary(arena, PG_NUMERIC, (wr_str){numerics[i].bytes, numerics[i].n}, &v, &err), WR_OK);
        wr_value_text(&v, NULL, &text);
        assert_string_equal(text.at, numerics[i].text);
        wr_sbuf_free(&text);
    }
    static const struct { const char *text, *as; int scale; } exact[] = { /* DECIMAL(10, 2) is wanted; by hand */
        {"1.5", "1.50", 2}, {"0.001", "0.001", 3}, {"-12345678901", "-12345678901", 0}, {"1E-38", "0.00000000000000000000000000000000000001", 38}, {"1.50E1", "15.00", 2}, {"0e99999", "0.00", 2},
        {"99999999999999999999999999999999999999", "99999999999999999999999999999999999999", 0}};
    for (size_t i = 0; i < WR_COUNT_OF(exact); i++) {
        wr_sbuf text = {0};
        assert_int_equal(pg_parse_text(arena, wr_type_decimal(10, 2), wr_str_of(exact[i].text), NULL, &v, &err), WR_OK);
        assert_int_equal(v.type.scale, exact[i].scale);
        wr_value_text(&v, NULL, &text);
        assert_string_equal(text.at, exact[i].as);
        wr_sbuf_free(&text);
    }
    static const char *const no[] = {"", "-", ".", "NaN", "1e", "1e+", "1x", "1e-39", "100000000000000000000000000000000000000", "1.00000000000000000000000000000000000001"};
    for (size_t i = 0; i < WR_COUNT_OF(no); i++) assert_int_equal(pg_parse_text(arena, wr_type_decimal(10, 2), wr_str_of(no[i]), NULL, &v, &err), WR_DATA);
    assert_int_equal(pg_parse_binary(arena, PG_INT8, WR_STR("123"), &v, &err), WR_DATA);
    assert_int_equal(pg_parse_text(arena, wr_type_of(WR_T_INT), WR_STR("2147483648"), NULL, &v, &err), WR_DATA);
    assert_string_equal(err.code, "22P02");
    wr_arena_free(arena);
}

static void scram(void **state) {
    (void)state;
    wr_scram_server s = {.known = true};
    wr_sbuf         out = {0};
    wr_scram        made;
    /* RFC 7677: user "user", password "pencil", and its salt; the nonce of the server is put in as it stands there */
    assert_true(wr_scram_parse(WR_STR("SCRAM-SHA-256$4096:W22ZaJ0SNY7soEsUEjb6gQ==$WG5d8oPm3OtcPnkdi4Uo7BkeZkBFzpcXkuLmtbsT4qY=:wfPLwcE6nTWhTAmQ7tl2KeoiWGPlZqQxSrmfPwDl2dU="), &s.scram));
    snprintf(s.client_first, sizeof s.client_first, "n=user,r=rOprNGfwEbeRWgbNEkqO");
    snprintf(s.nonce, sizeof s.nonce, "rOprNGfwEbeRWgbNEkqO%%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0");
    snprintf(s.server_first, sizeof s.server_first, "r=%s,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096", s.nonce);
    assert_true(wr_scram_server_final(&s, WR_STR("c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="), &out));
    assert_string_equal(out.at, "v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=");
    assert_false(wr_scram_server_final(&s, WR_STR("c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,p=eHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="), &out));
    assert_false(wr_scram_server_final(&s, WR_STR("c=biws,r=other,p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="), &out));
    wr_scram_make(wr_world_posix(), WR_STR("pencil"), &made);
    assert_true(wr_users_check(&(wr_user){.secret = made}, WR_STR("pencil")));
    assert_false(wr_users_check(&(wr_user){.secret = made}, WR_STR("pencils")));
    wr_sbuf_free(&out);
}

static void rewriting(void **state) {
    static const struct { const char *from, *to; } cases[] = {
        {"SELECT c.oid FROM pg_catalog.pg_class c WHERE c.relname OPERATOR(pg_catalog.~) '^(a)$' COLLATE pg_catalog.default", "select \"c\".\"oid\" FROM \"pg_catalog\".\"pg_class\" c where \"c\".\"relname\" REGEXP 'R' || '^(a)$' "},
        {"SELECT 'a'::regclass::oid, x[1]", "select CAST ( pg_to_regclass ( 'a' )  AS INTEGER ) , pg_item ( x , 1 , 1 ) "},
        {"SELECT 1 WHERE a = ANY(ARRAY['r','m'])", "select 1 where a IN (SELECT value FROM json_each(pg_array( json_array ( 'r' , 'm' ) )) ) "},
        {"SELECT unnest(k) AS a, generate_subscripts(k, 1) AS b FROM t WHERE true", "select _s0.value as \"a\" , (_s0.key + 1) as \"b\" FROM t , json_each(pg_array(k )) AS _s0 where true "},
        {"SELECT string_agg(a, ',' ORDER BY a) FROM t", "select group_concat ( a , ',' ) FROM t "},
    };
    wr_arena *arena = wr_arena_new(NULL);
    (void)state;
    for (size_t i = 0; i < WR_COUNT_OF(cases); i++) {
        pg_toks           t;
        uint32_t          at;
        wr_err            err = {0};
        wr_sbuf           out = {0};
        catalog_rewritten info;
        assert_int_equal(pg_lex(arena, wr_str_of(cases[i].from), &t, &at, &err), WR_OK);
        assert_int_equal(catalog_rewrite(arena, &t, &out, &info, &err), WR_OK);
        assert_string_equal(out.at, cases[i].to);
        wr_sbuf_free(&out);
    }
    wr_arena_free(arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(words), cmocka_unit_test(values), cmocka_unit_test(scram), cmocka_unit_test(rewriting)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
