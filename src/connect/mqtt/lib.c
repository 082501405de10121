/* connect/mqtt/lib.c: see lib.h.                                                                                             */
#include "connect/mqtt/lib.h"
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>

enum { ANSWER_US = 10000000, STEP_MS = 50, PACKET_BYTES = 16 << 20, PORT = 1883, PORT_TLS = 8883 };

mqtt_table            mqtt;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static const char    *missing;

static void load(void) {
#define F(name) {"mosquitto_" #name, &mqtt.name},
    static const wr_import imports[] = {MQTT_FUNCTIONS(F)};
#undef F
    missing = wr_library_import("libmosquitto.so.1", imports, WR_COUNT_OF(imports));
    if (!missing) mqtt.lib_init();
}

static wr_status mqtt_load(wr_err *err) {
    pthread_once(&once, load);
    if (!missing) return WR_OK;
    wr_fail(err, WR_IO, "WR368", "a table of MQTT needs the library libmosquitto, and it was not found");
    wr_err_hint(err, "apt-get install libmosquitto1");
    return WR_IO;
}

/* ---- options ---- */

const wr_option_spec mqtt_specs[] = {
    {"topic", "string", NULL, true, "source: filters such as sensors/+/temp or sensors/#, several with ';'; sink: the topic of all rows"},
    {"url", "string", "mqtt://localhost:1883", false, "mqtt://host[:port], or mqtts:// for TLS (port 8883)"},
    {"client.id", "string", "", false, "source (required): the name of its session at the broker; no other client may have it"},
    {"path", "path", NULL, false, "source (required): directory of the log that keeps the messages; it is made"},
    {"username", "string", "", false, "of the broker"},
    {"password", "string", "", false, "of 'username'; ${NAME} takes it from --set"},
    {"tls.ca-file", "path", NULL, false, "certificates (PEM) that the broker's is checked against; default: those of the machine"},
    {"tls.cert-file", "path", NULL, false, "own certificate (PEM)"},
    {"tls.key-file", "path", NULL, false, "its key"},
    {"session.expiry", "duration", "7 d", false, "source: how long the broker keeps messages for a job that is away"},
    {"log.max-bytes", "size", "1 GiB", false, "source: bytes of the log; when it has more, nothing is taken from the broker"},
    {"log.keep", "enum:consumed|all", "consumed", false, "source: what a checkpoint has read is removed; all: kept, for replays, until log.retention"},
    {"log.retention", "duration", NULL, false, "source: what was taken longer ago is removed, read or not; read when the log is made"},
    {"scan.startup.mode", "enum:earliest-offset|latest-offset", "earliest-offset", false, "where a new job begins in the log"},
    {"sink.retain", "bool", "false", false, "the broker keeps the last message of the topic for those who come later"},
    {"connection.max-retry-timeout", "duration", "60 s", false, "how long a lost connection is tried again"},
    {0}};
const char *const mqtt_metadata[] = {"topic", "offset", "timestamp", NULL};

static const char *text_option(const wr_table_info *t, const char *key, wr_arena *arena) {
    wr_str v = option_text(t, mqtt_specs, key);
    return v.len ? wr_arena_strndup(arena, v.ptr, v.len) : "";
}

static bool read_url(mqtt_conn *conn, wr_str url, wr_arena *arena) {
    conn->tls = wr_str_starts(url, WR_STR("mqtts://"));
    if (!conn->tls && !wr_str_starts(url, WR_STR("mqtt://"))) return false;
    size_t      skip = conn->tls ? 8 : 7;
    char       *host = wr_arena_strndup(arena, url.ptr + skip, url.len - skip), *bracket = host[0] == '[' ? strchr(host, ']') : NULL;
    char       *colon = bracket ? (bracket[1] == ':' ? bracket + 1 : NULL) : strchr(host, ':'), *end;
    conn->port = conn->tls ? PORT_TLS : PORT;
    if (strpbrk(host, "/@ ")) return false;
    if (colon) {
        long port = strtol(colon + 1, &end, 10);
        if (end == colon + 1 || *end || port < 1 || port > 65535) return false;
        conn->port = (int)port;
        *colon = 0;
    }
    if (bracket) *bracket = 0, host++;
    conn->host = host;
    return *host != 0;
}

wr_status mqtt_open(mqtt_conn *conn, const wr_table_info *t, wr_arena *arena, wr_connect_ctx *ctx, wr_err *err) {
    *conn = (mqtt_conn){.world = ctx->world, .name = t->name, .at = t->at};
    conn->username = text_option(t, "username", arena), conn->password = text_option(t, "password", arena);
    conn->ca = text_option(t, "tls.ca-file", arena), conn->cert = text_option(t, "tls.cert-file", arena), conn->key = text_option(t, "tls.key-file", arena);
    if (!read_url(conn, option_text(t, mqtt_specs, "url"), arena)) return option_error(ctx, t, "url", "WR121", "expected mqtt://host:port or mqtts://host:port; the user stands in 'username'");
    if (conn->cert[0] && !conn->key[0]) return option_error(ctx, t, "tls.cert-file", "WR122", "a certificate needs its key: 'tls.key-file'");
    if (!conn->tls && (conn->ca[0] || conn->cert[0])) return option_error(ctx, t, conn->ca[0] ? "tls.ca-file" : "tls.cert-file", "WR121", "this is for mqtts:// in 'url'");
    if (wr_options_find(&t->options, "key.format")) return option_error(ctx, t, "key.format", "WR122", "a message of MQTT has no key");
    if (!wr_option_duration(&t->options, mqtt_specs, "connection.max-retry-timeout", &conn->retry_us, ctx->diags) ||
        !wr_option_duration(&t->options, mqtt_specs, "session.expiry", &conn->session_us, ctx->diags)) return WR_USER;
    return mqtt_load(err);
}

/* ---- errors ---- */

static bool passes(int reason) { return reason == 0x88 || reason == 0x89 || reason == 0x8b || reason == 0x8d || reason == 0x9f; } /* not there now, busy, about to stop, silent, too many */

static void advise(const mqtt_conn *conn, int status, wr_err *err) {
    if (conn->refused == 0x86 || conn->refused == 0x87) wr_err_hint(err, "are 'username' and 'password' right, and may the user use the topic?");
    else if (conn->refused == 0x8e) wr_err_hint(err, "another client, or another job, has the same 'client.id': give each its own");
    else if (conn->refused == 0x84 || conn->refused == 1) wr_err_hint(err, "the broker must speak MQTT 5");
    else if (status == MOSQ_ERR_TLS) wr_err_hint(err, "mqtts:// in 'url', and 'tls.ca-file': is the broker's certificate signed by one in it, and made for this host?");
    else if (!conn->refused) wr_err_hint(err, "is the broker up, and 'url' right?");
}

wr_status mqtt_fail(mqtt_conn *conn, int status, const char *doing, wr_err *err) {
    const char *why = conn->refused ? mqtt.reason_string(conn->refused) : status == MOSQ_ERR_ERRNO ? strerror(errno) : mqtt.strerror(status);
    wr_fail(err, WR_IO, "WR369", "table '%.*s': cannot %s at the MQTT broker %s:%d: %s", WR_FMT(conn->name), doing, conn->host, conn->port, why);
    if (!err) return WR_IO;
    err->at = conn->at;
    if (conn->refused) err->retriable = passes(conn->refused);
    else err->retriable = status == MOSQ_ERR_NO_CONN || status == MOSQ_ERR_CONN_LOST || status == MOSQ_ERR_EAI || status == MOSQ_ERR_ERRNO || status == MOSQ_ERR_KEEPALIVE || status == MOSQ_ERR_CONN_REFUSED;
    advise(conn, status, err);
    return WR_IO;
}

/* ---- connections ---- */

static void connected(struct mosquitto *m, void *self, int reason, int flags, const mosquitto_property *props) {
    mqtt_conn *conn = self;
    (void)m, (void)props;
    conn->up = reason == 0;
    conn->refused = reason;
    conn->had_session = flags & 1;
}

static void disconnected(struct mosquitto *m, void *self, int reason, const mosquitto_property *props) {
    mqtt_conn *conn = self;
    (void)m, (void)props;
    conn->up = false;
    if (reason >= 0x80) conn->refused = reason; /* the broker's; smaller numbers are the library's */
}

void mqtt_close(mqtt_conn *conn, bool politely) {
    if (!conn->m) return;
    if (politely && conn->up && mqtt.disconnect(conn->m) == MOSQ_ERR_SUCCESS) (void)mqtt_write(conn);
    mqtt.destroy(conn->m);
    conn->m = NULL;
    conn->up = false;
}

int mqtt_read(mqtt_conn *conn, int wait_ms) {
    struct pollfd p = {.fd = mqtt.socket(conn->m), .events = POLLIN};
    if (p.fd < 0) return MOSQ_ERR_NO_CONN;
    if (mqtt.want_write(conn->m)) p.events |= POLLOUT;
    if (wait_ms) (void)poll(&p, 1, wait_ms);
    return mqtt.loop_read(conn->m, 1); /* in any case: TLS may have bytes that the socket does not show */
}

int mqtt_write(mqtt_conn *conn) {
    int status = mqtt.want_write(conn->m) ? mqtt.loop_write(conn->m, 1) : MOSQ_ERR_SUCCESS;
    return status == MOSQ_ERR_SUCCESS ? mqtt.loop_misc(conn->m) : status;
}

static int configure(mqtt_conn *conn) {
    int status = mqtt.int_option(conn->m, MOSQ_OPT_PROTOCOL_VERSION, MQTT_PROTOCOL_V5);
    if (status == MOSQ_ERR_SUCCESS) status = mqtt.int_option(conn->m, MOSQ_OPT_RECEIVE_MAXIMUM, MQTT_INFLIGHT);
    if (status == MOSQ_ERR_SUCCESS) status = mqtt.int_option(conn->m, MOSQ_OPT_SEND_MAXIMUM, MQTT_INFLIGHT);
    if (status == MOSQ_ERR_SUCCESS) status = mqtt.threaded_set(conn->m, true);
    if (status == MOSQ_ERR_SUCCESS && conn->username[0]) status = mqtt.username_pw_set(conn->m, conn->username, conn->password);
    if (status == MOSQ_ERR_SUCCESS && conn->tls)
        status = mqtt.tls_set(conn->m, conn->ca[0] ? conn->ca : NULL, conn->ca[0] ? NULL : "/etc/ssl/certs", conn->cert[0] ? conn->cert : NULL, conn->key[0] ? conn->key : NULL, NULL);
    mqtt.connect_v5_callback_set(conn->m, connected);
    mqtt.disconnect_v5_callback_set(conn->m, disconnected);
    if (conn->on_message) mqtt.message_callback_set(conn->m, conn->on_message);
    if (conn->on_log) mqtt.log_callback_set(conn->m, conn->on_log);
    if (conn->on_publish) mqtt.publish_v5_callback_set(conn->m, conn->on_publish);
    if (conn->on_subscribe) mqtt.subscribe_v5_callback_set(conn->m, conn->on_subscribe);
    return status;
}

static int greet(mqtt_conn *conn) {
    mosquitto_property *props = NULL;
    int64_t             expiry_s = conn->session_us / 1000000;
    int status = mqtt.property_add_int32(&props, MQTT_PROP_MAXIMUM_PACKET_SIZE, PACKET_BYTES);
    if (status == MOSQ_ERR_SUCCESS && conn->client_id) status = mqtt.property_add_int32(&props, MQTT_PROP_SESSION_EXPIRY_INTERVAL, (uint32_t)WR_MIN(WR_MAX(expiry_s, INT64_C(1)), (int64_t)UINT32_MAX));
    if (status == MOSQ_ERR_SUCCESS) status = mqtt.connect_bind_v5(conn->m, conn->host, conn->port, conn->keepalive_s, NULL, props);
    mqtt.property_free_all(&props);
    return status;
}

wr_status mqtt_try(mqtt_conn *conn, wr_err *err) {
    int64_t until = wr_mono_us(conn->world) + ANSWER_US;
    mqtt_close(conn, false);
    conn->refused = 0;
    conn->m = mqtt.new(conn->client_id, !conn->client_id, conn);
    if (!conn->m) return mqtt_fail(conn, errno == EINVAL ? MOSQ_ERR_INVAL : MOSQ_ERR_NOMEM, "connect", err);
    int status = configure(conn);
    if (status == MOSQ_ERR_SUCCESS) status = greet(conn);
    while (status == MOSQ_ERR_SUCCESS && !conn->up && !conn->refused) {
        status = mqtt_write(conn);
        if (status == MOSQ_ERR_SUCCESS) status = mqtt_read(conn, STEP_MS);
        if (status == MOSQ_ERR_SUCCESS && (wr_mono_us(conn->world) > until || (conn->stop && atomic_load(conn->stop)))) status = MOSQ_ERR_NO_CONN;
    }
    if (conn->up && status == MOSQ_ERR_SUCCESS) return WR_OK;
    wr_status failed = mqtt_fail(conn, status, "connect", err);
    mqtt_close(conn, false);
    return failed;
}
