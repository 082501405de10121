/* run/sample.c: a job runs for a while with nothing behind its sinks, and what reaches its stateful operators is counted: for the bill.
 *
 * Idea       wr_bill_watch_of says what to count at an input. Distinct keys and values: HyperLogLog, over all rows and by stretches of event time
 *            (panes: windows, or steps of what is kept), so that "how many at a time" is seen as well as "how many". Rows held at a time: counts
 *            by time steps, which the watermark lets go. Sizes: every 16th row is encoded. Because the job itself runs, the filters, joins and
 *            aggregations in front of an operator need no guesses.
 * Invariant  one worker, so what is counted depends on the input only, unless time runs out.
 * Memory     4 KiB a HyperLogLog; a pane's is freed when the watermark has passed the pane. What the job keeps is charged as in a run.
 * Thread     the worker counts, the caller reads when it has ended.                                                          */
#include "run/internal.h"
#include "base/hash.h"
#include <stdio.h>

enum { ENCODE_EVERY = 16, POINTS_MAX = 96, WORKERS = 1 };
#define HLL_ERROR 0.016

typedef struct pane {
    int64_t  start;           /* of (time + shift) */
    wr_hll  *keys, *values[WR_BILL_VALUES];
    double   n_keys, n_values[WR_BILL_VALUES];
    uint64_t rows;
    bool     dirty;
} pane;
typedef struct panes {        /* of one input, or of both inputs of a join */
    WR_ARR(pane) open;        /* by start */
    uint32_t last;
    double   peak_keys, peak_values[WR_BILL_VALUES];
    double   full_keys, full_rows, full_values[WR_BILL_VALUES];
} panes;
typedef struct step { int64_t at; double rows; } step;
typedef struct steps {        /* rows held by time: (index of the stretch, rows), ascending */
    WR_ARR(step) held, past;  /* past: let go within the last keep_us */
    uint32_t past_from;
    int64_t  width;
    double   rows, peak, busy, past_rows;
} steps;
typedef struct seen {         /* one input of a node */
    bool           on;
    wr_bill_watch  watch;
    wr_rowcodec   *key_codec, *row_codec, *order_codec;
    uint32_t      *order_cols, n_order;
    wr_hll         keys, upserts, *values[WR_BILL_VALUES];
    uint64_t       rows, added, removed, encoded;
    double         key_bytes, row_bytes, order_bytes, value_bytes[WR_BILL_VALUES];
    uint64_t       n_values[WR_BILL_VALUES];
    int64_t        first_us, last_us, wm_us;
    panes         *panes;
    steps          steps;
    uint64_t       next_point, most_kept;
    uint32_t       n_points;
    struct { double rows, keys; } point[POINTS_MAX];
    skew          *hot;       /* by key; NULL: there is none */
} seen;
typedef struct sample {
    wr_arena  *arena;
    wr_world  *world;
    const wr_tz *tz;
    int64_t    until_us;
    seen      *in;            /* [node * 2 + input] */
    uint32_t  *stands_for;    /* by node: whose input its rows are counted as; UINT32_MAX: nobody's */
    panes     *panes;         /* likewise */
    wr_sbuf    scratch;
    uint64_t   hash[WR_BATCH_MAX], value_hash[WR_BATCH_MAX];
} sample;

/* ---- panes ---- */

static pane *pane_at(panes *p, int64_t start) {
    if (p->last < p->open.n && p->open.at[p->last].start == start) return &p->open.at[p->last];
    uint32_t at = p->open.n;
    while (at && p->open.at[at - 1].start > start) at--;
    if (at && p->open.at[at - 1].start == start) return &p->open.at[p->last = at - 1];
    wr_arr_push(&p->open, (pane){0});
    memmove(p->open.at + at + 1, p->open.at + at, (p->open.n - 1 - at) * sizeof(pane));
    p->open.at[at] = (pane){.start = start, .keys = wr_calloc(1, sizeof(wr_hll))};
    return &p->open.at[p->last = at];
}

static void pane_count(pane *p) {
    if (!p->dirty || !p->keys) return;
    p->n_keys = wr_hll_count(p->keys);
    for (uint32_t i = 0; i < WR_BILL_VALUES; i++)
        if (p->values[i]) p->n_values[i] = wr_hll_count(p->values[i]);
    p->dirty = false;
}
static void pane_free(pane *p) {
    wr_free(p->keys);
    p->keys = NULL;
    for (uint32_t i = 0; i < WR_BILL_VALUES; i++) wr_free(p->values[i]), p->values[i] = NULL;
}

/* How many keys and values are held now; merge: in whatever pane, once. */
static void panes_look(panes *p, bool merge) {
    double  keys = 0, values[WR_BILL_VALUES] = {0};
    wr_hll *all = merge ? wr_calloc(1, sizeof *all) : NULL;
    for (uint32_t i = 0; i < p->open.n; i++) {
        pane *x = &p->open.at[i];
        pane_count(x);
        if (merge && x->keys) wr_hll_merge(all, x->keys);
        keys += x->n_keys;
        for (uint32_t v = 0; v < WR_BILL_VALUES; v++) values[v] += x->n_values[v];
        p->full_keys = WR_MAX(p->full_keys, x->n_keys);
        p->full_rows = WR_MAX(p->full_rows, (double)x->rows);
    }
    if (merge) keys = wr_hll_count(all);
    wr_free(all);
    p->peak_keys = WR_MAX(p->peak_keys, keys);
    for (uint32_t v = 0; v < WR_BILL_VALUES; v++) p->peak_values[v] = WR_MAX(p->peak_values[v], values[v]);
}

static void panes_close(panes *p, const wr_bill_watch *w, int64_t wm_us) {
    uint32_t gone = 0;
    for (uint32_t i = 0; i < p->open.n; i++) {
        pane   *x = &p->open.at[i];
        int64_t end = w->pane_col >= 0 ? x->start : x->start + w->pane_us;
        if (wm_us < end - 1000) break;
        if (!w->merge) pane_count(x), pane_free(x); /* no more rows come for it */
        if (wm_us < end - 1000 + w->pane_keep_us) continue;
        pane_free(x);
        if (gone == i) gone++;
    }
    if (!gone) return;
    memmove(p->open.at, p->open.at + gone, (p->open.n - gone) * sizeof(pane));
    p->open.n -= gone;
    p->last = 0;
}

/* ---- rows by time ---- */

static void steps_add(steps *s, int64_t at) {
    s->rows++;
    uint32_t i = s->held.n;
    while (i && s->held.at[i - 1].at > at) i--;
    if (i && s->held.at[i - 1].at == at) {
        s->held.at[i - 1].rows++;
        return;
    }
    wr_arr_push(&s->held, (step){0});
    memmove(s->held.at + i + 1, s->held.at + i, (s->held.n - 1 - i) * sizeof(step));
    s->held.at[i] = (step){at, 1};
}

/* The watermark has passed what lies before `at`. The busiest stretch as long as what is kept is seen on the way. */
static void steps_let_go(steps *s, int64_t before, int64_t keep_steps) {
    uint32_t gone = 0;
    for (; gone < s->held.n && s->held.at[gone].at < before; gone++) {
        step x = s->held.at[gone];
        s->rows -= x.rows;
        s->past_rows += x.rows;
        wr_arr_push(&s->past, x);
        while (s->past_from < s->past.n && s->past.at[s->past_from].at <= x.at - WR_MAX(keep_steps, (int64_t)1)) s->past_rows -= s->past.at[s->past_from++].rows;
        s->busy = WR_MAX(s->busy, s->past_rows);
    }
    if (s->past_from > 1024) {
        memmove(s->past.at, s->past.at + s->past_from, (s->past.n - s->past_from) * sizeof(step));
        s->past.n -= s->past_from;
        s->past_from = 0;
    }
    if (gone) memmove(s->held.at, s->held.at + gone, (s->held.n - gone) * sizeof(step));
    s->held.n -= gone;
}

/* ---- as rows come ---- */

static bool time_of(const wr_vec *vec, uint32_t row, int64_t *us) {
    if (wr_vec_is_null(vec, row)) return false;
    int64_t ticks = ((const int64_t *)vec->data)[row];
    *us = vec->type.prec > 6 ? wr_floor_div(ticks, 1000) : ticks;
    return true;
}

static void encode_sizes(sample *s, seen *x, const wr_batch *batch, uint32_t row) {
    x->encoded++;
    wr_sbuf_clear(&s->scratch);
    wr_rowcodec_put(x->row_codec, batch, NULL, row, &s->scratch);
    x->row_bytes += (double)s->scratch.len;
    if (x->key_codec) wr_sbuf_clear(&s->scratch), wr_rowcodec_put(x->key_codec, batch, x->watch.keys, row, &s->scratch), x->key_bytes += (double)s->scratch.len;
    if (x->order_codec) wr_sbuf_clear(&s->scratch), wr_rowcodec_put(x->order_codec, batch, x->order_cols, row, &s->scratch), x->order_bytes += (double)s->scratch.len;
}

static void note_time(seen *x, const wr_batch *batch, uint32_t row, uint64_t hash) {
    int64_t t;
    const wr_bill_watch *w = &x->watch;
    if (w->by_watermark) {
        t = x->wm_us;
        if (t == WR_TIME_MIN) return;
    } else {
        if (w->time_col < 0 || !time_of(&batch->cols[w->time_col], row, &t)) return;
        x->first_us = WR_MIN(x->first_us, t), x->last_us = WR_MAX(x->last_us, t);
    }
    int64_t wm = batch->row_wm_us ? batch->row_wm_us[row] : WR_TIME_MIN;
    if (w->keep_us >= 0 && (wm == WR_TIME_MIN || t + w->keep_us >= wm)) steps_add(&x->steps, wr_floor_div(t + w->keep_us, x->steps.width));
    if (!w->pane_us) return;
    int64_t start = w->pane_col >= 0 ? t : wr_floor_div(t + w->pane_shift_us, w->pane_us) * w->pane_us;
    if (wm != WR_TIME_MIN && wm >= start + (w->pane_col >= 0 ? 0 : w->pane_us) + w->pane_keep_us) return; /* late */
    pane *p = pane_at(x->panes, start);
    p->rows++;
    if (!p->keys) return;
    wr_hll_add(p->keys, hash);
    p->dirty = true;
}

static void note_value(sample *s, seen *x, uint32_t v, const wr_batch *batch, bool by_pane) {
    const wr_vec *vec = &batch->cols[x->watch.value_cols[v]], *filter = x->watch.value_filters[v] >= 0 ? &batch->cols[x->watch.value_filters[v]] : NULL;
    uint32_t      col = (uint32_t)x->watch.value_cols[v];
    bool          text = wr_type_storage(vec->type) == WR_S_STR && vec->type.id != WR_T_NULL;
    wr_batch_hash(batch, &col, 1, s->value_hash);
    if (!x->values[v]) x->values[v] = wr_calloc(1, sizeof(wr_hll));
    for (uint32_t i = 0; i < wr_batch_live(batch); i++) {
        uint32_t row = wr_batch_row(batch, i);
        if (wr_vec_is_null(vec, row) || (batch->kinds && !wr_kind_adds(batch->kinds[row]))) continue;
        if (filter && (wr_vec_is_null(filter, row) || !((const uint8_t *)filter->data)[row])) continue;
        uint64_t h = wr_hash_mix(s->hash[row], s->value_hash[row]);
        wr_hll_add(x->values[v], h);
        x->n_values[v]++;
        if (text) x->value_bytes[v] += ((const wr_sview *)vec->data)[row].len;
        int64_t t;
        if (!by_pane || !time_of(&batch->cols[x->watch.time_col], row, &t)) continue;
        pane *p = pane_at(x->panes, x->watch.pane_col >= 0 ? t : wr_floor_div(t + x->watch.pane_shift_us, x->watch.pane_us) * x->watch.pane_us);
        if (!p->keys) continue;
        if (!p->values[v]) p->values[v] = wr_calloc(1, sizeof(wr_hll));
        wr_hll_add(p->values[v], h);
    }
}

static void take_point(seen *x) {
    if (x->added < x->next_point || x->n_points == POINTS_MAX) return;
    x->point[x->n_points].rows = (double)x->added;
    x->point[x->n_points++].keys = wr_hll_count(&x->keys);
    x->next_point = x->added + x->added / 8 + 64;
}

static void on_rows(void *arg, const wr_pnode *p, uint32_t input, const wr_batch *batch) {
    sample *s = arg;
    if (s->stands_for[p->index] == UINT32_MAX) return;
    seen   *x = &s->in[s->stands_for[p->index] * 2 + (input < 2 ? input : 0)];
    if (!x->on) return;
    const wr_bill_watch *w = &x->watch;
    if (w->n_keys) wr_batch_hash(batch, w->keys, w->n_keys, s->hash);
    else memset(s->hash, 0, sizeof s->hash);
    if (x->hot) skew_feed(x->hot, batch, s->hash, s->tz);
    for (uint32_t i = 0; i < wr_batch_live(batch); i++) {
        uint32_t row = wr_batch_row(batch, i);
        if (x->rows++ % ENCODE_EVERY == 0) encode_sizes(s, x, batch, row);
        bool adds = !batch->kinds || wr_kind_adds(batch->kinds[row]);
        if (!adds) {
            x->removed++;
            continue;
        }
        x->added++;
        wr_hll_add(&x->keys, s->hash[row]);
        note_time(x, batch, row, s->hash[row]);
    }
    for (uint32_t v = 0; v < w->n_values; v++)
        if (w->value_cols[v] >= 0) note_value(s, x, v, batch, w->pane_us > 0 && w->time_col >= 0);
    if (w->n_upsert) {
        wr_batch_hash(batch, w->upsert, w->n_upsert, s->value_hash);
        for (uint32_t i = 0; i < wr_batch_live(batch); i++) wr_hll_add(&x->upserts, s->value_hash[wr_batch_row(batch, i)]);
    }
    x->steps.peak = WR_MAX(x->steps.peak, x->steps.rows);
    take_point(x);
}

static void on_watermark(void *arg, const wr_pnode *p, const wr_op *op, int64_t wm_us) {
    sample *s = arg;
    for (uint32_t i = 0; i < 2 && i < p->n_inputs; i++) {
        seen *x = &s->in[p->index * 2 + i];
        if (!x->on) continue;
        if (wm_us != WR_TIME_MAX) x->wm_us = wm_us;
        if (x->watch.by_watermark || x->watch.held) { /* what has expired is swept later: how late, only the operator knows */
            wr_op_usage u;
            op->vt->usage(op, &u);
            x->most_kept = WR_MAX(x->most_kept, u.keys);
        }
        if (x->watch.pane_us && (i == 0 || x->panes != s->in[p->index * 2].panes)) {
            panes_look(x->panes, x->watch.merge);
            panes_close(x->panes, &x->watch, wm_us);
        }
        if (x->watch.keep_us >= 0) steps_let_go(&x->steps, wm_us == WR_TIME_MAX ? INT64_MAX : wr_floor_div(wm_us, x->steps.width), x->watch.keep_us / x->steps.width);
    }
}

static void on_tick(void *arg, wr_job *job) {
    sample *s = arg;
    if (wr_mono_us(s->world) >= s->until_us) wr_job_stop(job);
}

/* ---- before and after ---- */

static wr_rowcodec *codec_of(sample *s, const wr_schema *schema, const uint32_t *cols, uint32_t n) {
    wr_type *types = wr_new_n(s->arena, wr_type, n + 1);
    for (uint32_t i = 0; i < n; i++) types[i] = schema->fields[cols ? cols[i] : i].type;
    return wr_rowcodec_new(s->arena, types, n);
}

static void prepare(sample *s, const wr_job_plan *plan) {
    s->in = wr_new_n(s->arena, seen, plan->nodes.n * 2 + 1);
    s->panes = wr_new_n(s->arena, panes, plan->nodes.n * 2 + 1);
    s->stands_for = wr_new_n(s->arena, uint32_t, plan->nodes.n + 1);
    for (uint32_t i = 0; i < plan->nodes.n; i++) {
        const wr_pnode *n = plan->nodes.at[i];
        s->stands_for[i] = i;
        if (!n->n_inputs || n->inputs[0].node->kind != WR_P_LOCAL_AGG) continue;
        s->stands_for[n->inputs[0].node->index] = i; /* rows are counted before they are combined: the columns are the same */
        s->stands_for[i] = UINT32_MAX;
    }
    for (uint32_t i = 0; i < plan->nodes.n * 2; i++) {
        const wr_pnode *n = plan->nodes.at[i / 2];
        seen *x = &s->in[i];
        if (!wr_bill_watch_of(n, i % 2, &x->watch)) continue;
        const wr_pnode  *from = n->inputs[i % 2].node->kind == WR_P_LOCAL_AGG ? n->inputs[i % 2].node->inputs[0].node : n->inputs[i % 2].node;
        const wr_schema *schema = &from->schema;
        x->on = true;
        x->first_us = WR_TIME_MAX, x->last_us = x->wm_us = WR_TIME_MIN;
        x->row_codec = codec_of(s, schema, NULL, schema->n);
        uint32_t n_named = x->watch.n_keys - (from->kind == WR_P_SPREAD); /* the last one is the part of the key */
        if (n_named && x->watch.n_keys) x->hot = skew_new(s->arena, schema, x->watch.keys, n_named, i + 1);
        if (x->watch.n_keys) x->key_codec = codec_of(s, schema, x->watch.keys, x->watch.n_keys);
        x->n_order = x->watch.n_order + x->watch.n_upsert;
        x->order_cols = wr_new_n(s->arena, uint32_t, x->n_order + 1);
        for (uint32_t k = 0; k < x->n_order; k++) x->order_cols[k] = k < x->watch.n_order ? x->watch.order[k].col : x->watch.upsert[k - x->watch.n_order];
        if (x->watch.n_order) x->order_codec = codec_of(s, schema, x->order_cols, x->n_order);
        x->panes = &s->panes[n->n_inputs == 2 && n->kind != WR_P_TEMPORAL_JOIN && n->kind != WR_P_ASSIGN ? i & ~1u : i];
        x->steps.width = WR_MAX(x->watch.keep_us / 64, (int64_t)20000);
    }
}

static void finish_input(const seen *x, wr_input_facts *f) {
    double coded = WR_MAX((double)x->encoded, 1.0);
    *f = (wr_input_facts){.known = true, .rows = (double)x->added, .added = (double)x->added, .removed = (double)x->removed};
    f->keys = x->added ? wr_hll_count(&x->keys) : 0;
    f->keys = WR_MIN(f->keys, f->added);
    for (uint32_t i = 0; i < x->n_points && x->point[i].rows <= f->added * 0.55; i++) f->half_rows = x->point[i].rows, f->half_keys = WR_MIN(x->point[i].keys, x->point[i].rows);
    f->upserts = x->watch.n_upsert ? wr_hll_count(&x->upserts) : 0;
    f->key_bytes = x->key_bytes / coded, f->row_bytes = x->row_bytes / coded, f->order_bytes = x->order_bytes / coded;
    if (x->last_us > x->first_us) {
        f->span_us = (double)x->last_us - (double)x->first_us;
        f->rate = f->added / (f->span_us / 1e6);
    }
    f->peak_rows = x->steps.peak, f->busy_rows = x->steps.busy;
    f->peak_keys = x->panes->peak_keys, f->pane_keys = x->panes->full_keys, f->pane_rows = x->panes->full_rows;
    for (uint32_t v = 0; v < x->watch.n_values; v++) {
        if (!x->values[v]) continue;
        f->values[v] = WR_MIN(wr_hll_count(x->values[v]), (double)x->n_values[v]);
        f->value_bytes[v] = x->n_values[v] ? x->value_bytes[v] / (double)x->n_values[v] : 0;
        f->peak_values[v] = x->panes->peak_values[v];
    }
}

static double share_of(const wr_job_status *st) { /* of the bytes and rows that are there */
    double least = 1;
    for (uint32_t i = 0; i < st->n_sources; i++) {
        const wr_source_status *x = &st->sources[i];
        if (x->ended) continue;
        if (!x->total) return 0;
        least = WR_MIN(least, (double)x->done / (double)x->total);
    }
    return least;
}

static void finish_sources(const wr_job_status *st, wr_bill_facts *f, double span_us) {
    for (uint32_t i = 0; i < st->n_sources; i++) {
        const wr_source_status *x = &st->sources[i];
        uint32_t at = x->node->index;
        f->source_rows[at] = (double)st->nodes[at].ledger.out;
        f->source_bytes[at] = x->total ? (double)x->done : 0;
        if (span_us > 0) f->source_rate[at] = f->source_rows[at] / (span_us / 1e6);
    }
}

/* Event time that the sources have seen, whether or not a column of it is left where it is counted. */
static double source_span(const wr_job_status *st) {
    double span = 0;
    for (uint32_t i = 0; i < st->n_sources; i++) {
        const wr_source_status *x = &st->sources[i];
        if (x->first_us != WR_TIME_MIN && x->last_us > x->first_us) span = WR_MAX(span, (double)x->last_us - (double)x->first_us);
    }
    return span;
}

static void finish_hot(sample *s, const wr_job_plan *plan, wr_bill_facts *f) {
    enum { EACH = 4 };
    f->hot = wr_new_n(s->arena, wr_bill_hot, plan->nodes.n * 2 * EACH + 1);
    for (uint32_t i = 0; i < plan->nodes.n * 2; i++) {
        wr_bill_hot top[EACH];
        uint32_t    n = s->in[i].hot ? skew_best(s->in[i].hot, top, EACH) : 0;
        for (uint32_t k = 0; k < n; k++) {
            uint32_t at = f->n_hot++;
            for (; at && f->hot[at - 1].share < top[k].share; at--) f->hot[at] = f->hot[at - 1];
            f->hot[at] = top[k];
            f->hot[at].node = i / 2, f->hot[at].input = i % 2;
            f->hot[at].combined = plan->nodes.at[i / 2]->inputs[i % 2].node->kind == WR_P_LOCAL_AGG;
        }
    }
}

static void finish(sample *s, const wr_job_plan *plan, const wr_job_status *st, wr_bill_facts *f) {
    double span = source_span(st);
    for (uint32_t i = 0; i < plan->nodes.n * 2; i++) {
        if (!s->in[i].on) continue;
        if (s->in[i].watch.pane_us) panes_look(s->in[i].panes, s->in[i].watch.merge);
        finish_input(&s->in[i], &f->in[i]);
        f->in[i].kept_keys = (double)WR_MAX(st->nodes[i / 2].usage.keys, s->in[i].most_kept), f->in[i].kept_rows = (double)st->nodes[i / 2].usage.rows;
    }
    for (uint32_t i = 0; i < plan->nodes.n * 2; i++) {
        wr_input_facts *x = &f->in[i];
        if (x->known && x->span_us < span) x->span_us = span, x->rate = x->added / (span / 1e6);
        if (i % 2 == 0 && x->known && f->in[i + 1].known) {
            wr_hll *both = wr_calloc(1, sizeof *both);
            wr_hll_merge(both, &s->in[i].keys), wr_hll_merge(both, &s->in[i + 1].keys);
            x->all_keys = wr_hll_count(both);
            wr_free(both);
        }
    }
    finish_sources(st, f, span);
    finish_hot(s, plan, f);
    for (uint32_t i = 0; i < plan->nodes.n; i++)
        if (plan->nodes.at[i]->kind == WR_P_SPREAD && st->nodes[i].ledger.in[0]) f->copies[i] = (double)st->nodes[i].ledger.out / (double)st->nodes[i].ledger.in[0];
    f->share = share_of(st);
    f->whole = st->finished;
    f->seconds = (double)st->running_us / 1e6;
}

static void sample_free(sample *s, uint32_t n_nodes) {
    for (uint32_t i = 0; s->in && i < n_nodes * 2; i++) {
        for (uint32_t k = 0; k < s->panes[i].open.n; k++) pane_free(&s->panes[i].open.at[k]);
        wr_arr_free(&s->panes[i].open);
        wr_arr_free(&s->in[i].steps.held);
        wr_arr_free(&s->in[i].steps.past);
        for (uint32_t v = 0; v < WR_BILL_VALUES; v++) wr_free(s->in[i].values[v]);
    }
    wr_sbuf_free(&s->scratch);
    wr_free(s);
}

wr_status wr_job_sample(const wr_job_plan *plan, const wr_run_opts *opts, int64_t for_us, wr_arena *arena, wr_bill_facts **out, wr_err *err) {
    sample *s = wr_calloc(1, sizeof *s);
    s->arena = arena;
    s->world = opts->world;
    s->tz = plan->tz;
    prepare(s, plan);
    wr_probe    probe = {.arg = s, .rows = on_rows, .watermark = on_watermark};
    wr_run_opts mine = {.world = opts->world, .acct = opts->acct, .diags = opts->diags, .n_workers = WORKERS, .n_key_groups = opts->n_key_groups,
                        .batch_rows = opts->batch_rows, .force_bounded = opts->force_bounded, .force_tail = opts->force_tail, .probe = &probe, .redirect = true,
                        .result = wr_connector_find(WR_STR("blackhole")), .tick = on_tick,
                        .tick_arg = s, .end_when_idle_us = opts->end_when_idle_us};
    wr_bill_facts *f = wr_new(arena, wr_bill_facts);
    f->from = "sample";
    f->error = HLL_ERROR;
    f->in = wr_new_n(arena, wr_input_facts, plan->nodes.n * 2 + 2);
    f->source_rows = wr_new_n(arena, double, plan->nodes.n + 1);
    f->source_bytes = wr_new_n(arena, double, plan->nodes.n + 1);
    f->source_rate = wr_new_n(arena, double, plan->nodes.n + 1);
    f->copies = wr_new_n(arena, double, plan->nodes.n + 1);
    wr_job   *job = NULL;
    wr_status status = wr_job_new(plan, &mine, &job, err);
    if (status == WR_OK) {
        s->until_us = wr_mono_us(s->world) + for_us;
        status = wr_job_run(job, err);
        wr_job_status st;
        wr_job_status_get(job, &st);
        finish(s, plan, &st, f);
        wr_arena_free(st.arena);
        wr_job_free(job);
        if ((status == WR_DATA || status == WR_LIMIT) && err->message[0]) { /* what was read so far still tells something */
            snprintf(f->note, sizeof f->note, "the sample ended early: %.120s", err->message);
            memset(err, 0, sizeof *err);
            status = WR_OK;
        }
    }
    sample_free(s, plan->nodes.n);
    *out = f;
    return status;
}
