/* connect/kafka/probe.c: what `weir doctor` looks at of a Kafka table: the brokers, the topic, its partitions, the right to read it, where reading begins; of
 * sinks the limits that a broker sets to transactions and replicas.
 *
 * Idea       one client that asks: metadata, offsets, configurations; of a source also one that reads a first message, because only that tells whether it may.
 *            Nothing is written and no transaction begun: that would fence off a job that runs.                              */
#include "connect/kafka/lib.h"
#include "connect/probe.h"
#include "format/records.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { PARTITIONS_ASKED = 1000, DEFAULT_TRANSACTION_MS = 60000, READ_MS = 3000 };

typedef struct probe {
    const wr_table_info *t;
    wr_probe_ctx        *ctx;
    wr_findings         *out;
    kafka_client         client;
    kafka_topics         topics;
    const char          *topic;         /* the first that is wanted */
    const char          *servers;
    const struct rd_kafka_metadata *md;
    int                  timeout_ms;
    bool                 sink, upsert;
} probe;

static const char *text_option(probe *p, const char *key) {
    wr_str v = option_text(p->t, kafka_specs, key);
    return wr_arena_strndup(p->ctx->connect->arena, v.ptr, v.len);
}

/* ---- configurations ---- */

typedef struct config { char value[80]; bool known; } config;

/* The values of some keys of a broker or topic; *why: why they are not known. */
static void ask_config(probe *p, rd_kafka_ResourceType_t type, const char *name, const char *const *keys, config *out, uint32_t n, wr_sbuf *why) {
    rd_kafka_ConfigResource_t *resource = kafka.ConfigResource_new(type, name);
    rd_kafka_AdminOptions_t   *options = kafka.AdminOptions_new(p->client.rk, RD_KAFKA_ADMIN_OP_DESCRIBECONFIGS);
    rd_kafka_queue_t          *queue = kafka.queue_new(p->client.rk);
    char                       text[200];
    kafka.AdminOptions_set_request_timeout(options, p->timeout_ms, text, sizeof text);
    kafka.DescribeConfigs(p->client.rk, &resource, 1, options, queue);
    rd_kafka_event_t *event = kafka.queue_poll(queue, p->timeout_ms + 1000);
    const rd_kafka_DescribeConfigs_result_t *result = event ? kafka.event_DescribeConfigs_result(event) : NULL;
    if (!result) wr_sbuf_addz(why, "no answer");
    else if (kafka.event_error(event)) wr_sbuf_addz(why, kafka.event_error_string(event));
    else {
        size_t n_resources, n_entries;
        const rd_kafka_ConfigResource_t **resources = kafka.DescribeConfigs_result_resources(result, &n_resources);
        if (n_resources && kafka.ConfigResource_error(resources[0])) wr_sbuf_addz(why, kafka.ConfigResource_error_string(resources[0]) ? kafka.ConfigResource_error_string(resources[0]) : "refused");
        const rd_kafka_ConfigEntry_t **entries = n_resources ? kafka.ConfigResource_configs(resources[0], &n_entries) : NULL;
        for (size_t i = 0; entries && i < n_entries; i++)
            for (uint32_t k = 0; k < n; k++) {
                const char *value = kafka.ConfigEntry_value(entries[i]);
                if (strcmp(kafka.ConfigEntry_name(entries[i]), keys[k]) || !value) continue;
                snprintf(out[k].value, sizeof out[k].value, "%s", value);
                out[k].known = true;
            }
    }
    if (event) kafka.event_destroy(event);
    kafka.queue_destroy(queue);
    kafka.AdminOptions_destroy(options);
    kafka.ConfigResource_destroy(resource);
}

/* ---- the brokers and the topic ---- */

static bool look_at_brokers(probe *p) {
    wr_err err = {0};
    if (kafka_ask_metadata(&p->client, p->ctx->connect->world, p->timeout_ms, &p->md, &err, "%s", p->servers) != WR_OK) {
        wr_find_err(p->out, "brokers", &err);
        return false;
    }
    wr_find(p->out, WR_FOUND_FINE, "brokers", "%d at %s (librdkafka %s)", p->md->broker_cnt, p->servers, kafka.version_str());
    return true;
}

static void no_topic(probe *p, wr_str name) {
    wr_str *names = wr_malloc(((size_t)p->md->topic_cnt + 1) * sizeof *names);
    for (int i = 0; i < p->md->topic_cnt; i++) names[i] = wr_str_of(p->md->topics[i].topic);
    int near = wr_nearest(name, names, (size_t)p->md->topic_cnt);
    wr_find(p->out, WR_FOUND_FAULT, "topic", "there is no topic '%.*s', or it may not be seen", WR_FMT(name));
    wr_find_todo(p->out, "%s%.*s%skafka-topics.sh --bootstrap-server %s --create --topic %.*s --partitions %u%s", near >= 0 ? "did you mean '" : "", near >= 0 ? (int)names[near].len : 0,
                 near >= 0 ? names[near].ptr : "", near >= 0 ? "'? or: " : "", p->servers, WR_FMT(name), WR_MAX(p->ctx->connect->n_workers, 1u), p->upsert ? " --config cleanup.policy=compact" : "");
    wr_free(names);
}

static const struct rd_kafka_metadata_topic *find_topic(const probe *p, wr_str name) {
    for (int i = 0; i < p->md->topic_cnt; i++)
        if (wr_str_eq(wr_str_of(p->md->topics[i].topic), name) && !p->md->topics[i].err && p->md->topics[i].partition_cnt) return &p->md->topics[i];
    return NULL;
}

static void look_at_partitions(probe *p, const struct rd_kafka_metadata_topic *topic) {
    int leaderless = 0, first = -1;
    for (int i = 0; i < topic->partition_cnt; i++)
        if (topic->partitions[i].leader < 0 && !leaderless++) first = topic->partitions[i].id;
    if (leaderless) {
        wr_find(p->out, WR_FOUND_FAULT, "partitions", "%d of %d partitions of '%s' have no leader (the first is %d): their brokers are down", leaderless, topic->partition_cnt, topic->topic, first);
        wr_find_todo(p->out, "kafka-topics.sh --bootstrap-server %s --describe --topic %s --unavailable-partitions", p->servers, topic->topic);
    } else if (!p->sink && topic->partition_cnt == 1 && p->ctx->connect->n_workers > 1) {
        wr_find(p->out, WR_FOUND_WARNING, "partitions", "'%s' has one partition for %u workers: it is fetched over one connection, from one broker", topic->topic, p->ctx->connect->n_workers);
        wr_find_todo(p->out, "kafka-topics.sh --bootstrap-server %s --alter --topic %s --partitions %u (keys go to other partitions from then on)", p->servers, topic->topic, p->ctx->connect->n_workers);
    } else wr_find(p->out, WR_FOUND_FINE, "partitions", "'%s' has %d", topic->topic, topic->partition_cnt);
}

static bool look_at_topics(probe *p) {
    bool   fine = true;
    wr_str list = p->topics.list;
    for (wr_str name; wr_str_next(&list, ';', &name);) {
        const struct rd_kafka_metadata_topic *topic = find_topic(p, name);
        if (!topic) fine = false, no_topic(p, name);
        else look_at_partitions(p, topic);
        if (topic && !p->topic) p->topic = topic->topic;
    }
    if (p->topics.list.len) return fine && p->topic;
    int n = 0;
    for (int i = 0; i < p->md->topic_cnt; i++)
        if (!p->md->topics[i].err && kafka_topics_want(&p->topics, p->md->topics[i].topic) && !n++) p->topic = p->md->topics[i].topic;
    if (n) wr_find(p->out, WR_FOUND_FINE, "topic", "the pattern '%.*s' matches %d, the first is '%s'", WR_FMT(p->topics.pattern), n, p->topic);
    else {
        wr_find(p->out, WR_FOUND_WARNING, "topic", "no topic matches '%.*s' yet", WR_FMT(p->topics.pattern));
        wr_find_todo(p->out, "the whole name must match; one that comes later is found by 'scan.topic-partition-discovery.interval'");
    }
    return p->topic != NULL;
}

/* ---- sources ---- */

static rd_kafka_topic_partition_list_t *partitions_of(const probe *p, const char *topic) {
    const struct rd_kafka_metadata_topic *m = find_topic(p, wr_str_of(topic));
    rd_kafka_topic_partition_list_t      *list = kafka.topic_partition_list_new(m ? m->partition_cnt : 1);
    for (int i = 0; m && i < m->partition_cnt && i < PARTITIONS_ASKED; i++) kafka.topic_partition_list_add(list, topic, m->partitions[i].id);
    return list;
}

/* 'group-offsets' where the group has none: reading would refuse to begin. */
static void look_at_start(probe *p) {
    const char *mode = text_option(p, "scan.startup.mode"), *group = text_option(p, "properties.group.id"), *reset = text_option(p, "properties.auto.offset.reset");
    if (p->upsert || (*mode && strcasecmp(mode, "group-offsets"))) return;
    if (!*group) {
        wr_find(p->out, WR_FOUND_FAULT, "start", "where to begin? without 'scan.startup.mode' it is from the group's offsets, and there is no 'properties.group.id'");
        wr_find_todo(p->out, "'scan.startup.mode' = 'earliest-offset' or 'latest-offset'");
        return;
    }
    rd_kafka_topic_partition_list_t *list = partitions_of(p, p->topic);
    rd_kafka_resp_err_t              code = kafka.committed(p->client.rk, list, p->timeout_ms);
    int                              none = 0;
    for (int i = 0; i < list->cnt; i++) none += list->elems[i].offset < 0;
    if (code) {
        wr_err err = {0};
        kafka_fail(&p->client, code, &err, "cannot ask for the offsets of the group '%s'", group);
        wr_find_err(p->out, "group", &err);
    } else if (none && !p->ctx->goes_on && strcasecmp(reset, "earliest") && strcasecmp(reset, "latest")) {
        wr_find(p->out, WR_FOUND_FAULT, "start", "the group '%s' has no committed offset for %d of %d partitions of '%s', so there is no place to begin", group, none, list->cnt, p->topic);
        wr_find_todo(p->out, "'scan.startup.mode' = 'earliest-offset', or 'properties.auto.offset.reset' = 'earliest' for where the group has none");
    } else wr_find(p->out, WR_FOUND_FINE, "start", p->ctx->goes_on ? "at the checkpoint" : "at the offsets of the group '%s'", group);
    kafka.topic_partition_list_destroy(list);
}

static void refused_to_read(probe *p, rd_kafka_resp_err_t code, const char *said) {
    const char *user = text_option(p, "properties.sasl.username");
    wr_find(p->out, WR_FOUND_FAULT, "rights", "'%s' cannot be read: %s", p->topic, said);
    if (code == RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED) wr_find_todo(p->out, "kafka-acls.sh --bootstrap-server %s --add --allow-principal User:%s --operation Read --group '%s'", p->servers, *user ? user : "ANONYMOUS", text_option(p, "properties.group.id"));
    else wr_find_todo(p->out, "kafka-acls.sh --bootstrap-server %s --add --allow-principal User:%s --operation Read --topic %s", p->servers, *user ? user : "ANONYMOUS", p->topic);
}

static void look_at_reading(probe *p) {
    rd_kafka_topic_partition_list_t *list = partitions_of(p, p->topic);
    int64_t low = 0, high = 0, messages = 0;
    int     at = 0;
    for (int i = 0; i < list->cnt; i++) {
        rd_kafka_resp_err_t code = kafka.query_watermark_offsets(p->client.rk, p->topic, list->elems[i].partition, &low, &high, p->timeout_ms);
        if (code) {
            refused_to_read(p, code, kafka.err2str(code));
            kafka.topic_partition_list_destroy(list);
            return;
        }
        messages += high - low;
        list->elems[i].offset = low;
        if (high > low) at = i;
    }
    rd_kafka_topic_partition_list_t *one = kafka.topic_partition_list_new(1);
    kafka.topic_partition_list_add(one, p->topic, list->elems[at].partition)->offset = list->elems[at].offset;
    rd_kafka_error_t *refused = kafka.incremental_assign(p->client.rk, one);
    rd_kafka_resp_err_t code = refused ? kafka.error_code(refused) : RD_KAFKA_RESP_ERR_NO_ERROR;
    if (refused) kafka.error_destroy(refused);
    int64_t until = wr_mono_us(p->ctx->connect->world) + (int64_t)WR_MIN(p->timeout_ms, (int)READ_MS) * 1000;
    for (bool seen = false; !code && !seen && wr_mono_us(p->ctx->connect->world) < until;) {
        rd_kafka_message_t *m = kafka.consumer_poll(p->client.rk, 100);
        if (!m) continue;
        if (!m->err || m->err == RD_KAFKA_RESP_ERR__PARTITION_EOF) seen = true;
        else if (m->err == RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED || m->err == RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED) code = m->err;
        kafka.message_destroy(m);
    }
    if (code) refused_to_read(p, code, kafka.err2str(code));
    else wr_find(p->out, WR_FOUND_FINE, "rights", "'%s' can be read, it holds about %" PRId64 " messages", p->topic, messages);
    kafka.topic_partition_list_destroy(one);
    kafka.topic_partition_list_destroy(list);
}

/* ---- limits ---- */

static void look_at_transactions(probe *p) {
    static const char *const keys[] = {"transaction.max.timeout.ms"};
    config      max = {0};
    wr_sbuf     why = {0};
    char        broker[24];
    const char *given = text_option(p, "properties.transaction.timeout.ms");
    if (!wr_str_ieq(option_text(p->t, kafka_specs, "sink.delivery-guarantee"), WR_STR("exactly-once"))) return;
    if (!*text_option(p, "sink.transactional-id-prefix")) {
        wr_find(p->out, WR_FOUND_FAULT, "transactions", "'exactly-once' needs 'sink.transactional-id-prefix': a name that no other job uses");
        wr_find_todo(p->out, "'sink.transactional-id-prefix' = '%.*s'", WR_FMT(p->t->name));
        return;
    }
    snprintf(broker, sizeof broker, "%d", p->md->broker_cnt ? p->md->brokers[0].id : 0);
    ask_config(p, RD_KAFKA_RESOURCE_BROKER, broker, keys, &max, 1, &why);
    long long ms = *given ? strtoll(given, NULL, 10) : DEFAULT_TRANSACTION_MS, most = max.known ? strtoll(max.value, NULL, 10) : 0;
    if (!max.known) wr_find(p->out, WR_FOUND_NOTE, "transaction timeout", "%lld ms; the brokers' limit is not told (%s)", ms, why.at ? why.at : "not in the answer");
    else if (ms > most) {
        wr_find(p->out, WR_FOUND_FAULT, "transaction timeout", "'properties.transaction.timeout.ms' is %lld, and the brokers allow at most %lld (transaction.max.timeout.ms)", ms, most);
        wr_find_todo(p->out, "'properties.transaction.timeout.ms' = '%lld', or kafka-configs.sh --bootstrap-server %s --alter --entity-type brokers --entity-default --add-config transaction.max.timeout.ms=%lld", most, p->servers, ms);
    } else wr_find(p->out, WR_FOUND_FINE, "transaction timeout", "%lld ms, the brokers allow %lld", ms, most);
    if (!p->ctx->checkpoints) {
        wr_find(p->out, WR_FOUND_WARNING, "transactions", "'exactly-once' needs checkpoints, and there is no state directory");
        wr_find_todo(p->out, "--state-dir DIR");
    }
    wr_sbuf_free(&why);
}

/* Only a message would tell; a transaction would fence off a job that runs. */
static void look_at_writing(probe *p) {
    const char *protocol = text_option(p, "properties.security.protocol"), *user = text_option(p, "properties.sasl.username");
    if (!*protocol || !strcasecmp(protocol, "PLAINTEXT")) return;
    wr_find(p->out, WR_FOUND_NOTE, "rights", "whether '%s' may be written is not tried", p->topic);
    wr_find_todo(p->out, "kafka-acls.sh --bootstrap-server %s --list --topic %s shows it: User:%s needs Write and Describe", p->servers, p->topic, *user ? user : "ANONYMOUS");
}

static void readers_find(probe *p, double retention_ms) {
    wr_sbuf text = {0};
    if (retention_ms < 0) wr_sbuf_addz(&text, "for ever");
    else wr_text_duration((int64_t)(retention_ms * 1000), &text);
    wr_find(p->out, WR_FOUND_FINE, "retention", "readers find messages of '%s' for %s", p->topic, text.at);
    wr_sbuf_free(&text);
}

/* Of a source: is as much there as the state behind it is made from? */
static void look_at_retention(probe *p, bool deletes, double retention_ms, double retention_bytes, uint32_t partitions) {
    const wr_probe_kept kept = {p->topic, retention_ms < 0 ? -1 : retention_ms * 1000, retention_bytes, partitions, "retention.ms", "retention.bytes"};
    double set_us, set_bytes;
    if (!deletes) {
        const wr_format *format = wr_format_find(option_text(p->t, wr_record_specs, wr_options_find(&p->t->options, "value.format") ? "value.format" : "format"));
        if (p->upsert || !p->ctx->need_us || !format || format->changes != WR_FORMAT_APPEND) return;
        wr_find(p->out, WR_FOUND_WARNING, "retention", "'%s' is compacted (cleanup.policy): of each key the last message stays, and the state of %s is made from all of them, so it cannot be built anew", p->topic, p->ctx->need_by);
        wr_find_todo(p->out, "kafka-configs.sh --bootstrap-server %s --alter --entity-type topics --entity-name %s --add-config cleanup.policy=delete, or keep savepoints", p->servers, p->topic);
        return;
    }
    if (wr_probe_kept_enough(p->t, &kept, p->ctx, &set_us, &set_bytes)) return;
    wr_sbuf change = {0};
    if (set_us >= 0) wr_sbuf_printf(&change, "retention.ms=%.0f", ceil(set_us / 1000));
    if (set_bytes >= 0) wr_sbuf_printf(&change, "%sretention.bytes=%.0f", change.len ? "," : "", ceil(set_bytes));
    wr_find_todo(p->out, "kafka-configs.sh --bootstrap-server %s --alter --entity-type topics --entity-name %s --add-config %s ('weir size' says what that costs), or keep savepoints", p->servers, p->topic, change.at);
    wr_sbuf_free(&change);
}

static void look_at_config(probe *p) {
    enum { POLICY, MS, INSYNC, BYTES, N_KEYS };
    static const char *const keys[] = {"cleanup.policy", "retention.ms", "min.insync.replicas", "retention.bytes"};
    config  c[N_KEYS] = {0};
    wr_sbuf why = {0};
    ask_config(p, RD_KAFKA_RESOURCE_TOPIC, p->topic, keys, c, N_KEYS, &why);
    if (why.len || !c[POLICY].known) {
        wr_find(p->out, WR_FOUND_NOTE, "configuration", "that of '%s' is not told (%s)", p->topic, why.at ? why.at : "not in the answer");
        wr_sbuf_free(&why);
        return;
    }
    const struct rd_kafka_metadata_topic *topic = find_topic(p, wr_str_of(p->topic));
    int    short_of = 0, least = (int)strtol(c[INSYNC].value, NULL, 10);
    bool   deletes = strstr(c[POLICY].value, "delete");
    double ms = c[MS].known ? strtod(c[MS].value, NULL) : -1, bytes = c[BYTES].known ? strtod(c[BYTES].value, NULL) : -1;
    for (int i = 0; topic && i < topic->partition_cnt; i++) short_of += topic->partitions[i].isr_cnt < least;
    if (p->sink && short_of) {
        wr_find(p->out, WR_FOUND_FAULT, "replicas", "%d partitions of '%s' have fewer replicas in sync than min.insync.replicas = %d: writing to them is refused", short_of, p->topic, least);
        wr_find_todo(p->out, "start the brokers that are down, or kafka-configs.sh --bootstrap-server %s --alter --entity-type topics --entity-name %s --add-config min.insync.replicas=1", p->servers, p->topic);
    }
    if (p->upsert && !strstr(c[POLICY].value, "compact")) {
        wr_find(p->out, WR_FOUND_WARNING, "compaction", "cleanup.policy of '%s' is '%s': rows of the table that are not written again are lost when they are old", p->topic, c[POLICY].value);
        wr_find_todo(p->out, "kafka-configs.sh --bootstrap-server %s --alter --entity-type topics --entity-name %s --add-config cleanup.policy=compact", p->servers, p->topic);
    } else if (!p->sink) {
        look_at_retention(p, deletes, ms, bytes, topic ? (uint32_t)topic->partition_cnt : 1);
    } else if (deletes) {
        readers_find(p, ms);
    }
    wr_sbuf_free(&why);
}

static bool open_client(probe *p) {
    wr_err           err = {0};
    rd_kafka_conf_t *conf = kafka.conf_new();
    char             ms[16];
    snprintf(ms, sizeof ms, "%d", WR_MIN(WR_MAX(p->timeout_ms, 1000), 60000));
    kafka_conf_set(conf, "group.id", "weir-doctor"); /* the client wants one; it never joins it */
    kafka_conf_set(conf, "socket.timeout.ms", ms);
    kafka_conf_set(conf, "enable.partition.eof", "true");
    kafka_conf_set(conf, "fetch.wait.max.ms", "50");
    kafka_conf_set(conf, "queued.max.messages.kbytes", "1024");
    if (!kafka_conf_properties(conf, p->t, p->ctx->connect)) {
        kafka.conf_destroy(conf);
        return false;
    }
    kafka_conf_set(conf, "enable.auto.commit", "false");
    kafka_conf_set(conf, "enable.auto.offset.store", "false");
    if (kafka_client_open(&p->client, RD_KAFKA_CONSUMER, conf, p->t, &err) != WR_OK) {
        wr_find_err(p->out, "properties", &err);
        kafka_client_close(&p->client);
        return false;
    }
    kafka.poll_set_consumer(p->client.rk);
    return true;
}

void kafka_probe(const wr_table_info *t, wr_probe_ctx *ctx) {
    probe  p = {.t = t, .ctx = ctx, .out = ctx->out, .sink = ctx->role == WR_ROLE_SINK, .upsert = kafka_is_upsert(t), .timeout_ms = (int)WR_MIN(ctx->timeout_us / 1000, (int64_t)600000)};
    wr_err err = {0};
    p.servers = text_option(&p, "properties.bootstrap.servers");
    if (kafka_load(&err) != WR_OK) {
        wr_find_err(ctx->out, "client library", &err);
        return;
    }
    if (kafka_topics_read(&p.topics, t, ctx->connect) != WR_OK || !open_client(&p)) {
        kafka_topics_free(&p.topics);
        return;
    }
    if (look_at_brokers(&p) && look_at_topics(&p)) {
        look_at_config(&p);
        if (p.sink) look_at_writing(&p), look_at_transactions(&p);
        else look_at_start(&p), look_at_reading(&p);
    } else if (p.md && p.sink) {
        look_at_transactions(&p);
    }
    if (p.md) kafka.metadata_destroy(p.md);
    kafka_client_close(&p.client);
    kafka_topics_free(&p.topics);
}
