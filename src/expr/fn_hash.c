/* expr/fn_hash.c: hashes (libcrypto), base64, character sets, URLs.
 *
 * Rules      Flink's: hashes print as lower-case hexadecimal; FROM_BASE64 gives NULL for what is not base64.          */
#include <openssl/evp.h>
#include "fn.h"

/* ---- hashes ---- */
static wr_status digest(wr_call *c, const EVP_MD *md) {
    static const char digits[] = "0123456789abcdef";
    unsigned char     bytes[EVP_MAX_MD_SIZE];
    char              text[2 * EVP_MAX_MD_SIZE];
    EVP_MD_CTX       *ctx = EVP_MD_CTX_new();
    for ROWS(c, r) {
        wr_str   s = arg_str(c, 0, r);
        unsigned n = 0;
        EVP_DigestInit_ex(ctx, md, NULL);
        EVP_DigestUpdate(ctx, s.ptr, s.len);
        EVP_DigestFinal_ex(ctx, bytes, &n);
        for (unsigned i = 0; i < n; i++) text[2 * i] = digits[bytes[i] >> 4], text[2 * i + 1] = digits[bytes[i] & 15];
        call_put(c, r, text, 2 * n);
    }
    EVP_MD_CTX_free(ctx);
    return WR_OK;
}
wr_status fn_md5(wr_call *c) { return digest(c, EVP_md5()); }
wr_status fn_sha1(wr_call *c) { return digest(c, EVP_sha1()); }
wr_status fn_sha224(wr_call *c) { return digest(c, EVP_sha224()); }
wr_status fn_sha256(wr_call *c) { return digest(c, EVP_sha256()); }
wr_status fn_sha384(wr_call *c) { return digest(c, EVP_sha384()); }
wr_status fn_sha512(wr_call *c) { return digest(c, EVP_sha512()); }
wr_status fn_sha2(wr_call *c) {
    for ROWS(c, r) {
        int64_t  bits = ARG(c, 1, int64_t, r);
        uint16_t one = (uint16_t)r;
        if (bits != 224 && bits != 256 && bits != 384 && bits != 512) return call_fail(c, r, "42804", "SHA2 takes 224, 256, 384 or 512 bits, not %lld", (long long)bits);
        wr_call sub = *c;
        sub.rows = &one, sub.n_rows = 1;
        WR_TRY(bits == 224 ? fn_sha224(&sub) : bits == 256 ? fn_sha256(&sub) : bits == 384 ? fn_sha384(&sub) : fn_sha512(&sub));
    }
    return WR_OK;
}

/* ---- base64 ---- */
wr_status fn_to_base64(wr_call *c) {
    for ROWS(c, r) {
        wr_str s = arg_str(c, 0, r);
        size_t n = (s.len + 2) / 3 * 4;
        char  *p = call_text(c, n + 1);
        EVP_EncodeBlock((unsigned char *)p, (const unsigned char *)s.ptr, (int)s.len);
        call_view(c, r, p, n);
    }
    return WR_OK;
}
wr_status fn_from_base64(wr_call *c) {
    for ROWS(c, r) {
        wr_str s = wr_str_trim(arg_str(c, 0, r));
        size_t fill = s.len >= 2 ? (s.ptr[s.len - 1] == '=') + (s.ptr[s.len - 2] == '=') : 0;
        char  *p = call_text(c, s.len / 4 * 3 + 3);
        int    n = s.len % 4 == 0 ? EVP_DecodeBlock((unsigned char *)p, (const unsigned char *)s.ptr, (int)s.len) : -1;
        if (n >= 0) call_view(c, r, p, (size_t)n - fill);
        else call_null(c, r);
    }
    return WR_OK;
}

/* ---- character sets ---- */
typedef enum wr_charset { CS_BAD, CS_UTF8, CS_ASCII, CS_LATIN1, CS_UTF16BE, CS_UTF16LE, CS_UTF16 } wr_charset;
static wr_charset charset_of(wr_str s) {
    if (wr_str_ieq(s, WR_STR("UTF-8")) || wr_str_ieq(s, WR_STR("UTF8"))) return CS_UTF8;
    if (wr_str_ieq(s, WR_STR("US-ASCII")) || wr_str_ieq(s, WR_STR("ASCII"))) return CS_ASCII;
    if (wr_str_ieq(s, WR_STR("ISO-8859-1"))) return CS_LATIN1;
    if (wr_str_ieq(s, WR_STR("UTF-16BE"))) return CS_UTF16BE;
    if (wr_str_ieq(s, WR_STR("UTF-16LE"))) return CS_UTF16LE;
    return wr_str_ieq(s, WR_STR("UTF-16")) ? CS_UTF16 : CS_BAD;
}
static void put_unit(wr_sbuf *out, uint32_t u, bool little) {
    wr_sbuf_addc(out, (char)(little ? u & 255 : u >> 8));
    wr_sbuf_addc(out, (char)(little ? u >> 8 : u & 255));
}
static void encode_char(wr_sbuf *out, uint32_t cp, wr_charset cs) {
    bool little = cs == CS_UTF16LE;
    if (cs == CS_ASCII) wr_sbuf_addc(out, cp < 128 ? (char)cp : '?');
    else if (cs == CS_LATIN1) wr_sbuf_addc(out, cp < 256 ? (char)cp : '?');
    else if (cp < 0x10000) put_unit(out, cp, little);
    else put_unit(out, 0xD800 + ((cp - 0x10000) >> 10), little), put_unit(out, 0xDC00 + ((cp - 0x10000) & 0x3FF), little);
}
wr_status fn_encode(wr_call *c) {
    wr_sbuf buf = {0};
    for ROWS(c, r) {
        wr_str     s = arg_str(c, 0, r);
        wr_charset cs = charset_of(arg_str(c, 1, r));
        if (cs == CS_BAD) {
            call_null(c, r);
            continue;
        }
        if (cs == CS_UTF8) {
            call_view(c, r, s.ptr, s.len);
            continue;
        }
        wr_sbuf_clear(&buf);
        if (cs == CS_UTF16) wr_sbuf_add(&buf, "\xFE\xFF", 2);
        for (size_t i = 0, used; i < s.len; i += used) encode_char(&buf, wr_utf8_get(s.ptr + i, s.ptr + s.len, &used), cs);
        call_put(c, r, buf.at ? buf.at : "", buf.len);
    }
    wr_sbuf_free(&buf);
    return WR_OK;
}
static void decode_utf16(wr_str s, bool little, wr_sbuf *out) {
    char     text[4];
    uint32_t high = 0;
    for (size_t i = 0; i + 1 < s.len; i += 2) {
        uint32_t a = (unsigned char)s.ptr[i], b = (unsigned char)s.ptr[i + 1], u = little ? b << 8 | a : a << 8 | b;
        if (u >= 0xD800 && u < 0xDC00) {
            high = u;
            continue;
        }
        if (u >= 0xDC00 && u < 0xE000) u = high ? 0x10000 + ((high - 0xD800) << 10) + (u - 0xDC00) : 0xFFFD;
        high = 0;
        wr_sbuf_add(out, text, wr_utf8_put(text, u));
    }
}
wr_status fn_decode(wr_call *c) {
    wr_sbuf buf = {0};
    for ROWS(c, r) {
        wr_str     s = arg_str(c, 0, r);
        wr_charset cs = charset_of(arg_str(c, 1, r));
        char       text[4];
        wr_sbuf_clear(&buf);
        if (cs == CS_BAD) {
            call_null(c, r);
            continue;
        }
        if (cs == CS_UTF8) {
            for (size_t i = 0, used; i < s.len; i += used) wr_sbuf_add(&buf, text, wr_utf8_put(text, wr_utf8_get(s.ptr + i, s.ptr + s.len, &used)));
        } else if (cs == CS_ASCII || cs == CS_LATIN1) {
            for (size_t i = 0; i < s.len; i++) {
                uint32_t b = (unsigned char)s.ptr[i];
                wr_sbuf_add(&buf, text, wr_utf8_put(text, cs == CS_ASCII && b > 127 ? 0xFFFD : b));
            }
        } else {
            bool bom = cs == CS_UTF16 && s.len >= 2 && ((unsigned char)s.ptr[0] == 0xFE || (unsigned char)s.ptr[0] == 0xFF);
            bool little = cs == CS_UTF16LE || (bom && (unsigned char)s.ptr[0] == 0xFF);
            decode_utf16((wr_str){s.ptr + 2 * bom, s.len - 2 * bom}, little, &buf);
        }
        call_put(c, r, buf.at ? buf.at : "", buf.len);
    }
    wr_sbuf_free(&buf);
    return WR_OK;
}

/* ---- URLs ---- */
typedef struct wr_url { wr_str protocol, authority, userinfo, host, path, query, ref; bool has_query, has_ref; } wr_url;
static size_t first_of(wr_str s, const char *set) {
    size_t i = 0;
    while (i < s.len && !strchr(set, s.ptr[i])) i++;
    return i;
}
static wr_str skip(wr_str s, size_t n) { return (wr_str){s.ptr + n, s.len - n}; }
static bool url_parse(wr_str s, wr_url *u) {
    *u = (wr_url){0};
    size_t i = first_of(s, ":/?#");
    if (i == 0 || i >= s.len || s.ptr[i] != ':') return false;
    u->protocol = (wr_str){s.ptr, i};
    s = skip(s, i + 1);
    if (wr_str_starts(s, WR_STR("//"))) {
        s = skip(s, 2);
        size_t n = first_of(s, "/?#");
        u->authority = (wr_str){s.ptr, n};
        s = skip(s, n);
        wr_str host = u->authority;
        for (size_t k = host.len; k-- > 0;)
            if (host.ptr[k] == '@') {
                u->userinfo = (wr_str){host.ptr, k};
                host = skip(host, k + 1);
                break;
            }
        host.len = host.len && host.ptr[0] == '[' ? WR_MIN(host.len, first_of(host, "]") + 1) : first_of(host, ":");
        u->host = host;
    }
    size_t hash = first_of(s, "#");
    if (hash < s.len) u->ref = skip(s, hash + 1), u->has_ref = true, s.len = hash;
    size_t q = first_of(s, "?");
    if (q < s.len) u->query = skip(s, q + 1), u->has_query = true, s.len = q;
    u->path = s;
    return true;
}
static bool url_part(const wr_url *u, wr_str name, wr_str url, wr_str *out) {
    (void)url;
    if (wr_str_eq(name, WR_STR("HOST"))) *out = u->host;
    else if (wr_str_eq(name, WR_STR("PATH"))) *out = u->path;
    else if (wr_str_eq(name, WR_STR("PROTOCOL"))) *out = u->protocol;
    else if (wr_str_eq(name, WR_STR("AUTHORITY"))) *out = u->authority;
    else if (wr_str_eq(name, WR_STR("QUERY"))) return *out = u->query, u->has_query;
    else if (wr_str_eq(name, WR_STR("REF"))) return *out = u->ref, u->has_ref;
    else if (wr_str_eq(name, WR_STR("USERINFO"))) return *out = u->userinfo, u->userinfo.ptr != NULL;
    else if (wr_str_eq(name, WR_STR("FILE"))) *out = (wr_str){u->path.ptr, u->path.len + (u->has_query ? u->query.len + 1 : 0)}; /* path?query, adjacent in the text */
    else return false;
    return true;
}
static bool query_key(wr_str query, wr_str key, wr_str *out) {
    while (query.len || query.ptr) {
        size_t n = first_of(query, "&"), eq = first_of((wr_str){query.ptr, n}, "=");
        if (eq < n && wr_str_eq((wr_str){query.ptr, eq}, key)) return *out = (wr_str){query.ptr + eq + 1, n - eq - 1}, true;
        if (n >= query.len) return false;
        query = skip(query, n + 1);
    }
    return false;
}
wr_status fn_parse_url(wr_call *c) {
    for ROWS(c, r) {
        wr_url u;
        wr_str part, s = arg_str(c, 0, r), name = arg_str(c, 1, r);
        bool   ok = url_parse(s, &u) && url_part(&u, name, s, &part);
        if (ok && c->n_args > 2) ok = wr_str_eq(name, WR_STR("QUERY")) && query_key(part, arg_str(c, 2, r), &part);
        if (ok) call_view(c, r, part.ptr ? part.ptr : "", part.len);
        else call_null(c, r);
    }
    return WR_OK;
}
wr_status fn_url_encode(wr_call *c) {
    static const char digits[] = "0123456789ABCDEF";
    for ROWS(c, r) {
        wr_str s = arg_str(c, 0, r);
        char  *p = call_text(c, s.len * 3), *at = p;
        for (size_t i = 0; i < s.len; i++) {
            unsigned char b = (unsigned char)s.ptr[i];
            bool plain = ch_alpha(b) || ch_digit(b) || b == '.' || b == '-' || b == '*' || b == '_';
            if (plain) *at++ = (char)b;
            else if (b == ' ') *at++ = '+';
            else *at++ = '%', *at++ = digits[b >> 4], *at++ = digits[b & 15];
        }
        call_view(c, r, p, (size_t)(at - p));
    }
    return WR_OK;
}
static int hex_value(char ch) { return ch >= '0' && ch <= '9' ? ch - '0' : (ch | 32) >= 'a' && (ch | 32) <= 'f' ? (ch | 32) - 'a' + 10 : -1; }
wr_status fn_url_decode(wr_call *c) {
    for ROWS(c, r) {
        wr_str s = arg_str(c, 0, r);
        char  *p = call_text(c, s.len), *at = p;
        bool   ok = true;
        for (size_t i = 0; i < s.len && ok; i++) {
            if (s.ptr[i] != '%') {
                *at++ = s.ptr[i] == '+' ? ' ' : s.ptr[i];
                continue;
            }
            int a = i + 2 < s.len ? hex_value(s.ptr[i + 1]) : -1, b = i + 2 < s.len ? hex_value(s.ptr[i + 2]) : -1;
            ok = a >= 0 && b >= 0;
            if (ok) *at++ = (char)(a << 4 | b);
            i += 2;
        }
        wr_str text = {p, (size_t)(at - p)};
        if (ok && wr_utf8_valid(text)) call_view(c, r, text.ptr, text.len);
        else call_null(c, r);
    }
    return WR_OK;
}
