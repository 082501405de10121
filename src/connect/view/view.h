/* connect/view/view.h: the rows of materialized views, kept for readers while the job goes on. (contract)
 *
 * Idea       CREATE MATERIALIZED VIEW v AS SELECT ... is an operator of the job that keeps the query's rows here, ordered by key, in versions. Every row has
 *            the version from which it holds; workers write what will be the next version, and it is published as a whole when the job has reached a cut.
 *            A reader pins a published version and sees that one, whatever is written meanwhile.
 * Cut        a line between two turns of the input: all that was read before it has gone through the whole job, nothing of what was read after it has.
 *            Markers that flow with the rows make it (run/cut.c), every WR_VIEW_CUT_US when the job keeps up. All views of a job are cut by the same line and
 *            have the same version then, so several views pinned together belong together.
 * Key        columns that identify a row: those of the query's upsert key (n_key > 0), else the whole row, and equal rows are counted. Order is that of the
 *            key's columns as in ORDER BY, NULL first.
 * Blocking   a reader holds a lock of a shard (one a worker) for some microseconds a piece; nothing else stands between readers and workers.
 * Old ones   versions that nobody pins go, but for the last ones that subscribers may come back to (bounded in bytes and age). A pin that holds too much for too
 *            long is taken away: reads at it then say WR_VIEW_GONE.
 * Numbers    a version is one of a run of the job: `run` differs after each start, so a number kept from before is not taken for one of now.
 * Thread     readers: any, several at once; one cut, scan or subscription by one thread at a time. The writers' side is writer.h.                            */
#pragma once
#include "type/value.h"

#define WR_VIEW_GONE "WR403" /* code of errors (WR_LIMIT): the version is not kept any more */
#define WR_VIEW_CUT_US (INT64_C(100) * 1000)

typedef struct wr_view wr_view;

/* ---- finding: reference counted ---- */
wr_view *wr_view_find(wr_str name);                      /* (owned by the caller) NULL: there is none. The newest of that name */
uint32_t wr_views_list(wr_view **out, uint32_t max);     /* (each owned by the caller) in order of creation; returns how many there are */
wr_view *wr_view_ref(wr_view *view);
void     wr_view_unref(wr_view *view);                   /* NULL is legal */

typedef struct wr_view_as_of {     /* of a cut */
    uint64_t run;                  /* of the job */
    uint64_t version;              /* 0: nothing was published yet; else grows with each cut */
    int64_t  watermark_us;         /* least of the view's instances: the event time up to which the input is in it; WR_TIME_MIN: none, WR_TIME_MAX: the input has ended */
    int64_t  published_us;         /* wall clock */
    uint64_t rows;                 /* in this version, equal ones counted */
} wr_view_as_of;
/* What does not change, valid while the view is held. */
wr_str           wr_view_name(const wr_view *view);
const wr_schema *wr_view_schema(const wr_view *view);
const uint32_t  *wr_view_key(const wr_view *view, uint32_t *n); /* columns that identify a row; *n = 0: the whole row */
const uint32_t  *wr_view_order(const wr_view *view, uint32_t *n); /* columns by which rows are ordered, and ranges and prefixes are given: the key, or all columns */
wr_str           wr_view_query(const wr_view *view);     /* SQL text; may be empty */
const struct wr_tz *wr_view_tz(const wr_view *view);
/* What changes. */
typedef struct wr_view_info {
    wr_view_as_of as_of;           /* the newest published */
    int64_t  bytes;                /* of rows, index and old versions */
    int64_t  old_bytes;            /* of them: versions that are kept for pins and subscribers */
    uint32_t pins;
    bool     ended;                /* its job runs no more: this version is the last */
} wr_view_info;
void wr_view_info_get(const wr_view *view, wr_view_info *out);

/* ---- cuts ---- */
typedef struct wr_view_cut wr_view_cut;
/* The newest version; of several views of one job the same one. version 0 (nothing published yet): a cut without rows. */
wr_view_cut *wr_view_pin(wr_view *view);
void         wr_view_pin_all(wr_view *const *views, uint32_t n, wr_view_cut **out);
/* A version seen before: NULL and WR_VIEW_GONE if it is of another run or not kept any more. */
wr_view_cut *wr_view_pin_at(wr_view *view, uint64_t run, uint64_t version, wr_err *err);
const wr_view_as_of *wr_view_cut_as_of(const wr_view_cut *cut);
wr_view     *wr_view_cut_view(const wr_view_cut *cut);   /* borrowed */
void         wr_view_unpin(wr_view_cut *cut);            /* NULL is legal */

/* ---- reading ----
 * Keys are given as bytes that sort like the values: wr_view_key_put appends the encoding of the first n columns of the view's order. */
wr_status wr_view_key_put(const wr_view *view, const wr_value *values, uint32_t n, wr_sbuf *out, wr_err *err); /* WR_USER: a value of another type than its column */
void      wr_view_key_put_row(const wr_view *view, const wr_batch *batch, uint32_t row, wr_sbuf *out);         /* of a row with the view's columns */
/* The row of a whole key: a batch of one row (several equal ones, where there is no key), NULL if there is none. O(log n). */
wr_status wr_view_get(wr_view_cut *cut, wr_str key, wr_batch **out, wr_err *err);

typedef struct wr_view_range {     /* zero: everything. ptr NULL: no such end */
    wr_str from, to;               /* keys or beginnings of keys: rows whose key is >= from; < to, or with `to_inclusive` also those that begin with `to` */
    bool   from_exclusive;         /* not those that begin with `from` */
    bool   to_inclusive;
    wr_str after;                  /* go on behind a place that wr_view_scan_at gave */
} wr_view_range;
typedef struct wr_view_scan wr_view_scan;
wr_view_scan *wr_view_scan_new(wr_view_cut *cut, const wr_view_range *range);   /* copies the range; the cut outlives it */
/* The next rows in order, at most max and WR_BATCH_MAX; *out NULL: the end. */
wr_status     wr_view_scan_next(wr_view_scan *scan, uint32_t max, wr_batch **out, wr_err *err);
void          wr_view_scan_at(const wr_view_scan *scan, wr_sbuf *out);          /* opaque: the place behind the last row given */
void          wr_view_scan_free(wr_view_scan *scan);                            /* NULL is legal */

/* ---- changes ---- */
typedef struct wr_view_sub wr_view_sub;
/* Changes behind the version of this cut (the subscription holds the version by itself from then on). */
wr_view_sub *wr_view_sub_new(wr_view_cut *from);
/* The next changes up to what is published now, with their kinds: +I, -D, and -U +U side by side where a row of a key changed (`before`: else +U alone). What changed several times in between
 * comes once, as the difference. *out NULL: that is all up to *as_of, from which the next call goes on. */
wr_status    wr_view_sub_next(wr_view_sub *sub, bool before, uint32_t max, wr_batch **out, wr_view_as_of *as_of, wr_err *err);
void         wr_view_sub_free(wr_view_sub *sub);
/* Called after each publication in which rows changed, and at the end of the job, by the worker that made it: must be short and must not call into the view. Not any more when
 * unlisten has returned. */
typedef struct wr_view_listener { void (*published)(void *arg); void *arg; struct wr_view_listener *next; } wr_view_listener;
void wr_view_listen(wr_view *view, wr_view_listener *listener);   /* borrows it until unlisten */
void wr_view_unlisten(wr_view *view, wr_view_listener *listener);
