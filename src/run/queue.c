/* run/queue.c: the exchange's queue: single producer, single consumer, linked segments, no locks.
 *
 * Bound      in bytes by the job's share for queues, and in time: queue_adapt, called a few times a second, lowers the bound to what the consumer takes
 *            in DRAIN_US at the rate just measured, so that a barrier behind a slow consumer waits for that long and not for a full share.
 *
 * Idea       the producer fills a segment and publishes the count with a release store; the consumer reads it with acquire. A new segment
 *            is linked when one is full, so a push never fails; the byte bound is kept by whoever pushes (node_full).
 * Invariant  each message is popped once, in push order; pushed - taken == sum over messages between push and pop. Each side writes its own line only.
 * Thread     push, full: the producing worker; peek, pop: the consuming worker; bytes: any.                                        */
#include "run/internal.h"

enum { SEGMENT = 62, DRAIN_US = 200000, BOUND_MIN = 64 << 10 };
typedef struct segment {
    _Atomic(struct segment *) next;
    _Atomic uint32_t          filled;
    msg                       at[SEGMENT];
} segment;

struct queue {
    wr_account *acct;                       /* this line: the coordinator, now and then */
    uint64_t taken_before;                  /* at the last queue_adapt */
    _Atomic size_t bound;
    _Alignas(64) segment *tail;             /* producer */
    uint32_t tail_n;
    _Atomic uint64_t pushed;                /* bytes so far */
    uint64_t seen;                          /* of `taken`, when there seemed to be no room: until then the consumer's line is not read */
    _Atomic uint64_t barrier;               /* epoch of the last one pushed */
    _Alignas(64) segment *head;             /* consumer */
    uint32_t head_n;
    _Atomic uint64_t taken;                 /* bytes popped so far */
};

/* Written by one side only: no locked instruction. */
static void add(_Atomic uint64_t *sum, size_t bytes) { atomic_store_explicit(sum, atomic_load_explicit(sum, memory_order_relaxed) + bytes, memory_order_release); }

static segment *segment_new(void) {
    segment *s = wr_calloc(1, sizeof *s);
    return s;
}

queue *queue_new(wr_account *acct) {
    queue *q = wr_aligned_alloc(64, sizeof *q);
    memset(q, 0, sizeof *q);
    q->acct = acct;
    q->bound = SIZE_MAX;
    q->head = q->tail = segment_new();
    return q;
}

void queue_free(queue *q) {
    if (!q) return;
    for (const msg *m; (m = queue_peek(q));) {
        wr_batch_unref(m->batch);
        queue_pop(q);
    }
    wr_free(q->head);
    wr_free(q);
}

void queue_push(queue *q, msg m) {
    if (q->tail_n == SEGMENT) {
        segment *next = segment_new();
        atomic_store_explicit(&q->tail->next, next, memory_order_release);
        q->tail = next;
        q->tail_n = 0;
    }
    if (m.bytes) {
        add(&q->pushed, m.bytes); /* before the message can be seen: taken is never ahead of it */
        wr_account_add(q->acct, (int64_t)m.bytes);
    }
    q->tail->at[q->tail_n++] = m;
    atomic_store_explicit(&q->tail->filled, q->tail_n, memory_order_release);
    if (m.kind == MSG_BARRIER) atomic_store_explicit(&q->barrier, m.seq, memory_order_release);
}

const msg *queue_peek(queue *q) {
    if (q->head_n == SEGMENT) {
        segment *next = atomic_load_explicit(&q->head->next, memory_order_acquire);
        if (!next) return NULL;
        wr_free(q->head);
        q->head = next;
        q->head_n = 0;
    }
    return q->head_n < atomic_load_explicit(&q->head->filled, memory_order_acquire) ? &q->head->at[q->head_n] : NULL;
}

void queue_pop(queue *q) {
    size_t bytes = q->head->at[q->head_n].bytes;
    if (bytes) {
        wr_account_add(q->acct, -(int64_t)bytes);
        add(&q->taken, bytes);
    }
    q->head_n++;
}

uint64_t queue_barrier(const queue *q) { return atomic_load_explicit(&((queue *)(uintptr_t)q)->barrier, memory_order_acquire); }

void queue_each(queue *q, uint64_t epoch, void (*visit)(void *arg, const msg *m), void *arg) {
    wr_assert(queue_barrier(q) >= epoch);
    const segment *s = q->head;
    for (uint32_t i = q->head_n;; i++) {
        if (i == SEGMENT) s = atomic_load_explicit(&((segment *)(uintptr_t)s)->next, memory_order_acquire), i = 0;
        wr_assert(s); /* the barrier is there, so all in front of it is */
        const msg *m = &s->at[i];
        if (m->kind == MSG_BARRIER && m->seq == epoch) return;
        visit(arg, m);
    }
}

size_t queue_bytes(const queue *const_q) {
    queue   *q = (queue *)(uintptr_t)const_q;
    uint64_t taken = atomic_load_explicit(&q->taken, memory_order_acquire); /* first: what was taken had been pushed */
    return atomic_load_explicit(&q->pushed, memory_order_relaxed) - taken;
}

bool queue_full(queue *q, size_t limit) {
    size_t bound = atomic_load_explicit(&q->bound, memory_order_relaxed), most = WR_MIN(bound, limit);
    if (atomic_load_explicit(&q->pushed, memory_order_relaxed) - q->seen <= most) return false;
    q->seen = atomic_load_explicit(&q->taken, memory_order_acquire);
    return atomic_load_explicit(&q->pushed, memory_order_relaxed) - q->seen > most;
}

uint64_t queue_taken(const queue *q) { return atomic_load_explicit(&((queue *)(uintptr_t)q)->taken, memory_order_relaxed); }

double queue_fill(const queue *q, size_t limit) {
    size_t bound = WR_MIN(atomic_load_explicit(&((queue *)(uintptr_t)q)->bound, memory_order_relaxed), limit);
    return WR_MIN((double)queue_bytes(q) / (double)WR_MAX(bound, (size_t)1), 1.0);
}

/* Down by half at most each time: one quiet moment is not yet a slow consumer. Nothing taken and nothing there says nothing. */
void queue_adapt(queue *q, size_t limit, int64_t since_us) {
    uint64_t taken = atomic_load_explicit(&q->taken, memory_order_relaxed), moved = taken - q->taken_before;
    size_t   bound = WR_MIN(atomic_load_explicit(&q->bound, memory_order_relaxed), limit);
    q->taken_before = taken;
    if (since_us <= 0 || (!moved && !queue_bytes(q))) return;
    double want = (double)moved * DRAIN_US / (double)since_us;
    size_t next = want > (double)limit ? limit : (size_t)want;
    next = WR_MAX(WR_MAX(next, bound / 2), (size_t)BOUND_MIN);
    atomic_store_explicit(&q->bound, WR_MIN(next, limit), memory_order_relaxed);
}
