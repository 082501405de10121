/* op/match_nfa.c: see match.h: states of a pattern, runs, which completed match comes out and what it skips.
 *
 * Rules      those of Flink's NFA: a completed match waits while a run that began earlier is alive; when it comes out, runs and completed matches
 *            that the skip strategy reaches are dropped by their first row. WITHIN ends a run at first row + interval, exclusively; that
 *            instant, not the watermark that tells of it, is the time of what it sets free, so results do not depend on watermarks.
 * Errors     skipping to a variable without a row, or to the first row of the match (it would be found again for ever).   */
#include "op/match.h"

enum { MALLOC_EXTRA = 16 };
#define NOT_BEGUN UINT64_MAX

/* ---- states ---- */

static int32_t add_state(wr_match *m, int32_t var, int32_t take, int32_t proceed) {
    m->states[m->n_states] = (wr_mstate){.var = var, .take = take, .proceed = proceed};
    return (int32_t)m->n_states++;
}
static int32_t compile_step(wr_match *m, const wr_match_step *s, int32_t sink) {
    int32_t  var = (int32_t)s->var, last = sink, back = s->min ? -1 : sink;
    uint64_t bit = UINT64_C(1) << s->var;
    uint32_t from = WR_MAX(s->min, 1u);
    bool     single = s->max == s->min || (s->min == 0 && s->max == 1); /* x? tries both ways: Flink does not make it greedy */
    if (s->greedy && !single) m->states[sink].take_not |= bit, m->states[sink].proceed_not |= bit;
    if (s->max == UINT32_MAX) {
        last = add_state(m, var, -1, sink);
        m->states[last].take = last;
    }
    for (uint32_t i = from; s->max != UINT32_MAX && i < s->max; i++) last = add_state(m, var, last, sink);
    for (uint32_t i = 0; i + 1 < from; i++) last = add_state(m, var, last, -1);
    return add_state(m, var, last, back);
}
void wr_match_compile(wr_match *m) {
    uint64_t n = 1;
    for (uint32_t i = 0; i < m->opts.n_steps; i++) {
        const wr_match_step *s = &m->opts.steps[i];
        n += (s->max == UINT32_MAX ? (uint64_t)s->min + 1 : s->max) + 1;
    }
    wr_assert(n <= WR_MATCH_STATES_MAX * 2u);
    m->states = wr_new_n(m->arena, wr_mstate, n);
    int32_t sink = add_state(m, -1, -1, -1);
    for (uint32_t i = m->opts.n_steps; i-- > 0;) sink = compile_step(m, &m->opts.steps[i], sink);
    m->start = (uint32_t)sink;
}

/* ---- rows, nodes, heaps ---- */

static int64_t bytes_of(const wr_mrow *r) { return (int64_t)(sizeof *r + r->len + MALLOC_EXTRA); }
wr_mrow *wr_match_row_new(wr_match *m, int64_t time_us, uint64_t no, uint32_t key_len, wr_str bytes) {
    wr_mrow *r = wr_malloc(sizeof *r + bytes.len);
    *r = (wr_mrow){.time_us = time_us, .no = no, .refs = 1, .key_len = key_len, .len = (uint32_t)bytes.len};
    if (bytes.len) memcpy(r->mem, bytes.ptr, bytes.len);
    m->heap_bytes += bytes_of(r);
    m->n_rows++;
    return r;
}
void wr_match_row_drop(wr_match *m, wr_mrow *row) {
    if (--row->refs) return;
    m->heap_bytes -= bytes_of(row);
    m->n_rows--;
    if (m->decoded == row) m->decoded = NULL;
    wr_free(row);
}
wr_mnode *wr_match_node_new(wr_match *m, wr_mnode *prev, wr_mrow *row, uint32_t var) {
    wr_mnode *n = wr_malloc(sizeof *n);
    *n = (wr_mnode){.prev = prev, .row = row, .refs = 1, .var = var};
    if (prev) prev->refs++;
    row->refs++;
    m->heap_bytes += (int64_t)sizeof *n + MALLOC_EXTRA;
    return n;
}
void wr_match_node_drop(wr_match *m, wr_mnode *node) {
    while (node && !--node->refs) {
        wr_mnode *prev = node->prev;
        wr_match_row_drop(m, node->row);
        m->heap_bytes -= (int64_t)sizeof *node + MALLOC_EXTRA;
        wr_free(node);
        node = prev;
    }
}

static void grow(wr_match *m, wr_mheap *h) {
    if (h->n < h->cap) return;
    uint32_t cap = h->cap ? h->cap * 2 : 4;
    h->at = wr_realloc(h->at, cap * sizeof *h->at);
    m->heap_bytes += (int64_t)((cap - h->cap) * sizeof *h->at) + (h->cap ? 0 : MALLOC_EXTRA);
    h->cap = cap;
}
static void heap_free(wr_match *m, wr_mheap *h) {
    for (uint32_t i = 0; i < h->n; i++) wr_match_node_drop(m, h->at[i].node);
    if (h->cap) m->heap_bytes -= (int64_t)(h->cap * sizeof *h->at) + MALLOC_EXTRA;
    wr_free(h->at);
    *h = (wr_mheap){0};
}
void wr_match_push(wr_match *m, wr_mheap *h, wr_mrun run) { /* PriorityQueue.offer */
    grow(m, h);
    uint32_t k = h->n++;
    while (k > 0) {
        uint32_t parent = (k - 1) / 2;
        if (run.start >= h->at[parent].start) break;
        h->at[k] = h->at[parent];
        k = parent;
    }
    h->at[k] = run;
}
static void sift_down(wr_mheap *h, uint32_t k, wr_mrun x) {
    uint32_t half = h->n / 2;
    while (k < half) {
        uint32_t child = 2 * k + 1;
        if (child + 1 < h->n && h->at[child].start > h->at[child + 1].start) child++;
        if (x.start <= h->at[child].start) break;
        h->at[k] = h->at[child];
        k = child;
    }
    h->at[k] = x;
}
static wr_mrun pop(wr_mheap *h) { /* PriorityQueue.poll */
    wr_mrun first = h->at[0], last = h->at[--h->n];
    if (h->n) sift_down(h, 0, last);
    return first;
}
/* Drops runs that began up to `start`, or before it; PriorityQueue.removeAll. */
static void prune(wr_match *m, wr_mheap *h, uint64_t start, bool inclusive) {
    uint32_t kept = 0, was = h->n;
    for (uint32_t i = 0; i < was; i++) {
        wr_mrun r = h->at[i];
        if (r.start != NOT_BEGUN && (inclusive ? r.start <= start : r.start < start)) wr_match_node_drop(m, r.node);
        else h->at[kept++] = r;
    }
    h->n = kept;
    if (kept == was) return;
    for (uint32_t i = kept / 2; i-- > 0;) sift_down(h, i, h->at[i]);
}
void wr_match_part_free(wr_match *m, wr_mpart *part) {
    heap_free(m, &part->runs), heap_free(m, &part->done);
    for (uint32_t i = part->first; i < part->n; i++) wr_match_row_drop(m, part->waiting[i]);
    if (part->cap) m->heap_bytes -= (int64_t)(part->cap * sizeof *part->waiting) + MALLOC_EXTRA;
    wr_free(part->waiting);
    part->waiting = NULL;
    part->first = part->n = part->cap = 0;
}

/* ---- what comes out ---- */

static wr_status skip_to(wr_match *m, const wr_mrun *match, uint64_t *start, bool *inclusive, wr_err *err) {
    wr_str         name = m->opts.skip_var < m->opts.n_vars ? m->opts.vars[m->opts.skip_var].name : (wr_str){"", 0};
    const wr_mrow *to = NULL;
    *inclusive = m->opts.skip == WR_MATCH_PAST_LAST_ROW || m->opts.skip == WR_MATCH_TO_NEXT_ROW;
    *start = m->opts.skip == WR_MATCH_PAST_LAST_ROW ? match->node->row->no : match->start;
    if (*inclusive) return WR_OK;
    for (const wr_mnode *n = match->node; n; n = n->prev) {
        if (n->var != m->opts.skip_var) continue;
        to = n->row;
        if (m->opts.skip == WR_MATCH_TO_LAST) break;
    }
    if (!to) return wr_fail(err, WR_DATA, "22023", "AFTER MATCH SKIP TO %s %.*s: a match has no row of %.*s", m->opts.skip == WR_MATCH_TO_LAST ? "LAST" : "FIRST", WR_FMT(name), WR_FMT(name));
    if (to->no == match->start)
        return wr_fail(err, WR_DATA, "22023", "AFTER MATCH SKIP TO %s %.*s goes to the first row of a match: it would be found again for ever", m->opts.skip == WR_MATCH_TO_LAST ? "LAST" : "FIRST", WR_FMT(name));
    *start = to->no;
    return WR_OK;
}
static wr_status settle(wr_match *m, wr_mpart *part, wr_mheap *runs, int64_t now_us, wr_err *err) {
    while (part->done.n && (!runs->n || part->done.at[0].start <= runs->at[0].start)) {
        wr_mrun  match = pop(&part->done);
        uint64_t start = 0;
        bool     inclusive = false;
        wr_status s = skip_to(m, &match, &start, &inclusive, err);
        if (s == WR_OK) {
            prune(m, runs, start, inclusive);
            prune(m, &part->done, start, inclusive);
            s = wr_match_found(m, match.node, now_us, err);
        }
        wr_match_node_drop(m, match.node);
        WR_TRY(s);
    }
    return WR_OK;
}

wr_status wr_match_expire(wr_match *m, wr_mpart *part, int64_t now_us, wr_err *err) {
    if (!m->opts.within_us) return WR_OK;
    for (;;) { /* instant by instant: what one sets free may drop what the next would end */
        if (!part->runs.n || part->runs.at[0].start == NOT_BEGUN) return WR_OK;
        int64_t at_us = part->runs.at[0].start_us > INT64_MAX - m->opts.within_us ? INT64_MAX : part->runs.at[0].start_us + m->opts.within_us;
        if (at_us > now_us) return WR_OK;
        uint64_t start = part->runs.at[0].start;
        m->op.ctx->ledger->dropped[WR_REASON_EXPIRED]++; /* the row that began it, once */
        prune(m, &part->runs, start, true);
        WR_TRY(settle(m, part, &part->runs, at_us, err));
    }
}

/* ---- a row ---- */

typedef struct trial { /* one run and one row: what each variable's condition says, 0 = not asked yet, 1 no, 2 yes */
    const wr_mrun *run;
    wr_mrow       *row;
    uint8_t        says[WR_MATCH_VARS_MAX];
} trial;

static wr_status given(wr_match *m, const wr_mrow *row, uint32_t col, bool *yes) {
    wr_match_decode(m, row);
    const wr_vec *v = &m->one->cols[col];
    *yes = !wr_vec_is_null(v, 0) && ((const uint8_t *)v->data)[0];
    return WR_OK;
}
static wr_status asks(wr_match *m, trial *t, uint32_t var, bool *yes, wr_err *err) {
    const wr_match_var *v = &m->opts.vars[var];
    if (!t->says[var]) {
        bool y = true;
        if (v->given >= 0) {
            WR_TRY(given(m, t->row, (uint32_t)v->given, &y));
        } else if (m->conds[var]) {
            wr_mnode candidate = {.prev = t->run->node, .row = t->row, .refs = 1, .var = var};
            wr_match_fresh_eval(m);
            for (uint32_t i = 0; i < m->n_cond_refs[var]; i++)
                WR_TRY(wr_match_ref_put(m, m->cond_refs[var][i], &candidate, &m->eval->cols[m->cond_refs[var][i]], 0, m->eval->mem, err));
            uint16_t sel[1];
            uint32_t n = 0;
            WR_TRY(wr_prog_filter(m->conds[var], m->eval, m->op.ctx->now_us, sel, &n, err));
            y = n > 0;
        }
        t->says[var] = y ? 2 : 1;
    }
    *yes = t->says[var] == 2;
    return WR_OK;
}
static wr_status none_of(wr_match *m, trial *t, uint64_t vars, bool *yes, wr_err *err) {
    *yes = true;
    for (; vars && *yes; vars &= vars - 1) {
        bool could = false;
        WR_TRY(asks(m, t, (uint32_t)__builtin_ctzll(vars), &could, err));
        *yes = !could;
    }
    return WR_OK;
}
/* From a state by PROCEED edges to the end, as far as the row just taken allows. */
static wr_status reaches_end(wr_match *m, trial *t, int32_t state, bool *yes, wr_err *err) {
    *yes = false;
    while (m->states[state].proceed >= 0) {
        bool go = false;
        WR_TRY(none_of(m, t, m->states[state].proceed_not, &go, err));
        if (!go) return WR_OK;
        state = m->states[state].proceed;
        if (state == 0) *yes = true;
        if (state == 0) return WR_OK;
    }
    return WR_OK;
}
static void add_run(wr_match *m, const trial *t, wr_mnode *node, int32_t state) {
    wr_mrun r = {.node = node, .state = (uint32_t)state, .start = t->run->start, .start_us = t->run->start_us};
    if (r.start == NOT_BEGUN) r.start = t->row->no, r.start_us = t->row->time_us;
    node->refs++;
    wr_match_push(m, state ? &m->next : &m->hits, r);
}
static wr_status step(wr_match *m, const wr_mrun *run, wr_mrow *row, wr_err *err) {
    trial t = {.run = run, .row = row};
    for (int32_t s = (int32_t)run->state; s >= 0;) { /* own edge first, then those that a PROCEED leads to */
        const wr_mstate *st = &m->states[s];
        bool             ok = false, end = false;
        if (st->take >= 0) {
            WR_TRY(asks(m, &t, (uint32_t)st->var, &ok, err));
            if (ok) WR_TRY(none_of(m, &t, st->take_not, &ok, err));
        }
        if (ok) {
            wr_mnode *node = wr_match_node_new(m, run->node, row, (uint32_t)st->var);
            add_run(m, &t, node, st->take);
            wr_status status = reaches_end(m, &t, st->take, &end, err);
            if (status == WR_OK && end) add_run(m, &t, node, 0);
            wr_match_node_drop(m, node);
            WR_TRY(status);
        }
        if (st->proceed < 0) return WR_OK;
        WR_TRY(none_of(m, &t, st->proceed_not, &ok, err));
        s = ok ? st->proceed : -1;
    }
    return WR_OK;
}
wr_status wr_match_feed(wr_match *m, wr_mpart *part, wr_mrow *row, wr_err *err) {
    int64_t   time_us = row->time_us;
    wr_status s = wr_match_expire(m, part, time_us, err);
    row->no = part->fed++;
    if (!part->runs.n) wr_match_push(m, &part->runs, (wr_mrun){.start = NOT_BEGUN, .state = m->start});
    for (uint32_t i = 0; i < part->runs.n && s == WR_OK; i++) {
        const wr_mrun run = part->runs.at[i];
        s = step(m, &run, row, err);
        if (run.start == NOT_BEGUN) wr_match_push(m, &m->next, run); /* any row may begin a match */
    }
    wr_match_row_drop(m, row); /* nodes hold it now, if any do */
    for (uint32_t i = 0; i < part->runs.n; i++) wr_match_node_drop(m, part->runs.at[i].node);
    wr_mheap old = part->runs;
    part->runs = m->next;
    m->next = old;
    m->next.n = 0;
    for (uint32_t i = 0; i < m->hits.n; i++) wr_match_push(m, &part->done, m->hits.at[i]);
    m->hits.n = 0;
    return s == WR_OK ? settle(m, part, &part->runs, time_us, err) : s;
}
