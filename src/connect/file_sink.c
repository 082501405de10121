/* connect/file_sink.c: the sink of 'filesystem': one file, or part files in a directory.
 *
 * Idea       one file: prepare syncs it and its name and stages the file's length; recovery cuts the file back to it. Directory: rows go to hidden
 *            files; prepare syncs them and stages their names; commit renames them, which makes them visible all at once or not at all.
 * Invariant  after recover(epoch) exactly the rows of the epochs up to it are visible.
 * Fresh      a job that starts anew overwrites the file by default ('sink.if-exists'); in a directory it only adds files.
 * Bounds     1 MiB of encoded rows is held back, charged to the account.
 * Thread     one worker.                                                                                               */
#include "connect/parts.h"

enum { BUFFER_BYTES = 1 << 20 };

typedef struct pending { char *hidden, *final; } pending; /* whole paths */

typedef struct file_sink {
    wr_sink     base;
    wr_world   *world;
    wr_account *acct;
    wr_str      table;
    char       *path;
    bool        named;           /* one file: its name is synced, a power failure does not take it away */
    bool        directory, append, staging; /* staging: there are checkpoints (recover or prepare was called), so what is not prepared will be read again */
    wr_encoder *encoder;
    wr_sbuf     buffer;
    int64_t     charged;
    wr_file    *file;
    uint64_t    length, roll_bytes;
    char        run[20], ext[16];
    uint32_t    n_parts;
    pending     current;         /* directory: the hidden file being written */
    WR_ARR(pending) ready;       /* directory: synced, not yet renamed */
} file_sink;

static wr_status explain(file_sink *s, wr_status status, wr_err *err) {
    if (status != WR_OK && err && !err->detail[0]) wr_err_detail(err, "it is the output of the table '%.*s'", WR_FMT(s->table));
    return status;
}

static void sink_charge(file_sink *s) {
    if (s->acct && (int64_t)s->buffer.cap != s->charged) wr_account_add(s->acct, (int64_t)s->buffer.cap - s->charged);
    s->charged = (int64_t)s->buffer.cap;
}

/* Opens what rows are written to. `length`: cut the single file to that; UINT64_MAX: by sink.if-exists. */
static wr_status begin(file_sink *s, uint64_t length, wr_err *err) {
    const wr_world_vt *vt = s->world->vt;
    if (s->file) return WR_OK;
    if (!s->directory) {
        wr_str  dir = path_dir(wr_str_of(s->path));
        wr_sbuf text = {0};
        wr_sbuf_add_str(&text, dir);
        wr_status made = vt->make_dirs(s->world, text.at, err);
        wr_sbuf_free(&text);
        WR_TRY(made);
        WR_TRY(vt->file_open(s->world, s->path, WR_OPEN_WRITE | WR_OPEN_CREATE | WR_OPEN_APPEND, &s->file, err));
        wr_file_info info;
        WR_TRY(vt->file_info(s->world, s->file, &info, err));
        s->length = info.size_bytes;
        if (length == UINT64_MAX) length = s->append ? info.size_bytes : 0;
        if (length > info.size_bytes)
            return wr_fail(err, WR_DATA, "55000", "'%s' has %llu bytes, but %llu were written before the checkpoint", s->path, (unsigned long long)info.size_bytes, (unsigned long long)length);
        if (length < info.size_bytes) WR_TRY(vt->file_truncate(s->world, s->file, length, err));
        s->length = length;
        return WR_OK;
    }
    WR_TRY(vt->make_dirs(s->world, s->path, err));
    wr_sbuf hidden = {0}, final = {0};
    wr_sbuf_printf(&final, "%s/part-%s-%06u%s", s->path, s->run, s->n_parts, s->ext);
    wr_sbuf_printf(&hidden, "%s/.part-%.*s-%s-%06u.inprogress", s->path, WR_FMT(s->table), s->run, s->n_parts);
    s->n_parts++;
    s->current = (pending){hidden.at, final.at};
    s->length = 0;
    return vt->file_open(s->world, hidden.at, WR_OPEN_WRITE | WR_OPEN_CREATE | WR_OPEN_TRUNCATE, &s->file, err);
}

static wr_status write_out(file_sink *s, wr_err *err) {
    if (!s->buffer.len) return WR_OK;
    WR_TRY(begin(s, UINT64_MAX, err));
    WR_TRY(s->world->vt->file_write(s->world, s->file, s->buffer.at, s->buffer.len, err));
    s->length += s->buffer.len;
    wr_sbuf_clear(&s->buffer);
    return WR_OK;
}

/* One file: content and name are on disk. */
static wr_status sync_file(file_sink *s, wr_err *err) {
    WR_TRY(s->world->vt->file_sync(s->world, s->file, err));
    if (s->named) return WR_OK;
    wr_sbuf dir = {0};
    wr_sbuf_add_str(&dir, path_dir(wr_str_of(s->path)));
    wr_status status = s->world->vt->sync_dir(s->world, dir.at, err);
    wr_sbuf_free(&dir);
    s->named = status == WR_OK;
    return status;
}

/* Directory: the file being written is complete; it waits for commit. */
static wr_status finish_part(file_sink *s, wr_err *err) {
    if (!s->file) return WR_OK;
    WR_TRY(s->world->vt->file_sync(s->world, s->file, err));
    s->world->vt->file_close(s->world, s->file);
    s->file = NULL;
    wr_arr_push(&s->ready, s->current);
    s->current = (pending){0};
    return WR_OK;
}

static wr_status show(file_sink *s, const char *hidden, const char *final, wr_err *err) {
    wr_file_info info;
    bool         exists;
    WR_TRY(s->world->vt->stat(s->world, hidden, &info, &exists, err));
    return exists ? s->world->vt->rename(s->world, hidden, final, err) : WR_OK; /* else it was renamed before */
}

static wr_status show_ready(file_sink *s, wr_err *err) {
    if (!s->ready.n) return WR_OK;
    for (uint32_t i = 0; i < s->ready.n; i++) WR_TRY(show(s, s->ready.at[i].hidden, s->ready.at[i].final, err));
    for (uint32_t i = 0; i < s->ready.n; i++) wr_free(s->ready.at[i].hidden), wr_free(s->ready.at[i].final);
    s->ready.n = 0;
    return s->world->vt->sync_dir(s->world, s->path, err);
}

static wr_status sink_write(wr_sink *base, const wr_batch *batch, wr_err *err) {
    file_sink *s = (file_sink *)base;
    s->encoder->encode(s->encoder, batch, 0, wr_batch_live(batch), &s->buffer);
    if (s->encoder->failed != WR_OK) {
        if (err) *err = s->encoder->err;
        return s->encoder->failed;
    }
    sink_charge(s);
    if (s->buffer.len < BUFFER_BYTES) return WR_OK;
    WR_TRY(explain(s, write_out(s, err), err));
    return s->directory && s->length >= s->roll_bytes ? explain(s, finish_part(s, err), err) : WR_OK;
}

static wr_status sink_flush(wr_sink *base, wr_err *err) {
    file_sink *s = (file_sink *)base;
    WR_TRY(explain(s, write_out(s, err), err));
    if (!s->directory) return WR_OK;
    if (s->file && s->length >= s->roll_bytes) WR_TRY(explain(s, finish_part(s, err), err));
    return explain(s, show_ready(s, err), err);
}

static wr_status sink_prepare(wr_sink *base, uint64_t epoch, wr_sbuf *staged, wr_err *err) {
    file_sink *s = (file_sink *)base;
    (void)epoch;
    s->staging = true;
    WR_TRY(explain(s, write_out(s, err), err));
    if (!s->directory) {
        WR_TRY(explain(s, begin(s, UINT64_MAX, err), err));
        WR_TRY(explain(s, sync_file(s, err), err));
        wr_put_u64(staged, s->length);
        return WR_OK;
    }
    WR_TRY(explain(s, finish_part(s, err), err));
    if (s->ready.n) WR_TRY(explain(s, s->world->vt->sync_dir(s->world, s->path, err), err)); /* a hidden file that is gone would pass for one that was shown */
    wr_put_u32(staged, s->ready.n);
    for (uint32_t i = 0; i < s->ready.n; i++) {
        wr_put_bytes(staged, s->ready.at[i].hidden, strlen(s->ready.at[i].hidden));
        wr_put_bytes(staged, s->ready.at[i].final, strlen(s->ready.at[i].final));
    }
    return WR_OK;
}

/* Renames the staged files that are still hidden; forgets those of `ready` that are among them. */
static wr_status sink_commit(wr_sink *base, uint64_t epoch, wr_str staged, wr_err *err) {
    file_sink *s = (file_sink *)base;
    (void)epoch;
    if (!s->directory) return WR_OK;
    wr_reader in = {(const uint8_t *)staged.ptr, (const uint8_t *)staged.ptr + staged.len, false};
    uint32_t  n = wr_get_u32(&in);
    for (uint32_t i = 0; i < n && !in.bad; i++) {
        wr_str    hidden = wr_get_bytes(&in), final = wr_get_bytes(&in);
        wr_sbuf   a = {0}, b = {0};
        wr_sbuf_add_str(&a, hidden);
        wr_sbuf_add_str(&b, final);
        wr_status status = in.bad ? wr_fail(err, WR_CORRUPT, "XX001", "the staged file names of '%s' are damaged", s->path) : show(s, a.at, b.at, err);
        for (uint32_t k = 0; k < s->ready.n; k++) {
            if (!a.at || strcmp(s->ready.at[k].hidden, a.at)) continue;
            wr_free(s->ready.at[k].hidden), wr_free(s->ready.at[k].final);
            s->ready.at[k] = s->ready.at[--s->ready.n];
            break;
        }
        wr_sbuf_free(&a);
        wr_sbuf_free(&b);
        WR_TRY(explain(s, status, err));
    }
    return n ? explain(s, s->world->vt->sync_dir(s->world, s->path, err), err) : WR_OK;
}

/* Hidden files of this table that no epoch owns. */
static wr_status remove_orphans(file_sink *s, wr_err *err) {
    wr_file_info *names, info;
    size_t        n;
    bool          exists;
    WR_TRY(s->world->vt->stat(s->world, s->path, &info, &exists, err));
    if (!exists) return WR_OK;
    WR_TRY(s->world->vt->list(s->world, s->path, &names, &n, err));
    wr_sbuf   prefix = {0}, path = {0};
    wr_status status = WR_OK;
    wr_sbuf_printf(&prefix, ".part-%.*s-", WR_FMT(s->table));
    for (size_t i = 0; i < n && status == WR_OK; i++) {
        wr_str name = wr_str_of(names[i].name);
        if (!wr_str_starts(name, wr_sbuf_str(&prefix)) || name.len < 11 || memcmp(name.ptr + name.len - 11, ".inprogress", 11)) continue;
        wr_sbuf_clear(&path);
        wr_sbuf_printf(&path, "%s/%s", s->path, names[i].name);
        status = s->world->vt->remove(s->world, path.at, err);
    }
    wr_sbuf_free(&prefix);
    wr_sbuf_free(&path);
    wr_free(names);
    return status;
}

static wr_status sink_recover(wr_sink *base, uint64_t epoch, wr_str staged, wr_err *err) {
    file_sink *s = (file_sink *)base;
    s->staging = true;
    if (!staged.len) epoch = 0; /* the sink was not there at the checkpoint */
    if (s->directory) {
        if (epoch) WR_TRY(sink_commit(base, epoch, staged, err));
        return explain(s, remove_orphans(s, err), err);
    }
    if (!epoch) return explain(s, begin(s, UINT64_MAX, err), err);
    wr_reader in = {(const uint8_t *)staged.ptr, (const uint8_t *)staged.ptr + staged.len, false};
    uint64_t  length = wr_get_u64(&in);
    if (in.bad) return wr_fail(err, WR_CORRUPT, "XX001", "the staged length of '%s' is damaged", s->path);
    return explain(s, begin(s, length, err), err);
}

static wr_status sink_close(wr_sink *base, bool ok, wr_err *err) {
    file_sink *s = (file_sink *)base;
    wr_status  status = WR_OK;
    if (ok) {
        status = write_out(s, err);
        if (status == WR_OK && !s->directory) status = begin(s, UINT64_MAX, err); /* no rows: an empty file says so */
        if (status == WR_OK && s->file && !s->directory) status = sync_file(s, err);
        if (status == WR_OK && s->directory && !s->staging) status = finish_part(s, err);
        if (status == WR_OK && s->directory && !s->staging) status = show_ready(s, err);
        explain(s, status, err);
    }
    if (s->file) s->world->vt->file_close(s->world, s->file);
    for (uint32_t i = 0; i < s->ready.n; i++) wr_free(s->ready.at[i].hidden), wr_free(s->ready.at[i].final);
    wr_arr_free(&s->ready);
    wr_free(s->current.hidden);
    wr_free(s->current.final);
    if (s->encoder) s->encoder->free(s->encoder);
    wr_sbuf_free(&s->buffer);
    sink_charge(s);
    wr_free(s->path);
    wr_free(s);
    return status;
}

static const wr_sink_vt sink_vt = {.name = "filesystem", .write = sink_write, .flush = sink_flush, .prepare = sink_prepare, .commit = sink_commit, .recover = sink_recover, .close = sink_close};

wr_str file_plain_path(wr_str path, bool *slash) {
    if (wr_str_starts(path, WR_STR("file://"))) path.ptr += 7, path.len -= 7;
    *slash = path.len > 1 && path.ptr[path.len - 1] == '/';
    while (path.len > 1 && path.ptr[path.len - 1] == '/') path.len--;
    return path;
}

/* The new version takes the place of the whole file or directory: rows of others in it would be lost. */
wr_status file_output(const wr_table_info *t, wr_connect_ctx *ctx, wr_output *out, wr_err *err) {
    const wr_option_spec *specs = wr_connector_filesystem.specs;
    bool slash;
    (void)err;
    if (wr_str_ieq(wr_option_string(&t->options, specs, "sink.if-exists"), WR_STR("append")))
        return option_error(ctx, t, "sink.if-exists", "WR322", "rows are appended to what is in the file already; a new version of it would be without that");
    *out = (wr_output){.sink = t->name, .path = wr_str_dup(ctx->arena, file_plain_path(option_text(t, specs, "path"), &slash))};
    return WR_OK;
}

wr_status file_sink_new(const wr_table_info *t, wr_connect_ctx *ctx, wr_sink **out, wr_err *err) {
    const wr_option_spec *specs = wr_connector_filesystem.specs;
    *out = NULL;
    const wr_format *format = table_format(t, ctx);
    if (!format) return WR_USER;
    if (!format->can_write) return option_error(ctx, t, "format", "WR125", "the format '%s' can only be read", format->name);
    bool   slash;
    wr_str path = file_plain_path(option_text(t, specs, "path"), &slash), name, exists_mode = wr_option_string(&t->options, specs, "sink.if-exists");
    int64_t roll;
    if (!wr_option_size(&t->options, specs, "sink.rolling-policy.file-size", &roll, ctx->diags)) return WR_USER;
    wr_encoder *encoder;
    wr_encoder_opts opts = {.schema = t->schema, .options = t->options, .tz = ctx->tz, .world = ctx->world, .stream = true};
    if (format->encoder_new(&opts, &encoder, ctx->diags) != WR_OK) return WR_USER;
    file_sink *s = wr_calloc(1, sizeof *s);
    *s = (file_sink){.base = {&sink_vt}, .world = ctx->world, .acct = ctx->acct, .table = t->name, .encoder = encoder, .roll_bytes = (uint64_t)WR_MAX(roll, 1)};
    s->path = wr_calloc(path.len + 1, 1);
    memcpy(s->path, path.ptr, path.len);
    name = path_name(path);
    wr_file_info info;
    bool         there = false; /* a stat that fails says nothing */
    wr_status    status = ctx->world->vt->stat(ctx->world, s->path, &info, &there, err);
    s->directory = there ? info.is_dir : !ctx->one_file && (slash || !memchr(name.ptr, '.', name.len));
    s->append = wr_str_ieq(exists_mode, WR_STR("append"));
    if (ctx->next_version) {
        wr_sbuf next = {0};
        output_sibling(path, ".next", &next);
        wr_free(s->path);
        s->path = next.at;
    }
    if (status == WR_OK && there && !ctx->next_version && !s->directory && wr_str_ieq(exists_mode, WR_STR("fail")))
        status = option_error(ctx, t, "path", "WR127", "the file '%s' exists, and 'sink.if-exists' is 'fail'", s->path);
    wr_sbuf run = {.max = sizeof s->run - 1}, ext = {.max = sizeof s->ext - 1};
    wr_sbuf_printf(&run, "%08llx", (unsigned long long)(ctx->world->vt->random(ctx->world) & 0xFFFFFFFF));
    wr_sbuf_addz(&ext, !strcmp(format->name, "csv") ? ".csv" : !strcmp(format->name, "raw") ? ".txt" : ".jsonl");
    memcpy(s->run, run.at, run.len);
    memcpy(s->ext, ext.at, ext.len);
    wr_sbuf_free(&run);
    wr_sbuf_free(&ext);
    if (status != WR_OK) {
        sink_close(&s->base, false, NULL);
        return status;
    }
    *out = &s->base;
    return WR_OK;
}
