/* connect/output.c: a new version of an output takes the place of the one that is there: `weir backfill` (connect.h: wr_output).
 *
 * Idea       files: the new version is a hidden sibling, .NAME.next. Directories exchange their names with it in one step, where the system can do that; a
 *            file is replaced by one rename, and a second name keeps the old one. Afterwards the old one is .NAME.old. Databases: sqlite_output.c.
 * Invariant  each step looks at what is there first, so that after a crash all steps are simply done again: the new version is known by its inode,
 *            which was noted before.
 * Thread     any; the caller keeps others away from the outputs.                                                        */
#include "connect/parts.h"

void output_sibling(wr_str path, const char *suffix, wr_sbuf *out) {
    wr_str name = path_name(path);
    wr_sbuf_add(out, path.ptr, path.len - name.len);
    wr_sbuf_printf(out, ".%.*s%s", WR_FMT(name), suffix);
}

void wr_output_put(const wr_output *o, wr_sbuf *out) {
    wr_put_u8(out, o->database), wr_put_u8(out, o->kept);
    const wr_str texts[] = {o->sink, o->path, o->table, o->job};
    for (size_t i = 0; i < WR_COUNT_OF(texts); i++) wr_put_bytes(out, texts[i].ptr, texts[i].len);
    wr_put_u64(out, o->inode), wr_put_u64(out, o->device);
}

void wr_output_get(wr_output *o, wr_reader *in) {
    *o = (wr_output){.database = wr_get_u8(in)};
    o->kept = wr_get_u8(in);
    wr_str *const texts[] = {&o->sink, &o->path, &o->table, &o->job};
    for (size_t i = 0; i < WR_COUNT_OF(texts); i++) *texts[i] = wr_get_bytes(in);
    o->inode = wr_get_u64(in), o->device = wr_get_u64(in);
}

typedef struct places { wr_sbuf live, next, old, dir; } places;

static places places_of(const wr_output *o) {
    places p = {0};
    wr_sbuf_add_str(&p.live, o->path);
    output_sibling(o->path, ".next", &p.next);
    output_sibling(o->path, ".old", &p.old);
    wr_sbuf_add_str(&p.dir, path_dir(o->path));
    return p;
}

static void free_places(places *p) {
    wr_sbuf_free(&p->live), wr_sbuf_free(&p->next), wr_sbuf_free(&p->old), wr_sbuf_free(&p->dir);
}

static wr_status remove_any(wr_world *w, const char *path, wr_err *err) { /* a file, a directory or nothing */
    wr_file_info info;
    bool         there;
    WR_TRY(w->vt->stat(w, path, &info, &there, err));
    return !there ? WR_OK : info.is_dir ? wr_dir_remove(w, path, err) : w->vt->remove(w, path, err);
}

wr_status wr_output_discard(wr_world *w, const wr_output *o, wr_err *err) {
    if (o->database) return sqlite_output_discard(o, err);
    places    p = places_of(o);
    wr_status status = remove_any(w, p.next.at, err);
    free_places(&p);
    return status;
}

wr_status wr_output_look(wr_world *w, wr_output *o, wr_err *err) {
    if (o->database) return sqlite_output_look(o, err);
    places       p = places_of(o);
    wr_file_info info;
    bool         there;
    wr_status    status = w->vt->make_dirs(w, p.dir.at, err);
    if (status == WR_OK) status = w->vt->stat(w, p.next.at, &info, &there, err);
    if (status == WR_OK && !there) { /* a directory that no row went to */
        status = w->vt->make_dirs(w, p.next.at, err);
        if (status == WR_OK) status = w->vt->stat(w, p.next.at, &info, &there, err);
    }
    if (status == WR_OK) o->inode = info.inode, o->device = info.device;
    free_places(&p);
    return status;
}

static bool is_new(const wr_output *o, const wr_file_info *info) { return info->inode == o->inode && info->device == o->device; }

/* The new version lies at `next`, and something else at the path, or nothing. A directory may be exchanged already when this returns. */
static wr_status keep_old(wr_world *w, const wr_output *o, const places *p, wr_err *err) {
    wr_file_info info;
    bool         there;
    WR_TRY(w->vt->stat(w, p->live.at, &info, &there, err));
    if (!there || is_new(o, &info)) return WR_OK;
    WR_TRY(remove_any(w, p->old.at, err));
    if (info.is_dir) {
        wr_err    why = {0};
        wr_status status = w->vt->exchange ? w->vt->exchange(w, p->next.at, p->live.at, &why) : WR_UNSUPPORTED;
        if (status == WR_UNSUPPORTED) return w->vt->rename(w, p->live.at, p->old.at, err);
        if (status != WR_OK) *err = why;
        return status;
    }
    return w->vt->link(w, p->live.at, p->old.at, err);
}

static wr_status swap_files(wr_world *w, const wr_output *o, wr_err *err) { /* nobody writes there until the swap is done */
    places       p = places_of(o);
    wr_file_info info;
    bool         there;
    wr_status    status = w->vt->stat(w, p.next.at, &info, &there, err);
    if (status == WR_OK && there && is_new(o, &info)) {
        status = keep_old(w, o, &p, err);
        if (status == WR_OK) status = w->vt->stat(w, p.next.at, &info, &there, err);
        if (status == WR_OK && is_new(o, &info)) status = w->vt->rename(w, p.next.at, p.live.at, err), there = false;
    }
    if (status == WR_OK && there) { /* exchanged: the old one lies at `next` */
        status = remove_any(w, p.old.at, err);
        if (status == WR_OK) status = w->vt->rename(w, p.next.at, p.old.at, err);
    }
    if (status == WR_OK) status = w->vt->sync_dir(w, p.dir.at, err);
    if (status == WR_OK) status = w->vt->stat(w, p.live.at, &info, &there, err);
    if (status == WR_OK && !(there && is_new(o, &info))) {
        status = wr_fail(err, WR_DATA, "55000", "the new version of '%s' is neither there nor at '%s': somebody moved it", p.live.at, p.next.at);
        wr_err_hint(err, "bring it back to either name, then start weir again: it goes on here");
    }
    free_places(&p);
    return status;
}

static bool seen_before(const wr_output *all, uint32_t i) { /* of one database: swapped together with the first */
    for (uint32_t k = 0; k < i; k++)
        if (all[k].database == all[i].database && wr_str_eq(all[k].path, all[i].path)) return true;
    return false;
}

wr_status wr_outputs_swap(wr_world *w, const wr_output *all, uint32_t n, uint64_t epoch, uint64_t was, wr_err *err) {
    for (uint32_t i = 0; i < n; i++) {
        if (seen_before(all, i)) continue;
        if (all[i].database) WR_TRY(sqlite_outputs_swap(&all[i], n - i, epoch, was, err));
        else if (!all[i].kept) WR_TRY(swap_files(w, &all[i], err));
    }
    return WR_OK;
}
