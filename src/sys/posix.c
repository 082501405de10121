/* sys/posix.c: the real world: clocks, getrandom, files, threads of POSIX (see world.h).
 *
 * Idea       every call maps to one or two system calls; errno becomes a wr_err with the path and what can be done about it.
 * Thread     no state of its own. Threads it starts block all signals, so that they go to the main thread.            */
#include "sys/world.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

struct wr_file {
    int  fd;
    char path[];
};

WR_COLD static wr_status fail_errno(wr_err *err, int error, const char *what, const char *path) {
    const char *code = error == ENOENT                      ? "58P01"
                       : error == EACCES || error == EPERM  ? "42501"
                       : error == ENOSPC || error == EDQUOT ? "53100"
                       : error == EMFILE || error == ENFILE ? "53000"
                                                            : "58030";
    char text[128];
    const char *said = strerror_r(error, text, sizeof text); /* the GNU form returns the text */
    wr_status status = wr_fail(err, WR_IO, code, "cannot %s '%s': %s", what, path, said);
    if (!err) return status;
    err->retriable = error == EINTR || error == EAGAIN || error == EBUSY || error == ETIMEDOUT || error == EMFILE || error == ENFILE;
    if (error == EACCES) wr_err_hint(err, "check the permissions of '%s' and of the directories above it", path);
    if (error == ENOSPC || error == EDQUOT) wr_err_hint(err, "free space on the file system that holds '%s'", path);
    if (error == EMFILE) wr_err_hint(err, "raise the limit on open files (ulimit -n)");
    return status;
}

static int64_t clock_us(clockid_t id) {
    struct timespec t;
    clock_gettime(id, &t);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}
static int64_t posix_mono_us(wr_world *w) { (void)w; return clock_us(CLOCK_MONOTONIC); }

uint64_t wr_cost_ns(void) {
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}
static int64_t posix_wall_us(wr_world *w) { (void)w; return clock_us(CLOCK_REALTIME); }

static uint64_t posix_random(wr_world *w) {
    (void)w;
    uint64_t x;
    size_t   got = 0;
    while (got < sizeof x) {
        ssize_t n = getrandom((char *)&x + got, sizeof x - got, 0);
        if (n < 0 && errno == EINTR) continue;
        wr_assert(n > 0);
        got += (size_t)n;
    }
    return x;
}

static wr_status posix_file_open(wr_world *w, const char *path, int flags, wr_file **out, wr_err *err) {
    (void)w;
    *out = NULL;
    int how = (flags & WR_OPEN_READ) && (flags & WR_OPEN_WRITE) ? O_RDWR : flags & WR_OPEN_WRITE ? O_WRONLY : O_RDONLY;
    if (flags & WR_OPEN_CREATE) how |= O_CREAT;
    if (flags & WR_OPEN_TRUNCATE) how |= O_TRUNC;
    if (flags & WR_OPEN_APPEND) how |= O_APPEND;
    if (flags & WR_OPEN_EXCLUSIVE) how |= O_EXCL;
    int fd;
    do fd = open(path, how | O_CLOEXEC, 0644);
    while (fd < 0 && errno == EINTR);
    if (fd < 0) return fail_errno(err, errno, flags & WR_OPEN_CREATE ? "create" : "open", path);
    size_t len = strlen(path) + 1;
    *out = wr_malloc(sizeof(wr_file) + len);
    (*out)->fd = fd;
    memcpy((*out)->path, path, len);
    return WR_OK;
}

static void posix_file_close(wr_world *w, wr_file *f) {
    (void)w;
    if (!f) return;
    close(f->fd); /* what matters was synced before; close itself has nothing left to report */
    wr_free(f);
}

static wr_status posix_file_pread(wr_world *w, wr_file *f, void *buf, size_t len, uint64_t offset, size_t *got, wr_err *err) {
    (void)w;
    size_t sum = 0;
    *got = 0;
    while (sum < len) {
        ssize_t n = pread(f->fd, (char *)buf + sum, len - sum, (off_t)(offset + sum));
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return fail_errno(err, errno, "read", f->path);
        if (n == 0) break;
        sum += (size_t)n;
    }
    *got = sum;
    return WR_OK;
}

static wr_status posix_file_write(wr_world *w, wr_file *f, const void *buf, size_t len, wr_err *err) {
    (void)w;
    for (size_t sum = 0; sum < len;) {
        ssize_t n = write(f->fd, (const char *)buf + sum, len - sum);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return fail_errno(err, errno, "write to", f->path);
        sum += (size_t)n;
    }
    return WR_OK;
}

static wr_status posix_file_sync(wr_world *w, wr_file *f, wr_err *err) {
    (void)w;
    return fdatasync(f->fd) ? fail_errno(err, errno, "sync", f->path) : WR_OK;
}

static wr_status posix_file_lock(wr_world *w, wr_file *f, bool *taken, wr_err *err) {
    (void)w;
    *taken = !flock(f->fd, LOCK_EX | LOCK_NB);
    return *taken || errno == EWOULDBLOCK ? WR_OK : fail_errno(err, errno, "lock", f->path);
}

static wr_status posix_file_truncate(wr_world *w, wr_file *f, uint64_t size, wr_err *err) {
    (void)w;
    return ftruncate(f->fd, (off_t)size) ? fail_errno(err, errno, "truncate", f->path) : WR_OK;
}

static void info_from(const struct stat *st, wr_file_info *out) {
    out->size_bytes = (uint64_t)st->st_size;
    out->inode = (uint64_t)st->st_ino;
    out->device = (uint64_t)st->st_dev;
    out->mtime_us = (int64_t)st->st_mtim.tv_sec * 1000000 + st->st_mtim.tv_nsec / 1000;
    out->is_dir = S_ISDIR(st->st_mode);
}

static wr_status posix_file_info(wr_world *w, wr_file *f, wr_file_info *out, wr_err *err) {
    (void)w;
    struct stat st;
    memset(out, 0, sizeof *out);
    if (fstat(f->fd, &st)) return fail_errno(err, errno, "look at", f->path);
    info_from(&st, out);
    return WR_OK;
}

static wr_status posix_stat(wr_world *w, const char *path, wr_file_info *out, bool *exists, wr_err *err) {
    (void)w;
    struct stat st;
    memset(out, 0, sizeof *out);
    *exists = false;
    if (stat(path, &st)) return errno == ENOENT || errno == ENOTDIR ? WR_OK : fail_errno(err, errno, "look at", path);
    *exists = true;
    info_from(&st, out);
    return WR_OK;
}

static int by_name(const void *a, const void *b) { return strcmp(((const wr_file_info *)a)->name, ((const wr_file_info *)b)->name); }

static wr_status posix_list(wr_world *w, const char *dir, wr_file_info **out, size_t *n, wr_err *err) {
    (void)w;
    *out = NULL;
    *n = 0;
    DIR *d = opendir(dir);
    if (!d) return fail_errno(err, errno, "list", dir);
    WR_ARR(wr_file_info) found = {0};
    wr_status status = WR_OK;
    for (;;) {
        errno = 0;
        struct dirent *e = readdir(d);
        if (!e) {
            if (errno) status = fail_errno(err, errno, "list", dir);
            break;
        }
        if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, "..")) continue;
        struct stat st;
        if (fstatat(dirfd(d), e->d_name, &st, 0)) continue; /* removed meanwhile, or a dangling link */
        wr_file_info info = {0};
        snprintf(info.name, sizeof info.name, "%s", e->d_name);
        info_from(&st, &info);
        wr_arr_push(&found, info);
    }
    closedir(d);
    if (status != WR_OK) {
        wr_arr_free(&found);
        return status;
    }
    if (found.n) qsort(found.at, found.n, sizeof *found.at, by_name);
    *out = found.at;
    *n = found.n;
    return WR_OK;
}

static wr_status posix_rename(wr_world *w, const char *from, const char *to, wr_err *err) {
    (void)w;
    return rename(from, to) ? fail_errno(err, errno, "rename to", to) : WR_OK;
}

static wr_status posix_exchange(wr_world *w, const char *a, const char *b, wr_err *err) {
    (void)w;
    if (!renameat2(AT_FDCWD, a, AT_FDCWD, b, RENAME_EXCHANGE)) return WR_OK;
    if (errno == EINVAL || errno == ENOSYS) return wr_fail(err, WR_UNSUPPORTED, "0A000", "this file system does not exchange names");
    return fail_errno(err, errno, "exchange with", b);
}

static wr_status copy_bytes(int in, int out, const char *from, const char *to, wr_err *err) {
    char buf[64 * 1024];
    for (;;) {
        ssize_t got = read(in, buf, sizeof buf);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return fail_errno(err, errno, "read", from);
        if (got == 0) break;
        for (ssize_t sum = 0; sum < got;) {
            ssize_t n = write(out, buf + sum, (size_t)(got - sum));
            if (n < 0 && errno == EINTR) continue;
            if (n < 0) return fail_errno(err, errno, "write to", to);
            sum += n;
        }
    }
    return fdatasync(out) ? fail_errno(err, errno, "sync", to) : WR_OK;
}

static wr_status posix_link(wr_world *w, const char *from, const char *to, wr_err *err) {
    (void)w;
    if (!link(from, to)) return WR_OK;
    if (errno != EPERM && errno != EOPNOTSUPP && errno != EXDEV && errno != EMLINK && errno != ENOSYS) return fail_errno(err, errno, "link to", to);
    int in = open(from, O_RDONLY | O_CLOEXEC);
    if (in < 0) return fail_errno(err, errno, "open", from);
    int out = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (out < 0) {
        wr_status status = fail_errno(err, errno, "create", to);
        close(in);
        return status;
    }
    wr_status status = copy_bytes(in, out, from, to, err);
    close(in);
    close(out);
    if (status != WR_OK) unlink(to);
    return status;
}

static wr_status posix_remove(wr_world *w, const char *path, wr_err *err) {
    (void)w;
    return remove(path) ? fail_errno(err, errno, "remove", path) : WR_OK;
}

static wr_status posix_sync_dir(wr_world *w, const char *path, wr_err *err) {
    (void)w;
    int fd = open(*path ? path : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) return fail_errno(err, errno, "open the directory", path);
    int failed = fsync(fd), error = errno;
    close(fd);
    /* some file systems cannot sync a directory and say EINVAL: then a rename is as durable as it gets */
    return failed && error != EINVAL ? fail_errno(err, error, "sync the directory", path) : WR_OK;
}

/* mkdir, and the name of a new directory is synced: else a power failure could take it away with everything in it. */
static wr_status make_dir(wr_world *w, const char *path, wr_err *err) {
    if (mkdir(path, 0755)) {
        int         error = errno;
        struct stat st;
        if (error == EEXIST && !stat(path, &st) && S_ISDIR(st.st_mode)) return WR_OK;
        return fail_errno(err, error == EEXIST ? ENOTDIR : error, "make the directory", path);
    }
    char  *parent = wr_strdup(path);
    size_t n = strlen(parent);
    while (n > 1 && parent[n - 1] == '/') n--;
    while (n && parent[n - 1] != '/') n--;
    parent[n] = 0;
    wr_status status = posix_sync_dir(w, parent, err);
    wr_free(parent);
    return status;
}

static wr_status posix_make_dirs(wr_world *w, const char *path, wr_err *err) {
    char     *part = wr_strdup(path);
    wr_status status = WR_OK;
    for (char *p = part; *p && status == WR_OK; p++) {
        if (*p != '/' || p == part) continue;
        *p = 0;
        struct stat st; /* a parent that is there need not be readable */
        if (stat(part, &st)) status = make_dir(w, part, err);
        *p = '/';
    }
    wr_free(part);
    return status == WR_OK ? make_dir(w, path, err) : status;
}

typedef struct thread {
    pthread_t id;
    void    (*run)(void *);
    void     *arg;
    char      name[16]; /* the kernel's limit */
} thread;

static void *thread_main(void *arg) {
    thread *t = arg;
    pthread_setname_np(pthread_self(), t->name);
    t->run(t->arg);
    return NULL;
}

static wr_status posix_spawn_thread(wr_world *w, const char *name, void (*run)(void *), void *arg, void **out, wr_err *err) {
    (void)w;
    thread *t = wr_calloc(1, sizeof *t);
    t->run = run;
    t->arg = arg;
    snprintf(t->name, sizeof t->name, "%s", name);
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int error = pthread_create(&t->id, NULL, thread_main, t);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (error) {
        wr_free(t);
        *out = NULL;
        return fail_errno(err, error, "start the thread", name);
    }
    *out = t;
    return WR_OK;
}

static void posix_join(wr_world *w, void *handle) {
    (void)w;
    thread *t = handle;
    if (!t) return;
    pthread_join(t->id, NULL);
    wr_free(t);
}

static void posix_sleep_us(wr_world *w, int64_t us) {
    (void)w;
    if (us <= 0) return;
    struct timespec left = {.tv_sec = us / 1000000, .tv_nsec = us % 1000000 * 1000};
    while (nanosleep(&left, &left) && errno == EINTR) {}
}

wr_world *wr_world_posix(void) {
    static const wr_world_vt vt = {
        .mono_us = posix_mono_us,
        .wall_us = posix_wall_us,
        .random = posix_random,
        .file_open = posix_file_open,
        .file_close = posix_file_close,
        .file_pread = posix_file_pread,
        .file_write = posix_file_write,
        .file_sync = posix_file_sync,
        .file_truncate = posix_file_truncate,
        .file_info = posix_file_info,
        .stat = posix_stat,
        .list = posix_list,
        .rename = posix_rename,
        .remove = posix_remove,
        .make_dirs = posix_make_dirs,
        .sync_dir = posix_sync_dir,
        .spawn = posix_spawn_thread,
        .join = posix_join,
        .sleep_us = posix_sleep_us,
        .link = posix_link,
        .file_lock = posix_file_lock,
        .exchange = posix_exchange,
    };
    static wr_world world = {.vt = &vt};
    return &world;
}

/* ---- what the machine has ---- */

int wr_cpu_count(void) {
    cpu_set_t set;
    if (!sched_getaffinity(0, sizeof set, &set)) return WR_MAX(CPU_COUNT(&set), 1);
    long n = sysconf(_SC_NPROCESSORS_ONLN);
    return n > 0 ? (int)n : 1;
}

/* The field-th blank-separated number of the first line of a file. */
static bool read_number(const char *path, int field, uint64_t *out) {
    FILE *f = fopen(path, "re");
    if (!f) return false;
    char line[256], *at = line, *stop;
    bool ok = fgets(line, sizeof line, f) != NULL;
    fclose(f);
    for (int i = 0; ok && i <= field; i++, at = stop) {
        *out = strtoull(at, &stop, 10);
        ok = stop != at;
    }
    return ok;
}

/* The least limit of a control group and of those above it; "max" does not scan. */
static void least_of_groups(const char *root, const char *group, const char *file, uint64_t *least) {
    char path[700], name[500];
    snprintf(name, sizeof name, "%s", group);
    for (char *slash; *name; *slash = 0) {
        uint64_t bytes;
        snprintf(path, sizeof path, "%s%s/%s", root, name[1] ? name : "", file);
        if (read_number(path, 0, &bytes) && bytes < *least) *least = bytes;
        slash = strrchr(name, '/');
        if (!slash || (slash == name && !name[1])) return;
        if (slash == name) slash++; /* the root is asked, too */
    }
}

uint64_t wr_ram_bytes(void) {
    uint64_t ram = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
    char     line[600];
    FILE    *f = fopen("/proc/self/cgroup", "re");
    while (f && fgets(line, sizeof line, f)) { /* 0::/path, and of the former kind 4:memory:/path */
        char *kind = strchr(line, ':'), *group = kind ? strchr(kind + 1, ':') : NULL;
        if (!group) continue;
        *group++ = 0;
        group[strcspn(group, "\n")] = 0;
        if (!kind[1]) least_of_groups("/sys/fs/cgroup", group, "memory.max", &ram);
        else if (!strcmp(kind + 1, "memory")) least_of_groups("/sys/fs/cgroup/memory", group, "memory.limit_in_bytes", &ram);
    }
    if (f) fclose(f);
    return ram;
}

int64_t wr_rss_bytes(void) {
    uint64_t pages;
    return read_number("/proc/self/statm", 1, &pages) ? (int64_t)(pages * (uint64_t)sysconf(_SC_PAGESIZE)) : 0;
}

int64_t wr_peak_rss_bytes(void) { /* not ru_maxrss: that one starts with what the parent had when it forked */
    char    line[256];
    int64_t kib = 0;
    FILE   *f = fopen("/proc/self/status", "re");
    while (f && fgets(line, sizeof line, f))
        if (strncmp(line, "VmHWM:", 6) == 0) kib = strtoll(line + 6, NULL, 10);
    if (f) fclose(f);
    return kib * 1024;
}

void    wr_thread_yields(void) { (void)setpriority(PRIO_PROCESS, 0, 10); } /* Linux: of the thread */
int64_t wr_cpu_time_us(void) { return clock_us(CLOCK_PROCESS_CPUTIME_ID); }
