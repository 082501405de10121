/* sys/net.c: see net.h.
 *
 * One owner  a socket is armed with EPOLLONESHOT: the thread that gets its event has the connection until it arms it again. `busy` and `woken`, under the
 *            connection's lock, are what a waker looks at: a connection in its turn sees the mark at the end of it, another one is armed for output, which
 *            comes at once. A waker may arm a connection whose event another thread has taken but not looked at yet, so two threads can come with one
 *            connection: the second one sees `busy` and goes, since the first one arms it again for all that it waits for.
 * Life       connections are in a list under the server's lock; a socket is closed under it too, so that the sweep, which shuts idle ones down, never meets
 *            another's number. What was shut down comes out of the epoll as ended and is closed by the thread that gets it.
 * Graves     for the same reason a thread may hold an event of a connection that another one has closed: the memory is given back when every thread has waited
 *            anew since then.
 * Parked     a parked connection is never freed, even if its client left: whoever works for it will wake it.                                    */
#include "sys/net.h"
#include "sys/net_tls.h"
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

enum { THREADS = 2, THREADS_MAX = 16, CONNECTIONS = 1000, BACKLOG = 512, READ_BYTES = 16384, IN_MAX = 64 << 10, OUT_HIGH = 256 << 10, OUT_KEPT = 64 << 10, SWEEP_MS = 500, FDS_SPARE = 256 };
static const int64_t IDLE_US = INT64_C(3600) * 1000000, CLOSE_US = 5000000;

struct wr_conn {
    wr_conn         *prev, *next;
    wr_net          *net;
    int              fd;
    wr_mutex        *lock;            /* of busy and woken */
    bool             fresh, ended, dead, tls_wanted, want_write, local; /* fresh: bytes came that no turn has seen; dead: it cannot be written to */
    wr_conn_next     state;
    _Atomic bool     parked;
    _Atomic int64_t  last_us, idle_us;
    size_t           in_from, in_max, out_from;
    wr_sbuf          in, out;
    net_tls_end     *tls;
    void            *user;
    uint64_t         died;            /* its number among the closed ones */
    char             peer[64];
    bool             busy, woken;     /* away from the flags above, which compilers read together */
};

struct wr_net {
    wr_world        *world;
    wr_net_opts      opts;
    int              fd, epoll, stop_fd;
    net_tls         *tls;
    wr_mutex        *lock;            /* of the lists */
    wr_conn         *first, *graves;  /* graves: the newest first */
    _Atomic uint64_t n_died;
    _Atomic uint32_t n;
    _Atomic bool     stopping;
    _Atomic int64_t  swept_us;
    uint32_t         n_threads;
    void            *threads[THREADS_MAX];
    _Atomic uint64_t waited[THREADS_MAX]; /* how many had been closed when the thread last held no event */
    _Atomic uint32_t n_begun;
    char             address[96];
};

/* ---- addresses ---- */
bool wr_net_listen_read(wr_str listen, wr_net_end *out, char host[64]) {
    char        text[128];
    const char *colon = listen.len ? memrchr(listen.ptr, ':', listen.len) : NULL;
    if (!colon || listen.len >= sizeof text) return false;
    snprintf(text, sizeof text, "%.*s", WR_FMT(listen));
    size_t at = (size_t)(colon - listen.ptr), digits = strspn(text + at + 1, "0123456789");
    if (!digits || digits > 5 || text[at + 1 + digits] || at >= 64) return false;
    unsigned long port = strtoul(text + at + 1, NULL, 10);
    if (port > 65535) return false;
    snprintf(host, 64, "%.*s", (int)at, text);
    if (!strcmp(host, "localhost")) snprintf(host, 64, "127.0.0.1");
    memset(out, 0, sizeof *out);
    if (host[0] == '[' && host[at - 1] == ']') {
        char inner[64];
        snprintf(inner, sizeof inner, "%.*s", (int)at - 2, host + 1);
        out->v6.sin6_family = AF_INET6, out->v6.sin6_port = htons((uint16_t)port);
        return inet_pton(AF_INET6, inner, &out->v6.sin6_addr) == 1;
    }
    out->v4.sin_family = AF_INET, out->v4.sin_port = htons((uint16_t)port);
    return inet_pton(AF_INET, host, &out->v4.sin_addr) == 1;
}

bool wr_net_is_loopback(const struct sockaddr *a) {
    if (a->sa_family == AF_INET) return (ntohl(((const struct sockaddr_in *)(const void *)a)->sin_addr.s_addr) >> 24) == 127;
    return a->sa_family == AF_INET6 && IN6_IS_ADDR_LOOPBACK(&((const struct sockaddr_in6 *)(const void *)a)->sin6_addr);
}

bool wr_net_listen_ok(wr_str listen, bool *loopback) {
    wr_net_end a;
    char           host[64];
    if (!wr_net_listen_read(listen, &a, host)) return false;
    *loopback = wr_net_is_loopback(&a.any);
    return true;
}

/* ---- a connection ---- */
wr_str   wr_conn_in(const wr_conn *c) { return (wr_str){c->in.at ? c->in.at + c->in_from : "", c->in.len - c->in_from}; }
bool     wr_conn_ended(const wr_conn *c) { return c->ended || c->dead; }
wr_sbuf *wr_conn_out(wr_conn *c) { return &c->out; }
bool     wr_conn_room(const wr_conn *c) { return c->out.len - c->out_from < OUT_HIGH; }
void   **wr_conn_user(wr_conn *c) { return &c->user; }
bool     wr_conn_can_tls(const wr_conn *c) { return c->net->tls && !c->tls; }
bool     wr_conn_is_tls(const wr_conn *c) { return c->tls != NULL; }
void     wr_conn_start_tls(wr_conn *c) { c->tls_wanted = true; }
bool     wr_conn_is_local(const wr_conn *c) { return c->local; }
const char *wr_conn_peer(const wr_conn *c) { return c->peer; }

void wr_conn_take(wr_conn *c, size_t n) {
    wr_assert(n <= c->in.len - c->in_from);
    c->in_from += n;
    if (c->in_from < c->in.len) return;
    c->in_from = 0;
    wr_sbuf_clear(&c->in);
    if (c->in.cap > IN_MAX) wr_sbuf_free(&c->in);
}

void wr_conn_limits(wr_conn *c, size_t in_max, int64_t idle_us) {
    c->in_max = in_max;
    atomic_store(&c->idle_us, idle_us);
}

static void arm(wr_conn *c, uint32_t events) {
    struct epoll_event e = {.events = events | EPOLLONESHOT, .data.ptr = c};
    epoll_ctl(c->net->epoll, EPOLL_CTL_MOD, c->fd, &e);
}

void wr_conn_wake(wr_conn *c) {
    wr_mutex_lock(c->lock);
    c->woken = true;
    if (!c->busy) arm(c, EPOLLOUT);
    wr_mutex_unlock(c->lock);
}

static void destroy(wr_conn *c) {
    wr_net *net = c->net;
    if (net->opts.closed) net->opts.closed(net->opts.self, c);
    wr_mutex_lock(net->lock);
    if (c->prev) c->prev->next = c->next;
    else net->first = c->next;
    if (c->next) c->next->prev = c->prev;
    net_tls_end_free(c->tls);
    close(c->fd);
    c->died = atomic_fetch_add(&net->n_died, 1) + 1; /* behind close: no new event names it */
    c->next = net->graves, net->graves = c;
    wr_mutex_unlock(net->lock);
    atomic_fetch_sub(&net->n, 1);
    wr_sbuf_free(&c->in);
    wr_sbuf_free(&c->out);
}

/* Frees what was closed and is in no thread's hands: the tail of the list. */
static void clear_graves(wr_net *net) {
    uint64_t least = UINT64_MAX;
    for (uint32_t i = 0; i < atomic_load(&net->n_begun); i++) least = WR_MIN(least, atomic_load(&net->waited[i]));
    wr_mutex_lock(net->lock);
    wr_conn **at = &net->graves;
    while (*at && (*at)->died > least) at = &(*at)->next;
    wr_conn *gone = *at;
    *at = NULL;
    wr_mutex_unlock(net->lock);
    for (wr_conn *next; gone; gone = next) {
        next = gone->next;
        wr_mutex_free(gone->lock);
        wr_free(gone);
    }
}

/* ---- bytes ---- */
static net_io plain(ssize_t n, net_io wanted, size_t *done) {
    *done = n > 0 ? (size_t)n : 0;
    if (n > 0) return NET_IO_OK;
    if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return wanted;
    return n < 0 && errno == EINTR ? NET_IO_OK : NET_IO_END;
}

static void compact(wr_conn *c) {
    if (!c->in_from || c->in.len - c->in_from > c->in_from) return;
    memmove(c->in.at, c->in.at + c->in_from, c->in.len - c->in_from);
    c->in.len -= c->in_from, c->in_from = 0;
}

static void take_in(wr_conn *c) {
    while (!c->ended && !c->dead && c->in.len - c->in_from < c->in_max) {
        size_t n, most = WR_MIN((size_t)READ_BYTES, c->in_max - (c->in.len - c->in_from));
        compact(c);
        wr_sbuf_reserve(&c->in, most + 1);
        net_io io = c->tls ? net_tls_read(c->tls, c->in.at + c->in.len, most, &n) : plain(recv(c->fd, c->in.at + c->in.len, most, 0), NET_IO_WANT_READ, &n);
        c->in.len += n;
        if (n) c->fresh = true, atomic_store(&c->last_us, wr_mono_us(c->net->world));
        if (io == NET_IO_END) c->ended = c->fresh = true;
        if (io == NET_IO_WANT_WRITE) c->want_write = true;
        if (io != NET_IO_OK) return;
    }
}

static void put_out(wr_conn *c) {
    while (c->out_from < c->out.len && !c->dead) {
        size_t n, len = c->out.len - c->out_from;
        net_io io = c->tls ? net_tls_write(c->tls, c->out.at + c->out_from, len, &n) : plain(send(c->fd, c->out.at + c->out_from, len, MSG_NOSIGNAL), NET_IO_WANT_WRITE, &n);
        c->out_from += n;
        if (n) atomic_store(&c->last_us, wr_mono_us(c->net->world));
        if (io == NET_IO_END) c->dead = true;
        if (io == NET_IO_WANT_WRITE) c->want_write = true;
        if (io != NET_IO_OK) break;
    }
    if (c->dead || c->out_from == c->out.len) {
        c->out_from = 0;
        wr_sbuf_clear(&c->out);
        if (c->out.cap > OUT_KEPT) wr_sbuf_free(&c->out);
    } else if (c->out_from > OUT_HIGH) {
        memmove(c->out.at, c->out.at + c->out_from, c->out.len - c->out_from);
        c->out.len -= c->out_from, c->out_from = 0;
    }
    if (c->tls_wanted && !c->out.len && !c->dead) {
        c->tls_wanted = false;
        c->tls = net_tls_begin(c->net->tls, c->fd);
        if (!c->tls) c->dead = true;
    }
}

static bool woken(wr_conn *c) {
    wr_mutex_lock(c->lock);
    bool was = c->woken;
    c->woken = false;
    wr_mutex_unlock(c->lock);
    return was;
}

/* Is there something for the server to do? */
static bool due(wr_conn *c) {
    if (c->state == WR_CONN_READ && c->fresh) return true;
    if (c->state == WR_CONN_WRITE && (c->dead || wr_conn_room(c))) return true;
    return c->state == WR_CONN_PARK && woken(c);
}

static bool finished(const wr_conn *c) { return c->state != WR_CONN_PARK && (c->dead || (c->state == WR_CONN_CLOSE && c->out_from == c->out.len)); }

/* Arms it for what it waits for; false: it was woken meanwhile. */
static bool rest(wr_conn *c) {
    uint32_t events = c->state == WR_CONN_PARK && !c->ended ? EPOLLRDHUP : 0;
    bool     lost = c->dead || (c->ended && c->state == WR_CONN_PARK);
    if (c->state == WR_CONN_READ && !c->ended) events |= EPOLLIN;
    if (c->want_write || c->out_from < c->out.len) events |= EPOLLOUT;
    if (c->state == WR_CONN_READ && c->ended) events |= EPOLLOUT;
    wr_mutex_lock(c->lock);
    bool again = c->woken && c->state == WR_CONN_PARK;
    if (!again) {
        c->busy = false;
        if (!lost) arm(c, events); /* else it waits for whoever wakes it */
    }
    wr_mutex_unlock(c->lock);
    return !again;
}

static void serve(wr_conn *c, uint32_t events) {
    wr_net *net = c->net;
    wr_mutex_lock(c->lock);
    bool taken = c->busy; /* for ever, when it is closed */
    c->busy = true;
    wr_mutex_unlock(c->lock);
    if (taken) return;
    c->want_write = false;
    if (events & EPOLLERR) c->dead = true;
    for (;;) {
        bool was_lost = c->ended || c->dead;
        if (c->state == WR_CONN_PARK && (events & (EPOLLRDHUP | EPOLLHUP))) c->ended = true;
        else if (c->state != WR_CONN_CLOSE && c->state != WR_CONN_PARK) take_in(c);
        put_out(c);
        if (due(c)) {
            c->fresh = false;
            c->state = net->opts.turn(net->opts.self, c);
            atomic_store(&c->parked, c->state == WR_CONN_PARK);
            if (c->state == WR_CONN_CLOSE) atomic_store(&c->idle_us, CLOSE_US);
            if (c->state == WR_CONN_READ && c->ended) c->state = WR_CONN_CLOSE;
            continue;
        }
        if (finished(c)) {
            destroy(c);
            return;
        }
        if (c->state == WR_CONN_PARK && (c->ended || c->dead) && !was_lost && net->opts.gone) net->opts.gone(net->opts.self, c);
        if (rest(c)) return;
    }
}

/* ---- the threads ---- */
static void take_client(wr_net *net) {
    wr_net_end a = {0};
    socklen_t  len = sizeof a;
    int        fd = accept4(net->fd, &a.any, &len, SOCK_NONBLOCK | SOCK_CLOEXEC), one = 1;
    if (fd < 0) {
        if (errno == EMFILE || errno == ENFILE) net->world->vt->sleep_us(net->world, 10000);
        return;
    }
    if (atomic_fetch_add(&net->n, 1) >= net->opts.connections) {
        atomic_fetch_sub(&net->n, 1);
        close(fd);
        return;
    }
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &one, sizeof one);
    wr_conn *c = wr_calloc(1, sizeof *c);
    *c = (wr_conn){.net = net, .fd = fd, .lock = wr_mutex_new(), .state = WR_CONN_READ, .in_max = IN_MAX, .local = wr_net_is_loopback(&a.any)};
    atomic_store(&c->last_us, wr_mono_us(net->world));
    atomic_store(&c->idle_us, net->opts.idle_us);
    char text[INET6_ADDRSTRLEN] = "";
    bool six = a.any.sa_family == AF_INET6;
    inet_ntop(a.any.sa_family, six ? (const void *)&a.v6.sin6_addr : (const void *)&a.v4.sin_addr, text, sizeof text);
    snprintf(c->peer, sizeof c->peer, six ? "[%s]:%u" : "%s:%u", text, ntohs(six ? a.v6.sin6_port : a.v4.sin_port));
    wr_mutex_lock(net->lock);
    c->next = net->first;
    if (net->first) net->first->prev = c;
    net->first = c;
    wr_mutex_unlock(net->lock);
    struct epoll_event e = {.events = EPOLLIN | EPOLLRDHUP | EPOLLONESHOT, .data.ptr = c};
    if (epoll_ctl(net->epoll, EPOLL_CTL_ADD, fd, &e)) destroy(c);
}

/* Ends those that have been silent for too long; one thread at a time. */
static void sweep(wr_net *net) {
    int64_t now = wr_mono_us(net->world), last = atomic_load(&net->swept_us);
    if (now - last < SWEEP_MS * INT64_C(1000) || !atomic_compare_exchange_strong(&net->swept_us, &last, now)) return;
    wr_mutex_lock(net->lock);
    for (wr_conn *c = net->first; c; c = c->next)
        if (!atomic_load(&c->parked) && now - atomic_load(&c->last_us) > atomic_load(&c->idle_us)) shutdown(c->fd, SHUT_RDWR);
    wr_mutex_unlock(net->lock);
}

static void run(void *arg) {
    wr_net            *net = arg;
    uint32_t           me = atomic_fetch_add(&net->n_begun, 1); /* before its first wait; what is closed before that it never sees */
    struct epoll_event events[16];
    while (!atomic_load(&net->stopping)) {
        atomic_store(&net->waited[me], atomic_load(&net->n_died));
        int n = epoll_wait(net->epoll, events, WR_COUNT_OF(events), SWEEP_MS);
        for (int i = 0; i < n; i++) {
            if (events[i].data.ptr == net) {
                take_client(net);
                struct epoll_event e = {.events = EPOLLIN | EPOLLONESHOT, .data.ptr = net};
                epoll_ctl(net->epoll, EPOLL_CTL_MOD, net->fd, &e);
            } else if (events[i].data.ptr) {
                serve(events[i].data.ptr, events[i].events);
            }
        }
        sweep(net);
        if (atomic_load(&net->n_died) != atomic_load(&net->waited[me])) clear_graves(net);
    }
}

/* ---- opening ---- */
static wr_status listen_at(wr_net *net, wr_err *err) {
    wr_net_end a;
    char    host[64];
    int     one = 1;
    if (!wr_net_listen_read(wr_str_of(net->opts.listen), &a, host)) {
        wr_fail(err, WR_USER, "WR410", "'%s' is not an address to listen on", net->opts.listen);
        wr_err_hint(err, "HOST:PORT with a number as host, such as 127.0.0.1:5432");
        return WR_USER;
    }
    socklen_t len = a.any.sa_family == AF_INET ? sizeof a.v4 : sizeof a.v6;
    net->fd = socket(a.any.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (net->fd >= 0) setsockopt(net->fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (net->fd < 0 || bind(net->fd, &a.any, len) || listen(net->fd, BACKLOG) || getsockname(net->fd, &a.any, &len)) {
        int code = errno;
        wr_fail(err, WR_IO, "WR410", "cannot listen on %s: %s", net->opts.listen, strerror(code));
        if (code == EADDRINUSE) wr_err_hint(err, "another process has the port; stop it, or take another one");
        return WR_IO;
    }
    snprintf(net->address, sizeof net->address, "%s:%u", host, ntohs(a.any.sa_family == AF_INET ? a.v4.sin_port : a.v6.sin6_port));
    return WR_OK;
}

/* Room for that many sockets beside the files of the job, as far as the system lets us. */
static void raise_files(uint32_t connections) {
    struct rlimit l;
    rlim_t        wanted = (rlim_t)connections + FDS_SPARE;
    if (getrlimit(RLIMIT_NOFILE, &l) || l.rlim_cur == RLIM_INFINITY || l.rlim_cur >= wanted + FDS_SPARE) return;
    l.rlim_cur = l.rlim_max == RLIM_INFINITY ? wanted + FDS_SPARE : WR_MIN(l.rlim_max, WR_MAX(l.rlim_cur, wanted + FDS_SPARE));
    setrlimit(RLIMIT_NOFILE, &l);
}

static wr_status start(wr_net *net, wr_err *err) {
    WR_TRY(listen_at(net, err));
    if (net->opts.cert_file) WR_TRY(net_tls_new(net->opts.cert_file, net->opts.key_file, &net->tls, err));
    raise_files(net->opts.connections);
    net->epoll = epoll_create1(EPOLL_CLOEXEC);
    net->stop_fd = eventfd(0, EFD_CLOEXEC);
    struct epoll_event stop = {.events = EPOLLIN}, clients = {.events = EPOLLIN | EPOLLONESHOT, .data.ptr = net};
    if (net->epoll < 0 || net->stop_fd < 0 || epoll_ctl(net->epoll, EPOLL_CTL_ADD, net->stop_fd, &stop) || epoll_ctl(net->epoll, EPOLL_CTL_ADD, net->fd, &clients))
        return wr_fail(err, WR_IO, "WR410", "cannot listen on %s: %s", net->opts.listen, strerror(errno));
    for (uint32_t i = 0; i < WR_MIN(net->opts.threads, (uint32_t)THREADS_MAX); i++) {
        WR_TRY(net->world->vt->spawn(net->world, "net", run, net, &net->threads[i], err));
        net->n_threads++;
    }
    return WR_OK;
}

wr_status wr_net_open(wr_world *world, const wr_net_opts *opts, wr_net **out, wr_err *err) {
    wr_net *net = wr_calloc(1, sizeof *net);
    *net = (wr_net){.world = world, .opts = *opts, .fd = -1, .epoll = -1, .stop_fd = -1, .lock = wr_mutex_new()};
    if (!net->opts.threads) net->opts.threads = THREADS;
    if (!net->opts.connections) net->opts.connections = CONNECTIONS;
    if (!net->opts.idle_us) net->opts.idle_us = IDLE_US;
    wr_status status = start(net, err);
    if (status == WR_OK) *out = net;
    else wr_net_close(net), *out = NULL;
    return status;
}

void wr_net_close(wr_net *net) {
    if (!net) return;
    uint64_t one = 1;
    atomic_store(&net->stopping, true);
    if (net->stop_fd >= 0) (void)!write(net->stop_fd, &one, sizeof one);
    for (uint32_t i = 0; i < net->n_threads; i++) net->world->vt->join(net->world, net->threads[i]);
    while (net->first) destroy(net->first);
    atomic_store(&net->n_begun, 0); /* no thread holds anything */
    clear_graves(net);
    net_tls_free(net->tls);
    if (net->fd >= 0) close(net->fd);
    if (net->epoll >= 0) close(net->epoll);
    if (net->stop_fd >= 0) close(net->stop_fd);
    wr_mutex_free(net->lock);
    wr_free(net);
}

const char *wr_net_address(const wr_net *net) { return net->address; }
uint32_t    wr_net_connections(const wr_net *net) { return atomic_load(&net->n); }
