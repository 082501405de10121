/* base/mem.h: the only door to malloc, accounts that charge bytes to whoever holds them, and arenas by lifetime.
 *
 * Idea       The defence against running out of memory is the budget, not malloc's NULL (on Linux it hardly ever comes):
 *            what can grow is charged to a wr_account; accounts form a tree (job -> operator -> {state, buffers}); the
 *            runtime asks wr_account_over() once per task step and stops the job with the operator's name and both figures.
 *            malloc itself is infallible here: if the system refuses, the process says so and ends (exit code 12).
 * Invariant  sum of children's bytes == the part of the parent's bytes that they charged; a released account reads 0.
 * Thread     accounts: any thread (relaxed atomics). Arenas: one thread.                                             */
#pragma once
#include "base/compiler.h"
#include <stdatomic.h>
#include <string.h>

void *wr_malloc(size_t size);                  /* never NULL; size 0 gives a unique pointer */
void *wr_calloc(size_t count, size_t size);    /* zeroed; checks count * size */
void *wr_realloc(void *old, size_t size);
void *wr_aligned_alloc(size_t align, size_t size); /* release with wr_free */
void *wr_malloc_wide(size_t size);             /* for large tables that are read all over: in huge pages where the system has them and it pays */
void  wr_free(void *ptr);
char *wr_strdup(const char *text);

typedef struct wr_account {
    struct wr_account *parent;      /* NULL for the root */
    char               name[64];
    _Atomic int64_t    bytes, peak;
    int64_t            limit;       /* 0 = none */
} wr_account;
void wr_account_init(wr_account *acct, wr_account *parent, const char *name, int64_t limit_bytes);
void wr_account_add(wr_account *acct, int64_t bytes); /* negative gives back; charges all ancestors too */
bool wr_account_over(const wr_account *acct);         /* this node or an ancestor is over its limit */
WR_INLINE int64_t wr_account_bytes(const wr_account *acct) {
    return atomic_load_explicit(&((wr_account *)(uintptr_t)acct)->bytes, memory_order_relaxed);
}

/* What the allocator of this process says, where it is one that tells (jemalloc); false: it is not. allocated: asked for and not given back;
 * resident: pages that it holds for that; dirty: the part of them that nothing uses now and a purge gives back. */
typedef struct wr_heap { int64_t allocated, resident, dirty; } wr_heap;
bool wr_heap_stats(wr_heap *out);
void wr_heap_purge(void); /* unused pages go back to the system; cheap enough for once a second */

/* A bump allocator; everything in it dies together. Chunks double from 4 KiB to 1 MiB. 16-byte alignment. */
typedef struct wr_arena wr_arena;
wr_arena *wr_arena_new(wr_account *acct);      /* acct may be NULL */
void      wr_arena_free(wr_arena *arena);      /* NULL is legal */
void      wr_arena_reset(wr_arena *arena);     /* keeps one chunk; debug builds fill freed memory with 0xDD */
void     *wr_arena_alloc(wr_arena *arena, size_t size);   /* not zeroed */
void     *wr_arena_calloc(wr_arena *arena, size_t size);  /* zeroed */
char     *wr_arena_strndup(wr_arena *arena, const char *text, size_t len); /* adds a NUL */
WR_PRINTF(2, 3) char *wr_arena_printf(wr_arena *arena, const char *fmt, ...);
size_t    wr_arena_bytes(const wr_arena *arena);
#define wr_new(arena, T) ((T *)wr_arena_calloc((arena), sizeof(T)))
#define wr_new_n(arena, T, n) ((T *)wr_arena_calloc((arena), sizeof(T) * (size_t)(n)))
