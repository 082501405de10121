/* remote/http.c: see http.h. */
#include "remote/http.h"
#include "remote/curl.h"
#include <stdio.h>

enum { FIRST_PAUSE_US = 100000, PAUSE_MAX_US = 3000000, CONNECT_TIMEOUT_MS = 5000 };

struct wr_http {
    wr_world    *world;
    CURL        *curl;
    wr_http_opts opts;
    char         why[CURL_ERROR_SIZE];
};

typedef struct reply { wr_sbuf *body; size_t max; bool too_long; } reply;

wr_status wr_http_open(wr_world *world, const wr_http_opts *opts, wr_http **out, wr_err *err) {
    *out = NULL;
    WR_TRY(curl_load(err));
    CURL *curl = curl_easy_init();
    if (!curl) return wr_fail(err, WR_IO, "WR330", "libcurl cannot start");
    *out = wr_calloc(1, sizeof **out);
    **out = (wr_http){.world = world, .curl = curl, .opts = *opts};
    return WR_OK;
}

void wr_http_close(wr_http *http) {
    if (!http) return;
    curl_easy_cleanup(http->curl);
    wr_free(http);
}

static size_t on_write(char *bytes, size_t size, size_t n, void *arg) {
    reply *r = arg;
    if (r->body->len + size * n > r->max) return r->too_long = true, CURL_WRITEFUNC_ERROR;
    wr_sbuf_add(r->body, bytes, size * n);
    return size * n;
}

static struct curl_slist *add_header(struct curl_slist *list, const char *name, const char *value) {
    if (!value) return list;
    wr_sbuf line = {0};
    wr_sbuf_printf(&line, "%s: %s", name, value);
    list = curl_slist_append(list, line.at);
    wr_sbuf_free(&line);
    return list;
}

static void set_identity(CURL *c, const wr_http_opts *o) {
    if (o->user) {
        curl_easy_setopt(c, CURLOPT_HTTPAUTH, (long)CURLAUTH_BASIC);
        curl_easy_setopt(c, CURLOPT_USERNAME, o->user);
        curl_easy_setopt(c, CURLOPT_PASSWORD, o->password ? o->password : "");
    }
    if (o->ca_file) curl_easy_setopt(c, CURLOPT_CAINFO, o->ca_file);
    if (o->cert_file) curl_easy_setopt(c, CURLOPT_SSLCERT, o->cert_file);
    if (o->key_file) curl_easy_setopt(c, CURLOPT_SSLKEY, o->key_file);
    if (o->key_password) curl_easy_setopt(c, CURLOPT_KEYPASSWD, o->key_password);
}

static CURLcode send_once(wr_http *h, const wr_http_request *q, wr_http_answer *answer, bool *too_long) {
    CURL *c = h->curl;
    reply r = {&answer->body, h->opts.max_reply_bytes, false};
    struct curl_slist *headers = add_header(NULL, "Accept", q->accept);
    if (q->body.ptr) headers = add_header(headers, "Content-Type", q->content_type);
    if (h->opts.bearer) {
        wr_sbuf token = {0};
        wr_sbuf_printf(&token, "Bearer %s", h->opts.bearer);
        headers = add_header(headers, "Authorization", token.at);
        wr_sbuf_free(&token);
    }
    wr_sbuf_clear(&answer->body);
    answer->status = 0, h->why[0] = 0;
    curl_easy_reset(c); /* the connection stays */
    curl_easy_setopt(c, CURLOPT_URL, q->url);
    curl_easy_setopt(c, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(c, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(c, CURLOPT_ERRORBUFFER, h->why);
    curl_easy_setopt(c, CURLOPT_CONNECTTIMEOUT_MS, (long)CONNECT_TIMEOUT_MS);
    curl_easy_setopt(c, CURLOPT_TIMEOUT_MS, (long)(h->opts.timeout_us / 1000));
    curl_easy_setopt(c, CURLOPT_WRITEFUNCTION, on_write);
    curl_easy_setopt(c, CURLOPT_WRITEDATA, &r);
    if (headers) curl_easy_setopt(c, CURLOPT_HTTPHEADER, headers);
    if (q->body.ptr) {
        curl_easy_setopt(c, CURLOPT_POSTFIELDS, q->body.ptr);
        curl_easy_setopt(c, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)q->body.len);
    }
    curl_easy_setopt(c, CURLOPT_CUSTOMREQUEST, q->method);
    set_identity(c, &h->opts);
    CURLcode code = curl_perform_quietly(c);
    curl_easy_getinfo(c, CURLINFO_RESPONSE_CODE, &answer->status);
    curl_slist_free_all(headers);
    *too_long = r.too_long;
    return code;
}

static bool may_pass(CURLcode code, long status) {
    if (code == CURLE_OK) return status == 408 || status == 429 || status >= 500;
    return code != CURLE_UNSUPPORTED_PROTOCOL && code != CURLE_URL_MALFORMAT && code != CURLE_PEER_FAILED_VERIFICATION && code != CURLE_SSL_CACERT_BADFILE &&
           code != CURLE_SSL_CERTPROBLEM && code != CURLE_WRITE_ERROR;
}

static void pause_before(wr_world *world, int attempt) {
    int64_t us = WR_MIN((int64_t)FIRST_PAUSE_US << WR_MIN(attempt - 1, 10), (int64_t)PAUSE_MAX_US);
    world->vt->sleep_us(world, us / 2 + (int64_t)(world->vt->random(world) % (uint64_t)(us / 2 + 1))); /* so that many jobs do not come back at once */
}

wr_status wr_http_ask(wr_http *h, const wr_http_request *q, wr_http_answer *answer, wr_err *err) {
    int64_t until_us = wr_mono_us(h->world) + h->opts.retry_us;
    for (int attempt = 1;; attempt++) {
        bool     too_long;
        CURLcode code = send_once(h, q, answer, &too_long);
        if (may_pass(code, answer->status) && wr_mono_us(h->world) < until_us) {
            pause_before(h->world, attempt);
            continue;
        }
        if (code == CURLE_OK) return WR_OK;
        if (too_long) wr_fail(err, WR_IO, "WR330", "%s of %s: the answer is longer than %zu bytes", q->method, q->url, h->opts.max_reply_bytes);
        else wr_fail(err, WR_IO, "WR330", "%s of %s: no answer: %s", q->method, q->url, h->why[0] ? h->why : curl_easy_strerror(code));
        if (attempt > 1) wr_err_detail(err, "it was tried %d times", attempt);
        return WR_IO;
    }
}

void wr_http_encode(wr_sbuf *out, wr_str text) {
    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.ptr[i];
        bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.' || c == '~';
        if (plain) wr_sbuf_addc(out, (char)c);
        else wr_sbuf_printf(out, "%%%02X", c);
    }
}
