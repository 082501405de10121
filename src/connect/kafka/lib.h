/* connect/kafka/lib.h: librdkafka, loaded when a job first needs it; what every Kafka table shares: its properties. Private to connect/kafka/.
 *
 * Idea       librdkafka brings TLS, SASL and compression libraries with it, memory that a job without Kafka would pay for its whole life. So nothing is
 *            linked: the functions stand in one table that kafka_load fills; kafka.NAME is rd_kafka_NAME.
 * Version    2.0.2 (Debian 12) and later, to be had under the same soname. Rules for 2.0.2: no pause/resume with consume_batch (it skips offsets, fixed in
 *            2.1.0): partitions are held back by not reading their queues; own positions, what lies below them is dropped.
 * Thread     kafka_load: any; once filled, the table never changes.                                                                        */
#pragma once
#include "connect/parts.h"
#include <librdkafka/rdkafka.h>

#define KAFKA_FUNCTIONS(F)                                                                                                                            \
    F(version) F(err2str) F(fatal_error) F(conf_new) F(conf_destroy) F(conf_set) F(conf_set_opaque) F(conf_set_log_cb) F(conf_set_error_cb)                      \
    F(conf_set_dr_msg_cb) F(new) F(destroy) F(opaque) F(topic_partition_list_new) F(topic_partition_list_add) F(topic_partition_list_destroy)         \
    F(metadata) F(metadata_destroy) F(query_watermark_offsets) F(get_watermark_offsets) F(offsets_for_times) F(committed) F(commit)                   \
    F(incremental_assign) F(poll_set_consumer) F(queue_get_partition) F(queue_forward) F(queue_destroy) F(queue_cb_event_enable) F(consume_batch_queue) F(consumer_poll)       \
    F(message_destroy) F(message_timestamp) F(message_headers) F(header_get_all) F(poll) F(flush) F(purge) F(outq_len) F(produceva)                   \
    F(init_transactions) F(begin_transaction) F(commit_transaction) F(abort_transaction) F(send_offsets_to_transaction)                               \
    F(consumer_group_metadata_new) F(consumer_group_metadata_destroy) F(error_code) F(error_is_fatal) F(error_is_retriable)                           \
    F(error_txn_requires_abort) F(error_destroy) F(version_str) F(queue_new) F(queue_poll) F(AdminOptions_new) F(AdminOptions_destroy)                \
    F(AdminOptions_set_request_timeout) F(ConfigResource_new) F(ConfigResource_destroy) F(ConfigResource_configs) F(ConfigResource_error)             \
    F(ConfigResource_error_string) F(ConfigEntry_name) F(ConfigEntry_value) F(DescribeConfigs) F(DescribeConfigs_result_resources)                    \
    F(event_DescribeConfigs_result) F(event_error) F(event_error_string) F(event_destroy)
typedef struct kafka_table {
#define F(name) __typeof__(rd_kafka_##name) *name;
    KAFKA_FUNCTIONS(F)
#undef F
} kafka_table;
extern kafka_table kafka;
wr_status kafka_load(wr_err *err); /* WR_IO: the library is not there */

/* One client's last words: what librdkafka logged or called an error, for messages. */
typedef struct kafka_client {
    rd_kafka_t *rk;
    wr_mutex   *lock;
    char        last[400];  /* under lock: the latest error that it reported by itself (broker down, authentication) */
} kafka_client;

/* Applies the table's properties.* (Java's names are translated); diagnostics at the option for one that is unknown or refused. */
bool kafka_conf_properties(rd_kafka_conf_t *conf, const wr_table_info *t, wr_connect_ctx *ctx);
/* For properties of our own, which always succeed. */
void kafka_conf_set(rd_kafka_conf_t *conf, const char *key, const char *value);
/* Takes conf. opaque of the handle is the client. */
wr_status kafka_client_open(kafka_client *client, rd_kafka_type_t type, rd_kafka_conf_t *conf, const wr_table_info *t, wr_err *err);
void      kafka_client_close(kafka_client *client);
/* Which topics there are; patient with a broker that is away, not with one that refuses the client (WR367, in plain words). fmt: who asks. */
WR_PRINTF(6, 7) wr_status kafka_ask_metadata(kafka_client *client, wr_world *world, int timeout_ms, const struct rd_kafka_metadata **md, wr_err *err, const char *fmt, ...);
/* What the client reported last, as the detail of err. */
void kafka_client_detail(kafka_client *client, wr_err *err);
/* It may go well the next time: the network, or a broker that has just started. */
bool      kafka_is_passing(rd_kafka_resp_err_t code);
WR_COLD WR_PRINTF(4, 5) wr_status kafka_fail(kafka_client *client, rd_kafka_resp_err_t code, wr_err *err, const char *fmt, ...);

/* topics.c: which topics a source reads: those of a list, or all that match a pattern. */
typedef struct kafka_topics { wr_str list, pattern; struct pcre2_real_code_8 *regex; } kafka_topics;
wr_status kafka_topics_read(kafka_topics *topics, const wr_table_info *t, wr_connect_ctx *ctx);
bool      kafka_topics_want(const kafka_topics *topics, const char *topic);
void      kafka_topics_free(kafka_topics *topics);

struct wr_probe_ctx;
void      kafka_probe(const wr_table_info *t, struct wr_probe_ctx *ctx);
wr_status kafka_source_new(const wr_table_info *t, wr_connect_ctx *ctx, wr_source **out, wr_err *err);
wr_status kafka_sink_new(const wr_table_info *t, wr_connect_ctx *ctx, wr_sink **out, wr_err *err);
extern const wr_option_spec kafka_specs[];
extern const char *const    kafka_metadata[];
bool kafka_is_upsert(const wr_table_info *t);
