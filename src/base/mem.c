/* base/mem.c: see mem.h. */
#include "base/mem.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

WR_NORETURN WR_COLD static void out_of_memory(size_t size) {
    fprintf(stderr, "weir: the system refused %zu bytes of memory; lower --memory or free some\n", size);
    _Exit(12);
}

void *wr_malloc(size_t size) {
    void *ptr = malloc(size ? size : 1);
    if (WR_UNLIKELY(!ptr)) out_of_memory(size);
    return ptr;
}

void *wr_calloc(size_t count, size_t size) {
    void *ptr = calloc(count ? count : 1, size ? size : 1);
    if (WR_UNLIKELY(!ptr)) out_of_memory(count * size);
    return ptr;
}

void *wr_realloc(void *old, size_t size) {
    void *ptr = realloc(old, size ? size : 1);
    if (WR_UNLIKELY(!ptr)) out_of_memory(size);
    return ptr;
}

void *wr_aligned_alloc(size_t align, size_t size) {
    void *ptr = aligned_alloc(align, (size + align - 1) / align * align);
    if (WR_UNLIKELY(!ptr)) out_of_memory(size);
    return ptr;
}

void *wr_malloc_wide(size_t size) {
    enum { HUGE = 2 << 20 };
    if (size < HUGE) return wr_malloc(size);
    void *ptr = wr_aligned_alloc(HUGE, size);
#ifdef MADV_HUGEPAGE
    (void)!madvise(ptr, size / HUGE * HUGE, MADV_HUGEPAGE); /* a wish */
#endif
    return ptr;
}

void wr_free(void *ptr) { free(ptr); }

char *wr_strdup(const char *text) {
    size_t len = strlen(text) + 1;
    return memcpy(wr_malloc(len), text, len);
}

void wr_account_init(wr_account *acct, wr_account *parent, const char *name, int64_t limit_bytes) {
    memset(acct, 0, sizeof *acct);
    acct->parent = parent;
    acct->limit = limit_bytes;
    snprintf(acct->name, sizeof acct->name, "%s", name);
}

void wr_account_add(wr_account *acct, int64_t bytes) {
    for (; acct; acct = acct->parent) {
        int64_t now = atomic_fetch_add_explicit(&acct->bytes, bytes, memory_order_relaxed) + bytes;
        int64_t peak = atomic_load_explicit(&acct->peak, memory_order_relaxed);
        while (now > peak &&
               !atomic_compare_exchange_weak_explicit(&acct->peak, &peak, now, memory_order_relaxed, memory_order_relaxed)) {}
    }
}

bool wr_account_over(const wr_account *acct) {
    for (; acct; acct = acct->parent)
        if (acct->limit && wr_account_bytes(acct) > acct->limit) return true;
    return false;
}

/* ---- the allocator: jemalloc answers if the executable is linked with it; libweir may live in a host with another one ---- */
extern int mallctl(const char *name, void *old, size_t *old_len, void *fresh, size_t fresh_len) __attribute__((weak));
enum { PAGE = 4096 };
#define ARENAS_TEXT "4096" /* MALLCTL_ARENAS_ALL */

static bool ask_size(const char *name, int64_t *out) {
    size_t value = 0, len = sizeof value;
    if (mallctl(name, &value, &len, NULL, 0)) return false;
    *out = (int64_t)value;
    return true;
}

bool wr_heap_stats(wr_heap *out) {
    *out = (wr_heap){0};
    if (!mallctl) return false;
    uint64_t epoch = 1;
    size_t   len = sizeof epoch;
    if (mallctl("epoch", &epoch, &len, &epoch, sizeof epoch)) return false;
    int64_t pages = 0;
    if (!ask_size("stats.allocated", &out->allocated) || !ask_size("stats.resident", &out->resident)) return false;
    if (ask_size("stats.arenas." ARENAS_TEXT ".pdirty", &pages)) out->dirty = pages * PAGE;
    return true;
}

void wr_heap_purge(void) {
    if (mallctl) (void)!mallctl("arena." ARENAS_TEXT ".purge", NULL, NULL, NULL, 0);
}

/* ---- arenas ---- */
typedef struct chunk {
    struct chunk *next;
    size_t        size, used;
    _Alignas(16) unsigned char data[];
} chunk;

struct wr_arena {
    wr_account *acct;
    chunk      *head;
    size_t      next_size, bytes;
};

enum { CHUNK_MIN = 4096, CHUNK_MAX = 1 << 20 };

wr_arena *wr_arena_new(wr_account *acct) {
    wr_arena *arena = wr_calloc(1, sizeof *arena);
    arena->acct = acct;
    arena->next_size = CHUNK_MIN;
    return arena;
}

static void drop_chunks(wr_arena *arena, chunk *from) {
    while (from) {
        chunk *next = from->next;
        arena->bytes -= sizeof(chunk) + from->size;
        if (arena->acct) wr_account_add(arena->acct, -(int64_t)(sizeof(chunk) + from->size));
        wr_free(from);
        from = next;
    }
}

void wr_arena_free(wr_arena *arena) {
    if (!arena) return;
    drop_chunks(arena, arena->head);
    wr_free(arena);
}

void wr_arena_reset(wr_arena *arena) {
    if (!arena->head) return;
    drop_chunks(arena, arena->head->next);
    arena->head->next = NULL;
#ifdef WR_DEBUG
    memset(arena->head->data, 0xDD, arena->head->used);
#endif
    arena->head->used = 0;
}

void *wr_arena_alloc(wr_arena *arena, size_t size) {
    size = (size + 15) & ~(size_t)15;
    chunk *head = arena->head;
    if (WR_UNLIKELY(!head || head->size - head->used < size)) {
        size_t want = WR_MAX(arena->next_size, size);
        head = wr_malloc(sizeof(chunk) + want);
        *head = (chunk){.next = arena->head, .size = want};
        arena->head = head;
        arena->bytes += sizeof(chunk) + want;
        if (arena->acct) wr_account_add(arena->acct, (int64_t)(sizeof(chunk) + want));
        if (arena->next_size < CHUNK_MAX) arena->next_size *= 2;
    }
    void *ptr = head->data + head->used;
    head->used += size;
    return ptr;
}

void *wr_arena_calloc(wr_arena *arena, size_t size) { return memset(wr_arena_alloc(arena, size), 0, size); }

char *wr_arena_strndup(wr_arena *arena, const char *text, size_t len) {
    char *copy = wr_arena_alloc(arena, len + 1);
    if (len) memcpy(copy, text, len);
    copy[len] = 0;
    return copy;
}

char *wr_arena_printf(wr_arena *arena, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    int len = vsnprintf(NULL, 0, fmt, ap);
    va_end(ap);
    wr_assert(len >= 0);
    char *text = wr_arena_alloc(arena, (size_t)len + 1);
    va_start(ap, fmt);
    vsnprintf(text, (size_t)len + 1, fmt, ap);
    va_end(ap);
    return text;
}

size_t wr_arena_bytes(const wr_arena *arena) { return arena->bytes; }
