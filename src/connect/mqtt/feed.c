/* connect/mqtt/feed.c: the source of 'mqtt': messages into a log, which the source of 'log' reads.
 *
 * Idea       a broker cannot be read again, so what comes from it goes into a log first, and positions, checkpoints and replays are those of the log. One thread reads
 *            what has come, appends it as one unit, syncs, and only then lets the acknowledgements out (lib.h): a message is at the broker or on disk.
 * Once       a crash in between leaves messages that are on disk and not acknowledged; the broker sends them again, marked so, with their numbers. The log's last
 *            MQTT_INFLIGHT messages are known by number and hash: such a one is acknowledged and left out. The mark is taken from the library's log text, the only
 *            place that tells it; if it is not there, the message comes twice rather than not at all.
 * Record     key: topic; value: payload; header "n" (QoS 1): the broker's number.
 * Retained   messages are sent when a filter is new in the session only, not with every connection.
 * Bound      the log has at most max_bytes; while it has more, nothing is read from the broker. Room comes from checkpoints: what one that lasts has read is removed,
 *            whole segments at a time; the last KEPT messages stay while the log is less than half full. One unit has at most MQTT_INFLIGHT messages and is ended at UNIT_BYTES.
 * Failure    a sync that failed, a broker that says no, or one that is away for too long ends the feed, and the job with its reason.
 * Thread     run and callbacks: one of its own; the rest: the source's owner, `consumed` any.                                           */
#include "base/hash.h"
#include "connect/log/connector.h"
#include "connect/mqtt/lib.h"

enum { CHORES_US = 200000, STEP_MS = 20, KEEPALIVE_S = 30, SEGMENTS_OF_BOUND = 8, SEGMENT_MIN = 64 << 10, SEGMENT_MAX = 64 << 20, UNIT_BYTES = 4 << 20, KEPT = 2 * MQTT_INFLIGHT,
       FULL_US = 20000, BACK_OFF_US = 50000, BACK_OFF_MAX_US = 2000000 };

typedef struct seen { uint32_t number; uint64_t hash; } seen; /* hash: of topic and payload */
typedef struct item { size_t topic, topic_len, payload, payload_len; uint16_t number; bool numbered; } item;

typedef struct mqtt_feed {
    struct mqtt_feed *next;       /* of the process */
    wr_world         *world;
    wr_arena         *arena;
    wr_account       *acct;
    wr_str            table, filters;
    const char       *path;
    wr_log_config     config;
    uint64_t          max_bytes;
    bool              keep_all, started;
    mqtt_conn         conn;
    wr_log           *log;
    wr_mutex         *lock;       /* of the error */
    wr_bell          *bell;
    void             *thread;
    _Atomic bool      stop, is_broken;
    _Atomic int64_t   consumed;
    wr_err            broken;
    /* of the thread */
    int64_t           charged, trimmed, chores_us, lost_us, back_off_us;
    wr_sbuf           text;       /* of the unit that is gathered */
    WR_ARR(item)      items;
    WR_ARR(wr_log_record) records;
    bool              again;      /* the message that comes next is marked as sent before */
    int               no_filter;  /* reason of the broker */
    seen              recent[MQTT_INFLIGHT], known[MQTT_INFLIGHT]; /* the last ones in the log, a ring; those among them that may come again */
    uint32_t          n_recent, at_recent, n_known;
    uint64_t          n_messages, n_again;
} mqtt_feed;

static mqtt_feed  *feeds; /* of this process */
static atomic_flag feeds_lock = ATOMIC_FLAG_INIT;
static void lock_feeds(void) { while (atomic_flag_test_and_set(&feeds_lock)) {} }
static void unlock_feeds(void) { atomic_flag_clear(&feeds_lock); }

bool mqtt_next_filter(wr_str *list, wr_str *out) {
    while (wr_str_next(list, ';', out)) {
        *out = wr_str_trim(*out);
        if (out->len) return true;
    }
    return false;
}

/* ---- messages that were seen ---- */

static uint64_t hash_of(wr_str topic, wr_str payload) { return wr_hash_mix(wr_hash_bytes(topic.ptr, topic.len), wr_hash_bytes(payload.ptr, payload.len)); }

static void remember(mqtt_feed *f, uint32_t number, uint64_t hash) {
    f->recent[f->at_recent] = (seen){number, hash};
    f->at_recent = (f->at_recent + 1) % MQTT_INFLIGHT;
    f->n_recent = WR_MIN(f->n_recent + 1, (uint32_t)MQTT_INFLIGHT);
}

static bool was_seen(mqtt_feed *f, uint32_t number, uint64_t hash) {
    for (uint32_t i = 0; i < f->n_known; i++) {
        if (f->known[i].number != number || f->known[i].hash != hash) continue;
        f->known[i] = f->known[--f->n_known];
        return true;
    }
    return false;
}

/* What the log says of its last messages: a job that was killed goes on here. */
static wr_status recall(mqtt_feed *f, wr_err *err) {
    wr_log_view *view;
    wr_log_stat  stat;
    WR_TRY(wr_log_view_open(f->world, f->path, &view, err));
    wr_status      status = wr_log_view_stat(view, 0, &stat, err);
    int64_t        from = status == WR_OK ? WR_MAX(stat.start, stat.end - KEPT) : 0;
    wr_log_cursor *cursor = status == WR_OK ? wr_log_cursor_new(view, 0, from) : NULL;
    wr_log_batch   batch = {0};
    wr_log_piece   piece = {0};
    while (status == WR_OK && (status = wr_log_cursor_peek(cursor, &piece, err)) == WR_OK && piece.len) {
        wr_log_record r;
        if (wr_log_batch_open(&batch, piece.bytes, piece.len) != WR_OK) status = wr_log_damaged(f->path, 0, piece.segment, piece.at, piece.base, err);
        while (status == WR_OK && wr_log_batch_next(&batch, &r)) {
            wr_str list = r.headers, name, value;
            while (wr_log_header_next(&list, &name, &value))
                if (r.offset >= from && wr_str_eq(name, WR_STR("n")) && value.len == 2) remember(f, (uint32_t)(uint8_t)value.ptr[0] | (uint32_t)(uint8_t)value.ptr[1] << 8, hash_of(r.key, r.value));
        }
        if (status == WR_OK) wr_log_cursor_take(cursor, &piece);
    }
    wr_log_batch_free(&batch);
    if (cursor) wr_log_cursor_free(cursor);
    wr_log_view_close(view);
    return status;
}

/* ---- callbacks ---- */

static void heard(struct mosquitto *m, void *self, int level, const char *text) {
    mqtt_feed  *f = ((mqtt_conn *)self)->owner;
    const char *at = level == MOSQ_LOG_DEBUG ? strstr(text, " received PUBLISH (d") : NULL; /* a client.id has no blanks */
    (void)m;
    if (at) f->again = at[20] == '1';
}

static void take_message(struct mosquitto *m, void *self, const struct mosquitto_message *msg) {
    mqtt_feed *f = ((mqtt_conn *)self)->owner;
    wr_str     topic = wr_str_of(msg->topic), payload = {msg->payloadlen ? msg->payload : "", (size_t)msg->payloadlen};
    bool       again = f->again;
    (void)m;
    f->again = false;
    if (again && msg->qos && was_seen(f, (uint32_t)msg->mid, hash_of(topic, payload))) {
        f->n_again++;
        return;
    }
    item i = {.topic = f->text.len, .topic_len = topic.len, .payload = f->text.len + topic.len, .payload_len = payload.len, .number = (uint16_t)msg->mid, .numbered = msg->qos > 0};
    wr_sbuf_add(&f->text, topic.ptr, topic.len);
    wr_sbuf_add(&f->text, payload.ptr, payload.len);
    wr_arr_push(&f->items, i);
}

static void subscribed(struct mosquitto *m, void *self, int mid, int n, const int *granted, const mosquitto_property *props) {
    mqtt_feed *f = ((mqtt_conn *)self)->owner;
    (void)m, (void)mid, (void)props;
    for (int i = 0; i < n; i++)
        if (granted[i] >= 0x80) f->no_filter = granted[i];
}

/* ---- the thread ---- */

static void end_feed(mqtt_feed *f, const wr_err *err) {
    wr_mutex_lock(f->lock);
    f->broken = *err;
    wr_mutex_unlock(f->lock);
    atomic_store(&f->is_broken, true);
}

/* The unit into the log, on disk. WR_LIMIT: there is no room, nothing was appended. */
static wr_status store(mqtt_feed *f, wr_err *err) {
    wr_sbuf         headers = {0};
    wr_log_appended at;
    if (!f->items.n) return WR_OK;
    size_t per = 0;
    for (uint32_t i = 0; i < f->items.n; i++) {
        const char bytes[2] = {(char)(f->items.at[i].number & 0xff), (char)(f->items.at[i].number >> 8)};
        if (f->items.at[i].numbered) wr_log_header_put(&headers, WR_STR("n"), (wr_str){bytes, 2});
        if (!per) per = headers.len; /* all are of one length */
    }
    const char *next = headers.at;
    f->records.n = 0;
    for (uint32_t i = 0; i < f->items.n; i++) {
        const item   *x = &f->items.at[i];
        wr_log_record r = {.time_ms = WR_LOG_NO_TIME, .key = {f->text.at + x->topic, x->topic_len}, .value = {f->text.at + x->payload, x->payload_len}};
        if (x->numbered) r.n_headers = 1, r.headers = (wr_str){next, per}, next += per;
        wr_arr_push(&f->records, r);
    }
    wr_status status = wr_log_submit(f->log, 0, f->records.at, f->records.n, (wr_str){NULL, 0}, &at, err);
    if (status == WR_OK) status = wr_log_sync(f->log, UINT64_MAX, err);
    for (uint32_t i = 0; i < f->items.n && status == WR_OK; i++)
        if (f->items.at[i].numbered) remember(f, f->items.at[i].number, hash_of(f->records.at[i].key, f->records.at[i].value));
    f->n_messages += status == WR_OK ? f->items.n : 0;
    f->items.n = 0;
    wr_sbuf_clear(&f->text);
    wr_sbuf_free(&headers);
    int64_t bytes = (int64_t)f->text.cap;
    if (f->acct && bytes != f->charged) wr_account_add(f->acct, bytes - f->charged);
    f->charged = bytes;
    return status;
}

/* Lets go of what was read, but for the last messages while there is room for them, and of what retention says. */
static void trim(mqtt_feed *f) {
    int64_t        upto = atomic_load(&f->consumed);
    wr_log_usage   usage;
    wr_log_cleaned cleaned;
    (void)wr_log_clean(f->log, false, &cleaned, NULL);
    wr_log_usage_of(f->log, &usage);
    if (usage.bytes <= f->max_bytes / 2) upto -= KEPT;
    if (!f->keep_all && upto > f->trimmed && wr_log_trim(f->log, 0, upto, NULL) == WR_OK) f->trimmed = upto;
}

static bool is_full(mqtt_feed *f) {
    wr_log_usage usage;
    wr_log_usage_of(f->log, &usage);
    return usage.bytes + usage.buffered >= f->max_bytes;
}

static int subscribe(mqtt_feed *f) {
    wr_str list = f->filters, one;
    int    status = MOSQ_ERR_SUCCESS;
    while (status == MOSQ_ERR_SUCCESS && mqtt_next_filter(&list, &one)) {
        char *text = wr_malloc(one.len + 1);
        memcpy(text, one.ptr, one.len);
        text[one.len] = 0;
        status = mqtt.subscribe_v5(f->conn.m, NULL, text, 1, MQTT_SUB_OPT_SEND_RETAIN_NEW, NULL);
        wr_free(text);
    }
    return status;
}

/* False: the feed is over. */
static bool wait_again(mqtt_feed *f, const wr_err *err) {
    int64_t now = wr_mono_us(f->world);
    mqtt_close(&f->conn, false);
    f->items.n = 0; /* not acknowledged: they come again */
    wr_sbuf_clear(&f->text);
    if (!f->lost_us) f->lost_us = now, f->back_off_us = BACK_OFF_US;
    if (!err->retriable || now - f->lost_us > f->conn.retry_us) return end_feed(f, err), false;
    wr_bell_wait(f->bell, f->back_off_us);
    f->back_off_us = WR_MIN(f->back_off_us * 2, (int64_t)BACK_OFF_MAX_US);
    return true;
}

static wr_status connect_now(mqtt_feed *f, wr_err *err) {
    f->n_known = 0, f->again = false;
    memcpy(f->known, f->recent, sizeof f->known); /* before messages come: they may come with the answer */
    f->n_known = f->n_recent;
    WR_TRY(mqtt_try(&f->conn, err));
    if (!f->conn.had_session) f->n_known = 0; /* its numbers mean nothing now */
    int status = subscribe(f);
    return status == MOSQ_ERR_SUCCESS ? WR_OK : mqtt_fail(&f->conn, status, "subscribe", err);
}

/* What has come, onto the disk; then it is acknowledged. */
static wr_status turn(mqtt_feed *f, wr_err *err) {
    uint32_t  before;
    int       status = mqtt_read(&f->conn, STEP_MS);
    do {
        before = f->items.n;
        if (status == MOSQ_ERR_SUCCESS && f->items.n) status = mqtt_read(&f->conn, 0);
    } while (status == MOSQ_ERR_SUCCESS && f->items.n > before && f->items.n < MQTT_INFLIGHT && f->text.len < UNIT_BYTES);
    wr_status stored = store(f, err);
    if (stored == WR_LIMIT) {
        err->retriable = true;
        return stored;
    }
    if (stored != WR_OK) {
        err->retriable = false;
        return stored;
    }
    if (f->no_filter) f->conn.refused = f->no_filter;
    if (f->no_filter) return mqtt_fail(&f->conn, MOSQ_ERR_SUCCESS, "subscribe", err);
    if (status == MOSQ_ERR_SUCCESS) status = mqtt_write(&f->conn);
    if (status != MOSQ_ERR_SUCCESS) return mqtt_fail(&f->conn, status, "read", err);
    f->lost_us = 0;
    return WR_OK;
}

static void run(void *arg) {
    mqtt_feed *f = arg;
    bool       on = true;
    while (on && !atomic_load(&f->stop)) {
        wr_err  err = {0};
        int64_t now = wr_mono_us(f->world);
        if (now >= f->chores_us) trim(f), f->chores_us = now + CHORES_US;
        if (is_full(f)) {
            if (f->conn.m && mqtt_write(&f->conn) != MOSQ_ERR_SUCCESS) mqtt_close(&f->conn, false); /* the broker has given up; later again */
            wr_bell_wait(f->bell, FULL_US);
            continue;
        }
        wr_status status = f->conn.m ? turn(f, &err) : connect_now(f, &err);
        if (status != WR_OK) on = wait_again(f, &err);
    }
    mqtt_close(&f->conn, true);
}

/* ---- the feed of a source ---- */

static wr_status open_log(mqtt_feed *f, wr_err *err) {
    const wr_log_opts opts = {.world = f->world, .acct = f->acct, .path = f->path, .create = &f->config, .max_bytes = f->max_bytes + UNIT_BYTES};
    WR_TRY(wr_log_open(&opts, &f->log, err));
    WR_TRY(wr_log_recover(f->log, 0, WR_STR(""), err));
    return recall(f, err);
}

/* *mine: this one has the log now; else another source of the same table has it already. */
static wr_status claim(mqtt_feed *f, bool *mine, wr_err *err) {
    wr_status status = WR_OK;
    *mine = true;
    lock_feeds();
    for (mqtt_feed *x = feeds; x && *mine; x = x->next) {
        if (strcmp(x->path, f->path)) continue;
        *mine = false;
        if (!strcmp(x->conn.client_id, f->conn.client_id) && !strcmp(x->conn.host, f->conn.host) && x->conn.port == f->conn.port) continue;
        status = wr_fail(err, WR_USER, "WR372", "the tables '%.*s' and '%.*s' take messages into one log, '%s'", WR_FMT(x->table), WR_FMT(f->table), f->path);
        wr_err_hint(err, "give each table a 'path' of its own, and read both with UNION ALL");
    }
    if (*mine) f->next = feeds, feeds = f;
    unlock_feeds();
    return status;
}

static wr_status start(mqtt_feed *f, wr_err *err) {
    bool mine;
    f->started = true;
    wr_status status = claim(f, &mine, err);
    if (status == WR_OK && mine) status = open_log(f, err);
    if (status == WR_OK && mine) status = f->world->vt->spawn(f->world, "mqtt", run, f, &f->thread, err);
    if (status != WR_OK && err && !err->at.line) err->at = f->conn.at;
    return status;
}

static wr_status feed_tend(void *self, wr_err *err) {
    mqtt_feed *f = self;
    if (!f->started) WR_TRY(start(f, err));
    if (!atomic_load(&f->is_broken)) return WR_OK;
    wr_mutex_lock(f->lock);
    *err = f->broken;
    wr_mutex_unlock(f->lock);
    return err->status;
}

static void feed_consumed(void *self, int64_t offset) { atomic_store(&((mqtt_feed *)self)->consumed, offset); }

static void feed_describe(void *self, wr_sbuf *out) {
    mqtt_feed *f = self;
    wr_sbuf_printf(out, "%s:%d, topic %.*s, session %s", f->conn.host, f->conn.port, WR_FMT(f->filters), f->conn.client_id);
}

static void feed_close(void *self) {
    mqtt_feed *f = self;
    atomic_store(&f->stop, true);
    wr_bell_ring(f->bell);
    if (f->thread) f->world->vt->join(f->world, f->thread);
    wr_log_close(f->log);
    lock_feeds();
    for (mqtt_feed **at = &feeds; *at; at = &(*at)->next)
        if (*at == f) {
            *at = f->next;
            break;
        }
    unlock_feeds();
    if (f->acct) wr_account_add(f->acct, -f->charged);
    wr_sbuf_free(&f->text);
    wr_arr_free(&f->items);
    wr_arr_free(&f->records);
    wr_mutex_free(f->lock);
    wr_bell_free(f->bell);
    wr_arena_free(f->arena);
    wr_free(f);
}

/* ---- making one ---- */

static wr_status read_filters(mqtt_feed *f, const wr_table_info *t, wr_connect_ctx *ctx) {
    wr_str   list = f->filters = wr_str_dup(f->arena, option_text(t, mqtt_specs, "topic")), one;
    uint32_t n = 0;
    while (mqtt_next_filter(&list, &one)) {
        n++;
        if (mqtt.sub_topic_check(wr_arena_strndup(f->arena, one.ptr, one.len)) != MOSQ_ERR_SUCCESS)
            return option_error(ctx, t, "topic", "WR121", "'%.*s' is not a filter of topics: + stands for one level, # for all the rest", WR_FMT(one));
    }
    return n ? WR_OK : option_error(ctx, t, "topic", "WR121", "'topic' names no topic");
}

static wr_status read_options(mqtt_feed *f, const wr_table_info *t, wr_connect_ctx *ctx) {
    wr_str  client = option_text(t, mqtt_specs, "client.id");
    int64_t most, retention = 0;
    if (!client.len) return option_error(ctx, t, "topic", "WR122", "a table that is read needs 'client.id', the name of its session at the broker");
    f->conn.client_id = wr_arena_strndup(f->arena, client.ptr, client.len);
    if (strpbrk(f->conn.client_id, " \t\r\n")) return option_error(ctx, t, "client.id", "WR121", "'client.id' has no blanks");
    f->path = log_table_path(t, f->arena);
    if (!f->path[0]) return option_error(ctx, t, "topic", "WR122", "a table that is read needs 'path', the directory of the log that keeps its messages");
    WR_TRY(read_filters(f, t, ctx));
    if (!wr_option_size(&t->options, mqtt_specs, "log.max-bytes", &most, ctx->diags) ||
        (wr_options_find(&t->options, "log.retention") && !wr_option_duration(&t->options, mqtt_specs, "log.retention", &retention, ctx->diags))) return WR_USER;
    if (most < SEGMENT_MIN * SEGMENTS_OF_BOUND) return option_error(ctx, t, "log.max-bytes", "WR121", "'log.max-bytes' is at least %d KiB", (SEGMENT_MIN * SEGMENTS_OF_BOUND) >> 10);
    f->max_bytes = (uint64_t)most;
    f->keep_all = wr_str_ieq(option_text(t, mqtt_specs, "log.keep"), WR_STR("all"));
    wr_log_config_default(&f->config);
    f->config.segment_bytes = WR_MIN(WR_MAX(f->max_bytes / SEGMENTS_OF_BOUND, (uint64_t)SEGMENT_MIN), (uint64_t)SEGMENT_MAX); /* so that there is something to let go of */
    f->config.retention_us = retention;
    return WR_OK;
}

static wr_status open_feed(mqtt_feed *f, const wr_table_info *t, wr_connect_ctx *ctx, wr_err *err) {
    bool exists;
    WR_TRY(mqtt_open(&f->conn, t, f->arena, ctx, err));
    f->conn.name = f->table, f->conn.owner = f, f->conn.stop = &f->stop, f->conn.keepalive_s = KEEPALIVE_S;
    f->conn.on_message = take_message, f->conn.on_log = heard, f->conn.on_subscribe = subscribed;
    WR_TRY(read_options(f, t, ctx));
    WR_TRY(wr_log_exists(f->world, f->path, &exists, err));
    return exists ? WR_OK : wr_log_create(f->world, f->path, &f->config, err);
}

wr_status mqtt_source_new(const wr_table_info *t, wr_connect_ctx *ctx, wr_source **out, wr_err *err) {
    static const message_key keys[] = {{"topic", MESSAGE_TEXT}, {"offset", MESSAGE_BIGINT}, {"timestamp", MESSAGE_TIME}, {0}};
    mqtt_feed *f = wr_calloc(1, sizeof *f);
    *out = NULL;
    *f = (mqtt_feed){.world = ctx->world, .acct = ctx->acct, .arena = wr_arena_new(NULL), .lock = wr_mutex_new(), .bell = wr_bell_new()};
    f->table = wr_str_dup(f->arena, t->name);
    wr_status      status = open_feed(f, t, ctx, err);
    const log_feed feed = {.name = "mqtt", .self = f, .keys = keys, .tend = feed_tend, .consumed = feed_consumed, .describe = feed_describe, .close = feed_close};
    if (status == WR_OK) return log_fed_source_new(t, ctx, &feed, out, err);
    feed_close(f);
    return status;
}
