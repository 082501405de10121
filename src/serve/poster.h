/* serve/poster.h: texts that are sent by POST to one URL, one after the other, by a thread of their own. Private to serve/.
 *
 * Idea       who has something to say hands it over and goes on; the thread tries again where that may help. Nobody waits for the other end, except at the
 *            end of the process, for as long as is said.
 * Bounds     POSTER_TEXTS texts and POSTER_BYTES bytes wait; more are dropped and counted.
 * Errors     WR_IO, WR330: libcurl is not there. What is not taken is counted, with the last reason.
 * Thread     new, close: one; send, status: any.                                                                             */
#pragma once
#include "http/http.h"

enum { POSTER_TEXTS = 256, POSTER_BYTES = 4 << 20 };
typedef struct poster poster;
typedef struct poster_opts {
    wr_world   *world;
    const char *thread, *url;          /* copied */
    const char *headers;               /* "Name: value" lines beside Content-Type: application/json, '\n' between; copied; NULL: none */
    int64_t     give_up_us;            /* a text is tried for so long */
} poster_opts;
typedef struct poster_status { uint64_t sent, failed, dropped; uint32_t waiting; char why[300]; } poster_status; /* why: of the last that failed; "" */
wr_status poster_new(const poster_opts *opts, poster **out, wr_err *err);
void      poster_end(poster *p, int64_t wait_us);   /* from now on: what waits is given so long. NULL is legal, as in close */
void      poster_close(poster *p);                  /* waits until then */
bool      poster_send(poster *p, wr_sbuf *text);    /* (takes) it; false: dropped */
void      poster_status_get(poster *p, poster_status *out); /* NULL: zeros */
