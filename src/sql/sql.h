/* sql/sql.h: SQL text to a tree and back: the whole public face of the SQL front end.
 *
 * Idea       lexer (lexer.re, re2c) -> token array of one statement -> grammar (grammar.y, lemon) -> this tree, in one arena.
 *            The tree says what was written, with a span on every node; it knows no types, tables or functions. Special call
 *            syntaxes (EXTRACT(x FROM y), TRIM, POSITION, ...) become plain calls; format.c knows how to print them back.
 * Invariant  every pointer is NULL only where a comment here says so. expr/query/ref/type nodes carry `depth` = 1 + the
 *            deepest child, never above WR_AST_DEPTH_MAX: a recursive walk needs no guard of its own. AND and OR are flat lists.
 *            format(parse(format(x))) == format(x).
 * Memory     everything in the arena given to wr_sql_parse; identifiers and literals are copied, so the text may go away.
 * Thread     any; no state outside the arguments.                                                                  */
#pragma once
#include "base/diag.h"

enum { WR_AST_DEPTH_MAX = 500, WR_SQL_TEXT_BYTES_MAX = 64 << 20 };

typedef struct wr_ast_expr  wr_ast_expr;
typedef struct wr_ast_query wr_ast_query;
typedef struct wr_ast_ref   wr_ast_ref;
typedef struct wr_ast_type  wr_ast_type;
typedef struct wr_ast_stmt  wr_ast_stmt;

/* ---- names ---------------------------------------------------------------------------------------------------------- */

typedef struct wr_ast_ident { /* case as written; ptr is NUL-terminated; ptr NULL = absent where optional */
    wr_str  text;
    bool    quoted; /* was in backticks */
    wr_span at;
} wr_ast_ident;
typedef WR_ARR(wr_ast_ident) wr_ast_idents;

typedef struct wr_ast_name { /* dotted path: [catalog.][database.]object, or table.column.field */
    wr_ast_ident *part;
    uint32_t      n;         /* 0 = absent where optional */
    wr_span       at;
} wr_ast_name;
typedef WR_ARR(wr_ast_name) wr_ast_names;

typedef WR_ARR(wr_ast_expr *) wr_ast_exprs;

typedef struct wr_ast_text { /* a string literal used as such; text.ptr NULL = absent */
    wr_str  text;            /* unescaped, NUL-terminated */
    wr_span at;
} wr_ast_text;

typedef struct wr_ast_option { /* 'key' = 'value' */
    wr_ast_text key, value;
} wr_ast_option;
typedef WR_ARR(wr_ast_option) wr_ast_options;

/* ---- data types ------------------------------------------------------------------------------------------------------ */

typedef enum wr_ast_type_kind {
    WR_AST_TYPE_BOOLEAN,
    WR_AST_TYPE_TINYINT,
    WR_AST_TYPE_SMALLINT,
    WR_AST_TYPE_INT,
    WR_AST_TYPE_BIGINT,
    WR_AST_TYPE_FLOAT,
    WR_AST_TYPE_DOUBLE,
    WR_AST_TYPE_DECIMAL,      /* p, s; DECIMAL alone: -1, -1 */
    WR_AST_TYPE_CHAR,         /* p = length, -1 none */
    WR_AST_TYPE_VARCHAR,      /* p = length, -1 none */
    WR_AST_TYPE_STRING,
    WR_AST_TYPE_BINARY,       /* p = length */
    WR_AST_TYPE_VARBINARY,
    WR_AST_TYPE_BYTES,
    WR_AST_TYPE_DATE,
    WR_AST_TYPE_TIME,         /* p */
    WR_AST_TYPE_TIMESTAMP,    /* p */
    WR_AST_TYPE_TIMESTAMP_LTZ,/* p; also TIMESTAMP(p) WITH LOCAL TIME ZONE */
    WR_AST_TYPE_TIMESTAMP_TZ, /* p; TIMESTAMP(p) WITH TIME ZONE */
    WR_AST_TYPE_INTERVAL,     /* unit_from, unit_to, p = leading precision, s = fraction precision */
    WR_AST_TYPE_ARRAY,        /* elem */
    WR_AST_TYPE_MULTISET,     /* elem */
    WR_AST_TYPE_MAP,          /* key, elem */
    WR_AST_TYPE_ROW,          /* fields */
    WR_AST_TYPE_NULL,
    WR_AST_TYPE_VARIANT,
    WR_AST_TYPE_NAMED,        /* any other name (RAW, user types): name, for the planner to refuse */
} wr_ast_type_kind;

typedef enum wr_ast_unit { /* time units */
    WR_UNIT_NONE,
    WR_UNIT_YEAR,
    WR_UNIT_QUARTER,
    WR_UNIT_MONTH,
    WR_UNIT_WEEK,
    WR_UNIT_DAY,
    WR_UNIT_HOUR,
    WR_UNIT_MINUTE,
    WR_UNIT_SECOND,
} wr_ast_unit;
const char *wr_ast_unit_name(wr_ast_unit unit); /* "DAY" */

typedef struct wr_ast_field {
    wr_ast_ident name; /* ROW(INT, STRING) without names: f0, f1, ... are put in */
    wr_ast_type *type;
    wr_ast_text  comment; /* optional */
} wr_ast_field;

struct wr_ast_type {
    wr_ast_type_kind kind;
    uint16_t         depth;
    int8_t           nullable; /* -1 not said, 0 NOT NULL, 1 NULL */
    int32_t          p, s;     /* -1 = not said */
    wr_ast_unit      unit_from, unit_to; /* INTERVAL; unit_to may be NONE */
    wr_ast_type     *key, *elem;
    WR_ARR(wr_ast_field) fields;
    wr_ast_name      name;     /* NAMED */
    wr_span          at;
};

/* ---- expressions ----------------------------------------------------------------------------------------------------- */

typedef enum wr_ast_expr_kind {
    WR_AST_LITERAL,
    WR_AST_COLUMN,     /* name: a dotted path; which part is table, column, field is for the binder */
    WR_AST_STAR,       /* * or t.*  (name.n may be 0) */
    WR_AST_CALL,
    WR_AST_UNARY,
    WR_AST_BINARY,
    WR_AST_LOGIC,      /* AND / OR of two or more */
    WR_AST_BETWEEN,
    WR_AST_IN,         /* list or subquery */
    WR_AST_EXISTS,
    WR_AST_LIKE,
    WR_AST_IS,
    WR_AST_CASE,
    WR_AST_CAST,
    WR_AST_ROW,        /* ROW(a, b) or (a, b) */
    WR_AST_ARRAY,      /* ARRAY[a, b] */
    WR_AST_MAP,        /* MAP[k, v, k, v] */
    WR_AST_COLLECT,    /* ARRAY(query), MULTISET(query), MAP(query), MULTISET[...]: parsed so that it can be refused by name */
    WR_AST_INDEX,      /* a[i] */
    WR_AST_FIELD,      /* (expr).name, f(x).name, a[1].name */
    WR_AST_SUBQUERY,   /* scalar (SELECT ...) */
    WR_AST_QUANTIFIED, /* a = ANY (query), a > ALL (query) */
    WR_AST_NAMED_ARG,  /* NAME => value; only as call argument */
    WR_AST_DESCRIPTOR, /* DESCRIPTOR(a, b); only as call argument */
    WR_AST_TABLE_ARG,  /* TABLE t [PARTITION BY ..] [ORDER BY ..] or (query); only as call argument */
    WR_AST_SYMBOL,     /* bare word with a fixed meaning: SECOND, DOW, BOTH, ...; only as call argument; upper case */
    WR_AST_DEFAULT,    /* DEFAULT as call argument */
} wr_ast_expr_kind;

typedef enum wr_ast_literal_kind {
    WR_LIT_NULL,
    WR_LIT_TRUE,
    WR_LIT_FALSE,
    WR_LIT_UNKNOWN,   /* boolean NULL */
    WR_LIT_INTEGER,   /* text: digits only */
    WR_LIT_DECIMAL,   /* text: digits with a point, no exponent */
    WR_LIT_APPROX,    /* text: with exponent: DOUBLE */
    WR_LIT_STRING,    /* text: unescaped */
    WR_LIT_BINARY,    /* text: the bytes of X'..' */
    WR_LIT_DATE,      /* text: inside the quotes; not checked here */
    WR_LIT_TIME,
    WR_LIT_TIMESTAMP,
    WR_LIT_INTERVAL,  /* text inside the quotes; negative, unit_from, unit_to, p, s */
} wr_ast_literal_kind;

typedef enum wr_ast_op {
    WR_AST_NEG, WR_AST_PLUS, WR_AST_NOT,                                                   /* unary */
    WR_AST_ADD, WR_AST_SUB, WR_AST_MUL, WR_AST_DIV, WR_AST_MOD, WR_AST_CONCAT,             /* binary */
    WR_AST_EQ, WR_AST_NE, WR_AST_LT, WR_AST_LE, WR_AST_GT, WR_AST_GE,
    WR_AST_AND, WR_AST_OR,                                                                 /* logic */
    WR_AST_OVERLAPS,          /* (s1, e1) OVERLAPS (s2, e2): binary over rows */
} wr_ast_op;
const char *wr_ast_op_text(wr_ast_op op); /* "+", "AND", "<>" */

typedef enum wr_ast_is { WR_IS_NULL, WR_IS_TRUE, WR_IS_FALSE, WR_IS_UNKNOWN, WR_IS_DISTINCT, WR_IS_JSON } wr_ast_is;
typedef enum wr_ast_json_kind { WR_AST_JSON_VALUE, WR_AST_JSON_OBJECT, WR_AST_JSON_ARRAY, WR_AST_JSON_SCALAR } wr_ast_json_kind;
typedef enum wr_ast_like { WR_LIKE_LIKE, WR_LIKE_SIMILAR, WR_LIKE_ILIKE } wr_ast_like;
typedef enum wr_ast_quantifier { WR_QUANT_ANY, WR_QUANT_ALL } wr_ast_quantifier; /* SOME is ANY */

typedef struct wr_ast_order {
    wr_ast_expr *expr;
    bool         desc;
    int8_t       nulls; /* -1 not said, 0 NULLS FIRST, 1 NULLS LAST */
    wr_span      at;
} wr_ast_order;
typedef WR_ARR(wr_ast_order) wr_ast_orders;

typedef enum wr_ast_bound_kind {
    WR_BOUND_UNBOUNDED_PRECEDING, WR_BOUND_PRECEDING, WR_BOUND_CURRENT, WR_BOUND_FOLLOWING, WR_BOUND_UNBOUNDED_FOLLOWING,
} wr_ast_bound_kind;
typedef struct wr_ast_bound {
    wr_ast_bound_kind kind;
    wr_ast_expr      *offset; /* PRECEDING, FOLLOWING; else NULL */
    wr_span           at;
} wr_ast_bound;

typedef struct wr_ast_window { /* OVER (...) or a WINDOW clause entry */
    wr_ast_ident  base;        /* OVER w, or OVER (w ORDER BY ..); absent if none */
    bool          bare;        /* OVER w, without parentheses */
    wr_ast_exprs  partition_by;
    wr_ast_orders order_by;
    bool          has_frame, rows; /* rows false = RANGE */
    wr_ast_bound  start, end;  /* one-bound frames get end = CURRENT ROW */
    wr_span       at;
} wr_ast_window;

/* Clauses of JSON_VALUE, JSON_QUERY, JSON_EXISTS, JSON_OBJECT, JSON_ARRAY and their aggregates. */
typedef enum wr_ast_json_on {
    WR_JSON_ON_UNSAID, WR_JSON_ON_NULL, WR_JSON_ON_ERROR, WR_JSON_ON_DEFAULT, WR_JSON_ON_EMPTY_ARRAY, WR_JSON_ON_EMPTY_OBJECT,
    WR_JSON_ON_TRUE, WR_JSON_ON_FALSE, WR_JSON_ON_UNKNOWN, WR_JSON_ON_ABSENT,
} wr_ast_json_on;
typedef enum wr_ast_json_wrapper {
    WR_JSON_WRAP_UNSAID, WR_JSON_WRAP_WITHOUT, WR_JSON_WRAP_CONDITIONAL, WR_JSON_WRAP_UNCONDITIONAL,
} wr_ast_json_wrapper;
typedef struct wr_ast_json {
    wr_ast_type        *returning;               /* or NULL */
    wr_ast_json_on      on_empty, on_error;      /* DEFAULT: the expression stands beside */
    wr_ast_expr        *empty_default, *error_default;
    wr_ast_json_wrapper wrapper;
    wr_ast_json_on      on_null;                 /* NULL ON NULL / ABSENT ON NULL */
} wr_ast_json;

typedef struct wr_ast_call {
    wr_ast_name    name;      /* as written; builtin names are to be compared case-blind; special syntaxes: upper case */
    wr_ast_exprs   args;      /* COUNT(*): one WR_AST_STAR */
    bool           distinct;
    bool           no_parens; /* CURRENT_DATE, LOCALTIMESTAMP, ...: written without () */
    int8_t         nulls;     /* -1 not said, 0 IGNORE NULLS, 1 RESPECT NULLS */
    int8_t         running;   /* MATCH_RECOGNIZE: -1 not said, 0 FINAL, 1 RUNNING */
    wr_ast_expr   *filter;    /* FILTER (WHERE ..) or NULL */
    wr_ast_orders  within_group; /* n 0 if none */
    wr_ast_window *over;      /* or NULL */
    wr_ast_json   *json;      /* or NULL */
} wr_ast_call;

typedef struct wr_ast_when { wr_ast_expr *when, *then; } wr_ast_when;

struct wr_ast_expr {
    wr_ast_expr_kind kind;
    uint16_t         depth;
    wr_span          at;
    union {
        struct {
            wr_ast_literal_kind kind;
            wr_str              text;
            bool                negative;           /* INTERVAL -'1' DAY; other literals get a WR_AST_NEG above */
            wr_ast_unit         unit_from, unit_to;
            int32_t             p, s;               /* INTERVAL precisions, -1 not said */
        } lit;
        wr_ast_name name;                           /* COLUMN, STAR */
        wr_ast_call call;
        struct { wr_ast_op op; wr_ast_expr *arg; } unary;
        struct { wr_ast_op op; wr_ast_expr *left, *right; wr_span op_at; } binary;
        struct { wr_ast_op op; wr_ast_exprs args; } logic;
        struct { wr_ast_expr *arg, *low, *high; bool negated, symmetric; } between;
        struct { wr_ast_expr *arg; wr_ast_exprs list; wr_ast_query *query; bool negated; } in; /* query NULL: list */
        wr_ast_query *query;                        /* EXISTS, SUBQUERY */
        struct { wr_ast_expr *arg, *pattern, *escape; wr_ast_like kind; bool negated; } like; /* escape may be NULL */
        struct { wr_ast_expr *arg, *other; wr_ast_is what; wr_ast_json_kind json; bool negated; } is; /* other: DISTINCT FROM */
        struct { wr_ast_expr *arg; WR_ARR(wr_ast_when) whens; wr_ast_expr *otherwise; } cases; /* arg, otherwise may be NULL */
        struct { wr_ast_expr *arg; wr_ast_type *type; bool is_try; } cast;
        struct { wr_ast_exprs args; bool keyword; } row; /* ROW, ARRAY, MAP; keyword: ROW(..) was written out */
        struct { wr_ast_query *query; wr_ast_exprs args; char what[12]; } collect; /* "ARRAY", "MAP", "MULTISET" */
        struct { wr_ast_expr *arg, *index; } index;
        struct { wr_ast_expr *arg; wr_ast_ident name; } field;
        struct { wr_ast_op op; wr_ast_quantifier quantifier; wr_ast_expr *arg; wr_ast_query *query; wr_ast_exprs list; } quant;
        struct { wr_ast_ident name; wr_ast_expr *value; } named;
        struct { wr_ast_names columns; } descriptor;
        struct { wr_ast_ref *ref; wr_ast_exprs partition_by; wr_ast_orders order_by; } table_arg; /* ref: NAME or QUERY */
        wr_str symbol;
    };
};

/* ---- queries --------------------------------------------------------------------------------------------------------- */

typedef struct wr_ast_hint_arg { wr_ast_text key, value; } wr_ast_hint_arg; /* value absent: a plain argument (name or string) */
typedef struct wr_ast_hint {
    wr_ast_ident name;
    WR_ARR(wr_ast_hint_arg) args;
} wr_ast_hint;
typedef WR_ARR(wr_ast_hint) wr_ast_hints;

typedef enum wr_ast_ref_kind {
    WR_AST_REF_NAME,     /* table or view */
    WR_AST_REF_QUERY,    /* (query) */
    WR_AST_REF_FUNCTION, /* TABLE(f(..)), LATERAL TABLE(f(..)), f(..): window TVFs too */
    WR_AST_REF_UNNEST,
    WR_AST_REF_JOIN,
    WR_AST_REF_MATCH,    /* input MATCH_RECOGNIZE (...) */
} wr_ast_ref_kind;

typedef enum wr_ast_join {
    WR_AST_JOIN_INNER, WR_AST_JOIN_LEFT, WR_AST_JOIN_RIGHT, WR_AST_JOIN_FULL, WR_AST_JOIN_CROSS, WR_AST_JOIN_COMMA,
} wr_ast_join;

typedef enum wr_ast_pattern_kind {
    WR_PAT_SYMBOL, WR_PAT_CONCAT, WR_PAT_ALT, WR_PAT_REPEAT, WR_PAT_PERMUTE, WR_PAT_EXCLUDE, WR_PAT_EMPTY, WR_PAT_START, WR_PAT_END,
} wr_ast_pattern_kind;
typedef struct wr_ast_pattern {
    wr_ast_pattern_kind kind;
    uint16_t            depth;
    wr_ast_ident        symbol;             /* SYMBOL */
    WR_ARR(struct wr_ast_pattern *) parts;  /* CONCAT, ALT, PERMUTE; REPEAT and EXCLUDE: one */
    int32_t             min, max;           /* REPEAT; max -1 = endless */
    bool                reluctant;          /* A+? */
    wr_span             at;
} wr_ast_pattern;

typedef struct wr_ast_measure { wr_ast_expr *expr; wr_ast_ident alias; } wr_ast_measure;
typedef struct wr_ast_define { wr_ast_ident symbol; wr_ast_expr *expr; } wr_ast_define;
typedef struct wr_ast_subset { wr_ast_ident name; wr_ast_idents symbols; } wr_ast_subset;
typedef enum wr_ast_after_match {
    WR_AFTER_UNSAID, WR_AFTER_PAST_LAST_ROW, WR_AFTER_NEXT_ROW, WR_AFTER_FIRST, WR_AFTER_LAST,
} wr_ast_after_match;

typedef struct wr_ast_match {
    wr_ast_ref        *input;
    wr_ast_exprs       partition_by;
    wr_ast_orders      order_by;
    WR_ARR(wr_ast_measure) measures;
    int8_t             all_rows;      /* -1 not said, 0 ONE ROW PER MATCH, 1 ALL ROWS PER MATCH */
    wr_ast_after_match after;
    wr_ast_ident       after_symbol;  /* FIRST, LAST */
    wr_ast_pattern    *pattern;
    wr_ast_expr       *within;        /* or NULL */
    WR_ARR(wr_ast_subset) subsets;
    WR_ARR(wr_ast_define) defines;
} wr_ast_match;

struct wr_ast_ref {
    wr_ast_ref_kind kind;
    uint16_t        depth;
    bool            lateral;         /* QUERY, FUNCTION, UNNEST (said or implied for none) */
    bool            table_keyword;   /* FUNCTION written inside TABLE( ) */
    bool            with_ordinality; /* UNNEST */
    wr_ast_ident    alias;           /* absent if none; never on JOIN */
    wr_ast_idents   columns;         /* AS t(a, b) */
    wr_ast_hints    hints;           /* NAME, FUNCTION */
    wr_span         at;
    union {
        struct { wr_ast_name name; wr_ast_expr *as_of; } table; /* as_of: FOR SYSTEM_TIME AS OF, or NULL */
        struct { wr_ast_query *query; wr_ast_expr *as_of; } derived;
        wr_ast_expr *call;           /* FUNCTION: a WR_AST_CALL */
        wr_ast_exprs unnest;
        struct { wr_ast_join kind; bool natural; wr_ast_ref *left, *right; wr_ast_expr *on; wr_ast_idents using; wr_span op_at; } join;
        wr_ast_match *match;
    };
};

typedef struct wr_ast_item { wr_ast_expr *expr; wr_ast_ident alias; } wr_ast_item; /* of the SELECT list */

typedef enum wr_ast_group_kind { WR_GROUP_EXPR, WR_GROUP_SET, WR_GROUP_ROLLUP, WR_GROUP_CUBE, WR_GROUP_SETS } wr_ast_group_kind;
typedef struct wr_ast_group {
    wr_ast_group_kind kind;
    uint16_t          depth;
    wr_ast_exprs      exprs;                    /* EXPR: one; SET: (a, b), may be empty: () */
    WR_ARR(struct wr_ast_group *) items;        /* ROLLUP, CUBE: EXPR or SET; SETS: any */
    wr_span           at;
} wr_ast_group;
typedef WR_ARR(wr_ast_group *) wr_ast_groups;

typedef struct wr_ast_named_window { wr_ast_ident name; wr_ast_window *window; } wr_ast_named_window;

typedef struct wr_ast_select {
    bool          distinct, all;     /* ALL was said */
    wr_ast_hints  hints;
    WR_ARR(wr_ast_item) items;
    wr_ast_ref   *from;              /* or NULL */
    wr_ast_expr  *where, *having, *qualify; /* or NULL */
    bool          has_group_by;      /* GROUP BY () has one empty SET */
    wr_ast_groups group_by;
    WR_ARR(wr_ast_named_window) windows;
} wr_ast_select;

typedef enum wr_ast_query_kind {
    WR_AST_QUERY_SELECT,
    WR_AST_QUERY_VALUES,
    WR_AST_QUERY_TABLE,  /* TABLE t */
    WR_AST_QUERY_SET,    /* UNION, INTERSECT, EXCEPT */
    WR_AST_QUERY_NESTED, /* (inner) with WITH/ORDER BY/LIMIT of its own both inside and outside; inner in `left` */
} wr_ast_query_kind;
typedef enum wr_ast_set_op { WR_AST_UNION, WR_AST_INTERSECT, WR_AST_EXCEPT } wr_ast_set_op; /* MINUS is EXCEPT */

typedef struct wr_ast_cte {
    wr_ast_ident  name;
    wr_ast_idents columns;
    wr_ast_query *query;
} wr_ast_cte;

struct wr_ast_query {
    wr_ast_query_kind kind;
    uint16_t          depth;
    wr_span           at;
    bool              recursive;     /* WITH RECURSIVE */
    WR_ARR(wr_ast_cte) with;
    union {
        wr_ast_select select;
        wr_ast_exprs  rows;          /* VALUES: each a WR_AST_ROW */
        wr_ast_name   table;
        struct { wr_ast_set_op op; bool all; wr_ast_query *right; wr_span op_at; } set; /* left operand: `left` */
    };
    wr_ast_query     *left;          /* SET, NESTED */
    wr_ast_orders     order_by;
    wr_ast_expr      *limit, *offset; /* or NULL; LIMIT ALL is NULL; FETCH FIRST n ROWS ONLY is limit */
};

/* ---- statements ------------------------------------------------------------------------------------------------------ */

typedef enum wr_ast_column_kind { WR_AST_COL_PHYSICAL, WR_AST_COL_COMPUTED, WR_AST_COL_METADATA, WR_AST_COL_NAME_ONLY } wr_ast_column_kind;
typedef struct wr_ast_column {
    wr_ast_column_kind kind;         /* NAME_ONLY: CREATE TABLE t (a, b) AS SELECT */
    wr_ast_ident       name;
    wr_ast_type       *type;         /* PHYSICAL, METADATA */
    wr_ast_expr       *expr;         /* COMPUTED */
    wr_ast_text        metadata_key; /* METADATA FROM 'k'; absent if not said */
    bool               is_virtual;
    bool               primary_key, unique; /* written behind the column */
    bool               not_enforced, enforced; /* ... as said behind it */
    wr_ast_text        comment;
    wr_span            at;
} wr_ast_column;
typedef WR_ARR(wr_ast_column) wr_ast_columns;

typedef struct wr_ast_constraint {
    wr_ast_ident  name;              /* absent if none */
    bool          unique;            /* else PRIMARY KEY */
    bool          not_enforced, enforced;
    wr_ast_idents columns;
    wr_span       at;
} wr_ast_constraint;

typedef struct wr_ast_watermark { wr_ast_name column; wr_ast_expr *expr; wr_span at; } wr_ast_watermark;

typedef enum wr_ast_like_mode { WR_LIKE_INCLUDING, WR_LIKE_EXCLUDING, WR_LIKE_OVERWRITING } wr_ast_like_mode;
typedef struct wr_ast_like_option { wr_ast_like_mode mode; wr_str what; wr_span at; } wr_ast_like_option; /* "OPTIONS", "ALL", ... */

typedef struct wr_ast_create_table { /* also MATERIALIZED TABLE */
    bool               temporary, if_not_exists, or_replace, or_alter, materialized;
    bool               replace;      /* REPLACE TABLE: with or_replace */
    wr_ast_name        name;
    wr_ast_columns     columns;
    WR_ARR(wr_ast_constraint) constraints;
    WR_ARR(wr_ast_watermark) watermarks;
    wr_ast_text        comment;
    wr_ast_idents      partitioned_by;
    bool               distributed;
    wr_ast_ident       dist_kind;    /* HASH, RANGE; absent if not said */
    wr_ast_idents      dist_columns;
    int64_t            dist_buckets; /* -1 = not said */
    wr_ast_options     options;
    wr_ast_name        like;         /* n 0 = none */
    WR_ARR(wr_ast_like_option) like_options;
    wr_ast_expr       *freshness;    /* MATERIALIZED TABLE; an INTERVAL literal, or NULL */
    wr_ast_ident       refresh_mode; /* FULL, CONTINUOUS */
    wr_ast_query      *as;           /* AS SELECT, or NULL */
} wr_ast_create_table;

typedef struct wr_ast_view_column { wr_ast_ident name; wr_ast_text comment; } wr_ast_view_column;
typedef struct wr_ast_create_view {  /* also MATERIALIZED VIEW */
    bool           temporary, if_not_exists, or_replace, or_alter, materialized;
    wr_ast_name    name;
    WR_ARR(wr_ast_view_column) columns;
    wr_ast_text    comment;
    wr_ast_options options;          /* MATERIALIZED VIEW v WITH (...) AS */
    wr_ast_query  *query;
} wr_ast_create_view;

typedef struct wr_ast_create_function {
    bool         temporary, system, if_not_exists, or_alter; /* or_alter: ALTER FUNCTION */
    wr_ast_name  name;
    wr_ast_text  implementation;     /* AS '...' */
    wr_ast_ident language;           /* absent if not said */
    WR_ARR(wr_ast_text) jars, libraries; /* USING JAR '..', LIBRARY '..' (weir: a shared object) */
} wr_ast_create_function;

typedef struct wr_ast_create_space { /* CREATE CATALOG / DATABASE */
    bool           database, if_not_exists;
    wr_ast_name    name;
    wr_ast_text    comment;
    wr_ast_options options;
} wr_ast_create_space;

typedef enum wr_ast_object {
    WR_OBJ_TABLE, WR_OBJ_VIEW, WR_OBJ_MATERIALIZED_TABLE, WR_OBJ_MATERIALIZED_VIEW, WR_OBJ_FUNCTION, WR_OBJ_DATABASE, WR_OBJ_CATALOG,
    WR_OBJ_MODULES,                  /* USE MODULES a, b */
    WR_OBJ_LOAD_MODULE, WR_OBJ_UNLOAD_MODULE,
} wr_ast_object;

typedef struct wr_ast_drop {
    wr_ast_object what;
    bool          temporary, system, if_exists, cascade, restrict_;
    wr_ast_name   name;
} wr_ast_drop;

typedef struct wr_ast_use { wr_ast_object what; wr_ast_name name; wr_ast_idents modules; } wr_ast_use; /* CATALOG, DATABASE, MODULES; LOAD, UNLOAD: modules.at[0] */

typedef enum wr_ast_alter_kind {
    WR_ALTER_RENAME,                 /* new_name */
    WR_ALTER_SET,                    /* options */
    WR_ALTER_RESET,                  /* options (keys only) */
    WR_ALTER_ADD_COLUMN,             /* column, position */
    WR_ALTER_MODIFY_COLUMN,
    WR_ALTER_DROP_COLUMNS,           /* names */
    WR_ALTER_RENAME_COLUMN,          /* names.at[0] to names.at[1] */
    WR_ALTER_ADD_CONSTRAINT,
    WR_ALTER_MODIFY_CONSTRAINT,
    WR_ALTER_DROP_CONSTRAINT,        /* names.at[0] */
    WR_ALTER_DROP_PRIMARY_KEY,
    WR_ALTER_ADD_WATERMARK,
    WR_ALTER_MODIFY_WATERMARK,
    WR_ALTER_DROP_WATERMARK,
    WR_ALTER_AS_QUERY,               /* ALTER VIEW v AS query */
} wr_ast_alter_kind;
typedef struct wr_ast_alter_action {
    wr_ast_alter_kind kind;
    wr_ast_name       new_name;
    wr_ast_options    options;
    wr_ast_column     column;
    bool              first;         /* ADD c INT FIRST */
    wr_ast_ident      after;         /* ADD c INT AFTER b; absent if not said */
    wr_ast_constraint constraint;
    wr_ast_watermark  watermark;
    wr_ast_idents     names;
    wr_ast_query     *query;
    wr_span           at;
} wr_ast_alter_action;
typedef struct wr_ast_alter {
    wr_ast_object what;              /* TABLE, VIEW, DATABASE, CATALOG */
    bool          if_exists;
    wr_ast_name   name;
    WR_ARR(wr_ast_alter_action) actions;
} wr_ast_alter;

typedef struct wr_ast_partition { wr_ast_ident column; wr_ast_expr *value; } wr_ast_partition; /* value may be NULL */
typedef struct wr_ast_insert {
    bool          overwrite;
    wr_ast_name   name;
    wr_ast_hints  hints;
    WR_ARR(wr_ast_partition) partition;
    wr_ast_names  columns;           /* n 0: all, in order */
    wr_ast_query *query;
} wr_ast_insert;

enum { WR_EXPLAIN_COST = 1, WR_EXPLAIN_CHANGELOG = 2, WR_EXPLAIN_JSON = 4, WR_EXPLAIN_ADVICE = 8 };
typedef struct wr_ast_explain { uint32_t details; bool plan_for; wr_ast_stmt *stmt; } wr_ast_explain;

typedef struct wr_ast_set { wr_ast_text key, value; } wr_ast_set; /* SET: both absent lists all; RESET: value absent */

typedef enum wr_ast_show_kind {
    WR_SHOW_CATALOGS, WR_SHOW_CURRENT_CATALOG, WR_SHOW_DATABASES, WR_SHOW_CURRENT_DATABASE, WR_SHOW_TABLES, WR_SHOW_VIEWS,
    WR_SHOW_MATERIALIZED_TABLES, WR_SHOW_MATERIALIZED_VIEWS, WR_SHOW_FUNCTIONS, WR_SHOW_USER_FUNCTIONS, WR_SHOW_MODULES,
    WR_SHOW_FULL_MODULES, WR_SHOW_COLUMNS, WR_SHOW_CREATE_TABLE, WR_SHOW_CREATE_VIEW, WR_SHOW_CREATE_MATERIALIZED_TABLE,
    WR_SHOW_CREATE_CATALOG, WR_SHOW_PARTITIONS, WR_SHOW_JOBS, WR_SHOW_JARS, WR_SHOW_PROCEDURES,
} wr_ast_show_kind;
typedef struct wr_ast_show {
    wr_ast_show_kind kind;
    wr_ast_name      name;           /* SHOW CREATE TABLE t; SHOW TABLES FROM db; SHOW COLUMNS FROM t */
    wr_ast_text      like;           /* absent if none */
    bool             not_like, ilike;
} wr_ast_show;

typedef struct wr_ast_describe { wr_ast_object what; bool extended; wr_ast_name name; } wr_ast_describe; /* TABLE (also a view), DATABASE, CATALOG, FUNCTION */

typedef WR_ARR(wr_ast_stmt *) wr_ast_stmts;

typedef enum wr_ast_stmt_kind {
    WR_STMT_QUERY,
    WR_STMT_INSERT,
    WR_STMT_SET_OF_INSERTS, /* EXECUTE STATEMENT SET BEGIN .. END, BEGIN STATEMENT SET; .. END; */
    WR_STMT_CREATE_TABLE,
    WR_STMT_CREATE_VIEW,
    WR_STMT_CREATE_FUNCTION,
    WR_STMT_CREATE_SPACE,
    WR_STMT_DROP,
    WR_STMT_ALTER,
    WR_STMT_ALTER_FUNCTION, /* create_function */
    WR_STMT_USE,
    WR_STMT_SET,
    WR_STMT_RESET,
    WR_STMT_EXPLAIN,
    WR_STMT_SHOW,
    WR_STMT_DESCRIBE,
} wr_ast_stmt_kind;

struct wr_ast_stmt {
    wr_ast_stmt_kind kind;
    wr_span          at;   /* first token */
    wr_str           text; /* the statement as written, without the ';' */
    union {
        wr_ast_query          *query;
        wr_ast_insert          insert;
        wr_ast_stmts           inserts; /* SET_OF_INSERTS: each a WR_STMT_INSERT */
        wr_ast_create_table    create_table;
        wr_ast_create_view     create_view;
        wr_ast_create_function create_function;
        wr_ast_create_space    create_space;
        wr_ast_drop            drop;
        wr_ast_alter           alter;
        wr_ast_use             use;
        wr_ast_set             set; /* SET, RESET */
        wr_ast_explain         explain;
        wr_ast_show            show;
        wr_ast_describe        describe;
    };
};

typedef struct wr_script {
    wr_ast_stmts stmts; /* those that parsed, in order */
    uint32_t     n_bad; /* statements left out */
} wr_script;

/* ---- the calls ------------------------------------------------------------------------------------------------------- */

/* Parses a script of statements separated by ';' (the last one may go without). All errors of the script are added to diags;
 * WR_USER if there was one, and *out still holds the statements that parsed. file is the index from wr_diags_add_source. */
WR_NODISCARD wr_status wr_sql_parse(wr_arena *arena, uint32_t file, wr_str text, wr_diags *diags, wr_script **out);
/* One expression, one type, one query; the whole text must be used up. *out is NULL on error. */
WR_NODISCARD wr_status wr_sql_parse_expr(wr_arena *arena, uint32_t file, wr_str text, wr_diags *diags, wr_ast_expr **out);
WR_NODISCARD wr_status wr_sql_parse_type(wr_arena *arena, uint32_t file, wr_str text, wr_diags *diags, wr_ast_type **out);
WR_NODISCARD wr_status wr_sql_parse_query(wr_arena *arena, uint32_t file, wr_str text, wr_diags *diags, wr_ast_query **out);

/* A whole script laid out anew, comments kept, reserved words in upper case: appended to out. WR_USER: it has lexical errors (diags). */
wr_status wr_sql_pretty(uint32_t file, wr_str text, wr_diags *diags, wr_sbuf *out);
/* Back to SQL over several lines, without a final ';' or line end. Re-parsable. */
void wr_sql_format(const wr_ast_stmt *stmt, wr_sbuf *out);
void wr_sql_format_query(const wr_ast_query *query, wr_sbuf *out);
void wr_sql_format_type(const wr_ast_type *type, wr_sbuf *out);
/* One line, deterministic: the same tree gives the same text. Re-parsable. */
void wr_sql_expr_text(const wr_ast_expr *expr, wr_sbuf *out);
void wr_sql_query_text(const wr_ast_query *query, wr_sbuf *out);
void wr_sql_name_text(wr_ast_name name, wr_sbuf *out);   /* a.b.`c d` */
void wr_sql_ident_text(wr_ast_ident ident, wr_sbuf *out); /* backticks only where needed to be read back */

/* Length of the first statement of a text that may go on, with its ';' (a STATEMENT SET ends behind its END); 0: it is not whole yet. *blank: nothing but
 * white space and comments was found (before the ';'). */
size_t wr_sql_statement_end(wr_str text, bool *blank);
/* The words of the language, in no order; NULL behind the last. */
const char *wr_sql_word_at(size_t i);

/* Words that must be put in backticks to serve as a name (Flink reserves more: keywords.c). */
bool wr_sql_is_reserved(wr_str word);
