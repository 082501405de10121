/* sys/notify.c: see notify.h.
 *
 * Process    one inotify descriptor and one thread, begun with the first who asks and kept; a watch is shared by all who asked for its directory.
 * Pace       after events the thread rests for REST_US: a lone event is told at once, a flood of them twice a millisecond.
 * Fork       nothing of this survives one.                                                                                    */
#include "sys/notify.h"
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/inotify.h>
#include <unistd.h>

enum { REST_US = 500, DIRS_MAX = 64 };

struct wr_notify {
    wr_notify   *next;
    void       (*changed)(void *arg);
    void        *arg;
    _Atomic bool armed;
    uint32_t     n_dirs;
    int          dirs[DIRS_MAX];         /* watch descriptors */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of all below; held while `changed` runs */
static wr_notify      *all;
static int             fd = -1;

static bool watches(const wr_notify *n, int wd) {
    for (uint32_t i = 0; i < n->n_dirs; i++)
        if (n->dirs[i] == wd) return true;
    return false;
}

static void tell(int wd) { /* -1: the system lost count of what happened */
    for (wr_notify *n = all; n; n = n->next)
        if ((wd < 0 || watches(n, wd)) && atomic_exchange(&n->armed, false)) n->changed(n->arg);
}

static void run(void *arg) {
    _Alignas(struct inotify_event) char buf[16384];
    (void)arg;
    for (;;) {
        ssize_t len = read(fd, buf, sizeof buf);
        if (len < 0 && errno != EINTR) return;
        pthread_mutex_lock(&lock);
        for (ssize_t at = 0; at + (ssize_t)sizeof(struct inotify_event) <= len;) {
            const struct inotify_event *e = (const void *)(buf + at);
            tell(e->mask & IN_Q_OVERFLOW ? -1 : e->wd);
            at += (ssize_t)sizeof *e + e->len;
        }
        pthread_mutex_unlock(&lock);
        wr_world_posix()->vt->sleep_us(wr_world_posix(), REST_US);
    }
}

static bool begin(void) {
    void  *thread;
    wr_err ignored;
    if (fd >= 0) return true;
    fd = inotify_init1(IN_CLOEXEC);
    if (fd < 0) return false;
    if (wr_world_posix()->vt->spawn(wr_world_posix(), "weir-notify", run, NULL, &thread, &ignored) == WR_OK) return true;
    close(fd);
    fd = -1;
    return false;
}

wr_notify *wr_notify_new(void (*changed)(void *arg), void *arg) {
    wr_notify *n = NULL;
    pthread_mutex_lock(&lock);
    if (begin()) {
        n = wr_calloc(1, sizeof *n);
        *n = (wr_notify){.next = all, .changed = changed, .arg = arg};
        all = n;
    }
    pthread_mutex_unlock(&lock);
    return n;
}

void wr_notify_dir(wr_notify *n, const char *dir) {
    if (!n) return;
    pthread_mutex_lock(&lock);
    int wd = inotify_add_watch(fd, dir, IN_MODIFY | IN_CREATE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE | IN_CLOSE_WRITE);
    if (wd >= 0 && !watches(n, wd) && n->n_dirs < DIRS_MAX) n->dirs[n->n_dirs++] = wd;
    pthread_mutex_unlock(&lock);
}

void wr_notify_arm(wr_notify *n) {
    if (n) atomic_store(&n->armed, true);
}

static bool wanted(int wd) {
    for (const wr_notify *n = all; n; n = n->next)
        if (watches(n, wd)) return true;
    return false;
}

void wr_notify_close(wr_notify *n) {
    if (!n) return;
    pthread_mutex_lock(&lock);
    wr_notify **at = &all;
    while (*at != n) at = &(*at)->next;
    *at = n->next;
    for (uint32_t i = 0; i < n->n_dirs; i++)
        if (!wanted(n->dirs[i])) inotify_rm_watch(fd, n->dirs[i]);
    pthread_mutex_unlock(&lock);
    wr_free(n);
}
