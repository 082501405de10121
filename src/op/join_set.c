/* op/join_set.c: see join_set.h. Places in the array change on removal; nobody keeps them but the index. */
#include "op/join_set.h"

enum { INDEX_FROM = 16 };

static uint32_t entry_place(const wr_join_set *set, const wr_join_row *row, wr_str bytes, uint32_t hash) { /* by row, or by bytes when row is NULL */
    if (!set->index_cap) {
        for (uint32_t i = 0; i < set->n; i++)
            if (set->at[i].hash == hash && (row ? set->at[i].row == row : wr_str_eq(wr_join_row_bytes(set->at[i].row), bytes))) return i;
        return UINT32_MAX;
    }
    uint32_t mask = set->index_cap - 1;
    for (uint32_t at = hash & mask; set->index[at]; at = (at + 1) & mask) {
        uint32_t i = set->index[at] - 1;
        if (set->at[i].hash == hash && (row ? set->at[i].row == row : wr_str_eq(wr_join_row_bytes(set->at[i].row), bytes))) return i;
    }
    return UINT32_MAX;
}

wr_join_row *wr_join_set_find(const wr_join_set *set, wr_str bytes, uint32_t hash) {
    uint32_t i = entry_place(set, NULL, bytes, hash);
    return i == UINT32_MAX ? NULL : set->at[i].row;
}

static void index_put(wr_join_set *set, uint32_t place) {
    uint32_t mask = set->index_cap - 1, at = set->at[place].hash & mask;
    while (set->index[at]) at = (at + 1) & mask;
    set->index[at] = place + 1;
}
static void index_build(wr_join_heap *heap, wr_join_set *set, uint32_t cap) {
    if (set->index_cap) wr_join_heap_give(heap, set->index, set->index_cap * sizeof *set->index);
    set->index_cap = cap;
    set->index = NULL;
    if (!cap) return;
    set->index = memset(wr_join_heap_take(heap, cap * sizeof *set->index), 0, cap * sizeof *set->index);
    for (uint32_t i = 0; i < set->n; i++) index_put(set, i);
}
static uint32_t index_at(const wr_join_set *set, uint32_t place) {
    uint32_t mask = set->index_cap - 1, at = set->at[place].hash & mask;
    while (set->index[at] != place + 1) at = (at + 1) & mask;
    return at;
}

void wr_join_set_add(wr_join_heap *heap, wr_join_set *set, wr_join_row *row, uint32_t hash) {
    if (set->n == set->cap) {
        uint32_t cap = set->cap ? set->cap * 2 : 1;
        wr_join_set_ent *at = wr_join_heap_take(heap, cap * sizeof *at);
        if (set->n) memcpy(at, set->at, set->n * sizeof *at);
        if (set->cap) wr_join_heap_give(heap, set->at, set->cap * sizeof *at);
        set->at = at, set->cap = cap;
    }
    set->at[set->n++] = (wr_join_set_ent){row, hash, 0};
    if (!set->index_cap && set->n <= INDEX_FROM) return; /* an index once built is kept up */
    if (set->n * 2 > set->index_cap) index_build(heap, set, set->index_cap ? set->index_cap * 2 : INDEX_FROM * 4);
    else index_put(set, set->n - 1);
}

static void index_remove(wr_join_set *set, uint32_t place) {
    uint32_t mask = set->index_cap - 1, at = index_at(set, place);
    for (uint32_t next = (at + 1) & mask; set->index[next]; next = (next + 1) & mask) {
        uint32_t home = set->at[set->index[next] - 1].hash & mask;
        if (((next - home) & mask) < ((next - at) & mask)) continue; /* it would move before its home */
        set->index[at] = set->index[next];
        at = next;
    }
    set->index[at] = 0;
}

void wr_join_set_remove(wr_join_heap *heap, wr_join_set *set, wr_join_row *row, uint32_t hash) {
    uint32_t place = entry_place(set, row, (wr_str){0}, hash), last = set->n - 1;
    wr_assert(place != UINT32_MAX);
    if (set->index_cap) {
        index_remove(set, place);
        if (place != last) set->index[index_at(set, last)] = place + 1;
    }
    set->at[place] = set->at[last];
    set->n--;
    if (set->n) return;
    if (set->index_cap) index_build(heap, set, 0);
    wr_join_heap_give(heap, set->at, set->cap * sizeof *set->at);
    set->at = NULL, set->cap = 0;
}

void wr_join_set_clear(wr_join_heap *heap, wr_join_set *set) {
    for (uint32_t i = 0; i < set->n; i++) wr_join_row_free(heap, set->at[i].row);
    if (set->index_cap) wr_join_heap_give(heap, set->index, set->index_cap * sizeof *set->index);
    if (set->cap) wr_join_heap_give(heap, set->at, set->cap * sizeof *set->at);
    *set = (wr_join_set){.n_armed = set->n_armed};
}
