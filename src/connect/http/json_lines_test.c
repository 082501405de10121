/* connect/http/json_lines_test.c: where the values of a JSON text end.                                                           */
#include "connect/http/target.h"
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

/* The lines, or "!" and why. */
static void expect(const char *text, const char *path, const char *want) {
    wr_sbuf     out = {0};
    uint64_t    n;
    const char *why = NULL;
    bool        ok = json_lines(wr_str_of(text), wr_str_of(path), &out, &n, &why);
    if (!ok) wr_sbuf_clear(&out), wr_sbuf_printf(&out, "!%s", why);
    assert_string_equal(out.at ? out.at : "", want);
    uint64_t lines = 0;
    for (size_t i = 0; i < out.len; i++) lines += out.at[i] == '\n';
    if (ok) assert_int_equal(lines, n);
    wr_sbuf_free(&out);
}

static void values(void **state) {
    (void)state;
    expect("", "", "");
    expect(" \n", "", "");
    expect("{}", "", "{}\n");
    expect("\xef\xbb\xbf[1, 2]", "", "1\n2\n");
    expect("[]", "", "");
    expect("[null, {\"a\": null}, null]", "", "{\"a\":null}\n");
    expect("{\n \"a\" : [ 1 , { } ] ,\t\"b\": \" x \\\" ]} \"\r\n}", "", "{\"a\":[1,{}],\"b\":\" x \\\" ]} \"}\n");
    expect("{\"a\":1}\n{\"a\":2}\n", "", "{\"a\":1}\n{\"a\":2}\n");
    expect("{\"a\":1}{\"a\":2}", "", "{\"a\":1}\n{\"a\":2}\n");
    expect("[[1],[2,[3]]]", "", "[1]\n[2,[3]]\n");
}

static void paths(void **state) {
    (void)state;
    expect("{\"x\": {\"data\": 0}, \"data\": {\"items\": [{\"a\": 1}, {\"a\": 2}]}, \"z\": ", "data.items", "{\"a\":1}\n{\"a\":2}\n");
    expect("{\"data\": {\"a\": 1}}", "data", "{\"a\":1}\n");
    expect("{\"data\": null}", "data", "");
    expect("{\"other\": 1}", "data", "");
    expect("[1]", "data", "!it is not an object");
    expect("{1: 2}", "data", "!a key is not a string");
    expect("{\"a\" 2}", "data", "!a colon is missing");
}

static void broken(void **state) {
    (void)state;
    expect("[1", "", "!an array is not closed");
    expect("[1 2]", "", "!a comma is missing between the values of an array");
    expect("[1,]", "", "!a value is missing");
    expect("{\"a\":[1}", "", "!brackets do not match");
    expect("{\"a\":", "", "!a value is not closed");
    expect("{\"a", "", "!a string is not closed");
    expect("{\"a\nb\":1}", "", "!a string is not closed in its line");
    expect("\"\\", "", "!a string is not closed");
    expect("{\"a\": \"b\\\nc\"}", "", "!a string is not closed in its line");
    wr_sbuf deep = {0};
    for (int i = 0; i < 300; i++) wr_sbuf_addc(&deep, '[');
    wr_sbuf_addc(&deep, ' ');
    expect(deep.at, "", "!it is nested deeper than 256");
    wr_sbuf_free(&deep);
    wr_sbuf     out = {0};
    uint64_t    n;
    const char *why;
    assert_false(json_lines((wr_str){"[1,\0]", 5}, WR_STR(""), &out, &n, &why));
    wr_sbuf_free(&out);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(values), cmocka_unit_test(paths), cmocka_unit_test(broken)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
