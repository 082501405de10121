/* connect/slo_options.c: the options 'slo.*' of a table: what is promised of it while the job runs. observe/slo.h watches them.
 *
 * Idea       see wr_slo_options. The same words are the options of a table and the lines of `weir run --slo FILE`.
 * Thread     any.                                                                                                      */
#include "connect/parts.h"
#include <math.h>
#include <stdlib.h>

const wr_option_spec wr_slo_specs[] = {
    {"slo.freshness", "duration", NULL, false, "event time of the table is at most so long behind the clock"},
    {"slo.latency.p50", "duration", NULL, false, "half of the rows can be seen so long after their input was read"},
    {"slo.latency.p90", "duration", NULL, false, "90 % of the rows ..."},
    {"slo.latency.p95", "duration", NULL, false, "95 % of the rows ..."},
    {"slo.latency.p99", "duration", NULL, false, "99 % of the rows ..."},
    {"slo.latency.p999", "duration", NULL, false, "99.9 % of the rows ..."},
    {"slo.lag", "string", NULL, false, "at most so much is there and not read, in all sources of the table: messages or bytes, such as '10k' or '10 MiB'"},
    {"slo.completeness", "string", NULL, false, "at least this share of the rows read is neither late, malformed, a dead letter nor unmatched, such as '99.9%'"},
    {"slo.completeness.window", "duration", "1 min", false, "completeness is looked at over so long"},
    {"slo.completeness.except", "string", NULL, false, "reasons that do not count against completeness, such as 'unmatched-left, null-key'"},
    {"slo.objective", "string", "99%", false, "the share of the time that freshness, latency and lag are kept"},
    {"slo.window", "duration", "30 d", false, "the time that the error budget is for"},
    {"slo.for", "duration", "1 min", false, "a value that is not kept for so long raises an alert at once; one that is kept for so long takes it back"},
    {0}};

const char *const wr_slo_losses[WR_SLO_LOSSES] = {"late", "malformed", "dead-letter", "unmatched-left", "unmatched-right", "null-key", "future", "refused", "retract-unknown", "shed"};

static bool parse_number(wr_str text, double *out, const char **rest, char copy[48]) {
    if (!text.len || text.len >= 48) return false;
    memcpy(copy, text.ptr, text.len);
    copy[text.len] = 0;
    char *end;
    *out = strtod(copy, &end);
    *rest = end + strspn(end, " ");
    return end != copy && isfinite(*out);
}

/* "99.9%", "99.9 %", "0.999" */
static bool parse_share(wr_str text, double *out) {
    char        copy[48];
    const char *rest;
    if (!parse_number(text, out, &rest, copy)) return false;
    if (!strcmp(rest, "%")) *out /= 100;
    else if (*rest) return false;
    return *out > 0 && *out < 1;
}

/* "10000", "10k", "1.5M", "10 MiB" */
static bool parse_amount(wr_str text, double *out) {
    static const struct { const char *unit; double times; } units[] = {{"", 1}, {"k", 1e3}, {"K", 1e3}, {"M", 1e6}, {"G", 1e9}};
    char        copy[48];
    const char *rest;
    int64_t     bytes;
    if (!parse_number(text, out, &rest, copy) || *out < 0) return false;
    for (size_t i = 0; i < WR_COUNT_OF(units); i++)
        if (!strcmp(rest, units[i].unit)) return *out *= units[i].times, true;
    if (!wr_parse_size(text, &bytes)) return false;
    *out = (double)bytes;
    return true;
}

static void bad_value(const wr_options *options, const char *key, const char *expected, wr_diags *diags) {
    const wr_option *o = wr_options_find(options, key);
    wr_diags_add(diags, WR_SEV_ERROR, "WR121", o->at, "option '%s' is '%.*s', expected %s", key, WR_FMT(o->value), expected);
}

static void read_except(const wr_options *options, wr_slo_options *out, wr_diags *diags) {
    wr_str list = wr_option_string(options, wr_slo_specs, "slo.completeness.except"), item;
    while (wr_str_next(&list, ',', &item)) {
        uint32_t i = 0;
        while (i < WR_SLO_LOSSES && !wr_str_ieq(item, wr_str_of(wr_slo_losses[i]))) i++;
        if (i < WR_SLO_LOSSES) out->except |= 1u << i;
        else bad_value(options, "slo.completeness.except", "names of: late, malformed, dead-letter, unmatched-left, unmatched-right, null-key, future, refused, retract-unknown, shed", diags);
    }
}

static void add_target(wr_slo_options *out, wr_slo_kind kind, const char *name, double quantile, double limit) {
    out->at[out->n++] = (wr_slo_target){kind, name, quantile, limit};
}

static void read_shares(const wr_options *options, wr_slo_options *out, wr_diags *diags) {
    double limit;
    if (wr_options_find(options, "slo.lag")) {
        if (parse_amount(wr_str_trim(wr_option_string(options, wr_slo_specs, "slo.lag")), &limit)) add_target(out, WR_SLO_LAG, "lag", 0, limit);
        else bad_value(options, "slo.lag", "a number such as '10000', '10k' or '10 MiB'", diags);
    }
    if (wr_options_find(options, "slo.completeness")) {
        if (parse_share(wr_str_trim(wr_option_string(options, wr_slo_specs, "slo.completeness")), &limit)) add_target(out, WR_SLO_COMPLETENESS, "completeness", 0, limit);
        else bad_value(options, "slo.completeness", "a share below 100 %, such as '99.9%'", diags);
    }
    if (!parse_share(wr_str_trim(wr_option_string(options, wr_slo_specs, "slo.objective")), &out->objective)) bad_value(options, "slo.objective", "a share below 100 %, such as '99%'", diags);
}

static void positive(const wr_options *options, const char *key, int64_t least_us, int64_t most_us, const char *expected, int64_t *out, wr_diags *diags) {
    if (!wr_option_duration(options, wr_slo_specs, key, out, diags)) return;
    if (*out < least_us || *out > most_us) bad_value(options, key, expected, diags);
}

bool wr_slo_options_read(const wr_options *options, wr_slo_options *out, wr_diags *diags) {
    static const struct { const char *key; double quantile; } latencies[] = {
        {"slo.latency.p50", 0.5}, {"slo.latency.p90", 0.9}, {"slo.latency.p95", 0.95}, {"slo.latency.p99", 0.99}, {"slo.latency.p999", 0.999}};
    const int64_t S = 1000000, DAY = 86400 * S;
    uint32_t      before = diags->n_errors;
    int64_t       us = 0;
    *out = (wr_slo_options){.objective = 0.99};
    if (wr_options_find(options, "slo.freshness") && wr_option_duration(options, wr_slo_specs, "slo.freshness", &us, diags)) add_target(out, WR_SLO_FRESHNESS, "freshness", 0, (double)us);
    for (size_t i = 0; i < WR_COUNT_OF(latencies); i++)
        if (wr_options_find(options, latencies[i].key) && wr_option_duration(options, wr_slo_specs, latencies[i].key, &us, diags))
            add_target(out, WR_SLO_LATENCY, latencies[i].key + 4, latencies[i].quantile, (double)us);
    read_shares(options, out, diags);
    read_except(options, out, diags);
    positive(options, "slo.window", 3600 * S, 90 * DAY, "1 h to 90 d", &out->window_us, diags);
    positive(options, "slo.for", 0, DAY, "at most 1 d", &out->for_us, diags);
    positive(options, "slo.completeness.window", S, DAY, "1 s to 1 d", &out->completeness_window_us, diags);
    return diags->n_errors == before;
}
