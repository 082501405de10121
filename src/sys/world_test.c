/* sys/world_test.c: the real world: files and directories in a scratch directory, errors, clocks, threads, bell, mutex.  */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include "sys/world.h"
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static wr_world *w;
static char      scratch[64];

static int make_scratch(void **state) {
    (void)state;
    w = wr_world_posix();
    strcpy(scratch, "/tmp/weir-world-XXXXXX");
    return mkdtemp(scratch) ? 0 : -1;
}

static int remove_scratch(void **state) {
    (void)state;
    wr_file_info *list;
    size_t        n;
    if (w->vt->list(w, scratch, &list, &n, NULL) != WR_OK) return -1;
    for (size_t i = 0; i < n; i++) {
        wr_sbuf path = {0};
        wr_sbuf_printf(&path, "%s/%s", scratch, list[i].name);
        w->vt->remove(w, path.at, NULL);
        wr_sbuf_free(&path);
    }
    wr_free(list);
    return w->vt->remove(w, scratch, NULL) == WR_OK ? 0 : -1;
}

static const char *in_scratch(const char *name) {
    static char paths[8][160];
    static int  next;
    char       *path = paths[next++ % 8];
    strcpy(path, scratch);
    strcat(path, "/");
    return strcat(path, name);
}

static void files_write_read_append(void **state) {
    (void)state;
    wr_err       err;
    wr_file     *f;
    wr_file_info info;
    char         buf[32];
    size_t       got;
    const char  *path = in_scratch("a");
    assert_int_equal(w->vt->file_open(w, path, WR_OPEN_WRITE | WR_OPEN_CREATE | WR_OPEN_EXCLUSIVE, &f, &err), WR_OK);
    assert_int_equal(w->vt->file_write(w, f, "hello ", 6, &err), WR_OK);
    assert_int_equal(w->vt->file_write(w, f, "world", 5, &err), WR_OK);
    assert_int_equal(w->vt->file_sync(w, f, &err), WR_OK);
    w->vt->file_close(w, f);
    assert_int_equal(w->vt->file_open(w, path, WR_OPEN_WRITE | WR_OPEN_CREATE | WR_OPEN_EXCLUSIVE, &f, &err), WR_IO);
    assert_int_equal(w->vt->file_open(w, path, WR_OPEN_READ | WR_OPEN_WRITE | WR_OPEN_APPEND, &f, &err), WR_OK);
    assert_int_equal(w->vt->file_write(w, f, "!", 1, &err), WR_OK);
    assert_int_equal(w->vt->file_pread(w, f, buf, sizeof buf, 6, &got, &err), WR_OK);
    assert_true(got == 6 && !memcmp(buf, "world!", 6));
    assert_int_equal(w->vt->file_truncate(w, f, 3, &err), WR_OK);
    assert_int_equal(w->vt->file_info(w, f, &info, &err), WR_OK);
    assert_true(info.size_bytes == 3 && !info.is_dir && info.inode && llabs(info.mtime_us - wr_wall_us(w)) < 60000000);
    assert_int_equal(w->vt->file_pread(w, f, buf, sizeof buf, 100, &got, &err), WR_OK);
    assert_int_equal(got, 0);
    w->vt->file_close(w, f);
    w->vt->file_close(w, NULL);
}

static void missing_things_are_named(void **state) {
    (void)state;
    wr_err       err;
    wr_file     *f;
    wr_file_info info, *list;
    size_t       n;
    bool         exists = true;
    assert_int_equal(w->vt->file_open(w, in_scratch("none"), WR_OPEN_READ, &f, &err), WR_IO);
    assert_null(f);
    assert_non_null(strstr(err.message, "/none': No such file or directory"));
    assert_true(!strcmp(err.code, "58P01") && !err.retriable);
    assert_int_equal(w->vt->stat(w, in_scratch("none"), &info, &exists, &err), WR_OK);
    assert_false(exists);
    assert_int_equal(w->vt->list(w, in_scratch("none"), &list, &n, &err), WR_IO);
    assert_int_equal(w->vt->remove(w, in_scratch("none"), &err), WR_IO);
    assert_int_equal(w->vt->rename(w, in_scratch("none"), in_scratch("other"), &err), WR_IO);
    assert_int_equal(w->vt->file_open(w, "/dev/full", WR_OPEN_WRITE, &f, &err), WR_OK);
    assert_int_equal(w->vt->file_write(w, f, "x", 1, &err), WR_IO);
    assert_string_equal(err.code, "53100"); /* disk full */
    w->vt->file_close(w, f);
}

static void links_share_or_copy(void **state) {
    (void)state;
    wr_err       err;
    wr_file_info a, b;
    bool         exists;
    wr_sbuf      content = {0};
    assert_int_equal(wr_file_replace(w, in_scratch("from"), WR_STR("linked"), &err), WR_OK);
    assert_int_equal(w->vt->link(w, in_scratch("from"), in_scratch("to"), &err), WR_OK);
    assert_int_equal(w->vt->stat(w, in_scratch("from"), &a, &exists, &err), WR_OK);
    assert_int_equal(w->vt->stat(w, in_scratch("to"), &b, &exists, &err), WR_OK);
    assert_true(exists && a.inode == b.inode);
    assert_int_equal(w->vt->link(w, in_scratch("from"), in_scratch("to"), &err), WR_IO); /* never replaces */
    assert_int_equal(w->vt->link(w, in_scratch("none"), in_scratch("other"), &err), WR_IO);
    if (w->vt->stat(w, "/dev/shm", &b, &exists, &err) == WR_OK && exists && b.device != a.device) { /* no hard links between file systems */
        char other[64];
        snprintf(other, sizeof other, "/dev/shm/weir-link-%d", (int)getpid());
        assert_int_equal(w->vt->link(w, in_scratch("from"), other, &err), WR_OK);
        assert_int_equal(wr_file_read_all(w, other, 100, &content, &err), WR_OK);
        assert_true(wr_str_eq(wr_sbuf_str(&content), WR_STR("linked")));
        assert_int_equal(w->vt->remove(w, other, &err), WR_OK);
    }
    wr_sbuf_free(&content);
}

static void directories(void **state) {
    (void)state;
    wr_err        err;
    wr_file_info  info, *list;
    size_t        n;
    bool          exists;
    assert_int_equal(w->vt->make_dirs(w, in_scratch("d/e/f"), &err), WR_OK);
    assert_int_equal(w->vt->make_dirs(w, in_scratch("d/e/f"), &err), WR_OK);
    assert_int_equal(w->vt->make_dirs(w, in_scratch("d/g"), &err), WR_OK);
    assert_int_equal(wr_file_replace(w, in_scratch("d/a"), WR_STR("x"), &err), WR_OK);
    assert_int_equal(w->vt->make_dirs(w, in_scratch("d/a"), &err), WR_IO);
    assert_int_equal(w->vt->stat(w, in_scratch("d/e"), &info, &exists, &err), WR_OK);
    assert_true(exists && info.is_dir);
    assert_int_equal(w->vt->list(w, in_scratch("d"), &list, &n, &err), WR_OK);
    assert_int_equal(n, 3);
    assert_string_equal(list[0].name, "a");
    assert_string_equal(list[1].name, "e");
    assert_string_equal(list[2].name, "g");
    assert_true(list[0].size_bytes == 1 && list[1].is_dir);
    wr_free(list);
    assert_int_equal(w->vt->sync_dir(w, in_scratch("d"), &err), WR_OK);
    assert_int_equal(w->vt->remove(w, in_scratch("d/e"), &err), WR_IO); /* not empty */
    const char *gone[] = {"d/e/f", "d/e", "d/g", "d/a", "d"};
    for (size_t i = 0; i < WR_COUNT_OF(gone); i++) assert_int_equal(w->vt->remove(w, in_scratch(gone[i]), &err), WR_OK);
}

static void whole_files(void **state) {
    (void)state;
    wr_err  err;
    wr_sbuf big = {0}, back = {0};
    for (int i = 0; i < 50000; i++) wr_sbuf_printf(&big, "%d\n", i);
    assert_int_equal(wr_file_replace(w, in_scratch("big"), wr_sbuf_str(&big), &err), WR_OK);
    assert_int_equal(wr_file_read_all(w, in_scratch("big"), 1 << 20, &back, &err), WR_OK);
    assert_true(wr_str_eq(wr_sbuf_str(&big), wr_sbuf_str(&back)));
    wr_sbuf_clear(&back);
    assert_int_equal(wr_file_read_all(w, in_scratch("big"), 1000, &back, &err), WR_LIMIT);
    assert_int_equal(wr_file_replace(w, in_scratch("big"), WR_STR(""), &err), WR_OK);
    wr_sbuf_clear(&back);
    assert_int_equal(wr_file_read_all(w, in_scratch("big"), 1000, &back, &err), WR_OK);
    assert_int_equal(back.len, 0);
    wr_sbuf_clear(&back);
    assert_int_equal(wr_file_read_all(w, "/proc/self/status", 1 << 20, &back, &err), WR_OK);
    assert_true(back.len > 100);
    assert_int_equal(wr_file_replace(w, in_scratch("no/such/dir"), WR_STR("x"), &err), WR_IO);
    wr_sbuf_free(&big);
    wr_sbuf_free(&back);
}

static void clocks_and_machine(void **state) {
    (void)state;
    int64_t before = wr_mono_us(w);
    w->vt->sleep_us(w, 2000);
    assert_true(wr_mono_us(w) - before >= 2000);
    assert_true(wr_wall_us(w) > INT64_C(1700000000000000));
    assert_true(w->vt->random(w) != w->vt->random(w));
    assert_true(wr_cpu_count() >= 1 && wr_ram_bytes() > 1 << 20 && wr_rss_bytes() > 1 << 20 && wr_peak_rss_bytes() >= 1 << 20 && wr_cpu_time_us() > 0);
}

typedef struct shared {
    wr_bell  *ping, *pong;
    wr_mutex *mutex;
    int       count, rounds;
} shared;

static void answer(void *arg) {
    shared *s = arg;
    for (int i = 0; i < 1000; i++) {
        while (true) {
            wr_mutex_lock(s->mutex);
            bool go = s->rounds > i;
            wr_mutex_unlock(s->mutex);
            if (go) break;
            wr_bell_wait(s->ping, 1000000);
        }
        wr_mutex_lock(s->mutex);
        s->count++;
        wr_mutex_unlock(s->mutex);
        wr_bell_ring(s->pong);
    }
}

static void bells_wake_threads(void **state) {
    (void)state;
    shared  s = {wr_bell_new(), wr_bell_new(), wr_mutex_new(), 0, 0};
    void   *thread;
    wr_err  err;
    int64_t start = wr_mono_us(w);
    assert_int_equal(w->vt->spawn(w, "a name that is too long", answer, &s, &thread, &err), WR_OK);
    for (int i = 0; i < 1000; i++) {
        wr_mutex_lock(s.mutex);
        s.rounds = i + 1;
        wr_mutex_unlock(s.mutex);
        wr_bell_ring(s.ping);
        while (true) {
            wr_mutex_lock(s.mutex);
            bool done = s.count > i;
            wr_mutex_unlock(s.mutex);
            if (done) break;
            wr_bell_wait(s.pong, 1000000);
        }
    }
    w->vt->join(w, thread);
    assert_int_equal(s.count, 1000);
    assert_true(wr_mono_us(w) - start < 30000000); /* a lost ring would cost a second each */
    int64_t before = wr_mono_us(w);
    wr_bell_ring(s.ping);
    wr_bell_wait(s.ping, 5000000); /* rung before: at once */
    wr_bell_wait(s.ping, 0);
    wr_bell_wait(s.ping, -5);
    wr_bell_wait(s.ping, 3000);
    int64_t took = wr_mono_us(w) - before;
    assert_true(took >= 3000 && took < 4000000);
    wr_bell_free(s.ping);
    wr_bell_free(s.pong);
    wr_mutex_free(s.mutex);
    wr_bell_free(NULL);
}

/* Nobody reads the pipe: as much goes in as there is room for, and no more when it is full. */
static void a_stream_without_a_reader(void **state) {
    (void)state;
    enum { LEN = 4 << 20 };
    char  *text = wr_calloc(LEN, 1), *got = wr_calloc(LEN, 1);
    int    ends[2];
    size_t n, more;
    wr_err err = {0};
    assert_int_equal(pipe(ends), 0);
    for (size_t i = 0; i < LEN; i++) text[i] = (char)(i * 7 + i / 256);
    assert_int_equal(wr_stream_write(ends[1], text, LEN, 0, &n, &err), WR_OK);
    assert_true(n > 0 && n < LEN);
    assert_int_equal(wr_stream_write(ends[1], text + n, LEN - n, 1000, &more, &err), WR_OK);
    assert_int_equal(more, 0);
    for (size_t at = 0; at < n;) at += (size_t)read(ends[0], got + at, n - at);
    assert_memory_equal(got, text, n);
    assert_int_equal(wr_stream_write(ends[1], text, 10, 1000, &more, &err), WR_OK);
    assert_int_equal(more, 10);
    close(ends[0]);
    signal(SIGPIPE, SIG_IGN);
    assert_int_equal(wr_stream_write(ends[1], text, 10, 1000, &more, &err), WR_IO);
    assert_string_equal(err.code, "08006");
    close(ends[1]);
    wr_free(text), wr_free(got);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(files_write_read_append), cmocka_unit_test(missing_things_are_named), cmocka_unit_test(directories),
                                       cmocka_unit_test(links_share_or_copy),
                                       cmocka_unit_test(whole_files), cmocka_unit_test(clocks_and_machine), cmocka_unit_test(bells_wake_threads), cmocka_unit_test(a_stream_without_a_reader)};
    return cmocka_run_group_tests_name("sys.world", tests, make_scratch, remove_scratch);
}
