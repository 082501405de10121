/* sys/files.c: whole-file helpers over a world's calls, so that they fail and tear in simulation as in life.           */
#include "sys/world.h"

wr_status wr_file_read_all(wr_world *w, const char *path, size_t max_bytes, wr_sbuf *out, wr_err *err) {
    wr_file *f;
    WR_TRY(w->vt->file_open(w, path, WR_OPEN_READ, &f, err));
    enum { STEP = 64 * 1024 };
    uint64_t  at = 0;
    wr_status status;
    for (;;) { /* not by file_info's size: files of /proc say 0, and a file may grow meanwhile */
        size_t got;
        wr_sbuf_reserve(out, STEP);
        status = w->vt->file_pread(w, f, out->at + out->len, STEP, at, &got, err);
        if (status != WR_OK) break;
        if (at + got > max_bytes) {
            status = wr_fail(err, WR_LIMIT, "54000", "the file '%s' is larger than %zu bytes", path, max_bytes);
            break;
        }
        out->len += got;
        out->at[out->len] = 0;
        at += got;
        if (got < STEP) break;
    }
    w->vt->file_close(w, f);
    return status;
}

static wr_status write_synced(wr_world *w, const char *path, wr_str content, wr_err *err) {
    wr_file *f;
    WR_TRY(w->vt->file_open(w, path, WR_OPEN_WRITE | WR_OPEN_CREATE | WR_OPEN_TRUNCATE, &f, err));
    wr_status status = content.len ? w->vt->file_write(w, f, content.ptr, content.len, err) : WR_OK;
    if (status == WR_OK) status = w->vt->file_sync(w, f, err);
    w->vt->file_close(w, f);
    return status;
}

wr_status wr_file_replace(wr_world *w, const char *path, wr_str content, wr_err *err) {
    wr_sbuf tmp = {0}, dir = {0};
    wr_sbuf_printf(&tmp, "%s.tmp", path);
    const char *slash = strrchr(path, '/');
    if (slash == path) wr_sbuf_addc(&dir, '/');
    else if (slash) wr_sbuf_add(&dir, path, (size_t)(slash - path));
    else wr_sbuf_addc(&dir, '.');
    wr_status status = write_synced(w, tmp.at, content, err);
    if (status == WR_OK) status = w->vt->rename(w, tmp.at, path, err);
    if (status == WR_OK) status = w->vt->sync_dir(w, dir.at, err);
    wr_sbuf_free(&tmp);
    wr_sbuf_free(&dir);
    return status;
}

wr_status wr_file_copy(wr_world *w, const char *from, const char *to, wr_err *err) {
    enum { STEP = 256 * 1024 };
    wr_file *in = NULL, *out = NULL;
    char    *buf = wr_malloc(STEP);
    wr_status status = w->vt->file_open(w, from, WR_OPEN_READ, &in, err);
    if (status == WR_OK) status = w->vt->file_open(w, to, WR_OPEN_WRITE | WR_OPEN_CREATE | WR_OPEN_TRUNCATE, &out, err);
    size_t got = STEP;
    for (uint64_t at = 0; status == WR_OK && got == STEP; at += got) {
        status = w->vt->file_pread(w, in, buf, STEP, at, &got, err);
        if (status == WR_OK && got) status = w->vt->file_write(w, out, buf, got, err);
    }
    if (status == WR_OK) status = w->vt->file_sync(w, out, err);
    w->vt->file_close(w, out);
    w->vt->file_close(w, in);
    wr_free(buf);
    return status;
}

enum { DEPTH_MAX = 16 };
static wr_status remove_tree(wr_world *w, const char *path, int depth, wr_err *err) {
    wr_file_info *found = NULL;
    size_t        n = 0;
    if (depth > DEPTH_MAX) return wr_fail(err, WR_IO, "58030", "cannot remove '%s': too many directories in one another", path);
    WR_TRY(w->vt->list(w, path, &found, &n, err));
    wr_status status = WR_OK;
    for (size_t i = 0; i < n && status == WR_OK; i++) {
        wr_sbuf sub = {0};
        wr_sbuf_printf(&sub, "%s/%s", path, found[i].name);
        status = found[i].is_dir ? remove_tree(w, sub.at, depth + 1, err) : w->vt->remove(w, sub.at, err);
        wr_sbuf_free(&sub);
    }
    wr_free(found);
    return status == WR_OK ? w->vt->remove(w, path, err) : status;
}

wr_status wr_dir_remove(wr_world *w, const char *path, wr_err *err) {
    wr_file_info info;
    bool         exists = false;
    WR_TRY(w->vt->stat(w, path, &info, &exists, err));
    return exists ? remove_tree(w, path, 0, err) : WR_OK;
}
