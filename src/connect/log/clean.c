/* connect/log/clean.c: retention, and compaction by key.
 *
 * Retention  whole segments from the front: those whose last append is too old, or that are too much. What is not committed is never touched.
 * Compaction of finished segments. A table says for each key of the segments that are new since the last time (dirty) the last offset; then a record goes when the
 *            table knows its key with a higher offset, and a tombstone when it is old too. So what stays is right whatever the table holds: it may be
 *            bounded (KEYS_MAX_ROWS; more is done in rounds). A segment is written anew beside itself and renamed over itself, so a reader sees the old or the new one,
 *            and the end of the last batch stays where it was: offsets without records are no gap between segments.
 * Keys       by 128 bits of two hashes.
 * Thread     under sync_lock.                                                                                                             */
#include "connect/log/writer.h"

enum { KEYS_MAX_ROWS = 1 << 20, CHECK_EVERY_US = 10000000 };

typedef struct last_row { uint64_t hash, other; int64_t offset; } last_row;
#define WR_TABLE_NAME  last_table
#define WR_TABLE_ROW   struct last_row
#define WR_TABLE_KEY   uint64_t
#define WR_TABLE_EQUAL(row, key) ((row)->other == *(key))
#include "base/table.h"

typedef struct cleaner {
    wr_log         *log;
    uint32_t        p;
    last_table      last;
    wr_hasher      *hasher;
    wr_log_batch    batch;
    wr_log_cleaned *sums;
    int64_t         now_us;
} cleaner;

static void key_hashes(cleaner *c, wr_str key, uint64_t *a, uint64_t *b) {
    *a = wr_hash_bytes(key.ptr, key.len);
    wr_hasher_reset(c->hasher);
    wr_hasher_add(c->hasher, "second", 6);
    wr_hasher_add(c->hasher, key.ptr, key.len);
    *b = wr_hasher_sum(c->hasher);
}

/* ---- retention ---- */

static wr_status drop_first(wr_log *log, uint32_t p, wr_log_cleaned *sums, wr_err *err) {
    log_part     *part = &log->parts[p];
    log_segment   s = part->segments.at[0];
    wr_sbuf       path = {0};
    wr_file_info  info;
    bool          exists;
    segment_path(log->path, p, s.base, ".idx", &path);
    wr_status status = log->world->vt->stat(log->world, path.at, &info, &exists, err);
    if (status == WR_OK && exists) status = log->world->vt->remove(log->world, path.at, err);
    segment_path(log->path, p, s.base, ".log", &path);
    if (status == WR_OK) status = log->world->vt->remove(log->world, path.at, err);
    if (status == WR_OK) {
        part->segments.n--;
        memmove(part->segments.at, part->segments.at + 1, part->segments.n * sizeof s);
        log->bytes -= s.bytes;
        sums->segments++;
        sums->bytes += s.bytes;
        sums->records += (uint64_t)(part->segments.at[0].base - s.base);
    }
    wr_sbuf_free(&path);
    return status;
}

/* When its last batch was appended, from the index, or without one from the batches. */
static wr_status fill_times(wr_log *log, uint32_t p, log_segment *s, wr_err *err) {
    if (s->appended_us != INT64_MIN) return WR_OK;
    index_list index = {0};
    wr_status  status = index_read(log->world, log->path, p, s->base, &index, err);
    if (status == WR_OK && index.n && index.at[index.n - 1].at == s->bytes) s->max_ms = index.at[index.n - 1].max_ms, s->appended_us = index.at[index.n - 1].appended_us;
    wr_arr_free(&index);
    if (status != WR_OK || s->appended_us != INT64_MIN) return status;
    walker  k = {.world = log->world, .partition = p};
    wr_sbuf path = {0};
    segment_path(log->path, p, s->base, ".log", &path);
    status = log->world->vt->file_open(log->world, path.at, WR_OPEN_READ, &k.file, err);
    batch_head     head;
    const uint8_t *bytes;
    while (status == WR_OK && (status = walker_look(&k, &head, &bytes, err)) == WR_OK && bytes) {
        s->max_ms = WR_MAX(s->max_ms, head.max_ms), s->appended_us = WR_MAX(s->appended_us, head.appended_us);
        k.at += BATCH_HEADER + (uint64_t)head.len;
    }
    walker_free(&k);
    wr_sbuf_free(&path);
    return status;
}

static bool is_committed(const wr_log *log, uint32_t p, uint32_t segment) { /* all of a finished segment */
    const segment_list *list = &log->parts[p].segments;
    return segment + 1 < list->n && list->at[segment + 1].base <= log->state->ends[p];
}

static wr_status retain(wr_log *log, uint32_t p, int64_t now_us, wr_log_cleaned *sums, wr_err *err) {
    const wr_log_config *config = &log->config;
    log_part *part = &log->parts[p];
    if (!(config->cleanup & WR_LOG_DELETE) || (!config->retention_us && !config->retention_bytes)) return WR_OK;
    for (;;) {
        log_segment *first = &part->segments.at[0];
        uint64_t     sum = 0;
        WR_TRY(fill_times(log, p, first, err));
        bool old = config->retention_us && first->bytes && first->appended_us < now_us - config->retention_us;
        for (uint32_t i = 0; i < part->segments.n; i++) sum += part->segments.at[i].bytes;
        if (!old && !(config->retention_bytes && sum > config->retention_bytes)) return WR_OK;
        if (part->segments.n == 1) {
            if (!old || part->written != log->state->ends[p]) return WR_OK;
            WR_TRY(log_roll(log, p, err));
        }
        if (!is_committed(log, p, 0)) return WR_OK;
        WR_TRY(drop_first(log, p, sums, err));
    }
}

wr_status wr_log_trim(wr_log *log, uint32_t p, int64_t offset, wr_err *err) {
    wr_log_cleaned sums = {0};
    wr_mutex_lock(log->sync_lock);
    log_part *part = &log->parts[p];
    wr_status status = WR_OK;
    bool      ready = log->begun && !log->broken, all = ready && offset >= part->written && part->written == log->state->ends[p] && last_segment(part)->bytes >= log->config.segment_bytes / 4;
    if (all) status = log_broken(log, log_roll(log, p, err), err);
    while (status == WR_OK && ready && is_committed(log, p, 0) && part->segments.at[1].base <= offset) status = drop_first(log, p, &sums, err);
    wr_mutex_unlock(log->sync_lock);
    return status;
}

/* ---- compaction ---- */

static wr_status open_segment(cleaner *c, const log_segment *s, walker *k, wr_err *err) {
    wr_sbuf path = {0};
    *k = (walker){.world = c->log->world, .partition = c->p};
    segment_path(c->log->path, c->p, s->base, ".log", &path);
    wr_status status = c->log->world->vt->file_open(c->log->world, path.at, WR_OPEN_READ, &k->file, err);
    wr_sbuf_free(&path);
    return status;
}

/* The next batch of a finished segment, opened; *there false: its end. */
static wr_status next_batch(cleaner *c, const log_segment *s, walker *k, batch_head *head, const uint8_t **bytes, bool *there, wr_err *err) {
    *there = false;
    if (k->at >= s->bytes) return WR_OK;
    WR_TRY(walker_look(k, head, bytes, err));
    if (!*bytes || wr_log_batch_open(&c->batch, *bytes, BATCH_HEADER + (size_t)head->len) != WR_OK) return wr_log_damaged(c->log->path, c->p, s->base, k->at, -1, err);
    k->at += BATCH_HEADER + (uint64_t)head->len;
    *there = true;
    return WR_OK;
}

static wr_status note_keys(cleaner *c, const log_segment *s, wr_err *err) {
    walker         k = {0};
    batch_head     head;
    const uint8_t *bytes;
    bool           there = true;
    wr_status      status = open_segment(c, s, &k, err);
    while (status == WR_OK && (status = next_batch(c, s, &k, &head, &bytes, &there, err)) == WR_OK && there) {
        wr_log_record r;
        while (wr_log_batch_next(&c->batch, &r)) {
            uint64_t a, b;
            bool     fresh;
            if (!r.key.ptr) continue;
            key_hashes(c, r.key, &a, &b);
            last_row *row = last_table_insert(&c->last, a, &b, &fresh);
            row->other = b;
            row->offset = r.offset;
        }
    }
    walker_free(&k);
    return status;
}

static bool goes(cleaner *c, const wr_log_record *r, const batch_head *head) {
    if (!r->key.ptr) return false;
    uint64_t a, b;
    key_hashes(c, r->key, &a, &b);
    const last_row *row = last_table_find(&c->last, a, &b);
    if (row && row->offset > r->offset) return c->sums->records++, true;
    if (!r->value.ptr && head->appended_us < c->now_us - c->log->config.tombstone_us) return c->sums->tombstones++, true;
    return false;
}

typedef struct rewriting { /* of one segment */
    wr_file      *file;
    wr_sbuf       out, index;
    uint64_t      bytes, indexed;
    int64_t       end;     /* offset behind the last batch written */
    log_segment   times;
} rewriting;

static wr_status put_batch(cleaner *c, rewriting *w, const batch_builder *b, const batch_head *head, wr_err *err) {
    if (w->bytes - w->indexed >= INDEX_STEP) {
        index_put(&(index_entry){b->base, w->times.max_ms, w->times.appended_us, w->bytes}, c->p, w->times.base, &w->index);
        w->indexed = w->bytes;
    }
    wr_sbuf_clear(&w->out);
    batch_seal(b, c->p, BATCH_CLEAN, head->appended_us, c->log->zstd, &w->out);
    w->bytes += w->out.len;
    w->end = b->base + b->span;
    if (b->n) w->times.max_ms = WR_MAX(w->times.max_ms, b->max_ms);
    w->times.appended_us = WR_MAX(w->times.appended_us, head->appended_us);
    return c->log->world->vt->file_write(c->log->world, w->file, w->out.at, w->out.len, err);
}

static wr_status filter_batch(cleaner *c, rewriting *w, const batch_head *head, const uint8_t *bytes, wr_err *err) {
    batch_builder b = {0};
    wr_log_record r;
    while (wr_log_batch_next(&c->batch, &r))
        if (!goes(c, &r, head)) batch_add(&b, &r);
    if (!b.n && !head->keys_len) return WR_OK;
    if (!b.n) b.base = head->base, b.first_ms = b.max_ms = head->first_ms;
    b.span = (uint32_t)(head->base + head->span - b.base);
    if (head->keys_len > 8) wr_sbuf_add(&b.keys, bytes + BATCH_HEADER, head->keys_len - 8);
    wr_status status = put_batch(c, w, &b, head, err);
    batch_builder_free(&b);
    return status;
}

/* Beside the segment; `next`: where the one after it begins. */
static wr_status write_anew(cleaner *c, const log_segment *s, int64_t next, rewriting *w, wr_err *err) {
    walker         k = {0};
    batch_head     head = {.appended_us = INT64_MIN}, seen = {.appended_us = INT64_MIN};
    const uint8_t *bytes;
    bool           there = true;
    wr_status      status = open_segment(c, s, &k, err);
    while (status == WR_OK && (status = next_batch(c, s, &k, &head, &bytes, &there, err)) == WR_OK && there) {
        seen = head;
        status = filter_batch(c, w, &head, bytes, err);
    }
    if (status == WR_OK && w->end < next) {
        batch_builder rest = {.base = w->end, .first_ms = seen.first_ms, .max_ms = seen.first_ms, .span = (uint32_t)(next - w->end)};
        status = put_batch(c, w, &rest, &seen, err);
    }
    index_put(&(index_entry){next, w->times.max_ms, w->times.appended_us, w->bytes}, c->p, s->base, &w->index);
    if (status == WR_OK) status = c->log->world->vt->file_sync(c->log->world, w->file, err);
    walker_free(&k);
    return status;
}

/* The old index goes first: it would point into the new segment. */
static wr_status put_in_place(cleaner *c, const log_segment *s, const char *tmp, const rewriting *w, wr_err *err) {
    wr_world    *world = c->log->world;
    wr_sbuf      file = {0}, index = {0}, dir = {0};
    wr_file_info info;
    bool         exists;
    segment_path(c->log->path, c->p, s->base, ".log", &file);
    segment_path(c->log->path, c->p, s->base, ".idx", &index);
    part_path(c->log->path, c->p, &dir);
    wr_status status = world->vt->stat(world, index.at, &info, &exists, err);
    if (status == WR_OK && exists) status = world->vt->remove(world, index.at, err);
    if (status == WR_OK) status = world->vt->sync_dir(world, dir.at, err);
    if (status == WR_OK) status = world->vt->rename(world, tmp, file.at, err);
    if (status == WR_OK) status = world->vt->sync_dir(world, dir.at, err);
    if (status == WR_OK) status = wr_file_replace(world, index.at, wr_sbuf_str(&w->index), err);
    wr_sbuf_free(&file);
    wr_sbuf_free(&index);
    wr_sbuf_free(&dir);
    return status;
}

static wr_status rewrite(cleaner *c, uint32_t i, wr_err *err) {
    segment_list *list = &c->log->parts[c->p].segments;
    log_segment  *s = &list->at[i];
    rewriting     w = {.end = s->base, .times = {.base = s->base, .max_ms = INT64_MIN, .appended_us = INT64_MIN}};
    wr_sbuf       tmp = {0};
    segment_path(c->log->path, c->p, s->base, ".log.tmp", &tmp);
    wr_status status = c->log->world->vt->file_open(c->log->world, tmp.at, WR_OPEN_WRITE | WR_OPEN_CREATE | WR_OPEN_TRUNCATE | WR_OPEN_APPEND, &w.file, err);
    if (status == WR_OK) status = write_anew(c, s, list->at[i + 1].base, &w, err);
    c->log->world->vt->file_close(c->log->world, w.file);
    if (status == WR_OK) status = put_in_place(c, s, tmp.at, &w, err);
    if (status == WR_OK) {
        c->sums->segments++;
        c->sums->bytes += s->bytes > w.bytes ? s->bytes - w.bytes : 0;
        c->log->bytes += w.bytes - s->bytes;
        *s = (log_segment){.base = s->base, .bytes = w.bytes, .max_ms = w.times.max_ms, .appended_us = w.times.appended_us, .clean = true, .looked = true};
    }
    wr_sbuf_free(&w.out);
    wr_sbuf_free(&w.index);
    wr_sbuf_free(&tmp);
    return status;
}

/* Was it written by a compaction? Its first batch says so. */
static wr_status look_clean(cleaner *c, log_segment *s, wr_err *err) {
    if (s->looked) return WR_OK;
    walker         k = {0};
    batch_head     head;
    const uint8_t *bytes = NULL;
    wr_status      status = open_segment(c, s, &k, err);
    if (status == WR_OK) status = walker_look(&k, &head, &bytes, err);
    if (status == WR_OK) s->looked = true, s->clean = bytes && head.flags & BATCH_CLEAN;
    walker_free(&k);
    return status;
}

/* One round: keys of dirty segments from the first on, until the table is full; then all segments up to there are written anew. *more: there are dirty ones left. */
static wr_status compact_round(cleaner *c, bool force, bool *more, wr_err *err) {
    segment_list *list = &c->log->parts[c->p].segments;
    uint64_t      dirty = 0, all = 0;
    uint32_t      n = 0, upto = 0;
    *more = false;
    for (; is_committed(c->log, c->p, n); n++) {
        WR_TRY(look_clean(c, &list->at[n], err));
        all += list->at[n].bytes;
        if (!list->at[n].clean) dirty += list->at[n].bytes;
    }
    if (!n || (!force && (!dirty || dirty < all / 2))) return WR_OK;
    for (uint32_t i = 0; i < n && c->last.n < KEYS_MAX_ROWS; i++) {
        if (!list->at[i].clean) WR_TRY(note_keys(c, &list->at[i], err));
        upto = i + 1;
    }
    for (uint32_t i = 0; i < upto; i++) WR_TRY(rewrite(c, i, err));
    for (uint32_t i = upto; i < n; i++) *more |= !list->at[i].clean;
    return WR_OK;
}

static wr_status compact(wr_log *log, uint32_t p, bool force, int64_t now_us, wr_log_cleaned *sums, wr_err *err) {
    if (!(log->config.cleanup & WR_LOG_COMPACT)) return WR_OK;
    cleaner   c = {.log = log, .p = p, .hasher = wr_hasher_new(), .sums = sums, .now_us = now_us};
    bool      more = true, finish = force && last_segment(&log->parts[p])->bytes && log->parts[p].written == log->state->ends[p];
    wr_status status = finish ? log_roll(log, p, err) : WR_OK;
    for (bool again = force; more && status == WR_OK; again = true) {
        status = compact_round(&c, again, &more, err);
        last_table_free(&c.last);
    }
    wr_hasher_free(c.hasher);
    wr_log_batch_free(&c.batch);
    return status;
}

wr_status wr_log_clean(wr_log *log, bool force, wr_log_cleaned *out, wr_err *err) {
    wr_log_cleaned own;
    if (!out) out = &own;
    *out = (wr_log_cleaned){0};
    wr_mutex_lock(log->sync_lock);
    int64_t   now_us = wr_wall_us(log->world);
    wr_status status = WR_OK;
    if (log->begun && !log->broken && (force || log->rolled || now_us < log->cleaned_us || now_us - log->cleaned_us >= CHECK_EVERY_US)) {
        log->rolled = false;
        log->cleaned_us = now_us;
        for (uint32_t p = 0; p < log->config.partitions && status == WR_OK; p++) {
            status = compact(log, p, force, now_us, out, err);
            if (status == WR_OK) status = retain(log, p, now_us, out, err);
        }
        (void)log_broken(log, status, err);
    }
    wr_mutex_unlock(log->sync_lock);
    return status;
}
