/* connect/postgres/pgoutput_test.c: messages as PostgreSQL's documentation ("Logical Replication Message Formats") lays them out, written byte by byte; every
 * shorter piece of each is refused.                                                                                                     */
#include "connect/postgres/pgoutput.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#define BYTES(...) ((wr_str){(const char *)(const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__})})

static void assert_text(wr_str got, const char *want) {
    assert_int_equal(got.len, strlen(want));
    assert_memory_equal(got.ptr, want, got.len);
}

static void no_piece_is_read(wr_str whole) {
    pgo_message m;
    for (size_t n = 0; n < whole.len; n++) assert_false(pgo_read((wr_str){whole.ptr, n}, &m));
    assert_true(pgo_read(whole, &m));
}

static void begin_and_commit(void **state) {
    (void)state;
    /* 2000-01-01 00:00:01 is 1,000,000 microseconds after PostgreSQL's epoch, 946,684,801 seconds after 1970 */
    wr_str      begin = BYTES('B', 0, 0, 0, 0x16, 0xB3, 0x74, 0xD8, 0x48, 0, 0, 0, 0, 0, 0x0F, 0x42, 0x40, 0, 0, 2, 0xEA);
    wr_str      commit = BYTES('C', 0, 0, 0, 0, 0x16, 0xB3, 0x74, 0xD8, 0x48, 0, 0, 0, 0x16, 0xB3, 0x74, 0xD8, 0x78, 0, 0, 0, 0, 0, 0x0F, 0x42, 0x40);
    pgo_message m;
    assert_true(pgo_read(begin, &m));
    assert_int_equal(m.kind, PGO_BEGIN);
    assert_true(m.lsn == UINT64_C(0x16B374D848) && m.time_us == INT64_C(946684801000000));
    assert_true(pgo_read(commit, &m));
    assert_true(m.lsn == UINT64_C(0x16B374D848) && m.end_lsn == UINT64_C(0x16B374D878) && m.time_us == INT64_C(946684801000000));
    no_piece_is_read(begin);
    no_piece_is_read(commit);
}

static void relation(void **state) {
    (void)state;
    wr_str whole = BYTES('R', 0, 0, 0x40, 1, 'p', 'u', 'b', 0, 't', 0, 'd', 0, 2, 1, 'i', 'd', 0, 0, 0, 0, 23, 0xFF, 0xFF, 0xFF, 0xFF, 0, 'v', 0, 0, 0, 6, 0xA4, 0, 0, 0, 14);
    pgo_message m;
    pgo_column  c;
    assert_true(pgo_read(whole, &m));
    assert_int_equal(m.relation, 0x4001);
    assert_text(m.schema, "pub");
    assert_text(m.table, "t");
    assert_int_equal(m.identity, 'd');
    assert_true(pgo_next_column(&m.columns, &c));
    assert_text(c.name, "id");
    assert_true(c.key && c.type == 23 && c.typmod == -1);
    assert_true(pgo_next_column(&m.columns, &c));
    assert_text(c.name, "v");
    assert_true(!c.key && c.type == 1700 && c.typmod == 14);
    assert_false(pgo_next_column(&m.columns, &c));
    no_piece_is_read(whole);
}

static void changes(void **state) {
    (void)state;
    wr_str      insert = BYTES('I', 0, 0, 0, 7, 'N', 0, 3, 't', 0, 0, 0, 2, '4', '2', 'n', 'u');
    wr_str      update = BYTES('U', 0, 0, 0, 7, 'O', 0, 1, 't', 0, 0, 0, 1, 'a', 'N', 0, 1, 't', 0, 0, 0, 0);
    wr_str      by_key = BYTES('U', 0, 0, 0, 7, 'K', 0, 1, 't', 0, 0, 0, 1, 'a', 'N', 0, 1, 'n'), plain = BYTES('U', 0, 0, 0, 7, 'N', 0, 1, 'n');
    wr_str      removed = BYTES('D', 0, 0, 0, 7, 'K', 0, 2, 't', 0, 0, 0, 1, 'a', 'n');
    pgo_message m;
    pgo_value   v;
    assert_true(pgo_read(insert, &m));
    assert_int_equal(m.relation, 7);
    assert_true(pgo_next_value(&m.after, &v));
    assert_true(v.kind == 't');
    assert_text(v.text, "42");
    assert_true(pgo_next_value(&m.after, &v) && v.kind == 'n' && pgo_next_value(&m.after, &v) && v.kind == 'u');
    assert_false(pgo_next_value(&m.after, &v));
    assert_false(m.after.bad);
    assert_true(pgo_read(update, &m) && m.old == 'O' && pgo_next_value(&m.before, &v));
    assert_text(v.text, "a");
    assert_true(pgo_next_value(&m.after, &v) && v.kind == 't' && v.text.len == 0);
    assert_true(pgo_read(by_key, &m) && m.old == 'K' && pgo_read(plain, &m) && m.old == 0);
    assert_true(pgo_read(removed, &m) && m.old == 'K' && m.before.n == 2);
    wr_str all[] = {insert, update, by_key, plain, removed};
    for (size_t i = 0; i < WR_COUNT_OF(all); i++) no_piece_is_read(all[i]);
    assert_false(pgo_read(BYTES('D', 0, 0, 0, 7, 'N', 0, 0), &m)); /* a deletion of nothing */
    assert_false(pgo_read(BYTES('I', 0, 0, 0, 7, 'K', 0, 0), &m));
    assert_false(pgo_read(BYTES('I', 0, 0, 0, 7, 'N', 0, 1, 'x'), &m));
    assert_false(pgo_read(BYTES('I', 0, 0, 0, 7, 'N', 0, 1, 't', 0xFF, 0xFF, 0xFF, 0xFF, 'a'), &m)); /* longer than there is */
}

static void truncate_and_others(void **state) {
    (void)state;
    wr_str      whole = BYTES('T', 0, 0, 0, 2, 1, 0, 0, 0, 7, 0, 0, 1, 0);
    pgo_message m;
    uint32_t    id;
    assert_true(pgo_read(whole, &m));
    assert_true(pgo_next_relation(&m.truncated, &id) && id == 7 && pgo_next_relation(&m.truncated, &id) && id == 256);
    assert_false(pgo_next_relation(&m.truncated, &id));
    no_piece_is_read(whole);
    assert_true(pgo_read(BYTES('Y', 1), &m) && pgo_read(BYTES('O', 1), &m) && pgo_read(BYTES('M', 1), &m));
    assert_false(pgo_read(BYTES('S', 0, 0, 0, 1, 1), &m)); /* a streamed piece: only version 2 has it */
    assert_false(pgo_read((wr_str){"", 0}, &m));
}

static void copy_rows(void **state) {
    (void)state;
    char   to[40];
    wr_str line = WR_STR("1\t\\N\t\ta\\tb\\\\\\nc\t\\\\N"), f;
    bool   first = true, null;
    const char *want[] = {"1", NULL, "", "a\tb\\\nc", "\\N"};
    for (size_t i = 0; i < WR_COUNT_OF(want); i++) {
        assert_true(copy_next_field(&line, &first, to, &f, &null));
        assert_int_equal(null, want[i] == NULL);
        if (want[i]) assert_text(f, want[i]);
    }
    assert_false(copy_next_field(&line, &first, to, &f, &null));
    line = WR_STR(""), first = true;
    assert_true(copy_next_field(&line, &first, to, &f, &null)); /* one field, the empty text */
    assert_true(f.len == 0 && !null && !copy_next_field(&line, &first, to, &f, &null));
}

static void positions(void **state) {
    (void)state;
    uint64_t lsn;
    uint8_t  eight[8];
    assert_true(pg_lsn_parse("16/B374D848", &lsn) && lsn == UINT64_C(0x16B374D848));
    assert_true(pg_lsn_parse("FFFFFFFF/0", &lsn) && lsn == UINT64_C(0xFFFFFFFF00000000));
    const char *wrong[] = {"", "/", "1/", "/1", "1", "1/2/3", "1/g", "123456789/0"};
    for (size_t i = 0; i < WR_COUNT_OF(wrong); i++) assert_false(pg_lsn_parse(wrong[i], &lsn));
    pg_put_u64(eight, UINT64_C(0x0102030405060708));
    assert_true(eight[0] == 1 && eight[7] == 8 && pg_get_u64(eight) == UINT64_C(0x0102030405060708));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(begin_and_commit), cmocka_unit_test(relation), cmocka_unit_test(changes), cmocka_unit_test(truncate_and_others), cmocka_unit_test(copy_rows), cmocka_unit_test(positions)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
