/* connect/mqtt/sink.c: the sink of 'mqtt': a row is a message that is published to one topic, at least once.
 *
 * Idea       messages are kept as bytes. prepare hands them to the checkpoint; commit publishes them with QoS 1 and ends when the broker has acknowledged each. What
 *            was published and is to be published again (a connection lost, a crash) comes twice: MQTT has nothing to know it by.
 * State      the messages since the last prepare or flush, charged to the account.
 * Bounds     MQTT_INFLIGHT messages or FLIGHT_BYTES wait for their acknowledgement.
 * Thread     one worker; the connection is its own. Nobody tends it between commits: keep-alive is off, and one that was lost meanwhile is made again. */
#include "connect/messages.h"
#include "connect/mqtt/lib.h"
#include "connect/staged.h"

enum { FLIGHT_BYTES = 8 << 20, ANSWER_US = 10000000, STEP_MS = 100 };

typedef struct mqtt_sink {
    staged_sink       base;       /* its log: values */
    mqtt_conn         conn;
    wr_record_format  format;
    message_columns   columns;
    wr_record_writer *writer;
    const char       *topic;
    bool              retain;
    uint64_t          on_way;     /* not acknowledged */
    size_t            bytes;      /* of them, and of those acknowledged since there was none */
    int               reason;     /* of the broker, why it does not take a message; 0 it does */
} mqtt_sink;

static wr_status put_record(void *self, wr_str key, wr_str value, uint32_t row, wr_err *err) {
    mqtt_sink *s = self;
    (void)key, (void)row, (void)err;
    wr_put_bytes(&s->base.log.bytes, value.ptr ? value.ptr : "", value.len);
    return WR_OK;
}

/* ---- publishing ---- */

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
        if (in.bad) return staged_damaged(&s->base, err);
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
    int64_t   until = wr_mono_us(s->conn.world) + s->conn.retry_us;
    wr_err    own = {0}, *e = err ? err : &own;
    wr_status status = WR_OK;
    while (log.len && (status = apply_once(s, log, e)) != WR_OK)
        if (!db_try_again(s->conn.world, e, until)) break;
    return status;
}

/* ---- the sink ---- */

static wr_status sink_put(staged_sink *base, const wr_batch *batch, wr_err *err) {
    mqtt_sink *s = (mqtt_sink *)base;
    return message_write(&s->columns, s->writer, batch, put_record, s, err);
}
static wr_status sink_flush(staged_sink *base, wr_str log, wr_err *err) { return apply((mqtt_sink *)base, log, err); }
static wr_status sink_commit(staged_sink *base, uint64_t epoch, wr_str staged, wr_err *err) { return (void)epoch, apply((mqtt_sink *)base, staged, err); }
static void      sink_free(staged_sink *base) {
    mqtt_sink *s = (mqtt_sink *)base;
    mqtt_close(&s->conn, true);
    wr_record_writer_free(s->writer);
}
static const staged_vt sink_vt = {.put = sink_put, .flush = sink_flush, .commit = sink_commit, .free = sink_free};

static wr_status open_sink(mqtt_sink *s, const wr_table_info *t, wr_connect_ctx *ctx, wr_err *err) {
    wr_str topic = option_text(t, mqtt_specs, "topic");
    WR_TRY(mqtt_open(&s->conn, t, s->base.arena, ctx, err));
    s->conn.owner = s, s->conn.on_publish = published;
    s->topic = wr_arena_strndup(s->base.arena, topic.ptr, topic.len);
    if (!topic.len || mqtt.pub_topic_check(s->topic) != MOSQ_ERR_SUCCESS) return option_error(ctx, t, "topic", "WR121", "rows are published to one topic: no + and no #");
    if (!wr_option_bool(&t->options, mqtt_specs, "sink.retain", &s->retain, ctx->diags) || !message_columns_split(&s->columns, t, s->base.arena, ctx->diags)) return WR_USER;
    if (s->columns.timestamp >= 0 || s->columns.headers >= 0) return option_error(ctx, t, "topic", "WR126", "a message of MQTT is written as its payload only: metadata columns must be VIRTUAL");
    if (!wr_record_format_read(&s->format, &s->columns.stored, t->key, t->n_key, &t->options, t->at, false, true, s->base.arena, ctx->diags)) return WR_USER;
    wr_record_writer_opts opts = {.format = &s->format, .schema = &s->columns.stored, .tz = ctx->tz, .world = ctx->world, .topic = wr_str_of(s->topic)};
    WR_TRY(wr_record_writer_new(&opts, &s->writer, ctx->diags));
    return mqtt_try(&s->conn, err);
}

wr_status mqtt_sink_new(const wr_table_info *t, wr_connect_ctx *ctx, wr_sink **out, wr_err *err) {
    mqtt_sink *s = wr_calloc(1, sizeof *s);
    staged_sink_init(&s->base, &sink_vt, t, ctx);
    return staged_sink_made(&s->base, open_sink(s, t, ctx, err), out);
}
