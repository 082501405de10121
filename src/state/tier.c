/* state/tier.c: tables, batches, epochs and the account of the tier (tier.h); RocksDB itself is behind tier_rocks.h.
 *
 * Idea       a batch is one buffer of operations; an index over it is built when somebody first reads through it, so that a save, which nobody
 *            reads through, pays nothing. Table numbers are kept in table 0 of the database itself, so they are part of every image.
 * Order      batches are written in key order when they hold no range, equal keys in the order in which they came. Half a MiB and more at once becomes a
 *            sorted file of its own, past the memtable; less goes into the memtable, where it waits for more. So does what workers write where files are
 *            synced: a worker must not wait for the disk.
 * Writer     with opts.threads a thread of the tier's own, started by the first staged batch, writes what has come together, when that is enough for a file; wr_tier_image writes the rest and waits for its last one.
 *            The keys of one image are all different (a map stages an entry once), so who writes first does not matter.
 * Thread     `lock` guards opening, names, staged batches, debts, the writer's start and the first error; the database is published once, with release.               */
#include "state/tier.h"
#include "base/hash.h"
#include "state/tier_rocks.h"
#include <stdio.h>
#include <stdlib.h>

enum { TABLES_MAX = 65000, DEFAULT_BYTES = 64 << 20, LEAST_BYTES = 1 << 20, STAGE_BYTES_MIN = 1 << 20, STAGE_BYTES_MAX = 16 << 20 };
enum { INGEST_BYTES = 512 << 10, WRITE_BYTES_MAX = 6 << 20 }; /* of a batch that becomes a file of its own */
enum { WRITER_WAIT_US = 10000000, FULL_WAIT_US = 500 };

typedef struct batch_row { uint64_t hash; size_t at; } batch_row; /* at: of the last operation on the key */
typedef struct batch_key { const char *ops; wr_str key; } batch_key;
static bool row_is(const batch_row *row, const batch_key *key) {
    wr_rocks_op op;
    memcpy(&op, key->ops + row->at, sizeof op);
    return op.key_len == key->key.len && !memcmp(key->ops + row->at + sizeof op, key->key.ptr, op.key_len);
}
#define WR_TABLE_NAME batch_index
#define WR_TABLE_ROW batch_row
#define WR_TABLE_KEY batch_key
#define WR_TABLE_EQUAL(row, key) row_is(row, key)
#include "base/table.h"

struct wr_tier_batch {
    wr_tier    *tier;
    wr_sbuf     ops;
    uint32_t    n;
    bool        ranges;
    batch_index index;
    size_t      indexed; /* bytes of ops that the index knows */
    int64_t     charged;
};

typedef struct debt { const void *owner; void *self; bool (*some)(void *self); } debt;
static _Thread_local char this_thread; /* its address tells threads apart */

struct wr_tier {
    wr_world *world;
    char     *dir;
    wr_account *acct;
    int64_t   memory_bytes, filter_bytes, attach_bytes;
    wr_mutex *lock;
    _Atomic(wr_rocks *) db;
    bool      made;                 /* the working directory exists by us */
    WR_ARR(char *) names;           /* of table i + 1 */
    WR_ARR(wr_tier_batch *) staged;
    WR_ARR(debt) debts;
    _Atomic uint32_t n_debts, in_flight; /* in_flight: batches taken from `staged` and not written yet */
    _Atomic int64_t  staged_bytes;       /* with those in flight */
    _Atomic uint64_t image_bytes;        /* staged since the last image */
    bool      threads, scratch;
    _Atomic uint64_t ingested;           /* numbers the files */
    void     *writer;
    wr_bell  *writer_bell;
    _Atomic bool     writer_stop;
    _Atomic uint64_t epoch, imaged, reads, hits, writes, get_ns;
    _Atomic int64_t  charged, rocks_charged;
    bool      failed;
    wr_err    first;
};

struct wr_tier_scan {
    wr_tier       *tier;
    wr_rocks_scan *scan;
};

static wr_rocks *db_of(const wr_tier *tier) { return atomic_load_explicit(&((wr_tier *)(uintptr_t)tier)->db, memory_order_acquire); }

/* Keeps the first failure; gives it to the caller too. */
static wr_status failed(wr_tier *tier, wr_status status, const wr_err *what, wr_err *err) {
    if (status == WR_OK) return WR_OK;
    wr_mutex_lock(tier->lock);
    if (!tier->failed) tier->first = *what;
    tier->failed = true;
    wr_mutex_unlock(tier->lock);
    if (err) *err = *what;
    return status;
}

wr_tier *wr_tier_new(const wr_tier_opts *opts) {
    wr_tier *tier = wr_calloc(1, sizeof *tier);
    tier->world = opts->world;
    tier->dir = wr_strdup(opts->dir);
    tier->acct = opts->acct;
    tier->memory_bytes = opts->memory_bytes > 0 ? WR_MAX(opts->memory_bytes, LEAST_BYTES) : DEFAULT_BYTES;
    tier->filter_bytes = opts->filter_bytes > 0 ? opts->filter_bytes : tier->memory_bytes / 3;
    tier->attach_bytes = opts->attach_bytes;
    tier->threads = opts->threads;
    tier->scratch = opts->scratch;
    tier->writer_bell = wr_bell_new();
    tier->lock = wr_mutex_new();
    return tier;
}

/* The directory and what lies in it, two levels deep at most (an image that was not finished); a path that is not there is fine. */
static wr_status remove_tree(wr_world *w, const char *dir, int levels, wr_err *err) {
    wr_file_info info, *list;
    bool         exists;
    size_t       n;
    WR_TRY(w->vt->stat(w, dir, &info, &exists, err));
    if (!exists) return WR_OK;
    WR_TRY(w->vt->list(w, dir, &list, &n, err));
    wr_status status = WR_OK;
    wr_sbuf   path = {0};
    for (size_t i = 0; i < n && status == WR_OK; i++) {
        wr_sbuf_clear(&path);
        wr_sbuf_printf(&path, "%s/%s", dir, list[i].name);
        status = list[i].is_dir && levels > 0 ? remove_tree(w, path.at, levels - 1, err) : w->vt->remove(w, path.at, err);
    }
    wr_sbuf_free(&path);
    wr_free(list);
    return status == WR_OK ? w->vt->remove(w, dir, err) : status;
}

void wr_tier_free(wr_tier *tier) {
    if (!tier) return;
    if (tier->writer) {
        atomic_store(&tier->writer_stop, true);
        wr_bell_ring(tier->writer_bell);
        tier->world->vt->join(tier->world, tier->writer);
    }
    wr_bell_free(tier->writer_bell);
    for (uint32_t i = 0; i < tier->staged.n; i++) wr_tier_batch_free(tier->staged.at[i]);
    wr_arr_free(&tier->staged);
    wr_arr_free(&tier->debts);
    wr_rocks_close(db_of(tier));
    if (tier->made) remove_tree(tier->world, tier->dir, 2, NULL); /* scratch: what cannot be removed is removed by the next start */
    if (tier->acct) wr_account_add(tier->acct, -atomic_load(&tier->charged));
    for (uint32_t i = 0; i < tier->names.n; i++) wr_free(tier->names.at[i]);
    wr_arr_free(&tier->names);
    wr_mutex_free(tier->lock);
    wr_free(tier->dir);
    wr_free(tier);
}

bool        wr_tier_is_open(const wr_tier *tier) { return db_of(tier) != NULL; }
int64_t     wr_tier_attach_bytes(const wr_tier *tier) { return tier->attach_bytes; }
const char *wr_tier_dir(const wr_tier *tier) { return tier->dir; }

wr_status wr_tier_error(wr_tier *tier, wr_err *err) {
    wr_rocks *db = db_of(tier);
    wr_err    background;
    wr_status status = db ? wr_rocks_background_error(db, &background) : WR_OK;
    if (status != WR_OK) failed(tier, status, &background, NULL);
    wr_mutex_lock(tier->lock);
    status = tier->failed ? tier->first.status : WR_OK;
    if (tier->failed && err) *err = tier->first;
    wr_mutex_unlock(tier->lock);
    return status;
}

/* ---- opening and tables: with the lock held ---- */

static wr_status open_locked(wr_tier *tier, bool create, wr_err *err) {
    if (db_of(tier)) return WR_OK;
    if (create) {
        WR_TRY(remove_tree(tier->world, tier->dir, 2, err));
        WR_TRY(tier->world->vt->make_dirs(tier->world, tier->dir, err));
    }
    tier->made = true;
    wr_rocks *db;
    WR_TRY(wr_rocks_open(&(wr_rocks_opts){tier->world, tier->dir, tier->memory_bytes, tier->filter_bytes, tier->scratch, create}, &db, err));
    atomic_store_explicit(&tier->db, db, memory_order_release);
    return WR_OK;
}

static void op_add(wr_sbuf *ops, wr_rocks_kind kind, wr_str key, wr_str value) {
    wr_rocks_op op = {kind, (uint32_t)key.len, (uint32_t)value.len};
    wr_sbuf_reserve(ops, sizeof op + key.len + value.len);
    wr_sbuf_add(ops, &op, sizeof op);
    wr_sbuf_add_str(ops, key);
    wr_sbuf_add_str(ops, value);
}

static bool find_locked(wr_tier *tier, const char *name, uint16_t *out) {
    for (uint32_t i = 0; i < tier->names.n; i++)
        if (tier->names.at[i] && !strcmp(tier->names.at[i], name)) return *out = (uint16_t)(i + 1), true;
    return false;
}

static wr_status table_locked(wr_tier *tier, const char *name, uint16_t *out, wr_err *err) {
    if (find_locked(tier, name, out)) return WR_OK;
    if (tier->names.n >= TABLES_MAX) return wr_fail(err, WR_LIMIT, "54000", "the state on disk has its %d tables already", TABLES_MAX);
    WR_TRY(open_locked(tier, true, err));
    wr_sbuf key = {0}, op = {0};
    wr_sbuf_add(&key, "\0\0", 2);
    wr_sbuf_addz(&key, name);
    uint32_t number = tier->names.n + 1;
    char     value[2] = {(char)(number >> 8), (char)number};
    op_add(&op, WR_ROCKS_PUT, wr_sbuf_str(&key), (wr_str){value, 2});
    wr_status status = wr_rocks_write(db_of(tier), (const char *[]){op.at}, 1, true, err);
    wr_sbuf_free(&key);
    wr_sbuf_free(&op);
    if (status != WR_OK) return status;
    wr_arr_push(&tier->names, wr_strdup(name));
    *out = (uint16_t)number;
    return WR_OK;
}

wr_status wr_tier_table(wr_tier *tier, const char *name, uint16_t *out, wr_err *err) {
    wr_err what;
    wr_mutex_lock(tier->lock);
    wr_status status = table_locked(tier, name, out, &what);
    wr_mutex_unlock(tier->lock);
    return failed(tier, status, &what, err);
}

bool wr_tier_find_table(wr_tier *tier, const char *name, uint16_t *out) {
    wr_mutex_lock(tier->lock);
    bool found = find_locked(tier, name, out);
    wr_mutex_unlock(tier->lock);
    return found;
}

static wr_status names_load(wr_tier *tier, wr_err *err) {
    wr_rocks_scan *scan = wr_rocks_scan_new(db_of(tier), (wr_rocks_bytes){"\0\0", 2}, (wr_rocks_bytes){"\0\1", 2});
    wr_rocks_bytes key, value;
    bool           damaged = false;
    while (!damaged && wr_rocks_scan_next(scan, &key, &value)) {
        const uint8_t *v = (const uint8_t *)value.ptr;
        uint32_t       number = value.len == 2 ? (uint32_t)(v[0] << 8 | v[1]) : 0;
        damaged = key.len < 3 || !number || number > TABLES_MAX;
        while (!damaged && tier->names.n < number) wr_arr_push(&tier->names, NULL);
        if (damaged || tier->names.at[number - 1]) {
            damaged = true;
            break;
        }
        char *name = wr_calloc(1, key.len - 1);
        memcpy(name, key.ptr + 2, key.len - 2);
        tier->names.at[number - 1] = name;
    }
    wr_status status = wr_rocks_scan_free(scan, err);
    return status == WR_OK && damaged ? wr_fail(err, WR_CORRUPT, "XX001", "the list of tables of the state on disk is damaged") : status;
}

wr_status wr_tier_restore(wr_tier *tier, wr_err *err) {
    wr_err what;
    wr_mutex_lock(tier->lock);
    wr_status status = db_of(tier) ? wr_fail(&what, WR_USER, "55000", "the state on disk is open already") : open_locked(tier, false, &what);
    if (status == WR_OK) status = names_load(tier, &what);
    wr_mutex_unlock(tier->lock);
    return failed(tier, status, &what, err);
}

/* ---- account ---- */

static void charge(wr_tier *tier, int64_t bytes) {
    if (!tier->acct || !bytes) return;
    atomic_fetch_add_explicit(&tier->charged, bytes, memory_order_relaxed);
    wr_account_add(tier->acct, bytes);
}

static void rocks_bytes(const wr_rocks_stats *s, wr_tier *tier) {
    int64_t now = s->memtable_bytes + s->reader_bytes + s->cache_bytes;
    charge(tier, now - atomic_exchange(&tier->rocks_charged, now));
}

void wr_tier_stats_get(wr_tier *tier, wr_tier_stats *out) {
    memset(out, 0, sizeof *out);
    wr_rocks *db = db_of(tier);
    if (!db) return;
    wr_rocks_stats s;
    wr_rocks_stats_get(db, &s);
    rocks_bytes(&s, tier);
    out->memory_bytes = s.memtable_bytes + s.reader_bytes + s.cache_bytes;
    out->disk_bytes = s.disk_bytes;
    out->pending_compaction_bytes = s.pending_bytes;
    out->written_bytes = s.written_bytes;
    out->merged_bytes = s.merged_bytes;
    out->reads = atomic_load_explicit(&tier->reads, memory_order_relaxed);
    out->read_hits = atomic_load_explicit(&tier->hits, memory_order_relaxed);
    out->writes = atomic_load_explicit(&tier->writes, memory_order_relaxed);
}

/* ---- batches ---- */

wr_tier_batch *wr_tier_batch_new(wr_tier *tier) {
    wr_tier_batch *b = wr_calloc(1, sizeof *b);
    b->tier = tier;
    return b;
}

static void batch_charge(wr_tier_batch *b) {
    int64_t now = (int64_t)(b->ops.cap + batch_index_bytes(&b->index));
    if (now == b->charged) return;
    charge(b->tier, now - b->charged);
    b->charged = now;
}

static void batch_clear(wr_tier_batch *b, bool keep_room) {
    batch_index_free(&b->index);
    b->indexed = 0;
    b->n = 0;
    b->ranges = false;
    if (keep_room && b->ops.cap <= 1 << 20) wr_sbuf_clear(&b->ops);
    else {
        wr_sbuf_free(&b->ops);
        b->ops = (wr_sbuf){0};
    }
    batch_charge(b);
}

void wr_tier_batch_free(wr_tier_batch *b) {
    if (!b) return;
    batch_clear(b, false);
    wr_free(b);
}

static void batch_op(wr_tier_batch *b, wr_rocks_kind kind, wr_str key, wr_str value) {
    op_add(&b->ops, kind, key, value);
    b->n++;
    batch_charge(b);
}
void wr_tier_batch_put(wr_tier_batch *b, wr_str key, wr_str value) { batch_op(b, WR_ROCKS_PUT, key, value); }
void wr_tier_batch_delete(wr_tier_batch *b, wr_str key) { batch_op(b, WR_ROCKS_DELETE, key, (wr_str){"", 0}); }
void wr_tier_batch_delete_range(wr_tier_batch *b, wr_str from, wr_str to) {
    if (wr_str_cmp(from, to) >= 0) return;
    batch_op(b, WR_ROCKS_DELETE_RANGE, from, to);
    b->ranges = true;
}
size_t   wr_tier_write_bytes(const wr_tier *tier) { return (size_t)WR_MIN(WR_MAX(tier->memory_bytes / 12, (int64_t)INGEST_BYTES), (int64_t)WRITE_BYTES_MAX); }
size_t   wr_tier_batch_bytes(const wr_tier_batch *b) { return b->ops.len; }
uint32_t wr_tier_batch_count(const wr_tier_batch *b) { return b->n; }

static size_t op_at(const char *ops, size_t at, wr_rocks_op *op, wr_str *key, wr_str *value) { /* returns where the next one starts */
    memcpy(op, ops + at, sizeof *op);
    *key = (wr_str){ops + at + sizeof *op, op->key_len};
    *value = (wr_str){key->ptr + op->key_len, op->value_len};
    return at + sizeof *op + op->key_len + op->value_len;
}

/* Brings the index up to the end of the operations. */
static void batch_index_up(wr_tier_batch *b) {
    while (b->indexed < b->ops.len) {
        wr_rocks_op op;
        wr_str      key, value;
        size_t      at = b->indexed;
        bool        is_new;
        b->indexed = op_at(b->ops.at, at, &op, &key, &value);
        if (op.kind == WR_ROCKS_DELETE_RANGE) continue;
        batch_index_insert(&b->index, wr_hash_bytes(key.ptr, key.len), &(batch_key){b->ops.at, key}, &is_new)->at = at;
    }
    batch_charge(b);
}

/* ---- sorting: by the eight bytes behind what all keys begin with; that decides nearly always ---- */

typedef struct sort_item { uint64_t head; union { const char *op; uint32_t which; }; } sort_item;

static size_t common(wr_str a, wr_str b, size_t max) {
    size_t n = WR_MIN(WR_MIN(a.len, b.len), max);
    for (size_t i = 0; i < n; i++)
        if (a.ptr[i] != b.ptr[i]) return i;
    return n;
}
static uint64_t head_of(wr_str key, size_t skip) {
    uint8_t bytes[8] = {0};
    memcpy(bytes, key.ptr + skip, WR_MIN(key.len - skip, 8));
    uint64_t head;
    memcpy(&head, bytes, 8);
    return __builtin_bswap64(head);
}
static int by_head(const void *a, const void *b) {
    const sort_item *x = a, *y = b;
    return x->head != y->head ? (x->head < y->head ? -1 : 1) : 0;
}
static wr_str key_at(const char *at) {
    wr_rocks_op op;
    memcpy(&op, at, sizeof op);
    return (wr_str){at + sizeof op, op.key_len};
}
/* Equal keys stand in one batch: their order is that of their places. */
static int by_key(const void *a, const void *b) {
    const sort_item *x = a, *y = b;
    if (x->head != y->head) return x->head < y->head ? -1 : 1;
    int order = wr_str_cmp(key_at(x->op), key_at(y->op));
    return order ? order : x->op < y->op ? -1 : 1;
}

/* Where each operation of the n batches starts, in key order; of a batch with ranges, which comes alone, in its own. */
static const char **batches_order(wr_tier_batch *const *b, uint32_t n, size_t *count) {
    size_t all = 0, i = 0, skip = SIZE_MAX;
    for (uint32_t k = 0; k < n; k++) all += b[k]->n;
    sort_item *items = wr_malloc(all * sizeof *items);
    for (uint32_t k = 0; k < n; k++)
        for (size_t at = 0; at < b[k]->ops.len; i++) {
            wr_rocks_op op;
            wr_str      key, value;
            items[i].op = b[k]->ops.at + at;
            at = op_at(b[k]->ops.at, at, &op, &key, &value);
            skip = common(key_at(items[0].op), key, skip);
        }
    wr_assert(i == all);
    for (i = 0; i < all && !b[0]->ranges; i++) items[i].head = head_of(key_at(items[i].op), skip);
    if (!b[0]->ranges) qsort(items, all, sizeof *items, by_key);
    const char **order = (const char **)(void *)items; /* in place: an item is larger */
    for (i = 0; i < all; i++) {
        const char *op = items[i].op;
        order[i] = op;
    }
    *count = all;
    return order;
}

static wr_status open_for_write(wr_tier *tier, wr_err *err) {
    if (db_of(tier)) return WR_OK;
    wr_mutex_lock(tier->lock);
    wr_status status = open_locked(tier, true, err);
    wr_mutex_unlock(tier->lock);
    return status;
}

static wr_status ingest(wr_tier *tier, const char *const *order, size_t n, wr_err *err) {
    wr_sbuf path = {0};
    wr_sbuf_printf(&path, "%s/batch-%llu", tier->dir, (unsigned long long)atomic_fetch_add(&tier->ingested, 1));
    wr_status status = wr_rocks_ingest(db_of(tier), path.at, order, n, err);
    wr_sbuf_free(&path);
    return status;
}

/* Much at once becomes a sorted file of its own, which costs a third of what the memtable and its flush do. */
static wr_status batches_write(wr_tier *tier, wr_tier_batch *const *b, uint32_t n, bool may_sync, wr_err *err) {
    size_t bytes = 0, count;
    for (uint32_t k = 0; k < n; k++) bytes += b[k]->ops.len;
    if (!bytes) return WR_OK;
    WR_TRY(open_for_write(tier, err));
    const char **order = batches_order(b, n, &count);
    bool         file = bytes >= INGEST_BYTES && !b[0]->ranges && (may_sync || tier->scratch);
    wr_status    status = file ? ingest(tier, order, count, err) : wr_rocks_write(db_of(tier), order, count, !b[0]->ranges, err);
    wr_free((void *)order);
    atomic_fetch_add_explicit(&tier->writes, count, memory_order_relaxed);
    return status;
}

wr_status wr_tier_write(wr_tier *tier, wr_tier_batch *b, wr_err *err) {
    wr_err    what;
    wr_status status = batches_write(tier, &b, 1, false, &what);
    batch_clear(b, true);
    return failed(tier, status, &what, err);
}

/* ---- reading ---- */

typedef struct got {
    wr_tier_found *found;
    wr_sbuf       *out;
    uint32_t       which[WR_ROCKS_GETS], hits;
} got;

static void take(void *self, uint32_t i, const char *value, size_t len) {
    got *g = self;
    g->found[g->which[i]] = (wr_tier_found){true, g->out->len, len};
    wr_sbuf_add(g->out, value, len);
    g->hits++;
}

/* true: the batch knows the key (put or deleted). */
static bool batch_knows(const wr_tier_batch *b, wr_str key, wr_tier_found *found, wr_sbuf *out) {
    const batch_row *row = batch_index_find(&b->index, wr_hash_bytes(key.ptr, key.len), &(batch_key){b->ops.at, key});
    if (!row) return false;
    wr_rocks_op op;
    wr_str      k, value;
    op_at(b->ops.at, row->at, &op, &k, &value);
    if (op.kind == WR_ROCKS_PUT) {
        *found = (wr_tier_found){true, out->len, value.len};
        wr_sbuf_add_str(out, value);
    }
    return true;
}

/* The keys' numbers in key order: neighbours share blocks. */
static sort_item *read_order(const wr_str *keys, uint32_t n) {
    sort_item *items = wr_malloc(n * sizeof *items);
    size_t     skip = SIZE_MAX;
    for (uint32_t i = 0; i < n; i++) skip = common(keys[0], keys[i], skip);
    for (uint32_t i = 0; i < n; i++) items[i] = (sort_item){head_of(keys[i], skip), {.which = i}};
    qsort(items, n, sizeof *items, by_head);
    return items;
}

wr_status wr_tier_get(wr_tier *tier, wr_tier_batch *through, const wr_str *keys, uint32_t n, wr_tier_found *found, wr_sbuf *out, wr_err *err) {
    memset(found, 0, n * sizeof *found);
    if (through) batch_index_up(through);
    wr_rocks *db = db_of(tier);
    if (!n || (!db && !through)) return WR_OK;
    got            g = {.found = found, .out = out};
    wr_rocks_bytes asked[WR_ROCKS_GETS];
    wr_err         what;
    wr_status      status = WR_OK;
    sort_item     *order = n > WR_ROCKS_GETS ? read_order(keys, n) : NULL;
    for (uint32_t i = 0; i < n && status == WR_OK;) {
        uint32_t m = 0;
        for (; i < n && m < WR_ROCKS_GETS; i++) {
            uint32_t k = order ? order[i].which : i;
            if (through && batch_knows(through, keys[k], &found[k], out)) continue;
            g.which[m] = k;
            asked[m++] = (wr_rocks_bytes){keys[k].ptr, keys[k].len};
        }
        if (!m || !db) continue;
        uint64_t from = wr_cost_ns();
        status = wr_rocks_get(db, asked, m, take, &g, &what);
        atomic_fetch_add_explicit(&tier->get_ns, wr_cost_ns() - from, memory_order_relaxed);
    }
    wr_free(order);
    atomic_fetch_add_explicit(&tier->reads, n, memory_order_relaxed);
    atomic_fetch_add_explicit(&tier->hits, g.hits, memory_order_relaxed);
    return failed(tier, status, &what, err);
}

void wr_tier_cost_get(const wr_tier *tier, wr_tier_cost *out) {
    *out = (wr_tier_cost){0};
    wr_rocks *db = tier ? db_of(tier) : NULL;
    if (!db) return;
    out->get_ns = atomic_load_explicit(&((wr_tier *)(uintptr_t)tier)->get_ns, memory_order_relaxed);
    wr_rocks_read_cost(db, &out->reads, &out->read_ns);
}

wr_tier_scan *wr_tier_scan_new(wr_tier *tier, wr_str from, wr_str to) {
    wr_tier_scan *scan = wr_calloc(1, sizeof *scan);
    scan->tier = tier;
    if (db_of(tier)) scan->scan = wr_rocks_scan_new(db_of(tier), (wr_rocks_bytes){from.ptr, from.len}, (wr_rocks_bytes){to.ptr, to.len});
    return scan;
}

bool wr_tier_scan_next(wr_tier_scan *scan, wr_str *key, wr_str *value) {
    wr_rocks_bytes k, v;
    if (!scan->scan || !wr_rocks_scan_next(scan->scan, &k, &v)) return false;
    *key = (wr_str){k.ptr, k.len};
    *value = (wr_str){v.ptr, v.len};
    return true;
}

wr_status wr_tier_scan_free(wr_tier_scan *scan, wr_err *err) {
    wr_err    what;
    wr_status status = scan->scan ? wr_rocks_scan_free(scan->scan, &what) : WR_OK;
    status = failed(scan->tier, status, &what, err);
    wr_free(scan);
    return status;
}

/* ---- images ---- */

void     wr_tier_begin(wr_tier *tier, uint64_t epoch) { atomic_store(&tier->epoch, epoch); }
uint64_t wr_tier_epoch(const wr_tier *tier) { return atomic_load(&((wr_tier *)(uintptr_t)tier)->epoch); }
bool     wr_tier_frozen(const wr_tier *tier, uint64_t cut_epoch) { return cut_epoch > atomic_load(&((wr_tier *)(uintptr_t)tier)->imaged); }

static int64_t stage_most(const wr_tier *tier) {
    return WR_MIN(WR_MAX(tier->memory_bytes / 8, (int64_t)STAGE_BYTES_MIN), (int64_t)STAGE_BYTES_MAX);
}

size_t wr_tier_stage_bytes(const wr_tier *tier) { return (size_t)stage_most(tier) / 8; }

typedef WR_ARR(wr_tier_batch *) batches;

static batches staged_take(wr_tier *tier) {
    wr_mutex_lock(tier->lock);
    batches taken = {tier->staged.at, tier->staged.n, tier->staged.cap};
    memset(&tier->staged, 0, sizeof tier->staged);
    atomic_fetch_add(&tier->in_flight, taken.n);
    wr_mutex_unlock(tier->lock);
    return taken;
}

static void staged_free(wr_tier *tier, batches *taken) {
    for (uint32_t i = 0; i < taken->n; i++) {
        atomic_fetch_sub(&tier->staged_bytes, (int64_t)taken->at[i]->ops.len);
        wr_tier_batch_free(taken->at[i]);
        atomic_fetch_sub(&tier->in_flight, 1);
    }
    wr_arr_free(taken);
}

static wr_status staged_write(wr_tier *tier, wr_err *err) {
    wr_status status = WR_OK;
    for (bool more = true; more && status == WR_OK;) {
        batches taken = staged_take(tier);
        more = taken.n;
        status = batches_write(tier, taken.at, taken.n, true, err);
        staged_free(tier, &taken);
    }
    return status;
}

/* Enough for a file of its own; what is less waits for more, or for the image. */
static bool much_staged(const wr_tier *tier) { return atomic_load(&((wr_tier *)(uintptr_t)tier)->staged_bytes) >= stage_most(tier) / 2; }

static void write_staged(void *arg) {
    wr_tier *tier = arg;
    wr_err   what;
    while (!atomic_load(&tier->writer_stop)) {
        wr_status status = much_staged(tier) ? staged_write(tier, &what) : WR_OK;
        if (failed(tier, status, &what, NULL) != WR_OK) return; /* whoever makes the image, or stages more, is told */
        wr_bell_wait(tier->writer_bell, WRITER_WAIT_US);
    }
}

/* The first failure of a write; not the database's own, which the next write meets. */
static bool has_failed(wr_tier *tier) {
    wr_mutex_lock(tier->lock);
    bool yes = tier->failed;
    wr_mutex_unlock(tier->lock);
    return yes;
}

void wr_tier_stage(wr_tier *tier, wr_tier_batch *batch) {
    wr_err    what;
    wr_status status = WR_OK;
    atomic_fetch_add(&tier->staged_bytes, (int64_t)batch->ops.len);
    atomic_fetch_add(&tier->image_bytes, batch->ops.len);
    wr_mutex_lock(tier->lock);
    wr_arr_push(&tier->staged, batch);
    if (tier->threads && !tier->writer) status = tier->world->vt->spawn(tier->world, "weir-tier", write_staged, tier, &tier->writer, &what);
    wr_mutex_unlock(tier->lock);
    int64_t most = stage_most(tier);
    if (status == WR_OK && tier->threads) {
        if (much_staged(tier)) wr_bell_ring(tier->writer_bell);
        while (atomic_load(&tier->staged_bytes) > 2 * most && !has_failed(tier)) tier->world->vt->sleep_us(tier->world, FULL_WAIT_US);
    } else if (status == WR_OK && atomic_load(&tier->staged_bytes) > most) {
        status = staged_write(tier, &what);
    }
    (void)failed(tier, status, &what, NULL); /* kept: the image fails with it */
}

void wr_tier_owe(wr_tier *tier, void *self, bool (*some)(void *self)) {
    wr_mutex_lock(tier->lock);
    wr_arr_push(&tier->debts, ((debt){&this_thread, self, some}));
    atomic_store(&tier->n_debts, tier->debts.n);
    wr_mutex_unlock(tier->lock);
}

void wr_tier_owe_no_more(wr_tier *tier, const void *self) {
    wr_mutex_lock(tier->lock);
    for (uint32_t i = tier->debts.n; i-- > 0;)
        if (tier->debts.at[i].self == self) memmove(&tier->debts.at[i], &tier->debts.at[i + 1], (--tier->debts.n - i) * sizeof(debt));
    atomic_store(&tier->n_debts, tier->debts.n);
    wr_mutex_unlock(tier->lock);
}

bool wr_tier_owed(const wr_tier *tier) { return atomic_load(&((wr_tier *)(uintptr_t)tier)->n_debts) != 0; }

static bool pay_one(wr_tier *tier) {
    debt mine = {0};
    wr_mutex_lock(tier->lock);
    for (uint32_t i = 0; i < tier->debts.n && !mine.self; i++)
        if (tier->debts.at[i].owner == &this_thread) mine = tier->debts.at[i];
    wr_mutex_unlock(tier->lock);
    if (!mine.self) return false;
    if (mine.some(mine.self)) wr_tier_owe_no_more(tier, mine.self);
    return true;
}
bool wr_tier_pay(wr_tier *tier) {
    if (!wr_tier_owed(tier)) return false;
    if (tier->threads && atomic_load(&tier->staged_bytes) > stage_most(tier) && !has_failed(tier)) return false;
    return pay_one(tier);
}

static wr_status files_list(wr_tier *tier, const char *dir, wr_tier_file **files, uint32_t *n, wr_err *err) {
    wr_file_info *list;
    size_t        all;
    WR_TRY(tier->world->vt->list(tier->world, dir, &list, &all, err));
    WR_ARR(wr_tier_file) found = {0};
    wr_status status = WR_OK;
    for (size_t i = 0; i < all && status == WR_OK; i++) {
        wr_tier_file f = {.bytes = list[i].size_bytes};
        size_t       len = strlen(list[i].name);
        bool         fits = len < sizeof f.name && snprintf(f.path, sizeof f.path, "%s/%s", dir, list[i].name) < (int)sizeof f.path;
        if (!fits) {
            status = wr_fail(err, WR_LIMIT, "54000", "the path of the directory '%s' is too long for the files of an image", dir);
            break;
        }
        memcpy(f.name, list[i].name, len + 1);
        f.sorted = len > 4 && !strcmp(f.name + len - 4, ".sst");
        if (f.bytes || f.sorted) wr_arr_push(&found, f); /* an empty log file says nothing */
    }
    wr_free(list);
    if (status != WR_OK) wr_arr_free(&found);
    *files = found.at;
    *n = found.n;
    return status;
}

static wr_status image(wr_tier *tier, const char *dir, wr_tier_file **files, uint32_t *n, wr_err *err) {
    wr_world *w = tier->world;
    while (pay_one(tier)) {}
    wr_assert(!wr_tier_owed(tier));
    WR_TRY(staged_write(tier, err));
    while (atomic_load(&tier->in_flight)) w->vt->sleep_us(w, FULL_WAIT_US); /* the writer's last one */
    if (has_failed(tier)) return wr_tier_error(tier, err);
    if (!db_of(tier)) return WR_OK;
    WR_TRY(remove_tree(w, dir, 1, err));
    wr_sbuf parent = {0};
    const char *slash = strrchr(dir, '/');
    wr_sbuf_add(&parent, slash ? dir : ".", slash ? (size_t)WR_MAX(slash - dir, 1) : 1);
    wr_status status = w->vt->make_dirs(w, parent.at, err);
    wr_sbuf_free(&parent);
    if (status == WR_OK) status = wr_rocks_image(db_of(tier), dir, err);
    return status == WR_OK ? files_list(tier, dir, files, n, err) : status;
}

wr_status wr_tier_image(wr_tier *tier, const char *dir, wr_tier_file **files, uint32_t *n, uint64_t *staged_bytes, wr_err *err) {
    wr_err   what;
    uint64_t epoch = wr_tier_epoch(tier);
    *files = NULL;
    *n = 0;
    wr_status status = image(tier, dir, files, n, &what);
    uint64_t  bytes = atomic_exchange(&tier->image_bytes, 0);
    if (status != WR_OK) remove_tree(tier->world, dir, 1, NULL);
    if (staged_bytes) *staged_bytes = bytes;
    if (status == WR_OK) atomic_store(&tier->imaged, epoch);
    return failed(tier, status, &what, err);
}

void wr_tier_abandon(wr_tier *tier) {
    batches taken = staged_take(tier);
    staged_free(tier, &taken);
    atomic_store(&tier->imaged, wr_tier_epoch(tier));
}
