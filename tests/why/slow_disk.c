/* tests/why/slow_disk.c: for LD_PRELOAD: reads of files below WEIR_SLOW_DIR take WEIR_SLOW_US more, as on a disk that is far away or overloaded. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

static void wait_for_it(int fd) {
    static const char *dir, *us;
    char   link[64], path[4096];
    if (!dir) dir = getenv("WEIR_SLOW_DIR"), us = getenv("WEIR_SLOW_US");
    if (!dir || !us) return;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t n = readlink(link, path, sizeof path - 1);
    if (n <= 0) return;
    path[n] = '\0';
    if (strncmp(path, dir, strlen(dir)) != 0) return;
    long ns = strtol(us, NULL, 10) * 1000;
    struct timespec t = {ns / 1000000000, ns % 1000000000};
    nanosleep(&t, NULL);
}

ssize_t pread(int fd, void *buf, size_t len, off_t at) {
    static ssize_t (*real)(int, void *, size_t, off_t);
    if (!real) *(void **)&real = dlsym(RTLD_NEXT, "pread");
    wait_for_it(fd);
    return real(fd, buf, len, at);
}
ssize_t pread64(int fd, void *buf, size_t len, off64_t at) {
    static ssize_t (*real)(int, void *, size_t, off64_t);
    if (!real) *(void **)&real = dlsym(RTLD_NEXT, "pread64");
    wait_for_it(fd);
    return real(fd, buf, len, at);
}
