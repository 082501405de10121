/* checkpoint/live.c: a state directory that a process runs on: its lock, and asking that process for a checkpoint.
 *
 * Idea       lock: a file that is locked while the job lives (the system gives it up when the process dies) and holds its process number. request: made by
 *            whoever wants a checkpoint; the job looks for it a few times a second, takes one that begins after it saw the request, writes the epoch into
 *            `answer` and removes the request. A request that says "stop" also ends it there. No socket, no signal: what works is what the file system's rights allow.
 * Thread     any; one asker at a time gets the answer (others see a newer checkpoint and are as well served).                       */
#include "checkpoint/checkpoint.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { PATH = 600, LOOK_US = 20000 };

wr_status wr_state_lock(wr_world *world, const char *dir, wr_file **lock, long *holder, wr_err *err) {
    *lock = NULL;
    *holder = 0;
    if (!world->vt->file_lock) return WR_OK;
    char     path[PATH], text[32] = "";
    bool     taken = false;
    wr_file *f = NULL;
    snprintf(path, sizeof path, "%s/lock", dir);
    WR_TRY(world->vt->file_open(world, path, WR_OPEN_READ | WR_OPEN_WRITE | WR_OPEN_CREATE, &f, err));
    wr_status status = world->vt->file_lock(world, f, &taken, err);
    if (status == WR_OK && !taken) {
        wr_err ignored;
        size_t got = 0;
        (void)!world->vt->file_pread(world, f, text, sizeof text - 1, 0, &got, &ignored);
        *holder = strtol(text, NULL, 10);
        if (*holder <= 0) *holder = -1;
    } else if (status == WR_OK) {
        int len = snprintf(text, sizeof text, "%ld\n", (long)getpid());
        status = world->vt->file_truncate(world, f, 0, err);
        if (status == WR_OK) status = world->vt->file_write(world, f, text, (size_t)len, err);
    }
    if (status != WR_OK || !taken) world->vt->file_close(world, f);
    else *lock = f;
    return status;
}

static bool is_there(wr_world *world, const char *dir, const char *name, wr_status *status, wr_err *err) {
    char         path[PATH];
    wr_file_info info;
    bool         there = false;
    snprintf(path, sizeof path, "%s/%s", dir, name);
    *status = world->vt->stat(world, path, &info, &there, err);
    return *status == WR_OK && there;
}

static wr_status drop(wr_world *world, const char *dir, const char *name, wr_err *err) {
    char      path[PATH];
    wr_status status;
    snprintf(path, sizeof path, "%s/%s", dir, name);
    return is_there(world, dir, name, &status, err) ? world->vt->remove(world, path, err) : status;
}

bool wr_state_asked(wr_world *world, const char *dir) {
    wr_status status;
    wr_err    ignored;
    return is_there(world, dir, "request", &status, &ignored);
}

bool wr_state_asked_to_stop(wr_world *world, const char *dir) {
    char    path[PATH];
    wr_sbuf text = {0};
    wr_err  ignored;
    snprintf(path, sizeof path, "%s/request", dir);
    bool stop = wr_file_read_all(world, path, 64, &text, &ignored) == WR_OK && wr_str_starts(wr_sbuf_str(&text), WR_STR("stop"));
    wr_sbuf_free(&text);
    return stop;
}

wr_status wr_state_answer(wr_world *world, const char *dir, uint64_t epoch, wr_err *err) {
    char path[PATH], text[32];
    snprintf(path, sizeof path, "%s/answer", dir);
    snprintf(text, sizeof text, "%" PRIu64 "\n", epoch);
    WR_TRY(wr_file_replace(world, path, wr_str_of(text), err));
    return drop(world, dir, "request", err);
}

/* Alive? Then its number; else 0. */
static wr_status holder_of(wr_world *world, const char *dir, long *holder, wr_err *err) {
    wr_file *lock;
    wr_status status;
    *holder = 0;
    if (!is_there(world, dir, "lock", &status, err)) return status;
    WR_TRY(wr_state_lock(world, dir, &lock, holder, err));
    world->vt->file_close(world, lock);
    return WR_OK;
}

wr_status wr_state_ask(wr_world *world, const char *dir, int64_t timeout_us, uint64_t *epoch, wr_err *err) {
    char path[PATH];
    long holder;
    *epoch = 0;
    WR_TRY(holder_of(world, dir, &holder, err));
    if (!holder) return WR_OK;
    WR_TRY(drop(world, dir, "answer", err));
    snprintf(path, sizeof path, "%s/request", dir);
    WR_TRY(wr_file_replace(world, path, WR_STR("checkpoint\n"), err));
    for (int64_t until = wr_mono_us(world) + timeout_us;;) {
        wr_status status;
        if (is_there(world, dir, "answer", &status, err)) {
            wr_sbuf text = {0};
            snprintf(path, sizeof path, "%s/answer", dir);
            status = wr_file_read_all(world, path, 64, &text, err);
            if (status == WR_OK) *epoch = strtoull(text.at, NULL, 10);
            wr_sbuf_free(&text);
            return status == WR_OK ? drop(world, dir, "answer", err) : status;
        }
        WR_TRY(status);
        WR_TRY(holder_of(world, dir, &holder, err));
        if (!holder) return drop(world, dir, "request", err); /* ended meanwhile: its last checkpoint is there */
        if (wr_mono_us(world) >= until) {
            wr_err ignored;
            (void)!drop(world, dir, "request", &ignored);
            wr_fail(err, WR_LIMIT, "WR308", "the job that runs on %s (process %ld) has not made a checkpoint within %" PRIi64 " s", dir, holder, timeout_us / 1000000);
            wr_err_hint(err, "see what it waits for in its own output; --last takes the newest checkpoint that is there");
            return WR_LIMIT;
        }
        world->vt->sleep_us(world, LOOK_US);
    }
}

wr_status wr_state_stop(wr_world *world, const char *dir, int64_t timeout_us, bool *ran, wr_err *err) {
    char path[PATH];
    long holder;
    *ran = false;
    WR_TRY(holder_of(world, dir, &holder, err));
    if (!holder) return WR_OK;
    *ran = true;
    snprintf(path, sizeof path, "%s/request", dir);
    WR_TRY(wr_file_replace(world, path, WR_STR("stop\n"), err));
    for (int64_t until = wr_mono_us(world) + timeout_us; holder;) {
        if (wr_mono_us(world) >= until) {
            wr_err ignored;
            (void)!drop(world, dir, "request", &ignored);
            wr_fail(err, WR_LIMIT, "WR308", "the job that runs on %s (process %ld) has not stopped within %" PRIi64 " s", dir, holder, timeout_us / 1000000);
            wr_err_hint(err, "see what it waits for in its own output; or stop it with a signal: kill -TERM %ld", holder);
            return WR_LIMIT;
        }
        world->vt->sleep_us(world, LOOK_US);
        WR_TRY(holder_of(world, dir, &holder, err));
    }
    WR_TRY(drop(world, dir, "answer", err));
    return drop(world, dir, "request", err);
}
