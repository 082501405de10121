/* format/csv_fuzz.c: any bytes through the csv decoder, and split() must agree with it on where records end.                     */
#include "format/fuzzing.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len) {
    static wr_decoder *d;
    static wr_field    fields[4];
    static wr_schema   schema = {4, fields};
    static wr_option   options[] = {{{"csv.escape-character", 20}, {"\\", 1}, {0}}, {{"csv.allow-comments", 18}, {"true", 4}, {0}}, {{"csv.null-literal", 16}, {"n", 1}, {0}}};
    if (!d) {
        wr_schema all = fuzz_schema();
        memcpy(fields, (wr_field[]){all.fields[0], all.fields[1], all.fields[2], all.fields[4]}, sizeof fields);
        wr_decoder_opts opts = {.schema = &schema, .options = {3, options}, .batch_rows = 3, .max_record_bytes = 4096};
        wr_assert(wr_format_csv.decoder_new(&opts, &d, NULL) == WR_OK);
    }
    wr_options o = {3, options};
    uint64_t   state = 0, whole = fuzz_rows(d, bytes, len, true, false);
    size_t     cut = wr_format_csv.split(bytes, len / 2, &o, &state);
    wr_assert(cut <= len / 2 && (cut == 0 || bytes[cut - 1] == '\n'));
    /* after a quote that is never closed the rest is read by lines, which a cut can hide: only clean inputs must agree */
    if (!memchr(bytes, '"', len)) wr_assert(whole == fuzz_rows(d, bytes, cut, true, false) + fuzz_rows(d, bytes + cut, len - cut, cut == 0, false));
    return 0;
}
