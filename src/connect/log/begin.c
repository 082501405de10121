/* connect/log/begin.c: what a writer finds: the committed ends are checked, what lies behind them is kept or cut, idempotency keys are read.
 *
 * Rule       below the committed end everything must be whole: a fault there is WR371. Behind it: whole plain batches that follow without a gap are kept, as
 *            they may have been acknowledged, and committed; with keep[] (a prepared epoch that is to be committed) all up to there; everything else is cut.
 * Cost       one entry of the index before the end: 64 KiB; and the keys' headers for as long as they are to be remembered.
 * Thread     the owner, before anything is submitted.                                                                                     */
#include "connect/log/writer.h"
#include <stdlib.h>

typedef struct tail {            /* of one partition */
    walker       walk;
    uint32_t     segment;        /* of part->segments */
    int64_t      offset;         /* the walk is here */
    uint64_t     from;           /* byte of the segment: what follows it was not committed */
    uint64_t     indexed;        /* last entry of the segment's index that is right */
    uint32_t     n_index;
} tail;

static wr_status open_walk(wr_log *log, uint32_t p, tail *t, wr_err *err) {
    wr_sbuf path = {0};
    walker_free(&t->walk);
    t->walk = (walker){.world = log->world, .partition = p};
    segment_path(log->path, p, log->parts[p].segments.at[t->segment].base, ".log", &path);
    wr_status status = log->world->vt->file_open(log->world, path.at, WR_OPEN_READ, &t->walk.file, err);
    wr_sbuf_free(&path);
    return status;
}

static void note_times(log_segment *s, int64_t max_ms, int64_t appended_us) {
    s->max_ms = WR_MAX(s->max_ms, max_ms);
    s->appended_us = WR_MAX(s->appended_us, appended_us);
}

/* To the last entry of the index that is not behind `end`, if it is right. */
static wr_status jump(wr_log *log, uint32_t p, tail *t, int64_t end, wr_err *err) {
    log_segment *s = &log->parts[p].segments.at[t->segment];
    index_list   index = {0};
    batch_head   head;
    const uint8_t *bytes;
    wr_status    status = index_read(log->world, log->path, p, s->base, &index, err);
    uint32_t     n = index.n;
    while (n && (index.at[n - 1].offset > end || index.at[n - 1].at > s->bytes)) n--;
    for (; n && status == WR_OK; n--) {
        const index_entry *e = &index.at[n - 1];
        t->walk.at = e->at;
        status = walker_look(&t->walk, &head, &bytes, err);
        if (status != WR_OK || (bytes ? head.base == e->offset : e->offset == end)) {
            t->offset = e->offset, t->indexed = e->at, t->n_index = n;
            note_times(s, e->max_ms, e->appended_us);
            break;
        }
    }
    if (!n) t->walk.at = 0;
    wr_arr_free(&index);
    return status;
}

/* The next whole batch, in this segment or the one after it; *bytes NULL: there is none. */
static wr_status look(wr_log *log, uint32_t p, tail *t, batch_head *head, const uint8_t **bytes, wr_err *err) {
    segment_list *segments = &log->parts[p].segments;
    for (;;) {
        log_segment *s = &segments->at[t->segment];
        *bytes = NULL;
        if (t->walk.at < s->bytes) {
            WR_TRY(walker_look(&t->walk, head, bytes, err));
            if (*bytes && (head->base != t->offset || !batch_verify(*bytes, BATCH_HEADER + (size_t)head->len))) *bytes = NULL;
            return WR_OK;
        }
        if (t->segment + 1 == segments->n || segments->at[t->segment + 1].base != t->offset) return WR_OK;
        t->segment++;
        t->n_index = 0, t->indexed = 0, t->from = 0;
        WR_TRY(open_walk(log, p, t, err));
    }
}

static void step(wr_log *log, uint32_t p, tail *t, const batch_head *head) {
    t->walk.at += BATCH_HEADER + (uint64_t)head->len;
    t->offset = head->base + head->span;
    note_times(&log->parts[p].segments.at[t->segment], head->max_ms, head->appended_us);
}

/* Up to the committed end, which must be there. */
static wr_status reach_end(wr_log *log, uint32_t p, tail *t, int64_t end, wr_err *err) {
    segment_list *segments = &log->parts[p].segments;
    t->segment = segments->n;
    while (t->segment > 0 && segments->at[t->segment - 1].base > end) t->segment--;
    if (!t->segment) return wr_fail(err, WR_CORRUPT, "WR371", "the log '%s' is damaged: partition %u has %" PRId64 " records by '%s/commits', but no segment with the last of them", log->path, p, end, log->path);
    t->segment--;
    t->offset = segments->at[t->segment].base;
    WR_TRY(open_walk(log, p, t, err));
    WR_TRY(jump(log, p, t, end, err));
    while (t->offset < end) {
        batch_head     head;
        const uint8_t *bytes;
        uint32_t       at = t->segment;
        WR_TRY(look(log, p, t, &head, &bytes, err));
        if (!bytes || t->segment != at) return wr_log_damaged(log->path, p, segments->at[at].base, t->walk.at, t->offset, err);
        step(log, p, t, &head);
    }
    return WR_OK;
}

static wr_status keep_tail(wr_log *log, uint32_t p, tail *t, const int64_t *keep, wr_err *err) {
    t->from = t->walk.at;
    for (;;) {
        batch_head     head;
        const uint8_t *bytes;
        if (keep && t->offset >= keep[p]) return WR_OK;
        WR_TRY(look(log, p, t, &head, &bytes, err));
        if (!bytes || (!keep && head.flags & BATCH_EPOCH)) break;
        step(log, p, t, &head);
    }
    return keep ? wr_log_damaged(log->path, p, log->parts[p].segments.at[t->segment].base, t->walk.at, t->offset, err) : WR_OK;
}

static wr_status remove_segment(wr_log *log, uint32_t p, int64_t base, wr_err *err) {
    wr_sbuf      path = {0};
    wr_file_info info;
    bool         exists;
    segment_path(log->path, p, base, ".log", &path);
    wr_status status = log->world->vt->remove(log->world, path.at, err);
    segment_path(log->path, p, base, ".idx", &path);
    if (status == WR_OK) status = log->world->vt->stat(log->world, path.at, &info, &exists, err);
    if (status == WR_OK && exists) status = log->world->vt->remove(log->world, path.at, err);
    wr_sbuf_free(&path);
    return status;
}

static wr_status open_index(wr_log *log, uint32_t p, int64_t base, uint32_t n_entries, wr_err *err) {
    log_part *part = &log->parts[p];
    wr_sbuf   path = {0};
    segment_path(log->path, p, base, ".idx", &path);
    wr_status status = log->world->vt->file_open(log->world, path.at, WR_OPEN_WRITE | WR_OPEN_CREATE | WR_OPEN_APPEND, &part->index, err);
    if (status == WR_OK) status = log->world->vt->file_truncate(log->world, part->index, (uint64_t)n_entries * INDEX_ENTRY, err);
    wr_sbuf_free(&path);
    return status;
}

/* Plain batches that were not committed are written once more, beside: perhaps a sync of them failed, and then another one does not say so again; perhaps it did not,
 * and they must not be lost now. Readers that have the old file open see that it is another one. */
static wr_status write_again(wr_log *log, uint32_t p, int64_t base, wr_err *err) {
    wr_sbuf file = {0}, tmp = {0}, dir = {0};
    segment_path(log->path, p, base, ".log", &file);
    segment_path(log->path, p, base, ".log.tmp", &tmp);
    part_path(log->path, p, &dir);
    wr_status status = wr_file_copy(log->world, file.at, tmp.at, err);
    if (status == WR_OK) status = log->world->vt->rename(log->world, tmp.at, file.at, err);
    if (status == WR_OK) status = log->world->vt->sync_dir(log->world, dir.at, err);
    wr_sbuf_free(&file);
    wr_sbuf_free(&tmp);
    wr_sbuf_free(&dir);
    return status;
}

/* Everything behind the walk goes; the segment it is in becomes the one that is written. */
static wr_status cut(wr_log *log, uint32_t p, const tail *t, bool again, wr_err *err) {
    const wr_world_vt *vt = log->world->vt;
    log_part *part = &log->parts[p];
    wr_sbuf   path = {0};
    bool      removed = part->segments.n > t->segment + 1;
    while (part->segments.n > t->segment + 1) {
        WR_TRY(remove_segment(log, p, part->segments.at[part->segments.n - 1].base, err));
        part->segments.n--;
    }
    log_segment *s = last_segment(part);
    segment_path(log->path, p, s->base, ".log", &path);
    wr_status status = vt->file_open(log->world, path.at, WR_OPEN_WRITE | WR_OPEN_APPEND, &part->file, err);
    if (status == WR_OK && s->bytes > t->walk.at) status = vt->file_truncate(log->world, part->file, t->walk.at, err);
    if (status == WR_OK && s->bytes > t->walk.at) status = vt->file_sync(log->world, part->file, err);
    if (status == WR_OK && again && t->walk.at > t->from) {
        vt->file_close(log->world, part->file);
        part->file = NULL;
        status = write_again(log, p, s->base, err);
        if (status == WR_OK) status = vt->file_open(log->world, path.at, WR_OPEN_WRITE | WR_OPEN_APPEND, &part->file, err);
    }
    s->bytes = t->walk.at;
    part_path(log->path, p, &path);
    if (status == WR_OK && removed) status = vt->sync_dir(log->world, path.at, err);
    if (status == WR_OK) status = open_index(log, p, s->base, t->n_index, err);
    part->indexed = t->indexed;
    wr_sbuf_free(&path);
    return status;
}

wr_status log_open_segment(wr_log *log, uint32_t p, int64_t base, wr_err *err) {
    const wr_world_vt *vt = log->world->vt;
    log_part *part = &log->parts[p];
    wr_sbuf   path = {0};
    segment_path(log->path, p, base, ".log", &path);
    wr_status status = vt->file_open(log->world, path.at, WR_OPEN_WRITE | WR_OPEN_CREATE | WR_OPEN_TRUNCATE | WR_OPEN_APPEND, &part->file, err);
    if (status == WR_OK) status = open_index(log, p, base, 0, err);
    part_path(log->path, p, &path);
    if (status == WR_OK) status = vt->sync_dir(log->world, path.at, err);
    wr_sbuf_free(&path);
    log_segment s = {.base = base, .max_ms = INT64_MIN, .appended_us = INT64_MIN};
    wr_arr_push(&part->segments, s);
    part->indexed = 0;
    return status;
}

/* What a compaction that was cut off left. */
static wr_status remove_leftovers(wr_log *log, uint32_t p, wr_err *err) {
    wr_sbuf       dir = {0}, path = {0};
    wr_file_info *found = NULL;
    size_t        n = 0;
    part_path(log->path, p, &dir);
    wr_status status = log->world->vt->list(log->world, dir.at, &found, &n, err);
    for (size_t i = 0; i < n && status == WR_OK; i++) {
        size_t len = strlen(found[i].name);
        if (len < 4 || strcmp(found[i].name + len - 4, ".tmp")) continue;
        log_path(dir.at, found[i].name, &path);
        status = log->world->vt->remove(log->world, path.at, err);
    }
    wr_free(found);
    wr_sbuf_free(&dir);
    wr_sbuf_free(&path);
    return status;
}

static wr_status begin_part(wr_log *log, uint32_t p, const int64_t *keep, wr_err *err) {
    log_part *part = &log->parts[p];
    int64_t   end = log->state->ends[p];
    wr_sbuf   dir = {0};
    part_path(log->path, p, &dir);
    wr_status synced = log->world->vt->sync_dir(log->world, dir.at, err); /* names that a process before this one could not sync */
    wr_sbuf_free(&dir);
    WR_TRY(synced);
    WR_TRY(remove_leftovers(log, p, err));
    WR_TRY(segments_list(log->world, log->path, p, &part->segments, err));
    part->written = part->next = end;
    if (!part->segments.n && !end) return log_open_segment(log, p, 0, err);
    tail      t = {.segment = 0};
    wr_status status = reach_end(log, p, &t, end, err);
    if (status == WR_OK) status = keep_tail(log, p, &t, keep, err);
    if (status == WR_OK) status = cut(log, p, &t, !keep, err);
    part->written = part->next = t.offset;
    walker_free(&t.walk);
    uint64_t sum = 0;
    for (uint32_t i = 0; i < part->segments.n; i++) sum += part->segments.at[i].bytes;
    log->bytes += sum;
    return status;
}

/* ---- idempotency keys ---- */

typedef struct found_key { wr_str key; uint32_t partition, n; int64_t offset, at_us; } found_key;
typedef struct found_keys { found_key *at; uint32_t n, cap; wr_arena *arena; size_t bytes; } found_keys;

static void take_keys(found_keys *found, const uint8_t *keys, const batch_head *h) {
    uint64_t sum;
    if (h->keys_len < 8) return;
    memcpy(&sum, keys + h->keys_len - 8, 8);
    if (sum != wr_hash_bytes(keys, h->keys_len - 8)) return;
    wr_reader in = {keys, keys + h->keys_len, false};
    found_key k = {.partition = h->partition, .at_us = h->appended_us};
    while (batch_next_key(&in, &k.key, &k.offset, &k.n)) {
        k.key = wr_str_dup(found->arena, k.key);
        found->bytes += k.key.len + sizeof(idem_row);
        wr_arr_push(found, k);
    }
}

/* Only headers and keys are read: one read of a few KiB for each batch. */
static wr_status segment_keys(wr_log *log, uint32_t p, const log_segment *s, found_keys *found, wr_err *err) {
    enum { STEP = 4096 };
    wr_sbuf   path = {0}, buf = {0};
    wr_file  *f = NULL;
    segment_path(log->path, p, s->base, ".log", &path);
    wr_status status = log->world->vt->file_open(log->world, path.at, WR_OPEN_READ, &f, err);
    for (uint64_t at = 0; status == WR_OK && at < s->bytes;) {
        batch_head h;
        size_t     got;
        wr_sbuf_clear(&buf);
        wr_sbuf_reserve(&buf, STEP);
        status = log->world->vt->file_pread(log->world, f, buf.at, STEP, at, &got, err);
        if (status != WR_OK || !batch_head_get((const uint8_t *)buf.at, got, &h)) break;
        if (h.keys_len && BATCH_HEADER + (size_t)h.keys_len > got) {
            wr_sbuf_reserve(&buf, BATCH_HEADER + (size_t)h.keys_len);
            status = log->world->vt->file_pread(log->world, f, buf.at, BATCH_HEADER + (size_t)h.keys_len, at, &got, err);
        }
        if (status == WR_OK && got >= BATCH_HEADER + (size_t)h.keys_len) take_keys(found, (const uint8_t *)buf.at + BATCH_HEADER, &h);
        at += BATCH_HEADER + (uint64_t)h.len;
    }
    if (f) log->world->vt->file_close(log->world, f);
    wr_sbuf_free(&path);
    wr_sbuf_free(&buf);
    return status;
}

static int by_time(const void *a, const void *b) {
    int64_t x = ((const found_key *)a)->at_us, y = ((const found_key *)b)->at_us;
    return (x > y) - (x < y);
}

/* From the newest segment back, until the keys are older than they are remembered, or enough. */
static wr_status begin_keys(wr_log *log, wr_err *err) {
    if (!log->idem_us) return WR_OK;
    found_keys found = {.arena = wr_arena_new(NULL)};
    int64_t    since = wr_wall_us(log->world) - log->idem_us;
    wr_status  status = WR_OK;
    for (uint32_t p = 0; p < log->config.partitions && status == WR_OK; p++) {
        size_t before = found.bytes;
        for (uint32_t i = log->parts[p].segments.n; i-- > 0 && status == WR_OK && found.bytes - before <= log->idem_bytes;) {
            const log_segment *s = &log->parts[p].segments.at[i];
            index_list         index = {0};
            if (i + 1 < log->parts[p].segments.n) status = index_read(log->world, log->path, p, s->base, &index, err);
            bool old = index.n && index.at[index.n - 1].appended_us < since;
            wr_arr_free(&index);
            if (old) break;
            if (status == WR_OK) status = segment_keys(log, p, s, &found, err);
        }
    }
    if (found.n) qsort(found.at, found.n, sizeof *found.at, by_time);
    for (uint32_t i = 0; i < found.n && status == WR_OK; i++) {
        const found_key *k = &found.at[i];
        if (k->at_us >= since) idem_insert(log, k->key, k->partition, k->offset, k->n, k->at_us, 0);
    }
    wr_arr_free(&found);
    wr_arena_free(found.arena);
    return status;
}

wr_status log_begin(wr_log *log, const int64_t *keep, wr_err *err) {
    bool more = false;
    for (uint32_t p = 0; p < log->config.partitions; p++) {
        WR_TRY(begin_part(log, p, keep, err));
        more |= log->parts[p].written != log->state->ends[p];
    }
    log->begun = true;
    if (more && !keep) { /* whole appends that nobody committed */
        int64_t *ends = wr_calloc(log->config.partitions, sizeof *ends);
        for (uint32_t p = 0; p < log->config.partitions; p++) ends[p] = log->parts[p].written;
        wr_status status = log_note(log, REC_COMMIT, NULL, ends, true, err);
        wr_free(ends);
        WR_TRY(status);
    }
    return begin_keys(log, err);
}
