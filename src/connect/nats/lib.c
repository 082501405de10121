/* connect/nats/lib.c: see lib.h.                                                                                             */
#include "connect/nats/lib.h"
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { TIMEOUT_MS = 2000, PING_MS = 5000, FETCH = 4096, REQUEST_BYTES = 8 << 20, SLACK_US = 5000000 };

nats_table            nats;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static const char    *missing;

static void load(void) {
#define F(name) {#name, &nats.name},
    static const wr_import imports[] = {NATS_FUNCTIONS(F)};
#undef F
#define TEXT(x) #x
#define SONAME(a, b) "libnats.so." TEXT(a) "." TEXT(b)
    missing = wr_library_import(SONAME(NATS_VERSION_MAJOR, NATS_VERSION_MINOR), imports, WR_COUNT_OF(imports)); /* the version of the headers: options are structures */
#undef SONAME
#undef TEXT
}

static wr_status nats_load(wr_err *err) {
    pthread_once(&once, load);
    if (!missing) return WR_OK;
    wr_fail(err, WR_IO, "WR355", "a table of NATS needs the library cnats, and it was not found");
    wr_err_hint(err, "apt-get install libnats3.4");
    return WR_IO;
}

/* ---- options ---- */

const wr_option_spec nats_specs[] = {
    {"stream", "string", NULL, true, "the JetStream stream; it must be there"},
    {"subject", "string", "", false, "sink: what rows are published as (required); source: only messages of these subjects, as in orders.*; without it all of the stream"},
    {"url", "string", "nats://localhost:4222", false, "nats://[user[:password]@]host[:port], or tls://; several servers of one cluster with ','"},
    {"user", "string", "", false, "in place of the one in the URL"},
    {"password", "string", "", false, "of 'user'; ${NAME} takes it from --set"},
    {"token", "string", "", false, "for a server that asks for a token"},
    {"credentials", "string", "", false, "a file of credentials (.creds)"},
    {"tls.ca", "string", "", false, "a file with the certificates that the server's is checked against"},
    {"scan.startup.mode", "enum:earliest-offset|latest-offset|timestamp|specific-offsets", "earliest-offset", false, "where a new job begins"},
    {"scan.startup.timestamp-millis", "int", "0", false, "with 'timestamp': the first messages that are not older"},
    {"scan.startup.sequence", "int", "0", false, "with 'specific-offsets': the sequence number of the first message"},
    {"scan.bounded.mode", "enum:unbounded|latest-offset", "unbounded", false, "latest-offset: reading ends at what there is when the job begins"},
    {"sink.unknown-commit", "enum:fail|write", "fail", false, "when it cannot be told after a crash which rows of the last checkpoint are in the stream: stop, or write those that may be missing (some may come twice)"},
    {"connection.max-retry-timeout", "duration", "60 s", false, "how long a lost connection is tried again"},
    {0}};
const char *const nats_metadata[] = {"stream", "subject", "sequence", "timestamp", "headers", NULL};

static const char *text_option(const wr_table_info *t, const char *key, wr_arena *arena) {
    wr_str v = option_text(t, nats_specs, key);
    return wr_arena_strndup(arena, v.ptr, v.len);
}

wr_status nats_open(nats_conn *conn, const wr_table_info *t, wr_arena *arena, wr_connect_ctx *ctx, wr_err *err) {
    *conn = (nats_conn){.world = ctx->world, .name = t->name, .at = t->at};
    conn->url = text_option(t, "url", arena), conn->stream = text_option(t, "stream", arena), conn->subject = text_option(t, "subject", arena);
    conn->user = text_option(t, "user", arena), conn->password = text_option(t, "password", arena), conn->token = text_option(t, "token", arena);
    conn->credentials = text_option(t, "credentials", arena), conn->ca = text_option(t, "tls.ca", arena);
    if (!conn->stream[0] || strpbrk(conn->stream, " .*>/\\\t")) return option_error(ctx, t, "stream", "WR121", "a stream's name has no spaces, no points and none of * > / \\");
    if (strpbrk(conn->subject, " \t\r\n")) return option_error(ctx, t, "subject", "WR121", "a subject has no spaces");
    if (wr_options_find(&t->options, "key.format")) return option_error(ctx, t, "key.format", "WR122", "a message of NATS has no key");
    if (!wr_option_duration(&t->options, nats_specs, "connection.max-retry-timeout", &conn->retry_us, ctx->diags)) return WR_USER;
    return nats_load(err);
}

/* ---- connections ---- */

bool nats_lost(const nats_conn *conn) { return !conn->c || nats.natsConnection_IsClosed(conn->c); }

void nats_close(nats_conn *conn) {
    if (conn->js) nats.jsCtx_Destroy(conn->js);
    if (conn->c) nats.natsConnection_Destroy(conn->c);
    conn->js = NULL;
    conn->c = NULL;
}

static bool passes(natsStatus said, jsErrCode code) {
    if (code == JSClusterNotAvailErr || code == JSStreamOfflineErr) return true;
    return said == NATS_IO_ERROR || said == NATS_CONNECTION_CLOSED || said == NATS_NO_SERVER || said == NATS_STALE_CONNECTION || said == NATS_CONNECTION_DISCONNECTED || said == NATS_TIMEOUT ||
           said == NATS_NO_RESPONDERS || said == NATS_INVALID_SUBSCRIPTION || said == NATS_PROTOCOL_ERROR;
}

static void advise(const nats_conn *conn, natsStatus said, jsErrCode code, wr_err *err) {
    if (said == NATS_CONNECTION_AUTH_FAILED) wr_err_hint(err, "are 'user' and 'password', 'token' or 'credentials' right?");
    else if (said == NATS_NOT_PERMITTED) wr_err_hint(err, "the user needs the rights to use the subject and $JS.API.>");
    else if (code == JSStreamNotFoundErr) wr_err_hint(err, "make it, as in: nats stream add %s --subjects '%s.>'", conn->stream, conn->stream);
    else if (said == NATS_NO_RESPONDERS || code == JSNotEnabledErr || code == JSNotEnabledForAccountErr) wr_err_hint(err, "is JetStream on? (nats-server -js)");
    else if (said == NATS_SSL_ERROR || said == NATS_SECURE_CONNECTION_REQUIRED || said == NATS_SECURE_CONNECTION_WANTED) wr_err_hint(err, "tls:// in 'url', and 'tls.ca'");
    else if (passes(said, code)) wr_err_hint(err, "is the server up, and 'url' right?");
}

wr_status nats_fail(nats_conn *conn, natsStatus said, jsErrCode code, const char *doing, wr_err *err) {
    natsStatus  last = NATS_OK;
    const char *detail = nats.nats_GetLastError(&last), *text = nats.natsStatus_GetText(said);
    wr_status   status = detail && *detail && last == said ? wr_fail(err, WR_IO, "WR356", "table '%.*s': cannot %s in NATS: %s (%.200s)", WR_FMT(conn->name), doing, text, detail)
                                                           : wr_fail(err, WR_IO, "WR356", "table '%.*s': cannot %s in NATS: %s", WR_FMT(conn->name), doing, text);
    if (!err) return status;
    err->at = conn->at;
    err->retriable = nats_lost(conn) ? said != NATS_CONNECTION_AUTH_FAILED && said != NATS_SSL_ERROR && said != NATS_INVALID_ARG : passes(said, code);
    advise(conn, said, code, err);
    return status;
}

static natsStatus set_options(nats_conn *conn, natsOptions *o) {
    natsStatus said = nats.natsOptions_SetURL(o, conn->url);
    if (said == NATS_OK) said = nats.natsOptions_SetName(o, "weir");
    if (said == NATS_OK) said = nats.natsOptions_SetTimeout(o, TIMEOUT_MS);
    if (said == NATS_OK) said = nats.natsOptions_SetPingInterval(o, PING_MS);
    if (said == NATS_OK) said = nats.natsOptions_SetAllowReconnect(o, false);
    if (said == NATS_OK && (conn->user[0] || conn->password[0])) said = nats.natsOptions_SetUserInfo(o, conn->user, conn->password);
    if (said == NATS_OK && conn->token[0]) said = nats.natsOptions_SetToken(o, conn->token);
    if (said == NATS_OK && conn->credentials[0]) said = nats.natsOptions_SetUserCredentialsFromFiles(o, conn->credentials, NULL);
    if (said == NATS_OK && (conn->ca[0] || !strncmp(conn->url, "tls://", 6))) said = nats.natsOptions_SetSecure(o, true);
    if (said == NATS_OK && conn->ca[0]) said = nats.natsOptions_LoadCATrustedCertificates(o, conn->ca);
    return said;
}

wr_status nats_try(nats_conn *conn, wr_err *err) {
    natsOptions *o = NULL;
    jsOptions    js;
    nats_close(conn);
    natsStatus said = nats.natsOptions_Create(&o);
    if (said == NATS_OK) said = set_options(conn, o);
    if (said == NATS_OK) said = nats.natsConnection_Connect(&conn->c, o);
    if (said == NATS_OK) said = nats.jsOptions_Init(&js);
    js.Wait = TIMEOUT_MS;
    if (said == NATS_OK) said = nats.natsConnection_JetStream(&conn->js, conn->c, &js);
    if (o) nats.natsOptions_Destroy(o);
    return said == NATS_OK ? WR_OK : nats_fail(conn, said, 0, "connect", err);
}

wr_status nats_connect(nats_conn *conn, wr_err *err) {
    int64_t until = wr_mono_us(conn->world) + conn->retry_us, wait = 50000;
    wr_err  own = {0}, *e = err ? err : &own;
    while (nats_lost(conn)) {
        wr_status status = nats_try(conn, e);
        if (status == WR_OK) break;
        if (!e->retriable || wr_mono_us(conn->world) + wait > until) return status;
        conn->world->vt->sleep_us(conn->world, wait);
        wait = WR_MIN(wait * 2, INT64_C(2000000));
    }
    return WR_OK;
}

void nats_release(const char **list) {
    void (*give_back)(void *) = free; /* not of ours: the library's */
    give_back((void *)(uintptr_t)list);
}

bool nats_matches(const char *pattern, const char *subject) {
    for (;;) {
        size_t p = strcspn(pattern, "."), s = strcspn(subject, ".");
        if (p == 1 && *pattern == '>') return s > 0;
        bool   one = p == 1 && *pattern == '*';
        if (!s || (!one && (p != s || memcmp(pattern, subject, p) != 0))) return false;
        if (!pattern[p] || !subject[s]) return pattern[p] == subject[s];
        pattern += p + 1;
        subject += s + 1;
    }
}

wr_status nats_ask(nats_conn *conn, nats_info *out, wr_err *err) {
    jsStreamInfo *info = NULL;
    jsErrCode     code = 0;
    *out = (nats_info){0};
    natsStatus said = nats.js_GetStreamInfo(&info, conn->js, conn->stream, NULL, &code);
    if (said != NATS_OK && code == JSStreamNotFoundErr) {
        wr_fail(err, WR_IO, "WR356", "table '%.*s': NATS has no stream '%s'", WR_FMT(conn->name), conn->stream);
        if (err) err->at = conn->at;
        advise(conn, said, code, err);
        return WR_IO;
    }
    if (said != NATS_OK) return nats_fail(conn, said, code, "look at the stream", err);
    const jsStreamConfig *c = info->Config;
    out->messages = info->State.Msgs, out->first = info->State.FirstSeq, out->last = info->State.LastSeq;
    if (!out->messages) out->first = out->last + 1;
    out->created_ns = info->Created;
    out->window_us = c->Duplicates / 1000;
    out->max_payload = nats.natsConnection_GetMaxPayload(conn->c);
    if (c->MaxMsgSize > 0) out->max_payload = WR_MIN(out->max_payload, (int64_t)c->MaxMsgSize);
    out->limits = c->Retention == js_LimitsPolicy;
    out->replaces = c->MaxMsgsPerSubject > 0;
    for (int i = 0; i < c->SubjectsLen; i++) {
        size_t at = strlen(out->subjects);
        out->takes_subject |= nats_matches(c->Subjects[i], conn->subject);
        snprintf(out->subjects + at, sizeof out->subjects - at, "%s%s", i ? ", " : "", c->Subjects[i]);
    }
    nats.jsStreamInfo_Destroy(info);
    return WR_OK;
}

/* ---- reading a stream ---- */

wr_status nats_reader_open(nats_reader *r, nats_conn *conn, uint64_t first, int64_t from_ns, bool headers_only, int64_t expires_us, wr_err *err) {
    jsConsumerConfig config;
    jsConsumerInfo  *info = NULL;
    jsErrCode        code = 0;
    *r = (nats_reader){.expires_us = expires_us};
    natsStatus said = nats.natsInbox_Create(&r->inbox);
    if (said == NATS_OK) said = nats.natsConnection_SubscribeSync(&r->sub, conn->c, r->inbox);
    if (said == NATS_OK) said = nats.natsSubscription_SetPendingLimits(r->sub, -1, -1); /* a request is bounded */
    if (said == NATS_OK) said = nats.jsConsumerConfig_Init(&config);
    if (said == NATS_OK) {
        config.AckPolicy = js_AckNone;
        config.DeliverPolicy = first ? js_DeliverByStartSequence : js_DeliverByStartTime;
        if (first) config.OptStartSeq = first;
        else config.OptStartTime = from_ns - from_ns % 1000000000; /* cnats 3.4.1 writes fractions of a second without their leading zeros */
        config.FilterSubject = conn->subject[0] ? conn->subject : NULL;
        config.HeadersOnly = headers_only;
        config.InactiveThreshold = INT64_C(300) * 1000000000; /* it goes by itself when the job does not come back */
        config.MemoryStorage = true;
        config.Replicas = 1;
        said = nats.js_AddConsumer(&info, conn->js, conn->stream, &config, NULL, &code);
    }
    if (said != NATS_OK) {
        wr_status status = nats_fail(conn, said, code, "read the stream", err);
        nats_reader_close(r, conn);
        return status;
    }
    snprintf(r->consumer, sizeof r->consumer, "%s", info->Name);
    r->pending = info->NumPending;
    nats.jsConsumerInfo_Destroy(info);
    return WR_OK;
}

void nats_reader_close(nats_reader *r, nats_conn *conn) {
    if (r->consumer[0] && !nats_lost(conn)) (void)nats.js_DeleteConsumer(conn->js, conn->stream, r->consumer, NULL, NULL);
    if (r->sub) nats.natsSubscription_Destroy(r->sub);
    if (r->inbox) nats.natsInbox_Destroy(r->inbox);
    *r = (nats_reader){0};
}

wr_status nats_reader_pending(nats_reader *r, nats_conn *conn, uint64_t *out, wr_err *err) {
    jsConsumerInfo *info = NULL;
    jsErrCode       code = 0;
    natsStatus      said = nats.js_GetConsumerInfo(&info, conn->js, conn->stream, r->consumer, NULL, &code);
    if (said != NATS_OK) {
        wr_status status = nats_fail(conn, said, code, "look at the consumer", err);
        if (err && code == JSConsumerNotFoundErr) err->retriable = true;
        return status;
    }
    *out = info->NumPending;
    nats.jsConsumerInfo_Destroy(info);
    return WR_OK;
}

static wr_status ask(nats_reader *r, nats_conn *conn, wr_err *err) {
    char subject[400], request[128];
    int  bytes = (int)WR_MAX((int64_t)REQUEST_BYTES, nats.natsConnection_GetMaxPayload(conn->c) + 65536); /* one of any size fits */
    snprintf(subject, sizeof subject, "$JS.API.CONSUMER.MSG.NEXT.%.150s.%s", conn->stream, r->consumer);
    int        len = snprintf(request, sizeof request, "{\"batch\":%d,\"max_bytes\":%d,\"expires\":%" PRId64 "}", FETCH, bytes, r->expires_us * 1000);
    natsStatus said = nats.natsConnection_PublishRequest(conn->c, subject, r->inbox, request, len);
    if (said != NATS_OK) return nats_fail(conn, said, 0, "ask for messages", err);
    r->wanted = FETCH;
    r->asked_us = wr_mono_us(conn->world);
    return WR_OK;
}

/* $JS.ACK.[domain.account.]stream.consumer.delivered.SEQUENCE.COUNT.TIME.PENDING[.token] */
bool nats_parse_reply(const char *reply, nats_message *out, uint64_t *count, uint64_t *pending) {
    const char *token[12];
    int         n = 0;
    if (!reply || strncmp(reply, "$JS.ACK.", 8) != 0) return false;
    for (const char *at = reply; at && n < 12; n++) {
        token[n] = at;
        at = strchr(at, '.');
        if (at) at++;
    }
    int from = n == 9 ? 5 : 7;
    if (n < 9 || n == 10) return false;
    out->sequence = strtoull(token[from], NULL, 10);
    *count = strtoull(token[from + 1], NULL, 10);
    out->timestamp_ns = strtoll(token[from + 2], NULL, 10);
    *pending = strtoull(token[from + 3], NULL, 10);
    return out->sequence > 0;
}

static wr_status broken(nats_conn *conn, const char *why, wr_err *err) {
    wr_status status = wr_fail(err, WR_IO, "WR356", "table '%.*s': cannot read the stream in NATS: %s", WR_FMT(conn->name), why);
    if (err) err->at = conn->at, err->retriable = true;
    return status;
}

/* The end of a request: 404, 408 and 409 are how it is told. */
static wr_status end_request(nats_reader *r, nats_conn *conn, natsMsg *msg, nats_message *out, wr_err *err) {
    const char *status = NULL, *text = NULL;
    wr_status   result = WR_OK;
    char        why[160];
    if (nats.natsMsgHeader_Get(msg, "Status", &status) != NATS_OK) status = "";
    if (nats.natsMsgHeader_Get(msg, "Description", &text) != NATS_OK) text = "";
    if (!strncmp(status, "100", 3)) goto done; /* the server is there still */
    bool fine = !strncmp(status, "404", 3) || !strncmp(status, "408", 3) || (!strncmp(status, "409", 3) && strstr(text, "Exceed"));
    snprintf(why, sizeof why, "%.20s %.120s", status, text);
    if (!fine) result = broken(conn, why, err);
    out->idle = fine && status[2] != '9'; /* it was not full */
    r->wanted = 0;
done:
    nats.natsMsg_Destroy(msg);
    return result;
}

wr_status nats_reader_poll(nats_reader *r, nats_conn *conn, nats_message *out, wr_err *err) {
    uint64_t queued = 0, count = 0;
    *out = (nats_message){0};
    if (!r->wanted) WR_TRY(ask(r, conn, err));
    natsStatus said = nats.natsSubscription_QueuedMsgs(r->sub, &queued);
    if (said == NATS_OK && !queued) {
        if (nats_lost(conn)) return nats_fail(conn, NATS_CONNECTION_CLOSED, 0, "read the stream", err);
        return wr_mono_us(conn->world) - r->asked_us > r->expires_us + SLACK_US ? broken(conn, "no answer", err) : WR_OK;
    }
    if (said == NATS_OK) said = nats.natsSubscription_NextMsg(&out->msg, r->sub, 1);
    if (said != NATS_OK) {
        out->msg = NULL;
        return nats_fail(conn, said, 0, "read the stream", err);
    }
    natsMsg *msg = out->msg;
    if (!nats_parse_reply(nats.natsMsg_GetReply(msg), out, &count, &r->pending)) {
        *out = (nats_message){0};
        return end_request(r, conn, msg, out, err);
    }
    if (count != ++r->count) {
        nats.natsMsg_Destroy(msg);
        *out = (nats_message){0};
        return broken(conn, "a message was lost on its way", err);
    }
    r->wanted--;
    r->asked_us = wr_mono_us(conn->world);
    return WR_OK;
}
