/* http/curl_load.c: finding libcurl's functions. See curl.h. */
#include "http/curl.h"
#include "sys/world.h"
#include <errno.h>
#include <pthread.h>
#include <time.h>

curl_table curl_lib;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static const char    *missing;

static void load(void) {
#define F(name) {"curl_" #name, &curl_lib.name}
    static const wr_import imports[] = {F(global_init), F(easy_init), F(easy_cleanup), F(easy_reset), F(easy_perform),
                                        F(easy_setopt), F(easy_getinfo), F(easy_strerror), F(slist_append), F(slist_free_all),
                                        F(multi_init), F(multi_cleanup), F(multi_setopt), F(multi_add_handle), F(multi_remove_handle), F(multi_perform),
                                        F(multi_poll), F(multi_info_read)};
#undef F
    missing = wr_library_import("libcurl.so.4", imports, WR_COUNT_OF(imports));
    if (!missing) curl_lib.global_init(CURL_GLOBAL_DEFAULT);
}

wr_status curl_load(wr_err *err) {
    pthread_once(&once, load);
    if (!missing) return WR_OK;
    wr_fail(err, WR_IO, "WR330", "HTTP needs libcurl, and %s was not found", missing);
    wr_err_hint(err, "apt-get install libcurl4");
    return WR_IO;
}

CURLcode curl_perform_quietly(CURL *c) {
    curl_quiet quiet;
    curl_quiet_begin(&quiet);
    CURLcode code = curl_easy_perform(c);
    curl_quiet_end(&quiet);
    return code;
}

void curl_quiet_begin(curl_quiet *q) {
    sigset_t pipe_only, pending;
    sigemptyset(&pipe_only);
    sigaddset(&pipe_only, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe_only, &q->before);
    sigpending(&pending);
    q->had_one = sigismember(&pending, SIGPIPE) == 1;
}

void curl_quiet_end(const curl_quiet *q) {
    const struct timespec at_once = {0};
    sigset_t              pipe_only;
    sigemptyset(&pipe_only);
    sigaddset(&pipe_only, SIGPIPE);
    if (!q->had_one) while (sigtimedwait(&pipe_only, NULL, &at_once) < 0 && errno == EINTR) {}
    pthread_sigmask(SIG_SETMASK, &q->before, NULL);
}
