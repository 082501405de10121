/* run/build.c: plan graph -> nodes, chains, edges and tasks on every worker. The one translator from plan to operators.
 *
 * Idea       a node that keeps nothing and whose input stays on its worker is chained to its producer (a function call per batch); every other
 *            node heads a task that reads its ports from queues. A node that exists once (single, sinks) lives on worker index % n.
 * Invariant  edges know which sources' turns pass in order and whether derived rows pass too; that decides how their receivers wait.
 * Thread     before the workers start.                                                                                        */
#include "run/internal.h"
#include "run/view.h"
#include <stdio.h>

static const wr_pinput *inputs_of(const wr_pnode *p, uint32_t *n) {
    *n = p->kind == WR_P_UNION ? p->n_union : p->n_inputs;
    return p->kind == WR_P_UNION ? p->union_inputs : p->inputs;
}

static const wr_connector *sink_connector(const wr_job *job, const wr_pnode *p) {
    if (p->sink.is_result || job->opts.redirect) return job->opts.result ? job->opts.result : wr_connector_find(WR_STR("result"));
    return wr_connector_find(p->sink.table->connector);
}

static bool is_source(const wr_pnode *p) { return p->kind == WR_P_SOURCE || p->kind == WR_P_VALUES; }

static bool is_single(const wr_job *job, const wr_pnode *p) {
    if (p->kind == WR_P_SINK) return !sink_connector(job, p)->parallel_sink;
    for (uint32_t i = 0; i < p->n_inputs; i++)
        if (p->inputs[i].exchange == WR_X_GATHER) return true; /* all rows meet on one worker */
    return p->single && !is_source(p);
}

static bool is_chained(const wr_job *job, const wr_pnode *p);

static bool from_sources_only(const wr_job *job, const wr_pnode *p) {
    if (is_source(p)) return true;
    if (!is_chained(job, p)) return false;
    uint32_t         n;
    const wr_pinput *in = inputs_of(p, &n);
    for (uint32_t i = 0; i < n; i++)
        if (!from_sources_only(job, in[i].node)) return false;
    return true;
}

static bool is_chained(const wr_job *job, const wr_pnode *p) {
    if (p->kind == WR_P_UNION) { /* of sources only: their barriers pass together; else it must align them, so it is a task */
        for (uint32_t i = 0; i < p->n_union; i++)
            if (p->union_inputs[i].exchange != WR_X_FORWARD || !from_sources_only(job, p->union_inputs[i].node)) return false;
        return true;
    }
    bool keeps_nothing = p->kind == WR_P_CALC || p->kind == WR_P_WINDOW_TVF || p->kind == WR_P_UNNEST || p->kind == WR_P_LOCAL_AGG || p->kind == WR_P_SPREAD || (p->kind == WR_P_SINK && !is_single(job, p));
    return keeps_nothing && !p->single && p->n_inputs == 1 && p->inputs[0].exchange == WR_X_FORWARD;
}

bool job_chained(const wr_job *job, const wr_pnode *p) { return is_chained(job, p); }

static void place_nodes(wr_job *job) {
    uint64_t all = job->n_workers == 64 ? UINT64_MAX : (UINT64_C(1) << job->n_workers) - 1;
    for (uint32_t i = 0; i < job->n_nodes; i++) {
        const wr_pnode *p = job->plan->nodes.at[i];
        job->where[i] = -1;
        job->lives[i] = all;
        uint32_t         n;
        const wr_pinput *in = inputs_of(p, &n);
        if (is_source(p)) continue;
        bool     forward = true;
        uint64_t of_inputs = 0;
        for (uint32_t k = 0; k < n; k++) {
            forward = forward && in[k].exchange == WR_X_FORWARD;
            of_inputs |= job->lives[in[k].node->index];
        }
        if (is_single(job, p)) {
            int home = forward && n == 1 ? job->where[in[0].node->index] : -1;
            job->where[i] = home >= 0 ? home : (int)(i % job->n_workers);
            job->lives[i] = UINT64_C(1) << job->where[i];
        } else if (forward) {
            job->lives[i] = of_inputs;
            if (n == 1) job->where[i] = job->where[in[0].node->index];
        }
    }
}

static bool lives_on(const wr_job *job, const wr_pnode *p, uint32_t w) { return job->lives[p->index] >> w & 1; }

/* Do rows of stateful operators come out of p on worker w? */
static bool derived_on(const wr_job *job, const wr_pnode *p, uint32_t w) {
    if (is_source(p) || !lives_on(job, p, w)) return false;
    if (!is_chained(job, p)) return true;
    uint32_t         n;
    const wr_pinput *in = inputs_of(p, &n);
    for (uint32_t i = 0; i < n; i++)
        if (derived_on(job, in[i].node, w)) return true;
    return false;
}

static void collect_sources(const wr_job *job, const wr_pnode *p, bool *seen) {
    if (is_source(p)) {
        for (uint32_t i = 0; i < job->n_sources; i++)
            if (job->sources[i].p == p) seen[i] = true;
        return;
    }
    if (!is_chained(job, p)) return;
    uint32_t         n;
    const wr_pinput *in = inputs_of(p, &n);
    for (uint32_t i = 0; i < n; i++) collect_sources(job, in[i].node, seen);
}

static void fill_edge(wr_job *job, edge *e, const wr_pinput *in, const wr_pnode *to, uint32_t port_index) {
    *e = (edge){.from = in->node, .to = to, .port = port_index, .kind = in->exchange, .n_keys = in->n_keys, .keys = in->keys};
    int home = job->where[to->index];
    if (home >= 0) {
        e->target_worker = (uint32_t)home;
        if (in->exchange != WR_X_FORWARD || job->where[in->node->index] != home) e->kind = WR_X_GATHER;
    }
    bool *seen = wr_new_n(job->arena, bool, job->n_sources + 1);
    collect_sources(job, in->node, seen);
    e->sources = wr_new_n(job->arena, uint32_t, job->n_sources + 1);
    for (uint32_t i = 0; i < job->n_sources; i++)
        if (seen[i]) e->sources[e->n_sources++] = i;
    e->queues = wr_new_n(job->arena, queue *, job->n_workers * job->n_workers);
    for (uint32_t f = 0; f < job->n_workers; f++) {
        if (!lives_on(job, in->node, f)) continue;
        e->derived = e->derived || derived_on(job, in->node, f);
        for (uint32_t t = 0; t < job->n_workers; t++) {
            /* Rows of a forward edge stay on their worker, but the ends of a source's turns go to every worker: all must follow its order. */
            bool passes = e->kind == WR_X_FORWARD  ? (f == t || e->n_sources) && lives_on(job, to, t)
                          : e->kind == WR_X_GATHER ? t == e->target_worker
                                                   : true;
            if (passes) e->queues[f * job->n_workers + t] = queue_new(&job->queue_acct);
        }
    }
}

static void add_target(wr_job *job, node *from, target t) {
    target *more = wr_new_n(job->arena, target, from->n_targets + 1);
    if (from->n_targets) memcpy(more, from->targets, sizeof(target) * from->n_targets);
    more[from->n_targets++] = t;
    from->targets = more;
}

static wr_op *make_op(const wr_pnode *p, wr_op_ctx *ctx) {
    const wr_schema *a = p->n_inputs > 0 ? &p->inputs[0].node->schema : NULL, *b = p->n_inputs > 1 ? &p->inputs[1].node->schema : NULL;
    switch (p->kind) {
    case WR_P_CALC: {
        wr_calc_opts opts = p->calc;
        opts.input = a;
        if (opts.kinds) return wr_changelog_new(opts.kinds, ctx);
        return wr_calc_new(&opts, ctx);
    }
    case WR_P_WINDOW_TVF: return wr_window_tvf_new(&p->window_tvf, a, ctx);
    case WR_P_WINDOW_AGG: {
        wr_op *op = wr_window_agg_new(&p->window_agg, a, ctx);
        return p->window_agg.window.proctime ? wr_proctime_new(op, (int32_t)p->window_agg.window.time_col, -1) : op;
    }
    case WR_P_GROUP_AGG: return wr_group_agg_new(&p->group_agg, a, ctx);
    case WR_P_LOCAL_AGG: return wr_local_agg_new(&p->local_agg, ctx);
    case WR_P_INTERVAL_JOIN: {
        wr_op *op = wr_interval_join_new(&p->interval_join, a, b, ctx);
        return p->interval_join.proctime ? wr_proctime_new(op, (int32_t)p->interval_join.left_time, (int32_t)p->interval_join.right_time) : op;
    }
    case WR_P_KEEP: {
        wr_keep_opts opts = p->keep;
        opts.calc.input = a;
        return opts.plain ? wr_calc_new(&opts.calc, ctx) : wr_keep_new(&opts, a, ctx);
    }
    case WR_P_TEMPORAL_JOIN: return wr_temporal_join_new(&p->temporal_join, a, b, ctx);
    case WR_P_JOIN: return wr_join_new(&p->join, a, b, ctx);
    case WR_P_WINDOW_JOIN: return wr_window_join_new(&p->window_join, a, b, ctx);
    case WR_P_TOP_N: return wr_top_n_new(&p->top_n, a, ctx);
    case WR_P_DEDUP: return wr_dedup_new(&p->dedup, a, ctx);
    case WR_P_NORMALIZE: return wr_normalize_new(&p->normalize, a, ctx);
    case WR_P_LIMIT: return wr_limit_new(&p->limit, a, ctx);
    case WR_P_UNNEST: return wr_unnest_new(&p->unnest, a, ctx);
    case WR_P_SPREAD: return wr_spread_new(&p->spread, ctx);
    case WR_P_TIME_SORT: return wr_time_sort_new(&p->time_sort, a, ctx);
    case WR_P_MATCH: return wr_match_new(&p->match, a, ctx);
    case WR_P_OVER: return wr_over_new(&p->over, a, ctx);
    case WR_P_ASSIGN: return wr_assign_new(&p->assign, a, b, ctx);
    case WR_P_SOURCE: case WR_P_VALUES: case WR_P_UNION: case WR_P_SINK: case WR_P_LOOKUP_JOIN: case WR_P_VIEW: break;
    }
    return NULL;
}

/* Columns of the sink that are not stored but travel beside the record: headers, timestamp. */
static const wr_str *written_metadata(wr_job *job, const wr_table *table, const wr_schema *written) {
    wr_str *keys = NULL;
    for (uint32_t i = 0; i < table->n_columns; i++) {
        const wr_column *c = &table->columns[i];
        int              at = c->kind == WR_COLUMN_METADATA && !c->is_virtual ? wr_schema_find(written, c->name) : -1;
        if (at < 0) continue;
        if (!keys) keys = wr_arena_calloc(job->arena, (written->n + 1) * sizeof *keys);
        keys[at] = c->metadata_key.len ? c->metadata_key : c->name;
    }
    return keys;
}

void table_info_of(wr_job *job, const wr_pnode *p, wr_table_info *out) {
    *out = (wr_table_info){.at = p->at};
    const wr_p_source *from = p->kind == WR_P_SOURCE ? &p->source : p->kind == WR_P_LOOKUP_JOIN ? &p->lookup.from : NULL;
    const wr_table *table = from ? from->table : p->sink.table;
    if (from) {
        out->schema = &from->decoded;
        out->n_physical = from->n_physical;
        out->metadata_keys = from->metadata_keys;
        out->needed = from->needed;
    } else {
        out->schema = &p->sink.write_schema;
        out->n_physical = p->sink.write_schema.n;
    }
    if (!table) {
        out->name = WR_STR("result");
        return;
    }
    out->name = table->name;
    out->at = table->at;
    if (p->kind != WR_P_SOURCE) out->written_metadata = written_metadata(job, table, out->schema);
    _Static_assert(sizeof(wr_table_option) == sizeof(wr_option), "one layout");
    out->options = (wr_options){table->n_options, (const wr_option *)(const void *)table->options};
    uint32_t *key = wr_new_n(job->arena, uint32_t, table->n_key + 1);
    for (uint32_t i = 0; i < table->n_key; i++) { /* by name: computed columns are not in the connector's schema */
        int col = wr_schema_find(out->schema, table->columns[table->key[i]].name);
        if (col >= 0) key[out->n_key++] = (uint32_t)col;
    }
    out->key = key;
}

static void note_not_null(wr_job *job, node *n, const wr_table_info *info) {
    n->not_null = wr_new_n(job->arena, uint32_t, info->schema->n + 1);
    for (uint32_t c = 0; c < info->schema->n; c++) {
        bool must = !info->schema->fields[c].type.nullable;
        for (uint32_t k = 0; k < info->n_key; k++) must = must || info->key[k] == c;
        if (must) n->not_null[n->n_not_null++] = c;
    }
}

static wr_status refuse_sink_row(void *arg, const wr_batch *batch, uint32_t row, uint64_t number, const char *code, const char *reason, wr_err *err) {
    node *n = arg;
    n->ledger.out--; /* it was counted when the sink got it */
    return refuse_row(n, batch, row, number, code, reason, err);
}

/* NULL: a row that the sink cannot take is an error. */
static const wr_refuse *make_refuser(wr_job *job, node *n, const wr_table_info *info) {
    wr_refusal_policy policy;
    if (!n->p->sink.table || job->opts.redirect || !wr_refusal_policy_read(&info->options, &policy, job->opts.diags) || policy.on_error == WR_ON_ERROR_FAIL) return NULL;
    n->refused = wr_new(job->arena, refuser);
    *n->refused = (refuser){.policy = policy, .table = info->name};
    n->refuse = (wr_refuse){n, refuse_sink_row};
    return &n->refuse;
}

static wr_status make_sink(wr_job *job, node *n, wr_err *err) {
    wr_table_info info;
    table_info_of(job, n->p, &info);
    if (n->p->sink.table) note_not_null(job, n, &info);
    bool                muted = job->opts.muted && job->opts.muted[n->p->index]; /* it runs where it would run */
    const wr_connector *c = muted ? wr_connector_find(WR_STR("blackhole")) : sink_connector(job, n->p);
    n->flush_always = !job->opts.state_dir || !c->guarantee || c->guarantee(&info) == WR_AT_LEAST_ONCE;
    wr_connect_ctx *ctx = wr_new(job->arena, wr_connect_ctx);
    *ctx = (wr_connect_ctx){.world = job->opts.world, .arena = job->arena, .acct = &job->accts[n->p->index], .diags = job->opts.diags,
                            .tz = job->plan->tz, .n_workers = job->n_workers, .batch_rows = job->batch_rows, 
                            .refuse = make_refuser(job, n, &info), .next_version = job->opts.next_version, .final_rows = job->opts.final_rows, .result_arg = job->opts.result_arg,
                            .print_style = job->opts.print_style ? job->opts.print_style : "table"};
    latency_open(n, !n->flush_always && job->where[n->p->index] >= 0);
    return c->sink_new(&info, ctx, &n->sink, err);
}

/* What has more to say than sums: how late, how far from a partner, by window. */
static bool has_detail(const wr_pnode *p) {
    switch (p->kind) {
    case WR_P_SOURCE: case WR_P_INTERVAL_JOIN: case WR_P_TEMPORAL_JOIN: case WR_P_WINDOW_JOIN: return true;
    case WR_P_WINDOW_AGG: return p->window_agg.input_is_windowed || p->window_agg.window.kind != WR_WINDOW_SESSION;
    case WR_P_TOP_N: return p->top_n.window_end >= 0;
    default: return false;
    }
}

static wr_status make_node(wr_job *job, worker *w, const wr_pnode *p, wr_err *err) {
    node *n = &w->nodes[p->index];
    uint32_t         n_in;
    const wr_pinput *in = inputs_of(p, &n_in);
    *n = (node){.p = p, .w = w, .out_wm = WR_TIME_MIN, .turn_source = NO_SOURCE, .n_in = n_in};
    n->out = (node_out){.base = {.emit = node_out_emit, .full = node_out_full}, .node = n};
    n->in_wm = wr_new_n(job->arena, int64_t, n_in + 1);
    n->in_idle = wr_new_n(job->arena, bool, n_in + 1);
    for (uint32_t i = 0; i < n_in; i++) {
        n->in_wm[i] = WR_TIME_MIN;
        n->in_idle[i] = !derived_on(job, in[i].node, w->index);
    }
    n->ctx = (wr_op_ctx){.world = job->opts.world, .acct = &job->op_accts[w->index * job->n_nodes + p->index], .ledger = &n->ledger, .tz = job->plan->tz, .worker = w->index,
                         .n_workers = job->n_workers, .n_key_groups = job->n_groups, .batch_rows = job->batch_rows};
    n->ctx.id = job->generation ? wr_arena_printf(job->arena, "%s@%u", p->id, job->generation) : p->id;
    if (has_detail(p)) {
        n->detail = n->ctx.detail = wr_new(job->arena, wr_detail);
        job->reports[w->index * job->n_nodes + p->index].detail = wr_new(job->arena, wr_detail);
    }
    n->ctx.tier = job->tier;
    group_range(job, n, &n->ctx.group_from, &n->ctx.group_to);
    if (p->kind == WR_P_SINK) return make_sink(job, n, err);
    if (p->kind == WR_P_LOOKUP_JOIN) {
        wr_asker *asker;
        WR_TRY(lookup_asker_new(job, n, &asker, err));
        n->op = wr_lookup_join_new(&p->lookup.opts, &in[0].node->schema, &p->lookup.right, asker, &n->ctx);
    } else if (p->kind == WR_P_VIEW) {
        latency_open(n, false);
        n->op = n->view = view_op_new(&p->view, &in[0], job->views.of[p->index], job->finished_before, &n->ctx);
    } else {
        n->op = make_op(p, &n->ctx);
    }
#ifdef WR_DEBUG
    if (n->op) {
        const wr_schema *schemas[2] = {n_in > 0 ? &in[0].node->schema : NULL, n_in > 1 ? &in[1].node->schema : NULL};
        n->op = wr_op_check(n->op, schemas, n_in, &p->schema, p->changes == WR_CHANGES_APPEND);
    }
#endif
    return WR_OK;
}

static void make_port(wr_job *job, worker *w, port *p, edge *e) {
    *p = (port){.edge = e};
    p->channels = wr_new_n(job->arena, channel, job->n_workers);
    for (uint32_t f = 0; f < job->n_workers; f++) {
        queue *q = e->queues[f * job->n_workers + w->index];
        if (q) p->channels[p->n_channels++] = (channel){.q = q, .from = f, .wm = WR_TIME_MIN, .idle = !derived_on(job, e->from, f)};
    }
    p->next_seq = wr_new_n(job->arena, uint64_t, e->n_sources + 1);
    p->src_wm = wr_new_n(job->arena, int64_t, e->n_sources + 1);
    p->src_idle = wr_new_n(job->arena, bool, e->n_sources + 1);
    for (uint32_t i = 0; i < e->n_sources; i++) p->src_wm[i] = WR_TIME_MIN;
}

static void make_tasks(wr_job *job, worker *w) {
    w->tasks = wr_new_n(job->arena, task, job->n_nodes);
    for (uint32_t i = 0; i < job->n_nodes; i++) {
        const wr_pnode *p = job->plan->nodes.at[i];
        if (is_source(p) || is_chained(job, p) || !lives_on(job, p, w->index)) continue;
        task *t = &w->tasks[w->n_tasks++];
        *t = (task){.head = &w->nodes[i], .wm = WR_TIME_MIN};
        uint32_t n_in;
        inputs_of(p, &n_in);
        t->ports = wr_new_n(job->arena, port, n_in);
        for (uint32_t k = 0; k < job->n_edges; k++)
            if (job->edges[k].to == p) make_port(job, w, &t->ports[job->edges[k].port], &job->edges[k]), t->n_ports++;
        atomic_fetch_add(&job->tasks_left, 1);
    }
}

static void connect_nodes(wr_job *job) {
    uint32_t e = 0;
    for (uint32_t i = 0; i < job->n_nodes; i++) {
        const wr_pnode *p = job->plan->nodes.at[i];
        uint32_t         n;
        const wr_pinput *in = inputs_of(p, &n);
        for (uint32_t k = 0; k < n; k++) {
            bool chained = is_chained(job, p);
            if (!chained) fill_edge(job, &job->edges[e], &in[k], p, k);
            for (uint32_t w = 0; w < job->n_workers; w++) {
                node *from = &job->workers[w].nodes[in[k].node->index];
                if (!from->p) continue;
                if (chained) add_target(job, from, (target){.chained = &job->workers[w].nodes[i], .port = k});
                else add_target(job, from, (target){.edge = &job->edges[e]});
            }
            e += !chained;
        }
    }
    job->n_edges = e;
}

static void make_source_progs(wr_job *job, worker *w) {
    w->source_progs = wr_new_n(job->arena, wr_prog *, job->n_sources + 1);
    for (uint32_t i = 0; i < job->n_sources; i++) {
        const wr_pnode *p = job->sources[i].p;
        if (p->kind != WR_P_SOURCE) continue;
        uint32_t  n = p->source.n_exprs;
        wr_expr **all = wr_new_n(job->arena, wr_expr *, n + 2);
        if (n) memcpy(all, p->source.exprs, sizeof *all * n);
        if (p->source.rowtime) all[n++] = p->source.rowtime;
        if (p->source.watermark) all[n++] = p->source.watermark;
        w->source_progs[i] = wr_prog_new(all, n, job->plan->tz, job->opts.world);
        wr_prog_names(w->source_progs[i], &p->source.decoded);
    }
}

static void count_graph(wr_job *job) {
    uint32_t edges = 0;
    for (uint32_t i = 0; i < job->n_nodes; i++) {
        uint32_t n;
        inputs_of(job->plan->nodes.at[i], &n);
        edges += n;
        job->n_sources += is_source(job->plan->nodes.at[i]);
    }
    job->edges = wr_new_n(job->arena, edge, edges + 1);
    job->sources = wr_new_n(job->arena, source, job->n_sources + 1);
    uint32_t s = 0;
    for (uint32_t i = 0; i < job->n_nodes; i++)
        if (is_source(job->plan->nodes.at[i])) job->sources[s] = (source){.p = job->plan->nodes.at[i], .index = s}, s++;
    atomic_store(&job->sources_left, job->n_sources);
}

/* Asked of every row that is sent: looked up instead of divided for. */
static void owners_build(wr_job *job) {
    if (job->n_workers < 2) return;
    job->owner = wr_new_n(job->arena, uint8_t, job->n_groups);
    for (uint32_t g = 0; g < job->n_groups; g++) job->owner[g] = (uint8_t)wr_group_worker(g, job->n_groups, job->n_workers);
}

wr_status job_build(wr_job *job, wr_err *err) {
    count_graph(job);
    job->where = wr_new_n(job->arena, int, job->n_nodes + 1);
    job->lives = wr_new_n(job->arena, uint64_t, job->n_nodes + 1);
    job->accts = wr_new_n(job->arena, wr_account, job->n_nodes + 1);
    job->staged = wr_new_n(job->arena, wr_sbuf, job->n_nodes + 1);
    job->reports = wr_new_n(job->arena, node_report, job->n_nodes * job->n_workers + 1);
    place_nodes(job);
    WR_TRY(views_open(job, err));
    job->op_accts = wr_new_n(job->arena, wr_account, job->n_nodes * job->n_workers + 1);
    for (uint32_t i = 0; i < job->n_nodes; i++) {
        const char *id = job->plan->nodes.at[i]->id;
        wr_account_init(&job->accts[i], job->opts.acct, id, 0);
        for (uint32_t k = 0; k < job->n_workers; k++) wr_account_init(&job->op_accts[k * job->n_nodes + i], &job->accts[i], id, 0);
    }
    job->workers = wr_new_n(job->arena, worker, job->n_workers);
    for (uint32_t k = 0; k < job->n_workers; k++) {
        worker *w = &job->workers[k];
        w->job = job;
        w->index = k;
        w->bell = wr_bell_new();
        w->nodes = wr_new_n(job->arena, node, job->n_nodes + 1);
        for (uint32_t i = 0; i < job->n_nodes; i++)
            if (lives_on(job, job->plan->nodes.at[i], k)) WR_TRY(make_node(job, w, job->plan->nodes.at[i], err));
    }
    connect_nodes(job);
    owners_build(job);
    skew_build(job);
    for (uint32_t k = 0; k < job->n_workers; k++) {
        make_tasks(job, &job->workers[k]);
        make_source_progs(job, &job->workers[k]);
        meter_start(&job->workers[k]);
    }
    return WR_OK;
}

static void free_turns(wr_job *job, worker *w) {
    for (uint32_t i = 0; i < TURNS_PENDING_MAX; i++) {
        turn *t = &w->pending[i];
        for (uint32_t k = 0; k < t->batches.n; k++) wr_batch_unref(t->batches.at[k].batch);
        wr_mem_unref(t->chunk.mem);
        wr_account_add(&job->turn_acct, -t->charged);
        wr_arr_free(&t->batches);
        wr_decoded_free(&t->decoded);
    }
}

void job_unbuild(wr_job *job) {
    for (uint32_t k = 0; job->workers && k < job->n_workers; k++) {
        worker *w = &job->workers[k];
        free_turns(job, w); /* w->job is not there yet if building failed */
        for (uint32_t i = 0; w->nodes && i < job->n_nodes; i++) {
            if (w->nodes[i].op) w->nodes[i].op->vt->close(w->nodes[i].op);
            if (w->nodes[i].refused) refuser_free(w->nodes[i].refused);
            if (w->nodes[i].sink) {
                wr_err ignored;
                (void)!w->nodes[i].sink->vt->close(w->nodes[i].sink, false, &ignored);
            }
        }
        for (uint32_t i = 0; w->source_progs && i < job->n_sources; i++)
            if (w->source_progs[i]) wr_prog_free(w->source_progs[i]);
    }
    for (uint32_t e = 0; job->edges && e < job->n_edges; e++)
        for (uint32_t i = 0; i < job->n_workers * job->n_workers; i++) queue_free(job->edges[e].queues[i]);
    inflight_free(job);
    for (uint32_t i = 0; job->staged && i < job->n_nodes; i++) wr_sbuf_free(&job->staged[i]);
}

void group_range(const wr_job *job, const node *n, uint32_t *from, uint32_t *to) {
    if (job->where[n->p->index] >= 0) {
        *from = 0, *to = job->n_groups;
        return;
    }
    *from = *to = 0;
    bool any = false;
    for (uint32_t g = 0; g < job->n_groups; g++) {
        if (wr_group_worker(g, job->n_groups, job->n_workers) != n->w->index) continue;
        if (!any) *from = g;
        any = true;
        *to = g + 1;
    }
}
