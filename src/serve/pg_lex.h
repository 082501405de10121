/* serve/pg_lex.h: the words of a text in PostgreSQL's SQL: what a client of that protocol sends. Private to serve/.
 *
 * Idea       tokens are slices of the text; values are decoded when somebody wants them. Comments and blanks are left out. Operators are cut as PostgreSQL does:
 *            a run of operator characters that does not end in + or - unless it has one of ~ ! @ # % ^ & | ` ? in it.
 * Memory     the tokens are in the arena, their text is borrowed.                                                                   */
#pragma once
#include "base/err.h"
#include "base/str.h"

typedef enum pg_kind {
    PG_END, PG_WORD, PG_QUOTED /* "..." */, PG_STRING /* '...' */, PG_ESTRING /* E'...' */, PG_DOLLAR /* $x$...$x$ */, PG_BITS /* X'..', B'..' */, PG_NUMBER, PG_PARAM /* $1 */,
    PG_OP,   /* = <> :: ~* ... */
    PG_CHAR, /* ( ) [ ] , ; . : */
} pg_kind;
typedef struct pg_tok {
    pg_kind  kind;
    wr_str   text;                     /* as written */
    uint32_t at;                       /* byte in the text */
    uint32_t param;                    /* of $n */
    bool     glued;                    /* nothing stands between it and the one before */
} pg_tok;
/* The last one is PG_END; behind it are some more that are not counted, so that the next few of any token can be looked at. */
enum { PG_LEX_SPARE = 8 };
typedef struct pg_toks { WR_ARR(pg_tok) list; } pg_toks;

/* WR_USER, 42601: a string or comment without an end; *at is its place. */
wr_status pg_lex(wr_arena *arena, wr_str sql, pg_toks *out, uint32_t *at, wr_err *err);
bool      pg_is(const pg_tok *t, const char *word);       /* an unquoted word, in any case */
bool      pg_is_char(const pg_tok *t, char c);
bool      pg_is_op(const pg_tok *t, const char *op);
bool      pg_is_name(const pg_tok *t);                    /* a word or a quoted name */
wr_str    pg_name(wr_arena *arena, const pg_tok *t);      /* unquoted: in small letters, as PostgreSQL has them */
wr_str    pg_text(wr_arena *arena, const pg_tok *t);      /* the value of a string */
bool      pg_is_text(const pg_tok *t);                    /* STRING, ESTRING, DOLLAR */
