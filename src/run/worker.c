/* run/worker.c: one worker: a step function that moves every task a little, downstream first; and the thread that calls it.
 *
 * Idea       tasks nearest to the sinks run first, so queues drain before they fill; sources come last and only when nothing they reach is full.
 *            A step never blocks (file reads, and sinks without drain, excepted), so one thread can drive all workers in any order.
 * Thread     worker_step: whoever drives this worker, one at a time.                                                               */
#include "run/internal.h"

enum { FLUSH_EVERY_US = 1000000, FLUSH_IDLE_US = 100000, WAIT_DEFAULT_US = 5000, PAY_US = 5000, STUCK_US = 1000 }; /* a flush may be a disk sync: not at every pause */

static wr_status flush_sinks(worker *w, bool idle, int64_t now, wr_err *err) {
    if (now - w->flushed_us < (idle ? FLUSH_IDLE_US : FLUSH_EVERY_US)) return WR_OK;
    w->flushed_us = now;
    for (uint32_t i = 0; i < w->n_tasks; i++) {
        node *n = w->tasks[i].head;
        if (!n->sink || !n->flush_always) continue;
        counter  *was = meter_aside(n, WR_SPENT_FLUSH);
        wr_status status = n->sink->vt->flush(n->sink, err);
        meter_back(n, was);
        if (status != WR_OK) return status;
    }
    return WR_OK;
}

static void report_source(worker *w, const wr_pnode *p, node_report *r) {
    r->usage.calls = (wr_prog_cost){0};
    for (uint32_t i = 0; i < w->job->n_sources; i++)
        if (w->job->sources[i].p == p && w->source_progs[i]) wr_prog_cost_add(w->source_progs[i], &r->usage.calls);
}

static void report(worker *w, uint64_t want) {
    wr_job *job = w->job;
    wr_mutex_lock(job->report_lock);
    for (uint32_t i = 0; i < job->n_nodes; i++) {
        node        *n = &w->nodes[i];
        node_report *r = &job->reports[w->index * job->n_nodes + i];
        if (!n->p) continue;
        r->ledger = n->ledger;
        if (n->detail) *r->detail = *n->detail;
        r->wm = n->out_wm;
        if (n->latency) latency_report(n, r);
        r->steps = n->steps;
        r->blocked_steps = n->blocked_steps;
        if (n->op) n->op->vt->usage(n->op, &r->usage);
        else if (n->p->kind == WR_P_SOURCE) report_source(w, n->p, r);
        r->n_refused = 0;
        if (n->refused) refuser_report(n->refused, r->refused, &r->n_refused);
    }
    skew_report_worker(w);
    w->report_have = want;
    wr_mutex_unlock(job->report_lock);
}

void worker_report(worker *w) {
    uint64_t want = atomic_load(&w->job->report_want);
    if (want != w->report_have) report(w, want);
}

static void wake_touched(worker *w) {
    for (uint32_t k = 0; w->touched && k < w->job->n_workers; k++) {
        worker *other = &w->job->workers[k];
        if ((w->touched >> (k & 63) & 1) && other != w && atomic_load(&other->asleep)) wr_bell_ring(other->bell);
    }
    w->touched = 0;
}

/* What maps owe to the image that is being made, for a while. */
static void pay(worker *w, int64_t from_us, bool *progress) {
    wr_job *job = w->job;
    bool    paid = false;
    if (!wr_tier_owed(job->tier)) return;
    while (wr_tier_pay(job->tier)) {
        paid = true;
        if (job->opts.simulate || wr_mono_us(job->opts.world) - from_us > PAY_US) break;
    }
    *progress = *progress || paid;
    if (paid && !wr_tier_owed(job->tier)) wr_bell_ring(job->bell);
}

wr_status worker_step(worker *w, bool *progress, wr_err *err) {
    wr_job *job = w->job;
    *progress = false;
    w->wait_us = WAIT_DEFAULT_US;
    w->stuck = NULL;
    if (inflight_wanted(w)) {
        WR_TRY(inflight_overtake(w, err));
        *progress = true;
    }
    for (uint32_t i = w->n_tasks; i-- > 0;) WR_TRY(task_step(&w->tasks[i], progress, err));
    if (job->opts.state_dir) WR_TRY(snapshot_commit_sinks(w, err));
    WR_TRY(again_sinks(w, progress, err));
    WR_TRY(source_step(w, progress, err));
    int64_t now = wr_mono_us(job->opts.world);
    pay(w, now, progress);
    WR_TRY(flush_sinks(w, !*progress, now, err));
    worker_report(w);
    wake_touched(w);
    atomic_store_explicit(&w->idle, !*progress, memory_order_relaxed);
    return budget_step(w, now, err);
}

void job_fail(wr_job *job, const wr_err *err) {
    wr_mutex_lock(job->err_lock);
    if (!atomic_load(&job->failed)) {
        job->err = *err;
        atomic_store(&job->failed, true);
    }
    wr_mutex_unlock(job->err_lock);
    atomic_store(&job->stop, 2);
    wr_bell_ring(job->bell);
}

void job_wake_all(wr_job *job) {
    for (uint32_t k = 0; k < job->n_workers; k++) wr_bell_ring(job->workers[k].bell);
}

/* For a message; or, for a moment, for room at the other end of a sink. */
static wr_status rest(worker *w, wr_err *err) {
    bool      busy;
    wr_status status = WR_OK;
    counter  *was = meter_to(w, &w->meter.idle_ns);
    if (w->stuck) status = node_located(w->stuck, w->stuck->sink->vt->drain(w->stuck->sink, WR_MIN(w->wait_us, (int64_t)STUCK_US), &busy, err), err);
    else meter_sleep(w), wr_bell_wait(w->bell, w->wait_us);
    meter_to(w, was);
    return status;
}

bool job_calm(const wr_job *job) {
    for (uint32_t k = 0; k < job->n_workers; k++)
        if (!atomic_load_explicit(&job->workers[k].calm, memory_order_relaxed)) return false;
    return true;
}

/* Something moved. The coordinator of a calm job looks seldom. */
static void stir(worker *w) {
    w->still = 0;
    if (!atomic_load_explicit(&w->calm, memory_order_relaxed)) return;
    atomic_store(&w->calm, false);
    wr_bell_ring(w->job->bell);
}

/* Nothing moved, again. Whoever asks while it sleeps long finds figures that need no waking. */
static void settle(worker *w) {
    if (w->still < STILL_RESTS && ++w->still < STILL_RESTS) return;
    if (atomic_load_explicit(&w->calm, memory_order_relaxed)) return;
    report(w, atomic_load(&w->job->report_want));
    atomic_store(&w->calm, true);
}

void worker_run(void *arg) {
    worker *w = arg;
    wr_err  err = {0};
    meter_start(w);
    while (atomic_load(&w->job->stop) < 2) {
        bool progress;
        if (worker_step(w, &progress, &err) != WR_OK) {
            job_fail(w->job, &err);
            break;
        }
        if (progress) {
            stir(w);
            continue;
        }
        /* Say "asleep" first, then look again: a message pushed in between either is seen now or rings the bell. */
        atomic_store(&w->asleep, true);
        if (worker_step(w, &progress, &err) != WR_OK) {
            job_fail(w->job, &err);
            break;
        }
        if (progress) stir(w);
        else settle(w);
        if (!progress && rest(w, &err) != WR_OK) {
            job_fail(w->job, &err);
            break;
        }
        atomic_store(&w->asleep, false);
    }
    atomic_store(&w->asleep, false);
    atomic_store(&w->calm, false);
}
