/* op/join_rows.c: the heap of stored rows, time-ordered buffers and the wheel of due times (join_common.h).
 *
 * Idea       heap: size classes of 16 bytes up to 512, then powers of two to 8 KiB, cut from blocks that grow from 4 to 256 KiB; larger
 *            things go to malloc. Freed pieces wait in their class; when nothing is left all blocks but the first go back.
 * Invariant  account = blocks + large pieces + wheel arrays.
 * Thread     one worker.                                                                                                   */
#include "op/join_common.h"
#include <math.h>

/* ---- heap ---- */

enum { SMALL_MAX = 512, LARGE_MIN = 8192, N_CLASSES = SMALL_MAX / 16 + 4, BLOCK_MIN = 4096, BLOCK_MAX = 256 << 10 };
typedef struct piece { struct piece *next; } piece;
typedef struct block {
    struct block *next;
    size_t        size;
    char          data[];
} block;
_Static_assert(sizeof(block) == 16, "pieces are 16-byte aligned");
struct wr_join_heap {
    wr_account *acct;
    piece      *free[N_CLASSES];
    block      *blocks;
    char       *at, *end;
    size_t      next_size;
    int64_t     bytes; /* charged */
    int64_t     used;
    uint64_t    n_live;
};

static size_t class_bytes(uint32_t class) {
    return class < SMALL_MAX / 16 ? (class + 1) * 16 : (size_t)SMALL_MAX << (class - SMALL_MAX / 16 + 1);
}
static uint32_t class_of(size_t bytes) {
    if (bytes <= SMALL_MAX) return bytes ? (uint32_t)((bytes - 1) / 16) : 0;
    uint32_t class = SMALL_MAX / 16;
    while (class_bytes(class) < bytes) class++;
    return class;
}

static void charge(wr_join_heap *heap, int64_t bytes) {
    heap->bytes += bytes;
    if (heap->acct) wr_account_add(heap->acct, bytes);
}

wr_join_heap *wr_join_heap_new(wr_account *acct) {
    wr_join_heap *heap = wr_calloc(1, sizeof *heap);
    heap->acct = acct;
    heap->next_size = BLOCK_MIN;
    return heap;
}

static void free_blocks(wr_join_heap *heap, block *keep) {
    while (heap->blocks && heap->blocks != keep) {
        block *next = heap->blocks->next;
        charge(heap, -(int64_t)(sizeof(block) + heap->blocks->size));
        wr_free(heap->blocks);
        heap->blocks = next;
    }
}

void wr_join_heap_free(wr_join_heap *heap) {
    if (!heap) return;
    free_blocks(heap, NULL);
    wr_dassert(heap->bytes == 0); /* large pieces are the owners' to give back */
    wr_free(heap);
}

static void *cut(wr_join_heap *heap, size_t bytes) {
    if ((size_t)(heap->end - heap->at) < bytes) {
        block *b = wr_malloc(sizeof(block) + heap->next_size);
        *b = (block){heap->blocks, heap->next_size};
        heap->blocks = b;
        charge(heap, (int64_t)(sizeof(block) + b->size));
        heap->at = b->data, heap->end = b->data + b->size;
        if (heap->next_size < BLOCK_MAX) heap->next_size *= 2;
        if (heap->next_size < LARGE_MIN) heap->next_size = LARGE_MIN;
    }
    void *ptr = heap->at;
    heap->at += bytes;
    return ptr;
}

void *wr_join_heap_take(wr_join_heap *heap, size_t bytes) {
    heap->n_live++;
    heap->used += (int64_t)bytes;
    if (bytes > LARGE_MIN) {
        charge(heap, (int64_t)bytes);
        return wr_malloc(bytes);
    }
    uint32_t class = class_of(bytes);
    piece   *p = heap->free[class];
    if (p) {
        heap->free[class] = p->next;
        return p;
    }
    if (class_bytes(class) > heap->next_size) heap->next_size = LARGE_MIN;
    return cut(heap, class_bytes(class));
}

/* Nothing is left: a fresh start, so that a burst does not pin memory. */
static void start_over(wr_join_heap *heap) {
    memset(heap->free, 0, sizeof heap->free);
    block *last = heap->blocks;
    while (last && last->next) last = last->next;
    free_blocks(heap, last);
    heap->at = last ? last->data : NULL;
    heap->end = last ? last->data + last->size : NULL;
    heap->next_size = BLOCK_MIN;
}

void wr_join_heap_give(wr_join_heap *heap, void *ptr, size_t bytes) {
    if (!ptr) return;
    wr_dassert(heap->n_live > 0);
    heap->n_live--;
    heap->used -= (int64_t)bytes;
    if (bytes > LARGE_MIN) {
        charge(heap, -(int64_t)bytes);
        wr_free(ptr);
    } else {
        uint32_t class = class_of(bytes);
        piece   *p = ptr;
        p->next = heap->free[class];
        heap->free[class] = p;
    }
    if (!heap->n_live && heap->blocks && heap->blocks->next) start_over(heap);
}

int64_t wr_join_heap_bytes(const wr_join_heap *heap) { return heap->bytes; }
int64_t wr_join_heap_used(const wr_join_heap *heap) { return heap->used; }

wr_join_row *wr_join_row_new(wr_join_heap *heap, wr_str bytes) {
    wr_assert(bytes.len < UINT32_MAX - sizeof(wr_join_row));
    wr_join_row *row = wr_join_heap_take(heap, sizeof *row + bytes.len);
    *row = (wr_join_row){.len = (uint32_t)bytes.len};
    if (bytes.len) memcpy(row->bytes, bytes.ptr, bytes.len);
    return row;
}
void wr_join_row_free(wr_join_heap *heap, wr_join_row *row) {
    if (row) wr_join_heap_give(heap, row, sizeof *row + row->len);
}

void wr_join_row_save(const wr_join_row *row, wr_sbuf *out) {
    wr_put_i64(out, row->time_us);
    wr_put_i64(out, row->wm_us);
    wr_put_u32(out, row->mark);
    wr_put_bytes(out, row->bytes, row->len);
}
static bool row_decodes(const wr_join_side *side, wr_str bytes) {
    wr_mem *mem = wr_mem_new(4096);
    wr_vec *cols = wr_mem_calloc(mem, (side->n_cols + 1) * sizeof *cols);
    for (uint32_t c = 0; c < side->n_cols; c++) wr_vec_init(&cols[c], side->types[c], 1, true, mem);
    bool ok = wr_rowcodec_get(side->codec, bytes, cols, 0, mem);
    wr_mem_unref(mem);
    return ok;
}
wr_join_row *wr_join_row_load(wr_join_base *base, uint32_t side, wr_reader *in) {
    int64_t  time_us = wr_get_i64(in), wm_us = wr_get_i64(in);
    uint32_t mark = wr_get_u32(in);
    wr_str   bytes = wr_get_bytes(in);
    if (in->bad || !row_decodes(&base->side[side], bytes)) return NULL;
    wr_join_row *row = wr_join_row_new(base->heap, bytes);
    row->time_us = time_us, row->wm_us = wm_us, row->mark = mark;
    return row;
}

/* ---- state in the tier ---- */

int64_t   wr_join_map_heap(void *base) { return wr_join_heap_used(((wr_join_base *)base)->heap); }
wr_status wr_join_limit(wr_join_base *base, wr_kmap *map, int64_t bytes, wr_err *err) {
    wr_kmap_limit(map, bytes);
    if (!bytes) return WR_OK;
    WR_TRY(wr_kmap_shrink(map, bytes, err));
    int64_t held = wr_join_heap_bytes(base->heap);
    return wr_kmap_has_away(map) && held > BLOCK_MAX && held > 2 * wr_join_heap_used(base->heap) ? wr_kmap_shrink(map, 0, err) : WR_OK;
}
wr_status wr_join_warm_due(wr_kmap *map, const wr_join_dues *due, uint32_t at, uint32_t shift, wr_err *err) {
    enum { STRETCH = 256 };
    if (at % STRETCH || !wr_kmap_has_away(map)) return WR_OK;
    uint32_t slots[STRETCH], n = WR_MIN(due->n - at, (uint32_t)STRETCH);
    for (uint32_t i = 0; i < n; i++) slots[i] = (uint32_t)(due->at[at + i].what >> shift);
    WR_TRY(wr_kmap_relax(map, err));
    return wr_kmap_warm_all(map, slots, n, err);
}

/* ---- time-ordered buffers ---- */

static uint32_t upper(const wr_join_ent *ents, uint32_t n, int64_t time_us) { /* first entry with time > time_us */
    if (!n || ents[n - 1].time_us <= time_us) return n; /* rows mostly come in order */
    uint32_t from = 0, to = n - 1;
    while (from < to) {
        uint32_t mid = (from + to) / 2;
        if (ents[mid].time_us > time_us) to = mid;
        else from = mid + 1;
    }
    return from;
}

uint32_t wr_join_buf_lower(wr_join_buf *buf, int64_t time_us) {
    const wr_join_ent *ents = wr_join_buf_ents(buf);
    uint32_t from = 0, to = buf->n;
    while (from < to) {
        uint32_t mid = (from + to) / 2;
        if (ents[mid].time_us < time_us) from = mid + 1;
        else to = mid;
    }
    return from;
}

static void make_room(wr_join_heap *heap, wr_join_buf *buf) {
    if (buf->head && buf->head >= buf->cap / 2) {
        memmove(buf->at, buf->at + buf->head, buf->n * sizeof *buf->at);
        buf->head = 0;
        return;
    }
    uint32_t     cap = buf->cap ? buf->cap * 2 : 4;
    wr_join_ent *at = wr_join_heap_take(heap, cap * sizeof *at);
    memcpy(at, wr_join_buf_ents(buf), buf->n * sizeof *at);
    if (buf->cap) wr_join_heap_give(heap, buf->at, buf->cap * sizeof *at);
    buf->at = at, buf->cap = cap, buf->head = 0;
}

void wr_join_buf_add(wr_join_heap *heap, wr_join_buf *buf, int64_t time_us, wr_join_row *row) {
    if (!buf->cap && !buf->n) {
        buf->one = (wr_join_ent){time_us, row};
        buf->n = 1;
        return;
    }
    if (buf->head + buf->n >= buf->cap) make_room(heap, buf);
    wr_join_ent *ents = buf->at + buf->head;
    uint32_t     place = upper(ents, buf->n, time_us);
    if (place < buf->n) memmove(ents + place + 1, ents + place, (buf->n - place) * sizeof *ents);
    ents[place] = (wr_join_ent){time_us, row};
    buf->n++;
}

void wr_join_buf_pop(wr_join_heap *heap, wr_join_buf *buf, uint32_t n) {
    wr_dassert(n <= buf->n);
    buf->n -= n;
    if (!buf->cap) return;
    buf->head += n;
    if (buf->n) return;
    wr_join_heap_give(heap, buf->at, buf->cap * sizeof *buf->at);
    buf->at = NULL;
    buf->cap = buf->head = 0;
}

void wr_join_buf_clear(wr_join_heap *heap, wr_join_buf *buf) {
    wr_join_ent *ents = wr_join_buf_ents(buf);
    for (uint32_t i = 0; i < buf->n; i++) wr_join_row_free(heap, ents[i].row);
    wr_join_buf_pop(heap, buf, buf->n);
}

void wr_join_buf_save(wr_join_buf *buf, wr_sbuf *out) {
    wr_join_ent *ents = wr_join_buf_ents(buf);
    wr_put_u32(out, buf->n);
    for (uint32_t i = 0; i < buf->n; i++) wr_join_row_save(ents[i].row, out);
}
bool wr_join_buf_load(wr_join_base *base, uint32_t side, wr_join_buf *buf, wr_reader *in) {
    uint32_t n = wr_get_u32(in);
    for (uint32_t i = 0; i < n; i++) {
        wr_join_row *row = wr_join_row_load(base, side, in);
        if (!row) return false;
        wr_join_buf_add(base->heap, buf, row->time_us, row);
    }
    return !in->bad;
}

/* ---- wheel ----
 * With times biased to unsigned: bucket 0 holds what is due at the clock; bucket k holds times whose highest bit that differs from the clock
 * is bit k-1. When the clock moves to `now` and the highest bit in which it changes is h-1, all of the buckets below h are past (they agree with
 * the old clock in bit h-1, which was 0), those above h keep their bucket, and only bucket h is sorted anew. */

static uint64_t biased(int64_t us) { return (uint64_t)us ^ UINT64_C(1) << 63; }
static uint32_t bucket_of(uint64_t base, uint64_t at) { return at <= base ? 0 : 64 - (uint32_t)__builtin_clzll(at ^ base); }

void wr_join_wheel_init(wr_join_wheel *wheel, wr_account *acct) { *wheel = (wr_join_wheel){.acct = acct}; }

static void recharge(wr_join_wheel *wheel, uint32_t old_cap, uint32_t cap) {
    if (wheel->acct && cap != old_cap) wr_account_add(wheel->acct, ((int64_t)cap - old_cap) * (int64_t)sizeof(wr_join_due));
}
static void drop_bucket(wr_join_wheel *wheel, wr_join_dues *b) {
    recharge(wheel, b->cap, 0);
    wr_arr_free(b);
}
void wr_join_wheel_free(wr_join_wheel *wheel) {
    for (uint32_t i = 0; i < 65; i++) drop_bucket(wheel, &wheel->bucket[i]);
    wheel->n = 0;
}
static void put(wr_join_wheel *wheel, wr_join_due due) {
    wr_join_dues *b = &wheel->bucket[bucket_of(wheel->base, biased(due.at_us))];
    uint32_t      cap = b->cap;
    wr_arr_push(b, due);
    recharge(wheel, cap, b->cap);
}
void wr_join_wheel_add(wr_join_wheel *wheel, int64_t at_us, uint64_t what) {
    put(wheel, (wr_join_due){at_us, what});
    wheel->n++;
}

static void move_all(wr_join_wheel *wheel, wr_join_dues *from, wr_join_dues *out) {
    if (!from->n) return;
    if (out->cap - out->n < from->n) {
        out->cap = WR_MAX(out->n + from->n, out->cap * 2);
        out->at = wr_realloc(out->at, out->cap * sizeof *out->at);
    }
    memcpy(out->at + out->n, from->at, from->n * sizeof *from->at);
    out->n += from->n;
    wheel->n -= from->n;
    from->n = 0;
    if (from->cap > 4096) drop_bucket(wheel, from);
}

void wr_join_wheel_advance(wr_join_wheel *wheel, int64_t now_us, wr_join_dues *out) {
    uint64_t now = biased(now_us);
    move_all(wheel, &wheel->bucket[0], out);
    if (now <= wheel->base) return;
    uint32_t h = 64 - (uint32_t)__builtin_clzll(wheel->base ^ now);
    for (uint32_t i = 1; i < h; i++) move_all(wheel, &wheel->bucket[i], out);
    wheel->base = now;
    wr_join_dues *b = &wheel->bucket[h];
    uint32_t      n = b->n;
    b->n = 0;
    for (uint32_t i = 0; i < n; i++) { /* each goes to a lower bucket or out, never back here */
        if (b->at[i].at_us <= now_us) {
            wr_arr_push(out, b->at[i]);
            wheel->n--;
        } else {
            put(wheel, b->at[i]);
        }
    }
    if (b->cap > 4096) drop_bucket(wheel, b);
}

int64_t wr_join_wheel_first(const wr_join_wheel *wheel) {
    for (uint32_t i = 0; i < 65; i++) {
        const wr_join_dues *b = &wheel->bucket[i];
        if (!b->n) continue;
        int64_t first = WR_TIME_MAX;
        for (uint32_t j = 0; j < b->n; j++) first = WR_MIN(first, b->at[j].at_us);
        return first;
    }
    return WR_TIME_MAX;
}
int64_t wr_join_wheel_bytes(const wr_join_wheel *wheel) {
    int64_t bytes = 0;
    for (uint32_t i = 0; i < 65; i++) bytes += (int64_t)wheel->bucket[i].cap * (int64_t)sizeof(wr_join_due);
    return bytes;
}

/* ---- what stored rows cost, for the bill ---- */

double wr_join_piece_bytes(double bytes) { /* in its size class; a fractional size is an average of many */
    double classes = bytes <= SMALL_MAX ? 16.0 : 0;
    if (!classes) return bytes <= LARGE_MIN ? bytes * 1.4 : bytes; /* powers of two */
    double whole = (double)(uint64_t)bytes;
    return whole < bytes ? bytes + 8 : (double)(((uint64_t)bytes + 15) / 16 * 16);
}

double wr_join_heap_slack_bytes(double used) { return WR_MIN(used / 3, BLOCK_MAX / 2.0); } /* blocks double up to that size; the last is half full */
/* One of so many due times in a wheel. As the clock runs, an entry goes through about seven buckets, and each keeps the room for up to 4,096. */
double wr_join_due_bytes(double n) {
    double room = 7 * WR_MIN(n, 4096.0) + WR_MAX(n - 4096, 0.0) * 1.4;
    return n > 0 ? sizeof(wr_join_due) * WR_MAX(room / n, 1.4) : sizeof(wr_join_due) * 1.4;
}

/* The mean capacity of arrays that grow by doubling from `first`, when a key has 1 + Poisson(per_key - 1) rows; in_place: one needs no array. */
double wr_join_array_cap(double per_key, uint32_t first, bool in_place) {
    double more = per_key - 1, p, sum = 0;
    if (more <= 0) return in_place ? 0 : first;
    if (more > 200) return per_key * 1.4;
    p = exp(-more);
    for (uint32_t k = 0; k < 600 && (p > 1e-9 || k < more); k++) {
        uint32_t n = k + 1, cap = first;
        while (cap < n) cap *= 2;
        sum += p * (in_place && n == 1 ? 0 : cap);
        p *= more / (k + 1);
    }
    return sum;
}
