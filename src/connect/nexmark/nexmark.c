/* connect/nexmark/nexmark.c: see nexmark.h.
 *
 * Idea       an event's number says its kind and its id (no counters), a splitmix64 stream keyed by (seed, number) says the rest;
 *            long texts are slices of one shared random text, channels and their URLs come from a table of 10,000.
 * Invariant  no string that is written needs JSON escaping: all are made of [A-Za-z0-9 _@.:/?=&-].
 * Thread     see nexmark.h. Memory: one arena, made in wr_nexmark_new.                                                   */
#include "connect/nexmark/nexmark.h"
#include "connect/nexmark/gen_text.h"
#include <math.h>

enum {
    POOL_BYTES = 256 * 1024,
    N_CHANNELS = 10000,
    N_CATEGORIES = 5,
    HOT_EVERY = 100,   /* the hot auction, seller and bidder are the last multiple of this */
    ID_LEAD = 10,      /* events may name ids that are this far ahead of what exists */
    BYTES_MAX = 10000,
    PIECE_BYTES = 256 * 1024,
    ROW_BYTES_MAX = BYTES_MAX * 2 + 1024,
};

struct wr_nexmark {
    wr_nexmark_config config;
    wr_arena         *arena;
    uint64_t          total; /* sum of the three proportions: one epoch */
    const char       *pool;  /* POOL_BYTES of random lower-case letters */
    wr_str            hot_url[4];
    wr_str            channel[N_CHANNELS], url[N_CHANNELS];
};

static const char *const hot_channels[4] = {"Google", "Facebook", "Baidu", "Apple"};
static const char *const states[] = {"AZ", "CA", "ID", "OR", "WA", "WY"};
static const char *const cities[] = {"Phoenix", "Los Angeles", "San Francisco", "Boise",   "Portland",
                                     "Bend",    "Redmond",     "Seattle",       "Kent",    "Cheyenne"};
static const char *const first_names[] = {"Peter", "Paul",  "Luke",  "John",   "Saul",  "Vicky",
                                          "Kate",  "Julie", "Sarah", "Deiter", "Walter"};
static const char *const last_names[] = {"Shultz", "Abrams", "Spencer", "White", "Bartels", "Walton", "Smith", "Jones", "Noris"};

void wr_nexmark_config_default(wr_nexmark_config *config) {
    *config = (wr_nexmark_config){
        .seed = 1,
        .n_events = 1000000,
        .base_time_ms = 1436918400000, /* 2015-07-15 00:00:00 */
        .events_per_s = 10000,
        .person_proportion = 1,
        .auction_proportion = 3,
        .bid_proportion = 46,
        .hot_auction_ratio = 2,
        .hot_seller_ratio = 4,
        .hot_bidder_ratio = 4,
        .n_active_people = 1000,
        .n_in_flight_auctions = 100,
        .person_bytes = 200,
        .auction_bytes = 500,
        .bid_bytes = 100,
        .out_of_order_group = 1,
    };
}

/* 3 .. max - 1 characters, each the special one with 1/13; blanks at the ends are trimmed, so it can come out empty. */
static char *put_random(char *p, wr_gen_rng *rng, uint32_t max, char special) {
    char    *start = p;
    uint64_t len = 3 + gen_below(rng, max - 3);
    while (len--) {
        uint64_t r = gen_next(rng);
        *p++ = (r >> 32) % 13 == 0 ? special : (char)('a' + (r & 0xFFFFFFFF) % 26);
    }
    if (special != ' ') return p;
    while (p > start && p[-1] == ' ') p--;
    size_t blanks = 0;
    while (start + blanks < p && start[blanks] == ' ') blanks++;
    memmove(start, start + blanks, (size_t)(p - start) - blanks);
    return p - blanks;
}

static char *put_base_url(char *p, wr_gen_rng *rng) {
    p = put_lit(p, "https://www.nexmark.com/");
    for (int i = 0; i < 3; i++) {
        p = put_random(p, rng, 5, '_');
        *p++ = '/';
    }
    return put_lit(p, "item.htm?query=1");
}

static uint32_t reverse_bits(uint32_t v) {
    uint32_t r = 0;
    for (int i = 0; i < 32; i++) r = r << 1 | (v >> i & 1);
    return r;
}

static void make_tables(wr_nexmark *gen) {
    wr_gen_rng rng = gen_rng_at(gen->config.seed, UINT64_MAX);
    char      *pool = wr_arena_alloc(gen->arena, POOL_BYTES);
    for (size_t i = 0; i < POOL_BYTES; i++) pool[i] = (char)('a' + gen_below(&rng, 26));
    gen->pool = pool;
    char text[128];
    for (int i = 0; i < 4; i++) {
        char *end = put_base_url(text, &rng);
        gen->hot_url[i] = wr_str_dup(gen->arena, (wr_str){text, (size_t)(end - text)});
    }
    for (uint32_t i = 0; i < N_CHANNELS; i++) {
        char *end = put_u64(put_lit(text, "channel-"), i);
        gen->channel[i] = wr_str_dup(gen->arena, (wr_str){text, (size_t)(end - text)});
        end = put_base_url(text, &rng);
        if (gen_below(&rng, 10) > 0) {
            uint32_t id = reverse_bits(i);
            end = put_u64(put_lit(end, "&channel_id="), id > INT32_MAX ? 0u - id : id); /* |Integer.reverse(i)| */
        }
        gen->url[i] = wr_str_dup(gen->arena, (wr_str){text, (size_t)(end - text)});
    }
}

static wr_status check_config(const wr_nexmark_config *c, wr_err *err) {
    const struct {
        const char *name;
        uint64_t    value, low, high;
    } limits[] = {
        {"events_per_s", c->events_per_s, 1, 1000000000},
        {"person_proportion", c->person_proportion, 1, 1000000},
        {"auction_proportion", c->auction_proportion, 1, 1000000},
        {"bid_proportion", c->bid_proportion, 0, 1000000},
        {"hot_auction_ratio", c->hot_auction_ratio, 1, 1000000},
        {"hot_seller_ratio", c->hot_seller_ratio, 1, 1000000},
        {"hot_bidder_ratio", c->hot_bidder_ratio, 1, 1000000},
        {"n_active_people", c->n_active_people, 1, 1000000000},
        {"n_in_flight_auctions", c->n_in_flight_auctions, 1, 1000000000},
        {"person_bytes", c->person_bytes, 0, BYTES_MAX},
        {"auction_bytes", c->auction_bytes, 0, BYTES_MAX},
        {"bid_bytes", c->bid_bytes, 0, BYTES_MAX},
        {"out_of_order_group", c->out_of_order_group, 1, 1000000000},
        {"n_events", c->n_events, 0, 1000000000000},
    };
    for (size_t i = 0; i < WR_COUNT_OF(limits); i++)
        if (limits[i].value < limits[i].low || limits[i].value > limits[i].high) {
            wr_fail(err, WR_USER, "22023", "nexmark: %s = %llu is out of range", limits[i].name,
                    (unsigned long long)limits[i].value);
            wr_err_hint(err, "give a value from %llu to %llu", (unsigned long long)limits[i].low,
                        (unsigned long long)limits[i].high);
            return WR_USER;
        }
    return WR_OK;
}

wr_status wr_nexmark_new(const wr_nexmark_config *config, wr_nexmark **out, wr_err *err) {
    *out = NULL;
    WR_TRY(check_config(config, err));
    wr_arena   *arena = wr_arena_new(NULL);
    wr_nexmark *gen = wr_new(arena, wr_nexmark);
    gen->config = *config;
    gen->arena = arena;
    gen->total = (uint64_t)config->person_proportion + config->auction_proportion + config->bid_proportion;
    make_tables(gen);
    *out = gen;
    return WR_OK;
}

void wr_nexmark_free(wr_nexmark *gen) {
    if (gen) wr_arena_free(gen->arena);
}
const wr_nexmark_config *wr_nexmark_config_of(const wr_nexmark *gen) { return &gen->config; }

/* The number that the event at place `index` bears: in groups of n, places are visited in steps of 953. */
static uint64_t event_number(const wr_nexmark *gen, uint64_t index) {
    uint64_t n = gen->config.out_of_order_group;
    return n == 1 ? index : index / n * n + index * 953 % n;
}
static int64_t event_time_ms(const wr_nexmark *gen, uint64_t number) {
    return gen->config.base_time_ms + (int64_t)(number * 1000 / gen->config.events_per_s);
}
static int64_t last_person(const wr_nexmark *gen, uint64_t number) { /* counted from 0 */
    const wr_nexmark_config *c = &gen->config;
    uint64_t offset = number % gen->total;
    return (int64_t)(number / gen->total * c->person_proportion + WR_MIN(offset, c->person_proportion - 1));
}
static int64_t last_auction(const wr_nexmark *gen, uint64_t number) { /* counted from 0; -1 before the first */
    const wr_nexmark_config *c = &gen->config;
    int64_t epoch = (int64_t)(number / gen->total), offset = (int64_t)(number % gen->total) - c->person_proportion;
    if (offset < 0) epoch--, offset = c->auction_proportion - 1;
    return epoch * c->auction_proportion + WR_MIN(offset, (int64_t)c->auction_proportion - 1);
}
static int64_t some_person(const wr_nexmark *gen, uint64_t number, wr_gen_rng *rng) {
    int64_t n = last_person(gen, number) + 1, active = WR_MIN(n, (int64_t)gen->config.n_active_people);
    return n - active + (int64_t)gen_below(rng, (uint64_t)active + ID_LEAD);
}
static int64_t some_auction(const wr_nexmark *gen, uint64_t number, wr_gen_rng *rng) {
    int64_t high = last_auction(gen, number), low = WR_MAX(high - (int64_t)gen->config.n_in_flight_auctions, 0);
    return low + (int64_t)gen_below(rng, (uint64_t)(high - low) + 1 + ID_LEAD);
}
/* 1.00 .. 1,000,000.00 in cents, evenly on the logarithm; 0 where nobody wants to know. */
static int64_t some_price(wr_gen_rng *rng, bool prices) {
    double u = (double)(gen_next(rng) >> 11) * 0x1.0p-53;
    return prices ? llround(pow(10.0, u * 6.0) * 100.0) : 0;
}
/* Text that brings a row of `size` bytes to `want` on average, +- 20 % of what is missing. */
static wr_str some_extra(const wr_nexmark *gen, wr_gen_rng *rng, size_t size, uint32_t want) {
    if (size > want) return WR_STR("");
    uint64_t missing = want - size, delta = (missing * 2 + 5) / 10;
    uint64_t len = missing - delta + (delta ? gen_below(rng, 2 * delta) : 0);
    return (wr_str){gen->pool + gen_below(rng, POOL_BYTES - len), len};
}

static void make_person(const wr_nexmark *gen, uint64_t number, wr_gen_rng *rng, wr_nexmark_event *event) {
    wr_nexmark_person *p = &event->person;
    char              *at = event->text, *start = at;
    p->id = last_person(gen, number) + WR_NEXMARK_FIRST_ID;
    at = put_str(at, wr_str_of(first_names[gen_below(rng, WR_COUNT_OF(first_names))]));
    *at++ = ' ';
    at = put_str(at, wr_str_of(last_names[gen_below(rng, WR_COUNT_OF(last_names))]));
    p->name = (wr_str){start, (size_t)(at - start)};
    start = at;
    at = put_random(at, rng, 7, ' ');
    *at++ = '@';
    at = put_lit(put_random(at, rng, 5, ' '), ".com");
    p->email_address = (wr_str){start, (size_t)(at - start)};
    start = at;
    for (int i = 0; i < 4; i++) {
        uint32_t four = (uint32_t)gen_below(rng, 10000);
        if (i) *at++ = ' ';
        at = put_2(put_2(at, four / 100), four % 100);
    }
    p->credit_card = (wr_str){start, (size_t)(at - start)};
    p->city = wr_str_of(cities[gen_below(rng, WR_COUNT_OF(cities))]);
    p->state = wr_str_of(states[gen_below(rng, WR_COUNT_OF(states))]);
    p->extra = some_extra(gen, rng, 8 + p->name.len + p->email_address.len + p->credit_card.len + p->city.len + p->state.len,
                          gen->config.person_bytes);
}

static void make_auction(const wr_nexmark *gen, uint64_t number, wr_gen_rng *rng, bool prices, wr_nexmark_event *event) {
    const wr_nexmark_config *c = &gen->config;
    wr_nexmark_auction      *a = &event->auction;
    a->id = last_auction(gen, number) + WR_NEXMARK_FIRST_ID;
    a->seller = WR_NEXMARK_FIRST_ID + (gen_below(rng, c->hot_seller_ratio) > 0 ? last_person(gen, number) / HOT_EVERY * HOT_EVERY
                                                                               : some_person(gen, number, rng));
    a->category = WR_NEXMARK_FIRST_CATEGORY + (int64_t)gen_below(rng, N_CATEGORIES);
    a->initial_bid = some_price(rng, prices);
    /* as long as it takes, on average, until n_in_flight_auctions newer ones were opened */
    uint64_t ahead = (uint64_t)c->n_in_flight_auctions * gen->total / c->auction_proportion;
    int64_t  horizon_ms = event_time_ms(gen, number + ahead) - event->date_time_ms;
    a->expires_ms = event->date_time_ms + 1 + (int64_t)gen_below(rng, (uint64_t)WR_MAX(horizon_ms * 2, 1));
    char *at = put_random(event->text, rng, 20, ' ');
    a->item_name = (wr_str){event->text, (size_t)(at - event->text)};
    char *end = put_random(at, rng, 100, ' ');
    a->description = (wr_str){at, (size_t)(end - at)};
    a->reserve = a->initial_bid + some_price(rng, prices);
    a->extra = some_extra(gen, rng, 8 * 6 + a->item_name.len + a->description.len, c->auction_bytes);
}

static void make_bid(const wr_nexmark *gen, uint64_t number, wr_gen_rng *rng, bool prices, wr_nexmark_event *event) {
    const wr_nexmark_config *c = &gen->config;
    wr_nexmark_bid          *b = &event->bid;
    b->auction = WR_NEXMARK_FIRST_ID + (gen_below(rng, c->hot_auction_ratio) > 0 ? last_auction(gen, number) / HOT_EVERY * HOT_EVERY
                                                                                 : some_auction(gen, number, rng));
    b->bidder = WR_NEXMARK_FIRST_ID + (gen_below(rng, c->hot_bidder_ratio) > 0
                                           ? last_person(gen, number) / HOT_EVERY * HOT_EVERY + 1
                                           : some_person(gen, number, rng));
    b->price = some_price(rng, prices);
    uint64_t pick = gen_next(rng);
    if (pick & 1) {
        b->channel = wr_str_of(hot_channels[pick >> 1 & 3]);
        b->url = gen->hot_url[pick >> 1 & 3];
    } else {
        uint64_t i = (pick >> 32) * N_CHANNELS >> 32;
        b->channel = gen->channel[i];
        b->url = gen->url[i];
    }
    b->extra = some_extra(gen, rng, 32, c->bid_bytes);
}

static wr_nexmark_kind kind_of_number(const wr_nexmark *gen, uint64_t number) {
    uint64_t offset = number % gen->total;
    if (offset < gen->config.person_proportion) return WR_NEXMARK_PERSON;
    return offset < (uint64_t)gen->config.person_proportion + gen->config.auction_proportion ? WR_NEXMARK_AUCTION
                                                                                             : WR_NEXMARK_BID;
}
wr_nexmark_kind wr_nexmark_kind_of(const wr_nexmark *gen, uint64_t index) { return kind_of_number(gen, event_number(gen, index)); }

void wr_nexmark_make(const wr_nexmark *gen, uint64_t index, bool prices, wr_nexmark_event *event) {
    uint64_t   number = event_number(gen, index);
    wr_gen_rng rng = gen_rng_at(gen->config.seed, number);
    event->kind = kind_of_number(gen, number);
    event->date_time_ms = event_time_ms(gen, number);
    switch (event->kind) {
    case WR_NEXMARK_PERSON: make_person(gen, number, &rng, event); break;
    case WR_NEXMARK_AUCTION: make_auction(gen, number, &rng, prices, event); break;
    case WR_NEXMARK_BID: make_bid(gen, number, &rng, prices, event); break;
    }
}

void wr_nexmark_event_at(const wr_nexmark *gen, uint64_t index, wr_nexmark_event *event) { wr_nexmark_make(gen, index, true, event); }

#define text_field(p, key, value) put_lit(put_str(put_lit((p), "\"" key "\":\""), (value)), "\",")
#define long_field(p, key, value) put_lit(put_u64(put_lit((p), "\"" key "\":"), (uint64_t)(value)), ",")
#define time_field(p, key, value) put_lit(put_timestamp(put_lit((p), "\"" key "\":"), (value)), ",")

void wr_nexmark_json(const wr_nexmark_event *event, wr_sbuf *buf) {
    char  *p = gen_room(buf, ROW_BYTES_MAX);
    wr_str extra = {0};
    *p++ = '{';
    switch (event->kind) {
    case WR_NEXMARK_PERSON: {
        const wr_nexmark_person *r = &event->person;
        p = text_field(text_field(long_field(p, "id", r->id), "name", r->name), "emailAddress", r->email_address);
        p = text_field(text_field(text_field(p, "creditCard", r->credit_card), "city", r->city), "state", r->state);
        p = time_field(p, "dateTime", event->date_time_ms);
        extra = r->extra;
        break;
    }
    case WR_NEXMARK_AUCTION: {
        const wr_nexmark_auction *r = &event->auction;
        p = text_field(text_field(long_field(p, "id", r->id), "itemName", r->item_name), "description", r->description);
        p = long_field(long_field(p, "initialBid", r->initial_bid), "reserve", r->reserve);
        p = time_field(time_field(p, "dateTime", event->date_time_ms), "expires", r->expires_ms);
        p = long_field(long_field(p, "seller", r->seller), "category", r->category);
        extra = r->extra;
        break;
    }
    case WR_NEXMARK_BID: {
        const wr_nexmark_bid *r = &event->bid;
        p = long_field(long_field(long_field(p, "auction", r->auction), "bidder", r->bidder), "price", r->price);
        p = time_field(text_field(text_field(p, "channel", r->channel), "url", r->url), "dateTime", event->date_time_ms);
        extra = r->extra;
        break;
    }
    }
    p = put_lit(put_str(put_lit(p, "\"extra\":\""), extra), "\"}\n");
    gen_done(buf, p);
}

const char *wr_nexmark_file(int stream) {
    static const char *const names[WR_NEXMARK_STREAMS] = {"person.jsonl", "auction.jsonl", "bid.jsonl"};
    wr_assert(stream >= 0 && stream < WR_NEXMARK_STREAMS);
    return names[stream];
}

wr_status wr_nexmark_write(const wr_nexmark *gen, uint64_t first, uint64_t n, wr_nexmark_emit emit, void *arg, wr_err *err) {
    wr_sbuf          buf[WR_NEXMARK_STREAMS] = {0};
    wr_nexmark_event event;
    wr_status        status = WR_OK;
    for (int s = 0; s < WR_NEXMARK_STREAMS; s++) wr_sbuf_reserve(&buf[s], PIECE_BYTES + ROW_BYTES_MAX + 2);
    for (uint64_t i = first; i < first + n; i++) {
        wr_nexmark_event_at(gen, i, &event);
        wr_sbuf *b = &buf[event.kind];
        wr_nexmark_json(&event, b);
        if (WR_LIKELY(b->len < PIECE_BYTES)) continue;
        if ((status = emit(arg, (int)event.kind, b->at, b->len, err)) != WR_OK) goto out;
        wr_sbuf_clear(b);
    }
    for (int s = 0; s < WR_NEXMARK_STREAMS; s++)
        if (buf[s].len && (status = emit(arg, s, buf[s].at, buf[s].len, err)) != WR_OK) goto out;
out:
    for (int s = 0; s < WR_NEXMARK_STREAMS; s++) wr_sbuf_free(&buf[s]);
    return status;
}
