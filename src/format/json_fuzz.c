/* format/json_fuzz.c: any bytes through the json decoder, with and without ignore-parse-errors, plain and in an envelope; and what comes out of lines of known shapes
 * (json_fast.c) is what comes out of them the general way.                                                                     */
#include "format/fuzzing.h"
#include "format/json_decoder.h"

static void rows_of(wr_decoder *d, const uint8_t *bytes, size_t len, wr_sbuf *out) {
    wr_mem    *mem = wr_mem_new(0);
    uint8_t   *data = wr_mem_alloc(mem, len + 64);
    wr_decoded got = {.want_lines = true};
    if (len) memcpy(data, bytes, len);
    memset(data + len, '7', 64);
    d->decode(d, mem, data, len, true, &got);
    wr_sbuf_clear(out);
    wr_sbuf_printf(out, "%llu %llu %llu %u\n", (unsigned long long)got.n_records, (unsigned long long)got.n_lines, (unsigned long long)got.n_blank, got.batches.n);
    for (uint32_t b = 0; b < got.batches.n; b++)
        for (uint32_t i = 0; i < got.batches.at[b]->n_rows; i++)
            for (uint32_t c = 0; c < got.batches.at[b]->n_cols; c++) wr_vec_text(&got.batches.at[b]->cols[c], i, NULL, out), wr_sbuf_addc(out, c + 1 < got.batches.at[b]->n_cols ? '|' : '\n');
    for (uint32_t i = 0; i < got.row_lines.n; i++) wr_sbuf_printf(out, "%u ", got.row_lines.at[i]);
    for (uint32_t i = 0; i < got.bad.n; i++)
        wr_sbuf_printf(out, "\n%llu:%llu %llu %.*s %s", (unsigned long long)got.bad.at[i].line, (unsigned long long)got.bad.at[i].offset, (unsigned long long)got.bad.at[i].before_row, WR_FMT(got.bad.at[i].raw), got.bad.at[i].message);
    wr_decoded_free(&got);
    wr_mem_unref(mem);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len) {
    static wr_decoder *decoders[5];
    static wr_schema   schema;
    static uint8_t     flat[] = {1, 1, 1, 1, 1, 0, 0, 0, 1}; /* nested columns are never read the fast way */
    static wr_sbuf     ways[2];
    if (!decoders[0]) {
        schema = fuzz_schema();
        wr_option       ignore = {WR_STR("json.ignore-parse-errors"), WR_STR("true"), {0}};
        wr_decoder_opts opts = {.schema = &schema, .batch_rows = 3, .max_record_bytes = 4096};
        wr_assert(wr_format_json.decoder_new(&opts, &decoders[0], NULL) == WR_OK);
        opts.envelope = true;
        wr_assert(wr_format_json.decoder_new(&opts, &decoders[1], NULL) == WR_OK);
        opts.envelope = false;
        opts.options = (wr_options){1, &ignore};
        wr_assert(wr_format_json.decoder_new(&opts, &decoders[2], NULL) == WR_OK);
        opts.options.n = 0;
        opts.needed = flat;
        for (int i = 3; i < 5; i++) wr_assert(wr_format_json.decoder_new(&opts, &decoders[i], NULL) == WR_OK);
        ((json_decoder *)decoders[4])->fast = NULL;
    }
    for (int i = 0; i < 3; i++) fuzz_halves(decoders[i], bytes, len, i == 1);
    for (int i = 0; i < 2; i++) rows_of(decoders[3 + i], bytes, len, &ways[i]);
    wr_assert(wr_str_eq(wr_sbuf_str(&ways[0]), wr_sbuf_str(&ways[1])));
    return 0;
}
