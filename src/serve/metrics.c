/* serve/metrics.c: /metrics: a job's figures in Prometheus' text form, or OpenMetrics for who asks for that.
 *
 * Idea       one table of families (METRICS), each with a function that writes its samples; the table is also what docs/monitoring.md lists. Names, labels and
 *            meanings stay: dashboards and alerts are built on them.
 * Labels     every sample but weir_build_info has job="NAME". Values are escaped. Their number is bounded by the plan's operators, reasons and sources.
 * Thread     the server's, with the lock of the job.                                                                              */
#include "serve/internal.h"
#include <inttypes.h>
#include <math.h>
#include "weir.h"

typedef struct page {
    wr_serve            *serve;
    const wr_job_status *s;        /* NULL: no job runs */
    wr_str               job;
    wr_sbuf             *out;
    const wr_metric     *metric;   /* being written */
    bool                 first;    /* no label yet */
} page;
typedef struct family { wr_metric m; void (*emit)(page *p); } family;

/* ---- one sample ---- */
static void escaped(wr_sbuf *out, wr_str text) {
    for (size_t i = 0; i < text.len; i++) {
        char c = text.ptr[i];
        if (c == '\\' || c == '"') wr_sbuf_addc(out, '\\'), wr_sbuf_addc(out, c);
        else if (c == '\n') wr_sbuf_addz(out, "\\n");
        else wr_sbuf_addc(out, c);
    }
}

static void label(page *p, const char *name, wr_str value) {
    wr_sbuf_printf(p->out, "%s%s=\"", p->first ? "{" : ",", name);
    p->first = false;
    escaped(p->out, wr_utf8_valid(value) ? value : WR_STR("?"));
    wr_sbuf_addc(p->out, '"');
}

static void begin(page *p, const char *suffix) {
    wr_sbuf_printf(p->out, "%s%s", p->metric->name, suffix);
    p->first = true;
    if (p->job.ptr) label(p, "job", p->job);
}

static void end(page *p, double value) {
    if (!p->first) wr_sbuf_addc(p->out, '}');
    if (isinf(value)) wr_sbuf_addz(p->out, value < 0 ? " -Inf\n" : " +Inf\n");
    else wr_sbuf_printf(p->out, " %.15g\n", value);
}

static void end_count(page *p, uint64_t value) {
    if (!p->first) wr_sbuf_addc(p->out, '}');
    wr_sbuf_printf(p->out, " %" PRIu64 "\n", value);
}

static void plain(page *p, double value) {
    begin(p, "");
    end(p, value);
}

static double seconds(int64_t us) { return (double)us / 1e6; }

static wr_str table_name(const wr_pnode *n) {
    if (n->kind == WR_P_SOURCE) return n->source.table->name;
    if (n->kind == WR_P_VIEW) return n->view.table->name;
    if (n->kind == WR_P_SINK) return n->sink.table ? n->sink.table->name : WR_STR("result");
    return WR_STR("");
}

static void begin_operator(page *p, const wr_pnode *n) {
    begin(p, "");
    label(p, "operator", wr_str_of(n->id));
}

static void begin_counted(page *p, const wr_pnode *n) {
    begin_operator(p, n);
    label(p, "kind", wr_str_of(wr_pnode_kind_name(n->kind)));
}

static void begin_table(page *p, const wr_pnode *n) {
    begin_operator(p, n);
    label(p, "table", table_name(n));
}

#define EACH_NODE(p, n) for (const wr_node_status *n = (p)->s->nodes; n < (p)->s->nodes + (p)->s->n_nodes; n++)
#define EACH_SOURCE(p, q) for (const wr_source_status *q = (p)->s->sources; q < (p)->s->sources + (p)->s->n_sources; q++) if (q->node->kind == WR_P_SOURCE)

/* ---- the job ---- */
static void running(page *p) { plain(p, seconds(p->s->running_us)); }
static void workers(page *p) { plain(p, p->s->n_workers); }
static void finished(page *p) { plain(p, p->s->finished); }

/* ---- operators ---- */
static void operator_info(page *p) {
    EACH_NODE(p, n) {
        begin_counted(p, n->node);
        label(p, "table", table_name(n->node));
        label(p, "title", wr_str_of(n->node->title));
        end(p, 1);
    }
}
static void rows_in(page *p) {
    EACH_NODE(p, n)
        for (uint32_t i = 0; i < (n->node->n_inputs == 2 ? 2 : 1); i++) {
            begin_counted(p, n->node);
            label(p, "input", i ? WR_STR("1") : WR_STR("0"));
            end_count(p, n->ledger.in[i]);
        }
}
static void rows_out(page *p) { EACH_NODE(p, n) begin_counted(p, n->node), end_count(p, n->ledger.out); }
static void rows_dropped(page *p) {
    EACH_NODE(p, n)
        for (int r = 0; r < WR_REASON_COUNT; r++) {
            if (!n->ledger.dropped[r]) continue;
            begin_counted(p, n->node);
            label(p, "reason", wr_str_of(wr_reason_name((wr_reason)r)));
            end_count(p, n->ledger.dropped[r]);
        }
}
static void rows_refused(page *p) {
    EACH_NODE(p, n)
        for (uint32_t i = 0; i < n->n_refused; i++) {
            begin_table(p, n->node);
            label(p, "code", wr_str_of(n->refused[i].code));
            end_count(p, n->refused[i].n);
        }
}
static void ledger_closes(page *p) { EACH_NODE(p, n) begin_operator(p, n->node), end(p, wr_node_closes(p->s, n)); }
static void state_bytes(page *p) { EACH_NODE(p, n) begin_operator(p, n->node), end(p, (double)n->account_bytes); }
static void state_predicted(page *p) {
    EACH_NODE(p, n) {
        double bytes = wr_bill_bytes(n->node, (double)p->s->running_us);
        if (bytes >= 0 && isfinite(bytes)) begin_operator(p, n->node), end(p, bytes);
    }
}
static void state_keys(page *p) { EACH_NODE(p, n) begin_operator(p, n->node), end_count(p, n->usage.keys); }
static void steps(page *p) { EACH_NODE(p, n) begin_operator(p, n->node), end_count(p, n->steps); }
static void blocked_steps(page *p) { EACH_NODE(p, n) begin_operator(p, n->node), end_count(p, n->blocked_steps); }
static bool is_time(int64_t us) { return us != WR_TIME_MIN && us != WR_TIME_MAX; }
static void watermark(page *p) {
    EACH_NODE(p, n)
        if (is_time(n->watermark_us)) begin_operator(p, n->node), end(p, seconds(n->watermark_us));
}
static void hot_keys(page *p) {
    for (uint32_t i = 0; i < p->s->n_hot; i++) {
        const wr_hot_key *h = &p->s->hot[i];
        begin_operator(p, h->node);
        label(p, "input", h->port ? WR_STR("1") : WR_STR("0"));
        label(p, "key", wr_str_of(h->key));
        end(p, h->share);
    }
}

/* ---- sources ---- */
static void begin_source(page *p, const wr_source_status *q) {
    begin_table(p, q->node);
    label(p, "unit", q->messages ? WR_STR("messages") : WR_STR("bytes"));
}
static void source_read(page *p) { EACH_SOURCE(p, q) begin_source(p, q), end_count(p, q->done); }
static void source_lag(page *p) { EACH_SOURCE(p, q) begin_source(p, q), end_count(p, q->behind); }
static void source_time_lag(page *p) {
    EACH_SOURCE(p, q)
        if (is_time(q->watermark_us) && !q->ended) begin_table(p, q->node), end(p, seconds(p->s->wall_us - q->watermark_us));
}
static void source_partitions(page *p) { EACH_SOURCE(p, q) begin_table(p, q->node), end(p, q->n_partitions); }
static void source_waiting(page *p) { EACH_SOURCE(p, q) begin_table(p, q->node), end(p, q->waiting); }
static void source_ended(page *p) { EACH_SOURCE(p, q) begin_table(p, q->node), end(p, q->ended); }

/* ---- sinks ---- */
static void sink_time_lag(page *p) {
    EACH_NODE(p, n)
        if ((n->node->kind == WR_P_SINK || n->node->kind == WR_P_VIEW) && is_time(n->watermark_us)) begin_table(p, n->node), end(p, seconds(p->s->wall_us - n->watermark_us));
}
static void latency(page *p) {
    static const struct { const char *le; uint64_t us; } bounds[] = {{"0.001", 1000}, {"0.0025", 2500}, {"0.005", 5000}, {"0.01", 10000}, {"0.025", 25000}, {"0.05", 50000}, {"0.1", 100000},
        {"0.25", 250000}, {"0.5", 500000}, {"1.0", 1000000}, {"2.5", 2500000}, {"5.0", 5000000}, {"10.0", 10000000}, {"30.0", 30000000}, {"60.0", 60000000}, {"300.0", 300000000}};
    EACH_NODE(p, n) {
        if (!n->latency) continue;
        for (size_t i = 0; i <= WR_COUNT_OF(bounds); i++) {
            bool last = i == WR_COUNT_OF(bounds);
            begin(p, "_bucket");
            label(p, "operator", wr_str_of(n->node->id)), label(p, "table", table_name(n->node));
            label(p, "le", wr_str_of(last ? "+Inf" : bounds[i].le));
            end_count(p, last ? n->latency->n : wr_hist_count_up_to(n->latency, bounds[i].us));
        }
        begin(p, "_sum");
        label(p, "operator", wr_str_of(n->node->id)), label(p, "table", table_name(n->node));
        end(p, (double)n->latency->sum / 1e6);
        begin(p, "_count");
        label(p, "operator", wr_str_of(n->node->id)), label(p, "table", table_name(n->node));
        end_count(p, n->latency->n);
    }
}

/* ---- checkpoints ---- */
static void checkpoint_epoch(page *p) { begin(p, ""), end_count(p, p->s->checkpoint_epoch); }
static void checkpoints(page *p) { begin(p, ""), end_count(p, p->s->checkpoints); }
static void checkpoints_failed(page *p) { begin(p, ""), end_count(p, p->s->checkpoints_failed); }
static const wr_checkpoint_report *last_checkpoint(const page *p) { return p->s->n_history ? &p->s->history[p->s->n_history - 1] : NULL; }
static void checkpoint_time(page *p) {
    const wr_checkpoint_report *r = last_checkpoint(p);
    if (r) plain(p, seconds(r->at_us));
}
static void checkpoint_duration(page *p) {
    const wr_checkpoint_report *r = last_checkpoint(p);
    if (r) plain(p, seconds(r->total_us));
}
static void checkpoint_phases(page *p) {
    const wr_checkpoint_report *r = last_checkpoint(p);
    if (!r) return;
    const struct { const char *name; int64_t us; } parts[] = {{"waiting", r->waiting_us}, {"snapshotting", r->snapshotting_us}, {"writing", r->writing_us}, {"uploading", r->uploading_us}, {"committing", r->committing_us}};
    for (size_t i = 0; i < WR_COUNT_OF(parts); i++) begin(p, ""), label(p, "phase", wr_str_of(parts[i].name)), end(p, seconds(parts[i].us));
}
static void checkpoint_bytes(page *p) {
    const wr_checkpoint_report *r = last_checkpoint(p);
    if (!r) return;
    const struct { const char *name; uint64_t n; } parts[] = {{"new", r->new_bytes}, {"total", r->total_bytes}, {"changed", r->changed_bytes}, {"uploaded", r->uploaded_bytes}, {"in_flight", r->in_flight_bytes}};
    for (size_t i = 0; i < WR_COUNT_OF(parts); i++) begin(p, ""), label(p, "part", wr_str_of(parts[i].name)), end_count(p, parts[i].n);
}

/* ---- memory ---- */
static void memory_used(page *p) { plain(p, (double)p->s->memory_bytes); }
static void memory_peak(page *p) { plain(p, (double)p->s->memory_peak_bytes); }
static void memory_limit(page *p) { plain(p, (double)p->s->memory_limit_bytes); }
static void memory_queues(page *p) { plain(p, (double)p->s->queue_bytes); }
static void resident(page *p) { plain(p, (double)wr_rss_bytes()); }
static void state_all(page *p) {
    double bytes = 0;
    EACH_NODE(p, n) bytes += (double)n->account_bytes;
    plain(p, bytes);
}
static void budget_level(page *p) { plain(p, p->s->budget.level); }
static void budget_throttled(page *p) { plain(p, seconds(p->s->budget.throttled_us)); }
static void budget_reached(page *p) {
    if (p->s->budget.reach_us >= 0) plain(p, seconds(p->s->budget.reach_us));
}

/* ---- promises, alerts, traces ---- */
static void begin_slo(page *p, const wr_slo_state *s) {
    begin_operator(p, s->node);
    label(p, "table", s->table);
    label(p, "slo", wr_str_of(s->target.name));
}
#define EACH_SLO(p, q) for (uint32_t i_ = 0; i_ < wr_slos_count((p)->serve->slos); i_++) for (const wr_slo_state *q = wr_slos_at((p)->serve->slos, i_); q; q = NULL)
static double slo_unit(const wr_slo_state *s, double v) { return s->target.kind == WR_SLO_FRESHNESS || s->target.kind == WR_SLO_LATENCY ? v / 1e6 : v; }
static void slo_value(page *p) {
    EACH_SLO(p, q)
        if (q->known) begin_slo(p, q), end(p, slo_unit(q, q->value));
}
static void slo_limit(page *p) { EACH_SLO(p, q) begin_slo(p, q), end(p, slo_unit(q, q->target.limit)); }
static void slo_kept(page *p) { EACH_SLO(p, q) begin_slo(p, q), end(p, q->kept); }
static void slo_objective(page *p) { EACH_SLO(p, q) begin_slo(p, q), end(p, q->objective); }
static void slo_burn(page *p) {
    EACH_SLO(p, q)
        for (uint32_t w = 0; w < WR_SLO_WINDOWS; w++)
            if (q->burn[w] >= 0) begin_slo(p, q), label(p, "window", wr_str_of(wr_slo_window_names[w])), end(p, q->burn[w]);
}
static void slo_budget(page *p) { EACH_SLO(p, q) begin_slo(p, q), end(p, q->budget_left); }
static void alert_one(void *arg, const char *name, const char *severity, wr_str subject) {
    page *p = arg;
    begin(p, "");
    label(p, "alert", wr_str_of(name)), label(p, "severity", wr_str_of(severity)), label(p, "subject", subject);
    end(p, 1);
}
static void alerts_firing(page *p) { alerts_each(p->serve->alerts, alert_one, p); }
static void posts(page *p, poster *of) {
    poster_status st;
    poster_status_get(of, &st);
    begin(p, ""), label(p, "result", WR_STR("sent")), end_count(p, st.sent);
    begin(p, ""), label(p, "result", WR_STR("failed")), end_count(p, st.failed);
    begin(p, ""), label(p, "result", WR_STR("dropped")), end_count(p, st.dropped);
}
static void notifications(page *p) {
    if (p->serve->webhook) posts(p, p->serve->webhook);
}
static void trace_exports(page *p) {
    if (p->serve->otlp) posts(p, p->serve->otlp);
}

static const family METRICS[] = {
    {{"weir_job_running_seconds", "gauge", "", "since the job began to run"}, running},
    {{"weir_job_workers", "gauge", "", "workers"}, workers},
    {{"weir_job_finished", "gauge", "", "1: the input has ended and everything is written"}, finished},
    {{"weir_operator_info", "gauge", "operator, kind, table, title", "1; what an operator is, for joins by the label operator"}, operator_info},
    {{"weir_rows_in_total", "counter", "operator, kind, input", "rows that came in; of a source records read"}, rows_in},
    {{"weir_rows_out_total", "counter", "operator, kind", "rows that went out; of a sink rows written"}, rows_out},
    {{"weir_rows_dropped_total", "counter", "operator, kind, reason", "rows that ended here, by the ledger's reasons"}, rows_dropped},
    {{"weir_rows_refused_total", "counter", "operator, table, code", "records that a source refused, or rows that a sink's other end did, by error code"}, rows_refused},
    {{"weir_operator_ledger_closes", "gauge", "operator", "1: rows in = rows out + reasons; 0: a fault of weir"}, ledger_closes},
    {{"weir_operator_state_bytes", "gauge", "operator", "memory of its state"}, state_bytes},
    {{"weir_operator_state_predicted_bytes", "gauge", "operator", "what the state bill says for now; absent: it does not know"}, state_predicted},
    {{"weir_operator_state_keys", "gauge", "operator", "keys that it remembers"}, state_keys},
    {{"weir_operator_steps_total", "counter", "operator", "batches that it worked on"}, steps},
    {{"weir_operator_blocked_steps_total", "counter", "operator", "times that it could not go on because what is behind it was full"}, blocked_steps},
    {{"weir_operator_watermark_seconds", "gauge", "operator", "event time that is complete, since 1970; absent: there is none"}, watermark},
    {{"weir_hot_key_share", "gauge", "operator, input, key", "share of the rows that one key has, where that is more than a worker's fair share"}, hot_keys},
    {{"weir_source_read_total", "counter", "operator, table, unit", "read so far: messages, bytes"}, source_read},
    {{"weir_source_lag", "gauge", "operator, table, unit", "there, and not read"}, source_lag},
    {{"weir_source_event_time_lag_seconds", "gauge", "operator, table", "the source's watermark behind the clock"}, source_time_lag},
    {{"weir_source_partitions", "gauge", "operator, table", "partitions, files"}, source_partitions},
    {{"weir_source_waiting", "gauge", "operator, table", "1: there is nothing to read now"}, source_waiting},
    {{"weir_source_ended", "gauge", "operator, table", "1: its input has ended"}, source_ended},
    {{"weir_sink_event_time_lag_seconds", "gauge", "operator, table", "event time that is complete in the table behind the clock"}, sink_time_lag},
    {{"weir_latency_seconds", "histogram", "operator, table", "from reading the input that a row comes from until the row can be seen in the table"}, latency},
    {{"weir_checkpoint_epoch", "gauge", "", "number of the newest checkpoint"}, checkpoint_epoch},
    {{"weir_checkpoint_completed_total", "counter", "", "checkpoints of this run"}, checkpoints},
    {{"weir_checkpoint_failed_total", "counter", "", "attempts to write one that failed"}, checkpoints_failed},
    {{"weir_checkpoint_last_timestamp_seconds", "gauge", "", "when the last one began, since 1970"}, checkpoint_time},
    {{"weir_checkpoint_last_duration_seconds", "gauge", "", "how long the last one took"}, checkpoint_duration},
    {{"weir_checkpoint_last_phase_seconds", "gauge", "phase", "its parts, which add up: waiting, snapshotting, writing, uploading, committing"}, checkpoint_phases},
    {{"weir_checkpoint_last_bytes", "gauge", "part", "its bytes: new, total, changed, uploaded, in_flight"}, checkpoint_bytes},
    {{"weir_state_bytes", "gauge", "", "memory of all operators' state"}, state_all},
    {{"weir_memory_used_bytes", "gauge", "", "of the budget"}, memory_used},
    {{"weir_memory_peak_bytes", "gauge", "", "most so far"}, memory_peak},
    {{"weir_memory_limit_bytes", "gauge", "", "the budget (--memory)"}, memory_limit},
    {{"weir_memory_queue_bytes", "gauge", "", "rows between operators"}, memory_queues},
    {{"weir_process_resident_bytes", "gauge", "", "resident size of the process"}, resident},
    {{"weir_budget_level", "gauge", "", "0: nothing is short; more: the budget is being kept to by spilling, then by reading less"}, budget_level},
    {{"weir_budget_throttled_seconds_total", "counter", "", "time in which sources were held back for lack of memory"}, budget_throttled},
    {{"weir_budget_reached_in_seconds", "gauge", "", "until the budget is reached at the present growth; absent: it is not"}, budget_reached},
    {{"weir_slo_value", "gauge", "operator, table, slo", "the number that is promised, now: seconds, messages or bytes, share; absent: nothing to look at"}, slo_value},
    {{"weir_slo_limit", "gauge", "operator, table, slo", "what is promised of it"}, slo_limit},
    {{"weir_slo_kept", "gauge", "operator, table, slo", "1: the value keeps the promise"}, slo_kept},
    {{"weir_slo_objective", "gauge", "operator, table, slo", "share of the time (completeness: of the rows) that it is to be kept"}, slo_objective},
    {{"weir_slo_burn_rate", "gauge", "operator, table, slo, window", "how fast the error budget is used up; 1: just as fast as it may be"}, slo_burn},
    {{"weir_slo_budget_left", "gauge", "operator, table, slo", "share of the error budget that is left; below 0: overdrawn"}, slo_budget},
    {{"weir_alert_firing", "gauge", "alert, severity, subject", "1 for each alert that is firing"}, alerts_firing},
    {{"weir_alert_notifications_total", "counter", "result", "posts to the webhook: sent, failed, dropped"}, notifications},
    {{"weir_trace_exports_total", "counter", "result", "posts of traces: sent, failed, dropped"}, trace_exports},
};

const wr_metric *wr_serve_metric(size_t i) { return i < WR_COUNT_OF(METRICS) ? &METRICS[i].m : NULL; }

/* ---- the page ---- */
static void head(page *p, bool open) { /* OpenMetrics names a counter without its _total */
    const wr_metric *m = p->metric;
    int              n = (int)strlen(m->name) - (open && !strcmp(m->type, "counter") ? 6 : 0);
    wr_sbuf_printf(p->out, "# HELP %.*s ", n, m->name);
    escaped(p->out, wr_str_of(m->help));
    wr_sbuf_printf(p->out, "\n# TYPE %.*s %s\n", n, m->name, m->type);
}

void serve_metrics(const serve_ask *ask, wr_http_out *out) {
    wr_serve     *s = ask->serve;
    const char   *accept = ask->http ? wr_http_in_header(ask->http, "Accept") : NULL;
    bool          open = accept && strstr(accept, "application/openmetrics-text");
    wr_job_status status;
    out->type = open ? "application/openmetrics-text; version=1.0.0; charset=utf-8" : "text/plain; version=0.0.4; charset=utf-8";
    wr_sbuf_printf(&out->body, "# HELP weir_build_info 1; the version\n# TYPE weir_build_info gauge\nweir_build_info{version=\"%s\"} 1\n", weir_version());
    wr_mutex_lock(s->lock);
    if (s->job) {
        wr_job_status_get(s->job, &status);
        page p = {.serve = s, .s = &status, .job = s->plan->name.len ? s->plan->name : wr_str_of(s->opts.name ? s->opts.name : "job"), .out = &out->body};
        for (size_t i = 0; i < WR_COUNT_OF(METRICS); i++) {
            size_t before = out->body.len;
            p.metric = &METRICS[i].m;
            head(&p, open);
            size_t with = out->body.len;
            METRICS[i].emit(&p);
            if (out->body.len == with) out->body.len = before; /* a family without samples */
        }
        wr_arena_free(status.arena);
    }
    wr_mutex_unlock(s->lock);
    if (open) wr_sbuf_addz(&out->body, "# EOF\n");
}
