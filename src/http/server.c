/* http/server.c: see server.h.
 *
 * Request    seen by libmicrohttpd's callback several times: headers (a route is found, it may refuse), pieces of the body, the end (the route serves). A request
 *            that is put off is suspended first and handed to the route then, so that an answer never comes before the sleep.
 * Refused    a request with a small body is read to its end before the answer, since a client that is cut while it sends does not see it.
 * Stream     awake, woken or asleep (an atomic): who wakes it and the callback that puts it to sleep never miss each other. A removed route's streams are closed under the lock
 *            that their callback holds, and end when they are looked at next.
 * Stopping   a route is removed under the lock when no call of it runs; later requests get 404. The daemon stops when nobody holds the server.       */
#include "http/server.h"
#include "http/mhd.h"
#include "sys/net.h"
#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

enum { STREAM_BLOCK = 16 << 10, ROUTES_MAX = 64, THREADS = 2, CONNECTIONS = 1000, IDLE_S = 30, CONNECTION_BYTES = 32 << 10, DRAINED_MAX = 1 << 20, BACKLOG = 512, PEM_MAX = 1 << 20 };
enum { STREAM_AWAKE, STREAM_WOKEN, STREAM_ASLEEP };
static const uint64_t BODIES_MAX = UINT64_C(64) << 20;

typedef struct request request;
typedef struct slot { wr_http_route route; uint32_t in_use; bool used, leaving; } slot;

struct wr_http_server {
    wr_http_server     *next;
    wr_world           *world;
    char                listen[128], address[160];
    struct MHD_Daemon  *daemon;
    uint32_t            n_holders;
    wr_mutex           *lock;        /* of the slots */
    slot                slots[ROUTES_MAX];
    request            *streams;
    uint64_t            max_bodies;
    _Atomic uint64_t    bodies;
    wr_sbuf             cert, key;
};

struct request {
    wr_http_in             in;
    wr_http_server        *server;
    struct MHD_Connection *connection;
    wr_sbuf                body;
    uint64_t               charged;
    uint64_t               max_body;
    char                  *path;
    bool                   refused, served, answered; /* answered: `out` is there */
    wr_http_out            out;
    request               *next_stream;  /* under the server's lock */
    wr_mutex              *stream_lock;  /* held while it is asked for more; NULL: it is no stream */
    const void            *stream_route; /* the route's self */
    bool                   closed;       /* under stream_lock */
    _Atomic int            stream_state;
};

/* ---- loading ---- */
mhd_table mhd;
static pthread_once_t  once = PTHREAD_ONCE_INIT;
static const char     *missing;
static pthread_mutex_t servers_lock = PTHREAD_MUTEX_INITIALIZER;
static wr_http_server *servers;

static void load(void) {
#define F(name) {"MHD_" #name, &mhd.name},
    static const wr_import imports[] = {MHD_FUNCTIONS(F)};
#undef F
    missing = wr_library_import("libmicrohttpd.so.12", imports, WR_COUNT_OF(imports));
}

wr_status mhd_load(wr_err *err) {
    pthread_once(&once, load);
    if (!missing) return WR_OK;
    wr_fail(err, WR_IO, "WR375", "an HTTP server needs libmicrohttpd, and %s was not found", missing);
    wr_err_hint(err, "apt-get install libmicrohttpd12");
    return WR_IO;
}

/* ---- answers ---- */
void wr_http_out_error(wr_http_out *out, int status, const char *fmt, ...) {
    char    text[1000];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    out->status = status, out->type = NULL;
    wr_sbuf_clear(&out->body);
    wr_sbuf_addz(&out->body, "{\"error\":");
    wr_sbuf_add_json(&out->body, wr_str_of(text));
    wr_sbuf_addz(&out->body, "}\n");
}

void wr_http_out_header(wr_http_out *out, const char *name, const char *value) {
    for (size_t i = 0; i < WR_HTTP_OUT_HEADERS; i++) {
        if (out->headers[i].name && strcmp(out->headers[i].name, name)) continue;
        out->headers[i].name = name;
        snprintf(out->headers[i].value, sizeof out->headers[i].value, "%s", value);
        return;
    }
}

/* ---- streams ---- */
void wr_http_wake(wr_http_in *in) {
    request *r = (request *)in;
    if (atomic_exchange(&r->stream_state, STREAM_WOKEN) == STREAM_ASLEEP) mhd.resume_connection(r->connection);
}

static ssize_t on_more(void *arg, uint64_t at, char *to, size_t room) {
    request *r = arg;
    bool     end = false;
    (void)at;
    atomic_store(&r->stream_state, STREAM_AWAKE);
    wr_mutex_lock(r->stream_lock);
    size_t n = r->closed ? (end = true, 0) : r->out.stream.more(r->out.stream.self, to, room, &end);
    wr_mutex_unlock(r->stream_lock);
    if (n) return (ssize_t)n;
    if (end) return MHD_CONTENT_READER_END_OF_STREAM;
    int awake = STREAM_AWAKE;
    mhd.suspend_connection(r->connection);
    if (!atomic_compare_exchange_strong(&r->stream_state, &awake, STREAM_ASLEEP)) mhd.resume_connection(r->connection); /* woken meanwhile */
    return 0;
}

static void close_stream(request *r) {
    wr_mutex_lock(r->stream_lock);
    if (!r->closed && r->out.stream.close) r->out.stream.close(r->out.stream.self);
    r->closed = true;
    wr_mutex_unlock(r->stream_lock);
}

static void add_stream(request *r, const void *route) {
    r->stream_lock = wr_mutex_new();
    r->stream_route = route;
    wr_mutex_lock(r->server->lock);
    r->next_stream = r->server->streams;
    r->server->streams = r;
    wr_mutex_unlock(r->server->lock);
}

static void remove_stream(request *r) {
    wr_mutex_lock(r->server->lock);
    for (request **at = &r->server->streams; *at; at = &(*at)->next_stream)
        if (*at == r) {
            *at = r->next_stream;
            break;
        }
    wr_mutex_unlock(r->server->lock);
    close_stream(r);
    wr_mutex_free(r->stream_lock);
}

/* With the server's lock. NULL: all of them. */
static void close_streams_of(wr_http_server *s, const void *route) {
    for (request *r = s->streams; r; r = r->next_stream) {
        if (route && r->stream_route != route) continue;
        close_stream(r);
        wr_http_wake(&r->in);
    }
}

static enum MHD_Result send_answer(request *r) {
    wr_http_out         *o = &r->out;
    struct MHD_Response *response = r->stream_lock ? mhd.create_response_from_callback(MHD_SIZE_UNKNOWN, STREAM_BLOCK, on_more, r, NULL) : mhd.create_response_from_buffer(o->body.len, o->body.at ? o->body.at : (char *)(uintptr_t)"", MHD_RESPMEM_MUST_COPY);
    if (!response) return MHD_NO;
    mhd.add_response_header(response, "Content-Type", o->type ? o->type : "application/json");
    mhd.add_response_header(response, "X-Content-Type-Options", "nosniff");
    bool cached = false;
    for (size_t i = 0; i < WR_HTTP_OUT_HEADERS; i++) {
        if (!o->headers[i].name) continue;
        mhd.add_response_header(response, o->headers[i].name, o->headers[i].value);
        cached = cached || !strcmp(o->headers[i].name, "Cache-Control");
    }
    if (!cached) mhd.add_response_header(response, "Cache-Control", "no-store");
    enum MHD_Result result = mhd.queue_response(r->connection, (unsigned)(o->status ? o->status : 200), response);
    mhd.destroy_response(response);
    return result;
}

void wr_http_respond(wr_http_in *in, wr_http_out *out) {
    request *r = (request *)in;
    wr_sbuf_free(&r->out.body);
    r->out = *out;
    out->body = (wr_sbuf){0};
    r->answered = true;
    mhd.resume_connection(r->connection);
}

/* ---- what a request says ---- */
const char *wr_http_in_header(const wr_http_in *in, const char *name) { return mhd.lookup_connection_value(((const request *)in)->connection, MHD_HEADER_KIND, name); }
const char *wr_http_in_query(const wr_http_in *in, const char *name) { return mhd.lookup_connection_value(((const request *)in)->connection, MHD_GET_ARGUMENT_KIND, name); }

/* Equal in the time that it takes to look at all of both, so that nothing is learned of how much was right. */
static bool same_secret(const char *a, const char *b) {
    size_t   n = strlen(a), m = strlen(b);
    unsigned differ = (unsigned)(n != m);
    for (size_t i = 0; i < m; i++) differ |= (unsigned)((unsigned char)b[i] ^ (unsigned char)(i < n ? a[i] : 0));
    return !differ;
}

static bool has_token(const request *r, const char *token) {
    const char *given = wr_http_in_header(&r->in, "Authorization");
    return given && !strncasecmp(given, "Bearer ", 7) && same_secret(given + 7 + strspn(given + 7, " "), token);
}

static bool from_loopback(struct MHD_Connection *c) {
    const union MHD_ConnectionInfo *info = mhd.get_connection_info(c, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
    const struct sockaddr          *a = info ? info->client_addr : NULL;
    return a && wr_net_is_loopback(a);
}

/* ---- routes ---- */
static slot *take_route(wr_http_server *s, const char *path) {
    slot  *found = NULL;
    size_t best = 0;
    wr_mutex_lock(s->lock);
    for (uint32_t i = 0; i < ROUTES_MAX; i++) {
        slot  *t = &s->slots[i];
        size_t len = t->used ? strlen(t->route.path) : 0;
        if (!t->used || t->leaving || len < best || (t->route.prefix ? strncmp(t->route.path, path, len) : strcmp(t->route.path, path))) continue;
        if (found && len == best && t->route.prefix) continue;
        found = t, best = len;
    }
    if (found) found->in_use++;
    wr_mutex_unlock(s->lock);
    return found;
}
static void give_route(wr_http_server *s, slot *t) {
    wr_mutex_lock(s->lock);
    t->in_use--;
    wr_mutex_unlock(s->lock);
}

void wr_http_paths(wr_http_server *s, wr_http_out *out) {
    out->type = "text/plain; charset=utf-8";
    wr_mutex_lock(s->lock);
    for (uint32_t i = 0; i < ROUTES_MAX; i++) {
        slot *t = &s->slots[i];
        if (!t->used || t->leaving) continue;
        if (out->body.len) wr_sbuf_addc(&out->body, '\n');
        wr_sbuf_printf(&out->body, "%s\n", t->route.path);
        if (t->route.describe) t->route.describe(t->route.self, s->address, &out->body);
    }
    wr_mutex_unlock(s->lock);
}

static void nobody(request *r) {
    bool root = !strcmp(r->path, "/");
    if (root && (!strcmp(r->in.method, "GET") || !strcmp(r->in.method, "HEAD"))) wr_http_paths(r->server, &r->out);
    else wr_http_out_error(&r->out, root ? 405 : 404, root ? "%s of / is not for anything; GET / says what there is" : "nothing is here; GET / says what there is", r->in.method);
}

static bool admit(request *r) {
    slot *t = take_route(r->server, r->path);
    bool  ok = false;
    if (!t) return nobody(r), false;
    r->max_body = t->route.max_body;
    if (t->route.token && !has_token(r, t->route.token)) {
        wr_http_out_error(&r->out, 401, "this needs the header Authorization: Bearer TOKEN with the right token");
        wr_http_out_header(&r->out, "WWW-Authenticate", "Bearer");
    } else if (r->in.length != UINT64_MAX && r->in.length > r->max_body) {
        wr_http_out_error(&r->out, 413, "the body has %" PRIu64 " bytes; %" PRIu64 " are taken at most", r->in.length, r->max_body);
    } else {
        ok = !t->route.admit || t->route.admit(t->route.self, &r->in, &r->out);
    }
    give_route(r->server, t);
    return ok;
}

/* ---- libmicrohttpd's callbacks ---- */
static request *begin(wr_http_server *s, struct MHD_Connection *c, const char *url, const char *method) {
    request *r = wr_calloc(1, sizeof *r);
    *r = (request){.server = s, .connection = c, .path = wr_strdup(url)};
    const char *length = mhd.lookup_connection_value(c, MHD_HEADER_KIND, "Content-Length");
    r->in = (wr_http_in){.method = method, .path = r->path, .address = s->address, .length = UINT64_MAX, .local = from_loopback(c)};
    if (length && length[strspn(length, "0123456789")] == 0 && *length) r->in.length = strtoull(length, NULL, 10);
    else if (!length && !mhd.lookup_connection_value(c, MHD_HEADER_KIND, "Transfer-Encoding")) r->in.length = 0;
    return r;
}

static bool is_small(const request *r) { return r->in.length <= DRAINED_MAX && !wr_http_in_header(&r->in, "Expect"); }

static void take_piece(request *r, const char *data, size_t len) {
    if (r->refused) return;
    if (r->body.len + len > r->max_body) {
        r->refused = true;
        wr_http_out_error(&r->out, 413, "the body is longer than the %" PRIu64 " bytes that are taken", r->max_body);
    } else if (atomic_load(&r->server->bodies) + len > r->server->max_bodies) {
        r->refused = true;
        wr_http_out_error(&r->out, 503, "too many bodies are under way; send it again");
        wr_http_out_header(&r->out, "Retry-After", "1");
    } else {
        wr_sbuf_add(&r->body, data, len);
        atomic_fetch_add(&r->server->bodies, len);
        r->charged += len;
        return;
    }
    wr_sbuf_free(&r->body);
}

static enum MHD_Result serve(request *r) {
    r->served = true;
    slot *t = take_route(r->server, r->path);
    if (!t) return nobody(r), send_answer(r);
    r->in.body = wr_sbuf_str(&r->body);
    if (t->route.serve(t->route.self, &r->in, &r->out) == WR_HTTP_NOW) {
        if (r->out.stream.more) add_stream(r, t->route.self);
        give_route(r->server, t);
        return send_answer(r);
    }
    mhd.suspend_connection(r->connection);
    t->route.later(t->route.self, &r->in);
    give_route(r->server, t);
    return MHD_YES;
}

static enum MHD_Result on_request(void *arg, struct MHD_Connection *c, const char *url, const char *method, const char *version, const char *data, size_t *len, void **state) {
    request *r = *state;
    (void)version;
    if (!r) {
        *state = r = begin(arg, c, url, method);
        r->refused = !admit(r);
        return r->refused && !is_small(r) ? send_answer(r) : MHD_YES;
    }
    if (*len) {
        take_piece(r, data, *len);
        *len = 0;
        return MHD_YES;
    }
    if (r->refused || r->answered) return send_answer(r);
    return r->served ? MHD_YES : serve(r);
}

static void on_completed(void *arg, struct MHD_Connection *c, void **state, enum MHD_RequestTerminationCode code) {
    request *r = *state;
    (void)arg, (void)c, (void)code;
    if (!r) return;
    if (r->stream_lock) remove_stream(r);
    atomic_fetch_sub(&r->server->bodies, r->charged);
    wr_sbuf_free(&r->body);
    wr_sbuf_free(&r->out.body);
    wr_free(r->path);
    wr_free(r);
    *state = NULL;
}

/* ---- opening ---- */
static wr_status read_pem(wr_http_server *s, const wr_http_server_opts *o, wr_err *err) {
    if (!o->cert_file) return WR_OK;
    WR_TRY(wr_file_read_all(s->world, o->cert_file, PEM_MAX, &s->cert, err));
    return wr_file_read_all(s->world, o->key_file ? o->key_file : o->cert_file, PEM_MAX, &s->key, err);
}

static wr_status start(wr_http_server *s, const wr_http_server_opts *o, wr_err *err) {
    wr_net_end a;
    char     host[64];
    unsigned flags = MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME | (o->cert_file ? MHD_USE_TLS : 0);
    if (!wr_net_listen_read(wr_str_of(o->listen), &a, host)) return wr_fail(err, WR_USER, "WR375", "'%s' is not an address to listen on: HOST:PORT with a number as host, or localhost:PORT", o->listen);
    if (a.any.sa_family == AF_INET6) flags |= MHD_USE_IPv6;
    WR_TRY(mhd_load(err));
    WR_TRY(read_pem(s, o, err));
    struct MHD_OptionItem tls[] = {{o->cert_file ? MHD_OPTION_HTTPS_MEM_CERT : MHD_OPTION_END, 0, s->cert.at}, {o->cert_file ? MHD_OPTION_HTTPS_MEM_KEY : MHD_OPTION_END, 0, s->key.at}, {MHD_OPTION_END, 0, NULL}};
    errno = 0;
    s->daemon = mhd.start_daemon(flags, 0, NULL, NULL, on_request, s, MHD_OPTION_SOCK_ADDR, &a.any, MHD_OPTION_THREAD_POOL_SIZE, o->threads ? o->threads : (unsigned)THREADS,
                                 MHD_OPTION_CONNECTION_LIMIT, o->connections ? o->connections : (unsigned)CONNECTIONS, MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)CONNECTION_BYTES,
                                 MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)(o->idle_us ? WR_MAX(o->idle_us / 1000000, 1) : IDLE_S), MHD_OPTION_NOTIFY_COMPLETED, on_completed, s,
                                 MHD_OPTION_LISTEN_BACKLOG_SIZE, (unsigned)BACKLOG, MHD_OPTION_ARRAY, tls, MHD_OPTION_END);
    if (!s->daemon) {
        int code = errno;
        wr_fail(err, WR_IO, "WR375", "cannot listen on %s: %s", o->listen, code ? strerror(code) : o->cert_file ? "the certificate or its key is not one" : "no reason given");
        if (code == EADDRINUSE) wr_err_hint(err, "another process has the port; stop it, or take another one");
        return WR_IO;
    }
    const union MHD_DaemonInfo *info = mhd.get_daemon_info(s->daemon, MHD_DAEMON_INFO_BIND_PORT);
    snprintf(s->address, sizeof s->address, "%s://%s:%u", o->cert_file ? "https" : "http", host, info ? info->port : 0);
    return WR_OK;
}

static void destroy(wr_http_server *s) {
    wr_mutex_lock(s->lock);
    close_streams_of(s, NULL);
    wr_mutex_unlock(s->lock);
    if (s->daemon) mhd.stop_daemon(s->daemon);
    wr_mutex_free(s->lock);
    wr_sbuf_free(&s->cert);
    wr_sbuf_free(&s->key);
    wr_free(s);
}

wr_status wr_http_server_get(wr_world *world, const wr_http_server_opts *o, const wr_http_route *first, wr_http_server **out, wr_err *err) {
    wr_status status = WR_OK;
    *out = NULL;
    pthread_mutex_lock(&servers_lock);
    for (wr_http_server *s = servers; s && !*out; s = s->next)
        if (!strcmp(s->listen, o->listen)) *out = s;
    if (*out) {
        if (first) status = wr_http_route_add(*out, first, err);
        if (status == WR_OK) (*out)->n_holders++;
        else *out = NULL;
    } else {
        wr_http_server *s = wr_calloc(1, sizeof *s);
        *s = (wr_http_server){.world = world, .n_holders = 1, .lock = wr_mutex_new(), .max_bodies = o->max_bodies ? o->max_bodies : BODIES_MAX, .next = servers};
        snprintf(s->listen, sizeof s->listen, "%s", o->listen);
        if (first) status = wr_http_route_add(s, first, err);
        wr_mutex_lock(s->lock); /* who comes at once waits for the address */
        if (status == WR_OK) status = start(s, o, err);
        wr_mutex_unlock(s->lock);
        if (status == WR_OK) servers = *out = s;
        else destroy(s);
    }
    pthread_mutex_unlock(&servers_lock);
    return status;
}

void wr_http_server_release(wr_http_server *s) {
    if (!s) return;
    pthread_mutex_lock(&servers_lock);
    bool last = !--s->n_holders;
    for (wr_http_server **at = &servers; last && *at; at = &(*at)->next)
        if (*at == s) {
            *at = s->next;
            break;
        }
    if (last) destroy(s);
    pthread_mutex_unlock(&servers_lock);
}

const char *wr_http_server_address(const wr_http_server *s) { return s->address; }

wr_status wr_http_route_add(wr_http_server *s, const wr_http_route *route, wr_err *err) {
    slot     *room = NULL;
    wr_status status = WR_OK;
    wr_mutex_lock(s->lock);
    for (uint32_t i = 0; i < ROUTES_MAX; i++) {
        slot *t = &s->slots[i];
        if (t->used && !strcmp(t->route.path, route->path)) status = wr_fail(err, WR_USER, "WR375", "%s%s is taken by another table", s->listen, route->path);
        if (!t->used && !room) room = t;
    }
    if (status == WR_OK && !room) status = wr_fail(err, WR_LIMIT, "WR375", "%s has %d paths already", s->listen, ROUTES_MAX);
    if (status == WR_OK) *room = (slot){.route = *route, .used = true};
    wr_mutex_unlock(s->lock);
    return status;
}

void wr_http_route_remove(wr_http_server *s, const wr_http_route *route) {
    for (bool gone = false; !gone;) {
        gone = true;
        wr_mutex_lock(s->lock);
        for (uint32_t i = 0; i < ROUTES_MAX; i++) {
            slot *t = &s->slots[i];
            if (!t->used || t->route.self != route->self || strcmp(t->route.path, route->path)) continue;
            t->leaving = true;
            if (t->in_use) gone = false;
            else t->used = false, close_streams_of(s, t->route.self);
        }
        wr_mutex_unlock(s->lock);
        if (!gone) s->world->vt->sleep_us(s->world, 1000);
    }
}
