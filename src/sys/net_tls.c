/* sys/net_tls.c: TLS of connections by libssl, loaded when a certificate is given. See net_tls.h.
 *
 * Idea       libssl reads and writes the socket itself; what it waits for is handed to the epoll. Versions below 1.2 are refused.
 * Thread     a net_tls: any, once made. An end: the thread that has the connection.                                                */
#include "sys/net_tls.h"
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <pthread.h>

#define SSL_FUNCTIONS(F) F(CTX_new) F(CTX_free) F(CTX_ctrl) F(CTX_use_certificate_chain_file) F(CTX_use_PrivateKey_file) F(CTX_check_private_key) F(new) F(free) \
    F(set_fd) F(set_accept_state) F(read_ex) F(write_ex) F(get_error) F(shutdown)
static struct {
#define F(name) __typeof__(SSL_##name) *name;
    SSL_FUNCTIONS(F)
#undef F
    __typeof__(TLS_server_method) *server_method;
} ssl;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static const char    *missing;

struct net_tls     { SSL_CTX *ctx; };
struct net_tls_end { SSL *ssl; bool broken; };

static void load(void) {
#define F(name) {"SSL_" #name, &ssl.name},
    static const wr_import imports[] = {SSL_FUNCTIONS(F) {"TLS_server_method", &ssl.server_method}};
#undef F
    missing = wr_library_import("libssl.so.3", imports, WR_COUNT_OF(imports));
}

static wr_status refuse(const char *what, const char *file, wr_err *err) {
    unsigned long code = ERR_peek_last_error();
    const char   *why = code ? ERR_reason_error_string(code) : NULL;
    wr_fail(err, WR_USER, "WR411", "%s '%s' cannot be used: %s", what, file, why ? why : "libssl gives no reason");
    wr_err_hint(err, "a PEM file with the certificate and those of its issuers, and one with its key");
    ERR_clear_error();
    return WR_USER;
}

wr_status net_tls_new(const char *cert_file, const char *key_file, net_tls **out, wr_err *err) {
    *out = NULL;
    pthread_once(&once, load);
    if (missing) {
        wr_fail(err, WR_IO, "WR411", "TLS needs libssl, and %s was not found", missing);
        wr_err_hint(err, "apt-get install libssl3");
        return WR_IO;
    }
    if (!key_file) key_file = cert_file;
    net_tls *t = wr_calloc(1, sizeof *t);
    wr_status status = WR_OK;
    ERR_clear_error();
    t->ctx = ssl.CTX_new(ssl.server_method());
    if (!t->ctx || ssl.CTX_use_certificate_chain_file(t->ctx, cert_file) != 1) status = refuse("the certificate", cert_file, err);
    else if (ssl.CTX_use_PrivateKey_file(t->ctx, key_file, SSL_FILETYPE_PEM) != 1 || ssl.CTX_check_private_key(t->ctx) != 1) status = refuse("the key", key_file, err);
    else {
        ssl.CTX_ctrl(t->ctx, SSL_CTRL_SET_MIN_PROTO_VERSION, TLS1_2_VERSION, NULL);
        ssl.CTX_ctrl(t->ctx, SSL_CTRL_MODE, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER | SSL_MODE_RELEASE_BUFFERS, NULL);
    }
    if (status == WR_OK) *out = t;
    else net_tls_free(t);
    return status;
}

void net_tls_free(net_tls *t) {
    if (!t) return;
    if (t->ctx) ssl.CTX_free(t->ctx);
    wr_free(t);
}

net_tls_end *net_tls_begin(net_tls *t, int fd) {
    SSL *s = ssl.new(t->ctx);
    if (!s) return NULL;
    if (ssl.set_fd(s, fd) != 1) return ssl.free(s), NULL;
    ssl.set_accept_state(s);
    net_tls_end *e = wr_calloc(1, sizeof *e);
    e->ssl = s;
    return e;
}

void net_tls_end_free(net_tls_end *e) {
    if (!e) return;
    if (!e->broken) ssl.shutdown(e->ssl); /* says that it ends; nobody waits for the answer */
    ssl.free(e->ssl);
    ERR_clear_error();
    wr_free(e);
}

static net_io outcome(net_tls_end *e, int result) {
    if (result == 1) return NET_IO_OK;
    int error = ssl.get_error(e->ssl, result);
    ERR_clear_error();
    if (error == SSL_ERROR_WANT_READ) return NET_IO_WANT_READ;
    if (error == SSL_ERROR_WANT_WRITE) return NET_IO_WANT_WRITE;
    if (error != SSL_ERROR_ZERO_RETURN) e->broken = true;
    return NET_IO_END;
}

net_io net_tls_read(net_tls_end *e, void *buf, size_t len, size_t *done) {
    *done = 0;
    ERR_clear_error();
    return outcome(e, ssl.read_ex(e->ssl, buf, len, done));
}

net_io net_tls_write(net_tls_end *e, const void *buf, size_t len, size_t *done) {
    *done = 0;
    ERR_clear_error();
    return outcome(e, ssl.write_ex(e->ssl, buf, len, done));
}
