/* op/assign_solve.c: see assign_solve.h.
 *
 * Idea       candidates (assign_near.h) become arcs with whole costs, LEMON picks. Costs are moved so that the least is 0, and steps are a thousandth unless
 *            the costs span more than 2^40 of them: then sums stay far below 2^62, whatever the coordinates.                     */
#include "op/assign_solve.h"
#include "base/str.h"
#include "op/assign_lemon.h"
#include "op/assign_near.h"
#include <math.h>
#include <stdlib.h>

enum { BATCH_NEAR = 32 };
#define COST_MAX ((double)(1LL << 40))
#define EARTH_RADIUS 6371008.8 /* metres, mean */

typedef struct pair { uint32_t left, right; double cost; } pair; /* left: an order; right: a courier, or the order that has one */
typedef WR_ARR(pair) pairs;

typedef struct round_ {
    const wr_assign_how     *how;
    const wr_assign_order   *orders;
    const wr_assign_courier *couriers;
    uint32_t                 n_orders, n_couriers;
    wr_assign_pick          *picks;
    bool                    *taken; /* couriers */
} round_;

double wr_assign_distance(bool earth, double x0, double y0, double x1, double y1) {
    const double rad = M_PI / 180;
    if (!earth) return hypot(x1 - x0, y1 - y0);
    double a = sin((y1 - y0) * rad / 2), b = sin((x1 - x0) * rad / 2); /* haversine */
    return 2 * EARTH_RADIUS * asin(sqrt(WR_MIN(1.0, a * a + cos(y0 * rad) * cos(y1 * rad) * b * b)));
}

static double reach(const round_ *r, uint32_t order, uint32_t courier) {
    const wr_assign_order   *o = &r->orders[order];
    const wr_assign_courier *c = &r->couriers[courier];
    return wr_assign_distance(r->how->earth, c->x, c->y, o->x, o->y);
}
static bool in_reach(const round_ *r, double far) { return r->how->max_distance <= 0 || far <= r->how->max_distance; }
static double worth(const round_ *r, uint32_t order) { return r->how->wait_weight * ((double)r->orders[order].waited_us / 1e6); }
static bool is_barred(const wr_assign_order *o, uint32_t courier) {
    uint32_t lo = 0, hi = o->n_barred;
    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        if (o->barred[mid] < courier) lo = mid + 1;
        else hi = mid;
    }
    return lo < o->n_barred && o->barred[lo] == courier;
}

/* ---- the best: pairs -> right of each left ---- */

static wr_status solve_pairs(const pairs *p, uint32_t n_left, uint32_t n_right, uint32_t *right_of, wr_err *err) {
    double least = 0, most = 0;
    for (uint32_t i = 0; i < p->n; i++) {
        least = i ? WR_MIN(least, p->at[i].cost) : p->at[i].cost;
        most = i ? WR_MAX(most, p->at[i].cost) : p->at[i].cost;
    }
    for (uint32_t l = 0; l < n_left; l++) right_of[l] = WR_ASSIGN_NOBODY;
    if (!p->n) return WR_OK;
    double         span = most / 2 - least / 2; /* halves: they may be as large as a double gets */
    double         steps = span * 2000 <= COST_MAX ? 1000 : COST_MAX / span / 2;
    wr_assign_arc *arcs = wr_malloc(p->n * sizeof *arcs);
    for (uint32_t i = 0; i < p->n; i++) {
        double cost = (p->at[i].cost / 2 - least / 2) * steps * 2;
        arcs[i] = (wr_assign_arc){p->at[i].left, p->at[i].right, llround(WR_MIN(WR_MAX(cost, 0.0), COST_MAX))};
    }
    int64_t nobody = ((int64_t)WR_MIN(n_left, n_right) + 1) * ((int64_t)COST_MAX + 1);
    bool    ok = wr_assign_lemon(n_left, n_right, arcs, p->n, nobody, right_of);
    wr_free(arcs);
    if (ok) return WR_OK;
    wr_fail(err, WR_LIMIT, "WR452", "the solver of ASSIGN found no answer for %u orders and %u pairs", n_left, p->n);
    wr_err_hint(err, "a smaller 'max_distance' or more partitions make rounds smaller");
    return WR_LIMIT;
}

/* ---- first orders ---- */

static double *places_of_couriers(const round_ *r, const uint32_t *free_ones, uint32_t n) {
    double *xy = wr_malloc(WR_MAX(n, 1u) * 2 * sizeof *xy);
    for (uint32_t i = 0; i < n; i++) {
        xy[2 * i] = r->couriers[free_ones[i]].x;
        xy[2 * i + 1] = r->couriers[free_ones[i]].y;
    }
    return xy;
}
static void add_pair(const round_ *r, pairs *p, uint32_t left, uint32_t order, uint32_t right, uint32_t courier) {
    double far = reach(r, order, courier);
    if (isfinite(far) && in_reach(r, far)) wr_arr_push(p, ((pair){left, right, far - worth(r, order)}));
}
static void all_pairs(const round_ *r, const uint32_t *open, uint32_t n_open, const uint32_t *idle, uint32_t n_idle, pairs *p) {
    for (uint32_t l = 0; l < n_open; l++)
        for (uint32_t c = 0; c < n_idle; c++)
            if (!is_barred(&r->orders[open[l]], idle[c])) add_pair(r, p, l, open[l], c, idle[c]);
}
static void near_pairs(const round_ *r, const uint32_t *open, uint32_t n_open, const uint32_t *idle, uint32_t n_idle, pairs *p) {
    uint32_t     room = WR_MIN(WR_MAX(1u, WR_ASSIGN_ARCS_MAX / n_open), n_open);
    double      *xy = places_of_couriers(r, idle, n_idle);
    wr_near     *near = wr_near_new(r->how->earth, xy, n_idle);
    wr_near_hit *hits = wr_malloc(room * sizeof *hits);
    WR_ARR(uint32_t) skip = {0};
    for (uint32_t l = 0; l < n_open; l++) {
        const wr_assign_order *o = &r->orders[open[l]];
        skip.n = 0;
        for (uint32_t b = 0, c = 0; b < o->n_barred; b++) { /* barred couriers as places in idle; both ascend */
            while (c < n_idle && idle[c] < o->barred[b]) c++;
            if (c < n_idle && idle[c] == o->barred[b]) wr_arr_push(&skip, c);
        }
        uint32_t n = wr_near_find(near, o->x, o->y, skip.at, skip.n, hits, room);
        for (uint32_t i = 0; i < n; i++) add_pair(r, p, l, open[l], hits[i].at, idle[hits[i].at]);
    }
    wr_arr_free(&skip);
    wr_free(hits);
    wr_free(xy);
    wr_near_free(near);
}

/* Once over what is open and free; *n_got: orders that have somebody now. */
static wr_status best_once(round_ *r, const uint32_t *open, uint32_t n_open, uint32_t *n_got, bool *exact, wr_err *err) {
    WR_ARR(uint32_t) idle = {0};
    pairs p = {0};
    *n_got = 0;
    for (uint32_t c = 0; c < r->n_couriers; c++)
        if (!r->taken[c]) wr_arr_push(&idle, c);
    *exact = (uint64_t)n_open * idle.n <= WR_ASSIGN_ARCS_MAX || (uint64_t)n_open * n_open <= WR_ASSIGN_ARCS_MAX;
    if ((uint64_t)n_open * idle.n <= WR_ASSIGN_ARCS_MAX) all_pairs(r, open, n_open, idle.at, idle.n, &p);
    else near_pairs(r, open, n_open, idle.at, idle.n, &p);
    uint32_t *right_of = wr_malloc(WR_MAX(n_open, 1u) * sizeof *right_of);
    wr_status s = solve_pairs(&p, n_open, idle.n, right_of, err);
    for (uint32_t l = 0; l < n_open && s == WR_OK; l++) {
        if (right_of[l] == WR_ASSIGN_NOBODY) continue;
        uint32_t courier = idle.at[right_of[l]];
        r->picks[open[l]] = (wr_assign_pick){courier, 1, reach(r, open[l], courier)};
        r->taken[courier] = true;
        ++*n_got;
    }
    wr_free(right_of);
    wr_arr_free(&p);
    wr_arr_free(&idle);
    return s;
}
static wr_status best(round_ *r, uint32_t n_orders, wr_err *err) {
    WR_ARR(uint32_t) open = {0};
    uint32_t  n_got = 1;
    bool      exact = false;
    wr_status s = WR_OK;
    while (s == WR_OK && n_got && !exact) {
        open.n = 0;
        for (uint32_t o = 0; o < n_orders; o++)
            if (r->picks[o].courier == WR_ASSIGN_NOBODY) wr_arr_push(&open, o);
        if (!open.n) break;
        s = best_once(r, open.at, open.n, &n_got, &exact, err);
    }
    wr_arr_free(&open);
    return s;
}

static void greedy(round_ *r, uint32_t from, uint32_t to) {
    if (from >= to) return;
    uint32_t *all = wr_malloc(WR_MAX(r->n_couriers, 1u) * sizeof *all);
    for (uint32_t c = 0; c < r->n_couriers; c++) all[c] = c;
    double  *xy = places_of_couriers(r, all, r->n_couriers);
    wr_near *near = wr_near_new(r->how->earth, xy, r->n_couriers);
    for (uint32_t c = 0; c < r->n_couriers; c++)
        if (r->taken[c]) wr_near_take(near, c);
    for (uint32_t o = from; o < to; o++) {
        wr_near_hit hit;
        if (!wr_near_find(near, r->orders[o].x, r->orders[o].y, r->orders[o].barred, r->orders[o].n_barred, &hit, 1)) continue;
        double far = reach(r, o, hit.at);
        if (!isfinite(far) || !in_reach(r, far)) continue;
        r->picks[o] = (wr_assign_pick){hit.at, 1, far};
        r->taken[hit.at] = true;
        wr_near_take(near, hit.at);
    }
    wr_near_free(near);
    wr_free(xy);
    wr_free(all);
}

/* ---- batches ---- */

typedef struct joint { double detour, first, second; bool swapped; } joint; /* swapped: the new order is picked up first. first, second: ways to the pick-ups */

/* The shortest way that serves both, if it is short enough. */
static bool join_routes(const round_ *r, uint32_t has, uint32_t wants, joint *out) {
    bool                     e = r->how->earth;
    const wr_assign_order   *a = &r->orders[has], *b = &r->orders[wants];
    const wr_assign_courier *c = &r->couriers[r->picks[has].courier];
    double to_a = r->picks[has].distance, to_b = wr_assign_distance(e, c->x, c->y, b->x, b->y), between = wr_assign_distance(e, a->x, a->y, b->x, b->y);
    double a_a = wr_assign_distance(e, a->x, a->y, a->to_x, a->to_y), b_b = wr_assign_distance(e, b->x, b->y, b->to_x, b->to_y);
    double a_b = wr_assign_distance(e, a->x, a->y, b->to_x, b->to_y), b_a = wr_assign_distance(e, b->x, b->y, a->to_x, a->to_y);
    double drops = wr_assign_distance(e, a->to_x, a->to_y, b->to_x, b->to_y);
    double apart = to_a + a_a + wr_assign_distance(e, a->to_x, a->to_y, b->x, b->y) + b_b;
    double keep = to_a + between + WR_MIN(b_a, b_b) + drops, swap = to_b + between + WR_MIN(a_a, a_b) + drops;
    if (!isfinite(keep) || !isfinite(swap) || !isfinite(apart) || !in_reach(r, to_b) || is_barred(b, r->picks[has].courier) || WR_MIN(keep, swap) > (1 - r->how->batch_share) * apart) return false;
    out->swapped = swap < keep;
    out->detour = WR_MIN(keep, swap) - to_a - a_a;
    out->first = out->swapped ? to_b : to_a;
    out->second = between;
    return true;
}

/* Pairs of an order without a courier and an order that has one alone. */
static void batch_pairs(const round_ *r, const uint32_t *open, uint32_t n_open, const uint32_t *has, uint32_t n_has, pairs *p) {
    bool         all = (uint64_t)n_open * n_has <= WR_ASSIGN_ARCS_MAX;
    double      *xy = wr_malloc(WR_MAX(n_has, 1u) * 2 * sizeof *xy);
    wr_near_hit  hits[BATCH_NEAR];
    for (uint32_t h = 0; h < n_has; h++) {
        xy[2 * h] = r->orders[has[h]].x;
        xy[2 * h + 1] = r->orders[has[h]].y;
    }
    wr_near *near = wr_near_new(r->how->earth, xy, n_has);
    for (uint32_t l = 0; l < n_open; l++) {
        uint32_t n = all ? n_has : wr_near_find(near, r->orders[open[l]].x, r->orders[open[l]].y, NULL, 0, hits, BATCH_NEAR);
        for (uint32_t i = 0; i < n; i++) {
            uint32_t h = all ? i : hits[i].at;
            joint    j;
            if (join_routes(r, has[h], open[l], &j)) wr_arr_push(p, ((pair){l, h, j.detour - worth(r, open[l])}));
        }
    }
    wr_near_free(near);
    wr_free(xy);
}
static void least_detours(const pairs *p, uint32_t n_left, uint32_t n_right, uint32_t *right_of) { /* pairs ascend by left */
    bool *used = wr_calloc(WR_MAX(n_right, 1u), sizeof *used);
    for (uint32_t l = 0, i = 0; l < n_left; l++) {
        const pair *found = NULL;
        for (; i < p->n && p->at[i].left == l; i++)
            if (!used[p->at[i].right] && (!found || p->at[i].cost < found->cost)) found = &p->at[i];
        right_of[l] = found ? found->right : WR_ASSIGN_NOBODY;
        if (found) used[found->right] = true;
    }
    wr_free(used);
}
static wr_status batches(round_ *r, wr_assign_sum *sum, wr_err *err) {
    WR_ARR(uint32_t) open = {0}, has = {0};
    pairs     p = {0};
    wr_status s = WR_OK;
    for (uint32_t o = 0; o < r->n_orders; o++)
        if (r->picks[o].courier != WR_ASSIGN_NOBODY) wr_arr_push(&has, o);
        else if (open.n < WR_ASSIGN_SIDE_MAX) wr_arr_push(&open, o);
    batch_pairs(r, open.at, open.n, has.at, has.n, &p);
    uint32_t *right_of = wr_malloc(WR_MAX(open.n, 1u) * sizeof *right_of);
    if (r->how->greedy) least_detours(&p, open.n, has.n, right_of);
    else s = solve_pairs(&p, open.n, has.n, right_of, err);
    for (uint32_t l = 0; l < open.n && s == WR_OK; l++) {
        joint j;
        if (right_of[l] == WR_ASSIGN_NOBODY) continue;
        wr_assign_pick *mate = &r->picks[has.at[right_of[l]]], *pick = &r->picks[open.at[l]];
        bool            ok = join_routes(r, has.at[right_of[l]], open.at[l], &j);
        wr_assert(ok);
        *pick = (wr_assign_pick){mate->courier, j.swapped ? 1 : 2, j.swapped ? j.first : j.second};
        if (j.swapped) mate->stop = 2, mate->distance = j.second;
        sum->n_batched++;
    }
    wr_free(right_of);
    wr_arr_free(&p);
    wr_arr_free(&open);
    wr_arr_free(&has);
    return s;
}

wr_status wr_assign_solve(const wr_assign_how *how, const wr_assign_order *orders, uint32_t n_orders, const wr_assign_courier *couriers, uint32_t n_couriers,
                          wr_assign_pick *picks, wr_assign_sum *sum, wr_err *err) {
    *sum = (wr_assign_sum){0};
    for (uint32_t o = 0; o < n_orders; o++) picks[o] = (wr_assign_pick){WR_ASSIGN_NOBODY, 0, 0};
    if (!n_orders || !n_couriers) return WR_OK;
    round_    r = {how, orders, couriers, n_orders, n_couriers, picks, wr_calloc(n_couriers, sizeof(bool))};
    uint32_t  solved = how->greedy ? 0 : WR_MIN(n_orders, (uint32_t)WR_ASSIGN_SIDE_MAX);
    wr_status s = best(&r, solved, err);
    if (s == WR_OK) greedy(&r, solved, n_orders);
    double cost = 0;
    for (uint32_t o = 0; o < n_orders && s == WR_OK; o++) {
        if (picks[o].courier == WR_ASSIGN_NOBODY) continue;
        sum->n_assigned++;
        sum->n_greedy += !how->greedy && o >= solved;
        cost += round((picks[o].distance - worth(&r, o)) * 1000);
    }
    sum->cost = cost >= 9e18 ? INT64_MAX : cost <= -9e18 ? INT64_MIN : (int64_t)cost;
    if (s == WR_OK && how->batch_share > 0) s = batches(&r, sum, err);
    sum->n_assigned += sum->n_batched;
    wr_free(r.taken);
    return s;
}
