/* observe/observer.c: figures over time: a ring of samples for each operator, and the last statuses as they were. See observe.h.             */
#include "observe/observe.h"

struct wr_observer {
    const wr_job_plan *plan;
    uint32_t      n_nodes, n, newest;     /* samples kept; index of the newest */
    int64_t       at_us[WR_OBSERVE_SAMPLES];
    wr_observed  *samples;                /* [sample * n_nodes + node] */
    uint32_t      n_frames, last;         /* likewise */
    wr_job_status frames[WR_OBSERVE_FRAMES];
    int64_t       frame_us[WR_OBSERVE_FRAMES];
    bool          known;                  /* the window is long enough */
    wr_op_figures *figures;               /* by node, of the window */
    struct latencies { uint32_t n; int64_t at_us; wr_hist now, at[WR_OBSERVE_LATENCIES]; } **latencies; /* by node, NULL: no sink; at: a ring, n: how often it was written */
};

static void work_out(wr_observer *o);

wr_observer *wr_observer_new(const wr_job_plan *plan) {
    wr_observer *o = wr_calloc(1, sizeof *o);
    o->plan = plan;
    o->n_nodes = plan->nodes.n;
    o->samples = wr_calloc((size_t)WR_OBSERVE_SAMPLES * (o->n_nodes + 1), sizeof *o->samples);
    o->latencies = wr_calloc(o->n_nodes + 1, sizeof *o->latencies);
    for (uint32_t i = 0; i < o->n_nodes; i++)
        if (plan->nodes.at[i]->kind == WR_P_SINK || plan->nodes.at[i]->kind == WR_P_VIEW) o->latencies[i] = wr_calloc(1, sizeof **o->latencies);
    o->figures = wr_calloc(o->n_nodes + 1, sizeof *o->figures);
    return o;
}

void wr_observer_free(wr_observer *o) {
    if (!o) return;
    for (uint32_t i = 0; i < o->n_nodes; i++) wr_free(o->latencies[i]);
    wr_free(o->latencies);
    for (uint32_t i = 0; i < o->n_frames; i++) wr_arena_free(o->frames[i].arena);
    wr_free(o->samples);
    wr_free(o->figures);
    wr_free(o);
}

bool wr_observer_due(const wr_observer *o, int64_t now_us) { return !o->n || now_us - o->at_us[o->newest] >= WR_OBSERVE_EVERY_US; }

/* A histogram only grows: the last minute is what it is now without what it was then. */
static void see_latency(struct latencies *l, const wr_hist *now, int64_t now_us) {
    enum { EVERY_US = 10000000 };
    if (!l || !now) return;
    l->now = *now;
    if (l->n && now_us - l->at_us < EVERY_US) return;
    if (l->n) l->at[l->n % WR_OBSERVE_LATENCIES] = *now; /* the first of the ring is what a run begins with: nothing */
    l->n++;
    l->at_us = now_us;
}

bool wr_observer_latency(const wr_observer *o, uint32_t node, wr_hist *out) {
    const struct latencies *l = o && node < o->n_nodes ? o->latencies[node] : NULL;
    if (!l) return false;
    wr_hist_since(&l->now, &l->at[l->n < WR_OBSERVE_LATENCIES ? 0 : l->n % WR_OBSERVE_LATENCIES], out);
    return out->n > 0;
}

static void keep_frame(wr_observer *o, wr_job_status *s, int64_t now_us) {
    o->last = o->n_frames ? (o->last + 1) % WR_OBSERVE_FRAMES : 0;
    if (o->n_frames == WR_OBSERVE_FRAMES) wr_arena_free(o->frames[o->last].arena);
    else o->n_frames++;
    o->frames[o->last] = *s;
    o->frame_us[o->last] = now_us;
}

void wr_observer_see(wr_observer *o, wr_job_status *s, int64_t now_us) {
    o->newest = o->n ? (o->newest + 1) % WR_OBSERVE_SAMPLES : 0;
    o->n = WR_MIN(o->n + 1, (uint32_t)WR_OBSERVE_SAMPLES);
    o->at_us[o->newest] = now_us;
    for (uint32_t i = 0; i < o->n_nodes && i < s->n_nodes; i++) {
        const wr_node_status *n = &s->nodes[i];
        o->samples[(size_t)o->newest * o->n_nodes + i] = (wr_observed){n->ledger.in[0] + n->ledger.in[1], n->ledger.out, n->steps, n->blocked_steps, n->account_bytes, n->watermark_us};
        see_latency(o->latencies[i], n->latency, now_us);
    }
    keep_frame(o, s, now_us);
    work_out(o);
}

int64_t wr_observer_span(const wr_observer *o, uint32_t node, int64_t span_us, wr_observed *before, wr_observed *now) {
    if (!o || o->n < 2 || node >= o->n_nodes) return 0;
    uint32_t back = 1;
    while (back + 1 < o->n && o->at_us[o->newest] - o->at_us[(o->newest + WR_OBSERVE_SAMPLES - back) % WR_OBSERVE_SAMPLES] < span_us) back++;
    uint32_t from = (o->newest + WR_OBSERVE_SAMPLES - back) % WR_OBSERVE_SAMPLES;
    *before = o->samples[(size_t)from * o->n_nodes + node];
    *now = o->samples[(size_t)o->newest * o->n_nodes + node];
    return o->at_us[o->newest] - o->at_us[from];
}

/* ---- the window ---- */
const wr_job_status *wr_observer_last(const wr_observer *o) { return o && o->n_frames ? &o->frames[o->last] : NULL; }

bool wr_observer_window(const wr_observer *o, const wr_job_status **before, const wr_job_status **now) {
    if (!o || o->n_frames < 2) return false;
    uint32_t first = (o->last + WR_OBSERVE_FRAMES - (o->n_frames - 1)) % WR_OBSERVE_FRAMES;
    *before = &o->frames[first], *now = &o->frames[o->last];
    return o->frame_us[o->last] - o->frame_us[first] >= WR_OBSERVE_SPAN_MIN_US;
}

static const wr_pinput *inputs_of(const wr_pnode *p, uint32_t *n) {
    *n = p->kind == WR_P_UNION ? p->n_union : p->n_inputs;
    return p->kind == WR_P_UNION ? p->union_inputs : p->inputs;
}

/* Chained operators wait when the head of their chain does. */
static const wr_node_status *head_of(const wr_job_status *s, const wr_node_status *n) {
    for (uint32_t n_in; n->chained;) {
        const wr_pinput *in = inputs_of(n->node, &n_in);
        if (!n_in) break;
        n = &s->nodes[in[0].node->index];
    }
    return n;
}

static double share_of(const wr_node_status *a, const wr_node_status *b, uint32_t worker, uint32_t what, double span_ns) {
    uint64_t was = a->on[worker].spent_ns[what], is = b->on[worker].spent_ns[what];
    return is > was ? WR_MIN((double)(is - was) / span_ns, 1.0) : 0;
}

static void times(const wr_job_status *a, const wr_job_status *b, uint32_t node, double span_ns, wr_op_figures *out) {
    const wr_node_status *n = &b->nodes[node], *head = head_of(b, n);
    double                rows_wait = WR_MIN(out->fill * 2, 1.0); /* whoever waits for its other end while nothing waits for it holds nobody up */
    for (uint32_t k = 0; k < b->n_workers; k++) {
        if (!(n->lives >> k & 1)) continue;
        double load = 0, busy = 0;
        for (uint32_t i = 0; i < WR_WAIT_INPUT; i++) {
            double share = share_of(&a->nodes[node], n, k, i, span_ns);
            load += i < WR_SPENT_BUSY ? share : share * rows_wait, busy += i < WR_SPENT_BUSY ? share : 0;
        }
        load = WR_MIN(load, 1.0), busy = WR_MIN(busy, 1.0);
        out->n_instances++;
        out->load_all += load;
        if (load >= out->load) out->load_second = out->load, out->load = load, out->busy = busy, out->worker = k;
        else out->load_second = WR_MAX(out->load_second, load);
    }
    for (uint32_t i = 0; i < WR_SPENT_COUNT; i++) {
        const wr_node_status *of = i < WR_WAIT_INPUT ? n : head;
        out->share[i] = share_of(&a->nodes[of->node->index], of, out->worker, i, span_ns);
    }
}

/* The watermark, the source that holds it, and how long rows take in queues: inputs have theirs already. Of an operator that is chained no watermark is
 * kept: it has its input's. */
static void follow(const wr_observer *o, const wr_job_status *s, const wr_node_status *n, wr_op_figures *out) {
    uint32_t         n_in;
    const wr_pinput *in = inputs_of(n->node, &n_in);
    bool             own = !n_in || (n->node->kind != WR_P_SINK && n->node->kind != WR_P_VIEW && !(n->chained && n->watermark_us == WR_TIME_MIN));
    int64_t          least = WR_TIME_MAX, most = -1;
    for (uint32_t i = 0; i < n_in; i++) {
        const wr_op_figures *f = &o->figures[in[i].node->index];
        most = WR_MAX(most, f->lag_us);
        if (f->watermark_us > least || (f->watermark_us == least && out->holder)) continue;
        least = f->watermark_us;
        out->holder = f->holder;
    }
    for (uint32_t i = 0; !n_in && i < s->n_sources; i++)
        if (s->sources[i].node == n->node && n->node->kind == WR_P_SOURCE && n->node->source.watermark && !s->sources[i].ended) out->holder = &s->sources[i];
    out->watermark_us = own ? n->watermark_us : least;
    double queued = n->queued_bytes ? WR_MIN((double)n->queued_bytes * 1e6 / WR_MAX(out->taken_bytes_per_s, 1.0), 3600e6) : 0;
    out->lag_us = WR_MAX(most, (int64_t)0) + (int64_t)queued;
    if (out->watermark_us != WR_TIME_MIN && out->watermark_us != WR_TIME_MAX) out->event_lag_us = WR_MAX(s->wall_us - out->watermark_us, (int64_t)0);
}

static void work_out(wr_observer *o) {
    const wr_job_status *a, *b;
    o->known = wr_observer_window(o, &a, &b) && b->cost_ns > a->cost_ns;
    if (!o->known) return;
    double span_ns = (double)(b->cost_ns - a->cost_ns), per_s = 1e9 / span_ns;
    for (uint32_t k = 0; k < b->n_nodes; k++) {
        wr_op_figures   *f = &o->figures[k];
        const wr_ledger *was = &a->nodes[k].ledger, *is = &b->nodes[k].ledger;
        *f = (wr_op_figures){.watermark_us = WR_TIME_MIN, .event_lag_us = -1, .lag_us = -1};
        for (uint32_t i = 0; i < o->n_frames; i++) f->fill += o->frames[i].nodes[head_of(b, &b->nodes[k])->node->index].queue_fill / o->n_frames;
        times(a, b, k, span_ns, f);
        for (int i = 0; i < 2; i++) f->in_per_s[i] = (double)(is->in[i] - was->in[i]) * per_s;
        for (int i = 0; i < WR_REASON_COUNT; i++) f->dropped_per_s[i] = (double)(is->dropped[i] - was->dropped[i]) * per_s;
        f->out_per_s = (double)(is->out - was->out) * per_s;
        f->taken_bytes_per_s = (double)(b->nodes[k].taken_bytes - a->nodes[k].taken_bytes) * per_s;
        follow(o, b, &b->nodes[k], f);
    }
}

const wr_op_figures *wr_observer_figures(const wr_observer *o, uint32_t node) { return o && o->known && node < o->n_nodes ? &o->figures[node] : NULL; }
