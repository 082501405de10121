/* lab/city.c: see city.h. Rows are sorted by time: couriers and orders of a step are few.                                        */
#include "lab/city.h"
#include <math.h>
#include <stdlib.h>

enum { STARS = 4 }; /* places that restaurants stand around */
#define NEVER INT64_MAX

typedef struct guest {
    double  x, y, to_x, to_y;
    int64_t at_us, picked_us, there_us;
    bool    given, lost;
} guest;
typedef struct rider {
    double   x, y, home_x, home_y;   /* where he is, or will be, when he becomes free; where he waits */
    int64_t  free_us, told_us;       /* NEVER: to be told now */
    int64_t  off_us;                 /* the round he got something in */
    bool     free;
    uint32_t n, orders[2];           /* of this round, by stop */
} rider;
struct city {
    city_opts o;
    wr_rng    rng;
    guest    *guests;
    rider    *riders;
    uint32_t  n_guests, next, faults, n_batched;
    double    to_pick_up_m;
};

static double unit(city *c) { return (double)(wr_rng_next(&c->rng) >> 11) * 0x1p-53; }
static double bell(city *c) { return sqrt(-2 * log(1 - unit(c))) * cos(2 * M_PI * unit(c)); } /* Box and Muller 1958 */
static double inside(const city *c, double v) { return WR_MIN(WR_MAX(v, 0.0), c->o.side); }

static int by_time(const void *a, const void *b) {
    const guest *p = a, *q = b;
    return p->at_us < q->at_us ? -1 : p->at_us > q->at_us;
}
static void draw_riders(city *c, double stars[STARS][2]) {
    for (uint32_t i = 0; i < c->o.n_couriers; i++) {
        rider *r = &c->riders[i];
        r->x = r->home_x = stars[i % STARS][0], r->y = r->home_y = stars[i % STARS][1];
        r->free_us = c->o.begin_us - c->o.every_us;
        r->told_us = NEVER;
        r->free = true;
    }
}
static void draw_guests(city *c) {
    double stars[STARS][2], *kitchens = wr_malloc(c->o.n_restaurants * 2 * sizeof *kitchens);
    for (int i = 0; i < STARS; i++)
        for (int k = 0; k < 2; k++) stars[i][k] = (0.2 + 0.6 * unit(c)) * c->o.side;
    for (uint32_t i = 0; i < c->o.n_restaurants; i++)
        for (int k = 0; k < 2; k++) kitchens[2 * i + k] = inside(c, stars[i % STARS][k] + bell(c) * c->o.side / 12);
    for (uint32_t i = 0; i < c->n_guests; i++) {
        double   third = unit(c), at = unit(c), way = (0.05 + 0.25 * unit(c)) * c->o.side, turn = 2 * M_PI * unit(c);
        uint32_t k = (uint32_t)wr_rng_below(&c->rng, c->o.n_restaurants);
        at = third < 0.25 ? at / 3 : third < 0.75 ? (1 + at) / 3 : (2 + at) / 3;
        c->guests[i] = (guest){.x = kitchens[2 * k], .y = kitchens[2 * k + 1], .picked_us = NEVER, .there_us = NEVER};
        c->guests[i].at_us = c->o.begin_us + (int64_t)(at * (double)c->o.evening_us) / 1000 * 1000;
        c->guests[i].to_x = inside(c, c->guests[i].x + way * cos(turn));
        c->guests[i].to_y = inside(c, c->guests[i].y + way * sin(turn));
    }
    qsort(c->guests, c->n_guests, sizeof *c->guests, by_time);
    draw_riders(c, stars);
    wr_free(kitchens);
}

city *city_new(const city_opts *opts) {
    city *c = wr_calloc(1, sizeof *c);
    c->o = *opts;
    wr_rng_seed(&c->rng, opts->seed);
    c->n_guests = (uint32_t)lround(opts->per_hour * (double)opts->evening_us / 3.6e9);
    c->guests = wr_calloc(WR_MAX(c->n_guests, 1u), sizeof *c->guests);
    c->riders = wr_calloc(WR_MAX(opts->n_couriers, 1u), sizeof *c->riders);
    draw_guests(c);
    return c;
}
void city_free(city *c) {
    if (!c) return;
    wr_free(c->guests);
    wr_free(c->riders);
    wr_free(c);
}

static int by_row_time(const void *a, const void *b) {
    const city_row *p = a, *q = b;
    return p->ts_us != q->ts_us ? (p->ts_us < q->ts_us ? -1 : 1) : p->courier != q->courier ? p->courier - q->courier : p->id < q->id ? -1 : p->id > q->id;
}
/* On the way back; true: there. */
static bool where(const city *c, const rider *r, int64_t now_us, double *x, double *y) {
    double way = hypot(r->home_x - r->x, r->home_y - r->y), gone = c->o.speed * (double)(now_us - r->free_us) / 1e6;
    bool   there = gone >= way;
    *x = there ? r->home_x : r->x + (r->home_x - r->x) * gone / way;
    *y = there ? r->home_y : r->y + (r->home_y - r->y) * gone / way;
    return there;
}
static void report(city *c, uint32_t id, int64_t round_us, city_rows *rows) {
    rider   *r = &c->riders[id];
    city_row row = {.courier = true, .id = id, .status = "free"};
    bool     there = where(c, r, r->told_us == NEVER ? r->free_us : r->told_us, &row.x, &row.y);
    if (r->told_us != NEVER && r->told_us + (there ? 10 : 1) * c->o.report_us >= round_us) return;
    r->told_us = r->told_us == NEVER ? r->free_us : round_us - c->o.every_us;
    row.ts_us = r->told_us;
    where(c, r, r->told_us, &row.x, &row.y);
    wr_arr_push(rows, row);
}
void city_step(city *c, int64_t round_us, city_rows *rows) {
    uint32_t from = rows->n;
    for (; c->next < c->n_guests && c->guests[c->next].at_us < round_us; c->next++) {
        const guest *g = &c->guests[c->next];
        wr_arr_push(rows, ((city_row){.id = c->next, .x = g->x, .y = g->y, .to_x = g->to_x, .to_y = g->to_y, .status = "open", .ts_us = g->at_us}));
    }
    for (uint32_t i = 0; i < c->o.n_couriers; i++) {
        rider *r = &c->riders[i];
        if (r->off_us) wr_arr_push(rows, ((city_row){.courier = true, .id = i, .x = r->x, .y = r->y, .status = "busy", .ts_us = r->off_us})); /* from the round on */
        r->off_us = 0;
        if (!r->free && r->free_us < round_us) r->free = true, r->told_us = NEVER;
        if (r->free) report(c, i, round_us, rows);
    }
    if (rows->n > from) qsort(rows->at + from, rows->n - from, sizeof *rows->at, by_row_time);
}

void city_assign(city *c, uint32_t order, uint32_t courier, uint32_t stop, int64_t round_us) {
    if (order >= c->next || courier >= c->o.n_couriers || stop < 1 || stop > 2 || c->guests[order].given || c->guests[order].lost || !c->riders[courier].free || c->riders[courier].n == 2 ||
        c->guests[order].at_us >= round_us) {
        c->faults++;
        return;
    }
    rider *r = &c->riders[courier];
    c->guests[order].given = true;
    if (stop == 1 && r->n) r->orders[1] = r->orders[0], r->orders[0] = order; /* the second stop came first */
    else r->orders[r->n] = order;
    r->n++;
}
void city_nobody(city *c, uint32_t order) {
    if (order >= c->next || c->guests[order].given || c->guests[order].lost) c->faults++;
    else c->guests[order].lost = true;
}

static double drive(const city *c, rider *r, double x, double y, int64_t *now_us) {
    double way = hypot(x - r->x, y - r->y);
    *now_us += (int64_t)(way / c->o.speed * 1e6) / 1000 * 1000;
    r->x = x, r->y = y;
    return way;
}
void city_depart(city *c, int64_t round_us) {
    for (uint32_t i = 0; i < c->o.n_couriers; i++) {
        rider   *r = &c->riders[i];
        int64_t  now = round_us;
        uint32_t last = 0;
        if (!r->n) continue;
        where(c, r, round_us, &r->x, &r->y);
        for (uint32_t k = 0; k < r->n; k++) {
            guest *g = &c->guests[r->orders[k]];
            c->to_pick_up_m += drive(c, r, g->x, g->y, &now);
            g->picked_us = now;
            now += c->o.handover_us;
        }
        if (r->n == 2) { /* the nearer way over both doors */
            const guest *a = &c->guests[r->orders[0]], *b = &c->guests[r->orders[1]];
            last = hypot(a->to_x - r->x, a->to_y - r->y) <= hypot(b->to_x - r->x, b->to_y - r->y);
            c->n_batched++;
        }
        for (uint32_t k = 0; k < r->n; k++) {
            guest *g = &c->guests[r->orders[r->n == 1 ? 0 : k == 0 ? 1 - last : last]];
            drive(c, r, g->to_x, g->to_y, &now);
            now += c->o.handover_us;
            g->there_us = now;
        }
        r->free = false;
        r->free_us = now;
        r->off_us = round_us;
        r->n = 0;
    }
}

uint32_t city_waiting(const city *c) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < c->next; i++) n += !c->guests[i].given && !c->guests[i].lost;
    return n;
}
bool city_over(const city *c, int64_t round_us) {
    if (c->next < c->n_guests) return false;
    for (uint32_t i = 0; i < c->n_guests; i++)
        if (!c->guests[i].given && !c->guests[i].lost) return false;
    return round_us >= c->o.begin_us + c->o.evening_us;
}

static int by_value(const void *a, const void *b) {
    double p = *(const double *)a, q = *(const double *)b;
    return p < q ? -1 : p > q;
}
void city_add_up(const city *c, city_sum *out) {
    double  *waits = wr_malloc(WR_MAX(c->n_guests, 1u) * sizeof *waits);
    uint32_t n = 0;
    *out = (city_sum){.n_orders = c->n_guests, .to_pick_up_m = c->to_pick_up_m, .faults = c->faults, .n_batched = c->n_batched};
    for (uint32_t i = 0; i < c->n_guests; i++) {
        const guest *g = &c->guests[i];
        out->n_nobody += g->lost;
        if (!g->given) continue;
        waits[n] = (double)(g->picked_us - g->at_us) / 1e6;
        out->wait_s += waits[n++];
        out->n_late += g->there_us - g->at_us > c->o.promise_us;
    }
    out->n_delivered = n;
    qsort(waits, n, sizeof *waits, by_value);
    if (n) out->wait_p95_s = waits[(n - 1) * 95 / 100], out->wait_max_s = waits[n - 1];
    wr_free(waits);
}
