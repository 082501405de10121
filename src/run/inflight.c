/* run/inflight.c: unaligned checkpoints: a barrier that has waited for too long overtakes what is queued; rows in flight are saved, and put back.
 *
 * Idea       Chandy and Lamport let a task be saved at any moment between the trigger and its first message behind the barrier. So when the coordinator
 *            says "overtake", every task that has not been saved is, at once, and passes the barrier on. What is in its channels before their
 *            barriers then belongs to the cut: it is copied into the checkpoint as soon as the channel's barrier is in the queue, which takes one step of
 *            the worker at the other end, not the time that the rows take. Until then nothing is taken from that channel.
 * Sources    the turns of the cut that wait for room are pushed without it (source_task.c): at most two a worker, which were in memory before.
 * Firings    an operator cannot be saved in the middle of a watermark: its firing is brought to its end whatever is full. If that could take more than a
 *            quarter of the free budget, the barrier does not overtake yet.
 * Section    of a task: rows, what its ports knew (turns taken, watermarks, idleness), then messages in the order of their channel.
 * Restore    each port gets its messages back in front of its channels (struct replay). That needs as many workers as then: instances of an operator are not at
 *            the same watermark in such a cut, and their images could not be merged. For another number of workers the job first runs with the
 *            former one, reads nothing, works off what is in flight, and makes an aligned checkpoint (job.c: settle).
 * Numbers    turns of a source go on counting from the cut, so that those put back sort before new ones if both are saved again.
 * Thread     consider, restore: the coordinator; the rest: the task's worker; times under snap_lock.                          */
#include "run/internal.h"
#include "type/batchcodec.h"
#include <stdlib.h>

#define AS_IT_WAS "run the job as it was, with its settings, and stop it with Ctrl-C or SIGTERM: its last checkpoint then holds no such rows"
enum { SECTION_VERSION = 1, ROWS_AT = 0, FREE_SHARE = 4, PATIENCE_MIN_US = 100000, PATIENCE_STUCK_US = 1000, PATIENCE_MAX_US = 1000000 };

/* ---- overtaking ---- */
bool inflight_wanted(const worker *w) { return atomic_load_explicit(&w->job->overtake, memory_order_acquire) > w->overtook; }

/* How long barriers may wait. Unless it is set: half of what the last checkpoint took beside waiting, so that a slow operator does not double it; and
 * where a sink is known to be stuck, where waiting is of no use, still less of it, however short that is. */
static int64_t patience_us(const wr_job *job) {
    if (job->opts.aligned_timeout_us >= 0) return job->opts.aligned_timeout_us;
    if (!job->epochs_done) return PATIENCE_MAX_US;
    const wr_checkpoint_report *last = &job->history[(job->epochs_done - 1) % WR_CHECKPOINT_HISTORY];
    int64_t beside_us = last->total_us - last->waiting_us;
    if (atomic_load_explicit(&job->stuck, memory_order_relaxed)) return WR_MIN(WR_MAX(beside_us / 8, (int64_t)PATIENCE_STUCK_US), (int64_t)PATIENCE_MIN_US);
    return WR_MIN(WR_MAX(beside_us / 2, (int64_t)PATIENCE_MIN_US), (int64_t)PATIENCE_MAX_US);
}

static bool may_overtake(wr_job *job) {
    if (!job->opts.unaligned || !job->epoch_open || job->times.writing || job->times.aligned_only) return false;
    return atomic_load(&job->overtake) != atomic_load(&job->barrier_epoch) && atomic_load(&job->acks_left);
}

static int64_t waits_us(wr_job *job) { return patience_us(job) - (wr_mono_us(job->opts.world) - job->times.begun_us); }

int64_t inflight_wait_us(wr_job *job, int64_t most_us) { return may_overtake(job) ? WR_MIN(most_us, WR_MAX(waits_us(job), (int64_t)1000)) : most_us; }

static bool waited(wr_job *job) {
    if (job->opts.aligned_timeout_steps) return job->steps - job->times.begun_step >= job->opts.aligned_timeout_steps;
    return waits_us(job) <= 0;
}

static bool firings_fit(wr_job *job) {
    int64_t firing = atomic_load_explicit(&job->firing_bytes, memory_order_relaxed), limit = job->opts.acct->limit;
    return !firing || limit <= 0 || firing <= (limit - wr_account_bytes(job->opts.acct)) / FREE_SHARE;
}

void inflight_consider(wr_job *job) {
    if (!may_overtake(job) || !waited(job) || !firings_fit(job)) return;
    atomic_store_explicit(&job->overtake, atomic_load(&job->barrier_epoch), memory_order_release);
    job_wake_all(job);
}

static uint64_t next_turn(const port *p, uint32_t slot) { /* the first that is not taken */
    for (uint32_t i = p->replay ? p->replay->next : 0; p->replay && i < p->replay->messages.n; i++) {
        const msg *m = &p->replay->messages.at[i];
        if (m->kind == MSG_TURN_END && m->source == p->edge->sources[slot]) return m->seq;
    }
    return p->next_seq[slot];
}

static void put_knowledge(const task *t, wr_sbuf *out) {
    const wr_job *job = t->head->w->job;
    wr_put_u64(out, 0); /* rows */
    wr_put_u32(out, SECTION_VERSION);
    wr_put_u32(out, job->n_workers);
    wr_put_u32(out, t->n_ports);
    for (uint32_t i = 0; i < t->n_ports; i++) {
        const port      *p = &t->ports[i];
        const wr_schema *schema = &p->edge->from->schema;
        wr_put_u32(out, schema->n);
        for (uint32_t c = 0; c < schema->n; c++) wr_type_save(schema->fields[c].type, out);
        wr_put_u32(out, p->edge->n_sources);
        for (uint32_t s = 0; s < p->edge->n_sources; s++) {
            const source *src = &job->sources[p->edge->sources[s]];
            wr_put_bytes(out, src->p->id, strlen(src->p->id));
            wr_put_u64(out, next_turn(p, s));
            wr_put_u64(out, src->cut_seq);
            wr_put_i64(out, p->src_wm[s]);
            wr_put_u8(out, p->src_idle[s]);
        }
        wr_put_u32(out, p->n_channels);
        for (uint32_t c = 0; c < p->n_channels; c++) {
            wr_put_u32(out, p->channels[c].from);
            wr_put_i64(out, p->channels[c].wm);
            wr_put_u8(out, p->channels[c].idle);
        }
    }
}

typedef struct recorder { task *t; uint32_t port, channel; } recorder;
static void record_message(void *arg, const msg *m) {
    const recorder *r = arg;
    const edge     *e = r->t->ports[r->port].edge;
    wr_sbuf        *out = &r->t->record;
    if (m->kind == MSG_BARRIER || m->kind == MSG_CUT) return;
    uint32_t slot = NO_SOURCE;
    for (uint32_t s = 0; m->source != NO_SOURCE && s < e->n_sources; s++)
        if (e->sources[s] == m->source) slot = s;
    wr_put_u8(out, (uint8_t)m->kind);
    wr_put_u32(out, r->port);
    wr_put_u32(out, slot);
    wr_put_u32(out, r->channel != UINT32_MAX ? r->channel : slot == NO_SOURCE ? (uint32_t)m->seq : 0);
    wr_put_u64(out, m->seq);
    if (m->kind == MSG_BATCH) {
        wr_batch_put(m->batch, out);
        r->t->record_rows += wr_batch_live(m->batch);
    } else {
        wr_put_i64(out, m->wm_us);
        wr_put_u8(out, m->idle);
    }
}

static void close_record(task *t) {
    wr_job *job = t->head->w->job;
    wr_sbuf rows = {0};
    wr_put_u64(&rows, t->record_rows);
    memcpy(t->record.at + ROWS_AT, rows.at, rows.len);
    wr_sbuf_free(&rows);
    wr_mutex_lock(job->snap_lock);
    job->times.overtaken++;
    job->times.in_flight_rows += t->record_rows;
    job->times.in_flight_bytes += t->record.len;
    wr_mutex_unlock(job->snap_lock);
    snapshot_put(t->head, WR_SECTION_CHANNELS, &t->record);
    wr_sbuf_free(&t->record);
    snapshot_acknowledge(job);
}

void inflight_record(task *t, bool *progress) {
    for (uint32_t i = 0; i < t->n_ports; i++)
        for (uint32_t k = 0; k < t->ports[i].n_channels; k++) {
            channel *c = &t->ports[i].channels[k];
            if (!c->open || queue_barrier(c->q) < t->saved) continue;
            queue_each(c->q, t->saved, record_message, &(recorder){t, i, k});
            c->open = false;
            *progress = true;
            if (--t->n_open == 0) close_record(t);
        }
}

static wr_status overtake_task(task *t, uint64_t epoch, wr_err *err) {
    WR_TRY(task_end_firing(t, err));
    t->record_rows = 0;
    put_knowledge(t, &t->record);
    for (uint32_t i = 0; i < t->n_ports; i++) {
        port *p = &t->ports[i];
        for (uint32_t k = p->replay ? p->replay->next : 0; p->replay && k < p->replay->messages.n; k++)
            record_message(&(recorder){t, i, UINT32_MAX}, &p->replay->messages.at[k]);
        for (uint32_t k = 0; k < p->n_channels; k++) {
            channel *c = &p->channels[k];
            c->open = c->barrier != epoch;
            t->n_open += c->open;
            c->barrier = 0;
        }
    }
    node_barrier(t->head, epoch);
    WR_TRY(snapshot_save(t, epoch, err));
    if (!t->n_open) close_record(t); /* its last barrier is taken in the same step as a rule */
    return WR_OK;
}

wr_status inflight_overtake(worker *w, wr_err *err) {
    uint64_t epoch = atomic_load(&w->job->overtake);
    for (uint32_t i = 0; i < w->n_tasks; i++)
        if (w->tasks[i].saved < epoch) WR_TRY(overtake_task(&w->tasks[i], epoch, err));
    w->overtook = epoch;
    return WR_OK;
}

/* ---- reading a section ---- */
/* The end of input is said again by sources that are at it, after rows that have come since; a job that only settles reads no source. */
static int64_t get_watermark(const wr_job *job, wr_reader *in) {
    int64_t wm_us = wr_get_i64(in);
    return wm_us == WR_TIME_MAX && !job->settling ? WR_TIME_MIN : wm_us;
}

typedef struct old_slot { uint32_t source; uint64_t next, cut; int64_t wm; bool idle; } old_slot;
typedef struct old_port { const edge *e; uint32_t n_slots, n_channels; old_slot *slots; channel *channels; } old_port;
typedef struct old_msg { msg m; uint32_t instance, port, slot, order; } old_msg; /* m.seq of derived ones: channel */
typedef struct old_task { uint32_t instance, n_workers; old_port *ports; } old_task;
typedef struct reading {
    wr_job         *job;
    const wr_pnode *p;
    wr_arena       *arena;
    uint32_t        n_ports;
    const edge    **edges;
    WR_ARR(old_task) tasks;
    WR_ARR(old_msg)  messages;
} reading;

static wr_status damaged(const reading *r, wr_err *err) { return wr_fail(err, WR_CORRUPT, "WR303", "the rows in flight before %s (%s) are damaged in the checkpoint", r->p->title, r->p->id); }

static wr_status check_columns(const reading *r, const edge *e, wr_reader *in, wr_err *err) {
    uint32_t n = wr_get_u32(in);
    bool     same = n == e->from->schema.n;
    for (uint32_t c = 0; c < n && !in->bad; c++) {
        wr_type t = wr_type_load(r->arena, in);
        same = same && wr_type_same(t, e->from->schema.fields[c].type);
    }
    if (in->bad) return damaged(r, err);
    if (same) return WR_OK;
    wr_fail(err, WR_USER, "WR305", "the checkpoint holds rows on their way to %s (%s), and they have other columns than now", r->p->title, r->p->id);
    wr_err_hint(err, AS_IT_WAS);
    return WR_USER;
}

static wr_status read_port(reading *r, old_port *op, const edge *e, wr_reader *in, wr_err *err) {
    op->e = e;
    WR_TRY(check_columns(r, e, in, err));
    op->n_slots = wr_get_u32(in);
    if (in->bad || op->n_slots != e->n_sources) return damaged(r, err);
    op->slots = wr_new_n(r->arena, old_slot, op->n_slots + 1);
    for (uint32_t s = 0; s < op->n_slots; s++) {
        wr_str    id = wr_get_bytes(in);
        old_slot *o = &op->slots[s];
        *o = (old_slot){.source = NO_SOURCE, .next = wr_get_u64(in)};
        o->cut = wr_get_u64(in), o->wm = get_watermark(r->job, in), o->idle = wr_get_u8(in);
        for (uint32_t i = 0; i < e->n_sources; i++)
            if (wr_str_eq(wr_str_of(r->job->sources[e->sources[i]].p->id), id)) o->source = i;
        if (in->bad || o->source == NO_SOURCE) return damaged(r, err);
        source *src = &r->job->sources[e->sources[o->source]];
        src->assigned = src->published = WR_MAX(src->assigned, o->cut);
    }
    op->n_channels = wr_get_u32(in);
    if (in->bad || op->n_channels > 64) return damaged(r, err);
    op->channels = wr_new_n(r->arena, channel, op->n_channels + 1);
    for (uint32_t c = 0; c < op->n_channels; c++) {
        op->channels[c] = (channel){.from = wr_get_u32(in)};
        op->channels[c].wm = get_watermark(r->job, in), op->channels[c].idle = wr_get_u8(in);
    }
    return WR_OK;
}

static wr_status read_message(reading *r, const old_task *t, wr_reader *in, wr_err *err) {
    old_msg o = {.instance = t->instance, .order = r->messages.n};
    o.m = (msg){.kind = (msg_kind)wr_get_u8(in), .source = NO_SOURCE};
    o.port = wr_get_u32(in);
    o.slot = wr_get_u32(in);
    uint32_t channel_index = wr_get_u32(in);
    o.m.seq = wr_get_u64(in);
    if (in->bad || o.port >= r->n_ports || o.m.kind > MSG_WATERMARK) return damaged(r, err);
    const old_port *p = &t->ports[o.port];
    if (o.slot == NO_SOURCE ? channel_index >= p->n_channels : o.slot >= p->n_slots) return damaged(r, err);
    if (o.slot != NO_SOURCE) {
        o.slot = p->slots[o.slot].source;
        o.m.source = p->e->sources[o.slot];
    } else {
        o.m.seq = channel_index;
    }
    if (o.m.kind == MSG_BATCH) {
        o.m.batch = wr_batch_get(&p->e->from->schema, in);
        if (!o.m.batch) return damaged(r, err);
        wr_arr_push(&r->messages, o);
        return WR_OK;
    }
    o.m.wm_us = get_watermark(r->job, in);
    o.m.idle = wr_get_u8(in);
    if (in->bad) return damaged(r, err);
    wr_arr_push(&r->messages, o);
    return WR_OK;
}

static wr_status read_section(reading *r, const wr_section *s, wr_err *err) {
    wr_reader in = {(const uint8_t *)s->content.ptr, (const uint8_t *)s->content.ptr + s->content.len, false};
    old_task  t = {.instance = s->instance};
    (void)wr_get_u64(&in);
    if (wr_get_u32(&in) != SECTION_VERSION || in.bad) return damaged(r, err);
    t.n_workers = wr_get_u32(&in);
    if (wr_get_u32(&in) != r->n_ports || in.bad || t.instance >= t.n_workers) return damaged(r, err);
    t.ports = wr_new_n(r->arena, old_port, r->n_ports);
    for (uint32_t i = 0; i < r->n_ports; i++) WR_TRY(read_port(r, &t.ports[i], r->edges[i], &in, err));
    wr_arr_push(&r->tasks, t);
    while (in.at < in.end) WR_TRY(read_message(r, &t, &in, err));
    return WR_OK;
}

/* ---- putting back ---- */
static int by_turn(const void *a, const void *b) { /* the turns of a source in order, the end of each behind its rows; then what is derived, as it came */
    const old_msg *x = a, *y = b;
    if ((x->slot == NO_SOURCE) != (y->slot == NO_SOURCE)) return x->slot == NO_SOURCE ? 1 : -1;
    if (x->slot != NO_SOURCE) {
        if (x->slot != y->slot) return x->slot < y->slot ? -1 : 1;
        if (x->m.seq != y->m.seq) return x->m.seq < y->m.seq ? -1 : 1;
        if (x->m.kind != y->m.kind) return x->m.kind == MSG_BATCH ? -1 : 1;
    }
    return x->order < y->order ? -1 : x->order > y->order;
}

static void restore_knowledge(port *p, const old_port *o) {
    for (uint32_t s = 0; s < o->n_slots; s++) {
        p->src_wm[o->slots[s].source] = o->slots[s].wm;
        p->src_idle[o->slots[s].source] = o->slots[s].idle;
    }
    for (uint32_t c = 0; c < o->n_channels; c++) p->channels[c].wm = o->channels[c].wm, p->channels[c].idle = o->channels[c].idle;
}

static void give_port(const reading *r, const old_task *from, port *p, uint32_t port_index) {
    replay *to = wr_calloc(1, sizeof *to);
    restore_knowledge(p, &from->ports[port_index]);
    for (uint32_t i = 0; i < r->messages.n; i++) {
        const old_msg *o = &r->messages.at[i];
        if (o->port != port_index || o->instance != from->instance) continue;
        msg m = o->m;
        if (m.kind == MSG_BATCH) {
            wr_batch_ref(m.batch);
            if (p->edge->kind == WR_X_HASH || p->edge->n_keys) m.batch = edge_hash(p->edge, m.batch);
            m.bytes = wr_batch_bytes(m.batch) + sizeof(msg);
            wr_account_add(&r->job->queue_acct, (int64_t)m.bytes);
        }
        wr_arr_push(&to->messages, m);
    }
    p->replay = to;
    if (!to->messages.n) inflight_replayed(p);
}

void inflight_replayed(port *p) {
    wr_arr_free(&p->replay->messages);
    wr_free(p->replay);
    p->replay = NULL;
}

static task *task_of(worker *w, const wr_pnode *p) {
    for (uint32_t i = 0; i < w->n_tasks; i++)
        if (w->tasks[i].head->p == p) return &w->tasks[i];
    return NULL;
}

/* Its place now; NULL: it is not there, or has other channels. A node that exists once may have moved: it is still the one. */
static task *place_of(const reading *r, const old_task *o) {
    wr_job *job = r->job;
    bool    single = job->where[r->p->index] >= 0;
    if (o->n_workers != job->n_workers || (single && r->tasks.n > 1)) return NULL;
    task *t = task_of(&job->workers[single ? (uint32_t)job->where[r->p->index] : o->instance], r->p);
    for (uint32_t p = 0; t && p < r->n_ports; p++)
        if (o->ports[p].n_channels != t->ports[p].n_channels) return NULL;
    return t;
}

static wr_status other_settings(const reading *r, wr_err *err) {
    wr_fail(err, WR_USER, "WR305", "the checkpoint holds rows on their way to %s (%s), and there is no such way now", r->p->title, r->p->id);
    wr_err_hint(err, AS_IT_WAS);
    return WR_USER;
}

static wr_status give(reading *r, wr_err *err) {
    if (r->messages.n) qsort(r->messages.at, r->messages.n, sizeof *r->messages.at, by_turn);
    for (uint32_t i = 0; i < r->tasks.n; i++) {
        task *t = place_of(r, &r->tasks.at[i]);
        if (!t) return other_settings(r, err);
        for (uint32_t p = 0; p < t->n_ports; p++) give_port(r, &r->tasks.at[i], &t->ports[p], p);
        t->resumed = true;
    }
    return WR_OK;
}

static wr_status restore_node(wr_job *job, const wr_checkpoint *ck, const wr_pnode *p, wr_err *err) {
    reading   r = {.job = job, .p = p, .arena = wr_arena_new(NULL)};
    wr_status status = WR_OK;
    r.edges = wr_new_n(r.arena, const edge *, job->n_edges + 1);
    for (uint32_t e = 0; e < job->n_edges; e++)
        if (job->edges[e].to == p) r.edges[job->edges[e].port] = &job->edges[e], r.n_ports++;
    for (uint32_t i = 0; i < ck->sections.n && status == WR_OK; i++) {
        const wr_section *s = &ck->sections.at[i];
        if (s->kind == WR_SECTION_CHANNELS && wr_str_eq(s->owner, wr_str_of(p->id))) status = read_section(&r, s, err);
    }
    if (status == WR_OK) status = give(&r, err);
    for (uint32_t i = 0; i < r.messages.n; i++) wr_batch_unref(r.messages.at[i].m.batch);
    wr_arr_free(&r.tasks);
    wr_arr_free(&r.messages);
    wr_arena_free(r.arena);
    return status;
}

wr_status inflight_restore(wr_job *job, const wr_checkpoint *ck, wr_err *err) {
    for (uint32_t i = 0; i < job->n_nodes; i++) WR_TRY(restore_node(job, ck, job->plan->nodes.at[i], err));
    for (uint32_t k = 0; k < job->n_workers; k++)
        for (uint32_t i = 0; i < job->workers[k].n_tasks; i++) {
            task *t = &job->workers[k].tasks[i];
            for (uint32_t p = 0; p < t->n_ports; p++)
                for (uint32_t s = 0; s < t->ports[p].edge->n_sources; s++) t->ports[p].next_seq[s] = job->sources[t->ports[p].edge->sources[s]].assigned;
        }
    return WR_OK;
}

uint32_t inflight_workers(const wr_checkpoint *ck) {
    for (uint32_t i = 0; i < ck->sections.n; i++) {
        const wr_section *s = &ck->sections.at[i];
        if (s->kind != WR_SECTION_CHANNELS) continue;
        wr_reader in = {(const uint8_t *)s->content.ptr, (const uint8_t *)s->content.ptr + s->content.len, false};
        (void)wr_get_u64(&in), (void)wr_get_u32(&in);
        return wr_get_u32(&in);
    }
    return 0;
}

void inflight_free(wr_job *job) {
    for (uint32_t k = 0; job->workers && k < job->n_workers; k++)
        for (uint32_t i = 0; i < job->workers[k].n_tasks; i++) {
            task *t = &job->workers[k].tasks[i];
            wr_sbuf_free(&t->record);
            for (uint32_t p = 0; p < t->n_ports; p++) {
                replay *r = t->ports[p].replay;
                for (uint32_t m = r ? r->next : 0; r && m < r->messages.n; m++) {
                    wr_batch_unref(r->messages.at[m].batch);
                    wr_account_add(&job->queue_acct, -(int64_t)r->messages.at[m].bytes);
                }
                if (r) inflight_replayed(&t->ports[p]);
            }
        }
}
