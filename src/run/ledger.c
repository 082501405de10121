/* run/ledger.c: where every row went: what a node's counts must add up to, in words and as JSON; of a running job, of one that has ended, and of one at rest.
 *
 * Idea       each kind of operator has one equation over its ledger (accounted), exact at any moment between two steps of a worker, because rows whose fate
 *            is open are counted as well (wr_ledger.kept). Joins have it per side. Between two nodes: what one gave on, the next one has got, or it is
 *            under way; when the input has ended nothing is under way and nothing is held.
 * At rest    a checkpoint has the ledgers and enough of the plan to name the nodes and their inputs: a status is made of it, and all reports are the same.
 * Thread     any.                                                                                                              */
#include "run/internal.h"
#include <inttypes.h>
#include <stdio.h>

/* ---- what must add up ---- */
static bool is_join(wr_pnode_kind k) {
    return k == WR_P_INTERVAL_JOIN || k == WR_P_TEMPORAL_JOIN || k == WR_P_JOIN || k == WR_P_WINDOW_JOIN || k == WR_P_LOOKUP_JOIN;
}
static bool has_sides(wr_pnode_kind k) { return is_join(k) && k != WR_P_LOOKUP_JOIN; }
/* Holds rows for event time or answers only: nothing of it is left when the input has ended. */
static bool lets_all_go(wr_pnode_kind k) {
    return is_join(k) || k == WR_P_DEDUP || k == WR_P_TIME_SORT || k == WR_P_OVER || k == WR_P_MATCH || k == WR_P_ASSIGN;
}

static uint64_t dropped_sum(const wr_ledger *l) {
    uint64_t n = 0;
    for (int i = 0; i < WR_REASON_COUNT; i++) n += l->dropped[i];
    return n;
}

/* What became of the rows that came in and of those that were made beside them. Reasons that do not stand here count something else (groups, keys). */
static uint64_t accounted(wr_pnode_kind kind, const wr_ledger *l) {
    const uint64_t *d = l->dropped;
    switch (kind) {
    case WR_P_SOURCE: case WR_P_VALUES: case WR_P_CALC: case WR_P_UNION: case WR_P_SINK: case WR_P_VIEW: case WR_P_KEEP: case WR_P_WINDOW_TVF: return l->out + dropped_sum(l);
    case WR_P_SPREAD: return l->out;
    case WR_P_LOCAL_AGG: return l->out + l->used;
    case WR_P_UNNEST: return l->out + l->lost[0];
    case WR_P_WINDOW_AGG: return l->used + d[WR_REASON_LATE] + d[WR_REASON_FILTERED];
    case WR_P_GROUP_AGG: return l->used + d[WR_REASON_RETRACT_UNKNOWN];
    case WR_P_INTERVAL_JOIN: case WR_P_TEMPORAL_JOIN: case WR_P_JOIN: case WR_P_WINDOW_JOIN:
        return l->matched[0] + l->lost[0] + l->kept[0] + l->matched[1] + l->lost[1] + l->kept[1];
    case WR_P_LOOKUP_JOIN: return l->matched[0] + dropped_sum(l) + l->kept[0];
    case WR_P_TOP_N: case WR_P_LIMIT:
        return l->used + l->kept[0] + d[WR_REASON_RANKED_OUT] + d[WR_REASON_LATE] + d[WR_REASON_EXPIRED] + d[WR_REASON_RETRACT_UNKNOWN];
    case WR_P_DEDUP:
        return l->out_kind[WR_KIND_INSERT] + l->out_kind[WR_KIND_UPDATE_AFTER] + d[WR_REASON_DUPLICATE] + d[WR_REASON_LATE] + d[WR_REASON_NO_CHANGE] + l->kept[0];
    case WR_P_NORMALIZE: return l->used + d[WR_REASON_NO_CHANGE] + d[WR_REASON_RETRACT_UNKNOWN];
    case WR_P_TIME_SORT: case WR_P_OVER: return l->out + d[WR_REASON_LATE] + l->kept[0];
    case WR_P_MATCH: return l->used + d[WR_REASON_LATE] + l->kept[0];
    case WR_P_ASSIGN: return l->used + dropped_sum(l) + l->kept[0] + l->kept[1];
    }
    return 0;
}

/* Rows that the inputs of a port gave on; UNION: all of them. */
static uint64_t given(const wr_job_status *status, const wr_pnode *p, uint32_t at) {
    uint64_t n = 0;
    if (p->kind == WR_P_UNION)
        for (uint32_t i = 0; i < p->n_union; i++) n += status->nodes[p->union_inputs[i].node->index].ledger.out;
    else n = status->nodes[p->inputs[at].node->index].ledger.out;
    return n;
}
static uint32_t n_ports(const wr_pnode *p) { return p->kind == WR_P_UNION ? 1 : p->n_inputs; }

/* Rows between a node and its inputs; less than 0 may come of workers that reported at different moments. Dead letters that go back into a sink come from elsewhere. */
static int64_t under_way(const wr_job_status *status, const wr_node_status *s) {
    int64_t n = 0;
    for (uint32_t i = 0; i < n_ports(s->node) && !status->upgraded && !s->ledger.apart; i++)
        n += (int64_t)(given(status, s->node, i) - (s->node->kind == WR_P_UNION ? s->ledger.in[0] + s->ledger.in[1] : s->ledger.in[i]));
    return s->node->kind == WR_P_SINK && n < 0 ? 0 : n;
}

/* Says what does not add up; false: something. */
static bool closes(const wr_job_status *status, const wr_node_status *s, wr_sbuf *out) {
    const wr_ledger *l = &s->ledger;
    wr_pnode_kind    kind = s->node->kind;
    uint64_t         in = l->in[0] + l->in[1] + l->made, sum = accounted(kind, l), held = l->kept[0] + l->kept[1];
    size_t           from = out->len;
    if (l->partial) return true;
    /* A sink that is in the middle of a batch has taken it in already. */
    if (in != sum && !(kind == WR_P_SINK && !status->finished && in > sum)) wr_sbuf_printf(out, "; %" PRIu64 " in, %" PRIu64 " accounted for", in, sum);
    for (uint32_t i = 0; i < 2 && has_sides(kind); i++) {
        uint64_t side = l->matched[i] + l->lost[i] + l->kept[i];
        if (l->in[i] != side) wr_sbuf_printf(out, "; %s: %" PRIu64 " in, %" PRIu64 " accounted for", i ? "right" : "left", l->in[i], side);
    }
    if (has_sides(kind) && l->lost[0] + l->lost[1] != dropped_sum(l)) wr_sbuf_printf(out, "; %" PRIu64 " lost, %" PRIu64 " with a reason", l->lost[0] + l->lost[1], dropped_sum(l));
    for (uint32_t i = 0; i < 2 && s->detail && has_sides(kind); i++) {
        uint64_t sum_why = 0, unmatched = l->dropped[i ? WR_REASON_UNMATCHED_RIGHT : WR_REASON_UNMATCHED_LEFT];
        for (uint32_t w = 0; w < WR_MISS_COUNT; w++) sum_why += s->detail->misses[i][w];
        if (sum_why != unmatched) wr_sbuf_printf(out, "; %" PRIu64 " unmatched, %" PRIu64 " of them explained", unmatched, sum_why);
    }
    if (status->finished && held && lets_all_go(kind) && !l->stays) wr_sbuf_printf(out, "; %" PRIu64 " still held after the end of input", held);
    int64_t way = under_way(status, s);
    if (way < 0 && (status->finished || status->at_rest)) wr_sbuf_printf(out, "; %" PRIi64 " rows more than its input gave on", -way);
    else if (way && status->finished) wr_sbuf_printf(out, "; %" PRIi64 " rows of its input have not arrived", way);
    return out->len == from;
}

bool wr_node_closes(const wr_job_status *status, const wr_node_status *s) {
    wr_sbuf open = {0};
    bool    fine = closes(status, s, &open);
    wr_sbuf_free(&open);
    return fine;
}

/* ---- in words ---- */
static void taken_text(const wr_node_status *s, wr_sbuf *out) {
    const wr_ledger *l = &s->ledger;
    switch (s->node->kind) {
    case WR_P_LOCAL_AGG: wr_sbuf_printf(out, "  combined %" PRIu64, l->used); break;
    case WR_P_WINDOW_AGG: case WR_P_GROUP_AGG: wr_sbuf_printf(out, "  aggregated %" PRIu64, l->used); break;
    case WR_P_ASSIGN: wr_sbuf_printf(out, "  applied %" PRIu64, l->used); break;
    case WR_P_TOP_N: wr_sbuf_printf(out, "  ranked %" PRIu64, l->used + l->kept[0]); break;
    default: break;
    }
    if (l->made) wr_sbuf_printf(out, "  made %" PRIu64, l->made);
    if (is_join(s->node->kind)) wr_sbuf_printf(out, "  matched %" PRIu64 " + %" PRIu64, l->matched[0], l->matched[1]);
}
static void held_text(const wr_job_status *status, const wr_node_status *s, wr_sbuf *out) {
    const wr_ledger *l = &s->ledger;
    int64_t          way = under_way(status, s);
    if ((has_sides(s->node->kind) || s->node->kind == WR_P_ASSIGN) && (l->kept[0] || l->kept[1])) wr_sbuf_printf(out, "  still open %" PRIu64 " + %" PRIu64, l->kept[0], l->kept[1]);
    else if (l->kept[0] && s->node->kind != WR_P_TOP_N) wr_sbuf_printf(out, "  still held %" PRIu64, l->kept[0]);
    if (s->node->kind == WR_P_SINK && l->in[0] > l->out + dropped_sum(l)) way += (int64_t)(l->in[0] - l->out - dropped_sum(l));
    if (way > 0 && !status->finished) wr_sbuf_printf(out, "  in flight %" PRIi64, way);
}

static void reasons_text(const wr_ledger *l, wr_sbuf *out) {
    for (int i = 0; i < WR_REASON_COUNT; i++)
        if (l->dropped[i]) wr_sbuf_printf(out, "  %s %" PRIu64, wr_reason_name((wr_reason)i), l->dropped[i]);
}

static void refused_text(const wr_node_status *s, wr_sbuf *out) {
    for (uint32_t i = 0; i < s->n_refused; i++) wr_sbuf_printf(out, "%s[%s] %" PRIu64, i ? ", " : "  refused: ", s->refused[i].code, s->refused[i].n);
}

static void lookup_text(const wr_op_usage *u, wr_sbuf *out) {
    uint64_t all = u->lookup_hits + u->lookup_asked;
    wr_sbuf_printf(out, "  keys asked %" PRIu64, u->lookup_asked);
    if (u->lookup_hits) wr_sbuf_printf(out, "  from the cache %" PRIu64 " (%.1f %%)", u->lookup_hits, 100.0 * (double)u->lookup_hits / (double)all);
    if (u->lookup_retries) wr_sbuf_printf(out, "  asked again %" PRIu64, u->lookup_retries);
    if (u->lookup_reloads) wr_sbuf_printf(out, "  table read %" PRIu64 " times", u->lookup_reloads);
}

enum { TITLE_CHARS = 40 };
static void title_text(const char *title, wr_sbuf *out) { /* a column of TITLE_CHARS characters */
    wr_str text = wr_str_of(title);
    size_t chars = wr_utf8_chars(text);
    wr_sbuf_add(out, title, chars > TITLE_CHARS ? wr_utf8_offset(text, TITLE_CHARS) : text.len);
    for (; chars < TITLE_CHARS; chars++) wr_sbuf_addc(out, ' ');
}

/* "+1.0 s" */
static void span_text(int64_t us, wr_sbuf *out) {
    if (us < 1000) wr_sbuf_printf(out, "%" PRIi64 " us", us);
    else if (us < 1000000) wr_sbuf_printf(out, "%.1f ms", (double)us / 1e3);
    else if (us < INT64_C(600000000)) wr_sbuf_printf(out, "%.1f s", (double)us / 1e6);
    else wr_text_duration(us, out);
}

/* What would have to move, and by how much, so that 99.9 % of the rows that have a partner at all would have found it. */
static uint64_t beyond(uint64_t all) { return all / 1000; }
static int64_t bound_more(const wr_node_status *s, uint32_t side, uint32_t end) {
    const wr_spans *o = s->detail->outside[side];
    uint64_t        may_miss = beyond(s->ledger.matched[side] + o[0].n + o[1].n);
    return o[0].n + o[1].n <= may_miss ? 0 : wr_spans_covering(&o[end], may_miss);
}

static void misses_text(const wr_node_status *s, wr_sbuf *out) {
    const wr_detail *d = s->detail;
    for (uint32_t side = 0; d && side < 2 && has_sides(s->node->kind); side++) {
        const wr_spans *o = d->outside[side];
        uint64_t        all = 0;
        for (uint32_t w = 0; w < WR_MISS_COUNT; w++) all += d->misses[side][w];
        if (!all || !(o[0].n + o[1].n || d->misses[side][WR_MISS_LATE_PARTNER] || d->misses[side][WR_MISS_CONDITION] || d->misses[side][WR_MISS_DELETED])) continue;
        wr_sbuf_printf(out, "    unmatched %s %" PRIu64 ":", side ? "right" : "left", all);
        const char *sep = " ";
        for (uint32_t w = 0; w < WR_MISS_COUNT; w++) {
            if (!d->misses[side][w]) continue;
            wr_sbuf_printf(out, "%s%" PRIu64 " %s", sep, d->misses[side][w], wr_miss_name((wr_miss)w));
            sep = ", ";
            if (w != WR_MISS_OUTSIDE) continue;
            bool upper = o[0].n && (!o[1].n || o[0].least_us <= o[1].least_us);
            wr_sbuf_addz(out, upper ? " (closest +" : " (closest -");
            span_text(o[!upper].least_us, out);
            wr_sbuf_addc(out, ')');
        }
        int64_t more[2] = {bound_more(s, side, 0), bound_more(s, side, 1)};
        sep = "; ";
        for (uint32_t end = 0; end < 2; end++) {
            if (!more[end]) continue;
            wr_sbuf_addz(out, sep), sep = " and ";
            wr_sbuf_addz(out, end ? "-" : "+"), span_text(more[end], out);
            if (more[0] && more[1]) wr_sbuf_addz(out, end ? " at the lower bound" : " at the upper bound");
        }
        if (more[0] || more[1]) wr_sbuf_addz(out, " more would have matched 99.9 %");
        wr_sbuf_addc(out, '\n');
    }
}

static void late_text(const wr_node_status *s, wr_sbuf *out) {
    const wr_spans *l = s->detail ? &s->detail->late : NULL;
    if (!l || !l->n) return;
    wr_sbuf_printf(out, "    behind the watermark %" PRIu64 ": by ", l->n);
    span_text(l->least_us, out), wr_sbuf_addz(out, " to "), span_text(l->most_us, out);
    int64_t more = wr_spans_covering(l, beyond(s->ledger.out));
    if (more) wr_sbuf_addz(out, "; a watermark delay longer by "), span_text(more + 1, out), wr_sbuf_addz(out, " would have been in time for 99.9 %");
    wr_sbuf_addc(out, '\n');
}

bool wr_job_ledger_text(const wr_job_status *status, wr_sbuf *out) {
    bool    all = true;
    wr_sbuf open = {0};
    for (uint32_t i = 0; i < status->n_nodes; i++) {
        const wr_node_status *s = &status->nodes[i];
        const wr_ledger      *l = &s->ledger;
        title_text(s->node->title, out);
        wr_sbuf_printf(out, " in %" PRIu64, l->in[0]);
        if (is_join(s->node->kind) || s->node->kind == WR_P_ASSIGN || l->in[1]) wr_sbuf_printf(out, " + %" PRIu64 "%s", l->in[1], s->node->kind == WR_P_SOURCE ? " blank lines" : "");
        wr_sbuf_printf(out, "  out %" PRIu64, l->out);
        taken_text(s, out);
        reasons_text(l, out);
        refused_text(s, out);
        if (s->node->kind == WR_P_LOOKUP_JOIN) lookup_text(&s->usage, out);
        if (s->usage.greedy) wr_sbuf_printf(out, "  greedy, too many at a time %" PRIu64, s->usage.greedy);
        held_text(status, s, out);
        wr_sbuf_clear(&open);
        if (!closes(status, s, &open)) {
            wr_sbuf_printf(out, "  DOES NOT CLOSE: %.*s", (int)open.len - 2, open.at + 2);
            all = false;
        }
        wr_sbuf_addc(out, '\n');
        misses_text(s, out);
        late_text(s, out);
    }
    wr_sbuf_free(&open);
    return all;
}

static void windows_text(const wr_node_status *s, wr_sbuf *out) {
    const wr_detail *d = s->detail;
    if (!d || !d->n_windows) return;
    wr_sbuf_printf(out, "\n%s, by %s up to\n", s->node->title, s->node->kind == WR_P_SOURCE ? "minute of event time" : "window");
    for (uint32_t i = 0; i < d->n_windows; i++) {
        const wr_window_count *c = &d->windows[i];
        char                   text[40];
        wr_text_timestamp(c->end_us, wr_type_prec(WR_T_TIMESTAMP, 3), ' ', text);
        wr_sbuf_printf(out, "  %s  in %" PRIu64 "  late %" PRIu64, text, c->in, c->late);
        if (s->node->kind != WR_P_SOURCE) wr_sbuf_printf(out, "  out %" PRIu64, c->out);
        wr_sbuf_addc(out, '\n');
    }
}

void wr_job_ledger_report(const wr_job_status *status, bool windows, wr_sbuf *out) {
    bool all = wr_job_ledger_text(status, out);
    for (uint32_t i = 0; i < status->n_nodes && windows; i++) windows_text(&status->nodes[i], out);
    wr_sbuf_addz(out, !all ? "THE LEDGER DOES NOT CLOSE\n" : status->finished ? "the ledger closes\n" : "the ledger closes so far\n");
}

/* ---- as JSON ---- */
static void spans_json(const char *name, const wr_spans *sp, wr_sbuf *out) {
    wr_sbuf_printf(out, "\"%s\":{\"rows\":%" PRIu64 ",\"least_us\":%" PRIi64 ",\"most_us\":%" PRIi64 ",\"up_to_us\":[", name, sp->n, sp->n ? sp->least_us : 0, sp->n ? sp->most_us : 0);
    const char *sep = "";
    for (uint32_t b = 0; b < WR_SPAN_BUCKETS; b++) {
        if (!sp->at[b]) continue;
        wr_sbuf_printf(out, "%s[%" PRIi64 ",%" PRIu64 "]", sep, wr_span_of_bucket(b), sp->at[b]);
        sep = ",";
    }
    wr_sbuf_addz(out, "]}");
}

static bool explains(wr_pnode_kind k) { return k == WR_P_INTERVAL_JOIN || k == WR_P_TEMPORAL_JOIN || k == WR_P_WINDOW_JOIN; }
static void detail_json(const wr_node_status *s, wr_sbuf *out) {
    const wr_detail *d = s->detail;
    if (s->node->kind == WR_P_SOURCE) {
        wr_sbuf_addz(out, ",\"late\":{"), spans_json("behind", &d->late, out);
        wr_sbuf_printf(out, ",\"delay_more_us\":%" PRIi64 "}", d->late.n > beyond(s->ledger.out) ? wr_spans_covering(&d->late, beyond(s->ledger.out)) + 1 : 0);
    }
    if (!explains(s->node->kind)) return;
    wr_sbuf_addz(out, ",\"unmatched\":[");
    for (uint32_t side = 0; side < 2; side++) {
        wr_sbuf_addz(out, side ? ",{\"why\":{" : "{\"why\":{");
        for (uint32_t w = 0, n = 0; w < WR_MISS_COUNT; w++) {
            if (!d->misses[side][w]) continue;
            wr_sbuf_addz(out, n++ ? "," : ""), wr_sbuf_add_json(out, wr_str_of(wr_miss_name((wr_miss)w)));
            wr_sbuf_printf(out, ":%" PRIu64, d->misses[side][w]);
        }
        wr_sbuf_addz(out, "},"), spans_json("beyond_upper", &d->outside[side][0], out);
        wr_sbuf_addc(out, ','), spans_json("beyond_lower", &d->outside[side][1], out);
        wr_sbuf_printf(out, ",\"upper_more_us\":%" PRIi64 ",\"lower_more_us\":%" PRIi64 "}", bound_more(s, side, 0), bound_more(s, side, 1));
    }
    wr_sbuf_addc(out, ']');
}

static void windows_json(const wr_node_status *s, wr_sbuf *out) {
    const wr_detail *d = s->detail;
    wr_sbuf_printf(out, ",\"window_us\":%" PRIi64 ",\"windows\":[", d->window_us);
    for (uint32_t i = 0; i < d->n_windows; i++) {
        const wr_window_count *c = &d->windows[i];
        wr_sbuf_printf(out, "%s{\"end_us\":%" PRIi64 ",\"in\":%" PRIu64 ",\"late\":%" PRIu64 ",\"out\":%" PRIu64 "}", i ? "," : "", c->end_us, c->in, c->late, c->out);
    }
    wr_sbuf_addc(out, ']');
}

void wr_job_ledger_node_json(const wr_job_status *status, const wr_node_status *s, wr_sbuf *out) {
    const wr_ledger *l = &s->ledger;
    wr_sbuf          open = {0};
    bool             fine = closes(status, s, &open);
    wr_sbuf_printf(out, "{\"id\":\"%s\",\"kind\":\"%s\",\"title\":", s->node->id, wr_pnode_kind_name(s->node->kind));
    wr_sbuf_add_json(out, wr_str_of(s->node->title));
    if (s->node->kind == WR_P_SOURCE) wr_sbuf_addz(out, ",\"table\":"), wr_sbuf_add_json(out, s->node->source.table->name);
    if (s->node->kind == WR_P_SINK && s->node->sink.table) wr_sbuf_addz(out, ",\"table\":"), wr_sbuf_add_json(out, s->node->sink.table->name);
    wr_sbuf_printf(out, ",\"in\":[%" PRIu64 ",%" PRIu64 "],\"out\":%" PRIu64, l->in[0], l->in[1], l->out);
    wr_sbuf_printf(out, ",\"inserts\":%" PRIu64 ",\"updates_before\":%" PRIu64 ",\"updates_after\":%" PRIu64 ",\"deletes\":%" PRIu64,
                   l->out_kind[0], l->out_kind[1], l->out_kind[2], l->out_kind[3]);
    if (is_join(s->node->kind)) wr_sbuf_printf(out, ",\"matched\":[%" PRIu64 ",%" PRIu64 "],\"lost\":[%" PRIu64 ",%" PRIu64 "]", l->matched[0], l->matched[1], l->lost[0], l->lost[1]);
    wr_sbuf_printf(out, ",\"held\":[%" PRIu64 ",%" PRIu64 "],\"used\":%" PRIu64 ",\"made\":%" PRIu64 ",\"in_flight\":%" PRIi64, l->kept[0], l->kept[1], l->used, l->made, WR_MAX(under_way(status, s), 0));
    wr_sbuf_addz(out, ",\"dropped\":{");
    const char *sep = "";
    for (int i = 0; i < WR_REASON_COUNT; i++) {
        if (!l->dropped[i]) continue;
        wr_sbuf_printf(out, "%s", sep);
        wr_sbuf_add_json(out, wr_str_of(wr_reason_name((wr_reason)i)));
        wr_sbuf_printf(out, ":%" PRIu64, l->dropped[i]);
        sep = ",";
    }
    wr_sbuf_printf(out, "},\"closes\":%s,\"state_bytes\":%" PRIi64 ",\"state_peak_bytes\":%" PRIi64 ",\"keys\":%" PRIu64 ",\"rows\":%" PRIu64,
                   fine ? "true" : "false", s->usage.state_bytes, s->account_peak_bytes, s->usage.keys, s->usage.rows);
    if (!fine) wr_sbuf_addz(out, ",\"open\":"), wr_sbuf_add_json(out, (wr_str){open.at + 2, open.len - 2});
    wr_sbuf_free(&open);
    if (s->usage.tier_evictions || s->usage.tier_keys)
        wr_sbuf_printf(out, ",\"tier_keys\":%" PRIu64 ",\"tier_loads\":%" PRIu64 ",\"tier_evictions\":%" PRIu64, s->usage.tier_keys, s->usage.tier_loads,
                       s->usage.tier_evictions);
    for (uint32_t i = 0; i < s->n_refused; i++) {
        wr_sbuf_addz(out, i ? "," : ",\"refused\":{");
        wr_sbuf_add_json(out, wr_str_of(s->refused[i].code));
        wr_sbuf_printf(out, ":%" PRIu64 "%s", s->refused[i].n, i + 1 == s->n_refused ? "}" : "");
    }
    if (s->node->kind == WR_P_LOOKUP_JOIN)
        wr_sbuf_printf(out, ",\"lookup\":{\"hits\":%" PRIu64 ",\"asked\":%" PRIu64 ",\"retries\":%" PRIu64 ",\"reloads\":%" PRIu64 ",\"cache_bytes\":%" PRIi64 "}", s->usage.lookup_hits,
                       s->usage.lookup_asked, s->usage.lookup_retries, s->usage.lookup_reloads, s->usage.cache_bytes);
    if (s->usage.greedy) wr_sbuf_printf(out, ",\"greedy\":%" PRIu64, s->usage.greedy);
    if (s->detail) detail_json(s, out);
    wr_sbuf_addc(out, '}');
}

void wr_job_ledger_json(const wr_job_status *status, wr_sbuf *out) { wr_job_ledger_report_json(status, false, out); }
void wr_job_ledger_report_json(const wr_job_status *status, bool windows, wr_sbuf *out) {
    wr_sbuf_addz(out, "{\"operators\":[");
    for (uint32_t i = 0; i < status->n_nodes; i++) {
        if (i) wr_sbuf_addc(out, ',');
        wr_job_ledger_node_json(status, &status->nodes[i], out);
        if (!windows || !status->nodes[i].detail || !status->nodes[i].detail->n_windows) continue;
        out->len--; /* its closing brace */
        windows_json(&status->nodes[i], out);
        wr_sbuf_addc(out, '}');
    }
    bool    all = true;
    wr_sbuf open = {0};
    for (uint32_t i = 0; i < status->n_nodes; i++) all = closes(status, &status->nodes[i], &open) && all;
    wr_sbuf_free(&open);
    wr_sbuf_printf(out, "],\"closes\":%s,\"finished\":%s", all ? "true" : "false", status->finished ? "true" : "false");
    wr_sbuf_printf(out, ",\"rows_in\":%" PRIu64 ",\"rows_out\":%" PRIu64 "}", status->rows_in, status->rows_out);
}

/* ---- at rest ---- */
void ledger_put_nodes(const wr_job_plan *plan, wr_sbuf *out) {
    wr_put_u32(out, plan->nodes.n);
    for (uint32_t i = 0; i < plan->nodes.n; i++) {
        const wr_pnode  *p = plan->nodes.at[i];
        const wr_pinput *in = p->kind == WR_P_UNION ? p->union_inputs : p->inputs;
        uint32_t         n = p->kind == WR_P_UNION ? p->n_union : p->n_inputs;
        wr_str           table = p->kind == WR_P_SOURCE ? p->source.table->name : p->kind == WR_P_SINK && p->sink.table ? p->sink.table->name : (wr_str){"", 0};
        const char      *kind = wr_pnode_kind_name(p->kind);
        wr_put_bytes(out, p->id, strlen(p->id));
        wr_put_bytes(out, kind, strlen(kind));
        wr_put_bytes(out, p->title, strlen(p->title));
        wr_put_bytes(out, table.ptr, table.len);
        wr_put_u32(out, n);
        for (uint32_t k = 0; k < n; k++) wr_put_u32(out, in[k].node->index);
    }
}

static bool node_read(wr_job_status *s, wr_pnode *p, wr_reader *in) {
    wr_str    id = wr_get_bytes(in), kind = wr_get_bytes(in), title = wr_get_bytes(in), name = wr_get_bytes(in);
    uint32_t  n = wr_get_u32(in);
    wr_table *table = wr_new(s->arena, wr_table);
    if (in->bad) return false;
    snprintf(p->id, sizeof p->id, "%.*s", WR_FMT(id));
    snprintf(p->title, sizeof p->title, "%.*s", WR_FMT(title));
    for (int k = 0; k <= WR_P_ASSIGN; k++)
        if (wr_str_eq(kind, wr_str_of(wr_pnode_kind_name((wr_pnode_kind)k)))) p->kind = (wr_pnode_kind)k;
    table->name = (wr_str){wr_arena_strndup(s->arena, name.ptr, name.len), name.len};
    if (p->kind == WR_P_SOURCE) p->source.table = table;
    if (p->kind == WR_P_SINK && name.len) p->sink.table = table;
    if (p->kind != WR_P_UNION && n > 2) return false;
    if (n > p->index + UINT32_C(65536)) return false;
    wr_pinput *inputs = p->kind == WR_P_UNION ? wr_new_n(s->arena, wr_pinput, n + 1) : p->inputs;
    for (uint32_t k = 0; k < n; k++) {
        uint32_t of = wr_get_u32(in);
        if (in->bad || of >= p->index) return false; /* inputs come first */
        inputs[k].node = (wr_pnode *)(uintptr_t)s->nodes[of].node;
    }
    if (p->kind == WR_P_UNION) p->union_inputs = inputs, p->n_union = n;
    else p->n_inputs = n;
    return true;
}

static bool nodes_read(wr_job_status *s, wr_reader *in) {
    uint32_t n = wr_get_u32(in);
    if (in->bad || n > (size_t)(in->end - in->at)) return false;
    s->nodes = wr_new_n(s->arena, wr_node_status, n + 1);
    for (uint32_t i = 0; i < n; i++) {
        wr_pnode *p = wr_new(s->arena, wr_pnode);
        p->index = i;
        s->nodes[i].node = p;
        if (!node_read(s, p, in)) return false;
    }
    s->n_nodes = n;
    return true;
}

static void ledgers_read(const wr_checkpoint *ck, wr_job_status *s) {
    for (uint32_t i = 0; i < ck->sections.n; i++) {
        const wr_section *x = &ck->sections.at[i];
        if (x->kind != WR_SECTION_LEDGER || snapshot_superseded(ck, i)) continue;
        for (uint32_t k = 0; k < s->n_nodes; k++) {
            if (!wr_str_eq(x->owner, wr_str_of(s->nodes[k].node->id))) continue;
            wr_reader in = {(const uint8_t *)x->content.ptr, (const uint8_t *)x->content.ptr + x->content.len, false};
            wr_ledger l;
            ledger_load(&l, &in);
            if (in.bad) continue;
            wr_ledger_add(&s->nodes[k].ledger, &l);
            if (in.at == in.end) continue;
            wr_detail *d = wr_new_n(s->arena, wr_detail, 1);
            wr_detail_load(d, &in);
            if (in.bad) continue;
            if (!s->nodes[k].detail) s->nodes[k].detail = d;
            else wr_detail_add(s->nodes[k].detail, d);
        }
    }
    for (uint32_t k = 0; k < s->n_nodes; k++) {
        wr_pnode_kind kind = s->nodes[k].node->kind;
        if (kind == WR_P_SOURCE || kind == WR_P_VALUES) s->rows_in += s->nodes[k].ledger.out;
        if (kind == WR_P_SINK) s->rows_out += s->nodes[k].ledger.out;
    }
}

wr_status wr_ledger_at_rest(wr_world *world, const char *dir, wr_job_status *out, wr_err *err) {
    wr_checkpoint ck = {0};
    bool          found;
    memset(out, 0, sizeof *out);
    WR_TRY(wr_checkpoint_open(world, dir, false, &ck, &found, err));
    if (!found) {
        wr_fail(err, WR_USER, "WR430", "no job runs on %s, and there is no checkpoint in it", dir);
        wr_err_hint(err, "give the state directory of a job (weir run --state-dir), or the address that it was given with --ui");
        return WR_USER;
    }
    out->arena = wr_arena_new(NULL);
    const wr_section *plan = wr_checkpoint_find(&ck, WR_SECTION_PLAN, WR_STR("nodes"));
    wr_reader         in = {0};
    if (plan) in = (wr_reader){(const uint8_t *)plan->content.ptr, (const uint8_t *)plan->content.ptr + plan->content.len, false};
    bool fine = plan && nodes_read(out, &in);
    if (fine) {
        uint32_t groups, generation;
        job_section_read(&ck, &groups, &out->finished, &generation);
        out->upgraded = generation > 0, out->at_rest = true;
        out->checkpoint_epoch = ck.epoch;
        ledgers_read(&ck, out);
    }
    wr_checkpoint_close(&ck);
    if (fine) return WR_OK;
    wr_arena_free(out->arena);
    wr_fail(err, WR_USER, "WR431", "the checkpoint in %s was written by an earlier weir, which did not keep what the ledger needs", dir);
    wr_err_hint(err, "run the job with this weir until its next checkpoint");
    return WR_USER;
}
