/* run/forecast.c: a straight line through the last points of an operator's memory (least squares), and whether it may be believed.
 *
 * Idea       a point is the greatest value of a stretch. For state without a known life a stretch is a few seconds, and the last ten minutes
 *            count. For state that forgets (windows, intervals, TTL) a stretch is one life of it, so that the saw of filling and emptying and
 *            the first filling do not look like growth: each point is a peak, and the first one is left out.
 *            When the room for points is used up, every second one goes and stretches become twice as long.
 * Believed   at least MIN_POINTS points, a slope above twice its standard error, and above one per cent of the size an hour; the lowest
 *            point of the newer half must also lie above the lowest of the older half, or it is a saw with a period nobody knew of.
 * Thread     the coordinator.                                                                                              */
#include "run/forecast.h"
#include <math.h>
#include <string.h>

enum { MIN_POINTS = 6, MIN_PEAKS = 4, WINDOW_US = 600000000 };

void forecast_init(forecast *f, int64_t period_us, int64_t every_us) {
    memset(f, 0, sizeof *f);
    f->period_us = period_us;
    f->every_us = every_us;
}

static void close_point(forecast *f, int64_t at_us) {
    if (f->n == FORECAST_POINTS) { /* periods: thin out; stretches of seconds: the oldest half is older than the window anyway */
        uint32_t kept = 0;
        if (f->period_us)
            for (uint32_t i = 1; i < f->n; i += 2) f->points[kept++] = f->points[i];
        else
            for (uint32_t i = f->n / 4; i < f->n; i++) f->points[kept++] = f->points[i];
        f->n = kept;
    }
    f->points[f->n].at_us = at_us;
    f->points[f->n++].bytes = f->open_bytes;
}

void forecast_add(forecast *f, int64_t wall_us, int64_t event_us, double bytes) {
    int64_t clock = f->period_us && event_us != INT64_MIN ? event_us : wall_us;
    int64_t period = f->period_us ? clock / f->period_us : 0;
    if (f->period_us && event_us == INT64_MAX) return; /* the end of input: everything leaves */
    if (!f->open_at_us) {
        f->open_at_us = wall_us;
        f->open_bytes = bytes;
        f->open_period = period;
        return;
    }
    bool over = f->period_us ? period != f->open_period : wall_us - f->open_at_us >= f->every_us;
    if (over) {
        close_point(f, wall_us);
        f->open_at_us = wall_us;
        f->open_bytes = bytes;
        f->open_period = period;
    } else if (bytes > f->open_bytes) {
        f->open_bytes = bytes;
    }
}

static double lowest(const forecast *f, uint32_t from, uint32_t to) {
    double least = f->points[from].bytes;
    for (uint32_t i = from + 1; i < to; i++) least = fmin(least, f->points[i].bytes);
    return least;
}

forecast_growth forecast_get(const forecast *f) {
    forecast_growth out = {0};
    uint32_t        first = f->period_us ? WR_MIN(1u, f->n) : 0, need = f->period_us ? MIN_PEAKS : MIN_POINTS;
    if (!f->period_us)
        while (first < f->n && f->points[f->n - 1].at_us - f->points[first].at_us > WINDOW_US) first++;
    uint32_t n = f->n - first;
    if (n < need) return out;
    double mean_x = 0, mean_y = 0, xx = 0, xy = 0, rest = 0;
    for (uint32_t i = first; i < f->n; i++) {
        mean_x += (double)(f->points[i].at_us - f->points[first].at_us) / n;
        mean_y += f->points[i].bytes / n;
    }
    for (uint32_t i = first; i < f->n; i++) {
        double dx = (double)(f->points[i].at_us - f->points[first].at_us) - mean_x, dy = f->points[i].bytes - mean_y;
        xx += dx * dx;
        xy += dx * dy;
    }
    if (xx <= 0) return out;
    double slope = xy / xx;
    for (uint32_t i = first; i < f->n; i++) {
        double dx = (double)(f->points[i].at_us - f->points[first].at_us) - mean_x, off = f->points[i].bytes - mean_y - slope * dx;
        rest += off * off;
    }
    double error = sqrt(rest / (n - 2) / xx), per_hour = slope * 3600e6;
    bool   rises = lowest(f, first + n / 2, f->n) > lowest(f, first, first + n / 2);
    out.bytes_per_hour = per_hour;
    out.known = rises && slope > 2 * error && per_hour > 0.01 * mean_y;
    return out;
}
