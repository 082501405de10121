/* base/err.c: see err.h. Formatting into fixed arrays only; text that does not fit is cut, never overrun. */
#include "base/err.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void wr_panic(const char *file, int line, const char *what) {
    fprintf(stderr, "weir: internal error at %s:%d: %s\n", file, line, what);
    abort();
}

/* A text that was cut ends with a whole character. */
static void cut_whole(char *text, size_t size) {
    size_t n = strlen(text), from = n;
    if (n + 1 < size) return;
    while (from && n - from < 4 && ((unsigned char)text[from - 1] & 0xC0) == 0x80) from--;
    if (!from) return;
    unsigned char lead = (unsigned char)text[from - 1];
    size_t        want = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : lead >= 0xC0 ? 2 : 1;
    if (n - (from - 1) < want) text[from - 1] = 0;
}

wr_status wr_fail_at(wr_err *err, wr_status status, const char *code, const char *c_file, int c_line, const char *fmt, ...) {
    wr_assert(status != WR_OK);
    if (!err) return status;
    memset(err, 0, sizeof *err);
    err->status = status;
    err->c_file = c_file;
    err->c_line = c_line;
    snprintf(err->code, sizeof err->code, "%s", code);
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(err->message, sizeof err->message, fmt, ap);
    va_end(ap);
    cut_whole(err->message, sizeof err->message);
    return status;
}

#define FORMAT_INTO(field)                                    \
    do {                                                      \
        if (!err) return;                                     \
        va_list ap;                                           \
        va_start(ap, fmt);                                    \
        vsnprintf(err->field, sizeof err->field, fmt, ap);    \
        va_end(ap);                                           \
        cut_whole(err->field, sizeof err->field);             \
    } while (0)

void wr_err_detail(wr_err *err, const char *fmt, ...) { FORMAT_INTO(detail); }
void wr_err_hint(wr_err *err, const char *fmt, ...) { FORMAT_INTO(hint); }
void wr_err_place(wr_err *err, const char *fmt, ...) { FORMAT_INTO(place); }

const char *wr_status_name(wr_status status) {
    switch (status) {
    case WR_OK: return "ok";
    case WR_LIMIT: return "limit";
    case WR_IO: return "io";
    case WR_USER: return "user";
    case WR_DATA: return "data";
    case WR_CORRUPT: return "corrupt";
    case WR_CANCELLED: return "cancelled";
    case WR_UNSUPPORTED: return "unsupported";
    }
    return "unknown";
}
