/* op/window_emit.c: the rows of a window that closes, column by column. See window_agg.c for the idea.
 *
 * Idea       a running window puts out all its keys once a slide, often thousands of times with the same keys: so the key columns of a stretch of slots
 *            (a part) are built once and shared by the batches of all windows, until a key comes or goes in it. What is left a row is one
 *            loop an aggregate over the accumulators.
 * Invariant  part i stands for the slots [i * batch_rows, (i + 1) * batch_rows) of the running window and holds exactly those that are live, in order.
 * Memory     parts are charged to the operator and never hold more than PARTS_BYTES_MAX, nor an eighth of the
 *            operator's limit: what does not fit is built anew each time.
 * Thread     one worker; the batches that share a part may be anywhere.                                                         */
#include "op/window_agg.h"

enum { PART_ROWS_MIN = 64 /* below, a part costs more than it saves */, PARTS_BYTES_MAX = 8 << 20, TILE = 128 };

static void put_keys(const wr_kmap *map, const uint32_t *slots, uint32_t n, const wr_type *types, uint32_t n_keys, wr_batch *b) {
    for (uint32_t k = 0; k < n_keys; k++) wr_vec_init(&b->cols[k], types[k], n, types[k].nullable, b->mem);
    if (n_keys) wr_kmap_keys_get(map, slots, n, b->cols, b->mem);
}
static int64_t *new_times(wr_batch *b, uint32_t col, wr_type type) {
    wr_vec_init(&b->cols[col], type, b->n_rows, false, b->mem);
    return b->cols[col].data;
}
static void put_time(wr_batch *b, uint32_t col, wr_type type, int64_t us) {
    int64_t *restrict data = new_times(b, col, type);
    for (uint32_t i = 0; i < b->n_rows; i++) data[i] = us;
}
static uint32_t extra_cols(const wr_window_agg_opts *opts) { return (uint32_t)opts->out_start + opts->out_end + opts->out_time; }
static void put_results(wr_aggs *aggs, const wr_window_agg_opts *opts, void *const *blocks, wr_batch *b) {
    for (uint32_t i = 0; i < opts->n_aggs; i++) {
        wr_vec *col = &b->cols[opts->n_keys + i];
        wr_vec_init(col, opts->aggs[i].type, b->n_rows, false, b->mem);
    }
    for (uint32_t from = 0; from < b->n_rows; from += TILE) { /* the accumulators of a tile stay in the cache from column to column */
        uint32_t n = WR_MIN(b->n_rows - from, (uint32_t)TILE);
        for (uint32_t i = 0; i < opts->n_aggs; i++) wr_aggs_result(aggs, i, blocks + from, n, &b->cols[opts->n_keys + i], from, 1, b->mem);
    }
}

wr_status wr_window_emit(const wr_window_agg_opts *opts, wr_aggs *aggs, const wr_win *win, const wr_type *key_types, const wr_kmap *map, const uint32_t *slots,
                         void *const *blocks, const int64_t *starts, const int64_t *ends, uint32_t n, wr_out *out, wr_err *err) {
    uint32_t  col = opts->n_keys + opts->n_aggs, n_cols = col + extra_cols(opts);
    wr_batch *b = wr_batch_new(n_cols, 128 + (size_t)n * 8 * n_cols);
    b->n_rows = n;
    put_keys(map, slots, n, key_types, opts->n_keys, b);
    put_results(aggs, opts, blocks, b);
    if (opts->out_start) {
        int64_t *data = new_times(b, col++, wr_win_bound_type());
        if (n) memcpy(data, starts, n * sizeof *data);
    }
    if (opts->out_end) {
        int64_t *data = new_times(b, col++, wr_win_bound_type());
        if (n) memcpy(data, ends, n * sizeof *data);
    }
    if (opts->out_time) {
        int64_t *data = new_times(b, col, wr_win_time_type(win)), instant = 0;
        for (uint32_t i = 0; i < n; i++) {
            if (!i || ends[i] != ends[i - 1]) instant = wr_win_instant(win, ends[i]) - 1000;
            data[i] = instant;
        }
    }
    return wr_emit(out, b, err);
}

/* ---- parts: their key columns, then one of the slots ---- */

static void part_drop(wr_window_agg *a, wr_batch **part) {
    if (!*part) return;
    int64_t bytes = (int64_t)wr_batch_bytes(*part);
    a->parts_bytes -= bytes;
    wr_account_add(a->op.ctx->acct, -bytes);
    wr_batch_unref(*part);
    *part = NULL;
}
void wr_window_key_changed(wr_window_agg *a, uint32_t slot) {
    uint32_t i = slot / a->op.ctx->batch_rows;
    if (i < a->parts.n) part_drop(a, &a->parts.at[i]);
}
void wr_window_parts_drop(wr_window_agg *a) {
    for (uint32_t i = 0; i < a->parts.n; i++) part_drop(a, &a->parts.at[i]);
    wr_arr_free(&a->parts);
}
void wr_window_run_clear(wr_window_agg *a) {
    wr_window_parts_drop(a);
    if (a->run) wr_kmap_clear(a->run);
}
static uint32_t live_slots(const wr_kmap *map, uint32_t slot, uint32_t end, uint32_t *slots) { /* from a live slot on */
    uint32_t n = 0;
    for (; slot < end; slot = wr_kmap_next(map, slot)) slots[n++] = slot;
    return n;
}
static wr_batch *part_new(wr_window_agg *a, const uint32_t *slots, uint32_t n) {
    uint32_t  n_keys = a->opts.n_keys;
    wr_batch *part = wr_batch_new(n_keys + 1, 128 + (size_t)n * (8 * n_keys + 4));
    part->n_rows = n;
    put_keys(a->run, slots, n, a->key_types, n_keys, part);
    wr_vec_init(&part->cols[n_keys], wr_type_of(WR_T_INT), n, false, part->mem);
    memcpy(part->cols[n_keys].data, slots, n * sizeof *slots);
    return part;
}
/* The part with the running window's live slot `first`, which is the first of it. (returns owned) */
static wr_batch *part_get(wr_window_agg *a, uint32_t index, uint32_t first, uint32_t end) {
    while (a->parts.n <= index) wr_arr_push(&a->parts, NULL);
    wr_batch *part = a->parts.at[index];
    if (part) {
        wr_dassert(live_slots(a->run, first, end, a->slots) == part->n_rows && memcmp(a->slots, part->cols[a->opts.n_keys].data, part->n_rows * sizeof *a->slots) == 0);
        return wr_batch_ref(part);
    }
    part = part_new(a, a->slots, live_slots(a->run, first, end, a->slots));
    int64_t bytes = (int64_t)wr_batch_bytes(part);
    int64_t most = a->limit_bytes ? WR_MIN(a->limit_bytes / 8, (int64_t)PARTS_BYTES_MAX) : PARTS_BYTES_MAX;
    if (a->parts_bytes + bytes > most) return part;
    a->parts_bytes += bytes;
    wr_account_add(a->op.ctx->acct, bytes);
    a->parts.at[index] = wr_batch_ref(part);
    return part;
}

/* ---- the window that is being emitted ---- */

void wr_window_emit_begin(wr_window_agg *a, int64_t start, int64_t end, wr_kmap *map) {
    a->emitting = true;
    a->emit_start = start;
    a->emit_end = end;
    a->emit_map = map;
    a->emit_slot = WR_SLOT_NONE;
    a->emit_scans = wr_kmap_has_away(map);
}

/* Groups whose rows have all been retracted do not come out. */
static void hide_empty(const wr_window_agg *a, wr_batch *b) {
    uint32_t  n = 0;
    uint16_t *sel = wr_mem_alloc(b->mem, b->n_rows * sizeof *sel);
    for (uint32_t i = 0; i < b->n_rows; i++) {
        sel[n] = (uint16_t)i;
        n += wr_aggs_rows(a->aggs, a->blocks[i]) > 0;
    }
    if (n == b->n_rows) return;
    b->sel = sel;
    b->n_sel = n;
}

/* The slots that come out next, in *part or in a->slots; *n = 0: none are left. */
static wr_status next_piece(wr_window_agg *a, wr_batch **part, uint32_t *n, wr_err *err) {
    uint32_t rows = a->op.ctx->batch_rows;
    *part = NULL;
    if (a->emit_scans) {
        wr_status s = wr_window_scan(a, a->emit_map, &a->emit_cursor, a->slots, rows, n, err);
        if (s != WR_OK || !*n) wr_kmap_scan_end(a->emit_map, &a->emit_cursor);
        return s;
    }
    uint32_t first = wr_kmap_next(a->emit_map, a->emit_slot);
    *n = 0;
    if (first == WR_SLOT_NONE) return WR_OK;
    uint32_t index = first / rows, end = (uint32_t)WR_MIN(((uint64_t)index + 1) * rows, (uint64_t)WR_SLOT_NONE);
    if (a->emit_map == a->run && rows >= PART_ROWS_MIN) *part = part_get(a, index, first, end);
    *n = *part ? (*part)->n_rows : live_slots(a->emit_map, first, end, a->slots);
    a->emit_slot = end - 1;
    return WR_OK;
}

wr_status wr_window_emit_some(wr_window_agg *a, wr_out *out, wr_err *err) {
    const wr_window_agg_opts *opts = &a->opts;
    uint32_t        col = opts->n_keys + opts->n_aggs, n_cols = col + extra_cols(opts), n;
    wr_batch       *part;
    WR_TRY(next_piece(a, &part, &n, err));
    if (!n) {
        a->emitting = false;
        return WR_OK;
    }
    const uint32_t *slots = part ? part->cols[opts->n_keys].data : a->slots;
    wr_batch *b = wr_batch_new(n_cols, 128 + (size_t)n * 8 * (part ? n_cols - opts->n_keys : n_cols));
    b->n_rows = n;
    if (part) {
        for (uint32_t k = 0; k < opts->n_keys; k++) b->cols[k] = part->cols[k];
        wr_mem_keep(b->mem, part->mem);
    } else {
        put_keys(a->emit_map, slots, n, a->key_types, opts->n_keys, b);
    }
    wr_kmap_values(a->emit_map, slots, n, a->blocks);
    put_results(a->aggs, opts, a->blocks, b);
    if (opts->out_start) put_time(b, col++, a->start_type, a->emit_start);
    if (opts->out_end) put_time(b, col++, a->end_type, a->emit_end);
    if (opts->out_time) put_time(b, col, wr_win_time_type(&a->win), wr_win_instant(&a->win, a->emit_end) - 1000);
    if (opts->retract_input) hide_empty(a, b);
    wr_batch_unref(part);
    if (b->sel && !b->n_sel) {
        wr_batch_unref(b);
        return WR_OK;
    }
    return wr_emit(out, b, err);
}
