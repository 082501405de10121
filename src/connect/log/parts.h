/* connect/log/parts.h: what the files of the log share. Private to connect/log/.
 *
 * Batch      80 bytes of header, then idempotency keys, then records (perhaps zstd). All numbers little-endian; an XXH3 of the body stands in the header, one of the
 *            header at its end: walks over headers need not read bodies to trust them.                                                     */
#pragma once
#include "base/hash.h"
#include "connect/log/log.h"
#include <inttypes.h>

/* ---- batch.c ---- */
enum { BATCH_HEADER = 80, BATCH_ZSTD = 1, BATCH_EPOCH = 2, BATCH_CLEAN = 4, KEYS_MAX = 1024 };
typedef struct batch_head { /* BATCH_EPOCH: hidden until a commit says so; BATCH_CLEAN: written by the compaction */
    uint32_t len;            /* bytes behind the header */
    int64_t  base, first_ms, max_ms, appended_us;
    uint32_t n, span, keys_len, raw_len, partition, flags; /* base + span: the next batch's, at the least */
} batch_head;
/* False: no header of ours, or a damaged one. */
bool batch_head_get(const uint8_t *bytes, size_t len, batch_head *out);
bool batch_verify(const uint8_t *bytes, size_t len); /* the whole batch */
typedef struct batch_builder { /* a batch being filled */
    int64_t  base, first_ms, max_ms;
    uint32_t n, span;
    wr_sbuf  raw, keys;
} batch_builder;
void batch_add(batch_builder *b, const wr_log_record *record); /* offset and time set */
void batch_add_key(batch_builder *b, wr_str key, int64_t offset, uint32_t n);
bool batch_next_key(wr_reader *keys, wr_str *key, int64_t *offset, uint32_t *n);
/* Appends the batch to out; zstd: a context of libzstd, NULL: not compressed. */
void batch_seal(const batch_builder *b, uint32_t partition, uint32_t flags, int64_t appended_us, void *zstd, wr_sbuf *out);
void batch_builder_free(batch_builder *b);

/* ---- files.c: log.meta, segments, indexes ---- */
typedef struct log_segment {
    int64_t  base;
    uint64_t bytes;
    int64_t  max_ms, appended_us; /* of its last entry of the index; unknown: INT64_MIN */
    bool     clean, looked;       /* compacted; it is known whether */
} log_segment;
typedef struct segment_list { log_segment *at; uint32_t n, cap; } segment_list;
typedef struct index_entry { int64_t offset, max_ms, appended_us; uint64_t at; } index_entry; /* a batch begins at byte `at`; times: of all before it in the segment */
typedef struct index_list { index_entry *at; uint32_t n, cap; } index_list;
enum { INDEX_ENTRY = 40, INDEX_STEP = 64 * 1024 };
void      log_path(const char *path, const char *name, wr_sbuf *out);
void      part_path(const char *path, uint32_t partition, wr_sbuf *out);
void      segment_path(const char *path, uint32_t partition, int64_t base, const char *ext, wr_sbuf *out);
wr_status config_read(wr_world *w, const char *path, wr_log_config *out, wr_err *err);
wr_status segments_list(wr_world *w, const char *path, uint32_t partition, segment_list *out, wr_err *err); /* by base; sizes, no times */
void      index_put(const index_entry *e, uint32_t partition, int64_t base, wr_sbuf *out); /* base: of the segment, part of the sum: an index of another one is none */
wr_status index_read(wr_world *w, const char *path, uint32_t partition, int64_t base, index_list *out, wr_err *err); /* valid entries only; missing is empty */
wr_status fail_not_there(const char *path, uint32_t partition, int64_t offset, int64_t start, int64_t end, wr_err *err); /* WR373 */

/* Walks the headers of a segment: read ahead in big steps, whole batches. */
typedef struct walker {
    wr_world *world;
    wr_file  *file;
    wr_sbuf   ahead;       /* bytes from `from` on */
    uint64_t  from, at;    /* the next batch begins at byte `at` */
    uint32_t  partition;
    size_t    step;        /* 0: WALK_STEP */
} walker;
enum { WALK_STEP = 256 * 1024 };
/* *bytes NULL: here is no whole batch that fits (end of file, torn, damaged). Else its head and bytes, valid until the next call. */
wr_status walker_look(walker *k, batch_head *head, const uint8_t **bytes, wr_err *err);
void      walker_free(walker *k); /* closes the file */

/* ---- state.c: the file `commits` ---- */
enum { REC_FULL = 1, REC_COMMIT, REC_PREPARE, REC_DROP };
enum { PRODUCERS_MAX = 256, COMMITS_MAX_BYTES = 1 << 20 };
typedef struct log_producer { char name[200]; uint64_t incarnation, epoch; } log_producer;
typedef struct log_state {   /* what the records say so far */
    uint32_t  n;             /* partitions */
    int64_t  *ends, *pending_ends;
    log_producer producers[PRODUCERS_MAX];
    uint32_t  n_producers;
    bool      pending;
    log_producer pending_by;
    uint64_t  bytes;         /* of the file, that were read */
} log_state;
log_state *state_new(uint32_t partitions);
void       state_free(log_state *s);
/* Appends a record to out and applies it. ends: of all partitions. */
void       state_record(log_state *s, int kind, const log_producer *by, const int64_t *ends, uint64_t synced_to, wr_sbuf *out);
const log_producer *state_producer(const log_state *s, wr_str name); /* NULL: unknown */
/* Reads the records from s->bytes on; stops at the first that is not whole. */
wr_status  state_read(wr_world *w, wr_file *f, log_state *s, wr_err *err);
/* For a writer, after state_read: is what follows s->bytes a torn tail? Else WR371. */
wr_status  state_check_tail(wr_world *w, wr_file *f, const log_state *s, const char *path, wr_err *err);
