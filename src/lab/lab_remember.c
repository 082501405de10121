/* lab/lab_remember.c: what a job keeps: a counter follows the number of keys, a buffer follows rate x time, and without eviction nothing ends. */
#include "lab/parts.h"
#include <math.h>
#include <stdio.h>

enum { LOOKS = 60, STEPS_A_LOOK = 64, LATER_S = 120 };

typedef struct memory { /* of one job: state bytes by event time */
    wr_lab_report *report;
    wr_lab_series *measured;
    wr_pnode_kind  kind;
    uint64_t       keys, rows;
    double         last, flat_low, flat_high, flat_from_s; /* least and most from then on */
} memory;

static void look(void *arg, const wr_job_plan *plan, const wr_job_status *s) {
    (void)plan;
    memory               *m = arg;
    const wr_node_status *n = lab_node(s, m->kind, 0);
    int64_t               now = lab_event_us(s); /* the node's own is behind it by what it holds */
    for (uint32_t i = 0; i < s->n_sources; i++)
        if (s->sources[i].ended) return; /* the end of input takes away what ends with time */
    if (!n || now == WR_TIME_MIN || now == WR_TIME_MAX) return;
    double at = (double)now / 1e6, bytes = (double)n->usage.state_bytes;
    if (m->measured->points.n && m->measured->points.at[m->measured->points.n - 1].x >= at) return;
    wr_lab_add_point(m->report, m->measured, at, bytes);
    m->keys = n->usage.keys, m->rows = n->usage.rows, m->last = bytes;
    if (at < m->flat_from_s) return;
    m->flat_low = m->flat_low > 0 ? WR_MIN(m->flat_low, bytes) : bytes;
    m->flat_high = WR_MAX(m->flat_high, bytes);
}

/* Two streams with the same event time; each payment is of the order two minutes before it. */
static const char *script(wr_lab_run *run, double rate, const char *query) {
    double rows = rate * lab_value(run, "duration");
    return wr_arena_printf(run->arena,
        "CREATE TABLE orders (id BIGINT, user_id INT, amount INT, ts AS TO_TIMESTAMP_LTZ(id * 1000 / %.0f, 3), WATERMARK FOR ts AS ts)\n"
        "  WITH ('connector' = 'datagen', 'rows-per-second' = '0', 'seed' = '%llu', 'fields.id.kind' = 'sequence', 'fields.id.start' = '0', 'fields.id.end' = '%.0f',\n"
        "        'fields.user_id.min' = '1', 'fields.user_id.max' = '%.0f', 'fields.amount.min' = '1', 'fields.amount.max' = '100',\n"
        "        'stats.rows-per-second' = '%.0f', 'stats.keys.user_id' = '%.0f', 'stats.keys.id' = '%.0f');\n"
        "CREATE TABLE payments (order_id BIGINT, cents INT, ts AS TO_TIMESTAMP_LTZ((order_id + %.0f) * 1000 / %.0f, 3), WATERMARK FOR ts AS ts)\n"
        "  WITH ('connector' = 'datagen', 'rows-per-second' = '0', 'seed' = '%llu', 'fields.order_id.kind' = 'sequence', 'fields.order_id.start' = '%.0f', 'fields.order_id.end' = '%.0f',\n"
        "        'fields.cents.min' = '1', 'fields.cents.max' = '9999',\n"
        "        'stats.rows-per-second' = '%.0f', 'stats.keys.order_id' = '%.0f');\n%s;\n",
        rate, (unsigned long long)run->seed, rows - 1, lab_value(run, "users"), rate, lab_value(run, "users"), rows,
        rate * LATER_S, rate, (unsigned long long)run->seed, -rate * LATER_S, rows - 1 - rate * LATER_S, rate, rows, query);
}

static wr_status measure(wr_lab_run *run, wr_lab_report *report, wr_lab_plot *plot, const char *name, double rate, const char *query, wr_pnode_kind kind, memory *m, wr_err *err) {
    double  duration = lab_value(run, "duration"), rows = rate * duration;
    lab_job job = {.run = run, .sql = script(run, rate, query), .accept_unbounded = true, .look = look, .look_every_us = (int64_t)(duration / LOOKS * 1e6), .arg = m,
                   .batch_rows = (uint32_t)WR_MAX(rows / LOOKS / STEPS_A_LOOK / 4, 4.0)};
    wr_lab_series *predicted;
    lab_progress(run, name);
    *m = (memory){.report = report, .kind = kind, .flat_from_s = lab_value(run, "hold") * 1.1};
    m->measured = wr_lab_add_series(report, plot, WR_LAB_MEASURED, "%s, measured", name);
    predicted = wr_lab_add_series(report, plot, WR_LAB_PREDICTED, "%s, the state bill before the first row", name);
    wr_status status = lab_job_plan(&job, err);
    for (uint32_t i = 0; status == WR_OK && i < job.plan->nodes.n; i++)
        for (int k = 0; k <= LOOKS && job.plan->nodes.at[i]->kind == kind; k++)
            wr_lab_add_point(report, predicted, duration * k / LOOKS, wr_bill_bytes(job.plan->nodes.at[i], duration * k / LOOKS * 1e6));
    if (status == WR_OK) status = lab_job_run(&job, err);
    lab_job_close(&job);
    return status;
}

/* Of a straight line through the points: how much of the variation it explains; *slope: of it. */
static double straight(const wr_lab_series *s, double *slope) {
    double n = 0, x = 0, y = 0, xx = 0, xy = 0, yy = 0;
    for (uint32_t i = 0; i < s->points.n; i++) {
        double px = s->points.at[i].x, py = s->points.at[i].y;
        n++, x += px, y += py, xx += px * px, xy += px * py, yy += py * py;
    }
    double vx = n * xx - x * x, vy = n * yy - y * y, c = n * xy - x * y;
    *slope = vx > 0 ? c / vx : 0;
    return vx > 0 && vy > 0 ? c * c / (vx * vy) : 0;
}

/* How far the last measured point lies from the bill, as a share. */
static double off(const memory *m, const wr_lab_series *bill) {
    const wr_lab_point *last = &m->measured->points.at[m->measured->points.n - 1];
    double expected = 0;
    for (uint32_t i = 0; i + 1 < bill->points.n; i++) {
        const wr_lab_point *a = &bill->points.at[i], *b = a + 1;
        if (a->x <= last->x && last->x <= b->x) expected = a->y + (b->y - a->y) * (last->x - a->x) / (b->x - a->x);
    }
    return expected > 0 ? last->y / expected - 1 : INFINITY;
}

static void row(wr_lab_run *run, wr_lab_report *r, wr_lab_table *t, const char *what, double rate, const memory *m, const wr_lab_series *bill) {
    wr_lab_row(r, t, "%s|%.0f|%llu|%s|%+.1f %%", what, rate, (unsigned long long)(m->rows ? m->rows : m->keys), lab_text(run, m->last, WR_LAB_BYTES), 100 * off(m, bill));
}

static void conclude(wr_lab_run *run, wr_lab_report *r, const memory *counter, const memory *buffer, const memory *never, wr_lab_plot *plot) {
    double factor = lab_value(run, "times"), hold = lab_value(run, "hold"), rate = lab_value(run, "rate"), memory_bytes = lab_value(run, "memory"), slope;
    double c = counter[1].last / counter[0].last, b = buffer[1].last / buffer[0].last, r2 = straight(never->measured, &slope), swing = buffer[0].flat_high / buffer[0].flat_low - 1;
    double days = memory_bytes / (slope * 86400);
    wr_lab_say(r, "The counter has one entry for each user, and a user who comes again changes his entry: %.0f times the rows, the same %s. What bounds it is the number of keys.",
               factor, lab_text(run, counter[1].last, WR_LAB_BYTES));
    wr_lab_say(r, "The buffer keeps an order until no payment can belong to it any more, %.0f s. So it holds rate x %.0f s rows: it grows for %.0f s, then as many rows leave as come. "
               "Rows at %.0f times the rate make it %.1f times as large.", hold, hold, hold, factor, b);
    wr_lab_say(r, "Without the condition on time nobody may ever be forgotten: %s more each hour, at %.0f rows a second. %s of memory are full after %.2f days, and no restart helps, "
               "because the state comes back with the checkpoint. weir refuses this join until the script says 'state.unbounded' = 'accepted'.",
               lab_text(run, slope * 3600, WR_LAB_BYTES), rate, lab_text(run, memory_bytes, WR_LAB_BYTES), days);
    wr_lab_say(r, "The dotted lines were drawn before the first row was read: bytes of the engine's own structures times rate, time and number of keys. weir explain prints them for your job.");
    wr_lab_relate(r, fabs(c - 1) < 0.1, "counter: at %.0f times the rate it is %.2f times as large (about 1)", factor, c);
    wr_lab_relate(r, fabs(b / factor - 1) < 0.2, "buffer: at %.0f times the rate it is %.2f times as large (about %.0f)", factor, b, factor);
    wr_lab_relate(r, swing < 0.15, "buffer: flat after %.0f s of event time (it moves by %.1f %%)", hold, 100 * swing);
    wr_lab_relate(r, r2 > 0.98, "without eviction: a straight line explains %.2f %% of the growth", 100 * r2);
    double worst = 0;
    const double each[] = {off(&counter[1], &plot->series[1]), off(&buffer[0], &r->plots.at[0]->series[1]), off(&buffer[1], &r->plots.at[0]->series[3]), off(never, &r->plots.at[0]->series[5])};
    for (size_t i = 0; i < WR_COUNT_OF(each); i++) worst = WR_MAX(worst, fabs(each[i]));
    wr_lab_relate(r, worst < 0.35, "the bill, made out before the run, is within %.0f %% of what was measured (at most 35 %%)", 100 * worst);
    wr_lab_add_figure(r, "counter_ratio", c), wr_lab_add_figure(r, "buffer_ratio", b), wr_lab_add_figure(r, "buffer_swing", swing);
    wr_lab_add_figure(r, "no_eviction_r2", r2), wr_lab_add_figure(r, "no_eviction_bytes_per_second", slope), wr_lab_add_figure(r, "memory_full_days", days);
    wr_lab_add_figure(r, "counter_bytes", counter[0].last), wr_lab_add_figure(r, "buffer_bytes", buffer[0].last), wr_lab_add_figure(r, "bill_off", worst);
}

static wr_status run_remember(wr_lab_run *run, wr_lab_report *r, wr_err *err) {
    double       rate = lab_value(run, "rate"), rates[2] = {rate, rate * lab_value(run, "times")};
    const char  *names[2] = {wr_arena_printf(run->arena, "at %.0f rows/s", rates[0]), wr_arena_printf(run->arena, "at %.0f rows/s", rates[1])};
    const char  *join = "SELECT o.id, p.cents FROM orders AS o JOIN payments AS p ON o.id = p.order_id";
    const char  *timed = wr_arena_printf(run->arena, "%s AND p.ts BETWEEN o.ts AND o.ts + INTERVAL '%.0f' SECOND", join, lab_value(run, "hold"));
    memory       counter[2], buffer[2], never;
    wr_lab_plot *buffers = wr_lab_add_plot(r, "the buffer of a join by time, and the same join without an end", "event time", WR_LAB_SECONDS, "state", WR_LAB_BYTES);
    wr_lab_plot *counters = wr_lab_add_plot(r, "the counter of each user", "event time", WR_LAB_SECONDS, "state", WR_LAB_BYTES);
    for (int i = 0; i < 2; i++) {
        const char *b = wr_arena_printf(run->arena, "buffer %s", names[i]), *c = wr_arena_printf(run->arena, "counter %s", names[i]);
        WR_TRY(measure(run, r, buffers, b, rates[i], timed, WR_P_INTERVAL_JOIN, &buffer[i], err));
        WR_TRY(measure(run, r, counters, c, rates[i], "SELECT user_id, COUNT(*) AS n FROM orders GROUP BY user_id", WR_P_GROUP_AGG, &counter[i], err));
    }
    WR_TRY(measure(run, r, buffers, wr_arena_printf(run->arena, "without eviction, %s", names[0]), rates[0], join, WR_P_JOIN, &never, err));
    wr_lab_table *t = wr_lab_add_table(r, "state when the input ended", "what it keeps|rows/s|entries|state|off the bill");
    row(run, r, t, "a counter for each user", rates[0], &counter[0], &counters->series[1]);
    row(run, r, t, "a counter for each user", rates[1], &counter[1], &counters->series[3]);
    const char *held = wr_arena_printf(run->arena, "orders of the last %.0f s", lab_value(run, "hold"));
    row(run, r, t, held, rates[0], &buffer[0], &buffers->series[1]);
    row(run, r, t, held, rates[1], &buffer[1], &buffers->series[3]);
    row(run, r, t, "all orders and payments", rates[0], &never, &buffers->series[5]);
    conclude(run, r, counter, buffer, &never, counters);
    return WR_OK;
}

const wr_lab wr_lab_remember = {
    .name = "remember", .line = "what a counter, a buffer and a join without an end keep",
    .question = "The same stream of orders feeds two jobs. One counts the orders of each user. The other keeps every order for 600 seconds, until its payment has come. "
                "Now orders come several times as fast. What happens to the memory of each? And if the second job never forgets an order?",
    .guess = "how many times larger does the counter become, and how many times the buffer? On which day is a memory of 8 GiB full without forgetting?",
    .rule = "ask of every operator what bounds it: keys, time, or nothing. Bytes = rate x time x row, or keys x entry; a state that nothing bounds fills any memory, you only choose the day.",
    .params = {{"rate", 50, 50, 10, 2000, WR_LAB_PLAIN, "orders a second"},
               {"times", 4, 4, 2, 10, WR_LAB_PLAIN, "the second rate, as a multiple of the first"},
               {"users", 2000, 1000, 100, 100000, WR_LAB_PLAIN, "how many users there are"},
               {"hold", 600, 600, 60, 3600, WR_LAB_SECONDS, "how long an order waits for its payment"},
               {"duration", 3600, 1500, 120, 14400, WR_LAB_SECONDS, "event time that each job reads"},
               {"memory", 8589934592.0, 8589934592.0, 1048576, 1099511627776.0, WR_LAB_BYTES, "memory whose last day is computed"}},
    .run = run_remember,
};
