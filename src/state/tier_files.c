/* state/tier_files.c: the world's files in the plain types that the C++ shim understands (tier_rocks.h).              */
#include "state/tier_rocks.h"
#include "sys/world.h"

uint64_t wr_rocks_clock_ns(void) { return wr_cost_ns(); }

wr_status wr_rocks_file_open(wr_world *w, const char *path, bool write, wr_file **out, wr_err *err) {
    return w->vt->file_open(w, path, write ? WR_OPEN_WRITE | WR_OPEN_CREATE | WR_OPEN_TRUNCATE : WR_OPEN_READ, out, err);
}
void wr_rocks_file_close(wr_world *w, wr_file *f) { w->vt->file_close(w, f); }
wr_status wr_rocks_file_read(wr_world *w, wr_file *f, void *buf, size_t len, uint64_t offset, size_t *got, wr_err *err) {
    return w->vt->file_pread(w, f, buf, len, offset, got, err);
}
wr_status wr_rocks_file_write(wr_world *w, wr_file *f, const void *buf, size_t len, wr_err *err) { return w->vt->file_write(w, f, buf, len, err); }
wr_status wr_rocks_file_sync(wr_world *w, wr_file *f, wr_err *err) { return w->vt->file_sync(w, f, err); }

wr_status wr_rocks_file_stat(wr_world *w, const char *path, wr_rocks_file_info *out, wr_err *err) {
    wr_file_info info;
    WR_TRY(w->vt->stat(w, path, &info, &out->exists, err));
    out->bytes = info.size_bytes;
    out->mtime_us = info.mtime_us;
    out->is_dir = info.is_dir;
    return WR_OK;
}

wr_status wr_rocks_file_list(wr_world *w, const char *dir, void (*each)(void *self, const char *name), void *self, wr_err *err) {
    wr_file_info *list;
    size_t        n;
    WR_TRY(w->vt->list(w, dir, &list, &n, err));
    for (size_t i = 0; i < n; i++) each(self, list[i].name);
    wr_free(list);
    return WR_OK;
}

wr_status wr_rocks_file_rename(wr_world *w, const char *from, const char *to, wr_err *err) { return w->vt->rename(w, from, to, err); }
wr_status wr_rocks_file_link(wr_world *w, const char *from, const char *to, wr_err *err) { return w->vt->link(w, from, to, err); }
wr_status wr_rocks_file_remove(wr_world *w, const char *path, wr_err *err) { return w->vt->remove(w, path, err); }
wr_status wr_rocks_make_dirs(wr_world *w, const char *path, wr_err *err) { return w->vt->make_dirs(w, path, err); }
wr_status wr_rocks_sync_dir(wr_world *w, const char *path, wr_err *err) { return w->vt->sync_dir(w, path, err); }
