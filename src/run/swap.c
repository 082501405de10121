/* run/swap.c: see swap.h. */
#include "run/swap.h"
#include "base/hash.h"
#include <stdio.h>

enum { PATH = 700, JOURNAL_BYTES_MAX = 1 << 20 };
static const char MAGIC[] = "WEIRSWP1";

static void journal_path(const char *dir, char *out) { snprintf(out, PATH, "%s/swap.journal", dir); }

static wr_status exists(wr_world *world, const char *path, bool *there, wr_err *err) {
    wr_file_info info;
    return world->vt->stat(world, path, &info, there, err);
}

bool wr_swap_pending(wr_world *world, const char *dir) {
    char   path[PATH];
    bool   there = false;
    wr_err ignored;
    journal_path(dir, path);
    return exists(world, path, &there, &ignored) == WR_OK && there;
}

/* ---- the journal: magic, epochs, outputs, checksum ---- */
wr_status wr_swap_begin(wr_world *world, const char *dir, const wr_output *outputs, uint32_t n, uint64_t epoch, uint64_t was, wr_err *err) {
    char    path[PATH];
    wr_sbuf text = {0};
    wr_sbuf_add(&text, MAGIC, 8);
    wr_put_u64(&text, epoch), wr_put_u64(&text, was), wr_put_u32(&text, n);
    for (uint32_t i = 0; i < n; i++) wr_output_put(&outputs[i], &text);
    wr_put_u64(&text, wr_hash_bytes(text.at, text.len));
    journal_path(dir, path);
    wr_status status = wr_file_replace(world, path, wr_sbuf_str(&text), err);
    wr_sbuf_free(&text);
    return status;
}

typedef struct journal { wr_sbuf text; uint64_t epoch, was; WR_ARR(wr_output) outputs; } journal;

static wr_status damaged(const char *path, wr_err *err) {
    wr_fail(err, WR_CORRUPT, "WR323", "%s is damaged", path);
    wr_err_hint(err, "it says which outputs a backfill was putting in their place; with the files in the directory put right by hand, remove it");
    return WR_CORRUPT;
}

static wr_status read_journal(wr_world *world, const char *path, journal *j, wr_err *err) {
    WR_TRY(wr_file_read_all(world, path, JOURNAL_BYTES_MAX, &j->text, err));
    if (j->text.len < 36 || memcmp(j->text.at, MAGIC, 8) != 0) return damaged(path, err);
    wr_reader in = {(const uint8_t *)j->text.at + 8, (const uint8_t *)j->text.at + j->text.len - 8, false};
    wr_reader sum = {in.end, in.end + 8, false};
    if (wr_get_u64(&sum) != wr_hash_bytes(j->text.at, j->text.len - 8)) return damaged(path, err);
    j->epoch = wr_get_u64(&in), j->was = wr_get_u64(&in);
    for (uint32_t n = wr_get_u32(&in); n && !in.bad; n--) {
        wr_output o;
        wr_output_get(&o, &in);
        wr_arr_push(&j->outputs, o);
    }
    return in.bad ? damaged(path, err) : WR_OK;
}

/* ---- the state ---- */
static void put_staged_epoch(wr_checkpoint_writer *w, wr_str sink, const wr_checkpoint *live) {
    wr_sbuf owner = {0}, content = {0};
    wr_sbuf_printf(&owner, WR_STAGED_EPOCH_OWNER "%.*s", WR_FMT(sink));
    const wr_section *was = wr_checkpoint_find(live, WR_SECTION_SINK, wr_sbuf_str(&owner)); /* of a backfill before, and the job has not run since */
    if (was) wr_sbuf_add_str(&content, was->content);
    else wr_put_u64(&content, live->epoch);
    wr_checkpoint_put(w, WR_SECTION_SINK, wr_sbuf_str(&owner), 0, &content);
    wr_sbuf_free(&owner);
    wr_sbuf_free(&content);
}

wr_status wr_swap_checkpoint(wr_world *world, const char *dir, const wr_checkpoint *from, uint64_t epoch, const wr_str *sinks, uint32_t n_sinks, const wr_checkpoint *live, wr_err *err) {
    wr_checkpoint_writer  w = {0};
    wr_checkpoint_store  *store = wr_checkpoint_store_new(world, dir, 1);
    wr_checkpoint_written written;
    wr_checkpoint_begin(&w, epoch);
    for (uint32_t i = 0; i < from->sections.n; i++) {
        const wr_section *s = &from->sections.at[i];
        if (s->kind == WR_SECTION_FILES) continue; /* the store writes it */
        for (uint32_t k = 0; k < n_sinks && s->kind == WR_SECTION_SINK; k++) {
            const wr_section *kept = wr_str_eq(sinks[k], s->owner) ? wr_checkpoint_find(live, WR_SECTION_SINK, s->owner) : NULL;
            if (kept) s = kept, put_staged_epoch(&w, s->owner, live);
        }
        wr_sbuf content = {0};
        wr_sbuf_add_str(&content, s->content);
        wr_checkpoint_put(&w, s->kind, s->owner, s->instance, &content);
        wr_sbuf_free(&content);
    }
    for (uint32_t i = 0; live && i < live->sections.n; i++) { /* files of dead letters go on as they are; tables know epochs, and begin anew */
        const wr_section *s = &live->sections.at[i];
        wr_sbuf           content = {0};
        if (s->kind != WR_SECTION_SINK || !wr_str_starts(s->owner, WR_STR(WR_LETTERS_OWNER "file ")) || wr_checkpoint_find(from, WR_SECTION_SINK, s->owner)) continue;
        wr_sbuf_add_str(&content, s->content);
        wr_checkpoint_put(&w, s->kind, s->owner, s->instance, &content);
    }
    for (uint32_t i = 0; i < from->files.n; i++) wr_arr_push(&w.files, from->files.at[i]);
    wr_status status = wr_checkpoint_commit(store, &w, &written, err);
    wr_checkpoint_abandon(&w);
    wr_checkpoint_store_free(store);
    return status;
}

static wr_status install_files(wr_world *world, const char *dir, const wr_checkpoint *ck, wr_err *err) {
    char from[PATH], to[PATH];
    if (!ck->files.n) return WR_OK;
    snprintf(to, sizeof to, "%s/files", dir);
    WR_TRY(world->vt->make_dirs(world, to, err));
    for (uint32_t i = 0; i < ck->files.n; i++) {
        bool there;
        snprintf(from, sizeof from, "%s/backfill/state/files/%s", dir, ck->files.at[i].stored);
        snprintf(to, sizeof to, "%s/files/%s", dir, ck->files.at[i].stored);
        WR_TRY(exists(world, to, &there, err)); /* named by its content: perhaps a part of it, from a copy that was interrupted */
        if (there) WR_TRY(world->vt->remove(world, to, err));
        WR_TRY(world->vt->link(world, from, to, err));
    }
    snprintf(to, sizeof to, "%s/files", dir);
    return world->vt->sync_dir(world, to, err);
}

static wr_status install_state(wr_world *world, const char *dir, uint64_t epoch, wr_err *err) {
    char          path[PATH];
    wr_checkpoint ck;
    wr_err        why = {0};
    wr_status     status = wr_checkpoint_read(world, dir, epoch, &ck, &why);
    wr_checkpoint_close(&ck);
    if (status == WR_OK) return WR_OK; /* done before */
    snprintf(path, sizeof path, "%s/backfill/install", dir);
    status = wr_checkpoint_read(world, path, epoch, &ck, err);
    if (status == WR_OK) status = install_files(world, dir, &ck, err);
    if (status == WR_OK) status = wr_swap_checkpoint(world, dir, &ck, epoch, NULL, 0, NULL, err);
    wr_checkpoint_close(&ck);
    return status;
}

wr_status wr_swap_finish(wr_world *world, const char *dir, wr_err *err) {
    char    path[PATH], backfill[PATH];
    journal j = {0};
    if (!wr_swap_pending(world, dir)) return WR_OK;
    journal_path(dir, path);
    snprintf(backfill, sizeof backfill, "%s/backfill", dir);
    wr_status status = read_journal(world, path, &j, err);
    if (status == WR_OK) status = wr_outputs_swap(world, j.outputs.at, j.outputs.n, j.epoch, j.was, err);
    if (status == WR_OK) status = install_state(world, dir, j.epoch, err);
    if (status == WR_OK) status = wr_dir_remove(world, backfill, err);
    if (status == WR_OK) status = world->vt->remove(world, path, err);
    if (status == WR_OK) status = world->vt->sync_dir(world, dir, err);
    wr_sbuf_free(&j.text);
    wr_arr_free(&j.outputs);
    return status;
}
