/* remote/http.h: one HTTP request after the other to a service that answers in small texts: a schema registry. (contract)
 *
 * Idea       one easy handle of libcurl, so that the connection is kept. A request is a struct and its answer a status and a body, whatever the status is:
 *            what a 404 means is known to the caller only.
 * Retries    what may pass (no connection, a cut one, time-outs, 408, 429, 5xx) is tried again with growing pauses until retry_us is over; the last answer counts.
 * Errors     WR_IO: there was no answer; the message says what stood in the way, the caller adds code and context.
 * Memory     the body, max_reply_bytes at most.
 * Thread     one at a time.                                                                                                   */
#pragma once
#include "sys/world.h"

typedef struct wr_http wr_http;
/* Of all requests of a client. Strings are borrowed; NULL: none. */
typedef struct wr_http_opts {
    const char *user, *password;      /* basic authentication */
    const char *bearer;               /* a token */
    const char *ca_file;              /* PEM: whom to trust in place of the system's list */
    const char *cert_file, *key_file, *key_password; /* PEM: who we are */
    int64_t     retry_us;             /* 0: tried once */
    int64_t     timeout_us;           /* of one attempt */
    size_t      max_reply_bytes;
} wr_http_opts;
typedef struct wr_http_request {
    const char *method, *url;
    wr_str      body;                 /* ptr NULL: none */
    const char *content_type, *accept; /* NULL: none */
} wr_http_request;
typedef struct wr_http_answer {
    long    status;
    wr_sbuf body;                     /* owned by the caller, reused from request to request */
} wr_http_answer;

wr_status wr_http_open(wr_world *world, const wr_http_opts *opts, wr_http **out, wr_err *err); /* WR_IO, WR330: libcurl is not there. Asks nothing yet */
void      wr_http_close(wr_http *http); /* NULL is legal */
wr_status wr_http_ask(wr_http *http, const wr_http_request *request, wr_http_answer *answer, wr_err *err);
void      wr_http_encode(wr_sbuf *out, wr_str text); /* percent-encoded, for a part of a path or a query */
