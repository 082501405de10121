/* lab/job.c: one job of a lab: planned by a session, run once, looked at on the way. See parts.h.
 *
 * Looks      by event time, since a job of a lab runs faster than its clock: the first tick of the engine at or behind each multiple of look_every_us. */
#include "lab/parts.h"
#include <stdio.h>

static wr_status drop_rows(void *arg, wr_str table, const wr_schema *schema, const wr_tz *tz, wr_batch *batch, wr_err *err) {
    (void)arg, (void)table, (void)schema, (void)tz, (void)batch, (void)err;
    return WR_OK;
}
static wr_status give_rows(void *arg, wr_str table, const wr_schema *schema, const wr_tz *tz, wr_batch *batch, wr_err *err) {
    lab_job *j = arg;
    return j->on_rows(j->arg, table, schema, tz, batch, err);
}

int64_t lab_event_us(const wr_job_status *s) {
    int64_t least = WR_TIME_MAX;
    for (uint32_t i = 0; i < s->n_sources; i++) least = WR_MIN(least, s->sources[i].watermark_us);
    return s->n_sources ? least : WR_TIME_MIN;
}

static void on_tick(void *arg, wr_job *job) {
    lab_job *j = arg;
    j->steps_seen += 64;
    if (atomic_load(&j->run->stopped)) wr_session_stop(j->session);
    if (!j->look && !j->tick) return;
    wr_job_status s;
    wr_job_status_get(job, &s);
    if (j->tick) j->tick(j->arg, &s);
    int64_t now = lab_event_us(&s);
    bool    due = !j->look_every_us || (now != WR_TIME_MIN && now != WR_TIME_MAX && (j->looked_us == WR_TIME_MIN || now >= j->looked_us + j->look_every_us));
    if (due && j->look) {
        j->looked_us = j->look_every_us && now != WR_TIME_MIN ? now - now % j->look_every_us : now;
        j->look(j->arg, j->plan, &s);
    }
    wr_arena_free(s.arena);
}
static void on_start(void *arg, const wr_job_plan *plan, wr_job *job) {
    (void)job;
    ((lab_job *)arg)->plan = plan;
}
static void on_end(void *arg, const wr_job_plan *plan, wr_job *job, wr_status status, const wr_err *err) {
    (void)plan, (void)status, (void)err;
    lab_job *j = arg;
    wr_arena_free(j->last.arena);
    wr_job_status_get(job, &j->last);
    if (j->look) j->look(j->arg, j->plan, &j->last);
}

/* A lab's own SQL is right; what can be wrong is said as the session says it. */
static wr_status planning_failed(lab_job *j, wr_err *err) {
    wr_sbuf text = {0};
    wr_session_report(j->session, NULL, false, &text);
    wr_fail(err, WR_USER, "WR477", "the script of lab %s was refused", j->run->lab->name);
    wr_err_detail(err, "%.1000s", text.at ? text.at : "");
    wr_sbuf_free(&text);
    return WR_USER;
}

wr_status lab_job_plan(lab_job *j, wr_err *err) {
    j->looked_us = WR_TIME_MIN;
    wr_session_opts o = {.world = j->world ? j->world : j->run->world, .n_workers = WR_MAX(j->workers, 1u), .batch_rows = j->batch_rows, .state_dir = j->state_dir,
                         .memory_bytes = INT64_C(1) << 40, .checkpoint_interval_us = INT64_C(3600) * 1000000,
                         .accept_unbounded = j->accept_unbounded, .pushes = j->pushes, .simulate = !j->threads, .seed = j->seed ? j->seed : j->run->seed,
                         .crash_after_steps = j->crash_after_steps, .checkpoint_every_steps = j->checkpoint_every_steps,
                         .arg = j, .on_rows = j->on_rows && !j->tables[0] ? give_rows : drop_rows, .on_start = on_start, .on_tick = on_tick, .on_end = on_end};
    j->session = wr_session_new(&o);
    for (size_t i = 0; i < WR_COUNT_OF(j->tables) && j->tables[i]; i++) wr_session_subscribe(j->session, j->tables[i], give_rows, j);
    if (j->accept_unbounded) WR_TRY(wr_session_set(j->session, "state.unbounded=accepted", err));
    wr_session_load_text(j->session, "lab.sql", wr_str_of(j->sql));
    if (wr_session_plan(j->session) != WR_OK) return planning_failed(j, err);
    for (uint32_t i = 0; i < wr_session_n_steps(j->session); i++)
        if (wr_session_step(j->session, i)->kind == WR_STEP_JOB) j->plan = wr_session_step(j->session, i)->job;
    return WR_OK;
}

wr_status lab_job_run(lab_job *j, wr_err *err) {
    if (!j->session) WR_TRY(lab_job_plan(j, err));
    int64_t   cpu = wr_cpu_time_us();
    wr_status status = wr_session_run(j->session, err);
    j->cpu_us = wr_cpu_time_us() - cpu;
    return status;
}

void lab_job_close(lab_job *j) {
    wr_arena_free(j->last.arena);
    wr_session_free(j->session);
    j->last.arena = NULL, j->session = NULL;
}

const wr_node_status *lab_node(const wr_job_status *s, wr_pnode_kind kind, uint32_t nth) {
    for (uint32_t i = 0; i < s->n_nodes; i++)
        if (s->nodes[i].node->kind == kind && !nth--) return &s->nodes[i];
    return NULL;
}

const char *lab_text(wr_lab_run *run, double value, wr_lab_unit unit) {
    wr_sbuf b = {0};
    wr_lab_number(value, unit, &b);
    const char *text = wr_arena_strndup(run->arena, b.at, b.len);
    wr_sbuf_free(&b);
    return text;
}
