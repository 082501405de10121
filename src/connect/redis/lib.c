/* connect/redis/lib.c: see lib.h.                                                                                            */
#include "connect/redis/lib.h"
#include "format/records.h"
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

enum { TIMEOUT_S = 10 };

redis_table           redis;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static const char    *missing;

static void load(void) {
#define F(name) {"redis" #name, &redis.name},
    static const wr_import imports[] = {REDIS_FUNCTIONS(F) {"freeReplyObject", &redis.free_reply}};
#undef F
#define TEXT(x) #x
#define SONAME(x) "libhiredis.so." TEXT(x)
    missing = wr_library_import(SONAME(HIREDIS_SONAME), imports, WR_COUNT_OF(imports)); /* the version of the headers: the context's layout is part of it */
#undef SONAME
#undef TEXT
}

static wr_status redis_load(wr_err *err) {
    pthread_once(&once, load);
    if (!missing) return WR_OK;
    wr_fail(err, WR_IO, "WR350", "a Redis table needs the library hiredis, and it was not found");
    wr_err_hint(err, "apt-get install libhiredis0.14");
    return WR_IO;
}

/* ---- options ---- */

const wr_option_spec redis_specs[] = {
    {"stream", "string", NULL, true, "the key of the stream; a source may have several with ';'"},
    {"url", "string", "redis://localhost:6379", false, "redis://[user[:password]@]host[:port][/database]"},
    {"password", "string", "", false, "in place of the one in the URL; ${NAME} takes it from --set"},
    {"value.field", "string", "", false, "the field of an entry that holds the record; without it each column is a field of its own ('format' = 'json' then)"},
    {"key.field", "string", "key", false, "with 'value.field': the field that holds the record's key"},
    {"scan.startup.mode", "enum:earliest-offset|latest-offset|timestamp|specific-offsets", "earliest-offset", false, "where a new job begins"},
    {"scan.startup.timestamp-millis", "int", "0", false, "with 'timestamp': the first entries that are not older"},
    {"scan.startup.id", "string", "", false, "with 'specific-offsets': the entry to begin behind, as in 1700000000000-0"},
    {"scan.bounded.mode", "enum:unbounded|latest-offset", "unbounded", false, "latest-offset: reading ends at what there is when the job begins"},
    {"sink.max-len", "int", "0", false, "the stream is cut to about so many entries; 0: it is not"},
    {"sink.job", "string", "weir", false, "the job's name in the key weir:epoch:..., which makes what is written twice count once"},
    {"connection.max-retry-timeout", "duration", "60 s", false, "how long a lost connection is tried again"},
    {0}};
const char *const redis_metadata[] = {"stream", "id", "timestamp", "headers", NULL};

static bool take_number(const char *text, int most, int *out) {
    char *end;
    long  n = strtol(text, &end, 10);
    if (end == text || *end || n < 0 || n > most) return false;
    *out = (int)n;
    return true;
}

/* redis://[user[:password]@]host[:port][/database] */
static bool take_url(redis_conn *conn, char *at) {
    if (strncmp(at, "redis://", 8) != 0) return false;
    at += 8;
    conn->port = 6379;
    char *slash = strchr(at, '/');
    if (slash) *slash = 0;
    if (slash && slash[1] && !take_number(slash + 1, 1 << 20, &conn->database)) return false;
    char *host = strrchr(at, '@');
    if (host) {
        *host++ = 0;
        char *colon = strchr(at, ':');
        if (colon) *colon = 0, conn->password = colon + 1;
        conn->user = at;
    } else {
        host = at;
    }
    char *port = strrchr(host, ':');
    if (port) *port = 0;
    if (port && !take_number(port + 1, 65535, &conn->port)) return false;
    conn->host = host;
    return *host != 0;
}

wr_status redis_open(redis_conn *conn, const wr_table_info *t, wr_arena *arena, wr_connect_ctx *ctx, wr_err *err) {
    wr_str url = option_text(t, redis_specs, "url"), password = option_text(t, redis_specs, "password");
    *conn = (redis_conn){.world = ctx->world, .name = t->name, .at = t->at, .user = "", .password = ""};
    if (!take_url(conn, wr_arena_strndup(arena, url.ptr, url.len))) return option_error(ctx, t, "url", "WR121", "expected redis://[user[:password]@]host[:port][/database]");
    if (password.len) conn->password = wr_arena_strndup(arena, password.ptr, password.len);
    if (!wr_option_duration(&t->options, redis_specs, "connection.max-retry-timeout", &conn->retry_us, ctx->diags)) return WR_USER;
    return redis_load(err);
}

wr_status redis_layout_read(redis_layout *out, const wr_table_info *t, wr_connect_ctx *ctx) {
    out->value = option_text(t, redis_specs, "value.field");
    out->key = option_text(t, redis_specs, "key.field");
    if (out->value.len) return WR_OK;
    wr_str format = option_text(t, wr_record_specs, wr_options_find(&t->options, "value.format") ? "value.format" : "format");
    if (!wr_str_eq(format, WR_STR("json"))) return option_error(ctx, t, "format", "WR122", "without 'value.field' each column is a field, which takes 'format' = 'json'");
    if (wr_options_find(&t->options, "key.format")) return option_error(ctx, t, "key.format", "WR122", "a key has a place in an entry only with 'value.field'");
    for (uint32_t c = 0; c < t->n_physical; c++) {
        wr_type type = t->schema->fields[c].type;
        bool    nested = type.id == WR_T_ROW || type.id == WR_T_ARRAY || type.id == WR_T_MAP || type.id == WR_T_MULTISET || wr_type_is_binary(type);
        if (nested) return option_error(ctx, t, "stream", "WR122", "the column '%.*s' cannot be a field of its own: 'value.field' puts the whole record into one", WR_FMT(t->schema->fields[c].name));
    }
    return WR_OK;
}

bool redis_id_parse(wr_str text, redis_id *out) {
    uint64_t *part = &out->ms;
    bool      digit = false;
    *out = (redis_id){0};
    for (size_t i = 0; i < text.len; i++) {
        char c = text.ptr[i];
        if (c == '-' && part == &out->ms && digit) part = &out->seq, digit = false;
        else if (c >= '0' && c <= '9' && *part <= (UINT64_MAX - 9) / 10) *part = *part * 10 + (uint64_t)(c - '0'), digit = true;
        else return false;
    }
    return digit;
}

/* ---- connections ---- */

bool redis_lost(const redis_conn *conn) { return !conn->c || conn->c->err != 0; }

void redis_close(redis_conn *conn) {
    if (conn->c) redis.Free(conn->c);
    conn->c = NULL;
}

static const char *advice(const char *said) {
    if (!strncmp(said, "NOAUTH", 6) || !strncmp(said, "WRONGPASS", 9) || strstr(said, "AUTH")) return "is the user or the 'password' right?";
    if (!strncmp(said, "NOPERM", 6)) return "the user needs the rights to read or write the stream: ACL SETUSER ... +@stream ~KEY";
    if (!strncmp(said, "WRONGTYPE", 9)) return "the key holds something else than a stream: choose another 'stream'";
    if (!strncmp(said, "READONLY", 8)) return "this server is a replica: give the 'url' of the one that takes writes";
    if (!strncmp(said, "OOM", 3)) return "the server is over its maxmemory: 'sink.max-len' cuts the stream";
    return NULL;
}

/* Passes by itself, so that the same may be tried again. */
static bool passes(const char *said) {
    return !strncmp(said, "LOADING", 7) || !strncmp(said, "BUSY ", 5) || !strncmp(said, "TRYAGAIN", 8) || !strncmp(said, "MASTERDOWN", 10) || !strncmp(said, "CLUSTERDOWN", 11);
}

wr_status redis_fail(redis_conn *conn, const redisReply *reply, const char *doing, wr_err *err) {
    const char *said = reply && reply->type == REDIS_REPLY_ERROR ? reply->str : conn->c && conn->c->err ? conn->c->errstr : reply ? "an answer that was not expected" : conn->told;
    wr_status   status = wr_fail(err, WR_IO, "WR351", "table '%.*s': cannot %s in Redis: %.200s", WR_FMT(conn->name), doing, *said ? said : "no connection");
    if (!err) return status;
    const char *hint = advice(said);
    err->at = conn->at;
    err->retriable = redis_lost(conn) || passes(said);
    if (hint) wr_err_hint(err, "%s", hint);
    else if (redis_lost(conn)) wr_err_hint(err, "is the server up, and 'url' right? (%s:%d)", conn->host, conn->port);
    return status;
}

static wr_status log_in(redis_conn *conn, wr_err *err) {
    redisReply *r;
    char        number[16];
    if (conn->password[0]) {
        if (conn->user[0]) WR_TRY(redis_call(conn, "log in", &r, err, "AUTH", conn->user, conn->password, NULL));
        else WR_TRY(redis_call(conn, "log in", &r, err, "AUTH", conn->password, NULL));
        redis.free_reply(r);
    }
    WR_TRY(redis_call(conn, "begin", &r, err, "PING", NULL)); /* a server that still loads its data says so here */
    redis.free_reply(r);
    if (!conn->database) return WR_OK;
    snprintf(number, sizeof number, "%d", conn->database);
    WR_TRY(redis_call(conn, "select the database", &r, err, "SELECT", number, NULL));
    redis.free_reply(r);
    return WR_OK;
}

wr_status redis_try(redis_conn *conn, wr_err *err) {
    struct timeval limit = {TIMEOUT_S, 0};
    redis_close(conn);
    conn->c = redis.ConnectWithTimeout(conn->host, conn->port, limit);
    if (redis_lost(conn)) {
        snprintf(conn->told, sizeof conn->told, "%s", conn->c ? conn->c->errstr : "out of memory");
        return redis_fail(conn, NULL, "connect", err);
    }
    (void)redis.SetTimeout(conn->c, limit);
    return log_in(conn, err);
}

wr_status redis_connect(redis_conn *conn, wr_err *err) {
    int64_t until = wr_mono_us(conn->world) + conn->retry_us, wait = 50000;
    while (redis_lost(conn)) {
        wr_status status = redis_try(conn, err);
        if (status == WR_OK) break;
        if (!err || !err->retriable || wr_mono_us(conn->world) + wait > until) {
            redis_close(conn);
            return status;
        }
        conn->world->vt->sleep_us(conn->world, wait);
        wait = WR_MIN(wait * 2, INT64_C(2000000));
    }
    return WR_OK;
}

/* ---- commands ---- */

void redis_arg(redis_args *args, wr_str arg) {
    wr_arr_push(&args->at, arg.ptr ? arg.ptr : "");
    wr_arr_push(&args->len, arg.len);
}
void redis_begin(redis_args *args, const char *command) {
    args->at.n = args->len.n = 0;
    redis_arg(args, wr_str_of(command));
}
void redis_args_free(redis_args *args) {
    wr_arr_free(&args->at);
    wr_arr_free(&args->len);
}

wr_status redis_send(redis_conn *conn, const redis_args *args, wr_err *err) {
    return redis.AppendCommandArgv(conn->c, (int)args->at.n, (const char **)(uintptr_t)args->at.at, args->len.at) == REDIS_OK ? WR_OK : redis_fail(conn, NULL, "send a command", err);
}

static wr_status judge(redis_conn *conn, const char *doing, redisReply *r, wr_err *err) {
    if (r && r->type != REDIS_REPLY_ERROR) return WR_OK;
    wr_status status = redis_fail(conn, r, doing, err);
    if (r) redis.free_reply(r);
    return status;
}

wr_status redis_answer(redis_conn *conn, const char *doing, redisReply **out, wr_err *err) {
    void *r = NULL;
    *out = NULL;
    if (redis.GetReply(conn->c, &r) != REDIS_OK) r = NULL;
    WR_TRY(judge(conn, doing, r, err));
    *out = r;
    return WR_OK;
}

wr_status redis_poll(redis_conn *conn, const char *doing, redisReply **out, wr_err *err) {
    void *r = NULL;
    int   sent = 0;
    *out = NULL;
    while (!sent)
        if (redis.BufferWrite(conn->c, &sent) != REDIS_OK) return redis_fail(conn, NULL, doing, err);
    for (;;) {
        if (redis_lost(conn) || redis.GetReplyFromReader(conn->c, &r) != REDIS_OK) return redis_fail(conn, NULL, doing, err);
        if (r) break;
        struct pollfd fd = {.fd = conn->c->fd, .events = POLLIN};
        if (poll(&fd, 1, 0) <= 0) return WR_OK;
        if (redis.BufferRead(conn->c) != REDIS_OK) return redis_fail(conn, NULL, doing, err);
    }
    WR_TRY(judge(conn, doing, r, err));
    *out = r;
    return WR_OK;
}

wr_status redis_call(redis_conn *conn, const char *doing, redisReply **out, wr_err *err, const char *command, ...) {
    redis_args args = {0};
    va_list    list;
    redis_begin(&args, command);
    va_start(list, command);
    for (const char *arg; (arg = va_arg(list, const char *));) redis_arg(&args, wr_str_of(arg));
    va_end(list);
    *out = NULL;
    wr_status status = redis_send(conn, &args, err);
    redis_args_free(&args);
    return status == WR_OK ? redis_answer(conn, doing, out, err) : status;
}
