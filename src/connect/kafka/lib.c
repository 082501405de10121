/* connect/kafka/lib.c: see lib.h. */
#include "connect/kafka/lib.h"
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>

kafka_table           kafka;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static const char    *missing;

static void load(void) {
#define F(name) {"rd_kafka_" #name, &kafka.name},
    static const wr_import imports[] = {KAFKA_FUNCTIONS(F)};
#undef F
    missing = wr_library_import("librdkafka.so.1", imports, WR_COUNT_OF(imports));
}

wr_status kafka_load(wr_err *err) {
    pthread_once(&once, load);
    if (!missing) return WR_OK;
    wr_fail(err, WR_IO, "WR360", "a Kafka table needs librdkafka 2.0 or later, and %s was not found", missing);
    wr_err_hint(err, "apt-get install librdkafka1");
    return WR_IO;
}

/* ---- properties ---- */

typedef struct property { const char *java, *ours; } property; /* ours NULL: of no use here, accepted */
static const property properties[] = {
    {"bootstrap.servers", "bootstrap.servers"}, {"group.id", "group.id"}, {"client.id", "client.id"}, {"client.rack", "client.rack"},
    {"security.protocol", "security.protocol"}, {"sasl.mechanism", "sasl.mechanism"}, {"sasl.mechanisms", "sasl.mechanism"}, {"sasl.username", "sasl.username"}, {"sasl.password", "sasl.password"},
    {"ssl.ca.location", "ssl.ca.location"}, {"ssl.certificate.location", "ssl.certificate.location"}, {"ssl.key.location", "ssl.key.location"}, {"ssl.key.password", "ssl.key.password"},
    {"ssl.endpoint.identification.algorithm", "ssl.endpoint.identification.algorithm"},
    {"isolation.level", "isolation.level"}, {"fetch.min.bytes", "fetch.min.bytes"}, {"fetch.max.bytes", "fetch.max.bytes"}, {"fetch.max.wait.ms", "fetch.wait.max.ms"},
    {"max.partition.fetch.bytes", "max.partition.fetch.bytes"}, {"receive.buffer.bytes", "socket.receive.buffer.bytes"}, {"send.buffer.bytes", "socket.send.buffer.bytes"},
    {"request.timeout.ms", "socket.timeout.ms"}, {"reconnect.backoff.ms", "reconnect.backoff.ms"}, {"reconnect.backoff.max.ms", "reconnect.backoff.max.ms"},
    {"metadata.max.age.ms", "metadata.max.age.ms"}, {"session.timeout.ms", "session.timeout.ms"}, {"connections.max.idle.ms", "connections.max.idle.ms"},
    {"acks", "acks"}, {"compression.type", "compression.type"}, {"batch.size", "batch.size"}, {"linger.ms", "linger.ms"}, {"retries", "retries"}, {"retry.backoff.ms", "retry.backoff.ms"},
    {"delivery.timeout.ms", "delivery.timeout.ms"}, {"max.request.size", "message.max.bytes"}, {"max.in.flight.requests.per.connection", "max.in.flight.requests.per.connection"},
    {"transaction.timeout.ms", "transaction.timeout.ms"}, {"broker.address.family", "broker.address.family"}, {"debug", "debug"},
    {"auto.offset.reset", NULL}, {"partition.discovery.interval.ms", NULL}, {"enable.auto.commit", NULL}, {"auto.commit.interval.ms", NULL}, {"max.poll.records", NULL}, {"max.poll.interval.ms", NULL},
    {"key.deserializer", NULL}, {"value.deserializer", NULL}, {"key.serializer", NULL}, {"value.serializer", NULL}, {"enable.idempotence", NULL}, {"commit.offsets.on.checkpoint", NULL},
    {"buffer.memory", NULL}, {"allow.auto.create.topics", NULL}};
enum { PREFIX = sizeof "properties." - 1 };

void kafka_conf_set(rd_kafka_conf_t *conf, const char *key, const char *value) {
    char text[200];
    if (kafka.conf_set(conf, key, value, text, sizeof text) != RD_KAFKA_CONF_OK) wr_assert(!"a property of our own was refused");
}

static bool apply(rd_kafka_conf_t *conf, const wr_option *o, const char *key, wr_str value, wr_connect_ctx *ctx) {
    char text[300], *z = wr_arena_strndup(ctx->arena, value.ptr, value.len);
    if (kafka.conf_set(conf, key, z, text, sizeof text) == RD_KAFKA_CONF_OK) return true;
    wr_diags_add(ctx->diags, WR_SEV_ERROR, "WR121", o->at, "option '%.*s': %s", WR_FMT(o->key), text);
    return false;
}

/* sasl.jaas.config: org.apache.kafka.common.security.plain.PlainLoginModule required username="a" password="b"; */
static bool apply_jaas(rd_kafka_conf_t *conf, const wr_option *o, wr_connect_ctx *ctx) {
    static const char *const names[2] = {"username=", "password="}, *const keys[2] = {"sasl.username", "sasl.password"};
    for (int i = 0; i < 2; i++) {
        const char *at = memmem(o->value.ptr, o->value.len, names[i], strlen(names[i])), *end = o->value.ptr + o->value.len;
        const char *from = at ? at + strlen(names[i]) : end, quote = from < end && (*from == '"' || *from == '\'') ? *from++ : 0;
        char       *text = wr_arena_alloc(ctx->arena, (size_t)(end - from) + 1);
        size_t      n = 0;
        for (; from < end && *from != quote; from++) {
            if (*from == '\\' && from + 1 < end) from++;
            text[n++] = *from;
        }
        if (!quote || from == end) {
            wr_diags_add(ctx->diags, WR_SEV_ERROR, "WR121", o->at, "option '%.*s': no %s\"...\" in it", WR_FMT(o->key), names[i]);
            wr_diags_hint(ctx->diags, "or write 'properties.sasl.username' and 'properties.sasl.password'");
            return false;
        }
        if (!apply(conf, o, keys[i], (wr_str){text, n}, ctx)) return false;
    }
    return true;
}

/* librdkafka says "system lib" of a PEM file that is not there. */
static bool check_file(const wr_option *o, wr_connect_ctx *ctx) {
    wr_file_info info;
    bool         exists = true;
    char        *path = wr_arena_strndup(ctx->arena, o->value.ptr, o->value.len);
    if (ctx->world->vt->stat(ctx->world, path, &info, &exists, NULL) != WR_OK || exists || !strcmp(path, "probe")) return true;
    wr_diags_add(ctx->diags, WR_SEV_ERROR, "WR121", o->at, "option '%.*s': there is no file '%s'", WR_FMT(o->key), path);
    return false;
}

/* Without a mechanism librdkafka means Kerberos, as Java does, and complains about its programs. */
static bool check_mechanism(const wr_table_info *t, wr_connect_ctx *ctx) {
    const wr_option *o = wr_options_find(&t->options, "properties.security.protocol");
    if (!o || !wr_str_starts(wr_str_trim(o->value), WR_STR("SASL_")) || wr_options_find(&t->options, "properties.sasl.mechanism") || wr_options_find(&t->options, "properties.sasl.mechanisms")) return true;
    wr_diags_add(ctx->diags, WR_SEV_ERROR, "WR122", o->at, "option '%.*s': this needs 'properties.sasl.mechanism'", WR_FMT(o->key));
    wr_diags_hint(ctx->diags, "PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512, as the broker has it, with 'properties.sasl.username' and 'properties.sasl.password'");
    return false;
}

bool kafka_conf_properties(rd_kafka_conf_t *conf, const wr_table_info *t, wr_connect_ctx *ctx) {
    bool ok = check_mechanism(t, ctx);
    for (uint32_t i = 0; i < t->options.n; i++) {
        const wr_option *o = &t->options.at[i];
        if (!wr_str_starts(o->key, WR_STR("properties."))) continue;
        wr_str          key = {o->key.ptr + PREFIX, o->key.len - PREFIX}, names[WR_COUNT_OF(properties)];
        const property *p = NULL;
        for (size_t k = 0; k < WR_COUNT_OF(properties); k++) {
            names[k] = wr_str_of(properties[k].java);
            if (wr_str_eq(key, names[k])) p = &properties[k];
        }
        if (p && !p->ours) continue;
        if (p) {
            if (wr_str_starts(key, WR_STR("ssl.")) && memmem(key.ptr, key.len, ".location", 9)) ok &= check_file(o, ctx);
            ok &= apply(conf, o, p->ours, wr_str_trim(o->value), ctx);
        } else if (wr_str_eq(key, WR_STR("sasl.jaas.config"))) {
            ok &= apply_jaas(conf, o, ctx);
        } else if (wr_str_starts(key, WR_STR("ssl.truststore.")) || wr_str_starts(key, WR_STR("ssl.keystore."))) {
            wr_diags_add(ctx->diags, WR_SEV_ERROR, "WR120", o->at, "table '%.*s': '%.*s' is Java's; certificates are read from PEM files here", WR_FMT(t->name), WR_FMT(o->key));
            wr_diags_hint(ctx->diags, "'properties.ssl.ca.location', '.ssl.certificate.location' and '.ssl.key.location'; keytool and openssl pkcs12 turn a JKS file into PEM");
            ok = false;
        } else {
            wr_diags_add(ctx->diags, WR_SEV_ERROR, "WR120", o->at, "table '%.*s': there is no property '%.*s'", WR_FMT(t->name), WR_FMT(key));
            int near = wr_nearest(key, names, WR_COUNT_OF(properties));
            if (near >= 0) wr_diags_hint(ctx->diags, "did you mean 'properties.%.*s'?", WR_FMT(names[near]));
            ok = false;
        }
    }
    return ok;
}

/* ---- clients ---- */

enum { SCRAM_WORKS = 0x020601ff }; /* before, librdkafka sends the client's nonce twice, which brokers since Kafka 4 refuse */

/* What librdkafka says when a broker will not have us, in plain words. certain: it will say so the next time too. */
typedef struct refusal { const char *sign, *says, *hint; bool certain; } refusal;
#define CLIENT_CERTIFICATE "'properties.ssl.certificate.location' and 'properties.ssl.key.location' are its PEM files; an authority that the broker knows must have signed it"
static const refusal refusals[] = {
    {"Unsupported SASL mechanism", "the broker does not take this SASL mechanism", "'properties.sasl.mechanism' must be one of those that the broker takes", true},
    {"not valid in current SASL state", "this listener of the broker asks for no user", "'properties.security.protocol' = 'PLAINTEXT', or 'SSL'; or the port of the listener with SASL", true},
    {"SASL authentication error", "the broker refuses the user name or the password",
     "check 'properties.sasl.username' and 'properties.sasl.password'; a SCRAM user has a password for each mechanism (kafka-configs --alter --add-config 'SCRAM-SHA-512=[password=...]')", true},
    {"certificate verify failed", "the broker's certificate is not trusted",
     "'properties.ssl.ca.location' is the PEM file of the authority that signed it, and the certificate must bear the host name by which 'properties.bootstrap.servers' has the broker", true},
    {"alert bad certificate", "the broker wants a certificate of the client that it trusts", CLIENT_CERTIFICATE, true},
    {"alert certificate required", "the broker wants a certificate of the client that it trusts", CLIENT_CERTIFICATE, true},
    {"alert unknown ca", "the broker wants a certificate of the client that it trusts", CLIENT_CERTIFICATE, true},
    {"alert certificate unknown", "the broker wants a certificate of the client that it trusts", CLIENT_CERTIFICATE, true},
    {"SSL handshake failed", "the listener of the broker does not seem to speak TLS", "'properties.security.protocol' = 'PLAINTEXT', or 'SASL_PLAINTEXT'; or the port of the listener with TLS", false},
    {"in state SSL_HANDSHAKE", "the listener of the broker does not seem to speak TLS", "'properties.security.protocol' = 'PLAINTEXT', or 'SASL_PLAINTEXT'; or the port of the listener with TLS", false},
    {"in state APIVERSION_QUERY", "the broker ends every connection: its listener seems to want TLS", "'properties.security.protocol' = 'SSL', or 'SASL_SSL'; or the port of the listener without TLS", false},
    {"in state AUTH_HANDSHAKE", "the broker ends every connection: its listener seems to want TLS", "'properties.security.protocol' = 'SASL_SSL'; or the port of the listener without TLS", false},
    {"in state UP", "the broker ends every connection: its listener seems to want a user name", "'properties.security.protocol' = 'SASL_PLAINTEXT', or 'SASL_SSL', with 'properties.sasl.mechanism', '.sasl.username' and '.sasl.password'", false}};

static const refusal *refusal_of(const char *text) {
    for (size_t i = 0; i < WR_COUNT_OF(refusals); i++)
        if (strstr(text, refusals[i].sign)) return &refusals[i];
    return NULL;
}

static void keep(kafka_client *c, const char *text) {
    wr_mutex_lock(c->lock);
    snprintf(c->last, sizeof c->last, "%s", text);
    wr_mutex_unlock(c->lock);
}

static void on_error(rd_kafka_t *rk, int code, const char *reason, void *opaque) {
    kafka_client *c = opaque;
    (void)rk;
    if (code != RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN) keep(c, reason && *reason ? reason : kafka.err2str((rd_kafka_resp_err_t)code)); /* why they are was said before */
}

static void on_log(const rd_kafka_t *rk, int level, const char *facility, const char *text) {
    kafka_client *c = kafka.opaque(rk);
    if (c && c->lock && (level <= 4 || (level <= 6 && !strcmp(facility, "FAIL")))) keep(c, text); /* on the terminal it would only be noise */
    else if (level == 7) fprintf(stderr, "kafka %s: %s\n", facility, text); /* properties.debug */
}

wr_status kafka_client_open(kafka_client *c, rd_kafka_type_t type, rd_kafka_conf_t *conf, const wr_table_info *t, wr_err *err) {
    char text[400];
    c->lock = wr_mutex_new();
    kafka.conf_set_opaque(conf, c);
    kafka.conf_set_error_cb(conf, on_error);
    kafka.conf_set_log_cb(conf, on_log);
    c->rk = kafka.new(type, conf, text, sizeof text);
    if (c->rk) return WR_OK;
    kafka.conf_destroy(conf);
    wr_fail(err, WR_USER, "WR361", "table '%.*s': cannot make a Kafka client: %s", WR_FMT(t->name), text);
    if (err) err->at = t->at;
    return WR_USER;
}

void kafka_client_close(kafka_client *c) {
    if (c->rk) kafka.destroy(c->rk);
    c->rk = NULL;
    wr_mutex_free(c->lock);
    c->lock = NULL;
}

void kafka_client_detail(kafka_client *c, wr_err *err) {
    if (!err || !c->lock) return;
    wr_mutex_lock(c->lock);
    if (c->last[0]) wr_err_detail(err, "the Kafka client says: %s", c->last);
    wr_mutex_unlock(c->lock);
}

static const char *advice(rd_kafka_resp_err_t code) {
    switch (code) {
    case RD_KAFKA_RESP_ERR__TRANSPORT:
    case RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN:
    case RD_KAFKA_RESP_ERR__TIMED_OUT:
    case RD_KAFKA_RESP_ERR__RESOLVE: return "is the broker up, 'properties.bootstrap.servers' right, and its advertised.listeners an address that can be reached from here?";
    case RD_KAFKA_RESP_ERR__AUTHENTICATION:
    case RD_KAFKA_RESP_ERR__SSL:
    case RD_KAFKA_RESP_ERR_SASL_AUTHENTICATION_FAILED: return "check 'properties.security.protocol', the sasl.* and the ssl.* properties";
    case RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED:
    case RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED:
    case RD_KAFKA_RESP_ERR_TRANSACTIONAL_ID_AUTHORIZATION_FAILED: return "the broker's ACLs do not let this user do it";
    case RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART:
    case RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC:
    case RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION: return "make the topic first (kafka-topics --create), or check its name";
    case RD_KAFKA_RESP_ERR_INVALID_TRANSACTION_TIMEOUT: return "lower 'properties.transaction.timeout.ms', or raise the broker's transaction.max.timeout.ms";
    case RD_KAFKA_RESP_ERR__FENCED:
    case RD_KAFKA_RESP_ERR_INVALID_PRODUCER_EPOCH:
    case RD_KAFKA_RESP_ERR_PRODUCER_FENCED: return "another process writes with the same 'sink.transactional-id-prefix': is the job running twice?";
    case RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE: return "raise 'properties.max.request.size' and the topic's max.message.bytes";
    default: return NULL;
    }
}

/* Is it the broker's no, and not the network's? sure: one that may pass does not count. */
static const refusal *refused(kafka_client *c, bool sure) {
    if (!c || !c->lock) return NULL;
    wr_mutex_lock(c->lock);
    const refusal *r = refusal_of(c->last);
    wr_mutex_unlock(c->lock);
    return r && (r->certain || !sure) ? r : NULL;
}

static bool no_connection(rd_kafka_resp_err_t code) { return code == RD_KAFKA_RESP_ERR__TRANSPORT || code == RD_KAFKA_RESP_ERR__TIMED_OUT || code == RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN; }

bool kafka_is_passing(rd_kafka_resp_err_t code) {
    return code == RD_KAFKA_RESP_ERR__TIMED_OUT || code == RD_KAFKA_RESP_ERR__TRANSPORT || code == RD_KAFKA_RESP_ERR_COORDINATOR_LOAD_IN_PROGRESS ||
           code == RD_KAFKA_RESP_ERR_COORDINATOR_NOT_AVAILABLE || code == RD_KAFKA_RESP_ERR_NOT_COORDINATOR || code == RD_KAFKA_RESP_ERR_NOT_LEADER_FOR_PARTITION ||
           code == RD_KAFKA_RESP_ERR_LEADER_NOT_AVAILABLE || code == RD_KAFKA_RESP_ERR_CONCURRENT_TRANSACTIONS;
}

wr_status kafka_ask_metadata(kafka_client *c, wr_world *world, int timeout_ms, const struct rd_kafka_metadata **md, wr_err *err, const char *fmt, ...) {
    enum { SLICE_MS = 250 };
    int64_t             until = wr_mono_us(world) + timeout_ms * INT64_C(1000);
    rd_kafka_resp_err_t code;
    do code = kafka.metadata(c->rk, 1, NULL, md, WR_MIN(timeout_ms, SLICE_MS));
    while (no_connection(code) && !refused(c, true) && wr_mono_us(world) < until);
    if (!code) return WR_OK;
    char    who[300];
    va_list args;
    va_start(args, fmt);
    vsnprintf(who, sizeof who, fmt, args);
    va_end(args);
    const refusal *r = no_connection(code) ? refused(c, false) : NULL;
    if (!r) return kafka_fail(c, code, err, "%s: cannot ask the brokers for the topics", who);
    wr_fail(err, WR_USER, "WR367", "%s: %s", who, r->says);
    kafka_client_detail(c, err);
    if (err && strstr(err->detail, "SASL mechanism SCRAM") && kafka.version() < SCRAM_WORKS)
        wr_err_hint(err, "librdkafka %s fails at SCRAM with brokers of Kafka 4 and later; version 2.6.1 does not (docs/connectors.md, kafka, says how to use another one); with older brokers check user name and password", kafka.version_str());
    else wr_err_hint(err, "%s", r->hint);
    return WR_USER;
}

wr_status kafka_fail(kafka_client *c, rd_kafka_resp_err_t code, wr_err *err, const char *fmt, ...) {
    char    text[300];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    wr_fail(err, WR_IO, "08006", "%s: %s", text, kafka.err2str(code));
    if (!err) return WR_IO;
    err->retriable = no_connection(code);
    if (c) kafka_client_detail(c, err);
    const char *hint = advice(code);
    if (hint) wr_err_hint(err, "%s", hint);
    return WR_IO;
}
