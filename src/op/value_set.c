/* op/value_set.c: see value_set.h. */
#include "op/value_set.h"

enum { LINEAR = 8, MALLOC_EXTRA = 16 };

wr_value_set *wr_value_set_new(void) {
    wr_value_set *s = wr_calloc(1, sizeof *s);
    s->bytes = (int64_t)sizeof *s + MALLOC_EXTRA;
    return s;
}
void wr_value_set_free(wr_value_set *s) {
    if (!s) return;
    wr_free(s->items);
    wr_free(s->index);
    wr_free(s);
}
WR_INLINE bool same(const wr_agg_slot *slot, wr_cell a, wr_cell b) {
    return slot->class == WR_CELL_INT ? a.w[0] == b.w[0] : wr_cell_compare(slot->class, a, b) == 0;
}
static uint32_t home(const wr_value_set *s, const wr_agg_slot *slot, wr_cell v) { return (uint32_t)wr_cell_hash(slot, v) & (s->index_cap - 1); }
static void index_put(wr_value_set *s, const wr_agg_slot *slot, uint32_t item, uint64_t hash) {
    uint32_t at = hash ? (uint32_t)hash & (s->index_cap - 1) : home(s, slot, s->items[item].v);
    while (s->index[at]) at = (at + 1) & (s->index_cap - 1);
    s->index[at] = item + 1;
}
static uint32_t index_at(const wr_value_set *s, const wr_agg_slot *slot, uint32_t item) {
    uint32_t at = home(s, slot, s->items[item].v);
    while (s->index[at] != item + 1) at = (at + 1) & (s->index_cap - 1);
    return at;
}

uint32_t wr_value_set_find(const wr_value_set *s, const wr_agg_slot *slot, wr_cell v, uint64_t hash) {
    if (!s->index) {
        for (uint32_t i = 0; i < s->n; i++)
            if (same(slot, s->items[i].v, v)) return i;
        return UINT32_MAX;
    }
    uint32_t from = hash ? (uint32_t)hash & (s->index_cap - 1) : home(s, slot, v);
    for (uint32_t at = from; s->index[at]; at = (at + 1) & (s->index_cap - 1))
        if (same(slot, s->items[s->index[at] - 1].v, v)) return s->index[at] - 1;
    return UINT32_MAX;
}

void wr_value_set_add(wr_value_set *s, const wr_agg_slot *slot, wr_set_item item, uint64_t hash) {
    if (s->n == s->cap) {
        uint32_t cap = s->cap ? s->cap + s->cap / 2 + 2 : 2;
        s->items = wr_realloc(s->items, cap * sizeof *s->items);
        s->bytes += (int64_t)((cap - s->cap) * sizeof *s->items);
        s->cap = cap;
    }
    s->items[s->n++] = item;
    if (s->n <= LINEAR && !s->index) return;
    if (s->n * 2 <= s->index_cap) {
        index_put(s, slot, s->n - 1, hash);
        return;
    }
    uint32_t cap = s->index_cap ? s->index_cap * 2 : LINEAR * 4;
    s->bytes += (int64_t)((cap - s->index_cap) * sizeof *s->index);
    wr_free(s->index);
    s->index = wr_calloc(cap, sizeof *s->index);
    s->index_cap = cap;
    for (uint32_t i = 0; i < s->n; i++) index_put(s, slot, i, 0);
}

void wr_value_set_remove(wr_value_set *s, const wr_agg_slot *slot, uint32_t item) {
    uint32_t last = s->n - 1;
    if (s->index) {
        uint32_t mask = s->index_cap - 1, at = index_at(s, slot, item);
        for (uint32_t next = (at + 1) & mask; s->index[next]; next = (next + 1) & mask) { /* shift back what may move */
            uint32_t its_home = home(s, slot, s->items[s->index[next] - 1].v);
            if (((next - its_home) & mask) < ((next - at) & mask)) continue;
            s->index[at] = s->index[next];
            at = next;
        }
        s->index[at] = 0;
        if (item != last) s->index[index_at(s, slot, last)] = item + 1;
    }
    s->items[item] = s->items[last];
    s->n--;
}
