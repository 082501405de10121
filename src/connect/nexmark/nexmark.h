/* connect/nexmark/nexmark.h: the Nexmark event model (persons, auctions, bids), deterministic and random-access.
 *
 * Idea       the published generator draws every event from one running random stream; here event i draws from a stream of its
 *            own, a function of (seed, i), so that any range of events can be made by anybody at any time: workers take disjoint
 *            ranges, a source resumes at a number, and the bytes are the same.
 * Model      persons : auctions : bids = 1 : 3 : 46, ids from 1000 in order of appearance, one event each 1/rate s of event time,
 *            half of the bids on the hot auction (the last multiple of 100), 3/4 from the hot bidder, 3/4 of the auctions by the hot
 *            seller, 100 auctions in flight, 1000 active people, text stretched to 200 / 500 / 100 bytes on average.
 * Differs    from the Flink edition in one point: that one adds the first person id twice to a bidder, so that its bidders
 *            never meet its persons; here, as in Beam, once.
 * Thread     a wr_nexmark never changes after wr_nexmark_new: share it freely. An event's strings live in the event itself or in
 *            the wr_nexmark.                                                                                             */
#pragma once
#include "base/err.h"
#include "base/str.h"

typedef enum wr_nexmark_kind { WR_NEXMARK_PERSON, WR_NEXMARK_AUCTION, WR_NEXMARK_BID } wr_nexmark_kind;
#define WR_NEXMARK_STREAMS 3
#define WR_NEXMARK_FIRST_ID 1000
#define WR_NEXMARK_FIRST_CATEGORY 10

typedef struct wr_nexmark_config {
    uint64_t seed;                 /* 1 */
    uint64_t n_events;             /* 1,000,000 over all three streams; what an in-memory source ends at */
    int64_t  base_time_ms;         /* 2015-07-15 00:00:00 */
    uint32_t events_per_s;         /* 10,000, in event time */
    uint32_t person_proportion, auction_proportion, bid_proportion;    /* 1, 3, 46 */
    uint32_t hot_auction_ratio, hot_seller_ratio, hot_bidder_ratio;    /* 2, 4, 4: (n - 1) of n go to the hot one */
    uint32_t n_active_people, n_in_flight_auctions;                    /* 1000, 100 */
    uint32_t person_bytes, auction_bytes, bid_bytes;                   /* 200, 500, 100 on average; at most 10,000 */
    uint32_t out_of_order_group;   /* 1: in order. n: each run of n events is shuffled, ids and times */
} wr_nexmark_config;

typedef struct wr_nexmark_person {
    int64_t id;
    wr_str  name, email_address, credit_card, city, state, extra;
} wr_nexmark_person;
typedef struct wr_nexmark_auction {
    int64_t id, initial_bid, reserve, expires_ms, seller, category;
    wr_str  item_name, description, extra;
} wr_nexmark_auction;
typedef struct wr_nexmark_bid {
    int64_t auction, bidder, price;
    wr_str  channel, url, extra;
} wr_nexmark_bid;
typedef struct wr_nexmark_event {
    wr_nexmark_kind kind;
    int64_t         date_time_ms;
    union {
        wr_nexmark_person  person;
        wr_nexmark_auction auction;
        wr_nexmark_bid     bid;
    };
    char text[256]; /* holds the strings made for this event; do not copy the struct by value */
} wr_nexmark_event;

typedef struct wr_nexmark wr_nexmark;
/* Called with whole lines of one stream (a wr_nexmark_kind), in order. A status other than WR_OK stops the writer. */
typedef wr_status (*wr_nexmark_emit)(void *arg, int stream, const char *bytes, size_t len, wr_err *err);

void wr_nexmark_config_default(wr_nexmark_config *config);
/* Checks the configuration (WR_USER names the field) and makes the tables that all events share, about 1.5 MB. */
wr_status wr_nexmark_new(const wr_nexmark_config *config, wr_nexmark **out, wr_err *err);
void      wr_nexmark_free(wr_nexmark *gen); /* NULL is legal */
const wr_nexmark_config *wr_nexmark_config_of(const wr_nexmark *gen);

wr_nexmark_kind wr_nexmark_kind_of(const wr_nexmark *gen, uint64_t index);
void        wr_nexmark_event_at(const wr_nexmark *gen, uint64_t index, wr_nexmark_event *event);
/* prices false: initial_bid, reserve and price are rubbish, which saves most of the time that an event takes. */
void        wr_nexmark_make(const wr_nexmark *gen, uint64_t index, bool prices, wr_nexmark_event *event);
void        wr_nexmark_json(const wr_nexmark_event *event, wr_sbuf *buf);   /* appends one line, with its newline */
const char *wr_nexmark_file(int stream);                                    /* "person.jsonl", "auction.jsonl", "bid.jsonl" */
/* Events [first, first + n) as JSON lines, each stream in order, in pieces of about 256 KiB. */
wr_status   wr_nexmark_write(const wr_nexmark *gen, uint64_t first, uint64_t n, wr_nexmark_emit emit, void *arg, wr_err *err);
