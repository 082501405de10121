/* bench/agg_floor.c: what counting rows by (key, 10-second pane) costs in a plain C loop: the floor that bench/agg compares with.
 *
 * Idea       what somebody would write by hand for one query: keys are numbers below a bound that is known, so the table never grows; a batch is hashed, its slots are
 *            prefetched, then counted; when time passes the end of the pane, its keys and counts are copied out and the table is cleared. Rows are made as connector
 *            'datagen' makes them, one a microsecond of event time; making them is not measured.
 * Use        agg_floor [rows] [keys ...]: one JSON line for each number of keys. cc -O2 -Isrc bench/agg_floor.c                                             */
#define _GNU_SOURCE 1
#include "base/hash.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { BATCH = 2048 };
#define PANE_US INT64_C(10000000)

typedef struct slot { uint64_t key; int64_t n; } slot; /* n 0: free */
typedef struct state {
    slot    *slots;
    uint64_t mask, emitted;
    int      shift;
    int64_t  pane_end;
    int64_t *out_key, *out_n; /* of one batch; the last one counts for all */
} state;

static int64_t cpu_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

static void close_pane(state *s) {
    uint64_t n = 0;
    for (uint64_t i = 0; i <= s->mask; i++) {
        if (!s->slots[i].n) continue;
        s->out_key[n % BATCH] = (int64_t)s->slots[i].key;
        s->out_n[n % BATCH] = s->slots[i].n;
        n++;
    }
    s->emitted += n;
    memset(s->slots, 0, (s->mask + 1) * sizeof *s->slots);
}

static void count_batch(state *s, const uint64_t *keys, const int64_t *ts, uint32_t n) {
    uint64_t home[BATCH];
    for (uint32_t i = 0; i < n; i++) home[i] = keys[i] * UINT64_C(0x9E3779B97F4A7C15) >> s->shift;
    for (uint32_t i = 0; i < n; i++) __builtin_prefetch(&s->slots[home[i]], 1);
    for (uint32_t i = 0; i < n; i++) {
        if (ts[i] >= s->pane_end) {
            close_pane(s);
            s->pane_end = (ts[i] / PANE_US + 1) * PANE_US;
        }
        uint64_t at = home[i];
        while (s->slots[at].n && s->slots[at].key != keys[i]) at = (at + 1) & s->mask;
        s->slots[at].key = keys[i];
        s->slots[at].n++;
    }
}

static void run(uint64_t rows, uint64_t n_keys) {
    state s = {.pane_end = PANE_US, .shift = 64};
    uint64_t room = 2;
    for (s.shift = 63; room < n_keys + n_keys / 2; room *= 2) s.shift--;
    s.mask = room - 1;
    s.slots = calloc(room, sizeof *s.slots);
    s.out_key = malloc(BATCH * sizeof *s.out_key);
    s.out_n = malloc(BATCH * sizeof *s.out_n);
    int64_t  ns = 0, sum = 0;
    uint64_t keys[BATCH];
    int64_t  ts[BATCH];
    for (uint64_t row = 0; row < rows; row += BATCH) {
        uint32_t n = (uint32_t)(rows - row < BATCH ? rows - row : BATCH);
        for (uint32_t i = 0; i < n; i++) {
            keys[i] = (uint64_t)((unsigned __int128)wr_hash_mix(wr_hash_mix(1, row + i), 0) * n_keys >> 64);
            ts[i] = (int64_t)(row + i);
        }
        int64_t from = cpu_ns();
        count_batch(&s, keys, ts, n);
        ns += cpu_ns() - from;
    }
    int64_t from = cpu_ns();
    close_pane(&s);
    ns += cpu_ns() - from;
    for (uint32_t i = 0; i < BATCH && i < s.emitted; i++) sum += s.out_n[i];
    printf("{\"keys\":%llu,\"ns_per_row\":%.2f,\"rows\":%llu,\"results\":%llu,\"check\":%lld}\n", (unsigned long long)n_keys, (double)ns / (double)rows,
           (unsigned long long)rows, (unsigned long long)s.emitted, (long long)sum);
    fflush(stdout);
    free(s.slots), free(s.out_key), free(s.out_n);
}

int main(int argc, char **argv) {
    static const uint64_t usual[] = {1000, 100000, 1000000, 20000000};
    uint64_t rows = argc > 1 ? strtoull(argv[1], NULL, 10) : 20000000;
    for (int i = 2; i < argc; i++) run(rows, strtoull(argv[i], NULL, 10));
    for (size_t i = 0; argc <= 2 && i < sizeof usual / sizeof *usual; i++) run(rows, usual[i]);
    return 0;
}
