/* format/records_test.c: messages to rows: line breaks inside them, keys beside values, upserts, bad ones. Right answers by hand.           */
#include "format/records.h"
#include "format/testing.h"

typedef struct rig {
    wr_arena        *arena;
    wr_diags         diags;
    wr_record_format format;
    wr_schema        schema;
    wr_record_reader *reader;
} rig;

static bool rig_open(rig *r, wr_schema schema, const uint32_t *key, uint32_t n_key, const wr_option *options, uint32_t n, bool upsert, uint32_t batch_rows) {
    *r = (rig){.arena = wr_arena_new(NULL), .schema = schema};
    wr_diags_init(&r->diags);
    wr_options o = {n, options};
    if (!wr_record_format_read(&r->format, &r->schema, key, n_key, &o, (wr_span){0}, upsert, false, r->arena, &r->diags)) return false;
    wr_record_reader_opts opts = {.format = &r->format, .schema = &r->schema, .batch_rows = batch_rows, .max_record_bytes = 1 << 20};
    return wr_record_reader_new(&opts, &r->reader, &r->diags) == WR_OK;
}

static void rig_close(rig *r) {
    wr_record_reader_free(r->reader);
    wr_arena_free(r->arena);
    wr_diags_free(&r->diags);
}

/* Messages as key, value pairs (NULL: none); rows with the index of their message in front. */
static char *decode(rig *r, const char *const *messages, uint32_t n) {
    wr_mem    *mem = wr_mem_new(0);
    wr_records records;
    wr_decoded out = {0};
    wr_sbuf    dump = {0};
    wr_records_open(&records, mem, 4096, 4096);
    for (uint32_t i = 0; i < n; i++) assert_true(wr_records_add(&records, wr_str_of(messages[i * 2]), wr_str_of(messages[i * 2 + 1])));
    wr_record_reader_decode(r->reader, &records, &out);
    assert_int_equal(out.row_lines.n, out.n_rows);
    uint64_t row = 0;
    uint32_t bad = 0;
    for (uint32_t b = 0; b < out.batches.n; b++)
        for (uint32_t i = 0; i < out.batches.at[b]->n_rows; i++, row++) {
            const wr_batch *batch = out.batches.at[b];
            for (; bad < out.bad.n && out.bad.at[bad].before_row <= row; bad++) wr_sbuf_printf(&dump, "%llu!%s %.*s\n", (unsigned long long)out.bad.at[bad].line, out.bad.at[bad].message, WR_FMT(out.bad.at[bad].raw));
            wr_sbuf_printf(&dump, "%u%s[", out.row_lines.at[row], wr_kind_text(wr_batch_kind(batch, i)));
            for (uint32_t c = 0; c < batch->n_cols; c++) {
                if (c) wr_sbuf_addz(&dump, ", ");
                wr_vec_text(&batch->cols[c], i, NULL, &dump);
            }
            wr_sbuf_addz(&dump, "]\n");
        }
    for (; bad < out.bad.n; bad++) wr_sbuf_printf(&dump, "%llu!%s %.*s\n", (unsigned long long)out.bad.at[bad].line, out.bad.at[bad].message, WR_FMT(out.bad.at[bad].raw));
    assert_int_equal(out.n_records, n);
    if (out.n_tombstones) wr_sbuf_printf(&dump, "tombstones %llu\n", (unsigned long long)out.n_tombstones);
    if (out.n_blank) wr_sbuf_printf(&dump, "blank %llu\n", (unsigned long long)out.n_blank);
    wr_mem_unref(mem);
    wr_decoded_free(&out);
    wr_sbuf_addz(&dump, "");
    return dump.at;
}

#define ROWS(r, expected, ...)                                                       \
    do {                                                                             \
        const char *const m_[] = {__VA_ARGS__};                                      \
        char             *got_ = decode((r), m_, (uint32_t)(WR_COUNT_OF(m_) / 2));   \
        assert_string_equal(got_, (expected));                                       \
        wr_free(got_);                                                               \
    } while (0)

#define INT_ {.id = WR_T_INT, .nullable = true}
#define STR_ {.id = WR_T_VARCHAR, .nullable = true, .prec = WR_LENGTH_MAX}
static const wr_field fields[] = {{WR_STR("k"), INT_}, {WR_STR("v"), STR_}};
static const wr_schema schema = {2, (wr_field *)(uintptr_t)fields};

static void line_breaks_inside_a_message(void **state) {
    (void)state;
    rig             r;
    const wr_option json[] = {OPTION("format", "json")}, csv[] = {OPTION("format", "csv")};
    assert_true(rig_open(&r, schema, NULL, 0, json, 1, false, 0));
    ROWS(&r, "0+I[1, a]\n1!JSON: a control character (below 0x20) inside a string {\"k\": 2,\n\"v\": \"b\nc\"}\n3+I[3, NULL]\ntombstones 1\nblank 1\n", NULL, "{\"k\":\n1, \"v\": \"a\"\n}", NULL, "{\"k\": 2,\n\"v\": \"b\nc\"}", NULL, NULL, NULL,
         "\n{\"k\": 3}\r\n", NULL, "");
    rig_close(&r);
    assert_true(rig_open(&r, schema, NULL, 0, csv, 1, false, 2));
    ROWS(&r, "0+I[1, a\nb]\n1+I[2, c]\n2!field 'k': expected INT, got 'x' x,\"y\n\nz\"\n3+I[4, d\n]\n", NULL, "1,\"a\nb\"", NULL, "2,c", NULL, "x,\"y\n\nz\"", NULL, "4,\"d\n\"");
    rig_close(&r);
}

static void keys_beside_values(void **state) {
    (void)state;
    rig             r;
    const wr_option options[] = {OPTION("value.format", "json"), OPTION("key.format", "json"), OPTION("key.fields", "k"), OPTION("value.fields-include", "EXCEPT_KEY")};
    for (uint32_t batch_rows = 0; batch_rows < 3; batch_rows++) {
        assert_true(rig_open(&r, schema, NULL, 0, options, 4, false, batch_rows));
        ROWS(&r, "0+I[1, a]\n1+I[NULL, b]\n2!key: JSON: expected an object, got x {\"v\": \"c\"}\n3!JSON: expected an object, got 7 7\n4+I[5, d]\ntombstones 1\n", "{\"k\": 1}", "{\"v\": \"a\"}", NULL, "{\"v\": \"b\"}", "x", "{\"v\": \"c\"}", "{\"k\": 4}",
             "7", "{\"k\": 5}", "{\"v\": \"d\"}", "{\"k\": 6}", NULL);
        rig_close(&r);
    }
}

static void a_message_replaces_the_row_of_its_key(void **state) {
    (void)state;
    rig             r;
    const uint32_t  key[] = {0};
    const wr_option options[] = {OPTION("value.format", "json"), OPTION("key.format", "json")};
    for (uint32_t batch_rows = 0; batch_rows < 4; batch_rows++) {
        assert_true(rig_open(&r, schema, key, 1, options, 2, true, batch_rows));
        ROWS(&r, "0+U[1, a]\n1-D[1, NULL]\n2+U[2, b]\n3!a message without key: the key says which row it replaces {\"v\": \"c\"}\n4-D[3, NULL]\n5+U[1, d]\n", "{\"k\": 1}", "{\"k\": 9, \"v\": \"a\"}", "{\"k\": 1}", NULL, "{\"k\": 2}",
             "{\"v\": \"b\"}", NULL, "{\"v\": \"c\"}", "{\"k\": 3}", NULL, "{\"k\": 1}", "{\"v\": \"d\"}");
        rig_close(&r);
    }
    const wr_option bad[] = {OPTION("value.format", "debezium-json"), OPTION("key.format", "json")};
    assert_false(rig_open(&r, schema, key, 1, bad, 2, true, 0));
    assert_int_equal(r.diags.n_errors, 1);
    rig_close(&r);
}

static void raw_messages_are_bytes(void **state) {
    (void)state;
    rig             r;
    wr_field        one[] = {{WR_STR("v"), STR_}};
    const wr_option options[] = {OPTION("format", "raw")};
    assert_true(rig_open(&r, (wr_schema){1, one}, NULL, 0, options, 1, false, 2));
    ROWS(&r, "0+I[a\nb]\n1+I[]\n2!the line is not valid UTF-8; a BYTES column takes any bytes \xff\n3+I[\n]\ntombstones 1\n", NULL, "a\nb", NULL, "", NULL, "\xff", NULL, "\n", NULL, NULL);
    rig_close(&r);
}

/* As many messages as one chunk may have: the keys of all of them are one batch, whatever their format. */
static void keys_of_a_full_chunk(void **state) {
    static const char *const formats[] = {"json", "csv", "avro"};
    (void)state;
    for (size_t f = 0; f < WR_COUNT_OF(formats); f++) {
        rig             r;
        wr_records      records;
        wr_decoded      out = {0};
        wr_mem         *mem = wr_mem_new(0);
        uint64_t        row = 0;
        const wr_option options[] = {OPTION("value.format", "json"), {WR_STR("key.format"), wr_str_of(formats[f]), {0}}, OPTION("key.fields", "k"), OPTION("value.fields-include", "EXCEPT_KEY")};
        assert_true(rig_open(&r, schema, NULL, 0, options, 4, false, 1000));
        wr_records_open(&records, mem, 64 * 1024, 64 * 1024);
        for (int i = 0; i < WR_RECORDS_MAX; i++) {
            char key[24];
            int  k = i % 60 + 1;
            if (f == 2) snprintf(key, sizeof key, "\x02%c", 2 * k); /* the branch that is an int, and that */
            else snprintf(key, sizeof key, f ? "%d" : "{\"k\": %d}", k);
            assert_true(wr_records_add(&records, wr_str_of(key), WR_STR("{\"v\": \"x\"}")));
        }
        wr_record_reader_decode(r.reader, &records, &out);
        assert_int_equal(out.bad.n, 0);
        for (uint32_t b = 0; b < out.batches.n; b++)
            for (uint32_t i = 0; i < out.batches.at[b]->n_rows; i++) assert_int_equal(((const int32_t *)out.batches.at[b]->cols[0].data)[i], row++ % 60 + 1);
        assert_int_equal(row, WR_RECORDS_MAX);
        wr_mem_unref(mem);
        wr_decoded_free(&out);
        rig_close(&r);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(line_breaks_inside_a_message), cmocka_unit_test(keys_beside_values), cmocka_unit_test(a_message_replaces_the_row_of_its_key),
                                       cmocka_unit_test(raw_messages_are_bytes), cmocka_unit_test(keys_of_a_full_chunk)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
