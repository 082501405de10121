/* run/upgrade_apply.c: carrying a checkpoint over to a new plan: what can be kept is renamed, the rest is rebuilt from the logs. See upgrade.h.
 *
 * Protocol   1. the checkpoint E is copied to STATE_DIR/before-upgrade (a savepoint: the way back). 2. If something has to be rebuilt, the new plan runs
 *            in STATE_DIR/rebuild from the start of its sources up to E's positions, outputs that existed before muted, and makes a checkpoint there.
 *            3. The manifest of E is written anew under its name (atomically): positions, staged rows and kept images of E under the new
 *            ids, images of what was rebuilt, the new plan. A crash before 3 leaves the old job as it was; after it, the new one goes on.
 * Invariant  the epoch stays E, so sinks that had not committed it yet still do, once. Rebuilt images are whole (not in the tier), and tables of the
 *            tier made from now on have another generation in their names: an old table is never taken for a new state.
 * Thread     the caller's; the job that owns the directory must not run (the lock is taken).                                     */
#include "run/internal.h"
#include "run/swap.h"
#include "run/upgrade.h"
#include <stdio.h>

typedef struct carry {
    const wr_job_plan *plan;
    const wr_run_opts *opts;
    const wr_upgrade  *upgrade;
    wr_checkpoint      old, made;      /* made: of the rebuild */
    bool               have_made;
    char               before[512], rebuild[512];
} carry;

static const wr_upgrade_line *line_of(const wr_upgrade *u, const wr_pnode *n) {
    for (uint32_t i = 0; i < u->lines.n; i++)
        if (u->lines.at[i].node == n) return &u->lines.at[i];
    return NULL;
}

/* The node of the new plan that a section of the old checkpoint belongs to; NULL: to none, or to one that is rebuilt. */
static const wr_pnode *heir(const carry *c, const wr_section *s) {
    for (uint32_t i = 0; i < c->plan->nodes.n; i++) {
        const wr_pnode        *n = c->plan->nodes.at[i];
        const wr_upgrade_line *l = line_of(c->upgrade, n);
        if (l && l->fate == WR_FATE_REBUILT) continue;
        if (wr_str_eq(s->owner, wr_str_of(l ? l->old_id : n->id))) return n;
    }
    return NULL;
}

static void put_copy(wr_checkpoint_writer *w, wr_section_kind kind, wr_str owner, const wr_section *s) {
    wr_sbuf content = {0};
    wr_sbuf_add_str(&content, s->content);
    wr_checkpoint_put(w, kind, owner, s->instance, &content);
}

void job_section_read(const wr_checkpoint *ck, uint32_t *groups, bool *finished, uint32_t *generation) {
    const wr_section *s = wr_checkpoint_find(ck, WR_SECTION_JOB, WR_STR("job"));
    *groups = 0, *finished = false, *generation = 0;
    if (!s) return;
    wr_reader in = {(const uint8_t *)s->content.ptr, (const uint8_t *)s->content.ptr + s->content.len, false};
    *groups = wr_get_u32(&in);
    *finished = wr_get_u8(&in);
    for (uint32_t n = wr_get_u32(&in); n > 0 && !in.bad; n--) (void)wr_get_bytes(&in);
    if (in.at < in.end) *generation = wr_get_u32(&in);
}

static void put_job(const carry *c, wr_checkpoint_writer *w) {
    uint32_t groups, generation;
    bool     finished;
    wr_sbuf  buf = {0}, plan = {0};
    job_section_read(&c->old, &groups, &finished, &generation);
    job_section_put(c->plan, groups, false, generation + 1, &buf);
    wr_checkpoint_put(w, WR_SECTION_JOB, WR_STR("job"), 0, &buf);
    wr_upgrade_put_plan(c->plan, &plan);
    wr_checkpoint_put(w, WR_SECTION_PLAN, WR_STR("plan"), 0, &plan);
    ledger_put_nodes(c->plan, &plan);
    wr_checkpoint_put(w, WR_SECTION_PLAN, WR_STR("nodes"), 0, &plan);
}

static void put_sections(const carry *c, wr_checkpoint_writer *w) {
    for (uint32_t i = 0; i < c->old.sections.n; i++) {
        const wr_section *s = &c->old.sections.at[i];
        if (s->kind == WR_SECTION_JOB || s->kind == WR_SECTION_PLAN || s->kind == WR_SECTION_FILES) continue;
        if (s->kind == WR_SECTION_FILE || wr_section_of_letters(s)) {
            put_copy(w, s->kind, s->owner, s);
            continue;
        }
        bool            of_staged = s->kind == WR_SECTION_SINK && wr_str_starts(s->owner, WR_STR(WR_STAGED_EPOCH_OWNER));
        size_t          skip = of_staged ? sizeof WR_STAGED_EPOCH_OWNER - 1 : 0;
        wr_section      of = *s;
        of.owner = (wr_str){s->owner.ptr + skip, s->owner.len - skip};
        const wr_pnode *n = heir(c, &of);
        wr_sbuf         owner = {0};
        if (n) wr_sbuf_printf(&owner, "%s%s", of_staged ? WR_STAGED_EPOCH_OWNER : "", n->id);
        if (n) put_copy(w, s->kind, wr_sbuf_str(&owner), s);
        wr_sbuf_free(&owner);
    }
    for (uint32_t i = 0; c->have_made && i < c->made.sections.n; i++) { /* staged rows of the rebuild are committed already */
        const wr_section *s = &c->made.sections.at[i];
        if (s->kind != WR_SECTION_OPERATOR && s->kind != WR_SECTION_ABOUT && s->kind != WR_SECTION_LEDGER) continue;
        for (uint32_t k = 0; k < c->plan->nodes.n; k++) {
            const wr_pnode        *n = c->plan->nodes.at[k];
            const wr_upgrade_line *l = line_of(c->upgrade, n);
            if (!wr_str_eq(s->owner, wr_str_of(n->id)) || !l || l->fate != WR_FATE_REBUILT) continue;
            put_copy(w, s->kind, s->owner, s);
        }
    }
    for (uint32_t i = 0; i < c->old.files.n; i++) wr_arr_push(&w->files, c->old.files.at[i]);
}

static wr_status compose(carry *c, wr_err *err) {
    wr_checkpoint_writer  w;
    wr_checkpoint_written written;
    wr_checkpoint_store  *store = wr_checkpoint_store_new(c->opts->world, c->opts->state_dir, c->opts->checkpoints_kept);
    wr_checkpoint_store_know(store, &c->old);
    wr_checkpoint_begin(&w, c->old.epoch);
    put_job(c, &w);
    put_sections(c, &w);
    wr_status status = wr_checkpoint_commit(store, &w, &written, err);
    wr_checkpoint_abandon(&w);
    wr_checkpoint_store_free(store);
    return status;
}

/* The new plan over the logs, up to the old checkpoint's positions. */
static wr_status rebuild(carry *c, wr_err *err) {
    wr_run_opts o = *c->opts;
    bool       *muted = wr_calloc(c->plan->nodes.n + 1, sizeof *muted);
    bool        finished, found = false;
    uint32_t    generation;
    for (uint32_t i = 0; i < c->plan->nodes.n; i++) {
        const wr_pnode        *n = c->plan->nodes.at[i];
        const wr_upgrade_line *l = line_of(c->upgrade, n);
        muted[i] = n->kind == WR_P_SINK && (n->sink.is_result || !l || l->fate != WR_FATE_REBUILT);
    }
    job_section_read(&c->old, &o.n_key_groups, &finished, &generation);
    o.state_dir = c->rebuild;
    o.fresh = true;
    o.restore_from = o.checkpoint_to = NULL;
    o.until = &c->old;
    o.muted = muted;
    o.checkpoint_interval_us = INT64_MAX / 4; /* none but the first and the last: the epochs stay below E */
    o.tier_attach_bytes = INT64_MAX;
    wr_job   *job = NULL;
    wr_status status = wr_job_new(c->plan, &o, &job, err);
    if (status == WR_OK) status = wr_job_run(job, err);
    wr_job_free(job);
    if (status == WR_OK) status = wr_checkpoint_open(o.world, c->rebuild, false, &c->made, &found, err);
    c->have_made = found;
    wr_free(muted);
    return status;
}

static wr_status run(carry *c, wr_err *err) {
    wr_world *world = c->opts->world;
    bool      found = false;
    WR_TRY(wr_checkpoint_open(world, c->opts->state_dir, c->opts->accept_older, &c->old, &found, err));
    wr_assert(found);
    WR_TRY(wr_checkpoint_check_settled(&c->old, "an upgrade", err));
    WR_TRY(wr_dir_remove(world, c->before, err));
    WR_TRY(wr_checkpoint_export(world, c->opts->state_dir, &c->old, c->before, err));
    if (c->upgrade->rebuild && c->old.epoch > 1) WR_TRY(rebuild(c, err)); /* epoch 1 stands before the first row */
    WR_TRY(compose(c, err));
    return wr_dir_remove(world, c->rebuild, err);
}

static wr_status locked(const wr_run_opts *opts, wr_file **lock, wr_err *err) {
    long holder = 0;
    WR_TRY(wr_state_lock(opts->world, opts->state_dir, lock, &holder, err));
    if (!holder) return WR_OK;
    wr_fail(err, WR_IO, "WR306", "the state directory %s is in use by a running weir (process %ld)", opts->state_dir, holder);
    wr_err_hint(err, "stop it first: it makes a last checkpoint, and the upgrade begins from that");
    return WR_IO;
}

wr_status wr_upgrade_apply(const wr_job_plan *plan, const wr_run_opts *opts, const wr_upgrade *upgrade, wr_err *err) {
    carry    c = {.plan = plan, .opts = opts, .upgrade = upgrade};
    wr_file *lock = NULL;
    snprintf(c.before, sizeof c.before, "%s/before-upgrade", opts->state_dir);
    snprintf(c.rebuild, sizeof c.rebuild, "%s/rebuild", opts->state_dir);
    wr_status status = locked(opts, &lock, err);
    if (status == WR_OK) status = run(&c, err);
    wr_checkpoint_close(&c.old);
    wr_checkpoint_close(&c.made);
    opts->world->vt->file_close(opts->world, lock);
    return status;
}

wr_status wr_upgrade_look(const wr_job_plan *plan, const wr_run_opts *opts, wr_upgrade *out, wr_upgrade_cost *cost, wr_err *err) {
    wr_checkpoint ck = {0};
    bool          found = false, finished = false;
    uint32_t      groups, generation;
    *out = (wr_upgrade){0};
    *cost = (wr_upgrade_cost){0};
    if (wr_swap_pending(opts->world, opts->state_dir)) {
        wr_fail(err, WR_USER, "WR307", "the state in %s is being replaced: a backfill was interrupted while it put its outputs in place", opts->state_dir);
        wr_err_hint(err, "weir run, or weir backfill finishes it first");
        return WR_USER;
    }
    WR_TRY(wr_checkpoint_open(opts->world, opts->state_dir, opts->accept_older, &ck, &found, err));
    wr_status status = WR_OK;
    if (!found) {
        status = wr_fail(err, WR_USER, "WR307", "there is no checkpoint in %s", opts->state_dir);
        wr_err_hint(err, "it is made by weir run --state-dir %s", opts->state_dir);
    } else {
        job_section_read(&ck, &groups, &finished, &generation);
        const wr_section *s = wr_checkpoint_find(&ck, WR_SECTION_PLAN, WR_STR("plan"));
        if (finished) {
            status = wr_fail(err, WR_USER, "WR309", "the job of %s has ended: its state is gone with the end of its input", opts->state_dir);
            wr_err_hint(err, "run the new script from the start: weir run --fresh");
        } else if (!s) {
            status = wr_fail(err, WR_USER, "WR309", "the checkpoint in %s was written by an earlier weir that did not keep what its state means", opts->state_dir);
            wr_err_hint(err, "run the old script with this weir for a moment, stop it, and try again");
        } else {
            status = wr_upgrade_compare(plan, s->content, out, err);
        }
        cost->epoch = ck.epoch;
        for (uint32_t i = 0; i < ck.sections.n; i++) cost->state_bytes += (int64_t)ck.sections.at[i].content.len;
        for (uint32_t i = 0; i < ck.files.n; i++) cost->state_bytes += (int64_t)ck.files.at[i].bytes;
        for (uint32_t i = 0; i < ck.sections.n; i++) {
            if (ck.sections.at[i].kind != WR_SECTION_LEDGER || !wr_str_starts(ck.sections.at[i].owner, WR_STR("source-"))) continue;
            wr_reader in = {(const uint8_t *)ck.sections.at[i].content.ptr, (const uint8_t *)ck.sections.at[i].content.ptr + ck.sections.at[i].content.len, false};
            wr_ledger l;
            ledger_load(&l, &in);
            cost->log_rows += l.in[0];
        }
    }
    wr_checkpoint_close(&ck);
    return status;
}
