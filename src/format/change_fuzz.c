/* format/change_fuzz.c: any bytes through canal-json, maxwell-json and ogg-json, as lines and in envelopes, with metadata.           */
#include "format/fuzzing.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len) {
    static const wr_format *const formats[] = {&wr_format_canal, &wr_format_maxwell, &wr_format_ogg, &wr_format_debezium};
    static wr_decoder            *decoders[8];
    static wr_schema              schema, metadata;
    static wr_field               fields[2];
    static wr_str                 keys[4][2] = {{WR_STR("table"), WR_STR("event-timestamp")}, {WR_STR("database"), WR_STR("ingestion-timestamp")}, {WR_STR("table"), WR_STR("event-timestamp")},
                                                {WR_STR("source.table"), WR_STR("source.timestamp")}};
    if (!decoders[0]) {
        schema = fuzz_schema();
        fields[0] = (wr_field){WR_STR("m0"), wr_type_string()};
        fields[1] = (wr_field){WR_STR("m1"), wr_type_prec(WR_T_TIMESTAMP_LTZ, 3)};
        metadata = (wr_schema){2, fields};
        for (uint32_t i = 0; i < 8; i++) {
            wr_decoder_opts opts = {.schema = &schema, .batch_rows = i % 2 ? 3 : 100, .max_record_bytes = 4096, .metadata = &metadata, .metadata_keys = keys[i / 2], .envelope = i % 2};
            wr_assert(formats[i / 2]->decoder_new(&opts, &decoders[i], NULL) == WR_OK);
        }
    }
    for (uint32_t i = 0; i < 8; i++) fuzz_halves(decoders[i], bytes, len, true);
    return 0;
}
