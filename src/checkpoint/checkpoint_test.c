/* checkpoint/checkpoint_test.c: what was written is read back; any damaged byte is refused and the older file offered; two files are kept. */
#include "checkpoint/checkpoint.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <cmocka.h>

static char dir[64];

static int make_dir(void **state) {
    (void)state;
    snprintf(dir, sizeof dir, "/tmp/weir-ck-XXXXXX");
    return mkdtemp(dir) ? 0 : -1;
}

static int drop_dir(void **state) {
    (void)state;
    wr_world     *w = wr_world_posix();
    wr_file_info *files;
    size_t        n;
    wr_err        err;
    if (w->vt->list(w, dir, &files, &n, &err) == WR_OK) {
        for (size_t i = 0; i < n; i++) {
            char path[512];
            snprintf(path, sizeof path, "%s/%s", dir, files[i].name);
            unlink(path);
        }
        wr_free(files);
    }
    rmdir(dir);
    return 0;
}

static void write_one(uint64_t epoch, const char *text) {
    wr_checkpoint_writer w;
    wr_err   err = {0};
    uint64_t bytes;
    wr_checkpoint_begin(&w, epoch);
    wr_checkpoint_put(&w, WR_SECTION_JOB, WR_STR("job"), 0, WR_STR("x"));
    wr_checkpoint_put(&w, WR_SECTION_OPERATOR, WR_STR("agg-1"), 3, wr_str_of(text));
    assert_int_equal(wr_checkpoint_commit(&w, wr_world_posix(), dir, epoch, &bytes, &err), WR_OK);
    assert_true(bytes > strlen(text));
}

static void no_directory_is_no_checkpoint(void **state) {
    (void)state;
    wr_checkpoint ck;
    bool   found = true;
    wr_err err = {0};
    assert_int_equal(wr_checkpoint_open(wr_world_posix(), "/nonexistent/weir", false, &ck, &found, &err), WR_OK);
    assert_false(found);
    assert_int_equal(wr_checkpoint_open(wr_world_posix(), dir, false, &ck, &found, &err), WR_OK);
    assert_false(found);
}

static void newest_is_read_back(void **state) {
    (void)state;
    for (uint64_t e = 1; e <= 4; e++) write_one(e, e == 4 ? "four" : "older");
    wr_checkpoint ck;
    bool   found;
    wr_err err = {0};
    assert_int_equal(wr_checkpoint_open(wr_world_posix(), dir, false, &ck, &found, &err), WR_OK);
    assert_true(found);
    assert_int_equal(ck.epoch, 4);
    const wr_section *s = wr_checkpoint_find(&ck, WR_SECTION_OPERATOR, WR_STR("agg-1"));
    assert_non_null(s);
    assert_int_equal(s->instance, 3);
    assert_true(wr_str_eq(s->content, WR_STR("four")));
    assert_null(wr_checkpoint_find(&ck, WR_SECTION_SINK, WR_STR("agg-1")));
    wr_checkpoint_close(&ck);
    wr_file_info *files;
    size_t        n;
    assert_int_equal(wr_world_posix()->vt->list(wr_world_posix(), dir, &files, &n, &err), WR_OK);
    assert_int_equal(n, WR_CHECKPOINTS_KEPT);
    wr_free(files);
}

static void cleared_is_as_new(void **state) {
    (void)state;
    for (uint64_t e = 7; e <= 9; e++) write_one(e, "old");
    wr_err err = {0};
    assert_int_equal(wr_checkpoint_clear(wr_world_posix(), dir, &err), WR_OK);
    wr_checkpoint ck;
    bool found = true;
    assert_int_equal(wr_checkpoint_open(wr_world_posix(), dir, false, &ck, &found, &err), WR_OK);
    assert_false(found);
    write_one(1, "new");
    assert_int_equal(wr_checkpoint_open(wr_world_posix(), dir, false, &ck, &found, &err), WR_OK);
    assert_true(found);
    assert_int_equal(ck.epoch, 1);
    wr_checkpoint_close(&ck);
    assert_int_equal(wr_checkpoint_clear(wr_world_posix(), "/nonexistent/weir", &err), WR_OK);
}

static void any_damaged_byte_is_refused(void **state) {
    (void)state;
    write_one(1, "the older one");
    write_one(2, "the newer one");
    char path[128];
    snprintf(path, sizeof path, "%s/checkpoint-000000000002.weir", dir);
    FILE *f = fopen(path, "rb");
    char  good[4096];
    size_t len = fread(good, 1, sizeof good, f);
    fclose(f);
    for (size_t i = 0; i <= len; i++) { /* byte i flipped; i == len: the last byte cut off */
        f = fopen(path, "wb");
        char bad[4096];
        memcpy(bad, good, len);
        if (i < len) bad[i] ^= 0x40;
        fwrite(bad, 1, i < len ? len : len - 1, f);
        fclose(f);
        wr_checkpoint ck;
        bool   found;
        wr_err err = {0};
        assert_int_equal(wr_checkpoint_open(wr_world_posix(), dir, false, &ck, &found, &err), WR_CORRUPT);
        assert_false(found);
        assert_non_null(strstr(err.message, "checkpoint-000000000002.weir"));
        assert_non_null(strstr(err.hint, "checkpoint-000000000001.weir"));
        assert_int_equal(wr_checkpoint_open(wr_world_posix(), dir, true, &ck, &found, &err), WR_OK);
        assert_true(found);
        assert_int_equal(ck.epoch, 1);
        wr_checkpoint_close(&ck);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(no_directory_is_no_checkpoint, make_dir, drop_dir),
        cmocka_unit_test_setup_teardown(newest_is_read_back, make_dir, drop_dir),
        cmocka_unit_test_setup_teardown(cleared_is_as_new, make_dir, drop_dir),
        cmocka_unit_test_setup_teardown(any_damaged_byte_is_refused, make_dir, drop_dir),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
