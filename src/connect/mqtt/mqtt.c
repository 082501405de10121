/* connect/mqtt/mqtt.c: the connector 'mqtt': what it can do, and what `weir doctor` looks at; the work is in feed.c and sink.c.   */
#include "connect/mqtt/lib.h"
#include "connect/probe.h"
#include "format/records.h"

static wr_sink_takes takes(const wr_table_info *t) {
    wr_str format = option_text(t, wr_record_specs, wr_options_find(&t->options, "value.format") ? "value.format" : "format");
    return wr_str_eq(format, WR_STR("debezium-json")) ? WR_SINK_ALL : WR_SINK_APPEND;
}
static wr_guarantee guarantee(const wr_table_info *t) { return (void)t, WR_AT_LEAST_ONCE; }
static bool         bounded(const wr_table_info *t) { return (void)t, false; }

/* As a client of its own: the source's session is left alone. */
static void probe(const wr_table_info *t, wr_probe_ctx *ctx) {
    mqtt_conn conn = {0};
    wr_arena *arena = ctx->connect->arena;
    wr_err    err = {0};
    wr_str    path = option_text(t, mqtt_specs, "path");
    if (ctx->role != WR_ROLE_SINK && path.len) wr_probe_writable_dir(ctx->connect->world, wr_arena_strndup(arena, path.ptr, path.len), "directory", ctx->out);
    wr_status status = mqtt_open(&conn, t, arena, ctx->connect, &err);
    if (status == WR_OK) status = mqtt_try(&conn, &err);
    if (status == WR_OK) wr_find(ctx->out, WR_FOUND_FINE, "server", "%s:%d answers", conn.host, conn.port);
    else if (err.message[0]) wr_find_err(ctx->out, "server", &err);
    mqtt_close(&conn, true);
}

const wr_connector wr_connector_mqtt = {.name = "mqtt", .doc = "topics of an MQTT broker: read by way of a log, written at least once", .specs = mqtt_specs, .records = true, .metadata = mqtt_metadata,
                                        .source_new = mqtt_source_new, .sink_new = mqtt_sink_new, .takes = takes, .guarantee = guarantee, .bounded = bounded, .probe = probe, .lag_known = WR_LAG_ROWS};
