/* format/avro_fuzz.c: any bytes as an Avro datum of a schema with every type, any text as a schema with a datum behind it, and any bytes as a container file.   */
#include "format/avro.h"
#include "format/fuzzing.h"

static const char every[] =
    "{\"type\":\"record\",\"name\":\"R\",\"fields\":[{\"name\":\"a\",\"type\":[\"null\",\"int\",\"string\"]},{\"name\":\"x0\",\"type\":{\"type\":\"map\",\"values\":\"null\"}},{\"name\":\"s\",\"type\":[\"string\",\"null\"]},"
    "{\"name\":\"d\",\"type\":{\"type\":\"bytes\",\"logicalType\":\"decimal\",\"precision\":20,\"scale\":4}},{\"name\":\"f\",\"type\":\"float\"},{\"name\":\"t\",\"type\":{\"type\":\"long\",\"logicalType\":\"timestamp-micros\"}},"
    "{\"name\":\"l\",\"type\":{\"type\":\"array\",\"items\":{\"type\":\"record\",\"name\":\"Q\",\"fields\":[{\"name\":\"x\",\"type\":\"int\"},{\"name\":\"next\",\"type\":[\"null\",\"Q\"]},{\"name\":\"y\",\"type\":\"string\"}]}}},"
    "{\"name\":\"m\",\"type\":{\"type\":\"map\",\"values\":[\"null\",\"int\"]}},{\"name\":\"r\",\"type\":[\"null\",\"Q\"]},{\"name\":\"y\",\"type\":{\"type\":\"array\",\"items\":\"null\"}}]}";

static void read_all(wr_decoded *out) {
    wr_sbuf text = {0};
    for (uint32_t b = 0; b < out->batches.n; b++)
        for (uint32_t i = 0; i < out->batches.at[b]->n_rows; i++)
            for (uint32_t c = 0; c < out->batches.at[b]->n_cols; c++) {
                wr_sbuf_clear(&text);
                wr_vec_text(&out->batches.at[b]->cols[c], i, NULL, &text);
            }
    wr_sbuf_free(&text);
}

/* A file as file_source reads it: its header with each of two chunks, cut where a block ends. */
static void one_file(wr_decoder *d, const uint8_t *bytes, size_t len) {
    avro_file    f;
    size_t       n = len ? avro_file_header(bytes, len, &f) : 0, at = len ? avro_file_split(bytes, len / 2, NULL, NULL) : 0;
    const wr_str header = {(const char *)bytes, n == SIZE_MAX ? 0 : n};
    wr_assert(at <= len / 2);
    for (int k = 0; k < 2; k++) {
        size_t     from = k ? at : 0, size = k ? len - at : at;
        wr_mem    *mem = wr_mem_new(0);
        uint8_t   *data = wr_mem_alloc(mem, size + 64);
        wr_decoded out = {0};
        if (size) memcpy(data, bytes + from, size);
        memset(data + size, 0xAA, 64);
        d->file_header(d, header);
        d->decode(d, mem, data, size, from == 0, &out);
        wr_assert(out.n_records == out.n_rows + out.bad.n && out.n_lines == out.n_records);
        read_all(&out);
        wr_decoded_free(&out);
        wr_mem_unref(mem);
    }
}

/* Rows of one message, or a bad record: the sums hold, and every value can be read. */
static void one_message(wr_decoder *d, const uint8_t *bytes, size_t len) {
    wr_mem  *mem = wr_mem_new(0);
    uint8_t *data = wr_mem_alloc(mem, len + 64);
    if (len) memcpy(data, bytes, len);
    memset(data + len, 0xAA, 64);
    const wr_slice slices[2] = {{0, (uint32_t)(len / 2)}, {0, (uint32_t)len}};
    wr_decoded     out = {0};
    d->decode_records(d, mem, data, slices, 2, &out);
    wr_assert(out.n_rows + out.bad.n == 2 && out.n_records == 2 && out.n_lines == 2 && out.failed == WR_OK);
    read_all(&out);
    wr_decoded_free(&out);
    wr_mem_unref(mem);
}

static wr_decoder *decoder_of(const wr_schema *schema, const char *text) {
    const wr_option  option = {WR_STR("avro.schema"), wr_str_of(text), {0}};
    wr_decoder_opts  opts = {.schema = schema, .options = {1, &option}, .batch_rows = 3, .max_record_bytes = 1 << 16};
    wr_decoder      *d = NULL;
    return wr_format_avro.decoder_new(&opts, &d, NULL) == WR_OK ? d : NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len) {
    static wr_decoder *fixed, *files;
    static wr_schema   schema;
    if (!fixed) {
        schema = fuzz_schema();
        schema.n = 8; /* not y: it has no column of its kind here */
        fixed = decoder_of(&schema, every);
        wr_decoder_opts opts = {.schema = &schema, .batch_rows = 3, .max_record_bytes = 1 << 16, .files = true};
        wr_assert(fixed && wr_format_avro.decoder_new(&opts, &files, NULL) == WR_OK);
    }
    one_message(fixed, bytes, len);
    one_file(files, bytes, len);
    const uint8_t *zero = len ? memchr(bytes, 0, len) : NULL; /* a schema, 0, a datum */
    if (!zero || zero == bytes) return 0;
    wr_decoder *d = decoder_of(&schema, (const char *)bytes);
    if (d) one_message(d, zero + 1, (size_t)(bytes + len - zero - 1)), d->free(d);
    return 0;
}
