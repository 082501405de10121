/* connect/ridelo/ridelo.h: one day (or any span) of a food-delivery company as six event logs, with faults at stated rates.
 *
 * Idea       the true story is made first (restaurants, orders, payments, couriers); then each event gets the way in which it reaches
 *            the log: in time, out of order within the stream's watermark delay, late beyond it, twice, with a broken copy before
 *            it, or with a copy dated hours ahead. The log is the lines in order of arrival.
 * Invariants same configuration, same bytes. The answers of examples/ridelo/job.sql do not depend on how a reader interleaves the
 *            six logs: a late or repeated event of a join's input is placed only where no partner can have expired before it
 *            or none exists (rules at disposition() in ridelo_plan.c; examples/ridelo/truth.py checks them on every run).
 * Size       everything is held in memory: about 60 bytes a line (24 h at the defaults: 2.4 M lines, 150 MB).
 * Thread     a wr_ridelo never changes after wr_ridelo_new: share it freely.                                             */
#pragma once
#include "base/err.h"
#include "base/str.h"

typedef enum wr_ridelo_stream {
    WR_RIDELO_ORDERS,
    WR_RIDELO_CANCELLATIONS,
    WR_RIDELO_PAYMENTS,
    WR_RIDELO_CHARGEBACKS,
    WR_RIDELO_PINGS,
    WR_RIDELO_CHANGES,
} wr_ridelo_stream;
#define WR_RIDELO_STREAMS 6
/* A row dated more than this ahead of the newest row before it is refused ('watermark.future-guard' in job.sql). */
#define WR_RIDELO_FUTURE_GUARD_MS (6 * 3600000ll)

typedef struct wr_ridelo_config {
    uint64_t seed;             /* 1 */
    int64_t  start_ms;         /* 2026-06-01 00:00:00 */
    int64_t  duration_ms;      /* 24 h of orders; what follows from the last of them comes later */
    uint32_t orders_per_day;   /* 400,000: 2.4 M lines in 24 h */
    uint32_t n_users, n_couriers, n_restaurants;                 /* 50,000, 3,000, 2,000 */
    uint32_t hot_ppm;          /* share of restaurant 1 in all orders: 300,000 = 30 % */
    uint32_t out_of_order_ppm, late_ppm, duplicate_ppm, malformed_ppm, future_ppm; /* 50000, 5000, 5000, 500, 200 */
    int64_t  chargeback_min_ms, chargeback_max_ms;               /* after the payment: 10 min to 6 h; use days for the real thing */
    uint32_t n_segments;       /* 1: orders.jsonl. k > 1: orders/orders-00000.jsonl ..., one log cut into k pieces */
} wr_ridelo_config;

typedef struct wr_ridelo_order { int64_t order_id, user_id, restaurant_id, courier_id, amount_cents; } wr_ridelo_order;
typedef struct wr_ridelo_cancellation { int64_t cancellation_id, order_id, user_id; wr_str reason; } wr_ridelo_cancellation;
typedef struct wr_ridelo_payment { int64_t payment_id, order_id, user_id, amount_cents; wr_str status; } wr_ridelo_payment;
typedef struct wr_ridelo_chargeback { int64_t chargeback_id, payment_id, user_id, amount_cents; } wr_ridelo_chargeback;
typedef struct wr_ridelo_ping { int64_t ping_id, courier_id, order_id, lat_udeg, lon_udeg; } wr_ridelo_ping; /* millionths of a degree */
typedef struct wr_ridelo_change { int64_t change_id, restaurant_id, commission_bp; wr_str cuisine, city; } wr_ridelo_change;

/* How a broken line is broken. */
typedef enum wr_ridelo_damage {
    WR_RIDELO_INTACT,
    WR_RIDELO_TORN,     /* cut off after two thirds */
    WR_RIDELO_BAD_ID,   /* "x17" for 17 */
    WR_RIDELO_BAD_TIME, /* month 13 */
    WR_RIDELO_GARBAGE,  /* not JSON at all */
} wr_ridelo_damage;

typedef struct wr_ridelo_event {
    wr_ridelo_stream stream;
    wr_ridelo_damage damage;
    int64_t          ts_ms, arrival_ms; /* event time; when it reaches the log */
    union {
        wr_ridelo_order        order;
        wr_ridelo_cancellation cancellation;
        wr_ridelo_payment      payment;
        wr_ridelo_chargeback   chargeback;
        wr_ridelo_ping         ping;
        wr_ridelo_change       change; /* the name is "Restaurant <id>" */
    };
} wr_ridelo_event;

/* What one log holds, by what a reader sees: lines = accepted + malformed + future. Of the accepted: late = not newer than the
 * watermark before the row; out_of_order = older than a row before it, but not late; duplicates = delivered before (also counted in
 * the other two where they apply). */
typedef struct wr_ridelo_counts {
    uint64_t lines, accepted, malformed, future, out_of_order, late, duplicates;
} wr_ridelo_counts;

typedef struct wr_ridelo wr_ridelo;
/* Called with whole lines of one file, file after file. A status other than WR_OK stops the writer. */
typedef wr_status (*wr_ridelo_emit)(void *arg, int file, const char *bytes, size_t len, wr_err *err);

void      wr_ridelo_config_default(wr_ridelo_config *config);
wr_status wr_ridelo_new(const wr_ridelo_config *config, wr_ridelo **out, wr_err *err); /* WR_USER names the field that is wrong */
void      wr_ridelo_free(wr_ridelo *gen); /* NULL is legal */

const char *wr_ridelo_stream_name(wr_ridelo_stream stream);             /* "orders", ... */
int64_t     wr_ridelo_watermark_delay_ms(wr_ridelo_stream stream);      /* as declared in job.sql */
wr_ridelo_counts wr_ridelo_counts_of(const wr_ridelo *gen, wr_ridelo_stream stream);
void      wr_ridelo_event_at(const wr_ridelo *gen, wr_ridelo_stream stream, uint64_t line, wr_ridelo_event *event);
void      wr_ridelo_json(const wr_ridelo_event *event, wr_sbuf *buf);   /* appends one line, with its newline */

/* Files: n_segments for each stream, then truth.json (configuration and counts). Names are relative, with at most one folder. */
int       wr_ridelo_n_files(const wr_ridelo *gen);
void      wr_ridelo_file(const wr_ridelo *gen, int file, wr_sbuf *name); /* replaces the content of name */
wr_status wr_ridelo_write(const wr_ridelo *gen, wr_ridelo_emit emit, void *arg, wr_err *err);
