/* format/avro_file.c: Avro's object container files, to be read. See avro.h.
 *
 * Idea       a chunk of a file is a number of whole blocks; the header goes with each chunk (wr_format.header). A damaged block ends at the next mark, so that it
 *            costs no more than itself.
 * Bounds     a block unpacks to max_bytes at most.                                                                        */
#define _GNU_SOURCE 1 /* memmem */
#include "format/avro.h"
#include <stdio.h>
#include <zlib.h>
#include <zstd.h>

static const char magic[4] = {'O', 'b', 'j', 1};

static const uint8_t *get_bytes(const uint8_t *p, const uint8_t *end, wr_str *out) {
    int64_t len;
    if (!(p = avro_get_long(p, end, &len)) || len < 0 || len > end - p) return NULL;
    *out = (wr_str){(const char *)p, (size_t)len};
    return p + len;
}

static void set_codec(avro_file *f, wr_str codec) {
    f->deflate = wr_str_eq(codec, WR_STR("deflate"));
    f->zstd = wr_str_eq(codec, WR_STR("zstandard"));
    snprintf(f->codec, sizeof f->codec, "%.*s", (int)WR_MIN(codec.len, 20u), codec.ptr);
}

size_t avro_file_header(const uint8_t *data, size_t len, avro_file *f) {
    const uint8_t *p = data + sizeof magic, *end = data + len;
    int64_t        n, size;
    wr_str         key, value;
    *f = (avro_file){.codec = "null"};
    if (memcmp(data, magic, WR_MIN(len, sizeof magic)) != 0) return SIZE_MAX;
    if (len < sizeof magic) return 0;
    for (;;) {
        if (!(p = avro_get_long(p, end, &n))) return 0;
        if (n < 0 && !(p = avro_get_long(p, end, &size))) return 0;
        if (n == 0) break;
        if (n == INT64_MIN) return SIZE_MAX;
        for (n = n < 0 ? -n : n; n > 0; n--) {
            if (!(p = get_bytes(p, end, &key)) || !(p = get_bytes(p, end, &value))) return 0;
            if (wr_str_eq(key, WR_STR("avro.schema"))) f->schema = value;
            if (wr_str_eq(key, WR_STR("avro.codec"))) set_codec(f, value);
        }
    }
    if (end - p < 16) return 0;
    memcpy(f->sync, p, 16);
    f->len = (size_t)(p + 16 - data);
    return f->schema.ptr ? f->len : SIZE_MAX;
}

/* The count and size in front of a block. NULL: cut off, or none. */
static const uint8_t *block_head(const uint8_t *p, const uint8_t *end, int64_t *n, int64_t *size, bool *cut) {
    const uint8_t *q = avro_get_long(p, end, n);
    const uint8_t *r = q ? avro_get_long(q, end, size) : NULL;
    *cut = !r && end - p < 20;
    return r && *n >= 0 && *size >= 0 ? r : NULL;
}

size_t avro_file_split(const uint8_t *data, size_t len, const wr_options *options, uint64_t *state) {
    avro_file f;
    size_t    at = 0;
    int64_t   n, size;
    bool      cut;
    (void)options, (void)state;
    if (len >= sizeof magic && !memcmp(data, magic, sizeof magic) && (at = avro_file_header(data, len, &f)) == SIZE_MAX) return len;
    if (!at && len >= sizeof magic && !memcmp(data, magic, sizeof magic)) return 0;
    for (;;) {
        const uint8_t *p = block_head(data + at, data + len, &n, &size, &cut);
        if (!p) return cut || at ? at : len; /* damaged: the decoder looks for the next mark */
        if (size > (int64_t)len - 16 || p + size + 16 > data + len) return at;
        at = (size_t)(p + size + 16 - data);
    }
}

/* NULL, or what is wrong. */
static const char *inflate_block(wr_str packed, size_t max_bytes, wr_mem *mem, wr_str *out) {
    z_stream z = {.next_in = (Bytef *)(uintptr_t)packed.ptr, .avail_in = (uInt)packed.len};
    wr_sbuf  text = {.max = max_bytes};
    if (inflateInit2(&z, -15) != Z_OK) return "zlib cannot start";
    int code = Z_OK;
    while (code == Z_OK && text.len < max_bytes) {
        wr_sbuf_reserve(&text, WR_MIN(packed.len * 4 + 4096, max_bytes - text.len));
        size_t room = WR_MIN(text.cap - text.len - 1, max_bytes - text.len);
        z.next_out = (Bytef *)text.at + text.len, z.avail_out = (uInt)room;
        code = inflate(&z, Z_NO_FLUSH);
        text.len += room - z.avail_out;
    }
    inflateEnd(&z);
    char *copy = code == Z_STREAM_END ? wr_mem_alloc(mem, text.len + 64) : NULL;
    if (copy && text.len) memcpy(copy, text.at, text.len);
    *out = (wr_str){copy, text.len};
    wr_sbuf_free(&text);
    return copy ? NULL : code == Z_OK ? "a block is too long" : "a block cannot be unpacked (deflate)";
}

static const char *zstd_block(wr_str packed, size_t max_bytes, wr_mem *mem, wr_str *out) {
    unsigned long long size = ZSTD_getFrameContentSize(packed.ptr, packed.len);
    if (size == ZSTD_CONTENTSIZE_ERROR) return "a block cannot be unpacked (zstandard)";
    if (size == ZSTD_CONTENTSIZE_UNKNOWN) size = WR_MIN(max_bytes, packed.len * 64 + (1 << 20));
    if (size > max_bytes) return "a block is too long";
    char  *text = wr_mem_alloc(mem, size + 64);
    size_t got = ZSTD_decompress(text, size, packed.ptr, packed.len);
    if (ZSTD_isError(got)) return "a block cannot be unpacked (zstandard)";
    *out = (wr_str){text, got};
    return NULL;
}

const char *avro_file_block(const avro_file *f, const uint8_t *data, size_t len, size_t max_bytes, wr_mem *mem, avro_block *out) {
    int64_t        size = 0;
    bool           cut;
    const uint8_t *p = block_head(data, data + len, &out->n, &size, &cut);
    bool           whole = p && size <= (int64_t)len - 16 && p + size + 16 <= data + len && !memcmp(p + size, f->sync, 16);
    if (!whole) {
        const uint8_t *mark = memmem(data, len, f->sync, 16);
        out->raw_len = mark ? (size_t)(mark + 16 - data) : len;
        return mark ? "a block is damaged: the mark is not where it should be" : "a block is cut off or damaged";
    }
    out->raw_len = (size_t)(p + size + 16 - data);
    out->data = (wr_str){(const char *)p, (size_t)size};
    if (f->deflate) return inflate_block(out->data, max_bytes, mem, &out->data);
    if (f->zstd) return zstd_block(out->data, max_bytes, mem, &out->data);
    return NULL;
}
