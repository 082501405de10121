/* observe/slo.c: promises watched. See slo.h.
 *
 * Counting   a slot (a minute, an hour) says how much was looked at and how much of it was bad: microseconds, of completeness rows. A slot carries its
 *            number since 1970, so an old one is empty by itself. Minutes are for burn rates, hours for the error budget.            */
#include "observe/slo.h"
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

enum { MINUTES = 361, STEP_MOST_US = 5000000, LEAST_US = 60000000, LEAST_ROWS = 1000 }; /* LEAST: so much is to be looked at before a burn rate raises anything */
#define MINUTE_US INT64_C(60000000)
#define HOUR_US (60 * MINUTE_US)
typedef struct slot { int64_t number; double total, bad; } slot;
typedef struct promise {
    wr_slo_state state;
    int64_t      for_us, step_us;             /* step: of completeness */
    uint32_t     except;
    bool        *above;                       /* by plan index: the node is above that of the state, or is it */
    slot         minutes[MINUTES], *hours;
    uint32_t     n_hours;
    int64_t      seen_us, turned_us;          /* monotonic: last look; since when kept is what it is */
    bool         breached, begun;
    double       in, lost, in_from, lost_from, in_seen, lost_seen; /* completeness: now, when the window began, at the last look */
    int64_t      from_us;
} promise;
struct wr_slos { uint32_t n; promise *at; };

static const int64_t WINDOWS[WR_SLO_WINDOWS] = {5, 30, 60, 360}; /* minutes */
const char *const wr_slo_window_names[WR_SLO_WINDOWS] = {"5m", "30m", "1h", "6h"};

const char *wr_slo_alert_name(wr_slo_alert alert) {
    static const char *const names[] = {"none", "breach", "ticket", "page"};
    return names[alert];
}

/* ---- what is promised ---- */
static void mark_above(const wr_pnode *p, bool *above) {
    if (above[p->index]) return;
    above[p->index] = true;
    const wr_pinput *in = p->kind == WR_P_UNION ? p->union_inputs : p->inputs;
    uint32_t         n = p->kind == WR_P_UNION ? p->n_union : p->n_inputs;
    for (uint32_t i = 0; i < n; i++) mark_above(in[i].node, above);
}

static const wr_table *table_of(const wr_pnode *p) {
    return p->kind == WR_P_SINK ? p->sink.table : p->kind == WR_P_SOURCE ? p->source.table : p->kind == WR_P_VIEW ? p->view.table : NULL;
}

static void add(wr_slos *s, const wr_job_plan *plan, const wr_pnode *p, const wr_slo_options *o, uint32_t i) {
    if (p->kind == WR_P_SOURCE && o->at[i].kind != WR_SLO_LAG && o->at[i].kind != WR_SLO_FRESHNESS) return; /* rows do not arrive there */
    s->at = wr_realloc(s->at, sizeof *s->at * (s->n + 1));
    promise *q = &s->at[s->n++];
    *q = (promise){.for_us = o->for_us, .step_us = o->completeness_window_us, .except = o->except};
    q->state = (wr_slo_state){.node = p, .table = table_of(p)->name, .target = o->at[i], .objective = o->at[i].kind == WR_SLO_COMPLETENESS ? o->at[i].limit : o->objective,
                              .window_us = o->window_us, .kept = true, .budget_left = 1};
    q->above = wr_calloc(plan->nodes.n + 1, sizeof *q->above);
    mark_above(p, q->above);
    q->n_hours = (uint32_t)(o->window_us / HOUR_US) + 1;
    q->hours = wr_calloc(q->n_hours, sizeof *q->hours);
    for (uint32_t k = 0; k < WR_SLO_WINDOWS; k++) q->state.burn[k] = -1;
}

static void options_for(const wr_table *t, const wr_slo_file *file, wr_arena *arena, wr_options *out);

wr_slos *wr_slos_new(const wr_job_plan *plan, const wr_slo_file *file) {
    wr_slos  *s = wr_calloc(1, sizeof *s);
    wr_arena *arena = wr_arena_new(NULL);
    wr_diags  ignored; /* they were checked: of tables when they were planned, of the file when it was read */
    wr_diags_init(&ignored);
    for (uint32_t i = 0; i < plan->nodes.n; i++) {
        const wr_table *t = table_of(plan->nodes.at[i]);
        wr_options      options;
        wr_slo_options  o;
        if (!t) continue;
        options_for(t, file, arena, &options);
        if (!wr_slo_options_read(&options, &o, &ignored)) continue;
        for (uint32_t k = 0; k < o.n; k++) add(s, plan, plan->nodes.at[i], &o, k);
    }
    wr_diags_free(&ignored);
    wr_arena_free(arena);
    return s;
}

void wr_slos_free(wr_slos *s) {
    if (!s) return;
    for (uint32_t i = 0; i < s->n; i++) wr_free(s->at[i].above), wr_free(s->at[i].hours);
    wr_free(s->at);
    wr_free(s);
}

uint32_t wr_slos_count(const wr_slos *s) { return s ? s->n : 0; }
const wr_slo_state *wr_slos_at(const wr_slos *s, uint32_t i) { return &s->at[i].state; }

/* ---- the file ---- */
struct wr_slo_file { wr_arena *arena; char *name; WR_ARR(wr_option) lines; /* key: TABLE.slo.NAME */ };

/* Splits "TABLE.slo.NAME". */
static bool split_key(wr_str key, wr_str *table, wr_str *option) {
    const char *at = key.len ? memmem(key.ptr, key.len, ".slo.", 5) : NULL;
    if (!at || at == key.ptr) return false;
    *table = (wr_str){key.ptr, (size_t)(at - key.ptr)};
    *option = (wr_str){at + 1, key.len - table->len - 1};
    return true;
}

static bool known_option(wr_str option) {
    for (const wr_option_spec *s = wr_slo_specs; s->key; s++)
        if (wr_str_eq(option, wr_str_of(s->key))) return true;
    return false;
}

static wr_status bad_line(const wr_slo_file *f, uint32_t line, wr_str text, const char *why, wr_err *err) {
    wr_fail(err, WR_USER, "WR420", "%s:%u: %s: %.*s", f->name, line, why, (int)WR_MIN(text.len, (size_t)200), text.ptr);
    wr_err_hint(err, "a line is TABLE.slo.NAME = VALUE, such as charges.slo.freshness = 10 s; NAME: docs/monitoring.md");
    return WR_USER;
}

static wr_status read_line(wr_slo_file *f, uint32_t line, wr_str text, wr_err *err) {
    wr_str      table, option;
    const char *equals = memchr(text.ptr, '=', text.len);
    if (!equals) return bad_line(f, line, text, "there is no '='", err);
    wr_str key = wr_str_trim((wr_str){text.ptr, (size_t)(equals - text.ptr)}), value = wr_str_trim((wr_str){equals + 1, text.len - (size_t)(equals + 1 - text.ptr)});
    if (value.len > 1 && (value.ptr[0] == '\'' || value.ptr[0] == '"') && value.ptr[value.len - 1] == value.ptr[0]) value.ptr++, value.len -= 2;
    if (!split_key(key, &table, &option) || !known_option(option)) return bad_line(f, line, text, "not a name that is known", err);
    wr_option o = {wr_str_dup(f->arena, key), wr_str_dup(f->arena, value), {.line = line}};
    wr_arr_apush(f->arena, &f->lines, o);
    wr_diags       diags;
    wr_slo_options ignored;
    wr_option      one = {option, o.value, o.at};
    wr_diags_init(&diags);
    wr_status status = wr_slo_options_read(&(wr_options){1, &one}, &ignored, &diags) ? WR_OK : bad_line(f, line, text, diags.list.at[0].message, err);
    wr_diags_free(&diags);
    return status;
}

wr_status wr_slo_file_read(wr_str text, const char *name, wr_slo_file **out, wr_err *err) {
    wr_arena    *arena = wr_arena_new(NULL);
    wr_slo_file *f = wr_new(arena, wr_slo_file);
    wr_status    status = WR_OK;
    *f = (wr_slo_file){.arena = arena, .name = wr_arena_printf(arena, "%s", name)};
    uint32_t line = 0;
    for (const char *at = text.ptr, *end = text.ptr + text.len; at < end && status == WR_OK;) {
        const char *nl = memchr(at, '\n', (size_t)(end - at)), *stop = nl ? nl : end;
        wr_str      one = wr_str_trim((wr_str){at, (size_t)(stop - at)});
        line++;
        if (one.len && one.ptr[0] != '#') status = read_line(f, line, one, err);
        at = nl ? nl + 1 : end;
    }
    *out = status == WR_OK ? f : NULL;
    if (status != WR_OK) wr_slo_file_free(f);
    return status;
}

void wr_slo_file_free(wr_slo_file *f) {
    if (f) wr_arena_free(f->arena);
}

static bool has_table(const wr_job_plan *const *plans, uint32_t n, wr_str name) {
    for (uint32_t j = 0; j < n; j++)
        for (uint32_t i = 0; i < plans[j]->nodes.n; i++) {
            const wr_table *t = table_of(plans[j]->nodes.at[i]);
            if (t && wr_str_eq(t->name, name)) return true;
        }
    return false;
}

wr_status wr_slo_file_check(const wr_slo_file *f, const wr_job_plan *const *plans, uint32_t n, wr_err *err) {
    for (uint32_t i = 0; f && i < f->lines.n; i++) {
        wr_str table, option;
        (void)split_key(f->lines.at[i].key, &table, &option);
        if (has_table(plans, n, table)) continue;
        wr_fail(err, WR_USER, "WR421", "%s:%u: no job of the script reads or writes a table '%.*s'", f->name, f->lines.at[i].at.line, WR_FMT(table));
        wr_err_hint(err, "promises are made of the tables that an INSERT names, or that it reads");
        return WR_USER;
    }
    return WR_OK;
}

static void options_for(const wr_table *t, const wr_slo_file *file, wr_arena *arena, wr_options *out) {
    uint32_t   most = t->n_options + (file ? file->lines.n : 0), n = 0;
    wr_option *all = wr_new_n(arena, wr_option, most + 1);
    for (uint32_t i = 0; file && i < file->lines.n; i++) {
        wr_str table, option;
        if (split_key(file->lines.at[i].key, &table, &option) && wr_str_eq(table, t->name)) all[n++] = (wr_option){option, file->lines.at[i].value, file->lines.at[i].at};
    }
    for (uint32_t i = 0; i < t->n_options; i++) { /* behind those of the file: the first one counts */
        const wr_table_option *o = &t->options[i];
        if (wr_str_starts(o->key, WR_STR("slo."))) all[n++] = (wr_option){o->key, o->value, o->at};
    }
    *out = (wr_options){n, all};
}

/* ---- counting ---- */
static void count(slot *slots, uint32_t n, int64_t number, double total, double bad) {
    slot *s = &slots[(uint64_t)number % n];
    if (s->number != number) *s = (slot){.number = number};
    s->total += total;
    s->bad += bad;
}

static void sum(const slot *slots, uint32_t n, int64_t newest, int64_t last, double *total, double *bad) {
    *total = *bad = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (slots[i].number > newest || slots[i].number <= newest - last) continue;
        *total += slots[i].total;
        *bad += slots[i].bad;
    }
}

static void tally(promise *q, int64_t wall_us, double total, double bad) {
    if (total <= 0 && bad <= 0) return;
    if (!q->state.since_us) q->state.since_us = wall_us;
    count(q->minutes, MINUTES, wall_us / MINUTE_US, total, bad);
    count(q->hours, q->n_hours, wall_us / HOUR_US, total, bad);
}

/* Burn rates and the budget. Of a new job the budget is that of the time since it began: an error share, not yet of 30 days. */
static void account(promise *q, int64_t wall_us) {
    wr_slo_state *s = &q->state;
    double        total, bad, allowed = 1 - s->objective;
    for (uint32_t i = 0; i < WR_SLO_WINDOWS; i++) {
        sum(q->minutes, MINUTES, wall_us / MINUTE_US, WINDOWS[i], &total, &bad);
        s->burn[i] = total > 0 ? bad / total / allowed : -1;
    }
    sum(q->hours, q->n_hours, wall_us / HOUR_US, q->n_hours - 1, &total, &bad);
    if (s->target.kind != WR_SLO_COMPLETENESS) total = WR_MAX(total, (double)s->window_us); /* what is still to come is good until it is seen */
    s->budget_left = total > 0 ? 1 - bad / (total * allowed) : 1;
}

/* ---- values ---- */
static bool freshness_of_source(const promise *q, const wr_job_status *s, double *value) {
    for (uint32_t i = 0; i < s->n_sources; i++)
        if (s->sources[i].node == q->state.node && s->sources[i].watermark_us != WR_TIME_MIN && !s->sources[i].ended) {
            *value = (double)(s->wall_us - s->sources[i].watermark_us);
            return true;
        }
    return false;
}

/* When the newest input was read that may be in the table. */
static int64_t newest_read(const promise *q, const wr_job_status *s) {
    int64_t read_us = 0;
    for (uint32_t i = 0; i < s->n_sources; i++)
        if (q->above[s->sources[i].node->index]) read_us = WR_MAX(read_us, s->sources[i].read_us);
    return read_us;
}

/* Without event time, and without an operator in between that keeps rows: how old the input is that is not in the table yet. */
static bool freshness_by_reading(const promise *q, const wr_job_status *s, const wr_node_status *n, double *value) {
    int64_t read_us = newest_read(q, s);
    *value = n->taken_us >= read_us ? 0 : (double)(s->mono_us - n->taken_us);
    return n->taken_us != 0;
}

static bool has_event_time(const promise *q, const wr_job_status *s) {
    for (uint32_t i = 0; i < s->n_sources; i++) {
        const wr_pnode *p = s->sources[i].node;
        if (q->above[p->index] && p->kind == WR_P_SOURCE && p->source.watermark) return true;
    }
    return false;
}

static bool freshness(const promise *q, const wr_job_status *s, double *value) {
    const wr_node_status *n = &s->nodes[q->state.node->index];
    if (q->state.node->kind == WR_P_SOURCE) return freshness_of_source(q, s, value);
    if (!has_event_time(q, s)) return freshness_by_reading(q, s, n, value);
    if (n->watermark_us == WR_TIME_MAX) return false; /* its input has ended */
    *value = n->watermark_us == WR_TIME_MIN ? (double)s->running_us : (double)WR_MAX(s->wall_us - n->watermark_us, (int64_t)0);
    return true;
}

/* Of the last minute; rows that a sink does not take now have waited for so long already. */
static bool latency(const promise *q, const wr_job_status *s, const wr_observer *o, double *value) {
    const wr_node_status *n = &s->nodes[q->state.node->index];
    wr_hist *h = wr_malloc(sizeof *h);
    int64_t  read_us = newest_read(q, s);
    bool     any = wr_observer_latency(o, q->state.node->index, h);
    if (any) *value = (double)wr_hist_quantile(h, q->state.target.quantile);
    wr_free(h);
    if (n->taken_us && n->taken_us < read_us) *value = WR_MAX(*value, (double)(s->mono_us - read_us)), any = true;
    return any;
}

static bool lag(const promise *q, const wr_job_status *s, double *value) {
    *value = 0;
    for (uint32_t i = 0; i < s->n_sources; i++)
        if (q->above[s->sources[i].node->index]) *value += (double)s->sources[i].behind;
    return true;
}

/* ---- completeness: windows of rows ---- */
static bool counts_as_lost(const promise *q, int reason) {
    const char *name = wr_reason_name((wr_reason)reason);
    for (uint32_t i = 0; i < WR_SLO_LOSSES; i++)
        if (!strcmp(name, wr_slo_losses[i])) return !(q->except >> i & 1);
    return false;
}

static void add_up(promise *q, const wr_job_status *s) {
    q->in = q->lost = 0;
    for (uint32_t i = 0; i < s->n_nodes; i++) {
        const wr_ledger *l = &s->nodes[i].ledger;
        const wr_pnode  *p = s->nodes[i].node;
        if (!q->above[i]) continue;
        if (p->kind == WR_P_SOURCE || p->kind == WR_P_VALUES) q->in += (double)l->in[0];
        for (int r = 0; r < WR_REASON_COUNT; r++)
            if (l->dropped[r] && counts_as_lost(q, r)) q->lost += (double)l->dropped[r];
    }
}

static void completeness(promise *q, const wr_job_status *s, bool last) {
    int64_t       mono_us = s->mono_us;
    wr_slo_state *state = &q->state;
    add_up(q, s);
    if (!q->begun) { /* what a checkpoint brought back was counted by the run before */
        q->begun = true;
        if (s->restored_epoch) q->in_seen = q->in, q->lost_seen = q->lost;
        q->from_us = mono_us;
        q->in_from = q->in_seen, q->lost_from = q->lost_seen;
    }
    double in = q->in - q->in_seen, lost = q->lost - q->lost_seen;
    tally(q, s->wall_us, WR_MAX(in, lost), lost);
    q->in_seen = q->in, q->lost_seen = q->lost;
    if (!last && mono_us - q->from_us < q->step_us) return;
    in = q->in - q->in_from, lost = q->lost - q->lost_from;
    q->in_from = q->in, q->lost_from = q->lost;
    q->from_us = mono_us;
    if (in <= 0 && lost <= 0) return; /* nothing came: what was known stays */
    state->known = true;
    state->value = 1 - lost / WR_MAX(in, lost);
    state->kept = state->value >= state->target.limit;
    q->breached = !state->kept;
}

/* ---- looking ---- */
static void see_time(promise *q, const wr_job_status *s, const wr_observer *o) {
    int64_t       mono_us = s->mono_us;
    wr_slo_state *state = &q->state;
    double        value = 0;
    switch (state->target.kind) {
    case WR_SLO_FRESHNESS: state->known = freshness(q, s, &value); break;
    case WR_SLO_LATENCY: state->known = latency(q, s, o, &value); break;
    default: state->known = lag(q, s, &value);
    }
    int64_t span = q->seen_us ? WR_MIN(mono_us - q->seen_us, (int64_t)STEP_MOST_US) : 0; /* a process that stood still saw nothing */
    q->seen_us = mono_us;
    if (!state->known) return;
    bool kept = value <= state->target.limit;
    state->value = value;
    if (kept != state->kept || !q->turned_us) q->turned_us = mono_us;
    state->kept = kept;
    if (kept != !q->breached && mono_us - q->turned_us >= q->for_us) q->breached = !kept;
    tally(q, s->wall_us, (double)span, kept ? 0 : (double)span);
}

static wr_slo_alert judge(const promise *q, int64_t wall_us) {
    const wr_slo_state *s = &q->state;
    double              total, bad;
    sum(q->minutes, MINUTES, wall_us / MINUTE_US, WINDOWS[0], &total, &bad);
    bool enough = total >= (s->target.kind == WR_SLO_COMPLETENESS ? LEAST_ROWS : LEAST_US);
    if (enough && s->burn[0] > 14.4 && s->burn[2] > 14.4) return WR_SLO_PAGE;
    if (enough && s->burn[1] > 6 && s->burn[3] > 6) return WR_SLO_TICKET;
    return q->breached ? WR_SLO_BREACH : WR_SLO_FINE;
}

void wr_slos_see(wr_slos *slos, const wr_job_status *s, const wr_observer *o, bool last) {
    for (uint32_t i = 0; i < slos->n; i++) {
        promise *q = &slos->at[i];
        if (q->state.target.kind == WR_SLO_COMPLETENESS) completeness(q, s, last);
        else see_time(q, s, o);
        account(q, s->wall_us);
        q->state.alert = judge(q, s->wall_us);
    }
}

/* ---- saying ---- */
void wr_slo_value_text(const wr_slo_target *t, double value, wr_sbuf *out) {
    switch (t->kind) {
    case WR_SLO_COMPLETENESS: wr_sbuf_printf(out, "%.6g %%", floor(value * 1e8) / 1e6); break; /* never up to a promise that is not kept */
    case WR_SLO_LAG: wr_sbuf_printf(out, "%.0f", value); break;
    default: wr_text_duration((int64_t)value, out);
    }
}

static void number_json(const char *name, double value, bool known, wr_sbuf *out) {
    if (known && isfinite(value)) wr_sbuf_printf(out, ",\"%s\":%.9g", name, value);
    else wr_sbuf_printf(out, ",\"%s\":null", name);
}

static void state_json(const wr_slo_state *s, wr_sbuf *out) {
    static const char *const units[] = {"us", "us", "messages or bytes", "share"};
    wr_sbuf_addz(out, "{\"table\":");
    wr_sbuf_add_json(out, s->table);
    wr_sbuf_printf(out, ",\"operator\":\"%s\",\"slo\":\"%s\",\"unit\":\"%s\"", s->node->id, s->target.name, units[s->target.kind]);
    number_json("limit", s->target.limit, true, out);
    number_json("value", s->value, s->known, out);
    wr_sbuf_printf(out, ",\"kept\":%s,\"alert\":\"%s\",\"window_us\":%" PRIi64, s->kept ? "true" : "false", wr_slo_alert_name(s->alert), s->window_us);
    number_json("objective", s->objective, true, out);
    number_json("budget_left", s->budget_left, true, out);
    wr_sbuf_addz(out, ",\"burn\":{");
    for (uint32_t i = 0; i < WR_SLO_WINDOWS; i++) {
        wr_sbuf_printf(out, "%s\"%s\":", i ? "," : "", wr_slo_window_names[i]);
        if (s->burn[i] < 0) wr_sbuf_addz(out, "null");
        else wr_sbuf_printf(out, "%.6g", s->burn[i]);
    }
    wr_sbuf_addz(out, "},\"since_us\":");
    if (s->since_us) wr_sbuf_printf(out, "%" PRIi64 "}", s->since_us);
    else wr_sbuf_addz(out, "null}");
}

void wr_slos_json(const wr_slos *s, wr_sbuf *out) {
    wr_sbuf_addz(out, "{\"slos\":[");
    for (uint32_t i = 0; s && i < s->n; i++) {
        if (i) wr_sbuf_addc(out, ',');
        state_json(&s->at[i].state, out);
    }
    wr_sbuf_addz(out, "]}");
}

static void column(wr_sbuf *out, const wr_sbuf *cell, int width) { wr_sbuf_printf(out, "%-*.*s ", width, WR_FMT(wr_sbuf_str(cell))); }

static void state_text(const wr_slo_state *s, wr_sbuf *out) {
    wr_sbuf cell = {0};
    wr_sbuf_printf(&cell, "%.*s", WR_FMT(s->table)), column(out, &cell, 24), wr_sbuf_clear(&cell);
    wr_sbuf_printf(out, "%-14s ", s->target.name);
    if (s->known) wr_slo_value_text(&s->target, s->value, &cell);
    else wr_sbuf_addc(&cell, '-');
    column(out, &cell, 12), wr_sbuf_clear(&cell);
    wr_slo_value_text(&s->target, s->target.limit, &cell), column(out, &cell, 12), wr_sbuf_clear(&cell);
    wr_sbuf_printf(out, "%-4s ", s->kept ? "yes" : "NO");
    for (uint32_t i = 0; i < WR_SLO_WINDOWS; i++) {
        if (i == 1 || i == 3) continue;
        if (s->burn[i] < 0) wr_sbuf_addz(out, "      - ");
        else wr_sbuf_printf(out, "%7.2f ", s->burn[i]);
    }
    wr_sbuf_printf(out, "%8.1f %%  %s\n", 100 * s->budget_left, s->alert ? wr_slo_alert_name(s->alert) : "-");
    wr_sbuf_free(&cell);
}

void wr_slos_text(const wr_slos *s, wr_sbuf *out) {
    uint32_t kept = 0;
    if (!wr_slos_count(s)) {
        wr_sbuf_addz(out, "nothing is promised: 'slo.freshness' = '10 s' and the like are options of tables, or lines of --slo FILE\n");
        return;
    }
    wr_sbuf_printf(out, "%-24s %-14s %-12s %-12s %-4s %7s %7s %10s  %s\n", "table", "promise", "now", "limit", "kept", "burn 5m", "1h", "budget", "alert");
    for (uint32_t i = 0; i < s->n; i++) {
        state_text(&s->at[i].state, out);
        kept += s->at[i].state.kept;
    }
    wr_sbuf_printf(out, "%u of %u kept\n", kept, s->n);
}

/* ---- kept over a restart: a line for each promise, then its slots ---- */
static void save_slots(const char *what, const slot *slots, uint32_t n, wr_sbuf *out) {
    for (uint32_t i = 0; i < n; i++)
        if (slots[i].total > 0) wr_sbuf_printf(out, "%s %" PRIi64 " %.17g %.17g\n", what, slots[i].number, slots[i].total, slots[i].bad);
}

void wr_slos_save(const wr_slos *s, wr_sbuf *out) {
    for (uint32_t i = 0; s && i < s->n; i++) {
        const promise *q = &s->at[i];
        wr_sbuf_printf(out, "slo %s %" PRIi64 " %.*s\n", q->state.target.name, q->state.since_us, WR_FMT(q->state.table));
        save_slots("m", q->minutes, MINUTES, out);
        save_slots("h", q->hours, q->n_hours, out);
    }
}

static promise *find(wr_slos *s, wr_str name, wr_str table) {
    for (uint32_t i = 0; i < s->n; i++)
        if (wr_str_eq(name, wr_str_of(s->at[i].state.target.name)) && wr_str_eq(table, s->at[i].state.table)) return &s->at[i];
    return NULL;
}

static bool load_slot(promise *q, const char *line) {
    char *end;
    bool  minute = line[0] == 'm';
    if ((line[0] != 'm' && line[0] != 'h') || line[1] != ' ') return false;
    int64_t number = strtoll(line + 2, &end, 10);
    double  total = strtod(end, &end), bad = strtod(end, &end);
    if (*end || number < 0 || !(total > 0) || !(bad >= 0) || !isfinite(total) || !isfinite(bad)) return false;
    if (minute) count(q->minutes, MINUTES, number, total, bad);
    else count(q->hours, q->n_hours, number, total, bad);
    return true;
}

void wr_slos_load(wr_slos *s, wr_str text) {
    promise *q = NULL;
    wr_sbuf  copy = {0};
    wr_sbuf_add_str(&copy, text);
    for (char *line = copy.at, *next; line && *line; line = next) {
        next = strchr(line, '\n');
        if (next) *next++ = 0;
        if (strncmp(line, "slo ", 4)) {
            if (q) (void)load_slot(q, line);
            continue;
        }
        char *name = line + 4, *since = strchr(name, ' '), *end = NULL;
        q = NULL;
        if (!since) continue;
        int64_t since_us = strtoll(since + 1, &end, 10);
        if (*end == ' ') q = find(s, (wr_str){name, (size_t)(since - name)}, wr_str_of(end + 1));
        if (q) q->state.since_us = since_us;
    }
    wr_sbuf_free(&copy);
}
