/* lab/axis.h: one axis of a plot: its range and ticks, for both renderers. Private to lab/. */
#pragma once
#include "lab/lab.h"

enum { AXIS_TICKS_MAX = 12 };
typedef struct axis {
    bool        log;
    wr_lab_unit unit;
    double      low, high;
    uint32_t    n;
    double      ticks[AXIS_TICKS_MAX];
} axis;
void   axis_make(axis *a, const wr_lab_plot *plot, bool x, uint32_t ticks_wanted);
double axis_at(const axis *a, double value); /* 0 at its beginning, 1 at its end */
