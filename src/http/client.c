/* http/client.c: calls over libcurl's multi interface, with their retries. See http.h.
 *
 * Idea       a call is in the list of the client from begin until it is done: either it runs (it has a handle in the multi handle) or it waits for due_us.
 * Invariant  n_running = calls with a handle. Handles are kept for the next call, connections live in the multi handle.                              */
#include "http/curl.h"
#include "http/http.h"
#include <stdio.h>

enum { HANDLES_KEPT = 16 };

struct wr_http_client {
    wr_world      *world;
    wr_http_policy policy;
    CURLM         *multi;
    wr_http_call  *calls;
    uint32_t       n_running;
    CURL          *spare[HANDLES_KEPT];
    uint32_t       n_spare;
    uint64_t       retries;
};

wr_status wr_http_client_new(wr_world *world, const wr_http_policy *policy, wr_http_client **out, wr_err *err) {
    *out = NULL;
    WR_TRY(curl_load(err));
    wr_http_client *h = wr_calloc(1, sizeof *h);
    *h = (wr_http_client){.world = world, .policy = *policy, .multi = curl_multi_init()};
    if (!h->multi) {
        wr_free(h);
        return wr_fail(err, WR_IO, "WR330", "libcurl cannot start");
    }
    *out = h;
    return WR_OK;
}

/* ---- callbacks of libcurl ---- */
static size_t on_write(char *bytes, size_t size, size_t n, void *arg) {
    wr_http_call *c = arg;
    size_t        len = size * n;
    if (c->reply.len + len > c->reply_max) {
        curl_easy_getinfo(c->handle, CURLINFO_RESPONSE_CODE, &c->status);
        if (c->status >= 300) return len; /* of an error's page the beginning is enough */
        c->too_long = true;
        return CURL_WRITEFUNC_ERROR;
    }
    wr_sbuf_add(&c->reply, bytes, len);
    return len;
}

static size_t on_read(char *to, size_t size, size_t n, void *arg) {
    wr_http_call *c = arg;
    size_t        got = WR_MIN(size * n, c->body.len - c->sent);
    memcpy(to, c->body.ptr + c->sent, got);
    c->sent += got;
    return got;
}

static int on_seek(void *arg, curl_off_t offset, int origin) { /* libcurl sends it again over a new connection */
    wr_http_call *c = arg;
    if (origin != SEEK_SET || offset < 0 || (size_t)offset > c->body.len) return CURL_SEEKFUNC_FAIL;
    c->sent = (size_t)offset;
    return CURL_SEEKFUNC_OK;
}

/* ---- one try ---- */
static void set_identity(const wr_http_who *w, CURL *h) {
    if (w->user) {
        curl_easy_setopt(h, CURLOPT_HTTPAUTH, (long)CURLAUTH_BASIC);
        curl_easy_setopt(h, CURLOPT_USERNAME, w->user);
        curl_easy_setopt(h, CURLOPT_PASSWORD, w->password ? w->password : "");
    } else if (w->bearer) {
        curl_easy_setopt(h, CURLOPT_HTTPAUTH, (long)CURLAUTH_BEARER);
        curl_easy_setopt(h, CURLOPT_XOAUTH2_BEARER, w->bearer);
    }
    if (w->ca_file) curl_easy_setopt(h, CURLOPT_CAINFO, w->ca_file);
    if (w->cert_file) curl_easy_setopt(h, CURLOPT_SSLCERT, w->cert_file);
    if (w->key_file) curl_easy_setopt(h, CURLOPT_SSLKEY, w->key_file);
    if (w->key_password) curl_easy_setopt(h, CURLOPT_KEYPASSWD, w->key_password);
}

static void start(wr_http_client *http, wr_http_call *c) {
    CURL *h = http->n_spare ? http->spare[--http->n_spare] : curl_easy_init();
    wr_assert(h);
    c->handle = h, c->sent = 0, c->status = 0, c->why[0] = 0, c->due_us = 0, c->too_long = false;
    c->tries++;
    wr_sbuf_clear(&c->reply);
    curl_easy_setopt(h, CURLOPT_URL, c->url);
    curl_easy_setopt(h, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(h, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(h, CURLOPT_PRIVATE, c);
    curl_easy_setopt(h, CURLOPT_ERRORBUFFER, c->why);
    curl_easy_setopt(h, CURLOPT_CONNECTTIMEOUT_MS, (long)(http->policy.connect_us / 1000));
    curl_easy_setopt(h, CURLOPT_TIMEOUT_MS, (long)(http->policy.timeout_us / 1000));
    curl_easy_setopt(h, CURLOPT_WRITEFUNCTION, on_write);
    curl_easy_setopt(h, CURLOPT_WRITEDATA, c);
    curl_easy_setopt(h, CURLOPT_ACCEPT_ENCODING, "");
    curl_easy_setopt(h, CURLOPT_USERAGENT, "weir");
    set_identity(&http->policy.who, h);
    struct curl_slist *list = curl_slist_append(NULL, "Expect:"); /* servers that do not answer to it would be waited for */
    for (const char *const *one = c->headers; one && *one; one++) list = curl_slist_append(list, *one);
    c->header_list = list;
    curl_easy_setopt(h, CURLOPT_HTTPHEADER, list);
    if (c->body.ptr) {
        curl_easy_setopt(h, CURLOPT_UPLOAD, 1L);
        curl_easy_setopt(h, CURLOPT_INFILESIZE_LARGE, (curl_off_t)c->body.len);
        curl_easy_setopt(h, CURLOPT_READFUNCTION, on_read);
        curl_easy_setopt(h, CURLOPT_READDATA, c);
        curl_easy_setopt(h, CURLOPT_SEEKFUNCTION, on_seek);
        curl_easy_setopt(h, CURLOPT_SEEKDATA, c);
    }
    curl_easy_setopt(h, CURLOPT_CUSTOMREQUEST, c->method);
    curl_multi_add_handle(http->multi, h);
    http->n_running++;
}

static void release(wr_http_client *http, wr_http_call *c) {
    CURL *h = c->handle;
    if (!h) return;
    curl_multi_remove_handle(http->multi, h);
    curl_easy_reset(h);
    if (http->n_spare < HANDLES_KEPT) http->spare[http->n_spare++] = h;
    else curl_easy_cleanup(h);
    curl_slist_free_all(c->header_list);
    c->handle = c->header_list = NULL;
    http->n_running--;
}

static bool hopeless(CURLcode code) {
    return code == CURLE_UNSUPPORTED_PROTOCOL || code == CURLE_URL_MALFORMAT || code == CURLE_PEER_FAILED_VERIFICATION || code == CURLE_SSL_CACERT_BADFILE || code == CURLE_SSL_CERTPROBLEM ||
           code == CURLE_WRITE_ERROR;
}

/* What became of a try: is it done, or when is the next one? */
static void judge(wr_http_client *http, wr_http_call *c, CURLcode code) {
    const wr_http_policy *p = &http->policy;
    curl_off_t            after = 0;
    int64_t               now = wr_mono_us(http->world);
    curl_easy_getinfo(c->handle, CURLINFO_RETRY_AFTER, &after);
    curl_easy_getinfo(c->handle, CURLINFO_RESPONSE_CODE, &c->status);
    release(http, c);
    if (code != CURLE_OK) {
        c->status = 0, after = 0;
        if (c->too_long) snprintf(c->why, sizeof c->why, "the answer is longer than %zu bytes", c->reply_max);
        else if (!c->why[0]) snprintf(c->why, sizeof c->why, "%s", curl_easy_strerror(code));
    }
    bool again = code != CURLE_OK ? !hopeless(code) : wr_http_codes_has(&p->again, c->status);
    if (!again || (p->attempts && c->tries >= p->attempts) || (p->give_up_us && now - c->begun_us >= p->give_up_us)) {
        c->done = true;
        return;
    }
    http->retries++;
    c->pause_us = c->pause_us ? WR_MIN(c->pause_us * 2, p->pause_max_us) : p->first_pause_us;
    uint64_t random = http->world->vt->random(http->world);
    int64_t  wait = c->pause_us / 2 + (int64_t)(random % (uint64_t)(c->pause_us / 2 + 1)); /* so that many jobs do not come back at once */
    if (after > 0) {
        int64_t asked = WR_MIN((int64_t)WR_MIN(after, (curl_off_t)86400) * 1000000, p->retry_after_max_us);
        wait = WR_MAX(wait, asked + (int64_t)(random % (uint64_t)(asked / 10 + 1)));
    }
    c->due_us = now + wait;
}

/* ---- the client ---- */
void wr_http_begin(wr_http_client *http, wr_http_call *c) {
    c->done = false, c->tries = 0, c->pause_us = 0, c->due_us = 0, c->handle = NULL, c->begun_us = wr_mono_us(http->world);
    c->next = http->calls;
    http->calls = c;
    start(http, c);
}

/* Starts what is due; when is the next one? INT64_MAX: none waits. */
static int64_t start_due(wr_http_client *http, int64_t now) {
    int64_t next = INT64_MAX;
    for (wr_http_call *c = http->calls; c; c = c->next) {
        if (c->handle || c->done) continue;
        if (c->due_us <= now) start(http, c);
        else next = WR_MIN(next, c->due_us);
    }
    return next;
}

static bool collect(wr_http_client *http) {
    bool any = false;
    int  left;
    for (CURLMsg *m; (m = curl_multi_info_read(http->multi, &left));) {
        if (m->msg != CURLMSG_DONE) continue;
        wr_http_call *c = NULL;
        curl_easy_getinfo(m->easy_handle, CURLINFO_PRIVATE, &c);
        judge(http, c, m->data.result);
    }
    for (wr_http_call **at = &http->calls; *at;) {
        if (!(*at)->done) {
            at = &(*at)->next;
            continue;
        }
        *at = (*at)->next;
        any = true;
    }
    return any;
}

bool wr_http_step(wr_http_client *http, int64_t wait_us) {
    int64_t now = wr_mono_us(http->world), end = wait_us > INT64_MAX - now ? INT64_MAX : now + wait_us;
    for (; http->calls; now = wr_mono_us(http->world)) {
        curl_quiet quiet;
        int        running;
        int64_t    next = WR_MIN(start_due(http, now), end);
        curl_quiet_begin(&quiet);
        curl_multi_perform(http->multi, &running);
        bool any = collect(http);
        now = wr_mono_us(http->world);
        if (!any && now < end) {
            int64_t ms = WR_MIN(WR_MAX((next - now + 999) / 1000, 1), 1000);
            curl_multi_poll(http->multi, NULL, 0, (int)ms, NULL);
        }
        curl_quiet_end(&quiet);
        if (any || now >= end) break;
    }
    return http->calls != NULL;
}

uint64_t wr_http_client_retries(const wr_http_client *http) { return http->retries; }

void wr_http_client_free(wr_http_client *http) {
    if (!http) return;
    curl_quiet quiet;
    curl_quiet_begin(&quiet);
    for (wr_http_call *c = http->calls; c; c = c->next) release(http, c);
    for (uint32_t i = 0; i < http->n_spare; i++) curl_easy_cleanup(http->spare[i]);
    curl_multi_cleanup(http->multi);
    curl_quiet_end(&quiet);
    wr_free(http);
}
