/* api/unaligned_test.c: a job with a slow sink, or one that stops, and real threads: barriers overtake, and what the sink has got at the end is right, also
 * when the job is stopped in between and goes on with another number of workers. Right answers by arithmetic. Crashes: tests/sim, tests/state/run.   */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include "api/session.h"
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { KEYS = 10, ROWS = 6000, BATCH_US = 1000 };

/* ---- a transactional store with a slow way in ---- */
typedef struct store {
    uint64_t n[KEYS], sum[KEYS], epoch;
    _Atomic uint64_t written;
    uint64_t         stands_at;   /* when so many rows have been written it takes no more; 0: never */
    _Atomic bool     gone;
} store;
typedef struct slow_sink { wr_sink base; wr_sbuf open, held; store *to; } slow_sink; /* held: of a batch that is under way */

static wr_status slow_write(wr_sink *sink, const wr_batch *b, wr_err *err) {
    (void)err;
    slow_sink *s = (slow_sink *)sink;
    for (uint32_t i = 0; i < wr_batch_live(b); i++) {
        uint32_t row = wr_batch_row(b, i);
        if (!wr_kind_adds(wr_batch_kind(b, row))) continue;
        for (uint32_t c = 0; c < 3; c++) wr_put_i64(&s->open, ((const int64_t *)b->cols[c].data)[row]);
    }
    s->to->written += wr_batch_live(b);
    wr_world_posix()->vt->sleep_us(wr_world_posix(), BATCH_US);
    return WR_OK;
}
/* The same, but what does not go in now is for drain. */
static wr_status standing_write(wr_sink *sink, const wr_batch *b, wr_err *err) {
    slow_sink *s = (slow_sink *)sink;
    wr_sbuf    open = s->open;
    s->open = s->held;
    wr_status status = slow_write(sink, b, err);
    s->held = s->open;
    s->open = open;
    return status;
}
static wr_status standing_drain(wr_sink *sink, int64_t wait_us, bool *busy, wr_err *err) {
    slow_sink *s = (slow_sink *)sink;
    if (s->to->gone) return wr_fail(err, WR_IO, "08006", "the store is gone");
    *busy = s->to->stands_at && s->to->written > s->to->stands_at;
    if (*busy) {
        wr_world_posix()->vt->sleep_us(wr_world_posix(), WR_MIN(wait_us, (int64_t)BATCH_US));
        return WR_OK;
    }
    wr_sbuf_add_str(&s->open, wr_sbuf_str(&s->held));
    wr_sbuf_clear(&s->held);
    return WR_OK;
}
static wr_status slow_flush(wr_sink *s, wr_err *err) { return (void)s, (void)err, WR_OK; }
static wr_status slow_prepare(wr_sink *sink, uint64_t epoch, wr_sbuf *out, wr_err *err) {
    (void)epoch, (void)err;
    slow_sink *s = (slow_sink *)sink;
    wr_sbuf_add_str(out, wr_sbuf_str(&s->open));
    wr_sbuf_clear(&s->open);
    return WR_OK;
}
static wr_status slow_commit(wr_sink *sink, uint64_t epoch, wr_str staged, wr_err *err) {
    (void)err;
    store *to = ((slow_sink *)sink)->to;
    if (epoch <= to->epoch) return WR_OK;
    to->epoch = epoch;
    wr_reader in = {(const uint8_t *)staged.ptr, (const uint8_t *)staged.ptr + staged.len, false};
    while (in.at < in.end) {
        int64_t k = wr_get_i64(&in);
        to->n[k] = (uint64_t)wr_get_i64(&in);
        to->sum[k] = (uint64_t)wr_get_i64(&in);
    }
    return WR_OK;
}
static wr_status slow_close(wr_sink *sink, bool ok, wr_err *err) {
    (void)ok, (void)err;
    wr_sbuf_free(&((slow_sink *)sink)->open);
    wr_sbuf_free(&((slow_sink *)sink)->held);
    wr_free(sink);
    return WR_OK;
}
static const wr_sink_vt slow_vt = {"slow", slow_write, slow_flush, slow_prepare, slow_commit, slow_commit, slow_close, NULL};
static const wr_sink_vt standing_vt = {"standing", standing_write, slow_flush, slow_prepare, slow_commit, slow_commit, slow_close, standing_drain};
static wr_status slow_new(const wr_table_info *info, wr_connect_ctx *ctx, wr_sink **out, wr_err *err) {
    (void)info, (void)err;
    slow_sink *s = wr_calloc(1, sizeof *s);
    s->base.vt = &slow_vt;
    s->to = ctx->result_arg;
    *out = &s->base;
    return WR_OK;
}
static wr_status standing_new(const wr_table_info *info, wr_connect_ctx *ctx, wr_sink **out, wr_err *err) {
    wr_status status = slow_new(info, ctx, out, err);
    (*out)->vt = &standing_vt;
    return status;
}
static wr_sink_takes        slow_takes(const wr_table_info *info) { return (void)info, WR_SINK_ALL; }
static wr_guarantee         slow_guarantee(const wr_table_info *info) { return (void)info, WR_EXACTLY_ONCE; }
static const wr_option_spec no_specs[] = {{0}};
static const wr_connector   slow = {.name = "slow", .doc = "", .specs = no_specs, .sink_new = slow_new, .takes = slow_takes, .guarantee = slow_guarantee};
static const wr_connector   standing = {.name = "standing", .doc = "", .specs = no_specs, .sink_new = standing_new, .takes = slow_takes, .guarantee = slow_guarantee};

/* ---- one run ---- */
typedef struct watch { store *to; uint64_t stop_at; } watch; /* when so many rows have been written; 0: never */

static uint64_t overtaken_checkpoints(const wr_job_status *status) {
    uint64_t n = 0;
    for (uint32_t k = 0; k < status->n_history; k++) n += status->history[k].overtaken_tasks > 0;
    return n;
}

static void tick(void *arg, wr_job *job) {
    const watch *w = arg;
    if (w->stop_at && w->to->written > w->stop_at) wr_job_stop(job);
    if (!w->to->stands_at) return;
    wr_job_status status;
    wr_job_status_get(job, &status);
    if (overtaken_checkpoints(&status) >= 3) w->to->gone = true;
    wr_arena_free(status.arena);
}

static bool run(const wr_job_plan *plan, wr_diags *diags, const wr_connector *sink, store *to, const char *dir, uint32_t workers, uint64_t stop_after, wr_job_status *status) {
    wr_account  root;
    wr_err      err = {0};
    wr_job     *job = NULL;
    wr_account_init(&root, NULL, "test", 0);
    watch       w = {to, stop_after ? to->written + stop_after : 0};
    wr_run_opts ro = {.world = wr_world_posix(), .acct = &root, .diags = diags, .n_workers = workers, .state_dir = dir, .checkpoint_interval_us = 20000, .batch_rows = 16,
                      .queue_bytes = 64 << 10, .result = sink, .result_arg = to, .unaligned = true, .tick = tick, .tick_arg = &w};
    assert_int_equal(wr_job_new(plan, &ro, &job, &err), WR_OK);
    assert_int_equal(wr_job_run(job, &err), to->stands_at ? WR_IO : WR_OK);
    wr_job_status_get(job, status);
    wr_sbuf text = {0};
    if (!to->stands_at) assert_true(wr_job_ledger_text(status, &text));
    wr_sbuf_clear(&text);
    wr_job_checkpoints_json(status, &text);
    assert_non_null(strstr(text.at, "\"in_flight_rows\":"));
    wr_sbuf_free(&text);
    bool finished = status->finished;
    wr_job_free(job);
    assert_int_equal(wr_account_bytes(&root), 0);
    return finished;
}

static const wr_job_plan *plan_of(wr_session *s) {
    char sql[512];
    snprintf(sql, sizeof sql, "CREATE TABLE g (id BIGINT) WITH ('connector' = 'datagen', 'rows-per-second' = '0', 'fields.id.kind' = 'sequence', 'fields.id.start' = '0', "
             "'fields.id.end' = '%d'); SELECT k, COUNT(*) AS n, SUM(id) AS s FROM (SELECT id, CAST(MOD(id, %d) AS BIGINT) AS k FROM g) GROUP BY k;", ROWS - 1, KEYS);
    wr_session_load_text(s, "unaligned.sql", wr_str_of(sql));
    assert_int_equal(wr_session_plan(s), WR_OK);
    const wr_job_plan *plan = NULL;
    for (uint32_t i = 0; i < wr_session_n_steps(s); i++)
        if (wr_session_step(s, i)->kind == WR_STEP_JOB) plan = wr_session_step(s, i)->job;
    return plan;
}

static void check(const store *to) {
    for (uint64_t k = 0; k < KEYS; k++) { /* k, k + 10, ..: arithmetic series */
        uint64_t n = ROWS / KEYS;
        assert_int_equal(to->n[k], n);
        assert_int_equal(to->sum[k], n * k + KEYS * (n * (n - 1) / 2));
    }
}

static void other_numbers_of_workers(void **state) {
    (void)state;
    char             dir[] = "/tmp/weir-unaligned-XXXXXX";
    wr_session_opts  so = {.world = wr_world_posix(), .n_workers = 2, .accept_unbounded = true};
    wr_session      *s = wr_session_new(&so);
    static const uint32_t workers[] = {2, 4, 1, 3};
    store            to = {0};
    wr_err           err = {0};
    assert_non_null(mkdtemp(dir));
    const wr_job_plan *plan = plan_of(s);
    uint64_t overtaken = 0, rows = 0;
    bool     finished = false;
    for (uint32_t i = 0; i < 4 && !finished; i++) {
        wr_job_status status;
        finished = run(plan, wr_session_diags(s), &slow, &to, dir, workers[i], i < 3 ? 1000 : 0, &status);
        for (uint32_t k = 0; k < status.n_history; k++) overtaken += status.history[k].overtaken_tasks, rows += status.history[k].in_flight_rows;
        wr_arena_free(status.arena);
    }
    assert_true(finished);
    assert_true(overtaken > 0);
    assert_true(rows > 0);
    check(&to);
    wr_session_free(s);
    (void)!wr_dir_remove(wr_world_posix(), dir, &err);
}

/* In the middle of a batch the sink takes no more. Checkpoints are made all the same; then the job dies, and its last checkpoint has every row. */
static void a_sink_that_stands_still(void **state) {
    (void)state;
    char            dir[] = "/tmp/weir-unaligned-XXXXXX";
    wr_session_opts so = {.world = wr_world_posix(), .n_workers = 2, .accept_unbounded = true};
    wr_session     *s = wr_session_new(&so);
    store           to = {.stands_at = 500};
    wr_err          err = {0};
    wr_job_status   status;
    assert_non_null(mkdtemp(dir));
    const wr_job_plan *plan = plan_of(s);
    assert_false(run(plan, wr_session_diags(s), &standing, &to, dir, 2, 0, &status));
    assert_true(overtaken_checkpoints(&status) >= 3);
    assert_true(status.history[status.n_history - 1].in_flight_rows > 0);
    wr_arena_free(status.arena);
    to.stands_at = 0;
    to.gone = false;
    assert_true(run(plan, wr_session_diags(s), &standing, &to, dir, 2, 0, &status));
    wr_arena_free(status.arena);
    check(&to);
    wr_session_free(s);
    (void)!wr_dir_remove(wr_world_posix(), dir, &err);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(other_numbers_of_workers), cmocka_unit_test(a_sink_that_stands_still)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
