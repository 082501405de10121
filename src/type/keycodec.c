/* type/keycodec.c: see keycodec.h.                                                                                                */
#include "type/keycodec.h"

static void put_be(uint64_t bits, int bytes, wr_sbuf *out) {
    char room[8];
    for (int i = 0; i < bytes; i++) room[i] = (char)(bits >> 8 * (bytes - 1 - i));
    wr_sbuf_add(out, room, (size_t)bytes);
}

static void put_signed(int64_t v, int bytes, wr_sbuf *out) { put_be((uint64_t)v ^ UINT64_C(1) << (8 * bytes - 1), bytes, out); }

static void put_double(double x, wr_sbuf *out) {
    uint64_t bits;
    x += 0.0;
    if (x != x) x = __builtin_nan("");
    memcpy(&bits, &x, 8);
    put_be(bits >> 63 ? ~bits : bits | UINT64_C(1) << 63, 8, out);
}

static void put_text(wr_str s, wr_sbuf *out) {
    for (const char *end = s.ptr + s.len; s.ptr < end;) {
        const char *zero = memchr(s.ptr, 0, (size_t)(end - s.ptr)), *to = zero ? zero : end;
        wr_sbuf_add(out, s.ptr, (size_t)(to - s.ptr));
        if (zero) wr_sbuf_add(out, "\0\377", 2), to++;
        s.ptr = to;
    }
    wr_sbuf_add(out, "\0\1", 2);
}

static void put_list(const wr_vec *vec, wr_list list, wr_sbuf *out) {
    for (uint32_t i = list.offset; i < list.offset + list.len; i++) {
        wr_sbuf_addc(out, 1);
        for (uint32_t k = 0; k < vec->type.n_kids; k++) wr_keycodec_put(&vec->kids[k], i, out);
    }
    wr_sbuf_addc(out, 0);
}

void wr_keycodec_put(const wr_vec *vec, uint32_t row, wr_sbuf *out) {
    bool null = wr_vec_is_null(vec, row);
    wr_sbuf_addc(out, (char)!null);
    if (null) return;
    switch (wr_type_storage(vec->type)) {
    case WR_S_NONE: break;
    case WR_S_BOOL: wr_sbuf_addc(out, (char)(((const uint8_t *)vec->data)[row] != 0)); break;
    case WR_S_I8: put_signed(((const int8_t *)vec->data)[row], 1, out); break;
    case WR_S_I16: put_signed(((const int16_t *)vec->data)[row], 2, out); break;
    case WR_S_I32: put_signed(((const int32_t *)vec->data)[row], 4, out); break;
    case WR_S_I64: put_signed(((const int64_t *)vec->data)[row], 8, out); break;
    case WR_S_I128: {
        wr_i128 v = ((const wr_i128 *)vec->data)[row];
        put_signed((int64_t)(v >> 64), 8, out);
        put_be((uint64_t)v, 8, out);
        break;
    }
    case WR_S_F32: put_double((double)((const float *)vec->data)[row], out); break;
    case WR_S_F64: put_double(((const double *)vec->data)[row], out); break;
    case WR_S_STR: put_text(wr_sview_str((const wr_sview *)vec->data + row), out); break;
    case WR_S_LIST: put_list(vec, ((const wr_list *)vec->data)[row], out); break;
    case WR_S_ROW:
        for (uint32_t k = 0; k < vec->type.n_kids; k++) wr_keycodec_put(&vec->kids[k], row, out);
        break;
    }
}

bool wr_keycodec_behind(wr_sbuf *key) {
    while (key->len && (unsigned char)key->at[key->len - 1] == 0xff) key->len--;
    if (!key->len) return false;
    key->at[key->len - 1] = (char)((unsigned char)key->at[key->len - 1] + 1);
    key->at[key->len] = 0;
    return true;
}
