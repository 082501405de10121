/* lab/axis.c: numbers as people read them, and the ticks of an axis. */
#include "lab/axis.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

static void add_scaled(double v, const char *const *units, uint32_t n, double step, wr_sbuf *out) {
    uint32_t i = 0;
    double   size = fabs(v);
    while (i + 1 < n && size >= step * 0.9995) size /= step, v /= step, i++;
    const char *fmt = size >= 100 || fabs(v - round(v)) < 1e-9 ? "%.0f%s" : size >= 10 ? "%.1f%s" : "%.2f%s";
    wr_sbuf_printf(out, fmt, v, units[i]);
}

void wr_lab_number(double v, wr_lab_unit unit, wr_sbuf *out) {
    static const char *const plain[] = {"", " k", " M", " G", " T"}, *const bytes[] = {" B", " KiB", " MiB", " GiB", " TiB"};
    if (unit == WR_LAB_BYTES) add_scaled(v, bytes, WR_COUNT_OF(bytes), 1024, out);
    else if (unit == WR_LAB_SECONDS && v != 0 && fabs(v) < 1) fabs(v) < 1e-6 ? wr_sbuf_printf(out, "%.0f ns", v * 1e9) : wr_sbuf_printf(out, "%.3g %s", v * (fabs(v) < 1e-3 ? 1e6 : 1e3), fabs(v) < 1e-3 ? "us" : "ms");
    else if (unit == WR_LAB_SECONDS) wr_sbuf_printf(out, "%.*f s", fabs(v - round(v)) < 1e-9 ? 0 : 2, v);
    else if (v != 0 && (fabs(v) < 0.01 || fabs(v) >= 1e15)) wr_sbuf_printf(out, "%.2g", v);
    else add_scaled(v, plain, WR_COUNT_OF(plain), 1000, out);
}

/* The range of what is drawn. Linear axes begin at 0 unless something is below it. */
static void range_of(const wr_lab_plot *p, bool x, bool log, double *low, double *high) {
    bool any = false;
    *low = 0, *high = 1;
    for (uint32_t i = 0; i < p->n; i++)
        for (uint32_t k = 0; k < p->series[i].points.n; k++) {
            double v = x ? p->series[i].points.at[k].x : p->series[i].points.at[k].y;
            if (log && v <= 0) continue;
            if (!any || v < *low) *low = v;
            if (!any || v > *high) *high = v;
            any = true;
        }
    if (!log && *low > 0) *low = 0;
    if (*high <= *low) *high = *low + (log ? *low : 1);
}

/* 1, 2, 5 times a power of ten; of bytes powers of two. */
static double nice_step(double raw, wr_lab_unit unit) {
    if (unit == WR_LAB_BYTES) return exp2(ceil(log2(raw)));
    double ten = pow(10, floor(log10(raw))), of = raw / ten;
    return ten * (of <= 1 ? 1 : of <= 2 ? 2 : of <= 5 ? 5 : 10);
}

void axis_make(axis *a, const wr_lab_plot *p, bool x, uint32_t ticks_wanted) {
    *a = (axis){.log = x ? p->x_log : p->y_log, .unit = x ? p->x_unit : p->y_unit};
    range_of(p, x, a->log, &a->low, &a->high);
    if (a->log) {
        double base = a->unit == WR_LAB_BYTES || a->high / a->low < 1000 ? 2 : 10;
        double from = floor(log(a->low) / log(base) + 1e-9), to = ceil(log(a->high) / log(base) - 1e-9);
        if (to <= from) to = from + 1;
        double every = ceil((to - from) / WR_MIN((double)AXIS_TICKS_MAX - 2, (double)ticks_wanted));
        a->low = pow(base, from), a->high = pow(base, to);
        for (double e = from; e <= to + 1e-9 && a->n < AXIS_TICKS_MAX; e += every) a->ticks[a->n++] = pow(base, e);
        return;
    }
    double step = nice_step((a->high - a->low) / (double)ticks_wanted, a->unit);
    if (a->low < 0) a->low = floor(a->low / step) * step;
    a->high = ceil(a->high / step - 1e-9) * step;
    for (double v = a->low; v <= a->high + step * 1e-6 && a->n < AXIS_TICKS_MAX; v += step) a->ticks[a->n++] = fabs(v) < step * 1e-6 ? 0 : v;
}

double axis_at(const axis *a, double v) {
    if (a->log) return v <= 0 ? 0 : log(v / a->low) / log(a->high / a->low);
    return (v - a->low) / (a->high - a->low);
}
