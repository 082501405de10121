/* checkpoint/store.c: the directory of a job's checkpoints: which are there, which files they share, what is removed, copies of one. See checkpoint.h.
 *
 * Idea       files/ is a set keyed by content. A store remembers which name of the tier is which content, so that a file is read and hashed once in its
 *            life, and for each kept manifest which files it names; whatever else lies in files/ is an orphan.
 * Invariant  a file named by a kept manifest is never removed: orphans are only looked for when the lists of all manifests are known.
 * Thread     one at a time (the job's I/O thread, or its coordinator while there is none).                                        */
#include "checkpoint/internal.h"
#include "base/hash.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct kept { uint64_t epoch; WR_ARR(wr_checkpoint_file) files; } kept;
struct wr_checkpoint_store {
    wr_world *world;
    char     *dir;
    uint32_t  n_keep;
    bool      files_made;
    WR_ARR(wr_checkpoint_file) known;   /* in files/, by the tier's name */
    WR_ARR(kept) manifests;             /* those whose lists are known */
};

wr_checkpoint_store *wr_checkpoint_store_new(wr_world *world, const char *dir, uint32_t n_keep) {
    wr_checkpoint_store *s = wr_calloc(1, sizeof *s);
    s->world = world;
    s->dir = wr_strdup(dir);
    s->n_keep = n_keep ? n_keep : WR_CHECKPOINTS_KEPT;
    return s;
}

void wr_checkpoint_store_free(wr_checkpoint_store *s) {
    if (!s) return;
    for (uint32_t i = 0; i < s->manifests.n; i++) wr_arr_free(&s->manifests.at[i].files);
    wr_arr_free(&s->manifests);
    wr_arr_free(&s->known);
    wr_free(s->dir);
    wr_free(s);
}

/* ---- names ---- */
bool manifest_epoch(const char *name, uint64_t *epoch) {
    static const char prefix[] = "checkpoint-", suffix[] = ".weir";
    size_t len = strlen(name);
    if (len <= sizeof prefix - 1 + sizeof suffix - 1 || memcmp(name, prefix, sizeof prefix - 1) != 0) return false;
    if (strcmp(name + len - (sizeof suffix - 1), suffix) != 0) return false;
    char *end;
    *epoch = strtoull(name + sizeof prefix - 1, &end, 10);
    return end == name + len - (sizeof suffix - 1);
}

void manifest_name(char *out, size_t cap, uint64_t epoch) { snprintf(out, cap, "checkpoint-%012" PRIu64 ".weir", epoch); }

void manifest_path(char *out, size_t cap, const char *dir, uint64_t epoch) {
    snprintf(out, cap, "%s/checkpoint-%012" PRIu64 ".weir", dir, epoch);
}

void stored_path(char *out, size_t cap, const char *dir, const char *stored) { snprintf(out, cap, "%s/files%s%s", dir, *stored ? "/" : "", stored); }

static wr_status exists(wr_world *world, const char *path, bool *out, wr_err *err) {
    wr_file_info info;
    return world->vt->stat(world, path, &info, out, err);
}

wr_status wr_checkpoint_list(wr_world *world, const char *dir, wr_checkpoint_epochs *out, wr_err *err) {
    wr_file_info *files = NULL;
    size_t        n = 0;
    bool          there = false;
    WR_TRY(exists(world, dir, &there, err));
    if (!there) return WR_OK;
    WR_TRY(world->vt->list(world, dir, &files, &n, err));
    for (size_t i = 0; i < n; i++) { /* names are zero-padded: sorted by name is sorted by epoch */
        uint64_t epoch;
        if (manifest_epoch(files[i].name, &epoch)) wr_arr_push(out, epoch);
    }
    wr_free(files);
    return WR_OK;
}

/* ---- files of the tier ---- */
static const wr_checkpoint_file *known_file(const wr_checkpoint_store *s, const char *name) {
    for (uint32_t i = s->known.n; i-- > 0;)
        if (!strcmp(s->known.at[i].name, name)) return &s->known.at[i];
    return NULL;
}

static wr_status hash_file(wr_checkpoint_store *s, const char *path, wr_checkpoint_file *out, wr_err *err) {
    enum { BUFFER = 256 * 1024 };
    wr_file *f;
    WR_TRY(s->world->vt->file_open(s->world, path, WR_OPEN_READ, &f, err));
    wr_hasher *hasher = wr_hasher_new();
    char      *buf = wr_malloc(BUFFER);
    wr_status  status = WR_OK;
    size_t     got = BUFFER;
    for (out->bytes = 0; status == WR_OK && got == BUFFER; out->bytes += got) {
        status = s->world->vt->file_pread(s->world, f, buf, BUFFER, out->bytes, &got, err);
        if (status == WR_OK) wr_hasher_add(hasher, buf, got);
    }
    if (status == WR_OK) status = s->world->vt->file_sync(s->world, f, err);
    out->sum = wr_hasher_sum(hasher);
    wr_free(buf);
    wr_hasher_free(hasher);
    s->world->vt->file_close(s->world, f);
    return status;
}

static wr_status add_shared(wr_checkpoint_store *s, wr_checkpoint_writer *w, const char *name, const char *path, wr_err *err) {
    const wr_checkpoint_file *known = known_file(s, name);
    if (known) {
        wr_arr_push(&w->files, *known);
        return s->world->vt->remove(s->world, path, err);
    }
    wr_checkpoint_file f = {0};
    snprintf(f.name, sizeof f.name, "%s", name);
    WR_TRY(hash_file(s, path, &f, err));
    snprintf(f.stored, sizeof f.stored, "%016" PRIx64 "-%" PRIu64 ".sst", f.sum, f.bytes);
    char to[512];
    if (!s->files_made) {
        stored_path(to, sizeof to, s->dir, "");
        WR_TRY(s->world->vt->make_dirs(s->world, to, err));
        s->files_made = true;
    }
    stored_path(to, sizeof to, s->dir, f.stored);
    WR_TRY(s->world->vt->rename(s->world, path, to, err)); /* over an orphan of the same content, perhaps: then it is whole again */
    wr_arr_push(&s->known, f);
    wr_arr_push(&w->files, f);
    w->new_bytes += f.bytes;
    w->new_files++;
    return WR_OK;
}

wr_status wr_checkpoint_add_file(wr_checkpoint_store *s, wr_checkpoint_writer *w, const char *name, const char *path, bool shared, wr_err *err) {
    if (shared) return add_shared(s, w, name, path, err);
    wr_sbuf   content = {0};
    wr_status status = wr_file_read_all(s->world, path, (size_t)1 << 30, &content, err);
    if (status == WR_OK) status = s->world->vt->remove(s->world, path, err);
    if (status == WR_OK) wr_checkpoint_put(w, WR_SECTION_FILE, wr_str_of(name), 0, &content);
    wr_sbuf_free(&content);
    return status;
}

/* ---- what is kept ---- */
static kept *kept_of(wr_checkpoint_store *s, uint64_t epoch) {
    for (uint32_t i = 0; i < s->manifests.n; i++)
        if (s->manifests.at[i].epoch == epoch) return &s->manifests.at[i];
    return NULL;
}

static void keep(wr_checkpoint_store *s, uint64_t epoch, const wr_checkpoint_file *files, uint32_t n) {
    kept *k = kept_of(s, epoch);
    if (!k) {
        wr_arr_push(&s->manifests, (kept){.epoch = epoch});
        k = &s->manifests.at[s->manifests.n - 1];
    }
    k->files.n = 0;
    for (uint32_t i = 0; i < n; i++) wr_arr_push(&k->files, files[i]);
}

static void forget(wr_checkpoint_store *s, uint64_t epoch) {
    for (uint32_t i = 0; i < s->manifests.n; i++) {
        if (s->manifests.at[i].epoch != epoch) continue;
        wr_arr_free(&s->manifests.at[i].files);
        s->manifests.at[i] = s->manifests.at[--s->manifests.n];
        return;
    }
}

void wr_checkpoint_store_know(wr_checkpoint_store *s, const wr_checkpoint *ck) {
    for (uint32_t i = 0; i < ck->files.n; i++) wr_arr_push(&s->known, ck->files.at[i]);
    keep(s, ck->epoch, ck->files.at, ck->files.n);
}

static bool is_named(const wr_checkpoint_store *s, const char *stored) {
    for (uint32_t i = 0; i < s->manifests.n; i++)
        for (uint32_t k = 0; k < s->manifests.at[i].files.n; k++)
            if (!strcmp(s->manifests.at[i].files.at[k].stored, stored)) return true;
    return false;
}

static wr_status remove_orphans(wr_checkpoint_store *s, wr_err *err) {
    char          path[512];
    bool          there = false;
    wr_file_info *found = NULL;
    size_t        n = 0;
    stored_path(path, sizeof path, s->dir, "");
    WR_TRY(exists(s->world, path, &there, err));
    if (!there) return WR_OK;
    WR_TRY(s->world->vt->list(s->world, path, &found, &n, err));
    wr_status status = WR_OK;
    for (size_t i = 0; i < n && status == WR_OK; i++) {
        if (is_named(s, found[i].name)) continue;
        stored_path(path, sizeof path, s->dir, found[i].name);
        status = s->world->vt->remove(s->world, path, err);
    }
    wr_free(found);
    for (uint32_t i = s->known.n; i-- > 0;)
        if (!is_named(s, s->known.at[i].stored)) s->known.at[i] = s->known.at[--s->known.n];
    return status;
}

/* The manifests that stay must be known, those of an earlier run are read; one that cannot be read keeps all files where they are. */
static wr_status retire(wr_checkpoint_store *s, uint64_t newest, wr_err *err) {
    wr_checkpoint_epochs have = {0};
    wr_status status = wr_checkpoint_list(s->world, s->dir, &have, err);
    bool      all_known = true, removed = false;
    for (uint32_t i = 0; i < have.n && status == WR_OK; i++) {
        bool abandoned = have.at[i] > newest; /* damaged ones, after --accept-older */
        if (abandoned || (i + s->n_keep < have.n && have.at[i] != newest)) {
            char path[512];
            manifest_path(path, sizeof path, s->dir, have.at[i]);
            status = s->world->vt->remove(s->world, path, err);
            forget(s, have.at[i]);
            removed = true;
            continue;
        }
        if (kept_of(s, have.at[i])) continue;
        wr_checkpoint older;
        wr_err        ignored;
        if (wr_checkpoint_read(s->world, s->dir, have.at[i], &older, &ignored) == WR_OK) keep(s, older.epoch, older.files.at, older.files.n);
        else all_known = false;
        wr_checkpoint_close(&older);
    }
    wr_arr_free(&have);
    return status == WR_OK && all_known && removed ? remove_orphans(s, err) : status;
}

wr_status wr_checkpoint_commit(wr_checkpoint_store *s, wr_checkpoint_writer *w, wr_checkpoint_written *out, wr_err *err) {
    char     path[512];
    uint64_t bytes = 0;
    if (w->new_files) {
        stored_path(path, sizeof path, s->dir, "");
        WR_TRY(s->world->vt->sync_dir(s->world, path, err));
    }
    manifest_path(path, sizeof path, s->dir, w->epoch);
    WR_TRY(manifest_write(w, s->world, path, &bytes, err));
    keep(s, w->epoch, w->files.at, w->files.n); /* it has its name: whether durable or not, its files stay */
    WR_TRY(s->world->vt->sync_dir(s->world, s->dir, err));
    *out = (wr_checkpoint_written){.new_bytes = bytes + w->new_bytes, .total_bytes = bytes, .new_files = w->new_files, .total_files = w->files.n};
    for (uint32_t i = 0; i < w->files.n; i++) out->total_bytes += w->files.at[i].bytes;
    return retire(s, w->epoch, err);
}

wr_status wr_checkpoint_clear(wr_world *world, const char *dir, wr_err *err) {
    bool there = false;
    WR_TRY(exists(world, dir, &there, err));
    if (!there) return WR_OK;
    wr_checkpoint_epochs have = {0};
    char      path[512];
    wr_status status = wr_checkpoint_list(world, dir, &have, err);
    for (uint32_t i = have.n; status == WR_OK && i-- > 0;) { /* newest first: what a crash leaves is older, never newer */
        manifest_path(path, sizeof path, dir, have.at[i]);
        status = world->vt->remove(world, path, err);
    }
    wr_arr_free(&have);
    if (status == WR_OK) status = world->vt->sync_dir(world, dir, err); /* no manifest may name a file that is gone */
    stored_path(path, sizeof path, dir, "");
    return status == WR_OK ? wr_dir_remove(world, path, err) : status;
}

/* ---- reading ---- */
static wr_status read_verified(wr_world *world, const char *dir, uint64_t epoch, wr_checkpoint *ck, wr_err *err) {
    WR_TRY(wr_checkpoint_read(world, dir, epoch, ck, err));
    wr_status status = WR_OK;
    for (uint32_t i = 0; i < ck->files.n && status == WR_OK; i++) status = wr_checkpoint_check_file(world, dir, &ck->files.at[i], err);
    if (status != WR_OK) wr_checkpoint_close(ck);
    return status;
}

wr_status wr_checkpoint_open(wr_world *world, const char *dir, bool accept_older, wr_checkpoint *out, bool *found, wr_err *err) {
    memset(out, 0, sizeof *out);
    *found = false;
    wr_checkpoint_epochs have = {0};
    wr_status status = wr_checkpoint_list(world, dir, &have, err);
    if (status != WR_OK || have.n == 0) {
        wr_arr_free(&have);
        return status;
    }
    status = read_verified(world, dir, have.at[have.n - 1], out, err);
    *found = status == WR_OK;
    for (uint32_t i = have.n - 1; status == WR_CORRUPT && i-- > 0;) {
        wr_checkpoint older;
        wr_err        older_err;
        if (read_verified(world, dir, have.at[i], &older, &older_err) != WR_OK) continue;
        if (accept_older) {
            *out = older;
            *found = true;
            status = WR_OK;
            break;
        }
        wr_err_hint(err, "checkpoint %s before it is whole; use it with --accept-older", older.path);
        wr_checkpoint_close(&older);
        break;
    }
    wr_arr_free(&have);
    return status;
}

/* ---- copies ---- */
static wr_status place_one(wr_world *world, const char *from, const char *to, wr_err *err) {
    wr_err refused;
    if (world->vt->link && world->vt->link(world, from, to, &refused) == WR_OK) return WR_OK;
    (void)!world->vt->remove(world, to, &refused); /* a link that was made and yet reported as failed: copying into it would empty what it is linked to */
    return wr_file_copy(world, from, to, err);
}

wr_status wr_checkpoint_place(wr_world *world, const char *dir, const wr_checkpoint *ck, const char *to_dir, wr_err *err) {
    char from[512], to[600];
    for (uint32_t i = 0; i < ck->files.n; i++) {
        stored_path(from, sizeof from, dir, ck->files.at[i].stored);
        snprintf(to, sizeof to, "%s/%s", to_dir, ck->files.at[i].name);
        WR_TRY(place_one(world, from, to, err));
    }
    for (uint32_t i = 0; i < ck->sections.n; i++) {
        const wr_section *s = &ck->sections.at[i];
        if (s->kind != WR_SECTION_FILE) continue;
        snprintf(to, sizeof to, "%s/%.*s", to_dir, WR_FMT(s->owner));
        WR_TRY(wr_file_replace(world, to, s->content, err));
    }
    return WR_OK;
}

/* Links first, which is quick, so that a running job that moves on cannot take the files away; then copies. */
static wr_status export_files(wr_world *world, const char *dir, const wr_checkpoint *ck, const char *pin, const char *to, wr_err *err) {
    char from[700], path[700];
    for (uint32_t i = 0; i < ck->files.n; i++) {
        stored_path(from, sizeof from, dir, ck->files.at[i].stored);
        snprintf(path, sizeof path, "%s/%s", pin, ck->files.at[i].stored);
        bool there = false;
        WR_TRY(exists(world, path, &there, err));
        if (!there) WR_TRY(place_one(world, from, path, err));
    }
    for (uint32_t i = 0; i < ck->files.n; i++) {
        snprintf(from, sizeof from, "%s/%s", pin, ck->files.at[i].stored);
        stored_path(path, sizeof path, to, ck->files.at[i].stored);
        WR_TRY(wr_file_copy(world, from, path, err));
        WR_TRY(wr_checkpoint_check_file(world, to, &ck->files.at[i], err));
    }
    return WR_OK;
}

wr_status wr_checkpoint_export(wr_world *world, const char *dir, const wr_checkpoint *ck, const char *to, wr_err *err) {
    char path[600], pin[600];
    stored_path(path, sizeof path, to, "");
    WR_TRY(world->vt->make_dirs(world, ck->files.n ? path : to, err));
    if (ck->files.n) {
        snprintf(pin, sizeof pin, "%s/pin-%016" PRIx64, dir, world->vt->random(world));
        WR_TRY(world->vt->make_dirs(world, pin, err));
        wr_status status = export_files(world, dir, ck, pin, to, err);
        wr_err    ignored;
        wr_status cleared = wr_dir_remove(world, pin, status == WR_OK ? err : &ignored);
        WR_TRY(status);
        WR_TRY(cleared);
        WR_TRY(world->vt->sync_dir(world, path, err));
    }
    manifest_path(path, sizeof path, to, ck->epoch);
    return wr_file_replace(world, path, wr_sbuf_str(&ck->file), err);
}
