/* sys/library.c: shared objects that the user names, and client libraries that only some jobs need. See world.h.
 *
 * Idea       a library stays loaded until the process ends: plans and running jobs hold pointers into it. dlopen counts, so the same file is loaded once.
 * Thread     any.                                                                                                      */
#include "sys/world.h"
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

wr_status wr_library_symbol(const char *path, const char *symbol, void **out, wr_err *err) {
    char name[4096]; /* dlopen looks for a name without '/' elsewhere */
    int  len = snprintf(name, sizeof name, "%s%s", strchr(path, '/') ? "" : "./", path);
    if (len < 0 || (size_t)len >= sizeof name) return wr_fail(err, WR_USER, "WR341", "the path of the library is too long");
    if (access(name, R_OK) != 0) return wr_fail(err, WR_USER, "WR341", "library '%s' cannot be read: %s", path, strerror(errno));
    void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        const char *why = dlerror();
        return wr_fail(err, WR_USER, "WR341", "library '%s' cannot be loaded: %s", path, why ? why : "no reason given");
    }
    *out = dlsym(library, symbol);
    if (!*out) return wr_fail(err, WR_USER, "WR342", "library '%s' has no symbol '%s'", path, symbol);
    return WR_OK;
}

const char *wr_library_import(const char *library, const wr_import *imports, size_t n) {
    void *l = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    if (!l) return library;
    for (size_t i = 0; i < n; i++)
        if (!(*(void **)imports[i].at = dlsym(l, imports[i].name))) return imports[i].name;
    return NULL;
}

const char *wr_library_own(const char *file, char path[4096]) {
    static const char *const from[] = {"", "weir/", "../" WR_LIBDIR "/weir/", "../lib/weir/"};
    char    dirs[2][2048] = {"", ""};
    Dl_info info;
    ssize_t n = readlink("/proc/self/exe", dirs[0], sizeof dirs[0] - 1);
    if (n > 0) dirs[0][n] = 0;
    if (dladdr((void *)(uintptr_t)wr_library_own, &info) && info.dli_fname && strlen(info.dli_fname) < sizeof dirs[1]) memcpy(dirs[1], info.dli_fname, strlen(info.dli_fname) + 1);
    for (int d = 0; d < 2; d++) {
        char *slash = strrchr(dirs[d], '/');
        if (!slash) continue;
        *slash = 0;
        for (size_t i = 0; i < WR_COUNT_OF(from); i++) {
            int len = snprintf(path, 4096, "%s/%s%s", dirs[d], from[i], file);
            if (len > 0 && len < 4096 && access(path, R_OK) == 0) return path;
        }
    }
    return file;
}
