/* connect/nats/nats.c: the connector 'nats': what it can do, and what `weir doctor` looks at; the work is in source.c and sink.c.   */
#include "connect/nats/lib.h"
#include "connect/probe.h"
#include "format/records.h"
#include <inttypes.h>

static wr_sink_takes takes(const wr_table_info *t) {
    wr_str format = option_text(t, wr_record_specs, wr_options_find(&t->options, "value.format") ? "value.format" : "format");
    return wr_str_eq(format, WR_STR("debezium-json")) ? WR_SINK_ALL : WR_SINK_APPEND;
}
static wr_guarantee guarantee(const wr_table_info *t) { return (void)t, WR_EXACTLY_ONCE; }
static bool         bounded(const wr_table_info *t) { return !wr_str_ieq(option_text(t, nats_specs, "scan.bounded.mode"), WR_STR("unbounded")); }

static void probe_stream(const nats_conn *conn, const nats_info *info, wr_probe_ctx *ctx) {
    bool sink = ctx->role == WR_ROLE_SINK;
    wr_find(ctx->out, WR_FOUND_FINE, "stream", "'%s' has %" PRIu64 " messages, %" PRIu64 " is the last", conn->stream, info->messages, info->last);
    if (!sink && !info->limits) {
        wr_find(ctx->out, WR_FOUND_FAULT, "retention", "messages of '%s' go when they are acknowledged, so they cannot be read again after a crash", conn->stream);
        wr_find_todo(ctx->out, "retention 'limits'");
    }
    if (sink && !info->takes_subject) {
        wr_find(ctx->out, WR_FOUND_FAULT, "subject", "'%s' is not a subject of the stream; it has %s", conn->subject, info->subjects[0] ? info->subjects : "none");
        wr_find_todo(ctx->out, "choose another 'subject', or: nats stream edit %s --subjects ...", conn->stream);
    }
    if (sink && info->window_us < NATS_WINDOW_LEAST_US) {
        wr_find(ctx->out, WR_FOUND_FAULT, "duplicates", "'%s' knows messages again for %" PRId64 " ms only, which is too short to write each row once", conn->stream, info->window_us / 1000);
        wr_find_todo(ctx->out, "10 s or more: nats stream edit %s --dupe-window 2m", conn->stream);
    } else if (sink && ctx->checkpoints && !info->limits) {
        wr_find(ctx->out, WR_FOUND_WARNING, "duplicates", "messages of '%s' go when they are acknowledged: rows of the last checkpoint are told from new ones for only %" PRId64 " s after a crash", conn->stream,
                info->window_us / 1000000);
        wr_find_todo(ctx->out, "retention 'limits', or a longer window: nats stream edit %s --dupe-window", conn->stream);
    }
}

static void probe(const wr_table_info *t, wr_probe_ctx *ctx) {
    nats_conn conn = {0};
    nats_info info;
    wr_err    err = {0};
    wr_status status = nats_open(&conn, t, ctx->connect->arena, ctx->connect, &err);
    if (status == WR_OK) status = nats_try(&conn, &err);
    if (status != WR_OK) {
        if (err.message[0]) wr_find_err(ctx->out, "server", &err);
        nats_close(&conn);
        return;
    }
    wr_find(ctx->out, WR_FOUND_FINE, "server", "it answers");
    if (nats_ask(&conn, &info, &err) != WR_OK) wr_find_err(ctx->out, "stream", &err);
    else probe_stream(&conn, &info, ctx);
    nats_close(&conn);
}

const wr_connector wr_connector_nats = {.name = "nats", .doc = "streams of NATS JetStream: read by own positions, written exactly once", .specs = nats_specs, .records = true,
                                        .metadata = nats_metadata, .source_new = nats_source_new, .sink_new = nats_sink_new, .takes = takes, .guarantee = guarantee, .bounded = bounded, .probe = probe,
                                        .lag_known = WR_LAG_TIME};
