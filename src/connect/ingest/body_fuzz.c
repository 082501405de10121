/* connect/ingest/body_fuzz.c: any body, of each type: no crash, every record counted once, and what was good is good when the log is read.              */
#include "connect/ingest/ingest.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

static ingest_reader *make_reader(void) {
    static const wr_field fields[] = {{{"id", 2}, {.id = WR_T_INT}}, {{"v", 1}, {.id = WR_T_VARCHAR, .prec = WR_LENGTH_MAX, .nullable = 1}}, {{"d", 1}, {.id = WR_T_DATE, .nullable = 1}}};
    static wr_schema      schema = {3, fields};
    static wr_option      size = {{"max-record-bytes", 16}, {"4 kb", 4}, {0}};
    wr_table_info         t = {.name = WR_STR("t"), .schema = &schema, .n_physical = 3, .options = {1, &size}};
    wr_diags              diags;
    wr_connect_ctx        ctx = {.world = wr_world_posix(), .diags = &diags, .n_workers = 1, .batch_rows = 100};
    ingest_reader        *reader;
    wr_diags_init(&diags);
    wr_assert(ingest_reader_new(&t, &ctx, &reader) == WR_OK);
    wr_diags_free(&diags);
    return reader;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len) {
    static ingest_reader *reader;
    static const char *const types[] = {"application/json", "application/x-ndjson", "text/csv", "text/csv; header=present"};
    if (!reader) reader = make_reader();
    for (size_t i = 0; i < WR_COUNT_OF(types); i++) {
        ingest_rows kept = {0}, good = {0};
        wr_str      body = {(const char *)bytes, len};
        ingest_read(reader, types[i], body, true, &kept);
        ingest_read(reader, types[i], body, false, &good);
        wr_assert(kept.status == good.status && kept.n_good == good.n_good && kept.n_bad == good.n_bad);
        wr_assert(kept.records.n == kept.n_good + kept.n_bad && good.records.n == good.n_good);
        for (uint32_t k = 0; k < good.records.n; k++) { /* each alone, as the log has it */
            ingest_rows one = {0};
            ingest_read(reader, "application/x-ndjson", good.records.at[k].value, false, &one);
            wr_assert(one.n_good == 1 && !one.n_bad);
            ingest_rows_free(&one);
        }
        ingest_rows_free(&kept);
        ingest_rows_free(&good);
    }
    return 0;
}
