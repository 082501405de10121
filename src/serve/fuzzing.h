/* serve/fuzzing.h: how fuzz targets reach a server in their own process. Private to serve/. */
#pragma once
#include "base/compiler.h"
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* A connection to "127.0.0.1:8080", with or without http:// in front. */
WR_INLINE int fuzz_connect(const char *address) {
    static uint32_t    n;
    char               host[64];
    const char        *at = strstr(address, "://") ? strstr(address, "://") + 3 : address, *colon = strrchr(at, ':');
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)strtoul(colon + 1, NULL, 10))};
    snprintf(host, sizeof host, "%.*s", (int)(colon - at), at);
    if (inet_pton(AF_INET, host, &to.sin_addr) != 1) abort();
    for (int attempt = 0; attempt < 20; attempt++) { /* a signal of the fuzzer's clock may come between */
        struct sockaddr_in from = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK + n++ % 60000)}; /* closed connections keep their ports for a minute */
        int                fd = socket(AF_INET, SOCK_STREAM, 0);
        if (fd >= 0 && bind(fd, (const struct sockaddr *)&from, sizeof from) == 0 && connect(fd, (const struct sockaddr *)&to, sizeof to) == 0) return fd;
        perror("connect");
        if (fd >= 0) close(fd);
    }
    abort();
}
