/* bench/decode_bench.c: rows a second of the json decoder over Nexmark-like bids, against what simdjson's own ondemand loop needs for the
 * same fields (decode_floor.cpp).
 *
 * Build      cc -O2 -D_GNU_SOURCE -Isrc -c bench/decode_bench.c; c++ -O2 -Isrc -c bench/decode_floor.cpp; link with weir_format weir_type weir_sys
 *            weir_base, simdjson, utf8proc.
 * Use        decode_bench [rows] [fields: 7 or 3]                                                                       */
#define _GNU_SOURCE 1
#include "format/format.h"
#include "sys/world.h"
#include <stdio.h>
#include <stdlib.h>

double decode_floor(const char *data, size_t len, int fields, int64_t *sum); /* seconds, decode_floor.cpp */

static size_t make_bids(wr_sbuf *out, uint32_t rows) {
    uint64_t x = 88172645463325252ull;
    for (uint32_t i = 0; i < rows; i++) {
        x ^= x << 13, x ^= x >> 7, x ^= x << 17;
        wr_sbuf_printf(out,
                       "{\"auction\":%u,\"bidder\":%u,\"price\":%u,\"channel\":\"Google\",\"url\":\"https://www.nexmark.com/item.htm?query=%u&channel_id=%u\","
                       "\"dateTime\":\"2026-01-01 %02u:%02u:%02u.%03u\",\"extra\":\"abcdefghijklmnopqrstuvwxyzabcdef\"}\n",
                       (uint32_t)(x % 100000), (uint32_t)(x >> 20) % 100000, (uint32_t)(x >> 40) % 1000000, (uint32_t)x % 10, (uint32_t)(x >> 8),
                       i / 3600000 % 24, i / 60000 % 60, i / 1000 % 60, i % 1000);
    }
    wr_sbuf_reserve(out, 128);
    return out->len;
}

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

int main(int argc, char **argv) {
    uint32_t rows = argc > 1 ? (uint32_t)atoi(argv[1]) : 1000000;
    int      fields = argc > 2 ? atoi(argv[2]) : 7;
    wr_sbuf  data = {0};
    size_t   len = make_bids(&data, rows);
    wr_type  big = wr_type_of(WR_T_BIGINT), text = wr_type_string(), ts = wr_type_prec(WR_T_TIMESTAMP, 3);
    wr_field f[] = {{WR_STR("auction"), big}, {WR_STR("bidder"), big}, {WR_STR("price"), big}, {WR_STR("channel"), text},
                    {WR_STR("url"), text},    {WR_STR("dateTime"), ts}, {WR_STR("extra"), text}};
    wr_schema schema = {7, f};
    uint8_t   three[] = {1, 0, 1, 0, 0, 1, 0}, all[] = {1, 1, 1, 1, 1, 1, 1};
    wr_decoder_opts opts = {.schema = &schema, .needed = fields == 3 ? three : all, .batch_rows = 2048, .max_record_bytes = 16 << 20};
    wr_decoder *d;
    if (wr_format_find(WR_STR("json"))->decoder_new(&opts, &d, NULL) != WR_OK) return 1;
    wr_world *w = wr_world_posix();
    double    ours[7], floor_[7];
    uint64_t  n_rows = 0;
    int64_t   sum = 0;
    for (int round = 0; round < 7; round++) {
        wr_decoded out = {0};
        int64_t    t = wr_mono_us(w);
        n_rows = 0;
        for (size_t at = 0; at < len;) {
            size_t n = WR_MIN(len - at, (size_t)1 << 20);
            n = (size_t)((char *)memrchr(data.at + at, '\n', n) + 1 - (data.at + at));
            wr_mem *mem = wr_mem_new(0);
            d->decode(d, mem, (const uint8_t *)data.at + at, n, at == 0, &out);
            wr_mem_unref(mem);
            for (uint32_t i = 0; i < out.batches.n; i++) wr_batch_unref(out.batches.at[i]);
            out.batches.n = 0;
            at += n;
        }
        n_rows = out.n_rows;
        ours[round] = (double)(wr_mono_us(w) - t) / 1e6;
        floor_[round] = decode_floor(data.at, len, fields, &sum);
        wr_arr_free(&out.batches);
        wr_arr_free(&out.bad);
    }
    qsort(ours, 7, sizeof *ours, by_value);
    qsort(floor_, 7, sizeof *floor_, by_value);
    printf("%d fields, %llu rows of %zu bytes: weir %.2f M rows/s, simdjson alone %.2f M rows/s, ratio %.2f (checksum %lld)\n", fields, (unsigned long long)n_rows,
           len / rows, (double)rows / ours[3] / 1e6, (double)rows / floor_[3] / 1e6, floor_[3] / ours[3], (long long)sum);
    d->free(d);
    wr_sbuf_free(&data);
    return n_rows != rows;
}
