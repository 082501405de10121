/* plan/ddl.h: what ddl.c and alter.c share: a table while it is put together. Private to plan/. */
#pragma once
#include "plan/logical.h"

typedef struct draft { /* a table while it is read */
    WR_ARR(wr_column) columns;
    WR_ARR(wr_table_option) options;
    WR_ARR(wr_str) key;
    wr_span  key_at;
    wr_str   watermark_column;
    const wr_ast_expr *watermark;
    wr_span  watermark_at;
} draft;

int       pl_draft_column(const draft *d, wr_str name); /* -1 if absent */
bool      pl_draft_columns(pl *p, const wr_ast_create_table *c, const wr_schema *query, draft *d); /* query: of CREATE TABLE AS, else NULL */
bool      pl_draft_constraints(pl *p, const wr_ast_create_table *c, draft *d); /* key and watermark */
void      pl_draft_option(pl *p, draft *d, const wr_ast_option *o);
wr_table *pl_draft_finish(pl *p, draft *d, wr_str name, wr_span at);
void      pl_mark_broken(pl *p, wr_str name);
