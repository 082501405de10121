/* remote/remote.h: an S3-compatible object store as a flat set of named objects: put, get, list, remove.
 *
 * Idea       libcurl behind plain files and strings. An object is whole or not there: the store promises that, and every body
 *            goes with its SHA-256, which the store checks. Endpoint, region and credentials come from the environment, as everywhere:
 *            AWS_ENDPOINT_URL, AWS_REGION (AWS_DEFAULT_REGION), AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN.
 * Retries    what may pass (no connection, cut connections, time-outs, 429, 5xx) is tried again with growing pauses, ATTEMPTS times in all; the rest at once an error.
 * Errors     WR_IO, code WR330, naming s3://bucket/key, the HTTP status and the store's own code and words. WR_USER, WR331: a URL or environment that cannot be.
 * Memory     one buffer of libcurl; bodies of files are read and written piece by piece.
 * Thread     one at a time; wr_remote_cancel from any.                                                                                     */
#pragma once
#include "sys/world.h"

typedef struct wr_remote wr_remote;
bool      wr_remote_is_url(const char *text);                 /* something://... */
/* url: s3://bucket or s3://bucket/prefix. Asks nothing of the store yet. */
wr_status wr_remote_open(wr_world *world, const char *url, wr_remote **out, wr_err *err);
void      wr_remote_close(wr_remote *remote);                 /* NULL is legal */
void      wr_remote_cancel(wr_remote *remote);                /* NULL is legal; what is under way and all that comes later fails soon (WR_CANCELLED) */
const char *wr_remote_url(const wr_remote *remote);           /* without a slash at the end */

/* name: below the prefix, such as "files/abc.sst". */
wr_status wr_remote_put(wr_remote *remote, const char *name, wr_str content, wr_err *err);
wr_status wr_remote_put_file(wr_remote *remote, const char *name, const char *path, wr_err *err);
wr_status wr_remote_get(wr_remote *remote, const char *name, size_t max_bytes, wr_sbuf *out, bool *found, wr_err *err);
wr_status wr_remote_get_file(wr_remote *remote, const char *name, const char *path, bool *found, wr_err *err); /* synced */
wr_status wr_remote_remove(wr_remote *remote, const char *name, wr_err *err); /* one that is not there: fine */
typedef struct wr_remote_object { char name[128]; uint64_t bytes; } wr_remote_object; /* name: without the folder */
typedef WR_ARR(wr_remote_object) wr_remote_objects;
/* What lies directly in a folder ("" or "files/"), ascending by name; names of 128 bytes and more are nobody's and left out. */
wr_status wr_remote_list(wr_remote *remote, const char *folder, wr_remote_objects *out, wr_err *err);
