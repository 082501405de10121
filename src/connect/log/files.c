/* connect/log/files.c: log.meta, the list of a partition's segments, the sparse indexes, and the walk over a segment's batches.
 *
 * Index      an entry each INDEX_STEP bytes of a segment, each with a sum of its own. It is a hint: what it points at is checked, so a lost or stale index costs time,
 *            never an answer.
 * Thread     no state but the walker's.                                                                                                  */
#include "connect/log/parts.h"
#include <stdio.h>
#include <stdlib.h>

enum { META_MAX = 64 * 1024, INDEX_MAX = 256 << 20 };

void log_path(const char *path, const char *name, wr_sbuf *out) {
    wr_sbuf_clear(out);
    wr_sbuf_printf(out, "%s/%s", path, name);
}
void part_path(const char *path, uint32_t partition, wr_sbuf *out) {
    wr_sbuf_clear(out);
    wr_sbuf_printf(out, "%s/%u", path, partition);
}
void segment_path(const char *path, uint32_t partition, int64_t base, const char *ext, wr_sbuf *out) {
    wr_sbuf_clear(out);
    wr_sbuf_printf(out, "%s/%u/%020" PRId64 "%s", path, partition, base, ext);
}

wr_status wr_log_damaged(const char *path, uint32_t partition, int64_t segment, uint64_t at, int64_t offset, wr_err *err) {
    wr_sbuf file = {0};
    segment_path(path, partition, segment, ".log", &file);
    wr_fail(err, WR_CORRUPT, "WR371", "the log is damaged: '%s' at byte %" PRIu64, file.at, at);
    wr_err_detail(err, "the batch with offset %" PRId64 " of partition %u does not have the sum that it was written with", offset, partition);
    wr_err_hint(err, "restore this file from a copy; what is behind the batch can be read with 'scan.startup.mode' = 'specific-offsets'");
    wr_sbuf_free(&file);
    return WR_CORRUPT;
}

wr_status fail_not_there(const char *path, uint32_t partition, int64_t offset, int64_t start, int64_t end, wr_err *err) {
    wr_fail(err, WR_DATA, "WR373", "offset %" PRId64 " of partition %u is not in the log '%s'", offset, partition, path);
    if (offset < start) {
        wr_err_detail(err, "retention has removed it: the partition has %" PRId64 " to %" PRId64, start, end);
        wr_err_hint(err, "go on without the lost rows by starting with a new --state-dir and 'scan.startup.mode' = 'earliest-offset'; keep the log longer next time ('log.retention')");
    } else {
        wr_err_detail(err, "it lies behind the partition's end %" PRId64 ": the log was made anew, or restored from an older copy", end);
        wr_err_hint(err, "begin with a new --state-dir");
    }
    return WR_DATA;
}

/* ---- log.meta ---- */

void wr_log_config_default(wr_log_config *c) {
    *c = (wr_log_config){.partitions = 1, .segment_bytes = 64 << 20, .cleanup = WR_LOG_DELETE, .tombstone_us = INT64_C(86400000000)};
}

wr_status wr_log_exists(wr_world *w, const char *path, bool *exists, wr_err *err) {
    wr_sbuf      meta = {0};
    wr_file_info info;
    log_path(path, "log.meta", &meta);
    wr_status status = w->vt->stat(w, meta.at, &info, exists, err);
    wr_sbuf_free(&meta);
    return status;
}

wr_status wr_log_create(wr_world *w, const char *path, const wr_log_config *config, wr_err *err) {
    bool exists;
    WR_TRY(wr_log_exists(w, path, &exists, err));
    if (exists) return wr_fail(err, WR_USER, "WR370", "there is a log at '%s' already", path);
    if (!config->partitions || config->partitions > WR_LOG_PARTITIONS_MAX) return wr_fail(err, WR_USER, "WR370", "a log has 1 to %d partitions, not %u", WR_LOG_PARTITIONS_MAX, config->partitions);
    wr_sbuf   text = {0}, at = {0};
    wr_status status = WR_OK;
    for (uint32_t p = 0; p < config->partitions && status == WR_OK; p++) {
        part_path(path, p, &at);
        status = w->vt->make_dirs(w, at.at, err);
    }
    wr_sbuf_printf(&text, "weir-log 1\nid %016" PRIx64 "\npartitions %u\nsegment-bytes %" PRIu64 "\nretention-us %" PRId64 "\nretention-bytes %" PRIu64 "\ncleanup %u\ntombstone-us %" PRId64 "\nzstd %d\n",
                   config->id ? config->id : w->vt->random(w) | 1, config->partitions, WR_MAX(config->segment_bytes, UINT64_C(4096)), config->retention_us, config->retention_bytes, config->cleanup,
                   config->tombstone_us, config->zstd);
    log_state *none = state_new(config->partitions); /* nothing is committed: so that a log without `commits` is a damaged one */
    wr_sbuf    first = {0};
    state_record(none, REC_FULL, NULL, none->ends, 0, &first);
    log_path(path, "commits", &at);
    if (status == WR_OK) status = wr_file_replace(w, at.at, wr_sbuf_str(&first), err);
    log_path(path, "log.meta", &at);
    if (status == WR_OK) status = wr_file_replace(w, at.at, wr_sbuf_str(&text), err);
    state_free(none);
    wr_sbuf_free(&first);
    wr_sbuf_free(&text);
    wr_sbuf_free(&at);
    return status;
}

static bool meta_line(wr_log_config *c, wr_str name, const char *value) {
    if (wr_str_eq(name, WR_STR("id"))) c->id = strtoull(value, NULL, 16);
    else if (wr_str_eq(name, WR_STR("partitions"))) c->partitions = (uint32_t)strtoull(value, NULL, 10);
    else if (wr_str_eq(name, WR_STR("segment-bytes"))) c->segment_bytes = strtoull(value, NULL, 10);
    else if (wr_str_eq(name, WR_STR("retention-us"))) c->retention_us = strtoll(value, NULL, 10);
    else if (wr_str_eq(name, WR_STR("retention-bytes"))) c->retention_bytes = strtoull(value, NULL, 10);
    else if (wr_str_eq(name, WR_STR("cleanup"))) c->cleanup = (uint32_t)strtoull(value, NULL, 10);
    else if (wr_str_eq(name, WR_STR("tombstone-us"))) c->tombstone_us = strtoll(value, NULL, 10);
    else if (wr_str_eq(name, WR_STR("zstd"))) c->zstd = *value == '1';
    else return wr_str_eq(name, WR_STR("weir-log")) && value[0] == '1' && !value[1];
    return true;
}

wr_status config_read(wr_world *w, const char *path, wr_log_config *out, wr_err *err) {
    wr_sbuf at = {0}, text = {0};
    bool    exists, ok = true;
    *out = (wr_log_config){0};
    log_path(path, "log.meta", &at);
    wr_status status = wr_log_exists(w, path, &exists, err);
    if (status == WR_OK && !exists) {
        status = wr_fail(err, WR_USER, "WR370", "there is no log at '%s'", path);
        wr_err_hint(err, "make one: weir log create %s --partitions 1", path);
    }
    if (status == WR_OK) status = wr_file_read_all(w, at.at, META_MAX, &text, err);
    wr_str list = wr_sbuf_str(&text);
    for (wr_str line, name; status == WR_OK && wr_str_next(&list, '\n', &line);) {
        char value[64];
        if (!line.len) continue;
        ok = ok && wr_str_next(&line, ' ', &name);
        snprintf(value, sizeof value, "%.*s", WR_FMT(line));
        ok = ok && meta_line(out, name, value);
    }
    if (status == WR_OK && (!ok || !out->partitions || out->partitions > WR_LOG_PARTITIONS_MAX || !out->segment_bytes || !out->id)) {
        status = wr_fail(err, WR_CORRUPT, "WR371", "'%s' is damaged, or of a version of weir that is newer than this one", at.at);
    }
    wr_sbuf_free(&at);
    wr_sbuf_free(&text);
    return status;
}

/* ---- segments ---- */

static bool segment_name(const char *name, int64_t *base) {
    if (strlen(name) != 24 || strcmp(name + 20, ".log")) return false;
    *base = 0;
    for (int i = 0; i < 20; i++) {
        if (name[i] < '0' || name[i] > '9' || *base > INT64_MAX / 10 - 9) return false;
        *base = *base * 10 + (name[i] - '0');
    }
    return true;
}

wr_status segments_list(wr_world *w, const char *path, uint32_t partition, segment_list *out, wr_err *err) {
    wr_sbuf       dir = {0};
    wr_file_info *found = NULL;
    size_t        n = 0;
    out->n = 0;
    part_path(path, partition, &dir);
    wr_status status = w->vt->list(w, dir.at, &found, &n, err);
    for (size_t i = 0; status == WR_OK && i < n; i++) {
        log_segment s = {.bytes = found[i].size_bytes, .max_ms = INT64_MIN, .appended_us = INT64_MIN};
        if (segment_name(found[i].name, &s.base)) wr_arr_push(out, s);
    }
    wr_free(found);
    wr_sbuf_free(&dir);
    return status;
}

/* ---- indexes ---- */

static uint64_t index_sum(const char *entry, uint32_t partition, int64_t base) {
    return wr_hash_mix(wr_hash_mix(wr_hash_bytes(entry, INDEX_ENTRY - 8), partition), (uint64_t)base);
}

void index_put(const index_entry *e, uint32_t partition, int64_t base, wr_sbuf *out) {
    size_t start = out->len;
    wr_put_i64(out, e->offset);
    wr_put_i64(out, e->max_ms);
    wr_put_i64(out, e->appended_us);
    wr_put_u64(out, e->at);
    wr_put_u64(out, index_sum(out->at + start, partition, base));
}

wr_status index_read(wr_world *w, const char *path, uint32_t partition, int64_t base, index_list *out, wr_err *err) {
    wr_sbuf      file = {0}, text = {0};
    wr_file_info info;
    bool         exists;
    out->n = 0;
    segment_path(path, partition, base, ".idx", &file);
    wr_status status = w->vt->stat(w, file.at, &info, &exists, err);
    if (status == WR_OK && exists) {
        wr_status read = wr_file_read_all(w, file.at, INDEX_MAX, &text, NULL);
        if (read != WR_OK) wr_sbuf_clear(&text); /* removed meanwhile: as if there were none */
    }
    for (size_t at = 0; status == WR_OK && at + INDEX_ENTRY <= text.len; at += INDEX_ENTRY) {
        wr_reader   in = {(const uint8_t *)text.at + at, (const uint8_t *)text.at + at + INDEX_ENTRY, false};
        index_entry e = {.offset = wr_get_i64(&in)};
        e.max_ms = wr_get_i64(&in), e.appended_us = wr_get_i64(&in), e.at = wr_get_u64(&in);
        bool whole = wr_get_u64(&in) == index_sum(text.at + at, partition, base);
        if (!whole || (out->n && (e.at <= out->at[out->n - 1].at || e.offset < out->at[out->n - 1].offset))) break;
        wr_arr_push(out, e);
    }
    wr_sbuf_free(&file);
    wr_sbuf_free(&text);
    return status;
}

/* ---- walking ---- */

/* At least `len` bytes from k->at on, if the file has them; what is there already is kept. */
static wr_status ahead(walker *k, size_t len, size_t *have, wr_err *err) {
    uint64_t end = k->from + k->ahead.len;
    if (k->at < k->from || k->at > end) end = k->at;
    *have = (size_t)(end - k->at);
    if (*have >= len) return WR_OK;
    size_t want = WR_MAX(len, k->step ? k->step : (size_t)WALK_STEP) - *have, got;
    if (*have) memmove(k->ahead.at, k->ahead.at + (k->at - k->from), *have);
    k->ahead.len = *have;
    k->from = k->at;
    wr_sbuf_reserve(&k->ahead, want);
    WR_TRY(k->world->vt->file_pread(k->world, k->file, k->ahead.at + *have, want, k->at + *have, &got, err));
    k->ahead.len += got;
    *have += got;
    return WR_OK;
}

wr_status walker_look(walker *k, batch_head *head, const uint8_t **bytes, wr_err *err) {
    size_t have;
    *bytes = NULL;
    WR_TRY(ahead(k, BATCH_HEADER, &have, err));
    if (!batch_head_get((const uint8_t *)k->ahead.at + (k->at - k->from), have, head) || head->partition != k->partition) return WR_OK;
    WR_TRY(ahead(k, BATCH_HEADER + (size_t)head->len, &have, err));
    if (have >= BATCH_HEADER + (size_t)head->len) *bytes = (const uint8_t *)k->ahead.at + (k->at - k->from);
    return WR_OK;
}

void walker_free(walker *k) {
    if (k->file) k->world->vt->file_close(k->world, k->file);
    wr_sbuf_free(&k->ahead);
    *k = (walker){0};
}
