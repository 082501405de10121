/* tests/sim/appends.c: plain appends to the embedded log while the power fails, calls and syncs fail: what was acknowledged is there once, whatever became of the rest.
 *
 * Run        a writer appends units of records, each with an idempotency key, some in groups behind one sync; every attempt may end by a fault. The next one opens
 *            the log and gives the log all units again that it was not told of, with their keys. Between attempts, and at the end after another power loss, a
 *            reader compares: units whole, in one row, each at most once, every acknowledged one there; and what a reader saw before a power loss is still there
 *            when a writer has opened the log.                                                                                         */
#include "sim.h"
#include "connect/log/log.h"
#include <stdio.h>

enum { UNITS = 60, ATTEMPTS = 7, PARTITIONS = 2 };
#define PATH "/log"

typedef struct appends {
    sim_world *world;
    wr_rng     rng;
    bool       acked[UNITS], seen[UNITS];
    int        size[UNITS];
    char       why[600];
} appends;

static bool wrong(appends *a, const char *what, int unit) {
    if (!a->why[0]) snprintf(a->why, sizeof a->why, "%s (unit %d)", what, unit);
    return false;
}

/* All visible records: "unit.part" one behind the other. */
static bool read_part(appends *a, wr_log_view *view, uint32_t p, int *found) {
    wr_log_cursor *c = wr_log_cursor_new(view, p, 0);
    wr_log_batch   batch = {0};
    wr_log_piece   piece = {0};
    wr_log_record  r;
    wr_err         err = {0};
    int            unit = -1, part = 0;
    while (!a->why[0] && wr_log_cursor_peek(c, &piece, &err) == WR_OK && piece.len) {
        if (wr_log_batch_open(&batch, piece.bytes, piece.len) != WR_OK) wrong(a, "a damaged batch is visible", -1);
        while (!a->why[0] && wr_log_batch_next(&batch, &r)) {
            int u = -1, k = -1;
            if (sscanf(r.value.ptr, "%d.%d|", &u, &k) != 2 || u < 0 || u >= UNITS) wrong(a, "a record that was never appended", u);
            else if (unit >= 0 && part < a->size[unit] ? u != unit || k != part : k != 0) wrong(a, "a unit is torn", u);
            else if (k == 0 && found[u]++) wrong(a, "a unit is there twice", u);
            unit = u, part = k + 1;
        }
        wr_log_cursor_take(c, &piece);
    }
    if (err.message[0]) wrong(a, err.message, -1);
    if (unit >= 0 && part != a->size[unit]) wrong(a, "a unit is torn at the end", unit);
    wr_log_batch_free(&batch);
    wr_log_cursor_free(c);
    return !a->why[0];
}

static bool check(appends *a, bool opened) {
    wr_log_view *view = NULL;
    wr_err       err = {0};
    bool         exists;
    int          found[UNITS] = {0};
    sim_faults   faults = a->world->faults;
    a->world->faults = (sim_faults){0};
    if (wr_log_exists(&a->world->base, PATH, &exists, &err) == WR_OK && exists && wr_log_view_open(&a->world->base, PATH, &view, &err) == WR_OK)
        for (uint32_t p = 0; p < PARTITIONS; p++) read_part(a, view, p, found);
    if (err.message[0]) wrong(a, err.message, -1);
    wr_log_view_close(view);
    a->world->faults = faults;
    for (int u = 0; u < UNITS; u++) {
        if (opened && a->acked[u] && !found[u]) wrong(a, "an acknowledged unit is gone", u);
        if (opened && a->seen[u] && !found[u]) wrong(a, "a unit that a reader saw is gone", u);
        a->seen[u] |= found[u] > 0;
    }
    return !a->why[0];
}

static wr_status submit_unit(appends *a, wr_log *log, int u, uint64_t *ticket, wr_err *err) {
    wr_log_record   records[6];
    char            text[6][400], key[20];
    wr_log_appended done;
    for (int k = 0; k < a->size[u]; k++) {
        int n = snprintf(text[k], sizeof text[k], "%d.%d|%0*d", u, k, (u * 37 + k * 11) % 300 + 1, u);
        records[k] = (wr_log_record){.time_ms = WR_LOG_NO_TIME, .value = {text[k], (size_t)n}};
    }
    snprintf(key, sizeof key, "unit-%d", u);
    wr_status status = wr_log_submit(log, (uint32_t)u % PARTITIONS, records, (uint32_t)a->size[u], wr_str_of(key), &done, err);
    if (status == WR_OK && a->acked[u] && !done.duplicate) wrong(a, "an acknowledged key is not known any more", u);
    *ticket = WR_MAX(*ticket, done.ticket);
    return status;
}

static wr_status attempt(appends *a, wr_err *err) {
    wr_log_config config;
    wr_log       *log;
    wr_log_config_default(&config);
    config.partitions = PARTITIONS, config.segment_bytes = 4096, config.zstd = wr_rng_below(&a->rng, 2);
    wr_log_opts opts = {.world = &a->world->base, .path = PATH, .create = &config, .idem_us = INT64_C(1) << 55};
    WR_TRY(wr_log_open(&opts, &log, err));
    if (!check(a, true)) return wr_log_close(log), WR_OK;
    wr_status status = WR_OK;
    for (int u = 0; u < UNITS && status == WR_OK && !a->why[0];) {
        int      first = u, group = 1 + (int)wr_rng_below(&a->rng, 5);
        uint64_t ticket = 0;
        for (; u < UNITS && u < first + group && status == WR_OK; u++) status = submit_unit(a, log, u, &ticket, err);
        if (status == WR_OK) status = wr_log_sync(log, ticket, err);
        for (int k = first; k < u && status == WR_OK; k++) a->acked[k] = true;
    }
    if (status == WR_OK && wr_rng_below(&a->rng, 2)) status = wr_log_clean(log, true, NULL, err);
    wr_log_close(log);
    return status;
}

bool sim_appends(uint64_t seed, char *why, size_t cap) {
    appends a = {.world = sim_world_new(wr_hash_mix(seed, 11))};
    wr_rng_seed(&a.rng, wr_hash_mix(seed, 12));
    for (int u = 0; u < UNITS; u++) a.size[u] = 1 + (int)wr_rng_below(&a.rng, 6);
    for (int nth = 0; nth <= ATTEMPTS && !a.why[0]; nth++) {
        sim_faults f = {0};
        uint64_t   what = nth < ATTEMPTS ? wr_rng_below(&a.rng, 5) : 9;
        if (what == 0 || what == 1) f.crash_at_call = 1 + wr_rng_below(&a.rng, 200);
        if (what == 2) f.fail_at_call = 1 + wr_rng_below(&a.rng, 200);
        if (what == 3) f.fail_at_sync = 1 + wr_rng_below(&a.rng, 40);
        if (what == 4) f.space_bytes = 1 + wr_rng_below(&a.rng, 30000);
        wr_err err = {0};
        sim_world_boot(a.world, f);
        wr_status status = attempt(&a, &err);
        if (status != WR_OK && what == 9) snprintf(a.why, sizeof a.why, "the last attempt: %s", err.message);
        bool off = a.world->off;
        if (!off) check(&a, false);
        if (off || wr_rng_below(&a.rng, 2)) sim_world_power_loss(a.world);
    }
    sim_world_boot(a.world, (sim_faults){0});
    if (!a.why[0]) check(&a, true);
    for (int u = 0; u < UNITS && !a.why[0]; u++)
        if (!a.seen[u]) wrong(&a, "a unit is missing at the end", u);
    sim_world_free(a.world);
    snprintf(why, cap, "%s", a.why);
    return !a.why[0];
}
