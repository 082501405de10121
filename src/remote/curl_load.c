/* remote/curl_load.c: finding libcurl's functions. See curl.h. */
#include "remote/curl.h"
#include <dlfcn.h>
#include <pthread.h>

curl_table curl_lib;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static const char    *missing; /* what dlerror said */

static void *function(void *library, const char *name) {
    void *f = dlsym(library, name);
    if (!f && !missing) missing = name;
    return f;
}

static void load(void) {
    void *l = dlopen("libcurl.so.4", RTLD_NOW | RTLD_LOCAL); /* never closed: it keeps threads and locks of its own */
    if (!l) {
        missing = "libcurl.so.4";
        return;
    }
    *(void **)&curl_lib.global_init = function(l, "curl_global_init");
    *(void **)&curl_lib.easy_init = function(l, "curl_easy_init");
    *(void **)&curl_lib.easy_cleanup = function(l, "curl_easy_cleanup");
    *(void **)&curl_lib.easy_reset = function(l, "curl_easy_reset");
    *(void **)&curl_lib.easy_perform = function(l, "curl_easy_perform");
    *(void **)&curl_lib.easy_setopt = function(l, "curl_easy_setopt");
    *(void **)&curl_lib.easy_getinfo = function(l, "curl_easy_getinfo");
    *(void **)&curl_lib.easy_strerror = function(l, "curl_easy_strerror");
    *(void **)&curl_lib.slist_append = function(l, "curl_slist_append");
    *(void **)&curl_lib.slist_free_all = function(l, "curl_slist_free_all");
    if (!missing) curl_lib.global_init(CURL_GLOBAL_DEFAULT);
}

wr_status curl_load(wr_err *err) {
    pthread_once(&once, load);
    if (!missing) return WR_OK;
    wr_fail(err, WR_IO, "WR330", "an object store needs libcurl, and %s was not found", missing);
    wr_err_hint(err, "apt-get install libcurl4");
    return WR_IO;
}
