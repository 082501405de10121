/* op/assign_round.c: one round of a partition of ASSIGN: rows applied, orders and couriers matched, results written. See assign.h.
 *
 * Idea       a round matches only when something came that may make a pair: a new or moved order, a courier that became free or moved. The solver leaves no pair
 *            that could be made, and none becomes possible by waiting or by somebody running out.
 * Order      the solver gets orders by (time, id) and couriers by id, whatever came in which order; results come out by (time, id) of the order.
 * Thread     one worker. Memory: lists of the round are kept for the next one, up to a bound.                               */
#include "op/assign.h"
#include <stdlib.h>

enum { KEPT_ELEMS = 4096 };

/* ---- output ---- */

static uint32_t out_cols(const wr_assign *a) { return a->opts.n_keys + 7; }
wr_status wr_assign_flush(wr_assign *a, wr_out *out, wr_err *err) {
    wr_batch *b = a->out;
    uint32_t  n = a->n_out;
    if (!n) return WR_OK;
    a->out = NULL, a->n_out = 0;
    b->n_rows = n;
    for (uint32_t c = 0; c < b->n_cols; c++) b->cols[c].n = n;
    return wr_emit(out, b, err);
}
static void put_id(const wr_assign *a, uint32_t input, wr_str id, wr_vec *col, uint32_t row, wr_mem *mem) {
    bool ok = wr_rowcodec_get(a->codec[input], id, col, row, mem);
    wr_assert(ok);
}
static wr_status put_line(wr_assign *a, const wr_aline *line, uint32_t slot, int64_t round_us, wr_out *out, wr_err *err) {
    uint32_t cap = a->op.ctx->batch_rows, k = a->opts.n_keys;
    if (!a->out) {
        a->out = wr_batch_new(out_cols(a), 4096);
        for (uint32_t c = 0; c < out_cols(a); c++) wr_vec_init(&a->out->cols[c], a->opts.output.fields[c].type, cap, true, a->out->mem);
    }
    uint32_t         row = a->n_out++;
    wr_mem          *mem = a->out->mem;
    wr_vec          *cols = a->out->cols;
    const wr_aorder *o = line->order;
    if (k) wr_kmap_key_get(a->map, slot, cols, row, mem);
    put_id(a, WR_ASSIGN_ORDERS, wr_aorder_id(o), &cols[k], row, mem);
    if (line->courier) {
        put_id(a, WR_ASSIGN_COURIERS, wr_acourier_id(line->courier), &cols[k + 1], row, mem);
        ((double *)cols[k + 2].data)[row] = line->pick.distance;
        ((int32_t *)cols[k + 5].data)[row] = (int32_t)line->pick.stop;
    } else {
        wr_vec_set_null(&cols[k + 1], row, mem);
        wr_vec_set_null(&cols[k + 2], row, mem);
        wr_vec_set_null(&cols[k + 5], row, mem);
    }
    ((int64_t *)cols[k + 3].data)[row] = (round_us - o->time_us) / 1000;
    ((int32_t *)cols[k + 4].data)[row] = (int32_t)WR_MIN(o->n_given + 1, a->opts.reassign + 1);
    ((int64_t *)cols[k + 6].data)[row] = (round_us - 1000) * (cols[k + 6].type.prec > 6 ? 1000 : 1);
    return a->n_out == cap ? wr_assign_flush(a, out, err) : WR_OK;
}

/* ---- matching ---- */

static int by_age(const wr_assign *a, const wr_aorder *x, const wr_aorder *y) {
    if (x->time_us != y->time_us) return x->time_us < y->time_us ? -1 : 1;
    return wr_assign_compare(a, WR_ASSIGN_ORDERS, wr_aorder_id(x), wr_aorder_id(y));
}
static int orders_by_age(const void *x, const void *y, void *a) { return by_age(a, *(wr_aorder *const *)x, *(wr_aorder *const *)y); }
static int lines_by_age(const void *x, const void *y, void *a) {
    const wr_aline *l = x, *r = y;
    int             order = by_age(a, l->order, r->order);
    return order ? order : l->no < r->no ? -1 : l->no > r->no; /* an id that left and was opened again at once */
}

static void collect(wr_assign *a, const wr_apart *p) {
    a->open.n = a->free.n = 0;
    for (wr_pos at = wr_sorted_first(); p->n_open && at.chunk < p->orders->n_chunks; at = wr_sorted_next(p->orders, at)) {
        wr_aorder *o = *(wr_aorder **)wr_sorted_at(p->orders, at);
        if (o->open) wr_arr_push(&a->open, o);
    }
    for (wr_pos at = wr_sorted_first(); a->open.n && p->couriers && at.chunk < p->couriers->n_chunks; at = wr_sorted_next(p->couriers, at)) {
        wr_acourier *c = *(wr_acourier **)wr_sorted_at(p->couriers, at);
        if (wr_acourier_free(c)) wr_arr_push(&a->free, c);
    }
    if (a->free.n) qsort_r(a->open.at, a->open.n, sizeof *a->open.at, orders_by_age, a);
}
/* Its place among the free couriers, which stand by id. */
static bool free_index(const wr_assign *a, wr_str id, uint32_t *index) {
    uint32_t from = 0, to = a->free.n;
    while (from < to) {
        uint32_t mid = (from + to) / 2;
        int      order = wr_assign_compare(a, WR_ASSIGN_COURIERS, wr_acourier_id(a->free.at[mid]), id);
        if (!order) {
            *index = mid;
            return true;
        }
        if (order < 0) from = mid + 1;
        else to = mid;
    }
    return false;
}
static void put_barred(wr_assign *a, const wr_aorder *o) { /* ascending */
    uint32_t first = a->barred.n, index;
    for (uint32_t at = 0; at < o->given_len;) {
        if (!free_index(a, wr_aorder_given_next(o, &at), &index)) continue;
        wr_arr_push(&a->barred, index);
        for (uint32_t i = a->barred.n - 1; i > first && a->barred.at[i - 1] > index; i--) a->barred.at[i] = a->barred.at[i - 1], a->barred.at[i - 1] = index;
    }
}
static wr_status solve(wr_assign *a, int64_t round_us, wr_assign_sum *sum, wr_err *err) {
    a->orders.n = a->couriers.n = a->picks.n = a->barred.n = 0;
    for (uint32_t i = 0; i < a->free.n; i++) wr_arr_push(&a->couriers, (wr_assign_courier){a->free.at[i]->x, a->free.at[i]->y});
    for (uint32_t i = 0; i < a->open.n; i++) {
        const wr_aorder *o = a->open.at[i];
        uint32_t         first = a->barred.n;
        put_barred(a, o);
        wr_arr_push(&a->orders, (wr_assign_order){.x = o->x, .y = o->y, .to_x = o->to_x, .to_y = o->to_y, .waited_us = round_us - o->time_us, .n_barred = a->barred.n - first});
        wr_arr_push(&a->picks, (wr_assign_pick){.courier = WR_ASSIGN_NOBODY});
    }
    for (uint32_t i = 0, at = 0; i < a->orders.n; at += a->orders.at[i++].n_barred) a->orders.at[i].barred = a->barred.at + at;
    return wr_assign_solve(&a->opts.how, a->orders.at, a->orders.n, a->couriers.at, a->couriers.n, a->picks.at, sum, err);
}
static wr_status match(wr_assign *a, wr_apart *p, int64_t round_us, wr_err *err) {
    collect(a, p);
    if (!a->open.n || !a->free.n) return WR_OK;
    wr_assign_sum sum = {0};
    WR_TRY(solve(a, round_us, &sum, err));
    a->n_greedy += sum.n_greedy;
    for (uint32_t i = 0; i < a->open.n; i++) {
        wr_assign_pick pick = a->picks.at[i];
        if (pick.courier == WR_ASSIGN_NOBODY) continue;
        wr_acourier *c = a->free.at[pick.courier];
        wr_aorder   *o = a->open.at[i];
        if (c->taken_us != round_us) c->taken_us = round_us, c->n_orders = 0, c->was_away = false;
        c->n_orders++;
        o->open = false;
        o->given_us = round_us;
        p->n_open--;
        wr_arr_push(&a->lines, (wr_aline){.order = o, .courier = c, .pick = pick, .no = a->lines.n});
    }
    return WR_OK;
}

/* ---- the round ---- */

static wr_status put_lines(wr_assign *a, wr_apart *p, uint32_t slot, int64_t round_us, wr_out *out, wr_err *err) {
    wr_status s = WR_OK;
    if (a->lines.n > 1) qsort_r(a->lines.at, a->lines.n, sizeof *a->lines.at, lines_by_age, a);
    for (uint32_t i = 0; i < a->lines.n; i++) {
        wr_aline *l = &a->lines.at[i];
        if (s == WR_OK) s = put_line(a, l, slot, round_us, out, err);
        if (l->leaves) {
            wr_aorder_free(a, l->order);
        } else if (!a->opts.reassign) {
            wr_aorder_remove(a, p, l->order);
            wr_aorder_free(a, l->order);
            a->n_rows--;
        } else {
            wr_aorder_give(a, l->order, wr_acourier_id(l->courier));
        }
    }
    a->lines.n = 0;
    return s;
}
#define TRIM(list) ((list)->cap > KEPT_ELEMS ? (void)wr_arr_free(list) : (void)0)
static void trim(wr_assign *a) {
    TRIM(&a->lines);
    TRIM(&a->open), TRIM(&a->free);
    TRIM(&a->orders), TRIM(&a->couriers), TRIM(&a->picks), TRIM(&a->barred);
}
wr_status wr_assign_run_round(wr_assign *a, wr_apart *p, uint32_t slot, int64_t round_us, wr_out *out, wr_err *err) {
    bool news = false;
    wr_apart_forget(a, p, round_us - a->opts.every_us); /* what the rounds between would have done */
    p->round_us = round_us;
    while (p->first < p->n && p->waiting[p->first]->time_us < round_us) {
        wr_arow *row = p->waiting[p->first++];
        wr_apart_apply(a, p, row, &news);
        wr_arow_free(a, row);
        a->n_rows--;
    }
    if (p->first == p->n) p->first = p->n = 0;
    wr_apart_forget(a, p, round_us);
    wr_status s = news ? match(a, p, round_us, err) : WR_OK;
    if (s == WR_OK) s = put_lines(a, p, slot, round_us, out, err);
    else for (uint32_t i = 0; i < a->lines.n; i++) if (a->lines.at[i].leaves) wr_aorder_free(a, a->lines.at[i].order);
    a->lines.n = 0;
    trim(a);
    return s;
}
