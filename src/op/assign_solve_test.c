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

enum { SIDE = 6, BIG = 60 };

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

/* Every matching: the order `at` gets each courier that is left, or none. */
typedef struct brute { const wr_assign_how *how; const wr_assign_order *o; const wr_assign_courier *c; uint32_t n, m, best_n; double best; bool used[SIDE]; } brute;
static void try_all(brute *b, uint32_t at, uint32_t n, double cost) {
    if (at == b->n) {
        if (n > b->best_n || (n == b->best_n && cost < b->best)) b->best_n = n, b->best = cost;
        return;
    }
    try_all(b, at + 1, n, cost);
    for (uint32_t k = 0; k < b->m; k++) {
        double more = b->used[k] ? INFINITY : cost_of(b->how, &b->o[at], b->c, k);
        if (isinf(more)) continue;
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
        assert_true(fabs((double)sum.cost / 1000 - b.best) < 0.001 * (SIDE + 1)); /* each pair is rounded to a thousandth */
        how.greedy = true;
        wr_assign_sum g = solve(&how, o, n, c, m, picks);
        assert_true(g.n_assigned <= sum.n_assigned);
    }
}

/* The Hungarian method with potentials (Kuhn 1955, Munkres 1957), for a full matrix, rows <= columns. */
static double hungarian(uint32_t n, uint32_t m, double cost[BIG][BIG]) {
    double   u[BIG + 1] = {0}, v[BIG + 1] = {0}, sum = 0;
    uint32_t row_of[BIG + 1] = {0}, way[BIG + 1] = {0};
    for (uint32_t i = 1; i <= n; i++) {
        double   least[BIG + 1];
        bool     used[BIG + 1] = {0};
        uint32_t j0 = 0;
        row_of[0] = i;
        for (uint32_t j = 0; j <= m; j++) least[j] = INFINITY;
        do {
            double   delta = INFINITY;
            uint32_t j1 = 0, i0 = row_of[j0];
            used[j0] = true;
            for (uint32_t j = 1; j <= m; j++) {
                if (used[j]) continue;
                double cur = cost[i0 - 1][j - 1] - u[i0] - v[j];
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
    for (uint32_t j = 1; j <= m; j++)
        if (row_of[j]) sum += cost[row_of[j] - 1][j - 1];
    return sum;
}

static void equals_the_hungarian_method(void **state) {
    (void)state;
    static double cost[BIG][BIG];
    for (uint64_t seed = 0; seed < 60; seed++) {
        wr_rng            rng;
        wr_assign_order   o[BIG];
        wr_assign_courier c[BIG];
        wr_assign_pick    picks[BIG];
        wr_rng_seed(&rng, seed);
        uint32_t n = 20 + (uint32_t)wr_rng_below(&rng, 21), m = 40 + (uint32_t)wr_rng_below(&rng, 21);
        wr_assign_how how = {.wait_weight = seed % 2 ? 1.5 : 0};
        for (uint32_t i = 0; i < BIG; i++) {
            o[i] = (wr_assign_order){.x = rnd(&rng, 1e4), .y = rnd(&rng, 1e4), .waited_us = (int64_t)wr_rng_below(&rng, 900) * 1000000};
            c[i] = (wr_assign_courier){rnd(&rng, 1e4), rnd(&rng, 1e4)};
        }
        for (uint32_t i = 0; i < n; i++)
            for (uint32_t k = 0; k < m; k++) cost[i][k] = cost_of(&how, &o[i], c, k);
        wr_assign_sum sum = solve(&how, o, n, c, m, picks);
        assert_int_equal(sum.n_assigned, n);
        assert_true(fabs((double)sum.cost / 1000 - hungarian(n, m, cost)) < 0.001 * (n + 1));
    }
}

/* 300 orders and 1,500 couriers have more pairs than the bound, 250 and 1,500 too, but there the nearest suffice: the same cost as with all pairs, which
 * is found here by giving the orders one by one along shortest augmenting paths (the Hungarian method, by rows). */
static void nearest_couriers_suffice(void **state) {
    (void)state;
    enum { N = 250, M = 1500 };
    wr_rng             rng;
    wr_assign_how      how = {0};
    wr_assign_order   *o = wr_calloc(N, sizeof *o);
    wr_assign_courier *c = wr_calloc(M, sizeof *c);
    wr_assign_pick    *picks = wr_calloc(N, sizeof *picks);
    double            *u = wr_calloc(N + 1, sizeof *u), *v = wr_calloc(M + 1, sizeof *v), *least = wr_calloc(M + 1, sizeof *least), sum = 0;
    uint32_t          *row_of = wr_calloc(M + 1, sizeof *row_of), *way = wr_calloc(M + 1, sizeof *way);
    bool              *used = wr_calloc(M + 1, 1);
    wr_rng_seed(&rng, 7);
    for (uint32_t i = 0; i < N; i++) o[i] = (wr_assign_order){.x = rnd(&rng, 300), .y = rnd(&rng, 300)}; /* crowded: they compete */
    for (uint32_t i = 0; i < M; i++) c[i] = (wr_assign_courier){rnd(&rng, 3000), rnd(&rng, 3000)};
    for (uint32_t i = 1; i <= N; i++) {
        uint32_t j0 = 0;
        row_of[0] = i;
        for (uint32_t j = 0; j <= M; j++) least[j] = INFINITY, used[j] = false;
        do {
            double   delta = INFINITY;
            uint32_t j1 = 0, i0 = row_of[j0];
            used[j0] = true;
            for (uint32_t j = 1; j <= M; j++) {
                if (used[j]) continue;
                double cur = cost_of(&how, &o[i0 - 1], c, j - 1) - u[i0] - v[j];
                if (cur < least[j]) least[j] = cur, way[j] = j0;
                if (least[j] < delta) delta = least[j], j1 = j;
            }
            for (uint32_t j = 0; j <= M; j++)
                if (used[j]) u[row_of[j]] += delta, v[j] -= delta;
                else least[j] -= delta;
            j0 = j1;
        } while (row_of[j0]);
        for (; j0; j0 = way[j0]) row_of[j0] = row_of[way[j0]];
    }
    for (uint32_t j = 1; j <= M; j++)
        if (row_of[j]) sum += cost_of(&how, &o[row_of[j] - 1], c, j - 1);
    wr_assign_sum got = solve(&how, o, N, c, M, picks);
    assert_int_equal(got.n_assigned, N);
    assert_true(fabs((double)got.cost / 1000 - sum) < 0.001 * (N + 1));
    wr_free(o), wr_free(c), wr_free(picks), wr_free(u), wr_free(v), wr_free(least), wr_free(row_of), wr_free(way), wr_free(used);
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
    o[0].x = 1e308, c[0].x = -1e308, c[1].x = 1e308; /* the way between the first two is more than a double holds */
    s = solve(&how, o, 1, c, 2, p);
    assert_int_equal(p[0].courier, 1);
    s = solve(&how, o, 1, c, 1, p);
    assert_int_equal(s.n_assigned, 0);
    s = solve(&how, o, 2, c, 2, p);
    assert_int_equal(s.n_assigned, 2);
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
        wr_near_hit hits[ROOM];
        uint32_t    skip[] = {3, 50, 51};
        bool        earth = seed % 2;
        wr_rng_seed(&rng, seed);
        for (uint32_t i = 0; i < N; i++) {
            xy[2 * i] = seed % 4 < 2 ? (double)wr_rng_below(&rng, 12) : rnd(&rng, 360) - 180;
            xy[2 * i + 1] = seed % 4 < 2 ? (double)wr_rng_below(&rng, 12) : rnd(&rng, 180) - 90;
        }
        wr_near *near = wr_near_new(earth, xy, N);
        for (uint32_t turn = 0; turn < 60; turn++) {
            double   x = rnd(&rng, 12), y = rnd(&rng, 12);
            uint32_t n = wr_near_find(near, x, y, skip, 3, hits, ROOM), closer = 0;
            for (uint32_t i = 0; i < N; i++) {
                if (gone[i] || i == 3 || i == 50 || i == 51) continue;
                double far = wr_assign_distance(earth, x, y, xy[2 * i], xy[2 * i + 1]), last = n ? wr_assign_distance(earth, x, y, xy[2 * hits[n - 1].at], xy[2 * hits[n - 1].at + 1]) : 0;
                closer += far < last - 1e-6 * (earth ? 1 : 1e-3);
            }
            assert_true(closer < WR_MAX(n, 1u));
            if (!n) break;
            wr_near_take(near, hits[0].at);
            gone[hits[0].at] = true;
        }
        wr_near_free(near);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equals_every_matching_of_small_instances), cmocka_unit_test(equals_the_hungarian_method), cmocka_unit_test(nearest_couriers_suffice),
        cmocka_unit_test(greedy_differs_by_hand), cmocka_unit_test(earth_by_hand), cmocka_unit_test(batch_by_hand), cmocka_unit_test(batch_may_turn_the_stops),
        cmocka_unit_test(extremes), cmocka_unit_test(near_equals_a_scan),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
