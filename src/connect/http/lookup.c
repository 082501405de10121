/* connect/http/lookup.c: a server that is asked by key (lookup joins).
 *
 * Idea       the keys of a question become requests, 'lookup.parallel' of them under way at once over connections that stay open. GET: the keys stand in the
 *            URL; POST: in a JSON body. Answers are JSON: an object, an array of them, or one a line; each becomes a row. 404, 204 and null: no row.
 * Keys       a request with one key: the key columns of its rows are those asked for, whatever the answer says. With several the answer must have them.
 * Retries    of single requests, by the client; so run/lookup.c need not repeat a question ('lookup.max-retries' is not asked).
 * Bounds     'lookup.max-reply-bytes' for each request under way.
 * Thread     one asks; the client is its own.                                                                                          */
#include "connect/http/target.h"
#include <inttypes.h>
#include <stdio.h>

enum { KEYS_MAX = 32, KEYS_PER_REQUEST_MAX = 10000, PARTS_MAX = 64 };

typedef struct part { wr_str text; int key; } part; /* of the URL: text, then key (-1: none) */

typedef struct slot {
    wr_http_call call;
    bool         used;
    uint32_t     from, to;         /* live rows of the keys */
    wr_sbuf      url, body;
} slot;

typedef struct http_lookup {
    wr_lookup        base;
    wr_arena        *arena;
    wr_str           table;
    wr_span          at;
    const wr_schema *schema;
    const wr_tz     *tz;
    wr_world        *world;
    http_target      target;
    bool             post, csv;
    uint32_t         n_keys, *keys, per_request, n_parts;
    part             parts[PARTS_MAX];
    bool             skip_bad;
    wr_str           path;
    size_t           max_reply;
    wr_decoder      *decoder;
    wr_http_client *client;
    slot             slots[HTTP_PARALLEL_MAX];
    wr_sbuf          lines, value;
    uint32_t         n_used;
} http_lookup;

/* ---- requests ---- */

static void put_url(http_lookup *s, slot *q, const wr_batch *keys) {
    wr_sbuf_clear(&q->url);
    for (uint32_t p = 0; p < s->n_parts; p++) {
        wr_sbuf_add_str(&q->url, s->parts[p].text);
        for (uint32_t i = q->from; s->parts[p].key >= 0 && i < q->to; i++) {
            if (i > q->from) wr_sbuf_addc(&q->url, ',');
            wr_sbuf_clear(&s->value);
            wr_vec_text(&keys->cols[s->parts[p].key], wr_batch_row(keys, i), s->tz, &s->value);
            wr_http_encode(&q->url, wr_sbuf_str(&s->value), false);
        }
    }
}

static void put_body(http_lookup *s, slot *q, const wr_batch *keys) {
    static const wr_json_style style = {.sep = 'T', .exact = true};
    wr_sbuf_clear(&q->body);
    if (s->per_request > 1) wr_sbuf_addc(&q->body, '[');
    for (uint32_t i = q->from; i < q->to; i++) {
        wr_sbuf_addz(&q->body, i > q->from ? ",{" : "{");
        for (uint32_t k = 0; k < s->n_keys; k++) {
            if (k) wr_sbuf_addc(&q->body, ',');
            wr_sbuf_add_json(&q->body, s->schema->fields[s->keys[k]].name);
            wr_sbuf_addc(&q->body, ':');
            wr_json_value(&keys->cols[k], wr_batch_row(keys, i), &style, &q->body);
        }
        wr_sbuf_addc(&q->body, '}');
    }
    if (s->per_request > 1) wr_sbuf_addc(&q->body, ']');
}

static void start(http_lookup *s, slot *q, const wr_batch *keys, uint32_t from, uint32_t to) {
    q->from = from, q->to = to, q->used = true;
    s->n_used++;
    put_url(s, q, keys);
    if (s->post) put_body(s, q, keys);
    q->call.method = s->post ? "POST" : "GET", q->call.url = q->url.at, q->call.headers = s->target.headers, q->call.reply_max = s->max_reply;
    q->call.body = s->post ? wr_sbuf_str(&q->body) : (wr_str){NULL, 0};
    wr_http_begin(s->client, &q->call);
}

/* ---- answers ---- */

WR_COLD static wr_status fail(http_lookup *s, const slot *q, wr_err *err) {
    const wr_http_call *c = &q->call;
    char                words[256];
    http_show_reply(wr_sbuf_str(&c->reply), words, sizeof words);
    if (!c->status) wr_fail(err, WR_IO, "WR376", "table '%.*s': no answer from %s: %s", WR_FMT(s->table), s->target.shown, c->why);
    else wr_fail(err, WR_IO, "WR376", "table '%.*s': %s answers with HTTP %ld%s%s", WR_FMT(s->table), s->target.shown, c->status, *words ? ": " : "", words);
    if (c->tries > 1) wr_err_detail(err, "it was tried %u times ('retry.attempts')", c->tries);
    if (c->status == 401 || c->status == 403) wr_err_hint(err, "the server wants other credentials: 'token', or 'header.Authorization'");
    if (err) err->at = s->at;
    return WR_IO;
}

WR_COLD static wr_status fail_answer(http_lookup *s, wr_str shown, const char *what, const char *why, wr_err *err) {
    char text[256];
    http_show_reply(shown, text, sizeof text);
    wr_fail(err, WR_DATA, "WR378", "table '%.*s': an answer of %s is %s: %s", WR_FMT(s->table), s->target.shown, what, why);
    wr_err_detail(err, "the answer: %s", text);
    wr_err_hint(err, "'lookup.result-path' names the member that holds the rows; 'on-error' = 'skip' leaves out rows that cannot be read");
    if (err) err->at = s->at;
    return WR_DATA;
}

/* The key columns of a request's rows, where there is one key. */
static wr_batch *fill_keys(const http_lookup *s, const slot *q, const wr_batch *keys, wr_batch *rows) {
    wr_batch *b = wr_batch_derive(rows, rows->n_cols);
    for (uint32_t k = 0; k < s->n_keys; k++) {
        wr_vec *vec = &b->cols[s->keys[k]];
        wr_vec_init(vec, s->schema->fields[s->keys[k]].type, b->n_rows, false, b->mem);
        for (uint32_t i = 0; i < b->n_rows; i++) wr_vec_set(vec, i, &keys->cols[k], wr_batch_row(keys, q->from), b->mem);
    }
    wr_batch_unref(rows);
    return b;
}

static wr_status take_rows(http_lookup *s, const slot *q, const wr_batch *keys, wr_decoded *d, wr_lookup_rows *out, wr_err *err) {
    out->n_bad += d->bad.n;
    if (d->bad.n && !s->skip_bad) {
        char why[260];
        snprintf(why, sizeof why, "%s", d->bad.at[0].message);
        return fail_answer(s, d->bad.at[0].raw, wr_bad_kind_name(d->bad.at[0].kind), why, err);
    }
    for (uint32_t i = 0; i < d->batches.n; i++) wr_arr_push(&out->batches, keys && s->per_request == 1 ? fill_keys(s, q, keys, d->batches.at[i]) : d->batches.at[i]);
    d->batches.n = 0; /* taken */
    return WR_OK;
}

static wr_status read_answer(http_lookup *s, const slot *q, const wr_batch *keys, wr_lookup_rows *out, wr_err *err) {
    enum { PADDING = 64 };
    wr_str      reply = wr_sbuf_str(&q->call.reply);
    uint64_t    n = 0;
    const char *why;
    wr_sbuf_clear(&s->lines);
    if (s->csv) {
        wr_sbuf_add_str(&s->lines, reply);
        if (reply.len && reply.ptr[reply.len - 1] != '\n') wr_sbuf_addc(&s->lines, '\n');
    } else if (!json_lines(reply, s->path, &s->lines, &n, &why)) {
        return fail_answer(s, reply, "not JSON that rows can be read from", why, err);
    }
    if (!s->lines.len) return WR_OK;
    wr_mem    *mem = wr_mem_new(s->lines.len + PADDING);
    uint8_t   *data = wr_mem_alloc(mem, s->lines.len + PADDING);
    wr_decoded d = {0};
    memcpy(data, s->lines.at, s->lines.len);
    memset(data + s->lines.len, 0, PADDING);
    s->decoder->decode(s->decoder, mem, data, s->lines.len, true, &d);
    wr_status status = take_rows(s, q, keys, &d, out, err);
    wr_decoded_free(&d);
    wr_mem_unref(mem);
    return status;
}

static wr_status settle(http_lookup *s, slot *q, const wr_batch *keys, wr_lookup_rows *out, wr_err *err) {
    long status = q->call.status;
    q->used = false;
    s->n_used--;
    if (status == 404 || status == 204) return WR_OK;
    if (status < 200 || status >= 300) return fail(s, q, err);
    return read_answer(s, q, keys, out, err);
}

/* A question that failed leaves nothing under way. */
static wr_status give_up(http_lookup *s, wr_status status, wr_err *err) {
    wr_err own = {0};
    wr_http_client_free(s->client);
    s->client = NULL;
    for (uint32_t i = 0; i < HTTP_PARALLEL_MAX; i++) s->slots[i].used = false;
    s->n_used = 0;
    (void)wr_http_client_new(s->world, &s->target.policy, &s->client, err ? &own : NULL);
    return status;
}

static wr_status get(wr_lookup *lookup, const wr_batch *keys, wr_lookup_rows *out, wr_err *err) {
    http_lookup *s = (http_lookup *)lookup;
    uint32_t     n = keys ? wr_batch_live(keys) : 1, next = 0;
    if (!keys && s->n_parts > 1) return wr_fail(err, WR_UNSUPPORTED, "0A000", "table '%.*s' cannot be read as a whole: its 'url' asks for keys", WR_FMT(s->table));
    while (next < n || s->n_used) {
        for (uint32_t i = 0; i < s->target.parallel && next < n; i++) {
            if (s->slots[i].used) continue;
            uint32_t to = keys ? WR_MIN(n, next + s->per_request) : 1;
            start(s, &s->slots[i], keys, next, to);
            next = to;
        }
        wr_http_step(s->client, 1000000);
        for (uint32_t i = 0; i < s->target.parallel; i++) {
            if (!s->slots[i].used || !s->slots[i].call.done) continue;
            wr_status status = settle(s, &s->slots[i], keys, out, err);
            if (status != WR_OK) return give_up(s, status, err);
        }
    }
    return WR_OK;
}

static void close_lookup(wr_lookup *lookup) {
    http_lookup *s = (http_lookup *)lookup;
    wr_http_client_free(s->client);
    for (uint32_t i = 0; i < HTTP_PARALLEL_MAX; i++) wr_sbuf_free(&s->slots[i].url), wr_sbuf_free(&s->slots[i].body), wr_sbuf_free(&s->slots[i].call.reply);
    wr_sbuf_free(&s->lines);
    wr_sbuf_free(&s->value);
    if (s->decoder) s->decoder->free(s->decoder);
    wr_arena_free(s->arena);
    wr_free(s);
}
static const wr_lookup_vt lookup_vt = {"http", get, close_lookup};

/* ---- making one ---- */

static int key_named(const http_lookup *s, wr_str name) {
    for (uint32_t k = 0; k < s->n_keys; k++)
        if (wr_str_eq(s->schema->fields[s->keys[k]].name, name)) return (int)k;
    return -1;
}

/* The URL as text and keys in turn. */
static wr_status read_url(http_lookup *s, const wr_table_info *t, wr_connect_ctx *ctx) {
    wr_str rest = s->target.url;
    bool   has[KEYS_MAX] = {0};
    for (;;) {
        const char *open = memchr(rest.ptr, '{', rest.len), *close = open ? memchr(open, '}', (size_t)(rest.ptr + rest.len - open)) : NULL;
        if (s->n_parts == PARTS_MAX) return option_error(ctx, t, "url", "WR121", "'url' has more than %d columns in it", PARTS_MAX);
        if (!close) break;
        wr_str name = {open + 1, (size_t)(close - open - 1)};
        int    k = key_named(s, name);
        if (k < 0) {
            wr_status status = option_error(ctx, t, "url", "WR121", "'url' has {%.*s}, which is not one of the columns that the query asks by", WR_FMT(name));
            if (s->n_keys) wr_diags_hint(ctx->diags, "the join compares %.*s%s", WR_FMT(s->schema->fields[s->keys[0]].name), s->n_keys > 1 ? " and others" : "");
            return status;
        }
        has[k] = true;
        s->parts[s->n_parts++] = (part){{rest.ptr, (size_t)(open - rest.ptr)}, k};
        rest = (wr_str){close + 1, (size_t)(rest.ptr + rest.len - close - 1)};
    }
    s->parts[s->n_parts++] = (part){rest, -1};
    for (uint32_t k = 0; k < s->n_keys && !s->post; k++) {
        if (has[k] || s->n_parts == 1) continue;
        return option_error(ctx, t, "url", "WR121", "the query asks by the column '%.*s', and 'url' has no {%.*s}", WR_FMT(s->schema->fields[s->keys[k]].name), WR_FMT(s->schema->fields[s->keys[k]].name));
    }
    if (s->per_request > 1 && !s->post && s->n_parts > 2) return option_error(ctx, t, "lookup.keys-per-request", "WR121", "several keys in one GET need a 'url' with one {column}; with more columns use 'method' = 'POST'");
    return WR_OK;
}

static wr_status read_options(http_lookup *s, const wr_table_info *t, wr_connect_ctx *ctx) {
    wr_str  method = option_text(t, http_specs, "method"), policy = option_text(t, wr_source_specs, "on-error");
    int64_t per, reply;
    if (!wr_option_int(&t->options, http_specs, "lookup.keys-per-request", &per, ctx->diags) || !wr_option_size(&t->options, http_specs, "lookup.max-reply-bytes", &reply, ctx->diags)) return WR_USER;
    if (per < 1 || per > KEYS_PER_REQUEST_MAX) return option_error(ctx, t, "lookup.keys-per-request", "WR121", "'lookup.keys-per-request' is 1 to %d", KEYS_PER_REQUEST_MAX);
    s->per_request = (uint32_t)per, s->max_reply = (size_t)reply;
    s->post = wr_str_ieq(method, WR_STR("POST"));
    if (method.len && !s->post && !wr_str_ieq(method, WR_STR("GET"))) return option_error(ctx, t, "method", "WR121", "a look-up's 'method' is GET or POST");
    s->path = wr_str_dup(s->arena, option_text(t, http_specs, "lookup.result-path"));
    s->skip_bad = !wr_str_ieq(policy, WR_STR("fail")) || (!wr_options_find(&t->options, "on-error") && wr_options_skip_bad(&t->options));
    if (s->post && !s->target.has_content_type) s->target.headers[s->target.n_headers++] = "Content-Type: application/json";
    s->target.headers[s->target.n_headers] = NULL;
    return WR_OK;
}

static wr_status make_decoder(http_lookup *s, const wr_table_info *t, wr_connect_ctx *ctx) {
    int64_t          max_record = (int64_t)s->max_reply;
    const wr_format *format = table_format(t, ctx);
    if (!format) return WR_USER;
    s->csv = !strcmp(format->name, "csv");
    if (strcmp(format->name, "json") && !s->csv) return option_error(ctx, t, "format", "WR125", "answers of an HTTP server are read as json or csv, not '%s'", format->name);
    uint8_t *needed = wr_arena_calloc(s->arena, t->schema->n + 1);
    for (uint32_t c = 0; c < t->schema->n; c++) needed[c] = !t->needed || t->needed[c];
    for (uint32_t k = 0; k < s->n_keys && s->per_request == 1 && s->n_parts + s->post > 1; k++) needed[s->keys[k]] = 0;
    const wr_decoder_opts opts = {.schema = t->schema, .needed = needed, .options = t->options, .tz = ctx->tz, .batch_rows = WR_BATCH_MAX, .max_record_bytes = max_record};
    return format->decoder_new(&opts, &s->decoder, ctx->diags);
}

wr_status http_lookup_new(const wr_table_info *t, const uint32_t *keys, uint32_t n_keys, wr_connect_ctx *ctx, wr_lookup **out, wr_err *err) {
    *out = NULL;
    if (n_keys > KEYS_MAX) return wr_fail(err, WR_UNSUPPORTED, "0A000", "table '%.*s': a lookup by more than %d columns", WR_FMT(t->name), KEYS_MAX);
    http_lookup *s = wr_calloc(1, sizeof *s);
    *s = (http_lookup){.base = {&lookup_vt}, .arena = wr_arena_new(NULL), .table = t->name, .at = t->at, .schema = t->schema, .tz = ctx->tz, .world = ctx->world, .n_keys = n_keys};
    s->keys = wr_new_n(s->arena, uint32_t, n_keys + 1);
    for (uint32_t k = 0; k < n_keys; k++) s->keys[k] = keys[k];
    wr_status status = http_target_read(&s->target, t, ctx, s->arena, "lookup.parallel");
    if (status == WR_OK) status = read_options(s, t, ctx);
    if (status == WR_OK) status = read_url(s, t, ctx);
    if (status == WR_OK) status = make_decoder(s, t, ctx);
    if (status == WR_OK) status = wr_http_client_new(ctx->world, &s->target.policy, &s->client, err);
    if (status == WR_OK) {
        *out = &s->base;
        return WR_OK;
    }
    close_lookup(&s->base);
    return status;
}
