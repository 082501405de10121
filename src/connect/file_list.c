/* connect/file_list.c: from the option 'path' to the files it means now.
 *
 * Idea       a path is walked component by component; components with * ? [ are matched against the directory's names, so globs work
 *            anywhere in the path. A directory at the end stands for the files in it.
 * Rules      names that begin with . or _ are hidden from globs and directories (unless the pattern says so): they are work in progress.
 * Bounds     recursion: one level a path component.                                                                    */
#define _GNU_SOURCE 1 /* memrchr */
#include "connect/parts.h"

void file_list_free(file_list *list) {
    for (uint32_t i = 0; i < list->list.n; i++) wr_free(list->list.at[i].path);
    wr_arr_free(&list->list);
}

wr_str path_name(wr_str path) {
    const char *slash = path.len ? memrchr(path.ptr, '/', path.len) : NULL;
    return slash ? (wr_str){slash + 1, path.len - (size_t)(slash + 1 - path.ptr)} : path;
}

wr_str path_dir(wr_str path) {
    const char *slash = path.len ? memrchr(path.ptr, '/', path.len) : NULL;
    if (!slash) return WR_STR(".");
    return slash == path.ptr ? WR_STR("/") : (wr_str){path.ptr, (size_t)(slash - path.ptr)};
}

static bool is_pattern(wr_str s) {
    for (size_t i = 0; i < s.len; i++)
        if (strchr("*?[", s.ptr[i])) return true;
    return false;
}

/* One character class: *p points after '['; moves past ']'. */
static bool class_holds(const char **p, const char *end, char c) {
    bool negate = *p < end && (**p == '!' || **p == '^'), found = false, any = false;
    if (negate) ++*p;
    for (; *p < end && (**p != ']' || !any); ++*p) {
        any = true;
        if (end - *p > 2 && (*p)[1] == '-' && (*p)[2] != ']') {
            found |= (*p)[0] <= c && c <= (*p)[2];
            *p += 2;
        } else {
            found |= **p == c;
        }
    }
    if (*p < end) ++*p;
    return found != negate;
}

/* Shell pattern against a name, without recursion: on a mismatch the last star takes one more character. */
static bool matches(wr_str pattern, wr_str name) {
    const char *p = pattern.ptr, *pe = p + pattern.len, *n = name.ptr, *ne = n + name.len, *star = NULL, *star_n = NULL;
    while (n < ne) {
        if (p < pe && *p == '*') {
            star = ++p;
            star_n = n;
            continue;
        }
        bool ok = p < pe;
        if (ok && *p == '[') {
            p++;
            ok = class_holds(&p, pe, *n);
        } else if (ok) {
            ok = *p == '?' || *p == *n;
            p++;
        }
        if (ok) n++;
        else if (star) p = star, n = ++star_n;
        else return false;
    }
    while (p < pe && *p == '*') p++;
    return p == pe;
}

static bool hidden(const char *name, wr_str pattern) {
    return (*name == '.' || *name == '_') && !(pattern.len && *pattern.ptr == *name);
}

static void add_file(file_list *out, const char *path, const wr_file_info *info) {
    out->n_named++;
    for (uint32_t i = 0; i < out->list.n; i++) /* named twice, or by two names */
        if (out->list.at[i].info.inode == info->inode && out->list.at[i].info.device == info->device) return;
    wr_arr_push(&out->list, (file_entry){wr_strdup(path), *info});
}

static void join(wr_sbuf *out, wr_str dir, const char *name) {
    wr_sbuf_clear(out);
    wr_sbuf_add_str(out, dir);
    if (dir.len && dir.ptr[dir.len - 1] != '/') wr_sbuf_addc(out, '/');
    wr_sbuf_addz(out, name);
}

static wr_status add_directory(wr_world *w, const char *dir, file_list *out, wr_err *err) {
    wr_file_info *names;
    size_t        n;
    wr_sbuf       path = {0};
    WR_TRY(w->vt->list(w, dir, &names, &n, err));
    for (size_t i = 0; i < n; i++) {
        if (names[i].is_dir || hidden(names[i].name, WR_STR(""))) continue;
        join(&path, wr_str_of(dir), names[i].name);
        add_file(out, path.at, &names[i]);
    }
    wr_free(names);
    wr_sbuf_free(&path);
    return WR_OK;
}

/* `done` is the part of the path that is walked, `rest` what is left ("" at the end). */
static wr_status walk(wr_world *w, wr_str done, wr_str rest, file_list *out, wr_err *err) {
    wr_sbuf path = {0};
    if (!rest.len) {
        wr_file_info info;
        bool         exists;
        wr_sbuf_add_str(&path, done);
        wr_status status = w->vt->stat(w, path.at, &info, &exists, err);
        if (status == WR_OK && exists && info.is_dir) status = add_directory(w, path.at, out, err);
        else if (status == WR_OK && exists) add_file(out, path.at, &info);
        wr_sbuf_free(&path);
        return status;
    }
    const char *slash = memchr(rest.ptr, '/', rest.len);
    wr_str      part = {rest.ptr, slash ? (size_t)(slash - rest.ptr) : rest.len}, next = {"", 0};
    while (slash && slash < rest.ptr + rest.len && *slash == '/') slash++;
    if (slash) next = (wr_str){slash, rest.len - (size_t)(slash - rest.ptr)};
    if (!is_pattern(part)) {
        wr_sbuf_add_str(&path, done);
        if (done.len && done.ptr[done.len - 1] != '/') wr_sbuf_addc(&path, '/');
        wr_sbuf_add_str(&path, part);
        wr_status status = walk(w, wr_sbuf_str(&path), next, out, err);
        wr_sbuf_free(&path);
        return status;
    }
    wr_file_info *names;
    size_t        n;
    bool          exists;
    wr_file_info  info;
    wr_sbuf_add_str(&path, done.len ? done : WR_STR("."));
    wr_status status = w->vt->stat(w, path.at, &info, &exists, err);
    if (status != WR_OK || !exists || !info.is_dir) {
        wr_sbuf_free(&path);
        return status;
    }
    status = w->vt->list(w, path.at, &names, &n, err);
    for (size_t i = 0; status == WR_OK && i < n; i++) {
        if (hidden(names[i].name, part) || !matches(part, wr_str_of(names[i].name)) || (next.len && !names[i].is_dir)) continue;
        if (!next.len && names[i].is_dir) continue;
        join(&path, done, names[i].name);
        status = walk(w, wr_sbuf_str(&path), next, out, err);
    }
    if (status == WR_OK || n) wr_free(names);
    wr_sbuf_free(&path);
    return status;
}

WR_COLD static wr_status fail_missing(wr_world *w, wr_str path, wr_err *err) {
    wr_sbuf       dir = {0};
    wr_file_info *names = NULL, info;
    size_t        n = 0;
    bool          exists = false;
    wr_status     status;
    while (path.len > 1 && path.ptr[path.len - 1] == '/') path.len--;
    wr_sbuf_add_str(&dir, path);
    if (w->vt->stat(w, dir.at, &info, &exists, NULL) == WR_OK && exists) {
        status = wr_fail(err, WR_IO, "58P01", "the directory '%.*s' has no files to read", WR_FMT(path));
        wr_err_hint(err, "names that begin with '.' or '_' are hidden; 'source.mode' = 'tail' waits for files to come");
        wr_sbuf_free(&dir);
        return status;
    }
    status = is_pattern(path) ? wr_fail(err, WR_IO, "58P01", "no file matches '%.*s'", WR_FMT(path))
                              : wr_fail(err, WR_IO, "58P01", "there is no file or directory '%.*s'", WR_FMT(path));
    wr_sbuf_clear(&dir);
    wr_sbuf_add_str(&dir, path_dir(path));
    if (w->vt->stat(w, dir.at, &info, &exists, NULL) != WR_OK || !exists) {
        wr_err_hint(err, "the directory '%s' does not exist either; relative paths start at the working directory", dir.at);
    } else if (w->vt->list(w, dir.at, &names, &n, NULL) == WR_OK && n) {
        wr_str *all = wr_malloc(n * sizeof *all);
        for (size_t i = 0; i < n; i++) all[i] = wr_str_of(names[i].name);
        int near = is_pattern(path) ? -1 : wr_nearest(path_name(path), all, n);
        if (near >= 0) wr_err_hint(err, "did you mean '%.*s'? (in '%s')", WR_FMT(all[near]), dir.at);
        else wr_err_hint(err, "'%s' has %zu files, the first is '%s'", dir.at, n, names[0].name);
        wr_free(all);
    }
    if (n) wr_free(names);
    wr_sbuf_free(&dir);
    return status;
}

wr_status file_list_find(wr_world *w, wr_str paths, bool must, file_list *out, wr_err *err) {
    for (wr_str path; wr_str_next(&paths, ',', &path);) {
        if (wr_str_starts(path, WR_STR("file://"))) path.ptr += 7, path.len -= 7;
        if (!path.len) continue;
        uint32_t before = out->n_named;
        wr_str   root = *path.ptr == '/' ? WR_STR("/") : WR_STR(""), rest = path;
        while (rest.len && *rest.ptr == '/') rest.ptr++, rest.len--;
        WR_TRY(walk(w, root, rest, out, err));
        if (must && out->n_named == before) return fail_missing(w, path, err);
    }
    if (must && !out->list.n) return wr_fail(err, WR_IO, "58P01", "the option 'path' is empty");
    return WR_OK;
}
