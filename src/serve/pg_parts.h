/* serve/pg_parts.h: the parts of pg.h among themselves. Private to serve/pg_*.c.                                                  */
#pragma once
#include "serve/pg.h"
#include "serve/pg_value.h"

enum { PG_NAME_MAX = 128, PG_STATEMENTS_MAX = 10000, PG_PORTALS_MAX = 1000, PG_MESSAGE_MAX = 4 << 20, PG_STARTUP_MAX = 10000, QUERY_OIDS_MAX = 4096 };

typedef enum pg_command {
    PG_CMD_NONE, PG_CMD_EMPTY, PG_CMD_BEGIN, PG_CMD_COMMIT, PG_CMD_ROLLBACK, PG_CMD_SAVEPOINT, PG_CMD_ROLLBACK_TO, PG_CMD_SET, PG_CMD_SHOW, PG_CMD_DISCARD, PG_CMD_DEALLOCATE, PG_CMD_CLOSE,
    PG_CMD_DECLARE, PG_CMD_FETCH, PG_CMD_COPY, PG_CMD_SUBSCRIBE, PG_CMD_NOTHING /* LISTEN and the like: said to be done */,
} pg_command;

/* A statement, prepared. */
typedef struct pg_stmt {
    char       name[PG_NAME_MAX];
    uint32_t   refs;
    wr_arena  *arena;
    wr_str     sql;
    pg_toks    toks;                   /* of commands */
    pg_command command;
    query     *query;                  /* SELECT; also of DECLARE, COPY */
    const char *tag;                   /* of CommandComplete */
    struct pg_stmt *next;
} pg_stmt;

typedef enum pg_shape { PG_ROWS, PG_COPY_TEXT, PG_COPY_CSV } pg_shape;
typedef struct pg_portal {
    char         name[PG_NAME_MAX];
    pg_stmt     *stmt;
    wr_arena    *arena;
    uint32_t     n_params, n_formats;
    wr_value    *params;
    int16_t     *formats;
    query_rows  *rows;                 /* NULL: not run yet, or it is a command */
    wr_batch    *batch;
    uint32_t     at;                   /* of the batch's live rows */
    uint64_t     n_sent, bytes;
    bool         done, started, cursor, held; /* held: DECLAREd, lives until the transaction ends */
    pg_shape     shape;
    bool         header;
    char         delimiter;
    /* SUBSCRIBE */
    wr_view_sub *sub;
    wr_view     *sub_view;
    wr_view_listener listener;
    wr_view_as_of as_of;
    struct pg_portal *next;
} pg_portal;

typedef enum pg_state { PG_STARTUP, PG_SASL_FIRST, PG_SASL_FINAL, PG_READY, PG_CLOSING } pg_state;
typedef enum pg_job_kind { PG_JOB_DESCRIBE, PG_JOB_RUN } pg_job_kind;
typedef struct pg_client pg_client;
typedef struct pg_job {
    pg_job_kind  kind;
    pg_client   *client;
    query       *query;
    query_args   args;
    query_rows  *rows;
    wr_status    status;
    wr_err       err;
    _Atomic bool done;
    struct pg_job *next;
} pg_job;

typedef struct pg_setting { wr_str name, value; } pg_setting;
/* What happens when a job is through. */
typedef enum pg_then { PG_THEN_PARSE, PG_THEN_DESCRIBE_STMT, PG_THEN_DESCRIBE_PORTAL, PG_THEN_RUN, PG_THEN_DECLARE } pg_then;

struct pg_client {
    pg_server  *server;
    wr_conn    *conn;
    pg_state    state;
    uint32_t    pid, secret;
    pg_client  *prev, *next;           /* under the server's lock */
    const wr_user *user;
    char        user_name[PG_NAME_MAX], database[PG_NAME_MAX];
    bool        counted;               /* as one of its user's connections */
    wr_scram_server scram;
    /* session */
    wr_arena   *arena;                 /* settings */
    WR_ARR(pg_setting) settings;
    const wr_tz *tz;
    bool        freshness;
    int64_t     timeout_us;
    char        txn;                   /* I T E */
    query_snapshot *snapshot;          /* of the transaction */
    pg_stmt    *stmts;
    pg_portal  *portals;
    uint32_t    n_stmts, n_portals;
    bool        skip;                  /* to the next Sync */
    /* a simple query under way */
    wr_arena   *script;
    wr_str      script_text;
    pg_toks     script_toks;
    uint32_t    script_at;             /* token; the last one: nothing is left */
    bool        simple;
    uint32_t    place;                 /* of the statement in the text */
    /* what runs */
    pg_job      job;
    bool        working;
    pg_then     then;
    pg_stmt    *job_stmt;              /* reference */
    pg_portal  *sending;               /* rows of it go out */
    uint64_t    sending_max;           /* 0: all */
    bool        fetching;              /* for FETCH: its tag */
    uint64_t    fetched;
    query_stop  stop;
    uint64_t    n_statements;
};

struct pg_server {
    pg_opts      opts;
    query_limits limits;
    wr_net      *net;
    wr_mutex    *lock;                 /* of what follows */
    pg_client   *clients;
    uint32_t     next_pid, n_ready;
    pg_job      *first, **last;        /* jobs that wait */
    uint32_t     n_waiting;
    uint32_t    *user_connections, *user_queries; /* a user each */
    bool         stopping, starting;
    wr_bell     *bell;
    uint32_t     n_threads;
    void        *threads[64];
};

/* pg_server.c */
bool server_admit(pg_client *c, wr_err *err);                 /* counts it as ready, if there is room */
bool server_submit(pg_client *c, wr_err *err);                /* c->job to the query threads */
void server_cancel(pg_server *s, uint32_t pid, uint32_t secret);

/* pg_client.c */
wr_conn_next client_turn(void *server, wr_conn *conn);
void         client_gone(void *server, wr_conn *conn);
void         client_closed(void *server, wr_conn *conn);
size_t       msg_begin(pg_client *c, char type);
void         msg_end(pg_client *c, size_t at);
void         send_error(pg_client *c, const wr_err *err, const char *severity);
void         send_notice(pg_client *c, const char *fmt, ...) WR_PRINTF(2, 3);
void         send_complete(pg_client *c, const char *tag);
void         send_parameter(pg_client *c, const char *name, wr_str value);
void         client_failed(pg_client *c, const wr_err *err);  /* ErrorResponse, and what follows from it */
void         client_step_done(pg_client *c);                  /* the statement is through: what comes next */

/* pg_portal.c */
pg_stmt   *stmt_new(pg_client *c, const char *name, wr_str sql, const uint32_t *oids, uint32_t n_oids, wr_err *err); /* NULL: err */
void       stmt_unref(pg_stmt *s);
pg_stmt   *stmt_find(pg_client *c, const char *name);
void       stmt_keep(pg_client *c, pg_stmt *s);               /* takes; replaces the one of that name */
void       stmt_drop(pg_client *c, const char *name);         /* NULL: all */
pg_portal *portal_new(pg_client *c, const char *name, pg_stmt *stmt);
pg_portal *portal_find(pg_client *c, const char *name);
void       portal_drop(pg_client *c, pg_portal *p);
void       portals_drop(pg_client *c, bool held_too);
void       send_columns(pg_client *c, const query_col *cols, uint32_t n, const int16_t *formats, uint32_t n_formats);
void       describe_stmt(pg_client *c, pg_stmt *s, const pg_portal *p); /* RowDescription or NoData */
bool       portal_run(pg_client *c, pg_portal *p, pg_then then);  /* now or by a job; false: it failed, said */
bool       describe_later(pg_client *c, pg_stmt *s, pg_then then); /* false: there is no need */
void       portal_send(pg_client *c, pg_portal *p, uint64_t max);
bool       portal_step(pg_client *c);                         /* false: it waits for something (a publication) */
void       describe_subscription(wr_arena *arena, const wr_view *v, uint32_t *n, query_col **cols);

/* pg_command.c */
pg_command command_of(const pg_toks *toks, const char **tag);
bool       command_prepare(pg_client *c, pg_stmt *s, wr_err *err);             /* the SELECT inside */
bool       command_columns(pg_client *c, const pg_stmt *s, uint32_t *n, query_col **cols); /* false: no rows */
bool       command_run(pg_client *c, pg_portal *p, uint64_t max, wr_err *err);  /* false: err */
const char *setting_get(pg_client *c, wr_str name);           /* NULL: there is none */
wr_status  setting_set(pg_client *c, wr_str name, wr_str value, wr_err *err);
void       transaction_end(pg_client *c);
