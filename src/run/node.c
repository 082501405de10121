/* run/node.c: how rows, watermarks, turn ends and barriers leave a node: into chained nodes, or through an exchange into queues.
 *
 * Idea       an exchange copies no rows: each destination gets the same columns with a selection of its own and the key hash, computed once.
 *            A batch of which little is live is compacted with its strings first, so that a queue does not keep a whole input chunk alive
 *            for a few rows.
 * Invariant  order on every queue = order of emission. A source's turn is pushed as BATCH* TURN_END to every receiver.
 * Bound      queue_full is asked before a task runs; one step may overshoot by what one input batch or one turn produces.
 * Thread     the worker that owns the node.                                                                                    */
#include "run/internal.h"
#include <stdio.h>

wr_status node_out_emit(wr_out *out, wr_batch *batch, wr_err *err) { return node_emit_batch(((node_out *)out)->node, batch, err); }

static bool edge_full(const edge *e, uint32_t from, const wr_job *job) {
    for (uint32_t to = 0; to < job->n_workers; to++) {
        queue *q = e->queues[from * job->n_workers + to];
        if (q && queue_full(q, atomic_load_explicit(&job->queue_limit, memory_order_relaxed))) return true;
    }
    return false;
}

bool node_full(const node *n) {
    for (uint32_t i = 0; i < n->n_targets; i++) {
        const target *t = &n->targets[i];
        if (t->chained ? node_full(t->chained) : edge_full(t->edge, n->w->index, n->w->job)) return true;
    }
    return false;
}

bool node_out_full(wr_out *out) { return !((node_out *)out)->rush && node_full(((node_out *)out)->node); }

static void send(node *n, edge *e, uint32_t to, msg m) {
    worker *w = n->w;
    m.read_us = n->ctx.read_us;
    queue_push(e->queues[w->index * w->job->n_workers + to], m);
    if (to != w->index) w->touched |= UINT64_C(1) << (to & 63);
}

static void send_batch(node *n, edge *e, uint32_t to, wr_batch *batch) {
    bool in_turn = n->turn_source != NO_SOURCE;
    send(n, e, to, (msg){.kind = MSG_BATCH, .source = n->turn_source, .seq = in_turn ? n->turn_seq : 0, .batch = batch,
                         .bytes = wr_batch_bytes(batch) + sizeof(msg)});
}

/* A batch with few live rows and large memory behind it, copied so that it stands alone. */
static wr_batch *detach(wr_batch *batch) {
    uint32_t live = wr_batch_live(batch);
    if (!batch->sel || live * 8 >= batch->n_rows) return batch;
    wr_batch *copy = wr_batch_new(batch->n_cols, 4096);
    for (uint32_t c = 0; c < batch->n_cols; c++) {
        wr_vec_init(&copy->cols[c], batch->cols[c].type, live, batch->cols[c].valid != NULL, copy->mem);
        for (uint32_t i = 0; i < live; i++) wr_vec_set(&copy->cols[c], i, &batch->cols[c], wr_batch_row(batch, i), copy->mem);
    }
    copy->n_rows = live;
    if (batch->kinds) {
        uint8_t *kinds = wr_mem_alloc(copy->mem, live);
        for (uint32_t i = 0; i < live; i++) kinds[i] = batch->kinds[wr_batch_row(batch, i)];
        copy->kinds = kinds;
    }
    if (batch->row_wm_us) {
        int64_t *wm = wr_mem_alloc(copy->mem, live * sizeof *wm);
        for (uint32_t i = 0; i < live; i++) wm[i] = batch->row_wm_us[wr_batch_row(batch, i)];
        copy->row_wm_us = wm;
    }
    if (batch->hash) {
        uint64_t *hash = wr_mem_alloc(copy->mem, live * sizeof *hash);
        for (uint32_t i = 0; i < live; i++) hash[i] = batch->hash[wr_batch_row(batch, i)];
        copy->hash = hash;
    }
    wr_batch_unref(batch);
    return copy;
}

/* The same batch with the hash of the key columns; (takes) batch. */
static wr_batch *hashed(wr_batch *batch, const uint32_t *keys, uint32_t n_keys) {
    wr_batch *keyed = wr_batch_derive(batch, batch->n_cols);
    for (uint32_t c = 0; c < batch->n_cols; c++) keyed->cols[c] = batch->cols[c];
    uint64_t *hash = wr_mem_alloc(keyed->mem, sizeof *hash * WR_MAX(batch->n_rows, 1u));
    wr_batch_hash(batch, keys, n_keys, hash);
    keyed->hash = hash;
    wr_batch_unref(batch);
    return keyed;
}

wr_batch *edge_hash(const edge *e, wr_batch *batch) {
    if (e->from->kind == WR_P_LOCAL_AGG && batch->hash) return batch; /* it has been given that of these columns (node_push) */
    return hashed(batch, e->keys, e->n_keys);
}

/* Splits live rows by worker of their key group. */
static void send_hashed(node *n, edge *e, wr_batch *batch) {
    wr_job   *job = n->w->job;
    wr_batch *keyed = edge_hash(e, batch);
    if (job->n_workers == 1) {
        send_batch(n, e, 0, keyed);
        return;
    }
    uint32_t  live = wr_batch_live(keyed), counts[64] = {0}, n_workers = job->n_workers, n_groups = job->n_groups;
    if (e->skews) skew_feed(e->skews[n->w->index], keyed, keyed->hash, job->plan->tz);
    uint16_t       *rows = wr_mem_alloc(keyed->mem, sizeof *rows * WR_MAX(live, 1u) * n_workers);
    const uint8_t  *owner = job->owner;
    const uint64_t *hash = keyed->hash;
    for (uint32_t i = 0; i < live; i++) {
        uint32_t row = wr_batch_row(keyed, i), to = owner[wr_key_group(hash[row], n_groups)];
        rows[to * live + counts[to]++] = (uint16_t)row;
    }
    for (uint32_t to = 0; to < n_workers; to++) {
        if (!counts[to]) continue;
        e->sent[n->w->index * n_workers + to] += counts[to];
        if (counts[to] == keyed->n_rows) {
            send_batch(n, e, to, wr_batch_ref(keyed));
            continue;
        }
        wr_batch *part = wr_batch_derive(keyed, keyed->n_cols);
        part->sel = rows + to * live;
        part->n_sel = counts[to];
        send_batch(n, e, to, part);
    }
    wr_batch_unref(keyed);
}

static wr_status emit_to(node *n, const target *t, wr_batch *batch, wr_err *err) {
    if (t->chained) {
        t->chained->ctx.now_us = n->ctx.now_us;
        t->chained->ctx.read_us = n->ctx.read_us;
        t->chained->turn_source = n->turn_source;
        t->chained->turn_seq = n->turn_seq;
        return node_push(t->chained, t->port, batch, err);
    }
    batch = detach(batch);
    switch (t->edge->kind) {
    case WR_X_FORWARD: send_batch(n, t->edge, n->w->index, t->edge->n_keys ? edge_hash(t->edge, batch) : batch); break;
    case WR_X_GATHER: send_batch(n, t->edge, t->edge->target_worker, t->edge->n_keys ? edge_hash(t->edge, batch) : batch); break;
    case WR_X_HASH: send_hashed(n, t->edge, batch); break;
    }
    return WR_OK;
}

wr_status node_emit_batch(node *n, wr_batch *batch, wr_err *err) {
    uint32_t live = wr_batch_live(batch);
    if (live == 0) {
        wr_batch_unref(batch);
        return WR_OK;
    }
    n->ledger.out += live;
    if (!batch->kinds) n->ledger.out_kind[WR_KIND_INSERT] += live;
    else
        for (uint32_t i = 0; i < live; i++) n->ledger.out_kind[batch->kinds[wr_batch_row(batch, i)]]++;
    wr_status status = WR_OK;
    for (uint32_t i = 0; i < n->n_targets; i++) {
        wr_batch *mine = i + 1 < n->n_targets ? wr_batch_ref(batch) : batch;
        if (status == WR_OK) status = emit_to(n, &n->targets[i], mine, err);
        else wr_batch_unref(mine);
    }
    if (n->n_targets == 0) wr_batch_unref(batch);
    return status;
}

/* Adds the operator's title to a data error that does not say where it happened. */
wr_status node_located(const node *n, wr_status status, wr_err *err) {
    if (status == WR_DATA && !err->place[0]) wr_err_place(err, "operator %s (%s)", n->p->title, n->p->id);
    if (status != WR_OK && !err->at.line) err->at = n->p->at;
    return status;
}

/* The column that a row has NULL in though it must not; -1: none. */
static int null_column(const node *n, const wr_batch *batch, uint32_t row) {
    if (batch->kinds && !wr_kind_adds(batch->kinds[row])) return -1;
    for (uint32_t k = 0; k < n->n_not_null; k++)
        if (wr_vec_is_null(&batch->cols[n->not_null[k]], row)) return (int)n->not_null[k];
    return -1;
}

/* Of tables whose 'on-error' lets the job go on: the rows that may be written; the batch itself if all may. (owned by the caller) */
static wr_batch *without_nulls(const node *n, const wr_batch *batch) {
    wr_batch *b = (wr_batch *)(uintptr_t)batch;
    bool      any = false;
    for (uint32_t k = 0; k < n->n_not_null && !any; k++) any = b->cols[n->not_null[k]].valid || b->cols[n->not_null[k]].type.id == WR_T_NULL;
    if (!any) return wr_batch_ref(b);
    wr_batch *less = wr_batch_derive(b, b->n_cols);
    uint16_t *sel = wr_mem_alloc(less->mem, sizeof *sel * WR_MAX(b->n_rows, 1u));
    uint32_t  n_sel = 0;
    memcpy(less->cols, b->cols, sizeof *b->cols * b->n_cols);
    for (uint32_t i = 0; i < wr_batch_live(b); i++)
        if (null_column(n, b, wr_batch_row(b, i)) < 0) sel[n_sel++] = (uint16_t)wr_batch_row(b, i);
    less->sel = sel, less->n_sel = n_sel;
    return less;
}

/* The other ones. */
static wr_status refuse_nulls(node *n, const wr_batch *b, uint32_t *n_refused, wr_err *err) {
    *n_refused = 0;
    for (uint32_t i = 0; i < wr_batch_live(b); i++) {
        uint32_t row = wr_batch_row(b, i);
        int      col = null_column(n, b, row);
        if (col < 0) continue;
        char reason[200];
        snprintf(reason, sizeof reason, "column '%.*s' is NOT NULL, but a NULL is being written into it", WR_FMT(n->p->sink.write_schema.fields[col].name));
        ++*n_refused;
        WR_TRY(refuse_row(n, b, row, n->sink_rows + i, "23502", reason, err));
    }
    return WR_OK;
}

static wr_status check_not_null(const node *n, const wr_batch *batch, wr_err *err) {
    for (uint32_t k = 0; k < n->n_not_null; k++) {
        const wr_vec *vec = &batch->cols[n->not_null[k]];
        if (!vec->valid && vec->type.id != WR_T_NULL) continue;
        for (uint32_t i = 0; i < wr_batch_live(batch); i++) {
            uint32_t row = wr_batch_row(batch, i);
            if (!wr_vec_is_null(vec, row) || (batch->kinds && !wr_kind_adds(batch->kinds[row]))) continue;
            wr_str column = n->p->sink.write_schema.fields[n->not_null[k]].name, table = n->p->sink.table->name;
            wr_fail(err, WR_DATA, "23502", "column '%.*s' of %.*s is NOT NULL, but a NULL is being written into it", WR_FMT(column), WR_FMT(table));
            wr_err_hint(err, "filter such rows out (WHERE %.*s IS NOT NULL), or give a value with COALESCE", WR_FMT(column));
            return WR_DATA;
        }
    }
    return WR_OK;
}

wr_status node_push(node *n, uint32_t in, wr_batch *batch, wr_err *err) {
    n->ledger.in[in < 2 ? in : 0] += wr_batch_live(batch);
    n->steps++;
    if (n->p->kind == WR_P_UNION) return node_emit_batch(n, batch, err);
    const wr_probe *probe = n->w->job->opts.probe;
    if (WR_UNLIKELY(probe)) probe->rows(probe->arg, n->p, in, batch);
    if (n->p->kind == WR_P_LOCAL_AGG && n->p->local_agg.n_keys) {
        batch = hashed(batch, n->p->local_agg.keys, n->p->local_agg.n_keys);
        if (n->skew) skew_feed(n->skew, batch, batch->hash, n->w->job->plan->tz);
    }
    wr_status status;
    counter  *was = meter_to(n->w, &n->spent_ns[n->sink ? WR_SPENT_WRITE : WR_SPENT_WORK]);
    if (n->sink) {
        uint32_t live = wr_batch_live(batch);
        if (n->refused) {
            uint32_t  n_nulls = 0;
            wr_batch *less = without_nulls(n, batch);
            status = less == batch ? WR_OK : refuse_nulls(n, batch, &n_nulls, err);
            wr_batch_unref(batch);
            batch = less;
        } else {
            status = check_not_null(n, batch, err);
        }
        n->ledger.out += wr_batch_live(batch); /* what the sink refuses is taken off by refuse_sink_row */
        if (status == WR_OK) status = n->sink->vt->write(n->sink, batch, err);
        n->sink_rows += live;
        if (status == WR_OK) latency_rows(n, live);
    } else {
        status = n->op->vt->on_batch(n->op, in, batch, &n->out.base, err);
        if (n->latency && status == WR_OK) latency_rows(n, wr_batch_live(batch)); /* a view */
    }
    wr_batch_unref(batch);
    meter_to(n->w, was);
    return node_located(n, status, err);
}

wr_status node_give(node *n, uint32_t in, const wr_batch *batch, wr_err *err) {
    const wr_probe *probe = n->w->job->opts.probe;
    if (WR_UNLIKELY(probe)) probe->rows(probe->arg, n->p, in, batch);
    n->steps++;
    counter  *was = meter_to(n->w, &n->spent_ns[WR_SPENT_WRITE]);
    wr_batch *b = n->refused ? without_nulls(n, batch) : NULL;
    wr_status status = b ? WR_OK : check_not_null(n, batch, err);
    if (status == WR_OK) status = n->sink->vt->write(n->sink, b ? b : batch, err);
    wr_batch_unref(b);
    meter_to(n->w, was);
    return node_located(n, status, err);
}

/* The ledger counts it now: a checkpoint before has it in flight. */
wr_status node_given(node *n, uint32_t in, const wr_batch *batch, wr_err *err) {
    uint32_t  n_nulls = 0, live = wr_batch_live(batch);
    wr_status status = n->refused ? refuse_nulls(n, batch, &n_nulls, err) : WR_OK;
    n->ledger.in[in < 2 ? in : 0] += live;
    n->ledger.out += live - n_nulls;
    n->sink_rows += live;
    latency_rows(n, live);
    return node_located(n, status, err);
}

/* Derived watermark out of node n, to all its targets. */
void node_forward_watermark(node *n, int64_t wm_us, bool idle, wr_err *err, wr_status *status) {
    if (wm_us == n->out_wm && idle == n->out_idle) return;
    wr_assert(wm_us >= n->out_wm);
    n->out_wm = wm_us;
    n->out_idle = idle;
    for (uint32_t i = 0; i < n->n_targets && *status == WR_OK; i++) {
        target *t = &n->targets[i];
        if (t->chained) {
            t->chained->ctx.read_us = n->ctx.read_us;
            *status = node_watermark(t->chained, t->port, wm_us, idle, err);
            continue;
        }
        for (uint32_t to = 0; to < n->w->job->n_workers; to++)
            if (t->edge->queues[n->w->index * n->w->job->n_workers + to])
                send(n, t->edge, to, (msg){.kind = MSG_WATERMARK, .source = NO_SOURCE, .wm_us = wm_us, .idle = idle});
    }
}

wr_status node_watermark(node *n, uint32_t in, int64_t wm_us, bool idle, wr_err *err) {
    wr_assert(in < n->n_in);
    n->in_wm[in] = wm_us;
    n->in_idle[in] = idle;
    int64_t least = WR_TIME_MAX;
    bool    all_idle = true;
    for (uint32_t i = 0; i < n->n_in; i++) {
        if (n->in_idle[i]) continue;
        all_idle = false;
        least = WR_MIN(least, n->in_wm[i]);
    }
    if (all_idle) least = n->out_wm;
    least = WR_MAX(least, n->out_wm);
    wr_status status = WR_OK;
    if (n->op && least > n->out_wm) {
        bool more = false;
        status = n->op->vt->on_watermark(n->op, least, &n->out.base, &more, err);
        if (status != WR_OK) return node_located(n, status, err);
        wr_assert(!more); /* chained operators keep nothing */
    }
    node_forward_watermark(n, least, all_idle, err, &status);
    return status;
}

void node_turn_end(node *n, uint32_t source_index, uint64_t seq, int64_t wm_us, bool idle) {
    for (uint32_t i = 0; i < n->n_targets; i++) {
        target *t = &n->targets[i];
        if (t->chained) {
            node *c = t->chained;
            if (c->ended_source == source_index && c->ended_seq == seq + 1) continue;
            c->ended_source = source_index;
            c->ended_seq = seq + 1;
            c->ctx.read_us = n->ctx.read_us;
            if (c->latency) latency_turn(c);
            node_turn_end(c, source_index, seq, wm_us, idle);
            continue;
        }
        for (uint32_t to = 0; to < n->w->job->n_workers; to++)
            if (t->edge->queues[n->w->index * n->w->job->n_workers + to])
                send(n, t->edge, to, (msg){.kind = MSG_TURN_END, .source = source_index, .seq = seq, .wm_us = wm_us, .idle = idle});
    }
    n->turn_source = NO_SOURCE;
}

void node_send_cut(node *n, edge *e, uint64_t version) {
    for (uint32_t to = 0; to < n->w->job->n_workers; to++)
        if (e->queues[n->w->index * n->w->job->n_workers + to]) send(n, e, to, (msg){.kind = MSG_CUT, .source = NO_SOURCE, .seq = version});
}

void node_barrier(node *n, uint64_t epoch) {
    for (uint32_t i = 0; i < n->n_targets; i++) {
        target *t = &n->targets[i];
        if (t->chained) {
            if (t->chained->barrier_seen != epoch) {
                t->chained->letters_epoch = epoch + 1;
                t->chained->barrier_seen = epoch;
                node_barrier(t->chained, epoch);
            }
            continue;
        }
        for (uint32_t to = 0; to < n->w->job->n_workers; to++)
            if (t->edge->queues[n->w->index * n->w->job->n_workers + to])
                send(n, t->edge, to, (msg){.kind = MSG_BARRIER, .source = NO_SOURCE, .seq = epoch});
    }
}
