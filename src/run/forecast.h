/* run/forecast.h: how fast the memory of one operator grows, and when a sum of such growths reaches a limit. Private to run/. */
#pragma once
#include "base/compiler.h"

enum { FORECAST_POINTS = 128 };
typedef struct forecast {
    int64_t  period_us;   /* > 0: what is kept leaves after this long (of event time, else of wall time): only peaks of whole periods are compared */
    int64_t  every_us;    /* between two points when there is no period */
    int64_t  open_period; /* number of the period that the open point belongs to */
    int64_t  open_at_us;  /* wall time at which the open point began; 0: none is open */
    double   open_bytes;  /* the greatest of the open point so far */
    uint32_t n;
    struct { int64_t at_us; double bytes; } points[FORECAST_POINTS];
} forecast;
typedef struct forecast_growth { bool known; double bytes_per_hour; } forecast_growth; /* known: enough was seen, and it is a trend, not noise */

void forecast_init(forecast *f, int64_t period_us, int64_t every_us);
/* wall_us: now; event_us: the operator's watermark, INT64_MIN if it has none. */
void forecast_add(forecast *f, int64_t wall_us, int64_t event_us, double bytes);
forecast_growth forecast_get(const forecast *f);
