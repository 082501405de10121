/* sys/machine.c: what this machine and this process may do: rights to paths, room on disks, limits. Asked before a job starts (`weir doctor`), never by one
 * that runs.
 *
 * Thread     any; no state.                                                                                                   */
#include "sys/world.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <unistd.h>

const char *wr_path_refused(const char *path, bool write) {
    static _Thread_local char text[128];
    if (!faccessat(AT_FDCWD, path, write ? W_OK : R_OK, AT_EACCESS)) return NULL;
    return strerror_r(errno, text, sizeof text);
}

bool wr_disk_room(const char *path, wr_disk *out) {
    struct statvfs fs;
    if (statvfs(path, &fs)) return false;
    *out = (wr_disk){.free_bytes = (uint64_t)fs.f_bavail * fs.f_frsize, .total_bytes = (uint64_t)fs.f_blocks * fs.f_frsize, .free_files = fs.f_files ? (uint64_t)fs.f_favail : UINT64_MAX};
    return true;
}

uint64_t wr_open_files_max(void) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit)) return 0;
    return limit.rlim_cur == RLIM_INFINITY ? UINT64_MAX : (uint64_t)limit.rlim_cur;
}
