/* state/state.h: keyed state of one operator instance: a hash map from encoded key to a fixed-size value, and timers. (contract)
 *
 * Idea       open addressing, linear probing, 16-bit salt + slot number in 8 bytes, full hash kept in the slot, batched lookup with
 *            prefetch (DuckDB, SwissTable, style: one probe pass a batch). Slots are stable numbers in a slab, so operators can keep
 *            them in lists and timers; values may move when the slab grows, so pointers live only until the next create.
 * Key group  group = wr_key_group(hash): the unit in which state is saved, restored and moved between workers. The hash function and this
 *            mapping are part of every stored format.
 * Memory     all bytes (entries, slab, key bytes, what operators report by wr_kmap_charge) are charged to the account.
 * Tier       with opts.tier, a map may be *attached*: changed entries are marked, a save stages only those (state/tier.h), and what is cold may be
 *            evicted: whole entries (WR_SPILL_ENTRY: nobody may hold a slot from one call of the operator to the next), or only the values behind a
 *            slot that stays (WR_SPILL_VALUE: timers and lists may hold slots; wr_kmap_warm before the value is used; the fixed part stays as value_free left it and
 *            value_load fills it again). Evictions happen only
 *            at the start of a find with create and in wr_kmap_shrink, never between a find and the use of its slots.
 * Thread     owned by one worker.                                                                                          */
#pragma once
#include "state/tier.h"
#include "type/rowcodec.h"

enum { WR_KEY_GROUPS_DEFAULT = 128 };
WR_INLINE uint32_t wr_key_group(uint64_t hash, uint32_t n_groups) { return (uint32_t)(((hash >> 32) * n_groups) >> 32); }
WR_INLINE uint32_t wr_group_worker(uint32_t group, uint32_t n_groups, uint32_t n_workers) { return group * n_workers / n_groups; }

typedef struct wr_kmap wr_kmap;
typedef enum wr_spill { WR_SPILL_NONE, WR_SPILL_VALUE, WR_SPILL_ENTRY } wr_spill; /* attached maps of any kind are saved incrementally */
typedef struct wr_kmap_opts {
    const char    *name;            /* of the state, stable: part of the checkpoint */
    const wr_type *key_types;
    uint32_t       n_key_types;     /* 0 = one global entry */
    uint32_t       value_bytes;     /* fixed part, zeroed on create, 16-byte aligned */
    uint32_t       expected;        /* keys that will probably come: room for them is made with the first; 0 = start small */
    wr_account    *acct;
    wr_tier       *tier;            /* NULL: memory only */
    const char    *table;           /* with tier: stable name of the operator; the table is table/name */
    wr_str         prefix;          /* with tier: tells maps of one table apart (a pane's start, big-endian); copied */
    wr_spill       spill;
    uint32_t       n_groups, group_from, group_to; /* with tier: of the job; of this instance */
    const wr_rowcodec *codec;       /* of key_types, outliving the map; NULL: the map makes its own when it needs one */
    void          *self;            /* passed to the functions below; each may be NULL when the value is plain bytes */
    void (*value_free)(void *self, void *value);
    void (*value_save)(void *self, const void *value, wr_sbuf *out);
    bool (*value_load)(void *self, void *value, wr_reader *in); /* false = damaged */
    void (*value_new)(void *self, uint32_t slot, void *value);  /* after an entry was restored from an image and before it may be evicted: timers, counts */
    bool (*value_expired)(void *self, const void *value);       /* wr_kmap_sweep removes it */
    /* Bytes that values own and that wr_kmap_charge was not told of; may call wr_kmap_charge to bring it up to date. Asked while evicting. */
    int64_t (*heap_bytes)(void *self);
} wr_kmap_opts;
wr_kmap *wr_kmap_new(const wr_kmap_opts *opts);
void     wr_kmap_free(wr_kmap *map);
#define WR_SLOT_NONE UINT32_MAX
/* slots[i] for the i-th live row (wr_batch_row(batch, i)). hash is indexed by physical row (batch->hash of the exchange on the same columns).
 * With create, absent keys get a zeroed value and created[i] = 1 on their first row; without, WR_SLOT_NONE. created may be NULL. */
wr_status wr_kmap_find(wr_kmap *map, const wr_batch *batch, const uint32_t *key_cols, const uint64_t *hash, bool create, uint32_t *slots,
                       uint8_t *created, wr_err *err); /* entries in the tier are brought back; found slots hold their values; create marks them changed */
/* As find_one, for the key that another map of the same key types holds in `slot`. */
wr_status wr_kmap_find_like(wr_kmap *map, const wr_kmap *from, uint32_t slot, bool create, uint32_t *out, bool *created, wr_err *err);
/* values[i] = the value of slots[i]; slots that are WR_SLOT_NONE give NULL. Valid until the next create. */
void     wr_kmap_values(const wr_kmap *map, const uint32_t *slots, uint32_t n, void **values);
wr_status wr_kmap_find_one(wr_kmap *map, wr_str key, uint64_t hash, bool create, uint32_t *out, bool *created, wr_err *err);
void    *wr_kmap_value(wr_kmap *map, uint32_t slot);                   /* to be changed: marks it so; must be warm */
const void *wr_kmap_peek(const wr_kmap *map, uint32_t slot);           /* only read; must be warm */
wr_status wr_kmap_warm(wr_kmap *map, uint32_t slot, wr_err *err);      /* WR_SPILL_VALUE: brings the value of a kept slot back; cheap when it is there */
wr_status wr_kmap_warm_all(wr_kmap *map, const uint32_t *slots, uint32_t n, wr_err *err); /* in one read; slots may repeat */
bool     wr_kmap_is_warm(const wr_kmap *map, uint32_t slot);
bool     wr_kmap_spills(const wr_kmap *map);                           /* a limit has an effect */
bool     wr_kmap_has_away(const wr_kmap *map);                         /* some entries or values are in the tier only */
void     wr_kmap_prefetch(const wr_kmap *map, uint32_t slot);
/* Between uses of slots, where no find with create comes for long: what is over the limit leaves now. */
wr_status wr_kmap_relax(wr_kmap *map, wr_err *err);
uint64_t wr_kmap_hash(const wr_kmap *map, uint32_t slot);
wr_str   wr_kmap_key(const wr_kmap *map, uint32_t slot);               /* encoded; valid until the next create */
/* Decodes the key columns of a slot into row `row` of dst[0..n_key_types-1]. */
void     wr_kmap_key_get(const wr_kmap *map, uint32_t slot, wr_vec *dst, uint32_t row, wr_mem *mem);
/* The same for n slots, into the rows from 0 on of columns that have no NULL yet. */
void     wr_kmap_keys_get(const wr_kmap *map, const uint32_t *slots, uint32_t n, wr_vec *dst, wr_mem *mem);
void     wr_kmap_remove(wr_kmap *map, uint32_t slot);                  /* frees the value */
uint64_t wr_kmap_count(const wr_kmap *map);                            /* all entries, in memory and in the tier */
uint32_t wr_kmap_next(const wr_kmap *map, uint32_t slot);              /* live slots in memory, in slot order; start with WR_SLOT_NONE, ends with it */
/* Every entry once, those in memory first, then those in the tier a piece at a time: up to max slots, warm until the next call on this cursor or a
 * find with create. *n = 0: the end. Entries may be removed as they come; entries created meanwhile may or may not come, nor those that a find of
 * this map brings back. Zero a cursor to start; while it is open nothing is evicted but what it brought. */
typedef struct wr_kmap_cursor { uint32_t slot; bool open, in_tier, done; wr_sbuf key; WR_ARR(uint32_t) loaded; } wr_kmap_cursor;
wr_status wr_kmap_scan(wr_kmap *map, wr_kmap_cursor *cursor, uint32_t *slots, uint32_t max, uint32_t *n, wr_err *err);
void     wr_kmap_scan_end(wr_kmap *map, wr_kmap_cursor *cursor);      /* frees it; also before its end */
/* Looks at the next n entries, in memory and in the tier, round and round, and removes those that value_expired() says are; *removed counts. */
wr_status wr_kmap_sweep(wr_kmap *map, uint32_t n, uint64_t *removed, wr_err *err);
/* What may stay in memory; 0 = everything. Over it, cold entries leave (second chance, by a bit that a find sets) at the next find with create.
 * The runtime's budget sets it; a map that is not attached yet is attached then. */
void     wr_kmap_limit(wr_kmap *map, int64_t bytes);
wr_status wr_kmap_shrink(wr_kmap *map, int64_t bytes, wr_err *err);    /* now, and gives the memory back: only between two calls of the operator */
typedef struct wr_kmap_tier_usage { /* entries: in the tier only; since the start: keys that came back and that left, keys looked for there, time in reads and writes */
    uint64_t entries, loads, evictions, asked, read_ns, write_ns;
} wr_kmap_tier_usage;
void     wr_kmap_tier_usage_get(const wr_kmap *map, wr_kmap_tier_usage *out);
int64_t  wr_kmap_bytes(const wr_kmap *map);                            /* own bytes + charged */
void     wr_kmap_charge(wr_kmap *map, int64_t bytes);                  /* memory that values own outside the slab */
void     wr_kmap_clear(wr_kmap *map);                                  /* also what the tier has of it; wr_kmap_free leaves that */
/* Writes what waits for the tier; false: an image is being made (or it failed: wr_tier_error), try later. For maps that are cleared and about to be freed. */
bool     wr_kmap_settle(wr_kmap *map);
/* Bytes that one entry costs on average with hash slack, for a key of key_bytes encoded: the bill uses the same arithmetic. */
double   wr_kmap_entry_bytes(uint32_t value_bytes, double key_bytes);
/* Bytes of one map of `count` such entries: small maps have much slack. expected: as in the options, 0 = none. */
double   wr_kmap_map_bytes(double entry_bytes, double count, double expected);
/* Checkpoint image: name, version, then entries (hash, key, value) of a map that is not attached; of an attached one the table, its groups and the
 * number of entries of each group, while what changed is staged in the tier. load keeps only entries whose group lies in [from, to). */
wr_status wr_kmap_save(wr_kmap *map, wr_sbuf *out, wr_err *err);
wr_status wr_kmap_load(wr_kmap *map, wr_reader *in, uint32_t n_groups, uint32_t from, uint32_t to, wr_err *err);
bool      wr_kmap_is_marker(wr_reader in);                              /* what a load would read now is the image of an attached map */
/* Which part of `total`, a sum over the entries of the image loaded last, belongs to entries that the load has left in the tier unread (their
 * number decides); those that it read were told to value_new. */
uint64_t  wr_kmap_unread_part(const wr_kmap *map, uint64_t total);

/* Event-time timers: 4-ary heap of (deadline, payload); ties in insertion order. */
typedef struct wr_timers wr_timers;
wr_timers *wr_timers_new(wr_account *acct);
void       wr_timers_free(wr_timers *t);
double     wr_timer_bytes(void); /* of one, with slack: for the bill */
void       wr_timers_add(wr_timers *t, int64_t deadline_us, uint64_t payload);
bool       wr_timers_pop(wr_timers *t, int64_t now_us, int64_t *deadline_us, uint64_t *payload); /* the least with deadline <= now_us */
uint32_t   wr_timers_count(const wr_timers *t);
int64_t    wr_timers_first(const wr_timers *t); /* WR_TIME_MAX when empty */

/* Approximate distinct counting for samples and the bill: HyperLogLog, 2^12 registers (4 KiB, error about 1.6 %). Flajolet et al. 2007 with
 * Heule et al.'s small-range correction. */
typedef struct wr_hll { uint8_t reg[4096]; } wr_hll;
void   wr_hll_add(wr_hll *h, uint64_t hash);
void   wr_hll_merge(wr_hll *into, const wr_hll *from);
double wr_hll_count(const wr_hll *h);

/* The most frequent keys of a stream, by hash (sketch.c). Zeroed is empty. A key whose count - error is above total / WR_SKETCH_COUNTERS is frequent for sure. */
enum { WR_SKETCH_COUNTERS = 64 };
typedef struct wr_sketch {
    uint32_t n;
    uint64_t total;
    uint64_t hash[WR_SKETCH_COUNTERS];
    uint32_t count[WR_SKETCH_COUNTERS], error[WR_SKETCH_COUNTERS];
} wr_sketch;
uint32_t wr_sketch_add(wr_sketch *s, uint64_t hash, bool *fresh); /* its counter; fresh: it had none, and took one over */
void     wr_sketch_halve(wr_sketch *s);                           /* older rows count half */
