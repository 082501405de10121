/* type/mem.c: wr_mem, the reference-counted bump allocator that a batch lives in (see batch.h).
 *
 * Idea       the wr_mem struct sits at the start of its first chunk. Chunks are powers of two from 1 KiB to 1 MiB; freed ones go to a
 *            small shared pool: per size a few slots that hold one chunk each, taken with an exchange and given back with a
 *            compare-exchange, so there is neither a lock nor an ABA problem. Each thread begins to look at slots of its own, and a chunk goes back to those of
 *            the thread that took it last, whoever frees it: so threads seldom write to the same lines, and a chunk stays near its core. The pool never holds more than about 24 MiB, less under a
 *            small memory budget (wr_mem_pool_trim).
 * Invariant  after the last unref nothing reads the memory; in debug builds it is filled with 0xDD, and under the address
 *            sanitizer the pool is off, so that a use after the last unref is reported where it happens.
 * Thread     alloc, calloc, keep: the owner. ref, unref: any thread. Death walks a list, not the stack.                */
#include "type/batch.h"

enum { CLASS_MIN_LOG2 = 10, CLASS_MAX_LOG2 = 20, N_CLASSES = CLASS_MAX_LOG2 - CLASS_MIN_LOG2 + 1, SLOTS_MAX = 64, KEEP_INLINE = 4 };
enum { POOL_BYTES_PER_CLASS = 4 << 20 };

#if defined(__SANITIZE_ADDRESS__)
#define POOLED 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define POOLED 0
#endif
#endif
#ifndef POOLED
#define POOLED 1
#endif

typedef struct chunk {
    struct chunk *next;
    uint64_t      size : 56, home : 8; /* with this header; number of the thread that took it */
} chunk;
_Static_assert(sizeof(chunk) == 16, "chunk header keeps 16-byte alignment");

struct wr_mem {
    _Atomic uint32_t refs;
    uint32_t         n_keep, cap_keep;
    char            *at, *end; /* free part of the newest chunk */
    chunk           *chunks;   /* newest first; the last one holds this struct */
    size_t           bytes;
    wr_mem         **keep;
    wr_mem          *keep_inline[KEEP_INLINE];
    wr_mem          *next_dead;
};

static _Alignas(64) _Atomic(chunk *) pool[N_CLASSES][SLOTS_MAX];

static int class_of(size_t size) {
    if (size <= (size_t)1 << CLASS_MIN_LOG2) return 0;
    return 64 - __builtin_clzll((unsigned long long)size - 1) - CLASS_MIN_LOG2;
}

static _Atomic int pool_class_bytes = POOL_BYTES_PER_CLASS;

#if POOLED
static int slots_of(int class) {
    int n = atomic_load_explicit(&pool_class_bytes, memory_order_relaxed) >> (class + CLASS_MIN_LOG2);
    return n > SLOTS_MAX ? SLOTS_MAX : n;
}
#endif

#if POOLED
static _Atomic uint32_t threads;
static uint8_t          my_home(void) { /* never 0; threads may share one */
    static _Thread_local uint8_t mine;
    if (WR_UNLIKELY(!mine)) mine = (uint8_t)(atomic_fetch_add_explicit(&threads, 1, memory_order_relaxed) % 255 + 1);
    return mine;
}
/* The first slot of a home: a line of slots each, where there are so many. */
static int first_slot(uint8_t home, int n) {
    enum { LINE = 64 / sizeof(chunk *) };
    return home * (n > LINE ? LINE : (n + 1) / 2) % n;
}
#endif

/* Small classes have their slots and no more: what they leave of an even share belongs to the large ones. */
void wr_mem_pool_trim(size_t most_bytes) {
    size_t each = 0, left = most_bytes;
    for (int class = 0; class < N_CLASSES; class++) {
        size_t all = (size_t)SLOTS_MAX << (class + CLASS_MIN_LOG2);
        each = left / (size_t)(N_CLASSES - class);
        if (each <= all) break;
        left -= all;
    }
    atomic_store_explicit(&pool_class_bytes, (int)WR_MIN(each, (size_t)POOL_BYTES_PER_CLASS), memory_order_relaxed);
    for (int class = 0; class < N_CLASSES; class++)
        for (int i = 0; i < SLOTS_MAX; i++) wr_free(atomic_exchange_explicit(&pool[class][i], NULL, memory_order_acquire));
}

static chunk *chunk_get(size_t size) {
    int class = class_of(size);
    if (class >= N_CLASSES) {
        size = (size + 63) & ~(size_t)63;
    } else {
        size = (size_t)1 << (class + CLASS_MIN_LOG2);
#if POOLED
        int n = slots_of(class), first = n ? first_slot(my_home(), n) : 0;
        for (int k = 0; k < n; k++) {
            int i = first + k < n ? first + k : first + k - n;
            if (!atomic_load_explicit(&pool[class][i], memory_order_relaxed)) continue;
            chunk *found = atomic_exchange_explicit(&pool[class][i], NULL, memory_order_acquire);
            if (found) return found->home = my_home(), found;
        }
#endif
    }
    chunk *made = wr_aligned_alloc(64, size);
    made->size = size;
#if POOLED
    made->home = my_home();
#else
    made->home = 0;
#endif
    return made;
}

static void chunk_put(chunk *c) {
#ifdef WR_DEBUG
    memset(c + 1, 0xDD, c->size - sizeof *c);
#endif
#if POOLED
    int class = class_of(c->size);
    if (class < N_CLASSES) {
        int n = slots_of(class), first = n ? first_slot(c->home, n) : 0;
        for (int k = 0; k < n; k++) {
            int    i = first + k < n ? first + k : first + k - n;
            chunk *empty = NULL;
            if (!atomic_load_explicit(&pool[class][i], memory_order_relaxed) &&
                atomic_compare_exchange_strong_explicit(&pool[class][i], &empty, c, memory_order_release, memory_order_relaxed))
                return;
        }
    }
#endif
    wr_free(c);
}

wr_mem *wr_mem_new(size_t hint_bytes) {
    chunk  *c = chunk_get(sizeof(chunk) + sizeof(wr_mem) + hint_bytes + 64);
    wr_mem *mem = (wr_mem *)(c + 1);
    c->next = NULL;
    memset(mem, 0, sizeof *mem);
    atomic_init(&mem->refs, 1);
    mem->at = (char *)(mem + 1);
    mem->end = (char *)c + c->size;
    mem->chunks = c;
    mem->bytes = c->size;
    mem->keep = mem->keep_inline;
    mem->cap_keep = KEEP_INLINE;
    return mem;
}

wr_mem *wr_mem_ref(wr_mem *mem) {
    uint32_t before = atomic_fetch_add_explicit(&mem->refs, 1, memory_order_relaxed);
    wr_dassert(before > 0 && before < UINT32_MAX);
    (void)before;
    return mem;
}

static bool drop_ref(wr_mem *mem) {
    /* the last holder needs no locked instruction */
    if (atomic_load_explicit(&mem->refs, memory_order_acquire) == 1) return true;
    uint32_t before = atomic_fetch_sub_explicit(&mem->refs, 1, memory_order_acq_rel);
    wr_dassert(before > 0);
    return before == 1;
}

void wr_mem_unref(wr_mem *mem) {
    if (!mem || !drop_ref(mem)) return;
    wr_mem *dead = mem;
    dead->next_dead = NULL;
    while (dead) {
        wr_mem *next = dead->next_dead;
        for (uint32_t i = 0; i < dead->n_keep; i++) {
            wr_mem *kept = dead->keep[i];
            if (drop_ref(kept)) kept->next_dead = next, next = kept;
        }
        if (dead->keep != dead->keep_inline) wr_free(dead->keep);
        for (chunk *c = dead->chunks; c;) { /* the chunk that holds *dead comes last */
            chunk *following = c->next;
            chunk_put(c);
            c = following;
        }
        dead = next;
    }
}

static WR_COLD void *alloc_slow(wr_mem *mem, size_t size, size_t align) {
    size_t want = sizeof(chunk) + size + align, twice = mem->chunks->size * 2, most = (size_t)1 << CLASS_MAX_LOG2;
    chunk *c = chunk_get(WR_MAX(want, WR_MIN(twice, most)));
    c->next = mem->chunks;
    mem->chunks = c;
    mem->bytes += c->size;
    char *at = (char *)(((uintptr_t)(c + 1) + align - 1) & ~(uintptr_t)(align - 1)), *end = (char *)c + c->size;
    /* a huge block must not take the place of a half empty chunk */
    if (end - (at + size) > mem->end - mem->at) mem->at = at + size, mem->end = end;
    return at;
}

void *wr_mem_alloc(wr_mem *mem, size_t size) {
    size_t align = size >= 64 ? 64 : 16;
    char  *at = (char *)(((uintptr_t)mem->at + align - 1) & ~(uintptr_t)(align - 1));
    if (WR_UNLIKELY(at > mem->end || size > (size_t)(mem->end - at))) return alloc_slow(mem, size, align);
    mem->at = at + size;
    return at;
}

void *wr_mem_calloc(wr_mem *mem, size_t size) { return memset(wr_mem_alloc(mem, size), 0, size); }

void wr_mem_keep(wr_mem *mem, wr_mem *other) {
    if (!other || other == mem) return;
    uint32_t oldest = mem->n_keep > 4 ? mem->n_keep - 4 : 0;
    for (uint32_t i = mem->n_keep; i-- > oldest;)
        if (mem->keep[i] == other) return;
    if (mem->n_keep == mem->cap_keep) {
        uint32_t cap = mem->cap_keep * 2;
        wr_mem **keep = wr_malloc(cap * sizeof(wr_mem *));
        memcpy(keep, mem->keep, mem->n_keep * sizeof(wr_mem *));
        if (mem->keep != mem->keep_inline) wr_free(mem->keep);
        mem->keep = keep;
        mem->cap_keep = cap;
    }
    mem->keep[mem->n_keep++] = wr_mem_ref(other);
}

/* Bytes that go away with `mem`: its own, and of what it keeps the share that falls to one of the present holders. */
static size_t held_bytes(const wr_mem *mem, int depth) {
    size_t sum = mem->bytes;
    for (uint32_t i = 0; depth && i < mem->n_keep; i++) {
        wr_mem  *kept = mem->keep[i];
        uint32_t refs = atomic_load_explicit(&kept->refs, memory_order_relaxed);
        sum += held_bytes(kept, depth - 1) / (refs ? refs : 1);
    }
    return sum;
}

size_t wr_batch_bytes(const wr_batch *batch) { return held_bytes(batch->mem, 4); }
