/* op/over.c: OVER aggregates in order of event time: one output row for each input row, once the watermark has passed it.
 *
 * Idea       per key a time-ordered buffer of rows that wait, and one of what rows that came out left behind (the columns that functions read)
 *            as long as a frame or LAG reaches back to it. A timer a key and time brings rows out in time order; a batch of them is
 *            worked on in rounds in which each key occurs with one time only, so that accumulators are fed and read by column.
 *            RANGE frames take all rows of one time (peers) before any of them is read, ROWS frames one row after the other.
 * Frames     unbounded: plain accumulators. Bounded: what can be taken out of an accumulator exactly (counts, integer and decimal sums, ordered
 *            sets of values for MIN, MAX, DISTINCT, lists for FIRST, LAST, LISTAGG) is; what cannot (sums of floats, variances, decimals
 *            that may overflow) goes through two stacks: `front` holds for each of the older rows of the frame the sum from it to the newest
 *            row that was there when front was made, the block the rows since. So nothing drifts, at a constant cost a row.
 * Arrival    without a time column rows are numbered as they arrive, which stands for their time, and come out with the batch that brought them.
 * Late rows  as Flink: with ROWS n PRECEDING only, a row is dropped iff an earlier arrival of its key has a time in [its time, W], W being the
 *            row's own watermark; with any other function iff its time is at or behind W. Both depend on rows only, not on timing.
 * TTL        a row that comes ttl_us or more behind the last one of its key finds the key forgotten; a sweep frees the keys of which that is certain. By the
 *            rows' times, so neither batches nor workers show; every row at or behind its watermark is late then, with ROWS frames too. By arrival: the clock.
 * Invariant  row numbers of a key count from 0 and never change; kept holds [kept_from, n_out). A saved image rebuilds `front` from
 *            the kept rows, bit for bit.
 * Memory     rows in a heap as the joins' (join_common.h); lists and fronts are charged to the map.  Thread: one worker.   */
#include "op/agg.h"
#include "op/join_common.h"
#include "op/op_util.h"

enum { VERSION = 1, MALLOC_EXTRA = 16, SWEEP_SLOTS = 256 };
static const char tag[] = "over";

typedef struct span { /* a frame of one key; its accumulators follow behind the keys' spans */
    uint64_t start;              /* its first row; bounded frames only */
    char    *front;              /* two stacks: blocks of rows start.. */
    uint32_t front_at, n_front;  /* the first that is still in the frame; all */
} span;
typedef struct keyed {
    wr_join_buf waiting, kept;
    int64_t  last_us;            /* of the last row that came out; valid when `out` */
    int64_t  armed_us;           /* of the timer that counts, when `armed` */
    int64_t  used_us;            /* TTL by arrival: the clock when its last row came out; WR_TIME_MIN: not known */
    uint64_t n_out, kept_from;
    uint64_t first_peer, n_times; /* row number of the first row of the last time; distinct times */
    uint32_t n_timers, opened;   /* timers that name the slot; waiting rows that RANGE frames have already */
    uint32_t round, batch;       /* marks of the last round and output batch that touched it */
    bool     armed, expires, out; /* expires: one of the timers is for forgetting the key */
} keyed;

typedef struct frame {
    wr_over_frame def;
    wr_aggs  *exact, *stacks;    /* NULL when empty */
    uint32_t  n_exact, n_stacks, *exact_col, *stacks_col; /* output columns */
    uint32_t  span_at, exact_at, stacks_at;               /* offsets in the value */
} frame;

typedef struct group { /* rows of one key and time in an output batch */
    keyed   *k;
    int64_t  time_us;
    uint32_t slot, first, n;
    bool     opened, goes_on, anew; /* RANGE frames have its rows; not the first rows of its time; the key's TTL was over */
} group;

typedef struct over {
    wr_join_base  base;          /* side 0: input; side 1: the columns that are kept */
    wr_over_opts  opts;
    uint32_t      n_cols, n_kept, *kept_col;
    uint32_t      n_frames;
    frame        *frames;
    bool          keeps, by_key, forgets; /* by_key: the rule for late rows; forgets: keys whose frame is empty */
    uint64_t      max_lag;
    int64_t       reach_us;      /* forgets: how far frames reach back */
    wr_kmap      *map;
    wr_timers    *timers;        /* payload: slot * 2 + (1: to forget the key) */
    uint64_t      seq, n_rows;
    int64_t       arrivals;      /* by arrival: the "time" of the last row; part of the state */
    int64_t       wm_us;
    uint32_t      round, batch_no;
    int64_t       front_bytes, told;
    /* scratch of one input batch */
    uint64_t hash[WR_BATCH_MAX];
    uint32_t slots[WR_BATCH_MAX];
    uint8_t  created[WR_BATCH_MAX];
    void    *values[WR_BATCH_MAX];
    /* of one output batch */
    uint32_t     n, n_groups;
    wr_join_row *row[WR_BATCH_MAX];
    keyed       *key_of[WR_BATCH_MAX];
    uint64_t     number[WR_BATCH_MAX];
    group        groups[WR_BATCH_MAX];
    bool         later_peer[WR_BATCH_MAX];
    const wr_join_row **lagged;  /* n_fns x WR_BATCH_MAX, LAG only */
    uint32_t     rows[WR_BATCH_MAX];
    void        *blocks[WR_BATCH_MAX];
    char        *sums;           /* WR_BATCH_MAX results of two stacks */
    WR_ARR(wr_join_row *) graves; /* forgotten while LAG of the batch at work may still read them */
    /* rows that leave a frame */
    uint32_t     n_leave;
    const wr_join_row *leave_row[WR_BATCH_MAX];
    void        *leave_block[WR_BATCH_MAX];
} over;

static span *span_of(const frame *f, keyed *k) { return (span *)(void *)((char *)k + f->span_at); }
static void *exact_of(const frame *f, keyed *k) { return (char *)k + f->exact_at; }
static void *stacks_of(const frame *f, keyed *k) { return (char *)k + f->stacks_at; }
static const wr_join_row *kept_row(keyed *k, uint64_t number) {
    wr_dassert(number >= k->kept_from && number - k->kept_from < k->kept.n);
    return wr_join_buf_ents(&k->kept)[number - k->kept_from].row;
}
static int64_t kept_time(keyed *k, uint64_t number) { return wr_join_buf_ents(&k->kept)[number - k->kept_from].time_us; }

static void charge(over *o) {
    int64_t now = o->front_bytes;
    for (uint32_t f = 0; f < o->n_frames; f++)
        if (o->frames[f].exact) now += o->frames[f].exact->heap_bytes;
    if (now != o->told) wr_kmap_charge(o->map, now - o->told);
    o->told = now;
}

static void drop_front(over *o, const frame *f, span *s) {
    if (!s->front) return;
    o->front_bytes -= (int64_t)s->n_front * f->stacks->bytes + MALLOC_EXTRA;
    wr_free(s->front);
    s->front = NULL;
    s->front_at = s->n_front = 0;
}

/* ---- time to live ---- */

/* Would a row that comes out at time_us (by arrival: now) find it forgotten? */
static bool ttl_is_over(const over *o, const keyed *k, int64_t time_us) {
    if (!o->opts.ttl_us || !k->out) return false;
    bool    by_arrival = o->opts.time_col < 0;
    int64_t now_us = by_arrival ? o->base.op.ctx->now_us : time_us, last_us = by_arrival ? k->used_us : k->last_us;
    return last_us != WR_TIME_MIN && wr_sat_sub(now_us, last_us) >= o->opts.ttl_us;
}
/* Forgets what its rows left behind; rows that wait stay. */
static void start_anew(over *o, keyed *k) {
    wr_join_ent *ents = wr_join_buf_ents(&k->kept);
    uint32_t     n = k->kept.n;
    for (uint32_t i = 0; i < n; i++) wr_arr_push(&o->graves, ents[i].row);
    wr_join_buf_pop(o->base.heap, &k->kept, n);
    o->n_rows -= n;
    for (uint32_t i = 0; i < o->n_frames; i++) {
        const frame *f = &o->frames[i];
        drop_front(o, f, span_of(f, k));
        if (f->exact) wr_aggs_drop(f->exact, exact_of(f, k)), memset(exact_of(f, k), 0, f->exact->bytes);
        if (f->stacks) memset(stacks_of(f, k), 0, f->stacks->bytes);
        memset(span_of(f, k), 0, sizeof(span));
    }
    k->n_out = k->kept_from = k->first_peer = k->n_times = 0;
    o->base.op.ctx->ledger->dropped[WR_REASON_EXPIRED]++;
}
static bool value_expired(void *self, const void *value) {
    over        *o = self;
    const keyed *k = value;
    if (k->waiting.n || k->n_timers || o->wm_us == WR_TIME_MAX || !ttl_is_over(o, k, o->wm_us)) return false;
    o->n_rows -= k->kept.n;
    return true;
}
static wr_status sweep(over *o, uint32_t n, wr_err *err) {
    uint64_t removed;
    if (!o->opts.ttl_us) return WR_OK;
    WR_TRY(wr_kmap_sweep(o->map, n, &removed, err));
    o->base.op.ctx->ledger->dropped[WR_REASON_EXPIRED] += removed;
    return WR_OK;
}

/* ---- input ---- */

static void arm(over *o, keyed *k, uint32_t slot) {
    int64_t at = wr_join_buf_ents(&k->waiting)->time_us;
    if (k->armed && k->armed_us <= at) return;
    wr_timers_add(o->timers, at, (uint64_t)slot * 2);
    k->armed = true, k->armed_us = at;
    k->n_timers++;
}

static bool is_late(const over *o, keyed *k, int64_t time_us, int64_t wm_us) {
    if (wm_us == WR_TIME_MIN || time_us > wm_us) return false;
    if (!o->by_key) return true;
    if (k->out && k->last_us >= time_us) return true;
    uint32_t at = wr_join_buf_lower(&k->waiting, time_us);
    return at < k->waiting.n && wr_join_buf_ents(&k->waiting)[at].time_us <= wm_us;
}

static bool is_idle(const keyed *k) { return !k->waiting.n && !k->n_timers && !k->out; }

static wr_status drain(over *o, int64_t wm_us, wr_out *out, bool *more, wr_err *err);

static wr_status on_batch(wr_op *op, uint32_t input, wr_batch *batch, wr_out *out, wr_err *err) {
    over    *o = (over *)op;
    uint32_t n = wr_batch_live(batch);
    bool     by_arrival = o->opts.time_col < 0;
    (void)input;
    if (!n) return WR_OK;
    const uint64_t *hash = wr_op_hash(batch, o->opts.keys, o->opts.n_keys, o->hash);
    WR_TRY(wr_kmap_find(o->map, batch, o->opts.keys, hash, true, o->slots, o->created, err));
    wr_kmap_values(o->map, o->slots, n, o->values);
    wr_status s = WR_OK;
    for (uint32_t i = 0; i < n && s == WR_OK; i++) {
        uint32_t row = wr_batch_row(batch, i);
        keyed   *k = o->values[i];
        int64_t  time_us = 0, wm_us = batch->row_wm_us ? batch->row_wm_us[row] : WR_TIME_MIN;
        wr_dassert(wr_batch_kind(batch, row) == WR_KIND_INSERT);
        if (by_arrival) time_us = ++o->arrivals;
        else s = wr_op_row_time(&batch->cols[o->opts.time_col], row, &time_us, err);
        if (s != WR_OK) break;
        if (!by_arrival && is_late(o, k, time_us, wm_us)) {
            op->ctx->ledger->dropped[WR_REASON_LATE]++;
            continue;
        }
        wr_join_row *r = wr_join_store(&o->base, 0, batch, row);
        r->time_us = time_us, r->wm_us = wm_us;
        wr_join_buf_add(o->base.heap, &k->waiting, time_us, r);
        o->n_rows++;
        op->ctx->ledger->kept[0]++;
        arm(o, k, o->slots[i]);
    }
    for (uint32_t i = 0; i < n; i++) /* a late row of a key never seen leaves no entry behind */
        if (o->created[i] && is_idle(o->values[i])) wr_kmap_remove(o->map, o->slots[i]);
    if (by_arrival && s == WR_OK) s = drain(o, o->arrivals, out, NULL, err);
    if (s == WR_OK) s = sweep(o, SWEEP_SLOTS, err);
    charge(o);
    return s;
}

/* ---- frames ---- */

/* A batch of kept rows, at the columns where the input has them. */
static wr_batch *kept_batch(const over *o, const wr_join_row *const *rows, uint32_t n, bool leaving) {
    wr_batch *b = wr_batch_new(o->n_cols, 1024 + (size_t)n * 16);
    wr_vec   *cols = wr_mem_calloc(b->mem, (o->n_kept + 1) * sizeof *cols);
    b->n_rows = n;
    if (o->n_kept) wr_join_decode(&o->base.side[1], rows, n, cols, b->mem);
    for (uint32_t c = 0; c < o->n_kept; c++) b->cols[o->kept_col[c]] = cols[c];
    if (leaving) b->kinds = memset(wr_mem_alloc(b->mem, n), WR_KIND_DELETE, n);
    return b;
}

static wr_status feed(over *o, wr_aggs *a, const wr_batch *b, const uint32_t *rows, void *const *blocks, uint32_t n, wr_err *err) {
    if (!a || !n) return WR_OK;
    a->seq = o->seq;
    return wr_aggs_update(a, b, rows, blocks, n, err);
}

/* front[i] = rows from + i .. to - 1, each from the next one and its own row. */
static wr_status make_front(over *o, const frame *f, keyed *k, uint64_t from, uint64_t to, wr_err *err) {
    span    *s = span_of(f, k);
    uint32_t n = (uint32_t)(to - from), bytes = f->stacks->bytes;
    drop_front(o, f, s);
    if (!n) return WR_OK;
    s->front = wr_calloc(n, bytes);
    s->n_front = n;
    o->front_bytes += (int64_t)n * bytes + MALLOC_EXTRA;
    wr_status st = WR_OK;
    for (uint32_t at = 0, m; at < n && st == WR_OK; at += m) {
        const wr_join_row *rows[WR_BATCH_MAX];
        void              *blocks[WR_BATCH_MAX];
        uint32_t           iota[WR_BATCH_MAX];
        m = WR_MIN(n - at, (uint32_t)WR_BATCH_MAX);
        for (uint32_t i = 0; i < m; i++) rows[i] = kept_row(k, from + at + i), blocks[i] = s->front + (size_t)(at + i) * bytes, iota[i] = i;
        wr_batch *b = kept_batch(o, rows, m, false);
        st = feed(o, f->stacks, b, iota, blocks, m, err);
        wr_batch_unref(b);
    }
    for (uint32_t i = n - 1; i-- > 0 && st == WR_OK;) wr_aggs_merge(f->stacks, s->front + (size_t)i * bytes, s->front + (size_t)(i + 1) * bytes);
    return st;
}

static wr_status flush_leaving(over *o, const frame *f, wr_err *err) {
    wr_status s = WR_OK;
    if (!o->n_leave) return s;
    uint32_t iota[WR_BATCH_MAX];
    for (uint32_t i = 0; i < o->n_leave; i++) iota[i] = i;
    wr_batch *b = kept_batch(o, o->leave_row, o->n_leave, true);
    s = feed(o, f->exact, b, iota, o->leave_block, o->n_leave, err);
    wr_batch_unref(b);
    o->n_leave = 0;
    return s;
}

/* The first row of the frame leaves; `to` is behind the last one that came in. */
static wr_status leave(over *o, const frame *f, keyed *k, uint64_t to, wr_err *err) {
    span *s = span_of(f, k);
    if (f->stacks) {
        if (s->front_at == s->n_front) {
            WR_TRY(make_front(o, f, k, s->start, to, err));
            memset(stacks_of(f, k), 0, f->stacks->bytes);
        }
        if (++s->front_at == s->n_front) drop_front(o, f, s);
    }
    if (f->exact) {
        if (o->n_leave == WR_BATCH_MAX) WR_TRY(flush_leaving(o, f, err));
        o->leave_row[o->n_leave] = kept_row(k, s->start);
        o->leave_block[o->n_leave++] = exact_of(f, k);
    }
    s->start++;
    return WR_OK;
}

/* Rows [from, to) of the batch, of keys key_of[]: into the frame. */
static wr_status enter(over *o, const frame *f, const wr_batch *b, uint32_t from, uint32_t to, wr_err *err) {
    uint32_t n = to - from;
    for (uint32_t i = 0; i < n; i++) o->rows[i] = from + i, o->blocks[i] = exact_of(f, o->key_of[from + i]);
    WR_TRY(feed(o, f->exact, b, o->rows, o->blocks, n, err));
    for (uint32_t i = 0; i < n && f->stacks; i++) o->blocks[i] = stacks_of(f, o->key_of[from + i]);
    return feed(o, f->stacks, b, o->rows, o->blocks, n, err);
}

static void results(over *o, const frame *f, wr_batch *b, uint32_t from, uint32_t to) {
    uint32_t n = to - from;
    if (f->exact) {
        for (uint32_t i = 0; i < n; i++) o->blocks[i] = exact_of(f, o->key_of[from + i]);
        for (uint32_t i = 0; i < f->n_exact; i++) wr_aggs_result(f->exact, i, o->blocks, n, &b->cols[f->exact_col[i]], from, 1, b->mem);
    }
    if (!f->stacks) return;
    for (uint32_t i = 0; i < n; i++) {
        keyed      *k = o->key_of[from + i];
        const span *s = span_of(f, k);
        o->blocks[i] = stacks_of(f, k);
        if (s->front_at == s->n_front) continue;
        char *sum = o->sums + (size_t)i * f->stacks->bytes;
        wr_aggs_copy(f->stacks, sum, s->front + (size_t)s->front_at * f->stacks->bytes);
        wr_aggs_merge(f->stacks, sum, o->blocks[i]);
        o->blocks[i] = sum;
    }
    for (uint32_t i = 0; i < f->n_stacks; i++) wr_aggs_result(f->stacks, i, o->blocks, n, &b->cols[f->stacks_col[i]], from, 1, b->mem);
}

/* ---- one time of a key ---- */

static void keep_row(over *o, keyed *k, const wr_batch *b, uint32_t row, int64_t time_us) {
    wr_sbuf_clear(&o->base.scratch);
    wr_rowcodec_put(o->base.side[1].codec, b, o->kept_col, row, &o->base.scratch);
    wr_join_row *r = wr_join_row_new(o->base.heap, wr_sbuf_str(&o->base.scratch));
    r->time_us = time_us, r->wm_us = WR_TIME_MIN;
    wr_join_buf_add(o->base.heap, &k->kept, time_us, r);
    o->n_rows++;
}

/* Peers are in all RANGE frames; what is too old leaves these. */
static wr_status leave_range(over *o, const frame *f, keyed *k, int64_t time_us, wr_err *err) {
    span    *s = span_of(f, k);
    uint64_t to = k->kept_from + k->kept.n;
    int64_t  first = wr_sat_sub(time_us, f->def.preceding);
    while (s->start < to && kept_time(k, s->start) < first) WR_TRY(leave(o, f, k, to, err));
    return WR_OK;
}

/* More peers than an output batch takes: RANGE frames get all of them before the first comes out. */
static wr_status open_many(over *o, keyed *k, uint32_t n, int64_t time_us, wr_err *err) {
    wr_join_ent *ents = wr_join_buf_ents(&k->waiting);
    wr_status    st = WR_OK;
    for (uint32_t at = 0, m; at < n && st == WR_OK; at += m) {
        m = WR_MIN(n - at, (uint32_t)WR_BATCH_MAX);
        wr_batch *b = wr_batch_new(o->n_cols, 1024 + (size_t)m * 16);
        b->n_rows = m;
        for (uint32_t i = 0; i < m; i++) o->row[i] = ents[at + i].row, o->key_of[i] = k;
        wr_join_decode(&o->base.side[0], (const wr_join_row *const *)o->row, m, b->cols, b->mem);
        for (uint32_t i = 0; i < m && o->keeps; i++) keep_row(o, k, b, i, time_us);
        for (uint32_t f = 0; f < o->n_frames && st == WR_OK; f++)
            if (!o->frames[f].def.rows) st = enter(o, &o->frames[f], b, 0, m, err);
        o->seq += m;
        wr_batch_unref(b);
    }
    for (uint32_t f = 0; f < o->n_frames && st == WR_OK; f++) {
        const frame *fr = &o->frames[f];
        if (fr->def.rows || fr->def.unbounded) continue;
        st = leave_range(o, fr, k, time_us, err);
        if (st == WR_OK) st = flush_leaving(o, fr, err);
    }
    k->opened = n;
    return st;
}

/* ---- an output batch ---- */

static void forget_later(over *o, keyed *k, uint32_t slot) {
    if (!o->forgets || k->expires || k->waiting.n) return;
    k->expires = true;
    k->n_timers++;
    wr_timers_add(o->timers, wr_sat_add(k->last_us, wr_sat_add(o->reach_us, 1)), (uint64_t)slot * 2 + 1);
}
/* Nobody sees the key's rows any more, unless there are younger ones. */
static void forget(over *o, keyed *k, uint32_t slot, int64_t deadline_us) {
    k->expires = false;
    if (k->batch == o->batch_no || k->waiting.n) return; /* armed again behind its next row */
    if (wr_sat_add(k->last_us, wr_sat_add(o->reach_us, 1)) > deadline_us) {
        forget_later(o, k, slot);
        return;
    }
    o->n_rows -= k->kept.n;
    wr_kmap_remove(o->map, slot);
}

static void take_rows(over *o, keyed *k, uint32_t slot, uint32_t n, int64_t time_us) {
    group *g = &o->groups[o->n_groups++];
    *g = (group){.k = k, .time_us = time_us, .slot = slot, .first = o->n, .n = n, .opened = k->opened > 0};
    g->anew = !g->opened && ttl_is_over(o, k, time_us);
    g->goes_on = k->out && k->last_us == time_us;
    wr_join_ent *ents = wr_join_buf_ents(&k->waiting);
    for (uint32_t i = 0; i < n; i++) {
        o->row[o->n] = ents[i].row;
        o->later_peer[o->n] = i > 0;
        o->key_of[o->n++] = k;
    }
    wr_join_buf_pop(o->base.heap, &k->waiting, n);
    k->opened -= WR_MIN(k->opened, n);
    k->batch = o->batch_no;
    k->last_us = time_us;
    k->used_us = o->base.op.ctx->now_us;
    k->out = true;
}

/* Rows whose time has come, in time order, at most an output batch of them; peers together, unless there are too many. */
static wr_status collect(over *o, int64_t wm_us, wr_err *err) {
    uint32_t max = o->base.op.ctx->batch_rows;
    int64_t  deadline;
    uint64_t what;
    o->n = o->n_groups = 0;
    o->batch_no++;
    WR_TRY(wr_kmap_relax(o->map, err));
    while (o->n < max && wr_timers_pop(o->timers, wm_us, &deadline, &what)) {
        uint32_t slot = (uint32_t)(what / 2);
        WR_TRY(wr_kmap_warm(o->map, slot, err));
        keyed *k = wr_kmap_value(o->map, slot);
        k->n_timers--;
        if (what & 1) {
            forget(o, k, slot, deadline);
            continue;
        }
        if (!k->armed || k->armed_us != deadline) continue; /* an earlier row was armed since */
        wr_join_ent *ents = wr_join_buf_ents(&k->waiting);
        uint32_t     n = 1;
        while (n < k->waiting.n && ents[n].time_us == deadline) n++;
        k->armed = false;
        if (o->n + n > max && o->n) { /* in the next batch */
            arm(o, k, slot);
            return WR_OK;
        }
        if (n > max && !k->opened) {
            if (ttl_is_over(o, k, deadline)) start_anew(o, k);
            WR_TRY(open_many(o, k, n, deadline, err));
        }
        take_rows(o, k, slot, WR_MIN(n, max), deadline);
        if (k->waiting.n) arm(o, k, slot);
    }
    return WR_OK;
}

static wr_status range_frames(over *o, wr_batch *b, uint32_t g0, uint32_t g1, wr_err *err) {
    uint32_t from = o->groups[g0].first, to = o->groups[g1 - 1].first + o->groups[g1 - 1].n;
    for (uint32_t i = 0; i < o->n_frames; i++) {
        const frame *f = &o->frames[i];
        if (f->def.rows) continue;
        if (!o->groups[g0].opened) { /* such a group is a round of its own */
            WR_TRY(enter(o, f, b, from, to, err));
            for (uint32_t g = g0; g < g1 && !f->def.unbounded; g++) WR_TRY(leave_range(o, f, o->groups[g].k, o->groups[g].time_us, err));
            WR_TRY(flush_leaving(o, f, err));
        }
        results(o, f, b, from, to);
    }
    return WR_OK;
}

/* Rows [from, to) are of different keys. */
static wr_status rows_frames(over *o, wr_batch *b, uint32_t from, uint32_t to, wr_err *err) {
    for (uint32_t i = 0; i < o->n_frames; i++) {
        const frame *f = &o->frames[i];
        if (!f->def.rows) continue;
        WR_TRY(enter(o, f, b, from, to, err));
        for (uint32_t r = from; r < to && !f->def.unbounded; r++) {
            keyed *k = o->key_of[r];
            if (o->number[r] - span_of(f, k)->start > (uint64_t)f->def.preceding) WR_TRY(leave(o, f, k, o->number[r] + 1, err));
        }
        WR_TRY(flush_leaving(o, f, err));
        results(o, f, b, from, to);
    }
    return WR_OK;
}

static void put_ranks(over *o, wr_batch *b, const group *g) {
    keyed *k = g->k;
    if (!g->goes_on) k->first_peer = k->n_out, k->n_times++;
    for (uint32_t c = 0; c < o->opts.n_fns; c++) {
        int64_t *to = b->cols[o->n_cols + c].data;
        for (uint32_t i = 0; i < g->n; i++) {
            uint32_t row = g->first + i;
            switch (o->opts.fns[c].kind) {
            case WR_OVER_ROW_NUMBER: to[row] = (int64_t)o->number[row] + 1; break;
            case WR_OVER_RANK: to[row] = (int64_t)k->first_peer + 1; break;
            case WR_OVER_DENSE_RANK: to[row] = (int64_t)k->n_times; break;
            case WR_OVER_LAG: {
                uint64_t by = o->opts.fns[c].offset;
                o->lagged[(size_t)c * WR_BATCH_MAX + row] = by > o->number[row] ? NULL : kept_row(k, o->number[row] - by);
                break;
            }
            case WR_OVER_AGG: break;
            }
        }
    }
}

/* Groups [g0, g1) are of different keys. */
static wr_status work_round(over *o, wr_batch *b, uint32_t g0, uint32_t g1, wr_err *err) {
    uint32_t from = o->groups[g0].first, to = o->groups[g1 - 1].first + o->groups[g1 - 1].n;
    for (uint32_t i = g0; i < g1; i++) {
        const group *g = &o->groups[i];
        if (g->anew) start_anew(o, g->k);
        for (uint32_t r = g->first; r < g->first + g->n; r++) {
            o->number[r] = g->k->n_out + (r - g->first);
            if (o->keeps && !g->opened) keep_row(o, g->k, b, r, g->time_us);
        }
    }
    WR_TRY(range_frames(o, b, g0, g1, err));
    for (uint32_t r = from, end; r < to; r = end) {
        for (end = r + 1; end < to && !o->later_peer[end]; end++) {}
        WR_TRY(rows_frames(o, b, r, end, err));
    }
    for (uint32_t i = g0; i < g1; i++) {
        put_ranks(o, b, &o->groups[i]);
        o->groups[i].k->n_out += o->groups[i].n;
    }
    return WR_OK;
}

static void put_lags(over *o, wr_batch *b) {
    for (uint32_t c = 0; c < o->opts.n_fns; c++) {
        const wr_over_fn *fn = &o->opts.fns[c];
        if (fn->kind != WR_OVER_LAG) continue;
        const wr_join_row **rows = o->lagged + (size_t)c * WR_BATCH_MAX;
        wr_vec  *cols = wr_mem_calloc(b->mem, (o->n_kept + 1) * sizeof *cols), *dst = &b->cols[o->n_cols + c];
        uint32_t at = 0;
        while (o->kept_col[at] != (uint32_t)fn->agg.arg) at++;
        wr_join_decode(&o->base.side[1], rows, b->n_rows, cols, b->mem);
        if (fn->fallback < 0) {
            wr_type type = dst->type;
            *dst = cols[at];
            dst->type = type;
            continue;
        }
        wr_vec_init(dst, fn->agg.type, b->n_rows, true, b->mem);
        for (uint32_t r = 0; r < b->n_rows; r++)
            wr_vec_set(dst, r, rows[r] ? &cols[at] : &b->cols[fn->fallback], r, b->mem);
    }
}

/* What no frame and no LAG reaches any more. */
static void trim(over *o, keyed *k) {
    uint64_t need = k->n_out > o->max_lag ? k->n_out - o->max_lag : 0;
    for (uint32_t f = 0; f < o->n_frames; f++)
        if (!o->frames[f].def.unbounded) need = WR_MIN(need, span_of(&o->frames[f], k)->start);
    if (need <= k->kept_from) return;
    uint32_t     n = (uint32_t)(need - k->kept_from);
    wr_join_ent *ents = wr_join_buf_ents(&k->kept);
    for (uint32_t i = 0; i < n; i++) wr_join_row_free(o->base.heap, ents[i].row);
    wr_join_buf_pop(o->base.heap, &k->kept, n);
    k->kept_from = need;
    o->n_rows -= n;
}

static wr_batch *decode_taken(over *o) {
    wr_batch *b = wr_batch_new(o->n_cols + o->opts.n_fns, 1024 + (size_t)o->n * 32);
    bool      any_late = false;
    b->n_rows = o->n;
    wr_join_decode(&o->base.side[0], (const wr_join_row *const *)o->row, o->n, b->cols, b->mem);
    for (uint32_t i = 0; i < o->opts.n_fns; i++)
        if (o->opts.fns[i].kind != WR_OVER_LAG) wr_vec_init(&b->cols[o->n_cols + i], o->opts.fns[i].agg.type, o->n, false, b->mem);
        else b->cols[o->n_cols + i].type = o->opts.fns[i].agg.type;
    for (uint32_t i = 0; i < o->n; i++) any_late |= o->row[i]->wm_us != WR_TIME_MIN;
    if (!any_late) return b;
    int64_t *late = wr_mem_alloc(b->mem, o->n * sizeof *late);
    for (uint32_t i = 0; i < o->n; i++) late[i] = o->row[i]->wm_us;
    b->row_wm_us = late;
    return b;
}

static wr_status work(over *o, wr_batch *b, wr_err *err) {
    for (uint32_t g0 = 0, g1; g0 < o->n_groups; g0 = g1) {
        o->round++;
        for (g1 = g0; g1 < o->n_groups && o->groups[g1].k->round != o->round && (g1 == g0 || !(o->groups[g0].opened || o->groups[g1].opened)); g1++)
            o->groups[g1].k->round = o->round;
        WR_TRY(work_round(o, b, g0, g1, err));
    }
    put_lags(o, b);
    o->seq += b->n_rows;
    for (uint32_t i = 0; i < o->n_groups; i++) {
        if (o->keeps) trim(o, o->groups[i].k);
        forget_later(o, o->groups[i].k, o->groups[i].slot);
    }
    return WR_OK;
}

/* All that is due comes out; with `more` only until downstream asks to pause. */
static wr_status drain(over *o, int64_t wm_us, wr_out *out, bool *more, wr_err *err) {
    wr_status s = WR_OK;
    while (s == WR_OK && wr_timers_count(o->timers) && wr_timers_first(o->timers) <= wm_us) {
        if (more && out->full(out)) {
            *more = true;
            break;
        }
        wr_batch *b = NULL;
        s = collect(o, wm_us, err);
        if (s == WR_OK && o->n) {
            b = decode_taken(o);
            s = work(o, b, err);
        }
        for (uint32_t i = 0; i < o->n; i++) wr_join_row_free(o->base.heap, o->row[i]);
        for (uint32_t i = 0; i < o->graves.n; i++) wr_join_row_free(o->base.heap, o->graves.at[i]);
        o->graves.n = 0;
        o->n_rows -= o->n;
        o->base.op.ctx->ledger->kept[0] -= o->n;
        if (s == WR_OK && b) s = wr_emit(out, b, err);
        else wr_batch_unref(b);
    }
    return s;
}
static wr_status on_watermark(wr_op *op, int64_t wm_us, wr_out *out, bool *more, wr_err *err) {
    over     *o = (over *)op;
    wr_status s = WR_OK;
    *more = false;
    if (o->opts.time_col >= 0) s = drain(o, wm_us, out, more, err);
    o->wm_us = wm_us;
    if (s == WR_OK && !*more) s = sweep(o, SWEEP_SLOTS * 4, err);
    charge(o);
    return s;
}

/* ---- state ---- */

static void value_free(void *self, void *value) { /* timers keep naming the slot: what they look at stays */
    over  *o = self;
    keyed *k = value;
    wr_join_buf_clear(o->base.heap, &k->waiting);
    wr_join_buf_clear(o->base.heap, &k->kept);
    for (uint32_t f = 0; f < o->n_frames; f++) {
        drop_front(o, &o->frames[f], span_of(&o->frames[f], k));
        if (o->frames[f].exact) wr_aggs_drop(o->frames[f].exact, exact_of(&o->frames[f], k));
    }
}
static void value_save(void *self, const void *value, wr_sbuf *out) {
    over  *o = self;
    keyed *k = (keyed *)(uintptr_t)value;
    wr_put_i64(out, k->last_us);
    wr_put_u64(out, k->n_out);
    wr_put_u64(out, k->kept_from);
    wr_put_u64(out, k->first_peer);
    wr_put_u64(out, k->n_times);
    wr_join_buf_save(&k->waiting, out);
    wr_join_buf_save(&k->kept, out);
    for (uint32_t i = 0; i < o->n_frames; i++) {
        const frame *f = &o->frames[i];
        const span  *s = span_of(f, k);
        wr_put_u64(out, s->start);
        wr_put_u32(out, s->n_front - s->front_at);
        if (f->exact) wr_aggs_save(f->exact, exact_of(f, k), out);
        if (f->stacks) wr_aggs_save(f->stacks, stacks_of(f, k), out);
    }
    if (o->opts.ttl_us && o->opts.time_col < 0) wr_put_i64(out, k->used_us); /* behind everything: images without it load, too */
}
static bool value_load(void *self, void *value, wr_reader *in) {
    over  *o = self;
    keyed *k = value;
    k->last_us = wr_get_i64(in);
    k->n_out = wr_get_u64(in);
    k->kept_from = wr_get_u64(in);
    k->first_peer = wr_get_u64(in);
    k->n_times = wr_get_u64(in);
    k->out = k->n_out > 0;
    if (!wr_join_buf_load(&o->base, 0, &k->waiting, in) || !wr_join_buf_load(&o->base, 1, &k->kept, in)) return false;
    uint64_t end = k->n_out + k->opened; /* opened: it left in the middle of its peers, and comes back */
    if (o->keeps && (k->kept_from > end || end - k->kept_from != k->kept.n)) return false;
    for (uint32_t i = 0; i < o->n_frames; i++) {
        const frame *f = &o->frames[i];
        span        *s = span_of(f, k);
        s->start = wr_get_u64(in);
        uint32_t n = wr_get_u32(in);
        if (in->bad) return false;
        if (!f->def.unbounded && (s->start < k->kept_from || s->start > end || n > end - s->start)) return false;
        if (n && (!f->stacks || make_front(o, f, k, s->start, s->start + n, NULL) != WR_OK)) return false;
        if (f->exact && !wr_aggs_load(f->exact, exact_of(f, k), in)) return false;
        if (f->stacks && !wr_aggs_load(f->stacks, stacks_of(f, k), in)) return false;
    }
    if (!in->bad) k->used_us = in->at < in->end ? wr_get_i64(in) : WR_TIME_MIN;
    return !in->bad;
}
static void value_new(void *self, uint32_t slot, void *value) {
    over  *o = self;
    keyed *k = value;
    o->n_rows += k->waiting.n + k->kept.n;
    if (k->waiting.n) arm(o, k, slot);
    else if (k->out) forget_later(o, k, slot);
}
static int64_t heap_bytes(void *self) {
    charge(self);
    return wr_join_map_heap(self);
}

static wr_status save(wr_op *op, wr_sbuf *out, wr_err *err) {
    over *o = (over *)op;
    wr_op_save_head(out, tag, VERSION);
    wr_put_u64(out, o->seq);
    wr_put_i64(out, o->arrivals);
    return wr_kmap_save(o->map, out, err);
}
static wr_status load(wr_op *op, wr_reader *in, uint32_t from, uint32_t to, wr_err *err) {
    over *o = (over *)op;
    WR_TRY(wr_op_load_head(in, tag, VERSION, err));
    uint64_t seq = wr_get_u64(in);
    o->seq = WR_MAX(o->seq, seq);
    int64_t arrivals = wr_get_i64(in);
    o->arrivals = WR_MAX(o->arrivals, arrivals);
    wr_status s = wr_kmap_load(o->map, in, op->ctx->n_key_groups, from, to, err);
    charge(o);
    return s;
}
static void usage(const wr_op *op, wr_op_usage *out) {
    const over *o = (const over *)op;
    *out = (wr_op_usage){.state_bytes = wr_kmap_bytes(o->map) + wr_join_heap_bytes(o->base.heap), .keys = wr_kmap_count(o->map), .rows = o->n_rows,
                         .oldest_us = o->opts.time_col < 0 ? WR_TIME_MAX : wr_timers_first(o->timers)};
    wr_op_map_usage(o->map, out);
}
static wr_status limit(wr_op *op, int64_t bytes, wr_err *err) { return wr_join_limit(&((over *)op)->base, ((over *)op)->map, bytes, err); }
static void close_op(wr_op *op) {
    over *o = (over *)op;
    wr_kmap_free(o->map);
    wr_timers_free(o->timers);
    for (uint32_t f = 0; f < o->n_frames; f++) wr_aggs_free(o->frames[f].exact), wr_aggs_free(o->frames[f].stacks);
    wr_free(o->sums);
    wr_arr_free(&o->graves);
    wr_join_base_free(&o->base);
    wr_free(o);
}
static const wr_op_vt over_vt = {
    .name = "over", .on_batch = on_batch, .on_watermark = on_watermark, .output_watermark = wr_op_same_watermark, .save = save, .load = load, .usage = usage,
    .limit = limit, .close = close_op,
};

/* ---- building ---- */

/* Can values be taken out of the accumulator without a trace? */
static bool is_exact(const wr_agg *agg) {
    wr_aggs *a = wr_aggs_new(agg, 1, true, false);
    wr_agg_form form = a->slots[0].form;
    bool        yes = form == WR_FORM_USER ? !wr_agg_lacks(agg, true, false) : a->slots[0].distinct || (form != WR_FORM_SUMF && form != WR_FORM_VAR && form != WR_FORM_SUMDEC);
    wr_aggs_free(a);
    return yes;
}
static bool same_frame(const wr_over_frame *a, const wr_over_frame *b) {
    return a->rows == b->rows && a->unbounded == b->unbounded && (a->unbounded || a->preceding == b->preceding);
}
static void make_frame(const wr_over_opts *opts, frame *f, wr_arena *arena, uint32_t n_cols, uint32_t *at) {
    wr_agg *exact = wr_new_n(arena, wr_agg, opts->n_fns), *stacks = wr_new_n(arena, wr_agg, opts->n_fns);
    f->exact_col = wr_new_n(arena, uint32_t, opts->n_fns);
    f->stacks_col = wr_new_n(arena, uint32_t, opts->n_fns);
    for (uint32_t i = 0; i < opts->n_fns; i++) {
        const wr_over_fn *fn = &opts->fns[i];
        if (fn->kind != WR_OVER_AGG || !same_frame(&fn->frame, &f->def)) continue;
        if (f->def.unbounded || is_exact(&fn->agg)) exact[f->n_exact] = fn->agg, f->exact_col[f->n_exact++] = n_cols + i;
        else stacks[f->n_stacks] = fn->agg, f->stacks_col[f->n_stacks++] = n_cols + i;
    }
    f->span_at = *at;
    *at += ((uint32_t)sizeof(span) + 15) & ~15u;
    if (f->n_exact) {
        f->exact = wr_aggs_new(exact, f->n_exact, !f->def.unbounded, false);
        f->exact->settle = true;
        f->exact_at = *at, *at += f->exact->bytes;
    }
    if (f->n_stacks) f->stacks = wr_aggs_new(stacks, f->n_stacks, false, false), f->stacks_at = *at, *at += f->stacks->bytes;
}
static uint32_t make_frames(const wr_over_opts *opts, frame *frames, uint32_t *n_frames, wr_arena *arena, uint32_t n_cols) {
    uint32_t at = ((uint32_t)sizeof(keyed) + 15) & ~15u, n = 0;
    for (uint32_t i = 0; i < opts->n_fns; i++) {
        if (opts->fns[i].kind != WR_OVER_AGG) continue;
        bool seen = false;
        for (uint32_t f = 0; f < n; f++) seen |= same_frame(&frames[f].def, &opts->fns[i].frame);
        if (seen) continue;
        frames[n] = (frame){.def = opts->fns[i].frame};
        make_frame(opts, &frames[n++], arena, n_cols, &at);
    }
    *n_frames = n;
    return at;
}

static void keep_col(uint32_t *cols, uint32_t *n, int32_t col) {
    if (col < 0) return;
    for (uint32_t i = 0; i < *n; i++)
        if (cols[i] == (uint32_t)col) return;
    cols[(*n)++] = (uint32_t)col;
}
static uint32_t kept_cols(const wr_over_opts *opts, uint32_t *cols) { /* that rows which came out are still asked for */
    uint32_t n = 0;
    for (uint32_t i = 0; i < opts->n_fns; i++) {
        const wr_over_fn *fn = &opts->fns[i];
        if (fn->kind == WR_OVER_LAG) keep_col(cols, &n, fn->agg.arg);
        if (fn->kind != WR_OVER_AGG || fn->frame.unbounded) continue;
        keep_col(cols, &n, fn->agg.arg);
        keep_col(cols, &n, fn->agg.arg2);
        keep_col(cols, &n, fn->agg.filter);
    }
    return n;
}

double wr_over_key_bytes(const wr_over_opts *opts, double key_bytes) {
    wr_arena *arena = wr_arena_new(NULL);
    frame    *frames = wr_new_n(arena, frame, opts->n_fns + 1);
    uint32_t  n;
    double    bytes = wr_kmap_entry_bytes(make_frames(opts, frames, &n, arena, 0), key_bytes);
    for (uint32_t f = 0; f < n; f++) {
        for (uint32_t i = 0; i < opts->n_fns; i++) {
            double fixed, per_value;
            if (opts->fns[i].kind != WR_OVER_AGG || !same_frame(&opts->fns[i].frame, &frames[f].def)) continue;
            wr_agg_bytes(&opts->fns[i].agg, 1, !frames[f].def.unbounded, &fixed, &per_value);
            if (per_value > 0) bytes += fixed;
        }
        wr_aggs_free(frames[f].exact), wr_aggs_free(frames[f].stacks);
    }
    wr_arena_free(arena);
    return bytes;
}
double wr_over_row_bytes(double row_bytes) { return wr_join_piece_bytes(sizeof(wr_join_row) + row_bytes) + sizeof(wr_join_ent) * 1.5; }

static void look_at_functions(over *o) {
    bool all_rows = true, all_range = true;
    for (uint32_t i = 0; i < o->opts.n_fns; i++) {
        const wr_over_fn *fn = &o->opts.fns[i];
        bool bounded = fn->kind == WR_OVER_AGG && !fn->frame.unbounded;
        all_rows &= bounded && fn->frame.rows;
        all_range &= bounded && !fn->frame.rows;
        if (fn->kind == WR_OVER_LAG) o->max_lag = WR_MAX(o->max_lag, fn->offset);
        o->keeps |= bounded || fn->kind == WR_OVER_LAG;
        if (bounded && !fn->frame.rows) o->reach_us = WR_MAX(o->reach_us, fn->frame.preceding);
    }
    o->by_key = all_rows && !o->opts.ttl_us;
    o->forgets = all_range;
}

wr_op *wr_over_new(const wr_over_opts *opts, const wr_schema *input, wr_op_ctx *ctx) {
    over      *o = wr_calloc(1, sizeof *o);
    uint32_t  *cols = wr_calloc(input->n + 1, sizeof *cols), n_kept = kept_cols(opts, cols);
    wr_field  *fields = wr_calloc(n_kept + 1, sizeof *fields);
    for (uint32_t i = 0; i < n_kept; i++) fields[i] = input->fields[cols[i]];
    wr_schema kept = {n_kept, fields};
    wr_join_base_init(&o->base, WR_JOIN_INNER, &(wr_join_keys){0}, NULL, input, &kept, ctx);
    wr_free(fields);
    o->base.op = (wr_op){.vt = &over_vt, .ctx = ctx};
    o->kept_col = wr_op_copy_cols(o->base.arena, cols, n_kept);
    wr_free(cols);
    o->n_cols = input->n, o->n_kept = n_kept;
    o->opts = *opts;
    o->opts.keys = wr_op_copy_cols(o->base.arena, opts->keys, opts->n_keys);
    wr_over_fn *fns = wr_new_n(o->base.arena, wr_over_fn, opts->n_fns + 1);
    if (opts->n_fns) memcpy(fns, opts->fns, opts->n_fns * sizeof *fns);
    o->opts.fns = fns;
    o->frames = wr_new_n(o->base.arena, frame, opts->n_fns + 1);
    uint32_t value_bytes = make_frames(&o->opts, o->frames, &o->n_frames, o->base.arena, input->n), sum_bytes = 0;
    for (uint32_t f = 0; f < o->n_frames; f++)
        if (o->frames[f].stacks) sum_bytes = WR_MAX(sum_bytes, o->frames[f].stacks->bytes);
    look_at_functions(o);
    if (sum_bytes) o->sums = wr_calloc(WR_BATCH_MAX, sum_bytes);
    o->lagged = wr_arena_calloc(o->base.arena, (size_t)(opts->n_fns + 1) * WR_BATCH_MAX * sizeof *o->lagged);
    o->timers = wr_timers_new(ctx->acct);
    o->wm_us = WR_TIME_MIN;
    const wr_kmap_opts map = {.name = tag, .key_types = wr_op_key_types(o->base.arena, input, opts->keys, opts->n_keys), .n_key_types = opts->n_keys,
                              .value_bytes = value_bytes, .acct = ctx->acct, .self = o, .value_free = value_free, .value_save = value_save,
                              .value_load = value_load, .value_new = value_new, .value_expired = value_expired, .heap_bytes = heap_bytes};
    o->map = wr_op_map_new(&map, ctx, tag, WR_SPILL_VALUE);
    return &o->base.op;
}
