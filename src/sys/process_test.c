/* sys/process_test.c: programs are started with their output in files or a pipe; codes, signals, and one that is not there. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include "sys/process.h"
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static char dir[] = "/tmp/weir-process-XXXXXX";
static const int64_t LONG_US = INT64_C(60000000);
static int setup(void **state) {
    (void)state;
    return mkdtemp(dir) ? 0 : -1;
}
static int teardown(void **state) {
    wr_err err;
    (void)state;
    return wr_dir_remove(wr_world_posix(), dir, &err) == WR_OK ? 0 : -1;
}

static wr_process *sh(const char *text, bool piped) {
    static char out[64], errors[64];
    snprintf(out, sizeof out, "%s/out", dir);
    snprintf(errors, sizeof errors, "%s/err", dir);
    const char *argv[] = {"/bin/sh", "-c", text, NULL};
    wr_process *p = NULL;
    wr_err      err;
    assert_int_equal(wr_process_start(&(wr_process_opts){.argv = argv, .dir = dir, .out = out, .err = errors, .piped = piped}, &p, &err), WR_OK);
    return p;
}
static void holds(const char *name, const char *want) {
    char    path[64];
    wr_sbuf text = {0};
    wr_err  err;
    snprintf(path, sizeof path, "%s/%s", dir, name);
    assert_int_equal(wr_file_read_all(wr_world_posix(), path, 1000, &text, &err), WR_OK);
    assert_string_equal(text.at, want);
    wr_sbuf_free(&text);
}

static void output_and_code(void **state) {
    (void)state;
    int         code = -1;
    wr_process *p = sh("echo one; echo two >&2; echo three > here; exit 7", false);
    assert_true(wr_process_ended(p, LONG_US, &code));
    assert_int_equal(code, 7);
    wr_process_signal(p, SIGTERM); /* nobody is there any more */
    wr_process_free(p);
    holds("out", "one\n");
    holds("err", "two\n");
    holds("here", "three\n"); /* it worked in its directory */
}

static void signals(void **state) {
    (void)state;
    int         code = -1;
    wr_process *p = sh("exec sleep 1000", false);
    assert_false(wr_process_ended(p, 20000, &code));
    wr_process_signal(p, SIGTERM);
    assert_true(wr_process_ended(p, LONG_US, &code));
    assert_int_equal(code, 128 + SIGTERM);
    wr_process_free(p);
    wr_process_free(sh("exec sleep 1000", false)); /* killed */
}

static void a_pipe_that_is_read_later(void **state) {
    (void)state;
    int         code = -1;
    char        buf[4096];
    size_t      n = 0;
    wr_process *p = sh("head -c 300000 /dev/zero; echo done > done", true);
    assert_false(wr_process_ended(p, 100000, &code)); /* a pipe holds less than that */
    while (!wr_process_ended(p, 1000, &code))
        for (size_t got; (got = wr_process_read(p, buf, sizeof buf)) > 0;) n += got;
    for (size_t got; (got = wr_process_read(p, buf, sizeof buf)) > 0;) n += got;
    assert_int_equal(n, 300000);
    assert_int_equal(code, 0);
    wr_process_free(p);
    holds("done", "done\n");
}

static void none_there(void **state) {
    (void)state;
    const char *argv[] = {"/nowhere/weir", NULL};
    wr_process *p = NULL;
    wr_err      err;
    assert_int_equal(wr_process_start(&(wr_process_opts){.argv = argv, .out = "/dev/null", .err = "/dev/null"}, &p, &err), WR_IO);
    assert_non_null(strstr(err.message, "cannot start '/nowhere/weir': No such file"));
    assert_null(p);
    char self[4096];
    assert_non_null(wr_process_self(self));
    assert_non_null(strstr(self, "process_test"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(output_and_code), cmocka_unit_test(signals), cmocka_unit_test(a_pipe_that_is_read_later), cmocka_unit_test(none_there),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
