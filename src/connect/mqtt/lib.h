/* connect/mqtt/lib.h: a connection to an MQTT broker, and what source and sink of 'mqtt' share. Private to connect/mqtt.
 *
 * Idea       libmosquitto is loaded when a job first needs it: its functions stand in one table; mqtt.NAME is mosquitto_NAME. MQTT 5 is spoken. The library runs no thread
 *            and, as if one did, writes nothing by itself: what it has to say (acknowledgements too) waits until mqtt_write. So a source acknowledges
 *            when it is ready, not when a message comes.
 * Lost       a connection that is lost is given up with all that waits in it; mqtt_try makes another.
 * Thread     a connection: one thread at a time; callbacks come from mqtt_read and mqtt_write.                                              */
#pragma once
#include "connect/parts.h"
#include <mosquitto.h>
#include <mqtt_protocol.h>

enum { MQTT_INFLIGHT = 1024 }; /* messages that the broker may send, or be sent, before they are acknowledged */

#define MQTT_FUNCTIONS(F) \
    F(lib_init) F(new) F(destroy) F(username_pw_set) F(tls_set) F(int_option) F(threaded_set) F(connect_bind_v5) F(disconnect) F(loop_read) F(loop_write) F(loop_misc) F(want_write) \
    F(socket) F(subscribe_v5) F(publish_v5) F(connect_v5_callback_set) F(disconnect_v5_callback_set) F(message_callback_set) F(log_callback_set) F(publish_v5_callback_set) \
    F(subscribe_v5_callback_set) F(strerror) F(reason_string) F(property_add_int32) F(property_free_all) F(sub_topic_check) F(pub_topic_check)
typedef struct mqtt_table {
#define F(name) __typeof__(mosquitto_##name) *name;
    MQTT_FUNCTIONS(F)
#undef F
} mqtt_table;
extern mqtt_table mqtt;

typedef struct mqtt_conn {
    wr_world         *world;
    wr_str            name;                              /* of the SQL table */
    wr_span           at;
    const char       *host, *username, *password, *ca, *cert, *key; /* "" none */
    const char       *client_id;                         /* NULL: the broker gives one, and no session stays */
    int               port, keepalive_s;
    bool              tls;
    int64_t           retry_us, session_us;
    struct mosquitto *m;
    void             *owner;                             /* of the callbacks; their second argument is the connection */
    void            (*on_message)(struct mosquitto *, void *, const struct mosquitto_message *);
    void            (*on_log)(struct mosquitto *, void *, int level, const char *text);
    void            (*on_publish)(struct mosquitto *, void *, int mid, int reason, const mosquitto_property *);
    void            (*on_subscribe)(struct mosquitto *, void *, int mid, int n, const int *granted, const mosquitto_property *);
    const _Atomic bool *stop;                            /* may be NULL: no more waiting */
    bool              up, had_session;                   /* the broker said yes; it has kept the session */
    int               refused;                           /* reason of the broker: of its no, or why it ended the connection; 0 none */
} mqtt_conn;

extern const wr_option_spec mqtt_specs[];
extern const char *const    mqtt_metadata[];
/* Reads the options; strings in `arena`. WR_USER: diagnostics. */
wr_status mqtt_open(mqtt_conn *conn, const wr_table_info *t, wr_arena *arena, wr_connect_ctx *ctx, wr_err *err);
wr_status mqtt_try(mqtt_conn *conn, wr_err *err); /* one attempt, and the broker's answer; messages may come with it */
void      mqtt_close(mqtt_conn *conn, bool politely);
/* The library's status. mqtt_read waits for so long, then takes one packet, if there is one. */
int       mqtt_read(mqtt_conn *conn, int wait_ms);
int       mqtt_write(mqtt_conn *conn);            /* what waits, as far as the socket takes it; and keeps the connection alive */
WR_COLD wr_status mqtt_fail(mqtt_conn *conn, int status, const char *doing, wr_err *err); /* retriable: another connection may do */

/* ---- feed.c: messages into a log ---- */
wr_status mqtt_source_new(const wr_table_info *t, wr_connect_ctx *ctx, wr_source **out, wr_err *err);
bool      mqtt_next_filter(wr_str *list, wr_str *out); /* of 'topic' */
/* ---- sink.c ---- */
wr_status mqtt_sink_new(const wr_table_info *t, wr_connect_ctx *ctx, wr_sink **out, wr_err *err);
