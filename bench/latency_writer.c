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
#include <string.h>
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

/* Decimal digits that go up by one: most of the time one character changes, so that the writer takes little of the machine away from the job. */
typedef struct { char digits[20]; int from, to; } counter_t;

static void counter_set(counter_t *c, uint64_t v) {
    c->from = c->to = (int)sizeof c->digits;
    do c->digits[--c->from] = (char)('0' + v % 10);
    while (v /= 10);
}

static void counter_up(counter_t *c) {
    int i = c->to - 1;
    while (i >= c->from && c->digits[i] == '9') c->digits[i--] = '0';
    if (i >= c->from) c->digits[i]++;
    else c->digits[c->from = i] = '1';
}

static char *counter_put(char *at, const counter_t *c) {
    size_t n = (size_t)(c->to - c->from);
    memcpy(at, c->digits + c->from, n);
    return at + n;
}

static char *eight_digits(char *at, uint32_t v) {
    for (int i = 7; i >= 0; i--, v /= 10) at[i] = (char)('0' + v % 10);
    return at + 8;
}

#define TEXT(at, s) (memcpy(at, s, sizeof(s) - 1), (at) + sizeof(s) - 1)

static struct { counter_t id, k, due_high; uint64_t high; uint32_t modulo_k, modulo_v; char v[97][3]; uint8_t v_len[97]; } state;

static void rows_begin(void) {
    counter_set(&state.id, 0);
    counter_set(&state.k, 0);
    counter_set(&state.due_high, 0);
    for (int i = 0; i < 97; i++) state.v_len[i] = (uint8_t)snprintf(state.v[i], sizeof state.v[i], "%d", i);
}

/* The next row: id counts from 0, k = id % 1000, v = id % 97 + 0.25. */
static char *row(char *at, uint64_t due_ns) {
    uint64_t high = due_ns / 100000000;
    if (high != state.high) counter_set(&state.due_high, state.high = high);
    at = counter_put(TEXT(at, "{\"id\":"), &state.id);
    at = counter_put(TEXT(at, ",\"k\":"), &state.k);
    at = eight_digits(counter_put(TEXT(at, ",\"due\":"), &state.due_high), (uint32_t)(due_ns % 100000000));
    at = TEXT(at, ",\"v\":");
    memcpy(at, state.v[state.modulo_v], sizeof state.v[0]);
    at = TEXT(at + state.v_len[state.modulo_v], ".25}\n");
    counter_up(&state.id);
    counter_up(&state.k);
    if (++state.modulo_k == 1000) state.modulo_k = 0, counter_set(&state.k, 0);
    if (++state.modulo_v == 97) state.modulo_v = 0;
    return at;
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
    rows_begin();
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
            for (int n = 0; n < BUFFER_ROWS && i < due; n++, i++) at = row(at, (uint64_t)begun + (uint64_t)((double)i * 1e9 / rate));
            if (put(fd, buffer, (size_t)(at - buffer))) return perror(argv[1]), 1;
        }
        struct timespec until = {(now + TICK_NS) / 1000000000, (now + TICK_NS) % 1000000000};
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
    }
    printf("{\"rows\":%llu,\"s\":%.3f,\"latest_ms\":%.3f}\n", (unsigned long long)rows, (double)(now_ns() - begun) / 1e9, (double)behind / 1e6);
    return close(fd) ? 1 : 0;
}
