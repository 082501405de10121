/* connect/log/sink.c: the sink of 'log' and 'upsert-log'.
 *
 * Once       exactly-once: rows go to the segments as they come, hidden; prepare syncs them and notes in the log that they are in doubt; commit makes them visible, all
 *            partitions at once. The checkpoint keeps the ends only, not the rows. Recovery commits what was prepared, or cuts it (log.h: epochs).
 * Else       rows are synced and visible at prepare and flush: after a crash those since the last checkpoint come once more.
 * Rows       of one batch are gathered by partition and handed over in one call for each: no lock and no clock a row.
 * Bounds     one batch; the log's buffer: FLUSH_BYTES, charged by it.
 * Thread     one worker.                                                                                                                  */
#include "connect/log/connector.h"
#include "base/hash.h"

enum { FLUSH_BYTES = 1 << 20 };
typedef enum spread { BY_KEY, FIXED, ROUND_ROBIN } spread;

typedef struct gathered { /* a record of the batch; `at` and lengths in the buffer */
    uint32_t partition;
    size_t   at;
    uint32_t key_len, value_len, headers_len, n_headers; /* UINT32_MAX: none */
    int64_t  time_ms;
} gathered;

typedef struct log_sink {
    wr_sink           base;
    wr_world         *world;
    wr_arena         *arena;
    wr_str            table;
    wr_span           at;
    const char       *path;
    wr_log           *log;
    bool              once, staging;
    spread            spread;
    wr_record_format  format;
    wr_record_writer *writer;
    message_columns   columns;
    const wr_batch   *batch;      /* being written */
    uint32_t          n_partitions, turn;
    wr_sbuf           bytes;
    WR_ARR(gathered)  rows;
    WR_ARR(wr_log_record) records;
    size_t            unwritten;
} log_sink;

static wr_status at_table(const log_sink *s, wr_status status, wr_err *err) {
    if (status == WR_OK || !err) return status;
    if (!err->at.line) err->at = s->at;
    if (!err->detail[0]) wr_err_detail(err, "it is the output of the table '%.*s'", WR_FMT(s->table));
    return status;
}

static uint32_t put_headers(log_sink *s, uint32_t row) {
    const wr_vec *vec = &s->batch->cols[s->columns.headers];
    wr_list       list = ((const wr_list *)vec->data)[row];
    for (uint32_t i = 0; i < list.len; i++) {
        wr_str name = wr_sview_str((const wr_sview *)vec->kids[0].data + list.offset + i), value = {NULL, 0};
        if (!wr_vec_is_null(&vec->kids[1], list.offset + i)) value = wr_sview_str((const wr_sview *)vec->kids[1].data + list.offset + i);
        wr_log_header_put(&s->bytes, name, value);
    }
    return list.len;
}

static uint32_t partition_for(log_sink *s, wr_str key) {
    if (s->spread == FIXED) return 0;
    if (s->spread == ROUND_ROBIN) return s->turn++ % s->n_partitions;
    return key.ptr ? (uint32_t)(wr_hash_bytes(key.ptr, key.len) % s->n_partitions) : s->turn % s->n_partitions; /* without key: a batch to one, the next to the next */
}

static wr_status put_record(void *self, wr_str key, wr_str value, uint32_t row, wr_err *err) {
    (void)err;
    log_sink *s = self;
    gathered  g = {.partition = partition_for(s, key), .at = s->bytes.len, .key_len = key.ptr ? (uint32_t)key.len : UINT32_MAX, .value_len = value.ptr ? (uint32_t)value.len : UINT32_MAX, .time_ms = WR_LOG_NO_TIME};
    wr_sbuf_add_str(&s->bytes, key);
    wr_sbuf_add_str(&s->bytes, value);
    if (s->columns.timestamp >= 0 && !wr_vec_is_null(&s->batch->cols[s->columns.timestamp], row))
        g.time_ms = wr_floor_div(((const int64_t *)s->batch->cols[s->columns.timestamp].data)[row], 1000);
    if (s->columns.headers >= 0 && !wr_vec_is_null(&s->batch->cols[s->columns.headers], row)) {
        size_t from = s->bytes.len;
        g.n_headers = put_headers(s, row);
        g.headers_len = (uint32_t)(s->bytes.len - from);
    }
    wr_arr_push(&s->rows, g);
    return WR_OK;
}

static wr_log_record record_of(const log_sink *s, const gathered *g) {
    wr_log_record r = {.time_ms = g->time_ms, .n_headers = g->n_headers};
    const char   *at = s->bytes.at + g->at;
    if (g->key_len != UINT32_MAX) r.key = (wr_str){at, g->key_len}, at += g->key_len;
    if (g->value_len != UINT32_MAX) r.value = (wr_str){at, g->value_len}, at += g->value_len;
    r.headers = (wr_str){at, g->headers_len};
    return r;
}

static wr_status write_out(log_sink *s, wr_err *err) {
    s->unwritten = 0;
    return s->once ? wr_log_flush(s->log, err) : wr_log_sync(s->log, UINT64_MAX, err);
}

/* The records of one partition, in calls that are not too large. */
static wr_status submit(log_sink *s, uint32_t partition, wr_err *err) {
    enum { ROOM = WR_LOG_RECORD_BYTES / 2 };
    size_t bytes = 0;
    for (uint32_t i = 0; i <= s->rows.n; i++) {
        const gathered *g = i < s->rows.n ? &s->rows.at[i] : NULL;
        if (g && g->partition != partition) continue;
        wr_log_record r = g ? record_of(s, g) : (wr_log_record){0};
        size_t        len = r.key.len + r.value.len + r.headers.len;
        if (s->records.n && (!g || bytes + len > ROOM)) {
            wr_log_appended done;
            wr_status status = wr_log_submit(s->log, partition, s->records.at, s->records.n, (wr_str){NULL, 0}, &done, err);
            if (status == WR_LIMIT) {
                WR_TRY(write_out(s, err));
                status = wr_log_submit(s->log, partition, s->records.at, s->records.n, (wr_str){NULL, 0}, &done, err);
            }
            WR_TRY(status);
            s->unwritten += bytes;
            s->records.n = 0, bytes = 0;
        }
        if (g) wr_arr_push(&s->records, r);
        bytes += len;
    }
    return WR_OK;
}

static wr_status sink_write(wr_sink *base, const wr_batch *batch, wr_err *err) {
    log_sink *s = (log_sink *)base;
    if (!wr_batch_live(batch)) return WR_OK;
    s->batch = batch;
    s->rows.n = s->records.n = 0;
    wr_sbuf_clear(&s->bytes);
    wr_status status = message_write(&s->columns, s->writer, batch, put_record, s, err);
    if (s->spread == BY_KEY) s->turn++;
    for (uint32_t p = 0; p < s->n_partitions && status == WR_OK; p++) status = submit(s, p, err);
    if (status == WR_OK && s->unwritten >= FLUSH_BYTES) status = write_out(s, err);
    return at_table(s, status, err);
}

static wr_status sink_flush(wr_sink *base, wr_err *err) {
    log_sink *s = (log_sink *)base;
    if (s->once && s->staging) return WR_OK;
    s->unwritten = 0;
    WR_TRY(at_table(s, s->once ? wr_log_publish(s->log, err) : wr_log_sync(s->log, UINT64_MAX, err), err));
    return at_table(s, wr_log_clean(s->log, false, NULL, err), err);
}

static wr_status sink_prepare(wr_sink *base, uint64_t epoch, wr_sbuf *staged, wr_err *err) {
    log_sink *s = (log_sink *)base;
    s->staging = true;
    s->unwritten = 0;
    return at_table(s, s->once ? wr_log_prepare(s->log, epoch, staged, err) : wr_log_sync(s->log, UINT64_MAX, err), err);
}

static wr_status sink_commit(wr_sink *base, uint64_t epoch, wr_str staged, wr_err *err) {
    log_sink *s = (log_sink *)base;
    if (s->once && staged.len) WR_TRY(at_table(s, wr_log_commit(s->log, epoch, staged, err), err));
    return at_table(s, wr_log_clean(s->log, false, NULL, err), err);
}

static wr_status sink_recover(wr_sink *base, uint64_t epoch, wr_str staged, wr_err *err) {
    log_sink *s = (log_sink *)base;
    s->staging = true;
    return s->once ? at_table(s, wr_log_recover(s->log, epoch, staged, err), err) : WR_OK;
}

static wr_status sink_close(wr_sink *base, bool ok, wr_err *err) {
    log_sink *s = (log_sink *)base;
    wr_status status = ok && s->log && !(s->once && s->staging) ? sink_flush(base, err) : WR_OK;
    wr_log_close(s->log);
    wr_record_writer_free(s->writer);
    wr_sbuf_free(&s->bytes);
    wr_arr_free(&s->rows);
    wr_arr_free(&s->records);
    wr_arena_free(s->arena);
    wr_free(s);
    return status;
}

static const wr_sink_vt sink_vt = {"log", sink_write, sink_flush, sink_prepare, sink_commit, sink_recover, sink_close, NULL};

/* ---- making one ---- */

static wr_status make_format(log_sink *s, const wr_table_info *t, wr_connect_ctx *ctx) {
    uint32_t *key = wr_new_n(s->arena, uint32_t, t->n_key + 1), n_key = 0;
    if (!message_columns_split(&s->columns, t, s->arena, ctx->diags)) return WR_USER;
    for (uint32_t k = 0; k < t->n_key; k++) {
        int at = wr_schema_find(&s->columns.stored, t->schema->fields[t->key[k]].name);
        if (at >= 0) key[n_key++] = (uint32_t)at;
    }
    if (!wr_record_format_read(&s->format, &s->columns.stored, key, n_key, &t->options, t->at, log_is_upsert(t), true, s->arena, ctx->diags)) return WR_USER;
    wr_record_writer_opts opts = {.format = &s->format, .schema = &s->columns.stored, .tz = ctx->tz, .world = ctx->world, .topic = path_name(wr_str_of(s->path))};
    return wr_record_writer_new(&opts, &s->writer, ctx->diags);
}

/* Options that are given must say what a log that is there already is like: it was made with them, once. */
static wr_status check_config(const log_sink *s, const wr_table_info *t, wr_connect_ctx *ctx, const wr_log_config *want) {
    const wr_log_config *have = wr_log_config_of(s->log);
    struct { const char *key; bool same; } each[] = {
        {"log.partitions", have->partitions == want->partitions}, {"log.segment-size", have->segment_bytes == want->segment_bytes}, {"log.retention", have->retention_us == want->retention_us},
        {"log.retention-size", have->retention_bytes == want->retention_bytes}, {"log.cleanup", have->cleanup == want->cleanup}, {"log.tombstone-retention", have->tombstone_us == want->tombstone_us},
        {"log.compression", have->zstd == want->zstd}};
    for (size_t i = 0; i < WR_COUNT_OF(each); i++) {
        if (each[i].same || !wr_options_find(&t->options, each[i].key)) continue;
        option_error(ctx, t, each[i].key, "WR121", "the log '%s' is there already, and was made with another '%s'", s->path, each[i].key);
        wr_diags_hint(ctx->diags, "leave the option out; 'weir log stat %s' shows what the log was made with", s->path);
        return WR_USER;
    }
    return WR_OK;
}

static wr_status open_log(log_sink *s, const wr_table_info *t, wr_connect_ctx *ctx, wr_err *err) {
    wr_log_config config;
    if (!log_table_config(t, ctx, &config)) return WR_USER;
    wr_str partitioner = log_is_upsert(t) ? WR_STR("default") : option_text(t, log_specs, "sink.partitioner");
    s->spread = wr_str_ieq(partitioner, WR_STR("fixed")) ? FIXED : wr_str_ieq(partitioner, WR_STR("round-robin")) ? ROUND_ROBIN : BY_KEY;
    if (s->spread == ROUND_ROBIN && s->format.key) return option_error(ctx, t, "sink.partitioner", "WR121", "'round-robin' would spread the records of one key over partitions; leave it out when there is a key");
    if (config.cleanup & WR_LOG_COMPACT && !s->format.key) return option_error(ctx, t, "log.cleanup", "WR122", "compaction is by key: it needs 'key.format' and 'key.fields'");
    wr_log_opts opts = {.world = ctx->world, .acct = ctx->acct, .path = s->path, .create = &config};
    s->once = log_exactly_once(t);
    if (s->once) opts.producer = log_producer_name(t);
    WR_TRY(at_table(s, wr_log_open(&opts, &s->log, err), err));
    s->n_partitions = wr_log_config_of(s->log)->partitions;
    return check_config(s, t, ctx, &config);
}

wr_status log_sink_new(const wr_table_info *t, wr_connect_ctx *ctx, wr_sink **out, wr_err *err) {
    *out = NULL;
    log_sink *s = wr_calloc(1, sizeof *s);
    *s = (log_sink){.base = {&sink_vt}, .world = ctx->world, .arena = wr_arena_new(NULL), .table = t->name, .at = t->at};
    s->path = log_table_path(t, s->arena);
    wr_status status = make_format(s, t, ctx);
    if (status == WR_OK) status = open_log(s, t, ctx, err);
    if (status != WR_OK) {
        (void)sink_close(&s->base, false, NULL);
        return status;
    }
    *out = &s->base;
    return WR_OK;
}
