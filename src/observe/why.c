/* observe/why.c: which one thing limits a job: see why.h. Here: throughput; what holds event time up and what finds no partner is in why_time.c.
 *
 * Order      is a source held back? no: event time and partners, then nothing. Yes: memory, disk; else the operator with most load, and behind it what makes it
 *            so: rows that an operator before it multiplied, one key, one function, the world outside.                             */
#include "observe/why_parts.h"
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

static const double KEEPS_UP = 0.05;      /* a source that waits for input for a larger share of the time is not held back */
static const double STANDS_OUT = 0.3;     /* the least load of a cause */
static const double FAN_OUT = 10;         /* rows out for each row in */
static const double MOST_OF = 0.5;        /* of an operator's work: one function, the tier, reading */
static const double TIER_PART = 0.25;
static const double HELD = 0.25;          /* of a source's time: the budget lets nothing in */
static const double SLOW_READ_NS = 5e5;   /* a block of a file of the tier: the page cache is a hundred times faster, a local SSD five times */

const char *wr_why_class_name(wr_why_class c) {
    static const char *const names[WR_WHY_COUNT] = {"nothing", "measuring", "slow-operator", "slow-function", "hot-key", "skew", "fan-out", "slow-sink", "slow-lookup", "memory", "disk",
                                                    "slow-source", "future-record", "empty-table", "idle-partition", "late-source", "rate-limit", "no-input"};
    return c < WR_WHY_COUNT ? names[c] : "?";
}

/* ---- words ---- */
WR_PRINTF(2, 3) static void say(char *out, const char *fmt, ...) { /* a wr_culprit's sentence */
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(out, sizeof ((wr_culprit *)0)->sentence, fmt, ap);
    va_end(ap);
}

void why_evidence(wr_culprit *f, const char *fmt, ...) {
    va_list ap;
    if (f->n_evidence == WR_COUNT_OF(f->evidence)) return;
    va_start(ap, fmt);
    vsnprintf(f->evidence[f->n_evidence++], sizeof f->evidence[0], fmt, ap);
    va_end(ap);
}

void why_change(wr_culprit *f, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(f->change, sizeof f->change, fmt, ap);
    va_end(ap);
}

wr_str why_table(const wr_pnode *p) {
    if (p->kind == WR_P_SOURCE) return p->source.table->name;
    if (p->kind == WR_P_SINK && p->sink.table) return p->sink.table->name;
    if (p->kind == WR_P_VIEW) return p->view.table->name;
    if (p->kind == WR_P_LOOKUP_JOIN) return p->lookup.from.table->name;
    return WR_STR("");
}

/* ---- the graph ---- */
static void mark_upstream(const look *l, uint32_t node, bool *marked) {
    memset(marked, 0, l->now->n_nodes);
    marked[node] = true;
    for (uint32_t i = node + 1; i-- > 0;) {
        const wr_pnode *p = l->now->nodes[i].node;
        uint32_t         n = p->kind == WR_P_UNION ? p->n_union : p->n_inputs;
        const wr_pinput *in = p->kind == WR_P_UNION ? p->union_inputs : p->inputs;
        for (uint32_t k = 0; marked[i] && k < n; k++) marked[in[k].node->index] = true;
    }
}

bool why_upstream(const look *l, uint32_t from, uint32_t node) {
    bool *marked = wr_calloc(l->now->n_nodes + 1, 1);
    mark_upstream(l, node, marked);
    bool is = marked[from];
    wr_free(marked);
    return is;
}

static const wr_node_status *head_of(const look *l, const wr_pnode *p) {
    const wr_node_status *n = &l->now->nodes[p->index];
    while (n->chained && n->node->n_inputs) n = &l->now->nodes[n->node->inputs[0].node->index];
    return n;
}

static bool of_source(const wr_pnode *p) { return p->kind == WR_P_SOURCE || p->kind == WR_P_VALUES; }

/* ---- is it limited? ---- */
/* Time in which a worker works on something else is not waiting, whatever the source said when the worker left it. */
static double free_ns(const look *l, uint32_t worker) {
    const wr_worker_status *was = &l->before->workers[worker], *is = &l->now->workers[worker];
    return (double)(is->idle_ns - WR_MIN(was->idle_ns, is->idle_ns)) + (double)(is->other_ns - WR_MIN(was->other_ns, is->other_ns));
}

static double waiting_share(const look *l, const wr_pnode *p, wr_spent what) {
    double sum = 0, n = 0;
    for (uint32_t k = 0; k < l->now->n_workers; k++, n++) {
        uint64_t was = l->before->nodes[p->index].on[k].spent_ns[what], is = l->now->nodes[p->index].on[k].spent_ns[what];
        double   ns = is > was ? (double)(is - was) : 0;
        sum += (what == WR_WAIT_INPUT ? WR_MIN(ns, free_ns(l, k)) : ns) / l->span_ns;
    }
    return n > 0 ? WR_MIN(sum / n, 1.0) : 0;
}

static bool rows_wait(const wr_job_status *s) {
    for (uint32_t i = 0; i < s->n_nodes; i++)
        if (s->nodes[i].queued_bytes) return true;
    return false;
}

static void judge_sources(look *l, wr_why *out) {
    out->waiting = 1;
    for (uint32_t i = 0; i < l->now->n_sources; i++) {
        const wr_source_status *s = &l->now->sources[i];
        if (s->ended || l->before->sources[i].ended || s->node->kind != WR_P_SOURCE) continue;
        double waits = waiting_share(l, s->node, WR_WAIT_INPUT);
        l->memory = WR_MAX(l->memory, waiting_share(l, s->node, WR_WAIT_MEMORY));
        if (waits <= out->waiting) out->waiting = waits, out->blocked = waiting_share(l, s->node, WR_WAIT_ROOM), l->held = s->node;
        l->n_running++;
    }
    if (!l->n_running && rows_wait(l->before) && rows_wait(l->now)) out->waiting = 0, l->n_running = 1; /* all is read, and not worked off */
    out->limited = l->n_running && out->waiting < KEEPS_UP;
}

/* ---- what an operator's time goes to ---- */
static double ns_of(const look *l, const wr_op_figures *f) { return WR_MAX(f->load_all * l->span_ns, 1.0); }

/* The operator with state on disk that has most to do. */
static const wr_pnode *tier_reader(const look *l) {
    const wr_pnode *best = NULL;
    double          most = 0;
    for (uint32_t i = 0; i < l->now->n_nodes; i++) {
        const wr_node_status *n = &l->now->nodes[i];
        double load = wr_observer_figures(l->o, i)->load;
        if ((n->usage.tier_keys || n->usage.tier_asked) && load > most) most = load, best = n->node;
    }
    return best;
}

/* Of an operator's work: the tier. Its own figures, or those of the tier, where it is in the middle of a batch. */
static double tier_share(const look *l, const wr_pnode *p) {
    const wr_op_usage *a = &l->before->nodes[p->index].usage, *b = &l->now->nodes[p->index].usage;
    double own = (double)(b->tier_read_ns - a->tier_read_ns) + (double)(b->tier_write_ns - a->tier_write_ns);
    double all = p == tier_reader(l) ? (double)(l->now->tier.get_ns - l->before->tier.get_ns) : 0;
    return WR_MAX(own, all) / ns_of(l, wr_observer_figures(l->o, p->index));
}

static void show_load(const look *l, const wr_op_figures *f, const wr_pnode *p, wr_culprit *out) {
    if (f->n_instances > 1) why_evidence(out, "its busiest of %u instances (worker %u) works %.0f %% of the time, the next one %.0f %%", f->n_instances, f->worker, f->load * 100, f->load_second * 100);
    else why_evidence(out, "it works, or waits for its other end, %.0f %% of the time", f->load * 100);
    if (!of_source(head_of(l, p)->node)) why_evidence(out, "%.0f rows/s in, %.0f out; its input queue is %.0f %% full", f->in_per_s[0] + f->in_per_s[1], f->out_per_s, f->fill * 100);
    else if (!of_source(p)) why_evidence(out, "%.0f rows/s in, %.0f out; it runs in the chain of %s", f->in_per_s[0] + f->in_per_s[1], f->out_per_s, head_of(l, p)->node->id);
}

static void workers_advice(const look *l, const wr_op_figures *f, wr_sbuf *out) {
    if (f->n_instances == 1 && l->now->n_workers > 1) wr_sbuf_addz(out, "it has one instance: give it less (filter, aggregate, fewer columns before it)");
    else wr_sbuf_printf(out, "more workers (-p %u) if the machine has cores to spare, or less for it to do: filter and leave out columns before it", l->now->n_workers * 2);
}

/* ---- one finding a class ---- */
static bool is_fan_out(const look *l, const wr_pnode *top, wr_culprit *out) {
    static const wr_pnode_kind kinds[] = {WR_P_UNNEST, WR_P_JOIN, WR_P_INTERVAL_JOIN, WR_P_TEMPORAL_JOIN, WR_P_WINDOW_JOIN, WR_P_LOOKUP_JOIN, WR_P_WINDOW_TVF, WR_P_MATCH};
    const wr_pnode *best = NULL;
    double          most = 0, times = 0;
    bool           *marked = wr_calloc(l->now->n_nodes + 1, 1);
    mark_upstream(l, top->index, marked);
    for (uint32_t i = 0; i < l->now->n_nodes; i++) {
        const wr_pnode *p = l->now->nodes[i].node;
        const wr_ledger *a = &l->before->nodes[i].ledger, *b = &l->now->nodes[i].ledger;
        bool may = false;
        for (size_t k = 0; k < WR_COUNT_OF(kinds); k++) may = may || p->kind == kinds[k];
        if (!may || !marked[i] || b->out == a->out) continue;
        double in = (double)(b->in[0] + b->in[1] - a->in[0] - a->in[1]), rows = (double)(b->out - a->out);
        if (in < 1) in = (double)(b->in[0] + b->in[1]), rows = (double)b->out; /* all the time one batch */
        if (in < 1 || rows / in < FAN_OUT || rows < most) continue;
        most = rows, times = rows / in, best = p;
    }
    wr_free(marked);
    if (!best) return false;
    const wr_op_figures *f = wr_observer_figures(l->o, best->index);
    out->is = WR_WHY_FAN_OUT, out->node = best;
    say(out->sentence, "%s (%s) makes %.0f rows of each row it gets, and what comes behind it cannot keep up", best->title, best->id, times);
    why_evidence(out, "%.0f rows/s in, %.0f rows/s out", f->in_per_s[0] + f->in_per_s[1], f->out_per_s);
    why_evidence(out, "most of the time goes to %s (%s): %.0f %%", top->title, top->id, wr_observer_figures(l->o, top->index)->load * 100);
    if (best->kind == WR_P_WINDOW_TVF) why_change(out, "aggregate in the same query as the window function (GROUP BY window_start, window_end): then each row is updated once a pane, or take a larger slide");
    else if (best->kind == WR_P_UNNEST) why_change(out, "filter the elements before they are unnested (ARRAY functions), or aggregate right behind it");
    else why_change(out, "join on more columns, or aggregate or deduplicate the side with many rows a key before the join");
    return true;
}

static void a_sink(const wr_pnode *p, const wr_op_figures *f, wr_culprit *out) {
    wr_str table = why_table(p);
    out->is = WR_WHY_SINK;
    say(out->sentence, "the sink %.*s (%s) cannot take rows as fast as they come", WR_FMT(table), p->id);
    why_evidence(out, "%.0f %% of its worker's time in writing, %.0f %% in flushes and commits, %.0f %% waiting for room at its other end; %.0f rows/s", f->share[WR_SPENT_WRITE] * 100,
                 f->share[WR_SPENT_FLUSH] * 100, f->share[WR_WAIT_OUTSIDE] * 100, f->out_per_s);
    why_evidence(out, "its input queue is %.0f %% full", f->fill * 100);
    wr_str connector = p->sink.table ? p->sink.table->connector : WR_STR("");
    if (wr_str_eq(connector, WR_STR("http"))) why_change(out, "larger requests ('sink.batch.max-rows'), more of them at a time ('sink.parallel'), or a faster server");
    else if (f->share[WR_SPENT_FLUSH] > f->share[WR_SPENT_WRITE]) why_change(out, "its other end takes long to make rows durable: fewer checkpoints (--checkpoint-every), a faster disk or server");
    else if (wr_str_eq(connector, WR_STR("print")) || !p->sink.table) why_change(out, "whoever reads the output is slow: write to a file instead, or read faster");
    else why_change(out, "its other end is slow: look at the server or disk behind table %.*s; fewer rows help too (aggregate before it)", WR_FMT(table));
}

static void a_lookup(const look *l, const wr_pnode *p, const wr_op_figures *f, wr_culprit *out) {
    const wr_op_usage *a = &l->before->nodes[p->index].usage, *b = &l->now->nodes[p->index].usage;
    uint64_t questions = b->lookup_questions - a->lookup_questions, us = b->lookup_answer_us - a->lookup_answer_us;
    wr_str   table = why_table(p);
    out->is = WR_WHY_LOOKUP;
    say(out->sentence, "the look-up in %.*s (%s) is answered too slowly", WR_FMT(table), p->id);
    why_evidence(out, "%.0f %% of the time it has as many questions under way as it may and waits", f->share[WR_WAIT_ANSWERS] * 100);
    if (questions) why_evidence(out, "an answer takes %.1f ms; %.0f rows/s", (double)us / 1e3 / (double)questions, f->in_per_s[0]);
    else why_evidence(out, "no answer came in the last %.0f s", l->span_ns / 1e9);
    why_evidence(out, "%" PRIu64 " keys were found in the cache, %" PRIu64 " asked for", b->lookup_hits - a->lookup_hits, b->lookup_asked - a->lookup_asked);
    why_change(out, "remember answers: 'lookup.cache' = 'PARTIAL' (or 'FULL' for a small table) on table %.*s; or a faster server behind it", WR_FMT(table));
}

/* The operator whose exchange decides which worker its rows are on. */
static const wr_node_status *spread_at(const look *l, const wr_node_status *head) {
    while (head->node->n_inputs == 1 && head->node->inputs[0].exchange == WR_X_FORWARD && !of_source(head->node)) head = head_of(l, head->node->inputs[0].node);
    return head;
}

static const wr_hot_key *hot_at(const look *l, const wr_pnode *p) {
    const wr_hot_key *hot = NULL;
    for (uint32_t i = 0; i < l->now->n_hot; i++)
        if (l->now->hot[i].node == p && (!hot || l->now->hot[i].share > hot->share)) hot = &l->now->hot[i];
    return hot;
}

static bool is_hot(const look *l, const wr_pnode *p, const wr_op_figures *f, wr_culprit *out) {
    const wr_node_status *head = head_of(l, p);
    double fair = 1.0 / WR_MAX(f->n_instances, 1u), part = f->load_all > 0 ? f->load / f->load_all : 0;
    if (f->n_instances < 2 || of_source(head->node) || part < fair + 0.25 * (1 - fair) || f->load_second > 0.75 * f->load) return false;
    const wr_hot_key *hot = hot_at(l, spread_at(l, head)->node);
    out->node = head->node;
    wr_sbuf advice = {0};
    if (hot) {
        out->is = WR_WHY_HOT_KEY;
        snprintf(out->key, sizeof out->key, "%s", hot->key);
        say(out->sentence, "one key, %s, has %.0f %% of the rows of %s (%s), so one worker does most of the work", hot->key, hot->share * 100, head->node->title, head->node->id);
        why_evidence(out, "a fair share of a worker is %.0f %%%s%s", fair * 100, hot->node == head->node ? "" : "; rows are spread by their key at ", hot->node == head->node ? "" : hot->node->id);
        wr_plan_split_advice(hot->node, hot->port, l->now->n_workers, hot->values, &advice);
        if (advice.len) why_change(out, "%.*s", WR_FMT(wr_sbuf_str(&advice)));
        else why_change(out, "%s; or split the key by hand: a further column of the key with a few values, and a second aggregation over it",
                        head->node->one_phase ? head->node->one_phase : "rows of one key are worked off by one worker");
        wr_sbuf_free(&advice);
    } else {
        out->is = WR_WHY_SKEW;
        say(out->sentence, "worker %u does %.0f %% of the work of %s (%s): its keys are few, or have uneven loads", f->worker, part * 100, head->node->title, head->node->id);
        why_change(out, "a key with more values, or another number of workers (-p): key groups are spread anew");
    }
    why_evidence(out, "worker %u works %.0f %% of the time on it, the next one %.0f %%", f->worker, f->load * 100, f->load_second * 100);
    return true;
}

static bool is_function(const look *l, const wr_pnode *p, const wr_op_figures *f, wr_culprit *out) {
    const wr_prog_cost *a = &l->before->nodes[p->index].usage.calls, *b = &l->now->nodes[p->index].usage.calls;
    const char *name = b->most;
    bool        user = b->user;
    double      share = b->most && b->most == a->most && b->most_ns > a->most_ns ? (double)(b->most_ns - a->most_ns) / ns_of(l, f) : 0, since_start = 0;
    for (uint32_t k = 0; k < l->now->n_workers; k++)
        for (uint32_t i = 0; i < WR_SPENT_BUSY; i++) since_start += (double)l->now->nodes[p->index].on[k].spent_ns[i];
    if (b->most && since_start > 0) share = WR_MAX(share, (double)b->most_ns / since_start);
    if (share < MOST_OF && b->first_user && since_start > 0 && (double)b->all_ns < MOST_OF * since_start) name = b->first_user, user = true, share = 1; /* its first call is not over */
    if (share < MOST_OF) return false;
    out->is = WR_WHY_FUNCTION;
    snprintf(out->key, sizeof out->key, "%s", name);
    say(out->sentence, "the function %s in %s (%s) takes most of the time", name, p->title, p->id);
    if (b->most == name) why_evidence(out, "%.0f %% of what its operator does is %s", WR_MIN(share, 1.0) * 100, name);
    show_load(l, f, p, out);
    wr_sbuf more = {0};
    workers_advice(l, f, &more);
    why_change(out, "call %s for fewer rows (filter first, deduplicate its arguments), or make it cheaper%s; %.*s", name, user ? "" : " by another expression", WR_FMT(wr_sbuf_str(&more)));
    wr_sbuf_free(&more);
    return true;
}

static void of_operator(const look *l, const wr_pnode *p, wr_culprit *out) {
    const wr_op_figures *f = wr_observer_figures(l->o, p->index);
    out->node = p;
    out->share = f->load;
    if (p->kind == WR_P_SINK) {
        a_sink(p, f, out);
    } else if (p->kind == WR_P_LOOKUP_JOIN && f->share[WR_WAIT_ANSWERS] > f->busy) {
        a_lookup(l, p, f, out);
    } else if (!is_hot(l, p, f, out) && !is_function(l, p, f, out)) {
        bool reads = p->kind == WR_P_SOURCE && f->share[WR_SPENT_READ] > MOST_OF * f->load;
        wr_sbuf more = {0};
        workers_advice(l, f, &more);
        out->is = reads ? WR_WHY_SOURCE : WR_WHY_OPERATOR;
        if (reads) say(out->sentence, "%s (%s) gives its bytes too slowly", p->title, p->id);
        else say(out->sentence, "%s (%s) has most to do", p->title, p->id);
        show_load(l, f, p, out);
        if (p->kind == WR_P_SOURCE) why_evidence(out, "%.0f %% of the time in reading, %.0f %% in making rows of what was read", f->share[WR_SPENT_READ] * 100, f->share[WR_SPENT_DECODE] * 100);
        if (reads) why_change(out, "look at the disk or server behind table %.*s", WR_FMT(why_table(p)));
        else why_change(out, "%.*s", WR_FMT(wr_sbuf_str(&more)));
        wr_sbuf_free(&more);
    }
}

/* ---- memory and disk ---- */
static const wr_pnode *largest(const look *l) {
    const wr_pnode *best = NULL;
    int64_t         most = 0;
    for (uint32_t i = 0; i < l->now->n_nodes; i++) {
        const wr_node_status *n = &l->now->nodes[i];
        int64_t bytes = n->account_bytes + (int64_t)n->usage.tier_keys * 100;
        if (n->node->kind != WR_P_SINK && bytes > most) most = bytes, best = n->node;
    }
    return best;
}

/* By the tier's own counters: an operator may be in the middle of a batch for longer than the window. */
static bool is_disk(const look *l, wr_culprit *out) {
    uint64_t reads = l->now->tier.reads - l->before->tier.reads;
    double   share = (double)(l->now->tier.get_ns - l->before->tier.get_ns) / l->span_ns, one = reads ? (double)(l->now->tier.read_ns - l->before->tier.read_ns) / (double)reads : 0;
    const wr_pnode *best = one >= SLOW_READ_NS && share >= TIER_PART ? tier_reader(l) : NULL;
    if (!best) return false;
    const wr_op_usage *u = &l->now->nodes[best->index].usage;
    out->is = WR_WHY_DISK, out->node = best, out->share = WR_MIN(share, 1.0);
    say(out->sentence, "the disk behind the state of %s (%s) is slow", best->title, best->id);
    why_evidence(out, "a block from the state directory takes %.1f ms; %.0f %% of a worker's time goes to that", one / 1e6, out->share * 100);
    why_evidence(out, "%" PRIu64 " keys are on disk, %" PRIu64 " in memory", u->tier_keys, u->keys - WR_MIN(u->keys, u->tier_keys));
    why_change(out, "put the state directory on a local disk that is not shared, or give more --memory, so that less of the state is on disk");
    return true;
}

static bool is_memory(const look *l, const wr_pnode *top, wr_culprit *out) {
    const wr_budget_status *b = &l->now->budget;
    bool   tier = top && (tier_share(l, top) > TIER_PART || wr_observer_figures(l->o, top->index)->share[WR_SPENT_SPILL] > TIER_PART);
    if (!b->limit_bytes || (l->memory < HELD && !tier && b->level < 2)) return false;
    const wr_pnode *p = tier ? top : largest(l);
    if (!p) p = l->held;
    if (!p) return false;
    wr_sbuf limit = {0}, state = {0};
    wr_text_size(b->limit_bytes, &limit);
    wr_text_size(l->now->nodes[p->index].account_bytes, &state);
    out->is = WR_WHY_MEMORY, out->node = p;
    out->share = WR_MAX(l->memory, wr_observer_figures(l->o, p->index)->load);
    say(out->sentence, "the memory budget of %.*s is too small for %s (%s)", WR_FMT(wr_sbuf_str(&limit)), p->title, p->id);
    if (l->memory > 0) why_evidence(out, "%.0f %% of the time sources are held back because memory is short", l->memory * 100);
    why_evidence(out, "its state has %.*s in memory and %" PRIu64 " of its %" PRIu64 " keys on disk", WR_FMT(wr_sbuf_str(&state)), l->now->nodes[p->index].usage.tier_keys,
                 WR_MAX(l->now->nodes[p->index].usage.keys, l->now->nodes[p->index].usage.tier_keys));
    if (top) why_evidence(out, "%.0f %% of the work of %s is bringing keys from disk and back (level: %s)", WR_MIN(tier_share(l, top), 1.0) * 100, top->id, wr_budget_level_name(b->level));
    wr_sbuf_clear(&limit);
    wr_text_size(b->limit_bytes * 2, &limit);
    why_change(out, "more memory (--memory %.*s or more), or less to remember: a time to live (STATE_TTL), shorter windows, fewer columns; weir explain shows the bill", WR_FMT(wr_sbuf_str(&limit)));
    wr_sbuf_free(&limit), wr_sbuf_free(&state);
    return true;
}

/* ---- the decision ---- */
static void by_load(const look *l, const wr_pnode **first, const wr_pnode **second) {
    double most = 0, next = 0;
    for (uint32_t i = 0; i < l->now->n_nodes; i++) {
        double load = wr_observer_figures(l->o, i)->load;
        if (load > most) next = most, *second = *first, most = load, *first = l->now->nodes[i].node;
        else if (load > next) next = load, *second = l->now->nodes[i].node;
    }
}

static void throughput(const look *l, wr_why *out) {
    const wr_pnode *first = NULL, *second = NULL;
    by_load(l, &first, &second);
    double a = first ? wr_observer_figures(l->o, first->index)->load : 0, b = second ? wr_observer_figures(l->o, second->index)->load : 0;
    out->is.confidence = a > 0 ? a / (a + b) : 0;
    bool swells = first && a >= STANDS_OUT && tier_share(l, first) <= TIER_PART && is_fan_out(l, first, &(wr_culprit){0}); /* then memory is short of what is in flight, not of state */
    if (is_disk(l, &out->is) || (!swells && is_memory(l, first, &out->is))) {
        if (first && first != out->is.node) second = first;
    } else if (!first || a < STANDS_OUT) {
        out->is = (wr_culprit){.is = WR_WHY_NOTHING};
        say(out->is.sentence, "no operator stands out: the job does not keep up, and the largest load is %.0f %%%s%s", a * 100, first ? ", of " : "", first ? first->id : "");
        why_change(&out->is, "is the machine busy with something else? more workers (-p) may help");
    } else if (!is_fan_out(l, first, &out->is)) {
        of_operator(l, first, &out->is);
    } else {
        out->is.share = a;
    }
    if (second && b > 0.05 && second != out->is.node) of_operator(l, second, &out->next);
}

static void nothing(const look *l, wr_why *out) {
    const wr_pnode *first = NULL, *second = NULL;
    by_load(l, &first, &second);
    out->is.is = WR_WHY_NOTHING;
    out->is.confidence = WR_MIN(out->waiting * 2, 1.0);
    say(out->is.sentence, "nothing limits it: the sources wait for input %.0f %% of the time", out->waiting * 100);
    if (first) why_evidence(&out->is, "the busiest operator, %s (%s), works %.0f %% of the time", first->title, first->id, wr_observer_figures(l->o, first->index)->load * 100);
}

void wr_why_decide(const wr_observer *o, wr_why *out) {
    look l = {.o = o};
    *out = (wr_why){0};
    if (!wr_observer_window(o, &l.before, &l.now) || !wr_observer_figures(o, 0)) {
        out->is.is = WR_WHY_MEASURING;
        say(out->is.sentence, "the job has not run for long enough: the first figures come after %.0f s", WR_OBSERVE_SPAN_MIN_US / 1e6);
        return;
    }
    l.span_ns = (double)(l.now->cost_ns - l.before->cost_ns);
    out->span_s = l.span_ns / 1e9;
    judge_sources(&l, out);
    why_times(&l, out);
    if (out->limited) throughput(&l, out);
    if (out->limited && out->is.is != WR_WHY_NOTHING) return;
    if (out->n_also) { /* what holds event time up is the answer */
        out->is = out->also[0];
        memmove(out->also, out->also + 1, --out->n_also * sizeof *out->also);
    } else if (!out->limited) {
        nothing(&l, out);
    }
}

/* ---- reports ---- */
static void finding_json(const wr_culprit *f, wr_sbuf *out) {
    wr_sbuf_printf(out, "{\"class\":\"%s\",\"operator\":", wr_why_class_name(f->is));
    if (f->node) wr_sbuf_add_json(out, wr_str_of(f->node->id));
    else wr_sbuf_addz(out, "null");
    wr_sbuf_addz(out, ",\"title\":"), wr_sbuf_add_json(out, wr_str_of(f->node ? f->node->title : ""));
    wr_sbuf_addz(out, ",\"table\":"), wr_sbuf_add_json(out, f->node ? why_table(f->node) : WR_STR(""));
    wr_sbuf_addz(out, ",\"key\":"), wr_sbuf_add_json(out, wr_str_of(f->key));
    wr_sbuf_addz(out, ",\"partition\":"), wr_sbuf_add_json(out, wr_str_of(f->partition));
    wr_sbuf_printf(out, ",\"share\":%.3f,\"confidence\":%.2f,\"sentence\":", f->share, f->confidence);
    wr_sbuf_add_json(out, wr_str_of(f->sentence));
    wr_sbuf_addz(out, ",\"evidence\":[");
    for (uint32_t i = 0; i < f->n_evidence; i++) wr_sbuf_addz(out, i ? "," : ""), wr_sbuf_add_json(out, wr_str_of(f->evidence[i]));
    wr_sbuf_addz(out, "],\"change\":");
    wr_sbuf_add_json(out, wr_str_of(f->change));
    wr_sbuf_addc(out, '}');
}

void wr_why_json(const wr_why *w, wr_sbuf *out) {
    wr_sbuf_printf(out, "{\"limited\":%s,\"span_s\":%.1f,\"sources_waiting\":%.3f,\"sources_blocked\":%.3f,\"why\":", w->limited ? "true" : "false", w->span_s, w->waiting, w->blocked);
    finding_json(&w->is, out);
    wr_sbuf_addz(out, ",\"next\":");
    if (w->next.node) finding_json(&w->next, out);
    else wr_sbuf_addz(out, "null");
    wr_sbuf_addz(out, ",\"also\":[");
    for (uint32_t i = 0; i < w->n_also; i++) wr_sbuf_addz(out, i ? "," : ""), finding_json(&w->also[i], out);
    wr_sbuf_addz(out, "]}");
}

void wr_why_text(const wr_why *w, wr_sbuf *out) {
    const wr_culprit *f = &w->is;
    if (f->is == WR_WHY_NOTHING || f->is == WR_WHY_MEASURING) wr_sbuf_printf(out, "%s\n", f->sentence);
    else wr_sbuf_printf(out, "%s: %s\n", wr_why_class_name(f->is), f->sentence);
    for (uint32_t i = 0; i < f->n_evidence; i++) wr_sbuf_printf(out, "  %s\n", f->evidence[i]);
    if (f->change[0]) wr_sbuf_printf(out, "  to change: %s\n", f->change);
    if (f->node && w->limited) wr_sbuf_printf(out, "  sure to %.0f %%, over the last %.0f s; sources wait for room %.0f %% of the time, for input %.0f %%\n", f->confidence * 100, w->span_s, w->blocked * 100, w->waiting * 100);
    if (w->next.node) wr_sbuf_printf(out, "next: %s: %s (%.0f %%)\n", wr_why_class_name(w->next.is), w->next.sentence, w->next.share * 100);
    for (uint32_t i = 0; i < w->n_also; i++) wr_sbuf_printf(out, "also: %s: %s\n", wr_why_class_name(w->also[i].is), w->also[i].sentence);
}
