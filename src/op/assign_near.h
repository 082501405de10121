/* op/assign_near.h: the nearest points that are left, for ASSIGN's candidates.
 *
 * Idea       a k-d tree (Bentley 1975) over points in space: a plane has z = 0, places on the earth are points of the unit sphere, where the straight line
 *            grows with the distance along the ground, so that neither the date line nor the poles are special. Points can be taken out and put back.
 *            Each subtree knows its box and its lowest index: a subtree of points equally far is passed over as one, so that a depot full of couriers costs
 *            no more than couriers all over the town.
 * Invariant  of two points equally far the one of the lower index comes first.
 * Thread     one.  Memory: O(points), freed by wr_nearby_free.                                                                   */
#pragma once
#include "base/compiler.h"

#define WR_EARTH_RADIUS 6371008.8 /* metres, mean */

typedef struct wr_nearby wr_nearby;
typedef struct wr_nearby_hit { double far; uint32_t at; } wr_nearby_hit; /* far: square of the straight line */
typedef struct wr_nearby_query {
    double          x, y, max_distance; /* 0: any. Along the ground; what is beyond it by a billionth may come too: the caller looks exactly */
    const uint32_t *skip;               /* ascending: these are passed over */
    uint32_t        n_skip;
} wr_nearby_query;

wr_nearby *wr_nearby_new(bool earth, const double *xy, uint32_t n); /* (copies) xy: x, y of each point */
void       wr_nearby_free(wr_nearby *near);
void       wr_nearby_set(wr_nearby *near, uint32_t at, bool here);  /* takes it out or puts it back */
/* The nearest points, ascending, at most room of them. Returns how many. */
uint32_t wr_nearby_find(const wr_nearby *near, const wr_nearby_query *query, wr_nearby_hit *hits, uint32_t room);
/* All points, in no order of use; room + 1: there are more than room. */
uint32_t wr_nearby_all(const wr_nearby *near, const wr_nearby_query *query, wr_nearby_hit *hits, uint32_t room);
