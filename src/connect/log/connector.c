/* connect/log/connector.c: the connectors 'log' and 'upsert-log': what they can do, their options; the work is in source.c and sink.c.
 *
 * Idea       options that mean the same as those of 'kafka' have the same names and values: a table goes over by changing 'connector' and 'path'.  */
#include "connect/log/connector.h"
#include "base/hash.h"
#include "connect/probe.h"
#include <math.h>

#define COMMON_SPECS                                                                                                                                    \
    {"path", "path", NULL, true, "the log's directory"},                                                                                                 \
    {"scan.bounded.mode", "enum:unbounded|latest-offset|timestamp|specific-offsets", "unbounded", false, "where reading ends; unbounded: nowhere"},      \
    {"scan.bounded.timestamp-millis", "int", "0", false, "with 'timestamp'"},                                                                            \
    {"scan.bounded.specific-offsets", "string", "", false, "with 'specific-offsets': partition:0,offset:42;partition:1,offset:300"},                       \
    {"sink.delivery-guarantee", "enum:none|at-least-once|exactly-once", "exactly-once", false, "exactly-once: rows become visible when the checkpoint is complete; else when they are synced"}, \
    {"sink.transactional-id-prefix", "string", "", false, "exactly-once: the name of this writer in the log; without it the table's name"},              \
    {"sink.parallelism", "int", NULL, false, "accepted for Flink's sake: one worker writes"},                                                            \
    {"log.partitions", "int", "1", false, "a sink makes the log if it is not there: with so many partitions"},                                           \
    {"log.segment-size", "size", "64 MiB", false, "how large a file gets before the next one begins"},                                                   \
    {"log.retention", "duration", NULL, false, "what was appended longer ago is removed, whole segments at a time; without it nothing is"},              \
    {"log.retention-size", "size", NULL, false, "a partition that is larger loses its oldest segments"},                                                 \
    {"log.tombstone-retention", "duration", "1 d", false, "compaction: a record without value stays for so long"},                                       \
    {"log.compression", "enum:none|zstd", "none", false, "of batches"}

const wr_option_spec log_specs[] = {
    {"scan.startup.mode", "enum:earliest-offset|latest-offset|timestamp|specific-offsets", "earliest-offset", false, "where a new job begins"},
    {"scan.startup.timestamp-millis", "int", "0", false, "with 'timestamp': the first records that are not older"},
    {"scan.startup.specific-offsets", "string", "", false, "with 'specific-offsets': partition:0,offset:42;partition:1,offset:300"},
    {"sink.partitioner", "enum:default|fixed|round-robin", "default", false, "default: by key, without one in turn; fixed: all to partition 0; round-robin"},
    {"log.cleanup", "enum:delete|compact|compact,delete", "delete", false, "delete: by retention; compact: of each key the last record stays"},
    COMMON_SPECS,
    {0}};
static const wr_option_spec upsert_specs[] = {{"log.cleanup", "enum:delete|compact|compact,delete", "compact", false, "delete: by retention; compact: of each key the last record stays"}, COMMON_SPECS, {0}};

const char *const log_metadata[] = {"topic", "partition", "offset", "timestamp", "headers", NULL};

bool log_is_upsert(const wr_table_info *t) { return wr_str_eq(option_text(t, log_specs, "connector"), WR_STR("upsert-log")); }
bool log_exactly_once(const wr_table_info *t) { return wr_str_ieq(option_text(t, log_specs, "sink.delivery-guarantee"), WR_STR("exactly-once")); }

const char *log_table_path(const wr_table_info *t, wr_arena *arena) {
    wr_str path = option_text(t, log_specs, "path");
    while (path.len > 1 && path.ptr[path.len - 1] == '/') path.len--;
    return wr_arena_strndup(arena, path.ptr, path.len);
}

wr_str log_producer_name(const wr_table_info *t) {
    wr_str name = option_text(t, log_specs, "sink.transactional-id-prefix");
    return name.len ? name : t->name;
}

static bool given(const wr_table_info *t, const char *key) { return wr_options_find(&t->options, key) != NULL; }

bool log_table_config(const wr_table_info *t, wr_connect_ctx *ctx, wr_log_config *config) {
    const wr_option_spec *specs = log_is_upsert(t) ? upsert_specs : log_specs;
    int64_t partitions, segment, size = 0;
    wr_log_config_default(config);
    if (!wr_option_int(&t->options, specs, "log.partitions", &partitions, ctx->diags) || !wr_option_size(&t->options, specs, "log.segment-size", &segment, ctx->diags) ||
        !wr_option_duration(&t->options, specs, "log.tombstone-retention", &config->tombstone_us, ctx->diags) ||
        (given(t, "log.retention") && !wr_option_duration(&t->options, specs, "log.retention", &config->retention_us, ctx->diags)) ||
        (given(t, "log.retention-size") && !wr_option_size(&t->options, specs, "log.retention-size", &size, ctx->diags))) return false;
    if (partitions < 1 || partitions > WR_LOG_PARTITIONS_MAX) return option_error(ctx, t, "log.partitions", "WR121", "a log has 1 to %d partitions", WR_LOG_PARTITIONS_MAX), false;
    wr_str cleanup = option_text(t, specs, "log.cleanup");
    config->partitions = (uint32_t)partitions;
    config->segment_bytes = (uint64_t)segment;
    config->retention_bytes = (uint64_t)size;
    config->cleanup = wr_str_ieq(cleanup, WR_STR("compact")) ? WR_LOG_COMPACT : wr_str_ieq(cleanup, WR_STR("delete")) ? WR_LOG_DELETE : WR_LOG_COMPACT | WR_LOG_DELETE;
    config->zstd = wr_str_ieq(option_text(t, specs, "log.compression"), WR_STR("zstd"));
    return true;
}

static wr_sink_takes takes(const wr_table_info *t) {
    const wr_format *f = wr_format_find(option_text(t, wr_record_specs, given(t, "value.format") ? "value.format" : "format"));
    return f && f->changes == WR_FORMAT_RETRACT ? WR_SINK_ALL : f && f->changes == WR_FORMAT_UPSERT ? WR_SINK_UPSERT : WR_SINK_APPEND;
}
static wr_sink_takes upsert_takes(const wr_table_info *t) { return (void)t, WR_SINK_UPSERT; }
static wr_guarantee  guarantee(const wr_table_info *t) { return log_exactly_once(t) ? WR_EXACTLY_ONCE : WR_AT_LEAST_ONCE; }
static wr_guarantee  upsert_guarantee(const wr_table_info *t) { return log_exactly_once(t) ? WR_EXACTLY_ONCE : WR_IDEMPOTENT; }
static bool          bounded(const wr_table_info *t) { return !wr_str_ieq(option_text(t, log_specs, "scan.bounded.mode"), WR_STR("unbounded")); }

/* Another number when something was appended. */
static wr_status version(const wr_table_info *t, wr_connect_ctx *ctx, uint64_t *out, wr_err *err) {
    wr_log_view *view;
    WR_TRY(wr_log_view_open(ctx->world, log_table_path(t, ctx->arena), &view, err));
    *out = wr_log_view_config(view)->id;
    for (uint32_t p = 0; p < wr_log_view_config(view)->partitions; p++) *out = wr_hash_mix(*out, (uint64_t)wr_log_view_end(view, p));
    wr_log_view_close(view);
    return WR_OK;
}

/* ---- weir doctor ---- */

static void probe_view(const wr_table_info *t, const char *path, wr_log_view *view, wr_probe_ctx *ctx) {
    const wr_log_config *config = wr_log_view_config(view);
    wr_err  err = {0};
    int64_t n = 0;
    for (uint32_t p = 0; p < config->partitions; p++) {
        wr_log_stat stat;
        if (wr_log_view_stat(view, p, &stat, &err) != WR_OK) {
            wr_find_err(ctx->out, "log", &err);
            return;
        }
        n += stat.end - stat.start;
    }
    wr_find(ctx->out, WR_FOUND_FINE, "log", "%u partition%s, %lld records", config->partitions, config->partitions == 1 ? "" : "s", (long long)n);
    wr_log_pending pending;
    if (!wr_log_view_pending(view, &pending) || (ctx->role == WR_ROLE_SINK && wr_str_eq(pending.producer, log_producer_name(t)))) return;
    wr_find(ctx->out, ctx->role == WR_ROLE_SINK ? WR_FOUND_FAULT : WR_FOUND_NOTE, "epoch", "rows of '%.*s' (epoch %llu) are neither committed nor dropped", WR_FMT(pending.producer), (unsigned long long)pending.epoch);
    wr_find_todo(ctx->out, "start that job again, or give its rows up: weir log drop %s", path);
}

static void probe_retention(const wr_table_info *t, const char *path, const wr_log_config *config, wr_probe_ctx *ctx) {
    const wr_probe_kept kept = {path, config->retention_us ? (double)config->retention_us : -1, config->retention_bytes ? (double)config->retention_bytes : -1, config->partitions, "log.retention", "log.retention-size"};
    double  set_us, set_bytes;
    if (!(config->cleanup & WR_LOG_DELETE) || wr_probe_kept_enough(t, &kept, ctx, &set_us, &set_bytes)) return;
    wr_sbuf change = {0};
    if (set_us >= 0) wr_sbuf_printf(&change, " --retention %.0fs", ceil(set_us / 1e6));
    if (set_bytes >= 0) wr_sbuf_printf(&change, " --retention-size %.0fMiB", ceil(set_bytes / (1 << 20)));
    wr_find_todo(ctx->out, "what a log keeps is said when it is made: weir log create NEW%s, and write there; or keep savepoints", change.at);
    wr_sbuf_free(&change);
}

static void probe(const wr_table_info *t, wr_probe_ctx *ctx) {
    wr_world   *world = ctx->connect->world;
    const char *path = log_table_path(t, ctx->connect->arena);
    wr_err      err = {0};
    bool        exists = false;
    wr_log_view *view = NULL;
    wr_status   status = wr_log_exists(world, path, &exists, &err);
    if (status == WR_OK && exists) status = wr_log_view_open(world, path, &view, &err);
    if (status != WR_OK) {
        wr_find_err(ctx->out, "log", &err);
        return;
    }
    if (view) {
        probe_view(t, path, view, ctx);
        if (ctx->role == WR_ROLE_SOURCE) probe_retention(t, path, wr_log_view_config(view), ctx);
        wr_log_view_close(view);
    } else if (ctx->role != WR_ROLE_SINK) {
        wr_find(ctx->out, WR_FOUND_FAULT, "log", "there is no log at '%s'", path);
        wr_find_todo(ctx->out, "weir log create %s, or check 'path'; relative paths start at the working directory", path);
    }
    if (ctx->role == WR_ROLE_SINK) wr_probe_writable_dir(world, path, "directory", ctx->out);
}

const wr_connector wr_connector_log = {.name = "log", .doc = "an append-only log in a directory: partitions, offsets, retention; what there is without Kafka", .specs = log_specs, .records = true,
                                       .metadata = log_metadata, .source_new = log_source_new, .sink_new = log_sink_new, .takes = takes, .guarantee = guarantee, .bounded = bounded,
                                       .version = version, .probe = probe, .lag_known = WR_LAG_ROWS};
const wr_connector wr_connector_upsert_log = {.name = "upsert-log", .doc = "a log as a table: the key says which row a record replaces or deletes; compacted", .specs = upsert_specs, .records = true,
                                              .upsert = true, .metadata = log_metadata, .source_new = log_source_new, .sink_new = log_sink_new, .takes = upsert_takes,
                                              .guarantee = upsert_guarantee, .bounded = bounded, .version = version, .probe = probe};
