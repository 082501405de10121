/* connect/redis/sink.c: the sink of 'redis-streams': a row is an entry that is added to a stream, exactly once.
 *
 * Idea       entries are kept as lists of fields. prepare hands them to the checkpoint as staged bytes; commit adds them in one MULTI ... EXEC together with the
 *            epoch's number in the key weir:epoch:JOB:TABLE, so doing it again, after a lost connection or a crash, does nothing.
 * Invariant  the number in the key = E  <=>  the entries of all epochs up to E are in the stream, as far as the server's disk is to be trusted
 *            (appendfsync always; with everysec its last second may be lost, both together).
 * Trouble    EXEC does not undo: a command that fails leaves the others done. What can make XADD fail there is another type of the key, looked at before; want of
 *            memory is refused while the commands queue, and nothing is done then.
 * Fresh      a job that begins anew removes the number of an earlier one before its first epoch: a crash in it, or an answer that is lost, finds none but its own.
 * State      the entries since the last prepare or flush, charged to the account.
 * Thread     one worker; the connection is its own.                                                                                       */
#include "connect/messages.h"
#include "connect/redis/lib.h"
#include "connect/staged.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { PIPELINE = 4096 };

typedef struct redis_sink {
    staged_sink       base;       /* its log: entries: u32 fields * 2, then their bytes */
    redis_conn        conn;
    redis_layout      layout;
    wr_record_format  format;
    message_columns   columns;
    wr_record_writer *writer;     /* with 'value.field' */
    const wr_tz      *tz;
    wr_str            stream, epoch_key;
    char              max_len[24]; /* "" none */
    const wr_batch   *batch;      /* being written */
    redis_args        args;
    wr_sbuf           text;
} redis_sink;

/* ---- rows to entries ---- */

static void put_headers(redis_sink *s, uint32_t row, uint32_t *n) {
    if (s->columns.headers < 0) return;
    const wr_vec *vec = &s->batch->cols[s->columns.headers];
    if (wr_vec_is_null(vec, row)) return;
    wr_list list = ((const wr_list *)vec->data)[row];
    for (uint32_t i = list.offset; i < list.offset + list.len; i++) {
        if (wr_vec_is_null(&vec->kids[1], i)) continue;
        wr_str name = wr_sview_str(&((const wr_sview *)vec->kids[0].data)[i]), value = wr_sview_str(&((const wr_sview *)vec->kids[1].data)[i]);
        wr_put_bytes(&s->base.log.bytes, name.ptr, name.len);
        wr_put_bytes(&s->base.log.bytes, value.ptr, value.len);
        *n += 2;
    }
}

static wr_status put_record(void *self, wr_str key, wr_str value, uint32_t row, wr_err *err) {
    redis_sink *s = self;
    size_t      at = s->base.log.bytes.len;
    uint32_t    n = 0;
    (void)err;
    wr_put_u32(&s->base.log.bytes, 0);
    if (key.ptr) {
        wr_put_bytes(&s->base.log.bytes, s->layout.key.ptr, s->layout.key.len), wr_put_bytes(&s->base.log.bytes, key.ptr, key.len);
        n += 2;
    }
    if (value.ptr) {
        wr_put_bytes(&s->base.log.bytes, s->layout.value.ptr, s->layout.value.len), wr_put_bytes(&s->base.log.bytes, value.ptr, value.len);
        n += 2;
    }
    put_headers(s, row, &n);
    memcpy(s->base.log.bytes.at + at, &n, sizeof n);
    return WR_OK;
}

/* NULL is a field that is not there. */
static void put_columns(redis_sink *s, const wr_batch *batch, uint32_t row) {
    size_t   at = s->base.log.bytes.len;
    uint32_t n = 0;
    wr_put_u32(&s->base.log.bytes, 0);
    for (uint32_t c = 0; c < s->columns.stored.n; c++) {
        const wr_vec *vec = &batch->cols[s->columns.columns[c]];
        wr_str        name = s->columns.stored.fields[c].name;
        if (wr_vec_is_null(vec, row)) continue;
        wr_sbuf_clear(&s->text);
        wr_vec_text(vec, row, s->tz, &s->text);
        wr_put_bytes(&s->base.log.bytes, name.ptr, name.len);
        wr_put_bytes(&s->base.log.bytes, s->text.at, s->text.len);
        n += 2;
    }
    memcpy(s->base.log.bytes.at + at, &n, sizeof n);
}

/* ---- sending ---- */

static wr_status take_answers(redis_sink *s, uint32_t n, wr_err *err) {
    redisReply *r;
    for (; n; n--) {
        WR_TRY(redis_answer(&s->conn, "add an entry", &r, err));
        redis.free_reply(r);
    }
    return WR_OK;
}

/* Every entry of the log as XADD; answers are taken in pieces, so that neither side has to keep them all. */
static wr_status send_entries(redis_sink *s, wr_str log, wr_err *err) {
    wr_reader in = {(const uint8_t *)log.ptr, (const uint8_t *)log.ptr + log.len, false};
    uint32_t  on_way = 0;
    while (in.at < in.end) {
        uint32_t n = wr_get_u32(&in);
        redis_begin(&s->args, "XADD");
        redis_arg(&s->args, s->stream);
        if (s->max_len[0]) redis_arg(&s->args, WR_STR("MAXLEN")), redis_arg(&s->args, WR_STR("~")), redis_arg(&s->args, wr_str_of(s->max_len));
        redis_arg(&s->args, WR_STR("*"));
        for (uint32_t i = 0; i < n && !in.bad; i++) redis_arg(&s->args, wr_get_bytes(&in));
        if (!n) redis_arg(&s->args, WR_STR("")), redis_arg(&s->args, WR_STR("")); /* a row of NULLs: an entry must have a field */
        if (in.bad) return staged_damaged(&s->base, err);
        WR_TRY(redis_send(&s->conn, &s->args, err));
        if (++on_way < PIPELINE) continue;
        WR_TRY(take_answers(s, on_way, err));
        on_way = 0;
    }
    return take_answers(s, on_way, err);
}

static wr_status stored_epoch(redis_sink *s, uint64_t *out, wr_err *err) {
    redisReply *r;
    char        key[600];
    snprintf(key, sizeof key, "%.*s", WR_FMT(s->epoch_key));
    WR_TRY(redis_call(&s->conn, "read the epoch", &r, err, "GET", key, NULL));
    *out = r->type == REDIS_REPLY_STRING ? strtoull(r->str, NULL, 10) : 0;
    redis.free_reply(r);
    return WR_OK;
}

static wr_status forget_epoch(redis_sink *s, wr_err *err) {
    redisReply *r;
    char        key[600];
    snprintf(key, sizeof key, "%.*s", WR_FMT(s->epoch_key));
    WR_TRY(redis_connect(&s->conn, err));
    WR_TRY(redis_call(&s->conn, "forget the epoch of an earlier job", &r, err, "DEL", key, NULL));
    redis.free_reply(r);
    return WR_OK;
}

static wr_status check_type(redis_sink *s, wr_err *err) {
    redisReply *r;
    char        key[600];
    snprintf(key, sizeof key, "%.*s", WR_FMT(s->stream));
    WR_TRY(redis_call(&s->conn, "look at the stream", &r, err, "TYPE", key, NULL));
    bool fine = r->type == REDIS_REPLY_STATUS && (!strcmp(r->str, "stream") || !strcmp(r->str, "none"));
    if (!fine) {
        wr_fail(err, WR_USER, "WR351", "table '%.*s': the key '%s' of Redis holds a %s, not a stream", WR_FMT(s->conn.name), key, r->type == REDIS_REPLY_STATUS ? r->str : "?");
        wr_err_hint(err, "choose another 'stream'");
        if (err) err->at = s->conn.at;
    }
    redis.free_reply(r);
    return fine ? WR_OK : WR_USER;
}

/* Entries and number at once. */
static wr_status transact(redis_sink *s, uint64_t epoch, wr_str log, wr_err *err) {
    redisReply *r;
    char        number[24], key[600];
    snprintf(number, sizeof number, "%" PRIu64, epoch);
    snprintf(key, sizeof key, "%.*s", WR_FMT(s->epoch_key));
    WR_TRY(check_type(s, err));
    WR_TRY(redis_call(&s->conn, "begin a transaction", &r, err, "MULTI", NULL));
    redis.free_reply(r);
    WR_TRY(send_entries(s, log, err)); /* whatever fails here: the connection is given up, and with it the transaction */
    WR_TRY(redis_call(&s->conn, "write the epoch", &r, err, "SET", key, number, NULL));
    redis.free_reply(r);
    WR_TRY(redis_call(&s->conn, "commit", &r, err, "EXEC", NULL));
    wr_status status = r->type == REDIS_REPLY_ARRAY ? WR_OK : redis_fail(&s->conn, r, "commit", err);
    for (size_t i = 0; status == WR_OK && i < r->elements; i++)
        if (r->element[i]->type == REDIS_REPLY_ERROR) status = redis_fail(&s->conn, r->element[i], "add an entry", err);
    redis.free_reply(r);
    return status;
}

static wr_status apply_once(redis_sink *s, uint64_t epoch, wr_str log, wr_err *err) {
    uint64_t have = 0;
    WR_TRY(redis_connect(&s->conn, err));
    wr_status status = epoch ? stored_epoch(s, &have, err) : WR_OK;
    if (status == WR_OK && !epoch) status = send_entries(s, log, err);
    else if (status == WR_OK && have < epoch) status = transact(s, epoch, log, err);
    if (status != WR_OK) redis_close(&s->conn); /* answers may be on their way still */
    return status;
}

/* Again after a lost connection: with an epoch that is safe whether or not EXEC arrived. Without one (no checkpoints) rows may come twice. */
static wr_status apply(redis_sink *s, uint64_t epoch, wr_str log, wr_err *err) {
    int64_t until = wr_mono_us(s->conn.world) + s->conn.retry_us;
    wr_err  own = {0}, *e = err ? err : &own;
    wr_status status;
    while ((status = apply_once(s, epoch, log, e)) != WR_OK)
        if (!db_try_again(s->conn.world, e, until)) return status;
    return WR_OK;
}

/* ---- the sink ---- */

static wr_status sink_put(staged_sink *base, const wr_batch *batch, wr_err *err) {
    redis_sink *s = (redis_sink *)base;
    s->batch = batch;
    if (!s->writer) {
        for (uint32_t i = 0; i < wr_batch_live(batch); i++) put_columns(s, batch, wr_batch_row(batch, i));
        return WR_OK;
    }
    return message_write(&s->columns, s->writer, batch, put_record, s, err);
}
static wr_status sink_flush(staged_sink *base, wr_str log, wr_err *err) { return apply((redis_sink *)base, 0, log, err); }
static wr_status sink_commit(staged_sink *base, uint64_t epoch, wr_str staged, wr_err *err) { return apply((redis_sink *)base, epoch, staged, err); }
static wr_status sink_fresh(staged_sink *base, wr_err *err) { return forget_epoch((redis_sink *)base, err); }

static wr_status sink_look(staged_sink *base, uint64_t epoch, wr_err *err) {
    redis_sink *s = (redis_sink *)base;
    uint64_t    have;
    WR_TRY(redis_connect(&s->conn, err));
    WR_TRY(stored_epoch(s, &have, err));
    return have > epoch ? db_newer_epoch("Redis", s->base.table, have, epoch, err) : WR_OK;
}

static void sink_free(staged_sink *base) {
    redis_sink *s = (redis_sink *)base;
    redis_close(&s->conn);
    wr_record_writer_free(s->writer);
    redis_args_free(&s->args);
    wr_sbuf_free(&s->text);
}
static const staged_vt sink_vt = {.put = sink_put, .flush = sink_flush, .commit = sink_commit, .fresh = sink_fresh, .look = sink_look, .free = sink_free};

static wr_status open_sink(redis_sink *s, const wr_table_info *t, wr_connect_ctx *ctx, wr_err *err) {
    int64_t max_len;
    wr_str  job = option_text(t, redis_specs, "sink.job"), stream = option_text(t, redis_specs, "stream");
    WR_TRY(redis_open(&s->conn, t, s->base.arena, ctx, err));
    WR_TRY(redis_layout_read(&s->layout, t, ctx));
    if (!message_columns_split(&s->columns, t, s->base.arena, ctx->diags) || !wr_option_int(&t->options, redis_specs, "sink.max-len", &max_len, ctx->diags)) return WR_USER;
    if (s->columns.timestamp >= 0) return option_error(ctx, t, "stream", "WR126", "the time of an entry is given by the server: the metadata column 'timestamp' must be VIRTUAL");
    if (memchr(stream.ptr, ';', stream.len)) return option_error(ctx, t, "stream", "WR121", "rows are written to one stream");
    if (max_len > 0) snprintf(s->max_len, sizeof s->max_len, "%" PRId64, max_len);
    s->stream = wr_str_dup(s->base.arena, stream);
    const char *key = wr_arena_printf(s->base.arena, "weir:epoch:%.*s:%.*s", WR_FMT(job), WR_FMT(t->name));
    s->epoch_key = wr_str_of(key);
    if (!wr_record_format_read(&s->format, &s->columns.stored, t->key, t->n_key, &t->options, t->at, false, true, s->base.arena, ctx->diags)) return WR_USER;
    wr_record_writer_opts opts = {.format = &s->format, .schema = &s->columns.stored, .tz = ctx->tz, .world = ctx->world, .topic = s->stream};
    if (s->layout.value.len) WR_TRY(wr_record_writer_new(&opts, &s->writer, ctx->diags));
    WR_TRY(redis_connect(&s->conn, err));
    return check_type(s, err);
}

wr_status redis_sink_new(const wr_table_info *t, wr_connect_ctx *ctx, wr_sink **out, wr_err *err) {
    redis_sink *s = wr_calloc(1, sizeof *s);
    staged_sink_init(&s->base, &sink_vt, t, ctx);
    s->tz = ctx->tz;
    return staged_sink_made(&s->base, open_sink(s, t, ctx, err), out);
}
