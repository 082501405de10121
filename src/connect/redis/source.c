/* connect/redis/source.c: the source of 'redis-streams': entries of streams, read by own positions.
 *
 * Idea       no consumer group: the position of each stream is the id of the entry that was handed out last, and the checkpoint keeps it, so that what is read
 *            after a crash is what came after the checkpoint. One request (XRANGE) per stream is always on its way while rows are wanted: next takes the
 *            answer if it has arrived and never waits for it.
 * Entries    with 'value.field' that field is the record, 'key.field' its key, the others are headers; without it the fields become the members of a JSON
 *            object, whose columns are read from their texts.
 * Lost       a stream may be cut (XTRIM, MAXLEN): entries behind the saved position that are gone already are an error, never skipped in silence. Redis counts
 *            what was ever added to a stream; the count at the saved position is part of the positions.
 * Bounds     FETCH entries a request, one request and one chunk per stream.
 * Thread     next, save, load: under the turn lock; decode: any worker, sees only the chunk.                                                         */
#include "connect/messages.h"
#include "connect/redis/lib.h"
#include <inttypes.h>
#include <stdio.h>

enum { FETCH = 1024, CHUNK_BYTES = 256 * 1024, SAVE_VERSION = 1, WAIT_US = 500, WAIT_MAX_US = 10000, LOST_WAIT_US = 200000 };
enum { START_EARLIEST, START_LATEST, START_TIMESTAMP, START_SPECIFIC };

typedef struct stream_part {
    const char *key;
    redis_id    last, end;      /* handed out last; end: the last one that is read */
    uint64_t    added;          /* entries of the stream up to `last`, ever; UINT64_MAX: not known */
    bool        endless, done, asked;
    redisReply *rest;           /* of an answer that did not fit into one chunk */
    size_t      at;
} stream_part;

typedef struct redis_source {
    wr_source         base;
    wr_arena         *arena;
    redis_conn        conn;
    redis_layout      layout;
    message_reader    messages;
    uint32_t          n_parts, turn, wanted; /* wanted: the part whose answer comes next */
    stream_part      *parts;
    bool              headers, bounded, limited, loaded;
    int               start;
    int64_t           wait_us, lost_us; /* lost_us: since when there is no connection; 0: there is one */
    wr_sbuf           json;
} redis_source;

/* ---- asking ---- */

static bool element(const redisReply *r, size_t i, int type) { return r->type == REDIS_REPLY_ARRAY && i < r->elements && r->element[i]->type == type; }
static wr_str text_of(const redisReply *r) { return (wr_str){r->str, (size_t)r->len}; }

/* One entry: [id, [field, value, ...]]. */
static bool entry_of(const redisReply *r, redis_id *id, const redisReply **fields) {
    if (!element(r, 0, REDIS_REPLY_STRING) || !element(r, 1, REDIS_REPLY_ARRAY) || r->element[1]->elements % 2) return false;
    *fields = r->element[1];
    for (size_t i = 0; i < (*fields)->elements; i++)
        if ((*fields)->element[i]->type != REDIS_REPLY_STRING) return false;
    return redis_id_parse(text_of(r->element[0]), id);
}

typedef struct stream_info { bool there; redis_id last, first; uint64_t added, length; } stream_info; /* added UINT64_MAX: an older Redis does not say */

static wr_status ask_info(redis_source *s, const char *key, stream_info *out, wr_err *err) {
    redisReply       *r;
    const redisReply *fields;
    *out = (stream_info){.added = UINT64_MAX};
    WR_TRY(redis_call(&s->conn, "look at the stream", &r, err, "EXISTS", key, NULL));
    out->there = r->type == REDIS_REPLY_INTEGER && r->integer > 0;
    redis.free_reply(r);
    if (!out->there) return WR_OK;
    WR_TRY(redis_call(&s->conn, "look at the stream", &r, err, "XINFO", "STREAM", key, NULL));
    for (size_t i = 0; r->type == REDIS_REPLY_ARRAY && i + 1 < r->elements; i += 2) {
        const redisReply *name = r->element[i], *value = r->element[i + 1];
        wr_str            what = name->type == REDIS_REPLY_STRING ? text_of(name) : WR_STR("");
        if (wr_str_eq(what, WR_STR("length")) && value->type == REDIS_REPLY_INTEGER) out->length = (uint64_t)value->integer;
        if (wr_str_eq(what, WR_STR("entries-added")) && value->type == REDIS_REPLY_INTEGER) out->added = (uint64_t)value->integer;
        if (wr_str_eq(what, WR_STR("last-generated-id")) && value->type == REDIS_REPLY_STRING) (void)redis_id_parse(text_of(value), &out->last);
        if (wr_str_eq(what, WR_STR("first-entry")) && value->type == REDIS_REPLY_ARRAY) (void)entry_of(value, &out->first, &fields);
    }
    redis.free_reply(r);
    return WR_OK;
}

/* Entries up to `last`, ever: those that are behind it are counted. */
static wr_status count_added(redis_source *s, stream_part *p, const stream_info *info, wr_err *err) {
    p->added = info->added;
    if (info->added == UINT64_MAX || !redis_id_less(p->last, info->last)) return WR_OK;
    if (redis_id_less(p->last, info->first)) {
        p->added = info->added - info->length;
        return WR_OK;
    }
    p->added = UINT64_MAX; /* a start in the middle: not worth reading the stream for */
    (void)s, (void)err;
    return WR_OK;
}

static wr_status begin_part(redis_source *s, stream_part *p, redis_id from, wr_err *err) {
    stream_info info;
    WR_TRY(ask_info(s, p->key, &info, err));
    p->last = s->start == START_LATEST ? info.last : from;
    p->endless = !s->bounded;
    p->end = info.last;
    p->done = !p->endless && !redis_id_less(p->last, p->end);
    return count_added(s, p, &info, err);
}

/* ---- reading ---- */

static void forget_answer(stream_part *p) {
    if (p->rest) redis.free_reply(p->rest);
    p->rest = NULL;
    p->at = 0;
    p->asked = false;
}

static wr_status ask(redis_source *s, stream_part *p, wr_err *err) {
    redis_args args = {0};
    char       from[48], to[48], count[16];
    snprintf(from, sizeof from, "(%" PRIu64 "-%" PRIu64, p->last.ms, p->last.seq);
    snprintf(to, sizeof to, "%" PRIu64 "-%" PRIu64, p->end.ms, p->end.seq);
    snprintf(count, sizeof count, "%d", FETCH);
    redis_begin(&args, "XRANGE");
    redis_arg(&args, wr_str_of(p->key)), redis_arg(&args, wr_str_of(from)), redis_arg(&args, wr_str_of(p->endless ? "+" : to));
    redis_arg(&args, WR_STR("COUNT")), redis_arg(&args, wr_str_of(count));
    wr_status status = redis_send(&s->conn, &args, err);
    redis_args_free(&args);
    p->asked = status == WR_OK;
    return status;
}

/* One attempt a call, so that the job can be stopped meanwhile. What was asked is lost with the connection; the positions are not. */
static wr_status be_connected(redis_source *s, bool *there, wr_err *err) {
    wr_err own = {0}, *e = err ? err : &own;
    *there = !redis_lost(&s->conn);
    if (*there) return WR_OK;
    int64_t now = wr_mono_us(s->conn.world);
    for (uint32_t i = 0; i < s->n_parts; i++) s->parts[i].asked = false;
    if (!s->lost_us) s->lost_us = now;
    wr_status status = redis_try(&s->conn, e);
    *there = status == WR_OK;
    if (*there || !e->retriable || now - s->lost_us > s->conn.retry_us) return status;
    redis_close(&s->conn);
    return WR_OK;
}

/* A round: a request for each stream that may be read. Answers come in the same order. */
static wr_status ask_all(redis_source *s, const uint64_t *held, wr_err *err) {
    bool any = false;
    for (uint32_t i = 0; i < s->n_parts; i++) any |= s->parts[i].asked;
    if (any) return WR_OK; /* one round at a time */
    for (uint32_t k = 0; k < s->n_parts; k++) {
        uint32_t     i = (s->turn + k) % s->n_parts;
        stream_part *p = &s->parts[i];
        if (!p->done && !p->rest && !is_held(held, i)) WR_TRY(ask(s, p, err));
    }
    s->wanted = s->turn;
    return WR_OK;
}

/* The next answer of the round, if it has arrived. *which: n_parts, none. */
static wr_status take_answer(redis_source *s, uint32_t *which, wr_err *err) {
    *which = s->n_parts;
    for (uint32_t k = 0; k < s->n_parts; k++) {
        uint32_t     i = (s->wanted + k) % s->n_parts;
        stream_part *p = &s->parts[i];
        redisReply  *r;
        if (!p->asked) continue;
        WR_TRY(redis_poll(&s->conn, "read the stream", &r, err));
        if (!r) return WR_OK;
        p->asked = false;
        s->lost_us = 0;
        s->wanted = (i + 1) % s->n_parts;
        if (r->type == REDIS_REPLY_ARRAY && r->elements) {
            p->rest = r;
            p->at = 0;
            *which = i;
            return WR_OK;
        }
        redis.free_reply(r);
        p->done = !p->endless; /* nothing is left up to the end */
        if (p->done) {
            *which = i;
            return WR_OK;
        }
    }
    return WR_OK;
}

static void put_json(redis_source *s, const redisReply *fields) {
    wr_sbuf_clear(&s->json);
    for (size_t f = 0; f < fields->elements; f += 2) {
        wr_sbuf_addc(&s->json, f ? ',' : '{');
        wr_sbuf_add_json(&s->json, text_of(fields->element[f]));
        wr_sbuf_addc(&s->json, ':');
        wr_sbuf_add_json(&s->json, text_of(fields->element[f + 1]));
    }
    wr_sbuf_addz(&s->json, fields->elements ? "}" : "{}");
}

/* False: no room. */
static bool note_entry(redis_source *s, message_note *note, wr_str id_text, redis_id id, const redisReply *fields) {
    wr_str key = {NULL, 0}, value = {NULL, 0};
    if (s->layout.value.len) {
        for (size_t f = 0; f < fields->elements; f += 2) {
            if (wr_str_eq(text_of(fields->element[f]), s->layout.value)) value = text_of(fields->element[f + 1]);
            else if (s->messages.format.key && wr_str_eq(text_of(fields->element[f]), s->layout.key)) key = text_of(fields->element[f + 1]);
        }
    } else {
        put_json(s, fields);
        value = wr_sbuf_str(&s->json);
    }
    uint32_t i = note->records.n;
    if (!message_note_add(note, key, value, 0, (int64_t)id.ms)) return false;
    char *text = wr_mem_alloc(note->records.mem, id_text.len + 1);
    memcpy(text, id_text.ptr, id_text.len);
    note->ids[i] = (wr_str){text, id_text.len};
    for (size_t f = 0; s->headers && s->layout.value.len && f < fields->elements; f += 2) {
        wr_str name = text_of(fields->element[f]);
        if (!wr_str_eq(name, s->layout.value) && !(s->messages.format.key && wr_str_eq(name, s->layout.key))) message_note_header(note, name, text_of(fields->element[f + 1]));
    }
    return true;
}

static wr_status give(redis_source *s, uint32_t index, wr_chunk *out, wr_err *err) {
    stream_part  *p = &s->parts[index];
    wr_mem       *mem = wr_mem_new(CHUNK_BYTES + 96 * 1024);
    message_note *note = wr_mem_calloc(mem, sizeof *note);
    note->topic = wr_str_of(p->key); /* lives as long as the source */
    message_note_open(note, mem, CHUNK_BYTES / 4, CHUNK_BYTES, s->headers);
    note->ids = wr_mem_alloc(mem, WR_RECORDS_MAX * sizeof *note->ids);
    for (; p->rest && p->at < p->rest->elements; p->at++) {
        const redisReply *fields;
        redis_id          id;
        if (!entry_of(p->rest->element[p->at], &id, &fields)) {
            wr_mem_unref(mem);
            return redis_fail(&s->conn, p->rest, "read an entry of the stream", err);
        }
        if (!note_entry(s, note, text_of(p->rest->element[p->at]->element[0]), id, fields)) break;
        p->last = id;
        if (p->added != UINT64_MAX) p->added++;
    }
    if (p->rest && p->at == p->rest->elements) forget_answer(p);
    p->done = !p->endless && !p->rest && !redis_id_less(p->last, p->end);
    *out = (wr_chunk){.partition = index, .last = p->done && !s->limited};
    if (note->records.n) out->mem = mem, out->data = (const uint8_t *)note, out->len = note->records.value_len + note->records.key_len + 1, out->rows_from = (uint64_t)(uintptr_t)note;
    else wr_mem_unref(mem);
    s->turn = (index + 1) % s->n_parts;
    return WR_OK;
}

static wr_status source_next(wr_source *base, const uint64_t *held, wr_chunk *out, wr_next *state, int64_t *retry_us, wr_err *err) {
    redis_source *s = (redis_source *)base;
    uint32_t      which = s->n_parts;
    *out = (wr_chunk){0};
    for (uint32_t k = 0; k < s->n_parts && which == s->n_parts; k++) {
        uint32_t i = (s->turn + k) % s->n_parts;
        if (s->parts[i].rest && !is_held(held, i)) which = i;
    }
    if (which == s->n_parts) {
        bool there;
        WR_TRY(be_connected(s, &there, err));
        if (!there) {
            *state = WR_NEXT_WAIT;
            *retry_us = LOST_WAIT_US;
            return WR_OK;
        }
        wr_status status = ask_all(s, held, err);
        if (status == WR_OK) status = take_answer(s, &which, err);
        if (status != WR_OK) { /* what passes: another connection the next time */
            if (!redis_lost(&s->conn) && !(err && err->retriable)) return status;
            redis_close(&s->conn);
        }
    }
    if (which < s->n_parts) {
        s->wait_us = WAIT_US;
        *state = WR_NEXT_CHUNK;
        return give(s, which, out, err);
    }
    bool all_done = s->bounded && !s->limited;
    for (uint32_t i = 0; i < s->n_parts; i++) all_done &= s->parts[i].done;
    *state = all_done ? WR_NEXT_END : WR_NEXT_WAIT;
    *retry_us = s->wait_us;
    s->wait_us = WR_MIN(s->wait_us + s->wait_us / 4, (int64_t)WAIT_MAX_US); /* a stream at rest costs 100 requests a second */
    return WR_OK;
}

static wr_status source_decode(wr_source *base, uint32_t worker, const wr_chunk *chunk, wr_decoded *out, wr_err *err) {
    (void)err;
    redis_source       *s = (redis_source *)base;
    const message_note *note = (const message_note *)(uintptr_t)chunk->rows_from;
    if (chunk->len) message_decode(&s->messages, worker, note, out);
    return WR_OK;
}

/* ---- dead letters: an entry as it was, and back ---- */

static wr_status source_again(wr_source *base, const wr_again *r, wr_chunk *out, wr_err *err) {
    redis_source *s = (redis_source *)base;
    wr_mem       *mem = wr_mem_new(r->raw.len + 4096);
    message_note *note = wr_mem_calloc(mem, sizeof *note);
    char         *topic = wr_mem_alloc(mem, r->partition.len + 1);
    memcpy(topic, r->partition.ptr ? r->partition.ptr : "", r->partition.len);
    note->topic = (wr_str){topic, r->partition.len};
    if (!message_again(note, mem, r, s->messages.format.key != NULL, s->headers)) {
        wr_mem_unref(mem);
        return wr_fail(err, WR_DATA, "54000", "table '%.*s': an entry is too long to be put back", WR_FMT(s->conn.name));
    }
    *out = (wr_chunk){.mem = mem, .data = (const uint8_t *)note, .len = note->records.value_len + 1, .rows_from = (uint64_t)(uintptr_t)note};
    return WR_OK;
}

/* ---- positions ---- */

static void put_id(wr_sbuf *out, redis_id id) { wr_put_u64(out, id.ms), wr_put_u64(out, id.seq); }
static redis_id get_id(wr_reader *in) {
    redis_id id = {.ms = wr_get_u64(in)};
    id.seq = wr_get_u64(in);
    return id;
}

static void source_save(wr_source *base, wr_sbuf *out) {
    redis_source *s = (redis_source *)base;
    wr_put_u8(out, SAVE_VERSION);
    wr_put_u32(out, s->n_parts);
    for (uint32_t i = 0; i < s->n_parts; i++) {
        const stream_part *p = &s->parts[i];
        wr_put_bytes(out, p->key, strlen(p->key));
        put_id(out, p->last), put_id(out, p->endless ? (redis_id){UINT64_MAX, UINT64_MAX} : p->end);
        wr_put_u64(out, p->added);
    }
}

typedef struct saved_part { wr_str key; redis_id last, end; uint64_t added; } saved_part;
static bool get_part(wr_reader *in, saved_part *p) {
    p->key = wr_get_bytes(in);
    p->last = get_id(in), p->end = get_id(in);
    p->added = wr_get_u64(in);
    return !in->bad;
}
static stream_part *part_of(redis_source *s, wr_str key) {
    for (uint32_t i = 0; i < s->n_parts; i++)
        if (wr_str_eq(wr_str_of(s->parts[i].key), key)) return &s->parts[i];
    return NULL;
}

/* What was added behind the saved position must be there still. */
static wr_status check_lost(redis_source *s, const stream_part *p, wr_err *err) {
    stream_info info;
    WR_TRY(ask_info(s, p->key, &info, err));
    bool     anew = redis_id_less(info.last, p->last);
    uint64_t gone = info.added == UINT64_MAX || p->added == UINT64_MAX || info.added < p->added ? 0 : info.added - p->added;
    gone = gone > info.length && redis_id_less(p->last, info.first) ? gone - info.length : 0;
    if (!anew && !gone) return WR_OK;
    if (anew) wr_fail(err, WR_DATA, "WR352", "table '%.*s': the stream '%s' ends at entry %" PRIu64 "-%" PRIu64 ", before the one that was read last (%" PRIu64 "-%" PRIu64 ")", WR_FMT(s->conn.name),
                      p->key, info.last.ms, info.last.seq, p->last.ms, p->last.seq);
    else wr_fail(err, WR_DATA, "WR352", "table '%.*s': %" PRIu64 " entries of the stream '%s' were removed before they were read", WR_FMT(s->conn.name), gone, p->key);
    wr_err_detail(err, anew ? "it was made anew, or the server lost what it had not written to disk" : "the stream was cut (XTRIM, or MAXLEN of XADD) while the job was away");
    wr_err_hint(err, "begin with a new --state-dir to go on without them; keep more entries next time");
    if (err) err->at = s->conn.at;
    return WR_DATA;
}

static wr_status source_load(wr_source *base, wr_reader *in, wr_err *err) {
    redis_source *s = (redis_source *)base;
    if (wr_get_u8(in) != SAVE_VERSION) return wr_fail(err, WR_CORRUPT, "XX001", "the saved positions of the table '%.*s' are damaged", WR_FMT(s->conn.name));
    for (uint32_t n = wr_get_u32(in); n > 0; n--) {
        saved_part saved;
        if (!get_part(in, &saved)) return wr_fail(err, WR_CORRUPT, "XX001", "the saved positions of the table '%.*s' are damaged", WR_FMT(s->conn.name));
        stream_part *p = part_of(s, saved.key);
        if (!p) continue; /* the table has it no more */
        p->last = saved.last, p->added = saved.added;
        if (s->bounded && saved.end.ms != UINT64_MAX) p->end = saved.end; /* else of a run without an end: up to where the stream ends now */
        p->done = !p->endless && !redis_id_less(p->last, p->end);
        WR_TRY(check_lost(s, p, err));
    }
    s->loaded = true;
    return WR_OK;
}

static wr_status source_until(wr_source *base, wr_reader *in, wr_err *err) {
    redis_source *s = (redis_source *)base;
    if (wr_get_u8(in) != SAVE_VERSION) return wr_fail(err, WR_CORRUPT, "XX001", "the saved positions of the table '%.*s' are damaged", WR_FMT(s->conn.name));
    s->limited = true;
    for (uint32_t i = 0; i < s->n_parts; i++) s->parts[i].endless = false, s->parts[i].end = s->parts[i].last;
    for (uint32_t n = wr_get_u32(in); n > 0; n--) {
        saved_part saved;
        if (!get_part(in, &saved)) return wr_fail(err, WR_CORRUPT, "XX001", "the saved positions of the table '%.*s' are damaged", WR_FMT(s->conn.name));
        stream_part *p = part_of(s, saved.key);
        if (!p) return wr_fail(err, WR_DATA, "WR352", "table '%.*s': the stream '%.*s' was read and is not of the table any more", WR_FMT(s->conn.name), WR_FMT(saved.key));
        p->end = saved.last;
        if (s->start != START_EARLIEST || s->loaded || saved.added == UINT64_MAX || p->added == 0) continue;
        wr_fail(err, WR_DATA, "WR352", "table '%.*s': the beginning of the stream '%s' has been removed, so it cannot be read again from its start", WR_FMT(s->conn.name), p->key);
        wr_err_hint(err, "keep more entries: XTRIM and MAXLEN remove the oldest");
        return WR_DATA;
    }
    for (uint32_t i = 0; i < s->n_parts; i++) s->parts[i].done = !redis_id_less(s->parts[i].last, s->parts[i].end);
    return WR_OK;
}

static bool source_at_limit(wr_source *base) {
    redis_source *s = (redis_source *)base;
    for (uint32_t i = 0; i < s->n_parts; i++)
        if (!s->parts[i].done) return false;
    return s->limited;
}

/* ---- reports ---- */

static uint32_t source_partitions(wr_source *base) { return ((redis_source *)base)->n_parts; }
static bool     source_bounded(wr_source *base) { return ((redis_source *)base)->bounded; }
static bool     source_partition_done(wr_source *base, uint32_t i) { return ((redis_source *)base)->parts[i].done; }
static void     source_partition_name(wr_source *base, uint32_t i, wr_sbuf *out) { wr_sbuf_addz(out, ((redis_source *)base)->parts[i].key); }
static void     source_progress(wr_source *base, uint64_t *done, uint64_t *total) { (void)base, *done = *total = 0; }

static void source_describe(wr_source *base, wr_sbuf *out) {
    static const char *const starts[] = {"from the beginning", "from the end", "from a time", "from a given entry"};
    redis_source *s = (redis_source *)base;
    wr_sbuf_printf(out, "%u stream%s at %s:%d, %s, %s", s->n_parts, s->n_parts == 1 ? "" : "s", s->conn.host, s->conn.port, s->bounded ? "bounded" : "endless",
                   s->loaded ? "from the saved positions" : starts[s->start]);
}

static void source_close(wr_source *base) {
    redis_source *s = (redis_source *)base;
    for (uint32_t i = 0; i < s->n_parts; i++) forget_answer(&s->parts[i]);
    message_reader_close(&s->messages);
    redis_close(&s->conn);
    wr_sbuf_free(&s->json);
    wr_arena_free(s->arena);
    wr_free(s);
}

static const wr_source_vt source_vt = {
    .name = "redis-streams", .next = source_next, .decode = source_decode, .partitions = source_partitions, .partition_name = source_partition_name, .partition_done = source_partition_done,
    .save = source_save, .load = source_load, .until = source_until, .at_limit = source_at_limit, .describe = source_describe, .progress = source_progress, .bounded = source_bounded,
    .close = source_close, .beside = message_source_beside, .again = source_again, .glance = message_source_glance, .messages = true};

/* ---- making one ---- */

static wr_status read_start(redis_source *s, const wr_table_info *t, wr_connect_ctx *ctx, redis_id *from) {
    static const char *const starts[] = {"earliest-offset", "latest-offset", "timestamp", "specific-offsets"};
    int64_t ms = 0;
    *from = (redis_id){0};
    s->start = option_choice(t, redis_specs, "scan.startup.mode", starts, 4);
    if (!wr_option_int(&t->options, redis_specs, "scan.startup.timestamp-millis", &ms, ctx->diags)) return WR_USER;
    if (s->start == START_TIMESTAMP) {
        if (!wr_options_find(&t->options, "scan.startup.timestamp-millis") || ms < 1) return option_error(ctx, t, "scan.startup.mode", "WR122", "this needs 'scan.startup.timestamp-millis'");
        *from = (redis_id){(uint64_t)ms - 1, UINT64_MAX};
    }
    if (s->start == START_SPECIFIC && !redis_id_parse(option_text(t, redis_specs, "scan.startup.id"), from))
        return option_error(ctx, t, "scan.startup.mode", "WR122", "this needs 'scan.startup.id', the entry to begin behind, as in '1700000000000-0'");
    bool bounded = wr_str_ieq(option_text(t, redis_specs, "scan.bounded.mode"), WR_STR("latest-offset"));
    s->bounded = (bounded || ctx->bounded_override) && !ctx->tail_override;
    return WR_OK;
}

static wr_status open_streams(redis_source *s, const wr_table_info *t, wr_connect_ctx *ctx, wr_err *err) {
    wr_str   list = option_text(t, redis_specs, "stream"), key;
    redis_id from;
    WR_TRY(read_start(s, t, ctx, &from));
    s->parts = wr_new_n(s->arena, stream_part, list.len / 2 + 2);
    for (; wr_str_next(&list, ';', &key);) {
        if (!key.len || part_of(s, key)) continue;
        s->parts[s->n_parts++] = (stream_part){.key = wr_arena_strndup(s->arena, key.ptr, key.len)};
    }
    if (!s->n_parts) return option_error(ctx, t, "stream", "WR121", "'stream' is empty");
    WR_TRY(redis_connect(&s->conn, err));
    for (uint32_t i = 0; i < s->n_parts; i++) WR_TRY(begin_part(s, &s->parts[i], from, err));
    return WR_OK;
}

wr_status redis_source_new(const wr_table_info *t, wr_connect_ctx *ctx, wr_source **out, wr_err *err) {
    static const message_key keys[] = {{"stream", MESSAGE_TEXT}, {"id", MESSAGE_TEXT}, {"timestamp", MESSAGE_TIME}, {"headers", MESSAGE_HEADERS}, {0}};
    redis_source *s = wr_calloc(1, sizeof *s);
    *out = NULL;
    *s = (redis_source){.base = {&source_vt}, .arena = wr_arena_new(NULL), .wait_us = WAIT_US};
    wr_status status = redis_open(&s->conn, t, s->arena, ctx, err);
    if (status == WR_OK) status = redis_layout_read(&s->layout, t, ctx);
    if (status == WR_OK) status = message_reader_open(&s->messages, t, keys, false, s->arena, ctx);
    s->headers = status == WR_OK && message_reader_wants(&s->messages, "headers");
    if (s->headers && !s->layout.value.len) status = option_error(ctx, t, "stream", "WR126", "without 'value.field' every field is a column, so there are no headers");
    if (status == WR_OK) status = open_streams(s, t, ctx, err);
    if (status != WR_OK) {
        source_close(&s->base);
        return status;
    }
    *out = &s->base;
    return WR_OK;
}
