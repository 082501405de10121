/* checkpoint/internal.h: names in the directory; shared by the files of checkpoint/. */
#pragma once
#include "checkpoint/checkpoint.h"

bool      manifest_epoch(const char *name, uint64_t *epoch); /* is it the name of one? */
void      manifest_name(char *out, size_t cap, uint64_t epoch);
void      manifest_path(char *out, size_t cap, const char *dir, uint64_t epoch);
void      stored_path(char *out, size_t cap, const char *dir, const char *stored);
wr_status manifest_write(const wr_checkpoint_writer *w, wr_world *world, const char *path, uint64_t *bytes, wr_err *err); /* to path.tmp, renamed */
