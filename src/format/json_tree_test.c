/* format/json_tree_test.c: trees of small JSON texts. Right answers: RFC 8259, written by hand.                          */
#include "format/testing.h"
#include "format/json_tree.h"

static void dump(const wr_json_node *n, wr_sbuf *out) {
    switch (n->kind) {
    case WR_JSON_NULL: wr_sbuf_addz(out, "null"); break;
    case WR_JSON_BOOL: wr_sbuf_addz(out, n->yes ? "true" : "false"); break;
    case WR_JSON_NUMBER: wr_sbuf_printf(out, "#%.*s", WR_FMT(n->text)); break;
    case WR_JSON_STRING: wr_sbuf_printf(out, "'%.*s'", WR_FMT(n->text)); break;
    case WR_JSON_ARRAY:
    case WR_JSON_OBJECT: {
        uint32_t count = 0;
        wr_sbuf_addc(out, n->kind == WR_JSON_ARRAY ? '[' : '{');
        for (const wr_json_node *k = n->first; k; k = k->next, count++) {
            if (count) wr_sbuf_addc(out, ' ');
            if (n->kind == WR_JSON_OBJECT) wr_sbuf_printf(out, "%.*s=", WR_FMT(k->key));
            dump(k, out);
        }
        assert_int_equal(count, n->n);
        wr_sbuf_addc(out, n->kind == WR_JSON_ARRAY ? ']' : '}');
    }
    }
}

static void test_tree(void **state) {
    (void)state;
    static const char *const cases[][2] = {
        {"{}", "{}"}, {" [ ] ", "[]"}, {"null", "null"}, {"\"\"", "''"}, {"-1.50e+3 ", "#-1.50e+3"}, {"12345678901234567890123", "#12345678901234567890123"},
        {"{\"a\": [1, true, false , null,\"x\\n\\u00e9\"], \"b\\\"\" : {\"c\":{}}}", "{a=[#1 true false null 'x\n\xc3\xa9'] b\"={c={}}}"},
        {"{\"a\":1,\"a\":2}", "{a=#1 a=#2}"},
    };
    for (size_t i = 0; i < WR_COUNT_OF(cases); i++) {
        wr_arena *arena = wr_arena_new(NULL);
        wr_sbuf   out = {0};
        char      why[120];
        const wr_json_node *n = wr_json_parse(arena, wr_str_of(cases[i][0]), why);
        assert_non_null(n);
        dump(n, &out);
        assert_string_equal(out.at, cases[i][1]);
        wr_sbuf_free(&out);
        wr_arena_free(arena);
    }
}

static void test_not_json(void **state) {
    (void)state;
    static const char *const cases[] = {"", "  ", "{", "[1,]", "{\"a\"}", "{\"a\":}", "\"a", "tru", "01", "1 2", "{} x", "\"\\q\"", "\"\xff\"", "{\"a\":1,}"};
    char deep[402] = {0};
    memset(deep, '[', 200), memset(deep + 200, ']', 200);
    wr_arena *arena = wr_arena_new(NULL);
    for (size_t i = 0; i <= WR_COUNT_OF(cases); i++) {
        char why[120] = "";
        const char *text = i < WR_COUNT_OF(cases) ? cases[i] : deep;
        if (wr_json_parse(arena, wr_str_of(text), why)) fail_msg("%s is taken for JSON", text);
        assert_true(why[0] != 0);
    }
    wr_arena_free(arena);
}

static void test_get(void **state) {
    (void)state;
    wr_arena *arena = wr_arena_new(NULL);
    char      why[120];
    int64_t   v = -1;
    const wr_json_node *n = wr_json_parse(arena, WR_STR("{\"id\": 7, \"half\": 0.5, \"schema\": \"s\"}"), why);
    assert_true(wr_json_get_int(n, "id", &v) && v == 7);
    assert_false(wr_json_get_int(n, "half", &v) || wr_json_get_int(n, "schema", &v) || wr_json_get_int(n, "none", &v));
    assert_true(wr_str_eq(wr_json_get_string(n, "schema"), WR_STR("s")));
    assert_null(wr_json_get_string(n, "id").ptr);
    assert_null(wr_json_get(NULL, "id"));
    wr_arena_free(arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_tree), cmocka_unit_test(test_not_json), cmocka_unit_test(test_get)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
