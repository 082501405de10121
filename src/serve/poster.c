/* serve/poster.c: see poster.h.                                                                                                     */
#include "serve/poster.h"
#include <stdatomic.h>
#include <stdio.h>

enum { TIMEOUT_US = 10000000, CONNECT_US = 5000000, FIRST_PAUSE_US = 500000, PAUSE_MAX_US = 30000000, RETRY_AFTER_MAX_US = 300000000, LOOK_US = 100000, REPLY_MAX = 4096, HEADERS_MOST = 16 };

typedef struct text { struct text *next; wr_sbuf body; } text;
struct poster {
    wr_world       *world;
    wr_arena       *arena;
    char           *url;
    const char     *headers[HEADERS_MOST + 2];
    wr_http_client *client;
    void           *thread;
    wr_bell        *bell;
    wr_mutex       *lock;              /* of what follows */
    text           *first, **end;
    size_t          bytes;
    poster_status   status;
    _Atomic int64_t until_us;          /* monotonic: the thread leaves then, or when nothing waits; 0: it goes on */
};

static void copy_headers(poster *p, const char *lines) {
    uint32_t n = 0;
    p->headers[n++] = "Content-Type: application/json";
    for (wr_str all = wr_str_of(lines), line; lines && n <= HEADERS_MOST && wr_str_next(&all, '\n', &line);)
        if (line.len) p->headers[n++] = wr_arena_strndup(p->arena, line.ptr, line.len);
}

static text *take(poster *p) {
    wr_mutex_lock(p->lock);
    text *t = p->first;
    if (t) {
        p->first = t->next;
        if (!p->first) p->end = &p->first;
        p->bytes -= t->body.len;
        p->status.waiting--;
    }
    wr_mutex_unlock(p->lock);
    return t;
}

static void free_text(text *t) {
    wr_sbuf_free(&t->body);
    wr_free(t);
}

static bool over(poster *p) {
    int64_t until = atomic_load(&p->until_us);
    return until && wr_mono_us(p->world) >= until;
}

static void note(poster *p, const wr_http_call *call) {
    wr_mutex_lock(p->lock);
    if (call->done && call->status >= 200 && call->status < 300) {
        p->status.sent++;
    } else {
        p->status.failed++;
        if (!call->done) snprintf(p->status.why, sizeof p->status.why, "the job ended before it was taken");
        else if (call->status) snprintf(p->status.why, sizeof p->status.why, "HTTP %ld: %.*s", call->status, (int)WR_MIN(call->reply.len, (size_t)160), call->reply.at ? call->reply.at : "");
        else snprintf(p->status.why, sizeof p->status.why, "no answer: %s", call->why);
    }
    wr_mutex_unlock(p->lock);
}

/* False: it was broken off, and the client cannot go on. */
static bool post(poster *p, const text *t) {
    wr_http_call call = {.method = "POST", .url = p->url, .headers = p->headers, .body = wr_sbuf_str(&t->body), .reply_max = REPLY_MAX};
    wr_http_begin(p->client, &call);
    while (wr_http_step(p->client, LOOK_US) && !over(p)) {}
    note(p, &call);
    if (!call.done) wr_http_client_free(p->client), p->client = NULL; /* while the call is there */
    wr_sbuf_free(&call.reply);
    return p->client != NULL;
}

static void run(void *arg) {
    poster *p = arg;
    while (!over(p)) {
        text *t = take(p);
        if (!t) {
            if (atomic_load(&p->until_us)) break;
            wr_bell_wait(p->bell, 1000000);
            continue;
        }
        bool goes_on = post(p, t);
        free_text(t);
        if (!goes_on) break;
    }
}

wr_status poster_new(const poster_opts *opts, poster **out, wr_err *err) {
    poster        *p = wr_calloc(1, sizeof *p);
    wr_http_policy policy = {.attempts = 0, .give_up_us = opts->give_up_us, .first_pause_us = FIRST_PAUSE_US, .pause_max_us = PAUSE_MAX_US, .connect_us = CONNECT_US, .timeout_us = TIMEOUT_US,
                             .retry_after_max_us = RETRY_AFTER_MAX_US};
    *p = (poster){.world = opts->world, .arena = wr_arena_new(NULL), .bell = wr_bell_new(), .lock = wr_mutex_new()};
    p->end = &p->first;
    p->url = wr_arena_printf(p->arena, "%s", opts->url);
    copy_headers(p, opts->headers);
    wr_assert(wr_http_codes_read(WR_STR("408,429,500-599"), &policy.again));
    wr_status status = wr_http_client_new(opts->world, &policy, &p->client, err);
    if (status == WR_OK) status = opts->world->vt->spawn(opts->world, opts->thread, run, p, &p->thread, err);
    if (status != WR_OK) poster_close(p), p = NULL;
    *out = p;
    return status;
}

void poster_end(poster *p, int64_t wait_us) {
    if (!p || atomic_load(&p->until_us)) return;
    atomic_store(&p->until_us, wr_mono_us(p->world) + WR_MAX(wait_us, (int64_t)1));
    wr_bell_ring(p->bell);
}

void poster_close(poster *p) {
    if (!p) return;
    poster_end(p, 0);
    if (p->thread) p->world->vt->join(p->world, p->thread);
    for (text *t; (t = take(p));) free_text(t);
    wr_http_client_free(p->client);
    wr_bell_free(p->bell);
    wr_mutex_free(p->lock);
    wr_arena_free(p->arena);
    wr_free(p);
}

bool poster_send(poster *p, wr_sbuf *body) {
    wr_mutex_lock(p->lock);
    bool taken = p->status.waiting < POSTER_TEXTS && p->bytes + body->len <= POSTER_BYTES;
    if (taken) {
        text *t = wr_calloc(1, sizeof *t);
        t->body = *body;
        *p->end = t;
        p->end = &t->next;
        p->bytes += body->len;
        p->status.waiting++;
    } else {
        p->status.dropped++;
        wr_sbuf_free(body);
    }
    *body = (wr_sbuf){0};
    wr_mutex_unlock(p->lock);
    if (taken) wr_bell_ring(p->bell);
    return taken;
}

void poster_status_get(poster *p, poster_status *out) {
    *out = (poster_status){0};
    if (!p) return;
    wr_mutex_lock(p->lock);
    *out = p->status;
    wr_mutex_unlock(p->lock);
}
