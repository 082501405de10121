/* bench/stall/stall_bench.c: how long checkpoints take when a sink is slow: the same job with a sink that takes what comes, then with one that takes a tenth
 * of that rate, with aligned and with unaligned checkpoints.
 *
 * Use        stall_bench [seconds each, 12] [workers, 2] [keys, 200000] [share of the normal rate, 0.1] [aligned timeout in ms, the setting's default]
 * Prints     a line a run: rows/s into the sink, checkpoints, and the median, least and greatest of what they took; then the factors.  */
#include "api/session.h"
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

typedef struct slow_sink { wr_sink base; int64_t owed_ns; } slow_sink;
static wr_world        *w;
static _Atomic uint64_t rows_in;
static double           ns_per_row;

static wr_status slow_write(wr_sink *sink, const wr_batch *batch, wr_err *err) {
    (void)err;
    slow_sink *s = (slow_sink *)sink;
    rows_in += wr_batch_live(batch);
    s->owed_ns += (int64_t)(ns_per_row * wr_batch_live(batch));
    if (s->owed_ns < 1000000) return WR_OK;
    int64_t before = wr_mono_us(w);
    w->vt->sleep_us(w, s->owed_ns / 1000);
    s->owed_ns -= (wr_mono_us(w) - before) * 1000;
    return WR_OK;
}
static wr_status slow_flush(wr_sink *s, wr_err *err) { return (void)s, (void)err, WR_OK; }
static wr_status slow_prepare(wr_sink *s, uint64_t epoch, wr_sbuf *out, wr_err *err) { return (void)s, (void)epoch, (void)out, (void)err, WR_OK; }
static wr_status slow_commit(wr_sink *s, uint64_t epoch, wr_str staged, wr_err *err) { return (void)s, (void)epoch, (void)staged, (void)err, WR_OK; }
static wr_status slow_close(wr_sink *s, bool ok, wr_err *err) { return (void)ok, (void)err, wr_free(s), WR_OK; }
static const wr_sink_vt slow_vt = {"slow", slow_write, slow_flush, slow_prepare, slow_commit, slow_commit, slow_close, NULL};
static wr_status slow_new(const wr_table_info *info, wr_connect_ctx *ctx, wr_sink **out, wr_err *err) {
    (void)info, (void)ctx, (void)err;
    slow_sink *s = wr_calloc(1, sizeof *s);
    s->base.vt = &slow_vt;
    *out = &s->base;
    return WR_OK;
}
static wr_sink_takes        slow_takes(const wr_table_info *info) { return (void)info, WR_SINK_ALL; }
static wr_guarantee         slow_guarantee(const wr_table_info *info) { return (void)info, WR_EXACTLY_ONCE; }
static const wr_option_spec no_specs[] = {{0}};
static const wr_connector   slow = {.name = "slow", .doc = "", .specs = no_specs, .sink_new = slow_new, .takes = slow_takes, .guarantee = slow_guarantee};

typedef struct clock { wr_job *job; int64_t until_us; } clock_stop;
static void tick(void *arg, wr_job *job) {
    if (wr_mono_us(w) > ((clock_stop *)arg)->until_us) wr_job_stop(job);
}

static int by_size(const void *a, const void *b) { return *(const int64_t *)a < *(const int64_t *)b ? -1 : *(const int64_t *)a > *(const int64_t *)b; }

typedef struct result { double rate; int64_t median_us; } result;
static result run(wr_session *s, const char *name, bool unaligned, int64_t timeout_us, double seconds, uint32_t workers) {
    char     dir[] = "/tmp/weir-stall-XXXXXX";
    wr_err   err = {0};
    wr_job  *job = NULL;
    wr_account root;
    wr_account_init(&root, NULL, "bench", INT64_C(512) << 20);
    clock_stop stop = {.until_us = wr_mono_us(w) + (int64_t)(seconds * 1e6)};
    if (!mkdtemp(dir)) exit(1);
    const wr_job_plan *plan = NULL;
    for (uint32_t i = 0; i < wr_session_n_steps(s); i++)
        if (wr_session_step(s, i)->kind == WR_STEP_JOB) plan = wr_session_step(s, i)->job;
    wr_run_opts ro = {.world = w, .acct = &root, .diags = wr_session_diags(s), .n_workers = workers, .state_dir = dir, .checkpoint_interval_us = 500000, .result = &slow,
                      .redirect = true, .unaligned = unaligned, .aligned_timeout_us = timeout_us, .tick = tick, .tick_arg = &stop};
    rows_in = 0;
    int64_t   begun = wr_mono_us(w);
    wr_status status = wr_job_new(plan, &ro, &job, &err);
    if (status == WR_OK) status = wr_job_run(job, &err);
    if (status != WR_OK) fprintf(stderr, "%s\n", err.message), exit(1);
    result        r = {.rate = (double)rows_in / ((double)(wr_mono_us(w) - begun) / 1e6)};
    wr_job_status now;
    wr_job_status_get(job, &now);
    int64_t  took[WR_CHECKPOINT_HISTORY];
    uint32_t n = 0;
    uint64_t rows = 0, n_unaligned = 0;
    for (uint32_t i = 0; i + 1 < now.n_history; i++) { /* the last is that of the stop */
        if (now.history[i].epoch == 1) continue;        /* before the first row */
        took[n++] = now.history[i].total_us;
        rows += now.history[i].in_flight_rows, n_unaligned += now.history[i].overtaken_tasks > 0;
        if (getenv("VERBOSE")) {
            const wr_checkpoint_report *c = &now.history[i];
            printf("    %3llu: waiting %6.1f snapshotting %6.1f writing %6.1f committing %6.1f = %6.1f ms; %s, %llu rows, %llu bytes in flight; new %llu\n", (unsigned long long)c->epoch, (double)c->waiting_us / 1e3,
                   (double)c->snapshotting_us / 1e3, (double)c->writing_us / 1e3, (double)c->committing_us / 1e3, (double)c->total_us / 1e3, c->overtaken_tasks ? "unaligned" : "aligned",
                   (unsigned long long)c->in_flight_rows, (unsigned long long)c->in_flight_bytes, (unsigned long long)c->new_bytes);
        }
    }
    qsort(took, n, sizeof *took, by_size);
    r.median_us = n ? took[n / 2] : 0;
    printf("%-24s %9.0f rows/s; %2u checkpoints (%llu unaligned, %llu rows in flight): %7.1f ms (%.1f to %.1f)\n", name, r.rate, n, (unsigned long long)n_unaligned, (unsigned long long)rows,
           (double)r.median_us / 1e3, n ? (double)took[0] / 1e3 : 0, n ? (double)took[n - 1] / 1e3 : 0);
    fflush(stdout);
    wr_arena_free(now.arena);
    wr_job_free(job);
    wr_err ignored;
    (void)!wr_dir_remove(w, dir, &ignored);
    return r;
}

int main(int argc, char **argv) {
    double   seconds = argc > 1 ? atof(argv[1]) : 12, share = argc > 4 ? atof(argv[4]) : 0.1;
    uint32_t workers = argc > 2 ? (uint32_t)atoi(argv[2]) : 2;
    int64_t  timeout_us = argc > 5 ? atoi(argv[5]) * INT64_C(1000) : -1;
    w = wr_world_posix();
    wr_session_opts so = {.world = w, .n_workers = workers, .accept_unbounded = true};
    wr_session     *s = wr_session_new(&so);
    wr_sbuf         sql = {0};
    wr_sbuf_printf(&sql, "CREATE TABLE g (id BIGINT, k BIGINT) WITH ('connector' = 'datagen', 'rows-per-second' = '0', 'fields.id.kind' = 'sequence', "
                         "'fields.id.start' = '1', 'fields.id.end' = '100000000000', 'fields.k.kind' = 'random', 'fields.k.min' = '0', 'fields.k.max' = '%s'); "
                         "SELECT k, COUNT(*) AS n, SUM(id) AS s, MAX(id) AS m FROM g GROUP BY k;", argc > 3 ? argv[3] : "200000");
    wr_session_load_text(s, "stall.sql", wr_sbuf_str(&sql));
    wr_err err = {0};
    if (wr_session_plan(s) != WR_OK) {
        wr_sbuf text = {0};
        wr_session_report(s, &err, false, &text);
        fprintf(stderr, "%.*s\n", WR_FMT(wr_sbuf_str(&text)));
        return 1;
    }
    result normal = run(s, "normal, aligned", false, 0, seconds, workers);
    result normal_u = run(s, "normal, unaligned", true, timeout_us, seconds, workers);
    ns_per_row = 1e9 / (normal.rate * share);
    result aligned = run(s, "slow sink, aligned", false, 0, seconds, workers);
    result unaligned = run(s, "slow sink, unaligned", true, timeout_us, seconds, workers);
    printf("checkpoint time with a sink at %.0f %% of its rate: aligned x%.2f, unaligned x%.2f\n", share * 100, (double)aligned.median_us / (double)normal.median_us,
           (double)unaligned.median_us / (double)normal_u.median_us);
    wr_session_free(s);
    wr_sbuf_free(&sql);
    return 0;
}
