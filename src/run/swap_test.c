/* run/swap_test.c: a swap that is cut off at any call to the file system is finished by the next one, or has changed nothing. */
#include "run/swap.h"
#include <setjmp.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <cmocka.h>

static char dir[64], cwd[512];

static int enter(void **state) {
    (void)state;
    snprintf(dir, sizeof dir, "/tmp/weir-swap-XXXXXX");
    return mkdtemp(dir) && getcwd(cwd, sizeof cwd) && !chdir(dir) ? 0 : -1;
}
static int leave(void **state) {
    (void)state;
    wr_err err;
    return !chdir(cwd) && wr_dir_remove(wr_world_posix(), dir, &err) == WR_OK ? 0 : -1;
}

/* ---- a world in which every call that changes something fails from the k-th on, as if the process had died ---- */
static uint64_t calls, dies_at;
static wr_world_vt vt;
static wr_world dying = {&vt};
static wr_status lives(wr_err *err) { return ++calls >= dies_at ? wr_fail(err, WR_IO, "58030", "died at call %llu", (unsigned long long)calls) : WR_OK; }
#define REAL (wr_world_posix()->vt)
static wr_status d_open(wr_world *w, const char *path, int flags, wr_file **out, wr_err *err) {
    if (flags & WR_OPEN_WRITE) WR_TRY(lives(err));
    return REAL->file_open(w, path, flags, out, err);
}
static wr_status d_write(wr_world *w, wr_file *f, const void *buf, size_t len, wr_err *err) {
    if (lives(err) == WR_OK) return REAL->file_write(w, f, buf, len, err);
    wr_err ignored;
    (void)!REAL->file_write(w, f, buf, len / 2, &ignored); /* torn */
    return WR_IO;
}
static wr_status d_sync(wr_world *w, wr_file *f, wr_err *err) { (void)w, (void)f; return lives(err); } /* the disk is not what is tested */
static wr_status d_rename(wr_world *w, const char *a, const char *b, wr_err *err) { WR_TRY(lives(err)); return REAL->rename(w, a, b, err); }
static bool can_exchange;
static wr_status d_exchange(wr_world *w, const char *a, const char *b, wr_err *err) {
    if (!can_exchange) return wr_fail(err, WR_UNSUPPORTED, "0A000", "no");
    WR_TRY(lives(err));
    return REAL->exchange(w, a, b, err);
}
static wr_status d_remove(wr_world *w, const char *path, wr_err *err) { WR_TRY(lives(err)); return REAL->remove(w, path, err); }
static wr_status d_make(wr_world *w, const char *path, wr_err *err) { WR_TRY(lives(err)); return REAL->make_dirs(w, path, err); }
static wr_status d_sync_dir(wr_world *w, const char *path, wr_err *err) { (void)w, (void)path; return lives(err); }
static wr_status d_link(wr_world *w, const char *a, const char *b, wr_err *err) { WR_TRY(lives(err)); return REAL->link(w, a, b, err); }

static wr_world *quiet(void) { return dies_at = UINT64_MAX, &dying; }
static int hook(void **state) {
    (void)state;
    vt = *REAL;
    vt.file_open = d_open, vt.file_write = d_write, vt.file_sync = d_sync, vt.rename = d_rename, vt.remove = d_remove, vt.make_dirs = d_make, vt.sync_dir = d_sync_dir;
    vt.link = d_link, vt.exchange = d_exchange;
    return 0;
}

/* ---- what there is before ---- */
static void put(const char *path, const char *text) {
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    fclose(f);
}
static void make(const char *path) {
    wr_err err = {0};
    assert_int_equal(wr_world_posix()->vt->make_dirs(wr_world_posix(), path, &err), WR_OK);
}
static void sql(const char *text) {
    sqlite3 *db;
    char    *why = NULL;
    assert_int_equal(sqlite3_open("db", &db), SQLITE_OK);
    sqlite3_exec(db, "PRAGMA synchronous = OFF", NULL, NULL, NULL);
    if (sqlite3_exec(db, text, NULL, NULL, &why) != SQLITE_OK) fail_msg("%s: %s", text, why);
    sqlite3_close(db);
}
static int64_t number(const char *text) {
    sqlite3      *db;
    sqlite3_stmt *st;
    assert_int_equal(sqlite3_open("db", &db), SQLITE_OK);
    if (sqlite3_prepare_v2(db, text, -1, &st, NULL) != SQLITE_OK) fail_msg("%s: %s", text, sqlite3_errmsg(db));
    assert_int_equal(sqlite3_step(st), SQLITE_ROW);
    int64_t n = sqlite3_column_int64(st, 0);
    sqlite3_finalize(st);
    sqlite3_close(db);
    return n;
}

static void checkpoint(const char *where, uint64_t epoch, const char *text, const char *file) {
    wr_checkpoint_store  *store = wr_checkpoint_store_new(quiet(), where, 2);
    wr_checkpoint_writer  w;
    wr_checkpoint_written written;
    wr_err  err = {0};
    wr_sbuf content = {0}, sink = {0};
    make(where);
    wr_checkpoint_begin(&w, epoch);
    wr_sbuf_addz(&content, text);
    wr_checkpoint_put(&w, WR_SECTION_OPERATOR, WR_STR("agg"), 0, &content);
    wr_sbuf_addz(&sink, text);
    wr_checkpoint_put(&w, WR_SECTION_SINK, WR_STR("sink-u"), 0, &sink);
    put("incoming", file);
    assert_int_equal(wr_checkpoint_add_file(store, &w, "1.sst", "incoming", true, &err), WR_OK);
    assert_int_equal(wr_checkpoint_commit(store, &w, &written, &err), WR_OK);
    wr_checkpoint_abandon(&w);
    wr_checkpoint_store_free(store);
}

static wr_output outputs[] = {{.sink = {"d", 1}, .path = {"out/d", 5}}, {.sink = {"f", 1}, .path = {"f.jsonl", 7}}, {.sink = {"g", 1}, .path = {"g", 1}},
                              {.database = true, .sink = {"t", 1}, .path = {"db", 2}, .table = {"t", 1}, .job = {"weir", 4}},
                              {.database = true, .kept = true, .sink = {"u", 1}, .path = {"db", 2}, .table = {"u", 1}, .job = {"weir", 4}}};
enum { N = sizeof outputs / sizeof *outputs };

static void set_up(void) {
    wr_err        err = {0};
    wr_world     *w = quiet();
    wr_checkpoint live, made;
    const char   *all[] = {"out", "f.jsonl", ".f.jsonl.next", ".f.jsonl.old", "g", ".g.next", "db", "db-wal", "db-shm", "st"};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) (void)!wr_dir_remove(w, all[i], &err), unlink(all[i]);
    err = (wr_err){0};
    make("out/d"), make("out/.d.next"), make("out/.d.old"), make("st");
    put("out/d/part-1", "old"), put("out/.d.next/part-2", "new"), put("out/.d.old/part-0", "ancient");
    put("f.jsonl", "old"), put(".f.jsonl.next", "new"), put(".g.next", "new");
    sql("CREATE TABLE t (k INT PRIMARY KEY, v TEXT); INSERT INTO t VALUES (1, 'old'); CREATE INDEX by_v ON t (v); CREATE VIEW vw AS SELECT COUNT(*) AS n FROM t;"
        "CREATE TABLE seen (k INT); CREATE TRIGGER tr AFTER INSERT ON t BEGIN INSERT INTO seen VALUES (NEW.k); END;"
        "CREATE TABLE t__next (k INT PRIMARY KEY, v TEXT); INSERT INTO t__next VALUES (1, 'new'), (2, 'new'); CREATE TABLE t__old (x); CREATE TABLE u (x);"
        "CREATE TABLE weir_epoch (job TEXT, sink TEXT, epoch INTEGER, PRIMARY KEY (job, sink)); INSERT INTO weir_epoch VALUES ('weir', 't', 7), ('weir', 't__next', 3), ('weir', 'u', 7), ('other', 't', 5)");
    checkpoint("st", 6, "older", "old file"), checkpoint("st", 7, "old", "old file"), checkpoint("st/backfill/state", 3, "new", "new file");
    for (int i = 0; i < N; i++)
        if (!outputs[i].kept) assert_int_equal(wr_output_look(w, &outputs[i], &err), WR_OK);
    make("st/backfill/install");
    assert_int_equal(wr_checkpoint_read(w, "st", 7, &live, &err), WR_OK);
    assert_int_equal(wr_checkpoint_read(w, "st/backfill/state", 3, &made, &err), WR_OK);
    wr_str kept = WR_STR("sink-u");
    assert_int_equal(wr_swap_checkpoint(w, "st/backfill/install", &made, 8, &kept, 1, &live, &err), WR_OK);
    wr_checkpoint_close(&live);
    wr_checkpoint_close(&made);
}

/* ---- what there is afterwards ---- */
static void expect_text(const char *path, const char *text) {
    wr_sbuf got = {0};
    wr_err  err = {0};
    if (wr_file_read_all(wr_world_posix(), path, 100, &got, &err) != WR_OK) fail_msg("%s", err.message);
    assert_true(wr_str_eq(wr_sbuf_str(&got), wr_str_of(text)));
    wr_sbuf_free(&got);
}
static bool there(const char *path) { return access(path, F_OK) == 0; }

static void expect(bool is_new) {
    wr_checkpoint ck;
    wr_err err = {0};
    bool   found;
    expect_text(is_new ? "out/d/part-2" : "out/d/part-1", is_new ? "new" : "old");
    expect_text("f.jsonl", is_new ? "new" : "old");
    assert_int_equal(there("g"), is_new);
    assert_int_equal(number("SELECT COUNT(*) FROM t WHERE v = 'new'"), is_new ? 2 : 0);
    assert_int_equal(number("SELECT n FROM vw"), is_new ? 2 : 1);
    assert_int_equal(number("SELECT epoch FROM weir_epoch WHERE job = 'weir' AND sink = 't'"), is_new ? 8 : 7);
    assert_int_equal(number("SELECT epoch FROM weir_epoch WHERE job = 'weir' AND sink = 'u'"), is_new ? 8 : 7);
    assert_int_equal(wr_checkpoint_open(wr_world_posix(), "st", false, &ck, &found, &err), WR_OK); /* every file of it whole */
    assert_true(found);
    assert_int_equal(ck.epoch, is_new ? 8 : 7);
    assert_true(wr_str_eq(wr_checkpoint_find(&ck, WR_SECTION_OPERATOR, WR_STR("agg"))->content, wr_str_of(is_new ? "new" : "old")));
    assert_true(wr_str_eq(wr_checkpoint_find(&ck, WR_SECTION_SINK, WR_STR("sink-u"))->content, WR_STR("old"))); /* kept: goes on as it is */
    const wr_section *staged = wr_checkpoint_find(&ck, WR_SECTION_SINK, WR_STR(WR_STAGED_EPOCH_OWNER "sink-u"));
    assert_int_equal(staged != NULL, is_new);
    if (staged) assert_int_equal(wr_get_u64(&(wr_reader){(const uint8_t *)staged->content.ptr, (const uint8_t *)staged->content.ptr + staged->content.len, false}), 7);
    wr_checkpoint_close(&ck);
    assert_int_equal(there("st/backfill"), !is_new);
    assert_false(there("st/swap.journal"));
    if (!is_new) return;
    expect_text("out/.d.old/part-1", "old"), expect_text(".f.jsonl.old", "old");
    assert_false(there("out/.d.next") || there(".f.jsonl.next") || there("out/.d.old/part-0"));
    assert_int_equal(number("SELECT COUNT(*) FROM t__old WHERE v = 'old'"), 1);
    assert_int_equal(number("SELECT COUNT(*) FROM sqlite_master WHERE name = 'by_v' AND tbl_name = 't'"), 1);
    assert_int_equal(number("SELECT COUNT(*) FROM weir_epoch"), 3);
    sql("INSERT INTO t VALUES (9, 'x')"); /* the trigger fires for the new table */
    assert_int_equal(number("SELECT k FROM seen"), 9);
    sql("DELETE FROM t WHERE k = 9; DELETE FROM seen");
}

static void any_call(bool exchange) {
    can_exchange = exchange;
    uint32_t undone = 0, repaired = 0;
    for (uint64_t at = 1;; at++) {
        wr_err err = {0};
        set_up();
        calls = 0, dies_at = at;
        wr_status status = wr_swap_begin(&dying, "st", outputs, N, 8, 7, &err);
        if (status == WR_OK) status = wr_swap_finish(&dying, "st", &err);
        if (status == WR_OK) break;
        err = (wr_err){0};
        bool decided = wr_swap_pending(wr_world_posix(), "st");
        if (wr_swap_finish(quiet(), "st", &err) != WR_OK) fail_msg("after call %llu: %s", (unsigned long long)at, err.message);
        if (!decided && there("st/backfill")) expect(false), undone++;
        else expect(true), repaired++;
        assert_int_equal(wr_swap_finish(quiet(), "st", &err), WR_OK); /* nothing more to do */
    }
    expect(true);
    assert_true(undone >= 3 && repaired >= 12);
}

static void test_any_call(void **state) {
    (void)state;
    any_call(true);
}
static void test_any_call_without_exchange(void **state) {
    (void)state;
    any_call(false);
}

static void test_damaged_journal(void **state) {
    (void)state;
    wr_err  err = {0};
    wr_sbuf text = {0};
    set_up();
    assert_int_equal(wr_swap_begin(quiet(), "st", outputs, N, 8, 7, &err), WR_OK);
    assert_int_equal(wr_file_read_all(wr_world_posix(), "st/swap.journal", 4096, &text, &err), WR_OK);
    for (size_t i = 0; i < text.len; i++) {
        text.at[i] ^= 4;
        FILE *f = fopen("st/swap.journal", "wb");
        assert_int_equal(fwrite(text.at, 1, i % 7 ? text.len : i, f), i % 7 ? text.len : i); /* or cut off there */
        fclose(f);
        assert_int_equal(wr_swap_finish(quiet(), "st", &err), WR_CORRUPT);
        assert_string_equal(err.code, "WR323");
        text.at[i] ^= 4;
    }
    unlink("st/swap.journal");
    expect(false);
    wr_sbuf_free(&text);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test_setup_teardown(test_any_call, enter, leave), cmocka_unit_test_setup_teardown(test_any_call_without_exchange, enter, leave),
                                          cmocka_unit_test_setup_teardown(test_damaged_journal, enter, leave)};
    return cmocka_run_group_tests(tests, hook, NULL);
}
