/* sys/local.c: see local.h.
 *
 * Long paths  a socket's name has room for 107 characters. A longer path goes by /proc/self/fd/N/NAME, N being its opened directory.
 * Waiting     a question is awaited for ASK_MS, an answer's reader for ANSWER_MS at a time: who listens is a job's coordinator, which has other things to do. */
#include "sys/local.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum { ASK_MS = 100, ANSWER_MS = 500, BACKLOG = 16 };

struct wr_local { int fd; char path[4096]; };

typedef struct place { struct sockaddr_un address; int dir; } place;

static bool place_of(const char *path, place *out) {
    *out = (place){.address = {.sun_family = AF_UNIX}, .dir = -1};
    if (strlen(path) < sizeof out->address.sun_path) {
        snprintf(out->address.sun_path, sizeof out->address.sun_path, "%s", path);
        return true;
    }
    char        dir[4096];
    const char *slash = strrchr(path, '/');
    if (!slash || (size_t)(slash - path) >= sizeof dir || strlen(slash) > 64) return errno = ENAMETOOLONG, false;
    snprintf(dir, sizeof dir, "%.*s", (int)(slash - path), path);
    out->dir = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (out->dir < 0) return false;
    snprintf(out->address.sun_path, sizeof out->address.sun_path, "/proc/self/fd/%d%s", out->dir, slash);
    return true;
}

static void place_close(place *p) {
    if (p->dir >= 0) close(p->dir);
}

static wr_status no_listener(const char *path, int code, wr_err *err) { return wr_fail(err, WR_IO, "WR400", "nobody answers at %s: %s", path, strerror(code)); }

wr_status wr_local_listen(const char *path, wr_local **out, wr_err *err) {
    place     p;
    wr_status status = WR_OK;
    int       fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    *out = NULL;
    if (fd < 0 || !place_of(path, &p)) {
        status = wr_fail(err, WR_IO, "WR400", "cannot listen at %s: %s", path, strerror(errno));
        if (fd >= 0) close(fd);
        return status;
    }
    unlink(path);
    mode_t before = umask(0177);
    if (bind(fd, (const struct sockaddr *)&p.address, sizeof p.address) || listen(fd, BACKLOG)) status = wr_fail(err, WR_IO, "WR400", "cannot listen at %s: %s", path, strerror(errno));
    umask(before);
    place_close(&p);
    if (status != WR_OK) {
        close(fd);
        return status;
    }
    *out = wr_calloc(1, sizeof **out);
    (*out)->fd = fd;
    snprintf((*out)->path, sizeof (*out)->path, "%s", path);
    return WR_OK;
}

void wr_local_close(wr_local *l) {
    if (!l) return;
    close(l->fd);
    unlink(l->path);
    wr_free(l);
}

static bool wait_for(int fd, short events, int ms) {
    struct pollfd p = {.fd = fd, .events = events};
    return poll(&p, 1, ms) > 0;
}

bool wr_local_next(wr_local *l, char question[WR_LOCAL_ASK_MAX], int *peer) {
    for (;;) {
        size_t len = 0;
        int    fd = accept4(l->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd < 0) return false;
        while (len < WR_LOCAL_ASK_MAX - 1 && wait_for(fd, POLLIN, ASK_MS)) {
            ssize_t n = read(fd, question + len, WR_LOCAL_ASK_MAX - 1 - len);
            if (n <= 0) break;
            len += (size_t)n;
            char *end = memchr(question, '\n', len);
            if (!end) continue;
            *end = '\0';
            *peer = fd;
            return true;
        }
        close(fd); /* it did not ask */
    }
}

void wr_local_answer(int peer, wr_str text) {
    for (size_t done = 0; done < text.len;) {
        ssize_t n = send(peer, text.ptr + done, text.len - done, MSG_NOSIGNAL);
        if (n > 0) done += (size_t)n;
        else if ((errno != EAGAIN && errno != EINTR) || !wait_for(peer, POLLOUT, ANSWER_MS)) break;
    }
    close(peer);
}

static wr_status talk(int fd, const char *path, const char *question, int64_t until_us, size_t max_bytes, wr_sbuf *answer, wr_err *err) {
    char   buf[16384];
    size_t len = strlen(question);
    if (send(fd, question, len, MSG_NOSIGNAL) != (ssize_t)len || send(fd, "\n", 1, MSG_NOSIGNAL) != 1) return no_listener(path, errno, err);
    for (;;) {
        int64_t left_us = until_us - wr_mono_us(wr_world_posix());
        if (left_us <= 0 || !wait_for(fd, POLLIN, (int)(left_us / 1000 + 1))) return wr_fail(err, WR_IO, "WR400", "the process at %s did not answer in time", path);
        ssize_t n = read(fd, buf, sizeof buf);
        if (n < 0) return no_listener(path, errno, err);
        if (n == 0) return WR_OK;
        if (answer->len + (size_t)n > max_bytes) return wr_fail(err, WR_LIMIT, "WR400", "the answer of %s is longer than %zu bytes", path, max_bytes);
        wr_sbuf_add(answer, buf, (size_t)n);
    }
}

wr_status wr_local_ask(const char *path, const char *question, int64_t timeout_us, size_t max_bytes, wr_sbuf *answer, wr_err *err) {
    place     p;
    wr_status status;
    int       fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    wr_sbuf_clear(answer);
    if (fd < 0) return no_listener(path, errno, err);
    if (!place_of(path, &p)) {
        status = no_listener(path, errno, err);
    } else {
        status = connect(fd, (const struct sockaddr *)&p.address, sizeof p.address) ? no_listener(path, errno, err)
                                                                                 : talk(fd, path, question, wr_mono_us(wr_world_posix()) + timeout_us, max_bytes, answer, err);
        place_close(&p);
    }
    close(fd);
    return status;
}
