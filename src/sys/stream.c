/* sys/stream.c: standard output and standard error, whoever reads them: written to without waiting for a reader.
 *
 * Idea       the descriptors are shared with other processes, so they stay as they are (O_NONBLOCK would be everybody's). poll says whether a pipe, a
 *            socket or a terminal has room; PIPE_BUF bytes then fit without waiting. Files have room always.
 * Thread     any.                                                                                                        */
#include "sys/world.h"
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

static bool has_room(int fd, int64_t wait_us) {
    struct pollfd p = {.fd = fd, .events = POLLOUT};
    int           n = poll(&p, 1, (int)WR_MIN((wait_us + 999) / 1000, (int64_t)INT_MAX));
    return n > 0 || (n < 0 && errno != EINTR && errno != EAGAIN); /* what else is wrong, write will say */
}

wr_status wr_stream_write(int fd, const void *buf, size_t len, int64_t wait_us, size_t *written, wr_err *err) {
    struct stat info;
    bool        file = !fstat(fd, &info) && S_ISREG(info.st_mode);
    wr_world   *world = wr_world_posix();
    int64_t     until_us = wait_us ? wr_mono_us(world) + WR_MIN(wait_us, INT64_MAX / 2) : 0;
    *written = 0;
    while (*written < len) {
        if (!file && !has_room(fd, 0) && (!wait_us || !has_room(fd, WR_MAX(until_us - wr_mono_us(world), (int64_t)0)))) return WR_OK;
        ssize_t n = write(fd, (const char *)buf + *written, file ? len - *written : WR_MIN(len - *written, (size_t)PIPE_BUF));
        if (n >= 0) {
            *written += (size_t)n;
            continue;
        }
        if (errno == EINTR) continue;
        if (errno == EAGAIN || errno == EWOULDBLOCK) return WR_OK; /* somebody made it non-blocking */
        return wr_fail(err, WR_IO, errno == EPIPE ? "08006" : "58030", "cannot write to %s: %s", fd == STDERR_FILENO ? "standard error" : "standard output", strerror(errno));
    }
    return WR_OK;
}
