/* serve/users.c: the file of users. See users.h.                                                                                  */
#include "serve/users.h"
#include "type/datetime.h"
#include "type/number.h"
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <stdio.h>

enum { FILE_MAX = 1 << 20, KNOWN_MAX = 64 };

struct wr_users {
    wr_arena *arena;
    WR_ARR(wr_user) list;
    uint8_t   pepper[WR_SCRAM_KEY];    /* salts of names that nobody has come from it */
    wr_mutex *lock;                    /* of what follows: tokens that were right, so that they are not worked out at each request */
    struct { uint8_t hash[WR_SCRAM_KEY]; uint32_t user; } known[KNOWN_MAX];
    uint32_t  n_known, next_known;
};

static bool next_word(wr_str *line, wr_str *word) {
    *line = wr_str_trim(*line);
    size_t n = 0;
    while (n < line->len && line->ptr[n] != ' ' && line->ptr[n] != '\t') n++;
    *word = (wr_str){line->ptr, n};
    line->ptr += n, line->len -= n;
    return n > 0;
}

static bool parse_limit(wr_str word, wr_user_limits *l) {
    const char *eq = memchr(word.ptr, '=', word.len);
    if (!eq) return false;
    wr_str  name = {word.ptr, (size_t)(eq - word.ptr)}, value = {eq + 1, word.len - (size_t)(eq - word.ptr) - 1};
    int64_t n = 0;
    if (wr_str_eq(name, WR_STR("time"))) return wr_parse_duration(value, &l->time_us) && l->time_us > 0;
    if (wr_str_eq(name, WR_STR("bytes"))) return wr_parse_size(value, &n) && n > 0 && (l->bytes = (uint64_t)n, true);
    if (!wr_parse_i64(value, &n) || n <= 0 || n > UINT32_MAX) return false;
    if (wr_str_eq(name, WR_STR("rows"))) return l->rows = (uint64_t)n, true;
    if (wr_str_eq(name, WR_STR("connections"))) return l->connections = (uint32_t)n, true;
    return wr_str_eq(name, WR_STR("queries")) && (l->queries = (uint32_t)n, true);
}

static const char *parse_user(wr_users *u, wr_world *world, wr_str line) {
    wr_str  name, role, secret, limit;
    wr_user user = {0};
    if (!next_word(&line, &name) || !next_word(&line, &role) || !next_word(&line, &secret)) return "expected: name role secret [limit=value ...]";
    if (wr_users_find(u, name)) return "there are two users of that name";
    if (wr_str_eq(role, WR_STR("admin"))) user.role = WR_USER_ADMIN;
    else if (!wr_str_eq(role, WR_STR("reader"))) return "a role is reader or admin";
    if (wr_str_starts(secret, WR_STR("SCRAM-SHA-256$"))) {
        if (!wr_scram_parse(secret, &user.secret)) return "the verifier is not one; 'weir users' makes it";
    } else {
        wr_scram_make(world, secret, &user.secret);
    }
    while (next_word(&line, &limit) && limit.ptr[0] != '#')
        if (!parse_limit(limit, &user.limits)) return "a limit is connections=N, queries=N, rows=N, bytes=SIZE or time=DURATION, without blanks";
    user.name = wr_arena_strndup(u->arena, name.ptr, name.len);
    wr_arr_apush(u->arena, &u->list, user);
    return NULL;
}

static wr_status parse_file(wr_users *u, wr_world *world, const char *path, wr_str text, wr_err *err) {
    for (uint32_t number = 1; text.len; number++) {
        const char *nl = memchr(text.ptr, '\n', text.len);
        wr_str      line = {text.ptr, nl ? (size_t)(nl - text.ptr) : text.len};
        text.ptr += line.len + (nl != NULL), text.len -= line.len + (nl != NULL);
        line = wr_str_trim(line);
        const char *wrong = line.len && line.ptr[0] != '#' ? parse_user(u, world, line) : NULL;
        if (!wrong) continue;
        wr_fail(err, WR_USER, "WR412", "%s", wrong);
        wr_err_place(err, "%s:%u", path, number);
        return WR_USER;
    }
    if (u->list.n) return WR_OK;
    wr_fail(err, WR_USER, "WR412", "'%s' names no user", path);
    wr_err_hint(err, "weir users NAME reader >> %s", path);
    return WR_USER;
}

wr_status wr_users_load(wr_world *world, const char *path, wr_users **out, wr_err *err) {
    wr_sbuf text = {0};
    *out = NULL;
    WR_TRY(wr_file_read_all(world, path, FILE_MAX, &text, err));
    wr_users *u = wr_calloc(1, sizeof *u);
    u->arena = wr_arena_new(NULL);
    u->lock = wr_mutex_new();
    for (size_t i = 0; i < sizeof u->pepper; i += 8) {
        uint64_t r = world->vt->random(world);
        memcpy(u->pepper + i, &r, 8);
    }
    wr_status status = parse_file(u, world, path, wr_sbuf_str(&text), err);
    if (text.at) OPENSSL_cleanse(text.at, text.len);
    wr_sbuf_free(&text);
    if (status == WR_OK) *out = u;
    else wr_users_free(u);
    return status;
}

void wr_users_free(wr_users *u) {
    if (!u) return;
    wr_mutex_free(u->lock);
    wr_arena_free(u->arena);
    wr_free(u);
}

uint32_t       wr_users_count(const wr_users *u) { return u->list.n; }
const wr_user *wr_users_at(const wr_users *u, uint32_t i) { return &u->list.at[i]; }

const wr_user *wr_users_find(const wr_users *u, wr_str name) {
    for (uint32_t i = 0; u && i < u->list.n; i++)
        if (wr_str_eq(wr_str_of(u->list.at[i].name), name)) return &u->list.at[i];
    return NULL;
}

static const wr_user *known(wr_users *u, const uint8_t hash[WR_SCRAM_KEY]) {
    const wr_user *found = NULL;
    wr_mutex_lock(u->lock);
    for (uint32_t i = 0; i < u->n_known; i++)
        if (CRYPTO_memcmp(u->known[i].hash, hash, WR_SCRAM_KEY) == 0) found = &u->list.at[u->known[i].user];
    wr_mutex_unlock(u->lock);
    return found;
}

static void remember(wr_users *u, const uint8_t hash[WR_SCRAM_KEY], const wr_user *user) {
    wr_mutex_lock(u->lock);
    uint32_t at = u->next_known++ % KNOWN_MAX;
    memcpy(u->known[at].hash, hash, WR_SCRAM_KEY);
    u->known[at].user = (uint32_t)(user - u->list.at);
    u->n_known = WR_MIN(u->next_known, (uint32_t)KNOWN_MAX);
    wr_mutex_unlock(u->lock);
}

const wr_user *wr_users_by_token(wr_users *u, wr_str token) {
    uint8_t hash[WR_SCRAM_KEY];
    EVP_Digest(token.ptr, token.len, hash, NULL, EVP_sha256(), NULL);
    const wr_user *user = known(u, hash);
    const char    *colon = token.len ? memchr(token.ptr, ':', token.len) : NULL;
    if (user) return user;
    if (colon && (user = wr_users_find(u, (wr_str){token.ptr, (size_t)(colon - token.ptr)})))
        user = wr_users_check(user, (wr_str){colon + 1, (size_t)(token.ptr + token.len - colon - 1)}) ? user : NULL;
    for (uint32_t i = 0; !user && i < u->list.n; i++)
        if (wr_users_check(&u->list.at[i], token)) user = &u->list.at[i];
    if (user) remember(u, hash, user);
    return user;
}

void wr_scram_server_begin(wr_scram_server *s, const wr_users *u, const wr_user *user, wr_str name) {
    *s = (wr_scram_server){.known = user != NULL};
    if (user) {
        s->scram = user->secret;
        return;
    }
    wr_sbuf text = {0}; /* the same salt each time, so that it is not seen that nobody has the name */
    uint8_t hash[WR_SCRAM_KEY];
    wr_sbuf_add(&text, u->pepper, sizeof u->pepper);
    wr_sbuf_add_str(&text, name);
    EVP_Digest(text.at, text.len, hash, NULL, EVP_sha256(), NULL);
    wr_sbuf_free(&text);
    s->scram = (wr_scram){.iterations = WR_SCRAM_ITERATIONS, .n_salt = 16};
    memcpy(s->scram.salt, hash, 16);
    memcpy(s->scram.stored_key, hash, WR_SCRAM_KEY);
}
