/* op/value_set.h: the distinct values of a group with their copies, for DISTINCT aggregates. Private to op/.
 *
 * Idea       items stand densely in order of arrival; up to 8 of them are searched one by one, more by an index of item numbers (open addressing,
 *            at most half full). Removal moves the last item into the gap.
 * Invariant  item order depends on the calls only.  Thread: owned by one worker. Memory: `bytes`, charged by the caller.   */
#pragma once
#include "op/agg.h"

typedef struct wr_value_set {
    wr_set_item *items;
    uint32_t     n, cap;
    uint32_t    *index; /* item number + 1 */
    uint32_t     index_cap;
    int64_t      bytes;
} wr_value_set;

wr_value_set *wr_value_set_new(void);
void          wr_value_set_free(wr_value_set *s); /* NULL is legal; text of the items is the caller's */
/* hash: wr_cell_hash of the value, or 0 where nobody knows it yet. */
uint32_t      wr_value_set_find(const wr_value_set *s, const wr_agg_slot *slot, wr_cell v, uint64_t hash); /* item number or UINT32_MAX */
void          wr_value_set_add(wr_value_set *s, const wr_agg_slot *slot, wr_set_item item, uint64_t hash); /* it must be absent */
void          wr_value_set_remove(wr_value_set *s, const wr_agg_slot *slot, uint32_t item);
