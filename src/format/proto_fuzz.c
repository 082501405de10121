/* format/proto_fuzz.c: any bytes as messages with every kind of field, and as a descriptor set whose messages become tables.
 *
 * Checked    no crash, no read outside; the sums of a decoder; what was read, written and read again gives the same text.          */
#include "format/fuzzing.h"
#include "format/proto.h"
#include "format/proto_testing.h"

static bool read_one(pb_row *row, const wr_schema *schema, wr_str bytes, wr_batch **batch, wr_sbuf *text) {
    *batch = wr_rows_open(schema, NULL, 1, false);
    pb_decode d = {.mem = (*batch)->mem};
    if (!pb_row_read(&d, row, bytes, (*batch)->cols, 0)) {
        wr_assert(d.message[0]);
        return false;
    }
    for (uint32_t c = 0; c < schema->n; c++) wr_vec_text(&(*batch)->cols[c], 0, NULL, text), wr_sbuf_addc(text, '|');
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len) {
    static wr_arena *arena;
    static pb_schema schema;
    static wr_schema table;
    static pb_row   *row, *writer;
    char             message[200];
    if (!arena) {
        wr_sbuf set = {0};
        arena = wr_arena_new(NULL);
        table = proto_test_columns();
        proto_test_set(&set);
        wr_assert(pb_schema_read(wr_sbuf_str(&set), arena, &schema, message));
        row = pb_row_new(arena, schema.top[0], &(pb_plan_opts){.schema = &table}, message);
        writer = pb_row_new(arena, schema.top[0], &(pb_plan_opts){.schema = &table, .write = true}, message);
        wr_assert(row && writer);
        wr_sbuf_free(&set);
    }
    uint8_t *copy = wr_malloc(len + 1); /* of its own, so that a read outside is seen */
    if (len) memcpy(copy, bytes, len);
    wr_batch *first, *second;
    wr_sbuf   a = {0}, b = {0}, out = {0};
    if (read_one(row, &table, (wr_str){(const char *)copy, len}, &first, &a)) {
        wr_err    err;
        pb_encode e = {&out, WR_STR(""), &err};
        wr_assert(pb_row_write(&e, writer, first->cols, 0));
        wr_assert(read_one(row, &table, wr_sbuf_str(&out), &second, &b) && a.len == b.len && !memcmp(a.at, b.at, a.len));
        wr_batch_unref(second);
    }
    wr_batch_unref(first);
    wr_arena *any = wr_arena_new(NULL);
    pb_schema other;
    if (pb_schema_read((wr_str){(const char *)copy, len}, any, &other, message))
        for (uint32_t i = 0; i < other.n_messages; i++) {
            uint32_t path[PB_DEPTH_MAX], n = pb_schema_path(&other, &other.messages[i], path);
            if (n) pb_schema_at(&other, path, n);
            pb_row_new(any, &other.messages[i], &(pb_plan_opts){.schema = &table, .lenient = true}, message);
        }
    wr_arena_free(any);
    wr_sbuf_free(&a), wr_sbuf_free(&b), wr_sbuf_free(&out);
    wr_free(copy);
    return 0;
}
