/* op/assign_solve.h: one round of ASSIGN: which courier gets which order.
 *
 * Idea       as many orders as possible get a courier; among all such choices the one with the least sum of distance - wait_weight * waited seconds, in
 *            whole thousandths. That is a minimum-cost flow on a bipartite graph (Kuhn 1955; solved by LEMON's network simplex behind assign_lemon.h).
 *            Greedy, to compare: the orders from the oldest on, each gets the nearest courier that is left.
 * Bounds     all pairs within max_distance where they are WR_ASSIGN_ARCS_MAX at most; else each order is offered its nearest couriers, as many as there are
 *            orders (then the answer is still the best: a courier farther away than that many others is never needed) or as fit into the bound, and the
 *            courier that greedy would give it: then it is near the best, and never serves fewer than greedy nor as many for more. Orders that went without
 *            are offered what is left, until nobody gets one. Of more than WR_ASSIGN_SIDE_MAX orders the oldest are solved, the others served greedily,
 *            and counted. Couriers are not limited.
 * Batches    orders that went without (the oldest WR_ASSIGN_SIDE_MAX of them) may join a courier who has one order of this round; that courier stays within
 *            max_distance and unbarred for both. He drives to both pick-ups, in either order, and then to both drops, in either order; apart means one order
 *            after the other: courier, pick-up, drop, second pick-up, second drop. The shortest joint route must be at most (1 - batch_share) of that. Again
 *            as many as possible, then the least sum of detours (joint route less the first order's own, less what the waiting is worth); greedy: from the
 *            oldest on, the least detour. A courier drives two orders at most. With more than WR_ASSIGN_ARCS_MAX pairs, an order is held against the 32
 *            couriers whose pick-ups are nearest to its own.
 * Invariant  the same input in the same order gives the same picks.
 * Thread     any; no state outside the call.  Memory: freed before it returns.                                                 */
#pragma once
#include "base/err.h"
#include "base/mem.h"

enum { WR_ASSIGN_ARCS_MAX = 65536, WR_ASSIGN_SIDE_MAX = 2048 };
#define WR_ASSIGN_NOBODY UINT32_MAX

typedef struct wr_assign_how {
    bool   greedy;
    bool   earth;           /* x is the longitude, y the latitude, in degrees; distances in metres (great circle). Else a plane in the columns' own unit */
    double max_distance;    /* farther pairs are not made; 0: no limit */
    double wait_weight;     /* distance that a second of waiting is worth */
    double batch_share;     /* two orders may share a courier where their joint route is at least this share shorter than both apart; 0: never */
} wr_assign_how;
typedef struct wr_assign_order { /* in the order of their age */
    double          x, y, to_x, to_y;   /* to_*: only for batches */
    int64_t         waited_us;
    uint32_t        n_barred;           /* couriers that may not get it: indices, ascending */
    const uint32_t *barred;             /* (borrows) */
} wr_assign_order;
typedef struct wr_assign_courier { double x, y; } wr_assign_courier;
typedef struct wr_assign_pick {         /* of each order */
    uint32_t courier;                   /* WR_ASSIGN_NOBODY */
    uint32_t stop;                      /* 1; 2: the second pick-up of a batch */
    double   distance;                  /* to the pick-up: from where the courier stood; of a stop 2: from the first pick-up */
} wr_assign_pick;
typedef struct wr_assign_sum {
    uint32_t n_assigned, n_batched, n_greedy; /* n_greedy: served greedily although the best was asked for (too many) */
    int64_t  cost;                      /* of the pairs before batching, in thousandths */
} wr_assign_sum;

double wr_assign_distance(bool earth, double x0, double y0, double x1, double y1);
/* picks: n_orders. Coordinates are finite, barred indices ascend; a pair farther than a double holds is not made. Errors: WR452 the solver found no answer
 * (out of memory). */
wr_status wr_assign_solve(const wr_assign_how *how, const wr_assign_order *orders, uint32_t n_orders, const wr_assign_courier *couriers, uint32_t n_couriers,
                          wr_assign_pick *picks, wr_assign_sum *sum, wr_err *err);
