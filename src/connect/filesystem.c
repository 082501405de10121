/* connect/filesystem.c: the connector 'filesystem': what it can do and its options; the work is in file_source.c and file_sink.c.   */
#include "base/hash.h"
#include "connect/parts.h"

static const wr_option_spec specs[] = {
    {"path", "path", NULL, true, "a file, a glob, a directory, or several with commas; gzip and zstd are recognised by their first bytes"},
    {"source.mode", "enum:bounded|tail", NULL, false, "bounded: what is there now (the default); tail: also what comes"},
    {"source.monitor-interval", "duration", "200 ms", false, "how often tail looks for new files and bytes; given without source.mode it means tail"},
    {"envelope", "enum:auto|none|kafka", "auto", false, "kafka: lines are {partition, offset, key, value}; auto: if the path has .kafka.jsonl in it"},
    {"sink.if-exists", "enum:overwrite|append|fail", "overwrite", false, "what a fresh job does with a file that is there"},
    {"sink.rolling-policy.file-size", "size", "128 MB", false, "directory: begin a new part file at this size"},
    {0}};

static const char *const metadata[] = {"file.path", "file.name", "file.size", "file.modification-time", NULL};

static wr_sink_takes takes(const wr_table_info *t) {
    return wr_str_eq(wr_option_string(&t->options, specs, "format"), WR_STR("debezium-json")) ? WR_SINK_ALL : WR_SINK_APPEND;
}
static wr_guarantee guarantee(const wr_table_info *t) { return (void)t, WR_EXACTLY_ONCE; }
static bool bounded(const wr_table_info *t) { return !file_is_tail(t); }

/* Of names, sizes, times and places of the files that there are now. */
static wr_status version(const wr_table_info *t, wr_connect_ctx *ctx, uint64_t *out, wr_err *err) {
    file_list found = {0};
    wr_sbuf   text = {0};
    wr_status s = file_list_find(ctx->world, option_text(t, specs, "path"), true, &found, err);
    for (uint32_t i = 0; i < found.list.n && s == WR_OK; i++) {
        const wr_file_info *f = &found.list.at[i].info;
        wr_sbuf_printf(&text, "%s %llu %llu %lld\n", found.list.at[i].path, (unsigned long long)f->inode, (unsigned long long)f->size_bytes, (long long)f->mtime_us);
    }
    *out = wr_hash_bytes(text.at ? text.at : "", text.len);
    wr_sbuf_free(&text);
    file_list_free(&found);
    return s;
}

const wr_connector wr_connector_filesystem = {
    .name = "filesystem", .doc = "files: JSON or CSV lines, changelogs, raw lines; read to the end or followed; written exactly once", .specs = specs,
    .needs_format = true, .metadata = metadata, .source_new = file_source_new, .sink_new = file_sink_new, .output = file_output, .takes = takes, .guarantee = guarantee, .bounded = bounded, .version = version};
