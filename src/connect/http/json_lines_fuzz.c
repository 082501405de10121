/* connect/http/json_lines_fuzz.c: any bytes as a JSON text: as many lines as values are said, and one value is the same when it is read again.        */
#include "connect/http/target.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len) {
    wr_sbuf     once = {0}, twice = {0};
    uint64_t    n, again;
    const char *why;
    wr_str      text = {(const char *)bytes, len};
    (void)json_lines(text, WR_STR("a.b"), &twice, &n, &why);
    wr_sbuf_clear(&twice);
    if (json_lines(text, WR_STR(""), &once, &n, &why)) {
        uint64_t lines = 0;
        for (size_t i = 0; i < once.len; i++) lines += once.at[i] == '\n';
        wr_assert(lines == n);
        if (n == 1 && (*once.at == '{' || *once.at == '"')) {
            wr_assert(json_lines(wr_sbuf_str(&once), WR_STR(""), &twice, &again, &why));
            wr_assert(again == n && wr_str_eq(wr_sbuf_str(&once), wr_sbuf_str(&twice)));
        }
    }
    wr_sbuf_free(&once);
    wr_sbuf_free(&twice);
    return 0;
}
