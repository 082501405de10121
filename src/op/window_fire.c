/* op/window_fire.c: closing windows in order of their end and emitting them. See window_agg.c for the idea.
 *
 * HOP by subtraction    run[key] = sum of the panes of the window; a pane that leaves is subtracted; a key whose row count falls to 0 goes.
 * HOP by two stacks     (for what cannot be subtracted: MIN, MAX, floating sums) the back stack `run` merges panes as they come. When the oldest pane
 *                       must leave and the front is empty, all panes turn over, newest first: each (pane, key) gets the merge of itself
 *                       and all newer panes (suffix) and a link to the next pane with the key; front[key] points at the oldest. Leaving
 *                       is then following a link. Costs two merges per (pane, key), whatever size / slide.
 * CUMULATE              run is the window since its base; panes are merged into it and freed.
 * Resuming              one window is emitted batch by batch; when the output is full the place (map, slot) is kept for the next call. */
#include "op/window_agg.h"

/* ---- output ---- */

wr_status wr_window_emit(wr_op_ctx *ctx, const wr_window_agg_opts *opts, wr_aggs *aggs, const wr_win *win, const wr_type *key_types, wr_type start_type,
                         wr_type end_type, const wr_kmap *map, const uint32_t *slots, void *const *blocks, const int64_t *starts, const int64_t *ends,
                         uint32_t n, wr_out *out, wr_err *err) {
    uint32_t  n_extra = opts->out_start + opts->out_end + opts->out_time, col = 0;
    wr_batch *b = wr_batch_new(opts->n_keys + opts->n_aggs + n_extra, 128 + (size_t)n * 8 * (opts->n_keys + opts->n_aggs + n_extra));
    (void)ctx;
    b->n_rows = n;
    for (; col < opts->n_keys; col++) wr_vec_init(&b->cols[col], key_types[col], n, key_types[col].nullable, b->mem);
    if (opts->n_keys)
        for (uint32_t i = 0; i < n; i++) wr_kmap_key_get(map, slots[i], b->cols, i, b->mem);
    for (uint32_t a = 0; a < opts->n_aggs; a++, col++) {
        wr_vec_init(&b->cols[col], opts->aggs[a].type, n, false, b->mem);
        wr_aggs_result(aggs, a, blocks, n, &b->cols[col], 0, 1, b->mem);
    }
    if (opts->out_start) {
        wr_vec_init(&b->cols[col], start_type, n, false, b->mem);
        for (uint32_t i = 0; i < n; i++) ((int64_t *)b->cols[col].data)[i] = starts[i];
        col++;
    }
    if (opts->out_end) {
        wr_vec_init(&b->cols[col], end_type, n, false, b->mem);
        for (uint32_t i = 0; i < n; i++) ((int64_t *)b->cols[col].data)[i] = ends[i];
        col++;
    }
    if (opts->out_time) {
        wr_vec_init(&b->cols[col], wr_win_time_type(win), n, false, b->mem);
        int64_t instant = 0;
        for (uint32_t i = 0; i < n; i++) {
            if (!i || ends[i] != ends[i - 1]) instant = wr_win_instant(win, ends[i]) - 1000;
            ((int64_t *)b->cols[col].data)[i] = instant;
        }
    }
    return wr_emit(out, b, err);
}

static void emit_begin(wr_window_agg *a, int64_t start, int64_t end, wr_kmap *map) {
    a->emitting = true;
    a->in_back = false;
    a->emit_start = start;
    a->emit_end = end;
    a->emit_map = map;
    a->emit_slot = WR_SLOT_NONE;
}

/* Two stacks: the window's block of a key is the merge of its suffix in front and its block in back, in a block of its own. */
static void *combined(wr_window_agg *a, uint32_t slot, char *room) {
    wr_pane_link *link = wr_kmap_value(a->front, slot);
    uint32_t      back = wr_kmap_find_like(a->run, a->front, slot, false, NULL);
    wr_aggs_copy(a->aggs, room, wr_pane_suffix_at(a, wr_kmap_value(link->pane->map, link->slot)));
    if (back != WR_SLOT_NONE) wr_aggs_merge(a->aggs, room, wr_kmap_value(a->run, back));
    return room;
}

/* The next up to `max` slots of the map that is being emitted, into a->slots. In front, the suffix blocks lie all over the panes: they
 * are touched here, so that they come while others are looked at. */
static uint32_t next_slots(wr_window_agg *a, wr_kmap *map, bool front, uint32_t max) {
    uint32_t n = 0;
    bool     skip = a->two_stacks && a->in_back && wr_kmap_count(a->front);
    while (n < max) {
        a->emit_slot = wr_kmap_next(map, a->emit_slot);
        if (a->emit_slot == WR_SLOT_NONE) break;
        if (skip && wr_kmap_find_like(a->front, map, a->emit_slot, false, NULL) != WR_SLOT_NONE) continue;
        if (front) {
            const wr_pane_link *link = wr_kmap_value(a->front, a->emit_slot);
            const char         *suffix = wr_pane_suffix_at(a, wr_kmap_value(link->pane->map, link->slot));
            for (uint32_t at = 0; at < a->aggs->bytes; at += 64) __builtin_prefetch(suffix + at);
        }
        a->slots[n++] = a->emit_slot;
    }
    return n;
}

/* Goes on with the window that is being emitted; false in a->emitting when done. */
static wr_status emit_some(wr_window_agg *a, wr_out *out, wr_err *err) {
    uint32_t max = a->op.ctx->batch_rows, n = 0, n_slots;
    bool     front = a->two_stacks && !a->in_back;
    wr_kmap *map = front ? a->front : a->emit_map;
    char    *room = front ? wr_malloc((size_t)max * a->aggs->bytes + 16) : NULL;
    int64_t  starts[WR_BATCH_MAX], ends[WR_BATCH_MAX];
    n_slots = next_slots(a, map, front, max);
    for (uint32_t i = 0; i < n_slots; i++) {
        void *block = front ? combined(a, a->slots[i], room + (size_t)n * a->aggs->bytes) : wr_kmap_value(map, a->slots[i]);
        if (a->opts.retract_input && wr_aggs_rows(a->aggs, block) <= 0) {
            if (front) wr_aggs_drop(a->aggs, block);
            continue;
        }
        a->slots[n] = a->slots[i];
        a->blocks[n] = block;
        starts[n] = a->emit_start;
        ends[n++] = a->emit_end;
    }
    if (a->emit_slot == WR_SLOT_NONE) {
        if (front) a->in_back = true;
        else a->emitting = false;
    }
    wr_status s = WR_OK;
    if (n) s = wr_window_emit(a->op.ctx, &a->opts, a->aggs, &a->win, a->key_types, a->start_type, a->end_type, map, a->slots, a->blocks, starts, ends, n, out, err);
    if (front) {
        for (uint32_t i = 0; i < n; i++) wr_aggs_drop(a->aggs, a->blocks[i]);
        wr_free(room);
    }
    return s;
}

/* ---- the running window ---- */

static void charge(wr_window_agg *a, wr_kmap *map) {
    if (a->aggs->has_heap) wr_kmap_charge(map, wr_aggs_heap_change(a->aggs));
}
static void merge_map(wr_window_agg *a, wr_kmap *into, wr_kmap *from) {
    for (uint32_t s = wr_kmap_next(from, WR_SLOT_NONE); s != WR_SLOT_NONE; s = wr_kmap_next(from, s)) {
        bool     fresh;
        uint32_t to = wr_kmap_find_like(into, from, s, true, &fresh);
        if (fresh) wr_aggs_copy(a->aggs, wr_kmap_value(into, to), wr_kmap_value(from, s));
        else wr_aggs_merge(a->aggs, wr_kmap_value(into, to), wr_kmap_value(from, s));
    }
    charge(a, into);
}
static void subtract_pane(wr_window_agg *a, wr_pane *p) {
    for (uint32_t s = wr_kmap_next(p->map, WR_SLOT_NONE); s != WR_SLOT_NONE; s = wr_kmap_next(p->map, s)) {
        uint32_t to = wr_kmap_find_like(a->run, p->map, s, false, NULL);
        if (to == WR_SLOT_NONE) continue;
        void *block = wr_kmap_value(a->run, to);
        wr_aggs_unmerge(a->aggs, block, wr_kmap_value(p->map, s));
        if (wr_aggs_rows(a->aggs, block) <= 0) wr_kmap_remove(a->run, to);
    }
    charge(a, a->run);
}
/* Puts (p, s) at the head of its key's chain. */
static void chain(wr_window_agg *a, wr_pane *p, uint32_t s) {
    void *value = wr_kmap_value(p->map, s), *suffix = wr_pane_suffix_at(a, value);
    bool  fresh;
    uint32_t      f = wr_kmap_find_like(a->front, p->map, s, true, &fresh);
    wr_pane_link *head = wr_kmap_value(a->front, f);
    wr_aggs_copy(a->aggs, suffix, value);
    if (!fresh) wr_aggs_merge(a->aggs, suffix, wr_pane_suffix_at(a, wr_kmap_value(head->pane->map, head->slot)));
    *wr_pane_link_at(a, value) = fresh ? (wr_pane_link){0} : *head;
    *head = (wr_pane_link){p, s, 0};
}
static void turn_over(wr_window_agg *a) {
    for (uint32_t i = a->panes.n; i-- > 0;) {
        wr_pane *p = a->panes.at[i];
        if (p->place != WR_PANE_BACK) continue;
        for (uint32_t s = wr_kmap_next(p->map, WR_SLOT_NONE); s != WR_SLOT_NONE; s = wr_kmap_next(p->map, s)) chain(a, p, s);
        p->place = WR_PANE_FRONT;
        charge(a, p->map);
    }
    wr_kmap_clear(a->run);
    (void)wr_aggs_heap_change(a->aggs); /* the back stack's lists went with its charge */
}
static void leave_front(wr_window_agg *a, wr_pane *p) {
    for (uint32_t s = wr_kmap_next(p->map, WR_SLOT_NONE); s != WR_SLOT_NONE; s = wr_kmap_next(p->map, s)) {
        uint32_t      f = wr_kmap_find_like(a->front, p->map, s, false, NULL);
        wr_pane_link *next = wr_pane_link_at(a, wr_kmap_value(p->map, s));
        if (next->pane) *(wr_pane_link *)wr_kmap_value(a->front, f) = *next;
        else wr_kmap_remove(a->front, f);
    }
}
/* Takes the oldest pane out of the window and frees it. */
static void evict_oldest(wr_window_agg *a) {
    wr_pane *p = a->panes.at[0];
    if (a->two_stacks) {
        if (p->place == WR_PANE_BACK) turn_over(a);
        if (p->place == WR_PANE_FRONT) leave_front(a, p);
    } else if (p->place == WR_PANE_BACK) {
        subtract_pane(a, p);
    }
    memmove(a->panes.at, a->panes.at + 1, --a->panes.n * sizeof(wr_pane *));
    wr_window_pane_free(a, p);
    (void)wr_aggs_heap_change(a->aggs);
}

/* A late block joins pane p, which is in front: p's entry and those of older panes with the key take it in. */
static void join_front(wr_window_agg *a, wr_pane *p, wr_kmap *late, uint32_t s, uint32_t at) {
    const void *block = wr_kmap_value(late, s);
    bool        fresh;
    uint32_t    slot = wr_kmap_find_like(p->map, late, s, true, &fresh);
    void       *value = wr_kmap_value(p->map, slot);
    wr_aggs_merge(a->aggs, value, block);
    wr_aggs_merge(a->aggs, wr_pane_suffix_at(a, value), block);
    if (fresh) { /* link it in before the next newer pane of the front that has the key */
        for (uint32_t i = at + 1; i < a->panes.n && a->panes.at[i]->place == WR_PANE_FRONT; i++) {
            uint32_t next = wr_kmap_find_like(a->panes.at[i]->map, late, s, false, NULL);
            if (next == WR_SLOT_NONE) continue;
            wr_aggs_merge(a->aggs, wr_pane_suffix_at(a, value), wr_pane_suffix_at(a, wr_kmap_value(a->panes.at[i]->map, next)));
            *wr_pane_link_at(a, value) = (wr_pane_link){a->panes.at[i], next, 0};
            break;
        }
    }
    bool linked = false;
    for (uint32_t i = at; i-- > 0;) {
        uint32_t older = wr_kmap_find_like(a->panes.at[i]->map, late, s, false, NULL);
        if (older == WR_SLOT_NONE) continue;
        void *v = wr_kmap_value(a->panes.at[i]->map, older);
        wr_aggs_merge(a->aggs, wr_pane_suffix_at(a, v), block);
        if (fresh && !linked) *wr_pane_link_at(a, v) = (wr_pane_link){p, slot, 0};
        linked = true;
    }
    if (fresh && !linked) {
        uint32_t f = wr_kmap_find_like(a->front, late, s, true, NULL);
        *(wr_pane_link *)wr_kmap_value(a->front, f) = (wr_pane_link){p, slot, 0};
    }
}
static uint32_t pane_at(const wr_window_agg *a, const wr_pane *p) {
    uint32_t i = 0;
    while (a->panes.at[i] != p) i++;
    return i;
}
/* Late panes that count from this window on join their panes (HOP), or the running window (CUMULATE). */
static void join_late(wr_window_agg *a, int64_t end) {
    uint32_t n = 0;
    for (; n < a->late.n && a->late.at[n]->from_end <= end; n++) {
        wr_pane *late = a->late.at[n];
        if (a->win.w.kind == WR_WINDOW_CUMULATE) {
            merge_map(a, a->run, late->map);
        } else {
            wr_pane *p = wr_window_pane_get(a, late->start, late->end, WR_TIME_MIN);
            uint32_t at = pane_at(a, p);
            /* a pane that was not there stands between merged ones: it belongs where its newer neighbour is */
            if (p->place == WR_PANE_FRESH && at + 1 < a->panes.n && a->panes.at[at + 1]->place != WR_PANE_FRESH) p->place = a->panes.at[at + 1]->place;
            if (p->place == WR_PANE_FRONT) {
                for (uint32_t s = wr_kmap_next(late->map, WR_SLOT_NONE); s != WR_SLOT_NONE; s = wr_kmap_next(late->map, s)) join_front(a, p, late->map, s, at);
                charge(a, p->map);
            } else {
                merge_map(a, p->map, late->map);
                if (p->place == WR_PANE_BACK) merge_map(a, a->run, late->map);
            }
        }
        wr_window_pane_free(a, late);
        (void)wr_aggs_heap_change(a->aggs);
    }
    if (!n) return;
    memmove(a->late.at, a->late.at + n, (a->late.n - n) * sizeof(wr_pane *));
    a->late.n -= n;
}

/* ---- which window is next ---- */

/* The end of the next window that has rows, WR_TIME_MAX if there is none. Panes that no coming window wants leave here. */
static int64_t next_hop(wr_window_agg *a) {
    while (a->panes.n) {
        int64_t start = a->panes.at[0]->start, end = wr_win_first_end(&a->win, start);
        if (a->fired_end != WR_TIME_MIN && end <= a->fired_end) end = a->fired_end + a->win.w.slide_us;
        if (start >= end - a->win.w.size_us) return a->late.n ? WR_MIN(end, a->late.at[0]->from_end) : end;
        evict_oldest(a);
    }
    return a->late.n ? a->late.at[0]->from_end : WR_TIME_MAX;
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

static void begin_hop(wr_window_agg *a, int64_t end) {
    while (a->panes.n && a->panes.at[0]->start < end - a->win.w.size_us) evict_oldest(a);
    join_late(a, end);
    for (uint32_t i = 0; i < a->panes.n && a->panes.at[i]->start < end; i++) {
        wr_pane *p = a->panes.at[i];
        if (p->place != WR_PANE_FRESH) continue;
        merge_map(a, a->run, p->map);
        p->place = WR_PANE_BACK;
    }
    emit_begin(a, end - a->win.w.size_us, end, a->run);
}
static void begin_cumulate(wr_window_agg *a, int64_t end) {
    int64_t  base = wr_win_start(&a->win, end);
    uint32_t n = 0;
    if (a->run_base != base) {
        wr_kmap_clear(a->run);
        (void)wr_aggs_heap_change(a->aggs);
        a->run_base = base;
    }
    join_late(a, end);
    for (; n < a->panes.n && a->panes.at[n]->start < end; n++) {
        merge_map(a, a->run, a->panes.at[n]->map);
        wr_window_pane_free(a, a->panes.at[n]);
        (void)wr_aggs_heap_change(a->aggs);
    }
    if (n) memmove(a->panes.at, a->panes.at + n, (a->panes.n - n) * sizeof(wr_pane *));
    a->panes.n -= n;
    emit_begin(a, base, end, a->run);
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
        wr_kmap_clear(a->run);
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
            else end = a->win.w.kind == WR_WINDOW_CUMULATE ? next_cumulate(a) : next_hop(a);
            if (end == WR_TIME_MAX || !wr_win_closed(wm_us, wr_win_instant(&a->win, end))) return WR_OK;
            if (a->direct) emit_begin(a, a->panes.at[0]->start, end, a->panes.at[0]->map);
            else if (a->win.w.kind == WR_WINDOW_CUMULATE) begin_cumulate(a, end);
            else begin_hop(a, end);
        }
        while (a->emitting) {
            if (out->full(out)) {
                *more = true;
                return WR_OK;
            }
            WR_TRY(emit_some(a, out, err));
        }
        end_window(a);
    }
}
