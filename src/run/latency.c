/* run/latency.c: how long rows take from the reading of the input that they come from until they can be seen in a sink.
 *
 * Idea       no marker travels by itself: a turn has the time at which its bytes were read, and whatever is sent on while it is worked on (batches, its end,
 *            watermarks) has it too (wr_op_ctx.read_us). What a window gives when it closes has the time of the input that closed it. A sink looks at the
 *            clock once for each batch.
 * Commit     rows of a sink that shows them with a checkpoint wait here, as times and counts, until that has committed. HELD_MOST times are kept; when
 *            there are more, neighbours become one with the earlier time.
 * Not known  (0) after a restore put rows in flight back, and for dead letters on their way back: they are not counted.
 * Thread     the worker that owns the node; the coordinator while no worker runs.                                                       */
#include "run/internal.h"

enum { HELD_MOST = 512 };
typedef struct held { int64_t read_us; uint64_t rows; } held;
typedef struct held_list { uint32_t n; held at[HELD_MOST]; } held_list;
struct latency {
    wr_hist   hist;
    int64_t   taken_us;
    bool      commits;
    held_list next, prepared;
};

void latency_open(node *n, bool commits) {
    wr_job *job = n->w->job;
    n->latency = wr_new(job->arena, latency);
    n->latency->commits = commits;
    job->reports[n->w->index * job->n_nodes + n->p->index].latency = wr_new(job->arena, wr_hist);
}

static void halve(held_list *l) {
    for (uint32_t i = 0; i < HELD_MOST / 2; i++) {
        held a = l->at[2 * i], b = l->at[2 * i + 1];
        l->at[i] = (held){WR_MIN(a.read_us, b.read_us), a.rows + b.rows};
    }
    l->n = HELD_MOST / 2;
}

static void hold(held_list *l, int64_t read_us, uint64_t rows) {
    if (l->n && l->at[l->n - 1].read_us == read_us) {
        l->at[l->n - 1].rows += rows;
        return;
    }
    if (l->n == HELD_MOST) halve(l);
    l->at[l->n++] = (held){read_us, rows};
}

static void seen(latency *l, int64_t read_us, int64_t now_us, uint64_t rows) { wr_hist_add(&l->hist, (uint64_t)WR_MAX(now_us - read_us, (int64_t)0), rows); }

void latency_rows(node *n, uint64_t rows) {
    latency *l = n->latency;
    if (!n->ctx.read_us || !rows) return;
    if (l->commits) hold(&l->next, n->ctx.read_us, rows);
    else seen(l, n->ctx.read_us, wr_mono_us(n->w->job->opts.world), rows);
}

void latency_turn(node *n) { n->latency->taken_us = WR_MAX(n->latency->taken_us, n->ctx.read_us); }

void latency_prepare(node *n) {
    latency *l = n->latency;
    if (!l->commits) return;
    for (uint32_t i = 0; i < l->next.n; i++) hold(&l->prepared, l->next.at[i].read_us, l->next.at[i].rows);
    l->next.n = 0;
}

void latency_commit(node *n) {
    latency *l = n->latency;
    if (!l->prepared.n) return;
    int64_t now = wr_mono_us(n->w->job->opts.world);
    for (uint32_t i = 0; i < l->prepared.n; i++) seen(l, l->prepared.at[i].read_us, now, l->prepared.at[i].rows);
    l->prepared.n = 0;
}

void latency_report(const node *n, node_report *r) {
    if (r->latency->n != n->latency->hist.n) *r->latency = n->latency->hist;
    r->taken_us = n->latency->taken_us;
}
