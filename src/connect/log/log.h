/* connect/log/log.h: an append-only log in a directory: partitions of segments of checksummed batches. What there is when there is no Kafka. (contract)
 *
 * Layout     PATH/log.meta     text: version, id, partitions, limits. Written once.
 *            PATH/lock         taken by the one writer.
 *            PATH/commits      what is visible: records of (partition, end offset), see state.c.
 *            PATH/N/BASE.log   a segment of partition N: batches from offset BASE on; BASE.idx beside it: a sparse index by offset and time.
 * Visible    readers see a partition up to its committed end and nothing behind it, so they never see a torn tail, nor rows that a checkpoint may still take back.
 *            The end of all partitions moves by one record of `commits`, at once.
 * Durable    an append is acknowledged (wr_log_sync, wr_log_append return WR_OK) when its bytes are fsynced, and only then do readers see it: what a reader saw is
 *            there after a power failure too. Appends of many threads share one fsync (group commit): whoever comes while one is going on is in the next.
 * Crash      opening for append cuts what lies behind the last commit: whole plain batches are kept (they may have been acknowledged), torn ones and those of an
 *            epoch that was not prepared are removed. A damaged byte below the committed end is an error with file and byte, never cut.
 * Epochs     a writer with a `producer` (a job's sink) appends batches that stay hidden until wr_log_commit; wr_log_prepare makes them durable, notes in `commits` that
 *            they are in doubt, and returns what wr_log_recover needs after a crash. Meanwhile other writers are refused (WR374).
 * Errors     WR370 no log there, or not one; WR371 damaged; WR372 another process writes; WR373 an offset that is not there any more; WR374 an epoch in doubt.
 * Bounds     what is submitted and not written: buffer_bytes; idempotency keys: idem_bytes; both charged. A log with max_bytes answers WR_LIMIT when it is full.
 * Thread     wr_log_*: any thread, at the same time, on one handle, but open, recover, prepare, commit, close: the owner's. Views and cursors: one thread each.   */
#pragma once
#include "base/str.h"
#include "sys/world.h"

enum { WR_LOG_PARTITIONS_MAX = 256, WR_LOG_BATCH_RECORDS = 2048, WR_LOG_BATCH_BYTES = 1 << 20, WR_LOG_RECORD_BYTES = 64 << 20 };

typedef enum wr_log_cleanup { WR_LOG_DELETE = 1, WR_LOG_COMPACT = 2 } wr_log_cleanup; /* bits */
typedef struct wr_log_config {   /* of a log: fixed when it is made */
    uint64_t id;                 /* random: tells a log from one made anew at the same place */
    uint32_t partitions;
    uint64_t segment_bytes;
    int64_t  retention_us;       /* since they were appended; 0: for ever */
    uint64_t retention_bytes;    /* of each partition; 0: no bound */
    uint32_t cleanup;            /* wr_log_cleanup */
    int64_t  tombstone_us;       /* compaction: how long a record without value is kept */
    bool     zstd;
} wr_log_config;
void      wr_log_config_default(wr_log_config *config); /* 1 partition, segments of 64 MiB, kept for ever, not compressed */
/* Makes the directories and log.meta. WR_USER: a log is there already. */
wr_status wr_log_create(wr_world *world, const char *path, const wr_log_config *config, wr_err *err);
wr_status wr_log_exists(wr_world *world, const char *path, bool *exists, wr_err *err);

#define WR_LOG_NO_TIME INT64_MIN
typedef struct wr_log_record {
    int64_t  offset;             /* given by the log */
    int64_t  time_ms;            /* since 1970; WR_LOG_NO_TIME when it is appended: now */
    wr_str   key, value;         /* ptr NULL: none. No value: a tombstone */
    uint32_t n_headers;
    wr_str   headers;            /* n_headers times wr_log_header_put */
} wr_log_record;
void wr_log_header_put(wr_sbuf *headers, wr_str name, wr_str value); /* value.ptr NULL: null */
bool wr_log_header_next(wr_str *headers, wr_str *name, wr_str *value);

/* ---- appending ---- */

typedef struct wr_log wr_log;    /* open for append */
typedef struct wr_log_opts {
    wr_world            *world;
    wr_account          *acct;       /* may be NULL */
    const char          *path;
    const wr_log_config *create;     /* makes the log if there is none; NULL: that is WR370 */
    wr_str               producer;   /* of a sink with epochs; ptr NULL: plain appends */
    uint64_t             max_bytes;  /* refuse appends while the log has more; 0: no bound (retention removes the old) */
    size_t               buffer_bytes; /* 0: 32 MiB */
    int64_t              idem_us;    /* remember idempotency keys for so long; 0: none are remembered */
    size_t               idem_bytes; /* and no more than so many bytes of them, the oldest go first; 0: 64 MiB */
} wr_log_opts;
wr_status wr_log_open(const wr_log_opts *opts, wr_log **out, wr_err *err);
void      wr_log_close(wr_log *log); /* NULL is legal. What was not synced is not appended */
const wr_log_config *wr_log_config_of(const wr_log *log);

typedef struct wr_log_appended {
    uint32_t partition;
    int64_t  offset;             /* of the first record; those of one call stand in one row */
    uint32_t n;
    uint64_t ticket;             /* for wr_log_sync */
    bool     duplicate;          /* the idempotency key was there: this is where its records are, nothing was appended */
} wr_log_appended;
#define WR_LOG_BY_KEY UINT32_MAX /* partition: by the hash of the first record's key, without one in turn */

/* Hands n records to the log: they are one unit of one partition; not durable before wr_log_sync(ticket). Never blocks on the disk: a server's thread submits what
 * it has, syncs once, and answers all. idem_key (ptr NULL: none, at most 1 KiB) makes the call happen once: the same key again gives the first one's place.
 * WR_LIMIT: the buffer or the log is full (err->retriable); ask wr_log_usage how much. */
wr_status wr_log_submit(wr_log *log, uint32_t partition, const wr_log_record *records, uint32_t n, wr_str idem_key, wr_log_appended *out, wr_err *err);
/* Returns when all up to the ticket is on disk and visible; UINT64_MAX: all submitted so far. An error is final: the handle takes nothing more; open it again. */
wr_status wr_log_sync(wr_log *log, uint64_t ticket, wr_err *err);
/* Both; waits for room in the buffer. */
wr_status wr_log_append(wr_log *log, uint32_t partition, const wr_log_record *records, uint32_t n, wr_str idem_key, wr_log_appended *out, wr_err *err);
typedef struct wr_log_usage { uint64_t bytes, max_bytes; size_t buffered, buffer_bytes; uint64_t n_idem; } wr_log_usage;
void      wr_log_usage_of(wr_log *log, wr_log_usage *out);
/* Removes what retention says, compacts if enough is new. Called by the writer's owner from time to time (a sink: at commit); cheap when nothing is to be done.
 * force: compacts whatever there is; for that the segment that is being written is finished. */
typedef struct wr_log_cleaned { uint64_t segments, records, tombstones, bytes; } wr_log_cleaned;
wr_status wr_log_clean(wr_log *log, bool force, wr_log_cleaned *out, wr_err *err);
/* Lets go of whole segments below an offset: what the reader of a bounded log has done with. */
wr_status wr_log_trim(wr_log *log, uint32_t partition, int64_t offset, wr_err *err);

/* Epochs; `producer` was given. Rows submitted since the last prepare belong to the epoch. */
wr_status wr_log_flush(wr_log *log, wr_err *err);  /* buffer to file, not synced */
wr_status wr_log_publish(wr_log *log, wr_err *err); /* without checkpoints: syncs and shows what was submitted */
wr_status wr_log_prepare(wr_log *log, uint64_t epoch, wr_sbuf *staged, wr_err *err);
wr_status wr_log_commit(wr_log *log, uint64_t epoch, wr_str staged, wr_err *err);
/* Before the first submit. epoch 0: a job that begins anew: what this producer had in doubt is dropped, as it is when nothing of this is called. */
wr_status wr_log_recover(wr_log *log, uint64_t epoch, wr_str staged, wr_err *err);
/* Drops what any producer has in doubt; for `weir log drop`. *n: records removed. */
wr_status wr_log_drop(wr_world *world, const char *path, uint64_t *n, wr_err *err);

/* ---- reading ---- */

typedef struct wr_log_view wr_log_view; /* what is visible, as of the last refresh */
wr_status wr_log_view_open(wr_world *world, const char *path, wr_log_view **out, wr_err *err);
void      wr_log_view_close(wr_log_view *view);
wr_status wr_log_view_refresh(wr_log_view *view, wr_err *err);
const wr_log_config *wr_log_view_config(const wr_log_view *view);
int64_t   wr_log_view_end(const wr_log_view *view, uint32_t partition); /* the next offset that is not there yet */
typedef struct wr_log_pending { wr_str producer; uint64_t epoch; } wr_log_pending;
bool      wr_log_view_pending(const wr_log_view *view, wr_log_pending *out); /* an epoch is in doubt */
typedef struct wr_log_stat { int64_t start, end; uint64_t segments, bytes; int64_t first_append_us, last_append_us; } wr_log_stat;
wr_status wr_log_view_stat(wr_log_view *view, uint32_t partition, wr_log_stat *out, wr_err *err);
/* The first offset whose record is not older; the end if there is none. */
wr_status wr_log_view_time(wr_log_view *view, uint32_t partition, int64_t time_ms, int64_t *offset, wr_err *err);

/* A place in a partition. Bytes of whole batches come out unchecked and cheap; wr_log_batch_open checks and opens them, on any thread. */
typedef struct wr_log_cursor wr_log_cursor;
wr_log_cursor *wr_log_cursor_new(wr_log_view *view, uint32_t partition, int64_t offset); /* the view outlives it */
void      wr_log_cursor_free(wr_log_cursor *cursor);
size_t    wr_log_cursor_bytes(const wr_log_view *view); /* what a cursor reads ahead, while it is not at the end; a batch that is larger is held as a whole */
int64_t   wr_log_cursor_offset(const wr_log_cursor *cursor); /* of the next record */
typedef struct wr_log_piece { const uint8_t *bytes; size_t len; int64_t base, next; uint32_t n; size_t raw_len; int64_t segment; uint64_t at; } wr_log_piece; /* next: offset behind it; at: byte of its segment */
/* The next batch, valid until the next call; len 0: at the visible end. Not taken until wr_log_cursor_take. Records below the cursor's offset are not meant. */
wr_status wr_log_cursor_peek(wr_log_cursor *cursor, wr_log_piece *out, wr_err *err);
void      wr_log_cursor_take(wr_log_cursor *cursor, const wr_log_piece *piece);

typedef struct wr_log_batch { wr_reader in; int64_t base, first_ms; uint32_t n, span, at; wr_sbuf raw; bool bad; } wr_log_batch; /* {0} first; raw is reused */
/* WR_CORRUPT without a message: what wr_log_damaged is for. */
wr_status wr_log_batch_open(wr_log_batch *batch, const uint8_t *bytes, size_t len);
bool      wr_log_batch_next(wr_log_batch *batch, wr_log_record *out); /* borrows; false: no more (batch->bad: the batch is not well formed) */
void      wr_log_batch_free(wr_log_batch *batch);
WR_COLD wr_status wr_log_damaged(const char *log_path, uint32_t partition, int64_t segment, uint64_t at, int64_t offset, wr_err *err);
