/* tests/golden/fault.c: every call to the world fails once.
 *
 * Idea       (SQLite's malloc and I/O tests) a case runs with the k-th file call failing, for k = 1, 2, ... until a run makes fewer calls than k. The run
 *            must end with an error that says what happened (or not notice, where the call did not matter), never crash or hang; then the same job
 *            goes on from its state directory in the real world and must give the expected rows, each once.
 * Use        golden_fault FILE.test ...: cases with a rows block. Last line: N passed, N failed (one count a case).                    */
#include "golden.h"
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

typedef struct fault_world {
    wr_world  base;
    wr_world *real;
    uint64_t  calls, fail_at;
} fault_world;

static bool strikes(wr_world *w) {
    fault_world *f = (fault_world *)w;
    return ++f->calls == f->fail_at;
}
static wr_world *real(wr_world *w) { return ((fault_world *)w)->real; }
static wr_status struck(const char *what, wr_err *err) { return wr_fail(err, WR_IO, "58030", "injected fault in %s", what); }
#define WRAP(name, params, args)                                         \
    static wr_status f_##name params {                                   \
        if (strikes(w)) return struck(#name, err);                       \
        return real(w)->vt->name args;                                   \
    }
WRAP(file_open, (wr_world * w, const char *path, int flags, wr_file **out, wr_err *err), (real(w), path, flags, out, err))
WRAP(file_pread, (wr_world * w, wr_file *f, void *buf, size_t len, uint64_t offset, size_t *got, wr_err *err), (real(w), f, buf, len, offset, got, err))
WRAP(file_write, (wr_world * w, wr_file *f, const void *buf, size_t len, wr_err *err), (real(w), f, buf, len, err))
WRAP(file_sync, (wr_world * w, wr_file *f, wr_err *err), (real(w), f, err))
WRAP(file_truncate, (wr_world * w, wr_file *f, uint64_t size, wr_err *err), (real(w), f, size, err))
WRAP(file_info, (wr_world * w, wr_file *f, wr_file_info *out, wr_err *err), (real(w), f, out, err))
WRAP(stat, (wr_world * w, const char *path, wr_file_info *out, bool *exists, wr_err *err), (real(w), path, out, exists, err))
WRAP(list, (wr_world * w, const char *dir, wr_file_info **out, size_t *n, wr_err *err), (real(w), dir, out, n, err))
WRAP(rename, (wr_world * w, const char *from, const char *to, wr_err *err), (real(w), from, to, err))
WRAP(remove, (wr_world * w, const char *path, wr_err *err), (real(w), path, err))
WRAP(make_dirs, (wr_world * w, const char *path, wr_err *err), (real(w), path, err))
WRAP(sync_dir, (wr_world * w, const char *path, wr_err *err), (real(w), path, err))
static int64_t f_mono(wr_world *w) { return wr_mono_us(real(w)); }
static int64_t f_wall(wr_world *w) { return wr_wall_us(real(w)); }
static uint64_t f_random(wr_world *w) { return real(w)->vt->random(real(w)); }
static void f_close(wr_world *w, wr_file *f) { real(w)->vt->file_close(real(w), f); }
static wr_status f_spawn(wr_world *w, const char *name, void (*run)(void *), void *arg, void **t, wr_err *err) {
    return real(w)->vt->spawn(real(w), name, run, arg, t, err);
}
static void f_join(wr_world *w, void *t) { real(w)->vt->join(real(w), t); }
static void f_sleep(wr_world *w, int64_t us) { real(w)->vt->sleep_us(real(w), us); }
static const wr_world_vt fault_vt = {f_mono, f_wall, f_random, f_file_open, f_close, f_file_pread, f_file_write, f_file_sync, f_file_truncate, f_file_info,
                                     f_stat, f_list, f_rename, f_remove, f_make_dirs, f_sync_dir, f_spawn, f_join, f_sleep};

static int by_text(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

/* Final rows of "+I row" lines, sorted, as one text; the expected block sorted likewise. */
static char *sorted(const char *text, bool changes) {
    char *copy = wr_strdup(text), *save;
    WR_ARR(char *) rows = {0};
    for (char *line = strtok_r(copy, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
        if (!changes || line[0] == '+') {
            wr_arr_push(&rows, changes ? line + 3 : line);
            continue;
        }
        for (uint32_t k = 0; k < rows.n; k++)
            if (strcmp(rows.at[k], line + 3) == 0) {
                rows.at[k] = rows.at[--rows.n];
                break;
            }
    }
    if (rows.n) qsort(rows.at, rows.n, sizeof *rows.at, by_text);
    wr_sbuf out = {0};
    for (uint32_t i = 0; i < rows.n; i++) wr_sbuf_printf(&out, "%s\n", rows.at[i]);
    if (!out.at) wr_sbuf_addz(&out, "");
    wr_arr_free(&rows);
    wr_free(copy);
    return out.at;
}

static bool run_faults(const golden_case *c) {
    char *want = sorted(c->rows, false);
    bool  ok = true;
    for (uint64_t k = 1; ok; k++) {
        fault_world    world = {.base.vt = &fault_vt, .real = wr_world_posix(), .fail_at = k};
        golden_setting s = {.name = "fault", .workers = 2, .batch = 2, .simulate = true, .seed = k, .faulty = &world.base};
        char dir[] = "/tmp/weir-fault-XXXXXX";
        wr_assert(mkdtemp(dir));
        golden_write_files(c, dir);
        golden_result r = {0};
        golden_run(c, &s, dir, &r);
        char *got = sorted(r.rows.at ? r.rows.at : "", true);
        if (r.status != WR_OK || strcmp(got, want) != 0) {
            printf("FAIL %s:%u %s: with the %llu-th call failing: %s\n  expected\n%s  got\n%s%s\n", c->path, c->line, c->name, (unsigned long long)k,
                   wr_status_name(r.status), want, got, r.messages.at ? r.messages.at : "");
            ok = false;
        }
        bool reached = world.calls >= k;
        wr_free(got);
        golden_result_free(&r);
        golden_remove_tree(dir);
        if (!reached) break;
    }
    wr_free(want);
    return ok;
}

int main(int argc, char **argv) {
    uint32_t passed = 0, failed = 0;
    for (int i = 1; i < argc; i++) {
        char        *text = golden_read_file(argv[i]), message[512];
        golden_cases cases = {0};
        if (!text || !golden_parse(argv[i], text, &cases, message, sizeof message)) {
            printf("FAIL %s\n", text ? message : argv[i]);
            failed++;
        }
        for (uint32_t k = 0; text && k < cases.n; k++) {
            if (!cases.at[k].rows || cases.at[k].loose || cases.at[k].error) continue;
            if (run_faults(&cases.at[k])) passed++;
            else failed++;
        }
        for (uint32_t k = 0; k < cases.n; k++) wr_arr_free(&cases.at[k].files), wr_arr_free(&cases.at[k].settings);
        wr_arr_free(&cases);
        wr_free(text);
    }
    printf("%u passed, %u failed\n", passed, failed);
    return failed ? 1 : 0;
}
