/* format/proto_wire.h: protobuf's wire format: tags, varints, pieces with a length. Private to format/.
 *
 * Idea       a reader is a pair of pointers; every step checks the end, so any bytes may come.
 * Bounds     groups are skipped to a depth of PB_DEPTH_MAX.                                                             */
#pragma once
#include "base/str.h"

enum { PB_VARINT = 0, PB_FIXED64 = 1, PB_BYTES = 2, PB_GROUP = 3, PB_END_GROUP = 4, PB_FIXED32 = 5, PB_DEPTH_MAX = 100 };

typedef struct pb_reader { const uint8_t *p, *end; } pb_reader;

WR_INLINE pb_reader pb_reader_of(wr_str bytes) { return (pb_reader){(const uint8_t *)bytes.ptr, (const uint8_t *)bytes.ptr + bytes.len}; }

WR_INLINE bool pb_varint(pb_reader *r, uint64_t *out) {
    if (WR_LIKELY(r->p < r->end && *r->p < 0x80)) return *out = *r->p++, true;
    uint64_t v = 0;
    for (uint32_t shift = 0; shift < 70 && r->p < r->end; shift += 7) {
        uint64_t byte = *r->p++;
        if (shift < 64) v |= (byte & 0x7F) << shift;
        if (byte < 0x80) return *out = v, true;
    }
    return false;
}

WR_INLINE bool pb_tag(pb_reader *r, uint32_t *number, uint32_t *wire) {
    uint64_t v;
    if (!pb_varint(r, &v) || v > UINT32_MAX || v < 8) return false;
    *number = (uint32_t)v >> 3;
    *wire = (uint32_t)v & 7;
    return true;
}

WR_INLINE bool pb_fixed32(pb_reader *r, uint32_t *out) {
    if (r->end - r->p < 4) return false;
    memcpy(out, r->p, 4);
    r->p += 4;
    return true;
}
WR_INLINE bool pb_fixed64(pb_reader *r, uint64_t *out) {
    if (r->end - r->p < 8) return false;
    memcpy(out, r->p, 8);
    r->p += 8;
    return true;
}
WR_INLINE bool pb_bytes(pb_reader *r, wr_str *out) {
    uint64_t n;
    if (!pb_varint(r, &n) || n > (uint64_t)(r->end - r->p)) return false;
    *out = (wr_str){(const char *)r->p, (size_t)n};
    r->p += n;
    return true;
}
/* The value behind a tag. */
bool pb_skip(pb_reader *r, uint32_t number, uint32_t wire);

/* ---- writing ---- */
WR_INLINE uint32_t pb_varint_put(uint8_t to[10], uint64_t v) {
    uint32_t n = 0;
    while (v >= 0x80) to[n++] = (uint8_t)(v | 0x80), v >>= 7;
    to[n++] = (uint8_t)v;
    return n;
}
WR_INLINE void pb_add_varint(wr_sbuf *out, uint64_t v) {
    uint8_t bytes[10];
    wr_sbuf_add(out, bytes, pb_varint_put(bytes, v));
}
WR_INLINE void pb_add_tag(wr_sbuf *out, uint32_t number, uint32_t wire) { pb_add_varint(out, (uint64_t)number << 3 | wire); }
/* Puts the length of what was added since `from` in front of it. */
void pb_close_bytes(wr_sbuf *out, size_t from);
