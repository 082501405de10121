/* cli/mirror.c: see mirror.h. */
#include "mirror.h"
#include "checkpoint/checkpoint.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct mirror { char dir[512]; const char *url; wr_checkpoint_away *away; } mirror;
static mirror   mirrors[MIRRORS_MAX];
static uint32_t n_mirrors;

static wr_status open_mirror(const char *url, mirror **out, wr_err *err) {
    wr_world   *world = wr_world_posix();
    const char *temp = getenv("TMPDIR");
    if (n_mirrors == MIRRORS_MAX) return wr_fail(err, WR_USER, "WR307", "%s is one object store too many", url);
    mirror *m = *out = &mirrors[n_mirrors++];
    m->url = url;
    snprintf(m->dir, sizeof m->dir, "%s/weir-mirror-%016" PRIx64, temp && *temp ? temp : "/tmp", world->vt->random(world));
    return wr_checkpoint_away_open(world, m->dir, url, 0, &m->away, err);
}

wr_status mirror_fetch(const char *url, uint64_t epoch, bool files, const char **dir, wr_err *err) {
    mirror *m;
    WR_TRY(open_mirror(url, &m, err));
    *dir = m->dir;
    return wr_checkpoint_away_mirror(m->away, epoch, files, err);
}

wr_status mirror_begin(const char *url, const char **dir, wr_err *err) {
    mirror *m;
    WR_TRY(open_mirror(url, &m, err));
    *dir = m->dir;
    return wr_checkpoint_away_is_empty(m->away) ? WR_OK : wr_fail(err, WR_USER, "WR307", "%s is not empty: a savepoint gets a prefix of its own", url);
}

static mirror *find(const char *dir) {
    for (uint32_t i = 0; i < n_mirrors; i++)
        if (!strcmp(mirrors[i].dir, dir)) return &mirrors[i];
    return NULL;
}

wr_status mirror_send(const char *dir, wr_err *err) {
    mirror                *m = find(dir);
    wr_checkpoint          ck = {0};
    wr_checkpoint_uploaded sent = {0};
    bool                   found;
    WR_TRY(wr_checkpoint_open(wr_world_posix(), dir, false, &ck, &found, err));
    wr_status status = wr_checkpoint_away_take(m->away, err);
    if (status == WR_OK) status = wr_checkpoint_away_upload(m->away, ck.epoch, ck.files.at, ck.files.n, &sent, err);
    wr_checkpoint_close(&ck);
    return status;
}

const char *mirror_name(const char *dir) {
    const mirror *m = find(dir);
    return m ? m->url : dir;
}

void mirror_rename(wr_sbuf *text) {
    for (uint32_t i = 0; i < n_mirrors; i++) {
        wr_sbuf     out = {0};
        const char *at = text->at ? text->at : "", *hit;
        for (; (hit = strstr(at, mirrors[i].dir)); at = hit + strlen(mirrors[i].dir)) wr_sbuf_add(&out, at, (size_t)(hit - at)), wr_sbuf_addz(&out, mirrors[i].url);
        wr_sbuf_addz(&out, at);
        wr_sbuf_free(text);
        *text = out;
    }
}

static void rename_words(char *words, size_t size) {
    wr_sbuf text = {0};
    wr_sbuf_addz(&text, words);
    mirror_rename(&text);
    snprintf(words, size, "%s", text.at);
    wr_sbuf_free(&text);
}

void mirror_rename_err(wr_err *err) {
    if (!n_mirrors) return;
    rename_words(err->message, sizeof err->message);
    rename_words(err->hint, sizeof err->hint);
}

void mirror_drop_all(void) {
    wr_err ignored;
    for (uint32_t i = 0; i < n_mirrors; i++) {
        wr_checkpoint_away_free(mirrors[i].away);
        (void)wr_dir_remove(wr_world_posix(), mirrors[i].dir, &ignored);
    }
    n_mirrors = 0;
}
