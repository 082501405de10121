/* checkpoint/checkpoint_test.c: what was written is read back; any damaged byte of any file is refused by name and the older checkpoint offered; the
 * newest are kept with their files, others go; files of earlier format versions load. */
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
    wr_err err;
    return wr_dir_remove(wr_world_posix(), dir, &err) == WR_OK ? 0 : -1;
}

static void put_text(wr_checkpoint_writer *w, wr_section_kind kind, const char *owner, uint32_t instance, const char *text) {
    wr_sbuf content = {0};
    wr_sbuf_addz(&content, text);
    wr_checkpoint_put(w, kind, wr_str_of(owner), instance, &content);
}

static void write_file(const char *path, const char *bytes, size_t len) {
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, len, f), len);
    fclose(f);
}

/* A checkpoint with the texts of `files` as shared files named by their first letter, and one small file. */
static wr_checkpoint_written write_with(wr_checkpoint_store *store, uint64_t epoch, const char *text, const char *const *files) {
    wr_checkpoint_writer  w;
    wr_checkpoint_written out;
    wr_err err = {0};
    char   path[128];
    wr_checkpoint_begin(&w, epoch);
    put_text(&w, WR_SECTION_JOB, "job", 0, "x");
    put_text(&w, WR_SECTION_OPERATOR, "agg-1", 3, text);
    snprintf(path, sizeof path, "%s/incoming", dir);
    for (; files && *files; files++) {
        char name[2] = {**files, 0};
        write_file(path, *files, strlen(*files));
        assert_int_equal(wr_checkpoint_add_file(store, &w, name, path, true, &err), WR_OK);
        assert_int_equal(access(path, F_OK), -1);
        if (files[1]) continue;
        write_file(path, "list", 4);
        assert_int_equal(wr_checkpoint_add_file(store, &w, "MANIFEST", path, false, &err), WR_OK);
        assert_int_equal(access(path, F_OK), -1);
    }
    assert_int_equal(wr_checkpoint_commit(store, &w, &out, &err), WR_OK);
    wr_checkpoint_abandon(&w);
    return out;
}

static void write_one(uint64_t epoch, const char *text) {
    wr_checkpoint_store *store = wr_checkpoint_store_new(wr_world_posix(), dir, 0);
    assert_true(write_with(store, epoch, text, NULL).new_bytes > strlen(text));
    wr_checkpoint_store_free(store);
}

static size_t count_in(const char *sub) {
    wr_file_info *files;
    size_t n;
    wr_err err;
    char   path[128];
    snprintf(path, sizeof path, "%s%s", dir, sub);
    assert_int_equal(wr_world_posix()->vt->list(wr_world_posix(), path, &files, &n, &err), WR_OK);
    wr_free(files);
    return n;
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
    assert_int_equal(count_in(""), WR_CHECKPOINTS_KEPT);
}

static void shared_files_lie_once_and_go_with_their_last_checkpoint(void **state) {
    (void)state;
    wr_checkpoint_store  *store = wr_checkpoint_store_new(wr_world_posix(), dir, 0);
    wr_checkpoint_written out = write_with(store, 1, "1", (const char *[]){"a file", "b file", NULL});
    assert_int_equal(out.new_files, 2);
    out = write_with(store, 2, "2", (const char *[]){"a file", "b file", "c file", NULL});
    assert_int_equal(out.new_files, 1);
    assert_int_equal(out.total_files, 3);
    assert_int_equal(out.total_bytes - out.new_bytes, 12); /* a and b */
    write_with(store, 3, "3", (const char *[]){"c file", "d file", NULL});
    assert_int_equal(count_in("/files"), 4); /* epochs 2 and 3 name a b c d */
    wr_checkpoint_store_free(store);
    store = wr_checkpoint_store_new(wr_world_posix(), dir, 0); /* a new process that restores */
    wr_checkpoint ck;
    bool   found;
    wr_err err = {0};
    assert_int_equal(wr_checkpoint_open(wr_world_posix(), dir, false, &ck, &found, &err), WR_OK);
    assert_int_equal(ck.files.n, 2);
    wr_checkpoint_store_know(store, &ck);
    wr_checkpoint_close(&ck);
    out = write_with(store, 4, "4", (const char *[]){"c file", "e file", NULL});
    assert_int_equal(out.new_files, 1);
    assert_int_equal(count_in("/files"), 3); /* 3 and 4 name c d e */
    wr_checkpoint_store_free(store);
}

static void files_are_placed_and_exported(void **state) {
    (void)state;
    wr_world *world = wr_world_posix();
    wr_checkpoint_store *store = wr_checkpoint_store_new(world, dir, 0);
    write_with(store, 8, "text", (const char *[]){"a file", "b file", NULL});
    wr_checkpoint ck, copy;
    bool   found;
    wr_err err = {0};
    char   to[128], path[160];
    assert_int_equal(wr_checkpoint_open(world, dir, false, &ck, &found, &err), WR_OK);
    snprintf(to, sizeof to, "%s/tier", dir);
    assert_int_equal(world->vt->make_dirs(world, to, &err), WR_OK);
    assert_int_equal(wr_checkpoint_place(world, dir, &ck, to, &err), WR_OK);
    assert_int_equal(count_in("/tier"), 3);
    snprintf(path, sizeof path, "%s/MANIFEST", to);
    wr_sbuf text = {0};
    assert_int_equal(wr_file_read_all(world, path, 100, &text, &err), WR_OK);
    assert_true(wr_str_eq(wr_sbuf_str(&text), WR_STR("list")));
    wr_sbuf_free(&text);
    snprintf(to, sizeof to, "%s/out", dir);
    assert_int_equal(wr_checkpoint_export(world, dir, &ck, to, &err), WR_OK);
    wr_checkpoint_close(&ck);
    assert_int_equal(count_in(""), 4); /* manifest, files, tier, out: nothing else is left */
    assert_int_equal(wr_checkpoint_clear(world, dir, &err), WR_OK);
    assert_int_equal(wr_checkpoint_open(world, to, false, &copy, &found, &err), WR_OK);
    assert_true(found);
    assert_int_equal(copy.files.n, 2);
    wr_checkpoint_close(&copy);
    wr_checkpoint_store_free(store);
}

static void damaged_shared_file_is_refused(void **state) {
    (void)state;
    wr_checkpoint_store *store = wr_checkpoint_store_new(wr_world_posix(), dir, 0);
    write_with(store, 1, "1", (const char *[]){"a file", "both", NULL});
    write_with(store, 2, "2", (const char *[]){"both", "newer", NULL});
    char path[256], name[64], sub[32];
    for (int which = 0; which < 2; which++) {
        const char   *text = which ? "both" : "newer"; /* of the newest only; of both checkpoints */
        wr_checkpoint ck;
        bool   found;
        wr_err err = {0};
        assert_int_equal(wr_checkpoint_open(wr_world_posix(), dir, false, &ck, &found, &err), WR_OK);
        assert_int_equal(ck.files.at[0].name[0], 'b');
        snprintf(name, sizeof name, "%s", ck.files.at[!which].stored);
        snprintf(path, sizeof path, "%s/files/%s", dir, name);
        wr_checkpoint_close(&ck);
        for (size_t i = 0; i <= strlen(text) + 1; i++) { /* each byte; cut short; missing */
            snprintf(sub, sizeof sub, "%s", text);
            if (i < strlen(text)) sub[i] ^= 1;
            if (i <= strlen(text)) write_file(path, sub, i < strlen(text) ? strlen(text) : strlen(text) - 1);
            else unlink(path);
            assert_int_equal(wr_checkpoint_open(wr_world_posix(), dir, false, &ck, &found, &err), WR_CORRUPT);
            assert_false(found);
            assert_non_null(strstr(err.message, name));
            bool offered = strstr(err.hint, "checkpoint-000000000001.weir") != NULL;
            assert_int_equal(offered, !which);
            assert_int_equal(wr_checkpoint_open(wr_world_posix(), dir, true, &ck, &found, &err), which ? WR_CORRUPT : WR_OK);
            if (!which) wr_checkpoint_close(&ck);
        }
        write_file(path, text, strlen(text));
    }
    wr_checkpoint_store_free(store);
}

/* Made by the last builds with these formats (tests/fixtures/README.md says how). */
static void earlier_version_loads(uint32_t version) {
    wr_checkpoint ck;
    wr_err err = {0};
    char   path[512];
    uint64_t rows, bytes;
    snprintf(path, sizeof path, "tests/fixtures/checkpoint-v%u", version); /* unit tests run at the top of the tree */
    assert_int_equal(wr_checkpoint_read(wr_world_posix(), path, 10, &ck, &err), WR_OK);
    assert_int_equal(ck.version, version);
    assert_int_equal(ck.files.n, 0);
    assert_non_null(wr_checkpoint_find(&ck, WR_SECTION_JOB, WR_STR("job")));
    uint32_t operators = 0;
    for (uint32_t i = 0; i < ck.sections.n; i++) operators += ck.sections.at[i].kind == WR_SECTION_OPERATOR;
    assert_int_equal(operators, 2);
    wr_checkpoint_in_flight(&ck, &rows, &bytes);
    assert_int_equal(rows + bytes, 0);
    assert_int_equal(wr_checkpoint_check_settled(&ck, "a test", &err), WR_OK);
    wr_checkpoint_close(&ck);
}
static void earlier_versions_load(void **state) {
    (void)state;
    earlier_version_loads(1);
    earlier_version_loads(2);
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
        cmocka_unit_test_setup_teardown(shared_files_lie_once_and_go_with_their_last_checkpoint, make_dir, drop_dir),
        cmocka_unit_test_setup_teardown(files_are_placed_and_exported, make_dir, drop_dir),
        cmocka_unit_test_setup_teardown(damaged_shared_file_is_refused, make_dir, drop_dir),
        cmocka_unit_test(earlier_versions_load),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
