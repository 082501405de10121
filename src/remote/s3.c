/* remote/s3.c: requests of the S3 protocol over libcurl, which signs them (AWS_SIGV4). See remote.h.
 *
 * Idea       one easy handle, so that a connection is kept; a request is a struct, tried again as a whole: bodies can be read again from their start.
 * Names      path-style addresses (ENDPOINT/bucket/key), which every such store knows. Keys and queries are percent-encoded here as the signature wants them.
 * Answers    only a few elements of the XML are needed; they are found by their tags.                                                    */
#include "http/curl.h"
#include "http/http.h"
#include "remote/remote.h"
#include <inttypes.h>
#include <openssl/evp.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

enum { ATTEMPTS = 7, FIRST_PAUSE_US = 200000, PAUSE_MAX_US = 5000000, SLICE_US = 50000, CONNECT_TIMEOUT_S = 10, SLOW_BYTES_PER_S = 100, SLOW_FOR_S = 30, EXPECT_MS = 300,
       REPLY_BYTES_MAX = 8 << 20, ERROR_BYTES_MAX = 16384, BUFFER = 256 * 1024 };

struct wr_remote {
    wr_world   *world;
    CURL       *curl;
    char       *url, *bucket, *prefix;       /* prefix: "" or with a slash at its end */
    char       *endpoint, *region, *user, *token; /* token: NULL if there is none */
    atomic_bool cancelled;
    char        why[CURL_ERROR_SIZE];
};

typedef struct request {
    wr_remote  *r;
    const char *method, *name;   /* name: NULL: the bucket itself */
    wr_str      query;
    /* body */
    bool        has_body;
    wr_str      content;         /* or a file */
    wr_file    *from;
    uint64_t    bytes, at;
    /* answer */
    wr_file    *to;              /* of a good answer; else reply */
    wr_sbuf     reply;
    size_t      reply_max;
    long        status;
    wr_status   failed;          /* of reading or writing a file here */
    wr_err      file_err;
} request;

/* ---- opening ---- */
bool wr_remote_is_url(const char *text) {
    const char *scheme = strstr(text, "://");
    return scheme && scheme != text && strchr(text, '/') > scheme;
}

static const char *env(const char *name) {
    const char *value = getenv(name);
    return value && *value ? value : NULL;
}

static wr_status parse_url(wr_remote *r, const char *url, wr_err *err) {
    static const char scheme[] = "s3://";
    const char *bucket = url + sizeof scheme - 1;
    if (strncmp(url, scheme, sizeof scheme - 1) != 0 || !bucket[strspn(bucket, "/")] || *bucket == '/' || strpbrk(bucket, "?#%\\ \"<>&")) {
        wr_fail(err, WR_USER, "WR331", "'%s' is not an object store that weir knows", url);
        wr_err_hint(err, "s3://BUCKET/PREFIX; stores other than AWS are named by AWS_ENDPOINT_URL in the environment");
        return WR_USER;
    }
    size_t len = strcspn(bucket, "/");
    r->bucket = wr_strdup(bucket);
    r->bucket[len] = 0;
    wr_sbuf prefix = {0}, whole = {0};
    for (const char *c = bucket + len; *c; c++) /* one slash where several are */
        if (*c != '/' || (prefix.len && prefix.at[prefix.len - 1] != '/')) wr_sbuf_addc(&prefix, *c);
    if (prefix.len && prefix.at[prefix.len - 1] != '/') wr_sbuf_addc(&prefix, '/');
    wr_sbuf_printf(&whole, "s3://%s/%.*s", r->bucket, WR_FMT(wr_sbuf_str(&prefix)));
    whole.at[whole.len - 1] = 0;
    r->prefix = wr_strdup(prefix.at ? prefix.at : "");
    r->url = wr_strdup(whole.at);
    wr_sbuf_free(&prefix);
    wr_sbuf_free(&whole);
    return WR_OK;
}

static wr_status read_environment(wr_remote *r, wr_err *err) {
    const char *region = env("AWS_REGION"), *endpoint = env("AWS_ENDPOINT_URL"), *key = env("AWS_ACCESS_KEY_ID"), *secret = env("AWS_SECRET_ACCESS_KEY");
    const char *token = env("AWS_SESSION_TOKEN");
    if (!region) region = env("AWS_DEFAULT_REGION");
    if (!region) region = "us-east-1";
    if (!key || !secret) {
        wr_fail(err, WR_USER, "WR331", "there are no credentials for %s: %s is not set", r->url, key ? "AWS_SECRET_ACCESS_KEY" : "AWS_ACCESS_KEY_ID");
        wr_err_hint(err, "weir takes them from the environment: AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN if there is one, AWS_REGION, AWS_ENDPOINT_URL");
        return WR_USER;
    }
    if (endpoint && strncmp(endpoint, "http://", 7) != 0 && strncmp(endpoint, "https://", 8) != 0)
        return wr_fail(err, WR_USER, "WR331", "AWS_ENDPOINT_URL is '%s'; it begins with http:// or https://", endpoint);
    wr_sbuf b = {0};
    if (endpoint) wr_sbuf_addz(&b, endpoint);
    else wr_sbuf_printf(&b, "https://s3.%s.amazonaws.com", region);
    while (b.at[b.len - 1] == '/') b.at[--b.len] = 0;
    r->endpoint = wr_strdup(b.at);
    wr_sbuf_clear(&b);
    wr_sbuf_printf(&b, "%s:%s", key, secret);
    r->user = wr_strdup(b.at);
    wr_sbuf_clear(&b);
    wr_sbuf_printf(&b, "aws:amz:%s:s3", region);
    r->region = wr_strdup(b.at);
    r->token = token ? wr_strdup(token) : NULL;
    wr_sbuf_free(&b);
    return WR_OK;
}

wr_status wr_remote_open(wr_world *world, const char *url, wr_remote **out, wr_err *err) {
    wr_remote *r = wr_calloc(1, sizeof *r);
    r->world = world;
    wr_status status = parse_url(r, url, err);
    if (status == WR_OK) status = read_environment(r, err);
    if (status == WR_OK) {
        status = curl_load(err);
        r->curl = status == WR_OK ? curl_easy_init() : NULL;
        if (status == WR_OK && !r->curl) status = wr_fail(err, WR_IO, "WR330", "libcurl cannot start");
    }
    if (status != WR_OK) wr_remote_close(r), r = NULL;
    *out = r;
    return status;
}

void wr_remote_close(wr_remote *r) {
    if (!r) return;
    if (r->curl) curl_easy_cleanup(r->curl);
    wr_free(r->url), wr_free(r->bucket), wr_free(r->prefix), wr_free(r->endpoint), wr_free(r->region), wr_free(r->user), wr_free(r->token);
    wr_free(r);
}

void wr_remote_cancel(wr_remote *r) {
    if (r) atomic_store(&r->cancelled, true);
}

const char *wr_remote_url(const wr_remote *r) { return r->url; }

/* ---- callbacks of libcurl ---- */
static size_t on_read(char *to, size_t size, size_t n, void *arg) {
    request *q = arg;
    size_t   want = size * n, left = (size_t)(q->bytes - q->at), got = WR_MIN(want, left);
    if (!got) return 0;
    if (q->from) {
        q->failed = q->r->world->vt->file_pread(q->r->world, q->from, to, got, q->at, &got, &q->file_err);
        if (q->failed != WR_OK) return CURL_READFUNC_ABORT;
    } else {
        memcpy(to, q->content.ptr + q->at, got);
    }
    q->at += got;
    return got;
}

static int on_seek(void *arg, curl_off_t offset, int origin) { /* a request that libcurl itself sends again over a new connection */
    request *q = arg;
    if (origin != SEEK_SET || offset < 0 || (uint64_t)offset > q->bytes) return CURL_SEEKFUNC_FAIL;
    q->at = (uint64_t)offset;
    return CURL_SEEKFUNC_OK;
}

static size_t on_write(char *bytes, size_t size, size_t n, void *arg) {
    request *q = arg;
    size_t   len = size * n;
    curl_easy_getinfo(q->r->curl, CURLINFO_RESPONSE_CODE, &q->status);
    if (q->to && q->status == 200) {
        q->failed = q->r->world->vt->file_write(q->r->world, q->to, bytes, len, &q->file_err);
        return q->failed == WR_OK ? len : CURL_WRITEFUNC_ERROR;
    }
    size_t max = q->status < 300 ? q->reply_max : ERROR_BYTES_MAX;
    if (q->reply.len + len > max) {
        if (q->status < 300) q->failed = wr_fail(&q->file_err, WR_IO, "WR330", "%s/%s is larger than it can be", q->r->url, q->name ? q->name : "");
        return CURL_WRITEFUNC_ERROR;
    }
    wr_sbuf_add(&q->reply, bytes, len);
    return len;
}

static int on_progress(void *arg, curl_off_t a, curl_off_t b, curl_off_t c, curl_off_t d) {
    (void)a, (void)b, (void)c, (void)d;
    return atomic_load(&((request *)arg)->r->cancelled);
}

/* ---- one request ---- */
static void address(const request *q, wr_sbuf *out) {
    wr_sbuf_printf(out, "%s/", q->r->endpoint);
    wr_http_encode(out, wr_str_of(q->r->bucket), false);
    if (q->name) {
        wr_sbuf_addc(out, '/');
        wr_http_encode(out, wr_str_of(q->r->prefix), true);
        wr_http_encode(out, wr_str_of(q->name), true);
    }
    if (q->query.len) wr_sbuf_printf(out, "?%.*s", WR_FMT(q->query));
}

static wr_status body_sum(request *q, char out[65], wr_err *err) {
    unsigned char sum[EVP_MAX_MD_SIZE];
    unsigned      len = 0;
    EVP_MD_CTX   *ctx = EVP_MD_CTX_new();
    char         *buf = q->from ? wr_malloc(BUFFER) : NULL;
    wr_status     status = WR_OK;
    EVP_DigestInit_ex(ctx, EVP_sha256(), NULL);
    if (!q->from) EVP_DigestUpdate(ctx, q->content.ptr, q->content.len);
    size_t got = BUFFER;
    for (uint64_t at = 0; q->from && status == WR_OK && got == BUFFER; at += got) {
        status = q->r->world->vt->file_pread(q->r->world, q->from, buf, BUFFER, at, &got, err);
        if (status == WR_OK) EVP_DigestUpdate(ctx, buf, got);
    }
    EVP_DigestFinal_ex(ctx, sum, &len);
    EVP_MD_CTX_free(ctx);
    wr_free(buf);
    for (unsigned i = 0; i < 32; i++) snprintf(out + 2 * i, 3, "%02x", sum[i]);
    return status;
}

static CURLcode send_once(request *q, const char *sum, const char *url) {
    wr_remote *r = q->r;
    CURL      *c = r->curl;
    char       line[128];
    snprintf(line, sizeof line, "x-amz-content-sha256: %s", sum);
    struct curl_slist *headers = curl_slist_append(NULL, line); /* no "Expect:" to switch that off: libcurl 7.88 would sign it */
    if (r->token) {
        wr_sbuf token = {0};
        wr_sbuf_printf(&token, "x-amz-security-token: %s", r->token);
        headers = curl_slist_append(headers, token.at);
        wr_sbuf_free(&token);
    }
    q->at = 0, q->status = 0, q->failed = WR_OK, q->reply.len = 0, r->why[0] = 0;
    curl_easy_reset(c); /* the connection stays */
    curl_easy_setopt(c, CURLOPT_URL, url);
    curl_easy_setopt(c, CURLOPT_PATH_AS_IS, 1L);
    curl_easy_setopt(c, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(c, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(c, CURLOPT_AWS_SIGV4, r->region);
    curl_easy_setopt(c, CURLOPT_USERPWD, r->user);
    curl_easy_setopt(c, CURLOPT_HTTPHEADER, headers);
    curl_easy_setopt(c, CURLOPT_ERRORBUFFER, r->why);
    curl_easy_setopt(c, CURLOPT_CONNECTTIMEOUT, (long)CONNECT_TIMEOUT_S);
    curl_easy_setopt(c, CURLOPT_LOW_SPEED_LIMIT, (long)SLOW_BYTES_PER_S);
    curl_easy_setopt(c, CURLOPT_LOW_SPEED_TIME, (long)SLOW_FOR_S);
    curl_easy_setopt(c, CURLOPT_NOPROGRESS, 0L);
    curl_easy_setopt(c, CURLOPT_XFERINFOFUNCTION, on_progress);
    curl_easy_setopt(c, CURLOPT_XFERINFODATA, q);
    curl_easy_setopt(c, CURLOPT_WRITEFUNCTION, on_write);
    curl_easy_setopt(c, CURLOPT_WRITEDATA, q);
    if (q->has_body) {
        curl_easy_setopt(c, CURLOPT_UPLOAD, 1L);
        curl_easy_setopt(c, CURLOPT_INFILESIZE_LARGE, (curl_off_t)q->bytes);
        curl_easy_setopt(c, CURLOPT_READFUNCTION, on_read);
        curl_easy_setopt(c, CURLOPT_READDATA, q);
        curl_easy_setopt(c, CURLOPT_SEEKFUNCTION, on_seek);
        curl_easy_setopt(c, CURLOPT_SEEKDATA, q);
        curl_easy_setopt(c, CURLOPT_EXPECT_100_TIMEOUT_MS, (long)EXPECT_MS); /* a store that does not answer to it gets the body then */
        curl_easy_setopt(c, CURLOPT_UPLOAD_BUFFERSIZE, (long)BUFFER);
    }
    curl_easy_setopt(c, CURLOPT_CUSTOMREQUEST, q->method);
    CURLcode code = curl_perform_quietly(c);
    curl_easy_getinfo(c, CURLINFO_RESPONSE_CODE, &q->status);
    curl_slist_free_all(headers);
    return code;
}

/* ---- answers ---- */
static wr_str element(wr_str xml, const char *tag, size_t *at) { /* the next <tag>text</tag> from *at on; ptr NULL: none */
    char open[40], close[40];
    snprintf(open, sizeof open, "<%s>", tag);
    snprintf(close, sizeof close, "</%s>", tag);
    const char *from = xml.len > *at ? memmem(xml.ptr + *at, xml.len - *at, open, strlen(open)) : NULL;
    if (!from) return (wr_str){0};
    from += strlen(open);
    const char *to = memmem(from, (size_t)(xml.ptr + xml.len - from), close, strlen(close));
    if (!to) return (wr_str){0};
    *at = (size_t)(to - xml.ptr) + strlen(close);
    return (wr_str){from, (size_t)(to - from)};
}

static wr_str first_element(wr_str xml, const char *tag) {
    size_t at = 0;
    return element(xml, tag, &at);
}

static void unescape(wr_str text, wr_sbuf *out) {
    static const struct { const char *name; char c; } known[] = {{"&amp;", '&'}, {"&lt;", '<'}, {"&gt;", '>'}, {"&quot;", '"'}, {"&apos;", '\''}, {"&#39;", '\''}, {"&#43;", '+'}};
    wr_sbuf_clear(out);
    for (size_t i = 0; i < text.len;) {
        size_t k = 0;
        while (k < WR_COUNT_OF(known) && !wr_str_starts((wr_str){text.ptr + i, text.len - i}, wr_str_of(known[k].name))) k++;
        wr_sbuf_addc(out, k < WR_COUNT_OF(known) ? known[k].c : text.ptr[i]);
        i += k < WR_COUNT_OF(known) ? strlen(known[k].name) : 1;
    }
    wr_sbuf_addz(out, "");
}

static const char *hint_of(wr_str code) {
    static const char *const hints[][2] = {
        {"NoSuchBucket", "make the bucket first; weir does not"},
        {"InvalidAccessKeyId", "look at AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"},
        {"SignatureDoesNotMatch", "look at AWS_SECRET_ACCESS_KEY, AWS_REGION and the clock of this machine"},
        {"AccessDenied", "these credentials may not do that: weir lists, reads, writes and removes objects below the prefix"},
        {"ExpiredToken", "AWS_SESSION_TOKEN has expired: start the job again with new credentials"},
        {"RequestTimeTooSkewed", "set the clock of this machine"},
        {"PermanentRedirect", "the bucket is in another region: set AWS_REGION"},
        {"AuthorizationHeaderMalformed", "the bucket is in another region: set AWS_REGION"},
    };
    for (size_t i = 0; i < WR_COUNT_OF(hints); i++)
        if (wr_str_eq(code, wr_str_of(hints[i][0]))) return hints[i][1];
    return NULL;
}

static wr_status explain(const request *q, CURLcode code, wr_err *err) {
    const wr_remote *r = q->r;
    const char *slash = q->name ? "/" : "", *name = q->name ? q->name : "", *method = q->name ? q->method : "LIST";
    if (q->failed != WR_OK) {
        *err = q->file_err;
        return q->failed;
    }
    if (atomic_load(&r->cancelled)) return wr_fail(err, WR_CANCELLED, "WR901", "%s of %s%s%s was given up", method, r->url, slash, name);
    if (code != CURLE_OK && q->status < 300) {
        wr_fail(err, WR_IO, "WR330", "%s of %s%s%s: no answer from %s: %s", method, r->url, slash, name, r->endpoint, r->why[0] ? r->why : curl_easy_strerror(code));
        wr_err_hint(err, "look at AWS_ENDPOINT_URL, AWS_REGION and the network");
        return WR_IO;
    }
    wr_str xml = wr_sbuf_str(&q->reply), its = first_element(xml, "Code"), words = first_element(xml, "Message");
    wr_fail(err, WR_IO, "WR330", "%s of %s%s%s: HTTP %ld%s%.*s%s%.*s", method, r->url, slash, name, q->status, its.len ? " " : "", (int)WR_MIN(its.len, 64u), its.len ? its.ptr : "",
            words.len ? ": " : "", (int)WR_MIN(words.len, 200u), words.len ? words.ptr : "");
    const char *hint = hint_of(its);
    if (hint) wr_err_hint(err, "%s", hint);
    return WR_IO;
}

static bool may_pass(const request *q, CURLcode code) {
    if (q->failed != WR_OK || atomic_load(&q->r->cancelled)) return false;
    if (code != CURLE_OK && q->status < 300)
        return code != CURLE_UNSUPPORTED_PROTOCOL && code != CURLE_URL_MALFORMAT && code != CURLE_PEER_FAILED_VERIFICATION && code != CURLE_SSL_CACERT_BADFILE;
    return q->status == 429 || q->status == 408 || q->status >= 500 || wr_str_eq(first_element(wr_sbuf_str(&q->reply), "Code"), WR_STR("RequestTimeout"));
}

static void pause_before(wr_remote *r, int attempt) {
    int64_t us = WR_MIN((int64_t)FIRST_PAUSE_US << (attempt - 1), (int64_t)PAUSE_MAX_US);
    us = us / 2 + (int64_t)(r->world->vt->random(r->world) % (uint64_t)(us / 2 + 1)); /* so that many jobs do not come back at once */
    for (int64_t slept = 0; slept < us && !atomic_load(&r->cancelled); slept += SLICE_US) r->world->vt->sleep_us(r->world, WR_MIN((int64_t)SLICE_US, us - slept));
}

static bool is_missing(const request *q) { /* the object, not the bucket */
    wr_str code = first_element(wr_sbuf_str(&q->reply), "Code");
    return q->status == 404 && !wr_str_eq(code, WR_STR("NoSuchBucket"));
}

/* found NULL: a 404 is an error. */
static wr_status perform(request *q, bool *found, wr_err *err) {
    char      sum[65];
    wr_sbuf   url = {0};
    CURLcode  code = CURLE_OK;
    wr_status status = body_sum(q, sum, err);
    address(q, &url);
    if (found) *found = false;
    for (int attempt = 0; status == WR_OK; attempt++) {
        if (attempt) {
            pause_before(q->r, attempt);
            if (q->to) status = q->r->world->vt->file_truncate(q->r->world, q->to, 0, err);
            if (status != WR_OK) break;
        }
        code = send_once(q, sum, url.at);
        if (code == CURLE_OK && q->status >= 200 && q->status < 300) {
            if (found) *found = true;
            break;
        }
        if (found && code == CURLE_OK && is_missing(q)) break;
        if (attempt + 1 < ATTEMPTS && may_pass(q, code)) continue;
        status = explain(q, code, err);
        if (attempt) wr_err_detail(err, "it was tried %d times", attempt + 1);
    }
    wr_sbuf_free(&url);
    return status;
}

/* ---- the calls ---- */
wr_status wr_remote_put(wr_remote *r, const char *name, wr_str content, wr_err *err) {
    request   q = {.r = r, .method = "PUT", .name = name, .has_body = true, .content = content, .bytes = content.len, .reply_max = ERROR_BYTES_MAX};
    wr_status status = perform(&q, NULL, err);
    wr_sbuf_free(&q.reply);
    return status;
}

wr_status wr_remote_put_file(wr_remote *r, const char *name, const char *path, wr_err *err) {
    request      q = {.r = r, .method = "PUT", .name = name, .has_body = true, .reply_max = ERROR_BYTES_MAX};
    wr_file_info info;
    WR_TRY(r->world->vt->file_open(r->world, path, WR_OPEN_READ, &q.from, err));
    wr_status status = r->world->vt->file_info(r->world, q.from, &info, err);
    q.bytes = status == WR_OK ? info.size_bytes : 0;
    if (status == WR_OK) status = perform(&q, NULL, err);
    r->world->vt->file_close(r->world, q.from);
    wr_sbuf_free(&q.reply);
    return status;
}

wr_status wr_remote_get(wr_remote *r, const char *name, size_t max_bytes, wr_sbuf *out, bool *found, wr_err *err) {
    request   q = {.r = r, .method = "GET", .name = name, .reply_max = max_bytes};
    wr_status status = perform(&q, found, err);
    if (status == WR_OK && *found) wr_sbuf_add_str(out, wr_sbuf_str(&q.reply));
    wr_sbuf_free(&q.reply);
    return status;
}

wr_status wr_remote_get_file(wr_remote *r, const char *name, const char *path, bool *found, wr_err *err) {
    request q = {.r = r, .method = "GET", .name = name, .reply_max = ERROR_BYTES_MAX};
    WR_TRY(r->world->vt->file_open(r->world, path, WR_OPEN_WRITE | WR_OPEN_CREATE | WR_OPEN_TRUNCATE | WR_OPEN_APPEND, &q.to, err));
    wr_status status = perform(&q, found, err);
    if (status == WR_OK && *found) status = r->world->vt->file_sync(r->world, q.to, err);
    r->world->vt->file_close(r->world, q.to);
    wr_sbuf_free(&q.reply);
    if (status == WR_OK && !*found) status = r->world->vt->remove(r->world, path, err);
    return status;
}

wr_status wr_remote_remove(wr_remote *r, const char *name, wr_err *err) {
    request   q = {.r = r, .method = "DELETE", .name = name, .reply_max = ERROR_BYTES_MAX};
    bool      was_there;
    wr_status status = perform(&q, &was_there, err);
    wr_sbuf_free(&q.reply);
    return status;
}

static void take_objects(wr_str xml, wr_remote_objects *out) {
    size_t at = 0;
    for (wr_str one; (one = element(xml, "Contents", &at)).ptr;) {
        wr_str key = first_element(one, "Key"), size = first_element(one, "Size");
        const char *slash = key.len ? memrchr(key.ptr, '/', key.len) : NULL;
        wr_str name = slash ? (wr_str){slash + 1, (size_t)(key.ptr + key.len - slash - 1)} : key;
        wr_remote_object o = {0};
        if (!name.len || name.len >= sizeof o.name) continue;
        memcpy(o.name, name.ptr, name.len);
        for (size_t i = 0; i < size.len && size.ptr[i] >= '0' && size.ptr[i] <= '9'; i++) o.bytes = o.bytes * 10 + (uint64_t)(size.ptr[i] - '0');
        wr_arr_push(out, o);
    }
}

wr_status wr_remote_list(wr_remote *r, const char *folder, wr_remote_objects *out, wr_err *err) {
    wr_sbuf   query = {0}, token = {0}, prefix = {0};
    wr_status status = WR_OK;
    wr_sbuf_printf(&prefix, "%s%s", r->prefix, folder);
    for (bool more = true; more && status == WR_OK;) {
        wr_sbuf_clear(&query);
        if (token.len) wr_sbuf_addz(&query, "continuation-token="), wr_http_encode(&query, wr_sbuf_str(&token), false), wr_sbuf_addc(&query, '&');
        wr_sbuf_addz(&query, "delimiter=%2F&list-type=2&prefix="); /* in the order that the signature wants */
        wr_http_encode(&query, wr_sbuf_str(&prefix), false);
        request q = {.r = r, .method = "GET", .query = wr_sbuf_str(&query), .reply_max = REPLY_BYTES_MAX};
        status = perform(&q, NULL, err);
        wr_str xml = wr_sbuf_str(&q.reply);
        if (status == WR_OK) take_objects(xml, out);
        unescape(first_element(xml, "NextContinuationToken"), &token);
        more = wr_str_eq(first_element(xml, "IsTruncated"), WR_STR("true")) && token.len;
        wr_sbuf_free(&q.reply);
    }
    wr_sbuf_free(&query);
    wr_sbuf_free(&token);
    wr_sbuf_free(&prefix);
    return status;
}
