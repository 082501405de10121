/* api/export_store.c: see export_store.h.
 *
 * Idea       the topic's own schema is the table's: names and types go over, the event-time column becomes the store's time. No secret goes into a spec: of the options 'properties.*' only
 *            the brokers are taken.
 * Avro       of messages whose schema is in a registry the stores see what Avro writes: times as milliseconds, which both take; dates, times of day and decimals as whole numbers and bytes
 *            that mean nothing there, so these are refused.
 * Exactly    both stores keep the offsets of what they have read together with the data, so that a message is in once; Pinot replaces rows by key when the table is an upsert one.   */
#include "api/export_store.h"

static bool is_upsert(const wr_table *t) { return wr_str_eq(t->connector, WR_STR("upsert-kafka")); }
static bool is_kafka(const wr_table *t) { return !t->is_view && (wr_str_eq(t->connector, WR_STR("kafka")) || is_upsert(t)); }

const wr_table *wr_store_only_table(const wr_catalog *catalog, uint32_t *n) {
    const wr_table *only = NULL;
    *n = 0;
    for (uint32_t i = 0; i < wr_catalog_count(catalog); i++)
        if (is_kafka(wr_catalog_at(catalog, i))) only = wr_catalog_at(catalog, i), ++*n;
    return *n == 1 ? only : NULL;
}

/* ---- types ---- */
static const char *druid_type(wr_type t, bool avro) {
    switch (t.id) {
    case WR_T_TIMESTAMP: case WR_T_TIMESTAMP_LTZ: return !avro ? "string" : t.prec <= 3 ? "long" : NULL;
    case WR_T_DATE: case WR_T_TIME: return avro ? NULL : "string";
    case WR_T_TINYINT: case WR_T_SMALLINT: case WR_T_INT: case WR_T_BIGINT: return "long";
    case WR_T_FLOAT: return "float";
    case WR_T_DOUBLE: return "double";
    case WR_T_DECIMAL: return avro ? NULL : t.scale ? "string" : t.prec <= 18 ? "long" : "string";
    case WR_T_BOOLEAN: case WR_T_CHAR: case WR_T_VARCHAR: return "string";
    case WR_T_ARRAY: case WR_T_MAP: case WR_T_ROW: case WR_T_VARIANT: return "json";
    default: return NULL;
    }
}

static const char *pinot_type(wr_type t, bool avro) {
    switch (t.id) {
    case WR_T_TINYINT: case WR_T_SMALLINT: case WR_T_INT: return "INT";
    case WR_T_BIGINT: return "LONG";
    case WR_T_FLOAT: return "FLOAT";
    case WR_T_DOUBLE: return "DOUBLE";
    case WR_T_DECIMAL: return avro ? NULL : "BIG_DECIMAL";
    case WR_T_BOOLEAN: return "BOOLEAN";
    case WR_T_TIMESTAMP: case WR_T_TIMESTAMP_LTZ: return avro && t.prec > 3 ? NULL : "TIMESTAMP";
    case WR_T_DATE: case WR_T_TIME: return avro ? NULL : "STRING";
    case WR_T_CHAR: case WR_T_VARCHAR: return "STRING";
    case WR_T_MAP: case WR_T_ROW: case WR_T_VARIANT: return "JSON";
    default: return NULL;
    }
}

static bool stored(const wr_column *c) { return c->kind == WR_COLUMN_PHYSICAL; }

/* The event-time column, if it is in the message; -1. */
static int32_t time_column(const wr_table *t) {
    if (t->watermark_column >= 0 && stored(&t->columns[t->watermark_column])) return t->watermark_column;
    for (uint32_t i = 0; i < t->n_columns; i++)
        if (stored(&t->columns[i]) && (t->columns[i].type.id == WR_T_TIMESTAMP || t->columns[i].type.id == WR_T_TIMESTAMP_LTZ)) return (int32_t)i;
    return -1;
}

/* An option of the format of values, with or without 'value.' in front. */
static wr_str value_option(const wr_table *t, const char *name, const char *value_name) {
    wr_str v = wr_table_option_get(t, name);
    return v.ptr ? v : wr_table_option_get(t, value_name);
}
static wr_str format_of(const wr_table *t) { return wr_str_trim(value_option(t, "format", "value.format")); }
static bool   is_avro(const wr_table *t) { return wr_str_eq(format_of(t), WR_STR("avro-confluent")); }
static wr_str registry_of(const wr_table *t) { return wr_str_trim(value_option(t, "avro-confluent.url", "value.avro-confluent.url")); }

static const char *store_name(wr_store store) { return store == WR_STORE_DRUID ? "Druid" : "Pinot"; }

static void check_column(wr_store store, const wr_table *t, const wr_column *c, wr_diags *d) {
    const char *name = store_name(store);
    bool        avro = is_avro(t), array = c->type.id == WR_T_ARRAY && store == WR_STORE_PINOT && pinot_type(c->type.kids[0], avro);
    if (!array && !(store == WR_STORE_DRUID ? druid_type(c->type, avro) : pinot_type(c->type, avro))) {
        wr_diags_add(d, WR_SEV_ERROR, "WR481", c->at, "column '%.*s' has a type that %s does not keep%s", WR_FMT(c->name), name, avro ? " as Avro writes it" : "");
        wr_diags_hint(d, "CAST it in the query that writes the table: to STRING, a number to DOUBLE, a time to TIMESTAMP(3)");
    } else if (store == WR_STORE_DRUID && c->type.id == WR_T_DECIMAL && c->type.scale) {
        wr_diags_add(d, WR_SEV_NOTE, "WR481", c->at, "column '%.*s' is a DECIMAL: Druid keeps it as text, so that no digit is lost; sum it with CAST(... AS DOUBLE), or write whole cents", WR_FMT(c->name));
    }
}

static bool check(wr_store store, const wr_table *t, int32_t time, wr_diags *d) {
    const char *name = store_name(store);
    uint32_t    errors = d->n_errors;
    wr_str      format = format_of(t), included = wr_table_option_get(t, "value.fields-include");
    if (!is_kafka(t)) {
        wr_diags_add(d, WR_SEV_ERROR, "WR480", t->at, "'%.*s' (%.*s) is no Kafka table: %s reads topics", WR_FMT(t->name), WR_FMT(t->connector), name);
        wr_diags_hint(d, "write the rows into a table with 'connector' = 'kafka' and export that");
        return false;
    }
    if (!wr_str_eq(format, WR_STR("json")) && !is_avro(t)) {
        wr_diags_add(d, WR_SEV_ERROR, "WR481", t->at, "%s is to read '%.*s' in the format '%.*s'; a spec is made for 'json' and 'avro-confluent'", name, WR_FMT(t->name), WR_FMT(format));
        wr_diags_hint(d, "'format' = 'json'; a changelog (debezium-json) has to become rows by key first: 'connector' = 'upsert-kafka'");
    }
    if (included.ptr && wr_str_ieq(wr_str_trim(included), WR_STR("EXCEPT_KEY"))) {
        wr_diags_add(d, WR_SEV_ERROR, "WR481", t->at, "the columns of the key are not in the messages' values ('value.fields-include' = 'EXCEPT_KEY'), and %s reads values", name);
        wr_diags_hint(d, "leave the option out: 'ALL' is the default");
    }
    if (time < 0) {
        wr_diags_add(d, WR_SEV_ERROR, "WR482", t->at, "%s keeps rows by time, and '%.*s' has no TIMESTAMP column in its messages", name, WR_FMT(t->name));
        wr_diags_hint(d, "add the event time as a column, or the message's time: ts TIMESTAMP_LTZ(3) as a column that is written");
    }
    if (store == WR_STORE_DRUID && is_upsert(t)) {
        wr_diags_add(d, WR_SEV_ERROR, "WR483", t->at, "Druid only adds rows: updates and deletions of '%.*s' would stand beside what they replace", WR_FMT(t->name));
        wr_diags_hint(d, "export final rows (a window's result, an append-only query), or use Pinot or ClickHouse, which replace rows by key");
    }
    for (uint32_t i = 0; i < t->n_columns; i++)
        if (stored(&t->columns[i])) check_column(store, t, &t->columns[i], d);
    return d->n_errors == errors;
}

/* ---- JSON ---- */
static void text(const char *key, wr_str value, wr_sbuf *out) { wr_sbuf_printf(out, "\"%s\": ", key), wr_sbuf_add_json(out, value); }
static wr_str topic_of(const wr_table *t) {
    wr_str topic = wr_table_option_get(t, "topic");
    return topic.ptr ? topic : t->name;
}
static wr_str brokers_of(const wr_table *t) {
    wr_str brokers = wr_table_option_get(t, "properties.bootstrap.servers");
    return brokers.ptr ? brokers : WR_STR("");
}

/* Of several registries all. */
static void druid_format(const wr_table *t, wr_sbuf *out) {
    wr_str urls = registry_of(t), url;
    if (!is_avro(t)) {
        wr_sbuf_addz(out, "{\"type\": \"json\"}");
        return;
    }
    wr_sbuf_addz(out, "{\"type\": \"avro_stream\", \"avroBytesDecoder\": {\"type\": \"schema_registry\", \"urls\": [");
    for (bool first = true; wr_str_next(&urls, ',', &url); first = false) wr_sbuf_addz(out, first ? "" : ", "), wr_sbuf_add_json(out, wr_str_trim(url));
    wr_sbuf_addz(out, "]}}");
}

static void druid(const wr_table *t, int32_t time, wr_sbuf *out) {
    wr_sbuf_addz(out, "{\n  \"type\": \"kafka\",\n  \"spec\": {\n    \"dataSchema\": {\n      "), text("dataSource", t->name, out);
    wr_sbuf_addz(out, ",\n      \"timestampSpec\": {"), text("column", t->columns[time].name, out), wr_sbuf_addz(out, ", \"format\": \"auto\"},\n      \"dimensionsSpec\": {\"dimensions\": [");
    for (uint32_t i = 0, n = 0; i < t->n_columns; i++) {
        if (!stored(&t->columns[i]) || (int32_t)i == time) continue;
        wr_sbuf_printf(out, "%s\n        {\"type\": \"%s\", ", n++ ? "," : "", druid_type(t->columns[i].type, is_avro(t))), text("name", t->columns[i].name, out), wr_sbuf_addc(out, '}');
    }
    wr_sbuf_addz(out, "\n      ]},\n      \"metricsSpec\": [],\n      \"granularitySpec\": {\"type\": \"uniform\", \"segmentGranularity\": \"HOUR\", \"queryGranularity\": \"NONE\", \"rollup\": false}\n    },\n"
                      "    \"ioConfig\": {\n      \"type\": \"kafka\",\n      ");
    text("topic", topic_of(t), out), wr_sbuf_addz(out, ",\n      \"inputFormat\": "), druid_format(t, out), wr_sbuf_addz(out, ",\n      \"consumerProperties\": {"), text("bootstrap.servers", brokers_of(t), out);
    wr_sbuf_addz(out, "},\n      \"useEarliestOffset\": true,\n      \"taskCount\": 1,\n      \"replicas\": 1,\n      \"taskDuration\": \"PT1H\"\n    },\n    \"tuningConfig\": {\"type\": \"kafka\", \"logParseExceptions\": true, \"maxParseExceptions\": 1000}\n  }\n}\n");
}

static void pinot_schema(const wr_table *t, int32_t time, wr_sbuf *out) {
    wr_sbuf_addz(out, "  \"schema\": {\n    "), text("schemaName", t->name, out), wr_sbuf_addz(out, ",\n    \"dimensionFieldSpecs\": [");
    for (uint32_t i = 0, n = 0; i < t->n_columns; i++) {
        const wr_column *c = &t->columns[i];
        bool             array = c->type.id == WR_T_ARRAY;
        if (!stored(c) || (int32_t)i == time) continue;
        wr_sbuf_printf(out, "%s\n      {", n++ ? "," : ""), text("name", c->name, out);
        wr_sbuf_printf(out, ", \"dataType\": \"%s\"%s}", pinot_type(array ? c->type.kids[0] : c->type, is_avro(t)), array ? ", \"singleValueField\": false" : "");
    }
    wr_sbuf_addz(out, "\n    ],\n    \"dateTimeFieldSpecs\": [{"), text("name", t->columns[time].name, out), wr_sbuf_addz(out, ", \"dataType\": \"TIMESTAMP\", \"format\": \"TIMESTAMP\", \"granularity\": \"1:MILLISECONDS\"}]");
    if (is_upsert(t)) {
        wr_sbuf_addz(out, ",\n    \"primaryKeyColumns\": [");
        for (uint32_t i = 0; i < t->n_key; i++) wr_sbuf_addz(out, i ? ", " : ""), wr_sbuf_add_json(out, t->columns[t->key[i]].name);
        wr_sbuf_addc(out, ']');
    }
    wr_sbuf_addz(out, "\n  },\n");
}

static void pinot(const wr_table *t, int32_t time, wr_sbuf *out) {
    wr_sbuf_addz(out, "{\n"), pinot_schema(t, time, out);
    wr_sbuf_addz(out, "  \"table\": {\n    "), text("tableName", t->name, out);
    wr_sbuf_addz(out, ",\n    \"tableType\": \"REALTIME\",\n    \"segmentsConfig\": {"), text("schemaName", t->name, out), wr_sbuf_addz(out, ", "), text("timeColumnName", t->columns[time].name, out);
    wr_sbuf_addz(out, ", \"replication\": \"1\"},\n    \"tenants\": {},\n    \"tableIndexConfig\": {\"loadMode\": \"MMAP\", \"nullHandlingEnabled\": true},\n    \"ingestionConfig\": {\"streamIngestionConfig\": {\"streamConfigMaps\": [{\n"
                      "      \"streamType\": \"kafka\",\n      ");
    text("stream.kafka.topic.name", topic_of(t), out), wr_sbuf_addz(out, ",\n      "), text("stream.kafka.broker.list", brokers_of(t), out);
    wr_sbuf_addz(out, ",\n      \"stream.kafka.consumer.type\": \"lowlevel\",\n      \"stream.kafka.consumer.prop.auto.offset.reset\": \"smallest\",\n"
                      "      \"stream.kafka.isolation.level\": \"read_committed\",\n"
                      "      \"stream.kafka.consumer.factory.class.name\": \"org.apache.pinot.plugin.stream.kafka30.KafkaConsumerFactory\",\n"
                      "      ");
    if (is_avro(t)) text("stream.kafka.decoder.prop.schema.registry.rest.url", registry_of(t), out), wr_sbuf_addz(out, ",\n      ");
    text("stream.kafka.decoder.class.name", is_avro(t) ? WR_STR("org.apache.pinot.plugin.inputformat.avro.confluent.KafkaConfluentSchemaRegistryAvroMessageDecoder") : WR_STR("org.apache.pinot.plugin.inputformat.json.JSONMessageDecoder"), out);
    wr_sbuf_addz(out, "\n    }]}},\n");
    if (is_upsert(t)) wr_sbuf_addz(out, "    \"upsertConfig\": {\"mode\": \"FULL\"},\n    \"routing\": {\"instanceSelectorType\": \"strictReplicaGroup\"},\n");
    wr_sbuf_addz(out, "    \"metadata\": {}\n  }\n}\n");
}

wr_status wr_export_store(wr_store store, const wr_table *t, wr_diags *diags, wr_sbuf *out) {
    int32_t time = time_column(t);
    if (!check(store, t, time, diags)) return WR_USER;
    if (is_upsert(t)) wr_diags_add(diags, WR_SEV_NOTE, "WR483", t->at, "deletions of '%.*s' are messages without a value, which Pinot skips: the row stays", WR_FMT(t->name));
    (store == WR_STORE_DRUID ? druid : pinot)(t, time, out);
    return WR_OK;
}
