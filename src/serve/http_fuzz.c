/* serve/http_fuzz.c: bytes of a client of --ui, sent over loopback to a job that runs in this process with two materialized views: it answers, and is there for the next one.
 *
 * Input      the first byte says what is put around the rest: 0 nothing (it is the request), 1 GET of /api/ and the rest, 2 GET of the parameters of a view, 3 GET of the changes of one,
 *            4 POST of the rest to /api/query, 5 the rest as SQL in such a body, 6 the rest as the token that a user sends to the server that wants one, 7 POST to /api/replay.
 * Streams    changes never end: the client goes away after what came at once, as browsers do.                                                                      */
#include "fuzzing.h"
#include "serve/serve.h"
#include <pthread.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char JOB[] =
    "CREATE TABLE g (id BIGINT, k INT, v DOUBLE, s STRING, ts TIMESTAMP(3)) WITH ('connector' = 'datagen', 'rows-per-second' = '200', 'fields.id.kind' = 'sequence', 'fields.id.start' = '0',"
    " 'fields.id.end' = '1000000000', 'fields.k.min' = '0', 'fields.k.max' = '50', 'fields.s.length' = '5');\n"
    "CREATE MATERIALIZED VIEW sums AS SELECT k, COUNT(*) AS n, SUM(v) AS v, MAX(ts) AS ts FROM g GROUP BY k;\n"
    "CREATE MATERIALIZED VIEW names AS SELECT s, k, COUNT(*) AS n FROM g WHERE MOD(id, 100) = 0 GROUP BY s, k;\n";

static wr_serve *open_one, *closed_one; /* without users, and with */
static bool      running;

static void on_start(void *arg, const wr_job_plan *plan, wr_job *job) {
    (void)arg;
    wr_serve_start(open_one, plan, job), wr_serve_start(closed_one, plan, job);
    __atomic_store_n(&running, true, __ATOMIC_RELEASE);
}

static void on_tick(void *arg, wr_job *job) {
    (void)arg;
    wr_serve_tick(open_one, job), wr_serve_tick(closed_one, job);
}

static void *run_job(void *arg) {
    (void)arg;
    wr_err      err = {0};
    wr_session *s = wr_session_new(&(wr_session_opts){.n_workers = 1, .memory_bytes = 64 << 20, .on_start = on_start, .on_tick = on_tick});
    wr_status   status = wr_session_exec(s, "job.sql", WR_STR(JOB), &err);
    fprintf(stderr, "the job ended (%d): %s\n", (int)status, err.message);
    abort();
}

static wr_serve *server(const char *listen, const char *users) {
    wr_serve *serve;
    wr_err    err = {0};
    wr_status status = wr_serve_open(&(wr_serve_opts){.world = wr_world_posix(), .name = "fuzz", .listen = listen, .users_file = users, .query_memory_bytes = 16 << 20}, &serve, &err);
    if (status != WR_OK) fprintf(stderr, "%s\n", err.message), abort();
    return serve;
}

static void start(void) {
    char      users[] = "/tmp/weir-http-fuzz-XXXXXX";
    int       fd = mkstemp(users);
    pthread_t thread;
    wr_assert(fd >= 0 && write(fd, "a reader secret\n", 16) == 16 && !close(fd));
    open_one = server("127.0.0.1:0", NULL), closed_one = server("127.0.0.2:0", users);
    unlink(users);
    wr_assert(pthread_create(&thread, NULL, run_job, NULL) == 0);
    while (!__atomic_load_n(&running, __ATOMIC_ACQUIRE)) usleep(1000);
}

static void add_target(wr_str rest, wr_sbuf *out) { /* what may stand in a request line */
    for (size_t i = 0; i < rest.len; i++)
        if ((unsigned char)rest.ptr[i] > ' ') wr_sbuf_addc(out, rest.ptr[i]);
        else wr_sbuf_printf(out, "%%%02x", (unsigned char)rest.ptr[i]);
}

static void add_post(const char *path, wr_str body, wr_sbuf *out) {
    wr_sbuf_printf(out, "POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %zu\r\nConnection: close\r\n\r\n", path, body.len);
    wr_sbuf_add_str(out, body);
}

static void request_of(uint8_t kind, wr_str rest, wr_sbuf *out) {
    static const char *const paths[] = {"", "/api/", "/api/views/sums?", "/api/views/names/changes?"};
    wr_sbuf body = {0};
    switch (kind) {
    case 0: wr_sbuf_add_str(out, rest); break;
    case 1:
    case 2:
    case 3:
        wr_sbuf_printf(out, "GET %s", paths[kind]), add_target(rest, out);
        wr_sbuf_addz(out, " HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n");
        break;
    case 4: add_post("/api/query", rest, out); break;
    case 5:
        wr_sbuf_addz(&body, "{\"sql\":"), wr_sbuf_add_json(&body, rest), wr_sbuf_addc(&body, '}');
        add_post("/api/query", wr_sbuf_str(&body), out);
        break;
    case 6:
        wr_sbuf_addz(out, "GET /api/views HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\nAuthorization: "), wr_sbuf_add_str(out, rest);
        wr_sbuf_addz(out, "\r\n\r\n");
        break;
    default: add_post("/api/replay", rest, out);
    }
    wr_sbuf_free(&body);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char    answer[8192];
    wr_sbuf request = {0};
    if (!open_one) start();
    if (!size || size > 65536) return 0;
    uint8_t kind = data[0] & 7;
    request_of(kind, (wr_str){(const char *)data + 1, size - 1}, &request);
    int            fd = fuzz_connect(wr_serve_address(kind == 6 ? closed_one : open_one));
    struct timeval soon = {.tv_usec = kind == 3 || kind == 0 ? 2000 : 500000};
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &soon, sizeof soon);
    (void)!send(fd, request.at, request.len, MSG_NOSIGNAL);
    shutdown(fd, SHUT_WR);
    for (uint32_t i = 0; i < 64 && recv(fd, answer, sizeof answer, 0) > 0; i++) {}
    close(fd);
    wr_sbuf_free(&request);
    return 0;
}
