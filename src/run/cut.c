/* run/cut.c: the cuts at which materialized views are published. See view.h.
 *
 * Protocol   the coordinator notes the number of turns handed out; each worker's sources send the marker behind their last turn below it, and only towards views. A
 *            task takes nothing more from a channel that gave the marker until all have; then it passes it on, and a view seals its shard. The last seal
 *            publishes. One cut at most is under way.
 * Checkpoint barriers and markers never wait for each other: before barriers go out, a cut that is under way is given up (its number is dead: whoever waits for
 *            it goes on, whoever meets its markers drops them), and none begins until all tasks have acknowledged. Rows that were sealed for it come with the next one.
 * Rows in flight that a restore put back come before any marker, since a port takes them first.                                          */
#include "run/internal.h"
#include "run/view.h"

enum { CUT_STEPS = 96 };

static wr_view *view_of(wr_view_set *set, wr_job *job, const wr_pnode *p) {
    const wr_view_def d = {.name = p->view.table->name, .query = p->view.query, .schema = &p->schema, .n_key = p->view.n_key, .key = p->view.key,
                           .tz = job->plan->tz, .instances = job->lives[p->index]};
    return wr_view_set_add(set, &d);
}

wr_status views_open(wr_job *job, wr_err *err) {
    bool any = false;
    (void)err;
    for (uint32_t i = 0; i < job->n_nodes; i++) any |= job->plan->nodes.at[i]->kind == WR_P_VIEW;
    if (!any) return WR_OK;
    int64_t                limit = job->opts.acct->limit;
    const wr_view_set_opts o = {.world = job->opts.world, .n_shards = job->n_workers, .owner = job->opts.views_owner, .hidden = job->opts.watch != NULL, .restoring = job->restored_found,
                                .keep_bytes = limit > 0 ? WR_MIN(limit / 32, (int64_t)8 << 20) : 0, .pin_bytes = limit > 0 ? WR_MIN(limit / 8, (int64_t)64 << 20) : 0};
    job->views.set = wr_view_set_new(&o);
    job->views.of = wr_new_n(job->arena, wr_view *, job->n_nodes + 1);
    job->views.leads = wr_new_n(job->arena, bool, job->n_nodes + 1);
    for (uint32_t i = job->n_nodes; i-- > 0;) { /* consumers stand behind their inputs */
        const wr_pnode *p = job->plan->nodes.at[i];
        if (p->kind == WR_P_VIEW) job->views.of[i] = view_of(job->views.set, job, p), job->views.leads[i] = true;
        for (uint32_t k = 0; job->views.leads[i] && k < p->n_inputs; k++) job->views.leads[p->inputs[k].node->index] = true;
        for (uint32_t k = 0; job->views.leads[i] && k < p->n_union; k++) job->views.leads[p->union_inputs[k].node->index] = true;
    }
    return WR_OK;
}

static void seal_all(wr_job *job, bool ended) {
    uint64_t version = ++job->views.version;
    wr_view_set_open(job->views.set, version);
    for (uint32_t k = 0; k < job->n_workers; k++)
        for (uint32_t i = 0; i < job->n_nodes; i++) {
            wr_op *op = job->workers[k].nodes[i].view;
            if (op) view_op_seal(op, version, ended ? WR_TIME_MAX : view_op_watermark(op));
        }
}

void views_restored(wr_job *job, bool in_flight) {
    if (job->views.set && !in_flight) seal_all(job, job->finished_before);
}

/* How long rows stay counts back from the latest one: the last watermark before the end is not the same for every split of the input. */
static void retain(wr_job *job, uint32_t i) {
    int64_t latest = WR_TIME_MIN;
    for (uint32_t k = 0; k < job->n_workers; k++)
        if (job->workers[k].nodes[i].view) latest = WR_MAX(latest, view_op_latest(job->workers[k].nodes[i].view));
    for (uint32_t k = 0; k < job->n_workers; k++)
        if (job->workers[k].nodes[i].view) view_op_retain(job->workers[k].nodes[i].view, latest);
}

void views_end(wr_job *job) {
    if (!job->views.set) return;
    for (uint32_t i = 0; i < job->n_nodes && job->finished; i++) retain(job, i);
    if (job->finished) seal_all(job, true);
    wr_view_set_end(job->views.set);
}

void views_close(wr_job *job) {
    wr_view_set_close(job->views.set);
    job->views.set = NULL;
}

/* ---- triggering ---- */
static bool due(wr_job *job) {
    if (job->opts.simulate) return job->steps - job->views.step >= CUT_STEPS;
    return wr_mono_us(job->opts.world) - job->views.begun_us >= WR_VIEW_CUT_US;
}

void cut_consider(wr_job *job) {
    if (!job->views.set || atomic_load(&job->stop) || (job->epoch_open && atomic_load(&job->acks_left)) || !due(job) || wr_view_set_waits(job->views.set)) return;
    job->views.step = job->steps;
    job->views.begun_us = wr_mono_us(job->opts.world);
    uint64_t version = ++job->views.version;
    wr_view_set_open(job->views.set, version);
    wr_mutex_lock(job->turn_lock);
    job->views.turn = job->turns_assigned;
    atomic_store(&job->views.cut, version);
    wr_mutex_unlock(job->turn_lock);
    job_wake_all(job);
}

void cut_give_up(wr_job *job) {
    if (!job->views.set || !wr_view_set_waits(job->views.set)) return;
    atomic_store(&job->views.dead, job->views.version);
    wr_view_set_drop(job->views.set);
}

/* ---- markers ---- */
static void send_marker(node *n, uint64_t version) {
    const wr_job *job = n->w->job;
    for (uint32_t i = 0; i < n->n_targets; i++) {
        target *t = &n->targets[i];
        if (t->chained) {
            if (!job->views.leads[t->chained->p->index] || t->chained->cut_seen == version) continue;
            t->chained->cut_seen = version;
            send_marker(t->chained, version);
        } else if (job->views.leads[t->edge->to->index]) {
            node_send_cut(n, t->edge, version);
        }
    }
}

bool cut_pass(worker *w) {
    wr_job  *job = w->job;
    uint64_t version = atomic_load(&job->views.cut);
    if (version == w->cut_sent) return false;
    if (version > atomic_load(&job->views.dead)) {
        wr_mutex_lock(job->turn_lock);
        uint64_t limit = job->views.turn;
        wr_mutex_unlock(job->turn_lock);
        if (w->n_pending && w->pending[0].number < limit) return false;
        for (uint32_t i = 0; i < job->n_sources; i++)
            if (job->views.leads[job->sources[i].p->index]) send_marker(&w->nodes[job->sources[i].p->index], version);
    }
    w->cut_sent = version;
    return true;
}

bool cut_holds(const wr_job *job, const channel *c) { return c->cut > atomic_load(&((wr_job *)(uintptr_t)job)->views.dead); }

void cut_take(task *t, channel *c, uint64_t version) {
    wr_job *job = t->head->w->job;
    if (version <= atomic_load(&job->views.dead)) return;
    c->cut = version;
    for (uint32_t i = 0; i < t->n_ports; i++)
        for (uint32_t k = 0; k < t->ports[i].n_channels; k++)
            if (t->ports[i].channels[k].cut != version) return;
    for (uint32_t i = 0; i < t->n_ports; i++)
        for (uint32_t k = 0; k < t->ports[i].n_channels; k++) t->ports[i].channels[k].cut = 0;
    send_marker(t->head, version);
    if (t->head->view) view_op_seal(t->head->view, version, t->wm);
    if (!wr_view_set_waits(job->views.set)) wr_bell_ring(job->bell);
}
