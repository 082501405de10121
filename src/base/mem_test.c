/* base/mem_test.c: arenas and accounts.                                                                                  */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include "base/err.h"
#include "base/mem.h"

static void arenas_give_room_and_give_back(void **state) {
    (void)state;
    wr_account root, acct;
    wr_account_init(&root, NULL, "job", 0);
    wr_account_init(&acct, &root, "parser", 0);
    wr_arena *arena = wr_arena_new(&acct);
    for (int round = 0; round < 3; round++) {
        char *blocks[300];
        for (int i = 0; i < 300; i++) {
            size_t size = (size_t)i * 37 + (i == 150 ? 3000000 : 0);
            blocks[i] = wr_arena_alloc(arena, size);
            assert_true((uintptr_t)blocks[i] % 16 == 0);
            memset(blocks[i], i, size);
        }
        for (int i = 1; i < 300; i++) assert_int_equal((unsigned char)blocks[i][i * 36], (unsigned char)i);
        assert_true(wr_account_bytes(&acct) == (int64_t)wr_arena_bytes(arena) && wr_account_bytes(&root) == wr_account_bytes(&acct));
        assert_string_equal(wr_arena_printf(arena, "%s-%d", "x", 42), "x-42");
        assert_string_equal(wr_arena_strndup(arena, "hello", 3), "hel");
        char *zero = wr_arena_calloc(arena, 100);
        for (int i = 0; i < 100; i++) assert_int_equal(zero[i], 0);
        wr_arena_reset(arena);
        assert_true(wr_account_bytes(&acct) == (int64_t)wr_arena_bytes(arena));
    }
    wr_arena_free(arena);
    wr_arena_free(NULL);
    assert_true(wr_account_bytes(&acct) == 0 && wr_account_bytes(&root) == 0);
    assert_true(acct.peak > 3000000);
}

static void accounts_charge_their_ancestors(void **state) {
    (void)state;
    wr_account job, op, buffers;
    wr_account_init(&job, NULL, "job", 1000);
    wr_account_init(&op, &job, "join", 0);
    wr_account_init(&buffers, &op, "buffers", 600);
    wr_account_add(&buffers, 500);
    assert_false(wr_account_over(&buffers));
    wr_account_add(&op, 501);
    assert_true(wr_account_over(&buffers) && wr_account_over(&op) && wr_account_over(&job));
    wr_account_add(&op, -501);
    wr_account_add(&buffers, 101);
    assert_true(wr_account_over(&buffers) && !wr_account_over(&op));
    wr_account_add(&buffers, -601);
    assert_true(wr_account_bytes(&job) == 0 && job.peak == 1001 && buffers.peak == 601);
}

static void errors_hold_what_they_are_told(void **state) {
    (void)state;
    wr_err err;
    assert_int_equal(wr_fail(&err, WR_IO, "58030", "cannot read '%s'", "x"), WR_IO);
    wr_err_hint(&err, "try %d", 5);
    wr_err_detail(&err, "a %s", "sentence");
    wr_err_place(&err, "%s:%d", "f.jsonl", 12);
    assert_string_equal(err.message, "cannot read 'x'");
    assert_string_equal(err.code, "58030");
    assert_string_equal(err.hint, "try 5");
    assert_string_equal(err.detail, "a sentence");
    assert_string_equal(err.place, "f.jsonl:12");
    assert_int_equal(wr_fail(NULL, WR_DATA, "22012", "no receiver"), WR_DATA);
    wr_err_hint(NULL, "none");
    char longer[2000];
    memset(longer, 'x', sizeof longer - 1);
    longer[sizeof longer - 1] = 0;
    wr_fail(&err, WR_USER, "42000", "%s", longer);
    assert_int_equal(strlen(err.message), sizeof err.message - 1);
    assert_string_equal(err.hint, "");
    assert_string_equal(wr_status_name(WR_CORRUPT), "corrupt");
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(arenas_give_room_and_give_back), cmocka_unit_test(accounts_charge_their_ancestors),
                                       cmocka_unit_test(errors_hold_what_they_are_told)};
    return cmocka_run_group_tests_name("base.mem", tests, NULL, NULL);
}
