/* format/debezium_fuzz.c: any bytes through debezium-json (lines and envelopes) and upsert-json; offsets marked as a source does.   */
#include "format/fuzzing.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len) {
    static wr_decoder *decoders[3];
    static wr_schema   schema;
    static const bool  key[9] = {true};
    if (!decoders[0]) {
        schema = fuzz_schema();
        wr_decoder_opts opts = {.schema = &schema, .key = key, .batch_rows = 3, .max_record_bytes = 4096};
        wr_assert(wr_format_debezium.decoder_new(&opts, &decoders[0], NULL) == WR_OK);
        opts.envelope = true;
        wr_assert(wr_format_debezium.decoder_new(&opts, &decoders[1], NULL) == WR_OK);
        wr_assert(wr_format_upsert.decoder_new(&opts, &decoders[2], NULL) == WR_OK);
    }
    fuzz_halves(decoders[0], bytes, len, true);
    uint8_t *copy = wr_malloc(len + 1);
    if (len) memcpy(copy, bytes, len);
    wr_envelope_seen seen = {0};
    wr_envelope_mark(copy, len, &seen);
    wr_arr_free(&seen.list);
    for (int i = 1; i < 3; i++) fuzz_halves(decoders[i], copy, len, true);
    wr_free(copy);
    return 0;
}
