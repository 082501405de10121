/* connect/ingest/source.c: the connector 'http-ingest': a table that takes rows over HTTP.
 *
 * Idea       the rows lie in a log (connect/log); the source of 'log' reads it, and this one has the endpoint beside it that fills it. So positions, checkpoints and
 *            replays are those of a log. The first source of a table in the process has the endpoint; others only read.
 * Listening  begins with the first next(): a source that is read up to a position (a backfill beside the running job), or to the end, never does.
 * Thread     as connect.h says.                                                                                                   */
#include "connect/ingest/ingest.h"
#include "sys/net.h"
#include "connect/log/connector.h"
#include "connect/probe.h"
#include "format/records.h"

typedef struct ingest_source {
    wr_source        base;
    wr_source       *inner;
    ingest_endpoint *endpoint;
    bool             started, reads_only;
    bool             counts;   /* the endpoint wants to know what has been read */
    wr_source_vt     vt;       /* without what the inner one cannot do */
} ingest_source;

static wr_source *inner(wr_source *base) { return ((ingest_source *)base)->inner; }

static wr_status start(ingest_source *s, wr_err *err) {
    bool mine;
    s->started = true;
    return ingest_endpoint_start(s->endpoint, &mine, err);
}

static wr_status source_next(wr_source *base, const uint64_t *held, wr_chunk *out, wr_next *state, int64_t *retry_us, wr_err *err) {
    ingest_source *s = (ingest_source *)base;
    if (!s->started && !s->reads_only) WR_TRY(start(s, err));
    WR_TRY(ingest_endpoint_broken(s->endpoint, err));
    WR_TRY(s->inner->vt->next(s->inner, held, out, state, retry_us, err));
    if (s->counts) {
        uint64_t done, total;
        s->inner->vt->progress(s->inner, &done, &total);
        ingest_endpoint_read(s->endpoint, done, total);
    }
    return WR_OK;
}
static wr_status source_decode(wr_source *b, uint32_t worker, const wr_chunk *chunk, wr_decoded *out, wr_err *err) { return inner(b)->vt->decode(inner(b), worker, chunk, out, err); }
static uint32_t  source_partitions(wr_source *b) { return inner(b)->vt->partitions(inner(b)); }
static void      source_partition_name(wr_source *b, uint32_t p, wr_sbuf *out) { inner(b)->vt->partition_name(inner(b), p, out); }
static bool      source_partition_done(wr_source *b, uint32_t p) { return inner(b)->vt->partition_done(inner(b), p); }
static void      source_save(wr_source *b, wr_sbuf *out) { inner(b)->vt->save(inner(b), out); }
static wr_status source_load(wr_source *b, wr_reader *in, wr_err *err) { return inner(b)->vt->load(inner(b), in, err); }
static wr_status source_until(wr_source *b, wr_reader *in, wr_err *err) {
    ((ingest_source *)b)->reads_only = true;
    return inner(b)->vt->until(inner(b), in, err);
}
static bool      source_at_limit(wr_source *b) { return inner(b)->vt->at_limit(inner(b)); }
static void      source_progress(wr_source *b, uint64_t *done, uint64_t *total) { inner(b)->vt->progress(inner(b), done, total); }
static bool      source_bounded(wr_source *b) { return inner(b)->vt->bounded(inner(b)); }

static void source_beside(wr_source *b, const wr_chunk *chunk, const wr_bad_record *bad, wr_str *raw, wr_str *key, wr_sbuf *context) { inner(b)->vt->beside(inner(b), chunk, bad, raw, key, context); }
static wr_status source_again(wr_source *b, const wr_again *record, wr_chunk *out, wr_err *err) { return inner(b)->vt->again(inner(b), record, out, err); }

static void source_lasting(wr_source *base, wr_str positions) {
    ingest_source *s = (ingest_source *)base;
    int64_t        next;
    if (log_saved_next(positions, 0, &next)) ingest_endpoint_consumed(s->endpoint, next);
}

static uint64_t source_turned_away(wr_source *b) { return ingest_endpoint_turned_away(((ingest_source *)b)->endpoint); }

static void source_describe(wr_source *base, wr_sbuf *out) {
    ingest_source *s = (ingest_source *)base;
    if (!s->reads_only) ingest_endpoint_describe(s->endpoint, out), wr_sbuf_addz(out, ", ");
    s->inner->vt->describe(s->inner, out);
}

static void source_close(wr_source *base) {
    ingest_source *s = (ingest_source *)base;
    if (s->inner) s->inner->vt->close(s->inner);
    ingest_endpoint_close(s->endpoint);
    wr_free(s);
}

static const wr_source_vt source_vt = {
    .name = "http-ingest", .next = source_next, .decode = source_decode, .partitions = source_partitions, .partition_name = source_partition_name, .partition_done = source_partition_done,
    .save = source_save, .load = source_load, .until = source_until, .at_limit = source_at_limit, .lasting = source_lasting, .describe = source_describe, .progress = source_progress,
    .bounded = source_bounded, .close = source_close, .beside = source_beside, .again = source_again, .turned_away = source_turned_away, .messages = true, .closes_door = true};

static wr_status check_format(const wr_table_info *t, wr_connect_ctx *ctx) {
    if (wr_str_eq(option_text(t, wr_record_specs, "format"), WR_STR("json"))) return WR_OK;
    wr_status status = option_error(ctx, t, "format", "WR125", "rows taken over HTTP are kept as 'json'");
    wr_diags_hint(ctx->diags, "'format' = 'json'; bodies may be JSON, NDJSON or CSV all the same");
    return status;
}

wr_status ingest_source_new(const wr_table_info *t, wr_connect_ctx *ctx, wr_source **out, wr_err *err) {
    *out = NULL;
    WR_TRY(check_format(t, ctx));
    ingest_source *s = wr_calloc(1, sizeof *s);
    *s = (ingest_source){.base = {&source_vt}};
    wr_status status = ingest_endpoint_new(t, ctx, &s->endpoint, err);
    if (status == WR_OK) status = log_source_new(t, ctx, &s->inner, err);
    s->reads_only = ctx->bounded_override;
    s->counts = wr_str_ieq(option_text(t, wr_source_specs, "overload.policy"), WR_STR("drop-newest"));
    if (status != WR_OK) {
        source_close(&s->base);
        return status;
    }
    s->vt = source_vt;
    if (!s->inner->vt->beside) s->vt.beside = NULL;
    if (!s->inner->vt->again) s->vt.again = NULL;
    s->base.vt = &s->vt;
    *out = &s->base;
    return WR_OK;
}

/* ---- the connector ---- */

const wr_option_spec ingest_specs[] = {
    {"path", "path", NULL, true, "directory of the log that keeps the rows; it is made"},
    {"listen", "string", "127.0.0.1:8090", false, "address and port; tables with the same one share it. Other machines: 0.0.0.0:8090"},
    {"endpoint", "string", NULL, false, "the path of the URL; default: / and the table's name"},
    {"token", "string", NULL, false, "asked of every request as Authorization: Bearer; must be there if other machines can reach it"},
    {"anonymous", "bool", "false", false, "other machines may write without a token"},
    {"tls.cert-file", "path", NULL, false, "certificate (PEM): HTTPS"},
    {"tls.key-file", "path", NULL, false, "its key; default: in the certificate's file"},
    {"max-body-bytes", "size", "16 MiB", false, "longer bodies are refused (413)"},
    {"log.max-bytes", "size", "1 GiB", false, "bytes of the log; when it has more, requests are put off (429)"},
    {"log.keep", "enum:consumed|all", "consumed", false, "consumed: what a checkpoint has read is removed; all: kept, for replays, until log.retention"},
    {"log.retention", "duration", NULL, false, "what was taken longer ago is removed, read or not; read when the log is made"},
    {"idempotency.keep", "duration", "1 h", false, "for how long a repeated Idempotency-Key is known"},
    {"scan.startup.mode", "enum:earliest-offset|latest-offset", "earliest-offset", false, "where a new job begins in the log"},
    {0}};

static bool bounded(const wr_table_info *t) { return (void)t, false; }

static void probe(const wr_table_info *t, wr_probe_ctx *ctx) {
    wr_arena *arena = ctx->connect->arena;
    wr_str    listen = option_text(t, ingest_specs, "listen"), path = option_text(t, ingest_specs, "path");
    bool      loopback;
    wr_err    err = {0};
    wr_probe_writable_dir(ctx->connect->world, wr_arena_strndup(arena, path.ptr, path.len), "directory", ctx->out);
    if (!wr_net_listen_ok(listen, &loopback)) {
        wr_find(ctx->out, WR_FOUND_FAULT, "listen", "'%.*s' is not an address to listen on", WR_FMT(listen));
        wr_find_todo(ctx->out, "'listen' = '127.0.0.1:8090'");
        return;
    }
    wr_http_server           *server;
    const wr_http_server_opts opts = {.listen = wr_arena_strndup(arena, listen.ptr, listen.len)};
    if (wr_http_server_get(ctx->connect->world, &opts, NULL, &server, &err) != WR_OK) {
        wr_find_err(ctx->out, "listen", &err);
        return;
    }
    wr_http_server_release(server);
    wr_find(ctx->out, WR_FOUND_FINE, "listen", "%.*s is free%s", WR_FMT(listen), loopback ? ", for programs of this machine only" : "");
}

const wr_connector wr_connector_ingest = {.name = "http-ingest", .doc = "a table that takes rows over HTTP (JSON, NDJSON, CSV) and answers when they are on disk", .specs = ingest_specs, .needs_format = true,
                                          .metadata = log_metadata, .source_new = ingest_source_new, .bounded = bounded, .probe = probe, .lag_known = WR_LAG_ROWS};
