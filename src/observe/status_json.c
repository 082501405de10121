/* observe/status_json.c: a job's status as JSON: what `/api/status` answers and what parts of it the command line prints. See observe.h.
 *
 * Times      _us: microseconds; event times since 1970, null where there is none.                                                  */
#include "observe/observe.h"
#include <inttypes.h>
#include <math.h>

static double per_s(uint64_t n, const wr_job_status *s) { return s->running_us > 0 ? (double)n * 1e6 / (double)s->running_us : 0; }

static void time_json(const char *name, int64_t us, wr_sbuf *out) {
    if (us == WR_TIME_MIN || us == WR_TIME_MAX) wr_sbuf_printf(out, ",\"%s\":null", name);
    else wr_sbuf_printf(out, ",\"%s\":%" PRIi64, name, us);
}

static void bytes_json(const char *name, double bytes, wr_sbuf *out) {
    if (bytes < 0 || !isfinite(bytes)) wr_sbuf_printf(out, ",\"%s\":null", name);
    else wr_sbuf_printf(out, ",\"%s\":%.0f", name, bytes);
}

static void lateness_json(const char *name, const wr_lateness *l, wr_sbuf *out) {
    wr_sbuf_printf(out, ",\"%s\":[", name);
    for (uint32_t i = 0; i < WR_LATENESS_BUCKETS; i++) {
        if (wr_lateness_up_to_us(i) == WR_TIME_MAX) wr_sbuf_addz(out, ",{\"up_to_us\":null");
        else wr_sbuf_printf(out, "%s{\"up_to_us\":%" PRIi64, i ? "," : "", wr_lateness_up_to_us(i));
        wr_sbuf_printf(out, ",\"rows\":%" PRIu64 "}", l->rows[i]);
    }
    wr_sbuf_addc(out, ']');
}

/* Of sources that may leave rows out, or had to turn somebody away. */
static void overload_json(const wr_source_status *q, wr_sbuf *out) {
    if (q->overload.policy == WR_OVERLOAD_WAIT && !q->shed && !q->turned_away) return;
    wr_sbuf_printf(out, ",\"overload\":{\"policy\":\"%s\",\"shedding\":%s,\"shed\":%" PRIu64 ",\"turned_away\":%" PRIu64 "}", wr_overload_policy_name(q->overload.policy),
                   q->shedding ? "true" : "false", q->shed, q->turned_away);
}

void wr_observe_sources_json(const wr_job_status *s, wr_sbuf *out) {
    const char *sep = "";
    wr_sbuf_addc(out, '[');
    for (uint32_t i = 0; i < s->n_sources; i++) {
        const wr_source_status *q = &s->sources[i];
        if (q->node->kind != WR_P_SOURCE) continue;
        wr_sbuf_printf(out, "%s{\"table\":", sep);
        wr_sbuf_add_json(out, q->node->source.table->name);
        wr_sbuf_printf(out, ",\"operator\":\"%s\",\"unit\":\"%s\",\"read\":%" PRIu64 ",\"read_per_s\":%.0f,\"lag\":%" PRIu64 ",\"event_time_lag_us\":%" PRIi64 ",\"what\":", q->node->id,
                       q->messages ? "messages" : "bytes", q->done, per_s(q->done, s), q->behind, q->lag_us);
        wr_sbuf_add_json(out, wr_str_of(q->what));
        wr_sbuf_printf(out, ",\"total\":%" PRIu64 ",\"partitions\":%u,\"partitions_done\":%u,\"ended\":%s,\"waiting\":%s", q->total, q->n_partitions, q->n_partitions_done,
                       q->ended ? "true" : "false", q->waiting ? "true" : "false");
        time_json("watermark_us", q->watermark_us, out);
        time_json("first_us", q->first_us, out);
        time_json("last_us", q->last_us, out);
        overload_json(q, out);
        wr_sbuf_addz(out, ",\"held_by\":");
        wr_sbuf_add_json(out, wr_str_of(q->held_by));
        if (q->node->source.watermark) lateness_json("disorder", &q->disorder, out);
        wr_sbuf_addc(out, '}');
        sep = ",";
    }
    wr_sbuf_addc(out, ']');
}

void wr_observe_budget_json(const wr_budget_status *b, wr_sbuf *out) {
    wr_sbuf_printf(out, "{\"limit_bytes\":%" PRIi64 ",\"process_bytes\":%" PRIi64 ",\"rss_bytes\":%" PRIi64 ",\"level\":\"%s\",\"throttled_us\":%" PRIi64,
                   b->limit_bytes, b->reserve_bytes, b->rss_bytes, wr_budget_level_name(b->level), b->throttled_us);
    if (b->grows) {
        wr_sbuf_printf(out, ",\"grows\":{\"operator\":\"%s\",\"title\":", b->grows->id);
        wr_sbuf_add_json(out, wr_str_of(b->grows->title));
        wr_sbuf_printf(out, ",\"bytes_per_hour\":%.0f},\"reached_in_us\":", b->bytes_per_hour);
        if (b->reach_us >= 0) wr_sbuf_printf(out, "%" PRIi64, b->reach_us);
        else wr_sbuf_addz(out, "null");
    }
    wr_sbuf_addc(out, '}');
}

static void inputs_json(const wr_pnode *p, wr_sbuf *out) {
    static const char *const ways[] = {[WR_X_FORWARD] = "forward", [WR_X_HASH] = "hash", [WR_X_GATHER] = "gather"};
    const wr_pinput *in = p->kind == WR_P_UNION ? p->union_inputs : p->inputs;
    uint32_t         n = p->kind == WR_P_UNION ? p->n_union : p->n_inputs;
    wr_sbuf_addz(out, ",\"inputs\":[");
    for (uint32_t i = 0; i < n; i++) wr_sbuf_printf(out, "%s{\"operator\":\"%s\",\"exchange\":\"%s\"}", i ? "," : "", in[i].node->id, ways[in[i].exchange]);
    wr_sbuf_addc(out, ']');
}

static void percentiles_json(const char *name, const wr_hist *h, wr_sbuf *out) {
    static const struct { const char *name; double q; } points[] = {{"p50_us", 0.5}, {"p90_us", 0.9}, {"p95_us", 0.95}, {"p99_us", 0.99}, {"p999_us", 0.999}, {"max_us", 1}};
    wr_sbuf_printf(out, ",\"%s\":{\"rows\":%" PRIu64, name, h->n);
    for (size_t i = 0; h->n && i < WR_COUNT_OF(points); i++) wr_sbuf_printf(out, ",\"%s\":%" PRIu64, points[i].name, wr_hist_quantile(h, points[i].q));
    wr_sbuf_addc(out, '}');
}

/* Of a sink: since the start, of the last minute, and how far its event time is behind the clock. */
static void latency_json(const wr_job_status *s, const wr_node_status *n, const wr_observer *o, wr_sbuf *out) {
    if (!n->latency) return;
    wr_hist *minute = wr_malloc(sizeof *minute);
    percentiles_json("latency", n->latency, out);
    if (wr_observer_latency(o, n->node->index, minute)) percentiles_json("latency_minute", minute, out);
    wr_free(minute);
    if (n->watermark_us != WR_TIME_MIN && n->watermark_us != WR_TIME_MAX) wr_sbuf_printf(out, ",\"event_time_lag_us\":%" PRIi64, s->wall_us - n->watermark_us);
    else wr_sbuf_addz(out, ",\"event_time_lag_us\":null");
}

static void figures_json(const wr_op_figures *f, const wr_node_status *n, wr_sbuf *out) {
    wr_sbuf_printf(out, ",\"instances\":%u,\"chained\":%s,\"queued_bytes\":%" PRIu64 ",\"queue_fill\":%.3f", (unsigned)__builtin_popcountll(n->lives), n->chained ? "true" : "false", n->queued_bytes,
                   n->queue_fill);
    if (!f) return;
    wr_sbuf_printf(out, ",\"load\":%.3f,\"busy\":%.3f,\"busiest_worker\":%u,\"load_all\":%.3f,\"time\":{", f->load, f->busy, f->worker, f->load_all);
    for (int i = 0; i < WR_SPENT_COUNT; i++) wr_sbuf_printf(out, "%s\"%s\":%.3f", i ? "," : "", wr_spent_name((wr_spent)i), f->share[i]);
    wr_sbuf_printf(out, "},\"lag_us\":%" PRIi64 "", f->lag_us);
    if (!n->latency && f->event_lag_us >= 0) wr_sbuf_printf(out, ",\"event_time_lag_us\":%" PRIi64, f->event_lag_us);
    else if (!n->latency) wr_sbuf_addz(out, ",\"event_time_lag_us\":null"); /* of sinks latency_json has said it */
    if (!f->holder) return;
    wr_sbuf_addz(out, ",\"watermark_held_by\":{\"table\":");
    wr_sbuf_add_json(out, f->holder->node->source.table->name);
    wr_sbuf_printf(out, ",\"operator\":\"%s\",\"partition\":", f->holder->node->id);
    wr_sbuf_add_json(out, wr_str_of(f->holder->held_by));
    wr_sbuf_addc(out, '}');
}

static void operator_json(const wr_job_status *s, const wr_node_status *n, const wr_observer *o, wr_sbuf *out) {
    enum { RATE_SPAN_US = 5000000 };
    static const char *const bounds[] = {"stateless", "keys", "time", "input", "nothing"};
    wr_observed a, b;
    int64_t     span = wr_observer_span(o, n->node->index, RATE_SPAN_US, &a, &b);
    wr_job_ledger_node_json(s, n, out);
    out->len--; /* its closing brace: more follows */
    inputs_json(n->node, out);
    time_json("watermark_us", n->watermark_us, out);
    wr_sbuf_printf(out, ",\"account_bytes\":%" PRIi64 ",\"bound\":\"%s\"", n->account_bytes, bounds[n->node->bill.bound]);
    bytes_json("predicted_bytes", wr_bill_bytes(n->node, (double)s->running_us), out);
    bytes_json("predicted_steady_bytes", wr_bill_steady(n->node), out);
    latency_json(s, n, o, out);
    if (span > 0) {
        wr_sbuf_printf(out, ",\"in_per_s\":%.1f,\"out_per_s\":%.1f,\"state_bytes_per_s\":%.1f", (double)(b.in - a.in) * 1e6 / (double)span, (double)(b.out - a.out) * 1e6 / (double)span,
                       (double)(b.state_bytes - a.state_bytes) * 1e6 / (double)span);
    }
    figures_json(wr_observer_figures(o, n->node->index), n, out);
    wr_sbuf_addc(out, '}');
}

void wr_observe_status_json(const wr_job_plan *plan, const wr_job_status *s, const wr_observer *o, wr_sbuf *out) {
    wr_sbuf_addz(out, "{\"job\":");
    wr_sbuf_add_json(out, plan->name);
    wr_sbuf_printf(out, ",\"workers\":%u,\"running_us\":%" PRIi64 ",\"rows_in\":%" PRIu64 ",\"rows_out\":%" PRIu64 ",\"finished\":%s,\"memory_bytes\":%" PRIi64 ",\"memory_peak_bytes\":%" PRIi64
                   ",\"memory_limit_bytes\":%" PRIi64 ",\"queue_bytes\":%" PRIi64 ",\"operators\":[", s->n_workers, s->running_us, s->rows_in, s->rows_out, s->finished ? "true" : "false",
                   s->memory_bytes, s->memory_peak_bytes, s->memory_limit_bytes, s->queue_bytes);
    for (uint32_t i = 0; i < s->n_nodes; i++) {
        if (i) wr_sbuf_addc(out, ',');
        operator_json(s, &s->nodes[i], o, out);
    }
    wr_sbuf_addz(out, "],\"sources\":");
    wr_observe_sources_json(s, out);
    wr_sbuf_addz(out, ",\"budget\":");
    wr_observe_budget_json(&s->budget, out);
    wr_sbuf_printf(out, ",\"checkpoint_epoch\":%" PRIu64 ",\"restored_epoch\":%" PRIu64 ",\"checkpoints_failed\":%" PRIu64 ",\"checkpoint_error\":", s->checkpoint_epoch, s->restored_epoch,
                   s->checkpoints_failed);
    wr_sbuf_add_json(out, wr_str_of(s->checkpoint_error));
    wr_sbuf_addz(out, ",\"checkpoints\":");
    wr_job_checkpoints_json(s, out);
    wr_sbuf_addz(out, ",\"hot_keys\":[");
    for (uint32_t i = 0; i < s->n_hot; i++) wr_sbuf_addz(out, i ? "," : ""), wr_hot_key_json(&s->hot[i], out);
    wr_sbuf_addz(out, "],\"exchanges\":");
    wr_exchanges_json(s, out);
    wr_sbuf_addc(out, '}');
}
