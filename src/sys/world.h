/* sys/world.h: clock, randomness, files and threads come through this one interface, passed as a parameter, never a global. (contract)
 *
 * Idea       the real world is wr_world_posix(); a simulated one (tests/sim) has virtual time and files that tear and fail, so that a
 *            whole job with N workers runs in one thread from a seed.
 * Errors     WR_IO with errno's text and the path in `message`; `retriable` for EINTR/EAGAIN kinds.
 * Thread     every call may be made from any thread; a wr_file belongs to one thread at a time (pread excepted).           */
#pragma once
#include "base/err.h"
#include "base/str.h"

typedef struct wr_world wr_world;
typedef struct wr_file  wr_file;

typedef struct wr_file_info {
    char     name[256];     /* last path component, for list; else unset */
    uint64_t size_bytes, inode, device;
    int64_t  mtime_us;
    bool     is_dir;
} wr_file_info;

enum { WR_OPEN_READ = 1, WR_OPEN_WRITE = 2, WR_OPEN_CREATE = 4, WR_OPEN_TRUNCATE = 8, WR_OPEN_APPEND = 16, WR_OPEN_EXCLUSIVE = 32 };

typedef struct wr_world_vt {
    int64_t   (*mono_us)(wr_world *);
    int64_t   (*wall_us)(wr_world *);
    uint64_t  (*random)(wr_world *);
    wr_status (*file_open)(wr_world *, const char *path, int flags, wr_file **out, wr_err *);
    void      (*file_close)(wr_world *, wr_file *);                                  /* NULL is legal */
    wr_status (*file_pread)(wr_world *, wr_file *, void *buf, size_t len, uint64_t offset, size_t *got, wr_err *); /* got < len only at end of file */
    wr_status (*file_write)(wr_world *, wr_file *, const void *buf, size_t len, wr_err *); /* all or error; at the file position (append) */
    wr_status (*file_sync)(wr_world *, wr_file *, wr_err *);
    wr_status (*file_truncate)(wr_world *, wr_file *, uint64_t size, wr_err *);
    wr_status (*file_info)(wr_world *, wr_file *, wr_file_info *out, wr_err *);
    wr_status (*stat)(wr_world *, const char *path, wr_file_info *out, bool *exists, wr_err *); /* a missing path is WR_OK with exists=false */
    wr_status (*list)(wr_world *, const char *dir, wr_file_info **out, size_t *n, wr_err *);    /* sorted by name; free with wr_free; no . and .. */
    wr_status (*rename)(wr_world *, const char *from, const char *to, wr_err *);
    wr_status (*remove)(wr_world *, const char *path, wr_err *);                      /* file or empty directory */
    wr_status (*make_dirs)(wr_world *, const char *path, wr_err *);                   /* what it made is there after a power failure too */
    wr_status (*sync_dir)(wr_world *, const char *path, wr_err *);
    wr_status (*spawn)(wr_world *, const char *name, void (*run)(void *), void *arg, void **thread, wr_err *);
    void      (*join)(wr_world *, void *thread);
    void      (*sleep_us)(wr_world *, int64_t us);
    wr_status (*link)(wr_world *, const char *from, const char *to, wr_err *);        /* a second name of a file, or where there can be none a synced copy; `to` must not exist */
    /* Takes the file for this process alone until it is closed; *taken = false: another has it. NULL in worlds without other processes. */
    wr_status (*file_lock)(wr_world *, wr_file *, bool *taken, wr_err *);
    /* Two names change places in one step. NULL, or WR_UNSUPPORTED: not on this file system. */
    wr_status (*exchange)(wr_world *, const char *a, const char *b, wr_err *);
} wr_world_vt;
struct wr_world { const wr_world_vt *vt; };
wr_world *wr_world_posix(void);

WR_INLINE int64_t wr_mono_us(wr_world *w) { return w->vt->mono_us(w); }
WR_INLINE int64_t wr_wall_us(wr_world *w) { return w->vt->wall_us(w); }

/* A latch that threads wait on and others ring; spurious wake-ups are allowed. Real worlds block, simulated ones return at once. */
typedef struct wr_bell wr_bell;
wr_bell *wr_bell_new(void);
void     wr_bell_free(wr_bell *bell);
void     wr_bell_ring(wr_bell *bell);
void     wr_bell_wait(wr_bell *bell, int64_t timeout_us); /* returns at once if rung since the last wait */
typedef struct wr_mutex wr_mutex;
wr_mutex *wr_mutex_new(void);
void      wr_mutex_free(wr_mutex *m);
void      wr_mutex_lock(wr_mutex *m);
void      wr_mutex_unlock(wr_mutex *m);

/* Helpers over the vt. */
wr_status wr_file_read_all(wr_world *w, const char *path, size_t max_bytes, wr_sbuf *out, wr_err *err);
/* Writes path.tmp, syncs, renames, syncs the directory: readers see the old or the new content, never a mix. */
wr_status wr_file_replace(wr_world *w, const char *path, wr_str content, wr_err *err);
wr_status wr_file_copy(wr_world *w, const char *from, const char *to, wr_err *err); /* synced; `to` is replaced */
wr_status wr_dir_remove(wr_world *w, const char *path, wr_err *err);                /* with everything in it; missing is fine */
/* The address of a symbol of a shared object, which stays loaded; WR_USER: no such file, not a library, no such symbol. A path without '/' is in the
 * current directory. */
wr_status wr_library_symbol(const char *path, const char *symbol, void **out, wr_err *err);
/* A client library that only some jobs need: fills a table with the addresses of its functions. NULL, or what is not there: the library or a function. It
 * stays loaded: such libraries keep threads and locks of their own. */
typedef struct wr_import { const char *name; void *at; } wr_import; /* at: of a pointer to function */
const char *wr_library_import(const char *library, const wr_import *imports, size_t n);
/* The path of a shared object that is part of weir: beside the binary or library that this code is in, or in weir/ of the directory of libraries that belongs
 * to it. `file` itself where there is none. */
const char *wr_library_own(const char *file, char path[4096]);
/* To standard output or standard error, as much as there is room for until wait_us is over. */
wr_status wr_stream_write(int fd, const void *buf, size_t len, int64_t wait_us, size_t *written, wr_err *err);
int       wr_cpu_count(void);
void      wr_thread_yields(void);   /* from now on this thread and those that it makes come after others */
uint64_t  wr_ram_bytes(void);       /* of the machine, or of the control group that this process is in */
int64_t   wr_rss_bytes(void);       /* of this process, now */
int64_t   wr_peak_rss_bytes(void);
int64_t   wr_cpu_time_us(void);     /* of this process */
uint64_t  wr_cost_ns(void);         /* a clock for measuring what something costs, the same in every world: nothing that a job does may depend on it */
/* Rights, room and limits (machine.c). */
const char *wr_path_refused(const char *path, bool write); /* NULL: this process may; else the system's words, until the next call of this thread */
typedef struct wr_disk { uint64_t free_bytes, total_bytes, free_files; } wr_disk;
bool      wr_disk_room(const char *path, wr_disk *out); /* of the file system that holds it */
uint64_t  wr_open_files_max(void);  /* of this process; UINT64_MAX: no limit, 0: not known */
