/* api/session.c: the life of a session: options, texts, plan, run. See session.h.
 *
 * Idea       texts wait until wr_session_plan, which adds their steps behind those that are there; wr_session_run does what has not been done.
 * Invariant  n_run <= steps.n. A job exists only inside run_job.
 * Stop       a flag only: the running job is told from its own tick, so a signal handler never touches a job that is going away.   */
#include "api/internal.h"
#include "base/hash.h"
#include "connect/view/writer.h"
#include "weir.h"
#include <inttypes.h>
#include <stdio.h>

enum { KEY_GROUPS_MAX = 32768, WORKERS_MAX = 64, STATS_EVERY_US = 10000000 };

wr_session *wr_session_new(const wr_session_opts *opts) {
    wr_session *s = wr_calloc(1, sizeof *s);
    if (opts) s->opts = *opts;
    s->world = s->opts.world ? s->opts.world : wr_world_posix();
    s->arena = wr_arena_new(NULL);
    wr_diags_init(&s->diags);
    s->catalog = wr_catalog_new(s->arena);
    s->plan_ctx = (wr_plan_ctx){.arena = s->arena, .diags = &s->diags, .world = s->world, .catalog = s->catalog, .connector = adapter_connector,
                                .check_options = adapter_check_options};
    link_open(s);
    return s;
}

void wr_session_free(wr_session *s) {
    if (!s) return;
    link_close(s);
    wr_views_forget(s);
    wr_arr_free(&s->texts);
    wr_arr_free(&s->variables);
    wr_arr_free(&s->subscribers);
    wr_arr_free(&s->steps);
    wr_diags_free(&s->diags);
    wr_arena_free(s->arena);
    wr_free(s);
}

wr_session_opts  *wr_session_opts_of(wr_session *s) { return &s->opts; }
wr_diags         *wr_session_diags(wr_session *s) { return &s->diags; }
const wr_catalog *wr_session_catalog(const wr_session *s) { return s->catalog; }
uint32_t          wr_session_n_steps(const wr_session *s) { return s->steps.n; }
const wr_step    *wr_session_step(const wr_session *s, uint32_t index) { return &s->steps.at[index]; }
void              wr_session_stop(wr_session *s) { atomic_store(&s->stop, true); }
void              wr_session_rearm(wr_session *s) { atomic_store(&s->stop, false); }
bool              wr_session_stopped(const wr_session *s) { return atomic_load(&((wr_session *)(uintptr_t)s)->stop); }

/* ---- options ---- */
int64_t wr_session_memory_default(void) { return WR_MIN((int64_t)(wr_ram_bytes() / 4), (int64_t)WR_MEMORY_DEFAULT_BYTES); }

int64_t wr_session_memory(const wr_session *s) { return s->opts.memory_bytes > 0 ? s->opts.memory_bytes : wr_session_memory_default(); }

/* A setting that holds a number in 1..max, or 0. */
static uint32_t number_setting(const wr_session *s, const char *key, uint32_t max) {
    wr_str   text = wr_catalog_get(s->catalog, key);
    uint64_t n = 0;
    for (size_t i = 0; i < text.len; i++) {
        if (text.ptr[i] < '0' || text.ptr[i] > '9' || n > max) return 0;
        n = n * 10 + (uint64_t)(text.ptr[i] - '0');
    }
    return (uint32_t)WR_MIN(n, (uint64_t)max);
}

uint32_t wr_session_workers(const wr_session *s) {
    uint32_t n = s->opts.n_workers;
    if (!n) n = number_setting(s, "parallelism.default", WORKERS_MAX);
    if (!n) n = (uint32_t)wr_cpu_count();
    return WR_MIN(WR_MAX(n, 1u), (uint32_t)WORKERS_MAX);
}

static wr_status set_variable(wr_session *s, wr_str name, wr_str value) {
    for (uint32_t i = 0; i < s->variables.n; i++)
        if (wr_str_eq(s->variables.at[i].name, name)) {
            s->variables.at[i].value = wr_str_dup(s->arena, value);
            return WR_OK;
        }
    wr_arr_push(&s->variables, (variable){.name = wr_str_dup(s->arena, name), .value = wr_str_dup(s->arena, value)});
    return WR_OK;
}

static wr_status set_setting(wr_session *s, wr_str key, wr_str value, wr_err *err) {
    if (wr_catalog_set(s->catalog, key, value)) return WR_OK;
    wr_str near = wr_setting_nearest(key);
    wr_fail(err, WR_USER, "WR106", "there is no setting '%.*s'", WR_FMT(key));
    if (near.len) wr_err_hint(err, "did you mean '%.*s'?", WR_FMT(near));
    else wr_err_hint(err, "'weir help settings' lists them");
    return WR_USER;
}

wr_status wr_session_set(wr_session *s, const char *assignment, wr_err *err) {
    const char *eq = strchr(assignment, '=');
    wr_str      key = wr_str_trim((wr_str){assignment, eq ? (size_t)(eq - assignment) : 0});
    if (!eq || !key.len) {
        wr_fail(err, WR_USER, "WR107", "'%s' is not of the form NAME=VALUE", assignment);
        wr_err_hint(err, "NAME=VALUE gives ${NAME} in the script its value; a.setting=value is a setting");
        return WR_USER;
    }
    wr_str value = wr_str_of(eq + 1);
    if (memchr(key.ptr, '.', key.len)) return set_setting(s, key, value, err);
    for (size_t i = 0; i < key.len; i++) {
        char c = key.ptr[i];
        if (c == '_' || (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z')) continue;
        return wr_fail(err, WR_USER, "WR107", "'%.*s' cannot name a variable: letters, digits and _ only", WR_FMT(key));
    }
    return set_variable(s, key, value);
}

/* ---- texts ---- */
void wr_session_load_part(wr_session *s, const char *name, uint32_t lines_before, wr_str text) {
    wr_str kept = wr_str_dup(s->arena, text); /* diagnostics and trees point into it */
    wr_arr_push(&s->texts, (script_text){.name = wr_str_dup(s->arena, wr_str_of(name)), .text = kept, .lines_before = lines_before});
}

void wr_session_load_text(wr_session *s, const char *name, wr_str text) { wr_session_load_part(s, name, 0, text); }

wr_status wr_session_load_file(wr_session *s, const char *path, wr_err *err) {
    wr_sbuf   text = {0};
    wr_status status = wr_file_read_all(s->world, path, WR_SQL_TEXT_BYTES_MAX, &text, err);
    if (status == WR_OK) wr_session_load_text(s, path, wr_sbuf_str(&text));
    else wr_err_hint(err, "the first argument is a file with SQL; -e \"SQL\" takes a text");
    wr_sbuf_free(&text);
    return status;
}

static void forget_diags(wr_diags *diags) {
    diags->list.n = 0;
    diags->n_errors = diags->n_warnings = diags->n_dropped = 0;
}

/* After a syntax error a name may be unknown only because the statement that makes it did not parse: such followers are not reported. */
static void drop_followers(wr_diags *diags, uint32_t from) {
    uint32_t kept = from;
    for (uint32_t i = from; i < diags->list.n; i++) {
        const wr_diag *d = &diags->list.at[i];
        bool           follower = d->severity == WR_SEV_ERROR && (!strcmp(d->code, "42P01") || !strcmp(d->code, "42S02"));
        if (follower) diags->n_errors--;
        else diags->list.at[kept++] = *d;
    }
    diags->list.n = kept;
}

static wr_status plan_text(wr_session *s, script_text *t) {
    t->planned = true;
    wr_sbuf buf = {0};
    wr_str  text = t->text;
    if (text_substitute(s, t->text, &buf)) text = wr_str_dup(s->arena, wr_sbuf_str(&buf));
    wr_sbuf_free(&buf);
    uint32_t file = wr_diags_add_source(&s->diags, t->name, text);
    s->diags.sources.at[file - 1].lines_before = t->lines_before;
    if (text_report_missing(s, file, text)) return WR_USER;
    wr_script *script = NULL;
    wr_status  parsed = wr_sql_parse(s->arena, file, text, &s->diags, &script);
    if (!script) return parsed;
    uint32_t  n_diags = s->diags.list.n;
    wr_steps  steps = {0};
    wr_status planned = wr_plan_script(&s->plan_ctx, script, &steps);
    if (parsed != WR_OK) drop_followers(&s->diags, n_diags);
    for (uint32_t i = 0; i < steps.n; i++) wr_arr_push(&s->steps, steps.at[i]);
    return parsed != WR_OK ? parsed : planned;
}

wr_status wr_session_plan(wr_session *s) {
    forget_diags(&s->diags);
    s->plan_ctx.tail = s->opts.force_tail;
    s->plan_ctx.batch = s->opts.batch_selects;
    if (s->opts.accept_unbounded || wr_str_ieq(wr_catalog_get(s->catalog, "state.unbounded"), WR_STR("accepted"))) s->plan_ctx.accept_unbounded = true;
    wr_status status = WR_OK;
    for (uint32_t i = 0; i < s->texts.n; i++) {
        if (s->texts.at[i].planned) continue;
        wr_status one = plan_text(s, &s->texts.at[i]);
        if (status == WR_OK) status = one;
    }
    if (status == WR_OK && s->diags.n_errors) status = WR_USER;
    return status;
}

/* ---- running ---- */
static void remember(wr_session *s, wr_job *job) { /* for the bill of the next run */
    wr_job_status now;
    wr_job_status_get(job, &now);
    if (!now.finished_before && now.rows_in) wr_stats_save(&now, s->world, s->stats_dir);
    wr_arena_free(now.arena);
    s->stats_saved_us = wr_mono_us(s->world);
}

static void tick(void *arg, wr_job *job) {
    wr_session *s = arg;
    if (!s->stop_sent && wr_session_stopped(s)) {
        s->stop_sent = true;
        wr_job_stop(job);
    }
    if (s->stats_dir && wr_mono_us(s->world) - s->stats_saved_us > STATS_EVERY_US) remember(s, job);
    if (s->opts.on_tick) s->opts.on_tick(s->opts.arg, job);
}

static uint32_t count_jobs(const wr_session *s, uint32_t before) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < before; i++) n += s->steps.at[i].kind == WR_STEP_JOB;
    return n;
}

static const char *state_dir_of(wr_session *s, uint32_t step) {
    if (!s->opts.state_dir || count_jobs(s, s->steps.n) == 1) return s->opts.state_dir;
    return wr_arena_printf(s->arena, "%s/job-%u", s->opts.state_dir, count_jobs(s, step) + 1);
}

/* A savepoint of a script with several jobs has the same folders. */
static const char *restore_from(wr_session *s, uint32_t step) {
    if (!s->opts.restore_from || count_jobs(s, s->steps.n) == 1) return s->opts.restore_from;
    return wr_arena_printf(s->arena, "%s/job-%u", s->opts.restore_from, count_jobs(s, step) + 1);
}

/* A backfill's own state and what an upgrade rebuilds stay here; the next run uploads what came of them. */
static const char *checkpoint_to(wr_session *s, uint32_t step) {
    wr_str      text = wr_catalog_get(s->catalog, "execution.checkpointing.remote");
    const char *url = s->opts.checkpoint_to ? s->opts.checkpoint_to : wr_arena_strndup(s->arena, text.ptr, text.len);
    if (s->until || s->next_version || !url[0]) return NULL;
    return count_jobs(s, s->steps.n) == 1 ? url : wr_arena_printf(s->arena, "%s/job-%u", url, count_jobs(s, step) + 1);
}

static int64_t checkpoint_interval(const wr_session *s) {
    wr_str  text = wr_catalog_get(s->catalog, "execution.checkpointing.interval");
    int64_t us = 0;
    if (s->opts.checkpoint_interval_us || !text.len || !wr_parse_duration(text, &us)) return s->opts.checkpoint_interval_us;
    return us;
}

static bool unaligned(const wr_session *s) { return wr_str_ieq(wr_catalog_get(s->catalog, "execution.checkpointing.unaligned.enabled"), WR_STR("true")); }
static int64_t aligned_timeout(const wr_session *s) {
    int64_t us = 0;
    wr_str  text = wr_catalog_get(s->catalog, "execution.checkpointing.aligned-checkpoint-timeout");
    return text.len && wr_parse_duration(text, &us) ? us : -1;
}

static const char *catch_up_rate(const wr_session *s) {
    wr_str text = wr_catalog_get(s->catalog, "scan.catch-up.max-rate");
    return s->opts.catch_up_rate ? s->opts.catch_up_rate : wr_arena_strndup(s->arena, text.ptr, text.len);
}

static int64_t catch_up_lag(const wr_session *s) {
    int64_t us = 0;
    return wr_parse_duration(wr_catalog_get(s->catalog, "scan.catch-up.lag"), &us) ? us : 0;
}

/* A hash of the script as it was given and of what ${...} stood for. */
static const char *script_version(wr_session *s) {
    wr_sbuf all = {0};
    for (uint32_t i = 0; i < s->texts.n; i++) wr_put_bytes(&all, s->texts.at[i].text.ptr, s->texts.at[i].text.len);
    for (uint32_t i = 0; i < s->variables.n; i++)
        wr_put_bytes(&all, s->variables.at[i].name.ptr, s->variables.at[i].name.len), wr_put_bytes(&all, s->variables.at[i].value.ptr, s->variables.at[i].value.len);
    const char *version = wr_arena_printf(s->arena, "%016" PRIx64, wr_hash_bytes(all.at, all.len));
    wr_sbuf_free(&all);
    return version;
}

/* 'pipeline.name', else the file's name. */
static const char *job_name(wr_session *s) {
    wr_str      name = wr_catalog_get(s->catalog, "pipeline.name"), file = s->texts.n ? s->texts.at[0].name : WR_STR("");
    const char *slash = file.len ? memrchr(file.ptr, '/', file.len) : NULL;
    if (slash) file.len -= (size_t)(slash + 1 - file.ptr), file.ptr = slash + 1;
    return wr_arena_printf(s->arena, "%.*s", WR_FMT(name.len ? name : file));
}

static wr_run_opts run_opts(wr_session *s, uint32_t step) {
    const wr_session_opts *o = &s->opts;
    uint32_t groups = o->n_key_groups ? o->n_key_groups : number_setting(s, "pipeline.max-parallelism", KEY_GROUPS_MAX);
    return (wr_run_opts){.world = s->world, .acct = &s->acct, .memory_of_process = o->memory_of_process, .diags = &s->diags, .n_workers = wr_session_workers(s), .n_key_groups = groups,
                         .batch_rows = o->batch_rows, .state_dir = state_dir_of(s, step), .checkpoint_interval_us = checkpoint_interval(s),
                         .restore_from = restore_from(s, step), .checkpoint_to = checkpoint_to(s, step), .checkpoints_kept = number_setting(s, "execution.checkpointing.num-retained", 1000),
                         .unaligned = unaligned(s), .aligned_timeout_us = aligned_timeout(s),
                         .failed_checkpoints = number_setting(s, "execution.checkpointing.tolerable-failed-checkpoints", 1000000),
                         .fresh = o->fresh, .accept_older = o->accept_older, .from = o->from, .catch_up_rate = catch_up_rate(s), .catch_up_lag_us = catch_up_lag(s), .again_only = s->again_only, .again = s->again, .again_from = s->again_from, .until = s->until, .muted = s->muted, .next_version = s->next_version, .force_bounded = o->force_bounded, .force_tail = o->force_tail,
                         .final_rows = o->final_rows, .print_style = o->print_style ? o->print_style : "table", .simulate = o->simulate,
                         .seed = o->seed, .crash_after_steps = o->crash_after_steps, .checkpoint_every_steps = o->checkpoint_every_steps,
                         .end_when_idle_us = o->end_when_idle_us, .tick = tick, .tick_arg = s, .views_owner = s->again ? NULL : s,
                         .result = link_result(s), .result_arg = s, .job_name = job_name(s), .job_version = script_version(s), .weir_version = weir_version()};
}

wr_status wr_session_sample(wr_session *s, uint32_t index, int64_t for_us, wr_bill_facts **out, wr_err *err) {
    wr_job_plan *plan = s->steps.at[index].job;
    link_plan(s, plan);
    wr_account_init(&s->acct, NULL, "weir", wr_session_memory(s));
    wr_run_opts opts = run_opts(s, index);
    WR_TRY(wr_job_sample(plan, &opts, for_us, s->arena, out, err));
    wr_bill_apply(plan, *out, s->arena);
    return WR_OK;
}

wr_bill_facts *wr_session_last_run(wr_session *s, uint32_t index) {
    const char *dir = state_dir_of(s, index);
    wr_bill_facts *facts = dir ? wr_stats_load(s->steps.at[index].job, s->world, dir, s->arena) : NULL;
    if (facts) wr_bill_apply(s->steps.at[index].job, facts, s->arena);
    return facts;
}

wr_status wr_session_doctor(wr_session *s, uint32_t index, int64_t timeout_us, wr_findings *out, wr_err *err) {
    wr_job_plan *plan = s->steps.at[index].job;
    link_plan(s, plan);
    wr_account_init(&s->acct, NULL, "weir", wr_session_memory(s));
    wr_run_opts opts = run_opts(s, index);
    return wr_job_doctor(plan, &opts, timeout_us, out, err);
}

static wr_status run_job(wr_session *s, uint32_t step, wr_err *err) {
    const wr_job_plan *plan = s->steps.at[step].job;
    link_plan(s, plan);
    wr_account_init(&s->acct, NULL, "weir", wr_session_memory(s));
    wr_run_opts opts = run_opts(s, step);
    wr_job     *job = NULL;
    if (s->again) opts.redirect = true, opts.result = letters_nowhere(), opts.checkpoint_to = NULL;
    s->stop_sent = false;
    s->stats_dir = opts.simulate || opts.again_only ? NULL : opts.state_dir;
    s->stats_saved_us = wr_mono_us(s->world);
    wr_status status = wr_job_new(plan, &opts, &job, err);
    if (status != WR_OK) return status;
    if (s->opts.on_start) s->opts.on_start(s->opts.arg, plan, job);
    status = wr_session_stopped(s) ? WR_OK : wr_job_run(job, err);
    if (status == WR_OK && (wr_session_stopped(s) || !s->until)) { /* or by another process, through the state directory */
        wr_job_status now;
        wr_job_status_get(job, &now);
        if (!now.finished) status = wr_fail(err, WR_CANCELLED, "WR901", "stopped on request");
        wr_arena_free(now.arena);
    }
    if (s->stats_dir) remember(s, job);
    if (s->opts.on_end) s->opts.on_end(s->opts.arg, plan, job, status, err);
    wr_job_free(job);
    return status;
}

wr_status wr_session_upgrade_look(wr_session *s, uint32_t index, wr_upgrade *out, wr_upgrade_cost *cost, wr_err *err) {
    wr_run_opts opts = run_opts(s, index);
    return wr_upgrade_look(s->steps.at[index].job, &opts, out, cost, err);
}

wr_status wr_session_upgrade_apply(wr_session *s, uint32_t index, const wr_upgrade *upgrade, wr_err *err) {
    const wr_job_plan *plan = s->steps.at[index].job;
    link_plan(s, plan);
    wr_account_init(&s->acct, NULL, "weir", wr_session_memory(s));
    wr_run_opts opts = run_opts(s, index);
    opts.tick = NULL;
    return wr_upgrade_apply(plan, &opts, upgrade, err);
}

wr_status wr_session_run_step(wr_session *s, uint32_t index, wr_err *err) {
    wr_err spare;
    if (!err) err = &spare;
    memset(err, 0, sizeof *err);
    const wr_step *step = &s->steps.at[index];
    if (step->kind == WR_STEP_JOB) return run_job(s, index, err);
    if (s->opts.on_text) {
        s->opts.on_text(s->opts.arg, step->text);
        return WR_OK;
    }
    fwrite(step->text.ptr, 1, step->text.len, stdout);
    if (step->text.len && step->text.ptr[step->text.len - 1] != '\n') fputc('\n', stdout);
    fflush(stdout);
    return WR_OK;
}

wr_status wr_session_run(wr_session *s, wr_err *err) {
    wr_err spare;
    if (!err) err = &spare;
    memset(err, 0, sizeof *err);
    wr_status status = WR_OK;
    while (s->n_run < s->steps.n && status == WR_OK) {
        if (wr_session_stopped(s)) {
            s->n_run = s->steps.n;
            return wr_fail(err, WR_CANCELLED, "WR901", "stopped on request");
        }
        status = wr_session_run_step(s, s->n_run++, err);
    }
    if (status != WR_OK) s->n_run = s->steps.n;
    return status;
}

wr_status wr_session_exec(wr_session *s, const char *name, wr_str text, wr_err *err) {
    if (err) memset(err, 0, sizeof *err);
    wr_session_load_text(s, name, text);
    wr_status status = wr_session_plan(s);
    if (status != WR_OK) {
        s->n_run = s->steps.n;
        return status;
    }
    return wr_session_run(s, err);
}

void wr_session_subscribe(wr_session *s, const char *table, wr_session_rows call, void *arg) {
    wr_arr_push(&s->subscribers, (subscriber){.table = wr_str_dup(s->arena, wr_str_of(table)), .call = call, .arg = arg});
}

/* ---- reports ---- */
static void error_json(const wr_err *err, const wr_diags *diags, wr_sbuf *out) {
    wr_str file = err->at.file && err->at.file <= diags->sources.n ? diags->sources.at[err->at.file - 1].name : WR_STR("");
    wr_sbuf_printf(out, "{\"status\":\"%s\",\"code\":", wr_status_name(err->status));
    wr_sbuf_add_json(out, wr_str_of(err->code));
    wr_sbuf_addz(out, ",\"file\":");
    wr_sbuf_add_json(out, file);
    wr_sbuf_printf(out, ",\"line\":%u,\"column\":%u,\"place\":", wr_diags_line(diags, err->at), err->at.col);
    wr_sbuf_add_json(out, wr_str_of(err->place));
    wr_sbuf_addz(out, ",\"message\":");
    wr_sbuf_add_json(out, wr_str_of(err->message));
    wr_sbuf_addz(out, ",\"detail\":");
    wr_sbuf_add_json(out, wr_str_of(err->detail));
    wr_sbuf_addz(out, ",\"hint\":");
    wr_sbuf_add_json(out, wr_str_of(err->hint));
    wr_sbuf_addc(out, '}');
}

void wr_session_report(const wr_session *s, const wr_err *err, bool json, wr_sbuf *out) {
    bool failed = err && err->message[0];
    if (!json) {
        wr_diags_print(&s->diags, out);
        if (failed) wr_err_print(err, &s->diags, out);
        return;
    }
    wr_sbuf_addz(out, "{\"diagnostics\":");
    wr_diags_json(&s->diags, out);
    wr_sbuf_addz(out, ",\"error\":");
    if (failed) error_json(err, &s->diags, out);
    else wr_sbuf_addz(out, "null");
    wr_sbuf_addc(out, '}');
}
