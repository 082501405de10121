/* plan/bill_watch.c: what a sample must count at the inputs of a stateful operator; the memory of a job beside its state; price files.
 *
 * Idea       the bill knows what each operator keys by, keeps and for how long, so it says what to count; run/sample.c counts.
 * Thread     any.                                                                                                            */
#include "plan/logical.h"
#include <stdio.h>
#include <stdlib.h>

/* ---- what to count ---- */

static void watch_keys(wr_bill_watch *w, const uint32_t *keys, uint32_t n) { w->keys = keys, w->n_keys = n; }

static void watch_values(wr_bill_watch *w, const wr_agg *aggs, uint32_t n, bool retract) {
    w->n_values = WR_MIN(n, (uint32_t)WR_BILL_VALUES);
    for (uint32_t i = 0; i < w->n_values; i++) {
        double fixed, each;
        wr_agg_bytes(&aggs[i], 1, retract, &fixed, &each);
        w->value_cols[i] = each > 0 ? aggs[i].arg : -1;
        w->value_filters[i] = aggs[i].filter;
    }
}

/* Rows and keys that go when the watermark has passed their time by keep_us. */
static void watch_time(wr_bill_watch *w, int32_t time_col, int64_t keep_us, int64_t span_us) {
    enum { STEPS = 16, STEP_MIN_US = 50000 };
    w->time_col = time_col;
    w->keep_us = keep_us;
    w->pane_us = WR_MAX(span_us / STEPS, (int64_t)STEP_MIN_US);
    w->pane_shift_us = keep_us;
    w->merge = true;
}

static void watch_window(const wr_pnode *n, wr_bill_watch *w) {
    const wr_window_agg_opts *o = &n->window_agg;
    const wr_window *win = &o->window;
    watch_keys(w, o->keys, o->n_keys);
    watch_values(w, o->aggs, o->n_aggs, o->retract_input);
    if (o->input_is_windowed) {
        w->pane_col = o->in_end;
        w->pane_us = 1;
        w->time_col = o->in_end;
        return;
    }
    w->time_col = (int32_t)win->time_col;
    switch (win->kind) {
    case WR_WINDOW_TUMBLE: w->pane_us = win->size_us; break;
    case WR_WINDOW_HOP: w->pane_us = win->slide_us, w->pane_keep_us = WR_MAX(win->size_us - win->slide_us, (int64_t)0); break;
    case WR_WINDOW_CUMULATE: w->pane_us = win->slide_us; break;
    case WR_WINDOW_SESSION: watch_time(w, (int32_t)win->time_col, win->size_us, win->size_us); break;
    }
}

static void watch_top_n(const wr_pnode *n, wr_bill_watch *w) {
    const wr_top_n_opts *o = &n->top_n;
    watch_keys(w, o->keys, o->n_keys);
    w->order = o->order, w->n_order = o->n_order;
    if (o->window_end < 0) return;
    w->pane_col = w->time_col = o->window_end;
    w->pane_us = 1;
}

static void watch_ttl(wr_bill_watch *w, int64_t ttl_us, bool event_time) {
    if (ttl_us > 0 && event_time) watch_time(w, -1, ttl_us, ttl_us), w->by_watermark = true;
    w->keep_us = -1;
}

bool wr_bill_watch_of(const wr_pnode *n, uint32_t input, wr_bill_watch *w) {
    if (n->bill.bound == WR_BOUND_STATELESS || input >= n->n_inputs) return false;
    const wr_pnode *in = n->inputs[input].node;
    *w = (wr_bill_watch){.time_col = in->rowtime, .keep_us = -1, .pane_col = -1, .n_upsert = in->n_upsert_key, .upsert = in->upsert_key};
    if (in->changes == WR_CHANGES_APPEND) w->n_upsert = 0;
    const wr_join_keys *k = NULL;
    switch (n->kind) {
    case WR_P_GROUP_AGG:
        watch_keys(w, n->group_agg.keys, n->group_agg.n_keys);
        watch_values(w, n->group_agg.aggs, n->group_agg.n_aggs, n->group_agg.retract_input);
        watch_ttl(w, n->group_agg.ttl_us, n->group_agg.ttl_event_time);
        break;
    case WR_P_WINDOW_AGG: watch_window(n, w); break;
    case WR_P_INTERVAL_JOIN: {
        int64_t upper = WR_MAX(n->interval_join.upper_us, (int64_t)0), lower = WR_MAX(-n->interval_join.lower_us, (int64_t)0);
        k = &n->interval_join.keys;
        watch_time(w, (int32_t)(input ? n->interval_join.right_time : n->interval_join.left_time), input ? lower : upper, WR_MAX(upper, lower));
        break;
    }
    case WR_P_TEMPORAL_JOIN:
        k = &n->temporal_join.keys;
        w->time_col = (int32_t)(input ? n->temporal_join.right_time : n->temporal_join.left_time);
        w->keep_us = 0;
        break;
    case WR_P_JOIN: k = &n->join.keys; break;
    case WR_P_KEEP: watch_keys(w, n->keep.keys, n->keep.n_keys); break;
    case WR_P_LOOKUP_JOIN: k = &n->lookup.opts.keys; break;
    case WR_P_WINDOW_JOIN:
        k = &n->window_join.keys;
        w->pane_col = w->time_col = (int32_t)(input ? n->window_join.right_end : n->window_join.left_end);
        w->pane_us = 1;
        w->keep_us = 0;
        break;
    case WR_P_TOP_N: watch_top_n(n, w); break;
    case WR_P_DEDUP:
        watch_keys(w, n->dedup.keys, n->dedup.n_keys);
        watch_ttl(w, n->dedup.ttl_us, n->dedup.ttl_event_time);
        if (!n->dedup.keep_last && n->dedup.time_col >= 0) w->keep_us = 0, w->time_col = n->dedup.time_col;
        break;
    case WR_P_VIEW:
        watch_keys(w, n->view.key, n->view.n_key);
        if (n->view.time_col >= 0) watch_time(w, n->view.time_col, n->view.retention_us, n->view.retention_us);
        break;
    case WR_P_NORMALIZE: watch_keys(w, n->normalize.keys, n->normalize.n_keys); break;
    case WR_P_MATCH:
        watch_keys(w, n->match.keys, n->match.n_keys);
        if (n->match.within_us) watch_time(w, (int32_t)n->match.time_col, n->match.within_us, n->match.within_us);
        else w->keep_us = 0, w->time_col = (int32_t)n->match.time_col;
        break;
    case WR_P_ASSIGN: { /* distinct orders and couriers: the id is behind the partition's columns */
        const wr_assign_side *s = &n->assign.side[input];
        int64_t               keep = input ? n->assign.timeout_us : n->assign.max_wait_us;
        watch_keys(w, s->keys, n->assign.n_keys + 1);
        watch_time(w, (int32_t)s->time, keep, keep);
        w->held = true;
        break;
    }
    case WR_P_TIME_SORT: w->keep_us = 0, w->time_col = (int32_t)n->time_sort.time_col; break;
    default: return false;
    }
    if (k) watch_keys(w, input ? k->right : k->left, k->n);
    return true;
}

/* ---- memory beside the state ---- */

/* Measured on small jobs (bench/bill): what is touched before anything is remembered. Two turns a worker are decoded at a time, whatever the number of sources. */
enum { JOB_BYTES = 256 << 10, TURNS_BYTES = 640 << 10, SOURCE_BYTES = 96 << 10, STATEFUL_BYTES = 140 << 10, STATELESS_BYTES = 16 << 10, EXCHANGE_BYTES = 1200 << 10,
       SINK_BYTES = 48 << 10, FILE_SINK_BYTES = 1200 << 10, DATABASE_SINK_BYTES = 2 << 20, SESSION_QUEUE_BYTES = 16 << 20 };

static double node_base(const wr_pnode *n) {
    switch (n->kind) {
    case WR_P_SOURCE: return SOURCE_BYTES;
    case WR_P_SINK:
        if (!n->sink.table) return SINK_BYTES;
        if (wr_str_eq(n->sink.table->connector, WR_STR("filesystem"))) return FILE_SINK_BYTES;
        return wr_str_eq(n->sink.table->connector, WR_STR("sqlite")) ? DATABASE_SINK_BYTES : SINK_BYTES;
    case WR_P_WINDOW_AGG: /* sessions leave one by one, each a batch: what comes behind is filled to its bound */
        return n->window_agg.window.kind == WR_WINDOW_SESSION && !n->window_agg.input_is_windowed ? SESSION_QUEUE_BYTES : STATEFUL_BYTES;
    default: return n->bill.bound == WR_BOUND_STATELESS ? STATELESS_BYTES : STATEFUL_BYTES;
    }
}

double wr_bill_base_bytes(const wr_job_plan *job, double workers) {
    double sum = JOB_BYTES + TURNS_BYTES * workers;
    for (uint32_t i = 0; i < job->nodes.n; i++) {
        const wr_pnode *n = job->nodes.at[i];
        sum += node_base(n) * (n->single || n->kind == WR_P_SINK ? 1 : workers);
        for (uint32_t k = 0; k < n->n_inputs; k++)
            if (n->inputs[k].exchange == WR_X_HASH && workers > 1) sum += EXCHANGE_BYTES * workers;
    }
    return sum;
}

double wr_bill_process_bytes(const wr_job_plan *job, double workers) {
    double sum = wr_bill_base_bytes(job, workers);
    for (uint32_t i = 0; i < job->nodes.n; i++)
        for (uint32_t k = 0; k < job->nodes.at[i]->bill.n_parts; k++) {
            const wr_bill_part *p = &job->nodes.at[i]->bill.parts[k];
            sum += WR_MAX(pl_units(&p->units, 0), 0.0) * (p->bytes_now > 0 ? p->bytes_now : p->bytes) * (1 + p->slack);
        }
    return sum;
}

/* ---- prices ---- */

static bool number(wr_str text, double *out) {
    char   room[64], *end;
    if (!text.len || text.len >= sizeof room) return false;
    memcpy(room, text.ptr, text.len), room[text.len] = 0;
    *out = strtod(room, &end);
    return *end == 0 && *out >= 0 && *out < 1e15;
}

bool wr_prices_parse(wr_str text, wr_prices *out, uint32_t *line, const char **why) {
    *out = (wr_prices){.checkpoints_kept = 2, .log_hours = 72, .cross_zone_share = 2.0 / 3, .currency = "USD"};
    const struct { const char *key; double *to; } keys[] = {
        {"memory.gib-month", &out->memory}, {"disk.gib-month", &out->disk}, {"log.gib-month", &out->log}, {"object.gib-month", &out->object}, {"cross-zone.gib", &out->cross_zone},
        {"checkpoints.kept", &out->checkpoints_kept}, {"log.hours", &out->log_hours}, {"cross-zone.share", &out->cross_zone_share},
    };
    *line = 0;
    for (size_t at = 0; at < text.len;) {
        size_t end = at;
        while (end < text.len && text.ptr[end] != '\n') end++;
        wr_str row = {text.ptr + at, end - at};
        at = end + 1;
        ++*line;
        const char *hash = memchr(row.ptr, '#', row.len);
        if (hash) row.len = (size_t)(hash - row.ptr);
        row = wr_str_trim(row);
        if (!row.len) continue;
        const char *eq = memchr(row.ptr, '=', row.len);
        *why = "expected 'name = number'";
        if (!eq) return false;
        wr_str key = wr_str_trim((wr_str){row.ptr, (size_t)(eq - row.ptr)}), value = wr_str_trim((wr_str){eq + 1, row.len - (size_t)(eq + 1 - row.ptr)});
        if (wr_str_eq(key, WR_STR("currency"))) {
            *why = "a currency has at most 15 characters";
            if (!value.len || value.len >= sizeof out->currency) return false;
            memcpy(out->currency, value.ptr, value.len), out->currency[value.len] = 0;
            continue;
        }
        double *to = NULL;
        for (size_t i = 0; i < WR_COUNT_OF(keys); i++)
            if (wr_str_eq(key, wr_str_of(keys[i].key))) to = keys[i].to;
        *why = "there is no such price: memory.gib-month, disk.gib-month, log.gib-month, object.gib-month, cross-zone.gib, checkpoints.kept, log.hours, cross-zone.share, currency";
        if (!to) return false;
        *why = "expected a number that is not negative";
        if (!number(value, to)) return false;
    }
    return true;
}
