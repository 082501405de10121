/* state/kmap_tier.c: keyed maps that are attached to the tier (state/tier.h): what is evicted, brought back, and saved incrementally.
 *
 * Idea       bits of each slot say what the tier has of it. A save stages what is dirty and leaves a marker in the image. Over its limit a map writes
 *            cold entries (or values) and forgets them; a find looks in memory first, then asks the tier for all missing keys at once.
 * Owed       a save only turns dirty bits into owed ones: what lies in memory is the image's version until the entry changes. A find with create, a value
 *            that is asked for to be changed, and a removal put it into a batch first; the rest is put there a piece at a time (wr_tier_pay).
 * Clock      evictions walk the slots 64 at a time and take those that were not found since the hand passed last.
 * Cut        once a barrier has passed, the tier must not see later changes until the image is made: then only what it already has may leave
 *            memory, deletions wait in the batch, and every read looks through the batch.
 * Invariant  an entry is in memory or (ENTRY) in the tier only; what is in memory hides what the tier has. group_count counts both.
 * Thread     owned by one worker.                                                                                          */
#include "state/kmap_internal.h"
#include <stdio.h>

enum { PIECE_BYTES = 64 << 10, PAY_WORDS = 4096, DELETES_MAX = 1024, GETS = 256, PATIENCE = 64, LOOK_EVERY = 1024 };

static uint64_t    bit_of(uint32_t slot) { return UINT64_C(1) << (slot & 63); }
static kmap_marks *marks_of(const wr_kmap *m, uint32_t slot) { return &m->tier->marks[slot >> 6]; }
static uint32_t    n_groups_of(const wr_kmap *m) { return m->opts.group_to - m->opts.group_from; }
static uint64_t   *group_count(const wr_kmap *m, uint64_t hash) {
    uint32_t group = wr_key_group(hash, m->opts.n_groups);
    wr_assert(group >= m->opts.group_from && group < m->opts.group_to);
    return &m->tier->group_count[group - m->opts.group_from];
}
static void *value_of(const wr_kmap *m, uint32_t slot) { return record(m, slot) + m->value_at; }
static bool  has_away(const wr_kmap *m) { return m->opts.spill == WR_SPILL_ENTRY && m->tier->n_away && !m->tier->ranged; }
static wr_tier_batch *through(const kmap_tier *t) { return wr_tier_batch_count(t->batch) ? t->batch : NULL; }

static void owes_nothing(wr_kmap *m) {
    wr_tier_batch_free(m->tier->paid);
    m->tier->paid = NULL;
    m->tier->owes = false;
    wr_tier_owe_no_more(m->opts.tier, m);
}

static bool frozen(wr_kmap *m) {
    if (wr_tier_frozen(m->opts.tier, m->cut_epoch)) return true;
    kmap_tier *t = m->tier;
    if (!t || !t->has_staged) return false;
    for (uint32_t w = 0; w < t->n_words; w++) t->marks[w].staged = t->marks[w].owed = 0;
    t->has_staged = false;
    if (t->owes) owes_nothing(m); /* that image was given up */
    return false;
}

static wr_status damaged(const wr_kmap *m, const char *what, wr_err *err) {
    return wr_fail(err, WR_CORRUPT, "WR400", "the state '%s' on disk is damaged: %s", m->opts.name, what);
}

/* ---- keys of the tier ---- */

static void put_be(wr_sbuf *out, uint64_t v, int bytes) {
    char room[8];
    for (int i = 0; i < bytes; i++) room[i] = (char)(v >> 8 * (bytes - 1 - i));
    wr_sbuf_add(out, room, (size_t)bytes);
}
static void put_head(const wr_kmap *m, uint32_t group, wr_sbuf *out) {
    put_be(out, m->tier->table, 2);
    wr_sbuf_add(out, m->opts.prefix.ptr, m->opts.prefix.len);
    put_be(out, group, 2);
}
static void put_hash(const wr_kmap *m, uint64_t hash, wr_sbuf *out) {
    put_head(m, wr_key_group(hash, m->opts.n_groups), out);
    put_be(out, hash, 8);
}
static size_t hash_at(const wr_kmap *m) { return 2 + m->opts.prefix.len + 2; }
static wr_str key_of_slot(wr_kmap *m, uint32_t slot, wr_sbuf *out) {
    one_key k = raw_of_slot(m, slot);
    wr_sbuf_clear(out);
    put_hash(m, wr_kmap_hash(m, slot), out);
    wr_kmap_key_put(m, &k, out);
    return wr_sbuf_str(out);
}
/* The hash and the raw key of a key of the tier. */
static bool parse(const wr_kmap *m, wr_str key, uint64_t *hash, one_key *k) {
    size_t at = hash_at(m);
    if (key.len < at + 8) return false;
    memcpy(hash, key.ptr + at, 8);
    *hash = __builtin_bswap64(*hash);
    return wr_kmap_key_parse(m, (wr_str){key.ptr + at + 8, key.len - at - 8}, k);
}

/* ---- attaching ---- */

void wr_kmap_tier_grow(wr_kmap *m) {
    kmap_tier *t = m->tier;
    if (t->n_words >= m->live_words) return;
    t->marks = wr_realloc(t->marks, m->live_words * sizeof *t->marks);
    memset(t->marks + t->n_words, 0, (m->live_words - t->n_words) * sizeof *t->marks);
    m->bytes += (int64_t)(m->live_words - t->n_words) * (int64_t)sizeof *t->marks;
    t->n_words = m->live_words;
}
static void charge_struct(wr_kmap *m) { m->bytes += (int64_t)sizeof *m->tier + (int64_t)n_groups_of(m) * 8; }

static wr_status attach(wr_kmap *m, wr_str name, wr_err *err) {
    char own[256];
    wr_assert(m->opts.n_groups && m->opts.table);
    if (!name.len) {
        int len = snprintf(own, sizeof own, "%s/%s", m->opts.table, m->opts.name);
        name = (wr_str){own, WR_MIN((size_t)len, sizeof own - 1)};
    }
    char    *text = wr_malloc(name.len + 1);
    uint16_t table;
    memcpy(text, name.ptr, name.len), text[name.len] = 0;
    wr_status s = wr_tier_table(m->opts.tier, text, &table, err);
    if (s != WR_OK) {
        wr_free(text);
        return s;
    }
    kmap_tier *t = m->tier = wr_calloc(1, sizeof *t);
    t->table = table;
    t->table_name = text;
    t->batch = wr_tier_batch_new(m->opts.tier);
    t->group_count = wr_calloc(n_groups_of(m) + 1, sizeof *t->group_count);
    m->watched = true;
    charge_struct(m);
    wr_kmap_tier_grow(m);
    for (uint32_t slot = wr_kmap_next(m, WR_SLOT_NONE); slot != WR_SLOT_NONE; slot = wr_kmap_next(m, slot)) {
        marks_of(m, slot)->dirty |= bit_of(slot);
        ++*group_count(m, wr_kmap_hash(m, slot));
    }
    wr_kmap_tell(m);
    return WR_OK;
}

void wr_kmap_tier_detach(wr_kmap *m) {
    kmap_tier *t = m->tier;
    if (t->owes) owes_nothing(m);
    wr_tier_batch_free(t->batch);
    wr_free(t->table_name), wr_free(t->marks), wr_free(t->group_count);
    wr_sbuf_free(&t->keys), wr_sbuf_free(&t->found), wr_sbuf_free(&t->one), wr_sbuf_free(&t->value), wr_sbuf_free(&t->sweep_key);
    wr_arr_free(&t->cold);
    wr_free(t);
    m->tier = NULL;
}

static wr_status flush(wr_kmap *m, wr_err *err) {
    kmap_tier *t = m->tier;
    if (!wr_tier_batch_count(t->batch)) return WR_OK;
    if (t->ranged) t->ranged = t->wrote = false;
    uint64_t  from = wr_cost_ns();
    wr_status status = wr_tier_write(m->opts.tier, t->batch, err);
    t->write_ns += wr_cost_ns() - from;
    return status;
}

/* ---- what is owed to the image ---- */

static void stage_paid(wr_kmap *m) {
    kmap_tier *t = m->tier;
    wr_tier_batch *batch = t->paid;
    t->paid = NULL;
    if (batch) wr_tier_stage(m->opts.tier, batch);
}

void wr_kmap_tier_pay_for(wr_kmap *m, uint32_t slot) {
    kmap_tier *t = m->tier;
    if (!t->paid) t->paid = wr_tier_batch_new(m->opts.tier);
    wr_sbuf_clear(&t->value);
    wr_kmap_value_put(m, value_of(m, slot), &t->value);
    wr_tier_batch_put(t->paid, key_of_slot(m, slot, &t->one), wr_sbuf_str(&t->value));
    marks_of(m, slot)->owed &= ~bit_of(slot);
    if (wr_tier_batch_bytes(t->paid) >= wr_tier_stage_bytes(m->opts.tier)) stage_paid(m);
}

/* Some PIECE_BYTES. What does not fill a batch is staged with the last piece. */
static bool pay_some(void *self) {
    wr_kmap   *m = self;
    kmap_tier *t = m->tier;
    uint32_t   end = WR_MIN(t->n_words, t->owed_at + PAY_WORDS);
    size_t     before = t->paid ? wr_tier_batch_bytes(t->paid) : 0;
    for (; t->owed_at < end; t->owed_at++) {
        for (uint64_t left = t->marks[t->owed_at].owed; left; left &= left - 1) wr_kmap_tier_pay_for(m, t->owed_at * 64 + (uint32_t)__builtin_ctzll(left));
        size_t now = t->paid ? wr_tier_batch_bytes(t->paid) : 0;
        if (now < before || now - before > PIECE_BYTES) break;
    }
    if (t->owed_at < t->n_words) return false;
    stage_paid(m);
    t->owes = false;
    return true;
}

void wr_kmap_tier_pay_all(wr_kmap *m) {
    if (!m->tier->owes) return;
    while (!pay_some(m)) {}
    wr_tier_owe_no_more(m->opts.tier, m);
}

/* ---- entries come and go ---- */

static void set_marks(wr_kmap *m, uint32_t slot, bool stored, bool dirty) {
    kmap_marks *k = marks_of(m, slot);
    uint64_t    bit = bit_of(slot);
    k->touched |= bit;
    k->cold &= ~bit, k->staged &= ~bit, k->owed &= ~bit;
    k->stored = stored ? k->stored | bit : k->stored & ~bit;
    k->dirty = dirty ? k->dirty | bit : k->dirty & ~bit;
}
void wr_kmap_tier_created(wr_kmap *m, uint32_t slot, uint64_t hash) {
    set_marks(m, slot, false, true);
    ++*group_count(m, hash);
}
void wr_kmap_tier_removed(wr_kmap *m, uint32_t slot) {
    kmap_tier  *t = m->tier;
    kmap_marks *k = marks_of(m, slot);
    uint64_t    bit = bit_of(slot);
    --*group_count(m, wr_kmap_hash(m, slot));
    if (k->owed & bit) wr_kmap_tier_pay_for(m, slot);
    if (k->cold & bit) t->n_away--;
    if (k->stored & bit) wr_tier_batch_delete(t->batch, key_of_slot(m, slot, &t->one));
    set_marks(m, slot, false, false);
}
void wr_kmap_tier_moved(wr_kmap *m, const kmap_marks *old, uint32_t from, uint32_t to) {
    wr_kmap_tier_grow(m);
    const kmap_marks *f = &old[from >> 6];
    kmap_marks       *k = marks_of(m, to);
    uint32_t          at = from & 63, by = to & 63;
    k->dirty |= (f->dirty >> at & 1) << by;
    k->stored |= (f->stored >> at & 1) << by;
    k->touched |= (f->touched >> at & 1) << by;
    k->cold |= (f->cold >> at & 1) << by;
    k->staged |= (f->staged >> at & 1) << by;
    k->owed |= (f->owed >> at & 1) << by;
}
static void put_range(wr_kmap *m, uint32_t from, uint32_t to, wr_sbuf *a, wr_sbuf *b) {
    wr_sbuf_clear(a), wr_sbuf_clear(b);
    put_head(m, from, a), put_head(m, to, b);
}
void wr_kmap_tier_cleared(wr_kmap *m) {
    kmap_tier *t = m->tier;
    bool       wrote = t->wrote;
    wr_free(t->marks);
    t->marks = NULL;
    t->n_words = t->hand = t->patience = 0;
    t->n_away = 0;
    memset(t->group_count, 0, n_groups_of(m) * sizeof *t->group_count);
    charge_struct(m);
    wr_tier_batch_free(t->batch); /* what waited there was about what is gone */
    t->batch = wr_tier_batch_new(m->opts.tier);
    wr_sbuf_clear(&t->sweep_key);
    if (wrote) {
        put_range(m, m->opts.group_from, m->opts.group_to, &t->keys, &t->one);
        wr_tier_batch_delete_range(t->batch, wr_sbuf_str(&t->keys), wr_sbuf_str(&t->one));
        t->ranged = true;
        if (!frozen(m)) (void)flush(m, NULL); /* the tier keeps the error */
    }
    wr_kmap_tell(m);
}
bool wr_kmap_settle(wr_kmap *m) { return !m->tier || !wr_tier_batch_count(m->tier->batch) || (!frozen(m) && flush(m, NULL) == WR_OK); }

/* A new slot with what the tier has of the key. */
static wr_status load_one(wr_kmap *m, uint64_t hash, const one_key *k, wr_str value, uint32_t *out, wr_err *err) {
    uint32_t slot = *out = wr_kmap_mem_create(m, hash, k);
    --*group_count(m, hash); /* it was counted */
    set_marks(m, slot, true, false);
    if (!wr_kmap_value_read(m, value_of(m, slot), value)) return damaged(m, "a value cannot be read", err);
    m->tier->n_away--;
    m->tier->loads++;
    return WR_OK;
}

static void evict_one(wr_kmap *m, uint32_t slot) {
    kmap_tier  *t = m->tier;
    kmap_marks *k = marks_of(m, slot);
    uint64_t    bit = bit_of(slot);
    if ((k->dirty & bit) || !(k->stored & bit)) {
        wr_sbuf_clear(&t->value);
        wr_kmap_value_put(m, value_of(m, slot), &t->value);
        wr_tier_batch_put(t->batch, key_of_slot(m, slot, &t->one), wr_sbuf_str(&t->value));
        k->stored |= bit, k->dirty &= ~bit;
        t->wrote = true;
    }
    if (m->opts.value_free) m->opts.value_free(m->opts.self, value_of(m, slot));
    if (m->opts.spill == WR_SPILL_ENTRY) {
        wr_kmap_mem_release(m, slot);
        set_marks(m, slot, false, false);
    } else {
        k->cold |= bit;
    }
    t->n_away++;
    t->evictions++;
}

/* What the map holds without the slots that are free: those are taken before the slab grows. */
static int64_t used(wr_kmap *m) {
    int64_t heap = m->opts.heap_bytes ? m->opts.heap_bytes(m->opts.self) : 0;
    int64_t room = m->n_chunks <= 1 ? m->first_cap : (int64_t)m->n_chunks * CHUNK;
    return m->bytes - (room - m->count) * m->stride + m->charged + heap;
}

static wr_status evict(wr_kmap *m, int64_t target, wr_err *err) {
    kmap_tier *t = m->tier;
    bool       ice = frozen(m);
    uint32_t   words = (m->n_slots + 63) / 64;
    uint64_t   before = t->evictions;
    int64_t    now = used(m);
    for (uint32_t steps = 0; now > target && steps < 2 * words; steps++) {
        if (t->hand >= words) t->hand = 0;
        uint32_t    w = t->hand++;
        kmap_marks *k = &t->marks[w];
        uint64_t    may = m->live[w] & ~k->touched & ~k->cold;
        if (ice) may &= k->stored & ~k->dirty & ~k->staged;
        k->touched = 0;
        if (!may) continue;
        for (; may; may &= may - 1) evict_one(m, w * 64 + (uint32_t)__builtin_ctzll(may));
        if (!ice && wr_tier_batch_bytes(t->batch) >= wr_tier_write_bytes(m->opts.tier)) WR_TRY(flush(m, err));
        now = used(m);
    }
    if (!ice) WR_TRY(flush(m, err));
    t->patience = t->evictions == before ? PATIENCE : 0; /* nothing can leave now: not asked for every batch */
    wr_kmap_tell(m);
    return WR_OK;
}

static bool may_spill(const wr_kmap *m) { return m->opts.tier && m->opts.spill != WR_SPILL_NONE && !(m->tier && m->tier->open_scans); }

wr_status wr_kmap_relax(wr_kmap *m, wr_err *err) {
    if (!m->limit || !may_spill(m) || used(m) <= m->limit) return WR_OK;
    if (!m->tier) WR_TRY(attach(m, (wr_str){0}, err));
    return evict(m, m->limit - m->limit / 8, err);
}
static wr_status make_room(wr_kmap *m, wr_err *err) {
    if (WR_UNLIKELY(!m->tier) && m->bytes >= wr_tier_attach_bytes(m->opts.tier)) return attach(m, (wr_str){0}, err);
    if (!m->tier || !m->tier->patience) return wr_kmap_relax(m, err);
    m->tier->patience--;
    return WR_OK;
}

void wr_kmap_limit(wr_kmap *m, int64_t bytes) {
    if (!m->opts.tier || m->opts.spill == WR_SPILL_NONE) return;
    m->limit = bytes;
    m->watched = m->tier || bytes;
    if (m->tier) m->tier->patience = 0;
}

wr_status wr_kmap_shrink(wr_kmap *m, int64_t bytes, wr_err *err) {
    if (!may_spill(m)) return WR_OK;
    if (used(m) > bytes) {
        if (!m->tier) WR_TRY(attach(m, (wr_str){0}, err));
        WR_TRY(evict(m, bytes, err));
    }
    uint32_t room = m->n_chunks <= 1 ? m->first_cap : m->n_chunks * CHUNK;
    if (m->opts.spill == WR_SPILL_ENTRY && room > 256 && room - m->count > room / 4) wr_kmap_mem_compact(m);
    return WR_OK;
}

void wr_kmap_tier_usage_get(const wr_kmap *m, wr_kmap_tier_usage *out) {
    *out = (wr_kmap_tier_usage){0};
    if (m->tier) *out = (wr_kmap_tier_usage){m->tier->n_away, m->tier->loads, m->tier->evictions, m->tier->asked, m->tier->read_ns, m->tier->write_ns};
}

/* ---- finding ---- */

/* Up to GETS keys lie in t->keys, key i from at[i] to at[i + 1]. */
static wr_status get_keys(wr_kmap *m, const size_t *at, uint32_t n, wr_str *keys, wr_tier_found *found, wr_err *err) {
    kmap_tier *t = m->tier;
    for (uint32_t i = 0; i < n; i++) keys[i] = (wr_str){t->keys.at + at[i], at[i + 1] - at[i]};
    wr_sbuf_clear(&t->found);
    uint64_t  from = wr_cost_ns();
    wr_status status = wr_tier_get(m->opts.tier, through(t), keys, n, found, &t->found, err);
    t->asked += n, t->read_ns += wr_cost_ns() - from;
    return status;
}

/* Rows that are not in memory: from the tier, or made. */
static wr_status bring(wr_kmap *m, const wr_batch *batch, const uint32_t *key_cols, const uint64_t *hashes, bool create, uint32_t n, uint32_t *slots,
                       uint8_t *created, wr_err *err) {
    kmap_tier    *t = m->tier;
    uint32_t      which[GETS];
    size_t        at[GETS + 1];
    wr_str        keys[GETS];
    wr_tier_found found[GETS];
    for (uint32_t i = 0; i < n;) {
        uint32_t n_keys = 0;
        wr_sbuf_clear(&t->keys);
        for (; i < n && n_keys < GETS; i++) {
            if (slots[i] != WR_SLOT_NONE) continue;
            uint32_t row = wr_batch_row(batch, i);
            at[n_keys] = t->keys.len;
            which[n_keys++] = i;
            put_hash(m, m->shape == SHAPE_GLOBAL ? 0 : hashes[row], &t->keys);
            wr_kmap_row_key_put(m, batch, key_cols, row, &t->keys);
        }
        at[n_keys] = t->keys.len;
        if (!n_keys) break;
        WR_TRY(get_keys(m, at, n_keys, keys, found, err));
        for (uint32_t j = 0; j < n_keys; j++) {
            uint64_t hash;
            one_key  k;
            if (!parse(m, keys[j], &hash, &k)) return damaged(m, "a key cannot be read", err);
            uint32_t slot = wr_kmap_mem_find(m, hash, &k); /* the key may stand in the batch twice */
            bool     fresh = slot == WR_SLOT_NONE && !found[j].found && create;
            if (slot == WR_SLOT_NONE && found[j].found) WR_TRY(load_one(m, hash, &k, (wr_str){t->found.at + found[j].at, found[j].len}, &slot, err));
            if (fresh) slot = wr_kmap_mem_create(m, hash, &k);
            slots[which[j]] = slot;
            if (created) created[which[j]] = fresh;
        }
    }
    return WR_OK;
}

static void note_found(wr_kmap *m, uint32_t slot, bool create) {
    kmap_marks *k = marks_of(m, slot);
    k->touched |= bit_of(slot);
    if (!create) return;
    if (WR_UNLIKELY(k->owed & bit_of(slot))) wr_kmap_tier_pay_for(m, slot);
    k->dirty |= bit_of(slot);
}

wr_status wr_kmap_tier_find_batch(wr_kmap *m, const wr_batch *batch, const uint32_t *key_cols, const uint64_t *hash, bool create, uint32_t *slots,
                                  uint8_t *created, wr_err *err) {
    if (create) WR_TRY(make_room(m, err));
    kmap_tier *t = m->tier;
    if (!t) {
        wr_kmap_mem_find_batch(m, batch, key_cols, hash, create, slots, created);
        return WR_OK;
    }
    if (wr_tier_batch_count(t->batch) > DELETES_MAX && !frozen(m)) WR_TRY(flush(m, err));
    uint32_t n = wr_batch_live(batch);
    bool     away = has_away(m);
    wr_kmap_mem_find_batch(m, batch, key_cols, hash, create && !away, slots, created);
    if (away) WR_TRY(bring(m, batch, key_cols, hash, create, n, slots, created, err));
    WR_TRY(wr_kmap_warm_all(m, slots, n, err));
    for (uint32_t i = 0; i < n; i++)
        if (slots[i] != WR_SLOT_NONE) note_found(m, slots[i], create);
    wr_kmap_tell(m);
    return WR_OK;
}

wr_status wr_kmap_tier_find(wr_kmap *m, uint64_t hash, const one_key *k, bool create, uint32_t *out, bool *created, wr_err *err) {
    if (create) WR_TRY(make_room(m, err));
    kmap_tier *t = m->tier;
    uint32_t   slot = wr_kmap_mem_find(m, hash, k);
    if (slot == WR_SLOT_NONE && t && has_away(m)) {
        wr_tier_found found;
        wr_str        key;
        size_t        at[2] = {0};
        wr_sbuf_clear(&t->keys);
        put_hash(m, hash, &t->keys);
        wr_kmap_key_put(m, k, &t->keys);
        at[1] = t->keys.len;
        WR_TRY(get_keys(m, at, 1, &key, &found, err));
        if (found.found) WR_TRY(load_one(m, hash, k, (wr_str){t->found.at + found.at, found.len}, &slot, err));
    }
    bool fresh = slot == WR_SLOT_NONE && create;
    if (fresh) slot = wr_kmap_mem_create(m, hash, k);
    if (t && slot != WR_SLOT_NONE) {
        WR_TRY(wr_kmap_warm(m, slot, err));
        note_found(m, slot, create);
    }
    *out = slot;
    if (created) *created = fresh;
    wr_kmap_tell(m);
    return WR_OK;
}

wr_status wr_kmap_warm_all(wr_kmap *m, const uint32_t *slots, uint32_t n, wr_err *err) {
    kmap_tier *t = m->tier;
    if (!t || !t->n_away || m->opts.spill != WR_SPILL_VALUE) return WR_OK;
    size_t        at[GETS + 1];
    wr_str        keys[GETS];
    wr_tier_found found[GETS];
    for (uint32_t i = 0; i < n;) {
        t->cold.n = 0;
        wr_sbuf_clear(&t->keys);
        for (; i < n && t->cold.n < GETS; i++) {
            if (slots[i] == WR_SLOT_NONE || wr_kmap_is_warm(m, slots[i])) continue;
            at[t->cold.n] = t->keys.len;
            wr_arr_push(&t->cold, slots[i]);
            wr_str key = key_of_slot(m, slots[i], &t->one);
            wr_sbuf_add_str(&t->keys, key);
        }
        at[t->cold.n] = t->keys.len;
        if (!t->cold.n) break;
        WR_TRY(get_keys(m, at, t->cold.n, keys, found, err));
        for (uint32_t j = 0; j < t->cold.n; j++) {
            uint32_t slot = t->cold.at[j];
            if (wr_kmap_is_warm(m, slot)) continue; /* it stands here twice */
            if (!found[j].found) return damaged(m, "an entry is missing", err);
            marks_of(m, slot)->cold &= ~bit_of(slot);
            marks_of(m, slot)->touched |= bit_of(slot);
            t->n_away--;
            t->loads++;
            if (!wr_kmap_value_read(m, value_of(m, slot), (wr_str){t->found.at + found[j].at, found[j].len}))
                return damaged(m, "a value cannot be read", err);
        }
    }
    return WR_OK;
}

/* ---- scans and sweeps ---- */

/* Lets go what the cursor brought, so that a scan needs the memory of a piece only. */
static wr_status let_go(wr_kmap *m, wr_kmap_cursor *c, wr_err *err) {
    kmap_tier *t = m->tier;
    bool       ice = frozen(m);
    for (uint32_t i = 0; i < c->loaded.n; i++) {
        uint32_t slot = c->loaded.at[i];
        if (slot >= m->n_slots || !is_live(m, slot)) continue;
        const kmap_marks *k = marks_of(m, slot);
        bool              clean = (k->stored & ~k->dirty & ~k->staged) & bit_of(slot);
        if (!(k->cold & bit_of(slot)) && (clean || !ice)) evict_one(m, slot);
    }
    c->loaded.n = 0;
    return !ice && wr_tier_batch_bytes(t->batch) >= wr_tier_write_bytes(m->opts.tier) ? flush(m, err) : WR_OK;
}

/* Calls back entries that are in the tier only, from the key behind `key` on, until `each` has taken max; false in *more: the end. */
typedef wr_status (*each_fn)(wr_kmap *m, void *self, wr_str key, uint64_t hash, const one_key *k, wr_str value, wr_err *err);
static wr_status walk_tier(wr_kmap *m, wr_sbuf *key, uint32_t max, each_fn each, void *self, bool *more, wr_err *err) {
    kmap_tier *t = m->tier;
    if (!frozen(m)) WR_TRY(flush(m, err));
    wr_sbuf from = {0}, to = {0};
    put_range(m, m->opts.group_from, m->opts.group_to, &from, &to);
    if (key->len) {
        wr_sbuf_clear(&from);
        wr_sbuf_add(&from, key->at, key->len);
        wr_sbuf_addc(&from, 0); /* the key behind */
    }
    wr_tier_scan *scan = wr_tier_scan_new(m->opts.tier, wr_sbuf_str(&from), wr_sbuf_str(&to));
    wr_str        at, value;
    wr_status     s = WR_OK;
    for (*more = true; s == WR_OK && max; ) {
        if (!wr_tier_scan_next(scan, &at, &value)) {
            *more = false;
            break;
        }
        uint64_t hash;
        one_key  k;
        wr_sbuf_clear(key);
        wr_sbuf_add_str(key, at);
        if (!parse(m, at, &hash, &k)) s = damaged(m, "a key cannot be read", err);
        if (s != WR_OK || wr_kmap_mem_find(m, hash, &k) != WR_SLOT_NONE) continue;
        if (through(t)) { /* deleted, but that cannot be written now */
            wr_tier_found found;
            wr_sbuf_clear(&t->found);
            s = wr_tier_get(m->opts.tier, t->batch, &at, 1, &found, &t->found, err);
            if (s != WR_OK || !found.found) continue;
        }
        s = each(m, self, at, hash, &k, value, err);
        max--;
    }
    wr_status end = wr_tier_scan_free(scan, s == WR_OK ? err : NULL);
    wr_sbuf_free(&from), wr_sbuf_free(&to);
    return s == WR_OK ? end : s;
}

typedef struct piece { wr_kmap_cursor *cursor; uint32_t *slots, n; } piece;
static wr_status into_piece(wr_kmap *m, void *self, wr_str key, uint64_t hash, const one_key *k, wr_str value, wr_err *err) {
    piece   *p = self;
    uint32_t slot;
    (void)key;
    WR_TRY(load_one(m, hash, k, value, &slot, err));
    wr_arr_push(&p->cursor->loaded, slot);
    p->slots[p->n++] = slot;
    return WR_OK;
}

wr_status wr_kmap_tier_scan(wr_kmap *m, wr_kmap_cursor *c, uint32_t *slots, uint32_t max, uint32_t *n, wr_err *err) {
    if (!c->open) c->open = true, m->tier->open_scans++;
    WR_TRY(let_go(m, c, err));
    while (!c->in_tier && *n < max) {
        uint32_t slot = wr_kmap_next(m, c->slot - 1); /* 0 - 1 is WR_SLOT_NONE */
        if (slot == WR_SLOT_NONE) {
            c->in_tier = true;
            break;
        }
        if (!wr_kmap_is_warm(m, slot)) wr_arr_push(&c->loaded, slot);
        slots[(*n)++] = slot;
        c->slot = slot + 1;
    }
    if (*n || c->done) return wr_kmap_warm_all(m, slots, *n, err);
    if (!has_away(m)) {
        c->done = true;
        return WR_OK;
    }
    piece p = {c, slots, 0};
    bool  more;
    wr_status s = walk_tier(m, &c->key, max, into_piece, &p, &more, err);
    *n = p.n;
    c->done = !more;
    wr_kmap_tell(m);
    return s;
}

void wr_kmap_scan_end(wr_kmap *m, wr_kmap_cursor *c) {
    if (c->open && m->tier) {
        (void)let_go(m, c, NULL); /* the tier keeps the error */
        m->tier->open_scans--;
        wr_kmap_tell(m);
    }
    wr_sbuf_free(&c->key);
    wr_arr_free(&c->loaded);
    *c = (wr_kmap_cursor){0};
}

typedef struct sweep { void *value; uint64_t removed; } sweep;
static wr_status sweep_one(wr_kmap *m, void *self, wr_str key, uint64_t hash, const one_key *k, wr_str value, wr_err *err) {
    sweep *s = self;
    (void)k;
    memset(s->value, 0, (m->opts.value_bytes + 15) & ~15u);
    if (!wr_kmap_value_read(m, s->value, value)) return damaged(m, "a value cannot be read", err);
    bool over = m->opts.value_expired(m->opts.self, s->value);
    if (m->opts.value_free) m->opts.value_free(m->opts.self, s->value);
    if (!over) return WR_OK;
    wr_tier_batch_delete(m->tier->batch, key);
    --*group_count(m, hash);
    m->tier->n_away--;
    s->removed++;
    return WR_OK;
}

wr_status wr_kmap_tier_sweep(wr_kmap *m, uint32_t n, uint64_t *removed, wr_err *err) {
    kmap_tier *t = m->tier;
    uint32_t   i = 0;
    for (; i < n && !t->sweep_key.len; i++) {
        m->sweep_at = wr_kmap_next(m, m->sweep_at);
        if (m->sweep_at == WR_SLOT_NONE) {
            if (!has_away(m)) return WR_OK;
            put_head(m, m->opts.group_from, &t->sweep_key);
            break;
        }
        WR_TRY(wr_kmap_warm(m, m->sweep_at, err));
        if (!m->opts.value_expired(m->opts.self, value_of(m, m->sweep_at))) continue;
        wr_kmap_remove(m, m->sweep_at);
        ++*removed;
    }
    if (i == n || !t->sweep_key.len) return WR_OK;
    sweep     s = {.value = wr_calloc(1, (m->opts.value_bytes + 31) & ~15u)};
    bool      more = true;
    wr_status status = has_away(m) ? walk_tier(m, &t->sweep_key, n - i, sweep_one, &s, &more, err) : WR_OK;
    if (!more || !has_away(m)) wr_sbuf_clear(&t->sweep_key), m->sweep_at = WR_SLOT_NONE;
    *removed += s.removed;
    wr_free(s.value);
    return status;
}

/* ---- images ---- */

bool wr_kmap_tier_wants_save(wr_kmap *m) { return m->tier || used(m) >= wr_tier_attach_bytes(m->opts.tier); }

static void put_marker(const wr_kmap *m, wr_sbuf *out) {
    const kmap_tier *t = m->tier;
    wr_kmap_save_head(m, KMAP_MARKER, out);
    wr_put_bytes(out, t->table_name, strlen(t->table_name));
    wr_put_bytes(out, m->opts.prefix.ptr, m->opts.prefix.len);
    wr_put_u32(out, m->opts.n_groups), wr_put_u32(out, m->opts.group_from), wr_put_u32(out, m->opts.group_to);
    for (uint32_t g = 0; g < n_groups_of(m); g++) wr_put_u64(out, t->group_count[g]);
}

wr_status wr_kmap_tier_save(wr_kmap *m, wr_sbuf *out, wr_err *err) {
    if (!m->tier) WR_TRY(attach(m, (wr_str){0}, err));
    kmap_tier *t = m->tier;
    wr_kmap_tier_pay_all(m); /* of an image before: nothing, unless that was given up */
    WR_TRY(flush(m, err));   /* before the cut */
    bool any = false;
    for (uint32_t w = 0; w < t->n_words; w++) {
        kmap_marks *k = &t->marks[w];
        k->owed = k->staged = k->dirty & m->live[w] & ~k->cold;
        k->stored |= k->owed;
        k->dirty = 0;
        any = any || k->owed;
    }
    t->wrote |= any;
    t->owes = any;
    t->owed_at = 0;
    t->has_staged = true;
    t->patience = 0;
    m->cut_epoch = wr_tier_epoch(m->opts.tier);
    if (any) wr_tier_owe(m->opts.tier, m, pay_some);
    put_marker(m, out);
    return WR_OK;
}

/* Everything of groups [from, to): for maps whose slots must stay in memory, or from the table of another name, which becomes new entries here. */
static wr_status load_all(wr_kmap *m, uint16_t table, uint32_t from, uint32_t to, uint64_t expected, wr_err *err) {
    wr_sbuf  a = {0}, b = {0};
    uint16_t own = m->tier->table;
    bool     foreign = table != own;
    m->tier->table = table;
    put_range(m, from, to, &a, &b);
    m->tier->table = own;
    wr_tier_scan *scan = wr_tier_scan_new(m->opts.tier, wr_sbuf_str(&a), wr_sbuf_str(&b));
    wr_str        key, value;
    uint64_t      n = 0;
    wr_status     s = WR_OK;
    while (s == WR_OK && wr_tier_scan_next(scan, &key, &value)) {
        uint64_t hash;
        one_key  k;
        if (!parse(m, key, &hash, &k) || wr_kmap_mem_find(m, hash, &k) != WR_SLOT_NONE) {
            s = damaged(m, "a key cannot be read", err);
            break;
        }
        uint32_t slot = wr_kmap_mem_create(m, hash, &k);
        if (!foreign) --*group_count(m, hash); /* the marker counted it */
        set_marks(m, slot, !foreign, foreign);
        if (!wr_kmap_value_read(m, value_of(m, slot), value)) s = damaged(m, "a value cannot be read", err);
        else if (m->opts.value_new) m->opts.value_new(m->opts.self, slot, value_of(m, slot));
        if (s == WR_OK && ++n % LOOK_EVERY == 0) s = wr_kmap_relax(m, err);
    }
    wr_status end = wr_tier_scan_free(scan, s == WR_OK ? err : NULL);
    wr_sbuf_free(&a), wr_sbuf_free(&b);
    if (s == WR_OK) s = end;
    return s == WR_OK && n != expected ? damaged(m, "it has not as many entries as its checkpoint says", err) : s;
}

wr_status wr_kmap_tier_load(wr_kmap *m, wr_reader *in, uint32_t from, uint32_t to, wr_err *err) {
    wr_str   name = wr_get_bytes(in), prefix = wr_get_bytes(in);
    uint32_t n_groups = wr_get_u32(in), old_from = wr_get_u32(in), old_to = wr_get_u32(in);
    if (in->bad || n_groups != m->opts.n_groups || old_from > old_to || old_to > n_groups || !name.len || !wr_str_eq(prefix, m->opts.prefix))
        return wr_fail(err, WR_CORRUPT, "WR400", "the image of state '%s' is damaged", m->opts.name);
    if (!m->opts.tier) return wr_fail(err, WR_CORRUPT, "WR400", "the image of state '%s' needs the state on disk, and there is none", m->opts.name);
    char    *text = wr_malloc(name.len + 1);
    uint16_t table = 0;
    memcpy(text, name.ptr, name.len), text[name.len] = 0;
    bool known = wr_tier_find_table(m->opts.tier, text, &table);
    wr_free(text);
    uint64_t total = 0;
    from = WR_MAX(from, old_from), to = WR_MIN(to, old_to);
    if (known && !m->tier) WR_TRY(attach(m, name, err));
    for (uint32_t g = old_from; g < old_to; g++) {
        uint64_t n = wr_get_u64(in);
        m->of_image += n;
        if (g < from || g >= to || !n || in->bad) continue;
        total += n;
        if (known && m->tier->table == table) m->tier->group_count[g - m->opts.group_from] += n;
    }
    if (in->bad) return wr_fail(err, WR_CORRUPT, "WR400", "the image of state '%s' is damaged", m->opts.name);
    if (!total) return WR_OK;
    if (!known) return damaged(m, "it is not among the tables", err);
    if (m->tier->table != table) return load_all(m, table, from, to, total, err);
    m->tier->wrote = true;
    if (m->opts.spill == WR_SPILL_ENTRY) {
        m->tier->n_away += total;
        m->unread = total;
        return WR_OK;
    }
    return load_all(m, table, from, to, total, err);
}
