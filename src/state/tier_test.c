/* state/tier_test.c: the tier against a plain sorted array, images against what they were made of, file faults at every call, memory.    */
#include "base/hash.h"
#include "state/tier.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <cmocka.h>

/* The real world, except that syncs cost nothing and the fail_at-th file call (or every one from it on) fails. */
typedef struct test_world {
    wr_world         base;
    _Atomic uint64_t calls;
    uint64_t         fail_at;
    bool             on;    /* every call from fail_at on */
} test_world;
static bool strikes(wr_world *w) {
    test_world *f = (test_world *)w;
    uint64_t    call = ++f->calls;
    return f->fail_at && (f->on ? call >= f->fail_at : call == f->fail_at);
}
#define REAL wr_world_posix()
#define WRAP(name, params, args)                                                                           \
    static wr_status t_##name params {                                                                     \
        if (strikes(w)) return wr_fail(err, WR_IO, "53100", "injected fault in %s", #name);                \
        return REAL->vt->name args;                                                                        \
    }
WRAP(file_open, (wr_world * w, const char *path, int flags, wr_file **out, wr_err *err), (REAL, path, flags, out, err))
WRAP(file_pread, (wr_world * w, wr_file *f, void *buf, size_t len, uint64_t offset, size_t *got, wr_err *err), (REAL, f, buf, len, offset, got, err))
WRAP(file_write, (wr_world * w, wr_file *f, const void *buf, size_t len, wr_err *err), (REAL, f, buf, len, err))
WRAP(file_truncate, (wr_world * w, wr_file *f, uint64_t size, wr_err *err), (REAL, f, size, err))
WRAP(file_info, (wr_world * w, wr_file *f, wr_file_info *out, wr_err *err), (REAL, f, out, err))
WRAP(stat, (wr_world * w, const char *path, wr_file_info *out, bool *exists, wr_err *err), (REAL, path, out, exists, err))
WRAP(list, (wr_world * w, const char *dir, wr_file_info **out, size_t *n, wr_err *err), (REAL, dir, out, n, err))
WRAP(rename, (wr_world * w, const char *from, const char *to, wr_err *err), (REAL, from, to, err))
WRAP(link, (wr_world * w, const char *from, const char *to, wr_err *err), (REAL, from, to, err))
WRAP(remove, (wr_world * w, const char *path, wr_err *err), (REAL, path, err))
WRAP(make_dirs, (wr_world * w, const char *path, wr_err *err), (REAL, path, err))
static wr_status t_file_sync(wr_world *w, wr_file *f, wr_err *err) {
    return (void)f, strikes(w) ? wr_fail(err, WR_IO, "53100", "injected fault in file_sync") : WR_OK;
}
static wr_status t_sync_dir(wr_world *w, const char *path, wr_err *err) {
    return (void)path, strikes(w) ? wr_fail(err, WR_IO, "53100", "injected fault in sync_dir") : WR_OK;
}
static void t_close(wr_world *w, wr_file *f) { (void)w, REAL->vt->file_close(REAL, f); }
static const wr_world_vt test_vt = {.file_open = t_file_open, .file_close = t_close, .file_pread = t_file_pread, .file_write = t_file_write,
                                    .file_sync = t_file_sync, .file_truncate = t_file_truncate, .file_info = t_file_info, .stat = t_stat,
                                    .list = t_list, .rename = t_rename, .link = t_link, .remove = t_remove, .make_dirs = t_make_dirs, .sync_dir = t_sync_dir};

static char scratch[64];
static int make_scratch(void **state) {
    (void)state;
    snprintf(scratch, sizeof scratch, "/tmp/weir-tier-XXXXXX");
    return mkdtemp(scratch) ? 0 : -1;
}
static void remove_tree(const char *dir) {
    wr_file_info *list;
    size_t        n;
    if (REAL->vt->list(REAL, dir, &list, &n, NULL) != WR_OK) return;
    for (size_t i = 0; i < n; i++) {
        wr_sbuf path = {0};
        wr_sbuf_printf(&path, "%s/%s", dir, list[i].name);
        if (list[i].is_dir) remove_tree(path.at);
        else REAL->vt->remove(REAL, path.at, NULL);
        wr_sbuf_free(&path);
    }
    wr_free(list);
    REAL->vt->remove(REAL, dir, NULL);
}
static int remove_scratch(void **state) {
    (void)state;
    remove_tree(scratch);
    return 0;
}

typedef struct fix {
    test_world world;
    wr_account acct;
    char       dir[96], image[96];
    wr_tier   *tier;
    wr_err     err;
} fix;
static void fix_open(fix *f, int64_t memory_bytes) {
    memset(f, 0, sizeof *f);
    f->world.base.vt = &test_vt;
    wr_account_init(&f->acct, NULL, "tier", 0);
    snprintf(f->dir, sizeof f->dir, "%s/work", scratch);
    snprintf(f->image, sizeof f->image, "%s/image", scratch);
    f->tier = wr_tier_new(&(wr_tier_opts){.world = &f->world.base, .dir = f->dir, .acct = &f->acct, .memory_bytes = memory_bytes, .attach_bytes = 7});
}
static void fix_close(fix *f) {
    wr_file_info info;
    bool         exists = true;
    wr_tier_free(f->tier);
    assert_int_equal(wr_account_bytes(&f->acct), 0);
    assert_int_equal(REAL->vt->stat(REAL, f->dir, &info, &exists, NULL), WR_OK);
    assert_true(!exists || f->world.fail_at); /* scratch is gone, unless removing it failed */
    remove_tree(f->dir);
    remove_tree(f->image);
}

static wr_str key_of(char buf[32], uint16_t table, uint64_t n) {
    buf[0] = (char)(table >> 8), buf[1] = (char)table;
    return (wr_str){buf, 2 + (size_t)snprintf(buf + 2, 30, "%08llu", (unsigned long long)n)};
}
static void put(wr_tier_batch *b, uint16_t table, uint64_t key, uint64_t value) {
    char k[32], v[32];
    wr_tier_batch_put(b, key_of(k, table, key), (wr_str){v, (size_t)snprintf(v, sizeof v, "v%llu", (unsigned long long)value)});
}
static void del(wr_tier_batch *b, uint16_t table, uint64_t key) {
    char k[32];
    wr_tier_batch_delete(b, key_of(k, table, key));
}
static int64_t get(fix *f, wr_tier_batch *through, uint16_t table, uint64_t key) { /* -1: not there */
    char          k[32];
    wr_str        one = key_of(k, table, key);
    wr_tier_found found;
    wr_sbuf       out = {0};
    assert_int_equal(wr_tier_get(f->tier, through, &one, 1, &found, &out, &f->err), WR_OK);
    int64_t value = found.found ? atoll(out.at + found.at + 1) : -1;
    wr_sbuf_free(&out);
    return value;
}
static uint64_t value_of(wr_str v) { /* no NUL behind it */
    char text[32] = {0};
    assert_true(v.len > 1 && v.len < sizeof text && v.ptr[0] == 'v');
    memcpy(text, v.ptr + 1, v.len - 1);
    return strtoull(text, NULL, 10);
}
static uint32_t count(fix *f, uint16_t table, uint64_t from, uint64_t to, uint64_t *sum) {
    char          a[32], b[32];
    wr_tier_scan *scan = wr_tier_scan_new(f->tier, key_of(a, table, from), key_of(b, table, to));
    wr_str        key, value;
    uint32_t      n = 0;
    for (*sum = 0; wr_tier_scan_next(scan, &key, &value); n++) *sum += value_of(value);
    assert_int_equal(wr_tier_scan_free(scan, &f->err), WR_OK);
    return n;
}

static void nothing_on_disk_before_the_first_write(void **state) {
    (void)state;
    fix f;
    fix_open(&f, 4 << 20);
    wr_tier_file *files;
    uint32_t      n = 9;
    uint16_t      table;
    uint64_t      sum;
    assert_false(wr_tier_is_open(f.tier));
    assert_int_equal(wr_tier_attach_bytes(f.tier), 7);
    assert_string_equal(wr_tier_dir(f.tier), f.dir);
    assert_false(wr_tier_find_table(f.tier, "a", &table));
    assert_int_equal(get(&f, NULL, 1, 1), -1);
    assert_int_equal(count(&f, 1, 0, 100, &sum), 0);
    wr_tier_begin(f.tier, 1);
    assert_true(wr_tier_frozen(f.tier, 1));
    assert_int_equal(wr_tier_image(f.tier, f.image, &files, &n, NULL, &f.err), WR_OK);
    assert_int_equal(n, 0);
    assert_false(wr_tier_frozen(f.tier, 1));
    wr_tier_stats stats;
    wr_tier_stats_get(f.tier, &stats);
    assert_int_equal(stats.memory_bytes, 0);
    assert_int_equal(f.world.calls, 0);
    assert_int_equal(wr_tier_error(f.tier, &f.err), WR_OK);
    fix_close(&f);
}

static void put_get_delete_scan(void **state) {
    (void)state;
    fix      f;
    uint16_t t, u;
    uint64_t sum;
    fix_open(&f, 4 << 20);
    assert_int_equal(wr_tier_table(f.tier, "agg/one", &t, &f.err), WR_OK);
    assert_int_equal(wr_tier_table(f.tier, "agg/two", &u, &f.err), WR_OK);
    assert_true(t != u && wr_tier_is_open(f.tier));
    uint16_t again;
    assert_int_equal(wr_tier_table(f.tier, "agg/one", &again, &f.err), WR_OK);
    assert_int_equal(again, t);
    wr_tier_batch *b = wr_tier_batch_new(f.tier);
    for (uint64_t i = 200; i-- > 0;) put(b, t, i, i);
    put(b, u, 5, 1000);
    put(b, t, 7, 70);
    del(b, t, 8);
    assert_int_equal(wr_tier_batch_count(b), 203);
    assert_int_equal(get(&f, b, t, 7), 70); /* through the batch */
    assert_int_equal(get(&f, b, t, 8), -1);
    assert_int_equal(get(&f, NULL, t, 7), -1);
    put(b, t, 8, 80); /* the index follows */
    assert_int_equal(get(&f, b, t, 8), 80);
    del(b, t, 8);
    assert_int_equal(wr_tier_write(f.tier, b, &f.err), WR_OK);
    assert_int_equal(wr_tier_batch_count(b), 0);
    assert_int_equal(wr_tier_batch_bytes(b), 0);
    assert_int_equal(get(&f, NULL, t, 7), 70);
    assert_int_equal(get(&f, NULL, t, 8), -1);
    assert_int_equal(get(&f, b, u, 5), 1000);
    del(b, u, 5); /* over what is stored */
    assert_int_equal(get(&f, b, u, 5), -1);
    assert_int_equal(get(&f, NULL, u, 5), 1000);
    assert_int_equal(count(&f, t, 0, 1000, &sum), 199);
    assert_int_equal(sum, 199 * 200 / 2 - 7 - 8 + 70); /* 0..199 with 7 -> 70 and without 8 */
    assert_int_equal(count(&f, t, 10, 20, &sum), 10);
    char lo[32], hi[32];
    wr_tier_batch_delete_range(b, key_of(lo, t, 10), key_of(hi, t, 20));
    put(b, t, 15, 1); /* after the range: stays */
    assert_int_equal(wr_tier_write(f.tier, b, &f.err), WR_OK);
    assert_int_equal(count(&f, t, 0, 1000, &sum), 190);
    assert_int_equal(get(&f, NULL, t, 15), 1);
    assert_int_equal(get(&f, NULL, t, 16), -1);
    wr_tier_stats stats;
    wr_tier_stats_get(f.tier, &stats);
    assert_int_equal(stats.writes, 208); /* 203, 8 put and deleted again; then u 5 deleted, the range, 15 */
    assert_true(stats.reads > stats.read_hits && stats.read_hits > 0 && stats.memory_bytes > 0);
    assert_true(wr_account_bytes(&f.acct) >= stats.memory_bytes);
    wr_tier_batch_free(b);
    fix_close(&f);
}

static void many_keys_in_one_get(void **state) {
    (void)state;
    enum { N = 1000 };
    fix      f;
    uint16_t t;
    fix_open(&f, 4 << 20);
    assert_int_equal(wr_tier_table(f.tier, "x", &t, &f.err), WR_OK);
    wr_tier_batch *b = wr_tier_batch_new(f.tier);
    for (uint64_t i = 0; i < N; i += 2) put(b, t, i, i);
    assert_int_equal(wr_tier_write(f.tier, b, &f.err), WR_OK);
    for (uint64_t i = 0; i < N; i += 5) put(b, t, i, i + 1000000);
    static char   text[N][32];
    wr_str        keys[N];
    wr_tier_found found[N];
    wr_sbuf       out = {0};
    for (uint32_t i = 0; i < N; i++) keys[i] = key_of(text[i], t, (i * 7919u) % N);
    assert_int_equal(wr_tier_get(f.tier, b, keys, N, found, &out, &f.err), WR_OK);
    for (uint32_t i = 0; i < N; i++) {
        uint32_t k = (i * 7919u) % N;
        assert_int_equal(found[i].found, k % 2 == 0 || k % 5 == 0);
        if (!found[i].found) continue;
        char want[32];
        int  len = snprintf(want, sizeof want, "v%u", k % 5 == 0 ? k + 1000000 : k);
        assert_int_equal(found[i].len, len);
        assert_memory_equal(out.at + found[i].at, want, (size_t)len);
    }
    wr_sbuf_free(&out);
    wr_tier_batch_free(b);
    fix_close(&f);
}

static bool has_file(const char *dir, const char *part) {
    wr_file_info *list;
    size_t        n;
    bool          found = false;
    assert_int_equal(REAL->vt->list(REAL, dir, &list, &n, NULL), WR_OK);
    for (size_t i = 0; i < n; i++) found = found || strstr(list[i].name, part);
    wr_free(list);
    return found;
}

static void much_at_once_becomes_a_file(void **state) {
    (void)state;
    enum { N = 40000, STEP = 12345, CHANGED = 300 };
    fix      f;
    uint16_t t;
    fix_open(&f, 4 << 20);
    wr_tier_free(f.tier);
    f.tier = wr_tier_new(&(wr_tier_opts){.world = &f.world.base, .dir = f.dir, .acct = &f.acct, .memory_bytes = 4 << 20, .scratch = true});
    assert_int_equal(wr_tier_table(f.tier, "x", &t, &f.err), WR_OK);
    wr_tier_batch *b = wr_tier_batch_new(f.tier);
    assert_false(has_file(f.dir, ".sst"));
    for (uint64_t i = 0; i < N; i++) put(b, t, i * STEP % N, 5); /* STEP and N have a common divisor: keys come again */
    for (uint64_t i = 0; i < N; i++) put(b, t, i, i);
    for (uint64_t i = 0; i < N; i += 2) del(b, t, i);
    assert_true(wr_tier_batch_bytes(b) >= 512 << 10);
    assert_int_equal(wr_tier_write(f.tier, b, &f.err), WR_OK);
    assert_int_equal(wr_tier_batch_count(b), 0);
    assert_true(has_file(f.dir, ".sst") && !has_file(f.dir, "batch-"));
    uint64_t sum;
    assert_int_equal(count(&f, t, 0, N, &sum), N / 2);
    assert_int_equal(sum, (uint64_t)N / 2 * (N / 2)); /* 1 + 3 + .. + N - 1 */
    assert_int_equal(get(&f, NULL, t, 4), -1);
    assert_int_equal(get(&f, NULL, t, N - 1), N - 1);
    for (uint64_t i = 1; i < CHANGED; i += 2) put(b, t, i, i + 1000); /* little: the memtable, in front of the file */
    assert_int_equal(wr_tier_write(f.tier, b, &f.err), WR_OK);
    assert_int_equal(get(&f, NULL, t, 7), 1007);
    for (uint64_t i = 1; i < N; i += 2) put(b, t, i, 3); /* a file in front of the memtable */
    for (uint64_t i = 0; i < N; i += 2) put(b, t, i, 3);
    assert_int_equal(wr_tier_write(f.tier, b, &f.err), WR_OK);
    assert_int_equal(get(&f, NULL, t, 7), 3);
    assert_int_equal(count(&f, t, 0, N, &sum), N);
    assert_int_equal(sum, 3 * N);
    wr_tier_batch_free(b);
    fix_close(&f);
}

/* Little and much by turns, in keys that do not touch: no memtable may have entries from before and after a file that went past it, else merges of the files find
 * sequence numbers inside one another and call it a corruption. */
static void little_and_much_by_turns(void **state) {
    (void)state;
    enum { ROUNDS = 60, N = 30000, FEW = 1500 };
    fix      f;
    uint16_t few, many;
    uint64_t sum;
    fix_open(&f, 4 << 20);
    wr_tier_free(f.tier);
    f.tier = wr_tier_new(&(wr_tier_opts){.world = &f.world.base, .dir = f.dir, .acct = &f.acct, .memory_bytes = 4 << 20, .scratch = true});
    assert_int_equal(wr_tier_table(f.tier, "few", &few, &f.err), WR_OK);
    assert_int_equal(wr_tier_table(f.tier, "many", &many, &f.err), WR_OK);
    wr_tier_batch *b = wr_tier_batch_new(f.tier);
    for (uint64_t r = 1; r <= ROUNDS; r++) {
        for (uint64_t i = 0; i < FEW; i++) put(b, few, i, r);
        assert_int_equal(wr_tier_write(f.tier, b, &f.err), WR_OK);
        for (uint64_t i = 0; i < N; i++) put(b, many, i, r);
        assert_true(wr_tier_batch_bytes(b) >= 512 << 10);
        assert_int_equal(wr_tier_write(f.tier, b, &f.err), WR_OK);
    }
    assert_int_equal(count(&f, few, 0, FEW, &sum), FEW);
    assert_int_equal(sum, FEW * ROUNDS);
    assert_int_equal(count(&f, many, 0, N, &sum), N);
    assert_int_equal(sum, (uint64_t)N * ROUNDS);
    assert_int_equal(wr_tier_error(f.tier, &f.err), WR_OK);
    wr_tier_batch_free(b);
    fix_close(&f);
}

/* The files of an image into the working directory of a new tier. */
static void fill_from_image(const char *dir, wr_tier_file *files, uint32_t n) {
    assert_int_equal(REAL->vt->make_dirs(REAL, dir, NULL), WR_OK);
    for (uint32_t i = 0; i < n; i++) {
        char to[200];
        snprintf(to, sizeof to, "%s/%s", dir, files[i].name);
        assert_int_equal(REAL->vt->rename(REAL, files[i].path, to, NULL), WR_OK);
    }
}

static void image_and_restore(void **state) {
    (void)state;
    fix           f;
    uint16_t      t, u, found;
    uint64_t      sum, staged;
    wr_tier_file *files;
    uint32_t      n;
    fix_open(&f, 4 << 20);
    assert_int_equal(wr_tier_table(f.tier, "join/left", &t, &f.err), WR_OK);
    assert_int_equal(wr_tier_table(f.tier, "join/right", &u, &f.err), WR_OK);
    wr_tier_batch *b = wr_tier_batch_new(f.tier), *dirty = wr_tier_batch_new(f.tier);
    for (uint64_t i = 0; i < 5000; i++) put(b, t, i, i);
    assert_int_equal(wr_tier_write(f.tier, b, &f.err), WR_OK);
    wr_tier_begin(f.tier, 4);
    assert_int_equal(wr_tier_epoch(f.tier), 4);
    for (uint64_t i = 4000; i < 6000; i++) put(dirty, t, i, 1);
    put(dirty, u, 1, 2);
    wr_tier_stage(f.tier, dirty);
    assert_true(wr_tier_frozen(f.tier, 4));
    assert_int_equal(get(&f, NULL, t, 5500), -1); /* staged only */
    assert_int_equal(wr_tier_image(f.tier, f.image, &files, &n, &staged, &f.err), WR_OK);
    assert_false(wr_tier_frozen(f.tier, 4));
    assert_true(n >= 4 && staged > 2001 * 12);
    uint32_t sorted = 0, manifests = 0, currents = 0;
    for (uint32_t i = 0; i < n; i++) {
        wr_file_info info;
        bool         exists;
        assert_int_equal(REAL->vt->stat(REAL, files[i].path, &info, &exists, NULL), WR_OK);
        assert_true(exists && info.size_bytes == files[i].bytes);
        sorted += files[i].sorted;
        manifests += !strncmp(files[i].name, "MANIFEST-", 9);
        currents += !strcmp(files[i].name, "CURRENT");
    }
    assert_true(sorted >= 1 && manifests == 1 && currents == 1);
    for (uint64_t i = 0; i < 6000; i++) put(b, t, i, 9); /* after the image: not in it */
    assert_int_equal(wr_tier_write(f.tier, b, &f.err), WR_OK);
    wr_tier_batch_free(b);
    wr_tier_free(f.tier);
    fill_from_image(f.dir, files, n);
    wr_free(files);

    f.tier = wr_tier_new(&(wr_tier_opts){.world = &f.world.base, .dir = f.dir, .acct = &f.acct, .memory_bytes = 4 << 20});
    assert_int_equal(wr_tier_restore(f.tier, &f.err), WR_OK);
    assert_true(wr_tier_find_table(f.tier, "join/left", &found) && found == t);
    assert_true(wr_tier_find_table(f.tier, "join/right", &found) && found == u);
    assert_false(wr_tier_find_table(f.tier, "join/none", &found));
    assert_int_equal(count(&f, t, 0, 100000, &sum), 6000);
    assert_int_equal(sum, 4000 * 3999 / 2 + 2000);
    assert_int_equal(get(&f, NULL, u, 1), 2);
    assert_int_equal(wr_tier_table(f.tier, "join/none", &found, &f.err), WR_OK);
    assert_true(found != t && found != u);
    assert_int_equal(wr_tier_restore(f.tier, &f.err), WR_USER); /* open already */
    fix_close(&f);
}

static void second_image_shares_files(void **state) {
    (void)state;
    fix           f;
    uint16_t      t;
    wr_tier_file *first, *second;
    uint32_t      n1, n2, shared = 0;
    uint64_t      staged;
    char          other[96];
    fix_open(&f, 4 << 20);
    snprintf(other, sizeof other, "%s/deep/er/image", scratch);
    assert_int_equal(wr_tier_table(f.tier, "x", &t, &f.err), WR_OK);
    for (uint64_t e = 1; e <= 2; e++) {
        wr_tier_batch *b = wr_tier_batch_new(f.tier);
        for (uint64_t i = 0; i < (e == 1 ? 20000 : 10); i++) put(b, t, i, i * e);
        wr_tier_begin(f.tier, e);
        wr_tier_stage(f.tier, b);
        assert_int_equal(wr_tier_image(f.tier, e == 1 ? f.image : other, e == 1 ? &first : &second, e == 1 ? &n1 : &n2, &staged, &f.err), WR_OK);
    }
    for (uint32_t i = 0; i < n1; i++)
        for (uint32_t j = 0; j < n2; j++) {
            wr_file_info a, b;
            bool         exists;
            if (!first[i].sorted || strcmp(first[i].name, second[j].name)) continue;
            assert_int_equal(REAL->vt->stat(REAL, first[i].path, &a, &exists, NULL), WR_OK);
            assert_int_equal(REAL->vt->stat(REAL, second[j].path, &b, &exists, NULL), WR_OK);
            shared += a.inode == b.inode;
        }
    assert_true(shared >= 1);
    wr_free(first);
    wr_free(second);
    fix_close(&f);
}

static void abandoned_batches_are_dropped(void **state) {
    (void)state;
    fix      f;
    uint16_t t;
    fix_open(&f, 4 << 20);
    assert_int_equal(wr_tier_table(f.tier, "x", &t, &f.err), WR_OK);
    wr_tier_batch *b = wr_tier_batch_new(f.tier);
    put(b, t, 1, 1);
    wr_tier_begin(f.tier, 1);
    wr_tier_stage(f.tier, b);
    wr_tier_abandon(f.tier);
    assert_false(wr_tier_frozen(f.tier, 1));
    assert_int_equal(get(&f, NULL, t, 1), -1);
    b = wr_tier_batch_new(f.tier); /* staged and never written: freed with the tier */
    put(b, t, 2, 1);
    wr_tier_begin(f.tier, 2);
    wr_tier_stage(f.tier, b);
    fix_close(&f);
}

/* Random operations against an array indexed by key, over flushes and compactions (1 MiB of memory), images and restores. */
static void random_operations(void **state) {
    (void)state;
    enum { KEYS = 4000, STEPS = 400 };
    static int64_t want[KEYS];
    static char    text[512][32];
    fix            f;
    uint16_t       t;
    wr_rng         rng;
    fix_open(&f, 1 << 20);
    wr_rng_seed(&rng, 42);
    assert_int_equal(wr_tier_table(f.tier, "r", &t, &f.err), WR_OK);
    for (int i = 0; i < KEYS; i++) want[i] = -1;
    uint64_t next = 0;
    for (uint64_t step = 1; step <= STEPS; step++) {
        wr_tier_batch *b = wr_tier_batch_new(f.tier);
        uint64_t       n = wr_rng_below(&rng, 600);
        for (uint64_t i = 0; i < n; i++) {
            uint64_t k = wr_rng_below(&rng, KEYS);
            if (wr_rng_below(&rng, 4)) put(b, t, k, want[k] = (int64_t)next++);
            else del(b, t, k), want[k] = -1;
        }
        if (!wr_rng_below(&rng, 10)) {
            char     lo[32], hi[32];
            uint64_t from = wr_rng_below(&rng, KEYS), to = WR_MIN(from + wr_rng_below(&rng, 300), KEYS);
            assert_int_equal(wr_tier_write(f.tier, b, &f.err), WR_OK);
            wr_tier_batch_delete_range(b, key_of(lo, t, from), key_of(hi, t, to));
            for (uint64_t k = from; k < to; k++) want[k] = -1;
            assert_int_equal(wr_tier_write(f.tier, b, &f.err), WR_OK);
        }
        wr_str        keys[512];
        wr_tier_found found[512];
        wr_sbuf       out = {0};
        uint32_t      m = (uint32_t)wr_rng_below(&rng, 512);
        uint64_t      which[512];
        for (uint32_t i = 0; i < m; i++) keys[i] = key_of(text[i], t, which[i] = wr_rng_below(&rng, KEYS));
        assert_int_equal(wr_tier_get(f.tier, b, keys, m, found, &out, &f.err), WR_OK);
        for (uint32_t i = 0; i < m; i++) {
            wr_str value = {out.at + found[i].at, found[i].len};
            assert_int_equal(found[i].found ? (int64_t)value_of(value) : -1, want[which[i]]);
        }
        wr_sbuf_free(&out);
        if (step % 40) {
            assert_int_equal(wr_tier_write(f.tier, b, &f.err), WR_OK);
            wr_tier_batch_free(b);
            continue;
        }
        wr_tier_file *files;
        uint32_t      n_files;
        wr_tier_begin(f.tier, step);
        wr_tier_stage(f.tier, b);
        assert_int_equal(wr_tier_image(f.tier, f.image, &files, &n_files, NULL, &f.err), WR_OK);
        if (step % 80 == 0) {
            wr_tier_free(f.tier);
            fill_from_image(f.dir, files, n_files);
            f.tier = wr_tier_new(&(wr_tier_opts){.world = &f.world.base, .dir = f.dir, .acct = &f.acct, .memory_bytes = 1 << 20});
            assert_int_equal(wr_tier_restore(f.tier, &f.err), WR_OK);
        }
        wr_free(files);
        uint64_t sum, all = 0;
        uint32_t live = 0;
        for (int i = 0; i < KEYS; i++)
            if (want[i] >= 0) live++, all += (uint64_t)want[i];
        assert_int_equal(count(&f, t, 0, KEYS, &sum), live);
        assert_int_equal(sum, all);
    }
    fix_close(&f);
}

/* A small life: tables, writes over several flushes, reads, image, restore. WR_OK, or the first failure. */
static wr_status life(fix *f) {
    uint16_t       t;
    wr_tier_file  *files = NULL;
    uint32_t       n = 0;
    wr_status      status = wr_tier_table(f->tier, "x", &t, &f->err);
    wr_tier_batch *b = wr_tier_batch_new(f->tier);
    for (uint64_t e = 1; e <= 12 && status == WR_OK; e++) {
        for (uint64_t i = 0; i < 200; i++) put(b, t, i * 13 % 1000 + e, e);
        status = wr_tier_write(f->tier, b, &f->err);
        if (status != WR_OK) break;
        wr_tier_batch *dirty = wr_tier_batch_new(f->tier);
        put(dirty, t, e, e);
        wr_tier_begin(f->tier, e);
        wr_tier_stage(f->tier, dirty);
        wr_free(files);
        status = wr_tier_image(f->tier, f->image, &files, &n, NULL, &f->err);
        assert_int_equal(wr_tier_frozen(f->tier, e), status != WR_OK);
    }
    char          k[32];
    wr_str        key = key_of(k, 1, 12);
    wr_tier_found found;
    wr_sbuf       out = {0};
    if (status == WR_OK) status = wr_tier_get(f->tier, NULL, &key, 1, &found, &out, &f->err);
    if (status == WR_OK) assert_true(found.found && out.len == 3 && !memcmp(out.at, "v12", 3));
    if (status == WR_OK) {
        wr_tier_scan *scan = wr_tier_scan_new(f->tier, (wr_str){"\0\1", 2}, (wr_str){"\0\2", 2});
        wr_str        sk, sv;
        uint32_t      seen = 0, wanted = 0;
        bool          written[2000] = {0};
        for (uint64_t e = 1; e <= 12; e++)
            for (uint64_t i = 0; i < 200; i++) written[i * 13 % 1000 + e] = written[e] = true;
        for (int i = 0; i < 2000; i++) wanted += written[i];
        while (wr_tier_scan_next(scan, &sk, &sv)) seen++;
        status = wr_tier_scan_free(scan, &f->err);
        if (status == WR_OK) assert_int_equal(seen, wanted);
    }
    wr_sbuf_free(&out);
    wr_tier_batch_free(b);
    wr_free(files);
    return status;
}

static uint64_t faulty_life(uint64_t fail_at, bool on, bool *failed) {
    fix f;
    fix_open(&f, 1 << 20);
    f.world.fail_at = fail_at;
    f.world.on = on;
    wr_status status = life(&f);
    *failed = status != WR_OK;
    if (*failed) {
        wr_err kept;
        assert_true(f.err.message[0] && f.err.code[0]);
        wr_status later = wr_tier_error(f.tier, &kept); /* kept for whoever asks later */
        assert_true(later != WR_OK && later == kept.status);
    }
    uint64_t calls = f.world.calls;
    fix_close(&f);
    return calls;
}

static void a_fault_at_every_call_is_an_error_value(void **state) {
    (void)state;
    bool     failed;
    uint64_t calls = faulty_life(0, false, &failed), struck = 0, errors = 0;
    assert_false(failed);
    uint64_t step = getenv("TIER_EVERY_CALL") ? 1 : 1 + calls / 100;
    for (uint64_t k = 1; k <= calls; k += step) {
        faulty_life(k, false, &failed);
        struck++, errors += failed;
        faulty_life(k, true, &failed);
    }
    assert_true(struck > 50 && errors > struck / 2); /* some calls may fail without harm: removing an old file */
}

static void memory_stays_within_its_bound(void **state) {
    (void)state;
    enum { N = 2000000, BATCH = 5000, MEMORY = 16 << 20, SLACK = MEMORY / 8 };
    fix      f;
    uint16_t t;
    fix_open(&f, MEMORY);
    assert_int_equal(wr_tier_table(f.tier, "x", &t, &f.err), WR_OK);
    wr_tier_batch *b = wr_tier_batch_new(f.tier);
    wr_rng         rng;
    wr_tier_stats  stats;
    int64_t        most = 0;
    wr_rng_seed(&rng, 7);
    for (uint64_t i = 0; i < N; i += BATCH) {
        for (uint64_t j = 0; j < BATCH; j++) put(b, t, wr_hash_u64(i + j) % 100000000, i);
        assert_int_equal(wr_tier_write(f.tier, b, &f.err), WR_OK);
        for (int r = 0; r < 50; r++) get(&f, NULL, t, wr_hash_u64(wr_rng_below(&rng, i + 1)) % 100000000);
        wr_tier_stats_get(f.tier, &stats);
        most = WR_MAX(most, stats.memory_bytes);
    }
    assert_true(stats.disk_bytes > 0 && stats.written_bytes >= (uint64_t)stats.disk_bytes);
    print_message("    at most %lld of %d bytes\n", (long long)most, (int)MEMORY);
    assert_true(most <= MEMORY + SLACK);
    wr_tier_batch_free(b);
    fix_close(&f);
}

typedef struct worker { fix *f; uint16_t table; uint64_t rounds; bool bad; } worker;
static void work(void *arg) {
    worker        *w = arg;
    wr_tier_batch *b = wr_tier_batch_new(w->f->tier);
    for (uint64_t r = 1; r <= w->rounds && !w->bad; r++) {
        for (uint64_t i = 0; i < 300; i++) put(b, w->table, i, r);
        w->bad |= wr_tier_write(w->f->tier, b, NULL) != WR_OK;
        for (uint64_t i = 0; i < 300; i += 37) {
            char          k[32];
            wr_str        key = key_of(k, w->table, i);
            wr_tier_found found;
            wr_sbuf       out = {0};
            w->bad |= wr_tier_get(w->f->tier, b, &key, 1, &found, &out, NULL) != WR_OK || !found.found || (uint64_t)atoll(out.at + 1) != r;
            wr_sbuf_free(&out);
        }
    }
    wr_tier_batch_free(b);
}

static void two_workers_and_images(void **state) {
    (void)state;
    fix    f;
    worker w[2] = {{&f, 0, 200, false}, {&f, 0, 200, false}};
    void  *thread[2];
    fix_open(&f, 1 << 20);
    for (int i = 0; i < 2; i++) assert_int_equal(wr_tier_table(f.tier, i ? "b" : "a", &w[i].table, &f.err), WR_OK);
    for (int i = 0; i < 2; i++) assert_int_equal(REAL->vt->spawn(REAL, "worker", work, &w[i], &thread[i], &f.err), WR_OK);
    for (uint64_t e = 1; e <= 5; e++) {
        wr_tier_file *files;
        uint32_t      n;
        wr_tier_batch *b = wr_tier_batch_new(f.tier);
        wr_tier_stats stats;
        put(b, 9, e, e);
        wr_tier_begin(f.tier, e);
        wr_tier_stage(f.tier, b);
        assert_int_equal(wr_tier_image(f.tier, f.image, &files, &n, NULL, &f.err), WR_OK);
        assert_true(n > 3);
        wr_tier_stats_get(f.tier, &stats);
        wr_free(files);
    }
    for (int i = 0; i < 2; i++) REAL->vt->join(REAL, thread[i]);
    assert_false(w[0].bad || w[1].bad);
    uint64_t sum;
    for (int i = 0; i < 2; i++) {
        assert_int_equal(count(&f, w[i].table, 0, 1000, &sum), 300);
        assert_int_equal(sum, 300 * 200);
    }
    assert_int_equal(wr_tier_error(f.tier, &f.err), WR_OK);
    fix_close(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_on_disk_before_the_first_write), cmocka_unit_test(put_get_delete_scan), cmocka_unit_test(many_keys_in_one_get), cmocka_unit_test(much_at_once_becomes_a_file),
        cmocka_unit_test(little_and_much_by_turns),
        cmocka_unit_test(image_and_restore), cmocka_unit_test(second_image_shares_files), cmocka_unit_test(abandoned_batches_are_dropped),
        cmocka_unit_test(random_operations), cmocka_unit_test(a_fault_at_every_call_is_an_error_value), cmocka_unit_test(two_workers_and_images),
        cmocka_unit_test(memory_stays_within_its_bound)};
    return cmocka_run_group_tests_name("tier", tests, make_scratch, remove_scratch);
}
