/* sys/net.h: a TCP listener whose connections are served by a few threads, with bounded buffers, time-outs and TLS. (contract)
 *
 * Idea       all sockets stand in one epoll, each armed for one event at a time, so a connection belongs to one thread while something is done for it. Whoever
 *            serves takes bytes from its input and appends to its output in `turn`, and says what it waits for. A turn must not block: long work is done
 *            elsewhere, the connection is parked meanwhile and woken.
 * Bounds     connections, bytes of input that nobody took, time without a byte in either direction. Output is the server's own to bound: it says WR_CONN_WRITE
 *            when it has more, and is called again when there is room.
 * TLS        libssl, loaded when a certificate is given. A connection begins plain; the protocol says when it is to be secured.
 * Errors     WR_USER, WR410: no address; WR_IO, WR410: it cannot be had; WR411: certificate, libssl.
 * Thread     open, close: one. turn, gone, closed: the server's threads, one at a time for a connection. wr_conn_wake: any.                            */
#pragma once
#include "sys/world.h"
#include <netinet/in.h>
#include <sys/socket.h>

typedef struct wr_net  wr_net;
typedef struct wr_conn wr_conn;
typedef enum wr_conn_next {
    WR_CONN_READ,  /* call again when more bytes have come */
    WR_CONN_WRITE, /* call again when there is room for output */
    WR_CONN_PARK,  /* call again when it was woken */
    WR_CONN_CLOSE, /* send what is there, then close */
} wr_conn_next;

typedef struct wr_net_opts {
    const char *listen;                /* 127.0.0.1:5432, [::1]:0, localhost:5432; port 0: a free one */
    const char *cert_file, *key_file;  /* PEM; NULL: no TLS; no key file: it is in cert_file */
    uint32_t    threads, connections;  /* 0: 2, 1000; more connections are closed at once */
    int64_t     idle_us;               /* 0: an hour */
    void       *self;
    wr_conn_next (*turn)(void *self, wr_conn *conn);
    void       (*gone)(void *self, wr_conn *conn);   /* its client left while it is parked: it will still be woken */
    void       (*closed)(void *self, wr_conn *conn); /* the last that is heard of it */
} wr_net_opts;

/* HOST:PORT, the host a number, in brackets for IPv6, or localhost: an address that can be listened on. `host` as a URL has it. */
typedef union wr_net_end { struct sockaddr any; struct sockaddr_in v4; struct sockaddr_in6 v6; struct sockaddr_storage room; } wr_net_end;
bool        wr_net_listen_read(wr_str listen, wr_net_end *out, char host[64]);
bool        wr_net_is_loopback(const struct sockaddr *address);
bool        wr_net_listen_ok(wr_str listen, bool *loopback);      /* is it one, and does it face this machine only? */
wr_status   wr_net_open(wr_world *world, const wr_net_opts *opts, wr_net **out, wr_err *err);
void        wr_net_close(wr_net *net);              /* NULL is legal. No connection may be parked that somebody will still wake */
const char *wr_net_address(const wr_net *net);      /* "127.0.0.1:5432" */
uint32_t    wr_net_connections(const wr_net *net);

/* Of a connection, in its turn. */
wr_str   wr_conn_in(const wr_conn *c);              /* what has come and was not taken */
void     wr_conn_take(wr_conn *c, size_t n);
bool     wr_conn_ended(const wr_conn *c);           /* nothing more will come */
wr_sbuf *wr_conn_out(wr_conn *c);
bool     wr_conn_room(const wr_conn *c);            /* for more output */
void     wr_conn_limits(wr_conn *c, size_t in_max, int64_t idle_us); /* of this one, from now on */
void   **wr_conn_user(wr_conn *c);                  /* NULL at first */
bool     wr_conn_can_tls(const wr_conn *c);
void     wr_conn_start_tls(wr_conn *c);             /* after the output so far; there must be no input */
bool     wr_conn_is_tls(const wr_conn *c);
bool     wr_conn_is_local(const wr_conn *c);        /* over loopback */
const char *wr_conn_peer(const wr_conn *c);         /* "127.0.0.1:51432" */
/* A parked connection has its turn soon. */
void     wr_conn_wake(wr_conn *c);
