/* cli/mirror.h: checkpoints in an object store for the commands that look into directories or make them: a directory that stands for s3://...
 *
 * Idea       what is asked for is downloaded into a temporary directory and worked on there; what people read names the store's address instead. A savepoint
 *            goes the other way: made in such a directory, then uploaded.
 * Memory     at most MIRRORS_MAX at a time, of the process; mirror_drop_all removes the directories.                                              */
#pragma once
#include "base/err.h"
#include "base/str.h"
#include <stdbool.h>
#include <stdint.h>

enum { MIRRORS_MAX = 2 };
/* *dir: a new directory (owned here) with what url has: one epoch, or WR_MIRROR_NEWEST / WR_MIRROR_ALL; files: not the manifests only. */
wr_status   mirror_fetch(const char *url, uint64_t epoch, bool files, const char **dir, wr_err *err);
/* *dir: a name for a directory that is not there yet, to be sent to url, which must hold nothing (WR307). */
wr_status   mirror_begin(const char *url, const char **dir, wr_err *err);
wr_status   mirror_send(const char *dir, wr_err *err);
const char *mirror_name(const char *dir);      /* as people know it: the URL of a mirror, else the directory itself */
void        mirror_rename(wr_sbuf *text);      /* directories of mirrors become URLs */
void        mirror_rename_err(wr_err *err);
void        mirror_drop_all(void);
