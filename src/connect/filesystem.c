/* connect/filesystem.c: the connector 'filesystem': what it can do and its options; the work is in file_source.c and file_sink.c.   */
#include "base/hash.h"
#include "connect/parts.h"
#include "connect/probe.h"

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

/* ---- weir doctor ---- */

/* The first byte, as reading would ask for it: rights alone do not say that a disk answers. */
static bool readable(wr_world *w, const file_entry *f, wr_err *err) {
    wr_file *file;
    char     byte;
    size_t   got;
    if (w->vt->file_open(w, f->path, WR_OPEN_READ, &file, err) != WR_OK) return false;
    wr_status s = w->vt->file_pread(w, file, &byte, 1, 0, &got, err);
    w->vt->file_close(w, file);
    return s == WR_OK;
}

static void probe_input(const wr_table_info *t, wr_probe_ctx *ctx) {
    enum { TRIED_MAX = 1000 };
    wr_world *w = ctx->connect->world;
    file_list found = {0};
    wr_err    err = {0}, first = {0};
    uint32_t  refused = 0;
    uint64_t  bytes = 0;
    bool      tail = ctx->role == WR_ROLE_SOURCE && file_is_tail(t);
    if (file_list_find(w, option_text(t, specs, "path"), !tail, &found, &err) != WR_OK) {
        wr_find_err(ctx->out, "files", &err);
    } else if (!found.list.n) {
        wr_find(ctx->out, WR_FOUND_WARNING, "files", "there is no file '%.*s' yet; the job waits for it", WR_FMT(option_text(t, specs, "path")));
        wr_find_todo(ctx->out, "if it should be there: check 'path'; relative paths start at the working directory");
    } else {
        for (uint32_t i = 0; i < found.list.n; i++) {
            bytes += found.list.at[i].info.size_bytes;
            if (i < TRIED_MAX && !readable(w, &found.list.at[i], &err) && !refused++) first = err;
        }
        wr_sbuf size = {0};
        wr_text_size((int64_t)bytes, &size);
        if (refused) {
            wr_find_err(ctx->out, "files", &first);
            if (refused > 1) wr_find(ctx->out, WR_FOUND_NOTE, "files", "%u of %u files cannot be read", refused, found.list.n);
        } else {
            wr_find(ctx->out, WR_FOUND_FINE, "files", "%u file%s, %s, can be read", found.list.n, found.list.n == 1 ? "" : "s", size.at);
        }
        wr_sbuf_free(&size);
    }
    file_list_free(&found);
}

static void probe_output(const wr_table_info *t, wr_probe_ctx *ctx) {
    wr_world    *w = ctx->connect->world;
    wr_err       err = {0};
    wr_file_info info = {0};
    bool         there = false, slash, directory;
    wr_str       path = file_plain_path(option_text(t, specs, "path"), &slash), mode = wr_option_string(&t->options, specs, "sink.if-exists");
    const char *z = wr_arena_strndup(ctx->connect->arena, path.ptr, path.len);
    if (w->vt->stat(w, z, &info, &there, &err) != WR_OK) {
        wr_find_err(ctx->out, "output", &err);
        return;
    }
    wr_str name = path_name(path), above = path_dir(path);
    directory = there ? info.is_dir : slash || !memchr(name.ptr, '.', name.len);
    if (!directory && there && wr_str_ieq(mode, WR_STR("fail"))) {
        wr_find(ctx->out, WR_FOUND_FAULT, "output", "the file '%s' exists, and 'sink.if-exists' is 'fail'", z);
        wr_find_todo(ctx->out, "move it away, or 'sink.if-exists' = 'append' or 'overwrite'");
    } else if (!directory && there && wr_path_refused(z, true)) {
        wr_find(ctx->out, WR_FOUND_FAULT, "output", "cannot write the file '%s': %s", z, wr_path_refused(z, true));
        wr_find_todo(ctx->out, "chown or chmod '%s'", z);
    } else {
        wr_probe_writable_dir(w, directory ? z : wr_arena_strndup(ctx->connect->arena, above.ptr, above.len), "output", ctx->out);
    }
}

static void probe(const wr_table_info *t, wr_probe_ctx *ctx) {
    if (ctx->role == WR_ROLE_SINK) probe_output(t, ctx);
    else probe_input(t, ctx);
}

const wr_connector wr_connector_filesystem = {
    .name = "filesystem", .doc = "files: JSON or CSV lines, changelogs, raw lines; read to the end or followed; written exactly once", .specs = specs,
    .needs_format = true, .metadata = metadata, .source_new = file_source_new, .sink_new = file_sink_new, .output = file_output, .takes = takes, .guarantee = guarantee, .bounded = bounded, .version = version, .probe = probe, .lag_known = WR_LAG_BYTES};
