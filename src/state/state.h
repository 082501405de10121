/* state/state.h: keyed state of one operator instance: a hash map from encoded key to a fixed-size value, and timers. (contract)
 *
 * Idea       open addressing, linear probing, 16-bit salt + slot number in 8 bytes, full hash kept in the slot, batched lookup with
 *            prefetch (DuckDB, SwissTable, style: one probe pass a batch). Slots are stable numbers in a slab, so operators can keep
 *            them in lists and timers; values may move when the slab grows, so pointers live only until the next create.
 * Key group  group = wr_key_group(hash): the unit in which state is saved, restored and moved between workers. The hash function and this
 *            mapping are part of every stored format.
 * Memory     all bytes (entries, slab, key bytes, what operators report by wr_kmap_charge) are charged to the account.
 * Thread     owned by one worker.                                                                                          */
#pragma once
#include "type/rowcodec.h"

enum { WR_KEY_GROUPS_DEFAULT = 128 };
WR_INLINE uint32_t wr_key_group(uint64_t hash, uint32_t n_groups) { return (uint32_t)(((hash >> 32) * n_groups) >> 32); }
WR_INLINE uint32_t wr_group_worker(uint32_t group, uint32_t n_groups, uint32_t n_workers) { return group * n_workers / n_groups; }

typedef struct wr_kmap wr_kmap;
typedef struct wr_kmap_opts {
    const char    *name;            /* of the state, stable: part of the checkpoint */
    const wr_type *key_types;
    uint32_t       n_key_types;     /* 0 = one global entry */
    uint32_t       value_bytes;     /* fixed part, zeroed on create, 16-byte aligned */
    uint32_t       expected;        /* keys that will probably come: room for them is made with the first; 0 = start small */
    wr_account    *acct;
    const wr_rowcodec *codec;       /* of key_types, outliving the map; NULL: the map makes its own when it needs one */
    void          *self;            /* passed to the functions below; each may be NULL when the value is plain bytes */
    void (*value_free)(void *self, void *value);
    void (*value_save)(void *self, const void *value, wr_sbuf *out);
    bool (*value_load)(void *self, void *value, wr_reader *in); /* false = damaged */
} wr_kmap_opts;
wr_kmap *wr_kmap_new(const wr_kmap_opts *opts);
void     wr_kmap_free(wr_kmap *map);
#define WR_SLOT_NONE UINT32_MAX
/* slots[i] for the i-th live row (wr_batch_row(batch, i)). hash is indexed by physical row (batch->hash of the exchange on the same columns).
 * With create, absent keys get a zeroed value and created[i] = 1 on their first row; without, WR_SLOT_NONE. created may be NULL. */
void wr_kmap_find(wr_kmap *map, const wr_batch *batch, const uint32_t *key_cols, const uint64_t *hash, bool create, uint32_t *slots,
                  uint8_t *created);
/* As find_one, for the key that another map of the same key types holds in `slot`. */
uint32_t wr_kmap_find_like(wr_kmap *map, const wr_kmap *from, uint32_t slot, bool create, bool *created);
/* values[i] = the value of slots[i]; slots that are WR_SLOT_NONE give NULL. Valid until the next create. */
void     wr_kmap_values(const wr_kmap *map, const uint32_t *slots, uint32_t n, void **values);
uint32_t wr_kmap_find_one(wr_kmap *map, wr_str key, uint64_t hash, bool create, bool *created);
void    *wr_kmap_value(wr_kmap *map, uint32_t slot);
uint64_t wr_kmap_hash(const wr_kmap *map, uint32_t slot);
wr_str   wr_kmap_key(const wr_kmap *map, uint32_t slot);               /* encoded; valid until the next create */
/* Decodes the key columns of a slot into row `row` of dst[0..n_key_types-1]. */
void     wr_kmap_key_get(const wr_kmap *map, uint32_t slot, wr_vec *dst, uint32_t row, wr_mem *mem);
void     wr_kmap_remove(wr_kmap *map, uint32_t slot);                  /* frees the value */
uint32_t wr_kmap_count(const wr_kmap *map);
uint32_t wr_kmap_next(const wr_kmap *map, uint32_t slot);              /* live slots in slot order; start with WR_SLOT_NONE, ends with it */
int64_t  wr_kmap_bytes(const wr_kmap *map);                            /* own bytes + charged */
void     wr_kmap_charge(wr_kmap *map, int64_t bytes);                  /* memory that values own outside the slab */
void     wr_kmap_clear(wr_kmap *map);
/* Bytes that one entry costs on average with hash slack, for a key of key_bytes encoded: the bill uses the same arithmetic. */
double   wr_kmap_entry_bytes(uint32_t value_bytes, double key_bytes);
/* Checkpoint image: name, version, then entries (hash, key, value). load keeps only entries whose group lies in [from, to). */
void     wr_kmap_save(const wr_kmap *map, wr_sbuf *out);
wr_status wr_kmap_load(wr_kmap *map, wr_reader *in, uint32_t n_groups, uint32_t from, uint32_t to, wr_err *err);

/* Event-time timers: 4-ary heap of (deadline, payload); ties in insertion order. */
typedef struct wr_timers wr_timers;
wr_timers *wr_timers_new(wr_account *acct);
void       wr_timers_free(wr_timers *t);
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
