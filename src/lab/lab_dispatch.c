/* lab/lab_dispatch.c: one evening of a city, dispatched by ASSIGN three ways: each order to the nearest courier, least cost a round, and two orders on one way.
 *
 * Loop       the job's input depends on its output: couriers are free again where their orders took them. The job runs in simulation, fed from its own ticks: when the
 *            watermark of the last round has reached the sink, all its rows are here; the city lives on to the next round, and what happened there is pushed
 *            with a row that brings the watermark forward. So rounds are in step whatever the order of the engine's steps.
 * Loads      are partitions of one job; ways of dispatching are jobs. The same seed gives the same orders to all of them (common random numbers). */
#include "lab/city.h"
#include "lab/parts.h"
#include <stdio.h>

enum { LOADS = 3, NOBODYS = -1 /* region of the rows that only carry the time */, LOAD_ORDERS = 4 /* an hour and courier: load 1 */, LOOK_ROUNDS = 24, RESTAURANTS = 60 };
typedef enum way { GREEDY, BEST, BATCHED, WAYS } way;
static const char *const WAY_NAMES[WAYS] = {"nearest courier", "least cost", "least cost, two on one way"};
static const char *const LOAD_NAMES[LOADS] = {"low", "middle", "high"};
static const int64_t BEGIN_US = INT64_C(1798653600) * 1000000;
static const double  MARGIN = 0.5, SHORT_MARGIN = 0.3, LOW = 0.2, HIGH = 1, HOURS = 3; /* a short evening is over before the queue of the nearest-courier choice is long */

typedef struct point { double at_s, waiting; } point;
typedef struct evening {             /* one job */
    lab_job   job;
    way       how;
    city     *cities[LOADS];
    bool      over[LOADS], ended, failed;
    int64_t   round_us, sent_us, every_us;
    uint32_t  rounds;
    WR_ARR(point) waiting;           /* at the highest load */
    city_sum  sums[LOADS];
    uint64_t  pairs, peak_bytes;
} evening;

static const char *script(wr_lab_run *run, way how) {
    wr_sbuf b = {0};
    for (int side = 0; side < 2; side++)
        wr_sbuf_printf(&b, "CREATE TABLE %s (region INT, id BIGINT, x DOUBLE, y DOUBLE, to_x DOUBLE, to_y DOUBLE, status STRING, ts TIMESTAMP(3), WATERMARK FOR ts AS ts) WITH ('connector' = 'push');\n",
                       side ? "couriers" : "orders");
    wr_sbuf_printf(&b, "SELECT region, order_id, courier_id, stop, rowtime FROM ASSIGN(\n"
                   "  orders => TABLE (SELECT region, id AS order_id, x, y, to_x, to_y, status, ts FROM orders) PARTITION BY region,\n"
                   "  couriers => TABLE (SELECT region, id AS courier_id, x, y, status, ts FROM couriers) PARTITION BY region,\n"
                   "  order_key => DESCRIPTOR(order_id), order_at => DESCRIPTOR(x, y), drop_at => DESCRIPTOR(to_x, to_y), order_status => DESCRIPTOR(status),\n"
                   "  courier_key => DESCRIPTOR(courier_id), courier_at => DESCRIPTOR(x, y), courier_status => DESCRIPTOR(status), on_time => DESCRIPTOR(ts),\n"
                   "  every => INTERVAL '%.0f' SECOND, max_wait => INTERVAL '12' HOUR, wait_weight => %.6f", lab_value(run, "every"), lab_value(run, "wait-weight"));
    if (how == GREEDY) wr_sbuf_addz(&b, ", mode => 'greedy'");
    if (how == BATCHED) wr_sbuf_printf(&b, ", batch => %.6f", lab_value(run, "batch"));
    wr_sbuf_addz(&b, ");\n");
    const char *text = wr_arena_strndup(run->arena, b.at, b.len);
    wr_sbuf_free(&b);
    return text;
}

/* ---- rows in ---- */
static void add_row(wr_builder *b, int region, const city_row *r) {
    wr_mem  *mem = wr_builder_mem(b);
    uint32_t row = wr_builder_add(b, WR_KIND_INSERT);
    const double numbers[] = {r->x, r->y, r->to_x, r->to_y};
    ((int32_t *)wr_builder_col(b, 0)->data)[row] = region;
    ((int64_t *)wr_builder_col(b, 1)->data)[row] = r->id;
    for (uint32_t i = 0; i < 4; i++) ((double *)wr_builder_col(b, 2 + i)->data)[row] = numbers[i];
    ((wr_sview *)wr_builder_col(b, 6)->data)[row] = wr_sview_copy(mem, r->status, strlen(r->status));
    ((int64_t *)wr_builder_col(b, 7)->data)[row] = r->ts_us;
    for (uint32_t c = 0; c < 8; c++) wr_valid_set(wr_builder_col(b, c)->valid, row, true);
}

/* What happened before the next round in all cities, and the time of that round. */
static void send_round(evening *e) {
    static const char *const tables[] = {"orders", "couriers"};
    city_rows   rows = {0};
    uint32_t    upto[LOADS];
    e->round_us += e->every_us;
    const city_row time[2] = {{.status = "done", .ts_us = e->round_us - 1000}, {.status = "busy", .ts_us = e->round_us - 1000}};
    for (int l = 0; l < LOADS; l++) {
        city_step(e->cities[l], e->round_us, &rows);
        upto[l] = rows.n;
    }
    for (int side = 0; side < 2; side++) {
        wr_builder *b = wr_builder_new(wr_session_push_schema(e->job.session, tables[side]), WR_BATCH_MAX);
        for (uint32_t i = 0, l = 0; i < rows.n; i++) {
            while (i >= upto[l]) l++;
            if (rows.at[i].courier != (side == 1)) continue;
            if (wr_builder_rows(b) == WR_BATCH_MAX) e->failed |= !wr_session_push(e->job.session, tables[side], wr_builder_take(b));
            add_row(b, (int)l, &rows.at[i]);
        }
        if (wr_builder_rows(b) == WR_BATCH_MAX) e->failed |= !wr_session_push(e->job.session, tables[side], wr_builder_take(b));
        add_row(b, NOBODYS, &time[side]);
        e->failed |= !wr_session_push(e->job.session, tables[side], wr_builder_take(b));
        wr_builder_free(b);
    }
    wr_arr_free(&rows);
}

/* ---- rows out ---- */
static wr_status take(void *arg, wr_str table, const wr_schema *schema, const wr_tz *tz, wr_batch *batch, wr_err *err) {
    (void)table, (void)schema, (void)tz, (void)err;
    evening *e = arg;
    for (uint32_t i = 0; i < wr_batch_live(batch); i++) {
        uint32_t row = wr_batch_row(batch, i);
        int32_t  region = ((const int32_t *)batch->cols[0].data)[row];
        int64_t  order = ((const int64_t *)batch->cols[1].data)[row];
        city    *c = region >= 0 && region < LOADS ? e->cities[region] : NULL;
        if (!c) continue;
        e->pairs++;
        if (wr_vec_is_null(&batch->cols[2], row)) city_nobody(c, (uint32_t)order);
        else city_assign(c, (uint32_t)order, (uint32_t)((const int64_t *)batch->cols[2].data)[row], (uint32_t)((const int32_t *)batch->cols[3].data)[row],
                         ((const int64_t *)batch->cols[4].data)[row] + 1000);
    }
    return WR_OK;
}

static void on_tick(void *arg, const wr_job_status *s) {
    evening *e = arg;
    bool     all = true;
    if (e->ended) return;
    const wr_node_status *sink = lab_node(s, WR_P_SINK, 0), *assign = lab_node(s, WR_P_ASSIGN, 0);
    if (e->rounds && sink->watermark_us < e->round_us - 1000) return; /* rows of the round may be under way */
    if (assign) e->peak_bytes = WR_MAX(e->peak_bytes, (uint64_t)assign->usage.state_bytes);
    for (int l = 0; l < LOADS; l++) {
        if (e->rounds) city_depart(e->cities[l], e->round_us);
        e->over[l] = city_over(e->cities[l], e->round_us);
        all = all && e->over[l];
    }
    if (e->rounds++ % LOOK_ROUNDS == 0) wr_arr_push(&e->waiting, ((point){(double)(e->round_us - BEGIN_US) / 1e6, city_waiting(e->cities[LOADS - 1])}));
    if (!all && !e->failed) {
        send_round(e);
        return;
    }
    e->ended = true;
    wr_session_push_end(e->job.session, "orders");
    wr_session_push_end(e->job.session, "couriers");
}

static wr_status run_evening(wr_lab_run *run, evening *e, way how, wr_err *err) {
    static const char *const loads[LOADS] = {"low", "middle", "high"};
    e->how = how;
    e->every_us = (int64_t)lab_value(run, "every") * 1000000;
    e->round_us = (BEGIN_US + e->every_us - 1) / e->every_us * e->every_us;
    for (int l = 0; l < LOADS; l++) {
        double    couriers = lab_value(run, "couriers");
        city_opts o = {.seed = run->seed * LOADS + (uint64_t)l, .n_couriers = (uint32_t)couriers, .n_restaurants = RESTAURANTS, .side = 10000, .speed = 5,
                       .per_hour = lab_value(run, loads[l]) * couriers * LOAD_ORDERS, .evening_us = (int64_t)(lab_value(run, "hours") * 3600) * 1000000, .every_us = e->every_us,
                       .begin_us = e->round_us, .handover_us = 60000000, .report_us = 30000000, .promise_us = INT64_C(2700) * 1000000};
        e->cities[l] = city_new(&o);
    }
    e->job = (lab_job){.run = run, .sql = script(run, how), .workers = 2, .pushes = true, .on_rows = take, .tick = on_tick, .arg = e};
    lab_progress(run, WAY_NAMES[how]);
    wr_status status = lab_job_run(&e->job, err);
    for (int l = 0; l < LOADS; l++) city_add_up(e->cities[l], &e->sums[l]);
    if (status == WR_OK && e->failed) status = wr_fail(err, WR_USER, "WR477", "lab dispatch: the job takes no more rows");
    return status;
}
static void evening_free(evening *e) {
    for (int l = 0; l < LOADS; l++) city_free(e->cities[l]);
    wr_arr_free(&e->waiting);
    lab_job_close(&e->job);
}

/* ---- report ---- */
static double gain(const evening *from, const evening *to, int load) {
    double was = from->sums[load].wait_s;
    return was > 0 ? 1 - to->sums[load].wait_s / was : 0;
}
static void table(wr_lab_run *run, wr_lab_report *r, const evening *e) {
    wr_lab_table *t = wr_lab_add_table(r, "an evening at three loads (waiting: from the order to its pick-up)", "load|orders|dispatch|mean wait|95 %|longest|late|m to pick-up|two on a way");
    for (int l = 0; l < LOADS; l++)
        for (int w = 0; w < WAYS; w++) {
            const city_sum *s = &e[w].sums[l];
            double          n = WR_MAX(s->n_delivered, 1u);
            wr_lab_row(r, t, "%s %.2f|%u|%s|%.0f s|%.0f s|%.0f s|%u|%.0f|%u", LOAD_NAMES[l], lab_value(run, LOAD_NAMES[l]), s->n_orders, WAY_NAMES[w], s->wait_s / n, s->wait_p95_s, s->wait_max_s, s->n_late,
                       s->to_pick_up_m / n, s->n_batched);
            static const char *const ways[WAYS] = {"nearest", "best", "batched"};
            const struct { const char *name; double value; } figures[] = {{"wait_s", s->wait_s}, {"late", s->n_late}, {"to_pick_up_m", s->to_pick_up_m}, {"orders", s->n_orders}, {"delivered", s->n_delivered}, {"batches", s->n_batched}};
            for (size_t i = 0; i < WR_COUNT_OF(figures); i++) wr_lab_add_figure(r, wr_arena_printf(run->arena, "%s_%s_%s", LOAD_NAMES[l], ways[w], figures[i].name), figures[i].value);
        }
}
static void draw(wr_lab_report *r, const evening *e) {
    wr_lab_plot *p = wr_lab_add_plot(r, "orders that wait for a courier, at the high load", "seconds of the evening", WR_LAB_SECONDS, "orders", WR_LAB_PLAIN);
    for (int w = 0; w < WAYS; w++) {
        wr_lab_series *s = wr_lab_add_series(r, p, WR_LAB_MEASURED, "%s", WAY_NAMES[w]);
        for (uint32_t i = 0; i < e[w].waiting.n; i++) wr_lab_add_point(r, s, e[w].waiting.at[i].at_s, e[w].waiting.at[i].waiting);
    }
}
static void conclude(wr_lab_run *run, wr_lab_report *r, const evening *e) {
    enum { L = 0, M = 1, H = 2 };
    const city_sum *g = e[GREEDY].sums, *b = e[BEST].sums, *two = e[BATCHED].sums;
    double          margin = lab_value(run, "hours") >= HOURS ? MARGIN : SHORT_MARGIN;
    uint32_t        faults = 0, open = 0;
    for (int w = 0; w < WAYS; w++)
        for (int l = 0; l < LOADS; l++) faults += e[w].sums[l].faults, open += e[w].sums[l].n_orders - e[w].sums[l].n_delivered;
    wr_lab_say(r, "At the low load there is hardly ever more than one order in a round, and the nearest courier is the best choice: waiting differs by %.2f %%. "
               "At the middle load it is %.0f %% less with the least cost, at the high load %.0f %%.", 100 * gain(&e[GREEDY], &e[BEST], L), 100 * gain(&e[GREEDY], &e[BEST], M), 100 * gain(&e[GREEDY], &e[BEST], H));
    wr_lab_say(r, "When more orders wait than couriers are free, the nearest-courier choice serves the oldest order wherever it is: couriers cross the city (%.0f m to a pick-up), are free later, and more orders "
               "wait. The least cost over a whole round sends each courier to what is near (%.0f m). That alone would leave far orders waiting for ever; the weight of %.2g m for each second of waiting brings "
               "them in: the longest wait is %.0f s against %.0f s.", g[H].to_pick_up_m / WR_MAX(g[H].n_delivered, 1u), b[H].to_pick_up_m / WR_MAX(b[H].n_delivered, 1u), lab_value(run, "wait-weight"),
               b[H].wait_max_s, g[H].wait_max_s);
    wr_lab_say(r, "Two orders on one way, where that saves %.0f %%, bring the mean wait at the high load from %.0f s to %.0f s (%u batches).", 100 * lab_value(run, "batch"), b[H].wait_s / WR_MAX(b[H].n_delivered, 1u),
               two[H].wait_s / WR_MAX(two[H].n_delivered, 1u), two[H].n_batched);
    wr_lab_relate(r, !faults, "no order has two couriers, no courier two ways at once (%llu assignments, %u faults)", (unsigned long long)(e[0].pairs + e[1].pairs + e[2].pairs), faults);
    wr_lab_relate(r, !open, "every order is delivered once (%u are not)", open);
    if (lab_value(run, "low") <= LOW)
        wr_lab_relate(r, b[L].wait_s <= g[L].wait_s, "at the low load the least cost does not lose: total waiting %.0f s against %.0f s", b[L].wait_s, g[L].wait_s);
    if (lab_value(run, "high") >= HIGH && lab_value(run, "hours") >= 1.5)
        wr_lab_relate(r, gain(&e[GREEDY], &e[BEST], H) >= margin, "at the high load total waiting is at least %.0f %% less than with the nearest courier (%.0f %%)", 100 * margin, 100 * gain(&e[GREEDY], &e[BEST], H));
    for (int w = 0; w < 2; w++)
        wr_lab_add_figure(r, w ? "state_peak_bytes" : "rounds", w ? (double)e[BEST].peak_bytes : (double)e[BEST].rounds);
}

static wr_status run_dispatch(wr_lab_run *run, wr_lab_report *r, wr_err *err) {
    evening   e[WAYS] = {0};
    wr_status status = WR_OK;
    for (int w = 0; w < WAYS && status == WR_OK; w++) status = run_evening(run, &e[w], (way)w, err);
    if (status == WR_OK) {
        table(run, r, e);
        draw(r, e);
        conclude(run, r, e);
    }
    for (int w = 0; w < WAYS; w++) evening_free(&e[w]);
    return status;
}

const wr_lab wr_lab_dispatch = {
    .name = "dispatch", .line = "an evening of orders and couriers: the nearest courier against the least cost of a round",
    .question = "Orders come in and couriers are free here and there. One dispatcher gives each order, the oldest first, the courier who is nearest. The other looks every few seconds at all that is open and "
                "free, and takes the pairs with the least distance altogether (ASSIGN). The couriers and the orders are the same. How much less do guests wait?",
    .guess = "by what share is waiting shorter with the least cost: when couriers are plenty, and when there are more orders than they can carry?",
    .rule = "with couriers to spare any sensible choice will do. When orders wait, look at all of them together: what a courier does not drive is time for the next order.",
    .params = {{"couriers", 40, 40, 2, 500, WR_LAB_PLAIN, "couriers of each city"}, {"hours", 3, 1.5, 0.2, 12, WR_LAB_PLAIN, "length of the evening"},
               {"low", 0.15, 0.15, 0.01, 2, WR_LAB_PLAIN, "orders an hour and courier, over 4, in the quiet city"}, {"middle", 0.7, 0.7, 0.01, 2, WR_LAB_PLAIN, "in the second city"},
               {"high", 1.1, 1.1, 0.01, 2, WR_LAB_PLAIN, "in the busy city"}, {"every", 5, 5, 1, 300, WR_LAB_SECONDS, "between rounds"},
               {"wait-weight", 0.5, 0.5, 0, 100, WR_LAB_PLAIN, "metres that a second of waiting is worth"}, {"batch", 0.2, 0.2, 0.01, 0.9, WR_LAB_PLAIN, "two orders on one way when it is so much shorter"}},
    .run = run_dispatch,
};
