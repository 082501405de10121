/* run/pace_test.c: rates as people write them. */
#include "run/run.h"
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

static void test_rates(void **state) {
    static const struct { const char *text; bool fine; int64_t bytes, rows; } cases[] = {
        {"50MiB/s", true, 50 << 20, 0},  {"1kb/s", true, 1024, 0},     {" 64 MB / s", false, 0, 0},   {"1g/s", true, 1 << 30, 0},
        {"200k rows/s", true, 0, 200000}, {"5 rows/s", true, 0, 5},      {"1_000_000rows/s", true, 0, 1000000}, {"2Mrows/s", true, 0, 2000000},
        {"rows/s", false, 0, 0},         {"0 rows/s", false, 0, 0},     {"0/s", false, 0, 0},          {"/s", false, 0, 0},
        {"50MiB", false, 0, 0},          {"", false, 0, 0},             {"12x rows/s", false, 0, 0},   {"-5 rows/s", false, 0, 0},
        {"99999999999999999999 rows/s", false, 0, 0}, {"1.5k rows/s", false, 0, 0}, {"_5 rows/s", false, 0, 0},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int64_t bytes, rows;
        bool    fine = wr_pace_parse(wr_str_of(cases[i].text), &bytes, &rows);
        if (fine != cases[i].fine || (fine && (bytes != cases[i].bytes || rows != cases[i].rows))) fail_msg("'%s': %d %lld %lld", cases[i].text, fine, (long long)bytes, (long long)rows);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_rates)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
