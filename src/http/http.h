/* http/http.h: requests to HTTP servers: several at once, tried again where that may help. (contract)
 *
 * Idea       a client owns connections and calls under way; its owner's thread drives it with wr_http_step, which never blocks for longer than it is told.
 *            A call is a struct of the caller's: begun, it belongs to the client until `done`.
 * Retries    no answer (no connection, cut, time-out) and the statuses of the policy: again after a pause that doubles, half of it at random. A Retry-After
 *            of the server is waited for instead, up to a bound. A call that was tried often enough is done with what the last try gave.
 * Bounds     replies by reply_max; connections by the calls that the caller begins.
 * Errors     a call has no wr_err: status 0 and `why` say what happened. Codes of users: WR375..WR379.
 * Thread     a client and its calls belong to one thread at a time. libcurl is loaded with the first client.                                         */
#pragma once
#include "sys/world.h"

void wr_http_encode(wr_sbuf *out, wr_str text, bool keep_slash); /* percent-encoded, but letters, digits and -_.~ */
bool wr_http_is_url(wr_str text);                                /* http:// or https:// and a host */
void wr_http_show_url(wr_sbuf *out, wr_str url);                 /* for messages: without user, password and query */

typedef struct wr_http_codes { uint32_t n; struct { uint16_t from, to; } at[16]; } wr_http_codes; /* statuses */
bool wr_http_codes_read(wr_str text, wr_http_codes *out);        /* "408, 429, 500-599"; "" is none */
bool wr_http_codes_has(const wr_http_codes *codes, long status);

typedef struct wr_http_who {                  /* who we are, and whom we trust; strings are borrowed, NULL: none */
    const char *user, *password;              /* basic authentication */
    const char *bearer;                       /* a token */
    const char *ca_file;                      /* PEM: whom to trust in place of the system's list */
    const char *cert_file, *key_file, *key_password; /* PEM */
} wr_http_who;
typedef struct wr_http_policy {
    uint32_t      attempts;       /* in all; 0: without end */
    int64_t       first_pause_us, pause_max_us, retry_after_max_us;
    int64_t       timeout_us;     /* of one try, from its beginning to its last byte */
    int64_t       connect_us;
    wr_http_codes again;
    int64_t       give_up_us;     /* no further try when so much time is over; 0: attempts alone say it */
    wr_http_who   who;
} wr_http_policy;

typedef struct wr_http_call {
    const char        *method, *url;
    const char *const *headers;   /* "Name: value", ends with NULL */
    wr_str             body;      /* ptr NULL: none. All is borrowed until it is done */
    size_t             reply_max;
    void              *arg;       /* the caller's */
    /* answer, valid when done */
    bool               done;
    long               status;    /* 0: there was none; `why` */
    uint32_t           tries;
    wr_sbuf            reply;     /* (owned by the caller) up to reply_max; longer: status 0 */
    char               why[256];
    /* the client's */
    void              *handle, *header_list;
    size_t             sent;
    bool               too_long;
    int64_t            begun_us, due_us, pause_us; /* due: the next try */
    struct wr_http_call *next;
} wr_http_call;

typedef struct wr_http_client wr_http_client;
wr_status wr_http_client_new(wr_world *world, const wr_http_policy *policy, wr_http_client **out, wr_err *err);
void      wr_http_client_free(wr_http_client *client);                         /* NULL is legal; calls under way are given up */
void      wr_http_begin(wr_http_client *client, wr_http_call *call);
/* Goes on with what is under way; returns as soon as a call is done, at the latest after wait_us. False: nothing is under way. */
bool      wr_http_step(wr_http_client *client, int64_t wait_us);
uint64_t  wr_http_client_retries(const wr_http_client *client);

/* ---- one request after the other, for services that answer in small texts: a schema registry (ask.c) ----
 * An answer is a status and a body, whatever the status is: what a 404 means is known to the caller only. What may pass (no answer, 408, 429, 5xx) is tried
 * again until retry_us is over; the last answer counts. WR_IO, WR330: there was none. Strings are borrowed.                              */
typedef struct wr_http wr_http;
typedef struct wr_http_opts {         /* of all requests */
    wr_http_who who;
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
wr_status wr_http_open(wr_world *world, const wr_http_opts *opts, wr_http **out, wr_err *err); /* asks nothing yet */
void      wr_http_close(wr_http *http); /* NULL is legal */
wr_status wr_http_ask(wr_http *http, const wr_http_request *request, wr_http_answer *answer, wr_err *err);
