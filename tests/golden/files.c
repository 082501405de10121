/* tests/golden/files.c: a case's files in a scratch directory. */
#include "golden.h"
#include <dirent.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

void golden_remove_tree(const char *dir) {
    DIR *d = opendir(dir);
    if (!d) return;
    for (struct dirent *e; (e = readdir(d));) {
        if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, "..")) continue;
        char path[1024];
        snprintf(path, sizeof path, "%s/%s", dir, e->d_name);
        struct stat st;
        if (lstat(path, &st) == 0 && S_ISDIR(st.st_mode)) golden_remove_tree(path);
        else unlink(path);
    }
    closedir(d);
    rmdir(dir);
}

void golden_write_files(const golden_case *c, const char *dir) {
    for (uint32_t i = 0; i < c->files.n; i++) {
        char path[1024];
        snprintf(path, sizeof path, "%s/%s", dir, c->files.at[i].name);
        for (char *slash = path + strlen(dir) + 1; (slash = strchr(slash, '/')); slash++) {
            *slash = 0;
            mkdir(path, 0700);
            *slash = '/';
        }
        FILE *f = fopen(path, "wb");
        wr_assert(f);
        fwrite(c->files.at[i].text, 1, strlen(c->files.at[i].text), f);
        fclose(f);
    }
}

char *golden_read_file(const char *path) {
    FILE *f = fopen(path, "rb");
    if (!f) return NULL;
    wr_sbuf text = {0};
    char    buf[65536];
    for (size_t n; (n = fread(buf, 1, sizeof buf, f)) > 0;) wr_sbuf_add(&text, buf, n);
    fclose(f);
    if (!text.at) wr_sbuf_addz(&text, "");
    return text.at;
}

