/* catalog/settings.c: the settings of a script: SET 'k' = 'v', RESET, --set.
 *
 * Idea       one table of known keys with defaults; values that were set are kept beside it, unknown keys too (a script written for
 *            Flink may carry many), so that SET without arguments can list them.
 * Invariant  wr_catalog_get never gives NULL.                                                                     */
#include "catalog/catalog_private.h"

static const wr_setting_info KNOWN[] = {
    {"alert.source-silent", "5 min", "alert when a source that has not ended gives nothing for so long"},
    {"alert.webhook", "", "a URL that alerts are posted to; --alert-webhook wins"},
    {"execution.checkpointing.aligned-checkpoint-timeout", "", "how long barriers wait behind queued rows before they overtake them; 0 = not at all; empty = half of what the last checkpoint took beside that, 100 ms to 1 s"},
    {"execution.checkpointing.interval", "", "how often a checkpoint is taken, with a state directory; empty = 10 s; --checkpoint-every wins"},
    {"execution.checkpointing.num-retained", "2", "how many checkpoints are kept"},
    {"execution.checkpointing.remote", "", "s3://BUCKET/PREFIX: checkpoints of the state directory are copied there before they count; --checkpoint-to wins"},
    {"execution.checkpointing.tolerable-failed-checkpoints", "0", "so many attempts to write a checkpoint may fail in a row, a second apart"},
    {"execution.checkpointing.unaligned.enabled", "true", "barriers that wait for too long overtake what is queued; false = they wait for as long as it takes"},
    {"execution.runtime-mode", "streaming", "streaming or batch; both run the same job, a bounded input simply ends"},
    {"join.unmatched.path", "", "a file that gets each row that leaves a join without a partner, as a dead letter; empty = such rows are only counted"},
    {"join.unmatched.table", "", "the same into a table of the script, which declares the columns of a letter that it wants"},
    {"parallelism.default", "", "number of workers; empty = one a core"},
    {"pipeline.auto-watermark-interval", "0", "accepted and ignored: watermarks are exact to the row"},
    {"pipeline.name", "", "name of the job in reports"},
    {"pipeline.max-parallelism", "", "number of key groups"},
    {"scan.catch-up.lag", "1 min", "a source is behind when its event time is that far from the clock and there is more to read"},
    {"scan.catch-up.max-rate", "", "how fast sources that are behind may read, all together: 50MiB/s or 200k rows/s; empty = as fast as they can; --catch-up-rate wins"},
    {"state.unbounded", "refused", "refused or accepted: what to do with a state that nothing bounds"},
    {"table.dml-sync", "false", "accepted and ignored"},
    {"table.exec.async-lookup.buffer-capacity", "16", "lookup joins: questions under way per worker, each for the keys of one batch; the hint LOOKUP wins"},
    {"table.exec.async-lookup.output-mode", "ORDERED", "lookup joins: ORDERED, or ALLOW_UNORDERED: a batch leaves as soon as it is answered; the hint LOOKUP wins"},
    {"table.exec.async-lookup.timeout", "3 min", "lookup joins: a question that takes longer stops the job; the hint LOOKUP wins"},
    {"table.exec.mini-batch.allow-latency", "", "accepted and ignored: operators work by batches anyway"},
    {"table.exec.mini-batch.enabled", "false", "accepted and ignored: operators work by batches anyway"},
    {"table.exec.mini-batch.size", "", "accepted and ignored: operators work by batches anyway"},
    {"table.exec.sink.not-null-enforcer", "ERROR", "ERROR: a NULL for a NOT NULL column stops the job"},
    {"table.exec.source.idle-timeout", "0", "a source that is silent for so long no longer holds back the others; 0 = never"},
    {"table.exec.state.ttl", "0", "how long updating operators remember a key that is not touched; 0 = for ever"},
    {"table.local-time-zone", "UTC", "zone of TIMESTAMP_LTZ texts and window bounds"},
    {"table.optimizer.agg-phase-strategy", "AUTO", "AUTO, ONE_PHASE or TWO_PHASE: whether rows of one key are combined before the exchange"},
    {"table.optimizer.distinct-agg.split.enabled", "true", "COUNT(DISTINCT x) and the like as two levels, so that a hot key is spread"},
};

const wr_setting_info *wr_settings(size_t *n) {
    *n = WR_COUNT_OF(KNOWN);
    return KNOWN;
}

static const wr_setting_info *known(wr_str key) {
    for (size_t i = 0; i < WR_COUNT_OF(KNOWN); i++)
        if (wr_str_eq(wr_str_of(KNOWN[i].key), key)) return &KNOWN[i];
    return NULL;
}

wr_str wr_setting_nearest(wr_str key) {
    wr_str names[WR_COUNT_OF(KNOWN)];
    for (size_t i = 0; i < WR_COUNT_OF(KNOWN); i++) names[i] = wr_str_of(KNOWN[i].key);
    int at = wr_nearest(key, names, WR_COUNT_OF(KNOWN));
    return at < 0 ? WR_STR("") : names[at];
}

bool wr_catalog_set(wr_catalog *catalog, wr_str key, wr_str value) {
    bool is_known = known(key) != NULL || wr_str_starts(key, WR_STR("sql-client."));
    for (uint32_t i = 0; i < catalog->settings.n; i++) {
        if (!wr_str_eq(catalog->settings.at[i].key, key)) continue;
        catalog->settings.at[i].value = value.ptr ? wr_str_dup(catalog->arena, value) : value;
        return is_known;
    }
    if (!value.ptr) return is_known; /* RESET of what was not set */
    wr_setting_value v = {wr_str_dup(catalog->arena, key), wr_str_dup(catalog->arena, value)};
    wr_arr_apush(catalog->arena, &catalog->settings, v);
    return is_known;
}

wr_str wr_catalog_get(const wr_catalog *catalog, const char *key) {
    wr_str want = wr_str_of(key);
    for (uint32_t i = 0; i < catalog->settings.n; i++)
        if (wr_str_eq(catalog->settings.at[i].key, want) && catalog->settings.at[i].value.ptr) return catalog->settings.at[i].value;
    const wr_setting_info *info = known(want);
    return wr_str_of(info ? info->fallback : "");
}
