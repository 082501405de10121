/* format/proto_test.c: plans of messages, decoding and encoding, by bytes written by hand; JSON Schema's checks. Against real libraries: tests/protobuf, tests/confluent. */
#include "format/json_schema.h"
#include "format/json_simd.h"
#include "format/proto_testing.h"
#include "format/testing.h"

typedef struct fixture {
    wr_arena *arena;
    pb_schema schema;
    wr_schema table;
    pb_row   *row, *writer;
} fixture;

static fixture open_fixture(void) {
    fixture f = {.arena = wr_arena_new(NULL), .table = proto_test_columns()};
    wr_sbuf set = {0};
    char    message[200];
    proto_test_set(&set);
    assert_true(pb_schema_read(wr_sbuf_str(&set), f.arena, &f.schema, message));
    wr_sbuf_free(&set);
    f.row = pb_row_new(f.arena, f.schema.top[0], &(pb_plan_opts){.schema = &f.table}, message);
    f.writer = pb_row_new(f.arena, f.schema.top[0], &(pb_plan_opts){.schema = &f.table, .write = true}, message);
    assert_non_null(f.row);
    assert_non_null(f.writer);
    return f;
}

/* The row as text, or !kind message. `again`: what it is written as. */
static void expect(fixture *f, const char *bytes, size_t len, const char *text, const char *again, size_t again_len) {
    wr_batch *b = wr_rows_open(&f->table, NULL, 1, false);
    pb_decode d = {.mem = b->mem};
    wr_sbuf   got = {0}, out = {0};
    wr_err    err;
    pb_encode e = {&out, WR_STR(""), &err};
    if (!pb_row_read(&d, f->row, (wr_str){bytes, len}, b->cols, 0)) {
        wr_sbuf_printf(&got, "!%s %s", wr_bad_kind_name(d.kind), d.message);
    } else {
        for (uint32_t c = 0; c < f->table.n; c++) wr_sbuf_addz(&got, c ? "|" : ""), wr_vec_text(&b->cols[c], 0, NULL, &got);
        assert_true(pb_row_write(&e, f->writer, b->cols, 0));
        if (again) {
            assert_int_equal(out.len, again_len);
            if (again_len) assert_memory_equal(out.at, again, again_len);
        }
    }
    assert_string_equal(got.at, text);
    wr_sbuf_free(&got);
    wr_sbuf_free(&out);
    wr_batch_unref(b);
}
#define EXPECT_ROW(BYTES, TEXT, AGAIN) expect(&f, BYTES, sizeof(BYTES) - 1, TEXT, AGAIN, sizeof(AGAIN) - 1)

static void messages_and_rows(void **state) { /* a s y d f t l m r x; the bytes by protobuf's encoding, by hand */
    (void)state;
    fixture f = open_fixture();
    EXPECT_ROW("", "0|||0|0.0|NULL|[]|{}|NULL|[]", "");
    EXPECT_ROW("\x08\x05\x12\x02hi", "5|hi||0|0.0|NULL|[]|{}|NULL|[]", "\x08\x05\x12\x02hi");
    EXPECT_ROW("\x12\x02hi\x08\x01\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", "-1|hi||0|0.0|NULL|[]|{}|NULL|[]", "\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x12\x02hi"); /* the last one, by number */
    EXPECT_ROW("\x20\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x30\x03", "0|||18446744073709551615|0.0|-2|[]|{}|NULL|[]", "\x20\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x30\x03");
    EXPECT_ROW("J\x02\x08\x01" "0\x03", "0|||0|0.0|-2|[]|{}|NULL|[]", "0\x03");                  /* the last of a oneof */
    EXPECT_ROW("J\x02\x08\x07J\x06R\x04\x01\0\0\0", "0|||0|0.0|NULL|[]|{}|(7, [1])|[]", "J\x08\x08\x07R\x04\x01\0\0\0"); /* one message in two pieces */
    EXPECT_ROW(":\x02\x08\x01:\0:\x02\x08\x02", "0|||0|0.0|NULL|[(1, []), (0, []), (2, [])]|{}|NULL|[]", ":\x02\x08\x01:\0:\x02\x08\x02");
    EXPECT_ROW("B\x05\n\x01k\x10\x01" "B\x05\n\x01k\x10\x02", "0|||0|0.0|NULL|[]|{k=2}|NULL|[]", "B\x05\n\x01k\x10\x02");
    EXPECT_ROW("\x0a\x01z\xc2\x3e\x01z\xc3\x3e\x08\x01\xc4\x3e", "0|||0|0.0|NULL|[]|{}|NULL|[]", ""); /* other wire types and numbers are passed over, groups too */
    wr_arena_free(f.arena);
}

static void bad_messages(void **state) {
    (void)state;
    fixture f = open_fixture();
    EXPECT_ROW("\x08\x80", "!malformed protobuf: the bytes end inside of field 'a'", "");
    EXPECT_ROW("\x12\x05hi", "!malformed protobuf: the bytes end inside of field 's'", "");
    EXPECT_ROW("\x12\x02\xff\xfe", "!invalid UTF-8 field 's': not valid UTF-8", "");
    EXPECT_ROW("\x07", "!malformed protobuf: byte 1 of message M is no field", "");
    EXPECT_ROW(":\x02\x08\x80", "!malformed protobuf: the bytes end inside of field 'l[].a'", "");
    EXPECT_ROW("\xc3\x3e\x08", "!malformed protobuf: the bytes of field 1000 of message M are damaged", "");
    wr_arena_free(f.arena);
}

static void names_and_places(void **state) {
    (void)state;
    fixture  f = open_fixture();
    char     message[200];
    uint32_t path[PB_DEPTH_MAX];
    const pb_message *entry = pb_schema_find(&f.schema, WR_STR("com.example.Outer$P"), message);
    assert_non_null(entry);
    assert_int_equal(pb_schema_path(&f.schema, entry, path), 2);
    assert_ptr_equal(pb_schema_at(&f.schema, path, 2), entry);
    assert_null(pb_schema_find(&f.schema, WR_STR("Q"), message));
    assert_string_equal(message, "there is no message 'Q'; there are M");
    wr_field  wrong[] = {FIELD("s", wr_type_of(WR_T_INT))}, unknown[] = {FIELD("z", wr_type_of(WR_T_INT))};
    wr_schema one = {1, wrong}, other = {1, unknown};
    assert_null(pb_row_new(f.arena, f.schema.top[0], &(pb_plan_opts){.schema = &one}, message));
    assert_string_equal(message, "column 's': INT does not go with the field's type string");
    assert_null(pb_row_new(f.arena, f.schema.top[0], &(pb_plan_opts){.schema = &other}, message));
    assert_non_null(pb_row_new(f.arena, f.schema.top[0], &(pb_plan_opts){.schema = &other, .lenient = true}, message));
    pb_schema again;
    assert_false(pb_schema_read(WR_STR("\x0a\x05x"), f.arena, &again, message));
    wr_arena_free(f.arena);
}

static void schemas_of_json(void **state) {
    (void)state;
    static const struct { const char *schema, *text, *fault; } cases[] = {
        {"{\"type\":\"object\",\"required\":[\"a\"]}", "{\"a\":1}", NULL},
        {"{\"type\":\"object\",\"required\":[\"a\"]}", "{\"b\":1}", "the message breaks its schema at 'message': there must be a field a"},
        {"{\"properties\":{\"a\":{\"type\":\"integer\"}}}", "{\"a\":1.5}", "the message breaks its schema at 'a': the type is wrong, it is a number with a fraction"},
        {"{\"properties\":{\"a\":{\"type\":\"number\"}}}", "{\"a\":1}", NULL},
        {"{\"properties\":{\"a\":{\"enum\":[\"x\"]}},\"additionalProperties\":false}", "{\"a\":\"y\"}", "the message breaks its schema at 'a': no such value: y"},
        {"{\"properties\":{\"a\":{\"enum\":[\"x\"]}},\"additionalProperties\":false}", "{\"b\":\"x\"}", "the message breaks its schema at 'message': no field is called b"},
        {"{\"anyOf\":[{\"type\":\"null\"},{\"type\":\"array\",\"items\":{\"$ref\":\"#\"}}]}", "[[null],[]]", NULL},
        {"{\"anyOf\":[{\"type\":\"null\"},{\"type\":\"array\",\"items\":{\"$ref\":\"#\"}}]}", "[[1]]", "the message breaks its schema at 'message': it is none of the alternatives"},
        {"{\"allOf\":[{\"$ref\":\"#\"},{\"$ref\":\"#\"}]}", "1", "JSON: nested deeper than 64"}};
    wr_simd *simd = wr_simd_new();
    for (size_t i = 0; i < WR_COUNT_OF(cases); i++) {
        wr_arena       *arena = wr_arena_new(NULL);
        char            message[200], text[128] = {0};
        const uint32_t *ix;
        uint32_t        n;
        json_schema    *schema = json_schema_new(arena, wr_str_of(cases[i].schema), message);
        assert_non_null(schema);
        memcpy(text, cases[i].text, strlen(cases[i].text));
        json_reader r = {.data = (const uint8_t *)text, .end = (uint32_t)strlen(text)};
        assert_int_equal(wr_simd_index(simd, r.data, r.end, &ix, &n), WR_SIMD_OK);
        assert_int_equal(json_schema_hold(schema, &r, ix), !cases[i].fault);
        if (cases[i].fault) assert_string_equal(r.message, cases[i].fault);
        wr_arena_free(arena);
    }
    wr_simd_free(simd);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(messages_and_rows), cmocka_unit_test(bad_messages), cmocka_unit_test(names_and_places), cmocka_unit_test(schemas_of_json)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
