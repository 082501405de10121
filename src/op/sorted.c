/* op/sorted.c: see sorted.h. */
#include "op/sorted.h"

enum { CHUNK_MAX = 128, CHUNK_FIRST = 4, MALLOC_EXTRA = 16 };
struct wr_sorted_chunk {
    uint32_t n, cap;
    _Alignas(16) char data[];
};

static int64_t chunk_bytes(const wr_sorted *s, uint32_t cap) { return (int64_t)(sizeof(wr_sorted_chunk) + MALLOC_EXTRA + (size_t)cap * s->elem_bytes); }
WR_INLINE char *elem(const wr_sorted *s, uint32_t chunk, uint32_t at) { return s->chunks[chunk]->data + (size_t)at * s->elem_bytes; }

wr_sorted *wr_sorted_new(uint32_t elem_bytes) {
    wr_sorted *s = wr_calloc(1, sizeof *s);
    s->elem_bytes = elem_bytes;
    s->bytes = (int64_t)sizeof *s + MALLOC_EXTRA;
    return s;
}
void wr_sorted_free(wr_sorted *s) {
    if (!s) return;
    for (uint32_t c = 0; c < s->n_chunks; c++) wr_free(s->chunks[c]);
    wr_free(s->chunks);
    wr_free(s);
}

wr_pos wr_sorted_seek(const wr_sorted *s, const void *key, wr_sorted_cmp cmp, const void *self, bool *equal) {
    uint32_t lo = 0, hi = s->n_chunks; /* the first chunk whose last element is not less than key */
    *equal = false;
    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        if (cmp(self, elem(s, mid, s->chunks[mid]->n - 1), key) < 0) lo = mid + 1;
        else hi = mid;
    }
    if (lo == s->n_chunks) return (wr_pos){lo, 0};
    uint32_t chunk = lo;
    lo = 0, hi = s->chunks[chunk]->n;
    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        int      order = cmp(self, elem(s, chunk, mid), key);
        if (order < 0) lo = mid + 1;
        else hi = mid, *equal |= order == 0;
    }
    *equal = *equal && cmp(self, elem(s, chunk, lo), key) == 0;
    return (wr_pos){chunk, lo};
}

wr_pos wr_sorted_first(void) { return (wr_pos){0, 0}; }
wr_pos wr_sorted_last(const wr_sorted *s) { return (wr_pos){s->n_chunks - 1, s->chunks[s->n_chunks - 1]->n - 1}; }
void  *wr_sorted_at(const wr_sorted *s, wr_pos pos) { return pos.chunk < s->n_chunks ? elem(s, pos.chunk, pos.at) : NULL; }
wr_pos wr_sorted_next(const wr_sorted *s, wr_pos pos) {
    if (++pos.at < s->chunks[pos.chunk]->n) return pos;
    return (wr_pos){pos.chunk + 1, 0};
}
bool wr_sorted_prev(const wr_sorted *s, wr_pos *pos) {
    if (pos->at) {
        pos->at--;
        return true;
    }
    if (!pos->chunk) return false;
    pos->chunk--;
    pos->at = s->chunks[pos->chunk]->n - 1;
    return true;
}
uint64_t wr_sorted_index(const wr_sorted *s, wr_pos pos) {
    uint64_t index = pos.at;
    for (uint32_t c = 0; c < pos.chunk; c++) index += s->chunks[c]->n;
    return index;
}
wr_pos wr_sorted_nth(const wr_sorted *s, uint64_t index) {
    uint32_t c = 0;
    for (; c < s->n_chunks && index >= s->chunks[c]->n; c++) index -= s->chunks[c]->n;
    return (wr_pos){c, c < s->n_chunks ? (uint32_t)index : 0};
}

static void chunk_insert(wr_sorted *s, uint32_t at, uint32_t cap) {
    if (s->n_chunks == s->cap_chunks) {
        uint32_t more = s->cap_chunks ? s->cap_chunks * 2 : 1;
        s->chunks = wr_realloc(s->chunks, more * sizeof *s->chunks);
        s->bytes += (int64_t)(more - s->cap_chunks) * (int64_t)sizeof *s->chunks;
        s->cap_chunks = more;
    }
    memmove(s->chunks + at + 1, s->chunks + at, (s->n_chunks - at) * sizeof *s->chunks);
    s->chunks[at] = wr_malloc(sizeof(wr_sorted_chunk) + (size_t)cap * s->elem_bytes);
    s->chunks[at]->n = 0;
    s->chunks[at]->cap = cap;
    s->n_chunks++;
    s->bytes += chunk_bytes(s, cap);
}

wr_pos wr_sorted_insert(wr_sorted *s, wr_pos before, const void *item) {
    if (!s->n_chunks) chunk_insert(s, 0, CHUNK_FIRST), before = (wr_pos){0, 0};
    if (before.chunk == s->n_chunks) before = (wr_pos){s->n_chunks - 1, s->chunks[s->n_chunks - 1]->n};
    wr_sorted_chunk *c = s->chunks[before.chunk];
    if (c->n == CHUNK_MAX) { /* appending keeps full chunks behind; else split in the middle */
        uint32_t keep = before.chunk == s->n_chunks - 1 && before.at == c->n ? CHUNK_MAX - 1 : CHUNK_MAX / 2;
        chunk_insert(s, before.chunk + 1, CHUNK_MAX);
        wr_sorted_chunk *right = s->chunks[before.chunk + 1];
        right->n = c->n - keep;
        memcpy(right->data, c->data + (size_t)keep * s->elem_bytes, (size_t)right->n * s->elem_bytes);
        c->n = keep;
        if (before.at > keep) before = (wr_pos){before.chunk + 1, before.at - keep};
        c = s->chunks[before.chunk];
    } else if (c->n == c->cap) {
        uint32_t cap = c->cap * 2;
        s->bytes += chunk_bytes(s, cap) - chunk_bytes(s, c->cap);
        c = s->chunks[before.chunk] = wr_realloc(c, sizeof *c + (size_t)cap * s->elem_bytes);
        c->cap = cap;
    }
    char *at = c->data + (size_t)before.at * s->elem_bytes;
    memmove(at + s->elem_bytes, at, (size_t)(c->n - before.at) * s->elem_bytes);
    memcpy(at, item, s->elem_bytes);
    c->n++;
    s->count++;
    return before;
}

wr_pos wr_sorted_remove(wr_sorted *s, wr_pos pos) {
    wr_sorted_chunk *c = s->chunks[pos.chunk];
    char *at = c->data + (size_t)pos.at * s->elem_bytes;
    memmove(at, at + s->elem_bytes, (size_t)(c->n - pos.at - 1) * s->elem_bytes);
    s->count--;
    if (--c->n) return pos.at < c->n ? pos : (wr_pos){pos.chunk + 1, 0};
    s->bytes -= chunk_bytes(s, c->cap);
    wr_free(c);
    s->n_chunks--;
    memmove(s->chunks + pos.chunk, s->chunks + pos.chunk + 1, (s->n_chunks - pos.chunk) * sizeof *s->chunks);
    return (wr_pos){pos.chunk, 0};
}
