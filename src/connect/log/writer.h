/* connect/log/writer.h: a log that is open for append, for writer.c (appending), begin.c (what is there when it is opened), clean.c. Private to connect/log/.
 *
 * Thread     `lock`: offsets, what is submitted, idempotency keys. `sync_lock`, taken before `lock`: files, segments, the state. Whoever waits for sync_lock while
 *            another one syncs finds its own records done when it gets it: that is the group commit.                                         */
#pragma once
#include "connect/log/parts.h"

typedef struct builder_list { batch_builder *at; uint32_t n, cap; } builder_list;

typedef struct log_part {
    segment_list segments;      /* the last one is written */
    wr_file     *file, *index;  /* of the last one */
    uint64_t     indexed;       /* byte of its last entry */
    int64_t      written;       /* end of what is in the files */
    bool         unsynced;
    int64_t      next;          /* under lock: the next offset to give */
    builder_list ready;         /* under lock: the last one is being filled */
} log_part;

typedef struct idem_row { /* an idempotency key and where its records are */
    uint64_t hash;
    char    *key;
    uint32_t key_len, partition, n;
    int64_t  offset, at_us;
    uint64_t ticket;
} idem_row;
#define WR_TABLE_NAME  idem_table
#define WR_TABLE_ROW   struct idem_row
#define WR_TABLE_KEY   wr_str
#define WR_TABLE_EQUAL(row, want) ((row)->key_len == (want)->len && !memcmp((row)->key, (want)->ptr, (want)->len))
#include "base/table.h"

struct wr_log {
    wr_world      *world;
    wr_account    *acct;
    char          *path;
    wr_log_config  config;
    wr_file       *lock_file, *commits;
    log_state     *state;
    uint64_t       commits_synced;   /* bytes of `commits` */
    log_part      *parts;            /* config.partitions */
    wr_mutex      *lock, *sync_lock;
    uint64_t       submitted, durable; /* tickets; under lock, under sync_lock */
    size_t         buffered, buffer_bytes;
    uint64_t       max_bytes, turn;
    _Atomic uint64_t bytes;          /* of all segments */
    bool           begun, broken, rolled; /* rolled: a segment was finished since the last cleaning */
    wr_err         broken_by;
    log_producer   me;               /* epoch: the last one committed */
    bool           with_epochs, shown; /* shown: without checkpoints */
    void          *zstd;
    int64_t        charged, cleaned_us;
    /* idempotency keys, under lock */
    idem_table     idem;
    WR_ARR(uint64_t) idem_ring;      /* rows by age, from idem_head on */
    uint32_t       idem_head;
    size_t         idem_used, idem_bytes;
    int64_t        idem_us;
};

/* ---- begin.c ---- */
/* Walks what lies behind the committed ends: keeps whole plain batches, or all up to keep[], cuts the rest, opens the last segments. */
wr_status log_begin(wr_log *log, const int64_t *keep, wr_err *err);
wr_status log_open_segment(wr_log *log, uint32_t p, int64_t base, wr_err *err); /* a new one, empty, the last */

/* ---- writer.c ---- */
log_segment *last_segment(log_part *part);
/* Writes a record to `commits`. sync: it is on disk when this returns. */
wr_status log_note(wr_log *log, int kind, const log_producer *by, const int64_t *ends, bool sync, wr_err *err);
wr_status log_roll(wr_log *log, uint32_t p, wr_err *err); /* the last segment is finished, a new one begins */
wr_status log_index(wr_log *log, log_part *part, wr_err *err); /* an entry for the end of the last segment */
void      idem_insert(wr_log *log, wr_str key, uint32_t partition, int64_t offset, uint32_t n, int64_t at_us, uint64_t ticket);
wr_status log_broken(wr_log *log, wr_status status, const wr_err *err); /* the handle takes nothing more */
