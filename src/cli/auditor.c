/* cli/auditor.c: `weir run --audit-every 1h --audit-lag 10min`: each closed period is audited while the job goes on (api/audit.h).
 *
 * Idea       periods are cut in event time, at multiples of `every`. One is closed when the watermark of every output is `lag` past its end; with checkpoints also
 *            when two of them have come since, so that what it gave is committed. Then a thread of its own runs the audit in a session of its own: one worker, a
 *            part of the memory, a lower priority. What became closed meanwhile is the next period, as one.
 * Bounds     one audit at a time; outputs without a time column are left out.
 * Thread     tick: the coordinator's. The audit's thread hands its report over under `lock`.                             */
#include "auditor.h"
#include "api/audit.h"
#include <inttypes.h>

enum { SHARE = 8, MEMORY_LEAST_BYTES = 24 << 20, SHOWN = 20, LOOK_US = 200000 };

struct auditor {
    auditor_opts opts;
    wr_world    *world;
    wr_mutex    *lock;
    int64_t      looked_us, begin_us, end_us; /* begin: of the next period; end: of the one that is waited for, or at work; WR_TIME_MIN: none */
    uint64_t     epoch;              /* of the checkpoint when it was found closed */
    bool         instant;            /* the watermark's clock: UTC, or what the clock on the wall shows */
    void        *thread;
    wr_session  *session;            /* of the audit at work; under lock */
    bool         done;               /* it has ended; with what follows: under lock */
    wr_sbuf      line, json;
    uint64_t     n_audits, n_unequal, n_failed, differences;
    char         from[48], to[48];
};

auditor *auditor_new(const auditor_opts *opts) {
    auditor *a = wr_calloc(1, sizeof *a);
    *a = (auditor){.opts = *opts, .world = wr_world_posix(), .lock = wr_mutex_new(), .begin_us = WR_TIME_MIN, .end_us = WR_TIME_MIN};
    return a;
}

static void time_text(const auditor *a, int64_t us, char out[48]) {
    size_t n = wr_text_timestamp(us, wr_type_prec(WR_T_TIMESTAMP, 3), ' ', out);
    if (a->instant) out[n++] = 'Z';
    out[n] = '\0';
}

/* ---- the audit's thread ---- */
static void count_report(auditor *a, const wr_audit_report *r, wr_status status, const wr_err *err) {
    uint64_t differences = 0, expected = 0;
    for (uint32_t i = 0; status == WR_OK && i < r->outputs.n; i++) {
        expected += r->outputs.at[i].expected;
        for (int k = 0; k < WR_AUDIT_KINDS; k++) differences += r->outputs.at[i].kinds[k];
    }
    wr_mutex_lock(a->lock);
    wr_sbuf_clear(&a->line), wr_sbuf_clear(&a->json);
    a->n_audits++;
    a->n_failed += status != WR_OK;
    a->n_unequal += status == WR_OK && !r->equal;
    a->differences += differences;
    wr_sbuf_printf(&a->line, "audit of %s to %s: ", a->from, a->to);
    if (status != WR_OK) wr_sbuf_printf(&a->line, "not made: %s", err->message);
    else if (r->equal) add_count(&a->line, expected), wr_sbuf_addz(&a->line, " rows, equal");
    else add_count(&a->line, differences), wr_sbuf_addz(&a->line, " rows differ of "), add_count(&a->line, expected);
    for (uint32_t i = 0; status == WR_OK && i < r->outputs.n; i++)
        for (int k = 0; k < WR_AUDIT_REASONS; k++)
            if (r->outputs.at[i].reasons[k]) wr_sbuf_printf(&a->line, "; %.*s: %" PRIu64 " %s", WR_FMT(r->outputs.at[i].name), r->outputs.at[i].reasons[k], wr_audit_reason_name(k));
    wr_sbuf_printf(&a->json, "{\"audits\":%" PRIu64 ",\"unequal\":%" PRIu64 ",\"failed\":%" PRIu64 ",\"differences\":%" PRIu64 ",\"error\":", a->n_audits, a->n_unequal, a->n_failed, a->differences);
    if (status == WR_OK) wr_sbuf_addz(&a->json, "null,\"last\":"), wr_audit_json(r, &a->json);
    else wr_sbuf_add_json(&a->json, wr_str_of(err->message)), wr_sbuf_addz(&a->json, ",\"last\":null");
    wr_sbuf_addc(&a->json, '}');
    wr_mutex_unlock(a->lock);
}

static void audit_thread(void *arg) {
    auditor        *a = arg;
    wr_audit_report report = {0};
    wr_err          err = {0};
    wr_audit_opts   o = {.from = a->from, .to = a->to, .limit = SHOWN, .only_timed = true};
    wr_thread_yields();
    wr_session *session = a->opts.script(a->opts.script_arg);
    wr_status   status = session ? WR_OK : wr_fail(&err, WR_IO, "58030", "the script cannot be read again");
    if (session) {
        wr_session_opts *so = wr_session_opts_of(session);
        so->n_workers = 1;
        so->memory_bytes = WR_MAX(a->opts.memory_bytes / SHARE, (int64_t)MEMORY_LEAST_BYTES);
        so->memory_of_process = so->force_tail = false;
        so->state_dir = so->checkpoint_to = so->restore_from = so->from = NULL;
        wr_mutex_lock(a->lock);
        a->session = session;
        wr_mutex_unlock(a->lock);
        status = wr_session_plan(session);
        if (status == WR_OK) status = wr_session_audit(session, &o, &report, &err);
        else wr_fail(&err, status, "WR425", "the script cannot be planned again");
    }
    count_report(a, &report, status, &err);
    if (report.arena) wr_arena_free(report.arena);
    wr_mutex_lock(a->lock);
    a->session = NULL;
    a->done = true;
    wr_mutex_unlock(a->lock);
    wr_session_free(session);
}

/* ---- the coordinator's ---- */
static void tell(auditor *a, wr_serve *serve) {
    wr_sbuf out = {0};
    if (a->opts.json) wr_sbuf_printf(&out, "{\"event\":\"audit\",\"audit\":%.*s}\n", WR_FMT(wr_sbuf_str(&a->json)));
    else if (!a->opts.quiet) wr_sbuf_printf(&out, "%.*s\n", WR_FMT(wr_sbuf_str(&a->line)));
    if (out.len) fwrite(out.at, 1, out.len, stderr);
    wr_sbuf_free(&out);
    wr_serve_audit(serve, wr_sbuf_str(&a->json));
}

/* What all outputs have reached. */
static int64_t least_watermark(const wr_job_status *s) {
    int64_t least = WR_TIME_MAX;
    for (uint32_t i = 0; i < s->n_nodes; i++)
        if (s->nodes[i].node->kind == WR_P_SINK && !s->nodes[i].node->sink.is_result) least = WR_MIN(least, s->nodes[i].watermark_us);
    return least;
}

static int64_t cut(const auditor *a, int64_t us) { return wr_floor_div(us, a->opts.every_us) * a->opts.every_us; }

static void look(auditor *a, const wr_job_plan *plan, const wr_job_status *s) {
    int64_t wm = least_watermark(s);
    if (wm == WR_TIME_MIN || wm == WR_TIME_MAX) return;
    for (uint32_t i = 0; i < plan->nodes.n && a->begin_us == WR_TIME_MIN; i++)
        if (plan->nodes.at[i]->kind == WR_P_SOURCE && plan->nodes.at[i]->source.rowtime) a->instant = plan->nodes.at[i]->source.rowtime->type.id == WR_T_TIMESTAMP_LTZ;
    if (a->begin_us == WR_TIME_MIN) {
        int64_t first = WR_TIME_MAX; /* of this run; a watermark before it is none yet */
        for (uint32_t i = 0; i < s->n_sources; i++)
            if (s->sources[i].first_us != WR_TIME_MIN) first = WR_MIN(first, s->sources[i].first_us);
        if (wm < first) return;
        a->begin_us = cut(a, first);
    }
    int64_t closed = cut(a, wm - a->opts.lag_us);
    if (closed > a->begin_us && a->end_us == WR_TIME_MIN) a->end_us = closed, a->epoch = s->checkpoint_epoch;
}

static void begin(auditor *a) {
    wr_err err;
    time_text(a, a->begin_us, a->from), time_text(a, a->end_us, a->to);
    a->done = false;
    if (a->world->vt->spawn(a->world, "audit", audit_thread, a, &a->thread, &err) != WR_OK) a->thread = NULL;
}

static void finish(auditor *a, wr_serve *serve) {
    a->world->vt->join(a->world, a->thread);
    a->thread = NULL;
    tell(a, serve);
    a->begin_us = a->end_us, a->end_us = WR_TIME_MIN;
}

void auditor_tick(auditor *a, const wr_job_plan *plan, wr_job *job, wr_serve *serve) {
    int64_t now;
    if (!a || (now = wr_mono_us(a->world)) - a->looked_us < LOOK_US) return;
    a->looked_us = now;
    if (a->thread) {
        wr_mutex_lock(a->lock);
        bool done = a->done;
        wr_mutex_unlock(a->lock);
        if (done) finish(a, serve);
        return;
    }
    wr_job_status s;
    wr_job_status_get(job, &s);
    look(a, plan, &s);
    if (a->end_us != WR_TIME_MIN && (!a->opts.checkpoints || s.checkpoint_epoch >= a->epoch + 2)) begin(a);
    wr_arena_free(s.arena);
}

void auditor_free(auditor *a) {
    if (!a) return;
    if (a->thread) {
        wr_mutex_lock(a->lock);
        if (a->session) wr_session_stop(a->session);
        wr_mutex_unlock(a->lock);
        a->world->vt->join(a->world, a->thread);
    }
    wr_sbuf_free(&a->line);
    wr_sbuf_free(&a->json);
    wr_mutex_free(a->lock);
    wr_free(a);
}
