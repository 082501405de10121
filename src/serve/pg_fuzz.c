/* serve/pg_fuzz.c: bytes of a client of the PostgreSQL protocol, sent to a server in this process over loopback: it answers or cuts, and is there for the next one.
 *
 * Input      the first byte: 1 = with a right startup message in front, as most of what there is to break stands behind it.                     */
#include "fuzzing.h"
#include "serve/pg.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *address;

static void start(void) {
    static pg_server *server;
    wr_err            err = {0};
    pg_opts           opts = {.world = wr_world_posix(), .listen = "127.0.0.1:0", .database = "fuzz", .db = query_db_new(wr_world_posix(), "fuzz"), .limits = {.rows = 1000, .bytes = 1 << 20, .memory_bytes = 32 << 20, .time_us = 200000}};
    wr_status         status = pg_server_open(&opts, &server, &err);
    wr_assert(status == WR_OK);
    address = pg_server_address(server);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const char hello[] = "\0\0\0\x10\0\3\0\0user\0a\0";
    char              answer[4096];
    if (!address) start();
    if (!size || size > 65536) return 0;
    int fd = fuzz_connect(address);
    if (data[0] == 1) (void)!send(fd, hello, sizeof hello, MSG_NOSIGNAL);
    (void)!send(fd, data + 1, size - 1, MSG_NOSIGNAL);
    shutdown(fd, SHUT_WR);
    while (recv(fd, answer, sizeof answer, 0) > 0) {}
    close(fd);
    return 0;
}
