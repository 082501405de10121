/* op/assign_near.h: the nearest points that are left, for ASSIGN's candidates.
 *
 * Idea       a k-d tree (Bentley 1975) over points in space: a plane has z = 0, places on the earth are points of the unit sphere, where the straight line
 *            grows with the distance along the ground, so that neither the date line nor the poles are special. Points can be taken out.
 * Invariant  of two points equally far the one of the lower index comes first.
 * Thread     one.  Memory: O(points), freed by wr_near_free.                                                                     */
#pragma once
#include "base/compiler.h"

typedef struct wr_near wr_near;
typedef struct wr_near_hit { double far; uint32_t at; } wr_near_hit; /* far: square of the straight line */
wr_near *wr_near_new(bool earth, const double *xy, uint32_t n);      /* (copies) xy: x, y of each point */
void     wr_near_free(wr_near *near);
void     wr_near_take(wr_near *near, uint32_t at);                   /* out of it; once */
/* The nearest points, ascending, at most room of them. skip (ascending, n_skip of them) are passed over. Returns how many. */
uint32_t wr_near_find(const wr_near *near, double x, double y, const uint32_t *skip, uint32_t n_skip, wr_near_hit *hits, uint32_t room);
