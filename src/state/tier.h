/* state/tier.h: the tier below the keyed maps: a RocksDB of the job that takes cold entries and is the checkpointed image of large state. (contract)
 *
 * Idea       one database per job in a working directory of its own; every keyed map that is attached has a table in it (a number for a stable
 *            name). Key = [table u16][prefix][group u16][hash u64][encoded key], big-endian numbers, so that a scan of some key groups reads
 *            only those. Value = what value_save writes. No write-ahead log: what counts after a crash is the last image, never the
 *            working directory.
 *            An image (checkpoint) is: the dirty entries of every map, staged at its barrier, are written; memtables are flushed; the sorted files
 *            are hard-linked. Cost follows what changed, not what there is.
 * Owed       what a map had at its barrier is not written there: the map owes it (wr_tier_owe), and pays a piece at a time, on its own thread between two
 *            calls of its operator (wr_tier_pay), and an entry before it is changed. The image is made when nobody owes anything. A thread of the tier
 *            writes what is staged meanwhile; when too much waits for it, paying stops, and in the end who stages waits.
 * Cut        a map that has passed the barrier of epoch e must not write to the tier until the image of e is made: wr_tier_frozen(). Its evictions
 *            wait (the entries stay in memory), its deletions are kept in its own batch.
 * Lazy       nothing is opened or created on disk before the first write.
 * Memory     write buffers, block cache, filters and indexes are bounded by the options and charged to the account.
 * Errors     a failing read or write is returned to the caller, and kept: wr_tier_error() gives it to whoever asks later.
 * Thread     every call from any thread; a batch or scan belongs to one thread at a time, and is freed before the tier. RocksDB's own threads
 *            (a process's few) flush and compact. All files go through the world (tier_rocks.cpp).                                           */
#pragma once
#include "sys/world.h"

typedef struct wr_tier wr_tier;
typedef struct wr_tier_opts {
    wr_world   *world;
    const char *dir;            /* working directory: scratch. Removed and made anew at the first write (not by a restore), and removed at free */
    wr_account *acct;
    int64_t     memory_bytes;   /* for write buffers and block cache together; 0 = 64 MiB */
    int64_t     filter_bytes;   /* for filters beside it, taken as entries come; 0 = a third of memory_bytes */
    int64_t     attach_bytes;   /* a map that grows to this size is attached; smaller ones are saved whole in the checkpoint file */
    bool        scratch;        /* no image is made: files need not last beyond the process and are not synced */
    bool        threads;        /* a thread writes what is staged; else who stages too much, or wr_tier_image, does it */
} wr_tier_opts;
wr_tier  *wr_tier_new(const wr_tier_opts *opts); /* nothing on disk yet */
void      wr_tier_free(wr_tier *tier);           /* NULL is legal */
bool      wr_tier_is_open(const wr_tier *tier);
int64_t   wr_tier_attach_bytes(const wr_tier *tier);
wr_status wr_tier_error(wr_tier *tier, wr_err *err);                        /* the first failure, or WR_OK */
wr_status wr_tier_table(wr_tier *tier, const char *name, uint16_t *out, wr_err *err); /* finds or makes; opens the database; <= 65,000 tables */
bool      wr_tier_find_table(wr_tier *tier, const char *name, uint16_t *out);         /* of a restored image */

typedef struct wr_tier_stats {
    int64_t  memory_bytes;      /* write buffers + cache + filters and indexes, as RocksDB counts them */
    int64_t  disk_bytes, pending_compaction_bytes;
    uint64_t reads, writes, read_hits; /* entries; a hit found something */
    uint64_t written_bytes;     /* to sorted files */
    uint64_t merged_bytes;      /* of those, by merges of such files */
} wr_tier_stats;
void wr_tier_stats_get(wr_tier *tier, wr_tier_stats *out); /* also brings the account up to date; cheap enough for a few times a second */

/* ---- writing: puts and deletions in order; reads through the batch see its content (RocksDB WriteBatchWithIndex) ---- */
typedef struct wr_tier_batch wr_tier_batch;
wr_tier_batch *wr_tier_batch_new(wr_tier *tier);
void      wr_tier_batch_free(wr_tier_batch *batch);
void      wr_tier_batch_put(wr_tier_batch *batch, wr_str key, wr_str value);
void      wr_tier_batch_delete(wr_tier_batch *batch, wr_str key);
void      wr_tier_batch_delete_range(wr_tier_batch *batch, wr_str from, wr_str to); /* to: exclusive; not seen by reads through this batch: write it first */
size_t    wr_tier_batch_bytes(const wr_tier_batch *batch);
uint32_t  wr_tier_batch_count(const wr_tier_batch *batch);
size_t    wr_tier_write_bytes(const wr_tier *tier);                                 /* a good size of a batch for wr_tier_write; with scratch it becomes a sorted file of its own */
wr_status wr_tier_write(wr_tier *tier, wr_tier_batch *batch, wr_err *err);          /* empties the batch */

/* ---- reading ---- */
/* n keys; values[i] is appended to `out` as a range, found[i] says whether. `through` may be NULL. */
typedef struct wr_tier_found { bool found; size_t at, len; } wr_tier_found;
wr_status wr_tier_get(wr_tier *tier, wr_tier_batch *through, const wr_str *keys, uint32_t n, wr_tier_found *found, wr_sbuf *out, wr_err *err);
typedef struct wr_tier_cost { uint64_t get_ns, reads, read_ns; } wr_tier_cost; /* so far: time in wr_tier_get; single blocks read from files, and the time of that */
void      wr_tier_cost_get(const wr_tier *tier, wr_tier_cost *out);                  /* NULL: nothing */
typedef struct wr_tier_scan wr_tier_scan;
wr_tier_scan *wr_tier_scan_new(wr_tier *tier, wr_str from, wr_str to);               /* [from, to), a consistent view of now */
bool      wr_tier_scan_next(wr_tier_scan *scan, wr_str *key, wr_str *value);         /* valid until the next call; false at the end or an error */
wr_status wr_tier_scan_free(wr_tier_scan *scan, wr_err *err);                        /* tells an error met on the way */

/* ---- images ---- */
void      wr_tier_begin(wr_tier *tier, uint64_t epoch);                   /* coordinator: barriers of epoch are about to go out. The image of the one before is made by then, or
                                                                              it was abandoned */
uint64_t  wr_tier_epoch(const wr_tier *tier);                             /* the last one begun */
bool      wr_tier_frozen(const wr_tier *tier, uint64_t cut_epoch);        /* cut_epoch's image is not made yet */
size_t    wr_tier_stage_bytes(const wr_tier *tier);                       /* a good size of a staged batch: large ones are written in a better order */
void      wr_tier_stage(wr_tier *tier, wr_tier_batch *batch /* (takes) */); /* worker, at its barrier: belongs to the image of wr_tier_epoch() */
/* some() brings the image nearer by a piece and says whether that was the last one; called by this thread's wr_tier_pay. */
void      wr_tier_owe(wr_tier *tier, void *self, bool (*some)(void *self));
void      wr_tier_owe_no_more(wr_tier *tier, const void *self);           /* paid in another way, or given up */
bool      wr_tier_pay(wr_tier *tier);                                     /* a piece of what this thread owes; false: nothing, or too much waits to be written */
bool      wr_tier_owed(const wr_tier *tier);                              /* by anybody: wr_tier_image has to wait */
typedef struct wr_tier_file {
    char     name[64];          /* as RocksDB names it */
    char     path[512];         /* where it lies now: a hard link that the caller owns, to be moved or removed */
    uint64_t bytes;
    bool     sorted;            /* immutable table file, may be shared between images; the others are small and of this image only */
} wr_tier_file;
/* I/O thread: pays what the calling thread itself owes (tests), writes what was staged, flushes, links the files into `dir` (made anew), thaws. Not open and nothing staged: *n = 0. */
wr_status wr_tier_image(wr_tier *tier, const char *dir, wr_tier_file **files, uint32_t *n, uint64_t *staged_bytes, wr_err *err); /* files: wr_free */
void      wr_tier_abandon(wr_tier *tier);                                 /* epoch given up: staged batches are dropped; the tier must not be used further */
/* Start: the working directory has been filled with the files of an image (names as given by wr_tier_image); opens it. */
wr_status wr_tier_restore(wr_tier *tier, wr_err *err);
const char *wr_tier_dir(const wr_tier *tier);
