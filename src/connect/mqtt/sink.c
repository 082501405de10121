/* connect/mqtt/sink.c: the sink of 'mqtt': a row is a message that is published to one topic, at least once.
 *
 * Idea       messages are kept as bytes. prepare hands them to the checkpoint; commit publishes them with QoS 1 and ends when the broker has acknowledged each. What
 *            was published and is to be published again (a connection lost, a crash) comes twice: MQTT has nothing to know it by.
 * State      the messages since the last prepare or flush, charged to the account.
 * Bounds     MQTT_INFLIGHT messages or FLIGHT_BYTES wait for their acknowledgement.
 * Thread     one worker; the connection is its own. Nobody tends it between commits: keep-alive is off, and one that was lost meanwhile is made again. */
#include "connect/messages.h"
#include "connect/mqtt/lib.h"

enum { STAGED_VERSION = 1, LOG_BYTES = 8 << 20, FLIGHT_BYTES = 8 << 20, ANSWER_US = 10000000, STEP_MS = 100 };

typedef struct mqtt_sink {
    wr_sink           base;
    wr_arena         *arena;
    mqtt_conn         conn;
    wr_record_format  format;
    message_columns   columns;
    wr_record_writer *writer;
    const char       *topic;
    bool              staging, retain;
    uint64_t          on_way;     /* not acknowledged */
    size_t            bytes;      /* of them, and of those acknowledged since there was none */
    int               reason;     /* of the broker, why it does not take a message; 0 it does */
    change_log        log;        /* values */
} mqtt_sink;

static wr_status put_record(void *self, wr_str key, wr_str value, uint32_t row, wr_err *err) {
    mqtt_sink *s = self;
    (void)key, (void)row, (void)err;
    wr_put_bytes(&s->log.bytes, value.ptr ? value.ptr : "", value.len);
    return WR_OK;
}

/* ---- publishing ---- */

static wr_status damaged(mqtt_sink *s, wr_err *err) { return wr_fail(err, WR_CORRUPT, "XX001", "the staged rows of the table '%.*s' are damaged", WR_FMT(s->conn.name)); }

static void published(struct mosquitto *m, void *self, int mid, int reason, const mosquitto_property *props) {
    mqtt_sink *s = ((mqtt_conn *)self)->owner;
    (void)m, (void)mid, (void)props;
    if (reason >= 0x80) s->reason = reason;
    if (s->on_way) s->on_way--;
}

static wr_status refused(mqtt_sink *s, wr_err *err) {
    s->conn.refused = s->reason;
    s->reason = 0;
    return mqtt_fail(&s->conn, MOSQ_ERR_SUCCESS, "publish", err);
}

static wr_status take_acks(mqtt_sink *s, uint64_t down_to, wr_err *err) {
    int64_t  until = wr_mono_us(s->conn.world) + ANSWER_US;
    uint64_t before = s->on_way;
    while (s->on_way > down_to) {
        int status = mqtt_write(&s->conn);
        if (status == MOSQ_ERR_SUCCESS) status = mqtt_read(&s->conn, STEP_MS);
        if (s->reason) return refused(s, err);
        if (status == MOSQ_ERR_SUCCESS && s->on_way == before && wr_mono_us(s->conn.world) > until) status = MOSQ_ERR_CONN_LOST;
        if (status != MOSQ_ERR_SUCCESS) return mqtt_fail(&s->conn, status, "publish", err);
        if (s->on_way != before) before = s->on_way, until = wr_mono_us(s->conn.world) + ANSWER_US;
    }
    if (!s->on_way) s->bytes = 0;
    return WR_OK;
}

static wr_status publish_all(mqtt_sink *s, wr_str log, wr_err *err) {
    wr_reader in = {(const uint8_t *)log.ptr, (const uint8_t *)log.ptr + log.len, false};
    while (in.at < in.end) {
        wr_str value = wr_get_bytes(&in);
        if (in.bad) return damaged(s, err);
        int status = mqtt.publish_v5(s->conn.m, NULL, s->topic, (int)value.len, value.ptr, 1, s->retain, NULL);
        if (status != MOSQ_ERR_SUCCESS) return mqtt_fail(&s->conn, status, "publish", err);
        s->on_way++;
        s->bytes += value.len;
        if (s->bytes >= FLIGHT_BYTES) WR_TRY(take_acks(s, 0, err));
        else if (s->on_way >= MQTT_INFLIGHT) WR_TRY(take_acks(s, MQTT_INFLIGHT / 2, err));
    }
    return take_acks(s, 0, err);
}

static wr_status apply_once(mqtt_sink *s, wr_str log, wr_err *err) {
    if (s->conn.m && mqtt_read(&s->conn, 0) != MOSQ_ERR_SUCCESS) mqtt_close(&s->conn, false); /* it was lost since the last commit */
    if (!s->conn.m) WR_TRY(mqtt_try(&s->conn, err));
    s->on_way = 0, s->bytes = 0, s->reason = 0;
    wr_status status = publish_all(s, log, err);
    if (status != WR_OK) mqtt_close(&s->conn, false);
    return status;
}

static wr_status apply(mqtt_sink *s, wr_str log, wr_err *err) {
    int64_t until = wr_mono_us(s->conn.world) + s->conn.retry_us, wait = 50000;
    wr_err  own = {0}, *e = err ? err : &own;
    if (!log.len) return WR_OK;
    for (;;) {
        wr_status status = apply_once(s, log, e);
        if (status == WR_OK || !e->retriable || wr_mono_us(s->conn.world) + wait > until) return status;
        s->conn.world->vt->sleep_us(s->conn.world, wait);
        wait = WR_MIN(wait * 2, INT64_C(2000000));
    }
}

/* ---- the sink ---- */

static wr_status flush_log(mqtt_sink *s, wr_err *err) {
    WR_TRY(apply(s, wr_sbuf_str(&s->log.bytes), err));
    wr_sbuf_clear(&s->log.bytes);
    return WR_OK;
}

static wr_status sink_write(wr_sink *base, const wr_batch *batch, wr_err *err) {
    mqtt_sink *s = (mqtt_sink *)base;
    wr_batch  *stored = message_stored_batch(&s->columns, batch);
    wr_status  status = wr_record_writer_write(s->writer, stored, put_record, s, err);
    wr_batch_unref(stored);
    WR_TRY(status);
    change_log_charge(&s->log);
    return s->log.bytes.len >= LOG_BYTES && !s->staging ? flush_log(s, err) : WR_OK;
}

static wr_status sink_flush(wr_sink *base, wr_err *err) {
    mqtt_sink *s = (mqtt_sink *)base;
    return s->staging ? WR_OK : flush_log(s, err);
}

static wr_status sink_prepare(wr_sink *base, uint64_t epoch, wr_sbuf *staged, wr_err *err) {
    mqtt_sink *s = (mqtt_sink *)base;
    (void)epoch, (void)err;
    s->staging = true;
    wr_put_u8(staged, STAGED_VERSION);
    change_log_stage(&s->log, staged);
    return WR_OK;
}

static wr_status sink_commit(wr_sink *base, uint64_t epoch, wr_str staged, wr_err *err) {
    mqtt_sink *s = (mqtt_sink *)base;
    (void)epoch;
    if (!staged.len || *staged.ptr != STAGED_VERSION) return damaged(s, err);
    return apply(s, (wr_str){staged.ptr + 1, staged.len - 1}, err);
}

static wr_status sink_recover(wr_sink *base, uint64_t epoch, wr_str staged, wr_err *err) {
    ((mqtt_sink *)base)->staging = true;
    return !epoch || !staged.len ? WR_OK : sink_commit(base, epoch, staged, err); /* nothing staged: the sink was not there at the checkpoint */
}

static wr_status sink_close(wr_sink *base, bool ok, wr_err *err) {
    mqtt_sink *s = (mqtt_sink *)base;
    wr_status  status = ok && !s->staging ? flush_log(s, err) : WR_OK;
    mqtt_close(&s->conn, true);
    change_log_free(&s->log);
    wr_record_writer_free(s->writer);
    wr_arena_free(s->arena);
    wr_free(s);
    return status;
}
static const wr_sink_vt sink_vt = {"mqtt", sink_write, sink_flush, sink_prepare, sink_commit, sink_recover, sink_close, NULL};

static wr_status open_sink(mqtt_sink *s, const wr_table_info *t, wr_connect_ctx *ctx, wr_err *err) {
    wr_str topic = option_text(t, mqtt_specs, "topic");
    WR_TRY(mqtt_open(&s->conn, t, s->arena, ctx, err));
    s->conn.owner = s, s->conn.on_publish = published;
    s->topic = wr_arena_strndup(s->arena, topic.ptr, topic.len);
    if (!topic.len || mqtt.pub_topic_check(s->topic) != MOSQ_ERR_SUCCESS) return option_error(ctx, t, "topic", "WR121", "rows are published to one topic: no + and no #");
    if (!wr_option_bool(&t->options, mqtt_specs, "sink.retain", &s->retain, ctx->diags) || !message_columns_split(&s->columns, t, s->arena, ctx->diags)) return WR_USER;
    if (s->columns.timestamp >= 0 || s->columns.headers >= 0) return option_error(ctx, t, "topic", "WR126", "a message of MQTT is written as its payload only: metadata columns must be VIRTUAL");
    if (!wr_record_format_read(&s->format, &s->columns.stored, t->key, t->n_key, &t->options, t->at, false, true, s->arena, ctx->diags)) return WR_USER;
    wr_record_writer_opts opts = {.format = &s->format, .schema = &s->columns.stored, .tz = ctx->tz, .world = ctx->world, .topic = wr_str_of(s->topic)};
    WR_TRY(wr_record_writer_new(&opts, &s->writer, ctx->diags));
    return mqtt_try(&s->conn, err);
}

wr_status mqtt_sink_new(const wr_table_info *t, wr_connect_ctx *ctx, wr_sink **out, wr_err *err) {
    mqtt_sink *s = wr_calloc(1, sizeof *s);
    *out = NULL;
    *s = (mqtt_sink){.base = {&sink_vt}, .arena = wr_arena_new(NULL), .log = {.acct = ctx->acct}};
    wr_status status = open_sink(s, t, ctx, err);
    if (status != WR_OK) {
        (void)sink_close(&s->base, false, NULL);
        return status;
    }
    *out = &s->base;
    return WR_OK;
}
