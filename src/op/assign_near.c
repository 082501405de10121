/* op/assign_near.c: see assign_near.h. The tree is implicit: the root of [lo, hi) is its middle, the halves are left and right of it.  */
#include "op/assign_near.h"
#include "base/mem.h"
#include <float.h>
#include <math.h>

enum { DEEP = 33 };
#define NONE UINT32_MAX

typedef struct node { /* p, at: the point in the middle; the rest: of the whole subtree */
    double   p[3], from[3], to[3];
    uint32_t at, least; /* least: lowest index that is here, or NONE */
    bool     here;
} node;
struct wr_nearby {
    uint32_t  n;
    bool      earth;
    node     *nodes;
    uint32_t *place; /* of each index */
};

static void in_space(bool earth, double x, double y, double out[3]) {
    const double rad = M_PI / 180;
    if (!earth) {
        out[0] = x, out[1] = y, out[2] = 0;
        return;
    }
    out[0] = cos(y * rad) * cos(x * rad), out[1] = cos(y * rad) * sin(x * rad), out[2] = sin(y * rad);
}
static uint32_t middle(uint32_t lo, uint32_t hi) { return lo + (hi - lo) / 2; }
static bool     comes_before(const node *a, const node *b, int axis) { return a->p[axis] != b->p[axis] ? a->p[axis] < b->p[axis] : a->at < b->at; }
static void     swap(node *a, node *b) {
    node t = *a;
    *a = *b;
    *b = t;
}

/* Puts the middle one of [lo, hi) into the middle (Hoare's selection; no two are equal, the index decides). */
static void part(node *nodes, uint32_t lo, uint32_t hi, int axis) {
    uint32_t want = middle(lo, hi);
    while (hi - lo > 1) {
        uint32_t mid = middle(lo, hi), last = hi - 1, store = lo;
        if (comes_before(&nodes[mid], &nodes[lo], axis)) swap(&nodes[mid], &nodes[lo]); /* the median of three goes last */
        if (comes_before(&nodes[last], &nodes[lo], axis)) swap(&nodes[last], &nodes[lo]);
        if (comes_before(&nodes[mid], &nodes[last], axis)) swap(&nodes[mid], &nodes[last]);
        for (uint32_t i = lo; i < last; i++)
            if (comes_before(&nodes[i], &nodes[last], axis)) swap(&nodes[i], &nodes[store++]);
        swap(&nodes[store], &nodes[last]);
        if (store == want) return;
        if (store < want) lo = store + 1;
        else hi = store;
    }
}

static void refresh(wr_nearby *near, uint32_t lo, uint32_t hi) {
    uint32_t mid = middle(lo, hi), least = near->nodes[mid].here ? near->nodes[mid].at : NONE;
    if (lo < mid) least = WR_MIN(least, near->nodes[middle(lo, mid)].least);
    if (mid + 1 < hi) least = WR_MIN(least, near->nodes[middle(mid + 1, hi)].least);
    near->nodes[mid].least = least;
}

static void build(wr_nearby *near, uint32_t lo, uint32_t hi) { /* as deep as log2 of the points */
    if (lo >= hi) return;
    double from[3], to[3];
    int    axis = 0;
    for (int k = 0; k < 3; k++) {
        from[k] = to[k] = near->nodes[lo].p[k];
        for (uint32_t i = lo + 1; i < hi; i++) {
            from[k] = WR_MIN(from[k], near->nodes[i].p[k]);
            to[k] = WR_MAX(to[k], near->nodes[i].p[k]);
        }
        if (to[k] / 2 - from[k] / 2 > to[axis] / 2 - from[axis] / 2) axis = k;
    }
    part(near->nodes, lo, hi, axis);
    uint32_t mid = middle(lo, hi);
    for (int k = 0; k < 3; k++) near->nodes[mid].from[k] = from[k], near->nodes[mid].to[k] = to[k];
    near->place[near->nodes[mid].at] = mid;
    build(near, lo, mid);
    build(near, mid + 1, hi);
    refresh(near, lo, hi);
}

wr_nearby *wr_nearby_new(bool earth, const double *xy, uint32_t n) {
    wr_nearby *near = wr_calloc(1, sizeof *near);
    near->n = n;
    near->earth = earth;
    near->nodes = wr_calloc(WR_MAX(n, 1u), sizeof *near->nodes);
    near->place = wr_calloc(WR_MAX(n, 1u), sizeof *near->place);
    for (uint32_t i = 0; i < n; i++) {
        in_space(earth, xy[2 * i], xy[2 * i + 1], near->nodes[i].p);
        near->nodes[i].at = i;
        near->nodes[i].here = true;
    }
    build(near, 0, n);
    return near;
}
void wr_nearby_free(wr_nearby *near) {
    if (!near) return;
    wr_free(near->nodes);
    wr_free(near->place);
    wr_free(near);
}

void wr_nearby_set(wr_nearby *near, uint32_t at, bool here) {
    uint32_t place = near->place[at], lo = 0, hi = near->n, deep = 0;
    struct { uint32_t lo, hi; } path[DEEP];
    near->nodes[place].here = here;
    for (;;) {
        uint32_t mid = middle(lo, hi);
        wr_assert(deep < DEEP);
        path[deep].lo = lo, path[deep++].hi = hi;
        if (mid == place) break;
        if (place < mid) hi = mid;
        else lo = mid + 1;
    }
    while (deep--) refresh(near, path[deep].lo, path[deep].hi);
}

typedef struct search {
    double          p[3], limit; /* limit: square of the straight line */
    const uint32_t *skip;
    uint32_t        n_skip, n, room;
    bool            all, over;
    wr_nearby_hit  *hits;
} search;

static bool is_skipped(const search *s, uint32_t at) {
    uint32_t lo = 0, hi = s->n_skip;
    while (lo < hi) {
        uint32_t mid = middle(lo, hi);
        if (s->skip[mid] < at) lo = mid + 1;
        else hi = mid;
    }
    return lo < s->n_skip && s->skip[lo] == at;
}

/* Whether a point so far, with that index, would be of use. */
static bool is_wanted(const search *s, double far, uint32_t at) {
    if (!(far <= s->limit)) return false;
    if (s->all || s->n < s->room) return true;
    const wr_nearby_hit *last = &s->hits[s->room - 1];
    return far != last->far ? far < last->far : at < last->at;
}
static void offer(search *s, double far, uint32_t at) {
    if (s->all && s->n == s->room) {
        s->over = true;
        return;
    }
    uint32_t i = s->n < s->room ? s->n++ : s->n - 1;
    if (!s->all) /* they are kept sorted */
        for (; i && (s->hits[i - 1].far > far || (s->hits[i - 1].far == far && s->hits[i - 1].at > at)); i--) s->hits[i] = s->hits[i - 1];
    s->hits[i] = (wr_nearby_hit){far, at};
}

/* The square of the way to the box of a subtree: never more than to a point of it, by the same steps of rounding. INFINITY: nothing there. */
static double box_far(const wr_nearby *near, const search *s, uint32_t lo, uint32_t hi) {
    if (lo >= hi) return INFINITY;
    const node *b = &near->nodes[middle(lo, hi)];
    double      far = 0;
    if (b->least == NONE) return INFINITY;
    for (int k = 0; k < 3; k++) {
        double off = s->p[k] < b->from[k] ? s->p[k] - b->from[k] : s->p[k] > b->to[k] ? s->p[k] - b->to[k] : 0;
        far += off * off;
    }
    return far;
}

static void look(const wr_nearby *near, search *s, uint32_t lo, uint32_t hi) { /* as deep as build; only where something is */
    uint32_t    mid = middle(lo, hi);
    const node *q = &near->nodes[mid];
    if (q->here) {
        double far = 0;
        for (int k = 0; k < 3; k++) far += (s->p[k] - q->p[k]) * (s->p[k] - q->p[k]);
        if (is_wanted(s, far, q->at) && !is_skipped(s, q->at)) offer(s, far, q->at);
    }
    double   left = box_far(near, s, lo, mid), right = box_far(near, s, mid + 1, hi);
    uint32_t left_least = lo < mid ? near->nodes[middle(lo, mid)].least : NONE, right_least = mid + 1 < hi ? near->nodes[middle(mid + 1, hi)].least : NONE;
    bool     right_first = right != left ? right < left : right_least < left_least;
    for (int turn = 0; turn < 2 && !s->over; turn++) {
        if (right_first == (turn == 0)) {
            if (is_wanted(s, right, right_least)) look(near, s, mid + 1, hi);
        } else if (is_wanted(s, left, left_least)) {
            look(near, s, lo, mid);
        }
    }
}

/* A little more than the square of the straight line below max_distance metres of ground, or of max_distance in the plane. Finite: what is farther than
 * 1e154 in the plane is never found. */
static double limit_of(bool earth, double max_distance) {
    double half = max_distance / (2 * WR_EARTH_RADIUS), line = max_distance;
    if (max_distance <= 0 || (earth && half >= M_PI / 2)) return DBL_MAX;
    if (earth) line = 2 * sin(half) + 1e-14;
    line *= 1 + 1e-9;
    return WR_MIN(line * line, DBL_MAX);
}
static search start(const wr_nearby *near, const wr_nearby_query *q, wr_nearby_hit *hits, uint32_t room) {
    search s = {.skip = q->skip, .n_skip = q->n_skip, .room = room, .hits = hits, .limit = limit_of(near->earth, q->max_distance)};
    in_space(near->earth, q->x, q->y, s.p);
    return s;
}
static void run(const wr_nearby *near, search *s) {
    if (near->n && is_wanted(s, box_far(near, s, 0, near->n), 0)) look(near, s, 0, near->n);
}

uint32_t wr_nearby_find(const wr_nearby *near, const wr_nearby_query *query, wr_nearby_hit *hits, uint32_t room) {
    search s = start(near, query, hits, room);
    if (room) run(near, &s);
    return s.n;
}
uint32_t wr_nearby_all(const wr_nearby *near, const wr_nearby_query *query, wr_nearby_hit *hits, uint32_t room) {
    search s = start(near, query, hits, room);
    s.all = true;
    run(near, &s);
    return s.n + s.over;
}
