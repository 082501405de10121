/* type/row_set.c: see row_set.h. */
#include "type/row_set.h"
#include "base/hash.h"
#include <stdlib.h>

typedef struct kept_row { /* in order of first arrival */
    uint64_t hash, at;    /* of the encoding in `bytes` */
    uint32_t len;
    int32_t  count;
} kept_row;

struct wr_row_set {
    const wr_schema *schema;
    wr_account      *acct;
    int64_t          charged;
    wr_arena        *arena;
    wr_rowcodec     *codec;
    wr_sbuf          bytes, key;
    WR_ARR(kept_row) kept;
    uint32_t        *slots, n_slots; /* index into kept + 1 */
    int64_t          n_rows;         /* sum of all counts, negative ones too */
    uint64_t         n_missing;      /* sum of the negative ones */
};

wr_row_set *wr_row_set_new(const wr_schema *schema, wr_account *acct) {
    wr_row_set *s = wr_calloc(1, sizeof *s);
    *s = (wr_row_set){.schema = schema, .acct = acct, .arena = wr_arena_new(NULL)};
    wr_type *types = wr_new_n(s->arena, wr_type, schema->n + 1);
    for (uint32_t c = 0; c < schema->n; c++) types[c] = schema->fields[c].type;
    s->codec = wr_rowcodec_new(s->arena, types, schema->n);
    return s;
}

void wr_row_set_free(wr_row_set *s) {
    if (!s) return;
    if (s->acct && s->charged) wr_account_add(s->acct, -s->charged);
    wr_sbuf_free(&s->bytes);
    wr_sbuf_free(&s->key);
    wr_arr_free(&s->kept);
    wr_free(s->slots);
    wr_arena_free(s->arena);
    wr_free(s);
}

static void charge(wr_row_set *s) {
    int64_t now = (int64_t)(s->bytes.cap + s->kept.cap * sizeof(kept_row) + s->n_slots * sizeof *s->slots);
    if (s->acct && now != s->charged) wr_account_add(s->acct, now - s->charged);
    s->charged = now;
}

static void index_all(wr_row_set *s) {
    memset(s->slots, 0, s->n_slots * sizeof *s->slots);
    for (uint32_t i = 0; i < s->kept.n; i++) {
        uint32_t at = (uint32_t)s->kept.at[i].hash & (s->n_slots - 1);
        while (s->slots[at]) at = (at + 1) & (s->n_slots - 1);
        s->slots[at] = i + 1;
    }
}

static void grow_slots(wr_row_set *s) {
    s->n_slots = s->n_slots ? s->n_slots * 2 : 1024;
    wr_free(s->slots);
    s->slots = wr_calloc(s->n_slots, sizeof *s->slots);
    index_all(s);
}

/* Drops rows that are not there any more, so that a long run of updates stays as small as its table. */
static void compact(wr_row_set *s) {
    wr_sbuf  bytes = {0};
    uint32_t n = 0;
    for (uint32_t i = 0; i < s->kept.n; i++) {
        kept_row k = s->kept.at[i];
        if (!k.count) continue;
        uint64_t at = bytes.len;
        wr_sbuf_add(&bytes, s->bytes.at + k.at, k.len);
        k.at = at;
        s->kept.at[n++] = k;
    }
    wr_sbuf_free(&s->bytes);
    s->bytes = bytes;
    s->kept.n = n;
    if (s->n_slots) index_all(s);
}

static void add_row(wr_row_set *s, uint64_t hash, int32_t change) {
    uint64_t start = s->bytes.len;
    wr_sbuf_add(&s->bytes, s->key.at, s->key.len);
    wr_arr_push(&s->kept, (kept_row){hash, start, (uint32_t)s->key.len, change});
}

static void change_row(wr_row_set *s, int32_t change) {
    uint64_t hash = wr_hash_bytes(s->key.at, s->key.len);
    if (s->kept.n * 2 >= s->n_slots) {
        uint32_t dead = 0;
        for (uint32_t i = 0; i < s->kept.n; i++) dead += s->kept.at[i].count == 0;
        if (dead * 2 > s->kept.n) compact(s);
        else grow_slots(s);
    }
    uint32_t at = (uint32_t)hash & (s->n_slots - 1);
    for (; s->slots[at]; at = (at + 1) & (s->n_slots - 1)) {
        kept_row *k = &s->kept.at[s->slots[at] - 1];
        if (k->hash != hash || k->len != s->key.len || memcmp(s->bytes.at + k->at, s->key.at, k->len)) continue;
        if (k->count == 0) { /* it comes anew: at the end of the order */
            k->hash = ~k->hash;
            break;
        }
        if (change > 0 && k->count < 0) s->n_missing--;
        if (change < 0 && k->count <= 0) s->n_missing++;
        k->count += change;
        return;
    }
    if (change < 0) s->n_missing++;
    add_row(s, hash, change);
    s->slots[at] = s->kept.n;
}

void wr_row_set_change(wr_row_set *s, const wr_batch *batch) {
    for (uint32_t i = 0; i < wr_batch_live(batch); i++) {
        uint32_t row = wr_batch_row(batch, i);
        int32_t  change = wr_kind_adds(wr_batch_kind(batch, row)) ? 1 : -1;
        wr_sbuf_clear(&s->key);
        wr_rowcodec_put(s->codec, batch, NULL, row, &s->key);
        change_row(s, change);
        s->n_rows += change;
    }
    charge(s);
}

void wr_row_set_append(wr_row_set *s, const wr_batch *batch) {
    for (uint32_t i = 0; i < wr_batch_live(batch); i++) {
        wr_sbuf_clear(&s->key);
        wr_rowcodec_put(s->codec, batch, NULL, wr_batch_row(batch, i), &s->key);
        add_row(s, 0, 1);
    }
    s->n_rows += wr_batch_live(batch);
    charge(s);
}

uint64_t wr_row_set_rows(const wr_row_set *s) { return (uint64_t)(s->n_rows + (int64_t)s->n_missing); }

typedef struct sorter { const wr_row_set *set; const wr_row_key *keys; uint32_t n; } sorter;

static wr_str encoding(const wr_row_set *s, const kept_row *k) { return (wr_str){s->bytes.at + k->at, k->len}; }

static int compare(const void *a, const void *b, void *arg) {
    const sorter *o = arg;
    wr_str        x = encoding(o->set, a), y = encoding(o->set, b);
    for (uint32_t i = 0; i < o->n; i++) {
        const wr_row_key *k = &o->keys[i];
        bool              null_x = wr_rowcodec_is_null(o->set->codec, x, k->col), null_y = wr_rowcodec_is_null(o->set->codec, y, k->col);
        int               c = wr_rowcodec_compare(o->set->codec, x, y, k->col);
        if (null_x != null_y) c = null_x == k->nulls_last ? 1 : -1;
        else if (k->desc) c = -c;
        if (c) return c;
    }
    uint64_t at_x = ((const kept_row *)a)->at, at_y = ((const kept_row *)b)->at;
    return at_x < at_y ? -1 : at_x > at_y;
}

void wr_row_set_sort(wr_row_set *s, const wr_row_key *keys, uint32_t n) {
    sorter o = {s, keys, n};
    if (s->kept.n) qsort_r(s->kept.at, s->kept.n, sizeof *s->kept.at, compare, &o);
    if (s->n_slots) index_all(s);
}

wr_batch *wr_row_set_next(const wr_row_set *s, wr_row_at *at, uint64_t most) {
    uint32_t n = s->schema->n, limit = (uint32_t)WR_MIN(most, (uint64_t)WR_BATCH_MAX), rows = 0;
    while (at->row < s->kept.n && s->kept.at[at->row].count <= at->copy) at->row++, at->copy = 0;
    if (at->row >= s->kept.n || !limit) return NULL;
    wr_batch *batch = wr_batch_new(n, 0);
    for (uint32_t c = 0; c < n; c++) wr_vec_init(&batch->cols[c], s->schema->fields[c].type, limit, true, batch->mem);
    while (at->row < s->kept.n && rows < limit) {
        const kept_row *k = &s->kept.at[at->row];
        if (k->count <= at->copy) {
            at->row++, at->copy = 0;
            continue;
        }
        if (!wr_rowcodec_get(s->codec, encoding(s, k), batch->cols, rows, batch->mem)) wr_assert(!"own rows decode");
        rows++, at->copy++;
    }
    batch->n_rows = rows;
    for (uint32_t c = 0; c < n; c++) batch->cols[c].n = rows;
    return batch;
}
