/* bench/tier_bench.c: the tier by itself: puts and gets a second, and the bytes that checkpoints of a slowly changing state write.
 *
 * Use        tier_bench [entries in millions, 10] [memory in MiB, 64] [directory, /tmp/weir-tier-bench]
 * Prints     puts/s of random keys; gets/s of present and absent keys, 2,048 at a time; then, for a state of that many entries, 100 checkpoints that
 *            change 1 % each: bytes of new sorted files in per cent of the full size, a checkpoint. Peak memory of the process.       */
#include "base/hash.h"
#include "state/tier.h"
#include <stdio.h>
#include <stdlib.h>

enum { VALUE = 60, BATCH = 2048 };
static wr_world *w;
static wr_err    err;
static double    now(void) { return (double)wr_mono_us(w) / 1e6; }
static void      check(wr_status status) {
    if (status == WR_OK) return;
    fprintf(stderr, "%s\n", err.message);
    exit(1);
}

/* table, group, hash, key: as the keyed maps write them */
static wr_str key_of(char *buf, uint16_t table, uint64_t n) {
    uint64_t hash = wr_hash_u64(n), be = __builtin_bswap64(hash);
    uint32_t group = (uint32_t)(((hash >> 32) * 128) >> 32);
    buf[0] = (char)(table >> 8), buf[1] = (char)table, buf[2] = (char)(group >> 8), buf[3] = (char)group;
    memcpy(buf + 4, &be, 8);
    memcpy(buf + 12, &n, 8);
    return (wr_str){buf, 20};
}
static wr_str value_of(char *buf, uint64_t n, uint64_t version) { /* half of it compresses: counters and zeros */
    uint64_t x[2] = {wr_hash_u64(n ^ version << 40), version};
    memset(buf, 0, VALUE);
    memcpy(buf, x, sizeof x);
    x[0] = wr_hash_u64(x[0] + 1), x[1] = wr_hash_u64(x[0]);
    memcpy(buf + 32, x, sizeof x);
    return (wr_str){buf, VALUE};
}

static void gets(wr_tier *tier, uint16_t table, uint64_t from, uint64_t n, double seconds, const char *what) {
    static char          text[BATCH][20];
    static wr_str        keys[BATCH];
    static wr_tier_found found[BATCH];
    wr_sbuf              out = {0};
    uint64_t             asked = 0, hits = 0, x = 1;
    int64_t              cpu_us = wr_cpu_time_us();
    double               start = now(), end;
    do {
        for (int i = 0; i < BATCH; i++) keys[i] = key_of(text[i], table, from + (x = wr_hash_u64(x)) % n);
        wr_sbuf_clear(&out);
        check(wr_tier_get(tier, NULL, keys, BATCH, found, &out, &err));
        for (int i = 0; i < BATCH; i++) hits += found[i].found;
        asked += BATCH;
    } while ((end = now()) - start < seconds);
    printf("%-24s %10.0f /s, %.2f us of processor time each (%.1f %% found)\n", what, (double)asked / (end - start),
           (double)(wr_cpu_time_us() - cpu_us) / (double)asked, 100.0 * (double)hits / (double)asked);
    wr_sbuf_free(&out);
}

static void show(wr_tier *tier, const char *when) {
    wr_tier_stats s;
    wr_tier_stats_get(tier, &s);
    printf("%-24s memory %.1f MB, disk %.1f MB, written %.1f MB, rss %.1f MB, peak %.1f MB\n", when, (double)s.memory_bytes / 1e6, (double)s.disk_bytes / 1e6,
           (double)s.written_bytes / 1e6, (double)wr_rss_bytes() / 1e6, (double)wr_peak_rss_bytes() / 1e6);
}

static void checkpoints(wr_tier *tier, uint16_t table, uint64_t n, const char *dir, uint64_t full) {
    wr_tier_stats before, after;
    double        longest = 0, sum = 0;
    uint64_t      x = 99;
    wr_tier_stats_get(tier, &before);
    for (uint64_t e = 1; e <= 100; e++) {
        wr_tier_batch *b = wr_tier_batch_new(tier);
        char           k[20], v[VALUE];
        for (uint64_t i = 0; i < n / 100; i++) {
            uint64_t key = (x = wr_hash_u64(x)) % n;
            wr_tier_batch_put(b, key_of(k, table, key), value_of(v, key, e));
        }
        wr_tier_file *files;
        uint32_t      n_files;
        wr_tier_begin(tier, e);
        wr_tier_stage(tier, b);
        double start = now();
        check(wr_tier_image(tier, dir, &files, &n_files, NULL, &err));
        double took = now() - start;
        sum += took;
        longest = WR_MAX(longest, took);
        wr_free(files);
    }
    wr_tier_stats_get(tier, &after);
    double written = (double)(after.written_bytes - before.written_bytes);
    printf("100 checkpoints of 1 %%   %.2f %% of the full size each (%.1f MB written, full %.1f MB); image %.3f s mean, %.3f s longest\n",
           written / (double)full, written / 1e6, (double)full / 1e6, sum / 100, longest);
}

int main(int argc, char **argv) {
    uint64_t    n = (argc > 1 ? strtoull(argv[1], NULL, 10) : 10) * 1000000;
    int64_t     memory = (argc > 2 ? atoll(argv[2]) : 64) << 20;
    const char *dir = argc > 3 ? argv[3] : "/tmp/weir-tier-bench";
    char        work[300], image[300];
    w = wr_world_posix();
    snprintf(work, sizeof work, "%s/work", dir);
    snprintf(image, sizeof image, "%s/image", dir);
    wr_tier *tier = wr_tier_new(&(wr_tier_opts){.world = w, .dir = work, .memory_bytes = memory});
    uint16_t table;
    check(wr_tier_table(tier, "bench", &table, &err));
    wr_tier_batch *b = wr_tier_batch_new(tier);
    char           k[20], v[VALUE];
    show(tier, "open");
    double         start = now();
    for (uint64_t i = 0; i < n; i++) {
        wr_tier_batch_put(b, key_of(k, table, i), value_of(v, i, 0));
        if (wr_tier_batch_count(b) == 4096 || i + 1 == n) check(wr_tier_write(tier, b, &err));
    }
    wr_tier_batch_free(b);
    printf("%-24s %10.0f /s, %.2f us of processor time each\n", "puts, 4096 a batch", (double)n / (now() - start), (double)wr_cpu_time_us() / (double)n);
    show(tier, "after the puts");
    gets(tier, table, 0, n, 5, "gets present");
    gets(tier, table, n, n, 5, "gets absent");
    wr_tier_file *files;
    uint32_t      n_files;
    check(wr_tier_image(tier, image, &files, &n_files, NULL, &err));
    uint64_t full = 0;
    for (uint32_t i = 0; i < n_files; i++) full += files[i].bytes;
    wr_free(files);
    show(tier, "after a first image");
    checkpoints(tier, table, n, image, full);
    show(tier, "after 100 checkpoints");
    gets(tier, table, 0, n, 5, "gets present");
    gets(tier, table, n, n, 5, "gets absent");
    wr_tier_free(tier);
    return 0;
}
