/* connect/log/connector.h: what source and sink of 'log' and 'upsert-log' share. Private to connect/log/. */
#pragma once
#include "connect/log/log.h"
#include "connect/messages.h"

extern const wr_option_spec log_specs[];
extern const char *const    log_metadata[];
bool        log_is_upsert(const wr_table_info *t);
bool        log_exactly_once(const wr_table_info *t);
const char *log_table_path(const wr_table_info *t, wr_arena *arena);
wr_str      log_producer_name(const wr_table_info *t);
/* What the table's options say of the log; *given: any of them does. Diagnostics and false if they are wrong. */
bool        log_table_config(const wr_table_info *t, wr_connect_ctx *ctx, wr_log_config *config);
wr_status   log_source_new(const wr_table_info *t, wr_connect_ctx *ctx, wr_source **out, wr_err *err);
/* A log that something fills while it is read, whose keys are the messages' topics. Owned, also when the source cannot be made. */
typedef struct log_feed {
    const char        *name;     /* of the connector */
    void              *self;
    const message_key *keys;     /* of metadata */
    wr_status        (*tend)(void *self, wr_err *err);                 /* before each look at the log, unless it is only read up to a position: starts it, says what broke it */
    void             (*consumed)(void *self, int64_t offset);          /* a checkpoint lasts that has read all below; any thread */
    void             (*describe)(void *self, wr_sbuf *out);
    void             (*close)(void *self);
} log_feed;
wr_status   log_fed_source_new(const wr_table_info *t, wr_connect_ctx *ctx, const log_feed *feed, wr_source **out, wr_err *err);
bool        log_saved_next(wr_str positions, uint32_t partition, int64_t *next); /* of saved positions: where the partition goes on */
wr_status   log_sink_new(const wr_table_info *t, wr_connect_ctx *ctx, wr_sink **out, wr_err *err);
