/* sql/grammar.y: the grammar of the dialect (lemon).
 *
 * Idea       one input = one statement (or one expression, type, query: a pseudo token in front says which). Expressions are
 *            stratified, so no precedence tricks are needed there; a query in parentheses is one nonterminal (query_parens), as in
 *            PostgreSQL's grammar, so that `((SELECT 1) UNION SELECT 2)` needs no look-ahead.
 * Invariant  zero conflicts (lemon fails otherwise); actions only call wr_mk_* builders and never fail.
 * Memory     semantic values are pointers into the arena; nothing to destroy.                                        */
%name wr_sql_parser
%token_prefix TK_
%token_type {const wr_token *}
%extra_argument {wr_parse *ctx}
%stack_size 6000
%start_symbol input

%include {
#ifndef WR_DEBUG
#define NDEBUG 1 /* lemon's own assertions and trace */
#endif
#include "parse.h"
#define YYNOERRORRECOVERY 1
#define AT(t) wr_token_span(ctx, (t))
#define JOINED(a, b) wr_span_join((a), (b))
#define LIST(T, x) LIST_ADD(ctx, T, x)
#define FLAG(p, bits) ((p) ? (bits) : 0)
}
%syntax_error { wr_assert(!"a token was fed that the grammar does not take"); (void)yymajor; (void)TOKEN; (void)ctx; }
%stack_overflow { wr_parse_fail(ctx, "54001", ctx->at, "nested too deeply"); }

/* Empty alias, bare query in parentheses: the longer reading wins. */
%nonassoc LOW.
%nonassoc RP VALUE TO IGNORE RESPECT.
%token SEMI.
%left UNION EXCEPT.
%left INTERSECT.

input ::= statement(S). { ctx->stmt = S; }
input ::= ENTER_EXPR expr(E). { ctx->expr = E; }
input ::= ENTER_TYPE type(T). { ctx->type = T; }
input ::= ENTER_QUERY query(Q). { ctx->query = Q; }

/* ---- names, lists ---- */
%type name {wr_ast_name *}
name(A) ::= ID(T). { A = wr_mk_name(ctx, T); }
name(A) ::= name(N) DOT ID(T). { A = wr_mk_name_add(ctx, N, T); }

%type idents {wr_ast_idents *}
idents(A) ::= ID(T). { A = LIST_NEW(ctx, wr_ast_idents); LIST(A, wr_mk_ident(ctx, T)); }
idents(A) ::= idents(L) COMMA ID(T). { A = L; LIST(A, wr_mk_ident(ctx, T)); }

%type names {wr_ast_names *}
names(A) ::= name(N). { A = LIST_NEW(ctx, wr_ast_names); LIST(A, *N); }
names(A) ::= names(L) COMMA name(N). { A = L; LIST(A, *N); }

%type exprs {wr_ast_exprs *}
exprs(A) ::= expr(E). { A = LIST_NEW(ctx, wr_ast_exprs); LIST(A, E); }
exprs(A) ::= exprs(L) COMMA expr(E). { A = L; LIST(A, E); }

%type options {wr_ast_options *}
%type option_list {wr_ast_options *}
options(A) ::= LP RP. { A = LIST_NEW(ctx, wr_ast_options); }
options(A) ::= LP option_list(L) RP. { A = L; }
option_list(A) ::= STRING(K) EQ STRING(V). { A = LIST_NEW(ctx, wr_ast_options); LIST(A, ((wr_ast_option){wr_mk_text(ctx, K), wr_mk_text(ctx, V)})); }
option_list(A) ::= option_list(L) COMMA STRING(K) EQ STRING(V). { A = L; LIST(A, ((wr_ast_option){wr_mk_text(ctx, K), wr_mk_text(ctx, V)})); }

%type with_options {wr_ast_options *}
with_options(A) ::= . { A = NULL; }
with_options(A) ::= WITH options(L). { A = L; }

%type comment_opt {const wr_token *}
comment_opt(A) ::= . { A = NULL; }
comment_opt(A) ::= COMMENT STRING(T). { A = T; }

%type if_not_exists {int}
if_not_exists(A) ::= . { A = 0; }
if_not_exists(A) ::= IF NOT EXISTS. { A = 1; }
%type if_exists {int}
if_exists(A) ::= . { A = 0; }
if_exists(A) ::= IF EXISTS. { A = 1; }

/* ---- data types ---- */
%type type {wr_ast_type *}
%type type_core {wr_ast_type *}
%type type_atom {wr_ast_type *}
%type row_fields {wr_ast_type *}
type(A) ::= type_core(T). { A = T; }
type(A) ::= type_core(T) NULL. { A = T; A->nullable = 1; }
type(A) ::= type_core(T) NOT NULL. { A = T; A->nullable = 0; }
type_core(A) ::= type_atom(T). { A = T; }
type_core(A) ::= type(T) ARRAY_POSTFIX. { A = wr_mk_type_of(ctx, WR_AST_TYPE_ARRAY, T->at, NULL, T); }
type_core(A) ::= type(T) MULTISET_POSTFIX. { A = wr_mk_type_of(ctx, WR_AST_TYPE_MULTISET, T->at, NULL, T); }
type_atom(A) ::= name(N). { A = wr_mk_type(ctx, N, -1, -1, NULL); }
type_atom(A) ::= name(N) LP INTEGER(P) RP. { A = wr_mk_type(ctx, N, (int32_t)wr_mk_int(ctx, P, INT32_MAX), -1, NULL); }
type_atom(A) ::= name(N) LP INTEGER(P) COMMA INTEGER(S) RP. {
    A = wr_mk_type(ctx, N, (int32_t)wr_mk_int(ctx, P, INT32_MAX), (int32_t)wr_mk_int(ctx, S, INT32_MAX), NULL);
}
type_atom(A) ::= name(N) PRECISION(T). { A = wr_mk_type(ctx, N, -1, -1, T); }
type_atom(A) ::= name(N) VARYING(T). { A = wr_mk_type(ctx, N, -1, -1, T); }
type_atom(A) ::= name(N) VARYING(T) LP INTEGER(P) RP. { A = wr_mk_type(ctx, N, (int32_t)wr_mk_int(ctx, P, INT32_MAX), -1, T); }
type_atom(A) ::= name(N) WITHOUT_ZONE(T) TIME ZONE. { A = wr_mk_type_zone(ctx, wr_mk_type(ctx, N, -1, -1, NULL), WR_AST_TYPE_TIMESTAMP, T); }
type_atom(A) ::= name(N) LP INTEGER(P) RP WITHOUT_ZONE(T) TIME ZONE. {
    A = wr_mk_type_zone(ctx, wr_mk_type(ctx, N, (int32_t)wr_mk_int(ctx, P, INT32_MAX), -1, NULL), WR_AST_TYPE_TIMESTAMP, T);
}
type_atom(A) ::= name(N) WITH_ZONE(T) TIME ZONE. { A = wr_mk_type_zone(ctx, wr_mk_type(ctx, N, -1, -1, NULL), WR_AST_TYPE_TIMESTAMP_TZ, T); }
type_atom(A) ::= name(N) LP INTEGER(P) RP WITH_ZONE(T) TIME ZONE. {
    A = wr_mk_type_zone(ctx, wr_mk_type(ctx, N, (int32_t)wr_mk_int(ctx, P, INT32_MAX), -1, NULL), WR_AST_TYPE_TIMESTAMP_TZ, T);
}
type_atom(A) ::= name(N) WITH_ZONE(T) LOCAL TIME ZONE. { A = wr_mk_type_zone(ctx, wr_mk_type(ctx, N, -1, -1, NULL), WR_AST_TYPE_TIMESTAMP_LTZ, T); }
type_atom(A) ::= name(N) LP INTEGER(P) RP WITH_ZONE(T) LOCAL TIME ZONE. {
    A = wr_mk_type_zone(ctx, wr_mk_type(ctx, N, (int32_t)wr_mk_int(ctx, P, INT32_MAX), -1, NULL), WR_AST_TYPE_TIMESTAMP_LTZ, T);
}
type_atom(A) ::= ARRAY(K) LT type(T) GT. { A = wr_mk_type_of(ctx, WR_AST_TYPE_ARRAY, AT(K), NULL, T); }
type_atom(A) ::= MULTISET(K) LT type(T) GT. { A = wr_mk_type_of(ctx, WR_AST_TYPE_MULTISET, AT(K), NULL, T); }
type_atom(A) ::= MAP(K) LT type(T) COMMA type(V) GT. { A = wr_mk_type_of(ctx, WR_AST_TYPE_MAP, AT(K), T, V); }
type_atom(A) ::= ROW(K) LT row_fields(R) GT. { A = R; A->at = AT(K); A->p = -1; }
type_atom(A) ::= ROW(K) LP row_fields(R) RP. { A = R; A->at = AT(K); A->p = -1; }
type_atom(A) ::= ROW(K) NE. { A = wr_mk_type_of(ctx, WR_AST_TYPE_ROW, AT(K), NULL, NULL); }
type_atom(A) ::= ROW(K) LP RP. { A = wr_mk_type_of(ctx, WR_AST_TYPE_ROW, AT(K), NULL, NULL); }
type_atom(A) ::= INTERVAL(K) interval_qualifier(T). { A = T; A->at = JOINED(AT(K), T->at); }
row_fields(A) ::= row_field(F). { A = F; }
row_fields(A) ::= row_fields(R) COMMA row_field(F). {
    A = R;
    wr_mk_type_add(ctx, A, F);
}
%type field_comment {const wr_token *}
field_comment(A) ::= . { A = NULL; }
field_comment(A) ::= STRING(T). { A = T; }
%type row_field {wr_ast_type *}
row_field(A) ::= type(T) field_comment(C). { A = wr_mk_type_of(ctx, WR_AST_TYPE_ROW, T->at, NULL, NULL); wr_mk_type_field(ctx, A, NULL, T, C); }
row_field(A) ::= name(N) type(T) field_comment(C). { A = wr_mk_type_of(ctx, WR_AST_TYPE_ROW, N->at, NULL, NULL); wr_mk_type_field(ctx, A, N, T, C); }

%type interval_qualifier {wr_ast_type *}
interval_qualifier(A) ::= unit(U). [LOW] { A = wr_mk_type_interval(ctx, U, -1, -1, NULL, -1); }
interval_qualifier(A) ::= unit(U) LP INTEGER(P) RP. [LOW] { A = wr_mk_type_interval(ctx, U, wr_mk_int(ctx, P, 1000), -1, NULL, -1); }
interval_qualifier(A) ::= unit(U) LP INTEGER(P) COMMA INTEGER(S) RP. {
    A = wr_mk_type_interval(ctx, U, wr_mk_int(ctx, P, 1000), wr_mk_int(ctx, S, 1000), NULL, -1);
}
interval_qualifier(A) ::= unit(U) TO unit(V). { A = wr_mk_type_interval(ctx, U, -1, -1, V, -1); }
interval_qualifier(A) ::= unit(U) TO unit(V) LP INTEGER(S) RP. { A = wr_mk_type_interval(ctx, U, -1, -1, V, wr_mk_int(ctx, S, 1000)); }
interval_qualifier(A) ::= unit(U) LP INTEGER(P) RP TO unit(V). { A = wr_mk_type_interval(ctx, U, wr_mk_int(ctx, P, 1000), -1, V, -1); }
interval_qualifier(A) ::= unit(U) LP INTEGER(P) RP TO unit(V) LP INTEGER(S) RP. {
    A = wr_mk_type_interval(ctx, U, wr_mk_int(ctx, P, 1000), -1, V, wr_mk_int(ctx, S, 1000));
}
%type unit {const wr_token *}
unit(A) ::= YEAR(T). { A = T; }
unit(A) ::= QUARTER(T). { A = T; }
unit(A) ::= MONTH(T). { A = T; }
unit(A) ::= WEEK(T). { A = T; }
unit(A) ::= DAY(T). { A = T; }
unit(A) ::= HOUR(T). { A = T; }
unit(A) ::= MINUTE(T). { A = T; }
unit(A) ::= SECOND(T). { A = T; }

/* ---- expressions ---- */
%type expr {wr_ast_expr *}
%type and {wr_ast_expr *}
%type not {wr_ast_expr *}
%type cmp {wr_ast_expr *}
%type pred {wr_ast_expr *}
%type add {wr_ast_expr *}
%type mul {wr_ast_expr *}
%type unary {wr_ast_expr *}
%type primary {wr_ast_expr *}
%type postfix {wr_ast_expr *}
expr(A) ::= and(E). { A = E; }
expr(A) ::= expr(L) OR and(R). { A = wr_mk_logic(ctx, WR_AST_OR, L, R); }
and(A) ::= not(E). { A = E; }
and(A) ::= and(L) AND not(R). { A = wr_mk_logic(ctx, WR_AST_AND, L, R); }
not(A) ::= cmp(E). { A = E; }
not(A) ::= NOT(T) not(E). { A = wr_mk_unary(ctx, WR_AST_NOT, T, E); }

%type cmp_op {int}
cmp_op(A) ::= EQ. { A = WR_AST_EQ; }
cmp_op(A) ::= NE. { A = WR_AST_NE; }
cmp_op(A) ::= LT. { A = WR_AST_LT; }
cmp_op(A) ::= LE. { A = WR_AST_LE; }
cmp_op(A) ::= GT. { A = WR_AST_GT; }
cmp_op(A) ::= GE. { A = WR_AST_GE; }

cmp(A) ::= pred(E). { A = E; }
cmp(A) ::= cmp(L) cmp_op(O) pred(R). { A = wr_mk_binary(ctx, (wr_ast_op)O, NULL, L, R); }
cmp(A) ::= cmp(L) cmp_op(O) quantifier(Q) query_parens(S). { A = wr_mk_quantified(ctx, L, (wr_ast_op)O, (wr_ast_quantifier)Q, S, NULL); }
cmp(A) ::= cmp(L) cmp_op(O) quantifier(Q) LP exprs(S) RP. { A = wr_mk_quantified(ctx, L, (wr_ast_op)O, (wr_ast_quantifier)Q, NULL, S); }
cmp(A) ::= cmp(L) IS not_opt(N) is_what(W). { A = wr_mk_is(ctx, L, (wr_ast_is)W, N, NULL); }
cmp(A) ::= cmp(L) IS not_opt(N) JSON json_kind(K). { A = wr_mk_is(ctx, L, WR_IS_JSON, N, NULL); A->is.json = (wr_ast_json_kind)K; }
cmp(A) ::= cmp(L) IS not_opt(N) DISTINCT FROM pred(R). { A = wr_mk_is(ctx, L, WR_IS_DISTINCT, N, R); }
%type quantifier {int}
quantifier(A) ::= ANY. { A = WR_QUANT_ANY; }
quantifier(A) ::= ALL. { A = WR_QUANT_ALL; }
%type not_opt {int}
not_opt(A) ::= . { A = 0; }
not_opt(A) ::= NOT. { A = 1; }
%type is_what {int}
is_what(A) ::= NULL. { A = WR_IS_NULL; }
is_what(A) ::= TRUE. { A = WR_IS_TRUE; }
is_what(A) ::= FALSE. { A = WR_IS_FALSE; }
is_what(A) ::= UNKNOWN. { A = WR_IS_UNKNOWN; }
%type json_kind {int}
json_kind(A) ::= . [LOW] { A = WR_AST_JSON_VALUE; }
json_kind(A) ::= VALUE. { A = WR_AST_JSON_VALUE; }
json_kind(A) ::= OBJECT. { A = WR_AST_JSON_OBJECT; }
json_kind(A) ::= ARRAY_POSTFIX. { A = WR_AST_JSON_ARRAY; }
json_kind(A) ::= SCALAR. { A = WR_AST_JSON_SCALAR; }

pred(A) ::= add(E). { A = E; }
pred(A) ::= pred(L) BETWEEN symmetric(S) add(B) AND add(C). { A = wr_mk_between(ctx, L, false, S, B, C); }
pred(A) ::= pred(L) NOT BETWEEN symmetric(S) add(B) AND add(C). { A = wr_mk_between(ctx, L, true, S, B, C); }
pred(A) ::= pred(L) IN query_parens(Q). { A = wr_mk_in(ctx, L, false, NULL, Q); }
pred(A) ::= pred(L) NOT IN query_parens(Q). { A = wr_mk_in(ctx, L, true, NULL, Q); }
pred(A) ::= pred(L) IN LP exprs(X) RP. { A = wr_mk_in(ctx, L, false, X, NULL); }
pred(A) ::= pred(L) NOT IN LP exprs(X) RP. { A = wr_mk_in(ctx, L, true, X, NULL); }
pred(A) ::= pred(L) like_op(K) add(P) escape_opt(E). { A = wr_mk_like(ctx, L, (wr_ast_like)K, false, P, E); }
pred(A) ::= pred(L) NOT like_op(K) add(P) escape_opt(E). { A = wr_mk_like(ctx, L, (wr_ast_like)K, true, P, E); }
pred(A) ::= pred(L) OVERLAPS(T) add(R). { A = wr_mk_binary(ctx, WR_AST_OVERLAPS, T, L, R); }
%type symmetric {int}
symmetric(A) ::= . { A = 0; }
symmetric(A) ::= SYMMETRIC. { A = 1; }
symmetric(A) ::= ASYMMETRIC. { A = 0; }
%type like_op {int}
like_op(A) ::= LIKE. { A = WR_LIKE_LIKE; }
like_op(A) ::= ILIKE. { A = WR_LIKE_ILIKE; }
like_op(A) ::= SIMILAR TO. { A = WR_LIKE_SIMILAR; }
%type escape_opt {wr_ast_expr *}
escape_opt(A) ::= . { A = NULL; }
escape_opt(A) ::= ESCAPE add(E). { A = E; }

add(A) ::= mul(E). { A = E; }
add(A) ::= add(L) PLUS(T) mul(R). { A = wr_mk_binary(ctx, WR_AST_ADD, T, L, R); }
add(A) ::= add(L) MINUS(T) mul(R). { A = wr_mk_binary(ctx, WR_AST_SUB, T, L, R); }
mul(A) ::= unary(E). { A = E; }
mul(A) ::= mul(L) STAR(T) unary(R). { A = wr_mk_binary(ctx, WR_AST_MUL, T, L, R); }
mul(A) ::= mul(L) SLASH(T) unary(R). { A = wr_mk_binary(ctx, WR_AST_DIV, T, L, R); }
mul(A) ::= mul(L) PERCENT(T) unary(R). { A = wr_mk_binary(ctx, WR_AST_MOD, T, L, R); }
mul(A) ::= mul(L) CONCAT(T) unary(R). { A = wr_mk_binary(ctx, WR_AST_CONCAT, T, L, R); }
unary(A) ::= primary(E). { A = E; }
unary(A) ::= MINUS(T) unary(E). { A = wr_mk_unary(ctx, WR_AST_NEG, T, E); }
unary(A) ::= PLUS(T) unary(E). { A = wr_mk_unary(ctx, WR_AST_PLUS, T, E); }

primary(A) ::= name(N). { A = wr_mk_column(ctx, N); }
primary(A) ::= postfix(E). { A = E; }
postfix(A) ::= name(N) LB expr(I) RB. { A = wr_mk_index(ctx, wr_mk_column(ctx, N), I); }
postfix(A) ::= postfix(E) LB expr(I) RB. { A = wr_mk_index(ctx, E, I); }
postfix(A) ::= postfix(E) DOT ID(T). { A = wr_mk_field(ctx, E, T); }

postfix(A) ::= INTEGER(T). { A = wr_mk_literal(ctx, WR_LIT_INTEGER, T); }
postfix(A) ::= DECIMAL(T). { A = wr_mk_literal(ctx, WR_LIT_DECIMAL, T); }
postfix(A) ::= APPROX(T). { A = wr_mk_literal(ctx, WR_LIT_APPROX, T); }
postfix(A) ::= STRING(T). { A = wr_mk_literal(ctx, WR_LIT_STRING, T); }
postfix(A) ::= BINARY(T). { A = wr_mk_literal(ctx, WR_LIT_BINARY, T); }
postfix(A) ::= NULL(T). { A = wr_mk_literal(ctx, WR_LIT_NULL, T); }
postfix(A) ::= TRUE(T). { A = wr_mk_literal(ctx, WR_LIT_TRUE, T); }
postfix(A) ::= FALSE(T). { A = wr_mk_literal(ctx, WR_LIT_FALSE, T); }
postfix(A) ::= UNKNOWN(T). { A = wr_mk_literal(ctx, WR_LIT_UNKNOWN, T); }
postfix(A) ::= DATE(K) STRING(T). { A = wr_mk_time_literal(ctx, WR_LIT_DATE, K, T); }
postfix(A) ::= TIME(K) STRING(T). { A = wr_mk_time_literal(ctx, WR_LIT_TIME, K, T); }
postfix(A) ::= TIMESTAMP(K) STRING(T). { A = wr_mk_time_literal(ctx, WR_LIT_TIMESTAMP, K, T); }
postfix(A) ::= interval_literal(E). { A = E; }
%type interval_literal {wr_ast_expr *}
interval_literal(A) ::= INTERVAL(K) STRING(T) interval_qualifier(Q). { A = wr_mk_interval(ctx, K, false, T, Q); }
interval_literal(A) ::= INTERVAL(K) PLUS STRING(T) interval_qualifier(Q). { A = wr_mk_interval(ctx, K, false, T, Q); }
interval_literal(A) ::= INTERVAL(K) MINUS STRING(T) interval_qualifier(Q). { A = wr_mk_interval(ctx, K, true, T, Q); }

postfix(A) ::= LP expr(E) RP. { A = E; }
postfix(A) ::= LP(T) expr(E) COMMA exprs(L) RP. {
    wr_ast_exprs *all = LIST_NEW(ctx, wr_ast_exprs);
    LIST(all, E);
    for (uint32_t i = 0; i < L->n; i++) LIST(all, L->at[i]);
    A = wr_mk_list(ctx, WR_AST_ROW, T, false, all);
}
postfix(A) ::= query_parens(Q). [LOW] { A = wr_mk_query_expr(ctx, WR_AST_SUBQUERY, Q->at, Q); }
postfix(A) ::= EXISTS(T) query_parens(Q). { A = wr_mk_query_expr(ctx, WR_AST_EXISTS, AT(T), Q); }
postfix(A) ::= ROW(T) LP RP. { A = wr_mk_list(ctx, WR_AST_ROW, T, true, NULL); }
postfix(A) ::= ROW(T) LP exprs(L) RP. { A = wr_mk_list(ctx, WR_AST_ROW, T, true, L); }
postfix(A) ::= ARRAY(T) LB exprs_opt(L) RB. { A = wr_mk_list(ctx, WR_AST_ARRAY, T, true, L); }
postfix(A) ::= MAP(T) LB exprs_opt(L) RB. {
    A = wr_mk_list(ctx, WR_AST_MAP, T, true, L);
    if (A->row.args.n % 2) wr_parse_fail(ctx, "42601", A->at, "MAP needs pairs of key and value, here are %u values", A->row.args.n);
}
postfix(A) ::= MULTISET(T) LB exprs_opt(L) RB. { A = wr_mk_collect(ctx, T, NULL, L); }
postfix(A) ::= ARRAY(T) query_parens(Q). { A = wr_mk_collect(ctx, T, Q, NULL); }
postfix(A) ::= MAP(T) query_parens(Q). { A = wr_mk_collect(ctx, T, Q, NULL); }
postfix(A) ::= MULTISET(T) query_parens(Q). { A = wr_mk_collect(ctx, T, Q, NULL); }
%type exprs_opt {wr_ast_exprs *}
exprs_opt(A) ::= . { A = NULL; }
exprs_opt(A) ::= exprs(L). { A = L; }

postfix(A) ::= CASE(T) whens(W) else_opt(E) END. { A = wr_mk_case(ctx, T, NULL, W, E); }
postfix(A) ::= CASE(T) expr(X) whens(W) else_opt(E) END. { A = wr_mk_case(ctx, T, X, W, E); }
%type whens {wr_ast_exprs *}
whens(A) ::= WHEN expr(X) THEN expr(Y). { A = LIST_NEW(ctx, wr_ast_exprs); LIST(A, X); LIST(A, Y); }
whens(A) ::= whens(L) WHEN expr(X) THEN expr(Y). { A = L; LIST(A, X); LIST(A, Y); }
%type else_opt {wr_ast_expr *}
else_opt(A) ::= . { A = NULL; }
else_opt(A) ::= ELSE expr(E). { A = E; }

postfix(A) ::= CAST(T) LP expr(E) AS type(Y) RP. { A = wr_mk_cast(ctx, T, E, Y, false); }
postfix(A) ::= TRY_CAST(T) LP expr(E) AS type(Y) RP. { A = wr_mk_cast(ctx, T, E, Y, true); }

/* ---- calls ---- */
%type call {wr_ast_expr *}
%type call_core {wr_ast_expr *}
%type args {wr_mk_args *}
%type arg_list {wr_mk_args *}
%type arg {wr_ast_expr *}
postfix(A) ::= NILADIC(T). { A = wr_mk_niladic(ctx, T); }
postfix(A) ::= call(C). { A = C; }
call(A) ::= call_core(C). [LOW] { A = C; }
call(A) ::= call_core(C) OVER over_window(W). { A = C; wr_mk_call_over(ctx, C, W); }
call_core(A) ::= name(N) LP args(L) RP. { A = wr_mk_call(ctx, N, L); }
call_core(A) ::= name(N) LP args(L) IGNORE NULLS RP. { A = wr_mk_call(ctx, N, L); A->call.nulls = 0; }
call_core(A) ::= name(N) LP args(L) RESPECT NULLS RP. { A = wr_mk_call(ctx, N, L); A->call.nulls = 1; }
call_core(A) ::= running(R) name(N) LP args(L) RP. { A = wr_mk_call(ctx, N, L); A->call.running = (int8_t)R; }
call_core(A) ::= special_call(C). { A = C; }
call_core(A) ::= call_core(C) FILTER LP WHERE expr(E) RP. { A = C; wr_mk_call_filter(ctx, C, E); }
call_core(A) ::= call_core(C) WITHIN GROUP LP ORDER BY orders(O) RP. { A = C; wr_mk_call_within(ctx, C, O); }
call_core(A) ::= call_core(C) IGNORE NULLS. { A = C; A->call.nulls = 0; }
call_core(A) ::= call_core(C) RESPECT NULLS. { A = C; A->call.nulls = 1; }
%type running {int}
running(A) ::= RUNNING. { A = 1; }
running(A) ::= FINAL. { A = 0; }

args(A) ::= . { A = LIST_NEW(ctx, wr_mk_args); }
args(A) ::= arg_list(L). { A = L; }
args(A) ::= DISTINCT arg_list(L). { A = L; A->distinct = true; }
args(A) ::= ALL arg_list(L). { A = L; }
arg_list(A) ::= arg(E). { A = LIST_NEW(ctx, wr_mk_args); LIST(&A->list, E); }
arg_list(A) ::= arg_list(L) COMMA arg(E). { A = L; LIST(&A->list, E); }
arg(A) ::= arg_value(E). { A = E; }
arg(A) ::= name(N) ARROW arg_value(E). { A = wr_mk_named_arg(ctx, N, E); }
arg(A) ::= STAR(T). { A = wr_mk_star(ctx, NULL, T); }
%type arg_value {wr_ast_expr *}
arg_value(A) ::= expr(E). { A = E; }
arg_value(A) ::= DEFAULT(T). { A = wr_mk_expr(ctx, WR_AST_DEFAULT, AT(T)); }
arg_value(A) ::= DESCRIPTOR(T) LP names(L) RP. { A = wr_mk_descriptor(ctx, T, L); }
arg_value(A) ::= TABLE(T) table_arg(R) partition_arg(P) order_arg(O). { A = wr_mk_table_arg(ctx, T, R, P, O); }
%type table_arg {wr_ast_ref *}
table_arg(A) ::= name(N). { A = wr_mk_ref(ctx, WR_AST_REF_NAME, N->at, 0); A->table.name = *N; }
table_arg(A) ::= query_parens(Q). { A = wr_mk_ref(ctx, WR_AST_REF_QUERY, Q->at, Q->depth); A->derived.query = Q; }
%type partition_arg {wr_ast_expr *}
partition_arg(A) ::= . { A = NULL; }
partition_arg(A) ::= PARTITION BY expr(E). { A = E; }
%type order_arg {wr_ast_order *}
order_arg(A) ::= . { A = NULL; }
order_arg(A) ::= ORDER BY order(O). { A = O; }

%type special_call {wr_ast_expr *}
special_call(A) ::= EXTRACT(T) LP extract_unit(U) FROM expr(E) RP. { A = wr_mk_special(ctx, T, 2, (wr_ast_expr *[]){wr_mk_symbol(ctx, U), E}); }
%type extract_unit {const wr_token *}
extract_unit(A) ::= unit(T). { A = T; }
extract_unit(A) ::= ID(T). { A = T; }
special_call(A) ::= FLOOR(T) LP expr(E) RP. { A = wr_mk_special(ctx, T, 1, (wr_ast_expr *[]){E}); }
special_call(A) ::= FLOOR(T) LP expr(E) TO extract_unit(U) RP. { A = wr_mk_special(ctx, T, 2, (wr_ast_expr *[]){E, wr_mk_symbol(ctx, U)}); }
special_call(A) ::= POSITION(T) LP add(E) IN expr(F) RP. { A = wr_mk_special(ctx, T, 2, (wr_ast_expr *[]){E, F}); }
special_call(A) ::= POSITION(T) LP add(E) IN expr(F) FROM expr(G) RP. { A = wr_mk_special(ctx, T, 3, (wr_ast_expr *[]){E, F, G}); }
special_call(A) ::= SUBSTRING(T) LP expr(E) FROM expr(F) RP. { A = wr_mk_special(ctx, T, 2, (wr_ast_expr *[]){E, F}); }
special_call(A) ::= SUBSTRING(T) LP expr(E) FROM expr(F) FOR expr(G) RP. { A = wr_mk_special(ctx, T, 3, (wr_ast_expr *[]){E, F, G}); }
special_call(A) ::= SUBSTRING(T) LP expr(E) COMMA expr(F) RP. { A = wr_mk_special(ctx, T, 2, (wr_ast_expr *[]){E, F}); }
special_call(A) ::= SUBSTRING(T) LP expr(E) COMMA expr(F) COMMA expr(G) RP. { A = wr_mk_special(ctx, T, 3, (wr_ast_expr *[]){E, F, G}); }
special_call(A) ::= OVERLAY(T) LP expr(E) PLACING expr(F) FROM expr(G) RP. { A = wr_mk_special(ctx, T, 3, (wr_ast_expr *[]){E, F, G}); }
special_call(A) ::= OVERLAY(T) LP expr(E) PLACING expr(F) FROM expr(G) FOR expr(H) RP. { A = wr_mk_special(ctx, T, 4, (wr_ast_expr *[]){E, F, G, H}); }
special_call(A) ::= TRIM(T) LP expr(E) RP. { A = wr_mk_special(ctx, T, 1, (wr_ast_expr *[]){E}); }
special_call(A) ::= TRIM(T) LP expr(E) FROM expr(F) RP. { A = wr_mk_special(ctx, T, 3, (wr_ast_expr *[]){NULL, E, F}); }
special_call(A) ::= TRIM(T) LP trim_side(S) FROM expr(F) RP. { A = wr_mk_special(ctx, T, 3, (wr_ast_expr *[]){wr_mk_symbol(ctx, S), NULL, F}); }
special_call(A) ::= TRIM(T) LP trim_side(S) expr(E) FROM expr(F) RP. { A = wr_mk_special(ctx, T, 3, (wr_ast_expr *[]){wr_mk_symbol(ctx, S), E, F}); }
%type trim_side {const wr_token *}
trim_side(A) ::= BOTH(T). { A = T; }
trim_side(A) ::= LEADING(T). { A = T; }
trim_side(A) ::= TRAILING(T). { A = T; }

special_call(A) ::= JSON_LIST(T) LP RP. { A = wr_mk_json(ctx, T, NULL, NULL); }
special_call(A) ::= JSON_LIST(T) LP exprs(L) json_clauses(J) RP. { A = wr_mk_json(ctx, T, L, J); }
special_call(A) ::= JSON_PAIRS(T) LP RP. { A = wr_mk_json(ctx, T, NULL, NULL); }
special_call(A) ::= JSON_PAIRS(T) LP json_pairs(L) json_clauses(J) RP. { A = wr_mk_json(ctx, T, L, J); }
%type json_pairs {wr_ast_exprs *}
json_pairs(A) ::= key_opt expr(K) VALUE expr(V). { A = LIST_NEW(ctx, wr_ast_exprs); LIST(A, K); LIST(A, V); }
json_pairs(A) ::= json_pairs(L) COMMA key_opt expr(K) VALUE expr(V). { A = L; LIST(A, K); LIST(A, V); }
key_opt ::= .
key_opt ::= KEY.
%type json_clauses {wr_ast_json *}
json_clauses(A) ::= . { A = NULL; }
json_clauses(A) ::= json_clauses(J) RETURNING type_atom(T). { A = J ? J : wr_new(ctx->arena, wr_ast_json); A->returning = T; }
json_clauses(A) ::= json_clauses(J) json_behavior(B) ON(T) NULL. { A = J ? J : wr_new(ctx->arena, wr_ast_json); wr_mk_json_on(ctx, A, T, (wr_ast_json_on)B, NULL); }
json_clauses(A) ::= json_clauses(J) json_behavior(B) ON json_when(W). { A = J ? J : wr_new(ctx->arena, wr_ast_json); wr_mk_json_on(ctx, A, W, (wr_ast_json_on)B, NULL); }
json_clauses(A) ::= json_clauses(J) DEFAULT expr(E) ON json_when(W). { A = J ? J : wr_new(ctx->arena, wr_ast_json); wr_mk_json_on(ctx, A, W, WR_JSON_ON_DEFAULT, E); }
json_clauses(A) ::= json_clauses(J) WITHOUT array_opt WRAPPER. { A = J ? J : wr_new(ctx->arena, wr_ast_json); A->wrapper = WR_JSON_WRAP_WITHOUT; }
json_clauses(A) ::= json_clauses(J) WITH array_opt WRAPPER. { A = J ? J : wr_new(ctx->arena, wr_ast_json); A->wrapper = WR_JSON_WRAP_UNCONDITIONAL; }
json_clauses(A) ::= json_clauses(J) WITH CONDITIONAL array_opt WRAPPER. { A = J ? J : wr_new(ctx->arena, wr_ast_json); A->wrapper = WR_JSON_WRAP_CONDITIONAL; }
json_clauses(A) ::= json_clauses(J) WITH UNCONDITIONAL array_opt WRAPPER. { A = J ? J : wr_new(ctx->arena, wr_ast_json); A->wrapper = WR_JSON_WRAP_UNCONDITIONAL; }
array_opt ::= .
array_opt ::= ARRAY_POSTFIX.
%type json_when {const wr_token *}
json_when(A) ::= EMPTY(T). { A = T; }
json_when(A) ::= ERROR(T). { A = T; }
%type json_behavior {int}
json_behavior(A) ::= NULL. { A = WR_JSON_ON_NULL; }
json_behavior(A) ::= ERROR. { A = WR_JSON_ON_ERROR; }
json_behavior(A) ::= ABSENT. { A = WR_JSON_ON_ABSENT; }
json_behavior(A) ::= EMPTY. { A = WR_JSON_ON_EMPTY_ARRAY; }
json_behavior(A) ::= EMPTY ARRAY_POSTFIX. { A = WR_JSON_ON_EMPTY_ARRAY; }
json_behavior(A) ::= EMPTY OBJECT. { A = WR_JSON_ON_EMPTY_OBJECT; }
json_behavior(A) ::= TRUE. { A = WR_JSON_ON_TRUE; }
json_behavior(A) ::= FALSE. { A = WR_JSON_ON_FALSE; }
json_behavior(A) ::= UNKNOWN. { A = WR_JSON_ON_UNKNOWN; }

/* ---- windows, order ---- */
%type over_window {wr_ast_window *}
%type window_spec {wr_ast_window *}
over_window(A) ::= ID(T). { A = wr_new(ctx->arena, wr_ast_window); A->base = wr_mk_ident(ctx, T); A->bare = true; A->at = AT(T); }
over_window(A) ::= window_spec(W). { A = W; }
window_spec(A) ::= LP(T) window_base(B) partition_opt(P) order_opt(O) frame_opt(F) RP. {
    A = F ? F : wr_new(ctx->arena, wr_ast_window);
    if (B) A->base = wr_mk_ident(ctx, B);
    if (P) A->partition_by = *P;
    if (O) A->order_by = *O;
    A->at = AT(T);
}
%type window_base {const wr_token *}
window_base(A) ::= . { A = NULL; }
window_base(A) ::= ID(T). { A = T; }
%type partition_opt {wr_ast_exprs *}
partition_opt(A) ::= . { A = NULL; }
partition_opt(A) ::= PARTITION BY exprs(L). { A = L; }
%type order_opt {wr_ast_orders *}
order_opt(A) ::= . { A = NULL; }
order_opt(A) ::= ORDER BY orders(L). { A = L; }
%type frame_opt {wr_ast_window *}
frame_opt(A) ::= . { A = NULL; }
frame_opt(A) ::= frame_kind(K) bound(B). {
    A = wr_new(ctx->arena, wr_ast_window);
    A->has_frame = true, A->rows = K, A->start = *B, A->end = (wr_ast_bound){WR_BOUND_CURRENT, NULL, B->at};
}
frame_opt(A) ::= frame_kind(K) BETWEEN bound(B) AND bound(C). {
    A = wr_new(ctx->arena, wr_ast_window);
    A->has_frame = true, A->rows = K, A->start = *B, A->end = *C;
}
%type frame_kind {int}
frame_kind(A) ::= ROWS. { A = 1; }
frame_kind(A) ::= RANGE. { A = 0; }
%type bound {wr_ast_bound *}
bound(A) ::= UNBOUNDED(T) PRECEDING. { A = wr_new(ctx->arena, wr_ast_bound); A->kind = WR_BOUND_UNBOUNDED_PRECEDING; A->at = AT(T); }
bound(A) ::= UNBOUNDED(T) FOLLOWING. { A = wr_new(ctx->arena, wr_ast_bound); A->kind = WR_BOUND_UNBOUNDED_FOLLOWING; A->at = AT(T); }
bound(A) ::= CURRENT(T) ROW. { A = wr_new(ctx->arena, wr_ast_bound); A->kind = WR_BOUND_CURRENT; A->at = AT(T); }
bound(A) ::= add(E) PRECEDING. { A = wr_new(ctx->arena, wr_ast_bound); A->kind = WR_BOUND_PRECEDING; A->offset = E; A->at = E->at; }
bound(A) ::= add(E) FOLLOWING. { A = wr_new(ctx->arena, wr_ast_bound); A->kind = WR_BOUND_FOLLOWING; A->offset = E; A->at = E->at; }

%type orders {wr_ast_orders *}
%type order {wr_ast_order *}
orders(A) ::= order(O). { A = LIST_NEW(ctx, wr_ast_orders); LIST(A, *O); }
orders(A) ::= orders(L) COMMA order(O). { A = L; LIST(A, *O); }
order(A) ::= expr(E) direction(D) nulls_opt(N). {
    A = wr_new(ctx->arena, wr_ast_order);
    A->expr = E, A->desc = D, A->nulls = (int8_t)N, A->at = E->at;
}
%type direction {int}
direction(A) ::= . { A = 0; }
direction(A) ::= ASC. { A = 0; }
direction(A) ::= DESC. { A = 1; }
%type nulls_opt {int}
nulls_opt(A) ::= . { A = -1; }
nulls_opt(A) ::= NULLS FIRST. { A = 0; }
nulls_opt(A) ::= NULLS LAST. { A = 1; }

/* ---- queries ---- */
%type query {wr_ast_query *}
%type query_np {wr_ast_query *}
%type query_parens {wr_ast_query *}
%type query_body {wr_ast_query *}
%type simple {wr_ast_query *}
%type select {wr_ast_query *}
%type values {wr_ast_query *}
query(A) ::= query_np(Q). { A = Q; }
query(A) ::= query_parens(Q). [LOW] { A = Q; }
query_parens(A) ::= LP query_np(Q) RP. { A = Q; }
query_parens(A) ::= LP query_parens(Q) RP. { A = Q; }
query_np(A) ::= simple(Q). { A = Q; }
query_np(A) ::= simple(Q) tail(T). { A = wr_mk_tail_on(ctx, Q, T); }
query_np(A) ::= query_parens(Q) tail(T). { A = wr_mk_tail_on(ctx, wr_mk_wrap(ctx, Q), T); }
query_np(A) ::= with_clause(W) query_body(Q). { A = wr_mk_with_on(ctx, wr_mk_wrap(ctx, Q), W, W->at); }
query_np(A) ::= with_clause(W) query_body(Q) tail(T). { A = wr_mk_tail_on(ctx, wr_mk_with_on(ctx, wr_mk_wrap(ctx, Q), W, W->at), T); }
query_body(A) ::= simple(Q). { A = Q; }
query_body(A) ::= query_parens(Q). [LOW] { A = Q; }
simple(A) ::= select(Q). { A = Q; }
simple(A) ::= values(Q). { A = Q; }
simple(A) ::= TABLE(T) name(N). { A = wr_mk_query(ctx, WR_AST_QUERY_TABLE, AT(T)); A->table = *N; }
simple(A) ::= query_body(L) UNION(T) all_opt(O) query_body(R). { A = wr_mk_set_query(ctx, WR_AST_UNION, O, T, L, R); }
simple(A) ::= query_body(L) EXCEPT(T) all_opt(O) query_body(R). { A = wr_mk_set_query(ctx, WR_AST_EXCEPT, O, T, L, R); }
simple(A) ::= query_body(L) INTERSECT(T) all_opt(O) query_body(R). { A = wr_mk_set_query(ctx, WR_AST_INTERSECT, O, T, L, R); }
%type all_opt {int}
all_opt(A) ::= . { A = 0; }
all_opt(A) ::= ALL. { A = 1; }
all_opt(A) ::= DISTINCT. { A = 0; }

%type with_clause {wr_ast_query *}
with_clause(A) ::= WITH(T) cte(C). { A = C; A->at = AT(T); }
with_clause(A) ::= WITH(T) RECURSIVE cte(C). { A = C; A->at = AT(T); A->recursive = true; }
with_clause(A) ::= with_clause(W) COMMA cte(C). {
    A = W;
    wr_arr_apush(ctx->arena, &A->with, C->with.at[0]);
    wr_mk_deepen(ctx, &A->depth, C->at, C->depth - 1u);
}
%type cte {wr_ast_query *}
cte(A) ::= ID(T) column_list_opt(L) AS query_parens(Q). {
    A = wr_mk_query(ctx, WR_AST_QUERY_SELECT, AT(T));
    wr_ast_cte cte = {.name = wr_mk_ident(ctx, T), .query = Q};
    if (L) cte.columns = *L;
    wr_arr_apush(ctx->arena, &A->with, cte);
    wr_mk_deepen(ctx, &A->depth, A->at, Q->depth);
}
%type column_list_opt {wr_ast_idents *}
column_list_opt(A) ::= . { A = NULL; }
column_list_opt(A) ::= LP idents(L) RP. { A = L; }

%type tail {wr_mk_tail *}
%type limits {wr_mk_tail *}
tail(A) ::= ORDER BY orders(O). { A = wr_new(ctx->arena, wr_mk_tail); A->order_by = O; }
tail(A) ::= ORDER BY orders(O) limits(L). { A = L; A->order_by = O; }
tail(A) ::= limits(L). { A = L; }
limits(A) ::= LIMIT limit_count(E). { A = wr_new(ctx->arena, wr_mk_tail); A->limit = E; }
limits(A) ::= LIMIT limit_count(E) OFFSET add(O) rows_opt. { A = wr_new(ctx->arena, wr_mk_tail); A->limit = E; A->offset = O; }
limits(A) ::= OFFSET add(O) rows_opt. { A = wr_new(ctx->arena, wr_mk_tail); A->offset = O; }
limits(A) ::= OFFSET add(O) rows_opt fetch(E). { A = wr_new(ctx->arena, wr_mk_tail); A->offset = O; A->limit = E; }
limits(A) ::= OFFSET add(O) rows_opt LIMIT limit_count(E). { A = wr_new(ctx->arena, wr_mk_tail); A->offset = O; A->limit = E; }
limits(A) ::= fetch(E). { A = wr_new(ctx->arena, wr_mk_tail); A->limit = E; }
%type limit_count {wr_ast_expr *}
limit_count(A) ::= add(E). { A = E; }
limit_count(A) ::= ALL. { A = NULL; }
%type fetch {wr_ast_expr *}
fetch(A) ::= FETCH first_next add(E) row_rows ONLY. { A = E; }
first_next ::= FIRST.
first_next ::= NEXT.
row_rows ::= ROW.
row_rows ::= ROWS.
rows_opt ::= .
rows_opt ::= row_rows.

values(A) ::= VALUES(T) values_row(E). { A = wr_mk_query(ctx, WR_AST_QUERY_VALUES, AT(T)); wr_mk_query_row(ctx, A, E); }
values(A) ::= values(V) COMMA values_row(E). { A = V; wr_mk_query_row(ctx, A, E); }
%type values_row {wr_ast_expr *}
values_row(A) ::= expr(E). { A = E; }

select(A) ::= select_head(S) from_opt(F) where_opt(W) group_opt(G) having_opt(H) windows_opt(N) qualify_opt(Q). {
    A = S;
    A->select.from = F;
    A->select.where = W;
    if (G) A->select.has_group_by = true, A->select.group_by = *G;
    A->select.having = H;
    if (N) A->select.windows.at = N->select.windows.at, A->select.windows.n = N->select.windows.n, A->select.windows.cap = N->select.windows.cap;
    A->select.qualify = Q;
    wr_mk_select(ctx, A);
}
%type select_head {wr_ast_query *}
select_head(A) ::= SELECT(T) hints_opt(H) select_quantifier(D) items(I). {
    A = I;
    A->at = AT(T);
    if (H) A->select.hints = *H;
    A->select.distinct = D == 1, A->select.all = D == 2;
}
%type select_quantifier {int}
select_quantifier(A) ::= . { A = 0; }
select_quantifier(A) ::= DISTINCT. { A = 1; }
select_quantifier(A) ::= ALL. { A = 2; }
%type items {wr_ast_query *}
items(A) ::= item(I). { A = wr_mk_query(ctx, WR_AST_QUERY_SELECT, I->expr->at); wr_arr_apush(ctx->arena, &A->select.items, *I); }
items(A) ::= items(L) COMMA item(I). { A = L; wr_arr_apush(ctx->arena, &A->select.items, *I); }
%type item {wr_ast_item *}
item(A) ::= expr(E). { A = wr_new(ctx->arena, wr_ast_item); A->expr = E; }
item(A) ::= expr(E) AS ID(T). { A = wr_new(ctx->arena, wr_ast_item); A->expr = E; A->alias = wr_mk_ident(ctx, T); }
item(A) ::= expr(E) ID(T). { A = wr_new(ctx->arena, wr_ast_item); A->expr = E; A->alias = wr_mk_ident(ctx, T); }
item(A) ::= STAR(T). { A = wr_new(ctx->arena, wr_ast_item); A->expr = wr_mk_star(ctx, NULL, T); }
item(A) ::= name(N) DOT STAR(T). { A = wr_new(ctx->arena, wr_ast_item); A->expr = wr_mk_star(ctx, N, T); }

%type from_opt {wr_ast_ref *}
from_opt(A) ::= . { A = NULL; }
from_opt(A) ::= FROM from(F). { A = F; }
%type where_opt {wr_ast_expr *}
where_opt(A) ::= . { A = NULL; }
where_opt(A) ::= WHERE expr(E). { A = E; }
%type having_opt {wr_ast_expr *}
having_opt(A) ::= . { A = NULL; }
having_opt(A) ::= HAVING expr(E). { A = E; }
%type qualify_opt {wr_ast_expr *}
qualify_opt(A) ::= . { A = NULL; }
qualify_opt(A) ::= QUALIFY expr(E). { A = E; }
%type windows_opt {wr_ast_query *}
%type windows {wr_ast_query *}
windows_opt(A) ::= . { A = NULL; }
windows_opt(A) ::= WINDOW windows(L). { A = L; }
windows(A) ::= ID(T) AS window_spec(W). {
    A = wr_new(ctx->arena, wr_ast_query);
    wr_arr_apush(ctx->arena, &A->select.windows, ((wr_ast_named_window){wr_mk_ident(ctx, T), W}));
}
windows(A) ::= windows(L) COMMA ID(T) AS window_spec(W). {
    A = L;
    wr_arr_apush(ctx->arena, &A->select.windows, ((wr_ast_named_window){wr_mk_ident(ctx, T), W}));
}

%type group_opt {wr_ast_groups *}
%type groups {wr_ast_groups *}
%type group {wr_ast_group *}
group_opt(A) ::= . { A = NULL; }
group_opt(A) ::= GROUP BY groups(L). { A = L; }
groups(A) ::= group(G). { A = LIST_NEW(ctx, wr_ast_groups); LIST(A, G); }
groups(A) ::= groups(L) COMMA group(G). { A = L; LIST(A, G); }
group(A) ::= expr(E). { A = wr_mk_group_expr(ctx, E); }
group(A) ::= LP(T) RP. { A = wr_mk_group(ctx, WR_GROUP_SET, AT(T), NULL); }
group(A) ::= ROLLUP(T) LP groups(L) RP. { A = wr_mk_group(ctx, WR_GROUP_ROLLUP, AT(T), L); }
group(A) ::= CUBE(T) LP groups(L) RP. { A = wr_mk_group(ctx, WR_GROUP_CUBE, AT(T), L); }
group(A) ::= GROUPING(T) SETS LP groups(L) RP. { A = wr_mk_group(ctx, WR_GROUP_SETS, AT(T), L); }

/* ---- hints ---- */
%type hints_opt {wr_ast_hints *}
%type hint_list {wr_ast_hints *}
%type hint {wr_ast_hint *}
%type hint_args {wr_ast_hint *}
%type hint_arg {wr_ast_hint_arg *}
hints_opt(A) ::= . { A = NULL; }
hints_opt(A) ::= HINT_BEGIN hint_list(L) HINT_END. { A = L; }
hint_list(A) ::= hint(H). { A = LIST_NEW(ctx, wr_ast_hints); LIST(A, *H); }
hint_list(A) ::= hint_list(L) COMMA hint(H). { A = L; LIST(A, *H); }
hint_list(A) ::= hint_list(L) hint(H). { A = L; LIST(A, *H); }
hint(A) ::= ID(T). { A = wr_new(ctx->arena, wr_ast_hint); A->name = wr_mk_ident(ctx, T); }
hint(A) ::= ID(T) LP RP. { A = wr_new(ctx->arena, wr_ast_hint); A->name = wr_mk_ident(ctx, T); }
hint(A) ::= ID(T) LP hint_args(L) RP. { A = L; A->name = wr_mk_ident(ctx, T); }
hint_args(A) ::= hint_arg(E). { A = wr_new(ctx->arena, wr_ast_hint); wr_arr_apush(ctx->arena, &A->args, *E); }
hint_args(A) ::= hint_args(L) COMMA hint_arg(E). { A = L; wr_arr_apush(ctx->arena, &A->args, *E); }
hint_arg(A) ::= hint_word(K). { A = wr_new(ctx->arena, wr_ast_hint_arg); A->key = wr_mk_text(ctx, K); }
hint_arg(A) ::= hint_word(K) EQ hint_word(V). { A = wr_new(ctx->arena, wr_ast_hint_arg); A->key = wr_mk_text(ctx, K); A->value = wr_mk_text(ctx, V); }
%type hint_word {const wr_token *}
hint_word(A) ::= ID(T). { A = T; }
hint_word(A) ::= STRING(T). { A = T; }
hint_word(A) ::= INTEGER(T). { A = T; }

/* ---- FROM ---- */
%type from {wr_ast_ref *}
%type joined {wr_ast_ref *}
%type ref {wr_ast_ref *}
%type ref_core {wr_ast_ref *}
%type matchable {wr_ast_ref *}
from(A) ::= joined(R). { A = R; }
from(A) ::= from(L) COMMA(T) joined(R). { A = wr_mk_join(ctx, WR_AST_JOIN_COMMA, false, T, L, R, NULL, NULL); }
joined(A) ::= ref(R). { A = R; }
joined(A) ::= joined(L) join_kind(K) JOIN(T) ref(R) ON expr(E). { A = wr_mk_join(ctx, (wr_ast_join)K, false, T, L, R, E, NULL); }
joined(A) ::= joined(L) join_kind(K) JOIN(T) ref(R) USING LP idents(U) RP. { A = wr_mk_join(ctx, (wr_ast_join)K, false, T, L, R, NULL, U); }
joined(A) ::= joined(L) NATURAL join_kind(K) JOIN(T) ref(R). { A = wr_mk_join(ctx, (wr_ast_join)K, true, T, L, R, NULL, NULL); }
joined(A) ::= joined(L) CROSS JOIN(T) ref(R). { A = wr_mk_join(ctx, WR_AST_JOIN_CROSS, false, T, L, R, NULL, NULL); }
%type join_kind {int}
join_kind(A) ::= . { A = WR_AST_JOIN_INNER; }
join_kind(A) ::= INNER. { A = WR_AST_JOIN_INNER; }
join_kind(A) ::= LEFT outer_opt. { A = WR_AST_JOIN_LEFT; }
join_kind(A) ::= RIGHT outer_opt. { A = WR_AST_JOIN_RIGHT; }
join_kind(A) ::= FULL outer_opt. { A = WR_AST_JOIN_FULL; }
outer_opt ::= .
outer_opt ::= OUTER.

ref(A) ::= ref_core(R) alias_opt(N). { A = wr_mk_ref_alias(R, N); }
ref(A) ::= LP joined(R) RP. { A = R; }
ref(A) ::= LP from(L) COMMA(T) joined(R) RP. { A = wr_mk_join(ctx, WR_AST_JOIN_COMMA, false, T, L, R, NULL, NULL); }
ref_core(A) ::= matchable(R). { A = R; }
ref_core(A) ::= matchable(R) MATCH_RECOGNIZE(T) LP match(M) RP. { A = wr_mk_match(ctx, R, M, AT(T)); }
matchable(A) ::= name(N) hints_opt(H) as_of_opt(E). {
    A = wr_mk_ref(ctx, WR_AST_REF_NAME, N->at, E ? E->depth : 0);
    A->table.name = *N, A->table.as_of = E;
    if (H) A->hints = *H;
}
matchable(A) ::= query_parens(Q) as_of_opt(E). [LOW] {
    A = wr_mk_ref(ctx, WR_AST_REF_QUERY, Q->at, WR_MAX(Q->depth, E ? E->depth : 0));
    A->derived.query = Q, A->derived.as_of = E;
}
ref_core(A) ::= LATERAL query_parens(Q). { A = wr_mk_ref(ctx, WR_AST_REF_QUERY, Q->at, Q->depth); A->derived.query = Q; A->lateral = true; }
ref_core(A) ::= table_function(R). { A = R; }
ref_core(A) ::= LATERAL table_function(R). { A = R; A->lateral = true; }
ref_core(A) ::= call(C). { A = wr_mk_ref(ctx, WR_AST_REF_FUNCTION, C->at, C->depth); A->call = C; }
ref_core(A) ::= LATERAL call(C). { A = wr_mk_ref(ctx, WR_AST_REF_FUNCTION, C->at, C->depth); A->call = C; A->lateral = true; }
ref_core(A) ::= unnest(R). { A = R; }
ref_core(A) ::= LATERAL unnest(R). { A = R; A->lateral = true; }
%type table_function {wr_ast_ref *}
table_function(A) ::= TABLE(T) LP call(C) RP hints_opt(H). {
    A = wr_mk_ref(ctx, WR_AST_REF_FUNCTION, AT(T), C->depth);
    A->call = C, A->table_keyword = true;
    if (H) A->hints = *H;
}
%type unnest {wr_ast_ref *}
unnest(A) ::= UNNEST(T) LP exprs(L) RP ordinality(O). {
    unsigned depth = 0;
    for (uint32_t i = 0; i < L->n; i++) depth = WR_MAX(depth, L->at[i]->depth);
    A = wr_mk_ref(ctx, WR_AST_REF_UNNEST, AT(T), depth);
    A->unnest = *L, A->with_ordinality = O;
}
%type ordinality {int}
ordinality(A) ::= . { A = 0; }
ordinality(A) ::= WITH ORDINALITY. { A = 1; }
%type as_of_opt {wr_ast_expr *}
as_of_opt(A) ::= . [LOW] { A = NULL; }
as_of_opt(A) ::= FOR SYSTEM_TIME AS OF add(E). { A = E; }
%type alias_opt {wr_mk_alias *}
alias_opt(A) ::= . [LOW] { A = NULL; }
alias_opt(A) ::= as_opt ID(T) column_list_opt(L). {
    A = wr_new(ctx->arena, wr_mk_alias);
    A->name = wr_mk_ident(ctx, T);
    if (L) A->columns = *L;
}
as_opt ::= .
as_opt ::= AS.

/* ---- MATCH_RECOGNIZE ---- */
%type match {wr_ast_match *}
match(A) ::= partition_opt(P) order_opt(O) measures_opt(M) rows_per_match(R) after_match(S) PATTERN LP pattern(X) RP within_opt(W) subsets_opt(U)
             DEFINE defines(D). {
    A = S;
    if (P) A->partition_by = *P;
    if (O) A->order_by = *O;
    if (M) memcpy(&A->measures, &M->measures, sizeof A->measures);
    if (U) memcpy(&A->subsets, &U->subsets, sizeof A->subsets);
    memcpy(&A->defines, &D->defines, sizeof A->defines);
    A->all_rows = (int8_t)R, A->pattern = X, A->within = W;
}
%type measures_opt {wr_ast_match *}
%type measures {wr_ast_match *}
measures_opt(A) ::= . { A = NULL; }
measures_opt(A) ::= MEASURES measures(L). { A = L; }
measures(A) ::= expr(E) AS ID(T). { A = wr_new(ctx->arena, wr_ast_match); wr_arr_apush(ctx->arena, &A->measures, ((wr_ast_measure){E, wr_mk_ident(ctx, T)})); }
measures(A) ::= measures(L) COMMA expr(E) AS ID(T). { A = L; wr_arr_apush(ctx->arena, &A->measures, ((wr_ast_measure){E, wr_mk_ident(ctx, T)})); }
%type rows_per_match {int}
rows_per_match(A) ::= . { A = -1; }
rows_per_match(A) ::= ONE ROW PER MATCH. { A = 0; }
rows_per_match(A) ::= ALL ROWS PER MATCH. { A = 1; }
%type after_match {wr_ast_match *}
after_match(A) ::= . { A = wr_new(ctx->arena, wr_ast_match); }
after_match(A) ::= AFTER MATCH SKIP PAST LAST ROW. { A = wr_new(ctx->arena, wr_ast_match); A->after = WR_AFTER_PAST_LAST_ROW; }
after_match(A) ::= AFTER MATCH SKIP TO NEXT ROW. { A = wr_new(ctx->arena, wr_ast_match); A->after = WR_AFTER_NEXT_ROW; }
after_match(A) ::= AFTER MATCH SKIP TO FIRST ID(T). { A = wr_new(ctx->arena, wr_ast_match); A->after = WR_AFTER_FIRST; A->after_symbol = wr_mk_ident(ctx, T); }
after_match(A) ::= AFTER MATCH SKIP TO LAST ID(T). { A = wr_new(ctx->arena, wr_ast_match); A->after = WR_AFTER_LAST; A->after_symbol = wr_mk_ident(ctx, T); }
after_match(A) ::= AFTER MATCH SKIP TO ID(T). { A = wr_new(ctx->arena, wr_ast_match); A->after = WR_AFTER_LAST; A->after_symbol = wr_mk_ident(ctx, T); }
%type within_opt {wr_ast_expr *}
within_opt(A) ::= . { A = NULL; }
within_opt(A) ::= WITHIN add(E). { A = E; }
%type subsets_opt {wr_ast_match *}
%type subsets {wr_ast_match *}
subsets_opt(A) ::= . { A = NULL; }
subsets_opt(A) ::= SUBSET subsets(L). { A = L; }
subsets(A) ::= ID(T) EQ LP idents(I) RP. { A = wr_new(ctx->arena, wr_ast_match); wr_arr_apush(ctx->arena, &A->subsets, ((wr_ast_subset){wr_mk_ident(ctx, T), *I})); }
subsets(A) ::= subsets(L) COMMA ID(T) EQ LP idents(I) RP. { A = L; wr_arr_apush(ctx->arena, &A->subsets, ((wr_ast_subset){wr_mk_ident(ctx, T), *I})); }
%type defines {wr_ast_match *}
defines(A) ::= ID(T) AS expr(E). { A = wr_new(ctx->arena, wr_ast_match); wr_arr_apush(ctx->arena, &A->defines, ((wr_ast_define){wr_mk_ident(ctx, T), E})); }
defines(A) ::= defines(L) COMMA ID(T) AS expr(E). { A = L; wr_arr_apush(ctx->arena, &A->defines, ((wr_ast_define){wr_mk_ident(ctx, T), E})); }
%type pattern {wr_ast_pattern *}
%type pattern_cat {wr_ast_pattern *}
%type pattern_repeat {wr_ast_pattern *}
%type pattern_atom {wr_ast_pattern *}
%type pattern_list {wr_ast_pattern *}
pattern(A) ::= pattern_cat(P). { A = P; }
pattern(A) ::= pattern(L) PIPE pattern_cat(R). { A = wr_mk_pattern_add(ctx, WR_PAT_ALT, L, R); }
pattern_cat(A) ::= pattern_repeat(P). { A = P; }
pattern_cat(A) ::= pattern_cat(L) pattern_repeat(R). { A = wr_mk_pattern_add(ctx, WR_PAT_CONCAT, L, R); }
pattern_repeat(A) ::= pattern_atom(P). { A = P; }
pattern_repeat(A) ::= pattern_atom(P) repeat(R) reluctant(Q). {
    A = R;
    A->reluctant = Q, A->at = P->at;
    wr_arr_apush(ctx->arena, &A->parts, P);
    wr_mk_deepen(ctx, &A->depth, A->at, P->depth);
}
%type reluctant {int}
reluctant(A) ::= . { A = 0; }
reluctant(A) ::= QUESTION. { A = 1; }
%type repeat {wr_ast_pattern *}
repeat(A) ::= STAR(T). { A = wr_mk_pattern(ctx, WR_PAT_REPEAT, AT(T)); A->min = 0, A->max = -1; }
repeat(A) ::= PLUS(T). { A = wr_mk_pattern(ctx, WR_PAT_REPEAT, AT(T)); A->min = 1, A->max = -1; }
repeat(A) ::= QUESTION(T). { A = wr_mk_pattern(ctx, WR_PAT_REPEAT, AT(T)); A->min = 0, A->max = 1; }
repeat(A) ::= LBRACE(T) INTEGER(N) RBRACE. { A = wr_mk_pattern(ctx, WR_PAT_REPEAT, AT(T)); A->min = A->max = (int32_t)wr_mk_int(ctx, N, INT32_MAX); }
repeat(A) ::= LBRACE(T) INTEGER(N) COMMA RBRACE. { A = wr_mk_pattern(ctx, WR_PAT_REPEAT, AT(T)); A->min = (int32_t)wr_mk_int(ctx, N, INT32_MAX); A->max = -1; }
repeat(A) ::= LBRACE(T) COMMA INTEGER(M) RBRACE. { A = wr_mk_pattern(ctx, WR_PAT_REPEAT, AT(T)); A->min = 0; A->max = (int32_t)wr_mk_int(ctx, M, INT32_MAX); }
repeat(A) ::= LBRACE(T) INTEGER(N) COMMA INTEGER(M) RBRACE. {
    A = wr_mk_pattern(ctx, WR_PAT_REPEAT, AT(T));
    A->min = (int32_t)wr_mk_int(ctx, N, INT32_MAX), A->max = (int32_t)wr_mk_int(ctx, M, INT32_MAX);
}
pattern_atom(A) ::= ID(T). { A = wr_mk_pattern(ctx, WR_PAT_SYMBOL, AT(T)); A->symbol = wr_mk_ident(ctx, T); }
pattern_atom(A) ::= LP pattern(P) RP. { A = P; }
pattern_atom(A) ::= LP(T) RP. { A = wr_mk_pattern(ctx, WR_PAT_EMPTY, AT(T)); }
pattern_atom(A) ::= CARET(T). { A = wr_mk_pattern(ctx, WR_PAT_START, AT(T)); }
pattern_atom(A) ::= DOLLAR(T). { A = wr_mk_pattern(ctx, WR_PAT_END, AT(T)); }
pattern_atom(A) ::= LBRACE_MINUS(T) pattern(P) MINUS_RBRACE. {
    A = wr_mk_pattern(ctx, WR_PAT_EXCLUDE, AT(T));
    wr_arr_apush(ctx->arena, &A->parts, P);
    wr_mk_deepen(ctx, &A->depth, A->at, P->depth);
}
pattern_atom(A) ::= PERMUTE(T) LP pattern_list(L) RP. { A = L; A->at = AT(T); }
pattern_list(A) ::= pattern(P). {
    A = wr_mk_pattern(ctx, WR_PAT_PERMUTE, P->at);
    wr_arr_apush(ctx->arena, &A->parts, P);
    wr_mk_deepen(ctx, &A->depth, A->at, P->depth);
}
pattern_list(A) ::= pattern_list(L) COMMA pattern(P). {
    A = L;
    wr_arr_apush(ctx->arena, &A->parts, P);
    wr_mk_deepen(ctx, &A->depth, A->at, P->depth);
}

/* ---- statements ---- */
%type statement {wr_ast_stmt *}
%type insert {wr_ast_stmt *}
%type create_table {wr_ast_stmt *}
statement(A) ::= query(Q). { A = wr_mk_stmt(ctx, WR_STMT_QUERY, NULL); A->query = Q; A->at = Q->at; }
statement(A) ::= insert(S). { A = S; }
statement(A) ::= create_table(S). { A = S; }
statement(A) ::= EXPLAIN(T) explain_details(D) explainable(S). {
    A = wr_mk_stmt(ctx, WR_STMT_EXPLAIN, T);
    A->explain.details = (uint32_t)D, A->explain.stmt = S;
}
statement(A) ::= EXPLAIN(T) PLAN FOR explainable(S). {
    A = wr_mk_stmt(ctx, WR_STMT_EXPLAIN, T);
    A->explain.plan_for = true, A->explain.stmt = S;
}
%type explainable {wr_ast_stmt *}
explainable(A) ::= query(Q). { A = wr_mk_stmt(ctx, WR_STMT_QUERY, NULL); A->query = Q; A->at = Q->at; }
explainable(A) ::= insert(S). { A = S; }
explainable(A) ::= create_table(S). { A = S; }
%type explain_details {int}
%type explain_list {int}
%type explain_detail {int}
explain_details(A) ::= . { A = 0; }
explain_details(A) ::= explain_list(L). { A = L; }
explain_list(A) ::= explain_detail(D). { A = D; }
explain_list(A) ::= explain_list(L) COMMA explain_detail(D). { A = L | D; }
explain_detail(A) ::= ESTIMATED_COST. { A = WR_EXPLAIN_COST; }
explain_detail(A) ::= CHANGELOG_MODE. { A = WR_EXPLAIN_CHANGELOG; }
explain_detail(A) ::= JSON_EXECUTION_PLAN. { A = WR_EXPLAIN_JSON; }
explain_detail(A) ::= PLAN_ADVICE. { A = WR_EXPLAIN_ADVICE; }

insert(A) ::= insert_head(S) query(Q). { A = S; A->insert.query = Q; }
insert(A) ::= insert_head(S) LP names(L) RP query(Q). { A = S; A->insert.columns = *L; A->insert.query = Q; }
%type insert_head {wr_ast_stmt *}
insert_head(A) ::= INSERT(T) insert_kind(K) name(N) hints_opt(H) partition_spec(P). {
    A = wr_mk_stmt(ctx, WR_STMT_INSERT, T);
    A->insert.overwrite = K, A->insert.name = *N;
    if (H) A->insert.hints = *H;
    if (P) memcpy(&A->insert.partition, &P->insert.partition, sizeof A->insert.partition);
}
%type insert_kind {int}
insert_kind(A) ::= INTO. { A = 0; }
insert_kind(A) ::= OVERWRITE. { A = 1; }
insert_kind(A) ::= OVERWRITE INTO. { A = 1; }
%type partition_spec {wr_ast_stmt *}
%type partition_list {wr_ast_stmt *}
%type partition_value {wr_ast_partition *}
partition_spec(A) ::= . { A = NULL; }
partition_spec(A) ::= PARTITION LP partition_list(L) RP. { A = L; }
partition_list(A) ::= partition_value(V). { A = wr_new(ctx->arena, wr_ast_stmt); wr_arr_apush(ctx->arena, &A->insert.partition, *V); }
partition_list(A) ::= partition_list(L) COMMA partition_value(V). { A = L; wr_arr_apush(ctx->arena, &A->insert.partition, *V); }
partition_value(A) ::= ID(T). { A = wr_new(ctx->arena, wr_ast_partition); A->column = wr_mk_ident(ctx, T); }
partition_value(A) ::= ID(T) EQ expr(E). { A = wr_new(ctx->arena, wr_ast_partition); A->column = wr_mk_ident(ctx, T); A->value = E; }

/* CREATE */
%type create_head {int}
%type or_opt {int}
%type temporary_opt {int}
create_head(A) ::= CREATE or_opt(O) temporary_opt(T). { A = O | T; }
or_opt(A) ::= . { A = 0; }
or_opt(A) ::= OR REPLACE. { A = WR_CREATE_REPLACE; }
or_opt(A) ::= OR ALTER. { A = WR_CREATE_ALTER; }
temporary_opt(A) ::= . { A = 0; }
temporary_opt(A) ::= TEMPORARY. { A = WR_CREATE_TEMPORARY; }
temporary_opt(A) ::= TEMPORARY SYSTEM. { A = WR_CREATE_TEMPORARY | WR_CREATE_SYSTEM; }

create_table(A) ::= create_head(H) TABLE(T) if_not_exists(I) name(N) table_elements_opt(E) comment_opt(C) distribution(D) partitioned_by(P)
                    with_options(W) like_as(L). {
    wr_mk_check_create(ctx, T, (uint32_t)H, WR_CREATE_REPLACE | WR_CREATE_TEMPORARY, "TABLE");
    A = wr_mk_stmt(ctx, WR_STMT_CREATE_TABLE, T);
    wr_ast_create_table *t = &A->create_table;
    *t = *E;
    t->or_replace = H & WR_CREATE_REPLACE, t->temporary = H & WR_CREATE_TEMPORARY, t->if_not_exists = I, t->name = *N;
    if (C) t->comment = wr_mk_text(ctx, C);
    t->distributed = D->distributed, t->dist_kind = D->dist_kind, t->dist_columns = D->dist_columns, t->dist_buckets = D->dist_buckets;
    if (P) t->partitioned_by = *P;
    if (W) t->options = *W;
    t->like = L->like, t->as = L->as;
    memcpy(&t->like_options, &L->like_options, sizeof t->like_options);
    wr_mk_finish_columns(ctx, t);
}
create_table(A) ::= REPLACE TABLE(T) name(N) table_elements_opt(E) comment_opt(C) distribution(D) partitioned_by(P) with_options(W) AS query(Q). {
    A = wr_mk_stmt(ctx, WR_STMT_CREATE_TABLE, T);
    wr_ast_create_table *t = &A->create_table;
    *t = *E;
    t->or_replace = t->replace = true, t->name = *N, t->as = Q;
    if (C) t->comment = wr_mk_text(ctx, C);
    t->distributed = D->distributed, t->dist_kind = D->dist_kind, t->dist_columns = D->dist_columns, t->dist_buckets = D->dist_buckets;
    if (P) t->partitioned_by = *P;
    if (W) t->options = *W;
    wr_mk_finish_columns(ctx, t);
}
create_table(A) ::= create_head(H) MATERIALIZED(T) TABLE if_not_exists(I) name(N) table_elements_opt(E) comment_opt(C) distribution(D)
                    partitioned_by(P) with_options(W) freshness(F) refresh_mode(R) AS query(Q). {
    wr_mk_check_create(ctx, T, (uint32_t)H, WR_CREATE_ALTER | WR_CREATE_REPLACE, "MATERIALIZED TABLE");
    A = wr_mk_stmt(ctx, WR_STMT_CREATE_TABLE, T);
    wr_ast_create_table *t = &A->create_table;
    *t = *E;
    t->materialized = true, t->or_alter = H & WR_CREATE_ALTER, t->or_replace = H & WR_CREATE_REPLACE, t->if_not_exists = I, t->name = *N;
    if (C) t->comment = wr_mk_text(ctx, C);
    t->distributed = D->distributed, t->dist_kind = D->dist_kind, t->dist_columns = D->dist_columns, t->dist_buckets = D->dist_buckets;
    if (P) t->partitioned_by = *P;
    if (W) t->options = *W;
    t->freshness = F, t->as = Q;
    if (R) t->refresh_mode = wr_mk_ident(ctx, R);
    wr_mk_finish_columns(ctx, t);
}
%type freshness {wr_ast_expr *}
freshness(A) ::= . { A = NULL; }
freshness(A) ::= FRESHNESS EQ interval_literal(E). { A = E; }
%type refresh_mode {const wr_token *}
refresh_mode(A) ::= . { A = NULL; }
refresh_mode(A) ::= REFRESH_MODE EQ ID(T). { A = T; }
refresh_mode(A) ::= REFRESH_MODE EQ FULL(T). { A = T; }

%type table_elements_opt {wr_ast_create_table *}
%type table_elements {wr_ast_create_table *}
table_elements_opt(A) ::= . { A = wr_new(ctx->arena, wr_ast_create_table); }
table_elements_opt(A) ::= LP table_elements(L) RP. { A = L; }
table_elements(A) ::= column(C). { A = wr_new(ctx->arena, wr_ast_create_table); LIST(&A->columns, *C); }
table_elements(A) ::= constraint(C). { A = wr_new(ctx->arena, wr_ast_create_table); LIST(&A->constraints, *C); }
table_elements(A) ::= watermark(W). { A = wr_new(ctx->arena, wr_ast_create_table); LIST(&A->watermarks, *W); }
table_elements(A) ::= table_elements(L) COMMA column(C). { A = L; LIST(&A->columns, *C); }
table_elements(A) ::= table_elements(L) COMMA constraint(C). { A = L; LIST(&A->constraints, *C); }
table_elements(A) ::= table_elements(L) COMMA watermark(W). { A = L; LIST(&A->watermarks, *W); }

%type column {wr_ast_column *}
%type column_head {wr_ast_column *}
column(A) ::= ID(T). { A = wr_new(ctx->arena, wr_ast_column); A->kind = WR_AST_COL_NAME_ONLY; A->name = wr_mk_ident(ctx, T); A->at = A->name.at; }
column(A) ::= column_head(C). { A = C; }
column_head(A) ::= ID(T) type(Y). {
    A = wr_new(ctx->arena, wr_ast_column);
    A->name = wr_mk_ident(ctx, T), A->type = Y, A->at = A->name.at;
}
column_head(A) ::= column_head(C) METADATA. { A = C; A->kind = WR_AST_COL_METADATA; }
column_head(A) ::= column_head(C) METADATA FROM STRING(S). { A = C; A->kind = WR_AST_COL_METADATA; A->metadata_key = wr_mk_text(ctx, S); }
column_head(A) ::= column_head(C) METADATA VIRTUAL. { A = C; A->kind = WR_AST_COL_METADATA; A->is_virtual = true; }
column_head(A) ::= column_head(C) METADATA FROM STRING(S) VIRTUAL. {
    A = C;
    A->kind = WR_AST_COL_METADATA, A->metadata_key = wr_mk_text(ctx, S), A->is_virtual = true;
}
column_head(A) ::= column_head(C) PRIMARY KEY enforced(E). { A = C; A->primary_key = true; A->not_enforced = E == 1; A->enforced = E == 2; }
column_head(A) ::= column_head(C) UNIQUE enforced(E). { A = C; A->unique = true; A->not_enforced = E == 1; A->enforced = E == 2; }
column_head(A) ::= column_head(C) COMMENT STRING(S). { A = C; A->comment = wr_mk_text(ctx, S); }
column(A) ::= ID(T) AS expr(E) comment_opt(S). {
    A = wr_new(ctx->arena, wr_ast_column);
    A->kind = WR_AST_COL_COMPUTED, A->name = wr_mk_ident(ctx, T), A->expr = E, A->at = A->name.at;
    if (S) A->comment = wr_mk_text(ctx, S);
}
%type enforced {int}
enforced(A) ::= . { A = 0; }
enforced(A) ::= NOT ENFORCED. { A = 1; }
enforced(A) ::= ENFORCED. { A = 2; }

%type constraint {wr_ast_constraint *}
%type constraint_core {wr_ast_constraint *}
constraint(A) ::= constraint_core(C). { A = C; }
constraint(A) ::= CONSTRAINT ID(T) constraint_core(C). { A = C; A->name = wr_mk_ident(ctx, T); }
constraint_core(A) ::= PRIMARY(T) KEY LP idents(L) RP enforced(E). {
    A = wr_new(ctx->arena, wr_ast_constraint);
    A->at = AT(T), A->columns = *L, A->not_enforced = E == 1, A->enforced = E == 2;
}
constraint_core(A) ::= UNIQUE(T) LP idents(L) RP enforced(E). {
    A = wr_new(ctx->arena, wr_ast_constraint);
    A->unique = true, A->at = AT(T), A->columns = *L, A->not_enforced = E == 1, A->enforced = E == 2;
}
%type watermark {wr_ast_watermark *}
watermark(A) ::= WATERMARK(T) FOR name(N) AS expr(E). { A = wr_new(ctx->arena, wr_ast_watermark); A->column = *N; A->expr = E; A->at = AT(T); }

%type distribution {wr_ast_create_table *}
distribution(A) ::= . { A = wr_new(ctx->arena, wr_ast_create_table); A->dist_buckets = -1; }
distribution(A) ::= DISTRIBUTED BY LP idents(L) RP buckets(B). {
    A = wr_new(ctx->arena, wr_ast_create_table);
    A->distributed = true, A->dist_columns = *L, A->dist_buckets = B ? wr_mk_int(ctx, B, INT32_MAX) : -1;
}
distribution(A) ::= DISTRIBUTED BY ID(T) LP idents(L) RP buckets(B). {
    A = wr_new(ctx->arena, wr_ast_create_table);
    A->distributed = true, A->dist_kind = wr_mk_ident(ctx, T), A->dist_columns = *L, A->dist_buckets = B ? wr_mk_int(ctx, B, INT32_MAX) : -1;
}
distribution(A) ::= DISTRIBUTED BY RANGE(T) LP idents(L) RP buckets(B). {
    A = wr_new(ctx->arena, wr_ast_create_table);
    A->distributed = true, A->dist_kind = wr_mk_ident(ctx, T), A->dist_columns = *L, A->dist_buckets = B ? wr_mk_int(ctx, B, INT32_MAX) : -1;
}
distribution(A) ::= DISTRIBUTED INTO INTEGER(B) BUCKETS. {
    A = wr_new(ctx->arena, wr_ast_create_table);
    A->distributed = true, A->dist_buckets = wr_mk_int(ctx, B, INT32_MAX);
}
%type buckets {const wr_token *}
buckets(A) ::= . { A = NULL; }
buckets(A) ::= INTO INTEGER(B) BUCKETS. { A = B; }
%type partitioned_by {wr_ast_idents *}
partitioned_by(A) ::= . { A = NULL; }
partitioned_by(A) ::= PARTITIONED BY LP idents(L) RP. { A = L; }
%type like_as {wr_ast_create_table *}
%type like_options {wr_ast_create_table *}
like_as(A) ::= . { A = wr_new(ctx->arena, wr_ast_create_table); }
like_as(A) ::= AS query(Q). { A = wr_new(ctx->arena, wr_ast_create_table); A->as = Q; }
like_as(A) ::= LIKE name(N). { A = wr_new(ctx->arena, wr_ast_create_table); A->like = *N; }
like_as(A) ::= LIKE name(N) LP like_options(L) RP. { A = L; A->like = *N; }
like_options(A) ::= . { A = wr_new(ctx->arena, wr_ast_create_table); }
like_options(A) ::= like_options(L) like_mode(M) like_what(T). {
    A = L;
    wr_arr_apush(ctx->arena, &A->like_options, ((wr_ast_like_option){(wr_ast_like_mode)M, wr_upper(ctx->arena, wr_token_text(ctx, T)), AT(T)}));
}
%type like_mode {int}
like_mode(A) ::= INCLUDING. { A = WR_LIKE_INCLUDING; }
like_mode(A) ::= EXCLUDING. { A = WR_LIKE_EXCLUDING; }
like_mode(A) ::= OVERWRITING. { A = WR_LIKE_OVERWRITING; }
%type like_what {const wr_token *}
like_what(A) ::= ALL(T). { A = T; }
like_what(A) ::= PARTITIONS(T). { A = T; }
like_what(A) ::= ID(T). { A = T; }

statement(A) ::= create_head(H) VIEW(T) if_not_exists(I) name(N) view_columns_opt(L) comment_opt(C) AS query(Q). {
    wr_mk_check_create(ctx, T, (uint32_t)H, WR_CREATE_REPLACE | WR_CREATE_ALTER | WR_CREATE_TEMPORARY, "VIEW");
    A = wr_mk_stmt(ctx, WR_STMT_CREATE_VIEW, T);
    A->create_view = *L;
    wr_ast_create_view *v = &A->create_view;
    v->or_replace = H & WR_CREATE_REPLACE, v->or_alter = H & WR_CREATE_ALTER, v->temporary = H & WR_CREATE_TEMPORARY;
    v->if_not_exists = I, v->name = *N, v->query = Q;
    if (C) v->comment = wr_mk_text(ctx, C);
}
statement(A) ::= create_head(H) MATERIALIZED(T) VIEW if_not_exists(I) name(N) view_columns_opt(L) comment_opt(C) with_options(W) AS query(Q). {
    wr_mk_check_create(ctx, T, (uint32_t)H, WR_CREATE_REPLACE | WR_CREATE_ALTER, "MATERIALIZED VIEW");
    A = wr_mk_stmt(ctx, WR_STMT_CREATE_VIEW, T);
    A->create_view = *L;
    wr_ast_create_view *v = &A->create_view;
    v->materialized = true, v->or_replace = H & WR_CREATE_REPLACE, v->or_alter = H & WR_CREATE_ALTER;
    v->if_not_exists = I, v->name = *N, v->query = Q;
    if (C) v->comment = wr_mk_text(ctx, C);
    if (W) v->options = *W;
}
%type view_columns_opt {wr_ast_create_view *}
%type view_columns {wr_ast_create_view *}
view_columns_opt(A) ::= . { A = wr_new(ctx->arena, wr_ast_create_view); }
view_columns_opt(A) ::= LP view_columns(L) RP. { A = L; }
view_columns(A) ::= view_column(C). { A = wr_new(ctx->arena, wr_ast_create_view); wr_arr_apush(ctx->arena, &A->columns, *C); }
view_columns(A) ::= view_columns(L) COMMA view_column(C). { A = L; wr_arr_apush(ctx->arena, &A->columns, *C); }
%type view_column {wr_ast_view_column *}
view_column(A) ::= ID(T) comment_opt(C). {
    A = wr_new(ctx->arena, wr_ast_view_column);
    A->name = wr_mk_ident(ctx, T);
    if (C) A->comment = wr_mk_text(ctx, C);
}

statement(A) ::= create_head(H) FUNCTION(T) if_not_exists(I) name(N) AS STRING(S) language_opt(G) jars_opt(J). {
    wr_mk_check_create(ctx, T, (uint32_t)H, WR_CREATE_TEMPORARY | WR_CREATE_SYSTEM, "FUNCTION");
    A = wr_mk_stmt(ctx, WR_STMT_CREATE_FUNCTION, T);
    wr_ast_create_function *f = &A->create_function;
    if (J) memcpy(&f->jars, &J->jars, sizeof f->jars), memcpy(&f->libraries, &J->libraries, sizeof f->libraries);
    f->temporary = H & WR_CREATE_TEMPORARY, f->system = H & WR_CREATE_SYSTEM, f->if_not_exists = I, f->name = *N;
    f->implementation = wr_mk_text(ctx, S);
    if (G) f->language = wr_mk_ident(ctx, G);
}
statement(A) ::= ALTER temporary_opt(H) FUNCTION(T) if_exists(I) name(N) AS STRING(S) language_opt(G) jars_opt(J). {
    A = wr_mk_stmt(ctx, WR_STMT_ALTER_FUNCTION, T);
    wr_ast_create_function *f = &A->create_function;
    if (J) memcpy(&f->jars, &J->jars, sizeof f->jars), memcpy(&f->libraries, &J->libraries, sizeof f->libraries);
    f->or_alter = true, f->temporary = H & WR_CREATE_TEMPORARY, f->system = H & WR_CREATE_SYSTEM, f->if_not_exists = I, f->name = *N;
    f->implementation = wr_mk_text(ctx, S);
    if (G) f->language = wr_mk_ident(ctx, G);
}
%type language_opt {const wr_token *}
language_opt(A) ::= . { A = NULL; }
language_opt(A) ::= LANGUAGE ID(T). { A = T; }
%type jars_opt {wr_ast_create_function *}
%type jars {wr_ast_create_function *}
jars_opt(A) ::= . { A = NULL; }
jars_opt(A) ::= USING jars(L). { A = L; }
jars(A) ::= JAR STRING(S). { A = wr_new(ctx->arena, wr_ast_create_function); wr_arr_apush(ctx->arena, &A->jars, wr_mk_text(ctx, S)); }
jars(A) ::= ID(T) STRING(S). { A = wr_new(ctx->arena, wr_ast_create_function); wr_mk_library(ctx, A, T, S); }
jars(A) ::= jars(L) COMMA ID(T) STRING(S). { A = L; wr_mk_library(ctx, A, T, S); }
jars(A) ::= jars(L) COMMA JAR STRING(S). { A = L; wr_arr_apush(ctx->arena, &A->jars, wr_mk_text(ctx, S)); }

statement(A) ::= create_head(H) CATALOG(T) if_not_exists(I) name(N) comment_opt(C) with_options(W). {
    wr_mk_check_create(ctx, T, (uint32_t)H, 0, "CATALOG");
    A = wr_mk_stmt(ctx, WR_STMT_CREATE_SPACE, T);
    A->create_space.if_not_exists = I, A->create_space.name = *N;
    if (C) A->create_space.comment = wr_mk_text(ctx, C);
    if (W) A->create_space.options = *W;
}
statement(A) ::= create_head(H) DATABASE(T) if_not_exists(I) name(N) comment_opt(C) with_options(W). {
    wr_mk_check_create(ctx, T, (uint32_t)H, 0, "DATABASE");
    A = wr_mk_stmt(ctx, WR_STMT_CREATE_SPACE, T);
    A->create_space.database = true, A->create_space.if_not_exists = I, A->create_space.name = *N;
    if (C) A->create_space.comment = wr_mk_text(ctx, C);
    if (W) A->create_space.options = *W;
}

/* DROP, USE */
%type object {int}
object(A) ::= TABLE. { A = WR_OBJ_TABLE; }
object(A) ::= VIEW. { A = WR_OBJ_VIEW; }
object(A) ::= MATERIALIZED TABLE. { A = WR_OBJ_MATERIALIZED_TABLE; }
object(A) ::= MATERIALIZED VIEW. { A = WR_OBJ_MATERIALIZED_VIEW; }
object(A) ::= FUNCTION. { A = WR_OBJ_FUNCTION; }
object(A) ::= DATABASE. { A = WR_OBJ_DATABASE; }
object(A) ::= CATALOG. { A = WR_OBJ_CATALOG; }
statement(A) ::= DROP(T) temporary_opt(H) object(O) if_exists(I) name(N) drop_behavior(B). {
    A = wr_mk_stmt(ctx, WR_STMT_DROP, T);
    A->drop = (wr_ast_drop){.what = (wr_ast_object)O, .temporary = H & WR_CREATE_TEMPORARY, .system = H & WR_CREATE_SYSTEM, .if_exists = I,
                            .cascade = B == 2, .restrict_ = B == 1, .name = *N};
}
%type drop_behavior {int}
drop_behavior(A) ::= . { A = 0; }
drop_behavior(A) ::= RESTRICT. { A = 1; }
drop_behavior(A) ::= CASCADE. { A = 2; }
statement(A) ::= USE(T) name(N). { A = wr_mk_stmt(ctx, WR_STMT_USE, T); A->use.what = WR_OBJ_DATABASE; A->use.name = *N; }
statement(A) ::= USE(T) CATALOG name(N). { A = wr_mk_stmt(ctx, WR_STMT_USE, T); A->use.what = WR_OBJ_CATALOG; A->use.name = *N; }
statement(A) ::= LOAD(T) MODULE ID(M) with_options. { A = wr_mk_stmt(ctx, WR_STMT_USE, T); A->use.what = WR_OBJ_LOAD_MODULE; LIST(&A->use.modules, wr_mk_ident(ctx, M)); }
statement(A) ::= UNLOAD(T) MODULE ID(M). { A = wr_mk_stmt(ctx, WR_STMT_USE, T); A->use.what = WR_OBJ_UNLOAD_MODULE; LIST(&A->use.modules, wr_mk_ident(ctx, M)); }
statement(A) ::= USE(T) MODULES idents(L). { A = wr_mk_stmt(ctx, WR_STMT_USE, T); A->use.what = WR_OBJ_MODULES; A->use.modules = *L; }

/* ALTER */
%type alter_head {wr_ast_stmt *}
alter_head(A) ::= ALTER(T) TABLE if_exists(I) name(N). {
    A = wr_mk_stmt(ctx, WR_STMT_ALTER, T);
    A->alter.what = WR_OBJ_TABLE, A->alter.if_exists = I, A->alter.name = *N;
}
statement(A) ::= alter_table(S). { A = S; }
%type alter_table {wr_ast_stmt *}
alter_table(A) ::= alter_head(S) RENAME(T) TO name(N). { A = S; wr_mk_alter(ctx, S, WR_ALTER_RENAME, T)->new_name = *N; }
alter_table(A) ::= alter_head(S) RENAME(T) ID(X) TO ID(Y). {
    A = S;
    wr_ast_alter_action *a = wr_mk_alter(ctx, S, WR_ALTER_RENAME_COLUMN, T);
    LIST(&a->names, wr_mk_ident(ctx, X));
    LIST(&a->names, wr_mk_ident(ctx, Y));
}
alter_table(A) ::= alter_head(S) SET(T) options(L). { A = S; wr_mk_alter(ctx, S, WR_ALTER_SET, T)->options = *L; }
alter_table(A) ::= alter_head(S) RESET(T) LP reset_keys(L) RP. { A = S; wr_mk_alter(ctx, S, WR_ALTER_RESET, T)->options = *L; }
%type reset_keys {wr_ast_options *}
reset_keys(A) ::= STRING(K). { A = LIST_NEW(ctx, wr_ast_options); LIST(A, ((wr_ast_option){.key = wr_mk_text(ctx, K)})); }
reset_keys(A) ::= reset_keys(L) COMMA STRING(K). { A = L; LIST(A, ((wr_ast_option){.key = wr_mk_text(ctx, K)})); }
alter_table(A) ::= alter_change(S) alter_element. { A = S; }
alter_table(A) ::= alter_change(S) LP alter_elements RP. { A = S; }
/* The statement under construction, and whether ADD or MODIFY, travel in the context. */
%type alter_change {wr_ast_stmt *}
alter_change(A) ::= alter_head(S) ADD. { A = S; ctx->alter = S; ctx->alter_modify = false; }
alter_change(A) ::= alter_head(S) MODIFY. { A = S; ctx->alter = S; ctx->alter_modify = true; }
alter_elements ::= alter_element.
alter_elements ::= alter_elements COMMA alter_element.
alter_element ::= column_opt column(C) column_place(P). {
    wr_ast_alter_action *a = wr_mk_alter(ctx, ctx->alter, ctx->alter_modify ? WR_ALTER_MODIFY_COLUMN : WR_ALTER_ADD_COLUMN, NULL);
    a->column = *C, a->at = C->at, a->first = P->first, a->after = P->after;
    if (C->kind == WR_AST_COL_NAME_ONLY) wr_parse_fail(ctx, "42601", C->at, "column \"%s\" needs a type", C->name.text.ptr);
}
alter_element ::= constraint(C). {
    wr_ast_alter_action *a = wr_mk_alter(ctx, ctx->alter, ctx->alter_modify ? WR_ALTER_MODIFY_CONSTRAINT : WR_ALTER_ADD_CONSTRAINT, NULL);
    a->constraint = *C, a->at = C->at;
}
alter_element ::= watermark(W). {
    wr_ast_alter_action *a = wr_mk_alter(ctx, ctx->alter, ctx->alter_modify ? WR_ALTER_MODIFY_WATERMARK : WR_ALTER_ADD_WATERMARK, NULL);
    a->watermark = *W, a->at = W->at;
}
column_opt ::= .
column_opt ::= COLUMN.
%type column_place {wr_ast_alter_action *}
column_place(A) ::= . { A = wr_new(ctx->arena, wr_ast_alter_action); }
column_place(A) ::= FIRST. { A = wr_new(ctx->arena, wr_ast_alter_action); A->first = true; }
column_place(A) ::= AFTER ID(T). { A = wr_new(ctx->arena, wr_ast_alter_action); A->after = wr_mk_ident(ctx, T); }
alter_table(A) ::= alter_head(S) DROP(T) column_opt ID(X). {
    A = S;
    wr_ast_alter_action *a = wr_mk_alter(ctx, S, WR_ALTER_DROP_COLUMNS, T);
    LIST(&a->names, wr_mk_ident(ctx, X));
}
alter_table(A) ::= alter_head(S) DROP(T) LP idents(L) RP. { A = S; wr_mk_alter(ctx, S, WR_ALTER_DROP_COLUMNS, T)->names = *L; }
alter_table(A) ::= alter_head(S) DROP(T) PRIMARY KEY. { A = S; wr_mk_alter(ctx, S, WR_ALTER_DROP_PRIMARY_KEY, T); }
alter_table(A) ::= alter_head(S) DROP(T) CONSTRAINT ID(X). {
    A = S;
    wr_ast_alter_action *a = wr_mk_alter(ctx, S, WR_ALTER_DROP_CONSTRAINT, T);
    LIST(&a->names, wr_mk_ident(ctx, X));
}
alter_table(A) ::= alter_head(S) DROP(T) WATERMARK. { A = S; wr_mk_alter(ctx, S, WR_ALTER_DROP_WATERMARK, T); }

statement(A) ::= ALTER(T) VIEW if_exists(I) name(N) RENAME(R) TO name(M). {
    A = wr_mk_stmt(ctx, WR_STMT_ALTER, T);
    A->alter.what = WR_OBJ_VIEW, A->alter.if_exists = I, A->alter.name = *N;
    wr_mk_alter(ctx, A, WR_ALTER_RENAME, R)->new_name = *M;
}
statement(A) ::= ALTER(T) VIEW if_exists(I) name(N) AS(R) query(Q). {
    A = wr_mk_stmt(ctx, WR_STMT_ALTER, T);
    A->alter.what = WR_OBJ_VIEW, A->alter.if_exists = I, A->alter.name = *N;
    wr_mk_alter(ctx, A, WR_ALTER_AS_QUERY, R)->query = Q;
}
statement(A) ::= ALTER(T) DATABASE name(N) SET(R) options(L). {
    A = wr_mk_stmt(ctx, WR_STMT_ALTER, T);
    A->alter.what = WR_OBJ_DATABASE, A->alter.name = *N;
    wr_mk_alter(ctx, A, WR_ALTER_SET, R)->options = *L;
}
statement(A) ::= ALTER(T) CATALOG name(N) SET(R) options(L). {
    A = wr_mk_stmt(ctx, WR_STMT_ALTER, T);
    A->alter.what = WR_OBJ_CATALOG, A->alter.name = *N;
    wr_mk_alter(ctx, A, WR_ALTER_SET, R)->options = *L;
}
statement(A) ::= ALTER(T) CATALOG name(N) RESET(R) LP reset_keys(L) RP. {
    A = wr_mk_stmt(ctx, WR_STMT_ALTER, T);
    A->alter.what = WR_OBJ_CATALOG, A->alter.name = *N;
    wr_mk_alter(ctx, A, WR_ALTER_RESET, R)->options = *L;
}

/* SET, RESET, DESCRIBE, SHOW */
statement(A) ::= SET(T). { A = wr_mk_stmt(ctx, WR_STMT_SET, T); }
statement(A) ::= SET(T) STRING(K) EQ STRING(V). { A = wr_mk_stmt(ctx, WR_STMT_SET, T); A->set.key = wr_mk_text(ctx, K); A->set.value = wr_mk_text(ctx, V); }
statement(A) ::= RESET(T). { A = wr_mk_stmt(ctx, WR_STMT_RESET, T); }
statement(A) ::= RESET(T) STRING(K). { A = wr_mk_stmt(ctx, WR_STMT_RESET, T); A->set.key = wr_mk_text(ctx, K); }
%type describe_word {const wr_token *}
describe_word(A) ::= DESCRIBE(T). { A = T; }
describe_word(A) ::= DESC(T). { A = T; }
%type extended_opt {int}
extended_opt(A) ::= . { A = 0; }
extended_opt(A) ::= EXTENDED. { A = 1; }
%type describable {int}
describable(A) ::= . { A = WR_OBJ_TABLE; }
describable(A) ::= TABLE. { A = WR_OBJ_TABLE; }
describable(A) ::= CATALOG. { A = WR_OBJ_CATALOG; }
describable(A) ::= DATABASE. { A = WR_OBJ_DATABASE; }
describable(A) ::= FUNCTION. { A = WR_OBJ_FUNCTION; }
statement(A) ::= describe_word(T) describable(O) extended_opt(E) name(N). {
    A = wr_mk_stmt(ctx, WR_STMT_DESCRIBE, T);
    A->describe.what = (wr_ast_object)O, A->describe.extended = E, A->describe.name = *N;
}
statement(A) ::= SHOW(T) show_list(K) show_from(N) show_like(L). {
    A = L;
    A->at = AT(T);
    A->show.kind = (wr_ast_show_kind)K;
    if (N) A->show.name = *N;
}
statement(A) ::= SHOW(T) show_one(K). { A = wr_mk_stmt(ctx, WR_STMT_SHOW, T); A->show.kind = (wr_ast_show_kind)K; }
statement(A) ::= SHOW(T) CREATE show_create(K) name(N). { A = wr_mk_stmt(ctx, WR_STMT_SHOW, T); A->show.kind = (wr_ast_show_kind)K; A->show.name = *N; }
statement(A) ::= SHOW(T) PARTITIONS name(N). { A = wr_mk_stmt(ctx, WR_STMT_SHOW, T); A->show.kind = WR_SHOW_PARTITIONS; A->show.name = *N; }
%type show_list {int}
show_list(A) ::= CATALOGS. { A = WR_SHOW_CATALOGS; }
show_list(A) ::= DATABASES. { A = WR_SHOW_DATABASES; }
show_list(A) ::= TABLES. { A = WR_SHOW_TABLES; }
show_list(A) ::= VIEWS. { A = WR_SHOW_VIEWS; }
show_list(A) ::= MATERIALIZED TABLES. { A = WR_SHOW_MATERIALIZED_TABLES; }
show_list(A) ::= MATERIALIZED VIEWS. { A = WR_SHOW_MATERIALIZED_VIEWS; }
show_list(A) ::= FUNCTIONS. { A = WR_SHOW_FUNCTIONS; }
show_list(A) ::= USER FUNCTIONS. { A = WR_SHOW_USER_FUNCTIONS; }
show_list(A) ::= PROCEDURES. { A = WR_SHOW_PROCEDURES; }
show_list(A) ::= COLUMNS. { A = WR_SHOW_COLUMNS; }
%type show_one {int}
show_one(A) ::= CURRENT CATALOG. { A = WR_SHOW_CURRENT_CATALOG; }
show_one(A) ::= CURRENT DATABASE. { A = WR_SHOW_CURRENT_DATABASE; }
show_one(A) ::= MODULES. { A = WR_SHOW_MODULES; }
show_one(A) ::= FULL MODULES. { A = WR_SHOW_FULL_MODULES; }
show_one(A) ::= JOBS. { A = WR_SHOW_JOBS; }
show_one(A) ::= JARS. { A = WR_SHOW_JARS; }
%type show_create {int}
show_create(A) ::= TABLE. { A = WR_SHOW_CREATE_TABLE; }
show_create(A) ::= VIEW. { A = WR_SHOW_CREATE_VIEW; }
show_create(A) ::= MATERIALIZED TABLE. { A = WR_SHOW_CREATE_MATERIALIZED_TABLE; }
show_create(A) ::= CATALOG. { A = WR_SHOW_CREATE_CATALOG; }
%type show_from {wr_ast_name *}
show_from(A) ::= . { A = NULL; }
show_from(A) ::= FROM name(N). { A = N; }
show_from(A) ::= IN name(N). { A = N; }
%type show_like {wr_ast_stmt *}
show_like(A) ::= . { A = wr_mk_stmt(ctx, WR_STMT_SHOW, NULL); }
show_like(A) ::= not_opt(N) LIKE STRING(S). { A = wr_mk_stmt(ctx, WR_STMT_SHOW, NULL); A->show.not_like = N; A->show.like = wr_mk_text(ctx, S); }
show_like(A) ::= not_opt(N) ILIKE STRING(S). { A = wr_mk_stmt(ctx, WR_STMT_SHOW, NULL); A->show.not_like = N; A->show.ilike = true; A->show.like = wr_mk_text(ctx, S); }

/* ---- the parser's state stack, asked before a token is fed ------------------------------------------------------------- */
%code {
/* A trial run on top of a stack of states that is not touched: `base` entries of it still count, `own` lies above them. */
typedef struct trial {
    const uint16_t     *plain;   /* a copied stack ... */
    const yyStackEntry *entries; /* ... or the parser's own */
    int                 n_base, n_own;
    uint16_t            own[WR_SQL_STACK_MAX];
} trial;

static unsigned top_state(const trial *t) {
    if (t->n_own) return t->own[t->n_own - 1];
    return t->plain ? t->plain[t->n_base - 1] : t->entries[t->n_base - 1].stateno;
}

static void pop_states(trial *t, int n) {
    int own = n < t->n_own ? n : t->n_own;
    t->n_own -= own;
    t->n_base -= n - own;
}

/* Runs token `code`; false if the grammar refuses it (or the stack would be too deep). The token is shifted at the end. */
static bool try_token(trial *t, int code) {
    for (;;) {
        unsigned act = yy_find_shift_action((YYCODETYPE)code, (YYACTIONTYPE)top_state(t));
        if (act == YY_ACCEPT_ACTION) return true;
        if (act == YY_ERROR_ACTION || act == YY_NO_ACTION) return false;
        if (t->n_own + 1 >= WR_SQL_STACK_MAX) return false;
        if (act < YY_MIN_REDUCE) {
            if (act > YY_MAX_SHIFT) act += YY_MIN_REDUCE - YY_MIN_SHIFTREDUCE;
            t->own[t->n_own++] = (uint16_t)act;
            return true;
        }
        unsigned rule = act - YY_MIN_REDUCE;
        pop_states(t, -yyRuleInfoNRhs[rule]);
        unsigned next = yy_find_reduce_action((YYACTIONTYPE)top_state(t), (YYCODETYPE)yyRuleInfoLhs[rule]);
        if (next == YY_ACCEPT_ACTION) return true;
        t->own[t->n_own++] = (uint16_t)next;
    }
}

bool wr_sql_accepts(const void *grammar, int code) {
    const yyParser *parser = grammar;
    trial           t;
    t.plain = NULL, t.entries = parser->yystack, t.n_base = (int)(parser->yytos - parser->yystack) + 1, t.n_own = 0;
    return try_token(&t, code);
}

void wr_sql_states_copy(const void *grammar, wr_sql_states *out) {
    const yyParser *parser = grammar;
    out->n = 0;
    for (const yyStackEntry *e = parser->yystack; e <= parser->yytos; e++) out->state[out->n++] = e->stateno;
}

bool wr_sql_states_accept(const wr_sql_states *states, int code) {
    trial t;
    t.plain = states->state, t.entries = NULL, t.n_base = (int)states->n, t.n_own = 0;
    return states->n && try_token(&t, code);
}

bool wr_sql_states_push(wr_sql_states *states, int code) {
    trial t;
    t.plain = states->state, t.entries = NULL, t.n_base = (int)states->n, t.n_own = 0;
    if (!states->n || !try_token(&t, code) || t.n_base + t.n_own > WR_SQL_STACK_MAX) return false;
    memcpy(states->state + t.n_base, t.own, (size_t)t.n_own * sizeof t.own[0]);
    states->n = (uint32_t)(t.n_base + t.n_own);
    return true;
}

uint32_t wr_sql_grammar_depth(const void *grammar) {
    const yyParser *parser = grammar;
    return (uint32_t)(parser->yytos - parser->yystack);
}

int wr_sql_token_code_max(void) { return YYNTOKEN - 1; }

void *wr_sql_grammar_new(void) { return wr_sql_parserAlloc(wr_malloc); }
void wr_sql_grammar_free(void *grammar) { wr_sql_parserFree(grammar, wr_free); }
void wr_sql_grammar_start(void *grammar) { wr_sql_parserInit(grammar); }
void wr_sql_grammar_end(void *grammar) { wr_sql_parserFinalize(grammar); }
void wr_sql_grammar_feed(void *grammar, int code, const wr_token *token, wr_parse *ctx) { wr_sql_parser(grammar, code, token, ctx); }
}
