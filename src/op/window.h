/* op/window.h: which windows a time belongs to: the arithmetic shared by the window operators. Private to op/.
 *
 * Idea       everything is computed on "window time": the event time itself, or for TIMESTAMP_LTZ the local wall time in ctx->tz, so that a
 *            day is from midnight to midnight whatever its length. A window [start, end) closes when the watermark reaches the instant of its
 *            end minus 1 ms. Starts are floored, so negative times and offsets need no special case.
 * Panes      boundaries of all windows lie on offset + k * gcd(size, slide); between two of them every row belongs to the same windows.
 * Thread     values only.                                                                                              */
#pragma once
#include "op/op.h"

typedef struct wr_win {
    wr_window    w;
    const wr_tz *tz;      /* NULL: window time = event time */
    int64_t      pane_us;
} wr_win;

wr_win  wr_win_of(const wr_window *w, const wr_tz *tz);
WR_INLINE int64_t wr_win_time(const wr_win *w, int64_t us) { return w->tz ? wr_tz_to_local(w->tz, us) : us; }
int64_t wr_win_instant(const wr_win *w, int64_t end);           /* when a window with this end is over; monotone in end */
WR_INLINE bool wr_win_closed(int64_t wm_us, int64_t instant) { return wm_us >= instant - 1000; }
int64_t wr_win_pane(const wr_win *w, int64_t t);                /* start of t's pane */
int64_t wr_win_first_end(const wr_win *w, int64_t t);           /* least end of a window that contains t; not SESSION */
int64_t wr_win_last_end(const wr_win *w, int64_t t);            /* greatest; WR_TIME_MIN when t lies in no window (slide > size) */
int64_t wr_win_start(const wr_win *w, int64_t end);             /* start of the window that ends there */
int64_t wr_win_next_end(const wr_win *w, int64_t end);          /* the next window end after a window end; CUMULATE: next step, also into the next base */
/* Types of the added columns. */
wr_type wr_win_bound_type(void);
wr_type wr_win_time_type(const wr_win *w);
