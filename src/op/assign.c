/* op/assign.c: ASSIGN: orders and couriers meet in rounds. Taking rows, timers, images; the rest is in assign_state.c and assign_round.c.
 *
 * Idea       rows of both inputs wait by partition. A round T (a multiple of `every`) takes the rows before T when the watermark has passed T - 1 ms; a
 *            timer stands for the next round of a partition in which something can happen, so years without rows cost nothing. Rounds run by time, over
 *            all partitions of the instance.
 * Late rows  those whose round their own watermark has closed: dropped and counted.
 * Output     partition columns, order, courier, distance, waited_ms, attempt, stop, rowtime = T - 1 ms; append-only.
 * Ledger     a row is kept until its round, then used, or a refusal of nothing (retract-unknown).
 * State      map of partitions, values may be in the tier; timers hold slots.  Memory: see assign.h.  Thread: one worker.   */
#include "op/assign.h"
#include <math.h>

enum { VERSION = 1, CLOSES_US = 1000 /* a round runs when the watermark is so far before it */ };
static const char tag[] = "assign";

static void charge(wr_assign *a) {
    if (a->heap_bytes != a->heap_told) wr_kmap_charge(a->map, a->heap_bytes - a->heap_told);
    a->heap_told = a->heap_bytes;
}
static int64_t heap_bytes(void *self) { /* all is charged to the map */
    charge(self);
    return 0;
}

/* ---- timers ---- */

static void set_timer(wr_assign *a, wr_apart *p, uint32_t slot, uint32_t kind, int64_t round_us) {
    if (round_us == INT64_MAX) return;
    if (round_us <= p->round_us) round_us = wr_assign_round_of(a, p->round_us);
    if (p->n_timers[kind] && p->timer_us[kind] <= round_us) return;
    wr_timers_add(a->timers, round_us - CLOSES_US, (uint64_t)slot * WR_ASSIGN_TIMERS + kind);
    p->timer_us[kind] = round_us;
    p->n_timers[kind]++;
}
static void arm(wr_assign *a, wr_apart *p, uint32_t slot) {
    int64_t over = WR_MIN(p->order_due_us, p->courier_due_us);
    if (p->first < p->n) set_timer(a, p, slot, WR_ASSIGN_SOON, wr_assign_round_of(a, p->waiting[p->first]->time_us));
    if (over != INT64_MAX && (p->orders || p->couriers)) set_timer(a, p, slot, WR_ASSIGN_OVER, wr_assign_round_of(a, over));
}
static bool idle(const wr_apart *p) {
    return p->first == p->n && !p->orders && !p->couriers && !p->n_timers[WR_ASSIGN_SOON] && !p->n_timers[WR_ASSIGN_OVER];
}

/* ---- rows ---- */

static wr_aword order_word(const wr_vec *col, uint32_t row) {
    static const struct { const char *text; wr_aword word; } WORDS[] = {
        {"open", WR_AWORD_OPEN}, {"new", WR_AWORD_OPEN}, {"created", WR_AWORD_OPEN}, {"rejected", WR_AWORD_REFUSED}, {"timed_out", WR_AWORD_REFUSED},
        {"cancelled", WR_AWORD_CANCELLED}, {"done", WR_AWORD_CLOSED}, {"delivered", WR_AWORD_CLOSED}, {"picked_up", WR_AWORD_CLOSED},
    };
    if (wr_vec_is_null(col, row)) return WR_AWORD_OPEN;
    wr_str text = wr_sview_str((const wr_sview *)col->data + row);
    for (size_t i = 0; i < WR_COUNT_OF(WORDS); i++)
        if (wr_str_ieq(text, wr_str_of(WORDS[i].text))) return WORDS[i].word;
    return WR_AWORD_COUNT;
}
static wr_aword courier_word(const wr_vec *col, uint32_t row) {
    if (wr_vec_is_null(col, row)) return WR_AWORD_AWAY;
    wr_str text = wr_sview_str((const wr_sview *)col->data + row);
    return wr_str_ieq(text, WR_STR("free")) || wr_str_ieq(text, WR_STR("available")) || wr_str_ieq(text, WR_STR("idle")) ? WR_AWORD_FREE : WR_AWORD_AWAY;
}
static bool get_place(const wr_batch *batch, uint32_t x_col, uint32_t y_col, uint32_t row, double *x, double *y) {
    const wr_vec *vx = &batch->cols[x_col], *vy = &batch->cols[y_col];
    if (wr_vec_is_null(vx, row) || wr_vec_is_null(vy, row)) return false;
    *x = ((const double *)vx->data)[row], *y = ((const double *)vy->data)[row];
    return isfinite(*x) && isfinite(*y);
}
/* What the row says; false: it says nothing that can be used. */
static bool read_row(const wr_assign *a, uint32_t input, const wr_batch *batch, uint32_t row, wr_arow *r) {
    const wr_assign_side *side = &a->opts.side[input];
    const wr_vec         *status = side->status >= 0 ? &batch->cols[side->status] : NULL;
    wr_aword              word = input == WR_ASSIGN_ORDERS ? (status ? order_word(status, row) : WR_AWORD_OPEN) : status ? courier_word(status, row) : WR_AWORD_FREE;
    r->input = (uint8_t)input;
    r->word = (uint8_t)word;
    r->placed = get_place(batch, side->x, side->y, row, &r->x, &r->y);
    if (word == WR_AWORD_COUNT || (!r->placed && (word == WR_AWORD_OPEN || word == WR_AWORD_FREE))) return false;
    if (!r->placed) r->x = r->y = 0;
    if (word == WR_AWORD_OPEN && a->opts.how.batch_share > 0) return get_place(batch, (uint32_t)side->to_x, (uint32_t)side->to_y, row, &r->to_x, &r->to_y);
    return true;
}
static bool is_late(const wr_assign *a, const wr_batch *batch, uint32_t row, int64_t time_us) {
    int64_t wm_us = batch->row_wm_us ? batch->row_wm_us[row] : WR_TIME_MIN;
    /* The operator's own watermark is never ahead of a row's, but for what is behind the millisecond of a watermark. */
    int64_t closed_us = wr_assign_round_of(a, time_us) - CLOSES_US;
    return (wm_us != WR_TIME_MIN && wm_us >= closed_us) || (a->wm_us != WR_TIME_MIN && a->wm_us >= closed_us);
}
static wr_status take_row(wr_assign *a, uint32_t input, const wr_batch *batch, uint32_t row, wr_apart *p, uint32_t slot, wr_err *err) {
    const wr_assign_side *side = &a->opts.side[input];
    wr_ledger            *l = a->op.ctx->ledger;
    wr_arow               r = {0};
    if (wr_vec_is_null(&batch->cols[side->id], row)) {
        l->dropped[WR_REASON_NULL_KEY]++;
        return WR_OK;
    }
    WR_TRY(wr_op_row_time(&batch->cols[side->time], row, &r.time_us, err));
    if (is_late(a, batch, row, r.time_us)) {
        l->dropped[WR_REASON_LATE]++;
        return WR_OK;
    }
    if (!read_row(a, input, batch, row, &r)) {
        l->dropped[WR_REASON_MALFORMED]++;
        return WR_OK;
    }
    wr_sbuf_clear(&a->scratch);
    wr_rowcodec_put(a->codec[input], batch, &side->id, row, &a->scratch);
    wr_arow *kept = wr_arow_new(a, wr_sbuf_str(&a->scratch));
    r.len = kept->len;
    r.no = p->arrived++;
    memcpy(kept, &r, offsetof(wr_arow, id));
    wr_apart_wait(a, p, kept);
    a->n_rows++;
    l->kept[input]++;
    arm(a, p, slot);
    return WR_OK;
}
static wr_status assign_on_batch(wr_op *op, uint32_t input, wr_batch *batch, wr_out *out, wr_err *err) {
    wr_assign      *a = (wr_assign *)op;
    uint32_t        n = wr_batch_live(batch), n_keys = a->opts.n_keys;
    const uint32_t *keys = a->opts.side[input].keys;
    (void)out;
    if (!n) return WR_OK;
    const uint64_t *hash = wr_op_hash(batch, keys, n_keys, a->hash);
    WR_TRY(wr_kmap_find(a->map, batch, keys, hash, true, a->slots, a->created, err));
    wr_kmap_values(a->map, a->slots, n, a->values);
    wr_status s = WR_OK;
    for (uint32_t i = 0; i < n; i++)
        if (a->created[i]) wr_apart_init(a->values[i]);
    for (uint32_t i = 0; i < n && s == WR_OK; i++) s = take_row(a, input, batch, wr_batch_row(batch, i), a->values[i], a->slots[i], err);
    for (uint32_t i = 0; i < n; i++) /* rows that were dropped leave no partition behind */
        if (a->created[i] && idle(a->values[i])) wr_kmap_remove(a->map, a->slots[i]);
    charge(a);
    return s;
}

/* ---- at the watermark ---- */

static wr_status run_timer(wr_assign *a, int64_t deadline_us, uint64_t payload, wr_out *out, wr_err *err) {
    uint32_t slot = (uint32_t)(payload / WR_ASSIGN_TIMERS), kind = (uint32_t)(payload % WR_ASSIGN_TIMERS);
    int64_t  round_us = deadline_us + CLOSES_US;
    WR_TRY(wr_kmap_relax(a->map, err));
    WR_TRY(wr_kmap_warm(a->map, slot, err));
    wr_apart *p = wr_kmap_value(a->map, slot);
    p->n_timers[kind]--;
    if (p->timer_us[kind] == round_us) p->timer_us[kind] = INT64_MAX;
    if (round_us > p->round_us) WR_TRY(wr_assign_run_round(a, p, slot, round_us, out, err)); /* else the other timer has run it */
    arm(a, p, slot);
    if (idle(p)) wr_kmap_remove(a->map, slot);
    charge(a);
    return WR_OK;
}
static wr_status assign_on_watermark(wr_op *op, int64_t wm_us, wr_out *out, bool *more, wr_err *err) {
    wr_assign *a = (wr_assign *)op;
    wr_status  s = WR_OK;
    int64_t    deadline_us;
    uint64_t   payload;
    *more = false;
    a->wm_us = wm_us;
    while (s == WR_OK && !*more && wr_timers_pop(a->timers, wm_us, &deadline_us, &payload)) {
        s = run_timer(a, deadline_us, payload, out, err);
        if (s == WR_OK && out->full(out)) *more = wr_timers_count(a->timers) && wr_timers_first(a->timers) <= wm_us;
    }
    if (s == WR_OK) s = wr_assign_flush(a, out, err);
    charge(a);
    return s;
}

/* ---- checkpoint ---- */

static void value_free(void *self, void *value) { wr_apart_free(self, value); } /* timers are in memory whether the value is or not */
static void value_save(void *self, const void *value, wr_sbuf *out) {
    (void)self;
    wr_apart_save(value, out);
}
static bool value_load(void *self, void *value, wr_reader *in) { return wr_apart_load(self, value, in); }
static void value_new(void *self, uint32_t slot, void *value) {
    wr_assign *a = self;
    wr_apart  *p = value;
    for (uint32_t t = 0; t < WR_ASSIGN_TIMERS; t++) p->n_timers[t] = 0, p->timer_us[t] = INT64_MAX;
    a->n_rows += (p->n - p->first) + wr_alist_count(p->orders) + wr_alist_count(p->couriers);
    arm(a, p, slot);
}
static wr_status assign_save(wr_op *op, wr_sbuf *out, wr_err *err) {
    wr_assert(!((wr_assign *)op)->n_out);
    wr_op_save_head(out, tag, VERSION);
    return wr_kmap_save(((wr_assign *)op)->map, out, err);
}
static wr_status assign_load(wr_op *op, wr_reader *in, uint32_t from, uint32_t to, wr_err *err) {
    wr_assign *a = (wr_assign *)op;
    WR_TRY(wr_op_load_head(in, tag, VERSION, err));
    wr_status s = wr_kmap_load(a->map, in, op->ctx->n_key_groups, from, to, err);
    charge(a);
    return s;
}
static void assign_usage(const wr_op *op, wr_op_usage *out) {
    const wr_assign *a = (const wr_assign *)op;
    *out = (wr_op_usage){.state_bytes = wr_kmap_bytes(a->map), .keys = wr_kmap_count(a->map), .rows = (uint64_t)a->n_rows, .oldest_us = wr_timers_first(a->timers), .greedy = a->n_greedy};
    wr_op_map_usage(a->map, out);
}
static wr_status assign_limit(wr_op *op, int64_t bytes, wr_err *err) { return wr_op_limit_map(((wr_assign *)op)->map, bytes, err); }
static void assign_close(wr_op *op) {
    wr_assign *a = (wr_assign *)op;
    wr_kmap_free(a->map);
    wr_timers_free(a->timers);
    wr_batch_unref(a->out);
    wr_arr_free(&a->lines), wr_arr_free(&a->open), wr_arr_free(&a->free), wr_arr_free(&a->orders), wr_arr_free(&a->couriers);
    wr_arr_free(&a->picks), wr_arr_free(&a->barred);
    wr_sbuf_free(&a->scratch);
    wr_arena_free(a->arena);
    wr_free(a);
}
static const wr_op_vt assign_vt = {
    .name = "assign", .on_batch = assign_on_batch, .on_watermark = assign_on_watermark, .output_watermark = wr_op_same_watermark, .save = assign_save,
    .load = assign_load, .usage = assign_usage, .limit = assign_limit, .close = assign_close,
};

wr_op *wr_assign_new(const wr_assign_opts *opts, const wr_schema *orders, const wr_schema *couriers, wr_op_ctx *ctx) {
    wr_assign *a = wr_calloc(1, sizeof *a);
    a->op = (wr_op){.vt = &assign_vt, .ctx = ctx};
    a->opts = *opts; /* its lists outlive the operator, as expressions do */
    a->wm_us = WR_TIME_MIN;
    a->arena = wr_arena_new(ctx->acct);
    a->codec[WR_ASSIGN_ORDERS] = wr_rowcodec_new(a->arena, &orders->fields[opts->side[WR_ASSIGN_ORDERS].id].type, 1);
    a->codec[WR_ASSIGN_COURIERS] = wr_rowcodec_new(a->arena, &couriers->fields[opts->side[WR_ASSIGN_COURIERS].id].type, 1);
    a->timers = wr_timers_new(ctx->acct);
    const wr_kmap_opts map = {.name = "partitions", .key_types = wr_op_key_types(a->arena, orders, opts->side[WR_ASSIGN_ORDERS].keys, opts->n_keys), .n_key_types = opts->n_keys,
                              .value_bytes = sizeof(wr_apart), .acct = ctx->acct, .self = a, .value_free = value_free, .value_save = value_save,
                              .value_load = value_load, .value_new = value_new, .heap_bytes = heap_bytes};
    a->map = wr_op_map_new(&map, ctx, tag, WR_SPILL_VALUE);
    return &a->op;
}
