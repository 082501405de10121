/* run/task.c: the receiving half of an exchange: which message next, watermarks, barriers; then the operator or sink.
 *
 * Order      messages of a source's turns are taken in turn order (next_seq per source), whichever worker decoded them. Within a queue turn
 *            numbers over all sources only grow, and the least unfinished turn is always at the head of its queue, so this cannot deadlock.
 *            Other messages are taken as they come.
 * Watermark  of the task = least over all ports of (per source: the watermark of its last finished turn; per channel: the last derived one),
 *            without idle ones. The operator sees it strictly increase; WR_TIME_MAX ends the task.
 * Barrier    a channel that delivered the barrier waits until all have (aligned); then the state is saved and the barrier passed on. If that takes
 *            too long the barrier overtakes what is queued (inflight.c).
 * Sink       with drain(): its message stays at the head of its channel until it is through; meanwhile the worker does other things, and a barrier that
 *            overtakes finds it there.
 * Thread     the worker that owns the task.                                                                                     */
#include "run/internal.h"
#include "run/view.h"

enum { MESSAGES_PER_STEP = 16, TIER_KEY_BYTES = 100 /* about */ };

static int source_slot(const edge *e, uint32_t source_index) {
    for (uint32_t i = 0; i < e->n_sources; i++)
        if (e->sources[i] == source_index) return (int)i;
    return -1;
}

/* The channel's next message if it may be taken now. */
static const msg *ready(const wr_job *job, port *p, channel *c) {
    if (c->barrier || c->open || (c->cut && cut_holds(job, c))) return NULL;
    const msg *m = queue_peek(c->q);
    if (!m || m->source == NO_SOURCE) return m;
    int slot = source_slot(p->edge, m->source);
    wr_assert(slot >= 0 && m->seq >= p->next_seq[slot]);
    return m->seq == p->next_seq[slot] ? m : NULL;
}

static int64_t port_watermark(const port *p, bool *idle) {
    int64_t wm = WR_TIME_MAX;
    *idle = true;
    for (uint32_t i = 0; i < p->edge->n_sources; i++) {
        if (p->src_idle[i]) continue;
        *idle = false;
        wm = WR_MIN(wm, p->src_wm[i]);
    }
    if (p->edge->derived)
        for (uint32_t i = 0; i < p->n_channels; i++) {
            if (p->channels[i].idle) continue;
            *idle = false;
            wm = WR_MIN(wm, p->channels[i].wm);
        }
    return wm;
}

static wr_status finish_watermark(task *t, wr_err *err) {
    node     *n = t->head;
    wr_status status = WR_OK;
    t->wm = t->wm_target;
    if (n->sink) {
        n->out_wm = t->wm; /* reported only */
    } else { /* a union passes it on as it is */
        int64_t out = t->wm == WR_TIME_MAX || !n->op ? t->wm : n->op->vt->output_watermark(n->op, t->wm);
        node_forward_watermark(n, WR_MAX(out, n->out_wm), false, err, &status);
    }
    if (t->wm == WR_TIME_MAX && !t->finished) {
        t->finished = true;
        atomic_fetch_sub(&n->w->job->tasks_left, 1);
        wr_bell_ring(n->w->job->bell);
    }
    return status;
}

/* Does the operator wait for room in the middle of a firing? How much may still come is known to the coordinator (inflight_consider). */
static void set_pending(task *t, bool pending) {
    if (t->wm_pending == pending) return;
    wr_op_usage usage = {0};
    if (pending && !t->head->ctx.waiting) t->head->op->vt->usage(t->head->op, &usage);
    int64_t bytes = usage.state_bytes + (int64_t)usage.tier_keys * TIER_KEY_BYTES;
    atomic_fetch_add_explicit(&t->head->w->job->firing_bytes, bytes - t->firing_bytes, memory_order_relaxed);
    t->firing_bytes = bytes;
    t->wm_pending = pending;
}

static wr_status continue_watermark(task *t, wr_err *err) {
    node *n = t->head;
    bool  more = false;
    if (n->op) {
        const wr_probe *probe = n->w->job->opts.probe;
        if (WR_UNLIKELY(probe)) probe->watermark(probe->arg, n->p, n->op, t->wm_target);
        counter  *was = meter_to(n->w, &n->spent_ns[WR_SPENT_WORK]);
        wr_status status = n->op->vt->on_watermark(n->op, t->wm_target, &n->out.base, &more, err);
        meter_to(n->w, was);
        if (status != WR_OK) {
            if (!err->at.line) err->at = n->p->at;
            return status;
        }
    }
    set_pending(t, more);
    return more ? WR_OK : finish_watermark(t, err);
}

wr_status task_end_firing(task *t, wr_err *err) {
    wr_status status = WR_OK;
    t->head->out.rush = true;
    while (t->wm_pending && !t->head->ctx.waiting && status == WR_OK) status = continue_watermark(t, err);
    t->head->out.rush = false;
    return status;
}

static wr_status advance_watermark(task *t, wr_err *err) {
    int64_t wm = WR_TIME_MAX;
    bool    all_idle = true;
    for (uint32_t i = 0; i < t->n_ports; i++) {
        bool    idle;
        int64_t w = port_watermark(&t->ports[i], &idle);
        if (idle) continue;
        all_idle = false;
        wm = WR_MIN(wm, w);
    }
    wr_status status = WR_OK;
    if (all_idle) {
        if (!t->head->ctx.waiting) node_forward_watermark(t->head, t->head->out_wm, true, err, &status);
        return status;
    }
    if (wm <= t->wm) {
        if (t->head->out_idle) node_forward_watermark(t->head, t->head->out_wm, false, err, &status);
        return status;
    }
    t->wm_target = wm;
    return continue_watermark(t, err);
}

static bool all_at_barrier(const task *t, uint64_t epoch) {
    for (uint32_t i = 0; i < t->n_ports; i++)
        for (uint32_t c = 0; c < t->ports[i].n_channels; c++)
            if (t->ports[i].channels[c].barrier != epoch) return false;
    return true;
}

static wr_status take_barrier(task *t, channel *c, uint64_t epoch, wr_err *err) {
    if (epoch <= t->saved) return WR_OK; /* overtaken */
    c->barrier = epoch;
    if (!all_at_barrier(t, epoch)) return WR_OK;
    for (uint32_t i = 0; i < t->n_ports; i++)
        for (uint32_t k = 0; k < t->ports[i].n_channels; k++) t->ports[i].channels[k].barrier = 0;
    node_barrier(t->head, epoch);
    return snapshot_task(t, epoch, err);
}

/* A watermark counts before the channel that brought it falls idle. */
static wr_status take_watermark(task *t, bool *idle_of, bool idle, wr_err *err) {
    *idle_of = false;
    WR_TRY(advance_watermark(t, err));
    if (!idle) return WR_OK;
    *idle_of = true;
    return t->wm_pending ? WR_OK : advance_watermark(t, err);
}

static void pop(const task *t, channel *c) {
    queue_pop(c->q);
    t->head->w->touched |= UINT64_C(1) << (c->from & 63); /* it may wait for room */
}

static wr_status take(task *t, uint32_t port_index, channel *c, wr_err *err) {
    port *p = &t->ports[port_index];
    msg   m = *queue_peek(c->q);
    pop(t, c);
    t->head->ctx.read_us = m.read_us;
    switch (m.kind) {
    case MSG_BATCH: return node_push(t->head, port_index, m.batch, err);
    case MSG_TURN_END: {
        int slot = source_slot(p->edge, m.source);
        p->next_seq[slot]++;
        p->src_wm[slot] = WR_MAX(p->src_wm[slot], m.wm_us);
        if (t->head->latency) latency_turn(t->head);
        return take_watermark(t, &p->src_idle[slot], m.idle, err);
    }
    case MSG_WATERMARK:
        c->wm = WR_MAX(c->wm, m.wm_us);
        return take_watermark(t, &c->idle, m.idle, err);
    case MSG_BARRIER: return take_barrier(t, c, m.seq, err);
    case MSG_CUT: cut_take(t, c, m.seq); break;
    }
    return WR_OK;
}

/* What a restore put back. The turns of that time are in order, and counted no more. */
static wr_status take_replayed(task *t, uint32_t port_index, wr_err *err) {
    port     *p = &t->ports[port_index];
    replay   *r = p->replay;
    msg       m = r->messages.at[r->next++];
    t->head->ctx.read_us = 0;
    wr_status status = WR_OK;
    wr_account_add(&t->head->w->job->queue_acct, -(int64_t)m.bytes);
    switch (m.kind) {
    case MSG_BATCH: status = node_push(t->head, port_index, m.batch, err); break;
    case MSG_TURN_END: {
        int slot = source_slot(p->edge, m.source);
        p->src_wm[slot] = WR_MAX(p->src_wm[slot], m.wm_us);
        status = take_watermark(t, &p->src_idle[slot], m.idle, err);
        break;
    }
    case MSG_WATERMARK: {
        channel *c = &p->channels[m.seq];
        c->wm = WR_MAX(c->wm, m.wm_us);
        status = take_watermark(t, &c->idle, m.idle, err);
        break;
    }
    case MSG_BARRIER: case MSG_CUT: break;
    }
    if (r->next == r->messages.n) inflight_replayed(p);
    return status;
}

/* ---- sinks that go on with a batch ---- */
static wr_status give(task *t, uint32_t port_index, channel *from, const msg *m, wr_err *err) {
    t->given = true;
    t->given_port = port_index;
    t->given_from = from;
    t->head->ctx.read_us = m->read_us;
    return node_give(t->head, port_index, m->batch, err);
}

static void set_stuck(task *t, bool stuck) {
    if (stuck) t->head->w->stuck = t->head;
    if (t->stuck == stuck) return;
    t->stuck = stuck;
    if (stuck) atomic_fetch_add_explicit(&t->head->w->job->stuck, 1, memory_order_relaxed);
    else atomic_fetch_sub_explicit(&t->head->w->job->stuck, 1, memory_order_relaxed);
}

static wr_status given(task *t, wr_err *err) {
    port     *p = &t->ports[t->given_port];
    channel  *c = t->given_from;
    wr_batch *batch = c ? queue_peek(c->q)->batch : p->replay->messages.at[p->replay->next].batch;
    wr_status status = node_given(t->head, t->given_port, batch, err);
    t->given = false;
    if (c) {
        pop(t, c);
    } else {
        wr_account_add(&t->head->w->job->queue_acct, -(int64_t)p->replay->messages.at[p->replay->next++].bytes);
        if (p->replay->next == p->replay->messages.n) inflight_replayed(p);
    }
    wr_batch_unref(batch);
    return status;
}

/* In simulation it waits for whoever reads: how many steps a job takes is not the reader's to say. */
static wr_status go_on_giving(task *t, bool *through, wr_err *err) {
    node       *n = t->head;
    bool        busy;
    counter    *was = meter_to(n->w, &n->spent_ns[WR_SPENT_WRITE]);
    wr_status   status = n->sink->vt->drain(n->sink, n->w->job->opts.simulate ? INT64_MAX : 0, &busy, err);
    meter_to(n->w, was);
    if (status != WR_OK) return node_located(n, status, err);
    set_stuck(t, busy);
    *through = !busy && !(t->given_from && t->given_from->open); /* it is still to be recorded */
    return *through ? given(t, err) : WR_OK;
}

/* Next takeable message, *from = NULL: one that is put back. The port whose watermark is behind comes first, so that join buffers stay small. */
static const msg *choose(task *t, uint32_t *port_index, channel **from) {
    uint32_t first = 0;
    if (t->n_ports == 2) {
        bool    idle[2];
        int64_t a = port_watermark(&t->ports[0], &idle[0]), b = port_watermark(&t->ports[1], &idle[1]);
        if (!idle[1] && (idle[0] || b < a)) first = 1;
    }
    for (uint32_t k = 0; k < t->n_ports; k++) {
        uint32_t i = (first + k) % t->n_ports;
        port    *p = &t->ports[i];
        if (p->replay) {
            *port_index = i;
            *from = NULL;
            return &p->replay->messages.at[p->replay->next];
        }
        for (uint32_t c = 0; c < p->n_channels; c++) {
            channel   *ch = &p->channels[(p->rotate + c) % p->n_channels];
            const msg *m = ready(t->head->w->job, p, ch);
            if (!m) continue;
            if (m->source == NO_SOURCE) p->rotate = (p->rotate + c + 1) % p->n_channels;
            *port_index = i;
            *from = ch;
            return m;
        }
    }
    return NULL;
}

/* What happens without input; then what it held back goes on. */
static wr_status step_alone(task *t, bool *progress, wr_err *err) {
    node     *n = t->head;
    bool      moved = false;
    counter  *was = meter_to(n->w, &n->spent_ns[WR_SPENT_WORK]);
    wr_status status = n->op->on_step(n->op, &n->out.base, &moved, err);
    meter_to(n->w, was);
    if (status != WR_OK) return node_located(n, status, err);
    if (!moved) return WR_OK;
    *progress = true;
    if (t->wm_pending || t->finished || t->wm == WR_TIME_MIN) return WR_OK;
    int64_t out = n->op->vt->output_watermark(n->op, t->wm);
    if (out > n->out_wm) node_forward_watermark(n, out, false, err, &status);
    return status != WR_OK || n->ctx.waiting ? status : advance_watermark(t, err);
}

/* A message may take long, in a slow sink: what a checkpoint waits for is not behind sixteen of them. */
static bool called_away(const worker *w) {
    return inflight_wanted(w) || atomic_load_explicit(&w->job->commit_epoch, memory_order_relaxed) != w->committed;
}

/* What it waits for when it returns: *waits. */
static wr_status step(task *t, bool *progress, wr_spent *waits, wr_err *err) {
    node *n = t->head;
    n->ctx.now_us = wr_wall_us(n->w->job->opts.world);
    if (n->op && n->op->on_step && !t->finished && !node_full(n)) WR_TRY(step_alone(t, progress, err));
    if (t->n_open) inflight_record(t, progress);
    for (uint32_t i = 0; i < MESSAGES_PER_STEP; i++) {
        if (called_away(n->w)) {
            *progress = true;
            return WR_OK;
        }
        if (node_full(n)) {
            n->blocked_steps++;
            *waits = WR_WAIT_ROOM;
            return WR_OK;
        }
        if (n->ctx.stalled || (t->wm_pending && n->ctx.waiting)) {
            *waits = WR_WAIT_ANSWERS;
            return WR_OK;
        }
        if (t->given) {
            bool through;
            WR_TRY(go_on_giving(t, &through, err));
            if (!through) {
                *waits = WR_WAIT_OUTSIDE;
                return WR_OK;
            }
            *progress = true;
            continue;
        }
        if (t->wm_pending) {
            *progress = true;
            WR_TRY(continue_watermark(t, err));
            continue;
        }
        if (t->resumed) {
            t->resumed = false;
            WR_TRY(advance_watermark(t, err));
            continue;
        }
        worker_report(n->w); /* sixteen messages may take long, and who asks wants to know of what */
        uint32_t port_index;
        channel *from;
        const msg *m = choose(t, &port_index, &from);
        if (!m) {
            *waits = WR_WAIT_INPUT;
            return WR_OK;
        }
        *progress = true;
        if (n->sink && n->sink->vt->drain && m->kind == MSG_BATCH) {
            WR_TRY(give(t, port_index, from, m, err));
            continue;
        }
        WR_TRY(from ? take(t, port_index, from, err) : take_replayed(t, port_index, err));
    }
    return WR_OK;
}

wr_status task_step(task *t, bool *progress, wr_err *err) {
    wr_spent waits = WR_WAIT_TURN;
    meter_begin(t->head);
    wr_status status = step(t, progress, &waits, err);
    meter_end(t->head, waits);
    return status;
}
