/* connect/overload.c: the options that say what becomes of records that come faster than a job reads them: 'overload.*'.
 *
 * Idea       see wr_overload. How far behind a source may fall is said in what the source knows of itself: records that wait, bytes that wait, or how long ago
 *            a record came. A limit in another unit would be a guess, so it is refused here, by name.
 * Thread     any.                                                                                                      */
#include "connect/parts.h"
#include <math.h>
#include <stdlib.h>

const char *wr_overload_policy_name(wr_overload_policy policy) {
    static const char *const names[] = {"wait", "drop-oldest", "drop-newest", "sample"};
    return names[policy];
}

static void wrong(const wr_options *options, const char *key, const char *code, wr_diags *diags, const char *said) {
    const wr_option *o = wr_options_find(options, key);
    wr_diags_add(diags, WR_SEV_ERROR, code, o->at, "option '%s' is '%.*s', %s", key, WR_FMT(o->value), said);
}

/* What the connector can be asked, in words. */
static void units_hint(uint8_t known, wr_diags *diags) {
    static const char *const said[] = {"'10000 rows'", "'64 MiB'", "'30 s'"};
    wr_sbuf text = {0};
    for (int i = 0; i < 3; i++)
        if (known >> i & 1) wr_sbuf_printf(&text, "%s%s", text.len ? ", or " : "", said[i]);
    wr_diags_hint(diags, "this source knows how far behind it is as %s", text.at ? text.at : "nothing");
    wr_sbuf_free(&text);
}

/* "10000 rows", "200k records", "64 MiB", "30 s" */
static bool parse_lag(wr_str text, wr_overload *out) {
    static const char *const words[] = {"rows", "row", "records", "record", "messages", "message"};
    text = wr_str_trim(text);
    for (size_t i = 0; i < WR_COUNT_OF(words); i++) {
        size_t n = strlen(words[i]);
        if (text.len <= n || !wr_str_ieq((wr_str){text.ptr + text.len - n, n}, wr_str_of(words[i]))) continue;
        out->unit = WR_LAG_ROWS;
        return wr_parse_count((wr_str){text.ptr, text.len - n}, &out->most);
    }
    out->unit = WR_LAG_TIME;
    if (text.len && (text.ptr[text.len - 1] < '0' || text.ptr[text.len - 1] > '9') && wr_parse_duration(text, &out->most)) return out->most > 0;
    out->unit = WR_LAG_BYTES;
    return text.len && (text.ptr[text.len - 1] < '0' || text.ptr[text.len - 1] > '9') && wr_parse_size(text, &out->most) && out->most > 0;
}

/* "10%", "0.1": one row of 10 */
static bool parse_sample(wr_str text, uint32_t *per_million) {
    char copy[32], *end;
    text = wr_str_trim(text);
    bool percent = text.len && text.ptr[text.len - 1] == '%';
    text = wr_str_trim((wr_str){text.ptr, text.len - percent});
    if (!text.len || text.len >= sizeof copy) return false;
    memcpy(copy, text.ptr, text.len);
    copy[text.len] = 0;
    double share = strtod(copy, &end) / (percent ? 100 : 1);
    *per_million = !*end && share > 0 && share < 1 ? (uint32_t)lround(share * 1e6) : 0;
    return *per_million != 0;
}

bool wr_overload_read(const wr_options *options, const wr_connector *c, wr_overload *out, wr_diags *diags) {
    uint32_t         before = diags->n_errors;
    wr_str           text = wr_str_trim(wr_option_string(options, wr_source_specs, "overload.policy"));
    const wr_option *policy = wr_options_find(options, "overload.policy"), *lag = wr_options_find(options, "overload.lag");
    *out = (wr_overload){.policy = WR_OVERLOAD_WAIT};
    for (int i = WR_OVERLOAD_WAIT; i <= WR_OVERLOAD_SAMPLE; i++)
        if (wr_str_ieq(text, wr_str_of(wr_overload_policy_name((wr_overload_policy)i)))) out->policy = (wr_overload_policy)i;
    if (!parse_sample(wr_option_string(options, wr_source_specs, "overload.sample"), &out->per_million)) wrong(options, "overload.sample", "WR440", diags, "expected a share such as '10%' or '0.1'");
    if (lag && !parse_lag(lag->value, out)) wrong(options, "overload.lag", "WR440", diags, "expected a number of rows, bytes or a time"), units_hint(c->lag_known, diags);
    else if (lag && !(c->lag_known & out->unit) && out->policy != WR_OVERLOAD_WAIT && c->lag_known) wrong(options, "overload.lag", "WR440", diags, "which this source does not know of itself"), units_hint(c->lag_known, diags);
    if (out->policy == WR_OVERLOAD_WAIT || diags->n_errors != before) return diags->n_errors == before;
    if (!c->lag_known) {
        wr_diags_add(diags, WR_SEV_ERROR, "WR442", policy->at, "'overload.policy' = '%s': a source of '%s' does not know how far behind it is", wr_overload_policy_name(out->policy), c->name);
        wr_diags_hint(diags, "leave it out: the source waits until the job has room");
    } else if (!lag) {
        wr_diags_add(diags, WR_SEV_ERROR, "WR440", policy->at, "'overload.policy' = '%s' needs 'overload.lag': how far behind is too far", wr_overload_policy_name(out->policy));
        units_hint(c->lag_known, diags);
    } else if (out->policy == WR_OVERLOAD_DROP_NEWEST && out->unit == WR_LAG_TIME) {
        wrong(options, "overload.lag", "WR440", diags, "and 'drop-newest' keeps a number of rows or bytes");
        wr_diags_hint(diags, "'drop-oldest' goes by time, too");
    }
    return diags->n_errors == before;
}
