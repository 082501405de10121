/* format/json_fuzz.c: any bytes through the json decoder, with and without ignore-parse-errors, plain and in an envelope.          */
#include "format/fuzzing.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len) {
    static wr_decoder *decoders[3];
    static wr_schema   schema;
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
    }
    for (int i = 0; i < 3; i++) fuzz_halves(decoders[i], bytes, len, i == 1);
    return 0;
}
