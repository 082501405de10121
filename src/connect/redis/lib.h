/* connect/redis/lib.h: a connection to Redis, and what source and sink of 'redis-streams' share. Private to connect/redis.
 *
 * Idea       hiredis is loaded when a job first needs it: its functions stand in one table that redis_load fills; redis.NAME is redisNAME. Commands are sent
 *            with the lengths of their arguments, so that keys and values may hold any byte.
 * Retries    a connection that is lost is made again for up to 'connection.max-retry-timeout'; what was in flight is done again by the caller.
 * Thread     a connection belongs to one thread at a time.                                                                                  */
#pragma once
#include "connect/parts.h"
#include <hiredis/hiredis.h>

#define REDIS_FUNCTIONS(F) F(ConnectWithTimeout) F(Free) F(SetTimeout) F(AppendCommandArgv) F(GetReply) F(BufferRead) F(BufferWrite) F(GetReplyFromReader)
typedef struct redis_table {
#define F(name) __typeof__(redis##name) *name;
    REDIS_FUNCTIONS(F)
#undef F
    __typeof__(freeReplyObject) *free_reply;
} redis_table;
extern redis_table redis;

typedef struct redis_conn {
    wr_world     *world;
    wr_str        name;                     /* of the SQL table */
    wr_span       at;
    const char   *host, *user, *password;   /* "" none */
    int           port, database;
    int64_t       retry_us;
    redisContext *c;
    char          told[160];                /* why the last attempt to connect failed */
} redis_conn;

typedef struct redis_args { WR_ARR(const char *) at; WR_ARR(size_t) len; } redis_args; /* of one command; borrowed texts */
void redis_begin(redis_args *args, const char *command); /* empties it first */
void redis_arg(redis_args *args, wr_str arg);
void redis_args_free(redis_args *args);

extern const wr_option_spec redis_specs[];
extern const char *const    redis_metadata[];
/* Reads the options; strings in `arena`. WR_USER: diagnostics. */
wr_status redis_open(redis_conn *conn, const wr_table_info *t, wr_arena *arena, wr_connect_ctx *ctx, wr_err *err);
wr_status redis_try(redis_conn *conn, wr_err *err);     /* one attempt: logged in, the database selected */
wr_status redis_connect(redis_conn *conn, wr_err *err); /* if it is not; tries for as long as the table says */
void      redis_close(redis_conn *conn);
bool      redis_lost(const redis_conn *conn);           /* redis_connect makes another */
/* Puts a command behind those that are on their way. */
wr_status redis_send(redis_conn *conn, const redis_args *args, wr_err *err);
/* The next answer; an error of the server is one. *out: for redis.free_reply. */
wr_status redis_answer(redis_conn *conn, const char *doing, redisReply **out, wr_err *err);
/* The next answer if it has arrived; *out NULL: not yet. Never waits. */
wr_status redis_poll(redis_conn *conn, const char *doing, redisReply **out, wr_err *err);
wr_status redis_call(redis_conn *conn, const char *doing, redisReply **out, wr_err *err, const char *command, ...) __attribute__((sentinel)); /* texts, then NULL */
WR_COLD wr_status redis_fail(redis_conn *conn, const redisReply *reply /* may be NULL */, const char *doing, wr_err *err);

/* How a record lies in an entry: alone in one field, or a column in each field. */
typedef struct redis_layout { wr_str value, key; } redis_layout; /* fields; value.len 0: a field for each column */
wr_status redis_layout_read(redis_layout *out, const wr_table_info *t, wr_connect_ctx *ctx);

typedef struct redis_id { uint64_t ms, seq; } redis_id; /* of an entry */
bool redis_id_parse(wr_str text, redis_id *out);        /* "1700000000000-3" or "1700000000000" */
WR_INLINE bool redis_id_less(redis_id a, redis_id b) { return a.ms != b.ms ? a.ms < b.ms : a.seq < b.seq; }

wr_status redis_source_new(const wr_table_info *t, wr_connect_ctx *ctx, wr_source **out, wr_err *err);
wr_status redis_sink_new(const wr_table_info *t, wr_connect_ctx *ctx, wr_sink **out, wr_err *err);
