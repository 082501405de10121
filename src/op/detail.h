/* op/detail.h: what a ledger's sums do not say: how late rows were, how far the nearest partner was, and the counts of the newest windows.
 *
 * Idea       spans of time go into a log-linear histogram: exact up to 8 us, then 8 buckets for each power of two, so a quantile is at most 12.5 % too large.
 *            Windows are a ring of the WR_DETAIL_WINDOWS newest by end; what is older than a full ring's oldest is not counted. Instances may have
 *            different ones, but whatever is among the newest of all is among the newest of everyone who has it, so their sum is exact.
 * Cost       touched for rows that are late or have no partner, and once for each batch and pane.
 * Memory     fixed: about 12 KiB an instance; part of the checkpoint with the ledger.
 * Thread     one worker, as the ledger.                                                                                        */
#pragma once
#include "type/type.h"

enum { WR_SPAN_SUB = 8, WR_SPAN_BUCKETS = 8 + 8 * 42 /* up to 2^45 us = 1.1 years; more: the last one */, WR_DETAIL_WINDOWS = 64 };

typedef struct wr_spans {              /* lengths of time, >= 0 */
    uint64_t n;
    int64_t  least_us, most_us;        /* exact; n == 0: not set */
    uint64_t at[WR_SPAN_BUCKETS];
} wr_spans;
uint32_t wr_span_bucket(int64_t us);
int64_t  wr_span_of_bucket(uint32_t bucket);          /* the longest that it takes */
void     wr_spans_add(wr_spans *s, int64_t us);
void     wr_spans_take(wr_spans *s, int64_t us);      /* one that was added; least and most stay */
/* The shortest span that leaves at most `beyond` of them longer; 0: all may be. */
int64_t  wr_spans_covering(const wr_spans *s, uint64_t beyond);

typedef enum wr_miss {                 /* why a row of a join had no partner */
    WR_MISS_NO_PARTNER,                /* none of its key is known: it never came, or was forgotten long before */
    WR_MISS_OUTSIDE,                   /* one of its key was outside the interval (temporal: its first version is later; window: it is in another one) */
    WR_MISS_LATE_PARTNER,              /* one was inside and came too late, or was too late for it */
    WR_MISS_CONDITION,                 /* the rest of ON was not true */
    WR_MISS_DELETED,                   /* temporal: the version at its time was a deletion */
    WR_MISS_NULL_KEY,
    WR_MISS_COUNT
} wr_miss;
const char *wr_miss_name(wr_miss why); /* "partner outside interval" */

typedef struct wr_window_count { int64_t end_us; uint64_t in, late, out; } wr_window_count;
typedef struct wr_detail {
    uint64_t misses[2][WR_MISS_COUNT]; /* by side; their sum is the ledger's unmatched */
    wr_spans outside[2][2];            /* of OUTSIDE, by side of the row and by which end of the interval it would have to go to: 0 the upper, 1 the lower */
    wr_spans late;                     /* sources: how far behind the watermark late rows were */
    int64_t  window_us;                /* length of what one count stands for; 0: it has none */
    uint32_t n_windows;                /* sorted by end */
    wr_window_count windows[WR_DETAIL_WINDOWS];
} wr_detail;
void wr_detail_add(wr_detail *into, const wr_detail *from);
/* The count of the window that ends there; NULL: it is older than all that there is room for, and is not counted. */
wr_window_count *wr_detail_window(wr_detail *d, int64_t end_us);
void wr_detail_save(const wr_detail *d, wr_sbuf *out);
void wr_detail_load(wr_detail *d, wr_reader *in);
