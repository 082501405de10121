/* remote/curl.h: libcurl, loaded when it is first needed. Private to remote/.
 *
 * Idea       libcurl brings a dozen libraries with it, several MiB of memory that a job that asks nobody by HTTP would pay for its whole life. So nothing
 *            is linked: the functions stand in one table that curl_load fills (dlopen); the names below are libcurl's own.
 * Thread     curl_load: any; once filled, the table never changes.                                                           */
#pragma once
#define CURL_DISABLE_TYPECHECK 1
#include "base/err.h"
#include <curl/curl.h>
#undef curl_easy_setopt
#undef curl_easy_getinfo

typedef struct curl_table {
    CURLcode (*global_init)(long flags);
    CURL *(*easy_init)(void);
    void (*easy_cleanup)(CURL *);
    void (*easy_reset)(CURL *);
    CURLcode (*easy_perform)(CURL *);
    CURLcode (*easy_setopt)(CURL *, CURLoption, ...);
    CURLcode (*easy_getinfo)(CURL *, CURLINFO, ...);
    const char *(*easy_strerror)(CURLcode);
    struct curl_slist *(*slist_append)(struct curl_slist *, const char *);
    void (*slist_free_all)(struct curl_slist *);
} curl_table;
extern curl_table curl_lib;
wr_status curl_load(wr_err *err); /* WR_IO: the library is not there */
/* A TLS connection that is cut raises SIGPIPE in this thread, which means something else to the program (its reader went away): it is kept off and eaten. */
CURLcode curl_perform_quietly(CURL *curl);

#define curl_easy_init curl_lib.easy_init
#define curl_easy_cleanup curl_lib.easy_cleanup
#define curl_easy_reset curl_lib.easy_reset
#define curl_easy_perform curl_lib.easy_perform
#define curl_easy_setopt curl_lib.easy_setopt
#define curl_easy_getinfo curl_lib.easy_getinfo
#define curl_easy_strerror curl_lib.easy_strerror
#define curl_slist_append curl_lib.slist_append
#define curl_slist_free_all curl_lib.slist_free_all
