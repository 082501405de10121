/* http/ask.c: one request after the other. See http.h.                                                                        */
#include "http/http.h"
#include <stdio.h>

enum { FIRST_PAUSE_US = 100000, PAUSE_MAX_US = 3000000, RETRY_AFTER_MAX_US = 60000000, CONNECT_US = 5000000 };

struct wr_http {
    wr_http_client *client;
    wr_http_opts    opts;
};

wr_status wr_http_open(wr_world *world, const wr_http_opts *opts, wr_http **out, wr_err *err) {
    wr_http_policy  policy = {.attempts = opts->retry_us ? 0 : 1, .give_up_us = opts->retry_us, .first_pause_us = FIRST_PAUSE_US, .pause_max_us = PAUSE_MAX_US, .connect_us = CONNECT_US,
                              .retry_after_max_us = RETRY_AFTER_MAX_US, .timeout_us = opts->timeout_us, .who = opts->who};
    wr_http_client *client;
    *out = NULL;
    wr_assert(wr_http_codes_read(WR_STR("408,429,500-599"), &policy.again));
    WR_TRY(wr_http_client_new(world, &policy, &client, err));
    *out = wr_calloc(1, sizeof **out);
    **out = (wr_http){client, *opts};
    return WR_OK;
}

void wr_http_close(wr_http *h) {
    if (!h) return;
    wr_http_client_free(h->client);
    wr_free(h);
}

wr_status wr_http_ask(wr_http *h, const wr_http_request *q, wr_http_answer *answer, wr_err *err) {
    char         type[200], accept[200];
    const char  *headers[3] = {NULL, NULL, NULL};
    uint32_t     n = 0;
    wr_http_call call = {.method = q->method, .url = q->url, .headers = headers, .body = q->body, .reply_max = h->opts.max_reply_bytes, .reply = answer->body};
    if (q->content_type && q->body.ptr) snprintf(type, sizeof type, "Content-Type: %s", q->content_type), headers[n++] = type;
    if (q->accept) snprintf(accept, sizeof accept, "Accept: %s", q->accept), headers[n++] = accept;
    wr_http_begin(h->client, &call);
    while (wr_http_step(h->client, INT64_C(1000000))) {}
    answer->status = call.status, answer->body = call.reply;
    if (call.status) return WR_OK;
    wr_fail(err, WR_IO, "WR330", call.too_long ? "%s of %s: %s" : "%s of %s: no answer: %s", q->method, q->url, call.why);
    if (call.tries > 1) wr_err_detail(err, "it was tried %u times", call.tries);
    return WR_IO;
}
