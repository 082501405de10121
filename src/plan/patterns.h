/* plan/patterns.h: what patterns.c and join_patterns.c share. Private to plan/. */
#pragma once
#include "plan/logical.h"

bool    pl_contains(const uint32_t *cols, uint32_t n, uint32_t col);
void    pl_set_key(pl *p, lnode *n, const uint32_t *cols, uint32_t count);
void    pl_calc_props(pl *p, lnode *calc);
lnode  *pl_project(pl *p, lnode *in, wr_expr **exprs, const wr_str *names, uint32_t n, wr_span at); /* calc with properties */
int32_t pl_rowtime(const wr_schema *s); /* first event-time column, -1 */
lnode  *pl_convert_join(pl *p, lnode *j);
