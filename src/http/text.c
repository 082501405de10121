/* http/text.c: URLs and lists of statuses as text. See http.h.                                                                    */
#include "http/http.h"

void wr_http_encode(wr_sbuf *out, wr_str text, bool keep_slash) {
    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.ptr[i];
        bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.' || c == '~' || (keep_slash && c == '/');
        if (plain) wr_sbuf_addc(out, (char)c);
        else wr_sbuf_printf(out, "%%%02X", c);
    }
}

static size_t scheme(wr_str url) {
    return wr_str_starts(url, WR_STR("http://")) ? 7 : wr_str_starts(url, WR_STR("https://")) ? 8 : 0;
}

bool wr_http_is_url(wr_str url) {
    size_t n = scheme(url);
    if (!n || url.len == n || url.ptr[n] == '/' || url.ptr[n] == ':' || url.ptr[n] == '?') return false;
    for (size_t i = 0; i < url.len; i++)
        if ((unsigned char)url.ptr[i] <= ' ' || url.ptr[i] == 127) return false;
    return true;
}

void wr_http_show_url(wr_sbuf *out, wr_str url) {
    size_t n = scheme(url), host = n, end = n;
    while (end < url.len && url.ptr[end] != '?' && url.ptr[end] != '#') end++;
    for (size_t i = n; i < end && url.ptr[i] != '/'; i++)
        if (url.ptr[i] == '@') host = i + 1;
    wr_sbuf_add(out, url.ptr, n);
    wr_sbuf_add(out, url.ptr + host, end - host);
}

static bool status_number(wr_str text, uint16_t *out) {
    text = wr_str_trim(text);
    if (text.len != 3) return false;
    for (size_t i = 0; i < 3; i++)
        if (text.ptr[i] < '0' || text.ptr[i] > '9') return false;
    *out = (uint16_t)((text.ptr[0] - '0') * 100 + (text.ptr[1] - '0') * 10 + text.ptr[2] - '0');
    return *out >= 100 && *out <= 599;
}

bool wr_http_codes_read(wr_str text, wr_http_codes *out) {
    *out = (wr_http_codes){0};
    text = wr_str_trim(text);
    for (wr_str item; wr_str_next(&text, ',', &item);) {
        const char *dash = item.len ? memchr(item.ptr, '-', item.len) : NULL;
        wr_str      from = dash ? (wr_str){item.ptr, (size_t)(dash - item.ptr)} : item, to = dash ? (wr_str){dash + 1, (size_t)(item.ptr + item.len - dash - 1)} : item;
        if (out->n == WR_COUNT_OF(out->at) || !status_number(from, &out->at[out->n].from) || !status_number(to, &out->at[out->n].to)) return false;
        if (out->at[out->n].from > out->at[out->n].to) return false;
        out->n++;
    }
    return true;
}

bool wr_http_codes_has(const wr_http_codes *codes, long status) {
    for (uint32_t i = 0; i < codes->n; i++)
        if (status >= codes->at[i].from && status <= codes->at[i].to) return true;
    return false;
}
