/* sys/net_test.c: connections that are woken from elsewhere while their clients talk and leave: each has one thread at a time, and none is touched behind its end. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include "sys/net.h"
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

enum { CLIENTS = 48, ROUNDS = 40, WAKERS = 2 };

typedef struct one { wr_conn *conn; struct one *next, **self; _Atomic int inside; } one;
typedef struct all {
    wr_mutex    *lock;     /* of the list */
    one         *first;
    _Atomic int  turns, closed, together;
    _Atomic bool stop;
} all;

static one *one_of(all *a, wr_conn *c) {
    void **user = wr_conn_user(c);
    if (*user) return *user;
    one *o = wr_calloc(1, sizeof *o);
    wr_mutex_lock(a->lock);
    o->conn = c, o->next = a->first, o->self = &a->first;
    if (o->next) o->next->self = &o->next;
    a->first = o;
    wr_mutex_unlock(a->lock);
    return *user = o;
}

/* Gives back what comes; parks for a while when it has given it. */
static wr_conn_next turn(void *self, wr_conn *c) {
    all *a = self;
    one *o = one_of(a, c);
    if (atomic_fetch_add(&o->inside, 1)) atomic_fetch_add(&a->together, 1);
    atomic_fetch_add(&a->turns, 1);
    wr_str in = wr_conn_in(c);
    wr_sbuf_add_str(wr_conn_out(c), in);
    bool more = in.len > 0;
    wr_conn_take(c, in.len);
    atomic_fetch_sub(&o->inside, 1);
    return wr_conn_ended(c) ? WR_CONN_CLOSE : more ? WR_CONN_PARK : WR_CONN_READ;
}

static void closed(void *self, wr_conn *c) {
    all *a = self;
    one *o = *wr_conn_user(c);
    atomic_fetch_add(&a->closed, 1);
    if (!o) return;
    wr_mutex_lock(a->lock);
    *o->self = o->next;
    if (o->next) o->next->self = o->self;
    wr_mutex_unlock(a->lock);
    wr_free(o);
}

static void wake_all(void *arg) {
    all *a = arg;
    while (!atomic_load(&a->stop)) {
        wr_mutex_lock(a->lock);
        for (one *o = a->first; o; o = o->next) wr_conn_wake(o->conn);
        wr_mutex_unlock(a->lock);
    }
}

static int connect_to(const char *address) {
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(strrchr(address, ':') + 1))};
    inet_pton(AF_INET, "127.0.0.1", &at.sin_addr);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&at, sizeof at), 0);
    return fd;
}

static void test_woken_while_events_come(void **state) {
    (void)state;
    wr_world   *w = wr_world_posix();
    all         a = {.lock = wr_mutex_new()};
    wr_net     *net;
    wr_err      err;
    void       *wakers[WAKERS];
    wr_net_opts o = {.listen = "127.0.0.1:0", .threads = 4, .self = &a, .turn = turn, .closed = closed};
    assert_int_equal(wr_net_open(w, &o, &net, &err), WR_OK);
    for (int i = 0; i < WAKERS; i++) assert_int_equal(w->vt->spawn(w, "waker", wake_all, &a, &wakers[i], &err), WR_OK);
    for (int round = 0; round < ROUNDS; round++) {
        int fds[CLIENTS];
        for (int i = 0; i < CLIENTS; i++) fds[i] = connect_to(wr_net_address(net));
        for (int i = 0; i < CLIENTS; i++) assert_int_equal(send(fds[i], "abc", 3, MSG_NOSIGNAL), 3);
        for (int i = 0; i < CLIENTS; i++) {
            char   got[4];
            size_t n = 0;
            while (i % 2 && n < 3) {
                ssize_t k = recv(fds[i], got + n, 3 - n, 0);
                assert_true(k > 0);
                n += (size_t)k;
            }
            if (i % 2) assert_memory_equal(got, "abc", 3);
            close(fds[i]); /* half of them with bytes that nobody read */
        }
    }
    while (wr_net_connections(net)) w->vt->sleep_us(w, 1000);
    atomic_store(&a.stop, true);
    for (int i = 0; i < WAKERS; i++) w->vt->join(w, wakers[i]);
    wr_net_close(net);
    assert_int_equal(atomic_load(&a.closed), CLIENTS * ROUNDS);
    assert_int_equal(atomic_load(&a.together), 0);
    assert_null(a.first);
    wr_mutex_free(a.lock);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_woken_while_events_come)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
