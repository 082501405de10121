/* lab/lab_barriers.c: checkpoints behind a bounded buffer and a sink that becomes slower: barriers that wait in the queue, and barriers that overtake.
 *
 * Job        real threads: a source as fast as it goes, an aggregation by key, a sink that sleeps for each batch. The queue between them is bounded in bytes, so it is always full.
 *            The job runs until so many checkpoints are complete, by their count and not by the clock.
 * Thread     the sink is called by its worker; the tick by the thread that runs the lab.                                    */
#include "lab/parts.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { BATCH_ROWS = 64, WORKERS = 2, CHECKPOINT_EVERY_US = 20000, REPORTS_MAX = WR_CHECKPOINT_HISTORY, SPEEDS = 4 };

/* ---- a sink that takes its time ---- */
typedef struct slow_sink { wr_sink base; wr_world *world; int64_t us; } slow_sink;

static wr_status slow_write(wr_sink *sink, const wr_batch *batch, wr_err *err) {
    (void)batch, (void)err;
    slow_sink *s = (slow_sink *)sink;
    s->world->vt->sleep_us(s->world, s->us);
    return WR_OK;
}
static wr_status slow_flush(wr_sink *s, wr_err *err) { return (void)s, (void)err, WR_OK; }
static wr_status slow_prepare(wr_sink *s, uint64_t epoch, wr_sbuf *out, wr_err *err) { return (void)s, (void)epoch, (void)out, (void)err, WR_OK; }
static wr_status slow_commit(wr_sink *s, uint64_t epoch, wr_str staged, wr_err *err) { return (void)s, (void)epoch, (void)staged, (void)err, WR_OK; }
static wr_status slow_close(wr_sink *s, bool ok, wr_err *err) { return (void)ok, (void)err, wr_free(s), WR_OK; }
static const wr_sink_vt slow_vt = {.name = "slow", .write = slow_write, .flush = slow_flush, .prepare = slow_prepare, .commit = slow_commit, .recover = slow_commit, .close = slow_close};

static wr_status slow_new(const wr_table_info *info, wr_connect_ctx *ctx, wr_sink **out, wr_err *err) {
    (void)info, (void)err;
    slow_sink *s = wr_calloc(1, sizeof *s);
    *s = (slow_sink){.base = {&slow_vt}, .world = ctx->world, .us = *(const int64_t *)ctx->result_arg};
    *out = &s->base;
    return WR_OK;
}
static wr_sink_takes        slow_takes(const wr_table_info *info) { return (void)info, WR_SINK_ALL; }
static wr_guarantee         slow_guarantee(const wr_table_info *info) { return (void)info, WR_AT_LEAST_ONCE; }
static const wr_option_spec no_specs[] = {{0}};
static const wr_connector   slow_connector = {.name = "slow", .doc = "a sink that sleeps", .specs = no_specs, .sink_new = slow_new, .takes = slow_takes, .guarantee = slow_guarantee};

/* ---- a run ---- */
typedef struct run_state { wr_lab_run *run; uint32_t wanted; bool stopped; uint32_t n; wr_checkpoint_report reports[REPORTS_MAX]; } run_state;

static void tick(void *arg, wr_job *job) {
    run_state    *r = arg;
    wr_job_status s;
    wr_job_status_get(job, &s);
    if (!r->stopped && (s.n_history >= r->wanted || atomic_load(&r->run->stopped))) { /* the one that stopping makes does not count */
        r->n = WR_MIN(s.n_history, (uint32_t)REPORTS_MAX);
        memcpy(r->reports, s.history, r->n * sizeof *r->reports);
        r->stopped = true;
        wr_job_stop(job);
    }
    wr_arena_free(s.arena);
}

typedef struct measured { double sleep_s, waiting_s, total_s, bytes, in_flight_bytes; uint64_t checkpoints, overtaking, rows, rows_max; } measured; /* medians; rows: in flight */

static int by_value(const void *a, const void *b) { return (*(const double *)a > *(const double *)b) - (*(const double *)a < *(const double *)b); }
static double median(double *v, uint32_t n) {
    if (n) qsort(v, n, sizeof *v, by_value);
    return n ? v[n / 2] : 0;
}

static void sum_up(const run_state *r, measured *m) {
    double waiting[REPORTS_MAX], total[REPORTS_MAX], bytes[REPORTS_MAX], flight[REPORTS_MAX], rows[REPORTS_MAX];
    m->checkpoints = r->n;
    for (uint32_t i = 0; i < r->n; i++) {
        const wr_checkpoint_report *c = &r->reports[i];
        waiting[i] = (double)c->waiting_us / 1e6, total[i] = (double)c->total_us / 1e6, bytes[i] = (double)c->total_bytes, flight[i] = (double)c->in_flight_bytes, rows[i] = (double)c->in_flight_rows;
        m->overtaking += c->overtaken_tasks > 0;
        m->rows_max = WR_MAX(m->rows_max, c->in_flight_rows);
    }
    m->waiting_s = median(waiting, r->n), m->total_s = median(total, r->n), m->bytes = median(bytes, r->n), m->in_flight_bytes = median(flight, r->n), m->rows = (uint64_t)median(rows, r->n);
}

static wr_status measure(wr_lab_run *run, bool unaligned, double sleep_s, measured *m, wr_err *err) {
    const char *sql = wr_arena_printf(run->arena,
        "CREATE TABLE pings (id BIGINT, courier INT, meters INT) WITH ('connector' = 'datagen', 'rows-per-second' = '0', 'seed' = '%llu', 'fields.courier.min' = '1',\n"
        "  'fields.courier.max' = '%.0f', 'fields.meters.min' = '1', 'fields.meters.max' = '500');\n"
        "SELECT courier, COUNT(*) AS n, SUM(meters) AS meters FROM pings GROUP BY courier;\n", (unsigned long long)run->seed, lab_value(run, "couriers"));
    int64_t     sleep_us = (int64_t)llround(sleep_s * 1e6);
    run_state   state = {.run = run, .wanted = (uint32_t)lab_value(run, "checkpoints")};
    lab_job     plan = {.run = run, .sql = sql, .workers = WORKERS};
    wr_account  root;
    wr_job     *job = NULL;
    wr_run_opts opts = {.world = run->world, .acct = &root, .n_workers = WORKERS, .batch_rows = BATCH_ROWS, .queue_bytes = (size_t)lab_value(run, "buffer"), .unaligned = unaligned,
                        .state_dir = wr_arena_printf(run->arena, "%s/%s-%lld", run->dir, unaligned ? "unaligned" : "aligned", (long long)sleep_us), .checkpoint_interval_us = CHECKPOINT_EVERY_US,
                        .result = &slow_connector, .result_arg = &sleep_us, .tick = tick, .tick_arg = &state};
    lab_progress(run, wr_arena_printf(run->arena, "%s checkpoints, the sink takes %s for a batch", unaligned ? "unaligned" : "aligned", lab_text(run, sleep_s, WR_LAB_SECONDS)));
    wr_account_init(&root, NULL, "lab", 0);
    wr_status status = lab_job_plan(&plan, err);
    opts.diags = status == WR_OK ? wr_session_diags(plan.session) : NULL;
    if (status == WR_OK) status = wr_job_new(plan.plan, &opts, &job, err);
    if (status == WR_OK) status = wr_job_run(job, err);
    wr_job_free(job);
    lab_job_close(&plan);
    *m = (measured){.sleep_s = sleep_s};
    sum_up(&state, m);
    return status;
}

static void row(wr_lab_run *run, wr_lab_report *r, wr_lab_table *t, const char *how, const measured *m) {
    wr_lab_row(r, t, "%s|%s|%llu|%s|%s|%s|%llu|%s", lab_text(run, m->sleep_s, WR_LAB_SECONDS), how, (unsigned long long)m->checkpoints, lab_text(run, m->waiting_s, WR_LAB_SECONDS),
               lab_text(run, m->total_s, WR_LAB_SECONDS), lab_text(run, m->bytes, WR_LAB_BYTES), (unsigned long long)m->rows, lab_text(run, m->in_flight_bytes, WR_LAB_BYTES));
}

static void conclude(wr_lab_run *run, wr_lab_report *r, const measured *aligned, const measured *unaligned, uint32_t n) {
    const measured *a = &aligned[n - 1], *u = &unaligned[n - 1];
    uint64_t        in_aligned = 0, overtaking_aligned = 0, all = 0, of_aligned = 0;
    bool            every = true;
    for (uint32_t i = 0; i < n; i++) {
        in_aligned += aligned[i].rows_max, overtaking_aligned += aligned[i].overtaking, of_aligned += aligned[i].checkpoints, all += unaligned[i].checkpoints;
        every = every && unaligned[i].rows_max > 0 && unaligned[i].overtaking > 0;
    }
    wr_lab_say(r, "A checkpoint's barrier travels with the rows. In front of a slow sink the buffer is full, so an aligned barrier waits until the sink has taken every row before it: at %s a batch the median wait is %s. "
               "The slower the sink, the longer the wait, though there is nothing more to save.", lab_text(run, a->sleep_s, WR_LAB_SECONDS), lab_text(run, a->waiting_s, WR_LAB_SECONDS));
    wr_lab_say(r, "An unaligned barrier overtakes the rows; those it overtakes are written into the checkpoint and put back into the queue after a crash. It waits %s. The price is size: %llu rows in flight, %s, in each checkpoint. "
               "That is bounded by the buffer (%s for a queue), not by the state.", lab_text(run, u->waiting_s, WR_LAB_SECONDS), (unsigned long long)u->rows, lab_text(run, u->in_flight_bytes, WR_LAB_BYTES),
               lab_text(run, lab_value(run, "buffer"), WR_LAB_BYTES));
    wr_lab_say(r, "So there are two ways to a short checkpoint: a smaller buffer (less to wait for), or overtaking. weir does both: queues shrink to 200 ms of what their consumer takes, and barriers that wait for too long overtake. "
               "Neither makes the sink faster: weir why names it.");
    wr_lab_relate(r, in_aligned == 0 && overtaking_aligned == 0, "aligned: no rows in flight in any of %llu checkpoints", (unsigned long long)of_aligned);
    wr_lab_relate(r, every, "unaligned: rows in flight at every speed of the sink (up to %llu of them at the slowest)", (unsigned long long)u->rows_max);
    if (run->quick) wr_lab_say(r, "(A relation between times is checked without --quick only.)");
    else wr_lab_relate(r, a->waiting_s > u->waiting_s, "at the slowest sink the aligned barrier waits longer: %s against %s", lab_text(run, a->waiting_s, WR_LAB_SECONDS), lab_text(run, u->waiting_s, WR_LAB_SECONDS));
    wr_lab_add_figure(r, "aligned_waiting_seconds", a->waiting_s), wr_lab_add_figure(r, "unaligned_waiting_seconds", u->waiting_s), wr_lab_add_figure(r, "aligned_in_flight_rows", (double)a->rows);
    wr_lab_add_figure(r, "unaligned_in_flight_rows", (double)u->rows), wr_lab_add_figure(r, "unaligned_in_flight_bytes", u->in_flight_bytes), wr_lab_add_figure(r, "aligned_bytes", a->bytes);
    wr_lab_add_figure(r, "unaligned_bytes", u->bytes), wr_lab_add_figure(r, "checkpoints", (double)(all + of_aligned));
}

static wr_status run_barriers(wr_lab_run *run, wr_lab_report *r, wr_err *err) {
    uint32_t       n = (uint32_t)lab_value(run, "speeds");
    measured       aligned[SPEEDS], unaligned[SPEEDS];
    wr_lab_table  *t = wr_lab_add_table(r, "medians of the checkpoints of a run", "sink, a batch|barriers|checkpoints|waiting|total|bytes|rows in flight|their bytes");
    wr_lab_plot   *p = wr_lab_add_plot(r, "how long barriers wait", "the sink takes, for a batch", WR_LAB_SECONDS, "waiting (median)", WR_LAB_SECONDS);
    wr_lab_series *wait_a = wr_lab_add_series(r, p, WR_LAB_MEASURED, "aligned"), *wait_u = wr_lab_add_series(r, p, WR_LAB_MEASURED, "unaligned");
    wr_lab_plot   *b = wr_lab_add_plot(r, "bytes of a checkpoint", "the sink takes, for a batch", WR_LAB_SECONDS, "bytes (median)", WR_LAB_BYTES);
    wr_lab_series *bytes_a = wr_lab_add_series(r, b, WR_LAB_MEASURED, "aligned"), *bytes_u = wr_lab_add_series(r, b, WR_LAB_MEASURED, "unaligned: with the rows in flight");
    for (uint32_t i = 0; i < n; i++) {
        double sleep_s = lab_value(run, "slowest") / exp2(n - 1 - i);
        WR_TRY(measure(run, false, sleep_s, &aligned[i], err));
        WR_TRY(measure(run, true, sleep_s, &unaligned[i], err));
        row(run, r, t, "aligned", &aligned[i]), row(run, r, t, "unaligned", &unaligned[i]);
        wr_lab_add_point(r, wait_a, sleep_s, aligned[i].waiting_s), wr_lab_add_point(r, wait_u, sleep_s, unaligned[i].waiting_s);
        wr_lab_add_point(r, bytes_a, sleep_s, aligned[i].bytes), wr_lab_add_point(r, bytes_u, sleep_s, unaligned[i].bytes);
    }
    conclude(run, r, aligned, unaligned, n);
    return WR_OK;
}

const wr_lab wr_lab_barriers = {
    .name = "barriers", .line = "checkpoints in front of a sink that becomes slower: barriers that wait, and barriers that overtake",
    .question = "A job checkpoints. Its state does not change in size, but its sink becomes slower and slower. What happens to the duration of a checkpoint, and what can be done about it?",
    .guess = "twice as slow a sink: how much longer does a checkpoint take? And what does a checkpoint hold when its barrier overtakes the rows in the buffer?",
    .rule = "a checkpoint that becomes slower while the state stays the same is waiting behind rows: look at what is in front of the slow sink. Overtaking trades that waiting for bytes, bounded by the buffer.",
    .params = {{"slowest", 0.016, 0.004, 0.0005, 0.2, WR_LAB_SECONDS, "what the slowest sink takes for a batch of 64 rows"},
               {"speeds", 4, 2, 1, SPEEDS, WR_LAB_PLAIN, "so many sinks, each half as slow as the next"},
               {"checkpoints", 5, 4, 2, REPORTS_MAX, WR_LAB_PLAIN, "checkpoints of each run"},
               {"couriers", 1000, 1000, 10, 100000, WR_LAB_PLAIN, "keys of the aggregation"},
               {"buffer", 65536, 65536, 4096, 16777216, WR_LAB_BYTES, "bound of the queue between two instances"}},
    .run = run_barriers,
};
