/* connect/kafka/source.c: the source of 'kafka' and 'upsert-kafka': partitions of topics, read by own positions.
 *
 * Idea       no consumer group does the assigning: one process reads all partitions, from positions that the checkpoint keeps; the group is told afterwards
 *            (lasting), for those who watch its lag. Two clients: `admin` asks (metadata, offsets, group) and may block, `reader` fetches. Each partition
 *            has a queue of its own, so a partition that is ahead in event time is held back by not reading its queue: librdkafka stops fetching when
 *            the queue is full, and that is the backpressure as well.
 * Start      every partition's first offset is made a number when it is found, before anything is read: what was found is what a checkpoint says.
 *            Where a group has none (NOWHERE), a checkpoint may still tell it; if none does, reading refuses to begin.
 * Found      a thread asks for partitions every scan.topic-partition-discovery.interval; a partition found later is read from its beginning. It asks for
 *            the ends of all of them as well (LAG_US): what fetches tell is old just when reading is held back.
 * Bounded    a partition ends at the offset that it had when the job began (or the one named); the end-of-partition event tells when nothing more comes before it.
 * Filling    librdkafka stops fetching for a partition whose queue is full, and looks at it again only when something wakes its thread, or after a second. So the
 *            question for the ends is put as well whenever half a queue has been taken out, or it is empty before the end: that wakes it (knock).
 * Invariants a partition's index never changes; positions = the next offset to hand out; what comes below it is dropped.
 * Bounds     librdkafka's queues: FETCH_BYTES over all partitions, charged, what it needs beside a message's bytes (MESSAGE_BYTES) included; one chunk.
 * Thread     next, save, load: under the turn lock; decode: any worker, sees only the chunk; lasting: the coordinator; `found` is under its lock.   */
#define _GNU_SOURCE 1
#include "connect/kafka/lib.h"
#include "connect/messages.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { CHUNK_BYTES = 256 * 1024, TAKE = 512, FETCH_BYTES = 32 << 20, PART_BYTES = 8 << 20, MESSAGE_BYTES = 448, TIMEOUT_MS = 15000, SAVE_VERSION = 1, WAIT_US = 2000, WAIT_MAX_US = 20000, LAG_US = 2000000, LAG_TIMEOUT_MS = 1000, KNOCK_US = 5000 };
enum { NOWHERE = -1 }; /* of a first offset */
enum { START_EARLIEST, START_LATEST, START_GROUP, START_TIMESTAMP, START_SPECIFIC };
enum { END_NEVER, END_LATEST, END_GROUP, END_TIMESTAMP, END_SPECIFIC };

typedef struct found_part { /* of the discovery: topic, partition and where it is to begin */
    char   *topic;
    int32_t partition;
    int64_t first, end;     /* end: INT64_MAX none */
    int64_t high;           /* of the log when it was last asked for; of `known` under lock */
} found_part;

typedef struct kafka_part {
    char               *topic;
    int32_t             partition;
    rd_kafka_queue_t   *queue;   /* NULL until it is assigned */
    int64_t             next, first, end;
    bool                done, at_end;    /* at_end: nothing came behind the last message */
    uint32_t            taken;           /* since the last knock */
    rd_kafka_message_t *waiting[TAKE]; /* taken out of the queue, not handed out */
    uint32_t            n_waiting, at;
} kafka_part;

typedef struct kafka_source {
    wr_source             base;
    wr_world             *world;
    wr_account           *acct;
    wr_arena             *arena;
    wr_str                table;
    kafka_topics          topics;
    wr_span               at;
    kafka_client          admin, reader;
    message_reader        messages;
    bool                  headers, bounded, limited, grouped, reset_earliest, reset_latest;
    int                   start, stop;
    int64_t               start_ms, stop_ms;
    wr_str                start_offsets, stop_offsets;
    WR_ARR(kafka_part *)  parts;
    uint32_t              turn, n_assigned, queue_messages; /* of a partition's queue */
    int64_t               knocked_us;
    int64_t               wait_us, charged;
    void                (*wake)(void *arg); /* wr_connect_ctx */
    void                 *wake_arg;
    bool                  loaded;     /* positions came from a checkpoint */
    /* the discovery */
    void                 *thread;
    wr_bell              *bell;
    wr_mutex             *lock;
    int64_t               discover_us;
    bool                  stopping;   /* under lock */
    WR_ARR(found_part)    found;      /* under lock: not yet in parts */
    WR_ARR(found_part)    known;      /* what the discovery has seen; changed by it only, under lock */
    wr_err                found_err;  /* under lock */
} kafka_source;

/* ---- asking: which partitions, from which offset to which ---- */

/* A topic that has just been made has no leader for a moment, and a group no coordinator. */
static bool again(kafka_source *s, rd_kafka_resp_err_t code, int64_t until) {
    if (!code || !kafka_is_passing(code) || wr_mono_us(s->world) > until) return false;
    s->world->vt->sleep_us(s->world, 50000);
    return true;
}

static wr_status ask_edges(kafka_source *s, const char *topic, int32_t partition, int64_t *low, int64_t *high, wr_err *err) {
    int64_t             until = wr_mono_us(s->world) + TIMEOUT_MS * INT64_C(1000);
    rd_kafka_resp_err_t code;
    do code = kafka.query_watermark_offsets(s->admin.rk, topic, partition, low, high, TIMEOUT_MS);
    while (again(s, code, until));
    return code ? kafka_fail(&s->admin, code, err, "cannot ask for the offsets of %s[%d]", topic, partition) : WR_OK;
}

/* The first offset whose message is not older; the end of the partition if there is none. */
static wr_status ask_time(kafka_source *s, const char *topic, int32_t partition, int64_t ms, int64_t high, int64_t *out, wr_err *err) {
    rd_kafka_topic_partition_list_t *list = kafka.topic_partition_list_new(1);
    rd_kafka_topic_partition_t *at = kafka.topic_partition_list_add(list, topic, partition);
    int64_t                     until = wr_mono_us(s->world) + TIMEOUT_MS * INT64_C(1000);
    rd_kafka_resp_err_t         code;
    do {
        at->offset = ms;
        code = kafka.offsets_for_times(s->admin.rk, list, TIMEOUT_MS);
        if (!code) code = at->err;
    } while (again(s, code, until));
    *out = list->elems[0].offset < 0 ? high : list->elems[0].offset;
    kafka.topic_partition_list_destroy(list);
    return code ? kafka_fail(&s->admin, code, err, "cannot ask for the offset of a time in %s[%d]", topic, partition) : WR_OK;
}

static wr_status ask_group(kafka_source *s, const char *topic, int32_t partition, int64_t *out, wr_err *err) {
    rd_kafka_topic_partition_list_t *list = kafka.topic_partition_list_new(1);
    kafka.topic_partition_list_add(list, topic, partition);
    int64_t             until = wr_mono_us(s->world) + TIMEOUT_MS * INT64_C(1000);
    rd_kafka_resp_err_t code;
    do {
        code = kafka.committed(s->admin.rk, list, TIMEOUT_MS);
        if (!code) code = list->elems[0].err;
    } while (again(s, code, until));
    *out = list->elems[0].offset;
    kafka.topic_partition_list_destroy(list);
    return code ? kafka_fail(&s->admin, code, err, "cannot ask for the group's offset of %s[%d]", topic, partition) : WR_OK;
}

static wr_status ask_first(kafka_source *s, found_part *p, int64_t low, int64_t high, wr_err *err) {
    p->first = low;
    switch (s->start) {
    case START_LATEST: p->first = high; return WR_OK;
    case START_TIMESTAMP: return ask_time(s, p->topic, p->partition, s->start_ms, high, &p->first, err);
    case START_SPECIFIC: {
        bool found;
        (void)message_offset(s->start_offsets, p->partition, &p->first, &found);
        return WR_OK;
    }
    case START_GROUP: {
        int64_t offset;
        WR_TRY(ask_group(s, p->topic, p->partition, &offset, err));
        if (offset >= 0) p->first = offset;
        else if (!s->reset_earliest) p->first = s->reset_latest ? high : NOWHERE;
        return WR_OK;
    }
    default: return WR_OK;
    }
}

static wr_status ask_end(kafka_source *s, found_part *p, int64_t high, wr_err *err) {
    p->end = INT64_MAX;
    switch (s->stop) {
    case END_LATEST: p->end = high; return WR_OK;
    case END_TIMESTAMP: return ask_time(s, p->topic, p->partition, s->stop_ms, high, &p->end, err);
    case END_SPECIFIC: {
        bool found;
        (void)message_offset(s->stop_offsets, p->partition, &p->end, &found);
        if (!found) p->end = high;
        return WR_OK;
    }
    case END_GROUP: {
        WR_TRY(ask_group(s, p->topic, p->partition, &p->end, err));
        if (p->end < 0) p->end = high;
        return WR_OK;
    }
    default: return WR_OK;
    }
}

static int known_at(const kafka_source *s, const char *topic, int32_t partition, uint32_t hint) { /* -1: it is not */
    if (hint < s->known.n && s->known.at[hint].partition == partition && !strcmp(s->known.at[hint].topic, topic)) return (int)hint;
    for (uint32_t i = 0; i < s->known.n; i++)
        if (s->known.at[i].partition == partition && !strcmp(s->known.at[i].topic, topic)) return (int)i;
    return -1;
}

/* Partitions that there are now and were not known: appended to `found`. begin: the job begins, otherwise they appeared while it ran. */
static wr_status discover(kafka_source *s, bool begin, wr_err *err) {
    const struct rd_kafka_metadata *md;
    wr_status status = kafka_ask_metadata(&s->admin, s->world, TIMEOUT_MS, &md, err, "table '%.*s'", WR_FMT(s->table));
    if (status == WR_USER && err) err->at = s->at;
    if (status != WR_OK) return status;
    for (int i = 0; i < md->topic_cnt && status == WR_OK; i++) {
        const struct rd_kafka_metadata_topic *topic = &md->topics[i];
        if (topic->err || !kafka_topics_want(&s->topics, topic->topic)) continue;
        for (int k = 0; k < topic->partition_cnt && status == WR_OK; k++) {
            if (known_at(s, topic->topic, topic->partitions[k].id, 0) >= 0) continue;
            found_part p = {.topic = wr_strdup(topic->topic), .partition = topic->partitions[k].id};
            int64_t    low = 0, high = 0;
            status = ask_edges(s, p.topic, p.partition, &low, &high, err);
            if (begin && status == WR_OK) status = ask_first(s, &p, low, high, err);
            else p.first = low;
            if (status == WR_OK) status = ask_end(s, &p, high, err);
            if (status != WR_OK) {
                wr_free(p.topic);
                break;
            }
            p.high = high;
            wr_mutex_lock(s->lock);
            wr_arr_push(&s->known, p);
            wr_arr_push(&s->found, p);
            wr_mutex_unlock(s->lock);
        }
    }
    kafka.metadata_destroy(md);
    return status;
}

/* One request a broker; a broker that is away for a moment: the next time. */
static void look_at_ends(kafka_source *s) {
    rd_kafka_topic_partition_list_t *list = kafka.topic_partition_list_new((int)s->known.n);
    for (uint32_t i = 0; i < s->known.n; i++) kafka.topic_partition_list_add(list, s->known.at[i].topic, s->known.at[i].partition)->offset = RD_KAFKA_OFFSET_END;
    (void)kafka.offsets_for_times(s->reader.rk, list, LAG_TIMEOUT_MS);
    wr_mutex_lock(s->lock);
    for (int i = 0; i < list->cnt; i++)
        if (!list->elems[i].err && list->elems[i].offset >= 0) s->known.at[i].high = list->elems[i].offset;
    wr_mutex_unlock(s->lock);
    kafka.topic_partition_list_destroy(list);
}

static void discovery(void *arg) {
    kafka_source *s = arg;
    int64_t       discovered_us = wr_mono_us(s->world);
    for (;;) {
        wr_bell_wait(s->bell, s->discover_us > 0 ? WR_MIN(s->discover_us, (int64_t)LAG_US) : LAG_US);
        wr_mutex_lock(s->lock);
        bool stop = s->stopping;
        wr_mutex_unlock(s->lock);
        if (stop) return;
        look_at_ends(s);
        int64_t now = wr_mono_us(s->world);
        if (s->bounded || s->discover_us <= 0 || now - discovered_us < s->discover_us) continue;
        discovered_us = now;
        (void)discover(s, false, NULL);
    }
}

/* Commas and patterns that match nothing are a mistake when the job begins. */
static wr_status check_topics(kafka_source *s, wr_err *err) {
    wr_str list = s->topics.list;
    for (wr_str name; wr_str_next(&list, ';', &name);) {
        bool there = !name.len;
        for (uint32_t i = 0; i < s->known.n && !there; i++) there = wr_str_eq(wr_str_of(s->known.at[i].topic), name);
        if (!there) {
            wr_fail(err, WR_USER, "WR363", "table '%.*s': there is no topic '%.*s'", WR_FMT(s->table), WR_FMT(name));
            wr_err_hint(err, "make it first (kafka-topics --create), or check its name");
            if (err) err->at = s->at;
            return WR_USER;
        }
    }
    return WR_OK;
}

/* ---- partitions ---- */

static kafka_part *part_of(kafka_source *s, const char *topic, int32_t partition) {
    for (uint32_t i = 0; i < s->parts.n; i++)
        if (s->parts.at[i]->partition == partition && !strcmp(s->parts.at[i]->topic, topic)) return s->parts.at[i];
    return NULL;
}

static kafka_part *add_part(kafka_source *s, const char *topic, int32_t partition, int64_t first, int64_t end) {
    kafka_part *p = wr_calloc(1, sizeof *p);
    p->topic = wr_strdup(topic);
    p->partition = partition;
    p->next = p->first = first;
    p->end = end;
    p->done = p->next >= p->end;
    wr_arr_push(&s->parts, p);
    return p;
}

/* What the discovery found becomes partitions. */
static void take_found(kafka_source *s) {
    wr_mutex_lock(s->lock);
    for (uint32_t i = 0; i < s->found.n && !s->limited; i++) {
        const found_part *f = &s->found.at[i];
        if (!part_of(s, f->topic, f->partition)) add_part(s, f->topic, f->partition, f->first, f->end);
    }
    s->found.n = 0;
    wr_mutex_unlock(s->lock);
}

static wr_status check_starts(const kafka_source *s, wr_err *err) {
    for (uint32_t i = s->n_assigned; i < s->parts.n; i++) {
        const kafka_part *p = s->parts.at[i];
        if (p->next != NOWHERE || p->done) continue;
        wr_fail(err, WR_USER, "WR362", "table '%.*s': the group has no committed offset for %s[%d], so there is no place to start from", WR_FMT(s->table), p->topic, p->partition);
        wr_err_hint(err, "'scan.startup.mode' = 'earliest-offset' reads all there is; 'properties.auto.offset.reset' = 'earliest' does so only where the group has none");
        if (err) err->at = s->at;
        return WR_USER;
    }
    return WR_OK;
}

/* From a thread of librdkafka: a queue that was empty has something. */
static void on_messages(rd_kafka_t *rk, void *arg) {
    kafka_source *s = arg;
    (void)rk;
    s->wake(s->wake_arg);
}

static wr_status assign_new(kafka_source *s, wr_err *err) {
    if (s->n_assigned == s->parts.n) return WR_OK;
    WR_TRY(check_starts(s, err));
    rd_kafka_topic_partition_list_t *list = kafka.topic_partition_list_new((int)s->parts.n);
    for (uint32_t i = s->n_assigned; i < s->parts.n; i++) {
        kafka_part *p = s->parts.at[i];
        if (p->done) continue;
        p->queue = kafka.queue_get_partition(s->reader.rk, p->topic, p->partition);
        if (p->queue) kafka.queue_forward(p->queue, NULL);
        if (p->queue && s->wake) kafka.queue_cb_event_enable(p->queue, on_messages, s);
        kafka.topic_partition_list_add(list, p->topic, p->partition)->offset = p->next;
    }
    s->n_assigned = s->parts.n;
    rd_kafka_error_t *error = list->cnt ? kafka.incremental_assign(s->reader.rk, list) : NULL;
    kafka.topic_partition_list_destroy(list);
    if (!error) return WR_OK;
    wr_status status = kafka_fail(&s->reader, kafka.error_code(error), err, "table '%.*s': cannot read the partitions", WR_FMT(s->table));
    kafka.error_destroy(error);
    return status;
}

/* ---- reading ---- */

static wr_status message_error(kafka_source *s, kafka_part *p, const rd_kafka_message_t *m, wr_err *err) {
    if (m->err == RD_KAFKA_RESP_ERR__AUTO_OFFSET_RESET || m->err == RD_KAFKA_RESP_ERR_OFFSET_OUT_OF_RANGE) {
        int64_t low = -1, high = -1;
        (void)kafka.get_watermark_offsets(s->reader.rk, p->topic, p->partition, &low, &high);
        wr_fail(err, WR_DATA, "WR364", "table '%.*s': offset %" PRId64 " of %s[%d] is not there", WR_FMT(s->table), p->next, p->topic, p->partition);
        wr_err_detail(err, "the topic's retention has removed it, or the topic was made anew (the log has %" PRId64 " to %" PRId64 ")", low, high);
        wr_err_hint(err, "go on without the lost rows by starting with a new --state-dir and 'scan.startup.mode' = 'earliest-offset'; keep the log longer next time (retention.ms)");
        if (err) err->at = s->at;
        return WR_DATA;
    }
    return kafka_fail(&s->reader, m->err, err, "table '%.*s': cannot read %s[%d] at offset %" PRId64, WR_FMT(s->table), p->topic, p->partition, p->next);
}

static void note_headers(message_note *note, const rd_kafka_message_t *m) {
    rd_kafka_headers_t *headers;
    const char         *name;
    const void         *value;
    size_t              len;
    if (kafka.message_headers(m, &headers) != RD_KAFKA_RESP_ERR_NO_ERROR) return;
    for (size_t k = 0; kafka.header_get_all(headers, k, &name, &value, &len) == RD_KAFKA_RESP_ERR_NO_ERROR; k++) message_note_header(note, wr_str_of(name), (wr_str){value, len});
}

static message_note *note_new(kafka_source *s, const kafka_part *p) {
    wr_mem       *mem = wr_mem_new(CHUNK_BYTES + 96 * 1024);
    message_note *note = wr_mem_calloc(mem, sizeof *note);
    note->topic = wr_str_of(p->topic); /* lives as long as the source */
    note->partition = p->partition;
    message_note_open(note, mem, CHUNK_BYTES / 4, CHUNK_BYTES, s->headers);
    note->timestamp_types = wr_mem_alloc(mem, WR_RECORDS_MAX);
    return note;
}

/* One message into the chunk; false: no room. */
static bool note_message(kafka_source *s, message_note *note, const rd_kafka_message_t *m) {
    uint32_t                  i = note->records.n;
    rd_kafka_timestamp_type_t type;
    wr_str key = {s->messages.format.key ? m->key : NULL, s->messages.format.key && m->key ? m->key_len : 0}, value = {m->payload, m->payload ? m->len : 0};
    if (!message_note_add(note, key, value, m->offset, kafka.message_timestamp(m, &type))) return false;
    note->timestamp_types[i] = (uint8_t)type;
    if (s->headers) note_headers(note, m);
    return true;
}

static void drop_waiting(kafka_part *p) {
    for (; p->at < p->n_waiting; p->at++) kafka.message_destroy(p->waiting[p->at]);
    p->n_waiting = p->at = 0;
}

static void knock(kafka_source *s, kafka_part *p) {
    int64_t now = wr_mono_us(s->world);
    if (now - s->knocked_us < KNOCK_US) return;
    s->knocked_us = now;
    p->taken = 0;
    wr_bell_ring(s->bell);
}

/* Messages of one partition into a chunk; *note stays NULL if there are none now. */
static wr_status read_part(kafka_source *s, kafka_part *p, message_note **note, wr_err *err) {
    bool room = true;
    *note = NULL;
    while (room && !p->done) {
        if (p->at == p->n_waiting) {
            p->at = 0;
            ssize_t n = kafka.consume_batch_queue(p->queue, 0, p->waiting, TAKE);
            p->n_waiting = n > 0 ? (uint32_t)n : 0;
            p->taken += p->n_waiting;
            if (p->taken >= s->queue_messages / 2 || (!n && !p->at_end)) knock(s, p);
            if (!p->n_waiting) return WR_OK;
        }
        for (; p->at < p->n_waiting && room && !p->done;) {
            rd_kafka_message_t *m = p->waiting[p->at];
            if (m->err == RD_KAFKA_RESP_ERR__PARTITION_EOF) {
                p->next = WR_MAX(p->next, m->offset); /* behind markers of transactions */
                p->at_end = true;
                p->done = p->next >= p->end;
            } else if (m->err) {
                bool passing = m->err == RD_KAFKA_RESP_ERR__TRANSPORT || m->err == RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN || m->err == RD_KAFKA_RESP_ERR__TIMED_OUT || m->err == RD_KAFKA_RESP_ERR__RESOLVE;
                if (!passing) return message_error(s, p, m, err);
            } else if (m->offset >= p->end) {
                p->done = true;
            } else if (m->offset >= p->next) {
                p->at_end = false;
                if (!*note) *note = note_new(s, p);
                room = note_message(s, *note, m);
                if (!room) break;
                p->next = m->offset + 1;
                p->done = p->next >= p->end;
            }
            kafka.message_destroy(m);
            p->at++;
        }
    }
    return WR_OK;
}

static void give(kafka_source *s, uint32_t index, message_note *note, wr_chunk *out) {
    kafka_part *p = s->parts.at[index];
    *out = (wr_chunk){.partition = index, .last = p->done && !s->limited, .mem = note->records.mem, .data = (const uint8_t *)note,
                      .len = note->records.value_len + note->records.key_len + 1, .rows_from = (uint64_t)(uintptr_t)note};
    if (p->done) drop_waiting(p);
}

static wr_status source_next(wr_source *base, const uint64_t *held, wr_chunk *out, wr_next *state, int64_t *retry_us, wr_err *err) {
    kafka_source *s = (kafka_source *)base;
    *out = (wr_chunk){0};
    uint32_t n_known = s->parts.n; /* `held` covers no more than these */
    take_found(s);
    WR_TRY(assign_new(s, err));
    rd_kafka_message_t *event = kafka.consumer_poll(s->reader.rk, 0); /* errors of the whole client */
    if (event) kafka.message_destroy(event);
    for (uint32_t k = 0; k < s->parts.n; k++) {
        uint32_t    i = (s->turn + k) % s->parts.n;
        kafka_part *p = s->parts.at[i];
        message_note *note = NULL;
        if (p->done || !p->queue || (i < n_known && is_held(held, i))) continue;
        wr_status status = read_part(s, p, &note, err);
        if (status != WR_OK) {
            if (note) wr_mem_unref(note->records.mem);
            return status;
        }
        if (!note && !p->done) continue;
        if (note) give(s, i, note, out);
        else *out = (wr_chunk){.partition = i, .last = !s->limited};
        s->turn = (i + 1) % s->parts.n;
        s->wait_us = WAIT_US;
        *state = WR_NEXT_CHUNK;
        return WR_OK;
    }
    bool all_done = s->bounded && !s->limited;
    for (uint32_t i = 0; i < s->parts.n; i++) all_done &= s->parts.at[i]->done;
    *state = all_done ? WR_NEXT_END : WR_NEXT_WAIT;
    *retry_us = s->wait_us;
    s->wait_us = WR_MIN(s->wait_us + s->wait_us / 2, (int64_t)WAIT_MAX_US); /* a topic at rest costs 50 looks a second */
    return WR_OK;
}

/* ---- decoding ---- */

static wr_status source_decode(wr_source *base, uint32_t worker, const wr_chunk *chunk, wr_decoded *out, wr_err *err) {
    (void)err;
    kafka_source       *s = (kafka_source *)base;
    const message_note *note = (const message_note *)(uintptr_t)chunk->rows_from;
    if (chunk->len) message_decode(&s->messages, worker, note, out);
    return WR_OK;
}

/* ---- dead letters: a message as it was, and back ---- */

static void source_beside(wr_source *base, const wr_chunk *chunk, const wr_bad_record *bad, wr_str *raw, wr_str *key, wr_sbuf *context) {
    const message_note *note = (const message_note *)(uintptr_t)chunk->rows_from;
    (void)base;
    message_beside(note, bad->line, raw, key, context);
    wr_sbuf_printf(context, ",\"timestamp_type\":%u", note->timestamp_types[bad->line]);
}

static wr_status source_again(wr_source *base, const wr_again *r, wr_chunk *out, wr_err *err) {
    kafka_source *s = (kafka_source *)base;
    kafka_part    at = {.partition = 0};
    char          topic[260], name[300];
    uint32_t      index = 0;
    const char   *bracket = r->partition.len ? memrchr(r->partition.ptr, '[', r->partition.len) : NULL, *type = message_member(r->context, "timestamp_type");
    snprintf(name, sizeof name, "%.*s", WR_FMT(r->partition));
    snprintf(topic, sizeof topic, "%.*s", bracket ? (int)(bracket - r->partition.ptr) : 0, r->partition.ptr ? r->partition.ptr : "");
    if (bracket) at.partition = (int32_t)strtol(name + (bracket - r->partition.ptr) + 1, NULL, 10);
    at.topic = topic;
    for (uint32_t i = 0; i < s->parts.n; i++)
        if (s->parts.at[i]->partition == at.partition && !strcmp(s->parts.at[i]->topic, topic)) index = i;
    wr_mem       *mem = wr_mem_new(CHUNK_BYTES + 96 * 1024);
    message_note *note = wr_mem_calloc(mem, sizeof *note);
    char         *kept = wr_mem_alloc(mem, sizeof topic);
    note->topic = wr_str_of(memcpy(kept, topic, sizeof topic));
    note->partition = at.partition;
    if (!message_again(note, mem, r, s->messages.format.key != NULL, s->headers)) {
        wr_mem_unref(mem);
        return wr_fail(err, WR_DATA, "54000", "table '%.*s': a message is too long to be put back", WR_FMT(s->table));
    }
    note->timestamp_types = wr_mem_calloc(mem, WR_RECORDS_MAX);
    note->timestamp_types[0] = type ? (uint8_t)strtoul(type, NULL, 10) : 0;
    *out = (wr_chunk){.partition = index, .mem = note->records.mem, .data = (const uint8_t *)note, .len = note->records.value_len + note->records.key_len + 1, .rows_from = (uint64_t)(uintptr_t)note};
    return WR_OK;
}

/* ---- positions ---- */

static void source_save(wr_source *base, wr_sbuf *out) {
    kafka_source *s = (kafka_source *)base;
    wr_put_u8(out, SAVE_VERSION);
    wr_put_u32(out, s->parts.n);
    for (uint32_t i = 0; i < s->parts.n; i++) {
        const kafka_part *p = s->parts.at[i];
        wr_put_bytes(out, p->topic, strlen(p->topic));
        wr_put_u32(out, (uint32_t)p->partition);
        wr_put_i64(out, p->next), wr_put_i64(out, p->end);
    }
}

typedef struct saved_part { char topic[256]; int32_t partition; int64_t next, end; } saved_part;

static bool get_part(wr_reader *in, saved_part *p) {
    wr_str topic = wr_get_bytes(in);
    snprintf(p->topic, sizeof p->topic, "%.*s", WR_FMT(topic));
    p->partition = (int32_t)wr_get_u32(in);
    p->next = wr_get_i64(in), p->end = wr_get_i64(in);
    return !in->bad;
}

static wr_status damaged(const kafka_source *s, wr_err *err) { return wr_fail(err, WR_CORRUPT, "XX001", "the saved positions of the table '%.*s' are damaged", WR_FMT(s->table)); }

static void free_part(kafka_part *p) {
    drop_waiting(p);
    if (p->queue) kafka.queue_destroy(p->queue);
    wr_free(p->topic);
    wr_free(p);
}

/* The saved partitions come first, in their order; those that were found since follow, from their beginning. */
static wr_status load_parts(kafka_source *s, wr_reader *in, wr_err *err) {
    if (wr_get_u8(in) != SAVE_VERSION) return damaged(s, err);
    for (uint32_t i = 0; i < s->parts.n; i++) free_part(s->parts.at[i]);
    s->parts.n = 0;
    for (uint32_t n = wr_get_u32(in); n > 0; n--) {
        saved_part p;
        if (!get_part(in, &p)) return damaged(s, err);
        int known = known_at(s, p.topic, p.partition, 0);
        if (p.next == NOWHERE && known >= 0) p.next = s->known.at[known].first; /* of a job that never began to read */
        if (!s->bounded) p.end = INT64_MAX; /* the saved end is that of a backfill, or of a run that ended */
        else if (p.end == INT64_MAX && known >= 0) p.end = s->known.at[known].end; /* of a run without an end: up to where it ends now */
        add_part(s, p.topic, p.partition, p.next, p.end);
    }
    for (uint32_t i = 0; i < s->known.n; i++) {
        found_part *k = &s->known.at[i];
        if (part_of(s, k->topic, k->partition)) continue;
        int64_t low = 0, high = 0;
        WR_TRY(ask_edges(s, k->topic, k->partition, &low, &high, err));
        add_part(s, k->topic, k->partition, low, k->end);
    }
    s->loaded = true;
    return WR_OK;
}

static wr_status source_load(wr_source *base, wr_reader *in, wr_err *err) {
    kafka_source *s = (kafka_source *)base;
    wr_mutex_lock(s->lock); /* of what is known */
    wr_status status = load_parts(s, in, err);
    wr_mutex_unlock(s->lock);
    return status;
}

static wr_status source_until(wr_source *base, wr_reader *in, wr_err *err) {
    kafka_source *s = (kafka_source *)base;
    if (wr_get_u8(in) != SAVE_VERSION) return damaged(s, err);
    s->limited = true;
    for (uint32_t i = 0; i < s->parts.n; i++) s->parts.at[i]->end = s->parts.at[i]->next;
    for (uint32_t n = wr_get_u32(in); n > 0; n--) {
        saved_part saved;
        if (!get_part(in, &saved)) return damaged(s, err);
        kafka_part *p = part_of(s, saved.topic, saved.partition);
        if (!p) return wr_fail(err, WR_DATA, "WR364", "table '%.*s': the partition %s[%d] was read and is not there any more", WR_FMT(s->table), saved.topic, saved.partition);
        p->end = saved.next;
        if (p->first > 0 && p->next < saved.next && !s->loaded && s->start == START_EARLIEST) {
            wr_fail(err, WR_DATA, "WR364", "table '%.*s': %s[%d] begins at offset %" PRId64 " now, so it cannot be read again from its start", WR_FMT(s->table), p->topic, p->partition, p->first);
            wr_err_hint(err, "the topic's retention has removed the beginning: keep the log longer (retention.ms)");
            return WR_DATA;
        }
    }
    for (uint32_t i = 0; i < s->parts.n; i++) s->parts.at[i]->done = s->parts.at[i]->next >= s->parts.at[i]->end;
    return WR_OK;
}

static bool source_at_limit(wr_source *base) {
    kafka_source *s = (kafka_source *)base;
    for (uint32_t i = 0; i < s->parts.n; i++)
        if (!s->parts.at[i]->done) return false;
    return s->limited;
}

/* The group's offsets, for those who watch it; nothing here depends on them. */
static void source_lasting(wr_source *base, wr_str positions) {
    kafka_source *s = (kafka_source *)base;
    if (!s->grouped) return;
    wr_reader in = {(const uint8_t *)positions.ptr, (const uint8_t *)positions.ptr + positions.len, false};
    if (wr_get_u8(&in) != SAVE_VERSION) return;
    uint32_t                         n = wr_get_u32(&in);
    rd_kafka_topic_partition_list_t *list = kafka.topic_partition_list_new((int)WR_MIN(n, 10000u));
    saved_part                       p;
    while (n-- > 0 && get_part(&in, &p))
        if (p.next != NOWHERE) kafka.topic_partition_list_add(list, p.topic, p.partition)->offset = p.next;
    if (list->cnt) (void)kafka.commit(s->admin.rk, list, 1);
    kafka.topic_partition_list_destroy(list);
}

/* ---- reports ---- */

static uint32_t source_partitions(wr_source *base) { return ((kafka_source *)base)->parts.n; }
static bool     source_bounded(wr_source *base) { return ((kafka_source *)base)->bounded; }
static bool     source_partition_done(wr_source *base, uint32_t i) { return i < ((kafka_source *)base)->parts.n && ((kafka_source *)base)->parts.at[i]->done; }
static void     source_partition_name(wr_source *base, uint32_t i, wr_sbuf *out) {
    kafka_source *s = (kafka_source *)base;
    if (i < s->parts.n) wr_sbuf_printf(out, "%s[%d]", s->parts.at[i]->topic, s->parts.at[i]->partition);
}

/* Messages; what is left is the consumer lag: to the end of the log as the last fetch or the last question told it, whichever is newer. */
static void source_progress(wr_source *base, uint64_t *done, uint64_t *total) {
    kafka_source *s = (kafka_source *)base;
    *done = *total = 0;
    wr_mutex_lock(s->lock);
    for (uint32_t i = 0; i < s->parts.n; i++) {
        const kafka_part *p = s->parts.at[i];
        int64_t           low, high = p->next;
        int               known = known_at(s, p->topic, p->partition, i);
        if (!p->queue || kafka.get_watermark_offsets(s->reader.rk, p->topic, p->partition, &low, &high)) high = p->next;
        if (known >= 0) high = WR_MAX(high, s->known.at[known].high);
        *done += (uint64_t)(p->next - p->first);
        *total += (uint64_t)(WR_MAX(WR_MIN(high, p->end), p->next) - p->first);
    }
    wr_mutex_unlock(s->lock);
}

static void source_describe(wr_source *base, wr_sbuf *out) {
    static const char *const starts[] = {"from the beginning", "from the end", "from the group's offsets", "from a time", "from given offsets"};
    kafka_source *s = (kafka_source *)base;
    wr_sbuf_printf(out, "%u partition%s, %s, %s", s->parts.n, s->parts.n == 1 ? "" : "s", s->bounded ? "bounded" : "endless", s->loaded ? "from the saved positions" : starts[s->start]);
}

static void source_close(wr_source *base) {
    kafka_source *s = (kafka_source *)base;
    if (s->thread) {
        wr_mutex_lock(s->lock);
        s->stopping = true;
        wr_mutex_unlock(s->lock);
        wr_bell_ring(s->bell);
        s->world->vt->join(s->world, s->thread);
    }
    for (uint32_t i = 0; i < s->parts.n; i++) free_part(s->parts.at[i]);
    wr_arr_free(&s->parts);
    for (uint32_t i = 0; i < s->known.n; i++) wr_free(s->known.at[i].topic);
    wr_arr_free(&s->known);
    wr_arr_free(&s->found);
    if (s->reader.rk) kafka_client_close(&s->reader);
    if (s->admin.rk) kafka_client_close(&s->admin);
    message_reader_close(&s->messages);
    if (s->acct) wr_account_add(s->acct, -s->charged);
    kafka_topics_free(&s->topics);
    wr_bell_free(s->bell);
    wr_mutex_free(s->lock);
    wr_arena_free(s->arena);
    wr_free(s);
}

static const wr_source_vt source_vt = {
    .name = "kafka", .next = source_next, .decode = source_decode, .partitions = source_partitions, .partition_name = source_partition_name, .partition_done = source_partition_done,
    .save = source_save, .load = source_load, .until = source_until, .at_limit = source_at_limit, .lasting = source_lasting, .describe = source_describe, .progress = source_progress,
    .bounded = source_bounded, .close = source_close, .beside = source_beside, .again = source_again, .glance = message_source_glance, .messages = true};

/* ---- making one ---- */

static wr_status need_option(const wr_table_info *t, wr_connect_ctx *ctx, const char *mode_key, const char *key) {
    return wr_options_find(&t->options, key) ? WR_OK : option_error(ctx, t, mode_key, "WR122", "this needs '%s'", key);
}

static wr_status need_offsets(const wr_table_info *t, wr_connect_ctx *ctx, const char *mode_key, const char *key, wr_str *list) {
    int64_t offset;
    bool    found;
    WR_TRY(need_option(t, ctx, mode_key, key));
    *list = option_text(t, kafka_specs, key);
    return message_offset(*list, -1, &offset, &found) ? WR_OK : option_error(ctx, t, key, "WR121", "expected 'partition:0,offset:42;partition:1,offset:300'");
}

/* scan.startup.mode, scan.bounded.mode and what belongs to them. */
static wr_status read_modes(kafka_source *s, const wr_table_info *t, wr_connect_ctx *ctx) {
    static const char *const starts[] = {"earliest-offset", "latest-offset", "group-offsets", "timestamp", "specific-offsets"};
    static const char *const stops[] = {"unbounded", "latest-offset", "group-offsets", "timestamp", "specific-offsets"};
    bool upsert = s->messages.format.upsert;
    s->start = upsert ? START_EARLIEST : option_choice(t, kafka_specs, "scan.startup.mode", starts, 5);
    s->stop = option_choice(t, kafka_specs, "scan.bounded.mode", stops, 5);
    wr_str reset = option_text(t, kafka_specs, "properties.auto.offset.reset");
    s->grouped = option_text(t, kafka_specs, "properties.group.id").len != 0;
    s->reset_earliest = wr_str_ieq(reset, WR_STR("earliest")), s->reset_latest = wr_str_ieq(reset, WR_STR("latest"));
    if (!upsert && !wr_options_find(&t->options, "scan.startup.mode") && !s->grouped) {
        wr_diags_add(ctx->diags, WR_SEV_ERROR, "WR122", t->at, "table '%.*s': where to start? without 'scan.startup.mode' it is from the group's offsets, and there is no 'properties.group.id'", WR_FMT(t->name));
        wr_diags_hint(ctx->diags, "'scan.startup.mode' = 'earliest-offset' reads all that the topic holds, 'latest-offset' only what comes from now on");
        return WR_USER;
    }
    if (!upsert && !wr_options_find(&t->options, "scan.startup.mode")) s->start = START_GROUP;
    if ((s->start == START_GROUP || s->stop == END_GROUP) && !s->grouped) return option_error(ctx, t, "scan.startup.mode", "WR122", "'group-offsets' needs 'properties.group.id'");
    if (s->start == START_TIMESTAMP) WR_TRY(need_option(t, ctx, "scan.startup.mode", "scan.startup.timestamp-millis"));
    if (s->start == START_SPECIFIC) WR_TRY(need_offsets(t, ctx, "scan.startup.mode", "scan.startup.specific-offsets", &s->start_offsets));
    if (s->stop == END_TIMESTAMP) WR_TRY(need_option(t, ctx, "scan.bounded.mode", "scan.bounded.timestamp-millis"));
    if (s->stop == END_SPECIFIC) WR_TRY(need_offsets(t, ctx, "scan.bounded.mode", "scan.bounded.specific-offsets", &s->stop_offsets));
    if (!wr_option_int(&t->options, kafka_specs, "scan.startup.timestamp-millis", &s->start_ms, ctx->diags) ||
        !wr_option_int(&t->options, kafka_specs, "scan.bounded.timestamp-millis", &s->stop_ms, ctx->diags) ||
        !wr_option_duration(&t->options, kafka_specs, "scan.topic-partition-discovery.interval", &s->discover_us, ctx->diags)) return WR_USER;
    if (ctx->bounded_override && s->stop == END_NEVER) s->stop = END_LATEST;
    if (ctx->tail_override) s->stop = END_NEVER;
    s->bounded = s->stop != END_NEVER;
    return WR_OK;
}

static rd_kafka_conf_t *make_conf(const kafka_source *s, const wr_table_info *t, wr_connect_ctx *ctx, bool reader, uint32_t n_parts) {
    rd_kafka_conf_t *conf = kafka.conf_new();
    char             text[40], group[300];
    snprintf(group, sizeof group, "weir-%.*s", (int)WR_MIN(s->table.len, 200u), s->table.ptr); /* the client wants one, even if nothing is committed */
    kafka_conf_set(conf, "group.id", group);
    if (reader) {
        int64_t bytes = WR_MIN(FETCH_BYTES / WR_MAX(n_parts, 1u), PART_BYTES) / 2; /* half for the messages' bytes, half for what is needed beside them */
        snprintf(text, sizeof text, "%" PRIi64, WR_MAX(bytes / 1024, 64));
        kafka_conf_set(conf, "queued.max.messages.kbytes", text);
        snprintf(text, sizeof text, "%u", s->queue_messages);
        kafka_conf_set(conf, "queued.min.messages", text);
        snprintf(text, sizeof text, "%" PRIi64, WR_MIN(WR_MAX(bytes, 64 << 10), 1 << 20)); /* of one answer */
        kafka_conf_set(conf, "max.partition.fetch.bytes", text);
        (void)kafka.conf_set(conf, "fetch.queue.backoff.ms", "5", NULL, 0); /* since 2.2; before, and again with it, see Filling */
        kafka_conf_set(conf, "enable.partition.eof", "true");
        kafka_conf_set(conf, "fetch.wait.max.ms", "50");
        kafka_conf_set(conf, "fetch.error.backoff.ms", "100");
    }
    if (!kafka_conf_properties(conf, t, ctx)) {
        kafka.conf_destroy(conf);
        return NULL;
    }
    kafka_conf_set(conf, "enable.auto.commit", "false");
    kafka_conf_set(conf, "enable.auto.offset.store", "false");
    kafka_conf_set(conf, "auto.offset.reset", "error");
    return conf;
}

static wr_status open_clients(kafka_source *s, const wr_table_info *t, wr_connect_ctx *ctx, wr_err *err) {
    rd_kafka_conf_t *conf = make_conf(s, t, ctx, false, 0);
    if (!conf) return WR_USER;
    WR_TRY(kafka_client_open(&s->admin, RD_KAFKA_CONSUMER, conf, t, err));
    kafka.poll_set_consumer(s->admin.rk);
    WR_TRY(discover(s, true, err));
    WR_TRY(check_topics(s, err));
    s->queue_messages = (uint32_t)WR_MAX(WR_MIN(FETCH_BYTES / WR_MAX(s->known.n, 1u), PART_BYTES) / 2 / MESSAGE_BYTES, 100);
    conf = make_conf(s, t, ctx, true, s->known.n);
    if (!conf) return WR_USER;
    WR_TRY(kafka_client_open(&s->reader, RD_KAFKA_CONSUMER, conf, t, err));
    kafka.poll_set_consumer(s->reader.rk);
    take_found(s);
    s->charged = WR_MIN((int64_t)FETCH_BYTES, (int64_t)s->known.n * PART_BYTES);
    if (s->acct) wr_account_add(s->acct, s->charged);
    return s->world->vt->spawn(s->world, "kafka-partitions", discovery, s, &s->thread, err);
}

wr_status kafka_source_new(const wr_table_info *t, wr_connect_ctx *ctx, wr_source **out, wr_err *err) {
    *out = NULL;
    WR_TRY(kafka_load(err));
    static const message_key keys[] = {{"topic", MESSAGE_TEXT}, {"partition", MESSAGE_INT}, {"offset", MESSAGE_BIGINT}, {"timestamp", MESSAGE_TIME}, {"timestamp-type", MESSAGE_TEXT},
                                       {"headers", MESSAGE_HEADERS}, {"leader-epoch", MESSAGE_INT}, {0}};
    kafka_source *s = wr_calloc(1, sizeof *s);
    *s = (kafka_source){.base = {&source_vt}, .world = ctx->world, .acct = ctx->acct, .arena = wr_arena_new(NULL), .table = t->name, .at = t->at, .wait_us = WAIT_US, .wake = ctx->wake, .wake_arg = ctx->wake_arg, .bell = wr_bell_new(),
                        .lock = wr_mutex_new()};
    wr_status status = message_reader_open(&s->messages, t, keys, kafka_is_upsert(t), s->arena, ctx);
    s->headers = status == WR_OK && message_reader_wants(&s->messages, "headers");
    if (status == WR_OK) status = read_modes(s, t, ctx);
    if (status == WR_OK) status = kafka_topics_read(&s->topics, t, ctx);
    if (status == WR_OK) status = open_clients(s, t, ctx, err);
    if (status != WR_OK) {
        source_close(&s->base);
        return status;
    }
    *out = &s->base;
    return WR_OK;
}
