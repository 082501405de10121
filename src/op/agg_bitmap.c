/* op/agg_bitmap.c: BITMAP_BUILD_AGG, BITMAP_AND_AGG, BITMAP_OR_AGG, BITMAP_XOR_AGG and their cardinalities. See agg.h.
 *
 * Idea       without retraction the accumulator is a set (type/bitmap.h) to which values are added or applied; with it, the values with
 *            their copies (WR_FORM_SET), of which the answer is made when it is asked for.
 * Invariant  the list exists iff a value came, so that AND of nothing can be told from an empty set.                     */
#include "op/agg.h"

bool wr_agg_is_bitmap(wr_agg_kind kind) { return kind >= WR_AGG_BITMAP_BUILD && kind <= WR_AGG_BITMAP_XOR_CARD; }
bool wr_agg_is_bitmap_build(wr_agg_kind kind) { return kind == WR_AGG_BITMAP_BUILD || kind == WR_AGG_BITMAP_BUILD_CARD; }

static wr_bitmap_op op_of(wr_agg_kind kind) {
    switch (kind) {
    case WR_AGG_BITMAP_AND: case WR_AGG_BITMAP_AND_CARD: return WR_BITMAP_AND;
    case WR_AGG_BITMAP_XOR: case WR_AGG_BITMAP_XOR_CARD: return WR_BITMAP_XOR;
    default: return WR_BITMAP_OR;
    }
}

static void take(const wr_agg_slot *s, wr_bitmap *b, bool first, wr_cell v) {
    if (wr_agg_is_bitmap_build(s->agg.kind)) {
        wr_bitmap_add(b, (uint32_t)v.w[0]);
        return;
    }
    wr_sview  view;
    wr_bitmap other = {0};
    memcpy(&view, &v, 16);
    bool ok = wr_bitmap_get(&other, wr_sview_str(&view));
    wr_assert(ok);
    wr_bitmap_apply(b, first ? WR_BITMAP_OR : op_of(s->agg.kind), &other);
    wr_bitmap_clear(&other);
}

void wr_bitmap_acc_add(wr_aggs *a, const wr_agg_slot *s, wr_acc_list *acc, wr_cell v) {
    bool         first = !acc->list;
    wr_list_acc *l = wr_list_of(a, s, acc, false);
    int64_t      bytes = l->bitmap.bytes;
    take(s, &l->bitmap, first, v);
    a->heap_bytes += l->bitmap.bytes - bytes;
}

void wr_bitmap_acc_merge(wr_aggs *a, const wr_agg_slot *s, wr_acc_list *into, const wr_acc_list *from) {
    if (!from->list) return;
    bool         first = !into->list;
    wr_list_acc *l = wr_list_of(a, s, into, false);
    int64_t      bytes = l->bitmap.bytes;
    wr_bitmap_apply(&l->bitmap, first ? WR_BITMAP_OR : op_of(s->agg.kind), &from->list->bitmap);
    a->heap_bytes += l->bitmap.bytes - bytes;
}

/* The set of the values that are there, from their copies. False: there are none. */
static bool of_copies(const wr_agg_slot *s, const wr_list_acc *l, wr_bitmap *b) {
    bool any = false, odd_only = op_of(s->agg.kind) == WR_BITMAP_XOR && !s->agg.distinct;
    for (wr_pos p = wr_sorted_first(); l && wr_sorted_at(l->by_value, p); p = wr_sorted_next(l->by_value, p)) {
        const wr_set_item *item = wr_sorted_at(l->by_value, p);
        if (item->n <= 0) continue;
        if (!odd_only || item->n % 2) take(s, b, !any, item->v);
        any = true;
    }
    return any;
}

bool wr_bitmap_acc_put(wr_aggs *a, const wr_agg_slot *s, const wr_list_acc *l, wr_vec *dst, uint32_t row, wr_mem *mem) {
    wr_bitmap        made = {0};
    const wr_bitmap *b = s->form == WR_FORM_SET ? &made : l ? &l->bitmap : NULL;
    if (s->form == WR_FORM_SET && !of_copies(s, l, &made)) return false;
    if (!b) return false;
    if (dst->type.id == WR_T_BIGINT) {
        ((int64_t *)dst->data)[row] = (int64_t)wr_bitmap_count(b);
    } else {
        wr_sbuf_clear(&a->scratch);
        wr_bitmap_put(b, &a->scratch);
        ((wr_sview *)dst->data)[row] = wr_sview_copy(mem, a->scratch.at, a->scratch.len);
    }
    wr_bitmap_clear(&made);
    return true;
}

bool wr_bitmap_acc_load(wr_aggs *a, const wr_agg_slot *s, wr_acc_list *acc, wr_str bytes) {
    wr_list_acc *l = wr_list_of(a, s, acc, false);
    if (!wr_bitmap_get(&l->bitmap, bytes)) return false;
    a->heap_bytes += l->bitmap.bytes;
    return true;
}
