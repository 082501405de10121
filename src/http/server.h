/* http/server.h: an HTTP server: routes that answer requests, now or when something has happened. (contract)
 *
 * Idea       libmicrohttpd does sockets, HTTP and TLS in a few threads of its own; this takes whole requests to whoever has the path. Who needs time says
 *            WR_HTTP_LATER: the connection sleeps, without a thread, until somebody calls wr_http_respond (a log is synced, an event came).
 * Stream     an answer may come by and by (wr_http_out.stream): the connection sleeps when there is nothing to send, until wr_http_wake.
 * Shared     one server an address in a process: tables, a dashboard and metrics may stand on the same port, each with its own paths and token.
 * GET /      says which routes there are, unless one has "/".
 * Bounds     connections, bodies (each route's, and all together: 503 with Retry-After), time without a byte, headers.
 * Errors     WR_IO, WR375: libmicrohttpd is not there, the address cannot be had. Requests that are not HTTP get a 400 or are cut by the library.
 * Thread     open, release, routes: any. Callbacks run in the server's threads, several at once; `later` too. wr_http_respond: any thread, once a request.        */
#pragma once
#include "sys/world.h"

typedef struct wr_http_server wr_http_server;
typedef struct wr_http_in { /* a request; lives until it is answered */
    const char *method, *path;        /* path: decoded, without the query */
    const char *address;              /* of the server: "http://127.0.0.1:8090" */
    wr_str      body;
    uint64_t    length;               /* that the client says, UINT64_MAX: it does not */
    void       *arg;                  /* the route's own */
    bool        local;                /* over loopback */
} wr_http_in;
/* NULL: there is none. Valid while the request is. */
const char *wr_http_in_header(const wr_http_in *in, const char *name);
const char *wr_http_in_query(const wr_http_in *in, const char *name);

/* A body that comes by and by. Server's threads, one call at a time. */
typedef struct wr_http_stream {
    void  *self;
    size_t (*more)(void *self, char *to, size_t room, bool *end); /* bytes written, at most room; 0 without *end: nothing now, it sleeps until it is woken. NULL: no stream */
    void   (*close)(void *self);      /* the end, or the client has gone, or the route is removed: once */
} wr_http_stream;

enum { WR_HTTP_OUT_HEADERS = 8, WR_HTTP_OUT_VALUE = 256 };
typedef struct wr_http_out { /* zero is "200, nothing" */
    int         status;
    const char *type;                 /* static; NULL: application/json */
    wr_sbuf     body;                 /* taken by the server */
    wr_http_stream stream;            /* instead of a body */
    struct { const char *name; char value[WR_HTTP_OUT_VALUE]; } headers[WR_HTTP_OUT_HEADERS]; /* name: static */
} wr_http_out;
/* {"error": "..."} with a status. */
WR_PRINTF(3, 4) void wr_http_out_error(wr_http_out *out, int status, const char *fmt, ...);
void wr_http_out_header(wr_http_out *out, const char *name, const char *value); /* without Cache-Control: no-store */

typedef enum wr_http_when { WR_HTTP_NOW, WR_HTTP_LATER } wr_http_when;
typedef struct wr_http_route {
    const char *path;                 /* "/orders"; borrowed until it is removed */
    bool        prefix;               /* it has all paths that begin so; an exact or a longer one goes before it */
    const char *token;                /* Authorization: Bearer, asked of every request; NULL: none */
    uint64_t    max_body;
    void       *self;
    /* The headers are there: false refuses with `out` before a body is sent. NULL: nothing to say. */
    bool         (*admit)(void *self, const wr_http_in *in, wr_http_out *out);
    wr_http_when (*serve)(void *self, wr_http_in *in, wr_http_out *out);
    void         (*later)(void *self, wr_http_in *in); /* after serve said LATER: from now on it may be answered */
    void         (*describe)(void *self, const char *address, wr_sbuf *out); /* for GET /: some lines; NULL: the path alone */
} wr_http_route;

typedef struct wr_http_server_opts {
    const char *listen;               /* 127.0.0.1:8090, [::1]:0, localhost:8090; port 0: a free one */
    const char *cert_file, *key_file; /* PEM; NULL: plain HTTP */
    uint32_t    threads, connections; /* 0: 2, 1000 */
    uint64_t    max_bodies;           /* bytes of bodies of all requests; 0: 64 MiB */
    int64_t     idle_us;              /* a connection without a byte for so long is closed; 0: 30 s */
} wr_http_server_opts;
/* The server of that address in this process: opened, or shared with who has it already (its options count then). With a first route (NULL: none), which is
 * there before the first client can ask for it; its callbacks may run before this returns. */
wr_status wr_http_server_get(wr_world *world, const wr_http_server_opts *opts, const wr_http_route *first, wr_http_server **out, wr_err *err);
void      wr_http_server_release(wr_http_server *server); /* NULL is legal; the last one closes it */
/* Which routes there are, as text: for a route that has "/". */
void      wr_http_paths(wr_http_server *server, wr_http_out *out);
const char *wr_http_server_address(const wr_http_server *server); /* "http://127.0.0.1:8090" */
wr_status wr_http_route_add(wr_http_server *server, const wr_http_route *route, wr_err *err); /* WR_USER: the path is taken */
/* No callback of it runs, or will run, when this returns. Requests that it has put off must still be answered. */
void      wr_http_route_remove(wr_http_server *server, const wr_http_route *route);
void      wr_http_respond(wr_http_in *in, wr_http_out *out);
void      wr_http_wake(wr_http_in *in); /* its stream may have more; from serve on until close has returned; any thread, does not block */
