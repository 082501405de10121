/* serve/views.c: GET /api/views and /api/views/NAME: which materialized views there are, and their rows: by key, in ranges, in pages.
 *
 * Keys       come as text and are read by the CSV decoder, so all types have the text that they have in a file; several columns as a JSON array of them or with commas.
 * Pages      a page that is not the last one names the place behind it; that names run and version too. Versions that somebody pages through are held for a
 *            minute, the longest unused ones go when there are many; what has gone is answered with 410.
 * Thread     any.                                                                                                           */
#include "serve/views.h"
#include "connect/connect.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { PAGE_ROWS = 100, PAGE_ROWS_MOST = 10000, VALUE_MAX = 4096, VIEWS_MOST = 1000, KEY_COLUMNS_MOST = 32, CURSOR_HEAD = 16 };

serve_views *serve_views_new(wr_world *world) {
    serve_views *v = wr_calloc(1, sizeof *v);
    *v = (serve_views){.world = world, .lock = wr_mutex_new()};
    return v;
}

void serve_views_free(serve_views *v) {
    if (!v) return;
    wr_assert(!v->n_streams);
    for (uint32_t i = 0; i < VIEW_PAGES; i++) wr_view_unpin(v->pages[i].cut);
    wr_mutex_free(v->lock);
    wr_free(v);
}

void serve_views_tick(serve_views *v, int64_t now_us) {
    wr_view_cut *gone[VIEW_PAGES];
    uint32_t     n = 0;
    wr_mutex_lock(v->lock);
    for (uint32_t i = 0; i < VIEW_PAGES; i++)
        if (v->pages[i].cut && now_us - v->pages[i].used_us > VIEW_PAGE_US) gone[n++] = v->pages[i].cut, v->pages[i].cut = NULL;
    wr_mutex_unlock(v->lock);
    while (n) wr_view_unpin(gone[--n]);
    serve_streams_beat(v, now_us);
}

/* ---- pieces of answers ---- */
static void put_time(int64_t us, wr_sbuf *out) {
    char   text[40];
    size_t n = wr_text_timestamp(us, wr_type_prec(WR_T_TIMESTAMP, 3), 'T', text);
    wr_sbuf_printf(out, "\"%.*sZ\"", (int)n, text);
}

void serve_view_as_of_json(const wr_view_as_of *a, int64_t now_us, wr_sbuf *out) {
    wr_sbuf_printf(out, "{\"run\":%" PRIu64 ",\"version\":%" PRIu64 ",\"watermark\":", a->run, a->version);
    if (a->watermark_us == WR_TIME_MIN || a->watermark_us == WR_TIME_MAX) wr_sbuf_addz(out, "null");
    else put_time(a->watermark_us, out);
    wr_sbuf_printf(out, ",\"complete\":%s,\"published\":", a->watermark_us == WR_TIME_MAX ? "true" : "false");
    if (a->version) put_time(a->published_us, out);
    else wr_sbuf_addz(out, "null");
    wr_sbuf_printf(out, ",\"age_ms\":%" PRId64 ",\"rows\":%" PRIu64 "}", a->version ? WR_MAX((now_us - a->published_us) / 1000, (int64_t)0) : 0, a->rows);
}

void serve_view_id(const wr_view_as_of *a, wr_sbuf *out) { wr_sbuf_printf(out, "%" PRIu64 "-%" PRIu64, a->run, a->version); }
bool serve_view_id_parse(const char *text, uint64_t *run, uint64_t *version) {
    char *end;
    *run = strtoull(text, &end, 10);
    if (end == text || *end != '-') return false;
    text = end + 1;
    *version = strtoull(text, &end, 10);
    return end != text && !*end;
}

wr_encoder *serve_view_encoder(const wr_view *view, wr_world *world) {
    wr_encoder_opts o = {.schema = wr_view_schema(view), .tz = wr_view_tz(view), .world = world};
    wr_diags        diags = {0};
    wr_encoder     *e = NULL;
    (void)!wr_format_find(WR_STR("json"))->encoder_new(&o, &e, &diags);
    wr_diags_free(&diags);
    return e;
}

void serve_view_rows_json(wr_encoder *encoder, const wr_batch *rows, uint32_t from, uint32_t to, wr_sbuf *scratch, wr_sbuf *out) {
    for (uint32_t i = from; i < to; i++) {
        wr_sbuf_clear(scratch);
        encoder->encode(encoder, rows, i, i + 1, scratch);
        if (i > from) wr_sbuf_addc(out, ',');
        wr_sbuf_add(out, scratch->at, scratch->len && scratch->at[scratch->len - 1] == '\n' ? scratch->len - 1 : scratch->len);
    }
}

void serve_view_fail(wr_http_out *out, const wr_err *err) {
    wr_http_out_error(out, !strcmp(err->code, WR_VIEW_GONE) ? 410 : err->status == WR_USER ? 400 : 500, "%s: %s", err->code, err->message);
}

static void put_columns(const wr_view *v, const uint32_t *cols, uint32_t n, wr_sbuf *out) {
    wr_sbuf_addc(out, '[');
    for (uint32_t i = 0; i < n; i++) {
        if (i) wr_sbuf_addc(out, ',');
        wr_sbuf_add_json(out, wr_view_schema(v)->fields[cols[i]].name);
    }
    wr_sbuf_addc(out, ']');
}

static void put_view(const wr_view *v, int64_t now_us, wr_sbuf *out) {
    wr_view_info     info;
    const wr_schema *s = wr_view_schema(v);
    uint32_t         n;
    wr_view_info_get(v, &info);
    wr_sbuf_addz(out, "{\"name\":"), wr_sbuf_add_json(out, wr_view_name(v));
    wr_sbuf_addz(out, ",\"columns\":[");
    for (uint32_t i = 0; i < s->n; i++) {
        wr_sbuf type = {0};
        wr_type_text(wr_type_with_null(s->fields[i].type, true), &type);
        wr_sbuf_addz(out, i ? ",{\"name\":" : "{\"name\":"), wr_sbuf_add_json(out, s->fields[i].name);
        wr_sbuf_addz(out, ",\"type\":"), wr_sbuf_add_json(out, wr_sbuf_str(&type));
        wr_sbuf_printf(out, ",\"nullable\":%s}", s->fields[i].type.nullable ? "true" : "false");
        wr_sbuf_free(&type);
    }
    const uint32_t *key = wr_view_key(v, &n);
    wr_sbuf_addz(out, "],\"key\":"), put_columns(v, key, n, out);
    key = wr_view_order(v, &n);
    wr_sbuf_addz(out, ",\"order\":"), put_columns(v, key, n, out);
    wr_sbuf_addz(out, ",\"query\":"), wr_sbuf_add_json(out, wr_view_query(v));
    wr_sbuf_printf(out, ",\"rows\":%" PRIu64 ",\"bytes\":%" PRId64 ",\"old_bytes\":%" PRId64 ",\"pins\":%u,\"ended\":%s,\"as_of\":", info.as_of.rows, info.bytes, info.old_bytes, info.pins, info.ended ? "true" : "false");
    serve_view_as_of_json(&info.as_of, now_us, out);
    wr_sbuf_addc(out, '}');
}

void serve_views_list(const serve_ask *ask, wr_http_out *out) {
    wr_view **all = wr_calloc(VIEWS_MOST, sizeof *all);
    uint32_t  n = wr_views_list(all, VIEWS_MOST);
    n = WR_MIN(n, (uint32_t)VIEWS_MOST);
    wr_sbuf_addz(&out->body, "{\"views\":[");
    for (uint32_t i = 0; i < n; i++) {
        if (i) wr_sbuf_addc(&out->body, ',');
        put_view(all[i], wr_wall_us(ask->serve->opts.world), &out->body);
        wr_view_unref(all[i]);
    }
    wr_sbuf_addz(&out->body, "]}\n");
    wr_free(all);
}

/* ---- keys ---- */
/* The values of a list, as CSV fields in quotes. False: more than there are columns, or not a list. */
static bool list_fields(const char *text, uint32_t n_columns, uint32_t *n, wr_sbuf *out) {
    bool array = *text == '[', quoted = false;
    *n = 0;
    if (array) text++;
    wr_sbuf_addc(out, '"');
    for (;; text++) {
        bool end = !*text || (array && !quoted && *text == ']');
        if (end || (*text == ',' && !quoted && (array || n_columns > 1))) {
            wr_sbuf_addc(out, '"');
            if (++*n > n_columns) return false;
            if (end) return array ? *text && !text[1] : true;
            wr_sbuf_addz(out, ",\"");
        } else if (array && *text == '"') {
            quoted = !quoted;
        } else if (array && quoted && *text == '\\' && text[1]) {
            wr_sbuf_addc(out, *++text);
            if (*text == '"') wr_sbuf_addc(out, '"');
        } else if (!array || quoted || *text != ' ') {
            wr_sbuf_addc(out, *text);
            if (*text == '"') wr_sbuf_addc(out, '"');
        }
    }
}

/* n fields of CSV as the beginning of a key. */
static wr_status key_of_fields(const serve_ask *ask, const wr_view *v, uint32_t n, wr_str fields, wr_sbuf *key, wr_err *err) {
    uint32_t        n_order;
    const uint32_t *order = wr_view_order(v, &n_order);
    wr_field        columns[KEY_COLUMNS_MOST];
    uint8_t         needed[KEY_COLUMNS_MOST];
    wr_diags        diags = {0};
    wr_decoder     *d = NULL;
    for (uint32_t i = 0; i < n; i++) columns[i] = wr_view_schema(v)->fields[order[i]], columns[i].type.nullable = true, needed[i] = 1;
    wr_schema       schema = {n, columns};
    wr_decoder_opts o = {.schema = &schema, .needed = needed, .tz = wr_view_tz(v), .world = ask->serve->opts.world, .batch_rows = 1, .max_record_bytes = 1 << 20};
    wr_status       status = wr_format_find(WR_STR("csv"))->decoder_new(&o, &d, &diags);
    wr_decoded      rows = {0};
    if (status == WR_OK) {
        wr_mem  *mem = wr_mem_new(fields.len + 256);
        uint8_t *data = wr_mem_calloc(mem, fields.len + 65);
        memcpy(data, fields.ptr, fields.len);
        data[fields.len] = '\n';
        d->decode(d, mem, data, fields.len + 1, true, &rows);
        wr_mem_unref(mem);
        d->free(d);
    }
    if (rows.batches.n == 1 && rows.batches.at[0]->n_rows == 1) {
        wr_value  value[KEY_COLUMNS_MOST];
        wr_arena *arena = wr_arena_new(NULL);
        for (uint32_t k = 0; k < n; k++) value[k] = wr_value_from_vec(arena, &rows.batches.at[0]->cols[k], 0);
        status = wr_view_key_put(v, value, n, key, err);
        wr_arena_free(arena);
    } else {
        status = wr_fail(err, WR_USER, "WR402", "the key cannot be read: %s", rows.bad.n ? rows.bad.at[0].message : "a value is missing");
    }
    wr_diags_free(&diags);
    wr_decoded_free(&rows);
    return status;
}

/* The parameter as a key or the beginning of one; ptr NULL: it is not there. */
static wr_status key_param(const serve_ask *ask, const wr_view *v, const char *name, wr_sbuf *key, wr_str *out, uint32_t *n, wr_err *err) {
    char     text[VALUE_MAX];
    uint32_t n_order;
    *out = (wr_str){NULL, 0};
    *n = 0;
    if (!serve_param(ask, name, text, sizeof text)) return WR_OK;
    (void)wr_view_order(v, &n_order);
    wr_sbuf   fields = {0};
    wr_status status = list_fields(text, WR_MIN(n_order, (uint32_t)KEY_COLUMNS_MOST), n, &fields) ? WR_OK : wr_fail(err, WR_USER, "WR402", "'%s' is a list of at most %u values: a,b or [\"a\", 2]", name, n_order);
    if (status == WR_OK) status = key_of_fields(ask, v, *n, wr_sbuf_str(&fields), key, err);
    if (status == WR_OK) *out = wr_sbuf_str(key);
    wr_sbuf_free(&fields);
    return status;
}

/* ?user=7&day=...: the first columns of the key. */
static wr_status column_params(const serve_ask *ask, const wr_view *v, wr_sbuf *key, wr_str *out, uint32_t *n, wr_err *err) {
    char             name[256], text[VALUE_MAX];
    uint32_t         n_order, given = 0;
    const uint32_t  *order = wr_view_order(v, &n_order);
    const wr_schema *s = wr_view_schema(v);
    wr_sbuf          fields = {0};
    *n = 0;
    *out = (wr_str){NULL, 0};
    for (uint32_t i = 0; i < s->n; i++) {
        snprintf(name, sizeof name, "%.*s", WR_FMT(s->fields[i].name));
        given += serve_param(ask, name, text, sizeof text) != NULL;
    }
    for (; *n < WR_MIN(n_order, (uint32_t)KEY_COLUMNS_MOST); ++*n) {
        snprintf(name, sizeof name, "%.*s", WR_FMT(s->fields[order[*n]].name));
        if (!serve_param(ask, name, text, sizeof text)) break;
        wr_sbuf_addz(&fields, *n ? ",\"" : "\"");
        for (const char *c = text; *c; c++) wr_sbuf_add(&fields, *c == '"' ? "\"\"" : c, *c == '"' ? 2 : 1);
        wr_sbuf_addc(&fields, '"');
    }
    wr_status status = WR_OK;
    if (given > *n) {
        wr_sbuf columns = {0};
        put_columns(v, order, n_order, &columns);
        status = wr_fail(err, WR_USER, "WR402", "rows are found by the first columns of %.*s, in this order", WR_FMT(wr_sbuf_str(&columns)));
        wr_sbuf_free(&columns);
    } else if (*n) {
        status = key_of_fields(ask, v, *n, wr_sbuf_str(&fields), key, err);
        *out = wr_sbuf_str(key);
    }
    wr_sbuf_free(&fields);
    return status;
}

/* ---- places of pages ---- */
static void put_cursor(const wr_view_as_of *a, wr_str place, wr_sbuf *out) {
    wr_sbuf raw = {0};
    wr_put_u64(&raw, a->run), wr_put_u64(&raw, a->version);
    wr_sbuf_add_str(&raw, place);
    wr_sbuf_addc(out, '"');
    for (size_t i = 0; i < raw.len; i++) wr_sbuf_printf(out, "%02x", (unsigned char)raw.at[i]);
    wr_sbuf_addc(out, '"');
    wr_sbuf_free(&raw);
}

static int nibble(char c) { return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1; }

static bool read_cursor(const char *text, uint64_t *run, uint64_t *version, wr_sbuf *raw) {
    for (; *text; text += 2) {
        int high = nibble(text[0]), low = high < 0 ? -1 : nibble(text[1]);
        if (low < 0) return false;
        wr_sbuf_addc(raw, (char)(high * 16 + low));
    }
    wr_reader in = {(const uint8_t *)raw->at, (const uint8_t *)raw->at + raw->len, false};
    *run = wr_get_u64(&in), *version = wr_get_u64(&in);
    return !in.bad;
}

/* The version stays for the next page. (takes) cut. */
static void hold_page(serve_views *v, wr_view_cut *cut) {
    int64_t      now = wr_mono_us(v->world);
    uint32_t     at = 0;
    const wr_view_as_of *a = wr_view_cut_as_of(cut);
    wr_mutex_lock(v->lock);
    for (uint32_t i = 0; i < VIEW_PAGES; i++) {
        const wr_view_as_of *b = v->pages[i].cut ? wr_view_cut_as_of(v->pages[i].cut) : NULL;
        if (b && wr_view_cut_view(v->pages[i].cut) == wr_view_cut_view(cut) && b->run == a->run && b->version == a->version) {
            at = i;
            break;
        }
        if (!b ? v->pages[at].cut != NULL : v->pages[at].cut && v->pages[i].used_us < v->pages[at].used_us) at = i;
    }
    wr_view_cut *out = v->pages[at].cut;
    v->pages[at] = (view_page){cut, now};
    wr_mutex_unlock(v->lock);
    wr_view_unpin(out);
}

/* ---- rows ---- */
static wr_status read_range(const serve_ask *ask, const wr_view *v, wr_sbuf bufs[4], wr_view_range *range, wr_err *err) {
    wr_str   below, above, equal;
    uint32_t n;
    WR_TRY(column_params(ask, v, &bufs[0], &equal, &n, err));
    if (!n) WR_TRY(key_param(ask, v, "key", &bufs[0], &equal, &n, err));
    if (equal.ptr) {
        *range = (wr_view_range){.from = equal, .to = equal, .to_inclusive = true};
        return WR_OK;
    }
    WR_TRY(key_param(ask, v, "from", &bufs[0], &range->from, &n, err));
    WR_TRY(key_param(ask, v, "above", &bufs[1], &above, &n, err));
    WR_TRY(key_param(ask, v, "to", &bufs[2], &range->to, &n, err));
    WR_TRY(key_param(ask, v, "below", &bufs[3], &below, &n, err));
    range->to_inclusive = range->to.ptr != NULL;
    if (above.ptr) range->from = above, range->from_exclusive = true;
    if (below.ptr) range->to = below, range->to_inclusive = false;
    return WR_OK;
}

static wr_status put_rows(const serve_ask *ask, wr_view_cut *cut, const wr_view_range *range, uint32_t limit, bool *more, wr_http_out *out, wr_err *err) {
    wr_view      *v = wr_view_cut_view(cut);
    wr_encoder   *encoder = serve_view_encoder(v, ask->serve->opts.world);
    wr_view_scan *scan = wr_view_scan_new(cut, range);
    wr_sbuf       scratch = {0};
    wr_status     status = WR_OK;
    uint32_t      n = 0;
    wr_batch     *rows = NULL;
    wr_sbuf_addz(&out->body, ",\"rows\":[");
    while (n < limit && (status = wr_view_scan_next(scan, limit - n, &rows, err)) == WR_OK && rows) {
        if (n) wr_sbuf_addc(&out->body, ',');
        serve_view_rows_json(encoder, rows, 0, rows->n_rows, &scratch, &out->body);
        n += rows->n_rows;
        wr_batch_unref(rows);
    }
    wr_sbuf_addz(&out->body, "],\"next\":");
    *more = false;
    if (status == WR_OK && n == limit) {
        wr_sbuf place = {0};
        wr_view_scan_at(scan, &place);
        status = wr_view_scan_next(scan, 1, &rows, err);
        *more = status == WR_OK && rows;
        wr_batch_unref(rows);
        if (*more) put_cursor(wr_view_cut_as_of(cut), wr_sbuf_str(&place), &out->body);
        wr_sbuf_free(&place);
    }
    if (!*more) wr_sbuf_addz(&out->body, "null");
    wr_view_scan_free(scan);
    wr_sbuf_free(&scratch);
    if (encoder) encoder->free(encoder);
    return status;
}

static wr_status page(const serve_ask *ask, wr_view *v, wr_http_out *out, wr_err *err) {
    char          text[VALUE_MAX], *end;
    wr_view_range range = {0};
    wr_sbuf       bufs[4] = {0}, raw = {0};
    uint64_t      run, version;
    unsigned long limit = serve_param(ask, "limit", text, sizeof text) ? strtoul(text, &end, 10) : (end = (char *)(uintptr_t)"", (unsigned long)PAGE_ROWS);
    wr_view_cut  *cut = NULL;
    bool          more = false;
    wr_status     status = WR_OK;
    if (*end || !limit) status = wr_fail(err, WR_USER, "WR402", "'limit' is a number from 1 to %d", PAGE_ROWS_MOST);
    if (status == WR_OK) status = read_range(ask, v, bufs, &range, err);
    if (status == WR_OK && serve_param(ask, "after", text, sizeof text)) {
        if (!read_cursor(text, &run, &version, &raw)) status = wr_fail(err, WR_USER, "WR402", "'after' is the 'next' of an answer");
        else if (!(cut = wr_view_pin_at(v, run, version, err))) status = err->status;
        else range.after = (wr_str){raw.at + CURSOR_HEAD, raw.len - WR_MIN(raw.len, (size_t)CURSOR_HEAD)};
    } else if (status == WR_OK) {
        cut = wr_view_pin(v);
    }
    if (status == WR_OK) {
        wr_sbuf_addz(&out->body, "{\"view\":"), wr_sbuf_add_json(&out->body, wr_view_name(v));
        wr_sbuf_addz(&out->body, ",\"as_of\":"), serve_view_as_of_json(wr_view_cut_as_of(cut), wr_wall_us(ask->serve->opts.world), &out->body);
        status = put_rows(ask, cut, &range, (uint32_t)WR_MIN(limit, (unsigned long)PAGE_ROWS_MOST), &more, out, err);
        wr_sbuf_addz(&out->body, "}\n");
    }
    if (more) hold_page(ask->serve->views, cut);
    else wr_view_unpin(cut);
    for (int i = 0; i < 4; i++) wr_sbuf_free(&bufs[i]);
    wr_sbuf_free(&raw);
    return status;
}

void serve_view(const serve_ask *ask, wr_http_out *out) {
    wr_str      name = wr_str_of(ask->path + strlen("/api/views/"));
    static const wr_str tail = {"/changes", 8};
    bool        changes = name.len > tail.len && !memcmp(name.ptr + name.len - tail.len, tail.ptr, tail.len);
    if (changes) name.len -= tail.len;
    wr_view *v = wr_view_find(name);
    wr_err   err = {0};
    if (!v && !serve_runs(ask->serve)) wr_http_out_error(out, 503, "the job is starting; ask again"), wr_http_out_header(out, "Retry-After", "1");
    else if (!v) wr_http_out_error(out, 404, "there is no materialized view '%.*s'; GET /api/views says which there are", WR_FMT(name));
    else if (changes && !ask->http) wr_http_out_error(out, 400, "changes come over HTTP only: --ui HOST:PORT");
    else if (changes) serve_view_changes(ask, v, out);
    else if (page(ask, v, out, &err) != WR_OK) serve_view_fail(out, &err);
    wr_view_unref(v);
}
