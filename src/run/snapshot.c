/* run/snapshot.c: checkpoints of a running job (Chandy-Lamport barriers; where they wait for too long see inflight.c) and restoring from one.
 *
 * Protocol   the coordinator triggers: source positions are taken and the number of turns handed out so far becomes the cut. Each worker's
 *            sources pass the barrier when their turns below the cut have gone out; a task that has it on all channels saves its operator, sinks
 *            prepare. Large maps only mark what belongs to the image and hand it over later, a piece between two steps of the worker (wr_tier_pay). When all
 *            have acknowledged and handed over, and every source's partition state of the cut is known, a thread of its own writes the files and the
 *            manifest (image.c); then sinks commit. A crash before the manifest: the previous epoch counts. After it: sinks are told to recover the
 *            new epoch, idempotently. Workers go on with rows from the moment they have saved; none waits for the disk.
 * Invariant  at most one epoch is open; everything in a checkpoint belongs to the same cut.
 * Thread     trigger, poll, restore, final: coordinator; task and source chains: the worker; snap_lock guards writer and times.     */
#include "run/internal.h"
#include "run/view.h"
#include "run/upgrade.h"
#include <stdio.h>

void ledger_save(const wr_ledger *l, wr_sbuf *out) {
    wr_put_u64(out, l->in[0]), wr_put_u64(out, l->in[1]), wr_put_u64(out, l->out);
    for (int i = 0; i < 4; i++) wr_put_u64(out, l->out_kind[i]);
    wr_put_u64(out, l->matched[0]), wr_put_u64(out, l->matched[1]);
    wr_put_u32(out, WR_REASON_COUNT);
    for (int i = 0; i < WR_REASON_COUNT; i++) wr_put_u64(out, l->dropped[i]);
    for (int i = 0; i < 2; i++) wr_put_u64(out, l->lost[i]), wr_put_u64(out, l->kept[i]);
    wr_put_u64(out, l->used), wr_put_u64(out, l->made), wr_put_u8(out, (uint8_t)(l->partial | l->stays << 1 | l->apart << 2));
}

void ledger_load(wr_ledger *l, wr_reader *in) {
    memset(l, 0, sizeof *l);
    l->in[0] = wr_get_u64(in), l->in[1] = wr_get_u64(in), l->out = wr_get_u64(in);
    for (int i = 0; i < 4; i++) l->out_kind[i] = wr_get_u64(in);
    l->matched[0] = wr_get_u64(in), l->matched[1] = wr_get_u64(in);
    uint32_t n = wr_get_u32(in);
    for (uint32_t i = 0; i < n && !in->bad; i++) {
        uint64_t v = wr_get_u64(in);
        if (i < WR_REASON_COUNT) l->dropped[i] = v;
    }
    l->partial = in->at == in->end;
    if (l->partial) return; /* written before there were these */
    for (int i = 0; i < 2; i++) l->lost[i] = wr_get_u64(in), l->kept[i] = wr_get_u64(in);
    l->used = wr_get_u64(in), l->made = wr_get_u64(in);
    uint8_t flags = wr_get_u8(in);
    l->partial = flags & 1, l->stays = flags >> 1 & 1, l->apart = flags >> 2 & 1;
}

/* ---- saving ---- */
static void put(wr_job *job, wr_section_kind kind, wr_str owner, uint32_t instance, wr_sbuf *content /* (takes) */) {
    wr_account_add(&job->snap_acct, (int64_t)content->cap);
    wr_mutex_lock(job->snap_lock);
    wr_checkpoint_put(&job->snap, kind, owner, instance, content);
    wr_mutex_unlock(job->snap_lock);
}

void snapshot_put_as(wr_job *job, wr_section_kind kind, wr_str owner, wr_sbuf *content) { put(job, kind, owner, 0, content); }
void snapshot_put(const node *n, wr_section_kind kind, wr_sbuf *content) { put(n->w->job, kind, wr_str_of(n->p->id), n->w->index, content); }

static void abandon(wr_job *job) {
    wr_checkpoint_abandon(&job->snap);
    wr_account_add(&job->snap_acct, -wr_account_bytes(&job->snap_acct));
}

static void node_ledger_save(const node *n, wr_sbuf *out) {
    ledger_save(&n->ledger, out);
    if (n->detail) wr_detail_save(n->detail, out);
}

/* Ledgers of a node and of what is chained behind it. Chains join only at unions, whose producers pass the barrier one by one: the last writer
 * of a section wins on load because it is the most complete. */
static void save_ledgers(node *n) {
    wr_sbuf buf = {0};
    node_ledger_save(n, &buf);
    snapshot_put(n, WR_SECTION_LEDGER, &buf);
    for (uint32_t i = 0; i < n->n_targets; i++)
        if (n->targets[i].chained) save_ledgers(n->targets[i].chained);
}

/* What a sink has refused so far; from now on it refuses for the next epoch. */
static void save_refused(node *n, uint64_t epoch) {
    wr_sbuf buf = {0};
    n->letters_epoch = epoch + 1;
    if (!n->refused) return;
    refuser_save(n->refused, &buf);
    snapshot_put(n, WR_SECTION_REFUSED, &buf);
}

void snapshot_acknowledge(wr_job *job) {
    if (atomic_fetch_sub(&job->acks_left, 1) == 1) wr_bell_ring(job->bell);
}

/* What the state is and how much of it there is, for `weir state`. */
static void put_about(const node *n) {
    wr_sbuf     buf = {0};
    wr_op_usage usage = {0};
    n->op->vt->usage(n->op, &usage);
    wr_put_bytes(&buf, n->op->vt->name, strlen(n->op->vt->name));
    wr_put_bytes(&buf, n->p->title, strlen(n->p->title));
    wr_put_u64(&buf, usage.keys), wr_put_u64(&buf, usage.rows), wr_put_i64(&buf, usage.state_bytes);
    const wr_pinput *in = n->p->n_inputs ? &n->p->inputs[0] : NULL;
    wr_put_u32(&buf, in ? in->n_keys : 0);
    for (uint32_t i = 0; in && i < in->n_keys; i++) {
        const wr_field *f = &in->node->schema.fields[in->keys[i]];
        wr_put_bytes(&buf, f->name.ptr, f->name.len);
        wr_put_u8(&buf, f->type.id), wr_put_u8(&buf, f->type.scale), wr_put_u32(&buf, (uint32_t)f->type.prec), wr_put_u32(&buf, f->type.n_kids);
    }
    snapshot_put(n, WR_SECTION_ABOUT, &buf);
}

static void note_times(wr_job *job, const node *n, int64_t begun_us) {
    int64_t spent = wr_mono_us(job->opts.world) - begun_us;
    wr_mutex_lock(job->snap_lock);
    snprintf(job->times.last_task, sizeof job->times.last_task, "%s", n->p->title);
    if (spent > job->times.longest_us) {
        job->times.longest_us = spent;
        snprintf(job->times.longest_task, sizeof job->times.longest_task, "%s", n->p->title);
    }
    wr_mutex_unlock(job->snap_lock);
}

wr_status snapshot_save(task *t, uint64_t epoch, wr_err *err) {
    node   *n = t->head;
    wr_job *job = n->w->job;
    int64_t begun = wr_mono_us(job->opts.world);
    wr_sbuf buf = {0};
    if (n->sink) {
        wr_sbuf *staged = &job->staged[n->p->index]; /* also needed for the commit */
        wr_sbuf_clear(staged);
        counter  *was = meter_to(n->w, &n->spent_ns[WR_SPENT_FLUSH]);
        wr_status status = n->sink->vt->prepare(n->sink, epoch, staged, err);
        meter_to(n->w, was);
        if (status != WR_OK) return status;
        latency_prepare(n);
        wr_sbuf_add_str(&buf, wr_sbuf_str(staged));
        snapshot_put(n, WR_SECTION_SINK, &buf);
        save_refused(n, epoch);
    } else if (n->op) {
        wr_put_i64(&buf, t->wm);
        wr_status status = n->op->vt->save(n->op, &buf, err);
        if (status == WR_OK) snapshot_put(n, WR_SECTION_OPERATOR, &buf);
        wr_sbuf_free(&buf);
        WR_TRY(status);
        put_about(n);
        n->letters_epoch = epoch + 1;
    }
    save_ledgers(n);
    note_times(job, n, begun);
    t->saved = epoch;
    return WR_OK;
}

wr_status snapshot_task(task *t, uint64_t epoch, wr_err *err) {
    WR_TRY(snapshot_save(t, epoch, err));
    snapshot_acknowledge(t->head->w->job);
    return WR_OK;
}

void snapshot_source_chains(worker *w, uint64_t epoch) {
    (void)epoch;
    for (uint32_t i = 0; i < w->job->n_sources; i++) save_ledgers(&w->nodes[w->job->sources[i].p->index]);
    snapshot_acknowledge(w->job);
}

static uint32_t count_tasks(const wr_job *job) {
    uint32_t n = 0;
    for (uint32_t k = 0; k < job->n_workers; k++) n += job->workers[k].n_tasks;
    return n;
}

static void begin(wr_job *job, uint64_t epoch) {
    job->times = (epoch_times){.begun_us = wr_mono_us(job->opts.world), .begun_wall_us = wr_wall_us(job->opts.world), .begun_step = job->steps};
    wr_checkpoint_begin(&job->snap, epoch);
    image_begin(job, epoch);
    job->times.aligned_only = job->asked == ASKED_UNDER_WAY || atomic_load(&job->stop);
}

void snapshot_trigger(wr_job *job) {
    wr_assert(!job->epoch_open);
    uint64_t epoch = atomic_load(&job->barrier_epoch) + 1;
    cut_give_up(job);
    job->epoch_open = true;
    begin(job, epoch);
    atomic_store(&job->acks_left, count_tasks(job) + job->n_workers);
    wr_mutex_lock(job->turn_lock);
    for (uint32_t i = 0; i < job->n_sources; i++) {
        source *s = &job->sources[i];
        wr_sbuf_clear(&s->cut_positions);
        if (s->src) s->src->vt->save(s->src, &s->cut_positions);
        s->cut_seq = s->assigned;
        s->cut_pending = s->published < s->assigned;
        wr_sbuf_clear(&s->cut_state);
        if (!s->cut_pending) source_state_save(s, &s->cut_state);
    }
    job->barrier_turn = job->turns_assigned;
    atomic_store(&job->barrier_epoch, epoch);
    wr_mutex_unlock(job->turn_lock);
    job_wake_all(job);
}

void job_section_put(const wr_job_plan *plan, uint32_t n_groups, bool finished, uint32_t generation, wr_sbuf *out) {
    wr_put_u32(out, n_groups);
    wr_put_u8(out, finished);
    wr_put_u32(out, plan->nodes.n);
    for (uint32_t i = 0; i < plan->nodes.n; i++) wr_put_bytes(out, plan->nodes.at[i]->id, strlen(plan->nodes.at[i]->id));
    wr_put_u32(out, generation);
}

static void put_job_section(wr_job *job, bool finished) {
    wr_sbuf buf = {0};
    job_section_put(job->plan, job->n_groups, finished, job->generation, &buf);
    put(job, WR_SECTION_JOB, WR_STR("job"), 0, &buf);
    wr_upgrade_put_plan(job->plan, &buf);
    put(job, WR_SECTION_PLAN, WR_STR("plan"), 0, &buf);
    ledger_put_nodes(job->plan, &buf);
    put(job, WR_SECTION_PLAN, WR_STR("nodes"), 0, &buf);
    wr_put_u64(&buf, letters_state(job));
    put(job, WR_SECTION_REFUSED, WR_STR("job"), 0, &buf);
}

static void put_source_sections(wr_job *job) {
    for (uint32_t i = 0; i < job->n_sources; i++) {
        source *s = &job->sources[i];
        wr_sbuf buf = {0};
        wr_put_bytes(&buf, s->cut_positions.at, s->cut_positions.len);
        wr_put_bytes(&buf, s->cut_state.at, s->cut_state.len);
        put(job, WR_SECTION_SOURCE, wr_str_of(s->p->id), 0, &buf);
    }
}

/* The sinks have committed: the report's phases add up to the whole. */
static void finish(wr_job *job, uint64_t epoch) {
    const epoch_times           *t = &job->times;
    const wr_checkpoint_written *w = &job->image.written;
    int64_t now = wr_mono_us(job->opts.world), local_us = job->away ? job->image.local_us : t->written_us;
    wr_checkpoint_report r = {.epoch = epoch, .at_us = t->begun_wall_us, .total_us = now - t->begun_us, .committing_us = now - t->written_us,
                              .writing_us = local_us - t->acked_us, .uploading_us = t->written_us - local_us, .snapshotting_us = t->longest_us,
                              .waiting_us = t->acked_us - t->begun_us - t->longest_us, .new_bytes = w->new_bytes, .total_bytes = w->total_bytes,
                              .new_files = w->new_files, .total_files = w->total_files, .failed_attempts = t->failed_attempts,
                              .changed_bytes = job->image.changed_bytes, .merged_bytes = job->image.merged_bytes,
                              .uploaded_bytes = job->image.up.bytes, .uploaded_files = job->image.up.files, .overtaken_tasks = t->overtaken,
                              .in_flight_rows = t->in_flight_rows, .in_flight_bytes = t->in_flight_bytes};
    snprintf(r.last_task, sizeof r.last_task, "%s", t->last_task);
    snprintf(r.longest_task, sizeof r.longest_task, "%s", t->longest_task);
    wr_mutex_lock(job->report_lock);
    job->history[job->epochs_done++ % WR_CHECKPOINT_HISTORY] = r;
    wr_mutex_unlock(job->report_lock);
    abandon(job);
    job->epoch_open = false;
    image_answer(job, epoch);
}

static bool cuts_taken(wr_job *job) {
    wr_mutex_lock(job->turn_lock);
    bool all = true;
    for (uint32_t i = 0; i < job->n_sources; i++) all = all && !job->sources[i].cut_pending;
    wr_mutex_unlock(job->turn_lock);
    return all;
}

/* Written and durable: from here on this epoch counts. */
static void let_sinks_commit(wr_job *job, uint64_t epoch) {
    job->times.written_us = wr_mono_us(job->opts.world);
    job->last_checkpoint_mono_us = wr_mono_us(job->opts.world);
    for (uint32_t i = 0; i < job->n_sources; i++) {
        source *s = &job->sources[i];
        if (s->src && s->src->vt->lasting) s->src->vt->lasting(s->src, wr_sbuf_str(&s->cut_positions));
    }
    atomic_store(&job->commits_left, job->n_workers);
    atomic_store(&job->commit_epoch, epoch);
    job_wake_all(job);
}

wr_status snapshot_poll(wr_job *job, wr_err *err) {
    if (!job->epoch_open || atomic_load(&job->acks_left) || !cuts_taken(job) || wr_tier_owed(job->tier)) return WR_OK;
    uint64_t epoch = atomic_load(&job->barrier_epoch);
    if (!job->times.writing) {
        job->times.writing = true;
        job->times.acked_us = wr_mono_us(job->opts.world);
        put_job_section(job, false);
        put_source_sections(job);
        WR_TRY(image_start(job, err));
    }
    if (atomic_load(&job->commit_epoch) != epoch) {
        wr_status status;
        if (!image_poll(job, &status, err)) return WR_OK;
        WR_TRY(status);
        let_sinks_commit(job, epoch);
        return WR_OK;
    }
    if (atomic_load(&job->commits_left) == 0) finish(job, epoch);
    return WR_OK;
}

void snapshot_close(wr_job *job) {
    image_join(job);
    if (job->epoch_open) abandon(job);
    wr_checkpoint_close(&job->restored);
}

wr_status snapshot_commit_sinks(worker *w, wr_err *err) {
    wr_job  *job = w->job;
    uint64_t epoch = atomic_load(&job->commit_epoch);
    if (epoch == w->committed) return WR_OK;
    if (!w->index) WR_TRY(letters_commit(job, epoch, err));
    for (uint32_t i = 0; i < job->n_nodes; i++) {
        node *n = &w->nodes[i];
        if (!n->sink || job->where[i] < 0) continue;
        counter  *was = meter_aside(n, WR_SPENT_FLUSH);
        wr_status status = n->sink->vt->commit(n->sink, epoch, wr_sbuf_str(&job->staged[i]), err);
        meter_back(n, was);
        if (status != WR_OK) return status;
        latency_commit(n);
    }
    w->committed = epoch;
    if (atomic_fetch_sub(&job->commits_left, 1) == 1) wr_bell_ring(job->bell);
    return WR_OK;
}

static wr_status rest_sections(wr_job *job, uint64_t epoch, bool finished, wr_err *err) {
    for (uint32_t i = 0; i < job->n_sources; i++) {
        source *s = &job->sources[i];
        wr_sbuf_clear(&s->cut_positions), wr_sbuf_clear(&s->cut_state);
        if (s->src) s->src->vt->save(s->src, &s->cut_positions);
        source_state_save(s, &s->cut_state);
    }
    for (uint32_t k = 0; k < job->n_workers; k++)
        for (uint32_t i = 0; i < job->n_nodes; i++) {
            node *n = &job->workers[k].nodes[i];
            if (!n->p) continue;
            wr_sbuf buf = {0};
            node_ledger_save(n, &buf);
            snapshot_put(n, WR_SECTION_LEDGER, &buf);
            if (n->view && finished) view_op_save_rows(n->view, &buf), snapshot_put(n, WR_SECTION_OPERATOR, &buf), put_about(n);
            if (n->sink) save_refused(n, epoch);
            if (!n->sink || job->where[i] < 0) continue;
            wr_sbuf_clear(&job->staged[i]);
            WR_TRY(n->sink->vt->prepare(n->sink, epoch, &job->staged[i], err));
            latency_prepare(n);
            wr_sbuf_add_str(&buf, wr_sbuf_str(&job->staged[i]));
            snapshot_put(n, WR_SECTION_SINK, &buf);
        }
    put_job_section(job, finished);
    put_source_sections(job);
    return WR_OK;
}

/* An epoch while no worker runs and no operator has anything to remember. */
static wr_status at_rest(wr_job *job, bool finished, wr_err *err) {
    uint64_t epoch = atomic_load(&job->barrier_epoch) + 1;
    wr_assert(!job->epoch_open);
    job->epoch_open = true;
    begin(job, epoch);
    WR_TRY(rest_sections(job, epoch, finished, err));
    job->times.acked_us = wr_mono_us(job->opts.world);
    WR_TRY(letters_prepare(job, epoch, err));
    WR_TRY(image_commit(job, err));
    job->times.written_us = wr_mono_us(job->opts.world);
    WR_TRY(letters_commit(job, epoch, err));
    for (uint32_t k = 0; k < job->n_workers; k++)
        for (uint32_t i = 0; i < job->n_nodes; i++) {
            node *n = &job->workers[k].nodes[i];
            if (!n->p || !n->sink || job->where[i] < 0) continue;
            WR_TRY(n->sink->vt->commit(n->sink, epoch, wr_sbuf_str(&job->staged[i]), err));
            latency_commit(n);
        }
    atomic_store(&job->barrier_epoch, epoch);
    atomic_store(&job->commit_epoch, epoch);
    finish(job, epoch);
    return WR_OK;
}

/* Before the first row: what a crash leaves before the first checkpoint in operation is not taken for what was there before the job
 * (files that rows or dead letters are appended to). */
wr_status snapshot_first(wr_job *job, wr_err *err) {
    WR_TRY(at_rest(job, false, err));
    uint64_t epoch = atomic_load(&job->barrier_epoch);
    for (uint32_t k = 0; k < job->n_workers; k++) job->workers[k].barrier_sent = job->workers[k].committed = epoch;
    return WR_OK;
}

/* After the last worker has stopped at the end of input: one more epoch that says so; and another, if a sink refused rows when that one was committed. */
wr_status snapshot_final(wr_job *job, wr_err *err) {
    WR_TRY(at_rest(job, true, err));
    while (letters_waiting(job)) WR_TRY(at_rest(job, true, err));
    return WR_OK;
}

/* ---- restoring ---- */
static const wr_pnode *node_by_id(const wr_job *job, wr_str id) {
    for (uint32_t i = 0; i < job->n_nodes; i++)
        if (wr_str_eq(wr_str_of(job->plan->nodes.at[i]->id), id)) return job->plan->nodes.at[i];
    return NULL;
}

/* The first phase of an aggregation keeps nothing: whether it is there may change between two runs. */
static bool is_first_phase(wr_str id) { return wr_str_starts(id, WR_STR("local_agg-")); }
static uint32_t nodes_that_matter(const wr_job *job) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < job->n_nodes; i++) n += !is_first_phase(wr_str_of(job->plan->nodes.at[i]->id));
    return n;
}

wr_status snapshot_check(wr_job *job, wr_err *err) {
    const wr_checkpoint *ck = &job->restored;
    const wr_section *s = wr_checkpoint_find(ck, WR_SECTION_JOB, WR_STR("job"));
    if (!s) return wr_fail(err, WR_CORRUPT, "WR304", "checkpoint %s has no job section", ck->path);
    wr_reader in = {.at = (const uint8_t *)s->content.ptr, .end = (const uint8_t *)s->content.ptr + s->content.len};
    uint32_t  groups = wr_get_u32(&in);
    job->finished_before = wr_get_u8(&in);
    uint32_t n_ids = wr_get_u32(&in), n = 0, known = 0, mine = nodes_that_matter(job);
    wr_str   stranger = {0};
    for (uint32_t i = 0; i < n_ids && !in.bad; i++) {
        wr_str id = wr_get_bytes(&in);
        if (is_first_phase(id)) continue;
        n++;
        if (node_by_id(job, id)) known++;
        else stranger = id;
    }
    if (in.bad) return wr_fail(err, WR_CORRUPT, "WR304", "the job section of checkpoint %s is damaged", ck->path);
    if (known != n || n != mine) {
        wr_fail(err, WR_USER, "WR305", "the state in %s belongs to another job or an earlier version of this one", job->opts.state_dir);
        wr_err_detail(err, "it has %u operators, this job has %u; %u are the same%s%.*s", n, mine, known, stranger.len ? "; not here: " : "",
                      WR_FMT(stranger));
        wr_err_hint(err, "'weir upgrade %s SCRIPT' says what of it can be carried over, and does it; or start over with --fresh", job->opts.state_dir);
        return WR_USER;
    }
    if (in.at < in.end) job->generation = wr_get_u32(&in);
    job->n_groups = groups; /* fixed at first start; the operators are built after this */
    return WR_OK;
}

static wr_status load_source(wr_job *job, const wr_section *s, wr_err *err) {
    for (uint32_t i = 0; i < job->n_sources; i++) {
        source *src = &job->sources[i];
        if (!wr_str_eq(wr_str_of(src->p->id), s->owner)) continue;
        wr_reader in = {.at = (const uint8_t *)s->content.ptr, .end = (const uint8_t *)s->content.ptr + s->content.len};
        wr_str    positions = wr_get_bytes(&in), state = wr_get_bytes(&in);
        wr_reader pr = {.at = (const uint8_t *)positions.ptr, .end = (const uint8_t *)positions.ptr + positions.len};
        wr_reader sr = {.at = (const uint8_t *)state.ptr, .end = (const uint8_t *)state.ptr + state.len};
        if (src->src) WR_TRY(src->src->vt->load(src->src, &pr, err));
        return source_state_load(job, src, &sr, err);
    }
    return WR_OK;
}

/* own: only into the instance that made it. Else all take what they find of their key groups, which only images at the same watermark allow. */
static wr_status load_operator(wr_job *job, const wr_section *s, bool own, wr_err *err) {
    const wr_pnode *p = node_by_id(job, s->owner);
    wr_assert(p);
    if (job->finished_before && p->kind != WR_P_VIEW) return WR_OK;
    for (uint32_t k = 0; k < job->n_workers; k++) {
        node *n = &job->workers[k].nodes[p->index];
        if (!n->p || !n->op || (own && job->where[p->index] < 0 && s->instance != k)) continue;
        wr_reader in = {.at = (const uint8_t *)s->content.ptr, .end = (const uint8_t *)s->content.ptr + s->content.len};
        (void)wr_get_i64(&in);
        uint32_t from, to;
        group_range(job, n, &from, &to);
        WR_TRY(n->op->vt->load(n->op, &in, from, to, err));
    }
    return WR_OK;
}

static void load_ledger(wr_job *job, const wr_section *s) {
    const wr_pnode *p = node_by_id(job, s->owner);
    if (!p) return;
    uint32_t  k = s->instance % job->n_workers;
    if (!(job->lives[p->index] >> k & 1)) k = (uint32_t)__builtin_ctzll(job->lives[p->index]);
    wr_reader in = {.at = (const uint8_t *)s->content.ptr, .end = (const uint8_t *)s->content.ptr + s->content.len};
    wr_ledger l;
    ledger_load(&l, &in);
    if (in.bad) return;
    node *n = &job->workers[k].nodes[p->index];
    wr_ledger_add(&n->ledger, &l);
    if (!n->detail || in.at == in.end) return;
    wr_detail *d = wr_calloc(1, sizeof *d);
    wr_detail_load(d, &in);
    if (!in.bad) wr_detail_add(n->detail, d);
    wr_free(d);
}

/* Another setting may put operators in that keep nothing, or leave them out. */
static void note_apart(wr_job *job, const wr_checkpoint *ck) {
    uint32_t known = 0, others = 0;
    for (uint32_t i = 0; i < job->n_nodes; i++) {
        bool there = false;
        for (uint32_t k = 0; k < ck->sections.n && !there; k++) there = ck->sections.at[k].kind == WR_SECTION_LEDGER && wr_str_eq(ck->sections.at[k].owner, wr_str_of(job->plan->nodes.at[i]->id));
        known += there;
    }
    for (uint32_t k = 0; k < ck->sections.n; k++) others += ck->sections.at[k].kind == WR_SECTION_LEDGER && !node_by_id(job, ck->sections.at[k].owner);
    if (known == job->n_nodes && !others) return;
    for (uint32_t k = 0; k < job->n_workers; k++)
        for (uint32_t i = 0; i < job->n_nodes; i++) job->workers[k].nodes[i].ledger.apart = true;
}

bool snapshot_superseded(const wr_checkpoint *ck, uint32_t i) { /* a later ledger section of the same node and instance */
    for (uint32_t k = i + 1; k < ck->sections.n; k++)
        if (ck->sections.at[k].kind == WR_SECTION_LEDGER && ck->sections.at[k].instance == ck->sections.at[i].instance &&
            wr_str_eq(ck->sections.at[k].owner, ck->sections.at[i].owner))
            return true;
    return false;
}

static void load_refused(wr_job *job, const wr_section *s) {
    wr_reader in = {.at = (const uint8_t *)s->content.ptr, .end = (const uint8_t *)s->content.ptr + s->content.len};
    if (wr_str_eq(s->owner, WR_STR("job"))) {
        letters_set_state(job, wr_get_u64(&in));
        return;
    }
    const wr_pnode *p = node_by_id(job, s->owner);
    if (!p) return;
    uint32_t k = s->instance % job->n_workers;
    if (!(job->lives[p->index] >> k & 1)) k = (uint32_t)__builtin_ctzll(job->lives[p->index]);
    node *n = &job->workers[k].nodes[p->index];
    if (n->refused) refuser_load(n->refused, &in);
}

/* Of what a sink has staged. Outputs in two versions know the checkpoint's own: the swap has told them. */
static uint64_t staged_epoch(const wr_checkpoint *ck, const wr_pnode *p) {
    const wr_connector *c = p->sink.is_result ? NULL : wr_connector_find(p->sink.table->connector);
    wr_sbuf             owner = {0};
    wr_sbuf_printf(&owner, WR_STAGED_EPOCH_OWNER "%s", p->id);
    const wr_section *s = c && !c->output ? wr_checkpoint_find(ck, WR_SECTION_SINK, wr_sbuf_str(&owner)) : NULL;
    wr_sbuf_free(&owner);
    return s ? wr_get_u64(&(wr_reader){(const uint8_t *)s->content.ptr, (const uint8_t *)s->content.ptr + s->content.len, false}) : ck->epoch;
}

static wr_status recover_sinks(wr_job *job, const wr_checkpoint *ck, bool found, wr_err *err) {
    WR_TRY(letters_recover(job, ck, found, err));
    for (uint32_t i = 0; i < job->n_nodes; i++) {
        if (job->where[i] < 0) continue;
        node *n = &job->workers[job->where[i]].nodes[i];
        if (!n->sink) continue;
        const wr_section *s = found ? wr_checkpoint_find(ck, WR_SECTION_SINK, wr_str_of(n->p->id)) : NULL;
        WR_TRY(n->sink->vt->recover(n->sink, found ? staged_epoch(ck, n->p) : 0, s ? s->content : (wr_str){"", 0}, err));
    }
    return WR_OK;
}

static wr_status load_sections(wr_job *job, const wr_checkpoint *ck, wr_err *err) {
    bool in_flight = inflight_workers(ck) == job->n_workers;
    for (uint32_t i = 0; i < ck->sections.n; i++) {
        const wr_section *s = &ck->sections.at[i];
        switch (s->kind) {
        case WR_SECTION_SOURCE: WR_TRY(load_source(job, s, err)); break;
        case WR_SECTION_OPERATOR:
            WR_TRY(load_operator(job, s, in_flight, err));
            break;
        case WR_SECTION_LEDGER:
            if (!snapshot_superseded(ck, i)) load_ledger(job, s);
            break;
        case WR_SECTION_JOB: case WR_SECTION_SINK: case WR_SECTION_FILES: case WR_SECTION_FILE: case WR_SECTION_ABOUT: case WR_SECTION_PLAN:
        case WR_SECTION_CHANNELS: break; /* the last: inflight.c */
        case WR_SECTION_REFUSED: load_refused(job, s); break;
        }
    }
    return WR_OK;
}

wr_status snapshot_restore(wr_job *job, wr_err *err) {
    if (!job->opts.state_dir) return WR_OK;
    const wr_checkpoint *ck = &job->restored;
    bool found = job->restored_found;
    if (found && !job->finished_before) WR_TRY(image_restore(job, err));
    if (found) WR_TRY(load_sections(job, ck, err));
    if (found) note_apart(job, ck);
    if (found && !job->finished_before) WR_TRY(inflight_restore(job, ck, err));
    for (uint32_t k = 0; found && k < job->n_workers; k++)
        for (uint32_t i = 0; i < job->n_nodes; i++) job->workers[k].nodes[i].letters_epoch = ck->epoch + 1;
    WR_TRY(recover_sinks(job, ck, found, err));
    if (found) {
        job->restored_epoch = ck->epoch;
        atomic_store(&job->barrier_epoch, ck->epoch);
        atomic_store(&job->commit_epoch, ck->epoch);
        for (uint32_t k = 0; k < job->n_workers; k++) job->workers[k].barrier_sent = job->workers[k].committed = ck->epoch;
    }
    if (found) views_restored(job, inflight_workers(ck) != 0);
    wr_checkpoint_close(&job->restored);
    return WR_OK;
}
