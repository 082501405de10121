/* run/job.c: the life of a job: build, restore, start workers, coordinate checkpoints, end, report.
 *
 * Threads    the caller of wr_job_run is the coordinator; one thread per worker beside it, or none in simulation, where the coordinator
 *            calls worker_step in an order drawn from the seed and may "crash" after a number of steps.
 * End        all sources ended and all tasks saw the end watermark; or wr_job_stop: with a state directory a last checkpoint is completed
 *            first; or an error of any worker, which is kept (the first one) and returned.                                        */
#include "run/internal.h"
#include "run/view.h"
#include "base/hash.h"
#include <stdio.h>

enum { CHECKPOINT_EVERY_US = 10000000, TICK_US = 50000, CALM_TICK_US = 100000 };

static wr_job *alloc_job(const wr_job_plan *plan, const wr_run_opts *opts) {
    wr_job *job = wr_calloc(1, sizeof *job);
    job->plan = plan;
    job->opts = *opts;
    job->arena = wr_arena_new(NULL);
    job->n_workers = WR_MIN(WR_MAX(opts->n_workers, 1u), 64u);
    job->n_groups = opts->n_key_groups ? opts->n_key_groups : WR_KEY_GROUPS_DEFAULT;
    job->batch_rows = opts->batch_rows ? WR_MIN(opts->batch_rows, (uint32_t)WR_BATCH_MAX) : budget_batch_rows(opts->acct->limit, job->n_workers);
    job->n_nodes = plan->nodes.n;
    job->turn_lock = wr_mutex_new();
    job->err_lock = wr_mutex_new();
    job->snap_lock = wr_mutex_new();
    job->report_lock = wr_mutex_new();
    job->bell = wr_bell_new();
    wr_account_init(&job->queue_acct, opts->acct, "queues", 0);
    wr_account_init(&job->buffer_acct, opts->acct, "input buffers", 0);
    wr_account_init(&job->turn_acct, &job->buffer_acct, "turns", 0);
    wr_account_init(&job->snap_acct, opts->acct, "checkpoint", 0);
    wr_account_init(&job->tier_acct, opts->acct, "tier", 0);
    return job;
}

wr_status job_bare(const wr_job_plan *plan, const wr_run_opts *opts, wr_job **out, wr_err *err) {
    *out = alloc_job(plan, opts);
    wr_status status = job_build(*out, err);
    if (status == WR_OK) return WR_OK;
    wr_job_free(*out);
    *out = NULL;
    return status;
}

/* *former: the checkpoint holds rows in flight and needs so many workers; there is no job then. */
static wr_status make_job(const wr_job_plan *plan, const wr_run_opts *opts, bool settling, wr_job **out, uint32_t *former, wr_err *err) {
    wr_job *job = alloc_job(plan, opts);
    job->settling = settling;
    wr_status status = pace_open(job, err);
    if (status == WR_OK) status = image_open(job, err);
    *out = NULL;
    *former = status == WR_OK && job->restored_found && !job->finished_before ? inflight_workers(&job->restored) : 0;
    if (*former == job->n_workers) *former = 0;
    if (*former) {
        wr_job_free(job);
        return WR_OK;
    }
    if (status == WR_OK) status = job_build(job, err);
    if (status == WR_OK) status = sources_open(job, err);
    if (status == WR_OK) status = letters_open(job, err);
    if (status == WR_OK) status = snapshot_restore(job, err);
    if (status == WR_OK) status = sources_limit(job, err);
    if (status == WR_OK) status = again_prepare_try(job, err);
    if (status == WR_OK) status = budget_start(job, err);
    if (status != WR_OK) {
        wr_job_free(job);
        return status;
    }
    job->started_us = wr_mono_us(opts->world);
    job->started_wall_us = wr_wall_us(opts->world);
    job->last_checkpoint_mono_us = job->started_us;
    *out = job;
    return WR_OK;
}

/* Works off what is in flight with as many workers as the checkpoint was made with: reads nothing, makes a checkpoint behind it all. */
static wr_status settle(const wr_job_plan *plan, const wr_run_opts *opts, uint32_t n_workers, wr_err *err) {
    wr_run_opts as_then = *opts;
    wr_job     *job;
    uint32_t    former;
    as_then.n_workers = n_workers;
    as_then.until = NULL;
    as_then.tick = NULL;
    WR_TRY(make_job(plan, &as_then, true, &job, &former, err));
    wr_assert(job);
    wr_job_stop(job);
    wr_status status = wr_job_run(job, err);
    wr_job_free(job);
    return status;
}

wr_status wr_job_new(const wr_job_plan *plan, const wr_run_opts *opts, wr_job **out, wr_err *err) {
    uint32_t former;
    WR_TRY(make_job(plan, opts, false, out, &former, err));
    if (!former) return WR_OK;
    WR_TRY(settle(plan, opts, former, err));
    WR_TRY(make_job(plan, opts, false, out, &former, err));
    wr_assert(*out);
    return WR_OK;
}

void wr_job_free(wr_job *job) {
    if (!job) return;
    snapshot_close(job);
    job_unbuild(job);
    views_close(job);
    letters_close(job);
    again_free(job);
    image_close(job);
    if (job->sources) sources_close(job);
    for (uint32_t k = 0; job->workers && k < job->n_workers; k++) wr_bell_free(job->workers[k].bell); /* sources ring them (wr_connect_ctx.wake) */
    wr_mutex_free(job->turn_lock);
    wr_mutex_free(job->err_lock);
    wr_mutex_free(job->snap_lock);
    wr_mutex_free(job->report_lock);
    wr_bell_free(job->bell);
    wr_arena_free(job->arena);
    wr_free(job);
}

void wr_job_stop(wr_job *job) {
    int expected = 0;
    atomic_compare_exchange_strong(&job->stop, &expected, 1);
}

static bool all_done(wr_job *job) { return atomic_load(&job->tasks_left) == 0 && atomic_load(&job->sources_left) == 0; }

static bool checkpoint_due(const wr_job *job) {
    if (!job->opts.state_dir || job->epoch_open || job->opts.checkpoint_every_steps) return false;
    int64_t every = job->opts.checkpoint_interval_us ? job->opts.checkpoint_interval_us : CHECKPOINT_EVERY_US;
    return again_wants_checkpoint(job) || letters_waiting(job) > LETTERS_SOON_BYTES || wr_mono_us(job->opts.world) - job->last_checkpoint_mono_us >= every; /* not the wall clock: it may be set back */
}

/* One turn of the coordinator; *leave when the workers should go. */
static wr_status coordinate(wr_job *job, bool *leave, wr_err *err) {
    *leave = false;
    if (atomic_load(&job->failed)) {
        *leave = true;
        return WR_OK;
    }
    inflight_consider(job);
    cut_consider(job);
    WR_TRY(snapshot_poll(job, err));
    WR_TRY(letters_flush(job, err));
    WR_TRY(budget_watch(job, err));
    if (all_done(job) && !job->epoch_open) { /* an open epoch is completed first: its sinks may have prepared */
        job->finished = *leave = true;
        return WR_OK;
    }
    if (job->opts.until && sources_at_limit(job)) wr_job_stop(job);
    bool over;
    WR_TRY(again_look(job, &over, err));
    if (over && job->finished_before) { /* it ends once more */
        job->finished = *leave = true;
        return WR_OK;
    }
    if (over) wr_job_stop(job);
    bool stopping = atomic_load(&job->stop) == 1;
    if (stopping && !job->opts.state_dir) {
        *leave = true;
        return WR_OK;
    }
    if (stopping && !job->epoch_open) {
        if (job->stop_saved) *leave = true;
        else snapshot_trigger(job), job->stop_saved = true;
    } else if ((checkpoint_due(job) || (job->asked == ASKED && !job->epoch_open)) && !all_done(job)) {
        snapshot_trigger(job);
    }
    return WR_OK;
}

static wr_status run_threads(wr_job *job, wr_err *err) {
    wr_world *world = job->opts.world;
    uint32_t  started = 0;
    wr_status status = WR_OK;
    for (; started < job->n_workers && status == WR_OK; started++) {
        char name[16];
        snprintf(name, sizeof name, "weir-%u", started);
        status = world->vt->spawn(world, name, worker_run, &job->workers[started], &job->workers[started].thread, err);
        if (status != WR_OK) break;
    }
    for (bool leave = false; status == WR_OK && !leave;) {
        status = coordinate(job, &leave, err);
        image_tick(job);
        if (job->opts.tick) job->opts.tick(job->opts.tick_arg, job);
        if (!leave && status == WR_OK) wr_bell_wait(job->bell, inflight_wait_us(job, job_calm(job) ? CALM_TICK_US : TICK_US));
    }
    atomic_store(&job->stop, 2);
    job_wake_all(job);
    for (uint32_t k = 0; k < started; k++) world->vt->join(world, job->workers[k].thread);
    if (status != WR_OK || atomic_load(&job->failed)) image_cancel(job);
    image_join(job);
    return status;
}

static wr_status run_simulated(wr_job *job, wr_err *err) {
    wr_rng rng;
    wr_rng_seed(&rng, job->opts.seed);
    for (uint64_t step = 1;; step++) {
        job->steps = step;
        worker *w = &job->workers[wr_rng_below(&rng, job->n_workers)];
        bool    progress, leave;
        WR_TRY(worker_step(w, &progress, err));
        if (job->opts.crash_after_steps && step >= job->opts.crash_after_steps)
            return wr_fail(err, WR_CANCELLED, "WR900", "simulated crash after %llu steps", (unsigned long long)step);
        uint64_t every = job->opts.checkpoint_every_steps;
        if (every && step % every == 0 && job->opts.state_dir && !job->epoch_open && !all_done(job)) snapshot_trigger(job);
        WR_TRY(coordinate(job, &leave, err));
        if (job->opts.tick && step % 64 == 0) job->opts.tick(job->opts.tick_arg, job);
        if (leave) return WR_OK;
    }
}

static wr_status end_sinks(wr_job *job, wr_err *err) {
    views_end(job);
    if (job->opts.state_dir && job->finished) WR_TRY(snapshot_final(job, err));
    for (uint32_t k = 0; k < job->n_workers; k++)
        for (uint32_t i = 0; i < job->n_nodes; i++) {
            node *n = &job->workers[k].nodes[i];
            if (!n->p || !n->sink) continue;
            if (n->flush_always) WR_TRY(n->sink->vt->flush(n->sink, err));
            wr_sink *sink = n->sink;
            n->sink = NULL;
            WR_TRY(sink->vt->close(sink, true, err));
        }
    return letters_end(job, err);
}

wr_status wr_job_run(wr_job *job, wr_err *err) {
    if (job->finished_before && job->opts.again_only && !again_after_end(job)) {
        wr_fail(err, WR_USER, "WR397", "the job of %s has ended: its state is gone with the end of its input, so nothing can be put back", job->opts.state_dir);
        wr_err_hint(err, "run the corrected script from the start: weir run --fresh");
        return WR_USER;
    }
    if (job->finished_before && !job->opts.again_only) {
        if (letters_waiting(job)) WR_TRY(snapshot_final(job, err)); /* it was killed between the last commit and the letters of that */
        job->finished = true;
        atomic_fetch_add(&job->report_want, 1);
        for (uint32_t k = 0; k < job->n_workers; k++) worker_report(&job->workers[k]);
        wr_view_set_end(job->views.set);
        return WR_OK;
    }
    if (job->opts.state_dir && !job->restored_epoch) WR_TRY(snapshot_first(job, err));
    wr_status status = job->opts.simulate ? run_simulated(job, err) : run_threads(job, err);
    if (status == WR_OK && atomic_load(&job->failed)) {
        *err = job->err;
        status = job->err.status;
    }
    atomic_fetch_add(&job->report_want, 1);
    for (uint32_t k = 0; k < job->n_workers; k++) worker_report(&job->workers[k]);
    if (status == WR_OK) {
        status = end_sinks(job, err);
        atomic_fetch_add(&job->report_want, 1); /* the last commit may have refused rows */
        for (uint32_t k = 0; k < job->n_workers; k++) worker_report(&job->workers[k]);
        return status;
    }
    wr_err ignored;
    if (!job->opts.state_dir) (void)!letters_end(job, &ignored); /* what was refused before the job failed */
    return status;
}
