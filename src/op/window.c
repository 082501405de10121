/* op/window.c: see window.h. */
#include "op/window.h"

static int64_t gcd(int64_t a, int64_t b) {
    while (b) {
        int64_t r = a % b;
        a = b;
        b = r;
    }
    return a;
}
static int64_t floor_to(int64_t t, int64_t offset, int64_t step) { return wr_floor_div(t - offset, step) * step + offset; }

wr_win wr_win_of(const wr_window *w, const wr_tz *tz) {
    wr_win win = {.w = *w, .tz = w->ltz ? tz : NULL};
    if (w->kind == WR_WINDOW_TUMBLE || !win.w.slide_us) win.w.slide_us = w->size_us;
    win.pane_us = w->kind == WR_WINDOW_SESSION ? w->size_us : gcd(win.w.size_us, win.w.slide_us);
    return win;
}

/* Local times that a change of the clock repeats end with their later instant; times that it skips end at the change. */
int64_t wr_win_instant(const wr_win *w, int64_t end) {
    if (!w->tz) return end;
    int64_t utc = wr_tz_to_utc(w->tz, end), local = wr_tz_to_local(w->tz, utc);
    if (local == end) {
        int64_t later = utc + WR_US_PER_DAY; /* the offset that holds after any change nearby */
        later = end - (wr_tz_to_local(w->tz, later) - later);
        return later > utc && wr_tz_to_local(w->tz, later) == end ? later : utc;
    }
    int64_t low = utc - 2 * WR_US_PER_DAY, high = utc; /* least instant whose local time is not before end */
    while (low < high) {
        int64_t mid = low + (high - low) / 2;
        if (wr_tz_to_local(w->tz, mid) >= end) high = mid;
        else low = mid + 1;
    }
    return low;
}
int64_t wr_win_pane(const wr_win *w, int64_t t) { return floor_to(t, w->w.offset_us, w->pane_us); }

int64_t wr_win_first_end(const wr_win *w, int64_t t) {
    if (w->w.kind == WR_WINDOW_CUMULATE) {
        int64_t base = floor_to(t, w->w.offset_us, w->w.size_us), step = floor_to(t, base, w->w.slide_us) + w->w.slide_us;
        return WR_MIN(step, base + w->w.size_us);
    }
    return floor_to(t, w->w.offset_us + w->w.size_us, w->w.slide_us) + w->w.slide_us;
}
int64_t wr_win_last_end(const wr_win *w, int64_t t) {
    if (w->w.kind == WR_WINDOW_CUMULATE) return floor_to(t, w->w.offset_us, w->w.size_us) + w->w.size_us;
    int64_t end = floor_to(t, w->w.offset_us, w->w.slide_us) + w->w.size_us;
    return end > t ? end : WR_TIME_MIN;
}
int64_t wr_win_start(const wr_win *w, int64_t end) {
    return w->w.kind == WR_WINDOW_CUMULATE ? floor_to(end - 1, w->w.offset_us, w->w.size_us) : end - w->w.size_us;
}
int64_t wr_win_next_end(const wr_win *w, int64_t end) {
    return w->w.kind == WR_WINDOW_CUMULATE ? wr_win_first_end(w, end) : end + w->w.slide_us;
}
wr_type wr_win_bound_type(void) { return wr_type_not_null(wr_type_prec(WR_T_TIMESTAMP, 3)); }
wr_type wr_win_time_type(const wr_win *w) {
    wr_type t = wr_type_not_null(wr_type_prec(w->w.ltz ? WR_T_TIMESTAMP_LTZ : WR_T_TIMESTAMP, 3));
    t.attr = WR_TIME_ROWTIME;
    return t;
}
