/* serve/scram.c: SCRAM-SHA-256, the server's side, and verifiers of passwords. See users.h. Primitives are libcrypto's.
 *
 * Passwords  are taken as the bytes that they are; clients prepare them by SASLprep, which leaves ASCII as it is.                                  */
#include "serve/users.h"
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <stdio.h>

enum { KEY = WR_SCRAM_KEY, SALT = 16, ITERATIONS_MAX = 1000000 };

static void hmac(const uint8_t key[KEY], wr_str text, uint8_t out[KEY]) {
    unsigned len = KEY;
    HMAC(EVP_sha256(), key, KEY, (const uint8_t *)text.ptr, text.len, out, &len);
}

static void sha256(const void *in, size_t len, uint8_t out[KEY]) { EVP_Digest(in, len, out, NULL, EVP_sha256(), NULL); }

static void keys_of(wr_str password, wr_scram *s) {
    uint8_t salted[KEY], client[KEY];
    PKCS5_PBKDF2_HMAC(password.ptr, (int)password.len, s->salt, (int)s->n_salt, (int)s->iterations, EVP_sha256(), KEY, salted);
    hmac(salted, WR_STR("Client Key"), client);
    sha256(client, KEY, s->stored_key);
    hmac(salted, WR_STR("Server Key"), s->server_key);
    OPENSSL_cleanse(salted, sizeof salted), OPENSSL_cleanse(client, sizeof client);
}

static void randoms(wr_world *world, uint8_t *out, size_t n) {
    for (size_t i = 0; i < n; i += 8) {
        uint64_t r = world->vt->random(world);
        memcpy(out + i, &r, WR_MIN(n - i, sizeof r));
    }
}

void wr_scram_make(wr_world *world, wr_str password, wr_scram *out) {
    *out = (wr_scram){.iterations = WR_SCRAM_ITERATIONS, .n_salt = SALT};
    randoms(world, out->salt, SALT);
    keys_of(password, out);
}

bool wr_users_check(const wr_user *user, wr_str password) {
    wr_scram s = user->secret;
    keys_of(password, &s);
    return CRYPTO_memcmp(s.stored_key, user->secret.stored_key, KEY) == 0;
}

/* ---- base64 ---- */
static void encode(const uint8_t *in, size_t n, wr_sbuf *out) {
    char text[(WR_SCRAM_SALT_MAX + 2) / 3 * 4 + 1];
    wr_assert(n <= WR_SCRAM_SALT_MAX);
    wr_sbuf_add(out, text, (size_t)EVP_EncodeBlock((unsigned char *)text, in, (int)n));
}

/* The number of bytes, or -1. */
static int decode(wr_str in, uint8_t *out, size_t max) {
    uint8_t bytes[(WR_SCRAM_SALT_MAX + 2) / 3 * 3 + 3];
    if (!in.len || in.len % 4 || in.len / 4 * 3 > sizeof bytes) return -1;
    int n = EVP_DecodeBlock(bytes, (const unsigned char *)in.ptr, (int)in.len);
    for (size_t i = in.len; n > 0 && i > in.len - 2 && in.ptr[i - 1] == '='; i--) n--;
    if (n < 0 || (size_t)n > max) return -1;
    memcpy(out, bytes, (size_t)n);
    return n;
}

/* ---- verifiers as text ---- */
void wr_scram_text(const wr_scram *s, wr_sbuf *out) {
    wr_sbuf_printf(out, "SCRAM-SHA-256$%u:", s->iterations);
    encode(s->salt, s->n_salt, out);
    wr_sbuf_addc(out, '$');
    encode(s->stored_key, KEY, out);
    wr_sbuf_addc(out, ':');
    encode(s->server_key, KEY, out);
}

bool wr_scram_parse(wr_str text, wr_scram *out) {
    wr_str item, keys[2], head = WR_STR("SCRAM-SHA-256$");
    *out = (wr_scram){0};
    if (!wr_str_starts(text, head)) return false;
    text.ptr += head.len, text.len -= head.len;
    if (!wr_str_next(&text, ':', &item) || !item.len || item.len > 7) return false;
    for (size_t i = 0; i < item.len; i++) {
        if (item.ptr[i] < '0' || item.ptr[i] > '9') return false;
        out->iterations = out->iterations * 10 + (uint32_t)(item.ptr[i] - '0');
    }
    if (!out->iterations || out->iterations > ITERATIONS_MAX || !wr_str_next(&text, '$', &item)) return false;
    int n = decode(item, out->salt, sizeof out->salt);
    if (n <= 0 || !wr_str_next(&text, ':', &keys[0]) || !wr_str_next(&text, ':', &keys[1]) || text.len) return false;
    out->n_salt = (uint32_t)n;
    return decode(keys[0], out->stored_key, KEY) == KEY && decode(keys[1], out->server_key, KEY) == KEY;
}

/* ---- the exchange ---- */
/* What stands behind "NAME=" up to the next comma; ptr NULL: something else stands there. Takes it. */
static wr_str attribute(wr_str *text, char name) {
    if (text->len < 2 || text->ptr[0] != name || text->ptr[1] != '=') return (wr_str){0};
    const char *from = text->ptr + 2, *comma = memchr(from, ',', text->len - 2), *end = text->ptr + text->len;
    wr_str      value = {from, (size_t)((comma ? comma : end) - from)};
    text->len = comma ? (size_t)(end - comma - 1) : 0;
    text->ptr = comma ? comma + 1 : end;
    return value;
}

bool wr_scram_server_first(wr_scram_server *s, wr_world *world, wr_str message, wr_sbuf *answer) {
    if (message.len < 3 || (message.ptr[0] != 'n' && message.ptr[0] != 'y') || message.ptr[1] != ',') return false;
    const char *comma = memchr(message.ptr + 2, ',', message.len - 2); /* behind an authorization name, which nobody sends */
    if (!comma) return false;
    wr_str bare = {comma + 1, (size_t)(message.ptr + message.len - comma - 1)}, rest = bare;
    if (bare.len >= sizeof s->client_first || memchr(bare.ptr, 0, bare.len) || !attribute(&rest, 'n').ptr) return false;
    wr_str nonce = attribute(&rest, 'r');
    if (!nonce.len || nonce.len > 64) return false;
    uint8_t mine[18];
    wr_sbuf b64 = {0}, salt = {0};
    randoms(world, mine, sizeof mine);
    encode(mine, sizeof mine, &b64);
    encode(s->scram.salt, s->scram.n_salt, &salt);
    snprintf(s->client_first, sizeof s->client_first, "%.*s", WR_FMT(bare));
    snprintf(s->nonce, sizeof s->nonce, "%.*s%.*s", WR_FMT(nonce), WR_FMT(wr_sbuf_str(&b64)));
    snprintf(s->server_first, sizeof s->server_first, "r=%s,s=%.*s,i=%u", s->nonce, WR_FMT(wr_sbuf_str(&salt)), s->scram.iterations);
    wr_sbuf_addz(answer, s->server_first);
    wr_sbuf_free(&b64), wr_sbuf_free(&salt);
    return true;
}

bool wr_scram_server_final(wr_scram_server *s, wr_str message, wr_sbuf *answer) {
    wr_str rest = message, binding = attribute(&rest, 'c'), nonce = attribute(&rest, 'r');
    if (!wr_str_eq(binding, WR_STR("biws")) && !wr_str_eq(binding, WR_STR("eSws"))) return false; /* "n,," and "y,," */
    if (!nonce.ptr || !wr_str_eq(nonce, wr_str_of(s->nonce)) || rest.len < 3) return false;
    wr_str  without_proof = {message.ptr, (size_t)(rest.ptr - message.ptr) - 1}, proof = attribute(&rest, 'p');
    uint8_t given[KEY], signature[KEY], key[KEY];
    if (!proof.ptr || decode(proof, given, KEY) != KEY) return false;
    wr_sbuf text = {0};
    wr_sbuf_printf(&text, "%s,%s,%.*s", s->client_first, s->server_first, WR_FMT(without_proof));
    hmac(s->scram.stored_key, wr_sbuf_str(&text), signature);
    for (int i = 0; i < KEY; i++) given[i] ^= signature[i]; /* the client's key, if it has it */
    sha256(given, KEY, key);
    bool ok = CRYPTO_memcmp(key, s->scram.stored_key, KEY) == 0 && s->known;
    if (ok) {
        hmac(s->scram.server_key, wr_sbuf_str(&text), signature);
        wr_sbuf_addz(answer, "v=");
        encode(signature, KEY, answer);
    }
    wr_sbuf_free(&text);
    return ok;
}
