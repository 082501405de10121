/* connect/refusal.c: the options that say what becomes of records that a table refuses: 'on-error', 'dead-letter.*', 'on-error.max-*'.
 *
 * Idea       see wr_refusal_policy. A window is a number of records, not a time: then the same input stops the job at the same record however fast it comes.
 * Thread     any.                                                                                                      */
#include "connect/parts.h"
#include <math.h>
#include <stdlib.h>

/* "1%", "0.5 %", "0.02" */
static bool parse_share(wr_str text, double *out) {
    char copy[32], *end;
    text = wr_str_trim(text);
    bool percent = text.len && text.ptr[text.len - 1] == '%';
    text = wr_str_trim((wr_str){text.ptr, text.len - percent});
    if (!text.len || text.len >= sizeof copy) return false;
    memcpy(copy, text.ptr, text.len);
    copy[text.len] = 0;
    *out = strtod(copy, &end) / (percent ? 100 : 1);
    return !*end && *out >= 0 && *out <= 1;
}

static void bad_value(const wr_options *options, const char *key, const char *expected, wr_diags *diags) {
    const wr_option *o = wr_options_find(options, key);
    wr_diags_add(diags, WR_SEV_ERROR, "WR121", o->at, "option '%s' is '%.*s', expected %s", key, WR_FMT(o->value), expected);
}

static void read_threshold(const wr_options *options, wr_refusal_policy *out, wr_diags *diags) {
    int64_t window = 0, count = -1;
    double  share = 0;
    out->most = UINT64_MAX;
    if (!wr_option_int(options, wr_source_specs, "on-error.window", &window, diags)) return;
    if (window < 1) bad_value(options, "on-error.window", "a number of records, 1 or more", diags);
    out->window = (uint64_t)WR_MAX(window, 1);
    if (wr_options_find(options, "on-error.max-count")) {
        if (!wr_option_int(options, wr_source_specs, "on-error.max-count", &count, diags)) return;
        if (count < 0) bad_value(options, "on-error.max-count", "a number of records", diags);
        else out->most = (uint64_t)count;
    }
    if (!wr_options_find(options, "on-error.max-rate")) return;
    if (!parse_share(wr_option_string(options, wr_source_specs, "on-error.max-rate"), &share)) bad_value(options, "on-error.max-rate", "a share such as '1%' or '0.01'", diags);
    else out->most = WR_MIN(out->most, (uint64_t)floor(share * (double)out->window + 1e-9));
}

bool wr_refusal_policy_read(const wr_options *options, wr_refusal_policy *out, wr_diags *diags) {
    uint32_t         before = diags->n_errors;
    wr_str           text = wr_str_trim(wr_option_string(options, wr_source_specs, "on-error"));
    const wr_option *at = wr_options_find(options, "on-error");
    *out = (wr_refusal_policy){.path = wr_str_trim(wr_option_string(options, wr_source_specs, "dead-letter.path")), .table = wr_str_trim(wr_option_string(options, wr_source_specs, "dead-letter.table"))};
    out->on_error = wr_str_ieq(text, WR_STR("skip")) ? WR_ON_ERROR_SKIP : wr_str_ieq(text, WR_STR("dead-letter")) ? WR_ON_ERROR_DEAD_LETTER : WR_ON_ERROR_FAIL;
    if (!at && wr_options_skip_bad(options)) out->on_error = WR_ON_ERROR_SKIP;
    read_threshold(options, out, diags);
    if (out->path.len && out->table.len) {
        wr_diags_add(diags, WR_SEV_ERROR, "WR121", wr_options_find(options, "dead-letter.table")->at, "'dead-letter.path' and 'dead-letter.table' are both given: a dead letter goes to one place");
    } else if (out->on_error == WR_ON_ERROR_DEAD_LETTER && !out->path.len && !out->table.len) {
        wr_diags_add(diags, WR_SEV_ERROR, "WR122", at->at, "'on-error' = 'dead-letter' needs 'dead-letter.path' or 'dead-letter.table'");
        wr_diags_hint(diags, "'dead-letter.path' = 'dead.jsonl' keeps them in a file; 'dead-letter.table' names a table, say of a Kafka topic");
    }
    return diags->n_errors == before;
}
