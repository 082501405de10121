/* format/fuzzing.h: what the decoder fuzzers share: any bytes in, and the sums must hold.
 *
 * Checked    no crash, no read outside the chunk; records = rows + bad + tombstones + redelivered (changelogs: within bounds);
 *            lines counted; every string and list can be read; cutting the chunk at a line in the middle gives the same number of rows.     */
#pragma once
#include "format/parts.h"

static inline uint64_t fuzz_rows(wr_decoder *d, const uint8_t *bytes, size_t len, bool first, bool changelog) {
    wr_mem  *mem = wr_mem_new(0);
    uint8_t *data = wr_mem_alloc(mem, len + 64);
    if (len) memcpy(data, bytes, len);
    memset(data + len, '7', 64);
    wr_decoded out = {0};
    wr_sbuf    text = {0};
    d->decode(d, mem, data, len, first, &out);
    uint64_t rows = 0, rest = out.bad.n + out.n_tombstones + out.n_redelivered;
    for (uint32_t b = 0; b < out.batches.n; b++) {
        const wr_batch *batch = out.batches.at[b];
        rows += batch->n_rows;
        for (uint32_t i = 0; i < batch->n_rows; i++)
            for (uint32_t c = 0; c < batch->n_cols; c++) {
                wr_sbuf_clear(&text);
                wr_vec_text(&batch->cols[c], i, NULL, &text);
            }
    }
    wr_assert(rows == out.n_rows);
    if (!changelog) wr_assert(out.n_records == rows + rest);
    else wr_assert(out.n_records >= rest - out.n_tombstones && out.n_records <= rows + rest + out.n_blank);
    uint64_t lines = 0;
    for (size_t i = 0; i < len; i++) lines += bytes[i] == '\n';
    bool only_bom = first && len == 3 && !memcmp(bytes, "\xEF\xBB\xBF", 3);
    wr_assert(out.n_lines == lines + (len && !only_bom && bytes[len - 1] != '\n'));
    for (uint32_t i = 0; i < out.bad.n; i++) {
        const wr_bad_record *bad = &out.bad.at[i];
        wr_assert(bad->offset <= len && bad->raw.len <= len && bad->line < out.n_lines && bad->before_row <= rows && strnlen(bad->message, sizeof bad->message) < sizeof bad->message);
        wr_assert((const uint8_t *)bad->raw.ptr >= data && (const uint8_t *)bad->raw.ptr + bad->raw.len <= data + len);
    }
    wr_mem_unref(mem);
    wr_sbuf_free(&text);
    wr_decoded_free(&out);
    return rows;
}

/* Columns of every kind that JSON can hold. */
static inline wr_schema fuzz_schema(void) {
    static const wr_type int_ = {.id = WR_T_INT, .nullable = 1}, text = {.id = WR_T_VARCHAR, .nullable = 1, .prec = WR_LENGTH_MAX};
    static wr_type       map_kids[2], row_kids[2];
    static wr_str        row_names[] = {{"x", 1}, {"y", 1}};
    map_kids[0] = row_kids[1] = text;
    map_kids[1] = row_kids[0] = int_;
    static wr_type row = {.id = WR_T_ROW, .nullable = 1, .n_kids = 2, .kids = row_kids, .names = row_names};
    static wr_field fields[9];
    wr_field        f[] = {{WR_STR("a"), int_}, {WR_STR("s"), text}, {WR_STR("d"), wr_type_decimal(10, 2)}, {WR_STR("f"), wr_type_of(WR_T_DOUBLE)}, {WR_STR("t"), wr_type_prec(WR_T_TIMESTAMP, 3)},
                           {WR_STR("l"), {.id = WR_T_ARRAY, .nullable = 1, .n_kids = 1, .kids = &row}}, {WR_STR("m"), {.id = WR_T_MAP, .nullable = 1, .n_kids = 2, .kids = map_kids}}, {WR_STR("r"), row},
                           {WR_STR("y"), wr_type_prec(WR_T_VARBINARY, WR_LENGTH_MAX)}};
    memcpy(fields, f, sizeof f);
    return (wr_schema){9, fields};
}

static inline void fuzz_halves(wr_decoder *d, const uint8_t *bytes, size_t len, bool changelog) {
    uint64_t whole = fuzz_rows(d, bytes, len, true, changelog);
    size_t   cut = len / 2;
    while (cut < len && bytes[cut] != '\n') cut++;
    if (cut < len) cut++;
    uint64_t parts = fuzz_rows(d, bytes, cut, true, changelog) + fuzz_rows(d, bytes + cut, len - cut, cut == 0, changelog);
    wr_assert(parts == whole);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);
