/* connect/log/batch.c: records <-> the bytes of a batch.
 *
 * Record     varints: offset - base, zigzag(time - first time), flags; key and value with their lengths; headers as one run of bytes. A length that does not fit is
 *            a damaged batch; nothing is read outside of it.
 * Keys       idempotency keys of the calls that the batch holds stand in front of the records, not compressed, with a sum of their own: opening a log for append reads
 *            them without the records.
 * Thread     no state.                                                                                                                  */
#include "connect/log/parts.h"
#include <zstd.h>

enum { HAS_KEY = 1, HAS_VALUE = 2, HAS_HEADERS = 4, HEADER_SUM = 72, ZSTD_LEVEL = 1, ZSTD_FROM = 256 };
#define MAGIC 0x31424C57u /* WLB1 */

static void put_varint(wr_sbuf *out, uint64_t v) {
    uint8_t bytes[10];
    size_t  n = 0;
    for (; v >= 0x80; v >>= 7) bytes[n++] = (uint8_t)(v | 0x80);
    bytes[n++] = (uint8_t)v;
    wr_sbuf_add(out, bytes, n);
}

static uint64_t get_varint(wr_reader *in) {
    uint64_t v = 0;
    for (int shift = 0; shift < 64; shift += 7) {
        uint8_t b = wr_get_u8(in);
        v |= (uint64_t)(b & 0x7F) << shift;
        if (!(b & 0x80)) return v;
    }
    in->bad = true;
    return 0;
}

static uint64_t zigzag(int64_t v) { return (uint64_t)v << 1 ^ (uint64_t)(v >> 63); }
static int64_t  unzigzag(uint64_t v) { return (int64_t)(v >> 1) ^ -(int64_t)(v & 1); }

static wr_str get_run(wr_reader *in, uint64_t len) {
    if (len > (uint64_t)(in->end - in->at)) {
        in->bad = true;
        return (wr_str){"", 0};
    }
    wr_str run = {(const char *)in->at, (size_t)len};
    in->at += len;
    return run;
}

void wr_log_header_put(wr_sbuf *headers, wr_str name, wr_str value) {
    put_varint(headers, name.len);
    wr_sbuf_add(headers, name.ptr, name.len);
    put_varint(headers, value.ptr ? (uint64_t)value.len + 1 : 0);
    if (value.ptr) wr_sbuf_add(headers, value.ptr, value.len);
}

bool wr_log_header_next(wr_str *headers, wr_str *name, wr_str *value) {
    if (!headers->len) return false;
    wr_reader in = {(const uint8_t *)headers->ptr, (const uint8_t *)headers->ptr + headers->len, false};
    *name = get_run(&in, get_varint(&in));
    uint64_t len = get_varint(&in);
    *value = len ? get_run(&in, len - 1) : (wr_str){NULL, 0};
    *headers = (wr_str){(const char *)in.at, (size_t)(in.end - in.at)};
    return !in.bad;
}

/* ---- writing ---- */

void batch_add(batch_builder *b, const wr_log_record *r) {
    if (!b->n) b->base = r->offset, b->first_ms = b->max_ms = r->time_ms;
    uint8_t flags = (uint8_t)((r->key.ptr ? HAS_KEY : 0) | (r->value.ptr ? HAS_VALUE : 0) | (r->n_headers ? HAS_HEADERS : 0));
    put_varint(&b->raw, (uint64_t)(r->offset - b->base));
    put_varint(&b->raw, zigzag((int64_t)((uint64_t)r->time_ms - (uint64_t)b->first_ms)));
    wr_put_u8(&b->raw, flags);
    if (r->key.ptr) put_varint(&b->raw, r->key.len), wr_sbuf_add_str(&b->raw, r->key);
    if (r->value.ptr) put_varint(&b->raw, r->value.len), wr_sbuf_add_str(&b->raw, r->value);
    if (r->n_headers) put_varint(&b->raw, r->n_headers), put_varint(&b->raw, r->headers.len), wr_sbuf_add_str(&b->raw, r->headers);
    b->max_ms = WR_MAX(b->max_ms, r->time_ms);
    b->n++;
    b->span = (uint32_t)(r->offset - b->base) + 1;
}

void batch_add_key(batch_builder *b, wr_str key, int64_t offset, uint32_t n) {
    wr_put_i64(&b->keys, offset);
    wr_put_u32(&b->keys, n);
    wr_put_bytes(&b->keys, key.ptr, key.len);
}

bool batch_next_key(wr_reader *keys, wr_str *key, int64_t *offset, uint32_t *n) {
    if (keys->end - keys->at <= 8) return false; /* the sum */
    *offset = wr_get_i64(keys);
    *n = wr_get_u32(keys);
    *key = wr_get_bytes(keys);
    return !keys->bad;
}

static void put_u32(uint8_t *at, uint32_t v) { memcpy(at, &v, 4); }
static void put_u64(uint8_t *at, uint64_t v) { memcpy(at, &v, 8); }
static uint32_t get_u32(const uint8_t *at) { uint32_t v; return memcpy(&v, at, 4), v; }
static uint64_t get_u64(const uint8_t *at) { uint64_t v; return memcpy(&v, at, 8), v; }

void batch_seal(const batch_builder *b, uint32_t partition, uint32_t flags, int64_t appended_us, void *zstd, wr_sbuf *out) {
    size_t start = out->len, keys_len = b->keys.len ? b->keys.len + 8 : 0;
    wr_sbuf_reserve(out, BATCH_HEADER + keys_len + (b->raw.len ? ZSTD_compressBound(b->raw.len) : 0));
    memset(out->at + start, 0, BATCH_HEADER);
    out->len += BATCH_HEADER;
    if (keys_len) {
        wr_sbuf_add(out, b->keys.at, b->keys.len);
        wr_put_u64(out, wr_hash_bytes(b->keys.at, b->keys.len));
    }
    size_t packed = 0;
    if (zstd && b->raw.len >= ZSTD_FROM) {
        packed = ZSTD_compressCCtx(zstd, out->at + out->len, out->cap - out->len, b->raw.at, b->raw.len, ZSTD_LEVEL);
        if (ZSTD_isError(packed) || packed >= b->raw.len) packed = 0;
    }
    if (packed) out->len += packed, flags |= BATCH_ZSTD;
    else wr_sbuf_add(out, b->raw.at, b->raw.len);
    uint8_t *h = (uint8_t *)out->at + start;
    put_u32(h, MAGIC), put_u32(h + 4, (uint32_t)(out->len - start - BATCH_HEADER));
    put_u64(h + 16, (uint64_t)b->base), put_u64(h + 24, (uint64_t)b->first_ms), put_u64(h + 32, (uint64_t)b->max_ms), put_u64(h + 40, (uint64_t)appended_us);
    put_u32(h + 48, b->n), put_u32(h + 52, b->span), put_u32(h + 56, (uint32_t)keys_len), put_u32(h + 60, (uint32_t)b->raw.len), put_u32(h + 64, partition), put_u32(h + 68, flags);
    put_u64(h + 8, wr_hash_bytes(h + BATCH_HEADER, out->len - start - BATCH_HEADER));
    put_u64(h + HEADER_SUM, wr_hash_bytes(h, HEADER_SUM));
}

void batch_builder_free(batch_builder *b) {
    wr_sbuf_free(&b->raw);
    wr_sbuf_free(&b->keys);
}

/* ---- reading ---- */

bool batch_head_get(const uint8_t *p, size_t len, batch_head *h) {
    if (len < BATCH_HEADER || get_u32(p) != MAGIC || get_u64(p + HEADER_SUM) != wr_hash_bytes(p, HEADER_SUM)) return false;
    *h = (batch_head){.len = get_u32(p + 4), .base = (int64_t)get_u64(p + 16), .first_ms = (int64_t)get_u64(p + 24), .max_ms = (int64_t)get_u64(p + 32), .appended_us = (int64_t)get_u64(p + 40),
                      .n = get_u32(p + 48), .span = get_u32(p + 52), .keys_len = get_u32(p + 56), .raw_len = get_u32(p + 60), .partition = get_u32(p + 64), .flags = get_u32(p + 68)};
    return h->base >= 0 && h->base < INT64_MAX / 2 && h->n <= h->span && h->keys_len <= h->len && h->len <= 2u * WR_LOG_RECORD_BYTES && h->raw_len <= 2u * WR_LOG_RECORD_BYTES;
}

bool batch_verify(const uint8_t *p, size_t len) {
    batch_head h;
    return batch_head_get(p, len, &h) && (size_t)h.len + BATCH_HEADER == len && get_u64(p + 8) == wr_hash_bytes(p + BATCH_HEADER, h.len);
}

wr_status wr_log_batch_open(wr_log_batch *b, const uint8_t *bytes, size_t len) {
    batch_head h;
    if (!batch_verify(bytes, len) || !batch_head_get(bytes, len, &h)) return WR_CORRUPT;
    const uint8_t *body = bytes + BATCH_HEADER + h.keys_len, *end = bytes + len;
    b->base = h.base, b->first_ms = h.first_ms, b->n = h.n, b->span = h.span, b->at = 0, b->bad = false;
    if (h.flags & BATCH_ZSTD) {
        wr_sbuf_clear(&b->raw);
        wr_sbuf_reserve(&b->raw, h.raw_len);
        size_t got = ZSTD_decompress(b->raw.at, h.raw_len, body, (size_t)(end - body));
        if (ZSTD_isError(got) || got != h.raw_len) return WR_CORRUPT;
        body = (const uint8_t *)b->raw.at, end = body + got;
    }
    b->in = (wr_reader){body, end, false};
    return WR_OK;
}

bool wr_log_batch_next(wr_log_batch *b, wr_log_record *r) {
    if (b->at == b->n || b->bad) return false;
    wr_reader *in = &b->in;
    uint64_t   delta = get_varint(in);
    *r = (wr_log_record){.offset = b->base + (int64_t)WR_MIN(delta, (uint64_t)b->span)};
    r->time_ms = (int64_t)((uint64_t)b->first_ms + (uint64_t)unzigzag(get_varint(in)));
    uint8_t flags = wr_get_u8(in);
    if (flags & HAS_KEY) r->key = get_run(in, get_varint(in));
    if (flags & HAS_VALUE) r->value = get_run(in, get_varint(in));
    if (flags & HAS_HEADERS) r->n_headers = (uint32_t)get_varint(in), r->headers = get_run(in, get_varint(in));
    b->at++;
    b->bad = in->bad || delta >= b->span;
    return !b->bad;
}

void wr_log_batch_free(wr_log_batch *b) { wr_sbuf_free(&b->raw); }
