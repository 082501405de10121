/* lab/lab_hot_key.c: one key with a large share of the rows: what more instances bring, what salting brings and costs, and which aggregates can be salted.
 *
 * Load       rows that each instance of the aggregation has got, as the engine counts them. Beyond SIMULATED_MAX instances no job is run: the keys of the stream, with
 *            the rows of each, are given to instances by the engine's own functions; that this is the same is checked against the jobs that were run. */
#include "lab/parts.h"
#include "state/state.h"
#include <math.h>
#include <stdio.h>

enum { SIMULATED_MAX = 64, KEY_GROUPS = WR_KEY_GROUPS_DEFAULT, COMPUTED = 128, BATCH_ROWS = 512, SLOTS = 1 << 14 /* keys: at most 5,001 */ };

typedef struct key_rows { uint64_t hash, rows; } key_rows;
typedef struct counts { key_rows *slots; } counts; /* by hash, open addressing; rows 0: free */

typedef struct load { uint32_t instances; double rows, fullest; uint64_t keys, state_bytes, second_rows, sent; } load;

static const char *script(wr_lab_run *run, const char *query) {
    return wr_arena_printf(run->arena,
        "CREATE TABLE clicks (id BIGINT, dice INT, other INT, amount INT, k AS CASE WHEN dice <= %.0f THEN 0 ELSE other END)\n"
        "  WITH ('connector' = 'datagen', 'rows-per-second' = '0', 'seed' = '%llu', 'fields.id.kind' = 'sequence', 'fields.id.start' = '0', 'fields.id.end' = '%.0f',\n"
        "        'fields.dice.min' = '1', 'fields.dice.max' = '1000', 'fields.other.min' = '1', 'fields.other.max' = '%.0f', 'fields.amount.min' = '1', 'fields.amount.max' = '100');\n%s;\n",
        lab_value(run, "share") * 1000, (unsigned long long)run->seed, lab_value(run, "rows") - 1, lab_value(run, "keys"), query);
}

/* One job; *out: what its first aggregation had to do. */
static wr_status measure(wr_lab_run *run, const char *query, uint32_t workers, bool one_phase, load *out, wr_err *err) {
    const char *sql = script(run, query);
    if (one_phase) sql = wr_arena_printf(run->arena, "SET 'table.optimizer.agg-phase-strategy' = 'ONE_PHASE';\n%s", sql);
    lab_job   job = {.run = run, .sql = sql, .workers = workers, .batch_rows = BATCH_ROWS};
    wr_status status = lab_job_run(&job, err);
    *out = (load){.instances = workers};
    const wr_node_status *n = status == WR_OK ? lab_node(&job.last, WR_P_GROUP_AGG, 0) : NULL, *second = status == WR_OK ? lab_node(&job.last, WR_P_GROUP_AGG, 1) : NULL;
    for (uint32_t w = 0; n && w < job.last.n_workers; w++) {
        double rows = (double)n->on[w].rows_in;
        out->rows += rows, out->fullest = WR_MAX(out->fullest, rows);
    }
    if (n) out->keys = n->usage.keys, out->state_bytes = (uint64_t)n->usage.state_bytes;
    if (second) {
        out->state_bytes += (uint64_t)second->usage.state_bytes;
        for (uint32_t w = 0; w < job.last.n_workers; w++) out->second_rows += second->on[w].rows_in;
    }
    lab_job_close(&job);
    return status;
}

/* Rows of (k, n) in the end: the hash by which the engine sends k to an instance, and its rows. */
static wr_status take_counts(void *arg, wr_str table, const wr_schema *schema, const wr_tz *tz, wr_batch *batch, wr_err *err) {
    (void)table, (void)schema, (void)tz, (void)err;
    static const uint32_t key[] = {0};
    counts   *c = arg;
    uint64_t *hash = wr_calloc(batch->n_rows + 1, sizeof *hash); /* by row */;
    wr_batch_hash(batch, key, 1, hash);
    for (uint32_t i = 0; i < wr_batch_live(batch); i++) {
        uint32_t row = wr_batch_row(batch, i);
        if (!wr_kind_adds(wr_batch_kind(batch, row))) continue;
        key_rows one = {hash[row], (uint64_t)((const int64_t *)batch->cols[1].data)[row]};
        uint32_t slot = (uint32_t)(one.hash % SLOTS);
        while (c->slots[slot].rows && c->slots[slot].hash != one.hash) slot = (slot + 1) % SLOTS;
        c->slots[slot] = one;
    }
    wr_free(hash);
    return WR_OK;
}

static load compute(const counts *c, uint32_t instances) {
    uint64_t rows[COMPUTED] = {0};
    load     out = {.instances = instances};
    for (uint32_t i = 0; i < SLOTS; i++)
        if (c->slots[i].rows) rows[wr_group_worker(wr_key_group(c->slots[i].hash, KEY_GROUPS), KEY_GROUPS, instances)] += c->slots[i].rows;
    for (uint32_t i = 0; i < instances; i++) out.rows += (double)rows[i], out.fullest = WR_MAX(out.fullest, (double)rows[i]);
    return out;
}

static double speed_up(const load *l) { return l->rows / l->fullest; }
static double over_mean(const load *l) { return l->fullest / (l->rows / l->instances); }

/* Which aggregates may be put together from parts: the plan of the engine says it for each. */
static wr_status aggregates(wr_lab_run *run, wr_lab_report *r, wr_err *err) {
    static const char *const calls[] = {"COUNT(*)", "SUM(amount)", "AVG(amount)", "MAX(amount)", "SUM(CAST(amount AS DOUBLE))", "APPROX_COUNT_DISTINCT(other)", "COUNT(DISTINCT other), COUNT(*)",
                                        "FIRST_VALUE(amount)", "LISTAGG(CAST(amount AS STRING))", "STDDEV_POP(amount)"};
    wr_lab_table *t = wr_lab_add_table(r, "which aggregates may be salted, or combined before the exchange (from the engine's plan)", "aggregate|in parts|why not");
    uint32_t      yes = 0, no = 0;
    for (size_t i = 0; i < WR_COUNT_OF(calls); i++) {
        lab_job   job = {.run = run, .sql = script(run, wr_arena_printf(run->arena, "SELECT k, %s FROM clicks GROUP BY k", calls[i])), .workers = 8};
        wr_status status = lab_job_plan(&job, err);
        for (uint32_t k = 0; status == WR_OK && k < job.plan->nodes.n; k++) {
            const wr_pnode *n = job.plan->nodes.at[k];
            if (n->kind != WR_P_GROUP_AGG) continue;
            const char *why = n->one_phase ? strchr(n->one_phase, ':') : NULL;
            wr_lab_row(r, t, "%s|%s|%s", calls[i], n->one_phase ? "no" : "yes", why ? why + 2 : n->one_phase ? n->one_phase : "");
            *(n->one_phase ? &no : &yes) += 1;
            break;
        }
        lab_job_close(&job);
        WR_TRY(status);
    }
    wr_lab_add_figure(r, "aggregates_in_parts", yes), wr_lab_add_figure(r, "aggregates_whole", no);
    wr_lab_relate(r, yes && no, "%u of %u aggregates can be put together from parts, %u need all rows of their key in one place", yes, yes + no, no);
    return WR_OK;
}

static const char *salted(wr_lab_run *run, bool hot_only) {
    const char *salt = wr_arena_printf(run->arena, hot_only ? "CASE WHEN k = 0 THEN CAST(MOD(id, %.0f) AS INT) ELSE 0 END" : "CAST(MOD(id, %.0f) AS INT)", lab_value(run, "salt"));
    return wr_arena_printf(run->arena, "SELECT k, SUM(n) AS n FROM (SELECT k, salt, COUNT(*) AS n FROM (SELECT k, %s AS salt FROM clicks) GROUP BY k, salt) GROUP BY k", salt);
}

typedef struct loads { load plain[8], by_key, hot_only, all, combined; uint32_t n; bool same; } loads;

static wr_status run_all(wr_lab_run *run, loads *l, wr_err *err) {
    static const char plain[] = "SELECT k, COUNT(*) AS n FROM clicks GROUP BY k";
    static const uint32_t sizes[] = {1, 2, 4, 8, 16, 32, 64};
    counts    c = {wr_calloc(SLOTS, sizeof(key_rows))};
    lab_job   job = {.run = run, .sql = script(run, plain), .workers = 1, .on_rows = take_counts, .arg = &c};
    uint32_t  at = (uint32_t)lab_value(run, "instances");
    lab_progress(run, "rows of each key");
    wr_status status = lab_job_run(&job, err);
    lab_job_close(&job);
    l->same = true;
    for (size_t i = 0; i < WR_COUNT_OF(sizes) && status == WR_OK; i++) {
        lab_progress(run, wr_arena_printf(run->arena, "%u instances", sizes[i]));
        status = measure(run, plain, sizes[i], true, &l->plain[l->n], err);
        load should = compute(&c, sizes[i]);
        l->same = l->same && (should.rows == l->plain[l->n].rows && should.fullest == l->plain[l->n].fullest);
        l->n++;
    }
    if (status == WR_OK) l->plain[l->n++] = compute(&c, COMPUTED);
    lab_progress(run, "salted");
    if (status == WR_OK) status = measure(run, plain, at, true, &l->by_key, err);
    if (status == WR_OK) status = measure(run, salted(run, true), at, true, &l->hot_only, err);
    if (status == WR_OK) status = measure(run, salted(run, false), at, true, &l->all, err);
    if (status == WR_OK) status = measure(run, plain, at, false, &l->combined, err);
    wr_free(c.slots);
    return status;
}

static void row(wr_lab_run *run, wr_lab_report *r, wr_lab_table *t, const char *what, const load *l) {
    wr_lab_row(r, t, "%s|%.0f|%.2f|%.1f|%llu|%s|%llu", what, l->rows, over_mean(l), speed_up(l), (unsigned long long)l->keys, lab_text(run, (double)l->state_bytes, WR_LAB_BYTES), (unsigned long long)l->second_rows);
}

static void conclude(wr_lab_run *run, wr_lab_report *r, const loads *l) {
    double share = lab_value(run, "share"), bound = 1 / share, salt = lab_value(run, "salt"), rows = lab_value(run, "rows");
    const load *most = &l->plain[l->n - 1], *of_32 = &l->plain[5], *of_8 = &l->plain[3];
    /* The share in the rows that were drawn differs from the one asked for: five standard deviations. */
    double tolerance = 5 * sqrt(share * (1 - share) / rows);
    bool   below = true;
    for (uint32_t i = 0; i < l->n; i++) below = below && speed_up(&l->plain[i]) <= 1 / (share - tolerance);
    wr_lab_say(r, "Hash partitioning sends all rows of a key to one instance. With %u instances the fullest has %.1f times the mean, with %u it has %.1f times: the others wait for it. "
               "The speed-up stops at %.2f; no number of instances lifts it over 1/%.2g = %.2f.", of_8->instances, over_mean(of_8), most->instances, over_mean(most), speed_up(most), share, bound);
    wr_lab_say(r, "Salting adds a number from 0 to %.0f to the key, so that the hot key is %.0f keys, and adds the parts up in a second step. On %u instances the speed-up goes from %.1f to %.1f. "
               "The price: salting every key makes %.1f times as many entries; salting only the hot key makes %llu more. The second step has %llu rows to add up.",
               salt - 1, salt, l->by_key.instances, speed_up(&l->by_key), speed_up(&l->hot_only), (double)l->all.keys / (double)l->by_key.keys,
               (unsigned long long)(l->hot_only.keys - l->by_key.keys), (unsigned long long)l->hot_only.second_rows);
    wr_lab_say(r, "Where the algebra allows it weir needs no salt: it combines the rows of a key in each batch before the exchange, and of %.0f rows only %.0f are sent (speed-up of what is left: %.1f). "
               "What cannot be put together from parts (the order of arrival, all values) can neither be salted nor combined; weir explain says so for each aggregation.",
               l->by_key.rows, l->combined.rows, speed_up(&l->combined));
    wr_lab_relate(r, l->same, "rows by instance, counted in the jobs, are those of the engine's hash and assignment for 1 to %d instances", SIMULATED_MAX);
    wr_lab_relate(r, below, "no speed-up is above 1/share = %.2f (%.2f with %u instances)", bound, speed_up(most), most->instances);
    wr_lab_relate(r, speed_up(most) / speed_up(of_8) < most->instances / of_8->instances / 2.0, "%u instances instead of %u: speed-up %.2f instead of %.2f, and the fullest has %.1f times the mean instead of %.1f",
                  most->instances, of_8->instances, speed_up(most), speed_up(of_8), over_mean(most), over_mean(of_8));
    wr_lab_relate(r, speed_up(&l->hot_only) > 1.3 * speed_up(&l->by_key), "salted by %.0f, %u instances are faster by %.1f times", salt, of_32->instances, speed_up(&l->hot_only) / speed_up(&l->by_key));
    wr_lab_relate(r, l->hot_only.keys - l->by_key.keys == (uint64_t)salt - 1, "salting the hot key alone costs %.0f entries more", salt - 1);
    wr_lab_relate(r, l->combined.fullest < l->by_key.fullest, "combined before the exchange, the fullest instance gets %.0f rows instead of %.0f", l->combined.fullest, l->by_key.fullest);
    wr_lab_add_figure(r, "bound", bound), wr_lab_add_figure(r, "speed_up_8", speed_up(of_8)), wr_lab_add_figure(r, "speed_up_32", speed_up(of_32)), wr_lab_add_figure(r, "speed_up_128", speed_up(most));
    wr_lab_add_figure(r, "over_mean_8", over_mean(of_8)), wr_lab_add_figure(r, "over_mean_32", over_mean(of_32)), wr_lab_add_figure(r, "over_mean_128", over_mean(most));
    wr_lab_add_figure(r, "speed_up_salted", speed_up(&l->hot_only)), wr_lab_add_figure(r, "salted_keys", (double)l->all.keys), wr_lab_add_figure(r, "keys", (double)l->by_key.keys);
    wr_lab_add_figure(r, "second_rows", (double)l->hot_only.second_rows), wr_lab_add_figure(r, "fullest_rows_8", of_8->fullest);
}

static wr_status run_hot_key(wr_lab_run *run, wr_lab_report *r, wr_err *err) {
    loads l = {0};
    WR_TRY(run_all(run, &l, err));
    wr_lab_table  *t = wr_lab_add_table(r, "hash partitioning: rows of the fullest instance", "instances|rows|fullest|mean|fullest/mean|speed-up|from");
    wr_lab_plot   *p = wr_lab_add_plot(r, "speed-up: all rows over those of the fullest instance", "instances", WR_LAB_PLAIN, "speed-up", WR_LAB_PLAIN);
    wr_lab_series *measured = wr_lab_add_series(r, p, WR_LAB_MEASURED, "by key"), *with_salt = wr_lab_add_series(r, p, WR_LAB_MEASURED, "hot key salted by %.0f", lab_value(run, "salt"));
    wr_lab_series *even = wr_lab_add_series(r, p, WR_LAB_PREDICTED, "if the rows were even"), *bound = wr_lab_add_series(r, p, WR_LAB_PREDICTED, "1/share");
    p->x_log = p->y_log = true;
    for (uint32_t i = 0; i < l.n; i++) {
        const load *one = &l.plain[i];
        wr_lab_row(r, t, "%u|%.0f|%.0f|%.0f|%.2f|%.2f|%s", one->instances, one->rows, one->fullest, one->rows / one->instances, over_mean(one), speed_up(one), i + 1 < l.n ? "a job" : "the engine's hash");
        wr_lab_add_point(r, measured, one->instances, speed_up(one));
        wr_lab_add_point(r, bound, one->instances, 1 / lab_value(run, "share"));
        wr_lab_add_point(r, even, one->instances, one->instances);
    }
    wr_lab_add_point(r, with_salt, l.hot_only.instances, speed_up(&l.hot_only));
    t = wr_lab_add_table(r, wr_arena_printf(run->arena, "%u instances, four ways", l.by_key.instances), "way|rows sent|fullest/mean|speed-up|entries|state|second step");
    row(run, r, t, "by key", &l.by_key);
    row(run, r, t, "hot key salted", &l.hot_only);
    row(run, r, t, "every key salted", &l.all);
    row(run, r, t, "combined before the exchange", &l.combined);
    WR_TRY(aggregates(run, r, err));
    conclude(run, r, &l);
    return WR_OK;
}

const wr_lab wr_lab_hot_key = {
    .name = "hot-key", .line = "one key with 30 % of the traffic: what more instances bring, and what salting costs",
    .question = "Clicks are counted by key over 8 instances, and one key has a large share of all clicks. The job is too slow. You may have 32 instances, or 128. How much faster does it become?",
    .guess = "the speed-up with 8, 32 and 128 instances, when one key carries 30 % of the rows.",
    .rule = "the largest key's share bounds the speed-up: 1/share. Look at the fullest instance, not at the mean; then combine before the exchange, or salt the hot key where the aggregate can be put together from parts.",
    .params = {{"share", 0.3, 0.3, 0.05, 0.9, WR_LAB_PLAIN, "share of the rows that the hot key has"},
               {"keys", 2000, 2000, 100, 5000, WR_LAB_PLAIN, "other keys"},
               {"rows", 300000, 60000, 10000, 5e6, WR_LAB_PLAIN, "clicks"},
               {"salt", 8, 8, 2, 64, WR_LAB_PLAIN, "parts that the hot key is salted into"},
               {"instances", 32, 32, 2, 64, WR_LAB_PLAIN, "instances of the four ways"}},
    .run = run_hot_key,
};
