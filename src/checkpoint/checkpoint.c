/* checkpoint/checkpoint.c: see checkpoint.h. */
#include "checkpoint/checkpoint.h"
#include "base/hash.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static const char HEAD[8] = {'W', 'E', 'I', 'R', 'C', 'K', 'P', '1'}, TAIL[8] = {'W', 'E', 'I', 'R', 'E', 'N', 'D', '1'};

void wr_checkpoint_begin(wr_checkpoint_writer *w, uint64_t epoch) {
    memset(w, 0, sizeof *w);
    wr_sbuf_add(&w->buf, HEAD, sizeof HEAD);
    wr_put_u32(&w->buf, WR_CHECKPOINT_VERSION);
    wr_put_u64(&w->buf, epoch);
}

void wr_checkpoint_put(wr_checkpoint_writer *w, wr_section_kind kind, wr_str owner, uint32_t instance, wr_str content) {
    size_t from = w->buf.len;
    wr_put_u32(&w->buf, (uint32_t)kind);
    wr_put_bytes(&w->buf, owner.ptr, owner.len);
    wr_put_u32(&w->buf, instance);
    wr_put_u64(&w->buf, content.len);
    wr_sbuf_add(&w->buf, content.ptr, content.len);
    wr_put_u64(&w->buf, wr_hash_bytes(w->buf.at + from, w->buf.len - from));
    w->n++;
}

void wr_checkpoint_abandon(wr_checkpoint_writer *w) { wr_sbuf_free(&w->buf); }

static bool parse_name(const char *name, uint64_t *epoch) {
    static const char prefix[] = "checkpoint-", suffix[] = ".weir";
    size_t len = strlen(name);
    if (len <= sizeof prefix - 1 + sizeof suffix - 1 || memcmp(name, prefix, sizeof prefix - 1) != 0) return false;
    if (strcmp(name + len - (sizeof suffix - 1), suffix) != 0) return false;
    char *end;
    *epoch = strtoull(name + sizeof prefix - 1, &end, 10);
    return end == name + len - (sizeof suffix - 1);
}

static void file_path(char *out, size_t cap, const char *dir, uint64_t epoch) {
    snprintf(out, cap, "%s/checkpoint-%012" PRIu64 ".weir", dir, epoch);
}

/* Epochs of the checkpoint files in dir, ascending. */
typedef WR_ARR(uint64_t) epochs;
static wr_status list_epochs(wr_world *world, const char *dir, epochs *out, wr_err *err) {
    wr_file_info *files = NULL;
    size_t        n = 0;
    WR_TRY(world->vt->list(world, dir, &files, &n, err));
    for (size_t i = 0; i < n; i++) { /* names are zero-padded: sorted by name is sorted by epoch */
        uint64_t epoch;
        if (parse_name(files[i].name, &epoch)) wr_arr_push(out, epoch);
    }
    wr_free(files);
    return WR_OK;
}

wr_status wr_checkpoint_commit(wr_checkpoint_writer *w, wr_world *world, const char *dir, uint64_t epoch, uint64_t *bytes, wr_err *err) {
    wr_sbuf_add(&w->buf, TAIL, sizeof TAIL);
    wr_put_u32(&w->buf, w->n);
    wr_put_u64(&w->buf, wr_hash_bytes(w->buf.at, w->buf.len));
    char path[512];
    file_path(path, sizeof path, dir, epoch);
    *bytes = w->buf.len;
    wr_status status = wr_file_replace(world, path, wr_sbuf_str(&w->buf), err);
    wr_sbuf_free(&w->buf);
    if (status != WR_OK) return status;
    epochs have = {0};
    status = list_epochs(world, dir, &have, err);
    for (uint32_t i = 0; status == WR_OK && i + WR_CHECKPOINTS_KEPT < have.n; i++) {
        file_path(path, sizeof path, dir, have.at[i]);
        status = world->vt->remove(world, path, err);
    }
    wr_arr_free(&have);
    return status;
}

static wr_status damaged(wr_checkpoint *ck, const char *why, wr_err *err) {
    return wr_fail(err, WR_CORRUPT, "WR301", "checkpoint %s is damaged: %s", ck->path, why);
}

static wr_status parse_sections(wr_checkpoint *ck, const uint8_t *end, uint32_t n, wr_err *err) {
    wr_reader r = {.at = (const uint8_t *)ck->file.at + 20, .end = end};
    for (uint32_t i = 0; i < n; i++) {
        const uint8_t *from = r.at;
        wr_section     s = {.kind = (wr_section_kind)wr_get_u32(&r)};
        s.owner = wr_get_bytes(&r);
        s.instance = wr_get_u32(&r);
        uint64_t len = wr_get_u64(&r);
        if (r.bad || (uint64_t)(r.end - r.at) < len) return damaged(ck, "a section is cut short", err);
        s.content = (wr_str){(const char *)r.at, len};
        r.at += len;
        uint64_t sum = wr_hash_bytes(from, (size_t)(r.at - from));
        if (wr_get_u64(&r) != sum || r.bad) return damaged(ck, "a section's checksum does not match", err);
        wr_arr_push(&ck->sections, s);
    }
    return r.at == r.end ? WR_OK : damaged(ck, "bytes are left over", err);
}

static wr_status read_one(wr_world *world, const char *dir, uint64_t epoch, wr_checkpoint *ck, wr_err *err) {
    memset(ck, 0, sizeof *ck);
    ck->epoch = epoch;
    file_path(ck->path, sizeof ck->path, dir, epoch);
    WR_TRY(wr_file_read_all(world, ck->path, (size_t)1 << 40, &ck->file, err));
    enum { FOOT = 8 + 4 + 8 };
    if (ck->file.len < 20 + FOOT || memcmp(ck->file.at, HEAD, sizeof HEAD) != 0) return damaged(ck, "it is not a checkpoint file", err);
    wr_reader r = {.at = (const uint8_t *)ck->file.at + 8, .end = (const uint8_t *)ck->file.at + ck->file.len};
    uint32_t  version = wr_get_u32(&r);
    if (version != WR_CHECKPOINT_VERSION)
        return wr_fail(err, WR_CORRUPT, "WR302", "checkpoint %s has format version %u; this weir reads version %d", ck->path, version,
                       WR_CHECKPOINT_VERSION);
    if (wr_get_u64(&r) != epoch) return damaged(ck, "its name and its content disagree", err);
    const uint8_t *foot = (const uint8_t *)ck->file.at + ck->file.len - FOOT;
    wr_reader      f = {.at = foot + 8, .end = foot + FOOT};
    uint32_t       n = wr_get_u32(&f);
    if (memcmp(foot, TAIL, sizeof TAIL) != 0) return damaged(ck, "its end is missing", err);
    if (wr_get_u64(&f) != wr_hash_bytes(ck->file.at, ck->file.len - 8)) return damaged(ck, "its checksum does not match", err);
    return parse_sections(ck, foot, n, err);
}

wr_status wr_checkpoint_open(wr_world *world, const char *dir, bool accept_older, wr_checkpoint *out, bool *found, wr_err *err) {
    memset(out, 0, sizeof *out);
    *found = false;
    wr_file_info info;
    bool         exists = false;
    WR_TRY(world->vt->stat(world, dir, &info, &exists, err));
    if (!exists) return WR_OK;
    epochs    have = {0};
    wr_status status = list_epochs(world, dir, &have, err);
    if (status != WR_OK || have.n == 0) {
        wr_arr_free(&have);
        return status;
    }
    status = read_one(world, dir, have.at[have.n - 1], out, err);
    *found = status == WR_OK;
    if (status == WR_CORRUPT && have.n > 1) {
        wr_checkpoint older;
        wr_err        older_err;
        wr_status     again = read_one(world, dir, have.at[have.n - 2], &older, &older_err);
        if (again == WR_OK && accept_older) {
            wr_checkpoint_close(out);
            *out = older;
            *found = true;
            status = WR_OK;
        } else {
            if (again == WR_OK) wr_err_hint(err, "checkpoint %s before it is whole; use it with --accept-older", older.path);
            wr_checkpoint_close(&older);
        }
    }
    wr_arr_free(&have);
    if (status != WR_OK) wr_checkpoint_close(out);
    return status;
}

wr_status wr_checkpoint_clear(wr_world *world, const char *dir, wr_err *err) {
    wr_file_info info;
    bool         exists = false;
    WR_TRY(world->vt->stat(world, dir, &info, &exists, err));
    if (!exists) return WR_OK;
    epochs    have = {0};
    wr_status status = list_epochs(world, dir, &have, err);
    for (uint32_t i = have.n; status == WR_OK && i-- > 0;) { /* newest first: what a crash leaves is older, never newer */
        char path[512];
        file_path(path, sizeof path, dir, have.at[i]);
        status = world->vt->remove(world, path, err);
    }
    wr_arr_free(&have);
    return status == WR_OK ? world->vt->sync_dir(world, dir, err) : status;
}

void wr_checkpoint_close(wr_checkpoint *ck) {
    wr_sbuf_free(&ck->file);
    wr_arr_free(&ck->sections);
}

const wr_section *wr_checkpoint_find(const wr_checkpoint *ck, wr_section_kind kind, wr_str owner) {
    for (uint32_t i = 0; i < ck->sections.n; i++)
        if (ck->sections.at[i].kind == kind && wr_str_eq(ck->sections.at[i].owner, owner)) return &ck->sections.at[i];
    return NULL;
}
