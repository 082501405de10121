/* connect/log/source.c: the source of 'log' and 'upsert-log': the partitions of a log, read by own positions.
 *
 * Idea       next() copies whole batches, unchecked; decode() checks their sums, unpacks and decodes them, on any worker. A batch may begin before the position, or go
 *            beyond the end that was asked for: the note of the chunk says which offsets are meant.
 * Start      each partition's first offset is made a number when the source is made: it is what the checkpoint says.
 * Tail       at the visible end the log's `commits` is looked at again when it has changed (sys/notify.h), and 50 times a second where nobody tells.
 * Positions  with the log's id: one that was made anew at the same place is refused.
 * Bounds     one chunk of CHUNK_BYTES, unpacked CHUNK_RAW_BYTES, or of one batch; what the cursors read ahead (16 MiB over all partitions), charged.
 * Thread     next, save, load: under the turn lock; decode: any worker, sees only the chunk and what is its own.                                  */
#include "connect/log/connector.h"
#include "sys/notify.h"
#include <inttypes.h>

enum { CHUNK_BYTES = 256 * 1024, CHUNK_RAW_BYTES = 4 << 20, SAVE_VERSION = 1, WAIT_US = 2000, WAIT_MAX_US = 20000, PIECES_MAX = 512 };
enum { START_EARLIEST, START_LATEST, START_TIMESTAMP, START_SPECIFIC };
enum { END_NEVER, END_LATEST, END_TIMESTAMP, END_SPECIFIC };

typedef struct log_source_part {
    wr_log_cursor *cursor;
    int64_t        next, first, end; /* end: INT64_MAX none */
    bool           done;
} log_source_part;

typedef struct piece_note { const uint8_t *bytes; size_t len; int64_t segment, base; uint64_t segment_at; } piece_note;
typedef struct chunk_note { /* hangs on a chunk, with its bytes */
    wr_mem    *mem;
    uint32_t   partition, n;
    int64_t    from, to;     /* offsets that are meant */
    size_t     len, raw_len; /* of all pieces; of all records, unpacked */
    piece_note pieces[PIECES_MAX];
    message_note *again;     /* one message that is put back, and no pieces; NULL: none is */
} chunk_note;

typedef struct log_source {
    wr_source         base;
    wr_world         *world;
    wr_account       *acct;
    int64_t           charged;
    wr_arena         *arena;
    wr_str            table;
    wr_span           at;
    const char       *path;
    wr_log_view      *view;
    message_reader    messages;
    uint32_t          n_parts, turn;
    log_feed          feed;           /* self NULL: there is none */
    wr_source_vt      vt;             /* with a feed */
    bool              headers, topics, bounded, limited, loaded, reads_only; /* topics: keys are wanted as such */
    wr_log_batch     *batches;        /* of each worker: where it unpacks */
    log_source_part  *parts;
    int               start, stop;
    int64_t           start_ms, stop_ms, wait_us;
    wr_notify        *notify; /* of the log's directory; NULL: nobody tells */
    wr_str            start_offsets, stop_offsets;
} log_source;

static wr_status at_table(const log_source *s, wr_status status, wr_err *err) {
    if (status != WR_OK && err && !err->at.line) err->at = s->at;
    return status;
}

/* ---- where to begin and to end ---- */

static wr_status first_offset(log_source *s, uint32_t p, int64_t *out, wr_err *err) {
    wr_log_stat stat;
    bool        found;
    WR_TRY(wr_log_view_stat(s->view, p, &stat, err));
    *out = stat.start;
    if (s->start == START_LATEST) *out = stat.end;
    if (s->start == START_TIMESTAMP) return wr_log_view_time(s->view, p, s->start_ms, out, err);
    if (s->start == START_SPECIFIC) (void)message_offset(s->start_offsets, p, out, &found);
    return WR_OK;
}

static wr_status end_offset(log_source *s, uint32_t p, int64_t *out, wr_err *err) {
    bool found = false;
    *out = INT64_MAX;
    if (s->stop == END_NEVER) return WR_OK;
    if (s->stop == END_TIMESTAMP) return wr_log_view_time(s->view, p, s->stop_ms, out, err);
    if (s->stop == END_SPECIFIC) (void)message_offset(s->stop_offsets, p, out, &found);
    if (!found) *out = wr_log_view_end(s->view, p);
    return WR_OK;
}

static void set_part(log_source *s, uint32_t p, int64_t next, int64_t first, int64_t end) {
    log_source_part *part = &s->parts[p];
    wr_log_cursor_free(part->cursor);
    *part = (log_source_part){.cursor = wr_log_cursor_new(s->view, p, next), .next = next, .first = first, .end = end, .done = next >= end};
}

/* Who appends, in this process or another one, wakes the job: `commits` changes. */
static void watch(log_source *s, wr_connect_ctx *ctx) {
    if (!ctx->wake || s->bounded) return;
    s->notify = wr_notify_new(ctx->wake, ctx->wake_arg);
    wr_notify_dir(s->notify, s->path);
}

static wr_status begin(log_source *s, wr_err *err) {
    WR_TRY(wr_log_view_open(s->world, s->path, &s->view, err));
    s->n_parts = wr_log_view_config(s->view)->partitions;
    s->parts = wr_calloc(s->n_parts, sizeof *s->parts);
    s->charged = (int64_t)(s->n_parts * wr_log_cursor_bytes(s->view) + CHUNK_BYTES);
    if (s->acct) wr_account_add(s->acct, s->charged);
    for (uint32_t p = 0; p < s->n_parts; p++) {
        int64_t first, end;
        WR_TRY(first_offset(s, p, &first, err));
        WR_TRY(end_offset(s, p, &end, err));
        set_part(s, p, first, first, end);
    }
    return WR_OK;
}

/* ---- reading ---- */

static chunk_note *note_new(const log_source *s, uint32_t p) {
    wr_mem     *mem = wr_mem_new(CHUNK_BYTES + sizeof(chunk_note) + 128 * 1024);
    chunk_note *note = wr_mem_calloc(mem, sizeof *note);
    note->mem = mem, note->partition = p, note->n = 0, note->len = note->raw_len = 0, note->from = s->parts[p].next, note->to = s->parts[p].end;
    return note;
}

static void note_piece(chunk_note *note, const wr_log_piece *piece) {
    uint8_t *bytes = wr_mem_alloc(note->mem, piece->len);
    memcpy(bytes, piece->bytes, piece->len);
    note->pieces[note->n++] = (piece_note){bytes, piece->len, piece->segment, piece->base, piece->at};
    note->len += piece->len;
    note->raw_len += piece->raw_len;
}

/* Batches of one partition; *note stays NULL if there are none now. */
static wr_status read_part(log_source *s, uint32_t p, chunk_note **note, wr_err *err) {
    log_source_part *part = &s->parts[p];
    uint32_t         records = 0;
    *note = NULL;
    while (!part->done && (!*note || ((*note)->n < PIECES_MAX && (*note)->len < CHUNK_BYTES && (*note)->raw_len < CHUNK_RAW_BYTES)) && records < WR_RECORDS_MAX) {
        wr_log_piece piece;
        WR_TRY(wr_log_cursor_peek(part->cursor, &piece, err));
        if (!piece.len) {
            part->next = WR_MAX(part->next, wr_log_cursor_offset(part->cursor));
            part->done = part->next >= part->end;
            return WR_OK;
        }
        if (piece.base < part->end) {
            if (!*note) *note = note_new(s, p);
            note_piece(*note, &piece);
            records += piece.n;
        }
        wr_log_cursor_take(part->cursor, &piece);
        part->next = WR_MIN(piece.next, part->end);
        part->done = part->next >= part->end;
    }
    return WR_OK;
}

/* Something of a partition whose turn it is; false: there is nothing now, or *status says why not. */
static bool read_next(log_source *s, const uint64_t *held, wr_chunk *out, wr_status *status, wr_err *err) {
    for (uint32_t k = 0; k < s->n_parts; k++) {
        uint32_t    p = (s->turn + k) % s->n_parts;
        chunk_note *note = NULL;
        if (s->parts[p].done || is_held(held, p)) continue;
        *status = read_part(s, p, &note, err);
        if (*status != WR_OK) {
            if (note) wr_mem_unref(note->mem);
            return false;
        }
        if (!note && !s->parts[p].done) continue;
        *out = (wr_chunk){.partition = p, .last = s->parts[p].done && !s->limited};
        if (note) out->mem = note->mem, out->data = (const uint8_t *)note, out->len = note->len, out->rows_from = (uint64_t)(uintptr_t)note;
        s->turn = (p + 1) % s->n_parts;
        return true;
    }
    return false;
}

static wr_status source_next(wr_source *base, const uint64_t *held, wr_chunk *out, wr_next *state, int64_t *retry_us, wr_err *err) {
    log_source *s = (log_source *)base;
    wr_status   status = WR_OK;
    *out = (wr_chunk){0};
    wr_notify_arm(s->notify);
    if (s->feed.self && !s->limited && !s->reads_only) WR_TRY(s->feed.tend(s->feed.self, err));
    bool got = read_next(s, held, out, &status, err);
    if (!got && status == WR_OK && (status = wr_log_view_refresh(s->view, err)) == WR_OK) got = read_next(s, held, out, &status, err);
    if (status != WR_OK) return at_table(s, status, err);
    if (got) {
        s->wait_us = WAIT_US;
        *state = WR_NEXT_CHUNK;
        return WR_OK;
    }
    bool all_done = s->bounded && !s->limited;
    for (uint32_t i = 0; i < s->n_parts; i++) all_done &= s->parts[i].done;
    *state = all_done ? WR_NEXT_END : WR_NEXT_WAIT;
    *retry_us = s->wait_us;
    s->wait_us = WR_MIN(s->wait_us + s->wait_us / 2, (int64_t)WAIT_MAX_US);
    return WR_OK;
}

/* ---- decoding ---- */

/* The messages that were gathered become rows; the note is empty again. */
static void decode_note(log_source *s, uint32_t worker, message_note *note, wr_decoded *out) {
    if (note->records.n) message_decode(&s->messages, worker, note, out);
    note->records.n = 0;
}

static wr_mem *open_note(log_source *s, const chunk_note *chunk, wr_mem *keeper, message_note *note) {
    size_t  room = chunk->raw_len + WR_RECORDS_MAX;
    wr_mem *mem = wr_mem_new(2 * room + 64 * 1024);
    wr_mem_keep(keeper, mem); /* bad records are shown from it */
    message_note_open(note, mem, room, room, s->headers);
    if (s->topics) note->topics = wr_mem_alloc(mem, WR_RECORDS_MAX * sizeof *note->topics);
    wr_mem_unref(mem);
    return mem;
}

static wr_str copy_topic(wr_mem *mem, wr_str topic) {
    char *copy = wr_mem_alloc(mem, topic.len + 1);
    if (topic.len) memcpy(copy, topic.ptr, topic.len);
    return (wr_str){copy, topic.len};
}

static void add_record(log_source *s, uint32_t worker, const chunk_note *chunk, wr_mem *keeper, message_note *note, const wr_log_record *r, wr_decoded *out) {
    wr_str key = s->messages.format.key ? r->key : (wr_str){NULL, 0}, name, value, list = r->headers;
    if (!message_note_add(note, key, r->value, r->offset, r->time_ms)) {
        decode_note(s, worker, note, out);
        open_note(s, chunk, keeper, note);
        (void)message_note_add(note, key, r->value, r->offset, r->time_ms);
    }
    if (s->topics) note->topics[note->records.n - 1] = copy_topic(note->records.mem, r->key);
    while (s->headers && wr_log_header_next(&list, &name, &value)) message_note_header(note, name, value);
}

static wr_status source_decode(wr_source *base, uint32_t worker, const wr_chunk *chunk, wr_decoded *out, wr_err *err) {
    log_source       *s = (log_source *)base;
    wr_log_batch     *batch = &s->batches[worker];
    const chunk_note *c = (const chunk_note *)(uintptr_t)chunk->rows_from;
    message_note      note = {.topic = s->topics ? (wr_str){NULL, 0} : wr_str_of(s->path), .partition = (int32_t)chunk->partition};
    if (!chunk->len) return WR_OK;
    if (c->again) {
        message_decode(&s->messages, worker, c->again, out);
        return WR_OK;
    }
    open_note(s, c, chunk->mem, &note);
    for (uint32_t i = 0; i < c->n; i++) {
        const piece_note *piece = &c->pieces[i];
        wr_log_record     r;
        bool              bad = wr_log_batch_open(batch, piece->bytes, piece->len) != WR_OK;
        while (!bad && wr_log_batch_next(batch, &r))
            if (r.offset >= c->from && r.offset < c->to) add_record(s, worker, c, chunk->mem, &note, &r, out);
        if (bad || batch->bad) return at_table(s, wr_log_damaged(s->path, c->partition, piece->segment, piece->segment_at, piece->base, err), err);
    }
    decode_note(s, worker, &note, out);
    return WR_OK;
}

/* ---- dead letters: a message as it was, and back ---- */

/* Found by its offset once more: the note that it was decoded from is gone. Copied into the chunk's memory. */
static void source_beside(wr_source *base, const wr_chunk *chunk, const wr_bad_record *bad, wr_str *raw, wr_str *key, wr_sbuf *context) {
    log_source       *s = (log_source *)base;
    const chunk_note *c = (const chunk_note *)(uintptr_t)chunk->rows_from;
    wr_log_batch      batch = {0};
    wr_log_record     r;
    for (uint32_t i = 0; i < c->n; i++) {
        if (i + 1 < c->n && c->pieces[i + 1].base <= (int64_t)bad->offset) continue;
        if (wr_log_batch_open(&batch, c->pieces[i].bytes, c->pieces[i].len) != WR_OK) break;
        while (wr_log_batch_next(&batch, &r)) {
            wr_str       list = r.headers, name, value;
            message_note note = {0};
            if (r.offset != (int64_t)bad->offset) continue;
            message_note_open(&note, chunk->mem, r.key.len + 64, r.value.len + 64, s->headers);
            if (message_note_add(&note, r.key, r.value, r.offset, r.time_ms)) {
                while (s->headers && wr_log_header_next(&list, &name, &value)) message_note_header(&note, name, value);
                message_beside(&note, 0, raw, key, context);
            }
        }
        break;
    }
    wr_log_batch_free(&batch);
}

static wr_status source_again(wr_source *base, const wr_again *r, wr_chunk *out, wr_err *err) {
    log_source   *s = (log_source *)base;
    wr_mem       *mem = wr_mem_new(r->raw.len + r->key.len + 4096);
    chunk_note   *c = wr_mem_calloc(mem, sizeof *c);
    const char   *bracket = r->partition.len ? memrchr(r->partition.ptr, '[', r->partition.len) : NULL;
    message_note *note = c->again = wr_mem_calloc(mem, sizeof *note);
    if (!s->topics) note->topic = wr_str_of(s->path);
    for (const char *d = bracket ? bracket + 1 : NULL; d && d < r->partition.ptr + r->partition.len && *d >= '0' && *d <= '9' && note->partition <= WR_LOG_PARTITIONS_MAX; d++) note->partition = note->partition * 10 + (*d - '0');
    if (note->partition < 0 || (uint32_t)note->partition >= s->n_parts) note->partition = 0;
    if (!message_again(note, mem, r, s->messages.format.key != NULL, s->headers)) {
        wr_mem_unref(mem);
        return wr_fail(err, WR_DATA, "54000", "table '%.*s': a message is too long to be put back", WR_FMT(s->table));
    }
    if (s->topics) note->topics[0] = copy_topic(mem, r->key);
    *out = (wr_chunk){.partition = (uint32_t)note->partition, .mem = mem, .data = (const uint8_t *)note, .len = note->records.value_len + note->records.key_len + 1, .rows_from = (uint64_t)(uintptr_t)c};
    return WR_OK;
}

/* ---- positions ---- */

static void source_save(wr_source *base, wr_sbuf *out) {
    log_source *s = (log_source *)base;
    wr_put_u8(out, SAVE_VERSION);
    wr_put_u64(out, wr_log_view_config(s->view)->id);
    wr_put_u32(out, s->n_parts);
    for (uint32_t p = 0; p < s->n_parts; p++) wr_put_i64(out, s->parts[p].next), wr_put_i64(out, s->parts[p].end);
}

bool log_saved_next(wr_str positions, uint32_t partition, int64_t *next) {
    wr_reader in = {(const uint8_t *)positions.ptr, (const uint8_t *)positions.ptr + positions.len, false};
    bool      known = wr_get_u8(&in) == SAVE_VERSION;
    (void)wr_get_u64(&in);
    uint32_t n = wr_get_u32(&in);
    for (uint32_t p = 0; p <= partition; p++) *next = wr_get_i64(&in), (void)wr_get_i64(&in);
    return known && !in.bad && partition < n;
}

static wr_status open_saved(log_source *s, wr_reader *in, wr_err *err) {
    if (wr_get_u8(in) != SAVE_VERSION) return wr_fail(err, WR_CORRUPT, "XX001", "the saved positions of the table '%.*s' are damaged", WR_FMT(s->table));
    uint64_t id = wr_get_u64(in);
    uint32_t n = wr_get_u32(in);
    if (id == wr_log_view_config(s->view)->id && n == s->n_parts) return WR_OK;
    wr_fail(err, WR_DATA, "WR373", "table '%.*s': the log '%s' is not the one that was read before", WR_FMT(s->table), s->path);
    wr_err_detail(err, "it was made anew at the same place, so the positions of the checkpoint mean nothing in it");
    wr_err_hint(err, "put the log back, or begin with a new --state-dir");
    return at_table(s, WR_DATA, err);
}

static wr_status source_load(wr_source *base, wr_reader *in, wr_err *err) {
    log_source *s = (log_source *)base;
    WR_TRY(open_saved(s, in, err));
    for (uint32_t p = 0; p < s->n_parts; p++) {
        int64_t next = wr_get_i64(in), end = wr_get_i64(in);
        if (s->bounded && end == INT64_MAX) end = s->parts[p].end; /* of a run without an end: up to where the log ends now */
        set_part(s, p, next, next, s->bounded ? end : INT64_MAX);
    }
    s->loaded = true;
    return in->bad ? wr_fail(err, WR_CORRUPT, "XX001", "the saved positions of the table '%.*s' are damaged", WR_FMT(s->table)) : WR_OK;
}

static wr_status source_until(wr_source *base, wr_reader *in, wr_err *err) {
    log_source *s = (log_source *)base;
    WR_TRY(open_saved(s, in, err));
    s->limited = true;
    for (uint32_t p = 0; p < s->n_parts; p++) {
        log_source_part *part = &s->parts[p];
        part->end = wr_get_i64(in);
        (void)wr_get_i64(in);
        part->done = part->next >= part->end;
        if (part->first > 0 && !part->done && !s->loaded && s->start == START_EARLIEST) {
            wr_fail(err, WR_DATA, "WR373", "table '%.*s': partition %u of the log '%s' begins at offset %" PRId64 " now, so it cannot be read again from its start", WR_FMT(s->table), p, s->path, part->first);
            wr_err_hint(err, "retention has removed the beginning: keep the log longer ('log.retention')");
            return at_table(s, WR_DATA, err);
        }
    }
    return WR_OK;
}

/* With a feed. */
static void source_lasting(wr_source *base, wr_str positions) {
    log_source *s = (log_source *)base;
    int64_t     next;
    if (log_saved_next(positions, 0, &next)) s->feed.consumed(s->feed.self, next);
}

static bool source_at_limit(wr_source *base) {
    log_source *s = (log_source *)base;
    for (uint32_t p = 0; p < s->n_parts; p++)
        if (!s->parts[p].done) return false;
    return s->limited;
}

/* ---- reports ---- */

static uint32_t source_partitions(wr_source *base) { return ((log_source *)base)->n_parts; }
static bool     source_bounded(wr_source *base) { return ((log_source *)base)->bounded; }
static bool     source_partition_done(wr_source *base, uint32_t p) { return ((log_source *)base)->parts[p].done; }
static void     source_partition_name(wr_source *base, uint32_t p, wr_sbuf *out) { wr_sbuf_printf(out, "%s[%u]", ((log_source *)base)->path, p); }

/* Offsets; what is left is the lag, as of the last look. */
static void source_progress(wr_source *base, uint64_t *done, uint64_t *total) {
    log_source *s = (log_source *)base;
    *done = *total = 0;
    for (uint32_t p = 0; p < s->n_parts; p++) {
        const log_source_part *part = &s->parts[p];
        *done += (uint64_t)(part->next - part->first);
        *total += (uint64_t)(WR_MAX(WR_MIN(wr_log_view_end(s->view, p), part->end), part->next) - part->first);
    }
}

static void source_describe(wr_source *base, wr_sbuf *out) {
    static const char *const starts[] = {"from the beginning", "from the end", "from a time", "from given offsets"};
    log_source *s = (log_source *)base;
    if (s->feed.self && !s->reads_only) s->feed.describe(s->feed.self, out), wr_sbuf_addz(out, ", ");
    wr_sbuf_printf(out, "%u partition%s, %s, %s", s->n_parts, s->n_parts == 1 ? "" : "s", s->bounded ? "bounded" : "endless", s->loaded ? "from the saved positions" : starts[s->start]);
}

static void source_close(wr_source *base) {
    log_source *s = (log_source *)base;
    wr_notify_close(s->notify);
    if (s->feed.self) s->feed.close(s->feed.self);
    for (uint32_t p = 0; s->parts && p < s->n_parts; p++) wr_log_cursor_free(s->parts[p].cursor);
    for (uint32_t i = 0; s->batches && i < s->messages.n; i++) wr_log_batch_free(&s->batches[i]);
    message_reader_close(&s->messages);
    wr_log_view_close(s->view);
    if (s->acct) wr_account_add(s->acct, -s->charged);
    wr_free(s->parts);
    wr_free(s->batches);
    wr_arena_free(s->arena);
    wr_free(s);
}

static const wr_source_vt source_vt = {
    .name = "log", .next = source_next, .decode = source_decode, .partitions = source_partitions, .partition_name = source_partition_name, .partition_done = source_partition_done,
    .save = source_save, .load = source_load, .until = source_until, .at_limit = source_at_limit, .describe = source_describe, .progress = source_progress, .bounded = source_bounded,
    .close = source_close, .beside = source_beside, .again = source_again, .messages = true};

/* ---- making one ---- */

static wr_status need_option(const wr_table_info *t, wr_connect_ctx *ctx, const char *mode_key, const char *key) {
    return wr_options_find(&t->options, key) ? WR_OK : option_error(ctx, t, mode_key, "WR122", "this needs '%s'", key);
}

static wr_status need_offsets(const wr_table_info *t, wr_connect_ctx *ctx, const char *mode_key, const char *key, wr_str *list) {
    int64_t offset;
    bool    found;
    WR_TRY(need_option(t, ctx, mode_key, key));
    *list = option_text(t, log_specs, key);
    return message_offset(*list, -1, &offset, &found) ? WR_OK : option_error(ctx, t, key, "WR121", "expected 'partition:0,offset:42;partition:1,offset:300'");
}

static wr_status read_modes(log_source *s, const wr_table_info *t, wr_connect_ctx *ctx) {
    static const char *const starts[] = {"earliest-offset", "latest-offset", "timestamp", "specific-offsets"};
    static const char *const stops[] = {"unbounded", "latest-offset", "timestamp", "specific-offsets"};
    s->start = s->messages.format.upsert ? START_EARLIEST : option_choice(t, log_specs, "scan.startup.mode", starts, 4);
    s->stop = option_choice(t, log_specs, "scan.bounded.mode", stops, 4);
    if (s->start == START_TIMESTAMP) WR_TRY(need_option(t, ctx, "scan.startup.mode", "scan.startup.timestamp-millis"));
    if (s->start == START_SPECIFIC) WR_TRY(need_offsets(t, ctx, "scan.startup.mode", "scan.startup.specific-offsets", &s->start_offsets));
    if (s->stop == END_TIMESTAMP) WR_TRY(need_option(t, ctx, "scan.bounded.mode", "scan.bounded.timestamp-millis"));
    if (s->stop == END_SPECIFIC) WR_TRY(need_offsets(t, ctx, "scan.bounded.mode", "scan.bounded.specific-offsets", &s->stop_offsets));
    if (!wr_option_int(&t->options, log_specs, "scan.startup.timestamp-millis", &s->start_ms, ctx->diags) ||
        !wr_option_int(&t->options, log_specs, "scan.bounded.timestamp-millis", &s->stop_ms, ctx->diags)) return WR_USER;
    if (ctx->bounded_override && s->stop == END_NEVER) s->stop = END_LATEST;
    if (ctx->tail_override && s->stop == END_LATEST) s->stop = END_NEVER;
    s->bounded = s->stop != END_NEVER;
    return WR_OK;
}

static wr_status source_new(const wr_table_info *t, wr_connect_ctx *ctx, const log_feed *feed, const message_key *keys, wr_source **out, wr_err *err) {
    log_source *s = wr_calloc(1, sizeof *s);
    *out = NULL;
    *s = (log_source){.base = {&source_vt}, .world = ctx->world, .acct = ctx->acct, .arena = wr_arena_new(NULL), .table = t->name, .at = t->at, .wait_us = WAIT_US};
    if (feed) {
        s->feed = *feed, s->reads_only = ctx->bounded_override;
        s->vt = source_vt, s->vt.name = feed->name, s->vt.lasting = source_lasting;
        s->base.vt = &s->vt;
    }
    s->path = log_table_path(t, s->arena);
    wr_status status = message_reader_open(&s->messages, t, keys, log_is_upsert(t), s->arena, ctx);
    s->headers = status == WR_OK && message_reader_wants(&s->messages, "headers");
    s->topics = status == WR_OK && feed && message_reader_wants(&s->messages, "topic");
    s->batches = wr_calloc(s->messages.n, sizeof *s->batches);
    if (status == WR_OK) status = read_modes(s, t, ctx);
    if (status == WR_OK) status = at_table(s, begin(s, err), err);
    if (status == WR_OK) watch(s, ctx);
    if (status != WR_OK) {
        source_close(&s->base);
        return status;
    }
    *out = &s->base;
    return WR_OK;
}

wr_status log_source_new(const wr_table_info *t, wr_connect_ctx *ctx, wr_source **out, wr_err *err) {
    static const message_key keys[] = {{"topic", MESSAGE_TEXT}, {"partition", MESSAGE_INT}, {"offset", MESSAGE_BIGINT}, {"timestamp", MESSAGE_TIME}, {"headers", MESSAGE_HEADERS}, {0}};
    return source_new(t, ctx, NULL, keys, out, err);
}

wr_status log_fed_source_new(const wr_table_info *t, wr_connect_ctx *ctx, const log_feed *feed, wr_source **out, wr_err *err) { return source_new(t, ctx, feed, feed->keys, out, err); }
