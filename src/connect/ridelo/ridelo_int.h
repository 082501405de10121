/* connect/ridelo/ridelo_int.h: what ridelo_plan.c makes and ridelo.c writes.
 *
 * Idea       per stream one array of records (the true events) and one array of lines in arrival order that point to them. */
#pragma once
#include "connect/nexmark/gen_text.h"
#include "connect/ridelo/ridelo.h"

typedef struct order_rec {
    int64_t  ts;
    uint32_t user, restaurant, courier, cents;
    bool     silent; /* the courier's phone sends nothing for it */
} order_rec;
typedef struct payment_rec {
    int64_t  ts;
    uint32_t order; /* index of its order */
    bool     captured;
} payment_rec;
typedef struct cancellation_rec {
    int64_t  ts;
    uint32_t order, reason;
} cancellation_rec;
typedef struct chargeback_rec {
    int64_t  ts;
    uint32_t payment;
} chargeback_rec;
typedef struct ping_rec {
    int64_t  ts;
    uint32_t order;
    int32_t  lat, lon;
} ping_rec;
typedef struct change_rec {
    int64_t  ts;
    uint32_t restaurant, commission_bp;
} change_rec;

typedef enum line_kind { LINE_PLAIN, LINE_DUPLICATE, LINE_MALFORMED, LINE_FUTURE } line_kind;
typedef struct line_rec {
    int64_t  arrival, ts;
    uint32_t rec; /* index into the stream's records */
    uint32_t id;  /* what the line says its id is: rec + 1, for future-dated ones a number after all others */
    uint32_t seq; /* breaks ties of arrival */
    uint8_t  kind, damage;
} line_rec;
typedef WR_ARR(line_rec) line_arr;

struct wr_ridelo {
    wr_ridelo_config         config;
    WR_ARR(order_rec)        orders; /* by time */
    WR_ARR(payment_rec)      payments;
    WR_ARR(cancellation_rec) cancellations;
    WR_ARR(chargeback_rec)   chargebacks;
    WR_ARR(ping_rec)         pings;
    WR_ARR(change_rec)       changes;
    line_arr                 lines[WR_RIDELO_STREAMS];
    wr_ridelo_counts         counts[WR_RIDELO_STREAMS];
};

void ridelo_plan(wr_ridelo *gen); /* fills records, lines and counts from config */
