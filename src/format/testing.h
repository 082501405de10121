/* format/testing.h: for the tests of this room: decode a text, get rows and bad records back as text.
 *
 * Form       +I[1, abc] a row (NULL for nulls), then !kind line:offset message a bad record, in the order in which they come.          */
#pragma once
#include "format/parts.h"
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct test_table {
    const char      *format;
    wr_schema        schema;
    const wr_option *options;
    uint32_t         n_options;
    const uint8_t   *needed;
    const bool      *key;
    wr_schema        metadata; /* n 0: none */
    const wr_str    *metadata_keys;
    bool             envelope;
    uint32_t         batch_rows;
    int64_t          max_record_bytes;
} test_table;

static inline void dump_bad(const wr_bad_record *b, wr_sbuf *out) {
    wr_sbuf_printf(out, "!%s %llu:%llu %s\n", wr_bad_kind_name(b->kind), (unsigned long long)b->line, (unsigned long long)b->offset, b->message);
}

/* Rows and bad records of one decoded chunk, merged by before_row. */
static inline void dump_decoded(wr_decoded *d, wr_sbuf *out) {
    uint64_t row = 0;
    uint32_t bad = 0;
    for (uint32_t b = 0; b < d->batches.n; b++) {
        wr_batch *batch = d->batches.at[b];
        for (uint32_t i = 0; i < batch->n_rows; i++, row++) {
            while (bad < d->bad.n && d->bad.at[bad].before_row <= row) dump_bad(&d->bad.at[bad++], out);
            wr_sbuf_printf(out, "%s[", wr_kind_text(wr_batch_kind(batch, i)));
            for (uint32_t c = 0; c < batch->n_cols; c++) {
                if (c) wr_sbuf_addz(out, ", ");
                wr_vec_text(&batch->cols[c], i, NULL, out);
            }
            wr_sbuf_addz(out, "]\n");
        }
        wr_batch_unref(batch);
    }
    while (bad < d->bad.n) dump_bad(&d->bad.at[bad++], out);
    assert_int_equal(row, d->n_rows);
}

static inline wr_decoder *test_decoder(const test_table *t) {
    wr_decoder_opts opts = {.schema = &t->schema, .needed = t->needed, .key = t->key, .options = {t->n_options, t->options}, .batch_rows = t->batch_rows ? t->batch_rows : 2048,
                            .max_record_bytes = t->max_record_bytes ? t->max_record_bytes : 16 << 20, .envelope = t->envelope,
                            .metadata = t->metadata.n ? &t->metadata : NULL, .metadata_keys = t->metadata_keys};
    const wr_format *f = wr_format_find(wr_str_of(t->format));
    assert_non_null(f);
    wr_decoder *d = NULL;
    assert_int_equal(f->decoder_new(&opts, &d, NULL), WR_OK);
    return d;
}

/* One chunk; the text is copied so that it ends where its memory (with padding) ends. */
static inline void test_chunk(wr_decoder *d, const char *text, size_t len, bool first, wr_decoded *out) {
    wr_mem  *mem = wr_mem_new(0);
    uint8_t *data = wr_mem_alloc(mem, len + 64);
    memcpy(data, text, len);
    memset(data + len, '"', 64); /* hostile padding */
    d->decode(d, mem, data, len, first, out);
    wr_mem_unref(mem); /* batches keep what they borrow; bad records are read before */
}

static inline char *test_decode(const test_table *t, const char *text, size_t len, wr_decoded *counts) {
    wr_decoder *d = test_decoder(t);
    wr_decoded  out = {0};
    wr_sbuf     dump = {0};
    test_chunk(d, text, len, true, &out);
    dump_decoded(&out, &dump);
    if (counts) *counts = out;
    wr_arr_free(&out.batches);
    wr_arr_free(&out.bad);
    d->free(d);
    wr_sbuf_addz(&dump, "");
    return dump.at ? dump.at : wr_strdup("");
}

#define EXPECT(t, text, expected)                                \
    do {                                                         \
        char *got_ = test_decode((t), (text), strlen(text), NULL); \
        assert_string_equal(got_, (expected));                   \
        wr_free(got_);                                           \
    } while (0)

#define FIELD(NAME, TYPE) {WR_STR(NAME), TYPE}
#define OPTION(KEY, VALUE) {WR_STR(KEY), WR_STR(VALUE), {0}}
#define TABLE(FMT, FIELDS) {.format = (FMT), .schema = {WR_COUNT_OF(FIELDS), (FIELDS)}}
