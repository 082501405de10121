/* connect/nats/sink.c: the sink of 'nats': a row is a message that is published to a JetStream stream, exactly once.
 *
 * Idea       messages are kept as bytes. prepare hands them to the checkpoint; commit publishes them, each with a Nats-Msg-Id TABLE-RUN-EPOCH-N, and waits for the stream's
 *            acknowledgements. What was published and is to be published again (a connection lost, a crash) is first looked for in the stream: the staged bytes hold
 *            a sequence number from before the epoch's first message, and the headers from there on are read; only what is not there is published.
 * Window     the stream drops a message whose id it has had within its duplicate window. That covers what may still be on its way while the stream is looked at, so
 *            a window shorter than NATS_WINDOW_LEAST_US is refused.
 * Limit      where messages were removed since (a stream for work, or limits that were reached) looking does not help, and the window must: when the rows were
 *            staged longer ago than it lasts, 'sink.unknown-commit' says whether that is an error or some may come twice. A stream that keeps only the newest messages
 *            of a subject has had everything in front of the last message of ours that it has.
 * Run        each start of a job has its own, so that going back to an older checkpoint does not meet ids that were used.
 * State      the messages since the last prepare or flush, charged to the account.
 * Bounds     PIPELINE messages or FLIGHT_BYTES wait for their acknowledgement.
 * Thread     one worker; the connection is its own.                                                                                       */
#include "connect/messages.h"
#include "connect/nats/lib.h"
#include "connect/staged.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { PIPELINE = 1024, FLIGHT_BYTES = 8 << 20, ANSWER_US = 10000000, ID_ROOM = 96 };

typedef struct nats_batch {       /* what is published together: an epoch, or what a flush has */
    wr_str   run;
    uint64_t epoch, first;        /* first: the number of its first message */
    uint64_t floor;               /* none of its messages has a sequence number up to here */
    int64_t  staged_us;           /* by the wall clock */
    wr_str   log;
    bool     looked_for;          /* some may be in the stream */
} nats_batch;

typedef struct nats_sink {
    staged_sink       base;       /* its log: messages: value, u32 headers, then name and value of each */
    nats_conn         conn;
    wr_record_format  format;
    message_columns   columns;
    wr_record_writer *writer;
    const char       *run;        /* TABLE-xxxxxxxxxxxxxxxx */
    bool              may_double;
    int64_t           max_payload;
    uint64_t          floor, flushed, committed; /* the stream's end as last seen; messages published without epochs; the last epoch that is in, of this run */
    natsSubscription *acks;
    natsInbox        *inbox;
    const wr_batch   *batch;      /* being written */
} nats_sink;

/* ---- rows to messages ---- */

/* A header line must be one. */
static bool is_header(wr_str name, wr_str value) {
    for (size_t i = 0; i < name.len; i++)
        if (name.ptr[i] <= ' ' || name.ptr[i] > '~' || name.ptr[i] == ':') return false;
    for (size_t i = 0; i < value.len; i++)
        if (value.ptr[i] == '\r' || value.ptr[i] == '\n' || value.ptr[i] == 0) return false;
    return name.len > 0;
}

static wr_status put_headers(nats_sink *s, uint32_t row, size_t *bytes, wr_err *err) {
    size_t   at = s->base.log.bytes.len;
    uint32_t n = 0;
    wr_put_u32(&s->base.log.bytes, 0);
    if (s->columns.headers < 0) return WR_OK;
    const wr_vec *vec = &s->batch->cols[s->columns.headers];
    if (wr_vec_is_null(vec, row)) return WR_OK;
    wr_list list = ((const wr_list *)vec->data)[row];
    for (uint32_t i = list.offset; i < list.offset + list.len; i++) {
        if (wr_vec_is_null(&vec->kids[1], i)) continue;
        wr_str name = wr_sview_str(&((const wr_sview *)vec->kids[0].data)[i]), value = wr_sview_str(&((const wr_sview *)vec->kids[1].data)[i]);
        if (!is_header(name, value)) {
            wr_fail(err, WR_DATA, "WR356", "table '%.*s': a message of NATS cannot have the header '%.*s': names are visible ASCII without ':', values one line", WR_FMT(s->conn.name), WR_FMT(name));
            if (err) err->at = s->conn.at;
            return WR_DATA;
        }
        wr_put_bytes(&s->base.log.bytes, name.ptr, name.len);
        wr_put_bytes(&s->base.log.bytes, value.ptr, value.len);
        *bytes += name.len + value.len + 4;
        n++;
    }
    memcpy(s->base.log.bytes.at + at, &n, sizeof n);
    return WR_OK;
}

static wr_status put_record(void *self, wr_str key, wr_str value, uint32_t row, wr_err *err) {
    nats_sink *s = self;
    size_t     bytes = value.len + ID_ROOM + 40;
    (void)key;
    wr_put_bytes(&s->base.log.bytes, value.ptr ? value.ptr : "", value.len);
    WR_TRY(put_headers(s, row, &bytes, err));
    if ((int64_t)bytes <= s->max_payload) return WR_OK;
    wr_fail(err, WR_DATA, "WR356", "table '%.*s': a row makes a message of %zu bytes, and NATS takes %" PRId64, WR_FMT(s->conn.name), bytes, s->max_payload); /* now, not after the checkpoint */
    wr_err_hint(err, "max_payload of the server and max-msg-size of the stream say how long a message may be");
    if (err) err->at = s->conn.at;
    return WR_DATA;
}

/* ---- looking for what is there ---- */

static bool skip_message(wr_reader *in) {
    (void)wr_get_bytes(in);
    for (uint32_t n = wr_get_u32(in); n && !in->bad; n--) (void)wr_get_bytes(in), (void)wr_get_bytes(in);
    return !in->bad;
}

typedef struct present { uint8_t *bits; uint64_t n, highest, found; } present; /* highest: behind the last one */
static bool is_present(const present *p, uint64_t i) { return p->bits && (p->bits[i / 8] >> (i % 8) & 1); }

static void note_id(const nats_batch *b, natsMsg *msg, present *p) {
    const char *id = NULL;
    char        prefix[ID_ROOM];
    int         len = snprintf(prefix, sizeof prefix, "%.*s-%" PRIu64 "-", WR_FMT(b->run), b->epoch);
    if (nats.natsMsgHeader_Get(msg, "Nats-Msg-Id", &id) != NATS_OK || strncmp(id, prefix, (size_t)len) != 0) return;
    uint64_t i = strtoull(id + len, NULL, 10) - b->first;
    if (i >= p->n || is_present(p, i)) return;
    p->bits[i / 8] |= (uint8_t)(1u << i % 8);
    p->highest = WR_MAX(p->highest, i + 1);
    p->found++;
}

static wr_status read_ids(nats_sink *s, const nats_batch *b, uint64_t from, present *p, wr_err *err) {
    nats_reader reader;
    WR_TRY(nats_reader_open(&reader, &s->conn, from, 0, true, 1000000, err));
    wr_status status = WR_OK;
    while (reader.pending && status == WR_OK) {
        nats_message m;
        status = nats_reader_poll(&reader, &s->conn, &m, err);
        if (status == WR_OK && m.msg) note_id(b, m.msg, p);
        if (m.msg) nats.natsMsg_Destroy(m.msg);
        else if (m.idle) status = nats_reader_pending(&reader, &s->conn, &reader.pending, err); /* removed meanwhile */
        else s->conn.world->vt->sleep_us(s->conn.world, 200);
    }
    nats_reader_close(&reader, &s->conn);
    return status;
}

static wr_status unknown(nats_sink *s, const nats_info *info, wr_err *err) {
    wr_fail(err, WR_DATA, "WR358", "table '%.*s': it cannot be told which rows of the last checkpoint are in the stream '%s'", WR_FMT(s->conn.name), s->conn.stream);
    wr_err_detail(err, "messages were removed since, and the job was away longer than the stream knows messages again (%" PRId64 " s)", info->window_us / 1000000);
    wr_err_hint(err, "'sink.unknown-commit' = 'write' writes those that are not seen, some perhaps twice; next time a longer window: nats stream edit %s --dupe-window", s->conn.stream);
    if (err) err->at = s->conn.at;
    return WR_DATA;
}

/* Which messages of `b` the stream has. */
static wr_status look(nats_sink *s, const nats_batch *b, present *p, wr_err *err) {
    nats_info info;
    wr_reader in = {(const uint8_t *)b->log.ptr, (const uint8_t *)b->log.ptr + b->log.len, false};
    for (; in.at < in.end; p->n++)
        if (!skip_message(&in)) return staged_damaged(&s->base, err);
    p->bits = wr_calloc(p->n / 8 + 1, 1);
    WR_TRY(nats_ask(&s->conn, &info, err));
    uint64_t floor = b->floor <= info.last ? b->floor : 0; /* a stream that was made anew */
    if (info.limits) WR_TRY(read_ids(s, b, floor + 1, p, err));
    if (info.replaces)
        for (uint64_t i = 0; i < p->highest; i++) p->bits[i / 8] |= (uint8_t)(1u << i % 8);
    bool all_seen = info.limits && (info.replaces || info.first <= floor + 1 || p->found == p->n);
    if (all_seen || s->may_double || wr_wall_us(s->conn.world) - b->staged_us < info.window_us - ANSWER_US / 2) return WR_OK;
    return unknown(s, &info, err);
}

/* ---- publishing ---- */

typedef struct flight { uint64_t n; size_t bytes; } flight;

static wr_status refused(nats_sink *s, const char *data, size_t len, wr_err *err) {
    wr_str      all = {data, len};
    const char *said = len ? memmem(data, len, "\"description\":\"", 15) : NULL;
    wr_str      text = all;
    if (said) {
        said += 15;
        const char *end = memchr(said, '"', len - (size_t)(said - data));
        text = (wr_str){said, end ? (size_t)(end - said) : len - (size_t)(said - data)};
    }
    text.len = WR_MIN(text.len, (size_t)300);
    wr_fail(err, WR_IO, "WR356", "table '%.*s': the stream '%s' does not take a message: %.*s", WR_FMT(s->conn.name), s->conn.stream, WR_FMT(text));
    if (!err) return WR_IO;
    err->at = s->conn.at;
    err->retriable = memmem(data, len, "\"err_code\":10008", 16) || memmem(data, len, "\"err_code\":10118", 16); /* no leader just now */
    if (memmem(text.ptr, text.len, "maximum", 7)) wr_err_hint(err, "the stream is full and its 'discard' is 'new': let it keep more, or discard the old");
    return WR_IO;
}

static wr_status take_ack(nats_sink *s, uint64_t *seen, wr_err *err) {
    natsMsg   *msg = NULL;
    int64_t    until = wr_mono_us(s->conn.world) + ANSWER_US;
    natsStatus said;
    do said = nats.natsSubscription_NextMsg(&msg, s->acks, 100);
    while (said == NATS_TIMEOUT && !nats_lost(&s->conn) && wr_mono_us(s->conn.world) < until);
    if (said != NATS_OK) return nats_fail(&s->conn, nats_lost(&s->conn) ? NATS_CONNECTION_CLOSED : said, 0, "publish to the stream", err);
    const char *data = nats.natsMsg_GetData(msg);
    size_t      len = (size_t)nats.natsMsg_GetDataLength(msg);
    const char *seq = len ? memmem(data, len, "\"seq\":", 6) : NULL;
    wr_status   status = WR_OK;
    if (!len) { /* nobody listens: what the server says in place of a stream */
        status = nats_fail(&s->conn, NATS_NO_RESPONDERS, 0, "publish to the stream", err);
    } else if (!seq || memmem(data, len, "\"error\"", 7)) {
        status = refused(s, data, len, err);
    } else {
        uint64_t n = 0;
        for (const char *at = seq + 6; at < data + len && *at >= '0' && *at <= '9'; at++) n = n * 10 + (uint64_t)(*at - '0');
        *seen = WR_MAX(*seen, n);
    }
    nats.natsMsg_Destroy(msg);
    return status;
}

static wr_status take_acks(nats_sink *s, flight *f, uint64_t down_to, uint64_t *seen, wr_err *err) {
    for (; f->n > down_to; f->n--) WR_TRY(take_ack(s, seen, err));
    if (!f->n) f->bytes = 0;
    return WR_OK;
}

static natsStatus add_header(natsMsg *msg, wr_str name, wr_str value, wr_sbuf *text) {
    wr_sbuf_clear(text);
    wr_sbuf_add(text, name.ptr, name.len), wr_sbuf_addc(text, 0);
    wr_sbuf_add(text, value.ptr, value.len), wr_sbuf_addc(text, 0);
    return nats.natsMsgHeader_Add(msg, text->at, text->at + name.len + 1);
}

static wr_status publish(nats_sink *s, const nats_batch *b, uint64_t i, wr_reader *in, wr_sbuf *text, wr_err *err) {
    natsMsg   *msg = NULL;
    char       id[ID_ROOM + 48];
    wr_str     value = wr_get_bytes(in);
    natsStatus said = nats.natsMsg_Create(&msg, s->conn.subject, s->inbox, value.ptr, (int)value.len);
    snprintf(id, sizeof id, "%.*s-%" PRIu64 "-%" PRIu64, WR_FMT(b->run), b->epoch, b->first + i);
    if (said == NATS_OK) said = nats.natsMsgHeader_Add(msg, "Nats-Msg-Id", id);
    for (uint32_t n = wr_get_u32(in); n && !in->bad; n--) {
        wr_str name = wr_get_bytes(in), content = wr_get_bytes(in);
        if (said == NATS_OK && !in->bad) said = add_header(msg, name, content, text);
    }
    if (said == NATS_OK && !in->bad) said = nats.natsConnection_PublishMsg(s->conn.c, msg);
    if (msg) nats.natsMsg_Destroy(msg);
    return in->bad ? staged_damaged(&s->base, err) : said == NATS_OK ? WR_OK : nats_fail(&s->conn, said, 0, "publish to the stream", err);
}

static wr_status publish_all(nats_sink *s, const nats_batch *b, const present *p, uint64_t *seen, wr_err *err) {
    wr_reader in = {(const uint8_t *)b->log.ptr, (const uint8_t *)b->log.ptr + b->log.len, false};
    flight    f = {0};
    wr_sbuf   text = {0};
    wr_status status = WR_OK;
    for (uint64_t i = 0; in.at < in.end && status == WR_OK; i++) {
        const uint8_t *from = in.at;
        if (is_present(p, i)) {
            if (!skip_message(&in)) status = staged_damaged(&s->base, err);
            continue;
        }
        status = publish(s, b, i, &in, &text, err);
        if (status == WR_OK) f.n++, f.bytes += (size_t)(in.at - from);
        if (status == WR_OK && f.bytes >= FLIGHT_BYTES) status = take_acks(s, &f, 0, seen, err);
        else if (status == WR_OK && f.n >= PIPELINE) status = take_acks(s, &f, PIPELINE / 2, seen, err);
    }
    if (status == WR_OK) status = take_acks(s, &f, 0, seen, err);
    wr_sbuf_free(&text);
    return status;
}

static void drop_connection(nats_sink *s) {
    if (s->acks) nats.natsSubscription_Destroy(s->acks);
    if (s->inbox) nats.natsInbox_Destroy(s->inbox);
    s->acks = NULL;
    s->inbox = NULL;
    nats_close(&s->conn);
}

static wr_status be_connected(nats_sink *s, wr_err *err) {
    if (s->acks && !nats_lost(&s->conn)) return WR_OK;
    drop_connection(s);
    WR_TRY(nats_connect(&s->conn, err));
    natsStatus said = nats.natsInbox_Create(&s->inbox);
    if (said == NATS_OK) said = nats.natsConnection_SubscribeSync(&s->acks, s->conn.c, s->inbox);
    if (said == NATS_OK) said = nats.natsSubscription_SetPendingLimits(s->acks, -1, -1); /* PIPELINE answers at most */
    return said == NATS_OK ? WR_OK : nats_fail(&s->conn, said, 0, "connect", err);
}

static wr_status apply_once(nats_sink *s, nats_batch *b, wr_err *err) {
    present  p = {0};
    uint64_t seen = s->floor;
    WR_TRY(be_connected(s, err));
    wr_status status = b->looked_for ? look(s, b, &p, err) : WR_OK;
    if (status == WR_OK) {
        b->looked_for = true;
        status = publish_all(s, b, &p, &seen, err);
    }
    wr_free(p.bits);
    if (status == WR_OK) s->floor = seen;
    else drop_connection(s); /* answers may be on their way still */
    return status;
}

static wr_status apply(nats_sink *s, nats_batch *b, wr_err *err) {
    int64_t until = wr_mono_us(s->conn.world) + s->conn.retry_us;
    wr_err  own = {0}, *e = err ? err : &own;
    wr_status status;
    while ((status = apply_once(s, b, e)) != WR_OK)
        if (!db_try_again(s->conn.world, e, until)) return status;
    return WR_OK;
}

/* ---- the sink ---- */

static wr_status sink_put(staged_sink *base, const wr_batch *batch, wr_err *err) {
    nats_sink *s = (nats_sink *)base;
    s->batch = batch;
    return message_write(&s->columns, s->writer, batch, put_record, s, err);
}

static wr_status sink_flush(staged_sink *base, wr_str log, wr_err *err) {
    nats_sink *s = (nats_sink *)base;
    nats_batch b = {.run = wr_str_of(s->run), .first = s->flushed, .floor = s->floor, .staged_us = wr_wall_us(s->conn.world), .log = log};
    WR_TRY(apply(s, &b, err));
    wr_reader in = {(const uint8_t *)log.ptr, (const uint8_t *)log.ptr + log.len, false};
    while (in.at < in.end && skip_message(&in)) s->flushed++;
    return WR_OK;
}

static void sink_head(staged_sink *base, wr_sbuf *staged) {
    nats_sink *s = (nats_sink *)base;
    wr_put_bytes(staged, s->run, strlen(s->run));
    wr_put_u64(staged, s->floor);
    wr_put_u64(staged, (uint64_t)wr_wall_us(s->conn.world));
}

static wr_status sink_commit(staged_sink *base, uint64_t epoch, wr_str staged, wr_err *err) {
    nats_sink *s = (nats_sink *)base;
    wr_reader  in = {(const uint8_t *)staged.ptr, (const uint8_t *)staged.ptr + staged.len, false};
    nats_batch b = {.epoch = epoch, .looked_for = s->base.recovering};
    if (epoch <= s->committed) return WR_OK;
    b.run = wr_get_bytes(&in);
    b.floor = wr_get_u64(&in);
    b.staged_us = (int64_t)wr_get_u64(&in);
    if (in.bad || b.run.len >= ID_ROOM - 24) return staged_damaged(&s->base, err);
    b.log = (wr_str){(const char *)in.at, (size_t)(in.end - in.at)};
    if (b.log.len) WR_TRY(apply(s, &b, err));
    s->committed = epoch;
    return WR_OK;
}

static void sink_free(staged_sink *base) {
    nats_sink *s = (nats_sink *)base;
    drop_connection(s);
    wr_record_writer_free(s->writer);
}
static const staged_vt sink_vt = {.put = sink_put, .flush = sink_flush, .commit = sink_commit, .head = sink_head, .free = sink_free};

static wr_status check_stream(nats_sink *s, const wr_table_info *t, wr_connect_ctx *ctx, wr_err *err) {
    nats_info info;
    WR_TRY(nats_ask(&s->conn, &info, err));
    s->floor = info.last;
    s->max_payload = info.max_payload;
    if (!info.takes_subject) return option_error(ctx, t, "subject", "WR356", "the stream '%s' does not take it; it takes %s", s->conn.stream, info.subjects[0] ? info.subjects : "none: it is a copy of another");
    if (info.window_us >= NATS_WINDOW_LEAST_US) return WR_OK;
    wr_fail(err, WR_USER, "WR358", "table '%.*s': the stream '%s' knows messages again for %" PRId64 " ms only, which is too short to write each row once", WR_FMT(t->name), s->conn.stream, info.window_us / 1000);
    wr_err_hint(err, "10 s or more, by default 2 min: nats stream edit %s --dupe-window 2m", s->conn.stream);
    if (err) err->at = t->at;
    return WR_USER;
}

static wr_status open_sink(nats_sink *s, const wr_table_info *t, wr_connect_ctx *ctx, wr_err *err) {
    WR_TRY(nats_open(&s->conn, t, s->base.arena, ctx, err));
    if (!s->conn.subject[0]) return option_error(ctx, t, "stream", "WR122", "a table that is written needs a 'subject'");
    if (strpbrk(s->conn.subject, "*>")) return option_error(ctx, t, "subject", "WR121", "rows are published as one subject: no * and no >");
    if (!message_columns_split(&s->columns, t, s->base.arena, ctx->diags)) return WR_USER;
    if (s->columns.timestamp >= 0) return option_error(ctx, t, "stream", "WR126", "the time of a message is given by the server: the metadata column 'timestamp' must be VIRTUAL");
    if (!wr_record_format_read(&s->format, &s->columns.stored, t->key, t->n_key, &t->options, t->at, false, true, s->base.arena, ctx->diags)) return WR_USER;
    wr_record_writer_opts opts = {.format = &s->format, .schema = &s->columns.stored, .tz = ctx->tz, .world = ctx->world, .topic = wr_str_of(s->conn.stream)};
    WR_TRY(wr_record_writer_new(&opts, &s->writer, ctx->diags));
    s->may_double = wr_str_ieq(option_text(t, nats_specs, "sink.unknown-commit"), WR_STR("write"));
    char table[33];
    for (size_t i = 0; i < sizeof table; i++) table[i] = i < t->name.len ? t->name.ptr[i] > ' ' && t->name.ptr[i] <= '~' ? t->name.ptr[i] : '_' : 0;
    table[32] = 0;
    s->run = wr_arena_printf(s->base.arena, "%s-%016" PRIx64, table, ctx->world->vt->random(ctx->world));
    WR_TRY(be_connected(s, err));
    return check_stream(s, t, ctx, err);
}

wr_status nats_sink_new(const wr_table_info *t, wr_connect_ctx *ctx, wr_sink **out, wr_err *err) {
    nats_sink *s = wr_calloc(1, sizeof *s);
    staged_sink_init(&s->base, &sink_vt, t, ctx);
    return staged_sink_made(&s->base, open_sink(s, t, ctx, err), out);
}
