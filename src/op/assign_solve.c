/* op/assign_solve.c: see assign_solve.h.
 *
 * Idea       candidates (assign_near.h) become arcs with whole costs, LEMON picks. Costs are moved so that the least is 0; the price of going without is more
 *            than any choice among the pairs can differ by. A step of cost is a thousandth unless the costs span so much that those sums would come
 *            near 2^62 (of 2,048 pairs: 1.4e11 units): then it is as much as needed, whatever the coordinates.                       */
#include "op/assign_solve.h"
#include "base/str.h"
#include "op/assign_lemon.h"
#include "op/assign_near.h"
#include <math.h>
#include <stdlib.h>

enum { BATCH_NEAR = 32 };
#define WHOLE_MAX 9007199254740992.0 /* 2^53: beyond it a double has no thousandths */
#define COST_MAX 1e300

typedef struct pair { uint32_t left, right; double cost; } pair; /* left: an order; right: a courier, or the order that has one */
typedef WR_ARR(pair) pairs;
typedef WR_ARR(uint32_t) indices;

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
    return 2 * WR_EARTH_RADIUS * asin(sqrt(WR_MIN(1.0, a * a + cos(y0 * rad) * cos(y1 * rad) * b * b)));
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

static int64_t whole(double cost, double steps) { return llround(WR_MIN(WR_MAX(cost * steps, -WHOLE_MAX), WHOLE_MAX)); }
static int64_t thousandths(double cost) { return whole(cost, 1000); }

/* Arcs among the right nodes that have any, numbered by their first arc; right_at: each one's number among all. */
static wr_assign_arc *arcs_of(const pairs *p, uint32_t n_right, int64_t room, uint32_t *right_at, uint32_t *n_used) {
    double least = p->at[0].cost, most = least;
    for (uint32_t i = 1; i < p->n; i++) {
        least = WR_MIN(least, p->at[i].cost);
        most = WR_MAX(most, p->at[i].cost);
    }
    double         top = WR_MAX(fabs(least), fabs(most)), steps = top * 1000 <= WHOLE_MAX && (most - least) * 1000 < (double)room ? 1000 : (double)room / top / 4;
    int64_t        base = whole(least, steps);
    uint32_t      *number = wr_malloc(n_right * sizeof *number);
    wr_assign_arc *arcs = wr_malloc(p->n * sizeof *arcs);
    for (uint32_t r = 0; r < n_right; r++) number[r] = UINT32_MAX;
    *n_used = 0;
    for (uint32_t i = 0; i < p->n; i++) {
        uint32_t right = p->at[i].right;
        if (number[right] == UINT32_MAX) {
            number[right] = *n_used;
            right_at[(*n_used)++] = right;
        }
        arcs[i] = (wr_assign_arc){p->at[i].left, number[right], whole(p->at[i].cost, steps) - base};
    }
    wr_free(number);
    return arcs;
}

static wr_status solve_pairs(const pairs *p, uint32_t n_left, uint32_t n_right, uint32_t *right_of, wr_err *err) {
    for (uint32_t l = 0; l < n_left; l++) right_of[l] = WR_ASSIGN_NOBODY;
    if (!p->n) return WR_OK;
    int64_t        most = WR_MIN(n_left, n_right) + 1, room = WR_MIN((1LL << 58) / most, 1LL << 52); /* more orders served cost less than one more without */
    uint32_t      *right_at = wr_malloc(WR_MIN(n_right, p->n) * sizeof *right_at), n_used;
    wr_assign_arc *arcs = arcs_of(p, n_right, room, right_at, &n_used);
    bool           ok = wr_assign_lemon(n_left, n_used, arcs, p->n, most * room, right_of);
    for (uint32_t l = 0; l < n_left && ok; l++)
        if (right_of[l] != WR_ASSIGN_NOBODY) right_of[l] = right_at[right_of[l]];
    wr_free(right_at);
    wr_free(arcs);
    if (ok) return WR_OK;
    wr_fail(err, WR_LIMIT, "WR452", "the solver of ASSIGN found no answer for %u orders and %u pairs", n_left, p->n);
    wr_err_hint(err, "a smaller 'max_distance' or more partitions make rounds smaller");
    return WR_LIMIT;
}

/* ---- first orders ---- */

static wr_nearby *nearby_couriers(const round_ *r, const uint32_t *idle, uint32_t n) {
    double *xy = wr_malloc(WR_MAX(n, 1u) * 2 * sizeof *xy);
    for (uint32_t i = 0; i < n; i++) {
        xy[2 * i] = r->couriers[idle[i]].x;
        xy[2 * i + 1] = r->couriers[idle[i]].y;
    }
    wr_nearby *near = wr_nearby_new(r->how->earth, xy, n);
    wr_free(xy);
    return near;
}
static void idle_couriers(const round_ *r, indices *idle) {
    for (uint32_t c = 0; c < r->n_couriers; c++)
        if (!r->taken[c]) wr_arr_push(idle, c);
}
/* What an order may have; its barred couriers become places in idle (both ascend). */
static wr_nearby_query query_of(const round_ *r, uint32_t order, const indices *idle, indices *skip) {
    const wr_assign_order *o = &r->orders[order];
    skip->n = 0;
    for (uint32_t b = 0; b < o->n_barred; b++) {
        uint32_t lo = 0, hi = idle->n;
        while (lo < hi) {
            uint32_t mid = lo + (hi - lo) / 2;
            if (idle->at[mid] < o->barred[b]) lo = mid + 1;
            else hi = mid;
        }
        if (lo < idle->n && idle->at[lo] == o->barred[b]) wr_arr_push(skip, lo);
    }
    return (wr_nearby_query){o->x, o->y, r->how->max_distance, skip->at, skip->n};
}
static double cost_of(const round_ *r, uint32_t order, double way) { return WR_MIN(WR_MAX(way - worth(r, order), -COST_MAX), COST_MAX); }
static void   add_pair(const round_ *r, pairs *p, uint32_t left, uint32_t order, uint32_t right, uint32_t courier) {
    double far = reach(r, order, courier);
    if (isfinite(far) && in_reach(r, far)) wr_arr_push(p, ((pair){left, right, cost_of(r, order, far)}));
}

/* Candidates of the open orders among the idle couriers, by order. Each returns whether the best of these pairs is the best of all. */
static bool all_pairs(const round_ *r, const indices *open, const indices *idle, pairs *p) {
    if ((uint64_t)open->n * idle->n > WR_ASSIGN_ARCS_MAX) return false;
    for (uint32_t l = 0; l < open->n; l++)
        for (uint32_t c = 0; c < idle->n; c++)
            if (!is_barred(&r->orders[open->at[l]], idle->at[c])) add_pair(r, p, l, open->at[l], c, idle->at[c]);
    return true;
}
static bool pairs_in_reach(const round_ *r, const wr_nearby *near, const indices *open, const indices *idle, indices *skip, pairs *p) {
    if (r->how->max_distance <= 0) return false;
    wr_nearby_hit *hits = wr_malloc(WR_ASSIGN_ARCS_MAX * sizeof *hits);
    bool           fits = true;
    for (uint32_t l = 0; l < open->n && fits; l++) {
        wr_nearby_query q = query_of(r, open->at[l], idle, skip);
        uint32_t        room = WR_ASSIGN_ARCS_MAX - p->n, n = wr_nearby_all(near, &q, hits, room);
        fits = n <= room;
        for (uint32_t i = 0; i < n && fits; i++) add_pair(r, p, l, open->at[l], hits[i].at, idle->at[hits[i].at]);
    }
    wr_free(hits);
    if (!fits) p->n = 0;
    return fits;
}
/* What greedy would give each order, so that the answer is never worse than that. */
static void greedy_mates(const round_ *r, wr_nearby *near, const indices *open, const indices *idle, indices *skip, uint32_t *mates) {
    for (uint32_t l = 0; l < open->n; l++) {
        wr_nearby_hit   hit;
        wr_nearby_query q = query_of(r, open->at[l], idle, skip);
        mates[l] = wr_nearby_find(near, &q, &hit, 1) && in_reach(r, reach(r, open->at[l], idle->at[hit.at])) ? hit.at : WR_ASSIGN_NOBODY;
        if (mates[l] != WR_ASSIGN_NOBODY) wr_nearby_set(near, mates[l], false);
    }
    for (uint32_t l = 0; l < open->n; l++)
        if (mates[l] != WR_ASSIGN_NOBODY) wr_nearby_set(near, mates[l], true);
}
static bool nearest_pairs(const round_ *r, wr_nearby *near, const indices *open, const indices *idle, indices *skip, pairs *p) {
    uint32_t       room = WR_MIN(WR_ASSIGN_ARCS_MAX / open->n, open->n);
    bool           suffice = room == open->n;
    wr_nearby_hit *hits = wr_malloc(room * sizeof *hits);
    uint32_t      *mates = wr_malloc(open->n * sizeof *mates);
    if (!suffice) greedy_mates(r, near, open, idle, skip, mates);
    for (uint32_t l = 0; l < open->n; l++) {
        wr_nearby_query q = query_of(r, open->at[l], idle, skip);
        uint32_t        n = wr_nearby_find(near, &q, hits, room), mate = suffice ? WR_ASSIGN_NOBODY : mates[l];
        for (uint32_t i = 0; i < n; i++) {
            add_pair(r, p, l, open->at[l], hits[i].at, idle->at[hits[i].at]);
            if (hits[i].at == mate) mate = WR_ASSIGN_NOBODY;
        }
        if (mate != WR_ASSIGN_NOBODY) add_pair(r, p, l, open->at[l], mate, idle->at[mate]);
    }
    wr_free(hits);
    wr_free(mates);
    return suffice;
}
static bool candidates(const round_ *r, const indices *open, const indices *idle, pairs *p) {
    if (all_pairs(r, open, idle, p)) return true;
    indices    skip = {0};
    wr_nearby *near = nearby_couriers(r, idle->at, idle->n);
    bool       exact = pairs_in_reach(r, near, open, idle, &skip, p) || nearest_pairs(r, near, open, idle, &skip, p);
    wr_nearby_free(near);
    wr_arr_free(&skip);
    return exact;
}

/* Once over what is open and free; *n_got: orders that have somebody now. */
static wr_status best_once(round_ *r, const indices *open, uint32_t *n_got, bool *exact, wr_err *err) {
    indices idle = {0};
    pairs   p = {0};
    *n_got = 0;
    idle_couriers(r, &idle);
    *exact = candidates(r, open, &idle, &p);
    uint32_t *right_of = wr_malloc(WR_MAX(open->n, 1u) * sizeof *right_of);
    wr_status s = solve_pairs(&p, open->n, idle.n, right_of, err);
    for (uint32_t l = 0; l < open->n && s == WR_OK; l++) {
        if (right_of[l] == WR_ASSIGN_NOBODY) continue;
        uint32_t courier = idle.at[right_of[l]];
        r->picks[open->at[l]] = (wr_assign_pick){courier, 1, reach(r, open->at[l], courier)};
        r->taken[courier] = true;
        ++*n_got;
    }
    wr_free(right_of);
    wr_arr_free(&p);
    wr_arr_free(&idle);
    return s;
}
static wr_status best(round_ *r, uint32_t n_orders, wr_err *err) {
    indices   open = {0};
    uint32_t  n_got = 1;
    bool      exact = false;
    wr_status s = WR_OK;
    while (s == WR_OK && n_got && !exact) {
        open.n = 0;
        for (uint32_t o = 0; o < n_orders; o++)
            if (r->picks[o].courier == WR_ASSIGN_NOBODY) wr_arr_push(&open, o);
        if (!open.n) break;
        s = best_once(r, &open, &n_got, &exact, err);
    }
    wr_arr_free(&open);
    return s;
}

static void greedy(round_ *r, uint32_t from, uint32_t to) {
    if (from >= to) return;
    indices idle = {0}, skip = {0};
    idle_couriers(r, &idle);
    wr_nearby *near = nearby_couriers(r, idle.at, idle.n);
    for (uint32_t o = from; o < to; o++) {
        wr_nearby_hit   hit;
        wr_nearby_query q = query_of(r, o, &idle, &skip);
        if (!wr_nearby_find(near, &q, &hit, 1)) continue;
        uint32_t courier = idle.at[hit.at];
        double   far = reach(r, o, courier);
        if (!isfinite(far) || !in_reach(r, far)) continue;
        r->picks[o] = (wr_assign_pick){courier, 1, far};
        r->taken[courier] = true;
        wr_nearby_set(near, hit.at, false);
    }
    wr_nearby_free(near);
    wr_arr_free(&idle);
    wr_arr_free(&skip);
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
    wr_nearby_hit hits[BATCH_NEAR];
    for (uint32_t h = 0; h < n_has; h++) {
        xy[2 * h] = r->orders[has[h]].x;
        xy[2 * h + 1] = r->orders[has[h]].y;
    }
    wr_nearby *near = all ? NULL : wr_nearby_new(r->how->earth, xy, n_has);
    for (uint32_t l = 0; l < n_open; l++) {
        wr_nearby_query q = {.x = r->orders[open[l]].x, .y = r->orders[open[l]].y};
        uint32_t        n = all ? n_has : wr_nearby_find(near, &q, hits, BATCH_NEAR);
        for (uint32_t i = 0; i < n; i++) {
            uint32_t h = all ? i : hits[i].at;
            joint    j;
            if (join_routes(r, has[h], open[l], &j)) wr_arr_push(p, ((pair){l, h, cost_of(r, open[l], j.detour)}));
        }
    }
    wr_nearby_free(near);
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
    indices   open = {0}, has = {0};
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
    for (uint32_t o = 0; o < n_orders && s == WR_OK; o++) {
        if (picks[o].courier == WR_ASSIGN_NOBODY) continue;
        sum->n_assigned++;
        sum->n_greedy += !how->greedy && o >= solved;
        int64_t cost = thousandths(cost_of(&r, o, picks[o].distance));
        if (__builtin_add_overflow(sum->cost, cost, &sum->cost)) sum->cost = cost < 0 ? INT64_MIN : INT64_MAX;
    }
    if (s == WR_OK && how->batch_share > 0) s = batches(&r, sum, err);
    sum->n_assigned += sum->n_batched;
    wr_free(r.taken);
    return s;
}
