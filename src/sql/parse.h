/* sql/parse.h: what lexer, grammar, tree builders and driver share. Private to sql/.
 *
 * Idea       the driver (parse.c) holds the tokens of one statement in an array, decides keyword or name for each with one token
 *            of look-behind and look-ahead plus a trial run of the parser's state stack, and feeds them to the grammar. The
 *            grammar's actions call the wr_mk_* builders here; they never fail, they note the first error in the context.
 * Invariant  a token is fed only after wr_sql_accepts said yes, so lemon's own error path is never taken.
 * Memory     tokens: heap array of the driver, reused; nodes: the caller's arena.                                       */
#pragma once
#include "sql/sql.h"

typedef struct wr_token {
    uint16_t code;          /* TK_* of grammar.h */
    uint8_t  mode;          /* wr_kw_mode; WR_KW_NOT for what is not a keyword */
    bool     quoted;        /* `name` */
    uint32_t begin, end;    /* bytes in the text */
    uint32_t line, col, chars;
} wr_token;
typedef WR_ARR(wr_token) wr_tokens;

/* How a keyword gives way to being a name. */
typedef enum wr_kw_mode {
    WR_KW_NOT,
    WR_KW_RESERVED,   /* never a name, except behind a dot */
    WR_KW_FREE,       /* a name wherever the grammar cannot take the keyword */
    WR_KW_CALL,       /* keyword only before '(', and then only where the grammar takes it */
    WR_KW_JOIN,       /* LEFT, RIGHT: a name before '(' , else reserved */
    WR_KW_LITERAL,    /* DATE, TIME, TIMESTAMP: literal before a string, else as FREE */
    WR_KW_INTERVAL,
    WR_KW_BRACKET,    /* ARRAY, MULTISET, MAP: constructor or type before [ < (, else ..._POSTFIX or a name */
    WR_KW_NILADIC,    /* CURRENT_DATE: a name before '(' (an ordinary call) or behind a dot */
    WR_KW_RUNNING,    /* RUNNING, FINAL: keyword before `name (` */
    WR_KW_END,        /* END: name behind AS , ( SELECT when the grammar cannot take the keyword */
} wr_kw_mode;

typedef struct wr_keyword { const char *text; uint16_t code; uint8_t mode; } wr_keyword;
const wr_keyword *wr_sql_keyword(wr_str word);          /* case-blind; NULL if none */
const wr_keyword *wr_sql_keyword_at(size_t i);          /* in order; NULL behind the last */
const char       *wr_sql_flink_word_at(size_t i);
const char       *wr_sql_token_name(int code);          /* "SELECT", "(", NULL if it is not to be shown */
bool              wr_sql_needs_quotes(wr_str word);     /* as a column, table or alias name */

/* ---- lexer ---- */
typedef struct wr_lexer {
    const char *text, *at, *end; /* *end == 0 */
    const char *counted;         /* line and col are those of this byte */
    uint32_t    file, line, col;
    bool        in_hint;
    uint32_t    long_string;     /* line on which the last string over several lines began; 0 = none */
    wr_diags   *diags;
    uint32_t    n_errors;
} wr_lexer;
void wr_lexer_init(wr_lexer *lex, uint32_t file, const char *text, size_t len, wr_diags *diags); /* text[len] == 0 */
bool wr_lexer_next(wr_lexer *lex, wr_token *out); /* false at the end of the text; errors are reported and skipped */

/* ---- parse context, extra argument of the grammar ---- */
typedef struct wr_parse {
    wr_arena    *arena;
    wr_diags    *diags;
    const char  *text;
    uint32_t     file;
    bool         failed;
    wr_span      at;        /* of the token being fed */
    wr_ast_stmt *alter;     /* ALTER TABLE under construction */
    bool         alter_modify;
    /* what came out */
    wr_ast_stmt  *stmt;
    wr_ast_expr  *expr;
    wr_ast_type  *type;
    wr_ast_query *query;
} wr_parse;

/* The grammar seen from the driver (grammar.y). */
void *wr_sql_grammar_new(void);
void  wr_sql_grammar_free(void *grammar);
void  wr_sql_grammar_start(void *grammar);
uint32_t wr_sql_grammar_depth(const void *grammar);
void  wr_sql_grammar_end(void *grammar); /* drops what is on the stack */
void  wr_sql_grammar_feed(void *grammar, int code, const wr_token *token, wr_parse *ctx);
bool  wr_sql_accepts(const void *grammar, int code);
/* A copy of the state stack, to be asked later: "had there been this other token here, would that one have been right?" */
enum { WR_SQL_STACK_MAX = 6000 };
typedef struct wr_sql_states { uint32_t n; uint16_t state[WR_SQL_STACK_MAX + 1]; } wr_sql_states;
void wr_sql_states_copy(const void *grammar, wr_sql_states *out);
bool wr_sql_states_accept(const wr_sql_states *states, int code);
bool wr_sql_states_push(wr_sql_states *states, int code); /* as if the token had been fed; false: refused, unchanged */
int  wr_sql_token_code_max(void);

/* ---- errors from builders ---- */
WR_PRINTF(4, 5) WR_COLD void wr_parse_fail(wr_parse *ctx, const char *code, wr_span at, const char *fmt, ...);
wr_span wr_token_span(const wr_parse *ctx, const wr_token *token);
wr_str  wr_token_text(const wr_parse *ctx, const wr_token *token);
wr_str  wr_upper(wr_arena *arena, wr_str s);

/* ---- builders (build.c, build_stmt.c) ---- */
typedef struct wr_mk_alias { wr_ast_ident name; wr_ast_idents columns; } wr_mk_alias;
typedef struct wr_mk_tail { wr_ast_orders *order_by; wr_ast_expr *limit, *offset; } wr_mk_tail;
typedef struct wr_mk_args { wr_ast_exprs list; bool distinct; } wr_mk_args;

#define LIST_NEW(ctx, T) wr_new((ctx)->arena, T)
#define LIST_ADD(ctx, list, ...) wr_arr_apush((ctx)->arena, (list), __VA_ARGS__)

wr_ast_ident wr_mk_ident(wr_parse *ctx, const wr_token *token);
wr_ast_name *wr_mk_name(wr_parse *ctx, const wr_token *token);
wr_ast_name *wr_mk_name_add(wr_parse *ctx, wr_ast_name *name, const wr_token *token);
wr_ast_text  wr_mk_text(wr_parse *ctx, const wr_token *token);
int64_t      wr_mk_int(wr_parse *ctx, const wr_token *token, int64_t max);

wr_ast_expr *wr_mk_expr(wr_parse *ctx, wr_ast_expr_kind kind, wr_span at);
wr_ast_expr *wr_mk_literal(wr_parse *ctx, wr_ast_literal_kind kind, const wr_token *token);
wr_ast_expr *wr_mk_time_literal(wr_parse *ctx, wr_ast_literal_kind kind, const wr_token *keyword, const wr_token *token);
wr_ast_expr *wr_mk_column(wr_parse *ctx, wr_ast_name *name);
wr_ast_expr *wr_mk_star(wr_parse *ctx, wr_ast_name *name, const wr_token *star);
wr_ast_expr *wr_mk_unary(wr_parse *ctx, wr_ast_op op, const wr_token *token, wr_ast_expr *arg);
wr_ast_expr *wr_mk_binary(wr_parse *ctx, wr_ast_op op, const wr_token *token, wr_ast_expr *left, wr_ast_expr *right);
wr_ast_expr *wr_mk_logic(wr_parse *ctx, wr_ast_op op, wr_ast_expr *left, wr_ast_expr *right);
wr_ast_expr *wr_mk_is(wr_parse *ctx, wr_ast_expr *arg, wr_ast_is what, bool negated, wr_ast_expr *other);
wr_ast_expr *wr_mk_between(wr_parse *ctx, wr_ast_expr *arg, bool negated, bool symmetric, wr_ast_expr *low, wr_ast_expr *high);
wr_ast_expr *wr_mk_in(wr_parse *ctx, wr_ast_expr *arg, bool negated, wr_ast_exprs *list, wr_ast_query *query);
wr_ast_expr *wr_mk_like(wr_parse *ctx, wr_ast_expr *arg, wr_ast_like kind, bool negated, wr_ast_expr *pattern, wr_ast_expr *escape);
wr_ast_expr *wr_mk_query_expr(wr_parse *ctx, wr_ast_expr_kind kind, wr_span at, wr_ast_query *query);
wr_ast_expr *wr_mk_quantified(wr_parse *ctx, wr_ast_expr *arg, wr_ast_op op, wr_ast_quantifier quantifier, wr_ast_query *query,
                              wr_ast_exprs *list);
wr_ast_expr *wr_mk_case(wr_parse *ctx, const wr_token *token, wr_ast_expr *arg, wr_ast_exprs *whens, wr_ast_expr *otherwise);
wr_ast_expr *wr_mk_cast(wr_parse *ctx, const wr_token *token, wr_ast_expr *arg, wr_ast_type *type, bool is_try);
wr_ast_expr *wr_mk_list(wr_parse *ctx, wr_ast_expr_kind kind, const wr_token *token, bool keyword, wr_ast_exprs *args);
wr_ast_expr *wr_mk_collect(wr_parse *ctx, const wr_token *token, wr_ast_query *query, wr_ast_exprs *args);
wr_ast_expr *wr_mk_index(wr_parse *ctx, wr_ast_expr *arg, wr_ast_expr *index);
wr_ast_expr *wr_mk_field(wr_parse *ctx, wr_ast_expr *arg, const wr_token *name);
wr_ast_expr *wr_mk_symbol(wr_parse *ctx, const wr_token *token);
wr_ast_expr *wr_mk_call(wr_parse *ctx, wr_ast_name *name, wr_mk_args *args);
wr_ast_expr *wr_mk_special(wr_parse *ctx, const wr_token *token, uint32_t n, wr_ast_expr *const *args); /* name upper case */
wr_ast_expr *wr_mk_json(wr_parse *ctx, const wr_token *token, wr_ast_exprs *args, wr_ast_json *json);
wr_ast_expr *wr_mk_niladic(wr_parse *ctx, const wr_token *token);
wr_ast_expr *wr_mk_named_arg(wr_parse *ctx, wr_ast_name *name, wr_ast_expr *value);
wr_ast_expr *wr_mk_descriptor(wr_parse *ctx, const wr_token *token, wr_ast_names *columns);
wr_ast_expr *wr_mk_table_arg(wr_parse *ctx, const wr_token *token, wr_ast_ref *ref, wr_ast_expr *partition, wr_ast_order *order);
wr_ast_expr *wr_mk_interval(wr_parse *ctx, const wr_token *token, bool negative, const wr_token *text, wr_ast_type *qualifier);
void         wr_mk_call_filter(wr_parse *ctx, wr_ast_expr *call, wr_ast_expr *filter);
void         wr_mk_call_within(wr_parse *ctx, wr_ast_expr *call, wr_ast_orders *orders);
void         wr_mk_call_over(wr_parse *ctx, wr_ast_expr *call, wr_ast_window *window);
void         wr_mk_json_on(wr_parse *ctx, wr_ast_json *json, const wr_token *where, wr_ast_json_on what, wr_ast_expr *value);
uint16_t     wr_mk_orders_depth(const wr_ast_orders *orders);
void         wr_mk_deepen(wr_parse *ctx, uint16_t *depth, wr_span at, unsigned child); /* *depth = max(*depth, child + 1), checked */

wr_ast_type *wr_mk_type(wr_parse *ctx, wr_ast_name *name, int32_t p, int32_t s, const wr_token *second);
wr_ast_type *wr_mk_type_zone(wr_parse *ctx, wr_ast_type *type, wr_ast_type_kind kind, const wr_token *token);
wr_ast_type *wr_mk_type_of(wr_parse *ctx, wr_ast_type_kind kind, wr_span at, wr_ast_type *key, wr_ast_type *elem);
wr_ast_type *wr_mk_type_interval(wr_parse *ctx, const wr_token *from, int64_t p, int64_t s, const wr_token *to, int64_t s_to);
void         wr_mk_type_field(wr_parse *ctx, wr_ast_type *row, wr_ast_name *name, wr_ast_type *type, const wr_token *comment);
void         wr_mk_type_add(wr_parse *ctx, wr_ast_type *row, const wr_ast_type *one); /* the field of ROW<one> */

wr_ast_ref   *wr_mk_ref(wr_parse *ctx, wr_ast_ref_kind kind, wr_span at, unsigned child_depth);
wr_ast_ref   *wr_mk_join(wr_parse *ctx, wr_ast_join kind, bool natural, const wr_token *op, wr_ast_ref *left, wr_ast_ref *right,
                         wr_ast_expr *on, wr_ast_idents *using);
wr_ast_ref   *wr_mk_ref_alias(wr_ast_ref *ref, const wr_mk_alias *alias);
wr_ast_ref   *wr_mk_match(wr_parse *ctx, wr_ast_ref *input, wr_ast_match *match, wr_span at);
wr_ast_query *wr_mk_query(wr_parse *ctx, wr_ast_query_kind kind, wr_span at);
wr_ast_query *wr_mk_select(wr_parse *ctx, wr_ast_query *query);
wr_ast_query *wr_mk_set_query(wr_parse *ctx, wr_ast_set_op op, bool all, const wr_token *token, wr_ast_query *left, wr_ast_query *right);
wr_ast_query *wr_mk_wrap(wr_parse *ctx, wr_ast_query *query); /* NESTED, if it has a tail or WITH of its own */
wr_ast_query *wr_mk_tail_on(wr_parse *ctx, wr_ast_query *query, const wr_mk_tail *tail);
wr_ast_query *wr_mk_with_on(wr_parse *ctx, wr_ast_query *query, wr_ast_query *with, wr_span at);
void          wr_mk_query_row(wr_parse *ctx, wr_ast_query *query, wr_ast_expr *row);
wr_ast_group *wr_mk_group(wr_parse *ctx, wr_ast_group_kind kind, wr_span at, wr_ast_groups *items);
wr_ast_group *wr_mk_group_expr(wr_parse *ctx, wr_ast_expr *expr);

wr_ast_pattern *wr_mk_pattern(wr_parse *ctx, wr_ast_pattern_kind kind, wr_span at);
wr_ast_pattern *wr_mk_pattern_add(wr_parse *ctx, wr_ast_pattern_kind kind, wr_ast_pattern *left, wr_ast_pattern *right);

wr_ast_stmt *wr_mk_stmt(wr_parse *ctx, wr_ast_stmt_kind kind, const wr_token *token);
enum { WR_CREATE_REPLACE = 1, WR_CREATE_ALTER = 2, WR_CREATE_TEMPORARY = 4, WR_CREATE_SYSTEM = 8, WR_CREATE_MATERIALIZED = 16 };
void wr_mk_check_create(wr_parse *ctx, const wr_token *token, uint32_t flags, uint32_t allowed, const char *what);
void wr_mk_library(wr_parse *ctx, wr_ast_create_function *f, const wr_token *word, const wr_token *path);
void wr_mk_finish_columns(wr_parse *ctx, wr_ast_create_table *table);
wr_ast_alter_action *wr_mk_alter(wr_parse *ctx, wr_ast_stmt *stmt, wr_ast_alter_kind kind, const wr_token *token);
