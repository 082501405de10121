/* tests/sim/world.c: see sim.h.
 *
 * Disk       an inode has its content as programs see it, and the content on the platter. Sectors that differ are dirty; a sync copies them; a
 *            power loss keeps none, all, those written up to a point, or any of them. A sync that fails leaves sectors clean though they were not
 *            written, as Linux does: a later sync does not bring them back.
 * Names      a list of (path, inode) as programs see it, one on the platter, and the changes between them in order. sync_dir carries out those
 *            of its directory. A power loss keeps none, all, the first ones, or any of them; a rename is never half done.
 * Contract   make_dirs is durable when it returns (world.h).
 * Thread     any: one mutex around every call.                                                                             */
#include "sim.h"
#include <stdio.h>
#include <stdlib.h>

typedef struct inode {
    uint64_t id;
    bool     is_dir;
    int64_t  mtime_us;
    wr_sbuf  now, platter;
    WR_ARR(uint32_t) dirty;      /* sectors in the order of their last write */
} inode;
typedef struct entry { char *path; inode *node; } entry;
typedef WR_ARR(entry) names;
typedef enum change_kind { CHANGE_SET, CHANGE_REMOVE, CHANGE_RENAME } change_kind;
typedef struct change { change_kind kind; char *path, *from; inode *node; } change;

typedef struct sim_disk {
    WR_ARR(inode *) inodes;
    names           now, platter;
    WR_ARR(change)  changes;
    int64_t         mono_us, wall_offset_us;
} sim_disk;

struct wr_file { inode *node; int flags; uint64_t at; char path[]; };

static sim_world *of(wr_world *w) { return (sim_world *)w; }
static uint64_t dice(sim_world *w, uint64_t n) { return wr_rng_below(&w->rng, n); }

/* ---- names ---- */
static size_t dir_len(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? (size_t)(slash - path) : 0;
}
static bool in_dir(const char *path, const char *dir) { /* path is plain */
    size_t n = strlen(dir);
    while (n && dir[n - 1] == '/') n--;
    return dir_len(path) == n && memcmp(path, dir, n) == 0;
}
static int find(const names *list, const char *path) {
    for (uint32_t i = 0; i < list->n; i++)
        if (!strcmp(list->at[i].path, path)) return (int)i;
    return -1;
}
/* Without slashes that mean nothing. */
static char *plain_path(const char *path) {
    char  *out = wr_malloc(strlen(path) + 1);
    size_t n = 0;
    for (; *path; path++)
        if (*path != '/' || !n || out[n - 1] != '/') out[n++] = *path;
    while (n > 1 && out[n - 1] == '/') n--;
    out[n] = 0;
    return out;
}
static inode *lookup(sim_world *w, const char *path) {
    char *plain = plain_path(path);
    int   i = find(&w->disk->now, plain);
    wr_free(plain);
    return i < 0 ? NULL : w->disk->now.at[i].node;
}
static void set_name(names *list, const char *path, inode *node) {
    int i = find(list, path);
    if (i >= 0) list->at[i].node = node;
    else wr_arr_push(list, (entry){wr_strdup(path), node});
}
static void drop_name(names *list, const char *path) {
    int i = find(list, path);
    if (i < 0) return;
    wr_free(list->at[i].path);
    list->at[i] = list->at[--list->n];
}
static void free_names(names *list) {
    for (uint32_t i = 0; i < list->n; i++) wr_free(list->at[i].path);
    wr_arr_free(list);
}
static bool below_dir(const char *path, const char *dir) {
    size_t n = strlen(dir);
    return !strncmp(path, dir, n) && path[n] == '/';
}
/* What lies below a directory that is renamed goes with it. */
static void move_below(char **path, const char *from, const char *to) {
    if (!*path || !below_dir(*path, from)) return;
    wr_sbuf moved = {0};
    wr_sbuf_printf(&moved, "%s%s", to, *path + strlen(from));
    wr_free(*path);
    *path = moved.at;
}
static void apply(names *list, const change *c) {
    if (c->kind == CHANGE_REMOVE) drop_name(list, c->path);
    if (c->kind == CHANGE_RENAME) {
        int i = find(list, c->from);
        if (i >= 0 && list->at[i].node == c->node) drop_name(list, c->from);
        for (uint32_t k = 0; c->node->is_dir && k < list->n; k++) move_below(&list->at[k].path, c->from, c->path);
    }
    if (c->kind != CHANGE_REMOVE) set_name(list, c->path, c->node);
}
static void note(sim_world *w, change_kind kind, const char *path, const char *from, inode *node) {
    change c = {kind, plain_path(path), from ? plain_path(from) : NULL, node};
    apply(&w->disk->now, &c);
    for (uint32_t i = 0; kind == CHANGE_RENAME && node->is_dir && i < w->disk->changes.n; i++) {
        move_below(&w->disk->changes.at[i].path, c.from, c.path);
        move_below(&w->disk->changes.at[i].from, c.from, c.path);
    }
    wr_arr_push(&w->disk->changes, c);
}
static void forget_change(sim_disk *d, uint32_t i) {
    wr_free(d->changes.at[i].path), wr_free(d->changes.at[i].from);
    memmove(d->changes.at + i, d->changes.at + i + 1, (d->changes.n - i - 1) * sizeof *d->changes.at);
    d->changes.n--;
}
static bool touches(const change *c, const char *dir) { return in_dir(c->path, dir) || (c->from && in_dir(c->from, dir)); }

static inode *new_inode(sim_world *w, bool is_dir) {
    inode *node = wr_calloc(1, sizeof *node);
    node->id = w->disk->inodes.n + 1;
    node->is_dir = is_dir;
    node->mtime_us = w->disk->mono_us + w->disk->wall_offset_us;
    wr_arr_push(&w->disk->inodes, node);
    return node;
}
static void make_durable_dirs(sim_world *w, const char *path) {
    char *part = plain_path(path);
    for (char *p = part + 1;; p++) {
        if (*p && *p != '/') continue;
        char was = *p;
        *p = 0;
        if (!lookup(w, part)) {
            inode *node = new_inode(w, true);
            set_name(&w->disk->now, part, node);
            set_name(&w->disk->platter, part, node);
        }
        *p = was;
        if (!was) break;
    }
    wr_free(part);
}

/* ---- calls ---- */
static void mix(sim_world *w, uint64_t x) { w->trace = wr_hash_mix(w->trace, x); }

static wr_status fail(wr_err *err, const char *code, const char *what, const char *path, const char *why) {
    return wr_fail(err, WR_IO, code, "cannot %s '%s': %s", what, path, why);
}

typedef enum verdict { GO, HALF, STOP } verdict; /* HALF: some of it happens, then STOP */

/* Every call that can fail passes here: time goes on, faults strike. Holds the lock unless STOP. */
static verdict enter(sim_world *w, const char *what, const char *path, bool syncs, wr_err *err) {
    wr_mutex_lock(w->lock);
    sim_disk *d = w->disk;
    d->mono_us += 1 + (int64_t)dice(w, (uint64_t)w->step_us) + (w->faults.slow && (syncs || *what == 'w') ? 3000000 : 0);
    mix(w, wr_hash_bytes(what, strlen(what)));
    mix(w, wr_hash_bytes(path, strlen(path)));
    w->tiered = w->tiered || strstr(path, ".sst") != NULL;
    if (w->off) {
        wr_mutex_unlock(w->lock);
        fail(err, "58030", what, path, "the machine is off");
        return STOP;
    }
    w->calls++;
    w->syncs += syncs;
    if (w->verbose) printf("    %llu %s %s\n", (unsigned long long)w->calls, what, path);
    if (w->calls == w->faults.crash_at_call) {
        w->off = true;
        w->fired++;
        fail(err, "58030", what, path, "the power failed");
        return HALF;
    }
    if (w->calls == w->faults.fail_at_call || (syncs && w->syncs == w->faults.fail_at_sync)) {
        w->fired++;
        fail(err, "58030", what, path, "Input/output error (simulated)");
        return HALF;
    }
    return GO;
}
static wr_status leave(sim_world *w, wr_status status) {
    mix(w, (uint64_t)status);
    wr_mutex_unlock(w->lock);
    return status;
}
/* For calls that are done wholly or not at all. */
#define ENTER(what, path)                                                  \
    sim_world *w = of(base);                                               \
    verdict    v_ = enter(w, (what), (path), false, err);                  \
    if (v_ == STOP) return WR_IO;                                          \
    if (v_ == HALF && dice(w, 2)) return leave(w, WR_IO);                  \
    wr_status done_ = v_ == HALF ? WR_IO : WR_OK

static wr_status file_open(wr_world *base, const char *path, int flags, wr_file **out, wr_err *err) {
    *out = NULL;
    ENTER("open", path);
    inode *node = lookup(w, path);
    if (node && node->is_dir) return leave(w, fail(err, "58030", "open", path, "Is a directory"));
    if (node && (flags & WR_OPEN_EXCLUSIVE)) return leave(w, fail(err, "58030", "create", path, "File exists"));
    if (!node && !(flags & WR_OPEN_CREATE)) return leave(w, fail(err, "58P01", "open", path, "No such file or directory"));
    if (!node) {
        char *dir = plain_path(path);
        dir[dir_len(dir)] = 0;
        inode *parent = lookup(w, dir);
        wr_free(dir);
        if (!parent || !parent->is_dir) return leave(w, fail(err, "58P01", "create", path, "No such file or directory"));
        node = new_inode(w, false);
        note(w, CHANGE_SET, path, NULL, node);
    }
    if (flags & WR_OPEN_TRUNCATE) node->now.len = 0;
    if (done_ != WR_OK) return leave(w, done_);
    size_t n = strlen(path) + 1;
    *out = wr_malloc(sizeof **out + n);
    **out = (wr_file){.node = node, .flags = flags};
    memcpy((*out)->path, path, n);
    return leave(w, WR_OK);
}

static void file_close(wr_world *base, wr_file *f) { (void)base, wr_free(f); }

static wr_status file_pread(wr_world *base, wr_file *f, void *buf, size_t len, uint64_t offset, size_t *got, wr_err *err) {
    *got = 0;
    ENTER("read", f->path);
    if (done_ != WR_OK) return leave(w, done_);
    wr_sbuf *now = &f->node->now;
    if (offset < now->len) *got = WR_MIN(len, now->len - (size_t)offset);
    if (*got) memcpy(buf, now->at + offset, *got);
    mix(w, *got);
    return leave(w, WR_OK);
}

static void mark_dirty(sim_world *w, inode *node, uint64_t from, uint64_t to) {
    for (uint32_t s = (uint32_t)(from / w->sector_bytes); (uint64_t)s * w->sector_bytes < to; s++) {
        for (uint32_t i = node->dirty.n; i-- > 0;)
            if (node->dirty.at[i] == s) {
                memmove(node->dirty.at + i, node->dirty.at + i + 1, (node->dirty.n - i - 1) * sizeof *node->dirty.at);
                node->dirty.n--;
                break;
            }
        wr_arr_push(&node->dirty, s);
    }
}
static void resize(wr_sbuf *b, uint64_t size) {
    if (size > b->len) {
        wr_sbuf_reserve(b, (size_t)size - b->len);
        memset(b->at + b->len, 0, (size_t)size - b->len);
    }
    b->len = (size_t)size;
}
static void write_at(sim_world *w, inode *node, uint64_t at, const void *buf, size_t len) {
    if (!len) return;
    if (at + len > node->now.len) resize(&node->now, at + len);
    memcpy(node->now.at + at, buf, len);
    mark_dirty(w, node, at, at + len);
    node->mtime_us = w->disk->mono_us + w->disk->wall_offset_us;
}

static wr_status file_write(wr_world *base, wr_file *f, const void *buf, size_t len, wr_err *err) {
    sim_world *w = of(base);
    verdict    v = enter(w, "write", f->path, false, err);
    if (v == STOP) return WR_IO;
    size_t n = v == HALF ? (size_t)dice(w, len + 1) : len;
    bool   full = w->faults.space_bytes && n >= w->faults.space_bytes;
    if (full) n = (size_t)w->faults.space_bytes - 1;
    if (w->faults.space_bytes) w->faults.space_bytes -= n;
    if (f->flags & WR_OPEN_APPEND) f->at = f->node->now.len;
    write_at(w, f->node, f->at, buf, n);
    f->at += n;
    mix(w, wr_hash_bytes(buf, len));
    if (v == GO && full) {
        w->fired++;
        return leave(w, fail(err, "53100", "write to", f->path, "No space left on device"));
    }
    return leave(w, v == GO ? WR_OK : WR_IO);
}

static void copy_sector(sim_world *w, inode *node, uint32_t s) {
    uint64_t from = (uint64_t)s * w->sector_bytes;
    if (from >= node->now.len) return;
    size_t n = WR_MIN((size_t)w->sector_bytes, node->now.len - (size_t)from);
    if (from + n > node->platter.len) resize(&node->platter, from + n);
    memcpy(node->platter.at + from, node->now.at + from, n);
}

/* Some of the dirty sectors get to the platter, then the size. mode 0: none, 1: all, 2: the first ones, 3: any. */
static void write_back(sim_world *w, inode *node, uint32_t mode) {
    uint32_t n = mode == 2 ? (uint32_t)dice(w, node->dirty.n + 1) : node->dirty.n;
    uint64_t size = node->platter.len;
    for (uint32_t i = 0; mode && i < n; i++)
        if (mode != 3 || dice(w, 2)) copy_sector(w, node, node->dirty.at[i]);
    if (mode == 1) size = node->now.len;
    else if (mode) {
        uint64_t a = WR_MIN(size, (uint64_t)node->now.len), b = WR_MAX(size, (uint64_t)node->now.len);
        uint64_t pick = dice(w, 3);
        size = pick == 0 ? a : pick == 1 ? b : a + dice(w, b - a + 1);
    }
    resize(&node->platter, size);
    node->dirty.n = 0;
}

static wr_status file_sync(wr_world *base, wr_file *f, wr_err *err) {
    sim_world *w = of(base);
    verdict    v = enter(w, "sync", f->path, true, err);
    if (v == STOP) return WR_IO;
    if (w->off) return leave(w, WR_IO); /* sectors stay dirty: the power loss decides */
    write_back(w, f->node, v == GO ? 1 : (uint32_t)dice(w, 4));
    return leave(w, v == GO ? WR_OK : WR_IO);
}

static wr_status file_truncate(wr_world *base, wr_file *f, uint64_t size, wr_err *err) {
    ENTER("truncate", f->path);
    resize(&f->node->now, size);
    mark_dirty(w, f->node, size, size + 1);
    return leave(w, done_);
}

static void fill_info(const inode *node, wr_file_info *out) {
    *out = (wr_file_info){.size_bytes = node->now.len, .inode = node->id, .device = 1, .mtime_us = node->mtime_us, .is_dir = node->is_dir};
}
static wr_status file_info(wr_world *base, wr_file *f, wr_file_info *out, wr_err *err) {
    ENTER("look at", f->path);
    fill_info(f->node, out);
    return leave(w, done_);
}
static wr_status stat_path(wr_world *base, const char *path, wr_file_info *out, bool *exists, wr_err *err) {
    *exists = false;
    memset(out, 0, sizeof *out);
    ENTER("stat", path);
    if (done_ != WR_OK) return leave(w, done_);
    inode *node = lookup(w, path);
    *exists = node != NULL;
    if (node) fill_info(node, out);
    return leave(w, WR_OK);
}

static int by_name(const void *a, const void *b) { return strcmp(((const wr_file_info *)a)->name, ((const wr_file_info *)b)->name); }
static wr_status list(wr_world *base, const char *dir, wr_file_info **out, size_t *n, wr_err *err) {
    *out = NULL;
    *n = 0;
    ENTER("list", dir);
    if (done_ != WR_OK) return leave(w, done_);
    inode *parent = lookup(w, dir);
    if (!parent || !parent->is_dir) return leave(w, fail(err, "58P01", "list", dir, "No such file or directory"));
    WR_ARR(wr_file_info) found = {0};
    for (uint32_t i = 0; i < w->disk->now.n; i++) {
        const entry *e = &w->disk->now.at[i];
        if (!in_dir(e->path, dir) || !e->path[1]) continue;
        wr_file_info info;
        fill_info(e->node, &info);
        snprintf(info.name, sizeof info.name, "%s", e->path + dir_len(e->path) + 1);
        wr_arr_push(&found, info);
    }
    if (found.n) qsort(found.at, found.n, sizeof *found.at, by_name);
    *out = found.at;
    *n = found.n;
    mix(w, found.n);
    return leave(w, WR_OK);
}

static wr_status rename_path(wr_world *base, const char *from, const char *to, wr_err *err) {
    ENTER("rename", to);
    inode *node = lookup(w, from);
    if (!node) return leave(w, fail(err, "58P01", "rename", from, "No such file or directory"));
    if (strcmp(from, to)) note(w, CHANGE_RENAME, to, from, node);
    return leave(w, done_);
}
static wr_status link_path(wr_world *base, const char *from, const char *to, wr_err *err) {
    ENTER("link", to);
    inode *node = lookup(w, from);
    if (!node || node->is_dir) return leave(w, fail(err, "58P01", "link", from, "No such file"));
    if (lookup(w, to)) return leave(w, fail(err, "58030", "link to", to, "File exists"));
    note(w, CHANGE_SET, to, NULL, node);
    return leave(w, done_);
}
static wr_status remove_path(wr_world *base, const char *path, wr_err *err) {
    ENTER("remove", path);
    inode *node = lookup(w, path);
    if (!node) return leave(w, fail(err, "58P01", "remove", path, "No such file or directory"));
    for (uint32_t i = 0; node->is_dir && i < w->disk->now.n; i++)
        if (in_dir(w->disk->now.at[i].path, path)) return leave(w, fail(err, "58030", "remove", path, "Directory not empty"));
    note(w, CHANGE_REMOVE, path, NULL, node);
    return leave(w, done_);
}
static wr_status make_dirs(wr_world *base, const char *path, wr_err *err) {
    ENTER("make the directory", path);
    inode *node = lookup(w, path);
    if (node && !node->is_dir) return leave(w, fail(err, "58030", "make the directory", path, "Not a directory"));
    make_durable_dirs(w, path);
    return leave(w, done_);
}
static wr_status sync_dir(wr_world *base, const char *path, wr_err *err) {
    sim_world *w = of(base);
    verdict    v = enter(w, "sync the directory", path, true, err);
    if (v == STOP) return WR_IO;
    sim_disk *d = w->disk;
    if (w->off) return leave(w, WR_IO);
    inode *node = lookup(w, path);
    if (!node || !node->is_dir) return leave(w, fail(err, "58P01", "sync the directory", path, "No such file or directory"));
    for (uint32_t i = 0; i < d->changes.n;) {
        if (!touches(&d->changes.at[i], path)) {
            i++;
            continue;
        }
        if (v == HALF && dice(w, 2)) break;
        apply(&d->platter, &d->changes.at[i]);
        forget_change(d, i);
    }
    return leave(w, v == GO ? WR_OK : WR_IO);
}

static int64_t mono(wr_world *base) {
    sim_world *w = of(base);
    wr_mutex_lock(w->lock);
    int64_t now = w->disk->mono_us += 1 + (int64_t)dice(w, (uint64_t)w->step_us);
    wr_mutex_unlock(w->lock);
    return now;
}
static int64_t wall(wr_world *base) {
    enum { JUMP_US = 43200 };
    sim_world *w = of(base);
    wr_mutex_lock(w->lock);
    sim_disk *d = w->disk;
    d->mono_us += 1 + (int64_t)dice(w, (uint64_t)w->step_us);
    if (w->faults.clock_jumps && dice(w, 50) == 0)
        d->wall_offset_us = INT64_C(1767225600000000) + ((int64_t)dice(w, 2 * JUMP_US) - JUMP_US) * 1000000;
    int64_t now = d->mono_us + d->wall_offset_us;
    wr_mutex_unlock(w->lock);
    return now;
}
static uint64_t random64(wr_world *base) {
    sim_world *w = of(base);
    wr_mutex_lock(w->lock);
    uint64_t x = wr_rng_next(&w->rng);
    wr_mutex_unlock(w->lock);
    return x;
}
static wr_status spawn(wr_world *base, const char *name, void (*run)(void *), void *arg, void **thread, wr_err *err) {
    (void)base;
    return wr_world_posix()->vt->spawn(wr_world_posix(), name, run, arg, thread, err);
}
static void join(wr_world *base, void *thread) {
    (void)base;
    wr_world_posix()->vt->join(wr_world_posix(), thread);
}
static void sleep_us(wr_world *base, int64_t us) {
    sim_world *w = of(base);
    wr_mutex_lock(w->lock);
    w->disk->mono_us += us;
    wr_mutex_unlock(w->lock);
}

static const wr_world_vt vt = {.mono_us = mono, .wall_us = wall, .random = random64, .file_open = file_open, .file_close = file_close,
                               .file_pread = file_pread, .file_write = file_write, .file_sync = file_sync, .file_truncate = file_truncate,
                               .file_info = file_info, .stat = stat_path, .list = list, .rename = rename_path, .remove = remove_path,
                               .make_dirs = make_dirs, .sync_dir = sync_dir, .spawn = spawn, .join = join, .sleep_us = sleep_us, .link = link_path};

/* ---- the tester's side ---- */
sim_world *sim_world_new(uint64_t seed) {
    sim_world *w = wr_calloc(1, sizeof *w);
    w->base.vt = &vt;
    w->lock = wr_mutex_new();
    w->disk = wr_calloc(1, sizeof *w->disk);
    wr_rng_seed(&w->rng, seed);
    w->sector_bytes = dice(w, 2) ? 64 : 512;
    w->disk->wall_offset_us = INT64_C(1767225600000000);
    static const int64_t steps[] = {1, 100, 20000};
    w->step_us = steps[dice(w, 3)];
    make_durable_dirs(w, "/");
    make_durable_dirs(w, "/in");
    make_durable_dirs(w, "/out");
    return w;
}

void sim_world_free(sim_world *w) {
    sim_disk *d = w->disk;
    while (d->changes.n) forget_change(d, d->changes.n - 1);
    wr_arr_free(&d->changes);
    free_names(&d->now), free_names(&d->platter);
    for (uint32_t i = 0; i < d->inodes.n; i++) {
        inode *node = d->inodes.at[i];
        wr_sbuf_free(&node->now), wr_sbuf_free(&node->platter);
        wr_arr_free(&node->dirty);
        wr_free(node);
    }
    wr_arr_free(&d->inodes);
    wr_mutex_free(w->lock);
    wr_free(d);
    wr_free(w);
}

void sim_world_boot(sim_world *w, sim_faults faults) {
    w->faults = faults;
    w->calls = w->syncs = 0;
    w->fired = 0;
    w->off = false;
}

void sim_world_power_loss(sim_world *w) {
    sim_disk *d = w->disk;
    uint32_t  mode = (uint32_t)dice(w, 4), n = mode == 2 ? (uint32_t)dice(w, d->changes.n + 1) : d->changes.n;
    for (uint32_t i = 0; mode && i < n; i++)
        if (mode != 3 || dice(w, 2)) apply(&d->platter, &d->changes.at[i]);
    while (d->changes.n) forget_change(d, d->changes.n - 1);
    for (bool again = true; again;) { /* names in a directory that is not there */
        again = false;
        for (uint32_t i = 0; i < d->platter.n && !again; i++) {
            char *dir = wr_strdup(d->platter.at[i].path);
            dir[dir_len(dir)] = 0;
            again = *dir && find(&d->platter, dir) < 0;
            wr_free(dir);
            if (again) drop_name(&d->platter, d->platter.at[i].path);
        }
    }
    free_names(&d->now);
    for (uint32_t i = 0; i < d->platter.n; i++) set_name(&d->now, d->platter.at[i].path, d->platter.at[i].node);
    for (uint32_t i = 0; i < d->inodes.n; i++) {
        inode *node = d->inodes.at[i];
        if (node->dirty.n || node->now.len != node->platter.len) write_back(w, node, (uint32_t)dice(w, 4));
        wr_sbuf_clear(&node->now);
        wr_sbuf_add(&node->now, node->platter.at ? node->platter.at : "", node->platter.len);
    }
    mix(w, d->now.n);
}

void sim_world_put(sim_world *w, const char *path, wr_str content) {
    char *dir = wr_strdup(path);
    dir[dir_len(path)] = 0;
    make_durable_dirs(w, dir);
    wr_free(dir);
    inode *node = new_inode(w, false);
    wr_sbuf_add_str(&node->now, content), wr_sbuf_add_str(&node->platter, content);
    set_name(&w->disk->now, path, node), set_name(&w->disk->platter, path, node);
}

static int by_path(const void *a, const void *b) { return strcmp(((const entry *)a)->path, ((const entry *)b)->path); }
void sim_world_each(sim_world *w, const char *dir, void (*visit)(void *, const char *, wr_str), void *arg) {
    names *all = &w->disk->now;
    if (all->n) qsort(all->at, all->n, sizeof *all->at, by_path);
    for (uint32_t i = 0; i < all->n; i++)
        if (!all->at[i].node->is_dir && !strncmp(all->at[i].path, dir, strlen(dir))) visit(arg, all->at[i].path, wr_sbuf_str(&all->at[i].node->now));
}

void sim_world_flip_bit(sim_world *w, const char *path, uint64_t where) {
    inode *node = lookup(w, path);
    if (!node || !node->now.len) return;
    size_t at = (size_t)(where / 8 % node->now.len);
    node->now.at[at] = (char)(node->now.at[at] ^ (1 << where % 8));
    if (at < node->platter.len) node->platter.at[at] = node->now.at[at];
}
