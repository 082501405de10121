/* connect/redis/redis.c: the connector 'redis-streams': what it can do, and what `weir doctor` looks at; the work is in source.c and sink.c.   */
#include "connect/probe.h"
#include "connect/redis/lib.h"
#include "format/records.h"

static wr_sink_takes takes(const wr_table_info *t) {
    wr_str format = option_text(t, wr_record_specs, wr_options_find(&t->options, "value.format") ? "value.format" : "format");
    return wr_str_eq(format, WR_STR("debezium-json")) ? WR_SINK_ALL : WR_SINK_APPEND;
}
static wr_guarantee guarantee(const wr_table_info *t) { return (void)t, WR_EXACTLY_ONCE; }
static bool         bounded(const wr_table_info *t) { return !wr_str_ieq(option_text(t, redis_specs, "scan.bounded.mode"), WR_STR("unbounded")); }

static void probe_stream(redis_conn *conn, const char *key, wr_probe_ctx *ctx) {
    redisReply *r;
    wr_err      err = {0};
    if (redis_call(conn, "look at the stream", &r, &err, "TYPE", key, NULL) != WR_OK) {
        wr_find_err(ctx->out, "stream", &err);
        return;
    }
    bool none = r->type == REDIS_REPLY_STATUS && !strcmp(r->str, "none"), stream = r->type == REDIS_REPLY_STATUS && !strcmp(r->str, "stream");
    if (!none && !stream) {
        wr_find(ctx->out, WR_FOUND_FAULT, "stream", "the key '%s' holds a %s, not a stream", key, r->type == REDIS_REPLY_STATUS ? r->str : "?");
        wr_find_todo(ctx->out, "choose another 'stream'");
    } else if (none) {
        wr_find(ctx->out, WR_FOUND_NOTE, "stream", ctx->role == WR_ROLE_SINK ? "there is no '%s' yet: the first row makes it" : "there is no '%s' yet: its first entry will be read", key);
    } else {
        redis.free_reply(r);
        if (redis_call(conn, "look at the stream", &r, &err, "XLEN", key, NULL) != WR_OK) {
            wr_find_err(ctx->out, "stream", &err);
            return;
        }
        wr_find(ctx->out, WR_FOUND_FINE, "stream", "'%s' has %lld entries", key, r->type == REDIS_REPLY_INTEGER ? r->integer : 0);
    }
    redis.free_reply(r);
}

static void probe(const wr_table_info *t, wr_probe_ctx *ctx) {
    redis_conn conn = {0};
    wr_arena  *arena = ctx->connect->arena;
    wr_err     err = {0};
    wr_status  status = redis_open(&conn, t, arena, ctx->connect, &err);
    if (status == WR_OK) status = redis_try(&conn, &err);
    if (status != WR_OK) {
        if (err.message[0]) wr_find_err(ctx->out, "server", &err);
        redis_close(&conn);
        return;
    }
    wr_find(ctx->out, WR_FOUND_FINE, "server", "%s:%d answers", conn.host, conn.port);
    wr_str list = option_text(t, redis_specs, "stream"), key;
    for (; wr_str_next(&list, ';', &key);)
        if (key.len && !redis_lost(&conn)) probe_stream(&conn, wr_arena_strndup(arena, key.ptr, key.len), ctx);
    redis_close(&conn);
}

const wr_connector wr_connector_redis = {.name = "redis-streams", .doc = "streams of Redis: read by own positions, written exactly once", .specs = redis_specs, .records = true,
                                         .metadata = redis_metadata, .source_new = redis_source_new, .sink_new = redis_sink_new, .takes = takes, .guarantee = guarantee, .bounded = bounded, .probe = probe,
                                         .lag_known = WR_LAG_TIME};
