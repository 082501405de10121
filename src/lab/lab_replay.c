/* lab/lab_replay.c: a job that crashes fifty times: what is exactly once, for which computation, behind which output.
 *
 * Outputs    files in transactions (connector 'filesystem'): rows count when their checkpoint does. And a reader without transactions (connector 'callback'), who sees each row
 *            when it is written: as an appended list, and as a table by key, the last row of each key.
 * Random     the world's random numbers come from the seed and the number of the start: a run without a crash can be repeated, and a restart draws others, as in life. */
#include "lab/parts.h"
#include "api/replay.h"
#include "base/hash.h"
#include <stdio.h>
#include <stdlib.h>

enum { BATCH_ROWS = 16, CRASH_STRETCH = 1, OUTPUT_MAX = 64 << 20 };
typedef enum kind { PURE, RANDOM, KINDS } kind;
static const char *const NAMES[KINDS] = {"fee = cents / 10", "fee = RAND() * cents"};

typedef struct seen { int64_t fee; uint32_t times; bool changed; } seen; /* of one order, by the reader without transactions */
typedef struct outcome {
    wr_sbuf  files[KINDS];           /* lines of the committed files, sorted */
    seen    *rows[KINDS];            /* by order */
    uint64_t rows_n, crashes, starts;
} outcome;

/* ---- a world with repeatable random numbers ---- */
typedef struct dice_world { wr_world base; wr_world_vt vt; wr_rng rng; } dice_world;

static uint64_t dice(wr_world *w) { return wr_rng_next(&((dice_world *)w)->rng); }
static wr_status no_sync(wr_world *w, wr_file *f, wr_err *err) { return (void)w, (void)f, (void)err, WR_OK; }
static wr_status no_sync_dir(wr_world *w, const char *path, wr_err *err) { return (void)w, (void)path, (void)err, WR_OK; }
static void dice_open(dice_world *w, wr_world *real, uint64_t seed) { /* nothing has to outlive the machine: no syncs */
    w->vt = *real->vt;
    w->vt.random = dice, w->vt.file_sync = no_sync, w->vt.sync_dir = no_sync_dir;
    w->base.vt = &w->vt;
    wr_rng_seed(&w->rng, seed);
}

/* ---- the job ---- */
static const char *script(wr_lab_run *run, const char *dir, bool pure, bool random) {
    wr_sbuf b = {0};
    wr_sbuf_printf(&b, "CREATE TABLE orders (id BIGINT, cents INT) WITH ('connector' = 'datagen', 'rows-per-second' = '0', 'seed' = '%llu', 'fields.id.kind' = 'sequence',\n"
                   "  'fields.id.start' = '0', 'fields.id.end' = '%.0f', 'fields.cents.min' = '100', 'fields.cents.max' = '9999');\n", (unsigned long long)run->seed, lab_value(run, "rows") - 1);
    static const char *const tables[KINDS] = {"pure", "random"}, *const fees[KINDS] = {"CAST(cents / 10 AS BIGINT)", "CAST(RAND() * cents AS BIGINT)"};
    for (int k = 0; k < KINDS; k++)
        wr_sbuf_printf(&b, "CREATE TABLE %s_files (id BIGINT, fee BIGINT) WITH ('connector' = 'filesystem', 'path' = '%s/%s', 'format' = 'csv');\n"
                       "CREATE TABLE %s_reader (id BIGINT, fee BIGINT) WITH ('connector' = 'callback');\n", tables[k], dir, tables[k], tables[k]);
    wr_sbuf_addz(&b, "BEGIN STATEMENT SET;\n");
    for (int k = 0; k < KINDS; k++)
        if (k == PURE ? pure : random)
            wr_sbuf_printf(&b, "INSERT INTO %s_files SELECT id, %s FROM orders;\nINSERT INTO %s_reader SELECT id, %s FROM orders;\n", tables[k], fees[k], tables[k], fees[k]);
    wr_sbuf_addz(&b, "END;\n");
    const char *text = wr_arena_strndup(run->arena, b.at, b.len);
    wr_sbuf_free(&b);
    return text;
}

static wr_status take(void *arg, wr_str table, const wr_schema *schema, const wr_tz *tz, wr_batch *batch, wr_err *err) {
    (void)schema, (void)tz, (void)err;
    outcome *o = arg;
    seen    *rows = o->rows[wr_str_starts(table, WR_STR("pure")) ? PURE : RANDOM];
    for (uint32_t i = 0; i < wr_batch_live(batch); i++) {
        uint32_t row = wr_batch_row(batch, i);
        uint64_t id = (uint64_t)((const int64_t *)batch->cols[0].data)[row];
        int64_t  fee = ((const int64_t *)batch->cols[1].data)[row];
        if (id >= o->rows_n) continue;
        if (rows[id].times && rows[id].fee != fee) rows[id].changed = true;
        rows[id].fee = fee, rows[id].times++;
    }
    return WR_OK;
}

/* ---- reading the files ---- */
static int by_text(const void *a, const void *b) { return wr_str_cmp(*(const wr_str *)a, *(const wr_str *)b); }

static wr_status read_files(wr_lab_run *run, const char *dir, wr_sbuf *sorted, wr_err *err) {
    wr_file_info *files;
    size_t        n;
    wr_sbuf       all = {0};
    WR_ARR(wr_str) lines = {0};
    WR_TRY(run->world->vt->list(run->world, dir, &files, &n, err));
    wr_status status = WR_OK;
    for (size_t i = 0; i < n && status == WR_OK; i++) {
        wr_sbuf one = {0};
        if (files[i].name[0] == '.' || files[i].name[0] == '_') continue; /* not committed */
        status = wr_file_read_all(run->world, wr_arena_printf(run->arena, "%s/%s", dir, files[i].name), OUTPUT_MAX, &one, err);
        wr_sbuf_add_str(&all, wr_sbuf_str(&one));
        wr_sbuf_free(&one);
    }
    wr_free(files);
    wr_str rest = wr_sbuf_str(&all), line;
    while (wr_str_next(&rest, '\n', &line))
        if (line.len) wr_arr_push(&lines, line);
    if (lines.n) qsort(lines.at, lines.n, sizeof *lines.at, by_text);
    for (uint32_t i = 0; i < lines.n; i++) wr_sbuf_add_str(sorted, lines.at[i]), wr_sbuf_addc(sorted, '\n');
    wr_arr_free(&lines);
    wr_sbuf_free(&all);
    return status;
}

/* ---- a run, with so many crashes on the way ---- */
static wr_status run_once(wr_lab_run *run, const char *name, uint64_t crashes, uint64_t *steps, outcome *o, wr_err *err) {
    const char *dir = wr_arena_printf(run->arena, "%s/%s", run->dir, name), *state = wr_arena_printf(run->arena, "%s/state", dir), *sql = script(run, dir, true, true);
    wr_rng      rng;
    wr_rng_seed(&rng, wr_hash_mix(run->seed, 77));
    *o = (outcome){.rows_n = (uint64_t)lab_value(run, "rows")};
    for (int k = 0; k < KINDS; k++) o->rows[k] = wr_calloc(o->rows_n, sizeof(seen));
    wr_status status = WR_CANCELLED;
    uint64_t  stretch = crashes ? WR_MAX(*steps / (crashes * CRASH_STRETCH), UINT64_C(4)) : 0;
    while (status == WR_CANCELLED && !atomic_load(&run->stopped)) {
        dice_world world;
        dice_open(&world, run->world, wr_hash_mix(run->seed, o->starts++));
        lab_job job = {.run = run, .sql = sql, .batch_rows = BATCH_ROWS, .state_dir = state, .world = &world.base, .tables = {"pure_reader", "random_reader"}, .on_rows = take, .arg = o,
                       .seed = wr_rng_next(&rng), .checkpoint_every_steps = stretch ? WR_MAX(stretch / 2, UINT64_C(2)) : UINT64_C(1) << 40,
                       .crash_after_steps = o->crashes < crashes ? 1 + wr_rng_below(&rng, 2 * stretch) : 0};
        lab_progress(run, crashes ? wr_arena_printf(run->arena, "crash %llu of %llu", (unsigned long long)o->crashes + 1, (unsigned long long)crashes) : "without a crash");
        status = lab_job_run(&job, err);
        if (status == WR_CANCELLED) o->crashes++;
        else *steps = job.steps_seen;
        lab_job_close(&job);
    }
    static const char *const folders[KINDS] = {"pure", "random"};
    for (int k = 0; k < KINDS && status == WR_OK; k++) status = read_files(run, wr_arena_printf(run->arena, "%s/%s", dir, folders[k]), &o->files[k], err);
    return status;
}
static void outcome_free(outcome *o) {
    for (int k = 0; k < KINDS; k++) wr_sbuf_free(&o->files[k]), wr_free(o->rows[k]);
}

/* ---- comparing ---- */
typedef struct differ { uint64_t files, files_rows, files_other_rows, again, extra, last_differs, changed, missing; } differ; /* files: lines that only one of the two has */

static differ compare(const outcome *calm, const outcome *crashed, kind k) {
    differ d = {0};
    wr_str a = wr_sbuf_str(&calm->files[k]), b = wr_sbuf_str(&crashed->files[k]), x = {0}, y = {0};
    bool   has_x = wr_str_next(&a, '\n', &x), has_y = wr_str_next(&b, '\n', &y);
    while ((has_x && x.len) || (has_y && y.len)) {
        int order = !(has_x && x.len) ? 1 : !(has_y && y.len) ? -1 : wr_str_cmp(x, y);
        d.files += order != 0;
        if (order <= 0) d.files_rows++, has_x = wr_str_next(&a, '\n', &x);
        if (order >= 0) d.files_other_rows++, has_y = wr_str_next(&b, '\n', &y);
    }
    for (uint64_t i = 0; i < calm->rows_n; i++) {
        const seen *s = &crashed->rows[k][i];
        d.missing += !s->times;
        d.again += s->times > 1, d.extra += s->times > 1 ? s->times - 1 : 0;
        d.last_differs += s->times && s->fee != calm->rows[k][i].fee;
        d.changed += s->changed;
    }
    return d;
}

/* ---- what is said beforehand ---- */
typedef struct beforehand { bool equal; const char *suspect; uint32_t runs, crashes; } beforehand;

static wr_status check_replay(wr_lab_run *run, kind k, beforehand *out, wr_err *err) {
    lab_job          job = {.run = run, .sql = script(run, run->dir, k == PURE, k == RANDOM), .tables = {"pure_reader", "random_reader"}, .on_rows = take};
    wr_replay_report report = {0};
    wr_replay_opts   opts = {.runs = run->quick ? 8 : 20, .seed = run->seed};
    lab_progress(run, "weir check --replay");
    wr_status status = lab_job_plan(&job, err);
    if (status == WR_OK) status = wr_session_replay(job.session, &opts, &report, err);
    if (status == WR_OK) {
        *out = (beforehand){.equal = report.equal, .suspect = "nothing", .runs = report.runs, .crashes = report.crashes};
        if (report.suspects.n) out->suspect = wr_arena_printf(run->arena, "%.*s", WR_FMT(report.suspects.at[0]));
    }
    wr_arena_free(report.arena);
    lab_job_close(&job);
    return status;
}

static void tables(wr_lab_run *run, wr_lab_report *r, const differ d[KINDS], const beforehand said[KINDS], uint64_t crashes, uint64_t rows) {
    wr_lab_table *t = wr_lab_add_table(r, wr_arena_printf(run->arena, "the run with %llu crashes against the run without one, %llu orders", (unsigned long long)crashes, (unsigned long long)rows),
                                       "output|computation|orders|rows too many|other fee|changed when read");
    for (int k = 0; k < KINDS; k++) wr_lab_row(r, t, "files, exactly once|%s|%llu|0|%llu|0", NAMES[k], (unsigned long long)d[k].files_other_rows, (unsigned long long)d[k].files / 2);
    for (int k = 0; k < KINDS; k++)
        wr_lab_row(r, t, "appended, at least once|%s|%llu|%llu|%llu|%llu", NAMES[k], (unsigned long long)(rows - d[k].missing), (unsigned long long)d[k].extra, (unsigned long long)d[k].last_differs,
                   (unsigned long long)d[k].changed);
    for (int k = 0; k < KINDS; k++)
        wr_lab_row(r, t, "by key, last row wins|%s|%llu|0|%llu|%llu", NAMES[k], (unsigned long long)(rows - d[k].missing), (unsigned long long)d[k].last_differs, (unsigned long long)d[k].changed);
    t = wr_lab_add_table(r, "what weir check --replay says before anything goes wrong", "computation|runs|crashes|outputs");
    for (int k = 0; k < KINDS; k++) wr_lab_row(r, t, "%s|%u|%u|%s", NAMES[k], said[k].runs, said[k].crashes, said[k].equal ? "all equal" : "differ");
}

static void conclude(wr_lab_report *r, const differ d[KINDS], const beforehand said[KINDS], const outcome *crashed, uint64_t wanted, bool repeats) {
    const differ *p = &d[PURE], *q = &d[RANDOM];
    uint64_t      rows = crashed->rows_n;
    wr_lab_say(r, "After a crash the job goes back to its last checkpoint and reads the rows behind it again. Files in transactions show only what a checkpoint covers: %llu crashes, and the fees that are computed from the order alone are "
               "the same, row for row.", (unsigned long long)crashed->crashes);
    wr_lab_say(r, "The fee that reads RAND() is there exactly once as well, but it is another one: %llu of %llu differ. The dice are not part of the checkpoint, so what is computed again after a crash is computed otherwise. "
               "Exactly once is about how often a row counts, not about what is in it.", (unsigned long long)q->files / 2, (unsigned long long)rows);
    wr_lab_say(r, "A reader without transactions sees %llu orders more than once. Written by key, the last row wins, and for the pure fee that is as good as exactly once: the second row says the same as the first. "
               "For the random fee it is not: %llu times the reader saw one fee and later another.", (unsigned long long)p->again, (unsigned long long)q->changed);
    wr_lab_say(r, "weir check --replay runs the script many times with crashes, before it goes anywhere. Of the random fee it says: %s.", said[RANDOM].suspect);
    wr_lab_relate(r, crashed->crashes == wanted, "the job crashed %llu times and came to its end", (unsigned long long)crashed->crashes);
    wr_lab_relate(r, repeats, "two runs without a crash are equal, also with RAND() (its numbers come from the seed here)");
    wr_lab_relate(r, !p->files && p->files_rows == rows, "pure, files: equal to the run without a crash (%llu rows)", (unsigned long long)p->files_other_rows);
    wr_lab_relate(r, q->files_other_rows == rows && q->files > 0, "RAND(), files: each order once, %llu of them with another fee", (unsigned long long)q->files / 2);
    wr_lab_relate(r, p->again > 0 && !p->missing, "appended without transactions: nothing is missing, %llu orders are there more than once", (unsigned long long)p->again);
    wr_lab_relate(r, !p->last_differs && !p->changed, "pure, by key: equal, and no reader saw a fee change");
    wr_lab_relate(r, q->changed > 0, "RAND(), by key: a reader saw %llu fees change", (unsigned long long)q->changed);
    wr_lab_relate(r, said[PURE].equal && !said[RANDOM].equal, "weir check --replay said so beforehand: pure equal, RAND() not");
    wr_lab_add_figure(r, "crashes", (double)crashed->crashes), wr_lab_add_figure(r, "rows", (double)rows), wr_lab_add_figure(r, "pure_files_differ", (double)p->files / 2);
    wr_lab_add_figure(r, "random_files_differ", (double)q->files / 2), wr_lab_add_figure(r, "seen_again", (double)p->again), wr_lab_add_figure(r, "pure_changed", (double)p->changed);
    wr_lab_add_figure(r, "random_changed", (double)q->changed);
}

/* Added up along the orders: what the crashes have changed so far. */
static void draw(wr_lab_report *r, const outcome *calm, const outcome *crashed) {
    wr_lab_plot   *p = wr_lab_add_plot(r, "orders up to here that the crashes have touched", "order", WR_LAB_PLAIN, "orders", WR_LAB_PLAIN);
    wr_lab_series *other = wr_lab_add_series(r, p, WR_LAB_MEASURED, "RAND(): another fee than without a crash"), *again = wr_lab_add_series(r, p, WR_LAB_MEASURED, "seen more than once without transactions");
    wr_lab_series *pure = wr_lab_add_series(r, p, WR_LAB_MEASURED, "pure: another fee than without a crash");
    uint64_t       n_other = 0, n_again = 0, n_pure = 0;
    for (uint64_t i = 0; i < crashed->rows_n; i++) {
        n_other += crashed->rows[RANDOM][i].fee != calm->rows[RANDOM][i].fee, n_again += crashed->rows[PURE][i].times > 1, n_pure += crashed->rows[PURE][i].fee != calm->rows[PURE][i].fee;
        if (i % WR_MAX(crashed->rows_n / 60, UINT64_C(1))) continue;
        wr_lab_add_point(r, other, (double)i, (double)n_other), wr_lab_add_point(r, again, (double)i, (double)n_again), wr_lab_add_point(r, pure, (double)i, (double)n_pure);
    }
}

static wr_status run_replay(wr_lab_run *run, wr_lab_report *r, wr_err *err) {
    outcome    calm = {0}, again = {0}, crashed = {0};
    differ     d[KINDS];
    beforehand said[KINDS] = {{0}};
    uint64_t   steps = 0, crashes = (uint64_t)lab_value(run, "crashes");
    wr_status  status = run_once(run, "calm", 0, &steps, &calm, err);
    if (status == WR_OK) status = run_once(run, "again", 0, &steps, &again, err);
    if (status == WR_OK) status = run_once(run, "crashed", crashes, &steps, &crashed, err);
    for (int k = 0; k < KINDS && status == WR_OK; k++) status = check_replay(run, (kind)k, &said[k], err);
    if (status == WR_OK) {
        bool repeats = true;
        for (int k = 0; k < KINDS; k++) {
            d[k] = compare(&calm, &crashed, (kind)k);
            repeats = repeats && wr_str_eq(wr_sbuf_str(&calm.files[k]), wr_sbuf_str(&again.files[k]));
        }
        tables(run, r, d, said, crashed.crashes, crashed.rows_n);
        draw(r, &calm, &crashed);
        conclude(r, d, said, &crashed, crashes, repeats);
    }
    outcome_free(&calm), outcome_free(&again), outcome_free(&crashed);
    return status;
}

const wr_lab wr_lab_replay = {
    .name = "replay", .line = "fifty crashes: a pure computation, one that reads RAND(), and outputs by key",
    .question = "A job computes a fee for each order. It checkpoints, its output is exactly once, and it crashes fifty times at random. One fee is a tenth of the order, the other is drawn by RAND(). "
                "Is the output the same as without a crash? And with an output that takes rows by key and knows no transactions?",
    .guess = "which of these differ from the run without a crash: files with the pure fee, files with the random fee, rows by key with each?",
    .rule = "exactly once says how often a row counts. That its content is the same after a crash is up to the computation: read nothing but the input, and an output by key is enough.",
    .params = {{"rows", 30000, 6000, 500, 1e6, WR_LAB_PLAIN, "orders"}, {"crashes", 50, 50, 1, 500, WR_LAB_PLAIN, "how often the job crashes"}},
    .run = run_replay,
};
