/* run/image.c: what lies on disk beside a running job: its state directory with a lock, the tier, and the thread that writes a checkpoint.
 *
 * Idea       when all tasks have acknowledged, one thread makes the tier's image (hard links), moves new files into the checkpoint's store, writes the
 *            manifest, and rings the coordinator, which then lets the sinks commit. Workers meanwhile go on. In simulation the thread is a call.
 * Failure    an attempt that fails after the tier's part was made may be tried again: nothing of the cut is lost, the sinks have not committed.
 *            'execution.checkpointing.tolerable-failed-checkpoints' says how often in a row; then, and for the tier's own failures, the job ends.
 * Away       with checkpoint_to the same thread then uploads what the object store lacks (checkpoint/away.c), and only then the checkpoint counts. So
 *            no sink ever commits what the store does not have: another machine can go on from there with the same rows. It holds at the start too.
 * Layout     STATE_DIR/checkpoint-N.weir, files/: checkpoint/. tier/: the tier's working directory, image/: its links on their way; both are scratch.
 *            lock: held by the process that runs on it, which wrote its number there.
 * Thread     image_run: the I/O thread; the rest: the coordinator.                                                              */
#include "run/internal.h"
#include "run/swap.h"
#include "remote/remote.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { ATTACH_BYTES = 1 << 20, RETRY_US = 1000000, LOOK_US = 100000, LOCK_TRIES = 10, LOCK_WAIT_US = 30000 };

/* ---- the directory ---- */
static wr_status take_lock(wr_job *job, wr_err *err) {
    const char *dir = job->opts.state_dir;
    long        holder = 0;
    for (int i = 0; i < LOCK_TRIES; i++) { /* `weir state` looks whether it is free: that takes a moment */
        if (i) job->opts.world->vt->sleep_us(job->opts.world, LOCK_WAIT_US);
        WR_TRY(wr_state_lock(job->opts.world, dir, &job->lock, &holder, err));
        if (!holder) return WR_OK;
    }
    if (holder > 0) wr_fail(err, WR_IO, "WR306", "the state directory %s is in use by another weir (process %ld)", dir, holder);
    else wr_fail(err, WR_IO, "WR306", "the state directory %s is in use by another weir", dir);
    wr_err_hint(err, "stop that one first, or give this job a --state-dir of its own");
    return WR_IO;
}

/* ---- the object store ---- */
static wr_status open_away(wr_job *job, wr_err *err) {
    const wr_run_opts *o = &job->opts;
    if (!o->checkpoint_to || !o->checkpoint_to[0] || o->simulate) return WR_OK;
    if (o->state_dir) return wr_checkpoint_away_open(o->world, o->state_dir, o->checkpoint_to, o->checkpoints_kept, &job->away, err);
    wr_fail(err, WR_USER, "WR331", "checkpoints are to be copied to %s, but there are none without a state directory", o->checkpoint_to);
    wr_err_hint(err, "--state-dir DIR, a local directory");
    return WR_USER;
}

static wr_status no_savepoint(const char *where, wr_err *err) {
    wr_fail(err, WR_USER, "WR307", "there is no savepoint in %s", where);
    wr_err_hint(err, wr_remote_is_url(where) ? "weir run --state-dir DIR --checkpoint-to %s puts checkpoints there" : "weir savepoint STATE_DIR %s makes one", where);
    return WR_USER;
}

/* Nothing in the directory: a new machine. What the store has is put into it, and is then as if it had always been there. */
static wr_status fetch_away(wr_job *job, wr_checkpoint_away *away, bool take, wr_err *err) {
    const wr_run_opts *o = &job->opts;
    bool               found;
    WR_TRY(wr_checkpoint_away_fetch(away, o->accept_older, take, &found, err));
    return found ? wr_checkpoint_open(o->world, o->state_dir, false, &job->restored, &job->restored_found, err) : WR_OK;
}

static wr_status fetch_restore(wr_job *job, wr_err *err) {
    const wr_run_opts  *o = &job->opts;
    wr_checkpoint_away *from = NULL;
    WR_TRY(wr_checkpoint_away_open(o->world, o->state_dir, o->restore_from, 0, &from, err));
    wr_status status = fetch_away(job, from, false, err);
    wr_checkpoint_away_free(from);
    return status != WR_OK || job->restored_found ? status : no_savepoint(o->restore_from, err);
}

/* What the job goes on from must be there before the sinks commit what it stands for: an upload may have been cut off, or the state was changed since
 * (weir upgrade, weir backfill). */
static wr_status follow_away(wr_job *job, wr_err *err) {
    const wr_checkpoint   *ck = &job->restored;
    wr_checkpoint_uploaded up = {0};
    WR_TRY(wr_checkpoint_away_take(job->away, err));
    if (!job->restored_found || job->restored_dir != job->opts.state_dir) return WR_OK;
    return wr_checkpoint_away_upload(job->away, ck->epoch, ck->files.at, ck->files.n, &up, err);
}

/* ---- where to begin ---- */
static wr_status find_local(wr_job *job, wr_err *err) {
    const wr_run_opts *o = &job->opts;
    if (o->fresh) {
        if (job->away) WR_TRY(wr_checkpoint_away_check(job->away, UINT64_MAX, false, err));
        WR_TRY(wr_checkpoint_clear(o->world, o->state_dir, err));
        return job->away ? wr_checkpoint_away_clear(job->away, err) : WR_OK;
    }
    WR_TRY(wr_checkpoint_open(o->world, o->state_dir, o->accept_older, &job->restored, &job->restored_found, err));
    if (!job->away) return WR_OK;
    return job->restored_found ? wr_checkpoint_away_check(job->away, job->restored.epoch, o->accept_older, err) : fetch_away(job, job->away, true, err);
}

static wr_status find_checkpoint(wr_job *job, wr_err *err) {
    const wr_run_opts *o = &job->opts;
    WR_TRY(find_local(job, err));
    job->restored_dir = o->state_dir;
    if (!job->restored_found && o->restore_from && wr_remote_is_url(o->restore_from)) WR_TRY(fetch_restore(job, err));
    /* Its writer may have died, or its sync failed, after the rename: the name must last before sinks commit what it stands for. */
    if (job->restored_found) WR_TRY(o->world->vt->sync_dir(o->world, o->state_dir, err));
    if (!job->restored_found && o->restore_from) {
        WR_TRY(wr_checkpoint_open(o->world, o->restore_from, o->accept_older, &job->restored, &job->restored_found, err));
        if (!job->restored_found) return no_savepoint(o->restore_from, err);
        job->restored_dir = o->restore_from;
    }
    if (job->restored_found) WR_TRY(snapshot_check(job, err));
    return job->away ? follow_away(job, err) : WR_OK;
}

static wr_status open_directory(wr_job *job, wr_err *err) {
    const wr_run_opts *o = &job->opts;
    WR_TRY(o->world->vt->make_dirs(o->world, o->state_dir, err));
    WR_TRY(take_lock(job, err));
    WR_TRY(wr_swap_finish(o->world, o->state_dir, err)); /* a backfill that was interrupted while it put its outputs in their place */
    WR_TRY(wr_dir_remove(o->world, wr_arena_printf(job->arena, "%s/tier", o->state_dir), err)); /* a crash may have left them */
    WR_TRY(wr_dir_remove(o->world, job->image.dir, err));
    job->store = wr_checkpoint_store_new(o->world, o->state_dir, o->checkpoints_kept);
    WR_TRY(open_away(job, err));
    return find_checkpoint(job, err);
}

wr_status image_open(wr_job *job, wr_err *err) {
    const wr_run_opts *o = &job->opts;
    const char *temp = getenv("TMPDIR");
    char *dir = o->state_dir ? wr_arena_printf(job->arena, "%s/tier", o->state_dir)
                             : wr_arena_printf(job->arena, "%s/weir-tier-%016" PRIx64, temp && *temp ? temp : "/tmp", o->world->vt->random(o->world));
    if (o->state_dir) job->image.dir = wr_arena_printf(job->arena, "%s/image", o->state_dir);
    int64_t attach = o->tier_attach_bytes < 0 ? 0 : o->tier_attach_bytes ? o->tier_attach_bytes : ATTACH_BYTES;
    if (!o->state_dir) attach = INT64_MAX; /* nothing is saved */
    wr_tier_opts tier = {.world = o->world, .dir = dir, .acct = &job->tier_acct, .attach_bytes = attach, .threads = !o->simulate, .scratch = !o->state_dir};
    tier.memory_bytes = budget_tier_bytes(o->acct->limit);
    tier.filter_bytes = budget_filter_bytes(o->acct->limit);
    job->tier = wr_tier_new(&tier);
    return o->state_dir ? open_directory(job, err) : open_away(job, err);
}

void image_close(wr_job *job) {
    wr_world *world = job->opts.world;
    wr_tier_free(job->tier);
    wr_free(job->image.files);
    wr_err ignored;
    if (job->image.dir && job->lock) (void)!wr_dir_remove(world, job->image.dir, &ignored);
    wr_checkpoint_store_free(job->store);
    wr_checkpoint_away_free(job->away);
    world->vt->file_close(world, job->lock);
}

wr_status image_restore(wr_job *job, wr_err *err) {
    const wr_checkpoint *ck = &job->restored;
    if (job->restored_dir == job->opts.state_dir) wr_checkpoint_store_know(job->store, ck);
    if (!ck->files.n) return WR_OK;
    WR_TRY(job->opts.world->vt->make_dirs(job->opts.world, wr_tier_dir(job->tier), err));
    WR_TRY(wr_checkpoint_place(job->opts.world, job->restored_dir, ck, wr_tier_dir(job->tier), err));
    return wr_tier_restore(job->tier, err);
}

/* ---- one image ---- */
void image_begin(wr_job *job, uint64_t epoch) {
    wr_free(job->image.files);
    job->image.files = NULL;
    job->image.n_files = job->image.next = 0;
    job->image.made = job->image.local = false;
    job->image.changed_bytes = job->image.merged_bytes = 0;
    job->image.up = (wr_checkpoint_uploaded){0};
    job->image.retry_at_us = 0;
    if (job->asked == ASKED) job->asked = ASKED_UNDER_WAY;
    wr_tier_begin(job->tier, epoch);
}

/* In the state directory, then in the object store: there only what that lacks, also when it is tried again. */
static wr_status put_down(wr_job *job, wr_err *err) {
    image *im = &job->image;
    if (!im->local) WR_TRY(wr_checkpoint_commit(job->store, &job->snap, &im->written, err));
    if (!job->away) return WR_OK;
    if (!im->local) im->local_us = wr_mono_us(job->opts.world);
    im->local = true;
    return wr_checkpoint_away_upload(job->away, job->snap.epoch, job->snap.files.at, job->snap.files.n, &im->up, err);
}

static wr_status make_image(wr_job *job, wr_err *err) {
    image *im = &job->image;
    if (!im->made) {
        WR_TRY(letters_prepare(job, job->snap.epoch, err)); /* not tried again: after a sync that failed, the next one says that all is well */
        WR_TRY(wr_tier_image(job->tier, im->dir, &im->files, &im->n_files, &im->changed_bytes, err));
        wr_tier_stats tier;
        wr_tier_stats_get(job->tier, &tier);
        im->merged_bytes = tier.merged_bytes - im->merged_before;
        im->merged_before = tier.merged_bytes;
        im->made = true;
    }
    for (; im->next < im->n_files; im->next++) {
        const wr_tier_file *f = &im->files[im->next];
        WR_TRY(wr_checkpoint_add_file(job->store, &job->snap, f->name, f->path, f->sorted, err));
    }
    return put_down(job, err);
}

static void image_run(void *arg) {
    wr_job *job = arg;
    job->image.status = make_image(job, &job->image.err);
    atomic_store(&job->image.done, true);
    wr_bell_ring(job->bell);
}

wr_status image_start(wr_job *job, wr_err *err) {
    image *im = &job->image;
    atomic_store(&im->done, false);
    im->retry_at_us = 0;
    im->err = (wr_err){0};
    if (job->opts.simulate) {
        image_run(job);
        return WR_OK;
    }
    WR_TRY(job->opts.world->vt->spawn(job->opts.world, "weir-checkpoint", image_run, job, &im->thread, err));
    im->running = true;
    return WR_OK;
}

void image_join(wr_job *job) {
    if (job->image.running) job->opts.world->vt->join(job->opts.world, job->image.thread);
    job->image.running = false;
}

/* The attempt failed: another one soon, if that is allowed. */
static bool may_retry(wr_job *job) {
    image *im = &job->image;
    wr_mutex_lock(job->report_lock);
    job->attempts_failed++;
    snprintf(job->attempt_error, sizeof job->attempt_error, "%.255s", im->err.message);
    wr_mutex_unlock(job->report_lock);
    if (im->status != WR_IO || !im->made || job->times.failed_attempts >= job->opts.failed_checkpoints) return false;
    job->times.failed_attempts++;
    im->retry_at_us = job->opts.simulate ? 1 : wr_mono_us(job->opts.world) + RETRY_US;
    return true;
}

void image_cancel(wr_job *job) { wr_checkpoint_away_cancel(job->away); }

wr_status image_commit(wr_job *job, wr_err *err) {
    image *im = &job->image;
    for (im->made = true;; job->opts.world->vt->sleep_us(job->opts.world, RETRY_US)) {
        im->err = (wr_err){0};
        im->status = put_down(job, &im->err);
        if (im->status == WR_OK) break;
        if (job->away && may_retry(job)) continue;
        *err = im->err;
        break;
    }
    im->retry_at_us = 0;
    return im->status;
}

bool image_poll(wr_job *job, wr_status *status, wr_err *err) {
    image *im = &job->image;
    *status = WR_OK;
    if (im->retry_at_us) {
        if (wr_mono_us(job->opts.world) < im->retry_at_us) return false;
        *status = image_start(job, err);
        return *status != WR_OK;
    }
    if (!atomic_load(&im->done)) return false;
    image_join(job);
    if (im->status == WR_OK) return true;
    if (may_retry(job)) return false;
    *status = im->status;
    *err = im->err;
    if (!err->place[0]) wr_err_place(err, "checkpoint %" PRIu64, job->snap.epoch);
    return true;
}

/* Barriers wait behind what is queued: not for long. Where a test sets the bound itself it stays. */
static void adapt_queues(wr_job *job, int64_t now_us) {
    int64_t since = job->image.looked_us ? now_us - job->image.looked_us : 0;
    job->image.looked_us = now_us;
    if (job->opts.queue_bytes || job->opts.simulate || !job->opts.state_dir) return;
    for (uint32_t e = 0; e < job->n_edges; e++)
        for (uint32_t i = 0; i < job->n_workers * job->n_workers; i++)
            if (job->edges[e].queues[i]) queue_adapt(job->edges[e].queues[i], job->queue_limit, since);
}

void image_tick(wr_job *job) {
    int64_t now = wr_mono_us(job->opts.world);
    if (now < job->image.look_us) return;
    job->image.look_us = now + LOOK_US;
    adapt_queues(job, now);
    if (job->opts.state_dir && job->asked == ASKED_NOT && wr_state_asked(job->opts.world, job->opts.state_dir)) {
        job->asked = ASKED;
        if (wr_state_asked_to_stop(job->opts.world, job->opts.state_dir)) wr_job_stop(job);
    }
    if (!wr_tier_is_open(job->tier)) return;
    wr_tier_stats stats;
    wr_tier_stats_get(job->tier, &stats);
}

/* A checkpoint that began after the request is complete. A failing answer is the asker's trouble: it waits, then says so. */
void image_answer(wr_job *job, uint64_t epoch) {
    wr_err ignored;
    if (job->asked != ASKED_UNDER_WAY) return;
    (void)!wr_state_answer(job->opts.world, job->opts.state_dir, epoch, &ignored);
    job->asked = ASKED_NOT;
}
