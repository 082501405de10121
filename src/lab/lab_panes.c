/* lab/lab_panes.c: a long window refreshed often: one accumulator a window against panes; and a floating sum that slides by adding and subtracting.
 *
 * Per window the query asks for MAX(window_start) as well: then a row goes through HOP as a table function, once for each of its windows, and no panes are shared. It is the
 *            same answer, counted by the same engine.
 * Exact      sums are checked against integers: every value here is a multiple of 2^-60, so its 128-bit fixed point is exact. */
#include "lab/parts.h"
#include <math.h>
#include <stdio.h>

enum { BATCH_ROWS = 256, SECONDS_HOUR = 3600, SECONDS_DAY = 86400, FRACTION_BITS = 60 };

/* ---- counting ---- */
typedef struct answer { uint64_t rows, sum; } answer; /* of all windows: rows, and their counts added up */
typedef struct cost { double slide_s, updates, bytes, cpu_ns; answer answer; uint64_t peak_bytes; } cost; /* the first four: for each event */

static wr_status take_counts(void *arg, wr_str table, const wr_schema *schema, const wr_tz *tz, wr_batch *batch, wr_err *err) {
    (void)table, (void)schema, (void)tz, (void)err;
    answer *a = arg;
    for (uint32_t i = 0; i < wr_batch_live(batch); i++) a->rows++, a->sum += (uint64_t)((const int64_t *)batch->cols[0].data)[wr_batch_row(batch, i)];
    return WR_OK;
}

static wr_status count(wr_lab_run *run, double slide_s, bool per_window, cost *c, wr_err *err) {
    double      events = lab_value(run, "events"), hours = lab_value(run, "hours"), span_s = (hours + 2) * SECONDS_HOUR;
    const char *sql = wr_arena_printf(run->arena,
        "CREATE TABLE orders (id BIGINT, restaurant INT, ts AS TO_TIMESTAMP_LTZ(id * %.0f, 3), WATERMARK FOR ts AS ts)\n"
        "  WITH ('connector' = 'datagen', 'rows-per-second' = '0', 'seed' = '%llu', 'fields.id.kind' = 'sequence', 'fields.id.start' = '0', 'fields.id.end' = '%.0f',\n"
        "        'fields.restaurant.min' = '1', 'fields.restaurant.max' = '%.0f');\n"
        "SELECT COUNT(*) AS n%s FROM TABLE(HOP(TABLE orders, DESCRIPTOR(ts), INTERVAL '%.0f' SECOND(5), INTERVAL '%.0f' HOUR)) GROUP BY window_start, window_end, restaurant;\n",
        span_s * 1000 / events, (unsigned long long)run->seed, events - 1, lab_value(run, "restaurants"), per_window ? ", MAX(window_start) AS w" : "", slide_s, hours);
    lab_job job = {.run = run, .sql = sql, .batch_rows = BATCH_ROWS, .on_rows = take_counts, .arg = &c->answer};
    *c = (cost){.slide_s = slide_s};
    lab_progress(run, wr_arena_printf(run->arena, "%s, refreshed every %.0f s", per_window ? "per window" : "panes", slide_s));
    wr_status             status = lab_job_run(&job, err);
    const wr_node_status *agg = status == WR_OK ? lab_node(&job.last, WR_P_WINDOW_AGG, 0) : NULL, *tvf = status == WR_OK ? lab_node(&job.last, WR_P_WINDOW_TVF, 0) : NULL;
    if (agg) {
        c->peak_bytes = (uint64_t)agg->account_peak_bytes;
        c->updates = (double)agg->on[0].rows_in / events;
        c->bytes = (double)c->peak_bytes / (events * hours / (hours + 2)); /* of the events that the longest window holds */
        c->cpu_ns = (double)(agg->on[0].spent_ns[WR_SPENT_WORK] + (tvf ? tvf->on[0].spent_ns[WR_SPENT_WORK] : 0)) / events;
    }
    lab_job_close(&job);
    return status;
}

/* ---- a floating sum that slides ---- */
typedef struct sums { WR_ARR(double) values, weir; } sums; /* by second; of the hour that ends with each minute */

static wr_status take_values(void *arg, wr_str table, const wr_schema *schema, const wr_tz *tz, wr_batch *batch, wr_err *err) {
    (void)table, (void)schema, (void)tz, (void)err;
    sums *s = arg;
    for (uint32_t i = 0; i < wr_batch_live(batch); i++) {
        double v = ((const double *)batch->cols[0].data)[wr_batch_row(batch, i)];
        if (schema->n == 1) wr_arr_push(&s->values, v);
        else wr_arr_push(&s->weir, v);
    }
    return WR_OK;
}

static wr_status slide(wr_lab_run *run, double spike, sums *s, wr_err *err) {
    const char *table = wr_arena_printf(run->arena,
        "CREATE TABLE tips (id BIGINT, cents INT, v AS CASE WHEN id = %d THEN CAST(%.17g AS DOUBLE) ELSE CAST(cents AS DOUBLE) / 100 END, ts AS TO_TIMESTAMP_LTZ(id, 0), WATERMARK FOR ts AS ts)\n"
        "  WITH ('connector' = 'datagen', 'rows-per-second' = '0', 'seed' = '%llu', 'fields.id.kind' = 'sequence', 'fields.id.start' = '0', 'fields.id.end' = '%d',\n"
        "        'fields.cents.min' = '1', 'fields.cents.max' = '99');\n",
        spike > 0 ? SECONDS_DAY / 2 : -1, spike, (unsigned long long)run->seed, SECONDS_DAY - 1);
    static const char *const queries[] = {"SELECT v FROM tips", "SELECT SUM(v) AS s, window_end FROM TABLE(HOP(TABLE tips, DESCRIPTOR(ts), INTERVAL '1' MINUTE, INTERVAL '1' HOUR)) GROUP BY window_start, window_end"};
    lab_progress(run, spike > 0 ? "a sum that a large value passes through" : "a sum that slides for a day");
    for (size_t i = 0; i < WR_COUNT_OF(queries); i++) {
        lab_job   job = {.run = run, .sql = wr_arena_printf(run->arena, "%s%s;\n", table, queries[i]), .on_rows = take_values, .arg = s};
        wr_status status = lab_job_run(&job, err);
        lab_job_close(&job);
        WR_TRY(status);
    }
    return WR_OK;
}

typedef struct drift { double naive, weir, ulp, naive_end, exact_end; } drift; /* largest errors of a day, without the windows that hold the large value */

static double exact_of(wr_i128 fixed) { return ldexp((double)fixed, -FRACTION_BITS); }

/* The wrong way on purpose: one running sum, to which each value is added and from which it is subtracted an hour later. */
static drift compare(wr_lab_report *r, const sums *s, double spike, wr_lab_series *naive_at, wr_lab_series *weir_at, wr_lab_series *exact_at) {
    drift   d = {0};
    double  running = 0;
    wr_i128 exact = 0;
    for (uint32_t i = 0; i < s->values.n; i++) {
        running += s->values.at[i];
        exact += (wr_i128)ldexp(s->values.at[i], FRACTION_BITS);
        if (i >= SECONDS_HOUR) running -= s->values.at[i - SECONDS_HOUR], exact -= (wr_i128)ldexp(s->values.at[i - SECONDS_HOUR], FRACTION_BITS);
        uint32_t minute = i / 60;
        if (i % 60 != 59 || minute >= s->weir.n) continue;
        double right = exact_of(exact);
        if (spike > 0 && right > spike / 2) continue;
        double by_naive = fabs(running - right), by_weir = fabs(s->weir.at[minute] - right);
        d.naive = WR_MAX(d.naive, by_naive), d.weir = WR_MAX(d.weir, by_weir), d.ulp = WR_MAX(d.ulp, nextafter(right, INFINITY) - right);
        d.naive_end = running, d.exact_end = right;
        if (minute % 10) continue;
        double hour = (i + 1) / (double)SECONDS_HOUR;
        wr_lab_add_point(r, naive_at, hour, exact_at ? running : by_naive), wr_lab_add_point(r, weir_at, hour, exact_at ? s->weir.at[minute] : by_weir);
        if (exact_at) wr_lab_add_point(r, exact_at, hour, right);
    }
    return d;
}

static wr_status sliding(wr_lab_run *run, wr_lab_report *r, drift d[2], wr_err *err) {
    wr_lab_plot *by_day = wr_lab_add_plot(r, "error of a sliding sum of DOUBLE, an hour long", "hours", WR_LAB_PLAIN, "distance from the exact sum", WR_LAB_PLAIN);
    wr_lab_plot *gross = wr_lab_add_plot(r, wr_arena_printf(run->arena, "the same sum, when a value of %g passes through at hour 12", lab_value(run, "spike")), "hours", WR_LAB_PLAIN, "sum of the last hour", WR_LAB_PLAIN);
    wr_lab_table *t = wr_lab_add_table(r, "a sum of the last hour, after a day", "stream|way|largest error|sum after a day|exact");
    for (int i = 0; i < 2; i++) {
        sums        s = {0};
        wr_lab_plot *p = i ? gross : by_day;
        wr_lab_series *naive = wr_lab_add_series(r, p, WR_LAB_MEASURED, "add the new, subtract the old"), *weir = wr_lab_add_series(r, p, WR_LAB_MEASURED, "weir: panes merged");
        wr_lab_series *exact = i ? wr_lab_add_series(r, p, WR_LAB_PREDICTED, "exact") : NULL;
        wr_status status = slide(run, i ? lab_value(run, "spike") : 0, &s, err);
        if (status == WR_OK) d[i] = compare(r, &s, i ? lab_value(run, "spike") : 0, naive, weir, exact);
        double weir_end = status == WR_OK && s.weir.n >= SECONDS_DAY / 60 ? s.weir.at[SECONDS_DAY / 60 - 1] : 0;
        wr_arr_free(&s.values), wr_arr_free(&s.weir);
        WR_TRY(status);
        const char *stream = i ? "with the large value" : "tips below 1";
        wr_lab_row(r, t, "%s|add, subtract|%.3g|%.12f|%.12f", stream, d[i].naive, d[i].naive_end, d[i].exact_end);
        wr_lab_row(r, t, "%s|weir|%.3g|%.12f|%.12f", stream, d[i].weir, weir_end, d[i].exact_end);
    }
    return WR_OK;
}

static void conclude(wr_lab_run *run, wr_lab_report *r, const cost *windows, const cost *panes, uint32_t n, const drift d[2]) {
    const cost *w = &windows[n - 1], *p = &panes[n - 1];
    double      hours = lab_value(run, "hours"), ratio = hours * SECONDS_HOUR / w->slide_s;
    bool        exact = true, same = true, one = true;
    for (uint32_t i = 0; i < n; i++) {
        exact = exact && windows[i].updates == hours * SECONDS_HOUR / windows[i].slide_s;
        one = one && panes[i].updates == 1;
        same = same && windows[i].answer.rows == panes[i].answer.rows && windows[i].answer.sum == panes[i].answer.sum;
    }
    wr_lab_say(r, "An event lies in every window that covers it: %.0f h / %.0f s = %.0f windows. One accumulator a window means %.0f updates for each event, and as many open windows in memory. "
               "A pane is the stretch between two refreshes: an event is added to one pane, and a window is put together from its panes when it is due.", hours, w->slide_s, ratio, w->updates);
    wr_lab_say(r, "Both gave the same %llu rows. Per window an event cost %.0f updates, %s of state and %s of CPU; with panes %.0f update, %s and %s (the CPU time is of this run, on this machine).",
               (unsigned long long)p->answer.rows, w->updates, lab_text(run, w->bytes, WR_LAB_BYTES), lab_text(run, w->cpu_ns / 1e9, WR_LAB_SECONDS), p->updates, lab_text(run, p->bytes, WR_LAB_BYTES),
               lab_text(run, p->cpu_ns / 1e9, WR_LAB_SECONDS));
    wr_lab_say(r, "A sum can also slide by adding what comes and subtracting what goes. For whole numbers that is exact. For floating numbers each step rounds, and the errors stay: after a day the sum of the last hour is off by "
               "up to %.2g, weir's by %.2g. One value of %g that passes through makes it wrong for ever: the small values that were added meanwhile were lost to rounding, and are subtracted all the same. "
               "At the end the sum of the last hour is %.2f by that way; the right answer is %.2f.", d[0].naive, d[0].weir, lab_value(run, "spike"), d[1].naive_end, d[1].exact_end);
    wr_lab_relate(r, exact, "per window: %.0f updates for each event, window / refresh = %.0f", w->updates, ratio);
    wr_lab_relate(r, one, "panes: %.0f update for each event, however often it is refreshed", p->updates);
    wr_lab_relate(r, same, "both ways give the same rows (%llu, counts add up to %llu)", (unsigned long long)p->answer.rows, (unsigned long long)p->answer.sum);
    wr_lab_relate(r, p->bytes < w->bytes, "panes keep %.1f times fewer bytes for each event", w->bytes / p->bytes);
    wr_lab_relate(r, d[0].weir <= 2 * d[0].ulp, "weir's sliding sum is within two roundings of the exact one all day (%.2g; a rounding is %.2g)", d[0].weir, d[0].ulp);
    wr_lab_relate(r, d[0].naive > 10 * d[0].ulp, "add-new, subtract-old drifts: %.0f roundings after a day", d[0].naive / d[0].ulp);
    wr_lab_relate(r, d[1].naive > 1e6 * d[1].ulp && d[1].weir <= 2 * d[1].ulp, "after %g has passed, the first way is wrong by up to %.2f (the sum is %.2f), weir's by %.2g", lab_value(run, "spike"), d[1].naive, d[1].exact_end, d[1].weir);
    wr_lab_add_figure(r, "updates_per_window", w->updates), wr_lab_add_figure(r, "updates_panes", p->updates), wr_lab_add_figure(r, "bytes_per_window", w->bytes), wr_lab_add_figure(r, "bytes_panes", p->bytes);
    wr_lab_add_figure(r, "cpu_ns_per_window", w->cpu_ns), wr_lab_add_figure(r, "cpu_ns_panes", p->cpu_ns), wr_lab_add_figure(r, "rows", (double)p->answer.rows);
    wr_lab_add_figure(r, "drift_naive", d[0].naive), wr_lab_add_figure(r, "drift_weir", d[0].weir), wr_lab_add_figure(r, "spike_naive", d[1].naive), wr_lab_add_figure(r, "spike_weir", d[1].weir);
}

static wr_status run_panes(wr_lab_run *run, wr_lab_report *r, wr_err *err) {
    const double   slides[] = {3600, 900, 300, lab_value(run, "refresh")};
    cost           windows[WR_COUNT_OF(slides)], panes[WR_COUNT_OF(slides)];
    drift          d[2] = {{0}};
    wr_lab_table  *t = wr_lab_add_table(r, wr_arena_printf(run->arena, "a count of the last %.0f h by restaurant, for each event", lab_value(run, "hours")), "refreshed every|way|updates|state|state/event|CPU/event");
    wr_lab_plot   *p = wr_lab_add_plot(r, "updates for each event", "refreshed every", WR_LAB_SECONDS, "updates", WR_LAB_PLAIN);
    wr_lab_series *by_window = wr_lab_add_series(r, p, WR_LAB_MEASURED, "an accumulator for each window"), *by_pane = wr_lab_add_series(r, p, WR_LAB_MEASURED, "panes");
    wr_lab_series *predicted = wr_lab_add_series(r, p, WR_LAB_PREDICTED, "window / refresh");
    p->x_log = p->y_log = true;
    for (uint32_t i = 0; i < WR_COUNT_OF(slides); i++) {
        WR_TRY(count(run, slides[i], true, &windows[i], err));
        WR_TRY(count(run, slides[i], false, &panes[i], err));
        for (int k = 0; k < 2; k++) {
            const cost *c = k ? &panes[i] : &windows[i];
            wr_lab_row(r, t, "%.0f s|%s|%.0f|%s|%s|%s", slides[i], k ? "panes" : "per window", c->updates, lab_text(run, (double)c->peak_bytes, WR_LAB_BYTES),
                       lab_text(run, c->bytes, WR_LAB_BYTES), lab_text(run, c->cpu_ns / 1e9, WR_LAB_SECONDS));
        }
    }
    for (uint32_t i = WR_COUNT_OF(slides); i-- > 0;) {
        wr_lab_add_point(r, by_window, slides[i], windows[i].updates), wr_lab_add_point(r, by_pane, slides[i], panes[i].updates);
        wr_lab_add_point(r, predicted, slides[i], lab_value(run, "hours") * SECONDS_HOUR / slides[i]);
    }
    WR_TRY(sliding(run, r, d, err));
    conclude(run, r, windows, panes, WR_COUNT_OF(slides), d);
    return WR_OK;
}

const wr_lab wr_lab_panes = {
    .name = "panes", .line = "a 24-hour count refreshed every minute, and a sum that slides",
    .question = "The busiest restaurants of the last 24 hours, refreshed every minute. Each order counts in every window that covers it. How often must one order be added? "
                "And may a sum slide by adding the new value and subtracting the old one?",
    .guess = "updates for each order, with one counter a window, and with any better way you can think of.",
    .rule = "a long window refreshed often is put together from panes: the cost of an event does not depend on the window's length. Never subtract floating numbers to slide a sum.",
    .params = {{"hours", 24, 24, 1, 48, WR_LAB_PLAIN, "length of the window, in hours"},
               {"refresh", 60, 60, 60, 1800, WR_LAB_SECONDS, "the shortest refresh (it must divide the window)"},
               {"events", 6000, 1200, 100, 50000, WR_LAB_PLAIN, "orders, evenly over the window and two hours more"},
               {"restaurants", 20, 20, 1, 1000, WR_LAB_PLAIN, "how many restaurants there are"},
               {"spike", 1e20, 1e20, 1e16, 1e20, WR_LAB_PLAIN, "the large value that passes through the sum"}},
    .run = run_panes,
};
