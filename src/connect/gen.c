/* connect/gen.c: the event generators (nexmark, ridelo) as sources, without files.
 *
 * Idea       next hands out ranges of event numbers; decode makes their JSON lines and gives them to the json decoder: so a table over the
 *            generator and one over its files see the same bytes, broken lines included. Nexmark's events have none: where the columns are of the types
 *            that the events have (BIGINT, STRING, TIMESTAMP), their values go straight into them, and what no column wants is not made.
 * State      the next number. Memory: ridelo holds its whole story (about 60 bytes a line), once a table.
 * Thread     generators never change once made; a worker has its own decoder and buffer.                                 */
#include "connect/parts.h"
#include "connect/nexmark/nexmark.h"
#include "connect/ridelo/ridelo.h"

enum { EVENTS_PER_CHUNK = 4096 };

/* ---- fields of Nexmark's events ---- */
typedef enum nexmark_how { AS_LONG, AS_PRICE, AS_TEXT, AS_TIME } nexmark_how;
typedef struct nexmark_field { const char *name; nexmark_how how; uint32_t at; } nexmark_field; /* at: in wr_nexmark_event */
#define FIELD(stream, member, name, how) {name, how, offsetof(wr_nexmark_event, stream.member)}
#define DATE_TIME {"dateTime", AS_TIME, offsetof(wr_nexmark_event, date_time_ms)}
static const nexmark_field nexmark_fields[WR_NEXMARK_STREAMS][11] = {
    [WR_NEXMARK_PERSON] = {FIELD(person, id, "id", AS_LONG), FIELD(person, name, "name", AS_TEXT), FIELD(person, email_address, "emailAddress", AS_TEXT),
                           FIELD(person, credit_card, "creditCard", AS_TEXT), FIELD(person, city, "city", AS_TEXT), FIELD(person, state, "state", AS_TEXT), DATE_TIME,
                           FIELD(person, extra, "extra", AS_TEXT)},
    [WR_NEXMARK_AUCTION] = {FIELD(auction, id, "id", AS_LONG), FIELD(auction, item_name, "itemName", AS_TEXT), FIELD(auction, description, "description", AS_TEXT),
                            FIELD(auction, initial_bid, "initialBid", AS_PRICE), FIELD(auction, reserve, "reserve", AS_PRICE), DATE_TIME,
                            FIELD(auction, expires_ms, "expires", AS_TIME), FIELD(auction, seller, "seller", AS_LONG), FIELD(auction, category, "category", AS_LONG),
                            FIELD(auction, extra, "extra", AS_TEXT)},
    [WR_NEXMARK_BID] = {FIELD(bid, auction, "auction", AS_LONG), FIELD(bid, bidder, "bidder", AS_LONG), FIELD(bid, price, "price", AS_PRICE), FIELD(bid, channel, "channel", AS_TEXT),
                        FIELD(bid, url, "url", AS_TEXT), DATE_TIME, FIELD(bid, extra, "extra", AS_TEXT)},
};
typedef struct direct { uint32_t col, at; nexmark_how how; } direct; /* a column that is wanted */

typedef struct gen_source {
    wr_source    base;
    wr_world    *world;
    wr_nexmark  *nexmark; /* one of the two */
    wr_ridelo   *ridelo;
    int          stream;
    uint64_t     next, n, limit; /* event numbers: of all streams (nexmark), of this one (ridelo); limit: see until */
    int64_t      rate, start_us;
    uint64_t     paced_from;
    uint32_t     n_workers;
    wr_decoder **decoders;
    wr_sbuf     *text;    /* one a worker */
    const wr_schema *schema;
    const uint8_t   *needed;
    uint32_t     batch_rows, n_direct;
    bool         is_direct, prices; /* nexmark: its values go straight into the columns; some column wants a price */
    direct      *direct;  /* in the job's arena */
} gen_source;

static wr_status gen_next(wr_source *base, const uint64_t *held, wr_chunk *out, wr_next *state, int64_t *retry_us, wr_err *err) {
    (void)err;
    gen_source *s = (gen_source *)base;
    *out = (wr_chunk){.first = s->next == 0, .offset = s->next};
    if (s->next >= s->n && s->limit == UINT64_MAX) return *state = WR_NEXT_END, WR_OK;
    uint64_t n = WR_MIN(WR_MIN(s->n, s->limit) - s->next, (uint64_t)EVENTS_PER_CHUNK);
    if (s->rate > 0) {
        int64_t now = wr_mono_us(s->world);
        if (s->start_us < 0) s->start_us = now, s->paced_from = s->next;
        uint64_t due = s->paced_from + (uint64_t)((wr_u128)(uint64_t)(now - s->start_us) * (uint64_t)s->rate / 1000000) + 1;
        n = WR_MIN(n, due > s->next ? due - s->next : 0);
    }
    if (!n || (held && (held[0] & 1))) {
        *retry_us = s->rate > 0 ? WR_MAX(1000000 / s->rate, 1000) : 1000;
        return *state = WR_NEXT_WAIT, WR_OK;
    }
    out->rows_from = s->next;
    out->rows_to = s->next += n;
    out->last = s->next == s->n;
    return *state = WR_NEXT_CHUNK, WR_OK;
}

static void put_direct(const gen_source *s, const wr_nexmark_event *event, wr_batch *batch, uint32_t row) {
    for (uint32_t i = 0; i < s->n_direct; i++) {
        const direct *d = &s->direct[i];
        const void   *from = (const char *)event + d->at;
        void         *to = batch->cols[d->col].data;
        switch (d->how) {
        case AS_LONG: case AS_PRICE: ((int64_t *)to)[row] = *(const int64_t *)from; break;
        case AS_TIME: ((int64_t *)to)[row] = *(const int64_t *)from * 1000; break;
        case AS_TEXT: {
            const wr_str *text = from;
            ((wr_sview *)to)[row] = wr_sview_copy(batch->mem, text->ptr, text->len);
        }
        }
    }
}
static void decode_direct(const gen_source *s, const wr_chunk *chunk, wr_decoded *out) {
    wr_batch        *batch = NULL;
    wr_nexmark_event event;
    uint32_t         n = 0;
    for (uint64_t i = chunk->rows_from; i < chunk->rows_to; i++) {
        if (wr_nexmark_kind_of(s->nexmark, i) != (wr_nexmark_kind)s->stream) continue;
        if (!batch) batch = wr_rows_open(s->schema, s->needed, (uint32_t)WR_MIN(chunk->rows_to - i, (uint64_t)s->batch_rows), false), n = 0;
        wr_nexmark_make(s->nexmark, i, s->prices, &event);
        put_direct(s, &event, batch, n++);
        out->n_rows++, out->n_records++, out->n_lines++;
        if (n < s->batch_rows) continue;
        wr_rows_close(batch, n);
        wr_decoded_push(out, batch);
        batch = NULL;
    }
    if (!batch) return;
    wr_rows_close(batch, n);
    wr_decoded_push(out, batch);
}

static wr_status gen_decode(wr_source *base, uint32_t worker, const wr_chunk *chunk, wr_decoded *out, wr_err *err) {
    (void)err;
    gen_source *s = (gen_source *)base;
    wr_assert(worker < s->n_workers);
    if (s->is_direct && !out->want_lines) return decode_direct(s, chunk, out), WR_OK;
    wr_sbuf *text = &s->text[worker];
    wr_sbuf_clear(text);
    for (uint64_t i = chunk->rows_from; i < chunk->rows_to; i++) {
        if (s->nexmark) {
            if (wr_nexmark_kind_of(s->nexmark, i) != (wr_nexmark_kind)s->stream) continue;
            wr_nexmark_event event;
            wr_nexmark_event_at(s->nexmark, i, &event);
            wr_nexmark_json(&event, text);
        } else {
            wr_ridelo_event event;
            wr_ridelo_event_at(s->ridelo, (wr_ridelo_stream)s->stream, i, &event);
            wr_ridelo_json(&event, text);
        }
    }
    if (!text->len) return WR_OK;
    wr_mem  *mem = wr_mem_new(text->len + 512);
    uint8_t *data = wr_mem_alloc(mem, text->len + 64);
    memcpy(data, text->at, text->len);
    memset(data + text->len, 0, 64);
    uint32_t first_bad = out->bad.n;
    s->decoders[worker]->decode(s->decoders[worker], mem, data, text->len, chunk->first, out);
    for (uint32_t i = first_bad; i < out->bad.n; i++) { /* the bytes must outlive mem: they live as long as the next call's text does not come */
        wr_bad_record *bad = &out->bad.at[i];
        bad->raw.ptr = text->at + (bad->raw.ptr - (const char *)data);
    }
    wr_mem_unref(mem);
    return WR_OK;
}

static uint32_t gen_partitions(wr_source *s) { return (void)s, 1; }
static bool     gen_done(wr_source *base, uint32_t i) { return (void)i, ((gen_source *)base)->next >= ((gen_source *)base)->n; }
static bool     gen_bounded(wr_source *s) { return (void)s, true; }
static const char *stream_name(const gen_source *s) {
    static const char *const nexmark[] = {"person", "auction", "bid"};
    return s->nexmark ? nexmark[s->stream] : wr_ridelo_stream_name((wr_ridelo_stream)s->stream);
}
static void gen_name(wr_source *base, uint32_t i, wr_sbuf *out) {
    const gen_source *s = (const gen_source *)base;
    (void)i;
    wr_sbuf_printf(out, "%s:%s", s->nexmark ? "nexmark" : "ridelo", stream_name(s));
}
static void gen_save(wr_source *base, wr_sbuf *out) { wr_put_u64(out, ((gen_source *)base)->next); }
static wr_status gen_load(wr_source *base, wr_reader *in, wr_err *err) {
    gen_source *s = (gen_source *)base;
    s->next = wr_get_u64(in);
    s->start_us = -1;
    return in->bad ? wr_fail(err, WR_CORRUPT, "XX001", "the saved position of a generator is damaged") : WR_OK;
}
static wr_status gen_until(wr_source *base, wr_reader *positions, wr_err *err) {
    ((gen_source *)base)->limit = wr_get_u64(positions);
    return positions->bad ? wr_fail(err, WR_CORRUPT, "XX001", "the saved position of a generator is damaged") : WR_OK;
}
static bool gen_at_limit(wr_source *base) { return ((gen_source *)base)->next >= ((gen_source *)base)->limit; }
static void gen_describe(wr_source *base, wr_sbuf *out) {
    const gen_source *s = (const gen_source *)base;
    wr_sbuf_printf(out, "%llu %s, the '%s' of %s, from number %llu", (unsigned long long)s->n, s->nexmark ? "events of all streams" : "events", stream_name(s),
                   s->nexmark ? "nexmark" : "ridelo", (unsigned long long)s->next);
}
static void gen_progress(wr_source *base, uint64_t *done, uint64_t *total) {
    *done = ((gen_source *)base)->next;
    *total = ((gen_source *)base)->n;
}
static void gen_close(wr_source *base) {
    gen_source *s = (gen_source *)base;
    wr_nexmark_free(s->nexmark);
    wr_ridelo_free(s->ridelo);
    for (uint32_t i = 0; i < s->n_workers; i++) {
        if (s->decoders[i]) s->decoders[i]->free(s->decoders[i]);
        wr_sbuf_free(&s->text[i]);
    }
    wr_free(s->decoders);
    wr_free(s->text);
    wr_free(s);
}

static const wr_source_vt vt = {
    .name = "generator", .next = gen_next, .decode = gen_decode, .partitions = gen_partitions, .partition_name = gen_name, .partition_done = gen_done, .save = gen_save, .load = gen_load,
    .until = gen_until, .at_limit = gen_at_limit, .describe = gen_describe, .progress = gen_progress, .bounded = gen_bounded, .close = gen_close};

static wr_status gen_new(const wr_table_info *t, wr_connect_ctx *ctx, const wr_option_spec *specs, gen_source **out) {
    gen_source *s = wr_calloc(1, sizeof *s);
    *s = (gen_source){.base = {&vt}, .world = ctx->world, .start_us = -1, .limit = UINT64_MAX, .n_workers = WR_MAX(ctx->n_workers, 1u)};
    s->decoders = wr_calloc(s->n_workers, sizeof *s->decoders);
    s->text = wr_calloc(s->n_workers, sizeof *s->text);
    s->schema = t->schema, s->needed = t->needed;
    s->batch_rows = ctx->batch_rows ? WR_MIN(ctx->batch_rows, (uint32_t)WR_BATCH_MAX) : WR_BATCH_MAX;
    wr_status status = wr_option_int(&t->options, specs, "rows-per-second", &s->rate, ctx->diags) ? WR_OK : WR_USER;
    if (t->schema->n > t->n_physical) status = option_error(ctx, t, "connector", "WR126", "generators have no metadata columns");
    wr_decoder_opts opts = {.schema = t->schema, .needed = t->needed, .tz = ctx->tz, .world = ctx->world, .batch_rows = ctx->batch_rows, .max_record_bytes = 1 << 20};
    for (uint32_t i = 0; i < s->n_workers && status == WR_OK; i++) status = wr_format_find(WR_STR("json"))->decoder_new(&opts, &s->decoders[i], ctx->diags);
    if (status != WR_OK) gen_close(&s->base);
    *out = status == WR_OK ? s : NULL;
    return status;
}

/* Columns that events have as they are; any other one is read from the JSON. */
static void find_direct(gen_source *s, const wr_table_info *t, wr_arena *arena) {
    const nexmark_field *fields = nexmark_fields[s->stream];
    s->direct = wr_new_n(arena, direct, t->schema->n + 1);
    for (uint32_t c = 0; c < t->schema->n; c++) {
        if (t->needed && !t->needed[c]) continue;
        const wr_field      *column = &t->schema->fields[c];
        const nexmark_field *f = fields;
        while (f->name && !wr_str_eq(column->name, wr_str_of(f->name))) f++;
        bool time = column->type.id == WR_T_TIMESTAMP && column->type.prec >= 3 && column->type.prec <= 6;
        bool fits = f->how == AS_TEXT ? column->type.id == WR_T_VARCHAR : f->how == AS_TIME ? time : column->type.id == WR_T_BIGINT;
        if (!f->name || !fits) return;
        s->prices |= f->how == AS_PRICE;
        s->direct[s->n_direct++] = (direct){c, f->at, f->how};
    }
    s->is_direct = true;
}

static wr_status give(gen_source *s, wr_status status, const wr_table_info *t, wr_connect_ctx *ctx, const wr_err *why, wr_source **out) {
    if (status == WR_OK) return *out = &s->base, WR_OK;
    option_error(ctx, t, "connector", "WR121", "%s", why->message);
    gen_close(&s->base);
    return WR_USER;
}

static const wr_option_spec nexmark_specs[] = {
    {"stream", "enum:person|auction|bid", NULL, true, "which of the three streams the table is"},
    {"seed", "int", "1", false, "the same seed makes the same events"},
    {"number-of-events", "int", "1000000", false, "of all three streams together"},
    {"events-per-second", "int", "10000", false, "in event time"},
    {"rows-per-second", "int", "0", false, "events of all streams by the clock; 0 = as fast as it goes"},
    {0}};

static wr_status nexmark_new(const wr_table_info *t, wr_connect_ctx *ctx, wr_source **out, wr_err *err) {
    (void)err;
    static const char *const names[] = {"person", "auction", "bid"};
    wr_str     stream = option_text(t, nexmark_specs, "stream");
    int        which = -1;
    int64_t    seed, n, rate;
    gen_source *s;
    *out = NULL;
    for (int i = 0; i < 3; i++)
        if (wr_str_ieq(stream, wr_str_of(names[i]))) which = i;
    if (which < 0) return option_error(ctx, t, "stream", "WR121", "'stream' is '%.*s', expected person, auction or bid", WR_FMT(stream));
    if (!wr_option_int(&t->options, nexmark_specs, "seed", &seed, ctx->diags) || !wr_option_int(&t->options, nexmark_specs, "number-of-events", &n, ctx->diags) ||
        !wr_option_int(&t->options, nexmark_specs, "events-per-second", &rate, ctx->diags))
        return WR_USER;
    WR_TRY(gen_new(t, ctx, nexmark_specs, &s));
    wr_nexmark_config config;
    wr_err            why = {0};
    wr_nexmark_config_default(&config);
    config.seed = (uint64_t)seed;
    config.n_events = s->n = (uint64_t)WR_MAX(n, 0);
    config.events_per_s = (uint32_t)WR_MIN(WR_MAX(rate, 0), UINT32_MAX);
    s->stream = which;
    find_direct(s, t, ctx->arena);
    return give(s, wr_nexmark_new(&config, &s->nexmark, &why), t, ctx, &why, out);
}

static const wr_option_spec ridelo_specs[] = {
    {"stream", "enum:orders|cancellations|payments|chargebacks|pings|changes", NULL, true, "which of the six logs the table is"},
    {"seed", "int", "1", false, "the same seed makes the same events"},
    {"duration", "duration", "24 h", false, "how long orders come"},
    {"orders-per-day", "int", "400000", false, "how many"},
    {"rows-per-second", "int", "0", false, "by the clock; 0 = as fast as it goes"},
    {0}};

static wr_status ridelo_new(const wr_table_info *t, wr_connect_ctx *ctx, wr_source **out, wr_err *err) {
    (void)err;
    wr_str      stream = option_text(t, ridelo_specs, "stream");
    int         which = -1;
    int64_t     seed, per_day, duration_us;
    gen_source *s;
    *out = NULL;
    for (int i = 0; i < WR_RIDELO_STREAMS; i++)
        if (wr_str_ieq(stream, wr_str_of(wr_ridelo_stream_name((wr_ridelo_stream)i)))) which = i;
    if (which < 0) return option_error(ctx, t, "stream", "WR121", "'stream' is '%.*s', expected one of %s", WR_FMT(stream), ridelo_specs[0].kind + 5);
    if (!wr_option_int(&t->options, ridelo_specs, "seed", &seed, ctx->diags) || !wr_option_int(&t->options, ridelo_specs, "orders-per-day", &per_day, ctx->diags) ||
        !wr_option_duration(&t->options, ridelo_specs, "duration", &duration_us, ctx->diags))
        return WR_USER;
    WR_TRY(gen_new(t, ctx, ridelo_specs, &s));
    wr_ridelo_config config;
    wr_err           why = {0};
    wr_ridelo_config_default(&config);
    config.seed = (uint64_t)seed;
    config.orders_per_day = (uint32_t)WR_MIN(WR_MAX(per_day, 0), UINT32_MAX);
    config.duration_ms = duration_us / 1000;
    s->stream = which;
    wr_status status = wr_ridelo_new(&config, &s->ridelo, &why);
    if (status == WR_OK) s->n = wr_ridelo_counts_of(s->ridelo, (wr_ridelo_stream)which).lines;
    return give(s, status, t, ctx, &why, out);
}

static bool bounded(const wr_table_info *t) { return (void)t, true; }

const wr_connector wr_connector_nexmark = {.name = "nexmark", .doc = "the Nexmark benchmark's events: persons, auctions, bids", .specs = nexmark_specs, .source_new = nexmark_new, .bounded = bounded};
const wr_connector wr_connector_ridelo = {.name = "ridelo", .doc = "a food-delivery company's six event logs, with faults at stated rates", .specs = ridelo_specs, .source_new = ridelo_new, .bounded = bounded};
