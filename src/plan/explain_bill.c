/* plan/explain_bill.c: the state bill for people and for programs: sizes now, in a day and at steady state, when the budget is passed, what a checkpoint
 * writes, and what it all costs.
 *
 * Invariant  what is not known is said to be so and never counts as nothing; both forms give the same facts.
 * Thread     any.                                                                                                            */
#include "plan/logical.h"
#include <math.h>
#include <stdio.h>

#define DAY_US 86400e6
#define GIB 1073741824.0
#define MONTH_HOURS 730.0
static const wr_bill_env NO_ENV = {.interval_us = 10e6, .workers = 1};

static const char *bound_name(wr_bound b) {
    static const char *const NAMES[] = {"stateless", "keys", "time", "input", "nothing"};
    return NAMES[b];
}
static bool is_stateful(const wr_pnode *n) { return n->bill.bound != WR_BOUND_STATELESS; }

/* ---- numbers ---- */

static void size_text(double bytes, wr_sbuf *b) {
    if (bytes < 0) wr_sbuf_addz(b, "not known");
    else if (isinf(bytes) || bytes > 9e18) wr_sbuf_addz(b, "no end");
    else wr_text_size((int64_t)(bytes + 0.5), b);
}
static void count_text(double n, wr_sbuf *b) {
    char digits[32];
    int  len = snprintf(digits, sizeof digits, "%.0f", WR_MIN(n, 9e15));
    for (int i = 0; i < len; i++) {
        if (i && (len - i) % 3 == 0) wr_sbuf_addc(b, ',');
        wr_sbuf_addc(b, digits[i]);
    }
}
/* "and 12.0 MiB a day" where there is no end. */
static void steady_text(const wr_pnode *n, wr_sbuf *b) {
    double steady = wr_bill_steady(n);
    if (!isinf(steady)) {
        size_text(steady, b);
        return;
    }
    wr_sbuf_addz(b, "grows ");
    size_text(WR_MAX(wr_bill_bytes(n, 30 * DAY_US) - wr_bill_bytes(n, 29 * DAY_US), 0.0), b);
    wr_sbuf_addz(b, " a day");
}

typedef struct totals {
    double   now, day, steady, full, changed, base;
    uint32_t n_stateful, n_unknown;
    double   disk;              /* in a day, in the tier's files before they are compressed */
    double   log_rate, log_bytes_s; /* rows and bytes a second from all sources */
    bool     log_known;
} totals;

static void add_sources(const wr_job_plan *job, const wr_bill_facts *f, totals *t) {
    t->log_known = f != NULL;
    for (uint32_t i = 0; i < job->nodes.n && f; i++) {
        if (job->nodes.at[i]->kind != WR_P_SOURCE) continue;
        t->log_rate += f->source_rate[i];
        if (f->source_rows[i] > 0) t->log_bytes_s += f->source_rate[i] * f->source_bytes[i] / f->source_rows[i];
    }
    if (t->log_rate <= 0) t->log_known = false;
}

static totals total_of(const wr_job_plan *job, const wr_bill_env *env) {
    totals t = {0};
    for (uint32_t i = 0; i < job->nodes.n; i++) {
        const wr_pnode *n = job->nodes.at[i];
        double          now = wr_bill_bytes(n, 0), day = wr_bill_bytes(n, DAY_US), steady = wr_bill_steady(n), full, changed;
        if (!is_stateful(n)) continue;
        t.n_stateful++;
        if (day < 0) t.n_unknown++;
        pl_bill_checkpoint(n, env->facts ? 0 : DAY_US, env->interval_us, &full, &changed);
        t.now += WR_MAX(now, 0.0), t.day += WR_MAX(day, 0.0), t.full += WR_MAX(full, 0.0), t.changed += WR_MAX(changed, 0.0);
        t.steady += WR_MAX(steady, 0.0);
        t.disk += WR_MAX(pl_bill_disk(n, DAY_US), 0.0);
    }
    t.base = wr_bill_base_bytes(job, env->workers);
    add_sources(job, env->facts, &t);
    return t;
}

/* ---- table ---- */

static void cell(wr_sbuf *b, size_t width, wr_str text, bool last) {
    wr_sbuf_add_str(b, text);
    for (size_t i = wr_utf8_chars(text); !last && i < width; i++) wr_sbuf_addc(b, ' ');
    wr_sbuf_addz(b, last ? "\n" : "  ");
}
static void size_cell(wr_sbuf *b, size_t width, double bytes, bool blank_if_zero) {
    wr_sbuf t = {0};
    if (blank_if_zero && bytes == 0) wr_sbuf_addc(&t, '-');
    else size_text(bytes, &t);
    cell(b, width, wr_sbuf_str(&t), false);
    wr_sbuf_free(&t);
}

static void table(const wr_job_plan *job, const wr_bill_env *env, wr_sbuf *b) {
    size_t id_width = 8, keeps = 5, bounded = 10;
    for (uint32_t i = 0; i < job->nodes.n; i++) {
        const wr_pnode *n = job->nodes.at[i];
        if (!is_stateful(n)) continue;
        id_width = WR_MAX(id_width, strlen(n->id));
        keeps = WR_MAX(keeps, wr_utf8_chars(wr_str_of(n->bill.keeps)));
        bounded = WR_MAX(bounded, wr_utf8_chars(wr_str_of(n->bill.bounded_by)));
    }
    wr_sbuf_addz(b, "  ");
    cell(b, id_width, WR_STR("operator"), false);
    cell(b, keeps, WR_STR("keeps"), false);
    cell(b, bounded, WR_STR("bounded by"), false);
    cell(b, 9, WR_STR("per key"), false);
    cell(b, 9, WR_STR("per row"), false);
    cell(b, 10, env->facts ? WR_STR("now") : WR_STR("one hour"), false);
    cell(b, 10, env->facts ? WR_STR("in a day") : WR_STR("one day"), false);
    cell(b, 0, WR_STR("steady state"), true);
    for (uint32_t i = 0; i < job->nodes.n; i++) {
        const wr_pnode *n = job->nodes.at[i];
        if (!is_stateful(n)) continue;
        wr_sbuf t = {0};
        wr_sbuf_addz(b, "  ");
        cell(b, id_width, wr_str_of(n->id), false);
        cell(b, keeps, wr_str_of(n->bill.keeps), false);
        cell(b, bounded, wr_str_of(n->bill.bounded_by), false);
        size_cell(b, 9, n->bill.key_bytes, true);
        size_cell(b, 9, n->bill.row_bytes, true);
        size_cell(b, 10, wr_bill_bytes(n, env->facts ? 0 : 3600e6), false);
        size_cell(b, 10, wr_bill_bytes(n, DAY_US), false);
        steady_text(n, &t);
        cell(b, 0, wr_sbuf_str(&t), true);
        wr_sbuf_free(&t);
    }
}

static void total_lines(const totals *t, const wr_bill_env *env, wr_sbuf *b) {
    if (t->n_unknown == t->n_stateful) {
        wr_sbuf_addz(b, "  total: not known. Give --sample 10s, or declare 'stats.keys.<column>' on the tables\n");
        return;
    }
    wr_sbuf_addz(b, "  total: ");
    if (env->facts) size_text(t->now, b), wr_sbuf_addz(b, " now, ");
    size_text(t->day, b);
    wr_sbuf_addz(b, " after a day, ");
    if (isinf(t->steady)) wr_sbuf_addz(b, "growing without end");
    else size_text(t->steady, b), wr_sbuf_addz(b, " at steady state");
    if (t->n_unknown) wr_sbuf_printf(b, "; and %u operator%s whose number of keys is not known", t->n_unknown, t->n_unknown == 1 ? "" : "s");
    wr_sbuf_addc(b, '\n');
    if (!env->budget_bytes) return;
    wr_sbuf_addz(b, "  beside it: buffers, queues and scratch of ");
    wr_sbuf_printf(b, "%.0f worker%s: ", env->workers, env->workers == 1 ? "" : "s");
    size_text(t->base, b);
    wr_sbuf_addc(b, '\n');
}

static void budget_line(const wr_job_plan *job, const totals *t, const wr_bill_env *env, wr_sbuf *b) {
    if (!env->budget_bytes || t->n_unknown == t->n_stateful) return;
    double us = pl_bill_passes_us(job, env->budget_bytes, t->base);
    wr_sbuf_addz(b, "  budget ");
    size_text(env->budget_bytes, b);
    if (us == 0) wr_sbuf_addz(b, " is passed already\n");
    else if (isinf(us)) wr_sbuf_addz(b, t->n_unknown ? " is not reached by what is known\n" : " is not reached\n");
    else {
        wr_sbuf_addz(b, " is reached after ");
        wr_text_duration((int64_t)us, b);
        wr_sbuf_addc(b, '\n');
    }
}

/* What a budget that is passed means: state goes to disk, and the tier there takes memory of its own. */
static bool spills(const wr_job_plan *job, const totals *t, const wr_bill_env *env) {
    return env->budget_bytes > 0 && env->tier_bytes > 0 && t->n_unknown < t->n_stateful && pl_bill_passes_us(job, env->budget_bytes, t->base) <= DAY_US;
}
static void tier_line(const wr_job_plan *job, const totals *t, const wr_bill_env *env, wr_sbuf *b) {
    if (!spills(job, t, env)) return;
    wr_sbuf_addz(b, "  over it, what is cold is kept on disk: at most ");
    size_text(t->disk, b);
    wr_sbuf_addz(b, " after a day before compression, twice that while files are merged; write buffers, cache, filters and indexes take ");
    size_text(env->tier_bytes, b);
    wr_sbuf_addz(b, " of the budget\n");
}

static void checkpoint_line(const totals *t, const wr_bill_env *env, wr_sbuf *b) {
    if (t->n_unknown == t->n_stateful || !env->budget_bytes) return;
    wr_sbuf_addz(b, "  checkpoint: ");
    size_text(t->full, b);
    wr_sbuf_addz(b, "; changed in ");
    wr_text_duration((int64_t)env->interval_us, b);
    wr_sbuf_addz(b, ": ");
    size_text(WR_MIN(t->changed, t->full), b);
    wr_sbuf_addc(b, '\n');
}

/* ---- money ---- */

typedef struct money { double memory, disk, log, cross_zone, total; bool log_known; } money;

/* What is there in a day, for a month of 730 hours. */
static money money_of(const totals *t, const wr_prices *p) {
    money m = {.log_known = t->log_known};
    m.memory = (t->day + t->base) / GIB * p->memory;
    m.disk = t->full * p->checkpoints_kept / GIB * p->disk;
    m.log = t->log_bytes_s * p->log_hours * 3600 / GIB * p->log;
    m.cross_zone = t->log_bytes_s * MONTH_HOURS * 3600 * p->cross_zone_share / GIB * p->cross_zone;
    m.total = m.memory + m.disk + m.log + m.cross_zone;
    return m;
}

static void money_line(const totals *t, const wr_bill_env *env, wr_sbuf *b) {
    if (!env->prices) return;
    money m = money_of(t, env->prices);
    wr_sbuf_printf(b, "  a month: %.2f %s = memory %.2f + checkpoints on disk %.2f", m.total, env->prices->currency, m.memory, m.disk);
    if (m.log_known) wr_sbuf_printf(b, " + log of %.0f h %.2f + reading it across zones %.2f", env->prices->log_hours, m.log, m.cross_zone);
    else wr_sbuf_addz(b, "; log and traffic are not known without a sample");
    if (t->n_unknown) wr_sbuf_addz(b, "; without the state that is not known");
    wr_sbuf_addc(b, '\n');
}

/* ---- where the figures come from ---- */

static double error_of(const wr_pnode *n, const wr_bill_facts *f) { /* of the number of keys to come: half the distance of the two models */
    double worst = f->error;
    for (uint32_t i = 0; i < n->bill.n_parts; i++) {
        const wr_units *u = &n->bill.parts[i].units;
        if (u->kind != WR_UNITS_KEYS || u->power <= 0 || u->now <= 0) continue;
        double rows = u->seen + u->rate * DAY_US / 1e6, both = pl_units_of_rows(u, rows), power = u->now * pow(rows / u->seen, u->power);
        if (both > 0) worst = WR_MAX(worst, fabs(power / both - 1));
    }
    return worst;
}

static void figures(const wr_job_plan *job, const wr_bill_env *env, wr_sbuf *b) {
    for (uint32_t i = 0; i < job->nodes.n; i++) {
        const wr_pnode *n = job->nodes.at[i];
        const wr_bill  *x = &n->bill;
        if (!is_stateful(n) || !env->facts) continue;
        wr_sbuf_printf(b, "  %s: ", n->id);
        if (x->rate_rows < 10) wr_sbuf_printf(b, "%.3g", x->rate_rows);
        else count_text(x->rate_rows, b);
        wr_sbuf_printf(b, " rows/s (%s)", x->rate_from ? x->rate_from : "assumed");
        if (x->keys > 0 && x->keys_from) {
            wr_sbuf_addz(b, ", ");
            count_text(x->keys, b);
            wr_sbuf_printf(b, " keys (%s; +-%.0f %% in a day)", x->keys_from, error_of(n, env->facts) * 100);
        }
        wr_sbuf_addz(b, ": ");
        for (uint32_t p = 0; p < x->n_parts; p++) {
            double units = pl_units(&x->parts[p].units, 0);
            wr_sbuf_addz(b, p ? " + " : "");
            if (units < 0) wr_sbuf_addz(b, "?");
            else count_text(units, b);
            wr_sbuf_printf(b, " x %.0f B (%s)", x->parts[p].bytes_now > 0 ? x->parts[p].bytes_now : x->parts[p].bytes, x->parts[p].what);
        }
        wr_sbuf_addc(b, '\n');
    }
}

static void facts_line(const wr_bill_facts *f, wr_sbuf *b) {
    if (!f) return;
    if (strcmp(f->from, "sample") == 0) {
        wr_sbuf_addz(b, "  sampled: ");
        wr_text_duration((int64_t)(f->seconds * 1e6), b);
        if (f->whole) wr_sbuf_addz(b, ", the whole input");
        else if (f->share > 0) wr_sbuf_printf(b, ", %.1f %% of the input that is there; what comes after is extrapolated", f->share * 100);
        else wr_sbuf_addz(b, "; what comes after is extrapolated");
        wr_sbuf_printf(b, "; counts of keys +-%.1f %%\n", f->error * 100);
    } else {
        wr_sbuf_printf(b, "  figures of the %s", f->from);
        if (f->checkpoint_bytes > 0) wr_sbuf_addz(b, "; its last checkpoint: "), size_text(f->checkpoint_bytes, b);
        wr_sbuf_addc(b, '\n');
    }
    if (f->note[0]) wr_sbuf_printf(b, "  %s\n", f->note);
}

static bool couriers_known(const wr_pnode *n) { /* fewer than their rows, by a hint or a sample */
    for (uint32_t i = 0; i < n->bill.n_parts; i++) {
        const wr_units *u = &n->bill.parts[i].units;
        if (!strcmp(n->bill.parts[i].what, "a courier")) return u->now > 0 || u->steady < u->rate * u->span_us / 1e6;
    }
    return false;
}

static void assumptions(const wr_job_plan *job, wr_sbuf *b) {
    bool rate = false, nothing = false;
    for (uint32_t i = 0; i < job->nodes.n; i++) {
        const wr_bill *x = &job->nodes.at[i]->bill;
        if (x->bound == WR_BOUND_STATELESS) continue;
        if (x->rate_from && strcmp(x->rate_from, "assumed") == 0) rate = true;
        if (x->bound == WR_BOUND_NOTHING) nothing = true;
    }
    if (rate) wr_sbuf_addz(b, "  Rates that no table declares are assumed: 1,000 rows/s a source. Declare 'stats.rows-per-second' on the table, or give --sample 10s.\n");
    for (uint32_t i = 0; i < job->nodes.n; i++) {
        const wr_pnode *n = job->nodes.at[i];
        if (n->bill.bound != WR_BOUND_KEYS || n->bill.keys > 0 || n->bill.key_bytes <= 0) continue;
        wr_sbuf_printf(b, "  %s: %.0f B a key; a million keys are ", n->id, n->bill.key_bytes);
        wr_text_size((int64_t)(n->bill.key_bytes * 1e6), b);
        wr_sbuf_addz(b, ". Declare 'stats.keys.<column>' on the table for a figure, or give --sample 10s.\n");
    }
    for (uint32_t i = 0; i < job->nodes.n; i++) {
        const wr_pnode *n = job->nodes.at[i];
        if (n->kind != WR_P_ASSIGN) continue;
        wr_sbuf_printf(b, "  %s: at most: as if no order were %s before max_wait%s.\n", n->id, n->assign.reassign ? "closed" : "assigned",
                       couriers_known(n) ? "" : ", and each row of couriers came from another one; declare 'stats.keys.<column>' on the couriers' table");
    }
    if (nothing) wr_sbuf_addz(b, "  An operator bounded by nothing grows for ever: it was accepted, or this job is refused.\n");
}

void pl_bill_text(const wr_job_plan *job, const wr_bill_env *env, wr_sbuf *out) {
    if (!env) env = &NO_ENV;
    totals t = total_of(job, env);
    wr_sbuf_addz(out, "\nState bill: what this job remembers\n");
    if (!t.n_stateful) {
        wr_sbuf_addz(out, "  nothing: every operator is stateless\n");
        return;
    }
    table(job, env, out);
    total_lines(&t, env, out);
    budget_line(job, &t, env, out);
    tier_line(job, &t, env, out);
    checkpoint_line(&t, env, out);
    money_line(&t, env, out);
    facts_line(env->facts, out);
    for (uint32_t i = 0; i < job->nodes.n; i++) pl_bill_split(job->nodes.at[i], env, out);
    figures(job, env, out);
    pl_bill_hot(job, env, out);
    assumptions(job, out);
}

/* ---- JSON ---- */

static void json_text(wr_sbuf *b, const char *key, const char *value, bool first) {
    wr_sbuf_printf(b, "%s\"%s\":", first ? "" : ",", key);
    wr_sbuf_add_json(b, wr_str_of(value));
}
/* null: not known; "no end" has its own member. */
static void json_number(wr_sbuf *b, const char *key, double value) {
    if (value < 0 || isinf(value) || isnan(value)) wr_sbuf_printf(b, ",\"%s\":null", key);
    else wr_sbuf_printf(b, ",\"%s\":%.0f", key, value);
}

static void json_parts(const wr_bill *x, wr_sbuf *b) {
    static const char *const KINDS[] = {"unknown", "fixed", "rows", "keys", "span"};
    wr_sbuf_addz(b, ",\"parts\":[");
    for (uint32_t i = 0; i < x->n_parts; i++) {
        const wr_bill_part *p = &x->parts[i];
        wr_sbuf_addz(b, i ? ",{" : "{");
        json_text(b, "what", p->what, true);
        json_text(b, "grows", KINDS[p->units.kind], false);
        wr_sbuf_printf(b, ",\"bytes\":%.1f,\"bytes_now\":%.1f", p->bytes, p->bytes_now > 0 ? p->bytes_now : p->bytes);
        json_number(b, "units_now", pl_units(&p->units, 0));
        json_number(b, "units_day", pl_units(&p->units, DAY_US));
        wr_sbuf_addc(b, '}');
    }
    wr_sbuf_addc(b, ']');
}

void pl_bill_node_json(const wr_pnode *n, const wr_bill_env *env, wr_sbuf *b) {
    if (!env) env = &NO_ENV;
    const wr_bill *x = &n->bill;
    double         full, changed, steady = wr_bill_steady(n);
    wr_sbuf_addz(b, ",\"state\":{");
    json_text(b, "bound", bound_name(x->bound), true);
    json_text(b, "keeps", x->keeps, false);
    json_text(b, "bounded_by", x->bounded_by, false);
    json_text(b, "clock", x->clock, false);
    wr_sbuf_printf(b, ",\"key_bytes\":%.1f,\"row_bytes\":%.1f,\"retention_us\":%.0f,\"windows\":%.0f,\"rows_per_second\":%.3f,\"keys\":%.0f", x->key_bytes, x->row_bytes,
                   x->retention_us, x->windows, x->rate_rows, x->keys);
    json_text(b, "rate_from", x->rate_from ? x->rate_from : "", false);
    json_text(b, "keys_from", x->keys_from ? x->keys_from : "", false);
    if (env->facts && is_stateful(n)) wr_sbuf_printf(b, ",\"keys_error\":%.3f", error_of(n, env->facts));
    json_number(b, "bytes_now", env->facts ? wr_bill_bytes(n, 0) : -1);
    json_number(b, "bytes_hour", wr_bill_bytes(n, 3600e6));
    json_number(b, "bytes_day", wr_bill_bytes(n, DAY_US));
    json_number(b, "bytes_30_days", wr_bill_bytes(n, 30 * DAY_US));
    json_number(b, "bytes_steady", steady);
    wr_sbuf_printf(b, ",\"grows_without_end\":%s", isinf(steady) ? "true" : "false");
    pl_bill_checkpoint(n, env->facts ? 0 : DAY_US, env->interval_us, &full, &changed);
    json_number(b, "checkpoint_bytes", full);
    json_number(b, "checkpoint_changed_bytes", changed < 0 ? -1 : WR_MIN(changed, full));
    json_parts(x, b);
    pl_bill_split_json(n, env, b);
    wr_sbuf_addc(b, '}');
}

static void json_money(const totals *t, const wr_prices *p, wr_sbuf *b) {
    money m = money_of(t, p);
    wr_sbuf_addz(b, ",\"money_month\":{");
    json_text(b, "currency", p->currency, true);
    wr_sbuf_printf(b, ",\"total\":%.4f,\"memory\":%.4f,\"disk\":%.4f", m.total, m.memory, m.disk);
    if (m.log_known) wr_sbuf_printf(b, ",\"log\":%.4f,\"cross_zone\":%.4f}", m.log, m.cross_zone);
    else wr_sbuf_addz(b, ",\"log\":null,\"cross_zone\":null}");
}

void pl_bill_json(const wr_job_plan *job, const wr_bill_env *env, wr_sbuf *b) {
    if (!env) env = &NO_ENV;
    totals t = total_of(job, env);
    bool   known = !t.n_stateful || t.n_unknown < t.n_stateful;
    wr_sbuf_printf(b, "{\"stateful\":%u,\"not_known\":%u", t.n_stateful, t.n_unknown);
    json_number(b, "bytes_now", env->facts ? t.now : -1);
    json_number(b, "bytes_day", known ? t.day : -1);
    json_number(b, "bytes_steady", known ? t.steady : -1);
    wr_sbuf_printf(b, ",\"grows_without_end\":%s", isinf(t.steady) ? "true" : "false");
    json_number(b, "base_bytes", t.base);
    json_number(b, "process_bytes_now", env->facts ? wr_bill_process_bytes(job, env->workers) : -1);
    json_number(b, "budget_bytes", env->budget_bytes > 0 ? env->budget_bytes : -1);
    json_number(b, "budget_reached_after_us", env->budget_bytes > 0 && known ? pl_bill_passes_us(job, env->budget_bytes, t.base) : -1);
    bool spilled = spills(job, &t, env);
    json_number(b, "tier_memory_bytes", spilled ? env->tier_bytes : -1);
    json_number(b, "tier_disk_bytes_day_at_most", spilled ? t.disk : -1);
    json_number(b, "checkpoint_interval_us", env->interval_us);
    json_number(b, "checkpoint_bytes", known ? t.full : -1);
    json_number(b, "checkpoint_changed_bytes", known ? WR_MIN(t.changed, t.full) : -1);
    json_number(b, "log_bytes_per_second", t.log_known ? t.log_bytes_s : -1);
    if (env->prices) json_money(&t, env->prices, b);
    if (env->facts) {
        wr_sbuf_addz(b, ",\"facts\":{");
        json_text(b, "from", env->facts->from, true);
        wr_sbuf_printf(b, ",\"seconds\":%.3f,\"whole\":%s,\"share\":%.4f,\"error\":%.3f", env->facts->seconds, env->facts->whole ? "true" : "false", env->facts->share,
                       env->facts->error);
        json_text(b, "note", env->facts->note, false);
        wr_sbuf_addc(b, '}');
        pl_bill_hot_json(job, env, b);
    }
    wr_sbuf_addc(b, '}');
}
