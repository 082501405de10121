/* type/testkit.h: random types and columns for the tests of this folder, and small builders of columns.                */
#pragma once
#include "base/hash.h"
#include "type/batch.h"

static WR_UNUSED wr_type kit_type(wr_arena *arena, wr_rng *rng, int depth) {
    static const wr_tid flat[] = {WR_T_BOOLEAN, WR_T_TINYINT, WR_T_SMALLINT, WR_T_INT, WR_T_BIGINT, WR_T_FLOAT, WR_T_DOUBLE, WR_T_DECIMAL,
                                  WR_T_VARCHAR, WR_T_CHAR, WR_T_VARBINARY, WR_T_DATE, WR_T_TIME, WR_T_TIMESTAMP, WR_T_TIMESTAMP_LTZ,
                                  WR_T_INTERVAL_YM, WR_T_INTERVAL_DS, WR_T_NULL};
    if (depth == 0 || wr_rng_below(rng, 4)) {
        wr_type t = wr_type_of(flat[wr_rng_below(rng, WR_COUNT_OF(flat))]);
        if (t.id == WR_T_DECIMAL) t = wr_type_decimal(38, 10);
        if (t.id == WR_T_VARCHAR || t.id == WR_T_VARBINARY) t.prec = WR_LENGTH_MAX;
        if (t.id == WR_T_CHAR) t.prec = 20;
        if (t.id == WR_T_TIMESTAMP || t.id == WR_T_TIMESTAMP_LTZ) t.prec = 3;
        return t;
    }
    static const wr_tid nested[] = {WR_T_ARRAY, WR_T_MULTISET, WR_T_MAP, WR_T_ROW};
    wr_type  t = wr_type_of(nested[wr_rng_below(rng, 4)]);
    t.n_kids = t.id == WR_T_ROW ? 1 + (uint32_t)wr_rng_below(rng, 3) : t.id == WR_T_MAP ? 2 : 1;
    wr_type *kids = wr_new_n(arena, wr_type, t.n_kids);
    wr_str  *names = wr_new_n(arena, wr_str, t.n_kids);
    for (uint32_t i = 0; i < t.n_kids; i++) {
        kids[i] = kit_type(arena, rng, depth - 1);
        names[i] = wr_str_of(wr_arena_printf(arena, "f%u", i));
    }
    t.kids = kids;
    t.names = t.id == WR_T_ROW ? names : NULL;
    return t;
}

/* Few distinct values, so that equal rows happen; the strings lie around the inline limit of 12 bytes. */
static WR_UNUSED void kit_random(wr_rng *rng, wr_vec *vec, uint32_t row, wr_mem *mem) {
    static const double doubles[] = {0.0, -0.0, 1.5, -1e300, 0.0 / 0.0, -(0.0 / 0.0), 1.0 / 0.0};
    if (vec->type.id == WR_T_NULL || wr_rng_below(rng, 4) == 0) {
        wr_vec_set_null(vec, row, mem);
        return;
    }
    if (vec->valid) wr_valid_set(vec->valid, row, true);
    int64_t x = (int64_t)wr_rng_below(rng, 4) - 2;
    switch (wr_type_storage(vec->type)) {
    case WR_S_NONE: break;
    case WR_S_BOOL: ((uint8_t *)vec->data)[row] = x & 1; break;
    case WR_S_I8: ((int8_t *)vec->data)[row] = (int8_t)x; break;
    case WR_S_I16: ((int16_t *)vec->data)[row] = (int16_t)x; break;
    case WR_S_I32: ((int32_t *)vec->data)[row] = (int32_t)x; break;
    case WR_S_I64: ((int64_t *)vec->data)[row] = x * INT64_C(1000000007); break;
    case WR_S_I128: ((wr_i128 *)vec->data)[row] = (wr_i128)x * ((wr_i128)1 << 100); break;
    case WR_S_F32: ((float *)vec->data)[row] = (float)doubles[wr_rng_below(rng, 7)]; break;
    case WR_S_F64: ((double *)vec->data)[row] = doubles[wr_rng_below(rng, 7)]; break;
    case WR_S_STR: {
        char   text[32];
        size_t len = wr_rng_below(rng, 3) + (wr_rng_below(rng, 2) ? 11 : 0);
        for (size_t i = 0; i < len; i++) text[i] = (char)('a' + i % 3);
        if (len) text[len - 1] = (char)('x' + wr_rng_below(rng, 2));
        ((wr_sview *)vec->data)[row] = wr_sview_copy(mem, text, len);
        break;
    }
    case WR_S_LIST: {
        wr_list list = {0, (uint32_t)wr_rng_below(rng, 3)};
        for (uint32_t k = 0; k < vec->type.n_kids; k++) {
            list.offset = wr_vec_grow(&vec->kids[k], list.len, mem);
            for (uint32_t i = 0; i < list.len; i++) kit_random(rng, &vec->kids[k], list.offset + i, mem);
        }
        ((wr_list *)vec->data)[row] = list;
        break;
    }
    case WR_S_ROW:
        for (uint32_t k = 0; k < vec->type.n_kids; k++) kit_random(rng, &vec->kids[k], row, mem);
        break;
    }
}

/* A batch of n random rows of the types. */
static WR_UNUSED wr_batch *kit_batch(wr_rng *rng, const wr_type *types, uint32_t n_cols, uint32_t n) {
    wr_batch *batch = wr_batch_new(n_cols, 4096);
    batch->n_rows = n;
    for (uint32_t c = 0; c < n_cols; c++) {
        wr_vec_init(&batch->cols[c], types[c], n, wr_rng_below(rng, 2), batch->mem);
        for (uint32_t i = 0; i < n; i++) kit_random(rng, &batch->cols[c], i, batch->mem);
    }
    return batch;
}
