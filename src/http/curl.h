/* http/curl.h: libcurl, loaded when it is first needed. For http/ and remote/ only.
 *
 * Idea       libcurl brings a dozen libraries with it, several MiB of memory that a job that asks nobody by HTTP would pay for its whole life. So nothing
 *            is linked: the functions stand in one table that curl_load fills (dlopen); the names below are libcurl's own.
 * Thread     curl_load: any; once filled, the table never changes.                                                           */
#pragma once
#define CURL_DISABLE_TYPECHECK 1
#include "base/err.h"
#include <curl/curl.h>
#include <signal.h>
#undef curl_easy_setopt
#undef curl_easy_getinfo
#undef curl_multi_setopt

typedef struct curl_table {
    CURLcode (*global_init)(long flags);
    CURL *(*easy_init)(void);
    void (*easy_cleanup)(CURL *);
    void (*easy_reset)(CURL *);
    CURLcode (*easy_perform)(CURL *);
    CURLcode (*easy_setopt)(CURL *, CURLoption, ...);
    CURLM *(*multi_init)(void);
    CURLMcode (*multi_cleanup)(CURLM *);
    CURLMcode (*multi_setopt)(CURLM *, CURLMoption, ...);
    CURLMcode (*multi_add_handle)(CURLM *, CURL *);
    CURLMcode (*multi_remove_handle)(CURLM *, CURL *);
    CURLMcode (*multi_perform)(CURLM *, int *running);
    CURLMcode (*multi_poll)(CURLM *, struct curl_waitfd *, unsigned n, int timeout_ms, int *ready);
    CURLMsg *(*multi_info_read)(CURLM *, int *left);
    CURLcode (*easy_getinfo)(CURL *, CURLINFO, ...);
    const char *(*easy_strerror)(CURLcode);
    struct curl_slist *(*slist_append)(struct curl_slist *, const char *);
    void (*slist_free_all)(struct curl_slist *);
} curl_table;
extern curl_table curl_lib;
wr_status curl_load(wr_err *err); /* WR_IO: the library is not there */

/* A TLS connection that is cut raises SIGPIPE in this thread, which means something else to the program (its reader went away): between these two it is
 * kept off, and eaten. */
typedef struct curl_quiet { sigset_t before; bool had_one; } curl_quiet;
void curl_quiet_begin(curl_quiet *quiet);
void curl_quiet_end(const curl_quiet *quiet);
CURLcode curl_perform_quietly(CURL *curl);

#define curl_easy_init curl_lib.easy_init
#define curl_easy_cleanup curl_lib.easy_cleanup
#define curl_easy_reset curl_lib.easy_reset
#define curl_easy_perform curl_lib.easy_perform
#define curl_easy_setopt curl_lib.easy_setopt
#define curl_easy_getinfo curl_lib.easy_getinfo
#define curl_easy_strerror curl_lib.easy_strerror
#define curl_multi_init curl_lib.multi_init
#define curl_multi_cleanup curl_lib.multi_cleanup
#define curl_multi_setopt curl_lib.multi_setopt
#define curl_multi_add_handle curl_lib.multi_add_handle
#define curl_multi_remove_handle curl_lib.multi_remove_handle
#define curl_multi_perform curl_lib.multi_perform
#define curl_multi_poll curl_lib.multi_poll
#define curl_multi_info_read curl_lib.multi_info_read
#define curl_slist_append curl_lib.slist_append
#define curl_slist_free_all curl_lib.slist_free_all
