/* observe/why_time.c: what holds event time up, what finds no partner, and who gives nothing: the part of `why` for jobs whose throughput is fine. See why.h.
 *
 * Silence    a partition is silent when it has given nothing for much longer than it usually takes, others have, and the source is not held back: then it
 *            was asked and had nothing.
 * Future     a row that took event time forward by more than an hour, to beyond the clock or so that most rows behind it are late.          */
#include "observe/why_parts.h"
#include <inttypes.h>
#include <stdio.h>

enum { SILENT_US = 1500000, FAR_US = 30000000, AHEAD_US = 600000000, EMPTY_AFTER_US = 2000000, ROWS_MIN = 20 };
static const double GAPS = 4;          /* of its usual ones: then it is silent */
static const double MOST_LATE = 0.5;   /* of all rows */

static bool of_event_time(const wr_pnode *p) {
    switch (p->kind) {
    case WR_P_WINDOW_AGG: case WR_P_INTERVAL_JOIN: case WR_P_TEMPORAL_JOIN: case WR_P_WINDOW_JOIN: case WR_P_TIME_SORT: case WR_P_MATCH: case WR_P_OVER: case WR_P_ASSIGN: return true;
    default: return false;
    }
}

/* The first operator behind a source that waits for its event time; NULL: none does. */
static const wr_pnode *waits_for(const look *l, const wr_pnode *source) {
    for (uint32_t i = source->index; i < l->now->n_nodes; i++)
        if (of_event_time(l->now->nodes[i].node) && why_upstream(l, source->index, i)) return l->now->nodes[i].node;
    return NULL;
}

static wr_culprit *add(wr_why *out, wr_why_class is, const wr_pnode *node) {
    static wr_culprit spare; /* nobody reads it */
    for (uint32_t i = 0; i < out->n_also; i++)
        if (out->also[i].is == is && out->also[i].node == node) return &spare;
    if (out->n_also == WR_WHY_ALSO) return &spare;
    wr_culprit *f = &out->also[out->n_also++];
    *f = (wr_culprit){.is = is, .node = node, .confidence = 1};
    return f;
}

#define SAY(f, ...) snprintf((f)->sentence, sizeof (f)->sentence, __VA_ARGS__)

static const char *moment(int64_t us, char text[40]) {
    if (us == WR_TIME_MIN) return "none yet";
    if (us == WR_TIME_MAX) return "its end";
    wr_text_timestamp(us, wr_type_prec(WR_T_TIMESTAMP, 3), ' ', text);
    return text;
}
static const char *duration(int64_t us, char text[64]) {
    wr_sbuf b = {0};
    wr_text_duration(us, &b);
    snprintf(text, 64, "%.*s", WR_FMT(wr_sbuf_str(&b)));
    wr_sbuf_free(&b);
    return text;
}

static uint64_t source_rows(const wr_job_status *s, const wr_pnode *p) { return s->nodes[p->index].ledger.out; }
static bool     gives(const look *l, const wr_source_status *s) { return source_rows(l->now, s->node) > source_rows(l->before, s->node); }
static bool     has_time(const wr_source_status *s) { return s->node->kind == WR_P_SOURCE && s->node->source.watermark; }

/* ---- a row from the future ---- */
static double late_share(const look *l, const wr_pnode *source) {
    double late = 0, rows = (double)(source_rows(l->now, source) - source_rows(l->before, source));
    for (uint32_t i = 0; i < l->now->n_nodes; i++) {
        uint64_t n = l->now->nodes[i].ledger.dropped[WR_REASON_LATE] - l->before->nodes[i].ledger.dropped[WR_REASON_LATE];
        if (n && why_upstream(l, source->index, i)) late = WR_MAX(late, (double)n);
    }
    return rows > 0 ? late / rows : 0;
}

static void future(look *l, const wr_source_status *s, wr_why *out) {
    const wr_pnode *p = s->node;
    char            from[40], to[40];
    uint64_t        refused = l->now->nodes[p->index].ledger.dropped[WR_REASON_FUTURE], n = refused - l->before->nodes[p->index].ledger.dropped[WR_REASON_FUTURE];
    double          late = late_share(l, p);
    if (n) {
        wr_culprit *f = add(out, WR_WHY_FUTURE, p);
        SAY(f, "%" PRIu64 " records of %.*s dated far ahead of the others were refused ('watermark.future-guard')", n, WR_FMT(why_table(p)));
        why_change(f, "the guard keeps event time right: look at who writes them; 'on-error' = 'dead-letter' keeps refused records");
        return;
    }
    bool harm = s->jump.wall_us && (late > MOST_LATE || s->jump.to_us > l->now->wall_us + AHEAD_US);
    if (!harm || s->watermark_us <= s->jump.from_us) return;
    wr_culprit *f = add(out, WR_WHY_FUTURE, p);
    snprintf(f->partition, sizeof f->partition, "%s", s->jump.partition);
    SAY(f, "one row of %.*s is dated %s and took event time there from %s", WR_FMT(why_table(p)), moment(s->jump.to_us, to), moment(s->jump.from_us, from));
    why_evidence(f, "row %" PRIu64 " of %s, read %.0f s ago", s->jump.row, s->jump.partition, (double)(l->now->wall_us - s->jump.wall_us) / 1e6);
    why_evidence(f, "%.0f %% of the rows since are late", WR_MIN(late, 1.0) * 100);
    why_change(f, "'watermark.future-guard' = '1 h' on table %.*s: a row dated more than that ahead is refused instead; then begin again from a checkpoint before it", WR_FMT(why_table(p)));
}

/* ---- silent partitions, sources that are behind ---- */
static void idle_partition(look *l, const wr_source_status *s, wr_why *out) {
    char            at[40], ahead[40], silent[64];
    const wr_pnode *who = waits_for(l, s->node);
    if (!s->held_by[0] || s->n_partitions < 2 || !who || s->held_silent_us < SILENT_US + (int64_t)(GAPS * s->held_gap_us) || s->others_rows < ROWS_MIN || s->held_wm_us >= s->ahead_wm_us) return;
    wr_culprit *f = add(out, WR_WHY_IDLE, s->node);
    snprintf(f->partition, sizeof f->partition, "%s", s->held_by);
    SAY(f, "the partition %s of %.*s is silent and holds event time at %s; %s (%s) waits for it", s->held_by, WR_FMT(why_table(s->node)), moment(s->held_wm_us, at), who->title, who->id);
    why_evidence(f, "it has given nothing for %s, in which others gave %" PRIu64 " rows and went to %s", duration(s->held_silent_us, silent), s->others_rows, moment(s->ahead_wm_us, ahead));
    why_change(f, "'scan.idle-timeout' = '10 s' on table %.*s lets the others go on (SET 'table.exec.source.idle-timeout' for all); or find out why it is silent", WR_FMT(why_table(s->node)));
}

/* The greatest event time of a source that reaches the same operator. */
static const wr_source_status *leader_of(const look *l, uint32_t node, const wr_source_status *but) {
    const wr_source_status *best = NULL;
    for (uint32_t i = 0; i < l->now->n_sources; i++) {
        const wr_source_status *s = &l->now->sources[i];
        if (s == but || s->ended || !has_time(s) || s->last_us == WR_TIME_MIN || !gives(l, s) || !why_upstream(l, s->node->index, node)) continue;
        if (!best || s->last_us > best->last_us) best = s;
    }
    return best;
}

static void behind(look *l, const wr_pnode *p, wr_why *out) {
    const wr_source_status *h = wr_observer_figures(l->o, p->index)->holder, *lead = h ? leader_of(l, p->index, h) : NULL;
    char  by[64], at[40], there[40];
    if (!lead || lead->watermark_us <= h->watermark_us) return;
    bool silent = !gives(l, h) && h->held_silent_us >= SILENT_US + (int64_t)(GAPS * h->held_gap_us);
    if (!silent && (h->last_us == WR_TIME_MIN || lead->last_us - h->last_us < FAR_US)) return;
    if (!silent && !gives(l, h)) return;
    for (uint32_t i = 0; silent && i < out->n_also; i++)
        if (out->also[i].is == WR_WHY_IDLE) return;
    wr_culprit *f = add(out, silent ? WR_WHY_IDLE : WR_WHY_LATE, h->node);
    snprintf(f->partition, sizeof f->partition, "%s", h->held_by);
    if (silent) {
        SAY(f, "%.*s gives no rows and holds event time at %s; %s (%s) waits for it", WR_FMT(why_table(h->node)), moment(h->watermark_us, at), p->title, p->id);
        why_evidence(f, "%.*s goes on: its last row is dated %s", WR_FMT(why_table(lead->node)), moment(lead->last_us, there));
        why_change(f, "'scan.idle-timeout' = '10 s' on table %.*s lets the others go on; or find out why it is silent", WR_FMT(why_table(h->node)));
        return;
    }
    SAY(f, "%.*s is %s behind %.*s in event time; %s (%s) waits for it", WR_FMT(why_table(h->node)), duration(lead->last_us - h->last_us, by), WR_FMT(why_table(lead->node)), p->title, p->id);
    why_evidence(f, "newest row of %.*s: %s, of %.*s: %s", WR_FMT(why_table(h->node)), moment(h->last_us, at), WR_FMT(why_table(lead->node)), moment(lead->last_us, there));
    if (h->held_by[0]) why_evidence(f, "its slowest partition is %s", h->held_by);
    why_change(f, "its rows come late to the log: look at its producer or at what it is copied by; the other side is kept in state for so long");
}

/* ---- no partner ---- */
static const wr_pnode *root_of(const look *l, const wr_pnode *p) {
    for (uint32_t i = 0; i < l->now->n_sources; i++) {
        const wr_pnode *s = l->now->sources[i].node;
        if (s->kind == WR_P_SOURCE && why_upstream(l, s->index, p->index)) return s;
    }
    return p;
}

static void empty_table(look *l, const wr_node_status *n, wr_why *out) {
    const wr_pnode  *p = n->node;
    const wr_ledger *g = &n->ledger;
    if (p->kind == WR_P_LOOKUP_JOIN) {
        if (g->in[0] < ROWS_MIN || g->matched[0] || !n->usage.lookup_questions) return;
        wr_culprit *f = add(out, WR_WHY_EMPTY, p);
        SAY(f, "no row of %s (%s) finds a partner: %.*s is empty, or its keys are other ones", p->title, p->id, WR_FMT(why_table(p)));
        why_evidence(f, "%" PRIu64 " rows in, %" PRIu64 " keys asked for, none was there", g->in[0], n->usage.lookup_asked);
        why_change(f, "look into table %.*s (its path, its key columns and their types)", WR_FMT(why_table(p)));
        return;
    }
    if (p->n_inputs != 2 || (p->kind != WR_P_INTERVAL_JOIN && p->kind != WR_P_TEMPORAL_JOIN && p->kind != WR_P_JOIN && p->kind != WR_P_WINDOW_JOIN && p->kind != WR_P_ASSIGN)) return;
    if (l->now->running_us < EMPTY_AFTER_US) return;
    for (int side = 0; side < 2; side++) {
        if (g->in[side] || g->in[1 - side] < ROWS_MIN) continue;
        const wr_pnode *from = p->inputs[side].node, *root = root_of(l, from);
        bool            nothing = source_rows(l->now, root) == 0;
        wr_culprit     *f = add(out, WR_WHY_EMPTY, nothing ? root : from);
        if (nothing) SAY(f, "%.*s has given no row yet, so %s (%s) %s", WR_FMT(why_table(root)), p->title, p->id, p->kind != WR_P_ASSIGN ? "finds no partner" : side ? "has nobody to give an order to" : "has nothing to assign");
        else SAY(f, "no row of %.*s reaches %s (%s): %s (%s) leaves all of them out", WR_FMT(why_table(root)), p->title, p->id, from->title, from->id);
        why_evidence(f, "%" PRIu64 " rows came from the other side", g->in[1 - side]);
        why_change(f, nothing ? "is its path or topic the right one, and has it been filled? weir doctor looks" : "look at the condition before it");
    }
}

/* ---- nothing to do ---- */
static void input(look *l, wr_why *out) {
    bool     any = false, catching_up = false;
    wr_sbuf  names = {0};
    for (uint32_t i = 0; i < l->now->n_sources; i++) {
        const wr_source_status *s = &l->now->sources[i];
        if (s->node->kind != WR_P_SOURCE || s->ended) continue;
        any = any || gives(l, s);
        catching_up = catching_up || s->catching_up;
        wr_sbuf_printf(&names, "%s%.*s", names.len ? ", " : "", WR_FMT(why_table(s->node)));
    }
    if (l->now->paced && catching_up) {
        wr_culprit *f = add(out, WR_WHY_RATE, l->held);
        SAY(f, "the job catches up, and reads no faster than --catch-up-rate (scan.catch-up.max-rate) lets it");
        why_change(f, "a higher rate, or none");
    } else if (!any && l->n_running) {
        wr_culprit *f = add(out, WR_WHY_NO_INPUT, l->held);
        SAY(f, "no row came from %.*s in the last %.0f s", WR_FMT(wr_sbuf_str(&names)), l->span_ns / 1e9);
    }
    wr_sbuf_free(&names);
}

void why_times(look *l, wr_why *out) {
    for (uint32_t i = 0; i < l->now->n_sources; i++)
        if (has_time(&l->now->sources[i]) && !l->now->sources[i].ended) future(l, &l->now->sources[i], out);
    for (uint32_t i = 0; i < l->now->n_nodes; i++) empty_table(l, &l->now->nodes[i], out);
    if (out->limited) return; /* a source that is held back is not silent, and how far it is behind says nothing */
    for (uint32_t i = 0; i < l->now->n_sources; i++)
        if (has_time(&l->now->sources[i]) && !l->now->sources[i].ended) idle_partition(l, &l->now->sources[i], out);
    for (uint32_t i = 0; i < l->now->n_nodes; i++)
        if (of_event_time(l->now->nodes[i].node)) behind(l, l->now->nodes[i].node, out);
    input(l, out);
}

/* ---- nothing comes out ---- */
/* Where event time stands; false: no source has any. */
static bool stands(const wr_job_status *s, wr_sbuf *out) {
    const wr_source_status *h = NULL;
    char text[40];
    for (uint32_t i = 0; i < s->n_sources; i++)
        if (!s->sources[i].ended && has_time(&s->sources[i]) && (!h || s->sources[i].watermark_us < h->watermark_us)) h = &s->sources[i];
    if (!h) return false;
    if (h->watermark_us == WR_TIME_MIN) wr_sbuf_printf(out, ": no watermark yet from %.*s", WR_FMT(why_table(h->node)));
    else wr_sbuf_printf(out, ": event time stands at %s, held by %s of %.*s; windows and time joins wait for it to pass their end", moment(h->watermark_us, text), h->held_by, WR_FMT(why_table(h->node)));
    return true;
}

void wr_why_silent(const wr_observer *o, const wr_job_status *s, wr_sbuf *out) {
    uint64_t refused = 0;
    bool     timed = false, idle = true;
    wr_why   why;
    wr_why_decide(o, &why);
    for (uint32_t i = 0; i < s->n_nodes; i++)
        if (s->nodes[i].node->kind == WR_P_SOURCE) refused += s->nodes[i].ledger.dropped[WR_REASON_MALFORMED] + s->nodes[i].ledger.dropped[WR_REASON_DEAD_LETTER];
    for (uint32_t i = 0; i < s->n_sources; i++) timed = timed || has_time(&s->sources[i]), idle = idle && (s->sources[i].ended || s->sources[i].waiting);
    bool fine = why.is.is == WR_WHY_NOTHING || why.is.is == WR_WHY_MEASURING;
    wr_sbuf_printf(out, "no row out for a while (%" PRIu64 " rows in", s->rows_in);
    if (refused) wr_sbuf_printf(out, ", %" PRIu64 " records refused", refused);
    wr_sbuf_addc(out, ')');
    if (refused && !s->rows_in) {
        wr_sbuf_addz(out, ": every record so far was refused; is the format the right one?");
    } else if (why.is.is == WR_WHY_NO_INPUT || (fine && idle && s->n_sources == 1)) {
        const char *sep = ": waiting for new input on ";
        for (uint32_t i = 0; i < s->n_sources; i++)
            if (!s->sources[i].ended && s->sources[i].node->kind == WR_P_SOURCE) wr_sbuf_printf(out, "%s%.*s", sep, WR_FMT(why_table(s->sources[i].node))), sep = ", ";
        if (timed) wr_sbuf_addz(out, "; an open window closes only when later rows arrive");
    } else if (!fine) {
        wr_sbuf_printf(out, ": %s: %s", wr_why_class_name(why.is.is), why.is.sentence);
    } else if (!stands(s, out)) {
        wr_sbuf_addz(out, ": reading; the rows so far were filtered, or are still being aggregated");
    }
}
