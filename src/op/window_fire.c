/* op/window_fire.c: closing windows in order of their end and emitting them. See window_agg.c for the idea.
 *
 * HOP                   run[key] = the merge of the panes of the window. A pane touches only its own keys, when it comes and when it leaves.
 * HOP by subtraction    a pane that leaves is subtracted; a key whose row count falls to 0 goes.
 * HOP by two stacks     (for what cannot be subtracted: MIN, MAX, floating sums) a key of run has a second block, its back stack, which merges panes as
 *                       they come. When the oldest pane must leave and the front is empty, all panes turn over, newest first: each (pane, key)
 *                       gets the merge of itself and all newer panes (suffix) and a link to the next pane with the key; the link of run[key] is
 *                       the head of that chain. Leaving is then following a link: run[key] becomes the merge of the next suffix and its back.
 *                       Costs five merges or copies per (pane, key), whatever size / slide.
 * CUMULATE              run is the window since its base; panes are merged into it and freed.
 * Resuming              one window is emitted batch by batch; when the output is full the place (map, slot) is kept for the next call. */
#include "op/window_agg.h"

/* ---- the running window ---- */

static void charge(wr_window_agg *a, wr_kmap *map) {
    if (a->aggs->has_heap) wr_kmap_charge(map, wr_aggs_heap_change(a->aggs));
}
/* The next slots of a map, at most a batch of them. */
static uint32_t next_slots(const wr_kmap *map, uint32_t *at, uint32_t *slots) {
    uint32_t n = 0;
    while (n < WR_BATCH_MAX && (*at = wr_kmap_next(map, *at)) != WR_SLOT_NONE) slots[n++] = *at;
    return n;
}
/* Of a late pane into its pane. One at a time: each find may let go what the one before it found. */
static wr_status merge_map(wr_window_agg *a, wr_kmap *into, wr_kmap *from, wr_err *err) {
    wr_kmap_cursor cursor = {0};
    uint32_t       n = 1, to;
    wr_status      s = WR_OK;
    while (n && s == WR_OK) {
        s = wr_window_scan(a, from, &cursor, a->slots, WR_BATCH_MAX, &n, err);
        a->charging = into;
        for (uint32_t i = 0; i < n && s == WR_OK; i++) {
            s = wr_kmap_find_like(into, from, a->slots[i], true, &to, NULL, err);
            if (s == WR_OK) wr_aggs_merge(a->aggs, wr_kmap_value(into, to), wr_kmap_peek(from, a->slots[i]));
        }
        charge(a, into);
    }
    wr_kmap_scan_end(from, &cursor);
    charge(a, from);
    return s;
}
/* a->blocks of run become the back stacks of their keys. */
static void to_backs(wr_window_agg *a, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) {
        wr_pane_link_at(a, a->blocks[i])->in_back = 1;
        a->blocks[i] = wr_pane_suffix_at(a, a->blocks[i]);
    }
}
/* The n slots of a->slots into the running window. */
static wr_status merge_piece(wr_window_agg *a, wr_kmap *from, uint32_t n, bool back, bool pane, wr_err *err) {
    for (uint32_t i = 0; i < n; i++) {
        bool fresh;
        WR_TRY(wr_kmap_find_like(a->run, from, a->slots[i], true, &a->rows[i], &fresh, err));
        if (fresh) wr_window_key_changed(a, a->rows[i]);
    }
    wr_kmap_values(a->run, a->rows, n, a->blocks);
    wr_kmap_values(from, a->slots, n, a->from_blocks);
    wr_aggs_merge_all(a->aggs, a->blocks, a->from_blocks, n, 1);
    for (uint32_t i = 0; a->two_stacks && pane && i < n; i++) wr_pane_link_at(a, a->from_blocks[i])->in_run = a->rows[i] + 1;
    if (a->two_stacks && back) {
        to_backs(a, n);
        wr_aggs_merge_all(a->aggs, a->blocks, a->from_blocks, n, 1);
    }
    charge(a, a->run);
    return WR_OK;
}
/* Into the running window; back: with two stacks, into the back stack as well; pane: `from` is that of a pane that comes into the window. */
static wr_status merge_run(wr_window_agg *a, wr_kmap *from, bool back, bool pane, wr_err *err) {
    wr_kmap_cursor cursor = {0};
    uint32_t       n = 1;
    wr_status      s = WR_OK;
    while (n && s == WR_OK) {
        s = wr_window_scan(a, from, &cursor, a->slots, WR_BATCH_MAX, &n, err);
        if (s == WR_OK && n) s = merge_piece(a, from, n, back, pane, err);
    }
    wr_kmap_scan_end(from, &cursor);
    charge(a, from);
    return s;
}
static void leave_run(wr_window_agg *a, uint32_t slot) {
    wr_window_key_changed(a, slot);
    wr_kmap_remove(a->run, slot);
}
static wr_status subtract_piece(wr_window_agg *a, wr_pane *p, uint32_t n, wr_err *err) {
    uint32_t m = 0;
    for (uint32_t i = 0; i < n; i++) {
        WR_TRY(wr_kmap_find_like(a->run, p->map, a->slots[i], false, &a->rows[m], NULL, err));
        a->slots[m] = a->slots[i];
        m += a->rows[m] != WR_SLOT_NONE;
    }
    wr_kmap_values(a->run, a->rows, m, a->blocks);
    wr_kmap_values(p->map, a->slots, m, a->from_blocks);
    wr_aggs_merge_all(a->aggs, a->blocks, a->from_blocks, m, -1);
    for (uint32_t i = 0; i < m; i++)
        if (wr_aggs_rows(a->aggs, a->blocks[i]) <= 0) leave_run(a, a->rows[i]);
    charge(a, a->run);
    return WR_OK;
}
static wr_status subtract_pane(wr_window_agg *a, wr_pane *p, wr_err *err) {
    wr_kmap_cursor cursor = {0};
    uint32_t       n = 1;
    wr_status      s = WR_OK;
    while (n && s == WR_OK) {
        s = wr_window_scan(a, p->map, &cursor, a->slots, WR_BATCH_MAX, &n, err);
        if (s == WR_OK && n) s = subtract_piece(a, p, n, err);
    }
    wr_kmap_scan_end(p->map, &cursor);
    charge(a, p->map);
    return s;
}
static void drop_backs(wr_window_agg *a) {
    for (uint32_t s = wr_kmap_next(a->run, WR_SLOT_NONE); s != WR_SLOT_NONE; s = wr_kmap_next(a->run, s)) {
        void *value = wr_kmap_value(a->run, s);
        if (!wr_pane_link_at(a, value)->in_back) continue;
        wr_aggs_drop(a->aggs, wr_pane_suffix_at(a, value));
        wr_pane_link_at(a, value)->in_back = 0;
    }
    charge(a, a->run);
}
/* A key stays in its slot of run as long as a pane of the window has it. */
static wr_status run_slot(wr_window_agg *a, const wr_pane *p, uint32_t slot, const wr_pane_link *link, uint32_t *out, wr_err *err) {
    if (!link->in_run) return wr_kmap_find_like(a->run, p->map, slot, false, out, NULL, err);
    *out = link->in_run - 1;
    wr_dassert(wr_kmap_hash(a->run, *out) == wr_kmap_hash(p->map, slot));
    return WR_OK;
}
/* A pane goes to the front. The back stacks, which are in the cache, hold the merge of the panes that went before. */
static wr_status to_front(wr_window_agg *a, wr_pane *p, wr_err *err) {
    uint32_t at = WR_SLOT_NONE, n;
    while ((n = next_slots(p->map, &at, a->slots))) {
        wr_kmap_values(p->map, a->slots, n, a->from_blocks);
        for (uint32_t i = 0; i < n; i++) WR_TRY(run_slot(a, p, a->slots[i], wr_pane_link_at(a, a->from_blocks[i]), &a->rows[i], err));
        wr_kmap_values(a->run, a->rows, n, a->blocks);
        for (uint32_t i = 0; i < n; i++) {
            wr_pane_link *head = wr_pane_link_at(a, a->blocks[i]), *link = wr_pane_link_at(a, a->from_blocks[i]);
            link->pane = head->pane, link->slot = head->slot;
            head->pane = p, head->slot = a->slots[i];
        }
        to_backs(a, n);
        wr_aggs_merge_all(a->aggs, a->blocks, a->from_blocks, n, 1);
        charge(a, a->run);
        for (uint32_t i = 0; i < n; i++) wr_aggs_copy(a->aggs, wr_pane_suffix_at(a, a->from_blocks[i]), a->blocks[i]);
        charge(a, p->map);
        if (at == WR_SLOT_NONE) break;
    }
    p->place = WR_PANE_FRONT;
    return WR_OK;
}
static wr_status turn_over(wr_window_agg *a, wr_err *err) {
    drop_backs(a);
    for (uint32_t i = a->panes.n; i-- > 0;)
        if (a->panes.at[i]->place == WR_PANE_BACK) WR_TRY(to_front(a, a->panes.at[i], err));
    drop_backs(a);
    return WR_OK;
}
static wr_status leave_front(wr_window_agg *a, wr_pane *p, wr_err *err) {
    uint32_t at = WR_SLOT_NONE, n;
    while ((n = next_slots(p->map, &at, a->slots))) {
        for (uint32_t i = 0; i < n; i++) { /* the next suffixes lie all over the panes: they come while others are looked for */
            const wr_pane_link *next = wr_pane_link_at(a, wr_kmap_value(p->map, a->slots[i]));
            WR_TRY(run_slot(a, p, a->slots[i], next, &a->rows[i], err));
            a->from_blocks[i] = next->pane ? wr_pane_suffix_at(a, wr_kmap_value(next->pane->map, next->slot)) : NULL;
            for (uint32_t k = 0; next->pane && k < a->aggs->bytes; k += 64) __builtin_prefetch((char *)a->from_blocks[i] + k);
        }
        for (uint32_t i = 0; i < n; i++) {
            const wr_pane_link *next = wr_pane_link_at(a, wr_kmap_value(p->map, a->slots[i]));
            void               *now = wr_kmap_value(a->run, a->rows[i]), *back = wr_pane_suffix_at(a, now);
            wr_pane_link       *head = wr_pane_link_at(a, now);
            head->pane = next->pane, head->slot = next->slot;
            if (!next->pane && !head->in_back) {
                leave_run(a, a->rows[i]);
                continue;
            }
            if (a->aggs->has_heap) wr_aggs_drop(a->aggs, now);
            wr_aggs_copy(a->aggs, now, next->pane ? a->from_blocks[i] : back);
            if (next->pane && head->in_back) wr_aggs_merge(a->aggs, now, back);
        }
        if (at == WR_SLOT_NONE) break;
    }
    charge(a, a->run);
    return WR_OK;
}
/* Takes the oldest pane out of the window and frees it. */
static wr_status evict_oldest(wr_window_agg *a, wr_err *err) {
    wr_pane *p = a->panes.at[0];
    if (a->two_stacks) {
        if (p->place == WR_PANE_BACK) WR_TRY(turn_over(a, err));
        if (p->place == WR_PANE_FRONT) WR_TRY(leave_front(a, p, err));
    } else if (p->place == WR_PANE_BACK) {
        WR_TRY(subtract_pane(a, p, err));
    }
    memmove(a->panes.at, a->panes.at + 1, --a->panes.n * sizeof(wr_pane *));
    wr_window_pane_free(a, p);
    (void)wr_aggs_heap_change(a->aggs);
    return WR_OK;
}

/* A late block joins pane p, which is in front: p's entry and those of older panes with the key take it in. */
static wr_status join_front(wr_window_agg *a, wr_pane *p, wr_kmap *late, uint32_t s, uint32_t at, wr_err *err) {
    const void *block = wr_kmap_value(late, s);
    bool        fresh;
    uint32_t    slot;
    WR_TRY(wr_kmap_find_like(p->map, late, s, true, &slot, &fresh, err));
    void       *value = wr_kmap_value(p->map, slot);
    wr_aggs_merge(a->aggs, value, block);
    wr_aggs_merge(a->aggs, wr_pane_suffix_at(a, value), block);
    if (fresh) { /* link it in before the next newer pane of the front that has the key */
        for (uint32_t i = at + 1; i < a->panes.n && a->panes.at[i]->place == WR_PANE_FRONT; i++) {
            uint32_t next;
            WR_TRY(wr_kmap_find_like(a->panes.at[i]->map, late, s, false, &next, NULL, err));
            if (next == WR_SLOT_NONE) continue;
            wr_aggs_merge(a->aggs, wr_pane_suffix_at(a, value), wr_pane_suffix_at(a, wr_kmap_value(a->panes.at[i]->map, next)));
            wr_pane_link *link = wr_pane_link_at(a, value);
            link->pane = a->panes.at[i], link->slot = next;
            break;
        }
    }
    bool linked = false;
    for (uint32_t i = at; i-- > 0;) {
        uint32_t older;
        WR_TRY(wr_kmap_find_like(a->panes.at[i]->map, late, s, false, &older, NULL, err));
        if (older == WR_SLOT_NONE) continue;
        void *v = wr_kmap_value(a->panes.at[i]->map, older);
        wr_aggs_merge(a->aggs, wr_pane_suffix_at(a, v), block);
        if (fresh && !linked) wr_pane_link_at(a, v)->pane = p, wr_pane_link_at(a, v)->slot = slot;
        linked = true;
    }
    if (fresh && !linked) {
        uint32_t r;
        WR_TRY(wr_kmap_find_like(a->run, late, s, false, &r, NULL, err));
        wr_pane_link *head = wr_pane_link_at(a, wr_kmap_value(a->run, r));
        head->pane = p, head->slot = slot;
    }
    return WR_OK;
}
static uint32_t pane_at(const wr_window_agg *a, const wr_pane *p) {
    uint32_t i = 0;
    while (a->panes.at[i] != p) i++;
    return i;
}
/* Late panes that count from this window on join their panes (HOP), or the running window (CUMULATE). */
static wr_status join_late(wr_window_agg *a, int64_t end, wr_err *err) {
    uint32_t n = 0;
    for (; n < a->late.n && a->late.at[n]->from_end <= end; n++) {
        wr_pane *late = a->late.at[n];
        if (a->win.w.kind == WR_WINDOW_CUMULATE) {
            WR_TRY(merge_run(a, late->map, false, false, err));
        } else {
            wr_pane *p = wr_window_pane_get(a, late->start, late->end, WR_TIME_MIN);
            uint32_t at = pane_at(a, p);
            /* a pane that was not there stands between merged ones: it belongs where its newer neighbour is */
            if (p->place == WR_PANE_FRESH && at + 1 < a->panes.n && a->panes.at[at + 1]->place != WR_PANE_FRESH) p->place = a->panes.at[at + 1]->place;
            if (p->place != WR_PANE_FRESH) WR_TRY(merge_run(a, late->map, p->place == WR_PANE_BACK, false, err));
            if (p->place == WR_PANE_FRONT) {
                for (uint32_t s = wr_kmap_next(late->map, WR_SLOT_NONE); s != WR_SLOT_NONE; s = wr_kmap_next(late->map, s))
                    WR_TRY(join_front(a, p, late->map, s, at, err));
                charge(a, p->map);
            } else {
                WR_TRY(merge_map(a, p->map, late->map, err));
            }
        }
        wr_window_pane_free(a, late);
        (void)wr_aggs_heap_change(a->aggs);
    }
    if (!n) return WR_OK;
    memmove(a->late.at, a->late.at + n, (a->late.n - n) * sizeof(wr_pane *));
    a->late.n -= n;
    return WR_OK;
}

/* ---- which window is next ---- */

/* The end of the next window that has rows, WR_TIME_MAX if there is none. Panes that no coming window wants leave here. */
static wr_status next_hop(wr_window_agg *a, int64_t *next, wr_err *err) {
    while (a->panes.n) {
        int64_t start = a->panes.at[0]->start, end = wr_win_first_end(&a->win, start);
        if (a->fired_end != WR_TIME_MIN && end <= a->fired_end) end = a->fired_end + a->win.w.slide_us;
        if (start >= end - a->win.w.size_us) {
            *next = a->late.n ? WR_MIN(end, a->late.at[0]->from_end) : end;
            return WR_OK;
        }
        WR_TRY(evict_oldest(a, err));
    }
    *next = a->late.n ? a->late.at[0]->from_end : WR_TIME_MAX;
    return WR_OK;
}
static int64_t next_cumulate(wr_window_agg *a) {
    int64_t end = WR_TIME_MAX;
    if (a->run_base != WR_TIME_MIN) end = wr_win_next_end(&a->win, a->fired_end);
    if (a->panes.n) {
        int64_t first = wr_win_first_end(&a->win, a->panes.at[0]->start);
        if (a->fired_end != WR_TIME_MIN && first <= a->fired_end) first = wr_win_next_end(&a->win, a->fired_end);
        end = WR_MIN(end, first);
    }
    return a->late.n ? WR_MIN(end, a->late.at[0]->from_end) : end;
}

static wr_status begin_hop(wr_window_agg *a, int64_t end, wr_err *err) {
    while (a->panes.n && a->panes.at[0]->start < end - a->win.w.size_us) WR_TRY(evict_oldest(a, err));
    WR_TRY(join_late(a, end, err));
    for (uint32_t i = 0; i < a->panes.n && a->panes.at[i]->start < end; i++) {
        wr_pane *p = a->panes.at[i];
        if (p->place != WR_PANE_FRESH) continue;
        WR_TRY(merge_run(a, p->map, true, true, err));
        p->place = WR_PANE_BACK;
    }
    wr_window_emit_begin(a, end - a->win.w.size_us, end, a->run);
    return WR_OK;
}
static wr_status begin_cumulate(wr_window_agg *a, int64_t end, wr_err *err) {
    int64_t  base = wr_win_start(&a->win, end);
    uint32_t n = 0;
    if (a->run_base != base) {
        wr_window_run_clear(a);
        (void)wr_aggs_heap_change(a->aggs);
        a->run_base = base;
    }
    WR_TRY(join_late(a, end, err));
    for (; n < a->panes.n && a->panes.at[n]->start < end; n++) {
        WR_TRY(merge_run(a, a->panes.at[n]->map, false, false, err));
        wr_window_pane_free(a, a->panes.at[n]);
        (void)wr_aggs_heap_change(a->aggs);
    }
    if (n) memmove(a->panes.at, a->panes.at + n, (a->panes.n - n) * sizeof(wr_pane *));
    a->panes.n -= n;
    wr_window_emit_begin(a, base, end, a->run);
    return WR_OK;
}
static void end_window(wr_window_agg *a) {
    if (a->direct) {
        wr_pane *p = a->panes.at[0];
        memmove(a->panes.at, a->panes.at + 1, --a->panes.n * sizeof(wr_pane *));
        wr_window_pane_free(a, p);
        (void)wr_aggs_heap_change(a->aggs);
        return;
    }
    a->fired_end = a->emit_end;
    if (a->win.w.kind == WR_WINDOW_CUMULATE && a->emit_end == a->emit_start + a->win.w.size_us) {
        wr_window_run_clear(a);
        (void)wr_aggs_heap_change(a->aggs);
        a->run_base = WR_TIME_MIN;
    }
}

wr_status wr_window_fire(wr_window_agg *a, int64_t wm_us, wr_out *out, bool *more, wr_err *err) {
    *more = false;
    for (;;) {
        if (!a->emitting) {
            int64_t end = WR_TIME_MAX;
            if (a->direct) end = a->panes.n ? a->panes.at[0]->end : WR_TIME_MAX;
            else if (a->win.w.kind == WR_WINDOW_CUMULATE) end = next_cumulate(a);
            else WR_TRY(next_hop(a, &end, err));
            if (end == WR_TIME_MAX || !wr_win_closed(wm_us, wr_win_instant(&a->win, end))) return WR_OK;
            if (a->direct) wr_window_emit_begin(a, a->panes.at[0]->start, end, a->panes.at[0]->map);
            else if (a->win.w.kind == WR_WINDOW_CUMULATE) WR_TRY(begin_cumulate(a, end, err));
            else WR_TRY(begin_hop(a, end, err));
        }
        while (a->emitting) {
            if (out->full(out)) {
                *more = true;
                return WR_OK;
            }
            uint64_t before = a->op.ctx->ledger->out;
            WR_TRY(wr_window_emit_some(a, out, err));
            wr_window_count *c = a->op.ctx->detail && a->op.ctx->ledger->out > before ? wr_detail_window(a->op.ctx->detail, wr_win_instant(&a->win, a->emit_end)) : NULL;
            if (c) c->out += a->op.ctx->ledger->out - before;
        }
        end_window(a);
    }
}
