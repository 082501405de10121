/* op/assign_solve_test.c: rounds of ASSIGN against every possible matching of small instances, against the Hungarian method on larger ones, and by hand. */
#include "op/assign_near.h"
#include "op/assign_solve.h"
#include "base/hash.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <cmocka.h>

enum { SIDE = 6 };
#define NEVER 1e9 /* what an order costs that cannot have that courier: more than all others together */

static double rnd(wr_rng *r, double to) { return (double)wr_rng_below(r, 1000000) / 1e6 * to; }

static wr_assign_sum solve(const wr_assign_how *how, const wr_assign_order *o, uint32_t n, const wr_assign_courier *c, uint32_t m, wr_assign_pick *picks) {
    wr_assign_sum   sum, again;
    wr_err          err = {0};
    wr_assign_pick *twice = wr_malloc(WR_MAX(n, 1u) * sizeof *twice);
    assert_int_equal(wr_assign_solve(how, o, n, c, m, picks, &sum, &err), WR_OK);
    assert_int_equal(wr_assign_solve(how, o, n, c, m, twice, &again, &err), WR_OK);
    uint8_t *orders_of = wr_calloc(WR_MAX(m, 1u), 1);
    uint32_t got = 0;
    for (uint32_t i = 0; i < n; i++) { /* the same twice; nobody has two but a batch; limits hold */
        assert_int_equal(picks[i].courier, twice[i].courier);
        assert_int_equal(picks[i].stop, twice[i].stop);
        if (picks[i].courier == WR_ASSIGN_NOBODY) continue;
        got++;
        assert_true(picks[i].courier < m);
        assert_true(!(orders_of[picks[i].courier] & picks[i].stop));
        orders_of[picks[i].courier] |= (uint8_t)picks[i].stop;
        if (how->max_distance > 0 && picks[i].stop == 1) assert_true(picks[i].distance <= how->max_distance);
        for (uint32_t b = 0; b < o[i].n_barred; b++) assert_int_not_equal(o[i].barred[b], picks[i].courier);
    }
    for (uint32_t k = 0; k < m; k++) assert_int_not_equal(orders_of[k], 2); /* a second stop without a first */
    assert_int_equal(got, sum.n_assigned);
    wr_free(orders_of);
    wr_free(twice);
    return sum;
}

static double cost_of(const wr_assign_how *how, const wr_assign_order *o, const wr_assign_courier *c, uint32_t at) {
    for (uint32_t b = 0; b < o->n_barred; b++)
        if (o->barred[b] == at) return INFINITY;
    double far = wr_assign_distance(how->earth, c[at].x, c[at].y, o->x, o->y);
    return how->max_distance > 0 && far > how->max_distance ? INFINITY : far - how->wait_weight * ((double)o->waited_us / 1e6);
}

/* In whole thousandths, as the rule says; NEVER's for pairs that are not made. */
static double whole_cost(const wr_assign_how *how, const wr_assign_order *o, const wr_assign_courier *c, uint32_t at) {
    double cost = cost_of(how, o, c, at);
    return isinf(cost) ? NEVER * 1000 : (double)llround(cost * 1000);
}

/* Every matching: the order `at` gets each courier that is left, or none. */
typedef struct brute { const wr_assign_how *how; const wr_assign_order *o; const wr_assign_courier *c; uint32_t n, m, best_n; double best; bool used[SIDE]; } brute;
static void try_all(brute *b, uint32_t at, uint32_t n, double cost) {
    if (at == b->n) {
        if (n > b->best_n || (n == b->best_n && cost < b->best)) b->best_n = n, b->best = cost;
        return;
    }
    try_all(b, at + 1, n, cost);
    for (uint32_t k = 0; k < b->m; k++) {
        double more = b->used[k] ? NEVER * 1000 : whole_cost(b->how, &b->o[at], b->c, k);
        if (more >= NEVER * 1000) continue;
        b->used[k] = true;
        try_all(b, at + 1, n + 1, cost + more);
        b->used[k] = false;
    }
}

static void equals_every_matching_of_small_instances(void **state) {
    (void)state;
    for (uint64_t seed = 0; seed < 2000; seed++) {
        wr_rng            rng;
        wr_assign_order   o[SIDE];
        wr_assign_courier c[SIDE];
        wr_assign_pick    picks[SIDE];
        uint32_t          barred[SIDE][2];
        wr_rng_seed(&rng, seed);
        uint32_t n = (uint32_t)wr_rng_below(&rng, SIDE + 1), m = (uint32_t)wr_rng_below(&rng, SIDE + 1);
        double   grid = seed % 3 ? 1000 : 4; /* few places: ties */
        wr_assign_how how = {.earth = seed % 5 == 0, .max_distance = seed % 2 ? 0 : rnd(&rng, grid), .wait_weight = seed % 4 == 1 ? 3.5 : 0};
        if (how.earth) grid = 0.01, how.max_distance = seed % 2 ? 0 : rnd(&rng, 1500);
        for (uint32_t i = 0; i < SIDE; i++) {
            double at[4];
            for (int k = 0; k < 4; k++) at[k] = seed % 3 || how.earth ? rnd(&rng, grid) : (double)wr_rng_below(&rng, 4);
            barred[i][0] = (uint32_t)wr_rng_below(&rng, 3), barred[i][1] = 3 + (uint32_t)wr_rng_below(&rng, 3);
            o[i] = (wr_assign_order){.x = at[0], .y = at[1], .waited_us = (int64_t)wr_rng_below(&rng, 600) * 1000000, .n_barred = (uint32_t)wr_rng_below(&rng, 3), .barred = barred[i]};
            c[i] = (wr_assign_courier){at[2], at[3]};
        }
        brute b = {.how = &how, .o = o, .c = c, .n = n, .m = m};
        try_all(&b, 0, 0, 0);
        wr_assign_sum sum = solve(&how, o, n, c, m, picks);
        assert_int_equal(sum.n_assigned, b.best_n);
        assert_int_equal(sum.cost, (int64_t)b.best);
        how.greedy = true;
        wr_assign_sum g = solve(&how, o, n, c, m, picks);
        assert_true(g.n_assigned <= sum.n_assigned);
    }
}

/* The Hungarian method with potentials (Kuhn 1955, Munkres 1957), orders <= couriers. Gives the cost in thousandths, and how many orders have somebody. */
static double hungarian(const wr_assign_how *how, const wr_assign_order *o, uint32_t n, const wr_assign_courier *c, uint32_t m, uint32_t *got) {
    double   *u = wr_calloc(n + 1, sizeof *u), *v = wr_calloc(m + 1, sizeof *v), *least = wr_calloc(m + 1, sizeof *least), sum = 0;
    uint32_t *row_of = wr_calloc(m + 1, sizeof *row_of), *way = wr_calloc(m + 1, sizeof *way);
    bool     *used = wr_calloc(m + 1, 1);
    for (uint32_t i = 1; i <= n; i++) {
        uint32_t j0 = 0;
        row_of[0] = i;
        for (uint32_t j = 0; j <= m; j++) least[j] = INFINITY, used[j] = false;
        do {
            double   delta = INFINITY;
            uint32_t j1 = 0, i0 = row_of[j0];
            used[j0] = true;
            for (uint32_t j = 1; j <= m; j++) {
                if (used[j]) continue;
                double cur = whole_cost(how, &o[i0 - 1], c, j - 1) - u[i0] - v[j];
                if (cur < least[j]) least[j] = cur, way[j] = j0;
                if (least[j] < delta) delta = least[j], j1 = j;
            }
            for (uint32_t j = 0; j <= m; j++)
                if (used[j]) u[row_of[j]] += delta, v[j] -= delta;
                else least[j] -= delta;
            j0 = j1;
        } while (row_of[j0]);
        for (; j0; j0 = way[j0]) row_of[j0] = row_of[way[j0]];
    }
    *got = 0;
    for (uint32_t j = 1; j <= m; j++) {
        double cost = row_of[j] ? whole_cost(how, &o[row_of[j] - 1], c, j - 1) : NEVER * 1000;
        if (cost < NEVER * 1000) sum += cost, ++*got;
    }
    wr_free(u), wr_free(v), wr_free(least), wr_free(row_of), wr_free(way), wr_free(used);
    return sum;
}
/* n orders within `to`, m couriers within `all`. */
static void equals_hungarian(uint64_t seed, wr_assign_how how, uint32_t n, double to, uint32_t m, double all) {
    wr_rng             rng;
    wr_assign_order   *o = wr_calloc(n, sizeof *o);
    wr_assign_courier *c = wr_calloc(m, sizeof *c);
    wr_assign_pick    *picks = wr_calloc(n, sizeof *picks);
    uint32_t           got;
    wr_rng_seed(&rng, seed);
    for (uint32_t i = 0; i < n; i++) o[i] = (wr_assign_order){.x = rnd(&rng, to), .y = rnd(&rng, to), .waited_us = (int64_t)wr_rng_below(&rng, 900) * 1000000};
    for (uint32_t i = 0; i < m; i++) c[i] = (wr_assign_courier){rnd(&rng, all), rnd(&rng, all)};
    double        best = hungarian(&how, o, n, c, m, &got);
    wr_assign_sum sum = solve(&how, o, n, c, m, picks);
    assert_int_equal(sum.n_assigned, got);
    assert_int_equal(sum.cost, (int64_t)best);
    wr_free(o), wr_free(c), wr_free(picks);
}

static void equals_the_hungarian_method(void **state) {
    (void)state;
    for (uint64_t seed = 0; seed < 60; seed++)
        equals_hungarian(seed, (wr_assign_how){.wait_weight = seed % 2 ? 1.5 : 0, .max_distance = seed % 3 ? 0 : 1500}, 20 + (uint32_t)seed % 21, 1e4, 40 + (uint32_t)seed % 23, 1e4);
}

/* More pairs than the bound, and still the best of all: 250 crowded orders of 300 couriers need the nearest 250 only; 300 orders of 300 couriers are all
 * within the bound as far as they reach. */
static void candidates_suffice(void **state) {
    (void)state;
    equals_hungarian(7, (wr_assign_how){0}, 250, 300, 300, 3000);
    equals_hungarian(8, (wr_assign_how){.max_distance = 1000}, 300, 3000, 300, 3000);
    equals_hungarian(9, (wr_assign_how){.max_distance = 500, .wait_weight = 2}, 300, 1000, 300, 3000);
    equals_hungarian(10, (wr_assign_how){.max_distance = 900, .earth = true}, 300, 0.03, 300, 0.03);
}

/* All orders at a few doors: their nearest couriers are the same ones. As many are served as greedy serves, for no more. */
static void never_worse_than_greedy(void **state) {
    (void)state;
    enum { N = 400 };
    for (uint64_t seed = 0; seed < 12; seed++) {
        wr_rng            rng;
        wr_assign_order   o[N];
        wr_assign_courier c[N];
        wr_assign_pick    picks[N];
        wr_assign_how     how = {.max_distance = seed % 2 ? 700 : 0};
        wr_rng_seed(&rng, seed);
        for (uint32_t i = 0; i < N; i++) {
            o[i] = (wr_assign_order){.x = (double)(i % (seed / 4 + 1)) * 300, .y = 500};
            c[i] = (wr_assign_courier){rnd(&rng, 1000), rnd(&rng, 1000)};
        }
        wr_assign_sum best = solve(&how, o, N, c, N - 20, picks);
        how.greedy = true;
        wr_assign_sum plain = solve(&how, o, N, c, N - 20, picks);
        assert_true(best.n_assigned >= plain.n_assigned);
        if (best.n_assigned == plain.n_assigned) assert_true(best.cost <= plain.cost);
    }
}

/* From the oldest on, the nearest that is left, found by looking at each. */
static void greedy_equals_a_scan(void **state) {
    (void)state;
    enum { N = 60 };
    for (uint64_t seed = 0; seed < 200; seed++) {
        wr_rng            rng;
        wr_assign_order   o[N];
        wr_assign_courier c[N];
        wr_assign_pick    picks[N];
        bool              used[N] = {0};
        uint32_t          barred[] = {2, 9, 30}, n = 1 + (uint32_t)seed % N, m = N - (uint32_t)seed % 23;
        wr_assign_how     how = {.greedy = true, .max_distance = seed % 2 ? 6 : 0};
        wr_rng_seed(&rng, seed);
        for (uint32_t i = 0; i < N; i++) {
            o[i] = (wr_assign_order){.x = (double)wr_rng_below(&rng, 20), .y = (double)wr_rng_below(&rng, 20), .n_barred = (uint32_t)wr_rng_below(&rng, 4), .barred = barred};
            c[i] = (wr_assign_courier){(double)wr_rng_below(&rng, 20), (double)wr_rng_below(&rng, 20)};
        }
        solve(&how, o, n, c, m, picks);
        for (uint32_t i = 0; i < n; i++) {
            uint32_t found = WR_ASSIGN_NOBODY;
            double   least = INFINITY;
            for (uint32_t k = 0; k < m; k++)
                if (!used[k] && cost_of(&how, &o[i], c, k) < least) least = cost_of(&how, &o[i], c, k), found = k;
            assert_int_equal(picks[i].courier, found);
            if (found == WR_ASSIGN_NOBODY) continue;
            assert_true(picks[i].distance == least);
            used[found] = true;
        }
    }
}

/* Orders at 0 and 10, couriers at 6 and -50: the older order takes the nearer courier and sends the other far (6 + 60 = 66); together 50 + 4 = 54. */
static void greedy_differs_by_hand(void **state) {
    (void)state;
    wr_assign_order   o[] = {{.x = 0}, {.x = 10}};
    wr_assign_courier c[] = {{6, 0}, {-50, 0}};
    wr_assign_pick    p[2];
    wr_assign_how     how = {0};
    assert_int_equal(solve(&how, o, 2, c, 2, p).cost, 54000);
    assert_int_equal(p[0].courier, 1);
    assert_int_equal(p[1].courier, 0);
    how.greedy = true;
    assert_int_equal(solve(&how, o, 2, c, 2, p).cost, 66000);
    assert_int_equal(p[0].courier, 0);
    /* one courier: who waits 30 s at 1 a second is worth 30: 0 (6 - 30) before 10 (4 - 0) */
    o[0].waited_us = 30000000;
    how = (wr_assign_how){.wait_weight = 1};
    assert_int_equal(solve(&how, o, 2, c, 1, p).cost, -24000);
    assert_int_equal(p[0].courier, 0);
    assert_int_equal(p[1].courier, WR_ASSIGN_NOBODY);
    how.wait_weight = 0;
    assert_int_equal(solve(&how, o, 2, c, 1, p).cost, 4000);
}

/* A degree of latitude is 6371008.8 * pi / 180 = 111,195.08 m; a degree of longitude at 60 degrees is half of it (chord and ground differ by less than 0.01 %). */
static void earth_by_hand(void **state) {
    (void)state;
    assert_true(fabs(wr_assign_distance(true, 0, 0, 0, 1) - 111195.08) < 0.01);
    assert_true(fabs(wr_assign_distance(true, 10, 60, 11, 60) - 55597.54) < 5);
    assert_true(fabs(wr_assign_distance(true, 179.5, 0, -179.5, 0) - 111195.08) < 0.01);
    assert_true(fabs(wr_assign_distance(true, 0, 90, 120, 90)) < 1e-6);
    wr_assign_order   o = {.x = -179.9, .y = 5};
    wr_assign_courier c[] = {{-178, 5}, {179.9, 5}}; /* across the date line it is nearer */
    wr_assign_pick    p;
    wr_assign_how     how = {.earth = true, .greedy = true};
    solve(&how, &o, 1, c, 2, &p);
    assert_int_equal(p.courier, 1);
}

/* Courier 0; order a from 10 to 20; order b from 11 to 21. Apart: 20, back to 11 (9), on to 21 (10): 39. Joint: 10, 11, 20, 21: 21, which is 46 % shorter. */
static void batch_by_hand(void **state) {
    (void)state;
    wr_assign_order   o[] = {{.x = 10, .to_x = 20}, {.x = 11, .to_x = 21}};
    wr_assign_courier c = {0, 0};
    wr_assign_pick    p[2];
    wr_assign_how     how = {.batch_share = 0.46};
    wr_assign_sum     s = solve(&how, o, 2, &c, 1, p);
    assert_int_equal(s.n_batched, 1);
    assert_int_equal(p[0].stop, 1);
    assert_int_equal(p[1].stop, 2);
    assert_true(p[1].distance == 1 && p[0].distance == 10);
    how.batch_share = 0.47;
    assert_int_equal(solve(&how, o, 2, &c, 1, p).n_assigned, 1);
    how = (wr_assign_how){.batch_share = 0.46, .greedy = true};
    assert_int_equal(solve(&how, o, 2, &c, 1, p).n_batched, 1);
    uint32_t no = 0;
    o[1].n_barred = 1, o[1].barred = &no;
    assert_int_equal(solve(&how, o, 2, &c, 1, p).n_assigned, 1);
}

/* The second pick-up lies on the way to the first: it becomes stop 1, with its own way, and the first stop 2. */
static void batch_may_turn_the_stops(void **state) {
    (void)state;
    wr_assign_order   o[] = {{.x = 10, .to_x = 30, .waited_us = 60000000}, {.x = 6, .to_x = 31}};
    wr_assign_courier c = {0, 0};
    wr_assign_pick    p[2];
    wr_assign_how     how = {.batch_share = 0.2, .wait_weight = 1};
    solve(&how, o, 2, &c, 1, p);
    assert_int_equal(p[1].stop, 1);
    assert_int_equal(p[0].stop, 2);
    assert_true(p[1].distance == 6 && p[0].distance == 4);
}

/* The shortest way to both pick-ups and then to both drops, of every sequence of the four places. */
static double joint_way(const wr_assign_courier *c, const wr_assign_order *a, const wr_assign_order *b) {
    double px[] = {a->x, a->to_x, b->x, b->to_x}, py[] = {a->y, a->to_y, b->y, b->to_y}, best = INFINITY;
    for (int code = 0; code < 256; code++) {
        int    at[] = {code & 3, code >> 2 & 3, code >> 4 & 3, code >> 6 & 3}, place[4] = {-1, -1, -1, -1};
        double x = c->x, y = c->y, way = 0;
        for (int i = 0; i < 4; i++) place[at[i]] = i;
        if (place[0] < 0 || place[0] > 1 || place[2] < 0 || place[2] > 1 || place[1] < 2 || place[3] < 2) continue;
        for (int i = 0; i < 4; i++) {
            way += wr_assign_distance(false, x, y, px[at[i]], py[at[i]]);
            x = px[at[i]], y = py[at[i]];
        }
        best = WR_MIN(best, way);
    }
    return best;
}
/* The order `at` joins each one that has a courier alone, or none: as many as possible, then the least detours. */
typedef struct mates { uint32_t n_left, n_right, best_n; double cost[2 * SIDE][SIDE], best; bool used[SIDE]; } mates;
static void try_mates(mates *m, uint32_t at, uint32_t n, double cost) {
    if (at >= m->n_left || at >= 2 * SIDE) {
        if (n > m->best_n || (n == m->best_n && cost < m->best)) m->best_n = n, m->best = cost;
        return;
    }
    try_mates(m, at + 1, n, cost);
    for (uint32_t k = 0; k < m->n_right; k++) {
        if (m->used[k] || isinf(m->cost[at][k])) continue;
        m->used[k] = true;
        try_mates(m, at + 1, n + 1, cost + m->cost[at][k]);
        m->used[k] = false;
    }
}
static void batches_equal_every_choice(void **state) {
    (void)state;
    enum { N = 2 * SIDE };
    uint32_t n_joined = 0, n_turned = 0;
    for (uint64_t seed = 0; seed < 2000; seed++) {
        wr_rng            rng;
        wr_assign_order   o[N];
        wr_assign_courier c[SIDE];
        wr_assign_pick    first[N], p[N];
        uint32_t          barred[] = {1, 3}, m = 1 + (uint32_t)seed % 4, n = m + (uint32_t)seed % 5, left[N], right[N];
        wr_rng_seed(&rng, seed);
        for (uint32_t i = 0; i < N; i++)
            o[i] = (wr_assign_order){rnd(&rng, 1000), rnd(&rng, 1000), rnd(&rng, 3000), rnd(&rng, 3000), (int64_t)wr_rng_below(&rng, 600) * 1000000, (uint32_t)wr_rng_below(&rng, 6) / 3, barred};
        for (uint32_t i = 0; i < SIDE; i++) c[i] = (wr_assign_courier){rnd(&rng, 1000), rnd(&rng, 1000)};
        wr_assign_how how = {.max_distance = seed % 3 ? 0 : 600, .wait_weight = seed % 2, .greedy = seed % 5 == 4};
        solve(&how, o, n, c, m, first);
        how.batch_share = 0.05 + 0.1 * (double)(seed % 6);
        wr_assign_sum sum = solve(&how, o, n, c, m, p);
        mates         b = {0};
        for (uint32_t i = 0; i < n; i++)
            if (first[i].courier != WR_ASSIGN_NOBODY) right[b.n_right++] = i;
            else left[b.n_left++] = i;
        for (uint32_t l = 0; l < b.n_left; l++)
            for (uint32_t r = 0; r < b.n_right; r++) {
                const wr_assign_order   *a = &o[right[r]], *w = &o[left[l]];
                const wr_assign_courier *k = &c[first[right[r]].courier];
                double own = wr_assign_distance(false, k->x, k->y, a->x, a->y) + wr_assign_distance(false, a->x, a->y, a->to_x, a->to_y);
                double apart = own + wr_assign_distance(false, a->to_x, a->to_y, w->x, w->y) + wr_assign_distance(false, w->x, w->y, w->to_x, w->to_y), joint = joint_way(k, a, w);
                b.cost[l][r] = joint > (1 - how.batch_share) * apart || isinf(cost_of(&how, w, c, first[right[r]].courier)) ? INFINITY
                    : (double)llround((joint - own - how.wait_weight * ((double)w->waited_us / 1e6)) * 1000);
            }
        try_mates(&b, 0, 0, 0);
        double   cost = 0;
        uint32_t n_pairs = 0;
        for (uint32_t l = 0; l < b.n_left; l++) { /* who was picked, and that nothing else changed */
            if (p[left[l]].courier == WR_ASSIGN_NOBODY) continue;
            uint32_t r = 0;
            while (r < b.n_right && first[right[r]].courier != p[left[l]].courier) r++;
            assert_true(r < b.n_right && !isinf(b.cost[l][r]));
            cost += b.cost[l][r];
            n_pairs++;
            n_turned += p[left[l]].stop == 1;
            assert_int_equal(p[left[l]].stop + p[right[r]].stop, 3);
        }
        for (uint32_t r = 0; r < b.n_right; r++) assert_int_equal(p[right[r]].courier, first[right[r]].courier);
        assert_int_equal(n_pairs, sum.n_batched);
        n_joined += n_pairs;
        if (how.greedy) {
            assert_true(n_pairs <= b.best_n && (n_pairs > 0) == (b.best_n > 0));
        } else {
            assert_int_equal(n_pairs, b.best_n);
            assert_true(fabs(cost - b.best) <= n_pairs + 0.5); /* the ways are added up in another order: a thousandth each */
        }
    }
    assert_true(n_joined > 500 && n_turned > 100);
}

static void extremes(void **state) {
    (void)state;
    enum { N = 3000 };
    wr_rng             rng;
    wr_assign_order   *o = wr_calloc(N, sizeof *o);
    wr_assign_courier *c = wr_calloc(N, sizeof *c);
    wr_assign_pick    *p = wr_calloc(N, sizeof *p);
    wr_rng_seed(&rng, 1);
    for (uint32_t i = 0; i < N; i++) {
        o[i] = (wr_assign_order){.x = rnd(&rng, 1e12), .y = rnd(&rng, 1e12)};
        c[i] = (wr_assign_courier){rnd(&rng, 1e12), rnd(&rng, 1e12)};
    }
    wr_assign_how how = {0};
    wr_assign_sum s = solve(&how, o, N, c, N, p);
    assert_int_equal(s.n_assigned, N);
    assert_int_equal(s.n_greedy, N - WR_ASSIGN_SIDE_MAX);
    how.greedy = true;
    wr_assign_sum g = solve(&how, o, N, c, N, p);
    assert_int_equal(g.n_assigned, N);
    assert_int_equal(g.n_greedy, 0);
    how = (wr_assign_how){.batch_share = 0.1};
    solve(&how, o, N, c, N / 2, p);
    for (uint32_t i = 0; i < N; i++) o[i].x = o[i].y = c[i].x = c[i].y = 5; /* all in one place */
    how = (wr_assign_how){0};
    s = solve(&how, o, 700, c, 700, p);
    assert_int_equal(s.n_assigned, 700);
    assert_int_equal(s.cost, 0);
    how.greedy = true; /* a depot full of couriers */
    for (uint32_t i = 0; i < N; i++) o[i].x = i;
    s = solve(&how, o, N, c, N, p);
    for (uint32_t i = 0; i < N; i++) assert_int_equal(p[i].courier, i);
    how.greedy = false;
    for (uint32_t i = 0; i < N; i++) o[i].x = 5;
    o[0].x = 1e308, c[0].x = -1e308, c[1].x = 1e308; /* the way between the first two is more than a double holds */
    s = solve(&how, o, 1, c, 2, p);
    assert_int_equal(p[0].courier, 1);
    s = solve(&how, o, 1, c, 1, p);
    assert_int_equal(s.n_assigned, 0);
    s = solve(&how, o, 2, c, 2, p);
    assert_int_equal(s.n_assigned, 2);
    how.wait_weight = 1e300, o[1].waited_us = INT64_MAX, o[2].waited_us = INT64_MIN;
    assert_int_equal(solve(&how, o, 3, c, 3, p).n_assigned, 3);
    how.wait_weight = 0;
    assert_int_equal(solve(&how, o, 0, c, 5, p).n_assigned, 0);
    assert_int_equal(solve(&how, o, 5, c, 0, p).n_assigned, 0);
    wr_free(o), wr_free(c), wr_free(p);
}

static void near_equals_a_scan(void **state) {
    (void)state;
    enum { N = 200, ROOM = 7 };
    for (uint64_t seed = 0; seed < 200; seed++) {
        wr_rng      rng;
        double      xy[2 * N];
        bool        gone[N] = {0};
        wr_nearby_hit hits[ROOM];
        uint32_t    skip[] = {3, 50, 51};
        bool        earth = seed % 2;
        wr_rng_seed(&rng, seed);
        for (uint32_t i = 0; i < N; i++) {
            xy[2 * i] = seed % 4 < 2 ? (double)wr_rng_below(&rng, 12) : rnd(&rng, 360) - 180;
            xy[2 * i + 1] = seed % 4 < 2 ? (double)wr_rng_below(&rng, 12) : rnd(&rng, 180) - 90;
        }
        wr_nearby *near = wr_nearby_new(earth, xy, N);
        for (uint32_t turn = 0; turn < 60; turn++) {
            double   x = rnd(&rng, 12), y = rnd(&rng, 12);
            uint32_t n = wr_nearby_find(near, &(wr_nearby_query){.x = x, .y = y, .skip = skip, .n_skip = 3}, hits, ROOM), closer = 0;
            for (uint32_t i = 0; i < N; i++) {
                if (gone[i] || i == 3 || i == 50 || i == 51) continue;
                double far = wr_assign_distance(earth, x, y, xy[2 * i], xy[2 * i + 1]), last = n ? wr_assign_distance(earth, x, y, xy[2 * hits[n - 1].at], xy[2 * hits[n - 1].at + 1]) : 0;
                closer += far < last - 1e-6 * (earth ? 1 : 1e-3);
            }
            assert_true(closer < WR_MAX(n, 1u));
            double      reach = earth ? 3e5 : 3;
            wr_nearby_hit within[N];
            uint32_t    n_within = wr_nearby_all(near, &(wr_nearby_query){.x = x, .y = y, .max_distance = reach, .skip = skip, .n_skip = 3}, within, N), inside = 0, surely = 0;
            for (uint32_t i = 0; i < N; i++) {
                double far = wr_assign_distance(earth, x, y, xy[2 * i], xy[2 * i + 1]);
                if (gone[i] || i == 3 || i == 50 || i == 51) continue;
                inside += far <= reach;
                surely += far <= reach * (1 + 1e-8) + 1e-6;
            }
            assert_true(n_within >= inside && n_within <= surely);
            if (inside > 1) assert_int_equal(wr_nearby_all(near, &(wr_nearby_query){.x = x, .y = y, .max_distance = reach, .skip = skip, .n_skip = 3}, within, inside - 1), inside);
            if (!n) break;
            wr_nearby_set(near, hits[0].at, false);
            gone[hits[0].at] = true;
            if (turn % 7) continue;
            wr_nearby_set(near, hits[0].at, true);
            gone[hits[0].at] = false;
        }
        wr_nearby_free(near);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equals_every_matching_of_small_instances), cmocka_unit_test(equals_the_hungarian_method), cmocka_unit_test(candidates_suffice), cmocka_unit_test(never_worse_than_greedy), cmocka_unit_test(greedy_equals_a_scan),
        cmocka_unit_test(greedy_differs_by_hand), cmocka_unit_test(earth_by_hand), cmocka_unit_test(batch_by_hand), cmocka_unit_test(batch_may_turn_the_stops), cmocka_unit_test(batches_equal_every_choice),
        cmocka_unit_test(extremes), cmocka_unit_test(near_equals_a_scan),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
