/* connect/kafka/sink.c: the sink of 'kafka' and 'upsert-kafka'.
 *
 * Guarantees none, at-least-once: messages are produced as they come; prepare and flush wait until the brokers have all of them.
 *            exactly-once: messages are produced at once into an open transaction, and kept in a log that prepare hands to the checkpoint. commit ends the
 *            transaction. If it cannot (the broker was away too long, the process died and another one recovers), the messages of the log are
 *            produced again in a new transaction. Two producers take turns, so that the next epoch's messages do not wait for a commit.
 * Once       each transaction also commits one offset to a consumer group of its own: that of partition 0 of the topic is set to the epoch, with the job's
 *            incarnation as metadata. It is in the group if and only if the messages are in the topic: so recovery knows what is left to do.
 * Zombies    init_transactions with the same transactional id fences whoever had it before and aborts what it left open.
 * State      the messages since the last prepare, charged; librdkafka's queue, QUEUE_KIB at most.
 * Thread     one worker; delivery reports come in poll and flush, called by it.                                                       */
#include "connect/kafka/lib.h"
#include "connect/staged.h"
#include "format/records.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { STAGED_VERSION = 1, QUEUE_KIB = 32 << 10, TIMEOUT_MS = 30000, PATIENCE_MS = 180000, HEADERS_MAX = 1000 };
enum { NONE, AT_LEAST_ONCE, EXACTLY_ONCE };

typedef struct producer {
    kafka_client client;
    bool         ready;   /* init_transactions was done */
    bool         open;    /* a transaction is */
    bool         broken;  /* it cannot be committed: its messages will be produced again */
} producer;

typedef struct kafka_sink {
    wr_sink           base;
    wr_world         *world;
    wr_arena         *arena;
    wr_str            table, prefix;
    wr_span           at;
    char             *topic, *group;
    int               guarantee;
    bool              staging, round_robin, fixed, fresh;
    producer          producers[2];
    uint32_t          current;        /* whose transaction takes the messages of this epoch */
    kafka_client      admin;          /* a consumer: reads the group's offset */
    wr_record_format  format;
    wr_record_writer *writer;
    wr_schema         stored;         /* columns of the record */
    uint32_t         *columns;        /* where they are in the table */
    int32_t           timestamp_col, headers_col;
    const wr_batch   *batch;          /* being written */
    int32_t           n_partitions, next_partition;
    const wr_refuse  *refuse;
    uint64_t          n_rows;         /* of the batches so far */
    change_log        log;
    wr_sbuf           entry;
    uint64_t          incarnation;
    rd_kafka_resp_err_t failed;       /* first delivery that failed */
    int32_t           failed_partition;
    uint64_t          n_failed;
    rd_kafka_vu_t     vus[8 + HEADERS_MAX]; /* of the message being produced */
} kafka_sink;

/* ---- a message, as it is kept: key, value, timestamp, headers ---- */

typedef struct message { wr_str key, value, headers; int64_t timestamp_ms; uint32_t n_headers; } message;
enum { HAS_KEY = 1, HAS_VALUE = 2, HAS_TIME = 4, HAS_HEADERS = 8 };

static void put_headers(kafka_sink *s, uint32_t row, wr_sbuf *out) {
    const wr_vec *vec = &s->batch->cols[s->headers_col];
    wr_list       list = ((const wr_list *)vec->data)[row];
    wr_put_u32(out, list.len);
    for (uint32_t i = 0; i < list.len; i++) {
        wr_str name = wr_sview_str((const wr_sview *)vec->kids[0].data + list.offset + i);
        wr_put_bytes(out, name.ptr, name.len);
        bool null = wr_vec_is_null(&vec->kids[1], list.offset + i);
        wr_put_u8(out, !null);
        if (null) continue;
        wr_str value = wr_sview_str((const wr_sview *)vec->kids[1].data + list.offset + i);
        wr_put_bytes(out, value.ptr, value.len);
    }
}

static void put_message(kafka_sink *s, wr_str key, wr_str value, uint32_t row, wr_sbuf *out) {
    bool time = s->timestamp_col >= 0 && !wr_vec_is_null(&s->batch->cols[s->timestamp_col], row);
    bool headers = s->headers_col >= 0 && !wr_vec_is_null(&s->batch->cols[s->headers_col], row);
    wr_put_u8(out, (uint8_t)((key.ptr ? HAS_KEY : 0) | (value.ptr ? HAS_VALUE : 0) | (time ? HAS_TIME : 0) | (headers ? HAS_HEADERS : 0)));
    if (key.ptr) wr_put_bytes(out, key.ptr, key.len);
    if (value.ptr) wr_put_bytes(out, value.ptr, value.len);
    if (time) wr_put_i64(out, wr_floor_div(((const int64_t *)s->batch->cols[s->timestamp_col].data)[row], 1000));
    if (headers) put_headers(s, row, out);
}

static void get_message(wr_reader *in, message *m) {
    uint8_t flags = wr_get_u8(in);
    *m = (message){.timestamp_ms = 0};
    if (flags & HAS_KEY) m->key = wr_get_bytes(in);
    if (flags & HAS_VALUE) m->value = wr_get_bytes(in);
    if (flags & HAS_TIME) m->timestamp_ms = wr_get_i64(in);
    if (!(flags & HAS_HEADERS)) return;
    m->n_headers = wr_get_u32(in);
    const uint8_t *from = in->at;
    for (uint32_t i = 0; i < m->n_headers && !in->bad; i++) {
        (void)wr_get_bytes(in);
        if (wr_get_u8(in)) (void)wr_get_bytes(in);
    }
    m->headers = (wr_str){(const char *)from, (size_t)(in->at - from)};
}

/* ---- producing ---- */

static void on_delivery(rd_kafka_t *rk, const rd_kafka_message_t *m, void *opaque) {
    (void)rk, (void)opaque;
    kafka_sink *s = m->_private;
    if (!m->err) return;
    if (!s->n_failed++) s->failed = m->err, s->failed_partition = m->partition;
}

static int32_t partition_for(kafka_sink *s) {
    if (s->fixed) return 0;
    if (!s->round_robin || s->n_partitions <= 0) return RD_KAFKA_PARTITION_UA; /* by key; without key at random, several in a row */
    s->next_partition = (s->next_partition + 1) % s->n_partitions;
    return s->next_partition;
}

static rd_kafka_error_t *produce_one(kafka_sink *s, rd_kafka_t *rk, const message *m, int32_t partition) {
    rd_kafka_vu_t *vus = s->vus;
    size_t         n = 0;
    wr_reader in = {(const uint8_t *)m->headers.ptr, (const uint8_t *)m->headers.ptr + m->headers.len, false};
    vus[n].vtype = RD_KAFKA_VTYPE_TOPIC, vus[n++].u.cstr = s->topic;
    vus[n].vtype = RD_KAFKA_VTYPE_PARTITION, vus[n++].u.i32 = partition;
    vus[n].vtype = RD_KAFKA_VTYPE_MSGFLAGS, vus[n++].u.i = RD_KAFKA_MSG_F_COPY;
    vus[n].vtype = RD_KAFKA_VTYPE_OPAQUE, vus[n++].u.ptr = s;
    vus[n].vtype = RD_KAFKA_VTYPE_VALUE, vus[n].u.mem.ptr = (void *)(uintptr_t)m->value.ptr, vus[n++].u.mem.size = m->value.len;
    vus[n].vtype = RD_KAFKA_VTYPE_KEY, vus[n].u.mem.ptr = (void *)(uintptr_t)m->key.ptr, vus[n++].u.mem.size = m->key.len;
    if (m->timestamp_ms) vus[n].vtype = RD_KAFKA_VTYPE_TIMESTAMP, vus[n++].u.i64 = m->timestamp_ms;
    char names[16][128]; /* header names end with NUL for librdkafka; longer or more of them go through the heap */
    WR_ARR(char *) heap = {0};
    for (uint32_t i = 0; i < m->n_headers && i < HEADERS_MAX; i++) {
        wr_str name = wr_get_bytes(&in), value = wr_get_u8(&in) ? wr_get_bytes(&in) : (wr_str){NULL, 0};
        char  *z = i < 16 && name.len < 128 ? names[i] : wr_malloc(name.len + 1);
        if (!(i < 16 && name.len < 128)) wr_arr_push(&heap, z);
        memcpy(z, name.ptr, name.len);
        z[name.len] = 0;
        vus[n].vtype = RD_KAFKA_VTYPE_HEADER;
        vus[n].u.header.name = z, vus[n].u.header.val = value.ptr, vus[n++].u.header.size = (ssize_t)value.len;
    }
    rd_kafka_error_t *error = kafka.produceva(rk, vus, n);
    for (uint32_t i = 0; i < heap.n; i++) wr_free(heap.at[i]);
    wr_arr_free(&heap);
    return error;
}

/* Waits for room in the queue, up to PATIENCE_MS. */
static rd_kafka_resp_err_t produce(kafka_sink *s, producer *p, const message *m) {
    int32_t partition = partition_for(s);
    for (int64_t until = wr_mono_us(s->world) + PATIENCE_MS * INT64_C(1000);;) {
        rd_kafka_error_t *error = produce_one(s, p->client.rk, m, partition);
        if (!error) return RD_KAFKA_RESP_ERR_NO_ERROR;
        rd_kafka_resp_err_t code = kafka.error_code(error);
        kafka.error_destroy(error);
        if (code != RD_KAFKA_RESP_ERR__QUEUE_FULL || wr_mono_us(s->world) > until) return code;
        kafka.poll(p->client.rk, 50);
    }
}

/* ---- transactions ---- */

typedef enum outcome { DONE, ABORT, FATAL } outcome;
/* What became of a call; takes error. *again: try it once more. */
static outcome judge(rd_kafka_error_t *error, bool *again, rd_kafka_resp_err_t *code) {
    *again = false;
    if (!error) return DONE;
    *code = kafka.error_code(error);
    bool fatal = kafka.error_is_fatal(error), abort = kafka.error_txn_requires_abort(error);
    *again = !fatal && !abort && (kafka.error_is_retriable(error) || kafka_is_passing(*code));
    kafka.error_destroy(error);
    return fatal ? FATAL : ABORT;
}

static wr_status txn_fail(kafka_sink *s, producer *p, rd_kafka_resp_err_t code, const char *doing, wr_err *err) {
    char text[300];
    if (code == RD_KAFKA_RESP_ERR__FATAL) code = kafka.fatal_error(p->client.rk, text, sizeof text);
    return kafka_fail(&p->client, code, err, "table '%.*s': cannot %s (topic '%s', transactional id '%.*s-%td')", WR_FMT(s->table), doing, s->topic, WR_FMT(s->prefix), p - s->producers);
}

static wr_status get_ready(kafka_sink *s, producer *p, wr_err *err) {
    if (p->ready) return WR_OK;
    int64_t             until = wr_mono_us(s->world) + PATIENCE_MS * INT64_C(1000);
    rd_kafka_resp_err_t code = RD_KAFKA_RESP_ERR_NO_ERROR;
    for (;;) {
        bool    again;
        outcome o = judge(kafka.init_transactions(p->client.rk, TIMEOUT_MS), &again, &code);
        if (o == DONE) break;
        if (!again || wr_mono_us(s->world) > until) return txn_fail(s, p, code, "begin with transactions", err);
        s->world->vt->sleep_us(s->world, 200000);
    }
    p->ready = true;
    return WR_OK;
}

static wr_status txn_begin(kafka_sink *s, producer *p, wr_err *err) {
    WR_TRY(get_ready(s, p, err));
    bool                again;
    rd_kafka_resp_err_t code = RD_KAFKA_RESP_ERR_NO_ERROR;
    if (judge(kafka.begin_transaction(p->client.rk), &again, &code) != DONE) return txn_fail(s, p, code, "begin a transaction", err);
    p->open = true;
    p->broken = false;
    s->n_failed = 0;
    return WR_OK;
}

static wr_status txn_abort(kafka_sink *s, producer *p, wr_err *err) {
    int64_t             until = wr_mono_us(s->world) + PATIENCE_MS * INT64_C(1000);
    rd_kafka_resp_err_t code = RD_KAFKA_RESP_ERR_NO_ERROR;
    for (;;) {
        bool    again;
        outcome o = judge(kafka.abort_transaction(p->client.rk, TIMEOUT_MS), &again, &code);
        if (o == DONE) break;
        if (!again || wr_mono_us(s->world) > until) return txn_fail(s, p, code, "abort a transaction", err);
    }
    p->open = p->broken = false;
    return WR_OK;
}

/* The marker and the end of the transaction. ABORT: it is to be done again. */
static outcome txn_end(kafka_sink *s, producer *p, uint64_t epoch, rd_kafka_resp_err_t *code) {
    rd_kafka_topic_partition_list_t   *list = kafka.topic_partition_list_new(1);
    rd_kafka_topic_partition_t        *at = kafka.topic_partition_list_add(list, s->topic, 0);
    rd_kafka_consumer_group_metadata_t *group = kafka.consumer_group_metadata_new(s->group);
    char                               text[40];
    snprintf(text, sizeof text, "%016" PRIx64, s->incarnation);
    at->offset = (int64_t)epoch;
    at->metadata = text;
    at->metadata_size = strlen(text);
    int64_t until = wr_mono_us(s->world) + PATIENCE_MS * INT64_C(1000);
    bool    again = true;
    outcome o = ABORT;
    while (again) {
        o = judge(kafka.send_offsets_to_transaction(p->client.rk, list, group, TIMEOUT_MS), &again, code);
        again = again && wr_mono_us(s->world) < until;
    }
    at->metadata = NULL, at->metadata_size = 0;
    kafka.topic_partition_list_destroy(list);
    kafka.consumer_group_metadata_destroy(group);
    if (o != DONE) return o;
    for (again = true; again;) {
        o = judge(kafka.commit_transaction(p->client.rk, TIMEOUT_MS), &again, code);
        again = again && wr_mono_us(s->world) < until;
    }
    if (o == DONE) p->open = false;
    return o;
}

/* The log's messages once more, in a transaction of their own. */
static wr_status produce_log(kafka_sink *s, producer *p, wr_str log, wr_err *err) {
    wr_reader in = {(const uint8_t *)log.ptr, (const uint8_t *)log.ptr + log.len, false};
    while (in.at < in.end) {
        message m;
        get_message(&in, &m);
        if (in.bad) return wr_fail(err, WR_CORRUPT, "XX001", "the staged messages of the table '%.*s' are damaged", WR_FMT(s->table));
        if (produce(s, p, &m)) p->broken = true;
        if (p->broken) return WR_OK;
    }
    return WR_OK;
}

/* Until it is done, or hopeless. */
static wr_status commit_log(kafka_sink *s, producer *p, uint64_t epoch, wr_str log, wr_err *err) {
    rd_kafka_resp_err_t code = RD_KAFKA_RESP_ERR_NO_ERROR;
    int64_t             until = wr_mono_us(s->world) + 2 * PATIENCE_MS * INT64_C(1000);
    for (;;) {
        if (p->open && !p->broken) {
            outcome o = txn_end(s, p, epoch, &code);
            if (o == DONE) return WR_OK;
            if (o == FATAL) return txn_fail(s, p, code, "commit a transaction", err);
        }
        if (wr_mono_us(s->world) > until) return txn_fail(s, p, code ? code : s->failed, "commit a transaction", err);
        if (p->open) WR_TRY(txn_abort(s, p, err));
        WR_TRY(txn_begin(s, p, err));
        WR_TRY(produce_log(s, p, log, err));
    }
}

/* ---- writing ---- */

static wr_status put_record(void *self, wr_str key, wr_str value, uint32_t row, wr_err *err) {
    kafka_sink *s = self;
    producer   *p = &s->producers[s->current];
    wr_sbuf    *to = s->guarantee == EXACTLY_ONCE ? &s->log.bytes : &s->entry;
    size_t      from = s->guarantee == EXACTLY_ONCE ? s->log.bytes.len : 0;
    if (s->guarantee != EXACTLY_ONCE) wr_sbuf_clear(&s->entry);
    put_message(s, key, value, row, to);
    if (s->guarantee == EXACTLY_ONCE && p->broken) return WR_OK; /* commit will do it */
    message   m;
    wr_reader in = {(const uint8_t *)to->at + from, (const uint8_t *)to->at + to->len, false};
    get_message(&in, &m);
    rd_kafka_resp_err_t code = produce(s, p, &m);
    if (!code) return WR_OK;
    if (s->guarantee == EXACTLY_ONCE && code != RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE) {
        p->broken = true;
        return WR_OK;
    }
    if (s->refuse && code == RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE) {
        char reason[120];
        snprintf(reason, sizeof reason, "a message of %zu bytes is more than the producer may send ('properties.max.request.size')", m.value.len);
        if (s->guarantee == EXACTLY_ONCE) s->log.bytes.len = from;
        return s->refuse->row(s->refuse->arg, s->batch, row, s->n_rows + row, "54000", reason, err);
    }
    return kafka_fail(&p->client, code, err, "table '%.*s': cannot write a message of %zu bytes to the topic '%s'", WR_FMT(s->table), m.value.len, s->topic);
}

static wr_status delivered(kafka_sink *s, producer *p, wr_err *err) {
    if (!s->n_failed) return WR_OK;
    uint64_t n = s->n_failed;
    s->n_failed = 0;
    if (s->guarantee == NONE) return WR_OK;
    return kafka_fail(&p->client, s->failed, err, "table '%.*s': %" PRIu64 " messages did not reach the topic '%s' (the first one for partition %d)", WR_FMT(s->table), n, s->topic, s->failed_partition);
}

/* A job that begins anew: the group's offset gets this incarnation, so that no earlier job's epoch is taken for one of this job's. */
static wr_status begin_anew(kafka_sink *s, wr_err *err) {
    if (!s->fresh) return WR_OK;
    s->fresh = false;
    s->incarnation = s->world->vt->random(s->world);
    WR_TRY(txn_begin(s, &s->producers[1], err)); /* fences the other one's zombie too, before the first message */
    WR_TRY(commit_log(s, &s->producers[1], 0, WR_STR(""), err));
    return get_ready(s, &s->producers[0], err);
}

static wr_status sink_write(wr_sink *base, const wr_batch *batch, wr_err *err) {
    kafka_sink *s = (kafka_sink *)base;
    producer   *p = &s->producers[s->current];
    if (!wr_batch_live(batch)) return WR_OK;
    if (s->guarantee == EXACTLY_ONCE) {
        WR_TRY(begin_anew(s, err));
        if (!p->open) WR_TRY(txn_begin(s, p, err));
    }
    wr_batch *stored = wr_batch_derive((wr_batch *)(uintptr_t)batch, s->stored.n);
    for (uint32_t i = 0; i < s->stored.n; i++) stored->cols[i] = batch->cols[s->columns[i]];
    s->batch = batch;
    wr_status status = wr_record_writer_write(s->writer, stored, put_record, s, err);
    wr_batch_unref(stored);
    s->n_rows += batch->n_rows;
    kafka.poll(p->client.rk, 0);
    change_log_charge(&s->log);
    if (status == WR_OK && s->guarantee != EXACTLY_ONCE) status = delivered(s, p, err);
    return status;
}

static wr_status wait_for_all(kafka_sink *s, producer *p, wr_err *err) {
    rd_kafka_resp_err_t code = kafka.flush(p->client.rk, 2 * PATIENCE_MS);
    if (code) return kafka_fail(&p->client, code, err, "table '%.*s': %d messages did not reach the topic '%s' in time", WR_FMT(s->table), kafka.outq_len(p->client.rk), s->topic);
    return delivered(s, p, err);
}

static wr_status sink_flush(wr_sink *base, wr_err *err) {
    kafka_sink *s = (kafka_sink *)base;
    producer   *p = &s->producers[s->current];
    if (s->guarantee != EXACTLY_ONCE) return s->staging ? WR_OK : wait_for_all(s, p, err);
    if (s->staging || !s->log.bytes.len) return WR_OK;
    WR_TRY(commit_log(s, p, 0, wr_sbuf_str(&s->log.bytes), err));
    wr_sbuf_clear(&s->log.bytes);
    return WR_OK;
}

static wr_status sink_prepare(wr_sink *base, uint64_t epoch, wr_sbuf *staged, wr_err *err) {
    kafka_sink *s = (kafka_sink *)base;
    (void)epoch;
    s->staging = true;
    if (s->guarantee != EXACTLY_ONCE) return wait_for_all(s, &s->producers[s->current], err);
    WR_TRY(begin_anew(s, err));
    wr_put_u8(staged, STAGED_VERSION);
    wr_put_u64(staged, s->incarnation);
    wr_put_u8(staged, (uint8_t)s->current);
    change_log_stage(&s->log, staged);
    s->current ^= 1;
    return WR_OK;
}

/* Of staged bytes. */
static bool open_staged(wr_str staged, uint64_t *incarnation, uint32_t *current, wr_str *log) {
    wr_reader in = {(const uint8_t *)staged.ptr, (const uint8_t *)staged.ptr + staged.len, false};
    bool      ok = wr_get_u8(&in) == STAGED_VERSION;
    *incarnation = wr_get_u64(&in);
    *current = wr_get_u8(&in) & 1;
    *log = (wr_str){(const char *)in.at, (size_t)(in.end - in.at)};
    return ok && !in.bad;
}

static wr_status bad_staged(kafka_sink *s, wr_err *err) {
    return wr_fail(err, WR_CORRUPT, "XX001", "the staged messages of the table '%.*s' are of another version", WR_FMT(s->table));
}

static wr_status sink_commit(wr_sink *base, uint64_t epoch, wr_str staged, wr_err *err) {
    kafka_sink *s = (kafka_sink *)base;
    uint64_t    incarnation;
    uint32_t    which;
    wr_str      log;
    if (s->guarantee != EXACTLY_ONCE) return WR_OK;
    if (!open_staged(staged, &incarnation, &which, &log)) return bad_staged(s, err);
    if (!log.len) return WR_OK;
    return commit_log(s, &s->producers[which], epoch, log, err);
}

/* The epoch whose messages are in the topic; *known false: the group has nothing. */
static wr_status stored_epoch(kafka_sink *s, uint64_t *epoch, uint64_t *incarnation, bool *known, wr_err *err) {
    rd_kafka_topic_partition_list_t *list = kafka.topic_partition_list_new(1);
    kafka.topic_partition_list_add(list, s->topic, 0);
    int64_t             until = wr_mono_us(s->world) + PATIENCE_MS * INT64_C(1000);
    rd_kafka_resp_err_t code;
    do {
        code = kafka.committed(s->admin.rk, list, TIMEOUT_MS);
        if (!code) code = list->elems[0].err;
    } while ((kafka_is_passing(code) || code == RD_KAFKA_RESP_ERR_UNSTABLE_OFFSET_COMMIT) && wr_mono_us(s->world) < until);
    const rd_kafka_topic_partition_t *at = &list->elems[0];
    char                              text[40] = "";
    *known = !code && at->offset >= 0 && at->metadata_size && at->metadata_size < sizeof text;
    if (*known) memcpy(text, at->metadata, at->metadata_size);
    *epoch = *known ? (uint64_t)at->offset : 0;
    *incarnation = strtoull(text, NULL, 16);
    kafka.topic_partition_list_destroy(list);
    return code ? kafka_fail(&s->admin, code, err, "table '%.*s': cannot read the epoch of the topic '%s' from the group '%s'", WR_FMT(s->table), s->topic, s->group) : WR_OK;
}

static wr_status recover_epoch(kafka_sink *s, uint64_t epoch, wr_str staged, wr_err *err) {
    uint32_t which;
    wr_str   log;
    if (!open_staged(staged, &s->incarnation, &which, &log)) return bad_staged(s, err);
    s->fresh = false;
    s->current = which ^ 1;
    for (int i = 0; i < 2; i++) WR_TRY(get_ready(s, &s->producers[i], err)); /* what was left open is aborted */
    if (!log.len) return WR_OK;
    uint64_t have, of;
    bool     known;
    WR_TRY(stored_epoch(s, &have, &of, &known, err));
    if (!known) {
        wr_fail(err, WR_DATA, "WR365", "table '%.*s': it cannot be told whether the messages of epoch %" PRIu64 " reached the topic '%s'", WR_FMT(s->table), epoch, s->topic);
        wr_err_detail(err, "the group '%s' keeps it, and has no offset: brokers forget those of a group at rest after offsets.retention.minutes (7 days)", s->group);
        wr_err_hint(err, "look at the end of the topic; then start with a new --state-dir from the right position");
        return WR_DATA;
    }
    if (of == s->incarnation && have == epoch) return WR_OK;
    return commit_log(s, &s->producers[which], epoch, log, err);
}

static wr_status sink_recover(wr_sink *base, uint64_t epoch, wr_str staged, wr_err *err) {
    kafka_sink *s = (kafka_sink *)base;
    s->staging = true;
    if (s->guarantee != EXACTLY_ONCE || !epoch || !staged.len) return WR_OK; /* nothing staged: the sink was not there at the checkpoint */
    WR_TRY(recover_epoch(s, epoch, staged, err));
    s->incarnation = s->world->vt->random(s->world); /* after an older checkpoint the next epochs have numbers that the group has seen: they are not these */
    return WR_OK;
}

static wr_status sink_close(wr_sink *base, bool ok, wr_err *err) {
    kafka_sink *s = (kafka_sink *)base;
    wr_status   status = ok && !s->staging && s->producers[0].client.rk ? sink_flush(base, err) : WR_OK;
    for (int i = 0; i < 2; i++) {
        producer *p = &s->producers[i];
        if (p->client.rk && p->open) (void)kafka.abort_transaction(p->client.rk, 2000); /* readers need not wait for its timeout */
        if (p->client.rk) kafka.purge(p->client.rk, RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_INFLIGHT);
        if (p->client.rk) kafka_client_close(&p->client);
    }
    if (s->admin.rk) kafka_client_close(&s->admin);
    wr_record_writer_free(s->writer);
    change_log_free(&s->log);
    wr_sbuf_free(&s->entry);
    wr_arena_free(s->arena);
    wr_free(s);
    return status;
}

static const wr_sink_vt sink_vt = {"kafka", sink_write, sink_flush, sink_prepare, sink_commit, sink_recover, sink_close, NULL};

/* ---- making one ---- */

static bool given(const wr_table_info *t, const char *key) { return wr_options_find(&t->options, key) != NULL; }

static rd_kafka_conf_t *producer_conf(kafka_sink *s, const wr_table_info *t, wr_connect_ctx *ctx, int index) {
    rd_kafka_conf_t *conf = kafka.conf_new();
    char             text[400];
    snprintf(text, sizeof text, "%d", QUEUE_KIB);
    kafka_conf_set(conf, "queue.buffering.max.kbytes", text);
    kafka_conf_set(conf, "queue.buffering.max.messages", "400000");
    kafka_conf_set(conf, "partitioner", "murmur2_random"); /* as Java's producer */
    kafka_conf_set(conf, "socket.nagle.disable", "true");
    bool plain = given(t, "properties.acks") || given(t, "properties.retries") || given(t, "properties.max.in.flight.requests.per.connection");
    if (s->guarantee == EXACTLY_ONCE || (s->guarantee == AT_LEAST_ONCE && !plain)) kafka_conf_set(conf, "enable.idempotence", "true"); /* retries keep the order */
    if (s->guarantee == EXACTLY_ONCE) {
        snprintf(text, sizeof text, "%.*s-%d", WR_FMT(s->prefix), index);
        kafka_conf_set(conf, "transactional.id", text);
    }
    kafka.conf_set_dr_msg_cb(conf, on_delivery);
    if (kafka_conf_properties(conf, t, ctx)) return conf;
    kafka.conf_destroy(conf);
    return NULL;
}

static wr_status open_admin(kafka_sink *s, const wr_table_info *t, wr_connect_ctx *ctx, wr_err *err) {
    rd_kafka_conf_t *conf = kafka.conf_new();
    if (!kafka_conf_properties(conf, t, ctx)) {
        kafka.conf_destroy(conf);
        return WR_USER;
    }
    kafka_conf_set(conf, "group.id", s->group);
    kafka_conf_set(conf, "isolation.level", "read_committed"); /* asks the coordinator for settled offsets only */
    kafka_conf_set(conf, "enable.auto.commit", "false");
    WR_TRY(kafka_client_open(&s->admin, RD_KAFKA_CONSUMER, conf, t, err));
    kafka.poll_set_consumer(s->admin.rk);
    return WR_OK;
}

/* The topic must be there: a misspelled one would be made by brokers that make topics by themselves. */
static wr_status check_topic(kafka_sink *s, kafka_client *client, wr_err *err) {
    const struct rd_kafka_metadata *md;
    wr_status status = kafka_ask_metadata(client, s->world, TIMEOUT_MS / 2, &md, err, "table '%.*s'", WR_FMT(s->table));
    if (status == WR_USER && err) err->at = s->at;
    if (status != WR_OK) return status;
    for (int i = 0; i < md->topic_cnt; i++)
        if (!strcmp(md->topics[i].topic, s->topic)) s->n_partitions = md->topics[i].partition_cnt;
    kafka.metadata_destroy(md);
    if (s->n_partitions) return WR_OK;
    wr_fail(err, WR_USER, "WR363", "table '%.*s': there is no topic '%s'", WR_FMT(s->table), s->topic);
    wr_err_hint(err, "make it first (kafka-topics --create), or check its name");
    if (err) err->at = s->at;
    return WR_USER;
}

static wr_status read_sink_options(kafka_sink *s, const wr_table_info *t, wr_connect_ctx *ctx) {
    wr_str guarantee = option_text(t, kafka_specs, "sink.delivery-guarantee"), partitioner = option_text(t, kafka_specs, "sink.partitioner"), topic = option_text(t, kafka_specs, "topic");
    s->guarantee = wr_str_ieq(guarantee, WR_STR("exactly-once")) ? EXACTLY_ONCE : wr_str_ieq(guarantee, WR_STR("none")) ? NONE : AT_LEAST_ONCE;
    s->round_robin = wr_str_ieq(partitioner, WR_STR("round-robin")), s->fixed = wr_str_ieq(partitioner, WR_STR("fixed"));
    s->prefix = option_text(t, kafka_specs, "sink.transactional-id-prefix");
    if (s->guarantee == EXACTLY_ONCE && !s->prefix.len) {
        wr_status status = option_error(ctx, t, "sink.delivery-guarantee", "WR122", "'exactly-once' needs 'sink.transactional-id-prefix': a name that no other job uses");
        wr_diags_hint(ctx->diags, "write for example 'sink.transactional-id-prefix' = '%.*s'", WR_FMT(t->name));
        return status;
    }
    if (!topic.len || memchr(topic.ptr, ';', topic.len)) return option_error(ctx, t, "topic", "WR122", "a sink needs 'topic' with one topic");
    if (s->round_robin && s->format.key) return option_error(ctx, t, "sink.partitioner", "WR121", "'round-robin' would spread the messages of one key over partitions; leave it out when there is a key");
    s->topic = wr_arena_strndup(s->arena, topic.ptr, topic.len);
    s->group = wr_arena_printf(s->arena, "weir-sink-%.*s", WR_FMT(s->prefix));
    return WR_OK;
}

static wr_status split_columns(kafka_sink *s, const wr_table_info *t, wr_connect_ctx *ctx) {
    wr_field *fields = wr_new_n(s->arena, wr_field, t->schema->n + 1);
    s->columns = wr_new_n(s->arena, uint32_t, t->schema->n + 1);
    s->timestamp_col = s->headers_col = -1;
    for (uint32_t c = 0; c < t->schema->n; c++) {
        wr_str  key = t->written_metadata ? t->written_metadata[c] : (wr_str){NULL, 0};
        wr_type type = t->schema->fields[c].type;
        if (!key.ptr) {
            s->columns[s->stored.n] = c;
            fields[s->stored.n++] = t->schema->fields[c];
        } else if (wr_str_eq(key, WR_STR("timestamp")) && type.id == WR_T_TIMESTAMP_LTZ && type.prec == 3) {
            s->timestamp_col = (int32_t)c;
        } else if (wr_str_eq(key, WR_STR("headers")) && type.id == WR_T_MAP && wr_type_is_string(type.kids[0]) && wr_type_is_binary(type.kids[1])) {
            s->headers_col = (int32_t)c;
        } else {
            wr_diags_add(ctx->diags, WR_SEV_ERROR, "WR126", t->at, "table '%.*s': the metadata '%.*s' cannot be written: timestamp as TIMESTAMP_LTZ(3) and headers as MAP<STRING, BYTES> can", WR_FMT(t->name), WR_FMT(key));
            wr_diags_hint(ctx->diags, "METADATA VIRTUAL leaves the column out when the table is written");
            return WR_USER;
        }
    }
    s->stored.fields = fields;
    return WR_OK;
}

static wr_status make_format(kafka_sink *s, const wr_table_info *t, wr_connect_ctx *ctx) {
    uint32_t *key = wr_new_n(s->arena, uint32_t, t->n_key + 1), n_key = 0;
    WR_TRY(split_columns(s, t, ctx));
    for (uint32_t k = 0; k < t->n_key; k++) {
        int at = wr_schema_find(&s->stored, t->schema->fields[t->key[k]].name);
        if (at >= 0) key[n_key++] = (uint32_t)at;
    }
    if (!wr_record_format_read(&s->format, &s->stored, key, n_key, &t->options, t->at, kafka_is_upsert(t), true, s->arena, ctx->diags)) return WR_USER;
    wr_record_writer_opts opts = {.format = &s->format, .schema = &s->stored, .tz = ctx->tz, .world = ctx->world, .topic = wr_str_trim(wr_option_string(&t->options, kafka_specs, "topic"))};
    return wr_record_writer_new(&opts, &s->writer, ctx->diags);
}

wr_status kafka_sink_new(const wr_table_info *t, wr_connect_ctx *ctx, wr_sink **out, wr_err *err) {
    *out = NULL;
    WR_TRY(kafka_load(err));
    kafka_sink *s = wr_calloc(1, sizeof *s);
    *s = (kafka_sink){.base = {&sink_vt}, .world = ctx->world, .log = {.acct = ctx->acct}, .arena = wr_arena_new(NULL), .table = t->name, .at = t->at, .fresh = true, .refuse = ctx->refuse};
    wr_status status = make_format(s, t, ctx);
    if (status == WR_OK) status = read_sink_options(s, t, ctx);
    for (int i = 0; i < (s->guarantee == EXACTLY_ONCE ? 2 : 1) && status == WR_OK; i++) {
        rd_kafka_conf_t *conf = producer_conf(s, t, ctx, i);
        status = conf ? kafka_client_open(&s->producers[i].client, RD_KAFKA_PRODUCER, conf, t, err) : WR_USER;
    }
    if (status == WR_OK) status = check_topic(s, &s->producers[0].client, err);
    if (status == WR_OK && s->guarantee == EXACTLY_ONCE) status = open_admin(s, t, ctx, err);
    if (status != WR_OK) {
        (void)sink_close(&s->base, false, NULL);
        return status;
    }
    *out = &s->base;
    return WR_OK;
}
