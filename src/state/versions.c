/* state/versions.c: see versions.h.
 *
 * Slab       sizes are rounded up to classes, sixteen bytes apart at first, then four to a doubling; chunks are cut up, pieces come back to a list a class. What is larger
 *            than a chunk's quarter is malloc's.
 * Height     of a key in the skip list: a quarter of the keys has one more than one, and so on; drawn by the list itself, so a run is exact.            */
#include "state/versions.h"
#include "base/hash.h"

enum { HEIGHT_MAX = 16, CHUNK_BYTES = 64 << 10, LARGE = CHUNK_BYTES / 4, FINE = 256, CLASSES = 64, TOUCHES = 510, AHEAD = 4 };

struct wr_vrow {
    wr_version *newest;
    uint32_t    key_len;
    uint32_t    touches : 27, height : 5; /* touches: how many of the list are its */
    wr_vrow    *next[];                   /* then the key */
};

typedef struct touches { struct touches *next; uint32_t from, to; wr_touch at[TOUCHES]; } touches;
typedef struct piece { struct piece *next; } piece;
typedef struct chunk { struct chunk *next; uint64_t pad; char room[]; } chunk;
typedef struct large { struct large *next, **self; uint64_t pad[2]; char room[]; } large; /* so that free finds them all */

struct wr_versions {
    wr_vrow *head[HEIGHT_MAX];
    uint32_t height;
    uint64_t rng, rows;
    int64_t  bytes, old_bytes;
    touches *first, *last;
    uint64_t n_touched;
    chunk   *chunks;
    char    *room, *room_end;
    piece   *free[CLASSES];
    large   *larges;
};

/* ---- the slab ---- */
static uint32_t class_of(size_t size, size_t *rounded) {
    if (size <= FINE) {
        *rounded = (size + 15) / 16 * 16;
        return (uint32_t)(*rounded / 16);
    }
    unsigned log = 63 - (unsigned)__builtin_clzll(size - 1); /* 2^log < size <= 2^(log + 1) */
    size_t   step = (size_t)1 << (log - 2);
    *rounded = (size + step - 1) / step * step;
    return FINE / 16 + 1 + (log - 8) * 4 + (uint32_t)((*rounded - ((size_t)1 << log)) / step) - 1;
}

static void *take(wr_versions *v, size_t size) {
    size_t rounded;
    if (size > LARGE) {
        large *l = wr_malloc(sizeof *l + size);
        *l = (large){.next = v->larges, .self = &v->larges};
        if (l->next) l->next->self = &l->next;
        v->larges = l;
        v->bytes += (int64_t)(sizeof *l + size);
        return l->room;
    }
    uint32_t c = class_of(size, &rounded);
    if (v->free[c]) {
        piece *p = v->free[c];
        v->free[c] = p->next;
        __builtin_prefetch(p->next); /* it has not been touched since it was given back */
        return p;
    }
    if ((size_t)(v->room_end - v->room) < rounded) {
        chunk *more = wr_malloc(CHUNK_BYTES);
        more->next = v->chunks;
        v->chunks = more;
        v->room = more->room, v->room_end = (char *)more + CHUNK_BYTES;
        v->bytes += CHUNK_BYTES;
    }
    char *p = v->room;
    v->room += rounded;
    return p;
}

static void give(wr_versions *v, void *at, size_t size) {
    size_t rounded;
    if (size > LARGE) {
        large *l = (large *)(void *)((char *)at - offsetof(large, room));
        *l->self = l->next;
        if (l->next) l->next->self = l->self;
        v->bytes -= (int64_t)(sizeof *l + size);
        wr_free(l);
        return;
    }
    uint32_t c = class_of(size, &rounded);
    piece   *p = at;
    p->next = v->free[c];
    v->free[c] = p;
}

/* ---- life ---- */
wr_versions *wr_versions_new(void) {
    wr_versions *v = wr_calloc(1, sizeof *v);
    v->height = 1;
    v->rng = UINT64_C(0x9e3779b97f4a7c15);
    v->bytes = (int64_t)sizeof *v;
    return v;
}

void wr_versions_free(wr_versions *v) {
    if (!v) return;
    for (chunk *c = v->chunks, *next; c; c = next) next = c->next, wr_free(c);
    for (large *l = v->larges, *next; l; l = next) next = l->next, wr_free(l);
    for (touches *t = v->first, *next; t; t = next) next = t->next, wr_free(t);
    wr_free(v);
}

int64_t  wr_versions_bytes(const wr_versions *v) { return v->bytes; }
int64_t  wr_versions_old_bytes(const wr_versions *v) { return v->old_bytes; }
uint64_t wr_versions_rows(const wr_versions *v) { return v->rows; }
uint64_t wr_versions_touched(const wr_versions *v) { return v->n_touched; }

/* ---- keys ---- */
static size_t row_size(const wr_vrow *r) { return sizeof *r + r->height * sizeof(wr_vrow *) + r->key_len; }
static size_t version_size(uint32_t len) { return offsetof(wr_version, bytes) + len; }

wr_str wr_vrow_key(const wr_vrow *r) { return (wr_str){(const char *)(r->next + r->height), r->key_len}; }
wr_vrow *wr_vrow_next(const wr_vrow *r) { return r->next[0]; }
const wr_version *wr_vrow_newest(const wr_vrow *r) { return r->newest; }
const wr_version *wr_vrow_at(const wr_vrow *r, uint64_t version) {
    const wr_version *at = r->newest;
    while (at && at->from > version) at = at->older;
    return at;
}

static int compare(const wr_vrow *r, wr_str key) {
    size_t n = WR_MIN((size_t)r->key_len, key.len);
    int    d = n ? memcmp((const char *)(r->next + r->height), key.ptr, n) : 0;
    return d ? d : r->key_len < key.len ? -1 : r->key_len > key.len;
}

/* before[h]: the link of height h that points to the first row not less than the key. */
static wr_vrow *descend(const wr_versions *v, wr_str key, bool behind, wr_vrow ***before) {
    wr_vrow **links = (wr_vrow **)(uintptr_t)v->head;
    for (uint32_t h = v->height; h-- > 0;) {
        for (wr_vrow *r; (r = links[h]) != NULL;) {
            int d = compare(r, key);
            if (d > 0 || (d == 0 && !behind)) break;
            links = r->next;
        }
        if (before) before[h] = &links[h];
    }
    return links[0];
}

wr_vrow *wr_versions_seek(const wr_versions *v, wr_str key, bool behind) { return descend(v, key, behind, NULL); }
wr_vrow *wr_versions_find(const wr_versions *v, wr_str key) {
    wr_vrow *r = descend(v, key, false, NULL);
    return r && compare(r, key) == 0 ? r : NULL;
}

static uint32_t draw_height(wr_versions *v) {
    uint64_t x = v->rng;
    x ^= x << 13, x ^= x >> 7, x ^= x << 17;
    v->rng = x;
    uint32_t h = 1;
    for (x >>= 16; h < HEIGHT_MAX && !(x & 3); x >>= 2) h++;
    return h;
}

static wr_vrow *find_or_make(wr_versions *v, wr_str key) {
    wr_vrow **before[HEIGHT_MAX], *r = descend(v, key, false, before);
    if (r && compare(r, key) == 0) return r;
    uint32_t h = draw_height(v);
    for (; v->height < h; v->height++) before[v->height] = &v->head[v->height];
    r = take(v, sizeof *r + h * sizeof(wr_vrow *) + key.len);
    r->newest = NULL;
    r->key_len = (uint32_t)key.len, r->touches = 0, r->height = h & 31;
    for (uint32_t i = 0; i < h; i++) r->next[i] = *before[i], *before[i] = r;
    if (key.len) memcpy(r->next + h, key.ptr, key.len);
    return r;
}

static void unlink_row(wr_versions *v, wr_vrow *r) {
    wr_vrow **before[HEIGHT_MAX];
    descend(v, wr_vrow_key(r), false, before);
    for (uint32_t i = 0; i < r->height; i++) *before[i] = r->next[i];
    give(v, r, row_size(r));
}

/* ---- touches ---- */
static void touch(wr_versions *v, wr_vrow *r, uint64_t version) {
    if (!v->last || v->last->to == TOUCHES) {
        touches *more = wr_malloc(sizeof *more);
        more->next = NULL, more->from = more->to = 0;
        if (v->last) v->last->next = more;
        else v->first = more;
        v->last = more;
        v->bytes += (int64_t)sizeof *more;
        v->old_bytes += (int64_t)sizeof *more;
    }
    v->last->at[v->last->to++] = (wr_touch){r, version};
    r->touches++;
    v->n_touched++;
}

bool wr_versions_touch(const wr_versions *v, uint64_t since, wr_touch_at *at, wr_touch *out) {
    const touches *t = at->in ? at->in : v->first;
    uint32_t       i = at->in ? at->next : t ? t->from : 0;
    for (; t; t = t->next, i = t ? t->from : 0) {
        if (i < t->to && t->at[t->to - 1].version <= since) continue;
        while (i < t->to && t->at[i].version <= since) i++;
        if (i == t->to) continue;
        *out = t->at[i];
        *at = (wr_touch_at){t, i + 1};
        return true;
    }
    return false;
}

/* ---- writing ---- */
static wr_version *new_version(wr_versions *v, uint64_t now, wr_str bytes, uint32_t count, wr_version *older) {
    uint32_t    len = count ? (uint32_t)bytes.len : 0;
    wr_version *n = take(v, version_size(len));
    n->older = older, n->from = now, n->count = count, n->len = len;
    if (len) memcpy(n->bytes, bytes.ptr, len);
    return n;
}

wr_vrow *wr_versions_set(wr_versions *v, wr_vrow *row, wr_str key, uint64_t now, wr_str bytes, uint32_t count) {
    wr_vrow    *r = row ? row : find_or_make(v, key);
    wr_version *newest = r->newest;
    v->rows = v->rows - (newest ? newest->count : 0) + count;
    if (newest && newest->from == now) {
        wr_version *older = newest->older;
        if (newest->len == (count ? bytes.len : 0)) {
            newest->count = count;
            if (newest->len) memcpy(newest->bytes, bytes.ptr, newest->len);
            return r;
        }
        r->newest = new_version(v, now, bytes, count, older);
        give(v, newest, version_size(newest->len));
        return r;
    }
    if (newest) v->old_bytes += (int64_t)version_size(newest->len);
    r->newest = new_version(v, now, bytes, count, newest);
    touch(v, r, now);
    return r;
}

/* ---- collecting ---- */
static void prune(wr_versions *v, wr_vrow *r, uint64_t horizon) {
    wr_version *at = r->newest;
    while (at && at->from > horizon) at = at->older; /* the one that is still seen */
    if (!at) return;
    for (wr_version *old = at->older, *next; old; old = next) {
        next = old->older;
        v->old_bytes -= (int64_t)version_size(old->len);
        give(v, old, version_size(old->len));
    }
    at->older = NULL;
    if (at != r->newest || at->count || r->touches) return;
    give(v, at, version_size(at->len));
    unlink_row(v, r);
}

bool wr_versions_collect(wr_versions *v, uint64_t horizon, uint32_t most) {
    while (v->first) {
        touches *t = v->first;
        for (; t->from < t->to && t->at[t->from].version <= horizon; most--) {
            if (!most) return false;
            if (t->from + 2 * AHEAD < t->to) __builtin_prefetch(t->at[t->from + 2 * AHEAD].row);
            if (t->from + AHEAD < t->to) __builtin_prefetch(t->at[t->from + AHEAD].row->newest);
            wr_vrow *r = t->at[t->from++].row;
            r->touches--;
            prune(v, r, horizon);
        }
        if (t->from < t->to || (t == v->last && t->to < TOUCHES)) return true;
        v->first = t->next;
        if (!v->first) v->last = NULL;
        v->bytes -= (int64_t)sizeof *t;
        v->old_bytes -= (int64_t)sizeof *t;
        wr_free(t);
    }
    return true;
}

double wr_versions_row_bytes(double key_bytes, double row_bytes) {
    return (double)sizeof(wr_vrow) + 4.0 / 3 * sizeof(wr_vrow *) + key_bytes + 8 + (double)offsetof(wr_version, bytes) + row_bytes + 8; /* 8: rounding up */
}
