/* op/row_order.c: see row_order.h. */
#include "op/row_order.h"

static void put_be(wr_sbuf *out, uint64_t v, uint64_t flip) {
    v = __builtin_bswap64(v ^ flip);
    wr_sbuf_add(out, &v, 8);
}
static void put_text(wr_sbuf *out, wr_str text, char flip) {
    for (size_t i = 0; i < text.len; i++) {
        wr_sbuf_addc(out, (char)(text.ptr[i] ^ flip));
        if (!text.ptr[i]) wr_sbuf_addc(out, (char)(0xFF ^ flip));
    }
    wr_sbuf_addc(out, flip);
    wr_sbuf_addc(out, flip);
}
static uint64_t f64_bits(double x) {
    uint64_t bits;
    if (x != x) return UINT64_MAX;
    if (x == 0) x = 0;
    memcpy(&bits, &x, 8);
    return bits >> 63 ? ~bits : bits | UINT64_C(1) << 63;
}

void wr_row_order_put(const wr_sort_key *keys, uint32_t n, const wr_batch *batch, uint32_t row, wr_sbuf *out) {
    for (uint32_t k = 0; k < n; k++) {
        const wr_vec *vec = &batch->cols[keys[k].col];
        const void   *data = vec->data;
        bool          null = wr_vec_is_null(vec, row);
        wr_sbuf_addc(out, null ? (keys[k].nulls_last ? (char)0xFF : 0) : 1);
        if (null) continue;
        uint64_t flip = keys[k].desc ? UINT64_MAX : 0, sign = UINT64_C(1) << 63;
        switch (wr_type_storage(vec->type)) {
        case WR_S_BOOL: put_be(out, ((const uint8_t *)data)[row], flip); break;
        case WR_S_I8: put_be(out, (uint64_t)((const int8_t *)data)[row] ^ sign, flip); break;
        case WR_S_I16: put_be(out, (uint64_t)((const int16_t *)data)[row] ^ sign, flip); break;
        case WR_S_I32: put_be(out, (uint64_t)((const int32_t *)data)[row] ^ sign, flip); break;
        case WR_S_I64: put_be(out, (uint64_t)((const int64_t *)data)[row] ^ sign, flip); break;
        case WR_S_I128: {
            wr_u128 v = (wr_u128)((const wr_i128 *)data)[row];
            put_be(out, (uint64_t)(v >> 64) ^ sign, flip);
            put_be(out, (uint64_t)v, flip);
            break;
        }
        case WR_S_F32: put_be(out, f64_bits((double)((const float *)data)[row]), flip); break;
        case WR_S_F64: put_be(out, f64_bits(((const double *)data)[row]), flip); break;
        case WR_S_STR: put_text(out, wr_sview_str((const wr_sview *)data + row), (char)flip); break;
        default: wr_assert(!"a column of this type has no order");
        }
    }
}
