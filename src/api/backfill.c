/* api/backfill.c: see backfill.h. */
#include "api/backfill.h"
#include "api/internal.h"
#include "run/swap.h"
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

enum { PASSES_MAX = 10, NEAR_US = 2000000 /* a pass that took no longer is near enough to stop the job */, READ_ATTEMPTS = 20, STARTED_AGAIN_MAX = 5 };
static const int64_t DATABASE_INTERVAL_US = 2000000; /* the job writes to the same database and waits for its lock no longer than sink.busy-timeout */

typedef struct backfill {
    wr_session             *s;
    const wr_backfill_opts *o;
    wr_backfill_result     *out;
    wr_world               *world;
    const wr_job_plan      *plan;
    uint32_t                step;
    const char             *dir, *state, *install, *before;
    bool                   *muted;
    WR_ARR(wr_output)       outputs;
    WR_ARR(wr_str)          kept;       /* ids of the sinks that go on as they are */
    bool                    database;
    wr_checkpoint           live;       /* the newest of the job */
    bool                    finished;   /* it says that the job came to its end */
    uint64_t                done;       /* the epoch that the last pass read up to */
} backfill;

WR_PRINTF(2, 3) static void say(const backfill *b, const char *fmt, ...) {
    char    line[512];
    va_list args;
    if (!b->o->say) return;
    va_start(args, fmt);
    vsnprintf(line, sizeof line, fmt, args);
    va_end(args);
    b->o->say(b->o->arg, wr_str_of(line));
}

static const char *path_in(const backfill *b, const char *name) { return wr_arena_printf(b->s->arena, "%s/%s", b->o->state_dir, name); }

/* ---- the script and its outputs ---- */
static wr_status find_job(backfill *b, wr_err *err) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < b->s->steps.n; i++) {
        if (b->s->steps.at[i].kind != WR_STEP_JOB) continue;
        b->plan = b->s->steps.at[i].job;
        b->step = i;
        n++;
    }
    if (n == 1) return WR_OK;
    wr_fail(err, WR_USER, "WR322", n ? "the script has %u jobs; a backfill takes one" : "the script has no job", n);
    if (n) wr_err_hint(err, "put its INSERTs into one EXECUTE STATEMENT SET BEGIN ... END");
    return WR_USER;
}

static bool named(const char *outputs, wr_str name) {
    for (const char *p = outputs; p && *p;) {
        const char *comma = strchr(p, ',');
        wr_str      one = wr_str_trim((wr_str){p, comma ? (size_t)(comma - p) : strlen(p)});
        if (wr_str_ieq(one, name)) return true;
        p = comma ? comma + 1 : NULL;
    }
    return false;
}

static wr_status check_names(const backfill *b, wr_err *err) {
    for (const char *p = b->o->outputs; p && *p;) {
        const char *comma = strchr(p, ',');
        wr_str      one = wr_str_trim((wr_str){p, comma ? (size_t)(comma - p) : strlen(p)});
        wr_str     *names = wr_new_n(b->s->arena, wr_str, b->plan->nodes.n + 1);
        uint32_t    n = 0;
        for (uint32_t i = 0; i < b->plan->nodes.n; i++) {
            const wr_pnode *node = b->plan->nodes.at[i];
            if (node->kind == WR_P_SINK && !node->sink.is_result) names[n++] = node->sink.table->name;
        }
        bool known = false;
        for (uint32_t i = 0; i < n; i++) known |= wr_str_ieq(names[i], one);
        if (!known) {
            wr_fail(err, WR_USER, "WR322", "--outputs: the script writes no table '%.*s'", WR_FMT(one));
            int near = wr_nearest(one, names, n);
            if (near >= 0) wr_err_hint(err, "did you mean '%.*s'?", WR_FMT(names[near]));
            return WR_USER;
        }
        p = comma ? comma + 1 : NULL;
    }
    return WR_OK;
}

/* Whoever finishes an interrupted swap may have another working directory. */
static wr_status make_absolute(const backfill *b, wr_output *o, wr_err *err) {
    char here[PATH_MAX];
    if (o->path.len && *o->path.ptr == '/') return WR_OK;
    if (!getcwd(here, sizeof here)) return wr_fail(err, WR_IO, "58030", "the working directory cannot be found out: %s", strerror(errno));
    o->path = wr_str_of(wr_arena_printf(b->s->arena, "%s/%.*s", here, WR_FMT(o->path)));
    return WR_OK;
}

static wr_status output_of(backfill *b, const wr_pnode *node, wr_output *o, wr_err *err) {
    const wr_table     *t = node->sink.table;
    const wr_connector *c = t ? wr_connector_find(t->connector) : NULL;
    if (!c || !c->output) {
        if (t) wr_fail(err, WR_USER, "WR322", "the output '%.*s' ('connector' = '%.*s') has no earlier version that a new one could take the place of", WR_FMT(t->name), WR_FMT(t->connector));
        else wr_fail(err, WR_USER, "WR322", "the script prints rows, and what was printed cannot be replaced");
        wr_err_hint(err, "leave it out with --outputs: 'filesystem' and 'sqlite' can be replaced");
        err->at = node->at;
        return WR_USER;
    }
    wr_table_info  info = {.name = t->name, .schema = &node->sink.write_schema, .at = t->at,
                            .options = {t->n_options, (const wr_option *)(const void *)t->options}};
    wr_connect_ctx ctx = {.world = b->world, .arena = b->s->arena, .diags = &b->s->diags};
    WR_TRY(c->output(&info, &ctx, o, err));
    return make_absolute(b, o, err);
}

static wr_status find_outputs(backfill *b, wr_err *err) {
    WR_TRY(check_names(b, err));
    b->muted = wr_new_n(b->s->arena, bool, b->plan->nodes.n + 1);
    for (uint32_t i = 0; i < b->plan->nodes.n; i++) {
        const wr_pnode *node = b->plan->nodes.at[i];
        if (node->kind != WR_P_SINK) continue;
        wr_output o = {0};
        bool      mine = !b->o->outputs || (!node->sink.is_result && named(b->o->outputs, node->sink.table->name));
        b->muted[i] = !mine;
        if (!mine) {
            const wr_connector *c = node->sink.is_result ? NULL : wr_connector_find(node->sink.table->connector);
            wr_arr_push(&b->kept, wr_str_of(node->id));
            if (!c || !c->output) continue;
        }
        wr_err    why = {0};
        wr_status status = output_of(b, node, &o, mine ? err : &why);
        if (status != WR_OK && mine) return status;
        o.kept = !mine;
        b->database |= o.database && mine;
        b->out->n_outputs += mine;
        if (status == WR_OK) wr_arr_push(&b->outputs, o);
    }
    return b->out->n_outputs ? WR_OK : wr_fail(err, WR_USER, "WR322", "the script writes no output");
}

/* ---- the job's state ---- */
static wr_status read_live(backfill *b, wr_err *err) {
    wr_status status = WR_OK;
    wr_checkpoint_close(&b->live);
    for (int attempt = 0; attempt < READ_ATTEMPTS; attempt++) { /* a running job may retire it while it is read */
        wr_checkpoint_epochs have = {0};
        status = wr_checkpoint_list(b->world, b->o->state_dir, &have, err);
        uint64_t newest = have.n ? have.at[have.n - 1] : 0;
        wr_arr_free(&have);
        WR_TRY(status);
        if (!newest) {
            wr_fail(err, WR_USER, "WR307", "there is no checkpoint in %s", b->o->state_dir);
            wr_err_hint(err, "a backfill replaces the outputs of a job that ran with this --state-dir; a new job simply begins with weir run");
            return WR_USER;
        }
        status = wr_checkpoint_read(b->world, b->o->state_dir, newest, &b->live, err);
        if (status == WR_OK || strcmp(err->code, "58P01") != 0) break;
        *err = (wr_err){0};
    }
    WR_TRY(status);
    const wr_section *job = wr_checkpoint_find(&b->live, WR_SECTION_JOB, WR_STR("job"));
    if (!job) return wr_fail(err, WR_CORRUPT, "WR304", "checkpoint %s has no job section", b->live.path);
    wr_reader in = {(const uint8_t *)job->content.ptr, (const uint8_t *)job->content.ptr + job->content.len, false};
    (void)wr_get_u32(&in);
    b->finished = wr_get_u8(&in);
    for (uint32_t i = 0; i < b->kept.n; i++) {
        if (wr_checkpoint_find(&b->live, WR_SECTION_SINK, b->kept.at[i])) continue;
        wr_fail(err, WR_USER, "WR322", "--outputs leaves '%.*s' out, which the job in %s does not write: it would be without its history", WR_FMT(b->kept.at[i]), b->o->state_dir);
        return WR_USER;
    }
    return WR_OK;
}

static wr_status newest_of(backfill *b, const char *dir, uint64_t *epoch, wr_err *err) {
    wr_checkpoint_epochs have = {0};
    wr_status status = wr_checkpoint_list(b->world, dir, &have, err);
    *epoch = have.n ? have.at[have.n - 1] : 0;
    wr_arr_free(&have);
    return status;
}

/* ---- what was begun earlier ---- */
static wr_status prepare(backfill *b, wr_err *err) {
    const char *about = wr_arena_printf(b->s->arena, "%s/about", b->dir);
    wr_sbuf     is = {0}, was = {0};
    uint64_t    epoch;
    if (b->o->fresh) WR_TRY(wr_dir_remove(b->world, b->state, err));
    WR_TRY(newest_of(b, b->state, &epoch, err));
    wr_sbuf_addz(&is, "outputs:");
    for (uint32_t i = 0; i < b->outputs.n; i++)
        if (!b->outputs.at[i].kept) wr_sbuf_printf(&is, " %.*s", WR_FMT(b->outputs.at[i].sink));
    wr_status status = WR_OK;
    if (epoch) {
        status = wr_file_read_all(b->world, about, 1 << 20, &was, err);
        if (status == WR_OK && !wr_str_eq(wr_sbuf_str(&is), wr_sbuf_str(&was))) {
            status = wr_fail(err, WR_USER, "WR324", "the backfill in %s was begun for other %.*s", b->dir, WR_FMT(wr_sbuf_str(&was)));
            wr_err_hint(err, "--fresh forgets it and begins anew");
        }
        if (status == WR_OK) say(b, "goes on with the backfill that was begun, from its checkpoint %" PRIu64, epoch);
    } else {
        for (uint32_t i = 0; i < b->outputs.n && status == WR_OK; i++)
            if (!b->outputs.at[i].kept) status = wr_output_discard(b->world, &b->outputs.at[i], err);
        if (status == WR_OK) status = wr_file_replace(b->world, about, wr_sbuf_str(&is), err);
    }
    wr_sbuf_free(&is);
    wr_sbuf_free(&was);
    return status;
}

/* ---- phases ---- */
/* Up to the job's newest checkpoint that was read; to the end of what is there if the job came to its end. */
static wr_status pass(backfill *b, wr_err *err) {
    wr_session *s = b->s;
    bool        bounded = s->opts.force_bounded;
    if (!s->opts.from) s->opts.from = "earliest"; /* not where the job had begun */
    b->out->passes++;
    if (b->finished) say(b, "pass %u: the job came to its end, so everything is read", b->out->passes);
    else say(b, "pass %u: reads what the job had read at its checkpoint %" PRIu64, b->out->passes, b->live.epoch);
    s->until = b->finished ? NULL : &b->live;
    s->opts.force_bounded = bounded || b->finished;
    s->muted = b->muted;
    s->next_version = true;
    s->opts.state_dir = b->state;
    if (b->database && !s->opts.checkpoint_interval_us) s->opts.checkpoint_interval_us = DATABASE_INTERVAL_US;
    wr_status status = wr_session_run_step(s, b->step, err);
    s->until = NULL;
    s->muted = NULL;
    s->next_version = false;
    s->opts.state_dir = NULL;
    s->opts.force_bounded = bounded;
    b->done = b->live.epoch;
    if (status == WR_OK && wr_session_stopped(s)) status = wr_fail(err, WR_CANCELLED, "WR901", "stopped on request");
    return status;
}

static wr_status passes(backfill *b, wr_err *err) {
    for (;;) {
        WR_TRY(read_live(b, err));
        int64_t begun = wr_mono_us(b->world);
        WR_TRY(pass(b, err));
        if (b->finished || b->out->passes >= PASSES_MAX || wr_mono_us(b->world) - begun < NEAR_US) return WR_OK;
        uint64_t epoch;
        WR_TRY(wr_state_ask(b->world, b->o->state_dir, b->o->timeout_us, &epoch, err));
        if (!epoch) return WR_OK; /* it does not run */
    }
}

/* The job has gone and nobody else comes. Started again meanwhile (by whoever watches over it): asked again. */
static wr_status take_over(backfill *b, wr_file **lock, wr_err *err) {
    long holder = 0;
    for (int attempt = 0; attempt < STARTED_AGAIN_MAX; attempt++) {
        bool ran;
        WR_TRY(wr_state_stop(b->world, b->o->state_dir, b->o->timeout_us, &ran, err));
        b->out->stopped |= ran;
        WR_TRY(wr_state_lock(b->world, b->o->state_dir, lock, &holder, err));
        if (!holder) return WR_OK;
    }
    wr_fail(err, WR_IO, "WR306", "the state directory %s is taken again each time the job was stopped (process %ld)", b->o->state_dir, holder);
    wr_err_hint(err, "something starts the job again at once: stop that for the moment of the swap");
    return WR_IO;
}

static wr_status put_in_place(backfill *b, wr_err *err) {
    wr_checkpoint made;
    uint64_t      newest;
    WR_TRY(newest_of(b, b->state, &newest, err));
    WR_TRY(wr_dir_remove(b->world, b->before, err));
    WR_TRY(wr_checkpoint_export(b->world, b->o->state_dir, &b->live, b->before, err));
    for (uint32_t i = 0; i < b->outputs.n; i++)
        if (!b->outputs.at[i].kept) WR_TRY(wr_output_look(b->world, &b->outputs.at[i], err));
    b->out->epoch = WR_MAX(newest, b->live.epoch) + 1;
    WR_TRY(b->world->vt->make_dirs(b->world, b->install, err));
    WR_TRY(wr_checkpoint_read(b->world, b->state, newest, &made, err));
    wr_status status = wr_swap_checkpoint(b->world, b->install, &made, b->out->epoch, b->kept.at, b->kept.n, &b->live, err);
    wr_checkpoint_close(&made);
    if (status == WR_OK) status = wr_swap_begin(b->world, b->o->state_dir, b->outputs.at, b->outputs.n, b->out->epoch, b->live.epoch, err);
    return status == WR_OK ? wr_swap_finish(b->world, b->o->state_dir, err) : status;
}

static wr_status last_pass_and_swap(backfill *b, wr_err *err) {
    int64_t  begun = wr_mono_us(b->world);
    wr_file *lock = NULL;
    WR_TRY(take_over(b, &lock, err));
    wr_status status = read_live(b, err);
    if (status == WR_OK && b->kept.n) status = wr_checkpoint_check_settled(&b->live, "a backfill that leaves outputs as they are", err);
    if (status == WR_OK && b->out->stopped) say(b, "the job has stopped behind its checkpoint %" PRIu64, b->live.epoch);
    if (status == WR_OK && b->live.epoch != b->done) status = pass(b, err);
    if (status == WR_OK) status = put_in_place(b, err);
    if (status == WR_OK) b->out->pause_us = wr_mono_us(b->world) - begun;
    b->world->vt->file_close(b->world, lock);
    return status;
}

/* A swap that was decided is finished first: by a run on the directory, or here. */
static wr_status repair(backfill *b, bool *repaired, wr_err *err) {
    wr_file *lock;
    long     holder;
    *repaired = wr_swap_pending(b->world, b->o->state_dir);
    if (!*repaired) return WR_OK;
    WR_TRY(wr_state_lock(b->world, b->o->state_dir, &lock, &holder, err));
    if (holder) {
        *repaired = false; /* whoever runs there has finished it */
        return WR_OK;
    }
    wr_status status = wr_swap_finish(b->world, b->o->state_dir, err);
    b->world->vt->file_close(b->world, lock);
    return status == WR_OK ? newest_of(b, b->o->state_dir, &b->out->epoch, err) : status;
}

static wr_status run_phases(backfill *b, wr_err *err) {
    wr_file *lock;
    long     holder;
    WR_TRY(b->world->vt->make_dirs(b->world, b->dir, err));
    WR_TRY(wr_state_lock(b->world, b->dir, &lock, &holder, err));
    if (holder) return wr_fail(err, WR_IO, "WR306", "another backfill of %s is under way (process %ld)", b->o->state_dir, holder);
    wr_status status = prepare(b, err);
    if (status == WR_OK) status = passes(b, err);
    if (status == WR_OK) status = last_pass_and_swap(b, err);
    b->world->vt->file_close(b->world, lock);
    return status;
}

wr_status wr_session_backfill(wr_session *s, const wr_backfill_opts *o, wr_backfill_result *out, wr_err *err) {
    backfill b = {.s = s, .o = o, .out = out, .world = s->world};
    *out = (wr_backfill_result){0};
    b.dir = path_in(&b, "backfill"), b.state = path_in(&b, "backfill/state"), b.install = path_in(&b, "backfill/install"), b.before = path_in(&b, "before-backfill");
    WR_TRY(find_job(&b, err));
    wr_status status = find_outputs(&b, err);
    if (status == WR_OK) status = repair(&b, &out->repaired, err);
    if (status == WR_OK && !out->repaired) status = read_live(&b, err);
    if (status == WR_OK && !out->repaired) status = run_phases(&b, err);
    wr_checkpoint_close(&b.live);
    wr_arr_free(&b.outputs);
    wr_arr_free(&b.kept);
    return status;
}
