/* state/timers.c: event-time timers of state.h: a 4-ary heap.
 *
 * Idea       four children a node: the heap is half as deep as a binary one and a node's children share a cache line or two.
 * Invariant  a parent is not after its children in (deadline, insertion number), so equal deadlines come out in insertion order.
 * Thread     owned by one worker. Memory: one array, charged when it grows.                                             */
#include "state/state.h"

typedef struct timer {
    int64_t  deadline_us;
    uint64_t seq, payload;
} timer;
struct wr_timers {
    wr_account *acct;
    timer      *at;
    uint32_t    n, cap;
    uint64_t    seq;
};

double wr_timer_bytes(void) { return sizeof(timer) / 0.75; } /* the array is half full to full */
wr_timers *wr_timers_new(wr_account *acct) {
    wr_timers *t = wr_calloc(1, sizeof *t);
    t->acct = acct;
    return t;
}
void wr_timers_free(wr_timers *t) {
    if (!t) return;
    wr_account_add(t->acct, -(int64_t)(t->cap * sizeof *t->at));
    wr_free(t->at);
    wr_free(t);
}
WR_INLINE bool before(const timer *a, const timer *b) {
    return a->deadline_us != b->deadline_us ? a->deadline_us < b->deadline_us : a->seq < b->seq;
}

void wr_timers_add(wr_timers *t, int64_t deadline_us, uint64_t payload) {
    if (t->n == t->cap) {
        uint32_t cap = t->cap ? t->cap * 2 : 16;
        t->at = wr_realloc(t->at, cap * sizeof *t->at);
        wr_account_add(t->acct, (int64_t)((cap - t->cap) * sizeof *t->at));
        t->cap = cap;
    }
    timer    x = {deadline_us, t->seq++, payload};
    uint32_t i = t->n++;
    while (i) {
        uint32_t up = (i - 1) / 4;
        if (!before(&x, &t->at[up])) break;
        t->at[i] = t->at[up];
        i = up;
    }
    t->at[i] = x;
}

bool wr_timers_pop(wr_timers *t, int64_t now_us, int64_t *deadline_us, uint64_t *payload) {
    if (!t->n || t->at[0].deadline_us > now_us) return false;
    *deadline_us = t->at[0].deadline_us;
    *payload = t->at[0].payload;
    timer    x = t->at[--t->n];
    uint32_t i = 0;
    for (;;) {
        uint32_t first = i * 4 + 1, least = first, end = WR_MIN(first + 4, t->n);
        if (first >= t->n) break;
        for (uint32_t c = first + 1; c < end; c++)
            if (before(&t->at[c], &t->at[least])) least = c;
        if (!before(&t->at[least], &x)) break;
        t->at[i] = t->at[least];
        i = least;
    }
    t->at[i] = x;
    return true;
}
uint32_t wr_timers_count(const wr_timers *t) { return t->n; }
int64_t  wr_timers_first(const wr_timers *t) { return t->n ? t->at[0].deadline_us : WR_TIME_MAX; }
