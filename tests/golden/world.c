/* tests/golden/world.c: the real world, except that syncs cost no disk time and the fail_at-th file call fails. */
#include "golden.h"

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
WRAP(file_lock, (wr_world * w, wr_file *f, bool *taken, wr_err *err), (real(w), f, taken, err))
WRAP(file_truncate, (wr_world * w, wr_file *f, uint64_t size, wr_err *err), (real(w), f, size, err))
WRAP(file_info, (wr_world * w, wr_file *f, wr_file_info *out, wr_err *err), (real(w), f, out, err))
WRAP(stat, (wr_world * w, const char *path, wr_file_info *out, bool *exists, wr_err *err), (real(w), path, out, exists, err))
WRAP(list, (wr_world * w, const char *dir, wr_file_info **out, size_t *n, wr_err *err), (real(w), dir, out, n, err))
WRAP(rename, (wr_world * w, const char *from, const char *to, wr_err *err), (real(w), from, to, err))
WRAP(remove, (wr_world * w, const char *path, wr_err *err), (real(w), path, err))
WRAP(link, (wr_world * w, const char *from, const char *to, wr_err *err), (real(w), from, to, err))
WRAP(exchange, (wr_world * w, const char *a, const char *b, wr_err *err), (real(w), a, b, err))
WRAP(make_dirs, (wr_world * w, const char *path, wr_err *err), (real(w), path, err))
/* Syncs may fail, but cost no disk time here. */
static wr_status f_file_sync(wr_world *w, wr_file *f, wr_err *err) { return (void)f, strikes(w) ? struck("file_sync", err) : WR_OK; }
static wr_status f_sync_dir(wr_world *w, const char *path, wr_err *err) { return (void)path, strikes(w) ? struck("sync_dir", err) : WR_OK; }
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
                                     f_stat, f_list, f_rename, f_remove, f_make_dirs, f_sync_dir, f_spawn, f_join, f_sleep, f_link, f_file_lock, f_exchange};

fault_world golden_world(uint64_t fail_at) { return (fault_world){.base.vt = &fault_vt, .real = wr_world_posix(), .fail_at = fail_at}; }
