/* run/stats.c: what a run leaves in its state directory for the bill of the next one: counts and sizes per operator, as lines of text.
 *
 * Format     'weir-stats 1', then lines of a word and numbers: 'job running_us checkpoint_bytes', 'node ID in0 in1 added0 added1 keys rows state_bytes',
 *            'source ID rows bytes first_us last_us'. Unknown words are passed over; operators are found by their ids, so a changed script finds what
 *            it has kept.
 * Idea       rates come from event time, which goes on over restarts: the first time of an earlier file of the same directory is kept.
 * Thread     the coordinating one.                                                                                            */
#include "run/run.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { STATS_BYTES_MAX = 4 << 20 };
static const char HEAD[] = "weir-stats 1\n";

static void path_of(const char *dir, char *out, size_t cap) { snprintf(out, cap, "%s/last-run.stats", dir); }

/* Up to n words of a line. */
static uint32_t words_of(wr_str line, wr_str *out, uint32_t n) {
    uint32_t k = 0;
    for (size_t at = 0; at < line.len && k < n;) {
        while (at < line.len && line.ptr[at] == ' ') at++;
        size_t from = at;
        while (at < line.len && line.ptr[at] != ' ') at++;
        if (at > from) out[k++] = (wr_str){line.ptr + from, at - from};
    }
    return k;
}
static int64_t number(wr_str word) {
    char room[32];
    snprintf(room, sizeof room, "%.*s", WR_FMT(word));
    return strtoll(room, NULL, 10);
}
static bool next_line(wr_str *text, wr_str *line) {
    if (!text->len) return false;
    const char *nl = memchr(text->ptr, '\n', text->len);
    *line = (wr_str){text->ptr, nl ? (size_t)(nl - text->ptr) : text->len};
    size_t used = line->len + (nl != NULL);
    text->ptr += used, text->len -= used;
    return true;
}

static bool read_file(wr_world *world, const char *dir, wr_sbuf *text) {
    char   path[600];
    wr_err ignored = {0};
    path_of(dir, path, sizeof path);
    return wr_file_read_all(world, path, STATS_BYTES_MAX, text, &ignored) == WR_OK && text->len >= sizeof HEAD - 1 && memcmp(text->at, HEAD, sizeof HEAD - 1) == 0;
}

/* ---- saving ---- */

static int64_t first_before(wr_str text, const char *id) { /* of an earlier file; WR_TIME_MIN: none */
    wr_str line, w[8];
    while (next_line(&text, &line))
        if (words_of(line, w, 8) >= 6 && wr_str_eq(w[0], WR_STR("source")) && wr_str_eq(w[1], wr_str_of(id))) return number(w[4]);
    return WR_TIME_MIN;
}

/* Rows that add, of what an input got: as its producer's kinds are. */
static uint64_t added(const wr_job_status *s, const wr_node_status *n, uint32_t i) {
    if (i >= n->node->n_inputs) return 0;
    const wr_ledger *from = &s->nodes[n->node->inputs[i].node->index].ledger;
    uint64_t         takes = from->out_kind[WR_KIND_UPDATE_BEFORE] + from->out_kind[WR_KIND_DELETE];
    return from->out ? (uint64_t)((double)n->ledger.in[i] * (1 - (double)takes / (double)from->out)) : n->ledger.in[i];
}

void wr_stats_save(const wr_job_status *s, wr_world *world, const char *dir) {
    wr_sbuf old = {0}, out = {0};
    bool    goes_on = s->restored_epoch > 0 && read_file(world, dir, &old);
    wr_sbuf_addz(&out, HEAD);
    wr_sbuf_printf(&out, "job %" PRIi64 " %" PRIi64 "\n", s->running_us, s->last_checkpoint_bytes);
    for (uint32_t i = 0; i < s->n_nodes; i++) {
        const wr_node_status *n = &s->nodes[i];
        if (n->node->bill.bound == WR_BOUND_STATELESS) continue;
        int64_t bytes = s->finished ? n->account_peak_bytes : n->account_bytes; /* windows are empty at the end of an input */
        wr_sbuf_printf(&out, "node %s %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIi64 "\n", n->node->id, n->ledger.in[0], n->ledger.in[1],
                       added(s, n, 0), added(s, n, 1), n->usage.keys, n->usage.rows, bytes);
    }
    for (uint32_t i = 0; i < s->n_sources; i++) {
        const wr_source_status *x = &s->sources[i];
        int64_t before = goes_on ? first_before(wr_sbuf_str(&old), x->node->id) : WR_TIME_MIN;
        wr_sbuf_printf(&out, "source %s %" PRIu64 " %" PRIu64 " %" PRIi64 " %" PRIi64 "\n", x->node->id, s->nodes[x->node->index].ledger.out, x->total ? x->done : 0,
                       before != WR_TIME_MIN ? before : x->first_us, x->last_us);
    }
    char   path[600];
    wr_err ignored = {0};
    path_of(dir, path, sizeof path);
    (void)!wr_file_replace(world, path, wr_sbuf_str(&out), &ignored);
    wr_sbuf_free(&old);
    wr_sbuf_free(&out);
}

/* ---- loading ---- */

static const wr_pnode *node_of(const wr_job_plan *plan, wr_str id) {
    for (uint32_t i = 0; i < plan->nodes.n; i++)
        if (wr_str_eq(wr_str_of(plan->nodes.at[i]->id), id)) return plan->nodes.at[i];
    return NULL;
}

static void take_node(const wr_job_plan *plan, wr_bill_facts *f, const wr_str *w) {
    const wr_pnode *n = node_of(plan, w[1]);
    if (!n) return;
    double in[2] = {(double)number(w[2]), (double)number(w[3])}, adds[2] = {(double)number(w[4]), (double)number(w[5])}, keys = (double)number(w[6]), rows = (double)number(w[7]);
    for (uint32_t i = 0; i < n->n_inputs; i++) {
        wr_input_facts *x = &f->in[n->index * 2 + i];
        *x = (wr_input_facts){.known = true, .rows = adds[i], .added = adds[i], .removed = in[i] - adds[i], .keys = keys, .all_keys = keys, .peak_keys = keys, .kept_keys = keys, .kept_rows = rows};
        x->peak_rows = in[0] + in[1] > 0 ? rows * in[i] / (in[0] + in[1]) : rows;
    }
    f->measured_bytes[n->index] = (double)number(w[8]);
}

static double take_source(const wr_job_plan *plan, wr_bill_facts *f, const wr_str *w) { /* its span of event time */
    const wr_pnode *n = node_of(plan, w[1]);
    int64_t first = number(w[4]), last = number(w[5]);
    if (!n) return 0;
    f->source_rows[n->index] = (double)number(w[2]);
    f->source_bytes[n->index] = (double)number(w[3]);
    if (first == WR_TIME_MIN || last <= first) return 0;
    double span = (double)(last - first);
    f->source_rate[n->index] = f->source_rows[n->index] / (span / 1e6);
    return span;
}

wr_bill_facts *wr_stats_load(const wr_job_plan *plan, wr_world *world, const char *dir, wr_arena *arena) {
    wr_sbuf buf = {0};
    if (!read_file(world, dir, &buf)) {
        wr_sbuf_free(&buf);
        return NULL;
    }
    wr_bill_facts *f = wr_new(arena, wr_bill_facts);
    *f = (wr_bill_facts){.from = "last run", .share = 1, .whole = true};
    f->in = wr_new_n(arena, wr_input_facts, plan->nodes.n * 2 + 2);
    f->source_rows = wr_new_n(arena, double, plan->nodes.n + 1);
    f->source_bytes = wr_new_n(arena, double, plan->nodes.n + 1);
    f->source_rate = wr_new_n(arena, double, plan->nodes.n + 1);
    f->measured_bytes = wr_new_n(arena, double, plan->nodes.n + 1);
    wr_str text = wr_sbuf_str(&buf), line, w[12];
    double span = 0;
    while (next_line(&text, &line)) {
        uint32_t n = words_of(line, w, 12);
        if (n >= 9 && wr_str_eq(w[0], WR_STR("node"))) take_node(plan, f, w);
        if (n >= 6 && wr_str_eq(w[0], WR_STR("source"))) span = WR_MAX(span, take_source(plan, f, w));
        if (n >= 3 && wr_str_eq(w[0], WR_STR("job"))) f->seconds = (double)number(w[1]) / 1e6, f->checkpoint_bytes = (double)number(w[2]);
    }
    for (uint32_t i = 0; i < plan->nodes.n * 2; i++)
        if (f->in[i].known) f->in[i].span_us = span, f->in[i].rate = span > 0 ? f->in[i].added / (span / 1e6) : 0;
    wr_sbuf_free(&buf);
    return f;
}
