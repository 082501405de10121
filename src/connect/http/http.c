/* connect/http/http.c: the connector 'http': rows as requests (sink.c), and a server that is asked by key (lookup.c): what it can do and its options.      */
#include "connect/http/target.h"
#include "connect/probe.h"
#include <stdio.h>

const wr_option_spec http_specs[] = {
    {"url", "string", NULL, true, "http:// or https://; look-ups: with {column} where the key's columns go"},
    {"method", "string", NULL, false, "sinks: POST (default), PUT, PATCH; look-ups: GET (default) or POST, which sends the keys as JSON"},
    {"header.*", "string", NULL, false, "a header of every request: 'header.X-Source' = 'weir'"},
    {"token", "string", NULL, false, "sent as Authorization: Bearer"},
    {"request-timeout", "duration", "30 s", false, "one try, to its last byte"},
    {"connect-timeout", "duration", "10 s", false, "a connection"},
    {"retry.attempts", "int", "10", false, "how often a request is tried in all; then the job stops. 0: without end"},
    {"retry.first-pause", "duration", "200 ms", false, "before the second try; doubles with each, half of it at random"},
    {"retry.max-pause", "duration", "30 s", false, "the longest pause"},
    {"retry.after-max", "duration", "10 min", false, "a server's Retry-After is waited for up to this"},
    {"retry.statuses", "string", "408,425,429,500-599", false, "answers that are tried again, as no answer is"},
    {"refused.statuses", "string", "400,413,422", false, "sinks: answers that speak of the rows sent: 'on-error' says what becomes of them; other answers stop the job"},
    {"tls.ca-file", "path", NULL, false, "certificates to trust, instead of the system's"},
    {"tls.cert-file", "path", NULL, false, "a certificate of ours"},
    {"tls.key-file", "path", NULL, false, "its key"},
    {"body", "enum:lines|array|single", "lines", false, "sinks: records of a request one a line, as a JSON array, or one record a request"},
    {"content-type", "string", NULL, false, "sinks: instead of what body and format say"},
    {"sink.batch.max-rows", "int", "500", false, "most rows of a request"},
    {"sink.batch.max-bytes", "size", "1 MiB", false, "most bytes of a request; one row may be longer"},
    {"sink.parallel", "int", "1", false, "requests at the same time; with more than 1 their order is not kept"},
    {"sink.split-refused", "bool", "true", false, "refused rows are sent again in halves, until the one is found that is meant"},
    {"sink.idempotency-header", "string", "Idempotency-Key", false, "the header with a request's key: the same for each try, and after a restore for the same rows; empty: none"},
    {"sink.idempotency-id", "string", NULL, false, "begins the keys; default: at random for a job that starts anew"},
    {"lookup.parallel", "int", "8", false, "look-ups: requests at the same time"},
    {"lookup.keys-per-request", "int", "1", false, "look-ups: more than 1 if the server can answer for several keys: {column} becomes a list with commas, or the body an array"},
    {"lookup.result-path", "string", "", false, "look-ups: the member of the answer that holds the rows: 'data.items'"},
    {"lookup.max-reply-bytes", "size", "16 MiB", false, "look-ups: longer answers are an error"},
    {0}};

static bool read_codes(const wr_table_info *t, wr_connect_ctx *ctx, const char *key, wr_http_codes *out) {
    if (wr_http_codes_read(option_text(t, http_specs, key), out)) return true;
    (void)option_error(ctx, t, key, "WR121", "option '%s' is a list of HTTP statuses: '429,500-599'", key);
    return false;
}

static bool read_policy(http_target *out, const wr_table_info *t, wr_connect_ctx *ctx, wr_arena *arena) {
    wr_http_policy   *p = &out->policy;
    const wr_options *o = &t->options;
    int64_t           attempts;
    bool ok = wr_option_int(o, http_specs, "retry.attempts", &attempts, ctx->diags) && wr_option_duration(o, http_specs, "retry.first-pause", &p->first_pause_us, ctx->diags) &&
              wr_option_duration(o, http_specs, "retry.max-pause", &p->pause_max_us, ctx->diags) && wr_option_duration(o, http_specs, "retry.after-max", &p->retry_after_max_us, ctx->diags) &&
              wr_option_duration(o, http_specs, "request-timeout", &p->timeout_us, ctx->diags) && wr_option_duration(o, http_specs, "connect-timeout", &p->connect_us, ctx->diags) &&
              read_codes(t, ctx, "retry.statuses", &p->again) && read_codes(t, ctx, "refused.statuses", &out->refused);
    if (!ok) return false;
    if (attempts < 0 || attempts > 1000000) return option_error(ctx, t, "retry.attempts", "WR121", "'retry.attempts' is 0 (without end) to 1000000"), false;
    p->attempts = (uint32_t)attempts;
    p->first_pause_us = WR_MAX(p->first_pause_us, 1000);
    const struct { const char *key, **to; } files[] = {{"tls.ca-file", &p->who.ca_file}, {"tls.cert-file", &p->who.cert_file}, {"tls.key-file", &p->who.key_file}};
    for (size_t i = 0; i < WR_COUNT_OF(files); i++) {
        wr_str path = option_text(t, http_specs, files[i].key);
        if (path.len) *files[i].to = wr_arena_strndup(arena, path.ptr, path.len);
    }
    return true;
}

/* A line break would begin a header of its own. */
static bool is_header_text(wr_str s) {
    for (size_t i = 0; i < s.len; i++)
        if ((unsigned char)s.ptr[i] < ' ' && s.ptr[i] != '\t') return false;
    return true;
}

static wr_status read_headers(http_target *out, const wr_table_info *t, wr_connect_ctx *ctx, wr_arena *arena) {
    static const wr_str prefix = {"header.", 7};
    wr_str token = option_text(t, http_specs, "token");
    for (uint32_t i = 0; i < t->options.n; i++) {
        const wr_option *o = &t->options.at[i];
        if (!wr_str_starts(o->key, prefix)) continue;
        wr_str name = {o->key.ptr + prefix.len, o->key.len - prefix.len}, value = wr_str_trim(o->value);
        bool   good = is_header_text(name) && is_header_text(value) && !memchr(name.ptr, ':', name.len) && !memchr(name.ptr, ' ', name.len);
        if (!good || out->n_headers == HTTP_HEADERS_MAX - 1) {
            wr_diags_add(ctx->diags, WR_SEV_ERROR, "WR121", o->at, "table '%.*s': '%.*s' %s", WR_FMT(t->name), WR_FMT(o->key), good ? "is one header too many" : "cannot be a header");
            return WR_USER;
        }
        out->has_content_type |= wr_str_ieq(name, WR_STR("content-type"));
        out->headers[out->n_headers++] = wr_arena_printf(arena, value.len ? "%.*s: %.*s" : "%.*s;%.*s", WR_FMT(name), WR_FMT(value));
    }
    if (!token.len) return WR_OK;
    if (!is_header_text(token)) return option_error(ctx, t, "token", "WR121", "'token' cannot be a header");
    out->policy.who.bearer = wr_arena_strndup(arena, token.ptr, token.len);
    return WR_OK;
}

wr_status http_target_read(http_target *out, const wr_table_info *t, wr_connect_ctx *ctx, wr_arena *arena, const char *parallel_key) {
    *out = (http_target){.url = wr_str_dup(arena, option_text(t, http_specs, "url"))};
    wr_sbuf shown = {0};
    int64_t parallel;
    if (!wr_http_is_url(out->url)) {
        wr_status status = option_error(ctx, t, "url", "WR121", "'url' is not the address of an HTTP server");
        wr_diags_hint(ctx->diags, "http://HOST[:PORT]/PATH or https://...; what is not plain in a URL is written as %%20");
        return status;
    }
    wr_http_show_url(&shown, out->url);
    out->shown = wr_arena_strndup(arena, shown.at, shown.len);
    wr_sbuf_free(&shown);
    if (!read_policy(out, t, ctx, arena) || !wr_option_int(&t->options, http_specs, parallel_key, &parallel, ctx->diags)) return WR_USER;
    if (parallel < 1 || parallel > HTTP_PARALLEL_MAX) return option_error(ctx, t, parallel_key, "WR121", "'%s' is 1 to %d", parallel_key, HTTP_PARALLEL_MAX);
    out->parallel = (uint32_t)parallel;
    return read_headers(out, t, ctx, arena);
}

void http_show_reply(wr_str reply, char *out, size_t cap) {
    size_t n = 0;
    reply = wr_str_trim(reply);
    for (size_t i = 0; i < reply.len && n + 1 < cap && n < 200; i++) out[n++] = (unsigned char)reply.ptr[i] < ' ' || reply.ptr[i] == 127 ? ' ' : reply.ptr[i];
    if (n < reply.len)
        while (n && (out[n - 1] & 0x80)) n--; /* no half character */
    out[n] = 0;
}

static const wr_format *format_of(const wr_table_info *t) {
    const wr_option *o = wr_options_find(&t->options, "format");
    return o ? wr_format_find(wr_str_trim(o->value)) : NULL;
}

static wr_sink_takes takes(const wr_table_info *t) {
    const wr_format *f = format_of(t);
    return !f || f->changes == WR_FORMAT_APPEND ? WR_SINK_APPEND : f->changes == WR_FORMAT_UPSERT ? WR_SINK_UPSERT : WR_SINK_ALL;
}
static wr_guarantee guarantee(const wr_table_info *t) { return (void)t, WR_AT_LEAST_ONCE; }

/* ---- weir doctor: HEAD changes nothing; any answer says that somebody is there ---- */
static void probe(const wr_table_info *t, wr_probe_ctx *ctx) {
    http_target target;
    wr_http_client *client;
    wr_err      err = {0};
    wr_arena   *arena = ctx->connect->arena;
    if (http_target_read(&target, t, ctx->connect, arena, ctx->role == WR_ROLE_LOOKUP ? "lookup.parallel" : "sink.parallel") != WR_OK) return;
    target.policy.attempts = 1, target.policy.timeout_us = target.policy.connect_us = ctx->timeout_us;
    if (wr_http_client_new(ctx->connect->world, &target.policy, &client, &err) != WR_OK) {
        wr_find_err(ctx->out, "server", &err);
        return;
    }
    const char  *brace = memchr(target.url.ptr, '{', target.url.len); /* of a look-up: as far as it is the same for all keys */
    wr_http_call call = {.method = "HEAD", .url = wr_arena_strndup(arena, target.url.ptr, brace ? (size_t)(brace - target.url.ptr) : target.url.len), .headers = target.headers, .reply_max = 4096};
    wr_http_begin(client, &call);
    while (wr_http_step(client, 100000)) {}
    if (!call.status) {
        wr_find(ctx->out, WR_FOUND_FAULT, "server", "no answer from %s: %s", target.shown, call.why);
        wr_find_todo(ctx->out, "start the server, or put 'url' right");
    } else {
        wr_find(ctx->out, WR_FOUND_FINE, "server", "%s answers (HTTP %ld to HEAD)", target.shown, call.status);
    }
    if (call.status == 401 || call.status == 403) {
        wr_find(ctx->out, WR_FOUND_FAULT, "credentials", "the server refuses them: HTTP %ld", call.status);
        wr_find_todo(ctx->out, "put 'token' or 'header.Authorization' right");
    }
    wr_sbuf_free(&call.reply);
    wr_http_client_free(client);
}

const wr_connector wr_connector_http = {.name = "http", .doc = "rows as requests to an HTTP server (webhook), at least once with keys against doubling; or a server that is asked by key", .specs = http_specs,
                                        .needs_format = true, .sink_new = http_sink_new, .takes = takes, .guarantee = guarantee, .lookup_new = http_lookup_new, .probe = probe};
