/* sql/build_stmt.c: builders of statements, and what can be wrong in one without being a syntax error.
 *
 * Invariant  as build.c: never fails, notes the first error.                                                         */
#include "parse.h"

wr_ast_stmt *wr_mk_stmt(wr_parse *ctx, wr_ast_stmt_kind kind, const wr_token *token) {
    wr_ast_stmt *s = wr_new(ctx->arena, wr_ast_stmt);
    s->kind = kind;
    if (token) s->at = wr_token_span(ctx, token);
    return s;
}

void wr_mk_check_create(wr_parse *ctx, const wr_token *token, uint32_t flags, uint32_t allowed, const char *what) {
    uint32_t bad = flags & ~allowed;
    if (!bad) return;
    const char *word = bad & WR_CREATE_REPLACE ? "OR REPLACE" : bad & WR_CREATE_ALTER ? "OR ALTER" : bad & WR_CREATE_SYSTEM ? "SYSTEM" : "TEMPORARY";
    wr_parse_fail(ctx, "42601", wr_token_span(ctx, token), "%s cannot be said of a %s", word, what);
}

void wr_mk_library(wr_parse *ctx, wr_ast_create_function *f, const wr_token *word, const wr_token *path) {
    if (!wr_str_ieq(wr_mk_ident(ctx, word).text, WR_STR("LIBRARY"))) {
        wr_parse_fail(ctx, "42601", wr_token_span(ctx, word), "USING takes LIBRARY 'path of a shared object' (or JAR '...', which is Flink's)");
        return;
    }
    LIST_ADD(ctx, &f->libraries, wr_mk_text(ctx, path));
}

void wr_mk_finish_columns(wr_parse *ctx, wr_ast_create_table *table) {
    uint32_t n_bare = 0;
    for (uint32_t i = 0; i < table->columns.n; i++) n_bare += table->columns.at[i].kind == WR_AST_COL_NAME_ONLY;
    if (!n_bare) return;
    if (table->as && n_bare == table->columns.n) return; /* CREATE TABLE t (a, b) AS SELECT: an order, not definitions */
    for (uint32_t i = 0; i < table->columns.n; i++) {
        wr_ast_column *c = &table->columns.at[i];
        if (c->kind != WR_AST_COL_NAME_ONLY) continue;
        wr_parse_fail(ctx, "42601", c->at, "column \"%.200s\" needs a type", c->name.text.ptr);
        return;
    }
}

wr_ast_alter_action *wr_mk_alter(wr_parse *ctx, wr_ast_stmt *stmt, wr_ast_alter_kind kind, const wr_token *token) {
    LIST_ADD(ctx, &stmt->alter.actions, (wr_ast_alter_action){.kind = kind});
    wr_ast_alter_action *a = &stmt->alter.actions.at[stmt->alter.actions.n - 1];
    if (token) a->at = wr_token_span(ctx, token);
    return a;
}
