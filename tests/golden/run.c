/* tests/golden/run.c: one case under one setting: plan, run its jobs, collect rows in a sink that keeps epochs, so that crashes can be judged.
 *
 * Crash runs a job is stepped by the seeded scheduler, takes a checkpoint every few steps (three of four unaligned), "crashes" after a random number of them and starts again
 *            from its state directory with another number of workers, up to five times, then runs to the end. Rows of the capture sink count
 *            only when their epoch is committed, as in a transactional database.                                                       */
#include "golden.h"
#include "api/session.h"
#include "base/hash.h"
#include "connect/view/writer.h"
#include <stdio.h>

/* ---- the capture sink ---- */
typedef struct capture {      /* outlives jobs: what a transactional store would hold */
    wr_sbuf  committed;
    uint64_t epoch;
} capture;
typedef struct capture_sink {
    wr_sink      base;
    capture     *to;
    wr_sbuf      open;         /* rows since the last prepare */
    wr_sbuf      held;         /* of the batch that is under way; each fourth one takes two steps */
    uint32_t     n_batches, n_drained;
    const wr_tz *tz;
    bool         epochs;       /* prepare was called at least once: rows wait for commit */
} capture_sink;

static wr_status capture_write(wr_sink *sink, const wr_batch *batch, wr_err *err) {
    (void)err;
    capture_sink *s = (capture_sink *)sink;
    for (uint32_t i = 0; i < wr_batch_live(batch); i++) {
        uint32_t row = wr_batch_row(batch, i);
        wr_sbuf_printf(&s->held, "%s ", wr_kind_text((wr_kind)wr_batch_kind(batch, row)));
        for (uint32_t c = 0; c < batch->n_cols; c++) {
            if (c) wr_sbuf_addz(&s->held, " | ");
            wr_vec_text(&batch->cols[c], row, s->tz, &s->held);
        }
        wr_sbuf_addc(&s->held, '\n');
    }
    s->n_batches++;
    s->n_drained = 0;
    return WR_OK;
}
static wr_status capture_drain(wr_sink *sink, int64_t wait_us, bool *busy, wr_err *err) {
    (void)wait_us, (void)err;
    capture_sink *s = (capture_sink *)sink;
    *busy = s->n_batches % 4 == 0 && s->n_drained++ < 2;
    if (*busy) return WR_OK;
    wr_sbuf_add_str(&s->open, wr_sbuf_str(&s->held));
    wr_sbuf_clear(&s->held);
    return WR_OK;
}
static wr_status capture_flush(wr_sink *sink, wr_err *err) {
    (void)err;
    capture_sink *s = (capture_sink *)sink;
    wr_sbuf_add_str(&s->to->committed, wr_sbuf_str(&s->open));
    wr_sbuf_clear(&s->open);
    return WR_OK;
}
static wr_status capture_prepare(wr_sink *sink, uint64_t epoch, wr_sbuf *staged, wr_err *err) {
    (void)epoch, (void)err;
    capture_sink *s = (capture_sink *)sink;
    wr_sbuf_add_str(staged, wr_sbuf_str(&s->open));
    wr_sbuf_clear(&s->open);
    return WR_OK;
}
static wr_status capture_commit(wr_sink *sink, uint64_t epoch, wr_str staged, wr_err *err) {
    (void)err;
    capture_sink *s = (capture_sink *)sink;
    if (epoch <= s->to->epoch) return WR_OK;
    wr_sbuf_add_str(&s->to->committed, staged);
    s->to->epoch = epoch;
    return WR_OK;
}
static wr_status capture_close(wr_sink *sink, bool ok, wr_err *err) {
    (void)err, (void)ok;
    wr_sbuf_free(&((capture_sink *)sink)->open);
    wr_sbuf_free(&((capture_sink *)sink)->held);
    wr_free(sink);
    return WR_OK;
}
static const wr_sink_vt capture_vt = {.name = "capture", .write = capture_write, .flush = capture_flush, .prepare = capture_prepare,
                                      .commit = capture_commit, .recover = capture_commit, .close = capture_close, .drain = capture_drain};
static wr_status capture_new(const wr_table_info *info, wr_connect_ctx *ctx, wr_sink **out, wr_err *err) {
    (void)info, (void)err;
    capture_sink *s = wr_calloc(1, sizeof *s);
    s->base.vt = &capture_vt;
    s->to = ctx->result_arg;
    s->tz = ctx->tz;
    *out = &s->base;
    return WR_OK;
}
static wr_guarantee capture_guarantee(const wr_table_info *info) { (void)info; return WR_EXACTLY_ONCE; }
static wr_sink_takes capture_takes(const wr_table_info *info) { (void)info; return WR_SINK_ALL; }
static const wr_option_spec no_specs[] = {{0}};
static const wr_connector capture_connector = {.name = "capture", .doc = "", .specs = no_specs, .sink_new = capture_new, .takes = capture_takes,
                                               .guarantee = capture_guarantee};

/* ---- settings ---- */
uint32_t golden_settings(const golden_setting **out, bool quick) {
    static golden_setting all[] = {
        {.name = "workers=1 batch=1", .workers = 1, .batch = 1},
        {.name = "workers=2 batch=3", .workers = 2, .batch = 3},
        {.name = "workers=4 batch=2048", .workers = 4, .batch = 2048},
        {.name = "simulated seed=1", .workers = 3, .batch = 2, .simulate = true, .seed = 1},
        {.name = "crash seed=2", .workers = 2, .batch = 1, .simulate = true, .crash = true, .seed = 2},
        {.name = "tiny memory", .workers = 2, .batch = 3, .map_bytes = 1},
        {.name = "workers=1 batch=3", .workers = 1, .batch = 3},
        {.name = "workers=1 batch=2048", .workers = 1, .batch = 2048},
        {.name = "workers=2 batch=1", .workers = 2, .batch = 1},
        {.name = "workers=2 batch=2048", .workers = 2, .batch = 2048},
        {.name = "workers=4 batch=1", .workers = 4, .batch = 1},
        {.name = "workers=4 batch=3", .workers = 4, .batch = 3},
        {.name = "tiny queues", .workers = 2, .batch = 3, .queue_bytes = 1},
        {.name = "tail workers=1", .workers = 1, .batch = 3, .simulate = true, .tail = true, .seed = 3},
        {.name = "tail workers=2", .workers = 2, .batch = 2048, .simulate = true, .tail = true, .seed = 4},
        {.name = "simulated seed=5", .workers = 2, .batch = 1, .simulate = true, .seed = 5, .queue_bytes = 1},
        {.name = "crash seed=6", .workers = 1, .batch = 3, .simulate = true, .crash = true, .seed = 6},
        {.name = "crash seed=7", .workers = 4, .batch = 1, .simulate = true, .crash = true, .seed = 7},
        {.name = "crash tiny memory", .workers = 2, .batch = 3, .simulate = true, .crash = true, .seed = 9, .map_bytes = 1},
        {.name = "crash seed=8", .workers = 3, .batch = 2, .simulate = true, .crash = true, .seed = 8, .queue_bytes = 1},
        {.name = "tier crash seed=9", .workers = 3, .batch = 2, .simulate = true, .crash = true, .tier = true, .seed = 9},
        {.name = "tier crash seed=10", .workers = 1, .batch = 1, .simulate = true, .crash = true, .tier = true, .seed = 10},
        {.name = "tier seed=11", .workers = 2, .batch = 3, .simulate = true, .tier = true, .seed = 11},
    };
    *out = all;
    return quick ? 6 : WR_COUNT_OF(all);
}

/* ---- running ---- */
static void count(golden_result *out, const char *who, const char *what, uint64_t n) {
    wr_arr_push(&out->counts, (golden_count){wr_strdup(who), what, n});
}

static void collect_ledger(wr_job *job, golden_result *out) {
    wr_job_status st;
    wr_job_status_get(job, &st);
    if (!wr_job_ledger_text(&st, &out->ledger_text)) {
        wr_sbuf_printf(&out->messages, "the ledger does not close\n%s", out->ledger_text.at);
        out->status = WR_CORRUPT;
    }
    for (uint32_t i = 0; i < st.n_nodes; i++) {
        const wr_node_status *s = &st.nodes[i];
        const wr_ledger      *l = &s->ledger;
        char who[256];
        if (s->node->kind == WR_P_SOURCE) snprintf(who, sizeof who, "%.*s", WR_FMT(s->node->source.table->name));
        else snprintf(who, sizeof who, "%s", s->node->title);
        count(out, who, "in", l->in[0] + l->in[1]);
        count(out, who, "out", l->out);
        count(out, who, "matched-left", l->matched[0]);
        count(out, who, "matched-right", l->matched[1]);
        for (int r = 0; r < WR_REASON_COUNT; r++)
            if (l->dropped[r]) count(out, who, wr_reason_name((wr_reason)r), l->dropped[r]);
    }
    wr_arena_free(st.arena);
}

static wr_status attempt(const wr_job_plan *plan, wr_run_opts *ro, golden_result *out) {
    wr_err    err = {0};
    wr_job   *job = NULL;
    wr_account root;
    wr_account_init(&root, NULL, "test", 0);
    ro->acct = &root;
    wr_status status = wr_job_new(plan, ro, &job, &err);
    if (status == WR_OK) {
        status = wr_job_run(job, &err);
        if (status == WR_OK) collect_ledger(job, out);
        wr_job_free(job);
        if (status == WR_OK && wr_account_bytes(&root) != 0) {
            wr_sbuf_printf(&out->messages, "%lld bytes are still charged after the end\n", (long long)wr_account_bytes(&root));
            status = WR_CORRUPT;
        }
    }
    if (status != WR_OK && status != WR_CANCELLED) wr_err_print(&err, ro->diags, &out->messages);
    return status;
}

static wr_status run_job(const wr_job_plan *plan, const golden_setting *s, const char *state_dir, wr_diags *diags, golden_result *out) {
    capture     to = {0};
    fault_world calm = golden_world(0);
    wr_run_opts ro = {.world = &calm.base, .diags = diags, .n_workers = s->workers, .batch_rows = s->batch, .simulate = s->simulate,
                      .seed = s->seed, .queue_bytes = s->queue_bytes, .map_bytes = s->map_bytes, .result = &capture_connector, .result_arg = &to, .force_tail = s->tail,
                      .end_when_idle_us = s->tail ? 1 : 0, .views_owner = diags}; /* a later SELECT may read them */
    wr_status status;
    if (s->tier) ro.tier_attach_bytes = -1;
    if (s->faulty) {
        ro.state_dir = state_dir;
        ro.checkpoint_every_steps = 4;
        ro.world = s->faulty;
        size_t said = out->messages.len;
        status = attempt(plan, &ro, out);
        out->faulted = status == WR_IO;
        if (out->faulted) {
            wr_assert(out->messages.len > said); /* it said what happened */
            wr_sbuf_clear(&out->messages);
            ro.world = &calm.base;
            status = attempt(plan, &ro, out);
        }
    } else if (!s->crash) {
        if (s->tier) ro.state_dir = state_dir, ro.checkpoint_every_steps = 5;
        status = attempt(plan, &ro, out);
    } else {
        wr_rng rng;
        wr_rng_seed(&rng, s->seed);
        ro.state_dir = state_dir;
        for (uint32_t tries = 0;; tries++) {
            ro.seed = wr_rng_next(&rng);
            ro.n_workers = 1 + (uint32_t)wr_rng_below(&rng, s->workers + 1);
            ro.checkpoint_every_steps = 2 + wr_rng_below(&rng, 12);
            ro.unaligned = wr_rng_below(&rng, 4) != 0;
            ro.aligned_timeout_steps = 1 + wr_rng_below(&rng, 8);
            ro.crash_after_steps = tries < 5 ? 3 + wr_rng_below(&rng, 60) : 0;
            status = attempt(plan, &ro, out);
            if (status != WR_CANCELLED) break;
            out->crashes++;
        }
    }
    wr_sbuf_add_str(&out->rows, wr_sbuf_str(&to.committed));
    wr_sbuf_free(&to.committed);
    return status;
}

/* ${DIR}: of the case's files; ${LIB}: of the functions in C that were built for tests. */
static void substitute(const char *sql, const char *dir, wr_sbuf *out) {
    for (const char *at; (at = strstr(sql, "${")); sql = at) {
        bool is_dir = !strncmp(at, "${DIR}", 6), is_lib = !strncmp(at, "${LIB}", 6);
        wr_sbuf_add(out, sql, (size_t)(at - sql));
        wr_sbuf_addz(out, is_dir ? dir : is_lib ? GOLDEN_LIBS : "${");
        at += is_dir || is_lib ? 6 : 2;
    }
    wr_sbuf_addz(out, sql);
}

/* ---- as a view ---- */
static const wr_str VIEW = {"golden_view", 11};

/* The last statement, a query, becomes a view. False: it is none. */
static bool make_view(wr_sbuf *sql) {
    size_t len = sql->len, at = 0;
    char   quote = 0;
    while (len && strchr(" \n\t;", sql->at[len - 1])) len--;
    for (size_t i = 0; i < len; i++) {
        if (quote ? sql->at[i] == quote : sql->at[i] == '\'' || sql->at[i] == '`') quote = quote ? 0 : sql->at[i];
        else if (!quote && sql->at[i] == ';') at = i + 1;
    }
    while (at < len && strchr(" \n\t", sql->at[at])) at++;
    wr_str query = {sql->at + at, len - at};
    if (memmem(sql->at, at, "INSERT", 6) || memmem(sql->at, at, "MATERIALIZED", 12)) return false; /* they would be one job */
    if (query.len < 6 || !(wr_str_ieq((wr_str){query.ptr, 6}, WR_STR("SELECT")) || wr_str_ieq((wr_str){query.ptr, 4}, WR_STR("WITH")))) return false;
    wr_sbuf out = {0};
    wr_sbuf_add(&out, sql->at, at);
    wr_sbuf_printf(&out, "CREATE MATERIALIZED VIEW %.*s AS %.*s;", WR_FMT(VIEW), WR_FMT(query));
    wr_sbuf_free(sql);
    *sql = out;
    return true;
}

/* What a reader finds at the end; and by key, the first and the last row again. */
static wr_status read_view(golden_result *out) {
    wr_view *view = NULL;
    wr_err   err = {0};
    if (wr_views_list(&view, 1) != 1) return wr_sbuf_addz(&out->messages, "there is no view at the end\n"), WR_CORRUPT;
    wr_view_cut  *cut = wr_view_pin(view);
    wr_view_scan *scan = wr_view_scan_new(cut, &(wr_view_range){0});
    wr_status     status;
    uint64_t      n = 0;
    for (wr_batch *b, *one; (status = wr_view_scan_next(scan, 7, &b, &err)) == WR_OK && b; wr_batch_unref(b)) {
        for (uint32_t i = 0; i < b->n_rows; i++) {
            wr_sbuf_addz(&out->rows, "+I ");
            for (uint32_t c = 0; c < b->n_cols; c++) {
                if (c) wr_sbuf_addz(&out->rows, " | ");
                wr_vec_text(&b->cols[c], i, wr_view_tz(view), &out->rows);
            }
            wr_sbuf_addc(&out->rows, '\n');
        }
        wr_sbuf key = {0};
        wr_view_key_put_row(view, b, 0, &key);
        if (wr_view_get(cut, wr_sbuf_str(&key), &one, &err) != WR_OK || !one) wr_sbuf_addz(&out->messages, "a row is not found by its key\n"), out->status = WR_CORRUPT;
        wr_batch_unref(one);
        wr_sbuf_free(&key);
        n += b->n_rows;
    }
    if (wr_view_cut_as_of(cut)->rows != n) wr_sbuf_printf(&out->messages, "%llu rows are counted\n", (unsigned long long)wr_view_cut_as_of(cut)->rows), out->status = WR_CORRUPT;
    wr_view_scan_free(scan);
    wr_view_unpin(cut);
    wr_view_unref(view);
    return status;
}

void golden_run(const golden_case *c, const golden_setting *s, const char *dir, golden_result *out) {
    bool            said = false; /* cases are about rows: unbounded state is accepted unless the case sets it itself */
    for (uint32_t i = 0; i < c->settings.n; i++) said = said || !strcmp(c->settings.at[i].name, "state.unbounded");
    wr_session_opts so = {.force_tail = s->tail, .n_workers = s->workers, .accept_unbounded = !said};
    wr_session     *session = wr_session_new(&so);
    wr_sbuf         sql = {0};
    wr_err          err = {0};
    for (uint32_t i = 0; i < c->settings.n; i++) wr_sbuf_printf(&sql, "SET '%s' = '%s'; ", c->settings.at[i].name, c->settings.at[i].text);
    substitute(c->sql, dir, &sql);
    out->skipped = c->as_view && (strstr(c->rows, "-0.0") || !make_view(&sql)); /* rows are kept with 0.0 for it */
    wr_session_load_text(session, "case.sql", wr_sbuf_str(&sql));
    out->status = wr_session_plan(session);
    if (out->status != WR_OK) wr_session_report(session, &err, false, &out->messages);
    out->skipped |= c->as_view && out->status != WR_OK;
    if (out->skipped) out->status = WR_USER;
    for (uint32_t i = 0; out->status == WR_OK && i < wr_session_n_steps(session); i++) {
        const wr_step *step = wr_session_step(session, i);
        char state_dir[1024];
        snprintf(state_dir, sizeof state_dir, "%s/state-%u", dir, i);
        if (step->kind == WR_STEP_TEXT) wr_sbuf_printf(&out->rows, "%.*s\n", WR_FMT(step->text));
        else {
            wr_status status = run_job(step->job, s, state_dir, wr_session_diags(session), out);
            if (status != WR_OK) out->status = status;
        }
    }
    if (c->as_view && out->status == WR_OK) out->status = read_view(out);
    if (out->status == WR_USER && !out->messages.len) wr_diags_print(wr_session_diags(session), &out->messages);
    wr_views_forget(wr_session_diags(session));
    wr_session_free(session);
    wr_sbuf_free(&sql);
}

void golden_result_free(golden_result *r) {
    wr_sbuf_free(&r->rows), wr_sbuf_free(&r->messages), wr_sbuf_free(&r->ledger_text);
    for (uint32_t i = 0; i < r->counts.n; i++) wr_free(r->counts.at[i].who);
    wr_arr_free(&r->counts);
}
