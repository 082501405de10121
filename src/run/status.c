/* run/status.c: what a running or ended job reports: counts per node summed over workers, sources, memory. The ledger: ledger.c.
 *
 * Idea       a reader raises report_want; every worker copies its counters in its next step (worker_report), so counters are plain integers on
 *            the row path and a report never stops a worker. While the job runs the copy may be one step old.
 * Thread     any.                                                                                                              */
#include "run/internal.h"
#include <inttypes.h>
#include <stdio.h>

/* Of several workers: of the function that takes most anywhere, what it takes everywhere. */
static void calls_add(wr_prog_cost *into, const wr_prog_cost *from) {
    if (!into->first_user) into->first_user = from->first_user;
    bool same = into->most && from->most && !strcmp(into->most, from->most);
    into->all_ns += from->all_ns;
    if (same) into->most_ns += from->most_ns;
    else if (from->most_ns > into->most_ns) into->most_ns = from->most_ns, into->most = from->most, into->user = from->user;
}

static void usage_add(wr_op_usage *into, const wr_op_usage *from) {
    into->state_bytes += from->state_bytes;
    into->keys += from->keys;
    into->rows += from->rows;
    into->tier_keys += from->tier_keys;
    into->tier_loads += from->tier_loads;
    into->tier_evictions += from->tier_evictions;
    into->tier_asked += from->tier_asked;
    into->tier_read_ns += from->tier_read_ns;
    into->tier_write_ns += from->tier_write_ns;
    into->lookup_questions += from->lookup_questions;
    into->lookup_answer_us += from->lookup_answer_us;
    calls_add(&into->calls, &from->calls);
    into->lookup_hits += from->lookup_hits;
    into->lookup_asked += from->lookup_asked;
    into->lookup_retries += from->lookup_retries;
    into->lookup_reloads += from->lookup_reloads;
    into->cache_bytes += from->cache_bytes;
    into->greedy += from->greedy;
    into->spills = into->spills || from->spills;
    if (from->oldest_us < into->oldest_us) into->oldest_us = from->oldest_us;
}

static void add_latency(wr_node_status *s, const node_report *r, wr_arena *arena) {
    if (!s->latency) s->latency = wr_new(arena, wr_hist);
    wr_hist_merge((wr_hist *)(uintptr_t)s->latency, r->latency);
    s->taken_us = WR_MAX(s->taken_us, r->taken_us);
}

static void sum_nodes(wr_job *job, wr_job_status *out) {
    wr_mutex_lock(job->report_lock);
    for (uint32_t i = 0; i < job->n_nodes; i++) {
        wr_node_status *s = &out->nodes[i];
        s->node = job->plan->nodes.at[i];
        s->lives = job->lives[i];
        s->chained = job_chained(job, s->node);
        s->usage.oldest_us = WR_TIME_MAX;
        s->watermark_us = WR_TIME_MAX;
        s->account_bytes = wr_account_bytes(&job->accts[i]);
        s->account_peak_bytes = atomic_load_explicit(&job->accts[i].peak, memory_order_relaxed);
        for (uint32_t k = 0; k < job->n_workers; k++) {
            const node_report *r = &job->reports[k * job->n_nodes + i];
            if (job->where[i] >= 0 && job->where[i] != (int)k) continue;
            wr_ledger_add(&s->ledger, &r->ledger);
            if (r->detail && !s->detail) s->detail = wr_new(out->arena, wr_detail);
            if (r->detail) wr_detail_add(s->detail, r->detail);
            if (r->steps) usage_add(&s->usage, &r->usage);
            s->steps += r->steps;
            s->blocked_steps += r->blocked_steps;
            if (r->latency) add_latency(s, r, out->arena);
            s->watermark_us = WR_MIN(s->watermark_us, r->wm);
            s->on[k].rows_in = r->ledger.in[0] + r->ledger.in[1];
            for (uint32_t c = 0; c < r->n_refused && s->n_refused < WR_REFUSED_CODES_MAX; c++) s->refused[s->n_refused++] = r->refused[c];
        }
        if (s->node->kind == WR_P_SOURCE || s->node->kind == WR_P_VALUES) out->rows_in += s->ledger.out;
        if (s->node->kind == WR_P_SINK || s->node->kind == WR_P_VIEW) out->rows_out += s->ledger.out;
    }
    skew_status(job, out);
    wr_mutex_unlock(job->report_lock);
}

static void describe_holder(const wr_job *job, const source *s, const part_state *p, wr_source_status *out) {
    int64_t active_us = p->n_turns ? p->active_us : job->started_wall_us;
    out->held_wm_us = p->wm;
    out->held_silent_us = WR_MAX(wr_wall_us(job->opts.world) - active_us, (int64_t)0);
    out->held_gap_us = p->n_turns > 1 ? (double)(p->active_us - p->first_active_us) / (double)(p->n_turns - 1) : 0;
    out->others_rows = s->n_rows - p->source_rows;
    for (uint32_t i = 0; i < s->parts.n; i++) out->ahead_wm_us = WR_MAX(out->ahead_wm_us, s->parts.at[i].wm);
}

static void describe_jump(const source *s, wr_sbuf *text, wr_source_status *out) {
    wr_sbuf_clear(text);
    s->src->vt->partition_name(s->src, s->jump.partition, text);
    out->jump.from_us = s->jump.from_us, out->jump.to_us = s->jump.to_us, out->jump.wall_us = s->jump.wall_us, out->jump.row = s->jump.row;
    snprintf(out->jump.partition, sizeof out->jump.partition, "%.*s", WR_FMT(wr_sbuf_str(text)));
}

static void describe_source(wr_job *job, source *s, wr_source_status *out) {
    out->node = s->p;
    out->watermark_us = s->wm;
    out->first_us = s->first_us;
    out->disorder = s->disorder;
    out->last_us = WR_TIME_MIN;
    for (uint32_t i = 0; i < s->parts.n; i++) out->last_us = WR_MAX(out->last_us, s->parts.at[i].max_ts);
    out->ended = s->ended;
    out->waiting = s->waiting;
    out->read_us = s->read_us;
    if (!s->src) {
        snprintf(out->what, sizeof out->what, "VALUES, %u rows", s->p->values.n_rows);
        return;
    }
    wr_sbuf text = {0};
    s->src->vt->describe(s->src, &text);
    snprintf(out->what, sizeof out->what, "%.*s", WR_FMT(wr_sbuf_str(&text)));
    if (s->src->vt->left) {
        wr_sbuf_clear(&text);
        s->src->vt->left(s->src, &text);
        snprintf(out->left, sizeof out->left, "%.*s", WR_FMT(wr_sbuf_str(&text)));
    }
    s->src->vt->progress(s->src, &out->done, &out->total);
    if (!s->src->vt->bounded(s->src)) out->total = 0;
    pace_look(job, s);
    out->behind = s->behind, out->lag_us = s->lag_us, out->catching_up = s->catching_up && !s->ended, out->log = s->src->vt->log, out->messages = s->src->vt->messages && !out->log;
    out->overload = s->shed.policy, out->shedding = s->shed.on && !s->ended;
    if (s->src->vt->turned_away) out->turned_away = s->src->vt->turned_away(s->src);
    out->n_partitions = s->src->vt->partitions(s->src);
    int holder = -1;
    for (uint32_t i = 0; i < s->parts.n; i++) {
        const part_state *p = &s->parts.at[i];
        out->n_partitions_done += p->done;
        if (p->done || p->idle) continue;
        if (holder < 0 || p->wm < s->parts.at[holder].wm) holder = (int)i;
    }
    out->held_wm_us = out->ahead_wm_us = WR_TIME_MIN;
    if (holder >= 0 && s->p->source.watermark) {
        describe_holder(job, s, &s->parts.at[holder], out);
        wr_sbuf_clear(&text);
        s->src->vt->partition_name(s->src, (uint32_t)holder, &text);
        snprintf(out->held_by, sizeof out->held_by, "%.*s", WR_FMT(wr_sbuf_str(&text)));
    }
    if (s->jump.wall_us) describe_jump(s, &text, out);
    wr_sbuf_free(&text);
}

static void copy_history(wr_job *job, wr_job_status *out) {
    wr_mutex_lock(job->report_lock);
    out->checkpoints = job->epochs_done;
    out->n_history = (uint32_t)WR_MIN(job->epochs_done, (uint64_t)WR_CHECKPOINT_HISTORY);
    out->history = wr_new_n(out->arena, wr_checkpoint_report, out->n_history + 1);
    for (uint32_t i = 0; i < out->n_history; i++) out->history[i] = job->history[(job->epochs_done - out->n_history + i) % WR_CHECKPOINT_HISTORY];
    out->checkpoints_failed = job->attempts_failed;
    snprintf(out->checkpoint_error, sizeof out->checkpoint_error, "%s", job->attempt_error);
    wr_mutex_unlock(job->report_lock);
    if (!out->n_history) return;
    const wr_checkpoint_report *last = &out->history[out->n_history - 1];
    out->last_checkpoint_us = last->total_us;
    out->last_checkpoint_bytes = (int64_t)last->new_bytes;
}

void wr_job_checkpoint_text(const wr_job_status *s, wr_sbuf *out) {
    if (!s->n_history) return;
    const wr_checkpoint_report *r = &s->history[s->n_history - 1];
    const struct { const char *name; int64_t us; } parts[] = {{", waiting ", r->waiting_us}, {", snapshotting ", r->snapshotting_us},
                                                             {", writing ", r->writing_us}, {", uploading ", r->uploading_us}, {", committing ", r->committing_us}};
    wr_sbuf_printf(out, "checkpoint %" PRIu64 ": ", r->epoch);
    wr_text_duration(r->total_us, out);
    for (size_t i = 0; i < WR_COUNT_OF(parts); i++) {
        if (i == 3 && !r->uploaded_files) continue; /* to nowhere */
        wr_sbuf_addz(out, i ? parts[i].name : " = waiting "), wr_text_duration(parts[i].us, out);
    }
    wr_sbuf_addz(out, "; wrote ");
    wr_text_size((int64_t)r->new_bytes, out);
    wr_sbuf_addz(out, " of ");
    wr_text_size((int64_t)r->total_bytes, out);
    if (r->uploaded_files) wr_sbuf_addz(out, ", uploaded "), wr_text_size((int64_t)r->uploaded_bytes, out);
    if (r->overtaken_tasks) {
        wr_sbuf_printf(out, "; unaligned: barriers overtook %" PRIu64 " rows in flight (", r->in_flight_rows);
        wr_text_size((int64_t)r->in_flight_bytes, out);
        wr_sbuf_addc(out, ')');
    }
    if (r->last_task[0]) wr_sbuf_printf(out, "; last to get its barriers: %s", r->last_task);
    if (r->longest_task[0]) wr_sbuf_printf(out, "; longest pause: %s", r->longest_task);
    if (s->checkpoints_failed) wr_sbuf_printf(out, "; %" PRIu64 " attempts failed, the last: %s", s->checkpoints_failed, s->checkpoint_error);
}

void wr_checkpoint_report_json(const wr_checkpoint_report *r, wr_sbuf *out) {
    wr_sbuf_printf(out, "{\"epoch\":%" PRIu64 ",\"at_us\":%" PRIi64 ",\"waiting_us\":%" PRIi64 ",\"snapshotting_us\":%" PRIi64 ",\"writing_us\":%" PRIi64
                   ",\"uploading_us\":%" PRIi64 ",\"committing_us\":%" PRIi64 ",\"total_us\":%" PRIi64, r->epoch, r->at_us, r->waiting_us, r->snapshotting_us,
                   r->writing_us, r->uploading_us, r->committing_us, r->total_us);
    wr_sbuf_printf(out, ",\"aligned\":%s,\"overtaken_tasks\":%u,\"in_flight_rows\":%" PRIu64 ",\"in_flight_bytes\":%" PRIu64, r->overtaken_tasks ? "false" : "true",
                   r->overtaken_tasks, r->in_flight_rows, r->in_flight_bytes);
    wr_sbuf_printf(out, ",\"new_bytes\":%" PRIu64 ",\"total_bytes\":%" PRIu64 ",\"changed_bytes\":%" PRIu64 ",\"merged_bytes\":%" PRIu64
                   ",\"new_files\":%u,\"total_files\":%u,\"uploaded_bytes\":%" PRIu64 ",\"uploaded_files\":%u,\"failed_attempts\":%u,\"last_task\":",
                   r->new_bytes, r->total_bytes, r->changed_bytes, r->merged_bytes, r->new_files, r->total_files, r->uploaded_bytes, r->uploaded_files,
                   r->failed_attempts);
    wr_sbuf_add_json(out, wr_str_of(r->last_task));
    wr_sbuf_addz(out, ",\"longest_task\":");
    wr_sbuf_add_json(out, wr_str_of(r->longest_task));
    wr_sbuf_addc(out, '}');
}

void wr_job_checkpoints_json(const wr_job_status *s, wr_sbuf *out) {
    wr_sbuf_addc(out, '[');
    for (uint32_t i = 0; i < s->n_history; i++) {
        if (i) wr_sbuf_addc(out, ',');
        wr_checkpoint_report_json(&s->history[i], out);
    }
    wr_sbuf_addc(out, ']');
}

void wr_job_status_get(wr_job *job, wr_job_status *out) {
    memset(out, 0, sizeof *out);
    out->arena = wr_arena_new(NULL);
    out->mono_us = wr_mono_us(job->opts.world), out->wall_us = wr_wall_us(job->opts.world);
    atomic_fetch_add(&job->report_want, 1);
    out->n_nodes = job->n_nodes;
    out->nodes = wr_new_n(out->arena, wr_node_status, job->n_nodes + 1);
    out->n_workers = job->n_workers;
    meter_status(job, out);
    wr_tier_cost tier;
    wr_tier_cost_get(job->tier, &tier);
    out->tier.get_ns = tier.get_ns, out->tier.reads = tier.reads, out->tier.read_ns = tier.read_ns;
    sum_nodes(job, out);
    out->n_sources = job->n_sources;
    out->sources = wr_new_n(out->arena, wr_source_status, job->n_sources + 1);
    wr_mutex_lock(job->turn_lock);
    for (uint32_t i = 0; i < job->n_sources; i++) {
        source         *s = &job->sources[i];
        wr_node_status *n = &out->nodes[s->p->index];
        describe_source(job, s, &out->sources[i]);
        refuser_report(&s->refused, n->refused, &n->n_refused);
        out->sources[i].shed = n->ledger.dropped[WR_REASON_SHED];
    }
    wr_mutex_unlock(job->turn_lock);
    out->running_us = wr_mono_us(job->opts.world) - job->started_us;
    out->memory_bytes = wr_account_bytes(job->opts.acct);
    out->memory_peak_bytes = atomic_load_explicit(&job->opts.acct->peak, memory_order_relaxed);
    out->memory_limit_bytes = job->opts.acct->limit;
    out->queue_bytes = wr_account_bytes(&job->queue_acct);
    budget_status(job, &out->budget);
    out->checkpoint_epoch = atomic_load(&job->commit_epoch);
    out->restored_epoch = job->restored_epoch;
    copy_history(job, out);
    out->paced = job->pace.bytes_per_s || job->pace.rows_per_s;
    out->finished = job->finished;
    out->finished_before = job->finished_before;
    out->upgraded = job->generation > 0;
}
