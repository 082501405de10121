/* connect/kafka/kafka.c: the connectors 'kafka' and 'upsert-kafka': what they can do and their options; the work is in source.c and sink.c.   */
#include "connect/kafka/lib.h"
#include "format/records.h"

#define COMMON_SPECS                                                                                                                                   \
    {"properties.bootstrap.servers", "string", NULL, true, "brokers to begin with: host:port, several with commas"},                                     \
    {"properties.*", "string", NULL, false, "any property of a Kafka client, by Java's name (security.protocol, sasl.mechanism, sasl.username, ssl.ca.location, fetch.min.bytes, compression.type ...)"}, \
    {"scan.bounded.mode", "enum:unbounded|latest-offset|group-offsets|timestamp|specific-offsets", "unbounded", false, "where reading ends; unbounded: nowhere"}, \
    {"scan.bounded.timestamp-millis", "int", "0", false, "with 'timestamp'"},                                                                            \
    {"scan.bounded.specific-offsets", "string", "", false, "with 'specific-offsets': partition:0,offset:42;partition:1,offset:300"},                       \
    {"scan.topic-partition-discovery.interval", "duration", "5 min", false, "how often new topics and partitions are looked for; 0: never"},              \
    {"sink.delivery-guarantee", "enum:none|at-least-once|exactly-once", "at-least-once", false, "exactly-once: by transactions that end with the checkpoint"}, \
    {"sink.transactional-id-prefix", "string", "", false, "exactly-once: begins the transactional ids; no other job may have it"},                         \
    {"sink.parallelism", "int", NULL, false, "accepted for Flink's sake: one worker writes"}

const wr_option_spec kafka_specs[] = {
    {"topic", "string", "", false, "the topic; a source may have several with ';'"},
    {"topic-pattern", "string", "", false, "sources: all topics whose whole name matches this regular expression"},
    {"scan.startup.mode", "enum:earliest-offset|latest-offset|group-offsets|timestamp|specific-offsets", NULL, false, "where a new job begins; with properties.group.id the default is group-offsets"},
    {"scan.startup.timestamp-millis", "int", "0", false, "with 'timestamp': the first messages that are not older"},
    {"scan.startup.specific-offsets", "string", "", false, "with 'specific-offsets': partition:0,offset:42;partition:1,offset:300"},
    {"sink.partitioner", "enum:default|fixed|round-robin", "default", false, "default: by key, without one at random; fixed: all to partition 0; round-robin"},
    COMMON_SPECS,
    {0}};

static const wr_option_spec upsert_specs[] = {{"topic", "string", "", true, "the topic: compacted, its messages keyed by the PRIMARY KEY"}, COMMON_SPECS, {0}};

const char *const kafka_metadata[] = {"topic", "partition", "offset", "timestamp", "timestamp-type", "headers", "leader-epoch", NULL};

bool kafka_is_upsert(const wr_table_info *t) { return wr_str_eq(option_text(t, kafka_specs, "connector"), WR_STR("upsert-kafka")); }

static wr_sink_takes takes(const wr_table_info *t) {
    wr_str format = option_text(t, wr_record_specs, wr_options_find(&t->options, "value.format") ? "value.format" : "format");
    const wr_format *f = wr_format_find(format);
    return f && f->changes == WR_FORMAT_RETRACT ? WR_SINK_ALL : WR_SINK_APPEND;
}
static wr_sink_takes upsert_takes(const wr_table_info *t) { return (void)t, WR_SINK_UPSERT; }

static bool exactly_once(const wr_table_info *t) { return wr_str_ieq(option_text(t, kafka_specs, "sink.delivery-guarantee"), WR_STR("exactly-once")); }
static wr_guarantee guarantee(const wr_table_info *t) { return exactly_once(t) ? WR_EXACTLY_ONCE : WR_AT_LEAST_ONCE; }
static wr_guarantee upsert_guarantee(const wr_table_info *t) { return exactly_once(t) ? WR_EXACTLY_ONCE : WR_IDEMPOTENT; }

static bool bounded(const wr_table_info *t) { return !wr_str_ieq(option_text(t, kafka_specs, "scan.bounded.mode"), WR_STR("unbounded")); }

const wr_connector wr_connector_kafka = {.name = "kafka", .doc = "topics of Apache Kafka: read by own positions, written at least once or exactly once", .specs = kafka_specs, .records = true,
                                         .metadata = kafka_metadata, .source_new = kafka_source_new, .sink_new = kafka_sink_new, .takes = takes, .guarantee = guarantee, .bounded = bounded, .probe = kafka_probe,
                                         .lag_known = WR_LAG_ROWS | WR_LAG_TIME};
const wr_connector wr_connector_upsert_kafka = {.name = "upsert-kafka", .doc = "a compacted topic of Apache Kafka as a table: the key says which row a message replaces or deletes", .specs = upsert_specs,
                                                .records = true, .upsert = true, .metadata = kafka_metadata, .source_new = kafka_source_new, .sink_new = kafka_sink_new, .takes = upsert_takes,
                                                .guarantee = upsert_guarantee, .bounded = bounded, .probe = kafka_probe};
