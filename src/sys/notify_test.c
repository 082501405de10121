/* sys/notify_test.c: changes of a directory are told once for each time somebody asked, and to those alone who asked for that directory. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include "sys/notify.h"
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

typedef struct heard { wr_bell *bell; _Atomic int n; } heard;
static const int64_t LONG_US = INT64_C(60000000);

static void on_change(void *arg) {
    heard *h = arg;
    atomic_fetch_add(&h->n, 1);
    wr_bell_ring(h->bell);
}

static void await(heard *h, int n) {
    for (int64_t until = wr_mono_us(wr_world_posix()) + LONG_US; atomic_load(&h->n) < n && wr_mono_us(wr_world_posix()) < until;) wr_bell_wait(h->bell, 100000);
    assert_int_equal(atomic_load(&h->n), n);
}

static void add(const char *dir, const char *name) {
    char path[200];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    FILE *f = fopen(path, "a");
    assert_non_null(f);
    fputs("x", f);
    fclose(f);
}

static void drop(const char *dir, const char *name) {
    char path[200];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    unlink(path);
    rmdir(dir);
}

static void test_told_once_a_time(void **state) {
    (void)state;
    char       a[] = "/tmp/weir-notify-XXXXXX", b[] = "/tmp/weir-notify-XXXXXX";
    heard      of_a = {.bell = wr_bell_new()}, of_b = {.bell = wr_bell_new()};
    wr_notify *na, *nb;
    assert_non_null(mkdtemp(a));
    assert_non_null(mkdtemp(b));
    assert_non_null(na = wr_notify_new(on_change, &of_a));
    assert_non_null(nb = wr_notify_new(on_change, &of_b));
    wr_notify_dir(na, a), wr_notify_dir(na, a);
    wr_notify_dir(nb, b);
    wr_notify_arm(na), wr_notify_arm(nb);
    add(a, "f");
    await(&of_a, 1);
    add(a, "f"); /* nobody asked again: what is told next is of the next time */
    add(b, "f"); /* behind it in the one queue of events */
    await(&of_b, 1);
    assert_int_equal(atomic_load(&of_a.n), 1);
    wr_notify_arm(na);
    add(a, "g");
    await(&of_a, 2);
    wr_notify_close(na);
    wr_notify_arm(nb);
    add(b, "f");
    await(&of_b, 2);
    wr_notify_close(nb);
    assert_int_equal(atomic_load(&of_a.n), 2);
    drop(a, "f"), drop(a, "g"), drop(b, "f");
    wr_bell_free(of_a.bell), wr_bell_free(of_b.bell);
}

static void test_nothing_there(void **state) {
    (void)state;
    heard      h = {.bell = wr_bell_new()};
    wr_notify *n = wr_notify_new(on_change, &h);
    wr_notify_dir(n, "/nowhere/at/all");
    wr_notify_arm(n);
    wr_notify_arm(NULL), wr_notify_close(NULL);
    wr_notify_close(n);
    assert_int_equal(atomic_load(&h.n), 0);
    wr_bell_free(h.bell);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_told_once_a_time), cmocka_unit_test(test_nothing_there)};
    return cmocka_run_group_tests_name("sys/notify", tests, NULL, NULL);
}
