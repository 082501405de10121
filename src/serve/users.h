/* serve/users.h: who may ask a running job: names, roles, secrets and limits from a file. (contract)
 *
 * File       a line a user: `name role secret [limit=value ...]`; # begins a comment. role: reader (asks) or admin (asks, and may make the job do something, such as
 *            taking dead letters back). secret: a password or token without blanks, or its verifier as PostgreSQL keeps it (SCRAM-SHA-256$4096:SALT$KEY:KEY), which
 *            `weir users` makes. Limits: connections, queries (at a time), rows, bytes (of an answer), time (of a query).
 * Secrets    a plain password becomes a verifier when the file is read; what is kept in memory does not give it back.
 * HTTP       Authorization: Bearer SECRET, or NAME:SECRET, which is found faster where there are many verifiers.
 * Errors     WR_IO; WR_USER, WR412: a line that is none, with its number.
 * Thread     read-only after wr_users_load, but for the tokens that were right before, which have a lock.                              */
#pragma once
#include "sys/world.h"

typedef enum wr_user_role { WR_USER_READER, WR_USER_ADMIN } wr_user_role;
enum { WR_SCRAM_KEY = 32, WR_SCRAM_SALT_MAX = 64, WR_SCRAM_ITERATIONS = 4096 };
typedef struct wr_scram { /* of a password: RFC 5802, 7677 */
    uint32_t iterations, n_salt;
    uint8_t  salt[WR_SCRAM_SALT_MAX], stored_key[WR_SCRAM_KEY], server_key[WR_SCRAM_KEY];
} wr_scram;
typedef struct wr_user_limits { uint32_t connections, queries; uint64_t rows, bytes; int64_t time_us; } wr_user_limits; /* 0: as for everybody */
typedef struct wr_user {
    const char    *name;
    wr_user_role        role;
    wr_scram       secret;
    wr_user_limits limits;
} wr_user;
typedef struct wr_users wr_users;

wr_status      wr_users_load(wr_world *world, const char *path, wr_users **out, wr_err *err);
void           wr_users_free(wr_users *users);                          /* NULL is legal */
uint32_t       wr_users_count(const wr_users *users);
const wr_user *wr_users_at(const wr_users *users, uint32_t i);
const wr_user *wr_users_find(const wr_users *users, wr_str name);       /* NULL: there is none */
const wr_user *wr_users_by_token(wr_users *users, wr_str token);        /* NULL: nobody's */
bool           wr_users_check(const wr_user *user, wr_str password);

/* A verifier of a password, and its text. */
void wr_scram_make(wr_world *world, wr_str password, wr_scram *out);
void wr_scram_text(const wr_scram *scram, wr_sbuf *out);
bool wr_scram_parse(wr_str text, wr_scram *out);

/* The server's side of the exchange. */
typedef struct wr_scram_server {
    wr_scram scram;
    bool     known;                    /* false: nobody has that name; the exchange is made all the same, and fails */
    char     client_first[256], server_first[256], nonce[128];
} wr_scram_server;
/* For the user, or for a name that nobody has: then with a salt that is the same each time. */
void wr_scram_server_begin(wr_scram_server *s, const wr_users *users, const wr_user *user, wr_str name);
/* Takes the client's first message and gives the answer; false: it is none. */
bool wr_scram_server_first(wr_scram_server *s, wr_world *world, wr_str message, wr_sbuf *answer);
/* Takes the last one; false: it is none, or the password was another. */
bool wr_scram_server_final(wr_scram_server *s, wr_str message, wr_sbuf *answer);
