/* type/width.c: columns of a terminal that a text takes (utf8proc's tables). See width.h. */
#include "type/width.h"
#include <utf8proc.h>

static size_t one(const char **at, const char *end) {
    size_t   used;
    uint32_t c = (unsigned char)**at < 0x80 ? (used = 1, (uint32_t)(unsigned char)**at) : wr_utf8_get(*at, end, &used);
    int      width = c < 0x7F ? 1 : utf8proc_charwidth((utf8proc_int32_t)c);
    *at += used;
    return width > 0 ? (size_t)width : 0;
}

size_t wr_text_width(wr_str s) {
    size_t width = 0;
    for (const char *at = s.ptr, *end = s.ptr + s.len; at < end;) width += one(&at, end);
    return width;
}

size_t wr_text_fit(wr_str s, size_t width) {
    const char *at = s.ptr, *end = s.ptr + s.len;
    for (size_t used = 0; at < end;) {
        const char *next = at;
        used += one(&next, end);
        if (used > width) break;
        at = next;
    }
    return (size_t)(at - s.ptr);
}
