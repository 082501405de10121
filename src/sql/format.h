/* sql/format.h: shared by the two halves of the formatter. Private to sql/. */
#pragma once
#include "sql/sql.h"

typedef struct wr_printer {
    wr_sbuf *out;
    bool     pretty; /* several lines */
    int      indent;
} wr_printer;

void wr_print_expr(wr_printer *p, const wr_ast_expr *e, int min_level);
void wr_print_exprs(wr_printer *p, const wr_ast_exprs *list);
void wr_print_orders(wr_printer *p, const wr_ast_orders *orders);
void wr_print_window(wr_printer *p, const wr_ast_window *w);
void wr_print_type(wr_printer *p, const wr_ast_type *t);
void wr_print_query(wr_printer *p, const wr_ast_query *q);
void wr_print_ref(wr_printer *p, const wr_ast_ref *r);
void wr_print_string(wr_sbuf *out, wr_str s);
void wr_print_idents(wr_sbuf *out, const wr_ast_idents *list); /* (a, b) */

/* Levels of binding; an expression below the level that its place asks for gets parentheses. */
enum { LEVEL_ANY, LEVEL_OR, LEVEL_AND, LEVEL_NOT, LEVEL_CMP, LEVEL_PRED, LEVEL_ADD, LEVEL_MUL, LEVEL_UNARY, LEVEL_POSTFIX };
