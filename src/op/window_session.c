/* op/window_session.c: aggregation by SESSION windows: per key, intervals that grow and merge.
 *
 * Idea       a row opens [t, t + gap); intervals of a key that touch (a row at distance exactly gap joins) become one. An interval is an entry in the
 *            key's ordered list, its accumulator block in a slab of this operator. A timer per interval end fires it; a timer whose interval
 *            has grown or merged since finds nothing and is dropped.
 * Late       a row is late only if the interval that it would end up in is already over for the row's own watermark.
 * Order      windows fire in order of their end; ties by key slot, then start.
 * Memory     map, lists, blocks and timers are charged.  Thread: one worker.                                               */
#include "op/window_agg.h"

enum { VERSION = 1, MALLOC_EXTRA = 16 };
static const char tag[] = "session_agg";

typedef struct session {
    int64_t  start, end; /* end = last row + gap */
    void    *block;
    uint64_t shut;       /* over for some row's own watermark, though not fired yet: takes no more rows */
} session;
typedef struct session_agg {
    wr_op              op;
    wr_window_agg_opts opts;
    wr_win             win;
    wr_arena          *arena;
    wr_type           *key_types;
    wr_aggs           *aggs;
    wr_kmap           *map;     /* key -> wr_sorted * of session by start */
    wr_timers         *timers;  /* instant of the end -> slot */
    int64_t            bytes, told;
    WR_ARR(session)    due;     /* fired, waiting to be emitted, with their slots */
    WR_ARR(uint32_t)   due_slot, popped;
    uint32_t           due_at;
    uint64_t           hash[WR_BATCH_MAX];
    uint32_t           slots[WR_BATCH_MAX], rows[WR_BATCH_MAX];
    uint8_t            created[WR_BATCH_MAX];
    void              *blocks[WR_BATCH_MAX];
} session_agg;

static int by_start(const void *self, const void *a, const void *b) { /* those that are shut come last; the others are disjoint */
    const session *x = a, *y = b;
    (void)self;
    if (x->shut != y->shut) return x->shut ? 1 : -1;
    if (x->shut && x->end != y->end) return x->end < y->end ? -1 : 1; /* those may overlap */
    return (x->start > y->start) - (x->start < y->start);
}
static void *block_new(session_agg *a) {
    a->bytes += a->aggs->bytes + MALLOC_EXTRA;
    return wr_calloc(1, a->aggs->bytes ? a->aggs->bytes : 1);
}
static void block_free(session_agg *a, void *block) {
    a->bytes -= a->aggs->bytes + MALLOC_EXTRA;
    wr_aggs_drop(a->aggs, block);
    wr_free(block);
}
static wr_sorted *list_of(session_agg *a, void *value) {
    wr_sorted **list = value;
    if (!*list) *list = wr_sorted_new(sizeof(session)), a->bytes += (*list)->bytes;
    return *list;
}
static wr_pos list_remove(session_agg *a, wr_sorted *list, wr_pos pos) {
    a->bytes -= list->bytes;
    pos = wr_sorted_remove(list, pos);
    a->bytes += list->bytes;
    return pos;
}
static void list_insert(session_agg *a, wr_sorted *list, const session *s) {
    bool equal;
    a->bytes -= list->bytes;
    wr_sorted_insert(list, wr_sorted_seek(list, s, by_start, NULL, &equal), s);
    a->bytes += list->bytes;
}
static void value_free(void *self, void *value) {
    session_agg *a = self;
    wr_sorted   *list = *(wr_sorted **)value;
    if (!list) return;
    for (wr_pos p = wr_sorted_first(); wr_sorted_at(list, p); p = wr_sorted_next(list, p)) block_free(a, ((session *)wr_sorted_at(list, p))->block);
    a->bytes -= list->bytes;
    wr_sorted_free(list);
    *(wr_sorted **)value = NULL;
}
static void value_save(void *self, const void *value, wr_sbuf *out) {
    session_agg *a = self;
    wr_sorted   *list = *(wr_sorted *const *)value;
    wr_put_u64(out, list ? list->count : 0);
    for (wr_pos p = wr_sorted_first(); list && wr_sorted_at(list, p); p = wr_sorted_next(list, p)) {
        const session *s = wr_sorted_at(list, p);
        wr_put_i64(out, s->start);
        wr_put_i64(out, s->end);
        wr_put_u8(out, (uint8_t)s->shut);
        wr_aggs_save(a->aggs, s->block, out);
    }
}
static bool value_load(void *self, void *value, wr_reader *in) {
    session_agg *a = self;
    wr_sorted   *list = list_of(a, value);
    for (uint64_t n = wr_get_u64(in); n && !in->bad; n--) {
        session s = {.start = wr_get_i64(in)};
        s.end = wr_get_i64(in);
        s.shut = wr_get_u8(in);
        s.block = block_new(a);
        bool ok = wr_aggs_load(a->aggs, s.block, in);
        list_insert(a, list, &s);
        if (!ok) return false;
    }
    return !in->bad;
}
static void charge(session_agg *a) {
    a->bytes += wr_aggs_heap_change(a->aggs);
    if (a->bytes != a->told) wr_account_add(a->op.ctx->acct, a->bytes - a->told);
    a->told = a->bytes;
}

static int64_t heap_bytes(void *self) {
    session_agg *a = self;
    charge(a);
    return a->bytes;
}
static void value_new(void *self, uint32_t slot, void *value) {
    session_agg *a = self;
    wr_sorted   *list = *(wr_sorted **)value;
    for (wr_pos p = wr_sorted_first(); list && wr_sorted_at(list, p); p = wr_sorted_next(list, p))
        wr_timers_add(a->timers, wr_win_instant(&a->win, ((session *)wr_sorted_at(list, p))->end), slot);
}

/* ---- rows in ---- */

static bool is_over(const session_agg *a, const session *s, int64_t row_wm_us) {
    return row_wm_us != WR_TIME_MIN && wr_win_closed(row_wm_us, wr_win_instant(&a->win, s->end));
}
/* First open session that [t, t + gap] touches: the one before t if it reaches t, else the next if it starts by t + gap. A session that is
 * over for the row's own watermark is shut, whether this operator has fired it yet or not. */
static wr_pos first_touched(session_agg *a, wr_sorted *list, int64_t t, int64_t gap, int64_t row_wm_us) {
    for (;;) {
        session  key = {.start = t};
        bool     equal;
        wr_pos   pos = wr_sorted_seek(list, &key, by_start, NULL, &equal), prev = pos;
        session *s = list->count && wr_sorted_prev(list, &prev) ? wr_sorted_at(list, prev) : NULL;
        if (s && s->end >= t) pos = prev;
        else s = wr_sorted_at(list, pos);
        if (!s || s->shut || s->start > t + gap) return (wr_pos){UINT32_MAX, 0};
        if (!is_over(a, s, row_wm_us)) return pos;
        session shut = *s;
        shut.shut = 1;
        list_remove(a, list, pos);
        list_insert(a, list, &shut);
    }
}
/* The session of a row, merged with all it touches; NULL if the row is late. */
static void *session_for(session_agg *a, wr_sorted *list, uint32_t slot, int64_t t, int64_t row_wm_us) {
    int64_t gap = a->win.w.size_us;
    session s = {.start = t, .end = t + gap};
    wr_pos  at = first_touched(a, list, t, gap, row_wm_us);
    for (wr_pos p = at; p.chunk != UINT32_MAX; p = wr_sorted_next(list, p)) { /* what it would become */
        const session *other = wr_sorted_at(list, p);
        if (!other || other->shut || other->start > t + gap) break;
        s.start = WR_MIN(s.start, other->start);
        s.end = WR_MAX(s.end, other->end);
    }
    if (row_wm_us != WR_TIME_MIN && wr_win_closed(row_wm_us, wr_win_instant(&a->win, s.end))) return NULL;
    int64_t known_end = WR_TIME_MIN;
    while (at.chunk != UINT32_MAX) { /* take in and remove all of them */
        session *other = wr_sorted_at(list, at);
        if (!other || other->shut || other->start > t + gap) break;
        known_end = WR_MAX(known_end, other->end);
        if (!s.block) {
            s.block = other->block;
        } else {
            wr_aggs_merge(a->aggs, s.block, other->block);
            block_free(a, other->block);
        }
        at = list_remove(a, list, at);
    }
    if (!s.block) s.block = block_new(a);
    list_insert(a, list, &s);
    if (s.end != known_end) wr_timers_add(a->timers, wr_win_instant(&a->win, s.end), slot);
    return s.block;
}

static wr_status session_on_batch(wr_op *op, uint32_t input, wr_batch *batch, wr_out *out, wr_err *err) {
    session_agg    *a = (session_agg *)op;
    uint32_t        n = wr_batch_live(batch);
    const wr_vec   *times = &batch->cols[a->opts.window.time_col];
    const uint64_t *hash = n ? wr_op_hash(batch, a->opts.keys, a->opts.n_keys, a->hash) : NULL;
    wr_status       s = WR_OK;
    (void)input, (void)out;
    if (!n) return WR_OK;
    WR_TRY(wr_kmap_find(a->map, batch, a->opts.keys, hash, true, a->slots, a->created, err));
    /* A later row of the batch may merge the session of an earlier one, so rows go in one at a time. */
    for (uint32_t i = 0; i < n && s == WR_OK; i++) {
        uint32_t row = wr_batch_row(batch, i);
        int64_t  us;
        WR_TRY(wr_op_row_time(times, row, &us, err));
        int64_t row_wm_us = batch->row_wm_us ? batch->row_wm_us[row] : WR_TIME_MIN;
        void   *block = session_for(a, list_of(a, wr_kmap_value(a->map, a->slots[i])), a->slots[i], wr_win_time(&a->win, us), row_wm_us);
        if (!block) {
            op->ctx->ledger->dropped[WR_REASON_LATE]++;
            continue;
        }
        s = wr_aggs_update(a->aggs, batch, &row, &block, 1, err);
        op->ctx->ledger->used++;
    }
    for (uint32_t i = 0; i < n; i++)
        if (a->created[i] && !list_of(a, wr_kmap_value(a->map, a->slots[i]))->count) wr_kmap_remove(a->map, a->slots[i]);
    a->aggs->seq += batch->n_rows;
    charge(a);
    return s;
}

/* ---- windows out ---- */

static void take_due(session_agg *a, wr_sorted *list, wr_pos p, uint32_t slot, int64_t instant) {
    for (const session *s; (s = wr_sorted_at(list, p)) && wr_win_instant(&a->win, s->end) <= instant;) { /* in order of end */
        wr_arr_push(&a->due, *s);
        wr_arr_push(&a->due_slot, slot);
        p = list_remove(a, list, p);
    }
}
static wr_status collect_due(session_agg *a, int64_t wm_us, wr_err *err) { /* sessions of the next instant that is over */
    int64_t  instant = wr_timers_first(a->timers), deadline;
    uint64_t slot;
    a->due.n = a->due_slot.n = a->due_at = 0;
    if (!wr_timers_count(a->timers) || !wr_win_closed(wm_us, instant)) return WR_OK;
    a->popped.n = 0;
    while (wr_timers_pop(a->timers, instant, &deadline, &slot)) wr_arr_push(&a->popped, (uint32_t)slot);
    WR_TRY(wr_kmap_relax(a->map, err));
    WR_TRY(wr_kmap_warm_all(a->map, a->popped.at, a->popped.n, err));
    for (uint32_t i = 0; i < a->popped.n; i++) {
        slot = a->popped.at[i];
        wr_sorted *list = *(wr_sorted **)wr_kmap_value(a->map, (uint32_t)slot);
        session first_shut = {.start = INT64_MIN, .end = INT64_MIN, .shut = 1};
        bool    equal;
        if (!list) continue;
        take_due(a, list, wr_sorted_first(), (uint32_t)slot, instant);
        take_due(a, list, wr_sorted_seek(list, &first_shut, by_start, NULL, &equal), (uint32_t)slot, instant);
    }
    return WR_OK;
}
static wr_status emit_due(session_agg *a, wr_out *out, wr_err *err) {
    uint32_t n = 0, max = a->op.ctx->batch_rows, from = a->due_at;
    int64_t  starts[WR_BATCH_MAX], ends[WR_BATCH_MAX];
    for (; a->due_at < a->due.n && n < max; a->due_at++) {
        const session *s = &a->due.at[a->due_at];
        if (a->opts.retract_input && wr_aggs_rows(a->aggs, s->block) <= 0) continue;
        a->slots[n] = a->due_slot.at[a->due_at];
        a->blocks[n] = s->block;
        starts[n] = s->start;
        ends[n++] = s->end;
    }
    wr_status s = WR_OK;
    if (n) s = wr_window_emit(&a->opts, a->aggs, &a->win, a->key_types, a->map, a->slots, a->blocks, starts, ends, n, out, err);
    for (uint32_t i = from; i < a->due_at; i++) block_free(a, a->due.at[i].block);
    for (uint32_t i = from; i < a->due_at; i++) { /* a slot may stand here twice, and goes once its last session has */
        bool again = false;
        for (uint32_t k = i + 1; k < a->due.n && !again; k++) again = a->due_slot.at[k] == a->due_slot.at[i];
        if (!again && s == WR_OK) s = wr_kmap_warm(a->map, a->due_slot.at[i], err);
        wr_sorted *list = again || s != WR_OK ? NULL : *(wr_sorted **)wr_kmap_value(a->map, a->due_slot.at[i]);
        if (list && !list->count) wr_kmap_remove(a->map, a->due_slot.at[i]);
    }
    return s;
}
static wr_status session_on_watermark(wr_op *op, int64_t wm_us, wr_out *out, bool *more, wr_err *err) {
    session_agg *a = (session_agg *)op;
    wr_status    s = WR_OK;
    *more = false;
    while (s == WR_OK && !*more) {
        if (a->due_at == a->due.n) {
            WR_TRY(collect_due(a, wm_us, err));
            if (!a->due.n) {
                if (!wr_timers_count(a->timers) || !wr_win_closed(wm_us, wr_timers_first(a->timers))) break;
                continue; /* timers of sessions that have grown */
            }
        }
        if (out->full(out)) *more = true;
        else s = emit_due(a, out, err);
    }
    charge(a);
    return s;
}

static wr_status session_save(wr_op *op, wr_sbuf *out, wr_err *err) {
    session_agg *a = (session_agg *)op;
    wr_assert(a->due_at == a->due.n);
    wr_op_save_head(out, tag, VERSION);
    wr_put_u64(out, a->aggs->seq);
    return wr_kmap_save(a->map, out, err);
}
static wr_status session_load(wr_op *op, wr_reader *in, uint32_t from, uint32_t to, wr_err *err) {
    session_agg *a = (session_agg *)op;
    WR_TRY(wr_op_load_head(in, tag, VERSION, err));
    uint64_t seq = wr_get_u64(in);
    a->aggs->seq = WR_MAX(a->aggs->seq, seq);
    wr_status s = wr_kmap_load(a->map, in, op->ctx->n_key_groups, from, to, err);
    charge(a);
    return s;
}
static void session_usage(const wr_op *op, wr_op_usage *out) {
    const session_agg *a = (const session_agg *)op;
    *out = (wr_op_usage){.state_bytes = wr_kmap_bytes(a->map) + a->told, .keys = wr_kmap_count(a->map), .oldest_us = WR_TIME_MAX};
    wr_op_map_usage(a->map, out);
    for (uint32_t slot = wr_kmap_next(a->map, WR_SLOT_NONE); slot != WR_SLOT_NONE; slot = wr_kmap_next(a->map, slot)) {
        if (!wr_kmap_is_warm(a->map, slot)) continue; /* what is in the tier was not used for long, but is not looked up for a report */
        wr_sorted *list = *(wr_sorted *const *)wr_kmap_peek(a->map, slot);
        if (list && list->count) out->oldest_us = WR_MIN(out->oldest_us, ((session *)wr_sorted_at(list, wr_sorted_first()))->start);
    }
}
static wr_status session_limit(wr_op *op, int64_t bytes, wr_err *err) { return wr_op_limit_map(((session_agg *)op)->map, bytes, err); }
static void session_close(wr_op *op) {
    session_agg *a = (session_agg *)op;
    for (uint32_t i = a->due_at; i < a->due.n; i++) block_free(a, a->due.at[i].block);
    wr_kmap_free(a->map);
    wr_timers_free(a->timers);
    charge(a);
    wr_arr_free(&a->due);
    wr_arr_free(&a->due_slot);
    wr_arr_free(&a->popped);
    wr_aggs_free(a->aggs);
    wr_arena_free(a->arena);
    wr_free(a);
}
static const wr_op_vt session_vt = {
    .name = "session_agg", .on_batch = session_on_batch, .on_watermark = session_on_watermark, .output_watermark = wr_op_same_watermark,
    .save = session_save, .load = session_load, .usage = session_usage, .limit = session_limit, .close = session_close,
};
wr_op *wr_session_agg_new(const wr_window_agg_opts *opts, const wr_schema *input, wr_op_ctx *ctx) {
    session_agg *a = wr_calloc(1, sizeof *a);
    a->op = (wr_op){.vt = &session_vt, .ctx = ctx};
    a->opts = *opts;
    a->arena = wr_arena_new(ctx->acct);
    a->opts.keys = wr_op_copy_cols(a->arena, opts->keys, opts->n_keys);
    wr_agg *aggs = wr_new_n(a->arena, wr_agg, opts->n_aggs ? opts->n_aggs : 1);
    if (opts->n_aggs) memcpy(aggs, opts->aggs, opts->n_aggs * sizeof *aggs);
    a->opts.aggs = aggs;
    a->win = wr_win_of(&opts->window, ctx->tz);
    a->aggs = wr_aggs_new(aggs, opts->n_aggs, opts->retract_input, opts->retract_input);
    a->key_types = wr_op_key_types(a->arena, input, opts->keys, opts->n_keys);
    a->timers = wr_timers_new(ctx->acct);
    const wr_kmap_opts map = {.name = "sessions", .key_types = a->key_types, .n_key_types = opts->n_keys, .value_bytes = sizeof(wr_sorted *),
                                         .acct = ctx->acct, .self = a, .value_free = value_free, .value_save = value_save, .value_load = value_load,
                              .value_new = value_new, .heap_bytes = heap_bytes};
    a->map = wr_op_map_new(&map, ctx, tag, WR_SPILL_VALUE);
    return &a->op;
}

double wr_session_agg_key_bytes(const wr_window_agg_opts *opts, double key_bytes) {
    double   fixed, per_value;
    wr_aggs *a = wr_aggs_new(opts->aggs, opts->n_aggs, opts->retract_input, opts->retract_input);
    wr_agg_bytes(opts->aggs, opts->n_aggs, opts->retract_input, &fixed, &per_value);
    wr_aggs_free(a);
    wr_sorted *list = wr_sorted_new(sizeof(session));
    bool       equal;
    session    one = {0};
    wr_sorted_insert(list, wr_sorted_seek(list, &one, by_start, NULL, &equal), &one);
    double bytes = wr_kmap_entry_bytes(sizeof(wr_sorted *), key_bytes) + fixed + MALLOC_EXTRA + (double)list->bytes;
    wr_sorted_free(list);
    return bytes;
}
