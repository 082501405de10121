/* run/meter.c: what the workers' time goes to: one clock read when a worker goes from one thing to another, none for a row.
 *
 * Idea       a worker's time goes into exactly one counter at each moment (meter.slot): an operator's work, a sink's write, a source's next, sleep, or what
 *            lies between. So the counters of a worker add up to the time that passed, and who takes most of it is known without guessing. Beside that each
 *            task's head, and each source, says at the end of its step what it waits for (nothing there, no room, answers, its worker); that
 *            takes no clock read of its own: the worker's last one is near enough.
 * Reports    whoever asks adds what is going on at that moment: an operator that has been inside one write for a minute is seen as just that.
 * Clock      wr_cost_ns: nothing that a job does depends on these figures, and a simulated world stays as it is.
 * Thread     counters are written by their worker and read by anyone: relaxed atomics, and a figure may be one switch old.                      */
#include "run/internal.h"

static uint64_t get(const counter *c) { return atomic_load_explicit((counter *)(uintptr_t)c, memory_order_relaxed); }
static void     set(counter *c, uint64_t v) { atomic_store_explicit(c, v, memory_order_relaxed); }

void meter_start(worker *w) {
    set(&w->meter.since_ns, wr_cost_ns());
    atomic_store_explicit(&w->meter.slot, &w->meter.other_ns, memory_order_relaxed);
    for (uint32_t i = 0; i < w->job->n_nodes; i++) w->nodes[i].waits = WR_SPENT_COUNT; /* chained: when its head does */
    for (uint32_t i = 0; i < w->n_tasks; i++) meter_end(w->tasks[i].head, WR_WAIT_INPUT);
    for (uint32_t i = 0; i < w->job->n_sources; i++) meter_end(&w->nodes[w->job->sources[i].p->index], WR_WAIT_TURN);
}

counter *meter_to(worker *w, counter *slot) {
    meter   *m = &w->meter;
    counter *was = atomic_load_explicit(&m->slot, memory_order_relaxed);
    uint64_t now = wr_cost_ns();
    set(was, get(was) + now - get(&m->since_ns));
    set(&m->since_ns, now);
    atomic_store_explicit(&m->slot, slot, memory_order_relaxed);
    return was;
}

void meter_begin(node *n) {
    uint64_t now = get(&n->w->meter.since_ns), since = get(&n->waits_since_ns);
    wr_spent waits = (wr_spent)atomic_load_explicit(&n->waits, memory_order_relaxed);
    if (waits < WR_SPENT_COUNT && now > since) set(&n->spent_ns[waits], get(&n->spent_ns[waits]) + now - since);
    n->waited = waits;
    atomic_store_explicit(&n->waits, WR_SPENT_COUNT, memory_order_relaxed);
}

void meter_end(node *n, wr_spent waits) {
    set(&n->waits_since_ns, get(&n->w->meter.since_ns));
    atomic_store_explicit(&n->waits, waits, memory_order_relaxed);
}

counter *meter_aside(node *n, wr_spent what) {
    meter_begin(n);
    return meter_to(n->w, &n->spent_ns[what]);
}

void meter_back(node *n, counter *was) {
    meter_to(n->w, was);
    meter_end(n, n->waited);
}

void meter_sleep(worker *w) {
    if (w->n_pending) return; /* a turn that another worker's earlier one is in front of: the source has given, and waits for that */
    for (uint32_t i = 0; i < w->job->n_sources; i++) {
        node *n = &w->nodes[w->job->sources[i].p->index];
        if (atomic_load_explicit(&n->waits, memory_order_relaxed) != WR_WAIT_TURN) continue;
        meter_begin(n);
        meter_end(n, WR_WAIT_INPUT);
    }
}

/* ---- reports ---- */
static uint64_t since(uint64_t now, uint64_t then) { return now > then ? now - then : 0; }

static void instance_status(const node *n, uint64_t now, const counter *slot, uint64_t slot_ns, wr_instance_status *out) {
    uint32_t waits = atomic_load_explicit(&((node *)(uintptr_t)n)->waits, memory_order_relaxed);
    for (uint32_t k = 0; k < WR_SPENT_COUNT; k++) {
        out->spent_ns[k] = get(&n->spent_ns[k]);
        if (slot == &n->spent_ns[k]) out->spent_ns[k] += slot_ns;
    }
    if (waits < WR_SPENT_COUNT) out->spent_ns[waits] += since(now, get(&n->waits_since_ns));
}

static void queue_status(wr_job *job, wr_job_status *out) {
    size_t limit = atomic_load_explicit(&job->queue_limit, memory_order_relaxed);
    for (uint32_t e = 0; e < job->n_edges; e++) {
        wr_node_status *n = &out->nodes[job->edges[e].to->index];
        for (uint32_t i = 0; i < job->n_workers * job->n_workers; i++) {
            const queue *q = job->edges[e].queues[i];
            if (!q) continue;
            n->queued_bytes += queue_bytes(q), n->taken_bytes += queue_taken(q);
            n->queue_fill = WR_MAX(n->queue_fill, queue_fill(q, limit));
        }
    }
}

void meter_status(wr_job *job, wr_job_status *out) {
    uint64_t now = wr_cost_ns();
    out->cost_ns = now;
    out->workers = wr_new_n(out->arena, wr_worker_status, job->n_workers);
    for (uint32_t i = 0; i < job->n_nodes; i++) out->nodes[i].on = wr_new_n(out->arena, wr_instance_status, job->n_workers);
    for (uint32_t k = 0; k < job->n_workers; k++) {
        worker        *w = &job->workers[k];
        uint64_t       begun = get(&w->meter.since_ns);
        const counter *slot = atomic_load_explicit(&w->meter.slot, memory_order_relaxed);
        uint64_t       slot_ns = begun == get(&w->meter.since_ns) ? since(now, begun) : 0; /* else it has just gone on to something else */
        out->workers[k] = (wr_worker_status){get(&w->meter.idle_ns) + (slot == &w->meter.idle_ns ? slot_ns : 0), get(&w->meter.other_ns) + (slot == &w->meter.other_ns ? slot_ns : 0)};
        for (uint32_t i = 0; i < job->n_nodes; i++)
            if (w->nodes[i].p) instance_status(&w->nodes[i], now, slot, slot_ns, &out->nodes[i].on[k]);
    }
    queue_status(job, out);
}

const char *wr_spent_name(wr_spent what) {
    static const char *const names[WR_SPENT_COUNT] = {"work", "read", "decode", "write", "flush", "spill", "outside", "answers", "input", "room", "memory", "turn"};
    return what < WR_SPENT_COUNT ? names[what] : "?";
}
