/* sql/driver.h: one run over a text: lexer, tokens of the statement at hand, parser, and what error messages need to look back at.
 * Private to sql/ (parse.c, expect.c).                                                                                */
#pragma once
#include "parse.h"

enum { WR_LOOK_BACK = 3 };

typedef struct wr_driver {
    wr_parse   ctx;
    wr_lexer   lexer;
    wr_tokens  tokens;  /* of one statement, without the ';' */
    void      *grammar;
    int        entry;   /* pseudo token that is fed first; 0 for a statement */
    /* State stack before each of the last tokens that were read as plain names: place for "did you mean". */
    wr_sql_states *before[WR_LOOK_BACK];
    uint32_t       before_index[WR_LOOK_BACK]; /* token index + 1; 0 = empty */
} wr_driver;

void wr_driver_syntax_error(wr_driver *d, uint32_t i); /* token i, or the end if i == tokens.n, was refused */
