/* serve/pg_pieces.h: a statement that is being rewritten, as a list of pieces. Private to serve/.
 *
 * Idea       PostgreSQL has operators that stand behind their operand (::type, [i], .field of a row): what comes of them has to stand around it. The operand is one
 *            primary expression, found by walking back over the pieces: a name with its dots, a call, what is in parentheses or brackets, CASE ... END. */
#pragma once
#include "base/str.h"

typedef struct pg_piece { wr_str text; uint32_t at; } pg_piece; /* at: place in the original */
typedef struct pg_pieces { wr_arena *arena; WR_ARR(pg_piece) list; } pg_pieces;
void     pg_piece_put(pg_pieces *p, wr_str text, uint32_t at);
bool     pg_piece_is(const pg_pieces *p, uint32_t i, const char *text);
uint32_t pg_piece_primary(const pg_pieces *p);                /* the first piece of the primary expression that the list ends with */
void     pg_piece_wrap(pg_pieces *p, const char *function);   /* puts FUNCTION and ( in front of it */
bool     pg_piece_tight(const pg_pieces *p, uint32_t i);      /* no blank behind it */
wr_str   pg_quoted(wr_arena *arena, wr_str s, char quote);    /* in quotes, those inside doubled */
