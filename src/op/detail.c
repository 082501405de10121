/* op/detail.c: histograms of time spans, counts by window. See detail.h. */
#include "op/detail.h"

uint32_t wr_span_bucket(int64_t us) {
    if (us < WR_SPAN_SUB) return us < 0 ? 0 : (uint32_t)us;
    uint32_t high = 63 - (uint32_t)__builtin_clzll((uint64_t)us); /* >= 3 */
    uint32_t at = WR_SPAN_SUB + (high - 3) * WR_SPAN_SUB + (uint32_t)(us >> (high - 3) & (WR_SPAN_SUB - 1));
    return WR_MIN(at, (uint32_t)WR_SPAN_BUCKETS - 1);
}
int64_t wr_span_of_bucket(uint32_t bucket) {
    if (bucket < WR_SPAN_SUB) return bucket;
    uint32_t shift = (bucket - WR_SPAN_SUB) / WR_SPAN_SUB, part = bucket % WR_SPAN_SUB;
    return ((int64_t)(WR_SPAN_SUB + part + 1) << shift) - 1;
}
void wr_spans_add(wr_spans *s, int64_t us) {
    us = WR_MAX(us, 0);
    s->least_us = s->n ? WR_MIN(s->least_us, us) : us;
    s->most_us = s->n ? WR_MAX(s->most_us, us) : us;
    s->n++;
    s->at[wr_span_bucket(us)]++;
}
void wr_spans_take(wr_spans *s, int64_t us) {
    uint32_t b = wr_span_bucket(us);
    if (!s->at[b]) return;
    s->at[b]--;
    s->n--;
}
int64_t wr_spans_covering(const wr_spans *s, uint64_t beyond) {
    if (s->n <= beyond) return 0;
    uint64_t longer = 0;
    for (uint32_t b = WR_SPAN_BUCKETS; b-- > 0;) {
        longer += s->at[b];
        if (longer > beyond) return b == WR_SPAN_BUCKETS - 1 ? s->most_us : WR_MIN(wr_span_of_bucket(b), s->most_us);
    }
    return 0;
}

const char *wr_miss_name(wr_miss why) {
    static const char *const names[WR_MISS_COUNT] = {"no partner known", "partner outside interval", "partner late", "condition not true", "partner deleted", "null key"};
    return (unsigned)why < WR_MISS_COUNT ? names[why] : "unknown";
}

static void spans_merge(wr_spans *into, const wr_spans *from) {
    if (!from->n) return;
    into->least_us = into->n ? WR_MIN(into->least_us, from->least_us) : from->least_us;
    into->most_us = into->n ? WR_MAX(into->most_us, from->most_us) : from->most_us;
    into->n += from->n;
    for (uint32_t b = 0; b < WR_SPAN_BUCKETS; b++) into->at[b] += from->at[b];
}
void wr_detail_add(wr_detail *into, const wr_detail *from) {
    for (uint32_t s = 0; s < 2; s++) {
        for (uint32_t w = 0; w < WR_MISS_COUNT; w++) into->misses[s][w] += from->misses[s][w];
        for (uint32_t e = 0; e < 2; e++) spans_merge(&into->outside[s][e], &from->outside[s][e]);
    }
    spans_merge(&into->late, &from->late);
    if (from->window_us) into->window_us = from->window_us;
    for (uint32_t i = from->n_windows; i-- > 0;) { /* the newest first: an old one must not push a new one out */
        wr_window_count *c = wr_detail_window(into, from->windows[i].end_us);
        if (c) c->in += from->windows[i].in, c->late += from->windows[i].late, c->out += from->windows[i].out;
    }
}

wr_window_count *wr_detail_window(wr_detail *d, int64_t end_us) {
    uint32_t at = d->n_windows, low = 0;
    if (at && d->windows[at - 1].end_us == end_us) return &d->windows[at - 1]; /* mostly */
    while (low < at) { /* rows far out of order */
        uint32_t mid = low + (at - low) / 2;
        if (d->windows[mid].end_us < end_us) low = mid + 1;
        else at = mid;
    }
    if (at < d->n_windows && d->windows[at].end_us == end_us) return &d->windows[at];
    if (d->n_windows == WR_DETAIL_WINDOWS) {
        if (!at) return NULL;
        memmove(d->windows, d->windows + 1, --at * sizeof *d->windows);
    } else {
        memmove(d->windows + at + 1, d->windows + at, (d->n_windows++ - at) * sizeof *d->windows);
    }
    d->windows[at] = (wr_window_count){.end_us = end_us};
    return &d->windows[at];
}

/* ---- in a checkpoint ---- */
static void spans_save(const wr_spans *s, wr_sbuf *out) {
    uint32_t used = 0;
    for (uint32_t b = 0; b < WR_SPAN_BUCKETS; b++) used += s->at[b] != 0;
    wr_put_i64(out, s->least_us), wr_put_i64(out, s->most_us), wr_put_u32(out, used);
    for (uint32_t b = 0; b < WR_SPAN_BUCKETS; b++)
        if (s->at[b]) wr_put_u32(out, b), wr_put_u64(out, s->at[b]);
}
static void spans_load(wr_spans *s, wr_reader *in) {
    s->least_us = wr_get_i64(in), s->most_us = wr_get_i64(in);
    for (uint32_t used = wr_get_u32(in); used > 0 && !in->bad; used--) {
        uint32_t b = wr_get_u32(in);
        uint64_t n = wr_get_u64(in);
        if (b < WR_SPAN_BUCKETS) s->at[b] += n, s->n += n;
    }
}
void wr_detail_save(const wr_detail *d, wr_sbuf *out) {
    wr_put_u32(out, WR_MISS_COUNT);
    for (uint32_t s = 0; s < 2; s++) {
        for (uint32_t w = 0; w < WR_MISS_COUNT; w++) wr_put_u64(out, d->misses[s][w]);
        for (uint32_t e = 0; e < 2; e++) spans_save(&d->outside[s][e], out);
    }
    spans_save(&d->late, out);
    wr_put_i64(out, d->window_us);
    wr_put_u32(out, d->n_windows);
    for (uint32_t i = 0; i < d->n_windows; i++) {
        const wr_window_count *c = &d->windows[i];
        wr_put_i64(out, c->end_us), wr_put_u64(out, c->in), wr_put_u64(out, c->late), wr_put_u64(out, c->out);
    }
}
void wr_detail_load(wr_detail *d, wr_reader *in) {
    memset(d, 0, sizeof *d);
    uint32_t n_misses = wr_get_u32(in);
    for (uint32_t s = 0; s < 2; s++) {
        for (uint32_t w = 0; w < n_misses && !in->bad; w++) {
            uint64_t n = wr_get_u64(in);
            if (w < WR_MISS_COUNT) d->misses[s][w] = n;
        }
        for (uint32_t e = 0; e < 2; e++) spans_load(&d->outside[s][e], in);
    }
    spans_load(&d->late, in);
    d->window_us = wr_get_i64(in);
    for (uint32_t n = wr_get_u32(in); n > 0 && !in->bad; n--) {
        wr_window_count  c = {.end_us = wr_get_i64(in)}, *to;
        c.in = wr_get_u64(in), c.late = wr_get_u64(in), c.out = wr_get_u64(in);
        if (!in->bad && (to = wr_detail_window(d, c.end_us))) *to = c;
    }
}
