/* observe/observer.c: figures over time: a ring of samples for each operator. See observe.h.                                        */
#include "observe/observe.h"

struct wr_observer {
    const wr_job_plan *plan;
    uint32_t     n_nodes, n, newest;     /* samples kept; index of the newest */
    int64_t      at_us[WR_OBSERVE_SAMPLES];
    wr_observed *samples;                /* [sample * n_nodes + node] */
    struct latencies { uint32_t n; int64_t at_us; wr_hist now, at[WR_OBSERVE_LATENCIES]; } **latencies; /* by node, NULL: no sink; at: a ring, n: how often it was written */
};

wr_observer *wr_observer_new(const wr_job_plan *plan) {
    wr_observer *o = wr_calloc(1, sizeof *o);
    o->plan = plan;
    o->n_nodes = plan->nodes.n;
    o->samples = wr_calloc((size_t)WR_OBSERVE_SAMPLES * (o->n_nodes + 1), sizeof *o->samples);
    o->latencies = wr_calloc(o->n_nodes + 1, sizeof *o->latencies);
    for (uint32_t i = 0; i < o->n_nodes; i++)
        if (plan->nodes.at[i]->kind == WR_P_SINK || plan->nodes.at[i]->kind == WR_P_VIEW) o->latencies[i] = wr_calloc(1, sizeof **o->latencies);
    return o;
}

void wr_observer_free(wr_observer *o) {
    if (!o) return;
    for (uint32_t i = 0; i < o->n_nodes; i++) wr_free(o->latencies[i]);
    wr_free(o->latencies);
    wr_free(o->samples);
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

void wr_observer_see(wr_observer *o, const wr_job_status *s, int64_t now_us) {
    o->newest = o->n ? (o->newest + 1) % WR_OBSERVE_SAMPLES : 0;
    o->n = WR_MIN(o->n + 1, (uint32_t)WR_OBSERVE_SAMPLES);
    o->at_us[o->newest] = now_us;
    for (uint32_t i = 0; i < o->n_nodes && i < s->n_nodes; i++) {
        const wr_node_status *n = &s->nodes[i];
        o->samples[(size_t)o->newest * o->n_nodes + i] = (wr_observed){n->ledger.in[0] + n->ledger.in[1], n->ledger.out, n->steps, n->blocked_steps, n->account_bytes, n->watermark_us};
        see_latency(o->latencies[i], n->latency, now_us);
    }
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
