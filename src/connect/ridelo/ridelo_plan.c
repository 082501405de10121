/* connect/ridelo/ridelo_plan.c: makes the events of ridelo.h and decides how each of them reaches its log.
 *
 * Idea       restaurants and their changes, orders, and what follows from an order are drawn from streams keyed by (seed, what, index);
 *            then disposition() gives each event its arrival and its extra lines; then each log is sorted by arrival, and one pass
 *            over it counts what a reader will see.
 * Why the answers are certain (D = watermark delay of the log, L = lateness beyond it; the watermark before a line is at most
 * arrival - D = ts + L, because nothing accepted is newer than its arrival; a join's watermark is the lower of its two inputs', so at most
 * that, however the inputs are interleaved):
 *   order x ping    joined when order.ts <= ping.ts <= order.ts + 10 min. A late or repeated order has L <= 45 s, and its first ping is
 *                   60 s or more after it: no ping can have expired. More than that only for orders without pings. A late or repeated ping
 *                   has L <= 45 s and is at most 8 min after its order, which then cannot have expired, or it is outside the interval.
 *   order x change  a late order: no change of its restaurant in (ts, ts + L], so the version that was valid then is still the newest
 *                   one. A late change: no order of its restaurant in [ts, ts + L], so nobody was served the older one. Changes of one
 *                   restaurant are 10 min apart, so they never overtake each other in the log.
 * Thread     one; called from wr_ridelo_new.                                                                             */
#include "connect/ridelo/ridelo_int.h"
#include <stdlib.h>

enum {
    SECOND = 1000,
    MINUTE = 60 * SECOND,
    HOUR = 60 * MINUTE,
    DAY = 24 * HOUR,
    LATE_MAX = 45 * SECOND,      /* beyond the watermark, where partners may exist */
    VERY_LATE_MAX = 2 * HOUR,    /* where none do */
    CHANGE_GAP = 10 * MINUTE,
    PING_FIRST_MIN = 60 * SECOND,
    PING_INTERVAL = 10 * MINUTE, /* the bound of the join in job.sql */
    PING_LATE_AGE = 8 * MINUTE,  /* older than this within the interval: never late */
    UNKNOWN_RESTAURANTS = 5,     /* ordered from, but never described */
};
enum { DRAW_RESTAURANT = 1, DRAW_ORDER, DRAW_FOLLOW, DRAW_PINGS, DRAW_LINES }; /* keys of the random streams */

/* For looking up "any event of restaurant r in a time range": times of r stand sorted in at[first[r] .. first[r + 1]). */
typedef struct time_index {
    int64_t  *at;
    uint32_t *first;
} time_index;

typedef struct planner {
    wr_ridelo *gen;
    time_index order_times, change_times;
    int64_t   *opened; /* per restaurant: no orders before */
} planner;

static wr_gen_rng rng_for(const planner *pl, unsigned what, uint64_t index) {
    return gen_rng_at(wr_hash_mix(pl->gen->config.seed, what), index);
}

/* Orders per minute, in thousandths of the plain daytime rate. Lunch is ten times that. */
static uint32_t weight_of(uint32_t minute_of_day) {
    static const struct { uint32_t until, weight; } curve[] = {
        {360, 300}, {690, 1000}, {720, 4000}, {810, 10000}, {840, 4000}, {1110, 1000}, {1230, 4000}, {1320, 1500}, {1440, 600},
    };
    size_t i = 0;
    while (minute_of_day >= curve[i].until) i++;
    return curve[i].weight;
}

static bool is_fraudster(uint32_t user) { return wr_hash_u64(user) % 200 == 0; }
static bool is_static(uint32_t restaurant) { return restaurant % 5 >= 3; } /* described once, never changed */
static bool is_new(const planner *pl, uint32_t restaurant) {               /* opens during the span */
    uint32_t n = pl->gen->config.n_restaurants;
    return restaurant <= n && restaurant > n - n / 20;
}

/* ---- restaurants ---- */

static void plan_changes(planner *pl) {
    const wr_ridelo_config *c = &pl->gen->config;
    pl->opened = wr_malloc(((size_t)c->n_restaurants + 1) * sizeof *pl->opened);
    for (uint32_t r = 1; r <= c->n_restaurants; r++) {
        wr_gen_rng rng = rng_for(pl, DRAW_RESTAURANT, r);
        int64_t    ts = c->start_ms - gen_between(&rng, 1, 10 * MINUTE);
        pl->opened[r] = c->start_ms;
        if (is_new(pl, r)) {
            pl->opened[r] = c->start_ms + gen_between(&rng, c->duration_ms / 10, c->duration_ms / 10 * 8);
            ts = WR_MAX(ts, pl->opened[r] - gen_between(&rng, 5 * MINUTE, HOUR));
        }
        uint32_t commission = (uint32_t)gen_between(&rng, 800, 2500);
        wr_arr_push(&pl->gen->changes, ((change_rec){ts, r, commission}));
        if (is_static(r)) continue;
        for (ts = WR_MAX(ts, pl->opened[r]);;) {
            ts += gen_between(&rng, CHANGE_GAP, 170 * MINUTE);
            if (ts >= c->start_ms + c->duration_ms) break;
            commission = (uint32_t)gen_between(&rng, 800, 2500);
            wr_arr_push(&pl->gen->changes, ((change_rec){ts, r, commission}));
        }
    }
}

/* ---- orders ---- */

static uint32_t pick_restaurant(const planner *pl, wr_gen_rng *rng, int64_t ts) {
    const wr_ridelo_config *c = &pl->gen->config;
    if (gen_chance(rng, c->hot_ppm)) return 1;
    if (gen_chance(rng, 1000)) return c->n_restaurants + 1 + (uint32_t)gen_below(rng, UNKNOWN_RESTAURANTS);
    uint64_t others = c->n_restaurants - 1; /* the product of two draws favours the low numbers */
    uint32_t r = 2 + (uint32_t)(gen_below(rng, others) * gen_below(rng, others) / others);
    return ts >= pl->opened[r] ? r : 2 + (uint32_t)gen_below(rng, (others + 1) / 2);
}

static void add_order(planner *pl, wr_gen_rng *rng, int64_t ts, uint32_t user) {
    const wr_ridelo_config *c = &pl->gen->config;
    order_rec o = {.ts = ts, .user = user, .restaurant = pick_restaurant(pl, rng, ts)};
    o.courier = 1 + (uint32_t)gen_below(rng, c->n_couriers);
    o.cents = (uint32_t)gen_between(rng, 500, 8000);
    o.silent = gen_chance(rng, 15000);
    wr_arr_push(&pl->gen->orders, o);
}

static int order_by_time(const void *a, const void *b) {
    const order_rec *x = a, *y = b;
    if (x->ts != y->ts) return x->ts < y->ts ? -1 : 1;
    if (x->user != y->user) return x->user < y->user ? -1 : 1;
    if (x->restaurant != y->restaurant) return x->restaurant < y->restaurant ? -1 : 1;
    if (x->cents != y->cents) return x->cents < y->cents ? -1 : 1;
    return x->courier < y->courier ? -1 : x->courier > y->courier;
}

static void plan_orders(planner *pl) {
    const wr_ridelo_config *c = &pl->gen->config;
    uint64_t day_weight = 0, sum = 0, made = 0;
    for (uint32_t m = 0; m < 1440; m++) day_weight += weight_of(m);
    int64_t end = c->start_ms + c->duration_ms;
    for (int64_t from = c->start_ms; from < end;) {
        int64_t to = WR_MIN(from - from % MINUTE + MINUTE, end);
        sum += weight_of((uint32_t)(from % DAY / MINUTE)) * (uint64_t)(to - from); /* thousandths x ms */
        uint64_t want = (uint64_t)((wr_u128)sum * c->orders_per_day / (day_weight * MINUTE));
        for (; made < want; made++) {
            wr_gen_rng rng = rng_for(pl, DRAW_ORDER, made);
            int64_t    ts = gen_between(&rng, from, to - 1);
            uint32_t   user = 1 + (uint32_t)gen_below(&rng, c->n_users);
            add_order(pl, &rng, ts, user);
            if (!is_fraudster(user) || !gen_chance(&rng, 300000)) continue;
            for (uint64_t more = 2 + gen_below(&rng, 3); more; more--) { /* a burst from a stolen card */
                int64_t at = ts + gen_between(&rng, SECOND, 8 * MINUTE);
                if (at < end) add_order(pl, &rng, at, user);
            }
        }
        from = to;
    }
    if (pl->gen->orders.n) qsort(pl->gen->orders.at, pl->gen->orders.n, sizeof(order_rec), order_by_time);
}

/* ---- time indexes ---- */

static int by_time(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}
#define build_index(pl, index, recs)                                                                            \
    do {                                                                                                        \
        uint32_t n_keys_ = (pl)->gen->config.n_restaurants + UNKNOWN_RESTAURANTS + 2, *fill_;                   \
        (index)->first = wr_calloc(n_keys_ + 1, sizeof(uint32_t));                                              \
        (index)->at = wr_malloc(((size_t)(recs)->n + 1) * sizeof(int64_t));                                     \
        for (uint32_t i_ = 0; i_ < (recs)->n; i_++) (index)->first[(recs)->at[i_].restaurant + 1]++;            \
        for (uint32_t k_ = 0; k_ < n_keys_; k_++) (index)->first[k_ + 1] += (index)->first[k_];                 \
        fill_ = wr_calloc(n_keys_, sizeof *fill_);                                                              \
        for (uint32_t i_ = 0; i_ < (recs)->n; i_++) {                                                           \
            uint32_t r_ = (recs)->at[i_].restaurant;                                                            \
            (index)->at[(index)->first[r_] + fill_[r_]++] = (recs)->at[i_].ts;                                  \
        }                                                                                                       \
        for (uint32_t k_ = 0; k_ < n_keys_; k_++)                                                               \
            qsort((index)->at + (index)->first[k_], fill_[k_], sizeof(int64_t), by_time);                       \
        wr_free(fill_);                                                                                         \
    } while (0)

/* Is there an event of restaurant r with low <= ts <= high? */
static bool any_between(const time_index *index, uint32_t r, int64_t low, int64_t high) {
    uint32_t a = index->first[r], b = index->first[r + 1], end = b;
    while (a < b) {
        uint32_t mid = a + (b - a) / 2;
        if (index->at[mid] < low) a = mid + 1;
        else b = mid;
    }
    return a < end && index->at[a] <= high;
}

/* ---- from an event to its lines ---- */

typedef struct allowance {
    int64_t late_ms;      /* how far beyond the watermark it, or its copy, may be; 0 = not at all */
    int64_t very_late_ms; /* the same for the rare very late ones */
    bool    untouched;    /* only in time and once */
} allowance;

static void push_line(wr_ridelo *gen, wr_ridelo_stream stream, line_rec line) {
    line.seq = gen->lines[stream].n;
    wr_arr_push(&gen->lines[stream], line);
}

/* Draws whether the event is late, and by how much beyond the watermark: 0 = it is not. */
static int64_t draw_lateness(const wr_ridelo_config *c, wr_gen_rng *rng) {
    if (!gen_chance(rng, c->late_ppm)) return 0;
    return gen_below(rng, 5) ? gen_between(rng, SECOND, LATE_MAX) : gen_between(rng, MINUTE, VERY_LATE_MAX);
}

static void disposition(wr_ridelo *gen, wr_ridelo_stream stream, uint32_t rec, int64_t ts, int64_t lateness, allowance may,
                        wr_gen_rng *rng) {
    const wr_ridelo_config *c = &gen->config;
    int64_t  delay = wr_ridelo_watermark_delay_ms(stream), shift = 0;
    line_rec line = {.ts = ts, .rec = rec, .id = rec + 1, .kind = LINE_PLAIN};
    if (lateness > may.very_late_ms) lateness = lateness > may.late_ms ? may.late_ms : lateness;
    if (may.untouched) lateness = 0;
    else if (lateness) shift = delay + lateness;
    else if (gen_chance(rng, c->out_of_order_ppm)) shift = gen_between(rng, delay / 10, delay / 5 * 4);
    line.arrival = ts + shift;
    if (gen_chance(rng, c->malformed_ppm)) { /* a broken write, then the good one */
        line_rec broken = line;
        broken.kind = LINE_MALFORMED;
        broken.damage = (uint8_t)(WR_RIDELO_TORN + gen_below(rng, 4));
        push_line(gen, stream, broken);
    }
    push_line(gen, stream, line);
    if (gen_chance(rng, c->future_ppm)) { /* somebody's clock is wrong; a new id, so that it would be seen if let in */
        line_rec ahead = line;
        ahead.kind = LINE_FUTURE;
        ahead.ts = line.arrival + gen_between(rng, 7 * HOUR, 10 * (int64_t)DAY);
        push_line(gen, stream, ahead);
    }
    if (gen_chance(rng, c->duplicate_ppm) && !may.untouched && lateness == 0) {
        int64_t room = may.late_ms ? delay + may.late_ms : delay / 5 * 4;
        if (room <= shift) return;
        line.kind = LINE_DUPLICATE;
        line.arrival += gen_between(rng, 1, room - shift);
        push_line(gen, stream, line);
    }
}

static void lay_orders(planner *pl) {
    wr_ridelo *gen = pl->gen;
    for (uint32_t i = 0; i < gen->orders.n; i++) {
        order_rec *o = &gen->orders.at[i];
        wr_gen_rng rng = rng_for(pl, DRAW_LINES + WR_RIDELO_ORDERS, i);
        int64_t    lateness = draw_lateness(&gen->config, &rng);
        allowance  may = {0};
        if (!any_between(&pl->change_times, o->restaurant, o->ts + 1, o->ts + LATE_MAX + SECOND)) may.late_ms = LATE_MAX;
        if (lateness > LATE_MAX && !any_between(&pl->change_times, o->restaurant, o->ts + 1, o->ts + lateness + SECOND)) {
            may.very_late_ms = lateness;
            o->silent = true;
        }
        disposition(gen, WR_RIDELO_ORDERS, i, o->ts, lateness, may, &rng);
    }
}

static void lay_changes(planner *pl) {
    wr_ridelo *gen = pl->gen;
    for (uint32_t i = 0; i < gen->changes.n; i++) {
        const change_rec *v = &gen->changes.at[i];
        wr_gen_rng rng = rng_for(pl, DRAW_LINES + WR_RIDELO_CHANGES, i);
        int64_t    lateness = draw_lateness(&gen->config, &rng), reach = wr_ridelo_watermark_delay_ms(WR_RIDELO_CHANGES) + SECOND;
        allowance  may = {0};
        if (!any_between(&pl->order_times, v->restaurant, v->ts, v->ts + LATE_MAX + SECOND)) may.late_ms = LATE_MAX;
        if (lateness > LATE_MAX && !any_between(&pl->order_times, v->restaurant, v->ts, v->ts + lateness + SECOND) &&
            !any_between(&pl->change_times, v->restaurant, v->ts + 1, v->ts + lateness + reach))
            may.very_late_ms = lateness;
        disposition(gen, WR_RIDELO_CHANGES, i, v->ts, lateness, may, &rng);
    }
}

/* For streams that no join looks at: as late as they come. */
static void lay_freely(planner *pl, wr_ridelo_stream stream, uint32_t rec, int64_t ts) {
    wr_gen_rng rng = rng_for(pl, DRAW_LINES + stream, rec);
    int64_t    lateness = draw_lateness(&pl->gen->config, &rng);
    disposition(pl->gen, stream, rec, ts, lateness, (allowance){LATE_MAX, VERY_LATE_MAX, false}, &rng);
}

/* ---- what follows from an order ---- */

static void plan_money(planner *pl, uint32_t i) {
    wr_ridelo              *gen = pl->gen;
    const wr_ridelo_config *c = &gen->config;
    const order_rec        *o = &gen->orders.at[i];
    bool                    fraud = is_fraudster(o->user), captured = false;
    wr_gen_rng              rng = rng_for(pl, DRAW_FOLLOW, i);
    int64_t                 ts = o->ts + gen_between(&rng, SECOND, 20 * SECOND);
    for (int attempt = 0; attempt < 3 && !captured; attempt++) {
        captured = !gen_chance(&rng, fraud ? 350000 : 20000);
        wr_arr_push(&gen->payments, ((payment_rec){ts, i, captured}));
        lay_freely(pl, WR_RIDELO_PAYMENTS, gen->payments.n - 1, ts);
        if (!captured) ts += gen_between(&rng, 10 * SECOND, 40 * SECOND);
    }
    if (gen_chance(&rng, 30000)) {
        cancellation_rec rec = {o->ts + gen_between(&rng, 30 * SECOND, 10 * MINUTE), i, (uint32_t)gen_below(&rng, 4)};
        wr_arr_push(&gen->cancellations, rec);
        lay_freely(pl, WR_RIDELO_CANCELLATIONS, gen->cancellations.n - 1, rec.ts);
    }
    if (captured && gen_chance(&rng, fraud ? 200000 : 6000)) {
        int64_t at = ts + gen_between(&rng, c->chargeback_min_ms, c->chargeback_max_ms);
        wr_arr_push(&gen->chargebacks, ((chargeback_rec){at, gen->payments.n - 1}));
        lay_freely(pl, WR_RIDELO_CHARGEBACKS, gen->chargebacks.n - 1, at);
    }
}

static void add_ping(planner *pl, uint32_t order, int64_t ts, int32_t lat, int32_t lon, bool untouched) {
    wr_ridelo *gen = pl->gen;
    int64_t    age = ts - gen->orders.at[order].ts;
    wr_arr_push(&gen->pings, ((ping_rec){ts, order, lat, lon}));
    wr_gen_rng rng = rng_for(pl, DRAW_LINES + WR_RIDELO_PINGS, gen->pings.n - 1);
    int64_t    lateness = draw_lateness(&gen->config, &rng);
    allowance  may = {.untouched = untouched};
    if (age <= PING_LATE_AGE || age > PING_INTERVAL) may.late_ms = LATE_MAX;
    if (age > PING_INTERVAL) may.very_late_ms = VERY_LATE_MAX;
    disposition(gen, WR_RIDELO_PINGS, gen->pings.n - 1, ts, lateness, may, &rng);
}

static void plan_pings(planner *pl, uint32_t i) {
    const order_rec *o = &pl->gen->orders.at[i];
    if (o->silent) return;
    wr_gen_rng rng = rng_for(pl, DRAW_PINGS, i);
    int64_t    ts = o->ts + gen_between(&rng, PING_FIRST_MIN, 8 * MINUTE);
    int32_t    lat = 52450000 + (int32_t)gen_below(&rng, 130000), lon = 13280000 + (int32_t)gen_below(&rng, 200000);
    if (gen_chance(&rng, 5000)) ts = o->ts + PING_INTERVAL + gen_between(&rng, MINUTE, 5 * MINUTE); /* a slow start: unmatched */
    if (gen_chance(&rng, 1000)) { /* on the edge, and one millisecond past it */
        add_ping(pl, i, o->ts + PING_INTERVAL, lat, lon, true);
        add_ping(pl, i, o->ts + PING_INTERVAL + 1, lat, lon, true);
    }
    for (int k = 0; k < 4; k++) {
        add_ping(pl, i, ts, lat, lon, false);
        ts += gen_between(&rng, 200 * SECOND, 300 * SECOND);
        lat += (int32_t)gen_between(&rng, -4000, 4000);
        lon += (int32_t)gen_between(&rng, -6000, 6000);
    }
}

/* ---- sort and count ---- */

static int by_arrival(const void *a, const void *b) {
    const line_rec *x = a, *y = b;
    if (x->arrival != y->arrival) return x->arrival < y->arrival ? -1 : 1;
    return x->seq < y->seq ? -1 : x->seq > y->seq;
}

static uint32_t n_records(const wr_ridelo *gen, int stream) {
    const uint32_t n[WR_RIDELO_STREAMS] = {gen->orders.n,      gen->cancellations.n, gen->payments.n,
                                           gen->chargebacks.n, gen->pings.n,         gen->changes.n};
    return n[stream];
}

static void finish_stream(wr_ridelo *gen, int stream) {
    line_arr         *lines = &gen->lines[stream];
    wr_ridelo_counts *n = &gen->counts[stream];
    int64_t           newest = INT64_MIN, delay = wr_ridelo_watermark_delay_ms((wr_ridelo_stream)stream);
    uint32_t          next_id = n_records(gen, stream);
    if (lines->n) qsort(lines->at, lines->n, sizeof(line_rec), by_arrival);
    n->lines = lines->n;
    for (uint32_t i = 0; i < lines->n; i++) {
        line_rec *line = &lines->at[i];
        if (line->kind == LINE_FUTURE) line->id = ++next_id;
        if (line->kind == LINE_MALFORMED) {
            n->malformed++;
            continue;
        }
        if (newest != INT64_MIN && line->ts - newest > WR_RIDELO_FUTURE_GUARD_MS) { /* also a true event after a long silence */
            n->future++;
            continue;
        }
        wr_dassert(line->kind != LINE_FUTURE);
        n->accepted++;
        n->duplicates += line->kind == LINE_DUPLICATE;
        if (newest != INT64_MIN && line->ts <= newest - delay) n->late++;
        else if (line->ts < newest) n->out_of_order++;
        newest = WR_MAX(newest, line->ts);
    }
}

void ridelo_plan(wr_ridelo *gen) {
    planner pl = {.gen = gen};
    plan_changes(&pl);
    plan_orders(&pl);
    build_index(&pl, &pl.order_times, &gen->orders);
    build_index(&pl, &pl.change_times, &gen->changes);
    lay_orders(&pl); /* may silence orders, so before their pings */
    lay_changes(&pl);
    for (uint32_t i = 0; i < gen->orders.n; i++) {
        plan_money(&pl, i);
        plan_pings(&pl, i);
    }
    for (int s = 0; s < WR_RIDELO_STREAMS; s++) finish_stream(gen, s);
    wr_free(pl.order_times.at);
    wr_free(pl.order_times.first);
    wr_free(pl.change_times.at);
    wr_free(pl.change_times.first);
    wr_free(pl.opened);
}
