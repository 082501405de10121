/* lab/city_test.c: the city alone: its rules by hand; and the whole lab against the same evening dispatched by a plain loop over the solver, without an engine. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include "lab/city.h"
#include "lab/lab.h"
#include "op/assign_solve.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { MAX_COURIERS = 64 };
static city_opts small_city(uint64_t seed, double load) {
    return (city_opts){.seed = seed, .n_couriers = 40, .n_restaurants = 60, .side = 10000, .speed = 5, .per_hour = load * 160, .evening_us = INT64_C(5400) * 1000000, .every_us = 5000000,
                       .begin_us = INT64_C(1798653600) * 1000000, .handover_us = 60000000, .report_us = 30000000, .promise_us = INT64_C(2700) * 1000000};
}

/* ASSIGN in a few lines: what is open and free at the round, to the solver. */
typedef struct plain { bool free[MAX_COURIERS]; wr_assign_courier at[MAX_COURIERS]; WR_ARR(city_row) open; } plain;
static void plain_round(plain *p, city *c, const wr_assign_how *how, int64_t round_us) {
    uint32_t           ids[MAX_COURIERS], n = 0, left = 0;
    wr_assign_courier  couriers[MAX_COURIERS];
    wr_assign_order   *orders = wr_calloc(p->open.n + 1, sizeof *orders);
    wr_assign_pick    *picks = wr_calloc(p->open.n + 1, sizeof *picks);
    wr_assign_sum      sum;
    wr_err             err = {0};
    for (uint32_t i = 0; i < MAX_COURIERS; i++)
        if (p->free[i]) couriers[n] = p->at[i], ids[n++] = i;
    for (uint32_t i = 0; i < p->open.n; i++) {
        const city_row *o = &p->open.at[i];
        orders[i] = (wr_assign_order){.x = o->x, .y = o->y, .to_x = o->to_x, .to_y = o->to_y, .waited_us = round_us - o->ts_us};
    }
    assert_int_equal(wr_assign_solve(how, orders, p->open.n, couriers, n, picks, &sum, &err), WR_OK);
    for (uint32_t i = 0; i < p->open.n; i++) {
        if (picks[i].courier == WR_ASSIGN_NOBODY) {
            p->open.at[left++] = p->open.at[i];
            continue;
        }
        city_assign(c, p->open.at[i].id, ids[picks[i].courier], picks[i].stop, round_us);
        p->free[ids[picks[i].courier]] = false;
    }
    p->open.n = left;
    wr_free(orders);
    wr_free(picks);
}
static city_sum plain_evening(const city_opts *o, const wr_assign_how *how) {
    plain     p = {0};
    city_rows rows = {0};
    city_sum  sum;
    city     *c = city_new(o);
    for (int64_t at = o->begin_us + o->every_us;; at += o->every_us) {
        rows.n = 0;
        city_step(c, at, &rows);
        for (uint32_t i = 0; i < rows.n; i++) {
            const city_row *r = &rows.at[i];
            if (!r->courier) {
                wr_arr_push(&p.open, *r);
                continue;
            }
            p.free[r->id] = r->status[0] == 'f';
            p.at[r->id] = (wr_assign_courier){r->x, r->y};
        }
        plain_round(&p, c, how, at);
        city_depart(c, at);
        if (city_over(c, at)) break;
    }
    city_add_up(c, &sum);
    city_free(c);
    wr_arr_free(&rows);
    wr_arr_free(&p.open);
    return sum;
}

static double figure(const wr_lab_report *r, const char *name) {
    for (uint32_t i = 0; i < r->figures.n; i++)
        if (!strcmp(r->figures.at[i].name, name)) return r->figures.at[i].value;
    fail_msg("no figure %s", name);
    return 0;
}

static void the_job_decides_as_a_plain_loop(void **state) {
    (void)state;
    static const char *const loads[] = {"low", "middle", "high"}, *const ways[] = {"nearest", "best", "batched"};
    static const double      load[] = {0.15, 0.7, 1.1};
    for (uint64_t seed = 1; seed <= 2; seed++) {
        wr_lab_run    run;
        wr_lab_report report = {0};
        wr_err        err = {0};
        wr_lab_run_open(&run, wr_lab_find(WR_STR("dispatch"), &err), NULL, seed, true);
        assert_int_equal(wr_lab_run_do(&run, &report, &err), WR_OK);
        for (uint64_t l = 0; l < 3; l++)
            for (int w = 0; w < 3; w++) {
                city_opts     o = small_city(seed * 3 + l, load[l]);
                wr_assign_how how = {.greedy = w == 0, .wait_weight = 0.5, .batch_share = w == 2 ? 0.2 : 0};
                city_sum      s = plain_evening(&o, &how);
                char          name[64];
                snprintf(name, sizeof name, "%s_%s_wait_s", loads[l], ways[w]);
                assert_true(fabs(s.wait_s - figure(&report, name)) < 1e-6);
                snprintf(name, sizeof name, "%s_%s_to_pick_up_m", loads[l], ways[w]);
                assert_true(fabs(s.to_pick_up_m - figure(&report, name)) < 1e-3);
                assert_int_equal(s.faults, 0);
                assert_int_equal(s.n_delivered, s.n_orders);
            }
        wr_lab_run_close(&run);
    }
}

/* One courier, one order: he drives from where he waits, hands over for a minute at both doors, and is free at the second. */
static void one_ride_by_hand(void **state) {
    (void)state;
    city_opts o = small_city(5, 0.15);
    city_rows rows = {0};
    city_sum  sum;
    o.n_couriers = 1, o.per_hour = 1 / 1.5;
    city   *c = city_new(&o);
    int64_t at = o.begin_us;
    const city_row *order = NULL, *told = NULL;
    while (!order) {
        at += o.every_us;
        city_step(c, at, &rows);
        for (uint32_t i = 0; i < rows.n; i++) *(rows.at[i].courier ? &told : &order) = &rows.at[i];
    }
    assert_true(told && !strcmp(told->status, "free"));
    city_row from = *told, to = *order;
    city_assign(c, to.id, 0, 1, at);
    city_assign(c, to.id, 0, 1, at); /* a second time: a fault */
    city_depart(c, at);
    double way = hypot(to.x - from.x, to.y - from.y), food = hypot(to.to_x - to.x, to.to_y - to.y);
    int64_t free_us = at + (int64_t)((way + food) / 5 * 1e6) + 2 * o.handover_us;
    for (told = NULL; !told; at += o.every_us) {
        rows.n = 0;
        city_step(c, at + o.every_us, &rows);
        for (uint32_t i = 0; i < rows.n; i++)
            if (!strcmp(rows.at[i].status, "free")) told = &rows.at[i];
    }
    assert_true(llabs(told->ts_us - free_us) <= 2000);
    assert_true(fabs(told->x - to.to_x) < 1e-6 && fabs(told->y - to.to_y) < 1e-6);
    city_add_up(c, &sum);
    assert_int_equal(sum.faults, 1);
    assert_int_equal(sum.n_delivered, 1);
    assert_true(fabs(sum.to_pick_up_m - way) < 1e-6);
    city_free(c);
    wr_arr_free(&rows);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(one_ride_by_hand), cmocka_unit_test(the_job_decides_as_a_plain_loop)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
