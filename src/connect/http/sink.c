/* connect/http/sink.c: rows as requests: the sink of 'http'.
 *
 * Idea       a batch is encoded at once and cut into ranges of rows; up to 'sink.parallel' of them are requests under way. write begins with that, drain goes
 *            on, so the worker does other things while the server takes its time. Nothing is kept from batch to batch: when a batch is through,
 *            the server has said yes to each of its rows, or they are refused by policy. So prepare and flush have nothing to wait for.
 * Keys       a request's key is ID-FIRST-N-HASH: the job's id, the running number of the first row since the job began, the number of rows, the hash of the body.
 *            Each try has the same one. Id and number are in the checkpoint: a batch in flight that a restore writes again has the same keys; rows
 *            that are read again have them where they come in the same requests ('body' = 'single': in the same order). The hash keeps other rows from being taken for them.
 * Refused    a request that the server refuses is sent again in halves until one row is left; 'on-error' says what becomes of that.
 * Bounds     one encoded batch, and a body for each request under way where they are arrays; charged.
 * Thread     one worker; the client is its own.                                                                                    */
#include "base/hash.h"
#include "connect/http/target.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { STAGED_VERSION = 1, REPLY_BYTES = 16 << 10, ROWS_MAX = 100000 };
enum { BODY_LINES, BODY_ARRAY, BODY_SINGLE };

typedef struct range { uint32_t from, to; } range; /* records of the batch */
typedef struct refused { uint32_t record; char code[8], reason[340]; } refused;

typedef struct slot {              /* a request */
    wr_http_call call;
    bool         used;
    range        rows;
    wr_sbuf      body;             /* of arrays; else the body lies in the encoded batch */
    char         key[128 + 64];
    const char  *headers[HTTP_HEADERS_MAX + 4];
} slot;

typedef struct http_sink {
    wr_sink      base;
    wr_world    *world;
    wr_account  *acct;
    wr_arena    *arena;
    wr_str       table;
    wr_span      at;
    http_target  target;
    const char  *method, *content_type, *key_header;
    int          body;
    bool         split;
    uint32_t     max_rows;
    size_t       max_bytes;
    wr_encoder  *encoder;
    wr_http_client *client;
    char         id[72];
    uint64_t     next_row;         /* number of the batch's first record */
    wr_sbuf      text;             /* the batch, encoded */
    WR_ARR(uint32_t) ends;         /* of its records */
    WR_ARR(uint32_t) live;         /* which live rows they are */
    WR_ARR(refused) refused;
    wr_batch    *batch;            /* under way; NULL: none */
    uint64_t     n_given;          /* rows before it, since the sink was made */
    const wr_refuse *refuse;       /* NULL: a refused row is an error */
    WR_ARR(range) work;            /* not yet sent; the last one comes first */
    slot         slots[HTTP_PARALLEL_MAX];
    uint32_t     n_used;
    int64_t      charged;
} http_sink;

static void charge(http_sink *s) {
    int64_t bytes = (int64_t)s->text.cap + (int64_t)(s->ends.cap + s->live.cap) * 4 + (int64_t)(s->refused.cap * sizeof *s->refused.at);
    for (uint32_t i = 0; i < s->target.parallel; i++) bytes += (int64_t)s->slots[i].body.cap;
    if (s->acct && bytes != s->charged) wr_account_add(s->acct, bytes - s->charged);
    s->charged = bytes;
}

/* ---- a batch into ranges ---- */

static size_t start_of(const http_sink *s, uint32_t record) { return record ? s->ends.at[record - 1] : 0; }

static void encode(http_sink *s, const wr_batch *batch) {
    wr_sbuf_clear(&s->text);
    s->ends.n = s->live.n = 0;
    for (uint32_t i = 0, n = wr_batch_live(batch); i < n; i++) {
        size_t before = s->text.len;
        s->encoder->encode(s->encoder, batch, i, i + 1, &s->text);
        if (s->text.len == before) continue; /* nothing to say of it */
        wr_arr_push(&s->ends, (uint32_t)s->text.len);
        wr_arr_push(&s->live, i);
    }
}

static void cut(http_sink *s) {
    uint32_t n = s->ends.n;
    s->work.n = 0;
    for (uint32_t from = 0, to; from < n; from = to) {
        for (to = from + 1; to < n && to - from < s->max_rows && s->ends.at[to] - start_of(s, from) <= s->max_bytes;) to++;
        wr_arr_push(&s->work, (range){from, to});
    }
    for (uint32_t i = 0; i < s->work.n / 2; i++) {
        range r = s->work.at[i];
        s->work.at[i] = s->work.at[s->work.n - 1 - i];
        s->work.at[s->work.n - 1 - i] = r;
    }
}

/* ---- requests ---- */

static wr_str record_text(const http_sink *s, range r) { /* without the last line break */
    size_t from = start_of(s, r.from), to = s->ends.at[r.to - 1];
    return (wr_str){s->text.at + from, to - from - (to > from && s->text.at[to - 1] == '\n')};
}

static wr_str make_body(http_sink *s, slot *q) {
    if (s->body == BODY_SINGLE) return record_text(s, q->rows);
    if (s->body == BODY_LINES) return (wr_str){s->text.at + start_of(s, q->rows.from), s->ends.at[q->rows.to - 1] - start_of(s, q->rows.from)};
    wr_sbuf_clear(&q->body);
    for (uint32_t i = q->rows.from; i < q->rows.to; i++) {
        wr_sbuf_addc(&q->body, i == q->rows.from ? '[' : ',');
        wr_sbuf_add_str(&q->body, record_text(s, (range){i, i + 1}));
    }
    wr_sbuf_addc(&q->body, ']');
    return wr_sbuf_str(&q->body);
}

static void start(http_sink *s, slot *q, range rows) {
    q->rows = rows;
    q->used = true;
    s->n_used++;
    wr_str   body = make_body(s, q);
    uint32_t n = 0;
    for (; n < s->target.n_headers; n++) q->headers[n] = s->target.headers[n];
    if (s->content_type) q->headers[n++] = s->content_type;
    if (s->key_header) {
        snprintf(q->key, sizeof q->key, "%s: %s-%" PRIu64 "-%u-%016" PRIx64, s->key_header, s->id, s->next_row + rows.from, rows.to - rows.from, wr_hash_bytes(body.ptr, body.len));
        q->headers[n++] = q->key;
    }
    q->headers[n] = NULL;
    q->call.method = s->method, q->call.url = s->target.url.ptr, q->call.headers = q->headers, q->call.body = body, q->call.reply_max = REPLY_BYTES;
    wr_http_begin(s->client, &q->call);
}

/* ---- answers ---- */

WR_COLD static wr_status fail(http_sink *s, const slot *q, wr_err *err) {
    const wr_http_call *c = &q->call;
    char                words[256];
    http_show_reply(wr_sbuf_str(&c->reply), words, sizeof words);
    if (!c->status) {
        wr_fail(err, WR_IO, "WR376", "table '%.*s': no answer from %s: %s", WR_FMT(s->table), s->target.shown, c->why);
        wr_err_hint(err, "look at 'url' and the network; 'retry.attempts' says how often to try");
    } else {
        wr_fail(err, WR_IO, "WR376", "table '%.*s': %s of %u rows to %s: HTTP %ld%s%s", WR_FMT(s->table), s->method, q->rows.to - q->rows.from, s->target.shown, c->status, *words ? ": " : "", words);
        if (c->status == 401 || c->status == 403) wr_err_hint(err, "the server wants other credentials: 'token', or 'header.Authorization'");
        else if (c->status >= 300 && c->status < 400) wr_err_hint(err, "the server names another address; write that one as 'url'");
        else if (c->status == 404 || c->status == 405) wr_err_hint(err, "look at 'url' and 'method'");
    }
    if (c->tries > 1) wr_err_detail(err, "it was tried %u times", c->tries);
    if (err) err->at = s->at;
    return WR_IO;
}

/* The server does not want these rows (one, unless they are not to be halved). They are put aside when the batch is through: a checkpoint before that has all of it
 * among the rows in flight. */
static wr_status refuse(http_sink *s, const slot *q, wr_err *err) {
    char words[256], shown[256];
    http_show_reply(wr_sbuf_str(&q->call.reply), words, sizeof words);
    if (s->refuse) {
        for (uint32_t i = q->rows.from; i < q->rows.to; i++) {
            refused r = {.record = i};
            snprintf(r.code, sizeof r.code, "WR377");
            snprintf(r.reason, sizeof r.reason, "HTTP %ld%s%s", q->call.status, *words ? ": " : "", words);
            wr_arr_push(&s->refused, r);
        }
        return WR_OK;
    }
    http_show_reply(record_text(s, q->rows), shown, sizeof shown);
    wr_fail(err, WR_DATA, "WR377", "table '%.*s': %s refuses a row: HTTP %ld%s%s", WR_FMT(s->table), s->target.shown, q->call.status, *words ? ": " : "", words);
    wr_err_detail(err, "the row: %s", shown);
    wr_err_hint(err, "'on-error' = 'dead-letter' puts such rows aside and goes on; 'refused.statuses' says which answers are meant");
    if (err) err->at = s->at;
    return WR_DATA;
}

static int by_record(const void *a, const void *b) {
    uint32_t x = ((const refused *)a)->record, y = ((const refused *)b)->record;
    return (x > y) - (x < y);
}

static wr_status put_aside(http_sink *s, wr_err *err) {
    if (s->refused.n > 1) qsort(s->refused.at, s->refused.n, sizeof *s->refused.at, by_record);
    for (uint32_t i = 0; i < s->refused.n; i++) {
        const refused *r = &s->refused.at[i];
        uint32_t       live = s->live.at[r->record];
        WR_TRY(s->refuse->row(s->refuse->arg, s->batch, wr_batch_row(s->batch, live), s->n_given + live, r->code, r->reason, err));
    }
    s->refused.n = 0;
    return WR_OK;
}

static wr_status settle(http_sink *s, slot *q, wr_err *err) {
    wr_http_call *c = &q->call;
    uint32_t      n = q->rows.to - q->rows.from;
    q->used = false;
    s->n_used--;
    if (c->status >= 200 && c->status < 300) return WR_OK;
    if (!wr_http_codes_has(&s->target.refused, c->status) || !c->status) return fail(s, q, err);
    if (n == 1 || !s->split) return refuse(s, q, err);
    wr_arr_push(&s->work, (range){q->rows.from + n / 2, q->rows.to});
    wr_arr_push(&s->work, (range){q->rows.from, q->rows.from + n / 2});
    return WR_OK;
}

/* ---- the sink ---- */

static void begin_work(http_sink *s) {
    for (uint32_t i = 0; i < s->target.parallel && s->work.n; i++)
        if (!s->slots[i].used) start(s, &s->slots[i], s->work.at[--s->work.n]);
    charge(s);
}

static wr_status sink_write(wr_sink *base, const wr_batch *batch, wr_err *err) {
    http_sink *s = (http_sink *)base;
    (void)err;
    wr_assert(!s->n_used && !s->work.n && !s->batch);
    s->batch = wr_batch_ref((wr_batch *)(uintptr_t)batch);
    encode(s, batch);
    cut(s);
    begin_work(s);
    return WR_OK;
}

static wr_status sink_drain(wr_sink *base, int64_t wait_us, bool *busy, wr_err *err) {
    http_sink *s = (http_sink *)base;
    int64_t    now = wr_mono_us(s->world), end = wait_us > INT64_MAX - now ? INT64_MAX : now + wait_us;
    for (;; now = wr_mono_us(s->world)) {
        wr_http_step(s->client, now < end ? end - now : 0);
        bool any = false;
        for (uint32_t i = 0; i < s->target.parallel; i++) {
            slot *q = &s->slots[i];
            if (!q->used || !q->call.done) continue;
            any = true;
            WR_TRY(settle(s, q, err));
        }
        begin_work(s);
        *busy = s->n_used > 0;
        if (!*busy) break;
        if (!any && wr_mono_us(s->world) >= end) return WR_OK;
    }
    if (!s->batch) return WR_OK;
    WR_TRY(put_aside(s, err));
    s->next_row += s->ends.n;
    s->n_given += wr_batch_live(s->batch);
    s->ends.n = s->live.n = 0;
    wr_batch_unref(s->batch);
    s->batch = NULL;
    if (s->text.cap > (4u << 20)) wr_sbuf_free(&s->text);
    charge(s);
    return WR_OK;
}

static wr_status sink_flush(wr_sink *base, wr_err *err) { return (void)base, (void)err, WR_OK; }

/* While a batch is under way, its first row's number is what the checkpoint keeps: the batch is among the rows in flight. */
static wr_status sink_prepare(wr_sink *base, uint64_t epoch, wr_sbuf *staged, wr_err *err) {
    http_sink *s = (http_sink *)base;
    (void)epoch, (void)err;
    wr_put_u8(staged, STAGED_VERSION);
    wr_put_bytes(staged, s->id, strlen(s->id));
    wr_put_u64(staged, s->next_row);
    return WR_OK;
}

static wr_status sink_commit(wr_sink *base, uint64_t epoch, wr_str staged, wr_err *err) { return (void)base, (void)epoch, (void)staged, (void)err, WR_OK; }

static wr_status sink_recover(wr_sink *base, uint64_t epoch, wr_str staged, wr_err *err) {
    http_sink *s = (http_sink *)base;
    wr_reader  in = {(const uint8_t *)staged.ptr, (const uint8_t *)staged.ptr + staged.len, false};
    if (!epoch || !staged.len) return WR_OK; /* nothing staged: the sink was not there at the checkpoint */
    bool     known = wr_get_u8(&in) == STAGED_VERSION;
    wr_str   id = wr_get_bytes(&in);
    uint64_t row = wr_get_u64(&in);
    if (!known || in.bad || id.len >= sizeof s->id) return wr_fail(err, WR_CORRUPT, "XX001", "what the checkpoint keeps of the table '%.*s' is of another version", WR_FMT(s->table));
    memcpy(s->id, id.ptr, id.len);
    s->id[id.len] = 0;
    s->next_row = row;
    return WR_OK;
}

static wr_status sink_close(wr_sink *base, bool ok, wr_err *err) {
    http_sink *s = (http_sink *)base;
    (void)ok, (void)err;
    wr_http_client_free(s->client);
    for (uint32_t i = 0; i < HTTP_PARALLEL_MAX; i++) wr_sbuf_free(&s->slots[i].body), wr_sbuf_free(&s->slots[i].call.reply);
    if (s->acct) wr_account_add(s->acct, -s->charged);
    wr_sbuf_free(&s->text);
    wr_arr_free(&s->ends);
    wr_arr_free(&s->work);
    wr_arr_free(&s->live);
    wr_arr_free(&s->refused);
    wr_batch_unref(s->batch);
    if (s->encoder) s->encoder->free(s->encoder);
    wr_arena_free(s->arena);
    wr_free(s);
    return WR_OK;
}

static const wr_sink_vt sink_vt = {"http", sink_write, sink_flush, sink_prepare, sink_commit, sink_recover, sink_close, sink_drain};

/* ---- making one ---- */

static wr_status read_body(http_sink *s, const wr_table_info *t, wr_connect_ctx *ctx, const wr_format *format) {
    wr_str body = option_text(t, http_specs, "body"), type = option_text(t, http_specs, "content-type");
    bool   json = strstr(format->name, "json") != NULL;
    s->body = wr_str_ieq(body, WR_STR("array")) ? BODY_ARRAY : wr_str_ieq(body, WR_STR("single")) ? BODY_SINGLE : BODY_LINES;
    if (s->body == BODY_ARRAY && !json) return option_error(ctx, t, "body", "WR121", "'body' = 'array' is for formats that write JSON, not '%s'", format->name);
    if (s->body == BODY_SINGLE) s->max_rows = 1;
    if (s->target.has_content_type) return WR_OK;
    const char *fallback = json ? s->body == BODY_LINES ? "application/x-ndjson" : "application/json" : !strcmp(format->name, "csv") ? "text/csv" : !strcmp(format->name, "raw") ? "application/octet-stream" : "text/plain";
    for (size_t i = 0; i < type.len; i++)
        if ((unsigned char)type.ptr[i] < ' ') return option_error(ctx, t, "content-type", "WR121", "'content-type' cannot be a header");
    s->content_type = wr_arena_printf(s->arena, "Content-Type: %.*s", type.len ? (int)type.len : (int)strlen(fallback), type.len ? type.ptr : fallback);
    return WR_OK;
}

static bool is_token(wr_str s) { /* of HTTP: a header's name, or a part of a value */
    for (size_t i = 0; i < s.len; i++)
        if ((unsigned char)s.ptr[i] <= ' ' || (unsigned char)s.ptr[i] > 126 || strchr(":;,\"()<>@/[]?={}\\", s.ptr[i])) return false;
    return true;
}

static wr_status read_keys(http_sink *s, const wr_table_info *t, wr_connect_ctx *ctx) {
    wr_str header = option_text(t, http_specs, "sink.idempotency-header"), id = option_text(t, http_specs, "sink.idempotency-id");
    if (!is_token(header) || header.len > 64) return option_error(ctx, t, "sink.idempotency-header", "WR121", "'sink.idempotency-header' cannot be a header's name");
    if (!is_token(id) || id.len >= sizeof s->id) return option_error(ctx, t, "sink.idempotency-id", "WR121", "'sink.idempotency-id' is up to %zu letters, digits and -._", sizeof s->id - 1);
    if (header.len) s->key_header = wr_arena_strndup(s->arena, header.ptr, header.len);
    if (id.len) snprintf(s->id, sizeof s->id, "%.*s", WR_FMT(id));
    else snprintf(s->id, sizeof s->id, "%016" PRIx64, s->world->vt->random(s->world));
    return WR_OK;
}

static wr_status read_policy(http_sink *s, const wr_table_info *t, wr_connect_ctx *ctx) {
    wr_str  method = option_text(t, http_specs, "method");
    int64_t rows, bytes;
    if (!wr_option_int(&t->options, http_specs, "sink.batch.max-rows", &rows, ctx->diags) || !wr_option_size(&t->options, http_specs, "sink.batch.max-bytes", &bytes, ctx->diags) ||
        !wr_option_bool(&t->options, http_specs, "sink.split-refused", &s->split, ctx->diags))
        return WR_USER;
    if (rows < 1 || rows > ROWS_MAX) return option_error(ctx, t, "sink.batch.max-rows", "WR121", "'sink.batch.max-rows' is 1 to %d", ROWS_MAX);
    s->max_rows = (uint32_t)rows, s->max_bytes = (size_t)bytes;
    static const char *const methods[] = {"POST", "PUT", "PATCH"};
    s->method = method.len ? NULL : "POST";
    for (size_t i = 0; i < WR_COUNT_OF(methods); i++)
        if (wr_str_ieq(method, wr_str_of(methods[i]))) s->method = methods[i];
    return s->method ? WR_OK : option_error(ctx, t, "method", "WR121", "a sink's 'method' is POST, PUT or PATCH");
}

static wr_status make(http_sink *s, const wr_table_info *t, wr_connect_ctx *ctx, wr_err *err) {
    const wr_format *format = table_format(t, ctx);
    if (!format) return WR_USER;
    WR_TRY(http_target_read(&s->target, t, ctx, s->arena, "sink.parallel"));
    if (memchr(s->target.url.ptr, '{', s->target.url.len)) return option_error(ctx, t, "url", "WR121", "the 'url' of a sink has no {column}: all rows go to one address");
    WR_TRY(read_policy(s, t, ctx));
    WR_TRY(read_body(s, t, ctx, format));
    WR_TRY(read_keys(s, t, ctx));
    const wr_encoder_opts opts = {.schema = t->schema, .options = t->options, .tz = ctx->tz, .world = ctx->world};
    WR_TRY(format->encoder_new(&opts, &s->encoder, ctx->diags));
    return wr_http_client_new(s->world, &s->target.policy, &s->client, err);
}

wr_status http_sink_new(const wr_table_info *t, wr_connect_ctx *ctx, wr_sink **out, wr_err *err) {
    http_sink *s = wr_calloc(1, sizeof *s);
    *out = NULL;
    *s = (http_sink){.base = {&sink_vt}, .world = ctx->world, .acct = ctx->acct, .arena = wr_arena_new(NULL), .table = wr_str_dup(ctx->arena, t->name), .at = t->at, .refuse = ctx->refuse};
    wr_status status = make(s, t, ctx, err);
    if (status != WR_OK) {
        (void)sink_close(&s->base, false, NULL);
        return status;
    }
    *out = &s->base;
    return WR_OK;
}
