/* sys/net_tls.h: the little of libssl that a server needs, loaded when it is needed; private to sys/.                          */
#pragma once
#include "sys/world.h"

typedef struct net_tls     net_tls;     /* of a server: certificate and key */
typedef struct net_tls_end net_tls_end; /* of a connection */
typedef enum net_io { NET_IO_OK, NET_IO_WANT_READ, NET_IO_WANT_WRITE, NET_IO_END } net_io;

wr_status    net_tls_new(const char *cert_file, const char *key_file, net_tls **out, wr_err *err);
void         net_tls_free(net_tls *tls);                 /* NULL is legal, as for the other */
net_tls_end *net_tls_begin(net_tls *tls, int fd);        /* NULL: no memory for it */
void         net_tls_end_free(net_tls_end *end);
net_io       net_tls_read(net_tls_end *end, void *buf, size_t len, size_t *done);
net_io       net_tls_write(net_tls_end *end, const void *buf, size_t len, size_t *done);
