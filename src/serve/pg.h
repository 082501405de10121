/* serve/pg.h: the PostgreSQL protocol, version 3.0, in front of query.h: `weir run --pg HOST:PORT`. (contract)
 *
 *   pg_server.c    the listener, clients by number (for cancelling), threads that run queries, limits
 *   pg_client.c    one client's messages: startup, authentication, simple and extended queries
 *   pg_portal.c    statements and portals: describing, running, sending rows
 *   pg_command.c   what is not SELECT: BEGIN, SET, SHOW, DECLARE, FETCH, COPY, SUBSCRIBE ...
 *   pg_value.c     types and values; pg_lex.c  the words of SQL; scram.c  passwords
 *
 * Idea       a client is a state machine that the threads of sys/net step: a message, or rows of a portal as long as there is room for output. What may take its time
 *            (planning, a session, the catalogue) is done by a few query threads, the connection being parked meanwhile.
 * Reading    only: BEGIN ... COMMIT is a stretch in which all statements see the same cut of all views.
 * Safe       loopback only, unless there are users; then SCRAM-SHA-256, and over anything but loopback TLS if there is a certificate.                    */
#pragma once
#include "serve/query.h"
#include "serve/users.h"
#include "sys/net.h"

typedef struct pg_server pg_server;
typedef struct pg_opts {
    wr_world   *world;
    const char *listen, *database;     /* database: the job's name */
    const char *cert_file, *key_file;  /* NULL: no TLS */
    wr_users   *users;                 /* borrowed; NULL: everybody on this machine */
    query_db   *db;                    /* borrowed */
    uint32_t    connections, queries;  /* 0: 1000, 4; queries that run at a time */
    query_limits limits;               /* zeros: the defaults */
    bool         starting;             /* clients are refused (57P03) until pg_server_start */
} pg_opts;
wr_status   pg_server_open(const pg_opts *opts, pg_server **out, wr_err *err);
void        pg_server_close(pg_server *s);              /* NULL is legal */
const char *pg_server_address(const pg_server *s);
void         pg_server_start(pg_server *server);
query_limits pg_default_limits(void);
