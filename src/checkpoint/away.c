/* checkpoint/away.c: the copy of a job's checkpoints in an object store: what is uploaded, what is removed there, and the way back. See checkpoint.h.
 *
 * Idea       the same layout as in the state directory: PREFIX/checkpoint-N.weir and PREFIX/files/NAME, beside PREFIX/owner. The store is listed once at the
 *            start; from then on what it holds is remembered, because one job at a time writes there.
 * Owner      a state directory draws a number and writes it to DIR/away and PREFIX/owner. A job that went on elsewhere from these checkpoints has written
 *            its own number, which makes this one stop. It is looked at before each manifest, so that a stopped one's place is not written over, and behind
 *            it, before the checkpoint counts: he who takes over writes the number first and looks for newer manifests then, so one of the two sees the other.
 * Invariant  a manifest is uploaded behind all files that it names; a file is removed behind all manifests that named it. So each manifest there is whole.
 * Thread     one at a time, cancel from any.                                                                                          */
#include "checkpoint/internal.h"
#include "remote/remote.h"
#include <inttypes.h>
#include <stdio.h>

enum { OWNER_BYTES = 16 };
typedef struct named { uint64_t epoch; bool known; WR_ARR(wr_checkpoint_file) files; } named;
struct wr_checkpoint_away {
    wr_world  *world;
    wr_remote *remote;
    char      *dir, *scratch;
    uint32_t   n_keep;
    char       owner[OWNER_BYTES + 1], mine[OWNER_BYTES + 1]; /* of the prefix, of the directory; "": none */
    wr_remote_objects files;           /* in PREFIX/files/ */
    WR_ARR(named) manifests;           /* ascending */
};

/* ---- what is there ---- */
static void add_manifest(wr_checkpoint_away *a, uint64_t epoch) {
    for (uint32_t i = 0; i < a->manifests.n; i++)
        if (a->manifests.at[i].epoch == epoch) return;
    wr_arr_push(&a->manifests, (named){.epoch = epoch});
    for (uint32_t i = a->manifests.n - 1; i > 0 && a->manifests.at[i - 1].epoch > epoch; i--) {
        named t = a->manifests.at[i];
        a->manifests.at[i] = a->manifests.at[i - 1];
        a->manifests.at[i - 1] = t;
    }
}

static named *find_manifest(wr_checkpoint_away *a, uint64_t epoch) {
    for (uint32_t i = 0; i < a->manifests.n; i++)
        if (a->manifests.at[i].epoch == epoch) return &a->manifests.at[i];
    return NULL;
}

static void drop_manifest(wr_checkpoint_away *a, uint32_t at) {
    wr_arr_free(&a->manifests.at[at].files);
    for (uint32_t i = at + 1; i < a->manifests.n; i++) a->manifests.at[i - 1] = a->manifests.at[i];
    a->manifests.n--;
}

static bool has_file(const wr_checkpoint_away *a, const wr_checkpoint_file *f) {
    for (uint32_t i = 0; i < a->files.n; i++)
        if (!strcmp(a->files.at[i].name, f->stored)) return a->files.at[i].bytes == f->bytes;
    return false;
}

static void note_file(wr_checkpoint_away *a, const wr_checkpoint_file *f) {
    wr_remote_object o = {.bytes = f->bytes};
    snprintf(o.name, sizeof o.name, "%s", f->stored);
    for (uint32_t i = 0; i < a->files.n; i++)
        if (!strcmp(a->files.at[i].name, o.name)) {
            a->files.at[i] = o;
            return;
        }
    wr_arr_push(&a->files, o);
}

static void set_files(named *m, const wr_checkpoint_file *files, uint32_t n) {
    m->files.n = 0;
    m->known = true;
    for (uint32_t i = 0; i < n; i++) wr_arr_push(&m->files, files[i]);
}

static uint64_t newest_of(const wr_checkpoint_away *a) { return a->manifests.n ? a->manifests.at[a->manifests.n - 1].epoch : 0; }

static wr_status look(wr_checkpoint_away *a, wr_err *err) {
    wr_remote_objects top = {0};
    while (a->manifests.n) drop_manifest(a, a->manifests.n - 1);
    a->files.n = 0;
    wr_status status = wr_remote_list(a->remote, "", &top, err);
    for (uint32_t i = 0; i < top.n; i++) {
        uint64_t epoch;
        if (manifest_epoch(top.at[i].name, &epoch)) add_manifest(a, epoch);
    }
    wr_arr_free(&top);
    return status == WR_OK ? wr_remote_list(a->remote, "files/", &a->files, err) : status;
}

/* ---- owner ---- */
static void take_owner(char *out, wr_str text) {
    out[0] = 0;
    if (text.len < OWNER_BYTES) return;
    memcpy(out, text.ptr, OWNER_BYTES);
    out[OWNER_BYTES] = 0;
}

static wr_status read_owner(wr_checkpoint_away *a, wr_err *err) {
    wr_sbuf text = {0};
    bool    found;
    WR_TRY(wr_remote_get(a->remote, "owner", 4096, &text, &found, err));
    take_owner(a->owner, wr_sbuf_str(&text));
    wr_sbuf_free(&text);
    return WR_OK;
}

static wr_status read_mine(wr_checkpoint_away *a, wr_err *err) {
    char         path[600];
    bool         there;
    wr_file_info info;
    wr_sbuf      text = {0};
    snprintf(path, sizeof path, "%s/away", a->dir);
    WR_TRY(a->world->vt->stat(a->world, path, &info, &there, err));
    wr_status status = there ? wr_file_read_all(a->world, path, 4096, &text, err) : WR_OK;
    take_owner(a->mine, wr_sbuf_str(&text));
    wr_sbuf_free(&text);
    return status;
}

wr_status wr_checkpoint_away_take(wr_checkpoint_away *a, wr_err *err) {
    char path[600], text[OWNER_BYTES + 2];
    if (a->mine[0] && !strcmp(a->mine, a->owner)) return WR_OK;
    if (!a->mine[0]) {
        snprintf(a->mine, sizeof a->mine, "%016" PRIx64, a->world->vt->random(a->world));
        snprintf(path, sizeof path, "%s/away", a->dir);
        snprintf(text, sizeof text, "%s\n", a->mine);
        WR_TRY(wr_file_replace(a->world, path, wr_str_of(text), err));
    }
    snprintf(text, sizeof text, "%s\n", a->mine);
    WR_TRY(wr_remote_put(a->remote, "owner", wr_str_of(text), err));
    memcpy(a->owner, a->mine, sizeof a->owner);
    return WR_OK;
}

static wr_status still_ours(wr_checkpoint_away *a, wr_err *err) {
    WR_TRY(read_owner(a, err));
    if (!strcmp(a->owner, a->mine)) return WR_OK;
    wr_fail(err, WR_USER, "WR332", "another job has taken over %s since this one began", wr_remote_url(a->remote));
    wr_err_hint(err, "two jobs cannot go on from the same checkpoints: stop one of them, or give it a prefix of its own");
    return WR_USER;
}

wr_status wr_checkpoint_away_check(wr_checkpoint_away *a, uint64_t local_epoch, bool accept_older, wr_err *err) {
    if (!a->manifests.n) return WR_OK;
    uint64_t    newest = newest_of(a);
    const char *url = wr_remote_url(a->remote);
    if (strcmp(a->owner, a->mine) != 0) {
        wr_fail(err, WR_USER, "WR332", "%s holds checkpoints of another state directory than %s", url, a->dir);
        wr_err_hint(err, "give this job a prefix of its own; to go on from what is there, start with an empty --state-dir");
        return WR_USER;
    }
    if (newest > local_epoch && !accept_older) {
        wr_fail(err, WR_USER, "WR333", "%s has checkpoint %" PRIu64 ", newer than checkpoint %" PRIu64 " in %s", url, newest, local_epoch, a->dir);
        wr_err_hint(err, "start with an empty --state-dir to go on from the newer one; --accept-older takes the older one");
        return WR_USER;
    }
    return WR_OK;
}

/* ---- life ---- */
wr_status wr_checkpoint_away_open(wr_world *world, const char *dir, const char *url, uint32_t n_keep, wr_checkpoint_away **out, wr_err *err) {
    wr_checkpoint_away *a = wr_calloc(1, sizeof *a);
    char scratch[600];
    snprintf(scratch, sizeof scratch, "%s/download", dir);
    a->world = world;
    a->dir = wr_strdup(dir);
    a->scratch = wr_strdup(scratch);
    a->n_keep = n_keep ? n_keep : WR_CHECKPOINTS_KEPT;
    wr_status status = wr_remote_open(world, url, &a->remote, err);
    if (status == WR_OK) status = look(a, err);
    if (status == WR_OK) status = read_owner(a, err);
    if (status == WR_OK) status = read_mine(a, err);
    if (status != WR_OK) wr_checkpoint_away_free(a), a = NULL;
    *out = a;
    return status;
}

void wr_checkpoint_away_free(wr_checkpoint_away *a) {
    if (!a) return;
    while (a->manifests.n) drop_manifest(a, a->manifests.n - 1);
    wr_arr_free(&a->manifests);
    wr_arr_free(&a->files);
    wr_remote_close(a->remote);
    wr_free(a->dir);
    wr_free(a->scratch);
    wr_free(a);
}

void wr_checkpoint_away_cancel(wr_checkpoint_away *a) {
    if (a) wr_remote_cancel(a->remote);
}

/* ---- up ---- */
static bool is_named(const wr_checkpoint_away *a, const char *stored) {
    for (uint32_t i = 0; i < a->manifests.n; i++)
        for (uint32_t k = 0; k < a->manifests.at[i].files.n; k++)
            if (!strcmp(a->manifests.at[i].files.at[k].stored, stored)) return true;
    return false;
}

static wr_status upload_files(wr_checkpoint_away *a, const wr_checkpoint_file *files, uint32_t n, wr_checkpoint_uploaded *out, wr_err *err) {
    char name[128], path[600];
    for (uint32_t i = 0; i < n; i++) {
        if (has_file(a, &files[i])) continue;
        stored_path(path, sizeof path, a->dir, files[i].stored);
        snprintf(name, sizeof name, "files/%s", files[i].stored);
        WR_TRY(wr_remote_put_file(a->remote, name, path, err));
        note_file(a, &files[i]);
        out->files++;
        out->bytes += files[i].bytes;
    }
    return WR_OK;
}

/* Failures are no harm: what is left over is removed behind a later checkpoint. */
static void retire(wr_checkpoint_away *a, uint64_t newest) {
    char     name[160];
    wr_err   ignored;
    bool     all_known = true;
    uint32_t upto = 0;
    while (upto < a->manifests.n && a->manifests.at[upto].epoch <= newest) upto++;
    for (uint32_t i = a->manifests.n; i-- > 0;) { /* those above newest are damaged or abandoned */
        bool old = i < upto && i + a->n_keep < upto, abandoned = i >= upto;
        manifest_name(name, sizeof name, a->manifests.at[i].epoch);
        if (!old && !abandoned) all_known = all_known && a->manifests.at[i].known;
        else if (wr_remote_remove(a->remote, name, &ignored) == WR_OK) drop_manifest(a, i);
        else return;
    }
    for (uint32_t i = a->files.n; all_known && i-- > 0;) {
        if (is_named(a, a->files.at[i].name)) continue;
        snprintf(name, sizeof name, "files/%s", a->files.at[i].name);
        if (wr_remote_remove(a->remote, name, &ignored) != WR_OK) return;
        a->files.at[i] = a->files.at[--a->files.n];
    }
}

wr_status wr_checkpoint_away_upload(wr_checkpoint_away *a, uint64_t epoch, const wr_checkpoint_file *files, uint32_t n, wr_checkpoint_uploaded *out, wr_err *err) {
    char         name[160], path[600];
    wr_file_info info;
    bool         there;
    WR_TRY(upload_files(a, files, n, out, err));
    manifest_name(name, sizeof name, epoch);
    manifest_path(path, sizeof path, a->dir, epoch);
    WR_TRY(a->world->vt->stat(a->world, path, &info, &there, err));
    WR_TRY(still_ours(a, err));
    add_manifest(a, epoch); /* from here on it may be there, whatever the answer: its files stay */
    set_files(find_manifest(a, epoch), files, n);
    WR_TRY(wr_remote_put_file(a->remote, name, path, err));
    WR_TRY(still_ours(a, err));
    out->bytes += info.size_bytes;
    out->files++;
    retire(a, epoch);
    return WR_OK;
}

wr_status wr_checkpoint_away_clear(wr_checkpoint_away *a, wr_err *err) {
    char name[160];
    while (a->manifests.n) {
        manifest_name(name, sizeof name, a->manifests.at[a->manifests.n - 1].epoch);
        WR_TRY(wr_remote_remove(a->remote, name, err));
        drop_manifest(a, a->manifests.n - 1);
    }
    for (; a->files.n; a->files.n--) {
        snprintf(name, sizeof name, "files/%s", a->files.at[a->files.n - 1].name);
        WR_TRY(wr_remote_remove(a->remote, name, err));
    }
    return WR_OK;
}

/* ---- down ---- */
/* Messages about the scratch directory are about the store. */
static void rename_place(const wr_checkpoint_away *a, wr_err *err) {
    char  *at = strstr(err->message, a->scratch);
    wr_sbuf text = {0};
    if (!at) return;
    wr_sbuf_printf(&text, "%.*s%s%s", (int)(at - err->message), err->message, wr_remote_url(a->remote), at + strlen(a->scratch));
    snprintf(err->message, sizeof err->message, "%s", text.at);
    wr_sbuf_free(&text);
}

static wr_status missing(const wr_checkpoint_away *a, const char *name, wr_err *err) {
    return wr_fail(err, WR_CORRUPT, "WR301", "checkpoint file %s/%s is missing", wr_remote_url(a->remote), name);
}

static wr_status fetch_file(wr_checkpoint_away *a, const wr_checkpoint_file *f, wr_err *err) {
    char         name[128], path[600];
    wr_file_info info;
    bool         there;
    stored_path(path, sizeof path, a->scratch, f->stored);
    WR_TRY(a->world->vt->stat(a->world, path, &info, &there, err));
    if (!there) {
        snprintf(name, sizeof name, "files/%s", f->stored);
        WR_TRY(wr_remote_get_file(a->remote, name, path, &there, err));
        if (!there) return missing(a, name, err);
    }
    return wr_checkpoint_check_file(a->world, a->scratch, f, err);
}

/* One checkpoint, whole, into the scratch directory. */
static wr_status fetch(wr_checkpoint_away *a, uint64_t epoch, wr_checkpoint *ck, wr_err *err) {
    char name[160], path[600];
    bool there;
    memset(ck, 0, sizeof *ck);
    manifest_name(name, sizeof name, epoch);
    manifest_path(path, sizeof path, a->scratch, epoch);
    WR_TRY(wr_remote_get_file(a->remote, name, path, &there, err));
    if (!there) return missing(a, name, err);
    wr_status status = wr_checkpoint_read(a->world, a->scratch, epoch, ck, err);
    for (uint32_t i = 0; i < ck->files.n && status == WR_OK; i++) status = fetch_file(a, &ck->files.at[i], err);
    if (status != WR_OK) wr_checkpoint_close(ck), rename_place(a, err);
    return status;
}

static wr_status install(wr_checkpoint_away *a, const wr_checkpoint *ck, wr_err *err) {
    char from[600], to[600];
    stored_path(to, sizeof to, a->dir, "");
    if (ck->files.n) WR_TRY(a->world->vt->make_dirs(a->world, to, err));
    for (uint32_t i = 0; i < ck->files.n; i++) {
        stored_path(from, sizeof from, a->scratch, ck->files.at[i].stored);
        stored_path(to, sizeof to, a->dir, ck->files.at[i].stored);
        WR_TRY(a->world->vt->rename(a->world, from, to, err));
    }
    stored_path(to, sizeof to, a->dir, "");
    if (ck->files.n) WR_TRY(a->world->vt->sync_dir(a->world, to, err));
    manifest_path(from, sizeof from, a->scratch, ck->epoch);
    manifest_path(to, sizeof to, a->dir, ck->epoch);
    WR_TRY(a->world->vt->rename(a->world, from, to, err));
    return a->world->vt->sync_dir(a->world, a->dir, err);
}

/* The newest whole one; a damaged newest one is an error that offers the one before, or is passed over. */
static wr_status fetch_newest(wr_checkpoint_away *a, bool accept_older, wr_checkpoint *ck, wr_err *err) {
    wr_status status = fetch(a, a->manifests.at[a->manifests.n - 1].epoch, ck, err);
    for (uint32_t i = a->manifests.n - 1; status == WR_CORRUPT && i-- > 0;) {
        wr_err older_err;
        if (fetch(a, a->manifests.at[i].epoch, ck, &older_err) != WR_OK) continue;
        if (accept_older) return WR_OK;
        wr_err_hint(err, "checkpoint %" PRIu64 " before it is whole; use it with --accept-older", ck->epoch);
        wr_checkpoint_close(ck);
        break;
    }
    return status;
}

/* A directory that begins anew is somebody new. Before the checkpoint is in it: after a crash in between it simply begins again. */
static wr_status become_new(wr_checkpoint_away *a, bool take, wr_err *err) {
    char         path[600];
    wr_file_info info;
    bool         there;
    a->mine[0] = 0;
    if (take) return wr_checkpoint_away_take(a, err);
    snprintf(path, sizeof path, "%s/away", a->dir);
    WR_TRY(a->world->vt->stat(a->world, path, &info, &there, err));
    return there ? a->world->vt->remove(a->world, path, err) : WR_OK;
}

wr_status wr_checkpoint_away_fetch(wr_checkpoint_away *a, bool accept_older, bool take, bool *found, wr_err *err) {
    char          path[600];
    wr_checkpoint ck = {0};
    wr_err        ignored;
    *found = a->manifests.n > 0;
    if (!*found) return WR_OK;
    WR_TRY(wr_dir_remove(a->world, a->scratch, err));
    stored_path(path, sizeof path, a->scratch, "");
    WR_TRY(a->world->vt->make_dirs(a->world, path, err));
    wr_status status = WR_OK;
    for (uint64_t newest = 0; status == WR_OK && newest != newest_of(a);) { /* a job that still ran may have finished one meanwhile: then that one */
        wr_checkpoint_close(&ck);
        bool again = newest > 0;
        newest = newest_of(a);
        status = fetch_newest(a, accept_older, &ck, err);
        if (status == WR_OK && !again) status = become_new(a, take, err);
        if (status == WR_OK && take) status = look(a, err);
    }
    if (status == WR_OK) status = install(a, &ck, err);
    wr_checkpoint_close(&ck);
    wr_status cleared = wr_dir_remove(a->world, a->scratch, status == WR_OK ? err : &ignored);
    return status == WR_OK ? cleared : status;
}

/* ---- to look at ---- */
bool wr_checkpoint_away_is_empty(const wr_checkpoint_away *a) { return !a->manifests.n && !a->files.n; }

static wr_status mirror_files(wr_checkpoint_away *a, uint64_t epoch, wr_err *err) {
    wr_checkpoint ck = {0};
    wr_err        damaged;
    wr_status     status = WR_OK;
    if (wr_checkpoint_read(a->world, a->dir, epoch, &ck, &damaged) != WR_OK) return WR_OK; /* whoever looks at it will see that */
    for (uint32_t i = 0; i < ck.files.n && status == WR_OK; i++) {
        char         name[128], path[600];
        wr_file_info info;
        bool         there;
        stored_path(path, sizeof path, a->dir, ck.files.at[i].stored);
        snprintf(name, sizeof name, "files/%s", ck.files.at[i].stored);
        status = a->world->vt->stat(a->world, path, &info, &there, err);
        if (status == WR_OK && !there) status = wr_remote_get_file(a->remote, name, path, &there, err);
    }
    wr_checkpoint_close(&ck);
    return status;
}

wr_status wr_checkpoint_away_mirror(wr_checkpoint_away *a, uint64_t epoch, bool files, wr_err *err) {
    char path[600], name[160];
    stored_path(path, sizeof path, a->dir, "");
    WR_TRY(a->world->vt->make_dirs(a->world, path, err));
    if (epoch == WR_MIRROR_NEWEST) epoch = newest_of(a);
    for (uint32_t i = 0; i < a->manifests.n; i++) {
        uint64_t at = a->manifests.at[i].epoch;
        bool     there;
        if (epoch != WR_MIRROR_ALL && at != epoch) continue;
        manifest_name(name, sizeof name, at);
        manifest_path(path, sizeof path, a->dir, at);
        WR_TRY(wr_remote_get_file(a->remote, name, path, &there, err)); /* gone: retired by a running job meanwhile */
        if (there && files) WR_TRY(mirror_files(a, at, err));
    }
    return WR_OK;
}
