/* op/join_out.c: inputs of a join, splitting batches by NULL keys, and building output batches from references (join_common.h).
 *
 * Idea       references are turned into columns side by side: a probing side by one gather per column; a stored side by decoding
 *            each distinct run of rows once, then a gather if a row repeats (one right row against many left rows decodes once).
 * Invariant  kinds and row_wm_us are only attached when a row needs them.
 * Thread     one worker. Memory: output batches own their memory and keep the probing batch's alive.                       */
#include "op/join_common.h"

const char *wr_join_kind_name(wr_join_kind kind) {
    static const char *const names[] = {"INNER", "LEFT", "RIGHT", "FULL", "SEMI", "ANTI"};
    return (unsigned)kind < WR_COUNT_OF(names) ? names[kind] : "?";
}

static void init_side(wr_join_side *side, const wr_schema *schema, const uint32_t *keys, uint32_t n_keys, bool padded, wr_arena *arena) {
    side->n_cols = schema->n;
    side->types = wr_new_n(arena, wr_type, schema->n + 1);
    for (uint32_t i = 0; i < schema->n; i++) {
        side->types[i] = schema->fields[i].type;
        if (padded) side->types[i].nullable = 1;
    }
    side->n_keys = n_keys;
    side->keys = wr_new_n(arena, uint32_t, n_keys + 3);
    for (uint32_t i = 0; i < n_keys; i++) side->keys[i] = keys[i];
    side->codec = wr_rowcodec_new(arena, side->types, side->n_cols);
}

void wr_join_base_init(wr_join_base *base, wr_join_kind kind, const wr_join_keys *keys, wr_expr *residual, const wr_schema *left,
                       const wr_schema *right, wr_op_ctx *ctx) {
    base->op.ctx = ctx;
    base->arena = wr_arena_new(ctx->acct);
    base->heap = wr_join_heap_new(ctx->acct);
    base->kind = kind;
    init_side(&base->side[0], left, keys->left, keys->n, wr_join_pads(kind, 1), base->arena);
    init_side(&base->side[1], right, keys->right, keys->n, wr_join_pads(kind, 0), base->arena);
    base->n_keys = keys->n;
    base->null_safe = wr_new_n(base->arena, bool, keys->n + 1);
    for (uint32_t i = 0; i < keys->n && keys->null_safe; i++) base->null_safe[i] = keys->null_safe[i];
    if (residual) base->residual = wr_prog_new(&residual, 1, ctx->tz, ctx->world);
}

void wr_join_base_free(wr_join_base *base) {
    if (base->residual) wr_prog_free(base->residual);
    wr_sbuf_free(&base->scratch);
    wr_join_heap_free(base->heap);
    wr_arena_free(base->arena);
}

void wr_join_side_time(wr_join_side *side, uint32_t col) {
    side->time_col = col;
    side->nano = wr_type_is_time_point(side->types[col]) && side->types[col].prec > 6;
}

wr_join_row *wr_join_store(wr_join_base *base, uint32_t side, const wr_batch *batch, uint32_t row) {
    wr_sbuf_clear(&base->scratch);
    wr_rowcodec_put(base->side[side].codec, batch, NULL, row, &base->scratch);
    return wr_join_row_new(base->heap, wr_sbuf_str(&base->scratch));
}

void wr_join_probe_split(wr_join_probe *probe, const wr_join_base *base, uint32_t side, const wr_batch *batch, bool time_too, bool all_null_safe) {
    const wr_join_side *in = &base->side[side];
    const wr_vec *check[66];
    uint32_t      n_check = 0, n = 0, n_null = 0, live = wr_batch_live(batch);
    wr_assert(base->n_keys <= 64);
    for (uint32_t k = 0; k < base->n_keys; k++) {
        const wr_vec *vec = &batch->cols[in->keys[k]];
        if (!all_null_safe && !base->null_safe[k] && (vec->valid || vec->type.id == WR_T_NULL)) check[n_check++] = vec;
    }
    if (time_too && batch->cols[in->time_col].valid) check[n_check++] = &batch->cols[in->time_col];
    for (uint32_t i = 0; i < live; i++) {
        uint32_t row = wr_batch_row(batch, i);
        bool     null = false;
        for (uint32_t c = 0; c < n_check; c++) null |= wr_vec_is_null(check[c], row);
        probe->sel[n] = probe->null[n_null] = (uint16_t)row;
        n += !null, n_null += null;
    }
    probe->n = n, probe->n_null = n_null;
    probe->view = *batch;
    probe->view.sel = probe->sel, probe->view.n_sel = n;
    probe->hash = batch->hash;
    if (!probe->hash && n) {
        wr_batch_hash(batch, in->keys, base->n_keys, probe->hash_buf);
        probe->hash = probe->hash_buf;
    }
}

/* ---- output ---- */

void wr_join_out_init(wr_join_out *o, wr_join_base *base) {
    uint32_t cap = base->op.ctx->batch_rows;
    wr_assert(cap >= 1 && cap <= WR_BATCH_MAX);
    *o = (wr_join_out){.base = base, .cap = cap, .probing = -1};
    for (int s = 0; s < 2; s++) o->row[s] = wr_calloc(cap, sizeof *o->row[s]);
    o->probe = wr_calloc(cap, sizeof *o->probe);
    o->kind = wr_calloc(cap, 1);
    o->late_us = wr_calloc(cap, sizeof *o->late_us);
}
void wr_join_out_reset(wr_join_out *o) {
    o->n = 0;
    o->any_kind = o->any_late = false;
    for (uint32_t i = 0; i < o->garbage.n; i++) wr_join_row_free(o->base->heap, o->garbage.at[i]);
    o->garbage.n = 0;
}
void wr_join_out_free(wr_join_out *o) {
    wr_join_out_reset(o);
    wr_arr_free(&o->garbage);
    for (int s = 0; s < 2; s++) wr_free(o->row[s]);
    wr_free(o->probe);
    wr_free(o->kind);
    wr_free(o->late_us);
}
void wr_join_out_drop(wr_join_out *o, wr_join_row *row) {
    if (o->n) wr_arr_push(&o->garbage, row);
    else wr_join_row_free(o->base->heap, row);
}

static void null_column(wr_vec *vec, wr_type type, uint32_t n, wr_mem *mem) {
    type.nullable = 1;
    wr_vec_init(vec, type, n, true, mem);
    if (type.id == WR_T_ROW) {
        for (uint32_t i = 0; i < n; i++) wr_vec_set_null(vec, i, mem);
    } else if (vec->valid) {
        memset(vec->valid, 0, wr_valid_bytes(n));
        size_t size = wr_storage_size(wr_type_storage(type));
        if (size) memset(vec->data, 0, size * n);
    }
}

/* A column without NULLs takes the fast way through every kernel downstream. */
static void drop_full_valid(wr_vec *vec) {
    if (!vec->valid || vec->type.id == WR_T_ROW) return;
    uint32_t words = vec->n / 64, rest = vec->n % 64;
    for (uint32_t w = 0; w < words; w++)
        if (~vec->valid[w]) return;
    uint64_t mask = (UINT64_C(1) << rest) - 1;
    if (rest && (vec->valid[words] & mask) != mask) return;
    vec->valid = NULL;
}

static void decode_rows(const wr_join_side *side, const wr_join_row *const *rows, uint32_t n, wr_vec *dst, wr_mem *mem) {
    for (uint32_t c = 0; c < side->n_cols; c++) wr_vec_init(&dst[c], side->types[c], n, side->types[c].nullable, mem);
    for (uint32_t i = 0; i < n; i++) {
        if (i + 4 < n) __builtin_prefetch(rows[i + 4]->bytes);
        bool ok = wr_rowcodec_get(side->codec, wr_join_row_bytes(rows[i]), dst, i, mem);
        wr_assert(ok); /* images are checked when they are loaded */
    }
    for (uint32_t c = 0; c < side->n_cols; c++) drop_full_valid(&dst[c]);
}

void wr_join_decode(const wr_join_side *side, const wr_join_row *const *rows, uint32_t n, wr_vec *dst, wr_mem *mem) {
    const wr_join_row *distinct[WR_BATCH_MAX];
    uint32_t           map[WR_BATCH_MAX], n_distinct = 0;
    bool               plain = true;
    for (uint32_t i = 0; i < n; i++) {
        if (!rows[i]) {
            map[i] = UINT32_MAX;
        } else {
            if (!n_distinct || distinct[n_distinct - 1] != rows[i]) distinct[n_distinct++] = rows[i];
            map[i] = n_distinct - 1;
        }
        plain &= map[i] == i;
    }
    if (!n_distinct) {
        for (uint32_t c = 0; c < side->n_cols; c++) null_column(&dst[c], side->types[c], n, mem);
        return;
    }
    if (plain) {
        decode_rows(side, distinct, n, dst, mem);
        return;
    }
    wr_vec *cols = wr_mem_alloc(mem, (side->n_cols + 1) * sizeof *cols);
    decode_rows(side, distinct, n_distinct, cols, mem);
    for (uint32_t c = 0; c < side->n_cols; c++) wr_vec_gather32(&dst[c], &cols[c], map, n, mem);
}

static void gather_probe(wr_join_out *o, const wr_join_side *side, wr_vec *dst, wr_mem *mem) {
    bool any = false;
    for (uint32_t i = 0; i < o->n && !any; i++) any = o->probe[i] != WR_PROBE_NONE;
    for (uint32_t c = 0; c < side->n_cols; c++) {
        if (any) wr_vec_gather32(&dst[c], &o->batch->cols[c], o->probe, o->n, mem);
        else null_column(&dst[c], side->types[c], o->n, mem);
    }
    if (any) wr_mem_keep(mem, o->batch->mem);
}

wr_batch *wr_join_out_build(wr_join_out *o, bool left_only) {
    const wr_join_side *side = o->base->side;
    uint32_t  n_cols = side[0].n_cols + (left_only ? 0 : side[1].n_cols);
    wr_batch *batch = wr_batch_new(n_cols, (size_t)WR_MAX(o->n, 16u) * n_cols * 10);
    batch->n_rows = o->n;
    for (int s = 0; s < (left_only ? 1 : 2); s++) {
        wr_vec *dst = batch->cols + (s ? side[0].n_cols : 0);
        if (o->probing == s) gather_probe(o, &side[s], dst, batch->mem);
        else wr_join_decode(&side[s], o->row[s], o->n, dst, batch->mem);
    }
    if (o->any_kind) batch->kinds = memcpy(wr_mem_alloc(batch->mem, o->n), o->kind, o->n);
    if (o->any_late) batch->row_wm_us = memcpy(wr_mem_alloc(batch->mem, o->n * sizeof *o->late_us), o->late_us, o->n * sizeof *o->late_us);
    return batch;
}

wr_status wr_join_out_emit(wr_join_out *o, wr_out *out, wr_err *err) {
    wr_status s = WR_OK;
    if (o->n) s = wr_emit(out, wr_join_out_build(o, wr_join_left_only(o->base->kind)), err);
    wr_join_out_reset(o);
    return s;
}

wr_status wr_join_out_filter(wr_join_out *o, uint16_t *sel, uint32_t *n_sel, wr_batch **built, wr_err *err) {
    *built = NULL;
    if (!o->base->residual) {
        for (uint32_t i = 0; i < o->n; i++) sel[i] = (uint16_t)i;
        *n_sel = o->n;
        return WR_OK;
    }
    *built = wr_join_out_build(o, false);
    return wr_prog_filter(o->base->residual, *built, o->base->op.ctx->now_us, sel, n_sel, err);
}
