/* state/tier_testkit.h: a real tier in a temporary directory for tests: images of it, and a new tier made from the last one.
 *
 * Idea       the real world without syncs; every k-th file call can fail. Maps must be freed before the tier is replaced or closed.
 * Thread     one test.                                                                                                     */
#pragma once
#include "state/tier.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

typedef struct tier_kit {
    wr_world      world;
    wr_world_vt   vt;
    wr_account    acct;
    char          root[64], work[96], image[96];
    int64_t       attach_bytes, memory_bytes;
    wr_tier      *tier;
    uint64_t      epoch, staged_bytes;
    wr_tier_file *files;
    uint32_t      n_files;
    wr_err        err;
} tier_kit;

static uint64_t tier_kit_fail_at, tier_kit_calls; /* the write that fails, and those since it was set; 0 = none */
WR_UNUSED static wr_status tier_kit_write(wr_world *w, wr_file *f, const void *buf, size_t len, wr_err *err) {
    (void)w;
    if (tier_kit_fail_at && ++tier_kit_calls >= tier_kit_fail_at) return wr_fail(err, WR_IO, "53100", "injected fault in file_write");
    return wr_world_posix()->vt->file_write(wr_world_posix(), f, buf, len, err);
}
WR_UNUSED static wr_status tier_kit_sync(wr_world *w, wr_file *f, wr_err *err) { return (void)w, (void)f, (void)err, WR_OK; }
WR_UNUSED static wr_status tier_kit_sync_dir(wr_world *w, const char *path, wr_err *err) { return (void)w, (void)path, (void)err, WR_OK; }

WR_UNUSED static void tier_kit_remove(const char *dir) {
    wr_world     *w = wr_world_posix();
    wr_file_info *list;
    size_t        n;
    if (w->vt->list(w, dir, &list, &n, NULL) != WR_OK) return;
    for (size_t i = 0; i < n; i++) {
        char path[512];
        snprintf(path, sizeof path, "%s/%s", dir, list[i].name);
        if (list[i].is_dir) tier_kit_remove(path);
        else w->vt->remove(w, path, NULL);
    }
    wr_free(list);
    w->vt->remove(w, dir, NULL);
}
WR_UNUSED static void tier_kit_new(tier_kit *k) {
    k->tier = wr_tier_new(&(wr_tier_opts){.world = &k->world, .dir = k->work, .acct = &k->acct, .memory_bytes = k->memory_bytes, .attach_bytes = k->attach_bytes});
}
WR_UNUSED static void tier_kit_open(tier_kit *k, int64_t attach_bytes) {
    memset(k, 0, sizeof *k);
    tier_kit_fail_at = tier_kit_calls = 0;
    k->vt = *wr_world_posix()->vt;
    k->vt.file_sync = tier_kit_sync, k->vt.sync_dir = tier_kit_sync_dir, k->vt.file_write = tier_kit_write;
    k->world.vt = &k->vt;
    wr_account_init(&k->acct, NULL, "tier", 0);
    snprintf(k->root, sizeof k->root, "/tmp/weir-kit-XXXXXX");
    assert_non_null(mkdtemp(k->root));
    snprintf(k->work, sizeof k->work, "%s/work", k->root);
    k->attach_bytes = attach_bytes;
    k->memory_bytes = 2 << 20;
    tier_kit_new(k);
}
WR_UNUSED static void tier_kit_begin(tier_kit *k) { wr_tier_begin(k->tier, ++k->epoch); }
WR_UNUSED static void tier_kit_image(tier_kit *k) {
    wr_free(k->files);
    snprintf(k->image, sizeof k->image, "%s/image-%llu", k->root, (unsigned long long)k->epoch);
    assert_int_equal(wr_tier_image(k->tier, k->image, &k->files, &k->n_files, &k->staged_bytes, &k->err), WR_OK);
}
/* Another tier, from the last image, as after a crash. */
WR_UNUSED static void tier_kit_restore(tier_kit *k) {
    wr_world *w = wr_world_posix();
    wr_tier_free(k->tier);
    assert_int_equal(wr_account_bytes(&k->acct), 0);
    tier_kit_remove(k->work);
    if (k->n_files) assert_int_equal(w->vt->make_dirs(w, k->work, &k->err), WR_OK);
    for (uint32_t i = 0; i < k->n_files; i++) {
        char to[256];
        snprintf(to, sizeof to, "%s/%s", k->work, k->files[i].name);
        assert_int_equal(w->vt->link(w, k->files[i].path, to, &k->err), WR_OK);
    }
    tier_kit_new(k);
    if (k->n_files) assert_int_equal(wr_tier_restore(k->tier, &k->err), WR_OK);
}
WR_UNUSED static void tier_kit_close(tier_kit *k) {
    wr_tier_free(k->tier);
    assert_int_equal(wr_account_bytes(&k->acct), 0);
    wr_free(k->files);
    tier_kit_remove(k->root);
}
