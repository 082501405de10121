/* bench/latency_writer.c: appends rows to a file on a schedule, for bench/latency.
 *
 * Idea       row i is due i / rate seconds after the start, whatever happened before: the schedule does not wait for the writer (coordinated omission). Each hundred microseconds all rows
 *            that are due by now are written in one go; a row carries the time at which it was due, so that its delay can be told where it comes out. The clock is CLOCK_MONOTONIC.
 * Use        latency_writer FILE RATE SECONDS: prints one JSON line: rows, seconds, the latest that a write came. cc -O2                                                      */
#define _GNU_SOURCE 1
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { LINE_MAX_BYTES = 96, BUFFER_ROWS = 10000 };
#define TICK_NS INT64_C(100000)
static char buffer[BUFFER_ROWS * LINE_MAX_BYTES];

static int64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

static char *text(char *at, const char *s) {
    while (*s) *at++ = *s++;
    return at;
}

static char *number(char *at, uint64_t v) {
    char  digits[20];
    size_t n = 0;
    do digits[n++] = (char)('0' + v % 10);
    while (v /= 10);
    while (n) *at++ = digits[--n];
    return at;
}

static char *row(char *at, uint64_t i, uint64_t due_ns) {
    at = number(text(at, "{\"id\":"), i);
    at = number(text(at, ",\"k\":"), i % 1000);
    at = number(text(at, ",\"due\":"), due_ns);
    return text(number(text(at, ",\"v\":"), i % 97), ".25}\n");
}

static int put(int fd, const char *from, size_t n) {
    while (n) {
        ssize_t done = write(fd, from, n);
        if (done < 0 && errno == EINTR) continue;
        if (done < 0) return -1;
        from += done;
        n -= (size_t)done;
    }
    return 0;
}

int main(int argc, char **argv) {
    if (argc != 4) return fprintf(stderr, "usage: latency_writer FILE RATE SECONDS\n"), 2;
    double   rate = atof(argv[2]);
    uint64_t rows = (uint64_t)(rate * atof(argv[3])), i = 0;
    int      fd = open(argv[1], O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
    if (fd < 0) return perror(argv[1]), 1;
    int64_t begun = now_ns(), behind = 0;
    while (i < rows) {
        int64_t  now = now_ns();
        uint64_t due = (uint64_t)((double)(now - begun) * rate / 1e9);
        if (due > rows) due = rows;
        if (i < due) {
            int64_t late = now - begun - (int64_t)((double)i * 1e9 / rate);
            if (late > behind) behind = late;
        }
        while (i < due) {
            char *at = buffer;
            for (int n = 0; n < BUFFER_ROWS && i < due; n++, i++) at = row(at, i, (uint64_t)begun + (uint64_t)((double)i * 1e9 / rate));
            if (put(fd, buffer, (size_t)(at - buffer))) return perror(argv[1]), 1;
        }
        struct timespec until = {(now + TICK_NS) / 1000000000, (now + TICK_NS) % 1000000000};
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
    }
    printf("{\"rows\":%llu,\"s\":%.3f,\"latest_ms\":%.3f}\n", (unsigned long long)rows, (double)(now_ns() - begun) / 1e9, (double)behind / 1e6);
    return close(fd) ? 1 : 0;
}
