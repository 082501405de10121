/* op/assign_near.c: see assign_near.h. The tree is implicit: the root of [lo, hi) is its middle, the halves are left and right of it.  */
#include "op/assign_near.h"
#include "base/mem.h"
#include <math.h>
#include <stdlib.h>

typedef struct point { double p[3]; uint32_t at; } point;
struct wr_near {
    uint32_t  n;
    bool      earth;
    point    *points;
    uint32_t *place;  /* of each index */
    uint32_t *alive;  /* of the subtree whose root stands there */
    bool     *gone;
};

static void in_space(bool earth, double x, double y, double out[3]) {
    const double rad = M_PI / 180;
    if (!earth) {
        out[0] = x, out[1] = y, out[2] = 0;
        return;
    }
    out[0] = cos(y * rad) * cos(x * rad), out[1] = cos(y * rad) * sin(x * rad), out[2] = sin(y * rad);
}

static int by_axis(const void *a, const void *b, void *axis) {
    const point *p = a, *q = b;
    int          i = *(int *)axis;
    return p->p[i] < q->p[i] ? -1 : p->p[i] > q->p[i] ? 1 : p->at < q->at ? -1 : p->at > q->at;
}
static uint32_t middle(uint32_t lo, uint32_t hi) { return lo + (hi - lo) / 2; }

static void build(wr_near *n, uint32_t lo, uint32_t hi, int axis) { /* deep: log2 of the points */
    if (lo >= hi) return;
    qsort_r(n->points + lo, hi - lo, sizeof *n->points, by_axis, &axis);
    uint32_t mid = middle(lo, hi);
    n->alive[mid] = hi - lo;
    n->place[n->points[mid].at] = mid;
    build(n, lo, mid, (axis + 1) % (n->earth ? 3 : 2));
    build(n, mid + 1, hi, (axis + 1) % (n->earth ? 3 : 2));
}

wr_near *wr_near_new(bool earth, const double *xy, uint32_t n) {
    wr_near *near = wr_calloc(1, sizeof *near);
    near->n = n;
    near->earth = earth;
    near->points = wr_calloc(WR_MAX(n, 1u), sizeof *near->points);
    near->place = wr_calloc(WR_MAX(n, 1u), sizeof *near->place);
    near->alive = wr_calloc(WR_MAX(n, 1u), sizeof *near->alive);
    near->gone = wr_calloc(WR_MAX(n, 1u), sizeof *near->gone);
    for (uint32_t i = 0; i < n; i++) {
        in_space(earth, xy[2 * i], xy[2 * i + 1], near->points[i].p);
        near->points[i].at = i;
    }
    build(near, 0, n, 0);
    return near;
}
void wr_near_free(wr_near *near) {
    if (!near) return;
    wr_free(near->points);
    wr_free(near->place);
    wr_free(near->alive);
    wr_free(near->gone);
    wr_free(near);
}

void wr_near_take(wr_near *near, uint32_t at) {
    uint32_t place = near->place[at], lo = 0, hi = near->n;
    wr_assert(!near->gone[place]);
    near->gone[place] = true;
    for (;;) {
        uint32_t mid = middle(lo, hi);
        near->alive[mid]--;
        if (mid == place) return;
        if (place < mid) hi = mid;
        else lo = mid + 1;
    }
}

typedef struct search {
    double          p[3];
    const uint32_t *skip;
    uint32_t        n_skip, n, room;
    wr_near_hit    *hits;
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

static void offer(search *s, double far, uint32_t at) { /* into the sorted hits */
    uint32_t i = s->n;
    if (s->n == s->room) {
        const wr_near_hit *last = &s->hits[s->room - 1];
        if (far > last->far || (far == last->far && at > last->at)) return;
        i--;
    } else {
        s->n++;
    }
    for (; i && (s->hits[i - 1].far > far || (s->hits[i - 1].far == far && s->hits[i - 1].at > at)); i--) s->hits[i] = s->hits[i - 1];
    s->hits[i] = (wr_near_hit){far, at};
}

static void look(const wr_near *near, search *s, uint32_t lo, uint32_t hi, int axis) { /* as deep as build */
    if (lo >= hi) return;
    uint32_t mid = middle(lo, hi);
    if (!near->alive[mid]) return;
    const point *q = &near->points[mid];
    if (!near->gone[mid] && !is_skipped(s, q->at)) {
        double far = 0;
        for (int i = 0; i < 3; i++) far += (s->p[i] - q->p[i]) * (s->p[i] - q->p[i]);
        offer(s, far, q->at);
    }
    double off = s->p[axis] - q->p[axis];
    int    next = (axis + 1) % (near->earth ? 3 : 2);
    if (off < 0) look(near, s, lo, mid, next);
    else look(near, s, mid + 1, hi, next);
    if (s->n == s->room && off * off > s->hits[s->n - 1].far) return;
    if (off < 0) look(near, s, mid + 1, hi, next);
    else look(near, s, lo, mid, next);
}

uint32_t wr_near_find(const wr_near *near, double x, double y, const uint32_t *skip, uint32_t n_skip, wr_near_hit *hits, uint32_t room) {
    search s = {.skip = skip, .n_skip = n_skip, .room = room, .hits = hits};
    in_space(near->earth, x, y, s.p);
    if (room) look(near, &s, 0, near->n, 0);
    return s.n;
}
