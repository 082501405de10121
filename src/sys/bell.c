/* sys/bell.c: the latch and the mutex of world.h, over POSIX threads.
 *
 * Invariant  a ring is never lost: it sets a flag that the next wait takes; waits measure time on the monotonic clock. */
#include "sys/world.h"
#include <errno.h>
#include <pthread.h>
#include <time.h>

struct wr_bell {
    pthread_mutex_t mutex;
    pthread_cond_t  cond;
    bool            rung;
};
struct wr_mutex { pthread_mutex_t mutex; };

wr_bell *wr_bell_new(void) {
    wr_bell           *bell = wr_calloc(1, sizeof *bell);
    pthread_condattr_t attr;
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_mutex_init(&bell->mutex, NULL);
    pthread_cond_init(&bell->cond, &attr);
    pthread_condattr_destroy(&attr);
    return bell;
}

void wr_bell_free(wr_bell *bell) {
    if (!bell) return;
    pthread_cond_destroy(&bell->cond);
    pthread_mutex_destroy(&bell->mutex);
    wr_free(bell);
}

void wr_bell_ring(wr_bell *bell) {
    pthread_mutex_lock(&bell->mutex);
    if (!bell->rung) {
        bell->rung = true;
        pthread_cond_signal(&bell->cond);
    }
    pthread_mutex_unlock(&bell->mutex);
}

void wr_bell_wait(wr_bell *bell, int64_t timeout_us) {
    pthread_mutex_lock(&bell->mutex);
    if (!bell->rung && timeout_us > 0) {
        struct timespec until;
        clock_gettime(CLOCK_MONOTONIC, &until);
        int64_t year_us = INT64_C(31536000000000), us = WR_MIN(timeout_us, year_us);
        until.tv_sec += us / 1000000;
        until.tv_nsec += us % 1000000 * 1000;
        if (until.tv_nsec >= 1000000000) until.tv_sec++, until.tv_nsec -= 1000000000;
        while (!bell->rung && pthread_cond_timedwait(&bell->cond, &bell->mutex, &until) != ETIMEDOUT) {}
    }
    bell->rung = false;
    pthread_mutex_unlock(&bell->mutex);
}

wr_mutex *wr_mutex_new(void) {
    wr_mutex *m = wr_calloc(1, sizeof *m);
    pthread_mutex_init(&m->mutex, NULL);
    return m;
}

void wr_mutex_free(wr_mutex *m) {
    if (!m) return;
    pthread_mutex_destroy(&m->mutex);
    wr_free(m);
}

void wr_mutex_lock(wr_mutex *m) { pthread_mutex_lock(&m->mutex); }
void wr_mutex_unlock(wr_mutex *m) { pthread_mutex_unlock(&m->mutex); }
