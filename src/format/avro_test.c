/* format/avro_test.c: Avro data into columns and back. Bytes: fastavro 1.13.1, for the schema and the value beside them; schemas of columns: Flink's, by hand.   */
#include "format/avro.h"
#include "format/testing.h"

static const wr_type int_type = {.id = WR_T_INT, .nullable = 1}, must = {.id = WR_T_INT};

typedef struct avro_case { const char *schema, *hex, *rows; } avro_case;

static void check(const wr_schema *columns, const char *schema, const char *hex, const char *expected) {
    uint8_t bytes[400];
    size_t  n = 0;
    for (const char *p = hex; *p; p += 2, n++) {
        unsigned v;
        assert_int_equal(sscanf(p, "%2x", &v), 1);
        bytes[n] = (uint8_t)v;
    }
    const wr_option option = {WR_STR("avro.schema"), wr_str_of(schema), {0}};
    test_table      t = {.format = "avro", .schema = *columns, .options = &option, .n_options = 1};
    char           *got = test_decode(&t, (const char *)bytes, n, NULL);
    assert_string_equal(got, expected);
    wr_free(got);
}

#define R(FIELDS) "{\"type\":\"record\",\"name\":\"R\",\"fields\":[" FIELDS "]}"
#define F(NAME, TYPE) "{\"name\":\"" NAME "\",\"type\":" TYPE "}"

static void test_numbers(void **state) {
    (void)state;
    wr_field f[] = {FIELD("v", int_type)};
    wr_schema s = {1, f};
    check(&s, R(F("v", "\"int\"")), "01", "+I[-1]\n");
    check(&s, R(F("v", "\"int\"")), "ffffffff0f", "+I[-2147483648]\n");
    check(&s, R(F("v", "\"int\"")), "80808080808001", "!out of range 0:0 field 'v': INT does not hold the value\n");
    check(&s, R(F("v", "\"int\"")), "ffffffffffffffffffff", "!malformed 0:0 Avro: the record ends inside field 'v'\n"); /* no number is that long */
    check(&s, R(F("v", "[\"null\",\"int\"]")), "00", "+I[NULL]\n");
    check(&s, R(F("v", "[\"null\",\"int\"]")), "020e", "+I[7]\n");
    check(&s, R(F("v", "[\"null\",\"int\"]")), "04", "!malformed 0:0 field 'v': branch 2 of a union of 2\n");
    check(&s, R(F("v", "[\"string\",\"int\"]")), "0002", "!wrong type 0:0 field 'v': Avro's string cannot be read as INT\n");
    check(&s, R(F("v", "\"int\"")), "0200", "!malformed 0:0 Avro: 1 more byte behind the record\n");
    check(&s, R(F("x", "\"string\"") "," F("v", "\"int\"")), "0461620e", "+I[7]\n");
    check(&s, R(F("x", "\"string\"")), "046162", "+I[NULL]\n");
    check(&s, "\"int\"", "0e", "+I[7]\n");
    f[0].type = must;
    check(&s, R(F("v", "[\"null\",\"int\"]")), "00", "!NULL in NOT NULL column 0:0 field 'v' is null, and its column is NOT NULL\n");
    f[0].type = wr_type_of(WR_T_DOUBLE);
    check(&s, R(F("v", "\"long\"")), "0e", "+I[7.0]\n");
    check(&s, R(F("v", "\"float\"")), "0000003f", "+I[0.5]\n");
    f[0].type = wr_type_decimal(5, 2);
    check(&s, R(F("v", "{\"type\":\"bytes\",\"logicalType\":\"decimal\",\"precision\":10,\"scale\":4}")), "04ec78", "+I[-0.50]\n"); /* -5000: exact */
    check(&s, R(F("v", "{\"type\":\"bytes\",\"logicalType\":\"decimal\",\"precision\":10,\"scale\":4}")), "04ec77", "!out of range 0:0 field 'v': DECIMAL(5, 2) does not hold the value\n");
    check(&s, R(F("v", "\"long\"")), "d00f", "!out of range 0:0 field 'v': DECIMAL(5, 2) does not hold the value\n"); /* 1000 */
    check(&s, R(F("v", "\"long\"")), "ce0f", "+I[999.00]\n");
}

static void test_nested(void **state) {
    (void)state;
    static wr_type  text, kids[2], list[1];
    static wr_str   names[] = {{"x", 1}, {"y", 1}};
    text = wr_type_string();
    kids[0] = int_type, kids[1] = text;
    wr_type row = {.id = WR_T_ROW, .nullable = 1, .n_kids = 2, .kids = kids, .names = names};
    list[0] = row;
    wr_type  map[2] = {text, int_type};
    wr_field f[] = {FIELD("l", ((wr_type){.id = WR_T_ARRAY, .nullable = 1, .n_kids = 1, .kids = list})), FIELD("m", ((wr_type){.id = WR_T_MAP, .nullable = 1, .n_kids = 2, .kids = map}))};
    wr_schema s = {2, f};
    const char *q = "{\"type\":\"record\",\"name\":\"Q\",\"fields\":[" F("x", "\"int\"") "," F("next", "[\"null\",\"Q\"]") "]}";
    char schema[600];
    snprintf(schema, sizeof schema, R("{\"name\":\"l\",\"type\":{\"type\":\"array\",\"items\":%s}}," F("m", "{\"type\":\"map\",\"values\":\"int\"}")), q);
    /* [{x 1, next {x 2, next {x 3}}}, {x 4}], {"a": 1, "b": 2}; then the array in blocks with their sizes, and a key twice: the last value wins */
    check(&s, schema, "0402020402060008000004026102026204" "00", "+I[[(1, NULL), (4, NULL)], {a=1, b=2}]\n");
    check(&s, schema, "01040200" "010408000006026102026104026206" "00", "+I[[(1, NULL), (4, NULL)], {a=2, b=3}]\n");
    check(&s, schema, "00" "00", "+I[[], {}]\n");
    check(&s, schema, "feffffff1f", "!malformed 0:0 field 'l': more elements than there can be\n");
    char deep[2 * 300 + 40] = "02"; /* one element, whose 'next' goes 299 levels down */
    for (int i = 0; i < 299; i++) strcat(deep, "02");
    check(&s, schema, deep, "!malformed 0:0 Avro: the record is nested deeper than 256 levels\n");
}

static void test_schemas_that_are_none(void **state) {
    (void)state;
    static const char *const cases[][2] = {
        {"{\"type\":\"record\"}", "the schema has a record without a name"}, {R("{\"name\":\"a\"}"), "the field 'a' has no type"}, {R(F("a", "\"nope\"")), "the schema has no type 'nope'"},
        {R(F("a", "[]")), "the schema has a union of nothing"}, {R(F("a", "[[\"int\"]]")), "the schema has a union in a union"}, {R(F("a", "\"int\"") "," F("a", "\"int\"")), "a record has two fields 'a'"},
        {"{\"type\":\"fixed\",\"name\":\"f\"}", "the fixed f has no size"}, {"{\"type\":\"array\"}", "the schema has a type 'array' without 'items'"}, {"7", "a schema is a name, an object or a list"},
        {"{", "the schema is not JSON: JSON: expected the rest of the value, got end of line"}, {"[" R(F("a", "\"int\"")) "," R(F("b", "\"int\"")) "]", "the schema has two types of the name R"},
    };
    for (size_t i = 0; i < WR_COUNT_OF(cases); i++) {
        wr_arena  *arena = wr_arena_new(NULL);
        avro_names names = {0};
        char       message[200] = "";
        assert_null(avro_schema_parse(arena, wr_str_of(cases[i][0]), &names, message));
        assert_string_equal(message, cases[i][1]);
        wr_arena_free(arena);
    }
}

/* Of records in their own defaults there is no end. */
static void test_defaults(void **state) {
    (void)state;
    wr_arena  *arena = wr_arena_new(NULL);
    avro_names names = {0};
    char       message[200];
    wr_sbuf    out = {0};
    avro_schema *s = avro_schema_parse(arena, WR_STR(R("{\"name\":\"n\",\"type\":\"R\",\"default\":{}}")), &names, message);
    assert_non_null(s);
    assert_false(avro_default_bytes(s, s->fields[0].fallback, &out));
    wr_sbuf_free(&out);
    wr_arena_free(arena);
}

/* What is written is read again, for every kind of column: bytes are compared in tests/avro/run. */
static void test_there_and_back(void **state) {
    (void)state;
    static wr_type kids[2], list[1];
    static wr_str  names[] = {{"p", 1}, {"q", 1}};
    kids[0] = must, kids[1] = wr_type_string(), list[0] = int_type;
    wr_field f[] = {FIELD("i", must), FIELD("s", wr_type_string()), FIELD("d", wr_type_decimal(38, 10)), FIELD("t", wr_type_prec(WR_T_TIMESTAMP, 3)), FIELD("x", wr_type_of(WR_T_DOUBLE)),
                    FIELD("r", ((wr_type){.id = WR_T_ROW, .nullable = 1, .n_kids = 2, .kids = kids, .names = names})), FIELD("l", ((wr_type){.id = WR_T_ARRAY, .nullable = 1, .n_kids = 1, .kids = list}))};
    const char text[] = "{\"i\":1,\"s\":\"a\\u00e4\",\"d\":-1234567890123456789012345678.0123456789,\"t\":\"1969-12-31 23:59:59.999\",\"x\":0.1,\"r\":{\"p\":2,\"q\":null},\"l\":[1,null]}\n{\"i\":-5}\n";
    test_table      json = TABLE("json", f), avro = TABLE("avro", f);
    wr_decoder     *d = test_decoder(&json);
    wr_decoded      first = {0};
    wr_sbuf         message = {0}, want = {0};
    wr_encoder_opts opts = {.schema = &avro.schema};
    wr_encoder     *e;
    test_chunk(d, text, sizeof text - 1, true, &first);
    assert_int_equal(first.n_rows, 2);
    assert_int_equal(wr_format_avro.encoder_new(&opts, &e, NULL), WR_OK);
    for (uint32_t i = 0; i < 2; i++) {
        wr_sbuf_clear(&message), wr_sbuf_clear(&want);
        e->encode(e, first.batches.at[0], i, i + 1, &message);
        wr_sbuf_addz(&want, "+I[");
        for (uint32_t c = 0; c < avro.schema.n; c++) {
            if (c) wr_sbuf_addz(&want, ", ");
            wr_vec_text(&first.batches.at[0]->cols[c], i, NULL, &want);
        }
        wr_sbuf_addz(&want, "]\n");
        char *got = test_decode(&avro, message.at, message.len - 1, NULL);
        assert_string_equal(got, want.at);
        wr_free(got);
    }
    e->free(e);
    d->free(d);
    wr_sbuf_free(&message);
    wr_sbuf_free(&want);
    wr_decoded_free(&first);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_numbers), cmocka_unit_test(test_nested), cmocka_unit_test(test_schemas_that_are_none), cmocka_unit_test(test_defaults),
                                       cmocka_unit_test(test_there_and_back)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
