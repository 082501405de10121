/* connect/nats/source.c: the source of 'nats': messages of a JetStream stream, read by own positions.
 *
 * Idea       the position is the sequence number of the message that was handed out last, and the checkpoint keeps it, so that what is read after a crash is what came
 *            after the checkpoint. Nothing is acknowledged: the consumer on the server is only a cursor, made anew at the position whenever the connection was lost.
 * Lost       a stream's oldest messages may be removed (limits of age, size, number; purge): when the position lies before the stream's first message, they are an error,
 *            with their number. What was removed one by one, or pushed out by a newer message of its subject, was meant to go and is not one.
 * Filter     with 'subject' the position moves on over messages of other subjects too: when a request has run out and nothing is pending, it is the stream's end.
 * End        of a bounded read: the last number at the start is reached, or the server says that nothing of these subjects follows.
 * Bounds     one request (4096 messages, 8 MiB) is on its way; one chunk.
 * Thread     next, save, load: under the turn lock; decode: any worker, sees only the chunk. next waits for the server only when it connects (2 s at most).           */
#include "connect/messages.h"
#include "connect/nats/lib.h"
#include <inttypes.h>
#include <stdio.h>

enum { CHUNK_BYTES = 256 * 1024, SAVE_VERSION = 1, WAIT_US = 500, WAIT_MAX_US = 10000, LOST_WAIT_US = 200000, EXPIRES_US = 2000000, BOUNDED_EXPIRES_US = 1000000 };
enum { START_EARLIEST, START_LATEST, START_TIMESTAMP, START_SPECIFIC };

typedef struct nats_source {
    wr_source         base;
    wr_arena         *arena;
    nats_conn         conn;
    nats_reader       reader;
    nats_message      kept;               /* for which the last chunk had no room */
    message_reader    messages;
    bool              headers, bounded, limited, loaded, endless, done, is_open, subjects;
    bool              anchored;           /* `last` has been read: what follows it must be there */
    bool              replaces;
    int               start;
    uint64_t          last, end;          /* handed out last; the last one that is read */
    int64_t           from_ns, created_ns; /* from_ns: last is not known yet, the first message from this time on */
    int64_t           wait_us, lost_us;   /* lost_us: since when there is no connection; 0: there is one */
} nats_source;

/* ---- what is gone ---- */

static wr_status gone(nats_source *s, const nats_info *info, wr_err *err) {
    uint64_t n = info->first - s->last - 1;
    wr_fail(err, WR_DATA, "WR357", "table '%.*s': %" PRIu64 " messages of the stream '%s' were removed before they were read", WR_FMT(s->conn.name), n, s->conn.stream);
    wr_err_detail(err, "the stream begins at message %" PRIu64 ", the last one that was read is %" PRIu64 "%s", info->first, s->last, s->conn.subject[0] ? "; some may be of other subjects" : "");
    wr_err_hint(err, "begin with a new --state-dir to go on without them; let the stream keep more (max-age, max-bytes, max-msgs)");
    if (err) err->at = s->conn.at;
    return WR_DATA;
}

static wr_status check_lost(nats_source *s, const nats_info *info, wr_err *err) {
    if (info->created_ns != s->created_ns || info->last < s->last) {
        wr_fail(err, WR_DATA, "WR357", "table '%.*s': the stream '%s' is not the one that was read", WR_FMT(s->conn.name), s->conn.stream);
        wr_err_detail(err, info->last < s->last ? "it ends at message %" PRIu64 ", before the one that was read last (%" PRIu64 ")" : "it was made anew; it has messages up to %" PRIu64 ", and %" PRIu64 " was read last", info->last, s->last);
        wr_err_hint(err, "begin with a new --state-dir to read this one");
        if (err) err->at = s->conn.at;
        return WR_DATA;
    }
    return s->anchored && !s->replaces && info->first > s->last + 1 ? gone(s, info, err) : WR_OK;
}

/* ---- reading ---- */

static void forget_reader(nats_source *s) {
    if (s->kept.msg) nats.natsMsg_Destroy(s->kept.msg); /* the next reader brings it again */
    s->kept = (nats_message){0};
    if (s->is_open) nats_reader_close(&s->reader, &s->conn);
    s->is_open = false;
}

static wr_status open_reader(nats_source *s, wr_err *err) {
    nats_info info;
    WR_TRY(nats_ask(&s->conn, &info, err));
    WR_TRY(check_lost(s, &info, err));
    WR_TRY(nats_reader_open(&s->reader, &s->conn, s->from_ns ? 0 : s->last + 1, s->from_ns, false, s->endless ? EXPIRES_US : BOUNDED_EXPIRES_US, err));
    s->is_open = true;
    s->done |= !s->endless && !s->reader.pending;
    return WR_OK;
}

/* One attempt a call, so that the job can be stopped meanwhile. */
static wr_status be_reading(nats_source *s, bool *there, wr_err *err) {
    *there = s->is_open && !nats_lost(&s->conn);
    if (*there) return WR_OK;
    int64_t now = wr_mono_us(s->conn.world);
    forget_reader(s);
    if (!s->lost_us) s->lost_us = now;
    wr_status status = nats_lost(&s->conn) ? nats_try(&s->conn, err) : WR_OK;
    if (status == WR_OK) status = open_reader(s, err);
    *there = status == WR_OK;
    if (*there || !err->retriable || now - s->lost_us > s->conn.retry_us) return status;
    nats_close(&s->conn);
    return WR_OK;
}

/* A request has run out: with a filter the position moves to the end of what the stream had; a bounded read may be over. */
static wr_status look_at_end(nats_source *s, wr_err *err) {
    nats_info info;
    uint64_t  pending;
    if (s->endless && !s->conn.subject[0]) return WR_OK;
    WR_TRY(nats_ask(&s->conn, &info, err));
    WR_TRY(nats_reader_pending(&s->reader, &s->conn, &pending, err)); /* after the end was looked at: what came since is pending or read */
    if (pending) return WR_OK;
    uint64_t queued = 0;
    if (s->reader.wanted || nats.natsSubscription_QueuedMsgs(s->reader.sub, &queued) != NATS_OK || queued) return WR_OK;
    if (info.last > s->last && s->endless && !s->from_ns) s->last = info.last;
    s->done |= !s->endless;
    return WR_OK;
}

/* The first gap between the messages of a chunk: was it the stream's beginning that went? Asked once a chunk: if it was a later one, this one went with it. */
typedef struct first_gap { uint64_t after, before; } first_gap; /* before 0: there is none */
static void note_gap(const nats_source *s, uint64_t sequence, first_gap *gap) {
    if (gap->before || !s->anchored || s->replaces || s->conn.subject[0] || sequence == s->last + 1) return;
    *gap = (first_gap){s->last, sequence};
}
static wr_status check_gap(nats_source *s, const first_gap *gap, wr_err *err) {
    nats_info info;
    if (!gap->before) return WR_OK;
    wr_status status = nats_ask(&s->conn, &info, err);
    if (status == WR_OK && info.first <= gap->after + 1) return WR_OK;
    if (status != WR_OK) return status;
    s->last = gap->after;
    info.first = WR_MIN(info.first, gap->before);
    return gone(s, &info, err);
}

static void note_headers(message_note *note, natsMsg *msg) {
    const char **keys = NULL, **values = NULL;
    int          n = 0, n_values = 0;
    if (nats.natsMsgHeader_Keys(msg, &keys, &n) != NATS_OK) return;
    for (int i = 0; i < n; i++) {
        if (nats.natsMsgHeader_Values(msg, keys[i], &values, &n_values) != NATS_OK) continue;
        for (int k = 0; k < n_values; k++) message_note_header(note, wr_str_of(keys[i]), wr_str_of(values[k] ? values[k] : ""));
        nats_release(values);
    }
    nats_release(keys);
}

/* False: no room. */
static bool note_message(nats_source *s, message_note *note, const nats_message *m) {
    int    len = nats.natsMsg_GetDataLength(m->msg);
    wr_str value = len > 0 ? (wr_str){nats.natsMsg_GetData(m->msg), (size_t)len} : (wr_str){NULL, 0};
    uint32_t i = note->records.n;
    if (!message_note_add(note, (wr_str){NULL, 0}, value, (int64_t)m->sequence, m->timestamp_ns / 1000000)) return false;
    if (s->subjects) {
        wr_str subject = wr_str_of(nats.natsMsg_GetSubject(m->msg));
        char  *text = wr_mem_alloc(note->records.mem, subject.len + 1);
        memcpy(text, subject.ptr, subject.len);
        note->topics[i] = (wr_str){text, subject.len};
    }
    if (s->headers) note_headers(note, m->msg);
    return true;
}

static wr_status next_message(nats_source *s, nats_message *m, wr_err *err) {
    if (s->kept.msg) {
        *m = s->kept;
        s->kept = (nats_message){0};
        return WR_OK;
    }
    WR_TRY(nats_reader_poll(&s->reader, &s->conn, m, err));
    if (m->idle) WR_TRY(look_at_end(s, err));
    if (!m->msg) return WR_OK;
    s->lost_us = 0;
    if (!s->endless && m->sequence > s->end) { /* came after the start */
        nats.natsMsg_Destroy(m->msg);
        m->msg = NULL;
        s->done = true;
        return WR_OK;
    }
    return WR_OK;
}

/* Messages that have come, as one chunk. An error leaves the position at what the chunk has. */
static wr_status fill(nats_source *s, message_note *note, first_gap *gap, wr_err *err) {
    while (!s->done) {
        nats_message m;
        WR_TRY(next_message(s, &m, err));
        if (!m.msg) break;
        if (m.timestamp_ns < s->from_ns) { /* a reader begins at a full second */
            nats.natsMsg_Destroy(m.msg);
            s->done = !s->endless && !s->reader.pending;
            continue;
        }
        if (!note_message(s, note, &m)) {
            s->kept = m;
            break;
        }
        nats.natsMsg_Destroy(m.msg);
        note_gap(s, m.sequence, gap);
        s->last = m.sequence;
        s->from_ns = 0;
        s->anchored = true;
        s->done = !s->endless && (s->last >= s->end || !s->reader.pending);
    }
    return WR_OK;
}

static wr_status give(nats_source *s, wr_chunk *out, wr_err *err) {
    wr_mem       *mem = wr_mem_new(CHUNK_BYTES + 96 * 1024);
    message_note *note = wr_mem_calloc(mem, sizeof *note);
    first_gap     gap = {0};
    uint64_t      last = s->last;
    bool          done = s->done;
    note->topic = wr_str_of(s->conn.stream); /* lives as long as the source */
    message_note_open(note, mem, 64, CHUNK_BYTES, s->headers);
    if (s->subjects) note->topics = wr_mem_alloc(mem, WR_RECORDS_MAX * sizeof *note->topics);
    wr_status status = fill(s, note, &gap, err), looked = check_gap(s, &gap, err);
    if (looked != WR_OK) { /* nothing of it is handed out: it is read again */
        s->last = last;
        s->done = done;
        wr_mem_unref(mem);
        return looked;
    }
    if (note->records.n) *out = (wr_chunk){.mem = mem, .data = (const uint8_t *)note, .len = note->records.value_len + 1, .rows_from = (uint64_t)(uintptr_t)note};
    else wr_mem_unref(mem);
    return status;
}

static wr_status source_next(wr_source *base, const uint64_t *held, wr_chunk *out, wr_next *state, int64_t *retry_us, wr_err *err) {
    nats_source *s = (nats_source *)base;
    wr_err       own = {0}, *e = err ? err : &own;
    bool         was_done = s->done, there = false;
    uint64_t     queued = 1;
    *out = (wr_chunk){0};
    *state = WR_NEXT_WAIT;
    *retry_us = s->wait_us;
    if (!s->done && !is_held(held, 0)) {
        WR_TRY(be_reading(s, &there, e));
        if (!there) {
            *retry_us = LOST_WAIT_US;
            return WR_OK;
        }
        if (!s->kept.msg && s->reader.wanted) (void)nats.natsSubscription_QueuedMsgs(s->reader.sub, &queued); /* no chunk for nothing */
        wr_status status = queued || nats_lost(&s->conn) || wr_mono_us(s->conn.world) - s->reader.asked_us > s->reader.expires_us ? give(s, out, e) : WR_OK;
        if (status != WR_OK) {
            if (!e->retriable && !nats_lost(&s->conn)) {
                wr_mem_unref(out->mem);
                return status;
            }
            forget_reader(s); /* what passes: another reader the next time */
        }
    }
    if (out->mem || s->done != was_done) {
        s->wait_us = WAIT_US;
        out->last = s->done && !s->limited;
        *state = WR_NEXT_CHUNK;
        return WR_OK;
    }
    if (s->done && s->bounded && !s->limited) *state = WR_NEXT_END;
    s->wait_us = WR_MIN(s->wait_us + s->wait_us / 4, (int64_t)WAIT_MAX_US);
    return WR_OK;
}

static wr_status source_decode(wr_source *base, uint32_t worker, const wr_chunk *chunk, wr_decoded *out, wr_err *err) {
    (void)err;
    nats_source        *s = (nats_source *)base;
    const message_note *note = (const message_note *)(uintptr_t)chunk->rows_from;
    if (chunk->len) message_decode(&s->messages, worker, note, out);
    return WR_OK;
}

/* ---- dead letters: a message as it was, and back ---- */

static wr_status source_again(wr_source *base, const wr_again *r, wr_chunk *out, wr_err *err) {
    nats_source  *s = (nats_source *)base;
    wr_mem       *mem = wr_mem_new(r->raw.len + 4096);
    message_note *note = wr_mem_calloc(mem, sizeof *note);
    note->topic = wr_str_of(s->conn.stream);
    if (!message_again(note, mem, r, false, s->headers)) {
        wr_mem_unref(mem);
        return wr_fail(err, WR_DATA, "54000", "table '%.*s': a message is too long to be put back", WR_FMT(s->conn.name));
    }
    *out = (wr_chunk){.mem = mem, .data = (const uint8_t *)note, .len = note->records.value_len + 1, .rows_from = (uint64_t)(uintptr_t)note};
    return WR_OK;
}

/* ---- positions ---- */

static void source_save(wr_source *base, wr_sbuf *out) {
    nats_source *s = (nats_source *)base;
    wr_put_u8(out, SAVE_VERSION);
    wr_put_bytes(out, s->conn.stream, strlen(s->conn.stream));
    wr_put_u64(out, (uint64_t)s->created_ns);
    wr_put_u64(out, s->last), wr_put_u64(out, s->endless ? UINT64_MAX : s->end), wr_put_u64(out, (uint64_t)s->from_ns);
    wr_put_u8(out, s->anchored);
}

typedef struct saved_position { wr_str stream; int64_t created_ns, from_ns; uint64_t last, end; bool anchored; } saved_position;
static wr_status get_position(nats_source *s, wr_reader *in, saved_position *p, wr_err *err) {
    bool fine = wr_get_u8(in) == SAVE_VERSION;
    p->stream = wr_get_bytes(in);
    p->created_ns = (int64_t)wr_get_u64(in);
    p->last = wr_get_u64(in), p->end = wr_get_u64(in), p->from_ns = (int64_t)wr_get_u64(in);
    p->anchored = wr_get_u8(in);
    if (!fine || in->bad) return wr_fail(err, WR_CORRUPT, "XX001", "the saved positions of the table '%.*s' are damaged", WR_FMT(s->conn.name));
    if (wr_str_eq(p->stream, wr_str_of(s->conn.stream))) return WR_OK;
    wr_fail(err, WR_DATA, "WR357", "table '%.*s': the stream '%.*s' was read and is not of the table any more", WR_FMT(s->conn.name), WR_FMT(p->stream));
    wr_err_hint(err, "begin with a new --state-dir to read another one");
    if (err) err->at = s->conn.at;
    return WR_DATA;
}

static wr_status source_load(wr_source *base, wr_reader *in, wr_err *err) {
    nats_source   *s = (nats_source *)base;
    saved_position p;
    nats_info      info;
    WR_TRY(get_position(s, in, &p, err));
    s->last = p.last, s->from_ns = p.from_ns, s->created_ns = p.created_ns, s->anchored = p.anchored;
    if (s->bounded && p.end != UINT64_MAX) s->end = p.end; /* else of a run without an end: up to where the stream ends now */
    s->done = !s->endless && s->last >= s->end;
    s->loaded = true;
    WR_TRY(nats_connect(&s->conn, err));
    WR_TRY(nats_ask(&s->conn, &info, err));
    return check_lost(s, &info, err);
}

static wr_status source_until(wr_source *base, wr_reader *in, wr_err *err) {
    nats_source   *s = (nats_source *)base;
    saved_position p;
    WR_TRY(get_position(s, in, &p, err));
    s->limited = true;
    s->endless = false;
    s->end = p.last;
    s->done = s->last >= s->end;
    if (s->start != START_EARLIEST || s->loaded || s->replaces || s->last == 0) return WR_OK;
    wr_fail(err, WR_DATA, "WR357", "table '%.*s': the beginning of the stream '%s' has been removed, so it cannot be read again from its start", WR_FMT(s->conn.name), s->conn.stream);
    wr_err_hint(err, "let the stream keep more: max-age, max-bytes, max-msgs");
    return WR_DATA;
}

static bool source_at_limit(wr_source *base) { return ((nats_source *)base)->limited && ((nats_source *)base)->done; }

/* ---- reports ---- */

static uint32_t source_partitions(wr_source *base) { return (void)base, 1; }
static bool     source_bounded(wr_source *base) { return ((nats_source *)base)->bounded; }
static bool     source_partition_done(wr_source *base, uint32_t i) { return (void)i, ((nats_source *)base)->done; }
static void     source_partition_name(wr_source *base, uint32_t i, wr_sbuf *out) { (void)i, wr_sbuf_addz(out, ((nats_source *)base)->conn.stream); }
static void     source_progress(wr_source *base, uint64_t *done, uint64_t *total) { (void)base, *done = *total = 0; }

static void source_describe(wr_source *base, wr_sbuf *out) {
    static const char *const starts[] = {"from the beginning", "from the end", "from a time", "from a given message"};
    nats_source *s = (nats_source *)base;
    wr_sbuf_printf(out, "stream %s%s%s, %s, %s", s->conn.stream, s->conn.subject[0] ? ", subject " : "", s->conn.subject, s->bounded ? "bounded" : "endless", s->loaded ? "from the saved position" : starts[s->start]);
}

static void source_close(wr_source *base) {
    nats_source *s = (nats_source *)base;
    forget_reader(s);
    nats_close(&s->conn);
    message_reader_close(&s->messages);
    wr_arena_free(s->arena);
    wr_free(s);
}

static const wr_source_vt source_vt = {
    .name = "nats", .next = source_next, .decode = source_decode, .partitions = source_partitions, .partition_name = source_partition_name, .partition_done = source_partition_done,
    .save = source_save, .load = source_load, .until = source_until, .at_limit = source_at_limit, .describe = source_describe, .progress = source_progress, .bounded = source_bounded,
    .close = source_close, .beside = message_source_beside, .again = source_again, .glance = message_source_glance, .messages = true};

/* ---- making one ---- */

static wr_status read_start(nats_source *s, const wr_table_info *t, wr_connect_ctx *ctx, int64_t *sequence) {
    static const char *const starts[] = {"earliest-offset", "latest-offset", "timestamp", "specific-offsets"};
    int64_t ms = 0;
    s->start = option_choice(t, nats_specs, "scan.startup.mode", starts, 4);
    if (!wr_option_int(&t->options, nats_specs, "scan.startup.timestamp-millis", &ms, ctx->diags) || !wr_option_int(&t->options, nats_specs, "scan.startup.sequence", sequence, ctx->diags)) return WR_USER;
    if (s->start == START_TIMESTAMP && (ms < 1 || ms > INT64_MAX / 1000000)) return option_error(ctx, t, "scan.startup.mode", "WR122", "this needs 'scan.startup.timestamp-millis'");
    if (s->start == START_SPECIFIC && *sequence < 1) return option_error(ctx, t, "scan.startup.mode", "WR122", "this needs 'scan.startup.sequence', the number of the first message");
    if (s->start == START_TIMESTAMP) s->from_ns = ms * 1000000;
    bool bounded = wr_str_ieq(option_text(t, nats_specs, "scan.bounded.mode"), WR_STR("latest-offset"));
    s->bounded = (bounded || ctx->bounded_override) && !ctx->tail_override;
    s->endless = !s->bounded;
    return WR_OK;
}

static wr_status begin(nats_source *s, const wr_table_info *t, wr_connect_ctx *ctx, wr_err *err) {
    nats_info info;
    int64_t   sequence = 0;
    WR_TRY(read_start(s, t, ctx, &sequence));
    WR_TRY(nats_connect(&s->conn, err));
    WR_TRY(nats_ask(&s->conn, &info, err));
    if (!info.limits) return option_error(ctx, t, "stream", "WR122", "messages of a stream for work or by interest go when they are acknowledged, so it cannot be read again after a crash: retention must be 'limits'");
    s->replaces = info.replaces;
    s->created_ns = info.created_ns;
    s->end = info.last;
    if (s->start == START_LATEST) s->last = info.last;
    else if (s->start == START_SPECIFIC) s->last = (uint64_t)sequence - 1;
    else if (s->start == START_EARLIEST) s->last = info.first - 1;
    s->done = !s->endless && s->last >= s->end;
    return WR_OK;
}

wr_status nats_source_new(const wr_table_info *t, wr_connect_ctx *ctx, wr_source **out, wr_err *err) {
    static const message_key keys[] = {{"stream", MESSAGE_TEXT}, {"subject", MESSAGE_TEXT}, {"sequence", MESSAGE_BIGINT}, {"timestamp", MESSAGE_TIME}, {"headers", MESSAGE_HEADERS}, {0}};
    nats_source *s = wr_calloc(1, sizeof *s);
    *out = NULL;
    *s = (nats_source){.base = {&source_vt}, .arena = wr_arena_new(NULL), .wait_us = WAIT_US};
    wr_status status = nats_open(&s->conn, t, s->arena, ctx, err);
    if (status == WR_OK) status = message_reader_open(&s->messages, t, keys, false, s->arena, ctx);
    if (status == WR_OK) s->headers = message_reader_wants(&s->messages, "headers"), s->subjects = message_reader_wants(&s->messages, "subject");
    if (status == WR_OK) status = begin(s, t, ctx, err);
    if (status != WR_OK) {
        source_close(&s->base);
        return status;
    }
    *out = &s->base;
    return WR_OK;
}
