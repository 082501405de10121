/* api/replay.c: see replay.h.
 *
 * Collector  what a transactional store would hold: rows count when their epoch is committed. An output is compared as a multiset of rows; if its
 *            connector takes changes by key, as the last row of each key.
 * Memory     the changes of two runs, bounded by the session's budget.                                                     */
#include "api/replay.h"
#include "api/internal.h"
#include "base/hash.h"
#include <stdio.h>
#include <stdlib.h>

enum { RUNS_DEFAULT = 50, CRASHES_MAX = 4, WORKERS_MAX = 6, TICK_STEPS = 64 };

typedef struct output {
    char    *name;
    bool     by_key;
    uint64_t epoch, order;
    wr_sbuf  text;               /* committed changes, one line each: kind, length of the key's text, key, row */
} output;
typedef struct collector { WR_ARR(output *) outputs; int64_t bytes_max; uint64_t ticks; wr_session *session; } collector;

/* ---- the sink ---- */
typedef struct collect_sink {
    wr_sink      base;
    collector   *to;
    output      *out;
    wr_sbuf      open;
    const wr_tz *tz;
    uint32_t     n_key;
    const uint32_t *key;
} collect_sink;

static void add_value(const wr_batch *batch, uint32_t col, uint32_t row, const wr_tz *tz, wr_sbuf *out) {
    size_t from = out->len;
    wr_vec_text(&batch->cols[col], row, tz, out);
    for (size_t i = from; i < out->len; i++)
        if (out->at[i] == '\n') out->at[i] = ' '; /* a line is a change */
}
static wr_status collect_write(wr_sink *sink, const wr_batch *batch, wr_err *err) {
    (void)err;
    collect_sink *s = (collect_sink *)sink;
    for (uint32_t i = 0; i < wr_batch_live(batch); i++) {
        uint32_t row = wr_batch_row(batch, i);
        bool     adds = !batch->kinds || wr_kind_adds(batch->kinds[row]);
        if (s->out->by_key && batch->kinds && batch->kinds[row] == WR_KIND_UPDATE_BEFORE) continue;
        wr_sbuf key = {0};
        for (uint32_t k = 0; s->out->by_key && k < s->n_key; k++) add_value(batch, s->key[k], row, s->tz, &key), wr_sbuf_addc(&key, '\t');
        wr_sbuf_printf(&s->open, "%c%zu ", adds ? '+' : '-', key.len);
        wr_sbuf_add_str(&s->open, wr_sbuf_str(&key));
        for (uint32_t c = 0; c < batch->n_cols; c++) {
            if (c) wr_sbuf_addz(&s->open, " | ");
            add_value(batch, c, row, s->tz, &s->open);
        }
        wr_sbuf_addc(&s->open, '\n');
        wr_sbuf_free(&key);
    }
    return WR_OK;
}
static wr_status collect_take(collect_sink *s, wr_str text, wr_err *err) {
    wr_sbuf_add_str(&s->out->text, text);
    int64_t bytes = 0;
    for (uint32_t i = 0; i < s->to->outputs.n; i++) bytes += (int64_t)s->to->outputs.at[i]->text.len;
    if (bytes <= s->to->bytes_max) return WR_OK;
    wr_fail(err, WR_LIMIT, "WR201", "the outputs need more memory than the budget: %s alone has %zu bytes", s->out->name, s->out->text.len);
    wr_err_hint(err, "give a larger --memory, or a smaller input");
    return WR_LIMIT;
}
static wr_status collect_flush(wr_sink *sink, wr_err *err) {
    collect_sink *s = (collect_sink *)sink;
    wr_status     status = collect_take(s, wr_sbuf_str(&s->open), err);
    wr_sbuf_clear(&s->open);
    return status;
}
static wr_status collect_prepare(wr_sink *sink, uint64_t epoch, wr_sbuf *staged, wr_err *err) {
    (void)epoch, (void)err;
    collect_sink *s = (collect_sink *)sink;
    wr_sbuf_add_str(staged, wr_sbuf_str(&s->open));
    wr_sbuf_clear(&s->open);
    return WR_OK;
}
static wr_status collect_commit(wr_sink *sink, uint64_t epoch, wr_str staged, wr_err *err) {
    collect_sink *s = (collect_sink *)sink;
    if (epoch <= s->out->epoch) return WR_OK;
    s->out->epoch = epoch;
    return collect_take(s, staged, err);
}
static wr_status collect_close(wr_sink *sink, bool ok, wr_err *err) {
    (void)ok, (void)err;
    wr_sbuf_free(&((collect_sink *)sink)->open);
    wr_free(sink);
    return WR_OK;
}
static const wr_sink_vt collect_vt = {.name = "replay", .write = collect_write, .flush = collect_flush, .prepare = collect_prepare,
                                      .commit = collect_commit, .recover = collect_commit, .close = collect_close};

static bool takes_by_key(const wr_table_info *info) {
    const wr_option    *o = wr_options_find(&info->options, "connector");
    const wr_connector *c = o ? wr_connector_find(o->value) : NULL;
    return info->n_key && c && c->takes && c->takes(info) == WR_SINK_UPSERT;
}
static output *output_of(collector *c, wr_str name) {
    for (uint32_t i = 0; i < c->outputs.n; i++)
        if (wr_str_eq(wr_str_of(c->outputs.at[i]->name), name)) return c->outputs.at[i];
    output *o = wr_calloc(1, sizeof *o);
    o->name = wr_calloc(name.len + 1, 1);
    memcpy(o->name, name.ptr, name.len);
    wr_arr_push(&c->outputs, o);
    return o;
}
static wr_status collect_new(const wr_table_info *info, wr_connect_ctx *ctx, wr_sink **out, wr_err *err) {
    (void)err;
    collect_sink *s = wr_calloc(1, sizeof *s);
    *s = (collect_sink){.base.vt = &collect_vt, .to = ctx->result_arg, .tz = ctx->tz, .n_key = info->n_key, .key = info->key};
    s->out = output_of(s->to, info->name);
    s->out->by_key = takes_by_key(info);
    *out = &s->base;
    return WR_OK;
}
static wr_guarantee  collect_guarantee(const wr_table_info *info) { (void)info; return WR_EXACTLY_ONCE; }
static wr_sink_takes collect_takes(const wr_table_info *info) { (void)info; return WR_SINK_ALL; }
static const wr_option_spec no_specs[] = {{0}};
static const wr_connector collect_connector = {.name = "replay", .doc = "", .specs = no_specs, .sink_new = collect_new, .takes = collect_takes,
                                               .guarantee = collect_guarantee};

static void collector_free(collector *c) {
    for (uint32_t i = 0; i < c->outputs.n; i++) {
        wr_free(c->outputs.at[i]->name);
        wr_sbuf_free(&c->outputs.at[i]->text);
        wr_free(c->outputs.at[i]);
    }
    wr_arr_free(&c->outputs);
}

/* ---- comparing ---- */
typedef struct change { wr_str key, row; uint32_t at; bool adds; } change;
typedef WR_ARR(change) changes;
typedef WR_ARR(wr_str) rows;

static int by_row(const void *a, const void *b) { return wr_str_cmp(((const change *)a)->row, ((const change *)b)->row); }
static int by_key(const void *a, const void *b) {
    const change *x = a, *y = b;
    int           order = wr_str_cmp(x->key, y->key);
    return order ? order : x->at < y->at ? -1 : 1;
}
static int by_text(const void *a, const void *b) { return wr_str_cmp(*(const wr_str *)a, *(const wr_str *)b); }

static void parse_changes(wr_str text, changes *out) {
    for (const char *at = text.ptr, *end = text.ptr + text.len; at < end;) {
        const char *nl = memchr(at, '\n', (size_t)(end - at));
        char       *body;
        size_t      key = strtoull(at + 1, &body, 10);
        body++;
        wr_arr_push(out, (change){{body, key}, {body + key, (size_t)(nl - body) - key}, out->n, *at == '+'});
        at = nl + 1;
    }
}

/* The rows that are left, sorted; one that was taken back but never given is shown as such. */
static void final_rows(const output *o, rows *out, wr_arena *arena) {
    changes all = {0};
    parse_changes(wr_sbuf_str(&o->text), &all);
    if (all.n) qsort(all.at, all.n, sizeof *all.at, o->by_key ? by_key : by_row);
    for (uint32_t i = 0, k; i < all.n; i = k) {
        int64_t sum = 0;
        for (k = i; k < all.n && (o->by_key ? wr_str_eq(all.at[k].key, all.at[i].key) : wr_str_eq(all.at[k].row, all.at[i].row)); k++) sum += all.at[k].adds ? 1 : -1;
        if (o->by_key) {
            if (all.at[k - 1].adds) wr_arr_push(out, all.at[k - 1].row);
            continue;
        }
        wr_str row = sum < 0 ? wr_str_of(wr_arena_printf(arena, "(taken back, never given) %.*s", WR_FMT(all.at[i].row))) : all.at[i].row;
        for (int64_t n = 0; n < llabs(sum); n++) wr_arr_push(out, row);
    }
    if (o->by_key && out->n) qsort(out->at, out->n, sizeof *out->at, by_text);
    wr_arr_free(&all);
}

/* Fills the report's difference; false if there is one. */
static bool same(const output *first, const output *other, wr_replay_report *r) {
    rows a = {0}, b = {0};
    final_rows(first, &a, r->arena);
    final_rows(other, &b, r->arena);
    r->n_only_first = r->n_only_other = 0;
    for (uint32_t i = 0, k = 0; i < a.n || k < b.n;) {
        int order = i == a.n ? 1 : k == b.n ? -1 : wr_str_cmp(a.at[i], b.at[k]);
        if (order < 0 && r->n_only_first++ == 0) r->only_first = wr_str_dup(r->arena, a.at[i]);
        if (order > 0 && r->n_only_other++ == 0) r->only_other = wr_str_dup(r->arena, b.at[k]);
        i += order <= 0, k += order >= 0;
    }
    if (r->n_only_first || r->n_only_other) r->output = wr_str_dup(r->arena, wr_str_of(first->name));
    wr_arr_free(&a), wr_arr_free(&b);
    return !r->n_only_first && !r->n_only_other;
}

/* ---- what may differ ---- */
static void suspect(wr_replay_report *r, wr_span at, const char *what, const char *why) {
    wr_str text = wr_str_of(wr_arena_printf(r->arena, "line %u: %.200s %s", at.line, what, why));
    for (uint32_t i = 0; i < r->suspects.n; i++)
        if (wr_str_starts(r->suspects.at[i], text)) return; /* what it reaches stands behind */
    wr_arr_apush(r->arena, &r->suspects, text);
}
static void suspect_expr(wr_replay_report *r, const wr_expr *e, const wr_schema *schema, wr_span at) {
    wr_volatility v = e ? wr_expr_volatility(e) : WR_VOL_PURE;
    if (v == WR_VOL_PURE) return;
    wr_sbuf text = {0};
    wr_expr_text(e, schema, &text);
    suspect(r, at, text.at, v == WR_VOL_RANDOM ? "is random: other values in each run" : "reads the clock: other values in each run");
    wr_sbuf_free(&text);
}
static void suspect_aggs(wr_replay_report *r, const wr_pnode *n, const wr_agg *aggs, uint32_t n_aggs, int64_t ttl_us, bool event_time) {
    for (uint32_t i = 0; i < n_aggs; i++) {
        wr_agg_kind k = aggs[i].kind;
        bool        by_order = k == WR_AGG_USER && !(aggs[i].user->udf->decl->flags & WEIR_ANY_ORDER);
        if (by_order || k == WR_AGG_FIRST_VALUE || k == WR_AGG_LAST_VALUE || k == WR_AGG_LISTAGG || k == WR_AGG_ARRAY_AGG)
            suspect(r, n->at, wr_agg_title(&aggs[i]), "takes rows in the order of arrival, which differs between files and after an exchange");
    }
    if (ttl_us && !event_time) suspect(r, n->at, n->title, "forgets by the wall clock ('table.exec.state.ttl')");
}
/* ties: also what differs only if rows are equal in what they are ordered by. */
static void suspect_node(wr_replay_report *r, const wr_pnode *n, bool ties) {
    const wr_schema *in = n->n_inputs ? &n->inputs[0].node->schema : NULL;
    switch (n->kind) {
    case WR_P_SOURCE:
        for (uint32_t i = 0; i < n->source.n_exprs; i++) suspect_expr(r, n->source.exprs[i], &n->source.decoded, n->at);
        if (n->source.idle_timeout_us) suspect(r, n->at, n->title, "leaves the watermark by the wall clock ('scan.idle-timeout')");
        break;
    case WR_P_CALC:
        suspect_expr(r, n->calc.filter, in, n->at);
        for (uint32_t i = 0; i < n->calc.n_exprs; i++) suspect_expr(r, n->calc.exprs[i], in, n->at);
        break;
    case WR_P_KEEP:
        suspect_expr(r, n->keep.calc.filter, in, n->at);
        for (uint32_t i = 0; i < n->keep.calc.n_exprs; i++) suspect_expr(r, n->keep.calc.exprs[i], in, n->at);
        break;
    case WR_P_GROUP_AGG: suspect_aggs(r, n, n->group_agg.aggs, n->group_agg.n_aggs, n->group_agg.ttl_us, n->group_agg.ttl_event_time); break;
    case WR_P_WINDOW_AGG:
        suspect_aggs(r, n, n->window_agg.aggs, n->window_agg.n_aggs, 0, true);
        if (n->window_agg.window.proctime) suspect(r, n->at, n->title, "goes by processing time: rows fall into other windows");
        break;
    case WR_P_INTERVAL_JOIN:
        if (n->interval_join.proctime) suspect(r, n->at, n->title, "goes by processing time: other pairs are near each other");
        break;
    case WR_P_TOP_N:
        if (ties && !n->top_n.n_unique) suspect(r, n->at, n->title, "leaves equal rows in the order of arrival");
        if (n->top_n.ttl_us) suspect(r, n->at, n->title, "forgets by the wall clock ('table.exec.state.ttl')");
        break;
    case WR_P_DEDUP:
        if (n->dedup.time_col < 0) suspect(r, n->at, n->title, "goes by processing time: the order of arrival");
        else if (ties) suspect(r, n->at, n->title, "leaves rows of the same time in the order of arrival");
        break;
    case WR_P_MATCH:
        if (ties && !n->match.n_order) suspect(r, n->at, n->title, "takes rows of the same time in the order of arrival");
        break;
    case WR_P_ASSIGN:
        if (ties) suspect(r, n->at, n->title, "takes rows of one order or courier that have the same time in the order of arrival");
        break;
    case WR_P_LOOKUP_JOIN:
        suspect(r, n->at, n->title, "asks the table when a row comes: other rows if the table has changed by then");
        break;
    case WR_P_LIMIT: suspect(r, n->at, n->title, "keeps the rows that arrive first"); break;
    case WR_P_JOIN:
        if (n->join.ttl_us[0] || n->join.ttl_us[1]) suspect(r, n->at, n->title, "forgets by the wall clock ('table.exec.state.ttl')");
        break;
    default: break;
    }
}

/* Which outputs come from plan node `at`: behind each of the suspects from `from` on. */
static void name_outputs(wr_replay_report *r, const wr_job_plan *plan, uint32_t at, uint32_t from) {
    bool   *reached = wr_arena_calloc(r->arena, plan->nodes.n + 1);
    wr_sbuf names = {0};
    reached[at] = true;
    for (uint32_t i = at + 1; i < plan->nodes.n; i++) {
        const wr_pnode *n = plan->nodes.at[i];
        for (uint32_t k = 0; k < n->n_inputs; k++) reached[i] |= reached[n->inputs[k].node->index];
        for (uint32_t k = 0; k < n->n_union; k++) reached[i] |= reached[n->union_inputs[k].node->index];
        if (reached[i] && n->kind == WR_P_VIEW) wr_sbuf_printf(&names, "%s%.*s", names.len ? ", " : "", WR_FMT(n->view.table->name));
        if (reached[i] && n->kind == WR_P_SINK) wr_sbuf_printf(&names, "%s%.*s", names.len ? ", " : "", n->sink.is_result ? 10 : (int)n->sink.table->name.len, n->sink.is_result ? "the result" : n->sink.table->name.ptr);
    }
    for (uint32_t i = from; i < r->suspects.n && names.len; i++)
        r->suspects.at[i] = wr_str_of(wr_arena_printf(r->arena, "%.*s; it reaches %.*s", WR_FMT(r->suspects.at[i]), (int)WR_MIN(names.len, 300u), names.at));
    wr_sbuf_free(&names);
}
static void suspect_plan(wr_replay_report *r, const wr_job_plan *plan, bool ties) {
    for (uint32_t i = 0; i < plan->nodes.n; i++) {
        uint32_t from = r->suspects.n;
        suspect_node(r, plan->nodes.at[i], ties);
        name_outputs(r, plan, i, from);
    }
}

/* ---- a run ---- */
typedef struct setting { uint32_t workers, batch, crashes; uint64_t seed; bool calm; } setting;

/* The real world, except that syncs cost no disk time: nothing here has to outlive the machine. */
static wr_status no_sync(wr_world *w, wr_file *f, wr_err *err) { return (void)w, (void)f, (void)err, WR_OK; }
static wr_status no_sync_dir(wr_world *w, const char *path, wr_err *err) { return (void)w, (void)path, (void)err, WR_OK; }

static void tick(void *arg, wr_job *job) {
    collector *c = arg;
    c->ticks++;
    if (wr_session_stopped(c->session)) wr_job_stop(job);
}

static wr_run_opts options(wr_session *s, collector *c, wr_world *world, const char *dir) {
    const wr_session_opts *o = &s->opts;
    return (wr_run_opts){.world = world, .acct = &s->acct, .diags = &s->diags, .n_key_groups = o->n_key_groups, .state_dir = dir, .force_bounded = o->force_bounded,
                         .simulate = true, .redirect = true, .result = &collect_connector, .result_arg = c, .tick = tick, .tick_arg = c};
}

/* From the beginning to the end, with the setting's crashes on the way. */
static wr_status run_once(wr_session *s, const wr_job_plan *plan, setting *set, uint64_t ticks, collector *c, wr_world *world, const char *dir, wr_err *err) {
    static const size_t chunks[] = {4096, 65536, 0};
    wr_rng              rng;
    wr_run_opts         ro = options(s, c, world, dir);
    wr_rng_seed(&rng, set->seed);
    WR_TRY(wr_dir_remove(world, dir, err));
    for (uint32_t crashes = 0;; crashes++) {
        uint64_t steps = (ticks + 1) * TICK_STEPS;
        ro.n_workers = set->calm ? 1 : (set->workers = 1 + (uint32_t)wr_rng_below(&rng, WORKERS_MAX));
        ro.batch_rows = set->calm ? 0 : (set->batch = 1 + (uint32_t)wr_rng_below(&rng, UINT64_C(1) << wr_rng_below(&rng, 12)));
        ro.chunk_bytes = set->calm ? 0 : chunks[wr_rng_below(&rng, WR_COUNT_OF(chunks))];
        ro.seed = wr_rng_next(&rng);
        ro.checkpoint_every_steps = set->calm ? UINT64_MAX : 1 + steps / 32 + wr_rng_below(&rng, 1 + steps / 2);
        ro.unaligned = !set->calm;
        ro.aligned_timeout_steps = set->calm ? 0 : 1 + wr_rng_below(&rng, 1 + steps / 16);
        ro.crash_after_steps = set->calm || crashes >= set->crashes ? 0 : 1 + wr_rng_below(&rng, steps);
        wr_account_init(&s->acct, NULL, "weir", wr_session_memory(s));
        wr_job   *job = NULL;
        wr_status status = wr_job_new(plan, &ro, &job, err);
        if (status == WR_OK) status = wr_job_run(job, err);
        wr_job_free(job);
        if (wr_session_stopped(s)) return wr_fail(err, WR_CANCELLED, "WR901", "stopped on request");
        if (status != WR_CANCELLED) {
            set->crashes = crashes;
            return status;
        }
    }
}

static wr_status must_end(const wr_session *s, const wr_job_plan *plan, wr_err *err) {
    for (uint32_t i = 0; i < plan->nodes.n && !plan->bounded && !s->opts.force_bounded; i++) {
        const wr_pnode *n = plan->nodes.at[i];
        if (n->kind != WR_P_SOURCE || n->source.bounded) continue;
        wr_fail(err, WR_USER, "WR129", "a replay needs inputs that end, and table %.*s has no end", WR_FMT(n->source.table->name));
        wr_err_hint(err, "--bounded reads files as they are now and stops; generators take 'number-of-rows'");
        err->at = n->at;
        return WR_USER;
    }
    return WR_OK;
}

static bool compare(const collector *first, const collector *other, wr_replay_report *r) {
    for (uint32_t i = 0; i < first->outputs.n; i++) {
        const output *o = first->outputs.at[i], *p = NULL;
        for (uint32_t k = 0; k < other->outputs.n; k++)
            if (!strcmp(o->name, other->outputs.at[k]->name)) p = other->outputs.at[k];
        if (!p || !same(o, p, r)) return false;
    }
    return true;
}

static void note_outputs(const collector *c, wr_replay_report *r) {
    for (uint32_t i = 0; i < c->outputs.n; i++) {
        rows left = {0};
        final_rows(c->outputs.at[i], &left, r->arena);
        wr_arr_apush(r->arena, &r->outputs, (wr_replay_output){wr_str_dup(r->arena, wr_str_of(c->outputs.at[i]->name)), left.n});
        wr_arr_free(&left);
    }
}

static wr_status replay_job(wr_session *s, const wr_job_plan *plan, const wr_replay_opts *opts, wr_world *world, const char *dir, wr_replay_report *r, wr_err *err) {
    collector first = {.bytes_max = wr_session_memory(s), .session = s};
    setting   calm = {.calm = true};
    wr_status status = must_end(s, plan, err);
    uint32_t  done = 0;
    suspect_plan(r, plan, false);
    if (status == WR_OK && opts->progress) opts->progress(opts->arg, 1, opts->runs);
    if (status == WR_OK) status = run_once(s, plan, &calm, 0, &first, world, dir, err);
    if (status == WR_OK) note_outputs(&first, r), done = 1;
    for (uint32_t run = 2; run <= opts->runs && status == WR_OK && r->equal; run++) {
        collector other = {.bytes_max = first.bytes_max, .session = s};
        setting   set = {.seed = wr_hash_mix(opts->seed, run)};
        set.crashes = (uint32_t)(wr_hash_mix(set.seed, 1) % (CRASHES_MAX + 1));
        if (opts->progress) opts->progress(opts->arg, run, opts->runs);
        status = run_once(s, plan, &set, first.ticks, &other, world, dir, err);
        if (status == WR_OK) {
            done = run;
            r->crashes += set.crashes;
            r->workers_max = WR_MAX(r->workers_max, set.workers);
            r->equal = compare(&first, &other, r);
            if (!r->equal) r->other_run = run, r->other_workers = set.workers, r->other_batch = set.batch, r->other_crashes = set.crashes;
        }
        collector_free(&other);
    }
    if (!r->equal) suspect_plan(r, plan, true);
    r->runs = WR_MAX(r->runs, done);
    collector_free(&first);
    return status;
}

wr_status wr_session_replay(wr_session *s, const wr_replay_opts *asked, wr_replay_report *report, wr_err *err) {
    wr_replay_opts opts = *asked;
    if (!opts.runs) opts.runs = RUNS_DEFAULT;
    memset(err, 0, sizeof *err);
    *report = (wr_replay_report){.arena = wr_arena_new(NULL), .equal = true, .workers_max = 1};
    wr_world_vt vt = *s->world->vt; /* the posix world keeps no state of its own, so its functions serve another one as well */
    wr_world    fast = {.vt = &vt}, *world = s->world == wr_world_posix() ? &fast : s->world;
    vt.file_sync = no_sync;
    vt.sync_dir = no_sync_dir;
    const char *tmp = getenv("TMPDIR");
    char        dir[512];
    snprintf(dir, sizeof dir, "%.400s/weir-replay-%016llx", tmp && *tmp ? tmp : "/tmp", (unsigned long long)world->vt->random(world));
    wr_status status = WR_OK;
    for (uint32_t i = 0; i < s->steps.n && status == WR_OK && report->equal; i++) {
        if (s->steps.at[i].kind != WR_STEP_JOB) continue;
        link_plan(s, s->steps.at[i].job);
        status = replay_job(s, s->steps.at[i].job, &opts, world, dir, report, err);
    }
    wr_err spare;
    wr_dir_remove(world, dir, &spare);
    return status;
}
