/* connect/log/log_fuzz.c: any bytes as the records, headers and idempotency keys of a batch whose sums are right: nothing is read outside of them, and what is well formed
 * comes out again as it went in.                                                                                                       */
#include "connect/log/parts.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

static void walk_headers(wr_str list) {
    if (!list.len) return;
    wr_str      name, value;
    const char *end = list.ptr + list.len;
    while (wr_log_header_next(&list, &name, &value)) wr_assert(name.ptr + name.len <= end && (!value.ptr || value.ptr + value.len <= end));
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len) {
    if (len < 2) return 0;
    wr_sbuf       whole = {0};
    batch_builder b = {.base = 7, .n = bytes[0], .span = (uint32_t)bytes[0] + bytes[1]};
    size_t        n_keys = len > 40 ? bytes[2] % 40 : 0;
    wr_sbuf_add(&b.keys, bytes + 2, n_keys);
    wr_sbuf_add(&b.raw, bytes + 2 + n_keys, len - 2 - n_keys);
    batch_seal(&b, 0, 0, 1, NULL, &whole);
    batch_head head;
    wr_assert(batch_head_get((const uint8_t *)whole.at, whole.len, &head) && batch_verify((const uint8_t *)whole.at, whole.len));
    wr_reader keys = {(const uint8_t *)whole.at + BATCH_HEADER, (const uint8_t *)whole.at + BATCH_HEADER + head.keys_len, false};
    wr_str    key;
    int64_t   offset;
    uint32_t  n;
    while (head.keys_len && batch_next_key(&keys, &key, &offset, &n)) wr_assert(key.len <= n_keys);
    wr_log_batch  batch = {0}, again = {0};
    wr_log_record r, s;
    batch_builder copy = {0};
    wr_assert(wr_log_batch_open(&batch, (const uint8_t *)whole.at, whole.len) == WR_OK);
    while (wr_log_batch_next(&batch, &r)) {
        walk_headers(r.headers);
        wr_assert(r.key.len + r.value.len + r.headers.len <= len);
        wr_assert(r.offset >= 7 && r.offset < 7 + (int64_t)b.span);
        batch_add(&copy, &r);
    }
    if (copy.n) {
        wr_sbuf_clear(&whole);
        copy.base = 7, copy.span = b.span; /* the first offset may not be the lowest in a batch that nobody wrote */
        batch_seal(&copy, 0, 0, 1, NULL, &whole);
        wr_assert(wr_log_batch_open(&again, (const uint8_t *)whole.at, whole.len) == WR_OK);
        uint32_t got = 0;
        while (wr_log_batch_next(&again, &s)) got++;
        wr_assert(got == copy.n || again.bad);
    }
    batch_head any;
    if (batch_head_get(bytes, len, &any)) (void)batch_verify(bytes, len);
    wr_log_batch_free(&batch);
    wr_log_batch_free(&again);
    batch_builder_free(&b);
    batch_builder_free(&copy);
    wr_sbuf_free(&whole);
    return 0;
}
