/* connect/log/state.c: the file `commits`: which records are visible, and what is in doubt.
 *
 * Idea       records are appended; each has a sum and says how many bytes of the file were synced when it was written. Reading goes on until the first record that
 *            is not whole. It is a torn tail, unless a later record says that this byte had been synced: then the file is damaged.
 * Size       when it has grown to COMMITS_MAX_BYTES the writer replaces it by one FULL record; readers see that by the file's number.
 * Thread     one owner.                                                                                                                   */
#include "connect/log/parts.h"
#include <stdio.h>

enum { RECORD_HEADER = 16, RECORD_MAX = 1 << 20 };
#define MAGIC 0x31434C57u /* WLC1 */

log_state *state_new(uint32_t partitions) {
    log_state *s = wr_calloc(1, sizeof *s);
    s->n = partitions;
    s->ends = wr_calloc(partitions, sizeof *s->ends);
    s->pending_ends = wr_calloc(partitions, sizeof *s->pending_ends);
    return s;
}

void state_free(log_state *s) {
    if (!s) return;
    wr_free(s->ends);
    wr_free(s->pending_ends);
    wr_free(s);
}

const log_producer *state_producer(const log_state *s, wr_str name) {
    for (uint32_t i = 0; i < s->n_producers; i++)
        if (wr_str_eq(wr_str_of(s->producers[i].name), name)) return &s->producers[i];
    return NULL;
}

/* The newest stands last; the one that was heard of longest ago makes room. */
static void note_producer(log_state *s, const log_producer *by) {
    log_producer copy = *by;
    uint32_t     i = 0;
    while (i < s->n_producers && strcmp(s->producers[i].name, copy.name)) i++;
    if (i == s->n_producers && i == PRODUCERS_MAX) i = 0;
    else if (i == s->n_producers) s->n_producers++;
    memmove(s->producers + i, s->producers + i + 1, (s->n_producers - 1 - i) * sizeof copy);
    s->producers[s->n_producers - 1] = copy;
}

static void put_producer(const log_producer *p, wr_sbuf *out) {
    wr_put_bytes(out, p->name, strlen(p->name));
    wr_put_u64(out, p->incarnation);
    wr_put_u64(out, p->epoch);
}

static void get_producer(wr_reader *in, log_producer *p) {
    wr_str name = wr_get_bytes(in);
    *p = (log_producer){.incarnation = 0};
    snprintf(p->name, sizeof p->name, "%.*s", WR_FMT(name));
    p->incarnation = wr_get_u64(in);
    p->epoch = wr_get_u64(in);
}

static void put_ends(const int64_t *was, const int64_t *ends, uint32_t n, wr_sbuf *out) {
    uint32_t changed = 0;
    for (uint32_t i = 0; i < n; i++) changed += !was || was[i] != ends[i];
    wr_put_u32(out, changed);
    for (uint32_t i = 0; i < n; i++)
        if (!was || was[i] != ends[i]) wr_put_u32(out, i), wr_put_i64(out, ends[i]);
}

static bool get_ends(wr_reader *in, int64_t *ends, uint32_t n) {
    for (uint32_t k = wr_get_u32(in); k > 0 && !in->bad; k--) {
        uint32_t p = wr_get_u32(in);
        int64_t  end = wr_get_i64(in);
        if (p >= n || end < 0) return false;
        if (!in->bad) ends[p] = end;
    }
    return !in->bad;
}

static bool apply(log_state *s, wr_reader *in) {
    int kind = wr_get_u8(in);
    (void)wr_get_u64(in); /* synced_to */
    log_producer by;
    get_producer(in, &by);
    if (kind == REC_PREPARE) memcpy(s->pending_ends, s->ends, s->n * sizeof *s->ends);
    if (!get_ends(in, kind == REC_PREPARE ? s->pending_ends : s->ends, s->n)) return false;
    if (kind == REC_PREPARE) s->pending = true, s->pending_by = by;
    if (kind == REC_DROP) s->pending = false;
    if (kind == REC_COMMIT && by.name[0]) {
        note_producer(s, &by);
        if (s->pending && !strcmp(s->pending_by.name, by.name) && by.epoch >= s->pending_by.epoch) s->pending = false;
    }
    if (kind == REC_FULL) {
        uint32_t n = wr_get_u32(in);
        s->n_producers = 0;
        for (uint32_t i = 0; i < n && !in->bad; i++) get_producer(in, &by), note_producer(s, &by);
        s->pending = wr_get_u8(in) != 0;
        if (s->pending) {
            get_producer(in, &s->pending_by);
            memcpy(s->pending_ends, s->ends, s->n * sizeof *s->ends);
            if (!get_ends(in, s->pending_ends, s->n)) return false;
        }
    }
    return !in->bad && kind >= REC_FULL && kind <= REC_DROP;
}

void state_record(log_state *s, int kind, const log_producer *by, const int64_t *ends, uint64_t synced_to, wr_sbuf *out) {
    static const log_producer nobody;
    size_t start = out->len;
    wr_put_u32(out, MAGIC);
    wr_put_u32(out, 0);
    wr_put_u64(out, 0);
    wr_put_u8(out, (uint8_t)kind);
    wr_put_u64(out, synced_to);
    put_producer(by ? by : &nobody, out);
    put_ends(kind == REC_FULL ? NULL : s->ends, ends, s->n, out);
    if (kind == REC_FULL) {
        wr_put_u32(out, s->n_producers);
        for (uint32_t i = 0; i < s->n_producers; i++) put_producer(&s->producers[i], out);
        wr_put_u8(out, s->pending);
        if (s->pending) {
            put_producer(&s->pending_by, out);
            put_ends(s->ends, s->pending_ends, s->n, out);
        }
    }
    uint32_t len = (uint32_t)(out->len - start - RECORD_HEADER);
    uint64_t sum = wr_hash_bytes(out->at + start + RECORD_HEADER, len);
    memcpy(out->at + start + 4, &len, 4);
    memcpy(out->at + start + 8, &sum, 8);
    wr_reader in = {(const uint8_t *)out->at + start + RECORD_HEADER, (const uint8_t *)out->at + out->len, false};
    (void)apply(s, &in);
    if (kind == REC_FULL) s->bytes = 0;
    s->bytes += out->len - start;
}

/* A whole record at the start of the bytes? Its length with the header, 0: no. */
static size_t whole_record(const uint8_t *p, size_t len) {
    uint32_t magic, n;
    uint64_t sum;
    if (len < RECORD_HEADER) return 0;
    memcpy(&magic, p, 4), memcpy(&n, p + 4, 4), memcpy(&sum, p + 8, 8);
    if (magic != MAGIC || n > RECORD_MAX || len - RECORD_HEADER < n || wr_hash_bytes(p + RECORD_HEADER, n) != sum) return 0;
    return n + RECORD_HEADER;
}

static wr_status read_rest(wr_world *w, wr_file *f, uint64_t from, wr_sbuf *out, wr_err *err) {
    for (;;) {
        enum { STEP = 64 * 1024 };
        size_t got;
        wr_sbuf_reserve(out, STEP);
        WR_TRY(w->vt->file_pread(w, f, out->at + out->len, STEP, from + out->len, &got, err));
        out->len += got;
        if (got < STEP) return WR_OK;
    }
}

wr_status state_read(wr_world *w, wr_file *f, log_state *s, wr_err *err) {
    wr_sbuf   buf = {0};
    wr_status status = read_rest(w, f, s->bytes, &buf, err);
    size_t    at = 0, n;
    while (status == WR_OK && (n = whole_record((const uint8_t *)buf.at + at, buf.len - at)) != 0) {
        wr_reader in = {(const uint8_t *)buf.at + at + RECORD_HEADER, (const uint8_t *)buf.at + at + n, false};
        if (!apply(s, &in)) break;
        at += n;
        s->bytes += n;
    }
    wr_sbuf_free(&buf);
    return status;
}

wr_status state_check_tail(wr_world *w, wr_file *f, const log_state *s, const char *path, wr_err *err) {
    wr_sbuf   buf = {0};
    wr_status status = read_rest(w, f, s->bytes, &buf, err);
    for (size_t at = 1; status == WR_OK && at + RECORD_HEADER + 9 <= buf.len; at++) {
        if (!whole_record((const uint8_t *)buf.at + at, buf.len - at)) continue;
        uint64_t synced_to;
        memcpy(&synced_to, buf.at + at + RECORD_HEADER + 1, 8);
        if (synced_to <= s->bytes) continue;
        status = wr_fail(err, WR_CORRUPT, "WR371", "the log is damaged: '%s' at byte %" PRIu64, path, s->bytes);
        if (err) wr_err_hint(err, "restore the log's directory from a copy; the segments beside it may be whole");
    }
    wr_sbuf_free(&buf);
    return status;
}
