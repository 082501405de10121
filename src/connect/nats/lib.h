/* connect/nats/lib.h: a connection to NATS, a reader of a JetStream stream, and what source and sink of 'nats' share. Private to connect/nats.
 *
 * Idea       cnats is loaded when a job first needs it: its functions stand in one table that nats_load fills; nats.NAME is NAME. What the library would do in threads of
 *            its own (callbacks, acknowledgements, connecting again) is not used: answers come to inboxes that are read here, so that there is nothing to lock and
 *            nothing that comes after close.
 * Reader     a consumer that lives on the server for as long as it is read, made at a sequence number; messages are asked for in bounded requests. What it hands out is
 *            without gaps: a number of the server's own counts its messages.
 * Retries    a connection that is lost is made again for up to 'connection.max-retry-timeout'; what was in flight is done again by the caller.
 * Thread     a connection and what belongs to it: one thread at a time.                                                                     */
#pragma once
#include "connect/parts.h"
#include <nats/nats.h>

#define NATS_FUNCTIONS(F) \
    F(natsOptions_Create) F(natsOptions_Destroy) F(natsOptions_SetURL) F(natsOptions_SetUserInfo) F(natsOptions_SetToken) F(natsOptions_SetTimeout) F(natsOptions_SetName) \
    F(natsOptions_SetAllowReconnect) F(natsOptions_SetPingInterval) F(natsOptions_SetUserCredentialsFromFiles) F(natsOptions_LoadCATrustedCertificates) F(natsOptions_SetSecure) \
    F(natsConnection_Connect) F(natsConnection_Destroy) F(natsConnection_IsClosed) F(natsConnection_GetMaxPayload) F(natsConnection_JetStream) F(natsConnection_SubscribeSync) \
    F(natsConnection_PublishMsg) F(natsConnection_PublishRequest) F(natsConnection_FlushTimeout) F(natsSubscription_SetPendingLimits) F(natsSubscription_QueuedMsgs) \
    F(natsSubscription_NextMsg) F(natsSubscription_Destroy) F(natsInbox_Create) F(natsInbox_Destroy) F(natsMsg_Create) F(natsMsg_Destroy) F(natsMsg_GetSubject) F(natsMsg_GetReply) \
    F(natsMsg_GetData) F(natsMsg_GetDataLength) F(natsMsgHeader_Add) F(natsMsgHeader_Get) F(natsMsgHeader_Keys) F(natsMsgHeader_Values) F(jsOptions_Init) F(jsCtx_Destroy) \
    F(js_GetStreamInfo) F(jsStreamInfo_Destroy) F(jsConsumerConfig_Init) F(js_AddConsumer) F(js_DeleteConsumer) F(js_GetConsumerInfo) F(jsConsumerInfo_Destroy) F(natsStatus_GetText) \
    F(nats_GetLastError)
typedef struct nats_table {
#define F(name) __typeof__(name) *name;
    NATS_FUNCTIONS(F)
#undef F
} nats_table;
extern nats_table nats;

typedef struct nats_conn {
    wr_world       *world;
    wr_str          name;                            /* of the SQL table */
    wr_span         at;
    const char     *url, *user, *password, *token, *credentials, *ca; /* "" none */
    const char     *stream, *subject;                /* subject "" : all of the stream */
    int64_t         retry_us;
    natsConnection *c;
    jsCtx          *js;
} nats_conn;

extern const wr_option_spec nats_specs[];
extern const char *const    nats_metadata[];
/* Reads the options; strings in `arena`. WR_USER: diagnostics. */
wr_status nats_open(nats_conn *conn, const wr_table_info *t, wr_arena *arena, wr_connect_ctx *ctx, wr_err *err);
wr_status nats_try(nats_conn *conn, wr_err *err);     /* one attempt */
wr_status nats_connect(nats_conn *conn, wr_err *err); /* if it is not; tries for as long as the table says */
void      nats_close(nats_conn *conn);
bool      nats_lost(const nats_conn *conn);           /* nats_connect makes another */
WR_COLD wr_status nats_fail(nats_conn *conn, natsStatus said, jsErrCode code, const char *doing, wr_err *err);

enum { NATS_WINDOW_LEAST_US = 10000000 };              /* what may still be on its way to the server has come by then */
typedef struct nats_info {                            /* of the stream */
    uint64_t messages, first, last;                   /* sequence numbers; nothing in it: first = last + 1 */
    int64_t  created_ns, window_us, max_payload;      /* of Nats-Msg-Id; bytes of one message */
    bool     limits, replaces, takes_subject;         /* messages go by age and size only; a newer one of a subject pushes out the older; the subject is one of its own */
    char     subjects[200];
} nats_info;
wr_status nats_ask(nats_conn *conn, nats_info *out, wr_err *err);
void      nats_release(const char **list);            /* that the library has made */
bool      nats_matches(const char *pattern, const char *subject); /* of NATS: * one token, > the rest */

/* ---- reading a stream ---- */
typedef struct nats_reader {
    natsSubscription *sub;
    natsInbox        *inbox;
    char              consumer[64];
    uint64_t          count, pending;                 /* the server's number of the last message; messages that follow it, as of then */
    uint32_t          wanted;                         /* of the request that is on its way; 0: none is */
    int64_t           asked_us, expires_us;
} nats_reader;
typedef struct nats_message {
    natsMsg *msg;                                     /* NULL: nothing has come; else for nats.natsMsg_Destroy */
    uint64_t sequence;
    int64_t  timestamp_ns;
    bool     idle;                                    /* without a message: a request came to its end, and nothing followed */
} nats_message;
bool nats_parse_reply(const char *reply, nats_message *out, uint64_t *count, uint64_t *pending); /* what the server says of a message, in its reply subject */
/* From message `first` on, or with first 0 from a time on: the first messages may be up to a second older. */
wr_status nats_reader_open(nats_reader *r, nats_conn *conn, uint64_t first, int64_t from_ns, bool headers_only, int64_t expires_us, wr_err *err);
/* Never waits. An error that is retriable: the reader is to be made anew behind the last message. */
wr_status nats_reader_poll(nats_reader *r, nats_conn *conn, nats_message *out, wr_err *err);
wr_status nats_reader_pending(nats_reader *r, nats_conn *conn, uint64_t *out, wr_err *err); /* asks the server */
void      nats_reader_close(nats_reader *r, nats_conn *conn);

wr_status nats_source_new(const wr_table_info *t, wr_connect_ctx *ctx, wr_source **out, wr_err *err);
wr_status nats_sink_new(const wr_table_info *t, wr_connect_ctx *ctx, wr_sink **out, wr_err *err);
