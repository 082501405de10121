/* connect/log/writer.c: appending: submit, group commit, epochs. See log.h for what is promised, writer.h for the locks.
 *
 * Order      batches are written, then synced, then the record in `commits` makes them visible. That record is not synced for plain appends: when it is lost, opening the
 *            log finds the batches whole and commits them again.
 * Failure    a write or sync that failed ends the handle: what is on disk is known again only by reading it (fsync tells an error once).
 * Thread     see writer.h.                                                                                                              */
#include "connect/log/writer.h"
#include <stdio.h>
#include <stdlib.h>
#include <zstd.h>

enum { BUFFER_BYTES = 32 << 20, IDEM_BYTES = 64 << 20, RECORD_OVERHEAD = 40, STAGED_VERSION = 1 };

log_segment *last_segment(log_part *part) { return &part->segments.at[part->segments.n - 1]; }
const wr_log_config *wr_log_config_of(const wr_log *log) { return &log->config; }

wr_status log_broken(wr_log *log, wr_status status, const wr_err *err) {
    if (status == WR_OK || log->broken) return status;
    log->broken = true;
    log->broken_by = err ? *err : (wr_err){.status = status};
    if (!err) (void)wr_fail(&log->broken_by, status, "58030", "the log '%s' could not be written", log->path);
    return status;
}

static wr_status check_broken(const wr_log *log, wr_err *err) {
    if (!log->broken) return WR_OK;
    if (err) *err = log->broken_by;
    return log->broken_by.status;
}

static void charge(wr_log *log) { /* under lock */
    int64_t now = (int64_t)(log->buffered + log->idem_used);
    if (log->acct && now != log->charged) wr_account_add(log->acct, now - log->charged);
    log->charged = now;
}

/* ---- idempotency keys ---- */

static void idem_evict(wr_log *log, int64_t now_us) {
    while (log->idem_head < log->idem_ring.n) {
        idem_row *row = &log->idem.rows[log->idem_ring.at[log->idem_head]];
        if (row->at_us >= now_us - log->idem_us && log->idem_used <= log->idem_bytes) break;
        log->idem_used -= row->key_len + sizeof *row;
        wr_free(row->key);
        idem_table_remove(&log->idem, row);
        log->idem_head++;
    }
    if (log->idem_head < 1024 || log->idem_head < log->idem_ring.n / 2) return;
    log->idem_ring.n -= log->idem_head;
    memmove(log->idem_ring.at, log->idem_ring.at + log->idem_head, log->idem_ring.n * sizeof *log->idem_ring.at);
    log->idem_head = 0;
}

void idem_insert(wr_log *log, wr_str key, uint32_t partition, int64_t offset, uint32_t n, int64_t at_us, uint64_t ticket) {
    uint64_t hash = wr_hash_bytes(key.ptr, key.len);
    if (idem_table_find(&log->idem, hash, &key)) return;
    idem_evict(log, at_us);
    bool      fresh;
    idem_row *row = idem_table_insert(&log->idem, hash, &key, &fresh);
    row->key = wr_malloc(key.len + 1);
    memcpy(row->key, key.ptr, key.len);
    row->key_len = (uint32_t)key.len, row->partition = partition, row->n = n, row->offset = offset, row->at_us = at_us, row->ticket = ticket;
    wr_arr_push(&log->idem_ring, idem_table_number(&log->idem, row));
    log->idem_used += key.len + sizeof *row;
}

static bool idem_known(wr_log *log, wr_str key, wr_log_appended *out) {
    if (!key.ptr || !log->idem_us) return false;
    idem_row *row = idem_table_find(&log->idem, wr_hash_bytes(key.ptr, key.len), &key);
    if (!row || row->at_us < wr_wall_us(log->world) - log->idem_us) return false;
    *out = (wr_log_appended){.partition = row->partition, .offset = row->offset, .n = row->n, .ticket = row->ticket, .duplicate = true};
    return true;
}

/* ---- submitting ---- */

static wr_status check_records(const wr_log *log, uint32_t partition, const wr_log_record *records, uint32_t n, wr_str idem_key, size_t *bytes, wr_err *err) {
    *bytes = idem_key.ptr ? idem_key.len + 16 : 0;
    if (partition != WR_LOG_BY_KEY && partition >= log->config.partitions)
        return wr_fail(err, WR_USER, "WR370", "the log '%s' has %u partitions, there is no partition %u", log->path, log->config.partitions, partition);
    if (idem_key.ptr && (!idem_key.len || idem_key.len > KEYS_MAX)) return wr_fail(err, WR_USER, "54000", "an idempotency key has 1 to %d bytes, not %zu", KEYS_MAX, idem_key.len);
    for (uint32_t i = 0; i < n; i++) {
        const wr_log_record *r = &records[i];
        *bytes += r->key.len + r->value.len + r->headers.len + RECORD_OVERHEAD;
        if (!r->key.ptr && log->config.cleanup & WR_LOG_COMPACT) {
            wr_fail(err, WR_DATA, "WR370", "the log '%s' is compacted by key, and a record has no key", log->path);
            wr_err_hint(err, "give the table 'key.format' and 'key.fields'");
            return WR_DATA;
        }
    }
    if (!n || *bytes > WR_LOG_RECORD_BYTES) return wr_fail(err, WR_USER, "54000", "one append has 1 record or more, of %d MiB together; this one has %u of %zu bytes", WR_LOG_RECORD_BYTES >> 20, n, *bytes);
    return WR_OK;
}

static wr_status check_room(const wr_log *log, size_t bytes, wr_err *err) {
    bool   full = log->max_bytes && log->bytes + log->buffered + bytes > log->max_bytes;
    if (!full && (!log->buffered || log->buffered + bytes <= log->buffer_bytes)) return WR_OK;
    if (full) wr_fail(err, WR_LIMIT, "54000", "the log '%s' is full: it has %" PRIu64 " of %" PRIu64 " bytes", log->path, log->bytes + log->buffered, log->max_bytes);
    else wr_fail(err, WR_LIMIT, "54000", "the log '%s' is not written as fast as records come: %zu bytes wait", log->path, log->buffered);
    if (err) err->retriable = true;
    return WR_LIMIT;
}

static batch_builder *builder_for(log_part *part, size_t bytes) {
    batch_builder *last = part->ready.n ? &part->ready.at[part->ready.n - 1] : NULL;
    if (last && last->n < WR_LOG_BATCH_RECORDS && last->raw.len + bytes <= WR_LOG_BATCH_BYTES) return last;
    wr_arr_push(&part->ready, (batch_builder){0});
    return &part->ready.at[part->ready.n - 1];
}

wr_status wr_log_submit(wr_log *log, uint32_t partition, const wr_log_record *records, uint32_t n, wr_str idem_key, wr_log_appended *out, wr_err *err) {
    size_t bytes;
    *out = (wr_log_appended){0};
    WR_TRY(check_records(log, partition, records, n, idem_key, &bytes, err));
    if (!log->begun) WR_TRY(wr_log_recover(log, 0, (wr_str){"", 0}, err));
    wr_mutex_lock(log->lock);
    wr_status status = WR_OK;
    if (!idem_known(log, idem_key, out)) status = check_room(log, bytes, err);
    if (status != WR_OK || out->duplicate) {
        wr_mutex_unlock(log->lock);
        return status;
    }
    if (partition == WR_LOG_BY_KEY) partition = (uint32_t)((records[0].key.ptr ? wr_hash_bytes(records[0].key.ptr, records[0].key.len) : log->turn++) % log->config.partitions);
    log_part      *part = &log->parts[partition];
    batch_builder *b = builder_for(part, bytes);
    int64_t        now_us = wr_wall_us(log->world);
    *out = (wr_log_appended){.partition = partition, .offset = part->next, .n = n, .ticket = ++log->submitted};
    for (uint32_t i = 0; i < n; i++) {
        wr_log_record r = records[i];
        r.offset = part->next++;
        if (r.time_ms == WR_LOG_NO_TIME) r.time_ms = now_us / 1000;
        batch_add(b, &r);
    }
    if (idem_key.ptr && log->idem_us) {
        batch_add_key(b, idem_key, out->offset, n);
        idem_insert(log, idem_key, partition, out->offset, n, now_us, out->ticket);
    }
    log->buffered += bytes;
    charge(log);
    wr_mutex_unlock(log->lock);
    return WR_OK;
}

/* ---- writing ---- */

/* The whole state as one record, in a new file. */
static wr_status write_commits(wr_log *log, wr_err *err) {
    wr_sbuf record = {0}, path = {0};
    log_path(log->path, "commits", &path);
    state_record(log->state, REC_FULL, NULL, log->state->ends, 0, &record);
    log->world->vt->file_close(log->world, log->commits);
    log->commits = NULL;
    wr_status status = wr_file_replace(log->world, path.at, wr_sbuf_str(&record), err);
    if (status == WR_OK) status = log->world->vt->file_open(log->world, path.at, WR_OPEN_READ | WR_OPEN_WRITE | WR_OPEN_APPEND, &log->commits, err);
    if (status == WR_OK) log->commits_synced = log->state->bytes;
    wr_sbuf_free(&record);
    wr_sbuf_free(&path);
    return status;
}

wr_status log_note(wr_log *log, int kind, const log_producer *by, const int64_t *ends, bool sync, wr_err *err) {
    wr_sbuf record = {0};
    bool    full = log->state->bytes > COMMITS_MAX_BYTES;
    state_record(log->state, kind, by, ends, log->commits_synced, &record);
    wr_status status = full ? write_commits(log, err) : log->world->vt->file_write(log->world, log->commits, record.at, record.len, err);
    if (status == WR_OK && sync && !full) status = log->world->vt->file_sync(log->world, log->commits, err);
    if (status == WR_OK && sync) log->commits_synced = log->state->bytes;
    wr_sbuf_free(&record);
    return status;
}

wr_status log_index(wr_log *log, log_part *part, wr_err *err) {
    const log_segment *s = last_segment(part);
    wr_sbuf     entry = {0};
    index_put(&(index_entry){part->written, s->max_ms, s->appended_us, s->bytes}, (uint32_t)(part - log->parts), s->base, &entry);
    wr_status status = log->world->vt->file_write(log->world, part->index, entry.at, entry.len, err);
    part->indexed = s->bytes;
    wr_sbuf_free(&entry);
    return status;
}

wr_status log_roll(wr_log *log, uint32_t p, wr_err *err) {
    const wr_world_vt *vt = log->world->vt;
    log_part *part = &log->parts[p];
    if (part->indexed != last_segment(part)->bytes) WR_TRY(log_index(log, part, err));
    WR_TRY(vt->file_sync(log->world, part->file, err));
    WR_TRY(vt->file_sync(log->world, part->index, err));
    vt->file_close(log->world, part->file);
    vt->file_close(log->world, part->index);
    part->file = part->index = NULL;
    log->rolled = true;
    return log_open_segment(log, p, part->written, err);
}

static wr_status write_batch(wr_log *log, uint32_t p, const batch_builder *b, wr_sbuf *out, wr_err *err) {
    log_part *part = &log->parts[p];
    int64_t   appended_us = WR_MAX(wr_wall_us(log->world), last_segment(part)->appended_us);
    wr_sbuf_clear(out);
    batch_seal(b, p, log->with_epochs ? BATCH_EPOCH : 0, appended_us, log->zstd, out);
    if (last_segment(part)->bytes && last_segment(part)->bytes + out->len > log->config.segment_bytes) WR_TRY(log_roll(log, p, err));
    log_segment *s = last_segment(part);
    if (s->bytes - part->indexed >= INDEX_STEP) WR_TRY(log_index(log, part, err));
    WR_TRY(log->world->vt->file_write(log->world, part->file, out->at, out->len, err));
    part->unsynced = true;
    part->written = b->base + b->span;
    s->bytes += out->len;
    s->max_ms = WR_MAX(s->max_ms, b->max_ms);
    s->appended_us = appended_us;
    log->bytes += out->len;
    return WR_OK;
}

/* What was submitted goes to the files. Under sync_lock. *ticket: of the last of it. */
static wr_status write_out(wr_log *log, uint64_t *ticket, wr_err *err) {
    builder_list *taken = wr_calloc(log->config.partitions, sizeof *taken);
    wr_mutex_lock(log->lock);
    for (uint32_t p = 0; p < log->config.partitions; p++) {
        taken[p] = log->parts[p].ready;
        log->parts[p].ready = (builder_list){0};
    }
    *ticket = log->submitted;
    log->buffered = 0;
    charge(log);
    wr_mutex_unlock(log->lock);
    wr_sbuf   out = {0};
    wr_status status = WR_OK;
    for (uint32_t p = 0; p < log->config.partitions; p++) {
        for (uint32_t i = 0; i < taken[p].n; i++) {
            if (status == WR_OK) status = write_batch(log, p, &taken[p].at[i], &out, err);
            batch_builder_free(&taken[p].at[i]);
        }
        wr_arr_free(&taken[p]);
    }
    wr_sbuf_free(&out);
    wr_free(taken);
    return status;
}

static wr_status sync_parts(wr_log *log, wr_err *err) {
    for (uint32_t p = 0; p < log->config.partitions; p++) {
        log_part *part = &log->parts[p];
        if (!part->unsynced) continue;
        WR_TRY(log->world->vt->file_sync(log->world, part->file, err));
        part->unsynced = false;
    }
    return WR_OK;
}

static int64_t *written_ends(const wr_log *log) {
    int64_t *ends = wr_calloc(log->config.partitions, sizeof *ends);
    for (uint32_t p = 0; p < log->config.partitions; p++) ends[p] = log->parts[p].written;
    return ends;
}

/* Everything that is in the files becomes visible. */
static wr_status show_written(wr_log *log, const log_producer *by, bool sync, wr_err *err) {
    int64_t *ends = written_ends(log);
    bool     more = memcmp(ends, log->state->ends, log->config.partitions * sizeof *ends) != 0;
    wr_status status = more || by ? log_note(log, REC_COMMIT, by, ends, sync, err) : WR_OK;
    wr_free(ends);
    return status;
}

/* The whole group: under sync_lock. */
static wr_status sync_group(wr_log *log, wr_err *err) {
    uint64_t  ticket;
    wr_status status = write_out(log, &ticket, err);
    if (status == WR_OK) status = sync_parts(log, err);
    if (status == WR_OK) status = show_written(log, NULL, log->with_epochs, err);
    if (status == WR_OK) log->durable = ticket;
    return log_broken(log, status, err);
}

wr_status wr_log_sync(wr_log *log, uint64_t ticket, wr_err *err) {
    if (ticket == UINT64_MAX) {
        wr_mutex_lock(log->lock);
        ticket = log->submitted;
        wr_mutex_unlock(log->lock);
    }
    wr_mutex_lock(log->sync_lock);
    wr_status status = log->durable >= ticket ? WR_OK : check_broken(log, err);
    wr_err    own;
    if (status == WR_OK && log->durable < ticket) status = sync_group(log, err ? err : &own);
    wr_mutex_unlock(log->sync_lock);
    return status;
}

wr_status wr_log_append(wr_log *log, uint32_t partition, const wr_log_record *records, uint32_t n, wr_str idem_key, wr_log_appended *out, wr_err *err) {
    wr_status status = wr_log_submit(log, partition, records, n, idem_key, out, err);
    if (status == WR_LIMIT) { /* the buffer, perhaps */
        WR_TRY(wr_log_sync(log, UINT64_MAX, err));
        status = wr_log_submit(log, partition, records, n, idem_key, out, err);
    }
    return status == WR_OK ? wr_log_sync(log, out->ticket, err) : status;
}

void wr_log_usage_of(wr_log *log, wr_log_usage *out) {
    wr_mutex_lock(log->lock);
    *out = (wr_log_usage){.bytes = log->bytes, .max_bytes = log->max_bytes, .buffered = log->buffered, .buffer_bytes = log->buffer_bytes, .n_idem = log->idem.n};
    wr_mutex_unlock(log->lock);
}

/* ---- epochs ---- */

wr_status wr_log_flush(wr_log *log, wr_err *err) {
    wr_mutex_lock(log->sync_lock);
    wr_err    own;
    uint64_t  ticket;
    wr_status status = check_broken(log, err);
    if (status == WR_OK) status = log_broken(log, write_out(log, &ticket, err ? err : &own), err);
    wr_mutex_unlock(log->sync_lock);
    return status;
}

wr_status wr_log_publish(wr_log *log, wr_err *err) {
    if (!log->begun) return WR_OK;
    wr_mutex_lock(log->sync_lock);
    wr_status status = check_broken(log, err);
    if (status == WR_OK) status = sync_group(log, err);
    wr_mutex_unlock(log->sync_lock);
    return status;
}

static void put_staged(const wr_log *log, uint64_t epoch, bool any, const int64_t *ends, wr_sbuf *out) {
    wr_put_u8(out, STAGED_VERSION);
    wr_put_u8(out, any);
    wr_put_u64(out, log->config.id);
    wr_put_u64(out, log->me.incarnation);
    wr_put_u64(out, epoch);
    wr_put_u32(out, log->config.partitions);
    for (uint32_t p = 0; p < log->config.partitions; p++) wr_put_i64(out, ends[p]);
}

typedef struct staged_epoch { bool any; uint64_t incarnation, epoch; int64_t *ends; } staged_epoch; /* any: it has rows */

static wr_status get_staged(const wr_log *log, wr_str staged, staged_epoch *out, wr_err *err) {
    wr_reader in = {(const uint8_t *)staged.ptr, (const uint8_t *)staged.ptr + staged.len, false};
    *out = (staged_epoch){0};
    if (wr_get_u8(&in) != STAGED_VERSION) return wr_fail(err, WR_CORRUPT, "XX001", "what the checkpoint has of the log '%s' is of another version", log->path);
    out->any = wr_get_u8(&in) != 0;
    uint64_t id = wr_get_u64(&in);
    out->incarnation = wr_get_u64(&in);
    out->epoch = wr_get_u64(&in);
    uint32_t n = wr_get_u32(&in);
    if (id != log->config.id || n != log->config.partitions) {
        wr_fail(err, WR_DATA, "WR374", "the log '%s' is not the one that the checkpoint wrote to", log->path);
        wr_err_hint(err, "put that log back, or begin with a new --state-dir");
        return WR_DATA;
    }
    out->ends = wr_calloc(n, sizeof *out->ends);
    for (uint32_t p = 0; p < n; p++) out->ends[p] = wr_get_i64(&in);
    return in.bad ? wr_fail(err, WR_CORRUPT, "XX001", "what the checkpoint has of the log '%s' is damaged", log->path) : WR_OK;
}

wr_status wr_log_prepare(wr_log *log, uint64_t epoch, wr_sbuf *staged, wr_err *err) {
    uint64_t ticket;
    if (!log->begun) WR_TRY(wr_log_recover(log, 0, (wr_str){"", 0}, err));
    wr_mutex_lock(log->sync_lock);
    wr_status status = check_broken(log, err);
    if (status == WR_OK) status = write_out(log, &ticket, err);
    if (status == WR_OK) status = sync_parts(log, err);
    int64_t *ends = written_ends(log);
    bool     more = memcmp(ends, log->state->ends, log->config.partitions * sizeof *ends) != 0;
    log_producer by = log->me;
    by.epoch = epoch;
    if (status == WR_OK && more) status = log_note(log, REC_PREPARE, &by, ends, true, err);
    if (status == WR_OK) put_staged(log, epoch, more, ends, staged);
    wr_free(ends);
    (void)log_broken(log, status, err);
    wr_mutex_unlock(log->sync_lock);
    return status;
}

wr_status wr_log_commit(wr_log *log, uint64_t epoch, wr_str staged, wr_err *err) {
    staged_epoch e;
    if (epoch <= log->me.epoch) return WR_OK;
    wr_status status = get_staged(log, staged, &e, err);
    wr_mutex_lock(log->sync_lock);
    if (status == WR_OK) status = check_broken(log, err);
    if (status == WR_OK) {
        log_producer by = log->me;
        by.epoch = epoch;
        if (e.any) status = log_broken(log, log_note(log, REC_COMMIT, &by, e.ends, true, err), err);
        if (status == WR_OK) log->me.epoch = epoch;
    }
    wr_free(e.ends);
    wr_mutex_unlock(log->sync_lock);
    return status;
}

/* The pending epoch goes with the rows that it had: they are cut by log_begin. */
static wr_status drop_pending(wr_log *log, wr_err *err) {
    return log->state->pending ? log_note(log, REC_DROP, &log->state->pending_by, log->state->ends, true, err) : WR_OK;
}

/* Which rows are to be kept: those of the epoch, if it is not committed yet. */
static wr_status recover_epoch(wr_log *log, uint64_t epoch, wr_str staged, wr_err *err) {
    staged_epoch e;
    WR_TRY(get_staged(log, staged, &e, err));
    const log_state    *state = log->state;
    const log_producer *known = state_producer(state, wr_str_of(log->me.name));
    bool mine = state->pending && !strcmp(state->pending_by.name, log->me.name) && state->pending_by.incarnation == e.incarnation && state->pending_by.epoch == e.epoch;
    bool done = !e.any || (!mine && known && known->incarnation == e.incarnation && known->epoch >= e.epoch); /* a job that went back to an older checkpoint has its numbers once more */
    wr_status status = WR_OK;
    log->me.incarnation = e.incarnation;
    if (!done && !mine) {
        status = wr_fail(err, WR_DATA, "WR374", "the rows of epoch %" PRIu64 " that '%s' had prepared are not in the log '%s' any more", e.epoch, log->me.name, log->path);
        wr_err_detail(err, "they were dropped ('weir log drop'), or another job with this name began anew");
        wr_err_hint(err, "begin with a new --state-dir; each job needs its own 'sink.transactional-id-prefix'");
    }
    if (status == WR_OK && done) status = drop_pending(log, err);
    if (status == WR_OK) status = log_begin(log, done ? NULL : e.ends, err);
    log_producer by = log->me;
    by.epoch = e.epoch;
    if (status == WR_OK && !done) status = log_note(log, REC_COMMIT, &by, e.ends, true, err);
    if (status == WR_OK) log->me.epoch = epoch;
    wr_free(e.ends);
    return status;
}

wr_status wr_log_recover(wr_log *log, uint64_t epoch, wr_str staged, wr_err *err) {
    if (log->begun) return WR_OK;
    wr_mutex_lock(log->sync_lock);
    wr_status status = check_broken(log, err);
    if (status == WR_OK && epoch && staged.len) {
        status = recover_epoch(log, epoch, staged, err);
    } else if (status == WR_OK) {
        log->me.incarnation = log->world->vt->random(log->world);
        log->me.epoch = epoch;
        status = drop_pending(log, err);
        if (status == WR_OK) status = log_begin(log, NULL, err);
    }
    (void)log_broken(log, status, err);
    wr_mutex_unlock(log->sync_lock);
    return status;
}

/* ---- opening ---- */

static wr_status take_lock(wr_log *log, wr_err *err) {
    const wr_world_vt *vt = log->world->vt;
    wr_sbuf path = {0};
    bool    taken = true;
    log_path(log->path, "lock", &path);
    wr_status status = vt->file_open(log->world, path.at, WR_OPEN_WRITE | WR_OPEN_CREATE, &log->lock_file, err);
    if (status == WR_OK && vt->file_lock) status = vt->file_lock(log->world, log->lock_file, &taken, err);
    if (status == WR_OK && !taken) {
        status = wr_fail(err, WR_IO, "WR372", "the log '%s' is open for append by another process, or another table of this one", log->path);
        wr_err_hint(err, "a log has one writer at a time and any number of readers: stop the other one, or give this one a log of its own; two INSERTs of one script become one with UNION ALL");
    }
    wr_sbuf_free(&path);
    return status;
}

/* Reads `commits` and replaces it at once: what is relied upon from here on is on the disk, even if a sync of it failed before, and a torn tail is gone. */
static wr_status open_commits(wr_log *log, wr_err *err) {
    const wr_world_vt *vt = log->world->vt;
    wr_sbuf      path = {0};
    wr_file_info info;
    wr_file     *f = NULL;
    bool         exists;
    log_path(log->path, "commits", &path);
    wr_status status = vt->stat(log->world, path.at, &info, &exists, err);
    if (status == WR_OK && !exists) status = wr_fail(err, WR_CORRUPT, "WR371", "the log is damaged: '%s' is missing", path.at);
    if (status == WR_OK) status = vt->file_open(log->world, path.at, WR_OPEN_READ, &f, err);
    if (status == WR_OK) status = state_read(log->world, f, log->state, err);
    if (status == WR_OK) status = state_check_tail(log->world, f, log->state, path.at, err);
    vt->file_close(log->world, f);
    if (status == WR_OK) status = write_commits(log, err);
    wr_sbuf_free(&path);
    return status;
}

/* Names that a process before this one made and could not sync. */
static wr_status sync_names(wr_log *log, wr_err *err) {
    wr_sbuf     dir = {0};
    const char *slash = strrchr(log->path, '/');
    wr_sbuf_add(&dir, slash ? log->path : ".", slash ? WR_MAX((size_t)(slash - log->path), (size_t)1) : 1);
    wr_status status = log->world->vt->sync_dir(log->world, dir.at, err);
    wr_sbuf_free(&dir);
    return status == WR_OK ? log->world->vt->sync_dir(log->world, log->path, err) : status;
}

static wr_status check_pending(const wr_log *log, wr_err *err) {
    const log_state *s = log->state;
    if (!s->pending || (log->with_epochs && !strcmp(s->pending_by.name, log->me.name))) return WR_OK;
    wr_fail(err, WR_DATA, "WR374", "the log '%s' has rows of '%s' (epoch %" PRIu64 ") that are neither committed nor dropped", log->path, s->pending_by.name, s->pending_by.epoch);
    wr_err_detail(err, "that job ended between the two halves of a checkpoint; when it starts again it decides");
    wr_err_hint(err, "start that job again, or give its rows up: weir log drop %s", log->path);
    return WR_DATA;
}

static wr_status open_all(wr_log *log, const wr_log_opts *opts, wr_err *err) {
    bool exists;
    WR_TRY(wr_log_exists(log->world, log->path, &exists, err));
    if (!exists && opts->create) {
        WR_TRY(log->world->vt->make_dirs(log->world, log->path, err));
        WR_TRY(take_lock(log, err));
        WR_TRY(wr_log_exists(log->world, log->path, &exists, err));
        if (!exists) WR_TRY(wr_log_create(log->world, log->path, opts->create, err));
    }
    WR_TRY(config_read(log->world, log->path, &log->config, err));
    if (!log->lock_file) WR_TRY(take_lock(log, err));
    log->parts = wr_calloc(log->config.partitions, sizeof *log->parts);
    log->state = state_new(log->config.partitions);
    if (log->config.zstd) log->zstd = ZSTD_createCCtx();
    WR_TRY(sync_names(log, err));
    WR_TRY(open_commits(log, err));
    WR_TRY(check_pending(log, err));
    if (!log->with_epochs) WR_TRY(log_begin(log, NULL, err));
    return WR_OK;
}

wr_status wr_log_open(const wr_log_opts *opts, wr_log **out, wr_err *err) {
    *out = NULL;
    wr_log *log = wr_calloc(1, sizeof *log);
    *log = (wr_log){.world = opts->world, .acct = opts->acct, .path = wr_strdup(opts->path), .lock = wr_mutex_new(), .sync_lock = wr_mutex_new(), .max_bytes = opts->max_bytes,
                    .buffer_bytes = opts->buffer_bytes ? opts->buffer_bytes : BUFFER_BYTES, .idem_us = opts->idem_us, .idem_bytes = opts->idem_bytes ? opts->idem_bytes : IDEM_BYTES,
                    .with_epochs = opts->producer.ptr != NULL};
    snprintf(log->me.name, sizeof log->me.name, "%.*s", (int)WR_MIN(opts->producer.len, sizeof log->me.name - 1), opts->producer.ptr ? opts->producer.ptr : "");
    wr_status status = open_all(log, opts, err);
    if (status != WR_OK) {
        wr_log_close(log);
        return status;
    }
    charge(log);
    *out = log;
    return WR_OK;
}

void wr_log_close(wr_log *log) {
    if (!log) return;
    const wr_world_vt *vt = log->world->vt;
    for (uint32_t p = 0; log->parts && p < log->config.partitions; p++) {
        log_part *part = &log->parts[p];
        vt->file_close(log->world, part->file);
        vt->file_close(log->world, part->index);
        for (uint32_t i = 0; i < part->ready.n; i++) batch_builder_free(&part->ready.at[i]);
        wr_arr_free(&part->ready);
        wr_arr_free(&part->segments);
    }
    wr_free(log->parts);
    if (log->commits && !log->broken && log->commits_synced < log->state->bytes) (void)vt->file_sync(log->world, log->commits, NULL); /* so that readers find all of it */
    vt->file_close(log->world, log->commits);
    vt->file_close(log->world, log->lock_file);
    for (uint32_t i = log->idem_head; i < log->idem_ring.n; i++) wr_free(log->idem.rows[log->idem_ring.at[i]].key);
    idem_table_free(&log->idem);
    wr_arr_free(&log->idem_ring);
    if (log->acct) wr_account_add(log->acct, -log->charged);
    if (log->zstd) ZSTD_freeCCtx(log->zstd);
    state_free(log->state);
    wr_mutex_free(log->lock);
    wr_mutex_free(log->sync_lock);
    wr_free(log->path);
    wr_free(log);
}

wr_status wr_log_drop(wr_world *world, const char *path, uint64_t *n, wr_err *err) {
    *n = 0;
    wr_log_view   *view;
    wr_log_pending pending;
    WR_TRY(wr_log_view_open(world, path, &view, err));
    char name[200];
    bool any = wr_log_view_pending(view, &pending);
    if (any) snprintf(name, sizeof name, "%.*s", WR_FMT(pending.producer));
    wr_log_view_close(view);
    if (!any) return WR_OK;
    wr_log     *log;
    wr_log_opts opts = {.world = world, .path = path, .producer = wr_str_of(name)};
    WR_TRY(wr_log_open(&opts, &log, err));
    if (log->state->pending)
        for (uint32_t p = 0; p < log->config.partitions; p++) *n += (uint64_t)(log->state->pending_ends[p] - log->state->ends[p]);
    wr_status status = wr_log_recover(log, 0, (wr_str){"", 0}, err);
    wr_log_close(log);
    return status;
}
