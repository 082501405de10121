/* run/doctor.c: `weir doctor`: would this job find all that it needs? Its tables by their connectors' probes (connect/probe.h), the rest here: the state
 * directory, the object store of checkpoints, memory, files, clock.
 *
 * Idea       the job is built as for a run, but without sources, sinks, state and threads: so memory and queues are those that it would have, and a budget
 *            that a run refuses is refused here with the same words.
 * Invariant  nothing is made, changed or removed; what was opened is closed again.
 * Thread     the caller's; one more for a request to the object store, which it ends when time is over.                                     */
#include "run/doctor.h"
#include "run/internal.h"
#include "plan/size.h"
#include "remote/remote.h"
#include <inttypes.h>
#include <math.h>

#define DAY_US 86400e6
enum { FILES_MIN = 128, FILES_WANTED = 1024, CHECKPOINT_EVERY_US = 10000000, LOOK_US = 20000 };
static const int64_t YEAR_2024_US = INT64_C(1704067200) * 1000000;

/* ---- tables ---- */

static bool seen(const wr_job_plan *plan, uint32_t before, const wr_table *table, wr_pnode_kind kind) {
    for (uint32_t i = 0; i < before; i++) {
        const wr_pnode *p = plan->nodes.at[i];
        const wr_table *t = p->kind != kind ? NULL : kind == WR_P_SOURCE ? p->source.table : kind == WR_P_LOOKUP_JOIN ? p->lookup.from.table : p->sink.table;
        if (t && t == table) return true;
    }
    return false;
}

static bool has_checkpoint(const wr_run_opts *o) {
    wr_checkpoint_epochs epochs = {0};
    bool has = o->state_dir && !o->fresh && wr_checkpoint_list(o->world, o->state_dir, &epochs, NULL) == WR_OK && epochs.n;
    wr_arr_free(&epochs);
    return has;
}

/* The most that any of the sources that read this table needs. */
static void find_need(const wr_job_plan *plan, const wr_table *table, wr_probe_ctx *probe) {
    for (uint32_t i = 0; i < plan->nodes.n; i++) {
        const wr_pnode *n = plan->nodes.at[i], *by;
        if (n->kind != WR_P_SOURCE || n->source.table != table) continue;
        double us = wr_size_needed_us(plan, n, &by);
        if (!by || probe->need_us < 0 || (us >= 0 && us <= probe->need_us)) continue;
        probe->need_us = us, probe->need_by = by->title;
    }
}

static void look_at_table(wr_job *job, const wr_table *table, const wr_table_info *info, wr_role role, bool goes_on, int64_t timeout_us, wr_findings *out) {
    const wr_connector *c = wr_connector_find(table->connector);
    if (!c) return; /* the plan has refused it */
    wr_connect_ctx *ctx = wr_new(job->arena, wr_connect_ctx);
    *ctx = (wr_connect_ctx){.world = job->opts.world, .arena = job->arena, .acct = job->opts.acct, .diags = job->opts.diags, .tz = job->plan->tz, .n_workers = job->n_workers,
                            .batch_rows = job->batch_rows, .bounded_override = job->opts.force_bounded, .tail_override = job->opts.force_tail, .print_style = "table"};
    int64_t      every = job->opts.checkpoint_interval_us ? job->opts.checkpoint_interval_us : CHECKPOINT_EVERY_US;
    wr_probe_ctx probe = {.role = role, .timeout_us = timeout_us, .connect = ctx, .checkpoints = job->opts.state_dir != NULL, .interval_us = every, .goes_on = goes_on, .out = out};
    if (role == WR_ROLE_SOURCE) find_need(job->plan, table, &probe);
    wr_probe_table(c, info, &probe);
}

/* A table for dead letters is in no node of the plan: as it is declared. */
static void letters_info(wr_job *job, const wr_table *t, wr_table_info *out) {
    wr_field  *fields = wr_new_n(job->arena, wr_field, t->n_columns + 1);
    wr_schema *schema = wr_new(job->arena, wr_schema);
    uint32_t  *key = wr_new_n(job->arena, uint32_t, t->n_key + 1);
    *out = (wr_table_info){.name = t->name, .schema = schema, .key = key, .options = {t->n_options, (const wr_option *)(const void *)t->options}, .at = t->at};
    for (uint32_t i = 0; i < t->n_columns; i++)
        if (t->columns[i].kind == WR_COLUMN_PHYSICAL) fields[schema->n++] = (wr_field){t->columns[i].name, t->columns[i].type};
    schema->fields = fields;
    out->n_physical = schema->n;
    for (uint32_t i = 0; i < t->n_key; i++) {
        int col = wr_schema_find(schema, t->columns[t->key[i]].name);
        if (col >= 0) key[out->n_key++] = (uint32_t)col;
    }
}

static bool letters_seen(const wr_job_plan *plan, uint32_t before, const wr_table *table) {
    for (uint32_t i = 0; i < before; i++) {
        const wr_pnode *p = plan->nodes.at[i];
        if ((p->kind == WR_P_SOURCE && p->source.letters == table) || (p->kind == WR_P_SINK && p->sink.letters == table)) return true;
    }
    return false;
}

static void look_at_tables(wr_job *job, int64_t timeout_us, wr_findings *out) {
    const wr_job_plan *plan = job->plan;
    bool               goes_on = has_checkpoint(&job->opts);
    for (uint32_t i = 0; i < plan->nodes.n; i++) {
        const wr_pnode *p = plan->nodes.at[i];
        wr_role         role = p->kind == WR_P_SOURCE ? WR_ROLE_SOURCE : p->kind == WR_P_LOOKUP_JOIN ? WR_ROLE_LOOKUP : WR_ROLE_SINK;
        const wr_table *table = p->kind == WR_P_SOURCE ? p->source.table : p->kind == WR_P_LOOKUP_JOIN ? p->lookup.from.table : p->kind == WR_P_SINK ? p->sink.table : NULL;
        if (!table || seen(plan, i, table, p->kind)) continue;
        wr_table_info info;
        table_info_of(job, p, &info);
        look_at_table(job, table, &info, role, goes_on, timeout_us, out);
        const wr_table *refused = p->kind == WR_P_SOURCE ? p->source.letters : p->kind == WR_P_SINK ? p->sink.letters : NULL;
        if (!refused || seen(plan, plan->nodes.n, refused, WR_P_SINK) || letters_seen(plan, i, refused)) continue;
        letters_info(job, refused, &info);
        look_at_table(job, refused, &info, WR_ROLE_SINK, goes_on, timeout_us, out);
    }
    const wr_table *unmatched = plan->unmatched;
    if (unmatched && !seen(plan, plan->nodes.n, unmatched, WR_P_SINK) && !letters_seen(plan, plan->nodes.n, unmatched)) {
        wr_table_info info;
        letters_info(job, unmatched, &info);
        look_at_table(job, unmatched, &info, WR_ROLE_SINK, goes_on, timeout_us, out);
    }
}

/* ---- the state directory ---- */

static double state_bytes(const wr_job_plan *plan, bool *known) { /* in a day, or for good where it does not grow */
    double sum = 0;
    *known = true;
    for (uint32_t i = 0; i < plan->nodes.n; i++) {
        const wr_pnode *n = plan->nodes.at[i];
        if (n->bill.bound == WR_BOUND_STATELESS) continue;
        double steady = wr_bill_steady(n), day = wr_bill_bytes(n, DAY_US), bytes = steady >= 0 && isfinite(steady) ? steady : day;
        if (bytes < 0) *known = false;
        else sum += bytes;
    }
    return sum;
}

static void look_at_lock(const wr_run_opts *o, wr_findings *out) {
    wr_world    *w = o->world;
    wr_sbuf      path = {0};
    wr_file_info info;
    wr_file     *f = NULL;
    wr_err       err = {0};
    bool         there = false, taken = true;
    wr_sbuf_printf(&path, "%s/lock", o->state_dir);
    if (w->vt->file_lock && w->vt->stat(w, path.at, &info, &there, &err) == WR_OK && there && w->vt->file_open(w, path.at, WR_OPEN_READ, &f, &err) == WR_OK) {
        if (w->vt->file_lock(w, f, &taken, &err) != WR_OK) taken = true;
        char   who[32] = "";
        size_t got = 0;
        if (!taken) (void)!w->vt->file_pread(w, f, who, sizeof who - 1, 0, &got, &err);
        w->vt->file_close(w, f);
        if (!taken) {
            wr_find(out, WR_FOUND_FAULT, "lock", "another weir runs on '%s' (process %.*s)", o->state_dir, (int)strcspn(who, "\n"), who);
            wr_find_todo(out, "stop that one first, or give this job a --state-dir of its own");
        }
    }
    wr_sbuf_free(&path);
}

static void look_at_checkpoints(const wr_run_opts *o, wr_findings *out) {
    wr_checkpoint_epochs epochs = {0};
    wr_err               err = {0};
    if (wr_checkpoint_list(o->world, o->state_dir, &epochs, &err) != WR_OK) wr_find_err(out, "checkpoints", &err);
    else if (!epochs.n) wr_find(out, WR_FOUND_FINE, "checkpoints", "none yet: the job begins anew");
    else {
        wr_checkpoint ck = {0};
        wr_status     s = wr_checkpoint_read(o->world, o->state_dir, epochs.at[epochs.n - 1], &ck, &err);
        if (s == WR_OK) wr_find(out, WR_FOUND_FINE, "checkpoints", "%u; the job goes on from number %" PRIu64, epochs.n, ck.epoch);
        else wr_find_err(out, "checkpoints", &err);
        if (s == WR_OK) wr_checkpoint_close(&ck);
    }
    wr_arr_free(&epochs);
}

static void look_at_room(const wr_job *job, wr_findings *out) {
    bool    known;
    double  bytes = state_bytes(job->plan, &known), need = 2 * bytes; /* twice: while files are merged, and those that an older checkpoint still names */
    wr_disk disk;
    wr_sbuf dir = {0}, free_text = {0}, need_text = {0};
    wr_file_info info;
    if (wr_probe_nearest(job->opts.world, wr_str_of(job->opts.state_dir), &dir, &info) && wr_disk_room(dir.at, &disk)) {
        wr_text_size((int64_t)WR_MIN(disk.free_bytes, (uint64_t)INT64_MAX), &free_text);
        wr_text_size((int64_t)WR_MIN(need, 9e18), &need_text);
        if (need > (double)disk.free_bytes) {
            wr_find(out, WR_FOUND_WARNING, "room", "%s free, and the state bill says %s for checkpoints and files that are merged", free_text.at, need_text.at);
            wr_find_todo(out, "a larger disk for --state-dir, a shorter 'table.exec.state.ttl', or look at 'weir explain': what is it that remembers so much?");
        } else if (!known) {
            wr_find(out, WR_FOUND_NOTE, "room", "%s free; how much state there will be is not known", free_text.at);
            wr_find_todo(out, "weir explain --sample 10s tells");
        } else {
            wr_find(out, WR_FOUND_FINE, "room", "%s free, %s needed by the state bill", free_text.at, need_text.at);
        }
    }
    wr_sbuf_free(&dir), wr_sbuf_free(&free_text), wr_sbuf_free(&need_text);
}

static void look_at_state(const wr_job *job, wr_findings *out) {
    const wr_run_opts *o = &job->opts;
    out->subject = WR_STR("state directory");
    if (!o->state_dir) {
        wr_find(out, WR_FOUND_NOTE, "directory", "none: nothing survives the process, and outputs are not exactly once");
        wr_find_todo(out, "--state-dir DIR");
        return;
    }
    wr_probe_writable_dir(o->world, o->state_dir, "directory", out);
    if (out->list.at[out->list.n - 1].found == WR_FOUND_FAULT) return;
    look_at_lock(o, out);
    look_at_checkpoints(o, out);
    look_at_room(job, out);
}

/* ---- the object store ---- */

typedef struct store_ask { wr_remote *remote; wr_remote_objects objects; wr_status status; wr_err err; _Atomic bool done; } store_ask;
static void ask_store(void *arg) {
    store_ask *a = arg;
    a->status = wr_remote_list(a->remote, "", &a->objects, &a->err);
    atomic_store(&a->done, true);
}

static void look_at_store(const wr_run_opts *o, int64_t timeout_us, wr_findings *out) {
    store_ask a = {0};
    void     *thread = NULL;
    if (!o->checkpoint_to || !o->checkpoint_to[0]) return;
    out->subject = WR_STR("object store of checkpoints");
    if (!o->state_dir) {
        wr_find(out, WR_FOUND_FAULT, "directory", "checkpoints are to be copied to %s, but there are none without a state directory", o->checkpoint_to);
        wr_find_todo(out, "--state-dir DIR, a local directory");
    }
    if (wr_remote_open(o->world, o->checkpoint_to, &a.remote, &a.err) != WR_OK || o->world->vt->spawn(o->world, "doctor-store", ask_store, &a, &thread, &a.err) != WR_OK) {
        wr_find_err(out, "bucket", &a.err);
        wr_remote_close(a.remote);
        return;
    }
    int64_t until = wr_mono_us(o->world) + timeout_us;
    bool    late = false;
    while (!atomic_load(&a.done)) {
        if (!late && wr_mono_us(o->world) > until) late = true, wr_remote_cancel(a.remote);
        o->world->vt->sleep_us(o->world, LOOK_US);
    }
    o->world->vt->join(o->world, thread);
    if (a.status == WR_OK) wr_find(out, WR_FOUND_FINE, "bucket", "%s answers, %u objects; whether it may be written is not tried", o->checkpoint_to, a.objects.n);
    else if (late) {
        wr_find(out, WR_FOUND_FAULT, "bucket", "%s does not answer", o->checkpoint_to);
        wr_find_todo(out, "check AWS_ENDPOINT_URL, AWS_REGION and the way through firewalls and proxies");
    } else wr_find_err(out, "bucket", &a.err);
    wr_arr_free(&a.objects);
    wr_remote_close(a.remote);
}

/* ---- the machine ---- */

static void look_at_memory(wr_job *job, wr_findings *out) {
    wr_err   err = {0};
    uint64_t ram = wr_ram_bytes();
    int64_t  limit = job->opts.acct->limit;
    wr_sbuf  have = {0}, ask = {0};
    wr_text_size((int64_t)ram, &have);
    wr_text_size(limit, &ask);
    if (budget_start(job, &err) != WR_OK) wr_find_err(out, "memory", &err);
    else if (limit > 0 && (uint64_t)limit > ram) {
        wr_find(out, WR_FOUND_FAULT, "memory", "the budget is %s, and this machine or control group has %s: the system would kill the job", ask.at, have.at);
        wr_find_todo(out, "--memory %" PRIu64 "MiB or less, or raise the limit of the control group", ram * 3 / 4 >> 20);
    } else if (limit > 0 && (uint64_t)limit > ram / 10 * 9) {
        wr_find(out, WR_FOUND_WARNING, "memory", "the budget is %s of %s: little is left for the system's own cache", ask.at, have.at);
        wr_find_todo(out, "--memory %" PRIu64 "MiB", ram * 3 / 4 >> 20);
    } else wr_find(out, WR_FOUND_FINE, "memory", "a budget of %s, of %s that there are; the job needs at least %" PRIi64 " MiB", ask.at, have.at, (budget_least(job) + (1 << 20) - 1) >> 20);
    wr_sbuf_free(&have), wr_sbuf_free(&ask);
}

static void look_at_machine(wr_job *job, wr_findings *out) {
    wr_world    *w = job->opts.world;
    uint64_t     files = wr_open_files_max();
    wr_file_info info;
    bool         zones = false;
    char         now[40];
    out->subject = WR_STR("this machine");
    look_at_memory(job, out);
    if (files && files < FILES_WANTED) {
        wr_find(out, files < FILES_MIN ? WR_FOUND_FAULT : WR_FOUND_WARNING, "open files", "this process may open %" PRIu64 " files; state on disk and many input files take more", files);
        wr_find_todo(out, "ulimit -n 65536, or LimitNOFILE=65536 in the service's unit");
    } else wr_find(out, WR_FOUND_FINE, "open files", "as many as are needed");
    int64_t us = wr_wall_us(w);
    now[wr_text_timestamp(us, wr_type_prec(WR_T_TIMESTAMP_LTZ, 0), ' ', now)] = 0;
    if (us < YEAR_2024_US) {
        wr_find(out, WR_FOUND_FAULT, "clock", "it says %s", now);
        wr_find_todo(out, "set the clock: timedatectl set-ntp true");
    } else wr_find(out, WR_FOUND_FINE, "clock", "%s", now);
    if (w->vt->stat(w, "/usr/share/zoneinfo", &info, &zones, NULL) != WR_OK || !zones) {
        wr_find(out, WR_FOUND_WARNING, "time zones", "there is no /usr/share/zoneinfo: names of time zones are not known");
        wr_find_todo(out, "apt-get install tzdata");
    } else wr_find(out, WR_FOUND_FINE, "time zones", "'table.local-time-zone' is %.*s", WR_FMT(job->plan->tz ? wr_tz_name(job->plan->tz) : WR_STR("UTC")));
    if (job->n_workers > (uint32_t)wr_cpu_count()) {
        wr_find(out, WR_FOUND_WARNING, "workers", "%u workers on %d core%s", job->n_workers, wr_cpu_count(), wr_cpu_count() == 1 ? "" : "s");
        wr_find_todo(out, "-p %d", wr_cpu_count());
    } else wr_find(out, WR_FOUND_FINE, "workers", "%u on %d core%s", job->n_workers, wr_cpu_count(), wr_cpu_count() == 1 ? "" : "s");
}

wr_status wr_job_doctor(const wr_job_plan *plan, const wr_run_opts *opts, int64_t timeout_us, wr_findings *out, wr_err *err) {
    wr_run_opts mine = *opts;
    mine.redirect = true;
    mine.result = wr_connector_find(WR_STR("blackhole"));
    mine.probe = NULL;
    mine.tick = NULL;
    wr_job *job;
    WR_TRY(job_bare(plan, &mine, &job, err));
    look_at_tables(job, timeout_us, out);
    look_at_state(job, out);
    look_at_store(opts, timeout_us, out);
    look_at_machine(job, out);
    wr_job_free(job);
    return WR_OK;
}
