/* lab/city.h: a city of restaurants, guests and couriers, for lab dispatch; private to lab/.
 *
 * Idea       orders (when, from which restaurant, to where) are drawn before the evening begins and are the same whoever dispatches. The city lives in rounds:
 *            city_step says what happened in the time before a round, as rows; the dispatcher answers with city_assign; the couriers drive straight lines.
 *            One who has nothing to do drives back to where he waits, beside the restaurants, and reports his place on the way. Half of the orders of an
 *            evening come in its middle third.
 * Units      metres, microseconds, metres a second.
 * Invariant  an order is given to one courier once, a courier gets orders only while free, at most two of one round: what breaks this is counted (faults).
 * Thread     one.  Memory: the city's own.                                                                                       */
#pragma once
#include "base/str.h"
#include "base/hash.h"

typedef struct city_opts {
    uint64_t seed;
    uint32_t n_couriers, n_restaurants;
    double   side, speed;            /* of the square; of a courier */
    double   per_hour;               /* orders, mean over the evening */
    int64_t  evening_us, every_us, begin_us; /* orders come in [begin, begin + evening) */
    int64_t  handover_us;            /* at each door */
    int64_t  report_us;              /* a free courier on his way back reports that often, one who waits a tenth as often */
    int64_t  promise_us;             /* an order that is at the door later than that is late */
} city_opts;

typedef struct city_row { bool courier; uint32_t id; double x, y, to_x, to_y; const char *status; int64_t ts_us; } city_row;
typedef WR_ARR(city_row) city_rows;

typedef struct city_sum {
    uint32_t n_orders, n_delivered, n_late, n_nobody, n_batched;
    double   wait_s;                 /* from the order to its pick-up, summed */
    double   wait_p95_s, wait_max_s;
    double   to_pick_up_m;           /* driven without food, summed */
    uint32_t faults;
} city_sum;

typedef struct city city;
city *city_new(const city_opts *opts);
void  city_free(city *c);
void  city_step(city *c, int64_t round_us, city_rows *rows);  /* adds what happened in [round - every, round), by time */
void  city_assign(city *c, uint32_t order, uint32_t courier, uint32_t stop, int64_t round_us); /* all of a round, then */
void  city_nobody(city *c, uint32_t order);
void  city_depart(city *c, int64_t round_us);                 /* those that got something in this round drive off */
uint32_t city_waiting(const city *c);                          /* orders that came and that nobody has */
bool  city_over(const city *c, int64_t round_us);             /* nothing will happen any more */
void  city_add_up(const city *c, city_sum *out);
