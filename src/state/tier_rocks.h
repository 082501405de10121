/* state/tier_rocks.h: RocksDB behind a C face (private to the room), and the files that it gets from the world.
 *
 * Idea       the database is opened with a file system of ours whose every call is one of the wr_rocks_file_* functions below, which call the
 *            world: what fails or tears there, fails and tears here. The log file, locks, memory maps and direct I/O are left out.
 * Errors     every call of the database that fails fills err; failures of its background threads are kept and told by the next write,
 *            by an image, and by wr_rocks_background_error.
 * Thread     any thread; a scan belongs to one at a time.                                                                               */
#pragma once
#ifdef __cplusplus
extern "C" {
#endif
#include "base/err.h"
struct wr_world;
struct wr_file;

/* ---- the database (tier_rocks.cpp) ---- */
typedef struct wr_rocks wr_rocks;
typedef struct wr_rocks_bytes { const char *ptr; size_t len; } wr_rocks_bytes;
typedef struct wr_rocks_opts {
    struct wr_world *world;
    const char      *dir;
    int64_t          memory_bytes, filter_bytes;
    bool             scratch;       /* files are not synced */
    bool             create;        /* else the directory holds the files of an image */
} wr_rocks_opts;
wr_status wr_rocks_open(const wr_rocks_opts *opts, wr_rocks **out, wr_err *err);
void      wr_rocks_close(wr_rocks *db); /* what was not flushed is lost */

/* One operation in a run of them: this header, then key, then value (for a range: its exclusive end). */
typedef enum wr_rocks_kind { WR_ROCKS_PUT, WR_ROCKS_DELETE, WR_ROCKS_DELETE_RANGE } wr_rocks_kind;
typedef struct wr_rocks_op { uint32_t kind, key_len, value_len; } wr_rocks_op;
/* ops[i] = where the i-th operation starts; sorted = keys ascend. Written in pieces, so that no write is larger than a write buffer. */
wr_status wr_rocks_write(wr_rocks *db, const char *const *ops, size_t n, bool sorted, wr_err *err);
/* The same for many operations, sorted, without ranges, of equal keys the last one last: they become a sorted file beside the memtable. path: where it is made. */
wr_status wr_rocks_ingest(wr_rocks *db, const char *path, const char *const *ops, size_t n, wr_err *err);
enum { WR_ROCKS_GETS = 64 };
/* n <= WR_ROCKS_GETS keys; take() is called for those that exist. */
wr_status wr_rocks_get(wr_rocks *db, const wr_rocks_bytes *keys, uint32_t n, void (*take)(void *self, uint32_t i, const char *value, size_t len), void *self,
                       wr_err *err);
typedef struct wr_rocks_scan wr_rocks_scan;
wr_rocks_scan *wr_rocks_scan_new(wr_rocks *db, wr_rocks_bytes from, wr_rocks_bytes to);
bool           wr_rocks_scan_next(wr_rocks_scan *scan, wr_rocks_bytes *key, wr_rocks_bytes *value);
wr_status      wr_rocks_scan_free(wr_rocks_scan *scan, wr_err *err);
wr_status      wr_rocks_image(wr_rocks *db, const char *dir, wr_err *err); /* flushes; dir is made */
wr_status      wr_rocks_background_error(wr_rocks *db, wr_err *err);

typedef struct wr_rocks_stats {
    int64_t  memtable_bytes, reader_bytes, cache_bytes, disk_bytes, pending_bytes;
    uint64_t written_bytes, merged_bytes;
} wr_rocks_stats;
void wr_rocks_read_cost(wr_rocks *db, uint64_t *reads, uint64_t *ns); /* of single blocks from files, so far */
void wr_rocks_stats_get(wr_rocks *db, wr_rocks_stats *out); /* also gives the cache what filters and indexes leave */

/* ---- its files (tier_files.c) ---- */
uint64_t  wr_rocks_clock_ns(void);                                          /* wr_cost_ns */
typedef struct wr_rocks_file_info { uint64_t bytes; int64_t mtime_us; bool exists, is_dir; } wr_rocks_file_info;
wr_status wr_rocks_file_open(struct wr_world *w, const char *path, bool write, struct wr_file **out, wr_err *err); /* write: made anew */
void      wr_rocks_file_close(struct wr_world *w, struct wr_file *f);
wr_status wr_rocks_file_read(struct wr_world *w, struct wr_file *f, void *buf, size_t len, uint64_t offset, size_t *got, wr_err *err);
wr_status wr_rocks_file_write(struct wr_world *w, struct wr_file *f, const void *buf, size_t len, wr_err *err);
wr_status wr_rocks_file_sync(struct wr_world *w, struct wr_file *f, wr_err *err);
wr_status wr_rocks_file_stat(struct wr_world *w, const char *path, wr_rocks_file_info *out, wr_err *err);
wr_status wr_rocks_file_list(struct wr_world *w, const char *dir, void (*each)(void *self, const char *name), void *self, wr_err *err);
wr_status wr_rocks_file_rename(struct wr_world *w, const char *from, const char *to, wr_err *err);
wr_status wr_rocks_file_link(struct wr_world *w, const char *from, const char *to, wr_err *err);
wr_status wr_rocks_file_remove(struct wr_world *w, const char *path, wr_err *err);
wr_status wr_rocks_make_dirs(struct wr_world *w, const char *path, wr_err *err);
wr_status wr_rocks_sync_dir(struct wr_world *w, const char *path, wr_err *err);
#ifdef __cplusplus
}
#endif
