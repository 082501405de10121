/* api/contract_report_kept.c: what teams promise of freshness and completeness beside what their state directories say of it.
 *
 * Idea       a promise is what the table's contract says, else its own options. What was measured stands in 'slo.state' of a state directory (observe/slo.h: counted while the job ran: time in which
 *            freshness was kept, rows that were not lost), completeness without it in the ledger of the checkpoint (all rows of the job's sources). A state directory belongs to
 *            the script of its team that writes the table and lies nearest to it.
 * Verdict    freshness: the share of the time that 'slo.objective' asks for, at a limit that is no weaker than the promise; completeness: the share that is promised. Else it is not known.  */
#include "api/contract_report_parts.h"
#include <stdlib.h>

enum { STATE_MOST = 4 << 20 };

/* ---- what was measured ---- */
void report_read_slos(wr_contract_report *r, wr_str team, const char *dir) {
    wr_sbuf             path = {0}, text = {0};
    wr_err              err = {0};
    wr_file_info        info;
    bool                there = false;
    wr_report_measured *m = NULL;
    wr_sbuf_printf(&path, "%s/slo.state", dir);
    if (wr_world_posix()->vt->stat(wr_world_posix(), path.at, &info, &there, &err) != WR_OK || !there || wr_file_read_all(wr_world_posix(), path.at, STATE_MOST, &text, &err) != WR_OK) text.len = 0;
    for (char *line = text.len ? text.at : NULL, *next; line && *line; line = next) {
        next = strchr(line, '\n');
        if (next) *next++ = 0;
        char *end;
        if (!strncmp(line, "slo ", 4)) { /* slo NAME SINCE TABLE */
            char *name = line + 4, *since = strchr(name, ' ');
            m = NULL;
            if (!since) continue;
            (void)strtoll(since + 1, &end, 10);
            if (*end != ' ') continue;
            wr_report_measured one = {.team = team, .dir = wr_str_dup(r->arena, wr_str_of(dir)), .what = wr_str_dup(r->arena, (wr_str){name, (size_t)(since - name)}), .table = wr_str_dup(r->arena, wr_str_of(end + 1))};
            wr_arr_push(&r->measured, one);
            m = &r->measured.at[r->measured.n - 1];
        } else if (m && !strncmp(line, "h ", 2)) { /* h NUMBER TOTAL BAD */
            (void)strtoll(line + 2, &end, 10);
            double total = strtod(end, &end), bad = strtod(end, &end);
            if (total > 0 && bad >= 0 && total < 1e18 && bad < 1e18) m->total += total, m->bad += bad;
        }
    }
    wr_sbuf_free(&path), wr_sbuf_free(&text);
}

/* ---- whose it is ---- */
static uint32_t common_folders(wr_str a, wr_str b) {
    uint32_t n = 0;
    for (size_t i = 0; i < a.len && i < b.len && a.ptr[i] == b.ptr[i]; i++) n += a.ptr[i] == '/';
    return n;
}

static bool writes(const wr_report_state *s, wr_str table) {
    wr_str list = s->tables;
    for (wr_str name; wr_str_next(&list, '\n', &name);)
        if (wr_str_eq(name, table)) return true;
    return false;
}

static const wr_report_measured *measured_of(const wr_contract_report *r, wr_str team, wr_str file, wr_str table, const char *what) {
    const wr_report_measured *best = NULL;
    for (uint32_t i = 0; i < r->measured.n; i++) {
        const wr_report_measured *m = &r->measured.at[i];
        if (!wr_str_eq(m->team, team) || !wr_str_eq(m->table, table) || !wr_str_eq(m->what, wr_str_of(what))) continue;
        if (!best || common_folders(m->dir, file) > common_folders(best->dir, file)) best = m;
    }
    return best;
}

static const wr_report_state *state_of(const wr_contract_report *r, wr_str team, wr_str file, wr_str table) {
    const wr_report_state *best = NULL;
    for (uint32_t i = 0; i < r->states.n; i++) {
        const wr_report_state *s = &r->states.at[i];
        if (wr_str_eq(s->team, team) && writes(s, table) && (!best || common_folders(s->path, file) > common_folders(best->path, file))) best = s;
    }
    return best;
}

/* ---- verdicts ---- */
static void judge(wr_report_kept *k) {
    double share = k->counted > 0 ? 1 - k->bad / k->counted : -1;
    k->verdict = WR_KEPT_UNKNOWN;
    if (share < 0) return;
    if (k->completeness) k->verdict = share * 100 + 1e-9 >= k->promised ? WR_KEPT_YES : WR_KEPT_NO;
    else if (share + 1e-12 < k->objective) k->verdict = k->watched < 0 || k->watched >= k->promised ? WR_KEPT_NO : WR_KEPT_UNKNOWN; /* a stricter limit that is not kept says nothing of the promise */
    else if (k->watched >= 0 && k->watched <= k->promised) k->verdict = WR_KEPT_YES;
}

static void add(wr_contract_report *r, uint32_t output, bool completeness, double promised) {
    const wr_contract   *c = &r->jobs.promises.at[output];
    const wr_report_out *o = &r->outs.at[output];
    const wr_report_measured *m = measured_of(r, report_team(r, c), c->file, o->table, completeness ? "completeness" : "freshness");
    const wr_report_state    *s = m || !completeness ? NULL : state_of(r, report_team(r, c), c->file, o->table);
    wr_report_kept            k = {.output = output, .completeness = completeness, .promised = promised, .watched = -1, .objective = o->slo.objective > 0 ? o->slo.objective : 0.99};
    for (uint32_t i = 0; i < o->slo.n; i++)
        if (o->slo.at[i].kind == (completeness ? WR_SLO_COMPLETENESS : WR_SLO_FRESHNESS)) k.watched = o->slo.at[i].limit * (completeness ? 100 : 1);
    if (m) k.counted = m->total, k.bad = m->bad, k.state = m->dir;
    else if (s) k.counted = (double)s->in, k.bad = (double)s->left_out, k.state = s->path, k.by_ledger = true;
    judge(&k);
    wr_arr_push(&r->kept, k);
}

void report_judge_kept(wr_contract_report *r) {
    for (uint32_t i = 0; i < r->jobs.promises.n; i++) {
        const wr_contract *own = &r->jobs.promises.at[i], *c = report_contract_of(r, own);
        if (!c) c = own;
        if (!report_is_output(own)) continue;
        if (c->freshness_us >= 0) add(r, i, false, (double)c->freshness_us);
        if (c->completeness >= 0) add(r, i, true, c->completeness);
    }
}

uint32_t report_count_kept(const wr_contract_report *r, wr_str team, wr_kept_verdict verdict) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < r->kept.n; i++) n += r->kept.at[i].verdict == verdict && (!team.ptr || wr_str_eq(report_team(r, &r->jobs.promises.at[r->kept.at[i].output]), team));
    return n;
}

/* ---- words ---- */
static void limit_text(const wr_report_kept *k, double limit, wr_sbuf *out) {
    if (k->completeness) wr_sbuf_printf(out, "%.6g %%", limit);
    else wr_text_duration((int64_t)limit, out);
}

void report_kept_text(const wr_report_kept *k, wr_sbuf *out) {
    static const char *const SAYS[] = {"not measured", "kept", "NOT KEPT"};
    wr_sbuf_printf(out, "%s: promised ", k->completeness ? "completeness" : "freshness");
    limit_text(k, k->promised, out);
    if (k->counted > 0) {
        double share = 1 - k->bad / k->counted;
        wr_sbuf_printf(out, "; %.6g %% of ", share * 100);
        if (k->completeness) wr_sbuf_printf(out, "%.0f rows%s", k->counted, k->by_ledger ? " (by the ledger)" : "");
        else wr_text_duration((int64_t)k->counted, out);
        if (!k->completeness && k->watched >= 0) wr_sbuf_addz(out, " within "), limit_text(k, k->watched, out);
        if (!k->completeness && k->watched < 0) wr_sbuf_addz(out, " within a limit that the script does not say");
        if (!k->completeness) wr_sbuf_printf(out, ", %.6g %% of the time are asked for", k->objective * 100);
    }
    if (k->verdict == WR_KEPT_UNKNOWN && k->counted > 0) wr_sbuf_addz(out, k->watched > k->promised ? ": the limit that is watched is weaker than the promise" : ": whether the promise is kept is not known");
    else wr_sbuf_printf(out, ": %s", SAYS[k->verdict]);
}

void report_kept_json(const wr_contract_report *r, const wr_report_kept *k, wr_sbuf *out) {
    static const char *const VALUES[] = {"null", "true", "false"};
    const wr_contract *c = &r->jobs.promises.at[k->output];
    wr_sbuf_addz(out, "{\"team\":"), wr_sbuf_add_json(out, report_team(r, c));
    wr_sbuf_addz(out, ",\"table\":"), wr_sbuf_add_json(out, c->table);
    wr_sbuf_addz(out, ",\"file\":"), wr_sbuf_add_json(out, c->file);
    wr_sbuf_printf(out, ",\"what\":\"%s\",\"unit\":\"%s\",\"promised\":%.17g", k->completeness ? "completeness" : "freshness", k->completeness ? "per cent of rows" : "us", k->promised);
    if (k->watched >= 0) wr_sbuf_printf(out, ",\"watched\":%.17g", k->watched);
    else wr_sbuf_addz(out, ",\"watched\":null");
    if (k->counted > 0) wr_sbuf_printf(out, ",\"counted\":%.17g,\"bad\":%.17g,\"measured_by\":\"%s\",\"state\":", k->counted, k->bad, k->by_ledger ? "ledger" : "slo"), wr_sbuf_add_json(out, k->state);
    else wr_sbuf_addz(out, ",\"counted\":0,\"bad\":0,\"measured_by\":null,\"state\":null");
    if (!k->completeness) wr_sbuf_printf(out, ",\"objective\":%.17g", k->objective);
    wr_sbuf_printf(out, ",\"kept\":%s}", VALUES[k->verdict]);
}
