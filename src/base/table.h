/* base/table.h: an include-template for hash tables whose rows live in a slab. No include guard: include it once per table type.
 *
 * Idea       linear probing over 8-byte slots: 16 bits of the hash as a salt, 48 bits row number + 1 (0 = empty). The row keeps its
 *            full hash, so growing and removing never touch keys. Load <= 0.7; removal shifts back, so there are no
 *            tombstones. A slot's place comes from all bits of the hash by multiplication: it does not matter which bits chose
 *            the key group.
 * Use        #define WR_TABLE_NAME  ages                       names the struct and prefixes the functions
 *            #define WR_TABLE_ROW   struct age_row              must have a member `uint64_t hash`
 *            #define WR_TABLE_KEY   struct age_key
 *            #define WR_TABLE_EQUAL(row, key) ((row)->id == (key)->id)     both are pointers to const
 *            #include "base/table.h"                           undefines all four again
 *            ages_find, ages_insert, ages_remove, ages_find_batch, ages_each, ages_reserve, ages_bytes, ages_free; {0} is empty.
 * Invariant  pointers to rows hold until the next insert or reserve (the slab moves when it grows); row numbers hold for life.
 * Source     Knuth, TAOCP 3, 6.4, algorithm R (removal).
 * Thread     one owner. Memory: wr_malloc; charge ages_bytes() to your account once per batch.                       */
#include "base/mem.h"

#define WR_TABLE_JOIN2(a, b) a##_##b
#define WR_TABLE_JOIN(a, b) WR_TABLE_JOIN2(a, b)
#define T_(name) WR_TABLE_JOIN(WR_TABLE_NAME, name)
#define T_SALT_ UINT64_C(0xFFFF000000000000)

typedef struct WR_TABLE_NAME {
    uint64_t     *slots;
    WR_TABLE_ROW *rows;
    uint64_t      n, n_slots;            /* live rows; slots, a power of two */
    uint64_t      n_used, room;          /* rows of the slab ever used, allocated */
    uint64_t      free_head;             /* row number + 1 of a removed row; the next one stands in its hash */
    int           shift;                 /* 64 - log2(n_slots) */
} WR_TABLE_NAME;

WR_INLINE uint64_t T_(home)(const WR_TABLE_NAME *t, uint64_t hash) { return hash * UINT64_C(0x9E3779B97F4A7C15) >> t->shift; }
WR_INLINE uint64_t T_(number)(const WR_TABLE_NAME *t, const WR_TABLE_ROW *row) { return (uint64_t)(row - t->rows); }

WR_UNUSED static void T_(free)(WR_TABLE_NAME *t) {
    wr_free(t->slots);
    wr_free(t->rows);
    memset(t, 0, sizeof *t);
}

WR_UNUSED static size_t T_(bytes)(const WR_TABLE_NAME *t) { return t->n_slots * 8 + t->room * sizeof(WR_TABLE_ROW); }

static void T_(rehash)(WR_TABLE_NAME *t, uint64_t n_slots) {
    uint64_t *old = t->slots, n_old = t->n_slots;
    t->slots = wr_calloc(n_slots, 8);
    t->n_slots = n_slots;
    t->shift = 64 - __builtin_ctzll(n_slots);
    for (uint64_t i = 0; i < n_old; i++) {
        if (!old[i]) continue;
        uint64_t at = T_(home)(t, t->rows[(old[i] & ~T_SALT_) - 1].hash);
        while (t->slots[at]) at = (at + 1) & (n_slots - 1);
        t->slots[at] = old[i];
    }
    wr_free(old);
}

/* Room for n rows in all. */
WR_UNUSED static void T_(reserve)(WR_TABLE_NAME *t, uint64_t n) {
    uint64_t n_slots = t->n_slots ? t->n_slots : 16;
    while (n > n_slots / 10 * 7) n_slots *= 2;
    if (n_slots != t->n_slots) T_(rehash)(t, n_slots);
    if (n <= t->room) return;
    uint64_t room = t->room + t->room / 2;
    if (room < 8) room = 8;
    t->room = n > room ? n : room;
    t->rows = wr_realloc(t->rows, t->room * sizeof(WR_TABLE_ROW));
}

WR_UNUSED static WR_TABLE_ROW *T_(find)(const WR_TABLE_NAME *t, uint64_t hash, const WR_TABLE_KEY *key) {
    if (!t->n) return NULL;
    uint64_t mask = t->n_slots - 1, salt = hash & T_SALT_;
    for (uint64_t at = T_(home)(t, hash), slot; (slot = t->slots[at]) != 0; at = (at + 1) & mask) {
        if ((slot & T_SALT_) != salt) continue;
        WR_TABLE_ROW *row = &t->rows[(slot & ~T_SALT_) - 1];
        if (row->hash == hash && WR_TABLE_EQUAL((const WR_TABLE_ROW *)row, key)) return row;
    }
    return NULL;
}

/* The row of the key; if it is new, a zeroed row whose hash is set: the caller stores the key in it. */
WR_UNUSED static WR_TABLE_ROW *T_(insert)(WR_TABLE_NAME *t, uint64_t hash, const WR_TABLE_KEY *key, bool *is_new) {
    WR_TABLE_ROW *row = T_(find)(t, hash, key);
    *is_new = !row;
    if (row) return row;
    T_(reserve)(t, t->n + 1);
    uint64_t number = t->free_head;
    if (number) t->free_head = t->rows[number - 1].hash;
    else number = ++t->n_used;
    uint64_t at = T_(home)(t, hash);
    while (t->slots[at]) at = (at + 1) & (t->n_slots - 1);
    t->slots[at] = (hash & T_SALT_) | number;
    t->n++;
    row = &t->rows[number - 1];
    memset(row, 0, sizeof *row);
    row->hash = hash;
    return row;
}

/* `row` points into the table; what the row owns is the caller's to free before. */
WR_UNUSED static void T_(remove)(WR_TABLE_NAME *t, WR_TABLE_ROW *row) {
    uint64_t number = T_(number)(t, row) + 1, mask = t->n_slots - 1, at = T_(home)(t, row->hash);
    while ((t->slots[at] & ~T_SALT_) != number) {
        wr_assert(t->slots[at]);
        at = (at + 1) & mask;
    }
    for (uint64_t next = (at + 1) & mask; t->slots[next]; next = (next + 1) & mask) {
        uint64_t home = T_(home)(t, t->rows[(t->slots[next] & ~T_SALT_) - 1].hash);
        if (((next - home) & mask) < ((next - at) & mask)) continue; /* its home lies behind the hole: it must stay */
        t->slots[at] = t->slots[next];
        at = next;
    }
    t->slots[at] = 0;
    row->hash = t->free_head;
    t->free_head = number;
    t->n--;
}

/* out[i] = row of keys[i] or NULL. Three passes a block, so that cache misses of different keys overlap. */
WR_UNUSED static void T_(find_batch)(const WR_TABLE_NAME *t, const uint64_t *hash, const WR_TABLE_KEY *keys, uint32_t n, WR_TABLE_ROW **out) {
    enum { BLOCK = 32 };
    for (uint32_t from = 0; from < n; from += BLOCK) {
        uint32_t to = n - from < BLOCK ? n : from + BLOCK;
        if (t->n) {
            for (uint32_t i = from; i < to; i++) WR_PREFETCH(&t->slots[T_(home)(t, hash[i])]);
            for (uint32_t i = from; i < to; i++) {
                uint64_t slot = t->slots[T_(home)(t, hash[i])];
                if (slot) WR_PREFETCH(&t->rows[(slot & ~T_SALT_) - 1]);
            }
        }
        for (uint32_t i = from; i < to; i++) out[i] = T_(find)(t, hash[i], &keys[i]);
    }
}

/* All live rows, in no order: `uint64_t c = 0; while ((row = ages_each(&t, &c)))`. The row just given may be changed, but not removed. */
WR_UNUSED static WR_TABLE_ROW *T_(each)(const WR_TABLE_NAME *t, uint64_t *cursor) {
    while (*cursor < t->n_slots) {
        uint64_t slot = t->slots[(*cursor)++];
        if (slot) return &t->rows[(slot & ~T_SALT_) - 1];
    }
    return NULL;
}

#undef T_
#undef T_SALT_
#undef WR_TABLE_JOIN
#undef WR_TABLE_JOIN2
#undef WR_TABLE_NAME
#undef WR_TABLE_ROW
#undef WR_TABLE_KEY
#undef WR_TABLE_EQUAL
